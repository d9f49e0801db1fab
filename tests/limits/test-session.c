/* SPDX-License-Identifier: MIT */
/*
 * Limits of channels, rules, tracking and chunks of a session, and of the files of a state
 * directory.
 */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/check.h"
#include "recorder/core/channels.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/live.h"
#include "recorder/core/maps.h"
#include "recorder/core/probes.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/track.h"
#include "recorder/rotation/retain.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/spawn.h"
#include "recorder/storage/found.h"
#include "ring/ring.h"

static struct error error;

/* ---- options ---- */

static const char *const any_pattern[] = {"*"};
static struct session_rule rule;
static struct session_channel channel;
static struct session_options options;

/* Begins with the channel `c` with one rule; rings may have any size. */
static void begin(void)
{
	rule = (struct session_rule){.patterns = any_pattern, .nr_patterns = 1};
	channel = (struct session_channel){.name = "c", .rules = &rule, .nr_rules = 1};
	options = (struct session_options){
			.channels = &channel, .nr_channels = 1, .memory_limit = INT64_MAX};
}

static int check(void)
{
	int ret = session_check(&options, &error);

	if (ret) {
		limit_problem = error.text;
		assert_int_equal(error.kind, ERROR_USAGE);
	}
	return ret;
}

/* Returns the geometry of the channel's rings. */
static struct channel taken(void)
{
	struct session *session = session_allocate();
	struct channel copy;

	assert_non_null(session);
	assert_int_equal(channels_take(session, &options, &error), 0);
	copy = session->channels[0];
	session_destroy(session);
	return copy;
}

static int channel_name(uint64_t count)
{
	begin();
	channel.name = limit_text('c', count);
	return check();
}

static int channel_rules(uint64_t count)
{
	struct session_rule *rules = calloc(count, sizeof(*rules));
	int ret;

	begin();
	for (uint64_t i = 0; i < count; i++)
		rules[i] = rule;
	channel.rules = rules;
	channel.nr_rules = count;
	ret = check();
	free(rules);
	return ret;
}

/* Different patterns, each in a text of its own. */
static int rule_contexts(uint64_t count)
{
	const char **texts = calloc(count, sizeof(*texts));
	char(*names)[32] = calloc(count, sizeof(*names));
	int ret;

	begin();
	for (uint64_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "$app.p:n%u", (unsigned int)i);
		texts[i] = names[i];
	}
	rule.contexts = texts;
	rule.nr_contexts = count;
	ret = check();
	free(texts);
	free(names);
	return ret;
}

static int contexts_of_a_peer(uint64_t count)
{
	char *names = calloc(count, 3);
	struct context_list list;
	int ret;

	for (uint64_t i = 0; i < count; i++)
		memcpy(names + 3 * i, "ip", 3);
	ret = context_list_read(&list, names, (uint32_t)count, 3 * count);
	if (!ret)
		assert_int_equal(list.nr, count);
	context_list_free(&list);
	free(names);
	return ret;
}

static int ring_size_least(uint64_t count)
{
	int ret;

	begin();
	channel.ring_size = count;
	ret = check();
	if (!ret)
		assert_int_equal(taken().ring_size, count);
	return ret;
}

/* A size is rounded down to a power of two. The unit is a ring of 4 GiB. */
static int ring_size_most(uint64_t count)
{
	int ret;

	begin();
	channel.ring_size = count << 32;
	ret = check();
	if (!ret)
		assert_true(taken().ring_size == count << 32);
	return ret;
}

static int threads(uint64_t count)
{
	int ret;

	begin();
	channel.per_thread = true;
	channel.threads_max = (uint32_t)count;
	channel.ring_size = SESSION_RING_MIN;
	ret = check();
	if (!ret)
		assert_int_equal(taken().rings, count);
	return ret;
}

static int block(uint64_t count)
{
	int ret;

	begin();
	channel.mode = SESSION_BLOCK;
	channel.block_timeout_us = (uint32_t)count;
	ret = check();
	if (!ret)
		assert_int_equal(taken().block_timeout_us, count);
	return ret;
}

static int compress(uint64_t count)
{
	begin();
	options.compress = (int)count;
	return check();
}

/* The value 1 means level 0, so that the value 0 means a level below it. */
static int compress_least(uint64_t count)
{
	begin();
	options.compress = (int)count - 1;
	return check();
}

static int chunk_size(uint64_t count)
{
	begin();
	options.rotation.size = count;
	return check();
}

static int chunk_time(uint64_t count)
{
	begin();
	options.rotation.period_ns = count;
	return check();
}

/* The limit for kept data has space for one chunk. */
static int kept_size(uint64_t count)
{
	begin();
	options.rotation.size = 1 << 20;
	options.retention.size = count;
	return check();
}

static void test_options(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(channel_name, SESSION_CHANNEL_NAME_MAX, -EINVAL,
					"\"ccccccccccccccccccccccccccccccccc\" is not a valid name of a channel: a name has at most 32 letters, digits, \"_\" and \"-\""),
			LIMIT_CASE(channel_rules, WIRE_RULES_MAX, -EINVAL,
					"the channel c has more than 1024 rules"),
			LIMIT_CASE(rule_contexts, WIRE_CONTEXTS_MAX, -EINVAL,
					"there are more than 64 contexts for one event"),
			LIMIT_CASE(contexts_of_a_peer, WIRE_CONTEXTS_MAX, -EPROTO, ""),
			LEAST_CASE(ring_size_least, SESSION_RING_MIN, -EINVAL,
					"a ring of 65535 bytes (--buffer-size) is not between 64 KiB and 4 GiB"),
			LIMIT_CASE(ring_size_most, 1, -EINVAL,
					"a ring of 8589934592 bytes (--buffer-size) is not between 64 KiB and 4 GiB"),
			LIMIT_CASE(threads, SESSION_THREADS_MAX, -EINVAL,
					"4097 threads are more than 4096"),
			LIMIT_CASE(block, SESSION_BLOCK_MAX_US, -EINVAL,
					"a program cannot wait for more than an hour"),
			LIMIT_CASE(compress, SESSION_COMPRESS_MAX, -EINVAL,
					"unknown compression level 20: levels are 1 to 19"),
			LEAST_CASE(compress_least, 1, -EINVAL,
					"unknown compression level -1: levels are 1 to 19"),
			LEAST_CASE(chunk_size, 65536, -EINVAL,
					"a chunk of 65535 bytes (--rotate-size) is less than 64 KiB"),
			LEAST_CASE(chunk_time, 1000000000, -EINVAL,
					"a chunk cannot be shorter than a second (--rotate-every)"),
			LEAST_CASE(kept_size, 1 << 20, -EINVAL,
					"--keep-size is smaller than one chunk (--rotate-size)"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* The sum of a channel's rings is limited. A ring has 64 KiB to 4 MiB. */
static void test_default_ring(void **state)
{
	static const struct {
		uint32_t threads;
		uint64_t size;
	} rows[] = {{1, 4 << 20}, {15, 4 << 20}, {16, 4 << 20}, {17, 2 << 20}, {1024, 64 << 10},
			{1025, 64 << 10}, {4096, 64 << 10}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin();
		channel.per_thread = true;
		channel.threads_max = rows[i].threads;
		assert_int_equal(taken().ring_size, rows[i].size);
	}
	assert_int_equal(SESSION_RING_MAX_DEFAULT, 4 << 20);
}

/* ---- tracking, tables of probes ---- */

static int take_track(const struct session_track *track, size_t nr)
{
	struct session_track *copy;
	int ret = track_take(track, nr, &copy, &error);

	if (ret) {
		limit_problem = error.text;
		assert_null(copy);
	} else {
		assert_memory_equal(
				&copy[nr - 1].number, &track[nr - 1].number, sizeof(copy->number));
		track_free(copy, nr);
	}
	return ret;
}

static int track_entries(uint64_t count)
{
	struct session_track *track = calloc(count, sizeof(*track));
	int ret;

	for (uint64_t i = 0; i < count; i++)
		track[i] = (struct session_track){.kind = SESSION_TRACK_UID, .number = i};
	ret = take_track(track, count);
	free(track);
	return ret;
}

static int track_text(uint64_t count)
{
	return take_track(&(struct session_track){.kind = SESSION_TRACK_NAME,
					  .text = limit_text('n', count)},
			1);
}

static int track_text_least(uint64_t count)
{
	return track_text(count);
}

static int track_pid(uint64_t count)
{
	return take_track(&(struct session_track){.kind = SESSION_TRACK_PID, .number = count}, 1);
}

static int track_pid_least(uint64_t count)
{
	return track_pid(count);
}

static int track_uid(uint64_t count)
{
	return take_track(&(struct session_track){.kind = SESSION_TRACK_UID, .number = count}, 1);
}

static int track_gid(uint64_t count)
{
	return take_track(&(struct session_track){.kind = SESSION_TRACK_GID, .number = count}, 1);
}

static int probe_tables(uint64_t count)
{
	struct session_table *probes = calloc(count, sizeof(*probes));
	struct session *session = session_allocate();
	int table = memfd_create("table", MFD_CLOEXEC), ret;

	assert_true(session && probes && table >= 0 && !ftruncate(table, 1));
	for (uint64_t i = 0; i < count; i++)
		probes[i] = (struct session_table){.number = i + 1, .fd = table};
	begin();
	options.probes = probes;
	options.nr_probes = count;
	ret = probes_take(session, &options, &error);
	if (ret)
		limit_problem = error.text;
	session_destroy(session);
	free(probes);
	close(table);
	return ret;
}

static void test_tracking(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(track_entries, SESSION_TRACK_MAX, -E2BIG,
					"a session can have at most 1024 tracking criteria"),
			LIMIT_CASE(track_text, SESSION_TRACK_TEXT_MAX, -EINVAL,
					"a pattern for processes has 1 to 255 bytes"),
			LEAST_CASE(track_text_least, 1, -EINVAL,
					"a pattern for processes has 1 to 255 bytes"),
			LIMIT_CASE(track_pid, INT_MAX, -EINVAL,
					"there is no process 2147483648: process ids go from 1 to 2147483647"),
			LEAST_CASE(track_pid_least, 1, -EINVAL,
					"there is no process 0: process ids go from 1 to 2147483647"),
			LIMIT_CASE(track_uid, UINT32_MAX - 1, -EINVAL,
					"there is no user 4294967295: ids go up to 4294967294"),
			LIMIT_CASE(track_gid, UINT32_MAX - 1, -EINVAL,
					"there is no group 4294967295: ids go up to 4294967294"),
			LIMIT_CASE(probe_tables, WIRE_TABLES_MAX, -E2BIG,
					"there are more than 256 tables of probes"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* An id has at least 32 hexadecimal digits. 12 of them are enough to name it. */
static void test_container_ids(void **state)
{
	static const char id[] = "0123456789abcdef0123456789abcdef";

	(void)state;
	assert_true(track_container_fits(
			"0123456789ab", "/docker/0123456789abcdef0123456789abcdef"));
	assert_false(track_container_fits(
			"0123456789a", "/docker/0123456789abcdef0123456789abcdef"));
	assert_true(track_container_fits(id, "/docker/0123456789abcdef0123456789abcdef"));
	assert_true(track_container_fits(
			"0123456789ab", "/x/docker-0123456789abcdef0123456789abcdef.scope"));
	/* A word with one digit less is a name, which is not a container outside of lxc. */
	assert_false(track_container_fits(
			"0123456789ab", "/docker/0123456789abcdef0123456789abcde"));
	assert_false(track_container_fits("0123456789abcdef0123456789abcde",
			"/docker/0123456789abcdef0123456789abcde"));
	assert_true(track_container_fits("0123456789ab", "/lxc/0123456789abcdef0123456789abcde"));
}

/* ---- messages and nested recordings ---- */

static void test_messages(void **state)
{
	struct session *session = session_allocate();

	(void)state;
	assert_non_null(session);
	for (unsigned int i = 0; i < LIMIT_MESSAGES - 1; i++)
		report(session, false, "message %u\nhint %u", i, i);
	assert_int_equal(session->reports.nr_messages, LIMIT_MESSAGES - 1);
	assert_string_equal(session->reports.messages[LIMIT_MESSAGES - 2].text, "message 198");
	assert_string_equal(session->reports.messages[LIMIT_MESSAGES - 2].hint, "hint 198");
	report(session, false, "message\nhint");
	assert_int_equal(session->reports.nr_messages, LIMIT_MESSAGES);
	assert_string_equal(session->reports.messages[LIMIT_MESSAGES - 1].text,
			"more messages like these are not shown");
	assert_null(session->reports.messages[LIMIT_MESSAGES - 1].hint);
	report(session, true, "one more");
	assert_int_equal(session->reports.nr_messages, LIMIT_MESSAGES);
	assert_string_equal(session->reports.messages[LIMIT_MESSAGES - 1].text,
			"more messages like these are not shown");
	session_destroy(session);
}

/* `count` nested recordings, including this one. */
static int recordings(uint64_t count)
{
	struct session *session = session_allocate();
	char *outer = limit_text('s', 2 * (count - 1) - 1);
	int ret;

	for (uint64_t i = 1; i + 1 < count; i++)
		outer[2 * i - 1] = ':';
	assert_non_null(session);
	strcpy(session->listener.path, "/own");
	assert_int_equal(setenv(WIRE_SOCKET_ENV, outer, 1), 0);
	ret = spawn_sockets(session, &error);
	if (ret)
		limit_problem = error.text;
	else
		assert_int_equal(strlen(session->spawn.sockets), strlen(outer) + strlen(":/own"));
	unsetenv(WIRE_SOCKET_ENV);
	session_destroy(session);
	return ret;
}

static void test_recordings(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(recordings, WIRE_SESSIONS_MAX, -E2BIG,
					"cannot record: this process is already in 8 recordings, and at most 8 are possible"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- files of a state directory ---- */

static char directory[] = "/tmp/side-limits-XXXXXX";
static int directory_fd;

static void write_file(const char *name, const char *text)
{
	int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int file_size(uint64_t count)
{
	char *bytes = NULL;
	size_t size = 0;
	int ret;

	write_file("file", limit_text('x', count));
	ret = facts_read_file(directory_fd, "file", 4096, &bytes, &size);
	if (!ret) {
		assert_int_equal(size, count);
		assert_int_equal(strlen(bytes), count);
	}
	free(bytes);
	return ret;
}

static int clock_values(unsigned long long frequency, long long offset_s, unsigned long long offset)
{
	struct ctf_clock clock;
	enum ring_clock kind;
	char text[128];

	snprintf(text, sizeof(text), "1 %llu %lld %llu", frequency, offset_s, offset);
	if (!facts_take_clock(text, &kind, &clock))
		return -EINVAL;
	assert_int_equal(kind, 1);
	assert_true(clock.frequency == frequency && clock.offset_s == offset_s &&
			clock.offset == offset);
	return 0;
}

static int clock_frequency(uint64_t count)
{
	return clock_values(count, 0, 0);
}

static int clock_frequency_least(uint64_t count)
{
	return clock_values(count, 0, 0);
}

static int clock_offset(uint64_t count)
{
	return clock_values(1000, 0, count);
}

static int clock_seconds(uint64_t count)
{
	return clock_values(1000, (long long)count, 0);
}

static int clock_seconds_before(uint64_t count)
{
	return clock_values(1000, -(long long)count, 0);
}

/* The file of one process, with lines at its end. */
static int found_with(uint64_t number, const char *lines)
{
	char *text = limit_text(' ', strlen(lines) + 512);
	struct error why = {.text = ""};
	struct recovery_facts found;
	int ret;

	memset(&found, 0, sizeof(found));
	sprintf(text,
			FOUND_FIRST_LINE
			"\nclock 1 1000 0 0\nprocess 7 1 %llu\nprocname p\nexe /p\n"
			"trace t\nchannel c\n%s" FACTS_LAST_LINE "\n",
			(unsigned long long)number, lines);
	write_file(FOUND_FILE, text);
	ret = found_read(directory_fd, &found, &why);
	if (ret) {
		static char copy[sizeof(why.text)];

		limit_problem = strcpy(copy, why.text);
	} else {
		assert_int_equal(found.number, number);
	}
	found_free(&found);
	return ret;
}

static int found_number(uint64_t count)
{
	return found_with(count, "");
}

static int found_channels(uint64_t count)
{
	char lines[1024] = "";

	for (uint64_t i = 1; i < count; i++)
		sprintf(lines + strlen(lines), "channel c%u\n", (unsigned int)i);
	return found_with(0, lines);
}

static int found_contexts(uint64_t count)
{
	char lines[1024] = "";

	for (uint64_t i = 0; i < count; i++)
		strcat(lines, "context ip\n");
	return found_with(0, lines);
}

static int found_channel_name(uint64_t count)
{
	char lines[128];

	snprintf(lines, sizeof(lines), "channel %s\n", limit_text('d', count));
	return found_with(0, lines);
}

/* A long name fills the whole file. */
static int found_size(uint64_t count)
{
	static const char begin_text[] = FOUND_FIRST_LINE
			"\nclock 1 1000 0 0\nprocess 7 1 0\nexe /p\ntrace t\nchannel c\nprocname ";
	static const char end_text[] = "\n" FACTS_LAST_LINE "\n";
	char *text = limit_text('n', count);
	struct error why = {.text = ""};
	struct recovery_facts found;
	int ret;

	memset(&found, 0, sizeof(found));
	memcpy(text, begin_text, sizeof(begin_text) - 1);
	memcpy(text + count - (sizeof(end_text) - 1), end_text, sizeof(end_text) - 1);
	write_file(FOUND_FILE, text);
	ret = found_read(directory_fd, &found, &why);
	if (ret) {
		static char copy[sizeof(why.text)];

		limit_problem = strcpy(copy, why.text);
	}
	found_free(&found);
	return ret;
}

/* Nested directories. The outermost is level 0. */
static int removed_levels(uint64_t count)
{
	char path[256], outermost[128];
	int ret;

	snprintf(outermost, sizeof(outermost), "%s/0", directory);
	snprintf(path, sizeof(path), "%s", outermost);
	for (uint64_t i = 0; i < count; i++) {
		assert_int_equal(mkdir(path, 0700), 0);
		strcat(path, "/d");
	}
	ret = retain_remove_tree(outermost);
	/* Removes the remaining directories from the inside. */
	for (uint64_t i = 0; ret && i < count; i++) {
		path[strlen(path) - 2] = '\0';
		assert_int_equal(rmdir(path), 0);
	}
	if (!ret)
		assert_int_equal(access(outermost, F_OK), -1);
	return ret;
}

#define DAMAGED FOUND_FILE ": it is not a file of `side record`"

static void test_state(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(file_size, 4096, -EINVAL, ""),
			LIMIT_CASE(clock_frequency, 1000000000000, -EINVAL, ""),
			LEAST_CASE(clock_frequency_least, 1, -EINVAL, ""),
			LIMIT_CASE(clock_offset, 999, -EINVAL, ""),
			LIMIT_CASE(clock_seconds, 1000000000000, -EINVAL, ""),
			LIMIT_CASE(clock_seconds_before, 1000000000000, -EINVAL, ""),
			LIMIT_CASE(found_number, LIMIT_INSTANCES - 1, -EINVAL, DAMAGED),
			LIMIT_CASE(found_channels, SESSION_CHANNELS_MAX, -EINVAL, DAMAGED),
			LIMIT_CASE(found_contexts, WIRE_CONTEXTS_MAX, -EINVAL, DAMAGED),
			LIMIT_CASE(found_channel_name, SESSION_CHANNEL_NAME_MAX, -EINVAL, DAMAGED),
			LIMIT_CASE(found_size, FOUND_LIMIT, -EINVAL,
					FOUND_FILE ": Invalid argument"),
			/* The outermost directory, and 15 inside. */
			LIMIT_CASE(removed_levels, 16, -EISDIR, ""),
	};

	(void)state;
	assert_non_null(mkdtemp(directory));
	directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(directory_fd >= 0);
	limits_try(cases, sizeof(cases) / sizeof(*cases));
	close(directory_fd);
	assert_int_equal(retain_remove_tree(directory), 0);
}

/* Code of a process: a line without space is omitted, a shorter one after it is not. */
static void test_maps(void **state)
{
	struct instance instance;
	char *line = limit_text('m', 1 << 20);

	(void)state;
	memset(&instance, 0, sizeof(instance));
	line[(1 << 20) - 1] = '\n';
	for (int i = 0; i < 3; i++) {
		line[0] = (char)('a' + i);
		maps_adopt(&instance, line, 1 << 20);
	}
	assert_int_equal(instance.maps.size, 3 << 20);
	line[0] = 'y';
	line[(1 << 20) - 1] = 'm';
	line[1 << 20] = '\n';
	maps_adopt(&instance, line, (1 << 20) + 1);
	assert_int_equal(instance.maps.size, 3 << 20);
	line[(1 << 20) - 1] = '\n';
	maps_adopt(&instance, line, 1 << 20);
	assert_int_equal(instance.maps.size, 4 << 20);
	assert_int_equal(instance.maps.lines, 4);
	maps_free(&instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_options),
			cmocka_unit_test(test_default_ring),
			cmocka_unit_test(test_tracking),
			cmocka_unit_test(test_container_ids),
			cmocka_unit_test(test_messages),
			cmocka_unit_test(test_recordings),
			cmocka_unit_test(test_state),
			cmocka_unit_test(test_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
