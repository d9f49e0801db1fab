/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_COPY_H
#define SIDE_PROBE_CODE_COPY_H

/* Displaced instructions, written so that they do the same at another address. Allocates nothing. */

#include "probe/site.h"

#include <stddef.h>

#define PROBE_COPY_MAX 160
#define PROBE_COPY_PUSH_BYTES \
	5 /* that a call begins with: behind them its return address is pushed, or half of it */

/*
 * The copy as it is to stand at `at`, with a jump to what follows the displaced instructions at its end; map[i]
 * is where piece i begins in it, map[nr_pieces] its last jump. `site->runtime` must be set. Returns its size, or
 * -ERANGE if something that it refers to is out of reach (2 GiB).
 */
int probe_copy(const struct probe_site *site, uint64_t at, uint8_t copy[PROBE_COPY_MAX],
		uint8_t map[PROBE_PIECES_MAX + 1]);

#endif /* SIDE_PROBE_CODE_COPY_H */
