/* SPDX-License-Identifier: MIT */
/* Links a program: replaces names by positions; private to this module. Calls no function of the C
   library. */
#ifndef SIDE_FILTER_LINK_H
#define SIDE_FILTER_LINK_H

#include <side/abi/event-description.h>

#include "filter/op.h"

/* Descriptions may share types, so a small description can unfold to many moves. */
#define FILTER_MOVES_MAX 8192

/* The possible kinds of a value, as far as the types determine them; 0: never a value. */
enum filter_kinds {
	FILTER_KIND_INT = 1,
	FILTER_KIND_DOUBLE = 2,
	FILTER_KIND_TEXT = 4,
	FILTER_KIND_NUMBER = FILTER_KIND_INT | FILTER_KIND_DOUBLE,
	FILTER_KIND_ANY = FILTER_KIND_NUMBER | FILTER_KIND_TEXT,
};

struct filter_linker {
	struct filter_program program;
	/* NULL: the filter is bound to a schema */
	const struct side_event_description *description;
	const struct filter_schema *schema;
	const struct filter_names *names;
	struct filter_error *error;
	unsigned char *memory; /* NULL: only compute the size */
	size_t capacity;
	size_t used;
	size_t needed; /* the same as peak; not read */
	/* the largest value of `used`: memory of blocks that cannot match is released, but needed
	   first */
	size_t peak;
	uint32_t nr_moves;
	int failed; /* linking has failed: -E2BIG, -ENOSPC */
	int reason; /* why the filter can never match: -ENOENT, -EINVAL; the first reason is kept */
};

/* Fill the linker's memory; `peak` is the required size. Results as for filter_link(). */
int filter_link_program(struct filter_linker *linker, const void *program, size_t size);

/* Allocate `size` bytes, 8-byte aligned and not initialised. Returns their offset. */
size_t filter_link_take(struct filter_linker *linker, size_t size);
/* The memory at an offset, or NULL while computing the size or after a failure. */
void *filter_link_at(const struct filter_linker *linker, size_t offset);
/* Copy a text with its NUL. Returns its offset. */
size_t filter_link_text(struct filter_linker *linker, const struct filter_text *text);

/*
 * Store the reason why a comparison can never be true, unless one is stored. Concatenates strings
 * up to NULL. True: stored now, without a hint.
 */
bool filter_link_reason(struct filter_linker *linker, int reason, unsigned int column,
		const char *first, ...);

/* Add a hint to the reason that was just stored. */
void filter_link_hint(struct filter_linker *linker, const char *hint);

/* A path and its requested property. */
struct filter_want {
	const struct filter_instruction *field;
	enum filter_goal goal;
	struct filter_text text; /* for FILTER_GOAL_TEXT */
	bool is_glob;
};

/*
 * Emit the moves to the element; sets the operation's arg_index and moves. Returns its possible
 * kinds, 0 with a reason if it can never have a value. *ret_never: the text is no label of the
 * enumeration, so the comparison is never true.
 */
unsigned int filter_link_path(struct filter_linker *linker, const struct filter_want *want,
		struct filter_op *op, bool *ret_never);

/*
 * True if the path is an argument itself that is a plain integer, boolean or enumeration. Then sets
 * its leaf and its index.
 */
bool filter_link_direct(const struct filter_linker *linker, const struct filter_instruction *field,
		struct filter_move *ret_leaf, uint32_t *ret_arg,
		const struct side_enum_mappings **ret_mappings);

/*
 * Find the ranges of the labels that the text matches. Returns their number; `ret_ranges` may be
 * NULL. *single is the last one.
 */
uint32_t filter_link_labels(const struct side_enum_mappings *mappings,
		const struct filter_want *want, struct filter_range *ret_ranges,
		struct filter_range *single);

#endif /* SIDE_FILTER_LINK_H */
