/* SPDX-License-Identifier: MIT */
/*
 * Limits of session definitions, of the JSON of requests and of the messages of the control
 * protocol.
 */
#include "driver.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sessions/boot.h"
#include "sessions/client.h"
#include "sessions/error.h"
#include "sessions/frame.h"
#include "sessions/definition-change.h"
#include "sessions/definition.h"
#include "sessions/json.h"
#include "recorder/core/session.h"
#include "protocol/protocol.h"

static struct error error;
static struct definition *definition;

static char *text;
static size_t text_size;

static void put(const char *piece)
{
	size_t size = strlen(piece);

	text = realloc(text, text_size + size + 1);
	assert_non_null(text);
	memcpy(text + text_size, piece, size + 1);
	text_size += size;
}

static void put_begin(const char *piece)
{
	text_size = 0;
	put(piece);
}

/* Puts the same piece, `count` times, separated by commas. */
static void put_list(const char *piece, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		put(i ? "," : "");
		put(piece);
	}
}

static void put_number(uint64_t number)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	put(digits);
}

/* Returns the definition from the text, or the error. */
static int parse(void)
{
	struct json_object *json = json_read(text, text_size, &error);
	int ret = -EINVAL;

	definition_free(definition);
	definition = NULL;
	if (json)
		ret = definition_parse(json, &definition, &error);
	json_object_put(json);
	if (ret)
		limit_problem = error.text;
	assert_true(!ret == (definition != NULL));
	return ret;
}

static int change(const char *verb, const char *request)
{
	struct json_object *json = json_read(request, strlen(request), &error);
	bool changed;
	int ret;

	assert_non_null(json);
	ret = definition_change(definition, verb, json, false, &changed, &error);
	json_object_put(json);
	if (ret)
		limit_problem = error.text;
	return ret;
}

#define BEGIN "{\"version\":1,\"name\":\"s\","
#define CHANNEL "\"channels\":[{\"channel\":\"ring\""

/* ---- numbers of elements ---- */

static int tracks(uint64_t count)
{
	int ret;

	put_begin(BEGIN "\"track\":[");
	put_list("{\"uid\":0}", count);
	put("]}");
	ret = parse();
	if (!ret)
		assert_int_equal(definition->nr_tracks, count);
	return ret;
}

/* A request appends one more to those of the definition. */
static int tracks_by_request(uint64_t count)
{
	assert_int_equal(tracks(count - 1), 0);
	return change("track", "{\"uid\":7}");
}

static int triggers(uint64_t count)
{
	int ret;

	put_begin(BEGIN "\"trigger\":[");
	put_list("\"t\"", count);
	put("]}");
	ret = parse();
	if (!ret)
		assert_int_equal(definition->triggers.count, count);
	return ret;
}

static int channels(uint64_t count)
{
	int ret;

	put_begin(BEGIN "\"channels\":[");
	put_list("{\"channel\":\"c\"}", count);
	put("]}");
	ret = parse();
	if (!ret)
		assert_int_equal(definition->nr_channels, count);
	return ret;
}

static int rules(uint64_t count)
{
	int ret;

	put_begin(BEGIN CHANNEL ",\"rules\":[");
	put_list("{\"event\":\"a\"}", count);
	put("]}]}");
	ret = parse();
	if (!ret)
		assert_int_equal(definition->channels[0].nr_rules, count);
	return ret;
}

static int probes(uint64_t count)
{
	int ret;

	put_begin(BEGIN CHANNEL "}],\"probes\":[");
	put_list("{\"event\":\"p:f\",\"probe\":\"f\"}", count);
	put("]}");
	ret = parse();
	if (!ret)
		assert_int_equal(definition->nr_probes, count);
	return ret;
}

static int probes_by_request(uint64_t count)
{
	assert_int_equal(probes(count - 1), 0);
	return change("enable-probe", "{\"event\":\"p:g\",\"probe\":\"g\"}");
}

static int probe_events(uint64_t count)
{
	int ret;

	put_begin(BEGIN CHANNEL "}],\"probes\":[{\"probe\":\"f\",\"event\":[");
	put_list("\"p:f\"", count);
	put("]}]}");
	ret = parse();
	if (!ret)
		assert_int_equal(definition->probes[0].events.count, count);
	return ret;
}

static int probe_events_least(uint64_t count)
{
	return probe_events(count);
}

static int words(uint64_t count)
{
	int ret;

	put_begin(BEGIN CHANNEL ",\"rules\":[{\"event\":[");
	put_list("\"a\"", count);
	put("]}]}]}");
	ret = parse();
	if (!ret)
		assert_int_equal(definition->channels[0].rules[0].patterns.count, count);
	return ret;
}

static int word(uint64_t count)
{
	int ret;

	put_begin(BEGIN CHANNEL ",\"rules\":[{\"filter\":\"");
	put(limit_text('f', count));
	put("\"}]}]}");
	ret = parse();
	if (!ret)
		assert_int_equal(strlen(definition->channels[0].rules[0].filter), count);
	return ret;
}

/* An object that contains arrays, with `count` levels. */
static int depth(uint64_t count)
{
	struct json_object *json;

	put_begin("{\"a\":");
	put(limit_text('[', count - 1));
	put(limit_text(']', count - 1));
	put("}");
	json = json_read(text, text_size, &error);
	if (!json)
		limit_problem = error.text;
	json_object_put(json);
	return json ? 0 : error.code;
}

/* ---- the whole definition ---- */

static size_t definition_size(void)
{
	struct json_object *json = definition_json(definition);
	size_t size;

	json_object_to_json_string_length(json, JSON_C_TO_STRING_PLAIN, &size);
	json_object_put(json);
	return size;
}

static void parse_triggers(size_t last)
{
	put_begin(BEGIN "\"trigger\":[");
	for (int i = 0; i < 16; i++) {
		put("\"");
		put(limit_text('t', 16000));
		put("\",");
	}
	put("\"");
	put(limit_text('t', last));
	put("\"]}");
	assert_int_equal(parse(), 0);
}

/* After the request, the definition has `count` bytes. */
static int whole_text(uint64_t count)
{
	size_t size;
	int ret;

	parse_triggers(1);
	assert_int_equal(change("track", "{\"uid\":7}"), 0);
	size = definition_size();
	parse_triggers(1 + count - size);
	ret = change("track", "{\"uid\":7}");
	if (!ret)
		assert_int_equal(definition_size(), count);
	return ret;
}

/* ---- values ---- */

/* A setting of the definition, or of its channel. */
static int setting(const char *name, uint64_t value)
{
	put_begin(BEGIN "\"");
	put(name);
	put("\":");
	put_number(value);
	put("}");
	return parse();
}

static int of_channel(const char *more, const char *name, uint64_t value)
{
	put_begin(BEGIN CHANNEL ",");
	put(more);
	put("\"");
	put(name);
	put("\":");
	put_number(value);
	put("}]}");
	return parse();
}

static int threads(uint64_t count)
{
	int ret = of_channel("", "per-thread", count);

	if (!ret)
		assert_int_equal(definition->channels[0].threads_max, count);
	return ret;
}

static int block_ns(uint64_t count)
{
	int ret = of_channel("\"mode\":\"block\",", "block-timeout", count);

	if (!ret)
		assert_int_equal(definition->channels[0].block_timeout_us, count / 1000);
	return ret;
}

static int block_ns_least(uint64_t count)
{
	return block_ns(count);
}

static int buffer_size(uint64_t count)
{
	int ret = of_channel("", "buffer-size", count);

	if (!ret)
		assert_true(definition->channels[0].ring_size == count);
	return ret;
}

static int compress(uint64_t count)
{
	int ret = setting("compress", count);

	if (!ret)
		assert_int_equal(definition->compress, count);
	return ret;
}

static int memory_limit(uint64_t count)
{
	int ret = setting("memory-limit", count);

	if (!ret)
		assert_true(definition->memory_limit == count);
	return ret;
}

static int retain_chunks(uint64_t count)
{
	int ret = setting("retain-chunks", count);

	if (!ret)
		assert_int_equal(definition->retain_chunks, count);
	return ret;
}

static int rotate_time(uint64_t count)
{
	int ret = setting("rotate-time", count);

	if (!ret)
		assert_true(definition->rotate_time_ns == count);
	return ret;
}

static int speed(uint64_t count)
{
	int ret = setting("speed", count);

	if (!ret)
		assert_int_equal(definition->speed, count);
	return ret;
}

static int spool(uint64_t count)
{
	int ret = setting("spool", count);

	if (!ret)
		assert_true(definition->spool == count);
	return ret;
}

static int send_timeout(uint64_t count)
{
	int ret = setting("send-timeout", count);

	if (!ret)
		assert_true(definition->send_timeout_ns == count);
	return ret;
}

static int tables(uint64_t count)
{
	int ret = setting("tables", count);

	if (!ret)
		assert_int_equal(definition->last_table, count);
	return ret;
}

static int of_probe(const char *more, const char *name, uint64_t value)
{
	put_begin(BEGIN CHANNEL "}],\"probes\":[{\"event\":\"p:f\",\"probe\":\"f\",");
	put(more);
	put("\"");
	put(name);
	put("\":");
	put_number(value);
	put("}]}");
	return parse();
}

static int probe_pid(uint64_t count)
{
	int ret = of_probe("\"started\":1,", "pid", count);

	if (!ret)
		assert_int_equal(definition->probes[0].target.pid, count);
	return ret;
}

static int probe_started(uint64_t count)
{
	int ret = of_probe("\"pid\":1,", "started", count);

	if (!ret)
		assert_true(definition->probes[0].target.started == count);
	return ret;
}

static int probe_table(uint64_t count)
{
	int ret = of_probe("", "table", count);

	if (!ret)
		assert_int_equal(definition->probes[0].table, count);
	return ret;
}

static int probe_uid(uint64_t count)
{
	int ret = of_probe("", "uid", count);

	if (!ret)
		assert_true(definition->probes[0].target.of_user &&
				definition->probes[0].target.access.uid == count);
	return ret;
}

static int probe_gid(uint64_t count)
{
	int ret = of_probe("", "gid", count);

	if (!ret)
		assert_true(definition->probes[0].target.access.has_gid &&
				definition->probes[0].target.access.gid == count);
	return ret;
}

static int track_number(uint64_t count)
{
	int ret;

	put_begin(BEGIN "\"track\":[{\"uid\":");
	put_number(count);
	put("}]}");
	ret = parse();
	if (!ret)
		assert_true(definition->tracks[0].number == count);
	return ret;
}

static int track_number_by_request(uint64_t count)
{
	char request[64];
	int ret;

	assert_int_equal(tracks(1), 0);
	snprintf(request, sizeof(request), "{\"pid\":\"%llu\"}", (unsigned long long)count);
	ret = change("track", request);
	if (!ret)
		assert_true(definition->tracks[1].number == count);
	return ret;
}

static void test_definition(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(tracks, DEFINITION_TRACKS_MAX, -E2BIG,
					"\"track\" has more than 256 elements"),
			LIMIT_CASE(tracks_by_request, DEFINITION_TRACKS_MAX, -E2BIG,
					"the session s tracks by more than 256 criteria"),
			LIMIT_CASE(triggers, DEFINITION_TRIGGERS_MAX, -E2BIG,
					"there are more than 32 triggers"),
			LIMIT_CASE(channels, SESSION_CHANNELS_MAX, -E2BIG,
					"\"channels\" has more than 32 elements"),
			LIMIT_CASE(rules, WIRE_RULES_MAX, -E2BIG,
					"\"rules\" has more than 1024 elements"),
			LIMIT_CASE(probes, DEFINITION_PROBES_MAX, -E2BIG,
					"\"probes\" has more than 256 elements"),
			LIMIT_CASE(probes_by_request, DEFINITION_PROBES_MAX, -E2BIG,
					"the session s has 256 probes, which is the limit"),
			LIMIT_CASE(probe_events, DEFINITION_PROBE_EVENTS_MAX, -EINVAL,
					"a probe has 1 to 16 events: \"event\""),
			LEAST_CASE(probe_events_least, 1, -EINVAL,
					"a probe has 1 to 16 events: \"event\""),
			LIMIT_CASE(words, JSON_STRINGS_MAX, -E2BIG,
					"\"event\" has more than 1024 elements"),
			LIMIT_CASE(word, JSON_WORD_MAX, -EINVAL,
					"\"filter\" is longer than 16 KiB"),
			LIMIT_CASE(depth, JSON_DEPTH_MAX, -EINVAL,
					"this is not JSON: byte 21: nesting too deep"),
			LIMIT_CASE(whole_text, DEFINITION_TEXT_MAX, -E2BIG,
					"the definition of the session s would be larger than 256 KiB"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

#define MORE(name, max) "\"" name "\" is " max "8, which is more than " max "7"

static void test_values(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(threads, SESSION_THREADS_MAX, -ERANGE,
					"\"per-thread\" is 4097, which is more than 4096"),
			LIMIT_CASE(block_ns, SESSION_BLOCK_MAX_US * 1000ull, -ERANGE,
					"\"block-timeout\" is 3600000000001, which is more than 3600000000000"),
			LEAST_CASE(block_ns_least, 1000, -EINVAL,
					"\"block-timeout\" is less than a microsecond"),
			LIMIT_CASE(compress, SESSION_COMPRESS_MAX, -ERANGE,
					"\"compress\" is 20, which is more than 19"),
			LIMIT_CASE(buffer_size, INT64_MAX, -ERANGE,
					MORE("buffer-size", "922337203685477580")),
			LIMIT_CASE(memory_limit, INT64_MAX, -ERANGE,
					MORE("memory-limit", "922337203685477580")),
			LIMIT_CASE(rotate_time, INT64_MAX, -ERANGE,
					MORE("rotate-time", "922337203685477580")),
			LIMIT_CASE(spool, INT64_MAX, -ERANGE, MORE("spool", "922337203685477580")),
			LIMIT_CASE(send_timeout, INT64_MAX, -ERANGE,
					MORE("send-timeout", "922337203685477580")),
			LIMIT_CASE(probe_started, INT64_MAX, -ERANGE,
					MORE("started", "922337203685477580")),
			LIMIT_CASE(probe_pid, INT32_MAX, -ERANGE, MORE("pid", "214748364")),
			LIMIT_CASE(retain_chunks, UINT32_MAX, -ERANGE,
					"\"retain-chunks\" is 4294967296, which is more than 4294967295"),
			LIMIT_CASE(speed, UINT32_MAX, -ERANGE,
					"\"speed\" is 4294967296, which is more than 4294967295"),
			LIMIT_CASE(tables, UINT32_MAX, -ERANGE,
					"\"tables\" is 4294967296, which is more than 4294967295"),
			LIMIT_CASE(probe_table, UINT32_MAX, -ERANGE,
					"\"table\" is 4294967296, which is more than 4294967295"),
			LIMIT_CASE(probe_uid, UINT32_MAX, -ERANGE,
					"\"uid\" is 4294967296, which is more than 4294967295"),
			LIMIT_CASE(probe_gid, UINT32_MAX, -ERANGE,
					"\"gid\" is 4294967296, which is more than 4294967295"),
			LIMIT_CASE(track_number, UINT32_MAX, -ERANGE,
					"\"uid\" is 4294967296, which is more than 4294967295"),
			LIMIT_CASE(track_number_by_request, UINT32_MAX, -EINVAL,
					"\"pid\" has an element that is not a number in its range"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- texts and tokens ---- */

/* The text of a member in which one character is escaped. */
static void assert_escape(const char *escape, const char *bytes)
{
	struct json_object *json, *value = NULL;

	put_begin("{\"t\":\"");
	put(escape);
	put("\"}");
	json = json_read(text, text_size, &error);
	assert_non_null(json);
	assert_true(json_object_object_get_ex(json, "t", &value));
	assert_string_equal(json_object_get_string(value), bytes);
	json_object_put(json);
}

/* The first and the last character of each length in UTF-8. */
static void test_characters(void **state)
{
	(void)state;
	assert_escape("\\u0001", "\x01");
	assert_escape("\\u007f", "\x7f");
	assert_escape("\\u0080", "\xc2\x80");
	assert_escape("\\u07ff", "\xdf\xbf");
	assert_escape("\\u0800", "\xe0\xa0\x80");
	assert_escape("\\uD7FF", "\xed\x9f\xbf");
	assert_escape("\\ud800", "\xef\xbf\xbd");
	assert_escape("\\uDfff", "\xef\xbf\xbd");
	assert_escape("\\ue000", "\xee\x80\x80");
	assert_escape("\\uffff", "\xef\xbf\xbf");
	assert_escape("\\ud800\\udc00", "\xf0\x90\x80\x80");
	assert_escape("\\udbff\\udfff", "\xf4\x8f\xbf\xbf");
}

static void test_kinds(void **state)
{
	static const char *const words_of_kinds[] = {
			"done", "failed", "usage", "permission", "not-found", "busy"};

	(void)state;
	assert_int_equal(CONTROL_NR_KINDS, 6);
	for (int kind = 0; kind < CONTROL_NR_KINDS; kind++)
		assert_string_equal(control_kind_name((enum error_kind)kind), words_of_kinds[kind]);
	assert_string_equal(control_kind_name(CONTROL_NR_KINDS), "failed");
	assert_int_equal(control_kind_of("busy"), ERROR_BUSY);
	assert_int_equal(control_kind_of("failed"), ERROR_FAILED);
	assert_int_equal(control_kind_of("done"), ERROR_FAILED);
}

/* The channel and the tracking of a definition, as JSON that is parsed again. */
static void test_written_numbers(void **state)
{
	struct json_object *json;

	(void)state;
	put_begin(BEGIN CHANNEL
			",\"mode\":\"block\",\"block-timeout\":7000,\"per-thread\":9,"
			"\"buffer-size\":65536}],\"track\":[{\"pid\":3},{\"uid\":4},{\"gid\":5},"
			"{\"name\":\"n\"},{\"cgroup\":\"/c\"},{\"container\":\"d\"}]}");
	assert_int_equal(parse(), 0);
	json = definition_json(definition);
	assert_string_equal(
			json_object_to_json_string_ext(json,
					JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			"{\"version\":1,\"name\":\"s\",\"format\":\"ctf1\",\"channels\":[{\"channel\":\"ring\","
			"\"mode\":\"block\",\"per-thread\":9,\"buffer-size\":65536,\"block-timeout\":7000,"
			"\"rules\":[]}],\"track\":[{\"pid\":3},{\"uid\":4},{\"gid\":5},{\"name\":\"n\"},"
			"{\"cgroup\":\"/c\"},{\"container\":\"d\"}]}");
	json_object_put(json);
}

/* ---- files and sockets ---- */

static int early_file(uint64_t count)
{
	static const char begin_text[] = "place /p\nsession s\nevent *\n#";
	char path[] = "/tmp/side-limits-XXXXXX", *content = limit_text('x', count);
	struct boot_source source;
	int fd = mkstemp(path), ret;

	assert_true(fd >= 0);
	memcpy(content, begin_text, sizeof(begin_text) - 1);
	assert_int_equal(write(fd, content, count), count);
	close(fd);
	ret = boot_source_read(path, &source, &error);
	if (ret)
		limit_problem = strrchr(error.text, ':') + 2;
	else
		assert_string_equal(source.config->sessions->name, "s");
	boot_source_free(&source);
	unlink(path);
	return ret;
}

/* There is no daemon: the client only tries a path that fits into the address of a socket. */
static int socket_path(uint64_t count)
{
	struct control_client *client;
	char *runtime = limit_text('r', count - strlen("/control.sock"));
	int ret;

	*runtime = '/';
	assert_int_equal(setenv("SIDE_RUNTIME", runtime, 1), 0);
	ret = control_connect(CONTROL_USER, false, &client, &error);
	unsetenv("SIDE_RUNTIME");
	assert_true(ret < 0);
	assert_null(client);
	limit_problem = strstr(error.text, "no daemon listens") ? "" : "it is not tried";
	return *limit_problem ? -ENAMETOOLONG : 0;
}

static void test_paths(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(early_file, 65536, -EINVAL,
					"the file has more than 65536 bytes"),
			LIMIT_CASE(socket_path, 107, -ENAMETOOLONG, "it is not tried"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- messages ---- */

static struct json_object *object_of(size_t size)
{
	struct json_object *object = json_object_new_object();

	/* {"t":"..."} */
	assert_true(json_put_text(object, "t", limit_text('t', size - 8)));
	return object;
}

/* One packet of `count` bytes. */
static int received_packet(uint64_t count)
{
	struct frame_in in = {.text = NULL};
	struct json_object *got = NULL;
	int ends[2], ret;

	put_begin("{");
	put(limit_text(' ', count - 2));
	put("}");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(send(ends[0], text, text_size, 0), text_size);
	ret = frame_receive(&in, ends[1], FRAME_ANSWER_MAX, &got, &error);
	if (ret < 0)
		limit_problem = error.text;
	json_object_put(got);
	frame_in_free(&in);
	close(ends[0]);
	close(ends[1]);
	return ret < 0 ? ret : ret - 1;
}

/* A message longer than a packet is sent in pieces. The first piece is an object of its own. */
static int sent_packet(uint64_t count)
{
	struct json_object *object = object_of(count);
	struct frame_out out;
	int ret;

	frame_out_init(&out);
	assert_int_equal(frame_put(&out, object), 0);
	ret = out.size == count ? 0 : 1;
	json_object_put(object);
	frame_out_free(&out);
	return ret;
}

static int sent_answer(uint64_t count)
{
	struct json_object *object = object_of(count);
	struct frame_out out;
	int ret;

	frame_out_init(&out);
	ret = frame_put(&out, object);
	json_object_put(object);
	frame_out_free(&out);
	return ret;
}

/* A request in pieces, received as the daemon does. */
static int received_request(uint64_t count)
{
	struct json_object *object = object_of(count), *got = NULL;
	struct frame_in in = {.text = NULL};
	struct frame_out out;
	int ends[2], ret = 0;

	frame_out_init(&out);
	assert_int_equal(frame_put(&out, object), 0);
	assert_int_equal(
			socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			0);
	while (!got && (!ret || ret == -EAGAIN)) {
		(void)frame_send(&out, ends[0]);
		ret = frame_receive(&in, ends[1], FRAME_REQUEST_MAX, &got, &error);
	}
	if (ret < 0)
		limit_problem = error.text;
	else
		assert_true(json_object_equal(object, got));
	json_object_put(object);
	json_object_put(got);
	frame_in_free(&in);
	frame_out_free(&out);
	close(ends[0]);
	close(ends[1]);
	return ret < 0 ? ret : ret - 1;
}

static void test_frames(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(received_packet, FRAME_MAX, -EPROTO,
					"a message has 65537 bytes, more than 65536"),
			LIMIT_CASE(sent_packet, FRAME_MAX, 1, ""),
			LIMIT_CASE(sent_answer, FRAME_ANSWER_MAX, -E2BIG, ""),
			LIMIT_CASE(received_request, FRAME_REQUEST_MAX, -E2BIG,
					"a message is longer than 1024 KiB"),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_definition),
			cmocka_unit_test(test_values),
			cmocka_unit_test(test_characters),
			cmocka_unit_test(test_kinds),
			cmocka_unit_test(test_written_numbers),
			cmocka_unit_test(test_paths),
			cmocka_unit_test(test_frames),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	definition_free(definition);
	free(text);
	return ret;
}
