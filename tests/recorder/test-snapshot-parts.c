/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: which rings are copied, the content and the name of a snapshot, and each call that
 * fails. The test includes snapshot.c, and plays the rings and the trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../called.h"
#include "../check.h"
#include "../resources.h"
#include "ctf/ctf.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/rotation/retain.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/snapshot.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

static const char *failing; /* the call that fails, or NULL */
static int failing_error;
static unsigned int failing_after; /* the number of its calls that succeed first */
static int nr_mapped;
static int results[32]; /* of the copies of rings; then 1 */
static unsigned int nr_results;
static uint64_t records, appended;
static bool holds, has_clock;
static uint64_t now;

static int fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0 || failing_after--)
		return 0;
	failing = NULL;
	errno = -failing_error;
	return failing_error;
}

static void arm(const char *name, unsigned int after, int error)
{
	failing = name;
	failing_after = after;
	failing_error = error;
}

__attribute__((format(printf, 2, 3))) static void played_report(
		bool is_error, const char *format, ...)
{
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("report(%d, %s)\n", is_error, text);
}

static void *played_mmap(size_t size, int protection, int flags)
{
	CHECK(protection == (PROT_READ | PROT_WRITE) &&
			flags == (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE));
	called("mmap(%zu)\n", size);
	if (fails("mmap"))
		return MAP_FAILED;
	nr_mapped += (int)size;
	return malloc(size);
}

static int played_munmap(void *address, size_t size)
{
	nr_mapped -= (int)size;
	free(address);
	return 0;
}

static int played_copy(
		const struct ring_consumer *of, uint32_t ring, void *buffer, struct ring_span *span)
{
	int ret = nr_results < 32 && results[nr_results] != 99 ? results[nr_results++] : 1;

	CHECK(buffer);
	*span = (struct ring_span){.data = buffer,
			.size = 100 * (uintptr_t)of + ring,
			.position = 3,
			.first_timestamp = 4,
			.end_timestamp = 50 + ring};
	return ret;
}

static int played_append(uint32_t channel, uint32_t ring, const struct ctf_span *span)
{
	called("append(%u %u %zu %d %d %d)\n", channel, ring, span->size,
			(int)span->timestamp_begin, (int)span->timestamp_end,
			(int)span->events_discarded);
	return fails("append");
}

static int played_create(const char *path, struct ctf_writer **writer)
{
	int ret = fails("create");

	called("create(%s)\n", strrchr(path, '/') + 1);
	if (!ret)
		*writer = (struct ctf_writer *)(uintptr_t)1;
	return ret;
}

static int step(const char *name, struct error *error)
{
	int ret = fails(name);

	called("%s\n", name);
	if (ret) {
		(void)snprintf(error->text, sizeof(error->text), "%s failed", name);
		(void)snprintf(error->hint, sizeof(error->hint), "%s",
				ret == -EIO ? "mend it" : "");
	}
	return ret;
}

static int played_rename(const char *from, const char *to)
{
	return fails("rename") ? -1 : rename(from, to);
}

static int played_mkdir(const char *path, mode_t mode)
{
	CHECK(mode == CTF_DIRECTORY_MODE);
	return fails("mkdir") ? -1 : mkdir(path, mode);
}

#undef report_instance
#define report_instance(session, instance, is_error, ...) \
	((void)(session), (void)(instance), played_report(is_error, __VA_ARGS__))
#define report(session, is_error, ...) ((void)(session), played_report(is_error, __VA_ARGS__))
#define report_failure(session, code) ((void)(session), called("failure(%d)\n", code))
#define mmap(address, size, protection, flags, fd, offset) played_mmap(size, protection, flags)
#define munmap(address, size) played_munmap(address, size)
#define mkdir(path, mode) played_mkdir(path, mode)
#define rename(from, to) played_rename(from, to)
#define ring_consumer_snapshot(of, ring, buffer, span) played_copy(of, ring, buffer, span)
#define ring_consumer_snapshot_after(of, ring, buffer, before, span) \
	(called("after(%zu)\n", (before)->size), played_copy(of, ring, buffer, span))
#define ring_consumer_lost_total(of, ring) (10 * (uintptr_t)(of) + (ring))
#define trace_report_damage(session, instance, channel, ring) \
	called("damage(%u %u)\n", channel, ring)
#define trace_append(session, instance, channel, ring, span, error) \
	((void)(error), played_append(channel, ring, span))
#define trace_fail(session, instance, code, error) called("fail(%d, %s)\n", code, (error)->text)
#define trace_drain(session, instance) called("drain(%u)\n", (instance)->number)
#define trace_create(session, instance, path, writer, error) \
	((void)(error), played_create(path, writer))
#define trace_describe(session, instance, writer, described, error) \
	(CHECK_ZERO(*(described)), step("describe", error))
#define CHECK_ZERO(value) ((value) ? abort() : (void)0)
#define rotate_for(session, bytes) ((void)(session), called("for(%d)\n", (int)(bytes)))
#define full_holds(session, code) ((void)(session), (void)(code), holds)
#define losses_write(session, instance, writer, ticks, error) \
	(called("losses(%d)\n", (int)(ticks)), step("losses", error))
#define session_refined_clock(session, clock) \
	((void)(session), (void)(clock), has_clock ? 0 : -ENODATA)
#define ctf_writer_set_clock(writer, clock, error) ((void)(error), called("clock\n"))
#define ctf_writer_open_stream(writer, channel, ring, timestamp, stream, error) \
	(called("open(%u %u %d)\n", channel, ring, (int)(timestamp)),           \
			*(stream) = (struct ctf_stream *)(uintptr_t)2, step("open", error))
#define ctf_stream_append(stream, span, error) \
	(called("stream(%zu)\n", (span)->size), appended += records, step("stream", error))
#define ctf_stream_records(stream) ((void)(stream), appended)
#define wire_deadline(after) (now + (after))
#define ctf_writer_close(writer, error) ((void)(writer), step("close", error))
#include "recorder/rotation/snapshot.c"
#undef mmap
#undef munmap
#undef mkdir
#undef rename
#undef report

static char work[] = "/tmp/side-snapshot-XXXXXX";
static struct session *session;
static struct channel plain,
		flight = {.name = (char *)(uintptr_t) "flight", .mode = RING_MODE_OVERWRITE};
static struct instance_ring each[2][3][2];
static struct instance_channel channels[2][3];
static struct instance instances[2];

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

/*
 * The first program has a plain channel and two that overwrite; the second one has plain channels
 * only.
 */
static int begin(void **unused)
{
	(void)unused;
	session = session_allocate();
	CHECK(session && !mkdir(work, 0700));
	session->output.path = strdup(work);
	memset(each, 0, sizeof(each));
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int k = 0; k < 3; k++)
			channels[i][k] = (struct instance_channel){
					.channel = k && !i ? &flight : &plain,
					.geometry = {.rings = 2, .size = 1000 * k},
					.rings = (struct ring_consumer *)(uintptr_t)(k + 1),
					.each = each[i][k]};
		instances[i] = (struct instance){.number = i + 1,
				.pid = 70 + i,
				.peer = 90 + (pid_t)i,
				.procname = (char *)(uintptr_t) "p",
				.channels = channels[i],
				.nr_channels = 3};
	}
	instances[0].next_active = &instances[1];
	failing = NULL;
	nr_results = 0;
	for (int i = 0; i < 32; i++)
		results[i] = 99;
	records = 5;
	holds = has_clock = false;
	*calls = '\0';
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	session_destroy(session);
	CHECK(!nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS));
	return nr_mapped ? -1 : 0;
}

static bool is_there(const char *name)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "%s/%s", work, name);
	return !access(path, F_OK);
}

/* ---- at the end ---- */

#define RING(channel, ring, size, lost) \
	"for(" size ")\nappend(" channel " " ring " " size " 4 5" ring " " lost ")\n"
#define ALL                                                                                    \
	"mmap(1000)\n" RING("1", "0", "200", "20")                                             \
			RING("1", "1", "201", "21") "mmap(2000)\n" RING("2", "0", "300", "30") \
					RING("2", "1", "301", "31")

static void test_end(void **unused)
{
	(void)unused;
	assert_true(snapshot_end(session, &instances[0]));
	assert_called(ALL);
	assert_int_equal(instances[0].overwritten, 12);
	assert_true(each[0][1][1].window_written && each[0][1][1].overwritten == 3 &&
			!each[0][1][1].unwritten && !each[0][0][0].window_written);
	/* Only once. */
	assert_true(snapshot_end(session, &instances[0]));
	assert_called("mmap(1000)\nmmap(2000)\n");
	assert_int_equal(instances[0].overwritten, 12);
	assert_true(snapshot_end(session, &instances[1]));
	assert_called("");
}

static void test_failed_end(void **unused)
{
	(void)unused;
	/* The disk is full: the remainder is written later. */
	holds = true;
	arm("append", 1, -ENOSPC);
	assert_false(snapshot_end(session, &instances[0]));
	assert_called("mmap(1000)\n" RING("1", "0", "200", "20") RING("1", "1", "201", "21"));
	assert_true(each[0][1][0].window_written && !each[0][1][1].window_written);
	holds = false;
	arm("append", 0, -EIO);
	assert_true(snapshot_end(session, &instances[0]));
	assert_called("mmap(1000)\n" RING("1", "1", "201", "21") "fail(-5, )\nmmap(2000)\n" RING(
			"2", "0", "300", "30") RING("2", "1", "301", "31"));
	assert_int_equal(each[0][1][1].unwritten, 201);
	assert_true(each[0][1][1].window_written);
	/* No memory for the copy of one channel. */
	memset(each, 0, sizeof(each));
	arm("mmap", 0, -ENOMEM);
	assert_true(snapshot_end(session, &instances[0]));
	assert_called("mmap(1000)\nfail(-12, out of memory: cannot copy a ring)\nmmap(2000)\n" RING(
			"2", "0", "300", "30") RING("2", "1", "301", "31"));
}

static void test_copies(void **unused)
{
	static const char faster[] =
			"report(1, ring flight_0 of process 90 (p) was overwritten faster than it could be read\nuse a larger `--buffer-size`)\n";
	struct ctf_span packet;
	struct ring_span span = {0};
	struct snapshot_ring_copy copy = {0};

	(void)unused;
	assert_true(copy_reserve(&copy, 100) && copy_reserve(&copy, 100) &&
			copy_reserve(&copy, 50));
	assert_called("mmap(100)\n");
	for (int i = 0; i < 20; i++)
		results[i] = -EAGAIN;
	assert_int_equal(copy_ring(session, &instances[0], 1, 0, &copy, &span, &packet), 0);
	assert_called(faster);
	assert_int_equal(nr_results, 20);
	/* The last attempt succeeds. */
	nr_results = 1;
	span.size = 0;
	assert_int_equal(copy_ring(session, &instances[0], 1, 0, &copy, &span, &packet), 1);
	assert_true(packet.size == 200 && packet.records == copy.buffer);
	assert_called("");
	/* What follows. */
	assert_int_equal(copy_ring(session, &instances[0], 1, 0, &copy, &span, &packet), 1);
	assert_called("after(200)\n");
	span.size = 0;
	nr_results = 0;
	results[0] = 0;
	assert_int_equal(copy_ring(session, &instances[0], 1, 1, &copy, &span, &packet), 0);
	assert_called("");
	span.size = 0;
	nr_results = 0;
	results[0] = -EBADMSG;
	assert_int_equal(copy_ring(session, &instances[0], 1, 1, &copy, &span, &packet), 0);
	assert_called("damage(1 1)\n");
	each[0][1][1].damaged = true;
	assert_int_equal(copy_ring(session, &instances[0], 1, 1, &copy, &span, &packet), 0);
	assert_called("");
	snapshot_copy_free(&copy);
	assert_true(!copy.buffer && !copy.size && !nr_mapped);
}

/* ---- on request ---- */

#define STREAM(channel, ring, size) "open(" channel " " ring " 4)\nopen\nstream(" size ")\nstream\n"
#define PICTURE                                                                                \
	"drain(1)\nmmap(1000)\ncreate(p-70-1)\ndescribe\n" STREAM("1", "0", "200") STREAM("1", \
			"1", "201") "mmap(2000)\n" STREAM("2", "0", "300") STREAM("2", "1", "301")

static void test_make(void **unused)
{
	(void)unused;
	assert_int_equal(snapshot_make(session, instances, ""), 1);
	assert_called(PICTURE "losses(51)\nlosses\nclose\ndrain(2)\n");
	assert_true(is_there("snapshot-1"));
	assert_int_equal(session->snapshots.nr, 1);
	assert_int_equal(atomic_load(&session->snapshots.recorded), 20);
	assert_string_equal(session->snapshots.first, "snapshot-1");
	assert_string_equal(session->snapshots.last, "snapshot-1");
	assert_int_equal(session->snapshots.first_recorded, 20);
	/* The next free number, and a clock with a better correction. */
	{
		char path[100];

		(void)snprintf(path, sizeof(path), "%s/snapshot-2-x", work);
		assert_int_equal(mkdir(path, 0700), 0);
		strcat(path, "/file");
		assert_int_equal(mkdir(path, 0700), 0);
	}
	has_clock = true;
	records = 1;
	assert_int_equal(snapshot_make(session, instances, "-x"), 3);
	assert_called(PICTURE "losses(51)\nlosses\nclock\nclose\ndrain(2)\n");
	assert_true(is_there("snapshot-3-x"));
	assert_int_equal(session->snapshots.nr, 2);
	assert_string_equal(session->snapshots.first, "snapshot-1");
	assert_string_equal(session->snapshots.last, "snapshot-3-x");
	assert_int_equal(session->snapshots.first_recorded, 20);
	assert_int_equal(session->snapshots.last_recorded, 4);
	assert_int_equal(atomic_load(&session->snapshots.recorded), 24);
	/* All rings are empty, and so is the snapshot. */
	for (int i = 0; i < 4; i++)
		results[i] = 0;
	nr_results = 0;
	assert_int_equal(snapshot_make(session, instances, ""), 3);
	assert_called("drain(1)\nmmap(1000)\nmmap(2000)\ndrain(2)\n");
	assert_true(is_there("snapshot-3"));
	assert_int_equal(session->snapshots.error, 0);
}

#define INCOMPLETE(code, text)                                                               \
	"failure(" code ")\nreport(1, the snapshot of process 90 (p) is not complete: " text \
	")\ndrain(2)\n"

static void test_failed_make(void **unused)
{
	static const struct {
		const char *name, *calls;
		int error;
	} failures[] = {
			{"mmap", "drain(1)\nmmap(1000)\n" INCOMPLETE("-12", "out of memory"),
					-ENOMEM},
			{"create",
					"drain(1)\nmmap(1000)\ncreate(p-70-1)\n" INCOMPLETE(
							"-13", "out of memory"),
					-EACCES},
			{"describe",
					"drain(1)\nmmap(1000)\ncreate(p-70-1)\ndescribe\nclose\n" INCOMPLETE(
							"-5", "describe failed\nmend it"),
					-EIO},
			{"open",
					"drain(1)\nmmap(1000)\ncreate(p-70-1)\ndescribe\nopen(1 0 4)\nopen\nclose\n" INCOMPLETE(
							"-28", "open failed"),
					-ENOSPC},
			{"stream",
					"drain(1)\nmmap(1000)\ncreate(p-70-1)\ndescribe\n" STREAM(
							"1", "0", "200") "close\n" INCOMPLETE("-28",
							"stream failed"),
					-ENOSPC},
			{"losses",
					PICTURE "losses(51)\nlosses\nclose\n" INCOMPLETE(
							"-28", "losses failed"),
					-ENOSPC},
			{"close",
					PICTURE "losses(51)\nlosses\nclose\n" INCOMPLETE(
							"-28", "close failed"),
					-ENOSPC},
	};
	char expected[200];

	(void)unused;
	for (uint32_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		arm(failures[i].name, 0, failures[i].error);
		assert_int_equal(snapshot_make(session, instances, ""), i + 1);
		assert_called(failures[i].calls);
	}
	for (int i = 0; i < 2; i++) {
		arm(i ? "rename" : "mkdir", 0, -EDQUOT);
		assert_int_equal(snapshot_make(session, NULL, ""), 0);
		(void)snprintf(expected, sizeof(expected),
				"failure(%d)\nreport(1, a snapshot could not be written to %s: %s)\n",
				-EDQUOT, work, strerror(EDQUOT));
		assert_called(expected);
		assert_int_equal(session->snapshots.error, -EDQUOT);
	}
	assert_int_equal(session->snapshots.nr, 7);
	/* The next one begins anew, and the error is cleared. */
	assert_int_equal(snapshot_make(session, NULL, ""), 8);
	assert_int_equal(session->snapshots.error, 0);
	/* No number is free. */
	session->snapshots.nr = SNAPSHOTS_MAX - 1;
	assert_int_equal(snapshot_make(session, NULL, ""), SNAPSHOTS_MAX);
	assert_int_equal(snapshot_make(session, NULL, ""), 0);
	assert_int_equal(session->snapshots.error, -EEXIST);
	*calls = '\0';
}

/* ---- with a state dump ---- */

#define FOLLOWING(stream, size) "after(" size ")\ndescribe\nstream(" stream ")\nstream\n"
#define STATES                  \
	FOLLOWING("200", "200") \
	FOLLOWING("201", "201") FOLLOWING("300", "300") FOLLOWING("301", "301")
#define WITHOUT                                                                                   \
	"report(1, the snapshot has no state dump of 1 processes: too many files would be open\n" \
	"raise the limit of open files with `ulimit -n`)\n"

/* The first phase describes the events for each ring, because the process may describe more. */
static const char first_phase[] = "drain(1)\nmmap(1000)\ncreate(p-70-1)\ndescribe\n" STREAM("1",
		"0",
		"200") "describe\n" STREAM("1", "1", "201") "mmap(2000)\ndescribe\n" STREAM("2",
		"0", "300") "describe\n" STREAM("2", "1", "301") "drain(2)\n";

static bool session_wants_state_now(void)
{
	/* Relaxed: one thread. */
	return atomic_exchange_explicit(
			&session->snapshots.state_wanted, false, memory_order_relaxed);
}

static void test_state(void **unused)
{
	(void)unused;
	assert_false(snapshot_finish(session, instances));
	snapshot_begin(session, instances, 9);
	assert_called(first_phase);
	assert_true(session->snapshots.open && snapshot_files(session) == 9);
	assert_int_equal(session->snapshots.nr, 0);
	assert_true(!is_there("snapshot-1"));
	/* A snapshot of a trigger does not disturb it. */
	assert_int_equal(snapshot_make(session, NULL, "-x"), 1);
	assert_true(snapshot_finish(session, instances));
	assert_called(STATES "losses(51)\nlosses\nclose\n");
	assert_true(is_there("snapshot-2") && !session->snapshots.open);
	assert_int_equal(session->snapshots.last_recorded, 40);
	assert_int_equal(snapshot_files(session), 0);
	/* Nothing new in one ring. */
	snapshot_begin(session, instances, 100);
	assert_called(first_phase);
	results[nr_results] = 0;
	assert_true(snapshot_finish(session, instances));
	assert_called("after(200)\n" FOLLOWING("201", "201") FOLLOWING("300", "300")
					FOLLOWING("301", "301") "losses(51)\nlosses\nclose\n");
	assert_int_equal(session->snapshots.last_recorded, 35);
}

static void test_state_ends(void **unused)
{
	(void)unused;
	/* A process ends meanwhile: its rings are read now, and only once. */
	snapshot_instance_ends(session, &instances[0]);
	assert_called("");
	snapshot_begin(session, instances, 9);
	assert_called(first_phase);
	snapshot_instance_ends(session, &instances[0]);
	assert_called(STATES "losses(51)\nlosses\nclose\n");
	snapshot_instance_ends(session, &instances[0]);
	assert_true(snapshot_finish(session, instances));
	assert_called("");
	/* The time to wait, or the session, ends. */
	for (int last = 0; last < 2; last++) {
		snapshot_turn(session, instances, last);
		snapshot_begin(session, instances, 9);
		now += last ? 0 : LIMIT_STATE_REQUEST_MS - 1;
		snapshot_turn(session, instances, false);
		assert_true(session->snapshots.open);
		now++;
		snapshot_turn(session, instances, last);
		assert_true(!session->snapshots.open);
		assert_int_equal(session->snapshots.nr, last + 2);
	}
	/* A second request publishes the first. */
	snapshot_begin(session, NULL, 9);
	snapshot_begin(session, NULL, 9);
	assert_int_equal(session->snapshots.nr, 4);
	assert_true(snapshot_finish(session, NULL));
	assert_int_equal(session->snapshots.nr, 5);
	*calls = '\0';
}

static void test_automatic_state(void **unused)
{
	(void)unused;
	session->snapshots.spare_files = 9;
	/* The name and the report are those of the trigger, and the programs are asked once. */
	assert_false(session_wants_state_now());
	snapshot_begin_automatic(session, instances, "-x", "event:a:b");
	assert_called(first_phase);
	assert_true(session_wants_state_now() && !session_wants_state_now());
	assert_int_equal(snapshot_files(session), 9);
	snapshot_finish_automatic(session, instances);
	assert_called(STATES
			"losses(51)\nlosses\nclose\nreport(0, snapshot-1-x was made: event:a:b)\n");
	assert_true(is_there("snapshot-1-x") && !session->snapshots.open);
	snapshot_finish_automatic(session, instances);
	assert_called("");
	/* A request publishes it, and its own snapshot is not finished by the state of the other. */
	snapshot_begin_automatic(session, NULL, "", "rate");
	snapshot_begin(session, NULL, 9);
	assert_called("report(0, snapshot-2 was made: rate)\n");
	snapshot_finish_automatic(session, NULL);
	assert_true(session->snapshots.open && session->snapshots.nr == 2);
	assert_true(snapshot_finish(session, NULL));
	/* Without a directory, no program is asked. */
	assert_true(session_wants_state_now());
	arm("mkdir", 0, -EDQUOT);
	snapshot_begin_automatic(session, instances, "", "rate");
	assert_true(!session->snapshots.open && !session_wants_state_now());
	*calls = '\0';
}

static void test_failed_state(void **unused)
{
	(void)unused;
	/* Too many files. */
	snapshot_begin(session, instances, 8);
	assert_true(strstr(calls, "losses(51)\nlosses\nclose\ndrain(2)\n" WITHOUT));
	*calls = '\0';
	assert_true(snapshot_finish(session, instances));
	assert_called("");
	assert_true(is_there("snapshot-1"));
	/* In the first phase: nothing is added later. */
	arm("stream", 0, -ENOSPC);
	snapshot_begin(session, instances, 9);
	*calls = '\0';
	assert_true(snapshot_finish(session, instances));
	assert_called("close\nfailure(-28)\nreport(1, the snapshot of process 90 (p) is not complete: stream failed)\n");
	/* In the second phase: the first one is kept. */
	snapshot_begin(session, instances, 9);
	*calls = '\0';
	arm("describe", 0, -EIO);
	assert_true(snapshot_finish(session, instances));
	assert_called("after(200)\ndescribe\nclose\nfailure(-5)\nreport(1, the snapshot of process 90 (p) is not complete: describe failed\nmend it)\n");
	assert_int_equal(session->snapshots.last_recorded, 20);
	arm("mkdir", 0, -EDQUOT);
	snapshot_begin(session, instances, 9);
	assert_true(!session->snapshots.open);
	assert_int_equal(session->snapshots.error, -EDQUOT);
	*calls = '\0';
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_end),
			TEST(test_failed_end),
			TEST(test_copies),
			TEST(test_make),
			TEST(test_failed_make),
			TEST(test_state),
			TEST(test_state_ends),
			TEST(test_automatic_state),
			TEST(test_failed_state),
	};

	alarm(50);
	if (!mkdtemp(work) || rmdir(work))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
