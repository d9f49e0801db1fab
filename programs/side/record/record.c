/* SPDX-License-Identifier: MIT */
/*
 * The verb `record`: runs a session around a command, and prints its summary.
 *
 * The command owns standard output and the terminal. All our messages go to standard error, before
 * the command starts or after it has ended. The progress line is printed in between, so it requires
 * --verbose and a terminal.
 */
#include "programs/common/command.h"
#include "programs/side/session/losses.h"
#include "kernel.h"
#include "no-events.h"
#include "private-directory.h"
#include "printing.h"
#include "programs/common/progress.h"
#include "programs/common/message.h"
#include "programs/side/relay/sending.h"

#include "recorder/core/live.h"
#include "recorder/core/session.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rows of the tables in the summary. --verbose prints all. */
#define SUMMARY_ROWS 10

enum command_status command_session_status(enum error_kind kind)
{
	switch (kind) {
	case ERROR_NONE: return COMMAND_DONE;
	case ERROR_FAILED:
	case ERROR_BUSY: return COMMAND_FAILED;
	case ERROR_USAGE: return COMMAND_USAGE;
	case ERROR_PERMISSION: return COMMAND_NOT_PERMITTED;
	case ERROR_NOT_FOUND: return COMMAND_NOT_FOUND;
	case ERROR_NOT_EXECUTABLE: return COMMAND_NOT_EXECUTABLE;
	}
	return COMMAND_FAILED;
}

/* The exit status of a shell for the command. */
static int record_exit_status(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	if (WIFSIGNALED(wait_status))
		return COMMAND_SIGNAL + WTERMSIG(wait_status);
	return COMMAND_FAILED;
}

int command_session_error(const struct error *error)
{
	return message_error_status(command_session_status(error->kind), error);
}

int command_compression(uint64_t value, int *ret_status)
{
	*ret_status = COMMAND_DONE;
	if (value == OPTION_BARE)
		return SESSION_COMPRESS_DEFAULT;
	if (value <= SESSION_COMPRESS_MAX)
		return (int)value;
	*ret_status = message_error(COMMAND_USAGE, NULL,
			"cannot compress at level %" PRIu64 ": levels are 1 to %d", value,
			SESSION_COMPRESS_MAX);
	return -1;
}

void command_progress(void *user, uint64_t bytes, size_t processes, uint64_t lost)
{
	const struct parsed *parsed = user;
	char size[FORMAT_NUMBER_MAX], count[FORMAT_NUMBER_MAX];

	if (progress_is_due())
		progress_show("side: %s: %s of %zu %s, %s lost", parsed->verb->name,
				format_size(bytes, size), processes,
				processes == 1 ? "process" : "processes",
				format_number(lost, count));
}

/* ---- the summary ---- */

/* A process counts if at least one event was recorded or lost. */
static bool record_has_events(const struct session_process *process)
{
	return process->recorded || process->lost || process->overwritten;
}

static size_t record_count_processes(const struct session_summary *summary)
{
	size_t count = 0;

	for (size_t i = 0; i < summary->nr_processes; i++)
		count += record_has_events(&summary->processes[i]);
	/* For an empty recording, count all processes. */
	return count ? count : summary->nr_processes;
}

/* Sorts by the number of events, then by the order in the summary. */
static int record_compare_processes(const void *one, const void *other)
{
	const struct session_process *a = *(const struct session_process *const *)one;
	const struct session_process *b = *(const struct session_process *const *)other;

	if (record_has_events(a) != record_has_events(b))
		return record_has_events(a) ? -1 : 1;
	if (a->recorded != b->recorded)
		return a->recorded > b->recorded ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void record_print_rows(const struct session_process *const *order, size_t count, size_t rows)
{
	for (size_t i = 0; i < count && i < rows; i++) {
		const struct session_process *process = order[i];
		char name[512], procname[128], events[FORMAT_NUMBER_MAX], size[FORMAT_NUMBER_MAX];
		char classes[FORMAT_NUMBER_MAX];

		if (*process->directory)
			format_printable(process->directory, name, sizeof(name));
		else
			snprintf(name, sizeof(name), "%s, pid %" PRIu32,
					format_printable(process->procname, procname,
							sizeof(procname)),
					process->pid);
		fprintf(stderr, "  %-28s  %s, %s (%s event class%s enabled)\n", name,
				format_events(process->recorded, events),
				format_size(process->bytes, size),
				format_number(process->events, classes),
				process->events == 1 ? "" : "es");
	}
	if (count > rows)
		fprintf(stderr, "  and %zu more (see them all with --verbose)\n", count - rows);
}

static void record_print_processes(const struct session_summary *summary, size_t rows)
{
	const struct session_process **order = calloc(summary->nr_processes + 1, sizeof(*order));
	const size_t count = record_count_processes(summary);

	if (!order)
		return;
	for (size_t i = 0; i < summary->nr_processes; i++)
		order[i] = &summary->processes[i];
	qsort(order, summary->nr_processes, sizeof(*order), record_compare_processes);
	record_print_rows(order, count, rows);
	free(order);
	if (summary->nr_processes > count)
		fprintf(stderr, "  and %zu process%s without events\n",
				summary->nr_processes - count,
				summary->nr_processes - count == 1 ? "" : "es");
}

static bool record_has_losses(const struct session_summary *summary)
{
	return summary->lost || summary->unwritten;
}

static bool record_has_too_big(const struct session_summary *summary)
{
	for (size_t i = 0; i < summary->nr_losses; i++) {
		if (!strcmp(summary->losses[i].reason, SESSION_LOST_TOO_BIG))
			return true;
	}
	return false;
}

static void record_print_loss(const struct session_loss *loss)
{
	char process[256], event[512], count[FORMAT_NUMBER_MAX];

	fprintf(stderr, "  %s%s%s  %s  %s (%s)\n",
			format_printable(loss->process, process, sizeof(process)),
			*loss->ring ? "/" : "", loss->ring,
			*loss->event ? format_printable(loss->event, event, sizeof(event))
				     : "events with unknown names",
			loss->in_bytes ? format_size(loss->count, count)
				       : format_number(loss->count, count),
			loss->reason);
}

static enum lost_verb record_lost_verb(const struct parsed *parsed)
{
	enum verb_id verb = parsed->verb->id;

	return parsed->for_answer              ? LOST_OF_ANSWER
			: verb == VERB_TRACE   ? LOST_OF_TRACE
			: verb == VERB_RECOVER ? LOST_OF_RECOVER
					       : LOST_OF_RECORD;
}

static void record_print_losses(
		const struct session_summary *summary, const struct parsed *parsed, size_t rows)
{
	struct lost_sums losses = {.verb = record_lost_verb(parsed)};
	char size[FORMAT_NUMBER_MAX];

	lost_add_summary(&losses, summary, summary->lost);
	lost_print(&losses);
	if (summary->unwritten)
		fprintf(stderr, "%s events of %s could not be written\n", message_label(true),
				format_size(summary->unwritten, size));
	for (size_t i = 0; i < summary->nr_losses && i < rows; i++)
		record_print_loss(&summary->losses[i]);
	if (rows && summary->nr_losses > rows)
		fprintf(stderr, "  and %zu more (see them all with --verbose)\n",
				summary->nr_losses - rows);
	if (record_has_too_big(summary))
		fprintf(stderr, "%s an event can have at most %s, and at most half a ring; larger events are lost\n",
				message_label(false), format_size(SESSION_EVENT_BYTES, size));
}

/* An event can be in several snapshots, so their events are not added up. */
static void record_print_snapshots(const struct session_summary *summary)
{
	char first[FORMAT_NUMBER_MAX], last[FORMAT_NUMBER_MAX];

	if (!summary->snapshots)
		return;
	format_events(summary->snapshot_first_recorded, first);
	format_events(summary->snapshot_last_recorded, last);
	if (summary->snapshots == 1)
		fprintf(stderr, "%s 1 snapshot in %s: %s, %s\n", message_label(false),
				summary->output, summary->snapshot_first, first);
	else
		fprintf(stderr,
				"%s %" PRIu32
				" snapshots in %s: %s, %s, %s %s, %s; snapshots can share events\n",
				message_label(false), summary->snapshots, summary->output,
				summary->snapshot_first, first,
				summary->snapshots == 2 ? "and" : "to", summary->snapshot_last,
				last);
}

/* Prints overwritten events, chunks and snapshots. */
static void record_print_windows(const struct session_summary *summary)
{
	char size[FORMAT_NUMBER_MAX];

	if (summary->overwritten)
		fprintf(stderr, "%s %s of older events were overwritten, as `--mode overwrite` requests\n",
				message_label(false), format_size(summary->overwritten, size));
	if (summary->chunks)
		fprintf(stderr, "%s %" PRIu32 " chunk%s in %s", message_label(false),
				summary->chunks, summary->chunks == 1 ? "" : "s", summary->output);
	if (summary->chunks_removed)
		fprintf(stderr,
				"; %" PRIu32
				" of %s, %s, %s removed by --keep-size, --keep-age or --keep-count",
				summary->chunks_removed, summary->chunks == 1 ? "it" : "them",
				format_size(summary->chunks_removed_bytes, size),
				summary->chunks_removed == 1 ? "was" : "were");
	if (summary->chunks)
		fputc('\n', stderr);
	record_print_snapshots(summary);
}

static void record_print_no_events(
		const struct session_summary *summary, const struct parsed *parsed)
{
	const struct option_uses *uses = &parsed->options.record.channels;

	for (size_t i = 0; i < uses->count; i++) {
		const struct option_use *use = &uses->items[i];

		if (strcmp(use->option->name, "event") != 0 ||
				!kernel_recording_is_event(use->text))
			continue;
		fprintf(stderr, "%s no event was recorded: `%s` is an event of the kernel\n%s `-k` records it\n",
				message_label(false), use->text, message_hint_label());
		return;
	}
	if (parsed->verb->id == VERB_TRACE) {
		fprintf(stderr, "%s nothing was recorded: the program reached none of the locations%s\n",
				message_label(false),
				parsed->options.record.filter ? ", or no event matched `--filter`"
							      : "");
		return;
	}
	no_events_explain(&(const struct no_events_query){.uses = uses,
					  .wrappers = &parsed->options.record.wrappers},
			summary);
}

static void record_print_summary(const struct session_summary *summary, const struct parsed *parsed)
{
	bool records = parsed->verb->id != VERB_RECOVER;
	bool has_kernel = records && parsed->options.record.kernel.count;
	bool is_kept = !records || !parsed->options.record.print || parsed->options.record.output;
	const char *done = records ? "recorded" : "recovered";
	size_t rows = parsed->common.verbose ? SIZE_MAX : SUMMARY_ROWS;
	/* The directory here is temporary: name the receiver instead. */
	const char *receiver = records && !parsed->options.record.output ? parsed->options.record.to
									 : NULL;
	char output[4096], events[FORMAT_NUMBER_MAX], size[FORMAT_NUMBER_MAX];

	/* The recorder of global probes has already explained an empty recording. */
	if (records && parsed->options.record.global.on && !summary->bytes &&
			!record_has_losses(summary))
		return;
	if (!output_is_silent()) {
		fprintf(stderr, "%s %s %s from %zu %s, %s%s%s%s\n", message_label(false), done,
				format_events(summary->recorded, events),
				record_count_processes(summary),
				record_count_processes(summary) == 1 ? "process" : "processes",
				format_size(summary->bytes, size),
				receiver                  ? ", for "
						: is_kept ? ", in "
							  : "",
				receiver || is_kept ? format_printable(receiver ? receiver
										: summary->output,
								      output, sizeof(output))
						    : "",
				summary->interrupted ? "; interrupted before the command ended"
						     : "");
		record_print_processes(summary, rows);
		record_print_windows(summary);
	}
	/* A loss is no note, so --quiet does not suppress it. */
	if (record_has_losses(summary))
		record_print_losses(summary, parsed, output_is_silent() ? 0 : rows);
	if (output_is_silent())
		return;
	/* The session has already reported that no process was reached. */
	if (!summary->nr_processes && !has_kernel)
		return;
	if (!summary->bytes && !record_has_losses(summary) && records && !has_kernel)
		record_print_no_events(summary, parsed);
	else if (!receiver && is_kept)
		fprintf(stderr, "%s see it with: side view %s\n", message_label(false),
				format_quoted(summary->output, output, sizeof(output)));
}

static void record_json_summary(FILE *out, const struct session_summary *summary,
		const struct parsed *parsed, int status)
{
	struct lost_sums losses = {.verb = record_lost_verb(parsed)};

	fprintf(out, "{\"schema\":%d,\"type\":\"summary\",\"verb\":\"%s\",\"output\":",
			OUTPUT_JSON_SCHEMA, parsed->verb->name);
	print_json_string(out, summary->output);
	fprintf(out,
			",\"recorded\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64
			",\"unwritten\":%" PRIu64 ",\"overwritten\":%" PRIu64
			",\"snapshots\":%" PRIu32 ",\"snapshot_recorded\":%" PRIu64
			",\"memory_peak\":%" PRIu64 ",\"interrupted\":%s",
			summary->recorded, summary->bytes, summary->lost, summary->unwritten,
			summary->overwritten, summary->snapshots, summary->snapshot_recorded,
			summary->memory_peak, summary->interrupted ? "true" : "false");
	if (summary->chunks)
		fprintf(out,
				",\"chunks\":%" PRIu32 ",\"chunks_removed\":%" PRIu32
				",\"chunks_removed_bytes\":%" PRIu64,
				summary->chunks, summary->chunks_removed,
				summary->chunks_removed_bytes);
	if (summary->disk_full)
		fprintf(out, ",\"disk_full\":%" PRIu32, summary->disk_full);
	if (status >= 0)
		fprintf(out, ",\"command_status\":%d", status);
	fputs(",\"processes\":[", out);
	for (size_t i = 0; i < summary->nr_processes; i++) {
		const struct session_process *process = &summary->processes[i];

		fprintf(out, "%s{\"directory\":", i ? "," : "");
		print_json_string(out, process->directory);
		fputs(",\"name\":", out);
		print_json_string(out, process->procname);
		fputs(",\"executable\":", out);
		print_json_string(out, process->exe);
		/* "kinds" is the former name of "classes", until the next release. */
		fprintf(out,
				",\"pid\":%" PRIu32 ",\"parent\":%" PRIu32 ",\"classes\":%" PRIu64
				",\"kinds\":%" PRIu64 ",\"recorded\":%" PRIu64 ",\"bytes\":%" PRIu64
				",\"lost\":%" PRIu64 ",\"overwritten\":%" PRIu64
				",\"ring_size\":%" PRIu64 ",\"rings\":%" PRIu32 "}",
				process->pid, process->parent, process->events, process->events,
				process->recorded, process->bytes, process->lost,
				process->overwritten, process->ring_size, process->rings);
	}
	fputs("],\"losses\":[", out);
	for (size_t i = 0; i < summary->nr_losses; i++) {
		const struct session_loss *loss = &summary->losses[i];

		fprintf(out, "%s{\"process\":", i ? "," : "");
		print_json_string(out, loss->process);
		fputs(",\"ring\":", out);
		print_json_string(out, loss->ring);
		fputs(",\"event\":", out);
		print_json_string(out, loss->event);
		fputs(",\"reason\":", out);
		print_json_string(out, loss->reason);
		fprintf(out, ",\"count\":%" PRIu64 ",\"in_bytes\":%s}", loss->count,
				loss->in_bytes ? "true" : "false");
	}
	lost_add_summary(&losses, summary, summary->lost);
	fputs("],\"reasons\":", out);
	lost_json(out, &losses);
	fputs("}\n", out);
}

/* ---- the verb ---- */

/* The exit status of `side`, by the priority that matters to scripts. */
static int record_final_status(const struct session_summary *summary,
		const struct record_options *options, int failed)
{
	int status = summary->status >= 0      ? record_exit_status(summary->status)
			: summary->interrupted ? COMMAND_SIGNAL + SIGINT
					       : COMMAND_DONE;

	if (options->strict && (record_has_losses(summary) || summary->nr_refused))
		return COMMAND_LOST;
	if (status)
		return status;
	if (failed)
		return failed;
	return (int)command_session_status(summary->failure);
}

static void record_print_message(const struct session_message *message)
{
	if (message->is_error)
		message_error(COMMAND_FAILED, message->hint, "%s", message->text);
	else
		message_note_hint(message->hint, "%s", message->text);
}

void command_session_messages(const struct session_summary *summary)
{
	for (size_t i = 0; i < summary->nr_messages; i++)
		record_print_message(&summary->messages[i]);
}

void command_live_messages(struct session *session)
{
	struct session_message message;

	while (session_take_message(session, &message)) {
		record_print_message(&message);
		free(message.text);
	}
}

/* The answer is incomplete if processes still run, so --quiet does not suppress the note. */
static void record_print_survivors(const struct session_summary *summary)
{
	uint32_t nr = summary->survivors;

	if (nr)
		fprintf(stderr,
				"%s %" PRIu32
				" process%s of the command still run%s; the answer does not contain %s later events\n%s `-p PID` records a running process\n",
				message_label(false), nr, nr == 1 ? "" : "es", nr == 1 ? "s" : "",
				nr == 1 ? "its" : "their", message_hint_label());
}

void command_session_summary(
		const struct session_summary *summary, const struct parsed *parsed, int status)
{
	if (parsed->for_answer && !parsed->common.json)
		record_print_survivors(summary);
	if (!parsed->common.json)
		record_print_summary(summary, parsed);
	else if (!output_is_silent() || record_has_losses(summary))
		record_json_summary(stderr, summary, parsed, status);
	fflush(stderr);
}

/*
 * Reports the signal that ended the command, which no shell does here. Signals that the user caused
 * are not reported.
 */
static void record_print_signal(const struct session_summary *summary, const char *command)
{
	int number;

	if (summary->status < 0 || !WIFSIGNALED(summary->status) || summary->interrupted)
		return;
	number = WTERMSIG(summary->status);
	if (number != SIGINT && number != SIGPIPE)
		message_note("%s was killed by signal %d (%s%s)", command, number,
				strsignal(number),
				WCOREDUMP(summary->status) ? ", core dumped" : "");
}

static int record_finish(struct session *session, const struct parsed *parsed, int failed)
{
	const struct session_summary *summary = session_summary(session);

	record_print_signal(summary, parsed->operand_count ? parsed->operands[0] : "the command");
	command_session_messages(summary);
	command_session_summary(summary, parsed,
			summary->status >= 0 ? record_exit_status(summary->status) : -1);
	return record_final_status(summary, &parsed->options.record, failed);
}

/* Removes the output directory if the recording created it and wrote nothing. */
static void record_remove_output(struct session *session, bool existed)
{
	/* rmdir() removes only an empty directory. */
	if (!existed)
		rmdir(session_summary(session)->output);
}

/* Records kernel events without a command. */
static int record_kernel(const struct parsed *parsed, struct session *session,
		struct kernel_recording *kernel, struct printing *printing)
{
	const char *output = session_summary(session)->output;
	char shown[4096];
	int status = kernel_recording_start(kernel, parsed, session, output), finished;

	if (status) {
		rmdir(output);
		return status;
	}
	status = printing_start(printing, parsed, output, false);
	if (!status)
		kernel_recording_wait();
	finished = kernel_recording_finish(kernel, parsed, session);
	status = status ? status : finished;
	if (!parsed->common.json && !output_is_silent() && !printing->temporary)
		fprintf(stderr, "%s see it with: side view %s\n", message_label(false),
				format_quoted(output, shown, sizeof(shown)));
	return status;
}

static int record_run(const struct parsed *parsed, const struct session_options *options,
		struct sending_state *sending, struct kernel_recording *kernel,
		struct printing *printing, command_after_fn *after, void *user)
{
	bool existed = options->output && !access(options->output, F_OK);
	struct error error;
	struct session *session;
	int status = COMMAND_DONE, sent_status, kernel_status;

	if (session_create(options, &session, &error))
		return command_session_error(&error);
	if (kernel->alone && !kernel->joined) {
		status = record_kernel(parsed, session, kernel, printing);
		session_destroy(session);
		return status;
	}
	status = kernel_recording_start(kernel, parsed, session, session_summary(session)->output);
	if (status) {
		record_remove_output(session, existed);
		session_destroy(session);
		return status;
	}
	status = printing_start(printing, parsed, session_summary(session)->output,
			!kernel->alone && parsed->operand_count && !options->pass_on);
	if (status) {
		kernel_recording_discard(kernel);
		session_destroy(session);
		return status;
	}
	/*
	 * With additional variables the command is side-uprobes, and the kernel executes the
	 * probes.
	 */
	if (!options->nr_environment)
		record_note_private(parsed->operands);
	if (session_spawn(session,
			    kernel->joined ? kernel_recording_args(kernel) : parsed->operands,
			    &error)) {
		kernel_recording_discard(kernel);
		record_remove_output(session, existed);
		status = command_session_error(&error);
		session_destroy(session);
		return status;
	}
	if (kernel->alone)
		kernel_recording_print_begin();
	sent_status = sending_start(sending, parsed, session_summary(session)->output);
	/* With --print the events themselves show the progress. */
	if (!printing->temporary)
		session_on_progress(session, command_progress, (void *)(uintptr_t)parsed);
	if (session_run(session, &error))
		status = command_session_error(&error);
	/* The command has ended. A closed pipe must not replace its exit status. */
	signal(SIGPIPE, SIG_IGN);
	progress_end();
	kernel_status = kernel_recording_finish(kernel, parsed, session);
	if (kernel->refused) {
		(void)sending_finish(sending, session_summary(session)->output);
		record_remove_output(session, existed);
		session_destroy(session);
		return kernel_status;
	}
	status = record_finish(session, parsed, status);
	if (!status || kernel_status == COMMAND_LOST)
		status = kernel_status == COMMAND_DONE ? status : kernel_status;
	if (after && !status)
		status = after(user, session);
	else if (after)
		(void)after(user, session);
	if (!sent_status)
		sent_status = sending_finish(sending, session_summary(session)->output);
	if (sent_status == COMMAND_LOST && !parsed->options.record.strict)
		sent_status = COMMAND_DONE;
	status = status ? status : sent_status;
	/* side-uprobes may have refused the probes. */
	if (status && options->nr_environment)
		record_remove_output(session, existed);
	session_destroy(session);
	return status;
}

int command_record(const struct parsed *parsed, const struct session_options *options,
		command_after_fn *after, void *user)
{
	struct sending_state sending = {.url = NULL};
	struct kernel_recording kernel = {.wanted = false};
	struct session_options printed = *options;
	struct printing printing;
	int status = printing_prepare(&printing, parsed->options.record.print, &printed.output);

	if (!status)
		status = record_run(parsed, &printed, &sending, &kernel, &printing, after, user);
	printing_finish(&printing);
	return status;
}

int cmd_record(const struct parsed *parsed)
{
	const struct record_options *options = &parsed->options.record;
	struct session_options session_options = {
			.mode = SESSION_RECORD,
			.output = options->output,
			.force = options->force,
			.memory_limit = options->memory_limit,
			.format = (enum session_format)options->format,
			.huge_pages = options->huge_pages,
			.prefault = options->prefault,
			.buffers = options->buffers,
			.wrappers = options->wrappers.items,
			.nr_wrappers = options->wrappers.count,
			.wait_all = options->wait_all,
			.snapshot_on = options->snapshot_on.items,
			.nr_snapshot_on = options->snapshot_on.count,
			.snapshot_max = options->snapshot_max > UINT32_MAX
					? UINT32_MAX
					: (uint32_t)options->snapshot_max,
			.rotation = {.size = options->rotate_size,
					.period_ns = options->rotate_every,
					.on_request = options->rotate},
			.retention = {.size = options->keep_size,
					.age_ns = options->keep_age,
					.count = options->keep_count > UINT32_MAX
							? UINT32_MAX
							: (uint32_t)options->keep_count},
	};
	struct channel_list *channels;
	struct sending_state sending = {.url = NULL};
	struct kernel_recording kernel = {.wanted = false};
	struct printing printing = {.end_fd = -1};
	int status;

	/* For libside's loader in COMMAND and in its child processes. */
	if (options->validate)
		setenv("SIDE_VALIDATE", "1", 1);
	status = command_channels(
			&options->channels, options->symbols && !parsed->for_answer, &channels);
	if (!status && options->symbols && parsed->for_answer)
		channel_list_add_symbols(channels);
	if (!status)
		status = kernel_recording_prepare(&kernel, parsed, &session_options);
	if (!status)
		session_options.compress = command_compression(options->compress, &status);
	if (!status) {
		session_options.channels =
				channel_list_items(channels, &session_options.nr_channels);
		status = kernel_recording_join(&kernel, parsed, &session_options);
	}
	if (!status) {
		status = sending_prepare(&sending, parsed, &session_options);
		if (!status)
			status = printing_prepare(
					&printing, options->print, &session_options.output);
		if (!status)
			status = record_run(parsed, &session_options, &sending, &kernel, &printing,
					NULL, NULL);
		printing_finish(&printing);
		sending_finish(&sending, NULL);
	}
	kernel_recording_free(&kernel);
	channel_list_free(channels);
	return status;
}
