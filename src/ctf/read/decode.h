/* SPDX-License-Identifier: MIT */
/* From bits to values. */
#ifndef SIDE_CTF_READ_DECODE_H
#define SIDE_CTF_READ_DECODE_H

#include "ctf/ctf.h"

/* What the header and the context of a packet say. */
struct ctf_packet_fields {
	uint32_t seen; /* Bit per enum ctf_role. */
	uint64_t values[CTF_ROLE_EVENT_ID + 1];
	uint8_t uuid[16];
	uint8_t discarded_size; /* Bits of the counter, and of the next. */
	uint8_t sequence_size;
};

struct ctf_decoder {
	const uint8_t *base; /* Somewhere in the packet. */
	uint64_t origin;     /* Bits of the packet before it: alignment counts from the packet. */
	uint64_t limit;      /* Readable bytes from base. */
	uint64_t at;         /* Bits from base. */
	uint64_t end;        /* Bits from base, at most limit * 8. */
	uint64_t partial; /* The bit of the packet up to which a number has taken a part of a byte. */
	bool partial_big_endian;
	bool beyond; /* Decoding failed because a field reaches beyond `end`. */
	uint64_t *slots;
	struct ctf_value *values;
	uint32_t count;
	uint32_t capacity;
	bool runs_clock; /* Integers that are mapped to a clock move it. */
	uint64_t clock;
	uint64_t event_id;
	struct ctf_packet_fields *packet;
	struct ctf_text_block *texts; /* Of this event: what had to be converted (decode2.c). */
	const char *why;              /* What is wrong, as the end of a sentence. */
};

/*
 * Decode one scope; *index is where its value stands. Returns 0, -EINVAL (why is set) or -ENOMEM.
 */
int ctf_decode(struct ctf_decoder *decoder, const struct ctf_type *type, uint32_t *index);

/* One integer of the type at a bit; the caller has checked that it is there. */
uint64_t ctf_read_integer(
		const uint8_t *base, uint64_t limit, uint64_t at, const struct ctf_type *type);

/* Bits from one element of a packed array to the next. */
static inline uint64_t ctf_packed_stride(const struct ctf_type *element)
{
	return (element->size + (uint64_t)element->align - 1) & ~((uint64_t)element->align - 1);
}

/* Put the number that was read into the value as its type has it. */
void ctf_value_set(struct ctf_value *value, const struct ctf_type *type, uint64_t number);

#endif /* SIDE_CTF_READ_DECODE_H */
