/* SPDX-License-Identifier: MIT */
/*
 * The calls that map rings and wait for many doorbells: their arguments, their order, and the
 * remaining resources if one fails. The files are included: the test records each call and decides
 * its result.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

#include "ring/consumer.h"
#include "ring/doorbell.h"

static char calls[8192];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t used = strlen(calls);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(calls + used, sizeof(calls) - used, format, list);
	va_end(list);
}

static void is_called(const char *expected)
{
	if (strcmp(calls, expected))
		fprintf(stderr, "called \"%s\", expected \"%s\"\n", calls, expected);
	CHECK(!strcmp(calls, expected));
	*calls = '\0';
}

/* ---- calls about memory ---- */

static const char *content; /* of the file that is read; NULL: it cannot be opened */
static size_t content_size;
static long processors;
static int read_error, seals_error, got_less, map_fails_at;
static bool notes_maps;

static int fake_open(const char *path, int flags)
{
	CHECK(flags == (O_RDONLY | O_CLOEXEC));
	note("open %s ", path);
	errno = ENOENT;
	/* 0 is a descriptor, too. */
	return content ? 0 : -1;
}

static ssize_t fake_read(int fd, void *to, size_t size)
{
	CHECK(fd == 0);
	note("read %zu ", size);
	memcpy(to, content, content_size);
	/* A read that fails may have written to the buffer. */
	return read_error ? -1 : (ssize_t)content_size;
}

static int fake_close(int fd)
{
	note("close %d ", fd);
	return 0;
}

static long fake_sysconf(int name)
{
	return name == _SC_NPROCESSORS_CONF ? processors : sysconf(name);
}

static ssize_t fake_pread(int fd, void *to, size_t size, off_t at)
{
	if (read_error) {
		errno = read_error;
		return -1;
	}
	return pread(fd, to, size, at) - got_less;
}

static int fake_fcntl(int fd, int command)
{
	CHECK(command == F_GET_SEALS);
	if (!seals_error)
		return fcntl(fd, command);
	errno = seals_error;
	return -1;
}

static unsigned char *reserved;
static int nr_maps;

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *memory;

	if (++nr_maps == map_fails_at) {
		errno = 1000 + nr_maps;
		return MAP_FAILED;
	}
	if (notes_maps && at)
		note("map %zd+%zu %x %x %zd, ", (unsigned char *)at - reserved, size, protection,
				flags, (ssize_t)offset);
	memory = mmap(at, size, protection, flags & ~MAP_POPULATE, fd, offset);
	if (!at)
		reserved = memory;
	return memory;
}

static size_t unmapped;

static int fake_munmap(void *at, size_t size)
{
	unmapped += size;
	return munmap(at, size);
}

static int fake_madvise(void *at, size_t size, int advice)
{
	CHECK(advice == MADV_DONTDUMP);
	if (notes_maps)
		note("no dump %zd+%zu, ", (unsigned char *)at - reserved, size);
	return 0;
}

#define open fake_open
#define read fake_read
#define close fake_close
#define sysconf fake_sysconf
#define pread fake_pread
#define fcntl fake_fcntl
#define mmap fake_mmap
#define munmap fake_munmap
#define madvise fake_madvise
#include "ring/memory.c"
#undef open
#undef read
#undef close
#undef sysconf
#undef pread
#undef fcntl
#undef mmap
#undef munmap
#undef madvise

static void set_content(const char *text)
{
	content = text;
	content_size = text ? strlen(text) : 0;
}

static uint32_t cpus_of(long configured, const char *list)
{
	processors = configured;
	set_content(list);
	return find_possible_cpus();
}

static void test_cpus(void)
{
	char last[32];

	CHECK(cpus_of(4, "0-1\n") == 4);
	is_called("open /sys/devices/system/cpu/possible read 255 close 0 ");
	CHECK(cpus_of(4, "0-3\n") == 4 && cpus_of(4, "0-4\n") == 5 && cpus_of(2, "0-3,8-10") == 11);
	CHECK(cpus_of(4, "7") == 8 && cpus_of(-1, "0") == 1 && cpus_of(0, "1") == 2);
	CHECK(cpus_of(1, "") == 1 && cpus_of(-1, "") == 1 && cpus_of(3, "") == 3);
	*calls = '\0';
	CHECK(cpus_of(6, NULL) == 6 && cpus_of(-1, NULL) == 1);
	is_called("open /sys/devices/system/cpu/possible open /sys/devices/system/cpu/possible ");
	read_error = EIO;
	CHECK(cpus_of(6, "0-9") == 6);
	is_called("open /sys/devices/system/cpu/possible read 255 close 0 ");
	read_error = 0;
	/* The most rings, and more processors. */
	snprintf(last, sizeof(last), "0-%u", RING_RINGS_MAX - 2);
	CHECK(cpus_of(1, last) == RING_RINGS_MAX - 1);
	snprintf(last, sizeof(last), "0-%u", RING_RINGS_MAX - 1);
	CHECK(cpus_of(1, last) == RING_RINGS_MAX);
	snprintf(last, sizeof(last), "0-%u", RING_RINGS_MAX);
	CHECK(cpus_of(1, last) == RING_RINGS_MAX);
	CHECK(ring_cpu_list_highest("99,5") == 99 && ring_cpu_list_highest("10-19,0") == 19);
	CHECK(ring_cpu_list_highest("0,12:3/4;15") == 15 && ring_cpu_list_highest("-") == 0);
	/* Digits after a number that is too large already are left out. */
	CHECK(ring_cpu_list_highest("8192000000000000000000000000000000") == 8192);
	CHECK(ring_cpu_list_highest("81919") == 81919);
	*calls = '\0';
}

static void test_huge_page(void)
{
	set_content("MemTotal:  7 kB\nHugepagesize:       2049 kB\nHugetlb: 5 kB\n");
	CHECK(ring_huge_page_size() == 2049 * 1024);
	is_called("open /proc/meminfo read 4095 close 0 ");
	set_content("H");
	CHECK(ring_huge_page_size() == 0);
	is_called("open /proc/meminfo read 4095 close 0 ");
	set_content("");
	CHECK(ring_huge_page_size() == 0);
	read_error = EIO;
	set_content("Hugepagesize: 5 kB\nx");
	CHECK(ring_huge_page_size() == 0);
	is_called("open /proc/meminfo read 4095 close 0 open /proc/meminfo read 4095 close 0 ");
	read_error = 0;
	set_content(NULL);
	CHECK(ring_huge_page_size() == 0);
	is_called("open /proc/meminfo ");
	CHECK(ring_align_up(4097, 4096) == 8192 && ring_align_up(4096, 4096) == 4096 &&
			ring_align_up(0, 4096) == 0 && ring_align_up(1, 1) == 1);
}

static const struct ring_geometry plain = {
		.rings = 2, .event_slots = 1, .size = 8192, .clock = RING_CLOCK_MONOTONIC};

/* Three rings, whose control data size is not a power of two. */
static void test_offsets(void)
{
	struct ring_geometry geometry = plain;
	struct ring_layout layout;

	geometry.event_slots = 100;
	for (geometry.rings = 1; geometry.rings < 9; geometry.rings++) {
		uint64_t controls = RING_HEADER_BYTES + geometry.rings * RING_CONTROL_BYTES;

		CHECK(ring_layout_compute(&geometry, 4096, &layout) == 0);
		CHECK(layout.lost_offset >= controls && layout.lost_offset < controls + 4096 &&
				layout.lost_offset % 4096 == 0);
		CHECK(layout.lost_stride == 16384);
		CHECK(layout.data_offset == layout.lost_offset + geometry.rings * 16384);
		CHECK(layout.total == layout.data_offset + geometry.rings * 8192);
	}
}

static void test_header(void)
{
	struct ring_geometry geometry;
	struct ring_header header, good;
	struct ring_layout layout;

	CHECK(ring_geometry_layout(&plain, &layout) == 0 && layout.data_offset == 16384);
	ring_header_fill(&good, &plain, &layout, RING_IN_FILE);
	CHECK(ring_header_check(&good, &geometry, &layout) == 0);
	CHECK(geometry.rings == 2 && geometry.size == 8192 && layout.total == 32768);
	header = good;
	header.magic++;
	CHECK(ring_header_check(&header, &geometry, &layout) == -EPROTO);
	header = good;
	header.version++;
	CHECK(ring_header_check(&header, &geometry, &layout) == -EPROTO);
	header = good;
	header.storage = RING_IN_FILE + 1;
	CHECK(ring_header_check(&header, &geometry, &layout) == -EPROTO);
	header = good;
	header.alignment = 8192;
	CHECK(ring_header_check(&header, &geometry, &layout) == -EPROTO);
	header = good;
	header.rings = 0;
	CHECK(ring_header_check(&header, &geometry, &layout) == -EPROTO);
	header = good;
	header.total++;
	CHECK(ring_header_check(&header, &geometry, &layout) == -EPROTO);
}

/* The least size of a file: leased memory may be missing if the file can shrink. */
static void test_least(void)
{
	const struct ring_layout layout = {.lost_offset = 100, .total = 300};
	struct ring_geometry geometry = plain;

	CHECK(ring_size_least(&geometry, &layout, false) == 300);
	CHECK(ring_size_least(&geometry, &layout, true) == 300);
	geometry.flags = RING_COUNTS;
	CHECK(ring_size_least(&geometry, &layout, false) == 300);
	geometry.flags = RING_LEASED;
	CHECK(ring_size_least(&geometry, &layout, true) == 300);
	CHECK(ring_size_least(&geometry, &layout, false) == 100);
	geometry = plain;
	CHECK(ring_memory_kept(&geometry) == 8192);
	geometry.size = 4095;
	CHECK(ring_memory_kept(&geometry) == 0 && ring_memory_size(&geometry) == 0);
}

static int file_of(const struct ring_geometry *geometry)
{
	int fd;

	CHECK(ring_memory_create(geometry, &fd) == 0);
	return fd;
}

static void test_header_read(void)
{
	struct ring_geometry geometry;
	struct ring_memory memory;
	int fd = file_of(&plain), pair[2];

	CHECK(ring_memory_inspect(fd, &geometry) == 0 && geometry.size == 8192);
	seals_error = EIO;
	CHECK(ring_memory_inspect(fd, &geometry) == -EIO);
	/* A file without seals is not a memfd. */
	seals_error = EINVAL;
	CHECK(ring_memory_inspect(fd, &geometry) == -EPROTO);
	seals_error = 0;
	read_error = ENXIO;
	CHECK(ring_memory_inspect(fd, &geometry) == -ENXIO);
	CHECK(ring_memory_map(fd, RING_END_PRODUCER, &memory) == -ENXIO && !memory.base);
	read_error = 0;
	got_less = 1;
	CHECK(ring_memory_inspect(fd, &geometry) == -EPROTO);
	got_less = 0;
	CHECK(ring_memory_inspect(-1, &geometry) == -EBADF);
	CHECK(!pipe(pair) && ring_memory_inspect(pair[0], &geometry) == -EPROTO);
	close(pair[0]);
	close(pair[1]);
	close(fd);
	/* As large as a header, and one byte less. */
	fd = memfd_create("header", 0);
	CHECK(fd >= 0 && !ftruncate(fd, sizeof(struct ring_header) - 1));
	read_error = ENXIO;
	CHECK(ring_memory_inspect(fd, &geometry) == -EPROTO);
	CHECK(!ftruncate(fd, sizeof(struct ring_header)));
	CHECK(ring_memory_inspect(fd, &geometry) == -ENXIO);
	read_error = 0;
	close(fd);
}

/* Each ring is mapped twice, one mapping behind the other. */
static void test_map(void)
{
	struct ring_geometry geometry = plain;
	struct ring_memory memory;
	int fd = file_of(&plain);

	notes_maps = true;
	nr_maps = 0;
	unmapped = 0;
	CHECK(ring_memory_map(fd, RING_END_PRODUCER, &memory) == 0 && memory.base == reserved);
	CHECK(nr_maps == 6 && memory.mapped == 16384 + 4 * 8192);
	is_called("map 0+16384 3 11 0, map 16384+8192 3 11 16384, map 24576+8192 3 11 16384, "
		  "map 32768+8192 3 11 24576, map 40960+8192 3 11 24576, "
		  "no dump 24576+8192, no dump 40960+8192, ");
	ring_memory_unmap(&memory);
	CHECK(unmapped == 16384 + 4 * 8192 && !memory.base);
	CHECK(ring_memory_map(fd, RING_END_CONSUMER, &memory) == 0);
	is_called("map 0+16384 3 11 0, map 16384+8192 1 11 16384, map 24576+8192 1 11 16384, "
		  "map 32768+8192 1 11 24576, map 40960+8192 1 11 24576, no dump 0+49152, ");
	CHECK(!memory.truncation);
	ring_memory_unmap(&memory);
	close(fd);
	geometry.placement = RING_PER_THREAD;
	geometry.flags = RING_PREFAULT;
	geometry.rings = 1;
	fd = file_of(&geometry);
	CHECK(ring_memory_map(fd, RING_END_PRODUCER, &memory) == 0);
	is_called("map 0+12288 3 8011 0, map 12288+8192 3 8011 12288, map 20480+8192 3 8011 12288, "
		  "no dump 20480+8192, no dump 12288+8192, ");
	ring_memory_unmap(&memory);
	close(fd);
	notes_maps = false;
}

/* If one of the mappings fails, the others are removed. */
static void test_map_fails(void)
{
	struct ring_memory memory;
	int fd = file_of(&plain);

	for (map_fails_at = 1; map_fails_at <= 6; map_fails_at++) {
		nr_maps = 0;
		unmapped = 0;
		CHECK(ring_memory_map(fd, RING_END_CONSUMER, &memory) == -1000 - map_fails_at);
		CHECK(nr_maps == map_fails_at && !memory.base);
		CHECK(unmapped == (map_fails_at == 1 ? 0 : 49152));
	}
	map_fails_at = 0;
	close(fd);
}

/* With a larger alignment, the addresses before and after the memory are released. */
static void test_reserve(void)
{
	struct ring_memory memory = {
			.geometry = plain, .layout = {.alignment = 1 << 21, .data_offset = 16384}};
	void *between[3];

	for (int i = 0; i < 3; i++) {
		unmapped = 0;
		CHECK(ring_memory_reserve(&memory) == 0);
		CHECK(memory.mapped == 49152 && unmapped == (1 << 21) - 4096);
		CHECK(((uintptr_t)memory.base & ((1 << 21) - 1)) == 0);
		CHECK(memory.base >= reserved && memory.base < reserved + (1 << 21));
		/* The whole range is mapped, and nothing around it. */
		CHECK(!mprotect(memory.base, 49152, PROT_READ | PROT_WRITE));
		memory.base[0] = memory.base[49151] = 1;
		CHECK(msync(memory.base - 4096, 4096, MS_ASYNC) && errno == ENOMEM);
		CHECK(msync(memory.base + 49152, 4096, MS_ASYNC) && errno == ENOMEM);
		CHECK(!munmap(memory.base, 49152));
		/* The next address has another offset from the alignment. */
		between[i] = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(between[i] != MAP_FAILED);
	}
	for (int i = 0; i < 3; i++)
		CHECK(!munmap(between[i], 4096));
}

/* ---- many doorbells ---- */

static int64_t now_ns = 5000000000;
static unsigned int nr_fences, nr_locks, nr_unlocks, nr_freed, nr_joined, nr_threads;
static int wait_error, thread_error, memory_fails;
static unsigned int nr_waits, waits_end; /* The set is destroyed during this wait. */
static void end_set(void);
static bool is_pending;

static int fake_gettime(clockid_t id, struct timespec *time)
{
	CHECK(id == CLOCK_MONOTONIC);
	*time = (struct timespec){now_ns / 1000000000, now_ns % 1000000000};
	return 0;
}

static void *fake_calloc(size_t count, size_t size)
{
	return memory_fails && !--memory_fails ? NULL : calloc(count, size);
}

static size_t smallest_block; /* of all requests of realloc() */

static void *fake_realloc(void *block, size_t size)
{
	smallest_block = size < smallest_block ? size : smallest_block;
	return memory_fails && !--memory_fails ? NULL : realloc(block, size);
}

static void fake_free(void *block)
{
	nr_freed += block != NULL;
	free(block);
}

static int fake_lock(pthread_mutex_t *mutex)
{
	nr_locks++;
	CHECK(nr_locks == nr_unlocks + 1);
	return pthread_mutex_lock(mutex);
}

static int fake_unlock(pthread_mutex_t *mutex)
{
	nr_unlocks++;
	return pthread_mutex_unlock(mutex);
}

static unsigned int nr_destroyed;

static int fake_destroy(pthread_mutex_t *mutex)
{
	nr_destroyed++;
	return pthread_mutex_destroy(mutex);
}

static void *started_with[4];
static void *(*thread_runs)(void *);

static int fake_thread(pthread_t *thread, const pthread_attr_t *attributes,
		void *(*function)(void *), void *argument)
{
	sigset_t blocked;

	CHECK(!attributes && nr_threads < 4);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	CHECK(!sigismember(&blocked, SIGBUS) && !sigismember(&blocked, SIGSEGV));
	CHECK(sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1) &&
			sigismember(&blocked, SIGCHLD) && sigismember(&blocked, SIGPROF));
	if (thread_error)
		return thread_error;
	*thread = (pthread_t)(77 + nr_threads);
	thread_runs = function;
	started_with[nr_threads++] = argument;
	return 0;
}

static void is_ending(const void *group);

static int fake_join(pthread_t thread, void **result)
{
	is_ending(started_with[nr_joined]);
	CHECK(!result && thread == (pthread_t)(77 + nr_joined));
	nr_joined++;
	return 0;
}

static struct {
	const uint32_t *word;
	uint32_t nr;
	bool is_forever;
} waited;

static const uint32_t *woken[4];
static unsigned int nr_woken;

static long fake_syscall(long number, ...)
{
	va_list list;
	long ret = 0;

	va_start(list, number);
	if (number == SYS_futex) {
		const uint32_t *word = va_arg(list, const uint32_t *);
		int operation = va_arg(list, int), count = va_arg(list, int);

		CHECK(operation == 1 && count == 1);
		CHECK(!va_arg(list, void *) && !va_arg(list, void *) && !va_arg(list, int));
		woken[nr_woken++ % 4] = word;
	} else {
		const struct {
			uint64_t value, address;
			uint32_t flags, reserved;
		} *waits = va_arg(list, const void *);

		CHECK(number == 449);
		waited.nr = va_arg(list, uint32_t);
		CHECK(va_arg(list, int) == 0);
		waited.is_forever = !va_arg(list, const void *);
		CHECK(va_arg(list, int) == CLOCK_MONOTONIC);
		waited.word = (const uint32_t *)(uintptr_t)waits[0].address;
		errno = wait_error ? wait_error : ENOTTY;
		ret = wait_error ? -1 : 0;
		if (++nr_waits == waits_end)
			end_set();
	}
	va_end(list);
	return ret;
}

static unsigned int nr_pauses;

static int fake_pause(const struct timespec *pause, void *remaining)
{
	CHECK(pause->tv_sec == 0 && pause->tv_nsec == 10000000 && !remaining);
	nr_pauses++;
	return 0;
}

static void count_ring(struct ring_doorbell *doorbell)
{
	doorbell->sequence++;
}

static bool fake_pending(const struct ring_consumer *consumer)
{
	(void)consumer;
	return is_pending;
}

#define clock_gettime fake_gettime
#define calloc fake_calloc
#define realloc fake_realloc
#define free fake_free
#define pthread_mutex_lock fake_lock
#define pthread_mutex_unlock fake_unlock
#define pthread_mutex_destroy fake_destroy
#define pthread_create fake_thread
#define pthread_join fake_join
#define syscall fake_syscall
#define nanosleep fake_pause
#define ring_doorbell_ring count_ring
#define ring_doorbell_fence() (nr_fences++)
#define ring_consumer_pending fake_pending
#include "ring/bells.c"
#undef calloc
#undef realloc
#undef free
#undef pthread_mutex_lock
#undef pthread_mutex_unlock
#undef pthread_create
#undef pthread_join
#undef syscall

static void is_ending(const void *group)
{
	CHECK(((const struct ring_bell_group *)group)->bells->ends);
}

enum { MANY = 3 * 127 };

static struct ring_consumer *many[MANY];
static unsigned char *bases;

static struct ring_doorbell *bell_of(int i)
{
	return ring_memory_doorbell(&many[i]->memory);
}

static void make_many(void)
{
	bases = aligned_alloc(4096, (size_t)MANY * 4096);
	CHECK(bases);
	memset(bases, 0, (size_t)MANY * 4096);
	for (int i = 0; i < MANY; i++) {
		many[i] = calloc(1, sizeof(*many[i]));
		CHECK(many[i]);
		many[i]->memory.base = bases + (size_t)i * 4096;
		bell_of(i)->sequence = 1000 + (uint32_t)i;
	}
}

static void locked_times(unsigned int times)
{
	CHECK(nr_locks == times && nr_unlocks == times);
	nr_locks = nr_unlocks = 0;
}

static void woke(const struct ring_bell_group *one, const struct ring_bell_group *other)
{
	CHECK(nr_woken == (one != NULL) + (unsigned int)(other != NULL));
	CHECK(!one || woken[0] == &one->changed);
	CHECK(!other || woken[1] == &other->changed);
	nr_woken = 0;
}

static void test_failures(void)
{
	struct ring_bells *bells;
	sigset_t before, after;

	memory_fails = 1;
	CHECK(ring_bells_create(&bells) == -ENOMEM);
	CHECK(ring_bells_create(&bells) == 0);
	memory_fails = 1;
	CHECK(ring_bells_add(bells, many[0]) == -ENOMEM && bells->nr == 0 && bells->capacity == 0);
	for (int i = 0; i < 127; i++)
		CHECK(ring_bells_add(bells, many[i]) == 0);
	locked_times(128);
	CHECK(bells->nr == 127 && bells->capacity == 128 && bells->nr_groups == 0);
	/* The list of groups, the group, and its thread. */
	memory_fails = 1;
	CHECK(ring_bells_add(bells, many[127]) == -ENOMEM && bells->nr == 127);
	memory_fails = 2;
	CHECK(ring_bells_add(bells, many[127]) == -ENOMEM && bells->nr == 127);
	nr_freed = 0;
	thread_error = EAGAIN;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	CHECK(ring_bells_add(bells, many[127]) == -EAGAIN && nr_freed == 1);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&after, SIGTERM) == sigismember(&before, SIGTERM));
	CHECK(bells->nr == 127 && bells->nr_groups == 0 && nr_threads == 0);
	thread_error = 0;
	locked_times(3);
	/* The list itself, without one of 128 places. */
	CHECK(ring_bells_add(bells, many[127]) == 0 && bells->nr == 128);
	memory_fails = 1;
	CHECK(ring_bells_add(bells, many[128]) == -ENOMEM && bells->nr == 128 &&
			bells->capacity == 128);
	locked_times(2);
	nr_woken = nr_freed = nr_destroyed = 0;
	ring_bells_destroy(bells);
	CHECK(nr_destroyed == 1);
	locked_times(1);
	/* The group, the list of groups, the list, and the set. */
	CHECK(nr_freed == 4 && nr_joined == 1 && nr_woken == 1);
	nr_joined = nr_threads = nr_woken = 0;
}

static void test_groups(void)
{
	const uint32_t *first_word, *second_word;
	struct ring_bell_group *first, *second;
	struct ring_bells *bells;
	uint32_t nr = 0;

	CHECK(ring_bells_create(&bells) == 0);
	for (int i = 0; i < 255; i++) {
		smallest_block = SIZE_MAX;
		CHECK(ring_bells_add(bells, many[i]) == 0);
		/* The pointers to the groups. */
		CHECK(i != 127 || smallest_block == sizeof(first));
		CHECK(i != 254 || smallest_block == 2 * sizeof(first));
	}
	CHECK(bells->nr == 255 && bells->nr_groups == 2 && nr_threads == 2);
	first = bells->groups[0];
	second = bells->groups[1];
	CHECK(started_with[0] == first && started_with[1] == second && thread_runs == bells_thread);
	CHECK(first->number == 1 && second->number == 2 && first->bells == bells);
	CHECK(first->changed == 127 && second->changed == 1 &&
			bells->list[200].consumer == many[200]);
	locked_times(255);
	nr_woken = 0;
	/* The members of each group, without those that are muted. */
	CHECK(bells_group_collect(first, &nr) && nr == 128);
	locked_times(1);
	CHECK(first->waits[0].address == (uintptr_t)&first->changed &&
			first->waits[0].value == 127);
	for (uint32_t i = 1; i < 128; i++) {
		CHECK(first->waits[i].address == (uintptr_t)&bell_of(126 + (int)i)->sequence);
		CHECK(first->waits[i].value == 1126 + i && first->waits[i].flags == 2);
	}
	bells_mute(bells, 130, true);
	locked_times(1);
	woke(first, NULL);
	CHECK(first->changed == 128 && bells_group_collect(first, &nr) && nr == 127);
	CHECK(first->waits[4].address == (uintptr_t)&bell_of(131)->sequence);
	CHECK(bells_group_collect(second, &nr) && nr == 2 &&
			second->waits[1].address == (uintptr_t)&bell_of(254)->sequence);
	CHECK(bells_collect(bells, 0, first->waits, &nr, 5) == 128);
	CHECK(first->waits[127].address == (uintptr_t)&bell_of(126)->sequence);
	locked_times(2);
	/* No group has these. */
	bells_group_changed(bells, 126);
	bells_group_changed(bells, 3 * 127);
	woke(NULL, NULL);
	bells_group_changed(bells, 3 * 127 - 1);
	woke(second, NULL);
	CHECK(second->changed == 2);
	/* The last member takes the place of the one that is removed. */
	ring_bells_remove(bells, many[140]);
	locked_times(1);
	woke(first, second);
	CHECK(bells->nr == 254 && bells->list[140].consumer == many[254]);
	CHECK(first->changed == 129 && second->changed == 3);
	ring_bells_remove(bells, many[140]);
	CHECK(bells->nr == 254 && nr_locks == 0 && nr_woken == 0);
	/* Indices beyond the list are neither counted nor muted. */
	bells->list[254].muted = true;
	CHECK(ring_bells_muted(bells) == 1);
	bells->unmute = (uint64_t)now_ns + 1;
	bells_unmute(bells);
	CHECK(bells->list[130].muted && nr_locks == 0);
	bells->unmute = (uint64_t)now_ns;
	bells_unmute(bells);
	CHECK(!bells->list[130].muted && bells->list[254].muted && bells->unmute == 0);
	locked_times(1);
	woke(first, NULL);
	nr_freed = 0;
	first_word = &first->changed;
	second_word = &second->changed;
	ring_bells_destroy(bells);
	CHECK(woken[0] == first_word && woken[1] == second_word);
	locked_times(1);
	CHECK(nr_freed == 5 && nr_joined == 2 && nr_woken == 2);
	nr_joined = nr_threads = nr_woken = 0;
}

static struct ring_bells *ending;

static void end_set(void)
{
	ending->ends = true;
}

/* Three waits of the group's thread with this result. Returns the number of pauses. */
static unsigned int pauses_after(int error)
{
	uint32_t rung = ending->own.sequence;

	wait_error = error;
	nr_waits = nr_pauses = 0;
	waits_end = 3;
	ending->ends = false;
	waited.is_forever = false;
	CHECK(thread_runs(ending->groups[0]) == NULL);
	CHECK(nr_waits == 3 && ending->own.sequence == rung + 3);
	CHECK(waited.is_forever && waited.nr == 2 && waited.word == &ending->groups[0]->changed);
	waits_end = 0;
	wait_error = 0;
	return nr_pauses;
}

/* A group's thread rings the set before each wait, and pauses only after an error. */
static void test_thread(void)
{
	CHECK(ring_bells_create(&ending) == 0);
	for (int i = 0; i < 128; i++)
		CHECK(ring_bells_add(ending, many[i]) == 0);
	CHECK(pauses_after(0) == 0 && pauses_after(EAGAIN) == 0 && pauses_after(EINTR) == 0);
	CHECK(pauses_after(ENOSYS) == 3 && pauses_after(EFAULT) == 3);
	/* The set was destroyed before the first wait. */
	nr_waits = 0;
	CHECK(thread_runs(ending->groups[0]) == NULL && nr_waits == 0);
	ring_bells_destroy(ending);
	nr_joined = nr_threads = nr_woken = nr_locks = nr_unlocks = 0;
}

static void test_arm(void)
{
	struct ring_bells *bells;

	CHECK(ring_bells_create(&bells) == 0 && ring_bells_add(bells, many[3]) == 0 &&
			ring_bells_add(bells, many[4]) == 0);
	many[4]->memory.geometry.mode = RING_MODE_OVERWRITE;
	nr_fences = 0;
	ring_bells_arm(bells);
	CHECK(nr_fences == 1 && bell_of(3)->sleeping == 1 && bell_of(4)->sleeping == 0);
	CHECK(bells->list[0].seen == 1003 && bells->list[1].seen == 1004);
	many[4]->memory.geometry.mode = RING_MODE_DISCARD;
	ring_bells_arm(bells);
	CHECK(bell_of(4)->sleeping == 1 && bell_of(5)->sleeping == 0);
	ring_bells_disarm(bells);
	CHECK(bell_of(3)->sleeping == 0 && bell_of(4)->sleeping == 0);
	/* An error of an earlier call is not one of this call. */
	wait_error = 0;
	CHECK(ring_bells_wait(bells, 0) == 0 && waited.nr == 3 && !waited.is_forever &&
			waited.word == &bells->own.sequence);
	ring_bells_destroy(bells);
	nr_locks = nr_unlocks = 0;
}

int main(void)
{
	test_cpus();
	test_huge_page();
	test_offsets();
	test_header();
	test_least();
	test_header_read();
	test_map();
	test_map_fails();
	test_reserve();
	make_many();
	test_failures();
	test_groups();
	test_arm();
	test_thread();
	for (int i = 0; i < MANY; i++)
		free(many[i]);
	free(bases);
	return 0;
}
