/* SPDX-License-Identifier: MIT */
/*
 * Chooses the clock of the rings, and computes its frequency and its origin in Unix time.
 *
 * Sources of the TSC frequency, best first:
 *
 *	kernel	the conversion that the kernel itself uses for the TSC, as perf_event shows it
 *	cpuid	the value of the hypervisor (leaf 0x40000010) or the CPU (0x15, 0x16), unless a
 *		short measurement contradicts it
 *	measure	ticks against CLOCK_MONOTONIC between two samples
 *
 * These give the rate of CLOCK_MONOTONIC_RAW. NTP corrections make wall-clock time faster or slower
 * (up to 500 ppm: 1.8 s an hour). Therefore the start of a recording uses the correction in force,
 * and its end uses the samples of both ends, if they are more precise.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include "ring/clock.h"

#if RING_CLOCK_HAS_TSC
#include <cpuid.h>
#endif

#define NS_PER_S 1000000000
#define RING_SAMPLE_TRIES 32
#define RING_MEASURE_NS 20000000
#define RING_CONVERSION_TRIES 100

uint64_t ring_clock_now(enum ring_clock clock)
{
	return ring_clock_read(clock);
}

bool ring_clock_tsc_permitted(void)
{
#if RING_CLOCK_HAS_TSC
	int state = PR_TSC_ENABLE;

	return prctl(PR_GET_TSC, &state) != 0 || state == PR_TSC_ENABLE;
#else
	return false;
#endif
}

#if RING_CLOCK_HAS_TSC
/* Whether the kernel lists the TSC as a clock source: it removes one that it found unstable. */
static bool ring_clock_kernel_lists_tsc(void)
{
	char list[256];
	ssize_t got;
	int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
			O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	got = read(fd, list, sizeof(list) - 1);
	close(fd);
	if (got <= 0)
		return false;
	list[got] = '\0';
	for (char *remainder = list, *word; (word = strtok_r(remainder, " \n", &remainder));) {
		if (!strcmp(word, "tsc"))
			return true;
	}
	return false;
}

/* Whether the CPU guarantees a constant rate, also in deep sleep. */
static bool ring_clock_tsc_invariant(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && edx & 1u << 8;
}

/* The TSC frequency of CPUID in Hz; 0 if it has none. */
static uint64_t ring_clock_cpuid_frequency(void)
{
	unsigned int eax, ebx, ecx, edx, base_mhz = 0;

	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & 1u << 31) {
		/* A hypervisor. Leaf 0 does not count its leaves. */
		__cpuid(0x40000000, eax, ebx, ecx, edx);
		if (eax >= 0x40000010 && eax < 0x40010000) {
			__cpuid(0x40000010, eax, ebx, ecx, edx);
			if (eax)
				return (uint64_t)eax * 1000;
		}
	}
	if (__get_cpuid(0x16, &eax, &ebx, &ecx, &edx))
		base_mhz = eax & 0xffff;
	if (!__get_cpuid(0x15, &eax, &ebx, &ecx, &edx) || !eax || !ebx)
		return 0;
	if (ecx)
		return (uint64_t)ecx * ebx / eax;
	return (uint64_t)base_mhz * 1000000;
}
#endif

enum ring_clock ring_clock_choose(void)
{
#if RING_CLOCK_HAS_TSC
	if (ring_clock_tsc_invariant() && ring_clock_kernel_lists_tsc() &&
			ring_clock_tsc_permitted())
		return RING_CLOCK_TSC;
#endif
	return RING_CLOCK_MONOTONIC;
}

/* Read the conversion from the page. False if it changes all the time, or is not available. */
static bool ring_clock_read_conversion(const struct perf_event_mmap_page *page,
		struct ring_clock_conversion *ret_conversion)
{
	/* The kernel's sequence lock: it changes the page while `lock` is odd. */
	for (int tries = 0; tries < RING_CONVERSION_TRIES; tries++) {
		/*
		 * Acquire: before what it guards. Pairs with the kernel's barrier behind its first
		 * increment.
		 */
		uint32_t sequence = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		bool known = page->cap_user_time;

		ret_conversion->has_zero = page->cap_user_time_zero;
		/*
		 * Acquire, all 3: each before the second load of `lock`. Pairs with the kernel's
		 * barrier before its second increment.
		 */
		ret_conversion->zero = __atomic_load_n(&page->time_zero, __ATOMIC_ACQUIRE);
		ret_conversion->multiplier = __atomic_load_n(&page->time_mult, __ATOMIC_ACQUIRE);
		ret_conversion->shift = __atomic_load_n(&page->time_shift, __ATOMIC_ACQUIRE);
		if (!(sequence & 1) && __atomic_load_n(&page->lock, __ATOMIC_RELAXED) == sequence)
			return known && ret_conversion->multiplier && ret_conversion->shift < 64;
	}
	return false;
}

bool ring_clock_kernel_conversion(struct ring_clock_conversion *ret_conversion)
{
	struct perf_event_attr attributes = {
			.type = PERF_TYPE_SOFTWARE,
			.size = sizeof(attributes),
			.config = PERF_COUNT_SW_DUMMY,
			.exclude_kernel = 1,
			.exclude_hv = 1,
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *shown;
	bool known;
	int fd;

	fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return false;
	shown = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (shown == MAP_FAILED)
		return false;
	known = ring_clock_read_conversion(shown, ret_conversion);
	munmap(shown, page);
	return known;
}

/* Ticks a second of the kernel's own conversion; 0 if this process may not read it. */
static long double ring_clock_kernel_frequency(void)
{
	struct ring_clock_conversion conversion;

	if (!ring_clock_kernel_conversion(&conversion))
		return 0;
	return (long double)NS_PER_S * (long double)(UINT64_C(1) << conversion.shift) /
			(long double)conversion.multiplier;
}

/* How much faster than CLOCK_MONOTONIC_RAW the wall clock runs now: 1 + the NTP correction. */
static long double ring_clock_wall_rate(void)
{
	struct timex state = {0};
	long double rate = 1;
	long hertz = 100; /* USER_HZ, the unit of timex.tick. */

	if (adjtimex(&state) < 0)
		return 1;
	rate += (long double)state.freq / 65536 / 1000000;
	if (state.tick > 0)
		rate *= (long double)state.tick * hertz / 1000000;
	/* The kernel permits a tenth for tick. */
	return rate > 0.85L && rate < 1.15L ? rate : 1;
}

static int64_t ring_clock_difference(clockid_t id, int64_t *ret_error_ns)
{
	int64_t best = INT64_MAX, difference = 0;

	for (int i = 0; i < RING_SAMPLE_TRIES; i++) {
		int64_t before = ring_clock_read_ns(CLOCK_MONOTONIC);
		int64_t other = ring_clock_read_ns(id);
		int64_t width = ring_clock_read_ns(CLOCK_MONOTONIC) - before;

		if (width < best) {
			best = width;
			difference = other - (before + width / 2);
		}
	}
	*ret_error_ns += best / 2 + 1;
	return difference;
}

int ring_clock_sample(enum ring_clock clock, struct ring_clock_sample *ret_sample)
{
	uint64_t best = UINT64_MAX;
	int64_t first, elapsed;
	uint64_t first_ticks, ticks;

	if (clock == RING_CLOCK_TSC && !RING_CLOCK_HAS_TSC)
		return -ENOTSUP;
	*ret_sample = (struct ring_clock_sample){0};
	first = ring_clock_read_ns(CLOCK_MONOTONIC);
	first_ticks = ring_clock_read(clock);
	for (int i = 0; i < RING_SAMPLE_TRIES; i++) {
		uint64_t before = ring_clock_read(clock);
		int64_t now = ring_clock_read_ns(CLOCK_MONOTONIC);
		uint64_t width = ring_clock_read(clock) - before;

		if (width < best) {
			best = width;
			ret_sample->ticks = before + width / 2;
			ret_sample->monotonic_ns = now;
		}
	}
	/* Width in ns, from the rate during these reads: precise enough for a bound. */
	elapsed = ring_clock_read_ns(CLOCK_MONOTONIC) - first;
	ticks = ring_clock_read(clock) - first_ticks;
	ret_sample->error_ns =
			ticks ? (int64_t)((long double)best * elapsed / ticks / 2) + 2 : elapsed;
	ret_sample->realtime_ns = ret_sample->monotonic_ns +
			ring_clock_difference(CLOCK_REALTIME, &ret_sample->error_ns);
	ret_sample->raw_ns = ret_sample->monotonic_ns +
			ring_clock_difference(CLOCK_MONOTONIC_RAW, &ret_sample->error_ns);
	return 0;
}

static long double ring_clock_rate_between(
		const struct ring_clock_sample *begin, const struct ring_clock_sample *end)
{
	return (long double)(end->ticks - begin->ticks) * NS_PER_S /
			(end->monotonic_ns - begin->monotonic_ns);
}

/*
 * Whether two samples contradict a frequency: its prediction differs by more than the errors of
 * both samples.
 */
static bool ring_clock_contradicts(const struct ring_clock_sample *begin,
		const struct ring_clock_sample *end, long double frequency)
{
	long double ns = (long double)(end->ticks - begin->ticks) * NS_PER_S / frequency;
	long double off = ns - (long double)(end->monotonic_ns - begin->monotonic_ns);

	return (off < 0 ? -off : off) > (long double)(begin->error_ns + end->error_ns);
}

static void ring_clock_sleep_until(int64_t monotonic_ns)
{
	struct timespec until = {
			.tv_sec = monotonic_ns / NS_PER_S,
			.tv_nsec = monotonic_ns % NS_PER_S,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
	}
}

/*
 * Compute the ticks in one second of wall-clock time. end: the other end of the recording or, if
 * the kernel does not report the rate, of a short measurement.
 */
static int ring_clock_frequency(enum ring_clock clock, const struct ring_clock_sample *begin,
		const struct ring_clock_sample *end, long double *ret_frequency,
		enum ring_clock_source *ret_source)
{
	long double wall_rate = ring_clock_wall_rate();
	struct ring_clock_sample later;

	*ret_frequency = ring_clock_kernel_frequency() / wall_rate;
	*ret_source = RING_CLOCK_SOURCE_KERNEL;
	if (*ret_frequency > 0 && (!end || !ring_clock_contradicts(begin, end, *ret_frequency)))
		return 0;
	if (!end) {
		int ret;

		ring_clock_sleep_until(begin->monotonic_ns + RING_MEASURE_NS);
		ret = ring_clock_sample(clock, &later);
		if (ret)
			return ret;
		end = &later;
	}
	if (end->ticks <= begin->ticks || end->monotonic_ns <= begin->monotonic_ns)
		return -ERANGE;
#if RING_CLOCK_HAS_TSC
	*ret_frequency = ring_clock_cpuid_frequency() / wall_rate;
	*ret_source = RING_CLOCK_SOURCE_CPUID;
	if (*ret_frequency > 0 && !ring_clock_contradicts(begin, end, *ret_frequency))
		return 0;
#endif
	*ret_frequency = ring_clock_rate_between(begin, end);
	*ret_source = RING_CLOCK_SOURCE_MEASURED;
	return 0;
}

/* Set the origin: the Unix time of the first sample's tick. */
static void ring_clock_origin(
		const struct ring_clock_sample *begin, struct ring_clock_calibration *calibration)
{
	uint64_t frequency = calibration->frequency;
	int64_t seconds = begin->realtime_ns / NS_PER_S;
	uint64_t remainder = (uint64_t)(begin->realtime_ns % NS_PER_S);
	/* Does not overflow: remainder < 1e9 and frequency < 1.8e10. */
	uint64_t ticks = remainder * frequency / NS_PER_S;

	calibration->offset_s = seconds - (int64_t)(begin->ticks / frequency);
	if (ticks < begin->ticks % frequency) {
		calibration->offset_s--;
		ticks += frequency;
	}
	calibration->offset = ticks - begin->ticks % frequency;
}

int ring_clock_calibrate(enum ring_clock clock, const struct ring_clock_sample *begin,
		const struct ring_clock_sample *end, struct ring_clock_calibration *calibration)
{
	enum ring_clock_source source = RING_CLOCK_SOURCE_EXACT;
	long double frequency = NS_PER_S;
	int ret;

	if (begin->realtime_ns < 0)
		return -ERANGE;
	if (end && (end->ticks <= begin->ticks || end->monotonic_ns <= begin->monotonic_ns))
		return -ERANGE;
	if (clock == RING_CLOCK_TSC) {
		ret = ring_clock_frequency(clock, begin, end, &frequency, &source);
		if (ret)
			return ret;
	}
	if (frequency < 1000 || frequency > 18e9L)
		return -ERANGE;
	calibration->frequency = (uint64_t)(frequency + 0.5L);
	calibration->source = source;
	ring_clock_origin(begin, calibration);
	return 0;
}

int64_t ring_clock_unix_ns(const struct ring_clock_calibration *calibration, uint64_t ticks)
{
	uint64_t frequency = calibration->frequency;
	uint64_t seconds = ticks / frequency;
	uint64_t remainder = ticks % frequency + calibration->offset;

	seconds += remainder / frequency;
	remainder %= frequency;
	return (calibration->offset_s + (int64_t)seconds) * NS_PER_S +
			(int64_t)(remainder * NS_PER_S / frequency);
}
