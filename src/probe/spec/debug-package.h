/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_DEBUG_PACKAGE_H
#define SIDE_PROBE_SPEC_DEBUG_PACKAGE_H

/* Hints for the user: which package or file has the function names of a stripped file. */

#include "probe/code/code.h"

#include <stdbool.h>
#include <stddef.h>

#define DEBUG_PACKAGE_HINT_SIZE 512

/*
 * Writes a hint for the file at `path`, whose debug file code_lacks_debug_file() describes. It
 * reads the lists of Debian's installed packages, if there are any, and runs no program.
 */
void debug_package_hint(const char *path, const struct code_debug_file *debug,
		char text[DEBUG_PACKAGE_HINT_SIZE]);

#endif /* SIDE_PROBE_SPEC_DEBUG_PACKAGE_H */
