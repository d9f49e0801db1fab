/* SPDX-License-Identifier: MIT */
/*
 * An answer as JSON (docs/spec/report-json.md): an object a line, member by member.
 *
 *     json_line_begin(out, "leak");
 *     json_line_process(out, &identity, process);
 *     json_line_number(out, "blocks", 12);
 *     json_line_end(out);
 *
 * All names are literals, or need no escape.
 */
#ifndef SIDE_ANALYSIS_JSON_LINE_H
#define SIDE_ANALYSIS_JSON_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/report-identity.h"
#include "analysis/view-out.h"

/* Version of the JSON, in each of its lines. */
#define JSON_LINE_SCHEMA 1

void json_line_begin(struct view_out *out, const char *type);
void json_line_end(struct view_out *out);

/* The name of a member, whose value the caller writes. */
void json_line_member(struct view_out *out, const char *name);
void json_line_text(struct view_out *out, const char *name, const char *text);
void json_line_number(struct view_out *out, const char *name, uint64_t number);
void json_line_signed(struct view_out *out, const char *name, int64_t number);
void json_line_bool(struct view_out *out, const char *name, bool is_true);
/* NAME_ns, and NAME_time in UTC. */
void json_line_time(struct view_out *out, const char *name, int64_t ns);
/* "hostname", "procname" and "vpid", if known. */
void json_line_process(struct view_out *out, const struct identity *identity, uint32_t process);

#endif /* SIDE_ANALYSIS_JSON_LINE_H */
