/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROBE_PROGRAMS_EVERYTHING_H
#define TESTS_PROBE_PROGRAMS_EVERYTHING_H

/*
 * A library that is preloaded into a program that knows nothing of it, and puts a counting probe on every function that can
 * be probed, of the program and of its libraries.
 *
 *	places.c       the functions of all that is mapped
 *	everything.c   probes set and removed, at random or once
 *
 * What it did and saw stands in a file that it maps (SIDE_EVERYTHING_REPORT), so that it is known whatever the end.
 */

#include "probe/patch/patch.h"

#include <stddef.h>
#include <stdint.h>

#define NAME_BYTES 56
#define PLACES_MAX 400000
#define ERRORS 128

/* In the file; test-programs.py reads it. */
struct place_report {
	uint64_t offset; /* in its file */
	uint64_t entries, exits;
	uint32_t module; /* a line of the list of modules */
	uint8_t method;  /* that it got last, 255: it never had a probe */
	uint8_t can_exit, reserved[2];
	char name[NAME_BYTES];
};

struct report {
	uint64_t ready; /* all that was mapped at the begin has been read */
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
	size_t at;           /* in the report */
};

/* Files that are mapped now and were not before, unless `skip` is in their name; -1: too many. */
int places_read(struct report *report, const char *modules_path);
extern struct probed_location *locations;
extern size_t nr_places;

#endif /* TESTS_PROBE_PROGRAMS_EVERYTHING_H */
