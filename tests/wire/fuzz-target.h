/* SPDX-License-Identifier: MIT */
#ifndef TESTS_WIRE_FUZZ_TARGET_H
#define TESTS_WIRE_FUZZ_TARGET_H

/*
 * What both the libFuzzer target and the mutation test do with a piece of bytes: a message that a
 * decoder accepts must come out of its encoder as the same bytes, and everything it points to must
 * be readable (the sanitizers watch).
 */

#include "wire/pattern.h"
#include "wire/wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void fuzz_same(const void *data, size_t size, const void *again, ssize_t again_size)
{
	if (again_size != (ssize_t)size || memcmp(data, again, size))
		abort();
}

/* Returns whether any decoder accepted it. */
static inline bool fuzz_messages(const uint8_t *data, size_t size)
{
	static uint8_t again[WIRE_MESSAGE_MAX];
	struct wire_hello hello;
	struct wire_config config;
	struct wire_channel channel;
	struct wire_rule rule;
	struct wire_events events;
	struct wire_ack ack;
	struct wire_bye bye;
	bool accepted = false;

	if (!wire_decode_hello(data, size, &hello)) {
		fuzz_same(data, size, again, wire_encode_hello(again, sizeof(again), &hello));
		accepted = true;
	}
	if (!wire_decode_config(data, size, &config)) {
		fuzz_same(data, size, again, wire_encode_config(again, sizeof(again), &config));
		accepted = true;
	}
	if (!wire_decode_channel(data, size, &channel)) {
		fuzz_same(data, size, again, wire_encode_channel(again, sizeof(again), &channel));
		accepted = true;
	}
	if (!wire_decode_rule(data, size, &rule)) {
		fuzz_same(data, size, again, wire_encode_rule(again, sizeof(again), &rule));
		accepted = true;
	}
	if (!wire_decode_events(data, size, &events)) {
		fuzz_same(data, size, again, wire_encode_events(again, sizeof(again), &events));
		accepted = true;
	}
	if (!wire_decode_ack(data, size, &ack)) {
		fuzz_same(data, size, again, wire_encode_ack(again, sizeof(again), &ack));
		accepted = true;
	}
	if (!wire_decode_bye(data, size, &bye)) {
		fuzz_same(data, size, again, wire_encode_bye(again, sizeof(again), &bye));
		accepted = true;
	}
	return accepted;
}

static inline bool fuzz_pattern(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	char sentence[400];
	struct pattern pattern;
	struct pattern_error error;
	bool good;

	if (!text)
		return false;
	memcpy(text, data, size);
	text[size] = 0;
	good = !pattern_parse(text, &pattern, &error);
	if (good) {
		pattern_matches(&pattern, "app", "start", 4);
		pattern_matches(&pattern, text, text, 0);
		pattern_matches(&pattern, "", "", 7);
	} else {
		if (error.column < 1 || error.column > strlen(text) + 1)
			abort();
		pattern_error_text(sentence, sizeof(sentence), text, &error);
	}
	free(text);
	return good;
}

#endif
