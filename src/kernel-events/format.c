/* SPDX-License-Identifier: MIT */
/*
 * Parses a `format` file of tracefs.
 *
 *       name: sched_switch
 *       ID: 310
 *       format:
 *               field:unsigned short common_type; offset:0; size:2; signed:0;
 *               ...
 *               field:char prev_comm[16]; offset:8; size:16; signed:0;
 *
 *       print fmt: "prev_comm=%s ... ", REC->prev_comm, ...
 *
 * Of a declaration, only the name, the brackets and some words of the type are parsed: offset and
 * size have keys of their own.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-events/format.h"

/* ---- names of types ---- */

static const struct {
	const char *word;
	enum format_kind kind;
	uint8_t unit;
	bool is_signed;
} known_types[] = {
		{"char", FORMAT_TEXT, 1, false},
		{"unsigned char", FORMAT_INTEGER, 1, false},
		{"signed char", FORMAT_INTEGER, 1, true},
		{"u8", FORMAT_INTEGER, 1, false},
		{"__u8", FORMAT_INTEGER, 1, false},
		{"uint8_t", FORMAT_INTEGER, 1, false},
		{"s8", FORMAT_INTEGER, 1, true},
		{"u16", FORMAT_INTEGER, 2, false},
		{"__u16", FORMAT_INTEGER, 2, false},
		{"unsigned short", FORMAT_INTEGER, 2, false},
		{"s16", FORMAT_INTEGER, 2, true},
		{"short", FORMAT_INTEGER, 2, true},
		{"u32", FORMAT_INTEGER, 4, false},
		{"__u32", FORMAT_INTEGER, 4, false},
		{"uint32_t", FORMAT_INTEGER, 4, false},
		{"unsigned int", FORMAT_INTEGER, 4, false},
		{"s32", FORMAT_INTEGER, 4, true},
		{"int", FORMAT_INTEGER, 4, true},
		{"u64", FORMAT_INTEGER, 8, false},
		{"__u64", FORMAT_INTEGER, 8, false},
		{"uint64_t", FORMAT_INTEGER, 8, false},
		{"unsigned long", FORMAT_INTEGER, sizeof(long), false},
		{"unsigned long long", FORMAT_INTEGER, 8, false},
		{"s64", FORMAT_INTEGER, 8, true},
		{"long", FORMAT_INTEGER, sizeof(long), true},
		{"long long", FORMAT_INTEGER, 8, true},
		{"cpumask_t", FORMAT_INTEGER, sizeof(long), false},
		{"bool", FORMAT_BOOL, 1, false},
		/* Names that libside-kernel.so uses for types that the kernel does not have. */
		{"f32", FORMAT_FLOAT, 4, true},
		{"f64", FORMAT_FLOAT, 8, true},
		{"float", FORMAT_FLOAT, 4, true},
		{"double", FORMAT_FLOAT, 8, true},
		{"f128", FORMAT_FLOAT128, 16, true},
		{"u128", FORMAT_INT128, 16, false},
		{"s128", FORMAT_INT128, 16, true},
};

#define KNOWN_TYPES (sizeof(known_types) / sizeof(known_types[0]))

static size_t kernel_format_find_type(const char *word)
{
	size_t i;

	while (!strncmp(word, "const ", 6) || !strncmp(word, "struct ", 7))
		word += *word == 'c' ? 6 : 7;
	for (i = 0; i < KNOWN_TYPES; i++)
		if (!strcmp(known_types[i].word, word))
			break;
	return i;
}

static bool kernel_format_is_number_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* ---- one field ---- */

/* Choose the type of an array's element by its name, or by its size if the name is not known. */
static void kernel_format_parse_element(struct format_field *field, enum format_kind *ret_kind,
		const char *word, uint32_t size)
{
	size_t type = kernel_format_find_type(word);

	if (type < KNOWN_TYPES && (!size || size == known_types[type].unit)) {
		*ret_kind = known_types[type].kind;
		field->unit = known_types[type].unit;
		field->is_signed = known_types[type].is_signed;
		return;
	}
	*ret_kind = kernel_format_is_number_size(size) ? FORMAT_INTEGER : FORMAT_BYTES;
	field->unit = kernel_format_is_number_size(size) ? size : 1;
}

/*
 * `type` is the text before the name, without trailing blanks; `dimension` is the text in brackets,
 * or NULL.
 */
static void kernel_format_parse_type(struct format_field *field, char *type, const char *dimension)
{
	bool relative = !strncmp(type, "__rel_loc ", 10);
	bool pointer = strchr(type, '*');
	unsigned long count;
	char *end;

	if (relative || !strncmp(type, "__data_loc ", 11)) {
		type += relative ? 10 : 11;
		end = strchr(type, '[');
		if (end)
			*end = '\0';
		field->relative = relative;
		field->kind = field->size == 4 ? FORMAT_LOCATION : FORMAT_BYTES;
		kernel_format_parse_element(
				field, &field->element, type, pointer ? sizeof(long) : 0);
		return;
	}
	end = strchr(type, '[');
	if (end) {
		dimension = end + 1;
		*end = '\0';
	}
	if (dimension) {
		count = strtoul(dimension, &end, 0);
		if (end == dimension || !count || field->size % count || count > field->size)
			count = 0;
		kernel_format_parse_element(field, &field->kind, type,
				count ? (uint32_t)(field->size / count) : 0);
		if (field->kind == FORMAT_TEXT)
			field->unit = 1;
		field->count = field->size / field->unit;
		if (field->size % field->unit) {
			field->kind = FORMAT_BYTES;
			field->unit = 1;
			field->count = field->size;
		}
		return;
	}
	field->unit = field->size;
	if (pointer && kernel_format_is_number_size(field->size)) {
		field->kind = FORMAT_POINTER;
		field->is_signed = false;
		return;
	}
	count = kernel_format_find_type(type);
	if (count < KNOWN_TYPES && known_types[count].unit == field->size &&
			known_types[count].kind != FORMAT_TEXT) {
		field->kind = known_types[count].kind;
		return;
	}
	field->kind = kernel_format_is_number_size(field->size) && strncmp(type, "struct ", 7) != 0
			? FORMAT_INTEGER
			: FORMAT_BYTES;
	if (field->kind == FORMAT_BYTES) {
		field->unit = 1;
		field->count = field->size;
	}
}

/* Parse "unsigned char name[8]" in place. Returns 0, -EINVAL if there is no name, or -ENOMEM. */
static int kernel_format_parse_declaration(struct format_field *field, char *text)
{
	char *end = text + strlen(text), *dimension = NULL, *name;

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	if (end > text && end[-1] == ']') {
		dimension = end - 1;
		while (dimension > text && *dimension != '[')
			dimension--;
		if (*dimension != '[')
			return -EINVAL;
		end[-1] = '\0';
		*dimension++ = '\0';
		end = dimension - 1;
	}
	name = end;
	while (name > text && !isspace((unsigned char)name[-1]) && name[-1] != '*')
		name--;
	if (name == end || name == text)
		return -EINVAL;
	field->name = strdup(name);
	if (!field->name)
		return -ENOMEM;
	while (name > text && isspace((unsigned char)name[-1]))
		name--;
	*name = '\0';
	while (isspace((unsigned char)*text))
		text++;
	kernel_format_parse_type(field, text, dimension);
	return 0;
}

static bool kernel_format_parse_number(const char *line, const char *word, uint32_t *ret_number)
{
	const char *at = strstr(line, word);
	unsigned long value;
	char *end;

	if (!at)
		return false;
	at += strlen(word);
	if (!isdigit((unsigned char)*at))
		return false;
	value = strtoul(at, &end, 10);
	*ret_number = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
	return true;
}

static int kernel_format_parse_field(struct format *format, char *line)
{
	struct format_field field = {.name = NULL}, *fields;
	uint32_t is_signed = 0;
	char *end = strstr(line, ";\toffset:");
	int ret;

	if (!end || !kernel_format_parse_number(end, "offset:", &field.offset) ||
			!kernel_format_parse_number(end, "size:", &field.size))
		return -EINVAL;
	(void)kernel_format_parse_number(end, "signed:", &is_signed);
	field.is_signed = is_signed;
	*end = '\0';
	/* The kernel's common fields become contexts; a field of size 0 has no value. */
	if (field.offset < FORMAT_COMMON_SIZE || !field.size)
		return 0;
	if (field.size > UINT16_MAX || field.offset > UINT16_MAX ||
			format->nr_fields == FORMAT_FIELDS_MAX)
		return -EINVAL;
	ret = kernel_format_parse_declaration(&field, line);
	if (ret)
		return ret;
	fields = realloc(format->fields, (format->nr_fields + 1) * sizeof(*fields));
	if (!fields) {
		free(field.name);
		return -ENOMEM;
	}
	format->fields = fields;
	format->fields[format->nr_fields++] = field;
	return 0;
}

/*
 * ---- labels: __print_symbolic(REC->name, { 1, "text" }, ...) and __print_flags(REC->name, "|",
 * ...) ----
 */

static const char *kernel_format_skip_blanks(const char *at)
{
	while (isspace((unsigned char)*at) || *at == ',')
		at++;
	return at;
}

/* Parse `"text"`; escape sequences are kept. Returns NULL if there is no string. */
static const char *kernel_format_parse_quoted(const char *at, char **ret_text)
{
	const char *end;

	if (*at != '"')
		return NULL;
	for (end = at + 1; *end && *end != '"'; end++)
		if (*end == '\\' && end[1])
			end++;
	if (*end != '"')
		return NULL;
	if (ret_text) {
		*ret_text = strndup(at + 1, (size_t)(end - at) - 1);
		if (!*ret_text)
			return NULL;
	}
	return end + 1;
}

static void kernel_format_drop_labels(struct format_field *field)
{
	while (field->nr_labels)
		free(field->labels[--field->nr_labels].text);
	free(field->labels);
	field->labels = NULL;
}

/* Parse `{ value, "text" }`. Returns NULL for anything else, such as an expression. */
static const char *kernel_format_parse_label(struct format_field *field, const char *at)
{
	struct format_label label = {.text = NULL}, *labels;
	char *end;

	at = kernel_format_skip_blanks(at + 1);
	errno = 0;
	label.value = *at == '-' ? (uint64_t)strtoll(at, &end, 0) : strtoull(at, &end, 0);
	if (end == at || errno)
		return NULL;
	while (*end == 'U' || *end == 'L' || *end == 'u' || *end == 'l')
		end++;
	if (*kernel_format_skip_blanks(end) != '"')
		return NULL;
	at = kernel_format_parse_quoted(kernel_format_skip_blanks(end), &label.text);
	if (!at)
		return NULL;
	at = kernel_format_skip_blanks(at);
	labels = *at == '}' && *label.text
			? realloc(field->labels, (field->nr_labels + 1) * sizeof(*labels))
			: NULL;
	if (!labels) {
		free(label.text);
		return NULL;
	}
	field->labels = labels;
	field->labels[field->nr_labels++] = label;
	return at + 1;
}

static struct format_field *kernel_format_find_field(
		const struct format *format, const char *name, size_t size)
{
	uint32_t i;

	for (i = 0; i < format->nr_fields; i++)
		if (strlen(format->fields[i].name) == size &&
				!memcmp(format->fields[i].name, name, size))
			return &format->fields[i];
	return NULL;
}

/* Parse the arguments after the opening bracket. Arguments that are not simple yield no labels. */
static void kernel_format_parse_labels(const struct format *format, const char *at, bool flags)
{
	struct format_field *field;
	size_t size;

	at = kernel_format_skip_blanks(at);
	if (strncmp(at, "REC->", 5) != 0)
		return;
	at += 5;
	for (size = 0; isalnum((unsigned char)at[size]) || at[size] == '_'; size++)
		;
	field = kernel_format_find_field(format, at, size);
	at = at + size;
	while (isspace((unsigned char)*at))
		at++;
	if (!field || field->nr_labels || field->kind != FORMAT_INTEGER || field->count ||
			*at != ',')
		return;
	at = kernel_format_skip_blanks(at);
	if (flags) {
		at = kernel_format_parse_quoted(at, NULL);
		if (!at)
			return;
		at = kernel_format_skip_blanks(at);
	}
	while (at && *at == '{' && field->nr_labels < FORMAT_LABELS_MAX) {
		at = kernel_format_parse_label(field, at);
		if (at)
			at = kernel_format_skip_blanks(at);
	}
	if (!at || *at != ')')
		kernel_format_drop_labels(field);
	field->flags = flags && field->nr_labels;
}

static void kernel_format_parse_print_format(const struct format *format, const char *text)
{
	const char *at;

	for (at = text; (at = strstr(at, "__print_symbolic("));)
		kernel_format_parse_labels(format, at += strlen("__print_symbolic("), false);
	for (at = text; (at = strstr(at, "__print_flags("));)
		kernel_format_parse_labels(format, at += strlen("__print_flags("), true);
}

/* ---- the file ---- */

static bool kernel_format_is_event_header(const struct format *format)
{
	static const uint8_t sizes[] = {1, 1, 2, 2, 1, 1};
	uint32_t i, offset = FORMAT_COMMON_SIZE;

	if (format->nr_fields != sizeof(sizes) ||
			strcmp(format->fields[0].name, "eventheader_flags") != 0)
		return false;
	for (i = 0; i < sizeof(sizes); i++) {
		if (format->fields[i].size != sizes[i] || format->fields[i].offset != offset)
			return false;
		offset += sizes[i];
	}
	return true;
}

static int kernel_format_parse_line(struct format *format, char *line, bool *ret_has_id)
{
	uint32_t number;

	if (!strncmp(line, "name: ", 6) && !format->name) {
		format->name = strdup(line + 6);
		return format->name ? 0 : -ENOMEM;
	}
	if (!strncmp(line, "ID: ", 4)) {
		if (!kernel_format_parse_number(line, "ID: ", &number) || number > UINT16_MAX)
			return -EINVAL;
		format->id = (uint16_t)number;
		*ret_has_id = true;
		return 0;
	}
	if (!strncmp(line, "\tfield:", 7))
		return kernel_format_parse_field(format, line + 7);
	if (!strncmp(line, "print fmt: ", 11))
		kernel_format_parse_print_format(format, line + 11);
	return 0;
}

int kernel_format_parse(const char *text, size_t size, struct format *ret_format)
{
	char *copy = strndup(text, size), *line, *remainder;
	bool has_id = false;
	int ret = 0;

	*ret_format = (struct format){.name = NULL};
	if (!copy)
		return -ENOMEM;
	for (line = strtok_r(copy, "\n", &remainder); line && !ret;
			line = strtok_r(NULL, "\n", &remainder))
		ret = kernel_format_parse_line(ret_format, line, &has_id);
	free(copy);
	if (!ret && (!has_id || !ret_format->name))
		ret = -EINVAL;
	ret_format->event_header = !ret && kernel_format_is_event_header(ret_format);
	return ret;
}

void kernel_format_free(struct format *format)
{
	uint32_t i;

	for (i = 0; i < format->nr_fields; i++) {
		kernel_format_drop_labels(&format->fields[i]);
		free(format->fields[i].name);
	}
	free(format->fields);
	free(format->name);
	*format = (struct format){.name = NULL};
}
