/* SPDX-License-Identifier: MIT */
/* Implement the verb `probe`. */
#include "programs/common/command.h"
#include "programs/common/message.h"

#ifdef SIDE_HAS_PROBES
#include "list.h"
#include "symbolize/debuginfod.h"
#endif

#include <json-c/json.h>
#include <string.h>

#ifndef SIDE_HAS_PROBES
static int missing(void)
{
	return message_error(COMMAND_FAILED,
			"install libzydis-dev and liblzma-dev, and build it again",
			"cannot use probes: this side was built without the library Zydis or lzma");
}
#endif

int cmd_probe(const struct parsed *parsed)
{
	const char *what = parsed->operands[0];

	if (strcmp(what, "list") != 0)
		return command_unknown_word(parsed->verb, what, (const char *const[]){"list", NULL},
				"write `side probe list FILE|PID [GLOB]`");
	if (!parsed->operands[1] && !parsed->options.probe.sdt)
		return message_error(COMMAND_USAGE, "write `side probe list FILE|PID [GLOB]`",
				"missing operand: a file or a process");
#ifdef SIDE_HAS_PROBES
	if (parsed->options.probe.debuginfod)
		code_use_server(fetch_debug_file);
	else
		unsetenv("DEBUGINFOD_URLS"); /* libdwfl would ask these servers */
	if (parsed->options.probe.sdt)
		return probe_list_sdt(parsed->operands[1],
				parsed->operands[1] ? parsed->operands[2] : NULL);
	return probe_list(parsed->operands[1], parsed->operands[2]);
#else
	return missing();
#endif
}

#ifndef SIDE_HAS_PROBES
int cmd_probe_enable(const struct parsed *parsed)
{
	(void)parsed;
	return missing();
}

int cmd_probe_context(const struct parsed *parsed)
{
	(void)parsed;
	return missing();
}

int cmd_probe_set_pending(const struct parsed *parsed)
{
	(void)parsed;
	return missing();
}

/* On this processor there are no probes. */
int cmd_probe_disable(const struct parsed *parsed)
{
	return cmd_session(parsed);
}

int probe_load(const struct parsed *parsed, struct ask *ask, const char *session,
		struct json_object *definition)
{
	(void)parsed;
	(void)ask;
	(void)session;
	return definition && json_object_object_get_ex(definition, "probes", NULL) ? missing()
										   : COMMAND_DONE;
}

int cmd_trace(const struct parsed *parsed)
{
	(void)parsed;
	return missing();
}
#endif
