/* SPDX-License-Identifier: MIT */
/*
 * Limits the size of a long recording: removes the oldest finished chunks if there are too many, if
 * they are too old, or if all chunks, including the current one, are too large. A chunk is renamed
 * before its files are removed, so that no reader opens an incomplete one.
 *
 * Ages use CLOCK_BOOTTIME, which cannot be set.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/rotation/retain.h"
#include "recorder/session-state.h"

#define DEPTH_MAX 16

/* A finished chunk in a list, oldest first. */
struct retained_chunk {
	struct retained_chunk *next;
	uint64_t bytes;
	uint64_t finished; /* ns of CLOCK_BOOTTIME */
	char name[];
};

int retain_take(struct session *session, const struct session_options *options, struct error *error)
{
	struct retention *retention = &session->retention;

	retention->size = options->retention.size;
	retention->age_ns = options->retention.age_ns;
	retention->count = options->retention.count;
	if ((retention->size || retention->age_ns || retention->count) &&
			!session->rotation.chunks && !session->service)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"--keep-size, --keep-age and --keep-count count chunks: they need --rotate-size, --rotate-every or --rotate");
	if (retention->size && retention->size < session->rotation.size)
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"--keep-size is smaller than one chunk (--rotate-size)");
	return 0;
}

void retain_add(struct session *session, const char *name, uint64_t bytes)
{
	struct retention *retention = &session->retention;
	struct retained_chunk *chunk = malloc(sizeof(*chunk) + strlen(name) + 1);

	pthread_mutex_lock(&session->lock);
	retention->made++;
	snprintf(retention->newest, sizeof(retention->newest), "%s", name);
	pthread_mutex_unlock(&session->lock);
	if (!chunk)
		return; /* Out of memory: the chunk is never removed. */
	strcpy(chunk->name, name);
	chunk->bytes = bytes;
	chunk->finished = clock_boottime_ns();
	chunk->next = NULL;
	*(retention->newest_chunk ? &retention->newest_chunk->next : &retention->chunks) = chunk;
	retention->newest_chunk = chunk;
	retention->nr++;
	retention->bytes += bytes;
}

/* ---- removing ---- */

static int remove_entry(int parent, const char *name, unsigned int depth);

static int remove_inside(int fd, unsigned int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	int ret = 0;

	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && !ret)
			ret = remove_entry(dirfd(dir), entry->d_name, depth);
	closedir(dir);
	return ret;
}

static int remove_entry(int parent, const char *name, unsigned int depth)
{
	int fd, ret;

	if (!unlinkat(parent, name, 0))
		return 0;
	if ((errno != EISDIR && errno != EPERM) || depth == DEPTH_MAX)
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = remove_inside(fd, depth + 1);
	if (!ret && unlinkat(parent, name, AT_REMOVEDIR))
		ret = -errno;
	return ret;
}

int retain_remove_tree(const char *path)
{
	return remove_entry(AT_FDCWD, path, 0);
}

/* Renames the chunk to a name that readers ignore, and then removes its files. */
static int remove_chunk(const struct session *session, const char *name)
{
	char *from = NULL, *to = NULL;
	int ret = -ENOMEM;

	if (asprintf(&from, "%s/%s", session->output.path, name) < 0)
		from = NULL;
	if (asprintf(&to, "%s/.removed-%s", session->output.path, name) < 0)
		to = NULL;
	if (from && to)
		ret = rename(from, to) ? -errno : retain_remove_tree(to);
	free(from);
	free(to);
	return ret;
}

static void remove_oldest(struct session *session)
{
	struct retention *retention = &session->retention;
	struct retained_chunk *chunk = retention->chunks;
	int ret = remove_chunk(session, chunk->name);

	retention->chunks = chunk->next;
	if (!chunk->next)
		retention->newest_chunk = NULL;
	retention->nr--;
	retention->bytes -= chunk->bytes;
	pthread_mutex_lock(&session->lock);
	retention->removed += !ret;
	retention->removed_bytes += ret ? 0 : chunk->bytes;
	pthread_mutex_unlock(&session->lock);
	/* If the user has removed the chunk already, there is nothing to report. */
	if (ret && ret != -ENOENT) {
		report_failure(session, ret);
		report(session, true, "the old chunk %s could not be removed: %s", chunk->name,
				strerror(-ret));
	}
	free(chunk);
}

static bool is_too_much(const struct session *session)
{
	const struct retention *retention = &session->retention;

	if (!retention->chunks)
		return false;
	if (retention->count && retention->nr > retention->count)
		return true;
	if (retention->size && retention->bytes + session->rotation.bytes > retention->size)
		return true;
	return retention->age_ns &&
			clock_boottime_ns() - retention->chunks->finished > retention->age_ns;
}

void retain_apply(struct session *session)
{
	while (is_too_much(session))
		remove_oldest(session);
}

void retain_free(struct session *session)
{
	struct retention *retention = &session->retention;

	while (retention->chunks) {
		struct retained_chunk *next = retention->chunks->next;

		free(retention->chunks);
		retention->chunks = next;
	}
}
