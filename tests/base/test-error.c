/* SPDX-License-Identifier: MIT */
/*
 * Errors of libraries: messages, hints and positions at the limits of their space, and the meaning
 * of errno values.
 */
#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "../check.h"

#define ELLIPSIS "…"

/* Writes `count` bytes of `character`, and a NUL. */
static void fill(char *text, char character, size_t count)
{
	memset(text, character, count);
	text[count] = '\0';
}

static bool ends_in_ellipsis(const char *text)
{
	size_t length = strlen(text);

	return length >= strlen(ELLIPSIS) && !strcmp(text + length - strlen(ELLIPSIS), ELLIPSIS);
}

/* Whether each character of two bytes ("ä") is complete. */
static bool is_whole(const char *text)
{
	while (*text && strcmp(text, ELLIPSIS)) {
		if (strncmp(text, "ä", 2))
			return false;
		text += 2;
	}
	return true;
}

static void test_set(void)
{
	struct error error;

	memset(&error, 0xff, sizeof(error));
	CHECK(error_set(&error, -ENOENT, "try %s", "no session %s", "web") == -ENOENT);
	CHECK(error.kind == ERROR_FAILED);
	CHECK(error.code == -ENOENT);
	CHECK(!strcmp(error.text, "no session web"));
	CHECK(!strcmp(error.hint, "try %s")); /* not used as a format */
	CHECK(!error.reason && !strcmp(error_reason(&error), ""));
	CHECK(!error.input[0] && !error.line && !error.column);
}

static void test_kinds(void)
{
	struct error error;

	error_set(&error, -EPERM, NULL, "x");
	CHECK(error.kind == ERROR_PERMISSION && !error.hint[0]);
	error_set(&error, -EACCES, "", "x");
	CHECK(error.kind == ERROR_PERMISSION && !error.hint[0]);
	error_set(&error, -EROFS, NULL, "x");
	CHECK(error.kind == ERROR_FAILED);
	CHECK(error_set_kind(&error, ERROR_BUSY, -EPERM, "wait", "%d users", 2) == -EPERM);
	CHECK(error.kind == ERROR_BUSY && error.code == -EPERM);
	CHECK(!strcmp(error.text, "2 users") && !strcmp(error.hint, "wait"));
}

static void test_clear(void)
{
	struct error error;

	memset(&error, 0xff, sizeof(error));
	error_clear(&error);
	CHECK(error.kind == ERROR_NONE && !error.code && !error.reason);
	CHECK(!error.text[0] && !error.hint[0] && !error.input[0]);
	CHECK(!error.line && !error.column);
}

static void test_set_forgets_position(void)
{
	struct error error;

	error_set(&error, -EINVAL, NULL, "x");
	error_set_position(&error, "a == b", 2, 3);
	error_set_reason(&error, "y");
	CHECK(!strcmp(error.input, "a == b") && error.line == 2 && error.column == 3);
	error_set(&error, -EINVAL, NULL, "x");
	CHECK(!error.input[0] && !error.line && !error.column && !error.reason);
}

static void test_position_without_input(void)
{
	struct error error;

	error_set(&error, -EINVAL, NULL, "x");
	error_set_position(&error, "a", 1, 1);
	error_set_position(&error, NULL, 0, 7);
	CHECK(!error.input[0] && !error.line && error.column == 7);
}

static void test_system(void)
{
	struct error error;
	char problem[64];

	CHECK(error_set_system(&error, ENOENT, "cannot read %s", "a") == -ENOENT);
	CHECK(error.code == -ENOENT && error.kind == ERROR_FAILED);
	CHECK(!strcmp(error.text, "cannot read a: No such file or directory"));
	CHECK(!strcmp(error_reason(&error), "No such file or directory"));
	CHECK(!strcmp(error_problem(&error, problem, sizeof(problem)), "cannot read a"));
	CHECK(error_set_system(&error, -EACCES, "cannot read %s", "a") == -EACCES);
	CHECK(error.kind == ERROR_PERMISSION);
	CHECK(!strcmp(error.text, "cannot read a: Permission denied"));
}

static void test_no_memory(void)
{
	struct error error;

	CHECK(error_set_no_memory(&error) == -ENOMEM);
	CHECK(error.kind == ERROR_FAILED && error.code == -ENOMEM);
	CHECK(!strcmp(error.text, "out of memory") && !error.hint[0]);
}

static void test_context(void)
{
	struct error error;
	char problem[64];

	error_set_system(&error, ENOENT, "cannot read %s", "a");
	error_set_hint(&error, "create %s", "it");
	error_set_position(&error, "in", 1, 2);
	error_add_context(&error, "cannot start %s", "web");
	CHECK(!strcmp(error.text, "cannot start web: cannot read a: No such file or directory"));
	CHECK(!strcmp(error_reason(&error), "cannot read a: No such file or directory"));
	CHECK(!strcmp(error_problem(&error, problem, sizeof(problem)), "cannot start web"));
	CHECK(!strcmp(error.hint, "create it") && error.code == -ENOENT);
	CHECK(!strcmp(error.input, "in") && error.line == 1 && error.column == 2);
}

static void test_second_reason(void)
{
	struct error error;

	error_set(&error, -EIO, NULL, "a");
	error_set_reason(&error, "b");
	error_set_reason(&error, "c");
	CHECK(!strcmp(error.text, "a: b: c") && !strcmp(error_reason(&error), "c"));
}

/* Arguments may be texts of the error that is being written. */
static void test_own_texts(void)
{
	struct error error;

	error_set(&error, -EIO, "hint", "text");
	error_set(&error, error.code, error.hint, "[%s] %s", error.text, error.hint);
	CHECK(!strcmp(error.text, "[text] hint") && !strcmp(error.hint, "hint"));
	error_set_reason(&error, "%s", error.text);
	CHECK(!strcmp(error.text, "[text] hint: [text] hint"));
	error_set(&error, -EIO, error.text, "%s", error.hint);
	CHECK(!strcmp(error.text, "hint") && !strcmp(error.hint, "[text] hint: [text] hint"));
	error_set_hint(&error, "%s%s", error.hint, error.hint + 20);
	CHECK(!strcmp(error.hint, "[text] hint: [text] hinthint"));
	error_add_context(&error, "%s", error.text);
	CHECK(!strcmp(error.text, "hint: hint"));
	error_set_position(&error, error.text, 0, 1);
	error_set_position(&error, error.input + 6, 0, 1);
	CHECK(!strcmp(error.input, "hint"));
}

static void test_text_limit(void)
{
	struct error error;
	char longest[ERROR_TEXT_SIZE + 1];

	fill(longest, 'x', ERROR_TEXT_SIZE - 1);
	error_set(&error, -EIO, NULL, "%s", longest);
	CHECK(!strcmp(error.text, longest));
	fill(longest, 'x', ERROR_TEXT_SIZE);
	error_set(&error, -EIO, NULL, "%s", longest);
	CHECK(strlen(error.text) == ERROR_TEXT_SIZE - 1 && ends_in_ellipsis(error.text));
	CHECK(!strncmp(error.text, longest, ERROR_TEXT_SIZE - sizeof(ELLIPSIS)));
}

static void test_hint_limit(void)
{
	struct error error;
	char longest[ERROR_HINT_SIZE + 1];

	fill(longest, 'x', ERROR_HINT_SIZE - 1);
	error_set(&error, -EIO, longest, "x");
	CHECK(!strcmp(error.hint, longest));
	fill(longest, 'x', ERROR_HINT_SIZE);
	error_set(&error, -EIO, longest, "x");
	CHECK(strlen(error.hint) == ERROR_HINT_SIZE - 1 && ends_in_ellipsis(error.hint));
	error_set_hint(&error, "%s", longest + 1);
	CHECK(!strcmp(error.hint, longest + 1));
	error_set_hint(&error, "%s", longest);
	CHECK(strlen(error.hint) == ERROR_HINT_SIZE - 1 && ends_in_ellipsis(error.hint));
}

static void test_input_limit(void)
{
	struct error error;
	char longest[ERROR_INPUT_SIZE + 1];

	error_clear(&error);
	fill(longest, 'x', ERROR_INPUT_SIZE - 1);
	error_set_position(&error, longest, 0, 1);
	CHECK(!strcmp(error.input, longest));
	fill(longest, 'x', ERROR_INPUT_SIZE);
	error_set_position(&error, longest, 0, 1);
	CHECK(strlen(error.input) == ERROR_INPUT_SIZE - 1 && ends_in_ellipsis(error.input));
}

/* Characters of two bytes, one byte later each time: none is split. */
static void test_no_split_character(void)
{
	struct error error;
	char longest[2 * ERROR_TEXT_SIZE + 1];
	size_t i;

	for (i = 0; i < ERROR_TEXT_SIZE; i++)
		memcpy(longest + 2 * i, "ä", 2);
	longest[2 * ERROR_TEXT_SIZE] = '\0';
	for (i = 0; i < 4; i++) {
		error_set(&error, -EIO, longest, "%.*s%s", (int)i, "xxxx", longest);
		CHECK(ends_in_ellipsis(error.text) && is_whole(error.text + i));
		CHECK(strlen(error.text) >= ERROR_TEXT_SIZE - 2);
		CHECK(ends_in_ellipsis(error.hint) && is_whole(error.hint));
	}
}

/* Characters of four bytes: three bytes of the last one are left out at most. */
static void test_long_characters(void)
{
	struct error error;
	char longest[ERROR_TEXT_SIZE + 5] = "";
	size_t i, shift;

	for (shift = 0; shift < 4; shift++) {
		memset(longest, 'x', shift);
		for (i = shift; i + 4 < sizeof(longest); i += 4)
			memcpy(longest + i, "\xf0\x9f\x98\x80", 5);
		error_set(&error, -EIO, NULL, "%s", longest);
		CHECK(ends_in_ellipsis(error.text));
		CHECK((strlen(error.text) - shift - strlen(ELLIPSIS)) % 4 == 0);
		CHECK(strlen(error.text) >= ERROR_TEXT_SIZE - 4);
	}
}

/* Bytes that are not UTF-8 are truncated at any position, but the text stays long. */
static void test_cut_without_characters(void)
{
	struct error error;
	char longest[ERROR_TEXT_SIZE + 1];

	fill(longest, '\x80', ERROR_TEXT_SIZE);
	error_set(&error, -EIO, NULL, "%s", longest);
	CHECK(strlen(error.text) == ERROR_TEXT_SIZE - 4 && ends_in_ellipsis(error.text));
}

static void test_reason_limit(void)
{
	struct error error;
	char problem[ERROR_TEXT_SIZE], reason[ERROR_TEXT_SIZE], copy[ERROR_TEXT_SIZE];

	fill(problem, 'p', 1000);
	fill(reason, 'r', ERROR_TEXT_SIZE - 1 - 1000 - 2);
	error_set(&error, -EIO, NULL, "%s", problem);
	error_set_reason(&error, "%s", reason);
	CHECK(strlen(error.text) == ERROR_TEXT_SIZE - 1 && !strcmp(error_reason(&error), reason));
	error_set(&error, -EIO, NULL, "%s", problem);
	error_set_reason(&error, "%s+", reason);
	CHECK(strlen(error.text) == ERROR_TEXT_SIZE - 1 && ends_in_ellipsis(error_reason(&error)));
	CHECK(!strcmp(error_problem(&error, copy, sizeof(copy)), problem));
}

/* A problem that leaves space for an ellipsis as its reason, and problems that are longer. */
static void test_no_space_for_reason(void)
{
	struct error error;
	char problem[ERROR_TEXT_SIZE];
	size_t length;

	fill(problem, 'p', ERROR_TEXT_SIZE - 1 - 2 - 3);
	error_set(&error, -EIO, NULL, "%s", problem);
	error_set_reason(&error, "four");
	CHECK(!strcmp(error_reason(&error), ELLIPSIS));
	for (length = ERROR_TEXT_SIZE - 1 - 2 - 2; length < ERROR_TEXT_SIZE; length++) {
		fill(problem, 'p', length);
		error_set(&error, -EIO, NULL, "%s", problem);
		error_add_context(&error, "%s", problem);
		CHECK(!error.reason && ends_in_ellipsis(error.text));
		CHECK(strspn(error.text, "p") == strlen(error.text) - strlen(ELLIPSIS));
		CHECK(strspn(error.text, "p") >= ERROR_TEXT_SIZE - 1 - 2 - 2);
	}
}

static void test_problem_limit(void)
{
	struct error error;
	char problem[8];

	error_set_system(&error, EIO, "1234567");
	CHECK(!strcmp(error_problem(&error, problem, 8), "1234567"));
	CHECK(!strcmp(error_problem(&error, problem, 7), "123" ELLIPSIS));
	CHECK(!strcmp(error_problem(&error, problem, 4), ELLIPSIS));
	CHECK(!strcmp(error_problem(&error, problem, 3), ""));
	problem[0] = 'x';
	error_problem(&error, problem, 0);
	CHECK(problem[0] == 'x');
}

static void test_unprintable(void)
{
	struct error error;
	const wchar_t wide[] = {0x7fffffff, 0};

	error_set(&error, -EIO, NULL, "before %ls", wide);
	CHECK(!strcmp(error.text, "before %ls"));
}

static void test_no_error(void)
{
	char problem[4] = "x";

	error_clear(NULL);
	CHECK(error_set(NULL, -EIO, "h", "x") == -EIO);
	CHECK(error_set_kind(NULL, ERROR_USAGE, -EINVAL, "h", "x") == -EINVAL);
	CHECK(error_set_system(NULL, EIO, "x") == -EIO);
	CHECK(error_set_no_memory(NULL) == -ENOMEM);
	error_set_reason(NULL, "x");
	error_set_hint(NULL, "x");
	error_add_context(NULL, "x");
	error_set_position(NULL, "x", 1, 1);
	CHECK(!strcmp(error_reason(NULL), ""));
	CHECK(!strcmp(error_problem(NULL, problem, sizeof(problem)), ""));
}

static void test_strerror(void)
{
	CHECK(!strcmp(error_strerror(ENOMEM), "out of memory"));
	CHECK(!strcmp(error_strerror(-ENOMEM), "out of memory"));
	CHECK(!strcmp(error_strerror(-EIO), "Input/output error"));
	CHECK(!strcmp(error_strerror(EIO), "Input/output error"));
	CHECK(!strcmp(error_strerror(0), "Success"));
	CHECK(!strcmp(error_strerror(INT_MAX), "unknown error"));
	CHECK(!strcmp(error_strerror(INT_MIN), "unknown error"));
}

/* The texts of strerror_r() in the C locale, which all tests of this file use. */
static void test_strerror_of_all(void)
{
	int code;

	for (code = 1; code <= EHWPOISON; code++) {
		char text[64];
		const char *expected = strerror_r(code, text, sizeof(text));

		if (code != ENOMEM && strncmp(expected, "Unknown", 7))
			CHECK(!strcmp(error_strerror(code), expected));
	}
}

static void test_lack_of_resources(void)
{
	int code;

	for (code = 0; code <= EHWPOISON; code++) {
		bool lacks = code == EMFILE || code == ENFILE || code == ENOMEM;

		CHECK(error_is_lack_of_resources(code) == lacks);
		CHECK(error_is_lack_of_resources(-code) == lacks);
	}
	CHECK(!error_is_lack_of_resources(INT_MIN));
	CHECK(!error_is_lack_of_resources(INT_MAX));
}

static void *thread_run(void *ret_text)
{
	*(const char **)ret_text = error_strerror(EPIPE);
	return NULL;
}

/* The text of another thread stays after the thread has exited. */
static void test_strerror_of_thread(void)
{
	const char *text = NULL;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, thread_run, &text));
	CHECK(!pthread_join(thread, NULL));
	CHECK(!strcmp(text, "Broken pipe"));
}

int main(void)
{
	test_set();
	test_kinds();
	test_clear();
	test_set_forgets_position();
	test_position_without_input();
	test_system();
	test_no_memory();
	test_context();
	test_second_reason();
	test_own_texts();
	test_text_limit();
	test_hint_limit();
	test_input_limit();
	test_no_split_character();
	test_long_characters();
	test_cut_without_characters();
	test_reason_limit();
	test_no_space_for_reason();
	test_problem_limit();
	test_unprintable();
	test_no_error();
	test_strerror();
	test_strerror_of_all();
	test_lack_of_resources();
	test_strerror_of_thread();
	return 0;
}
