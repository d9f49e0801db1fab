/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_ADOPT_CHUNKS_H
#define SIDE_RECORDER_RECOVERY_ADOPT_CHUNKS_H

/*
 * Adopts the chunks of an earlier recorder.
 *
 * Callers: adopt.c. Main thread, before the drain thread runs. No lock.
 */
struct session;

void adopt_chunks(struct session *session);

#endif
