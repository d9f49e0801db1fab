/* SPDX-License-Identifier: MIT */
/*
 * The thread that runs the state dumps in agent mode.
 *
 * There is at most one, as long as there are such states (in a forked child: from the first request
 * on). It blocks all signals and is called "side-statedump". Call all functions with the lock of
 * the state dump held; those that wait release it meanwhile.
 */
#ifndef SIDE_LIBSIDE_STATEDUMP_AGENT_H
#define SIDE_LIBSIDE_STATEDUMP_AGENT_H

#include <stdbool.h>
#include <stdint.h>

/* Start the thread unless it runs. False: the system cannot create a thread. */
bool agent_start(void);

bool agent_runs(void);
bool agent_is_me(void);

/*
 * Stop the thread and wait for its end, at most timeout_ms unless negative; not in the thread
 * itself.
 */
void agent_stop(int timeout_ms);

/*
 * How long the agent's thread has waited for the same lock, in milliseconds, as seen by the calls
 * with this struct. `since` is the beginning of the wait.
 */
#define AGENT_CALL_SIZE 256
struct agent_sleep {
	int64_t since;
	char call[AGENT_CALL_SIZE];
};
int64_t agent_waits_for_lock(struct agent_sleep *sleep);

/* Pause the thread between two dumps. Returns early if a dump takes very long. */
void agent_pause(void);
void agent_resume(void);

/* In a forked child: forget the thread, unless it is the one that forked. */
void agent_forget(void);

#endif /* SIDE_LIBSIDE_STATEDUMP_AGENT_H */
