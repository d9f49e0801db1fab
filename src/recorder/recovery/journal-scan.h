/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_JOURNAL_SCAN_H
#define SIDE_RECORDER_RECOVERY_JOURNAL_SCAN_H

/*
 * Finds which records of the rings in a state directory a trace contains already, for a reader that
 * must not change either.
 *
 * Callers: buffers. Called by the only thread that uses the instance. No lock.
 */
struct instance;

/*
 * The rings are a copy: skips records in them that a trace below `output` contains already. Returns
 * 1 if everything was written, 0, or -ENOMEM.
 */
int journal_scan(struct instance *instance, int folder, const char *output);

#endif
