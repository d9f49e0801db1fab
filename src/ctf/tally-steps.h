/* SPDX-License-Identifier: MIT */
/* What a kind of event is to those who count its records: made by tally_learn.c, gone through by tally.c. */
#ifndef SIDE_CTF_TALLY_STEPS_H
#define SIDE_CTF_TALLY_STEPS_H

#include "ctf/tally.h"

/* ctf_tally_kind.known */
#define CTF_TALLY_STEPS 1u
#define CTF_TALLY_FLAT 2u /* nothing belongs to any of them */
#define CTF_TALLY_TEXT 3u /* a string, perhaps with bytes behind it, always the same number */
#define CTF_TALLY_BYTES 4u

enum ctf_tally_step_kind {
	CTF_STEP_BYTES,  /* nothing but what is `before` it; the last of its row */
	CTF_STEP_STRING, /* up to a NUL */
	CTF_STEP_RUN,    /* an integer, and so many times `count` bytes */
	/* Others belong to these: */
	CTF_STEP_ROWS,  /* an integer, and so many times what follows, up to `end` */
	CTF_STEP_ARRAY, /* `count` times what follows, up to `end` */
	CTF_STEP_VARIANT, /* a selector, and the `count` options from `first` on; their steps follow */
};

struct ctf_tally_step {
	uint8_t kind;
	uint8_t size; /* of the integer, in bytes; else 0 */
	bool is_signed, swapped;
	uint32_t before; /* bytes, always the same */
	uint32_t count;
	uint32_t first;
	uint32_t end; /* behind the step and what belongs to it */
};

/* A range of a selector (signed ones flipped: see ctf_tally_flip()), and the steps that it selects. */
struct ctf_tally_option {
	uint64_t begin, last;
	uint32_t first, end;
};

/* Orders signed numbers as the unsigned ones that they become. */
static inline uint64_t ctf_tally_flip(bool is_signed)
{
	return is_signed ? UINT64_C(1) << 63 : 0;
}

#endif /* SIDE_CTF_TALLY_STEPS_H */
