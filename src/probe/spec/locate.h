/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_LOCATE_H
#define SIDE_PROBE_SPEC_LOCATE_H

/* Where a variable is while the program executes one location. */

#include "debug.h"
#include "fetch.h"
#include "locate-frame.h"

#define LOCATED_PIECES_MAX 16

enum located_kind {
	LOCATED_MEMORY, /* the fetch computes its address */
	LOCATED_VALUE,  /* the fetch computes its value of at most 8 bytes */
	LOCATED_PIECES, /* its bytes are in several registers or memory locations */
	/*
	 * a pointer that was optimized out; the object it points to has no address, but known
	 * contents
	 */
	LOCATED_POINTER,
	LOCATED_NOWHERE, /* of a piece: the compiler has not kept it */
};

struct located_piece {
	enum located_kind kind; /* memory, value or nowhere */
	uint32_t offset, size;  /* in bytes of the whole variable */
	struct fetch fetch;
};

struct located {
	enum located_kind kind;
	struct fetch fetch;
	uint32_t nr_pieces;
	struct located_piece pieces[LOCATED_PIECES_MAX]; /* in order, without gaps */
	/* For LOCATED_POINTER. */
	Dwarf_Die target;
	int64_t target_offset;
};

/* Locate the variable by its DW_AT_location. */
int locate_variable(const struct locate_frame *location, Dwarf_Die *variable,
		struct located *ret_located, struct error *error);
/* Append a piece. Returns 0 or -E2BIG. */
int locate_piece(struct located *located, enum located_kind kind, uint64_t size,
		const struct fetch *fetch);

/*
 * convention.c: locate the argument at the function's first instruction, by the calling convention.
 * Returns 0, or -ENOTSUP if the type of this argument, or of one before it, does not determine its
 * register.
 */
int locate_argument(Dwarf_Die *function, Dwarf_Die *argument, struct located *ret_located);
/* Locate the return value at the function's exit. Returns false if its location is unknown. */
bool locate_result(Dwarf_Die *type, struct located *ret_located);

/* ---- types.c ---- */

/* Strip typedefs and qualifiers. Returns false for void. */
bool type_plain(Dwarf_Die *type);
/* Get the type of a variable, member or function (DW_AT_type), stripped. */
bool type_of(Dwarf_Die *thing, Dwarf_Die *ret_type);
/* Get the size of a stripped type in bytes. Returns false if it is unknown. */
bool type_size(Dwarf_Die *type, uint64_t *ret_size);

/* Whether it is a reference or rvalue reference of C++. */
bool type_is_reference(Dwarf_Die *type);
/*
 * Whether it is a std::string of C++; type_is_standard_string(): of libstdc++ with its present ABI.
 */
bool type_is_string(Dwarf_Die *type);
bool type_is_standard_string(Dwarf_Die *type);

#define TYPE_DIMENSIONS_MAX 8

struct type_dimension {
	int64_t lower;  /* index of the first element */
	uint64_t count; /* 0: unknown */
};

/* Returns the number of dimensions of an array. */
unsigned int type_dimensions(
		Dwarf_Die *array, struct type_dimension ret_dimensions[TYPE_DIMENSIONS_MAX]);

#endif /* SIDE_PROBE_SPEC_LOCATE_H */
