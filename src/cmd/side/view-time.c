/* SPDX-License-Identifier: MIT */
/* Times on the command line. */
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "cmd/side/command.h"
#include "cmd/side/say.h"
#include "cmd/side/view-time.h"
#include "ctf/ctf.h"

#define SECOND INT64_C(1000000000)
#define SECONDS_MAX (INT64_MAX / SECOND - 1)

/* So many digits (0: any number of them), as a number; moves on. */
static bool read_number(const char **at, unsigned int digits, int64_t *number)
{
	unsigned int count = 0;

	for (*number = 0; isdigit((unsigned char)**at) && (!digits || count < digits); count++) {
		*number = *number * 10 + (*(*at)++ - '0');
		if (*number > SECONDS_MAX)
			return false;
	}
	return digits ? count == digits : count;
}

/* .789, if it stands there; what is finer than nanoseconds is left out. */
static bool read_fraction(const char **at, int64_t *ns)
{
	int64_t unit = SECOND / 10;

	*ns = 0;
	if (**at != '.')
		return true;
	if (!isdigit((unsigned char)*++*at))
		return false;
	for (; isdigit((unsigned char)**at); unit /= 10)
		*ns += unit * (*(*at)++ - '0');
	return true;
}

static bool read_clock(const char **at, int64_t *ns)
{
	int64_t hours, minutes, seconds = 0, fraction = 0;

	if (!read_number(at, 2, &hours) || *(*at)++ != ':' || !read_number(at, 2, &minutes))
		return false;
	if (**at == ':') {
		++*at;
		if (!read_number(at, 2, &seconds) || !read_fraction(at, &fraction))
			return false;
	}
	*ns = ((hours * 60 + minutes) * 60 + seconds) * SECOND + fraction;
	return hours < 24 && minutes < 60 && seconds <= 60;
}

static int64_t day_and_clock(struct tm *day, int64_t clock, bool utc)
{
	time_t seconds;

	day->tm_hour = (int)(clock / SECOND / 3600);
	day->tm_min = (int)(clock / SECOND / 60 % 60);
	day->tm_sec = (int)(clock / SECOND % 60);
	day->tm_isdst = -1;
	seconds = utc ? timegm(day) : mktime(day);
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	return (int64_t)seconds * SECOND + clock % SECOND;
}

static bool read_date(const char *at, int64_t *ns)
{
	int64_t year, month, day, clock = 0;
	struct tm date = {0};
	bool utc;

	if (!read_number(&at, 4, &year) || *at++ != '-' || !read_number(&at, 2, &month) ||
			*at++ != '-' || !read_number(&at, 2, &day) || month < 1 || month > 12 ||
			day < 1 || day > 31)
		return false;
	if ((*at == ' ' || *at == 'T') && (++at, !read_clock(&at, &clock)))
		return false;
	utc = *at == 'Z';
	if (at[utc] || year < 1970 || year > 2261)
		return false;
	date.tm_year = (int)year - 1900;
	date.tm_mon = (int)month - 1;
	date.tm_mday = (int)day;
	*ns = day_and_clock(&date, clock, utc);
	return true;
}

bool view_time_parse(const char *text, struct view_time *time)
{
	const char *at = text + (*text == '+');
	int64_t seconds, fraction;

	if (strchr(text, '-')) {
		time->kind = VIEW_TIME_EPOCH;
		return read_date(text, &time->ns);
	}
	if (strchr(text, ':')) {
		time->kind = VIEW_TIME_DAY;
		return read_clock(&text, &time->ns) && !*text;
	}
	time->kind = *text == '+' ? VIEW_TIME_SINCE : VIEW_TIME_EPOCH;
	if (!read_number(&at, 0, &seconds) || !read_fraction(&at, &fraction) || *at)
		return false;
	time->ns = seconds * SECOND + fraction;
	return true;
}

int64_t view_time_resolve(const struct view_time *time, int64_t begin)
{
	time_t seconds = (time_t)(begin / SECOND);
	struct tm day;
	int64_t ns;

	switch (time->kind) {
	case VIEW_TIME_SINCE: return __builtin_add_overflow(begin, time->ns, &ns) ? INT64_MAX : ns;
	case VIEW_TIME_DAY:
		if (!localtime_r(&seconds, &day))
			return time->ns;
		return day_and_clock(&day, time->ns, false);
	case VIEW_TIME_EPOCH:
	case VIEW_TIME_NONE: break;
	}
	return time->ns;
}

int view_time_read(const char *option, const char *text, struct view_time *time)
{
	if (!text || view_time_parse(text, time))
		return COMMAND_DONE;
	return say_error(COMMAND_USAGE,
			"write 12:34:56.789, 2026-01-31T12:34:56Z, seconds since 1970, or +1.5",
			"`--%s` is no time: %.128s", option, text);
}

/* When the first thing happened. A reader of its own looks: others begin at the front. */
static int64_t find_begin(const char *dir)
{
	struct ctf_reader *reader;
	struct ctf_error error;
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

void view_times_resolve(const char *dir, const struct view_time *from, const struct view_time *to,
		int64_t *from_ns, int64_t *to_ns)
{
	int64_t begin = 0;

	if (from->kind > VIEW_TIME_EPOCH || to->kind > VIEW_TIME_EPOCH)
		begin = find_begin(dir);
	*from_ns = from->kind ? view_time_resolve(from, begin) : INT64_MIN;
	*to_ns = to->kind ? view_time_resolve(to, begin) : INT64_MAX;
}
