/* SPDX-License-Identifier: MIT */
/* Whether this process can read what a pointer says, asked of the kernel instead of tried. */
#ifndef SIDE_TRACERS_VALIDATE_MEMORY_H
#define SIDE_TRACERS_VALIDATE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copy size bytes; 0, or -EFAULT when they are not all there. Keeps errno, signal-safe. */
int validate_memory_read(void *priv, uint64_t address, void *to, size_t size);

/* Without copying; size may be anything. */
bool validate_memory_readable(const void *address, size_t size);

/* A text up to its terminator (unit_size bytes of zero). */
bool validate_memory_text(const void *text, unsigned int unit_size);

#endif /* SIDE_TRACERS_VALIDATE_MEMORY_H */
