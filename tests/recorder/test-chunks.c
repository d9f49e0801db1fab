/* SPDX-License-Identifier: MIT */
/*
 * Chunks of a recording: names and numbers, when a chunk ends, the content of the next one, and
 * each call that fails. The test includes rotate.c, and plays the clock and the calls.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"
#include "../check.h"
#include "../resources.h"
#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/rotation/retain.h"
#include "recorder/rotation/rotate.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/output.h"
#include "recorder/storage/state-directory.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

#define S UINT64_C(1000000000)
#define STAMP "20240229-130405"

static uint64_t now_ns;
static bool is_full, is_adopted, has_clock;
static const char *failing; /* the call that fails, or NULL */
static int failing_error;
static unsigned int nr_mkdirs, failing_for; /* it fails for as many calls; 0: once */
static struct statx_timestamp place_time, trace_time;
static bool has_times = true;

static bool fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0)
		return false;
	if (failing_for < 2)
		failing = NULL;
	else
		failing_for--;
	errno = failing_error;
	return true;
}

static void arm(const char *name, int error, unsigned int times)
{
	failing = name;
	failing_error = error;
	failing_for = times;
}

__attribute__((format(printf, 2, 3))) static void played_report(
		bool is_error, const char *format, ...)
{
	char text[600];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("report(%d, %s)\n", is_error, text);
}

static int played_mkdir(const char *path, mode_t mode)
{
	CHECK(mode == CTF_DIRECTORY_MODE);
	nr_mkdirs++;
	return fails("mkdir") ? -1 : mkdir(path, mode);
}

static int played_rename(const char *from, const char *to)
{
	return fails("rename") ? -1 : rename(from, to);
}

__attribute__((format(printf, 2, 3))) static int played_asprintf(
		char **text, const char *format, ...)
{
	va_list arguments;
	int ret;

	/* The content of *text is undefined after a failure. */
	*text = (char *)(uintptr_t)1;
	if (fails("asprintf"))
		return -1;
	va_start(arguments, format);
	ret = vasprintf(text, format, arguments);
	va_end(arguments);
	return ret;
}

static time_t played_time(void)
{
	return 1709211845;
}

static int played_statx(int directory, const char *name, int flags, struct statx *status)
{
	bool is_place = !*name;

	CHECK(flags == (AT_SYMLINK_NOFOLLOW | (is_place ? AT_EMPTY_PATH : 0)) && directory >= 0);
	if (fails(is_place ? "statx-place" : "statx"))
		return -1;
	status->stx_mask = has_times ? STATX_BTIME : 0;
	status->stx_btime = is_place ? place_time : trace_time;
	return 0;
}

static void played_close(
		struct session *session, struct instance *instance, const struct ctf_clock *clock)
{
	called("close(%u, %d)\n", instance->number, clock != NULL);
	CHECK(session->drain.writers == instance);
	session->drain.writers = instance->next_writer;
}

#undef report_instance
#define report(session, is_error, ...) ((void)(session), played_report(is_error, __VA_ARGS__))
#define report_failure(session, code) ((void)(session), called("failure(%d)\n", code))
#define mkdir(path, mode) played_mkdir(path, mode)
#define rename(from, to) played_rename(from, to)
#define asprintf(text, ...) played_asprintf(text, __VA_ARGS__)
#define time(of) played_time()
#define statx(directory, name, flags, mask, status) \
	(CHECK_MASK(mask), played_statx(directory, name, flags, status))
#define CHECK_MASK(mask) ((mask) == STATX_BTIME ? (void)0 : abort())
#define wire_deadline(ms) (now_ns + (ms)*UINT64_C(1000000))
#define full_waits(session) ((void)(session), is_full)
#define state_directory_is_adopted(session) ((void)(session), is_adopted)
#define trace_close(session, instance, clock) played_close(session, instance, clock)
#define losses_note(session, instance) called("note(%u)\n", (instance)->number)
#define session_refined_clock(session, clock) \
	((void)(session), (void)(clock), has_clock ? 0 : -ENODATA)
#define ring_clock_now(clock) ((void)(clock), UINT64_C(4711))
#define retain_take(session, options, error) \
	((void)(session), (void)(options), (void)(error), called("take\n"), 47)
#define retain_add(session, name, bytes) called("add(%s, %d)\n", name, (int)(bytes))
#define retain_apply(session) ((void)(session), called("apply\n"))
#include "recorder/rotation/rotate.c"
#undef mkdir
#undef rename
#undef asprintf
#undef time
#undef statx

static char work[] = "/tmp/side-chunks-XXXXXX";
static char output[64];
static struct session *session;
static struct rotation *rotation;
static unsigned int nr_open;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static int begin(void **unused)
{
	(void)unused;
	nr_open = resources_descriptors();
	session = session_allocate();
	CHECK(session);
	rotation = &session->rotation;
	(void)snprintf(output, sizeof(output), "%s/out", work);
	CHECK(!mkdir(output, 0700));
	session->output.path = strdup(output);
	now_ns = 100 * S;
	is_full = is_adopted = has_clock = false;
	failing = NULL;
	nr_mkdirs = 0;
	*calls = '\0';
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	session->drain.writers = NULL;
	session->buffers.fd = -1;
	session->service = NULL;
	session_destroy(session);
	CHECK(!nftw(output, remove_one, 16, FTW_DEPTH | FTW_PHYS));
	return resources_descriptors() == nr_open ? 0 : -1;
}

static const char *in_output(const char *name)
{
	static char paths[4][400];
	static unsigned int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, 400, "%s/%s", output, name);
	return path;
}

static bool is_there(const char *name)
{
	return !access(in_output(name), F_OK);
}

static void make(const char *name)
{
	CHECK(!mkdir(in_output(name), 0700));
}

/* ---- options ---- */

static void test_options(void **unused)
{
	struct session_options options = {.rotation.size = 65535};
	struct error error;

	(void)unused;
	assert_int_equal(rotate_take(session, &options, &error), -EINVAL);
	assert_string_equal(
			error.text, "a chunk of 65535 bytes (--rotate-size) is less than 64 KiB");
	options.rotation.size = 65536;
	assert_int_equal(rotate_take(session, &options, &error), 47);
	assert_true(rotation->chunks && rotation->size == 65536 && !rotation->on_request);
	options = (struct session_options){.rotation.period_ns = S - 1};
	assert_int_equal(rotate_take(session, &options, &error), -EINVAL);
	assert_string_equal(error.text, "a chunk cannot be shorter than a second (--rotate-every)");
	options.rotation.period_ns = S;
	assert_int_equal(rotate_take(session, &options, &error), 47);
	assert_true(rotation->chunks && rotation->period_ns == S && !rotation->size);
	options = (struct session_options){.rotation.on_request = true};
	assert_int_equal(rotate_take(session, &options, &error), 47);
	assert_true(rotation->chunks && rotation->on_request);
	options.rotation.on_request = false;
	assert_int_equal(rotate_take(session, &options, &error), 47);
	assert_false(rotation->chunks);
	assert_called("take\ntake\ntake\ntake\n");
}

/* ---- names ---- */

static void test_numbers(void **unused)
{
	(void)unused;
	assert_int_equal(rotate_parse_number("chunk-0001-x"), 1);
	assert_int_equal(rotate_parse_number("chunk-12345-"), 12345);
	assert_int_equal(rotate_parse_number("chunk-0-x"), 0);
	assert_int_equal(rotate_parse_number("chunk-7"), 0);
	assert_int_equal(rotate_parse_number("chunk-7x"), 0);
	assert_int_equal(rotate_parse_number("chunk-"), 0);
	assert_int_equal(rotate_parse_number("xchunk-1-"), 0);
}

static void test_make(void **unused)
{
	struct error error = {.text = ""};
	char expected[200];

	(void)unused;
	assert_int_equal(rotate_prepare(session, &error), 0);
	assert_null(rotation->path);
	assert_string_equal(output_traces_path(session), output);
	rotation->chunks = true;
	make("chunk-0003-x");
	make(".chunk-0007-x");
	make("chunk-0005-x");
	make("chunk-0006");
	make(".removed-chunk-0001-x");
	make("removed-x");
	assert_int_equal(rotate_prepare(session, &error), 0);
	assert_string_equal(output_traces_path(session), in_output(".chunk-0008-" STAMP));
	assert_int_equal(rotation->number, 8);
	assert_true(is_there(".chunk-0008-" STAMP) && is_there("removed-x"));
	assert_false(is_there(".removed-chunk-0001-x"));
	/* The chunk exists. */
	assert_int_equal(rotate_prepare(session, &error), 0);
	assert_int_equal(nr_mkdirs, 1);
	free(rotation->path);
	rotation->path = NULL;
	/* The names are scanned once, but directories of other programs are not used. */
	make("chunk-0020-x");
	make(".chunk-0009-" STAMP);
	make(".chunk-0010-" STAMP);
	assert_int_equal(rotate_prepare(session, &error), 0);
	assert_string_equal(output_traces_path(session), in_output(".chunk-0011-" STAMP));
	free(rotation->path);
	rotation->path = NULL;
	(void)snprintf(expected, sizeof(expected), "cannot make a chunk in %s: %s", output,
			strerror(ENOSPC));
	for (int i = 0; i < 2; i++) {
		arm("mkdir", i ? EDQUOT : ENOSPC, 1);
		assert_int_equal(rotate_prepare(session, &error), i ? -EDQUOT : -ENOSPC);
		assert_int_equal(rotation->number, 11);
		if (!i)
			assert_string_equal(error.text, expected);
	}
	arm("mkdir", EACCES, 1);
	assert_int_equal(rotate_prepare(session, &error), -EACCES);
	assert_int_equal(rotation->number, 12);
	nr_mkdirs = 0;
	arm("mkdir", EEXIST, 1000);
	assert_int_equal(rotate_prepare(session, &error), -EEXIST);
	assert_int_equal(nr_mkdirs, 1000);
	assert_int_equal(rotation->number, 1012);
	arm("mkdir", EEXIST, 999);
	assert_int_equal(rotate_prepare(session, &error), 0);
	assert_string_equal(output_traces_path(session), in_output(".chunk-2012-" STAMP));
	free(rotation->path);
	rotation->path = NULL;
	arm("asprintf", ENOMEM, 1);
	assert_int_equal(rotate_prepare(session, &error), -ENOMEM);
	assert_null(rotation->path);
	assert_called("");
}

/* ---- the border ---- */

static struct channel channel;
static struct instance_ring each[3][3]; /* the channel of the last ones is not in the trace */
static struct instance_channel channels_of[2][3];
static struct instance instances[2];

/* The first program continues, the second one has exited. */
static void make_instances(void)
{
	memset(each, 0, sizeof(each));
	memset(instances, 0, sizeof(instances));
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int k = 0; k < 3; k++)
			channels_of[i][k] = (struct instance_channel){.channel = &channel,
					.geometry.rings = k < 2 ? 3 - k : 3,
					.each = !i          ? each[k]
							: k ? each[2]
							    : NULL};
		instances[i] = (struct instance){.number = i + 1,
				.channels = channels_of[i],
				.nr_channels = 2,
				.nr_described = 9,
				.begin_ticks = 8};
	}
	for (unsigned int k = 0; k < 3; k++)
		for (unsigned int i = 0; i < 3; i++)
			each[k][i] = (struct instance_ring){
					.stream = (struct ctf_stream *)(uintptr_t)1,
					.discarded = 10 * k + i + 1};
	instances[0].maps.size = 1;
	instances[0].next_writer = &instances[1];
	session->drain.writers = instances;
}

static void test_border(void **unused)
{
	struct error error;

	(void)unused;
	make_instances();
	rotation->chunks = true;
	CHECK(!rotate_prepare(session, &error));
	rotation->bytes = 5;
	rotation->period_ns = 7;
	rotate(session);
	assert_called("note(1)\nclose(1, 0)\nclose(2, 0)\nadd(chunk-0001-" STAMP ", 5)\napply\n");
	assert_true(is_there("chunk-0001-" STAMP) && !is_there(".chunk-0001-" STAMP));
	assert_null(rotation->path);
	assert_true(!rotation->bytes && rotation->next == now_ns + 7);
	for (unsigned int k = 0; k < 3; k++)
		for (unsigned int i = 0; i < 3; i++) {
			bool is_ring = k < 2 && i < 3 - k;

			assert_int_equal(!each[k][i].stream, is_ring);
			assert_int_equal(each[k][i].discarded_before,
					is_ring ? each[k][i].discarded : 0);
		}
	assert_true(!instances[0].nr_described && instances[0].begin_ticks == 4711);
	assert_true(instances[1].nr_described == 9 && instances[1].begin_ticks == 8);
	assert_true(instances[0].maps.is_new);
	/* Without a period, and without a chunk. The clock has a better correction now. */
	make_instances();
	instances[0].maps.size = 0;
	instances[0].maps.is_new = true;
	rotation->period_ns = 0;
	has_clock = true;
	rotate(session);
	assert_called("apply\n");
	assert_int_equal(rotation->next, 0);
	CHECK(!rotate_prepare(session, &error));
	rotate(session);
	assert_called("note(1)\nclose(1, 1)\nclose(2, 1)\nadd(chunk-0002-" STAMP ", 0)\napply\n");
	assert_false(instances[0].maps.is_new);
}

static void test_failed_names(void **unused)
{
	struct error error;
	char expected[300];

	(void)unused;
	rotation->chunks = true;
	CHECK(!rotate_prepare(session, &error));
	arm("rename", EACCES, 1);
	rotate(session);
	(void)snprintf(expected, sizeof(expected),
			"failure(%d)\nreport(1, cannot rename the chunk %s: %s)\napply\n", -EACCES,
			in_output(".chunk-0001-" STAMP), strerror(EACCES));
	assert_called(expected);
	assert_null(rotation->path);
	CHECK(!rotate_prepare(session, &error));
	arm("asprintf", ENOMEM, 1);
	rotate(session);
	(void)snprintf(expected, sizeof(expected),
			"failure(%d)\nreport(1, cannot rename the chunk %s: %s)\napply\n", -ENOMEM,
			in_output(".chunk-0002-" STAMP), strerror(ENOMEM));
	assert_called(expected);
}

/* ---- traces that are in no chunk ---- */

static void note_two(void)
{
	rotate_note_flat(session, "one-1-1");
	rotate_note_flat(session, "two-2-2");
	make("one-1-1");
	make("two-2-2");
	assert_int_equal(rotation->nr_flat, 2);
}

static void test_flat(void **unused)
{
	char expected[700];
	struct service *service = (struct service *)(uintptr_t)1;

	(void)unused;
	rotate_note_flat(session, "one");
	session->service = service;
	rotation->chunks = true;
	rotate_note_flat(session, "one");
	assert_int_equal(rotation->nr_flat, 0);
	rotation->chunks = false;
	note_two();
	rotation->bytes = 6;
	rotate(session);
	assert_called("add(chunk-0001-" STAMP ", 6)\napply\n");
	assert_true(is_there("chunk-0001-" STAMP "/one-1-1") &&
			is_there("chunk-0001-" STAMP "/two-2-2"));
	assert_false(is_there("one-1-1") || is_there("two-2-2"));
	assert_true(rotation->chunks && !rotation->flat && !rotation->nr_flat);
	/* Without a chunk, the files stay. */
	rotation->chunks = false;
	note_two();
	arm("mkdir", ENOSPC, 1);
	rotate(session);
	(void)snprintf(expected, sizeof(expected),
			"report(1, cannot make a chunk in %s: %s)\napply\n", output,
			strerror(ENOSPC));
	assert_called(expected);
	assert_true(!rotation->chunks && rotation->nr_flat == 2 && is_there("one-1-1"));
	/* One of them cannot be moved. */
	arm("rename", EXDEV, 1);
	rotate(session);
	(void)snprintf(expected, sizeof(expected),
			"report(1, cannot move the trace %s: %s)\nadd(chunk-0002-" STAMP
			", 0)\napply\n",
			in_output("one-1-1"), strerror(EXDEV));
	assert_called(expected);
	assert_true(is_there("one-1-1") && is_there("chunk-0002-" STAMP "/two-2-2"));
	/* No event was recorded: there is no chunk. */
	rotation->chunks = false;
	rotate(session);
	assert_called("apply\n");
	assert_true(rotation->chunks);
	session->service = NULL;
}

/* ---- what is cleared ---- */

static void test_clear(void **unused)
{
	struct error error;
	char expected[300];

	(void)unused;
	session->service = (struct service *)(uintptr_t)1;
	note_two();
	rotation->chunks = true;
	CHECK(!rotate_prepare(session, &error));
	rotation->bytes = 5;
	make("chunk-0009-x");
	make_instances();
	rotate_discard_traces(session);
	assert_called("note(1)\nclose(1, 0)\nclose(2, 0)\n");
	assert_false(is_there("one-1-1") || is_there("two-2-2") || is_there(".chunk-0001-" STAMP));
	assert_true(is_there("chunk-0009-x"));
	assert_true(!rotation->nr_flat && !rotation->path && !rotation->bytes);
	/* A directory that does not exist, one that cannot be removed, and no memory. */
	rotate_delete_trace(session, "none");
	assert_called("");
	make("one-1-1");
	arm("rename", EACCES, 1);
	rotate_delete_trace(session, "one-1-1");
	(void)snprintf(expected, sizeof(expected), "report(1, cannot move %s: %s)\n",
			in_output("one-1-1"), strerror(EACCES));
	assert_called(expected);
	arm("asprintf", ENOMEM, 2);
	rotate_delete_trace(session, "one-1-1");
	assert_called("report(1, cannot move one-1-1: Cannot allocate memory)\n");
	arm("asprintf", ENOMEM, 1);
	rotate_delete_trace(session, "one-1-1");
	assert_called("report(1, cannot move one-1-1: Cannot allocate memory)\n");
	assert_true(is_there("one-1-1"));
}

static bool is_ours(const char *name)
{
	char path[300];
	int fd = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is;

	CHECK(fd >= 0);
	make(name);
	(void)snprintf(path, sizeof(path), "%s/metadata", name);
	CHECK(mknod(in_output(path), S_IFREG | 0600, 0) == 0);
	is = is_of_session(session, fd, name);
	CHECK(!unlink(in_output(path)));
	CHECK(!is_of_session(session, fd, name));
	CHECK(!rmdir(in_output(name)));
	close(fd);
	return is;
}

static void test_former(void **unused)
{
	static const char *const ours[] = {"a-1-2", "a-b-123-456", "a-1-2-r3", "a-1-2-r34", "9-1-2",
			"a-1-2-3"},
				 *const others[] = {"a", "a-1", "1-2", "-1-2", "a-1-", "a--2",
						 "a-x-2", "a-1-x", "a-1-2-r", "a-1-2-rx",
						 "a-1-2-x3", "a-1-2x"};

	(void)unused;
	session->buffers.fd = 0;
	place_time = trace_time = (struct statx_timestamp){.tv_sec = 5, .tv_nsec = 7};
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_true(is_ours(ours[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(is_ours(others[i]));
	/* It was created after the state directory of the session. */
	trace_time.tv_nsec = 6;
	assert_false(is_ours("a-1-2"));
	trace_time = (struct statx_timestamp){.tv_sec = 6, .tv_nsec = 0};
	assert_true(is_ours("a-1-2"));
	trace_time = (struct statx_timestamp){.tv_sec = 4, .tv_nsec = 9};
	assert_false(is_ours("a-1-2"));
	trace_time = place_time;
	has_times = false;
	assert_false(is_ours("a-1-2"));
	has_times = true;
	arm("statx", EIO, 1);
	assert_false(is_ours("a-1-2"));
	failing = NULL;
	arm("statx-place", EIO, 1);
	assert_false(is_ours("a-1-2"));
	failing = NULL;
	/* All of them are removed if an earlier recorder created them. */
	make("a-1-2");
	CHECK(!mknod(in_output("a-1-2/metadata"), S_IFREG | 0600, 0));
	make(".a-1-2");
	CHECK(!mknod(in_output(".a-1-2/metadata"), S_IFREG | 0600, 0));
	make("b");
	rotate_discard_traces(session);
	assert_true(is_there("a-1-2"));
	is_adopted = true;
	rotate_discard_traces(session);
	assert_true(!is_there("a-1-2") && is_there("b") && is_there(".a-1-2"));
	assert_called("");
}

/* ---- when ---- */

static void test_sizes(void **unused)
{
	struct error error;

	(void)unused;
	rotation->chunks = true;
	rotation->size = 100;
	rotate_for(session, 1000);
	CHECK(!rotate_prepare(session, &error));
	rotate_for(session, 1000);
	rotation->bytes = 60;
	rotate_for(session, 40);
	is_full = true;
	rotate_for(session, 41);
	is_full = false;
	rotation->size = 0;
	rotate_for(session, 41);
	assert_called("");
	rotation->size = 100;
	rotate_for(session, 41);
	assert_called("add(chunk-0001-" STAMP ", 60)\napply\n");
}

static void test_turns(void **unused)
{
	struct error error;
	char name[64] = "x";
	uint32_t ticket;

	(void)unused;
	rotation->chunks = true;
	rotate_turn(session, 0);
	assert_called("apply\n");
	assert_int_equal(rotation->next, 0);
	assert_int_equal(rotate_timeout(session, 50), 50);
	/* By the clock. */
	rotation->period_ns = 2 * S;
	rotate_turn(session, 0);
	assert_called("apply\n");
	assert_int_equal(rotation->next, 102 * S);
	assert_int_equal(rotate_timeout(session, 3000), 2001);
	assert_int_equal(rotate_timeout(session, 2001), 2001);
	assert_int_equal(rotate_timeout(session, 500), 500);
	now_ns = 102 * S - 1;
	assert_int_equal(rotate_timeout(session, 500), 1);
	rotate_turn(session, 0);
	assert_called("apply\n");
	assert_int_equal(rotation->next, 102 * S);
	now_ns++;
	assert_int_equal(rotate_timeout(session, 500), 0);
	is_full = true;
	assert_int_equal(rotate_timeout(session, 500), 500);
	rotate_turn(session, 0);
	assert_called("apply\n");
	assert_int_equal(rotation->next, 102 * S);
	is_full = false;
	CHECK(!rotate_prepare(session, &error));
	rotate_turn(session, 0);
	assert_called("add(chunk-0001-" STAMP ", 0)\napply\napply\n");
	assert_int_equal(rotation->next, 104 * S);
	/* On request. */
	ticket = session_rotate(session);
	assert_int_equal(ticket, 1);
	assert_int_equal(session_rotate(session), 2);
	assert_int_equal(rotate_wanted(session), 2);
	assert_true(rotate_is_called(session));
	assert_false(session_rotated(session, ticket, name, sizeof(name)));
	assert_string_equal(name, "x");
	CHECK(!rotate_prepare(session, &error));
	rotate_turn(session, 1);
	assert_called("add(chunk-0002-" STAMP ", 0)\napply\napply\n");
	(void)snprintf(session->retention.newest, sizeof(session->retention.newest), "newest");
	assert_true(session_rotated(session, ticket, name, sizeof(name)));
	assert_string_equal(name, "newest");
	assert_true(session_rotated(session, ticket, NULL, 0));
	assert_false(session_rotated(session, 2, name, sizeof(name)));
	assert_true(rotate_is_called(session));
	rotate_turn(session, 2);
	assert_false(rotate_is_called(session));
	assert_called("apply\napply\n");
	/* The recorded data is removed. */
	CHECK(!rotate_prepare(session, &error));
	assert_int_equal(session_clear(session), 3);
	rotate_turn(session, 3);
	assert_called("apply\n");
	assert_false(is_there(".chunk-0003-" STAMP) || is_there("chunk-0003-" STAMP));
	assert_int_equal(rotation->done, 3);
	/*
	 * This rotation does not clear. A clear request without a rotation request stays pending.
	 */
	CHECK(!rotate_prepare(session, &error));
	now_ns = rotation->next;
	atomic_store(&session->rotation.clear_wanted, true);
	rotate_turn(session, 3);
	assert_called("add(chunk-0004-" STAMP ", 0)\napply\napply\n");
	assert_true(atomic_load(&session->rotation.clear_wanted));
	/* The numbers wrap around. */
	rotation->done = 1;
	assert_true(session_rotated(session, UINT32_MAX, NULL, 0));
	assert_false(session_rotated(session, 2, NULL, 0));
	/* The end. */
	CHECK(!rotate_prepare(session, &error));
	rotate_end(session);
	assert_called("add(chunk-0005-" STAMP ", 0)\napply\n");
	assert_int_equal(rotation->done, 3);
	rotate_end(session);
	assert_called("apply\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_options),
			TEST(test_numbers),
			TEST(test_make),
			TEST(test_border),
			TEST(test_failed_names),
			TEST(test_flat),
			TEST(test_clear),
			TEST(test_former),
			TEST(test_sizes),
			TEST(test_turns),
	};
	int failed;

	alarm(50);
	if (setenv("TZ", "UTC0", 1) || !mkdtemp(work))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(work);
	return failed;
}
