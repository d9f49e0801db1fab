/* SPDX-License-Identifier: MIT */
/*
 * Uprobes of an attached program (programs/side/probe/kernel.h): side-uprobes runs beside it as
 * another recorded program.
 */
#include "attach.h"
#include "programs/common/command.h"
#include "programs/side/session/helper-program.h"
#include "programs/side/probe/kernel.h"
#include "programs/common/message.h"

#include <poll.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_MS 10

/* Keeps the recording running, because side-uprobes waits for it. */
static int attach_kernel_wait(struct attached *attached, int ready)
{
	struct pollfd watched = {.fd = ready, .events = POLLIN};
	int status = COMMAND_DONE;
	char byte;

	while (!status && poll(&watched, 1, 0) <= 0)
		status = attach_turn(attached, STEP_MS);
	if (status)
		return status;
	/* side-uprobes has printed its error itself. */
	return read(ready, &byte, 1) == 1
			? COMMAND_DONE
			: message_error(COMMAND_FAILED, "`--no-uprobe` sets breakpoints instead",
					  "cannot set the uprobes");
}

int attach_kernel_start(struct attached *attached)
{
	const struct attach_recording *recording = attached->recording;
	char **args = NULL;
	int ready = -1, status;

	if (!recording || !recording->nr_kernel)
		return COMMAND_DONE;
	status = probe_kernel_args(attached->pid, recording->kernel, recording->nr_kernel, &args);
	if (!status)
		status = helper_begin(&args, attached->dir.theirs, &ready, &attached->kernel);
	if (!status)
		status = attach_kernel_wait(attached, ready);
	if (ready >= 0)
		close(ready);
	helper_free(args);
	return status;
}

/* The session records all earlier hits before side-uprobes ends. */
void attach_kernel_end(struct attached *attached)
{
	int status = 0;

	if (attached->kernel <= 0)
		return;
	(void)kill(attached->kernel, SIGTERM);
	while (!waitpid(attached->kernel, &status, WNOHANG))
		if (attach_turn(attached, STEP_MS))
			break;
	probe_kernel_check_exit(status);
	attached->kernel = 0;
}
