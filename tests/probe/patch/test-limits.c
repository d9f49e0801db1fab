/* SPDX-License-Identifier: MIT */
/* Limits of probed programs: mappings, and calls whose returns are watched. The files are included; the mappings are played. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../check.h"

static unsigned int nr_lines;

static FILE *played_fopen(const char *path, const char *mode)
{
	FILE *file = tmpfile();

	CHECK(file && !strcmp(path, "/proc/self/maps") && !strcmp(mode, "re"));
	for (unsigned int i = 1; i <= nr_lines; i++) {
		CHECK(fprintf(file, "%x-%x rw-p 0 00:00 7\n", i * 0x3000, i * 0x3000 + 0x1000) > 0);
		CHECK(fprintf(file, "%x-%x r-xp 0 00:00 7\n", i * 0x3000 + 0x1000,
				      i * 0x3000 + 0x2000) > 0);
	}
	rewind(file);
	return file;
}

#include "probe/patch/gates.c"
#define fopen played_fopen
#include "probe/patch/passed.c"
#undef fopen

/* Only mappings that can be written to count. If there are more than the table has, no check can succeed. */
static void test_mappings(void)
{
	const size_t size = (MAPPINGS_MAX + 1) * sizeof(*mappings);

	CHECK(MAPPINGS_MAX == 65536);
	mappings = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mappings != MAP_FAILED);
	nr_lines = 65535;
	CHECK(read_mappings() && nr_mappings == 65535);
	CHECK(end_of_mapping(65535 * UINT64_C(0x3000)) == 65535 * UINT64_C(0x3000) + 0x1000);
	for (nr_lines = 65536; nr_lines <= 65537; nr_lines++)
		CHECK(!read_mappings() && nr_mappings == 65536 && !mappings[65536].end);
	nr_lines = 0;
	CHECK(!read_mappings() && !nr_mappings);
	munmap(mappings, size);
}

/* 1,048,576 returns, or as many as there are at first if address space is limited. */
static void test_returns(void)
{
	struct rlimit limit = {1u << 30, 1u << 30};
	int status;
	pid_t pid;

	CHECK(most_wanted() == 1048576);
	reserve_table();
	CHECK(most == 1048576);
	/* The last gate is in the memory of gates, and leads to the common code. */
	CHECK(patch_gates_grow(most - RETURNS_GROW, RETURNS_GROW));
	CHECK(gates + (size_t)most * RETURN_BYTES == patch_gates + GATES_BYTES);
	CHECK(*(gates + (size_t)(most - 1) * RETURN_BYTES) == 0xff);
	pid = fork();
	if (!pid)
		_exit(setrlimit(RLIMIT_AS, &limit) || most_wanted() != 131072);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
}

int main(void)
{
	test_mappings();
	test_returns();
	return 0;
}
