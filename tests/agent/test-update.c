/* SPDX-License-Identifier: MIT */
/*
 * Sessions that start, change and end while the program runs. When an update returns, its changes
 * are in effect, to the event, and all other events are recorded on under the same ids.
 */
#include "test-update.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- sessions ---- */

static void sessions_come_and_go(void **state)
{
	struct consumer one = {.patterns = "update:*", .nr_patterns = 1};
	struct consumer two = {.patterns = "update:number", .nr_patterns = 1};
	int round;

	(void)state;
	consumer_start(&one);
	consumer_start(&two);
	assert_int_equal(agent_prepare(), 0);
	assert_int_equal(agent_prepare(), 0);
	assert_int_equal(update(NULL, NULL), 0);
	assert_false(side_event_enabled(ev_number));
	for (round = 0; round < 3; round++) {
		assert_int_equal(update(&one, NULL), 0);
		fire(3, 4);
		assert_int_equal(update(&one, &two), 0);
		assert_int_equal(agent.process.nr_sessions, 2);
		fire(1, 1);
		assert_int_equal(update(NULL, &two), 0);
		assert_int_equal(agent.process.nr_sessions, 1);
		fire(10, 10);
		assert_false(side_event_enabled(ev_other));
		assert_int_equal(drain(&one), 9);
		assert_int_equal(drain(&two), 11);
		assert_int_equal(update(NULL, NULL), 0);
		assert_int_equal(agent.process.nr_sessions, 0);
		fire(5, 5);
		assert_false(side_event_enabled(ev_number));
		assert_int_equal(drain(&one), 0);
		assert_int_equal(drain(&two), 0);
	}
	assert_int_equal(one.hellos, 3);
	assert_int_equal(one.refreshes, 0);
	agent_stop();
	consumer_stop(&one);
	consumer_stop(&two);
}

/* The daemon does not control a session that SIDE_AGENT_SOCKET names. */
static void given_sessions_stay(void **state)
{
	struct consumer one = {.patterns = "update:*", .nr_patterns = 1};
	struct consumer two = {.patterns = "update:*", .nr_patterns = 1};

	(void)state;
	consumer_start(&one);
	consumer_start(&two);
	assert_int_equal(agent_start(one.path), 0);
	assert_int_equal(update(&two, NULL), 0);
	assert_int_equal(update(NULL, NULL), 0);
	fire(2, 0);
	assert_int_equal(drain(&one), 2);
	assert_int_equal(drain(&two), 0);
	/* But its rules may change. */
	now_wants(&one, nothing);
	fire(2, 0);
	assert_int_equal(drain(&one), 0);
	agent_stop();
	consumer_stop(&one);
	consumer_stop(&two);
}

static void refusals_are_remembered(void **state)
{
	struct consumer one = {.patterns = "update:*", .nr_patterns = 1, .to_hello = ANSWER_REFUSE};

	(void)state;
	consumer_start(&one);
	assert_int_equal(agent_prepare(), 0);
	assert_int_equal(update(&one, NULL), 0);
	assert_int_equal(update(&one, NULL), 0);
	assert_int_equal(one.hellos, 1);
	one.generation = 2;
	assert_int_equal(update(&one, NULL), 0);
	assert_int_equal(update(&one, NULL), 0);
	assert_int_equal(one.hellos, 2);
	/* Not by a name that another session got in between. */
	assert_int_equal(update(NULL, NULL), 0);
	consumer_sync(&one);
	one.to_hello = ANSWER_WELL;
	consumer_sync(&one);
	assert_int_equal(update(&one, NULL), 0);
	assert_int_equal(one.hellos, 3);
	assert_int_equal(agent.process.nr_sessions, 1);
	/* A session that refuses the process is asked again: it may be another session by now. */
	consumer_sync(&one);
	one.to_hello = one.to_refresh = ANSWER_REFUSE;
	consumer_sync(&one);
	one.generation = 3;
	assert_int_equal(update(&one, NULL), 0);
	assert_int_equal(agent.process.nr_sessions, 0);
	assert_int_equal(one.hellos, 4);
	fire(2, 2);
	assert_int_equal(drain(&one), 0);
	end(&one);
}

static void another_session_in_its_place(void **state)
{
	struct consumer one;

	(void)state;
	begin(&one, RULES(NUMBER));
	fire(1, 1);
	assert_int_equal(drain(&one), 1);
	/* The session does not know the process. */
	consumer_sync(&one);
	one.token = 0;
	consumer_sync(&one);
	now_wants(&one, RULES(OTHER));
	assert_int_equal(one.refreshes, 1);
	assert_int_equal(one.hellos, 2);
	fire(1, 5);
	assert_int_equal(drain(&one), 5);
	end(&one);
}

/* ---- rules ---- */

static void rules_come_and_go(void **state)
{
	struct consumer one;
	uint32_t number, other;

	(void)state;
	begin(&one, RULES(NUMBER));
	fire(2, 2);
	assert_int_equal(drain(&one), 2);
	number = consumer_id(&one, 0, "update:number");
	now_wants(&one, RULES(NUMBER, OTHER));
	fire(2, 3);
	assert_int_equal(drain(&one), 5);
	other = consumer_id(&one, 0, "update:other");
	assert_true(other != number);
	now_wants(&one, RULES(OTHER));
	assert_false(side_event_enabled(ev_number));
	fire(2, 3);
	assert_int_equal(drain(&one), 3);
	now_wants(&one, nothing);
	assert_false(side_event_enabled(ev_other));
	fire(2, 3);
	assert_int_equal(drain(&one), 0);
	now_wants(&one, RULES(NUMBER, OTHER));
	fire(4, 4);
	assert_int_equal(drain(&one), 8);
	/* Two events, each described once, under the same ids. */
	assert_int_equal(one.nr_events, 2);
	assert_int_equal(one.batches, 2);
	assert_int_equal(consumer_id(&one, 0, "update:number"), number);
	assert_int_equal(consumer_id(&one, 0, "update:other"), other);
	assert_int_equal(one.hellos, 1);
	assert_int_equal(one.refreshes, 4);
	/* No change, no question. */
	assert_int_equal(update(&one, NULL), 0);
	assert_int_equal(one.refreshes, 4);
	end(&one);
}

static void filters_are_swapped(void **state)
{
	struct consumer one;

	(void)state;
	begin(&one, RULES(NUMBER_IF("sequence < 3")));
	fire(10, 0);
	assert_int_equal(drain(&one), 3);
	now_wants(&one, RULES(NUMBER_IF("sequence >= 3")));
	fire(10, 0);
	assert_int_equal(drain(&one), 7);
	now_wants(&one, RULES(NUMBER_IF("sequence == 3"), NUMBER_IF("sequence == 5")));
	fire(10, 0);
	assert_int_equal(drain(&one), 2);
	now_wants(&one, RULES(NUMBER));
	fire(10, 0);
	assert_int_equal(drain(&one), 10);
	now_wants(&one, RULES(NUMBER_IF("thread == 2")));
	fire(10, 0);
	assert_int_equal(drain(&one), 0);
	assert_int_equal(one.nr_events, 1);
	assert_int_equal(one.batches, 1);
	end(&one);
}

static void contexts_make_new_events(void **state)
{
	struct consumer one;

	(void)state;
	begin(&one, RULES(NUMBER));
	fire(3, 0);
	assert_int_equal(drain(&one), 3);
	now_wants(&one, RULES(NUMBER_WITH("vtid"), OTHER));
	fire(4, 0);
	assert_int_equal(consumer_drain(&one, 20, NULL, NULL), 4);
	fire(0, 2);
	assert_int_equal(drain(&one), 2);
	assert_int_equal(one.nr_events, 3);
	assert_string_equal(one.heard[0].contexts[0], "");
	assert_string_equal(one.heard[0].names[0], "update:number");
	assert_true(!strcmp(one.heard[0].contexts[1], "vtid") !=
			!strcmp(one.heard[0].contexts[2], "vtid"));
	/* The same rule as at first: the event has the same id. */
	now_wants(&one, RULES(NUMBER));
	fire(5, 1);
	assert_int_equal(drain(&one), 5);
	now_wants(&one, RULES(NUMBER_WITH("vtid")));
	fire(6, 0);
	assert_int_equal(consumer_drain(&one, 20, NULL, NULL), 6);
	assert_int_equal(one.nr_events, 3);
	end(&one);
}

/* Another generation with the same rules costs one question. */
static void nothing_has_changed(void **state)
{
	const struct consumer_channel *same = RULES(NUMBER_IF("sequence < 5"));
	struct consumer one;
	struct agent_batch *batch;

	(void)state;
	begin(&one, same);
	batch = agent.process.sessions[0].batches;
	now_wants(&one, same);
	now_wants(&one, RULES(NUMBER_IF("sequence < 5")));
	assert_ptr_equal(agent.process.sessions[0].batches, batch);
	assert_int_equal(one.refreshes, 2);
	assert_true(agent.process.sessions[0].config.generation == 3);
	/* The daemon had an older generation. */
	one.generation = 2;
	assert_int_equal(update(&one, NULL), 0);
	fire(10, 0);
	assert_int_equal(drain(&one), 5);
	end(&one);
}

static void what_is_refused_stays_so(void **state)
{
	struct consumer one = {.channels = RULES(NUMBER), .nr_channels = 1};

	(void)state;
	one.refuse = "update:number";
	consumer_start(&one);
	assert_int_equal(agent_prepare(), 0);
	assert_int_equal(update(&one, NULL), 0);
	now_wants(&one, RULES(NUMBER_IF("sequence < 5"), OTHER));
	fire(10, 1);
	assert_int_equal(drain(&one), 1);
	assert_int_equal(one.batches, 2);
	assert_false(side_event_enabled(ev_number));
	end(&one);
}

/* ---- libraries ---- */

static void *load(void (**tick)(uint64_t sequence))
{
	void *plugin = dlopen(getenv("AGENT_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	void *found;

	assert_non_null(plugin);
	found = dlsym(plugin, "plugin_tick");
	memcpy(tick, &found, sizeof(*tick));
	return plugin;
}

static void libraries_and_rules(void **state)
{
	struct consumer one;
	void (*tick)(uint64_t sequence);
	void *plugin;
	unsigned int i;

	(void)state;
	begin(&one, RULES(PLUGIN));
	for (i = 0; i < 3; i++) {
		plugin = load(&tick);
		tick(1);
		now_wants(&one, RULES(PLUGIN, NUMBER));
		tick(2);
		fire(1, 0);
		now_wants(&one, nothing);
		tick(3);
		now_wants(&one, RULES(PLUGIN_IF("sequence == 5")));
		tick(4);
		tick(5);
		dlclose(plugin);
		now_wants(&one, RULES(PLUGIN));
		assert_int_equal(drain(&one), 4);
	}
	assert_int_equal(one.nr_events, 2);
	end(&one);
}

/* ---- failures ---- */

static void a_session_does_not_answer(void **state)
{
	static const enum consumer_answer answers[] = {
			ANSWER_HANG_UP, ANSWER_GARBAGE, ANSWER_WRONG_FDS};
	const struct consumer_channel *other = RULES(OTHER);
	struct consumer one;
	void (*tick)(uint64_t sequence);
	void *plugin;
	unsigned int i;

	(void)state;
	begin(&one, RULES(NUMBER));
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		want(&one, other);
		one.to_refresh = answers[i];
		assert_int_not_equal(update(&one, NULL), 0);
		/* The previous events are recorded on. */
		fire(2, 1);
		assert_int_equal(drain(&one), 2);
	}
	consumer_sync(&one);
	one.to_refresh = ANSWER_WELL;
	one.to_events = ANSWER_HANG_UP;
	consumer_sync(&one);
	assert_int_not_equal(update(&one, NULL), 0);
	/* The old rule has no effect, and losses of the new event are counted. */
	fire(2, 1);
	assert_int_equal(drain(&one), 0);
	assert_int_equal(consumer_lost(&one, UINT32_MAX, RING_LOST_OTHER), 1);
	/* Events that are registered in between are not described to the session, either. */
	plugin = load(&tick);
	consumer_sync(&one);
	one.to_events = ANSWER_WELL;
	consumer_sync(&one);
	assert_int_equal(update(&one, NULL), 0);
	fire(2, 1);
	assert_int_equal(drain(&one), 1);
	now_wants(&one, RULES(PLUGIN));
	tick(1);
	assert_int_equal(drain(&one), 1);
	dlclose(plugin);
	end(&one);
}

/* While a session is disconnected, batches are not described to it; they are when it is back. */
static void what_came_while_it_was_gone(void **state)
{
	struct consumer one;
	void (*tick)(uint64_t sequence);
	void *plugin;

	(void)state;
	begin(&one, RULES(PLUGIN));
	one.to_events = ANSWER_HANG_UP;
	plugin = load(&tick);
	assert_true(agent.process.sessions[0].gone);
	consumer_sync(&one);
	one.to_events = ANSWER_WELL;
	consumer_sync(&one);
	tick(1);
	assert_int_equal(drain(&one), 0);
	assert_int_equal(update(&one, NULL), 0);
	assert_false(agent.process.sessions[0].gone || agent.process.sessions[0].incomplete);
	tick(2);
	assert_int_equal(drain(&one), 1);
	dlclose(plugin);
	end(&one);
}

static void no_session_exists(void **state)
{
	struct agent_wanted nowhere = {.path = "/no/such/socket", .generation = 1};
	struct agent_wanted nameless = {.path = "", .generation = 1};
	uint64_t grace;

	(void)state;
	assert_int_equal(agent_sessions_update(&nowhere, 1, true, &grace), -EPERM);
	assert_int_equal(agent_prepare(), 0);
	assert_int_equal(agent_sessions_update(&nowhere, 1, true, &grace), -ENOENT);
	assert_int_equal(agent_sessions_update(&nameless, 1, true, &grace), -ENAMETOOLONG);
	assert_int_equal(agent.process.nr_sessions, 0);
	agent_stop();
}

/* Damaged answers: the program runs on, and the next update repairs the state. */
static void lies(void **state)
{
	unsigned int rounds = getenv("SIDE_TEST_LONG") ? 5000 : 300, i;
	struct consumer one;

	(void)state;
	begin(&one, RULES(NUMBER));
	for (i = 0; i < rounds; i++) {
		want(&one,
				i % 2 ? RULES(NUMBER_IF("sequence < 100"), OTHER)
				      : RULES(NUMBER_WITH("vtid")));
		one.mutate = 1 + i * 7919;
		update(&one, NULL);
		consumer_sync(&one);
		one.mutate = 0;
		consumer_sync(&one);
		fire(1, 1);
	}
	now_wants(&one, nothing);
	now_wants(&one, RULES(OTHER));
	while (consumer_drain(&one, 0, NULL, NULL))
		;
	end(&one);
}

/* ---- as in a signal handler ---- */

static struct consumer *of_handler;
static uint64_t handler_grace;
static int handler_result;

static void change_in_handler(int signal)
{
	struct agent_wanted wanted = {
			.path = of_handler->path, .generation = of_handler->generation};

	(void)signal;
	handler_result = agent_sessions_update(&wanted, 1, false, &handler_grace);
}

/* ---- state dumps ---- */

static uint64_t dumped_key;

static void dump(void *key)
{
	memcpy(&dumped_key, key, sizeof(dumped_key));
	side_statedump_event(ev_number, key, side_arg_list(side_arg_u64(1), side_arg_u64(2)));
}

static void a_session_that_asks_gets_the_state(void **state)
{
	struct consumer one = {.channels = RULES(NUMBER), .nr_channels = 1};
	struct consumer two = {.channels = RULES(NUMBER), .nr_channels = 1, .statedump = 3};
	struct side_statedump_request_handle *handle;

	(void)state;
	consumer_start(&one);
	consumer_start(&two);
	handle = side_statedump_request_notification_register(
			"test", dump, SIDE_STATEDUMP_MODE_POLLING);
	assert_non_null(handle);
	assert_int_equal(side_statedump_run_pending_requests(handle), 0);
	assert_int_equal(agent_prepare(), 0);
	assert_int_equal(update(&one, NULL), 0);
	assert_false(side_statedump_poll_pending_requests(handle));
	/*
	 * A process that joins a session that requested a state dump earlier also dumps its state.
	 */
	assert_int_equal(update(&one, &two), 0);
	assert_true(side_statedump_poll_pending_requests(handle));
	assert_int_equal(side_statedump_run_pending_requests(handle), 0);
	assert_true(dumped_key == agent.process.sessions[1].key);
	assert_int_equal(drain(&one), 0);
	assert_int_equal(drain(&two), 1);
	want(&one, one.channels);
	one.statedump = 1;
	assert_int_equal(update(&one, &two), 0);
	assert_int_equal(side_statedump_run_pending_requests(handle), 0);
	assert_true(dumped_key == agent.process.sessions[0].key);
	assert_int_equal(drain(&one), 1);
	assert_int_equal(drain(&two), 0);
	want(&one, one.channels);
	assert_int_equal(update(&one, &two), 0);
	assert_false(side_statedump_poll_pending_requests(handle));
	/* In a signal handler, too. */
	want(&one, one.channels);
	one.statedump = 2;
	of_handler = &one;
	change_in_handler(0);
	assert_int_equal(handler_result, 0);
	assert_int_equal(side_statedump_run_pending_requests(handle), 0);
	assert_int_equal(drain(&one), 1);
	side_statedump_request_notification_unregister(handle);
	agent_stop();
	consumer_stop(&one);
	consumer_stop(&two);
}

/* ---- without waiting ---- */

static void handlers_do_not_wait(void **state)
{
	struct sigaction action = {.sa_handler = change_in_handler}, before;
	struct consumer one;

	(void)state;
	begin(&one, RULES(NUMBER));
	of_handler = &one;
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	want(&one, RULES(OTHER));
	side_tracer_lock();
	raise(SIGUSR1);
	side_tracer_unlock();
	assert_int_equal(handler_result, -EBUSY);
	fire(1, 0);
	raise(SIGUSR1);
	assert_int_equal(handler_result, 0);
	fire(1, 5);
	assert_int_equal(drain(&one), 6);
	assert_true(side_tracer_grace_passed(handler_grace));
	/* The next update of any kind removes the ended session. */
	want(&one, RULES(NUMBER));
	assert_int_equal(update(&one, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	end(&one);
}

/* ---- forked children ---- */

static void children_follow(void **state)
{
	struct consumer one;
	uint64_t token;
	int status;
	pid_t child;

	(void)state;
	begin(&one, RULES(NUMBER));
	token = agent.process.sessions[0].token;
	child = fork();
	if (!child) {
		fire(2, 2);
		one.generation = 2; /* as the daemon sends it */
		if (update(&one, NULL) || agent.process.sessions[0].token == token)
			_exit(1);
		_exit(agent.process.sessions[0].gone ? 2 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	consumer_sync(&one);
	assert_true(one.parent_token == token);
	assert_int_equal(drain(&one), 2);
	assert_int_equal(one.refreshes, 1);

	/* A child that the session refuses is no instance of it, until the agent asks again. */
	consumer_sync(&one);
	one.to_hello = ANSWER_HANG_UP;
	consumer_sync(&one);
	child = fork();
	if (!child) {
		fire(1, 1);
		_exit(agent.process.sessions[0].orphaned && update(&one, NULL) &&
								!agent.process.nr_sessions
						? 0
						: 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	agent_stop();
	consumer_stop(&one);
}

/* ---- the record for core dumps ---- */

static unsigned int nr_described(const struct recovery_head *head)
{
	const struct recovery_chunk *chunk =
			(const struct recovery_chunk *)(uintptr_t)head->first_chunk;
	unsigned int nr = 0;

	for (; chunk; chunk = (const struct recovery_chunk *)(uintptr_t)chunk->next) {
		const char *at = (const char *)(chunk + 1), *end_of_chunk = at + chunk->used;

		while (at < end_of_chunk) {
			struct wire_event_head event;

			memcpy(&event, at, sizeof(event));
			at += sizeof(event) + event.contexts_size + event.size;
			nr++;
		}
		assert_true(at == end_of_chunk);
	}
	return nr;
}

static void a_core_would_hold_it(void **state)
{
	struct consumer one;
	const struct recovery_head *head;

	(void)state;
	begin(&one, RULES(NUMBER));
	head = agent.process.sessions[0].recovery;
	assert_non_null(head);
	assert_int_equal(nr_described(head), 1);
	now_wants(&one, RULES(NUMBER_WITH("vtid"), OTHER));
	assert_ptr_equal(agent.process.sessions[0].recovery, head);
	assert_int_equal(head->valid, 1);
	assert_int_equal(nr_described(head), 3);
	now_wants(&one, nothing);
	now_wants(&one, RULES(NUMBER));
	assert_int_equal(nr_described(head), 3);
	assert_int_equal(update(NULL, NULL), 0);
	assert_null(agent.process.sessions[0].recovery);
	end(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(sessions_come_and_go),
			cmocka_unit_test(given_sessions_stay),
			cmocka_unit_test(refusals_are_remembered),
			cmocka_unit_test(another_session_in_its_place),
			cmocka_unit_test(rules_come_and_go),
			cmocka_unit_test(filters_are_swapped),
			cmocka_unit_test(contexts_make_new_events),
			cmocka_unit_test(nothing_has_changed),
			cmocka_unit_test(what_is_refused_stays_so),
			cmocka_unit_test(libraries_and_rules),
			cmocka_unit_test(a_session_does_not_answer),
			cmocka_unit_test(what_came_while_it_was_gone),
			cmocka_unit_test(no_session_exists),
			cmocka_unit_test(lies),
			cmocka_unit_test(a_session_that_asks_gets_the_state),
			cmocka_unit_test(handlers_do_not_wait),
			cmocka_unit_test(children_follow),
			cmocka_unit_test(a_core_would_hold_it),
	};

	/* The consumer may be slow on a busy machine. */
	agent.wait.timeout_factor = 60;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
