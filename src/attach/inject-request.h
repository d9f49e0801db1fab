/* SPDX-License-Identifier: MIT */
/* What inject_begin() is asked to do in a program, and the report of the result. */
#ifndef SIDE_ATTACH_INJECT_REQUEST_H
#define SIDE_ATTACH_INJECT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
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

/* Another library to load after the function was called; then the function is called for it. */
struct inject_library {
	const char *path; /* for the caller; the library needs libside only */
	/* The function's argument: `before`, the handle of dlopen() in base 16, `after`. */
	const char *before, *after;
};

struct inject_request {
	pid_t pid;
	const char *agent; /* path of libside-agent.so for the caller */
	/* path of libside.so.0, for programs with another root directory */
	const char *libside;
	const char *function; /* of the agent: int (const char *) */
	const char *argument; /* below INJECT_ARGUMENT_MAX bytes */
	/* do not load the agent: the result is -ENOENT if it is not loaded */
	bool only_if_loaded;
	bool in_sandbox;         /* allow programs whose seccomp filter may end them */
	unsigned int timeout_ms; /* 0: INJECT_TIMEOUT_MS */
	const struct inject_library *libraries;
	size_t nr_libraries;
	/*
	 * Not 0: a thread waits in this code, where no function is interrupted (exec.c). It is
	 * borrowed there, or not at all.
	 */
	uint64_t held_begin, held_end;
};
#define INJECT_ARGUMENT_MAX 2048

struct inject_report {
	enum inject_kind kind;
	int result;      /* of the function, if INJECT_DONE */
	bool was_loaded; /* the agent had been loaded before */
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

#endif /* SIDE_ATTACH_INJECT_REQUEST_H */
