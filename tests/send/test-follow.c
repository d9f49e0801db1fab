/* SPDX-License-Identifier: MIT */
/* A sender returns the disk space of delivered data piece by piece, and leaves no file open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"
#include "send/follow.h"

#define ROUNDS 20
#define BLOCK 4096

static void test_given_back(void **unused)
{
	char folder[] = "/tmp/side-follow-XXXXXX", path[64], content[(ROUNDS + 2) * BLOCK];
	struct follow_stream stream = {.name = (char[]){"ring_0"}};
	struct follow_trace trace = {.path = folder, .streams = &stream};
	struct follow follow = {.traces = &trace};
	struct resources before;
	FILE *file;

	(void)unused;
	memset(content, 'x', sizeof(content));
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/ring_0", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(content, 1, sizeof(content), file), sizeof(content));
	assert_int_equal(fclose(file), 0);
	stream.trace = &trace;
	stream.there = sizeof(content);
	stream.delivered.offset = BLOCK;
	follow_free(&follow, 0);
	before = resources_now();
	for (unsigned int round = 0; round < ROUNDS; round++) {
		stream.delivered.offset += BLOCK;
		follow_free(&follow, 0);
	}
	assert_int_equal(resources_now().descriptors, before.descriptors);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_given_back)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
