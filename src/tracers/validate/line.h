/* SPDX-License-Identifier: MIT */
/* Finds the source line of an address of this process. */
#ifndef SIDE_TRACERS_VALIDATE_LINE_H
#define SIDE_TRACERS_VALIDATE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define VALIDATE_LINE_MAX 320

/*
 * Get "FILE:LINE" of an address in the ELF file that is mapped at `base`. The file must have debug
 * information, or a debug file must be installed (debug-file.h); uncompressed, or compressed by
 * zlib. Returns false if there is none. Signal-safe; maps some pages for the duration of the call,
 * which takes as long as reading all of .debug_line.
 */
bool validate_line_find(
		const char *path, const void *base, uint64_t address, char to[VALIDATE_LINE_MAX]);

#endif /* SIDE_TRACERS_VALIDATE_LINE_H */
