/* SPDX-License-Identifier: MIT */
/*
 * Each call that reads a file and examines its code fails once. The error must be reported, nothing
 * may stay open or allocated, and the same request must succeed afterwards, with the same result.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/code/parts.h"

#include "../../check.h"
#include "../../failing-calls.h"
#include "../../resources.h"

#define CODE_AT 1024
#define BRANCHES 300 /* more than fit before a list grows */
#define BASE 0x10000u

/* Excludes the free lists of threads, which count as used. */
static size_t bytes_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* A program without sections: its entry has many branches, each to another instruction. */
static struct {
	Elf64_Ehdr header;
	Elf64_Phdr code;
	uint8_t padding[CODE_AT - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr)];
	uint8_t bytes[BRANCHES * 6 + 1 + BRANCHES * 2];
} image;

static uint64_t address_of(size_t at)
{
	return BASE + CODE_AT + at;
}

static void make_image(void)
{
	image.header = (Elf64_Ehdr){.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_entry = address_of(0),
			.e_phoff = offsetof(__typeof__(image), code),
			.e_phnum = 1,
			.e_phentsize = sizeof(Elf64_Phdr)};
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = ELFDATA2LSB;
	image.code = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = BASE,
			.p_filesz = sizeof(image),
			.p_memsz = sizeof(image)};
	memset(image.bytes, 0xc3, sizeof(image.bytes));
	for (int32_t i = 0; i < BRANCHES; i++) {
		int32_t distance = BRANCHES * 6 + 1 + 2 * i - 6 * (i + 1);

		image.bytes[6 * i] = 0x0f;
		image.bytes[6 * i + 1] = 0x84;
		memcpy(image.bytes + 6 * i + 2, &distance, sizeof(distance));
	}
}

static void check_reached(struct code_file *file, unsigned int step)
{
	bool is_reachable;

	for (unsigned int i = 0; i < sizeof(image.bytes); i += step) {
		bool is_begin = i < BRANCHES * 6 ? i % 6 == 0
						 : (i - BRANCHES * 6) % 2 == 1 || i == BRANCHES * 6;

		CHECK(!code_is_reachable(file, address_of(i), &is_reachable) &&
				is_reachable == is_begin);
	}
}

static void test_reached(void)
{
	struct code_file *file = NULL;
	struct error error;
	unsigned int number;
	size_t before = 0;

	make_image();
	for (number = 1;; number++) {
		bool is_reachable = true;
		int ret;

		CHECK(!code_open_memory(&image, sizeof(image), "image", &file, &error));
		failing_arm(number);
		ret = code_is_reachable(file, address_of(0), &is_reachable);
		if (!failing_has_failed()) {
			CHECK(!ret && is_reachable);
			check_reached(file, 1);
			code_close(file);
			break;
		}
		CHECK(ret == -ENOMEM && !is_reachable);
		/* Nothing of the failed walk remains. */
		check_reached(file, 1);
		code_close(file);
		if (number > 1)
			CHECK(bytes_in_use() == before);
		before = bytes_in_use();
	}
	/* The bits of the segment, the list of branches, and the list once it is full. */
	CHECK(number == 4);
}

/* ---- a whole file ---- */

struct summary {
	size_t functions, names, landings, frames, labels, kept, springboards, readers, segments,
			sections;
	uint64_t targets, sites;
};

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (sum >> 29);
}

/* Finds the sites of some functions. Returns how many requests ran out of memory. */
static int examine(struct code_file *file, unsigned int step, struct summary *sum)
{
	*sum = (struct summary){0};
	for (size_t i = 0; i < file->nr_functions; i += step) {
		struct probe_site site;
		int ret = code_entry(file, &file->functions[i], &site);

		if (ret == -ENOMEM)
			return ret;
		sum->sites = mix(sum->sites, (uint64_t)ret);
		sum->sites = mix(sum->sites, site.method);
		sum->sites = mix(sum->sites, site.displaced);
		sum->sites = mix(sum->sites, (uint64_t)(uintptr_t)site.no_exit);
		sum->sites = mix(sum->sites, site.springboard);
	}
	sum->functions = file->nr_functions;
	sum->names = file->nr_names;
	sum->landings = file->nr_landings;
	sum->frames = file->nr_frames;
	sum->labels = file->nr_labels;
	sum->kept = file->nr_kept;
	sum->springboards = file->nr_springboards;
	sum->readers = file->nr_frame_readers;
	sum->segments = file->nr_segments;
	sum->sections = file->nr_sections;
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct code_segment *segment = &file->segments[i];

		for (size_t k = 0; segment->targets && k < segment->size / 8 + 1; k++)
			sum->targets = mix(sum->targets, segment->targets[k]);
	}
	return 0;
}

static const char path[] = "/proc/self/exe";

static void test_opened(void)
{
	struct code_file *file = NULL;
	struct error error;
	struct summary expected, found;
	unsigned int number, descriptors;
	size_t before = 0;

	CHECK(!code_open(path, &file, &error) && !examine(file, 50, &expected));
	CHECK(expected.functions > 100 && expected.frames > 100);
	code_close(file);
	descriptors = resources_descriptors();
	for (number = 1;; number++) {
		bool has_failed;
		int ret;

		file = NULL;
		memset(&error, 0, sizeof(error));
		failing_arm(number);
		ret = code_open(path, &file, &error);
		has_failed = failing_has_failed();
		if (!has_failed) {
			CHECK(!ret);
			code_close(file);
			break;
		}
		CHECK(ret ==
				(!strcmp(failing_name, "pread") || !strcmp(failing_name, "fstat")
								? -EIO
								: -ENOMEM));
		CHECK(!file && strstr(error.text, path) && resources_descriptors() == descriptors);
		CHECK(!strncmp(error.text,
				ret == -EIO ? "cannot read " : "out of memory: cannot read ",
				ret == -EIO ? 12 : 27));
		if (number > 1)
			CHECK(bytes_in_use() == before);
		before = bytes_in_use();
	}
	CHECK(number > 10);
	/* Interrupted reads are repeated. */
	failing_interrupts = 3;
	CHECK(!code_open(path, &file, &error) && !failing_interrupts &&
			!examine(file, 50, &found) && !memcmp(&expected, &found, sizeof(found)));
	code_close(file);
}

/* The code is examined at the first request for a site. */
static void test_swept(void)
{
	struct code_file *file = NULL;
	struct error error;
	struct summary expected, found;
	size_t before = 0;
	unsigned int number, nr_refused = 0;

	CHECK(!code_open(path, &file, &error) && !examine(file, 50, &expected));
	code_close(file);
	for (number = 1;; number += 1 + number / 8) {
		struct probe_site site;
		int ret;

		CHECK(!code_open(path, &file, &error));
		failing_arm(number);
		ret = code_entry(file, &file->functions[0], &site);
		if (!failing_has_failed()) {
			CHECK(ret != -ENOMEM);
			code_close(file);
			break;
		}
		nr_refused += ret == -ENOMEM;
		/* After a refusal the next request has the whole result. */
		CHECK(ret != -ENOMEM ||
				(!examine(file, 50, &found) && found.sites == expected.sites));
		code_close(file);
		if (number > 1)
			CHECK(bytes_in_use() == before);
		before = bytes_in_use();
	}
	CHECK(nr_refused > 0);
}

/* A directory, a missing file, and an empty file. */
static void test_no_files(void)
{
	struct code_file *file = NULL;
	struct error error;
	unsigned int descriptors = resources_descriptors();

	CHECK(code_open("/proc/self", &file, &error) == -ENOEXEC && !file &&
			!strcmp(error.text, "/proc/self is not a program or library"));
	CHECK(code_open("/nowhere", &file, &error) == -ENOENT && !file &&
			!strcmp(error.text, "cannot open /nowhere: No such file or directory"));
	CHECK(code_open_fd(-1, "none", &file, &error) == -EBADF &&
			!strcmp(error.text, "cannot read none: Bad file descriptor"));
	CHECK(code_open_memory("", 0, "empty", &file, &error) == -ENOEXEC &&
			!strcmp(error.text, "empty is not an ELF file"));
	CHECK(resources_descriptors() == descriptors);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!getenv("GLIBC_TUNABLES")) {
		setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
		execv("/proc/self/exe", argv);
		CHECK(!"the test can execute itself");
	}
	test_reached();
	test_no_files();
	test_opened();
	test_swept();
	return 0;
}
