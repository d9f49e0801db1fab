/* SPDX-License-Identifier: MIT */
/* The texts of view_format_render(), compared with those of printf(), and what it refuses. */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "analysis/view-format.h"

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static struct view_out out;

static bool render(const char *format, const struct view_format_argument *arguments, uint32_t count)
{
	out.at = out.begin;
	if (!view_format_render(&out, format, strlen(format), arguments, count)) {
		CHECK(out.at == out.begin);
		return false;
	}
	view_out_char(&out, '\0');
	return true;
}

static struct view_format_argument integer(int64_t number, bool is_signed, uint8_t bits)
{
	return (struct view_format_argument){
			.type = is_signed ? VIEW_FORMAT_SIGNED : VIEW_FORMAT_UNSIGNED,
			.bits = bits,
			.number = (uint64_t)number};
}

static struct view_format_argument real(double number)
{
	return (struct view_format_argument){.type = VIEW_FORMAT_REAL, .real = number};
}

static struct view_format_argument text(const char *value)
{
	return (struct view_format_argument){
			.type = VIEW_FORMAT_TEXT, .text = value, .size = strlen(value)};
}

/* A conversion with each combination of flags, widths and precisions. */
static void check_all(
		const char *letter, const struct view_format_argument *argument, bool has_precision)
{
	static const char *const flags[] = {
			"", "-", "+", " ", "#", "0", "-0", "+0", " #", "+#0", "-+ #0", "'"};
	static const char *const widths[] = {"", "1", "7", "30"};
	static const char *const precisions[] = {"", ".", ".0", ".3", ".20"};
	char format[64], wanted[512];

	for (unsigned int f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
		for (unsigned int w = 0; w < 4; w++) {
			for (unsigned int p = 0; p < (has_precision ? 5 : 1); p++) {
				snprintf(format, sizeof(format), "<%%%s%s%s%s>", flags[f],
						widths[w], precisions[p], letter);
				if (argument->type == VIEW_FORMAT_REAL)
					snprintf(wanted, sizeof(wanted), format, argument->real);
				else if (argument->type == VIEW_FORMAT_TEXT)
					snprintf(wanted, sizeof(wanted), format, argument->text);
				else if (strchr(letter, 'l') || strchr(letter, 'z') ||
						strchr(letter, 'j'))
					snprintf(wanted, sizeof(wanted), format,
							(long)argument->number);
				else
					snprintf(wanted, sizeof(wanted), format,
							(int)argument->number);
				CHECK(render(format, argument, 1));
				if (strcmp(out.begin, wanted) != 0) {
					fprintf(stderr, "%s: %s, not %s\n", format, out.begin,
							wanted);
					CHECK(false);
				}
			}
		}
	}
}

static void check_integers(void)
{
	static const char *const words[] = {"d", "i", "u", "o", "x", "X"};
	static const char *const longs[] = {"ld", "lli", "zu", "jo", "lx", "llX"};
	static const int64_t numbers[] = {0, 1, 9, 10, 255, 4711, INT32_MAX};
	static const int64_t long_numbers[] = {0, 7, INT64_C(1) << 40, INT64_MAX};
	struct view_format_argument argument;

	for (unsigned int i = 0; i < 6; i++) {
		for (unsigned int n = 0; n < 7; n++) {
			argument = integer(numbers[n], n & 1, 32);
			check_all(words[i], &argument, true);
		}
		for (unsigned int n = 0; n < 4; n++) {
			argument = integer(long_numbers[n], n & 1, 64);
			check_all(longs[i], &argument, true);
		}
	}
	argument = integer(-1, true, 32);
	check_all("d", &argument, true);
	check_all("x", &argument, true);
	check_all("o", &argument, true);
	argument = integer(INT32_MIN, true, 32);
	check_all("d", &argument, true);
	argument = integer(INT64_MIN, true, 64);
	check_all("ld", &argument, true);
	check_all("lx", &argument, true);
	argument = integer(-1, false, 64);
	check_all("lu", &argument, true);
	argument = integer('q', true, 8);
	check_all("c", &argument, false);
}

static void check_others(void)
{
	static const char *const reals[] = {"f", "F", "e", "E", "g", "G", "a", "A", "lf"};
	static const double numbers[] = {0, -0.0, 1, -1.5, 1e300, -1e-300, 123456.789, 0.1};
	struct view_format_argument argument;

	for (unsigned int i = 0; i < 9; i++) {
		for (unsigned int n = 0; n < 8; n++) {
			argument = real(numbers[n]);
			check_all(reals[i], &argument, true);
		}
		argument = real(__builtin_inf());
		check_all(reals[i], &argument, true);
		argument = real(-__builtin_nan(""));
		check_all(reals[i], &argument, true);
	}
	argument = text("");
	check_all("s", &argument, true);
	argument = text("some text");
	check_all("s", &argument, true);
	argument = integer(0x7f0012345678, false, 64);
	CHECK(render("%p|", &argument, 1) && strcmp(out.begin, "0x7f0012345678|") == 0);
	argument = integer(0, false, 64);
	CHECK(render("%8p|", &argument, 1) && strcmp(out.begin, "   (nil)|") == 0);
}

static void check_sentences(void)
{
	const struct view_format_argument arguments[] = {
			text("bob"), integer(12, true, 32), real(2.5)};

	CHECK(render("user %s took %d ms", arguments, 2));
	CHECK(strcmp(out.begin, "user bob took 12 ms") == 0);
	CHECK(render("%s:%d %% %.1f", arguments, 3));
	CHECK(strcmp(out.begin, "bob:12 % 2.5") == 0);
	CHECK(render("no arguments", NULL, 0) && strcmp(out.begin, "no arguments") == 0);
	CHECK(render("", NULL, 0) && !*out.begin);
	/* Too few, too many, and of other types. */
	CHECK(!render("%s %d", arguments, 1));
	CHECK(!render("%s", arguments, 2));
	CHECK(!render("%d %s", arguments, 2));
	CHECK(!render("%s %f", arguments, 2));
	CHECK(!render("%s %p", arguments, 2));
	CHECK(!render("text", arguments, 1));
}

static void check_refused(void)
{
	static const char *const formats[] = {"%n", "%hhn", "%*d", "%.*d", "%1$d", "%m", "%", "%l",
			"%5", "%.", "% ", "%ls", "%lc", "%C", "%S", "%Ld", "%y", "%-", "%513d",
			"%.65d", "%99999999999999999999d", "%I64d"};
	struct view_format_argument argument = integer(1, true, 32);

	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		CHECK(!render(formats[i], &argument, 1));
	CHECK(!view_format_render(&out, "%d\0%", 4, &argument, 1));
	/* Values that the conversion cannot have. */
	argument = integer(INT64_C(1) << 32, true, 64);
	CHECK(!render("%d", &argument, 1) && !render("%x", &argument, 1) &&
			render("%ld", &argument, 1));
	argument = integer(INT64_C(1) << 31, false, 32);
	CHECK(!render("%d", &argument, 1) && render("%u", &argument, 1));
	argument = integer(-1, true, 32);
	CHECK(!render("%u", &argument, 1) && render("%x", &argument, 1) &&
			!render("%hhx", &argument, 1));
	argument = integer(-1, false, 64);
	CHECK(!render("%ld", &argument, 1) && render("%lu", &argument, 1));
	argument = integer(128, true, 32);
	CHECK(!render("%hhd", &argument, 1) && render("%hd", &argument, 1));
	argument = integer(256, true, 32);
	CHECK(!render("%c", &argument, 1));
	argument = integer(0, true, 32);
	CHECK(!render("%c", &argument, 1));
	argument = real(1);
	CHECK(!render("%.65f", &argument, 1) && render("%.64f", &argument, 1));
}

static void check_limits(void)
{
	struct view_format_argument arguments[VIEW_FORMAT_ARGUMENTS_MAX + 1];
	static char format[VIEW_FORMAT_SIZE_MAX + 2], large[VIEW_FORMAT_TEXT_MAX + 1];
	char most[3 * (VIEW_FORMAT_ARGUMENTS_MAX + 1) + 1] = "";

	for (unsigned int i = 0; i <= VIEW_FORMAT_ARGUMENTS_MAX; i++)
		arguments[i] = integer(7, true, 32);
	for (unsigned int i = 0; i < VIEW_FORMAT_ARGUMENTS_MAX; i++)
		strcat(most, "%d");
	CHECK(render(most, arguments, VIEW_FORMAT_ARGUMENTS_MAX));
	CHECK(strlen(out.begin) == VIEW_FORMAT_ARGUMENTS_MAX);
	strcat(most, "%d");
	CHECK(!render(most, arguments, VIEW_FORMAT_ARGUMENTS_MAX + 1));
	memset(format, 'x', VIEW_FORMAT_SIZE_MAX);
	CHECK(render(format, NULL, 0) && strlen(out.begin) == VIEW_FORMAT_SIZE_MAX);
	format[VIEW_FORMAT_SIZE_MAX] = 'x';
	CHECK(!render(format, NULL, 0));
	memset(large, 'y', VIEW_FORMAT_TEXT_MAX);
	arguments[0] = text(large);
	CHECK(render("%s", arguments, 1) && strlen(out.begin) == VIEW_FORMAT_TEXT_MAX);
	CHECK(!render(" %s", arguments, 1));
	arguments[0] = integer(7, true, 32);
	CHECK(render("%512d", arguments, 1) && strlen(out.begin) == VIEW_FORMAT_WIDTH_MAX);
	CHECK(render("%.64d", arguments, 1) && strlen(out.begin) == VIEW_FORMAT_PRECISION_MAX);
	CHECK(!render("%513d", arguments, 1) && !render("%.65d", arguments, 1));
}

int main(void)
{
	check_integers();
	check_others();
	check_sentences();
	check_refused();
	check_limits();
	view_out_free(&out);
	return 0;
}
