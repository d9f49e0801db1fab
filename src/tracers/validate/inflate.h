/* SPDX-License-Identifier: MIT */
/* What zlib has compressed (RFC 1950, 1951), without zlib: the program that is examined has to get no library more. */
#ifndef SIDE_TRACERS_VALIDATE_INFLATE_H
#define SIDE_TRACERS_VALIDATE_INFLATE_H

#include "tracers/validate/bytes.h"

/* Exactly so many bytes; false: it is anything else. The checksum behind them is not looked at. Signal-safe. */
bool validate_inflate(struct byte_reader *in, unsigned char *to, size_t size);

#endif /* SIDE_TRACERS_VALIDATE_INFLATE_H */
