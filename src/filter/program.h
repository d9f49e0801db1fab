/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a program; private to this module.
 *
 *   header   16  "SIDF", u8 version (1), u8 0, u16 instructions, u32 total size, u32 0
 *   code     16  each  u8 code, u8 flag, u16 yes, u16 no, u16 column, u64 value
 *   pool     the remainder: paths and texts, located by their offset in the pool
 *
 *   path     u8 root, u8 steps, then each step: u8 0, text  or  u8 1, u32 index
 *   text     u16 bytes, the bytes (none of them NUL), NUL
 *
 * Everything is little-endian and unaligned. Instructions work on a stack of values that is empty
 * at the beginning and at each jump target. Jumps only lead forwards, so a program takes at most as
 * many steps as it has instructions. Columns are positions in the text, for errors.
 */
#ifndef SIDE_FILTER_PROGRAM_H
#define SIDE_FILTER_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/filter.h"

#define PROGRAM_VERSION 1
#define PROGRAM_HEADER 16
#define PROGRAM_INSTRUCTION 16

enum filter_code {
	/* Push: flag, value. */
	FILTER_CODE_INT,    /* flag: 1 unsigned; value */
	FILTER_CODE_DOUBLE, /* the bits of a double */
	FILTER_CODE_TEXT,   /* flag: 1 glob; value: a text in the pool */
	FILTER_CODE_FIELD,  /* flag: enum filter_ask; value: a path in the pool */

	/* Pop one value, push one. NOT: 0 or 1. */
	FILTER_CODE_NEGATE,
	FILTER_CODE_INVERT,
	FILTER_CODE_NOT,

	/* Pop two values, push one. */
	FILTER_CODE_ADD,
	FILTER_CODE_SUBTRACT,
	FILTER_CODE_MULTIPLY,
	FILTER_CODE_DIVIDE,
	FILTER_CODE_REMAINDER,
	FILTER_CODE_BIT_AND,
	FILTER_CODE_BIT_OR,
	FILTER_CODE_BIT_XOR,
	FILTER_CODE_LEFT,
	FILTER_CODE_RIGHT,
	/* Comparisons push 0 or 1. Only the first two accept globs. */
	FILTER_CODE_EQUAL,
	FILTER_CODE_UNEQUAL,
	FILTER_CODE_LESS,
	FILTER_CODE_LESS_EQUAL,
	FILTER_CODE_GREATER,
	FILTER_CODE_GREATER_EQUAL,
	/* Both operands were computed; if one is unknown, the other may decide. */
	FILTER_CODE_AND,
	FILTER_CODE_OR,

	/* Pop one value: jump to yes if it is true (flag 1: false), to no otherwise. */
	FILTER_CODE_TEST,

	/* The end of the program. */
	FILTER_CODE_ACCEPT,
	FILTER_CODE_REJECT,
	FILTER_CODE_RETURN, /* pops the result */
	FILTER_NR_CODES,
};

struct filter_instruction {
	uint8_t code;
	uint8_t flag;
	uint16_t yes;
	uint16_t no;
	uint16_t column;
	uint64_t value;
};

/* A program whose header has been read. */
struct filter_program {
	const uint8_t *code;
	const uint8_t *pool;
	uint32_t nr;
	uint32_t pool_size;
};

struct filter_text {
	const char *bytes; /* with a NUL behind them */
	uint32_t size;
};

/* Reads a path step by step. */
struct filter_path_reader {
	const uint8_t *at;
	uint8_t root;
	uint8_t left;
};

/* The functions below require a program that filter_verify() has accepted. */
void filter_program_open(const void *bytes, struct filter_program *program);
struct filter_instruction filter_program_at(const struct filter_program *program, uint32_t index);
struct filter_text filter_program_text(const struct filter_program *program, uint64_t offset);
struct filter_path_reader filter_program_path(
		const struct filter_program *program, uint64_t offset);
/* Read the next step; its name has a NUL behind. False at the end. */
bool filter_path_next(struct filter_path_reader *path, struct filter_step *ret_step);

static inline uint32_t filter_get16(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8;
}

static inline uint32_t filter_get32(const uint8_t *at)
{
	return filter_get16(at) | filter_get16(at + 2) << 16;
}

static inline uint64_t filter_get64(const uint8_t *at)
{
	return filter_get32(at) | (uint64_t)filter_get32(at + 4) << 32;
}

/* How many values an instruction pops, and how many it pushes. */
static inline unsigned int filter_code_takes(unsigned int code)
{
	if (code <= FILTER_CODE_FIELD || code == FILTER_CODE_ACCEPT || code == FILTER_CODE_REJECT)
		return 0;
	if (code <= FILTER_CODE_NOT || code == FILTER_CODE_TEST || code == FILTER_CODE_RETURN)
		return 1;
	return 2;
}

static inline bool filter_code_ends(unsigned int code)
{
	return code >= FILTER_CODE_TEST;
}

static inline bool filter_code_compares(unsigned int code)
{
	return code >= FILTER_CODE_EQUAL && code <= FILTER_CODE_GREATER_EQUAL;
}

/* The comparison with its sides exchanged. */
static inline unsigned int filter_code_mirror(unsigned int code)
{
	switch (code) {
	case FILTER_CODE_LESS: return FILTER_CODE_GREATER;
	case FILTER_CODE_LESS_EQUAL: return FILTER_CODE_GREATER_EQUAL;
	case FILTER_CODE_GREATER: return FILTER_CODE_LESS;
	case FILTER_CODE_GREATER_EQUAL: return FILTER_CODE_LESS_EQUAL;
	default: return code;
	}
}

#endif /* SIDE_FILTER_PROGRAM_H */
