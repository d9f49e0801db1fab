/* SPDX-License-Identifier: MIT */
/*
 * Finds suspicious parts of descriptions. Used by the validator, at registration, and by readside,
 * for files. Descriptions that no reader can decode were refused before (check.c).
 *
 *	lint.c		the event, its fields, and the walk
 *	lint-text.c	names, labels, attributes
 *	lint-labels.c	ranges: enumerations, bitmaps, variants
 *	lint-gather.c	positions of gathered values
 */
#ifndef SIDE_ABI_LINT_H
#define SIDE_ABI_LINT_H

#include "abi/path.h"

/*
 * Larger numbers are damaged or generated, not intended. Each element of an argument takes 64 bytes
 * on the stack of the caller; gathered ones are in memory that the program has anyway.
 */
#define LINT_FIELDS_MAX 1024
#define LINT_ELEMENTS_MAX 65536u
#define LINT_GATHERED_MAX (1u << 24)
#define LINT_OFFSET_MAX (UINT64_C(1) << 32)
/* The limit for comparisons of all pairs of options, labels and attributes. */
#define LINT_PAIRS_MAX 256u

struct lint {
	const struct side_event_description *desc;
	unsigned int pointer_size;
	visit_finding_func report;
	void *priv;
	unsigned int errors;
	/* The highest label and attribute type that the description uses. */
	unsigned int label, highest_attribute_type;
};

/* Report a finding. format: the sentence, '\n', the hint. node: NULL for the event itself. */
void lint_report(struct lint *lint, enum visit_severity severity, const struct visit_node *node,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Whether the text is UTF-8. False for NULL. */
bool lint_is_utf8(const char *text);
void lint_label(struct lint *lint, const struct side_type_raw_string *label, uint32_t index,
		const struct visit_node *node);
void lint_attributes(struct lint *lint, struct visit_attributes attributes,
		const struct visit_node *node);

void lint_enum(struct lint *lint, const struct side_type_enum *type, const struct visit_node *node);
void lint_bitmap(struct lint *lint, const struct side_type_enum_bitmap *type,
		const struct visit_node *node);
void lint_variant(struct lint *lint, const struct side_type_variant *type,
		const struct visit_node *node);

void lint_gather(struct lint *lint, const struct side_type *type, const struct visit_node *node);

#endif /* SIDE_ABI_LINT_H */
