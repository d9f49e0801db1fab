/* SPDX-License-Identifier: MIT */
/*
 * Calls of events in the code of a program: do the arguments that it puts together fit the event?
 *
 *	calls.c         which calls there are, and what is told of them
 *	calls-compare.c the arguments of one call against the description
 *	calls-flow.c    a function's code, followed along all its ways
 *	calls-step.c    what one instruction does (x86-64, read by Zydis)
 *	calls-memory.c  what is known of registers and of the stack, and of it on two ways that meet
 *
 * Compilers write the types of arguments as constants into an array on the stack, right before the
 * call. So a function is followed from its begin with what is known of its registers and its frame: bytes,
 * addresses within the frame, and the first argument of the function, which is the event where the
 * arguments are put together in a function of its own. What is not known stays unknown: a call is only
 * told to be wrong when the types, or their number, are constants that do not fit on any way to it.
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
	KNOWN_BYTES, /* those of the mask; an empty mask: nothing */
	KNOWN_STACK, /* an address: that of the frame plus number */
	KNOWN_ABOVE, /* an address of the frame, number or behind it */
	KNOWN_FIRST, /* the first argument of the function */
};

struct calls_value {
	enum known_value kind;
	uint8_t mask; /* one bit a byte */
	int64_t number;
};

#define CALLS_POINTERS 192

/* What is known at one place of a function. */
struct calls_state {
	struct calls_value registers[CALLS_REGISTERS];
	struct calls_value vectors[CALLS_REGISTERS][2];
	/* An address of the frame is somewhere where anybody may find it. */
	bool escaped;
	/* The way to it was not seen: where in the frame the stack pointer is, is a guess. */
	bool blind;
	/* Addresses in the frame: where they stand. */
	unsigned int nr_pointers;
	struct {
		int64_t at;
		struct calls_value value;
	} pointers[CALLS_POINTERS];
	/* The frame: from -below to above; bytes, and behind them which are known. */
	int64_t below, above;
	uint8_t bytes[];
};

/* ---- calls-memory.c ---- */

struct calls_value calls_constant(uint64_t number, unsigned int size);
bool calls_is_constant(const struct calls_value *value, unsigned int size);
extern const struct calls_value calls_unknown;

/* A state of which only the registers of the begin of a function are known. NULL: no memory. */
struct calls_state *calls_state_new(int64_t below, int64_t above);
size_t calls_state_size(const struct calls_state *state);
struct calls_value calls_load(const struct calls_state *state, int64_t at, unsigned int size);
void calls_store(
		struct calls_state *state, int64_t at, unsigned int size, struct calls_value value);
/* Nothing is known of the frame from `from` to `to` any more. */
void calls_forget(struct calls_state *state, int64_t from, int64_t to);
void calls_forget_all(struct calls_state *state);
/* Of `to`, leave what `other` says too. True: it is less than before. */
bool calls_meet(struct calls_state *to, const struct calls_state *other);
/* Leave the registers of the frame. True: something else was known. */
bool calls_leave_frame(struct calls_state *state);

/* ---- calls-step.c ---- */

enum calls_goes {
	GOES_ON,
	GOES_MAYBE, /* to `target`, or on */
	GOES_TO,    /* to `target` */
	GOES_CALL,  /* to `target`, and comes back */
	GOES_AWAY,  /* returns, or jumps to an unknown address */
	GOES_NOT,   /* no instruction */
};

struct calls_step {
	enum calls_goes goes;
	uint64_t target; /* 0: not known */
	uint64_t slot; /* where the address stands to which it goes; 0: it says the address itself */
	unsigned int length;
	int64_t frame; /* bytes that it takes of the stack */
};

/* @state: NULL: only where it goes. */
void calls_step(const uint8_t *bytes, size_t size, uint64_t address, struct calls_state *state,
		struct image *image, struct calls_step *step);
/* What a call leaves of the state. */
void calls_called(struct calls_state *state);
/* Bytes that nobody changes: at an address of the file. */
bool calls_read_constant(struct image *image, uint64_t address, void *to, size_t size);

/* ---- calls-flow.c ---- */

struct calls_flow_ops {
	/* A jump to, or a call of, another function, in its final state. */
	void (*leaves)(void *priv, uint64_t at, const struct calls_step *step,
			const struct calls_state *state);
	/* Something outside of the function jumps there. */
	bool (*entered)(void *priv, uint64_t address);
	void *priv;
	/* Steps that may be taken, of all functions; they become fewer. */
	size_t *budget;
};

/* 0, or -E2BIG, -ENOMEM: nothing was told. */
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
