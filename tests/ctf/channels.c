/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace of four channels with contexts, from records that are made by hand as recording.md
 * defines them: ctf-channels DIR 1|2 LEVEL (CTF 1.8 or CTF 2; zstd level, 0: uncompressed).
 *
 *   plain    per CPU, without contexts: `ids` of the events are those of the other channels, too
 *   threads  per thread; every context that is a number or a text, and two of the application
 *   both     per CPU; one context, and others of single events
 *   idle     only contexts: no event, no file
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/ctf.h"
#include "types.h"
#include "protocol/context.h"

#define TICK0 UINT64_C(1000000000000000)

static const struct side_event_field number_fields[] = {{
		.field_name = SIDE_PTR_INIT("number"),
		.side_type = {.type = SIDE_ENUM_INIT(SIDE_TYPE_U32),
				.u.side_integer = {.integer_size = 4,
						.signedness = false,
						.byte_order = SIDE_ENUM_INIT(
								SIDE_TYPE_BYTE_ORDER_HOST)}},
}};

static struct side_event_description event_named(const char *name)
{
	struct side_event_description event = {
			.struct_size = sizeof(event),
			.provider_name = SIDE_PTR_INIT("test"),
			.fields = {.elements = SIDE_PTR_INIT(number_fields), .length = 1},
			.nr_side_type_label = _NR_SIDE_TYPE_LABEL,
			.nr_side_attr_type = _NR_SIDE_ATTR_TYPE,
			.loglevel = SIDE_ENUM_INIT(6),
	};

	side_ptr_set(event.event_name, name);
	return event;
}

static unsigned char records[4096];
static size_t used;

static void put(const void *bytes, size_t size)
{
	memcpy(records + used, bytes, size);
	used += size;
}

static void put_u8(uint8_t number)
{
	put(&number, sizeof(number));
}

static void put_u32(uint32_t number)
{
	put(&number, sizeof(number));
}

static void put_u64(uint64_t number)
{
	put(&number, sizeof(number));
}

static void put_text(const char *text)
{
	put(text, strlen(text) + 1);
}

static void put_double(double number)
{
	put(&number, sizeof(number));
}

/* The extended form. */
static void put_header(uint32_t id, uint64_t tick)
{
	put_u8(31); /* The tag alone. */
	put_u32(id);
	put_u64(tick);
}

static void check(int ret, const struct error *error)
{
	if (!ret)
		return;
	fprintf(stderr, "%s\n", error->text);
	exit(1);
}

static uint32_t parse(const char *list, struct context_spec *specs)
{
	struct context_error error;
	int count = context_parse_list(list, specs, 64, &error);

	if (count >= 0)
		return (uint32_t)count;
	fprintf(stderr, "%s\n", error.text);
	exit(1);
}

static void append(struct ctf_writer *writer, uint32_t channel, uint32_t ring, uint64_t tick)
{
	struct ctf_span span = {records, used, tick, tick + 9, 0};
	struct ctf_stream *stream;
	struct error error;

	check(ctf_writer_open_stream(writer, channel, ring, TICK0, &stream, &error), &error);
	check(ctf_stream_append(stream, &span, &error), &error);
	used = 0;
}

/* The contexts of the channel `threads`, in their order. */
static const char thread_contexts[] =
		"vpid,vtid,tid,procname,thread_name,cpu_id,ip,uid,gid,net_ns,cgroup,"
		"perf:thread:cpu-cycles,$app.shop:request,$app.shop:user";

static void put_thread_contexts(unsigned int round)
{
	put_u32(4711);
	put_u32(4712);
	put_u32(5000);
	put_text("name \"x\"");
	put_text("worker");
	put_u32(3);
	put_u64(0xfedcba9876543210);
	put_u32(1000);
	put_u32(UINT32_MAX);
	put_u64(4026531840);
	put_text("/user.slice");
	put_u64(UINT64_MAX);
	put_u8((uint8_t)round);
	switch (round) {
	case CONTEXT_TAG_INT64: put_u64((uint64_t)-7); break;
	case CONTEXT_TAG_UINT64: put_u64(UINT64_MAX); break;
	case CONTEXT_TAG_FLOAT64: put_double(0.5); break;
	case CONTEXT_TAG_STRING: put_text("caf\xc3\xa9"); break;
	case CONTEXT_TAG_BOOLEAN: put_u8(1); break;
	default: break;
	}
	put_u8(CONTEXT_TAG_STRING);
	put_text("eva");
}

int main(int argc, char **argv)
{
	static struct context_spec threads[64], both[64], own[64];
	struct ctf_channel_config channels[] = {
			{.name = "plain"},
			{.name = "threads", .placement = CTF_PER_THREAD, .contexts = threads},
			{.name = "both", .contexts = both},
			{.name = "idle", .contexts = own},
	};
	struct ctf_writer_config config = {
			.clock = {.frequency = 1000000000, .offset_s = 1600000000},
			.procname = "channels",
			.vpid = 4711,
			.channels = channels,
			.nr_channels = 4,
	};
	struct side_event_description event = event_named("number"), other = event_named("own");
	struct ctf_lost lost = {"threads_17", "test:number", "full", 5};
	struct ctf_writer *writer;
	struct error error;
	uint32_t own_count;

	if (argc != 4)
		return 2;
	config.dir = argv[1];
	config.format = *argv[2] == '2' ? CTF_FORMAT_2 : CTF_FORMAT_1;
	config.compression = atoi(argv[3]);
	channels[1].nr_contexts = parse(thread_contexts, threads);
	channels[2].nr_contexts = parse("vtid", both);
	own_count = channels[3].nr_contexts = parse("$app.shop:request,procname", own);
	check(ctf_writer_create(&config, &writer, &error), &error);
	for (uint32_t i = 0; i < 3; i++)
		check(ctf_writer_add_event(writer, i, 0, &event, NULL, 0, &error), &error);
	check(ctf_writer_add_event(writer, 2, 40, &other, own, own_count, &error), &error);
	check(ctf_writer_add_event(writer, 1, 7, &other, own, own_count, &error), &error);
	if (ctf_writer_add_event(writer, 2, 40, &other, NULL, 0, &error) != -EEXIST ||
			ctf_writer_add_event(writer, 4, 1, &other, NULL, 0, &error) != -EINVAL)
		return 1;

	put_header(0, TICK0 + 1);
	put_u32(1);
	append(writer, 0, 2, TICK0 + 1);
	for (unsigned int round = 0; round <= CONTEXT_TAG_BOOLEAN; round++) {
		put_header(0, TICK0 + 10 + round);
		put_thread_contexts(round);
		put_u32(10 + round);
	}
	append(writer, 1, 17, TICK0 + 10);
	put_header(0, TICK0 + 20);
	put_u32(4713);
	put_u32(20);
	put_header(40, TICK0 + 21);
	put_u32(4714);
	put_u8(CONTEXT_TAG_INT64);
	put_u64(5);
	put_text("both");
	put_u32(21);
	append(writer, 2, 0, TICK0 + 20);
	check(ctf_writer_lost(writer, TICK0 + 40, &lost, 1, &error), &error);
	check(ctf_writer_set_clock(writer, &config.clock, &error), &error);
	check(ctf_writer_close(writer, &error), &error);
	return 0;
}
