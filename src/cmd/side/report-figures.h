/* SPDX-License-Identifier: MIT */
/*
 * The distribution of many numbers in little memory.
 *
 * Each power of two is divided into 256 steps that are counted: what is read back from them
 * (percentiles) is off by at most 1/512 of the value, and exact below 512. Count, sum, minimum and
 * maximum are exact. Numbers with a fraction are counted by their integer part. Infinite
 * numbers and NaN are counted apart: they are in no bucket and in no sum.
 */
#ifndef CMD_SIDE_REPORT_FIGURES_H
#define CMD_SIDE_REPORT_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#define FIGURES_STEPS 256
#define FIGURES_OCTAVES 57
/* Buckets of powers of two: 0, 1, [2, 4), … [2^63, 2^64). */
#define FIGURES_POWERS 65

struct figures {
	uint64_t count;
	uint64_t negative; /* Of the count: below 0, in no bucket. */
	uint64_t above;    /* Values of 2^64 and more: in the count, in no bucket. */
	uint64_t infinite; /* Not in the count. */
	uint64_t nan;      /* Not in the count. */
	__int128 sum;      /* Of the integers … */
	__int128 least;
	__int128 most;
	bool real; /* … or, once a number had a fraction, of all. */
	double real_sum;
	double real_least;
	double real_most;
	uint64_t *octaves[FIGURES_OCTAVES]; /* Made when the first number falls there. */
};

/* 0 or -ENOMEM (the number is not counted). */
int figures_add(struct figures *figures, uint64_t number);
int figures_add_signed(struct figures *figures, int64_t number);
int figures_add_real(struct figures *figures, double number);
void figures_free(struct figures *figures);

double figures_mean(const struct figures *figures);

/*
 * The least number that at least so many thousandths of a percent of all are not above. Only
 * without negative numbers.
 */
uint64_t figures_percentile(const struct figures *figures, uint32_t thousandths);

/* How many numbers have so many binary digits (0 has none). */
void figures_powers(const struct figures *figures, uint64_t powers[FIGURES_POWERS]);

#endif /* CMD_SIDE_REPORT_FIGURES_H */
