/* SPDX-License-Identifier: MIT */
/* Confine the process to the files of one command, as far as the kernel and this build support it. */
#include "confine.h"

#include "isolate/isolate.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool is_enabled, is_confined;

void confine_enable(void)
{
	is_enabled = true;
}

static void confine_to(const struct isolate_limits *limits)
{
	if (!is_enabled || is_confined)
		return;
	is_confined = true;
	/* The time zone is a file that cannot be opened later. */
	tzset();
	/* Without a filter the parsers run as they are: a reader of traces must work on all kernels. */
	(void)isolate_parser(limits);
}

void confine(const char *input, const char *output)
{
	const struct isolate_limits limits = {
			.readable = &input,
			.nr_readable = 1,
			.writable = &output,
			.nr_writable = output ? 1 : 0,
	};

	confine_to(&limits);
}

void confine_output(const char *output)
{
	confine("/", output);
}

void confine_sender(const char *input, const char *written, const char *url)
{
	const char *writable[2];
	struct isolate_limits limits = {.readable = &input,
			.nr_readable = 1,
			.writable = writable,
			.connects = true};

	if (written)
		writable[limits.nr_writable++] = written;
	/* A device may be attached later, or again. */
	if (!strncmp(url, "/dev/", 5))
		writable[limits.nr_writable++] = "/dev";
	else if (!strstr(url, "://") && strcmp(url, "-") != 0)
		writable[limits.nr_writable++] = url;
	confine_to(&limits);
}
