/* SPDX-License-Identifier: MIT */
/*
 * Prints a listing as JSON: one array for all events of all files, so that the whole output is
 * valid JSON.
 */
#include "form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Begin a line in the innermost list, after a comma if it is not the first item. */
static void form_json_begin_item(struct form *form)
{
	fputs(form->first ? "\n" : ",\n", form->out);
	form->first = false;
	for (unsigned int i = 0; i < form->depth; i++)
		putc('\t', form->out);
}

static void form_json_print_key(struct form *form, const char *key, size_t size)
{
	form_json_begin_item(form);
	put_json_string(form->out, key, size);
	fputs(": ", form->out);
}

static void form_json_print_key_text(struct form *form, const char *key)
{
	form_json_print_key(form, key, strlen(key));
}

static void form_json_open_scope(struct form *form)
{
	putc('{', form->out);
	form->depth++;
	form->first = true;
}

static void form_json_close_scope(struct form *form, char bracket)
{
	form->depth--;
	if (!form->first) {
		form->first = true;
		form_json_begin_item(form);
	}
	form->first = false;
	putc(bracket, form->out);
}

static void form_json_begin_file(struct form *form, const char *path)
{
	(void)path;
	if (form->nr_events)
		return;
	putc('[', form->out);
	form->depth = 1;
	form->first = true;
}

static void form_json_end_file(struct form *form)
{
	(void)form;
}

static void form_json_finish(struct form *form)
{
	form_json_begin_file(form, NULL);
	form_json_close_scope(form, ']');
	putc('\n', form->out);
}

static void form_json_print_name(struct form *form, const char *key, const char *text)
{
	form_json_print_key_text(form, key);
	put_json_text(form->out, text);
}

static void form_json_event_begin(struct form *form, const char *path)
{
	form_json_begin_item(form);
	form_json_open_scope(form);
	form_json_print_name(form, "file", path);
}

static void form_json_event_end(struct form *form)
{
	form_json_close_scope(form, '}');
}

static void form_json_print_number(struct form *form, const char *key, uint64_t value)
{
	form_json_print_key_text(form, key);
	fprintf(form->out, "%" PRIu64, value);
}

static void form_json_print_flag(struct form *form, const char *key, bool value)
{
	form_json_print_key_text(form, key);
	fputs(value ? "true" : "false", form->out);
}

static void form_json_open_list(
		struct form *form, enum form_list list, const char *key, uint32_t count)
{
	(void)list;
	(void)count;
	form_json_print_key_text(form, key);
	form_json_open_scope(form);
}

static void form_json_close_list(struct form *form, enum form_list list, uint32_t count)
{
	(void)list;
	(void)count;
	form_json_close_scope(form, '}');
}

static void form_json_print_attribute(
		struct form *form, const char *key, size_t size, const struct visit_value *value)
{
	char *text;

	form_json_print_key(form, key, size);
	if (value->kind == VISIT_STRING) {
		text = form_utf8(&value->text, &size);
		if (text)
			put_json_string(form->out, text, size);
		else
			fputs("null", form->out);
		free(text);
	} else if (value->kind == VISIT_NULL) {
		fputs("null", form->out);
	} else {
		form_scalar(form->out, value);
	}
}

static void form_json_print_mapping(struct form *form, const char *label, size_t size,
		const char *first, const char *last)
{
	form_json_print_key(form, label, size);
	fprintf(form->out, "[%s, %s]", first, last);
}

const struct form_ops form_json = {
		.begin = form_json_begin_file,
		.end = form_json_end_file,
		.finish = form_json_finish,
		.event_begin = form_json_event_begin,
		.event_end = form_json_event_end,
		.name = form_json_print_name,
		.word = form_json_print_name,
		.number = form_json_print_number,
		.flag = form_json_print_flag,
		.open = form_json_open_list,
		.close = form_json_close_list,
		.attribute = form_json_print_attribute,
		.mapping = form_json_print_mapping,
};
