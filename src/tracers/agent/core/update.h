/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_UPDATE_H
#define SIDE_TRACERS_AGENT_CORE_UPDATE_H

/*
 * Changes of the sessions of this process while it runs.
 *
 * Callers: control, and attach.c for `side attach`, each with the turn (control-state.h) and
 * without libside's event lock, which the functions take. agent_count_lost() and agent_on_change()
 * are called by programs that record events of elsewhere, with no lock.
 */
#include <stdbool.h>
#include <stdint.h>

#include "protocol/protocol.h"

struct agent_wanted;
struct side_event_description;

/*
 * A session that does not record this process until its generation changes, or whose share of this
 * user is used up. The agent asks the latter again at `due`.
 */
struct agent_declined {
	uint64_t generation;
	uint64_t due;     /* time of wire_deadline(); 0: never */
	uint64_t pause_s; /* the pause that ends then */
	char path[WIRE_SESSION_PATH_MAX + 1];
};

/* With libside's event lock. The control thread reads `nr_declined` without it. */
struct agent_update {
	uint32_t nr_declined;
	struct agent_declined declined[WIRE_WELCOME_MAX];
};

/*
 * Join the wanted sessions that are new, ask those whose generation is another one for their rules,
 * and leave sessions that are not wanted (except those that SIDE_AGENT_SOCKET named). A session
 * that refused is asked again when its generation has changed.
 *
 * With may_wait, returns when no thread is in a call of anything that was replaced. Without it (in
 * a signal handler; where the loader's lock may be held) waits for no lock and no reader: -EBUSY
 * when the lock is not free, -EAGAIN when only a state dump could not be requested, and *ret_grace
 * is for side_tracer_grace_passed().
 *
 * 0, or the first error. An error does not prevent the other changes.
 */
int agent_sessions_update(
		struct agent_wanted *wanted, uint32_t nr, bool may_wait, uint64_t *ret_grace);

/*
 * Must a session whose share was used up be asked again? The control thread calls it in its turn.
 */
bool agent_declined_due(void);

/*
 * Join one session (0, -EALREADY when the process is in it); leave one that was attached, or all of
 * them (NULL): -ENOENT when there is none. Both wait for readers.
 */
int agent_session_attach(const char *path);
int agent_session_detach(const char *path);

/*
 * Set the function that is called before each update that may wait (after = false) and after it,
 * for programs that record events of elsewhere and may have some of them left. The function is
 * called with no lock held, and stays set.
 */
void agent_on_change(void (*notify)(bool after));

/*
 * For the same programs: so many records of this event were lost on that CPU before they reached
 * this process. They are losses of each channel that records the event. Not `named`: the event only
 * selects those channels. Takes the event lock.
 */
void agent_count_lost(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count);

#endif
