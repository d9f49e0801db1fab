/* SPDX-License-Identifier: MIT */
/*
 * Counts the records of a span without decoding their values: a record's length follows from its
 * event's description and from the few bytes with the lengths of its variable parts.
 *
 * When an event is described, its field classes become a program of steps, or a constant number of
 * bytes. Only classes made by this library are supported: byte aligned, with each length and
 * selector directly before the field that it describes (docs/spec/recording.md).
 */
#ifndef SIDE_CTF_TALLY_H
#define SIDE_CTF_TALLY_H

#include "ctf/ctf.h"

struct ctf_tally_step;
struct ctf_tally_option;

/* An event class, found by its id. */
struct ctf_tally_class {
	uint32_t known;      /* how to count it: tally-steps.h; 0: unknown class */
	uint32_t first, end; /* steps */
};

/* The tally of a channel. All zero: it knows no event. */
struct ctf_tally {
	struct ctf_tally_class *classes;
	uint32_t nr_classes;
	struct ctf_tally_step *steps;
	uint32_t nr_steps, steps_capacity;
	struct ctf_tally_option *options;
	uint32_t nr_options, options_capacity;
};

/*
 * Add an event class: its records consist of the trees in this order, behind the header; any tree
 * may be NULL. 0, or -ENOMEM: its records will not be counted.
 */
int ctf_tally_learn(struct ctf_tally *tally, uint32_t id, const struct ctf_type *const trees[],
		unsigned int nr_trees);

/*
 * Count the records of a span, which may contain any bytes. False: *ret_count is the number of
 * records before the first bytes that are no complete record of a known event.
 */
bool ctf_tally_count(const struct ctf_tally *tally, const void *records, size_t size,
		uint64_t *ret_count);

void ctf_tally_free(struct ctf_tally *tally);

#endif /* SIDE_CTF_TALLY_H */
