/* SPDX-License-Identifier: MIT */
/*
 * Rules in an update message: a process that has the generation before it need not ask; every other
 * process asks, whatever was pushed.
 */
#include "test-update.h"

#include <string.h>

static char pushed[4096];
static uint32_t pushed_size;

static void add(ssize_t size)
{
	assert_true(size > 0);
	pushed_size += (uint32_t)size;
}

#define ADD(_what, ...) \
	add(wire_encode_##_what(pushed + pushed_size, sizeof(pushed) - pushed_size, __VA_ARGS__))

/* Writes the message of a consumer about its only channel, with these rules. */
static void push(const struct consumer *consumer, const struct consumer_channel *channel)
{
	const struct wire_config config = {
			.accepted = true, .generation = consumer->generation, .nr_channels = 1};
	const struct wire_channel head = {
			.name = channel->name, .nr_rules = channel->nr_rules, .contexts = ""};
	uint32_t i;

	pushed_size = 0;
	ADD(config, &config);
	ADD(channel, &head);
	for (i = 0; i < channel->nr_rules; i++) {
		const struct wire_rule rule = {.patterns = channel->rules[i].patterns,
				.nr_patterns = channel->rules[i].nr_patterns,
				.contexts = ""};

		ADD(rule, &rule);
	}
}

static int update_pushed(const struct consumer *consumer, uint64_t base, uint32_t size)
{
	struct agent_wanted wanted = {.path = consumer->path,
			.generation = consumer->generation,
			.push = pushed,
			.push_size = size,
			.base = base};
	uint64_t grace = 0;

	return agent_sessions_update(&wanted, 1, true, &grace);
}

static void a_current_process_does_not_ask(void **state)
{
	struct consumer one;

	(void)state;
	begin(&one, RULES(NUMBER));
	want(&one, RULES(OTHER));
	push(&one, one.channels);
	assert_int_equal(update_pushed(&one, one.generation - 1, pushed_size), 0);
	assert_int_equal(one.refreshes, 0);
	fire(2, 3);
	assert_int_equal(drain(&one), 3);
	/* The agent has described the new event to the consumer. */
	assert_true(consumer_knows(&one, 0, "update:other"));
	/* It has the newest rules now: nothing is pushed or requested. */
	assert_int_equal(update(&one, NULL), 0);
	assert_int_equal(one.refreshes, 0);
	/* No event is wanted; then the first event again, with the same id. */
	want(&one, nothing);
	push(&one, one.channels);
	assert_int_equal(update_pushed(&one, one.generation - 1, pushed_size), 0);
	assert_false(side_event_enabled(ev_other));
	want(&one, RULES(NUMBER));
	push(&one, one.channels);
	assert_int_equal(update_pushed(&one, one.generation - 1, pushed_size), 0);
	fire(4, 1);
	assert_int_equal(drain(&one), 4);
	assert_int_equal(one.refreshes, 0);
	assert_int_equal(one.batches, 2);
	end(&one);
}

static void an_outdated_process_asks(void **state)
{
	struct consumer one;
	uint32_t cut;

	(void)state;
	begin(&one, RULES(NUMBER));
	/* The process did not receive one change. */
	want(&one, RULES(OTHER));
	want(&one, RULES(OTHER));
	push(&one, RULES(ALL));
	assert_int_equal(update_pushed(&one, one.generation - 1, pushed_size), 0);
	assert_int_equal(one.refreshes, 1);
	fire(2, 3);
	assert_int_equal(drain(&one), 3);
	/* One event was not described last time. */
	consumer_sync(&one);
	one.to_events = ANSWER_HANG_UP;
	consumer_sync(&one);
	want(&one, RULES(NUMBER_WITH("vtid")));
	assert_int_not_equal(update(&one, NULL), 0);
	assert_int_equal(one.refreshes, 2);
	consumer_sync(&one);
	one.to_events = ANSWER_WELL;
	consumer_sync(&one);
	want(&one, RULES(OTHER));
	push(&one, RULES(ALL));
	assert_int_equal(update_pushed(&one, one.generation - 1, pushed_size), 0);
	assert_int_equal(one.refreshes, 3);
	fire(2, 5);
	assert_int_equal(drain(&one), 5);
	/* A truncated message changes nothing, at whatever byte it ends: the process asks. */
	for (cut = 0; cut < pushed_size; cut += 7) {
		want(&one, cut & 1 ? RULES(OTHER) : RULES(NUMBER));
		push(&one, RULES(ALL));
		assert_int_equal(update_pushed(&one, one.generation - 1, cut), 0);
		fire(1, 1);
		assert_int_equal(drain(&one), 1);
	}
	assert_true(one.refreshes > 4);
	end(&one);
}

/* Another number of channels, another name, an end: rules of another session, or of none. */
static void pushes_that_do_not_fit(void **state)
{
	const struct consumer_channel other = {.name = "other"};
	const struct wire_config refusal = {.reason = "go away"},
				 two = {.accepted = true, .generation = 7, .nr_channels = 2};
	struct consumer one;

	(void)state;
	begin(&one, RULES(NUMBER));
	want(&one, RULES(OTHER));
	push(&one, &other);
	assert_int_equal(update_pushed(&one, one.generation - 1, pushed_size), 0);
	assert_int_equal(one.refreshes, 1);
	want(&one, RULES(NUMBER));
	pushed_size = 0;
	ADD(config, &two);
	assert_int_equal(update_pushed(&one, one.generation - 1, pushed_size), 0);
	want(&one, RULES(OTHER));
	pushed_size = 0;
	ADD(config, &refusal);
	assert_int_equal(update_pushed(&one, one.generation - 1, pushed_size), 0);
	assert_int_equal(one.refreshes, 3);
	assert_int_equal(agent.process.nr_sessions, 1);
	fire(1, 5);
	assert_int_equal(drain(&one), 5);
	end(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_current_process_does_not_ask),
			cmocka_unit_test(an_outdated_process_asks),
			cmocka_unit_test(pushes_that_do_not_fit),
	};

	/* The consumer may be slow on a busy machine. */
	agent.wait.timeout_factor = 60;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
