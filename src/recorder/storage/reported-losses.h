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

#define LOSSES_FILE "told"
#define LOSSES_FILE_NEW ".told.new"

struct instance;

/* A counter; the key is made of ring, event and reason. */
struct reported_loss {
	uint64_t key;
	uint64_t count;
};

/* Returns the count of this key that was reported, or 0. */
uint64_t reported_losses_count(const struct instance *instance, uint64_t key);
/*
 * Reads the losses that an earlier recorder passed to journal_write_losses(). Returns the serial of
 * the last trace that contains them, or 0 if there is no valid file. If the program changed the
 * file, only its own losses are reported twice.
 */
uint32_t reported_losses_read_file(struct instance *instance, int folder);

#endif /* SIDE_RECORDER_STORAGE_REPORTED_LOSSES_H */
