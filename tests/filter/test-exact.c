/* SPDX-License-Identifier: MIT */
/*
 * Details of filters, compared with the results of the C compiler: numbers of smaller formats,
 * three-valued truth, distances of words, and calls whose arguments have another type than
 * described.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "filter/compute.h"
#include "filter/filter.h"
#include "filter/number.h"
#include "filter/suggest.h"
#include "abi/visit.h"

/* ---- numbers ---- */

static uint64_t bits_of_double(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, 8);
	return bits;
}

static void halves(void)
{
	for (uint32_t bits = 0; bits < 65536; bits++) {
		int exponent = bits >> 10 & 31, mantissa = bits & 1023;
		double number = exponent ? ldexp(1024 + mantissa, exponent - 25)
					 : ldexp(mantissa, -24);
		uint64_t found = filter_double_from_16((uint16_t)bits), wanted;

		if (exponent == 31)
			number = INFINITY;
		wanted = bits_of_double(bits >> 15 ? -number : number);
		if (exponent == 31)
			wanted |= (uint64_t)mantissa << 42;
		CHECK(found == wanted);
	}
}

static void singles(void)
{
	/* Each exponent, with mantissas that have one bit, all bits, and some. */
	for (uint32_t top = 0; top < 512; top++)
		for (unsigned int i = 0; i < 26; i++) {
			uint32_t mantissa = i < 23 ? 1u << i
					: i == 23  ? 0
					: i == 24  ? 0x7fffff
						   : 0x2aaaaa;
			uint32_t bits = top << 23 | mantissa;
			float number;

			memcpy(&number, &bits, 4);
			if (isnan(number))
				CHECK(filter_double_from_32(bits) ==
						((uint64_t)(top >> 8) << 63 | 0x7ff0000000000000 |
								(uint64_t)mantissa << 29));
			else
				CHECK(filter_double_from_32(bits) ==
						bits_of_double((double)number));
		}
}

/* ---- truths ---- */

static void truths(void)
{
	/* One value decides, or both do; -1 is neither true nor false. */
	static const int and[3][3] = {{-1, 0, -1}, {0, 0, 0}, {-1, 0, 1}};
	static const int or [3][3] = {{-1, -1, 1}, {-1, 0, 1}, {1, 1, 1}};

	for (int a = -1; a <= 1; a++)
		for (int b = -1; b <= 1; b++) {
			CHECK(filter_logic(FILTER_CODE_AND, a, b) == and[a + 1][b + 1]);
			CHECK(filter_logic(FILTER_CODE_OR, a, b) == or [a + 1][b + 1]);
		}
	for (int truth = -1; truth <= 1; truth++) {
		struct filter_value value;

		memset(&value, 'x', sizeof(value));
		filter_set_truth(&value, truth);
		CHECK(filter_truth(&value) == truth);
		CHECK(value.kind == (truth < 0 ? FILTER_NONE : FILTER_INT));
		CHECK(value.u == (truth > 0) && !value.is_unsigned && !value.labels);
	}
}

/* ---- words ---- */

static void distances(void)
{
	static const struct {
		const char *a, *b;
		unsigned int distance;
	} cases[] = {{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0},
			{"abc", "ABC", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "bc", 1},
			{"abc", "acb", 1}, {"abcd", "badc", 2}, {"abcd", "cdab", 4},
			{"kitten", "sitting", 3}, {"vpid", "pivd", 2}, {"procname", "process", 4},
			{"aB", "bA", 2}};
	char forty[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK(filter_distance(cases[i].a, cases[i].b) == cases[i].distance);
		CHECK(filter_distance(cases[i].b, cases[i].a) == cases[i].distance);
	}
	/* Words of 40 bytes are compared, longer ones are not. */
	memset(forty, 'w', sizeof(forty));
	forty[40] = '\0';
	CHECK(filter_distance(forty, forty) == 0 && filter_distance(forty, "w") == 39);
	CHECK(filter_distance("v", forty) == 40);
	forty[40] = 'w';
	forty[41] = '\0';
	CHECK(filter_distance(forty, forty) == 1000 && filter_distance(forty, "w") == 1000);
	CHECK(filter_distance("w", forty) == 1000);
}

static void nearness(void)
{
	/* For words of 0, 1, 2 ... letters: the greatest distance that is near. */
	static const unsigned int most[] = {0, 0, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4};

	for (size_t size = 0; size < sizeof(most) / sizeof(*most); size++) {
		char word[16] = "";

		memset(word, 'w', size);
		for (unsigned int distance = 0; distance < 8; distance++)
			CHECK(!!filter_is_near(word, distance) == (size && distance <= most[size]));
	}
}

static void hints(void)
{
	static const char *const names[] = {"procname", "vpid", "vtid", NULL};
	char hint[FILTER_HINT_MAX], word[64];

	CHECK(!strcmp(filter_hint("vpdi", names, "$ctx.", hint), "did you mean `$ctx.vpid`?"));
	CHECK(filter_hint("vpdi", names, "", hint) == hint);
	CHECK(!strcmp(filter_hint("vid", names, "", hint), "did you mean `vpid`?"));
	CHECK(!*filter_hint("other", names, "", hint));
	CHECK(!*filter_hint("x", names, "", hint) && !*filter_hint_word(NULL, "", hint));
	memset(word, 'w', sizeof(word));
	word[40] = '\0';
	CHECK(strstr(filter_hint_word(word, "", hint), word));
	word[40] = 'w';
	word[41] = '\0';
	CHECK(!*filter_hint_word(word, "", hint));
}

/* ---- calls with other types ---- */

static struct side_event_description desc;
static struct side_event_field fields[3];
static struct side_arg args[3];

static void describe(const unsigned int labels[3], const unsigned int sizes[3])
{
	static const char *const names[] = {"a", "b", "c"};

	memset(&desc, 0, sizeof(desc));
	memset(fields, 0, sizeof(fields));
	memset(args, 0, sizeof(args));
	desc.struct_size = sizeof(desc);
	side_ptr_set(desc.provider_name, "p");
	side_ptr_set(desc.event_name, "e");
	side_ptr_set(desc.fields.elements, fields);
	desc.fields.length = 3;
	for (unsigned int i = 0; i < 3; i++) {
		side_ptr_set(fields[i].field_name, names[i]);
		side_enum_set(fields[i].side_type.type, labels[i]);
		fields[i].side_type.u.side_integer.integer_size = (uint16_t)sizes[i];
		side_enum_set(args[i].type, labels[i]);
		memcpy(&args[i].u, &(uint64_t){i + 1}, 8);
	}
}

static struct side_arg_vec vec;
static struct filter *filter;
static void *memory;

static void link_filter(const char *text)
{
	struct filter_error error;
	void *program = NULL;
	size_t size;
	ssize_t need;

	CHECK(!filter_parse(text, &program, &size, &error));
	need = filter_link_size(program, size, &desc, NULL, &error);
	CHECK(need > 0);
	memory = malloc((size_t)need);
	CHECK(memory &&
			!filter_link(program, size, &desc, NULL, memory, (size_t)need, &filter,
					&error));
	free(program);
	memset(&vec, 0, sizeof(vec));
	side_ptr_set(vec.sav, args);
	vec.len = 3;
}

static bool matches(void)
{
	struct filter_value value;
	bool result = filter_matches(filter, &vec, NULL, NULL, NULL);
	int ret = filter_evaluate(filter, &vec, NULL, NULL, NULL, &value);

	/* The value of the whole expression agrees. */
	CHECK(result == (!ret && value.kind == FILTER_INT && value.u == 1));
	return result;
}

/* Arguments of another type than described have no value: not even a negated comparison holds. */
static void other_types(void)
{
	static const unsigned int labels[] = {SIDE_TYPE_U8, SIDE_TYPE_U32, SIDE_TYPE_U64},
				  sizes[] = {1, 4, 8};
	static const char *const texts[] = {"a == 1", "a != 2", "a == 1 && b == 2",
			"a != 9 && b != 9 && c != 9", "b == 2 || c == 7", "c == 3 || a == 7",
			"!(a == 2) && !(c == 2)"};
	/* Which of a, b and c may have another type while the expression still holds. */
	static const unsigned char needs[] = {1, 1, 3, 7, 2, 4, 5};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		describe(labels, sizes);
		link_filter(texts[i]);
		CHECK(matches());
		for (unsigned int other = 0; other < 3; other++) {
			side_enum_set(args[other].type, SIDE_TYPE_S8);
			CHECK(matches() == !(needs[i] >> other & 1));
			side_enum_set(args[other].type, labels[other]);
		}
		/* Fewer arguments than described. */
		vec.len = 2;
		CHECK(!matches());
		vec.len = 3;
		free(memory);
	}
}

/* ---- each comparison of each integer, compared with the compiler's ---- */

static const unsigned int integer_labels[] = {SIDE_TYPE_U8, SIDE_TYPE_U16, SIDE_TYPE_U32,
		SIDE_TYPE_U64, SIDE_TYPE_S8, SIDE_TYPE_S16, SIDE_TYPE_S32, SIDE_TYPE_S64};

static bool compared(unsigned int relation, __int128 a, __int128 b)
{
	switch (relation) {
	case 0: return a == b;
	case 1: return a != b;
	case 2: return a < b;
	case 3: return a <= b;
	case 4: return a > b;
	default: return a >= b;
	}
}

static void comparisons(void)
{
	static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};
	static const __int128 numbers[] = {-1, 0, 1, 127, 128, 255, 256, -128, -129, 32767, 32768,
			-32768, -32769, 65535, 65536, INT32_MAX, (__int128)INT32_MAX + 1, INT32_MIN,
			UINT32_MAX, (__int128)UINT32_MAX + 1, INT64_MAX, (__int128)INT64_MAX + 1,
			INT64_MIN + 1, UINT64_MAX};
	static const size_t nr = sizeof(numbers) / sizeof(*numbers);

	for (unsigned int type = 0; type < 8; type++) {
		const unsigned int size = 1u << type % 4, bits = 8 * size;
		const unsigned int labels[] = {
				integer_labels[type], integer_labels[type], SIDE_TYPE_U8};
		const unsigned int sizes[] = {size, size, 1};

		for (unsigned int relation = 0; relation < 6; relation++)
			for (size_t i = 0; i < nr; i++) {
				char text[64];

				describe(labels, sizes);
				fields[0].side_type.u.side_integer.signedness = type >= 4;
				fields[1].side_type.u.side_integer.signedness = type >= 4;
				if (numbers[i] < 0)
					snprintf(text, sizeof(text), "a %s %lld",
							relations[relation], (long long)numbers[i]);
				else
					snprintf(text, sizeof(text), "a %s %llu",
							relations[relation],
							(unsigned long long)numbers[i]);
				link_filter(text);
				for (size_t k = 0; k < nr; k++) {
					uint64_t stored = (uint64_t)numbers[k];
					__int128 number;

					/* The bytes after the number are arbitrary. */
					memset(&args[0].u, 0x5a, sizeof(args[0].u));
					memcpy(&args[0].u, &stored, size);
					stored = bits < 64 ? stored & ((UINT64_C(1) << bits) - 1)
							   : stored;
					number = type >= 4
							? (__int128)((int64_t)(stored
										     << (64 - bits)) >>
									  (64 - bits))
							: (__int128)stored;
					CHECK(matches() == compared(relation, number, numbers[i]));
				}
				free(memory);
			}
	}
}

int main(void)
{
	halves();
	singles();
	truths();
	distances();
	nearness();
	hints();
	other_types();
	comparisons();
	return 0;
}
