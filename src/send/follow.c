/* SPDX-License-Identifier: MIT */
/* The traces of a directory while they grow. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "send/follow.h"

#define DEPTH_MAX 16
#define SUFFIX ".zst"
#define WATCHED (IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE)

/* ---- whether somebody is at work ---- */

static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

static bool trace_is_written(const struct follow_trace *trace)
{
	char path[4096];

	return (size_t)snprintf(path, sizeof(path), "%s/metadata", trace->path) < sizeof(path) &&
			is_locked(path);
}

bool follow_is_over(const struct follow *follow)
{
	if (is_locked(follow->dir))
		return false;
	for (const struct follow_trace *trace = follow->traces; trace; trace = trace->next)
		if (!trace->ended && trace_is_written(trace))
			return false;
	return true;
}

/* ---- opening and closing ---- */

static void free_stream(struct follow_stream *stream)
{
	free(stream->name);
	free(stream->plain);
	free(stream);
}

static void free_trace(struct follow_trace *trace)
{
	while (trace->streams) {
		struct follow_stream *next = trace->streams->next;

		free_stream(trace->streams);
		trace->streams = next;
	}
	ctf_counter_free(trace->counter);
	free(trace->path);
	free(trace->name);
	free(trace);
}

int follow_open(const char *dir, struct follow *follow)
{
	*follow = (struct follow){.walk = true};
	follow->last = &follow->traces;
	follow->dir = strdup(dir);
	if (!follow->dir)
		return -ENOMEM;
	follow->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	follow->lame = follow->inotify < 0;
	return 0;
}

void follow_close(struct follow *follow)
{
	while (follow->traces) {
		struct follow_trace *next = follow->traces->next;

		free_trace(follow->traces);
		follow->traces = next;
	}
	if (follow->inotify >= 0)
		close(follow->inotify);
	free(follow->dir);
	free(follow->gone);
	*follow = (struct follow){.inotify = -1};
}

static int watch(struct follow *follow, const char *path)
{
	int watch = follow->inotify < 0 ? -1 : inotify_add_watch(follow->inotify, path, WATCHED);

	if (watch < 0)
		follow->lame = true;
	return watch;
}

/* ---- finding traces ---- */

static char *trace_name(const struct follow *follow, const char *path)
{
	size_t size = strlen(follow->dir);
	const char *name = path + size, *begin;

	while (*name == '/')
		name++;
	if (*name)
		return strdup(name);
	/* The directory is itself a trace. */
	while (size > 1 && follow->dir[size - 1] == '/')
		size--;
	begin = memrchr(follow->dir, '/', size);
	begin = begin ? begin + 1 : follow->dir;
	size -= (size_t)(begin - follow->dir);
	if (!size || *begin == '.' || *begin == '/')
		return strdup("trace");
	return strndup(begin, size);
}

static int add_trace(struct follow *follow, const char *path, const struct stat *status)
{
	struct follow_trace *trace;

	for (trace = follow->traces; trace; trace = trace->next) {
		if (trace->removed || trace->device != status->st_dev ||
				trace->inode != status->st_ino)
			continue;
		trace->found = true;
		if (strcmp(trace->path, path) != 0) { /* It was renamed. */
			char *copy = strdup(path);

			if (!copy)
				return -ENOMEM;
			free(trace->path);
			trace->path = copy;
		}
		return 0;
	}
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return -ENOMEM;
	trace->path = strdup(path);
	trace->name = trace_name(follow, path);
	if (!trace->path || !trace->name) {
		free_trace(trace);
		return -ENOMEM;
	}
	trace->device = status->st_dev;
	trace->inode = status->st_ino;
	trace->number = follow->nr_traces++;
	trace->watch = watch(follow, path);
	trace->found = trace->dirty = true;
	*follow->last = trace;
	follow->last = &trace->next;
	return 0;
}

static int walk_below(struct follow *follow, const char *path, unsigned int depth);

static int walk_entry(struct follow *follow, const char *path, const struct dirent *entry,
		unsigned int depth)
{
	char *inner;
	int ret;

	if (*entry->d_name == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
		return 0;
	if (asprintf(&inner, "%s/%s", path, entry->d_name) < 0)
		return -ENOMEM;
	ret = walk_below(follow, inner, depth);
	free(inner);
	return ret;
}

static int walk_below(struct follow *follow, const char *path, unsigned int depth)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0)), ret = 0;
	struct stat status, metadata;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return depth ? 0 : -errno;
	if (!fstat(fd, &status) && !fstatat(fd, "metadata", &metadata, AT_SYMLINK_NOFOLLOW) &&
			S_ISREG(metadata.st_mode)) {
		close(fd);
		return add_trace(follow, path, &status);
	}
	/* Watched before it is read: what comes afterwards is told. */
	watch(follow, path);
	dir = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	if (!dir) {
		close(fd);
		return 0;
	}
	while (!ret && (entry = readdir(dir)))
		ret = walk_entry(follow, path, entry, depth + 1);
	closedir(dir);
	return ret;
}

static uint64_t undelivered(const struct follow_trace *trace)
{
	uint64_t bytes = 0;

	for (const struct follow_stream *stream = trace->streams; stream; stream = stream->next)
		if (!stream->damaged)
			bytes += stream->size - stream->delivered.offset;
	return bytes;
}

/* Somebody else has removed it: what is not delivered never will be. */
static void lose_trace(struct follow *follow, struct follow_trace *trace)
{
	uint64_t bytes = undelivered(trace);

	trace->removed = trace->ended = true;
	if (!bytes)
		return;
	follow->vanished += bytes;
	free(follow->gone);
	follow->gone = strdup(trace->name);
	for (struct follow_stream *stream = trace->streams; stream; stream = stream->next) {
		stream->size = stream->at.offset;
		stream->delivered = stream->at;
	}
}

static int walk(struct follow *follow)
{
	int ret;

	follow->walk = false;
	for (struct follow_trace *trace = follow->traces; trace; trace = trace->next)
		trace->found = false;
	ret = walk_below(follow, follow->dir, 0);
	if (ret == -ENOMEM)
		return ret;
	for (struct follow_trace *trace = follow->traces; trace; trace = trace->next)
		if (!trace->found && !trace->removed)
			lose_trace(follow, trace);
	return 0;
}

/* ---- looking at a trace ---- */

static bool is_stream(const char *name)
{
	return *name != '.' && strcmp(name, "metadata") != 0;
}

static struct follow_stream *find_stream(const struct follow_trace *trace, const char *name)
{
	struct follow_stream *stream = trace->streams;

	while (stream && strcmp(stream->name, name) != 0)
		stream = stream->next;
	return stream;
}

static struct follow_stream *add_stream(struct follow_trace *trace, const char *name)
{
	struct follow_stream *stream = calloc(1, sizeof(*stream)), **end = &trace->streams;
	size_t size = strlen(name);

	if (!stream)
		return NULL;
	if (size > strlen(SUFFIX) && !strcmp(name + size - strlen(SUFFIX), SUFFIX))
		size -= strlen(SUFFIX);
	stream->name = strdup(name);
	stream->plain = strndup(name, size);
	stream->trace = trace;
	stream->number = trace->nr_streams;
	if (!stream->name || !stream->plain) {
		free_stream(stream);
		return NULL;
	}
	while (*end)
		end = &(*end)->next;
	*end = stream;
	trace->nr_streams++;
	return stream;
}

static int look_at_file(struct follow_trace *trace, int dir_fd, const char *name)
{
	struct follow_stream *stream;
	struct stat status;

	if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
		return 0;
	if (!strcmp(name, ".maps"))
		trace->maps_size = (uint64_t)status.st_size;
	if (!is_stream(name) || !status.st_size)
		return 0;
	stream = find_stream(trace, name);
	if (!stream)
		stream = add_stream(trace, name);
	if (!stream)
		return -ENOMEM;
	if ((uint64_t)status.st_size > stream->size)
		stream->size = (uint64_t)status.st_size;
	return 0;
}

static int look_at_trace(struct follow_trace *trace, bool over)
{
	bool ended = over || !trace_is_written(trace);
	int fd = open(trace->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	struct dirent *entry;
	struct stat status;
	DIR *dir;

	trace->dirty = false;
	if (fd < 0)
		return 0; /* The next walk tells. */
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!ret && (entry = readdir(dir)))
		ret = look_at_file(trace, fd, entry->d_name);
	if (!fstatat(fd, "metadata", &status, 0)) {
		trace->metadata_inode = status.st_ino;
		trace->metadata_size = (uint64_t)status.st_size;
	}
	closedir(dir);
	trace->ended = ended;
	return ret;
}

static void take_note(struct follow *follow, const struct inotify_event *event)
{
	struct follow_trace *trace = follow->traces;

	if (event->mask & IN_Q_OVERFLOW)
		follow->lame = true;
	while (trace && (trace->watch != event->wd || trace->removed))
		trace = trace->next;
	if (trace)
		trace->dirty = true;
	/* What a directory above traces tells, or that a trace was removed. */
	if (!trace || event->mask & (IN_IGNORED | IN_MOVED_FROM | IN_DELETE))
		follow->walk = true;
}

static void take_notes(struct follow *follow)
{
	char buffer[16384] __attribute__((aligned(8)));
	ssize_t got;

	if (follow->inotify < 0)
		return;
	while ((got = read(follow->inotify, buffer, sizeof(buffer))) > 0) {
		const char *at = buffer;

		while (at < buffer + got) {
			const struct inotify_event *event = (const void *)at;

			take_note(follow, event);
			at += sizeof(*event) + event->len;
		}
	}
}

int follow_look(struct follow *follow, bool over)
{
	int ret = 0;

	take_notes(follow);
	if (follow->walk || follow->lame || over)
		ret = walk(follow);
	for (struct follow_trace *trace = follow->traces; !ret && trace; trace = trace->next) {
		if (trace->removed || trace->done)
			continue;
		if (trace->dirty || follow->lame || (over && !trace->ended) ||
				(!trace->ended && !trace_is_written(trace)))
			ret = look_at_trace(trace, over);
	}
	return ret;
}

/* ---- packets ---- */

int follow_peek(struct follow_stream *stream, struct ctf_packet *packet)
{
	char path[4096];
	int fd, ret;

	if (stream->damaged || stream->trace->removed || stream->at.offset >= stream->size)
		return 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", stream->trace->path, stream->name) >=
			sizeof(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	ret = ctf_packet_read(fd, stream->name, stream->at.offset, packet);
	close(fd);
	/* It may have been written since; the metadata was looked at before. */
	if (ret > 0 && packet->next > stream->size)
		return 0;
	if (ret == -EBADMSG || (!ret && stream->trace->ended)) {
		stream->damaged = true;
		return -EBADMSG;
	}
	return ret;
}

void follow_pass(struct follow_stream *stream, const struct ctf_packet *packet, uint64_t events)
{
	if (!stream->seen)
		stream->begin = packet->begin;
	stream->seen = true;
	stream->last = *packet;
	stream->last.bytes = NULL;
	stream->last.size = stream->last.room = 0;
	stream->at.offset = packet->next;
	stream->at.packets++;
	stream->at.events += events;
}

uint64_t follow_count(struct follow_trace *trace, const struct ctf_packet *packet)
{
	uint64_t events = 0;

	if (!trace->counter)
		trace->counter = ctf_counter_create();
	if (trace->counter)
		(void)ctf_counter_count(trace->counter, trace->path, packet, &events);
	return events;
}

/* ---- texts ---- */

/* Up to the end of the last whole block; a writer may be in the middle of one. */
static size_t whole_part(const char *text, size_t size, bool is_metadata)
{
	static const char tsdl[] = "};\n\n", json[] = "}\n";
	bool is_json = memchr(text, 0x1e, size) != NULL;
	const char *end = is_json ? json : tsdl;
	size_t length = strlen(end);

	if (!is_metadata) {
		const char *line = memrchr(text, '\n', size);

		return line ? (size_t)(line + 1 - text) : 0;
	}
	for (size_t at = size; at >= length; at--) {
		if (memcmp(text + at - length, end, length) != 0)
			continue;
		/* Within a fragment a line may end like this, too. */
		if (!is_json || at == size || text[at] == 0x1e)
			return at;
	}
	return 0;
}

int follow_text(struct follow_trace *trace, const char *name, uint64_t offset, char **text,
		size_t *size)
{
	char path[4096];
	struct stat status;
	ssize_t got = -1;
	int fd;

	*text = NULL;
	*size = 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", trace->path, name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || (uint64_t)status.st_size <= offset ||
			status.st_size - (off_t)offset > 1 << 30) {
		close(fd);
		return 0;
	}
	*size = (size_t)status.st_size - offset;
	*text = malloc(*size + 1);
	if (*text)
		got = pread(fd, *text, *size, (off_t)offset);
	close(fd);
	if (got <= 0) {
		int ret = *text ? -EIO : -ENOMEM;

		free(*text);
		*text = NULL;
		*size = 0;
		return ret;
	}
	*size = trace->ended ? (size_t)got
			     : whole_part(*text, (size_t)got, strcmp(name, "metadata") == 0);
	return 0;
}

/* ---- what it takes, and giving it back ---- */

uint64_t follow_bytes(const struct follow *follow)
{
	uint64_t bytes = 0;

	for (const struct follow_trace *trace = follow->traces; trace; trace = trace->next) {
		if (trace->removed)
			continue;
		for (const struct follow_stream *stream = trace->streams; stream;
				stream = stream->next)
			bytes += stream->size - stream->freed;
	}
	return bytes;
}

uint64_t follow_pending(const struct follow *follow)
{
	uint64_t bytes = 0;

	for (const struct follow_trace *trace = follow->traces; trace; trace = trace->next)
		if (!trace->removed && !trace->refused)
			bytes += undelivered(trace);
	return bytes;
}

/* The recorder goes on writing behind the hole. */
static void punch(struct follow_stream *stream)
{
	uint64_t end = stream->delivered.offset / 4096 * 4096;
	char path[4096];
	int fd;

	if (end <= stream->freed ||
			(size_t)snprintf(path, sizeof(path), "%s/%s", stream->trace->path,
					stream->name) >= sizeof(path))
		return;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	if (!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)stream->freed,
			    (off_t)(end - stream->freed)))
		stream->freed = end;
	close(fd);
}

/* All of it has arrived, and nobody writes there any more. */
static void remove_trace(struct follow_trace *trace)
{
	DIR *dir = opendir(trace->path);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (is_stream(entry->d_name) || !strcmp(entry->d_name, "metadata") ||
				!strcmp(entry->d_name, ".maps"))
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(trace->path);
	trace->removed = true;
}

void follow_free(struct follow *follow, uint64_t bytes)
{
	uint64_t there = follow_bytes(follow);

	for (struct follow_trace *trace = follow->traces; trace && there > bytes;
			trace = trace->next) {
		if (trace->removed)
			continue;
		if (trace->done && !undelivered(trace)) {
			remove_trace(trace);
		} else {
			for (struct follow_stream *stream = trace->streams; stream;
					stream = stream->next)
				punch(stream);
		}
		there = follow_bytes(follow);
	}
}
