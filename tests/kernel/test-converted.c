/* SPDX-License-Identifier: MIT */
/*
 * Records of the kernel, converted and written to a trace, from a simulated kernel: contexts and
 * levels of EventHeader records, the greatest number of descriptions, headers and packets of a
 * trace, and every failing allocation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "kernel-events/kernel-events.h"
#include "kernel-events/parts.h"
#include "kernel-events/tasks.h"
#include "played.h"

/* Static functions of the trace. */
#include "kernel-events/trace.c"

/* ---- a listener ---- */

static char heard[65536];
static bool plan_is_gp_only; /* a failing call may be the next one */
static int found_result;

static void hear(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void hear(const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(heard);

	va_start(arguments, format);
	if (!plan_is_gp_only)
		(void)vsnprintf(heard + used, sizeof(heard) - used, format, arguments);
	va_end(arguments);
}

static void assert_heard(const char *text)
{
	assert_string_equal(heard, text);
	*heard = '\0';
}

static int found(void *user, struct kernel_event *event)
{
	assert_ptr_equal(user, heard);
	hear("found %s:%s %d", event->system, event->name, event->level);
	for (uint32_t i = 0; event->context && i < event->context->member_count; i++)
		hear(" %s/%u", event->context->members[i].name,
				event->context->members[i].type->kind == CTF_ARRAY
						? (unsigned int)event->context->members[i]
										.type->length *
								event->context->members[i]
										.type->element->size
						: event->context->members[i].type->size);
	hear("%s;", event->has_carrier ? " another" : "");
	return found_result;
}

static void lose(void *user, struct kernel_event *event)
{
	assert_ptr_equal(user, heard);
	hear("gone %s;", event->name);
}

static void record_one(void *user, const struct kernel_event *event,
		const struct kernel_moment *moment, struct kernel_payload context,
		struct kernel_payload fields)
{
	assert_ptr_equal(user, heard);
	hear("%s %llu cpu %u %d/%d %s ", event->name, (unsigned long long)moment->ticks,
			moment->cpu, moment->pid, moment->tid, moment->comm);
	for (size_t i = 0; i < context.size; i++)
		hear("%02x", context.data[i]);
	hear("/");
	for (size_t i = 0; i < fields.size; i++)
		hear("%02x", fields.data[i]);
	hear(";");
}

static void lost(void *user, const struct kernel_event *event, uint32_t cpu, uint64_t count)
{
	assert_ptr_equal(user, heard);
	hear("lost %s %u %llu;", event ? event->name : "-", cpu, (unsigned long long)count);
}

static const struct kernel_listener listener = {
		.user = heard, .found = found, .gone = lose, .record = record_one, .lost = lost};

static int set_up(void **state)
{
	(void)state;
	played_begin();
	played_event("user_events", "app_L4K1", 60,
			"u8 eventheader_flags;8;1;0|u8 version;9;1;0|u16 id;10;2;0|u16 tag;12;2;0|u8 opcode;14;1;0|u8 level;15;1;0");
	*heard = '\0';
	found_result = 0;
	plan_is_gp_only = false;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(played_nr_open(), 0);
	played_end();
	return 0;
}

static struct kernel_record *listen_to(const char *pattern)
{
	const struct kernel_record_choice choice = {.pattern = pattern};
	const struct kernel_record_options options = {.choices = &choice,
			.nr_choices = pattern != NULL,
			.machine = true,
			.backend = KERNEL_RECORD_PERF,
			.buffer_size = 16 << 10,
			.clock = RING_CLOCK_MONOTONIC};
	struct error error;
	struct kernel_record *record;

	assert_int_equal(kernel_listen_open(&options, &listener, &record, &error), 0);
	return record;
}

/* ---- EventHeader ---- */

#define COMMON "\x3c\0\0\0\0\0\0\0" /* of the event with the number 60 */
#define METADATA(name) "\6\0\1\0" name "\0x\0\2"

static const char comm[COMM_SIZE] = "comm";

static void put_bytes(struct kernel_record *record, uint32_t cpu, const void *data, size_t size)
{
	kernel_put(record, cpu, 77, 5, 6, comm, data, size);
}

#define PUT(record, bytes) put_bytes(record, 1, bytes, sizeof(bytes) - 1)

static void test_contexts(void **unused)
{
	struct kernel_record *record = listen_to("user_events:*");

	(void)unused;
	assert_heard("found user_events:app_L4K1 -1;");
	PUT(record, COMMON "\6\0\0\0\0\0\0\4" METADATA("ev") "\x09");
	assert_heard("found user_events:app_L4K1:ev 6 another;app_L4K1:ev 77 cpu 1 5/6 comm /09;");
	/* Known: the record alone. */
	PUT(record, COMMON "\6\0\0\0\0\0\0\4" METADATA("ev") "\x0a");
	assert_heard("app_L4K1:ev 77 cpu 1 5/6 comm /0a;");
	/* Another level, another name and other numbers are other events. */
	PUT(record, COMMON "\6\0\0\0\0\0\0\1" METADATA("ev") "\x0b");
	assert_heard("found user_events:app_L4K1:ev 2 another;app_L4K1:ev 77 cpu 1 5/6 comm /0b;");
	PUT(record, COMMON "\6\0\0\0\0\0\0\4" METADATA("ew") "\x0c");
	assert_heard("found user_events:app_L4K1:ew 6 another;app_L4K1:ew 77 cpu 1 5/6 comm /0c;");
	PUT(record, COMMON "\6\1\3\2\5\4\6\4" METADATA("ev") "\x0d");
	assert_heard("found user_events:app_L4K1:ev 6 _event_id/16 _event_version/8 _event_tag/16 _event_opcode/8 another;"
		     "app_L4K1:ev 77 cpu 1 5/6 comm 030201050406/0d;");
	/* Each of the numbers alone is enough, and they are the same event. */
	PUT(record, COMMON "\6\1\0\0\0\0\0\4" METADATA("ev") "\1");
	PUT(record, COMMON "\6\0\1\0\0\0\0\4" METADATA("ev") "\1");
	PUT(record, COMMON "\6\0\0\0\1\0\0\4" METADATA("ev") "\1");
	PUT(record, COMMON "\6\0\0\0\0\0\1\4" METADATA("ev") "\1");
	assert_heard("app_L4K1:ev 77 cpu 1 5/6 comm 000001000000/01;app_L4K1:ev 77 cpu 1 5/6 comm 010000000000/01;"
		     "app_L4K1:ev 77 cpu 1 5/6 comm 000000010000/01;app_L4K1:ev 77 cpu 1 5/6 comm 000000000001/01;");
	/* One activity, and two. */
	PUT(record,
			COMMON "\6\0\0\0\0\0\0\4\x10\0\2\x80"
			       "0123456789abcdef" METADATA("ev") "\2");
	assert_heard("found user_events:app_L4K1:ev 6 _activity/128 another;"
		     "app_L4K1:ev 77 cpu 1 5/6 comm 30313233343536373839616263646566/02;");
	PUT(record,
			COMMON "\6\0\0\0\0\0\7\4\x20\0\2\x80"
			       "0123456789abcdefABCDEFGHIJKLMNOP" METADATA("ev") "\2");
	assert_heard("found user_events:app_L4K1:ev 6 _event_id/16 _event_version/8 _event_tag/16 _event_opcode/8 _activity/128 _related_activity/128 another;"
		     "app_L4K1:ev 77 cpu 1 5/6 comm 000000000007303132333435363738396162636465664142434445464748494a4b4c4d4e4f50/02;");
	assert_int_equal(record->summary.plain, 0);
	/* A record that cannot be decoded is kept as bytes. */
	PUT(record, COMMON "\6\0\0\0\0\0\0\4" METADATA("ev"));
	assert_heard("app_L4K1 77 cpu 1 5/6 comm /06000000000000040a000000060001006576007800"
		     "02;");
	assert_int_equal(record->summary.plain, 1);
	kernel_record_close(record);
}

static void test_levels(void **unused)
{
	static const int levels[] = {6, 2, 3, 4, 6, 7, 7, 7};
	struct kernel_record *record = listen_to("user_events:*");
	char bytes[] = COMMON "\6\0\0\0\0\0\0\4" METADATA("ev") "\x09";
	char expected[200];

	(void)unused;
	*heard = '\0';
	for (unsigned int i = 0; i < 8; i++) {
		bytes[15] = (char)i;
		put_bytes(record, 0, bytes, sizeof(bytes) - 1);
		(void)snprintf(expected, sizeof(expected),
				"found user_events:app_L4K1:ev %d another;app_L4K1:ev 77 cpu 0 5/6 comm /09;",
				levels[i]);
		assert_heard(expected);
	}
	kernel_record_close(record);
}

/* Invalid records, and records of an event that the listener does not want. */
static void test_ignored(void **unused)
{
	struct kernel_record *record = listen_to("sched:*");
	struct kernel_event_class *event_class = record->by_id[11];

	(void)unused;
	*heard = '\0';
	assert_non_null(event_class);
	put_bytes(record, 2, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14); /* there are two CPUs */
	put_bytes(record, 0, "\x0b\0\0\0\0\0\0", 7);
	put_bytes(record, 0, "\x0c\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	assert_heard("");
	assert_int_equal(event_class->received[0] + event_class->received[1], 0);
	put_bytes(record, 1, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	assert_heard("switch 77 cpu 1 5/6 comm /010203040506;");
	put_bytes(record, 1, "\x0b\0\0\0\0\0\0\0", 8);
	assert_heard("switch 77 cpu 1 5/6 comm /000000000000;");
	assert_int_equal(event_class->received[0], 0);
	assert_int_equal(event_class->received[1], 2);
	kernel_record_close(record);
	assert_heard("gone switch;");
	/* The listener does not want the event. */
	found_result = -EPERM;
	record = listen_to(NULL);
	{
		const struct kernel_record_choice choice = {.pattern = "sched:*"};
		struct error error;

		assert_int_equal(kernel_listen_choose(record, &choice, 1, &error), 0);
	}
	assert_heard("found sched:switch -1;");
	assert_int_equal(kernel_listen_classes(record), 0);
	put_bytes(record, 1, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	assert_heard("");
	kernel_record_close(record);
	assert_heard("");
}

/* 4096 descriptions of one tracepoint; records with others are bytes. */
static void test_classes(void **unused)
{
	struct kernel_record *record = listen_to("user_events:*");
	char bytes[] = COMMON "\6\0\0\0\0\0\0\4\x09\0\1\0evxxx\0x\0\2\x09";

	(void)unused;
	plan_is_gp_only = true;
	for (unsigned int i = 0; i < 4097; i++) {
		char name[4];

		if (i == 4095) {
			*heard = '\0';
			plan_is_gp_only = false;
		}
		(void)snprintf(name, sizeof(name), "%03x", i & 0xfff);
		memcpy(bytes + 22, name, 3);
		if (i == 4096)
			bytes[22] = 'z';
		put_bytes(record, 0, bytes, sizeof(bytes) - 1);
		if (i == 4095)
			assert_heard("found user_events:app_L4K1:evfff 6 another;app_L4K1:evfff 77 cpu 0 5/6 comm /09;");
	}
	assert_heard("app_L4K1 77 cpu 0 5/6 comm /06000000000000040e000000090001006576"
		     "7a303000780002"
		     "09;");
	assert_int_equal(record->summary.plain, 1);
	/* The known ones still are. */
	memcpy(bytes + 22, "fff", 3);
	put_bytes(record, 0, bytes, sizeof(bytes) - 1);
	assert_heard("app_L4K1:evfff 77 cpu 0 5/6 comm /09;");
	plan_is_gp_only = true;
	kernel_record_close(record);
}

/* ---- a trace ---- */

static unsigned int nr_traces;

static struct kernel_record *open_trace(const char *pattern, char *directory, size_t space)
{
	const struct kernel_record_choice choice = {.pattern = pattern};
	struct kernel_record_options options = {.choices = &choice,
			.nr_choices = 1,
			.machine = true,
			.backend = KERNEL_RECORD_PERF,
			.buffer_size = 16 << 10,
			.directory = directory,
			.hostname = "host",
			.clock = RING_CLOCK_MONOTONIC};
	struct error error;
	struct kernel_record *record = NULL;
	int ret;

	(void)snprintf(directory, space, "%s/trace-%u", played_root, nr_traces++);
	ret = kernel_record_open(&options, &record, &error);
	assert_true(ret == 0 || failing_name);
	assert_int_equal(!record, ret != 0);
	return record;
}

static void check_header(struct record_cpu *cpu, uint32_t id, uint64_t ticks, const void *expected,
		size_t size)
{
	size_t before = cpu->packet.size;

	assert_non_null(kernel_trace_write_header(cpu, id, ticks));
	assert_int_equal(cpu->packet.size - before, size);
	assert_memory_equal(cpu->packet.data + before, expected, size);
	cpu->last = ticks;
}

/* Small numbers shortly after one another take four bytes, all others thirteen. */
static void test_headers(void **unused)
{
	struct record_cpu cpu = {.last = 0};

	(void)unused;
	check_header(&cpu, 3, 0x102030405060708, "\x1f\3\0\0\0\x08\7\6\5\4\3\2\1", 13);
	check_header(&cpu, 29, 0x102030405060709, "\x3d\xe1\xc0\xa0", 4);
	check_header(&cpu, 30, 0x10203040506070a, "\x1f\x1e\0\0\0\x0a\7\6\5\4\3\2\1", 13);
	check_header(&cpu, 0, 0x10203040506070a + 0x7ffffff, "\x20\xe1\xc0\xa0", 4);
	check_header(&cpu, 1, 0x10203040506070a + 0x7ffffff + 0x8000000,
			"\x1f\1\0\0\0\x09\7\6\x15\4\3\2\1", 13);
	free(cpu.packet.data);
}

static void test_providers(void **unused)
{
	char text[300];

	(void)unused;
	assert_string_equal(kernel_trace_provider("app_L4K1:name", text, sizeof(text)), "app");
	assert_string_equal(kernel_trace_provider("a_b_L4K1:na_me", text, sizeof(text)), "a_b");
}

static void test_packets(void **unused)
{
	char directory[100];
	struct kernel_record *record = open_trace("sched:*", directory, sizeof(directory));
	const struct kernel_record_summary *summary;
	struct record_cpu *cpu = &record->cpus[1];
	unsigned int nr = 0;
	size_t size;

	(void)unused;
	put_bytes(record, 1, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	/* Process, thread and name, and the fields. */
	assert_int_equal(cpu->packet.size, 13 + 8 + 5 + 6);
	assert_memory_equal(cpu->packet.data + 13, "\5\0\0\0\6\0\0\0comm\0\1\2\3\4\5\6", 19);
	assert_int_equal(cpu->begin, 77);
	assert_int_equal(cpu->last, 77);
	/* An interrupted record gets the time of the one before it. */
	kernel_put(record, 1, 90, 5, 6, comm, (const uint8_t *)"\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6",
			14);
	assert_int_equal(cpu->last, 90);
	kernel_put(record, 1, 80, 5, 6, comm, (const uint8_t *)"\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6",
			14);
	assert_int_equal(cpu->last, 90);
	assert_int_equal(cpu->begin, 77);
	assert_int_equal(cpu->packet.size, 32 + 2 * (4 + 8 + 5 + 6));
	assert_memory_equal(cpu->packet.data + 32, "\x40\x0b\0\0", 4);
	assert_memory_equal(cpu->packet.data + 32 + 23, "\x40\x0b\0\0", 4);
	/* A name without a terminator has fifteen bytes. */
	kernel_put(record, 1, 90, 5, 6, "0123456789abcdef",
			(const uint8_t *)"\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	assert_memory_equal(cpu->packet.data + 32 + 46 + 4 + 8, "0123456789abcde\0\1\2", 18);
	/* A packet is written by the record after the one with which it is longer than 256 KiB. */
	for (size = 0; cpu->packet.size > size; nr++) {
		size = cpu->packet.size;
		assert_true(size <= (256 << 10) + 40);
		put_bytes(record, 1, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	}
	assert_true(size > 256 << 10);
	assert_true(size <= (256 << 10) + 23);
	assert_int_equal(cpu->packet.size, 32);
	/* It begins where the last one ended. */
	assert_int_equal(cpu->end, 90);
	assert_int_equal(cpu->begin, 90);
	assert_int_equal(record->cpus[0].packet.size, 0);
	/* Losses end a packet. */
	kernel_trace_count_lost(record, 1, 7);
	assert_int_equal(cpu->packet.size, 0);
	assert_int_equal(cpu->discarded, 7);
	assert_int_equal(cpu->written, 0);
	kernel_trace_count_lost(record, 0, 0);
	put_bytes(record, 1, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	kernel_trace_flush(record, 1);
	assert_int_equal(cpu->written, 7);
	/* Half a record is dropped, and the problem is reported. */
	put_bytes(record, 1, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	size = cpu->packet.size;
	{
		uint64_t events = record->summary.events;

		cpu->packet.failed = true;
		put_bytes(record, 1, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
		assert_int_equal(cpu->packet.size, size);
		assert_int_equal(record->summary.events, events);
		assert_int_equal(events, nr + 4 + 2);
	}
	assert_string_equal(record->problem, "");
	kernel_trace_flush(record, 1);
	assert_false(cpu->packet.failed);
	assert_string_equal(record->problem, "records were lost: out of memory");
	assert_string_equal(record->problem_hint, "");
	kernel_trace_problem(record, "another one", "and a hint");
	summary = kernel_record_stop(record, NULL);
	assert_string_equal(summary->problem, "records were lost: out of memory");
	assert_string_equal(summary->problem_hint, "");
	assert_true(summary->bytes > 256 << 10);
	kernel_record_close(record);
}

static __attribute__((noinline)) void report(struct kernel_record *record, const char *text)
{
	kernel_trace_problem(record, text, text);
}

static void test_problem(void **unused)
{
	static struct kernel_record record;
	char text[ERROR_TEXT_SIZE + ERROR_HINT_SIZE];

	(void)unused;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	report(&record, text);
	assert_int_equal(strlen(record.problem), ERROR_TEXT_SIZE - 1);
	assert_int_equal(strlen(record.problem_hint), ERROR_HINT_SIZE - 1);
}

/* More losses than the initial array has space for: each with its CPU, event and number. */
static void test_losses(void **unused)
{
	const struct kernel_record_summary *summary;
	struct kernel_record *record;
	char directory[100], name[16];
	uint64_t sum = 0;

	(void)unused;
	for (unsigned int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "e%u", i);
		played_event("many", name, 100 + i, "u8 x;8;1;0");
	}
	record = open_trace("many:*", directory, sizeof(directory));
	for (unsigned int i = 0; i < 20; i++) {
		played_find(100 + i, 1)->lost = 1000 + i;
		sum += 1000 + i;
	}
	played_find(107, 0)->lost = 3;
	summary = kernel_record_stop(record, NULL);
	assert_int_equal(summary->lost, sum + 3);
	assert_int_equal(summary->nr_losses, 21);
	assert_string_equal(summary->losses[0].ring, "cpu_0");
	assert_string_equal(summary->losses[0].event, "many:e7");
	assert_int_equal(summary->losses[0].count, 3);
	for (unsigned int i = 1; i < 21; i++) {
		(void)snprintf(name, sizeof(name), "many:e%u",
				(unsigned int)summary->losses[i].count - 1000);
		assert_string_equal(summary->losses[i].event, name);
		assert_string_equal(summary->losses[i].ring, "cpu_1");
	}
	assert_int_equal(record->cpus[0].discarded, 3);
	assert_int_equal(record->cpus[0].written, 3);
	assert_int_equal(record->cpus[1].discarded, sum);
	assert_int_equal(record->cpus[1].written, sum);
	kernel_record_close(record);
}

/* ---- filters for the kernel ---- */

static void choose_texts(struct kernel_record *record, const size_t *sizes, size_t nr)
{
	static char texts[16][1200];
	struct kernel_record_choice choices[16];
	struct error error;

	for (size_t i = 0; i < nr; i++) {
		char text[1100];

		memset(text, 'a' + (int)i, sizeof(text));
		text[sizes[i]] = '\0';
		(void)snprintf(texts[i], sizeof(texts[i]), "t == \"%s\"", text);
		choices[i] = (struct kernel_record_choice){
				.pattern = "long:one", .expression = texts[i]};
	}
	assert_int_equal(kernel_listen_choose(record, choices, nr, &error), 0);
}

/* The length of the filter of the event, or -1: the kernel gets no request. */
static int filter_of_texts(const size_t *sizes, size_t nr)
{
	struct kernel_record *record = listen_to(NULL);
	struct error error;
	const struct kernel_event_class *event_class;
	int length;

	choose_texts(record, sizes, nr);
	event_class = record->by_id[61];
	assert_non_null(event_class);
	assert_int_equal(kernel_listen_switch(record, &event_class->event, true, &error), 0);
	length = event_class->filter ? (int)strlen(event_class->filter) : -1;
	assert_int_equal(kernel_listen_filtered(record), length >= 0);
	kernel_record_close(record);
	return length;
}

/* Each text of N bytes is `t == "..."` with N + 7 bytes, in brackets and separated by ` || `. */
static void test_filters(void **unused)
{
	size_t sizes[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

	(void)unused;
	played_event("long", "one", 61, "char t[2000];8;2000;0");
	assert_int_equal(filter_of_texts(sizes, 1), 10);
	assert_int_equal(filter_of_texts(sizes, 8), 8 * 10 + 7 * 4);
	assert_int_equal(filter_of_texts(sizes, 9), -1);
	sizes[0] = 1023 - 7;
	assert_int_equal(filter_of_texts(sizes, 1), 1025);
	sizes[0]++;
	assert_int_equal(filter_of_texts(sizes, 1), -1);
	sizes[0] = sizes[1] = sizes[2] = 1023 - 7;
	sizes[3] = 3899 - 3 * 1025 - 3 * 4 - 9;
	assert_int_equal(filter_of_texts(sizes, 4), 3899);
	sizes[3]++;
	assert_int_equal(filter_of_texts(sizes, 4), -1);
	*heard = '\0';
}

/* ---- calls that fail ---- */

static void put_sample(int cpu, const void *raw, size_t size)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t time, period;
		uint32_t size;
		uint8_t raw[100];
	} __attribute__((packed)) sample = {
			.header = {.type = PERF_RECORD_SAMPLE, .size = (uint16_t)(36 + size)},
			.pid = 5000001,
			.tid = 5000002,
			.time = UINT64_C(1) << 62,
			.period = 1,
			.size = (uint32_t)size,
	};

	memcpy(sample.raw, raw, size);
	if (played_buffer(cpu, false))
		played_put(played_buffer(cpu, false), &sample, 36 + size);
}

static void put_comm(int cpu)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char comm[16];
		uint32_t again[2];
		uint64_t when;
	} record = {.header = {.type = PERF_RECORD_COMM, .size = sizeof(record)},
			.pid = 5000001,
			.tid = 5000002,
			.comm = "named",
			.when = 1};

	if (played_buffer(cpu, true))
		played_put(played_buffer(cpu, true), &record, sizeof(record));
}

static bool is_memory(const struct error *error)
{
	if (error->code != -ENOMEM)
		print_message("call %u, %s: %d %s\n", failing_seen, failing_name, error->code,
				error->text);
	return error->code == -ENOMEM && *error->text;
}

static const char big[] = COMMON "\6\0\1\0\0\0\0\4\x10\0\2\x80"
				 "0123456789abcdef" METADATA("ev") "\2";

/* Runs the whole life of a listener. Each error is "out of memory". */
static void do_listen(enum kernel_record_backend backend)
{
	const struct kernel_record_options options = {.machine = true,
			.backend = backend,
			.buffer_size = 16 << 10,
			.clock = RING_CLOCK_MONOTONIC};
	const struct kernel_record_choice first[] = {{.pattern = "sched:*", .expression = "a == 7"},
			{.pattern = "user_events:*"}},
					  second[] = {{.pattern = "sched:*",
								      .expression = "a == 7"},
							  {.pattern = "sched:switch",
									  .expression = "b < 9"},
							  {.pattern = "user_events:*"}};
	struct error error = {.code = 0};
	struct kernel_record *record = NULL;
	int ret = kernel_listen_open(&options, &listener, &record, &error);
	struct kernel_event_class *event_class;

	assert_int_equal(!record, ret != 0);
	if (ret) {
		assert_int_equal(ret, -ENOMEM);
		assert_true(is_memory(&error));
		return;
	}
	/* The simulated instance has files of one of them only. */
	if (kernel_listen_choose(record, first, backend == KERNEL_RECORD_PERF ? 2 : 1, &error))
		assert_true(is_memory(&error));
	for (event_class = record->event_classes; event_class; event_class = event_class->next)
		if (kernel_listen_switch(record, &event_class->event, true, &error)) {
			assert_true(is_memory(&error));
			assert_false(event_class->on);
		}
	put_comm(1);
	put_sample(1, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	put_sample(1, big, sizeof(big) - 1);
	(void)kernel_listen_drain(record, true);
	if (kernel_listen_choose(record, second, backend == KERNEL_RECORD_PERF ? 3 : 2, &error))
		assert_true(is_memory(&error));
	(void)kernel_listen_scan(record);
	(void)kernel_listen_end(record);
	kernel_record_close(record);
}

static void do_trace(void)
{
	char directory[100];
	struct kernel_record *record;
	struct kernel_event_class *event_class;

	record = open_trace("*:*", directory, sizeof(directory));
	if (!record)
		return;
	put_comm(1);
	for (event_class = record->event_classes; event_class; event_class = event_class->next)
		if (played_find(event_class->id, 0))
			played_find(event_class->id, 0)->lost = 5;
	put_bytes(record, 1, "\x0b\0\0\0\0\0\0\0\1\2\3\4\5\6", 14);
	put_bytes(record, 1, "\x0c\0\0\0\0\0\0\0text", 12);
	put_bytes(record, 0, big, sizeof(big) - 1);
	(void)kernel_record_stop(record, NULL);
	kernel_record_close(record);
}

static void do_names(void)
{
	static const char *const texts[] = {"sched:*", "raw:*"};
	struct error error;
	int ret = kernel_record_each(texts, 2, NULL, NULL, &error);

	assert_true(ret == -ENOMEM && is_memory(&error));
}

static void each_fails(void (*act)(void), unsigned int least)
{
	unsigned int number = 0;
	bool has_failed;

	plan_is_gp_only = true;
	do {
		/* The number of calls does not depend on the machine. */
		played_no_processes = true;
		failing_arm(++number);
		act();
		has_failed = failing_has_failed();
		assert_int_equal(played_nr_open(), 0);
		played_nr_perfs = 0;
		*played_log = '\0';
	} while (has_failed);
	assert_true(number > least);
}

static void listen_perf(void)
{
	do_listen(KERNEL_RECORD_PERF);
}

static void listen_instance(void)
{
	do_listen(KERNEL_RECORD_TRACEFS);
}

static void test_failing_perf(void **unused)
{
	(void)unused;
	each_fails(listen_perf, 80);
}

static void test_failing_instance(void **unused)
{
	(void)unused;
	each_fails(listen_instance, 40);
}

static void test_failing_trace(void **unused)
{
	(void)unused;
	each_fails(do_trace, 100);
}

/* The first two calls. */
static void test_failing_names(void **unused)
{
	(void)unused;
	for (unsigned int i = 1; i <= 2; i++) {
		failing_arm(i);
		do_names();
		assert_true(failing_has_failed());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
			TEST(test_contexts),
			TEST(test_levels),
			TEST(test_ignored),
			TEST(test_classes),
			TEST(test_headers),
			TEST(test_providers),
			TEST(test_packets),
			TEST(test_problem),
			TEST(test_losses),
			TEST(test_filters),
			TEST(test_failing_perf),
			TEST(test_failing_instance),
			TEST(test_failing_trace),
			TEST(test_failing_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
