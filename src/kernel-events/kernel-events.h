/* SPDX-License-Identifier: MIT */
#ifndef SIDE_KERNEL_EVENTS_KERNEL_EVENTS_H
#define SIDE_KERNEL_EVENTS_KERNEL_EVENTS_H

/*
 * The kernel's trace events (sched, syscalls, user_events, ...) as a CTF trace beside those of
 * programs, on their clock. (src/tracers/user-events/ does the opposite: it passes events *to* the
 * kernel.)
 *
 *       kernel_record_open()   choose events and backend; nothing is recorded yet
 *       kernel_record_start()  start a thread that drains the kernel's buffers into the trace
 *       kernel_record_stop()   drain the remainder; losses, final clock parameters, summary
 *
 * There are two backends, chosen by what is permitted: buffers of perf_event_open(), one for each
 * CPU, and an instance of tracefs. Kernel and programs may have written anything into descriptions
 * and records: everything is checked, and a record that cannot be decoded is stored as bytes.
 *
 * The thread that starts the command must call kernel_record_open(), because the command inherits
 * its events.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "ctf/ctf.h"
#include "ring/ring.h"

struct kernel_record;

#define KERNEL_RECORD_BUFFER_DEFAULT (2ull << 20)
#define KERNEL_RECORD_DIRECTORY "kernel" /* of the trace, inside the recording's directory */

/* Events by "system:name" globs (protocol/pattern.h), with filters of their fields. */
struct kernel_record_choice {
	const char *pattern;
	const char *filter; /* in the kernel's filter language, or NULL */
	/*
	 * For listeners that choose events: a filter of side (filter/filter.h), or NULL. The kernel
	 * evaluates as much of it as it can, so that rejected records take no buffer space; the
	 * listener evaluates all of it.
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
	/*
	 * all processes; otherwise the processes that this thread starts from now on, after their
	 * exec
	 */
	bool machine;
	enum kernel_record_backend backend;
	uint64_t buffer_size; /* bytes of each CPU's buffer; 0: the default */

	/* Options of the trace. */
	const char *directory; /* is created; its parent must exist */
	const char *hostname;
	enum ring_clock clock;
	struct ctf_clock parameters;
	enum ctf_format format;
	int compression;
};

struct kernel_record_loss {
	char ring[32];
	char event[160];
	const char *reason;
	uint64_t count;
};

struct kernel_record_summary {
	const char *backend;    /* "perf buffers" or "the tracefs instance side-..." */
	const char *why;        /* why the other backend is not used: a sentence, or "" */
	uint64_t event_classes; /* enabled events */
	uint64_t events;        /* records in the trace */
	uint64_t bytes;
	uint64_t lost;
	/* event classes that were found some time after programs had registered them */
	uint64_t late;
	/* EventHeader records that are stored as bytes, because they cannot be decoded */
	uint64_t plain;
	const struct kernel_record_loss *losses;
	size_t nr_losses;
	const char *problem;      /* why the trace is incomplete, or "" */
	const char *problem_hint; /* what the user can do about it, or "" */
};

/*
 * True if perf's timestamps can be converted to TSC ticks. If not, a recording with events of the
 * kernel must use CLOCK_MONOTONIC for all events.
 */
bool kernel_record_knows_tsc(void);

/* Return 0, or a negative errno with *error set: -EPERM and -EACCES if permission is missing. */
int kernel_record_open(const struct kernel_record_options *options, struct kernel_record **record,
		struct error *error);
int kernel_record_start(struct kernel_record *record, struct error *error);
/*
 * Report the backend in use and why the other one is not used. May be called before the end, too.
 */
void kernel_record_backend(
		const struct kernel_record *record, const char **backend, const char **why);
/*
 * Stop and finish the trace. `clock` may be NULL. The summary is valid until kernel_record_close().
 */
const struct kernel_record_summary *kernel_record_stop(
		struct kernel_record *record, const struct ctf_clock *clock);
/* Instead of kernel_record_stop(): remove the trace. NULL is accepted, here and below. */
void kernel_record_discard(struct kernel_record *record);
void kernel_record_close(struct kernel_record *record);

/*
 * Call `call` for each event of the kernel that the patterns match (no pattern: all events), until
 * it returns anything but 0, which is then returned.
 */
typedef int kernel_record_name(void *user, const char *system, const char *name);
int kernel_record_each(const char *const *patterns, size_t nr, kernel_record_name *call, void *user,
		struct error *error);

/* ---- for callers that need each record instead of a trace ---- */

/* An event of the kernel, or an event that an EventHeader record describes. */
struct kernel_event {
	const char *system, *name;      /* the name of an EventHeader event is "TRACEPOINT:NAME" */
	int level;                      /* -1: none */
	const struct ctf_type *context; /* a structure, or NULL */
	const struct ctf_type *fields;  /* a structure */
	/* enabled only together with the tracepoint that carries it */
	bool comes_by_another;
	void *own; /* for use by the listener */
};

struct kernel_moment {
	uint64_t ticks; /* of the requested clock */
	uint32_t cpu;
	int32_t pid, tid; /* -1: not known */
	const char *comm;
};

struct kernel_payload {
	const uint8_t *data;
	size_t size;
};

/* Runs in the thread that calls the functions below. */
struct kernel_listener {
	void *user;
	/*
	 * The event and its types are valid until gone(). A return value other than 0 refuses the
	 * event: no records of it are delivered.
	 */
	int (*found)(void *user, struct kernel_event *event);
	void (*gone)(void *user, struct kernel_event *event);
	/* Payloads in the form of CTF: one value after the other. */
	void (*record)(void *user, const struct kernel_event *event,
			const struct kernel_moment *moment, struct kernel_payload context,
			struct kernel_payload fields);
	/* event: NULL if unknown. */
	void (*lost)(void *user, const struct kernel_event *event, uint32_t cpu, uint64_t count);
};

/*
 * Listen to the kernel's events.
 *
 * With choices: the events are enabled as in kernel_record_open(). Without: listen to the whole
 * machine with no event enabled; use kernel_listen_choose() and kernel_listen_switch(). Of the
 * options, only the clock and those that do not belong to the trace are used.
 */
int kernel_listen_open(const struct kernel_record_options *options,
		const struct kernel_listener *listener, struct kernel_record **record,
		struct error *error);
/*
 * Replace the choices: calls found() for each new event, and widens the filters of enabled events.
 * Returns -EINVAL if a pattern is malformed.
 */
int kernel_listen_choose(struct kernel_record *record, const struct kernel_record_choice *choices,
		size_t nr, struct error *error);
/* True if the pattern matches an event of the kernel, or one that a program may still register. */
bool kernel_listen_knows(const struct kernel_record *record, const char *pattern);
/*
 * Scan for events that programs may have registered since. Returns true if such events can exist.
 * Programs that have sent a notification wait until kernel_listen_seen(); enable their events
 * before that call.
 */
bool kernel_listen_scan(struct kernel_record *record);
bool kernel_listen_is_notified(struct kernel_record *record);
void kernel_listen_seen(struct kernel_record *record);
int kernel_listen_switch(struct kernel_record *record, const struct kernel_event *event, bool on,
		struct error *error);
void kernel_listen_each(struct kernel_record *record,
		void (*call)(void *user, const struct kernel_event *event, bool on), void *user);
/* Sleep until there are records or `fd` is readable, at most `timeout_ms`. */
void kernel_listen_wait(struct kernel_record *record, int fd, int timeout_ms);
/*
 * Deliver the records so far. `losses`: also read the exact losses, one system call for each event.
 * Returns true if there were records.
 */
bool kernel_listen_drain(struct kernel_record *record, bool losses);
/* Returns the number of enabled events that have a filter in the kernel. */
uint32_t kernel_listen_filtered(const struct kernel_record *record);
/* Returns the number of known events. */
uint64_t kernel_listen_classes(const struct kernel_record *record);
/*
 * Stop, and deliver the remaining records and losses. The summary has the backend, the number of
 * event classes and of records that could not be decoded.
 */
const struct kernel_record_summary *kernel_listen_end(struct kernel_record *record);

#endif /* SIDE_KERNEL_EVENTS_KERNEL_EVENTS_H */
