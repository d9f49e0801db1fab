/* SPDX-License-Identifier: MIT */
/*
 * Drop rights of a process before it reads data of other users, so that an error in its parsers
 * does little harm.
 */
#ifndef SIDE_ISOLATE_ISOLATE_H
#define SIDE_ISOLATE_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

/*
 * Landlock: the process may write below these paths (NULL at the end) and nowhere else, and
 * executes nothing. 0, also if the kernel does not support Landlock; or a negative errno: the
 * process cannot write below one of the paths that exist.
 */
int isolate_files(const char *const *writable);

/*
 * System calls that no recorder, receiver or parser needs: programs, processes, tracing, mounts and
 * the like. Ends with NULL.
 */
extern const char *const isolate_refused[];

/*
 * Confine a process that resolves host names. The C library loads modules for this, which read
 * files and connect to any address. The process cannot execute programs, start processes or write.
 * False: the kernel supports no filter.
 */
bool isolate_resolver(void);

#ifdef HAVE_SECCOMP
#define ISOLATE_CODE_MAX 1024

/*
 * A filter of system calls. It is built without an allocation; the first rule that matches decides.
 */
struct isolate_rules {
	struct sock_filter code[ISOLATE_CODE_MAX];
	unsigned short size;
	bool is_full;
};

void isolate_rules_begin(struct isolate_rules *rules);
/* `error`: 0 permits the call; a call that the architecture lacks is left out. */
void isolate_rules_call(struct isolate_rules *rules, const char *name, int error);
void isolate_rules_calls(struct isolate_rules *rules, const char *const *names, int error);
/* Only if the masked argument has that value. */
void isolate_rules_argument(struct isolate_rules *rules, const char *name, unsigned int argument,
		uint64_t mask, uint64_t value, int error);
/* Refuse new processes. The arguments of clone3 are in memory: the C library uses clone instead. */
void isolate_rules_threads_only(struct isolate_rules *rules);
/* For all other calls: `error`, or 0. False: the kernel supports no filter. */
bool isolate_rules_load(struct isolate_rules *rules, int error);
#endif

/* What a parser may do from now on. Paths that do not exist are left out. */
struct isolate_limits {
	const char *const *readable; /* files, and directories with everything below them */
	size_t nr_readable;
	const char *const *
			writable; /* the same; also to read, and to create and remove files there */
	size_t nr_writable;
	bool reads_all; /* all files are readable, also those in other mount namespaces */
	bool connects;  /* may connect to other machines */
	bool accepts;   /* may accept connections at sockets that listen already */
	bool terminals; /* may set terminals */
};

/*
 * Landlock: no other file is opened, and no program executed. Seccomp: only the system calls of a
 * parser, in this thread and in those that it creates. False: the kernel supports no filter of
 * system calls.
 */
bool isolate_parser(const struct isolate_limits *limits);

#endif /* SIDE_ISOLATE_ISOLATE_H */
