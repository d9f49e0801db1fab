/* SPDX-License-Identifier: MIT */
/*
 * Exact steps of proofs about all threads, of threads that block traps, of handlers under a seccomp
 * filter, and of writes that fail. The test includes the files, so that it can call their static
 * functions, plays the threads, and hooks system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/patch/actions.h"

#include "../../check.h"
#include "../../resources.h"
#include "../../seccomp-filter.h"

#define MOST 4098

static struct {
	pid_t tids[MOST];
	unsigned int nr, nr_lists,
			nr_incomplete_lists; /* in so many lists, the last thread has exited meanwhile */
	bool fails;
	int error;
	unsigned int nr_sleeps, slept_us;
	unsigned int nr_stops, stopped; /* the calls that stop a thread */
	pid_t last_stopped;
	unsigned int last_count;
	patch_at_stop *at_stop;
	struct patch_thread states[MOST]; /* by the id minus 1000 */
	bool is_gone[MOST];
	unsigned int nr_blocked_checks; /* so many checks, then no signal is blocked */
	unsigned int nr_checks;
} fake;

static bool fake_each(void (*visit)(pid_t tid, void *data), void *data)
{
	fake.nr_lists++;
	for (unsigned int i = 0; i < fake.nr; i++)
		visit(fake.tids[i], data);
	errno = fake.error;
	return !fake.fails;
}

static bool fake_inspect(pid_t tid, struct patch_thread *thread)
{
	*thread = fake.states[tid - 1000];
	if (fake.nr_blocked_checks && ++fake.nr_checks > fake.nr_blocked_checks)
		thread->blocked = 0;
	return !fake.is_gone[tid - 1000];
}

static unsigned int fake_stop(const pid_t *tids, unsigned int count, patch_at_stop *at_stop)
{
	fake.nr_stops++;
	fake.last_stopped = tids[count - 1];
	fake.last_count = count;
	fake.at_stop = at_stop;
	return fake.nr_stops <= fake.stopped;
}

static int fake_sleep(unsigned int us)
{
	fake.nr_sleeps++;
	fake.slept_us = us;
	return 0;
}

static unsigned int nr_clones, nr_ptraces;
static long ptrace_numbers[4], ptrace_mask, ptrace_error;
static pid_t ptrace_thread;

static long hooked_call(long number, long a, long b, long c, long d, long e, long f)
{
	/* Arguments that a call does not have are 0. */
	CHECK(!e && !f);
	switch (number) {
	case SYS_gettid: CHECK(!a && !b && !c && !d); break;
	case SYS_exit:
	case SYS_clone: CHECK(!b && !c && !d); break;
	case SYS_prctl: CHECK(!c && !d && (a != PR_SET_DUMPABLE || !b)); break;
	case SYS_rt_sigprocmask: CHECK(!c); break;
	case SYS_tgkill:
	case SYS_wait4: CHECK(!d); break;
	default: break;
	}
	if (number == SYS_tgkill) {
		CHECK(a == getpid() && !c);
		if (fake.nr_lists <= fake.nr_incomplete_lists && b == fake.tids[fake.nr - 1])
			return -ESRCH;
		return 0;
	}
	if (number == SYS_gettid)
		return 1001;
	if (number == SYS_ptrace) {
		ptrace_thread = (pid_t)b;
		CHECK(c == 8);
		ptrace_numbers[nr_ptraces++ % 4] = a;
		if (a == 0x420a)
			memcpy((void *)(uintptr_t)d, &ptrace_mask, 8);
		else
			memcpy(&ptrace_mask, (void *)(uintptr_t)d, 8);
		return ptrace_error;
	}
	/* A child that could leave a core dump ends with another status. */
	if (number == SYS_exit && patch_system_call(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0, 0))
		a = 9;
	nr_clones += number == SYS_clone;
	return patch_system_call(number, a, b, c, d, e, f);
}

static bool can_resume;

static bool fake_resumes(void)
{
	return can_resume;
}

#define patch_threads_each fake_each
#define patch_thread_inspect fake_inspect
#define patch_threads_stop fake_stop
#define patch_system_call hooked_call
#define patch_resumes fake_resumes
#define usleep fake_sleep
#include "probe/patch/arrived.c"
#undef THREADS_AT_ONCE
#include "probe/patch/blocked.c"
#include "probe/patch/sandboxed.c"
#undef patch_system_call
#undef usleep

/* ---- proofs ---- */

static struct {
	enum patch_verdict shown[MOST][12]; /* at each check, by the id minus 1000 */
	unsigned int states[MOST];
	bool guards, was_proved;
	unsigned int nr_was_proved;
} reported;

static enum patch_verdict show(pid_t tid, bool *guarded)
{
	unsigned int which = (unsigned int)tid - 1000, check = reported.states[which]++;

	*guarded |= reported.guards;
	return reported.shown[which][check < 12 ? check : 11];
}

static void note_nothing(pid_t tid)
{
	(void)tid;
}

static bool fake_was_proved(pid_t tid)
{
	CHECK(tid == fake.last_stopped);
	reported.nr_was_proved++;
	return reported.was_proved;
}

static const struct patch_proof proof = {
		.check = show, .at_stop = note_nothing, .was_proved = fake_was_proved};

/* The calling thread is the second one. */
static void begin(unsigned int nr)
{
	memset(&fake, 0, sizeof(fake));
	memset(&reported, 0, sizeof(reported));
	fake.nr = nr;
	for (unsigned int i = 0; i < nr && i < MOST; i++)
		fake.tids[i] = (pid_t)(1000 + i);
	reported.shown[1][0] = PATCH_DISPROVED;
}

static void show_always(unsigned int which, unsigned int from, enum patch_verdict shown)
{
	for (unsigned int i = from; i < 12; i++)
		reported.shown[which][i] = shown;
}

static void test_lists(void)
{
	begin(4);
	CHECK(patch_threads_prove(&proof) && fake.nr_lists == 1 && threads.count == 4 &&
			!fake.nr_sleeps);
	CHECK(reported.states[0] == 1 && !reported.states[1] && reported.states[2] == 1 &&
			reported.states[3] == 1);
	/* Threads end while they are listed: 20 lists are tried. */
	begin(4);
	fake.nr_incomplete_lists = 19;
	CHECK(patch_threads_prove(&proof) && fake.nr_lists == 20);
	begin(4);
	fake.nr_incomplete_lists = 20;
	CHECK(!patch_threads_prove(&proof) && fake.nr_lists == 20 && !reported.states[0]);
	begin(4);
	fake.fails = true;
	CHECK(!patch_threads_prove(&proof) && fake.nr_lists == 1 && !reported.states[0]);
	/* As many as the list has space for. */
	begin(4096);
	CHECK(patch_threads_prove(&proof) && reported.states[4095] == 1);
	begin(4097);
	CHECK(!patch_threads_prove(&proof) && !reported.states[0] && fake.nr_lists == 1);
}

static void test_checks(void)
{
	/* The property is false for one thread. */
	begin(4);
	reported.shown[3][0] = PATCH_DISPROVED;
	CHECK(!patch_threads_prove(&proof) && reported.states[0] == 1 && !fake.nr_sleeps);
	/* Running threads are checked up to eight more times, and only those. */
	begin(5);
	reported.shown[2][0] = PATCH_UNPROVED;
	for (unsigned int i = 0; i < 8; i++)
		reported.shown[4][i] = PATCH_UNPROVED;
	CHECK(patch_threads_prove(&proof) && reported.states[0] == 1 && reported.states[2] == 2 &&
			reported.states[4] == 9 && fake.nr_sleeps == 8 && fake.slept_us == 500 &&
			!fake.nr_stops);
	begin(4);
	reported.shown[2][0] = PATCH_UNPROVED;
	reported.shown[2][1] = PATCH_DISPROVED;
	CHECK(!patch_threads_prove(&proof) && fake.nr_sleeps == 1 && !fake.nr_stops);
}

static void test_stops(void)
{
	/* A thread that still runs is stopped; before that it is checked once more. */
	begin(4);
	show_always(2, 0, PATCH_UNPROVED);
	fake.stopped = 1;
	reported.was_proved = true;
	CHECK(patch_threads_prove(&proof) && fake.nr_stops == 1 && fake.last_stopped == 1002 &&
			fake.last_count == 1 && fake.at_stop == note_nothing &&
			reported.nr_was_proved == 1 && reported.states[2] == 10);
	for (int so = 0; so < 2; so++) {
		begin(4);
		show_always(2, 0, PATCH_UNPROVED);
		reported.shown[2][9] = so ? PATCH_PROVED : PATCH_DISPROVED;
		CHECK(patch_threads_prove(&proof) == (so != 0) && !fake.nr_stops);
	}
	/* Three stops, whether they fail or show nothing. */
	begin(4);
	show_always(2, 0, PATCH_UNPROVED);
	reported.was_proved = true;
	CHECK(!patch_threads_prove(&proof) && fake.nr_stops == 3 && !reported.nr_was_proved);
	begin(4);
	show_always(2, 0, PATCH_UNPROVED);
	fake.stopped = 3;
	CHECK(!patch_threads_prove(&proof) && fake.nr_stops == 3 && reported.nr_was_proved == 3);
	/*
	 * No thread is stopped under a seccomp filter. The result of the last proof does not count.
	 */
	begin(4);
	show_always(2, 0, PATCH_UNPROVED);
	reported.guards = reported.was_proved = true;
	fake.stopped = 1;
	CHECK(!patch_threads_prove(&proof) && !fake.nr_stops);
	begin(4);
	show_always(2, 0, PATCH_UNPROVED);
	reported.was_proved = true;
	fake.stopped = 1;
	CHECK(patch_threads_prove(&proof) && fake.nr_stops == 1);
}

/* ---- threads that have met a trap ---- */

static void test_arrived(void)
{
	struct patch_thread thread = {.pending = 1 << 4};
	bool is_guarded = false;

	CHECK(patch_arrival_has_trapped(&thread));
	thread.pending = 1 << 3;
	CHECK(patch_arrival_has_trapped(&thread));
	thread.blocked = 1 << 3;
	CHECK(!patch_arrival_has_trapped(&thread));
	thread.pending = ~UINT64_C(0x18);
	thread.blocked = 0;
	CHECK(!patch_arrival_has_trapped(&thread));
	for (const char *state = "RSDTtZXI"; *state; state++) {
		for (unsigned int i = 0; i < 4; i++) {
			begin(4);
			fake.states[2] = (struct patch_thread){.state = *state,
					.traced = i & 1,
					.pending = i & 2 ? 1 << 4 : 0};
			CHECK((patch_arrival_has_arrived(1002, &is_guarded) == PATCH_PROVED) ==
					(!i && strchr("STZX", *state)));
			CHECK(patch_arrival_had_arrived(1002) == !i);
			fake.is_gone[2] = true;
			CHECK(patch_arrival_has_arrived(1002, &is_guarded) == PATCH_PROVED &&
					patch_arrival_had_arrived(1002));
		}
	}
	CHECK(!is_guarded);
	fake.states[2].guarded = true;
	CHECK(patch_arrival_has_arrived(1002, &is_guarded) == PATCH_PROVED && is_guarded);
	fake.states[3] = (struct patch_thread){.state = 'S'};
	CHECK(patch_arrival_has_arrived(1003, &is_guarded) == PATCH_PROVED && is_guarded);
	begin(3);
	fake.states[0].state = fake.states[2].state = 'S';
	CHECK(patch_all_arrived());
	fake.states[2].state = 'R';
	fake.states[2].traced = true;
	CHECK(!patch_all_arrived());
}

/* ---- threads that block traps ---- */

static void test_masks(void)
{
	nr_ptraces = 0;
	ptrace_mask = 0xff;
	patch_blocked_open_mask(77);
	CHECK(nr_ptraces == 2 && ptrace_numbers[0] == 0x420a && ptrace_numbers[1] == 0x420b &&
			ptrace_thread == 77 && ptrace_mask == 0xe7);
	ptrace_error = -ESRCH;
	patch_blocked_open_mask(78);
	CHECK(nr_ptraces == 3 && ptrace_thread == 78);
	ptrace_error = 0;
}

static void test_unblock(void)
{
	sigset_t traps, before;

	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	sigaddset(&traps, SIGILL);
	sigaddset(&traps, SIGUSR1);
	CHECK(!sigprocmask(SIG_BLOCK, &traps, NULL));
	begin(4);
	CHECK(patch_unblock() && fake.nr_lists == 1 && !fake.nr_sleeps && !fake.nr_stops);
	CHECK(!sigprocmask(SIG_SETMASK, NULL, &before) && !sigismember(&before, SIGTRAP) &&
			!sigismember(&before, SIGILL) && sigismember(&before, SIGUSR1));
	CHECK(!sigprocmask(SIG_UNBLOCK, &traps, NULL));
	/*
	 * The first attempt waits; then the threads that block one of the two signals are stopped,
	 * not those that block others.
	 */
	begin(4);
	fake.states[2].blocked = 1 << 3;
	fake.states[3].blocked = 1 << 5;
	CHECK(!patch_unblock() && fake.nr_lists == 100 && fake.nr_sleeps == 1 &&
			fake.slept_us == 1000 && fake.nr_stops == 99 && fake.last_stopped == 1002 &&
			fake.last_count == 1 && fake.at_stop == patch_blocked_open_mask);
	begin(4);
	fake.states[2].blocked = fake.states[3].blocked = 1 << 4;
	fake.nr_blocked_checks = 9;
	CHECK(patch_unblock() && fake.nr_lists == 3 && fake.nr_sleeps == 1 && fake.nr_stops == 1);
	/* No thread is stopped under a seccomp filter. */
	begin(4);
	fake.states[2].blocked = 1 << 3;
	fake.states[0].guarded = true;
	CHECK(!patch_unblock() && !fake.nr_stops && fake.nr_sleeps == 100);
	/* The list is incomplete: try again, unless there is none at all. */
	begin(4);
	fake.fails = true;
	fake.error = EACCES;
	CHECK(!patch_unblock() && fake.nr_lists == 100 && fake.nr_sleeps == 100 && !fake.nr_stops);
	fake.error = ENOENT;
	CHECK(patch_unblock() && fake.nr_lists == 101);
	fake.states[2].blocked = 1 << 3;
	CHECK(!patch_unblock());
	/* As many as the list has space for are stopped. */
	begin(1026);
	for (unsigned int i = 0; i < 1026; i++)
		fake.states[i].blocked = 1 << 3;
	fake.nr_blocked_checks = 2 * 1026;
	CHECK(patch_unblock() && fake.last_count == 1024 && fake.last_stopped == 1000 + 1023);
}

/* ---- handlers under a filter ---- */

/*
 * Runs in a child, because a filter cannot be removed and the answer is kept. `action`: of
 * rt_sigreturn; 0: no filter.
 */
static int try_returns(uint32_t action, bool resumes)
{
	struct sock_filter rules[] = {LOAD(nr), IF(SYS_rt_sigreturn, 0, 1), RETURN(action),
			RETURN(SECCOMP_RET_ALLOW)};
	const struct sock_fprog filter = {sizeof(rules) / sizeof(*rules), rules};
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		sigset_t set, before, after;
		int found;

		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		CHECK(!sigprocmask(SIG_BLOCK, &set, NULL) &&
				!sigprocmask(SIG_SETMASK, NULL, &before));
		can_resume = resumes;
		nr_clones = 0;
		CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
		CHECK(!action || !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
		found = patch_traps_return();
		/* The answer is kept; the child has exited, and was waited for. */
		CHECK(found == patch_traps_return() && nr_clones == (action && !resumes));
		CHECK(waitpid(-1, &status, __WALL) == -1 && errno == ECHILD);
		CHECK(!sigprocmask(SIG_SETMASK, NULL, &after) && !memcmp(&before, &after, 8));
		CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
		_exit(found ? 3 : 4);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_sandboxed(void)
{
	CHECK(try_returns(0, false) == 3);
	CHECK(try_returns(SECCOMP_RET_ALLOW, false) == 3);
	CHECK(try_returns(SECCOMP_RET_KILL_PROCESS, false) == 4);
	CHECK(try_returns(SECCOMP_RET_ERRNO | EPERM, false) == 4);
	CHECK(try_returns(SECCOMP_RET_KILL_PROCESS, true) == 3);
}

/* ---- writes that fail ---- */

static void test_writes(void)
{
	unsigned int descriptors = resources_descriptors();
	static const uint8_t bytes[] = {1, 2, 3, 4, 5};
	struct patch_writer writer;
	uint8_t *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*only;
	int file;

	CHECK(code != MAP_FAILED);
	/*
	 * The file cannot be written: it is closed, and bytes are stored, also across the end of a
	 * page.
	 */
	patch_writer_open(&writer);
	CHECK(resources_descriptors() == descriptors + 1 && writer.memory >= 0);
	CHECK(!close(writer.memory));
	writer.memory = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(!patch_write(&writer, (uint64_t)(uintptr_t)code + 4094, bytes, 5) &&
			writer.memory == -1 && resources_descriptors() == descriptors);
	CHECK(!memcmp(code + 4093, "\0\1\2\3\4\5\0", 7) &&
			writer.page == (uint64_t)(uintptr_t)code + 4096);
	patch_writer_close(&writer);
	CHECK(resources_descriptors() == descriptors);
	/* A file that takes only some of the bytes is closed as well. */
	patch_writer_open(&writer);
	CHECK(!patch_write(&writer, (uint64_t)(uintptr_t)code + 10, bytes, 5) &&
			writer.memory >= 0 && !writer.page);
	patch_writer_close(&writer);
	/* Nothing is mapped there, or a file that can only be read. */
	patch_writer_open(&writer);
	CHECK(patch_write(&writer, 0x20000, bytes, 5) == -ENOMEM && !writer.page);
	patch_writer_close(&writer);
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	only = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	CHECK(file >= 0 && only != MAP_FAILED && !close(file));
	patch_writer_open(&writer);
	CHECK(patch_exchange(&writer, (uint64_t)(uintptr_t)only, bytes, 5) == -EPERM &&
			!writer.page);
	CHECK(patch_write(&writer, (uint64_t)(uintptr_t)only, bytes, 5) == -EPERM);
	patch_writer_close(&writer);
	munmap(only, 4096);
	munmap(code, 8192);
	CHECK(resources_descriptors() == descriptors);
}

int main(void)
{
	test_lists();
	test_checks();
	test_stops();
	test_arrived();
	test_masks();
	test_unblock();
	test_sandboxed();
	test_writes();
	return 0;
}
