/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_WRITTEN_H
#define SIDE_PROBE_SPEC_WRITTEN_H

/*
 * Bring names of functions with types in them, which can be spelled in several ways, to one form,
 * in place.
 */

#include <stdbool.h>
#include <stddef.h>

/* The form: no spaces, `char const*`, std::string, and no default template arguments. */
void written_plainly(char *name);
/*
 * Returns where the name without parameters ends; `*begin` is where it begins, after the return
 * type.
 */
size_t written_name(const char *name, size_t *begin);
/* Remove template arguments. Returns false if there are none. */
bool written_template(char *name);

#endif /* SIDE_PROBE_SPEC_WRITTEN_H */
