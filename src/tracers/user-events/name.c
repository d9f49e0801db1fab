/* SPDX-License-Identifier: MIT */
/* Makes names that tools accept; the kernel itself accepts any bytes. */
#include <string.h>

#include "tracers/user-events/user-events.h"

static bool user_events_name_is_plain(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
			(byte >= '0' && byte <= '9') || byte == '_';
}

void name_append(char *to, size_t capacity, const char *name)
{
	size_t at = strlen(to);

	for (; *name && at + 1 < capacity; name++)
		to[at++] = user_events_name_is_plain((unsigned char)*name) ? *name : '_';
	to[at] = '\0';
}
