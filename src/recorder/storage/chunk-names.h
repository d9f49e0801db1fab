/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_CHUNK_NAMES_H
#define SIDE_RECORDER_STORAGE_CHUNK_NAMES_H

/*
 * Numbers of chunks, from their names.
 *
 * Callers: the state directory and adoption. Any thread. No lock.
 */

/* Of "chunk-NNNN-...", perhaps with a dot in front; 0: it is no such name. */
unsigned int chunk_number(const char *name);
/* Of the last chunk in this directory, 0: there is none. */
unsigned int chunk_last_number(const char *output);

#endif
