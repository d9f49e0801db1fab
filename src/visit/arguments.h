/* SPDX-License-Identifier: MIT */
/* The walk over arguments: what its parts (stack-copy, gather, dynamic) share. */
#ifndef VISIT_ARGUMENTS_H
#define VISIT_ARGUMENTS_H

#include "visit/path.h"

struct walk {
	const struct visit_argument_ops *ops;
	void *priv;
	struct visit_error *error;
};

/* Call an operation if there is one. */
#define WALK_CALL(walk, operation, ...) \
	((walk)->ops->operation ? (walk)->ops->operation((walk)->priv, __VA_ARGS__) : 0)

int visit_walk_argument(const struct walk *walk, const struct visit_place *place,
		const struct visit_step *step, const struct side_type *type,
		const struct side_arg *arg);

int visit_walk_gather(const struct walk *walk, const struct visit_place *place,
		const struct visit_step *step, const struct side_type *type, const void *base,
		const void *length_base);

int visit_walk_dynamic(const struct walk *walk, const struct visit_place *place,
		const struct visit_step *step, const struct side_arg *arg);

int visit_walk_variadic(const struct walk *walk, const struct visit_place *place,
		const struct visit_step *step, const struct side_arg_dynamic_struct *variadic);

/* The place one level further in; -ELOOP when that is too deep. */
int visit_walk_enter(const struct walk *walk, const struct visit_place *place,
		const struct visit_step *step, const struct side_type *type,
		struct visit_place *inner);

int visit_walk_wrong_label(const struct walk *walk, const struct visit_step *step,
		unsigned int expected, unsigned int actual);

/* A list of fields or elements (what) has another length. */
int visit_walk_wrong_number(const struct walk *walk, const struct visit_step *step,
		const char *what, uint32_t expected, uint32_t actual);

/* Whether nr things of this size can be read at address: 0 or -EFAULT, as visit_argument_ops has it. */
int visit_walk_reads(const struct walk *walk, const struct visit_step *step, const void *address,
		size_t nr, size_t size);

#endif /* VISIT_ARGUMENTS_H */
