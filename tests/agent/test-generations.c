/* SPDX-License-Identifier: MIT */
/*
 * Channels, rules and generations that a consumer sends: what the agent keeps of each, which errors
 * it returns, and when it frees them. The test includes the file, lets each allocation fail, and
 * replaces contexts, filters and grace periods.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <side/tracer-extensions.h>

#include "../called.h"
#include "../resources.h"
#include "filter/filter.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/replaced.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session-end.h"
#include "tracers/agent/core/session.h"

static struct {
	unsigned int failing, nr_takes; /* the allocation that fails */
	ssize_t set_size;
	int set_result, verify_result, each_result;
	bool is_sandboxed;
	const char *names[CONTEXT_SET_MAX + 2]; /* of the filter's contexts */
	uint64_t grace, context_watch_mark_changed;
} played;

static void *play_take(struct agent_memory *memory, size_t size)
{
	return ++played.nr_takes == played.failing ? NULL : agent_memory_take(memory, size);
}

static ssize_t play_set_size(const struct context_spec *specs, size_t nr)
{
	called("set of");
	for (size_t i = 0; i < nr; i++)
		called(" %s", specs[i].name);
	called("\n");
	return played.set_size;
}

static int play_set_build(const struct context_spec *specs, size_t nr, void *memory, size_t size,
		struct context_set **set)
{
	assert_true((specs || !nr) && memory);
	called("build %zu in %zu\n", nr, size);
	memset(memory, 's', size);
	*set = memory;
	return played.set_result;
}

static int play_verify(const void *program, size_t size, const char **why)
{
	called("verify %.*s\n", (int)size, (const char *)program);
	*why = "played";
	return played.verify_result;
}

static int play_each(const void *program, size_t size,
		int (*callback)(void *user, const char *name), void *user)
{
	int ret = 0;

	called("each of %.*s\n", (int)size, (const char *)program);
	for (size_t i = 0; played.names[i] && !ret; i++)
		ret = callback(user, played.names[i]);
	return ret ? ret : played.each_result;
}

static bool play_load(const struct context_set *set, size_t index, const void *caller,
		struct filter_value *value)
{
	assert_true((const void *)set == &played && caller == &played.grace);
	assert_ptr_equal(value, &played.names);
	called("load %zu\n", index);
	return index == 5;
}

static uint64_t play_grace_begin(void)
{
	called("grace %d\n", (int)played.grace);
	return played.grace;
}

static bool play_grace_passed(uint64_t grace)
{
	return grace <= played.context_watch_mark_changed;
}

static bool play_sandboxed(void)
{
	return played.is_sandboxed;
}

static void play_drop(struct agent_session *session)
{
	assert_null(session->generation);
	called("drop\n");
}

static void play_batches_free(struct agent_batch *list)
{
	called("batches %s\n", list ? "some" : "none");
}

#define agent_memory_take play_take
#define context_set_size play_set_size
#define context_set_build play_set_build
#define filter_verify play_verify
#define filter_each_context play_each
#define context_set_load play_load
#define side_tracer_grace_begin play_grace_begin
#define side_tracer_grace_passed play_grace_passed
#define agent_is_sandboxed play_sandboxed
#define agent_session_drop play_drop
#define agent_batches_free play_batches_free
#include "tracers/agent/core/rules.c"
#include "tracers/agent/core/replaced.c"

static void reset(void)
{
	memset(&played, 0, sizeof(played));
	played.set_size = 40;
	agent.rules.for_kernel = false;
	*calls = '\0';
}

/* ---- channels ---- */

static void test_channels(void **unused)
{
	static struct agent_channel channels[3];
	static struct agent_session session = {.channels = channels, .nr_channels = 3};
	struct wire_channel from = {.index = 1,
			.ring_memory = 4711,
			.nr_rules = 5,
			.nr_contexts = 2,
			.name = "one",
			.contexts = "vpid\0cpu_id"};

	(void)unused;
	reset();
	assert_int_equal(agent_take_channel(&session, &from), 0);
	assert_called("set of vpid cpu_id\nbuild 2 in 40\n");
	assert_true(channels[1].session == &session && channels[1].index == 1 &&
			channels[1].ring_memory == 4711 && channels[1].nr_contexts == 2);
	assert_string_equal(channels[1].name, "one");
	assert_string_equal(channels[1].contexts[1].name, "cpu_id");
	assert_memory_equal(channels[1].context_set, "ssss", 4);
	assert_true(!channels[0].session && !channels[2].session);
	for (played.failing = 1; played.failing < 3; played.failing++) {
		played.nr_takes = 0;
		assert_int_equal(agent_take_channel(&session, &from), -ENOMEM);
	}
	played.failing = 0;
	*calls = '\0';
	played.set_result = -EINVAL;
	assert_int_equal(agent_take_channel(&session, &from), -EINVAL);
	assert_called("set of vpid cpu_id\nbuild 2 in 40\n");
	played.set_size = -E2BIG;
	assert_int_equal(agent_take_channel(&session, &from), -E2BIG);
	assert_called("set of vpid cpu_id\n");
	played.set_size = 0;
	played.set_result = 0;
	assert_int_equal(agent_take_channel(&session, &from), 0);
	assert_called("set of vpid cpu_id\nbuild 2 in 0\n");
	from.contexts = "vpid\0no such context";
	assert_int_equal(agent_take_channel(&session, &from), -EPROTO);
	assert_called("");
	from = (struct wire_channel){.index = 2, .name = "two", .contexts = ""};
	assert_int_equal(agent_take_channel(&session, &from), 0);
	assert_called("");
	assert_true(!channels[2].contexts && !channels[2].context_set && !channels[2].nr_contexts);
	agent_memory_free(&session.memory);
}

/* ---- rules ---- */

static struct agent_rule *take(
		struct agent_generation *generation, const char *patterns, uint32_t nr)
{
	struct wire_rule from = {.channel = 3,
			.nr_patterns = nr,
			.patterns = patterns,
			.contexts = "",
			.filter = ""};
	struct agent_rule **end = generation->ends[3];

	assert_int_equal(agent_take_rule(generation, &from), 0);
	assert_ptr_equal(generation->ends[3], &(*end)->next);
	return *end;
}

static void test_patterns(void **unused)
{
	struct agent_generation *generation;
	struct agent_rule *rule;

	(void)unused;
	reset();
	generation = agent_generation_begin();
	assert_non_null(generation);
	for (uint32_t i = 0; i < WIRE_CHANNELS_MAX; i++)
		assert_true(!generation->rules[i] && generation->ends[i] == &generation->rules[i]);
	rule = take(generation, "a:b\0!c:d\0kernel::sched:*", 3);
	assert_ptr_equal(generation->rules[3], rule);
	assert_true(rule->nr_patterns == 2 && !rule->nothing);
	assert_true(!rule->patterns[0].exclude && rule->patterns[1].exclude);
	assert_memory_equal(rule->patterns[0].glob, "a:b", 3);
	/* Only rules of the kernel: nothing here. Only excluded events: some of all. */
	rule = take(generation, "kernel::sched:*", 1);
	assert_ptr_equal(generation->rules[3]->next, rule);
	assert_true(!rule->nr_patterns && rule->nothing);
	assert_false(take(generation, "!a:b\0!c:d", 2)->nothing);
	assert_true(take(generation, "!a:b\0kernel::x:y", 2)->nothing);
	assert_false(take(generation, "!a:b\0c:d", 2)->nothing);
	/* The recorder of kernel events. */
	agent.rules.for_kernel = true;
	rule = take(generation, "kernel::sched:*\0a:b", 2);
	assert_true(rule->nr_patterns == 1 && !rule->nothing);
	rule = take(generation, "kernel::sched_switch\0kernel::x:y", 2);
	assert_true(rule->nr_patterns == 5 && !rule->nothing);
	assert_true(take(generation, "a:b", 1)->nothing);
	assert_true(take(generation, "!kernel::a:b", 1)->nothing);
	agent.rules.for_kernel = false;
	agent_generation_free(generation);
}

static void test_damaged(void **unused)
{
	static const char *const names[2] = {"[", "kernel::[x"};
	struct agent_generation *generation;
	struct wire_rule from = {.nr_patterns = 1, .contexts = "bad", .filter = "program"};

	(void)unused;
	for (int kernel = 0; kernel < 2; kernel++) {
		reset();
		agent.rules.for_kernel = kernel;
		generation = agent_generation_begin();
		from.nr_contexts = 0;
		from.filter_size = 0;
		from.patterns = names[kernel];
		assert_int_equal(agent_take_rule(generation, &from), -EPROTO);
		from.patterns = kernel ? "kernel::a:b" : "a:b";
		from.nr_contexts = 1;
		assert_int_equal(agent_take_rule(generation, &from), -EPROTO);
		from.nr_contexts = 0;
		from.filter_size = 7;
		played.verify_result = -EINVAL;
		assert_int_equal(agent_take_rule(generation, &from), -EPROTO);
		assert_called("verify program\n");
		played.verify_result = 0;
		played.each_result = -EBADMSG;
		assert_int_equal(agent_take_rule(generation, &from), -EBADMSG);
		assert_called("verify program\neach of program\n");
		played.each_result = 0;
		played.set_result = -EINVAL;
		assert_int_equal(agent_take_rule(generation, &from), -EINVAL);
		assert_called("verify program\neach of program\nset of\nbuild 0 in 40\n");
		/* None of them is a rule. */
		assert_true(!generation->rules[0] && generation->ends[0] == &generation->rules[0]);
		agent_generation_free(generation);
	}
	agent.rules.for_kernel = false;
}

static void test_filters(void **unused)
{
	static const char *const wanted[] = {"vpid", "unknown name", "vtid", NULL};
	struct agent_generation *generation;
	struct wire_rule from = {.channel = 31,
			.nr_patterns = 1,
			.nr_contexts = 1,
			.patterns = "a:b",
			.contexts = "cpu_id",
			.filter = "programXX",
			.filter_size = 7};
	const struct agent_rule *rule;

	(void)unused;
	reset();
	generation = agent_generation_begin();
	memcpy(played.names, wanted, sizeof(wanted));
	assert_int_equal(agent_take_rule(generation, &from), 0);
	assert_called("verify program\neach of program\nset of vpid vtid\nbuild 2 in 40\n");
	rule = generation->rules[31];
	assert_true(rule->nr_contexts == 1 && rule->filter_size == 7 && rule->nr_filter_specs == 2);
	assert_string_equal(rule->contexts[0].name, "cpu_id");
	assert_string_equal(rule->filter_specs[1].name, "vtid");
	assert_true(rule->filter != from.filter && !memcmp(rule->filter, "program", 7));
	assert_memory_equal(rule->filter_contexts.user, "ssss", 4);
	assert_true(rule->filter_contexts.load == load_context && !rule->filter_contexts.memory);
	assert_true(rule->hit_contexts.user == rule->filter_contexts.user &&
			rule->hit_contexts.load == load_context &&
			rule->hit_contexts.memory == agent_probes_filter_memory);
	assert_true(load_context(&played, 5, &played.grace, (void *)&played.names));
	assert_false(load_context(&played, 6, &played.grace, (void *)&played.names));
	*calls = '\0';
	/* 64 contexts, and one more. */
	for (size_t i = 0; i < CONTEXT_SET_MAX; i++)
		played.names[i] = "vpid";
	assert_int_equal(agent_take_rule(generation, &from), 0);
	assert_int_equal(generation->rules[31]->next->nr_filter_specs, CONTEXT_SET_MAX);
	played.names[CONTEXT_SET_MAX] = "vpid";
	assert_int_equal(agent_take_rule(generation, &from), -E2BIG);
	/* The rule, its patterns and contexts, the program, its contexts and their set. */
	played.names[1] = NULL;
	for (played.failing = 1; played.failing < 7; played.failing++) {
		played.nr_takes = 0;
		assert_int_equal(agent_take_rule(generation, &from), -ENOMEM);
	}
	played.nr_takes = 0;
	assert_int_equal(agent_take_rule(generation, &from), 0);
	assert_int_equal(played.nr_takes, 6);
	assert_null(generation->rules[31]->next->next->next);
	agent_generation_free(generation);
}

/* ---- generations ---- */

static void test_apply(void **unused)
{
	static struct agent_channel channels[3];
	static struct agent_session session = {.channels = channels, .nr_channels = 2};
	struct agent_generation *generation;
	static struct agent_rule rules[3];

	(void)unused;
	reset();
	generation = agent_generation_begin();
	for (int i = 0; i < 3; i++)
		generation->rules[i] = &rules[i];
	agent_generation_apply(&session, generation);
	assert_true(channels[0].rules == &rules[0] && channels[1].rules == &rules[1] &&
			!channels[2].rules);
	assert_ptr_equal(session.generation, generation);
	agent_generation_free(generation);
	played.failing = played.nr_takes + 1;
	assert_null(agent_generation_begin());
}

static void test_over(void **unused)
{
	static struct agent_batch batch;
	static struct agent_session left;
	struct agent_generation *made[4];
	struct resources before;

	(void)unused;
	reset();
	agent_memory_trim();
	before = resources_now();
	for (int i = 0; i < 4; i++)
		made[i] = agent_generation_begin();
	assert_int_equal(agent_over_begin(), 0);
	assert_called("");
	agent_generation_over(made[0]);
	assert_ptr_equal(agent.rules.over, made[0]);
	played.grace = 5;
	/* Nothing is freed before a grace period has begun and passed. */
	played.context_watch_mark_changed = UINT64_MAX;
	agent_over_free();
	assert_ptr_equal(agent.rules.over, made[0]);
	assert_called("");
	assert_int_equal(agent_over_begin(), 5);
	assert_called("grace 5\n");
	assert_int_equal(agent_over_begin(), 0);
	made[1]->next = made[0];
	agent_generation_over(made[1]);
	agent_generation_over(made[2]);
	assert_true(made[0]->next == made[1] && made[1]->next == made[2] && !made[2]->next);
	made[1]->batches = &batch;
	made[1]->left = &left;
	left.generation = made[1];
	played.grace = 8;
	assert_int_equal(agent_over_begin(), 8);
	assert_called("grace 8\n");
	assert_true(made[0]->grace == 5 && made[1]->grace == 8 && made[2]->grace == 8);
	played.context_watch_mark_changed = 4;
	agent_over_free();
	assert_called("");
	played.context_watch_mark_changed = 5;
	played.is_sandboxed = true;
	agent_over_free();
	played.is_sandboxed = false;
	atomic_store(&agent.process.is_exiting, true);
	agent_over_free();
	atomic_store(&agent.process.is_exiting, false);
	assert_called("");
	agent_over_free();
	assert_called("batches none\n");
	assert_ptr_equal(agent.rules.over, made[1]);
	played.context_watch_mark_changed = 8;
	agent_over_free();
	assert_called("batches some\ndrop\nbatches none\n");
	assert_null(agent.rules.over);
	/* A new list begins. */
	agent_generation_over(made[3]);
	assert_true(agent.rules.over == made[3] && agent.rules.over_end == &made[3]->next);
	played.grace = played.context_watch_mark_changed = 9;
	assert_int_equal(agent_over_begin(), 9);
	agent_over_free();
	assert_null(agent.rules.over);
	agent_memory_trim();
	assert_int_equal(resources_now().bytes, before.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_channels),
			cmocka_unit_test(test_patterns),
			cmocka_unit_test(test_damaged),
			cmocka_unit_test(test_filters),
			cmocka_unit_test(test_apply),
			cmocka_unit_test(test_over),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	agent_memory_trim();
	return ret;
}
