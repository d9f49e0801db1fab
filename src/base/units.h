/* SPDX-License-Identifier: MIT */
/*
 * Sizes and times with units, as users write them.
 *
 * The functions return 0, -EINVAL for a text that has another form, and -ERANGE for a value that
 * does not fit. The result is unchanged if they fail.
 */
#ifndef SIDE_BASE_UNITS_H
#define SIDE_BASE_UNITS_H

#include <stdint.h>

/* Bytes: "4096", "512K", "64MiB", "1GB"; each step of K, M, G, T is 1024. */
int units_parse_size(const char *text, uint64_t *ret_size);
/*
 * Nanoseconds: "10ms", "1.5s", "2min"; a number without a unit is seconds. At most six digits of a
 * fraction are used.
 */
int units_parse_time(const char *text, uint64_t *ret_nanoseconds);

#endif /* SIDE_BASE_UNITS_H */
