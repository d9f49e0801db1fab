/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tracers/console/scalar.h"

void console_put_name(struct console_line *line, const char *name)
{
	visit_buffer_append(&line->text, name, strlen(name));
}

void console_put_string(struct console_line *line, struct visit_text text)
{
	unsigned char unit[VISIT_TEXT_UNIT_MAX];
	unsigned int size;

	CONSOLE_PUT(line, "\"");
	if (text.at && text.unit_size == 1) {
		console_put_name(line, (const char *)text.at);
	} else {
		while ((size = visit_text_next(&text, unit)) != 0)
			visit_buffer_append(&line->text, unit, size);
	}
	CONSOLE_PUT(line, "\"");
}

void console_put_raw_string(struct console_line *line, const struct side_type_raw_string *string)
{
	console_put_string(line,
			(struct visit_text){
					.at = side_ptr_get(string->p),
					.unit_size = string->unit_size,
					.byte_order = string->byte_order.v,
			});
}

static void console_scalar_print_digits(
		struct console_line *line, const struct visit_value *value, unsigned int base)
{
	char digits[VISIT_DIGITS_MAX];

	visit_buffer_append(&line->text, digits, visit_value_digits(value, base, true, digits));
}

static void console_scalar_print_float(struct console_line *line, const struct visit_value *value)
{
	char digits[VISIT_FLOAT_DIGITS_MAX];

	visit_buffer_append(&line->text, digits, visit_value_float_digits(value, 6, digits));
}

void console_put_value(struct console_line *line, const struct visit_value *value,
		struct visit_attributes attributes)
{
	switch (value->kind) {
	case VISIT_NULL: CONSOLE_PUT(line, "<NULL TYPE>"); break;
	case VISIT_BOOL: console_put_name(line, value->lo ? "true" : "false"); break;
	case VISIT_UNSIGNED:
	case VISIT_SIGNED:
		console_scalar_print_digits(line, value, visit_attribute_base(attributes, 10));
		break;
	case VISIT_BYTE: console_scalar_print_digits(line, value, 16); break;
	case VISIT_POINTER:
		console_scalar_print_digits(line, value, visit_attribute_base(attributes, 16));
		break;
	case VISIT_FLOAT: console_scalar_print_float(line, value); break;
	case VISIT_STRING: console_put_string(line, value->text); break;
	}
}

void console_put_attributes(struct console_line *line, struct visit_attributes attributes,
		const char *word, bool dynamic)
{
	struct visit_attributes none = {NULL, 0};
	struct visit_value value;
	uint32_t i;

	if (!attributes.nr)
		return;
	visit_buffer_printf(&line->text, "%s [ ", word);
	for (i = 0; i < attributes.nr; i++) {
		const struct side_attr *attr = &attributes.attr[i];

		visit_buffer_printf(
				&line->text, "%s{ key%s ", i ? ", " : "", console_colon(dynamic));
		console_put_raw_string(line, &attr->key);
		visit_buffer_printf(&line->text, ", value%s ", console_colon(dynamic));
		if (visit_load_attribute(&attr->value, &value))
			CONSOLE_PUT(line, "<UNKNOWN TYPE>");
		else if (value.kind <= VISIT_SIGNED && value.size == 16)
			console_scalar_print_digits(line, &value, 16);
		else
			console_put_value(line, &value, none);
		CONSOLE_PUT(line, " }");
	}
	CONSOLE_PUT(line, " ]");
}
