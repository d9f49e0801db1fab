/* SPDX-License-Identifier: MIT */
/*
 * Rings per thread: each thread's records are in a ring of its own, in order and without a hole,
 * with handlers that also publish; more threads than rings; rings of dead threads; several
 * producers in one process.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "payload.h"

#define THREADS_MAX 16
#define LEVELS 2 /* The thread, and SIGUSR1 in it. */
#define MOST 200

static struct ring_producer *producer;
static struct ring_consumer *consumer;
static pthread_barrier_t barrier;

/* By stream: the state of its publisher, and the records that were read. */
static struct stream {
	uint64_t published, refused;
	uint64_t read;
	uint64_t next[THREADS_MAX]; /* In each ring. */
	uint32_t ring;              /* The ring in which it was read; RING_RINGS_MAX: none yet. */
	bool several;
} streams[THREADS_MAX * LEVELS * 4];

static __thread uint32_t this_stream;
static __thread volatile bool ready;
static uint64_t records_each;
static pid_t ids[THREADS_MAX];

static int publish_one(uint32_t number)
{
	unsigned char payload[sizeof(struct body) + MOST];
	struct stream *stream = &streams[number];
	uint32_t size = body_make(payload, number, stream->published, MOST);
	int before = errno, rc;

	rc = ring_publish(producer, body_id(number, stream->published), payload, size);
	CHECK(errno == before, "errno");
	if (rc == 0)
		stream->published++;
	else
		stream->refused++;
	CHECK(rc == 0 || rc == -ENXIO || rc == -ENOSPC || rc == -EBUSY, "%d", rc);
	return rc;
}

static void handler(int signal)
{
	(void)signal;
	if (ready)
		publish_one(this_stream + 1);
}

static void *thread_main(void *data)
{
	struct itimerspec period = {{0, 53117}, {0, 53117}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	timer_t timer;

	this_stream = (uint32_t)(uintptr_t)data;
	ids[this_stream / LEVELS % THREADS_MAX] = gettid();
	event._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer");
	/* Gets its ring before a handler borrows one. */
	publish_one(this_stream);
	pthread_barrier_wait(&barrier);
	ready = true;
	CHECK(timer_settime(timer, 0, &period, NULL) == 0, "timer");
	for (uint64_t i = 0; i < records_each; i++) {
		publish_one(this_stream);
		if (i % 64 == 0)
			sched_yield();
	}
	ready = false;
	timer_delete(timer);
	/* No thread exits before each has a ring, or has failed to get one. */
	pthread_barrier_wait(&barrier);
	return NULL;
}

static uint32_t draining;

static void see(void *user, const struct body *body, uint64_t timestamp)
{
	struct stream *stream = &streams[body->stream];

	(void)user;
	(void)timestamp;
	/* Only a record in a borrowed ring is out of order: see check(). */
	CHECK(body->sequence >= stream->next[draining], "stream %u: %lu again", body->stream,
			body->sequence);
	CHECK(body->stream % LEVELS || body->sequence == stream->next[draining], "a hole");
	stream->next[draining] = body->sequence + 1;
	stream->read++;
	if (stream->ring != draining && stream->ring != RING_RINGS_MAX)
		stream->several = true;
	stream->ring = draining;
}

static void drain(uint64_t *times)
{
	for (draining = 0; draining < ring_consumer_geometry(consumer)->rings; draining++) {
		struct ring_span span;
		int rc = ring_consumer_peek(consumer, draining, &span);

		CHECK(rc >= 0, "%s", ring_consumer_error(consumer, draining));
		if (!rc)
			continue;
		span_walk(&span, times[draining], MOST, see, NULL);
		times[draining] = span.end_timestamp;
		ring_consumer_release(consumer, draining, &span);
	}
}

static void run(unsigned int first, unsigned int count, uint64_t *times)
{
	pthread_t threads[THREADS_MAX];

	pthread_barrier_init(&barrier, NULL, count);
	for (unsigned int i = 0; i < count; i++) {
		for (unsigned int level = 0; level < LEVELS; level++)
			streams[(first + i) * LEVELS + level].ring = RING_RINGS_MAX;
		CHECK(pthread_create(&threads[i], NULL, thread_main,
				      (void *)(uintptr_t)((first + i) * LEVELS)) == 0,
				"thread");
	}
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	/* The kernel may still list a joined thread. */
	for (unsigned int i = 0; i < count; i++) {
		while (tgkill(getpid(), ids[(first + i) % THREADS_MAX], 0) == 0)
			sched_yield();
	}
	pthread_barrier_destroy(&barrier);
	drain(times);
}

/* The losses of a thread without a ring are counted; the others lose nothing. */
static void check(const struct backend *backend, unsigned int first, unsigned int count,
		uint32_t rings)
{
	unsigned int with = 0;

	for (unsigned int i = first; i < first + count; i++) {
		const struct stream *own = &streams[i * LEVELS], *nested = own + 1;

		CHECK(own->read == own->published, "%lu of %lu read", own->read, own->published);
		CHECK(nested->read == nested->published, "%lu of %lu read", nested->read,
				nested->published);
		with += own->published > 0;
		CHECK(!own->published || !own->refused, "a thread with a ring lost %lu",
				own->refused);
		CHECK(!own->several, "a thread's records are in several rings");
		/* The portable backend borrows a ring for a handler. */
		CHECK(backend->portable || !nested->published || !own->published ||
						(!nested->several && nested->ring == own->ring),
				"a handler's records are elsewhere");
		for (unsigned int j = first; j < i; j++)
			CHECK(!own->published || streams[j * LEVELS].ring != own->ring,
					"two threads in ring %u", own->ring);
	}
	CHECK(with == (count < rings ? count : rings), "%u threads of %u had one of %u rings", with,
			count, rings);
}

static void test_way(const struct backend *backend, uint32_t rings, unsigned int count)
{
	struct ring_geometry geometry = {.rings = rings,
			.event_slots = 4,
			.size = 1 << 22,
			.placement = RING_PER_THREAD};
	uint64_t times[THREADS_MAX] = {0}, refused = 0, lost = 0, nested = 0;
	const struct timespec pause = {.tv_nsec = 12000000};
	int fd = way_create(backend, &geometry);

	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return;
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "ring_consumer_map");
	memset(streams, 0, sizeof(streams));
	for (unsigned int generation = 0; generation < 4; generation++) {
		/* Longer than the time until the producer searches for rings again. */
		nanosleep(&pause, NULL);
		run(generation * count, count, times);
		check(backend, generation * count, count, rings);
	}
	for (unsigned int i = 0; i < 4 * count * LEVELS; i++) {
		refused += streams[i].refused;
		nested += i % LEVELS ? streams[i].published : 0;
	}
	for (uint32_t ring = 0; ring < rings; ring++) {
		lost += ring_consumer_lost_total(consumer, ring);
		CHECK(ring == 0 || ring_consumer_lost(consumer, ring, RING_LOST_NO_RING) == 0,
				"those without a ring are counted in the first");
	}
	CHECK(lost == refused, "%lu lost, %lu refused", lost, refused);
	CHECK(count <= rings || ring_consumer_lost(consumer, 0, RING_LOST_NO_RING) > 0, "no loss");
	printf("%s, %u threads, %u rings: %lu refused, %lu in handlers\n", backend->name, count,
			rings, refused, nested);
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
}

/* A thread has a ring in each producer, and forgets those that are unmapped. */
static void test_many_producers(const struct backend *backend)
{
	struct ring_geometry geometry = {
			.rings = 2, .event_slots = 1, .size = 4096, .placement = RING_PER_THREAD};
	struct ring_producer *many[64], *one_more;
	int fd = way_create(backend, &geometry);

	producer = fd < 0 ? NULL : way_map(backend, fd);
	if (!producer)
		return;
	ring_producer_unmap(producer);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 64; i++) {
			int other;

			CHECK(ring_memory_create(&geometry, &other) == 0, "create");
			many[i] = way_map(backend, other);
			close(other);
			CHECK(ring_publish(many[i], 1, "x", 1) == 0, "publish");
		}
		CHECK(ring_producer_map(fd, &one_more) == -EMFILE, "more than there is space for");
		for (int i = 0; i < 64; i++) {
			CHECK(ring_publish(many[i], 1, "x", 1) == 0, "publish");
			ring_producer_unmap(many[i]);
		}
	}
	close(fd);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGUSR1, &action, NULL);
	records_each = test_is_long() ? 20000 : 4000;
	for (unsigned int i = 0; i < WAYS; i++) {
		test_way(&variants[i], 16, 8);
		test_way(&variants[i], 3, 8);
		test_way(&variants[i], 8, 8);
		test_many_producers(&variants[i]);
	}
	return 0;
}
