/* SPDX-License-Identifier: MIT */
/* The answer from a recording that has no event of the verb: one form for all of these verbs. */
#include "programs/side/answers/nothing.h"

#include <stdio.h>

#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/answers/run.h"

static void nothing_print_json(const struct parsed *parsed, const char *reason, const char *hint)
{
	printf("{\"schema\":%d,\"type\":\"nothing\",\"verb\":\"%s\",\"reason\":",
			OUTPUT_JSON_SCHEMA, parsed->verb->name);
	print_json_string(stdout, reason);
	if (hint) {
		fputs(",\"hint\":", stdout);
		print_json_string(stdout, hint);
	}
	fputs("}\n", stdout);
}

int answer_print_nothing(const struct parsed *parsed, const char *what)
{
	/* No hint for a recording of this verb: it has all events that the verb needs. */
	bool is_trace = !answer_end_ns();
	char reason[128], record[64];
	const char *hint = is_trace ? record : NULL;

	snprintf(reason, sizeof(reason), "the recording has no %s", what);
	snprintf(record, sizeof(record), "record with `side %s -o DIR COMMAND`",
			parsed->verb->name);
	progress_clear();
	if (parsed->common.json)
		nothing_print_json(parsed, reason, hint);
	else if (hint)
		message_note_hint(hint, "%s", reason);
	else
		message_note("%s", reason);
	return output_flush(stdout);
}
