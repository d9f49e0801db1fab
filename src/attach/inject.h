/* SPDX-License-Identifier: MIT */
#ifndef SIDE_ATTACH_INJECT_H
#define SIDE_ATTACH_INJECT_H

/*
 * Load the agent into a running program, and call one of its functions there.
 *
 * One thread of the program is borrowed at a point where it can safely create a thread, for as long
 * as pthread_create() takes (some 100 us): see thread.c for how, safe.c for which points are safe,
 * and code.c for what happens if this process is killed meanwhile. The new thread loads the agent
 * and calls its function while all other threads run. Then it exits.
 *
 * All of this happens in a process of its own. The caller need not wait for it, because it may have
 * to answer the agent meanwhile.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define INJECT_TEXT_MAX 512
#define INJECT_HINT_MAX 256
#define INJECT_TIMEOUT_MS 2000 /* until a thread is at a safe point */

enum inject_kind {
	INJECT_DONE,
	INJECT_FAILED,
	INJECT_NOT_PERMITTED,
	INJECT_UNSUITABLE, /* attaching to this program never succeeds */
	INJECT_GONE,       /* the program has ended, or never existed */
};

struct inject_request {
	pid_t pid;
	const char *agent; /* path of libside-agent.so for the caller */
	/* path of libside.so.0, for programs with another root directory */
	const char *libside;
	const char *function; /* of the agent: int (const char *) */
	const char *argument; /* below INJECT_ARGUMENT_MAX bytes */
	/* do not load the agent: the result is -ENOENT if it is not loaded */
	bool only_if_there;
	bool in_sandbox;         /* allow programs whose seccomp filter may end them */
	unsigned int timeout_ms; /* 0: INJECT_TIMEOUT_MS */
};
#define INJECT_ARGUMENT_MAX 2048

struct inject_report {
	enum inject_kind kind;
	int result;     /* of the function, if INJECT_DONE */
	bool was_there; /* the agent had been loaded before */
	/* the program has another root directory and got the agent as a memory file */
	bool from_memory;
	int32_t thread;            /* the borrowed thread */
	uint32_t stops;            /* number of stops, including those of unusable threads */
	uint64_t stopped_ns;       /* the longest stop */
	uint64_t stopped_total_ns; /* sum of all stops */
	uint64_t total_ns;
	char text[INJECT_TEXT_MAX]; /* a sentence without a full stop; empty if INJECT_DONE */
	char hint[INJECT_HINT_MAX]; /* what the user can do, or "" */
};

/*
 * Memory that the agent in a process keeps for removed probes. All 0 while there are probes, or if
 * the agent is not loaded.
 */
struct inject_kept {
	uint64_t bytes;
	/* not 0: signal handlers for traps (SIGTRAP, SIGILL) are installed */
	uint64_t traps;
	uint64_t springboards; /* springboards of short jumps in padding */
};

/* Returns 0, or a negative errno if the process cannot be read. */
int inject_kept(pid_t pid, struct inject_kept *kept);

/*
 * Start attaching. Returns a descriptor that becomes readable when the report is available, or a
 * negative errno. `*child` is the process, which inject_end() reaps.
 */
int inject_begin(const struct inject_request *request, pid_t *child);
/* Wait for the report, close the descriptor and reap the child. */
void inject_end(int fd, pid_t child, struct inject_report *report);

#endif
