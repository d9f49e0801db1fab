/* SPDX-License-Identifier: MIT */
/*
 * Preloaded: a wall clock that jumps. CLOCK_REALTIME is off by the number of nanoseconds in the
 * file that STORM_CLOCK names, at each call. All other clocks are unchanged.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

#define SHOWN __attribute__((visibility("default")))

static const _Atomic int64_t none;
static const _Atomic int64_t *off = &none;
static int (*real_clock_gettime)(clockid_t id, struct timespec *time);

static void find(void)
{
	void *symbol = dlsym(RTLD_NEXT, "clock_gettime");

	memcpy(&real_clock_gettime, &symbol, sizeof(symbol));
}

static __attribute__((constructor(101))) void begin(void)
{
	const char *path = getenv("STORM_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *memory;

	if (!real_clock_gettime)
		find();
	if (fd < 0)
		return;
	memory = mmap(NULL, sizeof(*off), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (memory != MAP_FAILED)
		off = memory;
}

SHOWN int clock_gettime(clockid_t id, struct timespec *now)
{
	int64_t ns;
	int ret;

	if (!real_clock_gettime)
		find();
	ret = real_clock_gettime(id, now);
	if (ret || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
		return ret;
	ns = (int64_t)now->tv_sec * NS_PER_S + now->tv_nsec + *off;
	now->tv_sec = ns / NS_PER_S;
	now->tv_nsec = ns % NS_PER_S;
	return 0;
}

SHOWN int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec time;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &time);
	*now = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
	return 0;
}

SHOWN time_t time(time_t *result)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (result)
		*result = now.tv_sec;
	return now.tv_sec;
}
