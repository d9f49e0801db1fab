/* SPDX-License-Identifier: MIT */
/* Changes the table of mappings for each call of mmap(), munmap() and mremap(). */
#include <errno.h>
#include <string.h>

#include "analysis/leaks.h"

/* The size of a page on x86-64. On other machines, it divides the size of a page. */
#define LEAKS_PAGE UINT64_C(4096)
/* The old addresses of mremap() remain mapped. */
#define LEAKS_MREMAP_DONTUNMAP 4
/* The result of a call that failed, or the end of an impossible range. */
#define LEAKS_MAP_FAILED UINT64_MAX

void leaks_mapping_find(struct leaks_mapping_class *class, const struct ctf_item *item)
{
	const char *name = item->event->name;

	*class = (struct leaks_mapping_class){.form = LEAKS_MAPS_NOTHING};
	if (strcmp(name, "libc:mmap") == 0 || strcmp(name, "libc:mmap64") == 0)
		class->form = LEAKS_MAPS;
	else if (strcmp(name, "libc:munmap") == 0)
		class->form = LEAKS_UNMAPS;
	else if (strcmp(name, "libc:mremap") == 0)
		class->form = LEAKS_REMAPS;
	else
		return;
	class->address = leaks_member_find(item, "address");
	class->old_length = leaks_member_find(item, "old_length");
	class->length = leaks_member_find(item, "length");
	class->flags = leaks_member_find(item, "flags");
	class->result = leaks_member_find(item, "result");
}

/* The end of a range, or LEAKS_MAP_FAILED: the kernel refuses such a range. */
static uint64_t leaks_mapping_end(uint64_t begin, uint64_t length)
{
	uint64_t end;

	if (begin % LEAKS_PAGE || !length ||
			__builtin_add_overflow(begin, length + LEAKS_PAGE - 1, &end) ||
			length > UINT64_MAX - LEAKS_PAGE)
		return LEAKS_MAP_FAILED;
	return end - end % LEAKS_PAGE;
}

static void leaks_mapping_removed(
		void *user, const struct leaks_mapping *mapping, uint64_t bytes, bool is_whole)
{
	struct leaks *leaks = user;
	struct leaks_image *image = &leaks->images[mapping->image];

	image->bytes -= bytes;
	image->blocks -= is_whole;
	leaks->live_bytes -= bytes;
}

static int leaks_mapping_remove(
		struct leaks *leaks, uint32_t image, uint64_t begin, uint64_t length)
{
	uint64_t end = leaks_mapping_end(begin, length);
	size_t before = leaks->mappings.count;
	int ret;

	if (end == LEAKS_MAP_FAILED)
		return 0;
	ret = leaks_mappings_remove(
			&leaks->mappings, image, begin, end, leaks_mapping_removed, leaks);
	/* The middle of a mapping was removed: the remainders are two blocks. */
	leaks->images[image].blocks += leaks->mappings.count > before;
	return ret;
}

/* A new mapping replaces the mappings at its addresses. */
static int leaks_mapping_add(struct leaks *leaks, struct leaks_call *call, uint64_t begin)
{
	struct leaks_mapping mapping = {.begin = begin,
			.end = leaks_mapping_end(begin, call->size),
			.ns = call->ns,
			.image = call->image,
			.stack = call->stack};
	int ret;

	if (mapping.end == LEAKS_MAP_FAILED)
		return 0;
	ret = leaks_mapping_remove(leaks, call->image, begin, call->size);
	call->size = mapping.end - begin;
	if (!ret)
		ret = leaks_mappings_add(&leaks->mappings, &mapping);
	return ret ? ret : leaks_count_allocation(leaks, call);
}

static int leaks_mapping_unmap(struct leaks *leaks, uint32_t image, uint64_t begin, uint64_t length)
{
	leaks->nr_frees++;
	return leaks_mapping_remove(leaks, image, begin, length);
}

int leaks_mapping_take(
		struct leaks *leaks, const struct leaks_class *class, const struct ctf_item *item)
{
	const struct leaks_mapping_class *mapping = &class->mapping;
	uint64_t address = leaks_member_number(&mapping->address, item);
	uint64_t result = leaks_member_number(&mapping->result, item);
	struct leaks_call call = {.image = class->image,
			.ns = item->ns,
			.size = leaks_member_number(&mapping->length, item)};
	int ret = 0;

	leaks->events++;
	if (mapping->form == LEAKS_UNMAPS)
		return leaks_mapping_unmap(leaks, class->image, address, call.size);
	if (result == LEAKS_MAP_FAILED) {
		leaks->failed++;
		return 0;
	}
	call.stack = leaks_stack_add(leaks, class, item);
	if (leaks->stacks.no_memory)
		return -ENOMEM;
	if (mapping->form == LEAKS_REMAPS &&
			!(leaks_member_number(&mapping->flags, item) & LEAKS_MREMAP_DONTUNMAP))
		ret = leaks_mapping_unmap(leaks, class->image, address,
				leaks_member_number(&mapping->old_length, item));
	return ret ? ret : leaks_mapping_add(leaks, &call, result);
}
