/* SPDX-License-Identifier: MIT */
/*
 * Computes when threads had a processor, from the events sched:sched_switch of the kernel.
 *
 * The events of all processes are needed: the switch to a thread is an event of the thread that
 * ran before. Thread numbers are those of the first PID namespace.
 */
#ifndef SIDE_ANALYSIS_SWITCHES_H
#define SIDE_ANALYSIS_SWITCHES_H

#include "analysis/event-member.h"
#include "analysis/report-keys.h"

#define SWITCHES_THREADS_MAX 250000 /* threads whose processor time is known */

struct switches_thread {
	uint64_t off_ns;  /* time without a processor; up to `since_ns` while `is_off` */
	int64_t since_ns; /* begin of the current time without a processor */
	bool is_off;
	bool is_broken; /* the last switch to the thread is missing: off_ns is wrong */
};

/* All zero is an empty one. */
struct switches {
	struct keys thread_keys; /* int32_t: the number of the thread */
	struct switches_thread *threads;
	bool has_begun;
	uint32_t trace;  /* the index of the kernel's trace */
	uint64_t broken; /* missing switches to threads */
};

/* All zero before the first record of the class. */
struct switches_class {
	bool is_switch;
	struct event_member previous, next;
};

void switches_class_find(struct switches_class *class, const struct ctf_item *item);
/* Takes one switch. 0 or -ENOMEM. */
int switches_take(struct switches *switches, const struct switches_class *class,
		const struct ctf_item *item);
/* A clock that advances while the thread has a processor. False: the clock is not known. */
bool switches_clock(const struct switches *switches, int64_t thread, int64_t ns, uint64_t *ret_ns);
void switches_free(struct switches *switches);

#endif /* SIDE_ANALYSIS_SWITCHES_H */
