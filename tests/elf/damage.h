/* SPDX-License-Identifier: MIT */
/*
 * Damage to ELF files and archives, the same in each run: bits flipped, bytes replaced, numbers set
 * to extreme values, files truncated; more often in headers than elsewhere.
 */
#ifndef TESTS_ELF_DAMAGE_H
#define TESTS_ELF_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Returns a number that valid files rarely have. */
uint64_t damage_extreme(void);

/* Reads a file, and returns how much it found; 0: it cannot read the file. */
typedef size_t damage_reader(const void *bytes, size_t size);

/*
 * Reads a file, then this many damaged copies of it, and prints the results on stdout. Returns an
 * error if nothing was found in the undamaged file or in any copy (then the reader was not
 * reached), or something in each copy (then the damage had no effect).
 */
int damaged_copies(const char *path, unsigned int rounds, damage_reader *reader);

#endif /* TESTS_ELF_DAMAGE_H */
