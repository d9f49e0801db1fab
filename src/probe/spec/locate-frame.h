/* SPDX-License-Identifier: MIT */
/* The location of the program at which variables are located. */
#ifndef SIDE_PROBE_SPEC_LOCATE_FRAME_H
#define SIDE_PROBE_SPEC_LOCATE_FRAME_H

#include "debug.h"

/* A location, as variables depend on it. */
struct locate_frame {
	struct debug *debug;
	Dwarf_Die *function; /* the compiled function there, not an inlined one; NULL: unknown */
	uint64_t address;
	bool entry; /* the function's first instruction */
};

#endif /* SIDE_PROBE_SPEC_LOCATE_FRAME_H */
