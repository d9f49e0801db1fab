/* SPDX-License-Identifier: MIT */
/*
 * Reads compressed dumps of a machine's memory. The file consists of blocks:
 *
 *	block 0			head
 *	block 1			second head, of sub_blocks blocks
 *	then			two bitmaps, of bitmap_blocks blocks together: which pages exist, and
 *				which of them are in the file
 *	then			a description for each page in the file, in their order
 *	anywhere		the pages, each compressed by itself
 *
 * A dump is not trusted: each number is checked where it is used.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "recorder/recovery/compressed-dump.h"
#include "recorder/recovery/dump-codecs.h"

#define PAGE 4096u /* of a page, and of a block of the file */
/* Bytes of a bitmap: 2 TiB of memory. */
#define LIMIT_BITMAP (64u << 20)
#define LIMIT_SUB_BLOCKS 65536u
/* Bits of the bitmap for which one sum is kept. */
#define GROUP_BITS 4096u

/* The head, without the members at its end. */
struct compressed_head {
	char signature[8];
	int32_t version;
	char names[6][65];
	char padding[6];
	int64_t time[2];
	uint32_t status;
	uint32_t block_size;
	uint32_t sub_blocks;
	uint32_t bitmap_blocks;
	uint32_t nr_pages; /* version 6: see the second head */
};
_Static_assert(offsetof(struct compressed_head, block_size) == 428, "as in the file");

struct compressed_sub_head {
	uint64_t base;
	int32_t level;
	uint32_t is_split;
	uint64_t positions[8];
	uint64_t pages[2];
	uint64_t nr_pages;
};
_Static_assert(offsetof(struct compressed_sub_head, nr_pages) == 96, "as in the file");

struct compressed_page {
	int64_t offset;
	uint32_t size;
	uint32_t form;
	uint64_t flags;
};

struct compressed_dump {
	int fd;
	uint64_t nr_pages;
	uint64_t descriptions; /* where they begin */
	unsigned char *bitmap;
	uint64_t *sums; /* pages in the file before each group */
	struct dump_codecs codecs;
	uint64_t last; /* number + 1 of the page in `page`, or 0 */
	unsigned char page[PAGE], packed[PAGE];
};

static bool compressed_dump_has(const struct compressed_dump *dump, uint64_t page)
{
	return page < dump->nr_pages && (dump->bitmap[page / 8] >> page % 8 & 1);
}

/* ---- open ---- */

static const char *compressed_dump_load_bitmap(
		struct compressed_dump *dump, const struct compressed_head *head)
{
	uint64_t half = (uint64_t)head->bitmap_blocks / 2 * PAGE, page, nr = 0;
	uint64_t begin = (UINT64_C(1) + head->sub_blocks) * PAGE;

	if (!half || half > LIMIT_BITMAP || head->sub_blocks > LIMIT_SUB_BLOCKS ||
			dump->nr_pages > half * 8)
		return "its header is damaged";
	dump->descriptions = begin + (uint64_t)head->bitmap_blocks * PAGE;
	dump->bitmap = malloc(half);
	dump->sums = malloc((half * 8 / GROUP_BITS) * sizeof(*dump->sums));
	if (!dump->bitmap || !dump->sums)
		return "out of memory";
	if (io_read_exactly_at(dump->fd, dump->bitmap, half, begin + half))
		return "its list of pages is truncated";
	for (page = 0; page < dump->nr_pages; page++) {
		if (page % GROUP_BITS == 0)
			dump->sums[page / GROUP_BITS] = nr;
		nr += compressed_dump_has(dump, page);
	}
	return NULL;
}

static const char *compressed_dump_begin(struct compressed_dump *dump)
{
	struct compressed_head head;
	struct compressed_sub_head sub;
	const char *wrong;

	if (io_read_exactly_at(dump->fd, &head, sizeof(head), 0) ||
			io_read_exactly_at(dump->fd, &sub, sizeof(sub), PAGE))
		return "its header is truncated";
	if (!memcmp(head.signature, "makedump", sizeof(head.signature)))
		return "it is flattened\n`makedumpfile -R NEW <OLD` converts it";
	/* Other machines have other names; their heads differ as well. */
	if (memcmp(head.names[4], "x86_64", sizeof("x86_64")) != 0 || head.block_size != PAGE)
		return "it is of a machine other than x86-64";
	if (head.version >= 2 && sub.is_split)
		return "it is a part of a dump in several files";
	dump->nr_pages = head.version >= 6 ? sub.nr_pages : head.nr_pages;
	wrong = dump_codecs_open(&dump->codecs, head.status);
	return wrong ? wrong : compressed_dump_load_bitmap(dump, &head);
}

const char *compressed_dump_open(int fd, struct compressed_dump **ret_dump)
{
	struct compressed_dump *dump = calloc(1, sizeof(*dump));
	const char *wrong;

	*ret_dump = NULL;
	if (!dump)
		return "out of memory";
	dump->fd = fd;
	wrong = compressed_dump_begin(dump);
	if (wrong)
		compressed_dump_close(dump);
	else
		*ret_dump = dump;
	return wrong;
}

void compressed_dump_close(struct compressed_dump *dump)
{
	dump_codecs_close(&dump->codecs);
	free(dump->bitmap);
	free(dump->sums);
	free(dump);
}

/* ---- pages ---- */

bool compressed_dump_find(struct compressed_dump *dump, uint64_t *page)
{
	while (*page < dump->nr_pages && !compressed_dump_has(dump, *page))
		*page += *page % 8 || dump->bitmap[*page / 8] ? 1 : 8;
	return *page < dump->nr_pages;
}

/* The position of a page's description among the others. */
static uint64_t compressed_dump_count(const struct compressed_dump *dump, uint64_t page)
{
	uint64_t at = page / GROUP_BITS * GROUP_BITS, nr = dump->sums[page / GROUP_BITS];

	for (; at < page; at++)
		nr += compressed_dump_has(dump, at);
	return nr;
}

/* Makes this page the content of dump->page. */
static int compressed_dump_load(struct compressed_dump *dump, uint64_t number)
{
	struct compressed_page page;
	uint64_t at;

	if (dump->last == number + 1)
		return 0;
	dump->last = 0;
	if (!compressed_dump_has(dump, number))
		return -EIO;
	at = dump->descriptions + compressed_dump_count(dump, number) * sizeof(page);
	if (io_read_exactly_at(dump->fd, &page, sizeof(page), at) || page.offset < 0 ||
			page.size > PAGE ||
			io_read_exactly_at(
					dump->fd, dump->packed, page.size, (uint64_t)page.offset) ||
			!dump_codecs_unpack(&dump->codecs, page.form, dump->packed, page.size,
					dump->page, PAGE))
		return -EIO;
	dump->last = number + 1;
	return 0;
}

int compressed_dump_read(struct compressed_dump *dump, uint64_t physical, void *to, size_t size)
{
	while (size) {
		size_t at = physical % PAGE, part = PAGE - at < size ? PAGE - at : size;

		if (compressed_dump_load(dump, physical / PAGE))
			return -EIO;
		memcpy(to, dump->page + at, part);
		to = (char *)to + part;
		size -= part;
		physical += part;
	}
	return 0;
}
