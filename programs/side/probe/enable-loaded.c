/* SPDX-License-Identifier: MIT */
/*
 * Request the probes of a session for a library that a program is loading (`--pending`).
 *
 * The daemon starts this for the user of the probes, and the program waits (programs/sided/pending.c).
 * The session keeps the probe that the user has requested, and gets one more for each file. A glob
 * may name libraries that do not have the location: they get none, without a message.
 */
#include "enable.h"

#include "programs/common/ask.h"
#include "programs/common/message.h"

#include "base/process-root.h"
#include "sessions/definition-probe.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The process that loads the library, and the library. */
struct loading_process {
	struct probe_of_library library;
	struct stat file;
	char exe[PATH_MAX];
};

/* Prints nothing if the process has ended, or has another root directory by now. */
static int loading_open(const struct parsed *parsed, struct loading_process *ret_process)
{
	const struct control_options *options = &parsed->options.control;
	char link[64];
	ssize_t size;
	int ret;

	*ret_process = (struct loading_process){
			.library = {.loaded = {.pid = (pid_t)options->pid, .path = options->exe}}};
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)options->pid);
	size = readlink(link, ret_process->exe, sizeof(ret_process->exe) - 1);
	ret_process->exe[size > 0 ? size : 0] = '\0';
	ret = size < 0 ? -errno
		       : process_root_stat((pid_t)options->pid, options->exe, &ret_process->file);
	if (!ret && !S_ISREG(ret_process->file.st_mode))
		ret = -EACCES;
	if (ret == -ENOENT || ret == -ESRCH)
		return COMMAND_FAILED;
	if (ret)
		return message_error(COMMAND_FAILED, NULL, "cannot read the library %.256s: %s",
				options->exe, strerror(-ret));
	file_identity_of_status(&ret_process->file, ret_process->library.file);
	return COMMAND_DONE;
}

/* A process of the same file or, of a probe with a process, maybe a child of it. */
static bool loading_is_meant(
		const struct loading_process *process, const struct definition_probe *probe)
{
	return !probe->target.exe || !strcmp(probe->target.exe, process->exe);
}

static int loading_request(const struct parsed *parsed, struct ask *ask,
		struct loading_process *process, const struct definition_probe *probe,
		struct json_object *json, struct json_object *channels)
{
	struct control_options options = {.pid = probe->target.pid,
			.system = parsed->options.control.system,
			.no_daemon = true};
	struct enabling enabling = {.parsed = parsed,
			.options = &options,
			.target = {.pid = (pid_t)probe->target.pid, .exe = probe->target.exe},
			.of_library = &process->library,
			.table = -1,
			.kernel.table = -1};

	process->library.started = probe->target.started;
	process->library.is_glob = strpbrk(probe->library, "*?[");
	if (probe->file)
		snprintf(enabling.file, sizeof(enabling.file), "%s", probe->file);
	return probe_enable_again(&enabling, ask, json, channels, parsed->options.control.session);
}

int probe_enable_loaded(const struct parsed *parsed, struct ask *ask, struct json_object *json,
		const struct definition *definition)
{
	struct json_object *probes = ask_list(json, "probes");
	struct loading_process process;
	int worst = loading_open(parsed, &process);

	if (worst)
		return worst;
	for (size_t i = 0; i < definition->nr_probes; i++) {
		const struct definition_probe *probe = &definition->probes[i];
		int status;

		if (!probe->library || !probe_enable_is_own(probe) ||
				!loading_is_meant(&process, probe) ||
				!probe_loaded_is_named(&process.library.loaded, &process.file,
						probe->library) ||
				definition_probe_is_loaded(definition, probe, process.library.file))
			continue;
		status = loading_request(parsed, ask, &process, probe,
				json_object_array_get_idx(probes, i), ask_list(json, "channels"));
		worst = status > worst ? status : worst;
	}
	return worst;
}
