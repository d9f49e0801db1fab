/* SPDX-License-Identifier: MIT */
/*
 * Memory reads in hits: the values, and that nothing happens if the memory is unmapped: invalid
 * pointers, pages that this thread or others unmap meanwhile, blocked signals, and hits in handlers
 * of faults. The program's own SIGSEGV and SIGBUS must remain its own, meanwhile and to the last
 * bit afterwards.
 */
#include "counted-check.h"
#include "probed.h"
#include "probe/patch/call.h"
#include "probe/patch/patch.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define HANDLER __attribute__((noinline)) /* like this file, compiled for general registers only */
#define MASK_BYTES 8
#define PAGE 4096u
#define STORM_PAGES 4
#define STORM_THREADS 3
#define STORM_MS 600
#define LONG_STORM_MS 120000
#define WORD 0x5a5a5a5a5a5a5a5aULL
#define OTHER_WORD 0xa5a5a5a5a5a5a5a5ULL

/* ---- hits ---- */

enum outcome { NOT_HIT, LOADED, CALLED, UNREADABLE };

/* What the next hit of this thread reads, and the result. */
static __thread struct {
	uint64_t from, value;
	size_t most; /* of text; 0: a word */
	long length;
	char text[256];
	enum outcome outcome;
} spec __attribute__((tls_model("initial-exec")));

static HANDLER long by_call(void *to, uint64_t from, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};

	return patch_system_call(SYS_process_vm_readv,
			patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0), (long)&local, 1,
			(long)&remote, 1, 0);
}

static HANDLER void on_hit(const struct patch_hit *hit)
{
	struct patch_reading *reading = NULL;

	(void)hit;
	spec.outcome = LOADED;
	if (spec.most) {
		spec.length = patch_read_text(spec.text, spec.from, spec.most, &reading);
		if (spec.length >= 0)
			return;
		spec.length = by_call(spec.text, spec.from, spec.most);
	} else {
		if (patch_read(&spec.value, spec.from, sizeof(spec.value), &reading))
			return;
		spec.value = 0;
		spec.length = by_call(&spec.value, spec.from, sizeof(spec.value));
		if (spec.length != sizeof(spec.value))
			spec.length = spec.value = 0;
	}
	spec.outcome = spec.length > 0 ? CALLED : UNREADABLE;
	if (spec.length > 0)
		patch_note_read(spec.from, (size_t)spec.length);
}

static struct probe_site site;
static struct patch *patch;

static void begin(void)
{
	struct patch_setup setup = {.site = &site, .entry = on_hit};

	site = site_of("probed_three");
	CHECK(!patch_set(&setup, 1));
	patch = setup.patch;
	CHECK(!patch_permit_reads(true));
}

static void end(void)
{
	CHECK(!patch_remove(&patch, 1));
	CHECK(!patch_permit_reads(false));
	CHECK(patch_quiesce());
}

static enum outcome read_at(const void *from)
{
	spec.from = (uintptr_t)from;
	spec.most = 0;
	spec.outcome = NOT_HIT;
	probed_three(1);
	return spec.outcome;
}

static enum outcome read_text(const void *from, size_t most)
{
	spec.from = (uintptr_t)from;
	spec.most = most;
	spec.outcome = NOT_HIT;
	probed_three(1);
	return spec.outcome;
}

static uint64_t faults(void)
{
	struct patch_stats stats;

	patch_stats(&stats);
	return stats.faults;
}

static uint64_t *map(size_t pages)
{
	uint64_t *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* Makes a page known: the first read is by a system call, later ones by loads. */
static void make_known(const uint64_t *page, uint64_t value)
{
	enum outcome outcome = read_at(page);

	CHECK(outcome != UNREADABLE && spec.value == value);
	for (unsigned int i = 0; i < 100 && outcome != LOADED; i++)
		outcome = read_at(page);
	CHECK(outcome == LOADED && spec.value == value);
}

/* ---- values ---- */

static void test_invalid_pointers(void)
{
	static const uint64_t nowhere[] = {0, 1, 8, 4095, 0x7ffffffff000, 0x7fffffffffff,
			0x800000000000, 0x00ffffffffffffff, 0x8000000000000000, 0xffffffff81000000,
			0xffffffffffffffff, 0xfffffffffffffff8, 0xffffffffff600000};
	uint64_t had = faults();

	for (unsigned int turn = 0; turn < 3; turn++)
		for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
			CHECK(read_at((const void *)(uintptr_t)nowhere[i]) == UNREADABLE &&
					!spec.value);
	/* No load was even tried. */
	CHECK(faults() == had);
}

static void test_unmapped(void)
{
	char path[] = "/tmp/side-reading-XXXXXX";
	int file = mkstemp(path);
	uint64_t had = faults(), *mapped, word = WORD;

	unlink(path);
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t *page = map(1);

		page[0] = WORD;
		page[PAGE / 8 - 1] = OTHER_WORD;
		make_known(page, WORD);
		make_known(page + PAGE / 8 - 1, OTHER_WORD);
		CHECK(!mprotect(page, PAGE, PROT_NONE));
		CHECK(read_at(page) == UNREADABLE && read_at(page + 1) == UNREADABLE);
		CHECK(!mprotect(page, PAGE, PROT_READ));
		make_known(page, WORD);
		CHECK(!munmap(page, PAGE));
		CHECK(read_at(page) == UNREADABLE);
		CHECK(mmap(page, PAGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
		page[0] = i;
		make_known(page, i);
		CHECK(!munmap(page, PAGE));
	}
	/* After the end of a file, which raises SIGBUS. */
	for (unsigned int i = 0; i < 200; i++) {
		CHECK(!ftruncate(file, PAGE) && pwrite(file, &word, sizeof(word), 0) == 8);
		mapped = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
		make_known(mapped, WORD);
		CHECK(!ftruncate(file, 0));
		CHECK(read_at(mapped) == UNREADABLE);
		munmap(mapped, PAGE);
	}
	close(file);
	/* Not each time, because some pages were checked before they were read. */
	CHECK(faults() > had);
	printf("%llu loads of pages that were taken away\n", (unsigned long long)(faults() - had));
}

/* Values on two pages, of which the second one may be missing. */
static void test_page_ends(void)
{
	uint64_t *pages = map(2);
	char *border = (char *)pages + PAGE;

	memset(pages, 0x5a, 2 * PAGE);
	for (unsigned int turn = 0; turn < 3; turn++)
		for (int at = -8; at <= 0; at++)
			CHECK(read_at(border + at) != UNREADABLE && spec.value == WORD);
	CHECK(!mprotect(border, PAGE, PROT_NONE));
	for (unsigned int turn = 0; turn < 3; turn++)
		for (int at = -8; at <= 0; at++)
			CHECK((read_at(border + at) == UNREADABLE) == (at > -8));
	munmap(pages, 2 * PAGE);
}

static void test_text(void)
{
	char *page = (char *)map(2), *end_of_page = page + PAGE;
	unsigned int loaded = 0;

	munmap(end_of_page, PAGE);
	make_known((uint64_t *)(void *)page, 0);
	for (size_t before = 1; before <= 80; before++) {
		for (size_t length = 0; length < before; length++) {
			char *text = end_of_page - before;
			size_t most = before < 70 ? before : 70;

			memset(page, 'q', PAGE);
			text[length] = 0;
			if (read_text(text, most) == LOADED) {
				loaded++;
				CHECK(spec.length == (long)(length < most ? length : most));
			}
			CHECK(!memcmp(spec.text, text, length < most ? length + 1 : most));
		}
		memset(page, 'q', PAGE);
		if (read_text(end_of_page - before, before) == LOADED)
			CHECK(spec.length == (long)before);
	}
	CHECK(loaded > 2000);
	munmap(page, PAGE);
}

/* ---- masks and handlers ---- */

static bool is_blocked(void)
{
	uint64_t mask = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, MASK_BYTES);
	return mask & (1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1));
}

static void test_masks(void)
{
	sigset_t signals;
	uint64_t *page = map(1);

	for (unsigned int turn = 0; turn < 2; turn++) {
		make_known(page, 0);
		sigemptyset(&signals);
		sigaddset(&signals, turn ? SIGBUS : SIGSEGV);
		CHECK(!patch_signals_mask(SIG_BLOCK, &signals, NULL, sigprocmask) && is_blocked());
		for (unsigned int i = 0; i < 1000; i++)
			CHECK(read_at(page) == CALLED);
		CHECK(!mprotect(page, PAGE, PROT_NONE));
		CHECK(read_at(page) == UNREADABLE);
		CHECK(!mprotect(page, PAGE, PROT_READ | PROT_WRITE));
		CHECK(!patch_signals_mask(SIG_UNBLOCK, &signals, NULL, sigprocmask) &&
				!is_blocked());
	}
	make_known(page, 0);
	munmap(page, PAGE);
}

/* Like threads of libraries that block all signals from their begin. */
static void *read_blocked(void *argument)
{
	uint64_t all = ~0ULL, *page = argument;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, MASK_BYTES);
	for (unsigned int i = 0; i < 100; i++)
		CHECK(read_at(page) == CALLED);
	mprotect(page, PAGE, PROT_NONE);
	for (unsigned int i = 0; i < 100; i++)
		CHECK(read_at(page) == UNREADABLE);
	return NULL;
}

static void test_blocked_thread(void)
{
	uint64_t *page = map(1);
	pthread_t thread;

	for (unsigned int i = 0; i < 20; i++) {
		make_known(page, 0);
		CHECK(!pthread_create(&thread, NULL, read_blocked, page));
		pthread_join(thread, NULL);
		CHECK(!mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	}
	munmap(page, PAGE);
}

static uint64_t *in_handler;
static unsigned int handled;
static sigjmp_buf after;
static void *fault_at;
static bool jumps;

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	/* Not endlessly, if the condition under test does not hold. */
	if (handled++ > 100)
		abort();
	CHECK(number == SIGSEGV && info->si_code == SEGV_ACCERR && info->si_addr == fault_at);
	/* The kernel blocks it here: what was known before must not count any more. */
	CHECK(read_at(in_handler) == (is_blocked() ? CALLED : LOADED) || !is_blocked());
	CHECK(!mprotect(in_handler, PAGE, PROT_NONE));
	CHECK(read_at(in_handler) == UNREADABLE);
	CHECK(!mprotect(in_handler, PAGE, PROT_READ | PROT_WRITE));
	if (jumps)
		siglongjmp(after, 1);
	CHECK(!mprotect(fault_at, PAGE, PROT_READ | PROT_WRITE));
	(void)user;
}

static int set_handler(int number, int flags, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags};

	return patch_signals_action(number, &action, NULL, sigaction);
}

static void test_handlers(void)
{
	static const int flags[] = {SA_SIGINFO, SA_SIGINFO | SA_NODEFER, SA_SIGINFO | SA_ONSTACK,
			SA_SIGINFO | SA_RESTART};
	volatile uint64_t *faulty = map(1);

	in_handler = map(1);
	fault_at = (void *)(uintptr_t)faulty;
	for (volatile size_t i = 0; i < 4 * sizeof(flags) / sizeof(flags[0]); i++) {
		CHECK(!set_handler(SIGSEGV, flags[i / 4], on_fault));
		jumps = i & 1;
		handled = 0;
		make_known(in_handler, 0);
		mprotect(fault_at, PAGE, PROT_NONE);
		if (!sigsetjmp(after, 1))
			faulty[0] = i;
		CHECK(handled == 1 && !is_blocked());
		mprotect(fault_at, PAGE, PROT_READ | PROT_WRITE);
		CHECK(jumps || faulty[0] == i);
		/* By loads again, after a while at most. */
		for (unsigned int k = 0; k < 100000 && read_at(in_handler) != LOADED; k++)
			;
		CHECK(spec.outcome == LOADED);
	}
	CHECK(!patch_signals_action(
			SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, NULL, sigaction));
	munmap(fault_at, PAGE);
	munmap(in_handler, PAGE);
}

static void on_masked(int number)
{
	(void)number;
	handled++;
	CHECK(is_blocked());
	/* What it has read a moment ago, with no signal blocked. */
	CHECK(!mprotect(in_handler, PAGE, PROT_NONE));
	CHECK(read_at(in_handler) == UNREADABLE);
	CHECK(!mprotect(in_handler, PAGE, PROT_READ | PROT_WRITE));
	CHECK(read_at(in_handler) == CALLED && read_at(in_handler) == CALLED);
}

/*
 * A handler of another signal that blocks all signals while it runs: its begin is not reported.
 * `reported`: its installation is.
 */
static void test_masked_handler(bool reported)
{
	struct sigaction action = {.sa_handler = on_masked}, before;

	sigfillset(&action.sa_mask);
	in_handler = map(1);
	handled = 0;
	if (reported) {
		CHECK(!patch_signals_action(SIGUSR1, &action, &before, sigaction));
	} else {
		CHECK(!sigaction(SIGUSR1, &action, &before));
		patch_check();
	}
	for (unsigned int i = 1; i <= 100; i++) {
		for (unsigned int k = 0; k < 1000 && read_at(in_handler) != LOADED; k++)
			;
		CHECK(spec.outcome == LOADED && !raise(SIGUSR1) && handled == i);
	}
	CHECK(!patch_signals_action(SIGUSR1, &before, NULL, sigaction));
	patch_check();
	munmap(in_handler, PAGE);
}

/* ---- ends ---- */

static volatile int *nowhere;

static void die_by_fault(void)
{
	*nowhere = 1;
}

static void die_by_signal(void)
{
	kill(getpid(), SIGSEGV);
	pause();
}

static void die_by_bus(void)
{
	raise(SIGBUS);
}

static void die_once(void)
{
	jumps = false;
	set_handler(SIGSEGV, (int)(SA_SIGINFO | SA_RESETHAND), on_fault);
	fault_at = map(1);
	in_handler = map(1);
	mprotect(fault_at, PAGE, PROT_NONE);
	*(volatile int *)fault_at = 1;
	/* The handler was set for one signal only (SA_RESETHAND). */
	mprotect(fault_at, PAGE, PROT_NONE);
	*(volatile int *)fault_at = 1;
}

static void die_blocked(void)
{
	sigset_t signals;

	set_handler(SIGSEGV, SA_SIGINFO, on_fault);
	sigemptyset(&signals);
	sigaddset(&signals, SIGSEGV);
	patch_signals_mask(SIG_BLOCK, &signals, NULL, sigprocmask);
	*nowhere = 1;
}

static void test_ends(void)
{
	static void (*const backends[])(void) = {
			die_by_fault, die_by_signal, die_by_bus, die_once, die_blocked};
	static const int signals[] = {SIGSEGV, SIGSEGV, SIGBUS, SIGSEGV, SIGSEGV};

	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		int status = 0;
		pid_t child = fork();

		if (!child) {
			unsigned int had = wrong;

			CHECK(read_at(&wrong) != UNREADABLE);
			if (wrong == had)
				backends[i]();
			_exit(1);
		}
		CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
				WTERMSIG(status) == signals[i]);
	}
}

/* A child of vfork() shares all variables, but its handlers are its own. */
static void test_vfork(void)
{
	struct sigaction none = {.sa_handler = SIG_DFL}, user_action;
	volatile bool was_loaded = false;
	int status;
	pid_t child;

	CHECK(!set_handler(SIGSEGV, SA_SIGINFO, on_fault));
	child = vfork();
	if (!child) {
		patch_signals_action(SIGSEGV, NULL, &user_action, sigaction);
		was_loaded = user_action.sa_sigaction == on_fault;
		patch_signals_action(SIGSEGV, &none, NULL, sigaction);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && was_loaded);
	CHECK(!patch_signals_action(SIGSEGV, NULL, &user_action, sigaction) &&
			user_action.sa_sigaction == on_fault);
	CHECK(!patch_signals_action(SIGSEGV, &none, NULL, sigaction));
}

/* ---- storm ---- */

static uint64_t *storm[STORM_PAGES];
static bool stop;
static uint64_t seen[4], mixed;

static bool is_over(void)
{
	/* Relaxed: a flag on its own. */
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

/* Threads are created and exit, and some of them block the signals. */
static void *read_storm(void *argument)
{
	uint64_t counts[4] = {0}, bad = 0;
	uint64_t all = ~0ULL;

	if (argument)
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, MASK_BYTES);
	for (unsigned int i = 0; i < 20000 && !is_over(); i++) {
		const uint64_t *page = storm[i % STORM_PAGES];
		unsigned int which = i * 7 % (PAGE / 8);

		if (i & 1) {
			counts[read_at(page + which)]++;
			bad += spec.value != 0 && spec.value != WORD && spec.value != OTHER_WORD;
			bad += spec.outcome == UNREADABLE && spec.value;
		} else if (read_text(page + which, 8) == LOADED) {
			bad += spec.length &&
					(spec.length != 8 ||
							(memcmp(spec.text, "ZZZZZZZZ", 8) &&
									memcmp(spec.text,
											"\xa5\xa5"
											"\xa5\xa5"
											"\xa5\xa5"
											"\xa5\xa5",
											8)));
		}
	}
	for (unsigned int i = 0; i < 4; i++)
		/* Relaxed: statistics, as below. */
		__atomic_fetch_add(&seen[i], counts[i], __ATOMIC_RELAXED);
	__atomic_fetch_add(&mixed, bad, __ATOMIC_RELAXED);
	return NULL;
}

static void fill(uint64_t *page, uint64_t word)
{
	for (unsigned int i = 0; i < PAGE / 8; i++)
		/* Relaxed: a single word. */
		__atomic_store_n(&page[i], word, __ATOMIC_RELAXED);
}

static void *change_storm(void *argument)
{
	int file = *(int *)argument;
	unsigned int seed = 1;

	while (!is_over()) {
		uint64_t *page = storm[rand_r(&seed) % STORM_PAGES];

		switch (rand_r(&seed) % 5) {
		case 0: munmap(page, PAGE); break;
		case 1: mprotect(page, PAGE, PROT_NONE); break;
		case 2:
			if (mmap(page, PAGE, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page)
				fill(page, rand_r(&seed) & 1 ? WORD : OTHER_WORD);
			break;
		case 3:
			(void)!ftruncate(file, PAGE);
			(void)mmap(page, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
			break;
		case 4: (void)!ftruncate(file, 0); break;
		}
		for (unsigned int i = rand_r(&seed) % 2000; i; i--)
			__builtin_ia32_pause();
	}
	return NULL;
}

/* The program's own faults at the same time. */
static void *fault_storm(void *argument)
{
	uint64_t *page = argument;

	while (!is_over()) {
		mprotect(page, PAGE, PROT_NONE);
		*(volatile uint64_t *)page = 1;
		usleep(3000);
	}
	return NULL;
}

static void on_plain_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	handled++;
	if (number != SIGSEGV || info->si_addr != fault_at)
		abort();
	mprotect(fault_at, PAGE, PROT_READ | PROT_WRITE);
}

static void test_storm(unsigned int ms)
{
	char path[] = "/tmp/side-reading-XXXXXX";
	int file = mkstemp(path);
	pthread_t changing, faulting, threads[STORM_THREADS];
	struct timespec now, until;
	uint64_t had = faults();

	unlink(path);
	handled = 0;
	CHECK(!set_handler(SIGSEGV, SA_SIGINFO, on_plain_fault));
	for (unsigned int i = 0; i < STORM_PAGES; i++)
		fill(storm[i] = map(1), WORD);
	/*
	 * No other thread maps a page from here on: it could be at one of these addresses, which
	 * are temporarily free.
	 */
	fault_at = map(1);
	CHECK(!pthread_create(&changing, NULL, change_storm, &file) &&
			!pthread_create(&faulting, NULL, fault_storm, fault_at));
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	for (unsigned int round = 0;; round++) {
		for (unsigned int i = 0; i < STORM_THREADS; i++)
			CHECK(!pthread_create(&threads[i], NULL, read_storm,
					(round + i) % 5 ? NULL : &round));
		for (unsigned int i = 0; i < STORM_THREADS; i++)
			pthread_join(threads[i], NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > until.tv_sec ||
				(now.tv_sec == until.tv_sec && now.tv_nsec > until.tv_nsec))
			break;
		if (round % 3 == 2) {
			/* And the handlers, removed and installed again. */
			CHECK(!patch_permit_reads(false) && !patch_permit_reads(true));
		}
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(changing, NULL);
	pthread_join(faulting, NULL);
	for (unsigned int i = 0; i < STORM_PAGES; i++)
		munmap(storm[i], PAGE);
	close(file);
	CHECK(seen[LOADED] && seen[CALLED] && seen[UNREADABLE] && !seen[NOT_HIT] && !mixed);
	CHECK(handled);
	CHECK(!patch_signals_action(
			SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, NULL, sigaction));
	printf("storm: %llu loaded, %llu by calls, %llu unreadable, %llu caught; %u faults of the "
	       "program's\n",
			(unsigned long long)seen[LOADED], (unsigned long long)seen[CALLED],
			(unsigned long long)seen[UNREADABLE], (unsigned long long)(faults() - had),
			handled);
}

/* ---- to the last bit ---- */

/* The kernel's struct sigaction. */
struct action {
	uint64_t handler, flags, restorer, mask;
};

static struct action all_before[65], all_after[65];

static void read_all(struct action *all)
{
	for (int number = 1; number <= 64; number++)
		syscall(SYS_rt_sigaction, number, NULL, &all[number], MASK_BYTES);
}

static void on_other(int number)
{
	(void)number;
}

static bool is_caught(int number)
{
	struct action has = {0};

	syscall(SYS_rt_sigaction, number, NULL, &has, MASK_BYTES);
	return has.handler > 1 && has.handler != (uintptr_t)on_other;
}

/* All actions are restored exactly, and reported exactly meanwhile. */
static void test_exact(void)
{
	struct sigaction actions[] = {
			{.sa_handler = SIG_DFL},
			{.sa_handler = on_other, .sa_flags = SA_RESTART | SA_NODEFER},
			{.sa_handler = on_other, .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)},
			{.sa_handler = SIG_IGN},
			{.sa_handler = on_other},
	};

	sigaddset(&actions[1].sa_mask, SIGTRAP);
	sigaddset(&actions[1].sa_mask, SIGUSR1);
	sigfillset(&actions[4].sa_mask);
	/* The kernel removes these. */
	sigdelset(&actions[4].sa_mask, SIGKILL);
	sigdelset(&actions[4].sa_mask, SIGSTOP);
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		struct sigaction user_action;
		bool ignored = actions[i].sa_handler == SIG_IGN;

		CHECK(!sigaction(SIGSEGV, &actions[i], NULL) &&
				!sigaction(SIGBUS, &actions[i], NULL));
		read_all(all_before);
		begin();
		CHECK(is_caught(SIGSEGV) == !ignored && is_caught(SIGBUS) == !ignored);
		CHECK(!patch_signals_action(SIGSEGV, NULL, &user_action, sigaction));
		CHECK(user_action.sa_handler == actions[i].sa_handler &&
				(user_action.sa_flags & ~0x4000000) == actions[i].sa_flags &&
				!memcmp(&user_action.sa_mask, &actions[i].sa_mask, MASK_BYTES));
		CHECK(read_at(&all_before) != UNREADABLE && read_at(NULL) == UNREADABLE);
		if (ignored)
			CHECK(read_at(&all_before) == CALLED && !raise(SIGSEGV));
		end();
		read_all(all_after);
		CHECK(!memcmp(all_before, all_after, sizeof(all_before)));
	}
	/* An action that is set meanwhile is as libc would have set it. */
	begin();
	CHECK(!patch_signals_action(SIGBUS, &actions[1], NULL, sigaction) && is_caught(SIGBUS));
	CHECK(!patch_signals_action(SIGSEGV, &actions[3], NULL, sigaction) && !is_caught(SIGSEGV));
	CHECK(!patch_signals_action(SIGSEGV, &actions[2], NULL, sigaction) && is_caught(SIGSEGV));
	end();
	read_all(all_after);
	CHECK(!sigaction(SIGBUS, &actions[1], NULL) && !sigaction(SIGSEGV, &actions[2], NULL));
	read_all(all_before);
	CHECK(!memcmp(all_before, all_after, sizeof(all_before)));
	/*
	 * Set by a bare system call: the action is as it was set, and no load relies on the removed
	 * handler.
	 */
	begin();
	CHECK(!syscall(SYS_rt_sigaction, SIGSEGV, &all_before[SIGBUS], NULL, MASK_BYTES));
	usleep(5000);
	CHECK(read_at(&all_before) == CALLED);
	end();
	read_all(all_after);
	CHECK(!memcmp(&all_before[SIGBUS], &all_after[SIGSEGV], sizeof(all_before[0])));
	CHECK(!sigaction(SIGBUS, &actions[0], NULL) && !sigaction(SIGSEGV, &actions[0], NULL));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	nowhere = (int *)map(1);
	mprotect((void *)(uintptr_t)nowhere, PAGE, PROT_NONE);
	CHECK(!patch_start(false));
	begin();
	end();
	test_exact();
	begin();
	test_invalid_pointers();
	test_unmapped();
	test_page_ends();
	test_text();
	test_masks();
	test_blocked_thread();
	test_handlers();
	test_masked_handler(false);
	test_masked_handler(true);
	test_ends();
	test_vfork();
	test_storm(getenv("SIDE_TEST_LONG") ? LONG_STORM_MS : STORM_MS);
	end();
	test_exact();
	printf("%u checks, %u wrong\n", checks, wrong);
	return wrong != 0;
}
