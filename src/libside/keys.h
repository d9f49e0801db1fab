/* SPDX-License-Identifier: MIT */
/*
 * Keys of tracers.  The lock is the innermost of the library.
 */
#ifndef LIBSIDE_KEYS_H
#define LIBSIDE_KEYS_H

void keys_lock(void);
void keys_unlock(void);

#endif /* LIBSIDE_KEYS_H */
