/* SPDX-License-Identifier: MIT */
/*
 * Sets and removes probes, in batches of all locations or some of them, while threads call the
 * functions all the time. Each call must return the same as without probes. Calls after patch_set()
 * must be recorded; calls after patch_remove() must not.
 */
#include "probed.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))
#define TURN_NS 50000
#define REPORT_EACH 50000
#define OWN_STACK 65536

static const struct probed_location {
	const char *name;
	int (*function)(int value);
	int adds;
} locations[] = {
		{"probed_one", probed_one, 1},
		{"probed_five", probed_five, 5},
		{"probed_three", probed_three, 3},
		{"probed_four", probed_four, 4},
		{"probed_two", probed_two, 2},
		{"probed_relative", probed_relative, 7},
		{"probed_call", probed_call, 1},
		{"probed_short", probed_short, 0},
		{"probed_shorter", probed_shorter, 6},
		{"probed_punned", probed_punned, 0},
		{"probed_tail", probed_tail, 101},
};
#define LOCATIONS (sizeof(locations) / sizeof(locations[0]))

static uint64_t entries[LOCATIONS], exits[LOCATIONS];
static bool stop;
static unsigned int wrong;
static uint64_t set, springboards_returned, springboards_left;
static bool quiesced;

/* Relaxed, all of them: statistics that are compared when no thread counts any more. */
static HANDLER void on_entry(const struct patch_hit *hit)
{
	__atomic_fetch_add(&entries[(uintptr_t)hit->user], 1, __ATOMIC_RELAXED);
}

static HANDLER void on_leave(const struct patch_hit *hit)
{
	__atomic_fetch_add(&exits[(uintptr_t)hit->user], 1, __ATOMIC_RELAXED);
}

/*
 * Preempts threads at any instruction, in the middle of sites, copies and handlers, a hundred times
 * as often as the kernel's ticks would: by a timer's signal, whose handlers wait for each other. So
 * a thread that waits for another one in a handler waits for microseconds, not for ticks. The
 * handlers of half of the threads have stacks of their own.
 */
static __thread timer_t turn;

static void set_turn(void)
{
	const struct itimerspec once = {.it_value.tv_nsec = TURN_NS};

	timer_settime(turn, 0, &once, NULL);
}

static void on_turn(int unused)
{
	(void)unused;
	sched_yield();
	set_turn();
}

static void start_turns(char *own_stack)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	const stack_t stack = {.ss_sp = own_stack, .ss_size = OWN_STACK};

	if (own_stack && sigaltstack(&stack, NULL)) {
		perror("sigaltstack");
		exit(1);
	}
	event._sigev_un._tid = gettid();
	if (timer_create(CLOCK_MONOTONIC, &event, &turn)) {
		perror("timer_create");
		exit(1);
	}
	set_turn();
}

/* A signal of the timer may still be pending. */
static void no_stack(void)
{
	const stack_t none = {.ss_flags = SS_DISABLE};

	sigaltstack(&none, NULL);
}

static void *call_all(void *argument)
{
	static unsigned int number;
	char own_stack[OWN_STACK];
	uint64_t *calls = argument;

	/* Relaxed: the value is only compared. */
	start_turns(__atomic_fetch_add(&number, 1, __ATOMIC_RELAXED) & 1 ? own_stack : NULL);
	for (int value = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED);
			value = (value + 1) & 0xffff) {
		for (size_t i = 0; i < LOCATIONS; i++) {
			int got = locations[i].function(value);

			if (got != value + locations[i].adds) {
				printf("%s gave %d for %d\n", locations[i].name, got, value);
				__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
			}
		}
		*calls += LOCATIONS;
	}
	timer_delete(turn);
	no_stack();
	return NULL;
}

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t draw(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1d >> 11) % below;
}

static void complain(const char *what, size_t location)
{
	printf("%s: %s\n", locations[location].name, what);
	__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

/*
 * Checks that springboards are padding when patch_quiesce() reports it, however threads are
 * interrupted there.
 */
static void check_springboards(const struct probe_site *sites)
{
	if (side_probe_pads || !quiesced) {
		springboards_left += quiesced;
		return;
	}
	springboards_returned++;
	for (size_t i = 0; i < LOCATIONS; i++) {
		uint64_t springboard = sites[i].springboard + (sites[i].runtime - sites[i].address);

		if (sites[i].method == PROBE_SHORT &&
				memcmp((void *)springboard, sites[i].springboard_bytes,
						PROBE_JUMP_BYTES) != 0)
			complain("the springboard has other bytes than before", i);
	}
}

static void round_of(struct probe_site *sites)
{
	static const unsigned int flags[] = {0, PATCH_ALL, PATCH_EXIT, PATCH_EXIT | PATCH_ALL};
	struct patch_setup setups[LOCATIONS];
	struct patch *patches[LOCATIONS];
	uint64_t before[LOCATIONS];
	size_t chosen[LOCATIONS], count = 0;

	for (size_t i = 0; i < LOCATIONS; i++) {
		if (!draw(3))
			continue;
		chosen[count] = i;
		before[count] = __atomic_load_n(&entries[i], __ATOMIC_RELAXED);
		setups[count] = (struct patch_setup){.site = &sites[i],
				.entry = on_entry,
				.exit = on_leave,
				.user = (void *)(uintptr_t)i,
				.flags = flags[draw(4)]};
		count++;
	}
	if (patch_set(setups, count)) {
		for (size_t i = 0; i < count; i++) {
			if (setups[i].error)
				complain(strerror(-setups[i].error), chosen[i]);
		}
		return;
	}
	set += count;
	for (size_t i = 0; i < count; i++) {
		patches[i] = setups[i].patch;
		locations[chosen[i]].function(1);
		if (__atomic_load_n(&entries[chosen[i]], __ATOMIC_RELAXED) == before[i])
			complain("a call was not recorded", chosen[i]);
	}
	if (patch_remove(patches, count))
		complain("cannot be removed", chosen[0]);
	for (size_t i = 0; i < count; i++)
		before[i] = __atomic_load_n(&entries[chosen[i]], __ATOMIC_RELAXED);
	for (size_t i = 0; i < count; i++) {
		locations[chosen[i]].function(1);
		if (memcmp((void *)sites[chosen[i]].runtime, sites[chosen[i]].bytes,
				    sites[chosen[i]].nr_bytes) != 0)
			complain("other bytes than before", chosen[i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (__atomic_load_n(&entries[chosen[i]], __ATOMIC_RELAXED) != before[i])
			complain("a call was recorded after the removal of the probe", chosen[i]);
	}
	/*
	 * The data of probes is released and restored while threads are in their code; so are the
	 * signals of traps.
	 */
	quiesced = !draw(16);
	if (quiesced && !patch_quiesce())
		complain("there is no rest", chosen[0]);
	check_springboards(sites);
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("SIDE_TEST_LONG");
	bool full = wanted && !strcmp(wanted, "1");
	/*
	 * In each round two thirds of the locations have a probe: a million probes are set and
	 * removed in total.
	 */
	unsigned int rounds = full ? 150000 : 5000, nr_threads = full ? 8 : 4;
	const struct sigaction action = {
			.sa_handler = on_turn, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct probe_site sites[LOCATIONS];
	struct patch_stats stats, middle = {0};
	uint64_t calls[8] = {0}, seen = 0, returned = 0, all = 0;
	pthread_t threads[8];

	setvbuf(stdout, NULL, _IONBF, 0);
	sigaction(SIGUSR1, &action, NULL);
	if (argc > 1)
		rounds = (unsigned int)strtoul(argv[1], NULL, 10);
	if (patch_start(false)) {
		printf("this kernel has no barrier for code: nothing can be tested\n");
		return 77;
	}
	for (size_t i = 0; i < LOCATIONS; i++)
		sites[i] = site_of(locations[i].name);
	for (unsigned int i = 0; i < nr_threads; i++) {
		if (pthread_create(&threads[i], NULL, call_all, &calls[i]))
			return 1;
	}
	for (unsigned int i = 0; i < rounds && wrong < 20; i++) {
		round_of(sites);
		if (i == rounds / 2)
			patch_stats(&middle);
		if (i && !(i % REPORT_EACH))
			printf("%u rounds\n", i);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < nr_threads; i++) {
		pthread_join(threads[i], NULL);
		all += calls[i];
	}
	for (size_t i = 0; i < LOCATIONS; i++) {
		seen += entries[i];
		returned += exits[i];
	}
	patch_stats(&stats);
	/* Memory is reused: the second half needed no more. */
	if (!wrong && stats.bytes != middle.bytes) {
		printf("%llu bytes, %llu after the first half\n", (unsigned long long)stats.bytes,
				(unsigned long long)middle.bytes);
		wrong++;
	}
	printf("%u rounds, %llu probes set and removed, %llu concurrent calls, %llu recorded, %llu "
	       "returns, "
	       "%llu traps, %llu lost; springboards returned %llu times, not yet %llu times; %u wrong\n",
			rounds, (unsigned long long)set, (unsigned long long)all,
			(unsigned long long)seen, (unsigned long long)returned,
			(unsigned long long)stats.traps, (unsigned long long)stats.lost,
			(unsigned long long)springboards_returned,
			(unsigned long long)springboards_left, wrong);
	return wrong || !springboards_returned || !seen || !returned || stats.lost ? 1 : 0;
}
