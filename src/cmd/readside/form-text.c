/* SPDX-License-Identifier: MIT */
/* Text for people: a property a line, one space further in for each level. */
#include "form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void indent(struct form *form)
{
	for (unsigned int i = 0; i < form->depth; i++)
		putc(' ', form->out);
}

static void key_of(struct form *form, const char *key, size_t size)
{
	indent(form);
	put_printable(form->out, key, size);
	putc(':', form->out);
}

static void begin(struct form *form, const char *path)
{
	put_printable(form->out, path, strlen(path));
	fputs(":\nevents:\n", form->out);
	form->depth = 2;
}

static void end(struct form *form)
{
	putc('\n', form->out);
}

static void nothing(struct form *form)
{
	(void)form;
}

static void event_begin(struct form *form, const char *path)
{
	(void)form;
	(void)path;
}

static void name(struct form *form, const char *key, const char *text)
{
	if (!strcmp(key, "event"))
		key = "name";
	key_of(form, key, strlen(key));
	putc(' ', form->out);
	put_printable(form->out, text, strlen(text));
	putc('\n', form->out);
}

static void number(struct form *form, const char *key, uint64_t value)
{
	indent(form);
	fprintf(form->out, "%s: %" PRIu64 "\n", key, value);
}

static void flag(struct form *form, const char *key, bool value)
{
	indent(form);
	fprintf(form->out, "%s: %s\n", key, value ? "true" : "false");
}

static void open_list(struct form *form, enum form_list list, const char *key, uint32_t count)
{
	key_of(form, key, strlen(key));
	fputs(list == FORM_ATTRIBUTES && !count ? " None\n" : "\n", form->out);
	form->depth++;
}

static void close_list(struct form *form, enum form_list list, uint32_t count)
{
	(void)list;
	(void)count;
	form->depth--;
}

static void attribute(
		struct form *form, const char *key, size_t size, const struct visit_value *value)
{
	char *text;

	key_of(form, key, size);
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

static void mapping(struct form *form, const char *label, size_t size, const char *first,
		const char *last)
{
	key_of(form, label, size);
	fprintf(form->out, " %s-%s\n", first, last);
}

const struct form_ops form_text = {
		.begin = begin,
		.end = end,
		.finish = nothing,
		.event_begin = event_begin,
		.event_end = nothing,
		.name = name,
		.word = name,
		.number = number,
		.flag = flag,
		.open = open_list,
		.close = close_list,
		.attribute = attribute,
		.mapping = mapping,
};
