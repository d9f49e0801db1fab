/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_PROBES_PART_H
#define SIDE_TRACERS_AGENT_CORE_PROBES_PART_H

/*
 * What core requires of the part that sets probes: agent/probes/ implements it, or does nothing on
 * other machines (none.c).
 *
 * An exchange brings tables of probes (begin, receive, received). The update of the session applies
 * them: agent_probes_update() makes or removes their events, and agent_probes_apply(), which waits
 * for hits, sets and removes the probes, and reports the results. Where nothing may be waited for
 * (a signal handler), both leave that for later, and agent_probes_due() returns true. All functions
 * need libside's event lock unless they state otherwise.
 */
#include <stdbool.h>
#include <stdint.h>

struct agent_channel;
struct agent_session;
struct context_origin;
struct side_event_description;

extern const bool agent_has_probes;

/* ---- tables ---- */

/* The messages of an exchange name tables. The part takes ownership of the descriptor. */
void agent_probes_begin(void);
int agent_probes_receive(uint64_t number, uint64_t size, int fd);
void agent_probes_received(void);
void agent_probes_update(struct agent_session *session, bool may_wait);
/*
 * In a forked child, which keeps the tables of its parent: if the session has sent other ones, ask
 * it for them later.
 */
void agent_probes_note_missing(struct agent_session *session);
void agent_probes_leave(struct agent_session *session);
/* agent_probes_apply() reports all libraries to the session again that it has no table for. */
void agent_probes_forget_loaded(struct agent_session *session);
void agent_probes_apply(void);
void agent_probes_answer(void);
/*
 * Before events of this session are recorded: if some have the context `backtrace`, read how to
 * unwind the modules. Waits for nothing. agent_probes_apply() follows changes of the modules.
 */
void agent_probes_prepare_backtraces(const struct agent_session *session);
/* Any context: does anything remain to be done? */
bool agent_probes_due(void);

/* ---- the process ---- */

/*
 * Without the event lock. From now on, a thread that loads or unloads a library calls `changed`,
 * without the event lock, at a time when the loader's list is consistent. NULL: none does.
 */
void agent_probes_watch_libraries(void (*changed)(void));
/* Call `notify` likewise, but only while something else needs the loader's notification. */
void agent_probes_on_libraries(void (*notify)(void));
/* Without the event lock, where the loader may be asked: note which modules are loaded. */
void agent_probes_rescan(void);
/* Where the loader may be asked: libside's variables count as kept memory. */
void agent_probes_count_libside(void);
/*
 * Without the event lock, from time to time: check what the program has done to the signals of
 * probes.
 */
void agent_probes_check(void);
/* Write hits that are lost, but not counted in a ring yet, to the rings. */
void agent_probes_count(void);
/* In a forked child, which has one thread. */
void agent_probes_forked(void);
/* In a forked child: do not walk the loaded objects any more. */
void agent_probes_stop_scans(void);

/* ---- events ---- */

/* Is it an event of a session's table? */
bool agent_probes_has(const struct side_event_description *event);
/* May this session record the event? */
bool agent_probes_is_for(
		const struct agent_session *session, const struct side_event_description *event);
/*
 * The event at the other end of a probe's calls; NULL: there is none. `leaves`: `event` is at the
 * exit.
 */
const struct side_event_description *agent_probes_other(const struct agent_session *session,
		const struct side_event_description *event, bool leaves);

/* ---- in callbacks of such events, without a lock ---- */

/* AGENT_PROBES_BUFFER bytes that are the thread's until the event is over; NULL: there are none. */
#define AGENT_PROBES_BUFFER 512
char *agent_probes_buffer(void);
/*
 * Where the backtrace of this hit begins; all members but `before` are set. False: it is not known.
 */
bool agent_probes_origin(struct context_origin *ret_origin);
/* The same memory for the values of a filter, which is done before the record begins. */
void *agent_probes_filter_memory(void);
/*
 * At the begin of a call: a filter selects the call. If there is nothing to keep that in, because
 * too many probes are at the location, the return counts as lost.
 */
void agent_probes_mark_call(const struct agent_channel *channel);
/* At the end of a call: has a filter of that channel selected it? */
bool agent_probes_is_marked(const struct agent_channel *channel);

#endif
