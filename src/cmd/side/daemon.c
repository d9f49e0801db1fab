/* SPDX-License-Identifier: MIT */
/* The verb `daemon`: start sided, or tell where it is. */
#include "ask.h"
#include "command.h"
#include "say.h"

#include <inttypes.h>
#include <json-c/json.h>

int cmd_daemon(const struct parsed *parsed)
{
	const struct control_options *options = &parsed->options.control;
	struct json_object *answer;
	char socket[512];
	struct ask ask;
	int status = COMMAND_DONE, printed;

	if (parsed->operand_count)
		return say_error(COMMAND_USAGE, "write `side daemon`",
				"`side daemon` does not understand `%.128s`", parsed->operands[0]);
	status = ask_connect(&ask, options->system, options->no_daemon);
	if (status)
		return status;
	status = ask_call(&ask, control_request("ping", NULL), ASK_PATIENCE_MS, &answer);
	if (!status && parsed->common.json) {
		json_object_object_add(
				answer, "socket", json_object_new_string(control_path(ask.client)));
		ask_print_json("daemon", answer);
	} else if (!status && !say_is_quiet()) {
		printf("sided %s of %s runs as process %" PRIu64 ", at %s\n",
				ask_text(answer, "version"),
				ask_flag(answer, "system") ? "the system" : "this user",
				ask_number(answer, "pid"),
				say_printable(control_path(ask.client), socket, sizeof(socket)));
	}
	json_object_put(answer);
	ask_close(&ask);
	printed = say_flush(stdout);
	return status ? status : printed;
}
