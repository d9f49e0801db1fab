/* SPDX-License-Identifier: MIT */
/*
 * Data for the timeline of a page: events of each thread in intervals, the longest calls, losses.
 *
 * All threads have intervals of the same width. If an event is after the last interval, each two
 * intervals become one. Memory does not grow with the trace: what exceeds a limit is merged and
 * counted.
 */
#ifndef SIDE_EXPORT_HTML_HTML_TIMELINE_H
#define SIDE_EXPORT_HTML_HTML_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/report-keys.h"

struct view_out;

#define HTML_BINS 2048         /* intervals of each thread */
#define HTML_THREADS_MAX 1000  /* counted threads; all further threads are merged */
#define HTML_THREADS_SHOWN 256 /* threads in the page; the others are merged */
#define HTML_SLICES_MAX 20000  /* calls that are drawn: the longest */
#define HTML_LOSSES_MAX 2048   /* marks of losses; further ones are merged with their neighbours */

#define HTML_PROCESS_OTHERS UINT32_MAX /* several processes */

struct html_thread {
	uint32_t process; /* a number of `struct identity`, or HTML_PROCESS_OTHERS */
	uint32_t part;    /* identifies the thread in numbers of calls, if `id` is -1; 0: none */
	int64_t id;       /* -1: not recorded */
	char name[32];    /* "": not recorded */
	uint64_t events;
	int64_t first_ns, last_ns;
	uint64_t *bins;
};

/* One call. */
struct html_slice {
	int64_t begin_ns;
	uint64_t duration_ns;
	uint32_t thread, function, depth;
};

struct html_loss {
	uint32_t process;
	int64_t begin_ns, end_ns;
	uint64_t count;
	bool is_packets; /* `count` counts packets, each of which had an unknown number of events */
};

/* All zero is an empty one. */
struct html_timeline {
	bool started;
	int64_t begin_ns;
	unsigned int shift; /* the width of an interval is 1 << shift ns */
	struct keys thread_keys;
	struct html_thread *threads;
	uint32_t last;             /* the thread that was used last */
	struct html_thread others; /* threads beyond HTML_THREADS_MAX */
	uint64_t other_threads;    /* events of `others` */
	struct html_slice *slices; /* a heap: the shortest first */
	uint32_t nr_slices;
	uint64_t all_slices; /* also calls that are not kept */
	struct html_loss losses[HTML_LOSSES_MAX];
	uint32_t nr_losses;
};

struct html_thread_key {
	uint32_t process, part;
	int64_t id;
};

/* The number of a thread, or KEYS_NONE: out of memory, or beyond the limit (`others`). */
uint32_t html_timeline_thread(struct html_timeline *timeline, const struct html_thread_key *key);
/* Counts one event. `name` may be NULL. 0 or -ENOMEM. */
int html_timeline_add(struct html_timeline *timeline, const struct html_thread_key *key, int64_t ns,
		const char *name, size_t name_size);
/* Keeps a call if it is one of the longest. 0 or -ENOMEM. */
int html_timeline_add_slice(struct html_timeline *timeline, const struct html_slice *slice);
void html_timeline_add_loss(struct html_timeline *timeline, const struct html_loss *loss);
void html_timeline_free(struct html_timeline *timeline);

/* Writes the name of a process without quotes. */
typedef void html_process_name(const void *user, uint32_t process, char *text, size_t size);

/*
 * Writes `"threads":[…],"slices":[…],"losses":[…]` and the members that describe them, in at most
 * `size_max` bytes: with fewer intervals and slices if necessary. 0 or -ENOMEM.
 */
int html_timeline_print(const struct html_timeline *timeline, struct view_out *out, size_t size_max,
		html_process_name *process_name, const void *user);

#endif /* SIDE_EXPORT_HTML_HTML_TIMELINE_H */
