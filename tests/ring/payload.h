/* SPDX-License-Identifier: MIT */
/*
 * Records that identify themselves: publisher, number, size, and bytes that follow from these. And
 * a walk over the records of a span.
 */
#ifndef TESTS_RING_PAYLOAD_H
#define TESTS_RING_PAYLOAD_H

#include "decode.h"

#define BODY_MAX 6000u

/* The beginning of each payload. */
struct body {
	uint32_t size;
	uint32_t stream;
	uint64_t sequence;
};

/* Ids of all three forms, and payloads that are short most of the time. */
static inline uint32_t body_id(uint32_t stream, uint64_t sequence)
{
	return sequence % 3 == 0            ? stream % 30
			: sequence % 3 == 1 ? 1000 + stream
					    : 100000 + stream;
}

static inline uint32_t body_size(uint64_t sequence, uint32_t most)
{
	uint32_t mixed = (uint32_t)(sequence * 2654435761u >> 7);
	uint32_t size = sequence % 61 ? mixed % 100 : mixed % BODY_MAX;

	return (uint32_t)sizeof(struct body) + (size < most ? size : most);
}

static inline unsigned char body_byte(uint32_t stream, uint64_t sequence, uint32_t at)
{
	return (unsigned char)(sequence * 7 + stream * 91 + at * 3);
}

/* Builds it and returns its size. `most`: maximum number of bytes after struct body. */
static inline uint32_t body_make(
		unsigned char *payload, uint32_t stream, uint64_t sequence, uint32_t most)
{
	struct body body = {body_size(sequence, most), stream, sequence};

	memcpy(payload, &body, sizeof(body));
	for (uint32_t at = sizeof(body); at < body.size; at++)
		payload[at] = body_byte(stream, sequence, at);
	return body.size;
}

/* Checks one record, and returns its contents. */
static inline struct body body_check(const struct decoded *record, uint32_t most)
{
	struct body body;

	memcpy(&body, record->payload, sizeof(body));
	CHECK(record->id == body_id(body.stream, body.sequence), "id %u", record->id);
	CHECK(body.size == body_size(body.sequence, most), "size %u", body.size);
	for (uint32_t at = sizeof(body); at < body.size; at++)
		CHECK(record->payload[at] == body_byte(body.stream, body.sequence, at),
				"stream %u, number %lu, byte %u", body.stream, body.sequence, at);
	return body;
}

/*
 * Calls see(user, body, timestamp) for each record of a span, and checks the words of the span.
 * `time`: of the previous record, which has the upper bits of the first one's time if that is not
 * extended.
 */
static inline void span_walk(const struct ring_span *span, uint64_t time, uint32_t most,
		void (*see)(void *user, const struct body *body, uint64_t timestamp), void *user)
{
	const unsigned char *at = span->data, *end = at + span->size;

	for (bool first = true; at < end; first = false) {
		struct decoded record = decode_header(at, time);
		struct body body = body_check(&record, most);

		CHECK(record.timestamp >= time, "time runs back");
		CHECK(!first || record.timestamp == span->first_timestamp, "first time");
		CHECK(record.timestamp <= span->end_timestamp, "end time");
		time = record.timestamp;
		see(user, &body, record.timestamp);
		at = record.payload + body.size;
	}
	CHECK(at == end, "the span does not end with a record");
}

#endif /* TESTS_RING_PAYLOAD_H */
