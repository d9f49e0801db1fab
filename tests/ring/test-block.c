/* SPDX-License-Identifier: MIT */
/*
 * Rings whose writers wait: no record is lost with a slow consumer; a dead consumer costs one
 * timeout, not one per event; so does a ring that the consumer has given up; a child of fork() or
 * vfork() never waits; a waiting writer continues as soon as there is space.
 *
 * The checked bounds are far from the expected times, and far from the times of a wrong
 * implementation.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "payload.h"

#define THREADS 2
#define LEVELS 2
#define MOST 300
#define FOREVER_US 600000000u
#define SECOND_NS UINT64_C(1000000000)

static struct ring_producer *producer;
static struct ring_consumer *consumer;

static uint64_t now_ns(void)
{
	return ring_clock_now(RING_CLOCK_MONOTONIC);
}

static bool begin(const struct backend *backend, uint32_t timeout_us, enum ring_placement placement)
{
	struct ring_geometry geometry = {.rings = ring_possible_cpus(),
			.event_slots = 4,
			.size = 4096,
			.mode = RING_MODE_BLOCK,
			.placement = placement,
			.block_timeout_us = timeout_us};
	int fd;

	if (placement == RING_PER_THREAD)
		geometry.rings = 2;
	fd = way_create(backend, &geometry);
	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return false;
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "ring_consumer_map");
	close(fd);
	return true;
}

static void end(void)
{
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
}

static unsigned int drain_all(void)
{
	unsigned int found = 0;

	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++) {
		struct ring_span span;

		if (ring_consumer_peek(consumer, ring, &span) == 1) {
			ring_consumer_release(consumer, ring, &span);
			found++;
		}
	}
	return found;
}

/* ---- A slow consumer ---- */

static struct stream {
	uint64_t published, read;
} streams[THREADS * LEVELS];
static __thread uint32_t this_stream;
static __thread volatile bool ready;
static uint64_t records_each;
static int running;
static uint64_t busy; /* Events of handlers that were refused. */

static void publish_one(uint32_t number)
{
	unsigned char payload[sizeof(struct body) + MOST];
	struct stream *stream = &streams[number];
	uint32_t size = body_make(payload, number, stream->published, MOST);
	int before = errno, rc;

	rc = ring_publish(producer, body_id(number, stream->published), payload, size);
	CHECK(errno == before, "errno");
	/*
	 * The portable backend: the owner of the lock of a ring is another thread that does not
	 * run, or the thread that a handler interrupts; the handler does not wait.
	 */
	if (rc == -EBUSY || (rc == -ENOSPC && number % LEVELS))
		CHECK(ring_producer_is_portable(producer), "%d", rc);
	else
		CHECK(rc == 0, "%d", rc);
	if (rc == 0)
		stream->published++;
	else
		__atomic_fetch_add(&busy, 1, __ATOMIC_RELAXED);
}

/* Often runs while its thread waits. */
static void handler(int signal)
{
	int saved = errno;

	(void)signal;
	errno = 17;
	if (ready)
		publish_one(this_stream + 1);
	errno = saved;
}

static void *thread_main(void *data)
{
	struct itimerspec period = {{0, 1331171}, {0, 1331171}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	timer_t timer;

	this_stream = (uint32_t)(uintptr_t)data;
	event._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer");
	errno = 0;
	ready = true;
	CHECK(timer_settime(timer, 0, &period, NULL) == 0, "timer");
	for (uint64_t i = 0; i < records_each; i++)
		publish_one(this_stream);
	ready = false;
	timer_delete(timer);
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void see(void *user, const struct body *body, uint64_t timestamp)
{
	(void)user;
	(void)timestamp;
	CHECK(body->stream < THREADS * LEVELS, "stream");
	streams[body->stream].read++;
}

static void drain_slowly(uint64_t *times)
{
	const struct timespec pause = {.tv_nsec = 300000};

	nanosleep(&pause, NULL);
	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++) {
		struct ring_span span;
		int rc = ring_consumer_peek(consumer, ring, &span);

		CHECK(rc >= 0, "%s", ring_consumer_error(consumer, ring));
		if (!rc)
			continue;
		span_walk(&span, times[ring], MOST, see, NULL);
		times[ring] = span.end_timestamp;
		ring_consumer_release(consumer, ring, &span);
	}
}

static void test_slow(const struct backend *backend, enum ring_placement placement)
{
	uint64_t *times = calloc(RING_RINGS_MAX, sizeof(*times)), nested = 0, lost = 0;
	pthread_t threads[THREADS];
	bool last = false;

	if (!begin(backend, FOREVER_US, placement))
		goto out;
	memset(streams, 0, sizeof(streams));
	running = THREADS;
	busy = 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)(i * LEVELS)) == 0,
				"thread");
	while (!last) {
		last = !__atomic_load_n(&running, __ATOMIC_ACQUIRE);
		drain_slowly(times);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS * LEVELS; i++) {
		CHECK(streams[i].read == streams[i].published, "%lu of %lu", streams[i].read,
				streams[i].published);
		nested += i % LEVELS ? streams[i].published : 0;
	}
	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++)
		lost += ring_consumer_lost_total(consumer, ring);
	CHECK(lost == busy, "%lu lost", lost);
	printf("%s: %lu records, %lu in handlers\n", backend->name, THREADS * records_each, nested);
	end();
out:
	free(times);
}

/* ---- A dead consumer ---- */

/* Publishes until a record is refused. */
static void fill(void)
{
	static const unsigned char payload[100];
	int rc = 0;

	for (int i = 0; i < 100000 && rc == 0; i++)
		rc = ring_publish(producer, 1, payload, sizeof(payload));
	CHECK(rc == -ENOSPC, "%d", rc);
}

static void publish_many(int count)
{
	static const unsigned char payload[100];

	for (int i = 0; i < count; i++)
		ring_publish(producer, 1, payload, sizeof(payload));
}

static void test_dead(const struct backend *backend)
{
	const uint32_t timeout_us = 100000;
	uint64_t begun;

	if (!begin(backend, timeout_us, RING_PER_CPU))
		return;
	for (int life = 0; life < 3; life++) {
		begun = now_ns();
		fill();
		CHECK(now_ns() - begun >= timeout_us * 1000, "it did not wait");
		/* 10,000 timeouts would be 1,000 s. */
		publish_many(10000);
		CHECK(now_ns() - begun < 100 * SECOND_NS, "it waited again and again");
		/* The consumer lives again, so writers wait again. */
		CHECK(drain_all() > 0, "nothing to drain");
	}
	end();
}

/* ---- A ring that is never released, beside one that is ---- */

static bool beside_stop;

static void *beside_main(void *data)
{
	while (!__atomic_load_n(&beside_stop, __ATOMIC_RELAXED)) {
		/* Refused until the first release: the consumer was marked dead. */
		if (ring_publish(producer, 2, "beside", 6) == 0)
			__atomic_fetch_add(&running, 1, __ATOMIC_RELAXED);
	}
	return data;
}

/* Consumes the second ring only. */
static void *consumer_main(void *data)
{
	while (!__atomic_load_n(&beside_stop, __ATOMIC_RELAXED)) {
		struct ring_span span;

		if (ring_consumer_peek(consumer, 1, &span) == 1)
			ring_consumer_release(consumer, 1, &span);
		else
			sched_yield();
	}
	return data;
}

static void test_given_up(const struct backend *backend)
{
	pthread_t beside, consuming;
	uint64_t begun = now_ns(), lost;
	int before;

	if (!begin(backend, 200000, RING_PER_THREAD))
		return;
	/* Rings are assigned in turn: this thread has the first. Its consumer is still dead. */
	fill();
	beside_stop = false;
	running = 0;
	CHECK(pthread_create(&consuming, NULL, consumer_main, NULL) == 0, "thread");
	CHECK(pthread_create(&beside, NULL, beside_main, NULL) == 0, "thread");
	/*
	 * Many releases of the other ring: only the tail of this ring shows that a wait is useless.
	 */
	for (int i = 0; i < 10; i++) {
		before = __atomic_load_n(&running, __ATOMIC_RELAXED);
		publish_many(100);
		while (__atomic_load_n(&running, __ATOMIC_RELAXED) < before + 1000)
			sched_yield();
	}
	__atomic_store_n(&beside_stop, true, __ATOMIC_RELAXED);
	pthread_join(consuming, NULL);
	drain_all();
	pthread_join(beside, NULL);
	/* 1,000 timeouts would be 200 s. */
	CHECK(now_ns() - begun < 60 * SECOND_NS, "it waited again and again");
	lost = ring_consumer_lost(consumer, 0, RING_LOST_FULL);
	CHECK(lost == 1001, "%lu lost", lost);
	end();
}

/* ---- Children ---- */

static int publish_in_child(void)
{
	int rc = ring_publish(producer, 1, "0123456789012345678901234567890123456789", 40);

	/* ThreadSanitizer makes fork() of vfork(). */
	return rc == -ENOSPC || rc == -ECHILD ? 0 : 1;
}

static void test_children(const struct backend *backend)
{
	uint64_t begun = now_ns();
	cpu_set_t all, one;
	int status, cpu;
	pid_t child;

	if (!begin(backend, 1, RING_PER_CPU))
		return;
	/* One CPU: otherwise the portable backend would find space in another ring. */
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0, "affinity");
	cpu = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "affinity");
	fill();
	end();
	/* The same again, with a wait without a timeout. */
	if (!begin(backend, FOREVER_US, RING_PER_CPU))
		return;
	while (ring_publish(producer, 1, "abcdefgh", 8) == 0) {
		struct ring_span span;

		if (ring_consumer_peek(consumer, (uint32_t)cpu, &span) == 1 && span.size > 4060)
			break;
	}
	child = vfork();
	if (child == 0)
		_exit(publish_in_child());
	CHECK(waitpid(child, &status, 0) == child && status == 0, "vfork: %x", status);
	child = fork();
	if (child == 0)
		_exit(ring_publish(producer, 1, "x", 1) == -ECHILD ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0, "fork: %x", status);
	CHECK(now_ns() - begun < 300 * SECOND_NS, "a child waited");
	sched_setaffinity(0, sizeof(all), &all);
	end();
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGUSR1, &action, NULL);
	records_each = test_is_long() ? 100000 : 2000;
	for (unsigned int i = 0; i < WAYS; i++) {
		test_slow(&variants[i], RING_PER_CPU);
		/* The handler finds only its thread's ring locked. */
		if (!variants[i].portable)
			test_slow(&variants[i], RING_PER_THREAD);
		test_dead(&variants[i]);
		test_given_up(&variants[i]);
		test_children(&variants[i]);
	}
	return 0;
}
