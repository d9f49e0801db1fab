/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_ROWS_H
#define SIDE_PROBE_CODE_ROWS_H

/*
 * The unwinder's data (.eh_frame) of one function, read row by row: where its frame begins at each of its instructions, and
 * where the caller's frame pointer and the return address are. Allocates nothing and calls nothing of libc, for it is
 * read in programs that are probed, too. The data is not trusted: what does not fit is a row that is not known.
 *
 *	cursor.c    numbers and pointers in the data
 *	cie.c       what several functions have in common
 *	rows.c      the rows of a function
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_ENCODING_OMIT 0xff

/* A place in the data; `bad` once something did not fit. */
struct code_cursor {
	const uint8_t *bytes;
	size_t at, size;
	uint64_t address; /* of bytes[0] */
	bool bad;
};

/* Little-endian, at any place. */
uint64_t code_read(const uint8_t *bytes, unsigned int width);
uint64_t code_take(struct code_cursor *cursor, unsigned int width);
uint64_t code_take_leb(struct code_cursor *cursor, bool is_signed);
void code_pass(struct code_cursor *cursor, uint64_t size);
/* A pointer in the encoding that was said. */
uint64_t code_take_pointer(struct code_cursor *cursor, uint8_t encoding);

/* What the entries that refer to it have in common (a CIE). */
struct code_cie {
	uint8_t pointer, lsda; /* encodings */
	bool augmented;
	bool signal; /* where signal handlers return */
	bool ok;
	uint64_t code_factor;
	int64_t data_factor;
	size_t at;               /* behind its length */
	size_t rules, rules_end; /* of its initial row */
};

/* That which stands at `at`, behind its length, and is so long; `all` is the data. */
struct code_cie code_read_cie(const struct code_cursor *all, size_t at, size_t length);

/* One function's entry (an FDE). */
struct code_entry {
	struct code_cie cie;
	uint64_t address, size, landings; /* code; the table of landing pads, 0: none */
	size_t rules, rules_end;
};

/* That which stands at `at`, behind its length, is so long and has that CIE; false: it does not fit. */
bool code_read_entry(const struct code_cursor *all, size_t at, size_t length,
		const struct code_cie *cie, struct code_entry *entry);

enum code_saved {
	CODE_SAME,      /* nobody has changed it */
	CODE_AT_FRAME,  /* stands in memory, by the begin of the frame and an offset */
	CODE_AT_ITSELF, /* stands where the register points to */
	CODE_LOST,
};

/* Where a call's frame begins. */
enum code_begin {
	CODE_BEGIN_UNKNOWN,  /* by another expression, or something did not fit */
	CODE_BEGIN_PLAIN,    /* a register and an offset */
	CODE_BEGIN_INDIRECT, /* what stands there */
	CODE_BEGIN_SLOT, /* in a linkage table: there, and 8 behind it from byte `slot` of each 16 on */
};

struct code_row {
	enum code_begin begin;
	unsigned int reg; /* as the unwinder's data counts */
	int64_t offset;
	uint8_t slot;
	bool returns;                  /* the return address stands below the begin of the frame */
	bool last;                     /* there is no caller */
	enum code_saved frame_pointer; /* of the caller */
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
		struct code_rows *rows);
/* The row of that address; addresses only grow. */
const struct code_row *code_rows_at(struct code_rows *rows, uint64_t address);
/* Where the next row begins; false: this is the last one. */
bool code_rows_next(const struct code_rows *rows, uint64_t *address);

#endif /* SIDE_PROBE_CODE_ROWS_H */
