/* SPDX-License-Identifier: MIT */
/* Checks by system calls whether this process can read an address. */
#ifndef SIDE_TRACERS_VALIDATE_MEMORY_H
#define SIDE_TRACERS_VALIDATE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copy `size` bytes. Returns 0, or -EFAULT if they are not all readable. Preserves errno,
 * signal-safe.
 */
int validate_memory_read(void *priv, uint64_t address, void *to, size_t size);

/* True if `size` bytes are readable; `size` may be any number. */
bool validate_memory_readable(const void *address, size_t size);

/* True if a string is readable up to its terminator (`unit_size` zero bytes). */
bool validate_memory_text(const void *text, unsigned int unit_size);

#endif /* SIDE_TRACERS_VALIDATE_MEMORY_H */
