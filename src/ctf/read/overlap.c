/* SPDX-License-Identifier: MIT */
/*
 * Merges the snapshots of a flight recorder so that each record is shown once.
 *
 * OUT/snapshot-<n>/X/ring_0 and OUT/X/ring_0 are windows over one ring of one process; the
 * snapshots were taken earlier. A window contains everything that the ring contained, so from its
 * first record on, a later window contains each record of an earlier one. The earlier one is read
 * up to there. Windows are compared by the clock's ticks, because snapshots know the clock's
 * frequency less exactly than the finished trace.
 *
 * While a trace is followed, the records of an earlier window may have been shown when a later one
 * appears. The later one then begins after the last record of the earlier ones.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctf/compress.h"
#include "ctf/read/reader-parts.h"

#define SNAPSHOT "snapshot-"
#define NO_SNAPSHOT UINT64_MAX

struct path_slice {
	const char *begin;
	size_t size;
};

/* A stream that is, or may be, a window: of a process in OUT, with the number `rank`. */
struct member {
	struct ctf_stream_reader *stream;
	/* Of a snapshot: OUT; else the directory that contains the trace. */
	struct path_slice output;
	struct path_slice process;
	struct path_slice name;
	uint64_t rank;
};

/* ---- windows over one ring ---- */

static struct path_slice ctf_overlap_path_tail(const char *path, size_t size)
{
	size_t begin = size;

	while (begin && path[begin - 1] != '/')
		begin--;
	return (struct path_slice){path + begin, size - begin};
}

static size_t without_slashes(const char *path, size_t size)
{
	while (size > 1 && path[size - 1] == '/')
		size--;
	return size;
}

/* "snapshot-3" or "snapshot-3-server-4711-SIGSEGV": 3. */
static uint64_t snapshot_number(struct path_slice name)
{
	const size_t prefix = strlen(SNAPSHOT);
	uint64_t number = 0;
	size_t at = prefix;

	if (name.size <= prefix || memcmp(name.begin, SNAPSHOT, prefix) != 0)
		return NO_SNAPSHOT;
	while (at < name.size && at < prefix + 9 && isdigit((unsigned char)name.begin[at]))
		number = number * 10 + (uint64_t)(name.begin[at++] - '0');
	if (at == prefix || (at < name.size && name.begin[at] != '-'))
		return NO_SNAPSHOT;
	return number;
}

static struct member make_member(struct ctf_stream_reader *stream)
{
	const char *path = stream->classes->trace.path, *name = stream->info.name;
	struct member member = {.stream = stream, .rank = NO_SNAPSHOT};
	size_t size = without_slashes(path, strlen(path)), name_size = strlen(name);
	struct path_slice parent;

	(void)ctf_is_compressed(name, &name_size); /* It leaves the size of other names. */
	member.name = (struct path_slice){name, name_size};
	member.process = ctf_overlap_path_tail(path, size);
	size = without_slashes(path, size - member.process.size);
	parent = ctf_overlap_path_tail(path, size);
	member.rank = snapshot_number(parent);
	if (member.rank != NO_SNAPSHOT)
		size = without_slashes(path, size - parent.size);
	member.output = (struct path_slice){path, size};
	return member;
}

static int ctf_overlap_compare_texts(struct path_slice a, struct path_slice b)
{
	int order = memcmp(a.begin, b.begin, a.size < b.size ? a.size : b.size);

	return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int order = ctf_overlap_compare_texts(a->process, b->process);

	order = order ? order : ctf_overlap_compare_texts(a->name, b->name);
	return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* True if `later` is a window over the same ring as the snapshot `earlier`; a chunk is a directory
   in OUT. */
static bool is_later(const struct member *earlier, const struct member *later)
{
	size_t size = earlier->output.size;

	if (later->rank <= earlier->rank || later->output.size < size ||
			memcmp(earlier->output.begin, later->output.begin, size) != 0)
		return false;
	if (later->rank != NO_SNAPSHOT)
		return later->output.size == size;
	return later->output.size == size || later->output.begin[size] == '/';
}

static bool may_be_window(const struct ctf_stream_reader *stream)
{
	return stream->classes->trace.is_side;
}

/* Find all streams that may be windows, sorted; *ret_count of them. NULL: out of memory
   (*ret_error), or none of them is of a snapshot. */
static struct member *find_members(
		const struct ctf_reader *reader, uint32_t *ret_count, int *ret_error)
{
	struct member *members = calloc((size_t)reader->stream_count + 1, sizeof(*members));
	bool any = false;

	*ret_count = 0;
	*ret_error = members ? 0 : -ENOMEM;
	for (uint32_t i = 0; members && i < reader->stream_count; i++) {
		if (!may_be_window(reader->streams[i]))
			continue;
		members[*ret_count] = make_member(reader->streams[i]);
		any |= members[(*ret_count)++].rank != NO_SNAPSHOT;
	}
	if (any) {
		qsort(members, *ret_count, sizeof(*members), compare_members);
		return members;
	}
	free(members);
	return NULL;
}

/* Number of members from `first` on that have the same name and process. */
static uint32_t group_size(const struct member *members, uint32_t first, uint32_t count)
{
	uint32_t last = first + 1;

	while (last < count &&
			!ctf_overlap_compare_texts(members[first].process, members[last].process) &&
			!ctf_overlap_compare_texts(members[first].name, members[last].name))
		last++;
	return last - first;
}

/* ---- first and last record of a window ---- */

/* Find the ticks of the first record, and, if last is not NULL, of the last one. 1: found; 0: no
   record; -ENOMEM. */
static int find_edges(
		const struct ctf_stream_reader *stream, uint64_t *ret_first, uint64_t *ret_last)
{
	struct ctf_stream_reader probe;
	int ret, found = 0;
	struct stat stat;
	char *path;

	if (asprintf(&path, "%s/%s", stream->classes->trace.path, stream->info.name) < 0)
		return -ENOMEM;
	ret = lstat(path, &stat);
	free(path);
	if (ret)
		return 0;
	ret = ctf_stream_reader_open(&probe, stream->classes, stream->info.name, &stat);
	if (ret <= 0)
		return ret;
	while ((ret = ctf_stream_reader_next(&probe)) > 0 && !(found && !ret_last)) {
		if (probe.item.kind != CTF_ITEM_EVENT)
			continue;
		if (!found)
			*ret_first = probe.item.cycles;
		if (ret_last)
			*ret_last = probe.item.cycles;
		found = 1;
	}
	ctf_stream_reader_close(&probe);
	return ret < 0 ? ret : found;
}

static int know_first(struct ctf_stream_reader *stream)
{
	int ret;

	if (stream->first_known)
		return 0;
	ret = find_edges(stream, &stream->first_cycles, NULL);
	stream->first_known = ret > 0;
	return ret < 0 ? ret : 0;
}

/* ---- when the traces are opened ---- */

/* Each window has the losses since the ring was created. */
static bool is_of_losses(const struct member *member)
{
	return strncmp(member->stream->info.name, "side_session", 12) == 0;
}

static int ctf_overlap_cut_earlier(struct member *earlier, const struct member *later)
{
	struct ctf_stream_reader *stream = earlier->stream;
	int ret = know_first(stream);

	if (!ret)
		ret = know_first(later->stream);
	if (ret || !stream->first_known || !later->stream->first_known ||
			later->stream->first_cycles < stream->first_cycles)
		return ret; /* A window never moves back, so these are of different programs. */
	stream->superseded = true;
	if (is_of_losses(earlier))
		stream->before = 0;
	else if (later->stream->first_cycles < stream->before)
		stream->before = later->stream->first_cycles;
	return 0;
}

static int limit_group(struct member *members, uint32_t count)
{
	int ret = 0;

	for (uint32_t i = 0; i < count && members[i].rank != NO_SNAPSHOT; i++) {
		for (uint32_t k = i + 1; !ret && k < count; k++) {
			if (is_later(&members[i], &members[k]))
				ret = ctf_overlap_cut_earlier(&members[i], &members[k]);
		}
	}
	return ret;
}

static int for_each_group(
		struct ctf_reader *reader, int (*handle)(struct member *members, uint32_t count))
{
	struct member *members;
	uint32_t count, size;
	int ret;

	members = find_members(reader, &count, &ret);
	for (uint32_t at = 0; members && !ret && at < count; at += size) {
		size = group_size(members, at, count);
		ret = handle(members + at, size);
	}
	free(members);
	return ret;
}

int ctf_reader_limit_overlaps(struct ctf_reader *reader)
{
	return for_each_group(reader, limit_group);
}

/* ---- while the traces are followed ---- */

static int know_last(struct ctf_stream_reader *stream)
{
	uint64_t first;
	int ret;

	if (stream->last_known)
		return 0;
	ret = find_edges(stream, &first, &stream->last_cycles);
	stream->last_known = ret > 0;
	return ret < 0 ? ret : 0;
}

static int continue_group(struct member *members, uint32_t count)
{
	int ret = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct ctf_stream_reader *later = members[i].stream;

		/* Windows that existed at the beginning have limited the earlier ones. */
		if (later->first_known || later->shown)
			continue;
		for (uint32_t k = 0; !ret && k < i; k++) {
			struct ctf_stream_reader *earlier = members[k].stream;

			if (!is_later(&members[k], &members[i]))
				continue;
			ret = know_last(earlier);
			if (!earlier->last_known || is_of_losses(&members[k]))
				continue;
			if (!later->continues || later->after < earlier->last_cycles)
				later->after = earlier->last_cycles;
			later->continues = true;
		}
	}
	return ret;
}

int ctf_reader_continue_overlaps(struct ctf_reader *reader)
{
	return for_each_group(reader, continue_group);
}
