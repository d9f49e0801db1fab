/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_STORAGE_CHUNK_NAMES_H
#define SIDE_RECORDER_STORAGE_CHUNK_NAMES_H

/*
 * Gets the numbers of chunks from their names.
 *
 * Callers: the state directory and adoption. Any thread. No lock.
 */

/*
 * Returns the number in "chunk-NNNN-...", with or without a leading dot; 0 if it is no such name.
 */
unsigned int chunk_number(const char *name);
/* Returns the number of the last chunk in this directory; 0 if there is none. */
unsigned int chunk_last_number(const char *output);

#endif
