/* SPDX-License-Identifier: MIT */
/*
 * Builds event descriptions at run time (side/builder.h).
 *
 * While an event is under construction, its types are nodes that refer to each other. Finishing
 * checks every node and converts it once to the structures of the ABI (builder-layout.c), innermost
 * first. Nodes that are used twice are shared. All memory comes from one arena.
 */
#ifndef SIDE_LIBSIDE_BUILDER_NODES_H
#define SIDE_LIBSIDE_BUILDER_NODES_H

#include "functions.h"

#include <side/builder.h>

#include <stdbool.h>

/* The limits of readers; a type that is used twice counts twice. */
#define DEPTH_MAX 128
#define PARTS_MAX (1u << 20)

/* The ABI structures without const members, for writing. */
struct builder_attr_fill {
	struct side_type_raw_string key;
	struct side_attr_value value;
} SIDE_PACKED;
side_check_size(struct builder_attr_fill, sizeof(struct side_attr));

struct builder_option_fill {
	int64_t range_begin;
	int64_t range_end;
	struct side_type side_type;
} SIDE_PACKED;
side_check_size(struct builder_option_fill, sizeof(struct side_variant_option));

struct builder_variant_fill {
	side_array_t(const struct side_variant_option) options;
	struct side_type selector;
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;
side_check_size(struct builder_variant_fill, sizeof(struct side_type_variant));

/* A growing array in the arena. */
struct builder_list {
	void *items;
	uint32_t nr, capacity;
};

struct builder_field {
	const char *name;
	struct side_builder_type *type;
};

struct builder_option {
	int64_t begin, end;
	struct side_builder_type *type;
};

/* Mappings of enumerations and bitmaps have one layout. */
side_check_size(struct side_enum_bitmap_mapping, sizeof(struct side_enum_mapping));

struct side_builder_type {
	struct side_builder *builder;
	/* The label and, for scalars, the members. Complete after the layout. */
	struct side_type raw;
	struct builder_list attributes; /* struct builder_attr_fill */
	struct builder_list
			items; /* struct builder_field, struct builder_option or struct side_enum_mapping */
	struct side_builder_type *element; /* also: selector; struct of a gather struct */
	struct side_builder_type *length;
	uint32_t array_length;
	side_visitor_func visitor;
	/* Set by the layout. */
	struct side_type_struct *structure;
	bool busy, done;
	uint32_t depth; /* of the nested types, including this one */
	uint32_t parts;
};

struct builder_chunk {
	struct builder_chunk *next;
	size_t used, size;
	unsigned char bytes[] __attribute__((aligned(16)));
};

struct side_builder {
	struct side_event_description desc;
	struct side_event_state_0 state;
	struct side_event_description *batch[1];
	struct side_events_register_handle *handle;
	struct side_builder_type root; /* the fields and attributes of the event */
	struct builder_chunk *chunks;
	void *(*take)(void *user,
			/*
			 * allocates memory that the builder does not free; returns NULL if out of
			 * memory
			 */
			size_t size);
	void *user;
	bool finished, was_registered;
	int result; /* the first error */
	char error[512];
};

/* Store the first error as a sentence, and return its code. */
int builder_fail(struct side_builder *builder, int result, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
int builder_no_memory(struct side_builder *builder);

/*
 * Allocate zeroed memory that lives as long as the builder. NULL, and an error, if out of memory.
 */
void *builder_take(struct side_builder *builder, size_t size);

/* Check the whole tree, and fill in the description. */
int builder_lay_out(struct side_builder *builder);

#endif /* SIDE_LIBSIDE_BUILDER_NODES_H */
