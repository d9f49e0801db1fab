/* SPDX-License-Identifier: MIT */
/* A trace of one stream, for tests of senders: packets of numbered events, CTF 1.8 or 2. */
#ifndef TESTS_RELAY_TRACE_H
#define TESTS_RELAY_TRACE_H

#include <stdint.h>
#include <string.h>

#include <side/abi/event-description.h>

#include "ctf/ctf.h"

#define TRACE_TICK0 UINT64_C(1000000000)
#define TRACE_RECORD 17 /* tag, id, time, number */

static const struct side_event_field trace_fields[] = {{
		.field_name = SIDE_PTR_INIT("number"),
		.side_type = {.type = SIDE_ENUM_INIT(SIDE_TYPE_U32),
				.u.side_integer = {.integer_size = 4,
						.signedness = false,
						.byte_order = SIDE_ENUM_INIT(
								SIDE_TYPE_BYTE_ORDER_HOST)}},
}};

static inline struct ctf_writer *trace_create(const char *dir, enum ctf_format format)
{
	struct side_event_description event = {
			.struct_size = sizeof(event),
			.provider_name = SIDE_PTR_INIT("test"),
			.event_name = SIDE_PTR_INIT("number"),
			.fields = {.elements = SIDE_PTR_INIT(trace_fields), .length = 1},
			.nr_side_type_label = _NR_SIDE_TYPE_LABEL,
			.nr_side_attr_type = _NR_SIDE_ATTR_TYPE,
			.loglevel = SIDE_ENUM_INIT(6),
	};
	const struct ctf_writer_config config = {
			.dir = dir,
			.clock = {.frequency = 2000000000, .offset_s = 1600000000, .offset = 50},
			.hostname = "host",
			.procname = "program",
			.vpid = 4711,
			.format = format,
	};
	struct ctf_writer *writer;
	struct error error;

	assert_int_equal(ctf_writer_create(&config, &writer, &error), 0);
	assert_int_equal(ctf_writer_add_event(writer, 0, 0, &event, NULL, 0, &error), 0);
	return writer;
}

static inline struct ctf_stream *trace_open_stream(struct ctf_writer *writer, uint32_t ring)
{
	struct ctf_stream *stream;
	struct error error;

	assert_int_equal(ctf_writer_open_stream(writer, 0, ring, TRACE_TICK0, &stream, &error), 0);
	return stream;
}

/* A packet from `tick` on, one tick for each event. */
static inline void trace_append(
		struct ctf_stream *stream, uint32_t events, uint64_t tick, uint64_t discarded)
{
	unsigned char records[100 * TRACE_RECORD], *at = records;
	struct ctf_span span = {records, events * TRACE_RECORD, tick, tick + events, discarded};
	struct error error;
	const uint32_t id = 0;

	for (uint32_t i = 0; i < events; i++, at += TRACE_RECORD) {
		uint64_t time = tick + i;

		at[0] = 31;
		memcpy(at + 1, &id, sizeof(id));
		memcpy(at + 5, &time, sizeof(time));
		memcpy(at + 13, &i, sizeof(i));
	}
	assert_int_equal(ctf_stream_append(stream, &span, &error), 0);
}

#endif
