/* SPDX-License-Identifier: MIT */
/* The line of source code that an address of this process comes from. */
#ifndef SIDE_TRACERS_VALIDATE_LINE_H
#define SIDE_TRACERS_VALIDATE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define VALIDATE_LINE_MAX 320

/*
 * "FILE:LINE" of an address of the ELF file that is mapped at base, if it has debug information, or a file for it is installed
 * (debug-file.h); compressed by zlib, or not at all. Signal-safe, allocates nothing but pages for a moment; takes as
 * long as reading all of .debug_line does.
 */
bool validate_line_find(
		const char *path, const void *base, uint64_t address, char to[VALIDATE_LINE_MAX]);

#endif /* SIDE_TRACERS_VALIDATE_LINE_H */
