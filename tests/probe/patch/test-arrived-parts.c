/* SPDX-License-Identifier: MIT */
/*
 * The steps of a proof about all threads, and of unblocking the trap signals: which threads are
 * examined, how often, when one is stopped, and how both end. The test includes arrived.c and
 * blocked.c, and plays threads and system calls.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/patch/parts.h"

#include "../../check.h"

/* ---- threads and calls that the test plays ---- */

#define SELF 500

static struct {
	unsigned int nr, nr_listed; /* threads 501, 502, ...; with this one */
	bool list_fails, with_self;
	int list_error;
	unsigned int gone, nr_exits; /* so many times, this thread has exited when it is checked */
	struct patch_thread threads[8];
	bool is_gone[8];
	unsigned int nr_stops, nr_sleeps, last_sleep, nr_stopped, stops_work;
	pid_t stopped[8];
	patch_at_stop *at_stop;
	long ptrace_result;
	uint64_t mask_set, mask_got, self_unblocked;
	unsigned int nr_ptraces,
			unblocked_after; /* after this many stops, no thread blocks signals */
} world;

static bool played_each(void (*visit)(pid_t tid, void *data), void *data)
{
	world.nr_listed++;
	if (world.with_self)
		visit(SELF, data);
	for (unsigned int i = 0; i < world.nr; i++)
		visit((pid_t)(501 + i), data);
	errno = world.list_error;
	return !world.list_fails;
}

static bool played_inspect(pid_t tid, struct patch_thread *thread)
{
	CHECK(tid > 500 && tid <= 508);
	*thread = world.threads[tid - 501];
	return !world.is_gone[tid - 501];
}

static unsigned int played_stop(const pid_t *tids, unsigned int count, patch_at_stop *at_stop)
{
	world.nr_stops++;
	world.nr_stopped = count;
	world.at_stop = at_stop;
	memcpy(world.stopped, tids, count * sizeof(*tids));
	for (unsigned int i = 0;
			world.unblocked_after && world.nr_stops >= world.unblocked_after && i < 8;
			i++)
		world.threads[i].blocked = 0;
	return world.stops_work && world.nr_stops >= world.stops_work ? count : 0;
}

static int played_sleep(unsigned int us)
{
	world.nr_sleeps++;
	world.last_sleep = us;
	return 0;
}

static long played_call(long number, long a, long b, long c, long d, long e, long f)
{
	CHECK(!e && !f);
	switch (number) {
	case SYS_gettid: CHECK(!a && !b && !c && !d); return SELF;
	case SYS_tgkill:
		CHECK(a == getpid() && !c && !d && b >= SELF);
		if (b == (long)world.gone && world.nr_exits) {
			world.nr_exits--;
			return -ESRCH;
		}
		return b == 503 ? -EPERM : 0;
	case SYS_ptrace:
		CHECK(b == 507 && c == 8);
		world.nr_ptraces++;
		if (a == 0x420a) {
			*(uint64_t *)(uintptr_t)d = world.mask_got;
			return world.ptrace_result;
		}
		CHECK(a == 0x420b);
		world.mask_set = *(uint64_t *)(uintptr_t)d;
		return 0;
	case SYS_rt_sigprocmask:
		CHECK(a == SIG_UNBLOCK && !c && d == 8);
		world.self_unblocked = *(uint64_t *)(uintptr_t)b;
		return 0;
	default: CHECK(!"an expected call"); return -ENOSYS;
	}
}

#define patch_threads_each played_each
#define patch_thread_inspect played_inspect
#define patch_threads_stop played_stop
#define patch_system_call played_call
#define usleep played_sleep
#include "probe/patch/arrived.c"
#undef THREADS_AT_ONCE
#include "probe/patch/blocked.c"

static void begin(unsigned int nr)
{
	memset(&world, 0, sizeof(world));
	world.nr = nr;
	world.with_self = true;
	for (unsigned int i = 0; i < 8; i++)
		world.threads[i] = (struct patch_thread){.tid = (pid_t)(501 + i), .state = 'S'};
}

/* ---- lists ---- */

static void test_lists(void)
{
	begin(4);
	CHECK(patch_arrival_list_all_threads() && threads.count == 5 && world.nr_listed == 1);
	CHECK(threads.listed[0] == SELF && threads.listed[4] == 504);
	/*
	 * If one has exited meanwhile, the list is read again: the first one, the last one, and
	 * each time.
	 */
	for (unsigned int gone = SELF; gone <= 504; gone += 4) {
		begin(4);
		world.gone = gone;
		world.nr_exits = 3;
		CHECK(patch_arrival_list_all_threads() && world.nr_listed == 4 &&
				threads.count == 5);
	}
	world.nr_listed = 0;
	world.nr_exits = 1000;
	CHECK(!patch_arrival_list_all_threads() && world.nr_listed == 20);
	begin(4);
	world.list_fails = true;
	CHECK(!patch_arrival_list_all_threads() && world.nr_listed == 1);
	/* As many threads as the list has space for, and one more. */
	begin(4095);
	CHECK(patch_arrival_list_all_threads() && threads.count == 4096 &&
			threads.listed[4095] == 4595);
	begin(4096);
	CHECK(!patch_arrival_list_all_threads() && threads.count == 4097 && world.nr_listed == 1);
	CHECK(!patch_threads_prove(&(const struct patch_proof){.check = NULL}));
}

/* ---- proofs ---- */

static enum patch_verdict shown[8][12];
static unsigned int nr_checks[8], nr_was_proved;
static bool guards, was_proved;

static enum patch_verdict check(pid_t tid, bool *guarded)
{
	unsigned int i = (unsigned int)tid - 501;

	CHECK(i < 8 && nr_checks[i] < 12);
	*guarded |= guards;
	return shown[i][nr_checks[i]++];
}

static bool had(pid_t tid)
{
	CHECK(tid == 502);
	nr_was_proved++;
	return was_proved;
}

static void at_stop(pid_t thread)
{
	(void)thread;
}

static bool prove(void)
{
	static const struct patch_proof proof = {
			.check = check, .at_stop = at_stop, .was_proved = had};

	memset(nr_checks, 0, sizeof(nr_checks));
	nr_was_proved = 0;
	begin(3);
	world.stops_work = 1;
	return patch_threads_prove(&proof);
}

static void show_second(unsigned int unknown, enum patch_verdict then)
{
	for (unsigned int i = 0; i < 12; i++) {
		shown[0][i] = shown[2][i] = PATCH_PROVED;
		shown[1][i] = i < unknown ? PATCH_UNPROVED : then;
	}
}

static void test_proofs(void)
{
	show_second(0, PATCH_PROVED);
	CHECK(prove() && nr_checks[0] == 1 && nr_checks[1] == 1 && nr_checks[2] == 1 &&
			!world.nr_sleeps);
	show_second(0, PATCH_DISPROVED);
	CHECK(!prove() && nr_checks[0] == 1 && nr_checks[1] == 1 && !nr_checks[2] &&
			!world.nr_sleeps);
	/* A running thread is examined eight more times, after a pause each. The others are not. */
	show_second(8, PATCH_PROVED);
	CHECK(prove() && nr_checks[1] == 9 && nr_checks[0] == 1 && nr_checks[2] == 1 &&
			world.nr_sleeps == 8 && world.last_sleep == 500 && !world.nr_stops);
	show_second(8, PATCH_DISPROVED);
	CHECK(!prove() && nr_checks[1] == 9);
	/* Then it is examined once more, and stopped. */
	show_second(9, PATCH_PROVED);
	CHECK(prove() && nr_checks[1] == 10 && world.nr_sleeps == 8 && !world.nr_stops);
	show_second(9, PATCH_DISPROVED);
	CHECK(!prove() && nr_checks[1] == 10 && !world.nr_stops);
	show_second(12, PATCH_PROVED);
	was_proved = true;
	CHECK(prove() && nr_checks[1] == 10 && world.nr_stops == 1 && nr_was_proved == 1 &&
			world.nr_stopped == 1 && world.stopped[0] == 502 &&
			world.at_stop == at_stop);
	/* It is stopped at most three times. */
	was_proved = false;
	CHECK(!prove() && nr_checks[1] == 12 && world.nr_stops == 3 && nr_was_proved == 3);
	/* A thread with a seccomp filter is not stopped. */
	guards = true;
	was_proved = true;
	CHECK(!prove() && !world.nr_stops);
	show_second(8, PATCH_PROVED);
	CHECK(prove());
	guards = false;
}

static void test_stops(void)
{
	static const struct patch_proof proof = {
			.check = check, .at_stop = at_stop, .was_proved = had};

	/* A failed stop proves nothing. */
	show_second(12, PATCH_PROVED);
	memset(nr_checks, 0, sizeof(nr_checks));
	nr_was_proved = 0;
	was_proved = true;
	begin(3);
	world.stops_work = 3;
	CHECK(patch_arrival_check_stopped(502, &proof) && world.nr_stops == 3 &&
			nr_was_proved == 1);
	memset(nr_checks, 0, sizeof(nr_checks));
	begin(3);
	world.stops_work = 4;
	CHECK(!patch_arrival_check_stopped(502, &proof) && world.nr_stops == 3 &&
			nr_was_proved == 1);
}

/* ---- traps that have arrived ---- */

static void test_arrived(void)
{
	struct patch_thread *thread = &world.threads[1];
	const char states[] = "RSDTZX?t";

	for (unsigned int i = 0; states[i]; i++) {
		bool guarded = false;
		bool waits = strchr("STZX", states[i]) != NULL;

		begin(3);
		thread->state = states[i];
		CHECK(patch_arrival_has_arrived(502, &guarded) ==
						(waits ? PATCH_PROVED : PATCH_UNPROVED) &&
				!guarded);
		CHECK(patch_arrival_had_arrived(502));
		thread->traced = true;
		CHECK(patch_arrival_has_arrived(502, &guarded) == PATCH_UNPROVED &&
				!patch_arrival_had_arrived(502));
		thread->traced = false;
		/* A trap is pending; if it is blocked as well, it is the program's. */
		thread->pending = PATCH_TRAP_SIGNALS & -PATCH_TRAP_SIGNALS;
		CHECK(patch_arrival_has_arrived(502, &guarded) == PATCH_UNPROVED &&
				!patch_arrival_had_arrived(502));
		thread->blocked = thread->pending;
		CHECK(patch_arrival_has_arrived(502, &guarded) ==
						(waits ? PATCH_PROVED : PATCH_UNPROVED) &&
				patch_arrival_had_arrived(502));
		thread->blocked = 0;
		thread->pending = ~PATCH_TRAP_SIGNALS;
		CHECK(patch_arrival_has_arrived(502, &guarded) ==
						(waits ? PATCH_PROVED : PATCH_UNPROVED) &&
				patch_arrival_had_arrived(502));
		thread->pending = ~UINT64_C(0);
		world.is_gone[1] = true;
		CHECK(patch_arrival_has_arrived(502, &guarded) == PATCH_PROVED &&
				patch_arrival_had_arrived(502) && !guarded);
		thread->guarded = true;
		CHECK(patch_arrival_has_arrived(502, &guarded) == PATCH_PROVED && guarded);
		thread->guarded = false;
		CHECK(patch_arrival_has_arrived(502, &guarded) == PATCH_PROVED && guarded);
	}
	begin(3);
	CHECK(patch_all_arrived() && !world.nr_sleeps);
	thread->state = 'R';
	world.stops_work = 1;
	CHECK(patch_all_arrived() && world.nr_sleeps == 8 && world.nr_stops == 1 && !world.at_stop);
	thread->traced = true;
	CHECK(!patch_all_arrived());
}

/* ---- signals that threads block ---- */

static void test_unblocked(void)
{
	begin(3);
	world.with_self = false;
	CHECK(patch_unblock() && world.nr_listed == 1 &&
			world.self_unblocked == PATCH_TRAP_SIGNALS);
	/* The first attempt waits. Later ones stop the threads that block. */
	begin(3);
	world.with_self = false;
	world.threads[1].blocked = PATCH_TRAP_SIGNALS;
	world.threads[2].blocked = ~PATCH_TRAP_SIGNALS;
	world.unblocked_after = 2;
	CHECK(patch_unblock() && world.nr_listed == 4 && world.nr_stops == 2 &&
			world.nr_sleeps == 1 && world.last_sleep == 1000);
	CHECK(world.nr_stopped == 1 && world.stopped[0] == 502 &&
			world.at_stop == patch_blocked_open_mask);
	/* At most 100 attempts. If a thread has a seccomp filter, no thread is stopped. */
	begin(3);
	world.with_self = false;
	world.threads[1].blocked = PATCH_TRAP_SIGNALS;
	CHECK(!patch_unblock() && world.nr_listed == 100 && world.nr_stops == 99 &&
			world.nr_sleeps == 1);
	begin(3);
	world.with_self = false;
	world.threads[1].blocked = PATCH_TRAP_SIGNALS;
	world.threads[1].guarded = true;
	CHECK(!patch_unblock() && world.nr_listed == 100 && !world.nr_stops &&
			world.nr_sleeps == 100);
	/*
	 * An incomplete list proves nothing. Without /proc there is no list, which is no failure.
	 */
	begin(3);
	world.with_self = false;
	world.list_fails = true;
	world.list_error = EACCES;
	CHECK(!patch_unblock() && world.nr_listed == 100 && world.nr_sleeps == 100 &&
			!world.nr_stops);
	world.nr_listed = 0;
	world.list_error = ENOENT;
	CHECK(patch_unblock() && world.nr_listed == 1);
}

static void test_masks(void)
{
	static struct blockers found;

	begin(8);
	world.mask_got = ~UINT64_C(0);
	patch_blocked_open_mask(507);
	CHECK(world.nr_ptraces == 2 && world.mask_set == ~PATCH_TRAP_SIGNALS);
	world.ptrace_result = -EPERM;
	patch_blocked_open_mask(507);
	CHECK(world.nr_ptraces == 3);
	/* As many threads as there is space for. */
	for (unsigned int i = 0; i < 1025; i++) {
		world.threads[2].blocked = PATCH_TRAP_SIGNALS;
		patch_blocked_check_thread(503, &found);
		CHECK(found.count == (i < 1024 ? i + 1 : 1024) && !found.guarded);
	}
	world.threads[2].guarded = true;
	patch_blocked_check_thread(503, &found);
	CHECK(found.guarded);
	patch_blocked_check_thread(504, &found);
	CHECK(found.guarded && found.count == 1024 && found.threads[1023] == 503);
}

int main(void)
{
	test_lists();
	test_proofs();
	test_stops();
	test_arrived();
	test_unblocked();
	test_masks();
	return 0;
}
