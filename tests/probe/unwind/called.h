/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROBE_UNWIND_CALLED_H
#define TESTS_PROBE_UNWIND_CALLED_H

/* Calls between a program and its library, in both directions. */
__attribute__((visibility("default"))) int called_deeper(int depth, int (*back)(int depth));
__attribute__((visibility("default"))) int called_sorted(
		int (*compare)(const void *left, const void *right));

#endif
