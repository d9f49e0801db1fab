/* SPDX-License-Identifier: MIT */
/* Files that cannot be probed: each is refused with its own error, at its limit and one beyond. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/code/code.h"

static int open_bytes(const void *bytes, size_t size, struct error *error)
{
	struct code_file *file = NULL;
	int ret = code_open_memory(bytes, size, "file", &file, error);

	code_close(file);
	return ret;
}

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr code;
};

/* The smallest valid file: its header is also its code. */
static struct image make_image(void)
{
	struct image image = {
			.header = {.e_type = ET_DYN,
					.e_machine = EM_X86_64,
					.e_phoff = sizeof(Elf64_Ehdr),
					.e_phnum = 1,
					.e_phentsize = sizeof(Elf64_Phdr)},
			.code = {.p_type = PT_LOAD,
					.p_flags = PF_R | PF_X,
					.p_filesz = sizeof(image),
					.p_memsz = sizeof(image)},
	};

	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	return image;
}

static void assert_refused(const struct image *image, const char *text)
{
	struct error error;

	assert_int_equal(open_bytes(image, sizeof(*image), &error), -ENOEXEC);
	assert_string_equal(error.text, text);
}

static void test_headers(void **unused)
{
	static const char other[] = "file is for another processor: only x86-64 can be probed";
	static const char neither[] = "file is neither an executable nor a shared library";
	static const char none[] = "file is not an ELF file";
	struct image changed = make_image();
	struct error error;

	(void)unused;
	assert_int_equal(open_bytes(&changed, sizeof(changed), &error), 0);
	for (size_t size = 0; size < sizeof(changed.header); size++) {
		assert_int_equal(open_bytes(&changed, size, &error), -ENOEXEC);
		assert_string_equal(error.text, none);
	}
	for (unsigned int i = 0; i < SELFMAG; i++) {
		changed = make_image();
		changed.header.e_ident[i] ^= 1;
		assert_refused(&changed, none);
	}
	for (unsigned int value = 0; value < 256; value++) {
		changed = make_image();
		changed.header.e_ident[EI_CLASS] = (unsigned char)value;
		if (value != ELFCLASS64)
			assert_refused(&changed, other);
		changed = make_image();
		changed.header.e_ident[EI_DATA] = (unsigned char)value;
		if (value != ELFDATA2LSB)
			assert_refused(&changed, other);
		changed = make_image();
		changed.header.e_machine = (Elf64_Half)value;
		if (value != EM_X86_64)
			assert_refused(&changed, other);
		changed = make_image();
		changed.header.e_type = (Elf64_Half)value;
		if (value != ET_EXEC && value != ET_DYN)
			assert_refused(&changed, neither);
	}
}

/*
 * The file is open for writing only, so that a size within the limit fails at the read, without 2
 * GiB of data.
 */
static void test_size(void **unused)
{
	char path[] = "/tmp/side-probe-file-XXXXXX";
	struct code_file *file = NULL;
	struct error error;
	int made = mkstemp(path), fd = open(path, O_WRONLY | O_CLOEXEC);

	(void)unused;
	assert_true(made >= 0 && fd >= 0);
	unlink(path);
	close(made);
	assert_int_equal(ftruncate(fd, (off_t)2 << 30), 0);
	assert_int_equal(code_open_fd(fd, "file", &file, &error), -EBADF);
	assert_string_equal(error.text, "cannot read file: Bad file descriptor");
	assert_int_equal(ftruncate(fd, ((off_t)2 << 30) + 1), 0);
	assert_int_equal(code_open_fd(fd, "file", &file, &error), -EFBIG);
	assert_string_equal(error.text, "file is larger than 2 GiB, the limit");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_headers),
			cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
