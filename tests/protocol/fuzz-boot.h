/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROTOCOL_FUZZ_BOOT_H
#define TESTS_PROTOCOL_FUZZ_BOOT_H

/*
 * What must hold for arbitrary bytes that are parsed as a configuration of early boot: an error has
 * a message that fits a terminal, and an accepted configuration has the properties that boot.h
 * documents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/boot.h"
#include "protocol/context.h"
#include "protocol/pattern.h"

#define MUST(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static inline void fuzz_boot_words(const struct boot_strings *strings, bool contexts)
{
	const char *text = strings->texts;
	struct pattern_error pattern_error;
	struct context_error context_error;
	struct context_spec spec;
	struct pattern pattern;
	uint32_t i;

	for (i = 0; i < strings->nr; i++, text += strlen(text) + 1)
		MUST(contexts ? !context_parse(text, &spec, &context_error)
			      : !pattern_parse(text, &pattern, &pattern_error));
	MUST(!strings->nr || text == strings->texts + strings->size);
}

static inline void fuzz_boot_channel(const struct boot_channel *channel)
{
	const struct boot_rule *rule;
	uint32_t nr = 0;

	MUST(channel->name && *channel->name && strlen(channel->name) <= 32);
	MUST(channel->ring_size >= BOOT_RING_SIZE_MIN &&
			!(channel->ring_size & (channel->ring_size - 1)));
	MUST(channel->rules);
	fuzz_boot_words(&channel->contexts, true);
	for (rule = channel->rules; rule; rule = rule->next, nr++) {
		MUST(rule->patterns.nr);
		fuzz_boot_words(&rule->patterns, false);
		fuzz_boot_words(&rule->contexts, true);
		MUST(!rule->filter || *rule->filter);
	}
	MUST(nr == channel->nr_rules);
}

static inline void fuzz_boot_config(const struct boot_config *config)
{
	const struct boot_session *session;
	const struct boot_channel *channel;
	char path[BOOT_SOCKET_MAX + 1];

	MUST(*config->state_dir == '/' && config->nr_sessions &&
			config->nr_sessions <= BOOT_SESSIONS_MAX);
	for (session = config->sessions; session; session = session->next) {
		MUST(boot_path(path, sizeof(path), config->state_dir, session->name, BOOT_SOCKET));
		MUST(session->channels);
		for (channel = session->channels; channel; channel = channel->next)
			fuzz_boot_channel(channel);
	}
}

static inline void fuzz_boot(const uint8_t *data, size_t size)
{
	struct boot_config *config = NULL;
	struct boot_error error;
	char sentence[600], *text, *at;
	void *space;

	if (size > BOOT_SIZE_MAX + 1)
		size = BOOT_SIZE_MAX + 1;
	text = malloc(size + 1);
	space = malloc(boot_buffer_size(size));
	MUST(text && space);
	memcpy(text, data, size);
	if (!boot_parse(text, size, space, &config, &error)) {
		fuzz_boot_config(config);
	} else {
		MUST(!config && *error.text);
		boot_error_text(sentence, sizeof(sentence), "boot.conf", &error);
		for (at = sentence; *at; at++)
			MUST((unsigned char)*at >= ' ' && *at != 0x7f);
	}
	free(space);
	free(text);
}

#endif
