/* SPDX-License-Identifier: MIT */
/*
 * The signals of traps are the program's again when no probe is left. The kernel's action of each
 * signal is the same to the last bit as before, and threads that meet breakpoints up to the last
 * moment are not killed. Actions that the program sets meanwhile hold, whether it uses wrapped
 * functions or bare system calls.
 */
#include "counted-check.h"
#include "probed.h"
#include "probe/patch/patch.h"

#include <dirent.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))
#define SIGNALS 64
#define MASK_BYTES 8
#define TRAPS (1ULL << (SIGTRAP - 1) | 1ULL << (SIGILL - 1))
#define BUSY_THREADS 3
#define ROUNDS 24
#define LONG_ROUNDS 3000

/* The kernel's struct sigaction. */
struct action {
	uint64_t handler, flags, restorer, mask;
};

static struct action all_before[SIGNALS + 1], all_after[SIGNALS + 1];

static void read_all(struct action *all)
{
	memset(all, 0, (SIGNALS + 1) * sizeof(*all));
	for (int number = 1; number <= SIGNALS; number++)
		syscall(SYS_rt_sigaction, number, NULL, &all[number], MASK_BYTES);
}

static bool as_before(void)
{
	read_all(all_after);
	for (int number = 1; number <= SIGNALS; number++) {
		const struct action *had = &all_before[number], *has = &all_after[number];

		if (!memcmp(had, has, sizeof(*had)))
			continue;
		printf("signal %d: %llx %llx %llx %llx, and was %llx %llx %llx %llx\n", number,
				(unsigned long long)has->handler, (unsigned long long)has->flags,
				(unsigned long long)has->restorer, (unsigned long long)has->mask,
				(unsigned long long)had->handler, (unsigned long long)had->flags,
				(unsigned long long)had->restorer, (unsigned long long)had->mask);
		return false;
	}
	return true;
}

/* A line of /proc, read without libc's buffers. */
static unsigned long long caught(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long long mask = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "SigCgt: %llx", &mask) == 1)
			break;
	}
	if (status)
		fclose(status);
	return mask;
}

static uint64_t real_mask(void)
{
	uint64_t mask = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, MASK_BYTES);
	return mask;
}

/* ---- probes ---- */

static uint64_t hits;

static HANDLER void on_hit(const struct patch_hit *hit)
{
	(void)hit;
	/* Relaxed: a statistics counter. */
	__atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
}

static struct probe_site site;

static struct patch *set(const char *name, unsigned int flags)
{
	struct patch_setup setup = {.site = &site, .entry = on_hit, .flags = flags};

	site = site_of(name);
	CHECK(!patch_set(&setup, 1));
	return setup.patch;
}

static void remove_and_quiesce(struct patch *patch)
{
	CHECK(!patch_remove(&patch, 1));
	CHECK(patch_quiesce());
}

/* ---- to the last bit ---- */

static volatile sig_atomic_t own_traps;

static void on_own(int number)
{
	own_traps += number == SIGTRAP;
}

static void on_other(int number)
{
	(void)number;
}

static void test_exact(void)
{
	struct sigaction odd = {.sa_handler = on_own, .sa_flags = SA_RESTART | SA_NODEFER},
			 masked = {.sa_handler = on_other};

	for (int turn = 0; turn < 4; turn++) {
		struct patch *patch;

		/* As at the begin; a handler; ignored; with flags that only the kernel knows. */
		if (turn == 1) {
			sigaddset(&odd.sa_mask, SIGUSR1);
			CHECK(!sigaction(SIGTRAP, &odd, NULL));
			sigaddset(&masked.sa_mask, SIGTRAP);
			sigaddset(&masked.sa_mask, SIGTERM);
			CHECK(!sigaction(SIGUSR2, &masked, NULL));
		} else if (turn == 2) {
			CHECK(signal(SIGTRAP, SIG_IGN) != SIG_ERR);
			CHECK(signal(SIGILL, on_other) != SIG_ERR);
		} else if (turn == 3) {
			struct action bare;

			syscall(SYS_rt_sigaction, SIGUSR2, NULL, &bare, MASK_BYTES);
			bare.flags |= 0x400; /* SA_UNSUPPORTED: returned as it was set */
			bare.mask = 1ULL << (SIGALRM - 1);
			CHECK(!syscall(SYS_rt_sigaction, SIGTRAP, &bare, NULL, MASK_BYTES));
		}
		read_all(all_before);
		patch = set("probed_three", turn & 1 ? PATCH_TRAP : 0);
		CHECK((caught() & TRAPS) == TRAPS && probed_three(1) == 4);
		remove_and_quiesce(patch);
		CHECK(as_before() && !side_probe_traps && probed_three(1) == 4);
	}
	CHECK(signal(SIGTRAP, SIG_DFL) != SIG_ERR && signal(SIGILL, SIG_DFL) != SIG_ERR);
	CHECK(!(caught() & TRAPS));
}

/*
 * An action that is set while probes are set holds when they are removed; and a handler gets its
 * signal.
 */
static void test_set_meanwhile(void)
{
	struct sigaction action = {.sa_handler = on_own, .sa_flags = SA_RESTART}, before, real;
	struct patch *patch = set("probed_three", PATCH_TRAP);

	own_traps = 0;
	CHECK(!patch_signals_action(SIGTRAP, &action, &before, sigaction) &&
			before.sa_handler == SIG_DFL);
	CHECK(probed_three(1) == 4 && !own_traps && !raise(SIGTRAP) && own_traps == 1);
	/* The action that libc would have passed to the kernel. */
	remove_and_quiesce(patch);
	read_all(all_after);
	CHECK(!sigaction(SIGTRAP, NULL, &real) && real.sa_handler == on_own);
	CHECK(!sigaction(SIGTRAP, &action, NULL));
	read_all(all_before);
	CHECK(!memcmp(&all_before[SIGTRAP], &all_after[SIGTRAP], sizeof(struct action)));
	CHECK(!raise(SIGTRAP) && own_traps == 2);
	CHECK(!patch_signals_action(SIGTRAP, NULL, &before, sigaction) &&
			before.sa_handler == on_own);
	CHECK(signal(SIGTRAP, SIG_DFL) != SIG_ERR);
}

/*
 * A step that ends after a byte that has or had a breakpoint is no trap of side: the first
 * instruction has one byte.
 */
static void test_steps(void)
{
	struct sigaction action = {.sa_handler = on_own};
	struct patch *patch;
	int got;

	CHECK(!sigaction(SIGTRAP, &action, NULL));
	patch = set("probed_five", PATCH_TRAP);
	own_traps = 0;
	hits = 0;
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	got = probed_five(1);
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
	CHECK(got == 6 && hits == 1 && own_traps > 20);
	remove_and_quiesce(patch);
	CHECK(signal(SIGTRAP, SIG_DFL) == on_own);
}

static void test_masks(void)
{
	struct patch *patch = set("probed_three", PATCH_TRAP);
	sigset_t traps, user_action;

	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	CHECK(!patch_signals_mask(SIG_BLOCK, &traps, NULL, sigprocmask));
	CHECK(!(real_mask() & TRAPS) && probed_three(1) == 4);
	remove_and_quiesce(patch);
	/* From its next call on. */
	CHECK(!patch_signals_mask(SIG_BLOCK, NULL, &user_action, sigprocmask) &&
			sigismember(&user_action, SIGTRAP));
	CHECK((real_mask() & TRAPS) == 1ULL << (SIGTRAP - 1));
	CHECK(!patch_signals_mask(SIG_UNBLOCK, &traps, &user_action, sigprocmask) &&
			sigismember(&user_action, SIGTRAP));
	CHECK(!(real_mask() & TRAPS));
}

/* ---- threads on their way ---- */

static bool stop;
static unsigned int disturbed;

static bool is_over(void)
{
	/* Relaxed: a flag on its own. */
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void *meet_traps(void *argument)
{
	while (!is_over()) {
		if (probed_four(1) != 5 || probed_three(2) != 5)
			abort();
	}
	return argument;
}

static void *wait_without_output(void *argument)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;

	while (!is_over()) {
		if (epoll_wait(epoll, &event, 1, 100) < 0 && errno == EINTR)
			/* Relaxed: a statistics counter. */
			__atomic_fetch_add(&disturbed, 1, __ATOMIC_RELAXED);
	}
	close(epoll);
	return argument;
}

/*
 * The threads trap all the time, and the last of these traps must find its handler: without one the
 * program would be killed.
 */
static void test_threads(unsigned int rounds)
{
	pthread_t threads[BUSY_THREADS + 1];
	unsigned int later = 0;

	stop = false;
	for (unsigned int i = 0; i <= BUSY_THREADS; i++)
		CHECK(!pthread_create(
				&threads[i], NULL, i ? meet_traps : wait_without_output, NULL));
	for (unsigned int i = 0; i < rounds; i++) {
		struct patch *patch =
				set(i & 1 ? "probed_four" : "probed_three", i & 2 ? PATCH_TRAP : 0);

		usleep(i % 7 * 100);
		remove_and_quiesce(patch);
		later += side_probe_traps != 0;
		CHECK(side_probe_traps || !(caught() & TRAPS));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i <= BUSY_THREADS; i++)
		pthread_join(threads[i], NULL);
	/* Now it is certain. */
	CHECK(patch_quiesce() && !side_probe_traps && !(caught() & TRAPS) && hits);
	CHECK(!disturbed);
	printf("%u rounds with threads that trap, %u of them given back later\n", rounds, later);
}

/* ---- threads that are stopped while they wait ---- */

#define WAITED_FOR 7

struct waiting {
	pid_t tid;
	long call;
	int descriptor, result, code;
};

static void on_wake(int number)
{
	(void)number;
}

/* The mask of another thread; all signals if it cannot be read. */
static unsigned long long mask_of(pid_t tid)
{
	unsigned long long mask = ~0ULL;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigBlk: %llx", &mask) == 1)
			break;
	}
	if (file)
		(void)fclose(file);
	return mask;
}

/*
 * Waits in a call that returns EINTR after each stop, with the signals of traps blocked, so that
 * the thread is stopped.
 */
static void *wait_blocked(void *argument)
{
	struct waiting *waiting = argument;
	struct epoll_event event = {.data.u32 = 0};
	uint64_t traps = TRAPS;
	char byte = 0;

	CHECK(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, &traps, NULL, MASK_BYTES));
	/* Release: all that was stored before. Pairs with the acquire in is_waiting(). */
	__atomic_store_n(&waiting->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (waiting->call == SYS_epoll_wait)
		waiting->result = epoll_wait(waiting->descriptor, &event, 1, 60000);
	else
		waiting->result = (int)syscall(
				waiting->call, waiting->descriptor, &byte, 1, 0, NULL, NULL);
	waiting->code = waiting->result < 0 ? errno : byte ? byte : (int)event.data.u32;
	return NULL;
}

/* True if the kernel reports that the thread waits. */
static bool is_waiting(struct waiting *waiting)
{
	/* Acquire: pairs with the release in wait_blocked(). */
	pid_t tid = __atomic_load_n(&waiting->tid, __ATOMIC_ACQUIRE);
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	file = tid ? fopen(path, "re") : NULL;
	if (file && !fgets(text, sizeof(text), file))
		*text = 0;
	if (file)
		(void)fclose(file);
	return *text && *text != 'r' && strtol(text, NULL, 10) == waiting->call;
}

static void wait_until_waiting(struct waiting *waiting)
{
	for (unsigned int i = 0; i < 20000 && !is_waiting(waiting); i++)
		usleep(1000);
	CHECK(is_waiting(waiting));
}

/* A socket call returns EINTR after each stop if the socket has a timeout. */
static void start_waiting(struct waiting *waiting, int sockets[2])
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = WAITED_FOR};
	struct timeval time = {.tv_sec = 60};

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	if (waiting->call == SYS_epoll_wait) {
		waiting->descriptor = epoll_create1(EPOLL_CLOEXEC);
		CHECK(waiting->descriptor >= 0 &&
				!epoll_ctl(waiting->descriptor, EPOLL_CTL_ADD, sockets[0], &event));
	} else {
		waiting->descriptor = dup(sockets[0]);
		CHECK(!setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)));
	}
}

/* A stop must not be noticed; a signal with a handler must be, also after a stop. */
static void test_waiting(long call, bool by_signal)
{
	struct sigaction action = {.sa_handler = on_wake};
	struct waiting waiting = {.call = call};
	struct patch *patch;
	int sockets[2] = {-1, -1};
	pthread_t thread;

	start_waiting(&waiting, sockets);
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK(!pthread_create(&thread, NULL, wait_blocked, &waiting));
	wait_until_waiting(&waiting);
	patch = set("probed_three", PATCH_TRAP);
	CHECK(probed_three(1) == 4);
	/* It has been stopped, because its mask has changed. */
	CHECK(!(mask_of(waiting.tid) & TRAPS));
	wait_until_waiting(&waiting);
	if (by_signal)
		CHECK(!pthread_kill(thread, SIGUSR1));
	else
		CHECK(write(sockets[1], "\7", 1) == 1);
	pthread_join(thread, NULL);
	CHECK(by_signal ? waiting.result == -1 && waiting.code == EINTR
			: waiting.result == 1 && waiting.code == WAITED_FOR);
	remove_and_quiesce(patch);
	close(sockets[0]);
	close(sockets[1]);
	close(waiting.descriptor);
	CHECK(signal(SIGUSR1, SIG_DFL) == on_wake);
}

/* ---- threads that the kernel has added ---- */

/* The id of the last thread in /proc. */
static int id_in_proc(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	int number = 0;

	while (tasks && (task = readdir(tasks)))
		number = atoi(task->d_name) > number ? atoi(task->d_name) : number;
	if (tasks)
		closedir(tasks);
	return number;
}

/*
 * Kernel threads block all signals, and must continue to: a signal that one of them took would be
 * lost. And they execute no code that changes.
 */
static void test_worker(unsigned int idle_ms)
{
	struct io_uring_params parameters = {
			.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = idle_ms};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &parameters);
	struct patch *patch;
	pid_t worker;

	if (ring < 0) {
		printf("there is no io_uring: threads of the kernel's are not tested\n");
		return;
	}
	usleep(50000);
	worker = id_in_proc();
	CHECK(worker != getpid() && (mask_of(worker) & TRAPS) == TRAPS);
	patch = set("probed_three", PATCH_TRAP);
	CHECK(probed_three(1) == 4 && (mask_of(worker) & TRAPS) == TRAPS);
	if (patch)
		remove_and_quiesce(patch);
	CHECK(!side_probe_traps && !(caught() & TRAPS));
	close(ring);
}

/* ---- a program without free descriptors ---- */

static void *meet_traps_blocked(void *argument)
{
	uint64_t traps = TRAPS;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &traps, NULL, MASK_BYTES);
	while (!is_over()) {
		if (probed_three(2) != 5)
			abort();
	}
	return argument;
}

/*
 * Then it cannot be read which threads block the signals of traps: no probe is better than a killed
 * program.
 */
static int be_without_descriptors(rlim_t left)
{
	struct patch_setup setup = {.site = &site, .entry = on_hit, .flags = PATCH_TRAP};
	struct rlimit limit, less;
	pthread_t thread;

	site = site_of("probed_three");
	CHECK(!pthread_create(&thread, NULL, meet_traps_blocked, NULL));
	usleep(50000);
	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	less = limit;
	less.rlim_cur = (rlim_t)dup(0);
	close((int)less.rlim_cur);
	less.rlim_cur += left;
	CHECK(!setrlimit(RLIMIT_NOFILE, &less));
	if (patch_set(&setup, 1))
		CHECK(setup.error == -EDEADLK);
	usleep(50000);
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	if (setup.patch)
		CHECK(!patch_remove(&setup.patch, 1));
	/* Relaxed: a flag on its own. */
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return wrong != 0;
}

static void test_without_descriptors(void)
{
	for (rlim_t left = 0; left < 5; left++) {
		int status = -1;
		pid_t child;

		stop = false;
		child = fork();
		if (!child)
			_exit(be_without_descriptors(left));
		CHECK(waitpid(child, &status, 0) == child && !status);
		if (status)
			printf("with %u descriptors: status %x\n", (unsigned int)left,
					(unsigned int)status);
	}
}

/* ---- ids of threads that belong to another process here ---- */

static void *block_traps(void *pause)
{
	uint64_t traps = TRAPS;

	CHECK(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, &traps, NULL, MASK_BYTES));
	pthread_barrier_wait(pause);
	pthread_barrier_wait(pause);
	return NULL;
}

/* The process blocks them too, and reports whether it still does when it gets a message. */
static pid_t start_other(int number, const int pipes[2])
{
	FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "we");
	pid_t other;

	if (!last)
		return -1;
	fprintf(last, "%d", number - 1);
	(void)fclose(last);
	other = fork();
	if (!other) {
		uint64_t traps = TRAPS;
		char word;

		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &traps, NULL, MASK_BYTES);
		CHECK(read(pipes[0], &word, 1) == 1);
		_exit(wrong || (real_mask() & TRAPS) != TRAPS);
	}
	return other;
}

static int be_first_process(void)
{
	struct patch_setup setup = {.site = &site, .entry = on_hit, .flags = PATCH_TRAP};
	pthread_barrier_t pause;
	pthread_t thread;
	int pipes[2], status = -1;
	pid_t other;

	site = site_of("probed_three");
	CHECK(!pthread_barrier_init(&pause, NULL, 2) && !pipe(pipes));
	CHECK(!pthread_create(&thread, NULL, block_traps, &pause));
	pthread_barrier_wait(&pause);
	other = start_other(id_in_proc(), pipes);
	if (other == id_in_proc()) {
		usleep(50000);
		(void)patch_set(&setup, 1);
		CHECK(write(pipes[1], "x", 1) == 1);
		CHECK(waitpid(other, &status, 0) == other && !status);
	} else {
		printf("numbers of processes cannot be chosen: other namespaces are not tested\n");
	}
	pthread_barrier_wait(&pause);
	pthread_join(thread, NULL);
	return wrong != 0;
}

static void test_other_namespace(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		if (unshare(CLONE_NEWPID)) {
			printf("there are no namespaces of processes for us\n");
			_exit(0);
		}
		child = fork();
		if (!child)
			_exit(be_first_process());
		_exit(waitpid(child, &status, 0) != child || status);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
}

/* ---- the program sets actions at the same time ---- */

#define HANDLERS 2

static void on_first(int number)
{
	(void)number;
}

static void on_second(int number)
{
	(void)number;
}

static void (*const handlers[HANDLERS])(int) = {on_first, on_second};
static uint64_t sets;

static void *set_own(void *argument)
{
	for (uint64_t i = 0; !is_over(); i++, sets++) {
		struct sigaction action = {.sa_handler = handlers[i % HANDLERS]}, before;

		sigaddset(&action.sa_mask, 1 + (int)(i % 8));
		CHECK(!patch_signals_action(SIGTRAP, &action, &before, sigaction));
		/* This thread is the only one that sets it. */
		if (i && before.sa_handler != handlers[(i - 1) % HANDLERS]) {
			CHECK(before.sa_handler == handlers[(i - 1) % HANDLERS]);
			break;
		}
	}
	return argument;
}

static void *set_bare(void *argument)
{
	struct sigaction action = {.sa_handler = on_first};
	struct action bare;

	/* Made by libc. */
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	syscall(SYS_rt_sigaction, SIGUSR1, NULL, &bare, MASK_BYTES);
	for (uint64_t i = 0; !is_over(); i++, sets++) {
		bare.handler = (uint64_t)(uintptr_t)handlers[sets % HANDLERS];
		bare.mask = 1ULL << (sets % 3);
		syscall(SYS_rt_sigaction, SIGTRAP, &bare, NULL, MASK_BYTES);
	}
	return argument;
}

static void test_concurrent_actions(void *(*run)(void *), unsigned int rounds)
{
	pthread_t thread;
	struct action last;

	stop = false;
	sets = 0;
	CHECK(!pthread_create(&thread, NULL, run, NULL));
	for (unsigned int i = 0; i < rounds; i++) {
		/* Changed by one store, so no thread needs the handler. */
		struct patch *patch = set("probed_one", 0);

		remove_and_quiesce(patch);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(patch_quiesce() && !side_probe_traps && sets);
	syscall(SYS_rt_sigaction, SIGTRAP, NULL, &last, MASK_BYTES);
	CHECK(last.handler == (uint64_t)(uintptr_t)handlers[(sets - 1) % HANDLERS]);
	if (run == set_own)
		CHECK(last.mask == 1ULL << ((sets - 1) % 8));
	else
		CHECK(last.mask == 1ULL << ((sets - 1) % 3));
	CHECK(signal(SIGTRAP, SIG_DFL) != SIG_ERR);
}

int main(void)
{
	const char *wanted = getenv("SIDE_TEST_LONG");
	unsigned int rounds = wanted && !strcmp(wanted, "1") ? LONG_ROUNDS : ROUNDS;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (patch_start(false)) {
		printf("this kernel has no barrier for code: nothing can be tested\n");
		return 77;
	}
	CHECK(patch_quiesce() && !(caught() & TRAPS));
	test_exact();
	test_set_meanwhile();
	test_masks();
	test_steps();
	for (int i = 0; i < 2; i++) {
		test_waiting(SYS_epoll_wait, i);
		test_waiting(SYS_recvfrom, i);
		test_waiting(SYS_read, i);
	}
	/* The thread sleeps, or runs all the time. */
	test_worker(1);
	test_worker(60000);
	test_without_descriptors();
	test_other_namespace();
	test_threads(rounds);
	test_concurrent_actions(set_own, rounds * 2);
	test_concurrent_actions(set_bare, rounds * 2);
	printf("%u checks, %u wrong\n", checks, wrong);
	return wrong ? 1 : 0;
}
