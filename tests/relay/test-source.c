/* SPDX-License-Identifier: MIT */
/*
 * Sources of records: what is opened for each form of URL, and what is reported if it cannot be
 * read. The test includes the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "relay/send.h"
#include "relay/sink.h"

static int opened; /* the descriptor, or a negative errno */
static int raw;    /* of line_raw() */
static char calls[512];

static void note(const char *text)
{
	strcat(strcat(calls, text), "\n");
}

/* Returns a new descriptor, unless the test sets another result. */
static int result(void)
{
	int fd;

	errno = opened < 0 ? -opened : 0;
	if (opened)
		return opened < 0 ? -1 : opened;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static int play_open(const char *path, int flags)
{
	CHECK(flags == (O_RDONLY | O_CLOEXEC | O_NOCTTY));
	note(path);
	return result();
}

static int play_duplicate(int fd, int command, int least)
{
	CHECK(fd == 0 && command == F_DUPFD_CLOEXEC && least == 3);
	note("standard");
	return result();
}

static int play_connect(const char *host, const char *port, const struct timeout *timeout,
		struct error *error)
{
	CHECK(timeout->stop_fd == 77 && !timeout->stopped && !timeout->resolver);
	note(host);
	note(port);
	snprintf(error->text, sizeof(error->text), "no line");
	return opened < 0 ? opened : result();
}

static int play_raw(int fd, uint32_t speed)
{
	CHECK(fcntl(fd, F_GETFD) >= 0 && speed == 9600);
	note("raw");
	return raw;
}

#define open play_open
#define fcntl play_duplicate
#define line_connect play_connect
#define line_raw play_raw
#include "relay/source.c"
#undef open
#undef fcntl
#undef line_connect
#undef line_raw

/* Returns the result of send_source(). A descriptor is closed. */
static int take(const char *url, bool wanted_answers, const char *wanted_calls,
		const char *wanted_error)
{
	unsigned int before = resources_descriptors();
	struct error error = {.text = ""};
	bool answers = !wanted_answers;
	int fd;

	*calls = '\0';
	fd = send_source(url, 9600, 77, &answers, &error);
	if (strcmp(error.text, wanted_error) || strcmp(calls, wanted_calls))
		fprintf(stderr, "%s\n%s\n", error.text, calls);
	CHECK(answers == wanted_answers && !strcmp(calls, wanted_calls) &&
			!strcmp(error.text, wanted_error));
	if (fd >= 0)
		CHECK(!close(fd));
	CHECK(resources_descriptors() == before);
	return fd;
}

int main(void)
{
	int saved;

	CHECK(take("/a/file", false, "/a/file\nraw\n", "") > 2);
	CHECK(take("-", false, "standard\nraw\n", "") > 2);
	CHECK(take("tcp://there:4711", true, "there\n4711\nraw\n", "no line") > 2);
	CHECK(take("net://there/x", false, "",
			      "`net://there/x` is a relay daemon, from which viewers read: write tcp://HOST:PORT, a path, or `-`") ==
			-EINVAL);
	opened = -ENOENT;
	CHECK(take("/a/file", false, "/a/file\n",
			      "cannot read /a/file: No such file or directory") == -ENOENT);
	opened = -EMFILE;
	CHECK(take("-", false, "standard\n", "cannot read -: Too many open files") == -EMFILE);
	CHECK(take("tcp://there:4711", true, "there\n4711\n", "no line") == -EMFILE);
	opened = 0;
	raw = -EIO;
	CHECK(take("/a/file", false, "/a/file\nraw\n", "cannot read /a/file: Input/output error") ==
			-EIO);
	raw = -EINVAL;
	CHECK(take("/a/file", false, "/a/file\nraw\n",
			      "cannot read /a/file: this speed is not possible on a serial line") ==
			-EINVAL);
	raw = 0;
	/* Descriptor 0 is valid like any other. */
	saved = fcntl(0, F_DUPFD_CLOEXEC, 100);
	CHECK(saved >= 100 && !close(0));
	CHECK(take("/a/file", false, "/a/file\nraw\n", "") == 0);
	raw = -EIO;
	CHECK(take("/a/file", false, "/a/file\nraw\n", "cannot read /a/file: Input/output error") ==
			-EIO);
	CHECK(dup2(saved, 0) == 0 && !close(saved));
	return 0;
}
