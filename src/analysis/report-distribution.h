/* SPDX-License-Identifier: MIT */
/*
 * The distribution of many numbers in little memory.
 *
 * Each power of two is divided into 256 steps that are counted: what is read back from them
 * (percentiles) is off by at most 1/512 of the value, and exact below 512. Count, sum, minimum and
 * maximum are exact. Numbers with a fraction are counted by their integer part. Infinite
 * numbers and NaN are counted apart: they are in no bucket and in no sum.
 */
#ifndef SIDE_ANALYSIS_REPORT_DISTRIBUTION_H
#define SIDE_ANALYSIS_REPORT_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#define STATS_STEPS 256
#define STATS_OCTAVES 57
/* Buckets of powers of two: 0, 1, [2, 4), … [2^63, 2^64). */
#define STATS_POWERS 65

struct stats {
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
	uint64_t *octaves[STATS_OCTAVES]; /* Made when the first number falls there. */
};

/* 0 or -ENOMEM (the number is not counted). */
int report_stats_add(struct stats *stats, uint64_t number);
int report_stats_add_signed(struct stats *stats, int64_t number);
int report_stats_add_real(struct stats *stats, double number);
void report_stats_free(struct stats *stats);

double report_stats_mean(const struct stats *stats);

/*
 * The least number that at least so many thousandths of a percent of all are not above. Only
 * without negative numbers.
 */
uint64_t report_stats_percentile(const struct stats *stats, uint32_t thousandths);

/* How many numbers have so many binary digits (0 has none). */
void report_stats_powers(const struct stats *stats, uint64_t powers[STATS_POWERS]);

#endif /* CMD_SIDE_REPORT_FIGURES_H */
