/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_WRAPPER_STATE_H
#define SIDE_PROTOCOL_WRAPPER_STATE_H

/*
 * The state of each wrapper library in a process that has joined sessions of the daemon. The agent
 * keeps it in a variable of this name, and `side` reads it: 8 bits for each wrapper, libc first.
 */
#define WRAPPER_STATE_SYMBOL "side_agent_wrappers"
#define WRAPPER_STATE_BITS 8

enum wrapper_state {
	WRAPPER_STATE_NONE = 0,      /* no rule of a session wants it */
	WRAPPER_STATE_ACTIVE = 1,    /* the program calls it */
	WRAPPER_STATE_PRELOADED = 2, /* the same, from the start of the program on */
	WRAPPER_STATE_NO_FILE = 3,   /* the agent was loaded from memory, so nothing is beside it */
	WRAPPER_STATE_CHANGED = 4, /* the path of the agent leads to another file now, or to none */
	WRAPPER_STATE_LOADER = 5,  /* the loader refuses the library */
	WRAPPER_STATE_FORKED = 6,  /* in a forked child, which must not call the loader */
	WRAPPER_STATE_REFUSED = 7, /* the library is of another release */
	WRAPPER_STATE_NR
};

#endif /* SIDE_PROTOCOL_WRAPPER_STATE_H */
