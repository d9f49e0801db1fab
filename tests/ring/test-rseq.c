/* SPDX-License-Identifier: MIT */
/*
 * Threads without a registered area of restartable sequences, whose C library area contains the CPU
 * of another thread, as in a new thread on the stack of an exited one. Each record must be complete
 * and read once, while other threads publish all the time. Afterwards, the C library must be able
 * to register its area.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "decode.h"
#include "disturb.h"

#define BUSY 2
#define STREAMS 64
#define EARLY 3               /* Records before the registration, */
#define LATER 5               /* and after it. */
#define SEEN_BYTES (1u << 21) /* A bit for each record of a stream. */
#define SIGNATURE 0x53053053
#define AREA_BYTES 32

extern const ptrdiff_t __rseq_offset;
extern const unsigned int __rseq_size;

struct body {
	uint32_t stream, sequence;
	uint64_t mixed;
};

static struct ring_producer *producer;
static struct ring_consumer *consumer;
static uint32_t published[STREAMS + BUSY], handled, seen_handled;
static unsigned char *seen[STREAMS + BUSY];
static uint32_t read_of[STREAMS + BUSY];
static bool stop;
static uint32_t cpus;

static uint64_t mix(const struct body *body)
{
	return (body->stream * UINT64_C(0x9e3779b97f4a7c15)) ^
			(body->sequence * UINT64_C(0xc2b2ae3d27d4eb4f));
}

static int publish(uint32_t stream, uint32_t sequence)
{
	struct body body = {stream, sequence, 0};

	body.mixed = mix(&body);
	return ring_publish(producer, 7, &body, sizeof(body));
}

static void publish_next(uint32_t stream)
{
	int rc = publish(stream, published[stream]);

	CHECK(rc == 0 || rc == -ENOSPC, "stream %u: %d", stream, rc);
	if (!rc)
		__atomic_store_n(&published[stream], published[stream] + 1, __ATOMIC_RELEASE);
}

static void handler(int signal)
{
	int rc = publish(UINT32_MAX, 0);

	(void)signal;
	CHECK(rc == 0 || rc == -ENOSPC, "handler: %d", rc);
	if (!rc)
		__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void *busy_main(void *data)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) &&
			published[STREAMS + (uintptr_t)data] < SEEN_BYTES * 8)
		publish_next(STREAMS + (uint32_t)(uintptr_t)data);
	return NULL;
}

/* Prepares the area as the C library leaves it before start_thread() registers it. */
static unsigned char *unregister(uint32_t cpu)
{
	unsigned char *area = (unsigned char *)__builtin_thread_pointer() + __rseq_offset;

	CHECK(syscall(SYS_rseq, area, AREA_BYTES, 1, SIGNATURE) == 0, "unregister");
	memcpy(area, &cpu, sizeof(cpu));
	memcpy(area + 4, &cpu, sizeof(cpu));
	return area;
}

static void *brief_main(void *data)
{
	uint32_t stream = (uint32_t)(uintptr_t)data;
	bool signals = stream % 2;
	timer_t timer = NULL;
	unsigned char *area;

	area = unregister(stream % cpus);
	if (signals)
		timer = disturb(SIGUSR1, 40009);
	for (int i = 0; i < EARLY; i++)
		publish_next(stream);
	/* The CPU is the one on which this thread runs, independent of the area. */
	if (!signals) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((stream / 2) % cpus, &set);
		CHECK(sched_setaffinity(0, sizeof(set), &set) == 0, "affinity");
		CHECK(ring_thread_cpu() == (int32_t)(stream / 2 % cpus),
				"CPU of a thread without rseq");
	}
	if (signals)
		timer_delete(timer);
	/* As the C library, which ends the process if this fails. */
	CHECK(syscall(SYS_rseq, area, AREA_BYTES, 0, SIGNATURE) == 0, "register");
	for (int i = 0; i < LATER; i++)
		publish_next(stream);
	/* Withdraws the registration of a thread that had one before. */
	CHECK(syscall(SYS_rseq, area, AREA_BYTES, 1, SIGNATURE) == 0, "unregister");
	publish_next(stream);
	CHECK(syscall(SYS_rseq, area, AREA_BYTES, 0, SIGNATURE) == 0, "register");
	publish_next(stream);
	return NULL;
}

static void drain(uint64_t *times)
{
	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++) {
		const unsigned char *at, *end;
		struct ring_span span;
		int rc = ring_consumer_peek(consumer, ring, &span);

		CHECK(rc >= 0, "%s", ring_consumer_error(consumer, ring));
		if (!rc)
			continue;
		at = span.data;
		for (end = at + span.size; at < end;) {
			struct decoded record = decode_header(at, times[ring]);
			struct body body;

			memcpy(&body, record.payload, sizeof(body));
			CHECK(record.id == 7, "ring %u: id %u", ring, record.id);
			CHECK(body.mixed == mix(&body), "ring %u: contents", ring);
			CHECK(record.timestamp >= times[ring], "ring %u: time runs back", ring);
			times[ring] = record.timestamp;
			if (body.stream == UINT32_MAX) {
				seen_handled++;
			} else {
				CHECK(body.stream < STREAMS + BUSY, "stream %u", body.stream);
				CHECK(!(seen[body.stream][body.sequence / 8] >> body.sequence % 8 &
						      1),
						"twice");
				seen[body.stream][body.sequence / 8] |=
						(unsigned char)(1 << body.sequence % 8);
				read_of[body.stream]++;
			}
			at = record.payload + sizeof(body);
		}
		CHECK(at == end, "span does not end with a record");
		ring_consumer_release(consumer, ring, &span);
	}
}

static void run(enum ring_placement placement, enum ring_clock clock)
{
	struct ring_geometry geometry = {
			.rings = placement == RING_PER_THREAD ? STREAMS + BUSY + 2 : cpus,
			.size = 1 << 20,
			.event_slots = 16,
			.mode = RING_MODE_DISCARD,
			.placement = placement,
			.clock = clock};
	uint64_t times[STREAMS + BUSY + 256] = {0};
	uint64_t early = 0;
	pthread_t busy[BUSY], brief[8];
	int fd, rc;

	rc = ring_memory_create(&geometry, &fd);
	if (rc == -ENOTSUP)
		return;
	CHECK(rc == 0, "create: %d", rc);
	CHECK(ring_producer_map(fd, &producer) == 0, "producer");
	if (ring_producer_is_portable(producer)) {
		puts("skipped: built without sections");
		exit(77);
	}
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "consumer");
	memset(published, 0, sizeof(published));
	memset(read_of, 0, sizeof(read_of));
	handled = seen_handled = 0;
	for (int i = 0; i < STREAMS + BUSY; i++)
		seen[i] = calloc(1, SEEN_BYTES);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (uintptr_t i = 0; i < BUSY; i++)
		CHECK(pthread_create(&busy[i], NULL, busy_main, (void *)i) == 0, "thread");
	for (int round = 0; round < (test_is_long() ? 1000 : 20); round++) {
		for (uintptr_t i = 0; i < STREAMS; i += 8) {
			for (uintptr_t j = 0; j < 8; j++)
				CHECK(pthread_create(&brief[j], NULL, brief_main,
						      (void *)(i + j)) == 0,
						"thread");
			drain(times);
			for (int j = 0; j < 8; j++)
				pthread_join(brief[j], NULL);
			drain(times);
		}
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < BUSY; i++)
		pthread_join(busy[i], NULL);
	drain(times);
	for (int i = 0; i < STREAMS + BUSY; i++) {
		CHECK(read_of[i] == published[i], "stream %d: %u of %u", i, read_of[i],
				published[i]);
		early += i < STREAMS ? published[i] : 0;
		free(seen[i]);
	}
	CHECK(early > STREAMS, "%lu records of threads without rseq", early);
	CHECK(handled == seen_handled, "handlers: %u of %u", seen_handled, handled);
	ring_consumer_unmap(consumer);
	ring_producer_unmap(producer);
	close(fd);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	bool is_there = __rseq_size != 0;

	cpus = ring_possible_cpus();
	if (!is_there ||
			syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset,
					AREA_BYTES, 1, 0) == 0 ||
			errno != EPERM) {
		puts("skipped: no rseq by the C library that this test knows");
		return 77;
	}
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
	run(RING_PER_CPU, RING_CLOCK_TSC);
	run(RING_PER_CPU, RING_CLOCK_MONOTONIC);
	run(RING_PER_THREAD, RING_CLOCK_TSC);
	return 0;
}
