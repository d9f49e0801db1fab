/* SPDX-License-Identifier: MIT */
/* Prints a listing as text for people: a property a line, indented by one space for each level. */
#include "form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void form_text_indent(struct form *form)
{
	for (unsigned int i = 0; i < form->depth; i++)
		putc(' ', form->out);
}

static void form_text_key(struct form *form, const char *key, size_t size)
{
	form_text_indent(form);
	put_printable(form->out, key, size);
	putc(':', form->out);
}

static void form_text_begin_file(struct form *form, const char *path)
{
	put_printable(form->out, path, strlen(path));
	fputs(":\nevents:\n", form->out);
	form->depth = 2;
}

static void form_text_end_file(struct form *form)
{
	putc('\n', form->out);
}

static void form_text_ignore(struct form *form)
{
	(void)form;
}

static void form_text_event_begin(struct form *form, const char *path)
{
	(void)form;
	(void)path;
}

static void form_text_print_name(struct form *form, const char *key, const char *text)
{
	if (!strcmp(key, "event"))
		key = "name";
	form_text_key(form, key, strlen(key));
	putc(' ', form->out);
	put_printable(form->out, text, strlen(text));
	putc('\n', form->out);
}

static void form_text_print_number(struct form *form, const char *key, uint64_t value)
{
	form_text_indent(form);
	fprintf(form->out, "%s: %" PRIu64 "\n", key, value);
}

static void form_text_print_flag(struct form *form, const char *key, bool value)
{
	form_text_indent(form);
	fprintf(form->out, "%s: %s\n", key, value ? "true" : "false");
}

static void form_text_open_list(
		struct form *form, enum form_list list, const char *key, uint32_t count)
{
	form_text_key(form, key, strlen(key));
	fputs(list == FORM_ATTRIBUTES && !count ? " None\n" : "\n", form->out);
	form->depth++;
}

static void form_text_close_list(struct form *form, enum form_list list, uint32_t count)
{
	(void)list;
	(void)count;
	form->depth--;
}

static void form_text_print_attribute(
		struct form *form, const char *key, size_t size, const struct visit_value *value)
{
	char *text;

	form_text_key(form, key, size);
	putc(' ', form->out);
	if (value->kind == VISIT_STRING) {
		text = form_utf8(&value->text, &size);
		if (text)
			put_printable(form->out, text, size);
		free(text);
	} else if (value->kind != VISIT_NULL) {
		form_scalar(form->out, value);
	} else {
		fputs("null", form->out);
	}
	putc('\n', form->out);
}

static void form_text_print_mapping(struct form *form, const char *label, size_t size,
		const char *first, const char *last)
{
	form_text_key(form, label, size);
	fprintf(form->out, " %s-%s\n", first, last);
}

const struct form_ops form_text = {
		.begin = form_text_begin_file,
		.end = form_text_end_file,
		.finish = form_text_ignore,
		.event_begin = form_text_event_begin,
		.event_end = form_text_ignore,
		.name = form_text_print_name,
		.word = form_text_print_name,
		.number = form_text_print_number,
		.flag = form_text_print_flag,
		.open = form_text_open_list,
		.close = form_text_close_list,
		.attribute = form_text_print_attribute,
		.mapping = form_text_print_mapping,
};
