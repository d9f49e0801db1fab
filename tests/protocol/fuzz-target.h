/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROTOCOL_FUZZ_TARGET_H
#define TESTS_PROTOCOL_FUZZ_TARGET_H

/*
 * The checks that both the libFuzzer target and the mutation test make on bytes: a message that a
 * decoder accepts must be encoded to the same bytes, and everything it points to must be readable
 * (the sanitizers check this).
 */

#include "protocol/pattern.h"
#include "protocol/protocol.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void fuzz_same(const void *data, size_t size, const void *again, ssize_t again_size)
{
	if (again_size != (ssize_t)size || memcmp(data, again, size))
		abort();
}

/* The sessions of a WELCOME, encoded again, are the same bytes. */
static inline void fuzz_sessions(const struct wire_welcome *welcome)
{
	static uint8_t bytes[WIRE_WELCOME_SESSIONS_BYTES_MAX];
	struct wire_welcome again = {0};
	struct wire_welcome_session session;
	size_t at = 0;

	while (wire_welcome_next(welcome, &at, &session))
		if (wire_welcome_add(&again, bytes, sizeof(bytes), &session))
			abort();
	if (again.nr_sessions != welcome->nr_sessions)
		abort();
	fuzz_same(welcome->sessions, welcome->sessions_size, bytes, again.sessions_size);
}

/* Messages of probes, and those that the daemon and the programs exchange. */
static inline bool fuzz_control_messages(const uint8_t *data, size_t size)
{
	static uint8_t again[WIRE_MESSAGE_MAX];
	struct wire_arrive arrive;
	struct wire_welcome welcome;
	struct wire_push push;
	struct wire_pass pass;
	struct wire_done done;
	struct wire_probes probes;
	struct wire_probed probed;
	struct wire_loaded loaded;
	bool accepted = false;

	if (!wire_decode_probes(data, size, &probes)) {
		fuzz_same(data, size, again, wire_encode_probes(again, sizeof(again), &probes));
		accepted = true;
	}
	if (!wire_decode_loaded(data, size, &loaded)) {
		fuzz_same(data, size, again, wire_encode_loaded(again, sizeof(again), &loaded));
		accepted = true;
	}
	if (!wire_decode_probed(data, size, &probed)) {
		fuzz_same(data, size, again, wire_encode_probed(again, sizeof(again), &probed));
		accepted = true;
	}
	if (!wire_decode_arrive(data, size, &arrive)) {
		fuzz_same(data, size, again, wire_encode_arrive(again, sizeof(again), &arrive));
		accepted = true;
	}
	if (!wire_decode_welcome(data, size, &welcome)) {
		fuzz_same(data, size, again, wire_encode_welcome(again, sizeof(again), &welcome));
		fuzz_sessions(&welcome);
		accepted = true;
	}
	if (!wire_decode_push(data, size, &push)) {
		fuzz_same(data, size, again, wire_encode_push(again, sizeof(again), &push));
		accepted = true;
	}
	if (!wire_decode_pass(data, size, &pass)) {
		fuzz_same(data, size, again, wire_encode_pass(again, sizeof(again), &pass));
		accepted = true;
	}
	if (!wire_decode_done(data, size, &done)) {
		fuzz_same(data, size, again, wire_encode_done(again, sizeof(again), &done));
		accepted = true;
	}
	return accepted;
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
	struct wire_refresh refresh;
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
	if (!wire_decode_refresh(data, size, &refresh)) {
		fuzz_same(data, size, again, wire_encode_refresh(again, sizeof(again), &refresh));
		accepted = true;
	}
	return fuzz_control_messages(data, size) || accepted;
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
