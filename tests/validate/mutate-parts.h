/* SPDX-License-Identifier: MIT */
/* Declarations that the files of mutate.h share. */
#ifndef TESTS_VALIDATE_MUTATE_PARTS_H
#define TESTS_VALIDATE_MUTATE_PARTS_H

#include "mutate.h"

#define MUTATE_GATHERED 2u /* elements of a gathered VLA */
#define MUTATE_UNITS 3u    /* of a gathered string, with its end */

/* The same layouts with members that may be written. */
struct option_image {
	int64_t range_begin, range_end;
	struct side_type side_type;
} SIDE_PACKED;

struct variant_image {
	side_array_t(const struct side_variant_option) options;
	struct side_type selector;
	side_array_t(const struct side_attr) attributes;
} SIDE_PACKED;

struct dynamic_field_image {
	side_ptr_t(const char) field_name;
	struct side_arg elem;
} SIDE_PACKED;

/* A step of the path in the format of the validator. */
struct where {
	const struct where *up;
	char text[24];
	unsigned int depth;
};

struct where mutate_where(const struct where *up, const char *format, unsigned int index);

/* Whether this location is the one to change; extra is an inner step, or NULL. */
bool mutate_point(struct mutate *mutate, const struct where *where, const char *extra,
		const char *what);

uint32_t mutate_below(struct mutate *mutate, uint32_t below);
void *mutate_take(struct mutate *mutate, size_t size);

/* Returns unreadable memory, or NULL. */
void *mutate_nowhere(struct mutate *mutate);
/* The same without NULL. */
void *mutate_wild(struct mutate *mutate);
/* Returns a text without a terminator, directly before unreadable memory. */
void *mutate_endless(void);

/* The function of all static visitors, and what they visit. */
struct mutate_visited {
	const struct side_arg *elements;
	const struct side_arg_dynamic_field *fields;
	uint32_t nr;
	enum side_visitor_status status;
	bool writes_null;
};
enum side_visitor_status mutate_visit(const struct side_tracer_visitor_ctx *tracer, void *app);

void mutate_gather(struct mutate *mutate, const struct where *where, const struct side_type *type,
		unsigned char *base, unsigned char *length_base);
void mutate_dynamic(struct mutate *mutate, const struct where *up, struct side_arg *arg,
		unsigned int depth);
struct side_arg_dynamic_struct *mutate_dynamic_struct(struct mutate *mutate,
		const struct where *where, struct side_arg_dynamic_struct *self,
		unsigned int depth);

#endif /* TESTS_VALIDATE_MUTATE_PARTS_H */
