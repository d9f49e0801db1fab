/* SPDX-License-Identifier: MIT */
#ifndef TESTS_AGENT_TEST_UPDATE_H
#define TESTS_AGENT_TEST_UPDATE_H

/* Consumers that change their rules, for the tests of updates. */

#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include <side/trace.h>
#include <side/tracer-extensions.h>

#include "protocol/recovery.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/update.h"
#include "consumer.h"

side_static_event(ev_number, "update", "number", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("thread"), side_field_u64("sequence")));
side_static_event(ev_other, "update", "other", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("thread"), side_field_u64("sequence")));

#define RULES(...)                                                                            \
	(const struct consumer_channel[])                                                     \
	{                                                                                     \
		{                                                                             \
			.name = "ring", .rules = (const struct consumer_rule[]){__VA_ARGS__}, \
			.nr_rules = sizeof((const struct consumer_rule[]){__VA_ARGS__}) /     \
					sizeof(struct consumer_rule)                          \
		}                                                                             \
	}
#define RULE(_pattern, ...)                                             \
	{                                                               \
		.patterns = (_pattern), .nr_patterns = 1, ##__VA_ARGS__ \
	}
#define ALL RULE("*:*")
#define NUMBER RULE("update:number")
#define NUMBER_IF(_filter) RULE("update:number", .filter = (_filter))
#define NUMBER_WITH(_context) RULE("update:number", .contexts = (_context), .nr_contexts = 1)
#define OTHER RULE("update:other")
#define PLUGIN RULE("plugin:*")
#define PLUGIN_IF(_filter) RULE("plugin:*", .filter = (_filter))

static const struct consumer_channel nothing[] = {{.name = "ring"}};

static inline void fire(unsigned int numbers, unsigned int others)
{
	unsigned int i;

	for (i = 0; i < numbers; i++)
		side_event(ev_number, side_arg_list(side_arg_u64(1), side_arg_u64(i)));
	for (i = 0; i < others; i++)
		side_event(ev_other, side_arg_list(side_arg_u64(2), side_arg_u64(i)));
}

/* From the next update on, the consumer wants other events. */
static inline void want(struct consumer *consumer, const struct consumer_channel *channels)
{
	consumer_sync(consumer);
	consumer->channels = channels;
	consumer->nr_channels = 1;
	consumer->generation = (consumer->generation ? consumer->generation : 1) + 1;
	consumer_sync(consumer);
}

static inline int update(struct consumer *one, struct consumer *two)
{
	struct consumer *consumers[] = {one, two};
	struct agent_wanted wanted[2];
	uint64_t grace = 4711;
	uint32_t i, nr = 0;
	int ret;

	for (i = 0; i < 2; i++)
		if (consumers[i])
			wanted[nr++] = (struct agent_wanted){.path = consumers[i]->path,
					.generation = consumers[i]->generation
							? consumers[i]->generation
							: 1};
	ret = agent_sessions_update(wanted, nr, true, &grace);
	assert_true(grace == 0);
	assert_null(agent.rules.over);
	return ret;
}

static inline void now_wants(struct consumer *consumer, const struct consumer_channel *channels)
{
	want(consumer, channels);
	assert_int_equal(update(consumer, NULL), 0);
}

static inline void begin(struct consumer *consumer, const struct consumer_channel *channels)
{
	*consumer = (struct consumer){.channels = channels, .nr_channels = 1};
	consumer_start(consumer);
	assert_int_equal(agent_prepare(), 0);
	assert_int_equal(update(consumer, NULL), 0);
}

static inline void end(struct consumer *consumer)
{
	agent_stop();
	consumer_stop(consumer);
	assert_false(side_event_enabled(ev_number) || side_event_enabled(ev_other));
}

static inline uint64_t drain(struct consumer *consumer)
{
	return consumer_drain(consumer, 16, NULL, NULL);
}

#endif
