/* SPDX-License-Identifier: MIT */
/* Creates the memory of the rings: a memfd, a file, or a copy of another process's memory. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/layout.h"
#include "ring/lease.h"

#define RING_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4U
#endif

static int ring_close_failed(int fd, int ret)
{
	close(fd);
	return ret;
}

int ring_memfd_create(const char *name, uint64_t size, unsigned int flags)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, RING_SEALS | F_SEAL_SEAL))
		return ring_close_failed(fd, -errno);
	return fd;
}

int ring_memfd_check(int fd, uint64_t minimum, uint64_t *ret_size)
{
	struct stat status;
	int seals;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size < 0 || (uint64_t)status.st_size < minimum)
		return -EPROTO;
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
		return -EPROTO;
	*ret_size = (uint64_t)status.st_size;
	return 0;
}

/*
 * Allocate all pages, so that a lack of them is found now. Always done for huge pages: a fault
 * without a free one would be a SIGBUS in the traced program.
 */
static int ring_allocate(int fd, uint64_t size)
{
	int ret;

	do {
		ret = fallocate(fd, 0, 0, (off_t)size) ? -errno : 0;
	} while (ret == -EINTR);
	return ret == -ENOSPC ? -ENOMEM : ret;
}

/* Writes the header and the first words of each ring; both are before lost_offset. */
static int ring_memory_begin(int fd, const struct ring_geometry *geometry,
		const struct ring_layout *layout, enum ring_storage storage)
{
	unsigned char *base =
			mmap(NULL, layout->data_offset, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	ring_controls_fill(base, geometry);
	ring_header_fill((struct ring_header *)base, geometry, layout, storage);
	munmap(base, layout->data_offset);
	return 0;
}

void ring_controls_fill(unsigned char *base, const struct ring_geometry *geometry)
{
	for (uint32_t ring = 0; ring < geometry->rings; ring++) {
		struct ring_control *control =
				(struct ring_control *)(base + RING_HEADER_BYTES) + ring;

		control->head = RING_EPOCH_FLIP;
		control->limit = geometry->size << RING_EPOCH_BITS | RING_EPOCH_MASK;
		if (!(geometry->flags & RING_COUNTS))
			continue;
		/*
		 * The tail stays one ring size behind the head, so the ring is always full and
		 * events are only counted.
		 */
		control->limit = RING_EPOCH_MASK;
		control->tail = 0 - geometry->size;
	}
}

int ring_memory_create(const struct ring_geometry *geometry, int *ret_fd)
{
	return ring_memory_create_named(geometry, "side-ring", ret_fd);
}

int ring_memory_create_named(const struct ring_geometry *geometry, const char *name, int *ret_fd)
{
	bool huge = geometry->flags & RING_HUGE_PAGES;
	struct ring_layout layout;
	int ret, fd;

	ret = ring_geometry_layout(geometry, &layout);
	if (ret)
		return ret;
	fd = ring_memfd_create(name, layout.total, huge ? MFD_HUGETLB : 0);
	if (fd < 0)
		return huge && (fd == -EINVAL || fd == -ENOSYS || fd == -ENODEV) ? -ENOTSUP : fd;
	if (huge || (geometry->flags & RING_PREFAULT)) {
		ret = ring_allocate(fd, layout.total);
		if (ret)
			return ring_close_failed(fd, ret);
	}
	ret = ring_memory_begin(fd, geometry, &layout, RING_IN_MEMFD);
	if (ret)
		return ring_close_failed(fd, ret);
	*ret_fd = fd;
	return 0;
}

static int ring_file_fill(int fd, const struct ring_geometry *geometry,
		const struct ring_layout *layout, uint64_t size)
{
	/* A hole would be a SIGBUS in the traced program when the disk is full. */
	int ret = -posix_fallocate(fd, 0, (off_t)size);

	return ret ? ret : ring_memory_begin(fd, geometry, layout, RING_IN_FILE);
}

static int ring_file_create(const struct ring_geometry *geometry, bool revoked, int dir_fd,
		const char *name, int *ret_fd)
{
	struct ring_layout layout;
	int ret, fd;

	if (geometry->flags & RING_HUGE_PAGES)
		return -ENOTSUP;
	ret = ring_geometry_layout(geometry, &layout);
	if (ret)
		return ret;
	/*
	 * Only this descriptor can write: neither a shell nor an editor truncates the file by
	 * mistake.
	 */
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
	if (fd < 0)
		return -errno;
	ret = ring_file_fill(fd, geometry, &layout, revoked ? layout.lost_offset : layout.total);
	if (ret) {
		unlinkat(dir_fd, name, 0);
		return ring_close_failed(fd, ret);
	}
	*ret_fd = fd;
	return 0;
}

int ring_memory_create_file(
		const struct ring_geometry *geometry, int dir_fd, const char *name, int *ret_fd)
{
	return ring_file_create(geometry, false, dir_fd, name, ret_fd);
}

/* Set the lease before another process maps the memory. */
static int ring_memory_begin_revoked(int fd)
{
	const struct ring_lease lease = {.word = RING_LEASE_REVOKED};
	ssize_t written = pwrite(fd, &lease, sizeof(lease), RING_LEASE_OFFSET);

	return written == (ssize_t)sizeof(lease) ? 0 : written < 0 ? -errno : -EIO;
}

int ring_memory_create_revoked(
		const struct ring_geometry *geometry, int dir_fd, const char *name, int *ret_fd)
{
	int ret;

	if (!(geometry->flags & RING_LEASED))
		return -EINVAL;
	/* A memfd has pages only where data was written. */
	ret = dir_fd < 0 ? ring_memory_create(geometry, ret_fd)
			 : ring_file_create(geometry, true, dir_fd, name, ret_fd);
	if (ret)
		return ret;
	ret = ring_memory_begin_revoked(*ret_fd);
	if (!ret)
		return 0;
	if (dir_fd >= 0)
		unlinkat(dir_fd, name, 0);
	return ring_close_failed(*ret_fd, ret);
}

/* ---- Import ---- */

/* Source and destination of an import. */
struct ring_import {
	ring_memory_read *read;
	void *user;
	uint64_t base;
	/* Each ring is mapped twice in the source: true for a process, false for a file or a copy. */
	bool doubled;
	bool dumped;  /* the source is a copy for core dumps */
	bool touched; /* pages that the process never used are absent: -ENODATA */
	bool leased;  /* Only if the rings do not overwrite. */
	struct ring_memory memory;
};

static int ring_import_bytes(const struct ring_import *import, uint64_t from, void *to, size_t size)
{
	uint64_t address = import->base + from;

	/* The copy has one more page there (dumped.c). Before the header is known, `from` is 0. */
	if (import->dumped && from && from >= import->memory.layout.lost_offset)
		address += (uint64_t)sysconf(_SC_PAGESIZE);
	return import->read(import->user, address, to, size);
}

/*
 * Imports the groups of loss counters that the producer has used. Unreadable counters count as
 * zero.
 */
static void ring_import_lost(const struct ring_import *import, uint32_t ring)
{
	const struct ring_layout *layout = &import->memory.layout;
	const uint64_t *groups = ring_memory_control(&import->memory, ring)->lost_groups;
	uint64_t bytes = RING_LOST_GROUP_SLOTS * RING_LOSS_REASONS * sizeof(uint64_t);

	for (uint64_t group = 0; group * bytes < layout->lost_stride; group++) {
		uint64_t at = layout->lost_offset + ring * layout->lost_stride + group * bytes;
		uint64_t end = layout->lost_offset + (ring + 1) * layout->lost_stride;
		size_t size = (size_t)(end - at < bytes ? end - at : bytes);

		if ((groups[group / 64] >> group % 64 & 1) == 0)
			continue;
		if (ring_import_bytes(import, at, import->memory.base + at, size))
			memset(import->memory.base + at, 0, size);
	}
}

/* Leaves absent pages of the control part as they are. */
static int ring_import_controls(const struct ring_import *import)
{
	uint64_t page = import->touched ? (uint64_t)sysconf(_SC_PAGESIZE) : 0;
	uint64_t at, end = import->memory.layout.lost_offset;
	int ret = 0;

	if (!import->touched)
		return ring_import_bytes(import, RING_HEADER_BYTES,
				import->memory.base + RING_HEADER_BYTES,
				(size_t)(end - RING_HEADER_BYTES));
	ring_controls_fill(import->memory.base, &import->memory.geometry);
	for (at = RING_HEADER_BYTES; at < end && !ret; at += page) {
		uint64_t left = page - at % page, part = left < end - at ? left : end - at;

		ret = ring_import_bytes(import, at, import->memory.base + at, (size_t)part);
		if (ret == -ENODATA)
			ret = 0;
	}
	return ret;
}

/* A page can be in the second mapping only. A page after the first records can be absent. */
static int ring_import_touched_data(
		const struct ring_import *import, uint64_t from, unsigned char *to, uint64_t head)
{
	uint64_t size = import->memory.geometry.size, page = (uint64_t)sysconf(_SC_PAGESIZE), at;

	for (at = 0; at < size; at += page) {
		int ret = ring_import_bytes(import, from + at, to + at, (size_t)page);

		if (ret == -ENODATA)
			ret = ring_import_bytes(import, from + size + at, to + at, (size_t)page);
		if (ret && (ret != -ENODATA || at < ring_head_position(head)))
			return ret;
	}
	return 0;
}

static int ring_import_data(const struct ring_import *import, uint32_t ring, uint64_t from)
{
	unsigned char *to = ring_memory_data(&import->memory, ring);

	if (import->touched)
		return ring_import_touched_data(
				import, from, to, ring_memory_control(&import->memory, ring)->head);
	return ring_import_bytes(import, from, to, (size_t)import->memory.geometry.size);
}

static void ring_import_ring(const struct ring_import *import, uint32_t ring)
{
	uint64_t size = import->memory.geometry.size;
	uint64_t from = import->memory.layout.data_offset + ring * (import->doubled ? 2 : 1) * size;
	struct ring_control *control = ring_memory_control(&import->memory, ring);

	/* The program may have written anything here. An unused ring gets no page. */
	control->absent = 0;
	ring_import_lost(import, ring);
	/* An empty ring of leased memory may be revoked: there is nothing to import. */
	if (import->leased &&
			ring_head_position(control->head) == (control->tail & RING_POSITION_MASK))
		return;
	if (control->head != RING_EPOCH_FLIP)
		control->absent = ring_import_data(import, ring, from) != 0;
}

static int ring_import_into(struct ring_import *import, int fd)
{
	int ret = ring_memory_map(fd, RING_END_PRODUCER, &import->memory);

	if (ret)
		return ret;
	ret = ring_import_controls(import);
	for (uint32_t ring = 0; !ret && ring < import->memory.geometry.rings; ring++)
		ring_import_ring(import, ring);
	ring_memory_unmap(&import->memory);
	return ret;
}

/*
 * Creates the memfd of an import. It is only read later, so it needs neither huge pages nor pages
 * for unused parts.
 */
static int ring_import_memfd(const struct ring_header *header)
{
	struct ring_header own = *header;
	int fd = ring_memfd_create("side-ring", header->total, 0);

	if (fd < 0)
		return fd;
	own.storage = RING_IN_MEMFD;
	own.flags &= ~(uint32_t)(RING_PREFAULT | RING_LEASED);
	if (pwrite(fd, &own, sizeof(own), 0) != (ssize_t)sizeof(own))
		return ring_close_failed(fd, errno ? -errno : -EIO);
	return fd;
}

static int ring_import_run(struct ring_import *import, int *ret_fd)
{
	struct ring_geometry geometry;
	struct ring_header header;
	struct ring_layout layout;
	int ret, fd;

	ret = ring_import_bytes(import, 0, &header, sizeof(header));
	if (!ret)
		ret = ring_header_check(&header, &geometry, &layout);
	if (ret)
		return ret;
	import->leased = (geometry.flags & RING_LEASED) && geometry.mode != RING_MODE_OVERWRITE;
	fd = ring_import_memfd(&header);
	if (fd < 0)
		return fd;
	ret = ring_import_into(import, fd);
	if (ret)
		return ring_close_failed(fd, ret);
	*ret_fd = fd;
	return 0;
}

int ring_memory_import(ring_memory_read *read, void *user, uint64_t base, int *ret_fd)
{
	struct ring_import import = {
			.read = read, .user = user, .base = base, .doubled = base != 0};

	return ring_import_run(&import, ret_fd);
}

int ring_memory_import_dumped(ring_memory_read *read, void *user, uint64_t base, int *ret_fd)
{
	struct ring_import import = {.read = read, .user = user, .base = base, .dumped = true};

	return ring_import_run(&import, ret_fd);
}

int ring_memory_import_touched(ring_memory_read *read, void *user, uint64_t base, int *ret_fd)
{
	struct ring_import import = {
			.read = read, .user = user, .base = base, .doubled = true, .touched = true};

	return ring_import_run(&import, ret_fd);
}
