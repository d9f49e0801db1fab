/* SPDX-License-Identifier: MIT */
/*
 * Kinds of events that were found without a word of who registered them, so that some records may be missing. A program that
 * tells its recorder does so behind the registration, and waits until it is answered: what is found in between is not late.
 * Who is found is therefore late only when nobody has told for a while.
 *
 * Not safe among threads; times are milliseconds of CLOCK_MONOTONIC.
 */
#ifndef SIDE_KERNEL_EVENTS_LATE_H
#define SIDE_KERNEL_EVENTS_LATE_H

#include <stdint.h>

#include "base/clock.h"

/* A program between its registration and its word has stood still for that long on loaded machines. */
#define KERNEL_LATE_DOUBT_MS 500

struct kernel_late {
	uint64_t late;   /* kinds: certain */
	uint64_t unsure; /* kinds: found within the last KERNEL_LATE_DOUBT_MS */
	uint64_t since;  /* when the first of them was found */
};

static inline void kernel_late_found(struct kernel_late *late, uint64_t event_classes)
{
	uint64_t now = clock_monotonic_ms();

	if (late->unsure && now - late->since >= KERNEL_LATE_DOUBT_MS) {
		late->late += late->unsure;
		late->unsure = 0;
	}
	if (event_classes && !late->unsure)
		late->since = now;
	late->unsure += event_classes;
}

/* Somebody has told. */
static inline void kernel_late_reported(struct kernel_late *late)
{
	late->unsure = 0;
}

/* Nobody tells any more. */
static inline uint64_t kernel_late_all(const struct kernel_late *late)
{
	return late->late + late->unsure;
}

#endif /* SIDE_KERNEL_EVENTS_LATE_H */
