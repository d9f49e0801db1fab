/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SYMBOLIZE_DEBUGINFOD_H
#define SIDE_SYMBOLIZE_DEBUGINFOD_H

/* Debug files from debuginfod servers. Call only if the user permits it: it uses the network. */

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the path of the debug file in the cache of the client library, which the caller frees.
 * NULL: DEBUGINFOD_URLS names no server, no server has the file, or the library is missing.
 */
char *fetch_debug_file(const uint8_t *build_id, size_t size);

#endif /* SIDE_SYMBOLIZE_DEBUGINFOD_H */
