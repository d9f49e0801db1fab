/* SPDX-License-Identifier: MIT */
#ifndef SIDE_KERNEL_EVENTS_KERNEL_EVENTS_H
#define SIDE_KERNEL_EVENTS_KERNEL_EVENTS_H

/*
 * The kernel's trace events (sched, syscalls, user_events, ...) as one CTF trace beside those of programs, on their
 * clock: the other side of this folder, which gives events *to* the kernel.
 *
 *	kernel_record_open()	which events, by which way; nothing is recorded yet
 *	kernel_record_start()	a thread drains the kernel's buffers into the trace
 *	kernel_record_stop()	what is left, losses, the clock's final figures, the summary
 *
 * Two ways, by what is permitted: buffers of perf_event_open(), one a CPU, and an instance of tracefs of our own. Kernel
 * and programs may have written anything into descriptions and records: all is checked, and a record that makes no
 * sense stays as bytes.
 *
 * kernel_record_open() has to be called by the thread that starts the command, because the command inherits what it is
 * to record.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/ctf.h"
#include "ring/ring.h"

struct kernel_record;

#define KERNEL_RECORD_BUFFER_DEFAULT (2ull << 20)
#define KERNEL_RECORD_DIRECTORY "kernel" /* of the trace, below the recording's */

/* Events by "system:name" globs (protocol/pattern.h), with what the kernel is to ask of their fields. */
struct kernel_record_choice {
	const char *pattern;
	const char *filter; /* in the kernel's language, or NULL */
	/*
	 * For listeners that choose: in ours (filter/filter.h), or NULL. As much of it as the kernel understands it is asked, so that
	 * what it rejects takes no room; the listener checks all that comes.
	 */
	const char *expression;
};

enum kernel_record_backend {
	KERNEL_RECORD_BEST,
	KERNEL_RECORD_PERF,
	KERNEL_RECORD_TRACEFS,
};

struct kernel_record_options {
	const struct kernel_record_choice *choices;
	size_t nr_choices;
	bool machine; /* of all processes; else of those that this thread starts from now on, once they have called exec */
	enum kernel_record_backend backend;
	uint64_t buffer_size; /* bytes a CPU; 0: the default */

	/* Of the trace. */
	const char *directory; /* made; its parent exists */
	const char *hostname;
	enum ring_clock clock;
	struct ctf_clock parameters;
	enum ctf_format format;
	int compression;
};

struct kernel_record_error {
	int code;       /* negative errno; -EPERM and -EACCES: rights are missing */
	char text[512]; /* a sentence */
	char hint[256]; /* what helps, or "" */
};

struct kernel_record_loss {
	char ring[32];
	char event[160];
	const char *reason;
	uint64_t count;
};

struct kernel_record_summary {
	const char *backend;    /* "perf buffers" or "the tracefs instance side-..." */
	const char *why;        /* not the other one: a sentence, or "" */
	uint64_t event_classes; /* events that were switched on */
	uint64_t events;        /* records in the trace */
	uint64_t bytes;
	uint64_t lost;
	uint64_t late; /* of the kinds: found some time after programs had registered them */
	uint64_t plain; /* EventHeader records that are there as bytes, because they cannot be decoded */
	const struct kernel_record_loss *losses;
	size_t nr_losses;
	const char *problem;      /* why the trace is not complete, or "" */
	const char *problem_hint; /* what the user can do about it, or "" */
};

/*
 * Can perf's own time be turned into the ticks of the TSC? If not, a recording with the kernel's events has to use
 * CLOCK_MONOTONIC for all.
 */
bool kernel_record_knows_tsc(void);

/* 0 or a negative errno with *error filled in. */
int kernel_record_open(const struct kernel_record_options *options, struct kernel_record **record,
		struct kernel_record_error *error);
int kernel_record_start(struct kernel_record *record, struct kernel_record_error *error);
/* Which way was taken and why not the other, before the end as well. */
void kernel_record_backend(
		const struct kernel_record *record, const char **backend, const char **why);
/* clock may be NULL. The summary is valid until kernel_record_close(). */
const struct kernel_record_summary *kernel_record_stop(
		struct kernel_record *record, const struct ctf_clock *clock);
/* Instead: as if nothing had been recorded. NULL is accepted, here and below. */
void kernel_record_discard(struct kernel_record *record);
void kernel_record_close(struct kernel_record *record);

/*
 * What the kernel has: called for each event that the patterns mean (none: all), until it says anything but 0, which is returned.
 */
typedef int kernel_record_name(void *user, const char *system, const char *name);
int kernel_record_each(const char *const *patterns, size_t nr, kernel_record_name *call, void *user,
		struct kernel_record_error *error);

/* ---- for who does not want a trace, but each record ---- */

/* An event of the kernel, or one that EventHeader records of it have described. */
struct kernel_event {
	const char *system, *name;      /* of EventHeader the latter is "TRACEPOINT:NAME" */
	int level;                      /* -1: it has none */
	const struct ctf_type *context; /* a structure, or NULL */
	const struct ctf_type *fields;  /* a structure */
	bool comes_by_another;          /* which is switched on: it cannot be by itself */
	void *own;                      /* of whoever listens */
};

struct kernel_moment {
	uint64_t ticks; /* of the clock that was asked for */
	uint32_t cpu;
	int32_t pid, tid; /* -1: not known */
	const char *comm;
};

struct kernel_payload {
	const uint8_t *data;
	size_t size;
};

/* All are called by whoever calls the functions below. */
struct kernel_listener {
	void *user;
	/* The types stay until gone(). Not 0: nothing is to be heard of it. */
	int (*found)(void *user, struct kernel_event *event);
	void (*gone)(void *user, struct kernel_event *event);
	/* As CTF: one value after the other. */
	void (*record)(void *user, const struct kernel_event *event,
			const struct kernel_moment *moment, struct kernel_payload context,
			struct kernel_payload fields);
	/* event: NULL if that is not known. */
	void (*lost)(void *user, const struct kernel_event *event, uint32_t cpu, uint64_t count);
};

/*
 * With choices: they are switched on, of the machine or of what this thread starts, as by kernel_record_open(). Without: of the whole
 * machine, and switched on is nothing yet: kernel_listen_choose(), kernel_listen_switch(). Of the options only those count that do not
 * belong to the trace, and the clock.
 */
int kernel_listen_open(const struct kernel_record_options *options,
		const struct kernel_listener *listener, struct kernel_record **record,
		struct kernel_record_error *error);
/*
 * What is meant from now on: found() for all that is new, and what is switched on and more is wanted of comes in full. -EINVAL: a
 * pattern cannot be read.
 */
int kernel_listen_choose(struct kernel_record *record, const struct kernel_record_choice *choices,
		size_t nr, struct kernel_record_error *error);
/* Does the kernel have an event that this means? Or might a program register one? */
bool kernel_listen_knows(const struct kernel_record *record, const char *pattern);
/*
 * Look again for what programs may have registered; true: there may be such events. Programs that have told us of theirs wait until
 * kernel_listen_seen(), before which these have to be switched on.
 */
bool kernel_listen_scan(struct kernel_record *record);
bool kernel_listen_is_notified(struct kernel_record *record);
void kernel_listen_seen(struct kernel_record *record);
int kernel_listen_switch(struct kernel_record *record, const struct kernel_event *event, bool on,
		struct kernel_record_error *error);
void kernel_listen_each(struct kernel_record *record,
		void (*call)(void *user, const struct kernel_event *event, bool on), void *user);
/* Sleep until there is something, also from that descriptor, at most so long. */
void kernel_listen_wait(struct kernel_record *record, int fd, int timeout_ms);
/* What has come until now. losses: also what was lost most lately, which costs a call for each event. True: there was something. */
bool kernel_listen_drain(struct kernel_record *record, bool losses);
/* How many of those that are switched on the kernel is asked about, by a filter. */
uint32_t kernel_listen_filtered(const struct kernel_record *record);
/* How many are known. */
uint64_t kernel_listen_classes(const struct kernel_record *record);
/* Nothing comes any more, and what came is said, losses too. Of the summary: the way, kinds and what could not be decoded. */
const struct kernel_record_summary *kernel_listen_end(struct kernel_record *record);

#endif /* SIDE_KERNEL_EVENTS_KERNEL_EVENTS_H */
