/* SPDX-License-Identifier: MIT */
/* Begin and end times, as users write them. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/units.h"
#include "analysis/view-time.h"
#include "ctf/ctf.h"

#define SECOND INT64_C(1000000000)
#define SECONDS_MAX (INT64_MAX / SECOND - 1)

/* Reads this many digits (0: any number) as a number, and moves `at` behind them. */
static bool view_time_read_number(const char **at, unsigned int digits, int64_t *ret_number)
{
	unsigned int count = 0;

	for (*ret_number = 0; isdigit((unsigned char)**at) && (!digits || count < digits);
			count++) {
		*ret_number = *ret_number * 10 + (*(*at)++ - '0');
		if (*ret_number > SECONDS_MAX)
			return false;
	}
	return digits ? count == digits : count;
}

/* Reads a fraction such as .789 if there is one. Digits beyond nanoseconds are ignored. */
static bool read_fraction(const char **at, int64_t *ret_ns)
{
	int64_t unit = SECOND / 10;

	*ret_ns = 0;
	if (**at != '.')
		return true;
	if (!isdigit((unsigned char)*++*at))
		return false;
	for (; isdigit((unsigned char)**at); unit /= 10)
		*ret_ns += unit * (*(*at)++ - '0');
	return true;
}

static bool view_time_read_clock(const char **at, int64_t *ret_ns)
{
	int64_t hours, minutes, seconds = 0, fraction = 0;

	if (!view_time_read_number(at, 2, &hours) || *(*at)++ != ':' ||
			!view_time_read_number(at, 2, &minutes))
		return false;
	if (**at == ':') {
		++*at;
		if (!view_time_read_number(at, 2, &seconds) || !read_fraction(at, &fraction))
			return false;
	}
	*ret_ns = ((hours * 60 + minutes) * 60 + seconds) * SECOND + fraction;
	return hours < 24 && minutes < 60 && seconds <= 60;
}

static int64_t day_and_clock(struct tm *day, int64_t clock, bool utc)
{
	day->tm_hour = (int)(clock / SECOND / 3600);
	day->tm_min = (int)(clock / SECOND / 60 % 60);
	day->tm_sec = (int)(clock / SECOND % 60);
	day->tm_isdst = -1;
	/* The last year that read_date() accepts does not overflow. */
	return (int64_t)(utc ? timegm(day) : mktime(day)) * SECOND + clock % SECOND;
}

static bool read_date(const char *at, int64_t *ret_ns)
{
	int64_t year, month, day, clock = 0;
	struct tm date = {0};
	bool utc;

	if (!view_time_read_number(&at, 4, &year) || *at++ != '-' ||
			!view_time_read_number(&at, 2, &month) || *at++ != '-' ||
			!view_time_read_number(&at, 2, &day) || month < 1 || month > 12 ||
			day < 1 || day > 31)
		return false;
	if ((*at == ' ' || *at == 'T') && (++at, !view_time_read_clock(&at, &clock)))
		return false;
	utc = *at == 'Z';
	if (at[utc] || year < 1970 || year > 2261)
		return false;
	date.tm_year = (int)year - 1900;
	date.tm_mon = (int)month - 1;
	date.tm_mday = (int)day;
	*ret_ns = day_and_clock(&date, clock, utc);
	return true;
}

/* A number of seconds, or one with a unit. */
static bool read_duration(const char *text, int64_t *ret_ns)
{
	const char *at = text;
	int64_t seconds, fraction;
	uint64_t duration;

	if (view_time_read_number(&at, 0, &seconds) && read_fraction(&at, &fraction) && !*at) {
		*ret_ns = seconds * SECOND + fraction;
		return true;
	}
	if (units_parse_time(text, &duration) || duration > INT64_MAX)
		return false;
	*ret_ns = (int64_t)duration;
	return true;
}

/* Nanoseconds since 1970 have at least 17 digits from 1973 on; seconds never have. */
#define NANOSECOND_DIGITS 17
/* Before "ns", a smaller number is a duration. */
#define EPOCH_DIGITS 10

static bool read_nanoseconds(const char *text, int64_t *ret_ns)
{
	const size_t digits = strspn(text, "0123456789");
	const bool unit = !strcmp(text + digits, "ns");

	if (digits < (unit ? EPOCH_DIGITS : NANOSECOND_DIGITS) || (text[digits] && !unit))
		return false;
	errno = 0;
	*ret_ns = strtoll(text, NULL, 10);
	return !errno;
}

bool view_time_parse(const char *text, struct view_time *ret_time)
{
	if (*text == '-') {
		ret_time->kind = VIEW_TIME_BEFORE_END;
		return read_duration(text + 1, &ret_time->ns);
	}
	if (strchr(text, '-')) {
		ret_time->kind = VIEW_TIME_EPOCH;
		return read_date(text, &ret_time->ns);
	}
	if (strchr(text, ':')) {
		ret_time->kind = VIEW_TIME_DAY;
		return view_time_read_clock(&text, &ret_time->ns) && !*text;
	}
	ret_time->kind = VIEW_TIME_EPOCH;
	if (read_nanoseconds(text, &ret_time->ns))
		return true;
	/* A number alone is a date. With a sign or a unit it is relative. */
	if (*text == '+' || (*text && !isdigit((unsigned char)text[strlen(text) - 1])))
		ret_time->kind = VIEW_TIME_SINCE;
	return read_duration(text + (*text == '+'), &ret_time->ns);
}

static int64_t view_time_resolve(const struct view_time *time, int64_t begin, int64_t end)
{
	time_t seconds = (time_t)(begin / SECOND);
	struct tm day;
	int64_t ns;

	switch (time->kind) {
	case VIEW_TIME_SINCE: return __builtin_add_overflow(begin, time->ns, &ns) ? INT64_MAX : ns;
	case VIEW_TIME_BEFORE_END:
		return __builtin_sub_overflow(end, time->ns, &ns) ? INT64_MIN : ns;
	case VIEW_TIME_DAY:
		if (!localtime_r(&seconds, &day))
			return time->ns;
		return day_and_clock(&day, time->ns, false);
	case VIEW_TIME_EPOCH:
	case VIEW_TIME_NONE: break;
	}
	return time->ns;
}

static int view_time_read(const char *option, const char *text, struct view_time *ret_time,
		struct error *error)
{
	if (!text || view_time_parse(text, ret_time))
		return 0;
	return error_set_kind(error, ERROR_USAGE, -EINVAL,
			"write 12:34:56.789, 2026-01-31T12:34:56Z, seconds since 1970, +1.5 or -5s\n`side help times` describes them",
			"`--%s %.128s` is not a time", option, text);
}

bool view_times_is_set(const struct time_range *times)
{
	return times->from || times->to || times->last;
}

int view_times_read(const struct time_range *times, struct view_time *ret_from,
		struct view_time *ret_to, struct error *error)
{
	uint64_t duration;
	int ret;

	if (times->last && (times->from || times->to))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, "leave one of them out",
				"`--last` and `--%s` contradict each other",
				times->from ? "from" : "to");
	if (times->last) {
		if (units_parse_time(times->last, &duration) || duration > INT64_MAX)
			return error_set_kind(error, ERROR_USAGE, -EINVAL,
					"write a duration, such as 5s or 100ms",
					"`--last %.128s` is not a duration", times->last);
		*ret_from = (struct view_time){VIEW_TIME_BEFORE_END, (int64_t)duration};
		return 0;
	}
	ret = view_time_read("from", times->from, ret_from, error);
	return ret ? ret : view_time_read("to", times->to, ret_to, error);
}

/* ---- the ends of a trace ---- */

/*
 * The time of the first event. It needs a reader of its own, because other readers start at the
 * first packet in the interval.
 */
static int64_t find_begin(const char *dir)
{
	struct ctf_reader *reader;
	struct error error;
	struct ctf_item item;
	int64_t ns = 0;

	if (ctf_reader_open(dir, &reader, &error))
		return 0;
	while (ctf_reader_next(reader, &item) > 0) {
		if (item.timed && item.kind == CTF_ITEM_EVENT) {
			ns = item.ns;
			break;
		}
	}
	ctf_reader_close(reader);
	return ns;
}

/*
 * The time of the last event in packets that end at `from_ns` or later. INT64_MIN if there is none.
 * *ret_begin is the latest begin of a skipped packet.
 */
static int64_t find_last_event(const char *dir, int64_t from_ns, int64_t *ret_begin)
{
	int64_t last = INT64_MIN;
	struct ctf_reader *reader;
	struct error error;
	struct ctf_item item;

	if (ctf_reader_open(dir, &reader, &error))
		return last;
	ctf_reader_set_times(reader, from_ns, INT64_MAX);
	while (ctf_reader_next(reader, &item) > 0) {
		if (item.timed && item.kind == CTF_ITEM_EVENT && item.ns > last)
			last = item.ns;
	}
	*ret_begin = ctf_reader_skipped_begin(reader);
	ctf_reader_close(reader);
	return last;
}

/* The time of the last event. It reads the headers of all packets, and then the last packets. */
static int64_t find_end(const char *dir)
{
	int64_t begin = INT64_MIN, ignored, last = find_last_event(dir, INT64_MAX, &begin), end;

	if (begin == INT64_MIN)
		return last;
	end = find_last_event(dir, begin, &ignored);
	/* The packet with the latest begin has no event. The last event is in an earlier packet. */
	if (end < begin)
		end = find_last_event(dir, INT64_MIN, &ignored);
	return end > last ? end : last;
}

void view_times_resolve(const char *dir, const struct view_time *from, const struct view_time *to,
		int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	int64_t begin = 0, end = 0;

	if (from->kind == VIEW_TIME_BEFORE_END || to->kind == VIEW_TIME_BEFORE_END)
		end = find_end(dir);
	if (from->kind > VIEW_TIME_BEFORE_END || to->kind > VIEW_TIME_BEFORE_END)
		begin = find_begin(dir);
	*ret_from_ns = from->kind ? view_time_resolve(from, begin, end) : INT64_MIN;
	*ret_to_ns = to->kind ? view_time_resolve(to, begin, end) : INT64_MAX;
}
