/* SPDX-License-Identifier: MIT */
/* Counts the callers of events in a growing trace for `side top --callers`. */
#ifndef PROGRAMS_SIDE_WATCH_TOP_CALLERS_H
#define PROGRAMS_SIDE_WATCH_TOP_CALLERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "analysis/address.h"
#include "analysis/report-keys.h"
#include "analysis/stacks.h"

#define TOP_CALLERS_MAX 100000u /* different callers; further callers are not listed */
#define TOP_CALLERS_DEFAULT 10

struct ctf_item;
struct ctf_reader;
struct top_options;

struct top_caller {
	struct address address;
	uint32_t process; /* its number in the identity of the trace */
	uint64_t count;   /* in this interval */
	uint64_t all;     /* since the beginning of the trace, or of watching */
};

struct top_callers {
	uint64_t most;           /* rows to print; 0: callers were not requested */
	struct symbols *symbols; /* NULL: callers were not requested */
	struct keys keys;
	struct top_caller *items; /* keys.count elements */
	struct stat *maps;        /* of each trace: its file of mappings when last read */
	uint32_t nr_maps;
};

/* Starts a process that reads debug files. Call it before confine(). 0 or -ENOMEM. */
int top_callers_start(struct top_callers *callers, const struct top_options *options);
void top_callers_free(struct top_callers *callers);
/* Begins the next interval. */
void top_callers_reset(struct top_callers *callers);
/* The reader was closed: the numbers of its traces are no longer valid. */
void top_callers_forget(struct top_callers *callers);

/* Adds a base address record of the process to the symbols. 0 or -ENOMEM. */
int top_callers_add_code(struct top_callers *callers, const struct ctf_item *item);
/* Counts the event; for this interval too if `now` is true. */
void top_callers_count(struct top_callers *callers, const struct event_stack_class *class,
		const struct ctf_item *item, uint32_t process, bool now);
/* Reads the mappings again of each process whose file has changed. 0 or -ENOMEM. */
int top_callers_read_maps(struct top_callers *callers, const struct ctf_reader *reader);

/*
 * The rows of callers to print, sorted by count; their number is `most` at most. The caller frees
 * the array. NULL: out of memory.
 */
uint32_t *top_callers_order(const struct top_callers *callers, uint32_t *ret_count);

#endif /* PROGRAMS_SIDE_WATCH_TOP_CALLERS_H */
