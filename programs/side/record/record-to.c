/* SPDX-License-Identifier: MIT */
/* `side record --to`: sends the recording to a receiver, and keeps it until it is delivered. */
#include "programs/common/command.h"
#include "programs/side/cli/temporary-directory.h"
#include "programs/common/message.h"
#include "programs/side/relay/sending.h"
#include "programs/side/relay/sending-process.h"

#include "recorder/core/session.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

_Static_assert(sizeof(struct send_rounds) == sizeof(struct session_rounds) &&
				offsetof(struct send_rounds, begun) ==
						offsetof(struct session_rounds, begun) &&
				offsetof(struct send_rounds, ticks) ==
						offsetof(struct session_rounds, ticks),
		"the recorder's words are the sender's");

/*
 * Creates the sending process. Call it before the session exists, because the process must not
 * inherit threads and descriptors of the session.
 */
static int sending_make(struct sending_state *sending, const struct record_options *options,
		struct session_options *session)
{
	struct send_options send =
			sending_options(NULL, sending->url, options->spool, options->timeout);
	void *shared = mmap(NULL, sizeof(*sending->rounds), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (shared == MAP_FAILED)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	sending->rounds = shared;
	send.live = true;
	send.rounds = shared;
	ret = sending_process_make(&send, &sending->process);
	if (ret)
		return message_error(COMMAND_FAILED, NULL, "cannot start the sending process: %s",
				strerror(-ret));
	/*
	 * The session writes the two counters that the sender reads; src/recorder and
	 * src/relay each declare them.
	 */
	session->rounds = shared;
	return COMMAND_DONE;
}

int sending_prepare(struct sending_state *sending, const struct parsed *parsed,
		struct session_options *session)
{
	const struct record_options *options = &parsed->options.record;
	struct error error;
	bool ctf1_only;
	int status;

	*sending = (struct sending_state){.url = options->to};
	if (!options->to)
		return options->spool || options->timeout
				? message_error(COMMAND_USAGE, NULL,
						  "cannot use `--spool` or `--timeout` without `--to`")
				: COMMAND_DONE;
	if (url_check(options->to, &ctf1_only, &error))
		return message_library_error(&error);
	if (ctf1_only && session->format != SESSION_FORMAT_CTF1)
		return message_error(COMMAND_USAGE, "leave `--format` out",
				"a relay daemon accepts only CTF 1.8");
	if (!strcmp(options->to, "-"))
		return message_error(COMMAND_USAGE, "write to a FIFO",
				"standard output belongs to the command that is recorded");
	status = sending_make(sending, options, session);
	if (status || session->output)
		return status;
	status = temporary_directory_make("side-spool", "the spool", &sending->temporary);
	if (status)
		return status;
	session->output = sending->temporary;
	return COMMAND_DONE;
}

int sending_start(struct sending_state *sending, const struct parsed *parsed, const char *output)
{
	const char *command = parsed->operand_count ? parsed->operands[0] : "kernel";
	const char *name = strrchr(command, '/');
	struct error error;
	char hint[4096];

	if (!sending->url)
		return 0;
	/*
	 * If the directory was made for this recording, send the name of the command instead,
	 * because the name of the directory means nothing to the receiver.
	 */
	sending->is_started = !sending_process_start(sending->process, output,
			!sending->temporary    ? NULL
					: name ? name + 1
					       : command,
			&error);
	if (sending->is_started)
		return 0;
	/* Keep the directory: it contains the trace. */
	free(sending->temporary);
	sending->temporary = NULL;
	snprintf(hint, sizeof(hint), "the trace is in %.4000s", output);
	return message_error(COMMAND_FAILED, hint, "%s", error.text);
}

/* Waits until everything is delivered, or until a signal ends the recorder. */
static void sending_wait_for_end(struct sending_process *process)
{
	const struct timespec moment = {0, 100000000};
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	while (!sending_process_is_over(process) && sigtimedwait(&signals, NULL, &moment) < 0)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int sending_finish(struct sending_state *sending, const char *output)
{
	int status = 0;

	if (sending->is_started) {
		struct send_status sent;

		sending_process_finish(sending->process);
		sending_wait_for_end(sending->process);
		sending_process_stop(sending->process, &sent);
		status = sending_end(&sent, sending->url, output);
	} else {
		sending_process_stop(sending->process, NULL);
	}
	sending->process = NULL;
	sending->is_started = false;
	/* Only what was delivered may go. */
	if (!status || status == COMMAND_LOST)
		temporary_directory_remove(&sending->temporary);
	free(sending->temporary);
	sending->temporary = NULL;
	if (!output && sending->rounds) {
		munmap(sending->rounds, sizeof(*sending->rounds));
		sending->rounds = NULL;
	}
	return status;
}
