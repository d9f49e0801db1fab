/* SPDX-License-Identifier: MIT */
/* An answer as JSON, member by member. */
#include "analysis/json-line.h"

#include <string.h>

#include "analysis/report-walk.h"
#include "analysis/view-sink.h"

static void json_line_name(struct view_out *out, const char *name, const char *suffix)
{
	view_out_text(out, ",\"");
	view_out_put(out, name, strlen(name));
	view_out_put(out, suffix, strlen(suffix));
	view_out_text(out, "\":");
}

void json_line_begin(struct view_out *out, const char *type)
{
	view_out_format(out, "{\"schema\":%d,\"type\":\"%s\"", JSON_LINE_SCHEMA, type);
}

void json_line_end(struct view_out *out)
{
	view_out_text(out, "}\n");
}

void json_line_member(struct view_out *out, const char *name)
{
	json_line_name(out, name, "");
}

void json_line_text(struct view_out *out, const char *name, const char *text)
{
	json_line_name(out, name, "");
	view_json_quoted(out, text, strlen(text));
}

void json_line_number(struct view_out *out, const char *name, uint64_t number)
{
	json_line_name(out, name, "");
	view_out_unsigned(out, number);
}

void json_line_signed(struct view_out *out, const char *name, int64_t number)
{
	json_line_name(out, name, "");
	view_out_signed(out, number);
}

void json_line_bool(struct view_out *out, const char *name, bool is_true)
{
	const char *text = is_true ? "true" : "false";

	json_line_name(out, name, "");
	view_out_put(out, text, strlen(text));
}

void json_line_time(struct view_out *out, const char *name, int64_t ns)
{
	json_line_name(out, name, "_ns");
	view_out_signed(out, ns);
	json_line_name(out, name, "_time");
	view_out_char(out, '"');
	walk_put_time(out, ns, true);
	view_out_char(out, '"');
}

void json_line_process(struct view_out *out, const struct identity *identity, uint32_t process)
{
	const struct identity_process *known = &identity->processes[process];

	if (known->hostname)
		json_line_text(out, "hostname", known->hostname);
	if (known->name)
		json_line_text(out, "procname", known->name);
	if (known->pid >= 0)
		json_line_signed(out, "vpid", known->pid);
}
