/* SPDX-License-Identifier: MIT */
/*
 * Adopts the chunks of earlier recorders: finishes the one that was being written, removes those
 * whose removal had begun, and counts all of them for the retention limits. Chunks that existed
 * before the session are ignored.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/recovery/adopt-chunks.h"
#include "recorder/rotation/retain.h"
#include "recorder/session-state.h"
#include "recorder/storage/chunk-names.h"
#include "recorder/storage/state-directory.h"

#define LIMIT_CHUNKS 65536
#define DESCRIPTORS 16

/* nftw() has no parameter for it. Only one thread adopts chunks. */
static uint64_t bytes_seen;

static int add_bytes(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)path;
	(void)where;
	if (kind == FTW_F)
		bytes_seen += (uint64_t)status->st_size;
	return 0;
}

static void adopt_chunks_remove_remainder(const struct session *session, const char *name)
{
	char *path;

	if (strncmp(name, ".removed-chunk-", 15) != 0 && strncmp(name, ".snapshot-", 10) != 0)
		return;
	if (asprintf(&path, "%s/%s", session->output.path, name) < 0)
		return;
	retain_remove_tree(path);
	free(path);
}

static int adopt_chunks_is_own_chunk(const struct session *session, const char *name)
{
	return chunk_number(name) > state_directory_first_chunk(session);
}

static void take_chunk(struct session *session, int directory, const char *name)
{
	const char *visible = name + (*name == '.');
	char *path;

	if (*name == '.' && renameat2(directory, name, directory, visible, RENAME_NOREPLACE))
		return;
	if (asprintf(&path, "%s/%s", session->output.path, visible) < 0)
		return;
	bytes_seen = 0;
	if (!nftw(path, add_bytes, DESCRIPTORS, FTW_PHYS))
		retain_add(session, visible, bytes_seen);
	free(path);
}

/* Sorts by number: the hidden chunk is the last one. */
static int compare_chunks(const void *one, const void *other)
{
	unsigned int a = chunk_number(*(char *const *)one), b = chunk_number(*(char *const *)other);

	return a < b ? -1 : a > b;
}

void adopt_chunks(struct session *session)
{
	DIR *directory = opendir(session->output.path);
	char **names = calloc(LIMIT_CHUNKS, sizeof(*names));
	struct dirent *entry;
	size_t nr = 0, i;

	while (directory && names && nr < LIMIT_CHUNKS && (entry = readdir(directory))) {
		adopt_chunks_remove_remainder(session, entry->d_name);
		if (!adopt_chunks_is_own_chunk(session, entry->d_name))
			continue;
		names[nr] = strdup(entry->d_name);
		nr += names[nr] != NULL;
	}
	if (nr)
		qsort(names, nr, sizeof(*names), compare_chunks);
	for (i = 0; i < nr; i++) {
		take_chunk(session, dirfd(directory), names[i]);
		free(names[i]);
	}
	free(names);
	if (directory)
		closedir(directory);
}
