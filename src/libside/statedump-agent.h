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
bool statedump_thread_start(void);

bool statedump_thread_runs(void);
bool statedump_thread_is_me(void);

/*
 * Stop the thread and wait for its end, at most timeout_ms unless negative; not in the thread
 * itself.
 */
void statedump_thread_stop(int timeout_ms);

/*
 * How long the agent's thread has waited for the same lock, in milliseconds, as seen by the calls
 * with this struct. `since` is the beginning of the wait.
 */
#define STATEDUMP_CALL_SIZE 256
struct statedump_thread_sleep {
	int64_t since;
	char call[STATEDUMP_CALL_SIZE];
};
int64_t statedump_thread_lock_wait_ms(struct statedump_thread_sleep *sleep);

/* Pause the thread between two dumps. Returns early if a dump takes very long. */
void statedump_thread_pause(void);
void statedump_thread_resume(void);

/* In a forked child: forget the thread, unless it is the one that forked. */
void statedump_thread_forget(void);

#endif /* SIDE_LIBSIDE_STATEDUMP_AGENT_H */
