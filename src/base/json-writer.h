/* SPDX-License-Identifier: MIT */
/*
 * JSON, written as it is made: the writer sets the commas, the quotes and the escapes.
 *
 *     struct json_writer out = {.write = json_write_to_file, .user = stdout};
 *
 *     json_write_object(&out);
 *     json_write_name(&out, "pid");
 *     json_write_unsigned(&out, pid);
 *     json_write_object_end(&out);
 *
 * The caller pairs begins with ends, and writes a name before each member of an object. Nothing is
 * allocated. Failures belong to `write`: a stream remembers them (ferror).
 */
#ifndef SIDE_BASE_JSON_WRITER_H
#define SIDE_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/inside/json-escape.h"

struct json_writer {
	json_put_fn *write;
	void *user;
	unsigned int flags; /* enum json_escape_flags */
	bool has_value;     /* a comma is due before the next one */
};

/* `write` for a FILE. */
void json_write_to_file(void *user, const char *bytes, size_t size);

void json_write_object(struct json_writer *out);
void json_write_object_end(struct json_writer *out);
void json_write_array(struct json_writer *out);
void json_write_array_end(struct json_writer *out);
/* The name of the member whose value is written next. */
void json_write_name(struct json_writer *out, const char *name);

void json_write_string(struct json_writer *out, const char *text, size_t size);
void json_write_text(struct json_writer *out, const char *text);
void json_write_unsigned(struct json_writer *out, uint64_t number);
void json_write_signed(struct json_writer *out, int64_t number);
void json_write_bool(struct json_writer *out, bool is_true);
void json_write_null(struct json_writer *out);
/* A value that is JSON already, such as a number with a fraction. */
void json_write_raw(struct json_writer *out, const char *json);

#endif /* SIDE_BASE_JSON_WRITER_H */
