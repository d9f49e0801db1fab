/* SPDX-License-Identifier: MIT */
/* The decoder: reads untrusted bytes, and writes to memory of its own. */
#ifndef SIDE_ABI_DECODE_H
#define SIDE_ABI_DECODE_H

#include <string.h>

#include "abi/codec.h"

/* Memory in chunks that never move; all are freed at once. */
struct decode_chunk {
	struct decode_chunk *next;
	size_t used, size;
	unsigned char bytes[] __attribute__((aligned(16)));
};

struct owned {
	struct visit_owned public; /* first */
	struct decode_chunk *chunks;
};

struct decoder {
	const unsigned char *at;
	size_t left;
	struct owned *owned;
	uint32_t nodes; /* remaining budget */
	struct visit_error *error;
};

/* Allocate zeroed memory that lives as long as the result. NULL if out of memory. */
void *visit_decoder_take(struct decoder *decoder, size_t size);

/* Report the two most common errors; return their codes. */
int visit_decoder_no_memory(struct decoder *decoder, const struct visit_step *step);
int visit_decoder_truncated(struct decoder *decoder, const struct visit_step *step);

/* Read a little-endian number of 1 to 8 bytes. */
int visit_decoder_get_number(struct decoder *decoder, unsigned int size, uint64_t *ret_number,
		const struct visit_step *step);

/* The same into a member of any type, at any address. */
#define GET(decoder, size, member, step)                                            \
	__extension__({                                                             \
		uint64_t number_ = 0;                                               \
		int ret_ = visit_decoder_get_number(decoder, size, &number_, step); \
		(member) = (__typeof__(member))number_;                             \
		ret_;                                                               \
	})

/* Read a count of items that each take at least min bytes of input. */
int visit_decoder_get_count(struct decoder *decoder, size_t min, uint32_t *ret_count,
		const struct visit_step *step);
int visit_decoder_get_units(struct decoder *decoder, unsigned int unit, const void **ret_string,
		const struct visit_step *step);
int visit_decoder_get_raw_string(struct decoder *decoder, struct side_type_raw_string *string,
		const struct visit_step *step);

#endif /* SIDE_ABI_DECODE_H */
