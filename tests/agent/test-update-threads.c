/* SPDX-License-Identifier: MIT */
/*
 * Updates while threads fire: each call of an enabled event is recorded exactly once, and a
 * disabled event is not recorded.
 */
#include "test-update.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 3 };

struct firing {
	unsigned int thread;
	uint64_t fired; /* atomic */
	bool *stop;
};

static void *fire_numbers(void *user)
{
	struct firing *firing = user;
	uint64_t sequence = 0;

	while (!__atomic_load_n(firing->stop, __ATOMIC_RELAXED)) {
		side_event(ev_number,
				side_arg_list(side_arg_u64(firing->thread),
						side_arg_u64(sequence)));
		sequence++;
		__atomic_store_n(&firing->fired, sequence, __ATOMIC_RELEASE);
		if (sequence % 64 == 0)
			usleep(100);
	}
	return NULL;
}

struct storm {
	bool stop;
	struct firing firing[THREADS];
	pthread_t threads[THREADS];
};

static void storm_begin(struct storm *storm)
{
	unsigned int i;

	*storm = (struct storm){0};
	for (i = 0; i < THREADS; i++) {
		storm->firing[i] = (struct firing){.thread = i, .stop = &storm->stop};
		assert_int_equal(pthread_create(&storm->threads[i], NULL, fire_numbers,
						 &storm->firing[i]),
				0);
	}
}

/* Waits until each thread has fired more events. */
static void storm_goes_on(struct storm *storm)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		uint64_t *fired = &storm->firing[i].fired;
		uint64_t before = __atomic_load_n(fired, __ATOMIC_ACQUIRE);

		while (__atomic_load_n(fired, __ATOMIC_ACQUIRE) < before + 3)
			usleep(100);
	}
}

static uint64_t storm_end(struct storm *storm)
{
	uint64_t sum = 0;
	unsigned int i;

	__atomic_store_n(&storm->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(storm->threads[i], NULL), 0);
		sum += storm->firing[i].fired;
	}
	return sum;
}

static uint64_t lost(struct consumer *consumer)
{
	uint64_t sum = 0;
	uint32_t slot;
	int reason;

	for (slot = 0; slot < 4; slot++)
		for (reason = 0; reason < RING_LOSS_REASONS; reason++)
			sum += consumer_lost(consumer, slot, reason);
	return sum;
}

/* Each call has one record, whichever rule was in effect. */
static void none_is_missed_and_none_twice(void **state)
{
	unsigned int rounds = getenv("SIDE_TEST_LONG") ? 2000 : 60, i;
	uint64_t recorded = 0, fired;
	struct consumer one;
	struct storm storm;

	(void)state;
	begin(&one, RULES(NUMBER));
	storm_begin(&storm);
	for (i = 0; i < rounds; i++) {
		switch (i % 4) {
		case 0: now_wants(&one, RULES(NUMBER_IF("sequence >= 0"))); break;
		case 1: now_wants(&one, RULES(NUMBER_IF("thread < 100"), OTHER)); break;
		case 2: now_wants(&one, RULES(NUMBER, NUMBER_IF("sequence < 0"))); break;
		case 3: now_wants(&one, RULES(NUMBER)); break;
		}
		recorded += drain(&one);
	}
	fired = storm_end(&storm);
	recorded += drain(&one);
	assert_int_equal(recorded + lost(&one), fired);
	assert_int_equal(one.nr_events, 2);
	end(&one);
}

static void off_is_off_and_on_is_on(void **state)
{
	unsigned int rounds = getenv("SIDE_TEST_LONG") ? 1000 : 30, i;
	struct consumer one;
	struct storm storm;

	(void)state;
	begin(&one, RULES(NUMBER));
	storm_begin(&storm);
	for (i = 0; i < rounds; i++) {
		uint64_t before[THREADS], lost_before, sum = 0;
		unsigned int k;

		if (i % 3)
			now_wants(&one, i % 2 ? nothing : RULES(OTHER));
		else
			assert_int_equal(update(NULL, NULL), 0);
		drain(&one);
		storm_goes_on(&storm);
		/* No record. */
		assert_int_equal(drain(&one), 0);
		lost_before = lost(&one);
		want(&one, RULES(NUMBER));
		assert_int_equal(update(&one, NULL), 0);
		for (k = 0; k < THREADS; k++)
			before[k] = __atomic_load_n(&storm.firing[k].fired, __ATOMIC_ACQUIRE);
		storm_goes_on(&storm);
		for (k = 0; k < THREADS; k++)
			sum += __atomic_load_n(&storm.firing[k].fired, __ATOMIC_ACQUIRE) -
					before[k];
		/* All events are recorded, or counted as lost. */
		assert_true(drain(&one) + lost(&one) - lost_before >= sum);
	}
	storm_end(&storm);
	end(&one);
}

/* Contexts, libraries and sessions come and go; the sanitizers check the memory. */
static void *load_and_unload(void *user)
{
	bool *stop = user;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		void *plugin = dlopen(getenv("AGENT_PLUGIN"), RTLD_NOW | RTLD_LOCAL);

		if (plugin)
			dlclose(plugin);
		usleep(500);
	}
	return NULL;
}

static const struct consumer_channel *const sets[] = {RULES(NUMBER_WITH("vtid")), RULES(ALL),
		nothing, RULES(NUMBER_WITH("procname"), OTHER)};

static void everything_at_once(void **state)
{
	unsigned int rounds = getenv("SIDE_TEST_LONG") ? 1000 : 40, i;
	struct consumer one, two = {.patterns = "update:*", .nr_patterns = 1};
	struct storm storm;
	pthread_t loader;

	(void)state;
	begin(&one, RULES(NUMBER));
	consumer_start(&two);
	storm_begin(&storm);
	assert_int_equal(pthread_create(&loader, NULL, load_and_unload, &storm.stop), 0);
	for (i = 0; i < rounds; i++) {
		want(&one, sets[i % 4]);
		assert_int_equal(update(&one, i % 3 ? &two : NULL), 0);
		drain(&two);
	}
	storm_end(&storm);
	assert_int_equal(pthread_join(loader, NULL), 0);
	agent_stop();
	consumer_stop(&two);
	consumer_stop(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(none_is_missed_and_none_twice),
			cmocka_unit_test(off_is_off_and_on_is_on),
			cmocka_unit_test(everything_at_once),
	};

	/* The consumer may be slow on a busy machine. */
	agent.wait.timeout_factor = 60;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
