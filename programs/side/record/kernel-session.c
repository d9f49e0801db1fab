/* SPDX-License-Identifier: MIT */
/*
 * `side record --kernel` with the kernel events in the rings of the session, which chunks,
 * snapshots, flight recorders and sending need. side-kernel (programs/common/kernel-report.h)
 * starts COMMAND. It is a program of the recording and emits the kernel events, as in sessions of
 * the daemon.
 */
#include "programs/side/session/helper-program.h"
#include "programs/side/cli/path-search.h"
#include "kernel.h"
#include "programs/common/message.h"

#include "programs/common/kernel-report.h"
#include "protocol/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANNEL "kernel" /* for kernel events alone */

struct kernel_joined {
	char **args;
	int report[2];
	struct session_channel *channels;
	struct session_rule *rules;
	const char **contexts;
	char **patterns;
	const char *variables[3];
};

/* ---- conditions ---- */

static bool record_kernel_session_overwrites(const struct session_options *session)
{
	return session->nr_channels && session->channels[0].mode == SESSION_OVERWRITE;
}

static bool record_kernel_session_is_needed(
		const struct record_options *options, const struct session_options *session)
{
	return options->rotate || options->rotate_size || options->rotate_every || options->to ||
			options->buffers || session->nr_snapshot_on ||
			record_kernel_session_overwrites(session);
}

/* ---- channels ---- */

static int record_kernel_session_make_patterns(
		struct kernel_joined *joined, const struct kernel_recording *recording)
{
	joined->patterns = calloc(recording->nr_choices + 1, sizeof(*joined->patterns));
	for (size_t i = 0; joined->patterns && i < recording->nr_choices; i++) {
		const char *text = recording->choices[i].pattern;
		bool excludes = *text == '!', prefixed = pattern_is_kernel(text);

		if (asprintf(&joined->patterns[i], "%s%s%s", excludes ? "!" : "",
				    prefixed ? "" : PATTERN_KERNEL, text + excludes) < 0) {
			joined->patterns[i] = NULL;
			return -ENOMEM;
		}
		if (strlen(joined->patterns[i]) > PATTERN_TEXT_MAX)
			return message_error(COMMAND_USAGE, NULL,
					"the pattern `%.128s…` is too long", text);
	}
	return joined->patterns ? 0 : -ENOMEM;
}

/*
 * Adds a rule for the kernel events to the first channel. The contexts of the channel are meant for
 * programs, and would be those of side-kernel here. They are moved to all other rules, where they
 * have the same effect.
 */
static int record_kernel_session_add_rule(struct kernel_joined *joined,
		struct session_channel *channel, const struct session_rule *rule)
{
	size_t nr = channel->nr_rules ? channel->nr_rules : 1, nr_contexts = 0, at = 0;

	for (size_t i = 0; i < channel->nr_rules; i++)
		nr_contexts += channel->rules[i].nr_contexts;
	nr_contexts += nr * channel->nr_contexts;
	joined->rules = calloc(nr + 1, sizeof(*joined->rules));
	joined->contexts = calloc(nr_contexts + 1, sizeof(*joined->contexts));
	if (!joined->rules || !joined->contexts)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct session_rule *one = &joined->rules[i];
		const char **contexts = joined->contexts + at;

		if (channel->nr_rules)
			*one = channel->rules[i];
		for (size_t k = 0; k < channel->nr_contexts; k++)
			joined->contexts[at++] = channel->contexts[k];
		for (size_t k = 0; k < one->nr_contexts; k++)
			joined->contexts[at++] = one->contexts[k];
		one->contexts = contexts;
		one->nr_contexts += channel->nr_contexts;
	}
	joined->rules[nr] = *rule;
	channel->contexts = NULL;
	channel->nr_contexts = 0;
	channel->rules = joined->rules;
	channel->nr_rules = nr + 1;
	return 0;
}

/*
 * Rings of threads have no CPU, but kernel events need the CPU on which they happened. They get a
 * channel with rings of CPUs.
 */
static int record_kernel_session_make_channels(struct kernel_joined *joined,
		const struct kernel_recording *recording, struct session_options *session)
{
	const struct session_rule rule = {.patterns = (const char *const *)joined->patterns,
			.nr_patterns = recording->nr_choices};
	size_t nr = session->nr_channels ? session->nr_channels : 1;
	struct session_channel *last;

	joined->channels = calloc(nr + 1, sizeof(*joined->channels));
	if (!joined->channels)
		return -ENOMEM;
	if (session->nr_channels)
		memcpy(joined->channels, session->channels, nr * sizeof(*joined->channels));
	else
		joined->channels->name = SESSION_CHANNEL_NAME;
	session->channels = joined->channels;
	session->nr_channels = nr;
	if (!joined->channels->per_thread)
		return record_kernel_session_add_rule(joined, joined->channels, &rule);
	joined->rules = malloc(sizeof(rule));
	if (!joined->rules)
		return -ENOMEM;
	*joined->rules = rule;
	last = &joined->channels[session->nr_channels++];
	*last = *joined->channels;
	last->name = CHANNEL;
	last->per_thread = false;
	last->threads_max = 0;
	last->contexts = NULL;
	last->nr_contexts = 0;
	last->rules = joined->rules;
	last->nr_rules = 1;
	return 0;
}

/* ---- arguments of side-kernel ---- */

static bool record_kernel_session_add_args(struct kernel_joined *joined,
		const struct kernel_recording *recording, const struct record_options *options)
{
	static const char *const backends[] = {NULL, "perf", "tracefs"};
	const char *events = getenv("SIDE_USER_EVENTS");
	char ***args = &joined->args;
	bool fits = helper_add_number(args, "--record", (uint64_t)joined->report[1]);

	if (options->kernel_backend)
		fits = fits && helper_add(args, "--method", backends[options->kernel_backend]);
	if (options->kernel_buffer)
		fits = fits && helper_add_number(args, "--buffer", options->kernel_buffer);
	if (options->kernel_all || recording->alone)
		fits = fits && helper_add(args, "--machine", "yes");
	if (options->wait_all)
		fits = fits && helper_add(args, "--wait", "yes");
	if (getenv("SIDE_RING_PORTABLE"))
		fits = fits && helper_add(args, "--portable", "yes");
	if (events)
		fits = fits && helper_add(args, "--user-events", events);
	for (size_t i = 0; i < recording->nr_choices; i++) {
		const struct kernel_record_choice *choice = &recording->choices[i];

		fits = fits && helper_add(args, "--kernel", choice->pattern) &&
				(!choice->filter ||
						helper_add(args, "--kernel-filter",
								choice->filter));
	}
	return fits;
}

static void record_kernel_session_add_environment(
		struct kernel_joined *joined, struct session_options *session)
{
	/*
	 * side-kernel must not write user_events, because it would record them again as kernel
	 * events.
	 */
	static const char *const texts[] = {
			"SIDE_AGENT_KERNEL=1", "SIDE_RING_PORTABLE=1", "SIDE_USER_EVENTS="};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		joined->variables[i] = texts[i];
	session->environment = joined->variables;
	session->nr_environment = sizeof(texts) / sizeof(texts[0]);
}

int kernel_recording_join(struct kernel_recording *recording, const struct parsed *parsed,
		struct session_options *session)
{
	const struct record_options *options = &parsed->options.record;
	struct kernel_joined *joined;
	char path[PATH_MAX];
	int status;

	/* If the command is not found, the session reports that. */
	if (!recording->wanted || !record_kernel_session_is_needed(options, session) ||
			(parsed->operand_count && !path_has_program(parsed->operands[0])))
		return COMMAND_DONE;
	status = helper_find(SESSION_KERNEL_PROGRAM, "kernel events", path);
	if (status)
		return status;
	joined = calloc(1, sizeof(*joined));
	recording->joined = joined;
	if (!joined || pipe(joined->report))
		return message_error(
				COMMAND_FAILED, NULL, "cannot make a pipe: %s", strerror(errno));
	/* side-kernel inherits the other end, and closes it for COMMAND. */
	(void)fcntl(joined->report[0], F_SETFD, FD_CLOEXEC);
	status = record_kernel_session_make_patterns(joined, recording);
	if (!status)
		status = record_kernel_session_make_channels(joined, recording, session);
	if (!status &&
			(!helper_add(&joined->args, path, NULL) ||
					!record_kernel_session_add_args(
							joined, recording, options)))
		status = -ENOMEM;
	if (!status && parsed->operand_count && !helper_add(&joined->args, "--", NULL))
		status = -ENOMEM;
	for (char **operand = parsed->operands; !status && operand && *operand; operand++)
		if (!helper_add(&joined->args, *operand, NULL))
			status = -ENOMEM;
	if (status < 0)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	record_kernel_session_add_environment(joined, session);
	session->pass_on = recording->alone;
	/* side-kernel converts the times of perf to those of the rings. */
	session->monotonic = false;
	return status;
}

char **kernel_recording_args(const struct kernel_recording *recording)
{
	return recording->joined->args;
}

void kernel_recording_read_report(
		struct kernel_recording *recording, struct kernel_report *ret_report)
{
	struct kernel_joined *joined = recording->joined;

	close(joined->report[1]);
	joined->report[1] = -1;
	memset(ret_report, 0, sizeof(*ret_report));
	/* If side-kernel ended before it wrote a report, it has printed its error itself. */
	(void)fcntl(joined->report[0], F_SETFL, O_NONBLOCK);
	if (read(joined->report[0], ret_report, sizeof(*ret_report)) != sizeof(*ret_report))
		ret_report->status = COMMAND_FAILED;
	ret_report->backend[sizeof(ret_report->backend) - 1] =
			ret_report->why[sizeof(ret_report->why) - 1] = '\0';
}

void kernel_joined_free(struct kernel_joined *joined)
{
	if (!joined)
		return;
	for (int i = 0; i < 2; i++)
		if (joined->report[i] > 0)
			close(joined->report[i]);
	for (size_t i = 0; joined->patterns && joined->patterns[i]; i++)
		free(joined->patterns[i]);
	free(joined->patterns);
	free(joined->channels);
	free(joined->rules);
	free(joined->contexts);
	helper_free(joined->args);
	free(joined);
}
