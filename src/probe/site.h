/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SITE_H
#define SIDE_PROBE_SITE_H

/*
 * Describes a site: one location of a program where a probe may be set.
 *
 * probe/code finds it in the file; probe/patch uses it inside the process and decodes nothing. It
 * is plain data and names no architecture.
 *
 * All addresses are those of the file (as nm and objdump print them), except `runtime`. The
 * difference between the two is the same for all sites of a file.
 */

#include <stdbool.h>
#include <stdint.h>

enum probe_method {
	PROBE_NONE,    /* cannot be probed; `reason` is set */
	PROBE_JUMP,    /* a jump over whole instructions */
	PROBE_PADDING, /* a jump whose last bytes are in padding that no thread executes */
	PROBE_SHORT,   /* a short jump to a springboard nearby, which holds the long jump */
	/*
	 * a jump whose last bytes are those of the next instructions, which constrains its target
	 */
	PROBE_PUNNED,
	PROBE_BREAKPOINT, /* a breakpoint that the process itself handles */
	PROBE_KERNEL,     /* only the kernel can watch it (a uprobe); `reason` is set */
};
#define PROBE_METHODS 7

enum probe_piece_kind {
	PROBE_COPIED,    /* has the same effect at any address */
	PROBE_RELATIVE,  /* refers to `target` by a 32-bit distance at byte `field` */
	PROBE_BRANCH,    /* jumps to `target` */
	PROBE_BRANCH_IF, /* jumps to `target` on a condition */
	PROBE_COUNTER,   /* jumps to `target` on a counter; reaches only nearby targets */
	PROBE_CALL,      /* calls `target` */
	/*
	 * calls an address from a register or memory; `target` and `field` are set if that is
	 * relative
	 */
	PROBE_CALL_INDIRECT,
};

/* One displaced instruction. */
struct probe_piece {
	uint8_t at; /* bytes from the start of the site */
	uint8_t length;
	uint8_t kind;
	uint8_t field; /* bytes from the start of the instruction; 0: nothing relative */
	/*
	 * for the code that writes the copy: the condition, or the position of the call's ModRM
	 * byte
	 */
	uint8_t detail;
	uint64_t target;
};

#define PROBE_PIECES_MAX 5
#define PROBE_BYTES_MAX 20 /* four instructions of one byte and one of the greatest length */
#define PROBE_JUMP_BYTES 5

struct probe_site {
	uint64_t address;
	uint64_t offset;  /* in the file */
	uint64_t runtime; /* in the process; 0: not in a process */
	enum probe_method method;
	/*
	 * Why the method is not a jump: a static sentence without its full stop. NULL: it is a
	 * jump.
	 */
	const char *reason;
	/* Why a return from it cannot be seen: a static sentence. NULL: it can be seen. */
	const char *no_exit;
	uint8_t displaced; /* bytes of instructions that the trampoline executes */
	uint8_t patched;   /* bytes that are written at the site */
	bool ends;         /* control never continues after the last displaced instruction */
	bool begins;       /* the start of a function, where the direction flag is clear */
	uint8_t nr_pieces;
	/* Piece 0 is at the site. All others begin inside it, where a thread may be executing. */
	struct probe_piece pieces[PROBE_PIECES_MAX];
	uint8_t nr_bytes;
	/*
	 * The bytes of the file at the site: at least `patched`, and PROBE_JUMP_BYTES if the file
	 * has so many.
	 */
	uint8_t bytes[PROBE_BYTES_MAX];
	uint64_t springboard; /* PROBE_SHORT: the address of its long jump */
	uint8_t springboard_bytes[PROBE_JUMP_BYTES];
};

#endif /* SIDE_PROBE_SITE_H */
