/* SPDX-License-Identifier: MIT */
/*
 * Kills a process that publishes from four threads and a signal handler (SIGKILL) at a random time,
 * repeatedly. The process notes each publication in separate memory after ring_publish() has
 * returned, which gives the records that must be present.
 *
 *	discard		a prefix: everything noted, without a hole, and at most one record more per
 *			publisher, which it had not noted yet
 *	overwrite	the last window of each ring: everything that was published after the latest
 *			beginning of any ring's window, up to the last noted record (or one more)
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

#define PUBLISHERS 5 /* Four threads, and a handler of SIGALRM in the first. */
#define SIZE_MAX_BYTES 700
#define SEQUENCES (1u << 20)

struct body {
	uint32_t size;
	uint32_t publisher;
	uint64_t sequence;
};

/* Shared with the child: the records that each publisher has published. */
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
	if (sequence < SEQUENCES - 1 &&
			ring_publish(producer, publisher * 10000, payload, body.size) == 0)
		__atomic_store_n(&noted[publisher], sequence + 1, __ATOMIC_RELEASE);
	else
		sched_yield();
}

static void on_alarm(int signal)
{
	(void)signal;
	publish_one(PUBLISHERS - 1);
}

static void *thread_main(void *data)
{
	for (;;)
		publish_one((uint32_t)(uintptr_t)data);
	return NULL;
}

static void child_main(const struct backend *backend, int fd)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 97}, {0, 97}};
	pthread_t thread;
	sigset_t alarm;

	/* Ends this process if the test fails. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == 1)
		_exit(1);
	producer = way_map(backend, fd);
	/*
	 * One thread takes the signal, from its first instruction on, so that a publisher never
	 * runs in two threads.
	 */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	for (uintptr_t i = 1; i < PUBLISHERS - 1; i++) {
		if (pthread_create(&thread, NULL, thread_main, (void *)i))
			_exit(1);
	}
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (;;)
		publish_one(0);
}

/* The records that were read: the time of each record, 0 for none. */
struct reading {
	uint64_t *times[PUBLISHERS];
	uint64_t count[PUBLISHERS];
	uint64_t begin; /* The latest first timestamp of a window. */
};

static void check_record(
		struct reading *reading, const struct decoded *record, const struct body *body)
{
	CHECK(body->publisher < PUBLISHERS && body->sequence < SEQUENCES, "damaged");
	CHECK(record->id == body->publisher * 10000, "id");
	CHECK(body->size == size_of(body->publisher, body->sequence), "size");
	for (uint32_t i = sizeof(*body); i < body->size; i++)
		CHECK(record->payload[i] == (unsigned char)(body->sequence + body->publisher),
				"damaged at %u", i);
	CHECK(!reading->times[body->publisher][body->sequence], "twice");
	reading->times[body->publisher][body->sequence] = record->timestamp;
	reading->count[body->publisher]++;
}

static void read_span(struct reading *reading, const struct ring_span *span, uint64_t *time)
{
	const unsigned char *at = span->data, *end = at + span->size;

	while (at < end) {
		struct decoded record = decode_header(at, *time);
		struct body body;

		memcpy(&body, record.payload, sizeof(body));
		check_record(reading, &record, &body);
		CHECK(record.timestamp >= *time, "time runs back");
		*time = record.timestamp;
		at = record.payload + body.size;
	}
	CHECK(at == end && *time <= span->end_timestamp, "end of span");
}

static void drain(struct ring_consumer *consumer, uint64_t *time, struct reading *reading)
{
	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++) {
		struct ring_span span;
		int rc = ring_consumer_peek(consumer, ring, &span);

		CHECK(rc >= 0, "%s", ring_consumer_error(consumer, ring));
		if (!rc)
			continue;
		read_span(reading, &span, &time[ring]);
		ring_consumer_release(consumer, ring, &span);
	}
}

static void forget(struct reading *reading)
{
	for (int i = 0; i < PUBLISHERS; i++) {
		madvise(reading->times[i], SEQUENCES * sizeof(uint64_t), MADV_DONTNEED);
		reading->count[i] = 0;
	}
	reading->begin = 0;
}

/* The windows of all rings. */
static void snapshot(struct ring_consumer *consumer, struct reading *reading, bool alive)
{
	uint64_t size = ring_consumer_geometry(consumer)->size;
	unsigned char *buffer = malloc(size);

	forget(reading);
	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++) {
		struct ring_span span;
		int rc = ring_consumer_snapshot(consumer, ring, buffer, &span);
		uint64_t time = 0;

		CHECK(rc >= 0 || (alive && rc == -EAGAIN), "%d: %s", rc,
				ring_consumer_error(consumer, ring));
		if (rc != 1)
			continue;
		read_span(reading, &span, &time);
		/* The first window of a ring that was never full is complete. */
		if (span.position && span.first_timestamp > reading->begin)
			reading->begin = span.first_timestamp;
		/*
		 * At most the sub-buffer that is written, and the record that crosses into it, are
		 * lost.
		 */
		CHECK(alive || !span.position || span.size > size / 8 * 6 - 2 * SIZE_MAX_BYTES,
				"a window of %zu bytes", span.size);
	}
	free(buffer);
}

/* All records from the first one after the beginning of the windows to the last one. */
static void check_window(const struct reading *reading, uint32_t publisher)
{
	uint64_t last = noted[publisher];
	const uint64_t *times = reading->times[publisher];
	uint64_t sequence;

	/* The process may have been killed before it noted its last record. */
	if (!times[last])
		last--;
	if (last == UINT64_MAX)
		return;
	CHECK(!times[last + 1], "%u: %lu after the last", publisher, last + 1);
	for (sequence = last + 1; sequence > 0 && times[sequence - 1]; sequence--)
		;
	/* Earlier records are missing, because they were published before the windows begin. */
	while (sequence-- > 0)
		CHECK(times[sequence] <= reading->begin, "%u: %lu is there, %lu is not", publisher,
				sequence, sequence + 1);
	/*
	 * A publisher has its last record in the window, unless all of the window was overwritten
	 * since then.
	 */
	CHECK(times[last] || reading->begin, "%u: nothing of %lu", publisher, last);
}

/* 0 <= count - noted <= 1, and no hole. */
static void check_prefix(const struct reading *reading, uint32_t publisher)
{
	uint64_t count = reading->count[publisher];

	CHECK(count >= noted[publisher] && count <= noted[publisher] + 1, "%u: %lu read, %lu noted",
			publisher, count, noted[publisher]);
	for (uint64_t s = 0; s < count; s++)
		CHECK(reading->times[publisher][s], "%u: %lu of %lu is missing", publisher, s,
				count);
}

static uint64_t kill_once(const struct backend *backend, enum ring_mode mode,
		enum ring_placement placement, unsigned int delay_us)
{
	bool over = mode == RING_MODE_OVERWRITE;
	struct ring_geometry geometry = {.rings = ring_possible_cpus(),
			.event_slots = 1,
			.size = over ? 1 << 16 : 1 << 19,
			.mode = mode,
			.placement = placement};
	struct timespec delay = {.tv_nsec = delay_us * 1000L};
	struct ring_consumer *consumer;
	struct reading reading = {0};
	uint64_t *time, total = 0;
	int fd, status;
	pid_t child;

	if (placement == RING_PER_THREAD)
		geometry.rings = PUBLISHERS + 1;
	time = calloc(geometry.rings, sizeof(*time));
	fd = way_create(backend, &geometry);
	CHECK(fd >= 0, "way_create");
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "ring_consumer_map");
	memset(noted, 0, 4096);
	for (int i = 0; i < PUBLISHERS; i++) {
		reading.times[i] = mmap(NULL, SEQUENCES * sizeof(uint64_t), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		CHECK(reading.times[i] != MAP_FAILED, "mmap");
	}
	child = fork();
	CHECK(child >= 0, "fork");
	if (child == 0)
		child_main(backend, fd);
	/* The delay begins with the first record. */
	for (int i = 0; i < 20000 && !__atomic_load_n(&noted[0], __ATOMIC_RELAXED); i++)
		sched_yield();
	nanosleep(&delay, NULL);
	if (over)
		snapshot(consumer, &reading, true);
	else
		drain(consumer, time, &reading);
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child, "waitpid");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x", status);
	if (over)
		snapshot(consumer, &reading, false);
	else
		drain(consumer, time, &reading);
	for (uint32_t i = 0; i < PUBLISHERS; i++) {
		if (over)
			check_window(&reading, i);
		else
			check_prefix(&reading, i);
		total += reading.count[i];
		munmap(reading.times[i], SEQUENCES * sizeof(uint64_t));
	}
	ring_consumer_unmap(consumer);
	close(fd);
	free(time);
	return total;
}

/* The cases, for each backend. */
static const struct {
	enum ring_mode mode;
	enum ring_placement placement;
} kinds[] = {
		{RING_MODE_DISCARD, RING_PER_CPU},
		{RING_MODE_OVERWRITE, RING_PER_CPU},
		{RING_MODE_DISCARD, RING_PER_CPU},
		{RING_MODE_OVERWRITE, RING_PER_CPU},
		{RING_MODE_DISCARD, RING_PER_THREAD},
		{RING_MODE_OVERWRITE, RING_PER_THREAD},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int main(void)
{
	unsigned int kills = test_is_long() ? 10000 : 240, done = 0;
	struct timespec begin, end;
	uint64_t state = 1, records = 0;
	bool usable[WAYS];

	noted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(noted != MAP_FAILED, "mmap");
	for (unsigned int i = 0; i < WAYS; i++) {
		struct ring_geometry geometry = {.rings = 1, .event_slots = 1, .size = 1 << 16};
		int fd = way_create(&variants[i], &geometry);
		struct ring_producer *one = fd < 0 ? NULL : way_map(&variants[i], fd);

		usable[i] = one != NULL;
		if (one)
			ring_producer_unmap(one);
		if (fd >= 0)
			close(fd);
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned int i = 0; i < kills; i++) {
		unsigned int kind = i / WAYS % KINDS;

		if (!usable[i % WAYS])
			continue;
		records += kill_once(&variants[i % WAYS], kinds[kind].mode, kinds[kind].placement,
				test_random(&state) % 3000);
		done++;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%u kills, %lu records, %ld ms\n", done, records,
			(end.tv_sec - begin.tv_sec) * 1000 +
					(end.tv_nsec - begin.tv_nsec) / 1000000);
	return 0;
}
