/* SPDX-License-Identifier: MIT */
/* The verb `flame`: call paths with weights. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analysis/flame-print.h"
#include "base/error.h"
#include "export/flame-export.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/analysis/flame-notes.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/answers/nothing.h"
#include "programs/side/answers/recordings.h"
#include "programs/side/answers/run.h"
#include "programs/side/cli/confine.h"
#include "programs/side/session/helper-program.h"

/* The order of command_flame_formats. */
enum flame_answer_format {
	FLAME_ANSWER_TEXT,
	FLAME_ANSWER_FOLDED,
	FLAME_ANSWER_SPEEDSCOPE,
	FLAME_ANSWER_PPROF,
	FLAME_ANSWER_SVG,
};

/* ---- the recording ---- */

static const char *const flame_calls_args[] = {"trace", NULL};

static bool flame_add_function(char ***args, const char *name)
{
	return helper_add(args, "--function", name) && helper_add(args, "--exit", NULL);
}

static bool flame_add_calls(const struct parsed *parsed, char ***args)
{
	const struct flame_arguments *options = &parsed->options.flame;
	bool is_cpu = options->answer.weight == FLAME_WEIGHT_ON_CPU ||
			options->answer.weight == FLAME_WEIGHT_OFF_CPU;
	bool added = options->names.count || flame_add_function(args, "*");

	for (size_t i = 0; i < options->names.count && added; i++)
		added = flame_add_function(args, options->names.items[i]);
	return added && (!is_cpu || helper_add(args, "--context", "perf:thread:task-clock"));
}

static bool flame_add_allocator(const struct parsed *parsed, char ***args)
{
	return recording_leaks_add(args, parsed->options.flame.run.pid);
}

/* ---- the answer ---- */

static int flame_answer_read(struct flame *flame, struct error *error)
{
	int ret = flame_open(flame, error);

	return ret ? ret : flame_read(flame, error);
}

static int flame_answer_write(const struct parsed *parsed, const struct flame *flame)
{
	static const enum flame_format formats[] = {
			[FLAME_ANSWER_FOLDED] = FLAME_FORMAT_FOLDED,
			[FLAME_ANSWER_SPEEDSCOPE] = FLAME_FORMAT_SPEEDSCOPE,
			[FLAME_ANSWER_PPROF] = FLAME_FORMAT_PPROF,
			[FLAME_ANSWER_SVG] = FLAME_FORMAT_SVG,
	};
	const struct flame_arguments *options = &parsed->options.flame;
	const struct flame_print print = {.flame = flame,
			.base = options->base,
			.rows = options->rows,
			.colour = !parsed->common.json &&
					output_has_color(stdout, parsed->common.color)};
	struct error error = {.code = 0};
	int ret;

	if (options->format != FLAME_ANSWER_TEXT) {
		ret = flame_export(flame, formats[options->format], STDOUT_FILENO,
				"to standard output", &error);
		return ret ? message_library_error(&error) : COMMAND_DONE;
	}
	ret = parsed->common.json ? flame_print_json(&print, stdout)
				  : flame_print_text(&print, stdout);
	if (ret)
		return message_error(COMMAND_FAILED, NULL, "cannot print the call paths: %s",
				strerror(-ret));
	return output_flush(stdout);
}

static int flame_answer_print(const struct parsed *parsed, struct flame *flame, struct flame *base)
{
	struct error error = {.code = 0};
	int ret = flame_answer_read(flame, &error), status;

	if (!ret && base)
		ret = flame_answer_read(base, &error);
	if (!ret && base && base->weight != flame->weight)
		ret = error_set_kind(&error, ERROR_USAGE, -EINVAL,
				"choose the same weight for both with `--weight`",
				"cannot compare %s with %s: one has the weight %s, the other %s",
				flame->walk.options.dir, base->walk.options.dir,
				flame_weight_name(flame->weight), flame_weight_name(base->weight));
	if (!ret && base && flame_tree_add_base(&flame->tree, &base->tree))
		ret = error_set_no_memory(&error);
	/* The program did nothing that has a weight. */
	if ((ret == -ENOENT || ret == -ENODATA) && answer_end_ns() && !base)
		return answer_print_nothing(parsed, "event with a weight");
	if (ret)
		return message_library_error(&error);
	progress_clear();
	status = flame_answer_write(parsed, flame);
	if (!status)
		flame_notes_print(flame);
	return status;
}

static int flame_answer(const struct parsed *parsed, const char *dir)
{
	const struct flame_arguments *options = &parsed->options.flame;
	const struct analysis_listener listener = command_listener("analyse");
	struct flame_options answer = options->answer;
	struct flame flame = {0}, base = {0};
	struct error error = {.code = 0};
	int ret, status = COMMAND_DONE;

	answer.in_order = options->format == FLAME_ANSWER_SPEEDSCOPE;
	ret = flame_prepare(&flame, &answer, "analyse", dir, &listener, &error);
	if (!ret && options->base)
		ret = flame_prepare(&base, &answer, "analyse", options->base, &listener, &error);
	if (ret)
		status = message_library_error(&error);
	confine_readers(dir, options->base);
	if (!status)
		status = flame_answer_print(parsed, &flame, options->base ? &base : NULL);
	if (!status && (flame.walk.damaged || base.walk.damaged))
		status = COMMAND_FAILED;
	flame_free(&flame);
	flame_free(&base);
	return status;
}

/* ---- the command line ---- */

static bool flame_is_picture(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && !strcmp(dot, ".svg");
}

static int flame_check_options(const struct parsed *parsed)
{
	const struct flame_arguments *options = &parsed->options.flame;

	if (options->format != FLAME_ANSWER_TEXT && parsed->common.json)
		return message_error(COMMAND_USAGE, "leave out one of them",
				"`--json` and `--format %s` exclude each other",
				command_flame_formats[options->format]);
	if (options->format != FLAME_ANSWER_TEXT && options->format != FLAME_ANSWER_SVG &&
			options->base)
		return message_error(COMMAND_USAGE, "use `--format svg`, or leave out `--format`",
				"`--base` has no effect with `--format %s`",
				command_flame_formats[options->format]);
	if (options->run.output && flame_is_picture(options->run.output))
		return message_error(COMMAND_USAGE, "use `--format svg > FILE`",
				"`-o %.128s` names the directory of the recording, not a picture",
				options->run.output);
	if (options->format == FLAME_ANSWER_PPROF && isatty(STDOUT_FILENO))
		return message_error(COMMAND_USAGE, "redirect the output: `> FILE`",
				"cannot write a profile for pprof to a terminal");
	return COMMAND_DONE;
}

/* For a trace, the recording's options are not used. */
static int flame_plan_recording(const struct parsed *parsed, struct answer_plan *plan)
{
	plan->command_args = plan->process_args = flame_calls_args;
	plan->add_args = flame_add_calls;
	switch ((enum flame_weight)parsed->options.flame.answer.weight) {
	case FLAME_WEIGHT_BYTES:
		plan->command_args = recording_leaks_command;
		plan->process_args = recording_leaks_process;
		plan->add_args = flame_add_allocator;
		plan->command_blocks = true;
		break;
	case FLAME_WEIGHT_WAIT:
		plan->command_args = recording_locks_command;
		plan->process_args = recording_locks_process;
		plan->add_args = NULL;
		break;
	case FLAME_WEIGHT_COUNT:
		if (!answer_is_trace(parsed))
			return message_error(COMMAND_USAGE,
					"record with `side record --context backtrace -e PATTERN -o DIR COMMAND`, and give DIR",
					"`--weight count` needs a trace: the events to record are not known");
		break;
	case FLAME_WEIGHT_AUTO:
	case FLAME_WEIGHT_TIME:
	case FLAME_WEIGHT_ON_CPU:
	case FLAME_WEIGHT_OFF_CPU: break;
	}
	return COMMAND_DONE;
}

int cmd_flame(const struct parsed *parsed)
{
	struct answer_plan plan = {.answer = flame_answer};
	int status = flame_check_options(parsed);

	if (!status)
		status = flame_plan_recording(parsed, &plan);
	return status ? status : answer_run(parsed, &parsed->options.flame.run, &plan);
}
