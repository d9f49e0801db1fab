/* SPDX-License-Identifier: MIT */
/* The verb `leaks`: memory that a program allocated and did not free. */
#include "analysis/leaks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/answers/allocator.h"
#include "programs/side/answers/nothing.h"
#include "programs/side/answers/recordings.h"
#include "programs/side/answers/run.h"
#include "programs/side/cli/confine.h"
#include "programs/side/session/helper-program.h"

/* Wrappers see each call of a command from the first on. Elsewhere, each event has its caller. */
/* clang-format off */
const char *const recording_leaks_command[] = {
	"record", "-w", "libc", "--symbols",
#if defined(__x86_64__) && defined(__LP64__)
	"--context", "backtrace",
#endif
	"-e", "libc:malloc", "-e", "libc:calloc", "-e", "libc:realloc", "-e", "libc:reallocarray",
	"-e", "libc:free", "-e", "libc:posix_memalign", "-e", "libc:aligned_alloc",
	"-e", "libc:memalign", "-e", "libc:valloc", "-e", "libc:pvalloc",
	NULL,
};
/* clang-format on */

/* Wrappers cannot be loaded into a running process: probes are set at the allocator. */
const char *const recording_leaks_process[] = {"trace", "--symbols", NULL};

static bool leaks_add_probe(char ***args, const struct allocator *allocator,
		const struct allocator_function *function)
{
	char location[sizeof(allocator->library) + 32];
	bool added;

	snprintf(location, sizeof(location), "%s%s%s", allocator->library,
			*allocator->library ? ":" : "", function->name);
	added = helper_add(args, "--function", location);
	for (size_t i = 0; function->args[i] && added; i++)
		added = helper_add(args, function->args[i], NULL);
	return added;
}

/* For a process: probes of the functions of its allocator. */
bool recording_leaks_add(char ***args, uint64_t pid)
{
	struct allocator allocator;
	bool added = true;

	if (!pid)
		return true;
	if (!allocator_of_process((pid_t)pid, &allocator)) {
		allocator = (struct allocator){.library = "libc"};
		memset(allocator.has, true, sizeof(allocator.has));
	}
	for (size_t i = 0; i < ALLOCATOR_FUNCTIONS && added; i++)
		if (allocator.has[i])
			added = leaks_add_probe(args, &allocator, &allocator_functions[i]);
	return added;
}

static bool leaks_add_args(const struct parsed *parsed, char ***args)
{
	static const char *const mappings[] = {
			"libc:mmap", "libc:mmap64", "libc:munmap", "libc:mremap"};
	bool added = recording_leaks_add(args, parsed->options.leaks.run.pid);

	for (size_t i = 0; i < sizeof(mappings) / sizeof(*mappings); i++)
		if (parsed->options.leaks.answer.mmap)
			added = added && helper_add(args, "-e", mappings[i]);
	return added;
}

static int leaks_answer_print(const struct parsed *parsed, struct leaks *leaks)
{
	struct error error = {.code = 0};
	int ret = leaks_open(leaks, &error);

	/* A program without events leaves no trace. */
	if (ret == -ENOENT && answer_end_ns())
		ret = 0;
	else if (!ret)
		ret = leaks_read(leaks, &error);
	if (ret)
		return message_library_error(&error);
	if (leaks_is_empty(leaks))
		return answer_print_nothing(parsed, "call of the allocator");
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
			.doubts.cut = answer_is_cut(),
			.colour = !parsed->common.json &&
					output_has_color(stdout, parsed->common.color),
	};
	struct error error = {.code = 0};
	int status = COMMAND_DONE;

	if (leaks_prepare(&leaks, options, dir, &listener, &error))
		status = message_library_error(&error);
	confine(dir, NULL);
	if (!status)
		status = leaks_answer_print(parsed, &leaks);
	if (!status && leaks.walk.damaged)
		status = COMMAND_FAILED;
	leaks_free(&leaks);
	return status;
}

int cmd_leaks(const struct parsed *parsed)
{
	const struct answer_plan plan = {
			.command_args = recording_leaks_command,
			.process_args = recording_leaks_process,
			.command_blocks = true,
			.no_threads = true,
			.add_args = leaks_add_args,
			.answer = leaks_answer,
	};

	/* Probes would see the mappings that the C library makes for blocks and threads, too. */
	if (parsed->options.leaks.answer.mmap && parsed->options.leaks.run.pid)
		return message_error(COMMAND_USAGE, "leave out `--mmap`, or give a command",
				"`--mmap` and `-p` exclude each other");
	return answer_run(parsed, &parsed->options.leaks.run, &plan);
}
