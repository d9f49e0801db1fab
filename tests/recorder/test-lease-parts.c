/* SPDX-License-Identifier: MIT */
/*
 * Leased ring memory: which program loses its memory and when it gets it back, each account, and
 * each timeout at its last nanosecond. The test includes leases.c, and plays the rings and the
 * clock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"
#include "../check.h"
#include "recorder/core/channels.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/live.h"
#include "recorder/core/memory-size.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define S UINT64_C(1000000000)
#define UID 47
#define KIB 1024u
#define EACH (100u * KIB) /* memory of a channel */
#define KEPT (10u * KIB)
#define LIMIT (2048u * KIB)
#define PROGRAMS 4

/* ---- the rings, which are numbers ---- */

static struct {
	uint64_t kept, activity, resident;
	int grant;
	bool is_asked, is_empty;
} lease[2 * PROGRAMS + 1];

static uint64_t now_ns, most, file_size;
static bool has_no_file, has_no_memory;

static struct ring_consumer *consumer(uintptr_t number)
{
	return (struct ring_consumer *)number;
}

static uintptr_t number_of(const struct ring_consumer *of)
{
	CHECK((uintptr_t)of <= 2 * PROGRAMS);
	return (uintptr_t)of;
}

static uint64_t played_revoke(const struct ring_consumer *of, int fd)
{
	called("revoke %d\n", (int)number_of(of));
	CHECK(fd == 100 + (int)number_of(of));
	return lease[number_of(of)].kept;
}

static int played_grant(const struct ring_consumer *of, int fd)
{
	called("grant %d\n", (int)number_of(of));
	CHECK(fd == 100 + (int)number_of(of));
	return lease[number_of(of)].grant;
}

static bool played_take_question(const struct ring_consumer *of)
{
	bool is_asked = lease[number_of(of)].is_asked;

	lease[number_of(of)].is_asked = false;
	return is_asked;
}

static bool played_is_empty(const struct ring_consumer *of)
{
	return lease[number_of(of)].is_empty;
}

static uint64_t played_activity(const struct ring_consumer *of)
{
	return lease[number_of(of)].activity;
}

static uint64_t played_resident(const struct ring_consumer *of)
{
	return lease[number_of(of)].resident;
}

static bool played_recall(const struct ring_consumer *of)
{
	called("recall %d\n", (int)number_of(of));
	return true;
}

static void played_deny(const struct ring_consumer *of)
{
	called("deny %d\n", (int)number_of(of));
}

static int played_gettime(clockid_t clock, struct timespec *time)
{
	CHECK(clock == CLOCK_MONOTONIC);
	time->tv_sec = (time_t)(now_ns / S);
	time->tv_nsec = (long)(now_ns % S);
	return 0;
}

static int played_fstat(int fd, struct stat *status)
{
	CHECK(fd == 101);
	status->st_size = (off_t)file_size;
	return has_no_file ? -1 : 0;
}

static void *played_realloc(void *old, size_t size)
{
	return has_no_memory ? NULL : realloc(old, size);
}

__attribute__((format(printf, 2, 3))) static void played_report(
		bool is_error, const char *format, ...)
{
	char text[300];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("report(%d, %s)\n", is_error, text);
}

#undef report_instance
#define report_instance(session, instance, is_error, ...) \
	((void)(session), (void)(instance), played_report(is_error, __VA_ARGS__))
#define report(session, is_error, ...) ((void)(session), played_report(is_error, __VA_ARGS__))
#define ring_lease_revoke(of, fd) played_revoke(of, fd)
#define ring_lease_grant(of, fd) played_grant(of, fd)
#define ring_lease_take_question(of) played_take_question(of)
#define ring_lease_is_empty(of) played_is_empty(of)
#define ring_lease_activity(of) played_activity(of)
#define ring_lease_recall(of) played_recall(of)
#define ring_lease_deny(of) played_deny(of)
#define ring_consumer_resident(of) played_resident(of)
#define memory_most(session) ((void)(session), most)
#define clock_gettime(clock, time) played_gettime(clock, time)
#define fstat(fd, status) played_fstat(fd, status)
#define realloc(old, size) played_realloc(old, size)
#include "recorder/core/leases.c"
#undef fstat
#undef realloc

static struct session *session;
static struct channel channel;
static struct instance instances[PROGRAMS];
static struct instance_channel channels[PROGRAMS][2];

/* Ring 2 N + 1 is the first one of program N. */
static int begin(void **unused)
{
	(void)unused;
	session = session_allocate();
	CHECK(session);
	session->memory.limit = LIMIT;
	shares_init(&session->memory.shares, LIMIT, 4, 0);
	memset(lease, 0, sizeof(lease));
	memset(instances, 0, sizeof(instances));
	for (unsigned int i = 0; i < PROGRAMS; i++) {
		for (unsigned int k = 0; k < 2; k++) {
			unsigned int number = 2 * i + k + 1;

			lease[number].kept = KEPT;
			channels[i][k] = (struct instance_channel){.channel = &channel,
					.memory = EACH,
					.rings = consumer(number),
					.ring_fd = 100 + (int)number};
			CHECK(shares_take(&session->memory.shares, UID, EACH));
			session->memory.used += EACH;
		}
		instances[i] = (struct instance){.channels = channels[i],
				.nr_channels = 2,
				.account = UID,
				.peer = 70 + (pid_t)i,
				.procname = (char *)(uintptr_t) "p",
				.memory = 2 * EACH};
		if (i)
			instances[i - 1].next = instances[i - 1].next_active = &instances[i];
	}
	session->instances.list = instances;
	session->memory.peak = session->memory.used;
	now_ns = 1000 * S;
	most = 0;
	has_no_file = has_no_memory = false;
	*calls = '\0';
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	session->instances.list = NULL;
	session_destroy(session);
	return 0;
}

/* Checks that this many bytes were revoked from all programs, and that the accounts agree. */
static void check_revoked(uint64_t bytes)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < PROGRAMS; i++)
		sum += 2 * EACH - instances[i].memory;
	assert_int_equal(sum, bytes);
	assert_int_equal(session->memory.used, 2 * PROGRAMS * EACH - bytes);
	assert_int_equal(shares_used(&session->memory.shares, UID), session->memory.used);
}

/* ---- taking back ---- */

static void test_reclaim(void **unused)
{
	(void)unused;
	/* First from programs that have described no event. */
	channels[0][0].ids_capacity = channels[0][1].ids_capacity = channels[1][0].ids_capacity = 1;
	leases_reclaim(session, UID, EACH - KEPT);
	assert_called("revoke 4\n");
	check_revoked(EACH - KEPT);
	assert_true(channels[1][1].unmatched && channels[1][1].revoked == EACH - KEPT);
	assert_int_equal(leases_revoked(session, UID), EACH - KEPT);
	assert_int_equal(leases_revoked(session, UID + 1), 0);
	/* One byte more than one channel has. */
	leases_reclaim(session, UID, EACH - KEPT + 1);
	assert_called("revoke 5\nrevoke 6\n");
	check_revoked(3 * (EACH - KEPT));
	/* Then from the others, oldest first. */
	leases_reclaim(session, UID, 3 * (EACH - KEPT));
	assert_called("revoke 7\nrevoke 8\nrevoke 1\n");
	assert_false(channels[0][0].unmatched);
	leases_reclaim(session, UID, 0);
	assert_called("");
	leases_reclaim(session, UID + 1, EACH);
	assert_called("");
	/* This ring has no memory to revoke. */
	lease[2].kept = 0;
	leases_reclaim(session, UID, 1);
	assert_called("revoke 2\nrevoke 3\n");
	check_revoked(7 * (EACH - KEPT));
	assert_int_equal(leases_revoked(session, UID), 7 * (EACH - KEPT));
	instances[3].state = INSTANCE_ENDED;
	assert_int_equal(leases_revoked(session, UID), 5 * (EACH - KEPT));
	assert_true(leases_has_revoked(&instances[1]));
	channels[1][0].revoked = 0;
	assert_true(leases_has_revoked(&instances[1]));
	channels[1][1].revoked = 0;
	assert_false(leases_has_revoked(&instances[1]));
}

static void test_not_reclaimed(void **unused)
{
	(void)unused;
	instances[0].state = INSTANCE_ENDED;
	instances[1].trimmed = true;
	channels[2][0].rings = NULL;
	channels[2][1].ring_fd = -1;
	channels[3][0].refuses = true;
	channels[3][1].revoked = 1;
	leases_reclaim(session, UID, EACH);
	assert_called("");
	check_revoked(0);
	channels[2][0].rings = consumer(0);
	channels[2][0].ring_fd = 0;
	assert_false(lease_is_open(&channels[2][0]));
	channels[2][0].rings = consumer(5);
	assert_true(lease_is_open(&channels[2][0]));
}

/* ---- providing ---- */

static void test_matched(void **unused)
{
	(void)unused;
	leases_reclaim(session, UID, 4 * (EACH - KEPT));
	assert_called("revoke 1\nrevoke 2\nrevoke 3\nrevoke 4\n");
	session->memory.peak = 0;
	/* The program has described no event of this channel. */
	leases_matched(session, &instances[0]);
	assert_called("");
	channels[0][0].ids_capacity = channels[0][1].ids_capacity = 1;
	leases_matched(session, &instances[0]);
	assert_called("grant 1\ngrant 2\n");
	assert_true(!channels[0][0].revoked && !channels[0][0].unmatched);
	check_revoked(2 * (EACH - KEPT));
	assert_int_equal(session->memory.peak, session->memory.used);
	leases_matched(session, &instances[0]);
	assert_called("");
	channels[1][0].ids_capacity = channels[1][1].ids_capacity = 1;
	channels[1][0].unmatched = false;
	channels[1][1].ring_fd = -1;
	leases_matched(session, &instances[1]);
	assert_called("");
	channels[1][1].ring_fd = 104;
	instances[1].state = INSTANCE_ENDED;
	leases_matched(session, &instances[1]);
	assert_called("");
	instances[1].state = INSTANCE_LIVE;
	lease[4].grant = -ENOSPC;
	leases_matched(session, &instances[1]);
	assert_called("grant 4\n");
	assert_true(channels[1][1].unmatched && channels[1][1].revoked);
	/* Exactly as much as is left, and one byte less. */
	lease[4].grant = 0;
	CHECK(shares_take(&session->memory.shares, UID,
			shares_left(&session->memory.shares, UID) - (EACH - KEPT) + 1));
	leases_matched(session, &instances[1]);
	assert_called("");
	shares_give_back(&session->memory.shares, UID, 1);
	leases_matched(session, &instances[1]);
	assert_called("grant 4\n");
	assert_int_equal(shares_left(&session->memory.shares, UID), 0);
}

/* ---- programs that ask ---- */

#define DENIED "report(1, events of process %d (p) are not recorded: %s)\n"

static void turn(void)
{
	/* No search for idle rings. */
	session->leases.next = UINT64_MAX;
	leases_turn(session, instances);
}

static void test_questions(void **unused)
{
	struct service service;
	char expected[300];
	uint64_t taken;

	(void)unused;
	turn();
	assert_called("");
	leases_reclaim(session, UID, 2 * (EACH - KEPT));
	*calls = '\0';
	instances[0].denied = "x";
	lease[1].is_asked = true;
	turn();
	assert_called("grant 1\n");
	assert_null(instances[0].denied);
	check_revoked(EACH - KEPT);
	/* No memory is free: other programs of the user lose memory that they do not need. */
	taken = shares_left(&session->memory.shares, UID);
	CHECK(shares_take(&session->memory.shares, UID, taken));
	lease[2].is_asked = true;
	for (unsigned int i = 1; i <= 3; i++)
		lease[i].kept = 0;
	turn();
	/* Its own first ring and the third one have no memory to revoke. */
	assert_called("revoke 1\nrevoke 3\nrevoke 4\ngrant 2\n");
	assert_int_equal(shares_left(&session->memory.shares, UID), 0);
	assert_true(channels[1][1].revoked && !channels[0][1].revoked);
	/*
	 * No memory can be revoked. The second program of the user is not searched again in this
	 * round.
	 */
	for (unsigned int i = 1; i <= 2 * PROGRAMS; i++)
		lease[i].kept = 0;
	channels[2][0].revoked = EACH - KEPT;
	lease[4].is_asked = lease[5].is_asked = true;
	turn();
	assert_called("revoke 1\nrevoke 2\nrevoke 3\nrevoke 6\nrevoke 7\nrevoke 8\ndeny 4\ndeny 5\n");
	assert_string_equal(instances[1].denied, NO_MEMORY);
	assert_true(instances[1].counted_denied);
	assert_int_equal(session->leases.nr_denied, 2);
	/* Both are reported in one sentence, at the end. */
	leases_report(session);
	(void)snprintf(expected, sizeof(expected),
			"report(1, events of 2 processes are not recorded, the first: events of process 71 (p) are not recorded: %s)\n",
			NO_MEMORY);
	assert_called(expected);
	/* The process is counted once. */
	lease[4].is_asked = true;
	turn();
	assert_called("revoke 1\nrevoke 2\nrevoke 3\nrevoke 6\nrevoke 7\nrevoke 8\ndeny 4\n");
	assert_int_equal(session->leases.nr_denied, 2);
	/* Another reason. A live session reports this process at once. */
	session->service = &service;
	shares_give_back(&session->memory.shares, UID, taken);
	lease[4].grant = -ENOSPC;
	lease[4].is_asked = true;
	instances[1].counted_denied = false;
	turn();
	(void)snprintf(expected, sizeof(expected), "grant 4\ndeny 4\n" DENIED, 71, NO_SPACE);
	assert_called(expected);
	assert_string_equal(instances[1].denied, NO_SPACE);
	assert_int_equal(session->leases.nr_denied, 3);
	session->service = NULL;
	leases_free(session);
	leases_report(session);
	assert_called("");
	/* The request of an exited process is answered; a closed ring does not request memory. */
	instances[1].state = INSTANCE_ENDED;
	lease[3].is_asked = lease[5].is_asked = true;
	channels[2][0].ring_fd = -1;
	turn();
	assert_called("deny 3\n");
	assert_true(lease[5].is_asked);
}

/* The search of the same round includes another user. */
static void test_two_users(void **unused)
{
	(void)unused;
	for (unsigned int i = 1; i <= 2 * PROGRAMS; i++)
		lease[i].kept = 0;
	CHECK(shares_take(&session->memory.shares, UID, shares_left(&session->memory.shares, UID)));
	channels[0][0].revoked = channels[3][0].revoked = 10;
	instances[3].account = UID + 1;
	instances[1].counted_denied = true;
	lease[1].is_asked = lease[7].is_asked = true;
	CHECK(!shares_left(&session->memory.shares, UID));
	if (shares_left(&session->memory.shares, UID + 1) >= 10)
		CHECK(shares_take(&session->memory.shares, UID + 1,
				shares_left(&session->memory.shares, UID + 1)));
	turn();
	assert_non_null(strstr(
			calls, "revoke 2\nrevoke 3\nrevoke 4\nrevoke 5\nrevoke 6\ndeny 1\n"));
	assert_non_null(strstr(calls, "revoke 8\ndeny 7\n"));
	*calls = '\0';
}

/* ---- programs that are idle ---- */

static void scan(void)
{
	session->leases.next = 0;
	leases_turn(session, instances);
}

static void only_first(void)
{
	for (unsigned int i = 0; i < PROGRAMS; i++)
		for (unsigned int k = 0; k < 2; k++)
			channels[i][k].ring_fd = i || k ? -1 : 101;
}

static void test_scans(void **unused)
{
	(void)unused;
	only_first();
	scan();
	assert_int_equal(session->leases.next, 1001 * S);
	assert_int_equal(channels[0][0].active_ns, 1000 * S);
	assert_int_equal(channels[1][0].active_ns, 0);
	/* Once a second. */
	lease[1].activity = 1;
	now_ns = 1001 * S - 1;
	leases_turn(session, instances);
	assert_int_equal(channels[0][0].active_ns, 1000 * S);
	now_ns++;
	leases_turn(session, instances);
	assert_int_equal(channels[0][0].active_ns, 1001 * S);
	assert_int_equal(channels[0][0].activity, 1);
	/* No event is described within 2 s. */
	now_ns = 1003 * S - 1;
	scan();
	assert_called("");
	instances[0].trimmed = true;
	now_ns++;
	scan();
	assert_called("");
	instances[0].trimmed = false;
	scan();
	assert_called("revoke 1\n");
	assert_true(channels[0][0].revoked && channels[0][0].unmatched);
	check_revoked(EACH - KEPT);
	scan();
	assert_called("");
}

static void test_idle(void **unused)
{
	uint64_t left;

	(void)unused;
	only_first();
	channels[0][0].ids_capacity = 1;
	lease[1].is_empty = true;
	scan();
	CHECK(shares_take(&session->memory.shares, UID,
			shares_left(&session->memory.shares, UID) - LIMIT / 8 + 1));
	now_ns += 5 * S - 1;
	scan();
	assert_called("");
	now_ns++;
	scan();
	assert_called("recall 1\n");
	lease[1].is_empty = false;
	scan();
	assert_called("");
	lease[1].is_empty = true;
	/* An eighth of the limit is enough. */
	shares_give_back(&session->memory.shares, UID, 1);
	assert_int_equal(shares_left(&session->memory.shares, UID), LIMIT / 8);
	scan();
	assert_called("");
	/* The memory that a program needs is enough, if that is more. */
	left = shares_left(&session->memory.shares, UID);
	most = left;
	scan();
	assert_called("");
	most = left + 1;
	scan();
	assert_called("recall 1\n");
	lease[1].activity++;
	scan();
	assert_called("");
	assert_int_equal(channels[0][0].revoked, 0);
}

/* A program has used revoked memory: it is charged for all of it, and nothing is revoked again. */
static void test_refilled(void **unused)
{
	(void)unused;
	for (int with_files = 0; with_files < 2; with_files++) {
		only_first();
		session->buffers.path = with_files ? strdup("/b") : NULL;
		channels[0][0].refuses = false;
		leases_reclaim(session, UID, 1);
		assert_called("revoke 1\n");
		lease[1].resident = file_size = KEPT;
		scan();
		assert_false(channels[0][0].refuses);
		check_revoked(EACH - KEPT);
		if (with_files) {
			has_no_file = true;
			file_size = EACH;
			scan();
			assert_false(channels[0][0].refuses);
			has_no_file = false;
			lease[1].resident = EACH;
			file_size = KEPT;
			scan();
			assert_false(channels[0][0].refuses);
		} else {
			file_size = EACH;
			scan();
			assert_false(channels[0][0].refuses);
		}
		lease[1].resident = file_size = KEPT + 1;
		scan();
		assert_true(channels[0][0].refuses && !channels[0][0].revoked);
		check_revoked(0);
		leases_reclaim(session, UID, 1);
		assert_called("");
	}
}

/* ---- what is shown ---- */

static void test_status(void **unused)
{
	struct session_status status = {.nr_waiting = 0};

	(void)unused;
	instances[0].denied = NO_MEMORY;
	instances[1].denied = NO_SPACE;
	instances[1].state = INSTANCE_ENDED;
	channels[2][1].revoked = 1;
	channels[3][0].revoked = 1;
	channels[0][0].revoked = 1;
	assert_int_equal(leases_status(session, &status), 0);
	assert_int_equal(status.nr_waiting, 1);
	assert_int_equal(status.nr_idle, 2);
	assert_int_equal(status.refused[0].peer, 70);
	assert_int_equal(status.refused[0].uid, UID);
	assert_string_equal(status.refused[0].procname, "p");
	assert_string_equal(status.refused[0].reason, NO_MEMORY);
	/* At most REFUSALS_OF_USER of one user. */
	for (unsigned int i = 0; i < REFUSALS_OF_USER + 5; i++)
		assert_int_equal(leases_status(session, &status), 0);
	assert_int_equal(status.nr_waiting, REFUSALS_OF_USER);
	instances[0].account = UID + 1;
	has_no_memory = true;
	assert_int_equal(leases_status(session, &status), -ENOMEM);
	assert_int_equal(status.nr_waiting, REFUSALS_OF_USER);
	has_no_memory = false;
	assert_int_equal(leases_status(session, &status), 0);
	assert_int_equal(status.nr_waiting, REFUSALS_OF_USER + 1);
	assert_int_equal(pthread_mutex_trylock(&session->lock), 0);
	pthread_mutex_unlock(&session->lock);
	for (size_t i = 0; i < status.nr_waiting; i++)
		free(status.refused[i].procname);
	free(status.refused);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_reclaim),
			TEST(test_not_reclaimed),
			TEST(test_matched),
			TEST(test_questions),
			TEST(test_two_users),
			TEST(test_scans),
			TEST(test_idle),
			TEST(test_refilled),
			TEST(test_status),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
