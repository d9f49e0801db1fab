/* SPDX-License-Identifier: MIT */
/*
 * The thread that runs the dumps of states in agent mode.
 *
 * There is at most one, as long as there are such states (in a forked child: from the first request
 * on).  It blocks all signals and is called "side-statedump".  All functions with the lock of the
 * state dump held, which those that wait give away meanwhile.
 */
#ifndef SIDE_LIBSIDE_STATEDUMP_AGENT_H
#define SIDE_LIBSIDE_STATEDUMP_AGENT_H

#include <stdbool.h>
#include <stdint.h>

/* Start it unless it runs.  False: the system gives no thread. */
bool agent_start(void);

bool agent_runs(void);
bool agent_is_me(void);

/* Stop it and wait for its end, at most timeout_ms unless negative; not when called by itself. */
void agent_stop(int timeout_ms);

/*
 * How long the agent's thread has waited for the same lock, in milliseconds, as far as the calls with this structure saw. `since` is
 * the time of the beginning.
 */
#define AGENT_CALL_SIZE 256
struct agent_sleep {
	int64_t since;
	char call[AGENT_CALL_SIZE];
};
int64_t agent_waits_for_lock(struct agent_sleep *sleep);

/* Between two dumps, keep it from the next one.  Gives up on a dump that takes very long. */
void agent_pause(void);
void agent_resume(void);

/* In the forked child: there is none, unless it is the thread that forked. */
void agent_forget(void);

#endif /* SIDE_LIBSIDE_STATEDUMP_AGENT_H */
