/* SPDX-License-Identifier: MIT */
/* Parses and writes the file of marks. */
#include "relay/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "relay/frame.h"

#define MAGIC UINT64_C(0x31534b52414d4953)
#define SUM_AT (MARKS_BLOCK - 4)
#define HEADER_MIN 80
#define HEADER_MAX 84

/* ---- blocks ---- */

static void relay_mark_begin_block(struct frame_writer *writer, unsigned char block[MARKS_BLOCK])
{
	memset(block, 0, MARKS_BLOCK);
	*writer = (struct frame_writer){.at = block, .end = block + SUM_AT};
}

static void relay_mark_end_block(unsigned char block[MARKS_BLOCK])
{
	struct frame_writer sum = {.at = block + SUM_AT, .end = block + MARKS_BLOCK};

	framing_put_u32(&sum, framing_crc(0, block, SUM_AT));
}

void marks_put_head(const struct marks_head *head, unsigned char block[MARKS_BLOCK])
{
	struct frame_writer writer;

	relay_mark_begin_block(&writer, block);
	framing_put_u64(&writer, MAGIC);
	framing_put_u64(&writer, head->id);
	framing_put_u64(&writer, head->sequence);
	framing_put_u64(&writer, head->connections);
	framing_put_u32(&writer, head->nr_traces);
	framing_put_u64(&writer, head->past.packets);
	framing_put_u64(&writer, head->past.bytes);
	framing_put_u64(&writer, head->past.events);
	framing_put_u64(&writer, head->past.dropped_packets);
	framing_put_u64(&writer, head->past.dropped_events);
	framing_put_u64(&writer, head->past.traces);
	framing_put_name(&writer, head->url);
	relay_mark_end_block(block);
}

static void put_trace(struct frame_writer *writer, const struct marks_trace *trace)
{
	framing_put_u32(writer, trace->number);
	framing_put_u32(writer, trace->generation);
	framing_put_u64(writer, trace->inode);
	framing_put_u8(writer, trace->done);
	framing_put_name(writer, trace->name);
}

static void put_stream(struct frame_writer *writer, const struct marks_stream *stream)
{
	framing_put_u32(writer, stream->trace);
	framing_put_u32(writer, stream->number);
	framing_put_u64(writer, stream->delivered.offset);
	framing_put_u64(writer, stream->delivered.packets);
	framing_put_u64(writer, stream->delivered.events);
	framing_put_u64(writer, stream->freed);
	framing_put_u64(writer, stream->dropped_packets);
	framing_put_u64(writer, stream->dropped_events);
	framing_put_u64(writer, stream->dropped_bytes);
	framing_put_u8(writer, stream->seen);
	framing_put_u8(writer, stream->header_size);
	framing_put_u64(writer, stream->first);
	framing_put_u64(writer, stream->begin);
	framing_put_u64(writer, stream->end);
	framing_put_u64(writer, stream->sequence);
	framing_put_u64(writer, stream->discarded);
	framing_put_u32(writer, stream->class_id);
	framing_put_u64(writer, stream->instance);
	framing_put(writer, stream->uuid, sizeof(stream->uuid));
	framing_put_name(writer, stream->name);
}

void marks_put_block(const struct marks_entry *entry, unsigned char block[MARKS_BLOCK])
{
	struct frame_writer writer;

	relay_mark_begin_block(&writer, block);
	if (entry->kind == MARKS_FREE)
		return;
	framing_put_u8(&writer, (uint8_t)entry->kind);
	if (entry->kind == MARKS_TRACE)
		put_trace(&writer, &entry->trace);
	else
		put_stream(&writer, &entry->stream);
	relay_mark_end_block(block);
}

/* ---- parsing ---- */

static bool relay_mark_is_zero(const unsigned char *bytes, size_t size)
{
	while (size && !*bytes) {
		bytes++;
		size--;
	}
	return !size;
}

static bool has_sum(const unsigned char block[MARKS_BLOCK])
{
	struct frame_reader sum = {block + SUM_AT, block + MARKS_BLOCK, false};

	return framing_get_u32(&sum) == framing_crc(0, block, SUM_AT);
}

/* True if only zeros follow what was read. */
static bool relay_mark_tail_is_zero(const struct frame_reader *reader)
{
	return !reader->bad && relay_mark_is_zero(reader->at, (size_t)(reader->end - reader->at));
}

/* True for a path below the directory without a hidden component or "..". */
static bool relay_mark_is_path(const char *name)
{
	for (;;) {
		size_t size = strcspn(name, "/");

		if (!size || *name == '.')
			return false;
		if (!name[size])
			return true;
		name += size + 1;
	}
}

static bool get_flag(struct frame_reader *reader, bool *ret_flag)
{
	uint8_t byte = framing_get_u8(reader);

	*ret_flag = byte == 1;
	return byte <= 1;
}

static bool get_head(const unsigned char block[MARKS_BLOCK], struct marks_head *ret_head)
{
	struct frame_reader reader = {block, block + SUM_AT, false};

	if (!has_sum(block) || framing_get_u64(&reader) != MAGIC)
		return false;
	ret_head->id = framing_get_u64(&reader);
	ret_head->sequence = framing_get_u64(&reader);
	ret_head->connections = framing_get_u64(&reader);
	ret_head->nr_traces = framing_get_u32(&reader);
	ret_head->past.packets = framing_get_u64(&reader);
	ret_head->past.bytes = framing_get_u64(&reader);
	ret_head->past.events = framing_get_u64(&reader);
	ret_head->past.dropped_packets = framing_get_u64(&reader);
	ret_head->past.dropped_events = framing_get_u64(&reader);
	ret_head->past.traces = framing_get_u64(&reader);
	framing_get_name(&reader, ret_head->url, sizeof(ret_head->url));
	return relay_mark_tail_is_zero(&reader) && ret_head->nr_traces <= MARKS_NUMBER_MAX &&
			ret_head->sequence <= INT64_MAX && ret_head->connections <= INT64_MAX;
}

static bool get_trace(struct frame_reader *reader, struct marks_trace *trace)
{
	bool flags;

	trace->number = framing_get_u32(reader);
	trace->generation = framing_get_u32(reader);
	trace->inode = framing_get_u64(reader);
	flags = get_flag(reader, &trace->done);
	framing_get_name(reader, trace->name, sizeof(trace->name));
	return relay_mark_tail_is_zero(reader) && flags && trace->number < MARKS_NUMBER_MAX &&
			trace->generation < UINT32_MAX && relay_mark_is_path(trace->name);
}

static bool get_stream(struct frame_reader *reader, struct marks_stream *stream)
{
	const unsigned char *uuid;
	bool flags;

	stream->trace = framing_get_u32(reader);
	stream->number = framing_get_u32(reader);
	stream->delivered.offset = framing_get_u64(reader);
	stream->delivered.packets = framing_get_u64(reader);
	stream->delivered.events = framing_get_u64(reader);
	stream->freed = framing_get_u64(reader);
	stream->dropped_packets = framing_get_u64(reader);
	stream->dropped_events = framing_get_u64(reader);
	stream->dropped_bytes = framing_get_u64(reader);
	flags = get_flag(reader, &stream->seen);
	stream->header_size = framing_get_u8(reader);
	stream->first = framing_get_u64(reader);
	stream->begin = framing_get_u64(reader);
	stream->end = framing_get_u64(reader);
	stream->sequence = framing_get_u64(reader);
	stream->discarded = framing_get_u64(reader);
	stream->class_id = framing_get_u32(reader);
	stream->instance = framing_get_u64(reader);
	uuid = framing_get(reader, sizeof(stream->uuid));
	framing_get_name(reader, stream->name, sizeof(stream->name));
	if (!relay_mark_tail_is_zero(reader) || !uuid || !flags)
		return false;
	memcpy(stream->uuid, uuid, sizeof(stream->uuid));
	return stream->trace < MARKS_NUMBER_MAX && stream->number < MARKS_NUMBER_MAX &&
			stream->delivered.offset <= INT64_MAX &&
			stream->freed <= stream->delivered.offset &&
			stream->dropped_bytes <= stream->delivered.offset &&
			(!stream->header_size || stream->header_size == HEADER_MIN ||
					stream->header_size == HEADER_MAX) &&
			!strchr(stream->name, '/') && relay_mark_is_path(stream->name);
}

static bool get_entry(const unsigned char block[MARKS_BLOCK], struct marks_entry *entry)
{
	struct frame_reader reader = {block, block + SUM_AT, false};

	if (relay_mark_is_zero(block, MARKS_BLOCK))
		return true;
	entry->kind = (enum marks_kind)framing_get_u8(&reader);
	if (has_sum(block) && entry->kind == MARKS_TRACE && get_trace(&reader, &entry->trace))
		return true;
	if (has_sum(block) && entry->kind == MARKS_STREAM && get_stream(&reader, &entry->stream))
		return true;
	*entry = (struct marks_entry){.kind = MARKS_FREE};
	return false;
}

/* ---- the table ---- */

static bool relay_mark_ensure_capacity(struct marks *marks, uint32_t nr)
{
	uint32_t capacity = marks->capacity ? marks->capacity : 64;
	struct marks_entry *grown;

	if (nr <= marks->capacity)
		return true;
	while (capacity < nr)
		capacity *= 2;
	grown = realloc(marks->entries, capacity * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + marks->capacity, 0, (capacity - marks->capacity) * sizeof(*grown));
	marks->entries = grown;
	marks->capacity = capacity;
	return true;
}

static int compare_entries(const void *one, const void *other)
{
	const struct marks_entry *a = *(struct marks_entry *const *)one;
	const struct marks_entry *b = *(struct marks_entry *const *)other;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == MARKS_TRACE)
		return a->trace.number < b->trace.number ? -1 : a->trace.number > b->trace.number;
	if (a->kind == MARKS_FREE)
		return 0;
	if (a->stream.trace != b->stream.trace)
		return a->stream.trace < b->stream.trace ? -1 : 1;
	return a->stream.number < b->stream.number ? -1 : a->stream.number > b->stream.number;
}

/* Drop two blocks of the same number: neither can be trusted. Their numbers stay used. */
static int relay_mark_drop_duplicates(struct marks *marks)
{
	struct marks_entry **sorted = calloc(marks->nr + 1, sizeof(struct marks_entry *));
	uint32_t i, end;

	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < marks->nr; i++)
		sorted[i] = &marks->entries[i];
	qsort(sorted, marks->nr, sizeof(*sorted), compare_entries);
	for (i = 0; i < marks->nr; i = end) {
		const struct marks_entry *entry = sorted[i];

		if (entry->kind == MARKS_TRACE && entry->trace.number >= marks->head.nr_traces)
			marks->head.nr_traces = entry->trace.number + 1;
		if (entry->kind == MARKS_STREAM && entry->stream.trace >= marks->head.nr_traces)
			marks->head.nr_traces = entry->stream.trace + 1;
		end = i + 1;
		while (end < marks->nr && entry->kind != MARKS_FREE &&
				!compare_entries(&sorted[i], &sorted[end]))
			end++;
		if (end == i + 1)
			continue;
		marks->bad += end - i;
		for (uint32_t k = i; k < end; k++)
			sorted[k]->kind = MARKS_FREE;
	}
	free(sorted);
	return 0;
}

int marks_parse(const unsigned char *bytes, size_t size, struct marks *marks)
{
	size_t nr = size / MARKS_BLOCK;

	if (!nr || nr > MARKS_BLOCKS_MAX || !get_head(bytes, &marks->head))
		return -EBADMSG;
	if (!relay_mark_ensure_capacity(marks, (uint32_t)nr))
		return -ENOMEM;
	marks->nr = (uint32_t)nr;
	for (uint32_t i = 1; i < marks->nr; i++)
		marks->bad += !get_entry(bytes + (size_t)i * MARKS_BLOCK, &marks->entries[i]);
	return relay_mark_drop_duplicates(marks);
}

static const char *relay_mark_path_tail(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

uint32_t marks_find_trace(const struct marks *marks, const char *name, uint64_t inode)
{
	uint32_t moved = 0;

	for (uint32_t i = 1; i < marks->nr; i++) {
		const struct marks_trace *trace = &marks->entries[i].trace;

		if (marks->entries[i].kind != MARKS_TRACE)
			continue;
		if (!strcmp(trace->name, name))
			return i;
		if (trace->inode == inode &&
				!strcmp(relay_mark_path_tail(trace->name),
						relay_mark_path_tail(name)))
			moved = i;
	}
	return moved;
}

uint32_t marks_next_stream(const struct marks *marks, uint32_t trace, uint32_t after)
{
	for (uint32_t i = after + 1; i < marks->nr; i++)
		if (marks->entries[i].kind == MARKS_STREAM &&
				marks->entries[i].stream.trace == trace)
			return i;
	return 0;
}

/* ---- the file ---- */

static int relay_mark_write_slot(
		const struct marks *marks, const unsigned char block[MARKS_BLOCK], uint32_t slot)
{
	ssize_t done;

	/* Not io_write_all_at(): a part of a block is reported as a full file system. */
	do
		done = pwrite(marks->fd, block, MARKS_BLOCK, (off_t)slot * MARKS_BLOCK);
	while (done < 0 && errno == EINTR);
	return done == MARKS_BLOCK ? 0 : done < 0 ? -errno : -ENOSPC;
}

int marks_write_head(struct marks *marks)
{
	unsigned char block[MARKS_BLOCK];

	marks_put_head(&marks->head, block);
	return relay_mark_write_slot(marks, block, 0);
}

int marks_write(struct marks *marks, uint32_t *slot, const struct marks_entry *entry)
{
	unsigned char block[MARKS_BLOCK];
	uint32_t to = *slot;
	int ret;

	if (!to) {
		to = marks->next_free ? marks->next_free : 1;
		while (to < marks->nr && marks->entries[to].kind != MARKS_FREE)
			to++;
	}
	if (to >= MARKS_BLOCKS_MAX)
		return -ENOSPC;
	if (!relay_mark_ensure_capacity(marks, to + 1))
		return -ENOMEM;
	marks_put_block(entry, block);
	ret = relay_mark_write_slot(marks, block, to);
	if (ret)
		return ret;
	marks->entries[to] = *entry;
	if (to >= marks->nr)
		marks->nr = to + 1;
	if (!*slot)
		marks->next_free = to + 1;
	*slot = to;
	return 0;
}

int marks_release(struct marks *marks, uint32_t slot)
{
	const struct marks_entry none = {.kind = MARKS_FREE};
	int ret = slot ? marks_write(marks, &slot, &none) : 0;

	if (!ret && slot && slot < marks->next_free)
		marks->next_free = slot;
	return ret;
}

static int relay_mark_read_all(int fd, unsigned char **ret_bytes, size_t *ret_size)
{
	struct stat status;
	int ret;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (status.st_size > (off_t)MARKS_BLOCKS_MAX * MARKS_BLOCK)
		return -EBADMSG;
	*ret_size = (size_t)status.st_size;
	*ret_bytes = malloc(*ret_size + 1);
	if (!*ret_bytes)
		return -ENOMEM;
	ret = io_read_exactly_at(fd, *ret_bytes, *ret_size, 0);
	return ret == -ENODATA ? -EBADMSG : ret;
}

static int relay_mark_reset_file(struct marks *marks, const char *url)
{
	free(marks->entries);
	marks->entries = NULL;
	marks->capacity = marks->next_free = marks->bad = 0;
	memset(&marks->head, 0, sizeof(marks->head));
	if (strlen(url) > MARKS_URL_MAX)
		return -ENAMETOOLONG;
	memcpy(marks->head.url, url, strlen(url) + 1);
	marks->nr = 1;
	if (!relay_mark_ensure_capacity(marks, 1))
		return -ENOMEM;
	return ftruncate(marks->fd, 0) ? -errno : 0;
}

int marks_open(const char *path, const char *url, struct marks *marks, bool *ret_found)
{
	unsigned char *bytes = NULL;
	size_t size = 0;
	int ret;

	*marks = (struct marks){.fd = -1};
	*ret_found = false;
	marks->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (marks->fd < 0)
		return -errno;
	if (flock(marks->fd, LOCK_EX | LOCK_NB)) {
		ret = errno == EWOULDBLOCK ? -EBUSY : -errno;
		marks_close(marks);
		return ret;
	}
	ret = relay_mark_read_all(marks->fd, &bytes, &size);
	if (!ret)
		ret = marks_parse(bytes, size, marks);
	free(bytes);
	*ret_found = !ret && !strcmp(marks->head.url, url);
	if (!ret && *ret_found)
		return 0;
	if (!ret || ret == -EBADMSG)
		ret = relay_mark_reset_file(marks, url);
	if (ret)
		marks_close(marks);
	return ret;
}

bool marks_are_of(const char *path, const char *url)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	unsigned char block[MARKS_BLOCK];
	struct marks_head head;
	bool are;

	if (fd < 0)
		return false;
	are = !io_read_exactly_at(fd, block, sizeof(block), 0) && get_head(block, &head) &&
			!strcmp(head.url, url);
	close(fd);
	return are;
}

void marks_close(struct marks *marks)
{
	if (marks->fd >= 0)
		close(marks->fd);
	free(marks->entries);
	marks->entries = NULL;
	marks->fd = -1;
	marks->nr = marks->capacity = 0;
}
