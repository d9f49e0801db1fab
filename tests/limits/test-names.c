/* SPDX-License-Identifier: MIT */
/* Limits of names that are compared with a misspelled word, and of names that are demangled. */
#include "driver.h"

#include <errno.h>
#include <stdio.h>

#include "symbolize/demangle.h"
#include "base/nearest/nearest.h"

/* One letter differs. */
static int compared_name(uint64_t count)
{
	char *word = limit_text('w', count), *name = limit_text('w', count);
	struct nearest nearest;

	nearest_begin(&nearest, word);
	name[count - 1] = 'x';
	nearest_offer(&nearest, name);
	if (!nearest.count)
		return -ENOENT;
	assert_int_equal(strlen(nearest_best(&nearest)), count);
	return 0;
}

/* The word is the begin of the name. */
static int offered_name(uint64_t count)
{
	struct nearest nearest;

	nearest_begin(&nearest, "nn");
	nearest_offer(&nearest, limit_text('n', count));
	if (!nearest.count)
		return -ENOENT;
	assert_int_equal(strlen(nearest_best(&nearest)), count);
	return 0;
}

static void test_suggestions(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(compared_name, 64, -ENOENT, ""),
			LIMIT_CASE(offered_name, NEAREST_NAME_SIZE - 1, -ENOENT, ""),
	};
	struct nearest nearest;

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
	/* At most three names: the nearest ones. Of equally near names, the first ones. */
	nearest_begin(&nearest, "abcdef");
	nearest_offer(&nearest, "abcdxy");
	nearest_offer(&nearest, "abcdeX");
	nearest_offer(&nearest, "abcdeY");
	assert_int_equal(nearest.count, 3);
	assert_string_equal(nearest.names[2].name, "abcdxy");
	nearest_offer(&nearest, "abcdeZ");
	assert_int_equal(nearest.count, NEAREST_MAX);
	assert_string_equal(nearest.names[0].name, "abcdeX");
	assert_string_equal(nearest.names[1].name, "abcdeY");
	assert_string_equal(nearest.names[2].name, "abcdeZ");
	nearest_offer(&nearest, "abcdeW");
	assert_string_equal(nearest.names[2].name, "abcdeZ");
}

/*
 * Makes a procedure of Fortran in the module m, because the C++ library has a limit of its own, which
 * is lower.
 */
static int symbol(uint64_t count)
{
	char *name = limit_text('n', count - 8), *mangled = limit_text(' ', count), *readable;

	sprintf(mangled, "__m_MOD_%s", name);
	assert_int_equal(strlen(mangled), count);
	readable = names_readable(mangled);
	if (!readable)
		return -ENOENT;
	assert_int_equal(strncmp(readable, "m::nnn", 6), 0);
	assert_int_equal(strlen(readable), 3 + count - 8);
	free(readable);
	return 0;
}

/* Nested references in an argument of a generic function, which is a level of its own. */
static int rust_levels(uint64_t count)
{
	char *references = limit_text('R', count - 1), *mangled = limit_text(' ', count + 16),
	     *readable;
	size_t seen = 0;

	sprintf(mangled, "_RINvC1a1f%suE", references);
	readable = names_readable(mangled);
	if (!readable)
		return -ENOENT;
	for (const char *at = readable; (at = strchr(at, '&')); at++)
		seen++;
	assert_int_equal(seen, count - 1);
	free(readable);
	return 0;
}

static void test_symbols(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(symbol, 4096 - 1, -ENOENT, ""),
			LIMIT_CASE(rust_levels, 200, -ENOENT, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_suggestions),
			cmocka_unit_test(test_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
