/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_WRITTEN_H
#define SIDE_PROBE_SPEC_WRITTEN_H

/* Names of functions with types in them, of which there are several ways to write each. In place. */

#include <stdbool.h>
#include <stddef.h>

/* One way: no spaces, `char const*`, std::string, no arguments of templates that everybody leaves out. */
void written_plainly(char *name);
/* Where the name without parameters ends, and where it begins behind the type that is returned. */
size_t written_name(const char *name, size_t *begin);
/* Without the arguments of templates; false: it has none. */
bool written_template(char *name);

#endif /* SIDE_PROBE_SPEC_WRITTEN_H */
