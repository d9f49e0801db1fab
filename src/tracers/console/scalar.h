/* SPDX-License-Identifier: MIT */
/* Prints the smallest parts of the text form: strings, numbers, attributes. */
#ifndef SIDE_TRACERS_CONSOLE_SCALAR_H
#define SIDE_TRACERS_CONSOLE_SCALAR_H

#include "tracers/console/output.h"

/* Static items are printed as "name: ", dynamic ones as "name:: ". */
static inline const char *console_colon(bool dynamic)
{
	return dynamic ? "::" : ":";
}

/* Append the text unchanged. */
void console_put_name(struct console_line *line, const char *name);

/* Append a string in quotes, converted to UTF-8. */
void console_put_string(struct console_line *line, struct visit_text text);
void console_put_raw_string(struct console_line *line, const struct side_type_raw_string *string);

/* Append a value: true, 12, 0x1f, "text", ... */
void console_put_value(struct console_line *line, const struct visit_value *value,
		struct visit_attributes attributes);

/*
 * Append attr: [ { key: "...", value: ... }, ... ] or nothing; `word` is "attr:", "attr::" or "attr
 * ::".
 */
void console_put_attributes(struct console_line *line, struct visit_attributes attributes,
		const char *word, bool dynamic);

#endif /* SIDE_TRACERS_CONSOLE_SCALAR_H */
