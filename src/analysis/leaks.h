/* SPDX-License-Identifier: MIT */
/*
 * Memory that was allocated and not freed, by the stack that allocated it.
 *
 * The trace is read once, ordered by time. The events are those of the wrappers of libc's allocator
 * ("libc:malloc") or of probes at the same functions ("probe:malloc" and "probe:malloc_return").
 * Memory does not grow with the number of events: tables have limits, and what exceeds a limit is
 * counted and reported. Reachability is unknown: a block is alive if no event frees it.
 */
#ifndef SIDE_ANALYSIS_LEAKS_H
#define SIDE_ANALYSIS_LEAKS_H

#include <stdio.h>

#include "analysis/leaks-blocks.h"
#include "analysis/leaks-calls.h"
#include "analysis/leaks-mappings.h"
#include "analysis/leaks-options.h"
#include "analysis/report-identity.h"
#include "analysis/report-keys.h"
#include "analysis/report-walk.h"
#include "analysis/stacks.h"

/* Different pairs of stacks in the tables of double and unknown frees. */
#define LEAKS_FREES_MAX 10000
/* Numbers of stacks: that of `stacks` plus one, or one of these. */
#define LEAKS_STACK_OTHERS 0        /* without an address, or beyond a limit of `stacks` */
#define LEAKS_STACK_NONE UINT32_MAX /* no stack */
#define LEAKS_DOUBTS 12             /* reasons why an answer is incomplete */
#define LEAKS_DOUBT_SIZE 256        /* bytes of the sentence of a reason */
#define LEAKS_GROWTH 8              /* parts of the recording in which blocks are counted */

/* One image of a process: an exec begins another one. */
struct leaks_image {
	uint32_t process;    /* its number in `identity` */
	int64_t pid, parent; /* -1: unknown, or not forked */
	int64_t first_ns, last_ns;
	bool replaced; /* the process executed another program later */
	bool wrapped;  /* the events come from wrappers, which record a program from its start */
	uint64_t allocations, allocated_bytes;
	uint64_t blocks, bytes; /* alive now */
	uint64_t unknown_frees;
	uint64_t lost, counted; /* losses that the recorder reported, and that the packets counted */
};

/* What one stack allocated, or several with the same functions and lines. */
struct leaks_site {
	uint64_t allocations, allocated_bytes;
	uint64_t blocks, bytes;        /* alive at the end, and old enough */
	uint64_t growth[LEAKS_GROWTH]; /* of these bytes, by the time of their allocation */
	int64_t oldest_ns, newest_ns;
	uint32_t image; /* of one of these blocks */
	bool is_shared; /* other blocks are of other processes */
	uint32_t named; /* the number of the frames in `stacks`; STACK_NONE: none */
};

/* Frees of a block that is not allocated. */
struct leaks_free {
	uint64_t count;
	uint32_t image;
	uint32_t stack;        /* freed it again, or without a known allocation */
	uint32_t freed_by;     /* freed it before; LEAKS_STACK_NONE: an unknown free */
	uint32_t allocated_by; /* LEAKS_STACK_NONE: unknown */
};

/* Why calls of the allocator can be missing, besides losses. */
struct leaks_doubts {
	bool cut;           /* the recording ended before the program; set by the caller */
	bool not_described; /* no trace has descriptions of calls of the allocator */
	bool overwrites;    /* recorded in the mode overwrite */
	bool filters;       /* recorded with a filter */
	bool no_mappings;   /* mappings are requested, and a trace has no events of mmap() */
	bool no_frees;      /* a trace has events of allocations, but none of free() */
	char allocator[64]; /* a library whose operators of C++ were not recorded; "": none */
};

/* The events of mmap(), munmap() and mremap(). */
struct leaks_mapping_class {
	enum { LEAKS_MAPS_NOTHING, LEAKS_MAPS, LEAKS_UNMAPS, LEAKS_REMAPS } form;
	struct event_member address, old_length, length, flags, result;
};

/* The state of a class of events. */
struct leaks_class {
	struct leaks_form_class form;
	struct leaks_mapping_class mapping;
	struct event_stack_class stack;
	struct identity_class identity;
	uint32_t image; /* of the last record */
	bool has_image;
	bool is_fixed; /* all records have the same image */
};

struct leaks {
	const struct leaks_options *options;
	bool json, colour;
	struct report_walk walk;
	struct identity identity;
	struct leaks_blocks blocks;
	struct leaks_mappings mappings; /* if the options request them */
	struct stacks stacks;
	struct symbols *symbols;

	struct keys image_keys;
	struct leaks_image *images;
	struct leaks_site *sites; /* one for each stack */
	uint32_t site_capacity;
	struct leaks_site *groups; /* sites with blocks and the same frames, by leaks_group() */
	uint32_t group_count;
	struct leaks_calls calls;

	struct keys free_keys; /* of double and unknown frees */
	struct leaks_free *frees;

	uint64_t events; /* calls of the allocator */
	int64_t first_ns, last_ns;
	uint64_t allocations, allocated_bytes, nr_frees;
	uint64_t live_bytes, peak_bytes;
	uint64_t failed; /* allocations that returned NULL */
	uint64_t double_frees, unknown_frees;
	uint64_t reused;    /* allocations of an address that was in use: its free is missing */
	uint64_t untracked; /* allocations beyond LEAKS_BLOCKS_MAX */
	uint64_t unbegun;   /* returns of calls whose begin is not in the trace */
	uint64_t lost_packets, lost_bytes;
	uint64_t hidden; /* calls that return a block that the trace does not contain */
	struct leaks_doubts doubts;

	/* set by leaks_finish() */
	uint64_t mappings_alive;                  /* how many of blocks_alive are mappings */
	uint64_t blocks_alive, bytes_alive;       /* at the end, in images that were not replaced */
	uint64_t blocks_counted, bytes_counted;   /* of these, those that are old enough */
	uint64_t blocks_replaced, bytes_replaced; /* in images that an exec ended */
};

/*
 * leaks.c: call these functions in this order, as for a report (report.h). The caller sets `json`,
 * `colour` and `doubts.cut` in a zeroed structure, and `symbols` if it has some already. Call
 * leaks_free() in any case.
 */
int leaks_prepare(struct leaks *leaks, const struct leaks_options *options, const char *dir,
		const struct analysis_listener *listener, struct error *error);
int leaks_open(struct leaks *leaks, struct error *error);
int leaks_read(struct leaks *leaks, struct error *error);
/* Reads symbols and makes `groups`. Call it after leaks_read(). */
int leaks_resolve(struct leaks *leaks, struct error *error);
/* Calls leaks_resolve() and writes the answer as text or JSON. */
int leaks_print(struct leaks *leaks, FILE *out, struct error *error);
void leaks_free(struct leaks *leaks);

/* leaks-count.c */
/* Takes one event of the allocator. 0 or -ENOMEM. */
int leaks_take(struct leaks *leaks, struct leaks_class *class, const struct ctf_item *item);
int leaks_take_loss(
		struct leaks *leaks, const struct ctf_item *item, const struct walk_class *class);
/* Counts the blocks that are alive. After the last event. 0 or -ENOMEM. */
int leaks_finish(struct leaks *leaks);

/* The number of the event's stack for `struct leaks_call`. */
uint32_t leaks_stack_add(
		struct leaks *leaks, const struct leaks_class *class, const struct ctf_item *item);
/* Counts a block that a call has allocated. 0 or -ENOMEM. */
int leaks_count_allocation(struct leaks *leaks, const struct leaks_call *call);

/* leaks-mapping-events.c */
/* Finds the meaning of a class of events for mappings. */
void leaks_mapping_find(struct leaks_mapping_class *class, const struct ctf_item *item);
/* Takes one event of mmap(), munmap() or mremap(). 0 or -ENOMEM. */
int leaks_mapping_take(
		struct leaks *leaks, const struct leaks_class *class, const struct ctf_item *item);

/* Events that were lost. */
uint64_t leaks_lost(const struct leaks *leaks);
/* The frames of a stack, for stacks_frames(). */
uint32_t leaks_stack_named(struct leaks *leaks, uint32_t stack);
/* Makes `groups`, by bytes, when symbols are known. 0 or -ENOMEM. */
int leaks_group(struct leaks *leaks);

/* leaks-doubts.c */
/* Finds what the traces contain, after the last event. */
void leaks_doubts_examine(struct leaks *leaks);
/* Decides which double frees are certain, when the modules of the processes are known. */
void leaks_doubts_check_frees(struct leaks *leaks);
/* A sentence for the reason `number`, below LEAKS_DOUBTS. False: the reason does not apply. */
bool leaks_doubt(const struct leaks *leaks, unsigned int number, char text[LEAKS_DOUBT_SIZE]);
/*
 * True if the recording has no call of the allocator, and nothing hides one. Losses can hide a call
 * only in a trace that describes such calls.
 */
bool leaks_is_empty(const struct leaks *leaks);
/* True if nothing hides allocations or frees: no losses, no limits, no damage, no doubts. */
bool leaks_is_exact(const struct leaks *leaks);

/* leaks-text.c, leaks-json.c: 0 or -ENOMEM. */
int leaks_print_text(struct leaks *leaks, FILE *out);
int leaks_print_json(struct leaks *leaks, FILE *out);
/* The first part of the text: totals, losses and limits. */
void leaks_print_summary(const struct leaks *leaks, struct view_out *out);

#endif /* SIDE_ANALYSIS_LEAKS_H */
