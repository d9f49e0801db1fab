/* SPDX-License-Identifier: MIT */
/*
 * What the library reports while it reads a trace. The caller gives the functions; each may be
 * NULL.
 */
#ifndef SIDE_ANALYSIS_LISTENER_H
#define SIDE_ANALYSIS_LISTENER_H

#include <stdint.h>

enum analysis_message {
	/* a part of the trace cannot be read or written: the result is incomplete */
	ANALYSIS_ERROR,
	ANALYSIS_NOTE,
};

struct analysis_listener {
	/*
	 * One sentence without the name of a program. `hint` is what the user can do about it, or
	 * NULL. Any thread may call it.
	 */
	void (*report)(void *user, enum analysis_message kind, const char *hint, const char *text);
	/* Called every few thousand events with the number of events so far. */
	void (*progress)(void *user, uint64_t events);
	void *user;
};

#endif /* SIDE_ANALYSIS_LISTENER_H */
