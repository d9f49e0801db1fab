/* SPDX-License-Identifier: MIT */
/* Collects messages for the user and losses for the summary. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "recorder/core/instance-state.h"
#include "recorder/core/log-limits.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"

enum error_kind report_error_kind(int code)
{
	code = code < 0 ? -code : code;
	if (code == EACCES || code == EPERM || code == EROFS)
		return ERROR_PERMISSION;
	return ERROR_FAILED;
}

/* Makes space for one more element of `size` bytes. On failure, `*array` remains valid. */
static bool record_report_grow_array(void *array_pointer, size_t nr, size_t *capacity, size_t size)
{
	void *array;
	size_t new_capacity = *capacity ? *capacity * 2 : 16;

	if (nr < *capacity)
		return true;
	memcpy(&array, array_pointer, sizeof(array));
	array = realloc(array, new_capacity * size);
	if (!array)
		return false;
	memcpy(array_pointer, &array, sizeof(array));
	*capacity = new_capacity;
	return true;
}

/* Takes ownership of the text. The caller holds the lock. */
static void add_message(struct session *session, struct session_message message)
{
	char *hint = message.text ? strchr(message.text, '\n') : NULL;

	if (hint) {
		*hint = '\0';
		message.hint = hint + 1;
	}
	if (message.text && session->reports.nr_messages < LIMIT_MESSAGES &&
			record_report_grow_array(&session->reports.messages,
					session->reports.nr_messages,
					&session->reports.messages_capacity,
					sizeof(*session->reports.messages))) {
		if (session->reports.nr_messages == LIMIT_MESSAGES - 1) {
			free(message.text);
			message.text = strdup("more messages like these are not shown");
			message.hint = NULL;
		}
		session->reports.messages[session->reports.nr_messages++] = message;
		message.text = NULL;
	}
	free(message.text);
}

void report(struct session *session, bool is_error, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	pthread_mutex_lock(&session->lock);
	add_message(session, (struct session_message){.is_error = is_error, .text = text});
	pthread_mutex_unlock(&session->lock);
}

/* The caller holds the lock. */
static void add_suppressed(struct session *session, uint64_t now)
{
	char text[LINES_TEXT];
	uint64_t suppressed;
	uid_t uid;

	while (lines_suppressed(&session->reports.lines, now, &uid, &suppressed)) {
		lines_describe(text, uid, suppressed);
		add_message(session,
				(struct session_message){.is_error = true,
						.is_about_program = true,
						.uid = uid,
						.text = strdup(text)});
	}
}

void report_about(struct session *session, uid_t uid, pid_t pid, bool is_error, const char *format,
		...)
{
	uint64_t now = clock_monotonic_ns();
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	pthread_mutex_lock(&session->lock);
	add_suppressed(session, now);
	if (lines_take(&session->reports.lines, now, uid, pid))
		add_message(session,
				(struct session_message){.is_error = is_error,
						.is_about_program = true,
						.uid = uid,
						.text = text});
	else
		free(text);
	pthread_mutex_unlock(&session->lock);
}

void report_suppressed(struct session *session, bool ends)
{
	pthread_mutex_lock(&session->lock);
	if (ends)
		lines_end(&session->reports.lines);
	add_suppressed(session, clock_monotonic_ns());
	pthread_mutex_unlock(&session->lock);
}

void report_failure(struct session *session, int code)
{
	enum error_kind kind = report_error_kind(code);

	pthread_mutex_lock(&session->lock);
	if (session->reports.failure != ERROR_PERMISSION)
		session->reports.failure = kind;
	pthread_mutex_unlock(&session->lock);
}

/* The struct has const members, but owns its texts. */
static void free_loss(const struct session_loss *loss)
{
	free((void *)(uintptr_t)loss->process);
	free((void *)(uintptr_t)loss->ring);
	free((void *)(uintptr_t)loss->event);
	free((void *)(uintptr_t)loss->reason);
}

void reports_free(struct session *session)
{
	size_t i;

	for (i = 0; i < session->reports.nr_messages; i++)
		free(session->reports.messages[i].text);
	free(session->reports.messages);
	free(session->refusals.first);
	for (i = 0; i < session->reports.nr_losses; i++)
		free_loss(&session->reports.losses[i]);
	free(session->reports.losses);
}

static char *record_report_copy_text(const char *text)
{
	return strdup(text ? text : "");
}

void report_loss(struct session *session, const struct instance *instance, const char *ring,
		const char *event, const char *reason, uint64_t count, bool in_bytes)
{
	struct session_loss loss = {
			.process = record_report_copy_text(instance->directory
							? instance->directory
							: instance->procname),
			.ring = record_report_copy_text(ring),
			.event = record_report_copy_text(event),
			.reason = record_report_copy_text(reason),
			.count = count,
			.in_bytes = in_bytes,
	};

	bool is_whole = loss.process && loss.ring && loss.event && loss.reason;

	pthread_mutex_lock(&session->lock);
	/*
	 * A live session can run for months, so it stores losses only at its end. Before that, the
	 * traces contain them.
	 */
	if (session->service && !session->service->over) {
		free_loss(&loss);
	} else if (is_whole && (session->reports.nr_losses < LIMIT_SESSION_LOSSES || in_bytes) &&
			record_report_grow_array(&session->reports.losses,
					session->reports.nr_losses,
					&session->reports.losses_capacity, sizeof(loss))) {
		session->reports.losses[session->reports.nr_losses++] = loss;
	} else {
		/* If out of memory, the summary must still count this loss. */
		session->reports.losses_remainder += in_bytes ? 0 : count;
		free_loss(&loss);
	}
	pthread_mutex_unlock(&session->lock);
}
