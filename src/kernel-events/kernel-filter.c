/* SPDX-License-Identifier: MIT */
/*
 * Translates the filters that several choices have for one event into one filter of the kernel.
 *
 * The kernel's filter has only comparisons of plain fields with constants that kernel and side
 * evaluate alike. It therefore accepts every record that a choice accepts, and maybe more.
 *
 * A filter in use may only be widened: a choice that needs less of the event never narrows the
 * filter of others.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "filter/filter.h"
#include "kernel-events/parts.h"

#define ASKED_MAX 8
#define ASKED_TEXT_MAX 1024
#define ASKED_ALL_MAX 3900 /* the kernel accepts a page */

struct class_filter {
	char *texts[ASKED_MAX]; /* alternatives: a record must match one of them */
	size_t nr;
	char all[ASKED_ALL_MAX];
};

/* ---- one comparison ---- */

static bool kernel_filter_is_plain_name(const char *name)
{
	size_t size = strlen(name);
	static const char derived[] = "_length";

	/*
	 * Names of the kernel's fields do not begin with `_`, and `NAME_length` is a field of side
	 * only.
	 */
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

/* False if the kernel would truncate the number to the size of the field before comparing. */
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

static bool kernel_filter_print_number(const struct format_field *field,
		const struct filter_comparison *comparison, char *text, size_t capacity)
{
	int used;

	/* The kernel compares some pointers as strings. */
	if (field->kind != FORMAT_INTEGER || field->count || field->unit != field->size ||
			!kernel_filter_field_fits(field, comparison))
		return false;
	used = snprintf(text, capacity,
			comparison->is_unsigned ? "%s %s %" PRIu64 : "%s %s %" PRId64, field->name,
			comparison->relation, comparison->number);
	return (size_t)used < capacity;
}

static bool kernel_filter_print_text(const struct format_field *field,
		const struct filter_comparison *comparison, char *text, size_t capacity)
{
	bool is_text = field->kind == FORMAT_TEXT ||
			(field->kind == FORMAT_LOCATION && field->element == FORMAT_TEXT);
	int used;

	/*
	 * Skip characters that the two languages may quote differently. A pattern of digits selects
	 * CPUs in the kernel.
	 */
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
	/*
	 * A string that fills the array has no terminating zero, and the kernel compares only up to
	 * the size of the field.
	 */
	if (field->kind == FORMAT_TEXT && strlen(comparison->text) >= field->size)
		return false;
	used = snprintf(text, capacity, "%s %s \"%s\"", field->name, comparison->relation,
			comparison->text);
	return (size_t)used < capacity;
}

static bool kernel_filter_format_comparison(
		void *user, const struct filter_comparison *comparison, char *text, size_t capacity)
{
	const struct kernel_event_class *event_class = user;
	const struct format_field *field = kernel_filter_is_plain_name(comparison->field)
			? kernel_filter_find_field(&event_class->format, comparison->field)
			: NULL;

	if (!field)
		return false;
	return comparison->text ? kernel_filter_print_text(field, comparison, text, capacity)
				: kernel_filter_print_number(field, comparison, text, capacity);
}

/* ---- all filters of an event ---- */

static void kernel_filter_free_texts(struct class_filter *combined)
{
	while (combined->nr)
		free(combined->texts[--combined->nr]);
}

static bool kernel_filter_has_expression(const struct class_filter *combined, const char *text)
{
	for (size_t i = 0; i < combined->nr; i++)
		if (!strcmp(combined->texts[i], text))
			return true;
	return false;
}

static bool kernel_filter_add_expression(struct class_filter *combined,
		const struct kernel_event_class *event_class, const char *expression)
{
	/* The cast drops const; the callback only reads. */
	const struct filter_language language = {.compare = kernel_filter_format_comparison,
			.user = (void *)(uintptr_t)event_class};
	char text[ASKED_TEXT_MAX];

	if (filter_print(expression, &language, text, sizeof(text)))
		return false;
	if (kernel_filter_has_expression(combined, text))
		return true;
	if (combined->nr == ASKED_MAX)
		return false;
	combined->texts[combined->nr] = strdup(text);
	combined->nr += combined->texts[combined->nr] != NULL;
	return combined->nr && combined->texts[combined->nr - 1];
}

static bool kernel_filter_choice_matches(const struct kernel_record_choice *choice,
		const struct kernel_event_class *event_class)
{
	struct pattern patterns[PATTERN_KERNEL_MAX];
	struct pattern_error ignored;
	int count = pattern_parse_kernel(choice->pattern, patterns, &ignored);

	while (count-- > 0)
		if (pattern_matches(&patterns[count], event_class->system, event_class->name, 0))
			return true;
	return false;
}

static bool kernel_filter_print_list(
		char *text, size_t capacity, const struct class_filter *combined)
{
	size_t used = 0;

	for (size_t i = 0; i < combined->nr && used < capacity; i++)
		used += (size_t)snprintf(text + used, capacity - used, "%s(%s)", i ? " || " : "",
				combined->texts[i]);
	return used < capacity;
}

/*
 * Collect the expressions in an empty list. Returns false if the event needs no filter: a choice
 * selects every record, the kernel cannot evaluate an expression, or there are too many.
 */
static bool kernel_filter_collect_expressions(const struct kernel_record *record,
		const struct kernel_event_class *event_class, struct class_filter *combined)
{
	const struct kernel_record_options *options = &record->options;

	for (size_t i = 0; i < options->nr_choices; i++)
		if (kernel_filter_choice_matches(&options->choices[i], event_class) &&
				(event_class->format.event_header ||
						!options->choices[i].expression ||
						!kernel_filter_add_expression(combined, event_class,
								options->choices[i].expression))) {
			kernel_filter_free_texts(combined);
			return false;
		}
	return combined->nr &&
			kernel_filter_print_list(combined->all, sizeof(combined->all), combined);
}

/* ---- filters of event classes ---- */

void kernel_filter_drop(struct kernel_event_class *event_class)
{
	if (!event_class->combined)
		return;
	if (event_class->filter == event_class->combined->all)
		event_class->filter = NULL;
	kernel_filter_free_texts(event_class->combined);
	free(event_class->combined);
	event_class->combined = NULL;
}

void kernel_filter_set(const struct kernel_record *record, struct kernel_event_class *event_class)
{
	struct class_filter *combined;

	kernel_filter_drop(event_class);
	if (event_class->filter)
		return;
	combined = calloc(1, sizeof(*combined));
	if (!combined || !kernel_filter_collect_expressions(record, event_class, combined)) {
		if (combined)
			kernel_filter_free_texts(combined);
		free(combined);
		return;
	}
	event_class->combined = combined;
	event_class->filter = combined->all;
}

/*
 * Print the expressions that are wanted and not yet in the kernel's filter; `wanted` gets all of
 * them.
 */
static bool kernel_filter_find_more(const struct class_filter *combined,
		struct class_filter *wanted, char *text, size_t capacity)
{
	struct class_filter more = {.nr = 0};
	char list[ASKED_ALL_MAX];
	int used;

	for (size_t i = 0; i < wanted->nr; i++)
		if (!kernel_filter_has_expression(combined, wanted->texts[i]))
			more.texts[more.nr++] = wanted->texts[i];
	if (!more.nr)
		return false;
	if (!kernel_filter_print_list(list, sizeof(list), &more))
		return false;
	used = snprintf(text, capacity, "!(%s) && (%s)", combined->all, list);
	return (size_t)used < capacity;
}

static int kernel_filter_store_expressions(
		struct class_filter *combined, struct class_filter *wanted)
{
	/* Keep all previous expressions: a filter may only be widened. */
	for (size_t i = 0; i < combined->nr; i++) {
		char *text;

		if (kernel_filter_has_expression(wanted, combined->texts[i]))
			continue;
		if (wanted->nr == ASKED_MAX)
			return -E2BIG;
		text = strdup(combined->texts[i]);
		if (!text)
			return -ENOMEM;
		wanted->texts[wanted->nr++] = text;
	}
	return kernel_filter_print_list(wanted->all, sizeof(wanted->all), wanted) ? 0 : -E2BIG;
}

static bool kernel_filter_is_enough(
		const struct class_filter *combined, const struct class_filter *wanted)
{
	for (size_t i = 0; i < wanted->nr; i++)
		if (!kernel_filter_has_expression(combined, wanted->texts[i]))
			return false;
	return true;
}

int kernel_filter_widen(struct kernel_record *record, struct kernel_event_class *event_class)
{
	struct class_filter *combined = event_class->combined, *wanted;
	char more[2 * ASKED_ALL_MAX];
	int ret;

	if (!combined)
		return 0;
	wanted = calloc(1, sizeof(*wanted));
	if (!wanted)
		return -ENOMEM;
	if (!kernel_filter_collect_expressions(record, event_class, wanted)) {
		kernel_filter_free_texts(wanted);
		free(wanted);
		(void)snprintf(more, sizeof(more), "!(%s)", combined->all);
		ret = record->backend->widen(record, event_class, more, NULL);
		if (!ret)
			kernel_filter_drop(event_class);
		return ret;
	}
	ret = kernel_filter_is_enough(combined, wanted) ? -EALREADY
			: !kernel_filter_find_more(combined, wanted, more, sizeof(more))
			? -E2BIG
			: kernel_filter_store_expressions(combined, wanted);
	if (!ret)
		ret = record->backend->widen(record, event_class, more, wanted->all);
	if (ret) {
		kernel_filter_free_texts(wanted);
		free(wanted);
		return ret == -EALREADY ? 0 : ret;
	}
	kernel_filter_drop(event_class);
	event_class->combined = wanted;
	event_class->filter = wanted->all;
	return 0;
}
