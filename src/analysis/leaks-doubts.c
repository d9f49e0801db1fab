/* SPDX-License-Identifier: MIT */
/* Reasons why the answer about leaks is incomplete, one sentence each. */
#include <string.h>

#include "analysis/leaks.h"
#include "base/format.h"
#include "symbolize/symbols.h"

/* ---- what the traces contain ---- */

static bool leaks_doubts_has_number(const struct ctf_trace *trace, const char *key)
{
	for (uint32_t i = 0; i < trace->environment_count; i++)
		if (strcmp(trace->environment[i].key, key) == 0)
			return trace->environment[i].number != 0;
	return false;
}

static bool leaks_doubts_is_name(const char *name, const char *function)
{
	const char *plain = leaks_event_plain(name);

	return plain && strcmp(plain, function) == 0;
}

/* True if the trace describes an event of the function, even if the program did not call it. */
static bool leaks_doubts_has_event(const struct ctf_trace *trace, const char *function)
{
	for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++)
		if (leaks_doubts_is_name(ctf_trace_event(trace, i)->name, function))
			return true;
	return false;
}

static bool leaks_doubts_describes(const struct ctf_trace *trace)
{
	for (uint32_t i = 0; i < ctf_trace_event_count(trace); i++)
		if (leaks_event_is_known(ctf_trace_event(trace, i)->name))
			return true;
	return leaks_doubts_has_event(trace, "mmap");
}

void leaks_doubts_examine(struct leaks *leaks)
{
	leaks->doubts.not_described = true;
	for (uint32_t i = 0; i < ctf_reader_trace_count(leaks->walk.reader); i++) {
		const struct ctf_trace *trace = ctf_reader_trace(leaks->walk.reader, i);

		leaks->doubts.not_described &= !leaks_doubts_describes(trace);
		leaks->doubts.overwrites |= leaks_doubts_has_number(trace, "side_overwrites");
		leaks->doubts.filters |= leaks_doubts_has_number(trace, "side_filters");
		leaks->doubts.no_mappings |=
				leaks->options->mmap && !leaks_doubts_has_event(trace, "mmap");
		leaks->doubts.no_frees |= !leaks_doubts_has_event(trace, "free") &&
				(leaks_doubts_has_event(trace, "malloc") ||
						leaks_doubts_has_event(trace, "calloc") ||
						leaks_doubts_has_event(trace, "realloc"));
	}
}

/* ---- allocators with operators of their own ---- */

/*
 * These allocators define the operators `new` and `delete` of C++, which do not call malloc() and
 * free(). free() can free the blocks of such an operator, and `delete` the blocks of malloc().
 */
static bool leaks_doubts_is_allocator(const char *path)
{
	static const char *const names[] = {"libjemalloc", "libtcmalloc", "libmimalloc",
			"libsnmalloc", "libtbbmalloc_proxy", "libhoard"};
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* A free of a block whose allocation is not known proves that some allocations are not recorded. */
static bool leaks_doubts_misses_allocations(const struct leaks *leaks, uint32_t image)
{
	return leaks->images[image].wrapped && leaks->images[image].parent < 0 &&
			leaks->images[image].unknown_frees;
}

/* A second free proves nothing if an allocation between the two can be missing. */
static void leaks_doubts_drop_double_frees(struct leaks *leaks, bool of_all_images)
{
	for (uint32_t i = 0; i < leaks->free_keys.count; i++) {
		struct leaks_free *entry = &leaks->frees[i];

		if (entry->freed_by == LEAKS_STACK_NONE ||
				!(of_all_images ||
						leaks_doubts_misses_allocations(
								leaks, entry->image)))
			continue;
		leaks->double_frees -= entry->count;
		leaks->unknown_frees += entry->count;
		entry->freed_by = LEAKS_STACK_NONE;
		entry->allocated_by = LEAKS_STACK_NONE;
	}
	if (of_all_images) {
		/* The table of frees was full: these double frees are not in it. */
		leaks->unknown_frees += leaks->double_frees;
		leaks->double_frees = 0;
	}
}

void leaks_doubts_check_frees(struct leaks *leaks)
{
	const char *path = symbols_find_module(leaks->symbols, leaks_doubts_is_allocator);
	bool misses = leaks->double_frees > 0;

	for (uint32_t i = 0; i < leaks->image_keys.count; i++)
		misses |= leaks_doubts_misses_allocations(leaks, i);
	if (path && misses) {
		const char *slash = strrchr(path, '/');

		snprintf(leaks->doubts.allocator, sizeof(leaks->doubts.allocator), "%s",
				slash ? slash + 1 : path);
	}
	leaks_doubts_drop_double_frees(leaks, path != NULL);
}

/* ---- sentences ---- */

static bool leaks_doubt_flag(bool exists, const char *sentence, char text[LEAKS_DOUBT_SIZE])
{
	if (exists)
		snprintf(text, LEAKS_DOUBT_SIZE, "%s", sentence);
	return exists;
}

static bool leaks_doubt_number(
		uint64_t count, const char *before, const char *after, char text[LEAKS_DOUBT_SIZE])
{
	char number[FORMAT_NUMBER_MAX];

	if (count)
		snprintf(text, LEAKS_DOUBT_SIZE, "%s%s%s", before, format_number(count, number),
				after);
	return count != 0;
}

static bool leaks_doubt_allocator(const struct leaks *leaks, char text[LEAKS_DOUBT_SIZE])
{
	if (*leaks->doubts.allocator)
		snprintf(text, LEAKS_DOUBT_SIZE,
				"%s has C++ operators of its own, whose blocks are not in the recording",
				leaks->doubts.allocator);
	return *leaks->doubts.allocator != '\0';
}

bool leaks_doubt(const struct leaks *leaks, unsigned int number, char text[LEAKS_DOUBT_SIZE])
{
	switch (number) {
	case 0:
		return leaks_doubt_flag(
				leaks->doubts.cut, "the recording ended before the program", text);
	case 1:
		return leaks_doubt_flag(leaks->doubts.overwrites,
				"the recording used `--mode overwrite`, which overwrites older events",
				text);
	case 2:
		return leaks_doubt_flag(leaks->doubts.filters,
				"the recording used `--filter`, which leaves out events", text);
	case 3:
		return leaks_doubt_flag(leaks->doubts.no_frees,
				"the recording has no events of free()", text);
	case 4:
		return leaks_doubt_number(leaks->reused,
				"frees of blocks are missing: ", " addresses were allocated again",
				text);
	case 5: return leaks_doubt_allocator(leaks, text);
	case 6:
		return leaks_doubt_number(leaks->hidden,
				"the trace has no blocks of posix_memalign(), which was called ",
				leaks->hidden == 1 ? " time" : " times", text);
	case 7:
		return leaks_doubt_number(leaks->untracked,
				"allocations beyond the limit of 6,291,456 blocks: ", "", text);
	case 8:
		return leaks_doubt_number(leaks->unbegun,
				"calls whose begin is not in the recording: ", "", text);
	case 9:
		return leaks_doubt_flag(leaks->doubts.no_mappings,
				"the recording has no events of mmap()", text);
	case 10:
		return leaks_doubt_number(leaks->mappings.refused,
				"mappings beyond the limit of 65,536: ", "", text);
	default:
		return leaks_doubt_number(leaks->calls.dropped,
				"calls that were not followed to their return: ", "", text);
	}
}

bool leaks_is_exact(const struct leaks *leaks)
{
	char text[LEAKS_DOUBT_SIZE];

	for (unsigned int i = 0; i < LEAKS_DOUBTS; i++)
		if (leaks_doubt(leaks, i, text))
			return false;
	return !leaks->walk.damaged && !leaks_lost(leaks) && !leaks->lost_packets &&
			!leaks->lost_bytes;
}

bool leaks_is_empty(const struct leaks *leaks)
{
	if (leaks->events || leaks->walk.damaged)
		return false;
	return leaks_is_exact(leaks) || (leaks->doubts.not_described && !leaks->doubts.cut);
}
