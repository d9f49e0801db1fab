/* SPDX-License-Identifier: MIT */
/* `side record --to`: what is recorded goes to somewhere else, and is kept here until it is there. */
#include "command.h"
#include "made.h"
#include "say.h"
#include "sending.h"

#include "session/session.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct send_rounds) == sizeof(struct session_rounds) &&
				offsetof(struct send_rounds, begun) ==
						offsetof(struct session_rounds, begun) &&
				offsetof(struct send_rounds, ticks) ==
						offsetof(struct session_rounds, ticks),
		"the recorder's words are the sender's");

int sending_prepare(struct sending *sending, const struct parsed *parsed,
		struct session_options *session)
{
	const struct record_options *options = &parsed->options.record;
	struct send_error error;
	bool ctf1_only;
	int status;

	*sending = (struct sending){.url = options->to};
	if (!options->to)
		return options->spool || options->timeout
				? say_error(COMMAND_USAGE, NULL,
						  "`--spool` and `--timeout` belong to `--to`")
				: COMMAND_DONE;
	if (send_check(options->to, &ctf1_only, &error))
		return say_error(COMMAND_USAGE, error.hint, "%s", error.text);
	if (ctf1_only && session->format != SESSION_FORMAT_CTF1)
		return say_error(COMMAND_USAGE, "leave `--format` out",
				"a relay daemon takes CTF 1.8 only");
	if (!strcmp(options->to, "-"))
		return say_error(COMMAND_USAGE, "write to a FIFO",
				"standard output belongs to the command that is recorded");
	/* The same two words: neither room knows the other. */
	session->rounds = (struct session_rounds *)(void *)&sending->rounds;
	if (session->output)
		return COMMAND_DONE;
	status = made_directory("side-spool", "the spool", &sending->made);
	if (status)
		return status;
	session->output = sending->made;
	return COMMAND_DONE;
}

int sending_start(struct sending *sending, const struct parsed *parsed, const char *output)
{
	const struct record_options *options = &parsed->options.record;
	const char *command = parsed->operand_count ? parsed->operands[0] : "kernel";
	const char *name = strrchr(command, '/');
	struct send_options send;
	struct send_error error;
	char hint[4096];

	if (!sending->url)
		return 0;
	send = sending_options(output, sending->url, options->spool, options->timeout);
	send.live = true;
	send.rounds = &sending->rounds;
	if (sending->made) /* Its name says nothing. */
		send.fallback = name ? name + 1 : command;
	if (!send_start(&send, &sending->send, &error))
		return 0;
	/* What is recorded stays where it is. */
	free(sending->made);
	sending->made = NULL;
	snprintf(hint, sizeof(hint), "the trace is in %.4000s", output);
	return say_error(COMMAND_FAILED, hint, "%s", error.text);
}

int sending_finish(struct sending *sending, const char *output)
{
	int status = 0;

	if (sending->send) {
		send_finish(sending->send);
		sending_wait(sending->send, 1);
		status = sending_end(sending->send, sending->url, output);
		sending->send = NULL;
	}
	/* Only what was delivered may go. */
	if (!status || status == COMMAND_LOST)
		made_remove(&sending->made);
	free(sending->made);
	sending->made = NULL;
	return status;
}
