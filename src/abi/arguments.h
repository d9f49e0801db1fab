/* SPDX-License-Identifier: MIT */
/* The walk over arguments: what its parts (stack-copy, gather, dynamic) share. */
#ifndef SIDE_ABI_ARGUMENTS_H
#define SIDE_ABI_ARGUMENTS_H

#include "abi/path.h"

struct visit_argument_walk {
	const struct visit_argument_ops *ops;
	void *priv;
	struct visit_error *error;
	uint32_t *parts; /* how many there were so far */
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

/* The place one level further in; -ELOOP when that is too deep. */
int visit_walk_enter(const struct visit_argument_walk *walk, const struct visit_location *location,
		const struct visit_step *step, const struct side_type *type,
		struct visit_location *inner);

int visit_walk_wrong_label(const struct visit_argument_walk *walk, const struct visit_step *step,
		unsigned int expected, unsigned int actual);

/* What is wrong is all said by two words. Returns -EINVAL. */
int visit_walk_differs(const struct visit_argument_walk *walk, const struct visit_step *step,
		const char *what, const char *expected, const char *found);

/* A list of fields or elements (what) has another length. */
int visit_walk_wrong_number(const struct visit_argument_walk *walk, const struct visit_step *step,
		const char *what, uint32_t expected, uint32_t actual);

/* Whether nr things of this size can be read at address: 0, -EFAULT or -E2BIG, as visit_argument_ops has it. */
int visit_walk_reads(const struct visit_argument_walk *walk, const struct visit_step *step,
		const void *address, size_t nr, size_t size);

/* The same for a text; NULL is none. */
int visit_walk_reads_text(const struct visit_argument_walk *walk, const struct visit_step *step,
		const void *text, unsigned int unit_size);

/* There are nr parts of the call, more than the operations want. Returns -E2BIG. */
int visit_walk_too_many(
		const struct visit_argument_walk *walk, const struct visit_step *step, size_t nr);

/* One more part of the call: 0 or -E2BIG. */
static inline int visit_walk_spend(
		const struct visit_argument_walk *walk, const struct visit_step *step)
{
	uint32_t most = walk->ops->parts_max;

	if (!most || (*walk->parts)++ < most)
		return 0;
	return visit_walk_too_many(walk, step, (size_t)most + 1);
}

/* A list of nr elements, whose length is described by a type: 0 or -EINVAL. */
int visit_walk_length(const struct visit_argument_walk *walk, const struct visit_step *step,
		const struct side_type *length, uint32_t nr);

/* Hand over a value, when all of it can be read. */
int visit_walk_value(const struct visit_argument_walk *walk, const struct visit_location *location,
		const struct visit_step *step, const struct visit_value *value,
		struct visit_attributes attributes);

/* What becomes of a walk whose field ended with ret. */
static inline int visit_walk_after_field(
		const struct visit_argument_walk *walk, const struct visit_location *field, int ret)
{
	return ret && walk->ops->wrong ? walk->ops->wrong(walk->priv, field, ret) : ret;
}

#endif /* SIDE_ABI_ARGUMENTS_H */
