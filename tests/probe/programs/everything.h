/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROBE_PROGRAMS_EVERYTHING_H
#define TESTS_PROBE_PROGRAMS_EVERYTHING_H

/*
 * A preloaded library that sets a counting probe on every function of the program and of its
 * libraries that can be probed. The program does not use it.
 *
 *	places.c	finds the functions of all mapped files
 *	everything.c	sets and removes probes, at random or once
 *
 * The library writes its results to a mapped file (SIDE_EVERYTHING_REPORT), so that they remain
 * however the program ends.
 */

#include "probe/patch/patch.h"

#include <stddef.h>
#include <stdint.h>

#define NAME_BYTES 56
#define PLACES_MAX 400000
#define ERRORS 128

/* In the report; test-programs.py reads it. */
struct place_report {
	uint64_t offset; /* in its file */
	uint64_t entries, exits;
	uint32_t module; /* index in the list of modules */
	uint8_t method;  /* the last method; 255: it never had a probe */
	uint8_t can_exit, reserved[2];
	char name[NAME_BYTES];
};

struct report {
	uint64_t ready; /* all files that were mapped at the start have been read */
	uint64_t rounds, set, removed, refused, cut, lost, unseen, abandoned, traps, bytes,
			slowest_us;
	uint64_t errors[ERRORS]; /* by errno */
	uint64_t last_place, nr_places;
	struct place_report locations[PLACES_MAX];
};

struct probed_location {
	struct probe_site site;
	struct place_report *report;
	struct patch *probe; /* NULL: none */
	size_t at;           /* index in the report */
};

/*
 * Reads files that were mapped since the last call, unless `skip` is in their name. Returns -1 if
 * there are too many.
 */
int places_read(struct report *report, const char *modules_path);
extern struct probed_location *locations;
extern size_t nr_places;

#endif /* TESTS_PROBE_PROGRAMS_EVERYTHING_H */
