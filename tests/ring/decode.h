/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the ring tests: a decoder of record headers, written from docs/spec/recording.md
 * section 1 alone, the four backends that publish, and checks that end the test with a message.
 */
#ifndef TESTS_RING_DECODE_H
#define TESTS_RING_DECODE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/ring.h"

/* Not that of check.h: also prints what was decoded, by a format and its values. */
#define CHECK(condition, ...)                                                           \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
			fprintf(stderr, __VA_ARGS__);                                   \
			fputc('\n', stderr);                                            \
			abort();                                                        \
		}                                                                       \
	} while (0)

struct decoded {
	uint32_t tag;
	uint32_t id;
	uint64_t timestamp;
	const unsigned char *payload;
};

/* Decodes the header at `at`. `previous`: timestamp of the previous record, for the upper bits. */
static inline struct decoded decode_header(const unsigned char *at, uint64_t previous)
{
	struct decoded record;
	uint32_t word = 0;
	uint16_t id;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	record.tag = at[0] % 32;
#else
	record.tag = at[0] / 8;
#endif
	if (record.tag == 31) {
		memcpy(&record.id, at + 1, 4);
		memcpy(&record.timestamp, at + 5, 8);
		record.payload = at + 13;
		return record;
	}
	memcpy(&word, at, 4);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word /= 32;
#else
	word %= 1u << 27;
#endif
	record.timestamp = previous - previous % (UINT64_C(1) << 27) + word;
	record.id = record.tag;
	record.payload = at + 4;
	if (record.tag == 30) {
		memcpy(&id, at + 4, 2);
		record.id = id;
		record.payload = at + 6;
	}
	return record;
}

/* The backends that publish a record. */
struct backend {
	const char *name;
	bool portable;
	enum ring_clock clock;
};

static const struct backend variants[] = {
		{"section, tsc", false, RING_CLOCK_TSC},
		{"section, clock", false, RING_CLOCK_MONOTONIC},
		{"portable, tsc", true, RING_CLOCK_TSC},
		{"portable, clock", true, RING_CLOCK_MONOTONIC},
};
#define WAYS (sizeof(variants) / sizeof(variants[0]))

/* Maps for writing with this backend. NULL where it does not exist (no rseq, no TSC). */
static inline struct ring_producer *way_map(const struct backend *backend, int fd)
{
	struct ring_producer *producer;
	int rc;

	setenv("SIDE_RING_PORTABLE", backend->portable ? "1" : "0", 1);
	rc = ring_producer_map(fd, &producer);
	CHECK(rc == 0, "%s: ring_producer_map: %s", backend->name, strerror(-rc));
	if (ring_producer_is_portable(producer) != backend->portable) {
		/*
		 * Only the portable backend may replace another one, otherwise the test would run
		 * the wrong code.
		 */
		CHECK(!backend->portable, "portable was asked for");
		ring_producer_unmap(producer);
		return NULL;
	}
	return producer;
}

/* Creates memory for this backend. Returns 0, or -1 where the clock does not exist. */
static inline int way_create(const struct backend *backend, struct ring_geometry *geometry)
{
	int fd, rc;

	geometry->clock = backend->clock;
	rc = ring_memory_create(geometry, &fd);
	if (rc) {
		CHECK(rc == -ENOTSUP && backend->clock == RING_CLOCK_TSC, "ring_memory_create: %s",
				strerror(-rc));
		return -1;
	}
	return fd;
}

static inline bool test_is_long(void)
{
	const char *value = getenv("SIDE_TEST_LONG");

	return value && value[0] == '1';
}

/* A small generator with a state of its own: the same numbers in every run. */
static inline uint32_t test_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

#endif /* TESTS_RING_DECODE_H */
