/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_UPROBE_GLOBAL_H
#define SIDE_PROBE_UPROBE_GLOBAL_H

/*
 * Global probes: locations of files that the kernel watches (uprobes) in every process that maps
 * the file, now or later, whichever user started it. The caller passes probe tables
 * (src/probe/table). Their sites are offsets in files, and the kernel executes their fetches.
 *
 *	sides.c		from tables to sides: a location, and the fetches at its entry or exit
 *	assemble.c	assembles instructions of BPF
 *	program.c	a side as a BPF program
 *	bpf.c		programs in the kernel: by uprobe_multi, or by one perf event each
 *	text.c		a side as a definition for tracefs
 *	tracefs.c	definitions in tracefs: made, removed, and cleaned after killed recorders
 *	perf.c		hits of these definitions through perf's buffers
 *	descriptors.c	whether the descriptors suffice
 *	conflict.c	whether a process has other bytes at a location than its file
 *	replaced.c	whether a path still leads to the watched file
 *	pairs.c		matches returns with calls
 *	global.c	the backends, in their order; hits in the order of time
 *
 * With BPF, the kernel removes all probes when the descriptors are closed, so a kill leaves
 * nothing. Definitions in tracefs remain. Their group is named after their process
 * (SIDE_PID_STARTED_NAMESPACE), so that a later recorder can find out whether that process has
 * exited, and remove these definitions only.
 */

#include "base/error.h"
#include "probe/uprobe/global-types.h"

/* Returns "uprobe_multi", "perf_event" or "tracefs". */
const char *global_backend_name(enum global_backend backend);

struct global;

/*
 * Checks that the tables can be watched, and by which backend; sets no probe yet. Returns 0, or a
 * negative errno and *error. The caller closes *ret_global.
 */
int global_open(const struct global_options *options, struct global **ret_global,
		struct error *error);
/* Removes all probes. Accepts NULL. */
void global_close(struct global *global);

/*
 * Returns whether the kernel permits this process to watch a single process by a BPF program; if
 * not, *error states why.
 */
bool global_may(struct error *error);
/* Returns whether the kernel removes many probes at once. */
bool global_is_quick(void);

enum global_backend global_used(const struct global *global);
/* Why the backends before the used one are not usable: a sentence, "" if the first is used. */
const char *global_why(const struct global *global);
uint32_t global_nr_sides(const struct global *global);
const struct global_side *global_side(const struct global *global, uint32_t number);
uint32_t global_nr_tables(const struct global *global);
const struct probe_table *global_table(const struct global *global, uint32_t number);

/*
 * Watches all locations or, with `on` false, none. Returns 0, or a negative errno and *error: then
 * none is watched.
 */
int global_watch(struct global *global, bool on, struct error *error);

/*
 * Returns the path of a file that has been replaced since global_open(): processes that start now
 * execute another file, which is not watched. Each path is returned once; NULL: no further one.
 */
const char *global_replaced(struct global *global);

/* A descriptor that is readable when there are hits. */
int global_fd(const struct global *global);
/*
 * Calls `hit` for all hits that are older than the settling time, in the order of their times; with
 * `last`, for all hits. A hit is valid during the call. *ret_lost: the number of hits since
 * global_open() for which a buffer had no space, or whose process had exited before its user was
 * known.
 */
typedef void global_hit_fn(void *user, const struct global_hit *hit);
void global_read(struct global *global, bool last, global_hit_fn *hit, void *user,
		uint64_t *ret_lost);

/*
 * Removes the definitions that killed recorders have left in tracefs. Returns how many it removed,
 * or a negative errno: there is no tracefs, or this process has no access.
 */
int global_clean(void);

#endif /* SIDE_PROBE_UPROBE_GLOBAL_H */
