/* SPDX-License-Identifier: MIT */
/* Progress line of long operations on the terminal. */
#include "base/clock.h"
#include "base/format.h"
#include "progress.h"

#include "command.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define FIRST_MS 1000
#define BETWEEN_MS 100
#define LINE_MAX_BYTES 200
#define CALLS_PER_CHECK 4096

static struct {
	int fd; /* the terminal, even while a pager replaces standard error; valid if is_on */
	bool is_on;
	bool is_shown;
	uint64_t next_ms;
	unsigned int calls;
} progress;

void progress_start(const struct common_options *common)
{
	const char *terminal = getenv("TERM");

	if (common->quiet || common->json || common->no_progress || !isatty(STDERR_FILENO) ||
			(terminal && !strcmp(terminal, "dumb")))
		return;
	progress.fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	progress.is_on = progress.fd >= 0;
	progress.next_ms = clock_monotonic_ms() + FIRST_MS;
}

/*
 * True if another program, such as an editor, draws on the terminal: it has switched line editing
 * or echo off.
 */
static bool progress_is_drawn_on(void)
{
	struct termios modes;

	return tcgetattr(progress.fd, &modes) || !(modes.c_lflag & ICANON) ||
			!(modes.c_lflag & ECHO);
}

bool progress_is_due(void)
{
	return progress.is_on && clock_monotonic_ms() >= progress.next_ms;
}

bool progress_is_due_often(void)
{
	return progress.is_on && ++progress.calls % CALLS_PER_CHECK == 0 && progress_is_due();
}

void progress_show(const char *format, ...)
{
	char line[LINE_MAX_BYTES], clean[4 * LINE_MAX_BYTES], whole[sizeof(clean) + 32];
	va_list arguments;
	int size;

	if (!progress.is_on)
		return;
	progress.next_ms = clock_monotonic_ms() + BETWEEN_MS;
	if (progress_is_drawn_on())
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	/*
	 * The cursor stays at the beginning of the line, so that output of a traced program
	 * replaces the line.
	 */
	/* Other users may have chosen file names in the text, so control characters are escaped. */
	size = snprintf(whole, sizeof(whole), "\r%s\033[K\r",
			format_printable(line, clean, sizeof(clean)));
	progress.is_shown = true;
	(void)!write(progress.fd, whole, (size_t)size);
}

void progress_clear(void)
{
	static const char clear[] = "\r\033[K";

	if (progress.is_shown)
		(void)!write(progress.fd, clear, sizeof(clear) - 1);
	progress.is_shown = false;
}

void progress_end(void)
{
	progress_clear();
	if (progress.is_on)
		close(progress.fd);
	progress.is_on = false;
}
