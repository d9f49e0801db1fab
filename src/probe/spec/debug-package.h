/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_DEBUG_PACKAGE_H
#define SIDE_PROBE_SPEC_DEBUG_PACKAGE_H

/* Hints for the user: which package or file has the function names of a stripped file. */

#include "probe/code/code.h"

#include <stdbool.h>
#include <stddef.h>

#define DEBUG_PACKAGE_HINT_SIZE 512

/*
 * Adds a line to the hint for the file at `path`, whose debug file code_lacks_debug_file()
 * describes. At least DEBUG_PACKAGE_HINT_SIZE bytes should be free. It reads the lists of Debian's
 * installed packages, if there are any, and runs no program. Returns the end of the message: why a
 * name was not found.
 */
const char *debug_package_hint(
		const char *path, const struct code_debug_file *debug, char *hint, size_t size);

#endif /* SIDE_PROBE_SPEC_DEBUG_PACKAGE_H */
