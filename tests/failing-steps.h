/* SPDX-License-Identifier: MIT */
/*
 * Makes one of the calls of an included file fail. The test redirects the calls to these functions
 * by macros.
 */
#ifndef TESTS_FAILING_STEPS_H
#define TESTS_FAILING_STEPS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Call number `failing_at` fails, with the error that its function passes. */
static unsigned int failing_at, failing_seen;

static inline bool is_failing(int error)
{
	if (!failing_at || ++failing_seen != failing_at)
		return false;
	errno = error;
	return true;
}

/* signalfd() returns a descriptor of at least 100. */
static bool signals_are_high;

static inline int failing_signalfd(int fd, const sigset_t *set, int flags)
{
	int found = is_failing(ENODEV) ? -1 : signalfd(fd, set, flags), high;

	if (found < 0 || !signals_are_high)
		return found;
	high = fcntl(found, F_DUPFD_CLOEXEC, 100);
	close(found);
	return high;
}

#endif /* TESTS_FAILING_STEPS_H */
