/* SPDX-License-Identifier: MIT */
/* Names of received traces that are taken: a number is appended, from 2 to 999. The file is included; directories are played. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../check.h"

static unsigned int nr_tries, good_try;
static int try_error = EEXIST;

static int played_mkdir(const char *path, mode_t mode)
{
	(void)mode;
	/* Its parent is there. */
	if (!strcmp(path, "/out/host")) {
		errno = EEXIST;
		return -1;
	}
	CHECK(!strncmp(path, "/out/host/trace", 15));
	errno = try_error;
	return ++nr_tries == good_try ? 0 : -1;
}

#define mkdir played_mkdir
#include "send/receive.c"
#undef mkdir

static char output[] = "/out";

static int make(unsigned int good, const char *expected)
{
	static struct receive receive;
	bool is_renamed = false;
	char *directory = NULL;
	int ret;

	receive.output = output;
	nr_tries = 0;
	good_try = good;
	ret = make_directory(&receive, "host/trace", &directory, &is_renamed);
	CHECK(!ret == (directory != NULL));
	CHECK(!directory || (!strcmp(directory, expected) && is_renamed == (good > 1)));
	free(directory);
	return ret;
}

int main(void)
{
	CHECK(!make(1, "host/trace") && nr_tries == 1);
	CHECK(!make(2, "host/trace-2") && nr_tries == 2);
	CHECK(!make(999, "host/trace-999") && nr_tries == 999);
	CHECK(make(1000, "") == -EEXIST && nr_tries == 999);
	try_error = ENOSPC;
	CHECK(make(0, "") == -ENOSPC && nr_tries == 1);
	return 0;
}
