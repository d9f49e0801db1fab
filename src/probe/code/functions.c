/* SPDX-License-Identifier: MIT */
/* Makes the list of functions from symbols and unwind data, each address once. */
#include "parts.h"
#include "base/inside/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many names of one address are compared: in a damaged file, all names may have one address. */
#define ALIASES_COMPARED 64

static int function_compare_name(const void *left, const void *right)
{
	const struct code_name_entry *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (!a->name || !b->name)
		return !a->name - !b->name;
	return strcmp(a->name, b->name);
}

/* Returns an entry with the same address and name among the last kept ones, or NULL. */
static struct code_name_entry *function_find_duplicate(
		struct code_file *file, size_t kept, const struct code_name_entry *entry)
{
	for (size_t i = kept; i-- > 0 && kept - i <= ALIASES_COMPARED;) {
		struct code_name_entry *other = &file->names[i];

		if (other->address != entry->address)
			return NULL;
		if (!strcmp(other->name, entry->name))
			return other;
	}
	return NULL;
}

static void function_drop_duplicates(struct code_file *file)
{
	size_t kept = 0;

	for (size_t i = 0; i < file->nr_names; i++) {
		struct code_name_entry *entry = &file->names[i],
				       *same = function_find_duplicate(file, kept, entry);

		/* .symtab repeats the names of .dynsym, possibly with another rank. */
		if (same) {
			if (entry->size > same->size)
				same->size = entry->size;
			same->is_old_version &= entry->is_old_version;
			continue;
		}
		file->names[kept++] = *entry;
	}
	file->nr_names = kept;
}

/* Sets the end of functions of unknown size: the next function, or the end of the code. */
static void function_set_sizes(struct code_file *file)
{
	for (size_t i = 0; i < file->nr_functions; i++) {
		struct code_function *function = &file->functions[i];
		const struct code_segment *segment = code_executable(file, function->address);
		uint64_t end = segment->address + segment->size;

		if (i + 1 < file->nr_functions && file->functions[i + 1].address < end)
			end = file->functions[i + 1].address;
		if (!function->size ||
				function->size > segment->address + segment->size -
								function->address)
			function->size = end - function->address;
	}
}

static int function_compare_frame(const void *left, const void *right)
{
	const struct code_frame *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

int code_make_functions(struct code_file *file)
{
	size_t name = 0, frame = 0;

	if (file->nr_names)
		qsort(file->names, file->nr_names, sizeof(*file->names), function_compare_name);
	if (file->nr_frames)
		qsort(file->frames, file->nr_frames, sizeof(*file->frames), function_compare_frame);
	function_drop_duplicates(file);
	file->functions = calloc(file->nr_names + file->nr_frames + 1, sizeof(*file->functions));
	if (!file->functions)
		return -ENOMEM;
	while (name < file->nr_names || frame < file->nr_frames) {
		struct code_function *function = &file->functions[file->nr_functions++];
		uint64_t address = name < file->nr_names ? file->names[name].address : UINT64_MAX;

		if (frame < file->nr_frames && file->frames[frame].address < address)
			address = file->frames[frame].address;
		*function = (struct code_function){.address = address, .first_name = name};
		for (; name < file->nr_names && file->names[name].address == address; name++) {
			function->nr_names++;
			function->chooses |= file->names[name].chooses;
			if (!function->size)
				function->size = file->names[name].size;
		}
		for (; frame < file->nr_frames && file->frames[frame].address == address; frame++) {
			if (!function->size)
				function->size = file->frames[frame].size;
		}
	}
	function_set_sizes(file);
	return 0;
}

size_t code_functions(const struct code_file *file, const struct code_function **ret_functions)
{
	*ret_functions = file->functions;
	return file->nr_functions;
}

const char *code_name(
		const struct code_file *file, const struct code_function *function, size_t index)
{
	if (index >= function->nr_names)
		return NULL;
	return code_is_plt(file, function) ? code_plt_full_name(file, function)
					   : file->names[function->first_name + index].name;
}

bool code_name_is_former(
		const struct code_file *file, const struct code_function *function, size_t index)
{
	return index < function->nr_names && !code_is_plt(file, function) &&
			file->names[function->first_name + index].is_old_version;
}

const struct code_function *code_function_at(const struct code_file *file, uint64_t address)
{
	size_t low = search_leading(i, file->nr_functions, file->functions[i].address <= address);
	const struct code_function *found;

	if (!low)
		return NULL;
	found = &file->functions[low - 1];
	return address - found->address < found->size ? found : NULL;
}
