/* SPDX-License-Identifier: MIT */
#include "record-kernel.h"
#include "say.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ---- */

static int take_choices(struct kernel_recording *recording, const struct option_uses *uses)
{
	size_t i;

	recording->choices = calloc(uses->count + 1, sizeof(*recording->choices));
	if (!recording->choices)
		return say_error(COMMAND_FAILED, NULL, "there is no memory");
	for (i = 0; i < uses->count; i++) {
		const struct option_use *use = &uses->items[i];

		if (!strcmp(use->option->name, "kernel")) {
			recording->choices[recording->nr_choices++].pattern = use->text;
			continue;
		}
		if (!recording->nr_choices)
			return say_error(COMMAND_USAGE, NULL,
					"`--kernel-filter` belongs behind the `--kernel` that it "
					"filters");
		recording->choices[recording->nr_choices - 1].filter = use->text;
	}
	return COMMAND_DONE;
}

int kernel_recording_prepare(struct kernel_recording *recording, const struct parsed *parsed,
		struct session_options *session)
{
	const struct record_options *options = &parsed->options.record;
	int status;

	*recording = (struct kernel_recording){
			.wanted = options->kernel.count, .alone = !parsed->operand_count};
	if (!recording->wanted && recording->alone)
		return say_error(COMMAND_USAGE, "see `side record --help`",
				"there is no command to record");
	if (!recording->wanted)
		return options->kernel_all || options->kernel_buffer || options->kernel_way
				? say_error(COMMAND_USAGE, NULL,
						  "`--kernel-all`, `--kernel-buffer` and "
						  "`--kernel-way` belong to `--kernel`")
				: COMMAND_DONE;
	status = take_choices(recording, &options->kernel);
	if (status)
		return status;
	if (options->rotate || options->rotate_size || options->rotate_every || options->to)
		return say_error(COMMAND_USAGE,
				"make a session: `side create`, `side enable-event -k`, `side "
				"start`",
				"`--kernel` cannot be had together with `--%s` here",
				options->to ? "to" : "rotate");
	/* All traces of a recording have one clock: perf's own time is not always that of the TSC. */
	session->monotonic =
			options->kernel_way != KERNEL_RECORD_TRACEFS && !kernel_record_knows_tsc();
	return COMMAND_DONE;
}

/* ---- the recording ---- */

/* Nothing that was chosen can be had: say so, once, and go on with what else there is to record. */
static int fail(struct kernel_recording *recording, const struct kernel_record_error *error)
{
	bool denied = error->code == -EACCES || error->code == -EPERM;
	int status = error->code == -EINVAL ? COMMAND_USAGE
			: denied            ? COMMAND_NOT_PERMITTED
					    : COMMAND_FAILED;

	say_error((enum command_status)status, *error->mend ? error->mend : NULL,
			"the kernel's events are not recorded: %s", error->text);
	recording->failed = true;
	return recording->alone || status == COMMAND_USAGE ? status : COMMAND_DONE;
}

void kernel_recording_discard(struct kernel_recording *recording)
{
	kernel_record_discard(recording->record);
	recording->record = NULL;
}

static void take_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGQUIT);
	pthread_sigmask(SIG_BLOCK, signals, NULL);
}

int kernel_recording_start(struct kernel_recording *recording, const struct parsed *parsed,
		const struct session *session, const char *output)
{
	const struct record_options *options = &parsed->options.record;
	struct kernel_record_options record = {
			.choices = recording->choices,
			.nr_choices = recording->nr_choices,
			.machine = options->kernel_all || recording->alone,
			.way = (enum kernel_record_way)options->kernel_way,
			.buffer_size = options->kernel_buffer,
			.format = options->format == SESSION_FORMAT_CTF2 ? CTF_FORMAT_2
									 : CTF_FORMAT_1,
	};
	struct kernel_record_error error;
	const char *way, *why;
	char hostname[65] = "unknown";
	char *directory;
	sigset_t signals;
	int status = COMMAND_DONE;

	if (!recording->wanted)
		return COMMAND_DONE;
	/* From here on they end the recording, and not us. */
	if (recording->alone)
		take_signals(&signals);
	if (options->compress)
		record.compression = command_compression(options->compress, &status);
	if (asprintf(&directory, "%s/" KERNEL_RECORD_DIRECTORY, output) < 0)
		return say_error(COMMAND_FAILED, NULL, "there is no memory");
	(void)gethostname(hostname, sizeof(hostname) - 1);
	record.directory = directory;
	record.hostname = hostname;
	record.clock = (enum ring_clock)session_clock(session, &record.figures);
	if (kernel_record_open(&record, &recording->record, &error) ||
			kernel_record_start(recording->record, &error)) {
		kernel_recording_discard(recording);
		free(directory);
		return fail(recording, &error);
	}
	free(directory);
	kernel_record_way(recording->record, &way, &why);
	if (*why)
		say_note("the kernel's events come by %s: %s", way, why);
	return status;
}

void kernel_recording_wait(void)
{
	sigset_t signals;
	int number;

	take_signals(&signals);
	say_note("recording the kernel's events; Ctrl-C ends it");
	(void)sigwait(&signals, &number);
}

/* ---- the end ---- */

static void print_json(const struct kernel_record_summary *summary)
{
	size_t i;

	fprintf(stderr, "{\"schema\":%d,\"type\":\"kernel_summary\",\"way\":", SAY_JSON_SCHEMA);
	say_json_string(stderr, summary->way);
	fputs(",\"why\":", stderr);
	say_json_string(stderr, summary->why);
	fprintf(stderr,
			",\"directory\":\"" KERNEL_RECORD_DIRECTORY "\",\"kinds\":%" PRIu64
			",\"events\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64
			",\"undecoded\":%" PRIu64 ",\"late\":%" PRIu64 ",\"problem\":",
			summary->kinds, summary->events, summary->bytes, summary->lost,
			summary->plain, summary->late);
	say_json_string(stderr, summary->problem);
	fputs(",\"losses\":[", stderr);
	for (i = 0; i < summary->nr_losses; i++) {
		const struct kernel_record_loss *loss = &summary->losses[i];

		fprintf(stderr, "%s{\"ring\":\"%s\",\"event\":", i ? "," : "", loss->ring);
		say_json_string(stderr, loss->event);
		fprintf(stderr, ",\"reason\":\"%s\",\"count\":%" PRIu64 "}", loss->reason,
				loss->count);
	}
	fputs("]}\n", stderr);
}

static void print_text(const struct kernel_record_summary *summary)
{
	char events[SAY_NUMBER_MAX], kinds[SAY_NUMBER_MAX], size[SAY_NUMBER_MAX];

	if (!say_is_quiet())
		fprintf(stderr, "%s of the kernel %s event%s, %s kind%s, %s, by %s\n",
				say_label(false), say_number(summary->events, events),
				summary->events == 1 ? "" : "s", say_number(summary->kinds, kinds),
				summary->kinds == 1 ? "" : "s", say_size(summary->bytes, size),
				summary->way);
	/* What may be missing is no note: it is said with --quiet, too. */
	if (summary->late)
		fprintf(stderr,
				"%s %s kind%s of event of the kernel came meanwhile, by programs "
				"that did "
				"not tell; of their first 50 ms some may be missing\n",
				say_label(true), say_number(summary->late, kinds),
				summary->late == 1 ? "" : "s");
	if (summary->lost)
		fprintf(stderr,
				"%s %s of the kernel's events %s lost; a larger `--kernel-buffer`, "
				"fewer "
				"events or a `--kernel-filter` would keep more\n",
				say_label(true), say_number(summary->lost, events),
				summary->lost == 1 ? "was" : "were");
}

int kernel_recording_finish(struct kernel_recording *recording, const struct parsed *parsed,
		const struct session *session)
{
	bool strict = parsed->options.record.strict;
	const struct kernel_record_summary *summary;
	struct ctf_clock figures;

	if (!recording->record)
		return recording->failed && strict ? COMMAND_LOST : COMMAND_DONE;
	(void)session_clock(session, &figures);
	summary = kernel_record_stop(recording->record, &figures);
	if (parsed->common.json)
		print_json(summary);
	else
		print_text(summary);
	if (*summary->problem)
		return say_error(COMMAND_FAILED, NULL, "the kernel's trace is not complete: %s",
				summary->problem);
	return summary->lost && strict ? COMMAND_LOST : COMMAND_DONE;
}

void kernel_recording_free(struct kernel_recording *recording)
{
	kernel_record_close(recording->record);
	free(recording->choices);
	*recording = (struct kernel_recording){.wanted = false};
}
