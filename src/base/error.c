/* SPDX-License-Identifier: MIT */
/* Errors of libraries: sets their texts, cuts texts that are too long, and names errno values. */
#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char error_ellipsis[] = "…";

static int error_negative(int code)
{
	return code > 0 ? -code : code;
}

/*
 * Ends a text that was cut at `size` bytes with an ellipsis. No part of a character stays before
 * it.
 */
static void error_mark_cut(char *text, size_t size)
{
	size_t end, least;

	if (size < sizeof(error_ellipsis)) {
		text[0] = '\0';
		return;
	}
	end = size - sizeof(error_ellipsis);
	/*
	 * A character has three bytes at most after its first: what is not UTF-8 is cut anywhere.
	 */
	least = end > 3 ? end - 3 : 0;
	while (end > least && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	memcpy(text + end, error_ellipsis, sizeof(error_ellipsis));
}

static void error_copy(char *text, size_t size, const char *from)
{
	size_t length = strnlen(from, size);

	memmove(text, from, length < size ? length + 1 : size);
	if (length == size)
		error_mark_cut(text, size);
}

/* Prints through a copy, because the arguments may be parts of the text. */
static __attribute__((format(printf, 3, 0))) void error_print(
		char *text, size_t size, const char *format, va_list arguments)
{
	char copy[ERROR_TEXT_SIZE > ERROR_HINT_SIZE ? ERROR_TEXT_SIZE : ERROR_HINT_SIZE];
	int length = vsnprintf(copy, size, format, arguments);

	if (length < 0)
		error_copy(copy, size, format); /* a wide character that cannot be converted */
	else if ((size_t)length >= size)
		error_mark_cut(copy, size);
	memcpy(text, copy, strlen(copy) + 1);
}

void error_clear(struct error *error)
{
	if (!error)
		return;
	error->kind = ERROR_NONE;
	error->code = 0;
	error->reason = 0;
	error->text[0] = '\0';
	error->hint[0] = '\0';
	error->input[0] = '\0';
	error->line = 0;
	error->column = 0;
}

/* The hint is copied first: it may be a text of the same error. */
static __attribute__((format(printf, 5, 0))) int error_replace(struct error *error,
		enum error_kind kind, int code, const char *hint, const char *format,
		va_list arguments)
{
	char text[ERROR_TEXT_SIZE], kept[ERROR_HINT_SIZE];

	if (!error)
		return code;
	error_print(text, sizeof(text), format, arguments);
	error_copy(kept, sizeof(kept), hint ? hint : "");
	error_clear(error);
	error->kind = kind;
	error->code = code;
	memcpy(error->text, text, strlen(text) + 1);
	memcpy(error->hint, kept, strlen(kept) + 1);
	return code;
}

static enum error_kind error_kind_of(int code)
{
	return code == -EPERM || code == -EACCES ? ERROR_PERMISSION : ERROR_FAILED;
}

int error_set(struct error *error, int code, const char *hint, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	error_replace(error, error_kind_of(code), code, hint, format, arguments);
	va_end(arguments);
	return code;
}

int error_set_kind(struct error *error, enum error_kind kind, int code, const char *hint,
		const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	error_replace(error, kind, code, hint, format, arguments);
	va_end(arguments);
	return code;
}

int error_set_system(struct error *error, int code, const char *format, ...)
{
	va_list arguments;

	code = error_negative(code);
	va_start(arguments, format);
	error_replace(error, error_kind_of(code), code, NULL, format, arguments);
	va_end(arguments);
	error_set_reason(error, "%s", error_strerror(code));
	return code;
}

int error_set_no_memory(struct error *error)
{
	return error_set(error, -ENOMEM, NULL, "%s", error_strerror(ENOMEM));
}

/* Appends to the text. It ends in an ellipsis if it is too long. */
static void error_append(struct error *error, const char *text)
{
	size_t length = strlen(error->text);

	error_copy(error->text + length, sizeof(error->text) - length, text);
}

/* Ends a problem that leaves no space for a reason with an ellipsis. */
static void error_mark_no_reason(struct error *error, size_t length)
{
	size_t size = length + sizeof(error_ellipsis);

	error->reason = 0;
	error_mark_cut(error->text, size < sizeof(error->text) ? size : sizeof(error->text));
}

static void error_join(struct error *error, const char *problem, const char *reason)
{
	size_t length = strlen(problem);

	error_copy(error->text, sizeof(error->text), problem);
	if (length + strlen(": ") + sizeof(error_ellipsis) > sizeof(error->text)) {
		error_mark_no_reason(error, length);
		return;
	}
	error_append(error, ": ");
	error->reason = length + strlen(": ");
	error_append(error, reason);
}

void error_set_reason(struct error *error, const char *format, ...)
{
	char problem[ERROR_TEXT_SIZE], reason[ERROR_TEXT_SIZE];
	va_list arguments;

	if (!error)
		return;
	va_start(arguments, format);
	error_print(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	error_copy(problem, sizeof(problem), error->text);
	error_join(error, problem, reason);
}

void error_set_hint(struct error *error, const char *format, ...)
{
	va_list arguments;

	if (!error)
		return;
	va_start(arguments, format);
	error_print(error->hint, sizeof(error->hint), format, arguments);
	va_end(arguments);
}

void error_add_context(struct error *error, const char *format, ...)
{
	char context[ERROR_TEXT_SIZE], reason[ERROR_TEXT_SIZE];
	va_list arguments;

	if (!error)
		return;
	va_start(arguments, format);
	error_print(context, sizeof(context), format, arguments);
	va_end(arguments);
	error_copy(reason, sizeof(reason), error->text);
	error_join(error, context, reason);
}

void error_set_position(
		struct error *error, const char *input, unsigned int line, unsigned int column)
{
	if (!error)
		return;
	error_copy(error->input, sizeof(error->input), input ? input : "");
	error->line = line;
	error->column = column;
}

const char *error_reason(const struct error *error)
{
	return error && error->reason ? error->text + error->reason : "";
}

const char *error_problem(const struct error *error, char *problem, size_t size)
{
	size_t length;

	if (!size)
		return problem;
	if (!error) {
		problem[0] = '\0';
		return problem;
	}
	length = error->reason ? error->reason - strlen(": ") : strlen(error->text);
	memcpy(problem, error->text, length < size ? length : size);
	if (length < size)
		problem[length] = '\0';
	else
		error_mark_cut(problem, size);
	return problem;
}

const char *error_strerror(int code)
{
	const char *text;

	if (error_negative(code) == -ENOMEM)
		return "out of memory";
	text = code == INT_MIN ? NULL : strerrordesc_np(-error_negative(code));
	return text ? text : "unknown error";
}

bool error_is_lack_of_resources(int code)
{
	code = error_negative(code);
	return code == -EMFILE || code == -ENFILE || code == -ENOMEM;
}
