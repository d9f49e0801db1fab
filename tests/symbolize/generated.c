/* SPDX-License-Identifier: MIT */
/*
 * Generates two functions that allocate memory, and names them in /tmp/perf-PID.map:
 * generated HOW, where HOW is "file", "link", "pipe", "old", "foreign" (the file's state),
 * "large", "too-large" (its size), "lengths" (of its lines) or "many" (lines).
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUNCTION_SIZE 64

/* sub $8, %rsp; mov $SIZE, %edi; movabs $malloc, %rax; call *%rax; add $8, %rsp; ret */
static void generate(uint8_t *at, uint32_t size)
{
	static const uint8_t code[] = {0x48, 0x83, 0xec, 0x08, 0xbf, 0, 0, 0, 0, 0x48, 0xb8, 0, 0,
			0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
	uint64_t target = (uintptr_t)malloc;

	memcpy(at, code, sizeof(code));
	memcpy(at + 5, &size, 4);
	memcpy(at + 11, &target, 8);
}

static void write_map(const char *path, const uint8_t *code)
{
	uintptr_t first = (uintptr_t)code, second = first + FUNCTION_SIZE;
	FILE *file = fopen(path, "w");

	if (!file)
		exit(3);
	/* The last name of an address counts; other lines are no functions. */
	fprintf(file, "%lx 40 first version\n", (unsigned long)first);
	fprintf(file, "not a function\n%lx 0 empty\n%lx ffffffffffffffff too large\n\n",
			(unsigned long)first, (unsigned long)first);
	fprintf(file, "%lx 40 first function:*work /src/a.js:12\n", (unsigned long)first);
	fprintf(file, "%lx 40 second\n%lx 40 incomplete", (unsigned long)second,
			(unsigned long)second);
	fclose(file);
}

/* A line of so many bytes, with its line feed. */
static void add_line(FILE *file, size_t size, unsigned int number)
{
	int head = fprintf(file, "\n%x 1 ", number) - 1;

	for (size_t i = (size_t)head; i < size - 1; i++)
		fputc('n', file);
	fputc('\n', file);
}

static void extend_map(const char *path, const char *how)
{
	FILE *file = fopen(path, "a");

	if (!file)
		exit(3);
	for (unsigned int i = 0; !strcmp(how, "lengths") && i < 2; i++)
		add_line(file, 1023 + i, 0x100 + i);
	for (unsigned int i = 0; !strcmp(how, "many") && i < 5000; i++)
		add_line(file, 1000, 0x1000 + i);
	fclose(file);
	if ((!strcmp(how, "large") && truncate(path, 64 << 20)) ||
			(!strcmp(how, "too-large") && truncate(path, (64 << 20) + 1)))
		exit(3);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "file";
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	uint8_t *code = mmap(
			NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64], other[80];
	uintptr_t address = (uintptr_t)code;
	void *(*functions[2])(void);

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "%s.other", path);
	if (code == MAP_FAILED)
		return 3;
	generate(code, 4711);
	generate(code + FUNCTION_SIZE, 4712);
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC))
		return 3;
	if (!strcmp(how, "pipe") && mkfifo(path, 0600))
		return 3;
	write_map(!strcmp(how, "link") || !strcmp(how, "pipe") ? other : path, code);
	if (strcmp(how, "pipe") != 0 && strcmp(how, "link") != 0)
		extend_map(path, how);
	if (!strcmp(how, "link") && symlink(other, path))
		return 3;
	if (!strcmp(how, "old") && utimensat(AT_FDCWD, path, old, 0))
		return 3;
	if (!strcmp(how, "foreign") && chown(path, 12345, 12345))
		return 3;
	for (int i = 0; i < 2; i++) {
		uintptr_t function = address + (uintptr_t)i * FUNCTION_SIZE;

		memcpy(&functions[i], &function, sizeof(function));
		free(functions[i]());
	}
	printf("%s\n", path);
	return 0;
}
