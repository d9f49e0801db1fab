/* SPDX-License-Identifier: MIT */
/*
 * Generates functions that allocate memory, and names them in jit-PID.dump: dumped HOW DIRECTORY.
 *
 * HOW is one of these:
 *   file                      a valid file
 *   v8                        addresses of lines as node writes them
 *   map                       maps the file as code, and waits for a line on standard input
 *   link, pipe, old, foreign  a file that must not be read
 *   magic, clock, short       a header that is not accepted
 *   hostile, lengths          unusual names and sizes
 *   large, too-large          a file at the limit of the size, and one beyond the limit
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION_SIZE 64

static bool uses_malloc;
static uint8_t *code;
static int bias;

void *dumped_called(size_t size);

__attribute__((noinline)) void *dumped_called(size_t size)
{
	__asm__ volatile("");
	return malloc(size);
}

/* sub $8, %rsp; mov $SIZE, %edi; movabs $TARGET, %rax; call *%rax; add $8, %rsp; ret */
static void generate(uint8_t *at, uint32_t size)
{
	static const uint8_t bytes[] = {0x48, 0x83, 0xec, 0x08, 0xbf, 0, 0, 0, 0, 0x48, 0xb8, 0, 0,
			0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
	uint64_t target = uses_malloc ? (uintptr_t)malloc : (uintptr_t)dumped_called;

	if (mprotect(code, 4096, PROT_READ | PROT_WRITE))
		exit(3);
	memcpy(at, bytes, sizeof(bytes));
	memcpy(at + 5, &size, 4);
	memcpy(at + 11, &target, 8);
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC))
		exit(3);
}

static void call(const uint8_t *at)
{
	uintptr_t address = (uintptr_t)at;
	void *(*function)(void);

	memcpy(&function, &address, sizeof(function));
	free(function());
}

/* ---- the file ---- */

static FILE *out;

static void put_number(uint64_t number, size_t size)
{
	fwrite(&number, size, 1, out);
}

static uint64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void put_header(uint32_t magic, uint64_t flags)
{
	const uint32_t words[] = {magic, 1, 40, EM_X86_64, 0, (uint32_t)getpid()};

	fwrite(words, sizeof(words), 1, out);
	put_number(monotonic(), 8);
	put_number(flags, 8);
}

static void put_record(uint32_t id, size_t size)
{
	put_number(id, 4);
	put_number(size + 16, 4);
	put_number(monotonic(), 8);
}

static void put_entry(const uint8_t *at, unsigned int line, const char *file)
{
	put_number((uintptr_t)at + (unsigned int)bias, 8);
	put_number(line, 4);
	put_number(0, 4);
	fwrite(file, strlen(file) + 1, 1, out);
}

/* Two lines: one for the first bytes, one from the call on. */
static void put_lines(const uint8_t *at, unsigned int line, const char *file)
{
	put_record(2, 16 + 2 * 16 + strlen(file) + 1 + 2);
	put_number((uintptr_t)at, 8);
	put_number(2, 8);
	put_entry(at, line, file);
	put_entry(at + 9, line + 1, "\xff");
}

static void put_load(const uint8_t *at, uint64_t size, uint64_t index, const char *name)
{
	put_record(0, 40 + strlen(name) + 1 + FUNCTION_SIZE);
	put_number((uint32_t)getpid(), 4);
	put_number((uint32_t)getpid(), 4);
	put_number((uintptr_t)at, 8);
	put_number((uintptr_t)at, 8);
	put_number(size, 8);
	put_number(index, 8);
	fwrite(name, strlen(name) + 1, 1, out);
	fwrite(at, FUNCTION_SIZE, 1, out);
}

static void put_move(const uint8_t *from, const uint8_t *to, uint64_t index)
{
	put_record(1, 48);
	put_number((uint32_t)getpid(), 4);
	put_number((uint32_t)getpid(), 4);
	put_number((uintptr_t)to, 8);
	put_number((uintptr_t)from, 8);
	put_number((uintptr_t)to, 8);
	put_number(FUNCTION_SIZE, 8);
	put_number(index, 8);
}

static void put_hostile(void)
{
	put_load(code, UINT64_MAX, 7, "too large");
	put_load(code, 0, 7, "empty");
	put_load(code, FUNCTION_SIZE, 8, "two\n0-ffffffffffffffff jit lines");
	put_load(code, FUNCTION_SIZE, 8, "\xff\xfe");
	put_load(code, FUNCTION_SIZE, 8, "");
	put_move(code, code, 99);
	put_record(2, 16); /* more entries than bytes */
	put_number((uintptr_t)code, 8);
	put_number(UINT64_MAX, 8);
	put_record(77, 3); /* an unknown record */
	fwrite("abc", 3, 1, out);
	put_record(0, 8); /* shorter than its members */
	put_number(1, 8);
	put_lines(code + 4096, 1, "/other/function.js");
	put_lines(code, 1, "two\nlines.js");
}

/* Names around the limit of 900 bytes. */
static void put_lengths(void)
{
	char name[1024];

	for (size_t size = 899; size < 902; size++) {
		memset(name, 'n', size);
		name[size] = '\0';
		put_load(code + 1024, 1, size, name);
	}
}

/* Writes a function, then another function at its address, then moves the second function. */
static void run(const char *how)
{
	generate(code, 4711);
	put_lines(code, 10, "/src/one.js");
	put_load(code, FUNCTION_SIZE, 1, "one:first function /src/one.js");
	if (!strcmp(how, "hostile"))
		put_hostile();
	if (!strcmp(how, "lengths"))
		put_lengths();
	call(code);
	generate(code, 4712);
	put_lines(code, 20, "/src/two.js");
	put_load(code, FUNCTION_SIZE, 2, "two");
	call(code);
	generate(code + 2 * FUNCTION_SIZE, 4713);
	put_move(code, code + 2 * FUNCTION_SIZE, 2);
	if (!strcmp(how, "short")) {
		put_number(0, 4);
		put_number(1000, 4);
	}
	fflush(out);
	call(code + 2 * FUNCTION_SIZE);
}

static void wait_for_tracer(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(3);
	close(fd);
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		exit(3);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	char path[4096], other[4200];

	if (!*how)
		return 3;
	snprintf(path, sizeof(path), "%s/jit-%d.dump", argv[2], (int)getpid());
	snprintf(other, sizeof(other), "%s.other", path);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED || (!strcmp(how, "pipe") && mkfifo(path, 0600)) ||
			(!strcmp(how, "link") && symlink(other, path)))
		return 3;
	out = fopen(strcmp(how, "pipe") != 0 && strcmp(how, "link") != 0 ? path : other, "w");
	if (!out)
		return 3;
	uses_malloc = strcmp(how, "map") != 0;
	bias = strcmp(how, "v8") != 0 ? 0 : 0x40;
	put_header(strcmp(how, "magic") != 0 ? 0x4A695444 : 0x4454694A, !strcmp(how, "clock"));
	fflush(out);
	if (!strcmp(how, "map"))
		wait_for_tracer(path);
	run(how);
	if ((!strcmp(how, "large") && truncate(path, 1 << 30)) ||
			(!strcmp(how, "too-large") && truncate(path, (1 << 30) + 1)))
		return 3;
	if ((!strcmp(how, "old") && utimensat(AT_FDCWD, path, old, 0)) ||
			(!strcmp(how, "foreign") && chown(path, 12345, 12345)))
		return 3;
	return 0;
}
