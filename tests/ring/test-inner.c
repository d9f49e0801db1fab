/* SPDX-License-Identifier: MIT */
/*
 * Exact values of the functions that create rings, choose a clock, publish without restartable
 * sequences, and handle the results of sections. The files are included: the test decides which
 * call of the C library fails, and what a section returns.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

/*
 * A missing fence has an effect only in a handler or on another processor, and rarely: so the test
 * counts fences.
 */
static unsigned int nr_fences, nr_signal_fences;
#define __atomic_thread_fence(order) ((order) == __ATOMIC_SEQ_CST ? (void)nr_fences++ : abort())
#define __atomic_signal_fence(order) \
	((order) == __ATOMIC_SEQ_CST ? (void)nr_signal_fences++ : abort())

#include "ring/clock.h"
#include "ring/doorbell.h"
#include "ring/lease.h"
#include "ring/portable.h"
#include "ring/space.h"
#include "ring/rseq.h"
#include "ring/slots.h"

/* ---- calls that fail ---- */

/* This function fails, with this error, after this number of successful calls. */
static const char *fails;
static int fails_with, fails_after;
static int nr_opened, nr_closed, nr_mapped, nr_unmapped, nr_unlinked, nr_allocated;

static void fail(const char *name, int error)
{
	fails = name;
	fails_with = error;
	fails_after = 0;
}

static bool is_failing(const char *name)
{
	if (!fails || strcmp(fails, name) || fails_after--)
		return false;
	fails = NULL;
	errno = fails_with;
	return true;
}

static void count_from_here(void)
{
	fails = NULL;
	nr_opened = nr_closed = nr_mapped = nr_unmapped = nr_unlinked = nr_allocated = 0;
}

/* Returns whether a failed call has released everything. */
static bool is_clean(void)
{
	return !fails && nr_opened == nr_closed && nr_mapped == nr_unmapped;
}

static int note_opened(int fd)
{
	nr_opened += fd >= 0;
	return fd;
}

static int fake_close(int fd)
{
	nr_closed++;
	return close(fd);
}

static unsigned int memfd_flags;

static int fake_memfd(const char *name, unsigned int flags)
{
	memfd_flags = flags;
	if (is_failing("memfd_create"))
		return -1;
	/* The machine may have no huge pages. */
	return note_opened((int)syscall(SYS_memfd_create, name, flags & ~MFD_HUGETLB));
}

static int fake_truncate(int fd, off_t size)
{
	return is_failing("ftruncate") ? -1 : ftruncate(fd, size);
}

static int fake_fcntl(int fd, int command, ...)
{
	va_list list;
	int value;

	va_start(list, command);
	value = command == F_ADD_SEALS ? va_arg(list, int) : 0;
	va_end(list);
	return is_failing("fcntl") ? -1 : fcntl(fd, command, value);
}

static int fake_fallocate(int fd, int mode, off_t offset, off_t size)
{
	CHECK(!mode && !offset);
	nr_allocated++;
	return is_failing("fallocate") ? -1 : fallocate(fd, 0, 0, size);
}

static int fake_posix_fallocate(int fd, off_t offset, off_t size)
{
	CHECK(!offset);
	if (is_failing("posix_fallocate"))
		return fails_with;
	return ftruncate(fd, size);
}

static ssize_t written_less;

static ssize_t fake_pwrite(int fd, const void *from, size_t size, off_t at)
{
	if (is_failing("pwrite"))
		return -1;
	return pwrite(fd, from, size, at) - written_less;
}

static int fake_openat(int folder, const char *name, int flags, ...)
{
	unsigned int mode;
	va_list list;

	va_start(list, flags);
	mode = va_arg(list, unsigned int);
	va_end(list);
	CHECK(flags == (O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW) && mode == 0400);
	return is_failing("openat") ? -1 : note_opened(openat(folder, name, flags, 0400));
}

static int fake_unlinkat(int folder, const char *name, int flags)
{
	nr_unlinked++;
	return unlinkat(folder, name, flags);
}

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *memory;

	if (is_failing("mmap"))
		return MAP_FAILED;
	memory = mmap(at, size, protection, flags, fd, offset);
	nr_mapped += memory != MAP_FAILED;
	return memory;
}

static int fake_munmap(void *at, size_t size)
{
	nr_unmapped++;
	return munmap(at, size);
}

static int fake_madvise(void *at, size_t size, int advice)
{
	return is_failing("madvise") ? -1 : madvise(at, size, advice);
}

#define close fake_close
#define memfd_create fake_memfd
#define ftruncate fake_truncate
#define fcntl fake_fcntl
#define fallocate fake_fallocate
#define posix_fallocate fake_posix_fallocate
#define pwrite fake_pwrite
#define openat fake_openat
#define unlinkat fake_unlinkat
#define mmap fake_mmap
#define munmap fake_munmap
#define madvise fake_madvise
#include "ring/create.c"
#undef fcntl
#undef ftruncate

/* ---- the clock's calls ---- */

static char listed[64];
static struct perf_event_mmap_page page_of_kernel;
static int perf_event = -1;
static struct timex timex;
#define RING_SAMPLE_TRIES_MAX 32
static int64_t times[128], more_times[6 * RING_SAMPLE_TRIES_MAX];
static unsigned int nr_times, at_time;

static int fake_open(const char *path, int flags)
{
	CHECK(!strcmp(path, "/sys/devices/system/clocksource/clocksource0/available_clocksource") &&
			flags == (O_RDONLY | O_CLOEXEC));
	return is_failing("open") ? -1 : note_opened(open("/dev/null", O_RDONLY));
}

static ssize_t fake_read(int fd, void *to, size_t size)
{
	CHECK(fd >= 0 && size == 255);
	if (is_failing("read"))
		return -1;
	memcpy(to, listed, strlen(listed));
	return (ssize_t)strlen(listed);
}

static int fake_adjtimex(struct timex *state)
{
	if (is_failing("adjtimex")) {
		state->freq = 65536000000 / 16;
		return -1;
	}
	*state = timex;
	return 0;
}

/* The file of the event is the page that the kernel fills. */
static long fake_perf_event(long number, ...)
{
	const struct perf_event_attr *attributes;
	va_list list;

	CHECK(number == SYS_perf_event_open);
	va_start(list, number);
	attributes = va_arg(list, const struct perf_event_attr *);
	CHECK(attributes->size >= PERF_ATTR_SIZE_VER0);
	/* Of this thread, on each processor, in no group. */
	CHECK(va_arg(list, int) == 0 && va_arg(list, int) == -1 && va_arg(list, int) == -1);
	CHECK(va_arg(list, unsigned long) == PERF_FLAG_FD_CLOEXEC);
	va_end(list);
	if (is_failing("perf_event_open") || perf_event < 0)
		return -1;
	CHECK(pwrite(perf_event, &page_of_kernel, sizeof(page_of_kernel), 0) ==
			(ssize_t)sizeof(page_of_kernel));
	return note_opened(dup(perf_event));
}

/* Without times from the test, reads the clock. */
static int64_t fake_read_ns(clockid_t id)
{
	unsigned int i = at_time++;

	if (!nr_times)
		return ring_clock_read_ns(id);
	CHECK(i < nr_times + 6 * RING_SAMPLE_TRIES_MAX);
	return i < nr_times ? times[i] : more_times[i - nr_times];
}

static int64_t slept_until;

static int fake_nanosleep_until(
		clockid_t id, int flags, const struct timespec *until, struct timespec *remaining)
{
	CHECK(id == CLOCK_MONOTONIC && flags == TIMER_ABSTIME && !remaining);
	slept_until = until->tv_sec * INT64_C(1000000000) + until->tv_nsec;
	return is_failing("clock_nanosleep") ? fails_with : 0;
}

static bool has_tsc = true;

static bool fake_permitted_tsc(void)
{
	return has_tsc;
}

/* Ticks from the test, if any. */
static uint64_t counted[128];
static unsigned int nr_ticks, at_tick;

static uint64_t fake_read_ticks(enum ring_clock clock)
{
	CHECK(!nr_ticks || at_tick < nr_ticks);
	return nr_ticks ? counted[at_tick++] : ring_clock_read(clock);
}

#if RING_CLOCK_HAS_TSC
#include <cpuid.h>

/* The processor's report for each leaf; a missing leaf has no entry. */
static struct leaf {
	unsigned int leaf, words[4];
} leaves[6];

static int fake_cpuid(unsigned int leaf, unsigned int *a, unsigned int *b, unsigned int *c,
		unsigned int *d)
{
	for (int i = 0; i < 6; i++)
		if (leaf && leaves[i].leaf == leaf) {
			*a = leaves[i].words[0];
			*b = leaves[i].words[1];
			*c = leaves[i].words[2];
			*d = leaves[i].words[3];
			return 1;
		}
	*a = *b = *c = *d = 0;
	return 0;
}

#define __get_cpuid fake_cpuid
#undef __cpuid
#define __cpuid(leaf, a, b, c, d) (void)fake_cpuid(leaf, &(a), &(b), &(c), &(d))
#endif
#define ring_clock_read fake_read_ticks
#define open fake_open
#define read fake_read
#define adjtimex fake_adjtimex
#define syscall fake_perf_event
#define ring_clock_read_ns fake_read_ns
#define clock_nanosleep fake_nanosleep_until
#include "ring/clock.c"
#undef open
#undef read
#undef syscall
#undef ring_clock_read_ns
#undef ring_clock_read
#undef close

/* ---- without restartable sequences ---- */

static unsigned int nr_yields, nr_sleeps, nr_borrowed;
static int cpu_now;
static bool permitted = true;
static uint32_t own_ring = RING_SLOT_NONE, other_ring = RING_SLOT_NONE;

static int fake_yield(void)
{
	nr_yields++;
	return 0;
}

static int fake_sleep(const struct timespec *pause, void *remaining)
{
	CHECK(pause->tv_sec == 0 && pause->tv_nsec == 100000 && !remaining);
	nr_sleeps++;
	errno = EINTR;
	return -1;
}

static int fake_cpu(void)
{
	return cpu_now;
}

static bool fake_permitted(void)
{
	return permitted;
}

static uint32_t fake_slot(const struct ring_producer *producer)
{
	(void)producer;
	return own_ring;
}

static uint32_t fake_borrow(struct ring_producer *producer)
{
	(void)producer;
	nr_borrowed += other_ring != RING_SLOT_NONE;
	return other_ring;
}

static void fake_give_back(struct ring_producer *producer, uint32_t ring)
{
	(void)producer;
	CHECK(ring == other_ring);
	nr_borrowed--;
}

#define sched_yield fake_yield
#define nanosleep fake_sleep
#define sched_getcpu fake_cpu
#define ring_calls_permitted fake_permitted
#define ring_slot fake_slot
#define ring_slot_borrow fake_borrow
#define ring_slot_give_back fake_give_back
#include "ring/portable.c"
#undef ring_slot_borrow
#undef ring_slot_give_back
#include "ring/rseq.c"

/* Each lock is released, and nothing is changed without a lock. */
static unsigned int nr_locks, nr_unlocks;

static int count_lock(pthread_mutex_t *mutex)
{
	nr_locks++;
	return pthread_mutex_lock(mutex);
}

static int count_unlock(pthread_mutex_t *mutex)
{
	nr_unlocks++;
	return pthread_mutex_unlock(mutex);
}

#define pthread_mutex_lock count_lock
#define pthread_mutex_unlock count_unlock
#include "ring/truncated.c"
#undef pthread_mutex_lock
#undef pthread_mutex_unlock

static bool may_claim = true;
static unsigned int nr_claims, nr_waits;
static bool has_space;
static uint64_t wanted_space;

static bool fake_claim(struct ring_producer *producer, bool may_wait)
{
	nr_claims++;
	(void)may_wait;
	if (may_claim)
		producer->usable = producer->rings;
	return may_claim;
}

static bool fake_wait(struct ring_producer *producer, uint32_t ring, uint64_t bytes,
		struct ring_timeout *timeout)
{
	CHECK(ring == 1 && producer->mode == RING_MODE_BLOCK && !timeout->deadline_ns);
	nr_waits++;
	wanted_space = bytes;
	return has_space;
}

#if RING_HAS_SECTION
/* A thread without rseq, or without a ring. */
static bool has_no_rseq, may_obtain, is_loan, may_take;
static const int32_t *known_cpu; /* NULL: the CPU of this thread */
static unsigned int nr_takes, nr_forgotten, nr_returned;

static int32_t fake_rseq_cpu(void)
{
	return has_no_rseq ? -1 : known_cpu ? *known_cpu : ring_rseq_cpu();
}

static bool fake_obtain(bool *loan)
{
	*loan = is_loan;
	return may_obtain;
}

static void fake_return(void)
{
	nr_returned++;
}

static bool fake_take(struct ring_producer *producer)
{
	CHECK(producer->placement == RING_PER_THREAD);
	nr_takes++;
	return may_take;
}

static void fake_forget(struct ring_producer *producer)
{
	CHECK(producer->placement == RING_PER_THREAD);
	nr_forgotten++;
}

#define ring_rseq_cpu fake_rseq_cpu
#define ring_rseq_obtain fake_obtain
#define ring_rseq_return fake_return
#define ring_slot_take fake_take
#define ring_slot_forget fake_forget
#endif
#define ring_lease_claim fake_claim
#define ring_space_wait fake_wait
#define ring_clock_tsc_permitted fake_permitted_tsc
#include "ring/producer.c"
#undef ring_rseq_cpu
#undef ring_rseq_obtain
#undef ring_rseq_return
#undef ring_lease_claim
#undef ring_space_wait
#undef ring_slot
#undef mmap
#undef munmap
#undef pwrite

static const struct ring_geometry plain = {
		.rings = 2, .event_slots = 130, .size = 4096, .clock = RING_CLOCK_MONOTONIC};

/* ---- memory ---- */

static void test_memfd(void)
{
	static const char *const calls[] = {"memfd_create", "ftruncate", "fcntl"};
	struct stat status;
	uint64_t size = 0;
	int fd, pair[2];

	for (int i = 0; i < 3; i++) {
		count_from_here();
		fail(calls[i], 1000 + i);
		CHECK(ring_memfd_create("inner", 8192, 0) == -1000 - i && is_clean());
		CHECK(nr_closed == (i > 0));
	}
	count_from_here();
	fd = ring_memfd_create("inner", 8192, 0);
	CHECK(fd >= 0 && !nr_closed && memfd_flags == (MFD_CLOEXEC | MFD_ALLOW_SEALING));
	CHECK(fcntl(fd, F_GET_SEALS) == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	CHECK(!fstat(fd, &status) && status.st_size == 8192);
	CHECK(ring_memfd_check(fd, 8192, &size) == 0 && size == 8192);
	CHECK(ring_memfd_check(fd, 8191, &size) == 0 && size == 8192);
	size = 5;
	CHECK(ring_memfd_check(fd, 8193, &size) == -EPROTO && size == 5);
	CHECK(ring_memfd_check(-1, 0, &size) == -EBADF);
	close(fd);
	/* An empty one; no file; without seals, and with the other one only. */
	fd = ring_memfd_create("inner", 0, 0);
	CHECK(ring_memfd_check(fd, 0, &size) == 0 && size == 0);
	close(fd);
	CHECK(!pipe(pair) && ring_memfd_check(pair[0], 0, &size) == -EPROTO);
	close(pair[0]);
	close(pair[1]);
	fd = (int)syscall(SYS_memfd_create, "inner", MFD_ALLOW_SEALING);
	CHECK(ring_memfd_check(fd, 0, &size) == -EPROTO);
	CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) && ring_memfd_check(fd, 0, &size) == -EPROTO);
	CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) && ring_memfd_check(fd, 0, &size) == 0);
	close(fd);
	fd = open("/proc/self/stat", O_RDONLY);
	CHECK(ring_memfd_check(fd, 0, &size) == -EPROTO);
	close(fd);
}

static int create_fails(uint32_t flags, const char *call, int error)
{
	struct ring_geometry geometry = plain;
	int fd = -7, rc;

	geometry.flags = flags;
	if (flags & RING_HUGE_PAGES)
		geometry.size = ring_huge_page_size();
	if (!geometry.size)
		return -error;
	count_from_here();
	fail(call, error);
	rc = ring_memory_create_named(&geometry, "inner", &fd);
	CHECK(fd == -7 && is_clean() && !nr_unlinked);
	CHECK(!(flags & RING_HUGE_PAGES) || memfd_flags & MFD_HUGETLB);
	return rc;
}

static void test_create(void)
{
	struct ring_geometry geometry = plain;
	int fd = -7;

	CHECK(create_fails(0, "memfd_create", EMFILE) == -EMFILE);
	CHECK(create_fails(0, "memfd_create", EINVAL) == -EINVAL);
	CHECK(create_fails(0, "mmap", ENOMEM) == -ENOMEM && nr_closed == 1);
	CHECK(create_fails(RING_PREFAULT, "fallocate", ENOSPC) == -ENOMEM && nr_closed == 1);
	CHECK(create_fails(RING_PREFAULT, "fallocate", EIO) == -EIO && nr_allocated == 1);
	if (ring_huge_page_size()) {
		CHECK(create_fails(RING_HUGE_PAGES, "memfd_create", EINVAL) == -ENOTSUP);
		CHECK(create_fails(RING_HUGE_PAGES, "memfd_create", ENOSYS) == -ENOTSUP);
		CHECK(create_fails(RING_HUGE_PAGES, "memfd_create", ENODEV) == -ENOTSUP);
		CHECK(create_fails(RING_HUGE_PAGES, "memfd_create", EMFILE) == -EMFILE);
		CHECK(create_fails(RING_HUGE_PAGES, "fallocate", ENOSPC) == -ENOMEM);
	}
	/* An interrupted call is repeated. Without the flag no page is allocated. */
	geometry.flags = RING_PREFAULT;
	count_from_here();
	fail("fallocate", EINTR);
	CHECK(ring_memory_create(&geometry, &fd) == 0 && nr_allocated == 2 && nr_closed == 0);
	CHECK(nr_mapped == 1 && nr_unmapped == 1);
	close(fd);
	count_from_here();
	CHECK(ring_memory_create(&plain, &fd) == 0 && nr_allocated == 0);
	close(fd);
	geometry.rings = 0;
	CHECK(ring_memory_create(&geometry, &fd) == -EINVAL);
}

static void test_first_words(void)
{
	static union {
		unsigned char base[RING_HEADER_BYTES + 3 * sizeof(struct ring_control)];
		uint64_t aligned;
	} memory;
	struct ring_control *controls = (void *)(memory.base + RING_HEADER_BYTES);
	struct ring_geometry geometry = plain;

	ring_controls_fill(memory.base, &geometry);
	for (int i = 0; i < 2; i++)
		CHECK(controls[i].head == RING_EPOCH_FLIP &&
				controls[i].limit == (UINT64_C(4096) << 24 | 0xffffff) &&
				!controls[i].tail);
	CHECK(!controls[2].head && !controls[2].limit);
	geometry.flags = RING_COUNTS;
	ring_controls_fill(memory.base, &geometry);
	for (int i = 0; i < 2; i++)
		CHECK(controls[i].limit == 0xffffff && controls[i].tail == (uint64_t)-4096);
	CHECK(!controls[2].tail);
}

static char folder[] = "/tmp/side-inner-XXXXXX";
static int folder_fd;

static int file_fails(const char *call, int error)
{
	int fd = -7, rc;

	count_from_here();
	fail(call, error);
	rc = ring_memory_create_file(&plain, folder_fd, "file", &fd);
	CHECK(fd == -7 && is_clean() && faccessat(folder_fd, "file", F_OK, 0));
	return rc;
}

static int revoked_fails(int in, const char *call, int error)
{
	struct ring_geometry geometry = plain;
	int fd = -7, rc;

	geometry.flags = RING_LEASED;
	count_from_here();
	if (call)
		fail(call, error);
	rc = ring_memory_create_revoked(&geometry, in, "file", &fd);
	CHECK(is_clean() && faccessat(folder_fd, "file", F_OK, 0));
	return rc;
}

static void test_files(void)
{
	struct ring_geometry geometry = plain;
	struct ring_layout layout;
	struct stat status;
	uint32_t word = 0;
	int fd;

	CHECK(file_fails("openat", EROFS) == -EROFS && nr_unlinked == 0);
	CHECK(file_fails("posix_fallocate", ENOSPC) == -ENOSPC && nr_unlinked == 1);
	CHECK(file_fails("mmap", ENODEV) == -ENODEV && nr_unlinked == 1);
	CHECK(revoked_fails(folder_fd, "pwrite", EIO) == -EIO && nr_unlinked == 1);
	CHECK(revoked_fails(folder_fd, "openat", EROFS) == -EROFS && nr_unlinked == 0);
	CHECK(revoked_fails(-1, "pwrite", ENOSPC) == -ENOSPC && nr_unlinked == 0);
	CHECK(revoked_fails(-1, "memfd_create", EMFILE) == -EMFILE);
	written_less = 1;
	CHECK(revoked_fails(-1, NULL, 0) == -EIO && nr_unlinked == 0);
	CHECK(revoked_fails(folder_fd, NULL, 0) == -EIO && nr_unlinked == 1);
	/* Nothing was written, and there is no error number. */
	written_less = sizeof(struct ring_lease);
	CHECK(revoked_fails(-1, NULL, 0) == -EIO);
	written_less = 0;
	CHECK(ring_memory_create_revoked(&geometry, -1, "file", &fd) == -EINVAL);
	geometry.flags = RING_LEASED;
	CHECK(ring_geometry_layout(&geometry, &layout) == 0);
	for (int in_folder = 0; in_folder < 2; in_folder++) {
		CHECK(ring_memory_create_revoked(
				      &geometry, in_folder ? folder_fd : -1, "file", &fd) == 0);
		CHECK(pread(fd, &word, 4, RING_LEASE_OFFSET) == 4 && word == RING_LEASE_REVOKED);
		CHECK(!fstat(fd, &status) &&
				(uint64_t)status.st_size ==
						(in_folder ? layout.lost_offset : layout.total));
		close(fd);
	}
	CHECK(!unlinkat(folder_fd, "file", 0));
	/* Descriptor 0 is a directory like another one. */
	fd = dup(0);
	CHECK(fd >= 0 && dup2(folder_fd, 0) == 0);
	CHECK(revoked_fails(0, "pwrite", EIO) == -EIO && nr_unlinked == 1);
	CHECK(dup2(fd, 0) == 0);
	close(fd);
}

/* ---- import ---- */

static struct {
	unsigned char *memory; /* as in a process: each ring twice */
	size_t total;
	uint64_t from[64];
	size_t size[64];
	unsigned int nr, fails; /* the number of the read that fails */
	uint64_t base;
} source;

static int read_source(void *user, uint64_t address, void *to, size_t size)
{
	uint64_t at = address - source.base;

	CHECK(user == &source && source.nr < 64);
	source.from[source.nr] = at;
	source.size[source.nr++] = size;
	if (source.nr == source.fails)
		return -EFAULT;
	CHECK(at + size <= source.total);
	memcpy(to, source.memory + at, size);
	return 0;
}

static void begin_source(const struct ring_geometry *geometry, struct ring_memory *memory)
{
	int fd;

	CHECK(ring_memory_create(geometry, &fd) == 0);
	CHECK(ring_memory_map(fd, RING_END_PRODUCER, memory) == 0);
	close(fd);
	source.memory = memory->base;
	source.total = memory->layout.data_offset + 2 * geometry->rings * geometry->size;
	source.base = (uintptr_t)memory->base;
	source.nr = source.fails = 0;
}

/* Mappings of rings in this process. */
static unsigned int nr_ring_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned int nr = 0;

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		nr += strstr(line, "memfd:side-ring") != NULL;
	(void)fclose(maps);
	return nr;
}

static int import(uint64_t base)
{
	unsigned int before = nr_ring_mappings();
	int fd = -7, rc;

	source.base = base;
	source.nr = 0;
	count_from_here();
	rc = ring_memory_import(read_source, &source, base, &fd);
	CHECK(rc ? fd == -7 && is_clean() : fd >= 0 && nr_opened == nr_closed + 1);
	CHECK(nr_ring_mappings() == before);
	return rc ? rc : fd;
}

static void is_read(unsigned int nr, uint64_t from, size_t size)
{
	CHECK(nr < source.nr);
	if (source.from[nr] != from || source.size[nr] != size)
		fprintf(stderr, "read %u: %zu bytes from %lu, not %zu from %lu\n", nr,
				source.size[nr], source.from[nr], size, from);
	CHECK(source.from[nr] == from && source.size[nr] == size);
}

static void test_import(void)
{
	struct ring_memory memory, copy;
	const struct ring_layout *layout = &memory.layout;
	struct ring_control *control;
	uint64_t base;
	int fd;

	begin_source(&plain, &memory);
	base = source.base;
	control = ring_memory_control(&memory, 0);
	/* Unused rings: the header and the first words only. */
	fd = import(base);
	CHECK(fd >= 0 && source.nr == 2);
	close(fd);
	is_read(0, 0, sizeof(struct ring_header));
	is_read(1, RING_HEADER_BYTES, layout->lost_offset - RING_HEADER_BYTES);
	/* Two groups of counters, of 64 and the last 2 slots; the data of the second ring. */
	control[0].lost_groups[0] = 5;
	control[1].head = UINT64_C(9) << 24;
	control[1].absent = 1;
	ring_memory_lost(&memory, 0)[3] = 33;
	ring_memory_data(&memory, 1)[4] = 44;
	fd = import(base);
	CHECK(fd >= 0 && source.nr == 5);
	is_read(2, layout->lost_offset, 64 * 16 * 8);
	is_read(3, layout->lost_offset + 2 * 64 * 16 * 8, layout->lost_stride - 2 * 64 * 16 * 8);
	is_read(4, layout->data_offset + 2 * 4096, 4096);
	CHECK(ring_memory_map(fd, RING_END_PRODUCER, &copy) == 0);
	CHECK(ring_memory_lost(&copy, 0)[3] == 33 && ring_memory_data(&copy, 1)[4] == 44);
	CHECK(!ring_memory_control(&copy, 1)->absent && ring_memory_control(&copy, 1)->head);
	CHECK(((struct ring_header *)copy.base)->storage == RING_IN_MEMFD);
	ring_memory_unmap(&copy);
	close(fd);
	/* Counters that cannot be read are 0, and data that cannot be read is absent. */
	source.fails = 3;
	fd = import(base);
	CHECK(fd >= 0 && ring_memory_map(fd, RING_END_PRODUCER, &copy) == 0);
	CHECK(!ring_memory_lost(&copy, 0)[3] && !ring_memory_control(&copy, 1)->absent);
	ring_memory_unmap(&copy);
	close(fd);
	source.fails = 5;
	fd = import(base);
	CHECK(fd >= 0 && ring_memory_map(fd, RING_END_PRODUCER, &copy) == 0);
	CHECK(ring_memory_control(&copy, 1)->absent == 1 &&
			ring_memory_control(&copy, 0)->absent == 0);
	ring_memory_unmap(&copy);
	close(fd);
	/* A file has each ring once. */
	source.fails = 0;
	fd = import(0);
	CHECK(fd >= 0);
	is_read(4, layout->data_offset + 4096, 4096);
	close(fd);
	source.fails = 1;
	CHECK(import(base) == -EFAULT && nr_opened == 0);
	source.fails = 2;
	CHECK(import(base) == -EFAULT && nr_closed == 1);
	source.fails = 0;
	ring_memory_unmap(&memory);
}

static void test_import_fails(void)
{
	struct ring_geometry geometry = plain;
	struct ring_memory memory, copy;
	struct ring_header *header;
	uint64_t base;
	int fd = -7;

	begin_source(&plain, &memory);
	base = source.base;
	header = (void *)memory.base;
	count_from_here();
	fail("memfd_create", EMFILE);
	CHECK(ring_memory_import(read_source, &source, base, &fd) == -EMFILE && is_clean());
	count_from_here();
	fail("pwrite", ENOSPC);
	CHECK(ring_memory_import(read_source, &source, base, &fd) == -ENOSPC && is_clean() &&
			nr_closed == 1);
	count_from_here();
	written_less = 1;
	errno = 0;
	CHECK(ring_memory_import(read_source, &source, base, &fd) == -EIO && is_clean() &&
			nr_closed == 1 && fd == -7);
	written_less = 0;
	CHECK(!mprotect(memory.base, 4096, PROT_READ | PROT_WRITE));
	header->magic++;
	CHECK(import(base) == -EPROTO && nr_opened == 0);
	ring_memory_unmap(&memory);
	/* Leased memory: rings whose records were all read have no data, unless they overwrite. */
	geometry.flags = RING_LEASED;
	for (int mode = 0; mode < 2; mode++) {
		geometry.mode = mode ? RING_MODE_OVERWRITE : RING_MODE_DISCARD;
		begin_source(&geometry, &memory);
		ring_memory_control(&memory, 0)->head = UINT64_C(9) << 24;
		ring_memory_control(&memory, 0)->tail = 9 + (UINT64_C(1) << 40);
		ring_memory_control(&memory, 1)->head = UINT64_C(9) << 24;
		ring_memory_control(&memory, 1)->tail = 8;
		fd = import(source.base);
		CHECK(fd >= 0 && source.nr == (mode ? 4 : 3));
		/* The first ring's data are read in one mode only, the second one's in both. */
		is_read(source.nr - 1, memory.layout.data_offset + 2 * 4096, 4096);
		/* The copy is not leased. */
		CHECK(ring_memory_map(fd, RING_END_PRODUCER, &copy) == 0);
		CHECK(!copy.geometry.flags && copy.geometry.mode == geometry.mode);
		ring_memory_unmap(&copy);
		close(fd);
		ring_memory_unmap(&memory);
	}
}

/* Descriptor 0 is one like others. */
static void test_descriptor_0(void)
{
	struct ring_memory memory;
	int fd = -7, saved = dup(0);
	uint64_t base;

	begin_source(&plain, &memory);
	base = source.base;
	close(0);
	CHECK(ring_memfd_create("inner", 4096, 0) == 0);
	close(0);
	CHECK(ring_memory_create(&plain, &fd) == 0 && fd == 0);
	close(0);
	CHECK(ring_memory_create_file(&plain, folder_fd, "file", &fd) == 0 && fd == 0);
	close(0);
	CHECK(!unlinkat(folder_fd, "file", 0));
	CHECK(import(base) == 0);
	close(0);
#if RING_CLOCK_HAS_TSC
	strcpy(listed, "tsc");
	CHECK(ring_clock_kernel_lists_tsc());
#endif
	CHECK(dup2(saved, 0) == 0);
	close(saved);
	ring_memory_unmap(&memory);
}

/* ---- clock ---- */

#if RING_CLOCK_HAS_TSC
static bool lists(const char *text)
{
	strcpy(listed, text);
	count_from_here();
	return ring_clock_kernel_lists_tsc();
}

static void test_list(void)
{
	CHECK(lists("hpet tsc acpi_pm\n") && lists("tsc\n") && lists("x\ntsc"));
	CHECK(nr_opened == 1 && nr_closed == 1);
	CHECK(!lists("hpet acpi_pm \n") && !lists("tsc-early tscx xtsc\n") && nr_closed == 1);
	CHECK(!lists("") && nr_closed == 1);
	fail("read", EIO);
	CHECK(!ring_clock_kernel_lists_tsc() && nr_closed == 2);
	strcpy(listed, "tsc");
	fail("open", ENOENT);
	CHECK(!ring_clock_kernel_lists_tsc() && nr_closed == 2);
}
#else
static void test_list(void) {}
#endif

static void test_page(void)
{
	struct ring_clock_conversion found;

	perf_event = (int)syscall(SYS_memfd_create, "page", 0);
	CHECK(perf_event >= 0 && !ftruncate(perf_event, sysconf(_SC_PAGESIZE)));
	page_of_kernel.cap_user_time = 1;
	page_of_kernel.time_mult = 1000000;
	page_of_kernel.time_shift = 0;
	count_from_here();
	CHECK(ring_clock_kernel_conversion(&found) && found.multiplier == 1000000);
	CHECK(nr_opened == 1 && nr_mapped == 1 && is_clean());
	CHECK(ring_clock_kernel_frequency() == 1000);
	fail("mmap", ENOMEM);
	CHECK(!ring_clock_kernel_conversion(&found) && is_clean());
	fail("perf_event_open", EACCES);
	CHECK(!ring_clock_kernel_conversion(&found) && nr_opened == 3 && is_clean());
	fail("perf_event_open", EACCES);
	CHECK(ring_clock_kernel_frequency() == 0);
}

static void test_wall_rate(void)
{
	timex = (struct timex){.freq = 65536000000 / 16, .tick = 10000};
	CHECK(ring_clock_wall_rate() == 1.0625L);
	timex.tick = 10400;
	CHECK(ring_clock_wall_rate() > 1.10499L && ring_clock_wall_rate() < 1.10501L);
	timex.tick = 0;
	CHECK(ring_clock_wall_rate() == 1.0625L);
	timex.tick = 1;
	CHECK(ring_clock_wall_rate() == 1);
	timex = (struct timex){.freq = 65536000000 / 8, .tick = 10000};
	CHECK(ring_clock_wall_rate() == 1.125L);
	timex.freq = 65536000000 / 4;
	CHECK(ring_clock_wall_rate() == 1);
	timex.freq = -65536000000 / 4;
	CHECK(ring_clock_wall_rate() == 1);
	timex.freq = -65536000000 / 8;
	CHECK(ring_clock_wall_rate() == 0.875L);
	fail("adjtimex", EPERM);
	CHECK(ring_clock_wall_rate() == 1);
	timex = (struct timex){.tick = 10000};
}

/* The first of the attempts that took the shortest time. */
static void test_attempts(void)
{
	struct ring_clock_sample sample;
	int64_t error = 7;

	for (nr_times = 0; nr_times < 3 * RING_SAMPLE_TRIES; nr_times += 3) {
		unsigned int i = nr_times / 3;
		int64_t width = i == 5 || i == 9 ? 10 : 50 + i;

		times[nr_times] = 1000 * i;
		times[nr_times + 1] = 70000 + 1001 * i;
		times[nr_times + 2] = 1000 * i + width;
	}
	at_time = 0;
	CHECK(ring_clock_difference(CLOCK_REALTIME, &error) == 70000 + 5 - 5 && error == 7 + 6);
	CHECK(at_time == nr_times);
	nr_times = at_time = 0;
	/* A sample: 1,000 ticks are 500 ns. */
	counted[0] = 1000;
	for (unsigned int i = 0; i < RING_SAMPLE_TRIES; i++) {
		counted[1 + 2 * i] = 2000 + 100 * i;
		counted[2 + 2 * i] = 2000 + 100 * i + (i == 4 || i == 8 ? 20 : 30 + i);
	}
	nr_ticks = 2 + 2 * RING_SAMPLE_TRIES;
	counted[nr_ticks - 1] = 6000;
	times[0] = 500;
	for (unsigned int i = 0; i < RING_SAMPLE_TRIES; i++)
		times[1 + i] = 7000 + i;
	times[1 + RING_SAMPLE_TRIES] = 3000;
	nr_times = 2 + RING_SAMPLE_TRIES;
	/* The differences to other clocks are wide: they add 25 + 1 and 25 + 1. */
	for (unsigned int i = 0; i < 2 * 3 * RING_SAMPLE_TRIES; i++)
		more_times[i] = i < 3 * RING_SAMPLE_TRIES ? 9000 + 25 * (int64_t)(i % 3)
							  : 8000 + 25 * (int64_t)(i % 3);
	at_tick = 0;
	CHECK(ring_clock_sample(RING_CLOCK_MONOTONIC, &sample) == 0);
	CHECK(sample.ticks == 2000 + 400 + 10 && sample.monotonic_ns == 7004);
	/* 20 ticks are 10 ns, half of them are 5. */
	CHECK(sample.error_ns == 5 + 2 + 26 + 26);
	CHECK(sample.realtime_ns == 7004 && sample.raw_ns == 7004);
	/* A stopped clock: the error is the whole measured time. */
	for (unsigned int i = 0; i < nr_ticks; i++)
		counted[i] = 5;
	at_tick = at_time = 0;
	CHECK(ring_clock_sample(RING_CLOCK_MONOTONIC, &sample) == 0 &&
			sample.error_ns == 2500 + 26 + 26);
	nr_ticks = nr_times = at_time = 0;
}

#if RING_CLOCK_HAS_TSC
static void set_leaf(int i, unsigned int leaf, unsigned int a, unsigned int b, unsigned int c,
		unsigned int d)
{
	leaves[i] = (struct leaf){leaf, {a, b, c, d}};
}

static void test_processor(void)
{
	CHECK(!ring_clock_tsc_invariant() && !ring_clock_cpuid_frequency());
	set_leaf(0, 0x80000007, ~0u, ~0u, ~0u, ~0x100u);
	CHECK(!ring_clock_tsc_invariant());
	set_leaf(0, 0x80000007, 0, 0, 0, 0x100);
	CHECK(ring_clock_tsc_invariant());
	/* The crystal's rate times a ratio; without that rate the base frequency. */
	set_leaf(1, 0x15, 2, 166, 24000000, 0);
	CHECK(ring_clock_cpuid_frequency() == UINT64_C(24000000) * 166 / 2);
	set_leaf(1, 0x15, 2, 166, 0, 0);
	CHECK(ring_clock_cpuid_frequency() == 0);
	set_leaf(2, 0x16, 0x12340bb8, 0, 0, 0);
	CHECK(ring_clock_cpuid_frequency() == UINT64_C(3000000000));
	set_leaf(1, 0x15, 0, 166, 24000000, 0);
	CHECK(ring_clock_cpuid_frequency() == 0);
	set_leaf(1, 0x15, 2, 0, 24000000, 0);
	CHECK(ring_clock_cpuid_frequency() == 0);
	set_leaf(1, 0x15, 2, 166, 24000000, 0);
	/* A hypervisor's leaf comes first, if it is one of its leaves. */
	set_leaf(3, 1, 0, 0, 1u << 31, 0);
	set_leaf(4, 0x40000000, 0x40000010, 0, 0, 0);
	set_leaf(5, 0x40000010, 2100000, 0, 0, 0);
	CHECK(ring_clock_cpuid_frequency() == UINT64_C(2100000000));
	set_leaf(4, 0x40000000, 0x4000ffff, 0, 0, 0);
	CHECK(ring_clock_cpuid_frequency() == UINT64_C(2100000000));
	set_leaf(4, 0x40000000, 0x40010000, 0, 0, 0);
	CHECK(ring_clock_cpuid_frequency() == UINT64_C(1992000000));
	set_leaf(4, 0x40000000, 0x4000000f, 0, 0, 0);
	CHECK(ring_clock_cpuid_frequency() == UINT64_C(1992000000));
	set_leaf(4, 0x40000000, 0x40000010, 0, 0, 0);
	set_leaf(5, 0x40000010, 0, 0, 0, 0);
	CHECK(ring_clock_cpuid_frequency() == UINT64_C(1992000000));
	set_leaf(5, 0x40000010, 2100000, 0, 0, 0);
	set_leaf(3, 1, 0, 0, 0, 0);
	CHECK(ring_clock_cpuid_frequency() == UINT64_C(1992000000));
	set_leaf(1, 0x15, 0, 0, 0, 0);
	/* The choice needs all three. */
	strcpy(listed, "tsc");
	CHECK(ring_clock_choose() ==
			(ring_clock_tsc_permitted() ? RING_CLOCK_TSC : RING_CLOCK_MONOTONIC));
	strcpy(listed, "hpet");
	CHECK(ring_clock_choose() == RING_CLOCK_MONOTONIC);
	strcpy(listed, "tsc");
	set_leaf(0, 0, 0, 0, 0, 0);
	CHECK(ring_clock_choose() == RING_CLOCK_MONOTONIC);
}
#else
static void test_processor(void) {}
#endif

#if RING_CLOCK_HAS_TSC
static int calibrate(uint32_t multiplier, uint16_t shift, struct ring_clock_calibration *found)
{
	struct ring_clock_sample begin = {.ticks = 5, .monotonic_ns = 1, .realtime_ns = 1};

	page_of_kernel.time_mult = multiplier;
	page_of_kernel.time_shift = shift;
	return ring_clock_calibrate(RING_CLOCK_TSC, &begin, NULL, found);
}

static void test_frequencies(void)
{
	struct ring_clock_calibration found = {0};

	CHECK(calibrate(1000000, 0, &found) == 0 && found.frequency == 1000 &&
			found.source == RING_CLOCK_SOURCE_KERNEL);
	CHECK(calibrate(1000001, 0, &found) == -ERANGE);
	CHECK(calibrate(58255, 20, &found) == 0 && found.frequency == UINT64_C(17999759677));
	CHECK(calibrate(58254, 20, &found) == -ERANGE);
}

/*
 * The kernel's frequency, unless the samples contradict it; otherwise that of the samples, or
 * another source that agrees with them.
 */
static void test_sources(void)
{
	const struct ring_clock_sample begin = {
			.ticks = 1000, .monotonic_ns = 2000000000, .error_ns = 1};
	struct ring_clock_sample end = {
			.ticks = 1000 + 7000, .monotonic_ns = 2000001000, .error_ns = 1};
	enum ring_clock_source from;
	long double frequency;

	page_of_kernel.time_shift = 30;
	/* 7.5 ticks a nanosecond, which are 1,000 of 1,001 ns. */
	page_of_kernel.time_mult = 143165577;
	CHECK(ring_clock_frequency(RING_CLOCK_TSC, &begin, NULL, &frequency, &from) == 0 &&
			from == RING_CLOCK_SOURCE_KERNEL);
	CHECK(frequency > 7.4999e9L && frequency < 7.5001e9L);
	CHECK(ring_clock_frequency(RING_CLOCK_TSC, &begin, &end, &frequency, &from) == 0 &&
			from != RING_CLOCK_SOURCE_KERNEL);
	CHECK(from == RING_CLOCK_SOURCE_MEASURED && frequency == 7e9L);
	/* The processor's own number, if the samples agree with that. */
	set_leaf(1, 0x15, 1, 1, 2000000000, 0);
	CHECK(ring_clock_frequency(RING_CLOCK_TSC, &begin, &end, &frequency, &from) == 0 &&
			from == RING_CLOCK_SOURCE_MEASURED);
	set_leaf(1, 0x15, 2, 7, 2000000000, 0);
	CHECK(ring_clock_frequency(RING_CLOCK_TSC, &begin, &end, &frequency, &from) == 0 &&
			from == RING_CLOCK_SOURCE_CPUID && frequency == 7e9L);
	set_leaf(1, 0x15, 0, 0, 0, 0);
	end.error_ns = 100;
	CHECK(ring_clock_frequency(RING_CLOCK_TSC, &begin, &end, &frequency, &from) == 0 &&
			from == RING_CLOCK_SOURCE_KERNEL);
	/* Samples without a distance. */
	end.error_ns = 0;
	end.ticks = 1000;
	CHECK(ring_clock_frequency(RING_CLOCK_TSC, &begin, &end, &frequency, &from) == -ERANGE);
	end.ticks = 1000 + 75000;
	end.monotonic_ns = begin.monotonic_ns;
	CHECK(ring_clock_frequency(RING_CLOCK_TSC, &begin, &end, &frequency, &from) == -ERANGE);
	/* Without the kernel's: measured for 20 ms, in spite of a signal. */
	page_of_kernel.time_mult = 0;
	fail("clock_nanosleep", EINTR);
	slept_until = 0;
	(void)ring_clock_frequency(RING_CLOCK_TSC, &begin, NULL, &frequency, &from);
	CHECK(slept_until == 2020000000 && !fails && from != RING_CLOCK_SOURCE_KERNEL);
}
#else
static void test_frequencies(void) {}
static void test_sources(void) {}
#endif

/* ---- without restartable sequences ---- */

#define RINGS 20

static _Alignas(64) unsigned char made[65536 + sizeof(struct ring_producer) +
		RINGS * sizeof(struct ring_location)];
static uint64_t locks[RINGS * RING_LOCK_WORDS];
static struct ring_control controls[RINGS];
static unsigned char data[RINGS][8192];
static uint64_t lost[RINGS * 130 * RING_LOSS_REASONS];
static const struct ring_two_part parts = {"abc", 3, "defg", 4};

static struct ring_producer *make_producer(uint32_t rings)
{
	struct ring_producer *producer =
			(void *)(((uintptr_t)made + 2 * 4096 - 1) & ~(uintptr_t)4095);

	memset(made, 0, sizeof(made));
	memset(locks, 0, sizeof(locks));
	memset(controls, 0, sizeof(controls));
	memset(lost, 0, sizeof(lost));
	producer->rings = producer->usable = rings;
	producer->locks = locks;
	producer->mask = 4095;
	producer->size_word = UINT64_C(4096) << 24;
	producer->block_word = UINT64_C(512) << 24;
	producer->block_shift = 24 + 9;
	producer->clock = RING_CLOCK_MONOTONIC;
	producer->mode = RING_MODE_DISCARD;
	producer->placement = RING_PER_CPU;
	producer->path = RING_PATH_PORTABLE;
	producer->event_slots = 130;
	producer->lost = lost;
	producer->lost_stride_words = 130 * RING_LOSS_REASONS;
	producer->payload_limit = 101;
	ring_producer_cold(producer)->payload_max = 100;
	for (uint32_t i = 0; i < rings; i++) {
		controls[i].head = RING_EPOCH_FLIP;
		controls[i].limit = UINT64_C(4096) << 24 | RING_EPOCH_MASK;
		producer->locations[i] =
				(struct ring_location){.control = &controls[i], .data = data[i]};
	}
	nr_yields = nr_sleeps = nr_borrowed = nr_claims = nr_waits = 0;
	permitted = may_claim = true;
	cpu_now = 0;
	own_ring = other_ring = RING_SLOT_NONE;
	return producer;
}

static void lock_all(uint64_t holder)
{
	for (int i = 0; i < RINGS; i++)
		locks[i * RING_LOCK_WORDS] = holder;
}

static void test_portable_cpu(void)
{
	struct ring_producer *producer = make_producer(3);

	cpu_now = 5;
	CHECK(ring_portable_cpu(producer) == 2);
	cpu_now = 3;
	CHECK(ring_portable_cpu(producer) == 0);
	cpu_now = -1;
	CHECK(ring_portable_cpu(producer) == 0);
	cpu_now = 0;
	CHECK(!ring_portable_nested(producer));
	lock_all(ring_thread_token() + 1);
	CHECK(!ring_portable_nested(producer));
	locks[3 * RING_LOCK_WORDS] = ring_thread_token();
	CHECK(!ring_portable_nested(producer));
	locks[2 * RING_LOCK_WORDS] = ring_thread_token();
	CHECK(ring_portable_nested(producer));
	locks[2 * RING_LOCK_WORDS] = 0;
	locks[0] = ring_thread_token();
	CHECK(ring_portable_nested(producer));
}

static bool space(struct ring_producer *producer, uint64_t head, uint64_t bytes)
{
	return ring_portable_has_space(producer, &controls[0], head << 24 | 5, bytes << 24);
}

static void test_portable_space(void)
{
	struct ring_producer *producer = make_producer(1);

	/* The last byte below the cached limit, and the first one beyond it. */
	CHECK(space(producer, 0, 4096) && !space(producer, 0, 4097) && space(producer, 4000, 96));
	CHECK(!space(producer, 4000, 97));
	CHECK(controls[0].limit == (UINT64_C(4096) << 24 | RING_EPOCH_MASK));
	controls[0].tail = 1;
	CHECK(space(producer, 4000, 97));
	CHECK(controls[0].limit == (UINT64_C(4097) << 24 | RING_EPOCH_MASK));
	controls[0].tail = 100;
	CHECK(!space(producer, 4000, 197));
	/* A tail ahead of the head: more free space than the ring has. */
	controls[0].limit = UINT64_C(4000) << 24 | RING_EPOCH_MASK;
	controls[0].tail = 4000;
	CHECK(space(producer, 4000, 4096));
	controls[0].limit = UINT64_C(4000) << 24 | RING_EPOCH_MASK;
	controls[0].tail = 4001;
	CHECK(!space(producer, 4000, 10) &&
			controls[0].limit == (UINT64_C(4000) << 24 | RING_EPOCH_MASK));
	/* The epoch of the head is no part of the space. */
	controls[0].tail = 4000;
	CHECK(ring_portable_has_space(producer, &controls[0],
			UINT64_C(4000) << 24 | RING_EPOCH_MASK, UINT64_C(4096) << 24));
	CHECK(!ring_portable_has_space(producer, &controls[0],
			UINT64_C(4000) << 24 | RING_EPOCH_MASK, UINT64_C(4097) << 24));
}

/* A record that ends with its block, and one that ends a byte before. */
static void test_portable_border(void)
{
	static const unsigned char zeros[512];

	for (size_t less = 0; less < 2; less++) {
		struct ring_producer *producer = make_producer(1);
		const struct ring_two_part whole = {
				zeros, 512 - RING_COMPACT_BYTES - less, NULL, 0};
		uint64_t epoch = ring_timestamp_epoch(0);
		int code;

		/* A head of the same epoch: the header is a compact one. */
		controls[0].head = epoch;
		code = ring_portable_write(producer, &producer->locations[0], 7, &whole, 0);
		CHECK(code == (less ? RING_SECTION_DONE : RING_SECTION_CROSSED));
		CHECK(controls[0].head == ((512 - less) << 24 | epoch));
	}
}

static void test_portable_blocks(void)
{
	struct ring_producer *producer = make_producer(1);
	struct ring_control *control = &controls[0];

	ring_portable_claim(control, 50);
	CHECK(control->claim == 50);
	ring_portable_claim(control, 49);
	CHECK(control->claim == 50);
	ring_portable_claim(control, 51);
	CHECK(control->claim == 51);
	/* From block 1 to block 3, and once around. */
	control->block_crossed = 500;
	ring_portable_mark(producer, control, UINT64_C(600) << 24, UINT64_C(1540) << 24);
	CHECK(control->block_crossed == 1540 && control->blocks[2].position == 1540 &&
			control->blocks[3].position == 1540);
	CHECK(!control->blocks[1].position && !control->blocks[4].position);
	ring_portable_mark(producer, control, UINT64_C(3900) << 24, UINT64_C(4100) << 24);
	CHECK(control->block_crossed == 4100 && control->blocks[0].position == 4100 &&
			!control->blocks[1].position);
	CHECK(ring_portable_invalidate(control, 5) == (5 ^ RING_EPOCH_FLIP));
	CHECK(control->head == (5 ^ RING_EPOCH_FLIP));
}

static int publish_portable(struct ring_producer *producer)
{
	nr_yields = nr_sleeps = 0;
	errno = E2BIG;
	return ring_portable_publish(producer, 7, &parts);
}

static void test_portable_tries(void)
{
	struct ring_producer *producer = make_producer(RINGS);

	CHECK(publish_portable(producer) == RING_SECTION_DONE && errno == E2BIG);
	CHECK(ring_head_position(controls[0].head) == 13 + 7 && !locks[0]);
	CHECK(!memcmp(data[0] + 13, "abcdefg", 7));
	/* Sixteen rings are tried, from this CPU's on, and then from the first one on. */
	cpu_now = 10;
	lock_all(1);
	locks[5 * RING_LOCK_WORDS] = 0;
	CHECK(publish_portable(producer) == RING_SECTION_DONE && !nr_yields);
	CHECK(ring_head_position(controls[5].head) == 20 && locks[10 * RING_LOCK_WORDS] == 1);
	lock_all(1);
	locks[6 * RING_LOCK_WORDS] = 0;
	CHECK(publish_portable(producer) == RING_SECTION_BUSY && errno == E2BIG);
	CHECK(nr_yields == 64 && nr_sleeps == 50);
	permitted = false;
	CHECK(publish_portable(producer) == RING_SECTION_BUSY && !nr_yields && !nr_sleeps);
	permitted = true;
	/* This thread holds one of them: no wait. */
	locks[12 * RING_LOCK_WORDS] = ring_thread_token();
	CHECK(publish_portable(producer) == RING_SECTION_BUSY && !nr_yields);
	locks[12 * RING_LOCK_WORDS] = 1;
	producer->rings = 2;
	cpu_now = 1;
	locks[0] = 0;
	CHECK(publish_portable(producer) == RING_SECTION_DONE && !nr_yields);
	producer->owner = getpid();
	CHECK(publish_portable(producer) == RING_SECTION_DONE);
	producer->owner++;
	CHECK(publish_portable(producer) == RING_SECTION_FORKED);
}

static void test_portable_own(void)
{
	struct ring_producer *producer = make_producer(4);

	producer->placement = RING_PER_THREAD;
	CHECK(publish_portable(producer) == RING_SECTION_NO_RING && !nr_yields);
	own_ring = 2;
	CHECK(publish_portable(producer) == RING_SECTION_DONE &&
			ring_head_position(controls[2].head) == 20);
	locks[2 * RING_LOCK_WORDS] = ring_thread_token();
	CHECK(publish_portable(producer) == RING_SECTION_BUSY && !nr_yields);
	other_ring = 3;
	CHECK(publish_portable(producer) == RING_SECTION_DONE && !nr_borrowed);
	CHECK(ring_head_position(controls[3].head) == 20);
	locks[3 * RING_LOCK_WORDS] = 1;
	CHECK(publish_portable(producer) == RING_SECTION_BUSY && !nr_borrowed && !nr_yields);
}

/* ---- truncated files ---- */

static void test_truncations(void)
{
	struct ring_truncation *one = NULL;
	static char at[4096];

	nr_locks = nr_unlocks = 0;
	CHECK(ring_truncation_watch(at, 4096, &one) == 0 && one && nr_locks == 1 &&
			nr_unlocks == 1);
	CHECK(ring_truncation_of((uintptr_t)at + 4095) == one &&
			!ring_truncation_of((uintptr_t)at + 4096));
	ring_truncation_forget_at(at + 1);
	CHECK(ring_truncation_of((uintptr_t)at) == one);
	ring_truncation_forget_at(at);
	CHECK(!ring_truncation_of((uintptr_t)at) && nr_locks == 3 && nr_unlocks == 3);
	CHECK(ring_truncation_watch(at, 4096, &one) == 0);
	ring_truncation_forget(one);
	CHECK(!ring_truncation_of((uintptr_t)at) && nr_locks == 5 && nr_unlocks == 5);
}

/* ---- the producer ---- */

#if RING_HAS_SECTION
static int codes[4];
static unsigned int nr_codes, nr_sections, nr_extended, nr_invalidated;
static bool closes; /* the rings are closed while a section runs */
static uint64_t given_time;

static int next_code(void)
{
	unsigned int i = nr_sections + nr_extended;

	return codes[i <= nr_codes ? i - 1 : nr_codes - 1];
}

static int fake_section(struct ring_producer *producer, uint32_t event_id, const void *head,
		size_t head_size, const void *body, size_t body_size)
{
	CHECK(event_id == 7 && head == parts.head && head_size == 3 && body == parts.body &&
			body_size == 4);
	nr_sections++;
	if (closes)
		producer->usable = 0;
	return next_code();
}

static int fake_section_at(struct ring_producer *producer, uint32_t event_id, const void *head,
		size_t head_size, const void *body, size_t body_size, uint64_t time)
{
	given_time = time;
	return fake_section(producer, event_id, head, head_size, body, body_size);
}

static int fake_extended(struct ring_producer *producer, uint32_t event_id, const void *head,
		size_t head_size, const void *body, size_t body_size)
{
	(void)producer;
	CHECK(event_id == 7 && head == parts.head && head_size == 3 && body == parts.body &&
			body_size == 4);
	nr_extended++;
	return next_code();
}

static int fake_extended_at(struct ring_producer *producer, uint32_t event_id, const void *head,
		size_t head_size, const void *body, size_t body_size, uint64_t time)
{
	given_time = time;
	return fake_extended(producer, event_id, head, head_size, body, body_size);
}

static int fake_invalidate(struct ring_producer *producer, uint64_t timestamp)
{
	(void)producer;
	CHECK(timestamp);
	nr_invalidated++;
	return 0;
}

static struct ring_doorbell doorbell;

static struct ring_producer *make_sections(void)
{
	struct ring_producer *producer = make_producer(3);

	producer->path = RING_PATH_RSEQ_TSC;
	producer->two_part = fake_section;
	producer->extended = fake_extended;
	has_no_rseq = may_obtain = is_loan = may_take = closes = false;
	nr_takes = nr_forgotten = nr_returned = 0;
	producer->invalidate = fake_invalidate;
	producer->doorbell = &doorbell;
	producer->placement = RING_PER_THREAD;
	doorbell = (struct ring_doorbell){.sleeping = 1};
	own_ring = 1;
	return producer;
}

static int attempt(struct ring_producer *producer, int first, int second, int third)
{
	codes[0] = first;
	codes[1] = second;
	codes[2] = third;
	nr_codes = 3;
	nr_sections = nr_extended = nr_invalidated = 0;
	errno = E2BIG;
	return ring_publish_two_part(producer, 7, parts.head, 3, parts.body, 4);
}

static uint64_t nr_lost(uint32_t ring, enum ring_loss reason)
{
	return lost[(ring * 130 + 7) * RING_LOSS_REASONS + reason];
}

static void test_attempts_of_sections(void)
{
	struct ring_producer *producer = make_sections();

	CHECK(attempt(producer, RING_SECTION_DONE, 0, 0) == 0 && nr_sections == 1);
	CHECK(attempt(producer, RING_SECTION_CROSSED, 0, 0) == 0 && nr_sections == 1 &&
			doorbell.sequence == 1);
	CHECK(attempt(producer, RING_SECTION_ABORTED, RING_SECTION_DONE, 0) == 0 &&
			nr_sections == 2);
	CHECK(attempt(producer, RING_SECTION_ABORTED, RING_SECTION_CROSSED, 0) == 0 &&
			doorbell.sequence == 2);
	CHECK(attempt(producer, RING_SECTION_EXTEND, RING_SECTION_DONE, 0) == 0 &&
			nr_sections == 1 && nr_extended == 1 && nr_invalidated == 0);
	CHECK(attempt(producer, RING_SECTION_EXTEND, RING_SECTION_ALIAS, RING_SECTION_DONE) == 0 &&
			nr_extended == 2 && nr_invalidated == 1 && errno == E2BIG);
	/* 256 attempts beside the first one. */
	CHECK(attempt(producer, RING_SECTION_ABORTED, RING_SECTION_ABORTED, RING_SECTION_ABORTED) ==
					-EBUSY &&
			nr_sections == 257);
	CHECK(nr_lost(1, RING_LOST_BUSY) == 1);
	CHECK(attempt(producer, RING_SECTION_BUSY, RING_SECTION_DONE, 0) == -EBUSY &&
			nr_sections == 1);
	CHECK(nr_lost(1, RING_LOST_BUSY) == 2 && controls[1].lost[RING_LOST_BUSY] == 2);
	CHECK(attempt(producer, RING_SECTION_FULL, RING_SECTION_DONE, 0) == -ENOSPC &&
			nr_sections == 1 && nr_lost(1, RING_LOST_FULL) == 1 && nr_waits == 0);
	CHECK(attempt(producer, RING_SECTION_FORKED, RING_SECTION_DONE, 0) == -ECHILD &&
			nr_sections == 1);
	CHECK(errno == E2BIG);
}

/* With a clock that is read before the section. */
static void test_given_times(void)
{
	struct ring_producer *producer = make_sections();

	producer->path = RING_PATH_RSEQ_CLOCK;
	producer->two_part_at = fake_section_at;
	producer->extended_at = fake_extended_at;
	CHECK(attempt(producer, RING_SECTION_EXTEND, RING_SECTION_DONE, 0) == 0);
	CHECK(nr_sections == 1 && nr_extended == 1 && given_time);
	given_time = 0;
	CHECK(attempt(producer, RING_SECTION_DONE, 0, 0) == 0 && nr_sections == 1 && given_time);
	given_time = 0;
	CHECK(attempt(producer, RING_SECTION_ALIAS, RING_SECTION_ABORTED, RING_SECTION_DONE) == 0);
	CHECK(nr_sections == 2 && nr_extended == 1 && nr_invalidated == 1 && given_time);
	producer = make_sections();
	given_time = 0;
	CHECK(attempt(producer, RING_SECTION_EXTEND, RING_SECTION_DONE, 0) == 0);
	CHECK(nr_sections == 1 && nr_extended == 1 && !given_time);
}

/* The number of fences of a publication with these codes. */
static unsigned int fences(struct ring_producer *producer, int first, int second)
{
	nr_signal_fences = 0;
	(void)attempt(producer, first, second, 0);
	return nr_signal_fences;
}

/* One before each access through a pointer that is invalid in a child. */
static void test_signal_fences(void)
{
	struct ring_producer *producer = make_sections();
	struct ring_lease lease = {0};

	CHECK(fences(producer, RING_SECTION_DONE, 0) == 1);
	CHECK(fences(producer, RING_SECTION_ABORTED, RING_SECTION_DONE) == 2);
	CHECK(fences(producer, RING_SECTION_EXTEND, RING_SECTION_DONE) == 2);
	CHECK(fences(producer, RING_SECTION_FULL, 0) == 2);
	producer->lease = &lease;
	may_claim = false;
	CHECK(fences(producer, RING_SECTION_FULL, 0) == 2);
	/* Opened and stopped: one fence of the processor each. */
	nr_fences = 0;
	ring_producer_open(producer);
	CHECK(nr_fences == 1);
	ring_producer_stop(producer, true);
	CHECK(nr_fences == 2);
	ring_producer_stop(producer, false);
	CHECK(nr_fences == 2);
}

/* With three rings: the last CPU that has a ring, and the first CPU without one. */
static const int32_t cpus[] = {2, 3};

static void test_no_ring(void)
{
	struct ring_producer *producer = make_sections();
	struct ring_lease lease = {0};

	may_take = true;
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == 0);
	CHECK(nr_sections == 2 && nr_takes == 1 && nr_forgotten == 0 && nr_returned == 0);
	may_take = false;
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == -ENXIO);
	CHECK(nr_sections == 1 && nr_takes == 2 && nr_lost(1, RING_LOST_NO_RING) == 1);
	/*
	 * A thread without rseq gets a loan of it for this record, and a ring if these are per
	 * thread.
	 */
	has_no_rseq = true;
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == -ENXIO);
	CHECK(nr_takes == 2 && nr_returned == 0 && nr_lost(1, RING_LOST_NO_RING) == 2);
	may_obtain = is_loan = true;
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == -ENXIO);
	CHECK(nr_takes == 3 && nr_returned == 1 && nr_forgotten == 1);
	may_take = true;
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == 0);
	CHECK(nr_takes == 4 && nr_returned == 2 && nr_forgotten == 2 && nr_sections == 2);
	/* One loan a record. */
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_NO_RING, RING_SECTION_DONE) ==
			-ENXIO);
	CHECK(nr_takes == 5 && nr_returned == 3);
	producer->placement = RING_PER_CPU;
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == 0);
	CHECK(nr_takes == 5 && nr_returned == 4 && nr_forgotten == 3);
	/* The area of the C library needs no return. */
	is_loan = false;
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == 0);
	CHECK(nr_takes == 5 && nr_returned == 4);
	/*
	 * A signal handler published first, so the thread is known. Its CPU is the last one with a
	 * ring, and then the next one.
	 */
	has_no_rseq = may_obtain = false;
	known_cpu = &cpus[0];
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == 0 &&
			nr_sections == 2);
	known_cpu = &cpus[1];
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == -ENXIO);
	CHECK(nr_takes == 5 && nr_returned == 4);
	known_cpu = NULL;
	/* Closed twice while the record is on its way. */
	producer = make_sections();
	producer->lease = &lease;
	closes = true;
	CHECK(attempt(producer, RING_SECTION_ABORTED, RING_SECTION_NO_RING, RING_SECTION_DONE) ==
			0);
	CHECK(nr_sections == 3 && nr_takes == 0 && nr_lost(1, RING_LOST_NO_RING) == 0);
	closes = false;
}

static size_t published_size;
static uint64_t published_ticks;

static int fake_publish(
		struct ring_producer *producer, uint32_t event_id, const void *payload, size_t size)
{
	CHECK(producer && event_id == 9 && payload == parts.body);
	published_size = size;
	return 55;
}

static int fake_given(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size, uint64_t ticks)
{
	published_ticks = ticks;
	return fake_publish(producer, event_id, payload, size);
}

/* The longest record, and one more byte. */
static void test_longest(void)
{
	struct ring_producer *producer = make_sections();

	producer->publish = fake_publish;
	nr_signal_fences = 0;
	CHECK(ring_publish(producer, 9, parts.body, 100) == 55 && published_size == 100);
	CHECK(nr_signal_fences == 1);
	CHECK(ring_publish(producer, 9, parts.body, 101) == -E2BIG && published_size == 100);
	CHECK(ring_publish(producer, 9, parts.body, 0) == 55 && published_size == 0);
	nr_signal_fences = 0;
	CHECK(ring_publish_at(producer, 9, parts.body, 99, 33) == 55 && published_size == 99);
	CHECK(!published_ticks && nr_signal_fences == 2);
	producer->with_timestamp = fake_given;
	CHECK(ring_publish_at(producer, 9, parts.body, 100, 33) == 55 && published_size == 100);
	CHECK(published_ticks == 33);
	published_ticks = 0;
	CHECK(ring_publish_at(producer, 9, parts.body, 101, 34) == -E2BIG && !published_ticks);
	/* In two parts. */
	nr_sections = 0;
	producer->payload_limit = 8;
	CHECK(attempt(producer, RING_SECTION_DONE, 0, 0) == 0 && nr_sections == 1);
	nr_signal_fences = 0;
	producer->payload_limit = 7;
	CHECK(attempt(producer, RING_SECTION_DONE, 0, 0) == 0 && nr_sections == 1);
	/* The first attempt was left out. */
	CHECK(nr_signal_fences == 2);
}

static void test_waits(void)
{
	struct ring_producer *producer = make_sections();

	producer->mode = RING_MODE_BLOCK;
	has_space = true;
	CHECK(attempt(producer, RING_SECTION_FULL, RING_SECTION_DONE, 0) == 0 && nr_waits == 1 &&
			nr_sections == 2);
	CHECK(wanted_space == RING_EXTENDED_BYTES + 7);
	has_space = false;
	CHECK(attempt(producer, RING_SECTION_FULL, RING_SECTION_DONE, 0) == -ENOSPC &&
			nr_waits == 2 && nr_lost(1, RING_LOST_FULL) == 1);
	/* With a lock of this thread: no wait. Locks mean nothing to sections. */
	locks[2 * RING_LOCK_WORDS] = ring_thread_token();
	has_space = true;
	CHECK(attempt(producer, RING_SECTION_FULL, RING_SECTION_DONE, 0) == 0 && nr_waits == 3);
	producer->path = RING_PATH_PORTABLE;
	CHECK(!ring_producer_wait(producer, &parts, &(struct ring_timeout){0}) && nr_waits == 3);
	locks[2 * RING_LOCK_WORDS] = 0;
	CHECK(ring_producer_wait(producer, &parts, &(struct ring_timeout){0}) && nr_waits == 4);
}

static void test_sizes(void)
{
	struct ring_producer *producer = make_sections();
	static char bytes[128];

	nr_sections = 0;
	CHECK(ring_publish_two_part(producer, 7, bytes, 101, bytes, 0) == -E2BIG);
	CHECK(ring_publish_two_part(producer, 7, bytes, 60, bytes, 41) == -E2BIG);
	CHECK(ring_publish_two_part(producer, 7, bytes, 0, bytes, 101) == -E2BIG);
	CHECK(ring_publish_two_part(producer, 7, bytes, SIZE_MAX, bytes, 2) == -E2BIG);
	CHECK(nr_lost(1, RING_LOST_TOO_BIG) == 4 && nr_sections == 0);
	producer->path = RING_PATH_PORTABLE;
	CHECK(ring_publish_two_part(producer, 7, bytes, 60, bytes, 40) == 0);
	CHECK(ring_publish_two_part(producer, 7, bytes, 100, bytes, 0) == 0);
	CHECK(ring_publish_two_part(producer, 7, bytes, 60, bytes, 41) == -E2BIG);
	CHECK(nr_lost(1, RING_LOST_TOO_BIG) == 5);
	/* Stopped, and in a forked child. */
	producer->stopped = 1;
	producer->payload_limit = 0;
	CHECK(ring_publish_two_part(producer, 7, bytes, 5, bytes, 5) == -EPERM &&
			nr_lost(1, RING_LOST_OTHER) == 1);
	producer->owner = getpid() + 1;
	CHECK(ring_publish_two_part(producer, 7, bytes, 5, bytes, 5) == -ECHILD);
	CHECK(ring_producer_refused(producer) == 1 && nr_lost(1, RING_LOST_OTHER) == 1);
	ring_count_lost(producer, 7, RING_LOST_OTHER);
	CHECK(ring_producer_refused(producer) == 2 && nr_lost(1, RING_LOST_OTHER) == 1);
	producer->owner = getpid();
	ring_count_lost(producer, 7, RING_LOST_OTHER);
	CHECK(ring_producer_refused(producer) == 2 && nr_lost(1, RING_LOST_OTHER) == 2);
	producer->path = RING_PATH_NONE;
	CHECK(ring_producer_forked(producer));
}

static void test_leases(void)
{
	struct ring_producer *producer = make_sections();
	struct ring_lease lease = {0};

	producer->lease = &lease;
	/* Closed while the record was being written. */
	producer->usable = 0;
	CHECK(attempt(producer, RING_SECTION_NO_RING, RING_SECTION_DONE, 0) == 0 &&
			nr_sections == 2);
	may_claim = false;
	CHECK(attempt(producer, RING_SECTION_ABORTED, RING_SECTION_DONE, 0) == -ENOSPC);
	CHECK(controls[1].lost[RING_LOST_NO_MEMORY] == 1 && !nr_lost(1, RING_LOST_NO_MEMORY));
	CHECK(nr_sections == 1);
	/* A loss for which no counter can be allocated is counted as out of memory. */
	ring_count_lost(producer, 7, RING_LOST_INVALID);
	CHECK(controls[1].lost[RING_LOST_NO_MEMORY] == 2 && !controls[1].lost[RING_LOST_INVALID]);
	may_claim = true;
	ring_count_lost(producer, 7, RING_LOST_INVALID);
	CHECK(controls[1].lost[RING_LOST_NO_MEMORY] == 2 &&
			controls[1].lost[RING_LOST_INVALID] == 1);
	CHECK(nr_lost(1, RING_LOST_INVALID) == 1);
	producer->lease = NULL;
	nr_claims = 0;
	CHECK(!ring_producer_reopen(producer) && !nr_claims);
	producer->lease = &lease;
	CHECK(!ring_producer_reopen(producer) && !nr_claims);
	producer->usable = 0;
	CHECK(ring_producer_reopen(producer) && nr_claims == 1);
}
#endif

static void test_counts(void)
{
	struct ring_producer *producer = make_producer(3);

	cpu_now = 1;
	CHECK(ring_producer_ring(producer) == 1);
	/* Slots 129 and 130, groups 0 to 2, reasons 15 and 16. */
	ring_count_lost(producer, 129, (enum ring_loss)15);
	CHECK(lost[(130 + 129) * 16 + 15] == 1 && controls[1].lost[15] == 1);
	CHECK(controls[1].lost_groups[0] == 4);
	ring_count_lost(producer, 130, (enum ring_loss)16);
	CHECK(lost[(130 + 129) * 16 + RING_LOST_OTHER] == 1 &&
			controls[1].lost[RING_LOST_OTHER] == 1);
	ring_count_lost(producer, 63, RING_LOST_FULL);
	CHECK(lost[(130 + 63) * 16 + RING_LOST_FULL] == 1 && controls[1].lost_groups[0] == 5);
	ring_count_lost(producer, 64, RING_LOST_FULL);
	CHECK(controls[1].lost_groups[0] == 7 && !controls[1].lost_groups[1]);
	ring_count_lost(producer, 64, RING_LOST_FULL);
	CHECK(controls[1].lost_groups[0] == 7 && controls[1].lost[RING_LOST_FULL] == 3);
	/* By the CPU of the record, if there is a ring for it. */
	ring_count_lost_before(producer, 5, RING_LOST_FULL, 2, 10);
	CHECK(controls[2].lost[RING_LOST_FULL] == 10 &&
			lost[(260 + 5) * 16 + RING_LOST_FULL] == 10);
	ring_count_lost_before(producer, 5, RING_LOST_FULL, 3, 20);
	CHECK(controls[1].lost[RING_LOST_FULL] == 23);
	producer->placement = RING_PER_THREAD;
	CHECK(ring_producer_ring(producer) == 0);
	ring_count_lost_before(producer, 5, RING_LOST_FULL, 2, 30);
	CHECK(controls[0].lost[RING_LOST_FULL] == 30 && controls[2].lost[RING_LOST_FULL] == 10);
	producer->path = RING_PATH_NONE;
	ring_count_lost_before(producer, 5, RING_LOST_FULL, 2, 30);
	ring_count_no_memory(producer, 0, 5);
	ring_count_in(producer, 0, 5, RING_LOST_FULL, 5);
	CHECK(controls[0].lost[RING_LOST_FULL] == 30 && !controls[0].lost[RING_LOST_NO_MEMORY]);
}

static int map_fails(const struct ring_geometry *geometry, const char *call, int error)
{
	struct ring_producer *producer = NULL;
	int fd, rc;

	CHECK(ring_memory_create(geometry, &fd) == 0);
	count_from_here();
	if (call)
		fail(call, error);
	errno = E2BIG;
	rc = ring_producer_map(fd, &producer);
	CHECK(rc && !producer && errno == E2BIG && is_clean());
	close(fd);
	return rc;
}

static void test_map(void)
{
	struct ring_geometry geometry = plain;
	struct ring_producer *producer;
	uint64_t offset, keys[RING_SLOT_TABLE];
	int fd;

	CHECK(ring_producer_map(-1, &producer) == -EBADF);
	CHECK(map_fails(&plain, "mmap", ENOMEM) == -ENOMEM);
	geometry.clock = RING_CLOCK_TSC;
	has_tsc = false;
	CHECK(map_fails(&geometry, NULL, 0) == -ENOTSUP && nr_mapped == 0);
	has_tsc = true;
	geometry.clock = RING_CLOCK_MONOTONIC;
	geometry.placement = RING_PER_THREAD;
	for (int i = 0; i < RING_SLOT_TABLE; i++)
		CHECK(ring_slots_open(&offset, &keys[i]) == 0);
	CHECK(map_fails(&geometry, NULL, 0) == -EMFILE && nr_mapped == 1);
	for (int i = 0; i < RING_SLOT_TABLE; i++)
		ring_slots_close(keys[i]);
	/* The entry in the table is released. */
	CHECK(ring_memory_create(&geometry, &fd) == 0);
	for (int i = 0; i <= RING_SLOT_TABLE; i++) {
		count_from_here();
		CHECK(ring_producer_map(fd, &producer) == 0);
		errno = E2BIG;
		ring_producer_unmap(producer);
		CHECK(is_clean() && errno == E2BIG);
	}
	close(fd);
	/* Where a fork cannot wipe the page, the producer knows its process. */
	CHECK(ring_memory_create(&plain, &fd) == 0);
	fail("madvise", EINVAL);
	CHECK(ring_producer_map(fd, &producer) == 0 && !fails);
	CHECK(producer->owner == getpid() && ring_producer_is_portable(producer) &&
			producer->path == RING_PATH_PORTABLE);
	CHECK(ring_producer_payload_max(producer) == 2035 && producer->payload_limit == 2036);
	CHECK(producer->usable == 2 && ring_producer_clock(producer) == RING_CLOCK_MONOTONIC);
	/* Behind the places of the rings: their locks, owners and stalls. */
	CHECK((void *)producer->locks == (void *)&producer->locations[2]);
	CHECK(producer->owners == producer->locks + 2 * RING_LOCK_WORDS);
	CHECK(producer->stalled == producer->owners + 2);
	CHECK(!producer->block_timeout_us && !ring_producer_cold(producer)->slot_key);
	ring_producer_unmap(producer);
	CHECK(ring_producer_map(fd, &producer) == 0 && producer->owner == 0);
	CHECK(ring_producer_base(producer) == ring_producer_cold(producer)->memory.base);
	ring_producer_unmap(producer);
	close(fd);
	geometry = plain;
	geometry.mode = RING_MODE_BLOCK;
	geometry.block_timeout_us = 4711;
	CHECK(ring_memory_create(&geometry, &fd) == 0 && ring_producer_map(fd, &producer) == 0);
	CHECK(producer->block_timeout_us == 4711 && producer->mode == RING_MODE_BLOCK);
	ring_producer_unmap(producer);
	close(fd);
	CHECK(ring_producer_bytes(&plain) == sizeof(struct ring_producer) + 2 * (16 + 10 * 8));
}

/* ---- restartable sequences ---- */

#if RING_HAS_SECTION
static void test_sandbox(void)
{
	ring_rseq_sandbox = 0;
	permitted = false;
	CHECK(!ring_rseq_may_call());
	permitted = true;
	CHECK(ring_rseq_may_call());
	permitted = false;
	ring_sandbox_begins(true);
	CHECK(ring_rseq_sandbox == 1 && ring_rseq_may_call());
	ring_sandbox_begins(true);
	CHECK(ring_rseq_sandbox == 1);
	ring_sandbox_begins(false);
	CHECK(ring_rseq_sandbox == -1 && !ring_rseq_may_call());
	/* An earlier filter forbids the call. */
	ring_sandbox_begins(true);
	CHECK(ring_rseq_sandbox == -1);
	ring_rseq_sandbox = 0;
	permitted = true;
}

static void test_areas(void)
{
	uint32_t length = 0;
	int32_t *area;
	bool loan = true;

	if (!ring_rseq_usable())
		return;
	ring_rseq_length = 0;
	CHECK(ring_rseq_is_libcs());
	ring_rseq_find_length();
	length = ring_rseq_length;
	if (!length)
		return;
	CHECK(ring_rseq_is_at(length) && ring_rseq_is_libcs());
	ring_rseq_length = length + 32;
	CHECK(!ring_rseq_is_libcs());
	ring_rseq_length = length;
	/* Without an area: the ring library registers its own for one publication. */
	area = (int32_t *)(void *)ring_rseq_libc();
	if (ring_rseq_call(area, length, RSEQ_UNREGISTER, RSEQ_SIGNATURE))
		return;
	CHECK(!ring_rseq_is_libcs());
	ring_thread.away = 0;
	CHECK(ring_rseq_cpu() < 0 && ring_rseq_obtain(&loan) && loan && ring_rseq_cpu() >= 0);
	ring_rseq_return();
	CHECK(ring_rseq_cpu() < 0 && !ring_thread.away);
	/* A tool keeps the area of the C library: any CPU number is valid, also the first one. */
	ring_rseq_simulated = true;
	area[1] = 0;
	loan = true;
	CHECK(ring_rseq_obtain(&loan) && !loan && ring_rseq_cpu() == 0 && ring_thread_cpu() == 0);
	CHECK((char *)&ring_thread + ring_thread.away == (char *)area);
	area[1] = -1;
	CHECK(!ring_rseq_obtain(&loan) && ring_thread_cpu() < 0);
	/* A number that no ring has. */
	{
		struct ring_producer *producer = make_producer(2);

		producer->path = RING_PATH_RSEQ_TSC;
		area[1] = 1;
		CHECK(ring_producer_ring(producer) == 1);
		area[1] = 2;
		CHECK(ring_producer_ring(producer) == 0);
		area[1] = -1;
		CHECK(ring_producer_ring(producer) == 0);
	}
	/* Nothing is prepared where a CPU is known, or calls are forbidden. */
	area[1] = 0;
	ring_rseq_simulated = false;
	ring_rseq_length = 0;
	ring_rseq_prepare();
	CHECK(!ring_rseq_length && !ring_rseq_simulated && ring_thread.away);
	/* A known number is not asked for again, the first one either. */
	CHECK(ring_thread_cpu() == 0 && ring_thread.away);
	area[1] = 4711;
	CHECK(ring_thread_cpu() == 4711 && ring_thread.away);
	/*
	 * Otherwise, the area of the ring library is registered to read the number, and to prepare.
	 */
	area[1] = -1;
	CHECK(ring_thread_cpu() >= 0 && ring_rseq_cpu() < 0 && !ring_thread.away);
	ring_rseq_prepare();
	CHECK(ring_rseq_cpu() < 0 && !ring_thread.away);
	ring_rseq_use_libcs(&ring_thread);
	area[1] = -1;
	permitted = false;
	ring_rseq_prepare();
	CHECK(!ring_rseq_length && ring_thread.away);
	permitted = true;
	ring_thread.away = 0;
	CHECK(!ring_rseq_call(area, length, 0, RSEQ_SIGNATURE));
	ring_rseq_prepare();
	CHECK(ring_rseq_length == length && ring_thread.away && ring_rseq_cpu() >= 0);
}
#endif

int main(void)
{
	CHECK(mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
	CHECK(folder_fd >= 0);
	test_memfd();
	test_create();
	test_first_words();
	test_files();
	test_import();
	test_import_fails();
	test_descriptor_0();
	test_list();
	test_page();
	test_wall_rate();
	test_attempts();
	test_processor();
	test_frequencies();
	test_sources();
	test_portable_cpu();
	test_portable_space();
	test_portable_border();
	test_portable_blocks();
	test_portable_tries();
	test_portable_own();
	test_truncations();
	test_counts();
	test_map();
#if RING_HAS_SECTION
	test_attempts_of_sections();
	test_given_times();
	test_signal_fences();
	test_no_ring();
	test_longest();
	test_waits();
	test_sizes();
	test_leases();
	test_sandbox();
	test_areas();
#endif
	close(perf_event);
	close(folder_fd);
	CHECK(!rmdir(folder));
	return 0;
}
