/* SPDX-License-Identifier: MIT */
/* Errors, notes and progress of the analysis library, as the command line prints them. */
#include "programs/side/analysis/library-messages.h"

#include "analysis/view-time.h"
#include "analysis/where.h"
#include "base/error.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"

static void library_messages_print(
		void *user, enum analysis_message kind, const char *hint, const char *text)
{
	(void)user;
	if (kind == ANALYSIS_NOTE)
		message_note("%s", text);
	else
		message_error(COMMAND_FAILED, hint, "%s", text);
}

static void library_messages_show_progress(const char *verb, const char *done, uint64_t events)
{
	char text[FORMAT_NUMBER_MAX];

	if (progress_is_due())
		progress_show("side: %s: %s %s", verb, done, format_events(events, text));
}

static void library_messages_show_read(void *user, uint64_t events)
{
	library_messages_show_progress(user, "read", events);
}

static void library_messages_show_written(void *user, uint64_t events)
{
	library_messages_show_progress(user, "wrote", events);
}

struct analysis_listener command_listener(const char *verb)
{
	return (struct analysis_listener){.report = library_messages_print,
			.progress = verb ? library_messages_show_read : NULL,
			.user = (void *)(uintptr_t)verb};
}

struct analysis_listener command_write_listener(const char *verb)
{
	return (struct analysis_listener){.report = library_messages_print,
			.progress = library_messages_show_written,
			.user = (void *)(uintptr_t)verb};
}

int command_parse_where(const char *option, const char *text, struct where *ret_where)
{
	struct error error = {.code = 0};

	return where_parse(option, text, ret_where, &error) ? message_library_error(&error)
							    : COMMAND_DONE;
}

int command_read_times(const struct time_range *times, struct view_time *ret_from,
		struct view_time *ret_to)
{
	struct error error = {.code = 0};

	return view_times_read(times, ret_from, ret_to, &error) ? message_library_error(&error)
								: COMMAND_DONE;
}
