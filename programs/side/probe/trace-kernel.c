/* SPDX-License-Identifier: MIT */
/*
 * Run side-uprobes beside the command that `side trace` starts. It ends when the command's process
 * has ended and all its hits are recorded.
 */
#include "trace-kernel.h"

#include "programs/common/command.h"
#include "programs/side/session/helper-program.h"
#include "global.h"
#include "kernel.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* side-uprobes has printed the error. */
static int trace_kernel_set_error(struct error *error)
{
	return error_set(error, -EIO, NULL,
			"cannot set the uprobes; `--no-uprobe` sets breakpoints instead");
}

static int trace_kernel_start_tracer(void *user, pid_t pid, const char *socket, struct error *error)
{
	struct trace_kernel *kernel = user;
	char **args = NULL;
	int status = probe_kernel_args(pid, kernel->tables, kernel->nr, &args);

	if (!status)
		status = helper_begin(&args, socket, &kernel->ready, &kernel->child);
	probe_global_free(args);
	return status ? trace_kernel_set_error(error) : 0;
}

static int is_ready(void *user, struct error *error)
{
	struct trace_kernel *kernel = user;
	struct pollfd watched = {.fd = kernel->ready, .events = POLLIN};
	char byte;
	ssize_t got;

	if (poll(&watched, 1, 0) <= 0)
		return 0;
	got = read(kernel->ready, &byte, 1);
	close(kernel->ready);
	kernel->ready = -1;
	return got == 1 ? 1 : trace_kernel_set_error(error);
}

static bool trace_kernel_tracer_has_ended(void *user, bool now)
{
	struct trace_kernel *kernel = user;
	int status = 0;

	/* The code that waits for all processes of the command may already have reaped this one. */
	if (kernel->child > 0 && waitpid(kernel->child, &status, WNOHANG)) {
		kernel->child = 0;
		probe_kernel_check_exit(status);
	}
	if (kernel->child > 0 && now)
		(void)kill(kernel->child, SIGTERM);
	return kernel->child <= 0;
}

const struct session_helper *trace_kernel_helper(
		struct trace_kernel *kernel, const int *tables, size_t nr)
{
	*kernel = (struct trace_kernel){.tables = tables,
			.nr = nr,
			.ready = -1,
			.helper = {trace_kernel_start_tracer, is_ready,
					trace_kernel_tracer_has_ended, kernel}};
	return nr ? &kernel->helper : NULL;
}
