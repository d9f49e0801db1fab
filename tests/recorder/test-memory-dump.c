/* SPDX-License-Identifier: MIT */
/* Dumps of a machine's memory at the limits: ranges, notes, and page tables to search for. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory-image.h"
#include "recorder/recovery/memory-dump.h"
#include "recorder/recovery/page-tables.h"

#define ADDRESS UINT64_C(0x7f1234567000)
#define RANGES 4096u
#define NOTES (1u << 20)
#define TABLES 65536u

static int dump_fd;

static void write_dump(const void *bytes, size_t size)
{
	CHECK(!ftruncate(dump_fd, 0));
	CHECK(pwrite(dump_fd, bytes, size, 0) == (ssize_t)size);
}

static Elf *open_elf(void)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(dump_fd, ELF_C_READ, NULL);
	CHECK(elf);
	return elf;
}

/* A process with one page, and its root table. */
static struct known_page make_process(struct memory_image *image, uint32_t capacity)
{
	uint32_t page;

	image_begin(image, capacity);
	page = image_add(image);
	memcpy(image_page(image, page), "content", 8);
	image_map(image, ADDRESS, page);
	image_complete(image);
	return (struct known_page){.address = ADDRESS, .physical = image_physical(page)};
}

static void test_tables(void)
{
	struct known_page *pages = calloc(TABLES, sizeof(*pages)), page;
	struct memory_image image;
	struct memory_dump *dump;
	char bytes[8];
	Elf *elf;

	CHECK(pages);
	page = make_process(&image, 16);
	write_dump(image.bytes, image_size(&image));
	elf = open_elf();
	CHECK(memory_dump_is_elf(elf) && !memory_dump_is_compressed(dump_fd));
	CHECK(!memory_dump_open(dump_fd, elf, image_size(&image), &dump));
	/* Two tables are searched for each page. */
	pages[TABLES / 2 - 1] = pages[TABLES / 2] = page;
	CHECK(!page_tables_find(dump, pages, TABLES / 2 + 1));
	CHECK(pages[TABLES / 2 - 1].is_found && !pages[TABLES / 2].is_found && !pages[0].is_found);
	CHECK(pages[TABLES / 2 - 1].table == image_physical(image.root));
	CHECK(!page_tables_read(dump, image_physical(image.root), ADDRESS, bytes, 8));
	CHECK(!memcmp(bytes, "content", 8));
	CHECK(page_tables_read(dump, image_physical(image.root), ADDRESS + 4092, bytes, 8) ==
			-ENODATA);
	CHECK(page_tables_read(dump, 0, ADDRESS, bytes, 8) == -EIO);
	CHECK(!page_tables_find(dump, pages, 0));
	memory_dump_close(dump);
	elf_end(elf);
	free(image.bytes);
	free(pages);
}

static const char *open_ranges(uint32_t nr)
{
	size_t size = sizeof(Elf64_Ehdr) + nr * sizeof(Elf64_Phdr) + IMAGE_PAGE;
	unsigned char *bytes = calloc(1, size);
	struct memory_image image;
	struct memory_dump *dump;
	const char *wrong;
	Elf64_Phdr *parts;
	uint32_t i;
	Elf *elf;

	CHECK(bytes);
	image_begin(&image, 1);
	image_complete(&image);
	memcpy(bytes, image.bytes, sizeof(Elf64_Ehdr));
	((Elf64_Ehdr *)(void *)bytes)->e_phnum = (Elf64_Half)nr;
	parts = (Elf64_Phdr *)(void *)(bytes + sizeof(Elf64_Ehdr));
	for (i = 0; i < nr; i++)
		parts[i] = (Elf64_Phdr){
				.p_type = PT_LOAD, .p_paddr = i * 8, .p_offset = i, .p_filesz = 8};
	write_dump(bytes, size);
	elf = open_elf();
	CHECK(!memory_dump_is_elf(elf));
	wrong = memory_dump_open(dump_fd, elf, size, &dump);
	if (!wrong) {
		CHECK(!memory_dump_read(dump, (nr - 1) * 8, bytes, 8));
		CHECK(memory_dump_read(dump, nr * 8, bytes, 1) == -EIO);
		memory_dump_close(dump);
	}
	elf_end(elf);
	free(image.bytes);
	free(bytes);
	return wrong;
}

static void test_ranges(void)
{
	const char *wrong = open_ranges(RANGES + 1);

	CHECK(wrong && strstr(wrong, "its list of memory ranges is damaged"));
	CHECK(!open_ranges(RANGES));
}

/* The notes are as large as possible, and larger by one byte. */
static void test_notes(void)
{
	struct memory_image image;
	uint32_t more;

	for (more = 0; more < 2; more++) {
		Elf64_Phdr *note;
		Elf *elf;

		make_process(&image, NOTES / IMAGE_PAGE + 1);
		note = (Elf64_Phdr *)(void *)(image.bytes + sizeof(Elf64_Ehdr));
		note->p_filesz = NOTES + more;
		image.nr = image.capacity;
		write_dump(image.bytes, image_size(&image));
		elf = open_elf();
		CHECK(memory_dump_is_elf(elf) == !more);
		elf_end(elf);
		free(image.bytes);
	}
}

static const char *open_compressed(uint32_t sub_blocks, uint32_t bitmap_blocks)
{
	struct memory_dump *dump;
	struct memory_image image;
	unsigned char *bytes;
	const char *wrong;
	size_t size;

	make_process(&image, 16);
	bytes = image_compress(&image, IMAGE_RAW, true, &size);
	image_put(bytes + 432, sub_blocks, 4);
	image_put(bytes + 436, bitmap_blocks, 4);
	write_dump(bytes, size);
	/* The lists are holes. */
	CHECK(!ftruncate(dump_fd, (off_t)(UINT64_C(4) + sub_blocks + bitmap_blocks) * IMAGE_PAGE));
	CHECK(memory_dump_is_compressed(dump_fd));
	wrong = memory_dump_open(dump_fd, NULL, size, &dump);
	if (!wrong)
		memory_dump_close(dump);
	free(bytes);
	free(image.bytes);
	return wrong;
}

static void test_compressed_limits(void)
{
	CHECK(!open_compressed(65536, 2) && open_compressed(65537, 2));
	CHECK(!open_compressed(1, 32768) && open_compressed(1, 32770));
}

int main(void)
{
	dump_fd = memfd_create("dump", MFD_CLOEXEC);
	CHECK(dump_fd >= 0);
	test_tables();
	test_ranges();
	test_notes();
	test_compressed_limits();
	close(dump_fd);
	return 0;
}
