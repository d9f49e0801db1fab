/* SPDX-License-Identifier: MIT */
/*
 * Messages: a decoded message equals the encoded one; invalid messages are refused; mutations do no
 * harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "fuzz-target.h"

static uint8_t message[WIRE_MESSAGE_MAX];

static const struct wire_hello a_hello = {
		.pid = 4711,
		.parent = 1,
		.token = 0x1122334455667788,
		.parent_token = 7,
		.word_size = 8,
		.features = WIRE_FEATURE_BIG_ENDIAN | WIRE_FEATURE_FORKED,
		.control = WIRE_CONTROL_SIGNAL,
		.control_signal = 10,
		.procname = "sqlite3",
		.exe = "/usr/bin/sqlite3",
};

static void hello_travels(void **state)
{
	struct wire_hello out;
	ssize_t size = wire_encode_hello(message, sizeof(message), &a_hello);

	(void)state;
	assert_int_equal(size, 16 + 48 + 8 + 17);
	assert_int_equal(wire_message_type(message, (size_t)size), WIRE_HELLO);
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), 0);
	assert_int_equal(out.pid, 4711);
	assert_int_equal(out.parent, 1);
	assert_true(out.token == 0x1122334455667788);
	assert_true(out.parent_token == 7);
	assert_int_equal(out.features, 3);
	assert_int_equal(out.control, WIRE_CONTROL_SIGNAL);
	assert_int_equal(out.control_signal, 10);
	assert_string_equal(out.procname, "sqlite3");
	assert_string_equal(out.exe, "/usr/bin/sqlite3");
}

static void config_travels(void **state)
{
	struct wire_config in = {
			.accepted = true,
			.flags = WIRE_CONFIG_LIST_ONLY,
			.instance = 3,
			.clock = 1,
			.max_events = 100,
			.max_description = 1000,
			.max_payload = 10000,
			.nr_channels = 3,
			.frequency = 3000000000,
			.offset_s = -5,
			.offset = 77,
			.generation = 1ull << 40,
			.statedump = 6,
			.reason = "",
	};
	struct wire_config out;
	ssize_t size = wire_encode_config(message, sizeof(message), &in);

	(void)state;
	assert_int_equal(size, 16 + 80 + 1);
	assert_int_equal(wire_decode_config(message, (size_t)size, &out), 0);
	assert_true(out.accepted);
	assert_int_equal(out.flags, WIRE_CONFIG_LIST_ONLY);
	assert_int_equal(out.instance, 3);
	assert_int_equal(out.clock, 1);
	assert_int_equal(out.max_events, 100);
	assert_int_equal(out.max_description, 1000);
	assert_int_equal(out.max_payload, 10000);
	assert_int_equal(out.nr_channels, 3);
	assert_true(out.frequency == 3000000000 && out.offset_s == -5 && out.offset == 77);
	assert_true(out.generation == 1ull << 40 && out.statedump == 6);
	in.nr_channels = WIRE_CHANNELS_MAX + 1;
	assert_int_equal(wire_encode_config(message, sizeof(message), &in), -EINVAL);

	in = (struct wire_config){.reason = "there is no memory left"};
	size = wire_encode_config(message, sizeof(message), &in);
	assert_int_equal(wire_decode_config(message, (size_t)size, &out), 0);
	assert_false(out.accepted);
	assert_string_equal(out.reason, "there is no memory left");
	assert_int_equal(out.nr_channels, 0);

	/* If nothing has changed, nothing follows. */
	in = (struct wire_config){.accepted = true, .flags = WIRE_CONFIG_UNCHANGED};
	size = wire_encode_config(message, sizeof(message), &in);
	assert_int_equal(wire_decode_config(message, (size_t)size, &out), 0);
	in.nr_channels = 1;
	assert_int_equal(wire_encode_config(message, sizeof(message), &in), -EINVAL);
	in = (struct wire_config){.flags = WIRE_CONFIG_UNCHANGED};
	assert_int_equal(wire_encode_config(message, sizeof(message), &in), -EINVAL);
}

static void channel_travels(void **state)
{
	static const char *const bad_names[] = {"", ".", "..", ".x", "-x", "a/b", "a b", "a\n",
			"\xff", "0123456789012345678901234567890123456789012345678901234567890123"};
	struct wire_channel in = {
			.index = 2,
			.ring_memory = 1ull << 33,
			.nr_rules = 5,
			.nr_contexts = 2,
			.name = "slow-path.2",
			.contexts = "vpid\0procname",
	};
	struct wire_channel out;
	ssize_t size = wire_encode_channel(message, sizeof(message), &in);
	size_t i;

	(void)state;
	assert_int_equal(size, 16 + 32 + 12 + 14);
	assert_int_equal(wire_message_type(message, (size_t)size), WIRE_CHANNEL);
	assert_int_equal(wire_decode_channel(message, (size_t)size, &out), 0);
	assert_int_equal(out.index, 2);
	assert_true(out.ring_memory == 1ull << 33);
	assert_int_equal(out.nr_rules, 5);
	assert_int_equal(out.nr_contexts, 2);
	assert_string_equal(out.name, "slow-path.2");
	assert_memory_equal(out.contexts, "vpid\0procname", 14);
	message[16 + 32 + 4] = '/';
	assert_int_equal(wire_decode_channel(message, (size_t)size, &out), -EPROTO);
	for (i = 0; i < sizeof(bad_names) / sizeof(bad_names[0]); i++) {
		in.name = bad_names[i];
		assert_int_equal(wire_encode_channel(message, sizeof(message), &in), -EINVAL);
	}
	in.name = bad_names[9] + 1;
	in.nr_contexts = 0;
	size = wire_encode_channel(message, sizeof(message), &in);
	assert_int_equal(wire_decode_channel(message, (size_t)size, &out), 0);
	assert_int_equal(strlen(out.name), WIRE_CHANNEL_NAME_MAX);
	in.nr_rules = WIRE_RULES_MAX + 1;
	assert_int_equal(wire_encode_channel(message, sizeof(message), &in), -EINVAL);
}

static void rule_travels(void **state)
{
	static uint8_t filter[WIRE_MESSAGE_MAX] = {1, 0, 2, 0, 0, 3};
	struct wire_rule in = {
			.channel = 1,
			.nr_patterns = 3,
			.nr_contexts = 1,
			.filter_size = 6,
			.patterns = "app:*\0!*:x\0\0",
			.contexts = "vtid",
			.filter = filter,
	};
	struct wire_rule out;
	ssize_t size = wire_encode_rule(message, sizeof(message), &in);

	(void)state;
	assert_int_equal(size, 16 + 24 + 12 + 5 + 6);
	assert_int_equal(wire_message_type(message, (size_t)size), WIRE_RULE);
	assert_int_equal(wire_decode_rule(message, (size_t)size, &out), 0);
	assert_int_equal(out.channel, 1);
	assert_int_equal(out.nr_patterns, 3);
	assert_memory_equal(out.patterns, "app:*\0!*:x\0", 12);
	assert_int_equal(out.nr_contexts, 1);
	assert_string_equal(out.contexts, "vtid");
	assert_int_equal(out.filter_size, 6);
	assert_memory_equal(out.filter, filter, 6);

	/* As large as a message, and larger. */
	in.filter_size = WIRE_MESSAGE_MAX - 16 - 24 - 12 - 5;
	size = wire_encode_rule(message, sizeof(message), &in);
	assert_int_equal(size, WIRE_MESSAGE_MAX);
	assert_int_equal(wire_decode_rule(message, (size_t)size, &out), 0);
	in.filter_size++;
	assert_int_equal(wire_encode_rule(message, sizeof(message), &in), -EMSGSIZE);

	in = (struct wire_rule){.nr_contexts = WIRE_CONTEXTS_MAX + 1, .contexts = "x"};
	assert_int_equal(wire_encode_rule(message, sizeof(message), &in), -EMSGSIZE);
	in = (struct wire_rule){.channel = WIRE_CHANNELS_MAX};
	assert_int_equal(wire_encode_rule(message, sizeof(message), &in), -EINVAL);
	/* Names of contexts of an event, as they are encoded in the stream. */
	assert_true(wire_strings_valid("a\0b", 2, 4));
	assert_true(wire_strings_valid("", 0, 0));
	assert_false(wire_strings_valid("a\0b", 1, 4));
	assert_false(wire_strings_valid("a\0b", 3, 4));
	assert_false(wire_strings_valid("a\0b", 2, 3));
}

static void events_ack_bye_travel(void **state)
{
	static uint8_t bytes[WIRE_EVENTS_BYTES_MAX + 1];
	struct wire_events events = {.token = 1, .sequence = 9, .last = true, .bytes = bytes};
	struct wire_events events_out;
	struct wire_refused refused[2] = {{.id = 5, .reason = WIRE_REFUSAL_TOO_LARGE},
			{.id = 70000, .channel = 3, .reason = WIRE_REFUSAL_OUTPUT}};
	struct wire_ack ack = {.accepted = 12, .last = true, .nr_refused = 2, .refused = refused};
	struct wire_ack ack_out;
	struct wire_bye bye = {.token = 4};
	struct wire_bye bye_out;
	ssize_t size;

	(void)state;
	events.size = WIRE_EVENTS_BYTES_MAX;
	bytes[events.size - 1] = 0xa5;
	size = wire_encode_events(message, sizeof(message), &events);
	assert_int_equal(size, WIRE_MESSAGE_MAX);
	assert_int_equal(wire_decode_events(message, (size_t)size, &events_out), 0);
	assert_int_equal(events_out.sequence, 9);
	assert_true(events_out.last);
	assert_int_equal(events_out.size, events.size);
	assert_memory_equal(events_out.bytes, bytes, events.size);
	events.size++;
	assert_int_equal(wire_encode_events(message, sizeof(message), &events), -EMSGSIZE);

	size = wire_encode_ack(message, sizeof(message), &ack);
	assert_int_equal(wire_decode_ack(message, (size_t)size, &ack_out), 0);
	assert_int_equal(ack_out.accepted, 12);
	assert_int_equal(ack_out.nr_refused, 2);
	assert_int_equal(wire_ack_at(&ack_out, 1).id, 70000);
	assert_int_equal(wire_ack_at(&ack_out, 1).channel, 3);
	assert_int_equal(wire_ack_at(&ack_out, 1).reason, WIRE_REFUSAL_OUTPUT);
	refused[0].reason = WIRE_NR_REFUSALS;
	size = wire_encode_ack(message, sizeof(message), &ack);
	assert_int_equal(wire_decode_ack(message, (size_t)size, &ack_out), -EPROTO);

	size = wire_encode_bye(message, sizeof(message), &bye);
	assert_int_equal(wire_decode_bye(message, (size_t)size, &bye_out), 0);
	assert_true(bye_out.token == 4);
}

static const struct wire_arrive an_arrive = {
		.pid = 12,
		.control = WIRE_CONTROL_THREAD,
		.flags = WIRE_ARRIVE_FORKED,
		.token = 5,
		.parent_token = 4,
		.procname = "make",
		.exe = "/usr/bin/make",
};

static void refresh_arrive_done_travel(void **state)
{
	struct wire_refresh refresh = {.token = 3, .generation = 1ull << 50}, refresh_out;
	struct wire_done done = {.token = 9, .serial = 1ull << 33, .state = WIRE_DONE_PART};
	struct wire_done done_out;
	struct wire_arrive arrive = an_arrive, arrive_out;
	ssize_t size = wire_encode_refresh(message, sizeof(message), &refresh);

	(void)state;
	assert_int_equal(size, 16 + 16);
	assert_int_equal(wire_message_type(message, (size_t)size), WIRE_REFRESH);
	assert_int_equal(wire_decode_refresh(message, (size_t)size, &refresh_out), 0);
	assert_true(refresh_out.token == 3 && refresh_out.generation == 1ull << 50);
	refresh.token = 0;
	assert_int_equal(wire_encode_refresh(message, sizeof(message), &refresh), -EINVAL);

	size = wire_encode_arrive(message, sizeof(message), &arrive);
	assert_int_equal(size, 16 + 40 + 5 + 14);
	assert_int_equal(wire_decode_arrive(message, (size_t)size, &arrive_out), 0);
	assert_int_equal(arrive_out.pid, 12);
	assert_int_equal(arrive_out.control, WIRE_CONTROL_THREAD);
	assert_int_equal(arrive_out.flags, WIRE_ARRIVE_FORKED);
	assert_true(arrive_out.token == 5 && arrive_out.parent_token == 4);
	assert_string_equal(arrive_out.procname, "make");
	assert_string_equal(arrive_out.exe, "/usr/bin/make");
	arrive.control_signal = 10;
	assert_int_equal(wire_encode_arrive(message, sizeof(message), &arrive), -EINVAL);
	arrive.control = WIRE_CONTROL_SIGNAL;
	assert_true(wire_encode_arrive(message, sizeof(message), &arrive) > 0);
	arrive.control_signal = WIRE_SIGNAL_MAX + 1;
	assert_int_equal(wire_encode_arrive(message, sizeof(message), &arrive), -EINVAL);

	size = wire_encode_done(message, sizeof(message), &done);
	assert_int_equal(size, 16 + 24);
	assert_int_equal(wire_decode_done(message, (size_t)size, &done_out), 0);
	assert_true(done_out.token == 9 && done_out.serial == 1ull << 33);
	assert_int_equal(done_out.state, WIRE_DONE_PART);
	done.state = WIRE_NR_DONE_STATES;
	assert_int_equal(wire_encode_done(message, sizeof(message), &done), -EINVAL);
}

static void probes_probed_travel(void **state)
{
	struct wire_probes probes = {.table = 1ull << 40, .size = 1 << 20}, probes_out;
	struct wire_probe_run runs[3] = {{10, 5, WIRE_PROBE_JUMP, 0, 1},
			{15, 1, WIRE_PROBE_REFUSED, ERANGE, 2}, {16, 4, WIRE_PROBE_ABSENT, 0, 0}};
	struct wire_probed probed = {.token = 7,
			.table = 1ull << 40,
			.sequence = 3,
			.last = true,
			.nr_probes = 20,
			.cut = 1,
			.lost = 2,
			.unseen = 3,
			.abandoned = 4,
			.traps = 5,
			.code_bytes = 6,
			.nr_runs = 3,
			.runs = runs};
	struct wire_probed out;
	struct wire_probe_run run;
	ssize_t size = wire_encode_probes(message, sizeof(message), &probes);

	(void)state;
	assert_true(size > 0);
	assert_int_equal(wire_decode_probes(message, (size_t)size, &probes_out), 0);
	assert_true(probes_out.table == probes.table && probes_out.size == probes.size);
	size = wire_encode_probed(message, sizeof(message), &probed);
	assert_true(size > 0);
	assert_int_equal(wire_decode_probed(message, (size_t)size, &out), 0);
	assert_true(out.token == 7 && out.table == probed.table && out.sequence == 3 && out.last &&
			out.nr_probes == 20 && out.nr_runs == 3 && !out.error);
	assert_true(out.cut == 1 && out.lost == 2 && out.unseen == 3 && out.abandoned == 4 &&
			out.traps == 5 && out.code_bytes == 6);
	run = wire_probed_at(&out, 1);
	assert_memory_equal(&run, &runs[1], sizeof(run));

	probes.table = 0;
	assert_int_equal(wire_encode_probes(message, sizeof(message), &probes), -EINVAL);
	runs[1].error = 0; /* refused without a reason */
	assert_int_equal(wire_encode_probed(message, sizeof(message), &probed), -EINVAL);
	runs[1].error = ERANGE;
	runs[1].count = 2; /* overlaps the next one */
	assert_int_equal(wire_encode_probed(message, sizeof(message), &probed), -EINVAL);
	runs[1].count = 1;
	runs[2].count = 5; /* more than there are */
	assert_int_equal(wire_encode_probed(message, sizeof(message), &probed), -EINVAL);
}

static void loaded_travels(void **state)
{
	static const char paths[] = "/lib/liba.so\0/b";
	struct wire_loaded loaded = {
			.token = 7, .nr_paths = 2, .size = sizeof(paths), .paths = paths};
	struct wire_loaded out;
	ssize_t size = wire_encode_loaded(message, sizeof(message), &loaded);

	(void)state;
	assert_true(size > 0);
	assert_int_equal(wire_decode_loaded(message, (size_t)size, &out), 0);
	assert_true(out.token == 7 && out.nr_paths == 2 && out.size == sizeof(paths));
	assert_memory_equal(out.paths, paths, sizeof(paths));
	loaded.token = 0;
	assert_int_equal(wire_encode_loaded(message, sizeof(message), &loaded), -EINVAL);
	loaded.token = 7;
	/* Not as many paths, or not absolute. */
	for (uint32_t nr = 0; nr < 4; nr++) {
		loaded.nr_paths = nr;
		assert_int_equal(wire_encode_loaded(message, sizeof(message), &loaded),
				nr == 2 ? size : -EINVAL);
	}
	loaded = (struct wire_loaded){.token = 7, .nr_paths = 1, .size = 2, .paths = "b"};
	assert_int_equal(wire_encode_loaded(message, sizeof(message), &loaded), -EINVAL);
}

static void welcome_travels(void **state)
{
	static char sessions[WIRE_WELCOME_SESSIONS_BYTES_MAX];
	char path[WIRE_SESSION_PATH_MAX + 2] = "/";
	struct wire_welcome_session one = {.generation = 7, .path = "/run/side/sessions/a.sock"};
	struct wire_welcome in = {.accepted = true, .serial = 77};
	struct wire_welcome out;
	ssize_t size = wire_encode_welcome(message, sizeof(message), &in);
	size_t at = 0;

	(void)state;
	assert_int_equal(size, 16 + 24 + 1);
	assert_int_equal(wire_decode_welcome(message, (size_t)size, &out), 0);
	assert_false(wire_welcome_next(&out, &at, &one));

	assert_int_equal(wire_welcome_add(&in, sessions, sizeof(sessions), &one), 0);
	memset(path + 1, 'p', WIRE_SESSION_PATH_MAX);
	one = (struct wire_welcome_session){.generation = 1ull << 60, .path = path};
	assert_int_equal(wire_welcome_add(&in, sessions, sizeof(sessions), &one), -EINVAL);
	path[WIRE_SESSION_PATH_MAX] = 0;
	assert_int_equal(wire_welcome_add(&in, sessions, 40, &one), -EMSGSIZE);
	while (in.nr_sessions < WIRE_WELCOME_MAX)
		assert_int_equal(wire_welcome_add(&in, sessions, sizeof(sessions), &one), 0);
	assert_int_equal(wire_welcome_add(&in, sessions, sizeof(sessions), &one), -EMSGSIZE);
	size = wire_encode_welcome(message, sizeof(message), &in);
	assert_int_equal(wire_decode_welcome(message, (size_t)size, &out), 0);
	assert_true(out.accepted && out.serial == 77);
	assert_int_equal(out.nr_sessions, WIRE_WELCOME_MAX);
	assert_true(wire_welcome_next(&out, &at, &one));
	assert_true(one.generation == 7);
	assert_string_equal(one.path, "/run/side/sessions/a.sock");
	assert_true(wire_welcome_next(&out, &at, &one));
	assert_true(one.generation == 1ull << 60);
	assert_string_equal(one.path, path);
	in.nr_sessions--;
	assert_int_equal(wire_encode_welcome(message, sizeof(message), &in), -EINVAL);
	one.path = "relative";
	assert_int_equal(wire_welcome_add(&in, sessions, sizeof(sessions), &one), -EINVAL);
	in = (struct wire_welcome){.reason = "this user is not traced"};
	size = wire_encode_welcome(message, sizeof(message), &in);
	assert_int_equal(wire_decode_welcome(message, (size_t)size, &out), 0);
	assert_false(out.accepted);
	assert_string_equal(out.reason, "this user is not traced");
}

static void push_travels(void **state)
{
	static char pushed[1024];
	struct wire_refresh one = {.token = 3, .generation = 4}, one_out;
	ssize_t first = wire_encode_refresh(pushed, sizeof(pushed), &one);
	ssize_t both = first + wire_encode_refresh(pushed + first, sizeof(pushed), &one);
	struct wire_push in = {.base = 1ull << 40,
			.session = WIRE_WELCOME_MAX - 1,
			.size = (uint32_t)both,
			.messages = pushed};
	struct wire_push out;
	ssize_t size = wire_encode_push(message, sizeof(message), &in), cut;
	const uint32_t head_only = 8;

	(void)state;
	assert_int_equal(size, 16 + 16 + both);
	assert_int_equal(wire_decode_push(message, (size_t)size, &out), 0);
	assert_true(out.base == in.base && out.session == in.session && out.size == in.size);
	assert_memory_equal(out.messages, pushed, (size_t)both);
	assert_int_equal(wire_next(out.messages, out.size), first);
	assert_int_equal(wire_decode_refresh(out.messages, (size_t)first, &one_out), 0);
	for (cut = 0; cut < size; cut++)
		assert_int_equal(wire_decode_push(message, (size_t)cut, &out), -EPROTO);
	/* Half a message, an empty one, and a session that no WELCOME has. */
	in.size--;
	assert_int_equal(wire_encode_push(message, sizeof(message), &in), -EINVAL);
	in.size = 0;
	assert_int_equal(wire_encode_push(message, sizeof(message), &in), -EINVAL);
	in.size = (uint32_t)both;
	in.session++;
	assert_int_equal(wire_encode_push(message, sizeof(message), &in), -EINVAL);
	/* A message whose size is larger than the buffer, or smaller than its header. */
	assert_int_equal(wire_next(pushed, (size_t)first - 1), 0);
	memcpy(message, pushed, (size_t)first);
	memcpy(message + offsetof(struct wire_header, size), &head_only, sizeof(head_only));
	assert_int_equal(wire_next(message, (size_t)first), 0);
}

static void pass_travels(void **state)
{
	static char path[WIRE_SESSION_PATH_MAX + 2];
	struct wire_pass in = {.path = "/run/side/sessions/s.sock"}, out;
	ssize_t size = wire_encode_pass(message, sizeof(message), &in), cut;

	(void)state;
	assert_int_equal(size, 16 + 8 + 26);
	assert_int_equal(wire_decode_pass(message, (size_t)size, &out), 0);
	assert_string_equal(out.path, in.path);
	for (cut = 0; cut < size; cut++)
		assert_int_equal(wire_decode_pass(message, (size_t)cut, &out), -EPROTO);
	message[16 + 8] = 'r';
	assert_int_equal(wire_decode_pass(message, (size_t)size, &out), -EPROTO);
	in.path = "not/absolute";
	assert_int_equal(wire_encode_pass(message, sizeof(message), &in), -EINVAL);
	memset(path, '/', sizeof(path) - 1);
	in.path = path;
	assert_int_equal(wire_encode_pass(message, sizeof(message), &in), -EINVAL);
	in.path++;
	assert_true(wire_encode_pass(message, sizeof(message), &in) > 0);
}

static void lies_are_refused(void **state)
{
	struct wire_hello out;
	struct wire_hello in = a_hello;
	struct wire_header header;
	ssize_t size = wire_encode_hello(message, sizeof(message), &in);
	char long_name[300];
	ssize_t cut;

	(void)state;
	for (cut = 0; cut < size; cut++)
		assert_int_equal(wire_decode_hello(message, (size_t)cut, &out), -EPROTO);
	assert_int_equal(wire_decode_hello(message, (size_t)size + 1, &out), -EPROTO);
	message[size - 1] = 'x'; /* the last NUL */
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), -EPROTO);
	message[size - 1] = 0;
	message[16 + 48 + 2] = 0; /* a NUL within the name */
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), -EPROTO);

	wire_encode_hello(message, sizeof(message), &in);
	memcpy(&header, message, sizeof(header));
	header.version++;
	memcpy(message, &header, sizeof(header));
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), -EPROTONOSUPPORT);

	in.word_size = 5;
	size = wire_encode_hello(message, sizeof(message), &in);
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), -EPROTO);
	in.token = 0;
	assert_int_equal(wire_encode_hello(message, sizeof(message), &in), -EINVAL);
	in = a_hello;
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	in.procname = long_name;
	assert_int_equal(wire_encode_hello(message, sizeof(message), &in), -EINVAL);
	assert_int_equal(wire_encode_hello(message, 20, &a_hello), -EMSGSIZE);
}

static uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void mutations_do_no_harm(void **state)
{
	struct wire_config config = {
			.accepted = true, .nr_channels = 2, .nr_tables = 1, .reason = "why"};
	struct wire_probes probes = {.table = 8, .size = 4096};
	struct wire_probe_run runs[2] = {
			{0, 7, WIRE_PROBE_JUMP, 0, 1}, {7, 1, WIRE_PROBE_REFUSED, EBUSY, 1}};
	struct wire_probed probed = {.token = 9,
			.table = 8,
			.last = true,
			.nr_probes = 8,
			.nr_runs = 2,
			.runs = runs};
	struct wire_channel channel = {.name = "ring", .nr_contexts = 2, .contexts = "vpid\0ip"};
	struct wire_rule rule = {.nr_patterns = 2,
			.patterns = "a:b\0c:d",
			.nr_contexts = 1,
			.contexts = "vtid",
			.filter = "0123456789",
			.filter_size = 10};
	struct wire_refused refused[3] = {{1, 1, 1}, {2, 0, 2}, {3, 1, 3}};
	struct wire_ack ack = {.nr_refused = 3, .refused = refused};
	struct wire_events events = {.token = 2, .bytes = "0123456789", .size = 10};
	struct wire_bye bye = {.token = 3};
	struct wire_refresh refresh = {.token = 4, .generation = 5};
	struct wire_done done = {.token = 6, .serial = 7, .state = WIRE_DONE_READERS};
	struct wire_welcome welcome = {.accepted = true, .serial = 2, .reason = "none"};
	struct wire_welcome_session sessions[] = {{1, "/run/a"}, {2, "/run/b"}};
	char pushed[128];
	ssize_t first = wire_encode_refresh(pushed, sizeof(pushed), &refresh);
	struct wire_push push = {
			.base = 8, .session = 1, .size = (uint32_t)(2 * first), .messages = pushed};
	struct wire_pass pass = {.path = "/run/a"};
	struct wire_loaded loaded = {.token = 9, .nr_paths = 2, .size = 6, .paths = "/a\0/b"};
	char capacity[64];
	unsigned long rounds = getenv("SIDE_TEST_LONG") ? 20000000 : 300000;
	unsigned long accepted = 0;
	uint64_t seed = 20240229;
	unsigned long i;

	(void)state;
	memcpy(pushed + first, pushed, (size_t)first);
	wire_welcome_add(&welcome, capacity, sizeof(capacity), &sessions[0]);
	wire_welcome_add(&welcome, capacity, sizeof(capacity), &sessions[1]);
	for (i = 0; i < rounds; i++) {
		uint8_t *copy;
		ssize_t size = 0;
		uint32_t changes = random_next(&seed) % 4;

		switch (i % 16) {
		case 0: size = wire_encode_hello(message, sizeof(message), &a_hello); break;
		case 1: size = wire_encode_config(message, sizeof(message), &config); break;
		case 2: size = wire_encode_events(message, sizeof(message), &events); break;
		case 3: size = wire_encode_ack(message, sizeof(message), &ack); break;
		case 4: size = wire_encode_bye(message, sizeof(message), &bye); break;
		case 5: size = wire_encode_channel(message, sizeof(message), &channel); break;
		case 6: size = wire_encode_rule(message, sizeof(message), &rule); break;
		case 7: size = wire_encode_refresh(message, sizeof(message), &refresh); break;
		case 8: size = wire_encode_arrive(message, sizeof(message), &an_arrive); break;
		case 9: size = wire_encode_welcome(message, sizeof(message), &welcome); break;
		case 10: size = wire_encode_done(message, sizeof(message), &done); break;
		case 11: size = wire_encode_probes(message, sizeof(message), &probes); break;
		case 12: size = wire_encode_probed(message, sizeof(message), &probed); break;
		case 13: size = wire_encode_push(message, sizeof(message), &push); break;
		case 14: size = wire_encode_pass(message, sizeof(message), &pass); break;
		case 15: size = wire_encode_loaded(message, sizeof(message), &loaded); break;
		}
		assert_true(size > 0);
		while (changes--) {
			/* Sizes and counts are after the header: change that part often. */
			uint32_t at = random_next(&seed) % (uint32_t)size;
			static const uint8_t interesting[] = {0, 1, 2, 0x7f, 0x80, 0xff};

			if (random_next(&seed) % 2)
				message[at] = interesting[random_next(&seed) % sizeof(interesting)];
			else
				message[at] ^= (uint8_t)(1u << random_next(&seed) % 8);
		}
		/* In a block of exactly this size, so that a read beyond it is detected. */
		copy = malloc((size_t)size);
		assert_non_null(copy);
		memcpy(copy, message, (size_t)size);
		accepted += fuzz_messages(copy, (size_t)size);
		free(copy);
	}
	/* At least the unchanged quarter. */
	assert_true(accepted > rounds / 5 && accepted < rounds);
}

/* ---- every field of every message ---- */

enum which {
	HELLO,
	CONFIG,
	CHANNEL,
	RULE,
	EVENTS,
	ACK,
	BYE,
	REFRESH,
	ARRIVE,
	WELCOME,
	PUSH,
	PASS,
	DONE,
	PROBES,
	PROBED,
	MISSED,
	NR_MESSAGES
};

/* Encodes a message of that type. */
static size_t base_message(enum which which)
{
	static const struct wire_refused refused[2] = {
			{5, 0, WIRE_REFUSAL_MALFORMED}, {6, 1, WIRE_REFUSAL_CHANNEL}};
	static const struct wire_probe_run runs[2] = {
			{0, 7, WIRE_PROBE_JUMP, 0, 1}, {7, 1, WIRE_PROBE_REFUSED, EBUSY, 1}};
	static const struct wire_welcome_session session = {9, "/run/a"};
	static char sessions[64], pushed[64];
	struct wire_welcome welcome = {.accepted = true, .serial = 3, .reason = "why"};
	struct wire_refresh refresh = {.token = 4, .generation = 5};
	struct wire_push push = {.session = 1, .messages = pushed};
	ssize_t size = -1;

	switch (which) {
	case HELLO: size = wire_encode_hello(message, sizeof(message), &a_hello); break;
	case CONFIG:
		size = wire_encode_config(message, sizeof(message),
				&(struct wire_config){.accepted = true,
						.nr_channels = 3,
						.nr_tables = 1,
						.reason = "why"});
		break;
	case CHANNEL:
		size = wire_encode_channel(message, sizeof(message),
				&(struct wire_channel){.name = "ring",
						.nr_contexts = 2,
						.contexts = "vpid\0ip"});
		break;
	case RULE:
		size = wire_encode_rule(message, sizeof(message),
				&(struct wire_rule){.nr_patterns = 2,
						.patterns = "a:b\0c:d",
						.nr_contexts = 1,
						.contexts = "vtid",
						.filter = "0123456789",
						.filter_size = 10});
		break;
	case EVENTS:
		size = wire_encode_events(message, sizeof(message),
				&(struct wire_events){
						.token = 2, .bytes = "0123456789", .size = 10});
		break;
	case ACK:
		size = wire_encode_ack(message, sizeof(message),
				&(struct wire_ack){.nr_refused = 2, .refused = refused});
		break;
	case BYE:
		size = wire_encode_bye(message, sizeof(message), &(struct wire_bye){.token = 3});
		break;
	case REFRESH: size = wire_encode_refresh(message, sizeof(message), &refresh); break;
	case ARRIVE: size = wire_encode_arrive(message, sizeof(message), &an_arrive); break;
	case WELCOME:
		assert_int_equal(wire_welcome_add(&welcome, sessions, sizeof(sessions), &session),
				0);
		size = wire_encode_welcome(message, sizeof(message), &welcome);
		break;
	case PUSH:
		push.size = (uint32_t)wire_encode_refresh(pushed, sizeof(pushed), &refresh);
		size = wire_encode_push(message, sizeof(message), &push);
		break;
	case PASS:
		size = wire_encode_pass(
				message, sizeof(message), &(struct wire_pass){.path = "/run/a"});
		break;
	case DONE:
		size = wire_encode_done(message, sizeof(message),
				&(struct wire_done){.token = 6,
						.serial = 7,
						.state = WIRE_DONE_READERS});
		break;
	case PROBES:
		size = wire_encode_probes(message, sizeof(message),
				&(struct wire_probes){.table = 8, .size = 4096});
		break;
	case PROBED:
		size = wire_encode_probed(message, sizeof(message),
				&(struct wire_probed){.token = 9,
						.table = 8,
						.nr_probes = 8,
						.nr_runs = 2,
						.runs = runs});
		break;
	case MISSED:
		size = wire_encode_unrecorded(message, sizeof(message),
				&(struct wire_unrecorded){
						.reason = 2, .elapsed_ms = 11, .name = "prog"});
		break;
	case NR_MESSAGES: break;
	}
	assert_true(size > 0);
	return (size_t)size;
}

static int decode(enum which which, size_t size)
{
	union {
		struct wire_hello hello;
		struct wire_config config;
		struct wire_channel channel;
		struct wire_rule rule;
		struct wire_events events;
		struct wire_ack ack;
		struct wire_bye bye;
		struct wire_refresh refresh;
		struct wire_arrive arrive;
		struct wire_welcome welcome;
		struct wire_push push;
		struct wire_pass pass;
		struct wire_done done;
		struct wire_probes probes;
		struct wire_probed probed;
		struct wire_unrecorded unrecorded;
	} out;

	switch (which) {
	case HELLO: return wire_decode_hello(message, size, &out.hello);
	case CONFIG: return wire_decode_config(message, size, &out.config);
	case CHANNEL: return wire_decode_channel(message, size, &out.channel);
	case RULE: return wire_decode_rule(message, size, &out.rule);
	case EVENTS: return wire_decode_events(message, size, &out.events);
	case ACK: return wire_decode_ack(message, size, &out.ack);
	case BYE: return wire_decode_bye(message, size, &out.bye);
	case REFRESH: return wire_decode_refresh(message, size, &out.refresh);
	case ARRIVE: return wire_decode_arrive(message, size, &out.arrive);
	case WELCOME: return wire_decode_welcome(message, size, &out.welcome);
	case PUSH: return wire_decode_push(message, size, &out.push);
	case PASS: return wire_decode_pass(message, size, &out.pass);
	case DONE: return wire_decode_done(message, size, &out.done);
	case PROBES: return wire_decode_probes(message, size, &out.probes);
	case PROBED: return wire_decode_probed(message, size, &out.probed);
	case MISSED: return wire_decode_unrecorded(message, size, &out.unrecorded);
	case NR_MESSAGES: break;
	}
	return 1;
}

static void poke(size_t at, size_t size, uint64_t value)
{
	memcpy(message + at, &value, size);
}

/* Numbers have 4 bytes, unless the field has 8. `at` counts from the end of the header. */
static const struct {
	enum which which;
	unsigned int at, size;
	uint64_t value;
	bool ok;
} pokes[] = {
		{HELLO, 0, 4, 0, true},
		{HELLO, 8, 8, 0, false},
		{HELLO, 16, 8, 0, true},
		{HELLO, 24, 4, 4, true},
		{HELLO, 24, 4, 8, true},
		{HELLO, 24, 4, 0, false},
		{HELLO, 24, 4, 16, false},
		{HELLO, 32, 4, WIRE_NR_CONTROLS, false},
		{HELLO, 36, 4, 0, false},
		{HELLO, 36, 4, WIRE_SIGNAL_MAX, true},
		{HELLO, 36, 4, WIRE_SIGNAL_MAX + 1, false},
		{HELLO, 40, 4, 7, false},
		{HELLO, 40, 4, 9, false},
		{HELLO, 44, 4, 16, false},
		{HELLO, 44, 4, 18, false},
		{HELLO, 40, 8, 9 | UINT64_C(16) << 32, false},
		{HELLO, 40, 8, 7 | UINT64_C(18) << 32, false},
		{HELLO, 40, 8, 0 | UINT64_C(25) << 32, false},
		{HELLO, 40, 8, 25 | UINT64_C(0) << 32, false},
		{CONFIG, 0, 4, 0, true},
		{CONFIG, 0, 4, 2, false},
		{CONFIG, 4, 4, WIRE_CONFIG_UNCHANGED, false},
		{CONFIG, 28, 4, WIRE_CHANNELS_MAX, true},
		{CONFIG, 28, 4, WIRE_CHANNELS_MAX + 1, false},
		{CONFIG, 28, 4, 1, true},
		{CONFIG, 28, 4, 0, false},
		{CONFIG, 32, 4, 3, false},
		{CONFIG, 32, 4, 5, false},
		{CONFIG, 36, 4, WIRE_TABLES_MAX, true},
		{CONFIG, 36, 4, WIRE_TABLES_MAX + 1, false},
		{CONFIG, 36, 4, 0, true},
		{CHANNEL, 8, 4, WIRE_CHANNELS_MAX - 1, true},
		{CHANNEL, 8, 4, WIRE_CHANNELS_MAX, false},
		{CHANNEL, 12, 4, WIRE_RULES_MAX, true},
		{CHANNEL, 12, 4, WIRE_RULES_MAX + 1, false},
		{CHANNEL, 16, 4, 1, false},
		{CHANNEL, 16, 4, 3, false},
		{CHANNEL, 16, 4, WIRE_CONTEXTS_MAX + 1, false},
		{CHANNEL, 20, 4, 4, false},
		{CHANNEL, 20, 4, 6, false},
		{CHANNEL, 20, 4, UINT32_MAX, false},
		{CHANNEL, 20, 4, 1, false},
		{CHANNEL, 24, 4, 7, false},
		{CHANNEL, 24, 4, 9, false},
		{CHANNEL, 20, 8, 4 | UINT64_C(9) << 32, false},
		{CHANNEL, 28, 4, 1, false},
		{RULE, 0, 4, WIRE_CHANNELS_MAX - 1, true},
		{RULE, 0, 4, WIRE_CHANNELS_MAX, false},
		{RULE, 4, 4, 9, false},
		{RULE, 4, 4, 11, false},
		{RULE, 8, 4, 1, false},
		{RULE, 8, 4, 3, false},
		{RULE, 8, 4, WIRE_PATTERNS_MAX + 1, false},
		{RULE, 12, 4, 0, false},
		{RULE, 12, 4, 2, false},
		{RULE, 12, 4, WIRE_CONTEXTS_MAX + 1, false},
		{RULE, 16, 4, 7, false},
		{RULE, 16, 4, 9, false},
		{RULE, 16, 4, UINT32_MAX, false},
		{RULE, 20, 4, 4, false},
		{RULE, 20, 4, 6, false},
		{RULE, 20, 4, UINT32_MAX, false},
		{RULE, 16, 8, 7 | UINT64_C(6) << 32, false},
		{EVENTS, 0, 8, 0, false},
		{EVENTS, 8, 4, UINT32_MAX, true},
		{EVENTS, 12, 4, 1, true},
		{EVENTS, 12, 4, 2, false},
		{EVENTS, 16, 4, 9, false},
		{EVENTS, 16, 4, 11, false},
		{EVENTS, 20, 4, 1, false},
		{ACK, 4, 4, 1, true},
		{ACK, 4, 4, 2, false},
		{ACK, 8, 4, 1, false},
		{ACK, 8, 4, 3, false},
		{ACK, 8, 4, WIRE_ACK_REFUSALS_MAX + 1, false},
		{ACK, 12, 4, 1, false},
		{ACK, 16 + 6, 2, WIRE_REFUSAL_NONE, false},
		{ACK, 16 + 6, 2, WIRE_NR_REFUSALS - 1, true},
		{ACK, 16 + 14, 2, WIRE_NR_REFUSALS, false},
		{ACK, 16 + 14, 2, WIRE_REFUSAL_NONE, false},
		{BYE, 0, 8, 0, false},
		{BYE, 0, 8, UINT64_MAX, true},
		{REFRESH, 0, 8, 0, false},
		{REFRESH, 8, 8, 0, true},
		{ARRIVE, 4, 4, WIRE_NR_CONTROLS, false},
		{ARRIVE, 8, 4, 1, false},
		{ARRIVE, 16, 8, 0, false},
		{ARRIVE, 24, 8, 0, true},
		{ARRIVE, 32, 4, 4, false},
		{ARRIVE, 36, 4, 15, false},
		{ARRIVE, 32, 8, 6 | UINT64_C(13) << 32, false},
		{ARRIVE, 32, 8, 4 | UINT64_C(15) << 32, false},
		{WELCOME, 8, 4, 0, true},
		{WELCOME, 8, 4, 2, false},
		{WELCOME, 12, 4, 0, false},
		{WELCOME, 12, 4, 2, false},
		{WELCOME, 16, 4, 14, false},
		{WELCOME, 16, 4, 16, false},
		{WELCOME, 16, 4, UINT32_MAX, false},
		{WELCOME, 20, 4, 3, false},
		{WELCOME, 16, 8, 14 | UINT64_C(5) << 32, false},
		{WELCOME, 24 + 8, 1, 'r', false},
		{WELCOME, 24 + 15 + 1, 1, 0, false},
		{PUSH, 8, 4, WIRE_WELCOME_MAX - 1, true},
		{PUSH, 8, 4, WIRE_WELCOME_MAX, false},
		{PUSH, 12, 4, 31, false},
		{PUSH, 12, 4, 33, false},
		{PUSH, 16 + 8, 4, 31, false},
		{PUSH, 16 + 8, 4, 33, false},
		{PUSH, 16 + 8, 4, 15, false},
		{PUSH, 16 + 8, 4, 16, false},
		{PASS, 0, 4, 6, false},
		{PASS, 0, 4, 8, false},
		{PASS, 4, 4, 1, false},
		{PASS, 8, 1, '.', false},
		{PASS, 8 + 2, 1, 0, false},
		{PASS, 8 + 6, 1, 'x', false},
		{DONE, 0, 8, 0, false},
		{DONE, 16, 4, WIRE_NR_DONE_STATES - 1, true},
		{DONE, 16, 4, WIRE_NR_DONE_STATES, false},
		{DONE, 20, 4, 1, false},
		{PROBES, 0, 8, 0, false},
		{PROBES, 8, 8, 0, false},
		{PROBED, 0, 8, 0, false},
		{PROBED, 8, 8, 0, false},
		{PROBED, 20, 4, 1, true},
		{PROBED, 20, 4, 2, false},
		{PROBED, 24, 4, 5, false},
		{PROBED, 28, 4, 7, false},
		{PROBED, 28, 4, 9, true},
		{PROBED, 80, 4, 1, false},
		{PROBED, 80, 4, 3, false},
		{PROBED, 84, 4, 1, false},
		{PROBED, 88 + 4, 4, 0, false},
		{PROBED, 88 + 4, 4, 6, false},
		{PROBED, 88 + 4, 4, 8, false},
		{PROBED, 88, 4, 1, false},
		{MISSED, 0, 4, 0, false},
		{MISSED, 4, 4, 4, false},
		{MISSED, 4, 4, 6, false},
		{MISSED, 12, 4, 1, false},
		{MISSED, 16 + 1, 1, 0, false},
};

static void fields_are_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pokes) / sizeof(*pokes); i++) {
		size_t size = base_message(pokes[i].which);

		assert_int_equal(decode(pokes[i].which, size), 0);
		poke(16 + pokes[i].at, pokes[i].size, pokes[i].value);
		if (decode(pokes[i].which, size) != (pokes[i].ok ? 0 : -EPROTO))
			fail_msg("message %u, byte %u, value %llu", pokes[i].which, pokes[i].at,
					(unsigned long long)pokes[i].value);
	}
}

/*
 * For each decoder: another type, another version, more or fewer bytes than its fields, and a wrong
 * header.
 */
static void headers_are_checked(void **state)
{
	(void)state;
	for (enum which which = 0; which < NR_MESSAGES; which++) {
		size_t size = base_message(which);
		int type = wire_message_type(message, size);

		assert_true(type > 0);
		assert_int_equal(wire_message_version(message, 16), WIRE_PROTOCOL_VERSION);
		assert_int_equal(wire_message_version(message, 15), 0);
		poke(4, 2, WIRE_PROTOCOL_VERSION + 1);
		assert_int_equal(decode(which, size), -EPROTONOSUPPORT);
		assert_int_equal(wire_message_version(message, size), WIRE_PROTOCOL_VERSION + 1);
		base_message(which);
		poke(6, 2, type == WIRE_BYE ? WIRE_DONE : WIRE_BYE);
		assert_int_equal(decode(which, size), -EPROTO);
		for (unsigned int bad = 0; bad < 2; bad++) {
			poke(6, 2, bad ? WIRE_LOADED + 1 : WIRE_HELLO - 1);
			assert_int_equal(wire_message_type(message, size), -EPROTO);
		}
		base_message(which);
		poke(12, 4, 1);
		assert_int_equal(decode(which, size), -EPROTO);
		base_message(which);
		message[0] ^= 1;
		assert_int_equal(decode(which, size), -EPROTO);
		assert_int_equal(wire_message_version(message, size), 0);
		/* One byte more and less, with the right size in the header. */
		base_message(which);
		message[size] = 0;
		poke(8, 4, size + 1);
		assert_int_equal(decode(which, size + 1), -EPROTO);
		base_message(which);
		poke(8, 4, size - 1);
		assert_int_equal(decode(which, size - 1), -EPROTO);
		base_message(which);
		poke(8, 4, 16);
		assert_int_equal(decode(which, 16), -EPROTO);
		assert_int_equal(decode(which, 15), -EPROTO);
	}
}

/* The token 0 is invalid; texts have a maximum length. */
static void encoders_refuse(void **state)
{
	static char text[5000];
	struct wire_hello hello = a_hello, hello_out;
	struct wire_arrive arrive = an_arrive, arrive_out;
	struct wire_config config = {.reason = text}, config_out;
	struct wire_welcome welcome = {.reason = text}, welcome_out;
	struct wire_push push = {.size = 16};
	ssize_t size;

	(void)state;
	assert_int_equal(wire_encode_bye(message, sizeof(message), &(struct wire_bye){.token = 0}),
			-EINVAL);
	assert_int_equal(wire_encode_events(message, sizeof(message),
					 &(struct wire_events){.token = 0}),
			-EINVAL);
	assert_int_equal(
			wire_encode_done(message, sizeof(message), &(struct wire_done){.token = 0}),
			-EINVAL);
	arrive.token = 0;
	assert_int_equal(wire_encode_arrive(message, sizeof(message), &arrive), -EINVAL);
	arrive.token = 1;
	memset(text, 't', sizeof(text));
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		text[255 + beyond] = 0;
		hello.procname = arrive.procname = text;
		size = wire_encode_hello(message, sizeof(message), &hello);
		assert_int_equal(size < 0 ? (int)size
					  : wire_decode_hello(message, (size_t)size, &hello_out),
				beyond ? -EINVAL : 0);
		size = wire_encode_arrive(message, sizeof(message), &arrive);
		assert_int_equal(size < 0 ? (int)size
					  : wire_decode_arrive(message, (size_t)size, &arrive_out),
				beyond ? -EINVAL : 0);
		text[255 + beyond] = 't';
		hello.procname = arrive.procname = "p";
		text[4095 + beyond] = 0;
		hello.exe = arrive.exe = text;
		size = wire_encode_hello(message, sizeof(message), &hello);
		assert_int_equal(size < 0 ? (int)size
					  : wire_decode_hello(message, (size_t)size, &hello_out),
				beyond ? -EINVAL : 0);
		size = wire_encode_arrive(message, sizeof(message), &arrive);
		assert_int_equal(size < 0 ? (int)size
					  : wire_decode_arrive(message, (size_t)size, &arrive_out),
				beyond ? -EINVAL : 0);
		hello.exe = arrive.exe = "e";
		text[4095 + beyond] = 't';
		text[2047 + beyond] = 0;
		size = wire_encode_config(message, sizeof(message), &config);
		assert_int_equal(size < 0 ? (int)size
					  : wire_decode_config(message, (size_t)size, &config_out),
				beyond ? -EINVAL : 0);
		size = wire_encode_welcome(message, sizeof(message), &welcome);
		assert_int_equal(
				size < 0 ? (int)size
					 : wire_decode_welcome(message, (size_t)size, &welcome_out),
				beyond ? -EINVAL : 0);
		text[2047 + beyond] = 't';
	}
	/* The capacity: exactly this number of bytes. */
	size = wire_encode_hello(message, sizeof(message), &a_hello);
	assert_int_equal(wire_encode_hello(message, (size_t)size, &a_hello), size);
	assert_int_equal(wire_encode_hello(message, (size_t)size - 1, &a_hello), -EMSGSIZE);
	/* Messages in a PUSH: as short as a header. */
	size = wire_encode_bye(text, sizeof(text), &(struct wire_bye){.token = 1});
	assert_int_equal(wire_next(text, (size_t)size), size);
	memcpy(text + 8, &(uint32_t){16}, 4);
	assert_int_equal(wire_next(text, 16), 16);
	assert_int_equal(wire_next(text, 15), 0);
	assert_int_equal(wire_next(text, 0), 0);
	push.messages = text;
	assert_int_equal(wire_encode_push(message, sizeof(message), &push), 16 + 16 + 16);
	memcpy(text + 8, &(uint32_t){15}, 4);
	assert_int_equal(wire_next(text, 16), 0);
}

static void refusals_have_texts(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < WIRE_NR_REFUSALS; i++)
		for (uint32_t k = 0; k <= i; k++)
			assert_int_equal(!strcmp(wire_refusal_text(i), wire_refusal_text(k)),
					i == k);
	assert_string_equal(wire_refusal_text(WIRE_REFUSAL_NONE), "not refused");
	assert_string_equal(wire_refusal_text(WIRE_NR_REFUSALS), "unknown reason");
	for (uint32_t i = 0; i < WIRE_NR_PROBE_STATES; i++)
		for (uint32_t k = 0; k <= i; k++)
			assert_int_equal(
					!strcmp(wire_probe_state_text(i), wire_probe_state_text(k)),
					i == k);
	assert_string_equal(wire_probe_state_text(WIRE_NR_PROBE_STATES), "unknown");
	assert_string_equal(wire_probe_error_text(0), "no reason");
	assert_string_equal(wire_probe_error_text(ENOENT), "No such file or directory");
	assert_string_equal(wire_probe_error_text(100000), "unknown reason");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(hello_travels),
			cmocka_unit_test(config_travels),
			cmocka_unit_test(channel_travels),
			cmocka_unit_test(rule_travels),
			cmocka_unit_test(events_ack_bye_travel),
			cmocka_unit_test(refresh_arrive_done_travel),
			cmocka_unit_test(probes_probed_travel),
			cmocka_unit_test(loaded_travels),
			cmocka_unit_test(welcome_travels),
			cmocka_unit_test(push_travels),
			cmocka_unit_test(pass_travels),
			cmocka_unit_test(lies_are_refused),
			cmocka_unit_test(fields_are_checked),
			cmocka_unit_test(headers_are_checked),
			cmocka_unit_test(encoders_refuse),
			cmocka_unit_test(refusals_have_texts),
			cmocka_unit_test(mutations_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
