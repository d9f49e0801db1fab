/* SPDX-License-Identifier: MIT */
/* `side record --kernel`: records kernel events in a separate trace, beside those of programs. */
#include "kernel.h"
#include "programs/common/message.h"

#include "programs/common/kernel-report.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_TRIES 10000

/* ---- options ---- */

static bool record_kernel_add_choice(struct kernel_recording *recording, const char *before,
		const char *text, size_t size)
{
	struct kernel_record_choice *choices = reallocarray(
			recording->choices, recording->nr_choices + 1, sizeof(*choices));
	char *pattern;

	if (!choices)
		return false;
	recording->choices = choices;
	if (asprintf(&pattern, "%s%s%.*s", *text == '!' ? "!" : "", before,
			    (int)size - (*text == '!'), text + (*text == '!')) < 0)
		return false;
	choices[recording->nr_choices++] = (struct kernel_record_choice){.pattern = pattern};
	return true;
}

/* Splits a list of patterns at commas, as other tools do; names contain no comma. */
static bool record_kernel_add_patterns(
		struct kernel_recording *recording, const char *text, bool syscalls)
{
	static const char enter[] = "syscalls:sys_enter_", leave[] = "syscalls:sys_exit_";
	bool fits = true;

	while (*text && fits) {
		size_t size = strcspn(text, ",");

		if (size)
			fits = record_kernel_add_choice(
					recording, syscalls ? enter : "", text, size);
		if (size && syscalls && fits)
			fits = record_kernel_add_choice(recording, leave, text, size);
		text += size + (text[size] == ',');
	}
	return fits;
}

static int record_kernel_read_choices(
		struct kernel_recording *recording, const struct option_uses *uses)
{
	size_t i, first = 0;

	for (i = 0; i < uses->count; i++) {
		const struct option_use *use = &uses->items[i];

		if (strcmp(use->option->name, "kernel-filter") != 0) {
			first = recording->nr_choices;
			if (!record_kernel_add_patterns(recording, use->text,
					    !strcmp(use->option->name, "syscall")))
				return message_error(COMMAND_FAILED, NULL, "out of memory");
			continue;
		}
		if (!recording->nr_choices)
			return message_error(COMMAND_USAGE, NULL,
					"cannot use `--kernel-filter` here: write it after the `--kernel` that it filters");
		for (size_t k = first; k < recording->nr_choices; k++)
			recording->choices[k].filter = use->text;
	}
	return recording->nr_choices
			? COMMAND_DONE
			: message_error(COMMAND_USAGE, "`side list -k` lists kernel events",
					  "missing pattern: `--kernel` needs the name of a kernel event");
}

int kernel_recording_prepare(struct kernel_recording *recording, const struct parsed *parsed,
		struct session_options *session)
{
	const struct record_options *options = &parsed->options.record;
	int status;

	*recording = (struct kernel_recording){
			.wanted = options->kernel.count, .alone = !parsed->operand_count};
	if (!recording->wanted && recording->alone)
		return message_error(COMMAND_USAGE, "see `side record --help`",
				"missing command to record");
	if (!recording->wanted)
		return options->kernel_all || options->kernel_buffer || options->kernel_backend
				? message_error(COMMAND_USAGE, NULL,
						  "cannot use `--kernel-all`, `--kernel-buffer` or `--kernel-method` without `--kernel`")
				: COMMAND_DONE;
	status = record_kernel_read_choices(recording, &options->kernel);
	if (status)
		return status;
	/*
	 * All traces of a recording have one clock, and the time of perf is not always that of the
	 * TSC.
	 */
	session->monotonic = options->kernel_backend != KERNEL_RECORD_TRACEFS &&
			!kernel_record_knows_tsc();
	return COMMAND_DONE;
}

/* ---- the recording ---- */

static int record_kernel_on_event_found(void *user, const char *system, const char *name)
{
	(void)user;
	(void)system;
	(void)name;
	return 1;
}

bool kernel_recording_is_event(const char *pattern)
{
	struct error ignored;

	return strchr(pattern, ':') && *pattern != '*' && *pattern != '!' &&
			kernel_record_each(&pattern, 1, record_kernel_on_event_found, NULL,
					&ignored) == 1;
}

/* Reports once that the kernel events cannot be recorded. The recording of the programs goes on. */
static int record_kernel_set_error(struct kernel_recording *recording, const struct error *error)
{
	bool denied = error->code == -EACCES || error->code == -EPERM;
	int status = error->code == -EINVAL ? COMMAND_USAGE
			: denied            ? COMMAND_NOT_PERMITTED
					    : COMMAND_FAILED;

	message_error((enum command_status)status, error->hint, "cannot record kernel events: %s",
			error->text);
	recording->failed = status;
	return recording->alone || status == COMMAND_USAGE ? status : COMMAND_DONE;
}

void kernel_recording_discard(struct kernel_recording *recording)
{
	kernel_record_discard(recording->record);
	recording->record = NULL;
}

static void record_kernel_block_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGQUIT);
	pthread_sigmask(SIG_BLOCK, signals, NULL);
}

/*
 * Chooses a name that does not exist: with --force, the directory may contain that of an earlier
 * recording. The caller frees the path. NULL: out of memory.
 */
static char *record_kernel_choose_directory(struct kernel_recording *recording, const char *output)
{
	char *path;

	for (int try = 0; try < NAME_TRIES; try++) {
		char number[16] = "";

		if (try)
			(void)snprintf(number, sizeof(number), "-%d", try);
		(void)snprintf(recording->name, sizeof(recording->name),
				KERNEL_RECORD_DIRECTORY "%s", number);
		if (asprintf(&path, "%s/%s", output, recording->name) < 0)
			return NULL;
		if (access(path, F_OK))
			break;
		if (try + 1 < NAME_TRIES)
			free(path);
	}
	return path;
}

int kernel_recording_start(struct kernel_recording *recording, const struct parsed *parsed,
		const struct session *session, const char *output)
{
	const struct record_options *options = &parsed->options.record;
	struct kernel_record_options record = {
			.choices = recording->choices,
			.nr_choices = recording->nr_choices,
			.machine = options->kernel_all || recording->alone,
			.backend = (enum kernel_record_backend)options->kernel_backend,
			.buffer_size = options->kernel_buffer,
			.format = options->format == SESSION_FORMAT_CTF2 ? CTF_FORMAT_2
									 : CTF_FORMAT_1,
	};
	struct error error;
	const char *backend, *why;
	char hostname[65] = "unknown";
	char *directory;
	sigset_t signals;
	int status = COMMAND_DONE;

	if (!recording->wanted || recording->joined)
		return COMMAND_DONE;
	/* From here on these signals end the recording, not the process. */
	if (recording->alone)
		record_kernel_block_signals(&signals);
	if (options->compress)
		record.compression = command_compression(options->compress, &status);
	directory = record_kernel_choose_directory(recording, output);
	if (!directory)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	(void)gethostname(hostname, sizeof(hostname) - 1);
	record.directory = directory;
	record.hostname = hostname;
	record.clock = (enum ring_clock)session_clock(session, &record.parameters);
	if (kernel_record_open(&record, &recording->record, &error) ||
			kernel_record_start(recording->record, &error)) {
		kernel_recording_discard(recording);
		free(directory);
		return record_kernel_set_error(recording, &error);
	}
	free(directory);
	kernel_record_backend(recording->record, &backend, &why);
	if (*why)
		message_note("reading kernel events through %s: %s", backend, why);
	return status;
}

void kernel_recording_print_begin(void)
{
	message_note("recording kernel events; Ctrl-C stops it");
}

void kernel_recording_wait(void)
{
	sigset_t signals;
	int number;

	record_kernel_block_signals(&signals);
	kernel_recording_print_begin();
	(void)sigwait(&signals, &number);
}

/* ---- the end ---- */

static void record_kernel_print_json(
		const struct kernel_record_summary *summary, const char *directory)
{
	size_t i;

	/*
	 * "way" and "kinds" are the former names of "method" and "classes", until the next release.
	 */
	fprintf(stderr, "{\"schema\":%d,\"type\":\"kernel_summary\",\"method\":",
			OUTPUT_JSON_SCHEMA);
	print_json_string(stderr, summary->backend);
	fputs(",\"way\":", stderr);
	print_json_string(stderr, summary->backend);
	fputs(",\"why\":", stderr);
	print_json_string(stderr, summary->why);
	fputs(",\"directory\":", stderr);
	print_json_string(stderr, directory);
	fprintf(stderr,
			",\"classes\":%" PRIu64 ",\"kinds\":%" PRIu64 ",\"events\":%" PRIu64
			",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"undecoded\":%" PRIu64
			",\"late\":%" PRIu64 ",\"problem\":",
			summary->event_classes, summary->event_classes, summary->events,
			summary->bytes, summary->lost, summary->plain, summary->late);
	print_json_string(stderr, summary->problem);
	fputs(",\"losses\":[", stderr);
	for (i = 0; i < summary->nr_losses; i++) {
		const struct kernel_record_loss *loss = &summary->losses[i];

		fprintf(stderr, "%s{\"ring\":\"%s\",\"event\":", i ? "," : "", loss->ring);
		print_json_string(stderr, loss->event);
		fprintf(stderr, ",\"reason\":\"%s\",\"count\":%" PRIu64 "}", loss->reason,
				loss->count);
	}
	fputs("]}\n", stderr);
}

static void record_kernel_print_text(const struct kernel_record_summary *summary, bool joined)
{
	char events[FORMAT_NUMBER_MAX], event_classes[FORMAT_NUMBER_MAX], size[FORMAT_NUMBER_MAX];

	if (!output_is_silent())
		fprintf(stderr, "%s recorded from the kernel: %s event%s, %s event class%s%s%s, by %s\n",
				message_label(false), format_number(summary->events, events),
				summary->events == 1 ? "" : "s",
				format_number(summary->event_classes, event_classes),
				summary->event_classes == 1 ? "" : "es", joined ? "" : ", ",
				joined ? "" : format_size(summary->bytes, size), summary->backend);
	/* A loss is no note, so --quiet does not suppress it. */
	if (summary->late)
		fprintf(stderr, "%s %s kernel event class%s appeared during the recording: events of their first 50 ms may be missing\n",
				message_label(true), format_number(summary->late, event_classes),
				summary->late == 1 ? "" : "es");
	if (summary->lost)
		fprintf(stderr, "%s %s of the kernel events %s lost\n%s use a larger `--kernel-buffer`, fewer events or a `--kernel-filter`\n",
				message_label(true), format_number(summary->lost, events),
				summary->lost == 1 ? "was" : "were", message_hint_label());
}

/* The bytes and losses of side-kernel are in the session's summary. */
static int record_kernel_finish_joined(struct kernel_recording *recording,
		const struct parsed *parsed, struct session *session)
{
	const struct session_summary *all = session_summary(session);

	struct kernel_record_summary summary = {.problem = ""};
	struct kernel_report report;
	const char *directory = "";

	kernel_recording_read_report(recording, &report);
	recording->refused = report.status == COMMAND_USAGE || (report.status && recording->alone);
	if (recording->refused)
		return report.status;
	/* The events of programs are recorded, but the request was for more. */
	if (report.status)
		return parsed->options.record.strict ? COMMAND_LOST : report.status;
	summary.backend = report.backend;
	summary.why = report.why;
	summary.event_classes = report.event_classes;
	summary.events = report.events;
	summary.lost = report.lost;
	summary.late = report.late;
	summary.plain = report.plain;
	for (size_t i = 0; i < all->nr_processes; i++)
		if (all->processes[i].pid == (uint32_t)report.pid &&
				!strcmp(all->processes[i].procname, SESSION_KERNEL_PROGRAM))
			directory = all->processes[i].directory;
	if (parsed->common.json)
		record_kernel_print_json(&summary, directory);
	else
		record_kernel_print_text(&summary, true);
	return summary.lost && parsed->options.record.strict ? COMMAND_LOST : COMMAND_DONE;
}

int kernel_recording_finish(struct kernel_recording *recording, const struct parsed *parsed,
		struct session *session)
{
	bool strict = parsed->options.record.strict;
	const struct kernel_record_summary *summary;
	struct ctf_clock parameters;

	if (recording->joined)
		return record_kernel_finish_joined(recording, parsed, session);
	if (!recording->record)
		return recording->failed && strict ? COMMAND_LOST : recording->failed;
	(void)session_clock(session, &parameters);
	summary = kernel_record_stop(recording->record, &parameters);
	if (parsed->common.json)
		record_kernel_print_json(summary, recording->name);
	else
		record_kernel_print_text(summary, false);
	if (*summary->problem)
		return message_error(COMMAND_FAILED, summary->problem_hint,
				"the kernel trace is not complete: %s", summary->problem);
	return summary->lost && strict ? COMMAND_LOST : COMMAND_DONE;
}

void kernel_recording_free(struct kernel_recording *recording)
{
	kernel_record_close(recording->record);
	kernel_joined_free(recording->joined);
	/* record_kernel_add_choice() allocated all patterns. */
	for (size_t i = 0; i < recording->nr_choices; i++)
		free((void *)(uintptr_t)recording->choices[i].pattern);
	free(recording->choices);
	*recording = (struct kernel_recording){.wanted = false};
}
