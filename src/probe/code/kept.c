/* SPDX-License-Identifier: MIT */
/*
 * Collects bytes of code that a probe must neither change nor execute elsewhere: the kernel
 * restarts them, the loader or the program writes them, the program reads them as data, or it
 * copies them to other memory.
 *
 * Ranges are added in any order and may overlap. A lookup sorts them if some were added since.
 */
#include "parts.h"
#include "base/inside/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int code_keep(struct code_file *file, uint64_t from, uint64_t to, const char *reason)
{
	struct code_kept *kept;

	if (from >= to || to - from > file->size || !code_executable(file, from))
		return 0;
	kept = code_grow(file->kept, file->nr_kept, &file->kept_capacity, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	file->kept = kept;
	kept[file->nr_kept++] = (struct code_kept){.from = from, .to = to, .reason = reason};
	file->kept_sorted = false;
	return 0;
}

static int kept_compare(const void *left, const void *right)
{
	const struct code_kept *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static void kept_sort(struct code_file *file)
{
	uint64_t reach = 0;

	qsort(file->kept, file->nr_kept, sizeof(*file->kept), kept_compare);
	for (size_t i = 0; i < file->nr_kept; i++) {
		reach = file->kept[i].to > reach ? file->kept[i].to : reach;
		file->kept[i].reach = reach;
	}
	file->kept_sorted = true;
}

const struct code_kept *code_kept_at(struct code_file *file, uint64_t address, uint64_t size)
{
	size_t low;

	if (!file->nr_kept)
		return NULL;
	if (!file->kept_sorted)
		kept_sort(file);
	low = search_leading(i, file->nr_kept, file->kept[i].from < address + size);
	while (low-- > 0 && file->kept[low].reach > address) {
		if (file->kept[low].to > address)
			return &file->kept[low];
	}
	return NULL;
}
