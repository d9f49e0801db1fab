/* SPDX-License-Identifier: MIT */
/*
 * Limits of the messages between agent, consumer and daemon, of patterns, contexts and early boot.
 * The encoders refuse values above a limit, so this test writes the messages for the decoders
 * itself.
 */
#include "driver.h"

#include <errno.h>
#include <stdio.h>

#include "protocol/boot.h"
#include "protocol/context.h"
#include "protocol/message.h"
#include "protocol/pattern.h"
#include "protocol/runtime.h"
#include "protocol/protocol.h"

/* ---- messages ---- */

static struct {
	unsigned char bytes[2 * WIRE_MESSAGE_MAX];
	size_t size;
} made;

static void add(const void *bytes, size_t size)
{
	assert_true(made.size + size <= sizeof(made.bytes));
	if (size)
		memcpy(made.bytes + made.size, bytes, size);
	made.size += size;
}

static void add32(uint64_t number)
{
	uint32_t word = (uint32_t)number;

	add(&word, sizeof(word));
}

static void add64(uint64_t number)
{
	add(&number, sizeof(number));
}

static void begin(enum wire_type type)
{
	struct wire_header header = {.magic = WIRE_MAGIC,
			.version = WIRE_PROTOCOL_VERSION,
			.type = (uint16_t)type};

	made.size = 0;
	add(&header, sizeof(header));
}

static void end(void)
{
	uint32_t size = (uint32_t)made.size;

	memcpy(made.bytes + offsetof(struct wire_header, size), &size, sizeof(size));
}

/* `count` strings with one letter each. */
static void add_strings(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		add("x", 2);
}

static int decode_hello(const char *name, const char *exe, uint64_t control, uint64_t signal)
{
	struct wire_hello hello;
	int ret;

	begin(WIRE_HELLO);
	add32(7);
	add32(1);
	add64(5);
	add64(0);
	add32(8);
	add32(0);
	add32(control);
	add32(signal);
	add32(strlen(name) + 1);
	add32(strlen(exe) + 1);
	add(name, strlen(name) + 1);
	add(exe, strlen(exe) + 1);
	end();
	ret = wire_decode_hello(made.bytes, made.size, &hello);
	if (!ret) {
		assert_string_equal(hello.procname, name);
		assert_string_equal(hello.exe, exe);
		assert_int_equal(hello.control_signal, signal);
	}
	return ret;
}

/* The sizes in messages count the NUL. */
static int hello_procname(uint64_t count)
{
	return decode_hello(limit_text('n', count - 1), "/x", 0, 0);
}

static int hello_exe(uint64_t count)
{
	return decode_hello("x", limit_text('/', count - 1), 0, 0);
}

static int hello_signal(uint64_t count)
{
	return decode_hello("x", "/x", WIRE_CONTROL_SIGNAL, count);
}

static int send_hello_procname(uint64_t count)
{
	struct wire_hello hello = {.token = 1,
			.word_size = 8,
			.procname = limit_text('n', count - 1),
			.exe = "x"};
	ssize_t size = wire_encode_hello(made.bytes, sizeof(made.bytes), &hello);

	return size < 0 ? (int)size : decode_hello(hello.procname, "x", 0, 0);
}

static int send_hello_exe(uint64_t count)
{
	struct wire_hello hello = {.token = 1,
			.word_size = 8,
			.procname = "x",
			.exe = limit_text('n', count - 1)};
	ssize_t size = wire_encode_hello(made.bytes, sizeof(made.bytes), &hello);

	return size < 0 ? (int)size : 0;
}

static int decode_arrive(const char *name, const char *exe)
{
	struct wire_arrive arrive;
	int ret;

	begin(WIRE_ARRIVE);
	add32(7);
	add32(0);
	add32(0);
	add32(0);
	add64(5);
	add64(0);
	add32(strlen(name) + 1);
	add32(strlen(exe) + 1);
	add(name, strlen(name) + 1);
	add(exe, strlen(exe) + 1);
	end();
	ret = wire_decode_arrive(made.bytes, made.size, &arrive);
	if (!ret) {
		assert_string_equal(arrive.procname, name);
		assert_string_equal(arrive.exe, exe);
	}
	return ret;
}

static int arrive_procname(uint64_t count)
{
	return decode_arrive(limit_text('n', count - 1), "/x");
}

static int arrive_exe(uint64_t count)
{
	return decode_arrive("x", limit_text('/', count - 1));
}

static int send_arrive_procname(uint64_t count)
{
	struct wire_arrive arrive = {
			.token = 1, .procname = limit_text('n', count - 1), .exe = "x"};
	ssize_t size = wire_encode_arrive(made.bytes, sizeof(made.bytes), &arrive);

	return size < 0 ? (int)size : 0;
}

static int send_arrive_exe(uint64_t count)
{
	struct wire_arrive arrive = {
			.token = 1, .procname = "x", .exe = limit_text('n', count - 1)};
	ssize_t size = wire_encode_arrive(made.bytes, sizeof(made.bytes), &arrive);

	return size < 0 ? (int)size : 0;
}

static int decode_config(uint64_t channels, uint64_t tables, const char *reason)
{
	struct wire_config config;
	int ret;

	begin(WIRE_CONFIG);
	add32(1);
	add32(0);
	add32(0);
	add32(0);
	add32(0);
	add32(0);
	add32(0);
	add32(channels);
	add32(strlen(reason) + 1);
	add32(tables);
	for (int i = 0; i < 5; i++)
		add64(0);
	add(reason, strlen(reason) + 1);
	end();
	ret = wire_decode_config(made.bytes, made.size, &config);
	if (!ret) {
		assert_int_equal(config.nr_channels, channels);
		assert_int_equal(config.nr_tables, tables);
		assert_string_equal(config.reason, reason);
	}
	return ret;
}

static int config_channels(uint64_t count)
{
	return decode_config(count, 0, "");
}

static int config_tables(uint64_t count)
{
	return decode_config(1, count, "");
}

static int config_reason(uint64_t count)
{
	return decode_config(1, 0, limit_text('r', count - 1));
}

static int send_config_channels(uint64_t count)
{
	struct wire_config config = {.accepted = true, .nr_channels = (uint32_t)count};
	ssize_t size = wire_encode_config(made.bytes, sizeof(made.bytes), &config);

	return size < 0 ? (int)size : 0;
}

static int send_config_tables(uint64_t count)
{
	struct wire_config config = {
			.accepted = true, .nr_channels = 1, .nr_tables = (uint32_t)count};
	ssize_t size = wire_encode_config(made.bytes, sizeof(made.bytes), &config);

	return size < 0 ? (int)size : 0;
}

static int send_config_reason(uint64_t count)
{
	struct wire_config config = {.reason = limit_text('r', count - 1)};
	ssize_t size = wire_encode_config(made.bytes, sizeof(made.bytes), &config);

	return size < 0 ? (int)size : 0;
}

static int decode_channel(uint64_t index, uint64_t rules, uint64_t contexts, const char *name)
{
	struct wire_channel channel;
	int ret;

	begin(WIRE_CHANNEL);
	add64(1 << 20);
	add32(index);
	add32(rules);
	add32(contexts);
	add32(strlen(name) + 1);
	add32(2 * contexts);
	add32(0);
	add(name, strlen(name) + 1);
	add_strings(contexts);
	end();
	ret = wire_decode_channel(made.bytes, made.size, &channel);
	if (!ret) {
		assert_int_equal(channel.index, index);
		assert_int_equal(channel.nr_rules, rules);
		assert_int_equal(channel.nr_contexts, contexts);
		assert_string_equal(channel.name, name);
	}
	return ret;
}

static int channel_index(uint64_t count)
{
	return decode_channel(count - 1, 0, 0, "c");
}

static int channel_rules(uint64_t count)
{
	return decode_channel(0, count, 0, "c");
}

static int channel_contexts(uint64_t count)
{
	return decode_channel(0, 0, count, "c");
}

static int channel_name(uint64_t count)
{
	return decode_channel(0, 0, 0, limit_text('c', count));
}

static int send_channel_rules(uint64_t count)
{
	struct wire_channel channel = {.name = "c", .nr_rules = (uint32_t)count};
	ssize_t size = wire_encode_channel(made.bytes, sizeof(made.bytes), &channel);

	return size < 0 ? (int)size : 0;
}

static int send_channel_index(uint64_t count)
{
	struct wire_channel channel = {.name = "c", .index = (uint32_t)count - 1};
	ssize_t size = wire_encode_channel(made.bytes, sizeof(made.bytes), &channel);

	return size < 0 ? (int)size : 0;
}

static int decode_rule(uint64_t channel, uint64_t patterns, uint64_t contexts)
{
	struct wire_rule rule;
	int ret;

	begin(WIRE_RULE);
	add32(channel);
	add32(0);
	add32(patterns);
	add32(contexts);
	add32(2 * patterns);
	add32(2 * contexts);
	add_strings(patterns + contexts);
	end();
	ret = wire_decode_rule(made.bytes, made.size, &rule);
	if (!ret) {
		assert_int_equal(rule.channel, channel);
		assert_int_equal(rule.nr_patterns, patterns);
		assert_int_equal(rule.nr_contexts, contexts);
	}
	return ret;
}

static int rule_channel(uint64_t count)
{
	return decode_rule(count - 1, 0, 0);
}

static int rule_patterns(uint64_t count)
{
	return decode_rule(0, count, 0);
}

static int rule_contexts(uint64_t count)
{
	return decode_rule(0, 0, count);
}

/*
 * Encodes a rule or channel with `count` strings. The bytes of all strings are present, so that
 * only the number is refused.
 */
static int send_rule(uint64_t patterns, uint64_t contexts)
{
	struct wire_rule rule = {.nr_patterns = (uint32_t)patterns,
			.patterns = (const char *)made.bytes,
			.nr_contexts = (uint32_t)contexts,
			.contexts = (const char *)made.bytes};
	static unsigned char message[WIRE_MESSAGE_MAX];
	ssize_t size;

	made.size = 0;
	add_strings(patterns + contexts);
	size = wire_encode_rule(message, sizeof(message), &rule);
	return size < 0 ? (int)size : 0;
}

static int send_rule_channel(uint64_t count)
{
	struct wire_rule rule = {.channel = (uint32_t)count - 1, .patterns = "", .contexts = ""};
	ssize_t size = wire_encode_rule(made.bytes, sizeof(made.bytes), &rule);

	return size < 0 ? (int)size : 0;
}

static int send_rule_patterns(uint64_t count)
{
	return send_rule(count, 0);
}

static int send_rule_contexts(uint64_t count)
{
	return send_rule(0, count);
}

static int ack_refusals(uint64_t count)
{
	struct wire_ack ack;
	int ret;

	begin(WIRE_ACK);
	add32(0);
	add32(1);
	add32(count);
	add32(0);
	for (uint64_t i = 0; i < count; i++) {
		struct wire_refused refused = {.id = (uint32_t)i, .reason = WIRE_REFUSAL_TOO_LARGE};

		add(&refused, sizeof(refused));
	}
	end();
	ret = wire_decode_ack(made.bytes, made.size, &ack);
	if (!ret) {
		assert_int_equal(ack.nr_refused, count);
		assert_int_equal(wire_ack_at(&ack, (uint32_t)count - 1).id, count - 1);
	}
	return ret;
}

static int send_ack_refusals(uint64_t count)
{
	static const struct wire_refused refused[WIRE_ACK_REFUSALS_MAX + 1];
	struct wire_ack ack = {.nr_refused = (uint32_t)count, .refused = refused};
	ssize_t size = wire_encode_ack(made.bytes, sizeof(made.bytes), &ack);

	return size < 0 ? (int)size : 0;
}

static int probed_runs(uint64_t count)
{
	struct wire_probed probed;
	int ret;

	begin(WIRE_PROBED);
	add64(1);
	add64(1);
	add32(0);
	add32(1);
	add32(0);
	add32(count);
	for (int i = 0; i < 6; i++)
		add64(0);
	add32(count);
	add32(0);
	for (uint64_t i = 0; i < count; i++) {
		struct wire_probe_run run = {(uint32_t)i, 1, WIRE_PROBE_JUMP, 0, 1};

		add(&run, sizeof(run));
	}
	end();
	ret = wire_decode_probed(made.bytes, made.size, &probed);
	if (!ret) {
		assert_int_equal(probed.nr_runs, count);
		assert_int_equal(wire_probed_at(&probed, (uint32_t)count - 1).first, count - 1);
	}
	return ret;
}

static int send_probed_runs(uint64_t count)
{
	static struct wire_probe_run runs[WIRE_PROBED_RUNS_MAX + 1];
	struct wire_probed probed = {.token = 1,
			.table = 1,
			.nr_probes = (uint32_t)count,
			.nr_runs = (uint32_t)count,
			.runs = runs};
	ssize_t size;

	for (uint32_t i = 0; i < count; i++)
		runs[i] = (struct wire_probe_run){i, 1, WIRE_PROBE_JUMP, 0, 1};
	size = wire_encode_probed(made.bytes, sizeof(made.bytes), &probed);
	return size < 0 ? (int)size : 0;
}

static int decode_loaded(uint64_t paths, uint64_t length)
{
	static char text[WIRE_MESSAGE_MAX];
	struct wire_loaded loaded;
	int ret;

	begin(WIRE_LOADED);
	add64(1);
	add32(paths);
	add32(paths * (length + 1));
	memset(text, '/', length);
	text[length] = '\0';
	for (uint64_t i = 0; i < paths; i++)
		add(text, length + 1);
	end();
	ret = wire_decode_loaded(made.bytes, made.size, &loaded);
	if (!ret)
		assert_true(loaded.nr_paths == paths && !strcmp(loaded.paths, text));
	return ret;
}

static int loaded_paths(uint64_t count)
{
	return decode_loaded(count, 5);
}

static int loaded_path(uint64_t length)
{
	return decode_loaded(2, length);
}

static int send_loaded(uint64_t paths, uint64_t length)
{
	static char text[WIRE_MESSAGE_MAX];
	struct wire_loaded loaded = {.token = 1,
			.nr_paths = (uint32_t)paths,
			.size = (uint32_t)(paths * (length + 1)),
			.paths = text};
	ssize_t size;

	for (uint64_t i = 0; i < paths; i++) {
		memset(text + i * (length + 1), '/', length);
		text[i * (length + 1) + length] = '\0';
	}
	size = wire_encode_loaded(made.bytes, sizeof(made.bytes), &loaded);
	return size < 0 ? (int)size : 0;
}

static int send_loaded_paths(uint64_t count)
{
	return send_loaded(count, 5);
}

static int send_loaded_path(uint64_t length)
{
	return send_loaded(2, length);
}

static int decode_welcome(uint64_t sessions, const char *path, const char *reason)
{
	struct wire_welcome welcome;
	struct wire_welcome_session session;
	size_t at = 0, seen = 0;
	int ret;

	begin(WIRE_WELCOME);
	add64(1);
	add32(1);
	add32(sessions);
	add32(sessions * (8 + strlen(path) + 1));
	add32(strlen(reason) + 1);
	for (uint64_t i = 0; i < sessions; i++) {
		add64(i);
		add(path, strlen(path) + 1);
	}
	add(reason, strlen(reason) + 1);
	end();
	ret = wire_decode_welcome(made.bytes, made.size, &welcome);
	if (ret)
		return ret;
	while (wire_welcome_next(&welcome, &at, &session)) {
		assert_int_equal(session.generation, seen++);
		assert_string_equal(session.path, path);
	}
	assert_int_equal(seen, sessions);
	assert_string_equal(welcome.reason, reason);
	return 0;
}

static int welcome_sessions(uint64_t count)
{
	return decode_welcome(count, "/s", "");
}

static int send_welcome_sessions(uint64_t count)
{
	static char sessions[1024];
	const struct wire_welcome_session session = {.path = "/s"};
	struct wire_welcome welcome = {.accepted = true};
	int ret = 0;

	for (uint64_t i = 0; i < count && !ret; i++)
		ret = wire_welcome_add(&welcome, sessions, sizeof(sessions), &session);
	return ret;
}

/* The memory for the sessions is too small by so many bytes. */
static int send_welcome_space(uint64_t count)
{
	char sessions[8 + 3];
	const struct wire_welcome_session session = {.path = "/s"};
	struct wire_welcome welcome = {.accepted = true};

	return wire_welcome_add(&welcome, sessions, sizeof(sessions) - count, &session);
}

/* As many bytes of sessions, of which all but the last one have the longest path. */
static int welcome_bytes(uint64_t count)
{
	static char sessions[WIRE_WELCOME_SESSIONS_BYTES_MAX];
	const size_t longest = 8 + WIRE_SESSION_PATH_MAX + 1;
	struct wire_welcome welcome = {.accepted = true};
	ssize_t size;
	int ret = 0;

	for (unsigned int i = 0; i < WIRE_WELCOME_MAX && !ret; i++) {
		size_t bytes = i + 1 < WIRE_WELCOME_MAX ? longest : count - i * longest;
		struct wire_welcome_session session = {.path = limit_text('/', bytes - 9)};

		ret = wire_welcome_add(&welcome, sessions, sizeof(sessions), &session);
	}
	if (ret)
		return ret;
	size = wire_encode_welcome(made.bytes, WIRE_MESSAGE_MAX, &welcome);
	return size < 0 ? (int)size : wire_decode_welcome(made.bytes, (size_t)size, &welcome);
}

static int welcome_path(uint64_t count)
{
	return decode_welcome(1, limit_text('/', count), "");
}

static int welcome_reason(uint64_t count)
{
	return decode_welcome(0, "", limit_text('r', count - 1));
}

static int send_welcome_reason(uint64_t count)
{
	struct wire_welcome welcome = {.reason = limit_text('r', count - 1)};
	ssize_t size = wire_encode_welcome(made.bytes, sizeof(made.bytes), &welcome);

	return size < 0 ? (int)size : 0;
}

static int pass_path(uint64_t count)
{
	const char *path = limit_text('/', count);
	struct wire_pass pass;
	int ret;

	begin(WIRE_PASS);
	add32(count + 1);
	add32(0);
	add(path, count + 1);
	end();
	ret = wire_decode_pass(made.bytes, made.size, &pass);
	if (!ret)
		assert_string_equal(pass.path, path);
	return ret;
}

static int send_pass_path(uint64_t count)
{
	struct wire_pass pass = {.path = limit_text('/', count)};
	ssize_t size = wire_encode_pass(made.bytes, sizeof(made.bytes), &pass);

	return size < 0 ? (int)size : 0;
}

/* One inner message that fills the whole. */
static const unsigned char *pushed_messages(uint64_t size)
{
	static unsigned char messages[WIRE_PUSH_MAX + 1];
	struct wire_header header = {.magic = WIRE_MAGIC, .size = (uint32_t)size};

	memcpy(messages, &header, sizeof(header));
	return messages;
}

static int push_bytes(uint64_t count)
{
	struct wire_push push;
	int ret;

	begin(WIRE_PUSH);
	add64(0);
	add32(0);
	add32(count);
	add(pushed_messages(count), count);
	end();
	ret = wire_decode_push(made.bytes, made.size, &push);
	if (!ret)
		assert_int_equal(push.size, count);
	return ret;
}

static int push_session(uint64_t count)
{
	struct wire_push push;

	begin(WIRE_PUSH);
	add64(0);
	add32(count - 1);
	add32(sizeof(struct wire_header));
	add(pushed_messages(sizeof(struct wire_header)), sizeof(struct wire_header));
	end();
	return wire_decode_push(made.bytes, made.size, &push);
}

static int send_push_bytes(uint64_t count)
{
	struct wire_push push = {.size = (uint32_t)count, .messages = pushed_messages(count)};
	ssize_t size = wire_encode_push(made.bytes, sizeof(made.bytes), &push);

	return size < 0 ? (int)size : 0;
}

static int send_push_session(uint64_t count)
{
	struct wire_push push = {.session = (uint32_t)count,
			.size = sizeof(struct wire_header),
			.messages = pushed_messages(sizeof(struct wire_header))};
	ssize_t size = wire_encode_push(made.bytes, sizeof(made.bytes), &push);

	return size < 0 ? (int)size : 0;
}

/* The memory for the message is too small by so many bytes. */
static int send_push_space(uint64_t count)
{
	struct wire_push push = {.size = sizeof(struct wire_header),
			.messages = pushed_messages(sizeof(struct wire_header))};
	ssize_t size = wire_encode_push(made.bytes, sizeof(made.bytes), &push);

	assert_true(size > 0);
	size = wire_encode_push(made.bytes, (size_t)size - count, &push);
	return size < 0 ? (int)size : 0;
}

/* Complete messages: a decoder never gets more than one packet. */
static int message_bytes(uint64_t count)
{
	int type;

	begin(WIRE_EVENTS);
	made.size = count;
	end();
	type = wire_message_type(made.bytes, made.size);
	return type < 0 ? type : type - WIRE_EVENTS;
}

static int send_message_bytes(uint64_t count)
{
	struct wire_events events = {.token = 1,
			.bytes = limit_text('e', count),
			.size = (uint32_t)(count - WIRE_EVENTS_OVERHEAD)};
	ssize_t size = wire_encode_events(made.bytes, sizeof(made.bytes), &events);

	return size < 0 ? (int)size : (int)(size - (ssize_t)count);
}

/* No message is shorter than its header. */
static int message_header(uint64_t count)
{
	int type;

	begin(WIRE_BYE);
	made.size = count;
	end();
	type = wire_message_type(made.bytes, made.size);
	return type < 0 ? type : type - WIRE_BYE;
}

static void test_messages(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(hello_procname, MESSAGE_PROCNAME_MAX, -EPROTO, ""),
			LIMIT_CASE(hello_exe, MESSAGE_EXE_MAX, -EPROTO, ""),
			LIMIT_CASE(hello_signal, WIRE_SIGNAL_MAX, -EPROTO, ""),
			LIMIT_CASE(send_hello_procname, MESSAGE_PROCNAME_MAX, -EINVAL, ""),
			LIMIT_CASE(send_hello_exe, MESSAGE_EXE_MAX, -EINVAL, ""),
			LIMIT_CASE(arrive_procname, MESSAGE_PROCNAME_MAX, -EPROTO, ""),
			LIMIT_CASE(arrive_exe, MESSAGE_EXE_MAX, -EPROTO, ""),
			LIMIT_CASE(send_arrive_procname, MESSAGE_PROCNAME_MAX, -EINVAL, ""),
			LIMIT_CASE(send_arrive_exe, MESSAGE_EXE_MAX, -EINVAL, ""),
			LIMIT_CASE(config_channels, WIRE_CHANNELS_MAX, -EPROTO, ""),
			LIMIT_CASE(config_tables, WIRE_TABLES_MAX, -EPROTO, ""),
			LIMIT_CASE(config_reason, MESSAGE_REASON_MAX, -EPROTO, ""),
			LIMIT_CASE(send_config_channels, WIRE_CHANNELS_MAX, -EINVAL, ""),
			LIMIT_CASE(send_config_tables, WIRE_TABLES_MAX, -EINVAL, ""),
			LIMIT_CASE(send_config_reason, MESSAGE_REASON_MAX, -EINVAL, ""),
			LIMIT_CASE(channel_index, WIRE_CHANNELS_MAX, -EPROTO, ""),
			LIMIT_CASE(channel_rules, WIRE_RULES_MAX, -EPROTO, ""),
			LIMIT_CASE(channel_contexts, WIRE_CONTEXTS_MAX, -EPROTO, ""),
			LIMIT_CASE(channel_name, WIRE_CHANNEL_NAME_MAX, -EPROTO, ""),
			LIMIT_CASE(send_channel_rules, WIRE_RULES_MAX, -EINVAL, ""),
			LIMIT_CASE(send_channel_index, WIRE_CHANNELS_MAX, -EINVAL, ""),
			LIMIT_CASE(rule_channel, WIRE_CHANNELS_MAX, -EPROTO, ""),
			LIMIT_CASE(send_rule_channel, WIRE_CHANNELS_MAX, -EINVAL, ""),
			LIMIT_CASE(rule_patterns, WIRE_PATTERNS_MAX, -EPROTO, ""),
			LIMIT_CASE(rule_contexts, WIRE_CONTEXTS_MAX, -EPROTO, ""),
			LIMIT_CASE(send_rule_patterns, WIRE_PATTERNS_MAX, -EMSGSIZE, ""),
			LIMIT_CASE(send_rule_contexts, WIRE_CONTEXTS_MAX, -EMSGSIZE, ""),
			LIMIT_CASE(ack_refusals, WIRE_ACK_REFUSALS_MAX, -EPROTO, ""),
			LIMIT_CASE(send_ack_refusals, WIRE_ACK_REFUSALS_MAX, -EMSGSIZE, ""),
			LIMIT_CASE(probed_runs, WIRE_PROBED_RUNS_MAX, -EPROTO, ""),
			LIMIT_CASE(send_probed_runs, WIRE_PROBED_RUNS_MAX, -EINVAL, ""),
			LIMIT_CASE(loaded_paths, WIRE_LOADED_MAX, -EPROTO, ""),
			LIMIT_CASE(send_loaded_paths, WIRE_LOADED_MAX, -EINVAL, ""),
			LIMIT_CASE(loaded_path, WIRE_LOADED_PATH_MAX, -EPROTO, ""),
			LIMIT_CASE(send_loaded_path, WIRE_LOADED_PATH_MAX, -EINVAL, ""),
			LIMIT_CASE(welcome_sessions, WIRE_WELCOME_MAX, -EPROTO, ""),
			LIMIT_CASE(send_welcome_sessions, WIRE_WELCOME_MAX, -EMSGSIZE, ""),
			LIMIT_CASE(send_welcome_space, 0, -EMSGSIZE, ""),
			LIMIT_CASE(welcome_bytes, WIRE_WELCOME_SESSIONS_BYTES_MAX, -EINVAL, ""),
			LIMIT_CASE(welcome_path, WIRE_SESSION_PATH_MAX, -EPROTO, ""),
			LIMIT_CASE(welcome_reason, MESSAGE_REASON_MAX, -EPROTO, ""),
			LIMIT_CASE(send_welcome_reason, MESSAGE_REASON_MAX, -EINVAL, ""),
			LIMIT_CASE(pass_path, WIRE_SESSION_PATH_MAX, -EPROTO, ""),
			LIMIT_CASE(send_pass_path, WIRE_SESSION_PATH_MAX, -EINVAL, ""),
			LIMIT_CASE(push_bytes, WIRE_PUSH_MAX, -EPROTO, ""),
			LIMIT_CASE(push_session, WIRE_WELCOME_MAX, -EPROTO, ""),
			LIMIT_CASE(send_push_session, WIRE_WELCOME_MAX - 1, -EINVAL, ""),
			LIMIT_CASE(send_push_space, 0, -EMSGSIZE, ""),
			LIMIT_CASE(send_push_bytes, WIRE_PUSH_MAX, -EINVAL, ""),
			LIMIT_CASE(message_bytes, WIRE_MESSAGE_MAX, -EPROTO, ""),
			LIMIT_CASE(send_message_bytes, WIRE_MESSAGE_MAX, -EMSGSIZE, ""),
			LEAST_CASE(message_header, sizeof(struct wire_header), -EPROTO, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- enumerations ---- */

static int message_type(uint64_t count)
{
	int type;

	begin((enum wire_type)count);
	end();
	type = wire_message_type(made.bytes, made.size);
	return type < 0 ? type : type - (int)count;
}

static int message_type_least(uint64_t count)
{
	return message_type(count);
}

static int ack_reason(uint64_t count)
{
	struct wire_refused refused = {.reason = (uint32_t)count};
	struct wire_ack ack;

	begin(WIRE_ACK);
	add32(0);
	add32(1);
	add32(1);
	add32(0);
	add(&refused, sizeof(refused));
	end();
	return wire_decode_ack(made.bytes, made.size, &ack);
}

static int ack_reason_least(uint64_t count)
{
	return ack_reason(count);
}

/* `first` to `first + count` of `probes`, in the state. */
static int one_run(uint32_t first, uint32_t count, uint32_t state, uint32_t probes)
{
	struct wire_probe_run run = {
			first, count, (uint16_t)state, state == WIRE_PROBE_REFUSED ? EBUSY : 0, 1};
	struct wire_probed probed = {
			.token = 1, .table = 1, .nr_probes = probes, .nr_runs = 1, .runs = &run};
	ssize_t size = wire_encode_probed(made.bytes, sizeof(made.bytes), &probed);

	return size < 0 ? (int)size : wire_decode_probed(made.bytes, (size_t)size, &probed);
}

static int probe_state(uint64_t count)
{
	return one_run(0, 1, (uint32_t)count, 1);
}

static int probe_run(uint64_t count)
{
	return one_run(3, (uint32_t)count, WIRE_PROBE_JUMP, 10);
}

static int probe_run_least(uint64_t count)
{
	return one_run(3, (uint32_t)count, WIRE_PROBE_JUMP, 10);
}

static int done_state(uint64_t count)
{
	struct wire_done done;

	begin(WIRE_DONE);
	add64(1);
	add64(1);
	add32(count);
	add32(0);
	end();
	return wire_decode_done(made.bytes, made.size, &done);
}

static int send_done_state(uint64_t count)
{
	struct wire_done done = {.token = 1, .state = (uint32_t)count};
	ssize_t size = wire_encode_done(made.bytes, sizeof(made.bytes), &done);

	return size < 0 ? (int)size : 0;
}

/* Without a signal: only the modes that have none. */
static int control_mode(uint64_t count)
{
	return decode_hello("x", "/x", count, count == WIRE_CONTROL_SIGNAL ? 1 : 0);
}

static void test_enumerations(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(message_type, WIRE_LOADED, -EPROTO, ""),
			LEAST_CASE(message_type_least, WIRE_HELLO, -EPROTO, ""),
			LIMIT_CASE(ack_reason, WIRE_NR_REFUSALS - 1, -EPROTO, ""),
			LEAST_CASE(ack_reason_least, WIRE_REFUSAL_NONE + 1, -EPROTO, ""),
			LIMIT_CASE(probe_state, WIRE_NR_PROBE_STATES - 1, -EINVAL, ""),
			LIMIT_CASE(probe_run, 7, -EINVAL, ""),
			LEAST_CASE(probe_run_least, 1, -EINVAL, ""),
			LIMIT_CASE(done_state, WIRE_NR_DONE_STATES - 1, -EPROTO, ""),
			LIMIT_CASE(send_done_state, WIRE_NR_DONE_STATES - 1, -EINVAL, ""),
			LIMIT_CASE(control_mode, WIRE_NR_CONTROLS - 1, -EPROTO, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- names ---- */

static int pattern_text(uint64_t count)
{
	static struct pattern_error error;
	struct pattern pattern;
	int ret = pattern_parse(limit_text('p', count), &pattern, &error);

	if (ret) {
		limit_problem = error.reason;
		assert_int_equal(error.column, PATTERN_TEXT_MAX + 1);
	}
	return ret;
}

/* The name that is kept begins with `kept` instead of `begin`. */
static int context_text(uint64_t count, const char *begin, const char *kept)
{
	static struct context_error error;
	struct context_spec spec;
	char text[128];
	int ret;

	snprintf(text, sizeof(text), "%s%s", begin, limit_text('c', count - strlen(begin)));
	ret = context_parse(text, &spec, &error);
	if (ret)
		limit_problem = error.text;
	else
		assert_true(!strncmp(spec.name, kept, strlen(kept)) &&
				!strcmp(spec.name + strlen(kept), text + strlen(begin)));
	return ret;
}

/*
 * All known names are shorter. A name of the last permitted length is therefore unknown, which is
 * another error.
 */
static int context_word(uint64_t count)
{
	int ret = context_text(count, "x", "x");

	return count <= CONTEXT_NAME_MAX && ret == -EINVAL &&
					strstr(limit_problem, "unknown context")
			? 0
			: ret;
}

static int context_application(uint64_t count)
{
	return context_text(count, "$app.a:", "$app.a:");
}

/* The other spelling, which is one byte shorter than the name that is kept. */
static int context_other_application(uint64_t count)
{
	return context_text(count - 1, "app:a:", "$app.a:");
}

static int context_backtrace(uint64_t count)
{
	static struct context_error error;
	struct context_spec spec;
	char text[32];
	int ret;

	snprintf(text, sizeof(text), "backtrace:%llu", (unsigned long long)count);
	ret = context_parse(text, &spec, &error);
	if (ret)
		limit_problem = error.text;
	else
		assert_int_equal(spec.depth, count);
	return ret;
}

static int session_name(uint64_t count)
{
	return wire_session_name_valid(limit_text('s', count)) ? 0 : -EINVAL;
}

static void test_names(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(pattern_text, PATTERN_TEXT_MAX, -EINVAL, "more than 511 bytes"),
			LIMIT_CASE(context_word, CONTEXT_NAME_MAX, -EINVAL, "more than 79 bytes"),
			LIMIT_CASE(context_application, CONTEXT_NAME_MAX, -EINVAL,
					"more than 79 bytes"),
			LIMIT_CASE(context_other_application, CONTEXT_NAME_MAX, -EINVAL,
					"more than 74 bytes of provider and name"),
			LIMIT_CASE(context_backtrace, CONTEXT_BACKTRACE_MAX, -EINVAL,
					"\"129\" is not a number of addresses: a backtrace has 1 to 128"),
			LIMIT_CASE(session_name, WIRE_SESSION_NAME_MAX, -EINVAL, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* The message contains forty letters of an unknown name. */
static void test_shown_names(void **state)
{
	char name[64] = "", begin_text[128];
	struct context_spec spec;
	struct context_error why;

	(void)state;
	for (size_t size = 40; size <= 41; size++) {
		memset(name, 'x', size);
		assert_int_equal(context_parse(name, &spec, &why), -EINVAL);
		snprintf(begin_text, sizeof(begin_text), "unknown context \"%.40s%s\":", name,
				size > 40 ? "..." : "");
		assert_int_equal(strncmp(why.text, begin_text, strlen(begin_text)), 0);
	}
}

/* ---- early boot ---- */

static struct boot_config *config;

static int boot(const char *from, size_t size)
{
	static struct boot_error error;
	static void *memory;
	static char *text;
	int ret;

	free(memory);
	free(text);
	memory = malloc(boot_buffer_size(size));
	text = malloc(size + 1);
	assert_true(memory && text);
	memcpy(text, from, size);
	ret = boot_parse(text, size, memory, &config, &error);
	if (ret)
		limit_problem = error.text;
	return ret;
}

static int boot_text(const char *text)
{
	return boot(text, strlen(text));
}

/* "place /p", a session, a channel, then `line` with one number or word, and an event. */
static int boot_line(const char *word, const char *value, const char *unit)
{
	char text[1024];

	snprintf(text, sizeof(text), "place /p\nsession s\nchannel c\n%s %s%s\nevent *\n", word,
			value, unit);
	return boot_text(text);
}

static int boot_number(const char *word, uint64_t number, const char *unit)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	return boot_line(word, digits, unit);
}

static int boot_file_size(uint64_t count)
{
	static const char begin[] = "place /p\nsession s\nevent *\n#";
	char *text = limit_text('x', count);

	memcpy(text, begin, sizeof(begin) - 1);
	return boot(text, count);
}

/* `begin`, then `count` times `line` followed by a number, then `last`. */
static int boot_lines(const char *begin, const char *line, const char *last, uint64_t count)
{
	static char text[BOOT_SIZE_MAX];
	int size = snprintf(text, sizeof(text), "%s", begin);

	for (unsigned int i = 0; i < count; i++) {
		size += snprintf(text + size, sizeof(text) - (size_t)size, "%s%u%s", line, i, last);
		assert_true((size_t)size < sizeof(text));
	}
	return boot_text(text);
}

static int boot_sessions(uint64_t count)
{
	int ret = boot_lines("place /p\n", "session s", "\nevent *\n", count);

	if (!ret)
		assert_int_equal(config->nr_sessions, count);
	return ret;
}

static int boot_channels(uint64_t count)
{
	int ret = boot_lines("place /p\nsession s\n", "channel c", "\nevent *\n", count);

	if (!ret)
		assert_int_equal(config->sessions->nr_channels, count);
	return ret;
}

static int boot_rules(uint64_t count)
{
	int ret = boot_lines("place /p\nsession s\n", "event e", "\n", count);

	if (!ret)
		assert_int_equal(config->sessions->channels->nr_rules, count);
	return ret;
}

/* All in one line, with commas. */
static int boot_list(const char *begin, const char *word, uint64_t count)
{
	static char text[BOOT_SIZE_MAX];
	int size = snprintf(text, sizeof(text), "%s", begin);

	for (uint64_t i = 0; i < count; i++)
		size += snprintf(text + size, sizeof(text) - (size_t)size, "%s%s", i ? "," : "",
				word);
	return boot_text(text);
}

static int boot_patterns(uint64_t count)
{
	int ret = boot_list("place /p\nsession s\nevent ", "p", count);

	if (!ret)
		assert_int_equal(config->sessions->channels->rules->patterns.nr, count);
	return ret;
}

static int boot_contexts(uint64_t count)
{
	int ret = boot_list("place /p\nsession s\nevent *\ncontext ", "ip", count);

	if (!ret)
		assert_int_equal(config->sessions->channels->rules->contexts.nr, count);
	return ret;
}

/* PLACE/SESSION/socket: 2 slashes and 6 letters. */
static int boot_socket(uint64_t count)
{
	char *state_dir = limit_text('p', count - 1 - 8), text[512];

	state_dir[0] = '/';
	snprintf(text, sizeof(text), "place %s\nsession s\nevent *\n", state_dir);
	return boot_text(text);
}

static int boot_channel_name(uint64_t count)
{
	int ret = boot_line("channel", limit_text('x', count), "\nevent *\nchannel d");

	/* The channel `c` before it has no event. */
	return ret && strcmp(limit_problem, "the channel c of the session s has no event to record") == 0
			? 0
			: ret;
}

static int boot_ring_least(uint64_t count)
{
	int ret = boot_number("buffer-size", count, "");

	if (!ret)
		assert_int_equal(config->sessions->channels->ring_size, count);
	return ret;
}

static int boot_ring_most(uint64_t count)
{
	return boot_ring_least(count);
}

static int boot_ring_mebibytes(uint64_t count)
{
	int ret = boot_number("buffer-size", count, "M");

	if (!ret)
		assert_int_equal(config->sessions->channels->ring_size, count << 20);
	return ret;
}

static int boot_threads(uint64_t count)
{
	int ret = boot_number("per-thread", count, "");

	if (!ret)
		assert_int_equal(config->sessions->channels->threads_max, count);
	return ret;
}

static int boot_threads_least(uint64_t count)
{
	return boot_threads(count);
}

static int boot_block_us(uint64_t count)
{
	int ret = boot_number("block-timeout", count, "us");

	if (!ret)
		assert_int_equal(config->sessions->channels->block_timeout_us, count);
	return ret;
}

static int boot_block_minutes(uint64_t count)
{
	int ret = boot_number("block-timeout", count, "min");

	if (!ret)
		assert_int_equal(config->sessions->channels->block_timeout_us, count * 60000000);
	return ret;
}

static int boot_block_least(uint64_t count)
{
	return boot_block_us(count);
}

static int boot_memory(uint64_t count)
{
	int ret = boot_number("memory-limit", count, "");

	if (!ret)
		assert_int_equal(config->sessions->memory_limit, count);
	return ret;
}

static int boot_memory_least(uint64_t count)
{
	return boot_memory(count);
}

static void test_boot(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(boot_file_size, BOOT_SIZE_MAX, -EINVAL,
					"the file has more than 65536 bytes"),
			LIMIT_CASE(boot_sessions, BOOT_SESSIONS_MAX, -EINVAL,
					"more than 8 sessions"),
			LIMIT_CASE(boot_channels, WIRE_CHANNELS_MAX, -EINVAL,
					"a session has at most 32 channels"),
			LIMIT_CASE(boot_rules, WIRE_RULES_MAX, -EINVAL,
					"a channel has at most 1024 rules"),
			LIMIT_CASE(boot_patterns, WIRE_PATTERNS_MAX, -EINVAL,
					"more than 1024 in one list"),
			LIMIT_CASE(boot_contexts, WIRE_CONTEXTS_MAX, -EINVAL,
					"more than 64 in one list"),
			LIMIT_CASE(boot_socket, BOOT_SOCKET_MAX, -EINVAL,
					"state directory and session together are too long for a socket's name"),
			LIMIT_CASE(boot_channel_name, 32, -EINVAL,
					"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" is not a valid name of a channel"),
			LEAST_CASE(boot_ring_least, BOOT_RING_SIZE_MIN, -EINVAL,
					"\"65535\" is not between 65536 and 1073741824 bytes"),
			LIMIT_CASE(boot_ring_most, 1 << 30, -EINVAL,
					"\"1073741825\" is not a size, or too large"),
			LIMIT_CASE(boot_ring_mebibytes, 1024, -EINVAL,
					"\"1025M\" is not between 65536 and 1073741824 bytes"),
			LIMIT_CASE(boot_threads, 4096, -EINVAL,
					"\"4097\" is not a number from 1 to 4096"),
			LEAST_CASE(boot_threads_least, 1, -EINVAL,
					"\"0\" is not a number from 1 to 4096"),
			LIMIT_CASE(boot_block_us, 3600000000u, -EINVAL,
					"\"3600000001us\" is not a time, or too long"),
			LIMIT_CASE(boot_block_minutes, 60, -EINVAL,
					"61min is not between 1us and 1h"),
			LEAST_CASE(boot_block_least, 1, -EINVAL, "0us is not between 1us and 1h"),
			LIMIT_CASE(boot_memory, UINT64_C(1) << 50, -EINVAL,
					"\"1125899906842625\" is not a size, or too large"),
			LEAST_CASE(boot_memory_least, 1 << 20, -EINVAL,
					"\"1048575\" is not between 1048576 and 1125899906842624 bytes"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_messages),
			cmocka_unit_test(test_enumerations),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_shown_names),
			cmocka_unit_test(test_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
