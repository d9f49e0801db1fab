/* SPDX-License-Identifier: MIT */
/* Counting numbers in buckets of equal relative width. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cmd/side/report-figures.h"

#define STEP_BITS 8

/* 0 to 63. */
static unsigned int highest_bit(uint64_t number)
{
	return 63 - (unsigned int)__builtin_clzll(number | 1);
}

static int report_stats_count_value(struct figures *figures, uint64_t number)
{
	unsigned int bit = highest_bit(number), octave = 0, step = (unsigned int)number;

	if (number >= FIGURES_STEPS) {
		octave = bit - STEP_BITS + 1;
		step = (unsigned int)(number >> (bit - STEP_BITS)) - FIGURES_STEPS;
	}
	if (__builtin_expect(!figures->octaves[octave], 0)) {
		figures->octaves[octave] = calloc(FIGURES_STEPS, sizeof(uint64_t));
		if (!figures->octaves[octave])
			return -ENOMEM;
	}
	figures->octaves[octave][step]++;
	return 0;
}

static void report_stats_add_value(struct figures *figures, __int128 number)
{
	if (!figures->count || number < figures->least)
		figures->least = number;
	if (!figures->count || number > figures->most)
		figures->most = number;
	figures->sum += number;
	if (__builtin_expect(figures->real, 0)) {
		figures->real_sum += (double)number;
		figures->real_least = fmin(figures->real_least, (double)number);
		figures->real_most = fmax(figures->real_most, (double)number);
	}
	figures->count++;
}

int figures_add(struct figures *figures, uint64_t number)
{
	int ret = report_stats_count_value(figures, number);

	if (!ret)
		report_stats_add_value(figures, number);
	return ret;
}

int figures_add_signed(struct figures *figures, int64_t number)
{
	if (number >= 0)
		return figures_add(figures, (uint64_t)number);
	figures->negative++;
	report_stats_add_value(figures, number);
	return 0;
}

/* From now on the sums are those of numbers with a fraction. */
static void become_real(struct figures *figures)
{
	figures->real = true;
	figures->real_sum = (double)figures->sum;
	figures->real_least = figures->count ? (double)figures->least : INFINITY;
	figures->real_most = figures->count ? (double)figures->most : -INFINITY;
}

int figures_add_real(struct figures *figures, double number)
{
	int ret;

	if (!isfinite(number)) {
		figures->nan += isnan(number);
		figures->infinite += !isnan(number);
		return 0;
	}
	if (!figures->real)
		become_real(figures);
	if (number < 0) {
		figures->negative++;
	} else if (number >= 0x1p64) {
		figures->above++;
	} else {
		ret = report_stats_count_value(figures, (uint64_t)number);
		if (ret)
			return ret;
	}
	figures->real_sum += number;
	figures->real_least = fmin(figures->real_least, number);
	figures->real_most = fmax(figures->real_most, number);
	figures->count++;
	return 0;
}

void figures_free(struct figures *figures)
{
	for (unsigned int i = 0; i < FIGURES_OCTAVES; i++)
		free(figures->octaves[i]);
}

double figures_mean(const struct figures *figures)
{
	if (!figures->count)
		return 0;
	return (figures->real ? figures->real_sum : (double)figures->sum) / (double)figures->count;
}

/* The middle of a step, rounded down. */
static uint64_t middle_of(unsigned int octave, unsigned int step)
{
	unsigned int shift = octave ? octave - 1 : 0;
	uint64_t begin = ((uint64_t)step + (octave ? FIGURES_STEPS : 0)) << shift;

	return begin + ((UINT64_C(1) << shift) >> 1);
}

uint64_t figures_percentile(const struct figures *figures, uint32_t thousandths)
{
	unsigned __int128 all = (unsigned __int128)figures->count * thousandths;
	uint64_t rank = (uint64_t)((all + 99999) / 100000), passed = 0, least, most;

	if (figures->real) {
		least = figures->real_least > 0 ? (uint64_t)figures->real_least : 0;
		most = figures->real_most < 0x1p64 ? (uint64_t)figures->real_most : UINT64_MAX;
	} else {
		least = (uint64_t)figures->least;
		most = (uint64_t)figures->most;
	}
	for (unsigned int octave = 0; octave < FIGURES_OCTAVES; octave++) {
		for (unsigned int step = 0; figures->octaves[octave] && step < FIGURES_STEPS;
				step++) {
			passed += figures->octaves[octave][step];
			if (passed >= rank && figures->octaves[octave][step]) {
				uint64_t middle = middle_of(octave, step);

				return middle < least ? least : middle > most ? most : middle;
			}
		}
	}
	return most;
}

void figures_powers(const struct figures *figures, uint64_t powers[FIGURES_POWERS])
{
	for (unsigned int i = 0; i < FIGURES_POWERS; i++)
		powers[i] = 0;
	for (unsigned int octave = 0; octave < FIGURES_OCTAVES; octave++) {
		for (unsigned int step = 0; figures->octaves[octave] && step < FIGURES_STEPS;
				step++) {
			unsigned int digits = octave ? octave + STEP_BITS
					: step       ? highest_bit(step) + 1
						     : 0;

			powers[digits] += figures->octaves[octave][step];
		}
	}
}
