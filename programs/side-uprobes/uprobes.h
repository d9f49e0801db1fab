/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_UPROBES_UPROBES_H
#define PROGRAMS_SIDE_UPROBES_UPROBES_H

/*
 * side-uprobes: the program that emits the hits of global probes (`side trace --global`, `side
 * enable-event --global`).
 *
 * It makes the kernel probe locations in files, and emits each hit as a SIDE event, with the time
 * and the CPU of the hit. Sessions therefore record hits like the events of any program: with
 * channels, rules, filters, chunks and losses. While no tracer listens, no probe is enabled.
 *
 *       main.c    options, main loop, end
 *       events.c  hits as SIDE events
 *       wanted.c  checks whether a session of the daemon still has the events
 *
 * programs/replay/ has the code that it shares with side-kernel: the agent's functions, changes,
 * clocks.
 */

#include "programs/replay/replay.h"
#include "probe/uprobe/global.h"

struct uprobes_events;

/* Create the events of the tables. Returns 0, or a negative errno with *error set. */
int events_open(const struct global *global, struct uprobes_events **ret_events,
		struct error *error);
void events_close(struct uprobes_events *events);
/* True if a tracer listens to an event. */
bool events_wanted(const struct uprobes_events *events);
/*
 * Emit an event about side-uprobes itself: the backend, and why. The first event also connects the
 * agent to a daemon.
 */
void events_hello(const struct uprobes_events *events, const char *method, const char *reason);
void events_lost(const struct uprobes_events *events, uint64_t lost);
/* Returns the name of the first event. */
const char *events_name(const struct uprobes_events *events);
global_hit_fn events_hit; /* user: struct uprobes_events */

/*
 * True if the session has a rule that matches the event, or, if `process` is not 0, a probe with
 * that event in the process. False also if there is no such session or no daemon.
 */
bool wanted_by_session(const char *session, bool system, const char *event, pid_t process);
/*
 * Become the only recorder of the event (in the process, if it is not 0): another side-uprobes with
 * it is ended. Returns false if it does not end. The lock is held until wanted_end_turn().
 */
bool wanted_take_turn(const char *session, bool system, const char *event, pid_t process);
/* Release the lock. */
void wanted_end_turn(void);

#endif /* PROGRAMS_SIDE_UPROBES_UPROBES_H */
