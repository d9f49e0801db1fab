/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_LOCATE_H
#define SIDE_PROBE_SPEC_LOCATE_H

/* Where a variable is while the program is at one place. */

#include "debug.h"
#include "fetch.h"

#define LOCATED_PIECES_MAX 16

enum located_kind {
	LOCATED_MEMORY, /* the fetch is its address */
	LOCATED_VALUE,  /* the fetch is its value, of at most 8 bytes */
	LOCATED_PIECES, /* some bytes of it are here, some there */
	LOCATED_POINTER, /* a pointer that is nowhere: what it points to has no address, but is known */
	LOCATED_NOWHERE, /* of a piece: the compiler has not kept it */
};

struct located_piece {
	enum located_kind kind; /* memory, value or nowhere */
	uint32_t offset, size;  /* bytes of the whole */
	struct fetch fetch;
};

struct located {
	enum located_kind kind;
	struct fetch fetch;
	uint32_t nr_pieces;
	struct located_piece pieces[LOCATED_PIECES_MAX]; /* in order, without gaps */
	/* Of a pointer that is nowhere. */
	Dwarf_Die target;
	int64_t target_offset;
};

/* A place in the program, as variables see it. */
struct locate_frame {
	struct debug *debug;
	Dwarf_Die *function; /* the one of the machine there; NULL: unknown */
	uint64_t address;
	bool entry; /* the function's first instruction */
};

/* By DW_AT_location. */
int locate(const struct locate_frame *location, Dwarf_Die *variable, struct located *located,
		struct resolve_error *error);
/* One more piece behind the others. -E2BIG. */
int locate_piece(struct located *located, enum located_kind kind, uint64_t size,
		const struct fetch *fetch);

/*
 * convention.c: the argument of that number as callers put it, at the first instruction of the function. -ENOTSUP: they
 * cannot be told.
 */
int locate_argument(Dwarf_Die *function, Dwarf_Die *argument, struct located *located);
/* What it returns, at its exit; false: nobody knows. */
bool locate_result(Dwarf_Die *type, struct located *located);

/* ---- types.c ---- */

/* The type without names, qualifiers; false: void. */
bool type_plain(Dwarf_Die *type);
/* Of DW_AT_type of a thing. */
bool type_of(Dwarf_Die *thing, Dwarf_Die *type);
/* Bytes of a plain type; false: not known. */
bool type_size(Dwarf_Die *type, uint64_t *size);

/* Of C++. */
bool type_is_reference(Dwarf_Die *type);
/* A string of C++; of libstdc++ since it has its present form. */
bool type_is_string(Dwarf_Die *type);
bool type_is_standard_string(Dwarf_Die *type);

#define TYPE_DIMENSIONS_MAX 8

struct type_dimension {
	int64_t lower;  /* number of the first element */
	uint64_t count; /* 0: nobody says it */
};

/* How many an array has. */
unsigned int type_dimensions(
		Dwarf_Die *array, struct type_dimension dimensions[TYPE_DIMENSIONS_MAX]);

#endif /* SIDE_PROBE_SPEC_LOCATE_H */
