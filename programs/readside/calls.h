/* SPDX-License-Identifier: MIT */
/*
 * Checks calls of events in the code of a program: whether the arguments match the event.
 *
 *       calls.c          finds the calls and reports the wrong ones
 *       calls-compare.c  compares the arguments of one call with the description
 *       calls-flow.c     follows the code of a function along all paths
 *       calls-step.c     applies one instruction (x86-64, decoded by Zydis)
 *       calls-memory.c   what is known of registers and stack, also where two paths merge
 *
 * Compilers write the types of arguments as constants into an array on the stack, immediately
 * before the call. A function is therefore followed from its start with what is known of its
 * registers and its frame: bytes, addresses within the frame, and the first argument of the
 * function, which is the event if a separate function builds the arguments. Everything else is
 * unknown. A call is reported only if the types, or their number, are constants that match on no
 * path to it.
 */
#ifndef PROGRAMS_READSIDE_CALLS_H
#define PROGRAMS_READSIDE_CALLS_H

#include "readside.h"

struct code_file;
struct code_function;

#define CALLS_REGISTERS 16
#define CALLS_RAX 0
#define CALLS_RSP 4
#define CALLS_RBP 5
#define CALLS_RSI 6
#define CALLS_RDI 7

enum known_value {
	KNOWN_BYTES, /* the bytes in the mask; an empty mask: unknown */
	KNOWN_STACK, /* an address: the frame's plus `number` */
	KNOWN_ABOVE, /* an address in the frame, at `number` or above */
	KNOWN_FIRST, /* the first argument of the function */
};

struct calls_value {
	enum known_value kind;
	uint8_t mask; /* one bit for each byte */
	int64_t number;
};

#define CALLS_POINTERS 192

/* What is known at one instruction of a function. */
struct calls_state {
	struct calls_value registers[CALLS_REGISTERS];
	struct calls_value vectors[CALLS_REGISTERS][2];
	/* An address of the frame was stored where other code may find it. */
	bool escaped;
	/* No path to it is known: the position of the stack pointer in the frame is a guess. */
	bool blind;
	/* The addresses that are stored in the frame, and where. */
	unsigned int nr_pointers;
	struct {
		int64_t at;
		struct calls_value value;
	} pointers[CALLS_POINTERS];
	/*
	 * The frame, from -below to above: its bytes, followed by a flag for each byte that is
	 * known.
	 */
	int64_t below, above;
	uint8_t bytes[];
};

/* ---- calls-memory.c ---- */

struct calls_value calls_constant(uint64_t number, unsigned int size);
bool calls_is_constant(const struct calls_value *value, unsigned int size);
extern const struct calls_value calls_unknown;

/* Returns the state at the start of a function, or NULL if out of memory. The caller frees it. */
struct calls_state *calls_state_new(int64_t below, int64_t above);
size_t calls_state_size(const struct calls_state *state);
struct calls_value calls_load(const struct calls_state *state, int64_t at, unsigned int size);
void calls_store(
		struct calls_state *state, int64_t at, unsigned int size, struct calls_value value);
/* Make the frame unknown between `from` and `to`. */
void calls_forget(struct calls_state *state, int64_t from, int64_t to);
void calls_forget_all(struct calls_state *state);
/* Keep in `to` what `other` confirms. Returns true if `to` now has less. */
bool calls_meet(struct calls_state *to, const struct calls_state *other);
/* Keep only the registers of the frame. Returns true if anything else was known. */
bool calls_leave_frame(struct calls_state *state);

/* ---- calls-step.c ---- */

enum calls_goes {
	GOES_ON,
	GOES_MAYBE, /* to `target` or to the next instruction */
	GOES_TO,    /* to `target` */
	GOES_CALL,  /* to `target`, and comes back */
	GOES_AWAY,  /* return, or jump to an unknown address */
	GOES_NOT,   /* not an instruction */
};

struct calls_step {
	enum calls_goes goes;
	uint64_t target; /* 0: unknown */
	uint64_t slot;   /* address of the slot with the target's address; 0: direct */
	unsigned int length;
	int64_t frame; /* bytes that the instruction takes from the stack */
};

/* Decode one instruction. `state` may be NULL: report only the control flow. */
void calls_step(const uint8_t *bytes, size_t size, uint64_t address, struct calls_state *state,
		struct image *image, struct calls_step *ret_step);
/* Remove from the state what a call may change. */
void calls_called(struct calls_state *state);
/* Read bytes that are never written, at an address of the file. Returns false if there are none. */
bool calls_read_constant(struct image *image, uint64_t address, void *to, size_t size);

/* ---- calls-flow.c ---- */

struct calls_flow_ops {
	/* Called for a jump to or a call of another function, with the final state. */
	void (*leaves)(void *priv, uint64_t at, const struct calls_step *step,
			const struct calls_state *state);
	/* Returns true if code outside of the function jumps to the address. */
	bool (*entered)(void *priv, uint64_t address);
	void *priv;
	/* The remaining steps, of all functions together; is decreased. */
	size_t *budget;
};

/* Returns 0, or -E2BIG or -ENOMEM, in which case nothing was reported. */
int calls_follow(struct image *image, uint64_t begin, const uint8_t *code, size_t size,
		const struct calls_flow_ops *ops);

/* ---- calls-compare.c ---- */

struct calls_problem {
	char field[256];
	char text[512];
};

enum calls_verdict { VERDICT_UNKNOWN, VERDICT_FITS, VERDICT_WRONG };

enum calls_verdict calls_compare(struct image *image, const struct calls_state *state,
		const struct calls_value *arguments,
		const struct side_event_description *description, struct calls_problem *problem);

#endif /* PROGRAMS_READSIDE_CALLS_H */
