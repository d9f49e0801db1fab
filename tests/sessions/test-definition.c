/* SPDX-License-Identifier: MIT */
/* Definitions: how they are read, how requests change them, and what the session library gets. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../resources.h"
#include "sessions/definition-change.h"
#include "sessions/definition-probe.h"
#include "sessions/definition.h"
#include "sessions/error.h"
#include "sessions/json.h"

static struct error error;

static struct definition *create(void)
{
	struct definition *definition;

	assert_int_equal(definition_create("s", &definition, &error), 0);
	return definition;
}

static int parse(const char *text, struct definition **definition)
{
	struct json_object *json = json_read(text, strlen(text), &error);
	int ret;

	*definition = NULL;
	if (!json)
		return -EINVAL;
	ret = definition_parse(json, definition, &error);
	json_object_put(json);
	return ret;
}

/* Returns 1: changed, 0: no change, or the error. */
static int change(struct definition *definition, const char *verb, bool fixed, const char *request)
{
	struct json_object *json = json_read(request, strlen(request), &error);
	bool changed;
	int ret;

	assert_non_null(json);
	ret = definition_change(definition, verb, json, fixed, &changed, &error);
	json_object_put(json);
	return ret ? ret : changed;
}

static void assert_rules(const struct definition *definition, const char *expected)
{
	struct json_object *json = definition_json(definition), *channels, *rules;
	struct json_object *wanted = json_tokener_parse(expected);

	assert_non_null(wanted);
	json_object_object_get_ex(json, "channels", &channels);
	json_object_object_get_ex(json_object_array_get_idx(channels, 0), "rules", &rules);
	if (!json_object_equal(rules, wanted))
		fail_msg("%s is not %s", json_object_to_json_string(rules), expected);
	json_object_put(json);
	json_object_put(wanted);
}

static void test_names(void **unused)
{
	static const char *const bad[] = {"", ".", "-a", ".a", "a/b", "a b", "ä", "a\n"};
	struct definition *definition;
	char longest[DEFINITION_NAME_MAX + 2];
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(definition_create(bad[i], &definition, &error), -EINVAL);
		assert_int_equal(error.kind, ERROR_USAGE);
		assert_null(definition);
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	assert_false(definition_is_name(longest));
	longest[sizeof(longest) - 2] = 0;
	assert_true(definition_is_name(longest));
}

static void test_events(void **unused)
{
	struct definition *s = create();

	(void)unused;
	assert_int_equal(change(s, "enable-event", false, "{\"event\":[\"app:*\"]}"), 1);
	assert_int_equal(change(s, "enable-event", false, "{\"event\":\"app:*\"}"), 0);
	assert_int_equal(
			change(s, "enable-event", false,
					"{\"event\":[\"db:*\",\"!db:x\"],\"filter\":\"rows > 1\"}"),
			1);
	assert_rules(s,
			"[{\"event\":[\"app:*\"]},{\"event\":[\"db:*\",\"!db:x\"],\"filter\":"
			"\"rows > 1\"}]");
	/* The events of a wider rule become an exception of it. */
	assert_int_equal(change(s, "disable-event", false, "{\"event\":[\"app:tick\"]}"), 1);
	assert_int_equal(change(s, "disable-event", false, "{\"event\":[\"app:tick\"]}"), 0);
	assert_rules(s,
			"[{\"event\":[\"app:*\",\"!app:tick\"]},"
			"{\"event\":[\"db:*\",\"!db:x\",\"!app:tick\"],\"filter\":\"rows > 1\"}]");
	/* A rule with exceptions only would select all other events: it is removed. */
	assert_int_equal(change(s, "disable-event", false, "{\"event\":[\"app:*\"]}"), 1);
	assert_rules(s,
			"[{\"event\":[\"db:*\",\"!db:x\",\"!app:tick\",\"!app:*\"],\"filter\":"
			"\"rows > 1\"}]");
	assert_int_equal(change(s, "disable-event", true, "{}"), 1);
	assert_rules(s, "[]");
	assert_int_equal(change(s, "enable-event", true, "{}"), 1);
	assert_rules(s, "[{\"event\":[]}]");
	assert_int_equal(change(s, "disable-event", true, "{\"event\":[\"!x\"]}"), -EINVAL);
	definition_free(s);
}

static void test_channels(void **unused)
{
	struct definition *s = create();

	(void)unused;
	assert_int_equal(change(s, "enable-channel", false,
					 "{\"channel\":\"c\",\"mode\":\"block\",\"block-timeout\":"
					 "5000,"
					 "\"per-thread\":3,\"buffer-size\":65536}"),
			1);
	assert_int_equal(s->channels[0].mode, SESSION_BLOCK);
	assert_int_equal(s->channels[0].block_timeout_us, 5);
	assert_int_equal(s->channels[0].threads_max, 3);
	assert_true(s->channels[0].per_thread);
	assert_int_equal(change(s, "enable-channel", false, "{\"channel\":\"c\"}"), -EEXIST);
	assert_int_equal(change(s, "enable-channel", true, "{\"channel\":\"d\"}"), -EBUSY);
	assert_int_equal(change(s, "enable-channel", false, "{\"channel\":\"no name\"}"), -EINVAL);
	assert_int_equal(change(s, "enable-channel", false,
					 "{\"channel\":\"d\",\"block-timeout\":5000}"),
			-EINVAL);
	assert_int_equal(s->nr_channels, 1);
	assert_int_equal(change(s, "enable-event", true, "{\"channel\":\"d\"}"), -ENOENT);
	assert_int_equal(change(s, "enable-event", true, "{\"channel\":\"c\"}"), 1);
	assert_int_equal(change(s, "disable-channel", true, "{\"channel\":\"c\"}"), 1);
	assert_int_equal(s->nr_channels, 1);
	assert_int_equal(change(s, "disable-channel", false, "{\"channel\":\"c\"}"), 1);
	assert_int_equal(s->nr_channels, 0);
	definition_free(s);
}

static void test_contexts(void **unused)
{
	struct definition *s = create();
	struct definition_view view;

	(void)unused;
	assert_int_equal(change(s, "add-context", false, "{\"context\":[\"vtid\",\"vpid\"]}"), 1);
	assert_int_equal(s->channels[0].contexts.count, 2);
	assert_int_equal(change(s, "enable-event", true, "{\"event\":[\"a:*\"]}"), 1);
	/* After the start they belong to the rules, also to later ones. */
	assert_int_equal(change(s, "add-context", true, "{\"context\":[\"procname\"]}"), 1);
	assert_int_equal(change(s, "add-context", true, "{\"context\":[\"procname\"]}"), 0);
	assert_int_equal(change(s, "add-context", true,
					 "{\"context\":[\"ip\"],\"event\":[\"a:*\"]}"),
			1);
	assert_int_equal(change(s, "add-context", true,
					 "{\"context\":[\"ip\"],\"event\":[\"b:*\"]}"),
			-ENOENT);
	assert_int_equal(change(s, "add-context", true, "{}"), -EINVAL);
	assert_int_equal(change(s, "add-context", true, "{\"context\":[\"nonsense\"]}"), -EINVAL);
	assert_string_equal(error.input, "nonsense");
	assert_int_equal(change(s, "enable-event", true, "{\"event\":[\"b:*\"]}"), 1);
	assert_int_equal(definition_options(s, &view, &error), 0);
	assert_int_equal(view.options.nr_channels, 1);
	assert_int_equal(view.options.channels[0].nr_contexts, 2);
	assert_int_equal(view.options.channels[0].rules[0].nr_contexts, 2);
	assert_string_equal(view.options.channels[0].rules[0].contexts[0], "procname");
	assert_string_equal(view.options.channels[0].rules[0].contexts[1], "ip");
	assert_int_equal(view.options.channels[0].rules[1].nr_contexts, 1);
	definition_view_free(&view);
	definition_free(s);
}

/*
 * All arrays of a view are freed, including that of the last rule, even if rules before it have no
 * contexts.
 */
static void test_view_without_contexts(void **unused)
{
	struct definition *s = create();
	struct definition_view view;
	size_t memory = 0;

	(void)unused;
	assert_int_equal(change(s, "enable-event", true, "{\"event\":[\"a:*\"]}"), 1);
	assert_int_equal(change(s, "add-context", true,
					 "{\"context\":[\"ip\"],\"event\":[\"a:*\"]}"),
			1);
	assert_int_equal(change(s, "enable-event", true, "{\"event\":[\"b:*\"]}"), 1);
	for (int round = 0; round < 20; round++) {
		assert_int_equal(definition_options(s, &view, &error), 0);
		assert_int_equal(view.options.channels[0].nr_rules, 2);
		/* free() accepts no pointer to const; the array belongs to the view. */
		free((void *)(uintptr_t)view.rules[0][0].contexts);
		view.rules[0][0].contexts = NULL;
		definition_view_free(&view);
		/* The first rounds fill the caches of malloc(). */
		if (round == 10)
			memory = resources_memory();
	}
	assert_int_equal(resources_memory(), memory);
	definition_free(s);
}

/* For the session library, no rules mean all events: this must not happen. */
static void test_nothing_is_nothing(void **unused)
{
	struct definition *s = create();
	struct definition_view view;

	(void)unused;
	assert_int_equal(definition_options(s, &view, &error), 0);
	assert_int_equal(view.options.nr_channels, 1);
	assert_int_equal(view.options.channels[0].nr_rules, 1);
	assert_string_equal(view.options.channels[0].rules[0].patterns[0], "!*");
	definition_view_free(&view);
	assert_int_equal(change(s, "enable-channel", false, "{\"channel\":\"c\"}"), 1);
	assert_int_equal(definition_options(s, &view, &error), 0);
	assert_int_equal(view.options.channels[0].nr_rules, 1);
	assert_string_equal(view.options.channels[0].rules[0].patterns[0], "!*");
	definition_view_free(&view);
	definition_free(s);
}

static void test_tracking(void **unused)
{
	struct definition *s = create();

	(void)unused;
	assert_int_equal(change(s, "track", false, "{\"pid\":[1,\"2\"],\"name\":\"a*\"}"), 1);
	assert_int_equal(s->nr_tracks, 3);
	assert_int_equal(change(s, "track", false, "{\"pid\":2}"), 0);
	assert_int_equal(change(s, "track", false, "{\"pid\":2,\"exclude\":true}"), 1);
	assert_int_equal(change(s, "untrack", false, "{\"pid\":[1,3]}"), -ENOENT);
	assert_int_equal(s->nr_tracks, 4);
	assert_int_equal(change(s, "untrack", false, "{\"pid\":[1]}"), 1);
	assert_int_equal(change(s, "track", false, "{\"pid\":[-1]}"), -EINVAL);
	assert_int_equal(change(s, "track", false, "{\"uid\":[\"root\"]}"), -EINVAL);
	assert_int_equal(change(s, "track", false, "{\"uid\":4294967296}"), -EINVAL);
	assert_int_equal(change(s, "track", false, "{\"all\":true}"), 1);
	assert_int_equal(s->nr_tracks, 0);
	definition_free(s);
}

static void test_refused(void **unused)
{
	static const char no_rule[] = "{\"version\":1,\"name\":\"s\",\"channels\":["
				      "{\"channel\":\"c\",\"rules\":[[]]}]}";
	static const char unknown_rule[] = "{\"version\":1,\"name\":\"s\",\"channels\":["
					   "{\"channel\":\"c\",\"rules\":[{\"x\":1}]}]}";
	static const char *const bad[] = {"[]", "1", "{", "{}", "{\"version\":1}",
			"{\"version\":2,\"name\":\"s\"}", "{\"version\":1,\"name\":\"../s\"}",
			"{\"version\":1,\"name\":\"s\",\"more\":1}",
			"{\"version\":1,\"name\":\"s\",\"output\":\"x\"}",
			"{\"version\":1,\"name\":\"s\",\"output\":\"\"}",
			"{\"version\":1,\"name\":\"s\",\"format\":\"ctf3\"}",
			"{\"version\":1,\"name\":\"s\",\"compress\":20}",
			"{\"version\":1,\"name\":\"s\",\"compress\":-1}",
			"{\"version\":1,\"name\":\"s\",\"compress\":1.5}",
			"{\"version\":1,\"name\":\"s\",\"memory-limit\":99999999999999999999}",
			"{\"version\":1,\"name\":\"s\",\"channels\":{}}",
			"{\"version\":1,\"name\":\"s\",\"channels\":[1]}",
			"{\"version\":1,\"name\":\"s\",\"channels\":[{}]}", no_rule, unknown_rule,
			"{\"version\":1,\"name\":\"s\",\"track\":[{}]}",
			"{\"version\":1,\"name\":\"s\",\"track\":[{\"pid\":1,\"uid\":1}]}",
			"{\"version\":1,\"name\":\"s\",\"track\":[{\"name\":1}]}"};
	struct definition *definition;
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		error = (struct error){.kind = ERROR_NONE};
		if (!parse(bad[i], &definition))
			fail_msg("%s was accepted", bad[i]);
		assert_null(definition);
		assert_int_equal(error.kind, ERROR_USAGE);
		assert_true(*error.text);
	}
}

/* The largest number of channels, and one more. */
static void test_channels_max(void **unused)
{
	struct definition *definition;
	char text[128 + 32 * (SESSION_CHANNELS_MAX + 1)];
	unsigned int nr, i;
	int size;

	(void)unused;
	for (nr = SESSION_CHANNELS_MAX; nr <= SESSION_CHANNELS_MAX + 1; nr++) {
		size = sprintf(text, "{\"version\":1,\"name\":\"s\",\"channels\":[");
		for (i = 0; i < nr; i++)
			size += sprintf(text + size, "%s{\"channel\":\"c%u\"}", i ? "," : "", i);
		strcpy(text + size, "]}");
		error = (struct error){.kind = ERROR_NONE};
		if (nr > SESSION_CHANNELS_MAX) {
			assert_int_equal(parse(text, &definition), -E2BIG);
			assert_int_equal(error.kind, ERROR_USAGE);
			assert_string_equal(error.text, "\"channels\" has more than 32 elements");
			continue;
		}
		assert_int_equal(parse(text, &definition), 0);
		assert_int_equal(definition->nr_channels, nr);
		definition_free(definition);
	}
}

/* Nothing may follow an object, not even a blank. */
static void test_bytes_behind(void **unused)
{
	static const char object[] = "{\"version\":1,\"name\":\"s\"}";
	struct definition *definition;
	char text[sizeof(object) + 2];
	unsigned int byte;
	struct json_object *json;

	(void)unused;
	json = json_read(object, sizeof(object) - 1, &error);
	assert_non_null(json);
	json_object_put(json);
	for (byte = 0; byte < 256; byte++) {
		size_t size = sizeof(object) - 1;

		memcpy(text, object, size);
		text[size] = (char)byte;
		json = json_read(text, size + 1, &error);
		if (json)
			fail_msg("byte %u behind an object", byte);
	}
	assert_int_equal(parse("{\"version\":1,\"name\":\"s\"}{}", &definition), -EINVAL);
	assert_int_equal(parse("{\"version\":1,\"name\":\"s\"} x", &definition), -EINVAL);
	assert_string_equal(error.text, "this is not a single JSON object");
}

static void test_triggers(void **unused)
{
	struct definition *s = create();
	struct definition_view view;

	(void)unused;
	assert_int_equal(change(s, "enable-channel", false,
					 "{\"channel\":\"c\",\"mode\":\"overwrite\"}"),
			1);
	assert_int_equal(change(s, "create", false, "{\"trigger\":[\"nonsense\"]}"), -EINVAL);
	assert_int_equal(change(s, "create", false,
					 "{\"trigger\":[\"event:a:b where c > 1\",\"crash\"]}"),
			1);
	assert_int_equal(definition_options(s, &view, &error), 0);
	assert_int_equal(view.options.nr_snapshot_on, 2);
	definition_view_free(&view);
	definition_free(s);
}

static void test_sending(void **unused)
{
	static const char *const bad[] = {"{\"to\":\"tcp://there\"}", "{\"to\":\"-\"}",
			"{\"to\":\"a/b\"}", "{\"to\":\"ftp://there\"}",
			"{\"to\":\"net://there\",\"format\":\"ctf2\"}", "{\"spool\":1000}",
			"{\"to\":\"/x\",\"speed\":-1}"};
	struct definition *s = create();

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(change(s, "create", false, bad[i]), -EINVAL);
		assert_int_equal(error.kind, ERROR_USAGE);
		assert_null(s->to);
	}
	assert_int_equal(change(s, "create", false, "{\"to\":\"tcp://there:1\",\"spool\":70000}"),
			1);
	assert_string_equal(s->to, "tcp://there:1");
	assert_int_equal(s->spool, 70000);
	assert_true(definition_is_spooled(s));
	assert_int_equal(change(s, "create", false, "{\"output\":\"/x\"}"), 1);
	assert_false(definition_is_spooled(s));
	definition_free(s);
}

/* Errors that only the session library detects. */
static void test_checked(void **unused)
{
	static const char *const bad[] = {"{\"event\":[\"[a\"]}",
			"{\"event\":[\"*\"],\"filter\":\"a >\"}",
			"{\"event\":[\"*\"],\"event-context\":[\"x\"]}"};
	struct definition *s = create();
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(change(s, "enable-event", false, bad[i]), -EINVAL);
		assert_int_equal(error.kind, ERROR_USAGE);
	}
	assert_int_equal(change(s, "enable-channel", false,
					 "{\"channel\":\"c\",\"buffer-size\":1000}"),
			-EINVAL);
	assert_int_equal(s->nr_channels, 0);
	definition_free(s);
}

static void test_round(void **unused)
{
	struct definition *s, *copy;
	struct json_object *one, *other;

	(void)unused;
	assert_int_equal(
			parse("{\"version\":1,\"name\":\"s\",\"output\":\"/x\",\"format\":\"ctf2\","
			      "\"compress\":3,\"memory-limit\":9,\"huge-pages\":true,\"prefault\":"
			      "true,"
			      "\"channels\":[{\"channel\":\"c\",\"mode\":\"overwrite\",\"per-"
			      "thread\":true,"
			      "\"buffer-size\":65536,\"context\":[\"vtid\"],\"event-context\":["
			      "\"ip\"],"
			      "\"rules\":[{\"event\":[\"a\"],\"filter\":\"b\",\"event-context\":["
			      "\"vpid\"]},"
			      "{\"event\":[]}]}],\"track\":[{\"uid\":0},{\"cgroup\":\"/x/*\","
			      "\"exclude\":true}],\"rotate-size\":65536,\"rotate-time\":1000000000,"
			      "\"retain-size\":1,\"retain-age\":2,\"retain-chunks\":3,"
			      "\"trigger\":[\"t\"],\"to\":\"/y\",\"spool\":4,\"speed\":9600,"
			      "\"send-timeout\":5}",
					&s),
			0);
	assert_int_equal(definition_copy(s, &copy, &error), 0);
	one = definition_json(s);
	other = definition_json(copy);
	assert_true(json_object_equal(one, other));
	assert_int_equal(json_object_object_length(one), 20);
	json_object_put(one);
	json_object_put(other);
	definition_free(s);
	definition_free(copy);
}

/* ---- probes ---- */

#define MALLOC \
	"\"event\":[\"probe:malloc\",\"probe:malloc_return\"],\"probe\":\"--function malloc\""

static void assert_probes(const struct definition *definition, const char *expected)
{
	struct json_object *json = definition_json(definition), *probes = NULL;
	struct json_object *wanted = json_tokener_parse(expected);

	json_object_object_get_ex(json, "probes", &probes);
	if (!json_object_equal(probes, wanted))
		fail_msg("%s is not %s", json_object_to_json_string(probes), expected);
	json_object_put(json);
	json_object_put(wanted);
}

/* A pending probe has no table until the probe is requested again. */
static void test_pending_probes(void **unused)
{
	struct definition *s = create();

	(void)unused;
	assert_int_equal(
			change(s, "enable-probe", true,
					"{" MALLOC
					",\"exe\":\"/x\",\"pending\":true,\"filter\":\"size > 8\"}"),
			1);
	assert_int_equal(s->last_table, 0);
	assert_probes(s, "[{" MALLOC ",\"channel\":\"ring\",\"exe\":\"/x\"}]");
	assert_int_equal(change(s, "enable-probe", true,
					 "{" MALLOC ",\"exe\":\"/x\",\"filter\":\"size > 8\"}"),
			1);
	assert_probes(s, "[{" MALLOC ",\"channel\":\"ring\",\"exe\":\"/x\",\"table\":1}]");
	assert_rules(s, "[{\"event\":[\"probe:malloc\",\"probe:malloc_return\"],\"filter\":\"size > 8\"}]");
	assert_int_equal(change(s, "enable-probe", true,
					 "{" MALLOC ",\"pid\":7,\"started\":99,\"pending\":true}"),
			-EINVAL);
	assert_int_equal(change(s, "enable-probe", true, "{" MALLOC ",\"pending\":true}"), -EINVAL);
	definition_free(s);
}

#define FILE_OF(number) "1:2:" #number ":4:5.6"

static void request_of_file(struct definition *definition, const char *members)
{
	char request[512];

	(void)snprintf(request, sizeof(request), "{" MALLOC ",%s}", members);
	assert_int_equal(change(definition, "enable-probe", true, request), 1);
}

/* A probe replaces the former one of its file, unless the request keeps that. */
static void test_kept_probes(void **unused)
{
	static const char *const bad[] = {
			"\"file\":\"" FILE_OF(1) "\"",
			"\"exe\":\"/x\",\"file\":\"1:2 3\"",
			"\"exe\":\"/x\",\"file\":7",
			"\"exe\":\"/x\",\"keep\":7",
	};
	struct definition *s = create();
	char request[512];

	(void)unused;
	request_of_file(s, "\"exe\":\"/x\",\"file\":\"" FILE_OF(1) "\"");
	request_of_file(s,
			"\"exe\":\"/x\",\"file\":\"" FILE_OF(2) "\",\"keep\":[\"" FILE_OF(1) "\"]");
	assert_probes(s,
			"[{" MALLOC ",\"channel\":\"ring\",\"exe\":\"/x\",\"file\":\"" FILE_OF(
					1) "\",\"table\":1},{" MALLOC
					   ",\"channel\":\"ring\",\"exe\":\"/x\",\"file\":\"" FILE_OF(
							   2) "\",\"table\":2}]");
	request_of_file(s,
			"\"exe\":\"/x\",\"file\":\"" FILE_OF(3) "\",\"keep\":[\"" FILE_OF(1) "\"]");
	assert_int_equal(s->nr_probes, 2);
	assert_string_equal(s->probes[0].file, FILE_OF(1));
	assert_string_equal(s->probes[1].file, FILE_OF(3));
	request_of_file(s, "\"exe\":\"/x\",\"file\":\"" FILE_OF(4) "\",\"keep\":[]");
	assert_int_equal(s->nr_probes, 1);
	assert_rules(s, "[{\"event\":[\"probe:malloc\",\"probe:malloc_return\"]}]");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		(void)snprintf(request, sizeof(request), "{" MALLOC ",%s}", bad[i]);
		assert_int_equal(change(s, "enable-probe", true, request), -EINVAL);
	}
	assert_int_equal(s->nr_probes, 1);
	definition_free(s);
}

/* Which probes must be requested for a program that executes a file. */
static void test_missing_probes(void **unused)
{
	struct definition *s = create();
	char members[128];

	(void)unused;
	request_of_file(s, "\"exe\":\"/x\",\"file\":\"" FILE_OF(1) "\"");
	request_of_file(s, "\"exe\":\"/late\",\"pending\":true");
	request_of_file(s, "\"exe\":\"/old\"");
	request_of_file(s, "\"pid\":7,\"started\":8");
	assert_false(definition_probe_is_missing(s, 0, "/x", FILE_OF(1)));
	assert_false(definition_probe_is_missing(s, 0, "/y", FILE_OF(2)));
	/* The file has changed. */
	assert_true(definition_probe_is_missing(s, 0, "/x", FILE_OF(2)));
	/* It has another path. */
	assert_true(definition_probe_is_missing(s, 0, "/y", FILE_OF(1)));
	/* The path has a probe, even if its file is not known. */
	assert_false(definition_probe_is_missing(s, 0, "/old", FILE_OF(1)));
	assert_false(definition_probe_is_missing(s, 0, "/late", FILE_OF(1)));
	assert_true(definition_probe_is_missing(s, 1, "/late", FILE_OF(1)));
	assert_false(definition_probe_is_missing(s, 1, "/x", FILE_OF(1)));
	assert_false(definition_probe_is_missing(s, 2, "/old", FILE_OF(1)));
	assert_false(definition_probe_is_missing(s, 2, "/y", FILE_OF(1)));
	assert_false(definition_probe_is_missing(s, 3, "/x", FILE_OF(1)));
	/* Of two probes at the path, the last one is requested; none if one is of the file. */
	request_of_file(s,
			"\"exe\":\"/x\",\"file\":\"" FILE_OF(2) "\",\"keep\":[\"" FILE_OF(1) "\"]");
	assert_false(definition_probe_is_missing(s, 0, "/x", FILE_OF(3)));
	assert_true(definition_probe_is_missing(s, 4, "/x", FILE_OF(3)));
	assert_false(definition_probe_is_missing(s, 0, "/x", FILE_OF(2)));
	assert_false(definition_probe_is_missing(s, 4, "/x", FILE_OF(1)));
	/* Of two paths of the file, the last one; up to a limit. */
	for (unsigned int i = 1; i < DEFINITION_PROBE_LINKS_MAX; i++) {
		assert_true(definition_probe_is_missing(
				s, s->nr_probes - 1, "/y", i == 1 ? FILE_OF(2) : FILE_OF(1)));
		(void)snprintf(members, sizeof(members),
				"\"exe\":\"/x%u\",\"file\":\"" FILE_OF(1) "\"", i);
		request_of_file(s, members);
		assert_false(definition_probe_is_missing(s, 0, "/y", FILE_OF(1)));
	}
	assert_false(definition_probe_is_missing(s, s->nr_probes - 1, "/y", FILE_OF(1)));
	definition_free(s);
}

#define LIBRARY_REQUEST(members) \
	"{\"event\":[\"probe:w\"],\"probe\":\"--function libx:w\",\"exe\":\"/x\"," members "}"
#define LOADED_REQUEST(path, number) \
	LIBRARY_REQUEST("\"loaded\":\"" path "\",\"loaded-file\":\"" FILE_OF(number) "\"")
#define PENDING_REQUEST LIBRARY_REQUEST("\"library\":\"libx\",\"unloaded\":true")

/* A probe of a library, and those that the daemon adds for files which programs load. */
static void test_loaded_probes(void **unused)
{
	struct definition *s = create(), *copy;
	char request[400];

	(void)unused;
	/* No request precedes it. */
	assert_int_equal(change(s, "enable-probe", true, LOADED_REQUEST("/l/libx.so", 1)), -ENOENT);
	definition_free(s);
	s = create();
	assert_int_equal(change(s, "enable-probe", true, PENDING_REQUEST), 1);
	assert_int_equal(s->probes[0].table, 1);
	assert_false(definition_probe_is_loaded(s, &s->probes[0], NULL));
	assert_true(definition_probe_may_name(&s->probes[0], "/l/libx.so.1"));
	assert_false(definition_probe_may_name(&s->probes[0], "/libx/liby.so"));
	/* Its files are not those that programs execute. */
	assert_false(definition_probe_is_missing(s, 0, "/x", FILE_OF(1)));
	assert_int_equal(change(s, "enable-probe", true, LOADED_REQUEST("/l/libx.so", 1)), 1);
	assert_int_equal(change(s, "enable-probe", true, LOADED_REQUEST("/l/libx.so", 2)), 1);
	assert_int_equal(s->nr_probes, 3);
	assert_false(definition_probe_may_name(&s->probes[1], "/l/libx.so"));
	assert_true(definition_probe_is_loaded(s, &s->probes[0], FILE_OF(2)));
	assert_false(definition_probe_is_loaded(s, &s->probes[0], FILE_OF(3)));
	/* The same file again. */
	assert_int_equal(change(s, "enable-probe", true, LOADED_REQUEST("/m/libx.so", 1)), 1);
	assert_int_equal(s->nr_probes, 3);
	assert_string_equal(s->probes[2].loaded, "/m/libx.so");
	assert_int_equal(definition_copy(s, &copy, &error), 0);
	assert_string_equal(copy->probes[0].library, "libx");
	assert_true(copy->probes[0].is_unloaded);
	assert_string_equal(copy->probes[2].loaded_file, FILE_OF(1));
	definition_free(copy);
	/* The oldest file is replaced. */
	for (unsigned int i = 3; i <= DEFINITION_PROBE_LOADED_MAX + 2; i++) {
		(void)snprintf(request, sizeof(request),
				LIBRARY_REQUEST("\"loaded\":\"/l/libx.so\",\"loaded-file\":\"1:2:%u:4:5.0\""),
				100 + i);
		assert_int_equal(change(s, "enable-probe", true, request), 1);
	}
	assert_int_equal(s->nr_probes, 1 + DEFINITION_PROBE_LOADED_MAX);
	assert_false(definition_probe_is_loaded(s, &s->probes[0], FILE_OF(2)));
	/* The user's probe replaces all, and all are removed with it. */
	assert_int_equal(change(s, "enable-probe", true, PENDING_REQUEST), 1);
	assert_int_equal(s->nr_probes, 1);
	assert_int_equal(change(s, "enable-probe", true, LOADED_REQUEST("/l/libx.so", 1)), 1);
	assert_int_equal(change(s, "disable-event", true, "{\"event\":[\"w\"]}"), 1);
	assert_int_equal(s->nr_probes, 0);
	definition_free(s);
}

/* Members that contradict each other. */
static void test_loaded_refused(void **unused)
{
	static const char *const bad[] = {LIBRARY_REQUEST("\"unloaded\":true"),
			LIBRARY_REQUEST("\"library\":\"\""), LIBRARY_REQUEST("\"loaded\":\"/l\""),
			LIBRARY_REQUEST("\"loaded\":\"l\",\"loaded-file\":\"" FILE_OF(1) "\""),
			LIBRARY_REQUEST("\"loaded\":\"/l\",\"loaded-file\":\"no\""),
			LIBRARY_REQUEST("\"library\":\"l\",\"loaded\":\"/l\",\"loaded-file\":\"" FILE_OF(
					1) "\"")};

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct definition *s = create();

		assert_int_equal(change(s, "enable-probe", true, bad[i]), -EINVAL);
		definition_free(s);
	}
}

static void test_probes(void **unused)
{
	struct definition *s = create();
	char request[256], text[300];

	(void)unused;
	assert_int_equal(change(s, "enable-probe", false,
					 "{" MALLOC
					 ",\"pid\":7,\"started\":99,\"filter\":\"size > 8\"}"),
			1);
	assert_rules(s,
			"[{\"event\":[\"probe:malloc\",\"probe:malloc_return\"],\"filter\":\"size "
			"> 8\"}]");
	assert_probes(s,
			"[{" MALLOC ",\"channel\":\"ring\",\"pid\":7,\"started\":99,\"table\":1}]");
	/*
	 * The same again: it replaces the other one, with a table of its own; contexts are merged.
	 */
	assert_int_equal(change(s, "enable-probe", true,
					 "{" MALLOC
					 ",\"pid\":7,\"started\":99,\"filter\":\"size > 8\","
					 "\"event-context\":[\"ip\"]}"),
			1);
	assert_probes(s,
			"[{" MALLOC ",\"channel\":\"ring\",\"pid\":7,\"started\":99,\"table\":2}]");
	assert_rules(s,
			"[{\"event\":[\"probe:malloc\",\"probe:malloc_return\"],\"filter\":\"size "
			"> 8\","
			"\"event-context\":[\"ip\"]}]");
	/* In another channel it is another probe. */
	assert_int_equal(change(s, "enable-probe", true, "{" MALLOC ",\"exe\":\"/bin/x\"}"), 1);
	assert_int_equal(s->nr_probes, 2);
	assert_int_equal(s->channels[0].nr_rules, 2);
	assert_int_equal(change(s, "enable-probe", true,
					 "{\"event\":\"lib:f\",\"probe\":\"--probe f\"}"),
			1);
	assert_int_equal(s->last_table, 4);
	/* The probe of one process; the probes of others still record. */
	assert_int_equal(change(s, "disable-probe", true, "{\"event\":\"malloc\",\"pid\":8}"),
			-ENOENT);
	assert_int_equal(change(s, "disable-probe", true, "{\"event\":\"malloc\",\"pid\":7}"), 1);
	assert_int_equal(s->nr_probes, 2);
	assert_int_equal(s->channels[0].nr_rules, 3);
	/*
	 * The name of an event includes its probes and rules, and makes no exception of wider
	 * rules.
	 */
	assert_int_equal(change(s, "enable-event", true, "{\"event\":[\"app:*\"]}"), 1);
	assert_int_equal(change(s, "disable-event", true, "{\"event\":[\"malloc\"]}"), 1);
	assert_rules(s, "[{\"event\":[\"lib:f\"]},{\"event\":[\"app:*\"]}]");
	assert_int_equal(change(s, "disable-event", true, "{\"event\":[\"lib:*\"]}"), 1);
	assert_rules(s, "[{\"event\":[\"app:*\",\"!lib:*\"]}]");
	assert_int_equal(s->nr_probes, 0);
	assert_int_equal(change(s, "disable-probe", true, "{}"), -ENOENT);
	/* Numbers are never reused. */
	assert_int_equal(change(s, "enable-probe", true, "{" MALLOC "}"), 1);
	assert_int_equal(s->probes[0].table, 5);
	/* The reason follows 200 bytes of the pattern. */
	(void)snprintf(request, sizeof(request), "{\"event\":[\"%0220d[b-a]\"]}", 0);
	assert_int_equal(change(s, "disable-probe", true, request), -EINVAL);
	(void)snprintf(text, sizeof(text),
			"pattern \"%0200d\", column 221: a range that ends before it begins", 0);
	assert_string_equal(error.text, text);
	assert_int_equal(change(s, "disable-channel", true, "{}"), 1);
	assert_int_equal(s->nr_probes, 0);
	definition_free(s);
}

static void test_probes_refused(void **unused)
{
	static const char *const bad[] = {
			"{}",
			"{\"event\":\"probe:f\"}",
			"{\"event\":\"f\",\"probe\":\"f\"}",
			"{\"event\":\"probe:*\",\"probe\":\"f\"}",
			"{\"event\":\":f\",\"probe\":\"f\"}",
			"{\"event\":\"p:\",\"probe\":\"f\"}",
			"{" MALLOC ",\"pid\":7}",
			"{" MALLOC ",\"started\":7}",
			"{" MALLOC ",\"pid\":7,\"started\":1,\"exe\":\"/x\"}",
			"{" MALLOC ",\"exe\":\"x\"}",
			"{" MALLOC ",\"table\":7}",
			"{" MALLOC ",\"filter\":\"size >\"}",
			"{" MALLOC ",\"channel\":\"no name\"}",
	};
	static const char *const definitions[] = {
			"{\"version\":1,\"name\":\"s\",\"probes\":[{" MALLOC "}]}",
			"{\"version\":1,\"name\":\"s\",\"probes\":[7]}",
			"{\"version\":1,\"name\":\"s\",\"channels\":[{\"channel\":\"ring\"}],"
			"\"probes\":[{" MALLOC ",\"table\":-1}]}",
			"{\"version\":1,\"name\":\"s\",\"channels\":[{\"channel\":\"ring\"}],"
			"\"probes\":[{" MALLOC ",\"more\":1}]}",
	};
	struct definition *s = create();
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (change(s, "enable-probe", false, bad[i]) >= 0)
			fail_msg("taken: %s", bad[i]);
		assert_true(*error.text);
		assert_int_equal(s->nr_probes + s->nr_channels + s->last_table, 0);
	}
	definition_free(s);
	for (i = 0; i < sizeof(definitions) / sizeof(*definitions); i++)
		if (!parse(definitions[i], &s))
			fail_msg("taken: %s", definitions[i]);
	assert_int_equal(
			parse("{\"version\":1,\"name\":\"s\",\"channels\":[{\"channel\":\"ring\"}],"
			      "\"probes\":[{" MALLOC ",\"table\":7}],\"tables\":3}",
					&s),
			0);
	assert_int_equal(s->last_table, 7);
	definition_free(s);
}

static void test_errors_travel(void **unused)
{
	struct error got;
	struct json_object *answer;

	(void)unused;
	error_set_kind(&error, ERROR_BUSY, -EBUSY, "the mend", "the %s", "sentence");
	strcpy(error.input, "a >");
	error.column = 4;
	answer = json_error(&error);
	assert_true(json_answer(answer, &got) < 0);
	assert_int_equal(got.kind, ERROR_BUSY);
	assert_string_equal(got.text, "the sentence");
	assert_string_equal(got.hint, "the mend");
	assert_string_equal(got.input, "a >");
	assert_int_equal(got.column, 4);
	json_object_put(answer);
	assert_int_equal(control_kind_of("nonsense"), ERROR_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_events),
			cmocka_unit_test(test_channels),
			cmocka_unit_test(test_contexts),
			cmocka_unit_test(test_view_without_contexts),
			cmocka_unit_test(test_nothing_is_nothing),
			cmocka_unit_test(test_tracking),
			cmocka_unit_test(test_refused),
			cmocka_unit_test(test_channels_max),
			cmocka_unit_test(test_bytes_behind),
			cmocka_unit_test(test_triggers),
			cmocka_unit_test(test_sending),
			cmocka_unit_test(test_checked),
			cmocka_unit_test(test_round),
			cmocka_unit_test(test_probes),
			cmocka_unit_test(test_pending_probes),
			cmocka_unit_test(test_kept_probes),
			cmocka_unit_test(test_missing_probes),
			cmocka_unit_test(test_loaded_probes),
			cmocka_unit_test(test_loaded_refused),
			cmocka_unit_test(test_probes_refused),
			cmocka_unit_test(test_errors_travel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
