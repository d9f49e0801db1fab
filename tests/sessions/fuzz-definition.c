/* SPDX-License-Identifier: MIT */
/*
 * Definitions and requests from arbitrary bytes. An accepted definition must stay the same when it
 * is written and read again; a refused request must not change the definition.
 *
 * The input is a definition, a NUL, and a request; either may be missing. Without libFuzzer: a few
 * thousand changes of valid texts, the same in each run, or as many as the argument requests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/definition-change.h"
#include "sessions/definition.h"
#include "sessions/json.h"

#define ROUNDS 4000
#define INPUT_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char standard[] = "{\"version\":1,\"name\":\"x\"}";

static char *text_of(const struct definition *definition)
{
	struct json_object *json = definition_json(definition);
	char *text;

	if (!json)
		abort();
	text = strdup(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN));
	json_object_put(json);
	if (!text)
		abort();
	return text;
}

static struct definition *read_definition(const char *text, size_t size)
{
	struct error error = {.kind = ERROR_NONE};
	struct json_object *json = json_read(text, size, &error);
	struct definition *definition = NULL;

	if (!json) {
		if (!*error.text)
			abort();
		return NULL;
	}
	if (definition_parse(json, &definition, &error) && (definition || !*error.text))
		abort();
	json_object_put(json);
	return definition;
}

/* Written and read again it is the same. */
static void check_round(const struct definition *definition)
{
	char *text = text_of(definition), *again;
	struct definition *other = read_definition(text, strlen(text));

	if (!other)
		abort();
	again = text_of(other);
	if (strcmp(text, again) != 0)
		abort();
	definition_free(other);
	free(again);
	free(text);
}

static void request(struct definition *definition, const char *text, size_t size)
{
	static const char *const verbs[] = {"create", "enable-channel", "disable-channel",
			"enable-event", "disable-event", "add-context", "track", "untrack",
			"enable-probe", "disable-probe"};
	struct error error = {.kind = ERROR_NONE};
	struct json_object *json = json_read(text, size, &error);
	size_t i;

	for (i = 0; json && i < 2 * sizeof(verbs) / sizeof(*verbs); i++) {
		char *before = text_of(definition), *after;
		bool changed;
		int ret = definition_change(
				definition, verbs[i / 2], json, i % 2, &changed, &error);

		after = text_of(definition);
		if ((ret || !changed) && strcmp(before, after) != 0)
			abort();
		if (ret && (!*error.text || error.kind == ERROR_NONE))
			abort();
		free(before);
		free(after);
	}
	json_object_put(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = memchr(text, 0, size);
	size_t first = end ? (size_t)(end - text) : size;
	struct error error;
	struct definition *definition = read_definition(text, first);

	if (definition) {
		check_round(definition);
		definition_check(definition, &error);
	} else {
		definition = read_definition(standard, sizeof(standard) - 1);
	}
	if (end && definition)
		request(definition, end + 1, size - first - 1);
	definition_free(definition);
	return 0;
}

#ifndef FUZZ_TARGET
static const char *const seeds[] = {
		"{\"version\":1,\"name\":\"s\",\"output\":\"/tmp/"
		"x\",\"format\":\"ctf2\",\"compress\":3,"
		"\"memory-limit\":536870912,\"channels\":[{\"channel\":\"ring\",\"mode\":"
		"\"discard\","
		"\"buffer-size\":65536,\"context\":[\"vtid\"],\"rules\":[{\"event\":[\"app:*\",\"!"
		"app:x\"],"
		"\"filter\":\"size > "
		"4096\",\"event-context\":[\"vpid\"]}]}],\"track\":[{\"pid\":4711},"
		"{\"name\":\"redis*\",\"exclude\":true}],\"rotate-size\":1048576,\"retain-chunks\":"
		"3}",
		"{\"version\":1,\"name\":\"b\",\"channels\":[{\"channel\":\"c\",\"mode\":\"block\","
		"\"per-thread\":4,\"block-timeout\":1000000}]}",
		"{\"version\":1,\"name\":\"p\",\"channels\":[{\"channel\":\"ring\",\"rules\":[{"
		"\"event\":"
		"[\"probe:f\",\"probe:f_return\"]}]}],\"probes\":[{\"event\":[\"probe:f\","
		"\"probe:f_return\"],\"probe\":\"--function "
		"f\",\"pid\":7,\"started\":9,\"table\":3},"
		"{\"event\":[\"probe:f\"],\"probe\":\"f\",\"exe\":\"/bin/x\"}],\"tables\":4}",
};
static const char *const requests[] = {
		"{\"session\":\"s\",\"event\":[\"app:*\"],\"filter\":\"a == 1\",\"timeout\":0}",
		"{\"session\":\"s\",\"channel\":\"c\",\"mode\":\"overwrite\",\"buffer-size\":65536,"
		"\"context\":[\"vtid\"]}",
		"{\"session\":\"s\",\"channel\":\"ring\",\"context\":[\"vpid,procname\"],\"event\":"
		"\"app:*\"}",
		"{\"session\":\"s\",\"pid\":[1,\"2\"],\"name\":[\"x*\"],\"exclude\":false}",
		"{\"session\":\"s\",\"output\":\"/"
		"x\",\"trigger\":[\"a\"],\"retain-age\":1000000000}",
		"{\"session\":\"s\",\"event\":[\"probe:f\",\"x:g\"],\"probe\":\"f\",\"pid\":7,"
		"\"started\":9,\"filter\":\"a == 1\"}",
		"{\"session\":\"s\",\"event\":\"f\",\"pid\":7}",
		"{\"session\":\"s\",\"event\":\"probe:f\",\"probe\":\"f\",\"exe\":\"/bin/x\"}",
		"{\"session\":\"s\",\"to\":\"tcp://there:1\",\"spool\":65536,\"speed\":9600}",
};

static uint64_t state = 88172645463325252ull;

static uint32_t chance(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}

/* Changes a byte, removes a piece, or doubles a piece. */
static size_t change(char *text, size_t size)
{
	static const char alphabet[] = "{}[]\",:0123456789-eE.\\ntrufals!*\x80\xff\x01";
	size_t at = chance((uint32_t)size), length = chance((uint32_t)(size - at)) % 32;

	switch (chance(4)) {
	case 0: text[at] = alphabet[chance(sizeof(alphabet) - 1)]; break;
	case 1: text[at] ^= (char)(1 << chance(8)); break;
	case 2:
		memmove(text + at, text + at + length, size - at - length);
		size -= length;
		break;
	default:
		if (size + length > INPUT_MAX)
			break;
		memmove(text + at + length, text + at, size - at);
		size += length;
		break;
	}
	return size;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : ROUNDS;
	char text[INPUT_MAX + 1];
	long i;

	for (i = 0; i < rounds; i++) {
		const char *seed = seeds[chance(sizeof(seeds) / sizeof(*seeds))];
		const char *asked = requests[chance(sizeof(requests) / sizeof(*requests))];
		size_t size = (size_t)snprintf(text, sizeof(text), "%s%c%s", seed, 0, asked);
		uint32_t changes = chance(5);
		char *copy;

		while (changes-- && size > 1)
			size = change(text, size);
		/* In memory of exactly this size, so that sanitizers detect a read beyond it. */
		copy = malloc(size);
		if (!copy)
			return 1;
		memcpy(copy, text, size);
		LLVMFuzzerTestOneInput((const uint8_t *)copy, size);
		free(copy);
	}
	return 0;
}
#endif
