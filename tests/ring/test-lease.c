/* SPDX-License-Identifier: MIT */
/*
 * Leased ring memory. Threads publish and count losses all the time, while one thread reclaims the
 * memory, provides, refuses and recalls it at random, and another thread answers recalls as the
 * agent does. Each attempt is a record that is read, or is counted as lost, once. In a file,
 * reclaimed memory is truncated: an access to it would end the test.
 */

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "decode.h"
#include "ring/layout.h"
#include "ring/lease.h"

#define THREADS 3
#define LOSS_EVERY 7 /* Attempts, of which one is counted as lost by the caller. */

struct publisher {
	pthread_t thread;
	/* Odd: in a call. The grace period waits for its change. */
	_Atomic uint64_t calls;
	uint64_t published, refused, counted;
};

static struct ring_producer *producer;
static struct publisher publishers[THREADS];
static atomic_bool over, left_over;

static void pause_a_little(uint64_t *state)
{
	const struct timespec pause = {.tv_nsec = test_random(state) % 200000};

	nanosleep(&pause, NULL);
}

static void publish_once(struct publisher *self, uint64_t number)
{
	uint64_t payload = number;

	atomic_fetch_add(&self->calls, 1);
	if (number % LOSS_EVERY == 0) {
		ring_count_lost(producer, 3, RING_LOST_INVALID);
		self->counted++;
	} else if (ring_publish(producer, (uint32_t)(number % 40), &payload, sizeof(payload))) {
		self->refused++;
	} else {
		self->published++;
	}
	atomic_fetch_add(&self->calls, 1);
}

static void *publish(void *argument)
{
	struct publisher *self = argument;
	uint64_t state = (uintptr_t)self | 1, number = 0;

	while (!atomic_load(&over)) {
		publish_once(self, number++);
		if (test_random(&state) % 50 == 0)
			pause_a_little(&state);
	}
	return NULL;
}

static void wait_for_calls(void)
{
	for (int i = 0; i < THREADS; i++) {
		uint64_t before = atomic_load(&publishers[i].calls);

		while (before % 2 && atomic_load(&publishers[i].calls) == before)
			sched_yield();
	}
}

static void *answer_recalls(void *unused)
{
	uint64_t state = 7;

	while (!atomic_load(&left_over)) {
		if (ring_producer_leave(producer)) {
			wait_for_calls();
			ring_producer_left(producer);
		}
		pause_a_little(&state);
	}
	return unused;
}

/* ---- the consumer ---- */

static uint64_t drain(struct ring_consumer *consumer, uint32_t rings, uint64_t *previous)
{
	uint64_t records = 0;

	for (uint32_t ring = 0; ring < rings; ring++) {
		const unsigned char *at, *end;
		struct ring_span span;
		int rc = ring_consumer_peek(consumer, ring, &span);

		CHECK(rc >= 0, "ring %u: %s", ring, ring_consumer_error(consumer, ring));
		if (!rc)
			continue;
		at = span.data;
		end = at + span.size;
		while (at < end) {
			struct decoded record = decode_header(at, previous[ring]);

			CHECK(record.timestamp >= previous[ring], "time");
			previous[ring] = record.timestamp;
			at = record.payload + sizeof(uint64_t);
			records++;
		}
		CHECK(at == end, "a span ends within a record");
		ring_consumer_release(consumer, ring, &span);
	}
	return records;
}

struct lease_counts {
	uint64_t revoked, granted, denied, recalled;
};

static void change_lease(struct ring_consumer *consumer, int fd, bool *is_there, uint64_t *state,
		struct lease_counts *counts)
{
	if (ring_lease_is_asked(consumer)) {
		CHECK(!*is_there, "asked for memory that is there");
		if (test_random(state) % 3 == 0) {
			ring_lease_deny(consumer);
			counts->denied++;
			return;
		}
	} else if (*is_there) {
		*is_there = !ring_lease_revoke(consumer, fd);
		counts->revoked += !*is_there;
		counts->recalled += *is_there && ring_lease_recall(consumer);
		return;
	} else if (test_random(state) % 20) {
		return;
	}
	CHECK(ring_lease_grant(consumer, fd) == 0, "grant");
	*is_there = true;
	counts->granted++;
}

static uint64_t lost_in(struct ring_consumer *consumer, uint32_t rings)
{
	uint64_t lost = 0;

	for (uint32_t ring = 0; ring < rings; ring++)
		lost += ring_consumer_lost_total(consumer, ring);
	return lost;
}

static int add_each(void *data, uint32_t ring, uint32_t slot, const uint64_t *counts)
{
	uint64_t *sum = data;

	(void)ring;
	(void)slot;
	for (int reason = 0; reason < RING_LOSS_REASONS; reason++)
		*sum += counts[reason];
	return 0;
}

static void check_sums(struct ring_consumer *consumer, uint32_t rings, uint64_t records)
{
	uint64_t published = 0, lost = 0, each = 0;

	for (int i = 0; i < THREADS; i++) {
		published += publishers[i].published;
		lost += publishers[i].refused + publishers[i].counted;
	}
	CHECK(records == published, "%llu read, %llu published", (unsigned long long)records,
			(unsigned long long)published);
	CHECK(lost_in(consumer, rings) == lost, "%llu counted, %llu lost",
			(unsigned long long)lost_in(consumer, rings), (unsigned long long)lost);
	for (uint32_t ring = 0; ring < rings; ring++)
		ring_consumer_lost_each(consumer, ring, add_each, &each);
	CHECK(each == lost, "%llu by event, %llu lost", (unsigned long long)each,
			(unsigned long long)lost);
	CHECK(published && lost, "something of both");
}

static void start_threads(pthread_t *answers)
{
	atomic_store(&over, false);
	atomic_store(&left_over, false);
	for (int i = 0; i < THREADS; i++) {
		publishers[i] = (struct publisher){0};
		CHECK(!pthread_create(&publishers[i].thread, NULL, publish, &publishers[i]),
				"thread");
	}
	CHECK(!pthread_create(answers, NULL, answer_recalls, NULL), "thread");
}

static void run(const struct ring_geometry *geometry, int dir_fd, bool begin_revoked, uint64_t seed)
{
	uint64_t records = 0, *previous = calloc(geometry->rings, sizeof(*previous));
	struct lease_counts counts = {0};
	struct ring_consumer *consumer;
	bool is_there = !begin_revoked;
	pthread_t answers;
	uint64_t least = test_is_long() ? 20000 : 500;
	int fd;

	if (begin_revoked)
		CHECK(ring_memory_create_revoked(geometry, dir_fd, "rings", &fd) == 0, "create");
	else if (dir_fd >= 0)
		CHECK(ring_memory_create_file(geometry, dir_fd, "rings", &fd) == 0, "create");
	else
		CHECK(ring_memory_create(geometry, &fd) == 0, "create");
	CHECK(ring_consumer_map(fd, geometry, &consumer) == 0, "map");
	CHECK(ring_producer_map(fd, &producer) == 0, "map");
	start_threads(&answers);
	while (records < 20 * least || counts.revoked < least || counts.recalled < least / 5 ||
			counts.denied < least / 200) {
		records += drain(consumer, geometry->rings, previous);
		if (test_random(&seed) % 4 == 0)
			change_lease(consumer, fd, &is_there, &seed, &counts);
	}
	atomic_store(&over, true);
	/* Threads that wait for an answer receive none. */
	for (int i = 0; i < THREADS; i++)
		pthread_join(publishers[i].thread, NULL);
	atomic_store(&left_over, true);
	pthread_join(answers, NULL);
	for (uint64_t more = 1; more; records += more)
		more = drain(consumer, geometry->rings, previous);
	check_sums(consumer, geometry->rings, records);
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
	if (dir_fd >= 0)
		CHECK(!unlinkat(dir_fd, "rings", 0), "unlink");
	free(previous);
}

/* ---- one step at a time ---- */

static uint64_t size_of(int fd)
{
	struct stat status;

	CHECK(!fstat(fd, &status), "fstat");
	return (uint64_t)status.st_size;
}

/* Each recorder takes over after the kill of the previous one. */
static struct ring_consumer *take_over(struct ring_consumer *before, int fd,
		const struct ring_geometry *geometry, uint64_t missing)
{
	struct ring_consumer *consumer;
	uint64_t found;

	ring_consumer_unmap(before);
	CHECK(ring_consumer_map(fd, geometry, &consumer) == 0, "map again");
	CHECK(ring_lease_adopt(consumer, fd, &found) == 0 && found == missing, "adopt");
	return consumer;
}

/* Its file has no hole: a write there needs no space of the disk. */
static bool is_allocated(int fd, uint64_t size)
{
	struct stat status;

	return !fstat(fd, &status) && (uint64_t)status.st_blocks * 512 >= size;
}

static void test_steps(const struct ring_geometry *geometry, int dir_fd)
{
	uint64_t total = ring_memory_size(geometry), kept = ring_memory_kept(geometry), payload = 1;
	uint64_t previous[64] = {0};
	struct ring_consumer *consumer;
	int fd;

	CHECK(ring_memory_create_file(geometry, dir_fd, "rings", &fd) == 0, "create");
	CHECK(ring_consumer_map(fd, geometry, &consumer) == 0, "map");
	CHECK(ring_producer_map(fd, &producer) == 0, "map");
	CHECK(ring_lease_revoke(consumer, fd) == kept && size_of(fd) == kept, "revoked");
	CHECK(ring_lease_revoke(consumer, fd) == 0, "revoked twice");
	consumer = take_over(consumer, fd, geometry, total - kept);
	CHECK(!is_allocated(fd, total), "given back");
	CHECK(ring_lease_grant(consumer, fd) == 0 && size_of(fd) == total, "granted");
	CHECK(is_allocated(fd, total), "allocated");
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == 0, "publish");
	CHECK(ring_lease_revoke(consumer, fd) == 0, "used");
	CHECK(!ring_producer_leave(producer), "not recalled");
	CHECK(ring_lease_recall(consumer) && !ring_lease_recall(consumer), "recall once");
	consumer = take_over(consumer, fd, geometry, 0);
	CHECK(ring_producer_leave(producer), "recalled");
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == 0, "in use again");
	ring_producer_left(producer);
	CHECK(ring_lease_revoke(consumer, fd) == 0, "used, not left");
	CHECK(ring_lease_recall(consumer) && ring_producer_leave(producer), "recalled again");
	ring_producer_left(producer);
	CHECK(ring_lease_revoke(consumer, fd) == 0 && size_of(fd) == total, "it has records");
	CHECK(drain(consumer, geometry->rings, previous) == 2, "drained");
	CHECK(ring_lease_revoke(consumer, fd) == kept && size_of(fd) == kept, "revoked at last");
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == -ENOSPC, "no answer");
	CHECK(ring_lease_is_asked(consumer), "asked");
	ring_count_lost(producer, 1, RING_LOST_INVALID);
	CHECK(lost_in(consumer, geometry->rings) == 2, "both counted");
	consumer = take_over(consumer, fd, geometry, total - kept);
	CHECK(ring_lease_grant(consumer, fd) == 0, "late answer");
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == 0, "publish");
	CHECK(drain(consumer, geometry->rings, previous) == 1, "read");
	/* Stopped rings stay closed, whatever the state of the lease. */
	ring_producer_stop(producer, true);
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == -EPERM, "stopped");
	ring_producer_stop(producer, false);
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == 0, "publish");
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
	CHECK(!unlinkat(dir_fd, "rings", 0), "unlink");
}

/* The thread sanitizer's fork() allocates, which it forbids in handlers itself. */
#define FORK_IN_HANDLER_IS_CHECKED true
#if defined(__SANITIZE_THREAD__)
#undef FORK_IN_HANDLER_IS_CHECKED
#define FORK_IN_HANDLER_IS_CHECKED false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef FORK_IN_HANDLER_IS_CHECKED
#define FORK_IN_HANDLER_IS_CHECKED false
#endif
#endif

static pid_t forked;

static void fork_in_handler(int number)
{
	(void)number;
	forked = fork();
}

/* A signal handler forks while a record waits for memory: the child has no rings, and goes on. */
static void test_fork(const struct ring_geometry *geometry)
{
	const struct itimerval timer = {.it_value = {.tv_usec = 20000}};
	struct ring_consumer *consumer;
	uint64_t payload = 1;
	int fd, status, rc;

	CHECK(ring_memory_create_revoked(geometry, -1, NULL, &fd) == 0, "create");
	CHECK(ring_consumer_map(fd, geometry, &consumer) == 0, "map");
	CHECK(ring_producer_map(fd, &producer) == 0, "map");
	CHECK(signal(SIGALRM, fork_in_handler) != SIG_ERR && !setitimer(ITIMER_REAL, &timer, NULL),
			"timer");
	rc = ring_publish(producer, 1, &payload, sizeof(payload));
	if (!forked)
		_exit(ring_publish(producer, 1, &payload, sizeof(payload)) != -ECHILD);
	CHECK(rc == -ENOSPC && forked > 0, "the parent got %d", rc);
	CHECK(waitpid(forked, &status, 0) == forked && status == 0, "the child: %#x", status);
	CHECK(lost_in(consumer, geometry->rings) == 1, "one record");
	CHECK(ring_lease_grant(consumer, fd) == 0, "grant");
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == 0, "publish");
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
}

static bool forbid_calls(void)
{
	return false;
}

/*
 * A program that is denied memory after a long wait does not wait again at once. One that cannot
 * wait still asks.
 */
static void test_answers(const struct ring_geometry *geometry)
{
	struct ring_consumer *consumer;
	uint64_t payload = 1;
	int fd;

	CHECK(ring_memory_create_revoked(geometry, -1, NULL, &fd) == 0, "create");
	CHECK(ring_consumer_map(fd, geometry, &consumer) == 0, "map");
	CHECK(ring_producer_map(fd, &producer) == 0, "map");
	ring_ask_before_calls(forbid_calls);
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == -ENOSPC, "no wait");
	CHECK(ring_lease_is_asked(consumer), "asked in a sandbox");
	ring_lease_deny(consumer);
	ring_ask_before_calls(NULL);
	ring_lease_timeout_factor(10);
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == -ENOSPC, "no answer");
	CHECK(ring_lease_is_asked(consumer), "asked");
	ring_lease_deny(consumer);
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == -ENOSPC, "denied");
	CHECK(!ring_lease_is_asked(consumer), "asked again at once");
	ring_lease_timeout_factor(1);
	CHECK(lost_in(consumer, geometry->rings) == 3, "all counted");
	CHECK(ring_lease_grant(consumer, fd) == 0, "grant");
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == 0, "publish");
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
}

static void write_word(int fd, uint32_t word)
{
	CHECK(pwrite(fd, &word, sizeof(word), RING_LEASE_OFFSET) == sizeof(word), "pwrite");
}

/* A hostile producer asks all the time, and changes the word before the answer. */
static void test_questions(const struct ring_geometry *geometry)
{
	const uint64_t pause_ns = 90000000;
	struct ring_consumer *consumer;
	uint64_t begin, taken = 0;
	int fd;

	CHECK(ring_memory_create(geometry, &fd) == 0, "create");
	CHECK(ring_consumer_map(fd, geometry, &consumer) == 0, "map");
	begin = ring_clock_now(RING_CLOCK_MONOTONIC);
	for (int i = 0; i < 1000; i++) {
		write_word(fd, RING_LEASE_ASKED);
		if (!ring_lease_take_question(consumer))
			continue;
		taken++;
		write_word(fd, RING_LEASE_USED);
		CHECK(ring_lease_grant(consumer, fd) == 0, "grant");
	}
	CHECK(taken && taken <= 1 + (ring_clock_now(RING_CLOCK_MONOTONIC) - begin) / pause_ns,
			"%llu questions", (unsigned long long)taken);
	ring_consumer_unmap(consumer);
	close(fd);
}

/* The memory of a flight recorder is never reclaimed. */
static void test_overwrite(struct ring_geometry geometry)
{
	struct ring_consumer *consumer;
	uint64_t payload = 1;
	int fd;

	geometry.mode = RING_MODE_OVERWRITE;
	CHECK(ring_memory_create(&geometry, &fd) == 0, "create");
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	CHECK(ring_producer_map(fd, &producer) == 0, "map");
	CHECK(ring_lease_revoke(consumer, fd) && ring_lease_grant(consumer, fd) == 0, "never used");
	CHECK(ring_publish(producer, 1, &payload, sizeof(payload)) == 0, "publish");
	CHECK(ring_lease_recall(consumer) && ring_producer_leave(producer), "recalled");
	ring_producer_left(producer);
	CHECK(!ring_lease_revoke(consumer, fd) && !ring_lease_is_empty(consumer), "kept");
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
}

int main(void)
{
	struct ring_geometry geometry = {
			.rings = ring_possible_cpus(),
			.event_slots = 64,
			.size = 65536,
			.clock = ring_clock_choose(),
			.flags = RING_LEASED,
	};
	char directory[] = "/tmp/side-lease-XXXXXX";
	int dir_fd, fd;

	CHECK(mkdtemp(directory), "directory");
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_steps(&geometry, dir_fd);
	test_overwrite(geometry);
	if (FORK_IN_HANDLER_IS_CHECKED)
		test_fork(&geometry);
	test_answers(&geometry);
	test_questions(&geometry);
	run(&geometry, dir_fd, false, 1);
	run(&geometry, -1, true, 2);
	geometry.placement = RING_PER_THREAD;
	geometry.rings = THREADS + 1;
	test_steps(&geometry, dir_fd);
	run(&geometry, dir_fd, true, 3);
	geometry.flags |= RING_PREFAULT;
	CHECK(ring_memory_create(&geometry, &fd) == -EINVAL, "not with other flags");
	geometry.flags = 0;
	CHECK(ring_memory_create_revoked(&geometry, -1, NULL, &fd) == -EINVAL, "not leased");
	close(dir_fd);
	CHECK(!rmdir(directory), "rmdir");
	return 0;
}
