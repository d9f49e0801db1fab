/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_UNWIND_UNWIND_H
#define SIDE_PROBE_UNWIND_UNWIND_H

/*
 * The calls that led to a place, inside the process itself, whether its code keeps frame pointers or not.
 *
 *	build.c    the unwinder's data (.eh_frame) of a module becomes rows of eight bytes: before any hit
 *	walk.c     from frame to frame by these rows, else by frame pointers: in a hit
 *
 * A walk allocates nothing, waits for nothing, calls nothing of libc and uses general registers only; memory that is not known to
 * be there is read by whoever gives it the function for that, and may be missing. It ends at the first frame that makes no sense.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the begin of the frame (the stack pointer of its caller) is found. */
enum unwind_kind {
	UNWIND_UNKNOWN, /* there is no data, or it says what rows cannot */
	UNWIND_STACK,   /* stack pointer + distance */
	UNWIND_FRAME,   /* frame pointer + distance */
	UNWIND_SAVED,   /* what stands at frame pointer + distance */
	UNWIND_SLOT, /* stack pointer + 8, and 8 more behind byte `distance` of each 16 bytes of code */
	UNWIND_SIGNAL, /* what a signal has interrupted, as the kernel has put it there */
	UNWIND_LAST,   /* nobody has called it */
};

#define UNWIND_FRAME_SAME 0     /* the caller's frame pointer is in its register */
#define UNWIND_FRAME_ITSELF 254 /* it stands where the register points to */
#define UNWIND_FRAME_LOST 255

/* Of the code from here to the next row. */
struct unwind_row {
	uint32_t at;      /* from the module's lowest address */
	int16_t distance; /* in words of 8 bytes, but of a slot */
	uint8_t kind;     /* enum unwind_kind */
	uint8_t frame; /* the caller's frame pointer stands so many words below the begin of the frame */
};

_Static_assert(sizeof(struct unwind_row) == 8, "libraries have hundreds of thousands");

/* What is mapped of a module, as a copy; the unwinder's data is in it, from its header (.eh_frame_hdr) on. */
struct unwind_image {
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* of bytes[0], as the process has it */
	uint64_t header;  /* likewise */
	uint64_t lowest;  /* of the module */
};

/* In the order of addresses. How many rows there are: of these `capacity` have been written, which `size` is always enough for. */
size_t unwind_build(const struct unwind_image *image, struct unwind_row *rows, size_t capacity);

struct unwind_module {
	uint64_t start, end; /* addresses here */
	const struct unwind_row *rows;
	size_t nr_rows;
};

#define UNWIND_KNOWN 4096

/* In the order of their addresses. */
struct unwind_modules {
	const struct unwind_module *modules;
	size_t nr;
	/*
	 * UNWIND_KNOWN words, 0 at first, for rows that were found: walks of any thread write them, each word whole. NULL: none.
	 * They are of these modules, so others must have others.
	 */
	uint64_t *known;
};

/* What stands in 8 bytes of memory, if there is any. */
typedef bool (*unwind_read)(void *user, uint64_t address, uint64_t *value);

struct unwind_memory {
	uint64_t low, high; /* what is between is there */
	unwind_read read;   /* of all else */
	void *user;
};

/* What a return address stands for. */
typedef uint64_t (*unwind_translate)(uint64_t address);

struct unwind_state {
	uint64_t pc, stack, frame;
	bool exact; /* the program counter is where it goes on; else a return address, which is behind a call */
};

/* Writes return addresses, from the one of the place itself on, and says how many. */
uint32_t unwind_walk(const struct unwind_modules *modules, const struct unwind_state *state,
		const struct unwind_memory *memory, unwind_translate translate, uint64_t *to,
		uint32_t most);

#endif /* SIDE_PROBE_UNWIND_UNWIND_H */
