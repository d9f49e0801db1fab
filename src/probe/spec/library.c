/* SPDX-License-Identifier: MIT */
/*
 * Values of standard library types: strings, vectors, spans, views, owning and shared pointers, and
 * optional values of libstdc++, libc++, Rust and Go.
 *
 * Types are recognized by the names of their members, whatever the type is called. A type with
 * other members is an ordinary structure.
 */
#include "library.h"

#include "numbers.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define DEPTH_MAX 8
#define TEMPLATE_MAX 64
#define WRAPPED_MAX 8

/* ---- paths to a member ---- */

/*
 * Follows the path "a.b.c". Returns false if a member is missing; `item` is then at the last member
 * that was found.
 */
static bool spec_library_walk_path(struct item *item, const char *path)
{
	char name[64];

	while (*path) {
		size_t length = strcspn(path, ".");

		if (length >= sizeof(name))
			return false;
		memcpy(name, path, length);
		name[length] = '\0';
		if (item_own_member(item, name))
			return false;
		path += length + (path[length] == '.');
	}
	return true;
}

/* Follows the first of the paths that exists. */
static bool library_walk_first(
		const struct item *from, const char *const *paths, struct item *ret_item)
{
	for (; *paths; paths++) {
		*ret_item = *from;
		if (spec_library_walk_path(ret_item, *paths))
			return true;
	}
	return false;
}

static bool spec_library_is_pointer(struct item *item)
{
	return dwarf_tag(&item->type) == DW_TAG_pointer_type && !item->is_address;
}

static bool spec_library_is_structure(struct item *item)
{
	int tag = dwarf_tag(&item->type);

	return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type) && !item->is_address &&
			!item->is_count && !item->dimension;
}

/* ---- arguments of templates ---- */

static bool find_template(Dwarf_Die *type, int tag, const char *name, Dwarf_Die *ret_found)
{
	unsigned int count = 0;

	if (dwarf_child(type, ret_found))
		return false;
	do {
		const char *own = dwarf_diename(ret_found);

		if (dwarf_tag(ret_found) == tag && own && !strcmp(own, name))
			return true;
	} while (count++ < TEMPLATE_MAX && !dwarf_siblingof(ret_found, ret_found));
	return false;
}

/* The extent of a span; -1: dynamic, stored in the object. */
static int64_t spec_library_get_extent(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword extent;
	Dwarf_Die found;

	if (!find_template(type, DW_TAG_template_value_parameter, "_Extent", &found) ||
			!dwarf_attr(&found, DW_AT_const_value, &attribute) ||
			dwarf_formsdata(&attribute, &extent))
		return -1;
	return extent;
}

/* ---- wrapped numbers ---- */

/* Finds the only member with a size, if it is as large as the whole type. */
static bool library_find_only_part(Dwarf_Die *type, uint64_t whole, Dwarf_Die *ret_only)
{
	unsigned int count = 0;
	Dwarf_Die child;

	if (dwarf_child(type, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		Dwarf_Die part, inner;
		uint64_t size;

		if (tag == DW_TAG_variant_part)
			return false;
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
				dwarf_hasattr(&child, DW_AT_external) ||
				dwarf_hasattr(&child, DW_AT_declaration))
			continue;
		if (dwarf_hasattr(&child, DW_AT_bit_size) || !type_of(&child, &part))
			return false;
		/* An empty class of C++ has a size of 1. */
		if (!type_size(&part, &size) || !size || (size == 1 && dwarf_child(&part, &inner)))
			if (dwarf_tag(&part) != DW_TAG_base_type)
				continue;
		if (count++ || size != whole)
			return false;
		*ret_only = child;
	} while (!dwarf_siblingof(&child, &child));
	return count == 1;
}

/* Whether users treat a value of this type as the value in it. */
static bool library_is_wrapper(Dwarf_Die *type, Dwarf_Die *only_member)
{
	static const char *const names[] = {"atomic<", "atomic_", "Atomic", "Cell<", "UnsafeCell<",
			"NonZero", "Wrapping<", "ManuallyDrop<", NULL};
	const char *name = dwarf_diename(type), *member = dwarf_diename(only_member);

	for (size_t i = 0; name && names[i]; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return member && !strcmp(member, "__0");
}

bool library_unwrap(struct item *item)
{
	struct error ignored;
	struct item inner = *item;

	for (unsigned int i = 0; i < WRAPPED_MAX; i++) {
		int tag = dwarf_tag(&inner.type);
		uint64_t whole;
		Dwarf_Die part;

		if (tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type ||
				tag == DW_TAG_pointer_type) {
			*item = inner;
			return i > 0;
		}
		item_complete(&inner);
		if ((tag != DW_TAG_structure_type && tag != DW_TAG_class_type) ||
				!type_size(&inner.type, &whole) ||
				!library_find_only_part(&inner.type, whole, &part) ||
				(!i && !library_is_wrapper(&inner.type, &part)) ||
				item_enter(&inner, &part, &ignored))
			return false;
	}
	return false;
}

/* ---- sequences ---- */

static bool spec_library_is_named(Dwarf_Die *type, const char *begin)
{
	const char *name = dwarf_diename(type);

	return name && !strncmp(name, begin, strlen(begin));
}

static void spec_library_set_count(struct sequence *sequence, struct item *count)
{
	struct error ignored;
	struct value value = {.type = 0};
	uint64_t size = 0;

	(void)library_unwrap(count);
	if (!type_size(&count->type, &size) || !number_field_type(&count->type, size) ||
			number_scalar_value(count, &value, size, &ignored)) {
		sequence->lost = true;
		return;
	}
	sequence->count = value.fetch;
	if (value.size < 8 &&
			fetch_op(&sequence->count, PROBE_FETCH_ZERO_EXTEND, 0, 8u * value.size, 0))
		sequence->lost = true;
}

/* Set the first element, from a pointer to it. Its type is `element`, or the pointer's. */
static bool set_first(struct sequence *sequence, struct item *pointer, Dwarf_Die *element)
{
	struct error ignored;

	if (!spec_library_is_pointer(pointer))
		return false;
	if (item_follow(pointer, &ignored))
		sequence->lost = true;
	sequence->first = *pointer;
	if (element)
		sequence->first.type = *element;
	return true;
}

/* No C program has a type with the name that Rust uses for slices. */
static bool is_slice(Dwarf_Die *type)
{
	return spec_library_is_named(type, "&") || spec_library_is_named(type, "*const ") ||
			spec_library_is_named(type, "*mut ") ||
			spec_library_is_named(type, "alloc::boxed::Box<");
}

/* A pointer and a count. */
static bool read_counted(const struct item *item, struct sequence *sequence)
{
	static const char *const pointers[] = {
			"_M_str", "_M_ptr", "_M_array", "__data_", "__data", NULL};
	static const char *const counts[] = {
			"_M_len", "_M_extent._M_extent_value", "__size_", "__size", NULL};
	static const char *const rust_pointers[] = {"data_ptr", NULL};
	static const char *const rust_counts[] = {"length", NULL};
	struct item pointer, count, whole = *item;
	bool slice = is_slice(&whole.type);

	if (!library_walk_first(item, slice ? rust_pointers : pointers, &pointer) ||
			!spec_library_is_pointer(&pointer))
		return false;
	if (library_walk_first(item, slice ? rust_counts : counts, &count)) {
		spec_library_set_count(sequence, &count);
	} else if (spec_library_is_named(&whole.type, "span<") &&
			spec_library_get_extent(&whole.type) >= 0) {
		sequence->fixed = (uint64_t)spec_library_get_extent(&whole.type);
	} else {
		return false;
	}
	sequence->text = spec_library_is_named(&whole.type, "&str") ||
			spec_library_is_named(&whole.type, "&mut str") ||
			spec_library_is_named(&whole.type, "alloc::boxed::Box<str");
	return set_first(sequence, &pointer, NULL);
}

static bool load_pointer(struct item *pointer, struct fetch *ret_fetch)
{
	struct error ignored;
	struct item copy = *pointer;

	if (item_load(&copy, 8, &ignored))
		return false;
	*ret_fetch = copy.where.fetch;
	return true;
}

/* Two pointers: to the first element, and behind the last one. */
static bool read_vector(const struct item *item, struct sequence *sequence)
{
	static const char *const begins[] = {"_M_impl._M_start", "__begin_", NULL};
	static const char *const ends[] = {"_M_impl._M_finish", "__end_", NULL};
	struct fetch begin, divisor = {.nr_ops = 0};
	struct item first, last;
	Dwarf_Die element;
	uint64_t size;

	if (!library_walk_first(item, begins, &first) || !library_walk_first(item, ends, &last) ||
			!spec_library_is_pointer(&first) || !spec_library_is_pointer(&last) ||
			!type_of(&first.type, &element) || !type_size(&element, &size) || !size)
		return false;
	sequence->lost = !load_pointer(&last, &sequence->count) || !load_pointer(&first, &begin) ||
			fetch_calculate(&sequence->count, PROBE_SUM_MINUS, &begin) ||
			fetch_op(&divisor, PROBE_FETCH_CONSTANT, 0, 0, (int64_t)size) ||
			(size > 1 && fetch_calculate(&sequence->count, PROBE_SUM_DIVIDE, &divisor));
	return set_first(sequence, &first, NULL);
}

/* Vec and String of Rust. */
static bool read_vec(const struct item *item, struct sequence *sequence)
{
	static const char *const pointers[] = {"buf.inner.ptr.pointer.pointer",
			"buf.ptr.pointer.pointer", "buf.ptr.pointer", NULL};
	struct item whole = *item, pointer, count;
	Dwarf_Die parameter, element;

	sequence->text = spec_library_is_named(&whole.type, "String");
	if (sequence->text && !spec_library_walk_path(&whole, "vec"))
		return false;
	count = whole;
	if (!spec_library_is_named(&whole.type, "Vec<") ||
			!library_walk_first(&whole, pointers, &pointer) ||
			!spec_library_walk_path(&count, "len"))
		return false;
	if (!find_template(&whole.type, DW_TAG_template_type_parameter, "T", &parameter) ||
			!type_of(&parameter, &element))
		return false;
	spec_library_set_count(sequence, &count);
	return set_first(sequence, &pointer, &element);
}

/* string and slices of Go. */
static bool read_go(const struct item *item, struct sequence *sequence)
{
	struct item whole = *item, pointer = *item, count = *item;
	const char *name = dwarf_diename(&whole.type);

	sequence->text = name && !strcmp(name, "string");
	if ((!sequence->text && !spec_library_is_named(&whole.type, "[]")) ||
			!spec_library_walk_path(&pointer, sequence->text ? "str" : "array") ||
			!spec_library_walk_path(&count, "len"))
		return false;
	spec_library_set_count(sequence, &count);
	return set_first(sequence, &pointer, NULL);
}

/* An optional value: no element or one. */
static bool spec_library_read_optional(const struct item *item, struct sequence *sequence)
{
	static const char *const values[] = {"_M_payload._M_payload._M_value", "__val_", NULL};
	static const char *const flags[] = {"_M_payload._M_engaged", "__engaged_", NULL};
	struct item flag;

	sequence->optional = true;
	if (!library_walk_first(item, values, &sequence->first) ||
			!library_walk_first(item, flags, &flag))
		return false;
	spec_library_set_count(sequence, &flag);
	return true;
}

/* An array in a structure. */
static bool spec_library_read_array(const struct item *item, struct sequence *sequence)
{
	static const char *const arrays[] = {"_M_elems", "__elems_", NULL};
	struct type_dimension dimensions[TYPE_DIMENSIONS_MAX];
	struct error ignored;
	struct item array;

	if (!library_walk_first(item, arrays, &array) ||
			dwarf_tag(&array.type) != DW_TAG_array_type ||
			type_dimensions(&array.type, dimensions) != 1 || !dimensions[0].count)
		return false;
	sequence->fixed = dimensions[0].count;
	sequence->first = array;
	return !item_follow(&sequence->first, &ignored);
}

bool library_sequence(struct item *item, struct sequence *ret_sequence)
{
	static bool (*const matchers[])(const struct item *item, struct sequence *ret_sequence) = {
			read_counted, read_vector, read_vec, read_go, spec_library_read_optional,
			spec_library_read_array};

	if (!spec_library_is_structure(item))
		return false;
	item_complete(item);
	for (size_t i = 0; i < sizeof(matchers) / sizeof(matchers[0]); i++) {
		*ret_sequence = (struct sequence){.fixed = 0};
		if (matchers[i](item, ret_sequence))
			return true;
	}
	return false;
}

/* ---- pointers ---- */

/*
 * The first member of that name that is a pointer, searching base classes too: a tuple has several.
 */
static bool find_pointer(const struct item *item, const char *name, struct item *ret_found,
		unsigned int depth)
{
	struct item whole = *item, part;
	struct error ignored;
	Dwarf_Die child;

	if (depth == DEPTH_MAX || dwarf_child(&whole.type, &child))
		return false;
	do {
		const char *own = dwarf_diename(&child);
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_member && own && !strcmp(own, name)) {
			part = *item;
			if (!item_enter(&part, &child, &ignored) &&
					spec_library_is_pointer(&part)) {
				*ret_found = part;
				return true;
			}
		} else if (tag == DW_TAG_inheritance) {
			part = *item;
			if (!item_enter(&part, &child, &ignored) &&
					find_pointer(&part, name, ret_found, depth + 1))
				return true;
		}
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

/*
 * Finds a pointer in a structure. If the object that it points to contains the value in a member,
 * `*ret_inside` is the name of that member.
 */
static bool find_plain(const struct item *item, struct item *ret_found, const char **ret_inside)
{
	static const char *const shared[] = {"_M_ptr", "__ptr_", "_M_data", NULL};
	static const char *const unsafe[] = {"ptr.pointer", "pointer.pointer", "pointer", NULL};
	struct item tuple = *item, whole = *item;

	*ret_inside = NULL;
	if (spec_library_walk_path(&tuple, "_M_t")) {
		struct item inner = tuple;

		if (find_pointer(spec_library_walk_path(&inner, "_M_t") ? &inner : &tuple,
				    "_M_head_impl", ret_found, 0))
			return true;
	}
	if (library_walk_first(item, shared, ret_found) && spec_library_is_pointer(ret_found))
		return true;
	if (spec_library_is_named(&whole.type, "Rc<"))
		*ret_inside = "value";
	else if (spec_library_is_named(&whole.type, "Arc<"))
		*ret_inside = "data";
	else if (!spec_library_is_named(&whole.type, "NonNull<") &&
			!spec_library_is_named(&whole.type, "Unique<"))
		return false;
	return library_walk_first(item, unsafe, ret_found) && spec_library_is_pointer(ret_found);
}

int library_lost(struct error *error)
{
	return error_set(error, -ENOENT, "probe another location, or compile with -O0 or -Og",
			"the compiler has optimized a part of it out at this location");
}

bool library_dereference(struct item *item, int *ret_status, struct error *error)
{
	struct sequence sequence;
	if (!spec_library_is_structure(item))
		return false;
	item_complete(item);
	if (!library_sequence(item, &sequence))
		return library_pointee(item, ret_status, error);
	*ret_status = sequence.lost && !sequence.optional ? library_lost(error) : 0;
	*item = sequence.first;
	return true;
}

bool library_pointee(struct item *item, int *ret_status, struct error *error)
{
	struct item found;
	const char *inside;

	if (!spec_library_is_structure(item) || !find_plain(item, &found, &inside))
		return false;
	*item = found;
	*ret_status = item_follow(item, error);
	if (!*ret_status && inside && item_own_member(item, inside))
		*ret_status = library_lost(error);
	return true;
}

bool library_pointer(struct item *item)
{
	struct item found;
	const char *inside;

	if (!spec_library_is_structure(item) || !find_plain(item, &found, &inside))
		return false;
	*item = found;
	return true;
}

/* ---- methods ---- */

static bool spec_library_is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names) != 0)
		names++;
	return *names;
}

/* Replaces the item by the number of elements. */
static void library_replace_by_count(struct item *item, const struct sequence *sequence)
{
	item->where = (struct located){.kind = LOCATED_VALUE};
	if (sequence->fixed)
		(void)fetch_op(&item->where.fetch, PROBE_FETCH_CONSTANT, 0, 0,
				(int64_t)sequence->fixed);
	else
		item->where.fetch = sequence->count;
	item->at = 0;
	item->bits = 0;
	item->is_count = true;
}

static bool string_length(const struct item *item, struct sequence *ret_sequence)
{
	struct item length = *item;

	*ret_sequence = (struct sequence){.fixed = 0};
	if (!type_is_string(&length.type) || !spec_library_walk_path(&length, "_M_string_length"))
		return false;
	spec_library_set_count(ret_sequence, &length);
	return true;
}

int library_method(struct item *item, const char *name, struct error *error)
{
	static const char *const counts[] = {"size", "length", "len", "has_value", "is_some", NULL};
	static const char *const pointers[] = {"data", "c_str", "begin", "get", "as_ptr", NULL};
	struct sequence sequence;
	struct item found;
	const char *inside;

	item_complete(item);
	if (spec_library_is_one_of(name, counts) &&
			(library_sequence(item, &sequence) || string_length(item, &sequence))) {
		if (sequence.lost)
			return library_lost(error);
		library_replace_by_count(item, &sequence);
		return 0;
	}
	if (spec_library_is_one_of(name, pointers)) {
		found = *item;
		if (type_is_string(&item->type) &&
				spec_library_walk_path(&found, "_M_dataplus._M_p")) {
			*item = found;
			return 0;
		}
		if (library_sequence(item, &sequence) &&
				sequence.first.where.kind == LOCATED_MEMORY) {
			*item = sequence.first;
			return item_address(item, error);
		}
		if (spec_library_is_structure(item) && find_plain(item, &found, &inside)) {
			*item = found;
			return 0;
		}
	}
	return error_set(error, -ENOTSUP,
			"a probe does not call functions; `size()`, `length()`, `data()`, `get()` and `has_value()` of standard libraries are supported",
			"the result of `%.64s()` is not known", name);
}
