/* SPDX-License-Identifier: MIT */
/*
 * The losses of an instance that its trace contains already.
 *
 * Drain thread, or the only thread that uses the instance; without the session's lock.
 */
#ifndef SIDE_RECORDER_STORAGE_REPORTED_LOSSES_H
#define SIDE_RECORDER_STORAGE_REPORTED_LOSSES_H

#include <stddef.h>
#include <stdint.h>

struct instance;

/* A counter; the key is made of ring, event and reason. */
struct reported_loss {
	uint64_t key;
	uint64_t count;
};

/* Returns the count of this key that was reported, or 0. */
uint64_t reported_losses_count(const struct instance *instance, uint64_t key);
/* Reads the losses that an earlier recorder passed to journal_write_losses(). */
void reported_losses_read(struct instance *instance, const void *bytes, size_t size);

#endif /* SIDE_RECORDER_STORAGE_REPORTED_LOSSES_H */
