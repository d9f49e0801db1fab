/* SPDX-License-Identifier: MIT */
/*
 * Rings in this process, with one failing call for each site (faults.c, linked into this test).
 * Each operation succeeds, or returns the error of the failed call. No descriptor, mapping, file or
 * allocation remains.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../resources.h"
#include "faults.h"
#include "ring/ring.h"

static struct faults_control control = {
		.kinds = FAULTS_MEMORY | FAULTS_CALLS, .depth = FAULTS_DEPTH, .is_off = 1};
static int directory, imported;
static struct ring_geometry geometry = {
		.rings = 2, .event_slots = 300, .size = 1 << 16, .clock = RING_CLOCK_MONOTONIC};

static int read_file(void *user, uint64_t address, void *to, size_t size)
{
	ssize_t got = pread(*(const int *)user, to, size, (off_t)address);

	return got == (ssize_t)size ? 0 : got < 0 ? -errno : -ENODATA;
}

/* ---- Operations, which release everything ---- */

static int create(int *fd)
{
	return ring_memory_create(&geometry, fd);
}

static int create_prefaulted(int *fd)
{
	struct ring_geometry other = geometry;

	other.flags |= RING_PREFAULT;
	return ring_memory_create(&other, fd);
}

static int create_file(int *fd)
{
	return ring_memory_create_file(&geometry, directory, "ring", fd);
}

static int create_revoked(int *fd)
{
	struct ring_geometry other = geometry;

	other.flags |= RING_LEASED;
	return ring_memory_create_revoked(&other, directory, "ring", fd);
}

static int import_file(int *fd)
{
	return ring_memory_import(read_file, &imported, 0, fd);
}

static int map_producer(int *fd)
{
	struct ring_producer *producer;
	int ret = ring_memory_create(&geometry, fd);

	if (ret)
		return ret;
	ret = ring_producer_map(*fd, &producer);
	if (ret)
		close(*fd);
	else
		ring_producer_unmap(producer);
	return ret;
}

static int map_consumer(int *fd)
{
	struct ring_consumer *consumer;
	struct ring_bells *bells;
	int ret = ring_memory_create(&geometry, fd);

	if (ret)
		return ret;
	ret = ring_bells_create(&bells);
	if (!ret) {
		ret = ring_consumer_map(*fd, NULL, &consumer);
		if (!ret) {
			ret = ring_bells_add(bells, consumer);
			if (!ret)
				ring_bells_remove(bells, consumer);
			ring_consumer_unmap(consumer);
		}
		ring_bells_destroy(bells);
	}
	if (ret)
		close(*fd);
	return ret;
}

static const struct {
	const char *name;
	int (*run)(int *fd);
} operations[] = {
		{"create", create},
		{"create prefaulted", create_prefaulted},
		{"create file", create_file},
		{"create revoked", create_revoked},
		{"import", import_file},
		{"map producer", map_producer},
		{"map consumer", map_consumer},
};

/* ---- The test ---- */

static unsigned long nr_failed, nr_errors;

static void fail(const char *name, const struct faults_site *site, const char *what, int ret)
{
	printf("%s: %s of %#llx: %s (%d: %s)\n", name, site ? site->function : "no fault",
			site ? (unsigned long long)site->callers[0] : 0, what, ret, strerror(-ret));
	nr_errors++;
}

static int run(size_t operation)
{
	int fd = -1, ret;

	control.at_site = control.failed = 0;
	/* Callers of this function do not count for the site. */
	control.top = (uintptr_t)__builtin_frame_address(0);
	control.is_off = 0;
	ret = operations[operation].run(&fd);
	control.is_off = 1;
	if (!ret)
		close(fd);
	if (!unlinkat(directory, "ring", 0) && ret)
		fail(operations[operation].name, NULL, "a file is left", ret);
	return ret;
}

static int try_site(size_t operation, const struct faults_site *site)
{
	const char *name = operations[operation].name;
	struct resources before = resources_now();
	int ret;

	control.site = site->site;
	ret = run(operation);
	control.site = 0;
	if (!control.failed)
		fail(name, site, "was not reached again", ret);
	if (!resources_are_same(before, resources_now()))
		fail(name, site, "resources are left", ret);
	/* The errors of faults-calls.h. */
	if (ret && ret != -ENOMEM && ret != -EMFILE && ret != -EIO && ret != -ENOSPC)
		fail(name, site, "another error than that of the call", ret);
	nr_failed++;
	return ret;
}

/* Calls whose failure is no error, because the operation works without them. */
static int is_optional(const struct faults_site *site)
{
	return !strcmp(site->function, "syscall") || !strcmp(site->function, "access");
}

static void try_operation(size_t operation)
{
	const char *name = operations[operation].name;
	struct faults_site *sites = calloc(FAULTS_SITES, sizeof(*sites));
	int ret;

	if (!sites)
		abort();
	/* Run once before, to allocate memory that later calls reuse. */
	ret = run(operation);
	memset(control.sites, 0, sizeof(control.sites));
	control.notes = 1;
	if (!ret)
		ret = run(operation);
	control.notes = 0;
	if (ret)
		fail(name, NULL, "fails without a failing call", ret);
	memcpy(sites, control.sites, sizeof(control.sites));
	for (size_t i = 0; i < FAULTS_SITES; i++) {
		if (!sites[i].site)
			continue;
		ret = try_site(operation, &sites[i]);
		if (!ret && !is_optional(&sites[i]))
			fail(name, &sites[i], "succeeds without the call", ret);
	}
	free(sites);
}

int main(void)
{
	char path[] = "/tmp/side-faults-XXXXXX";

	if (!mkdtemp(path))
		return 1;
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ring_memory_create(&geometry, &imported))
		return 1;
	faults_control = &control;
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		try_operation(i);
	faults_control = NULL;
	close(imported);
	close(directory);
	rmdir(path);
	printf("%lu failed calls, %lu errors\n", nr_failed, nr_errors);
	return nr_errors || nr_failed < 30;
}
