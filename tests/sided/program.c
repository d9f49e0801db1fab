/* SPDX-License-Identifier: MIT */
/*
 * An instrumented program that executes commands from its standard input, a command and a number
 * per line, and answers each with a line. `sided:tick` counts from 0 in each process; `sided:tock`
 * is a second event, which most sessions do not record.
 *
 *   fire N      fires N ticks, and N tocks
 *   signal N    fires N ticks and tocks in a signal handler
 *   spin        starts a thread that ticks until
 *   stop        which prints the number of its ticks
 *   fork N      forks a child that fires N ticks and exits
 *   exec N      executes a new program, which fires N ticks at once
 *   work N      calls sided_work() N times, with 0, 1, …; it has no event, but may have probes
 *   child N     forks a child that does the same
 *   user N      changes root's privileges to those of user N
 *   grind       starts a thread that works until
 *   rest        which prints the number of its rounds, 0 if one was wrong
 *   quit
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

side_static_event(ev_tick, "sided", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("sequence")));
side_static_event(ev_tock, "sided", "tock", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("sequence")));

static uint64_t sequence;
static atomic_bool spinning;
static uint64_t spun;
static pthread_t spinner;

static void tick(void)
{
	side_event(ev_tick, side_arg_list(side_arg_u64(sequence)));
	side_event(ev_tock, side_arg_list(side_arg_u64(sequence)));
	sequence++;
}

static void fire(unsigned long count)
{
	while (count--)
		tick();
}

static unsigned long handled;

static void handle_signal(int signal)
{
	(void)signal;
	fire(handled);
}

static void fire_in_handler(unsigned long count)
{
	struct sigaction action = {.sa_handler = handle_signal};

	handled = count;
	if (sigaction(SIGUSR2, &action, NULL) || raise(SIGUSR2))
		exit(9);
}

static void *spin(void *unused)
{
	while (atomic_load_explicit(&spinning, memory_order_relaxed)) {
		tick();
		spun++;
		usleep(200);
	}
	return unused;
}

unsigned long sided_work(unsigned long number);

#ifdef __clang__
#define CALLED __attribute__((noinline))
#else
#define CALLED __attribute__((noinline, noclone))
#endif

/* Opaque to the compiler, which would otherwise not call it. */
CALLED unsigned long sided_work(unsigned long number)
{
	__asm__ volatile("" : "+r"(number)::"memory");
	return 3 * number + 1;
}

/* Returns the sum of the results: a probe must not change it. */
static unsigned long work(unsigned long count)
{
	unsigned long sum = 0, i;

	for (i = 0; i < count; i++)
		sum += sided_work(i);
	return sum;
}

static void *grind(void *unused)
{
	bool right = true;

	while (atomic_load_explicit(&spinning, memory_order_relaxed)) {
		right &= work(100) == 3 * (100 * 99 / 2) + 100;
		spun++;
		usleep(100);
	}
	if (!right)
		spun = 0;
	return unused;
}

static void start_thread(void *(*run)(void *))
{
	spun = 0;
	atomic_store(&spinning, true);
	if (pthread_create(&spinner, NULL, run, NULL))
		exit(9);
}

static void work_in_child(unsigned long count)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(work(count) != 3 * (count * (count - 1) / 2) + count);
	waitpid(child, &status, 0);
	printf("child %d\n", WIFEXITED(status) && !WEXITSTATUS(status) ? (int)child : 0);
}

static void fork_child(unsigned long count)
{
	int status;
	pid_t child = fork();

	if (!child) {
		sequence = 0;
		fire(count);
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("forked %d\n", (int)child);
}

static void take_line(char **argv, const char *word, unsigned long number)
{
	if (!strcmp(word, "fire")) {
		fire(number);
		printf("fired %lu\n", number);
	} else if (!strcmp(word, "signal")) {
		fire_in_handler(number);
		printf("signalled %lu\n", number);
	} else if (!strcmp(word, "spin")) {
		start_thread(spin);
		puts("spinning");
	} else if (!strcmp(word, "grind")) {
		start_thread(grind);
		puts("grinding");
	} else if (!strcmp(word, "stop") || !strcmp(word, "rest")) {
		atomic_store(&spinning, false);
		pthread_join(spinner, NULL);
		printf("spun %llu\n", (unsigned long long)spun);
	} else if (!strcmp(word, "fork")) {
		fork_child(number);
	} else if (!strcmp(word, "work")) {
		printf("worked %lu\n", work(number));
	} else if (!strcmp(word, "child")) {
		work_in_child(number);
	} else if (!strcmp(word, "user")) {
		if (setresgid(number, number, number) || setresuid(number, number, number))
			exit(9);
		printf("user %lu\n", number);
	} else if (!strcmp(word, "exec")) {
		char text[32];
		char first[] = "exec";

		snprintf(text, sizeof(text), "%lu", number);
		execl("/proc/self/exe", argv[0], first, text, NULL);
		exit(9);
	} else {
		exit(!strcmp(word, "quit") ? 0 : 9);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[128], word[64];

	if (argc > 2 && !strcmp(argv[1], "exec"))
		fire(strtoul(argv[2], NULL, 10));
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long number = 0;

		if (sscanf(line, "%63s %lu", word, &number) < 1)
			return 9;
		take_line(argv, word, number);
	}
	return 0;
}
