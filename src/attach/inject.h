/* SPDX-License-Identifier: MIT */
#ifndef SIDE_ATTACH_INJECT_H
#define SIDE_ATTACH_INJECT_H

/*
 * Bring the agent into a program that runs, and have it do something there.
 *
 * One thread of the program is borrowed, at a point where it may make a thread, for as long as it takes
 * to make one (some 100 us): see thread.c for how, safe.c for which points those are, and
 * code.c for what happens when we are killed in the middle. The new thread loads the agent and calls its
 * function; nobody is stopped meanwhile. Then it ends.
 *
 * All of it happens in a process of its own, which the caller does not wait for: it may have to answer
 * the agent meanwhile.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define INJECT_TEXT_MAX 512
#define INJECT_HINT_MAX 256
#define INJECT_TIMEOUT_MS 2000 /* until a thread is at a point that is safe */

enum inject_kind {
	INJECT_DONE,
	INJECT_FAILED,
	INJECT_NOT_PERMITTED,
	INJECT_UNSUITABLE, /* it will never work with this program */
	INJECT_GONE,       /* the program has ended, or was never there */
};

struct inject_request {
	pid_t pid;
	const char *agent;       /* path of libside-agent.so, as we see it */
	const char *libside;     /* path of libside.so.0, for programs that see other files */
	const char *function;    /* of the agent: int (const char *) */
	const char *argument;    /* below INJECT_ARGUMENT_MAX bytes */
	bool only_if_there;      /* -ENOENT as the result where the agent is not */
	bool in_sandbox;         /* also where a filter of system calls may end the program */
	unsigned int timeout_ms; /* 0: INJECT_PATIENCE_MS */
};
#define INJECT_ARGUMENT_MAX 2048

struct inject_report {
	enum inject_kind kind;
	int result;          /* of the function, with INJECT_DONE */
	bool was_there;      /* the agent had been loaded before */
	bool from_memory;    /* the program sees other files: it was given the agent as memory */
	int32_t thread;      /* that was borrowed */
	uint32_t stops;      /* how often threads were stopped, with those that could not be used */
	uint64_t stopped_ns; /* the longest of them */
	uint64_t stopped_total_ns; /* all of them */
	uint64_t total_ns;
	char text[INJECT_TEXT_MAX]; /* a sentence without a full stop, unless INJECT_DONE */
	char hint[INJECT_HINT_MAX]; /* what the user can do about it; may be empty */
};

/* What the agent in a process keeps for probes that are gone; nothing while there are some, or where it is not. */
struct inject_kept {
	uint64_t bytes;
	uint64_t traps;        /* not 0: the signals of traps (SIGTRAP, SIGILL) */
	uint64_t springboards; /* how many pads of short jumps */
};

/* 0, or a negative errno: it cannot be looked at. */
int inject_kept(pid_t pid, struct inject_kept *kept);

/* A descriptor that becomes readable when the report is there, or a negative errno. */
int inject_begin(const struct inject_request *request, pid_t *child);
/* Waits for the report. */
void inject_end(int fd, pid_t child, struct inject_report *report);

#endif
