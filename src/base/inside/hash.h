/* SPDX-License-Identifier: MIT */
/*
 * Hashes: FNV-1a for tables and identities, CRC-32 for files that carry one. None resists an
 * attacker.
 *
 * All are incremental: begin with the constant, and pass the result of one piece to the next.
 */
#ifndef SIDE_BASE_INSIDE_HASH_H
#define SIDE_BASE_INSIDE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_FNV1A_32_BEGIN UINT32_C(0x811c9dc5)
#define HASH_FNV1A_64_BEGIN UINT64_C(0xcbf29ce484222325)
#define HASH_CRC32_BEGIN UINT32_C(0)

/* Add one number. Numbers above 255 are no bytes, so that they can mark the end of a piece. */
static inline uint32_t hash_fnv1a_32_step(uint32_t hash, uint32_t number)
{
	return (hash ^ number) * UINT32_C(16777619);
}

static inline uint64_t hash_fnv1a_64_step(uint64_t hash, uint64_t number)
{
	return (hash ^ number) * UINT64_C(0x100000001b3);
}

static inline uint32_t hash_fnv1a_32(uint32_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = hash_fnv1a_32_step(hash, at[i]);
	return hash;
}

static inline uint64_t hash_fnv1a_64(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = hash_fnv1a_64_step(hash, at[i]);
	return hash;
}

/* Without the zero byte at the end. */
static inline uint32_t hash_fnv1a_32_text(uint32_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_fnv1a_32_step(hash, (unsigned char)*text);
	return hash;
}

static inline uint64_t hash_fnv1a_64_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_fnv1a_64_step(hash, (unsigned char)*text);
	return hash;
}

/*
 * For a table whose size is a power of two: FNV-1a leaves the most entropy in the high bits, a mask
 * takes the low ones.
 */
static inline uint64_t hash_fold_64(uint64_t hash)
{
	return hash ^ hash >> 32;
}

/* CRC-32 as in gzip and .gnu_debuglink. */
static inline uint32_t hash_crc32(uint32_t crc, const void *bytes, size_t size)
{
	static const uint32_t half[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
			0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344,
			0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	const unsigned char *at = bytes;

	crc = ~crc;
	for (size_t i = 0; i < size; i++) {
		crc ^= at[i];
		crc = crc >> 4 ^ half[crc & 15];
		crc = crc >> 4 ^ half[crc & 15];
	}
	return ~crc;
}

#endif /* SIDE_BASE_INSIDE_HASH_H */
