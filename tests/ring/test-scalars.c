/* SPDX-License-Identifier: MIT */
/*
 * Scalars, each size by its own function, also with a time that was just read: the same records as
 * from ring_publish(), for every form of header, in all modes and backends, many times around the
 * ring; a full ring, a producer that must not publish, and the rings of a forked child.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"

#define RING_BYTES (1u << 14)
#define RECORDS 5000 /* Fills several rings. */

static struct ring_producer *producer;
static struct ring_consumer *consumer;
static unsigned char buffer[RING_BYTES];

/* One event class, and the expected next record of it in each ring. */
static uint32_t id;
static size_t size;
static ring_publish_scalar *way_of;
static bool timed; /* Publish with a timestamp, by a function for this size if there is one. */
static ring_publish_timed *timed_way;
static uint64_t ticks[RECORDS + 2]; /* The timestamp of each record. */
static uint64_t exact;              /* Records with exactly this timestamp. */
static uint64_t fired;
static uint64_t next[RING_RINGS_MAX], seen[RING_RINGS_MAX], found;

/* Publishes a scalar that contains its number, followed by bytes that must not be published. */
static int fire(void)
{
	uint64_t scalar[3] = {fired * 0x9e3779b97f4a7c15u, ~fired, 0xa5a5a5a5a5a5a5a5u};
	int before = errno;
	int rc;

	/* Sometimes older than the previous record. */
	ticks[fired] = ring_clock_now(ring_producer_clock(producer)) - (fired % 5 ? 0 : 1000000);
	if (!timed)
		rc = way_of(producer, id, NULL, scalar);
	else if (timed_way)
		rc = timed_way(producer, id, ticks[fired], scalar);
	else
		rc = ring_publish_at(producer, id, scalar, size, ticks[fired]);
	CHECK(errno == before, "errno");
	fired++;
	return rc;
}

/* Returns the number of the record with these bytes, beginning at `from`. */
static uint64_t number_of(const unsigned char *bytes, uint64_t from)
{
	for (; from < fired; from++) {
		uint64_t scalar[2] = {from * 0x9e3779b97f4a7c15u, ~from};

		if (!memcmp(bytes, scalar, size))
			return from;
	}
	CHECK(false, "id %u, %zu bytes: a record that was not published", id, size);
	return 0;
}

static void drain_ring(uint32_t ring)
{
	bool over = ring_consumer_geometry(consumer)->mode == RING_MODE_OVERWRITE;
	const unsigned char *at, *end;
	struct ring_span span;
	uint64_t time;
	int rc = over ? ring_consumer_snapshot(consumer, ring, buffer, &span)
		      : ring_consumer_peek(consumer, ring, &span);

	CHECK(rc >= 0, "%s", ring_consumer_error(consumer, ring));
	if (rc == 0)
		return;
	at = span.data;
	end = at + span.size;
	time = span.first_timestamp;
	for (; at < end; at += size) {
		struct decoded record = decode_header(at, time);
		bool known = span.position + (uint64_t)(at - (const unsigned char *)span.data) <
				seen[ring];

		at = record.payload;
		CHECK(record.id == id, "id %u, not %u", record.id, id);
		CHECK(record.timestamp >= time, "time runs back");
		time = record.timestamp;
		if (known)
			continue;
		next[ring] = number_of(at, next[ring]) + 1;
		CHECK(time >= ticks[next[ring] - 1], "a time before the stored one");
		exact += time == ticks[next[ring] - 1];
		found++;
	}
	CHECK(at == end, "a record over the end");
	seen[ring] = span.position + span.size;
	if (!over)
		ring_consumer_release(consumer, ring, &span);
}

static void drain(void)
{
	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++)
		drain_ring(ring);
}

static uint64_t lost(enum ring_loss reason)
{
	uint64_t sum = 0;

	for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings; ring++)
		sum += ring_consumer_lost(consumer, ring, reason);
	return sum;
}

static void test_event(uint32_t event_id, size_t bytes, bool with_time)
{
	uint64_t lost_before = lost(RING_LOST_FULL);
	int waiting = 0;

	id = event_id;
	size = bytes;
	timed = with_time;
	timed_way = timed ? ring_choose_timed(producer, id, size) : NULL;
	way_of = timed ? NULL : ring_choose_scalar(producer, id, size);
	fired = found = exact = 0;
	memset(next, 0, sizeof(next));
	for (int i = 0; i < RECORDS; i++) {
		CHECK(fire() == 0, "id %u, %zu bytes", id, size);
		/*
		 * The time grows a little each turn, so that all limits and sub-buffer boundaries
		 * are reached.
		 */
		if (++waiting > 50 + i / 20) {
			drain();
			waiting = 0;
		}
	}
	drain();
	CHECK(found == fired, "id %u, %zu bytes: %lu of %lu", id, size, found, fired);
	CHECK(lost(RING_LOST_FULL) == lost_before, "lost");
	/* Records without a value are indistinguishable, and one of another ring may come first. */
	CHECK(!timed_way || !size || exact > RECORDS / 2, "id %u, %zu bytes: %lu times", id, size,
			exact);
}

/* As many as with ring_publish(), and not one record more. */
static void test_full(void)
{
	uint64_t accepted = 0, before = lost(RING_LOST_FULL);

	fired = found = 0;
	memset(next, 0, sizeof(next));
	for (int i = 0; i < RECORDS; i++) {
		int rc = fire();

		CHECK(rc == 0 || rc == -ENOSPC, "%d", rc);
		accepted += rc == 0;
	}
	CHECK(accepted < RECORDS && accepted >= RING_BYTES / (13 + size), "%lu", accepted);
	CHECK(lost(RING_LOST_FULL) - before == RECORDS - accepted, "lost");
	drain();
	CHECK(found == accepted, "%lu of %lu", found, accepted);
}

/* No record is published where the clock must not be read, nor in the rings of a parent. */
static void test_refused(void)
{
	uint64_t refused = lost(RING_LOST_OTHER);
	pid_t child;
	int status;

	fired = found = 0;
	memset(next, 0, sizeof(next));
	ring_producer_stop(producer, true);
	CHECK(fire() == -EPERM, "stopped");
	CHECK(lost(RING_LOST_OTHER) == refused + 1, "not counted");
	ring_producer_stop(producer, false);
	CHECK(fire() == 0, "not stopped any more");
	drain();
	CHECK(found == 1, "%lu", found);
	child = fork();
	if (child == 0)
		_exit(fire() == -ECHILD && ring_producer_refused(producer) == 1 ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0, "in a child: %x", status);
	drain();
	CHECK(found == 1, "%lu", found);
}

int main(void)
{
	static const enum ring_mode modes[] = {
			RING_MODE_DISCARD, RING_MODE_OVERWRITE, RING_MODE_BLOCK};
	static const uint32_t ids[] = {0, 29, 30, 65535, 65536};
	static const struct {
		size_t size;
		bool timed;
	} kinds[] = {{1, false}, {2, false}, {4, false}, {8, false}, {16, false}, {0, true},
			{4, true}, {8, true}, {16, true}};
	enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

	for (unsigned int i = 0; i < WAYS * 6; i++) {
		const struct backend *backend = &variants[i / 6];
		struct ring_geometry geometry = {.rings = ring_possible_cpus(),
				.event_slots = 16,
				.size = RING_BYTES,
				.mode = modes[i % 3],
				.placement = i / 3 % 2 ? RING_PER_THREAD : RING_PER_CPU,
				.block_timeout_us = 100};
		int fd = way_create(backend, &geometry);

		producer = fd < 0 ? NULL : way_map(backend, fd);
		if (!producer)
			continue;
		for (unsigned int j = 0; j < sizeof(ids) / sizeof(ids[0]); j++) {
			for (unsigned int k = 0; k < KINDS; k++) {
				/* From the beginning, because a window has records of one kind. */
				if (j + k) {
					ring_producer_unmap(producer);
					close(fd);
					fd = way_create(backend, &geometry);
					producer = way_map(backend, fd);
				}
				CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
				memset(seen, 0, sizeof(seen));
				test_event(ids[j], kinds[k].size, kinds[k].timed);
				if (geometry.mode == RING_MODE_DISCARD)
					test_full();
				test_refused();
				ring_consumer_unmap(consumer);
			}
		}
		ring_producer_unmap(producer);
		close(fd);
	}
	return 0;
}
