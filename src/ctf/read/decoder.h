/* SPDX-License-Identifier: MIT */
/* The state of decoding an event, which the files that decode values share. */
#ifndef SIDE_CTF_READ_DECODER_H
#define SIDE_CTF_READ_DECODER_H

#include "ctf/ctf.h"

struct ctf_text_block;

/* Values from the header and the context of a packet. */
struct ctf_packet_fields {
	uint32_t seen; /* One bit per enum ctf_role. */
	uint64_t values[CTF_ROLE_EVENT_ID + 1];
	uint8_t uuid[16];
	uint8_t discarded_size; /* Size of the counter in bits, as the next one. */
	uint8_t sequence_size;
};

struct ctf_decoder {
	const uint8_t *base; /* An address in the packet. */
	/* Bits of the packet before base: alignment is relative to the packet. */
	uint64_t origin;
	uint64_t limit; /* Readable bytes from base. */
	uint64_t at;    /* Position in bits from base. */
	uint64_t end;   /* Bits from base, at most limit * 8. */
	/* The bit of the packet up to which a number has used a part of a byte. */
	uint64_t partial;
	bool partial_big_endian;
	bool beyond; /* Decoding failed because a field reaches beyond `end`. */
	uint64_t *slots;
	struct ctf_value *values;
	uint32_t count;
	uint32_t capacity;
	bool runs_clock; /* Integers that are mapped to a clock advance it. */
	uint64_t clock;
	uint64_t event_id;
	struct ctf_packet_fields *packet;
	struct ctf_text_block *texts; /* Texts of this event that were converted (decode-ctf2.c). */
	const char *why;              /* The error, as the end of a sentence. */
};

#endif /* SIDE_CTF_READ_DECODER_H */
