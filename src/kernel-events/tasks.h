/* SPDX-License-Identifier: MIT */
/* Maps threads to their process and to their name at a given time. */
#ifndef SIDE_KERNEL_EVENTS_TASKS_H
#define SIDE_KERNEL_EVENTS_TASKS_H

#include <stdint.h>
#include <sys/types.h>

#define COMM_SIZE 16 /* of the name of a thread */

struct tasks;

struct tasks *tasks_create(void);
void tasks_free(struct tasks *tasks);

/*
 * From `time` on, the thread has this name and belongs to this process. `comm` may be NULL: the
 * name of its parent.
 */
void tasks_named(struct tasks *tasks, pid_t tid, pid_t pid, uint64_t time, const char *comm);
void tasks_forked(struct tasks *tasks, pid_t parent, pid_t tid, pid_t pid, uint64_t time);
void tasks_ended(struct tasks *tasks, pid_t tid, uint64_t time);
/* End a round of draining: frees names that later records cannot need. */
void tasks_settle(struct tasks *tasks);

/*
 * Returns the name of a thread at `time`, and its process in `*ret_pid`, -1 if unknown. An unknown
 * thread is looked up in /proc.
 */
const char *tasks_comm(struct tasks *tasks, pid_t tid, uint64_t time, uint32_t cpu, pid_t *ret_pid);

/* Add all threads that run now, from /proc; including the recorder's own. */
void tasks_scan(struct tasks *tasks);
void tasks_each_alive(struct tasks *tasks, void (*call)(void *user, pid_t tid), void *user);

#endif /* SIDE_KERNEL_EVENTS_TASKS_H */
