/* SPDX-License-Identifier: MIT */
/* Limits of files with code: the last permitted value, and one more. The files are included; memory is played. */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/code/parts.h"

#include "../../check.h"

static size_t asked;

static void *played_malloc(size_t size)
{
	asked = size;
	return NULL;
}

#define malloc played_malloc
#include "probe/code/beside.c"
#undef malloc
#include "probe/code/file.c"
#include "probe/code/x86-64-choices.c"

/* A file of 2 GiB, whose only segment has so many bytes of code. */
static int read_code(uint64_t size, struct code_error *error)
{
	static struct {
		Elf64_Ehdr header;
		Elf64_Phdr program[2];
	} head;
	static char path[] = "/x";
	struct code_file file = {.path = path, .bytes = (uint8_t *)&head, .size = 2u << 30};
	int ret;

	head.header = (Elf64_Ehdr){.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_phoff = offsetof(__typeof__(head), program)};
	head.program[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_X,
			.p_filesz = size - 4096,
			.p_memsz = size - 4096};
	head.program[1] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_X | PF_R,
			.p_vaddr = 2u << 30,
			.p_filesz = 4096,
			.p_memsz = 4096};
	ret = read_segments(&file, &head.header, error);
	CHECK(file.nr_segments == 2 && file.segments[0].size == size - 4096);
	free(file.segments);
	return ret;
}

static void test_code(void)
{
	struct code_error error = {.text = ""};

	CHECK(CODE_BYTES_MAX == 1u << 30 && !read_code(1u << 30, &error));
	CHECK(read_code((1u << 30) + 1, &error) == -EFBIG &&
			!strcmp(error.text, "/x claims to have more code than bytes"));
}

static void test_table(void)
{
	CHECK(TABLE_BYTES_MAX == 512u << 20);
	CHECK(!read_part(-1, 0, 512u << 20) && asked == 512u << 20);
	asked = 0;
	CHECK(!read_part(-1, 0, (512u << 20) + 1) && !asked);
	CHECK(!read_part(-1, 0, 0) && !asked);
	/* Offsets that the kernel takes. */
	CHECK(!read_part(-1, INT64_MAX - 7, 7) && asked == 7);
	CHECK(!read_part(-1, INT64_MAX - 7, 8) && asked == 7);
}

/* The 33rd implementation is not kept; one that is known is kept once. */
static void test_choices(void)
{
	uint64_t choices[33] = {0};
	size_t count = 0;

	for (uint64_t i = 1; i <= 33; i++) {
		add_choice(choices, 32, &count, i << 12);
		add_choice(choices, 32, &count, i << 12);
		CHECK(count == (i <= 32 ? i : 32));
	}
	CHECK(choices[31] == 32 << 12 && !choices[32]);
}

int main(void)
{
	test_code();
	test_table();
	test_choices();
	return 0;
}
