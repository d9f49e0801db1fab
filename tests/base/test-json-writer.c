/* SPDX-License-Identifier: MIT */
/* The writer of JSON sets commas, quotes and escapes. */
#include "base/json-writer.h"

#include <stdio.h>
#include <string.h>

#include "../check.h"

static void write_all_kinds(struct json_writer *out)
{
	json_write_object(out);
	json_write_name(out, "a\"b");
	json_write_array(out);
	json_write_unsigned(out, UINT64_MAX);
	json_write_signed(out, INT64_MIN);
	json_write_array(out);
	json_write_array_end(out);
	json_write_object(out);
	json_write_object_end(out);
	json_write_null(out);
	json_write_array_end(out);
	json_write_name(out, "text");
	json_write_text(out, "x\ny\xff");
	json_write_name(out, "empty");
	json_write_string(out, "", 0);
	json_write_name(out, "zero");
	json_write_string(out, "\0", 1);
	json_write_name(out, "yes");
	json_write_bool(out, true);
	json_write_name(out, "no");
	json_write_bool(out, false);
	json_write_name(out, "raw");
	json_write_raw(out, "1.5");
	json_write_object_end(out);
}

static void check_flags(unsigned int flags, const char *expected)
{
	struct json_writer out = {.write = json_write_to_file, .flags = flags};
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	CHECK(file);
	out.user = file;
	write_all_kinds(&out);
	CHECK(!fclose(file));
	if (strcmp(text, expected) != 0)
		fprintf(stderr, "%s\ninstead of\n%s\n", text, expected);
	CHECK(!strcmp(text, expected));
	free(text);
}

int main(void)
{
	check_flags(0, "{\"a\\\"b\":[18446744073709551615,-9223372036854775808,[],{},null],\"text\":\"x\\u000ay\\u00ff\",\"empty\":\"\",\"zero\":\"\\u0000\",\"yes\":true,\"no\":false,\"raw\":1.5}");
	check_flags(JSON_ESCAPE_NEWLINE_SHORT,
			"{\"a\\\"b\":[18446744073709551615,-9223372036854775808,[],{},null],\"text\":\"x\\ny\\u00ff\",\"empty\":\"\",\"zero\":\"\\u0000\",\"yes\":true,\"no\":false,\"raw\":1.5}");
	return 0;
}
