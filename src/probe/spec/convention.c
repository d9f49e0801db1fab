/* SPDX-License-Identifier: MIT */
/*
 * Locate arguments at a function's first instruction, and return values at its exit, by the System
 * V calling convention for x86-64.
 *
 * Compilers that do not optimize record only where the function stores its arguments a moment
 * later.
 */
#include "locate.h"

#include "numbers.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define MEMBERS_MAX 1024
#define DEPTH_MAX 8
#define NONTRIVIAL_DEPTH_MAX 3 /* nesting of members that are searched for destructors */

/*
 * CLASS_UPPER: the upper half of a vector register whose lower half is the previous class (SSEUP).
 */
enum argument_class { CLASS_NONE, CLASS_INTEGER, CLASS_FLOAT, CLASS_UPPER, CLASS_MEMORY };

/* The argument classes of both halves of a value of at most 16 bytes. */
struct classes {
	enum argument_class half[2];
	uint64_t size, align;
	/*
	 * contains a long double: passed in memory, but returned in an x87 register, which no probe
	 * can read
	 */
	bool x87;
	bool x87_pair;   /* contains two of them: larger, otherwise the same */
	bool is_unknown; /* the location of the return value is unknown */
	bool quad;       /* contains a binary128 */
	bool vector;     /* both halves are in one register */
};

static bool convention_is_nontrivial(Dwarf_Die *type, unsigned int depth);
static bool rust_by_reference(Dwarf_Die *type);

/*
 * Whether this child gives its class a destructor, a copy constructor or a virtual table, or is a
 * member whose type has one.
 */
static bool convention_makes_nontrivial(Dwarf_Die *child, unsigned int depth)
{
	const char *name = dwarf_diename(child);
	int tag = dwarf_tag(child);
	Dwarf_Die part;

	if (tag == DW_TAG_subprogram)
		return name && *name == '~' && !dwarf_hasattr(child, DW_AT_artificial) &&
				!dwarf_hasattr(child, DW_AT_defaulted);
	if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
		return false;
	if (name && !strncmp(name, "_vptr", 5))
		return true;
	return !dwarf_hasattr(child, DW_AT_external) && type_of(child, &part) &&
			convention_is_nontrivial(&part, depth + 1);
}

static bool convention_is_nontrivial(Dwarf_Die *type, unsigned int depth)
{
	unsigned int count = 0;
	Dwarf_Die child;
	int tag = dwarf_tag(type);

	if ((tag != DW_TAG_structure_type && tag != DW_TAG_class_type) ||
			depth > NONTRIVIAL_DEPTH_MAX || dwarf_child(type, &child))
		return false;
	do {
		if (convention_makes_nontrivial(&child, depth))
			return true;
	} while (count++ < MEMBERS_MAX && !dwarf_siblingof(&child, &child));
	return false;
}

/*
 * Whether C++ passes the object by address. Before DWARF 5 the compiler does not record this, but
 * its members imply it.
 */
static bool is_by_reference(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention;

	if (dwarf_attr_integrate(type, DW_AT_calling_convention, &attribute) &&
			!dwarf_formudata(&attribute, &convention))
		return convention == DW_CC_pass_by_reference;
	return rust_by_reference(type) || type_is_standard_string(type) ||
			convention_is_nontrivial(type, 0);
}

static void spec_convention_add_class(
		struct classes *classes, uint64_t offset, enum argument_class kind)
{
	enum argument_class *half = &classes->half[offset >= 8];

	if (kind == CLASS_MEMORY || offset >= 16)
		classes->half[0] = classes->half[1] = CLASS_MEMORY;
	else if (*half == CLASS_NONE || kind == CLASS_INTEGER ||
			(*half == CLASS_UPPER && kind == CLASS_FLOAT))
		*half = *half == CLASS_MEMORY ? CLASS_MEMORY : kind;
}

static void add_type(struct classes *classes, Dwarf_Die *type, uint64_t offset, unsigned int depth);

static void spec_convention_classify_members(
		struct classes *classes, Dwarf_Die *type, uint64_t offset, unsigned int depth)
{
	Dwarf_Die child;
	unsigned int count = 0;

	if (dwarf_child(type, &child))
		return;
	do {
		Dwarf_Attribute attribute;
		Dwarf_Word at = 0, bits;
		Dwarf_Die member;
		uint64_t size;
		int tag = dwarf_tag(&child);

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
				dwarf_hasattr(&child, DW_AT_external) || !type_of(&child, &member))
			continue;
		if (dwarf_attr_integrate(&child, DW_AT_data_member_location, &attribute))
			(void)dwarf_formudata(&attribute, &at);
		else if (dwarf_attr_integrate(&child, DW_AT_data_bit_offset, &attribute) &&
				!dwarf_formudata(&attribute, &bits))
			at = bits / 8;
		/* Bit fields: the whole number that contains the first bit. */
		if (dwarf_hasattr(&child, DW_AT_bit_size) && type_size(&member, &size) && size)
			at -= at % size;
		add_type(classes, &member, offset + at, depth + 1);
	} while (count++ < MEMBERS_MAX && !dwarf_siblingof(&child, &child));
}

static bool is_float(enum number_form form, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = DW_ATE_signed;

	if (form != NUMBER_PLAIN)
		return form == NUMBER_HALF || form == NUMBER_BFLOAT || form == NUMBER_QUAD ||
				form == NUMBER_DECIMAL;
	if (dwarf_attr_integrate(type, DW_AT_encoding, &attribute))
		(void)dwarf_formudata(&attribute, &encoding);
	return encoding == DW_ATE_float || encoding == DW_ATE_complex_float;
}

static void spec_convention_classify_number(struct classes *classes, enum number_form form,
		bool floating, uint64_t offset, uint64_t size)
{
	if (size > 8 && size > classes->align)
		classes->align = size;
	/* Members that are packed and therefore not aligned are passed in memory. */
	if (!size || offset % size || size > 16) {
		spec_convention_add_class(classes, offset, CLASS_MEMORY);
		return;
	}
	if (form == NUMBER_EXTENDED) {
		classes->x87 = true;
		spec_convention_add_class(classes, offset, CLASS_MEMORY);
		return;
	}
	classes->quad |= form == NUMBER_QUAD;
	spec_convention_add_class(classes, offset, floating ? CLASS_FLOAT : CLASS_INTEGER);
	if (size == 16)
		spec_convention_add_class(
				classes, offset + 8, floating ? CLASS_UPPER : CLASS_INTEGER);
}

static void add_base(struct classes *classes, Dwarf_Die *type, uint64_t offset)
{
	enum number_form form = number_form(type), part_form;
	int bytes = dwarf_bytesize(type);
	uint64_t size = bytes > 0 ? (uint64_t)bytes : 0, part;

	if (form != NUMBER_COMPLEX) {
		spec_convention_classify_number(classes, form, is_float(form, type), offset, size);
		return;
	}
	part_form = number_part(type, &part);
	spec_convention_classify_number(classes, part_form, true, offset, part);
	spec_convention_classify_number(classes, part_form, true, offset + part, part);
}

/* A complex long double is passed in memory, and returned in two x87 registers. */
static void add_large(struct classes *classes, Dwarf_Die *type)
{
	uint64_t size;
	enum number_form form = number_part(type, &size);

	/* Its alignment depends on its members. */
	add_type(classes, type, 0, 0);
	classes->half[0] = CLASS_MEMORY;
	classes->x87 = classes->x87_pair = form == NUMBER_EXTENDED;
	classes->is_unknown = form == NUMBER_UNKNOWN;
}

static void spec_convention_end_classes(struct classes *classes)
{
	if (classes->half[1] != CLASS_UPPER)
		return;
	classes->half[1] = CLASS_FLOAT;
	classes->vector = classes->half[0] == CLASS_FLOAT;
}

/*
 * Vectors of numbers are passed in one register. How larger ones are passed depends on compiler
 * options.
 */
static bool add_vector(struct classes *classes)
{
	classes->align = classes->size;
	classes->half[0] = CLASS_FLOAT;
	classes->half[1] = classes->size == 16 ? CLASS_FLOAT : CLASS_NONE;
	classes->vector = true;
	return classes->size <= 16;
}

static void add_type(struct classes *classes, Dwarf_Die *type, uint64_t offset, unsigned int depth)
{
	Dwarf_Die element;
	uint64_t size;

	if (depth > DEPTH_MAX) {
		spec_convention_add_class(classes, offset, CLASS_MEMORY);
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type: add_base(classes, type, offset); break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		spec_convention_classify_members(classes, type, offset, depth);
		break;
	case DW_TAG_array_type:
		if (dwarf_hasattr_integrate(type, DW_AT_GNU_vector) && type_size(type, &size)) {
			spec_convention_classify_number(classes, NUMBER_PLAIN, true, offset, size);
			break;
		}
		if (!type_of(type, &element) || !type_size(&element, &size) || !size) {
			spec_convention_add_class(classes, offset, CLASS_MEMORY);
			break;
		}
		for (uint64_t at = offset; at < classes->size && at < 16; at += size)
			add_type(classes, &element, at, depth + 1);
		break;
	default: spec_convention_add_class(classes, offset, CLASS_INTEGER);
	}
}

/* ---- Rust ---- */

static bool is_rust(Dwarf_Die *thing)
{
	Dwarf_Die unit;

	return dwarf_diecu(thing, &unit, NULL, NULL) && dwarf_srclang(&unit) == DW_LANG_Rust;
}

static bool is_aggregate(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_array_type;
}

/*
 * Returns the number of members that have a size; -1: the type is an enum with variants, which does
 * not determine how it is passed.
 */
static int rust_members(Dwarf_Die *type, Dwarf_Die *ret_first)
{
	unsigned int count = 0;
	Dwarf_Die child, part;
	uint64_t size;

	if (dwarf_tag(type) != DW_TAG_structure_type)
		return -1;
	if (dwarf_child(type, &child))
		return 0;
	do {
		if (dwarf_tag(&child) == DW_TAG_variant_part)
			return -1;
		if (dwarf_tag(&child) != DW_TAG_member || !type_of(&child, &part) ||
				(type_size(&part, &size) && !size))
			continue;
		if (!count++)
			*ret_first = part;
	} while (count < MEMBERS_MAX && !dwarf_siblingof(&child, &child));
	return (int)count;
}

/*
 * The calling convention of Rust is unspecified. This code follows what all its compilers do:
 * single numbers as in C, types of more than 16 bytes by address, two members of 8 bytes in two
 * registers, and no register for types without size. Other types, and all arguments after one of
 * them, cannot be located.
 */
static bool classify_rust(Dwarf_Die *type, struct classes *classes)
{
	Dwarf_Die inner = *type, first;

	for (unsigned int depth = 0; is_aggregate(&inner); depth++) {
		int members = rust_members(&inner, &first);

		if (members == 2 && classes->size == 16) {
			add_type(classes, &inner, 0, 0);
			return classes->half[0] == CLASS_INTEGER &&
					classes->half[1] == CLASS_INTEGER;
		}
		if (members != 1 || depth > DEPTH_MAX)
			return false;
		inner = first;
	}
	add_type(classes, &inner, 0, 0);
	return classes->half[0] != CLASS_MEMORY;
}

static bool rust_by_reference(Dwarf_Die *type)
{
	uint64_t size;

	return is_aggregate(type) && is_rust(type) && type_size(type, &size) && size > 16;
}

/*
 * Versions of clang differ in whether a structure that contains a binary128 is passed in a
 * register.
 */
static bool is_clang(Dwarf_Die *thing)
{
	Dwarf_Attribute attribute;
	Dwarf_Die unit;
	const char *producer = dwarf_diecu(thing, &unit, NULL, NULL) &&
					dwarf_attr_integrate(&unit, DW_AT_producer, &attribute)
			? dwarf_formstring(&attribute)
			: NULL;

	return producer && strstr(producer, "clang");
}

/* Returns false if the size of the type is unknown. */
static bool spec_convention_classify_type(Dwarf_Die *type, struct classes *ret_classes)
{
	uint64_t size;

	*ret_classes = (struct classes){.size = 8, .align = 8};
	if (is_by_reference(type)) {
		ret_classes->half[0] = CLASS_INTEGER;
		return true;
	}
	if (!type_size(type, &size))
		return false;
	ret_classes->size = size;
	if (!size)
		return true;
	if (is_aggregate(type) && is_rust(type))
		return classify_rust(type, ret_classes);
	if (dwarf_hasattr_integrate(type, DW_AT_GNU_vector))
		return add_vector(ret_classes);
	if (size > 16)
		add_large(ret_classes, type);
	else
		add_type(ret_classes, type, 0, 0);
	spec_convention_end_classes(ret_classes);
	ret_classes->is_unknown |= ret_classes->quad && is_aggregate(type) && is_clang(type);
	return true;
}

/* Whether the value is returned in x87 registers. */
static bool is_in_x87(const struct classes *classes)
{
	return classes->x87 && (classes->size <= 16 || classes->x87_pair);
}

/* ---- arguments ---- */

struct argument_cursor {
	unsigned int integers, floats;
	uint64_t stack; /* offset from the return address */
};

static int convention_argument_half(
		struct argument_cursor *cursor, enum argument_class kind, struct fetch *fetch)
{
	static const uint8_t registers[6] = {5, 4, 1, 2, 8, 9};

	if (kind == CLASS_FLOAT)
		return fetch_op(fetch, PROBE_FETCH_VECTOR, cursor->floats++, 0, 0);
	return fetch_op(fetch, PROBE_FETCH_REGISTER, registers[cursor->integers++], 0, 0);
}

/* Locate each half in the next register of its class. */
static void convention_locate_halves(struct argument_cursor *cursor, const struct classes *classes,
		int (*locate_half)(struct argument_cursor *cursor, enum argument_class kind,
				struct fetch *fetch),
		struct located *located)
{
	located->kind = LOCATED_VALUE;
	for (unsigned int i = 0; i < 2 && 8 * i < classes->size; i++) {
		struct fetch fetch = {.nr_ops = 0};
		uint64_t remainder = classes->size - 8 * i;

		if (classes->vector && i)
			(void)fetch_op(&fetch, PROBE_FETCH_VECTOR, cursor->floats - 1, 0, 8);
		else if (classes->half[i] != CLASS_NONE)
			(void)locate_half(cursor, classes->half[i], &fetch);
		if (classes->size <= 8)
			located->fetch = fetch;
		else
			(void)locate_piece(located, fetch.nr_ops ? LOCATED_VALUE : LOCATED_NOWHERE,
					remainder < 8 ? remainder : 8, &fetch);
	}
}

static void spec_convention_assign_registers(struct argument_cursor *cursor,
		const struct classes *classes, struct located *ret_located)
{
	unsigned int integers = 0, floats = 0;

	for (unsigned int i = 0; i < (classes->vector ? 1 : 2); i++) {
		integers += classes->half[i] == CLASS_INTEGER;
		floats += classes->half[i] == CLASS_FLOAT;
	}
	*ret_located = (struct located){.kind = LOCATED_MEMORY};
	if (classes->half[0] == CLASS_MEMORY || cursor->integers + integers > 6 ||
			cursor->floats + floats > 8) {
		cursor->stack = (cursor->stack + classes->align - 1) & ~(classes->align - 1);
		(void)fetch_op(&ret_located->fetch, PROBE_FETCH_REGISTER, FETCH_RSP, 0, 0);
		(void)fetch_add(&ret_located->fetch, (int64_t)(8 + cursor->stack));
		cursor->stack += (classes->size + 7) & ~UINT64_C(7);
		return;
	}
	convention_locate_halves(cursor, classes, convention_argument_half, ret_located);
}

/*
 * Whether debug information shows that the argument is passed by address: arrays of Fortran,
 * objects of C++.
 */
static bool convention_is_address(Dwarf_Die *argument)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	return dwarf_attr_integrate(argument, DW_AT_location, &attribute) &&
			!dwarf_getlocation(&attribute, &ops, &count) && count == 2 &&
			ops[0].atom == DW_OP_fbreg && ops[1].atom == DW_OP_deref;
}

/*
 * Locate an argument that the caller stored on the stack, above the return address. The compiler
 * records its offset from the frame.
 */
static bool convention_find_on_stack(
		Dwarf_Die *function, Dwarf_Die *argument, struct located *ret_located)
{
	Dwarf_Attribute where, base;
	Dwarf_Op *ops, *base_ops;
	size_t count, base_count;
	int64_t offset;

	if (!dwarf_attr_integrate(argument, DW_AT_location, &where) ||
			dwarf_getlocation(&where, &ops, &count) || count != 1 ||
			ops[0].atom != DW_OP_fbreg ||
			!dwarf_attr_integrate(function, DW_AT_frame_base, &base) ||
			dwarf_getlocation(&base, &base_ops, &base_count) || base_count != 1)
		return false;
	offset = (int64_t)ops[0].number;
	/*
	 * The offset counts from above the return address, or from rbp, which points to the saved
	 * rbp of the caller, 16 bytes below.
	 */
	if (base_ops[0].atom == DW_OP_reg6)
		offset -= 16;
	else if (base_ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (offset < 0)
		return false;
	*ret_located = (struct located){.kind = LOCATED_MEMORY};
	return !fetch_op(&ret_located->fetch, PROBE_FETCH_REGISTER, FETCH_RSP, 0, 0) &&
			!fetch_add(&ret_located->fetch, offset + 8);
}

int locate_argument(Dwarf_Die *function, Dwarf_Die *argument, struct located *ret_located)
{
	struct argument_cursor cursor = {.stack = 0};
	struct classes classes;
	bool reference;
	Dwarf_Die child, type;

	if (convention_find_on_stack(function, argument, ret_located))
		return 0;
	/*
	 * A value that is returned in memory has a hidden first argument: the address of that
	 * memory.
	 */
	if (type_of(function, &type)) {
		/*
		 * The exact registers of a returned value of Rust are unknown; that it is returned
		 * in registers is enough here.
		 */
		if (!spec_convention_classify_type(&type, &classes) &&
				(!is_rust(function) || !type_size(&type, &classes.size) ||
						classes.size > 16))
			return -ENOTSUP;
		cursor.integers += is_by_reference(&type) ||
				(classes.half[0] == CLASS_MEMORY && !is_in_x87(&classes));
		if (classes.is_unknown)
			return -ENOTSUP;
	}
	if (dwarf_child(function, &child))
		return -ENOTSUP;
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		if (!type_of(&child, &type))
			return -ENOTSUP;
		reference = is_by_reference(&type) || convention_is_address(&child);
		if (reference)
			classes = (struct classes){.half[0] = CLASS_INTEGER, .size = 8, .align = 8};
		else if (!spec_convention_classify_type(&type, &classes))
			return -ENOTSUP;
		if (classes.is_unknown && classes.size <= 16) {
			if (!convention_find_on_stack(function, &child, ret_located))
				return -ENOTSUP;
			classes.half[0] = CLASS_MEMORY;
		}
		spec_convention_assign_registers(&cursor, &classes, ret_located);
		if (dwarf_dieoffset(&child) != dwarf_dieoffset(argument))
			continue;
		/* The register holds the address of the argument. */
		if (reference)
			ret_located->kind = LOCATED_MEMORY;
		return 0;
	} while (!dwarf_siblingof(&child, &child));
	return -ENOTSUP;
}

static int convention_result_half(
		struct argument_cursor *cursor, enum argument_class kind, struct fetch *fetch)
{
	/* rax and rdx; xmm0 and xmm1. */
	if (kind == CLASS_FLOAT)
		return fetch_op(fetch, PROBE_FETCH_VECTOR, cursor->floats++, 0, 0);
	return fetch_op(fetch, PROBE_FETCH_REGISTER, cursor->integers++, 0, 0);
}

bool locate_result(Dwarf_Die *type, struct located *ret_located)
{
	struct argument_cursor cursor = {.stack = 0};
	struct classes classes;

	*ret_located = (struct located){.kind = LOCATED_VALUE};
	if (!spec_convention_classify_type(type, &classes) || is_in_x87(&classes) ||
			classes.is_unknown)
		return false;
	/* The value is in memory of the caller; the function returns its address in rax. */
	if (is_by_reference(type) || classes.half[0] == CLASS_MEMORY) {
		ret_located->kind = LOCATED_MEMORY;
		return !fetch_op(&ret_located->fetch, PROBE_FETCH_REGISTER, 0, 0, 0);
	}
	convention_locate_halves(&cursor, &classes, convention_result_half, ret_located);
	return true;
}
