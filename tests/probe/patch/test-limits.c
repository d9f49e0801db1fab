/* SPDX-License-Identifier: MIT */
/*
 * Limits of probed programs: mappings, and calls whose returns are watched. The files are included;
 * the mappings are played.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
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

/* Words of memory that exists only in this test; all others are 0. */
static struct planted {
	uint64_t at, word;
} planted[64];
static unsigned int nr_planted;

static long played_system_call(long number, long a, long b, long c, long d, long e, long f)
{
	const struct iovec *local = (const struct iovec *)b, *remote = (const struct iovec *)d;
	uint64_t from;

	if (number == SYS_getpid)
		return 77;
	CHECK(number == SYS_process_vm_readv && a == 77 && c == 1 && e == 1 && !f);
	CHECK(local->iov_len == remote->iov_len && local->iov_len <= 4096 * 8);
	from = (uint64_t)(uintptr_t)remote->iov_base;
	memset(local->iov_base, 0, local->iov_len);
	for (unsigned int i = 0; i < nr_planted; i++)
		if (planted[i].at >= from && planted[i].at < from + local->iov_len)
			memcpy((char *)local->iov_base + (planted[i].at - from), &planted[i].word,
					8);
	return (long)local->iov_len;
}

#include "probe/patch/gates.c"
#define fopen played_fopen
#define patch_system_call played_system_call
#include "probe/patch/quiescence.c"
#undef patch_system_call
#undef fopen

/* Only writable mappings count. If there are more than the table has, no check can succeed. */
static void test_mappings(void)
{
	const size_t size = (MAPPINGS_MAX + 1) * sizeof(*mappings);

	CHECK(MAPPINGS_MAX == 65536);
	mappings = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mappings != MAP_FAILED);
	nr_lines = 65535;
	CHECK(quiescence_read_mappings() && nr_mappings == 65535);
	CHECK(quiescence_end_of_mapping(65535 * UINT64_C(0x3000)) ==
			65535 * UINT64_C(0x3000) + 0x1000);
	for (nr_lines = 65536; nr_lines <= 65537; nr_lines++)
		CHECK(!quiescence_read_mappings() && nr_mappings == 65536 && !mappings[65536].end);
	nr_lines = 0;
	CHECK(!quiescence_read_mappings() && !nr_mappings);
	munmap(mappings, size);
}

/* ---- stacks ---- */

static bool is_seven(uint64_t address)
{
	return address == 0x7777;
}

static void plant(uint64_t at, uint64_t word)
{
	planted[nr_planted++] = (struct planted){at, word};
}

/* A signal frame on a stack: the stack pointer, the program counter, flags and segments. */
static void plant_frame(uint64_t at, uint64_t stack_pointer, uint64_t program_counter)
{
	plant(at - 24, stack_pointer);
	plant(at - 16, program_counter);
	plant(at, segments);
}

static bool clear(uint64_t bytes, bool frames_only)
{
	struct stacks stacks = {.bytes_left = bytes, .frames_only = frames_only};

	return quiescence_is_clear(&stacks, 0x100000);
}

/* A stack is read in parts of 4096 words, up to a limit of bytes. */
static void test_stacks(void)
{
	struct quiescence_mapping all[9];
	const uint64_t part = 4096 * 8;

	mappings = all;
	nr_mappings = 1;
	is_there = is_seven;
	segments = 0x2b000000000033;
	CHECK(ASLEEP_MAX == 256 << 20 && STOPPED_MAX == 4 << 20 && STACKS_MAX == 8);
	all[0] = (struct quiescence_mapping){.start = 0x100000 - 64, .end = 0x100000 + 3 * part};
	CHECK(clear(3 * part, false) && !clear(3 * part - 1, false));
	all[0].end += 8;
	CHECK(!clear(3 * part, false) && clear(3 * part + 8, false));
	CHECK(!quiescence_is_clear(&(struct stacks){.bytes_left = part}, all[0].end));
	/* An address in the last word; words below the stack pointer do not count. */
	nr_planted = 0;
	plant(0x100000 - 8, 0x7777);
	CHECK(clear(4 * part, false));
	plant(all[0].end - 8, 0x7777);
	CHECK(!clear(4 * part, false) && clear(4 * part, true));
	/* A frame across the end of a part. */
	nr_planted = 0;
	plant_frame(0x100000 + part, 0x100000, 0x1234);
	CHECK(clear(4 * part, true));
	planted[1].word = 0x7777;
	CHECK(!clear(4 * part, true));
	planted[1].word = 0x1234;
	planted[0].word = 0x900000;
	CHECK(!clear(4 * part, true));
	nr_planted = 0;
	plant_frame(0x100000 + part + 8, 0x100000, 0x7777);
	CHECK(!clear(4 * part, true));
	nr_planted = 0;
	plant_frame(0x100000 + part + 16, 0x900000, 0x1234);
	CHECK(!clear(4 * part, true));
	/* Each stack leads to the next one. All of them share the limit of bytes. */
	for (unsigned int nr = 8; nr <= 9; nr++) {
		nr_planted = 0;
		for (unsigned int i = 0; i < nr; i++) {
			all[i] = (struct quiescence_mapping){.start = 0x100000 + i * 0x10000,
					.end = 0x100100 + i * 0x10000};
			if (i + 1 < nr)
				plant_frame(all[i].start + 64, all[i].start + 0x10000, 0x1234);
		}
		nr_mappings = nr;
		CHECK(clear(8 * 0x100, true) == (nr == 8) && !clear(8 * 0x100 - 1, true));
	}
	mappings = NULL;
	nr_mappings = nr_planted = 0;
}

/* 1,048,576 returns, or the initial number if address space is limited. */
static void test_returns(void)
{
	struct rlimit limit = {1u << 30, 1u << 30};
	int status;
	pid_t pid;

	CHECK(patch_gates_wanted() == 1048576);
	patch_gates_reserve_table();
	CHECK(max_gates == 1048576);
	/* The last gate is in the memory of gates, and leads to the common code. */
	CHECK(patch_gates_grow(max_gates - RETURNS_GROW, RETURNS_GROW));
	CHECK(gates + (size_t)max_gates * RETURN_BYTES == patch_gates + GATES_BYTES);
	CHECK(*(gates + (size_t)(max_gates - 1) * RETURN_BYTES) == 0xff);
	pid = fork();
	if (!pid)
		_exit(setrlimit(RLIMIT_AS, &limit) || patch_gates_wanted() != 131072);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
}

int main(void)
{
	test_mappings();
	test_stacks();
	test_returns();
	return 0;
}
