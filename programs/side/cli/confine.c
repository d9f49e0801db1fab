/* SPDX-License-Identifier: MIT */
/*
 * Confines the process to the files of one command, as far as the kernel and this
 * build support it.
 */
#include "confine.h"

#include "isolate/isolate.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool is_enabled, is_confined;

void confine_enable(void)
{
	is_enabled = true;
}

/*
 * Confines the process once, unless confinement is off. Returns false if the kernel supports no
 * system call filter; the caller may then parse unconfined, because a reader of traces must work on
 * all kernels.
 */
static bool confine_to(const struct isolate_limits *limits)
{
	if (!is_enabled || is_confined)
		return true;
	is_confined = true;
	/* Read the time zone now, because its file cannot be opened later. */
	tzset();
	return isolate_parser(limits);
}

void confine(const char *input, const char *output)
{
	const struct isolate_limits limits = {
			.readable = &input,
			.nr_readable = 1,
			.writable = &output,
			.nr_writable = output ? 1 : 0,
	};

	(void)confine_to(&limits);
}

void confine_readers(const char *first, const char *second)
{
	const char *const readable[] = {first, second};
	const struct isolate_limits limits = {
			.readable = readable,
			.nr_readable = second ? 2 : 1,
	};

	(void)confine_to(&limits);
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
			.connects = true,
			.terminals = true};

	if (written)
		writable[limits.nr_writable++] = written;
	/* A device may be attached after the start, or be attached again. */
	if (!strncmp(url, "/dev/", 5))
		writable[limits.nr_writable++] = "/dev";
	else if (!strstr(url, "://") && strcmp(url, "-") != 0)
		writable[limits.nr_writable++] = url;
	(void)confine_to(&limits);
}

bool confine_receiver(const char *output)
{
	const struct isolate_limits limits = {
			.writable = &output,
			.nr_writable = 1,
			.accepts = true,
	};

	return confine_to(&limits);
}

/* If the trace does not exist yet, permit reads below the nearest existing directory. */
static void confine_find_existing(const char *path, char above[PATH_MAX])
{
	char *slash;

	snprintf(above, PATH_MAX, "%s", path);
	while (access(above, F_OK) && (slash = strrchr(above, '/')))
		slash[slash == above] = '\0';
}

void confine_watcher(const char *first, const char *second)
{
	char above[2][PATH_MAX];
	const char *const readable[] = {above[0], above[1]};
	const struct isolate_limits limits = {
			.readable = readable,
			.nr_readable = second ? 2 : 1,
			.terminals = true,
	};

	confine_find_existing(first, above[0]);
	if (second)
		confine_find_existing(second, above[1]);
	(void)confine_to(&limits);
}
