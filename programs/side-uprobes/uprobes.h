/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_UPROBES_UPROBES_H
#define PROGRAMS_SIDE_UPROBES_UPROBES_H

/*
 * side-uprobes: the program behind global probes (`side trace --global`, `side enable-event --global`). It has the kernel watch places of
 * files, and says each hit as a SIDE event of its own, with the time and the CPU of the hit. So a session records it like any
 * program: channels, rules, filters, chunks and losses are those of all events, and when nobody listens nothing is watched.
 *
 *	main.c    what it was asked for, and its life
 *	events.c  hits as events
 *	wanted.c  whether a session of the daemon still has the events
 *
 * programs/replay has what side-kernel does in the same way: the agent's functions, changes, clocks.
 */

#include "programs/replay/replay.h"
#include "probe/uprobe/global.h"

struct uprobes_events;

/* 0, or -errno and *error. */
int events_open(const struct global *global, struct uprobes_events **events, struct error *error);
void events_close(struct uprobes_events *events);
/* Is somebody listening? */
bool events_wanted(const struct uprobes_events *events);
/* One that says how the kernel watches: which also has a daemon come that has not yet. */
void events_hello(const struct uprobes_events *events, const char *method, const char *reason);
void events_lost(const struct uprobes_events *events, uint64_t lost);
/* The name of the first event. */
const char *events_name(const struct uprobes_events *events);
global_hit_fn events_hit; /* user: struct events */

/* Has the session an event of that name, or such a probe in that process (0: none)? False also if there is no such session, or no daemon. */
bool wanted_by_session(const char *session, bool system, const char *event, pid_t process);
/*
 * Only one recorder of an event (in a process, if it is one's) is in a session: another one is ended. False: it does not go. The lock stays until we end.
 */
bool wanted_take_turn(const char *session, bool system, const char *event, pid_t process);
/* Closes the lock. */
void wanted_end_turn(void);

#endif /* PROGRAMS_SIDE_UPROBES_UPROBES_H */
