/* SPDX-License-Identifier: MIT */
/*
 * The nearest names to a misspelled word, copies of functions that compilers make, and names of
 * older compilers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/demangle.h"
#include "base/nearest/nearest.h"

/* Returns the cost of one name, or -1 if it is not near. */
static int cost_of(const char *word, const char *name)
{
	struct nearest nearest;

	nearest_begin(&nearest, word);
	nearest_offer(&nearest, name);
	return nearest.count ? (int)nearest.names[0].cost : -1;
}

static void test_costs(void **unused)
{
	static const struct {
		const char *word, *name;
		int cost;
	} cases[] = {{"record", "record", -1}, /* not a correction of itself */
			{"recrod", "record", 256}, {"recod", "record", 256},
			{"reccord", "record", 256}, {"recxrd", "record", 256},
			{"RECORD", "record", 0}, {"rec-ord", "rec_ord", 0},
			{"rxcxrd", "record", 512}, {"rxcxrx", "record", 768},
			{"rxxxrx", "record", -1}, {"er", "re", 256}, {"eru", "rue", 512},
			{"eur", "rue", 512}, {"abc", "acb", 256}, {"bac", "abc", 256},
			{"cab", "abc", 512}, {"st", "start", 256 + 3}, {"s", "start", -1},
			{"tart", "start", 512 + 1}, {"tar", "start", 512}, {"art", "start", 512},
			{"star", "start", 256 + 1}, {"xyz", "abcdefgh", -1}, {"list", "lists", 257},
			{"ZA", "za", 0}, {"[a", "{a", 256}, {"@b", "`b", 256}, {"abcd", "wxyz", -1},
			{"a-b", "a_b", 0}, {"a.b", "a_b", 256}, {"", "a", -1}, {"aa", "bb", -1}};
	char word[80], name[400];

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int cost = cost_of(cases[i].word, cases[i].name);

		if (cost != cases[i].cost)
			fail_msg("%s, %s: %d, expected %d", cases[i].word, cases[i].name, cost,
					cases[i].cost);
	}
	/* Words of up to 64 letters are compared, longer ones are only searched for. */
	for (size_t length = 64; length < 66; length++) {
		memset(word, 'w', sizeof(word));
		word[length] = '\0';
		strcpy(name, word);
		word[10] = 'x';
		assert_int_equal(cost_of(word, name), length == 64 ? 256 : -1);
	}
	/* Also if only one of the two is longer. */
	for (size_t length = 63; length < 66; length++) {
		memset(word, 'w', sizeof(word));
		memset(name, 'w', 65);
		word[length] = name[64] = '\0';
		word[0] = 'x';
		name[20] = 'y';
		assert_int_equal(cost_of(word, name), length < 65 ? 512 : -1);
		assert_int_equal(cost_of(name, word), length < 65 ? 512 : -1);
	}
	/*
	 * 256 missing letters cost as much as none: the cost of a prefix stays below the cost of
	 * two changes.
	 */
	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	assert_int_equal(cost_of("nn", name), 256 + 253);
	name[255] = 'n';
	name[256] = '\0';
	assert_int_equal(cost_of("nn", name), -1);
}

static void assert_text(const char *word, const char *const *names, const char *wanted)
{
	char text[NEAREST_TEXT_SIZE];
	struct nearest nearest;

	nearest_begin(&nearest, word);
	nearest_offer(&nearest, NULL);
	nearest_offer(&nearest, "");
	for (; *names; names++)
		nearest_offer(&nearest, *names);
	assert_int_equal(nearest_text(&nearest, "-", text, sizeof(text)), *wanted != '\0');
	assert_string_equal(text, wanted);
	assert_int_equal(nearest_best(&nearest) != NULL, *wanted != '\0');
}

static void test_texts(void **unused)
{
	(void)unused;
	assert_text("aaaa", (const char *[]){NULL}, "");
	assert_text("aaaa", (const char *[]){"bbbb", NULL}, "");
	assert_text("aaaa", (const char *[]){"aaab", NULL}, "did you mean `-aaab`?");
	assert_text("aaaa", (const char *[]){"aabb", "aaab", NULL}, "did you mean `-aaab`?");
	assert_text("aaaa", (const char *[]){"aaab", "aabb", "aaac", NULL},
			"did you mean `-aaab` or `-aaac`?");
	assert_text("aaaa", (const char *[]){"aaab", "aaab", "aaac", "aaad", "aaae", NULL},
			"did you mean `-aaab`, `-aaac` or `-aaad`?");
	/* If all positions are used, a nearer name gets the first one. */
	assert_text("aaaa", (const char *[]){"aabb", "aacc", "aadd", "AAAA", "aaab", NULL},
			"did you mean `-AAAA`?");
	{
		struct nearest nearest;
		char text[16];

		nearest_begin(&nearest, "aaaa");
		nearest_offer(&nearest, "aabb");
		nearest_offer(&nearest, "aacc");
		nearest_offer(&nearest, "aadd");
		nearest_offer(&nearest, "aaee");
		assert_int_equal(nearest.count, NEAREST_MAX);
		nearest_offer(&nearest, "aaab");
		assert_int_equal(nearest.count, NEAREST_MAX);
		assert_int_equal(nearest_likely(&nearest), 1);
		assert_string_equal(nearest.names[0].name, "aaab");
		assert_string_equal(nearest.names[1].name, "aabb");
		assert_string_equal(nearest.names[2].name, "aacc");
		/* A buffer that is too small gets the first bytes of the name. */
		assert_true(nearest_text(&nearest, "", text, sizeof(text)));
		assert_string_equal(text, "did you mean `a");
	}
}

static void test_functions(void **unused)
{
	struct nearest nearest;

	(void)unused;
	nearest_begin(&nearest, "net::server::tak");
	nearest_offer_function(&nearest, "_ZN3net6server4takeERKNS_4pairE");
	assert_int_equal(nearest.count, 2);
	assert_string_equal(nearest.names[0].name, "net::server::take");
	assert_string_equal(nearest.names[1].name, "net::server::take(net::pair const&)");
	nearest_begin(&nearest, "mian");
	nearest_offer_function(&nearest, "main");
	assert_string_equal(nearest_best(&nearest), "main");
}

static void test_copies(void **unused)
{
	static const struct {
		const char *symbol;
		enum names_copy copy;
		size_t length;
	} cases[] = {{"f", NAMES_NO_COPY, 1}, {"f.isra.0", NAMES_COPY, 1},
			{"ff.constprop.12", NAMES_COPY, 2}, {"f.specialized.1", NAMES_COPY, 1},
			{"f.llvm.123", NAMES_COPY, 1}, {"f.lto_priv.0", NAMES_COPY, 1},
			{"f.__uniq.9", NAMES_COPY, 1}, {"f.part.0", NAMES_PIECE, 1},
			{"f.part.0.isra.0", NAMES_PIECE, 1}, {"f.isra.0.part.0", NAMES_PIECE, 1},
			{"f.isra.0.constprop.1", NAMES_COPY, 1}, {"f.isra.", NAMES_NO_COPY, 7},
			{"f.isra.x", NAMES_NO_COPY, 8}, {"f.isra.0x", NAMES_NO_COPY, 9},
			{"main.f", NAMES_NO_COPY, 6}, {"main.f.isra.0", NAMES_COPY, 6},
			{"f.isra.0.x", NAMES_NO_COPY, 10}, {"f.isra.0.x.part.3", NAMES_PIECE, 10},
			{".isra.0", NAMES_NO_COPY, 0}, {"f.cold", NAMES_NO_COPY, 6}};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t length = 99;
		enum names_copy copy = names_copy(cases[i].symbol, &length);
		char *plain;

		if (copy != cases[i].copy || length != cases[i].length)
			fail_msg("%s: %u %zu", cases[i].symbol, copy, length);
		plain = names_without_copy(cases[i].symbol);
		assert_int_equal(strlen(plain), length);
		assert_memory_equal(plain, cases[i].symbol, length);
		free(plain);
	}
}

static void test_readable(void **unused)
{
	static const struct {
		const char *symbol, *name;
	} cases[] = {{"__physics_MOD_step", "physics::step"}, {"__a_MOD_b", "a::b"},
			{"___MOD_b", NULL}, {"__a_MOD_", NULL}, {"_a_MOD_b", NULL},
			{"a_MOD_b", NULL}, {"plain", NULL}, {"", NULL}, {"_Z", NULL},
			{"_Z1fv", "f()"}, {"_ZN1a17h0123456789abcdefE", "a"},
			{"_ZN1a17h0123456789abcdegE", "a::h0123456789abcdeg"},
			{"_ZN1a16h0123456789abcdeE", "a::h0123456789abcde"},
			{"_ZN5$C$ab17h0123456789abcdefE", ",ab"},
			{"_ZN5_$C$a17h0123456789abcdefE", ",a"},
			{"_ZN6$u7e$a17h0123456789abcdefE", "~a"},
			{"_ZN6$u7f$a17h0123456789abcdefE", "$u7f$a"},
			{"_ZN6$u20$a17h0123456789abcdefE", " a"},
			{"_ZN6$u1f$a17h0123456789abcdefE", "$u1f$a"},
			{"_ZN4a..b17h0123456789abcdefE", "a::b"},
			{"_ZN3a.b17h0123456789abcdefE", "a.b"},
			{"_ZN16$SP$$BP$$RF$$LP$17h0123456789abcdefE", "@*&("},
			{"_ZN12$RP$$GT$$LT$17h0123456789abcdefE", ")><"}};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *name = names_readable(cases[i].symbol);

		if (!name != !cases[i].name || (name && strcmp(name, cases[i].name) != 0))
			fail_msg("%s: %s", cases[i].symbol, name ? name : "none");
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_costs),
			cmocka_unit_test(test_texts),
			cmocka_unit_test(test_functions),
			cmocka_unit_test(test_copies),
			cmocka_unit_test(test_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
