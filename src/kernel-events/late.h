/* SPDX-License-Identifier: MIT */
/*
 * Counts event classes that were found without a notification of the program that registered them:
 * some of their records may be missing.
 *
 * A program notifies the recorder after the registration and waits for the answer, so an event
 * class that is found in between is not late. An event class therefore counts as late only if no
 * notification arrives for some time.
 *
 * Not thread-safe. Times are milliseconds of CLOCK_MONOTONIC.
 */
#ifndef SIDE_KERNEL_EVENTS_LATE_H
#define SIDE_KERNEL_EVENTS_LATE_H

#include <stdint.h>

#include "base/clock.h"

/*
 * On loaded machines, this much time has passed between a program's registration and its
 * notification.
 */
#define KERNEL_LATE_DOUBT_MS 500

struct kernel_late {
	uint64_t late;   /* event classes that are certainly late */
	uint64_t unsure; /* event classes found within the last KERNEL_LATE_DOUBT_MS */
	uint64_t since;  /* when the first of these was found */
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

/* A notification has arrived: the event classes found just before it are not late. */
static inline void kernel_late_reported(struct kernel_late *late)
{
	late->unsure = 0;
}

/* Returns the number of late event classes when no more notifications can arrive. */
static inline uint64_t kernel_late_all(const struct kernel_late *late)
{
	return late->late + late->unsure;
}

#endif /* SIDE_KERNEL_EVENTS_LATE_H */
