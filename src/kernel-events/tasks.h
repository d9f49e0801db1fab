/* SPDX-License-Identifier: MIT */
/* Which process a thread belongs to, and what it was called when. */
#ifndef SIDE_KERNEL_EVENTS_TASKS_H
#define SIDE_KERNEL_EVENTS_TASKS_H

#include "kernel-events/parts.h"

struct tasks *tasks_create(void);
void tasks_free(struct tasks *tasks);

/* From this time on the thread is called so, and belongs to that process; comm may be NULL: as its parent. */
void tasks_named(struct tasks *tasks, pid_t tid, pid_t pid, uint64_t time, const char *comm);
void tasks_forked(struct tasks *tasks, pid_t parent, pid_t tid, pid_t pid, uint64_t time);
void tasks_ended(struct tasks *tasks, pid_t tid, uint64_t time);
/* What was true before is not asked for any more. */
void tasks_settle(struct tasks *tasks);

/* *pid may be asked for, too: -1 when it is not known. A thread that was never heard of is looked up in /proc. */
const char *tasks_comm(struct tasks *tasks, pid_t tid, uint64_t time, uint32_t cpu, pid_t *pid);

/* All threads that run now, from /proc; those that are ours too. */
void tasks_scan(struct tasks *tasks);
void tasks_each_alive(struct tasks *tasks, void (*call)(void *user, pid_t tid), void *user);

#endif /* SIDE_KERNEL_EVENTS_TASKS_H */
