/* SPDX-License-Identifier: MIT */
/*
 * If the name of a received trace exists already, a number is appended, from 2 to 999. Also how
 * often metadata is sent again, and how many packets wait for an answer. The test includes the
 * files and replaces directories.
 */
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
	/* Its parent exists. */
	if (!strcmp(path, "/out/host")) {
		errno = EEXIST;
		return -1;
	}
	CHECK(!strncmp(path, "/out/host/trace", 15));
	errno = try_error;
	return ++nr_tries == good_try ? 0 : -1;
}

#define mkdir played_mkdir
#include "relay/receive.c"
#undef mkdir
#include "relay/bytes.c"

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
	ret = relay_receive_make_directory(&receive, "host/trace", &directory, &is_renamed);
	CHECK(!ret == (directory != NULL));
	CHECK(!directory || (!strcmp(directory, expected) && is_renamed == (good > 1)));
	free(directory);
	return ret;
}

/* Metadata of `size` bytes is repeated after this many bytes of packets. */
static bool is_repeated(bool is_serial, uint64_t size, uint64_t packets)
{
	static struct byte_sink bytes;
	struct follow_trace trace = {
			.sent_metadata = size, .sent_maps = 7, .since_repeat = packets};

	bytes.serial = is_serial;
	relay_bytes_schedule_metadata(&bytes, &trace);
	CHECK(!trace.since_repeat == !trace.sent_metadata &&
			!trace.sent_maps == !trace.since_repeat);
	return !trace.since_repeat;
}

static void test_repeats(void)
{
	CHECK(is_repeated(false, 100, 256 << 10) && !is_repeated(false, 100, (256 << 10) - 1));
	CHECK(is_repeated(true, 100, 16 << 10) && !is_repeated(true, 100, (16 << 10) - 1));
	/* 16 times its size, if that is more. */
	CHECK(is_repeated(false, 16 << 10, 256 << 10) && !is_repeated(false, 16385, 256 << 10));
	CHECK(is_repeated(false, 16385, 16385 * 16) && !is_repeated(false, 16385, 16385 * 16 - 1));
	CHECK(is_repeated(true, 1025, 1025 * 16) && !is_repeated(true, 1025, 1025 * 16 - 1));
}

/* 1024 packets wait for an answer. With one more, the first counts as delivered. */
static void test_window(void)
{
	static struct byte_sink bytes = {.sink.url.kind = URL_TCP};
	struct follow_stream first = {.at.offset = 11}, others = {.at.offset = 22};

	relay_bytes_on_advanced(&bytes.sink, &first);
	for (unsigned int i = 1; i < 1024; i++)
		relay_bytes_on_advanced(&bytes.sink, &others);
	CHECK(bytes.count == 1024 && !bytes.head && !first.delivered.offset);
	relay_bytes_on_advanced(&bytes.sink, &others);
	CHECK(bytes.count == 1024 && bytes.head == 1 && first.delivered.offset == 11 &&
			!others.delivered.offset);
	relay_bytes_on_advanced(&bytes.sink, &others);
	CHECK(others.delivered.offset == 22 && bytes.head == 2);
}

int main(void)
{
	test_repeats();
	test_window();
	CHECK(!make(1, "host/trace") && nr_tries == 1);
	CHECK(!make(2, "host/trace-2") && nr_tries == 2);
	CHECK(!make(999, "host/trace-999") && nr_tries == 999);
	CHECK(make(1000, "") == -EEXIST && nr_tries == 999);
	try_error = ENOSPC;
	CHECK(make(0, "") == -ENOSPC && nr_tries == 1);
	return 0;
}
