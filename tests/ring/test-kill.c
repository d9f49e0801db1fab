/* SPDX-License-Identifier: MIT */
/*
 * A process that publishes from several threads and a signal handler is killed (SIGKILL) at a
 * random instant, again and again. It notes each publication in memory of its own after
 * ring_publish() came back; everything noted must be read, in one piece, with nothing missing in
 * the middle, and at most the one record more that each publisher was about to note.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "decode.h"

#define PUBLISHERS 3 /* Two threads, and a handler of SIGALRM in whichever. */
#define SIZE_MAX_BYTES 700

struct body {
	uint32_t size;
	uint32_t publisher;
	uint64_t sequence;
};

/* Shared with the child: what each publisher has published. */
static uint64_t *noted;
static struct ring_producer *producer;

static uint32_t size_of(uint32_t publisher, uint64_t sequence)
{
	return (uint32_t)sizeof(struct body) +
			(uint32_t)((sequence * 31 + publisher) % (SIZE_MAX_BYTES - 50));
}

static void publish_one(uint32_t publisher)
{
	unsigned char payload[SIZE_MAX_BYTES];
	uint64_t sequence = __atomic_load_n(&noted[publisher], __ATOMIC_RELAXED);
	struct body body = {size_of(publisher, sequence), publisher, sequence};

	memcpy(payload, &body, sizeof(body));
	memset(payload + sizeof(body), (int)(sequence + publisher), body.size - sizeof(body));
	if (ring_publish(producer, publisher * 20000, payload, body.size) == 0)
		__atomic_store_n(&noted[publisher], sequence + 1, __ATOMIC_RELEASE);
	else
		sched_yield();
}

static void on_alarm(int signal)
{
	(void)signal;
	publish_one(2);
}

static void *thread_main(void *data)
{
	for (;;)
		publish_one(1);
	return data;
}

static void child_main(const struct way *way, int fd)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 97}, {0, 97}};
	pthread_t thread;
	sigset_t alarm;

	/* If the test fails, nobody kills this. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == 1)
		_exit(1);
	producer = way_map(way, fd, -1);
	/* One thread takes the signal, from its first moment: a publisher is never in two places.
	 */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	if (pthread_create(&thread, NULL, thread_main, NULL))
		_exit(1);
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (;;)
		publish_one(0);
}

/* The whole content of one ring at once. next: the sequence number due from each publisher. */
static void drain(struct ring_consumer *consumer, uint64_t *time, unsigned char *seen[PUBLISHERS],
		uint64_t count[PUBLISHERS])
{
	for (uint32_t cpu = 0; cpu < ring_consumer_geometry(consumer)->rings; cpu++) {
		const unsigned char *at, *end;
		struct ring_span span;
		int rc = ring_consumer_peek(consumer, cpu, &span);

		CHECK(rc >= 0, "%s", ring_consumer_error(consumer, cpu));
		if (!rc)
			continue;
		at = span.data;
		end = at + span.size;
		while (at < end) {
			struct decoded record = decode_header(at, time[cpu]);
			struct body body;

			memcpy(&body, record.payload, sizeof(body));
			CHECK(body.publisher < PUBLISHERS && body.sequence < 1 << 22, "damaged");
			CHECK(record.id == body.publisher * 20000, "id");
			CHECK(body.size == size_of(body.publisher, body.sequence), "size");
			for (uint32_t i = sizeof(body); i < body.size; i++)
				CHECK(record.payload[i] ==
								(unsigned char)(body.sequence +
										body.publisher),
						"damaged at %u", i);
			CHECK(record.timestamp >= time[cpu], "time runs back");
			CHECK(!seen[body.publisher][body.sequence], "twice");
			seen[body.publisher][body.sequence] = 1;
			count[body.publisher]++;
			time[cpu] = record.timestamp;
			at = record.payload + body.size;
		}
		CHECK(at == end && time[cpu] <= span.end_timestamp, "end of span");
		ring_consumer_release(consumer, cpu, &span);
	}
}

static uint64_t kill_once(const struct way *way, unsigned int delay_us)
{
	struct ring_geometry geometry = {
			.rings = ring_possible_cpus(), .event_slots = 1, .size = 1 << 19};
	struct timespec delay = {.tv_nsec = delay_us * 1000L};
	uint64_t *time = calloc(geometry.rings, sizeof(*time));
	uint64_t count[PUBLISHERS] = {0}, total = 0;
	unsigned char *seen[PUBLISHERS];
	struct ring_consumer *consumer;
	int fd = way_create(way, &geometry);
	int status;
	pid_t child;

	CHECK(fd >= 0, "way_create");
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "ring_consumer_map");
	memset(noted, 0, 4096);
	for (int i = 0; i < PUBLISHERS; i++) {
		seen[i] = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		CHECK(seen[i] != MAP_FAILED, "mmap");
	}
	child = fork();
	CHECK(child >= 0, "fork");
	if (child == 0)
		child_main(way, fd);
	/* The delay counts from the first record on. */
	for (int i = 0; i < 20000 && !__atomic_load_n(&noted[0], __ATOMIC_RELAXED); i++)
		sched_yield();
	nanosleep(&delay, NULL);
	drain(consumer, time, seen, count);
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child, "waitpid");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x", status);
	drain(consumer, time, seen, count);
	for (int i = 0; i < PUBLISHERS; i++) {
		CHECK(count[i] >= noted[i] && count[i] <= noted[i] + 1, "%d: %lu read, %lu noted",
				i, count[i], noted[i]);
		for (uint64_t s = 0; s < count[i]; s++)
			CHECK(seen[i][s], "%d: %lu of %lu is missing", i, s, count[i]);
		total += count[i];
		munmap(seen[i], 1 << 22);
	}
	ring_consumer_unmap(consumer);
	close(fd);
	free(time);
	return total;
}

int main(void)
{
	unsigned int kills = test_is_long() ? 4000 : 100, done = 0;
	struct timespec begin, end;
	uint64_t state = 1, records = 0;
	bool usable[WAYS];

	noted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(noted != MAP_FAILED, "mmap");
	for (unsigned int i = 0; i < WAYS; i++) {
		struct ring_geometry geometry = {.rings = 1, .event_slots = 1, .size = 1 << 16};
		int fd = way_create(&ways[i], &geometry);
		struct ring_producer *one = fd < 0 ? NULL : way_map(&ways[i], fd, -1);

		usable[i] = one != NULL;
		if (one)
			ring_producer_unmap(one);
		if (fd >= 0)
			close(fd);
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned int i = 0; i < kills; i++) {
		if (!usable[i % WAYS])
			continue;
		records += kill_once(&ways[i % WAYS], test_random(&state) % 3000);
		done++;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%u kills, %lu records, %ld ms\n", done, records,
			(end.tv_sec - begin.tv_sec) * 1000 +
					(end.tv_nsec - begin.tv_nsec) / 1000000);
	return 0;
}
