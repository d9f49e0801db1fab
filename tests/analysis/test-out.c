/* SPDX-License-Identifier: MIT */
/* The buffer for output: formatted texts of every size, numbers, and its end. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/view-out.h"

/* Sizes around the first reserved space, and around the size of the buffer. */
static void test_format(void **unused)
{
	char text[2048];

	(void)unused;
	memset(text, 'x', sizeof(text));
	for (int size = 0; size < (int)sizeof(text); size++) {
		struct view_out out = {.begin = NULL};

		view_out_format(&out, "%.*s", size, text);
		view_out_format(&out, "%d%s", size, "");
		view_out_char(&out, '\0');
		assert_false(out.failed);
		assert_memory_equal(out.begin, text, (size_t)size);
		assert_int_equal(strtol(out.begin + size, NULL, 10), size);
		view_out_free(&out);
	}
}

static void test_numbers(void **unused)
{
	struct view_out out = {.begin = NULL};

	(void)unused;
	view_out_hexadecimal(&out, 0);
	view_out_fill(&out, '.', 3);
	view_out_hexadecimal(&out, 0x7f);
	view_out_fill(&out, '.', 0);
	view_out_hexadecimal(&out, UINT64_MAX);
	view_out_char(&out, '\0');
	assert_string_equal(out.begin, "0x0...0x7f0xffffffffffffffff");
	view_out_free(&out);
}

static void test_end(void **unused)
{
	struct view_out out = {.begin = NULL};
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	(void)unused;
	view_out_text(&out, "whole");
	assert_int_equal(view_out_end(&out, stream, 0), 0);
	assert_null(out.begin);
	view_out_text(&out, "an error");
	assert_int_equal(view_out_end(&out, stream, -EIO), -EIO);
	view_out_text(&out, "a part");
	out.failed = true;
	assert_int_equal(view_out_end(&out, stream, 0), -ENOMEM);
	assert_int_equal(view_out_end(&out, stream, 0), 0);
	fclose(stream);
	assert_string_equal(text, "whole");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_format),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
