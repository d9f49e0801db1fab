/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_OWN_THREADS_H
#define SIDE_TRACERS_AGENT_CORE_OWN_THREADS_H

/*
 * Threads that run code of side: no probe records their calls.
 *
 * The functions take no lock. Never call agent_own_begin() and agent_own_end() in a sandbox: they
 * make system calls.
 */
#include <stdbool.h>
#include <stdint.h>

/* What agent_own_end() restores. */
struct agent_own {
	void *before;  /* the thread's state in probe/patch/ */
	uint64_t mask; /* of signals, if `blocks` */
	bool blocks;   /* signals are blocked meanwhile */
};

/*
 * Between these two, a thread of the program runs code of side. Its signals are blocked meanwhile.
 * Any context.
 */
void agent_own_begin(struct agent_own *own);
void agent_own_end(const struct agent_own *own);
/*
 * As agent_own_begin(), but blocks no signals: before main(), where the agent notes which ones the
 * program blocks.
 */
void agent_own_begin_start(struct agent_own *own);
/*
 * The address at which pthread_create() stores the id of the control thread. In the task that
 * creates it.
 */
unsigned long *agent_own_control(void);
/* The control thread calls this first. */
void agent_own_control_begins(void);
/*
 * A task of control-starter.c calls this when it starts; the effect lasts until the task ends. It
 * keeps the id of the control thread: if that thread has not begun yet, side recognizes its first
 * calls by the id alone.
 */
void agent_own_task_begins(void);

#endif
