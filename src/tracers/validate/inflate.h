/* SPDX-License-Identifier: MIT */
/*
 * Decompresses zlib data (RFC 1950, 1951) without zlib: the validator must not load a further
 * library into the program.
 */
#ifndef SIDE_TRACERS_VALIDATE_INFLATE_H
#define SIDE_TRACERS_VALIDATE_INFLATE_H

#include "tracers/validate/bytes.h"

/*
 * Decompress exactly `size` bytes. Returns false if the data is malformed or has another size. Does
 * not verify the checksum at the end. Signal-safe.
 */
bool validate_inflate(struct byte_reader *in, unsigned char *to, size_t size);

#endif /* SIDE_TRACERS_VALIDATE_INFLATE_H */
