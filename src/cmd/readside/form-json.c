/* SPDX-License-Identifier: MIT */
/* JSON: one array of all events of all files, so that what is printed is JSON as a whole. */
#include "form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A new line in the innermost list, with a comma behind what stands there. */
static void next(struct form *form)
{
	fputs(form->first ? "\n" : ",\n", form->out);
	form->first = false;
	for (unsigned int i = 0; i < form->depth; i++)
		putc('\t', form->out);
}

static void key_of(struct form *form, const char *key, size_t size)
{
	next(form);
	put_json_string(form->out, key, size);
	fputs(": ", form->out);
}

static void key_text(struct form *form, const char *key)
{
	key_of(form, key, strlen(key));
}

static void enter(struct form *form)
{
	putc('{', form->out);
	form->depth++;
	form->first = true;
}

static void leave(struct form *form, char bracket)
{
	form->depth--;
	if (!form->first) {
		form->first = true;
		next(form);
	}
	form->first = false;
	putc(bracket, form->out);
}

static void begin(struct form *form, const char *path)
{
	(void)path;
	if (form->nr_events)
		return;
	putc('[', form->out);
	form->depth = 1;
	form->first = true;
}

static void end(struct form *form)
{
	(void)form;
}

static void finish(struct form *form)
{
	begin(form, NULL);
	leave(form, ']');
	putc('\n', form->out);
}

static void name(struct form *form, const char *key, const char *text)
{
	key_text(form, key);
	put_json_text(form->out, text);
}

static void event_begin(struct form *form, const char *path)
{
	next(form);
	enter(form);
	name(form, "file", path);
}

static void event_end(struct form *form)
{
	leave(form, '}');
}

static void number(struct form *form, const char *key, uint64_t value)
{
	key_text(form, key);
	fprintf(form->out, "%" PRIu64, value);
}

static void flag(struct form *form, const char *key, bool value)
{
	key_text(form, key);
	fputs(value ? "true" : "false", form->out);
}

static void open_list(struct form *form, enum form_list list, const char *key, uint32_t count)
{
	(void)list;
	(void)count;
	key_text(form, key);
	enter(form);
}

static void close_list(struct form *form, enum form_list list, uint32_t count)
{
	(void)list;
	(void)count;
	leave(form, '}');
}

static void attribute(
		struct form *form, const char *key, size_t size, const struct visit_value *value)
{
	char *text;

	key_of(form, key, size);
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

static void mapping(struct form *form, const char *label, size_t size, const char *first,
		const char *last)
{
	key_of(form, label, size);
	fprintf(form->out, "[%s, %s]", first, last);
}

const struct form_ops form_json = {
		.begin = begin,
		.end = end,
		.finish = finish,
		.event_begin = event_begin,
		.event_end = event_end,
		.name = name,
		.word = name,
		.number = number,
		.flag = flag,
		.open = open_list,
		.close = close_list,
		.attribute = attribute,
		.mapping = mapping,
};
