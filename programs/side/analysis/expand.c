/* SPDX-License-Identifier: MIT */
/* Writes an uncompressed copy of a compressed trace (the verb `expand`). */
#include "programs/common/command.h"
#include "programs/side/cli/confine.h"
#include "programs/common/message.h"

#include "ctf/ctf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void expand_print_damage(void *user, const char *sentence)
{
	(void)user;
	message_error(COMMAND_FAILED, NULL, "%s", sentence);
}

/*
 * Returns the path DIR-expanded, which the caller frees. NULL if DIR has no name of its own, such
 * as "." or "/", or if out of memory.
 */
static char *expand_output_path(const char *dir)
{
	size_t size = strlen(dir);
	const char *name;
	char *path;

	while (size && dir[size - 1] == '/')
		size--;
	name = memrchr(dir, '/', size);
	name = name ? name + 1 : dir;
	if (!size || (size_t)(dir + size - name) <= strspn(name, "."))
		return NULL;
	return asprintf(&path, "%.*s-expanded", (int)size, dir) < 0 ? NULL : path;
}

static void expand_print_result(const struct ctf_expand_result *result, const char *out)
{
	char in_text[FORMAT_NUMBER_MAX], out_text[FORMAT_NUMBER_MAX];

	if (output_is_json()) {
		printf("{\"schema\":%d,\"type\":\"expanded\",\"output\":", OUTPUT_JSON_SCHEMA);
		print_json_string(stdout, out);
		printf(",\"expanded\":%" PRIu64 ",\"copied\":%" PRIu64 ",\"bytes_in\":%" PRIu64
		       ",\"bytes_out\":%" PRIu64 ",\"damaged\":%" PRIu64 "}\n",
				result->expanded, result->copied, result->bytes_in,
				result->bytes_out, result->damaged);
		return;
	}
	if (!result->expanded)
		message_note("%s is a plain copy: nothing in the trace was compressed", out);
	else
		message_note("expanded %s to %s in %s", format_size(result->bytes_in, in_text),
				format_size(result->bytes_out, out_text), out);
}

int cmd_expand(const struct parsed *parsed)
{
	const char *dir = parsed->operands[0], *out = parsed->options.expand.output;
	struct ctf_expand_result result;
	struct error error = {.text = ""};
	char *default_path = out ? NULL : expand_output_path(dir);
	int ret;

	if (!out && !default_path)
		return message_error(COMMAND_USAGE, "name the new directory with `-o`",
				"cannot derive the name of the new directory from %s", dir);
	out = out ? out : default_path;
	ret = ctf_expand(dir, out, confine, expand_print_damage, NULL, &result, &error);
	if (ret) {
		ret = message_library_error(&error);
	} else {
		expand_print_result(&result, out);
		ret = result.damaged ? COMMAND_FAILED : output_flush(stdout);
	}
	free(default_path);
	return ret;
}
