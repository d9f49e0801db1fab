/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_REPORT_H
#define SIDE_RECORDER_CORE_REPORT_H

/*
 * Messages for the user, losses for the summary, and the kinds of errors.
 *
 * Callers: all parts. Main thread or drain thread, without the session's lock: the functions with a
 * session take it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/log-limits.h"
#include "recorder/core/session.h"

struct instance;

#define LIMIT_MESSAGES 200
#define LIMIT_SESSION_LOSSES 65536

/* Protected by the session's lock. */
struct session_reports {
	struct log_line_budget lines; /* limits of messages about programs */
	struct session_message *messages;
	size_t nr_messages;
	size_t messages_capacity;
	struct session_loss *losses;
	size_t nr_losses;
	size_t losses_capacity;
	uint64_t losses_remainder; /* records lost beyond the limit of separate losses */
	enum error_kind failure;
};

/*
 * Adds a message for the user. The text is a sentence, optionally followed by a newline and a hint.
 */
void report(struct session *session, bool is_error, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
/* Records a failure for the exit status: permission errors have a status of their own. */
void report_failure(struct session *session, int code);
void report_loss(struct session *session, const struct instance *instance, const char *ring,
		const char *event, const char *reason, uint64_t count, bool in_bytes);
/*
 * As report(), about a process of this user. Processes and users have limits in the log
 * (log-limits.h), so none of them fills it alone.
 */
void report_about(struct session *session, uid_t uid, pid_t pid, bool is_error, const char *format,
		...) __attribute__((format(printf, 5, 6)));
/* As report_about(), with user and process of the instance. */
#define report_instance(session, instance, is_error, ...) \
	report_about((session), (instance)->account, (instance)->peer, (is_error), __VA_ARGS__)
/* Reports the number of suppressed messages if the minute is over, or if `ends`. */
void report_suppressed(struct session *session, bool ends);
/* Call it when no other thread uses the session. */
void reports_free(struct session *session);
/*
 * Returns ERROR_PERMISSION for EACCES, EPERM and EROFS, else ERROR_FAILED. Unlike error_set(), it
 * includes EROFS. The code has either sign.
 */
enum error_kind report_error_kind(int code);

#endif
