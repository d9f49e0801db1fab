/* SPDX-License-Identifier: MIT */
/*
 * Parts of the command line, each alone, with exact values: statistics, tables of keys, tables of
 * text, tokens, searches of PATH, digits, times, sizes, quoted and printable texts, losses and
 * hints.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/address.h"
#include "programs/common/command.h"
#include "programs/side/session/helper-program.h"
#include "programs/side/session/losses.h"
#include "analysis/missing.h"
#include "programs/side/cli/path-search.h"
#include "analysis/report-distribution.h"
#include "analysis/report-keys.h"
#include "analysis/report-table.h"
#include "analysis/report-text.h"
#include "base/error.h"
#include "base/units.h"
#include "programs/common/message.h"
#include "programs/side/processes/unmatched.h"
#include "analysis/view-colours.h"
#include "analysis/view-out.h"
#include "analysis/view-time.h"
#include "programs/side/cli/shell-words.h"

/* ---- what is printed ---- */

static int printed_file, printed_saved;

static void catch_stderr(void)
{
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	printed_saved = dup(STDERR_FILENO);
	assert_true(printed_file >= 0 && printed_saved >= 0);
	fflush(stderr);
	assert_int_equal(dup2(printed_file, STDERR_FILENO), STDERR_FILENO);
}

static const char *caught(void)
{
	static char text[8192];
	ssize_t size;

	fflush(stderr);
	assert_int_equal(dup2(printed_saved, STDERR_FILENO), STDERR_FILENO);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	assert_true(size >= 0);
	text[size] = '\0';
	close(printed_saved);
	close(printed_file);
	return text;
}

/* ---- statistics ---- */

static void test_percentiles(void **unused)
{
	static const struct {
		uint32_t thousandths;
		uint64_t value;
	} points[] = {{0, 1}, {1, 1}, {10000, 1}, {10001, 2}, {50000, 5}, {50001, 6}, {90000, 9},
			{90001, 10}, {99900, 10}, {100000, 10}};
	struct stats stats = {0};

	(void)unused;
	assert_true(report_stats_mean(&stats) == 0);
	for (uint64_t i = 10; i; i--)
		assert_int_equal(report_stats_add(&stats, i), 0);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		assert_int_equal(report_stats_percentile(&stats, points[i].thousandths),
				points[i].value);
	assert_int_equal(stats.count, 10);
	assert_true(stats.sum == 55 && stats.least == 1 && stats.most == 10);
	assert_true(report_stats_mean(&stats) == 5.5);
	report_stats_free(&stats);
}

/* Each percentile of values that share an octave, at the borders of octaves and steps. */
static void test_steps(void **unused)
{
	static const struct {
		uint64_t number, read; /* `read`: the middle of the step */
	} numbers[] = {{0, 0}, {1, 1}, {255, 255}, {256, 256}, {257, 257}, {511, 511}, {512, 513},
			{513, 513}, {514, 515}, {1023, 1023}, {1024, 1026}, {1027, 1026},
			{1028, 1030}, {65535, 65472}, {65536, 65664},
			{UINT64_C(1) << 63, (UINT64_C(1) << 63) + (UINT64_C(1) << 54)}};
	const size_t count = sizeof(numbers) / sizeof(numbers[0]);
	struct stats stats = {0};

	(void)unused;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(report_stats_add(&stats, numbers[i].number), 0);
	assert_int_equal(report_stats_add(&stats, UINT64_MAX), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(report_stats_percentile(&stats,
						 (uint32_t)(100000 * (i + 1) / (count + 1))),
				numbers[i].read);
	assert_int_equal(report_stats_percentile(&stats, 100000),
			(UINT64_C(511) << 55) + (UINT64_C(1) << 54));
	report_stats_free(&stats);
	/* A percentile is never outside of the range of the values. */
	stats = (struct stats){0};
	report_stats_add(&stats, 1024);
	assert_int_equal(report_stats_percentile(&stats, 50000), 1024);
	report_stats_free(&stats);
	stats = (struct stats){0};
	report_stats_add(&stats, 1027);
	assert_int_equal(report_stats_percentile(&stats, 50000), 1027);
	report_stats_free(&stats);
}

static void test_powers(void **unused)
{
	static const uint64_t numbers[] = {0, 0, 0, 1, 2, 3, 4, 7, 8, 127, 128, 255, 256, 511, 512,
			1023, 1024, UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_MAX};
	static const struct {
		unsigned int digits;
		uint64_t count;
	} wanted[] = {{0, 3}, {1, 1}, {2, 2}, {3, 2}, {4, 1}, {7, 1}, {8, 2}, {9, 2}, {10, 2},
			{11, 1}, {63, 1}, {64, 2}};
	struct stats stats = {0};
	uint64_t powers[STATS_POWERS], sum = 0;

	(void)unused;
	memset(powers, 0xff, sizeof(powers));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		report_stats_add(&stats, numbers[i]);
	report_stats_powers(&stats, powers);
	for (size_t i = 0; i < STATS_POWERS; i++)
		sum += powers[i];
	assert_int_equal(sum, sizeof(numbers) / sizeof(numbers[0]));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_int_equal(powers[wanted[i].digits], wanted[i].count);
	report_stats_free(&stats);
}

static void test_signed_and_real(void **unused)
{
	struct stats stats = {0};

	(void)unused;
	report_stats_add_signed(&stats, -7);
	report_stats_add_signed(&stats, 0);
	report_stats_add_signed(&stats, 9);
	assert_int_equal(stats.count, 3);
	assert_int_equal(stats.negative, 1);
	assert_true(stats.sum == 2 && stats.least == -7 && stats.most == 9);
	assert_false(stats.real);
	report_stats_add_real(&stats, 2.5);
	assert_true(stats.real);
	assert_true(stats.real_sum == 4.5 && stats.real_least == -7 && stats.real_most == 9);
	report_stats_add_real(&stats, -8.25);
	report_stats_add_real(&stats, 0x1p64);
	report_stats_add_real(&stats, INFINITY);
	report_stats_add_real(&stats, -INFINITY);
	report_stats_add_real(&stats, (double)NAN);
	assert_int_equal(stats.count, 6);
	assert_int_equal(stats.negative, 2);
	assert_int_equal(stats.above, 1);
	assert_int_equal(stats.infinite, 2);
	assert_int_equal(stats.nan, 1);
	assert_true(stats.real_least == -8.25 && stats.real_most == 0x1p64);
	/* From then on, integers count as well. */
	report_stats_add_signed(&stats, -20);
	assert_true(stats.real_least == -20 && stats.real_sum == 4.5 - 8.25 + 0x1p64 - 20);
	assert_true(report_stats_mean(&stats) == stats.real_sum / 7);
	report_stats_free(&stats);
	stats = (struct stats){0};
	report_stats_add_real(&stats, 600.75);
	assert_true(stats.real_least == 600.75 && stats.real_most == 600.75);
	assert_true(report_stats_mean(&stats) == 600.75);
	assert_int_equal(report_stats_percentile(&stats, 50000), 600);
	report_stats_add_real(&stats, 700);
	report_stats_add_real(&stats, 0x1p63);
	assert_int_equal(report_stats_percentile(&stats, 34000), 701);
	assert_int_equal(report_stats_percentile(&stats, 100000), UINT64_C(1) << 63);
	report_stats_free(&stats);
}

/* ---- keys ---- */

static void test_keys(void **unused)
{
	struct keys keys = {0}, few = {.limit = 3};
	char name[16];

	(void)unused;
	assert_int_equal(keys_find(&keys, "a", 1), KEYS_NONE);
	assert_int_equal(keys_add(&keys, "a", 1), 0);
	assert_int_equal(keys_add(&keys, "", 0), 1);
	assert_int_equal(keys_add(&keys, "a\0", 2), 2);
	assert_int_equal(keys_add(&keys, "a", 1), 0);
	assert_int_equal(keys_find(&keys, "", 0), 1);
	assert_int_equal(keys_find(&keys, "b", 1), KEYS_NONE);
	assert_int_equal(keys.count, 3);
	assert_int_equal(keys.entries[0].size, 1);
	assert_string_equal((char *)keys.entries[0].bytes, "a");
	for (uint32_t i = 3; i < 2000; i++) {
		snprintf(name, sizeof(name), "key %u", i);
		assert_int_equal(keys_add(&keys, name, strlen(name)), i);
		if (i == 31)
			assert_int_equal(keys.capacity, 64);
		if (i == 32)
			assert_int_equal(keys.capacity, 128);
	}
	for (uint32_t i = 3; i < 2000; i++) {
		snprintf(name, sizeof(name), "key %u", i);
		assert_int_equal(keys_find(&keys, name, strlen(name)), i);
	}
	assert_int_equal(keys.capacity, 4096);
	assert_int_equal(keys.refused, 0);
	keys_free(&keys);
	assert_null(keys.slots);
	assert_int_equal(keys.count, 0);
	/* A full table still finds its keys. */
	assert_int_equal(keys_add(&few, "one", 3), 0);
	assert_int_equal(keys_add(&few, "two", 3), 1);
	assert_int_equal(keys_add(&few, "six", 3), 2);
	assert_int_equal(keys_add(&few, "ten", 3), KEYS_NONE);
	assert_int_equal(keys_add(&few, "ten", 3), KEYS_NONE);
	assert_int_equal(keys_add(&few, "two", 3), 1);
	assert_int_equal(few.refused, 2);
	assert_int_equal(few.count, 3);
	assert_false(few.no_memory);
	keys_free(&few);
}

/* ---- tables of text ---- */

static void test_table(void **unused)
{
	static const struct table_column columns[] = {{"NAME", false, VIEW_COLOUR_NAME},
			{"COUNT", true, NULL}, {"LAST", false, NULL}};
	struct report_table table = {.columns = columns, .count = 3};
	struct view_out out = {0};

	(void)unused;
	table_put(&table, "gr\xc3\xbcn");
	table_put(&table, "7");
	table_put(&table, "a");
	table_put(&table, "longer");
	table_format(&table, "%u,%s", 12, "345678");
	table_put(&table, "");
	table_put(&table, "\033[1m");
	table_put(&table, "");
	table_put(&table, "x");
	assert_int_equal(table.used, 9);
	table_print(&table, &out);
	view_out_char(&out, '\0');
	assert_string_equal(out.begin,
			"NAME         COUNT  LAST\n"
			"gr\xc3\xbcn             7  a\n"
			"longer   12,345678\n"
			"\\x1b[1m             x\n");
	assert_int_equal(table.used, 0);
	assert_false(out.failed);
	assert_ptr_equal(table.columns, columns);
	out.at = out.begin;
	table.colour = true;
	/* More table cells than the first allocation has. */
	for (unsigned int i = 0; i < 23; i++) {
		table_put(&table, i ? "" : "n");
		table_put(&table, "1");
		table_put(&table, "2");
	}
	assert_int_equal(table.used, 69);
	assert_int_equal(table.capacity, 128);
	table_print(&table, &out);
	view_out_char(&out, '\0');
	assert_int_equal(
			memcmp(out.begin,
					VIEW_COLOUR_TIME
					"NAME" VIEW_COLOUR_END "  " VIEW_COLOUR_TIME
					"COUNT" VIEW_COLOUR_END "  " VIEW_COLOUR_TIME
					"LAST" VIEW_COLOUR_END "\n" VIEW_COLOUR_NAME
					"n" VIEW_COLOUR_END "         1  2\n          1  2\n",
					strlen(VIEW_COLOUR_TIME VIEW_COLOUR_END VIEW_COLOUR_TIME VIEW_COLOUR_END
									VIEW_COLOUR_TIME VIEW_COLOUR_END VIEW_COLOUR_NAME
											VIEW_COLOUR_END) +
							strlen("NAME  COUNT  LAST\nn         1  2\n          1  2\n")),
			0);
	view_out_free(&out);
	assert_null(out.begin);
}

static void test_durations_and_rows(void **unused)
{
	static const struct {
		double ns;
		const char *text;
	} durations[] = {{0, "0 ns"}, {1, "1 ns"}, {1.5, "1.5 ns"}, {999, "999 ns"},
			{999.9, "999.9 ns"}, {999.95, "1.000 us"}, {1000, "1.000 us"},
			{9999.4, "9.999 us"}, {9999.5, "10.00 us"}, {99994, "99.99 us"},
			{99995, "100.0 us"}, {999949, "999.9 us"}, {999950, "1.000 ms"},
			{1234567, "1.235 ms"}, {12345678, "12.35 ms"}, {123456789, "123.5 ms"},
			{1e9, "1.000 s"}, {75e9, "75.00 s"}, {123e9, "123.0 s"}, {4e12, "4000.0 s"},
			{-1500, "-1.500 us"}};
	struct report_options options = {.rows = 5};
	struct report report = {.options = &options};
	struct report_text_writer text = {.report = &report};
	char number[FORMAT_NUMBER_MAX];

	(void)unused;
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
		assert_string_equal(text_duration(durations[i].ns, number), durations[i].text);
	assert_int_equal(text_rows_shown(&report, 4), 4);
	assert_int_equal(text_rows_shown(&report, 5), 5);
	assert_int_equal(text_rows_shown(&report, 6), 5);
	options.rows = 0;
	assert_int_equal(text_rows_shown(&report, 6), 6);
	text_print_remainder(&text, 5, 5);
	assert_int_equal(view_out_size(&text.out), 0);
	text_print_remainder(&text, 5, 6);
	text_begin_section(&text);
	text_begin_section(&text);
	view_out_char(&text.out, '\0');
	assert_string_equal(text.out.begin, "… and 1 more\n\n");
	assert_string_equal(text_colour(&text, "red"), "");
	report.colour = true;
	assert_string_equal(text_colour(&text, "red"), "red");
	view_out_free(&text.out);
}

/* ---- words ---- */

static void split(const char *text, size_t count, const char *joined)
{
	size_t nr = 99, used = 0;
	char **args = shell_split(text, &nr), all[256] = "";

	if (!joined) {
		assert_null(args);
		return;
	}
	assert_non_null(args);
	assert_int_equal(nr, count);
	assert_null(args[nr]);
	for (size_t i = 0; i < nr; i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "<%s>", args[i]);
	assert_string_equal(all, joined);
	free(args);
}

static void test_words(void **unused)
{
	static const struct {
		const char *text, *shell;
	} texts[] = {{"a b c", NULL}, {"a | b", "| b"}, {"a;b", NULL}, {"a ; b", "; b"},
			{"a >x", ">x"}, {"a <x y", "<x y"}, {"a &", "&"}, {"a 1>x", "1>x"},
			{"a 2>x", "2>x"}, {"a 3>x", NULL}, {"a 1 2", NULL}, {"a '|' b", NULL},
			{"a \"x | y\" b", NULL}, {"a \\| b", NULL}, {"a x\\ | b", NULL},
			{"a x\\  | b", "| b"}, {"  | b", "| b"}, {"", NULL}, {"a 'x\\' | b", "| b"},
			{"a \"x\\\" | b", NULL}};

	(void)unused;
	split("", 0, "");
	split(" \t\n", 0, "");
	split("a", 1, "<a>");
	split(" a  b\tc\nd ", 4, "<a><b><c><d>");
	split("a b c d e f", 6, "<a><b><c><d><e><f>");
	split("'a b' \"c d\"", 2, "<a b><c d>");
	split("a'b'\"c\"d", 1, "<abcd>");
	split("a\\ b \\'c\\\"", 2, "<a b><'c\">");
	split("'a\\' \"b\\\"c\"", 2, "<a\\><b\"c>");
	split("'' \"\" x", 3, "<><><x>");
	split("a\\", 1, "<a\\>");
	split("\"a'b\" 'c\"d'", 2, "<a'b><c\"d>");
	split("'a", 0, NULL);
	split("x \"a", 0, NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *found = shell_syntax_in(texts[i].text);

		if (!texts[i].shell)
			assert_null(found);
		else
			assert_string_equal(found ? found : "none", texts[i].shell);
	}
}

static void make_program(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	close(fd);
}

static void test_path_search(void **unused)
{
	char folder[] = "/tmp/side-parts-XXXXXX", path[128], list[4300];

	(void)unused;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/program", folder);
	make_program(path, 0755);
	assert_true(path_has_program(path));
	assert_false(path_has_program("/tmp/side-parts-none/program"));
	snprintf(list, sizeof(list), "/nothing:%s:/none", folder);
	setenv("PATH", list, 1);
	assert_true(path_has_program("program"));
	assert_false(path_has_program("programs"));
	setenv("PATH", folder, 1);
	assert_true(path_has_program("program"));
	setenv("PATH", "/nothing:/none", 1);
	assert_false(path_has_program("program"));
	/* An empty part is the working directory. */
	assert_int_equal(chdir(folder), 0);
	setenv("PATH", "/nothing:", 1);
	assert_true(path_has_program("program"));
	setenv("PATH", ":/nothing", 1);
	assert_true(path_has_program("program"));
	/* A part that is too long is skipped, and the parts after it count. */
	memset(list, 'x', sizeof(list));
	snprintf(list + 4200, sizeof(list) - 4200, ":%s", folder);
	list[0] = '/';
	setenv("PATH", list, 1);
	assert_true(path_has_program("program"));
	unsetenv("PATH");
	assert_true(path_has_program("sh"));
	assert_false(path_has_program("program"));
	setenv("PATH", "/usr/bin:/bin", 1);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void test_helper_words(void **unused)
{
	char **args = NULL;

	(void)unused;
	assert_true(helper_add(&args, "--one", NULL));
	assert_true(helper_add(&args, "--two", "2"));
	assert_true(helper_add_number(&args, "--three", UINT64_MAX));
	assert_string_equal(args[0], "--one");
	assert_string_equal(args[1], "--two");
	assert_string_equal(args[2], "2");
	assert_string_equal(args[3], "--three");
	assert_string_equal(args[4], "18446744073709551615");
	assert_null(args[5]);
	helper_free(args);
	helper_free(NULL);
}

static void test_address_kinds(void **unused)
{
	(void)unused;
	assert_int_equal(address_kind_of_attribute("call", false), ADDRESS_RETURN);
	assert_int_equal(address_kind_of_attribute("calls", true), ADDRESS_EXACT);
	assert_int_equal(address_kind_of_attribute("", false), ADDRESS_NONE);
	assert_int_equal(address_kind_of_name("ip"), ADDRESS_RETURN);
	assert_int_equal(address_kind_of_name("caller"), ADDRESS_RETURN);
	assert_int_equal(address_kind_of_name("ips"), ADDRESS_NONE);
}

/* ---- digits ---- */

static void check_digits(uint64_t number)
{
	char got[80], wanted[80];

	*view_decimal(got, number) = '\0';
	snprintf(wanted, sizeof(wanted), "%" PRIu64, number);
	assert_string_equal(got, wanted);
	*view_hexadecimal(got, number) = '\0';
	snprintf(wanted, sizeof(wanted), "%" PRIx64, number);
	assert_string_equal(got, wanted);
}

static void test_digits(void **unused)
{
	struct view_out out = {0};
	char nine[16] = "", filled[600];

	(void)unused;
	for (unsigned int i = 0; i < 64; i++) {
		check_digits((UINT64_C(1) << i) - 1);
		check_digits(UINT64_C(1) << i);
	}
	for (uint64_t power = 1, i = 0; i < 20; i++, power *= 10) {
		check_digits(power - 1);
		check_digits(power);
		check_digits(power + 1);
	}
	check_digits(UINT64_MAX);
	*view_nine_digits(nine, 123456789) = '\0';
	assert_string_equal(nine, "123456789");
	*view_nine_digits(nine, 7) = '\0';
	assert_string_equal(nine, "000000007");
	view_out_signed(&out, INT64_MIN);
	view_out_char(&out, ' ');
	view_out_signed(&out, -1);
	view_out_char(&out, ' ');
	view_out_signed(&out, 0);
	view_out_unsigned(&out, UINT64_MAX);
	assert_int_equal(view_out_size(&out), 45);
	assert_memory_equal(out.begin, "-9223372036854775808 -1 018446744073709551615", 45);
	/* The buffer grows by doubling, and keeps its content. */
	assert_int_equal(out.end - out.begin, 512);
	memset(filled, 'f', sizeof(filled));
	view_out_put(&out, filled, 512 - 45);
	assert_int_equal(out.end - out.begin, 512);
	view_out_put(&out, filled, 1);
	assert_int_equal(out.end - out.begin, 1024);
	assert_memory_equal(out.begin, "-9223372036854775808", 20);
	assert_false(out.failed);
	assert_false(view_out_grow(&out, SIZE_MAX / 4 - 512));
	assert_true(out.failed);
	assert_int_equal(view_out_size(&out), 513);
	view_out_free(&out);
}

/* ---- times and sizes ---- */

#define SECOND INT64_C(1000000000)

static void test_times(void **unused)
{
	static const struct {
		const char *text;
		int kind; /* -1: refused */
		int64_t ns;
	} times[] = {{"12:34", VIEW_TIME_DAY, (12 * 60 + 34) * 60 * SECOND},
			{"12:34:56.789", VIEW_TIME_DAY,
					(12 * 3600 + 34 * 60 + 56) * SECOND + 789000000},
			{"00:00:60", VIEW_TIME_DAY, 60 * SECOND},
			{"23:59:59.123456789123", VIEW_TIME_DAY, 86399 * SECOND + 123456789},
			{"24:00", -1, 0}, {"23:60", -1, 0}, {"23:00:61", -1, 0}, {"1:00", -1, 0},
			{"12:34:56.", -1, 0}, {"12:34x", -1, 0}, {"12:3", -1, 0},
			{"12:34:5", -1, 0}, {"1970-01-02", VIEW_TIME_EPOCH, 86400 * SECOND},
			{"1970-01-01T00:00:01Z", VIEW_TIME_EPOCH, SECOND},
			{"2000-02-29 01:02:03.5", VIEW_TIME_EPOCH, 951786123 * SECOND + 500000000},
			{"2261-12-31", VIEW_TIME_EPOCH, INT64_C(9214560000) * SECOND},
			{"2262-01-01", -1, 0}, {"1969-12-31", -1, 0}, {"2000-00-01", -1, 0},
			{"2000-13-01", -1, 0}, {"2000-12-00", -1, 0}, {"2000-12-32", -1, 0},
			{"2000-12-31x", -1, 0}, {"2000-12-31Zx", -1, 0}, {"2000-1-01", -1, 0},
			{"2000/12-31", -1, 0}, {"2000-12/31", -1, 0}, {"2000-12-31T25:00", -1, 0},
			{"2000-12-01", VIEW_TIME_EPOCH, 975628800 * SECOND},
			{"2000-12-31", VIEW_TIME_EPOCH, 978220800 * SECOND},
			{"12", VIEW_TIME_EPOCH, 12 * SECOND},
			{"12.25", VIEW_TIME_EPOCH, 12 * SECOND + 250000000},
			{"9999999999999999", -1, 0}, /* 16 digits: seconds, too many */
			{"10000000000000000", VIEW_TIME_EPOCH, INT64_C(10000000000000000)},
			{"10000000000000000ns", VIEW_TIME_EPOCH, INT64_C(10000000000000000)},
			{"1000000000ns", VIEW_TIME_EPOCH, 1000000000},
			{"999999999ns", VIEW_TIME_SINCE, 999999999},
			{"9223372036854775807", VIEW_TIME_EPOCH, INT64_MAX},
			{"9223372036854775808", -1, 0},
			{"9223372035", VIEW_TIME_EPOCH, INT64_C(9223372035) * SECOND},
			{"9223372036", VIEW_TIME_EPOCH, INT64_C(9223372036) * SECOND},
			{"9223372037", -1, 0},
			{"9223372035.123456789", VIEW_TIME_EPOCH,
					INT64_C(9223372035) * SECOND + 123456789},
			{"9223372036.123456789", -1, 0}, {"+1.5", VIEW_TIME_SINCE, 1500000000},
			{"1.5s", VIEW_TIME_SINCE, 1500000000}, {"3ms", VIEW_TIME_SINCE, 3000000},
			{"-5s", VIEW_TIME_BEFORE_END, 5 * SECOND},
			{"-5", VIEW_TIME_BEFORE_END, 5 * SECOND}, {"-", -1, 0}, {"+", -1, 0},
			{"", -1, 0}, {"x", -1, 0}, {"5x", -1, 0}, {"1.", -1, 0},
			{"18446744073709551615ns", -1, 0}};

	(void)unused;
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct view_time time = {0};
		bool ok = view_time_parse(times[i].text, &time);

		if (ok != (times[i].kind >= 0) ||
				(ok && ((int)time.kind != times[i].kind || time.ns != times[i].ns)))
			fail_msg("%s: %d, kind %d, %" PRId64, times[i].text, ok, (int)time.kind,
					time.ns);
	}
}

static void test_time_ranges(void **unused)
{
	struct view_time from = {0}, to = {0};
	struct time_range range = {.from = NULL};
	struct error error;
	int64_t from_ns, to_ns;

	(void)unused;
	assert_false(view_times_is_set(&range));
	assert_int_equal(view_times_read(&range, &from, &to, &error), 0);
	view_times_resolve("/nothing", &from, &to, &from_ns, &to_ns);
	assert_true(from_ns == INT64_MIN && to_ns == INT64_MAX);
	range = (struct time_range){.to = "7"};
	assert_true(view_times_is_set(&range));
	assert_int_equal(view_times_read(&range, &from, &to, &error), 0);
	view_times_resolve("/nothing", &from, &to, &from_ns, &to_ns);
	assert_true(from_ns == INT64_MIN && to_ns == 7 * SECOND);
	from = to = (struct view_time){0};
	range = (struct time_range){.from = "5"};
	assert_true(view_times_is_set(&range));
	assert_int_equal(view_times_read(&range, &from, &to, &error), 0);
	view_times_resolve("/nothing", &from, &to, &from_ns, &to_ns);
	assert_true(from_ns == 5 * SECOND && to_ns == INT64_MAX);
	from = to = (struct view_time){0};
	range = (struct time_range){.last = "5s"};
	assert_true(view_times_is_set(&range));
	assert_int_equal(view_times_read(&range, &from, &to, &error), 0);
	assert_int_equal(from.kind, VIEW_TIME_BEFORE_END);
	assert_true(from.ns == 5 * SECOND);
	assert_int_equal(to.kind, VIEW_TIME_NONE);
	range.last = "9223372036854775807ns";
	assert_int_equal(view_times_read(&range, &from, &to, &error), 0);
	range.last = "9223372036854775808ns";
	catch_stderr();
	assert_int_equal(view_times_read(&range, &from, &to, &error), -EINVAL);
	assert_int_equal(message_library_error(&error), COMMAND_USAGE);
	assert_string_equal(caught(),
			"side: `--last 9223372036854775808ns` is not a duration\n"
			"hint: write a duration, such as 5s or 100ms\n");
	range = (struct time_range){.from = "1", .to = "x"};
	catch_stderr();
	assert_int_equal(view_times_read(&range, &from, &to, &error), -EINVAL);
	assert_int_equal(message_library_error(&error), COMMAND_USAGE);
	assert_string_equal(caught(),
			"side: `--to x` is not a time\n"
			"hint: write 12:34:56.789, 2026-01-31T12:34:56Z, seconds since 1970, +1.5 or -5s\n"
			"hint: `side help times` describes them\n");
}

static void test_sizes(void **unused)
{
	static const struct {
		const char *text;
		int ret;
		uint64_t value;
	} sizes[] = {{"0", 0, 0}, {"1", 0, 1}, {"1B", 0, 1}, {"3K", 0, 3072}, {"3k", 0, 3072},
			{"3KB", 0, 3072}, {"3KiB", 0, 3072}, {"2M", 0, 2 << 20}, {"1G", 0, 1 << 30},
			{"5T", 0, UINT64_C(5) << 40}, {"3KiBx", -EINVAL, 0}, {"3Kx", -EINVAL, 0},
			{"3x", -EINVAL, 0}, {"", -EINVAL, 0}, {"-1", -EINVAL, 0},
			{" 1", -EINVAL, 0}, {"3BB", -EINVAL, 0},
			{"18446744073709551615", 0, UINT64_MAX},
			{"18446744073709551616", -ERANGE, 0},
			{"18014398509481983K", 0, UINT64_C(18014398509481983) << 10},
			{"18014398509481984K", -ERANGE, 0},
			{"16777215T", 0, UINT64_C(16777215) << 40}, {"16777216T", -ERANGE, 0}},
	  times[] = {{"0", 0, 0}, {"1", 0, 1000000000}, {"1ns", 0, 1}, {"2us", 0, 2000},
			  {"3ms", 0, 3000000}, {"4s", 0, 4000000000},
			  {"5m", 0, UINT64_C(300000000000)}, {"5min", 0, UINT64_C(300000000000)},
			  {"2h", 0, UINT64_C(7200000000000)}, {"1.5s", 0, 1500000000},
			  {"1.", -EINVAL, 0}, {"1.s", -EINVAL, 0},
			  {"0.123456h", 0, UINT64_C(444441600000)}, {"0.1234567h", -EINVAL, 0},
			  {"1.5ns", 0, 1}, {"1d", -EINVAL, 0}, {"x", -EINVAL, 0}, {"", -EINVAL, 0},
			  {"18446744073709551615ns", 0, UINT64_MAX},
			  {"18446744073709551616ns", -ERANGE, 0},
			  {"18446744073", 0, UINT64_C(18446744073000000000)},
			  {"18446744074", -ERANGE, 0},
			  {"18446744073.709551", 0, UINT64_C(18446744073709551000)},
			  {"18446744073.709552", -ERANGE, 0},
			  {"5124095h", 0, UINT64_C(5124095) * 3600000000000},
			  {"5124096h", -ERANGE, 0}};
	uint64_t value;

	(void)unused;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		value = 0;
		if (units_parse_size(sizes[i].text, &value) != sizes[i].ret ||
				value != sizes[i].value)
			fail_msg("%s: %" PRIu64, sizes[i].text, value);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		value = 0;
		if (units_parse_time(times[i].text, &value) != times[i].ret ||
				value != times[i].value)
			fail_msg("%s: %" PRIu64, times[i].text, value);
	}
}

/* ---- texts ---- */

static void test_numbers(void **unused)
{
	static const struct {
		uint64_t number;
		const char *text, *size, *events;
	} numbers[] = {{0, "0", "0 bytes", "0 events"}, {1, "1", "1 byte", "1 event"},
			{2, "2", "2 bytes", "2 events"}, {999, "999", "999 bytes", "999 events"},
			{1000, "1,000", "1000 bytes", "1,000 events"},
			{1023, "1,023", "1023 bytes", "1,023 events"},
			{1024, "1,024", "1.0 KiB", "1,024 events"},
			{123456, "123,456", "120.6 KiB", "123,456 events"},
			{1234567, "1,234,567", "1.2 MiB", "1,234,567 events"},
			{1 << 30, "1,073,741,824", "1.0 GiB", "1,073,741,824 events"},
			{UINT64_C(1) << 50, "1,125,899,906,842,624", "1024.0 TiB",
					"1,125,899,906,842,624 events"},
			{UINT64_MAX, "18,446,744,073,709,551,615", "16777216.0 TiB",
					"18,446,744,073,709,551,615 events"}};
	char text[FORMAT_NUMBER_MAX];

	(void)unused;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_string_equal(format_number(numbers[i].number, text), numbers[i].text);
		assert_string_equal(format_size(numbers[i].number, text), numbers[i].size);
		assert_string_equal(format_events(numbers[i].number, text), numbers[i].events);
	}
}

static void test_quoted_and_printable(void **unused)
{
	static const char wild[] = "a\x1b\x7f\xc2\x9f\xc2\xa0\xff\n\"\\\xe2\x82\xac";
	char text[64], *json = NULL;
	size_t size;
	FILE *out;

	(void)unused;
	assert_string_equal(format_quoted("plain-_./,:@%+=9Z", text, sizeof(text)),
			"plain-_./,:@%+=9Z");
	assert_string_equal(format_quoted("", text, sizeof(text)), "''");
	assert_string_equal(format_quoted("a b", text, sizeof(text)), "'a b'");
	assert_string_equal(format_quoted("a'b*", text, sizeof(text)), "'a'\\''b*'");
	assert_string_equal(format_quoted("*bcdefgh", text, 10), "'*bc'");
	assert_string_equal(format_printable(wild, text, sizeof(text)),
			"a\\x1b\\x7f\\xc2\\x9f\xc2\xa0\\xff\\x0a\"\\\xe2\x82\xac");
	assert_string_equal(
			format_printable("\xe2\x80\xae", text, sizeof(text)), "\\xe2\\x80\\xae");
	assert_string_equal(format_printable("abcd", text, 5), "abcd");
	assert_string_equal(format_printable("abcd", text, 4), "abc");
	assert_string_equal(format_printable("a\n", text, 6), "a\\x0a");
	assert_string_equal(format_printable("a\n", text, 5), "a");
	out = open_memstream(&json, &size);
	print_json_string(out, wild);
	print_json_hint(out, "x");
	print_printable(out, "\x01\xc3\xbc");
	assert_true(text_stream_end(out, &json));
	assert_string_equal(json,
			"\"a\\u001b\\u007f\\u009f\xc2\xa0\\u00ff\\n\\\"\\\\\xe2\x82\xac\",\"hint\":\"x\",\"mend\":\"x\"\\x01\xc3\xbc");
	free(json);
}

static void test_messages(void **unused)
{
	const struct common_options json = {.json = true, .color = COLOR_NEVER},
				    quiet = {.quiet = true, .verbose = true, .color = COLOR_NEVER},
				    verbose = {.verbose = true, .color = COLOR_NEVER},
				    colored = {.color = COLOR_ALWAYS},
				    plain = {.color = COLOR_NEVER};

	(void)unused;
	output_start(&plain, "view");
	catch_stderr();
	assert_int_equal(
			message_error(COMMAND_USAGE, "one\ntwo", "%d is\nwrong", 7), COMMAND_USAGE);
	assert_int_equal(message_error_at(COMMAND_FAILED, "", "gr\xc3\xbcn == 1", 6, "no"),
			COMMAND_FAILED);
	message_error_at(COMMAND_FAILED, NULL, "abc", 9, "behind");
	message_error_at(COMMAND_FAILED, NULL, "abc", 0, "before");
	message_note_hint("do", "note %s", "it");
	message_detail("never");
	assert_string_equal(caught(),
			"side: 7 is\\x0awrong\nhint: one\nhint: two\n"
			"side: no\n  gr\xc3\xbcn == 1\n      ^\n"
			"side: behind\n  abc\n     ^\n"
			"side: before\n  abc\n  ^\n"
			"side: note it\nhint: do\n");
	assert_false(output_is_json() || output_is_silent());
	output_start(&json, "view");
	catch_stderr();
	message_error_at(COMMAND_NOT_PERMITTED, "h", "t", 4, "m");
	message_note("n");
	assert_string_equal(caught(),
			"{\"schema\":1,\"type\":\"error\",\"verb\":\"view\",\"status\":3,\"message\":\"m\",\"hint\":\"h\",\"mend\":\"h\",\"text\":\"t\",\"column\":4}\n"
			"{\"schema\":1,\"type\":\"note\",\"verb\":\"view\",\"message\":\"n\"}\n");
	assert_true(output_is_json());
	output_start(&quiet, NULL);
	catch_stderr();
	message_note("n");
	message_note_hint("h", "n");
	message_detail("d");
	message_error(COMMAND_FAILED, NULL, "e");
	assert_string_equal(caught(), "side: e\n");
	assert_true(output_is_silent());
	output_start(&verbose, NULL);
	catch_stderr();
	message_detail("d %d", 5);
	assert_string_equal(caught(), "side: d 5\n");
	output_start(&colored, NULL);
	catch_stderr();
	message_error(COMMAND_FAILED, "h", "e");
	message_note("n");
	assert_string_equal(caught(),
			"\033[1;31mside:\033[0m e\n\033[1mhint:\033[0m h\n\033[1mside:\033[0m n\n");
	assert_string_equal(message_label(true), "\033[1;31mside:\033[0m");
	assert_string_equal(message_label(false), "\033[1mside:\033[0m");
	output_start(&plain, NULL);
	assert_string_equal(message_label(true), "side:");
	assert_string_equal(message_label(false), "side:");
}

/* The text with the mark has 239 bytes at most. */
static void test_long_places(void **unused)
{
	char text[256], wanted[1024];

	(void)unused;
	memset(text, 'a', sizeof(text));
	text[239] = '\0';
	catch_stderr();
	message_error_at(COMMAND_FAILED, NULL, text, 1, "m");
	snprintf(wanted, sizeof(wanted), "side: m\n  %s\n  ^\n", text);
	assert_string_equal(caught(), wanted);
	text[239] = 'a';
	text[240] = '\0';
	catch_stderr();
	message_error_at(COMMAND_FAILED, NULL, text, 1, "m");
	assert_string_equal(caught(), "side: m\n");
}

/* ---- losses ---- */

static void test_losses(void **unused)
{
	struct lost_sums sums = {.verb = LOST_OF_SESSION, .ring_size = 3 << 20};
	char *json = NULL, names[40][8];
	size_t size;
	FILE *out;

	(void)unused;
	catch_stderr();
	lost_print(&sums);
	assert_string_equal(caught(), "");
	lost_add(&sums, "ring busy", 2);
	lost_add(&sums, SESSION_LOST_FULL, 40);
	lost_add(&sums, "ring busy", 3);
	lost_add(&sums, "a\x1b", 7);
	lost_end(&sums, 1052);
	assert_int_equal(sums.total, 1052);
	assert_int_equal(sums.nr, 4);
	catch_stderr();
	lost_print(&sums);
	assert_string_equal(caught(),
			"side: 1,052 events were lost:\n"
			"  1,000 for reasons that only the traces contain\n"
			"  40 while a ring was full\n"
			"  7 (a\\x1b)\n"
			"  5 because a ring was busy at each attempt\n"
			"hint: `side report --losses` shows them\n"
			"hint: use a channel with a larger `--buffer-size`, or select fewer events (it was 3.0 MiB)\n");
	out = open_memstream(&json, &size);
	sums.nr = 2;
	sums.verb = LOST_OF_RECOVER;
	lost_json(out, &sums);
	fclose(out);
	assert_string_equal(json,
			"[{\"reason\":\"in the traces only\",\"count\":1000,\"hint\":null,\"mend\":null},"
			"{\"reason\":\"ring full\",\"count\":40,\"hint\":null,\"mend\":null}]");
	free(json);
	/* One reason, one event. */
	sums = (struct lost_sums){.verb = LOST_OF_ATTACH};
	lost_add(&sums, SESSION_LOST_FULL, 1);
	lost_end(&sums, 1);
	assert_int_equal(sums.nr, 1);
	catch_stderr();
	lost_print(&sums);
	assert_string_equal(caught(),
			"side: 1 event was lost while a ring was full\n"
			"hint: use a larger `--buffer-size`\n");
	/* Each has a reason, and one more reason is reserved for the others. */
	sums = (struct lost_sums){.verb = LOST_OF_RECORD};
	for (size_t i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		lost_add(&sums, names[i], 100 + i);
		assert_int_equal(sums.nr, i < 31 ? i + 1 : 31);
	}
	lost_end(&sums, 5000);
	assert_int_equal(sums.nr, 32);
	assert_int_equal(sums.total, 5000);
	assert_string_equal(sums.reasons[0].reason, "in the traces only");
	assert_int_equal(sums.reasons[0].count, 5000 - (31 * 100 + 31 * 30 / 2));
	for (size_t i = 1; i < 32; i++)
		assert_int_equal(sums.reasons[i].count, 131 - i);
}

static void hint_of(enum lost_verb verb, const char *reason, const char *hint)
{
	struct lost_sums sums = {.verb = verb};
	char wanted[512];
	const char *printed, *line;

	lost_add(&sums, reason, 2);
	catch_stderr();
	lost_print(&sums);
	printed = caught();
	line = strchr(printed, '\n');
	assert_non_null(line);
	snprintf(wanted, sizeof(wanted), "%s%s%s", hint ? "hint: " : "", hint ? hint : "",
			hint ? "\n" : "");
	assert_string_equal(line + 1, wanted);
}

static void test_loss_hints(void **unused)
{
	(void)unused;
	hint_of(LOST_OF_RECORD, SESSION_LOST_FULL,
			"use a larger `--buffer-size`, or select fewer events with `-e`");
	hint_of(LOST_OF_TRACE, SESSION_LOST_FULL,
			"use a larger `--buffer-size`, or probe fewer locations");
	hint_of(LOST_OF_SESSION, SESSION_LOST_FULL,
			"use a channel with a larger `--buffer-size`, or select fewer events");
	hint_of(LOST_OF_RECOVER, SESSION_LOST_FULL, NULL);
	hint_of(LOST_OF_TRACE, SESSION_LOST_IN_VFORK,
			"use `side trace --global`: the kernel watches these processes, too");
	hint_of(LOST_OF_RECORD, SESSION_LOST_IN_VFORK, NULL);
	hint_of(LOST_OF_TRACE, "process in another one's memory",
			"use `side trace --global`: the kernel watches these processes, too");
	hint_of(LOST_OF_RECORD, "invalid arguments",
			"set `SIDE_VALIDATE=1` in the program's environment: it then reports the wrong call");
	hint_of(LOST_OF_RECORD, "strange", NULL);
}

static bool answer_has_option(const char *verb, const char *name, size_t length)
{
	for (const struct option *option = command_find_verb(verb)->options; option->name; option++)
		if (strlen(option->name) == length && !strncmp(option->name, name, length))
			return true;
	return false;
}

/* All verbs that answer have each option in a hint, except options in a command. */
static void check_answer_hint(const char *line)
{
	static const char *const verbs[] = {"leaks", "locks", "slow", "calls", "flame"};

	for (const char *at = line; (at = strstr(at, "`--")); at++)
		for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
			assert_true(answer_has_option(verbs[i], at + 3, strcspn(at + 3, "`")));
	assert_null(strstr(line, "`-e`"));
}

static void test_answer_hints(void **unused)
{
	static const char *const reasons[] = {SESSION_LOST_FULL, SESSION_LOST_TOO_BIG,
			SESSION_LOST_IN_VFORK, SESSION_LOST_IN_CHILD, SESSION_LOST_BY_KIND,
			SESSION_LOST_IN_KERNEL, "invalid arguments", "no ring memory", "no ring",
			SESSION_LOST_PROCESS, SESSION_LOST_RETURN_FULL, SESSION_LOST_RETURN_CALLER,
			SESSION_LOST_RETURN_COPIED};

	(void)unused;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		struct lost_sums sums = {.verb = LOST_OF_ANSWER};

		lost_add(&sums, reasons[i], 2);
		catch_stderr();
		lost_print(&sums);
		check_answer_hint(caught());
	}
	hint_of(LOST_OF_ANSWER, SESSION_LOST_FULL, "use a larger `--buffer-size`");
	hint_of(LOST_OF_ANSWER, SESSION_LOST_PROCESS,
			"use a smaller `--buffer-size`, so that more processes can be recorded at the same time");
}

static void test_loss_summary(void **unused)
{
	struct session_process processes[3] = {{.lost = 1, .ring_size = 4096},
			{.lost = 0, .ring_size = 1 << 20}, {.lost = 2, .ring_size = 8192}};
	struct session_loss losses[3] = {{.reason = "no buffer", .count = 5},
			{.reason = "bytes", .count = 600, .in_bytes = true},
			{.reason = "other", .count = 9}};
	struct session_summary summary = {.processes = processes,
			.nr_processes = 3,
			.losses = losses,
			.nr_losses = 3};
	struct lost_sums sums = {.verb = LOST_OF_RECORD};

	(void)unused;
	lost_add_summary(&sums, &summary, 14);
	assert_int_equal(sums.ring_size, 8192);
	assert_int_equal(sums.nr, 2);
	assert_int_equal(sums.total, 14);
	assert_string_equal(sums.reasons[0].reason, "other");
	assert_int_equal(sums.reasons[0].count, 9);
	assert_int_equal(sums.reasons[1].count, 5);
}

/* ---- hints ---- */

static void test_habits(void **unused)
{
	static const char *const known[] = {"calls", "tree", NULL};
	const struct verb *record = command_find_verb("record"), *view = command_find_verb("view");

	(void)unused;
	assert_string_equal(habits_hint(NULL, "start-daemon"), "`side daemon` starts the daemon");
	assert_string_equal(habits_hint(NULL, "add-trigger"),
			"`side create --snapshot-on WHAT` writes snapshots automatically");
	assert_null(habits_hint(NULL, "-p"));
	assert_null(habits_hint(record, "start-daemon"));
	assert_string_equal(habits_hint(record, "-p"),
			"use `side attach -p PID` for a running program");
	assert_null(habits_hint(view, "-p"));
	assert_string_equal(habits_hint(view, "-i"),
			"the trace is named without an option: `side view DIR`");
	assert_string_equal(habits_hint(command_find_verb("enable-event"), "--kernel"),
			"use `side record -k PATTERN` for kernel events");
	catch_stderr();
	assert_int_equal(command_unknown_word(view, "call", known, "other"), COMMAND_USAGE);
	assert_int_equal(command_unknown_word(view, "xyz", known, "other"), COMMAND_USAGE);
	assert_string_equal(caught(),
			"side: `side view` does not accept `call`\n"
			"hint: did you mean `side view calls`?\n"
			"side: `side view` does not accept `xyz`\nhint: other\n");
}

static void unmatched(const char *pattern, const char *const *names, size_t nr, const char *noun,
		const char *reason, const char *hint)
{
	char got_reason[UNMATCHED_TEXT_SIZE], got_hint[UNMATCHED_TEXT_SIZE];

	unmatched_explain(&(const struct unmatched){pattern, "-e ", names, nr, "the trace", noun},
			got_reason, got_hint);
	assert_string_equal(got_reason, reason);
	assert_string_equal(got_hint, hint);
}

static void test_unmatched(void **unused)
{
	static const char *const names[] = {"net:send", "db:open", "db:close", "db:open", "db:read",
			"db:write", "net:recv"};
	static const char *const two[] = {"a:tick", "b:tick"};

	(void)unused;
	unmatched("x:y", NULL, 0, "event class", "the trace has no event classes", "");
	unmatched("x:y", names, 1, "event class", "the trace has 1 event class: net:send", "");
	unmatched("x:y", names, 1, "event", "the trace has 1 event: net:send", "");
	unmatched("x:y", names, 2, "event", "the trace has 2 events: db:open, net:send", "");
	unmatched("x:y", names, 6, "event class",
			"the trace has 5 event classes: db:close, db:open, db:read, db:write, net:send",
			"");
	unmatched("x:y", names, 7, "event class",
			"the trace has 6 event classes: db:close, db:open, db:read, db:write, net:recv, ...",
			"");
	unmatched("db:opem", names, 3, "event class",
			"the trace has 3 event classes: db:close, db:open, net:send",
			"did you mean `-e db:open`?");
	unmatched("dbx:*", names, 3, "event class",
			"the trace has 3 event classes: db:close, db:open, net:send",
			"did you mean `-e 'db:*'`?");
	unmatched("!db:opem@err", names, 3, "event class",
			"the trace has 3 event classes: db:close, db:open, net:send",
			"did you mean `-e db:open`?");
	unmatched("db:open@err", names, 3, "event class",
			"no event of that name has that log level: the trace has 3 event classes: db:close, db:open, net:send",
			"");
	unmatched("nets", names, 3, "event class",
			"no colon, so it names a provider: the trace has 3 event classes: db:close, db:open, net:send",
			"did you mean `-e net`?");
	unmatched("open", names, 3, "event class",
			"no colon, so it names a provider: the trace has 3 event classes: db:close, db:open, net:send",
			"did you mean `-e db:open`?");
	unmatched("oppen", names, 3, "event class",
			"no colon, so it names a provider: the trace has 3 event classes: db:close, db:open, net:send",
			"did you mean `-e db:open`?");
	unmatched("tick", two, 2, "event class",
			"no colon, so it names a provider: the trace has 2 event classes: a:tick, b:tick",
			"did you mean `-e a:tick` or `-e b:tick`?");
}

static void test_missing(void **unused)
{
	struct missing missing = {.name = "prize"};
	char text[MISSING_TEXT_SIZE], hint[NEAREST_TEXT_SIZE];

	(void)unused;
	assert_true(missing_is_known(&missing));
	assert_string_equal(
			missing_text(&missing, text), "no event has `prize`: there is no field");
	nearest_begin(&missing.nearest, "prize");
	assert_null(missing_hint(&missing, hint));
	nearest_offer(&missing.nearest, "price");
	assert_string_equal(missing_hint(&missing, hint), "did you mean `price`?");
	strcpy(missing.fields, ", a, b,");
	missing.nr_fields = 8;
	assert_string_equal(missing_text(&missing, text), "no event has `prize`: there is a, b");
	missing.nr_fields = 9;
	assert_string_equal(
			missing_text(&missing, text), "no event has `prize`: there is a, b, ...");
	missing.is_bound = true;
	assert_false(missing_is_known(&missing));
	missing = (struct missing){.name = ""};
	assert_false(missing_is_known(&missing));
	strcpy(missing.name, "$ctx.vtid");
	assert_string_equal(missing_hint(&missing, hint), "record with `--context vtid`");
	strcpy(missing.name, "$ctx.vtidd");
	assert_string_equal(missing_hint(&missing, hint), "did you mean `$ctx.vtid`?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_percentiles),
			cmocka_unit_test(test_steps),
			cmocka_unit_test(test_powers),
			cmocka_unit_test(test_signed_and_real),
			cmocka_unit_test(test_keys),
			cmocka_unit_test(test_table),
			cmocka_unit_test(test_durations_and_rows),
			cmocka_unit_test(test_words),
			cmocka_unit_test(test_path_search),
			cmocka_unit_test(test_helper_words),
			cmocka_unit_test(test_address_kinds),
			cmocka_unit_test(test_digits),
			cmocka_unit_test(test_times),
			cmocka_unit_test(test_time_ranges),
			cmocka_unit_test(test_sizes),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_quoted_and_printable),
			cmocka_unit_test(test_messages),
			cmocka_unit_test(test_long_places),
			cmocka_unit_test(test_losses),
			cmocka_unit_test(test_loss_hints),
			cmocka_unit_test(test_answer_hints),
			cmocka_unit_test(test_loss_summary),
			cmocka_unit_test(test_habits),
			cmocka_unit_test(test_unmatched),
			cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
