/* SPDX-License-Identifier: MIT */
/* Decompresses .xz data that is not trusted, such as .gnu_debugdata of an ELF file. */
#ifndef SIDE_BASE_UNPACK_UNPACK_H
#define SIDE_BASE_UNPACK_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#define UNPACK_BYTES_MAX ((size_t)64 << 20)
#define UNPACK_MEMORY_MAX ((uint64_t)128 << 20) /* for the decoder */

/*
 * Returns the bytes, which the caller frees, and sets *ret_size. NULL: damaged data, more than
 * UNPACK_BYTES_MAX, out of memory, or built without liblzma.
 */
uint8_t *unpack_xz(const uint8_t *packed, size_t size, size_t *ret_size);

#endif /* SIDE_BASE_UNPACK_UNPACK_H */
