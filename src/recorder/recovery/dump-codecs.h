/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_DUMP_CODECS_H
#define SIDE_RECORDER_RECOVERY_DUMP_CODECS_H

/*
 * Decompresses pages of crash dumps: zlib, LZO, Snappy and zstd.
 *
 * Callers: the reader of compressed dumps. One thread at a time for each `struct dump_codecs`.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flags of a dump and of its pages: the numbers in the file. */
#define DUMP_CODEC_ZLIB 1u
#define DUMP_CODEC_LZO 2u
#define DUMP_CODEC_SNAPPY 4u
#define DUMP_CODEC_ZSTD 0x20u
#define DUMP_CODECS_ALL (DUMP_CODEC_ZLIB | DUMP_CODEC_LZO | DUMP_CODEC_SNAPPY | DUMP_CODEC_ZSTD)

struct dump_codecs {
	void *lzo, *snappy; /* handles of the libraries, or NULL */
	int (*lzo_unpack)(const unsigned char *from, size_t size, unsigned char *to,
			size_t *ret_size, void *unused);
	int (*snappy_unpack)(const char *from, size_t size, char *to, size_t *ret_size);
};

/*
 * Loads the libraries that a dump with these flags requires. Returns NULL, or which library is
 * missing, and after a line break a hint. Call dump_codecs_close() in both cases.
 */
const char *dump_codecs_open(struct dump_codecs *codecs, uint32_t flags);
void dump_codecs_close(struct dump_codecs *codecs);

/* Writes exactly `capacity` bytes to `to`; false: the page is damaged, or of an unknown form. */
bool dump_codecs_unpack(const struct dump_codecs *codecs, uint32_t flags, const void *from,
		size_t size, void *to, size_t capacity);

#endif
