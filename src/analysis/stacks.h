/* SPDX-License-Identifier: MIT */
/*
 * Stacks of events: each gets a number, and its addresses become frames when they are needed.
 *
 * stacks_add() gives equal addresses of one process the same number, unless a library was unloaded
 * from one of them meanwhile. stacks_named() resolves them:
 * stacks with the same frames get the same second number, also if they are of different processes
 * or traces. An address in inlined functions becomes several frames. Memory is
 * bounded: stacks beyond a limit have no number and are counted.
 *
 *     struct stacks stacks = {.limit = 0};
 *     trace_symbols_read(symbols, dir);                          before the first event
 *     event_stack_bind(&class->stack, item, event);              for each event class
 *     if (event_stack_read(&class->stack, item, &stack)) {       for each event
 *             stack.symbols = symbols;
 *             number = stacks_add(&stacks, &stack);
 *     }
 *     named = stacks_named(&stacks, number);
 *     stacks_print_text(&stacks, named, out, "    ", 0);
 *     stacks_free(&stacks);
 */
#ifndef SIDE_ANALYSIS_STACKS_H
#define SIDE_ANALYSIS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event-member.h"
#include "analysis/report-keys.h"

struct ctf_item;
struct symbols;
struct view_event;
struct view_out;

#define STACKS_MAX 500000                    /* different stacks */
#define STACKS_BYTES_MAX ((size_t)128 << 20) /* memory for their addresses */
#define STACKS_CODE_MAX 250000               /* different addresses in them */
#define STACKS_FRAMES_MAX 1000000            /* different frames */
#define STACKS_SOURCES_MAX 16                /* traces that are compared */
#define STACK_ADDRESSES_MAX 256              /* of one stack; outer ones are left out */
#define STACK_FRAMES_MAX 1024                /* of one stack, with inlined functions */
#define STACK_NONE KEYS_NONE

/* The addresses of one event, innermost first. */
struct stack {
	struct symbols *symbols; /* resolves them; NULL: they remain numbers */
	uint32_t trace;          /* index of the trace whose process has the addresses … */
	int64_t ns;              /* … at this time */
	bool is_exact;           /* the first is no return address, but a location */
	uint32_t count;
	uint64_t addresses[STACK_ADDRESSES_MAX];
};

/*
 * Frames with the same module, function, file and line are the same one; without a line, those with
 * the same address in the function.
 */
struct stack_frame {
	const char *module;   /* the path of its file; NULL: the address is unknown */
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	unsigned int line;
	bool is_inlined;  /* the compiler copied the function into that of the next frame */
	uint64_t address; /* in the process, as recorded; of equal frames, that of the first */
	uint64_t offset;  /* the address in the file */
	uint64_t inside;  /* bytes behind the beginning of the function; 0 if it is inlined */
	/* the same number for frames of the same function; without one, for the same address */
	uint32_t function_number;
};

/* All zero is an empty table. */
struct stacks {
	uint32_t limit;      /* the largest number of stacks; 0: STACKS_MAX */
	uint64_t refused;    /* calls of stacks_add() beyond a limit */
	uint64_t unresolved; /* stacks without a second number, because the tables are full */
	bool no_memory;
	/* private */
	struct symbols *sources[STACKS_SOURCES_MAX];
	uint32_t nr_sources;
	struct keys keys; /* the addresses of each stack */
	size_t bytes;
	int64_t *times;  /* of each stack: when it was first seen */
	uint32_t *named; /* of each stack: its second number plus one; 0: not resolved */
	uint32_t nr_named;
	struct keys frame_keys;
	struct stack_frame *frames;
	struct keys functions;
	struct keys expansions; /* from a symbol to the frames of its address */
	struct stack_expansion *expanded;
	struct keys lists; /* the frames of each second number */
};

void stacks_free(struct stacks *stacks);

/*
 * The number of a stack. STACK_NONE: it has no address, the table is full (`refused`), or out of
 * memory (`no_memory`).
 */
uint32_t stacks_add(struct stacks *stacks, const struct stack *stack);

/*
 * Resolves a stack, once. Returns its second number, or STACK_NONE for STACK_NONE, if the tables
 * are full, or if out of memory (`no_memory`).
 */
uint32_t stacks_named(struct stacks *stacks, uint32_t stack);

/* The numbers of its frames, innermost first; for STACK_NONE, none. Valid until the next call. */
const uint32_t *stacks_frames(const struct stacks *stacks, uint32_t named, uint32_t *ret_count);
/* stacks_frames() without the frames that start a program or a thread, but at least one. */
const uint32_t *stacks_own_frames(const struct stacks *stacks, uint32_t named, uint32_t *ret_count);
/* Valid until the next call of stacks_named(); its texts as long as the symbols. */
const struct stack_frame *stacks_frame(const struct stacks *stacks, uint32_t frame);

/* Writes the name of a frame without its line: "function", "module+0x123", "0x7f…". */
void stacks_frame_name(const struct stack_frame *frame, char *text, size_t size);
/*
 * Writes a frame without a line feed: "function+0x12 (/path/file.c:42)", "function+0x12
 * (/path/module)", "/path/module+0x123", "0x7f…"; of inlined functions, "function
 * (/path/file.c:40) [inlined]".
 */
void stacks_print_frame(const struct stack_frame *frame, struct view_out *out);
/* Writes a line for each frame, at most `most` of them; 0: all. */
void stacks_print_text(const struct stacks *stacks, uint32_t named, struct view_out *out,
		const char *indent, uint32_t most);
/*
 * Writes an array of objects, each with the members that are known:
 *
 * {"address":…,"module":…,"offset":…,"function":…,"function_offset":…,"file":…,"line":…,"inlined":true}
 *
 * "inlined" is present for inlined functions only; they have no "function_offset".
 */
void stacks_print_json(const struct stacks *stacks, uint32_t named, struct view_out *out);

/* ---- event-stack.c: the stack of an event ---- */

/* The position of a value in the records of a class. */
struct event_stack_location {
	struct event_member member;
	bool is_exact; /* an address of code that is no return address */
};

/* The sources of a stack. For each record, the first source that it has counts. */
enum { EVENT_STACK_BACKTRACE, EVENT_STACK_CALLER, EVENT_STACK_IP, EVENT_STACK_SOURCES };

struct event_stack_class {
	struct event_stack_location sources[EVENT_STACK_SOURCES];
};

/*
 * Finds `backtrace` (a list of addresses), `caller` and `ip` in the fields and contexts of a class.
 * Fields count before contexts. `event` describes the fields; NULL: no description.
 */
void event_stack_bind(struct event_stack_class *class, const struct ctf_item *item,
		const struct view_event *event);
/* Sets all members but `symbols`. False: the record has no address. */
bool event_stack_read(const struct event_stack_class *class, const struct ctf_item *item,
		struct stack *ret_stack);

#endif /* SIDE_ANALYSIS_STACKS_H */
