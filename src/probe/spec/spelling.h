/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_SPELLING_H
#define SIDE_PROBE_SPEC_SPELLING_H

/*
 * Bring names of functions with types in them, which can be spelled in several ways, to one form,
 * in place.
 */

#include <stdbool.h>
#include <stddef.h>

/* The form: no spaces, `char const*`, std::string, and no default template arguments. */
void spelling_normalize(char *name);
/*
 * Returns where the name without parameters ends; `*ret_begin` is where it begins, after the return
 * type.
 */
size_t spelling_plain_name(const char *name, size_t *ret_begin);
/* Remove template arguments. Returns false if there are none. */
bool spelling_drop_arguments(char *name);

#endif /* SIDE_PROBE_SPEC_SPELLING_H */
