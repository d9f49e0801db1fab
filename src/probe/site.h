/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SITE_H
#define SIDE_PROBE_SITE_H

/*
 * A site: one place of a program where a probe may be put, as found in its file by probe/code and used inside the
 * process by probe/patch, which decodes nothing. Plain data; nothing here names an architecture.
 *
 * Addresses are the file's own (as nm and objdump have them), except `runtime`. What is added to one to get the
 * other is the same for all of a file.
 */

#include <stdbool.h>
#include <stdint.h>

enum probe_method {
	PROBE_NONE,    /* cannot be probed; `reason` says why */
	PROBE_JUMP,    /* a jump over whole instructions */
	PROBE_PADDING, /* a jump whose last bytes are in padding that nobody executes */
	PROBE_SHORT,   /* a short jump to a pad nearby, which has the jump */
	PROBE_PUNNED, /* a jump whose last bytes are those of the next instructions, so its target is constrained */
	PROBE_BREAKPOINT, /* a breakpoint, handled in the process */
	PROBE_KERNEL,     /* only the kernel can watch it (a uprobe); `reason` says why */
};
#define PROBE_METHODS 7

enum probe_piece_kind {
	PROBE_COPIED,    /* means the same anywhere */
	PROBE_RELATIVE,  /* refers to `target` by a 32-bit distance, which stands at `field` */
	PROBE_BRANCH,    /* goes to `target` */
	PROBE_BRANCH_IF, /* the same on a condition */
	PROBE_COUNTER,   /* the same on a counter, and cannot reach far */
	PROBE_CALL,      /* calls `target` */
	PROBE_CALL_INDIRECT, /* calls what a register or memory says, by `target` and `field` if that is relative */
};

/* One displaced instruction. */
struct probe_piece {
	uint8_t at; /* bytes behind the begin of the site */
	uint8_t length;
	uint8_t kind;
	uint8_t field; /* bytes behind the begin of the instruction; 0: nothing relative */
	uint8_t detail; /* for who writes the copy: the condition, or where the kind of call stands */
	uint64_t target;
};

#define PROBE_PIECES_MAX 5
#define PROBE_BYTES_MAX 20 /* four of one byte and a longest one */
#define PROBE_JUMP_BYTES 5

struct probe_site {
	uint64_t address;
	uint64_t offset;  /* in the file */
	uint64_t runtime; /* in the process; 0: not in one */
	enum probe_method method;
	const char *reason; /* why it is no jump: a sentence without its full stop; NULL: it is one. Stays for good. */
	const char *no_exit; /* why a return from it cannot be seen, as a sentence; NULL: it can. Stays for good. */
	uint8_t displaced; /* bytes of instructions that are to be executed elsewhere */
	uint8_t patched;   /* bytes that are written at the site */
	bool ends;         /* the last displaced instruction never goes on behind itself */
	bool begins;       /* the begin of a function: the direction flag is clear there */
	uint8_t nr_pieces;
	/* Piece 0 is at the site; all others begin inside it, where a thread may just be. */
	struct probe_piece pieces[PROBE_PIECES_MAX];
	uint8_t nr_bytes;
	uint8_t bytes[PROBE_BYTES_MAX]; /* what stands there, at least `patched` and PROBE_JUMP_BYTES if so many are */
	uint64_t springboard; /* PROBE_SHORT: where its jump is to stand */
	uint8_t springboard_bytes[PROBE_JUMP_BYTES];
};

#endif /* SIDE_PROBE_SITE_H */
