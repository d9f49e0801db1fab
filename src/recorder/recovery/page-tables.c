/* SPDX-License-Identifier: MIT */
/*
 * Finds the page tables of processes in the memory of a machine. A table of level 1 has an entry
 * for each page. A table of the next level has one for each table below it, up to level 4, the root.
 * The address of a known page gives the number of its entry at each level. So the table of level 1 is
 * the page of the dump whose entry of that number refers to the known page. In the same way, each
 * pass over the dump finds the tables of the next level. At the end, the tables are used in the
 * direction of the processor, and must lead to the known page.
 *
 * With five levels, addresses of programs below 2^47 use entry 0 of the root, so its tables of
 * level 4 are sufficient.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/inside/search.h"
#include "recorder/recovery/memory-dump.h"
#include "recorder/recovery/page-tables.h"

#define PAGE MEMORY_DUMP_PAGE
#define LEVELS 4
#define ENTRIES 512
#define ENTRY_PRESENT 1u
#define ENTRY_HUGE (1u << 7)
#define ENTRY_HIDDEN (1u << 8) /* not present, but the page is in memory: PROT_NONE */
#define ENTRY_ADDRESS UINT64_C(0xffffffffff000)
/* Tables of one level. Processes that share a known page after fork() have a table each. */
#define LIMIT_TABLES 65536

/* A table to search for: which entry must have which content. */
struct wanted_table {
	uint64_t physical; /* the entry's address */
	uint32_t index;
	uint32_t level; /* of the table */
	size_t page;    /* number of the known page */
	bool is_huge;   /* the entry maps a huge page of 2 MiB */
};

struct table_list {
	struct wanted_table *list;
	size_t nr, capacity;
};

struct table_search {
	struct memory_dump *dump;
	struct known_page *pages;
	struct table_list now, next;
	size_t begin[ENTRIES + 1]; /* `now` is sorted by index: where each index begins */
};

static uint32_t page_tables_index(uint64_t address, unsigned int level)
{
	return (uint32_t)(address >> (12 + 9 * (level - 1))) % ENTRIES;
}

/* Returns whether the entry refers to memory. */
static bool page_tables_entry(uint64_t entry, uint64_t *ret_physical)
{
	if (entry & ENTRY_PRESENT)
		*ret_physical = entry & ENTRY_ADDRESS;
	else if (entry & ENTRY_HIDDEN)
		/* The kernel inverts such addresses, so that the processor does not prefetch them. */
		*ret_physical = ~entry & ENTRY_ADDRESS;
	else
		return false;
	return true;
}

/* ---- use ---- */

static int page_tables_translate(
		struct memory_dump *dump, uint64_t table, uint64_t address, uint64_t *ret_physical)
{
	unsigned int level;

	for (level = LEVELS; level; level--) {
		uint64_t entry, below = (UINT64_C(1) << (12 + 9 * (level - 1))) - 1;
		int ret = memory_dump_read(dump,
				table + page_tables_index(address, level) * sizeof(entry), &entry,
				sizeof(entry));

		if (ret)
			return ret;
		if (!entry)
			return -ENODATA;
		if (!page_tables_entry(entry, &table))
			return -EIO;
		if (level == 1 || (level < LEVELS && (entry & ENTRY_HUGE))) {
			*ret_physical = (table & ~below) | (address & below);
			return 0;
		}
	}
	return -EIO;
}

int page_tables_read(
		struct memory_dump *dump, uint64_t table, uint64_t address, void *to, size_t size)
{
	while (size) {
		size_t left = PAGE - address % PAGE, part = left < size ? left : size;
		uint64_t physical;
		int ret = page_tables_translate(dump, table, address, &physical);

		if (!ret)
			ret = memory_dump_read(dump, physical, to, part);
		if (ret)
			return ret;
		to = (char *)to + part;
		size -= part;
		address += part;
	}
	return 0;
}

/* ---- search ---- */

static int page_tables_want(struct table_list *tables, const struct wanted_table *wanted)
{
	if (tables->nr >= LIMIT_TABLES)
		return 0;
	if (tables->nr == tables->capacity) {
		size_t capacity = tables->capacity ? 2 * tables->capacity : 64;
		struct wanted_table *more = realloc(tables->list, capacity * sizeof(*tables->list));

		if (!more)
			return -ENOMEM;
		tables->list = more;
		tables->capacity = capacity;
	}
	tables->list[tables->nr++] = *wanted;
	return 0;
}

static int page_tables_compare(const void *one, const void *other)
{
	const struct wanted_table *a = one, *b = other;

	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return a->physical < b->physical ? -1 : a->physical > b->physical;
}

/* Sorts the tables to search for, and notes where each index begins. */
static void page_tables_sort(struct table_search *search)
{
	struct table_list *now = &search->now;
	uint32_t index;

	if (now->nr)
		qsort(now->list, now->nr, sizeof(*now->list), page_tables_compare);
	for (index = 0; index <= ENTRIES; index++)
		search->begin[index] = search_leading(i, now->nr, now->list[i].index < index);
}

/* A table was found at this address: searches for the one above it. */
static int page_tables_found(
		struct table_search *search, const struct wanted_table *wanted, uint64_t physical)
{
	struct known_page *page = &search->pages[wanted->page];
	struct wanted_table next = {
			.physical = physical, .level = wanted->level + 1, .page = wanted->page};
	uint64_t target;

	if (wanted->level < LEVELS) {
		next.index = page_tables_index(page->address, next.level);
		return page_tables_want(&search->next, &next);
	}
	if (page->is_found)
		return 0;
	page->table = physical;
	page->is_found = !page_tables_translate(search->dump, physical, page->address, &target) &&
			target == page->physical;
	return 0;
}

static int page_tables_visit_index(
		struct table_search *search, uint64_t physical, uint64_t entry, uint32_t index)
{
	size_t at, begin = search->begin[index], nr = search->begin[index + 1] - begin;
	const struct wanted_table *list = search->now.list + begin;
	bool is_huge = entry & ENTRY_HUGE;
	uint64_t target, huge;
	int ret = 0;

	if (!page_tables_entry(entry, &target))
		return 0;
	huge = target & ~(uint64_t)(ENTRIES * PAGE - 1);
	/* The address of a huge page has a flag in a lower bit. */
	for (at = search_leading(i, nr, list[i].physical < huge);
			at < nr && list[at].physical <= target && !ret; at++)
		if (list[at].is_huge ? is_huge && list[at].physical == huge
				     : list[at].physical == target)
			ret = page_tables_found(search, &list[at], physical);
	return ret;
}

static int page_tables_visit(void *user, uint64_t physical, const unsigned char *bytes)
{
	struct table_search *search = user;
	uint32_t index;
	int ret = 0;

	for (index = 0; index < ENTRIES && !ret; index++) {
		uint64_t entry;

		if (search->begin[index] == search->begin[index + 1])
			continue;
		memcpy(&entry, bytes + index * sizeof(entry), sizeof(entry));
		ret = page_tables_visit_index(search, physical, entry, index);
	}
	return ret;
}

/* Begins with the tables that refer to the known pages themselves. */
static int page_tables_begin(struct table_search *search, size_t nr)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < nr && !ret; i++) {
		const struct known_page *page = &search->pages[i];
		const struct wanted_table small = {.physical = page->physical,
				.index = page_tables_index(page->address, 1),
				.level = 1,
				.page = i};
		const struct wanted_table huge = {
				.physical = page->physical & ~(uint64_t)(ENTRIES * PAGE - 1),
				.index = page_tables_index(page->address, 2),
				.level = 2,
				.page = i,
				.is_huge = true};

		ret = page_tables_want(&search->now, &small);
		if (!ret)
			ret = page_tables_want(&search->now, &huge);
	}
	return ret;
}

int page_tables_find(struct memory_dump *dump, struct known_page *pages, size_t nr)
{
	struct table_search search = {.dump = dump, .pages = pages};
	int ret = page_tables_begin(&search, nr);
	unsigned int level;

	for (level = 1; level <= LEVELS && !ret; level++) {
		struct table_list searched = search.now;

		page_tables_sort(&search);
		ret = memory_dump_walk(dump, page_tables_visit, &search);
		search.now = search.next;
		search.next = searched;
		search.next.nr = 0;
	}
	free(search.now.list);
	free(search.next.list);
	return ret;
}
