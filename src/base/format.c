/* SPDX-License-Identifier: MIT */
/* Texts for people and for JSON: numbers, sizes, control characters made visible. */
#include "base/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/json-escape.h"
#include "base/inside/utf8.h"
#include "base/json-writer.h"

void print_json_string(FILE *out, const char *text)
{
	struct json_writer json = {.write = json_write_to_file,
			.user = out,
			.flags = JSON_ESCAPE_CONTROLS | JSON_ESCAPE_NEWLINE_SHORT};

	json_write_text(&json, text);
}

/*
 * Writes the character at `at`, or the visible form of its first byte. Returns the length of what
 * is written.
 */
static size_t format_character(const unsigned char *at, char form[8])
{
	/* The text ends with a NUL, which continues no character. */
	unsigned int length = utf8_length(at, UTF8_LENGTH_MAX);
	bool plain = length && !utf8_is_control(at, length);

	if (plain) {
		memcpy(form, at, length);
		form[length] = '\0';
	} else {
		length = 1;
		snprintf(form, 8, "\\x%02x", *at);
	}
	return length;
}

void print_printable(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	char form[8];

	while (*at) {
		at += format_character(at, form);
		fputs(form, out);
	}
}

const char *format_printable(const char *text, char *printable, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t used = 0;

	while (*at) {
		char form[8];
		size_t length = format_character(at, form);

		if (used + strlen(form) >= size)
			break;
		memcpy(printable + used, form, strlen(form));
		used += strlen(form);
		at += length;
	}
	printable[used] = '\0';
	return printable;
}

const char *format_number(uint64_t number, char text[FORMAT_NUMBER_MAX])
{
	char digits[24];
	size_t count = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number), used = 0;

	for (size_t i = 0; i < count; i++) {
		if (i && (count - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

const char *format_events(uint64_t count, char text[FORMAT_NUMBER_MAX])
{
	char number[FORMAT_NUMBER_MAX];

	format_number(count, number);
	snprintf(text, FORMAT_NUMBER_MAX, "%.26s event%s", number, count == 1 ? "" : "s");
	return text;
}

const char *format_size(uint64_t bytes, char text[FORMAT_NUMBER_MAX])
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes;
	unsigned int unit = 0;

	if (bytes == 1) {
		snprintf(text, FORMAT_NUMBER_MAX, "1 byte");
		return text;
	}
	for (; size >= 1024 && unit < 4; unit++)
		size /= 1024;
	snprintf(text, FORMAT_NUMBER_MAX, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
	return text;
}

const char *format_quoted(const char *argument, char *text, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./,:@%+=";
	size_t used = 0;

	if (*argument && strspn(argument, plain) == strlen(argument)) {
		snprintf(text, size, "%s", argument);
		return text;
	}
	used += (size_t)snprintf(text, size, "'");
	for (; *argument && used + 6 < size; argument++) {
		if (*argument == '\'')
			used += (size_t)snprintf(text + used, size - used, "'\\''");
		else
			text[used++] = *argument;
	}
	snprintf(text + used, size - used, "'");
	return text;
}

bool text_stream_end(FILE *out, char **ret_text)
{
	bool is_whole = !ferror(out);

	is_whole = !fclose(out) && is_whole && *ret_text;
	if (is_whole)
		return true;
	free(*ret_text);
	*ret_text = NULL;
	return false;
}
