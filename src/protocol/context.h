/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_CONTEXT_H
#define SIDE_PROTOCOL_CONTEXT_H

/*
 * Defines the contexts: their names on the command line and in filters, and their bytes in a
 * record.
 *
 * A context is a value that can be recorded with an event: `--context NAME,...`, `$ctx.NAME`.
 *
 * vpid vtid tid procname thread_name cpu_id ip     the thread and the location
 * uid euid suid gid egid sgid                      its credentials (also vuid, veuid, ...)
 * cgroup_ns ipc_ns mnt_ns net_ns pid_ns time_ns user_ns uts_ns    namespaces, by inode
 * cgroup                                           path of the control group
 * backtrace backtrace:N                            the calls that led to the event, at most N
 * perf:thread:NAME                                 a counter of the thread, with perf's NAME,
 *                                                  or raw:rHEX (a colon and a label may follow)
 * $app.PROVIDER:NAME, app:PROVIDER:NAME            a value of the application
 *
 * A record has the bytes of its contexts in the order of the list, not aligned, in host order. The
 * last column is an unknown value:
 *
 * U32, S32        4 bytes                 0, for a namespace
 * U64, POINTER    8 bytes                 UINT64_MAX, for a counter
 * STRING          the bytes and a NUL     an empty string
 * APPLICATION     a tag of one byte (enum context_application_tag), then:
 *                 NONE                    nothing (this is the unknown value)
 *                 INT64, UINT64, FLOAT64  8 bytes
 *                 STRING                  the bytes and a NUL
 *                 BOOLEAN                 1 byte
 * ADDRESSES       the number of addresses (1 byte), then 8 bytes for each; unknown: no addresses
 *
 * docs/reference/contexts.md describes each context for users. The header is separate because
 * neither messages nor patterns use it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum context_kind {
	CONTEXT_VPID,
	CONTEXT_VTID,
	CONTEXT_TID,
	CONTEXT_PROCNAME,
	CONTEXT_THREAD_NAME,
	CONTEXT_CPU_ID,
	CONTEXT_IP,
	CONTEXT_UID,
	CONTEXT_EUID,
	CONTEXT_SUID,
	CONTEXT_GID,
	CONTEXT_EGID,
	CONTEXT_SGID,
	CONTEXT_CGROUP_NS,
	CONTEXT_IPC_NS,
	CONTEXT_MNT_NS,
	CONTEXT_NET_NS,
	CONTEXT_PID_NS,
	CONTEXT_TIME_NS,
	CONTEXT_USER_NS,
	CONTEXT_UTS_NS,
	CONTEXT_CGROUP,
	CONTEXT_BACKTRACE,
	CONTEXT_PERF,
	CONTEXT_APP,
	CONTEXT_KINDS
};

enum context_type {
	CONTEXT_U32,
	CONTEXT_S32,
	CONTEXT_U64,
	CONTEXT_POINTER,
	CONTEXT_STRING,
	CONTEXT_APPLICATION,
	CONTEXT_ADDRESSES
};

enum context_application_tag {
	CONTEXT_TAG_NONE = 0,
	CONTEXT_TAG_INT64 = 1,
	CONTEXT_TAG_UINT64 = 2,
	CONTEXT_TAG_FLOAT64 = 3,
	CONTEXT_TAG_STRING = 4,
	CONTEXT_TAG_BOOLEAN = 5
};

#define CONTEXT_NAME_MAX 79
#define CONTEXT_BACKTRACE_MAX 128    /* addresses of a backtrace; as many as those of probes */
#define CONTEXT_BACKTRACE_DEFAULT 32 /* without a number */

/* Contains no pointer: an array of specs can be in any memory. */
struct context_spec {
	enum context_kind kind;
	enum context_type type;
	/*
	 * CTF name without the leading underscore: "vpid", "perf_thread_cpu_cycles",
	 * "app_myapp_request".
	 */
	char field[CONTEXT_NAME_MAX + 1];
	/* The parsed name, with aliases resolved: "vpid", "perf:thread:cpu-cycles",
	   "$app.myapp:request". */
	char name[CONTEXT_NAME_MAX + 1];
	/* For CONTEXT_PERF: type and config of perf_event_attr. */
	uint32_t perf_type;
	uint64_t perf_config;
	/* For CONTEXT_APP: the positions of "myapp" and "request" in `name`; the label extends to
	   its end. */
	uint8_t provider_at, provider_size, label_at;
	/* For CONTEXT_BACKTRACE: the most addresses of a record. */
	uint8_t depth;
};

struct context_error {
	unsigned int column; /* from 1 */
	char text[320];      /* the reason, without a capital letter and full stop */
	char hint[160];      /* "did you mean `vpid`?"; may be empty */
};

/*
 * Parses one context. Returns 0, or -EINVAL with the error. The text may have any length and any
 * bytes.
 */
int context_parse(const char *text, struct context_spec *ret_spec, struct context_error *error);

/*
 * Parses a list such as "vpid,vtid,perf:thread:cycles". Returns the number of specs, or -EINVAL
 * with the column in the whole text. Ignores spaces around commas and repeated names.
 */
int context_parse_list(const char *text, struct context_spec *ret_specs, size_t max_specs,
		struct context_error *error);

/* True if both are the same context. Backtraces are, whatever their depth. */
bool context_same(const struct context_spec *one, const struct context_spec *other);

/*
 * Returns a name for help and completion; NULL after the last one. Names that are a prefix of
 * several names ("perf:thread:") end with a colon; "$app.PROVIDER:NAME" stands for all contexts of
 * applications. "backtrace" also stands for "backtrace:N".
 */
const char *context_name(size_t index);
const char *context_description(size_t index);

/* Returns a name of a counter that may follow "perf:thread:"; NULL after the last one. */
const char *context_perf_name(size_t index);

/*
 * True if this process can record the context on this machine. If false, the error has the reason
 * and the hint, with column 0.
 */
bool context_check(const struct context_spec *spec, struct context_error *error);

/* ---- hardware counters ---- */

/* True if it is a counter of the processor, false for a software counter of the kernel. */
bool context_perf_is_hardware(const struct context_spec *spec);

/*
 * Starts a counter for the calling thread. Returns one mapped page (struct perf_event_mmap_page)
 * from which user space may read the counter, or NULL with the reason, a negative errno
 * (-EOPNOTSUPP: it counts, but user space cannot read it). No descriptor stays open; the mapping
 * keeps the counter. Async-signal-safe, may change errno. A forked child does not have the mapping.
 */
const void *context_perf_map(uint32_t perf_type, uint64_t perf_config, int *ret_error);

#endif
