/* SPDX-License-Identifier: MIT */
/*
 * How many records are in a span, found without reading their values: a record's length follows from its
 * event's description and from the few bytes that say how long its variable parts are.
 *
 * The field classes of each event become a program of steps when the event is described, and the number of its
 * bytes when that is always the same. Only classes of our own making are understood: byte aligned, with each
 * length and selector directly before what it is for (docs/spec/recording.md).
 */
#ifndef SIDE_CTF_TALLY_H
#define SIDE_CTF_TALLY_H

#include "ctf/ctf.h"

struct ctf_tally_step;
struct ctf_tally_option;

/* A kind of event, by its id. */
struct ctf_tally_class {
	uint32_t known;      /* how: tally.c; 0: not at all */
	uint32_t first, end; /* steps */
};

/* Of a channel. All zero: knows no event. */
struct ctf_tally {
	struct ctf_tally_class *classes;
	uint32_t nr_classes;
	struct ctf_tally_step *steps;
	uint32_t nr_steps, steps_capacity;
	struct ctf_tally_option *options;
	uint32_t nr_options, options_capacity;
};

/*
 * Learn an event: what stands in its records behind the header, in this order; any of the trees may be NULL. 0, or
 * -ENOMEM: its records will not be counted.
 */
int ctf_tally_learn(struct ctf_tally *tally, uint32_t id, const struct ctf_type *const trees[],
		unsigned int nr_trees);

/*
 * Count the records of a span, which may hold anything. False: only those up to something that is no whole
 * record, or of an event that was not learnt.
 */
bool ctf_tally_count(
		const struct ctf_tally *tally, const void *records, size_t size, uint64_t *count);

void ctf_tally_free(struct ctf_tally *tally);

#endif /* SIDE_CTF_TALLY_H */
