/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_UNWIND_UNWIND_H
#define SIDE_PROBE_UNWIND_UNWIND_H

/*
 * Unwinds the stack of the own thread at an address, whether its code keeps frame pointers or not.
 *
 *	build.c    converts unwind data (.eh_frame) to rows of eight bytes, before any hit
 *	walk.c     finds the caller of each frame by these rows, else by frame pointers, in a hit
 *	returns.c  decides whether a word that a frame pointer leads to is a return address
 *
 * A walk allocates nothing, waits for nothing, calls no function of libc and uses general registers
 * only. To read memory that may be unmapped, it calls a function of the caller, which can fail. The
 * walk ends at the first invalid frame.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How to find the frame's base (the stack pointer of its caller). */
enum unwind_kind {
	UNWIND_UNKNOWN, /* there is no data, or rows cannot express it */
	UNWIND_STACK,   /* stack pointer + distance */
	UNWIND_FRAME,   /* frame pointer + distance */
	UNWIND_SAVED,   /* the word at frame pointer + distance */
	/* stack pointer + 8, and 8 more after byte `distance` of each 16 bytes of code */
	UNWIND_SLOT,
	UNWIND_SIGNAL, /* the context that a signal interrupted, where the kernel saved it */
	UNWIND_LAST,   /* the outermost frame */
};

#define UNWIND_FRAME_SAME 0     /* the caller's frame pointer is in its register */
#define UNWIND_FRAME_ITSELF 254 /* it is at the address in the register */
#define UNWIND_FRAME_LOST 255

/* The rule for the code from here to the next row. */
struct unwind_row {
	uint32_t at;      /* offset from the module's lowest address */
	int16_t distance; /* in words of 8 bytes; for UNWIND_SLOT, in bytes */
	uint8_t kind;     /* enum unwind_kind */
	uint8_t frame;    /* the caller's frame pointer is so many words below the frame's base */
};

_Static_assert(sizeof(struct unwind_row) == 8, "libraries have hundreds of thousands");

/*
 * A copy of the mapped bytes of a module. It includes the unwind data, from its header
 * (.eh_frame_hdr) on.
 */
struct unwind_image {
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* runtime address of bytes[0] */
	uint64_t header;  /* runtime address of .eh_frame_hdr */
	uint64_t lowest;  /* runtime address of the module's first byte */
};

/*
 * Writes the rows in the order of addresses, at most `capacity`. Returns how many there are;
 * image->size is always enough for them.
 */
size_t unwind_build(const struct unwind_image *image, struct unwind_row *ret_rows, size_t capacity);

struct unwind_module {
	uint64_t start, end;           /* runtime addresses */
	uint64_t code_start, code_end; /* its code is in this range; 0: the range is unknown */
	const struct unwind_row *rows;
	size_t nr_rows;
};

#define UNWIND_KNOWN 4096
#define UNWIND_RETURNS 256

/* The modules in the order of their addresses. */
struct unwind_modules {
	const struct unwind_module *modules;
	size_t nr;
	/*
	 * UNWIND_KNOWN words, 0 at first: a cache of rows that were found. Walks of any thread
	 * write whole words. NULL: no cache. The cache belongs to these modules: other modules need
	 * another one.
	 */
	uint64_t *known;
	/* UNWIND_RETURNS words, in the same way: return addresses that were checked. */
	uint64_t *returns;
};

/* Reads 8 bytes of memory. Returns false if they are not readable. */
typedef bool (*unwind_read)(void *user, uint64_t address, uint64_t *ret_value);

/*
 * A step from a frame to its caller. The same frame has the same caller while its return address
 * does not change. Most steps do not depend on the frame pointer, which often changes.
 */
struct unwind_step {
	uint64_t pc, stack, frame;    /* the frame; pc is a return address */
	uint64_t next_pc, next_stack; /* its caller; the return address is at next_stack - 8 */
	uint64_t slot;                /* where the caller's frame pointer is */
	uint32_t next;                /* the index of the caller in the table */
	int8_t depends;               /* -1: the frame pointer must be the same, 0: it may differ */
	int8_t keep; /* if slot is 0: -1: the frame pointer remains, 0: it is lost */
} __attribute__((aligned(64)));

#define UNWIND_STEPS_FRAMES 128
#define UNWIND_STEPS_CALLS 4

/*
 * Steps of earlier walks, by the frame's stack pointer and the return address; 0 at first. One walk
 * at a time uses them. Walks with other modules need other steps.
 */
struct unwind_steps {
	struct unwind_step steps[UNWIND_STEPS_CALLS * UNWIND_STEPS_FRAMES];
};

struct unwind_memory {
	uint64_t low, high; /* memory in this range is readable */
	uint64_t stack_end; /* the stack that `low` is in ends here; 0: the end is unknown */
	unwind_read read;   /* for all other memory */
	/* For the check of addresses that frame pointers lead to; NULL: there is no check. */
	unwind_read read_code;
	void *user;
	struct unwind_steps *steps; /* NULL: none */
};

/* Returns NULL if no module contains the address. */
const struct unwind_module *unwind_find_module(
		const struct unwind_modules *modules, uint64_t address);

/* Whether a call may return to this address. memory->read_code must not be NULL. */
bool unwind_is_return_address(const struct unwind_modules *modules,
		const struct unwind_memory *memory, uint64_t address);

/* Returns the original return address if a probe has replaced it, else the address itself. */
typedef uint64_t (*unwind_translate)(uint64_t address);

struct unwind_state {
	uint64_t pc, stack, frame;
	bool exact; /* the next instruction is at pc; false: pc is a return address, after a call */
};

/*
 * Writes the return addresses, from the caller of the current function on, at most `max`. Returns
 * how many it wrote.
 */
uint32_t unwind_walk(const struct unwind_modules *modules, const struct unwind_state *state,
		const struct unwind_memory *memory, unwind_translate translate,
		uint64_t *ret_addresses, uint32_t max);

/* The state of a walk at its current frame. */
struct unwind_walk_state {
	const struct unwind_modules *modules;
	const struct unwind_memory *memory;
	unwind_translate translate;
	struct unwind_state state;
};

/* The same for a state in memory of the caller, because a program's stack may be small. */
uint32_t unwind_walk_in(struct unwind_walk_state *walk, uint64_t *ret_addresses, uint32_t max);

/* Code whose frames a walk leaves out, as long as it has found no others. */
struct unwind_range {
	uint64_t start, end; /* runtime addresses */
};

/* The frames that a walk passes before its first result. */
struct unwind_passed {
	uint64_t until; /* the return address that ends them */
	const struct unwind_range *hidden;
	size_t nr_hidden; /* from `until` on, frames in these ranges are passed, too */
};

#define UNWIND_PASSED_MAX 64 /* frames */

/*
 * The same for a state within a tracer: the first result is passed->until, or the first frame after
 * it that is not hidden. Returns 0 if UNWIND_PASSED_MAX frames do not lead to `until`.
 */
uint32_t unwind_walk_past(const struct unwind_modules *modules, const struct unwind_state *state,
		const struct unwind_memory *memory, unwind_translate translate,
		const struct unwind_passed *passed, uint64_t *ret_addresses, uint32_t max);

#endif /* SIDE_PROBE_UNWIND_UNWIND_H */
