/* SPDX-License-Identifier: MIT */
/*
 * What side requests from the kernel for an event: each limit of its filters, and the filter after
 * another choice. The test includes the file and replaces the backend.
 */
#include "kernel-events/kernel-filter.c"

#include "../check.h"
#include "../failing-calls.h"
#include "../resources.h"

/* ---- one comparison ---- */

static void test_names(void)
{
	CHECK(kernel_filter_is_plain_name("azAZ09_") && kernel_filter_is_plain_name("a_length_") &&
			kernel_filter_is_plain_name("lengths"));
	CHECK(!kernel_filter_is_plain_name("_a") && !kernel_filter_is_plain_name("a.b") &&
			!kernel_filter_is_plain_name("a b"));
	CHECK(!kernel_filter_is_plain_name("a_length") && kernel_filter_is_plain_name("length") &&
			kernel_filter_is_plain_name("alength"));
	CHECK(!kernel_filter_is_plain_name("b_length") && kernel_filter_is_plain_name("a_lengt"));
}

static bool is_fitting(uint32_t size, bool is_signed, uint64_t number, bool is_unsigned)
{
	const struct format_field field = {.size = size, .is_signed = is_signed};
	const struct filter_comparison comparison = {.number = number, .is_unsigned = is_unsigned};

	return kernel_filter_field_fits(&field, &comparison);
}

static void test_numbers(void)
{
	CHECK(is_fitting(1, false, 255, true) && !is_fitting(1, false, 256, true));
	CHECK(is_fitting(1, true, 127, false) && !is_fitting(1, true, 128, false));
	CHECK(is_fitting(1, true, (uint64_t)-128, false));
	CHECK(!is_fitting(1, true, (uint64_t)-129, false));
	CHECK(!is_fitting(1, false, (uint64_t)-1, false));
	CHECK(!is_fitting(1, false, (uint64_t)-1, true) && is_fitting(1, false, 0, false));
	CHECK(is_fitting(4, true, INT32_MAX, false) && !is_fitting(4, true, 0x80000000u, false));
	CHECK(is_fitting(4, true, (uint64_t)INT32_MIN, false));
	CHECK(!is_fitting(4, true, (uint64_t)INT32_MIN - 1, false));
	CHECK(is_fitting(8, true, (uint64_t)INT64_MIN, false));
	CHECK(is_fitting(8, true, INT64_MAX, true) && !is_fitting(8, true, 1ull << 63, true));
	CHECK(is_fitting(8, false, UINT64_MAX, true) && !is_fitting(8, false, UINT64_MAX, false));
}

/* Two fields of the same name are no field. */
static struct format_field fields[] = {
		{.name = (char[]){"u8"}, .kind = FORMAT_INTEGER, .size = 1, .unit = 1},
		{.name = (char[]){"s4"},
				.kind = FORMAT_INTEGER,
				.size = 4,
				.unit = 4,
				.is_signed = true},
		{.name = (char[]){"many"},
				.kind = FORMAT_INTEGER,
				.size = 1,
				.unit = 1,
				.count = 2},
		{.name = (char[]){"halves"}, .kind = FORMAT_INTEGER, .size = 4, .unit = 2},
		{.name = (char[]){"text"}, .kind = FORMAT_TEXT, .size = 8},
		{.name = (char[]){"far"},
				.kind = FORMAT_LOCATION,
				.element = FORMAT_TEXT,
				.size = 4},
		{.name = (char[]){"bytes"},
				.kind = FORMAT_LOCATION,
				.element = FORMAT_INTEGER,
				.size = 4},
		{.name = (char[]){"twice"}, .kind = FORMAT_INTEGER, .size = 1, .unit = 1},
		{.name = (char[]){"twice"}, .kind = FORMAT_INTEGER, .size = 1, .unit = 1},
};
static char system_name[] = "sched", event_name[] = "switch";
static struct kernel_event_class event_class;

static void make_kind(void)
{
	memset(&event_class, 0, sizeof(event_class));
	event_class.system = system_name;
	event_class.name = event_name;
	event_class.format.fields = fields;
	event_class.format.nr_fields = sizeof(fields) / sizeof(*fields);
}

/* NULL: refused. */
static const char *reported(const char *field, const char *relation, const char *with,
		int64_t number, size_t space)
{
	static char text[200];
	const struct filter_comparison comparison = {.field = field,
			.relation = relation,
			.text = with,
			.number = (uint64_t)number,
			.is_unsigned = number > 200};

	return kernel_filter_format_comparison(&event_class, &comparison, text, space) ? text
										       : NULL;
}

static void test_comparisons(void)
{
	make_kind();
	CHECK(!strcmp(reported("u8", ">=", NULL, 201, 200), "u8 >= 201"));
	CHECK(!strcmp(reported("s4", "&", NULL, -7, 200), "s4 & -7"));
	CHECK(reported("u8", "<", NULL, 12, 8) && !reported("u8", "<", NULL, 12, 7));
	CHECK(!reported("u8", "<", NULL, 256, 200) && !reported("u8", "<", NULL, -1, 200));
	CHECK(!reported("many", "<", NULL, 1, 200) && !reported("halves", "<", NULL, 1, 200));
	CHECK(!reported("text", "<", NULL, 1, 200) && !reported("none", "<", NULL, 1, 200));
	CHECK(!reported("twice", "<", NULL, 1, 200) && !reported("_u8", "<", NULL, 1, 200));
	CHECK(!strcmp(reported("text", "==", "aZ0_./:", 0, 200), "text == \"aZ0_./:\""));
	CHECK(!strcmp(reported("far", "!=", "longer-than-8", 0, 200), "far != \"longer-than-8\""));
	CHECK(!reported("text", "==", "12345678", 0, 200) &&
			!reported("text", "==", "abcdefgh", 0, 200));
	CHECK(reported("text", "==", "abcdefg", 0, 200) && !reported("text", "==", "", 0, 200));
	CHECK(!reported("text", "==", "123", 0, 200) && reported("text", "==", "12a", 0, 200));
	CHECK(!reported("text", "<", "abc", 0, 200) && !reported("text", "==", "a*b", 0, 200));
	CHECK(!reported("u8", "==", "abc", 0, 200) && !reported("bytes", "==", "abc", 0, 200));
	CHECK(reported("text", "==", "abc", 0, 14) && !reported("text", "==", "abc", 0, 13));
}

/* ---- lists of expressions ---- */

static void test_lists(void)
{
	char one[] = "a", two[] = "bc", text[20];
	struct class_filter combined = {.texts = {one, two}, .nr = 2},
			    other = {.texts = {two}, .nr = 1};

	CHECK(kernel_filter_has_expression(&combined, "a") &&
			kernel_filter_has_expression(&combined, "bc") &&
			!kernel_filter_has_expression(&combined, "b") &&
			!kernel_filter_has_expression(&other, "a"));
	CHECK(kernel_filter_print_list(text, 12, &combined) && !strcmp(text, "(a) || (bc)"));
	CHECK(!kernel_filter_print_list(text, 11, &combined) &&
			kernel_filter_print_list(text, 5, &other) &&
			!kernel_filter_print_list(text, 4, &other));
	CHECK(!strcmp(text, "(bc"));
	CHECK(kernel_filter_is_enough(&combined, &other) &&
			!kernel_filter_is_enough(&other, &combined));
	strcpy(combined.all, "(a) || (bc)");
	strcpy(other.all, "(bc)");
	CHECK(!kernel_filter_find_more(&combined, &other, text, sizeof(text)));
	CHECK(kernel_filter_find_more(&other, &combined, text, 17) &&
			!strcmp(text, "!((bc)) && ((a))"));
	CHECK(!kernel_filter_find_more(&other, &combined, text, 16));
}

static void test_added(void)
{
	static const char *const expressions[] = {"u8 == 1", "u8 == 2", "u8 == 3", "u8 == 4",
			"u8 == 5", "u8 == 6", "u8 == 7", "u8 == 8"};
	static struct class_filter combined;

	make_kind();
	CHECK(!kernel_filter_add_expression(&combined, &event_class, "none == 1") && !combined.nr);
	failing_arm(1);
	/* Whichever step fails first, nothing is added. */
	CHECK(!kernel_filter_add_expression(&combined, &event_class, "u8 == 1") &&
			failing_has_failed() && !combined.nr);
	for (size_t i = 0; i < ASKED_MAX; i++) {
		CHECK(kernel_filter_add_expression(&combined, &event_class, expressions[i]) &&
				combined.nr == i + 1);
		CHECK(!strcmp(combined.texts[i], expressions[i]));
	}
	CHECK(kernel_filter_add_expression(&combined, &event_class, "u8 == 5") && combined.nr == 8);
	CHECK(!kernel_filter_add_expression(&combined, &event_class, "u8 == 9") &&
			combined.nr == 8);
	kernel_filter_free_texts(&combined);
	CHECK(!combined.nr);
}

static bool is_meant(const char *pattern)
{
	const struct kernel_record_choice choice = {.pattern = pattern};

	return kernel_filter_choice_matches(&choice, &event_class);
}

static void test_meant(void)
{
	make_kind();
	CHECK(is_meant("sched:switch") && is_meant("sched:*") && is_meant("*:switch"));
	CHECK(!is_meant("sched:wakeup") && !is_meant("irq:*") && !is_meant("sched:["));
}

static void test_kept(void)
{
	static struct class_filter combined, wanted;
	char texts[ASKED_MAX + 1][2] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};
	char large[1000];

	for (size_t i = 0; i < ASKED_MAX; i++)
		combined.texts[i] = texts[i];
	combined.nr = 8;
	for (wanted.nr = 0; wanted.nr < 6; wanted.nr++)
		wanted.texts[wanted.nr] = strdup(texts[wanted.nr]);
	/* All that were requested before: two more. */
	CHECK(!kernel_filter_store_expressions(&combined, &wanted) && wanted.nr == 8 &&
			!strcmp(wanted.texts[6], "6") && !strcmp(wanted.texts[7], "7") &&
			wanted.texts[7] != texts[7]);
	CHECK(!strcmp(wanted.all, "(0) || (1) || (2) || (3) || (4) || (5) || (6) || (7)"));
	combined.texts[0] = texts[8];
	CHECK(kernel_filter_store_expressions(&combined, &wanted) == -E2BIG && wanted.nr == 8);
	free(wanted.texts[--wanted.nr]);
	failing_arm(1);
	CHECK(kernel_filter_store_expressions(&combined, &wanted) == -ENOMEM &&
			failing_has_failed() && wanted.nr == 7);
	kernel_filter_free_texts(&wanted);
	/* Four texts of the greatest length are too long together. */
	memset(large, 'x', sizeof(large));
	large[999] = '\0';
	combined.texts[0] = large;
	combined.nr = 1;
	for (wanted.nr = 0; wanted.nr < 3; wanted.nr++) {
		wanted.texts[wanted.nr] = strdup(large);
		wanted.texts[wanted.nr][0] = (char)('a' + wanted.nr);
	}
	CHECK(kernel_filter_store_expressions(&combined, &wanted) == -E2BIG && wanted.nr == 4);
	kernel_filter_free_texts(&wanted);
}

/* ---- its life ---- */

static char widened[4 * ASKED_ALL_MAX];
static int widen_result;

static int play_widen(struct kernel_record *record, struct kernel_event_class *of, const char *more,
		const char *all)
{
	CHECK(record && of == &event_class);
	(void)snprintf(widened, sizeof(widened), "%s / %s", more, all ? all : "everything");
	return widen_result;
}

static bool is_widened(const char *expected)
{
	bool same = !strcmp(widened, expected);

	if (!same)
		fprintf(stderr, "%s\ninstead of\n%s\n", widened, expected);
	*widened = '\0';
	return same;
}

static void test_life(void)
{
	static const struct kernel_backend backend = {.widen = play_widen};
	struct kernel_record_choice choices[10] = {{.pattern = "sched:*", .expression = "u8 == 1"},
			{.pattern = "irq:*"}, {.pattern = "*:switch", .expression = "s4 < 2"}};
	static struct kernel_record record;
	static const char own[] = "own";

	make_kind();
	record.backend = &backend;
	record.options.choices = choices;
	record.options.nr_choices = 3;
	CHECK(!kernel_filter_widen(&record, &event_class) && is_widened(""));
	kernel_filter_set(&record, &event_class);
	CHECK(event_class.combined && event_class.filter == event_class.combined->all);
	CHECK(!strcmp(event_class.filter, "(u8 == 1) || (s4 < 2)"));
	CHECK(!kernel_filter_widen(&record, &event_class) && is_widened(""));
	/* Fewer records are wanted: nothing changes. */
	record.options.nr_choices = 1;
	CHECK(!kernel_filter_widen(&record, &event_class) && is_widened(""));
	CHECK(!strcmp(event_class.filter, "(u8 == 1) || (s4 < 2)"));
	choices[0].expression = "u8 > 3";
	widen_result = -EIO;
	CHECK(kernel_filter_widen(&record, &event_class) == -EIO);
	CHECK(is_widened(
			"!((u8 == 1) || (s4 < 2)) && ((u8 > 3)) / (u8 > 3) || (u8 == 1) || (s4 < 2)"));
	CHECK(!strcmp(event_class.filter, "(u8 == 1) || (s4 < 2)") &&
			event_class.filter == event_class.combined->all);
	widen_result = 0;
	CHECK(!kernel_filter_widen(&record, &event_class) &&
			event_class.filter == event_class.combined->all);
	CHECK(is_widened(
			"!((u8 == 1) || (s4 < 2)) && ((u8 > 3)) / (u8 > 3) || (u8 == 1) || (s4 < 2)"));
	CHECK(!strcmp(event_class.filter, "(u8 > 3) || (u8 == 1) || (s4 < 2)") &&
			event_class.combined->nr == 3);
	failing_arm(1);
	CHECK(kernel_filter_widen(&record, &event_class) == -ENOMEM && failing_has_failed());
	/* All records, or an expression that the kernel cannot check. */
	choices[0].expression = NULL;
	widen_result = -EIO;
	CHECK(kernel_filter_widen(&record, &event_class) == -EIO && event_class.combined &&
			event_class.filter);
	CHECK(is_widened("!((u8 > 3) || (u8 == 1) || (s4 < 2)) / everything"));
	widen_result = 0;
	CHECK(!kernel_filter_widen(&record, &event_class) && !event_class.combined &&
			!event_class.filter);
	CHECK(is_widened("!((u8 > 3) || (u8 == 1) || (s4 < 2)) / everything"));
	/*
	 * No filter if all records are wanted, for events that describe themselves, and if the user
	 * has set a filter.
	 */
	kernel_filter_set(&record, &event_class);
	CHECK(!event_class.combined && !event_class.filter);
	choices[0].expression = "u8 > 3";
	event_class.format.event_header = true;
	kernel_filter_set(&record, &event_class);
	CHECK(!event_class.combined && !event_class.filter);
	event_class.format.event_header = false;
	record.options.nr_choices = 0;
	kernel_filter_set(&record, &event_class);
	CHECK(!event_class.combined && !event_class.filter);
	record.options.nr_choices = 1;
	event_class.filter = own;
	kernel_filter_set(&record, &event_class);
	CHECK(!event_class.combined && event_class.filter == own);
	event_class.filter = NULL;
	for (unsigned int call = 1;; call++) {
		failing_arm(call);
		kernel_filter_set(&record, &event_class);
		if (!failing_has_failed())
			break;
		CHECK(!event_class.combined && !event_class.filter);
	}
	CHECK(!strcmp(event_class.filter, "(u8 > 3)"));
	event_class.filter = own;
	kernel_filter_drop(&event_class);
	CHECK(!event_class.combined && event_class.filter == own);
	kernel_filter_drop(&event_class);
	/* One expression too many in addition to those that are requested. */
	event_class.filter = NULL;
	for (int i = 0; i < 8; i++) {
		static const char *const more[] = {"u8 > 10", "u8 > 11", "u8 > 12", "u8 > 13",
				"u8 > 14", "u8 > 15", "u8 > 16", "u8 > 17"};

		choices[i] = (struct kernel_record_choice){
				.pattern = "sched:*", .expression = more[i]};
	}
	record.options.nr_choices = 8;
	kernel_filter_set(&record, &event_class);
	CHECK(event_class.combined && event_class.combined->nr == 8);
	choices[0].expression = "u8 > 18";
	CHECK(kernel_filter_widen(&record, &event_class) == -E2BIG && is_widened("") &&
			event_class.combined->nr == 8);
	kernel_filter_drop(&event_class);
	CHECK(!event_class.filter);
}

int main(void)
{
	size_t memory = 0;

	test_names();
	test_numbers();
	test_comparisons();
	test_lists();
	for (int i = 0; i < 9; i++) {
		test_added();
		test_kept();
		test_life();
		memory = i == 7 ? resources_memory() : memory;
	}
	/* Nothing stays allocated. */
	CHECK(resources_memory() == memory);
	test_meant();
	return 0;
}
