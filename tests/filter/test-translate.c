/* SPDX-License-Identifier: MIT */
/*
 * An expression translated for another language, which has numbers and the field "name" only: the
 * translation never excludes a record that the expression accepts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"

static const struct {
	const char *expression, *reported; /* reported NULL: nothing */
} cases[] = {
		{"a == 1", "a == 1"},
		{"0x10 < a", "a > 16"},
		{"a >= -5", "a >= -5"},
		{"a & 4", "a & 4"},
		{"a == 18446744073709551615", "a == 18446744073709551615u"},
		{"name == \"x\"", "name == 'x'"},
		{"name != \"x\" && a == 2", "(name != 'x') && (a == 2)"},
		{"a == 1 || b == 2", "(a == 1) || (b == 2)"},
		{"!(a == 1)", "!(a == 1)"},
		{"!(a == 1 && !(b == 2))", "!((a == 1) && (!(b == 2)))"},
		{"a == 1 && true", "a == 1"},
		/* Parts of it. */
		{"a == 1 && b % 2 == 0", "(a == 1)"},
		{"b % 2 == 0 && a == 1", "(a == 1)"},
		{"b % 2 == 0 && (a == 1 || c == 2)", "((a == 1) || (c == 2))"},
		{"(a == 1 && b % 2) || c == 3", "((a == 1)) || (c == 3)"},
		{"a == 1 && $ctx.vpid == 2", "(a == 1)"},
		/* Expressions for which a part would be wrong. */
		{"a == 1 || b % 2 == 0", NULL},
		{"!(a == 1 && b % 2 == 0)", NULL},
		{"!(a % 2 == 0)", NULL},
		{"b % 2 == 0 && c % 2 == 0", NULL},
		/*
		 * Fields that do not exist or are not plain, and expressions that are not
		 * comparisons.
		 */
		{"name == \"x*\"", NULL},
		{"other == \"x\"", NULL},
		{"name == 1", NULL},
		{"a", NULL},
		{"a == b", NULL},
		{"a.b == 1", NULL},
		{"a[0] == 1", NULL},
		{"has(a)", NULL},
		{"len(a) == 1", NULL},
		{"$ctx.vpid == 1", NULL},
		{"a == 1.5", NULL},
		{"a + 1 == 2", NULL},
		{"(a & 4) == 4", NULL},
		{"true", NULL},
};

static bool compare(
		void *user, const struct filter_comparison *comparison, char *text, size_t capacity)
{
	bool is_name = !strcmp(comparison->field, "name");

	(void)user;
	if (is_name != (comparison->text != NULL))
		return false;
	if (comparison->text)
		return snprintf(text, capacity, "name %s '%s'", comparison->relation,
				       comparison->text) < (int)capacity;
	if (comparison->is_unsigned && comparison->number > INT64_MAX)
		return snprintf(text, capacity, "%s %s %" PRIu64 "u", comparison->field,
				       comparison->relation, comparison->number) < (int)capacity;
	return snprintf(text, capacity, "%s %s %" PRId64, comparison->field, comparison->relation,
			       (int64_t)comparison->number) < (int)capacity;
}

int main(void)
{
	const struct filter_language language = {.compare = compare};
	size_t i, capacity;
	int failed = 0;
	char text[256];

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *want = cases[i].reported;
		int ret = filter_print(cases[i].expression, &language, text, sizeof(text));

		if (ret != (want ? 0 : -ENOENT) || (want && strcmp(text, want) != 0)) {
			printf("%s: %d, %s instead of %s\n", cases[i].expression, ret,
					ret ? "nothing" : text, want ? want : "nothing");
			failed = 1;
		}
		/* With less capacity it is shorter or empty, and no byte after it is written. */
		for (capacity = 0; want && capacity <= strlen(want) + 1; capacity++) {
			char *small = malloc(capacity + 1);

			if (!small)
				return 1;
			small[capacity] = '#';
			ret = filter_print(cases[i].expression, &language, small, capacity);
			if (small[capacity] != '#' || (!ret && !capacity) ||
					(!ret && strlen(small) >= capacity)) {
				printf("%s in %zu bytes: %d\n", cases[i].expression, capacity, ret);
				failed = 1;
			}
			free(small);
		}
	}
	if (filter_print("a ==", &language, text, sizeof(text)) != -EINVAL) {
		puts("an invalid expression is translated");
		failed = 1;
	}
	return failed;
}
