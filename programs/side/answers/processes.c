/* SPDX-License-Identifier: MIT */
/* The processes of a verb that answers a question: signals, forks, and the recorder's options. */
#include "programs/side/answers/processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/inside/clock.h"
#include "programs/side/answers/rings.h"
#include "programs/side/cli/more.h"
#include "programs/side/session/helper-program.h"

static const int answer_signals[ANSWER_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* The process that records or answers, and that gets the signals; 0: none. */
static volatile pid_t answer_child;
static volatile sig_atomic_t answer_signal;
/* When the signal came, or else when the recording had ended. */
static int64_t answer_recorded_ns;

int answer_get_signal(void)
{
	return answer_signal;
}

void answer_note_end(void)
{
	if (!answer_signal)
		answer_recorded_ns = (int64_t)clock_realtime_ns();
}

int64_t answer_get_end_ns(void)
{
	return answer_recorded_ns;
}

/* ---- signals ---- */

/*
 * The child ends at the signal and this process then removes the directory. The terminal sends a
 * signal to both processes; another sender, only to this one.
 */
static void answer_pass_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (!answer_signal)
		answer_recorded_ns = (int64_t)clock_realtime_ns();
	answer_signal = number;
	if (answer_child > 0 && info->si_code <= 0)
		kill(answer_child, number);
	errno = saved;
}

void answer_catch_signals(struct sigaction before[ANSWER_SIGNALS])
{
	struct sigaction action = {
			.sa_sigaction = answer_pass_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ANSWER_SIGNALS; i++) {
		sigaction(answer_signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(answer_signals[i], &action, NULL);
	}
}

void answer_restore_signals(const struct sigaction before[ANSWER_SIGNALS])
{
	for (size_t i = 0; i < ANSWER_SIGNALS; i++)
		sigaction(answer_signals[i], &before[i], NULL);
}

/* ---- processes ---- */

/* Signals are blocked during the fork, so that each is passed on or ends the child. */
pid_t answer_fork(const struct sigaction before[ANSWER_SIGNALS], bool gets_signals)
{
	sigset_t all, mask;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	fflush(NULL);
	pid = fork();
	if (!pid)
		answer_restore_signals(before);
	else if (gets_signals)
		answer_child = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return pid;
}

void answer_forget_child(void)
{
	answer_child = 0;
}

int answer_exit_status(int status)
{
	return WIFSIGNALED(status) ? COMMAND_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- the command line of the recorder ---- */

static bool answer_add_args(char ***args, const char *const *list)
{
	bool added = true;

	for (; *list && added; list++)
		added = helper_add(args, *list, NULL);
	return added;
}

static bool answer_add_time(char ***args, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "ms", (ns + 999999) / 1000000);
	return !ns || helper_add(args, "--duration", text);
}

char **answer_args(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan, const char *dir)
{
	const bool blocks = !options->pid && plan->command_blocks;
	const uint64_t size = options->buffer_size ? options->buffer_size
						   : rings_size(options->pid, blocks);
	char **args = NULL;
	const char *program = plan->no_threads ? MORE_ANSWER_NO_THREADS : MORE_ANSWER;
	bool added = helper_add(&args, program, NULL) &&
			answer_add_args(&args,
					options->pid ? plan->process_args : plan->command_args) &&
			helper_add(&args, parsed->common.verbose ? "-v" : "-q", NULL) &&
			(!parsed->common.json || helper_add(&args, "--json", NULL)) &&
			helper_add(&args, "-o", dir);

	if (added && plan->add_args)
		added = plan->add_args(parsed, &args);
	added = added && helper_add_number(&args, "--buffer-size", size) &&
			(!blocks || helper_add(&args, "--mode", "block"));
	if (options->pid)
		added = added && helper_add_number(&args, "-p", options->pid) &&
				answer_add_time(&args, options->duration);
	else
		added = added && helper_add(&args, "--", NULL) &&
				answer_add_args(&args, (const char *const *)parsed->operands);
	if (added)
		return args;
	helper_free(args);
	return NULL;
}
