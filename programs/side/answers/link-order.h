/* SPDX-License-Identifier: MIT */
/* The order in which a process's dynamic linker searches its loaded files for a symbol. */
#ifndef PROGRAMS_SIDE_ANSWERS_LINK_ORDER_H
#define PROGRAMS_SIDE_ANSWERS_LINK_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LINK_ORDER_FILES_MAX 4096 /* later files are not visited */

/*
 * Calls `visit` with the address of the dynamic section of each file, until it returns true. Files
 * that were loaded later, by dlopen(), come last. False: the order cannot be read, or no call has
 * returned true.
 */
bool link_order_visit(pid_t pid, bool (*visit)(void *user, uint64_t dynamic_section), void *user);

#endif /* PROGRAMS_SIDE_ANSWERS_LINK_ORDER_H */
