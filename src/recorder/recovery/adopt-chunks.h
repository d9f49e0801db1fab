/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_ADOPT_CHUNKS_H
#define RECORDER_ADOPT_CHUNKS_H

/*
 * Takes over the chunks that an earlier recorder has left.
 *
 * Callers: adopt.c. Main thread, before the drain thread runs. No lock.
 */
struct session;

void adopt_chunks(struct session *session);

#endif
