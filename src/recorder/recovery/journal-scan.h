/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_JOURNAL_SCAN_H
#define SIDE_RECORDER_RECOVERY_JOURNAL_SCAN_H

/*
 * Which records of the rings in a state directory are in a trace already, for a reader that must change neither.
 *
 * Callers: buffers. One thread, which alone has the instance. No lock.
 */
struct instance;

/*
 * The rings are a copy: records that a trace below `output` has already are passed over there. 1: everything was written; or -ENOMEM.
 */
int journal_scan(struct instance *instance, int folder, const char *output);

#endif
