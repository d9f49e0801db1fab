/* SPDX-License-Identifier: MIT */
/* The walk over arguments, shared by its parts (stack-copy, gather, dynamic). */
#ifndef SIDE_ABI_ARGUMENTS_H
#define SIDE_ABI_ARGUMENTS_H

#include "abi/path.h"

struct visit_argument_walk {
	const struct visit_argument_ops *ops;
	void *priv;
	struct visit_error *error;
	uint32_t *parts; /* number of parts so far */
};

/* Call an operation if there is one. */
#define WALK_CALL(walk, operation, ...) \
	((walk)->ops->operation ? (walk)->ops->operation((walk)->priv, __VA_ARGS__) : 0)

int visit_walk_argument(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_type *type, const struct side_arg *arg);

int visit_walk_gather(const struct visit_argument_walk *walk, const struct visit_location *location,
		const struct visit_step *step, const struct side_type *type, const void *base,
		const void *length_base);

int visit_walk_dynamic(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_arg *arg);

int visit_walk_variadic(const struct visit_argument_walk *walk,
		const struct visit_location *location, const struct visit_step *step,
		const struct side_arg_dynamic_struct *variadic);

/* Set *ret_inner to the location one level deeper; -ELOOP if that is too deep. */
int visit_walk_enter(const struct visit_argument_walk *walk, const struct visit_location *location,
		const struct visit_step *step, const struct side_type *type,
		struct visit_location *ret_inner);

int visit_walk_wrong_type(const struct visit_argument_walk *walk, const struct visit_step *step,
		unsigned int expected, unsigned int actual);

/* Report a difference of two words. Returns -EINVAL. */
int visit_walk_differs(const struct visit_argument_walk *walk, const struct visit_step *step,
		const char *what, const char *expected, const char *found);

/* Report that a list of fields or elements (what) has the wrong length. */
int visit_walk_wrong_number(const struct visit_argument_walk *walk, const struct visit_step *step,
		const char *what, uint32_t expected, uint32_t actual);

/*
 * Check that nr items of this size can be read at address: 0, -EFAULT or -E2BIG, as in
 * visit_argument_ops.
 */
int visit_walk_check_memory(const struct visit_argument_walk *walk, const struct visit_step *step,
		const void *address, size_t nr, size_t size);

/* Like visit_walk_check_memory(), for a text; NULL passes. */
int visit_walk_check_text(const struct visit_argument_walk *walk, const struct visit_step *step,
		const void *text, unsigned int unit_size);

/* Report that the call has nr parts, more than the operations permit. Returns -E2BIG. */
int visit_walk_too_many(
		const struct visit_argument_walk *walk, const struct visit_step *step, size_t nr);

/* Count one more part of the call: 0 or -E2BIG. */
static inline int visit_walk_spend(
		const struct visit_argument_walk *walk, const struct visit_step *step)
{
	uint32_t most = walk->ops->parts_max;

	if (!most || (*walk->parts)++ < most)
		return 0;
	return visit_walk_too_many(walk, step, (size_t)most + 1);
}

/* Check that the type of a length can represent nr: 0 or -EINVAL. */
int visit_walk_length(const struct visit_argument_walk *walk, const struct visit_step *step,
		const struct side_type *length, uint32_t nr);

/* Pass a value to the operations if all of it can be read. */
int visit_walk_value(const struct visit_argument_walk *walk, const struct visit_location *location,
		const struct visit_step *step, const struct visit_value *value,
		struct visit_attributes attributes);

/* The result of a walk after a field that ended with ret. */
static inline int visit_walk_after_field(
		const struct visit_argument_walk *walk, const struct visit_location *field, int ret)
{
	return ret && walk->ops->wrong ? walk->ops->wrong(walk->priv, field, ret) : ret;
}

#endif /* SIDE_ABI_ARGUMENTS_H */
