/* SPDX-License-Identifier: MIT */
/* The steps that describe an event class to count its records: tally-learn.c makes them, tally.c
   executes them. */
#ifndef SIDE_CTF_TALLY_STEPS_H
#define SIDE_CTF_TALLY_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/* values of ctf_tally_class.known */
#define CTF_TALLY_STEPS 1u
#define CTF_TALLY_FLAT 2u /* no step contains other steps */
#define CTF_TALLY_TEXT 3u /* a string, and then a constant number of bytes (or none) */
#define CTF_TALLY_BYTES 4u

enum ctf_tally_step_kind {
	/* no variable part, only the bytes in `before`; the last of its sequence */
	CTF_STEP_BYTES,
	CTF_STEP_STRING, /* up to a NUL */
	CTF_STEP_RUN,    /* an integer, and then that number of elements of `count` bytes */
	/* These contain other steps: */
	/* an integer, and then that number of repetitions of the steps up to `end` */
	CTF_STEP_ROWS,
	CTF_STEP_ARRAY, /* `count` repetitions of the steps up to `end` */
	/* a selector, and the `count` options from `first` on; their steps follow */
	CTF_STEP_VARIANT,
};

struct ctf_tally_step {
	uint8_t kind;
	uint8_t size; /* of the integer, in bytes; else 0 */
	bool is_signed, swapped;
	uint32_t before; /* constant number of bytes before it */
	uint32_t count;
	uint32_t first;
	uint32_t end; /* index behind the step and the steps that it contains */
};

/* A range of a selector (signed bounds are flipped: see ctf_tally_flip()), and the steps that it
   selects. */
struct ctf_tally_option {
	uint64_t begin, last;
	uint32_t first, end;
};

/* The bit to flip so that signed numbers are in order as unsigned ones. */
static inline uint64_t ctf_tally_flip(bool is_signed)
{
	return is_signed ? UINT64_C(1) << 63 : 0;
}

#endif /* SIDE_CTF_TALLY_STEPS_H */
