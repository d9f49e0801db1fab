/* SPDX-License-Identifier: MIT */
/* The constants of the encoded form of a description (docs/spec/description-codec.md). */
#ifndef SIDE_ABI_CODEC_H
#define SIDE_ABI_CODEC_H

#include "abi/path.h"

#define CODEC_MAGIC "SDSC"
#define CODEC_VERSION 1

/* Header: magic, u16 version, u16 zero, u32 size of everything. All numbers little-endian. */
#define CODEC_HEADER_SIZE 12
#define CODEC_SIZE_AT 8

/* The length that encodes a NULL pointer to a string. */
#define CODEC_NULL UINT32_MAX

/* Bytes of the value of an attribute, for each type; strings and unknown types: -1. */
static inline int codec_attr_size(uint32_t type)
{
	static const int8_t sizes[_NR_SIDE_ATTR_TYPE] = {
			0, 1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 2, 4, 8, 16, -1};

	return type < _NR_SIDE_ATTR_TYPE ? sizes[type] : -1;
}

#endif /* SIDE_ABI_CODEC_H */
