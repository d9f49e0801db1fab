/* SPDX-License-Identifier: MIT */
/*
 * Shares of a spool: the user of each trace, one user more than there are entries, and the
 * statistics.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"
#include "relay/spool.h"

#define OTHERS (SEND_SPOOL_USERS - 1)
#define TRACES (SEND_SPOOL_USERS + 2)
#define LIMIT 1600

static char folder[] = "/tmp/side-spool-XXXXXX";

/* A trace with waiting packets. */
static void set_trace(struct follow_trace *trace, struct follow_stream *stream, uint64_t pending)
{
	stream->trace = trace;
	stream->there = stream->size = 1000 + pending;
	stream->delivered.offset = 1000;
	trace->streams = stream;
	trace->path = folder;
}

static void write_user(const char *text)
{
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/" CTF_USER_FILE, folder);
	unlink(path);
	if (!text)
		return;
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void test_users(void **unused)
{
	static const struct {
		const char *text;
		bool is_known;
		uid_t uid;
	} cases[] = {
			{"1000\n", true, 1000},
			{"0\n", true, 0},
			{"4294967295\n", true, UINT32_MAX},
			{"4294967296\n", false, 0},
			{"1000", false, 0},
			{"1000 \n", false, 0},
			{"\n", false, 0},
			{"", false, 0},
			{NULL, false, 0},
	};
	struct resources before = {0};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct spool spool = {0};
		struct follow_stream stream = {0};
		struct follow_trace trace = {0};
		struct follow follow = {.traces = &trace};

		set_trace(&trace, &stream, 100);
		write_user(cases[i].text);
		if (!before.descriptors)
			before = resources_now();
		assert_true(spool_is_full(&spool, &follow, 99));
		assert_int_equal(trace.has_user, cases[i].is_known);
		assert_int_equal(trace.entry, cases[i].is_known ? 0 : OTHERS);
		assert_int_equal(spool.entries[0].is_used, cases[i].is_known);
		assert_int_equal(spool.entries[0].uid, cases[i].uid);
		assert_int_equal(spool.entries[trace.entry].pending, 100);
		assert_false(spool_is_full(&spool, &follow, 100));
		/* A known user is not read again; an unknown user is. */
		write_user("77\n");
		assert_true(spool_is_full(&spool, &follow, 99));
		assert_true(trace.has_user);
		assert_int_equal(trace.user, cases[i].is_known ? cases[i].uid : 77);
	}
	assert_int_equal(resources_now().descriptors, before.descriptors);
	write_user(NULL);
}

static void test_entries(void **unused)
{
	static struct follow_stream streams[TRACES];
	static struct follow_trace traces[TRACES];
	struct follow follow = {.traces = traces};
	struct spool spool = {0};
	uint32_t i;

	(void)unused;
	assert_int_equal(spool_floor(LIMIT), 100);
	for (i = 0; i < TRACES; i++) {
		set_trace(&traces[i], &streams[i], 10 + i);
		traces[i].has_user = true;
		traces[i].user = 500 + i;
		traces[i].next = i + 1 < TRACES ? &traces[i + 1] : NULL;
	}
	/* Two traces of one user. */
	traces[3].user = traces[1].user;
	assert_false(spool_is_full(&spool, &follow, 10 * TRACES + TRACES * (TRACES - 1) / 2));
	assert_true(spool_is_full(&spool, &follow, 10 * TRACES + TRACES * (TRACES - 1) / 2 - 1));
	for (i = 0; i < TRACES; i++) {
		uint32_t entry = i == 3 ? 1 : i < 3 ? i : i - 1 < OTHERS ? i - 1 : OTHERS;

		assert_int_equal(traces[i].entry, entry);
		assert_true(spool_has(&spool, &spool.entries[entry], &traces[i]));
		assert_false(spool_has(&spool, &spool.entries[(entry + 1) % SEND_SPOOL_USERS],
				&traces[i]));
		if (entry < OTHERS)
			assert_int_equal(spool.entries[entry].uid, traces[i].user);
	}
	assert_int_equal(spool.entries[1].pending, 11 + 13);
	/* The last two traces. */
	assert_int_equal(spool.entries[OTHERS].pending, 10 + TRACES - 2 + 10 + TRACES - 1);
	assert_false(spool.entries[OTHERS].is_used);
	/* The entry of a user without waiting packets is free for another user. */
	streams[4].delivered.offset = streams[4].size;
	assert_true(spool_is_full(&spool, &follow, 1));
	assert_false(spool.entries[3].is_used);
	assert_true(spool_is_full(&spool, &follow, 1));
	assert_int_equal(spool.entries[3].uid, traces[TRACES - 2].user);
	assert_int_equal(spool.entries[3].pending, 10 + TRACES - 2);
	assert_int_equal(spool.entries[OTHERS].pending, 10 + TRACES - 1);
	/* Traces that were removed, or that do not belong to side. */
	traces[0].removed = true;
	traces[1].refused = true;
	(void)spool_is_full(&spool, &follow, 1);
	assert_int_equal(spool.entries[0].pending, 0);
	assert_int_equal(spool.entries[1].pending, 13);
}

static void test_choice(void **unused)
{
	struct spool spool = {0};

	(void)unused;
	assert_null(spool_choose(&spool, LIMIT));
	spool.entries[2].pending = 100;
	assert_null(spool_choose(&spool, LIMIT));
	spool.entries[2].pending = 101;
	assert_ptr_equal(spool_choose(&spool, LIMIT), &spool.entries[2]);
	spool.entries[5].pending = 102;
	spool.entries[6].pending = 102;
	assert_ptr_equal(spool_choose(&spool, LIMIT), &spool.entries[5]);
	spool.entries[OTHERS].pending = 103;
	assert_ptr_equal(spool_choose(&spool, LIMIT), &spool.entries[OTHERS]);
	spool.entries[OTHERS].is_tried = true;
	assert_ptr_equal(spool_choose(&spool, LIMIT), &spool.entries[5]);
}

static void test_status(void **unused)
{
	struct send_status status = {0};
	struct follow_trace trace = {.has_user = true};

	(void)unused;
	for (uint32_t i = 0; i < OTHERS + 2; i++) {
		trace.user = 900 + i;
		spool_note(&trace, 1 + i, 100 + i, &status);
	}
	trace.user = 902;
	spool_note(&trace, 3, 7, &status);
	trace.has_user = false;
	spool_note(&trace, 4, 8, &status);
	assert_int_equal(status.nr_dropped_users, OTHERS);
	for (uint32_t i = 0; i < OTHERS; i++) {
		assert_int_equal(status.dropped_users[i].uid, 900 + i);
		assert_int_equal(status.dropped_users[i].packets, i == 2 ? 2 : 1);
		assert_int_equal(status.dropped_users[i].events, 1 + i + (i == 2 ? 3 : 0));
		assert_int_equal(status.dropped_users[i].bytes, 100 + i + (i == 2 ? 7 : 0));
	}
	assert_int_equal(status.dropped_users[OTHERS].packets, 3);
	assert_int_equal(status.dropped_users[OTHERS].events, 1 + OTHERS + 2 + OTHERS + 4);
	assert_int_equal(status.dropped_users[OTHERS].bytes, 100 + OTHERS + 101 + OTHERS + 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_users),
			cmocka_unit_test(test_entries),
			cmocka_unit_test(test_choice),
			cmocka_unit_test(test_status),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
