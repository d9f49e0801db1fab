/* SPDX-License-Identifier: MIT */
/* Prints a listing as S-expressions: strings in quotes, words as symbols, #t and #f. */
#include "form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Print a string in the syntax of Scheme: control characters become \xHH; escapes. */
static void form_sexpr_print_string(FILE *out, const char *text, size_t size)
{
	putc('"', out);
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte == '"' || byte == '\\')
			fprintf(out, "\\%c", byte);
		else if (byte < 0x20 || byte == 0x7f)
			fprintf(out, "\\x%02x;", byte);
		else
			putc(byte, out);
	}
	putc('"', out);
}

static void form_sexpr_begin_line(struct form *form)
{
	putc('\n', form->out);
	for (unsigned int i = 0; i < form->depth; i++)
		putc(' ', form->out);
}

static void form_sexpr_begin_file(struct form *form, const char *path)
{
	put_printable(form->out, path, strlen(path));
	fputs(":\n(vector", form->out);
	form->depth = 1;
}

static void form_sexpr_end_file(struct form *form)
{
	fputs(")\n\n", form->out);
}

static void form_sexpr_finish(struct form *form)
{
	(void)form;
}

static void form_sexpr_event_begin(struct form *form, const char *path)
{
	(void)path;
	form_sexpr_begin_line(form);
	fputs("(event", form->out);
	form->depth++;
}

static void form_sexpr_event_end(struct form *form)
{
	putc(')', form->out);
	form->depth--;
}

static void form_sexpr_print_name(struct form *form, const char *key, const char *text)
{
	fprintf(form->out, " (%s ", strcmp(key, "event") ? key : "name");
	form_sexpr_print_string(form->out, text, strlen(text));
	putc(')', form->out);
}

/*
 * The first word in a field is its type, whose parentheses contain the other properties; in an
 * option it has no quote mark.
 */
static void form_sexpr_open_type(struct form *form, const char *key, const char *text)
{
	if (form->in_field)
		fprintf(form->out, " (%s (%s", key, text);
	else if (form->typeless)
		fprintf(form->out, " (%s %s)", key, text);
	else
		fprintf(form->out, " (%s '%s)", key, text);
	form->in_field = false;
	form->typeless = false;
}

static void form_sexpr_print_number(struct form *form, const char *key, uint64_t value)
{
	fprintf(form->out, " (%s %" PRIu64 ")", key, value);
}

static void form_sexpr_print_flag(struct form *form, const char *key, bool value)
{
	fprintf(form->out, " (%s #%c)", key, value ? 't' : 'f');
}

/* "-5-3" is the range from -5 to 3. */
static void form_sexpr_print_range(FILE *out, const char *range)
{
	const char *middle = strchr(range + 1, '-');

	fprintf(out, " (range %.*s %s)", (int)(middle - range), range, middle + 1);
}

static void form_sexpr_open_list(
		struct form *form, enum form_list list, const char *key, uint32_t count)
{
	switch (list) {
	case FORM_ATTRIBUTES: fprintf(form->out, " (%s %s", key, count ? "(list" : "'()"); break;
	case FORM_FIELDS: fprintf(form->out, " (%s (list", key); break;
	case FORM_FIELD:
		form_sexpr_begin_line(form);
		fputs("(field (name ", form->out);
		form_sexpr_print_string(form->out, key, strlen(key));
		putc(')', form->out);
		form->in_field = true;
		break;
	case FORM_OPTION:
		fputs(" (option", form->out);
		form_sexpr_print_range(form->out, key);
		form->typeless = true;
		break;
	case FORM_OBJECT:
		/* The key of an array's element is a string; all other keys are symbols. */
		if (!strcmp(key, "element"))
			fputs(" (\"element\"", form->out);
		else
			fprintf(form->out, " (%s", key);
		break;
	default: fprintf(form->out, " (%s", key); break;
	}
	form->depth++;
}

static void form_sexpr_close_list(struct form *form, enum form_list list, uint32_t count)
{
	static const char *const brackets[] = {
			[FORM_OBJECT] = ")",
			[FORM_ATTRIBUTES] = "))",
			[FORM_FIELDS] = "))",
			[FORM_FIELD] = ")))",
			[FORM_OPTIONS] = ")",
			[FORM_OPTION] = ")",
			[FORM_MAPPINGS] = ")",
	};

	fputs(list == FORM_ATTRIBUTES && !count ? ")" : brackets[list], form->out);
	form->depth--;
}

static void form_sexpr_print_attribute(
		struct form *form, const char *key, size_t size, const struct visit_value *value)
{
	char *text;

	fputs(" (", form->out);
	form_sexpr_print_string(form->out, key, size);
	putc(' ', form->out);
	if (value->kind == VISIT_STRING) {
		text = form_utf8(&value->text, &size);
		if (text)
			form_sexpr_print_string(form->out, text, size);
		else
			fputs("'()", form->out);
		free(text);
	} else if (value->kind == VISIT_BOOL) {
		fputs(value->lo || value->hi ? "#t" : "#f", form->out);
	} else if (value->kind == VISIT_NULL) {
		fputs("'()", form->out);
	} else {
		form_scalar(form->out, value);
	}
	putc(')', form->out);
}

static void form_sexpr_print_mapping(struct form *form, const char *label, size_t size,
		const char *first, const char *last)
{
	fputs(" (", form->out);
	form_sexpr_print_string(form->out, label, size);
	fprintf(form->out, " %s %s)", first, last);
}

const struct form_ops form_sexpr = {
		.begin = form_sexpr_begin_file,
		.end = form_sexpr_end_file,
		.finish = form_sexpr_finish,
		.event_begin = form_sexpr_event_begin,
		.event_end = form_sexpr_event_end,
		.name = form_sexpr_print_name,
		.word = form_sexpr_open_type,
		.number = form_sexpr_print_number,
		.flag = form_sexpr_print_flag,
		.open = form_sexpr_open_list,
		.close = form_sexpr_close_list,
		.attribute = form_sexpr_print_attribute,
		.mapping = form_sexpr_print_mapping,
};
