/* SPDX-License-Identifier: MIT */
/*
 * Random descriptions, each called twice with valid arguments, and twice with one change. The
 * expected report of the validator is printed on standard output first:
 *
 *	EVENT <tab> PATH <tab> the change <tab> 1 if the path continues
 *
 * usage: fuzz-mutate SEED ROUNDS plain|gone|threads|signal|fork
 *
 * gone: the description cannot be read any more when the calls are made.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

#include "mutate.h"

#define THREADS 4

struct work {
	unsigned int number;
	uint64_t seed;
	uint32_t rounds;
	const char *how;
	struct generator generator;
	struct mutate right, wrong;
};

struct calls {
	const struct side_event_state *state;
	const struct side_arg_vec *args[2];
	const struct side_arg_dynamic_struct *variadic[2];
};

static struct calls *volatile signalled;

static __attribute__((noinline)) void call_once(const struct calls *calls, unsigned int which)
{
	errno = ERANGE;
	if (calls->variadic[which])
		side_call_variadic(calls->state, calls->args[which], calls->variadic[which]);
	else
		side_call(calls->state, calls->args[which]);
	if (errno != ERANGE)
		_exit(3);
}

static void call_all(const struct calls *calls)
{
	static const unsigned int order[] = {0, 1, 0, 1};
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		call_once(calls, order[i]);
}

static void on_signal(int number)
{
	(void)number;
	call_all(signalled);
}

static void call_how(struct calls *calls, struct work *work)
{
	int status = 0;
	pid_t child;

	if (!strcmp(work->how, "signal")) {
		signalled = calls;
		(void)raise(SIGUSR1);
		signalled = NULL;
	} else if (!strcmp(work->how, "fork")) {
		(void)fflush(stdout);
		child = fork();
		if (!child) {
			call_all(calls);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			exit(4);
	} else {
		call_all(calls);
	}
}

static void protect(struct work *work, int how)
{
	if (!strcmp(work->how, "gone") &&
			mprotect(work->generator.block, work->generator.size, how))
		exit(5);
}

static void register_and_call(
		struct work *work, struct side_event_description *desc, struct calls *calls)
{
	struct side_event_description *list[1] = {desc};
	struct side_event_state_0 own;
	struct side_events_register_handle *handle;

	memset(&own, 0, sizeof(own));
	own.parent.version = SIDE_EVENT_STATE_ABI_VERSION;
	own.callbacks = (const struct side_callback *)&side_empty_callback[0];
	own.desc = desc;
	side_ptr_set(desc->state, &own.parent);
	calls->state = &own.parent;
	handle = side_events_register(list, 1);
	if (!handle)
		exit(6);
	protect(work, PROT_NONE);
	call_how(calls, work);
	protect(work, PROT_READ | PROT_WRITE);
	side_events_unregister(handle);
	calls->state = NULL;
}

static void one_round(struct work *work, uint32_t round)
{
	struct side_event_description *desc = generate_description(&work->generator);
	uint64_t seed = work->seed * 1000003 + round;
	struct calls calls;
	uint32_t points;
	char name[32];

	(void)snprintf(name, sizeof(name), "e%u.%u", work->number, round);
	if (!desc || !mutate_tame(desc, name))
		return;
	points = mutate_arguments(&work->right, desc, seed, UINT32_MAX - 1, &calls.args[0],
			&calls.variadic[0]);
	if (points == UINT32_MAX || !points)
		return;
	if (mutate_arguments(&work->wrong, desc, seed, generator_below(&work->generator, points),
			    &calls.args[1], &calls.variadic[1]) != points)
		return;
	printf("%s\t%s\t%s\t%d\n", name, work->wrong.expected, work->wrong.what,
			work->wrong.has_no_end);
	register_and_call(work, desc, &calls);
}

static void *run(void *arg)
{
	struct work *work = arg;
	uint32_t i;

	for (i = 0; i < work->rounds; i++)
		one_round(work, i);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct work works[THREADS];
	pthread_t threads[THREADS];
	unsigned int nr, i;

	if (argc != 4)
		return 2;
	nr = strcmp(argv[3], "threads") ? 1 : THREADS;
	if (signal(SIGUSR1, on_signal) == SIG_ERR)
		return 2;
	for (i = 0; i < nr; i++) {
		works[i].number = i;
		works[i].seed = strtoull(argv[1], NULL, 10) * THREADS + i;
		works[i].rounds = (uint32_t)atoi(argv[2]) / nr;
		works[i].how = argv[3];
		generator_init(&works[i].generator, works[i].seed);
		mutate_init(&works[i].right);
		mutate_init(&works[i].wrong);
	}
	for (i = 1; i < nr; i++) {
		if (pthread_create(&threads[i], NULL, run, &works[i]))
			return 2;
	}
	(void)run(&works[0]);
	for (i = 1; i < nr; i++)
		(void)pthread_join(threads[i], NULL);
	for (i = 0; i < nr; i++) {
		generator_fini(&works[i].generator);
		free(works[i].right.block);
		free(works[i].wrong.block);
	}
	return 0;
}
