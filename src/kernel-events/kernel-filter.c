/* SPDX-License-Identifier: MIT */
/*
 * What the kernel is asked of an event that several want, each by an expression of side's language. It is asked less than all of it:
 * comparisons of plain fields with constants that both understand alike. So what comes is what somebody wants, and maybe more.
 *
 * A filter in use may only become wider: whoever wants less of the event is not in the others' way.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "filter/filter.h"
#include "kernel-events/parts.h"

#define ASKED_MAX 8
#define ASKED_TEXT_MAX 1024
#define ASKED_ALL_MAX 3900 /* the kernel takes a page */

struct kind_asked {
	char *texts[ASKED_MAX]; /* one of which has to be true */
	size_t nr;
	char all[ASKED_ALL_MAX];
};

/* ---- one comparison ---- */

static bool kernel_filter_is_plain_name(const char *name)
{
	size_t size = strlen(name);
	static const char derived[] = "_length";

	/* Ours have no _ in front, and lengths are no fields of the kernel. */
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
			size &&
			*name != '_' &&
			!(size >= sizeof(derived) &&
					!strcmp(name + size - (sizeof(derived) - 1), derived));
}

static const struct format_field *kernel_filter_find_field(
		const struct format *format, const char *name)
{
	const struct format_field *found = NULL;

	for (uint32_t i = 0; i < format->nr_fields; i++)
		if (!strcmp(format->fields[i].name, name)) {
			if (found)
				return NULL;
			found = &format->fields[i];
		}
	return found;
}

/* The kernel cuts numbers to the field's size before it compares. */
static bool kernel_filter_field_fits(
		const struct format_field *field, const struct filter_comparison *comparison)
{
	uint64_t number = comparison->number;
	unsigned int bits = field->size * 8;
	bool negative = !comparison->is_unsigned && (int64_t)number < 0;

	if (negative)
		return field->is_signed &&
				(int64_t)number >=
				(bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1)));
	bits -= field->is_signed;
	return bits == 64 || number < (uint64_t)1 << bits;
}

static bool say_number(const struct format_field *field, const struct filter_comparison *comparison,
		char *text, size_t room)
{
	int used;

	/* Pointers may be texts to the kernel. */
	if (field->kind != FORMAT_INTEGER || field->count || field->unit != field->size ||
			!kernel_filter_field_fits(field, comparison))
		return false;
	used = snprintf(text, room, comparison->is_unsigned ? "%s %s %" PRIu64 : "%s %s %" PRId64,
			field->name, comparison->relation, comparison->number);
	return (size_t)used < room;
}

static bool say_text(const struct format_field *field, const struct filter_comparison *comparison,
		char *text, size_t room)
{
	bool is_text = field->kind == FORMAT_TEXT ||
			(field->kind == FORMAT_LOCATION && field->element == FORMAT_TEXT);
	int used;

	/* Whose quotes and other signs mean the same to both is not worth a thought; a pattern of digits means a CPU or worse. */
	if (!is_text ||
			(strcmp(comparison->relation, "==") &&
					strcmp(comparison->relation, "!=")) ||
			!*comparison->text ||
			strspn(comparison->text,
					"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
					"6789"
					"_./:-") != strlen(comparison->text) ||
			strspn(comparison->text, "0123456789") == strlen(comparison->text))
		return false;
	/* One that fills it has no zero behind, and the kernel looks no further than we do. */
	if (field->kind == FORMAT_TEXT && strlen(comparison->text) >= field->size)
		return false;
	used = snprintf(text, room, "%s %s \"%s\"", field->name, comparison->relation,
			comparison->text);
	return (size_t)used < room;
}

static bool kernel_filter_format_comparison(
		void *user, const struct filter_comparison *comparison, char *text, size_t room)
{
	const struct kind *kind = user;
	const struct format_field *field = kernel_filter_is_plain_name(comparison->field)
			? kernel_filter_find_field(&kind->format, comparison->field)
			: NULL;

	if (!field)
		return false;
	return comparison->text ? say_text(field, comparison, text, room)
				: say_number(field, comparison, text, room);
}

/* ---- all that is wanted of an event ---- */

static void free_texts(struct kind_asked *asked)
{
	while (asked->nr)
		free(asked->texts[--asked->nr]);
}

static bool kernel_filter_has_expression(const struct kind_asked *asked, const char *text)
{
	for (size_t i = 0; i < asked->nr; i++)
		if (!strcmp(asked->texts[i], text))
			return true;
	return false;
}

static bool kernel_filter_add_expression(
		struct kind_asked *asked, const struct kind *kind, const char *expression)
{
	/* It only reads. */
	const struct filter_language language = {.compare = kernel_filter_format_comparison,
			.user = (void *)(uintptr_t)kind};
	char text[ASKED_TEXT_MAX];

	if (filter_say(expression, &language, text, sizeof(text)))
		return false;
	if (kernel_filter_has_expression(asked, text))
		return true;
	if (asked->nr == ASKED_MAX)
		return false;
	asked->texts[asked->nr] = strdup(text);
	asked->nr += asked->texts[asked->nr] != NULL;
	return asked->nr && asked->texts[asked->nr - 1];
}

static bool means(const struct kernel_record_choice *choice, const struct kind *kind)
{
	struct pattern patterns[PATTERN_KERNEL_MAX];
	struct pattern_error ignored;
	int count = pattern_parse_kernel(choice->pattern, patterns, &ignored);

	while (count-- > 0)
		if (pattern_matches(&patterns[count], kind->system, kind->name, 0))
			return true;
	return false;
}

static bool put_list(char *text, size_t room, const struct kind_asked *asked)
{
	size_t used = 0;

	for (size_t i = 0; i < asked->nr && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s(%s)", i ? " || " : "",
				asked->texts[i]);
	return used < room;
}

/* Collects the expressions in an empty list. False: a choice wants every event, or the kernel cannot evaluate them, or they are too many. */
static bool kernel_filter_collect_expressions(const struct kernel_record *record,
		const struct kind *kind, struct kind_asked *asked)
{
	const struct kernel_record_options *options = &record->options;

	for (size_t i = 0; i < options->nr_choices; i++)
		if (means(&options->choices[i], kind) &&
				(kind->format.event_header || !options->choices[i].expression ||
						!kernel_filter_add_expression(asked, kind,
								options->choices[i].expression))) {
			free_texts(asked);
			return false;
		}
	return asked->nr && put_list(asked->all, sizeof(asked->all), asked);
}

/* ---- its life ---- */

void kernel_ask_end(struct kind *kind)
{
	if (!kind->asked)
		return;
	if (kind->filter == kind->asked->all)
		kind->filter = NULL;
	free_texts(kind->asked);
	free(kind->asked);
	kind->asked = NULL;
}

void kernel_ask_begin(const struct kernel_record *record, struct kind *kind)
{
	struct kind_asked *asked;

	kernel_ask_end(kind);
	if (kind->filter)
		return;
	asked = calloc(1, sizeof(*asked));
	if (!asked || !kernel_filter_collect_expressions(record, kind, asked)) {
		if (asked)
			free_texts(asked);
		free(asked);
		return;
	}
	kind->asked = asked;
	kind->filter = asked->all;
}

/* What is wanted now and was not asked for until now; `wanted` becomes all of it. */
static bool find_more(
		const struct kind_asked *asked, struct kind_asked *wanted, char *text, size_t room)
{
	struct kind_asked more = {.nr = 0};
	char list[ASKED_ALL_MAX];
	int used;

	for (size_t i = 0; i < wanted->nr; i++)
		if (!kernel_filter_has_expression(asked, wanted->texts[i]))
			more.texts[more.nr++] = wanted->texts[i];
	if (!more.nr)
		return false;
	if (!put_list(list, sizeof(list), &more))
		return false;
	used = snprintf(text, room, "!(%s) && (%s)", asked->all, list);
	return (size_t)used < room;
}

static int kernel_filter_store_expressions(struct kind_asked *asked, struct kind_asked *wanted)
{
	/* All that was asked before still is. */
	for (size_t i = 0; i < asked->nr; i++) {
		char *text;

		if (kernel_filter_has_expression(wanted, asked->texts[i]))
			continue;
		if (wanted->nr == ASKED_MAX)
			return -E2BIG;
		text = strdup(asked->texts[i]);
		if (!text)
			return -ENOMEM;
		wanted->texts[wanted->nr++] = text;
	}
	return put_list(wanted->all, sizeof(wanted->all), wanted) ? 0 : -E2BIG;
}

static bool is_enough(const struct kind_asked *asked, const struct kind_asked *wanted)
{
	for (size_t i = 0; i < wanted->nr; i++)
		if (!kernel_filter_has_expression(asked, wanted->texts[i]))
			return false;
	return true;
}

int kernel_ask_more(struct kernel_record *record, struct kind *kind)
{
	struct kind_asked *asked = kind->asked, *wanted;
	char more[2 * ASKED_ALL_MAX];
	int ret;

	if (!asked)
		return 0;
	wanted = calloc(1, sizeof(*wanted));
	if (!wanted)
		return -ENOMEM;
	if (!kernel_filter_collect_expressions(record, kind, wanted)) {
		free_texts(wanted);
		free(wanted);
		(void)snprintf(more, sizeof(more), "!(%s)", asked->all);
		ret = record->way->widen(record, kind, more, NULL);
		if (!ret)
			kernel_ask_end(kind);
		return ret;
	}
	ret = is_enough(asked, wanted) ? -EALREADY
			: !find_more(asked, wanted, more, sizeof(more))
			? -E2BIG
			: kernel_filter_store_expressions(asked, wanted);
	if (!ret)
		ret = record->way->widen(record, kind, more, wanted->all);
	if (ret) {
		free_texts(wanted);
		free(wanted);
		return ret == -EALREADY ? 0 : ret;
	}
	kernel_ask_end(kind);
	kind->asked = wanted;
	kind->filter = wanted->all;
	return 0;
}
