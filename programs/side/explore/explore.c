/* SPDX-License-Identifier: MIT */
/* The verb `explore`: shows a trace, or the recording of a process, on the whole terminal. */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analysis/explore-answers.h"
#include "base/error.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/side/answers/recordings.h"
#include "programs/side/answers/run.h"
#include "programs/side/cli/confine.h"
#include "programs/side/explore/screen.h"
#include "programs/side/session/helper-program.h"

/* ---- the terminal ---- */

static int explore_check_terminal(const struct parsed *parsed)
{
	const char *name = getenv("TERM");
	struct winsize size = {0};

	if (parsed->common.json)
		return message_error(COMMAND_USAGE, "run `side report --json DIR`",
				"`explore` has no JSON output");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return message_error(COMMAND_FAILED, "run `side report DIR`",
				"cannot show the screen: standard input and output must be a terminal");
	if (!name || !*name || !strcmp(name, "dumb"))
		return message_error(COMMAND_FAILED, "run `side report DIR`",
				"cannot show the screen: the terminal `%.64s` cannot move the cursor",
				name ? name : "");
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col &&
			(size.ws_col < SCREEN_COLUMNS_LEAST || size.ws_row < SCREEN_LINES_LEAST))
		return message_error(COMMAND_FAILED, "enlarge it, or run `side report DIR`",
				"cannot show the screen: the terminal has %ux%u characters; %ux%u are needed",
				size.ws_col, size.ws_row, SCREEN_COLUMNS_LEAST, SCREEN_LINES_LEAST);
	return COMMAND_DONE;
}

/* Recordings that begin when their view is shown, in the order of the plan. */
enum explore_further { EXPLORE_LEAKS_PLAN, EXPLORE_LOCKS_PLAN };

/* ---- the screen ---- */

static int explore_run(const struct screen_options *options)
{
	struct error error = {.code = 0};
	char path[PATH_MAX];
	int ret;

	setlocale(LC_CTYPE, "");
	if (!screen_open(options))
		return message_error(COMMAND_FAILED, "run `side report DIR`",
				"cannot show the screen: the terminal `%.64s` is not known",
				getenv("TERM"));
	confine_watcher(realpath(options->dir, path) ? path : options->dir, options->temporary);
	ret = screen_run(options, &error);
	screen_close();
	/* The messages of the recorder, which follow, have the reason. */
	if (ret == -ENOENT && options->recording.end >= 0)
		return COMMAND_DONE;
	return ret ? message_library_error(&error) : COMMAND_DONE;
}

static int explore_open(const struct parsed *parsed, struct screen_options *options)
{
	const char *dirs[EXPLORE_ANSWERS];
	struct error error = {.code = 0};
	int status;

	options->filter = parsed->options.explore.filter;
	options->colour = output_has_color(stdout, parsed->common.color);
	for (unsigned int i = 0; i < EXPLORE_ANSWERS; i++)
		dirs[i] = options->answer_recordings[i].dir;
	status = explore_answers_create(dirs, &options->answers, &error)
			? message_library_error(&error)
			: explore_run(options);
	explore_answers_free(options->answers);
	return status;
}

static int explore_watch(const struct parsed *parsed, const struct answer_screen *screen)
{
	struct screen_options options = {
			.dir = screen->recording.dir,
			.recording = screen->recording,
			.answer_recordings = {[EXPLORE_ANSWER_STACKS] = screen->recording,
					[EXPLORE_ANSWER_LEAKS] =
							screen->further[EXPLORE_LEAKS_PLAN],
					[EXPLORE_ANSWER_LOCKS] =
							screen->further[EXPLORE_LOCKS_PLAN]},
			.temporary = screen->temporary,
			.requests = screen->requests,
			.request_numbers = {[EXPLORE_ANSWER_STACKS] = -1,
					[EXPLORE_ANSWER_LEAKS] = EXPLORE_LEAKS_PLAN,
					[EXPLORE_ANSWER_LOCKS] = EXPLORE_LOCKS_PLAN},
	};

	return explore_open(parsed, &options);
}

static int explore_answer(const struct parsed *parsed, const char *dir)
{
	struct screen_options options = {.dir = dir, .requests = -1};

	options.recording = (struct answer_recording){.dir = dir, .end = -1, .messages = -1};
	for (unsigned int i = 0; i < EXPLORE_ANSWERS; i++) {
		options.answer_recordings[i] = options.recording;
		options.request_numbers[i] = -1;
	}
	return explore_open(parsed, &options);
}

/* ---- the recording ---- */

static const char *const explore_args[] = {"trace", NULL};

static bool explore_add_function(char ***args, const char *name)
{
	return helper_add(args, "--function", name) && helper_add(args, "--exit", NULL);
}

static bool explore_add_args(const struct parsed *parsed, char ***args)
{
	const struct text_list *names = &parsed->options.explore.names;
	bool added = helper_add(args, "--context", "vtid") &&
			(names->count || explore_add_function(args, "*"));

	for (size_t i = 0; i < names->count && added; i++)
		added = explore_add_function(args, names->items[i]);
	return added;
}

static bool explore_add_leaks(const struct parsed *parsed, char ***args)
{
	return recording_leaks_add(args, parsed->options.explore.run.pid);
}

int cmd_explore(const struct parsed *parsed)
{
	const struct answer_plan leaks = {.process_args = recording_leaks_process,
			.no_threads = true,
			.add_args = explore_add_leaks};
	const struct answer_plan locks = {.process_args = recording_locks_process};
	const struct answer_plan plan = {
			.command_args = explore_args,
			.process_args = explore_args,
			.add_args = explore_add_args,
			.answer = explore_answer,
			.watch = explore_watch,
			.further = {[EXPLORE_LEAKS_PLAN] = &leaks, [EXPLORE_LOCKS_PLAN] = &locks},
	};
	const struct explore_arguments *options = &parsed->options.explore;
	int status = explore_check_terminal(parsed);

	if (status)
		return status;
	if (options->names.count && !options->run.pid)
		return message_error(COMMAND_USAGE, "add `-p PID`",
				"`--function` has no effect without `-p`");
	if (!options->run.pid)
		return explore_answer(parsed, parsed->operands[0]);
	return answer_run(parsed, &options->run, &plan);
}
