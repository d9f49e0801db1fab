/* SPDX-License-Identifier: MIT */
/* Linking: from names to positions; private to this room. Nothing of the C library is called. */
#ifndef SIDE_FILTER_LINK_H
#define SIDE_FILTER_LINK_H

#include <side/abi/event-description.h>

#include "filter/op.h"

/* Descriptions may share types, so that a small one can unfold widely. */
#define FILTER_MOVES_MAX 8192

/* What a value can be, as far as the types tell; 0: nothing ever. */
enum filter_kinds {
	FILTER_KIND_INT = 1,
	FILTER_KIND_DOUBLE = 2,
	FILTER_KIND_TEXT = 4,
	FILTER_KIND_NUMBER = FILTER_KIND_INT | FILTER_KIND_DOUBLE,
	FILTER_KIND_ANY = FILTER_KIND_NUMBER | FILTER_KIND_TEXT,
};

struct filter_linker {
	struct filter_program program;
	const struct side_event_description *description; /* NULL: bound */
	const struct filter_schema *schema;
	const struct filter_names *names;
	struct filter_error *error;
	unsigned char *memory; /* NULL: measure only */
	size_t capacity;
	size_t used;
	size_t needed; /* the most that was ever used: what leads nowhere is given back */
	size_t peak; /* the most that was in use: what cannot match is given back, but needs room first */
	uint32_t nr_moves;
	int failed; /* linking ends: -E2BIG, -ENOSPC */
	int reason; /* why it may never match: -ENOENT, -EINVAL; the first one stays */
};

/* Fill the linker's memory; peak is what is needed. Results as filter_link(). */
int filter_link_program(struct filter_linker *linker, const void *program, size_t size);

/* The offset of so many bytes, 8-byte aligned and not initialised. */
size_t filter_link_take(struct filter_linker *linker, size_t size);
/* What was taken there, or NULL when measuring or failed. */
void *filter_link_at(const struct filter_linker *linker, size_t offset);
/* A copy of a text with its NUL; the offset. */
size_t filter_link_text(struct filter_linker *linker, const struct filter_text *text);

/*
 * Record the reason why a comparison can never be true, unless one is recorded already. Concatenates strings up to NULL. True: recorded
 * now, without a hint.
 */
bool filter_link_reason(struct filter_linker *linker, int reason, unsigned int column,
		const char *first, ...);

/* Add a hint to the reason that was just recorded. */
void filter_link_hint(struct filter_linker *linker, const char *hint);

/* A path that is asked for something. */
struct filter_want {
	const struct filter_instruction *field;
	enum filter_goal goal;
	struct filter_text text; /* FILTER_GOAL_TEXT */
	bool is_glob;
};

/*
 * Moves that lead to it; sets the operation's cell_index and moves. Returns what it can be, 0 with a
 * reason when it is nothing ever. *never: it is no label of an enumeration, so never true.
 */
unsigned int filter_link_path(struct filter_linker *linker, const struct filter_want *want,
		struct filter_op *op, bool *never);

/*
 * Is the path an argument of its own with a plain integer, boolean or enumeration in it? Then its
 * leaf and its index.
 */
bool filter_link_direct(const struct filter_linker *linker, const struct filter_instruction *field,
		struct filter_move *leaf, uint32_t *arg,
		const struct side_enum_mappings **mappings);

/*
 * The ranges of the labels that are meant by the text. Counts them; to may be NULL. *single is the
 * last one.
 */
uint32_t filter_link_labels(const struct side_enum_mappings *mappings,
		const struct filter_want *want, struct filter_range *to,
		struct filter_range *single);

#endif /* SIDE_FILTER_LINK_H */
