/* SPDX-License-Identifier: MIT */
/* A trace of ascending numbers, written by the writer and read by the reader (cmocka). */
#ifndef TESTS_CTF_NUMBERS_H
#define TESTS_CTF_NUMBERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctf/ctf.h"
#include "scratch.h"
#include "types.h"

#define TICK0 UINT64_C(5000000000)

/* A test of zstd frames defines it before it includes this file. */
#ifndef NUMBERS_COMPRESSION
#define NUMBERS_COMPRESSION 0
#endif

static const struct side_event_field number_fields[] = {FIELD("n", T_U(32, HOST))};

static struct side_event_description number_event = {
		.struct_size = sizeof(struct side_event_description),
		.provider_name = SIDE_PTR_INIT("test"),
		.event_name = SIDE_PTR_INIT("number"),
		.fields = LIST(number_fields),
		.nr_side_type_label = _NR_SIDE_TYPE_LABEL,
		.nr_side_attr_type = _NR_SIDE_ATTR_TYPE,
		.loglevel = SIDE_ENUM_INIT(SIDE_LOGLEVEL_INFO),
};

struct fixture {
	char scratch[64];
	char dir[96];
	struct ctf_writer *writer;
	struct ctf_stream *stream;
	struct error error;
};

static inline int create(struct fixture *f, struct ctf_clock clock)
{
	const struct ctf_writer_config config = {
			.dir = f->dir,
			.clock = clock,
			.hostname = "host",
			.procname = "name\"\\\n\xff",
			.exe = "/bin/true",
			.vpid = 12,
			.compression = NUMBERS_COMPRESSION,
	};

	return ctf_writer_create(&config, &f->writer, &f->error);
}

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct ctf_clock clock = {.frequency = 1000000000, .offset_s = 1000};

	scratch_make(f->scratch);
	snprintf(f->dir, sizeof(f->dir), "%s/trace", f->scratch);
	assert_int_equal(create(f, clock), 0);
	assert_int_equal(ctf_writer_add_event(f->writer, 0, 7, &number_event, NULL, 0, &f->error),
			0);
	assert_int_equal(ctf_writer_open_stream(f->writer, 0, 2, TICK0, &f->stream, &f->error), 0);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->writer)
		ctf_writer_close(f->writer, NULL);
	scratch_delete(f->scratch);
	free(f);
	return 0;
}

static inline void close_writer(struct fixture *f)
{
	assert_int_equal(ctf_writer_close(f->writer, &f->error), 0);
	f->writer = NULL;
}

/* Records of test:number in the extended form, one a tick. */
static inline int append(struct fixture *f, uint64_t tick, uint32_t first, uint32_t count,
		uint64_t discarded)
{
	unsigned char *records = malloc(17 * (size_t)count + 1);
	struct ctf_span span = {
			.records = records,
			.size = 17 * (size_t)count,
			.timestamp_begin = tick,
			.timestamp_end = tick + (count ? count - 1 : 0),
			.events_discarded = discarded,
	};
	int ret;

	for (uint32_t i = 0; i < count; i++) {
		unsigned char *at = records + 17 * i;
		uint64_t time = tick + i;
		uint32_t id = 7, number = first + i;

		at[0] = 31;
		memcpy(at + 1, &id, 4);
		memcpy(at + 5, &time, 8);
		memcpy(at + 13, &number, 4);
	}
	ret = ctf_stream_append(f->stream, &span, &f->error);
	free(records);
	return ret;
}

/* What a reader finds: the numbers of events in order, and everything else as text. */
struct found {
	uint32_t events;
	uint32_t next;
	int64_t first_ns;
	int64_t last_ns;
	uint64_t discarded;
	uint32_t discarded_items;
	uint32_t discarded_after; /* Events before the first loss. */
	uint32_t damages;
	char damage[1024];
	uint32_t notes;
	char note[1024];
	uint32_t lost_records;
	uint64_t lost;
};

static inline void take(struct found *found, const struct ctf_item *item)
{
	const struct ctf_value *number;

	switch (item->kind) {
	case CTF_ITEM_EVENT:
		if (strcmp(item->event->name, "side:lost") == 0) {
			found->lost_records++;
			found->lost += ctf_value_member(item->fields, "_count")->u;
			break;
		}
		assert_string_equal(item->event->name, "test:number");
		number = ctf_value_member(item->fields, "_n");
		assert_int_equal(number->u, found->next);
		found->next++;
		if (!found->events++)
			found->first_ns = item->ns;
		found->last_ns = item->ns;
		assert_int_equal(item->stream->cpu, 2);
		break;
	case CTF_ITEM_DISCARDED:
		if (!found->discarded_items++)
			found->discarded_after = found->events;
		found->discarded += item->count;
		break;
	case CTF_ITEM_LOST_PACKETS: fail_msg("lost packets"); break;
	case CTF_ITEM_DAMAGE:
		found->damages++;
		snprintf(found->damage, sizeof(found->damage), "%s", item->text);
		break;
	case CTF_ITEM_NOTE:
		found->notes++;
		snprintf(found->note, sizeof(found->note), "%s", item->text);
		break;
	}
}

static inline struct found read_all(const struct fixture *f)
{
	struct found found = {0};
	struct ctf_reader *reader;
	struct error error;
	struct ctf_item item;

	if (ctf_reader_open(f->dir, &reader, &error))
		fail_msg("%s", error.text);
	while (ctf_reader_next(reader, &item) > 0)
		take(&found, &item);
	ctf_reader_close(reader);
	return found;
}

#endif /* TESTS_CTF_NUMBERS_H */
