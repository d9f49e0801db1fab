/* SPDX-License-Identifier: MIT */
/*
 * Rules of channels: filters, contexts, both, and records of all sizes and kinds; also consumers
 * that send invalid rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <side/trace.h>

#include "ring/ring.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/process.h"
#include "consumer.h"

side_static_event(ev_number, "rule", "number", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("thread"), side_field_u64("sequence")));
side_static_event(ev_small, "rule", "small", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("value")));
side_static_event(ev_text, "rule", "text", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("text")));
side_static_event(ev_bytes, "rule", "bytes", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("value"),
				side_field_gather_array("bytes",
						side_elem(side_type_gather_byte(
								0, SIDE_TYPE_GATHER_ACCESS_DIRECT)),
						1024, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT)));
side_static_event(ev_list, "rule", "list", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_gather_vla("list",
				side_elem(side_type_gather_unsigned_integer(
						0, 2, 0, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT)),
				0, SIDE_TYPE_GATHER_ACCESS_DIRECT,
				side_length(side_type_gather_unsigned_integer(
						0, 4, 0, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT)))));
side_static_event_variadic(ev_variadic, "rule", "variadic", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("sequence")));

/*
 * The records of the rings, in order; tests that use it have one thread and one CPU's ring at a
 * time.
 */
struct seen {
	unsigned int nr;
	uint32_t ids[64];
	unsigned char payload[64][2048];
	size_t size;
};

static void see(void *user, uint32_t ring, uint32_t id, const unsigned char *payload)
{
	struct seen *seen = user;

	(void)ring;
	if (seen->nr < 64) {
		seen->ids[seen->nr] = id;
		memcpy(seen->payload[seen->nr], payload, seen->size);
	}
	seen->nr++;
}

static const struct seen *drain(struct consumer *consumer, uint32_t channel, size_t size)
{
	static struct seen seen;

	memset(&seen, 0, sizeof(seen));
	seen.size = size;
	consumer_drain_channel(consumer, channel, size, see, &seen);
	return &seen;
}

static void start(struct consumer *consumer, const struct consumer_channel *channels, uint32_t nr)
{
	*consumer = (struct consumer){.channels = channels, .nr_channels = nr};
	consumer_start(consumer);
	assert_int_equal(agent_start(consumer->path), 0);
}

static void stop(struct consumer *consumer)
{
	agent_stop();
	consumer_stop(consumer);
}

#define ONE_RULE(...) ((const struct consumer_rule[]){{__VA_ARGS__}})
#define FROM(what) .patterns = what, .nr_patterns = 1

static void fire_numbers(uint64_t nr)
{
	uint64_t i;

	for (i = 0; i < nr; i++)
		side_event(ev_number, side_arg_list(side_arg_u64(i % 3), side_arg_u64(i)));
}

/* ---- filters ---- */

static void recorded_if_it_matches(void **state)
{
	const struct consumer_channel channels[] = {
			{.name = "third",
					.nr_rules = 1,
					.rules = ONE_RULE(FROM("rule:*"),
							.filter = "sequence % 3 == 1")},
			{.name = "all", .nr_rules = 1, .rules = ONE_RULE(FROM("rule:number"))},
	};
	struct consumer consumer;
	const struct seen *seen;
	uint64_t sequence;
	unsigned int i;

	(void)state;
	start(&consumer, channels, 2);
	/* Events without such a field are not recorded; strings and small events have none. */
	assert_true(consumer_knows(&consumer, 0, "rule:number"));
	assert_true(consumer_knows(&consumer, 0, "rule:variadic"));
	assert_false(consumer_knows(&consumer, 0, "rule:text"));
	assert_false(consumer_knows(&consumer, 0, "rule:small"));
	for (i = 0; i < 6; i++)
		side_event_variadic(ev_variadic, side_arg_list(side_arg_u64(i)), side_arg_list());
	/* Values 1 and 4, each with one node: depth, name, kind, no members. */
	seen = drain(&consumer, 0, 8 + 4 + 3 + 4);
	assert_int_equal(seen->nr, 2);
	memcpy(&sequence, seen->payload[1], 8);
	assert_int_equal(sequence, 4);
	fire_numbers(20);
	assert_int_equal(drain(&consumer, 1, 16)->nr, 20);
	stop(&consumer);

	start(&consumer, channels, 1);
	fire_numbers(20);
	seen = drain(&consumer, 0, 16);
	assert_int_equal(seen->nr, 7);
	for (i = 0; i < 7; i++) {
		memcpy(&sequence, seen->payload[i] + 8, 8);
		assert_int_equal(sequence % 3, 1);
	}
	stop(&consumer);
}

static void any_rule_is_enough(void **state)
{
	const struct consumer_rule two[] = {
			/*
			 * A field that is missing in one operand does not affect the other operand.
			 */
			{FROM("rule:number"), .filter = "no_such_field == 1 || sequence < 3"},
			{FROM("rule:number"), .filter = "sequence >= 18 && thread != 7"},
			{FROM("rule:number"), .filter = "no_such_field == 1"},
			{FROM("other:*")},
	};
	const struct consumer_rule always[] = {
			{FROM("rule:number"), .filter = "sequence < 3"},
			{FROM("rule:*")},
	};
	const struct consumer_channel channels[] = {
			{.name = "two", .rules = two, .nr_rules = 4},
			{.name = "always", .rules = always, .nr_rules = 2},
			{.name = "none", .rules = &two[2], .nr_rules = 2},
	};
	struct consumer consumer;

	(void)state;
	start(&consumer, channels, 3);
	assert_false(consumer_knows(&consumer, 2, "rule:number"));
	fire_numbers(20);
	assert_int_equal(drain(&consumer, 0, 16)->nr, 3 + 2);
	assert_int_equal(drain(&consumer, 1, 16)->nr, 20);
	assert_int_equal(drain(&consumer, 2, 16)->nr, 0);
	stop(&consumer);
}

static void filters_of_contexts(void **state)
{
	char text[128], other[128];
	const struct consumer_channel channels[] = {
			{.name = "mine",
					.nr_rules = 1,
					.rules = ONE_RULE(FROM("rule:number"), .filter = text)},
			{.name = "other",
					.nr_rules = 1,
					.rules = ONE_RULE(FROM("rule:number"), .filter = other)},
	};
	struct consumer consumer;

	(void)state;
	snprintf(text, sizeof(text), "$ctx.vtid == %ld && $ctx.procname == \"test-rul*\"",
			syscall(SYS_gettid));
	snprintf(other, sizeof(other), "$ctx.vpid != %d || $ctx.uid == %u", (int)getpid(),
			getuid() + 1);
	start(&consumer, channels, 2);
	errno = 4711;
	fire_numbers(9);
	assert_int_equal(errno, 4711);
	assert_int_equal(drain(&consumer, 0, 16)->nr, 9);
	assert_int_equal(drain(&consumer, 1, 16)->nr, 0);
	stop(&consumer);
}

/* ---- contexts ---- */

static void contexts_stand_before_the_payload(void **state)
{
	const struct consumer_rule rules[] = {
			{FROM("rule:*"), .contexts = "vtid", .nr_contexts = 1},
			/* The channel has vpid, the other rule vtid: only uid is left. */
			{FROM("rule:small"), .contexts = "uid\0vpid\0vtid", .nr_contexts = 3},
			{FROM("rule:small"), .filter = "no_such_field", .contexts = "gid",
					.nr_contexts = 1},
	};
	const struct consumer_channel channels[] = {
			{.name = "ring",
					.rules = rules,
					.nr_rules = 3,
					.contexts = "vpid",
					.nr_contexts = 1},
			{.name = "plain",
					.rules = ONE_RULE(FROM("rule:*")),
					.nr_rules = 1,
					.contexts = "vpid\0vtid",
					.nr_contexts = 2},
	};
	struct consumer consumer;
	const struct seen *seen;
	uint32_t names[4];
	uint64_t longs[2];

	(void)state;
	start(&consumer, channels, 2);
	assert_string_equal(consumer.heard[0].contexts[consumer_id(&consumer, 0, "rule:small")],
			"vtid,uid");
	assert_string_equal(consumer.heard[0].contexts[consumer_id(&consumer, 0, "rule:number")],
			"vtid");
	assert_string_equal(
			consumer.heard[1].contexts[consumer_id(&consumer, 1, "rule:number")], "");
	side_event(ev_small, side_arg_list(side_arg_u32(4711)));
	seen = drain(&consumer, 0, 16);
	assert_int_equal(seen->nr, 1);
	memcpy(names, seen->payload[0], 16);
	assert_int_equal(names[0], getpid());
	assert_int_equal(names[1], syscall(SYS_gettid));
	assert_int_equal(names[2], getuid());
	assert_int_equal(names[3], 4711);
	seen = drain(&consumer, 1, 12);
	assert_int_equal(seen->nr, 1);
	memcpy(names, seen->payload[0], 12);
	assert_int_equal(names[1], syscall(SYS_gettid));
	assert_int_equal(names[2], 4711);
	side_event(ev_number, side_arg_list(side_arg_u64(1), side_arg_u64(2)));
	seen = drain(&consumer, 0, 24);
	assert_int_equal(seen->nr, 1);
	memcpy(names, seen->payload[0], 8);
	memcpy(longs, seen->payload[0] + 8, 16);
	assert_int_equal(names[0], getpid());
	assert_true(longs[0] == 1 && longs[1] == 2);
	stop(&consumer);
}

/* ---- kinds of records ---- */

static uint8_t bytes[1024];

static void fire_bytes(uint32_t value)
{
	side_event(ev_bytes, side_arg_list(side_arg_u32(value), side_arg_gather_array(bytes)));
}

static void fire_list(const uint16_t *list, uint32_t length)
{
	side_event(ev_list, side_arg_list(side_arg_gather_vla(list, &length)));
}

static void long_fields_are_copied_whole(void **state)
{
	const struct consumer_channel channels[] = {
			{.name = "plain", .rules = ONE_RULE(FROM("rule:*")), .nr_rules = 1},
			{.name = "rich",
					.nr_rules = 1,
					.contexts = "vpid\0vtid\0procname",
					.nr_contexts = 3,
					.rules = ONE_RULE(
							FROM("rule:bytes"), .filter = "value > 1")},
	};
	static uint16_t list[40000];
	struct consumer consumer;
	const struct seen *seen;
	size_t before = 8 + strlen("test-rules") + 1;
	uint32_t word;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	for (i = 0; i < 40000; i++)
		list[i] = (uint16_t)(i * 3);
	start(&consumer, channels, 2);
	fire_bytes(1);
	fire_bytes(2);
	seen = drain(&consumer, 0, 4 + 1024);
	assert_int_equal(seen->nr, 2);
	memcpy(&word, seen->payload[1], 4);
	assert_int_equal(word, 2);
	assert_memory_equal(seen->payload[1] + 4, bytes, 1024);
	seen = drain(&consumer, 1, before + 4 + 1024);
	assert_int_equal(seen->nr, 1);
	memcpy(&word, seen->payload[0] + 4, 4);
	assert_int_equal(word, syscall(SYS_gettid));
	assert_string_equal((const char *)seen->payload[0] + 8, "test-rules");
	assert_memory_equal(seen->payload[0] + before + 4, bytes, 1024);

	/* Lengths from zero to more than fits. */
	fire_list(NULL, 0);
	assert_int_equal(drain(&consumer, 0, 4)->nr, 1);
	fire_list(list, 500);
	seen = drain(&consumer, 0, 4 + 1000);
	assert_int_equal(seen->nr, 1);
	assert_memory_equal(seen->payload[0] + 4, list, 1000);
	fire_list(list, 32766);
	assert_int_equal(consumer_drain(&consumer, 4 + 65532, NULL, NULL), 1);
	fire_list(list, 32767);
	fire_list(list, 0xffffffff);
	assert_int_equal(consumer_drain(&consumer, 4, NULL, NULL), 0);
	assert_int_equal(consumer_lost(&consumer, consumer_id(&consumer, 0, "rule:list"),
					 RING_LOST_TOO_BIG),
			2);
	/* The address is NULL. */
	fire_list(NULL, 3);
	side_call(side_ptr_get(ev_bytes.state), &(struct side_arg_vec){0});
	assert_int_equal(consumer_lost(&consumer, consumer_id(&consumer, 0, "rule:list"),
					 RING_LOST_INVALID),
			1);
	assert_int_equal(consumer_lost(&consumer, consumer_id(&consumer, 0, "rule:bytes"),
					 RING_LOST_INVALID),
			1);
	/* The agent records on. */
	fire_bytes(3);
	assert_int_equal(drain(&consumer, 0, 4 + 1024)->nr, 1);
	stop(&consumer);
}

/* Wrong arguments for each kind of function are counted, and have no other effect. */
static void wrong_arguments(void **state)
{
	const struct consumer_channel channels[] = {
			{.name = "plain", .rules = ONE_RULE(FROM("rule:*")), .nr_rules = 1},
			{.name = "contexts",
					.rules = ONE_RULE(FROM("rule:*")),
					.nr_rules = 1,
					.contexts = "vpid",
					.nr_contexts = 1},
	};
	static const char *const names[] = {"rule:small", "rule:number", "rule:text", "rule:bytes"};
	const struct side_event_description *events[] = {
			&ev_small, &ev_number, &ev_text, &ev_bytes};
	struct consumer consumer;
	unsigned int i, channel;

	(void)state;
	start(&consumer, channels, 2);
	for (i = 0; i < 4; i++) {
		const struct side_arg args[2] = {side_arg_u8(1), side_arg_u8(1)};
		struct side_arg_vec null = {.len = 1}, wrong = {.len = 1}, many = {.len = 2};

		side_ptr_set(wrong.sav, args);
		side_ptr_set(many.sav, args);
		side_call(side_ptr_get(events[i]->state), &null);
		side_call(side_ptr_get(events[i]->state), &wrong);
		side_call(side_ptr_get(events[i]->state), &many);
	}
	for (channel = 0; channel < 2; channel++) {
		assert_int_equal(consumer_drain_channel(&consumer, channel, 0, NULL, NULL), 0);
		for (i = 0; i < 4; i++)
			assert_int_equal(consumer_lost_in(&consumer, channel,
							 consumer_id(&consumer, channel, names[i]),
							 RING_LOST_INVALID),
					3);
	}
	/* Nor has it become slower. */
	for (i = 0; i < agent.process.sessions[0].batches->nr_events; i++)
		assert_false(agent.process.sessions[0].batches->events[i].large);
	side_event(ev_small, side_arg_list(side_arg_u32(5)));
	assert_int_equal(drain(&consumer, 0, 4)->nr, 1);
	stop(&consumer);
}

static void other_modes(void **state)
{
	const struct consumer_channel channels[] = {
			{.name = "block",
					.rules = ONE_RULE(FROM("rule:number")),
					.nr_rules = 1,
					.mode = RING_MODE_BLOCK},
			{.name = "flight",
					.rules = ONE_RULE(FROM("rule:number")),
					.nr_rules = 1,
					.mode = RING_MODE_OVERWRITE},
			{.name = "thread",
					.rules = ONE_RULE(FROM("rule:number")),
					.nr_rules = 1,
					.placement = RING_PER_THREAD},
	};
	struct consumer consumer = {.channels = channels, .nr_channels = 3, .ring_size = 65536};
	uint64_t lost, recorded;

	(void)state;
	consumer_start(&consumer);
	assert_int_equal(agent_start(consumer.path), 0);
	/*
	 * More records than fit: one channel waits without success (once), one overwrites, one
	 * counts losses.
	 */
	fire_numbers(10000);
	lost = consumer_lost_in(&consumer, 0, 0, RING_LOST_FULL);
	recorded = consumer_drain_channel(&consumer, 0, 16, NULL, NULL);
	assert_int_equal(lost + recorded, 10000);
	assert_true(lost > 0);
	assert_int_equal(consumer_lost_in(&consumer, 1, 0, RING_LOST_FULL), 0);
	lost = consumer_lost_in(&consumer, 2, 0, RING_LOST_FULL);
	recorded = consumer_drain_channel(&consumer, 2, 16, NULL, NULL);
	assert_int_equal(lost + recorded, 10000);
	assert_true(lost > 0);
	stop(&consumer);
}

/* ---- consumers with invalid messages ---- */

static unsigned int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int nr = 0;
	int c;

	assert_non_null(maps);
	while ((c = getc(maps)) != EOF)
		nr += c == '\n';
	fclose(maps);
	return nr;
}

static void damaged_configurations(void **state)
{
	const struct consumer_rule rules[] = {
			{FROM("rule:*"), .filter = "sequence % 3 == 1 && $ctx.vpid > 0",
					.contexts = "vtid\0procname", .nr_contexts = 2},
			{FROM("rule:small")},
	};
	const struct consumer_channel channels[] = {
			{.name = "one",
					.rules = rules,
					.nr_rules = 2,
					.contexts = "vpid\0cpu_id",
					.nr_contexts = 2},
			{.name = "two", .rules = rules, .nr_rules = 1},
	};
	unsigned int rounds = getenv("SIDE_TEST_LONG") ? 20000 : 400;
	unsigned int accepted = 0, mappings = 0;
	struct consumer consumer = {.channels = channels, .nr_channels = 2, .mutate = 20240301};
	unsigned int i;

	(void)state;
	consumer_start(&consumer);
	for (i = 0; i < rounds; i++) {
		int ret = agent_start(consumer.path);

		accepted += !ret;
		assert_true(ret <= 0);
		fire_numbers(3);
		side_event(ev_small, side_arg_list(side_arg_u32(i)));
		fire_bytes(i);
		agent_stop();
		assert_false(side_event_enabled(ev_number));
		if (i == rounds / 2)
			mappings = count_mappings();
		/*
		 * Descriptor numbers pass from thread to thread in the agent, which the race
		 * detector cannot see.
		 */
		consumer_sync(&consumer);
	}
	/* Some messages are valid in spite of the damage; the others have no effect. */
	assert_true(accepted > 0 && accepted < rounds);
	consumer_sync(&consumer);
	assert_true(count_mappings() <= mappings + 8);
	consumer_stop(&consumer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(recorded_if_it_matches),
			cmocka_unit_test(any_rule_is_enough),
			cmocka_unit_test(filters_of_contexts),
			cmocka_unit_test(contexts_stand_before_the_payload),
			cmocka_unit_test(long_fields_are_copied_whole),
			cmocka_unit_test(wrong_arguments),
			cmocka_unit_test(other_modes),
			cmocka_unit_test(damaged_configurations),
	};

	/* The consumer may be slow on a busy machine. */
	agent.wait.timeout_factor = 60;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
