/* SPDX-License-Identifier: MIT */
/*
 * Files and memory of a program: reads continue after signals and after short reads, and writes
 * after signals.
 */
#include "attach/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/played-calls.h"
#include "../check.h"

static void test_elf(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct inject_elf elf, other;

	CHECK(fd >= 0 && !inject_elf_read(fd, &elf) && elf.nr_headers);
	for (unsigned int i = 0; i < 2; i++) {
		played_interrupts = i ? 2 : 0;
		played_most = i ? SIZE_MAX : 100;
		CHECK(!inject_elf_read(fd, &other) && !played_interrupts);
		CHECK(other.nr_headers == elf.nr_headers && other.nr_symbols == elf.nr_symbols);
		CHECK(!memcmp(other.headers, elf.headers, elf.nr_headers * sizeof(*elf.headers)));
		inject_elf_free(&other);
	}
	inject_elf_free(&elf);
	/* The header, and the table of segments. */
	for (unsigned int i = 0; i < 2; i++) {
		played_reset();
		played_before = i;
		played_error = EIO;
		CHECK(inject_elf_read(fd, &other) == -EIO);
		inject_elf_free(&other);
	}
	played_reset();
	close(fd);
}

static void test_status(void)
{
	char text[64], name[64];

	CHECK(strcmp(inject_name(getpid(), name, sizeof(name)), "?") != 0);
	played_interrupts = 2;
	CHECK(!strcmp(inject_name(getpid(), text, sizeof(text)), name) && !played_interrupts);
	played_most = 100;
	CHECK(inject_status(getpid(), 0, "SigCgt", text, sizeof(text)) && strlen(text) == 16);
	played_most = SIZE_MAX;
	played_error = ESRCH;
	CHECK(!inject_status(getpid(), 0, "SigCgt", text, sizeof(text)) && errno == ESRCH);
	played_reset();
}

static void test_memory(void)
{
	struct inject_target target = {.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
	static char bytes[] = "0123456789", other[sizeof(bytes)];
	uint64_t address = (uint64_t)(uintptr_t)bytes;

	CHECK(target.memory >= 0);
	played_interrupts = 2;
	CHECK(inject_read(&target, address, other, sizeof(other)) && !strcmp(other, bytes));
	memset(other, 0, sizeof(other));
	played_most = 3;
	CHECK(inject_read(&target, address, other, sizeof(other)) && !strcmp(other, bytes));
	/* A short write is not continued. */
	CHECK(!inject_write(&target, address, "abcdefghij", sizeof(bytes)) && errno == EIO);
	played_most = 0;
	CHECK(!inject_read(&target, address, other, sizeof(other)) && errno == ESRCH);
	CHECK(!inject_write(&target, address, "abcdefghij", sizeof(bytes)) && errno == ESRCH);
	played_reset();
	played_interrupts = 2;
	CHECK(inject_write(&target, address, "abcdefghij", sizeof(bytes)) && !played_interrupts);
	CHECK(!strcmp(bytes, "abcdefghij"));
	played_error = EACCES;
	CHECK(!inject_read(&target, address, other, sizeof(other)) && errno == EACCES);
	CHECK(!inject_write(&target, address, other, sizeof(other)) && errno == EACCES);
	played_reset();
	close(target.memory);
}

int main(void)
{
	test_elf();
	test_status();
	test_memory();
	return 0;
}
