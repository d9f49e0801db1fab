/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_STUBS_H
#define SIDE_PROBE_PATCH_STUBS_H

/*
 * Calls and jumps through an imported address that must not change, because other code takes it.
 * Call the functions between patch_stubs_begin() and patch_stubs_end().
 */
#include <stdbool.h>
#include <stdint.h>

/* Waits for threads that set or remove probes. Does not call the loader, but the caller may. */
void patch_stubs_begin(void);
void patch_stubs_end(void);

/*
 * Makes the call or jump whose distance is at `at`, and leads to `slot`, read the address `to`
 * from elsewhere. Returns 0, -EXDEV if it cannot be changed by one store, -ENOSPC or -ENOMEM
 * without memory for it, -EPERM.
 */
int patch_stub_redirect(uintptr_t at, uintptr_t slot, void *to);
/*
 * Restores those in this range of addresses that lead to `from`. All of the range that was code of
 * an object then is mapped.
 */
void patch_stubs_restore(uintptr_t begin, uintptr_t end, const void *from);

#endif /* SIDE_PROBE_PATCH_STUBS_H */
