/* SPDX-License-Identifier: MIT */
/*
 * Limits of an attach: arguments, paths and mappings. The test includes the files and provides the
 * mappings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>

#include "../check.h"
#include "attach/parts.h"

static struct inject_report the_report;
static unsigned int nr_lines;

static int played_open(struct inject_target *target, const struct inject_request *request)
{
	(void)request;
	target->pid = getpid();
	target->report = &the_report;
	return 0;
}

static FILE *played_fopen(const char *path, const char *mode)
{
	FILE *file = tmpfile();

	CHECK(file && !strcmp(path, "/proc/77/maps") && !strcmp(mode, "re"));
	for (unsigned int i = 1; i <= nr_lines; i++)
		CHECK(fprintf(file, "%x-%x rw-p 0 00:00 7 /file%u\n", i * 0x3000,
				      i * 0x3000 + 0x1000, i) > 0);
	rewind(file);
	return file;
}

static size_t asked; /* for memory */

static void *played_malloc(size_t size)
{
	asked = size;
	return NULL;
}

static bool played_pc(Dwfl_Frame *state, Dwarf_Addr *pc, bool *interrupted)
{
	CHECK(!state);
	*pc = 0x1000;
	*interrupted = false;
	return true;
}

#define malloc played_malloc
#include "attach/elf.c"
#undef malloc
#define dwfl_frame_pc played_pc
#include "attach/safe.c"
#undef dwfl_frame_pc
#define inject_target_open played_open
#include "attach/inject.c"
#undef inject_target_open
#define fopen played_fopen
#include "attach/target.c"
#undef fopen

/* Whether texts of these sizes are accepted. The next step fails: the target has no mappings. */
static bool is_accepted(size_t argument, size_t agent)
{
	static char texts[2][4096];
	struct inject_request request = {.pid = getpid(), .agent = texts[0], .argument = texts[1]};
	struct injection injection = {.request = &request, .lock = -1};

	memset(texts, 0, sizeof(texts));
	memset(texts[0], 'a', agent);
	memset(texts[1], 'a', argument);
	the_report.text[0] = 0;
	CHECK(attach_inject_run(&injection) < 0 && *the_report.text);
	if (injection.lock >= 0)
		close(injection.lock);
	return !strstr(the_report.text, ": a path is too long");
}

static void test_texts(void)
{
	CHECK(INJECT_ARGUMENT_MAX == 2048 && AGENT_PATH_MAX == 1500);
	CHECK(is_accepted(2047, 1500) && !is_accepted(2048, 1) && !is_accepted(1, 1501));
}

static void test_mappings(void)
{
	struct inject_target target = {.pid = 77};

	CHECK(MAPPINGS_MAX == 65536);
	for (nr_lines = 65535; nr_lines <= 65537; nr_lines++) {
		unsigned int nr = nr_lines < 65536 ? nr_lines : 65536;
		char path[32];

		CHECK(!inject_maps_read(&target) && target.nr_mappings == nr);
		(void)snprintf(path, sizeof(path), "/file%u", nr);
		CHECK(!strcmp(target.mappings[nr - 1].path, path));
	}
	nr_lines = 0;
	CHECK(inject_maps_read(&target) == -ESRCH && !target.nr_mappings);
	inject_maps_free(&target);
}

/* A table of 64 MiB, which this test does not read. */
static void test_tables(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, 200 << 20) && TABLE_MAX == 64 << 20);
	CHECK(!attach_elf_read_part(fd, 5, 64 << 20) && asked == (64 << 20) + 1);
	asked = 0;
	CHECK(!attach_elf_read_part(fd, 5, (64 << 20) + 1) && !attach_elf_read_part(fd, 5, 0) &&
			!asked);
	/* It ends with the file. */
	CHECK(!attach_elf_read_part(fd, (200 << 20) - 7, 7) && asked == 8);
	asked = 0;
	CHECK(!attach_elf_read_part(fd, (200 << 20) - 7, 8) &&
			!attach_elf_read_part(fd, (200 << 20) + 1, 7) && !asked);
	close(fd);
	CHECK(!attach_elf_read_part(fd, 0, 7) && !asked);
}

/* 128 frames of a stack, of which 64 KiB are copied. */
static void test_frames(void)
{
	static struct inject_safe safe;
	static unsigned char stack[80 << 10];
	const uint64_t end = (uint64_t)(uintptr_t)stack + sizeof(stack);
	struct inject_mapping mapping = {.begin = (uint64_t)(uintptr_t)stack, .end = end};
	struct inject_target target = {.mappings = &mapping,
			.nr_mappings = 1,
			.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)};
	struct user_regs_struct registers = {.rip = 0};

	safe.until = UINT64_MAX;
	for (unsigned int i = 1; i <= 129; i++) {
		CHECK(attach_safe_add_frame(NULL, &safe) ==
				(i <= 128 ? DWARF_CB_OK : DWARF_CB_ABORT));
		CHECK(safe.nr_frames == (i <= 128 ? i : 128));
	}
	/* The call is before the address to which it returns. */
	CHECK(safe.frames[127].pc == 0xfff);
	safe.nr_frames = 0;
	safe.until = 0;
	CHECK(attach_safe_add_frame(NULL, &safe) == DWARF_CB_ABORT);
	CHECK(target.memory >= 0);
	safe.target = &target;
	safe.registers = &registers;
	for (size_t size = (64 << 10) - 1; size <= (64 << 10) + 1; size++) {
		registers.rsp = end - size;
		memset(stack, 0, sizeof(stack));
		stack[sizeof(stack) - size] = 5;
		attach_safe_copy_stack(&safe);
		CHECK(safe.stack_at == end - size && safe.stack[0] == 5);
		CHECK(safe.stack_size == (size < 64 << 10 ? size : 64 << 10));
	}
	/* The mapping is unknown. */
	target.nr_mappings = 0;
	attach_safe_copy_stack(&safe);
	CHECK(safe.stack_size == INJECT_PAGE);
	close(target.memory);
}

int main(void)
{
	test_texts();
	test_mappings();
	test_tables();
	test_frames();
	return 0;
}
