/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_COPY_H
#define SIDE_PROBE_CODE_COPY_H

/*
 * Writes displaced instructions so that they have the same effect at another address. Allocates
 * nothing.
 */

#include "probe/site.h"

#include <stddef.h>

#define PROBE_COPY_MAX 160
/* Bytes at the start of a copied call: after them its return address is pushed, or half of it. */
#define PROBE_COPY_PUSH_BYTES 5

/*
 * Writes the copy for address `at`, with a jump to the instruction after the displaced ones at its
 * end. map[i] is the offset of piece i in it, map[nr_pieces] that of its last jump. `site->runtime`
 * must be set. Returns the size of the copy, or -ERANGE if an address that it refers to is out of
 * reach (2 GiB).
 */
int probe_copy(const struct probe_site *site, uint64_t at, uint8_t ret_copy[PROBE_COPY_MAX],
		uint8_t ret_map[PROBE_PIECES_MAX + 1]);

#endif /* SIDE_PROBE_CODE_COPY_H */
