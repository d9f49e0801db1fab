/* SPDX-License-Identifier: MIT */
/*
 * Files of tracefs are read and written completely, or not at all: signals, short reads and writes,
 * and lack of memory.
 */
#include "kernel-events/parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/played-calls.h"
#include "../check.h"

static char path[] = "/tmp/side-tracefs-XXXXXX", bytes[20001];

static void expect_whole(void)
{
	char *text = NULL;

	CHECK(tracefs_read(path, &text) == (ssize_t)strlen(bytes) && !strcmp(text, bytes));
	free(text);
}

static void test_parts(void)
{
	played_interrupts = 2;
	CHECK(!tracefs_write(path, bytes));
	expect_whole();
	played_interrupts = 2;
	expect_whole();
	played_most = 3000;
	CHECK(!truncate(path, 0) && !tracefs_write(path, bytes));
	expect_whole();
	played_reset();
	played_most = 0;
	CHECK(tracefs_write(path, bytes) == -EIO);
	played_reset();
}

static void test_failures(void)
{
	char *text = path;

	/* Memory for no byte, or for some of them. */
	for (unsigned int nr = 0; nr < 3; nr++) {
		played_allocations = nr;
		CHECK(tracefs_read(path, &text) == -ENOMEM && !text);
	}
	played_allocations = -1u;
	played_most = 3000;
	played_before = 1;
	played_error = EIO;
	CHECK(tracefs_read(path, &text) == -EIO && !text);
	played_before = 1;
	CHECK(tracefs_write(path, bytes) == -EIO);
	played_reset();
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0 && !close(fd));
	memset(bytes, 'a', sizeof(bytes) - 1);
	test_parts();
	test_failures();
	CHECK(!unlink(path));
	return 0;
}
