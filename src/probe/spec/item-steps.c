/* SPDX-License-Identifier: MIT */
/* Applies `*`, `[]` and `.` to an item, also of a library type or a complex number. */
#include "item-steps.h"

#include "base/nearest/nearest.h"
#include "library.h"
#include "numbers.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define DEPTH_MAX 8

int item_dereference(struct item *item, struct error *error)
{
	int ret;

	/* A reference of Rust can refer to an object of a library type: `*r` is that object. */
	if (!item->borrowed && library_dereference(item, &ret, error))
		return ret;
	return item_follow(item, error);
}

/* The index of the first element in the item's dimension. */
static int64_t first_index(struct item *item)
{
	struct type_dimension dimensions[TYPE_DIMENSIONS_MAX];

	if (item->is_address || dwarf_tag(&item->type) != DW_TAG_array_type ||
			item->dimension >= type_dimensions(&item->type, dimensions))
		return 0;
	return dimensions[item->dimension].lower;
}

int item_index(struct item *item, uint64_t index, struct error *error)
{
	int64_t lower = first_index(item), offset;
	uint64_t size;
	int ret;

	item->borrowed = false;
	ret = item_dereference(item, error);
	if (ret)
		return ret;
	if (!item_size(item, &size))
		return error_set(error, -EINVAL, "", "the size of the elements is unknown");
	if (__builtin_mul_overflow((int64_t)index - lower, (int64_t)size, &offset) ||
			offset > INT32_MAX || offset < INT32_MIN)
		return error_set(error, -ERANGE, "", "the element is too far away");
	if (item->where.kind != LOCATED_MEMORY) {
		item->at += (uint64_t)offset;
		return 0;
	}
	return fetch_add(&item->where.fetch, offset) ? item_too_long(error) : 0;
}

int item_member(struct item *item, const char *name, struct error *error)
{
	struct item_member member;
	struct nearest nearest;
	char hint[320] = "";
	bool has = false;
	uint64_t size;
	int ret = item_follow_to_members(item, error);

	if (!ret && !item->is_part && number_part(&item->type, &size) > NUMBER_NONE &&
			(!strcmp(name, "real") || !strcmp(name, "imag")))
		return number_enter(item, *name == 'i', error);
	nearest_begin(&nearest, name);
	/* Smart pointers are followed too. */
	for (unsigned int i = 0; i < DEPTH_MAX && !ret && !has; i++) {
		has = item_find_member(item, name, &nearest, &member);
		if (has || !library_pointee(item, &ret, error))
			break;
		item_complete(item);
	}
	if (ret)
		return ret;
	if (has)
		return item_enter_member(item, &member, error);
	nearest_text(&nearest, "", hint, sizeof(hint));
	return error_set(error, -ENOENT, hint, "%s has no member `%.128s`",
			dwarf_diename(&item->type) ? dwarf_diename(&item->type) : "the value",
			name);
}
