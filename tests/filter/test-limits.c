/* SPDX-License-Identifier: MIT */
/*
 * The limit of moves through a description, which the test reaches without a description. It
 * includes the file.
 */
#include "filter/link-path.c"

#include <string.h>

#include "../check.h"

static void test_moves(void)
{
	static struct filter_move memory[2];
	struct filter_linker linker = {.memory = (unsigned char *)memory,
			.capacity = sizeof(memory),
			.nr_moves = 8191};
	struct filter_path_step cursor = {.linker = &linker};

	CHECK(FILTER_MOVES_MAX == 8192);
	put_simple(&cursor, (enum filter_move_code)7, 9);
	CHECK(!linker.failed && linker.nr_moves == 8192 && memory[0].code == 7 &&
			memory[0].label == 9);
	put_simple(&cursor, (enum filter_move_code)7, 9);
	CHECK(linker.failed == -E2BIG && !memory[1].code);
	/* The first failure stays. */
	linker.failed = -ENOSPC;
	put_simple(&cursor, (enum filter_move_code)7, 9);
	CHECK(linker.failed == -ENOSPC);
}

int main(void)
{
	test_moves();
	return 0;
}
