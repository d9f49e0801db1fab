/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: channels and rules from arbitrary bytes, as a consumer sends them, and then events.
 * The input is a sequence of messages, each after its size in two bytes, little-endian.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <side/trace.h>

#include "protocol/protocol.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/select.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/plan/plan.h"

side_static_event(ev_number, "rule", "number", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("thread"), side_field_u64("sequence")));
side_static_event(ev_text, "rule", "text", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_string("text"), side_field_u32("value")));

#define CHANNELS 2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* After an error the agent drops the session. */
static int take_message(struct agent_session *session, const uint8_t *bytes, size_t size)
{
	struct wire_channel channel;
	struct wire_rule rule;
	int ret = 0;

	if (!wire_decode_channel(bytes, size, &channel) && channel.index < CHANNELS &&
			!session->channels[channel.index].session)
		ret = agent_take_channel(session, &channel);
	if (!ret && !wire_decode_rule(bytes, size, &rule) && rule.channel < CHANNELS &&
			session->channels[rule.channel].session)
		ret = agent_take_rule(session->generation, &rule);
	return ret;
}

static void select_event(
		const struct agent_channel *channel, struct side_event_description *description)
{
	struct agent_event event = {.description = description};
	struct agent_event counted = event;
	char error[256];
	size_t size;
	void *memory;

	agent_wants(channel, description);
	size = agent_select(channel, description, &counted, NULL);
	if (!size)
		return;
	memory = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!memory || plan_compile(description, &event.plan, error, sizeof(error)))
		abort();
	if (agent_select(channel, description, &event, memory) != size)
		abort();
	plan_free(event.plan);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_channel channels[CHANNELS] = {{.rules = NULL}};
	struct agent_session session = {
			.channels = channels, .nr_channels = CHANNELS, .socket = -1};
	unsigned int i;
	int ret = 0;

	session.generation = agent_generation_begin();
	if (!session.generation)
		return 0;

	while (size >= 2 && !ret) {
		size_t part = (size_t)(data[0] | data[1] << 8);
		uint8_t *copy;

		data += 2;
		size -= 2;
		part = part < size ? part : size;
		copy = malloc(part + 1);
		if (!copy)
			return 0;
		memcpy(copy, data, part);
		ret = take_message(&session, copy, part);
		free(copy);
		data += part;
		size -= part;
	}
	agent_generation_apply(&session, session.generation);
	for (i = 0; i < CHANNELS && !ret; i++) {
		select_event(&channels[i], &ev_number);
		select_event(&channels[i], &ev_text);
	}
	agent_generation_free(session.generation);
	agent_memory_free(&session.memory);
	return 0;
}
