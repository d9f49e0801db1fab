/* SPDX-License-Identifier: MIT */
/*
 * The stacks of events, each with a number, and the symbols of their frames.
 *
 * The stack of an event is its `backtrace`. An event without one has a stack of one frame: its
 * `caller`.
 */
#ifndef SIDE_ANALYSIS_LEAKS_STACKS_H
#define SIDE_ANALYSIS_LEAKS_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/listener.h"
#include "analysis/report-keys.h"
#include "ctf/ctf.h"

struct symbol;
struct symbols;

/* Different stacks. An event with another one gets the stack LEAKS_STACK_OTHERS. */
#define LEAKS_STACKS_MAX 200000
#define LEAKS_FRAMES_MAX 64 /* the innermost frames of a stack that are kept */

#define LEAKS_STACK_OTHERS 0        /* has no frames */
#define LEAKS_STACK_NONE UINT32_MAX /* no stack, or out of memory */

/* The positions of a stack in the records of a class. */
struct leaks_stack_class {
	bool known;
	struct {
		enum {
			LEAKS_SCOPE_NONE,
			LEAKS_SCOPE_COMMON,
			LEAKS_SCOPE_CONTEXT,
			LEAKS_SCOPE_FIELDS
		} scope;
		uint32_t index;
	} backtrace, caller;
};

/* All zero before leaks_stacks_start(). */
struct leaks_stacks {
	struct keys keys; /* the bytes of an entry: the trace, then the addresses */
	int64_t *times;   /* when each stack was first seen */
	struct symbols *symbols;
};

/* Starts the process that reads debug files. False: out of memory. */
bool leaks_stacks_start(struct leaks_stacks *stacks, bool debuginfod,
		const struct analysis_listener *listener);
/* Reads the address spaces of the processes, before symbols are asked for. 0 or -ENOMEM. */
int leaks_stacks_read(struct leaks_stacks *stacks, const char *dir);
void leaks_stacks_free(struct leaks_stacks *stacks);

/* The number of the stack of an event. */
uint32_t leaks_stack_add(struct leaks_stacks *stacks, struct leaks_stack_class *class,
		const struct ctf_item *item);

/* The number of frames, innermost first. */
uint32_t leaks_stack_depth(const struct leaks_stacks *stacks, uint32_t stack);
uint64_t leaks_stack_address(const struct leaks_stacks *stacks, uint32_t stack, uint32_t frame);
/* Never NULL. Valid as long as the stacks. */
const struct symbol *leaks_stack_symbol(
		const struct leaks_stacks *stacks, uint32_t stack, uint32_t frame);

#endif /* SIDE_ANALYSIS_LEAKS_STACKS_H */
