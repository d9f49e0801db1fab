/* SPDX-License-Identifier: MIT */
/*
 * Field classes of a trace that was read, converted for the writer of CTF 1.8 or CTF 2.
 *
 * The bytes of records stay unchanged. CTF 2 identifies the field that is a length or a selector by
 * its location, and its values by ranges. CTF 1.8 needs a name, and selectors that are enumerations
 * with the names of the options as labels.
 */
#ifndef SIDE_EXPORT_EXPORT_TYPES_H
#define SIDE_EXPORT_EXPORT_TYPES_H

#include "ctf/ctf.h"

struct export_types {
	enum ctf_format format;
	struct ctf_arena *arena;
	struct export_tag *tags; /* copied members that other members refer to, by their slots */
	uint32_t tag_count;
	const char *why; /* what the format cannot express: part of a sentence */
};

void export_types_start(struct export_types *types, enum ctf_format format);
void export_types_free(struct export_types *types);

/*
 * Converts the type of a scope; NULL stays NULL. 0; -ENOTSUP, and `why` has the reason; -ENOMEM.
 * Convert the scopes of a record in their order, because fields can refer to contexts. The result
 * lives as long as `types` and the trace.
 */
int export_types_convert(struct export_types *types, const char *scope, const struct ctf_type *type,
		const struct ctf_type **ret_converted);

#endif /* SIDE_EXPORT_EXPORT_TYPES_H */
