/* SPDX-License-Identifier: MIT */
/*
 * Damage to ELF files and archives, the same in each run: bits flipped, bytes replaced, numbers set to
 * extreme values, files cut; more often in headers than elsewhere.
 */
#ifndef TESTS_ELF_DAMAGE_H
#define TESTS_ELF_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

/* A number that is seldom meant. */
uint64_t damage_extreme(void);

/* What a reader finds in a file: 0 if it cannot read it. */
typedef size_t damage_reader(const void *bytes, size_t size);

/*
 * Reads a file, then so many damaged copies of it, and says on stdout what was found. Not 0 if nothing was
 * found in the whole file or in any of the copies (then the reader was not reached), or something in each
 * of them (then nothing was damaged that matters).
 */
int damaged_copies(const char *path, unsigned int rounds, damage_reader *look);

#endif /* TESTS_ELF_DAMAGE_H */
