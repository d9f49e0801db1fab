/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_UPROBE_GLOBAL_H
#define SIDE_PROBE_UPROBE_GLOBAL_H

/*
 * Global probes: places of files, which the kernel watches (uprobes) in every process that maps the file, now or later, whatever
 * it is and whoever started it. What is wished comes as probe tables (src/probe/table), whose places are offsets in files and
 * whose fetches the kernel carries out.
 *
 *	sides.c     from tables to sides: a place and what is fetched at its entry or at its exit
 *	assemble.c  instructions of BPF, put together
 *	program.c   a side as a BPF program
 *	bpf.c       programs in the kernel: by uprobe_multi, or by a perf event each
 *	text.c      a side as a definition for tracefs
 *	tracefs.c   definitions in tracefs: made, removed, and cleaned of recorders that were killed
 *	perf.c      hits of these through perf's buffers
 *	conflict.c  whether a process has other bytes at a place than its file
 *	replaced.c  whether what a path leads to is still what is watched
 *	pairs.c     which return belongs to which call
 *	global.c    the ways, in their order; hits in the order of time
 *
 * Ways. With BPF the kernel forgets everything when our descriptors are closed, so a kill leaves nothing. In tracefs a
 * definition stays: its group is named after us (SIDE_PID_STARTED_NAMESPACE), so whoever comes later knows
 * whether its owner is gone, and cleans it then, and nothing of anybody else.
 */

#include "probe/table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum global_backend {
	GLOBAL_MULTI,   /* BPF, all places of a file at once (Linux 6.6) */
	GLOBAL_PERF,    /* BPF, a perf event for each place */
	GLOBAL_TRACEFS, /* definitions, and perf's buffers */
	GLOBAL_NR_BACKENDS
};
/* "uprobe_multi", "perf_event", "tracefs". */
const char *global_backend_name(enum global_backend backend);

/* Sentences without their full stop; an empty mend: there is nothing to do about it. */
struct global_error {
	char text[1024];
	char hint[256];
	bool permission;
};

/* Whose hits count: of each kind that is there one must fit. */
#define GLOBAL_FILTER_MAX 64
struct global_filter {
	uint32_t pids[GLOBAL_FILTER_MAX], nr_pids; /* processes */
	uint32_t uids[GLOBAL_FILTER_MAX], nr_uids;
	uint64_t cgroups[GLOBAL_FILTER_MAX]; /* ids, of cgroup v2: inode numbers of their directories */
	uint32_t nr_cgroups;
	char comms[GLOBAL_FILTER_MAX][16]; /* names of threads, zeros behind them */
	uint32_t nr_comms;
};

struct global_options {
	const int *tables; /* memfds, which stay the caller's */
	size_t nr_tables;
	struct global_filter filter;
	pid_t process;      /* watched in this one alone, and in nobody that it forks; 0: in all */
	int backend;        /* enum global_way; -1: the first that works */
	uint32_t ring_size; /* bytes, a power of two; 0: a standard */
};

enum global_source {
	GLOBAL_FETCHED,    /* the kernel has it */
	GLOBAL_CONSTANT,   /* the same in each hit of the side: `constant` */
	GLOBAL_FUNCTION,   /* the name of the function */
	GLOBAL_CALL,       /* number of the call */
	GLOBAL_DURATION,   /* since the call's entry */
	GLOBAL_UNREADABLE, /* which fields could not be read: bits by their index */
};

struct global_field {
	struct probe_table_field field;
	enum global_source source;
	uint64_t constant;
	/*
	 * Where its value is in a hit's values. A number is 8 bytes; a text or bytes is a length of 8 bytes, negative when it
	 * could not be read, and `capacity` bytes.
	 */
	uint32_t at, capacity;
	struct probe_fetch fetch;
};

/* What is seen at one place: its entry or its exit. */
struct global_side {
	uint32_t number;
	uint32_t table, event;       /* event: as the table counts */
	bool exit, paired;           /* paired: the other one of entry and exit is there, too */
	const char *path, *function; /* of the table */
	uint64_t address, offset, reference; /* reference: offset of the semaphore; 0: none */
	struct global_field *fields;
	uint32_t nr_fields, size; /* of the values */
};

struct global_hit {
	const struct global_side *side;
	uint64_t time; /* CLOCK_MONOTONIC, nanoseconds */
	uint32_t cpu, pid, tid;
	char comm[16];
	uint64_t unreadable; /* bits by index of field */
	uint64_t call, duration;
	const unsigned char *values;
};

struct global;

/* 0, or a negative errno and *error. Nothing is set yet, but it has been tried whether it can be. */
int global_open(const struct global_options *options, struct global **global,
		struct global_error *error);
/* A process that is still there has nothing of ours behind afterwards. NULL is accepted. */
void global_close(struct global *global);

/* Whether the kernel lets us watch a single process by a program of ours; else the error says why not. */
bool global_may(struct global_error *error);
/* Whether it gives back many places at once. */
bool global_is_quick(void);

enum global_backend global_used(const struct global *global);
/* Why no better way was taken: a sentence, "" if it is the first. */
const char *global_why(const struct global *global);
uint32_t global_nr_sides(const struct global *global);
const struct global_side *global_side(const struct global *global, uint32_t number);
uint32_t global_nr_tables(const struct global *global);
const struct probe_table *global_table(const struct global *global, uint32_t number);

/* All places are watched, or none. 0, or a negative errno and *error: then none. */
int global_watch(struct global *global, bool on, struct global_error *error);

/*
 * The path of a file that has been replaced since: processes that start now run another file, where nothing is watched. Each is
 * told once; NULL: none.
 */
const char *global_replaced(struct global *global);

/* Readable when there are hits. */
int global_fd(const struct global *global);
/*
 * All hits that have been there for a while, in the order of their times; `last`: all. A hit is valid during the call.
 * *lost: hits that found no room, or whose process had ended before its user could be asked, since the beginning.
 */
typedef void global_hit_fn(void *user, const struct global_hit *hit);
void global_read(struct global *global, bool last, global_hit_fn *hit, void *user, uint64_t *lost);

/*
 * Removes what recorders have left in tracefs that are gone; how many probes that were, or a negative errno: tracefs is not there,
 * or not for us.
 */
int global_clean(void);

#endif /* SIDE_PROBE_UPROBE_GLOBAL_H */
