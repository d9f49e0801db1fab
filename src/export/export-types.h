/* SPDX-License-Identifier: MIT */
/*
 * Field classes of a trace that was read, as the writer of CTF 1.8 or CTF 2 takes them.
 *
 * The bytes that they describe stay as they are. CTF 2 says by location and ranges which field is a
 * length or a selector; CTF 1.8 needs a name, and selectors that are enumerations whose labels are
 * the names of the options.
 */
#ifndef SIDE_EXPORT_EXPORT_TYPES_H
#define SIDE_EXPORT_EXPORT_TYPES_H

#include "ctf/ctf.h"

struct export_types {
	enum ctf_format format;
	struct ctf_arena *arena;
	struct export_tag *tags; /* Copied members that others refer to, by their slots. */
	uint32_t tag_count;
	const char *why; /* What cannot be said in that format: part of a sentence. */
};

void export_types_start(struct export_types *types, enum ctf_format format);
void export_types_free(struct export_types *types);

/*
 * NULL stays NULL. 0; -ENOTSUP: `why` says what the format cannot say; -ENOMEM. The scopes of a
 * record must come in their order, since fields may refer to contexts. The result lives as long as
 * `types` and the trace.
 */
int export_types_convert(struct export_types *types, const char *scope, const struct ctf_type *type,
		const struct ctf_type **converted);

#endif /* SIDE_EXPORT_EXPORT_TYPES_H */
