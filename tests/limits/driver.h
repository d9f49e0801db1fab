/* SPDX-License-Identifier: MIT */
/* Tests each limit of a list with the last permitted value and with the first refused one. */
#ifndef TESTS_LIMITS_DRIVER_H
#define TESTS_LIMITS_DRIVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/*
 * The first descriptor that a test opens is 0, which checks of results must accept as a descriptor.
 */
__attribute__((constructor)) static void limits_free_descriptor(void)
{
	(void)close(0);
}

/* The text that the tested function reported. An attempt with a text sets it. */
static const char *limit_problem = "";

struct limit_case {
	const char *name;
	/*
	 * Returns the result of the tested function, after it has compared its output if there is
	 * any.
	 */
	int (*attempt)(uint64_t count);
	uint64_t limit;
	int beyond;          /* returned for one more; for one less if `is_least` */
	const char *problem; /* reported then */
	bool is_least;
};

#define LIMIT_CASE(attempt, limit, beyond, problem)              \
	{                                                        \
#attempt, attempt, limit, beyond, problem, false \
	}
#define LEAST_CASE(attempt, limit, beyond, problem)             \
	{                                                       \
#attempt, attempt, limit, beyond, problem, true \
	}

static inline void limits_try(const struct limit_case *cases, size_t count)
{
	size_t failed = 0;

	for (size_t i = 0; i < count; i++) {
		const struct limit_case *one = &cases[i];
		uint64_t next = one->is_least ? one->limit - 1 : one->limit + 1;
		int ret;

		limit_problem = "";
		ret = one->attempt(one->limit);
		if (ret) {
			print_error("%s: %llu is refused: %d %s\n", one->name,
					(unsigned long long)one->limit, ret, limit_problem);
			failed++;
		}
		limit_problem = "";
		ret = one->attempt(next);
		if (ret != one->beyond || strcmp(limit_problem, one->problem) != 0) {
			print_error("%s: %llu gives %d \"%s\", not %d \"%s\"\n", one->name,
					(unsigned long long)next, ret, limit_problem, one->beyond,
					one->problem);
			failed++;
		}
	}
	assert_int_equal(failed, 0);
}

/* Returns `letter`, repeated `size` times, in static memory. */
static inline char *limit_text(char letter, uint64_t size)
{
	static char *texts[4];
	static unsigned int turn;
	char **text = &texts[turn++ % 4];

	free(*text);
	*text = malloc(size + 1);
	assert_non_null(*text);
	memset(*text, letter, size);
	(*text)[size] = '\0';
	return *text;
}

#endif /* TESTS_LIMITS_DRIVER_H */
