/* SPDX-License-Identifier: MIT */
/*
 * The distribution of many numbers in little memory.
 *
 * Each power of two is divided into 256 counted steps. A percentile that is computed from them is
 * off by at most 1/512 of the value, and exact below 512. Count, sum, minimum and maximum are
 * exact. A number with a fraction is counted by its integer part. Infinite numbers and NaN are
 * counted separately: they are in no bucket and in no sum.
 */
#ifndef SIDE_ANALYSIS_REPORT_DISTRIBUTION_H
#define SIDE_ANALYSIS_REPORT_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#define STATS_STEPS 256
#define STATS_OCTAVES 57
/* buckets of powers of two: 0, 1, [2, 4), … [2^63, 2^64) */
#define STATS_POWERS 65

struct stats {
	uint64_t count;
	uint64_t negative; /* included in the count, in no bucket */
	uint64_t above;    /* values of 2^64 and more: included in the count, in no bucket */
	uint64_t infinite; /* not in the count */
	uint64_t nan;      /* not in the count */
	__int128 sum;      /* of the integers … */
	__int128 least;
	__int128 most;
	bool real; /* … or, after the first number with a fraction, of all numbers */
	double real_sum;
	double real_least;
	double real_most;
	uint64_t *octaves
			[STATS_OCTAVES]; /* the steps of a bucket, allocated for its first number */
};

/* 0 or -ENOMEM: the number is not counted. */
int report_stats_add(struct stats *stats, uint64_t number);
int report_stats_add_signed(struct stats *stats, int64_t number);
int report_stats_add_real(struct stats *stats, double number);
void report_stats_free(struct stats *stats);

double report_stats_mean(const struct stats *stats);

/*
 * The smallest number with at least this many thousandths of a percent of all numbers at or below
 * it. Not for distributions with negative numbers.
 */
uint64_t report_stats_percentile(const struct stats *stats, uint32_t thousandths);

/* The number of values with this many binary digits (0 has none). */
void report_stats_powers(const struct stats *stats, uint64_t powers[STATS_POWERS]);

#endif /* SIDE_ANALYSIS_REPORT_DISTRIBUTION_H */
