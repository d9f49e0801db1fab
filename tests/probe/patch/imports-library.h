/* SPDX-License-Identifier: MIT */
/* What test-imports.c and its library share: descriptors of two pipes, of which each has two ends. */
#ifndef TESTS_PROBE_PATCH_IMPORTS_LIBRARY_H
#define TESTS_PROBE_PATCH_IMPORTS_LIBRARY_H

#include <sys/types.h>

#define IMPORTS_LIBRARY_BEGUN 100
#define IMPORTS_LIBRARY_BEGUN_LIBRARY 101
#define IMPORTS_LIBRARY_GO 102
#define IMPORTS_LIBRARY_GO_TEST 103

__attribute__((visibility("default"))) pid_t imports_library_call(void);

#endif /* TESTS_PROBE_PATCH_IMPORTS_LIBRARY_H */
