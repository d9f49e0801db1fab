/* SPDX-License-Identifier: MIT */
/* The verb `calls`: number, time and errors of the library functions that a program calls. */
#include "base/format.h"
#include "programs/common/command.h"
#include "programs/side/answers/functions.h"
#include "programs/side/answers/run.h"
#include "programs/side/session/helper-program.h"

#include <stdio.h>
#include <stdlib.h>

/* All libraries, but not the dynamic linker. */
#define CALLS_LIBRARIES "lib*"

static const char *const calls_args[] = {"trace", NULL};

static bool calls_add_library(char ***args, const char *library, bool all)
{
	char *location;
	bool added;

	if (asprintf(&location, "%s:%s", library, all ? "*" : "$imports") < 0)
		return false;
	added = helper_add(args, "--function", location) && helper_add(args, "--exit", NULL);
	free(location);
	return added;
}

static bool calls_add_args(const struct parsed *parsed, char ***args)
{
	const struct function_arguments *options = &parsed->options.functions;
	bool added = options->names.count || calls_add_library(args, CALLS_LIBRARIES, options->all);

	for (size_t i = 0; i < options->names.count && added; i++)
		added = calls_add_library(args, options->names.items[i], options->all);
	return added;
}

static int calls_answer(const struct parsed *parsed, const char *dir)
{
	return functions_answer(parsed, dir, FUNCTION_TABLE_CALLS);
}

int cmd_calls(const struct parsed *parsed)
{
	const struct answer_plan plan = {
			.command_args = calls_args,
			.process_args = calls_args,
			.add_args = calls_add_args,
			.answer = calls_answer,
	};

	return answer_run(parsed, &parsed->options.functions.run, &plan);
}
