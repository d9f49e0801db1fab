/* SPDX-License-Identifier: MIT */
/*
 * Probe tables of sessions, in state/SESSION.probes/NUMBER. The requester of the probes has made
 * the table. The daemon stores it beside the state file that contains its number, so that later
 * daemons and session processes can read it. A number is never used for another table, and a table
 * is stored before any definition contains its number. So a reader never sees an incomplete file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "recorder/core/shares.h"
#include "sided.h"
#include "protocol/runtime.h"

/* Seals that keep the content constant while it is copied. */
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

bool tables_path(const struct daemon *daemon, const struct session_entry *entry, char *path,
		size_t capacity)
{
	return runtime_path(daemon, path, capacity, WIRE_RUNTIME_STATE "/%s.probes",
			entry->definition->name);
}

static int check_table(int fd, size_t *ret_size, struct error *error)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &status) ||
			!S_ISREG(status.st_mode) || !status.st_size)
		return error_set_kind(error, ERROR_USAGE, -EPERM, NULL,
				"the descriptor of the request is not a probe table: a sealed memfd");
	if (status.st_size > DEFINITION_PROBE_TABLE_MAX)
		return error_set_kind(error, ERROR_USAGE, -EFBIG, "request fewer probes at once",
				"the probe table has %lld bytes, more than %u MiB",
				(long long)status.st_size, DEFINITION_PROBE_TABLE_MAX >> 20);
	*ret_size = (size_t)status.st_size;
	return 0;
}

/* Returns the bytes of all files in the directory, which is in memory on most machines. */
static uint64_t tables_bytes(const char *directory)
{
	uint64_t sum = 0;
	struct dirent *file;
	struct stat status;
	DIR *list = opendir(directory);

	while (list && (file = readdir(list)))
		if (*file->d_name != '.' &&
				!fstatat(dirfd(list), file->d_name, &status, AT_SYMLINK_NOFOLLOW))
			sum += (uint64_t)status.st_size;
	if (list)
		closedir(list);
	return sum;
}

static int sided_table_check_size(const char *directory, size_t size, struct error *error)
{
	if (tables_bytes(directory) + size <= DEFINITION_PROBE_TABLES_MAX)
		return 0;
	return error_set_kind(error, ERROR_BUSY, -ENOSPC, "disable probes, or use another session",
			"the probe tables of the session would exceed %u MiB",
			DEFINITION_PROBE_TABLES_MAX >> 20);
}

/*
 * Checks the limit of the members of the group, over all their sessions: a member cannot use the
 * space of other members.
 */
static int check_share(const struct daemon *daemon, const struct session_entry *entry, size_t size,
		struct error *error)
{
	const struct session_entry *other;
	struct shares shares;
	char directory[256];
	uint64_t left;

	if (!session_is_of_member(daemon, entry))
		return 0;
	shares_init(&shares, LIMIT_TABLES_OF_MEMBERS, LIMIT_TABLE_FLOORS,
			DEFINITION_PROBE_TABLE_MAX);
	for (other = daemon->sessions; other; other = other->next)
		if (session_is_of_member(daemon, other) &&
				tables_path(daemon, other, directory, sizeof(directory)))
			shares_charge(&shares, other->uid, tables_bytes(directory));
	left = shares_left(&shares, entry->uid);
	shares_free(&shares);
	if (size <= left)
		return 0;
	return error_set_kind(error, ERROR_BUSY, -ENOSPC, "`side disable-event` removes probes",
			"cannot keep the probe table: your sessions have %llu MiB left for tables, and this one has %zu MiB",
			(unsigned long long)left >> 20, size >> 20);
}

static int fail_file(const char *path, int code, struct error *error)
{
	return error_set_kind(error, ERROR_FAILED, code, NULL,
			"cannot keep the probe table in %s: %s", path, strerror(-code));
}

int table_store(const struct daemon *daemon, const struct session_entry *entry, uint32_t number,
		int table, struct error *error)
{
	char directory[256], path[280];
	size_t size = 0;
	int fd, ret;

	if (table < 0)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"the request has no descriptor of a probe table");
	ret = check_table(table, &size, error);
	if (ret)
		return ret;
	if (!tables_path(daemon, entry, directory, sizeof(directory)))
		return fail_file("the runtime directory", -ENAMETOOLONG, error);
	if (mkdir(directory, 0700) && errno != EEXIST)
		return fail_file(directory, -errno, error);
	ret = sided_table_check_size(directory, size, error);
	if (!ret)
		ret = check_share(daemon, entry, size, error);
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "%s/%u", directory, number);
	/* A failed request may have left this file. */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_file(path, -errno, error);
	ret = io_copy(table, fd, size);
	close(fd);
	if (!ret)
		return 0;
	unlink(path);
	return fail_file(path, ret, error);
}

static bool has_table(const struct definition *definition, const char *name)
{
	char *end;
	unsigned long number = strtoul(name, &end, 10);
	size_t i;

	for (i = 0; i < definition->nr_probes && *name && !*end; i++)
		if (definition->probes[i].table == number)
			return true;
	return false;
}

void tables_prune(const struct daemon *daemon, const struct session_entry *entry)
{
	char directory[256], path[512];
	struct dirent *file;
	DIR *list;

	if (!tables_path(daemon, entry, directory, sizeof(directory)))
		return;
	list = opendir(directory);
	if (!list)
		return;
	while ((file = readdir(list))) {
		snprintf(path, sizeof(path), "%s/%.200s", directory, file->d_name);
		if (*file->d_name != '.' && !has_table(entry->definition, file->d_name))
			unlink(path);
	}
	closedir(list);
	/* rmdir() removes the directory only if it is empty. */
	rmdir(directory);
}

void tables_remove(const struct daemon *daemon, struct session_entry *entry)
{
	struct definition *definition = entry->definition;
	size_t nr = definition->nr_probes;

	definition->nr_probes = 0;
	tables_prune(daemon, entry);
	definition->nr_probes = nr;
}
