/* SPDX-License-Identifier: MIT */
/* The verb `leaks`: memory that a program allocated and did not free. */
#include "analysis/leaks.h"

#include "base/error.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/answers/run.h"
#include "programs/side/cli/confine.h"

_Static_assert(LEAKS_JSON_SCHEMA == OUTPUT_JSON_SCHEMA, "all JSON of `side` has one version");

/*
 * Probes of the allocator in the C library. The results of free() and the block of posix_memalign()
 * are not in registers.
 */
/* clang-format off */
static const char *const leaks_args[] = {
	"trace", "--context", "backtrace",
	"--function", "libc:malloc", "--arg", "u64:size:%rdi", "--exit",
	"--function", "libc:calloc", "--arg", "u64:count:%rdi", "--arg", "u64:size:%rsi", "--exit",
	"--function", "libc:realloc", "--arg", "pointer:ptr:%rdi", "--arg", "u64:size:%rsi", "--exit",
	"--function", "libc:memalign", "--arg", "u64:size:%rsi", "--exit",
	"--function", "libc:posix_memalign", "--arg", "u64:size:%rdx", "--exit",
	"--function", "libc:free", "--arg", "pointer:ptr:%rdi",
	NULL,
};
/* clang-format on */

static int leaks_answer_print(struct leaks *leaks)
{
	struct error error = {.code = 0};

	if (leaks_open(leaks, &error) || leaks_read(leaks, &error))
		return message_library_error(&error);
	progress_clear();
	if (leaks_print(leaks, stdout, &error))
		return message_library_error(&error);
	return output_flush(stdout);
}

static int leaks_answer(const struct parsed *parsed, const char *dir)
{
	const struct analysis_listener listener = command_listener("analyse");
	const struct leaks_options *options = &parsed->options.leaks.answer;
	struct leaks leaks = {
			.json = parsed->common.json,
			.colour = !parsed->common.json &&
					output_has_color(stdout, parsed->common.color),
	};
	struct error error = {.code = 0};
	int status = COMMAND_DONE;

	if (leaks_prepare(&leaks, options, dir, &listener, &error))
		status = message_library_error(&error);
	confine(dir, NULL);
	if (!status)
		status = leaks_answer_print(&leaks);
	if (!status && leaks.walk.damaged)
		status = COMMAND_FAILED;
	leaks_free(&leaks);
	return status;
}

int cmd_leaks(const struct parsed *parsed)
{
	const struct answer_plan plan = {
			.command_args = leaks_args,
			.process_args = leaks_args,
			.answer = leaks_answer,
	};

	return answer_run(parsed, &parsed->options.leaks.run, &plan);
}
