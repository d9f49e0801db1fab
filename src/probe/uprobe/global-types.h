/* SPDX-License-Identifier: MIT */
/* Options, sides and hits of global probes (global.h). */
#ifndef SIDE_PROBE_UPROBE_GLOBAL_TYPES_H
#define SIDE_PROBE_UPROBE_GLOBAL_TYPES_H

#include "probe/table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum global_backend {
	GLOBAL_MULTI,   /* BPF, all locations of a file at once (Linux 6.6) */
	GLOBAL_PERF,    /* BPF, a perf event for each location */
	GLOBAL_TRACEFS, /* definitions in tracefs, and perf's buffers */
	GLOBAL_NR_BACKENDS
};

/* Selects hits: of each list that is not empty, one element must match. */
#define GLOBAL_FILTER_MAX 64
struct global_filter {
	uint32_t pids[GLOBAL_FILTER_MAX], nr_pids; /* processes */
	uint32_t uids[GLOBAL_FILTER_MAX], nr_uids;
	uint64_t cgroups[GLOBAL_FILTER_MAX]; /* cgroup v2 ids: inode numbers of directories */
	uint32_t nr_cgroups;
	char comms[GLOBAL_FILTER_MAX][16]; /* names of threads, padded with zeros */
	uint32_t nr_comms;
};

struct global_options {
	const int *tables; /* memfds; the caller closes them */
	size_t nr_tables;
	struct global_filter filter;
	/* the only process to watch, without the processes that it forks; 0: all processes */
	pid_t process;
	int backend;        /* enum global_backend; -1: the first that works */
	uint32_t ring_size; /* bytes, a power of two; 0: the default */
};

enum global_source {
	GLOBAL_FETCHED,    /* the kernel fetches it */
	GLOBAL_CONSTANT,   /* the same in each hit of the side: `constant` */
	GLOBAL_FUNCTION,   /* the name of the function */
	GLOBAL_CALL,       /* the number of the call */
	GLOBAL_DURATION,   /* the time since the call's entry */
	GLOBAL_UNREADABLE, /* the fields that could not be read: bits by their index */
};

struct global_field {
	struct probe_table_field field;
	enum global_source source;
	uint64_t constant;
	/*
	 * The position of its value in a hit's values. A number has 8 bytes. A string or an array
	 * is a length of 8 bytes, negative if it could not be read, and `capacity` bytes.
	 */
	uint32_t at, capacity;
	struct probe_fetch fetch;
};

/* One probe of the kernel: the entry or the exit of a site. */
struct global_side {
	uint32_t number;
	uint32_t table, event;               /* event: its index in the table */
	bool exit, paired;                   /* paired: the site has both an entry and an exit */
	const char *path, *function;         /* strings of the table */
	uint64_t address, offset, reference; /* reference: offset of the semaphore; 0: none */
	struct global_field *fields;
	uint32_t nr_fields, size; /* bytes of the values */
};

struct global_hit {
	const struct global_side *side;
	uint64_t time; /* CLOCK_MONOTONIC, nanoseconds */
	uint32_t cpu, pid, tid;
	char comm[16];
	uint64_t unreadable; /* bits by the index of the field */
	uint64_t call, duration;
	const unsigned char *values;
};

#endif /* SIDE_PROBE_UPROBE_GLOBAL_TYPES_H */
