/* SPDX-License-Identifier: MIT */
/* Files of the state are read whole, or not at all: signals, calls that move a part, and errors. */
#include <stdio.h>

int sided_main(int argc, char **argv);

#define main sided_main
#include "programs/sided/main.c"
#undef main

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/played-calls.h"
#include "../check.h"

#define TEXT "{\"started\":true,\"generation\":7}"
#define SIZE (sizeof(TEXT) - 1)

static char path[] = "/tmp/side-state-XXXXXX";

static bool is_whole(void)
{
	struct error error = {.code = 0};
	struct json_object *state = state_read(path, SIZE, &error);
	uint64_t generation = 0;
	bool is = state && !json_number(state, "generation", UINT64_MAX, &generation, &error) &&
			generation == 7;

	json_object_put(state);
	return is;
}

static void test_parts(void)
{
	CHECK(is_whole());
	played_interrupts = 2;
	CHECK(is_whole() && !played_interrupts);
	played_most = 5;
	CHECK(is_whole());
	played_reset();
}

static void test_failures(void)
{
	struct error error = {.code = 0};

	played_most = 5;
	played_before = 1;
	played_error = EIO;
	CHECK(!state_read(path, SIZE, &error) && error.code == -EIO &&
			!strcmp(error.text, "it cannot be read"));
	played_reset();
	CHECK(!state_read(path, SIZE - 1, &error) && error.code == -EINVAL);
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, TEXT, SIZE) == (ssize_t)SIZE && !close(fd));
	test_parts();
	test_failures();
	CHECK(!unlink(path));
	return 0;
}
