/* SPDX-License-Identifier: MIT */
/* The check of a description, shared by its parts. */
#ifndef SIDE_ABI_CHECK_H
#define SIDE_ABI_CHECK_H

#include "abi/path.h"

struct checker {
	const struct visit_description_ops *ops;
	void *priv;
	unsigned int flags;
	uint32_t nodes; /* remaining budget */
	struct visit_error *error;
};

/* Take nodes from the budget. -E2BIG if too few are left. */
int visit_check_spend(struct checker *checker, const struct visit_step *step, uint32_t nodes);

int visit_check_raw_string(struct checker *checker, const struct side_type_raw_string *string,
		const struct visit_step *step, const char *what, bool null_allowed);
int visit_check_attributes(struct checker *checker, struct visit_attributes attributes,
		const struct visit_step *step);
int visit_check_access(struct checker *checker, unsigned int mode, const struct visit_step *step);
int visit_check_integer(struct checker *checker, const struct side_type_integer *type,
		unsigned int offset_bits, const struct visit_step *step);
int visit_check_bool(struct checker *checker, const struct side_type_bool *type,
		unsigned int offset_bits, const struct visit_step *step);
int visit_check_float(struct checker *checker, const struct side_type_float *type,
		const struct visit_step *step);
int visit_check_string(struct checker *checker, const struct side_type_string *type,
		const struct visit_step *step);
int visit_check_label_agrees(struct checker *checker, const struct side_type *type,
		const struct visit_step *step);

#endif /* SIDE_ABI_CHECK_H */
