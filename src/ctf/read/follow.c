/* SPDX-License-Identifier: MIT */
/*
 * Follows a trace that is being recorded.
 *
 * As when a trace is opened, the sizes of files are read before the metadata, which then describes
 * everything that is read. Metadata that has grown becomes new classes. A stream uses them from its
 * next packet on, and the old ones are freed when they are not referenced any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctf/read/find.h"
#include "ctf/read/lock.h"
#include "ctf/read/reader-parts.h"

/* ---- is a recorder running ---- */

bool ctf_is_recorded(const char *dir)
{
	return ctf_is_locked(AT_FDCWD, dir, 0);
}

static bool is_recording(const struct ctf_reader *reader)
{
	if (ctf_is_recorded(reader->dir))
		return true;
	for (uint32_t i = 0; i < reader->trace_count; i++) {
		const struct ctf_trace_classes *classes = reader->traces[i];
		int kept = classes->dir->fd;
		int fd = kept >= 0 ? kept
				   : open(classes->trace.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		bool locked = fd >= 0 ? ctf_is_locked(fd, "metadata", 0) : ctf_may_be_locked(errno);

		if (fd >= 0 && fd != kept)
			close(fd);
		if (locked)
			return true;
	}
	return false;
}

/* ---- new data ---- */

static struct ctf_metadata_seen see_metadata(int dir_fd)
{
	struct stat stat;

	if (fstatat(dir_fd, "metadata", &stat, 0))
		return (struct ctf_metadata_seen){0};
	return (struct ctf_metadata_seen){
			.inode = stat.st_ino,
			.size = stat.st_size,
			.ns = (int64_t)stat.st_mtim.tv_sec * 1000000000 + stat.st_mtim.tv_nsec,
	};
}

/* 0: the classes are up to date; -EAGAIN: they are not readable now; -ENOMEM. */
static int ctf_follow_renew_metadata(
		struct ctf_reader *reader, int dir_fd, const char *path, uint32_t index)
{
	struct ctf_metadata_seen seen = see_metadata(dir_fd);
	struct ctf_trace_classes *before = reader->traces[index], *classes;
	struct error error;
	int ret;

	if (seen.inode == before->seen.inode && seen.size == before->seen.size &&
			seen.ns == before->seen.ns)
		return 0;
	ret = ctf_metadata_read(dir_fd, path, &classes, &error);
	if (!classes)
		return -ENOMEM;
	if (ret) { /* The recorder is writing a block. */
		ctf_metadata_free(classes);
		return ret == -ENOMEM ? ret : -EAGAIN;
	}
	classes->seen = seen;
	classes->dir = before->dir;
	classes->trace.index = index;
	before->newer = classes;
	before->older = reader->retired;
	reader->retired = before;
	reader->traces[index] = classes;
	return 0;
}

static struct ctf_stream_reader *ctf_follow_find_stream(
		const struct ctf_reader *reader, uint32_t trace, const char *name)
{
	for (uint32_t i = reader->stream_count; i-- > 0;) {
		struct ctf_stream_reader *stream = reader->streams[i];

		if (stream->classes->trace.index == trace && strcmp(stream->info.name, name) == 0)
			return stream;
	}
	return NULL;
}

static int renew_trace(struct ctf_reader *reader, int dir_fd, const char *path, uint32_t index,
		struct dirent **names, const struct stat *stats, int count)
{
	int ret = ctf_follow_renew_metadata(reader, dir_fd, path, index);

	for (int i = 0; !ret && i < count; i++) {
		struct ctf_stream_reader *stream;

		if (!stats[i].st_size)
			continue;
		stream = ctf_follow_find_stream(reader, index, names[i]->d_name);
		if (stream)
			ctf_window_extend(&stream->window, &stats[i]);
		else
			ret = ctf_reader_add_stream(
					reader, reader->traces[index], names[i]->d_name, &stats[i]);
	}
	return ret == -EAGAIN ? 0 : ret;
}

/* Add a trace. If its metadata is incomplete, a later call adds it. */
static int new_trace(struct ctf_reader *reader, int dir_fd, const char *path, struct dirent **names,
		const struct stat *stats, int count)
{
	struct ctf_metadata_seen seen = see_metadata(dir_fd);
	int ret;

	if (reader->follows) {
		struct ctf_trace_classes *classes;
		struct error error;

		ret = ctf_metadata_read(dir_fd, path, &classes, &error);
		ctf_metadata_free(classes);
		if (ret)
			return ret == -ENOMEM ? ret : 0;
	}
	ret = ctf_reader_add_trace(reader, dir_fd, path, names, stats, count);
	if (!ret)
		reader->traces[reader->trace_count - 1]->seen = seen;
	return ret;
}

/* Compare the directory itself, because a finished chunk is renamed. */
static bool ctf_follow_is_same_directory(
		const struct ctf_trace_classes *classes, const struct stat *stat)
{
	return classes->dir->device == stat->st_dev && classes->dir->inode == stat->st_ino;
}

static int ctf_follow_scan_trace(
		void *context, int dir_fd, const char *path, struct dirent **names, int count)
{
	struct ctf_reader *reader = context;
	struct stat *stats = ctf_reader_stat(dir_fd, names, count);
	uint32_t index = 0;
	struct stat self;
	int ret = -ENOMEM;

	if (!stats)
		return ret;
	if (fstat(dir_fd, &self)) {
		free(stats);
		return 0;
	}
	while (index < reader->trace_count &&
			!ctf_follow_is_same_directory(reader->traces[index], &self))
		index++;
	if (index < reader->trace_count)
		ret = renew_trace(reader, dir_fd, path, index, names, stats, count);
	else
		ret = new_trace(reader, dir_fd, path, names, stats, count);
	free(stats);
	return ret;
}

/* ---- freeing replaced classes ---- */

static bool is_used(const struct ctf_reader *reader, const struct ctf_trace_classes *classes)
{
	for (uint32_t i = 0; i < reader->stream_count; i++) {
		const struct ctf_stream_reader *stream = reader->streams[i];

		if (stream->classes == classes ||
				(stream->waits && stream->item.trace == &classes->trace))
			return true;
	}
	return false;
}

void ctf_reader_forget(const struct ctf_reader *reader, struct ctf_trace_classes *classes)
{
	for (uint32_t i = 0; i < classes->event_count; i++) {
		if (classes->events[i]->user && reader->forget)
			reader->forget(classes->events[i]->user);
	}
	ctf_metadata_free(classes);
}

/* Older classes, which are behind them in the list, may point to them. */
static void unlink_newer(struct ctf_trace_classes *classes)
{
	for (struct ctf_trace_classes *older = classes->older; older; older = older->older) {
		if (older->newer == classes)
			older->newer = classes->newer;
	}
}

static void forget_retired(struct ctf_reader *reader)
{
	struct ctf_trace_classes **at = &reader->retired;

	while (*at) {
		struct ctf_trace_classes *classes = *at;

		if (is_used(reader, classes)) {
			at = &classes->older;
			continue;
		}
		unlink_newer(classes);
		*at = classes->older;
		ctf_reader_forget(reader, classes);
	}
}

/* ---- interface ---- */

void ctf_reader_follow(struct ctf_reader *reader, void (*forget)(void *user))
{
	reader->follows = true;
	reader->forget = forget;
	for (uint32_t i = 0; i < reader->stream_count; i++)
		reader->streams[i]->follows = true;
}

int ctf_reader_refresh(struct ctf_reader *reader, bool *ret_recording)
{
	int ret;

	/* Check the lock first: everything that was written before its release is then found
	   below. */
	*ret_recording = is_recording(reader);
	reader->follows = *ret_recording;
	ret = ctf_find_traces(reader->dir, reader->growing, ctf_follow_scan_trace, reader, NULL);
	if (ret == -ENOMEM)
		return ret;
	ctf_reader_size_windows(reader);
	ret = ctf_reader_continue_overlaps(reader);
	for (uint32_t i = 0; !ret && i < reader->stream_count; i++) {
		struct ctf_stream_reader *stream = reader->streams[i];

		stream->follows = reader->follows;
		if (!stream->waits && stream->state != CTF_STREAM_END && reader->merging)
			ret = ctf_reader_wait_for(reader, stream);
	}
	forget_retired(reader);
	return ret;
}
