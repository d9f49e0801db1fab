/* SPDX-License-Identifier: MIT */
/*
 * Compares the clock with the kernel's: ticks converted to Unix time equal CLOCK_REALTIME, now, in
 * between and after a while. Checks the arithmetic with chosen samples.
 */
#include <time.h>
#include <unistd.h>

#include "decode.h"

#define S INT64_C(1000000000)

static int64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * S + now.tv_nsec;
}

/* Returns the difference between the clock and the kernel's clock: the best of some attempts. */
static int64_t error_now(enum ring_clock clock, const struct ring_clock_calibration *calibration)
{
	int64_t best = INT64_MAX, error = 0;

	for (int i = 0; i < 50; i++) {
		int64_t before = real_ns();
		int64_t ours = ring_clock_unix_ns(calibration, ring_clock_now(clock));
		int64_t width = real_ns() - before;

		if (width < best) {
			best = width;
			error = ours - (before + width / 2);
		}
	}
	return error < 0 ? -error : error;
}

static void test_real(enum ring_clock clock)
{
	struct ring_clock_calibration calibration;
	struct ring_clock_sample begin, middle, end;
	int64_t error;

	CHECK(ring_clock_sample(clock, &begin) == 0, "sample");
	CHECK(ring_clock_calibrate(clock, &begin, NULL, &calibration) == 0, "calibrate");
	CHECK(calibration.offset < calibration.frequency, "offset");
	error = error_now(clock, &calibration);
	printf("clock %d: %lu Hz, source %d, sample +-%ld ns, %ld ns off", clock,
			calibration.frequency, calibration.source, begin.error_ns, error);
	CHECK(error < 20000, "%ld ns off", error);
	usleep(test_is_long() ? 20000000 : 300000);
	error = error_now(clock, &calibration);
	printf(", later %ld ns", error);
	CHECK(error < 200000, "%ld ns off", error);
	CHECK(ring_clock_sample(clock, &middle) == 0, "sample");
	usleep(100000);
	CHECK(ring_clock_sample(clock, &end) == 0, "sample");
	CHECK(ring_clock_calibrate(clock, &begin, &end, &calibration) == 0, "calibrate");
	error = ring_clock_unix_ns(&calibration, middle.ticks) - middle.realtime_ns;
	printf(", with both ends %ld ns in between, %ld Hz\n", error, calibration.frequency);
	CHECK(error < 20000 && error > -20000, "%ld ns off", error);
	if (clock == RING_CLOCK_MONOTONIC)
		CHECK(calibration.frequency == 1000000000 &&
						calibration.source == RING_CLOCK_SOURCE_EXACT,
				"not exact");
}

/* A clock of 3 GHz, compared for four hours with a wall clock that is corrected by 40 ppm. */
static void test_made_up(void)
{
	const int64_t hours = 4, length = hours * 3600 * S;
	const double rate = 3e9 / 1.00004;
	struct ring_clock_sample begin = {
			.ticks = UINT64_C(1) << 55, .monotonic_ns = 77 * S, .error_ns = 30};
	struct ring_clock_sample end = begin;
	struct ring_clock_calibration calibration;

	begin.realtime_ns = 1700000000 * S + 123456789;
	begin.raw_ns = begin.monotonic_ns;
	end.ticks += (uint64_t)(rate * (double)length / 1e9);
	end.monotonic_ns += length;
	end.realtime_ns = begin.realtime_ns + length;
	end.raw_ns = begin.raw_ns + length - 4 * 3600 * 40000;
	CHECK(ring_clock_calibrate(RING_CLOCK_TSC, &begin, &end, &calibration) == 0, "calibrate");
	CHECK(calibration.source == RING_CLOCK_SOURCE_MEASURED, "source");
	CHECK(calibration.frequency == (uint64_t)(rate + 0.5), "%lu Hz", calibration.frequency);
	for (int i = 0; i <= 8; i++) {
		uint64_t ticks = begin.ticks + (end.ticks - begin.ticks) / 8 * (uint64_t)i;
		int64_t error = ring_clock_unix_ns(&calibration, ticks) -
				(begin.realtime_ns + length / 8 * i);

		CHECK(error < 10000 && error > -10000, "%d/8: %ld ns off", i, error);
	}
	/* The wall clock is set by an hour meanwhile: the conversion is not stretched. */
	end.realtime_ns += 3600 * S;
	CHECK(ring_clock_calibrate(RING_CLOCK_TSC, &begin, &end, &calibration) == 0, "calibrate");
	CHECK(calibration.frequency == (uint64_t)(rate + 0.5), "%lu Hz", calibration.frequency);
	end.ticks = begin.ticks;
	CHECK(ring_clock_calibrate(RING_CLOCK_TSC, &begin, &end, &calibration) == -ERANGE, "ticks");
}

int main(void)
{
	test_real(RING_CLOCK_MONOTONIC);
	if (ring_clock_choose() == RING_CLOCK_TSC) {
		test_real(RING_CLOCK_TSC);
		test_made_up();
	}
	return 0;
}
