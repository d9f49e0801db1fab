/* SPDX-License-Identifier: MIT */
/* Sizes and times with units, as users write them. */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int units_parse_size(const char *text, uint64_t *ret_size)
{
	static const char units[] = "KMGT";
	unsigned long long number;
	unsigned int shift = 0;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end) {
		const char *unit = strchr(units, toupper((unsigned char)*end));

		if (unit) {
			shift = 10 * (unsigned int)(unit - units + 1);
			end++;
			if (!strcmp(end, "iB") || !strcmp(end, "B"))
				end += strlen(end);
		} else if (!strcmp(end, "B")) {
			end++;
		}
		if (*end)
			return -EINVAL;
	}
	if (number > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_size = (uint64_t)number << shift;
	return 0;
}

static uint64_t units_find_time(const char *name)
{
	/* Those of timeout(1) and of perf. */
	static const struct {
		const char *name;
		uint64_t nanoseconds;
	} units[] = {{"", 1000000000}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000},
			{"m", UINT64_C(60000000000)}, {"min", UINT64_C(60000000000)},
			{"h", UINT64_C(3600000000000)}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(name, units[i].name))
			return units[i].nanoseconds;
	}
	return 0;
}

int units_parse_time(const char *text, uint64_t *ret_nanoseconds)
{
	uint64_t number, unit, part = 0, scale = 1;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end == '.') {
		/* Six digits: those of hours fit into the product, too. */
		for (end++; isdigit((unsigned char)*end) && scale < 1000000; end++) {
			part = part * 10 + (uint64_t)(*end - '0');
			scale *= 10;
		}
		if (scale == 1)
			return -EINVAL;
	}
	unit = units_find_time(end);
	if (!unit)
		return -EINVAL;
	part = part * unit / scale;
	if (number > (UINT64_MAX - part) / unit)
		return -ERANGE;
	*ret_nanoseconds = number * unit + part;
	return 0;
}
