/* SPDX-License-Identifier: MIT */
/*
 * Metadata of both formats with each field class: each allocation of the arena fails once, and the
 * error is lack of memory.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "ctf/read/stream.h"
#include "ctf/type.h"
#include "scratch.h"

FAILING_DECLARE(void *, ctf_arena_alloc, struct ctf_arena *arena, size_t count, size_t size);

void *__wrap_ctf_arena_alloc(struct ctf_arena *arena, size_t count, size_t size)
{
	if (!failing_is_due("ctf_arena_alloc", ENOMEM))
		return __real_ctf_arena_alloc(arena, count, size);
	ctf_arena_fail(arena);
	return NULL;
}

static char scratch[64];
static int scratch_fd;

static int parse(unsigned int failing_number, struct error *error)
{
	struct ctf_trace_classes *classes;
	int ret;

	error->text[0] = '\0';
	failing_arm(failing_number);
	ret = ctf_metadata_read(scratch_fd, scratch, &classes, error);
	ctf_metadata_free(classes);
	return ret;
}

/* The location in one of the files does not exist, which is an error at the end. */
static void test_file(void **state)
{
	size_t size;
	unsigned char *text = scratch_read("/", *state, &size);
	unsigned int calls = 0;
	struct error error;
	int good;

	scratch_write(scratch, "metadata", text, size);
	free(text);
	good = parse(0, &error);
	for (bool failed = true; failed;) {
		int ret = parse(++calls, &error);

		failed = failing_has_failed();
		if (failed && !strcmp(failing_name, "fstat")) {
			assert_int_equal(ret, -EIO);
		} else {
			assert_true(ret == (failed ? -ENOMEM : good) || (ret && ret == good));
			assert_int_equal(!!strstr(error.text, "emory"), ret == -ENOMEM);
		}
	}
	assert_true(calls > 500);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_file, argv[1]),
			cmocka_unit_test_prestate(test_file, argv[2]),
	};
	int ret;

	if (argc != 3 || CTF_HOST_BIG_ENDIAN)
		return argc == 3 ? 77 : 1;
	scratch_make(scratch);
	scratch_fd = open(scratch, O_RDONLY | O_DIRECTORY);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	close(scratch_fd);
	scratch_delete(scratch);
	return ret;
}
