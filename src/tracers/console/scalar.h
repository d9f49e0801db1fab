/* SPDX-License-Identifier: MIT */
/* The smallest parts of the textual form: strings, numbers, attributes. */
#ifndef SIDE_TRACERS_CONSOLE_SCALAR_H
#define SIDE_TRACERS_CONSOLE_SCALAR_H

#include "tracers/console/output.h"

/* Static things are written "name: ", dynamic ones "name:: ". */
static inline const char *console_colon(bool dynamic)
{
	return dynamic ? "::" : ":";
}

/* The text as it is. */
void console_put_name(struct console_line *line, const char *name);

/* A string between quotes, converted to UTF-8. */
void console_put_string(struct console_line *line, struct visit_text text);
void console_put_raw_string(struct console_line *line, const struct side_type_raw_string *string);

/* The text of a value: true, 12, 0x1f, "text", ... */
void console_put_value(struct console_line *line, const struct visit_value *value,
		struct visit_attributes attributes);

/* attr: [ { key: "...", value: ... }, ... ] or nothing; word is "attr:", "attr::" or "attr ::". */
void console_put_attributes(struct console_line *line, struct visit_attributes attributes,
		const char *word, bool dynamic);

#endif /* SIDE_TRACERS_CONSOLE_SCALAR_H */
