/* SPDX-License-Identifier: MIT */
/* The verb `recover`: makes traces from the buffers of a killed recorder or program. */
#include <unistd.h>

#include "programs/common/command.h"
#include "programs/side/cli/confine.h"
#include "programs/side/cli/keeper.h"
#include "programs/common/progress.h"
#include "programs/common/message.h"

#include "recorder/recover.h"
#include "recorder/core/session.h"

/* Removes the output directory if no trace is written, unless it existed before. */
static struct keeper recover_keeper = {.socket = -1};
static bool recover_is_new;

/* Without a helper process, an empty directory remains. */
static void recover_begin(const char *output)
{
	if (recover_is_new)
		(void)keeper_start(&recover_keeper, output, NULL);
	confine_output(output);
}

int cmd_recover(const struct parsed *parsed)
{
	const struct recover_options *options = &parsed->options.recover;
	struct session_recover_options recover = {
			.paths = (const char *const *)parsed->operands,
			.nr_paths = (size_t)parsed->operand_count,
			.output = options->output,
			.force = options->force,
			.ready = recover_begin,
			.format = (enum session_format)options->format,
			.progress = command_progress,
			.progress_user = (void *)(uintptr_t)parsed,
	};
	const struct session_summary *summary;
	struct error error;
	struct session *session;
	int status;

	recover_is_new = !options->output || access(options->output, F_OK);
	recover.compress = command_compression(options->compress, &status);
	if (status)
		return status;
	status = session_recover(&recover, &session, &error);
	progress_end();
	if (status)
		return command_session_error(&error);
	summary = session_summary(session);
	command_session_messages(summary);
	if (summary->nr_processes)
		command_session_summary(summary, parsed, -1);
	status = (int)command_session_status(summary->failure);
	(void)keeper_end(&recover_keeper, summary->nr_processes);
	session_destroy(session);
	return status;
}
