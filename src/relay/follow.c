/* SPDX-License-Identifier: MIT */
/* Finds traces and their new packets in a directory that a recorder writes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctf/compress.h"
#include "ctf/read/lock.h"
#include "relay/follow.h"

#define DEPTH_MAX 16
/* A trace that is being moved into a chunk cannot be found for a moment. */
#define MISSING_MS 5000
#define WATCHED (IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE)

/* ---- is a recorder running ---- */

/* The user names the directory, so links in its path are followed. Inside a trace, other users may
   be able to create links. */
static bool trace_is_written(const struct follow_trace *trace)
{
	char path[4096];

	return (size_t)snprintf(path, sizeof(path), "%s/metadata", trace->path) < sizeof(path) &&
			ctf_is_locked(AT_FDCWD, path, O_NOFOLLOW);
}

bool follow_is_over(const struct follow *follow)
{
	if (ctf_is_locked(AT_FDCWD, follow->dir, 0))
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

static void relay_follow_free_trace(struct follow_trace *trace)
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
	if (follow->marks)
		marks_close(follow->marks);
	free(follow->marks);
	while (follow->traces) {
		struct follow_trace *next = follow->traces->next;

		relay_follow_free_trace(follow->traces);
		follow->traces = next;
	}
	if (follow->inotify >= 0)
		close(follow->inotify);
	free(follow->dir);
	free(follow->gone);
	*follow = (struct follow){.inotify = -1};
}

static int relay_follow_watch_path(struct follow *follow, const char *path)
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

static struct follow_stream *relay_follow_add_stream(struct follow_trace *trace, const char *name);

/* With the state that an earlier sender left. */
static bool restore_stream(
		struct follow_trace *trace, const struct marks_stream *marks, uint32_t slot)
{
	struct follow_stream *stream = relay_follow_add_stream(trace, marks->name);

	if (!stream)
		return false;
	stream->slot = slot;
	stream->number = marks->number;
	stream->delivered = stream->at = stream->marked = marks->delivered;
	stream->there = stream->size = marks->delivered.offset;
	stream->freed = marks->freed;
	stream->dropped_packets = marks->dropped_packets;
	stream->dropped_events = stream->marked_dropped = marks->dropped_events;
	stream->dropped_bytes = marks->dropped_bytes;
	stream->header_size = marks->header_size;
	stream->seen = marks->seen;
	stream->begin = marks->first;
	stream->last.begin = marks->begin;
	stream->last.end = marks->end;
	stream->last.sequence = marks->sequence;
	stream->last.discarded = marks->discarded;
	stream->last.class_id = marks->class_id;
	stream->last.instance = marks->instance;
	memcpy(stream->last.uuid, marks->uuid, sizeof(stream->last.uuid));
	return true;
}

static bool restore_trace(struct follow *follow, struct follow_trace *trace)
{
	const struct marks *marks = follow->marks;
	uint32_t at = 0, number = 0;

	if (!marks)
		return true;
	trace->slot = marks_find_trace(marks, trace->name, trace->inode);
	if (!trace->slot)
		return true;
	follow->nr_traces--; /* The trace has a number from the marks. */
	trace->number = marks->entries[trace->slot].trace.number;
	trace->generation = marks->entries[trace->slot].trace.generation;
	trace->marked_generation = trace->generation;
	trace->done = trace->ended = marks->entries[trace->slot].trace.done;
	trace->marked_done = trace->done;
	free(trace->name);
	trace->name = strdup(marks->entries[trace->slot].trace.name);
	while ((at = marks_next_stream(marks, trace->number, at))) {
		const struct marks_stream *stream = &marks->entries[at].stream;

		if (!restore_stream(trace, stream, at))
			return false;
		if (stream->number >= number)
			number = stream->number + 1;
	}
	trace->nr_streams = number;
	return trace->name;
}

static int add_trace(struct follow *follow, const char *path, const struct stat *status)
{
	struct follow_trace *trace;

	for (trace = follow->traces; trace; trace = trace->next) {
		if (trace->removed || trace->device != status->st_dev ||
				trace->inode != status->st_ino)
			continue;
		trace->found = true;
		trace->missing = 0;
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
		relay_follow_free_trace(trace);
		return -ENOMEM;
	}
	trace->device = status->st_dev;
	trace->inode = status->st_ino;
	trace->number = follow->nr_traces++;
	if (!restore_trace(follow, trace)) {
		relay_follow_free_trace(trace);
		return -ENOMEM;
	}
	trace->watch = relay_follow_watch_path(follow, path);
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

/* Keeps errno, unless another process has removed the file, or the directory of another user is not
   readable. */
static void relay_follow_note_error(struct follow *follow)
{
	if (errno && errno != ENOENT && errno != EACCES && errno != ENOTDIR && errno != ELOOP)
		follow->error = errno;
}

static struct dirent *next_entry(struct follow *follow, DIR *dir)
{
	struct dirent *entry;

	errno = 0;
	entry = readdir(dir);
	if (!entry)
		relay_follow_note_error(follow);
	return entry;
}

static int walk_below(struct follow *follow, const char *path, unsigned int depth)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0)), ret = 0;
	struct stat status, metadata;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0) {
		relay_follow_note_error(follow);
		if (depth)
			return 0;
		/* Directories below it may belong to other users. If this one is unreadable, no
		   trace can be found or sent. */
		if (errno == EACCES)
			follow->error = errno;
		return -errno;
	}
	errno = 0;
	if (!fstat(fd, &status) && !fstatat(fd, "metadata", &metadata, AT_SYMLINK_NOFOLLOW) &&
			S_ISREG(metadata.st_mode)) {
		close(fd);
		return add_trace(follow, path, &status);
	}
	relay_follow_note_error(follow);
	/* Add the watch before reading, so that later changes cause a notification. */
	relay_follow_watch_path(follow, path);
	dir = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	if (!dir) {
		close(fd);
		return depth < DEPTH_MAX ? -ENOMEM : 0;
	}
	while (!ret && (entry = next_entry(follow, dir)))
		ret = walk_entry(follow, path, entry, depth + 1);
	closedir(dir);
	return ret;
}

static uint64_t undelivered(const struct follow_trace *trace)
{
	uint64_t bytes = 0;

	for (const struct follow_stream *stream = trace->streams; stream; stream = stream->next)
		if (!stream->damaged)
			bytes += stream->there - stream->delivered.offset;
	return bytes;
}

/* Another process has removed the trace: its undelivered packets are lost. */
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
		stream->there = stream->size = stream->at.offset;
		stream->delivered = stream->at;
	}
}

static int relay_follow_walk_traces(struct follow *follow, bool over)
{
	int64_t now = (int64_t)clock_monotonic_ms();
	int ret;

	follow->walk = false;
	for (struct follow_trace *trace = follow->traces; trace; trace = trace->next)
		trace->found = false;
	ret = walk_below(follow, follow->dir, 0);
	if (ret == -ENOMEM)
		return ret;
	for (struct follow_trace *trace = follow->traces; trace; trace = trace->next) {
		if (trace->found || trace->removed || follow->error)
			continue;
		if (!trace->missing)
			trace->missing = now;
		if (over || now - trace->missing >= MISSING_MS)
			lose_trace(follow, trace);
		else
			follow->walk = true;
	}
	return 0;
}

/* ---- scanning a trace ---- */

static bool is_stream(const char *name)
{
	return *name != '.' && strcmp(name, "metadata") != 0;
}

static struct follow_stream *relay_follow_find_stream(
		const struct follow_trace *trace, const char *name)
{
	struct follow_stream *stream = trace->streams;

	while (stream && strcmp(stream->name, name) != 0)
		stream = stream->next;
	return stream;
}

static struct follow_stream *relay_follow_add_stream(struct follow_trace *trace, const char *name)
{
	struct follow_stream *stream = calloc(1, sizeof(*stream)), **end = &trace->streams;
	size_t size = strlen(name);

	if (!stream)
		return NULL;
	(void)ctf_is_compressed(name, &size); /* It leaves the size of other names. */
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

static int relay_follow_check_file(
		struct follow *follow, struct follow_trace *trace, int dir_fd, const char *name)
{
	struct follow_stream *stream;
	struct stat status;

	if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW)) {
		relay_follow_note_error(follow);
		return 0;
	}
	if (!S_ISREG(status.st_mode))
		return 0;
	if (!strcmp(name, ".maps"))
		trace->maps_size = (uint64_t)status.st_size;
	if (!is_stream(name) || !status.st_size)
		return 0;
	stream = relay_follow_find_stream(trace, name);
	if (!stream)
		stream = relay_follow_add_stream(trace, name);
	if (!stream)
		return -ENOMEM;
	if ((uint64_t)status.st_size > stream->there)
		stream->there = (uint64_t)status.st_size;
	if (!follow->staged)
		stream->size = stream->there;
	return 0;
}

static int relay_follow_scan_trace(struct follow *follow, struct follow_trace *trace, bool over)
{
	bool ended = over || !trace_is_written(trace);
	int fd = open(trace->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	struct dirent *entry;
	struct stat status;
	DIR *dir;

	trace->dirty = false;
	if (fd < 0) {
		/* The next walk finds out whether it was removed. */
		relay_follow_note_error(follow);
		return 0;
	}
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!ret && (entry = next_entry(follow, dir)))
		ret = relay_follow_check_file(follow, trace, fd, entry->d_name);
	if (!fstatat(fd, "metadata", &status, 0)) {
		trace->metadata_inode = status.st_ino;
		trace->metadata_size = (uint64_t)status.st_size;
	} else {
		relay_follow_note_error(follow);
	}
	closedir(dir);
	if (follow->error) {
		trace->dirty = true;
		return ret;
	}
	trace->ended = ended;
	return ret;
}

static void relay_follow_handle_inotify(struct follow *follow, const struct inotify_event *event)
{
	struct follow_trace *trace = follow->traces;

	if (event->mask & IN_Q_OVERFLOW)
		follow->lame = true;
	while (trace && (trace->watch != event->wd || trace->removed))
		trace = trace->next;
	if (trace)
		trace->dirty = true;
	/* A change of a directory above traces, or a removed trace. */
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

			relay_follow_handle_inotify(follow, event);
			at += sizeof(*event) + event->len;
		}
	}
}

int follow_scan(struct follow *follow, bool over)
{
	int ret = 0;

	follow->error = 0;
	take_notes(follow);
	if (follow->walk || follow->lame || over)
		ret = relay_follow_walk_traces(follow, over);
	for (struct follow_trace *trace = follow->traces; !ret && trace; trace = trace->next) {
		if (trace->removed || trace->done)
			continue;
		if (trace->dirty || follow->lame || (over && !trace->ended) ||
				(!trace->ended && !trace_is_written(trace)))
			ret = relay_follow_scan_trace(follow, trace, over);
	}
	/* Makes the next call read everything again. */
	if (follow->error)
		follow->walk = true;
	return ret;
}

void follow_settle(struct follow *follow)
{
	for (struct follow_trace *trace = follow->traces; trace; trace = trace->next)
		for (struct follow_stream *stream = trace->streams; stream; stream = stream->next)
			stream->size = stream->there;
}

bool follow_is_unsettled(const struct follow *follow)
{
	for (const struct follow_trace *trace = follow->traces; trace; trace = trace->next)
		for (const struct follow_stream *stream = trace->streams; stream;
				stream = stream->next)
			if (stream->size != stream->there)
				return true;
	return false;
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
	/* The writer may have appended it after the scan; the metadata was read before. */
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
	stream->last.size = stream->last.capacity = 0;
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

/* The size up to the end of the last complete block; a writer may be within the next one. */
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
		/* A line within a fragment may end like this, too. */
		if (!is_json || at == size || text[at] == 0x1e)
			return at;
	}
	return 0;
}

int follow_text(struct follow_trace *trace, const char *name, uint64_t offset, char **ret_text,
		size_t *ret_size)
{
	char path[4096];
	struct stat status;
	ssize_t got = -1;
	int fd;

	*ret_text = NULL;
	*ret_size = 0;
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
	*ret_size = (size_t)status.st_size - offset;
	*ret_text = malloc(*ret_size + 1);
	if (*ret_text)
		got = pread(fd, *ret_text, *ret_size, (off_t)offset);
	close(fd);
	if (got <= 0) {
		int ret = *ret_text ? -EIO : -ENOMEM;

		free(*ret_text);
		*ret_text = NULL;
		*ret_size = 0;
		return ret;
	}
	*ret_size = trace->ended
			? (size_t)got
			: whole_part(*ret_text, (size_t)got, strcmp(name, "metadata") == 0);
	return 0;
}

/* ---- disk space ---- */

uint64_t follow_bytes(const struct follow *follow)
{
	uint64_t bytes = 0;

	for (const struct follow_trace *trace = follow->traces; trace; trace = trace->next) {
		if (trace->removed)
			continue;
		for (const struct follow_stream *stream = trace->streams; stream;
				stream = stream->next)
			bytes += stream->there - stream->freed;
	}
	return bytes;
}

uint64_t follow_pending(const struct follow *follow)
{
	uint64_t bytes = 0;

	for (const struct follow_trace *trace = follow->traces; trace; trace = trace->next)
		bytes += follow_pending_of(trace);
	return bytes;
}

uint64_t follow_pending_of(const struct follow_trace *trace)
{
	return trace->removed || trace->refused ? 0 : undelivered(trace);
}

/* Free the blocks of delivered packets. The recorder continues to write behind the hole. */
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

/* Remove the directory above the trace if it is empty now (a chunk). */
static void remove_above(const struct follow *follow, const struct follow_trace *trace)
{
	size_t size = strlen(follow->dir);
	char *slash = strrchr(trace->path, '/'), *above;

	while (size > 1 && follow->dir[size - 1] == '/')
		size--;
	if (!slash || (size_t)(slash - trace->path) <= size + 1)
		return;
	above = strndup(trace->path, (size_t)(slash - trace->path));
	if (above)
		rmdir(above);
	free(above);
}

/* Remove a trace that is delivered and that no process writes. */
static void relay_follow_remove_trace(const struct follow *follow, struct follow_trace *trace)
{
	DIR *dir = opendir(trace->path);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (is_stream(entry->d_name) || !strcmp(entry->d_name, "metadata") ||
				!strcmp(entry->d_name, ".maps") ||
				!strcmp(entry->d_name, CTF_USER_FILE))
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(trace->path);
	remove_above(follow, trace);
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
			relay_follow_remove_trace(follow, trace);
		} else {
			for (struct follow_stream *stream = trace->streams; stream;
					stream = stream->next)
				punch(stream);
		}
		there = follow_bytes(follow);
	}
}

uint64_t follow_pending_packets(struct follow *follow, struct ctf_packet *packet, unsigned int most)
{
	uint64_t packets = 0;

	for (struct follow_trace *trace = follow->traces; trace; trace = trace->next) {
		if (trace->removed || trace->refused)
			continue;
		for (struct follow_stream *stream = trace->streams; stream; stream = stream->next) {
			struct marks_position at = stream->at;
			bool damaged = stream->damaged;

			if (stream->counted.offset < stream->delivered.offset)
				stream->counted = stream->delivered;
			stream->at = stream->counted;
			for (; most && follow_peek(stream, packet) > 0; most--) {
				stream->at.offset = packet->next;
				stream->at.packets++;
			}
			stream->counted = stream->at;
			stream->at = at;
			/* follow_peek() reports the damage when it reaches the packet. */
			stream->damaged = damaged;
			packets += stream->counted.packets - stream->delivered.packets;
		}
	}
	return packets;
}

/* ---- marks ---- */

int follow_mark_trace(struct follow *follow, struct follow_trace *trace)
{
	struct marks_entry entry = {.kind = MARKS_TRACE};
	int ret;

	if (!follow->marks)
		return 0;
	if (trace->slot && trace->marked_generation == trace->generation &&
			trace->marked_done == trace->done)
		return 0;
	if (strlen(trace->name) > MARKS_NAME_MAX)
		return -ENAMETOOLONG;
	/* Write the head first: a number must never be used twice. */
	if (follow->marks->head.nr_traces < follow->nr_traces) {
		follow->marks->head.nr_traces = follow->nr_traces;
		ret = marks_write_head(follow->marks);
		if (ret)
			return ret;
	}
	entry.trace.number = trace->number;
	entry.trace.generation = trace->generation;
	entry.trace.inode = trace->inode;
	entry.trace.done = trace->done;
	memcpy(entry.trace.name, trace->name, strlen(trace->name) + 1);
	ret = marks_write(follow->marks, &trace->slot, &entry);
	if (ret)
		return ret;
	trace->marked_generation = trace->generation;
	trace->marked_done = trace->done;
	return 0;
}

int follow_mark_stream(struct follow *follow, struct follow_stream *stream)
{
	struct marks_entry entry = {.kind = MARKS_STREAM};
	struct marks_stream *to = &entry.stream;
	const struct ctf_packet *last = &stream->last;
	int ret;

	if (!follow->marks)
		return 0;
	if (stream->slot && stream->marked.offset == stream->delivered.offset &&
			stream->marked_dropped == stream->dropped_events)
		return 0;
	if (strlen(stream->name) > MARKS_STREAM_MAX)
		return -ENAMETOOLONG;
	to->trace = stream->trace->number;
	to->number = stream->number;
	to->delivered = stream->delivered;
	to->freed = stream->freed;
	to->dropped_packets = stream->dropped_packets;
	to->dropped_events = stream->dropped_events;
	to->dropped_bytes = stream->dropped_bytes;
	to->seen = stream->seen;
	to->header_size = (uint8_t)stream->header_size;
	to->first = stream->begin;
	to->begin = last->begin;
	to->end = last->end;
	to->sequence = last->sequence;
	to->discarded = last->discarded;
	to->class_id = last->class_id;
	to->instance = last->instance;
	memcpy(to->uuid, last->uuid, sizeof(to->uuid));
	memcpy(to->name, stream->name, strlen(stream->name) + 1);
	ret = marks_write(follow->marks, &stream->slot, &entry);
	if (ret)
		return ret;
	stream->marked = stream->delivered;
	stream->marked_dropped = stream->dropped_events;
	return 0;
}

int follow_mark(struct follow *follow)
{
	int worst = 0, ret;

	if (!follow->marks)
		return 0;
	for (struct follow_trace *trace = follow->traces; trace; trace = trace->next) {
		if (!trace->slot)
			continue;
		for (struct follow_stream *stream = trace->streams; stream; stream = stream->next) {
			ret = stream->slot ? follow_mark_stream(follow, stream) : 0;
			worst = ret ? ret : worst;
		}
		ret = follow_mark_trace(follow, trace);
		worst = ret ? ret : worst;
	}
	return worst;
}

static void add_past(struct follow *follow, const struct follow_trace *trace)
{
	struct marks_sums *past = &follow->past;

	past->traces++;
	for (const struct follow_stream *stream = trace->streams; stream; stream = stream->next) {
		past->packets += stream->delivered.packets;
		past->bytes += stream->delivered.offset - stream->dropped_bytes;
		past->events += stream->delivered.events;
		past->dropped_packets += stream->dropped_packets;
		past->dropped_events += stream->dropped_events;
	}
}

static int relay_follow_release_stream(struct follow *follow, const struct follow_trace *trace)
{
	int ret = marks_release(follow->marks, trace->slot);

	for (const struct follow_stream *stream = trace->streams; !ret && stream;
			stream = stream->next)
		ret = marks_release(follow->marks, stream->slot);
	if (ret)
		return ret;
	follow->marks->head.past = follow->past;
	return marks_write_head(follow->marks);
}

int follow_forget(struct follow *follow)
{
	struct follow_trace **at = &follow->traces;
	int worst = 0, ret;

	while (*at) {
		struct follow_trace *trace = *at;

		/* Packets of a trace that vanished may be unacknowledged. */
		if (!trace->done || !trace->removed || trace->refused || trace->missing) {
			at = &trace->next;
			continue;
		}
		add_past(follow, trace);
		ret = follow->marks ? relay_follow_release_stream(follow, trace) : 0;
		worst = ret ? ret : worst;
		*at = trace->next;
		relay_follow_free_trace(trace);
	}
	follow->last = at;
	return worst;
}

/* Release marks of traces that were removed before a killed sender could release them. */
int follow_reconcile(struct follow *follow)
{
	struct marks *marks = follow->marks;
	bool *claimed = marks ? calloc(marks->nr + 1, sizeof(*claimed)) : NULL;

	if (!claimed)
		return marks ? -ENOMEM : 0;
	for (const struct follow_trace *trace = follow->traces; trace; trace = trace->next) {
		claimed[trace->slot] = true;
		for (const struct follow_stream *stream = trace->streams; stream;
				stream = stream->next)
			claimed[stream->slot] = true;
	}
	for (uint32_t i = 1; i < marks->nr; i++)
		if (marks->entries[i].kind != MARKS_FREE && !claimed[i])
			(void)marks_release(marks, i);
	free(claimed);
	return 0;
}
