/* SPDX-License-Identifier: MIT */
/* JSON, written as it is made: the writer sets the commas, the quotes and the escapes. */
#include "base/json-writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define JSON_DIGITS_BYTES 24 /* a number of 64 bits, its sign, and a zero byte */

void json_write_to_file(void *user, const char *bytes, size_t size)
{
	(void)fwrite(bytes, 1, size, user);
}

static void json_write_value(struct json_writer *out, const char *bytes, size_t size)
{
	if (out->has_value)
		out->write(out->user, ",", 1);
	out->write(out->user, bytes, size);
	out->has_value = true;
}

static void json_write_begin(struct json_writer *out, const char *bracket)
{
	json_write_value(out, bracket, 1);
	out->has_value = false;
}

static void json_write_end(struct json_writer *out, const char *bracket)
{
	out->write(out->user, bracket, 1);
	out->has_value = true;
}

void json_write_object(struct json_writer *out)
{
	json_write_begin(out, "{");
}

void json_write_object_end(struct json_writer *out)
{
	json_write_end(out, "}");
}

void json_write_array(struct json_writer *out)
{
	json_write_begin(out, "[");
}

void json_write_array_end(struct json_writer *out)
{
	json_write_end(out, "]");
}

void json_write_name(struct json_writer *out, const char *name)
{
	json_write_text(out, name);
	out->write(out->user, ":", 1);
	out->has_value = false;
}

void json_write_string(struct json_writer *out, const char *text, size_t size)
{
	json_write_value(out, "\"", 1);
	json_escape_text(text, size, out->flags, out->write, out->user);
	out->write(out->user, "\"", 1);
}

void json_write_text(struct json_writer *out, const char *text)
{
	json_write_string(out, text, strlen(text));
}

void json_write_unsigned(struct json_writer *out, uint64_t number)
{
	char digits[JSON_DIGITS_BYTES];

	json_write_value(out, digits, (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number));
}

void json_write_signed(struct json_writer *out, int64_t number)
{
	char digits[JSON_DIGITS_BYTES];

	json_write_value(out, digits, (size_t)snprintf(digits, sizeof(digits), "%" PRId64, number));
}

void json_write_bool(struct json_writer *out, bool is_true)
{
	json_write_raw(out, is_true ? "true" : "false");
}

void json_write_null(struct json_writer *out)
{
	json_write_raw(out, "null");
}

void json_write_raw(struct json_writer *out, const char *json)
{
	json_write_value(out, json, strlen(json));
}
