/* SPDX-License-Identifier: MIT */
/*
 * Numbers and texts of a file, read through a small window: a file that gets shorter is an end too soon, and no signal, as it would be
 * in a mapping. Or of memory of our own, which has what was compressed in a file. Signal-safe, allocates nothing.
 */
#ifndef SIDE_TRACERS_VALIDATE_BYTES_H
#define SIDE_TRACERS_VALIDATE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes_source {
	int fd;
	const unsigned char *memory; /* NULL: the file */
};

struct byte_reader {
	struct bytes_source source;
	bool failed;      /* something was asked for behind the end; all is 0 from then on */
	uint64_t at, end; /* in the source */
	uint64_t window;  /* where it begins */
	size_t size;      /* bytes in it */
	unsigned char held[1024];
};

/* From here to there. */
void bytes_open(struct byte_reader *bytes, const struct bytes_source *source, uint64_t at,
		uint64_t size);

/* Of 1 to 8 bytes, as this machine writes it. */
uint64_t bytes_number(struct byte_reader *bytes, unsigned int size);

/* DWARF's numbers of any length. */
uint64_t bytes_leb128(struct byte_reader *bytes);
int64_t bytes_signed_leb128(struct byte_reader *bytes);

void bytes_skip(struct byte_reader *bytes, uint64_t size);

/* A text up to its end; what does not fit is cut. to may be NULL. Returns its length. */
size_t bytes_text(struct byte_reader *bytes, char *to, size_t size);

#endif /* SIDE_TRACERS_VALIDATE_BYTES_H */
