/* SPDX-License-Identifier: MIT */
/*
 * Finds the allocator of a process: the file whose malloc() the dynamic linker has selected, and
 * which of the allocator's functions that file has.
 */
#ifndef PROGRAMS_SIDE_ANSWERS_ALLOCATOR_H
#define PROGRAMS_SIDE_ANSWERS_ALLOCATOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ALLOCATOR_FUNCTIONS 10

struct allocator {
	char library[NAME_MAX + 1]; /* "libc.so.6"; "": the executable */
	/* For each function of allocator_functions: the file has it, not as another name only. */
	bool has[ALLOCATOR_FUNCTIONS];
};

/* A function of an allocator, and the options of a probe for it. */
struct allocator_function {
	const char *name;
	const char *args[8]; /* ends with NULL */
};
extern const struct allocator_function allocator_functions[ALLOCATOR_FUNCTIONS];

/* False: no file with malloc() was found; then it is assumed to be libc with all functions. */
bool allocator_of_process(pid_t pid, struct allocator *ret_allocator);

#endif /* PROGRAMS_SIDE_ANSWERS_ALLOCATOR_H */
