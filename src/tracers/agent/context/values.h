/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CONTEXT_VALUES_H
#define SIDE_TRACERS_AGENT_CONTEXT_VALUES_H

/*
 * Cached values of contexts, and how a thread detects that they are outdated.
 *
 * Each group of values has a stamp for the whole process, which context_changed() renews, and a
 * copy in each thread from when that thread read the group. The values are valid if the two are
 * equal. The stamps of the process are in a page that the kernel wipes in a forked child. The first
 * check in the child finds generation 0 and starts again, with stamps that no thread has.
 *
 * Callers: the files of context/, and core for the functions about vfork() and sandboxes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "protocol/context.h"
#include "tracers/agent/context/block.h"
#include "tracers/agent/context/groups.h"

/*
 * The value of agent_vforked in a thread whose thread-local memory another process may use at the
 * same time (clone() with CLONE_VM). Only the kernel knows which of the two is running.
 */
#define CONTEXT_SHARES_MEMORY 4
struct context_sharing {
	int32_t owner;   /* the thread */
	int32_t process; /* -1: several */
	uint32_t asked;
};
extern __thread struct context_sharing context_sharing
		__attribute__((tls_model("initial-exec"), visibility("hidden")));
/* With that value: whether this is the thread itself. */
bool context_is_owner(void);

/*
 * Marks threads that may not use the rings (core/vfork.h): CONTEXT_VFORKED in the child of a
 * vfork().
 */
#define CONTEXT_VFORKED 1
extern __thread unsigned int agent_vforked
		__attribute__((tls_model("initial-exec"), visibility("hidden")));

#define CONTEXT_COUNTERS_MAX 8 /* different hardware counters of a process */

struct context_thread {
	struct context_values values;
	uint32_t stamps[CONTEXT_GROUPS];
	uint32_t fills;       /* raised whenever values are read anew */
	bool busy;            /* values or blocks are being changed */
	bool known;           /* has read values once */
	bool sandboxed;       /* must not ask the kernel any more */
	uint8_t applications; /* functions of application contexts that are running */
	char scratch[2][CONTEXT_COMM_SIZE];
	int32_t counters_pid;                       /* process that they are of */
	const void *counters[CONTEXT_COUNTERS_MAX]; /* NULL: not tried yet */
};

extern __thread struct context_thread context_thread
		__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Groups that any set needs: a thread reads them all at once, as early as it can. */
extern uint32_t context_needed __attribute__((visibility("hidden")));

/* Before the first set. 0, or -ENOTSUP when a forked child could not be noticed. */
int context_values_start(void);
void context_values_need(uint32_t groups);

/* The generation; begins anew in a forked child. */
uint32_t context_generation_now(void);

/*
 * Copy the values of these groups, true now. Returns the generation in which they are, or 0 when
 * they must not be kept. Disturbs errno.
 */
uint32_t context_values_get(uint32_t groups, struct context_values *ret_values);
/*
 * Read the values of these groups that have changed, if that is possible: context_values_get() is
 * called deeper in the stack. Disturbs errno.
 */
void context_values_renew(uint32_t groups);

/* For one value; its text is valid as long as that of context_load(). */
const struct context_values *context_values_find(uint32_t group, struct context_values *buffer);
/* The cached values of the thread, or NULL: read them again. */
const struct context_values *context_values_known(uint32_t group);

/* These may have changed: for all threads; or a name of the calling thread's. */
void context_changed(uint32_t groups);
void context_name_changed(void);

/*
 * Call this before a filter forbids system calls to the calling thread, or to all threads: it reads
 * all values that are needed. False: nothing was done. Otherwise call context_sandbox_failed() if
 * installing the filter fails.
 */
bool context_sandbox_begins(bool all_threads);
void context_sandbox_failed(void);

/* May this thread make system calls? */
bool context_may_ask(void);

/*
 * Called before the calling thread loses the right to read clocks (prctl(PR_SET_TSC), strict
 * seccomp mode), and with false when that has failed. NULL: no part needs that.
 */
extern void (*context_clock_forbidden)(bool forbidden) __attribute__((visibility("hidden")));
/* For other copies of libside: a sandbox begins, or the attempt has failed. */
extern void (*context_sandbox_changes)(bool begins) __attribute__((visibility("hidden")));

/*
 * Called before the calling thread enters a sandbox, with the hits of probes that do not end the
 * program in it, and when entering it has failed (AS_BEFORE). NULL: there are no probes.
 */
enum context_hits {
	CONTEXT_HITS_ALL,
	/*
	 * None that reads memory which may be gone: handlers of side cannot return, so they end
	 * without that.
	 */
	CONTEXT_HITS_WITHOUT_RETURN,
	CONTEXT_HITS_WITHOUT_CHANGES, /* likewise, and the program cannot change signals */
	CONTEXT_HITS_WITHOUT_SIGNALS, /* not those of breakpoints: a handler cannot do its work */
	CONTEXT_HITS_NONE,            /* reading the clock is forbidden */
	CONTEXT_HITS_AS_BEFORE,
};
extern void (*context_hits_limited)(enum context_hits hits) __attribute__((visibility("hidden")));

/*
 * Called around a clone() whose child runs beside the calling thread on the thread-local memory of
 * that thread: patch_thread_shares(). NULL: there are no probes.
 */
extern void (*context_memory_shared)(int pid) __attribute__((visibility("hidden")));

/* Called before each vfork() (vfork.c): patch_thread_begin(). NULL: there are no probes. */
extern void (*context_vfork_begins)(void) __attribute__((visibility("hidden")));

/*
 * Called before a call that changes rights or namespaces, clones or may forbid calls: waits until a
 * thread of the agent that is being created sleeps, 100 ms at most. NULL: there is none.
 */
extern void (*context_thread_settles)(void) __attribute__((visibility("hidden")));

/* Is this a child that runs in its parent's memory? It must not cache any values. */
bool context_is_foreign(void);

/* cgroup.c: the path, at most a second old. Never NULL. */
uint8_t *context_cgroup_write(uint8_t *to, const uint8_t *end);
const char *context_cgroup_poll(void);
void context_cgroup_changed(void);
void context_cgroup_forked(void);

/* perf.c */
/* The number of a hardware counter, or negative: there are no more. Under libside's lock. */
int context_counter_number(const struct context_spec *spec);
/* UINT64_MAX: not known. */
uint64_t context_counter_hardware(uint32_t number);
uint64_t context_counter_software(uint32_t config);
void context_counters_open(void);

#endif
