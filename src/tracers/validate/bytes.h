/* SPDX-License-Identifier: MIT */
/*
 * Reads numbers and strings of a file through a small window, or of memory that was decompressed
 * from a file.
 *
 * If the file is truncated meanwhile, reading ends early; a mapping of the file would raise a
 * signal. Signal-safe, allocates nothing.
 */
#ifndef SIDE_TRACERS_VALIDATE_BYTES_H
#define SIDE_TRACERS_VALIDATE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes_source {
	int fd;
	const unsigned char *memory; /* NULL: use the file */
};

struct byte_reader {
	struct bytes_source source;
	bool failed;      /* a read went beyond the end; all further reads return 0 */
	uint64_t at, end; /* offsets in the source */
	uint64_t window;  /* its offset in the source */
	size_t size;      /* bytes in the window */
	unsigned char held[1024];
};

/* Start reading `size` bytes at offset `at`. */
void bytes_open(struct byte_reader *bytes, const struct bytes_source *source, uint64_t at,
		uint64_t size);

/* Read a number of 1 to 8 bytes in host byte order. */
uint64_t bytes_number(struct byte_reader *bytes, unsigned int size);

/* Read a LEB128 number of DWARF. */
uint64_t bytes_leb128(struct byte_reader *bytes);
int64_t bytes_signed_leb128(struct byte_reader *bytes);

void bytes_skip(struct byte_reader *bytes, uint64_t size);

/*
 * Read a string up to its zero. A longer string is truncated. `to` may be NULL. Returns its full
 * length.
 */
size_t bytes_text(struct byte_reader *bytes, char *to, size_t size);

#endif /* SIDE_TRACERS_VALIDATE_BYTES_H */
