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

/* ---- the screen ---- */

static int explore_run(const struct screen_options *options)
{
	const char *dir = options->dir;
	struct error error = {.code = 0};
	char path[PATH_MAX];
	int ret;

	setlocale(LC_CTYPE, "");
	if (!screen_open(options))
		return message_error(COMMAND_FAILED, "run `side report DIR`",
				"cannot show the screen: the terminal `%.64s` is not known",
				getenv("TERM"));
	confine_watcher(realpath(dir, path) ? path : dir);
	ret = screen_run(options, &error);
	screen_close();
	/* The messages of the recorder, which follow, have the reason. */
	if (ret == -ENOENT && options->recording >= 0)
		return COMMAND_DONE;
	return ret ? message_library_error(&error) : COMMAND_DONE;
}

static struct screen_options explore_options(
		const struct parsed *parsed, const char *dir, int recording)
{
	return (struct screen_options){
			.dir = dir,
			.filter = parsed->options.explore.filter,
			.colour = output_has_color(stdout, parsed->common.color),
			.recording = recording,
	};
}

static int explore_watch(const struct parsed *parsed, const char *dir, int recording)
{
	const struct screen_options options = explore_options(parsed, dir, recording);

	return explore_run(&options);
}

static int explore_answer(const struct parsed *parsed, const char *dir)
{
	struct screen_options options = explore_options(parsed, dir, -1);
	struct error error = {.code = 0};
	int status;

	status = explore_answers_create(dir, &options.answers, &error)
			? message_library_error(&error)
			: explore_run(&options);
	explore_answers_free(options.answers);
	return status;
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

int cmd_explore(const struct parsed *parsed)
{
	const struct answer_plan plan = {
			.command_args = explore_args,
			.process_args = explore_args,
			.add_args = explore_add_args,
			.answer = explore_answer,
			.watch = explore_watch,
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
