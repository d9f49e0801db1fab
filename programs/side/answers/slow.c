/* SPDX-License-Identifier: MIT */
/* The verb `slow`: where the functions of a program spend their time. */
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/side/answers/functions.h"
#include "programs/side/answers/run.h"
#include "programs/side/session/helper-program.h"

static const char *const slow_args[] = {"trace", NULL};

static bool slow_add_function(char ***args, const char *name)
{
	return helper_add(args, "--function", name) && helper_add(args, "--exit", NULL);
}

static bool slow_add_args(const struct parsed *parsed, char ***args)
{
	const struct function_arguments *options = &parsed->options.functions;
	bool added = options->names.count || slow_add_function(args, "*");

	for (size_t i = 0; i < options->names.count && added; i++)
		added = slow_add_function(args, options->names.items[i]);
	return added &&
			(!options->off_cpu ||
					helper_add(args, "--context", "perf:thread:task-clock"));
}

static int slow_answer(const struct parsed *parsed, const char *dir)
{
	return functions_answer(parsed, dir, FUNCTION_TABLE_SLOW);
}

int cmd_slow(const struct parsed *parsed)
{
	const struct answer_plan plan = {
			.command_args = slow_args,
			.process_args = slow_args,
			.add_args = slow_add_args,
			.answer = slow_answer,
	};

	return answer_run(parsed, &parsed->options.functions.run, &plan);
}
