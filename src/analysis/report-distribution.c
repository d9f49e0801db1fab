/* SPDX-License-Identifier: MIT */
/* Distributions: numbers counted in buckets of equal relative width. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/report-distribution.h"

#define STEP_BITS 8

/* 0 to 63 */
static unsigned int highest_bit(uint64_t number)
{
	return 63 - (unsigned int)__builtin_clzll(number | 1);
}

static int report_stats_count_value(struct stats *stats, uint64_t number)
{
	unsigned int bit = highest_bit(number), octave = 0, step = (unsigned int)number;

	if (number >= STATS_STEPS) {
		octave = bit - STEP_BITS + 1;
		step = (unsigned int)(number >> (bit - STEP_BITS)) - STATS_STEPS;
	}
	if (__builtin_expect(!stats->octaves[octave], 0)) {
		stats->octaves[octave] = calloc(STATS_STEPS, sizeof(uint64_t));
		if (!stats->octaves[octave])
			return -ENOMEM;
	}
	stats->octaves[octave][step]++;
	return 0;
}

static void report_stats_add_value(struct stats *stats, __int128 number)
{
	if (!stats->count || number < stats->least)
		stats->least = number;
	if (!stats->count || number > stats->most)
		stats->most = number;
	stats->sum += number;
	if (__builtin_expect(stats->real, 0)) {
		stats->real_sum += (double)number;
		stats->real_least = fmin(stats->real_least, (double)number);
		stats->real_most = fmax(stats->real_most, (double)number);
	}
	stats->count++;
}

int report_stats_add(struct stats *stats, uint64_t number)
{
	int ret = report_stats_count_value(stats, number);

	if (!ret)
		report_stats_add_value(stats, number);
	return ret;
}

int report_stats_add_signed(struct stats *stats, int64_t number)
{
	if (number >= 0)
		return report_stats_add(stats, (uint64_t)number);
	stats->negative++;
	report_stats_add_value(stats, number);
	return 0;
}

/* After the first number with a fraction, the sums are those of real numbers. */
static void become_real(struct stats *stats)
{
	stats->real = true;
	stats->real_sum = (double)stats->sum;
	stats->real_least = stats->count ? (double)stats->least : INFINITY;
	stats->real_most = stats->count ? (double)stats->most : -INFINITY;
}

int report_stats_add_real(struct stats *stats, double number)
{
	int ret;

	if (!isfinite(number)) {
		stats->nan += isnan(number);
		stats->infinite += !isnan(number);
		return 0;
	}
	if (!stats->real)
		become_real(stats);
	if (number < 0) {
		stats->negative++;
	} else if (number >= 0x1p64) {
		stats->above++;
	} else {
		ret = report_stats_count_value(stats, (uint64_t)number);
		if (ret)
			return ret;
	}
	stats->real_sum += number;
	stats->real_least = fmin(stats->real_least, number);
	stats->real_most = fmax(stats->real_most, number);
	stats->count++;
	return 0;
}

void report_stats_free(struct stats *stats)
{
	for (unsigned int i = 0; i < STATS_OCTAVES; i++)
		free(stats->octaves[i]);
}

double report_stats_mean(const struct stats *stats)
{
	if (!stats->count)
		return 0;
	return (stats->real ? stats->real_sum : (double)stats->sum) / (double)stats->count;
}

/* The middle of a step, rounded down. */
static uint64_t middle_of(unsigned int octave, unsigned int step)
{
	unsigned int shift = octave ? octave - 1 : 0;
	uint64_t begin = ((uint64_t)step + (octave ? STATS_STEPS : 0)) << shift;

	return begin + ((UINT64_C(1) << shift) >> 1);
}

uint64_t report_stats_percentile(const struct stats *stats, uint32_t thousandths)
{
	unsigned __int128 all = (unsigned __int128)stats->count * thousandths;
	uint64_t rank = (uint64_t)((all + 99999) / 100000), cumulative = 0, least, most;

	if (stats->real) {
		least = stats->real_least > 0 ? (uint64_t)stats->real_least : 0;
		most = stats->real_most < 0x1p64 ? (uint64_t)stats->real_most : UINT64_MAX;
	} else {
		least = (uint64_t)stats->least;
		most = (uint64_t)stats->most;
	}
	for (unsigned int octave = 0; octave < STATS_OCTAVES; octave++) {
		for (unsigned int step = 0; stats->octaves[octave] && step < STATS_STEPS; step++) {
			cumulative += stats->octaves[octave][step];
			if (cumulative >= rank && stats->octaves[octave][step]) {
				uint64_t middle = middle_of(octave, step);

				return middle < least ? least : middle > most ? most : middle;
			}
		}
	}
	return most;
}

void report_stats_powers(const struct stats *stats, uint64_t powers[STATS_POWERS])
{
	for (unsigned int i = 0; i < STATS_POWERS; i++)
		powers[i] = 0;
	for (unsigned int octave = 0; octave < STATS_OCTAVES; octave++) {
		for (unsigned int step = 0; stats->octaves[octave] && step < STATS_STEPS; step++) {
			unsigned int digits = octave ? octave + STEP_BITS
					: step       ? highest_bit(step) + 1
						     : 0;

			powers[digits] += stats->octaves[octave][step];
		}
	}
}
