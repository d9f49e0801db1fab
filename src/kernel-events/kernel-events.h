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
#include "kernel-events/record-types.h"

struct kernel_record;

/*
 * True if perf's timestamps can be converted to TSC ticks. If not, a recording with events of the
 * kernel must use CLOCK_MONOTONIC for all events.
 */
bool kernel_record_knows_tsc(void);

/* Return 0, or a negative errno with *error set: -EPERM and -EACCES if permission is missing. */
int kernel_record_open(const struct kernel_record_options *options,
		struct kernel_record **ret_record, struct error *error);
int kernel_record_start(struct kernel_record *record, struct error *error);
/*
 * Report the backend in use and why the other one is not used. May be called before the end, too.
 */
void kernel_record_backend(
		const struct kernel_record *record, const char **ret_backend, const char **ret_why);
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
int kernel_record_each(const char *const *patterns, size_t nr, kernel_record_name *each, void *user,
		struct error *error);

/* ---- for callers that need each record instead of a trace ---- */

/*
 * Listen to the kernel's events.
 *
 * With choices: the events are enabled as in kernel_record_open(). Without: listen to the whole
 * machine with no event enabled; use kernel_listen_choose() and kernel_listen_switch(). Of the
 * options, only the clock and those that do not belong to the trace are used.
 */
int kernel_listen_open(const struct kernel_record_options *options,
		const struct kernel_listener *listener, struct kernel_record **ret_record,
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
