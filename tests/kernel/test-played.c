/* SPDX-License-Identifier: MIT */
/*
 * Events of the kernel as a listener gets them and as a trace has them, by both methods, from a
 * simulated kernel: each request that the kernel gets, each record that it returns, refusals,
 * losses, and what is released.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel-events/kernel-events.h"
#include "kernel-events/parts.h"
#include "kernel-events/tasks.h"
#include "played.h"
#include "protocol/kernel-notice.h"

/* ---- a listener ---- */

static char heard[32768];
static uint64_t base; /* times are shown from here */
static int found_result;

__attribute__((format(printf, 1, 2))) static void hear(const char *format, ...)
{
	va_list arguments;
	size_t used = strlen(heard);

	va_start(arguments, format);
	(void)vsnprintf(heard + used, sizeof(heard) - used, format, arguments);
	va_end(arguments);
}

static void hear_bytes(struct kernel_payload bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		hear("%02x", bytes.data[i]);
}

static int found(void *user, struct kernel_event *event)
{
	assert_ptr_equal(user, heard);
	hear("found %s:%s level %d members %u;", event->system, event->name, event->level,
			event->fields ? event->fields->member_count : 0);
	return found_result;
}

static void gone(void *user, struct kernel_event *event)
{
	assert_ptr_equal(user, heard);
	hear("gone %s:%s;", event->system, event->name);
}

static void record_one(void *user, const struct kernel_event *event,
		const struct kernel_moment *moment, struct kernel_payload context,
		struct kernel_payload fields)
{
	assert_ptr_equal(user, heard);
	hear("%s:%s %lld cpu %u %d/%d %s ", event->system, event->name,
			(long long)(moment->ticks - base), moment->cpu, moment->pid, moment->tid,
			moment->comm);
	hear_bytes(context);
	hear("/");
	hear_bytes(fields);
	hear(";");
}

static void lost(void *user, const struct kernel_event *event, uint32_t cpu, uint64_t count)
{
	assert_ptr_equal(user, heard);
	hear("lost %s cpu %u %llu;", event ? event->name : "-", cpu, (unsigned long long)count);
}

static const struct kernel_listener listener = {
		.user = heard, .found = found, .gone = gone, .record = record_one, .lost = lost};

static void assert_heard(const char *text)
{
	assert_string_equal(heard, text);
	*heard = '\0';
}

static void assert_asked(const char *text)
{
	assert_string_equal(played_log, text);
	*played_log = '\0';
}

static const struct kernel_event *wanted_event;
static const char *wanted_name;
static bool wanted_on;

static void see(void *user, const struct kernel_event *event, bool on)
{
	(void)user;
	if (!strcmp(event->name, wanted_name)) {
		wanted_event = event;
		wanted_on = on;
	}
}

static const struct kernel_event *event_named(struct kernel_record *record, const char *name)
{
	wanted_event = NULL;
	wanted_on = false;
	wanted_name = name;
	kernel_listen_each(record, see, NULL);
	return wanted_event;
}

/* ---- records of perf ---- */

struct sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time, period;
	uint32_t size;
	uint16_t id, flags;
	int32_t common_pid;
	uint8_t fields[16];
} __attribute__((packed));

#define SAMPLE_BEFORE (8 + 28 + 8)

static void put_sample(int cpu, uint64_t id, uint64_t time, int pid, int tid, const void *fields,
		size_t size)
{
	struct sample sample = {
			.header = {.type = PERF_RECORD_SAMPLE,
					.size = (uint16_t)(SAMPLE_BEFORE + size)},
			.pid = (uint32_t)pid,
			.tid = (uint32_t)tid,
			.time = time,
			.period = 1,
			.size = (uint32_t)(8 + size),
			.id = (uint16_t)id,
			.common_pid = 5000099,
	};

	memcpy(sample.fields, fields, size);
	played_put(played_buffer(cpu, false), &sample, SAMPLE_BEFORE + size);
}

static void put_lost(int cpu, uint64_t count)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} record = {{.type = PERF_RECORD_LOST, .size = 24}, 77, count};

	played_put(played_buffer(cpu, false), &record, sizeof(record));
}

struct name {
	struct perf_event_header header;
	uint32_t argv[4];
	uint64_t time;
	uint32_t pid, tid;
	uint64_t when;
};

static void put_task(int cpu, uint32_t type, uint32_t pid, uint32_t second, uint32_t tid,
		uint32_t fourth, uint64_t when)
{
	const struct name record = {{.type = type, .size = sizeof(record)},
			{pid, second, tid, fourth}, when, pid, tid, when};

	played_put(played_buffer(cpu, true), &record, sizeof(record));
}

static void put_comm(int cpu, uint32_t pid, uint32_t tid, const char *comm, uint64_t when)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char comm[16];
		uint32_t again[2];
		uint64_t when;
	} record = {.header = {.type = PERF_RECORD_COMM, .size = sizeof(record)},
			.pid = pid,
			.tid = tid,
			.when = when};

	memcpy(record.comm, comm, strlen(comm));
	played_put(played_buffer(cpu, true), &record, sizeof(record));
}

static int set_up(void **state)
{
	(void)state;
	played_begin();
	*heard = '\0';
	found_result = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(played_nr_open(), 0);
	played_end();
	return 0;
}

/* ---- perf, a listener that chooses ---- */

static struct kernel_record *listen_to(enum kernel_record_backend backend, bool machine,
		const char *pattern, const char *filter)
{
	/* For a command, also the events that programs will register. */
	const struct kernel_record_choice choices[] = {
			{.pattern = pattern, .filter = filter}, {.pattern = "user_events:*"}};
	const struct kernel_record_options options = {.choices = choices,
			.nr_choices = !pattern    ? 0
					: machine ? 1
						  : 2,
			.machine = machine,
			.backend = backend,
			.buffer_size = 16 << 10,
			.clock = RING_CLOCK_MONOTONIC};
	struct error error;
	struct kernel_record *record;

	base = ring_clock_now(RING_CLOCK_MONOTONIC);
	assert_int_equal(kernel_listen_open(&options, &listener, &record, &error), 0);
	return record;
}

static void choose(struct kernel_record *record, const char *pattern, const char *expression)
{
	const struct kernel_record_choice choice = {.pattern = pattern, .expression = expression};
	struct error error;

	assert_int_equal(kernel_listen_choose(record, &choice, 1, &error), 0);
}

static void test_perf_requests(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_PERF, true, NULL, NULL);
	const struct kernel_event *event;
	struct error error;
	const char *backend, *why;
	struct played_perf *counter;

	(void)unused;
	kernel_record_backend(record, &backend, &why);
	assert_string_equal(backend, "perf buffers of 16 KiB a CPU");
	assert_string_equal(why, "perf was requested");
	assert_int_equal(played_nr_perfs, 4);
	for (unsigned int i = 0; i < 4; i++) {
		const struct perf_event_attr *attr = &played_perfs[i].attr;
		bool names = i % 2;

		assert_int_equal(played_perfs[i].pid, -1);
		assert_int_equal(played_perfs[i].cpu, i / 2);
		assert_int_equal(attr->type, PERF_TYPE_SOFTWARE);
		assert_int_equal(attr->config, PERF_COUNT_SW_DUMMY);
		assert_int_equal(attr->size, sizeof(*attr));
		assert_int_equal(attr->sample_type, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
		assert_int_equal(attr->sample_id_all, 1);
		assert_int_equal(attr->watermark, 1);
		assert_int_equal(attr->wakeup_watermark, 4096);
		assert_int_equal(attr->use_clockid, 1);
		assert_int_equal(attr->clockid, CLOCK_MONOTONIC);
		assert_int_equal(attr->inherit, 0);
		assert_int_equal(attr->disabled, !names);
		assert_int_equal(attr->comm, names);
		assert_int_equal(attr->comm_exec, names);
		assert_int_equal(attr->task, names);
		assert_int_equal(played_perfs[i].size, (16 << 10) + sysconf(_SC_PAGESIZE));
	}
	/* Nothing is wanted, so nothing is found. */
	assert_heard("");
	assert_int_equal(kernel_listen_classes(record), 0);
	choose(record, "sched:*", NULL);
	assert_heard("found sched:switch level -1 members 2;");
	assert_int_equal(kernel_listen_classes(record), 1);
	assert_int_equal(played_nr_perfs, 4);
	event = event_named(record, "switch");
	assert_non_null(event);
	assert_false(wanted_on);
	assert_int_equal(kernel_listen_switch(record, event, true, &error), 0);
	assert_true(event_named(record, "switch") && wanted_on);
	assert_int_equal(played_nr_perfs, 6);
	for (int cpu = 0; cpu < 2; cpu++) {
		counter = played_find(11, cpu);
		assert_non_null(counter);
		assert_int_equal(counter->pid, -1);
		assert_int_equal(counter->attr.sample_period, 1);
		assert_int_equal(counter->attr.sample_type,
				PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
						PERF_SAMPLE_RAW);
		assert_int_equal(counter->attr.read_format, PERF_FORMAT_LOST);
		assert_int_equal(counter->attr.enable_on_exec, 0);
		assert_int_equal(counter->attr.disabled, 1);
		assert_int_equal(counter->output, played_buffer(cpu, false)->fd);
		assert_int_equal(counter->enabled, 1);
		assert_string_equal(counter->filter, "");
	}
	/* A second switch changes nothing. */
	assert_int_equal(kernel_listen_switch(record, event, true, &error), 0);
	assert_int_equal(played_nr_perfs, 6);
	assert_int_equal(kernel_listen_switch(record, event, false, &error), 0);
	for (unsigned int i = 4; i < 6; i++) {
		assert_int_equal(played_perfs[i].disabled, 1);
		assert_false(played_perfs[i].closed); /* with others, later */
	}
	kernel_listen_wait(record, -1, 0);
	assert_true(played_perfs[4].closed && played_perfs[5].closed);
	assert_int_equal(kernel_listen_switch(record, event, false, &error), 0);
	assert_false(event_named(record, "switch") && wanted_on);
	kernel_record_close(record);
	assert_heard("gone sched:switch;");
	assert_asked("");
}

static void test_perf_records(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_PERF, true, NULL, NULL);
	struct error error;
	uint64_t later;
	char expected[600];

	(void)unused;
	later = ring_clock_now(RING_CLOCK_MONOTONIC) - base + 1000000;
	choose(record, "sched:*", NULL);
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), true, &error),
			0);
	*heard = '\0';
	assert_false(kernel_listen_drain(record, false));
	put_comm(0, 5000001, 5000002, "first", base);
	put_comm(1, 5000001, 5000002, "second", base + later + 20);
	/* One was interrupted: it arrives after a later one. */
	put_sample(0, 11, base + later + 30, 5000001, 5000002, "\1\2\3\4\5\6", 6);
	put_sample(0, 11, base + later + 10, 5000001, 5000002, "\7\0\0\0\x08\0", 6);
	put_sample(1, 11, base + later + 15, 5000003, 5000004, "\x09\0\0\0\x0a\0", 6);
	/* A sample before the start, and one of an unknown event. */
	put_sample(1, 11, base - 1, 1, 1, "\1\1\1\1\1\1", 6);
	put_sample(1, 99, base + later + 40, 1, 1, "\1\1\1\1\1\1", 6);
	assert_true(kernel_listen_drain(record, false));
	(void)snprintf(expected, sizeof(expected),
			"sched:switch %llu cpu 0 5000001/5000002 first /070000000800;"
			"sched:switch %llu cpu 0 5000001/5000002 second /010203040506;"
			"sched:switch %llu cpu 1 5000003/5000004  /090000000a00;",
			(unsigned long long)later + 10, (unsigned long long)later + 30,
			(unsigned long long)later + 15);
	assert_heard(expected);
	for (int cpu = 0; cpu < 2; cpu++)
		for (int names = 0; names < 2; names++) {
			struct perf_event_mmap_page *page = played_buffer(cpu, names)->page;

			assert_int_equal(page->data_tail, page->data_head);
		}
	assert_false(kernel_listen_drain(record, false));
	/*
	 * A fork has the name of its parent. A sample at the exit has no thread, and an exited
	 * thread has no name.
	 */
	put_task(0, PERF_RECORD_FORK, 5000005, 5000001, 5000006, 5000002, base + later + 50);
	put_sample(0, 11, base + later + 60, 5000005, 5000006, "\1\0\0\0\1\0", 6);
	put_sample(0, 11, base + later + 61, -1, -1, "\2\0\0\0\1\0", 6);
	assert_true(kernel_listen_drain(record, false));
	(void)snprintf(expected, sizeof(expected),
			"sched:switch %llu cpu 0 5000005/5000006 second /010000000100;"
			"sched:switch %llu cpu 0 -1/5000099  /020000000100;",
			(unsigned long long)later + 60, (unsigned long long)later + 61);
	assert_heard(expected);
	/* Around the end of the buffer: 16384 bytes, 50 a record. */
	for (int i = 0; i < 1000; i++) {
		put_sample(1, 11, base + later + 100, 5000003, 5000004, "\3\0\0\0\4\0", 6);
		if (i % 300 != 299)
			continue;
		assert_true(kernel_listen_drain(record, false));
		assert_int_equal(strlen(heard) > 100, 1);
		for (const char *at = heard; *at; at = strchr(at, ';') + 1)
			assert_non_null(strstr(at, "/030000000400;"));
		*heard = '\0';
	}
	(void)kernel_listen_end(record);
	for (unsigned int i = 0; i < played_nr_perfs; i++)
		assert_int_equal(played_perfs[i].disabled,
				played_perfs[i].attr.type == PERF_TYPE_TRACEPOINT);
	kernel_record_close(record);
}

static void put_bytes(int cpu, uint32_t type, size_t size, size_t reported)
{
	uint8_t bytes[128] = {0};
	const struct perf_event_header header = {.type = type, .size = (uint16_t)reported};

	memcpy(bytes, &header, sizeof(header));
	played_put(played_buffer(cpu, false), bytes, size);
}

/* Bytes that are no record end the round, and are not read again. */
static void test_perf_damage(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_PERF, true, NULL, NULL);
	struct error error;
	uint64_t now;
	struct sample sample = {.header = {.type = PERF_RECORD_SAMPLE, .size = SAMPLE_BEFORE + 6}};

	(void)unused;
	choose(record, "sched:*", NULL);
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), true, &error),
			0);
	*heard = '\0';
	now = ring_clock_now(RING_CLOCK_MONOTONIC);
	base = now;
	put_bytes(0, PERF_RECORD_SAMPLE, 35, 35); /* less than the head of a sample */
	put_bytes(0, PERF_RECORD_LOST, 23, 23);   /* less than a loss */
	put_sample(0, 11, now + 1, 5000003, 5000004, "\1\0\0\0\1\0", 6);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("sched:switch 1 cpu 0 5000003/5000004  /010000000100;");
	/* The record inside is longer than the sample by one byte, then exactly as long. */
	sample.time = now + 2;
	sample.pid = 5000003;
	sample.tid = 5000004;
	sample.id = 11;
	sample.size = 15;
	played_put(played_buffer(0, false), &sample, SAMPLE_BEFORE + 6);
	sample.size = 14;
	sample.time = now + 3;
	played_put(played_buffer(0, false), &sample, SAMPLE_BEFORE + 6);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("sched:switch 3 cpu 0 5000003/5000004  /000000000000;");
	/* Shorter than a header; longer than what there is. */
	put_bytes(0, PERF_RECORD_SAMPLE, 8, 7);
	put_sample(0, 11, now + 4, 5000003, 5000004, "\1\0\0\0\1\0", 6);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("");
	put_bytes(0, PERF_RECORD_SAMPLE, 64, 65);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("");
	assert_int_equal(played_buffer(0, false)->page->data_tail,
			played_buffer(0, false)->page->data_head);
	/* The kernel reports more bytes than the buffer has. */
	played_buffer(0, false)->page->data_head += 16385;
	assert_false(kernel_listen_drain(record, false));
	assert_int_equal(played_buffer(0, false)->page->data_tail,
			played_buffer(0, false)->page->data_head);
	/* As much as there is, once. */
	for (int i = 0; i < 16384 / 64; i++)
		put_bytes(0, 77, 64, 64);
	assert_true(kernel_listen_drain(record, false));
	kernel_record_close(record);
}

static void test_perf_losses(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_PERF, true, NULL, NULL);
	struct error error;
	const struct kernel_record_summary *summary;

	(void)unused;
	choose(record, "sched:*", NULL);
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), true, &error),
			0);
	*heard = '\0';
	/*
	 * The kernel reports 7 losses without their event. Then it names the event of 5 of them, on
	 * the second CPU.
	 */
	put_lost(0, 7);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("lost - cpu 0 7;");
	played_find(11, 1)->lost = 5;
	assert_false(kernel_listen_drain(record, false));
	assert_heard("");
	assert_false(kernel_listen_drain(record, true));
	assert_heard("lost switch cpu 1 5;");
	assert_false(kernel_listen_drain(record, true));
	assert_heard("");
	/* 9 more losses, of which 6 have a known event. */
	played_find(11, 1)->lost = 8;
	played_find(11, 0)->lost = 3;
	put_lost(1, 14);
	put_lost(1, 2);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("lost switch cpu 0 3;lost switch cpu 1 3;lost - cpu 0 5;");
	/* An event that is switched off reports its losses first. */
	played_find(11, 0)->lost = 4;
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), false, &error),
			0);
	assert_heard("lost switch cpu 0 1;");
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), true, &error),
			0);
	played_find(11, 0)->lost = 2;
	summary = kernel_listen_end(record);
	assert_heard("lost switch cpu 0 2;");
	assert_string_equal(summary->backend, "perf buffers of 16 KiB a CPU");
	assert_string_equal(summary->why, "perf was requested");
	assert_string_equal(summary->problem, "");
	assert_string_equal(summary->problem_hint, "");
	assert_int_equal(summary->event_classes, 1);
	kernel_record_close(record);
}

static void test_perf_tsc(void **unused)
{
	const struct kernel_record_options options = {.machine = true,
			.backend = KERNEL_RECORD_PERF,
			.buffer_size = 1,
			.clock = RING_CLOCK_TSC};
	struct error error;
	struct kernel_record *record;

	(void)unused;
	assert_true(kernel_record_knows_tsc());
	played_no_conversion = true;
	assert_false(kernel_record_knows_tsc());
	assert_int_equal(kernel_listen_open(&options, &listener, &record, &error), -ENOTSUP);
	assert_null(record);
	assert_int_equal(error.code, -ENOTSUP);
	assert_string_equal(error.text,
			"perf cannot convert its times to those of the programs' traces");
	played_no_conversion = false;
	assert_int_equal(kernel_listen_open(&options, &listener, &record, &error), 0);
	/* One page is the minimum. */
	assert_int_equal(played_buffer(0, false)->size, 2 * sysconf(_SC_PAGESIZE));
	assert_int_equal(played_buffer(0, false)->attr.use_clockid, 0);
	choose(record, "sched:*", NULL);
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), true, &error),
			0);
	*heard = '\0';
	/* (time - 1000) * 2^3 / 2 ticks. */
	base = ((UINT64_C(1) << 61) - 1000) * 4;
	put_sample(0, 11, UINT64_C(1) << 61, 5000003, 5000004, "\1\0\0\0\1\0", 6);
	put_sample(0, 11, (UINT64_C(1) << 61) + 3, 5000003, 5000004, "\2\0\0\0\1\0", 6);
	put_sample(0, 11, 1000, 5000003, 5000004, "\3\0\0\0\1\0", 6);
	put_sample(0, 11, 900, 5000003, 5000004, "\4\0\0\0\1\0", 6);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("sched:switch 0 cpu 0 5000003/5000004  /010000000100;sched:switch 12 cpu 0 5000003/5000004  /020000000100;");
	kernel_record_close(record);
}

/* ---- perf, a command ---- */

static void test_perf_command(void **unused)
{
	struct kernel_record *record =
			listen_to(KERNEL_RECORD_BEST, false, "sched:switch", "a > 3");
	struct played_perf *counter = played_find(11, 1);
	const char *backend, *why;

	(void)unused;
	assert_heard("found sched:switch level -1 members 2;");
	kernel_record_backend(record, &backend, &why);
	assert_string_equal(backend, "perf buffers of 16 KiB a CPU");
	assert_string_equal(why, "");
	assert_int_equal(played_nr_perfs, 6);
	for (unsigned int i = 0; i < 6; i++) {
		assert_int_equal(played_perfs[i].pid, 0);
		assert_int_equal(played_perfs[i].attr.inherit, 1);
	}
	assert_int_equal(counter->attr.enable_on_exec, 1);
	assert_int_equal(counter->enabled, 0);
	assert_string_equal(counter->filter, "a > 3");
	/*
	 * An event that is registered later is opened for the known threads, one of which has
	 * exited.
	 */
	put_comm(0, 5000001, 5000001, "one", 5);
	put_task(0, PERF_RECORD_FORK, 5000001, 5000000, 5000002, 5000001, 6);
	put_task(1, PERF_RECORD_FORK, 5000001, 5000000, 5000003, 5000001, 7);
	put_task(1, PERF_RECORD_EXIT, 5000001, 5000000, 5000003, 5000001, 8);
	assert_false(kernel_listen_drain(record, false));
	assert_true(kernel_listen_scan(record));
	assert_heard("");
	played_event("user_events", "late", 40, "u8 x;8;1;0");
	assert_true(kernel_listen_scan(record));
	assert_heard("found user_events:late level -1 members 1;");
	assert_int_equal(played_nr_perfs, 10);
	for (unsigned int i = 6; i < 10; i++) {
		counter = &played_perfs[i];
		assert_int_equal(counter->attr.config, 40);
		assert_int_equal(counter->attr.enable_on_exec, 0);
		assert_int_equal(counter->enabled, 1);
		assert_true(counter->pid == 5000001 || counter->pid == 5000002);
	}
	assert_true(kernel_listen_scan(record));
	assert_int_equal(played_nr_perfs, 10);
	/* Times before the start count: the kernel begins at exec. */
	base = 0;
	put_sample(1, 40, 12345, 5000001, 5000002, "\x2a", 1);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("user_events:late 12345 cpu 1 5000001/5000002 one /2a;");
	kernel_record_close(record);
	*heard = '\0';
}

/* ---- perf, refusals ---- */

static void refuse(enum kernel_record_backend backend, const char *pattern, const char *filter,
		int code, const char *text, const char *hint)
{
	const struct kernel_record_choice choice = {.pattern = pattern, .filter = filter};
	const struct kernel_record_options options = {.choices = &choice,
			.nr_choices = 1,
			.machine = true,
			.backend = backend,
			.buffer_size = 64 << 10,
			.clock = RING_CLOCK_MONOTONIC};
	struct error error = {.code = 0};
	struct kernel_record *record;

	assert_int_equal(kernel_listen_open(&options, &listener, &record, &error), code);
	assert_null(record);
	assert_int_equal(error.code, code);
	assert_string_equal(error.text, text);
	assert_string_equal(error.hint, hint);
	assert_int_equal(played_nr_open(), 0);
	*heard = '\0';
}

static void test_perf_refusals(void **unused)
{
	static const char shows[] =
			"`cat /sys/kernel/tracing/events/SYSTEM/EVENT/format` shows the fields";

	(void)unused;
	played_open_errors[0] = EACCES;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EACCES,
			"perf_event_open() is not permitted (kernel.perf_event_paranoid is 3)",
			"run it as root, or give it CAP_PERFMON");
	played_remove("paranoid");
	played_open_errors[0] = EPERM;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EPERM,
			"perf_event_open() is not permitted (kernel.perf_event_paranoid is unknown)",
			"run it as root, or give it CAP_PERFMON");
	played_open_errors[0] = ENOSYS;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -ENOSYS, "the kernel has no perf_event_open()",
			"");
	played_open_errors[0] = EIO;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EIO,
			"perf_event_open() fails: Input/output error", "");
	played_open_errors[0] = 0;
	played_open_errors[1] = EIO;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EIO,
			"perf_event_open() fails: Input/output error", "");
	played_open_errors[0] = played_open_errors[1] = ENODEV;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -ENODEV,
			"perf_event_open() fails: No such device", "");
	played_open_errors[0] = played_open_errors[1] = 0;
	refuse(KERNEL_RECORD_PERF, "sched:*", "bad", -EINVAL,
			"the kernel refuses the filter `bad` for sched:switch: Invalid argument",
			shows);
	played_event_error = EMFILE;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EMFILE,
			"cannot record sched:switch: Too many open files",
			"raise `ulimit -n`, or choose fewer events");
	played_event_error = EPERM;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EPERM,
			"cannot record sched:switch: Operation not permitted",
			"run it as root, or set kernel.perf_event_paranoid to -1");
	played_event_error = EACCES;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EACCES,
			"cannot record sched:switch: Permission denied",
			"run it as root, or set kernel.perf_event_paranoid to -1");
	played_event_error = EIO;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EIO,
			"cannot record sched:switch: Input/output error", "");
	played_event_error = 0;
	played_output_error = EBUSY;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EBUSY,
			"cannot record sched:switch: Device or resource busy", "");
	played_output_error = 0;
	played_enable_error = EIO;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EIO,
			"cannot enable kernel events: Input/output error", "");
	played_enable_error = 0;
	/* No method is left: the message has the reason of the first one. */
	played_open_errors[0] = ENOSYS;
	played_refused = "instances";
	played_refusal = EACCES;
	refuse(KERNEL_RECORD_BEST, "sched:*", NULL, -ENOSYS, "the kernel has no perf_event_open()",
			"");
}

static void test_choices(void **unused)
{
	static const char lists[] = "`side list -k` lists the kernel's trace events";
	char pattern[256], text[300];

	(void)unused;
	refuse(KERNEL_RECORD_PERF, "sched:swich", NULL, -EINVAL,
			"no kernel trace event matches sched:swich", lists);
	refuse(KERNEL_RECORD_PERF, "x", NULL, -EINVAL, "no kernel trace event matches x",
			"use `--syscall NAME` for a system call");
	/* The reason follows 200 bytes of the pattern. */
	(void)snprintf(pattern, sizeof(pattern), "sched:%0220d[b-a]", 0);
	(void)snprintf(text, sizeof(text),
			"pattern \"%.200s\", column 227: a range that ends before it begins",
			pattern);
	refuse(KERNEL_RECORD_PERF, pattern, NULL, -EINVAL, text, "");
	/*
	 * An event that is not a trace event, one with a damaged format, and a system without
	 * tracefs.
	 */
	refuse(KERNEL_RECORD_PERF, "ftrace:function", NULL, -EINVAL,
			"no kernel trace event matches ftrace:function", lists);
	played_file("events/sched/broken/format", "no description");
	refuse(KERNEL_RECORD_PERF, "sched:broken", NULL, -EINVAL,
			"cannot parse /sys/kernel/tracing/events/sched/broken/format", "");
	played_no_tracefs = true;
	played_refusal = ENOENT;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -ENOENT, "tracefs is not mounted",
			"mount it: `mount -t tracefs none /sys/kernel/tracing`\na container needs it mounted into it");
	played_refusal = EACCES;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EACCES,
			"no permission to read kernel events in /sys/kernel/tracing",
			"run it as root");
	played_refusal = EPERM;
	refuse(KERNEL_RECORD_PERF, "sched:*", NULL, -EACCES,
			"no permission to read kernel events in /sys/kernel/tracing",
			"run it as root");
}

/* An old kernel, a CPU that is offline, little memory. */
static void test_perf_less(void **unused)
{
	struct kernel_record *record;
	const char *backend, *why;

	(void)unused;
	played_without_lost = true;
	record = listen_to(KERNEL_RECORD_PERF, true, "sched:*", NULL);
	assert_int_equal(played_find(11, 0)->attr.read_format, 0);
	assert_int_equal(played_find(11, 1)->attr.read_format, 0);
	assert_int_equal(played_find(11, 0)->enabled, 1);
	kernel_record_close(record);
	played_without_lost = false;
	played_open_errors[1] = ENODEV;
	record = listen_to(KERNEL_RECORD_PERF, true, "sched:*", NULL);
	assert_non_null(played_find(11, 0));
	assert_null(played_find(11, 1));
	assert_null(played_buffer(1, false));
	kernel_record_close(record);
	played_open_errors[1] = 0;
	played_open_errors[0] = ENODEV;
	record = listen_to(KERNEL_RECORD_PERF, true, "sched:*", NULL);
	assert_null(played_find(11, 0));
	assert_non_null(played_find(11, 1));
	kernel_record_close(record);
	played_open_errors[0] = 0;
	/*
	 * The buffer is as large as the kernel permits; 16 KiB is the smallest size that is tried.
	 */
	{
		const struct kernel_record_options options = {.machine = true,
				.backend = KERNEL_RECORD_PERF,
				.buffer_size = (64 << 10) + 1,
				.clock = RING_CLOCK_MONOTONIC};
		struct error error;

		played_map_max = (32 << 10) + (size_t)sysconf(_SC_PAGESIZE);
		assert_int_equal(kernel_listen_open(&options, &listener, &record, &error), 0);
		kernel_record_backend(record, &backend, &why);
		assert_string_equal(backend, "perf buffers of 32 KiB a CPU");
		kernel_record_close(record);
		played_map_max = (16 << 10) + (size_t)sysconf(_SC_PAGESIZE);
		assert_int_equal(kernel_listen_open(&options, &listener, &record, &error), 0);
		kernel_record_backend(record, &backend, &why);
		assert_string_equal(backend, "perf buffers of 16 KiB a CPU");
		kernel_record_close(record);
		played_map_max--;
		assert_int_equal(kernel_listen_open(&options, &listener, &record, &error), -EPERM);
		played_map_max = 0;
		assert_int_equal(kernel_listen_open(&options, &listener, &record, &error), 0);
		kernel_record_backend(record, &backend, &why);
		assert_string_equal(backend, "perf buffers of 128 KiB a CPU");
		kernel_record_close(record);
	}
	*heard = '\0';
}

/* More events than are closed in place: a process closes them, and none is left. */
static void test_perf_many(void **unused)
{
	struct kernel_record *record;
	char name[16];

	(void)unused;
	for (unsigned int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "e%u", i);
		played_event("many", name, 100 + i, "u8 x;8;1;0");
	}
	record = listen_to(KERNEL_RECORD_PERF, true, "many:*", NULL);
	assert_int_equal(kernel_listen_classes(record), 40);
	assert_int_equal(played_nr_open(), 8 + 80);
	kernel_record_close(record);
}

/* ---- expressions ---- */

static void test_asked(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_PERF, true, NULL, NULL);
	struct error error;
	const struct kernel_record_choice two[] = {{.pattern = "sched:*", .expression = "a == 7"},
			{.pattern = "sched:switch", .expression = "b < 9"}};

	(void)unused;
	choose(record, "sched:*", "a == 7");
	assert_int_equal(kernel_listen_filtered(record), 0);
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), true, &error),
			0);
	assert_int_equal(kernel_listen_filtered(record), 1);
	assert_string_equal(played_find(11, 0)->filter, "(a == 7)");
	assert_int_equal(played_nr_perfs, 6);
	/* The same choice again changes nothing. */
	choose(record, "sched:*", "a == 7");
	assert_int_equal(played_nr_perfs, 6);
	/* More is chosen: another event is opened in addition to the first one. */
	assert_int_equal(kernel_listen_choose(record, two, 2, &error), 0);
	assert_int_equal(played_nr_perfs, 8);
	assert_string_equal(played_find(11, 0)->filter, "!((a == 7)) && ((b < 9))");
	assert_int_equal(played_find(11, 0)->enabled, 1);
	assert_int_equal(kernel_listen_filtered(record), 1);
	/* A narrower choice changes nothing in the kernel. A choice of all records does. */
	choose(record, "sched:*", "a == 7");
	assert_int_equal(played_nr_perfs, 8);
	choose(record, "sched:*", NULL);
	assert_int_equal(played_nr_perfs, 10);
	assert_string_equal(played_find(11, 0)->filter, "!((a == 7) || (b < 9))");
	assert_int_equal(kernel_listen_filtered(record), 0);
	/* An expression that the kernel cannot check leaves the event without a filter. */
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), false, &error),
			0);
	choose(record, "sched:*", "a == 99999999999");
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), true, &error),
			0);
	assert_string_equal(played_find(11, 0)->filter, "");
	assert_int_equal(kernel_listen_filtered(record), 0);
	assert_true(kernel_listen_knows(record, "sched:switch"));
	assert_false(kernel_listen_knows(record, "sched:swich"));
	assert_true(kernel_listen_knows(record, "user_events:some"));
	assert_true(kernel_listen_knows(record, "user_events_multi:some"));
	assert_true(kernel_listen_knows(record, "*:*"));
	assert_false(kernel_listen_knows(record, "*:swich"));
	assert_true(kernel_listen_knows(record, "*:switch"));
	assert_false(kernel_listen_knows(record, "ftrace:function"));
	{
		const struct kernel_record_choice wrong = {.pattern = "sched:["};

		if (kernel_listen_choose(record, &wrong, 1, &error))
			assert_int_equal(error.code, -EINVAL);
	}
	kernel_record_close(record);
	*heard = '\0';
}

/* ---- programs that register events ---- */

static void test_notice(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_PERF, true, NULL, NULL);
	struct sockaddr_un address;
	struct error error;
	socklen_t size;
	char byte;
	int fds[2], i;

	(void)unused;
	choose(record, "user_events:*", NULL);
	assert_int_equal(kernel_listen_classes(record), 0);
	assert_false(kernel_listen_is_notified(record));
	assert_true(record->notice >= 0);
	for (i = 0; i < 2; i++) {
		struct sockaddr_un own;
		socklen_t own_size = sizeof(own);

		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_int_equal(
				getsockname(record->notice, (struct sockaddr *)&own, &own_size), 0);
		assert_int_equal(connect(fds[i], (struct sockaddr *)&own, own_size), 0);
	}
	size = kernel_notice_address(&address, 0);
	assert_true(size > 0);
	assert_true(kernel_listen_is_notified(record));
	assert_int_equal(record->nr_waiting, 2);
	assert_true(kernel_listen_is_notified(record));
	assert_int_equal(record->nr_waiting, 2);
	/* They wait until they get an answer. */
	assert_int_equal(recv(fds[0], &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
	kernel_listen_seen(record);
	assert_int_equal(recv(fds[0], &byte, 1, 0), 0);
	assert_int_equal(recv(fds[1], &byte, 1, 0), 0);
	assert_false(kernel_listen_is_notified(record));
	close(fds[0]);
	close(fds[1]);
	/* An event that ends with its program, and another one with its name. */
	played_event("user_events", "mine", 50, "u8 x;8;1;0");
	assert_true(kernel_listen_scan(record));
	assert_heard("found user_events:mine level -1 members 1;");
	assert_true(kernel_listen_scan(record));
	assert_heard("");
	played_event("user_events", "mine", 51, "u8 x;8;1;0|u8 y;9;1;0");
	assert_true(kernel_listen_scan(record));
	assert_heard("gone user_events:mine;found user_events:mine level -1 members 2;");
	assert_int_equal(
			kernel_listen_switch(record, event_named(record, "mine"), true, &error), 0);
	/* An event that is in use stays. */
	played_remove("events/user_events/mine");
	assert_true(kernel_listen_scan(record));
	assert_heard("");
	assert_int_equal(kernel_listen_switch(record, event_named(record, "mine"), false, &error),
			0);
	assert_true(kernel_listen_scan(record));
	assert_heard("gone user_events:mine;");
	assert_null(event_named(record, "mine"));
	choose(record, "sched:*", NULL);
	assert_false(kernel_listen_scan(record));
	kernel_record_close(record);
	*heard = '\0';
}

/* ---- the instance of tracefs ---- */

static char instance_name[100];

static void find_instance(struct kernel_record *record)
{
	const char *backend, *why;

	kernel_record_backend(record, &backend, &why);
	assert_memory_equal(backend, "the tracefs instance side-", 26);
	(void)snprintf(instance_name, sizeof(instance_name), "%s", backend + 21);
}

/* The log, with the instance as @. */
static void assert_instance(const char *text)
{
	char full[200], shown[sizeof(played_log)] = "";
	const char *at = played_log, *next;

	(void)snprintf(full, sizeof(full), "instances/%s", instance_name);
	while ((next = strstr(at, full))) {
		(void)snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), "%.*s@",
				(int)(next - at), at);
		at = next + strlen(full);
	}
	(void)snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), "%s", at);
	assert_string_equal(shown, text);
	*played_log = '\0';
}

struct page {
	uint8_t bytes[600];
	size_t size;
};

static void page_begin(struct page *page, uint64_t ticks)
{
	memset(page, 0, sizeof(*page));
	memcpy(page->bytes, &ticks, sizeof(ticks));
	page->size = 16;
}

static void page_word(struct page *page, uint32_t word)
{
	memcpy(page->bytes + page->size, &word, sizeof(word));
	page->size += 4;
}

/* A record of 16 bytes: id, thread, fields of sched:switch. */
static void page_switch(struct page *page, int tid, uint32_t a, uint32_t b)
{
	page_word(page, 11);
	page_word(page, (uint32_t)tid);
	page_word(page, a);
	page_word(page, b);
}

static void page_put(struct page *page, int cpu, size_t cut)
{
	uint64_t commit = page->size - 16;

	memcpy(page->bytes + 8, &commit, sizeof(commit));
	played_page(instance_name, cpu, page->bytes, page->size - cut);
}

static void test_instance_requests(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_TRACEFS, false, "sched:*", "a > 3");
	struct error error;
	char expected[1024];
	const char *backend, *why;

	(void)unused;
	find_instance(record);
	kernel_record_backend(record, &backend, &why);
	assert_string_equal(why, "tracefs was requested");
	(void)snprintf(expected, sizeof(expected),
			"+@;@/trace_clock=mono;@/buffer_size_kb=16;@/options/overwrite=0;@/tracing_on=0;@/options/event-fork=1;"
			"@/set_event_pid=%d;@/events/sched/switch/filter=a > 3;@/events/sched/switch/enable=1;@/tracing_on=1;",
			(int)syscall(SYS_gettid));
	assert_instance(expected);
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), false, &error),
			0);
	assert_instance("@/events/sched/switch/enable=0;@/events/sched/switch/filter=0;");
	(void)kernel_listen_end(record);
	assert_instance("@/tracing_on=0;");
	kernel_record_close(record);
	assert_instance("@/events/enable=0;-@;");
	/* The whole machine, without a filter, and further requested events. */
	record = listen_to(KERNEL_RECORD_TRACEFS, true, NULL, NULL);
	find_instance(record);
	assert_instance("+@;@/trace_clock=mono;@/buffer_size_kb=16;@/options/overwrite=0;@/tracing_on=0;@/tracing_on=1;");
	choose(record, "sched:*", "a == 7");
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), true, &error),
			0);
	assert_instance("@/events/sched/switch/filter=(a == 7);@/events/sched/switch/enable=1;");
	choose(record, "sched:*", NULL);
	assert_instance("@/events/sched/switch/filter=0;");
	assert_int_equal(kernel_listen_switch(record, event_named(record, "switch"), false, &error),
			0);
	assert_instance("@/events/sched/switch/enable=0;");
	kernel_record_close(record);
	*played_log = '\0';
	*heard = '\0';
}

static void test_instance_records(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_TRACEFS, true, "sched:*", NULL);
	struct page page;

	(void)unused;
	find_instance(record);
	*heard = '\0';
	base = 0;
	assert_false(kernel_listen_drain(record, false));
	page_begin(&page, 1000);
	page_word(&page, 4 | 5 << 5); /* 16 bytes, 5 ticks later */
	page_switch(&page, 5000001, 1, 2);
	page_word(&page, 0 | 6 << 5); /* its length follows */
	page_word(&page, 20);
	page_switch(&page, 5000002, 3, 4);
	page_word(&page, 30 | 7 << 5); /* a time farther away */
	page_word(&page, 2);
	page_word(&page, 29 | 9 << 5); /* padding of 4 bytes after the word */
	page_word(&page, 4);
	page_word(&page, 4 | 1 << 5);
	page_switch(&page, 5000003, 5, 6);
	page_word(&page, 31 | 8 << 5); /* a whole time */
	page_word(&page, 3);
	page_word(&page, 4 | 2 << 5);
	page_switch(&page, 5000004, 7, 8);
	page_put(&page, 1, 0);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("sched:switch 1005 cpu 1 -1/5000001  /010000000200;"
		     "sched:switch 1011 cpu 1 -1/5000002  /030000000400;"
		     "sched:switch 268436484 cpu 1 -1/5000003  /050000000600;"
		     "sched:switch 402653194 cpu 1 -1/5000004  /070000000800;");
	/* A record that ends behind the page is invalid, and so is everything behind it. */
	page_begin(&page, 1000);
	page_word(&page, 4 | 1 << 5);
	page_switch(&page, 5000001, 1, 2);
	page_word(&page, 4 | 1 << 5);
	page_switch(&page, 5000001, 3, 4);
	page_put(&page, 0, 1);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("sched:switch 1001 cpu 0 -1/5000001  /010000000200;");
	/* The end of a page; a length that is less than its own word; a record without a thread. */
	page_begin(&page, 2000);
	page_word(&page, 1 | 1 << 5);
	page_word(&page, 11);
	page_word(&page, 4 | 1 << 5);
	page_switch(&page, 5000001, 1, 2);
	page_word(&page, 29);
	page_word(&page, 4 | 1 << 5);
	page_switch(&page, 5000001, 3, 4);
	page_put(&page, 0, 0);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("sched:switch 2002 cpu 0 -1/5000001  /010000000200;");
	page_begin(&page, 3000);
	page_word(&page, 0 | 1 << 5);
	page_word(&page, 3);
	page_word(&page, 4 | 1 << 5);
	page_switch(&page, 5000001, 3, 4);
	page_put(&page, 0, 0);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("");
	/* The head alone; less than a head. */
	page_begin(&page, 4000);
	page_put(&page, 0, 0);
	assert_true(kernel_listen_drain(record, false));
	page_put(&page, 0, 1);
	assert_true(kernel_listen_drain(record, false));
	assert_heard("");
	(void)kernel_listen_end(record);
	kernel_record_close(record);
	*heard = '\0';
}

/* Losses from the kernel's statistics; an event without a name for them. */
static void test_instance_losses(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_TRACEFS, true, "sched:*", NULL);
	char path[200];

	(void)unused;
	find_instance(record);
	*heard = '\0';
	(void)snprintf(path, sizeof(path), "instances/%s/per_cpu/cpu1/stats", instance_name);
	played_file(path,
			"entries: 4\noverrun: 3\ncommit overrun: 100\nbytes: 9\ndropped events: 5\nread events: 6\n");
	assert_false(kernel_listen_drain(record, false));
	assert_heard("");
	assert_false(kernel_listen_drain(record, true));
	assert_heard("lost switch cpu 1 8;");
	(void)kernel_listen_end(record);
	assert_heard("");
	kernel_record_close(record);
	*heard = '\0';
}

/* System calls of the recorder itself are left out. */
static void test_instance_apart(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_TRACEFS, true, "syscalls:*", NULL);
	char expected[300];

	(void)unused;
	find_instance(record);
	*played_log = '\0';
	assert_false(kernel_listen_drain(record, false));
	(void)snprintf(expected, sizeof(expected), "@/set_event_notrace_pid=%d;",
			(int)syscall(SYS_gettid));
	assert_instance(expected);
	assert_false(kernel_listen_drain(record, false));
	assert_instance("");
	kernel_record_close(record);
	record = listen_to(KERNEL_RECORD_TRACEFS, false, "syscalls:*", NULL);
	find_instance(record);
	*played_log = '\0';
	/* Before the command exists, the thread that starts it is not left out. */
	assert_false(kernel_listen_drain(record, false));
	assert_instance("");
	{
		struct page page;

		page_begin(&page, 1);
		page_word(&page, 3 | 1 << 5);
		page_word(&page, 13);
		page_word(&page, 5000001);
		page_word(&page, 1);
		page_put(&page, 0, 0);
	}
	assert_true(kernel_listen_drain(record, false));
	assert_instance("");
	assert_false(kernel_listen_drain(record, false));
	assert_instance(expected);
	kernel_record_close(record);
	*heard = '\0';
}

static void test_instance_refusals(void **unused)
{
	static const char *const files[] = {
			"trace_clock", "buffer_size_kb", "overwrite", "tracing_on"};
	char text[200];

	(void)unused;
	played_refused = "instances";
	played_refusal = EACCES;
	refuse(KERNEL_RECORD_TRACEFS, "sched:*", NULL, -EACCES,
			"cannot create an instance of tracefs: Permission denied",
			"run it as root");
	played_refusal = EPERM;
	refuse(KERNEL_RECORD_TRACEFS, "sched:*", NULL, -EPERM,
			"cannot create an instance of tracefs: Operation not permitted",
			"run it as root");
	assert_asked("");
	played_refusal = EIO;
	for (size_t i = 0; i < 4; i++) {
		played_refused = files[i];
		refuse(KERNEL_RECORD_TRACEFS, "sched:*", NULL, -EIO,
				"cannot create an instance of tracefs: Input/output error", "");
		assert_non_null(strstr(played_log, ";-instances/side-"));
		*played_log = '\0';
	}
	played_refusal = EINVAL;
	played_refused = "filter";
	(void)snprintf(text, sizeof(text),
			"the kernel refuses the filter `a` for sched:switch: Invalid argument");
	refuse(KERNEL_RECORD_TRACEFS, "sched:*", "a", -EINVAL, text,
			"`cat /sys/kernel/tracing/events/SYSTEM/EVENT/format` shows the fields");
	played_refused = "switch/enable";
	played_refusal = EBUSY;
	refuse(KERNEL_RECORD_TRACEFS, "sched:*", NULL, -EBUSY,
			"cannot record sched:switch: Device or resource busy", "");
	/* perf is not possible, so the instance is used, and reports why. */
	played_refused = NULL;
	played_open_errors[0] = EACCES;
	{
		struct kernel_record *record = listen_to(KERNEL_RECORD_BEST, true, "sched:*", NULL);
		const char *backend, *why;

		kernel_record_backend(record, &backend, &why);
		assert_memory_equal(backend, "the tracefs instance side-", 26);
		assert_string_equal(why,
				"perf_event_open() is not permitted (kernel.perf_event_paranoid is 3)");
		assert_int_equal(kernel_listen_classes(record), 1);
		kernel_record_close(record);
	}
	*heard = *played_log = '\0';
}

/* Only instances of exited processes are removed. */
static void test_instances_clean(void **unused)
{
	struct kernel_record *record = listen_to(KERNEL_RECORD_TRACEFS, true, NULL, NULL);
	struct kernel_record *other;
	char name[200];

	(void)unused;
	find_instance(record);
	*played_log = '\0';
	played_file("instances/side-5000001-17/events/enable", "1");
	played_file("instances/foreign/events/enable", "1");
	played_file("instances/side-5000001-17x/events/enable", "1");
	(void)snprintf(name, sizeof(name), "instances/side-%d-1/events/enable", (int)getpid());
	played_file(name, "1");
	kernel_instances_clean(record);
	(void)snprintf(name, sizeof(name), "instances/side-%d-1", (int)getpid());
	assert_non_null(strstr(played_log,
			"instances/side-5000001-17/events/enable=0;-instances/side-5000001-17;"));
	assert_non_null(strstr(played_log, name));
	assert_null(strstr(played_log, "foreign"));
	assert_null(strstr(played_log, "17x"));
	assert_null(strstr(played_log, instance_name));
	other = NULL;
	kernel_record_close(other);
	kernel_record_close(record);
	*played_log = '\0';
}

/* ---- a trace ---- */

static size_t read_trace(const char *directory, const char *name, char *to, size_t space)
{
	char path[300];
	FILE *file;
	size_t size;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	size = fread(to, 1, space - 1, file);
	to[size] = '\0';
	(void)fclose(file);
	return size;
}

static void test_trace(void **unused)
{
	const struct kernel_record_choice choice = {.pattern = "sched:*"};
	char directory[100], bytes[65536];
	struct kernel_record_options options = {.choices = &choice,
			.nr_choices = 1,
			.machine = true,
			.buffer_size = 16 << 10,
			.directory = directory,
			.hostname = "host",
			.clock = RING_CLOCK_MONOTONIC};
	const struct kernel_record_summary *summary;
	struct error error;
	struct kernel_record *record;
	size_t size;
	uint64_t now;

	(void)unused;
	(void)snprintf(directory, sizeof(directory), "%s/trace", played_root);
	assert_int_equal(kernel_record_open(&options, &record, &error), 0);
	assert_int_equal(played_find(11, 0)->enabled, 0);
	assert_int_equal(kernel_record_start(record, &error), 0);
	assert_int_equal(played_find(11, 0)->enabled, 1);
	now = ring_clock_now(RING_CLOCK_MONOTONIC);
	put_comm(0, 5000001, 5000002, "named", 1);
	put_sample(0, 11, now + 5, 5000001, 5000002, "\x11\x12\x13\x14\x15\x16", 6);
	put_sample(0, 11, now + 6, 5000001, 5000002, "\x21\x22\x23\x24\x25\x26", 6);
	put_lost(0, 4);
	put_sample(1, 11, now + 7, 5000003, 5000004, "\x31\x32\x33\x34\x35\x36", 6);
	played_find(11, 0)->lost = 9;
	played_find(11, 1)->lost = 2;
	while (ring_clock_now(RING_CLOCK_MONOTONIC) < now + 10)
		;
	summary = kernel_record_stop(record, NULL);
	assert_string_equal(summary->backend, "perf buffers of 16 KiB a CPU");
	assert_string_equal(summary->why, "");
	assert_string_equal(summary->problem, "");
	assert_int_equal(summary->event_classes, 1);
	assert_int_equal(summary->events, 3);
	assert_int_equal(summary->lost, 11);
	assert_int_equal(summary->late, 0);
	assert_int_equal(summary->nr_losses, 2);
	assert_string_equal(summary->losses[0].ring, "cpu_0");
	assert_string_equal(summary->losses[0].event, "sched:switch");
	assert_string_equal(summary->losses[0].reason, "buffer full");
	assert_int_equal(summary->losses[0].count, 9);
	assert_string_equal(summary->losses[1].ring, "cpu_1");
	assert_int_equal(summary->losses[1].count, 2);
	assert_true(summary->bytes > 100);
	assert_int_equal(played_find(11, 0)->disabled, 1);
	kernel_record_close(record);
	assert_true(read_trace(directory, "metadata", bytes, sizeof(bytes)) > 100);
	assert_non_null(strstr(bytes, "sched:switch"));
	size = read_trace(directory, "cpu_0", bytes, sizeof(bytes));
	if (size) {
		assert_non_null(memmem(bytes, size, "named\0\x11\x12\x13\x14\x15\x16", 12));
		assert_non_null(memmem(bytes, size, "named\0\x21\x22\x23\x24\x25\x26", 12));
		assert_null(memmem(bytes, size, "\x31\x32\x33\x34", 4));
	}
	/* As if there had been none. */
	(void)snprintf(directory, sizeof(directory), "%s/none", played_root);
	assert_int_equal(kernel_record_open(&options, &record, &error), 0);
	assert_int_equal(kernel_record_start(record, &error), 0);
	kernel_record_discard(record);
	assert_int_equal(access(directory, F_OK), -1);
	kernel_record_discard(NULL);
	kernel_record_close(NULL);
}

struct names {
	char text[300];
	int result;
};

static int collect(void *user, const char *system, const char *name)
{
	struct names *names = user;

	(void)snprintf(names->text + strlen(names->text), sizeof(names->text) - strlen(names->text),
			"%s:%s;", system, name);
	return names->result;
}

static void test_each(void **unused)
{
	static const char *const texts[] = {"sched:*", "!sched:switch"};
	struct error error;
	struct names names = {.text = ""};

	(void)unused;
	assert_int_equal(kernel_record_each(texts, 1, collect, &names, &error), 0);
	assert_string_equal(names.text, "sched:switch;");
	*names.text = '\0';
	assert_int_equal(kernel_record_each(texts, 2, collect, &names, &error), 0);
	assert_string_equal(names.text, "");
	assert_int_equal(kernel_record_each(NULL, 0, collect, &names, &error), 0);
	assert_non_null(strstr(names.text, "sched:switch;"));
	assert_non_null(strstr(names.text, "raw:one;"));
	assert_non_null(strstr(names.text, "syscalls:sys_enter_x;"));
	assert_null(strstr(names.text, "ftrace"));
	*names.text = '\0';
	names.result = 17;
	assert_int_equal(kernel_record_each(NULL, 0, collect, &names, &error), 17);
	assert_ptr_equal(strchr(names.text, ';')[1], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
			TEST(test_perf_requests),
			TEST(test_perf_records),
			TEST(test_perf_damage),
			TEST(test_perf_losses),
			TEST(test_perf_tsc),
			TEST(test_perf_command),
			TEST(test_perf_refusals),
			TEST(test_choices),
			TEST(test_perf_less),
			TEST(test_perf_many),
			TEST(test_asked),
			TEST(test_notice),
			TEST(test_instance_requests),
			TEST(test_instance_records),
			TEST(test_instance_losses),
			TEST(test_instance_apart),
			TEST(test_instance_refusals),
			TEST(test_instances_clean),
			TEST(test_trace),
			TEST(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
