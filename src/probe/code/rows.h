/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_ROWS_H
#define SIDE_PROBE_CODE_ROWS_H

/*
 * Reads the unwind data (.eh_frame) of one function row by row: for each of its instructions, the
 * base of its frame, and the positions of the caller's frame pointer and of the return address.
 * Allocates nothing and calls no function of libc, because probed programs read it, too. The data
 * is not trusted: invalid data yields an unknown row.
 *
 *	cursor.c   numbers and pointers in the data
 *	cie.c	   the entries: what several functions have in common, and each function's own
 *	rows.c	   the rows of a function
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_ENCODING_OMIT 0xff

/* A position in the data. `bad` is set once data did not fit, and stays set. */
struct code_cursor {
	const uint8_t *bytes;
	size_t at, size;
	uint64_t address; /* of bytes[0] */
	bool bad;
};

/* Little-endian and unaligned. */
uint64_t code_read(const uint8_t *bytes, unsigned int width);
uint64_t code_take(struct code_cursor *cursor, unsigned int width);
uint64_t code_take_leb(struct code_cursor *cursor, bool is_signed);
void code_skip(struct code_cursor *cursor, uint64_t size);
/* Reads a pointer in the given encoding. */
uint64_t code_take_pointer(struct code_cursor *cursor, uint8_t encoding);

/* The data that several entries have in common (a CIE). */
struct code_cie {
	uint8_t pointer, lsda; /* encodings */
	bool augmented;
	bool signal; /* the code to which signal handlers return */
	bool ok;
	uint64_t code_factor;
	int64_t data_factor;
	size_t at;               /* after its length */
	size_t rules, rules_end; /* the range of the rules of its initial row */
};

/*
 * Reads the CIE at offset `at` (after its length field) with this length; `all` is the unwind data.
 * `ok` is false if it is invalid.
 */
struct code_cie code_read_cie(const struct code_cursor *all, size_t at, size_t length);

/* The entry of one function (an FDE). */
struct code_entry {
	struct code_cie cie;
	uint64_t address, size, landings; /* code; the table of exception handlers, 0: none */
	size_t rules, rules_end;
};

/*
 * Reads the FDE at offset `at` (after its length field) with this length and CIE. Returns false if
 * it is invalid.
 */
bool code_read_entry(const struct code_cursor *all, size_t at, size_t length,
		const struct code_cie *cie, struct code_entry *ret_entry);

enum code_saved {
	CODE_SAME,      /* the function has not changed it */
	CODE_AT_FRAME,  /* in memory at the frame's base plus an offset */
	CODE_AT_ITSELF, /* in memory at the address in the register */
	CODE_LOST,
};

/* How to compute the frame's base: the stack pointer of the caller. */
enum code_base {
	CODE_BASE_UNKNOWN,  /* another expression, or invalid data */
	CODE_BASE_PLAIN,    /* a register plus an offset */
	CODE_BASE_INDIRECT, /* the word in memory at a register plus an offset */
	/*
	 * in a linkage table: a register plus an offset, and 8 more from byte `slot` of each 16 on
	 */
	CODE_BASE_SLOT,
};

struct code_row {
	enum code_base base;
	unsigned int reg; /* DWARF number */
	int64_t offset;
	uint8_t slot;
	bool returns;                  /* the return address is directly below the frame's base */
	bool last;                     /* the outermost frame */
	enum code_saved frame_pointer; /* position of the caller's frame pointer */
	int64_t frame_pointer_at;
};

#define CODE_ROWS_KEPT 8

struct code_rows {
	struct code_cursor rules;
	uint64_t location, code_factor;
	int64_t data_factor;
	struct code_row row, initial, kept[CODE_ROWS_KEPT];
	unsigned int nr_kept;
};

void code_rows_begin(const struct code_cursor *all, const struct code_entry *entry,
		struct code_rows *ret_rows);
/* Returns the row of that address. Addresses of successive calls must not decrease. */
const struct code_row *code_rows_at(struct code_rows *rows, uint64_t address);
/* Sets the address of the next row. Returns false if this is the last one. */
bool code_rows_next(const struct code_rows *rows, uint64_t *ret_address);

#endif /* SIDE_PROBE_CODE_ROWS_H */
