/* SPDX-License-Identifier: MIT */
/*
 * Losses in a trace: counters of rings, bytes without space, losses that earlier chunks report
 * already, and each call that fails. The test includes losses.c, and plays the rings, the trace and
 * memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../called.h"
#include "../check.h"
#include "ctf/ctf.h"
#include "recorder/core/channels.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

static uint64_t counters[2][3][RING_LOSS_REASONS]; /* of two channels, three rings, in slot 4 */
static unsigned int failing_call;                  /* of the calls for memory; 0: none */
static int append_result, prepare_result, lost_result;
static bool holds;
static char reported_journal[400];

static bool is_due(void)
{
	return failing_call && !--failing_call;
}

static char *played_strdup(const char *text)
{
	return is_due() ? NULL : strdup(text);
}

static void *played_realloc(void *old, size_t size)
{
	return is_due() ? NULL : realloc(old, size);
}

static void *played_calloc(size_t count, size_t size)
{
	return is_due() ? NULL : calloc(count, size);
}

static uint64_t played_total(const struct ring_consumer *of, uint32_t ring)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < RING_LOSS_REASONS; i++)
		sum += counters[(uintptr_t)of - 1][ring][i];
	return sum;
}

static int played_each(
		const struct ring_consumer *of, uint32_t ring, ring_lost_visit *visit, void *data)
{
	return visit(data, ring, 4, counters[(uintptr_t)of - 1][ring]);
}

static char *played_name(uint32_t channel, uint32_t slot)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "p:e%u-%u", channel, slot);
	return played_strdup(name);
}

static int played_append(uint32_t channel, uint32_t ring, const struct ctf_span *span)
{
	CHECK(!span->size && span->timestamp_begin == span->timestamp_end);
	called("append(%u %u %d %d)\n", channel, ring, (int)span->timestamp_begin,
			(int)span->events_discarded);
	return append_result;
}

static int played_lost(uint64_t ticks, const struct ctf_lost *lost, size_t nr)
{
	called("lost(%d)\n", (int)ticks);
	for (size_t i = 0; i < nr; i++)
		called("  %s, %s, %s: %d\n", lost[i].ring, lost[i].event, lost[i].reason,
				(int)lost[i].count);
	return lost_result;
}

static void played_write(const void *bytes, size_t size)
{
	CHECK(size <= sizeof(reported_journal));
	memcpy(reported_journal, bytes, size);
	called("tell(%zu)\n", size / 16);
}

#define strdup(text) played_strdup(text)
#define realloc(old, size) played_realloc(old, size)
#define calloc(count, size) played_calloc(count, size)
#define ring_consumer_lost_total(of, ring) played_total(of, ring)
#define ring_consumer_lost_each(of, ring, visit, data) played_each(of, ring, visit, data)
#define classes_name(instance, channel, slot) ((void)(instance), played_name(channel, slot))
#define trace_append(session, instance, channel, ring, span, error) \
	((void)(session), (void)(error), played_append(channel, ring, span))
#define trace_prepare(session, instance, error) \
	((void)(session), (void)(error), called("prepare\n"), prepare_result)
#define trace_fail(session, instance, code, error) called("fail(%d, %s)\n", code, (error)->text)
#define ctf_writer_lost(writer, ticks, lost, nr, error) \
	((void)(writer), (void)(error), played_lost(ticks, lost, nr))
#define journal_write_losses(session, instance, bytes, size) played_write(bytes, size)
#define full_holds(session, code) ((void)(session), (void)(code), holds)
#define ring_clock_now(clock) ((void)(clock), UINT64_C(77))
#define report_loss(session, instance, ring, event, reason, count, in_bytes) \
	called("report %s, %s, %s: %d %d\n", ring, event, reason, (int)(count), in_bytes)
#undef fail
#include "recorder/storage/reported-losses.c"
#include "recorder/storage/losses.c"
#undef strdup
#undef realloc
#undef calloc

static struct session *session;
static struct channel channel_of[2] = {{.name = (char *)(uintptr_t) "a"},
		{.name = (char *)(uintptr_t) "b", .mode = RING_MODE_OVERWRITE}};
static struct instance_ring each[2][3];
static struct instance_channel channels[2];
static struct instance instance;

static int begin(void **unused)
{
	(void)unused;
	session = session_allocate();
	CHECK(session);
	memset(counters, 0, sizeof(counters));
	memset(each, 0, sizeof(each));
	for (unsigned int i = 0; i < 2; i++)
		channels[i] = (struct instance_channel){.channel = &channel_of[i],
				.geometry.rings = 3,
				.rings = (struct ring_consumer *)(uintptr_t)(i + 1),
				.each = each[i]};
	instance = (struct instance){.procname = (char *)(uintptr_t) "p",
			.channels = channels,
			.nr_channels = 2,
			.last_ticks = 66};
	append_result = prepare_result = lost_result = 0;
	holds = false;
	failing_call = 0;
	*calls = '\0';
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	free(instance.reported);
	session_destroy(session);
	return 0;
}

static void test_none(void **unused)
{
	(void)unused;
	losses_note(session, &instance);
	assert_true(losses_end(session, &instance));
	assert_called("");
}

/* Two counters of one ring, one of another channel, processes, and bytes without space. */
static void lose(void)
{
	counters[0][1][RING_LOST_FULL] = 5;
	counters[0][1][RING_LOST_TOO_BIG] = 6;
	counters[1][2][RING_LOST_FULL] = 7;
	each[0][2].unwritten = 8;
	instance.unwritten_code = ENOSPC;
	instance.refused = 9;
}

#define EMPTY "append(0 1 77 11)\nappend(1 2 77 7)\n"
#define A_FULL "a_1, p:e0-4, ring full"
#define A_BIG "a_1, p:e0-4, too big"
#define A_BYTES "a_2, , bytes not written: No space left on device"
#define B_FULL "b_2, p:e1-4, ring full"
#define ONES ", , process not recorded, each counts once"

static void test_note(void **unused)
{
	(void)unused;
	lose();
	losses_note(session, &instance);
	assert_called(EMPTY "prepare\nlost(77)\n  " A_FULL ": 5\n  " A_BIG ": 6\n  " A_BYTES
			    ": 8\n  " B_FULL ": 7\n  " ONES ": 9\ntell(5)\n");
	assert_int_equal(instance.nr_reported, 5);
	/*
	 * Reported losses are not reported again; a changed counter is written in an empty packet.
	 */
	each[0][1].discarded = 11;
	each[1][2].discarded = 7;
	losses_note(session, &instance);
	assert_called("");
	counters[0][1][RING_LOST_TOO_BIG] = 10;
	counters[0][0][RING_LOST_FULL] = 1;
	losses_note(session, &instance);
	assert_called("append(0 0 77 1)\nappend(0 1 77 15)\nprepare\nlost(77)\n  a_0, p:e0-4, ring full: 1\n  " A_BIG
		      ": 4\ntell(6)\n");
	/* The next recorder reads the reported losses from the journal. */
	{
		struct reported_loss *former = instance.reported;
		char copy[6 * 16];

		memcpy(copy, reported_journal, sizeof(copy));
		assert_int_equal(reported_losses_count(&instance, former[5].key), 9);
		reported_losses_read(&instance, copy, sizeof(copy) - 1);
		assert_int_equal(instance.nr_reported, 5);
		reported_losses_read(&instance, copy, sizeof(copy));
		assert_int_equal(instance.nr_reported, 6);
	}
	each[0][0].discarded = 1;
	each[0][1].discarded = 15;
	losses_note(session, &instance);
	assert_called("");
	for (size_t i = 0; i < instance.nr_reported; i++)
		assert_int_equal(reported_losses_count(&instance, instance.reported[i].key),
				instance.reported[i].count);
	assert_int_equal(reported_losses_count(&instance, instance.reported[0].key - 1), 0);
	assert_int_equal(reported_losses_count(&instance, UINT64_MAX), 0);
	failing_call = 1;
	reported_losses_read(&instance, reported_journal, 32);
	assert_true(!instance.reported && !instance.nr_reported);
}

static void test_end(void **unused)
{
	(void)unused;
	lose();
	session->recovers = true;
	assert_true(losses_end(session, &instance));
	assert_called("append(0 1 66 11)\nappend(1 2 66 7)\nprepare\nlost(66)\n  " A_FULL
		      ": 5\n  " A_BIG ": 6\n  " A_BYTES ": 8\n  " B_FULL ": 7\n  " ONES
		      ": 9\ntell(5)\nreport " A_FULL ": 5 0\nreport " A_BIG ": 6 0\nreport " A_BYTES
		      ": 8 1\nreport " B_FULL ": 7 0\nreport " ONES ": 9 0\n");
	/* Bytes are no records. */
	assert_int_equal(instance.lost, 27);
	assert_int_equal(atomic_load(&session->drain.lost), 27);
	/* Rings of triggers lose nothing. */
	channels[0].geometry.flags = channels[1].geometry.flags = RING_COUNTS;
	instance.refused = 0;
	assert_true(losses_end(session, &instance));
	assert_called("");
}

static void test_failures(void **unused)
{
	(void)unused;
	lose();
	append_result = -EIO;
	losses_note(session, &instance);
	assert_called("append(0 1 77 11)\nfail(-5, out of memory)\n");
	append_result = 0;
	prepare_result = -ENOSPC;
	assert_true(losses_end(session, &instance));
	assert_non_null(strstr(calls, EMPTY "prepare\nfail(-28, out of memory)\nreport "));
	*calls = '\0';
	/* The disk is full: the report is deferred. */
	holds = true;
	assert_false(losses_end(session, &instance));
	assert_called(EMPTY "prepare\n");
	holds = false;
	prepare_result = 0;
	lost_result = -EIO;
	losses_note(session, &instance);
	assert_int_equal(instance.nr_reported, 0);
	*calls = '\0';
	lost_result = 0;
	/* Without memory, records are counted with the others, and bytes are not. */
	for (unsigned int i = 1; i <= 3; i++) {
		failing_call = i;
		losses_note(session, &instance);
		assert_int_equal(failing_call, 0);
		assert_non_null(strstr(calls,
				", , other reasons: there are too many different reasons: "));
		*calls = '\0';
		free(instance.reported);
		instance.reported = NULL;
		instance.nr_reported = 0;
	}
	memset(counters, 0, sizeof(counters));
	instance.refused = 0;
	failing_call = 1;
	losses_note(session, &instance);
	assert_called("");
}

/* More kinds of losses than are reported separately. */
static void test_limit(void **unused)
{
	struct lost_list list = {.session = session, .instance = &instance, .channel = 1};
	uint64_t some[RING_LOSS_REASONS] = {3, 4};

	(void)unused;
	for (uint32_t slot = 0; slot < LIMIT_LOSSES / 2; slot++)
		assert_int_equal(losses_visit(&list, 2, slot, some), 0);
	assert_int_equal(list.nr, LIMIT_LOSSES);
	assert_int_equal(list.remainder, 0);
	some[2] = 5;
	(void)losses_visit(&list, 2, 9000, some);
	assert_int_equal(list.nr, LIMIT_LOSSES);
	assert_int_equal(list.remainder, 12);
	assert_false(list.incomplete);
	assert_true(list.lost[0].key == ((uint64_t)1 << 48 | (uint64_t)2 << 32));
	assert_true(list.lost[3].key == ((uint64_t)1 << 48 | (uint64_t)2 << 32 | 1 << 8 | 1));
	losses_add_remainder(&list);
	assert_int_equal(list.nr, LIMIT_LOSSES + 1);
	assert_true(list.lost[LIMIT_LOSSES].count == 12 &&
			list.lost[LIMIT_LOSSES].key == UINT64_MAX);
	free_list(&list);
}

/* A snapshot reports what overwriting rings have lost since their beginning. */
static void test_snapshot(void **unused)
{
	struct error error;

	(void)unused;
	lose();
	losses_note(session, &instance);
	*calls = '\0';
	assert_int_equal(losses_write(session, &instance, NULL, 5, &error), 0);
	assert_called("lost(5)\n  " B_FULL ": 7\n");
	lost_result = -EIO;
	assert_int_equal(losses_write(session, &instance, NULL, 5, &error), -EIO);
	*calls = '\0';
	counters[1][2][RING_LOST_FULL] = 0;
	assert_int_equal(losses_write(session, &instance, NULL, 5, &error), 0);
	failing_call = 1;
	assert_int_equal(losses_write(session, &instance, NULL, 5, &error), -ENOMEM);
	assert_called("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_none),
			TEST(test_note),
			TEST(test_end),
			TEST(test_failures),
			TEST(test_limit),
			TEST(test_snapshot),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
