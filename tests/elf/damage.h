/* SPDX-License-Identifier: MIT */
/*
 * Damage to ELF files and archives, the same in each run: bits flipped, bytes replaced, numbers set to
 * extreme values, files cut; more often in headers than elsewhere.
 */
#ifndef TESTS_ELF_DAMAGE_H
#define TESTS_ELF_DAMAGE_H

#include <stddef.h>

/* Returns how many of the bytes are left. */
size_t damage(unsigned char *bytes, size_t size);

#endif /* TESTS_ELF_DAMAGE_H */
