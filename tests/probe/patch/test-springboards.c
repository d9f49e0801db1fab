/* SPDX-License-Identifier: MIT */
/*
 * A springboard becomes padding again when its probe is removed, and not before all threads have
 * left it. Threads are held exactly there: in handlers of signals and handlers within these, on
 * stacks of their own, in children that share the memory, and by a tracer.
 */
#include "counted-check.h"
#include "probed.h"
#include "probe/patch/parts.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))
#define TRAP_FLAG "0x100"
#define OWN_STACK 65536
#define SEARCHED 65536
#define PAUSE_US 1000
#define TRIES 10000
#define JUMP 0xe9

/* ---- the probe ---- */

static uint64_t hits;
static struct probe_site site;
static struct patch *patch;
static uint8_t *springboard;

static HANDLER void on_hit(const struct patch_hit *hit)
{
	(void)hit;
	/* Relaxed: a statistics counter. */
	__atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
}

static void set(void)
{
	struct patch_setup setup = {.site = &site, .entry = on_hit};

	CHECK(!patch_set(&setup, 1) && setup.method == PROBE_SHORT);
	CHECK(*springboard == JUMP);
	patch = setup.patch;
	hits = 0;
}

static bool is_padding(void)
{
	return !memcmp(springboard, site.springboard_bytes, PROBE_JUMP_BYTES);
}

/* True if the page is no copy, or if that cannot be read. */
static bool is_of_file(const void *there)
{
	int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;
	bool got;

	(void)*(const volatile char *)there;
	got = map >= 0 && pread(map, &entry, 8, (off_t)((uintptr_t)there / 4096 * 8)) == 8;
	if (map >= 0)
		close(map);
	return !got || (entry >> 61 & 1);
}

/*
 * No thread is there. The state of a thread that runs in the kernel at this moment is unknown, so
 * try again.
 */
static void end_at_last(void)
{
	for (int i = 0; i < TRIES && (!patch_quiesce() || side_probe_pads); i++)
		usleep(PAUSE_US);
	CHECK(!side_probe_pads && is_padding() && is_of_file(springboard));
}

static void test_back(void)
{
	for (int i = 0; i < 4; i++) {
		set();
		CHECK(probed_short(3) == 3 && hits == 1 && !is_of_file(springboard) &&
				!side_probe_pads);
		/* A springboard that is needed is not changed. */
		patch_check();
		CHECK(*springboard == JUMP && probed_short(4) == 4 && hits == 2);
		CHECK(!patch_remove(&patch, 1));
		if (i & 1)
			patch_check();
		end_at_last();
		CHECK(probed_short(5) == 5 && hits == 2);
		for (unsigned int k = 0; k < PROBE_JUMP_BYTES; k++)
			CHECK(!patch_is_springboard((uint64_t)(uintptr_t)springboard + k));
	}
}

/* A thread that the kernel has added has no stack, and executes no code of the program. */
static void test_worker(void)
{
	struct io_uring_params parameters = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &parameters);

	if (ring < 0)
		printf("there is no io_uring: threads of the kernel's are not tested\n");
	set();
	CHECK(probed_short(3) == 3 && hits == 1 && !patch_remove(&patch, 1));
	end_at_last();
	if (ring >= 0)
		close(ring);
}

/*
 * As if its file was mapped again, and the return before it had a jump whose bytes are those of the
 * springboard: no bytes are changed.
 */
static void test_mapped_anew(void)
{
	struct probe_site before = {.method = PROBE_PADDING,
			.runtime = (uintptr_t)springboard - 1,
			.address = (uintptr_t)springboard - 1,
			.displaced = 1,
			.patched = PROBE_JUMP_BYTES,
			.ends = true,
			.nr_pieces = 1,
			.pieces = {{.length = 1}},
			.nr_bytes = PROBE_JUMP_BYTES,
			.bytes = {springboard[-1]}};
	struct patch_setup setups[2] = {
			{.site = &before, .entry = on_hit}, {.site = &site, .entry = on_hit}};
	uint8_t *page = (uint8_t *)((uintptr_t)springboard & ~(uintptr_t)4095);

	memcpy(before.bytes + 1, site.springboard_bytes, PROBE_JUMP_BYTES - 1);
	set();
	CHECK(!patch_remove(&patch, 1) && *springboard == JUMP);
	CHECK(!mprotect(page, 2 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	memcpy(springboard, site.springboard_bytes, PROBE_JUMP_BYTES);
	CHECK(!mprotect(page, 2 * 4096, PROT_READ | PROT_EXEC));
	for (int i = 0; i < 2; i++)
		CHECK(!patch_set(&setups[i], 1) && springboard[-1] == JUMP);
	CHECK(setups[0].method == PROBE_PADDING && setups[1].method == PROBE_BREAKPOINT);
	CHECK(probed_short(3) == 3 && hits == 2);
	for (int i = 0; i < 2; i++)
		CHECK(!patch_remove(&setups[i].patch, 1));
	end_at_last();
}

/* ---- threads that are held there ---- */

enum where { PLAIN, OWN, NESTED, SPLIT };

static struct {
	enum where where;
	int held, go; /* an address of the springboard was met; the thread may continue */
	int got;
} hold;

/* Relaxed, both: a flag on its own. */
static void wait_for(const int *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_RELAXED))
		usleep(PAUSE_US);
}

static void raise_flag(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

/* Nothing is mapped after them that could be taken for a part of them. */
static char *own_stack, *child_stack;

static char *map_stack(void)
{
	char *memory = mmap(NULL, OWN_STACK + 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED && !mprotect(memory + OWN_STACK, 4096, PROT_NONE));
	return memory;
}

static void use_own_stack(bool use)
{
	const stack_t stack = {
			.ss_sp = own_stack, .ss_size = OWN_STACK, .ss_flags = use ? 0 : SS_DISABLE};

	CHECK(!sigaltstack(&stack, NULL));
}

static void on_inner(int number)
{
	(void)number;
	raise_flag(&hold.held);
	wait_for(&hold.go);
}

/*
 * The stack consists of three mappings: between that frame and the thread's present position, a
 * page has other flags.
 */
static __attribute__((noinline)) void split_stack(void)
{
	char capacity[3 * 4096], *page = (char *)(((uintptr_t)capacity + 4095) & ~(uintptr_t)4095);

	CHECK(!madvise(page, 4096, MADV_DONTDUMP));
	on_inner(0);
	CHECK(!madvise(page, 4096, MADV_DODUMP));
}

/* The signal frame contains an address of the springboard. */
static void on_step(int number, siginfo_t *info, void *context)
{
	uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)number;
	(void)info;
	if (pc != (uintptr_t)springboard || hold.held)
		return;
	if (hold.where == NESTED) {
		use_own_stack(true);
		raise(SIGUSR1);
		return;
	}
	if (hold.where == SPLIT) {
		split_stack();
		return;
	}
	on_inner(0);
}

static void call_stepping(void)
{
	int got;

	__asm__ volatile("pushfq; orq $" TRAP_FLAG ", (%%rsp); popfq" ::: "memory", "cc");
	got = probed_short(7);
	__asm__ volatile("pushfq; andq $~" TRAP_FLAG ", (%%rsp); popfq" ::: "memory", "cc");
	hold.got = got;
}

/* Words below the stack pointer, which handlers have left, do not count. */
static void *be_held(void *argument)
{
	if (hold.where == OWN)
		use_own_stack(true);
	call_stepping();
	if (hold.where == OWN || hold.where == NESTED)
		use_own_stack(false);
	return argument;
}

static void begin(enum where where)
{
	struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK},
			 inner = {.sa_handler = on_inner, .sa_flags = SA_ONSTACK};

	memset(&hold, 0, sizeof(hold));
	hold.where = where;
	CHECK(!sigaction(SIGTRAP, &step, NULL) && !sigaction(SIGUSR1, &inner, NULL));
	set();
}

/* Checks that the jump remains while a thread is there. */
static void check_stays(void)
{
	CHECK(!patch_remove(&patch, 1));
	for (int i = 0; i < 5; i++) {
		CHECK(patch_quiesce() && side_probe_pads == 1 && *springboard == JUMP);
		patch_check();
		CHECK(side_probe_pads == 1 && *springboard == JUMP && side_probe_kept);
		usleep(PAUSE_US);
	}
}

static void test_held(enum where where)
{
	pthread_t thread;

	begin(where);
	CHECK(!pthread_create(&thread, NULL, be_held, NULL));
	wait_for(&hold.held);
	check_stays();
	/* Meanwhile it is used again, and left again. */
	set();
	CHECK(probed_short(9) == 9 && hits == 1);
	check_stays();
	raise_flag(&hold.go);
	CHECK(!pthread_join(thread, NULL) && hold.got == 7);
	end_at_last();
	signal(SIGTRAP, SIG_DFL);
}

/* In the calling thread itself too. */
static void test_held_self(void)
{
	begin(PLAIN);
	hold.go = 1;
	call_stepping();
	CHECK(hold.held && hold.got == 7);
	CHECK(!patch_remove(&patch, 1));
	end_at_last();
	signal(SIGTRAP, SIG_DFL);
}

/* A child that shares the memory and is no thread; its parent waits in vfork(), or does not. */
static int be_child(void *argument)
{
	call_stepping();
	_exit(hold.got == 7 ? 0 : 1);
	return argument != NULL;
}

static pid_t start_child(int flags)
{
	return clone(be_child, child_stack + OWN_STACK, CLONE_VM | SIGCHLD | flags, NULL);
}

static void *have_child(void *child)
{
	*(pid_t *)child = start_child(CLONE_VFORK);
	return NULL;
}

static void test_child(bool waits)
{
	pid_t child = 0;
	pthread_t thread;
	int status = -1;

	begin(PLAIN);
	if (waits)
		CHECK(!pthread_create(&thread, NULL, have_child, &child));
	else
		child = start_child(0);
	wait_for(&hold.held);
	check_stays();
	raise_flag(&hold.go);
	if (waits)
		pthread_join(thread, NULL);
	CHECK(waitpid(child, &status, 0) == child && !status);
	end_at_last();
	signal(SIGTRAP, SIG_DFL);
}

/*
 * The program has only one free descriptor: the children of threads cannot be read, because the
 * list of threads uses it.
 */
static void test_child_unseen(void)
{
	struct rlimit limit, less;
	int status = -1;
	pid_t child;

	begin(PLAIN);
	child = start_child(0);
	wait_for(&hold.held);
	CHECK(!patch_remove(&patch, 1));
	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	less = limit;
	less.rlim_cur = (rlim_t)dup(0);
	close((int)less.rlim_cur);
	less.rlim_cur++;
	CHECK(!setrlimit(RLIMIT_NOFILE, &less));
	for (int i = 0; i < 5; i++)
		CHECK(patch_quiesce() && side_probe_pads == 1 && *springboard == JUMP);
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	raise_flag(&hold.go);
	CHECK(waitpid(child, &status, 0) == child && !status);
	end_at_last();
	signal(SIGTRAP, SIG_DFL);
}

/* ---- a fork, while another thread checks ---- */

#define FORKS 20
#define CHILD_S 60

static void *rotate_check(void *argument)
{
	/* Relaxed: a flag on its own. */
	while (!__atomic_load_n(&hold.go, __ATOMIC_RELAXED))
		patch_check();
	return argument;
}

/*
 * Neither that thread nor the one that is held exists in the child: the springboard is used, and
 * becomes padding again.
 */
static int be_forked(void)
{
	alarm(CHILD_S);
	set();
	CHECK(probed_short(3) == 3 && hits == 1 && !patch_remove(&patch, 1));
	end_at_last();
	return wrong != 0;
}

static void test_forked(void)
{
	pthread_t held, looking;
	int status = 0;

	begin(PLAIN);
	CHECK(!pthread_create(&held, NULL, be_held, NULL));
	wait_for(&hold.held);
	CHECK(!patch_remove(&patch, 1) && patch_quiesce() && side_probe_pads == 1);
	CHECK(!pthread_create(&looking, NULL, rotate_check, NULL));
	for (int i = 0; i < FORKS && !status; i++) {
		pid_t child;

		usleep(PAUSE_US);
		child = fork();
		if (!child)
			_exit(be_forked());
		CHECK(waitpid(child, &status, 0) == child && !status);
	}
	raise_flag(&hold.go);
	CHECK(!pthread_join(looking, NULL) && !pthread_join(held, NULL) && hold.got == 7);
	end_at_last();
	signal(SIGTRAP, SIG_DFL);
}

/* ---- a tracer ---- */

static pid_t traced;

static void *be_traced(void *argument)
{
	/* Relaxed: the value only. */
	__atomic_store_n(&traced, gettid(), __ATOMIC_RELAXED);
	while (!__atomic_load_n(&hold.go, __ATOMIC_RELAXED)) {
		if (probed_short(7) != 7)
			wrong++;
	}
	return argument;
}

/*
 * Runs in the child of test_traced(); the result is its status. Reports each step, and waits for a
 * word to continue.
 */
static int be_program(int to, int from)
{
	pthread_t thread;
	char word = 0;

	memset(&hold, 0, sizeof(hold));
	set();
	CHECK(!pthread_create(&thread, NULL, be_traced, NULL));
	while (!__atomic_load_n(&traced, __ATOMIC_RELAXED))
		usleep(PAUSE_US);
	CHECK(write(to, &traced, sizeof(traced)) == sizeof(traced));
	/* Now the thread is at the springboard. */
	CHECK(read(from, &word, 1) == 1);
	check_stays();
	CHECK(write(to, &traced, sizeof(traced)) == sizeof(traced));
	CHECK(read(from, &word, 1) == 1);
	/* The thread runs all the time, and calls the function with the springboard. */
	end_at_last();
	raise_flag(&hold.go);
	CHECK(!pthread_join(thread, NULL));
	return wrong != 0;
}

static bool step_to_springboard(pid_t thread)
{
	int status;

	for (int i = 0; i < SEARCHED; i++) {
		if ((uintptr_t)ptrace(PTRACE_PEEKUSER, thread,
				    offsetof(struct user_regs_struct, rip),
				    NULL) == (uintptr_t)springboard)
			return true;
		if (ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) ||
				waitpid(thread, &status, __WALL) != thread)
			return false;
	}
	return false;
}

static void close_pipes(const int up[2], const int down[2])
{
	for (int i = 0; i < 2; i++) {
		close(up[i]);
		close(down[i]);
	}
}

static void test_traced(void)
{
	int up[2] = {-1, -1}, down[2] = {-1, -1}, status = -1;
	pid_t child, thread = 0;

	CHECK(!pipe(up) && !pipe(down));
	child = fork();
	if (!child)
		_exit(be_program(up[1], down[0]));
	CHECK(read(up[0], &thread, sizeof(thread)) == sizeof(thread));
	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL)) {
		printf("programs cannot be traced here\n");
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		close_pipes(up, down);
		return;
	}
	CHECK(!ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) &&
			waitpid(thread, &status, __WALL) == thread);
	CHECK(step_to_springboard(thread));
	CHECK(write(down[1], "", 1) == 1 && read(up[0], &thread, sizeof(thread)) == sizeof(thread));
	CHECK(!ptrace(PTRACE_DETACH, thread, NULL, NULL));
	CHECK(write(down[1], "", 1) == 1);
	CHECK(waitpid(child, &status, 0) == child && !status);
	close_pipes(up, down);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (patch_start(false)) {
		printf("this kernel has no barrier for code: nothing can be tested\n");
		return 77;
	}
	own_stack = map_stack();
	child_stack = map_stack();
	site = site_of("probed_short");
	springboard = (uint8_t *)(site.runtime + (site.springboard - site.address));
	CHECK(site.method == PROBE_SHORT && is_padding());
	test_back();
	test_worker();
	test_mapped_anew();
	for (int i = 0; i < 2; i++) {
		test_held(PLAIN);
		test_held(OWN);
		test_held(NESTED);
		test_held(SPLIT);
		test_held_self();
		test_child(true);
		test_child(false);
		test_child_unseen();
		test_forked();
		test_traced();
		test_back();
	}
	printf("%u checks, %u wrong\n", checks, wrong);
	return wrong ? 1 : 0;
}
