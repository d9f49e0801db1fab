/* SPDX-License-Identifier: MIT */
/*
 * Probes in this program: each promise of probe/patch/patch.h. The result of each probed function
 * shows that it still works.
 */
#include "counted-check.h"
#include "probed.h"
#include "probe/patch/parts.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))
/* No copy for one caller, and no assumptions about its body in callers. */
#ifdef __clang__
#define NEVER_INLINE __attribute__((noinline, optnone))
#else
#define NEVER_INLINE __attribute__((noipa))
#endif

struct seen {
	uint64_t entries, exits, value, call, returned;
	uint64_t calls[64];
	unsigned int depth, disorder;
	uint64_t *stack;
};

static HANDLER void on_count(const struct patch_hit *hit)
{
	((struct seen *)hit->user)->entries++;
}

static HANDLER void on_count_exit(const struct patch_hit *hit)
{
	((struct seen *)hit->user)->exits++;
}

static HANDLER void on_entry(const struct patch_hit *hit)
{
	struct seen *seen = hit->user;

	seen->entries++;
	seen->value = hit->registers.rdi;
	seen->stack = hit->stack;
	seen->call = hit->call;
	/* Changes all registers that a callee may change. */
	__asm__ volatile("xor %%eax,%%eax; mov $-1,%%rcx; mov $-2,%%rdx; mov $-3,%%rsi; mov "
			 "$-4,%%rdi; mov $-5,%%r8;"
			 "mov $-6,%%r9; mov $-7,%%r10; mov $-8,%%r11; add $1,%%eax" ::
					 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
			 "r11", "cc", "memory");
}

static HANDLER void on_leave(const struct patch_hit *hit)
{
	struct seen *seen = hit->user;

	seen->exits++;
	seen->returned = hit->registers.rax;
	seen->disorder += hit->call != seen->call;
}

static struct patch_setup set_one(
		const char *name, struct seen *seen, unsigned int flags, bool follow)
{
	static struct probe_site site;
	struct patch_setup setup = {.site = &site,
			.entry = on_entry,
			.exit = follow ? on_leave : NULL,
			.user = seen,
			.flags = flags | (follow ? PATCH_EXIT : 0)};

	site = site_of(name);
	memset(seen, 0, sizeof(*seen));
	patch_set(&setup, 1);
	if (setup.error)
		printf("%s: %s\n", name, strerror(-setup.error));
	CHECK(!setup.error);
	return setup;
}

static void remove_one(const struct patch_setup *setup)
{
	CHECK(!patch_remove(&setup->patch, 1));
	/* The bytes are those of the file. */
	CHECK(!memcmp((void *)setup->site->runtime, setup->site->bytes, setup->site->nr_bytes));
}

static const struct stack_slot {
	const char *name;
	int (*function)(int value);
	int adds; /* to its argument; padding gives 0 */
	enum probe_method method;
} locations[] = {
		{"probed_one", probed_one, 1, PROBE_JUMP},
		{"probed_five", probed_five, 5, PROBE_JUMP},
		{"probed_three", probed_three, 3, PROBE_JUMP},
		{"probed_four", probed_four, 4, PROBE_JUMP},
		{"probed_two", probed_two, 2, PROBE_JUMP},
		{"probed_relative", probed_relative, 7, PROBE_JUMP},
		{"probed_call", probed_call, 1, PROBE_JUMP},
		{"probed_padding", probed_padding, 0, PROBE_PADDING},
		{"probed_short", probed_short, 0, PROBE_SHORT},
		{"probed_punned", probed_punned, 0, PROBE_PUNNED},
		{"probed_tail", probed_tail, 101, PROBE_JUMP},
};
#define PLACES (sizeof(locations) / sizeof(locations[0]))

static int wanted_of(const struct stack_slot *stack_slot, int value)
{
	return stack_slot->method == PROBE_PADDING ? 0 : value + stack_slot->adds;
}

static void test_sites(unsigned int flags)
{
	for (size_t i = 0; i < PLACES; i++) {
		for (int follow = 0; follow < 2; follow++) {
			struct seen seen;
			struct patch_setup setup = set_one(locations[i].name, &seen, flags, follow);

			if (setup.error)
				continue;
			if (setup.method !=
					(flags & PATCH_TRAP ? PROBE_BREAKPOINT
							    : locations[i].method))
				printf("%s: method %d of %d\n", locations[i].name, setup.method,
						setup.site->method);
			CHECK(setup.method ==
					(flags & PATCH_TRAP ? PROBE_BREAKPOINT
							    : locations[i].method));
			for (int value = 1; value <= 100; value++) {
				int got = locations[i].function(value);

				if (got != wanted_of(&locations[i], value) ||
						seen.value != (uint64_t)value) {
					printf("%s: %d of %d\n", locations[i].name, got, value);
					CHECK(false);
				}
			}
			CHECK(seen.entries == 100);
			CHECK(seen.exits == (follow ? 100 : 0) && !seen.disorder);
			if (follow)
				CHECK((int)seen.returned == wanted_of(&locations[i], 100));
			remove_one(&setup);
			CHECK(locations[i].function(1) == wanted_of(&locations[i], 1) &&
					seen.entries == 100);
		}
	}
}

/* ---- what remains ---- */

/* True if the page is the file's, and no copy. */
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

static void change_byte(uint8_t *there, uint8_t byte)
{
	void *page = (void *)((uintptr_t)there & ~4095UL);

	CHECK(!mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	*there = byte;
	CHECK(!mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

/* No earlier test may have left a jump in a springboard. */
static void test_quiesce(void)
{
	struct patch_stats before = {0}, after = {0};
	struct seen seen;
	struct patch_setup setup;
	uint8_t *stack_slot;

	for (int i = 0; i < 4; i++) {
		setup = set_one("probed_three", &seen, 0, i % 2);
		stack_slot = (uint8_t *)setup.site->runtime;
		CHECK(probed_three(1) == 4 && seen.entries == 1);
		CHECK(!is_of_file(stack_slot) && !patch_quiesce());
		CHECK(probed_three(2) == 5 && seen.entries == 2);
		remove_one(&setup);
		CHECK(!is_of_file(stack_slot));
		CHECK(patch_quiesce() && is_of_file(stack_slot));
		CHECK(probed_three(3) == 6 && seen.entries == 2);
		CHECK(patch_quiesce());
		patch_stats(i < 2 ? &before : &after);
	}
	/* The same code again, of both kinds. */
	CHECK(after.bytes == before.bytes);

	/* A byte of other code, in the padding after the function. */
	setup = set_one("probed_three", &seen, 0, false);
	stack_slot = (uint8_t *)setup.site->runtime;
	change_byte(stack_slot + 12, 0x90);
	remove_one(&setup);
	CHECK(patch_quiesce() && !is_of_file(stack_slot) && stack_slot[12] == 0x90);
	change_byte(stack_slot + 12, 0xcc);
}

static void *quiesce_concurrently(void *argument)
{
	/*
	 * The tracer of the other thread may be between a trap and its handler, so side keeps the
	 * signals.
	 */
	CHECK(patch_quiesce() && side_probe_traps);
	return argument;
}

/* Runs in the child of test_late_trap(); the result is its status. */
static int be_late(void)
{
	struct seen seen;
	struct patch_setup setup = set_one("probed_three", &seen, PATCH_TRAP, false);
	pthread_t thread;

	remove_one(&setup);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		return wrong != 0;
	CHECK(!pthread_create(&thread, NULL, quiesce_concurrently, NULL) &&
			!pthread_join(thread, NULL));
	raise(SIGSTOP);
	CHECK(probed_three(5) == 8 && probed_three(6) == 9);
	return wrong != 0;
}

/*
 * A thread has met a breakpoint of a probe. When its handler searches the table, the probe was
 * removed and its data released. The tracer runs between both: it writes the byte, and removes it.
 */
static void test_late_trap(void)
{
	uint8_t *stack_slot = (uint8_t *)site_of("probed_three").runtime;
	pid_t child = fork();
	long word;
	int status;

	if (!child)
		_exit(be_late());
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP) {
		printf("tracing is not permitted here: threads that arrive late are not tested\n");
		CHECK(WIFEXITED(status));
		return;
	}
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, child, stack_slot, NULL);
	CHECK(!errno && !ptrace(PTRACE_POKETEXT, child, stack_slot, (word & ~0xffL) | 0xcc));
	CHECK(!ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status) &&
			WSTOPSIG(status) == SIGTRAP);
	CHECK(!ptrace(PTRACE_POKETEXT, child, stack_slot, word));
	CHECK(!ptrace(PTRACE_CONT, child, NULL, (void *)(uintptr_t)SIGTRAP));
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	if (WIFSTOPPED(status))
		kill(child, SIGKILL);
}

/* ---- registers ---- */

static unsigned long long handed[16];

static HANDLER void on_registers(const struct patch_hit *hit)
{
	const struct patch_registers *r = &hit->registers;
	const unsigned long long all[16] = {r->rax, r->rcx, r->rdx, r->rbx,
			(unsigned long long)(uintptr_t)hit->stack, r->rbp, r->rsi, r->rdi, r->r8,
			r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};

	for (int i = 0; i < 16; i++)
		handed[i] = all[i];
	on_entry(&(struct patch_hit){.user = hit->user, .registers = hit->registers});
}

static void test_registers(unsigned int flags)
{
	static struct seen seen;
	struct probe_site site = site_of("probed_registers");
	struct patch_setup setup = {
			.site = &site, .entry = on_registers, .user = &seen, .flags = flags};
	unsigned long long input[17], plain[19], probed[19];

	for (unsigned int flag = 0; flag < 64; flag++) {
		for (int i = 0; i < 16; i++)
			input[i] = 0x1111111111111111ull * (unsigned int)(i + 1) + flag;
		/* Each combination of carry, parity, adjust, zero, sign and overflow. */
		input[16] = 0x202 | (flag & 1) | (flag & 2) << 1 | (flag & 4) << 2 |
				(flag & 8) << 3 | (flag & 16) << 3 | (flag & 32) << 6;
		probed_call_with(probed, input);
		memcpy(plain, probed, sizeof(plain));
		CHECK(!patch_set(&setup, 1));
		memset(handed, 0, sizeof(handed));
		probed_call_with(probed, input);
		for (int i = 0; i < 19; i++) {
			if (plain[i] != probed[i])
				printf("%d: %llx, not %llx\n", i, probed[i], plain[i]);
			CHECK(plain[i] == probed[i]);
		}
		CHECK((probed[16] & 0x8d5) == (input[16] & 0x8d5));
		CHECK(probed[17] == 0x1234567 && probed[18] == 0x7654321);
		for (int i = 0; i < 16; i++) {
			bool kept = flags & PATCH_ALL || (i != 3 && i < 12);

			if (kept)
				CHECK(handed[i] == plain[i]);
		}
		remove_one(&setup);
	}
}

/* ---- calls that do not return, or return in another way ---- */

static jmp_buf back;

static NEVER_INLINE int jumper(int value)
{
	__asm__ volatile("" : "+r"(value)::"memory");
	if (value > 0)
		longjmp(back, value);
	return value - 1;
}

static NEVER_INLINE int deep(int value)
{
	int remainder;

	__asm__ volatile("" : "+r"(value)::"memory");
	remainder = value ? deep(value - 1) : -1;
	__asm__ volatile("" : "+r"(remainder)::"memory");
	return remainder + 1;
}

static bool may_check(void)
{
	char from = 1, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

static void test_longjmp(void)
{
	static struct seen seen;
	struct patch_setup setup = set_one("jumper", &seen, 0, true);
	struct patch_stats before, stats;

	patch_stats(&before);
	for (volatile int i = 1; i <= 20000; i++) {
		int got = setjmp(back);

		if (!got)
			jumper(i);
		else
			CHECK(got == i);
	}
	CHECK(seen.entries == 20000 && !seen.exits);
	CHECK(jumper(0) == -1 && seen.exits == 1);
	patch_stats(&stats);
	/*
	 * All calls that are not yet known to be abandoned; the indices were sufficient. Some
	 * sandboxes forbid the check.
	 */
	CHECK(stats.abandoned <= 20000 && !stats.unseen);
	CHECK(seen.entries ==
			seen.exits + stats.abandoned - before.abandoned + stats.open - before.open);
	if (may_check())
		CHECK(stats.abandoned > 15000);
	remove_one(&setup);
}

static void *run_recursion(void *argument)
{
	static struct seen seen;
	struct patch_setup setup = set_one("deep", &seen, 0, true);
	static const int depths[] = {1, 1000, 50000, 10};
	uint64_t calls = 0;

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		CHECK(deep(depths[i]) == depths[i]);
		calls += (uint64_t)depths[i] + 1;
		CHECK(seen.entries == calls && seen.exits == calls);
	}
	remove_one(&setup);
	return argument;
}

static uint64_t nr_unseen_calls[PATCH_NR_UNSEEN];

static void count_unseen(const struct patch_hit *hit, enum patch_unseen why)
{
	(void)hit;
	nr_unseen_calls[why]++;
}

/* More calls at once than can be watched: they return correctly. */
static void *run_too_deep(void *argument)
{
	static const struct patch_hooks hooks = {.unseen = count_unseen};
	static struct seen seen;
	struct patch_setup setup = set_one("deep", &seen, 0, true);
	struct patch_stats before, stats;

	patch_hooks_set(&hooks);
	patch_stats(&before);
	CHECK(deep(140000) == 140000);
	patch_stats(&stats);
	CHECK(seen.entries == 140001 && stats.unseen > before.unseen &&
			seen.exits == seen.entries - (stats.unseen - before.unseen));
	CHECK(nr_unseen_calls[PATCH_UNSEEN_FULL] == stats.unseen - before.unseen);
	CHECK(stats.unseen - before.unseen == 140001 - 131072);
	CHECK(!nr_unseen_calls[PATCH_UNSEEN_CALLER]);
	remove_one(&setup);
	CHECK(deep(100) == 100);
	return argument;
}

/* More than the initial capacity: the table grows while returns of other threads use it. */
static void *run_grown(void *argument)
{
	static struct seen seen;
	struct patch_setup setup = set_one("deep", &seen, 0, true);
	struct patch_stats before, stats;

	patch_stats(&before);
	for (unsigned int i = 0; i < 3; i++)
		CHECK(deep(140000 + (int)i * 30000) == 140000 + (int)i * 30000);
	patch_stats(&stats);
	CHECK(seen.entries == 140001 + 170001 + 200001 && seen.exits == seen.entries);
	CHECK(stats.unseen == before.unseen);
	CHECK(stats.open + stats.abandoned == before.open + before.abandoned);
	remove_one(&setup);
	return argument;
}

/* Stacks may be small where this test runs. */
static void with_large_stack(void *(*run)(void *argument))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)256 << 20);
	CHECK(!pthread_create(&thread, &attributes, run, NULL) && !pthread_join(thread, NULL));
	pthread_attr_destroy(&attributes);
}

/* If address space is limited, the table does not grow. In a child, whose table is made there. */
static void test_full_table(void)
{
	struct rlimit limit;
	int status = 1;
	pid_t child = fork();

	if (!child) {
		getrlimit(RLIMIT_AS, &limit);
		limit.rlim_cur = (rlim_t)1 << 60;
		CHECK(!setrlimit(RLIMIT_AS, &limit));
		with_large_stack(run_too_deep);
		_exit(wrong ? 1 : 0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
}

/* Removed while its calls are open: they return correctly, without an exit hit. */
static struct patch_setup removed_inside;

static NEVER_INLINE int remover(int value)
{
	__asm__ volatile("" : "+r"(value)::"memory");
	CHECK(!patch_remove(&removed_inside.patch, 1));
	return value + 1;
}

static void test_removed_inside(void)
{
	static struct seen seen;

	removed_inside = set_one("remover", &seen, 0, true);
	CHECK(remover(4) == 5 && seen.entries == 1 && !seen.exits);
}

/*
 * A call is open while another probe replaces the first one at the location: the return belongs to
 * the second probe.
 */
static struct patch_setup taken_over, taking_over;

static NEVER_INLINE int replacer(int value)
{
	__asm__ volatile("" : "+r"(value));
	CHECK(!patch_remove(&taken_over.patch, 1));
	CHECK(!patch_set(&taking_over, 1));
	return value + 1;
}

static void test_taken_over(void)
{
	static struct seen first, second;
	struct probe_site site;

	taken_over = set_one("replacer", &first, 0, true);
	site = *taken_over.site;
	taking_over = (struct patch_setup){.site = &site,
			.entry = on_entry,
			.exit = on_leave,
			.user = &second,
			.flags = PATCH_EXIT | PATCH_GOES_ON};
	CHECK(replacer(4) == 5);
	CHECK(first.entries == 1 && !first.exits && !second.entries && second.exits == 1);
	CHECK(second.returned == 5);
	remove_one(&taking_over);
}

/*
 * Code of no file, as JIT compilers generate it, and code without unwind data, as they build it
 * beforehand. Its return addresses are not replaced, because such programs read them.
 */
static void test_generated_caller(void)
{
	static struct seen seen;
	struct patch_setup setup = set_one("probed_four", &seen, 0, true);
	/* sub $8,%rsp; mov $probed_four,%rax; call *%rax; add $8,%rsp; ret */
	uint8_t code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48,
			0x83, 0xc4, 8, 0xc3};
	uint64_t target = (uint64_t)(uintptr_t)&probed_four;
	struct patch_stats before, after;
	uint8_t *made = mmap(
			NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code + 6, &target, sizeof(target));
	memcpy(made, code, sizeof(code));
	CHECK(!mprotect(made, 4096, PROT_READ | PROT_EXEC));
	patch_stats(&before);
	CHECK(((int (*)(int))(uintptr_t)made)(3) == probed_four(3));
	patch_stats(&after);
	CHECK(seen.entries == 2 && seen.exits == 1 && after.unseen == before.unseen + 1);
	CHECK(((int (*)(int))(uintptr_t)made)(3) == probed_four(3) && seen.call);
	CHECK(seen.entries == 4 && seen.exits == 2);
	CHECK(probed_bare(3) == 7 && !seen.call);
	patch_stats(&after);
	CHECK(seen.entries == 5 && seen.exits == 2 && after.unseen == before.unseen + 3);
	remove_one(&setup);
	munmap(made, 4096);
}

static void test_tail_call(void)
{
	static struct seen tail, one;
	struct patch_setup of_tail, of_one;
	static struct probe_site site;

	of_tail = set_one("probed_tail", &tail, 0, true);
	site = *of_tail.site;
	of_tail.site = &site;
	of_one = set_one("probed_one", &one, 0, true);
	CHECK(probed_tail(5) == 106);
	CHECK(tail.entries == 1 && tail.exits == 1 && tail.returned == 106);
	CHECK(one.entries == 1 && one.exits == 1 && one.value == 105 && one.returned == 106);
	remove_one(&of_one);
	CHECK(probed_tail(5) == 106 && tail.exits == 2 && one.exits == 1);
	remove_one(&of_tail);
}

/* Two open calls for each slot, and so many that abandoned ones are searched meanwhile. */
static void test_deep_tail_calls(void)
{
	static struct seen tail, deep;
	struct probe_site sites[2] = {site_of("probed_tail_deep"), site_of("probed_deep")};
	struct patch_setup setups[2];

	for (int i = 0; i < 2; i++)
		setups[i] = (struct patch_setup){.site = &sites[i],
				.entry = on_count,
				.exit = on_count_exit,
				.user = i ? &deep : &tail,
				.flags = PATCH_EXIT};
	CHECK(!patch_set(setups, 2));
	for (int i = 0; i < 3; i++)
		CHECK(probed_tail_deep(1000) == 1000);
	CHECK(tail.entries == 3003 && tail.exits == 3003);
	CHECK(deep.entries == 3000 && deep.exits == 3000);
	for (int i = 0; i < 2; i++)
		remove_one(&setups[i]);
}

/*
 * A function whose returns cannot be watched: its entry can be probed. The exit is refused, and
 * nothing is changed.
 */
static void test_no_exit(void)
{
	struct probe_site site = site_of("probed_five");
	static struct seen seen;
	struct patch_setup setup = {.site = &site,
			.entry = on_entry,
			.exit = on_leave,
			.user = &seen,
			.flags = PATCH_EXIT};

	site.no_exit = "it is a test";
	patch_set(&setup, 1);
	CHECK(setup.error == -EOPNOTSUPP && !setup.patch);
	CHECK(!memcmp((void *)site.runtime, site.bytes, site.nr_bytes));
	setup.flags = 0;
	setup.exit = NULL;
	patch_set(&setup, 1);
	CHECK(!setup.error);
	CHECK(probed_five(1) == 6 && seen.entries == 1 && !seen.exits);
	remove_one(&setup);
}

static void test_exceptions(void)
{
	static struct seen catching, throwing;
	struct patch_setup outer, inner;
	struct patch_stats before, after;
	static struct probe_site site;

	probed_destroyed = 0;
	outer = set_one("probed_catch", &catching, 0, true);
	site = *outer.site;
	outer.site = &site;
	inner = set_one("probed_throw", &throwing, 0, true);
	patch_stats(&before);
	for (int i = 1; i <= 1000; i++)
		CHECK(probed_catch(i) == i + 1000);
	CHECK(probed_destroyed == 2000);
	CHECK(catching.entries == 1000 && catching.exits == 1000 && catching.returned == 2000);
	CHECK(throwing.entries == 1000 && !throwing.exits);
	patch_stats(&after);
	CHECK(after.abandoned + after.open - before.abandoned - before.open == 1000);
	CHECK(probed_catch(0) == 1 && throwing.exits == 1);
	remove_one(&inner);
	remove_one(&outer);
}

static void *ends(void *argument)
{
	(void)argument;
	pthread_exit((void *)(uintptr_t)probed_one(41));
}

static NEVER_INLINE int ender(int value)
{
	void *(*volatile call)(void *argument) = ends;

	return call(NULL) != NULL ? value : 0;
}

static void *run_ender(void *argument)
{
	ender(1);
	return argument;
}

static void test_thread_end(void)
{
	static struct seen seen;
	struct patch_setup setup = set_one("ender", &seen, 0, true);

	for (int i = 0; i < 100; i++) {
		pthread_t thread;
		void *result;

		CHECK(!pthread_create(&thread, NULL, run_ender, NULL));
		CHECK(!pthread_join(thread, &result) && result == (void *)42);
	}
	CHECK(seen.entries == 100 && !seen.exits);
	remove_one(&setup);
}

/* Two stacks that take turns inside of probed calls. */
static ucontext_t contexts[2];
static int turns;

static NEVER_INLINE int turning(int which)
{
	for (int i = 0; i < 100; i++) {
		turns++;
		swapcontext(&contexts[which], &contexts[!which]);
	}
	return which;
}

static void run_turning(void)
{
	turning(1);
	setcontext(&contexts[0]);
}

static void test_coroutines(void)
{
	static struct seen seen;
	static char stack[262144];
	struct patch_setup setup = set_one("turning", &seen, 0, true);

	getcontext(&contexts[1]);
	contexts[1].uc_stack.ss_sp = stack;
	contexts[1].uc_stack.ss_size = sizeof(stack);
	makecontext(&contexts[1], run_turning, 0);
	CHECK(turning(0) == 0);
	CHECK(seen.entries == 2 && seen.exits == 1 && turns == 200);
	remove_one(&setup);
}

/*
 * Coroutines on stacks of their own, each of which stops in the middle of a few nested calls. Every
 * third one is never continued, and its stack is used by another one. Each call that was recorded
 * at its begin is recorded at its end, or known as abandoned.
 */
#define COROUTINES 300
#define COROUTINE_BYTES 65536
#define ROUNDS 100 /* more calls are abandoned than are set aside (hit.c) */

static ucontext_t owner, coroutines[COROUTINES];
static int finished;

static NEVER_INLINE int nested(int depth)
{
	int got;

	if (!depth) {
		swapcontext(&coroutines[finished], &owner);
		return 0;
	}
	got = nested(depth - 1) + 1;
	__asm__ volatile("" : "+r"(got)::"memory");
	return got;
}

static void run_nested(int which)
{
	CHECK(nested(which % 7) == which % 7);
	setcontext(&owner);
}

static void test_many_coroutines(void)
{
	static struct seen seen;
	struct patch_setup setup = set_one("nested", &seen, 0, true);
	struct patch_stats before, after;
	char *stacks = malloc((size_t)COROUTINES * COROUTINE_BYTES);

	CHECK(stacks != NULL);
	patch_stats(&before);
	for (int round = 0; round < ROUNDS; round++) {
		for (finished = 0; finished < COROUTINES; finished++) {
			ucontext_t *each = &coroutines[finished];

			getcontext(each);
			each->uc_stack.ss_sp = stacks + (size_t)finished * COROUTINE_BYTES;
			each->uc_stack.ss_size = COROUTINE_BYTES;
			makecontext(each, (void (*)(void))run_nested, 1, finished);
			swapcontext(&owner, each);
		}
		for (finished = 0; finished < COROUTINES; finished++) {
			if (finished % 3)
				swapcontext(&owner, &coroutines[finished]);
		}
	}
	patch_stats(&after);
	CHECK(seen.entries > ROUNDS * COROUTINES && seen.exits > seen.entries / 2 &&
			seen.exits < seen.entries);
	CHECK(seen.entries ==
			seen.exits + (after.abandoned - before.abandoned) +
					(after.unseen - before.unseen) +
					(after.open - before.open));
	/* Stacks that are used again end the calls on them; some sandboxes forbid the check. */
	if (may_check())
		CHECK(after.abandoned > before.abandoned);
	remove_one(&setup);
	free(stacks);
}

/*
 * Calls that longjmp() leaves, in a program that then stores numbers in that memory. Each number is
 * also the index of one of these calls, which is no copy of a stack: calls are still found
 * abandoned.
 */
#define LEFT_FIRST 5000
#define LEFT_CALLS 80000
#define LEFT_DEEP 500
#define LEFT_NUMBERS 512

static jmp_buf left_target;

static NEVER_INLINE int left(int value)
{
	if (value)
		longjmp(left_target, 1);
	return value;
}

static NEVER_INLINE void leave_calls(int count)
{
	for (volatile int i = 0; i < count; i++) {
		if (!setjmp(left_target))
			left(1);
	}
}

static NEVER_INLINE void leave_calls_below(uint64_t number)
{
	volatile uint64_t numbers[LEFT_NUMBERS];

	for (unsigned int i = 0; i < LEFT_NUMBERS; i++)
		numbers[i] = number;
	leave_calls(LEFT_DEEP);
	__asm__ volatile("" ::"r"(numbers) : "memory");
}

static void test_numbers_in_slots(void)
{
	static struct seen seen;
	struct patch_setup setup = set_one("left", &seen, 0, true);
	struct patch_stats before, after;

	patch_stats(&before);
	leave_calls(LEFT_FIRST);
	for (unsigned int i = 0; i < LEFT_CALLS / LEFT_DEEP; i++)
		leave_calls_below(100 + i);
	patch_stats(&after);
	CHECK(seen.entries == LEFT_FIRST + LEFT_CALLS && !seen.exits);
	CHECK(seen.entries == after.abandoned - before.abandoned + after.open - before.open);
	if (may_check())
		CHECK(after.abandoned - before.abandoned > LEFT_CALLS / 2);
	remove_one(&setup);
}

/* ---- unwinding ---- */

static void *frames[2][64];
static int nr_frames[2];

static NEVER_INLINE void note_frames(int which)
{
	nr_frames[which] = backtrace(frames[which], 64);
}

/* An unwinder uses more than general registers, so this handler is not usable elsewhere. */
static void on_backtrace(const struct patch_hit *hit)
{
	char vectors[512] __attribute__((aligned(16)));

	(void)hit;
	__asm__ volatile("fxsave %0" : "=m"(vectors));
	note_frames(1);
	__asm__ volatile("fxrstor %0" ::"m"(vectors));
}

static NEVER_INLINE int unwound(int value)
{
	__asm__ volatile("" : "+r"(value)::"memory");
	if (value)
		note_frames(0);
	return value + 1;
}

static NEVER_INLINE int unwound_outer(int value)
{
	int got = unwound(value) + 1;

	__asm__ volatile("" : "+r"(got)::"memory");
	return got;
}

static void compare_frames(bool follow)
{
	struct probe_site site = site_of("unwound"), outer = site_of("unwound_outer");
	struct patch_setup setups[2] = {{.site = &site, .entry = on_backtrace},
			{.site = &outer, .entry = on_entry, .flags = follow ? PATCH_EXIT : 0}};
	struct seen seen;
	int at;

	setups[1].user = &seen;
	CHECK(!patch_set(setups, 2));
	CHECK(unwound_outer(1) == 3);
	CHECK(nr_frames[1] > 3 && nr_frames[0] > 3);
	/* From the outermost frame on: the same, up to the function that both were in. */
	for (at = 1; at < nr_frames[0] && at < nr_frames[1]; at++) {
		if (frames[0][nr_frames[0] - at] != frames[1][nr_frames[1] - at])
			break;
	}
	/* The different frames: note_frames and `unwound` here, the frames of the hit there. */
	CHECK(at >= nr_frames[0] - 1);
	CHECK(nr_frames[0] >= 5);
	for (int i = 0; i < 2; i++)
		CHECK(!patch_remove(&setups[i].patch, 1));
}

static void test_backtrace(void)
{
	compare_frames(false);
	compare_frames(true);
}

/*
 * Steps through a probed call instruction by instruction, and checks all frames at each. Those of
 * the caller and above are always the same, in the trampoline, in the gate and in the functions
 * that they call.
 */
#define STEPPED_BYTES 64 /* of a function that is not stepped through */
#define TRAP_FLAG "0x100"

static struct {
	uintptr_t from, to; /* of the function itself, and of its copy: not checked, */
	uintptr_t caller;   /* and of the code that changes the flag, likewise */
	void *wanted[32];   /* from the caller on */
	int nr_wanted;
	uintptr_t springboard; /* but this is checked, although it is after the function */
	unsigned int steps, springboards, wrong;
} stepping;

static bool has_callers(void *const *seen, int nr)
{
	for (int i = 0; i + stepping.nr_wanted <= nr; i++) {
		if (!memcmp(seen + i, stepping.wanted, (size_t)stepping.nr_wanted * sizeof(*seen)))
			return i + stepping.nr_wanted == nr;
	}
	return false;
}

static void on_step(int number, siginfo_t *info, void *context)
{
	uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	void *seen[64];
	int nr;

	(void)number;
	(void)info;
	if (pc - stepping.from < stepping.to - stepping.from && pc != stepping.springboard)
		return;
	if (pc - stepping.caller < 256)
		return;
	nr = backtrace(seen, 64);
	stepping.steps++;
	stepping.springboards += pc == stepping.springboard;
	if (has_callers(seen, nr))
		return;
	if (!stepping.wrong++) {
		printf("at %p, of %d frames:\n", (void *)pc, nr);
		backtrace_symbols_fd(seen, nr, 1);
	}
}

/*
 * `step`: steps through the function; otherwise it is called once to record its callers. The call
 * comes last, so that the frames are alike.
 */
static NEVER_INLINE int call_stepping(int (*function)(int), int value, bool step)
{
	int got = 0;

	if (!step)
		stepping.nr_wanted = backtrace(stepping.wanted, 32);
	else
		__asm__ volatile("pushfq; orq $" TRAP_FLAG ", (%%rsp); popfq" ::: "memory", "cc");
	got = function(value);
	__asm__ volatile("pushfq; andq $~" TRAP_FLAG ", (%%rsp); popfq" ::: "memory", "cc");
	return got;
}

static NEVER_INLINE void step_through(int (*function)(int), int wanted)
{
	volatile int turns_wanted =
			2; /* one call, so that it returns to the same address both times */

	for (int turn = 0; turn < turns_wanted; turn++) {
		CHECK(call_stepping(function, 1, turn) == wanted);
		/* The function's own frame begins elsewhere inside of it. */
		if (!turn && stepping.nr_wanted) {
			memmove(stepping.wanted, stepping.wanted + 1,
					(size_t)--stepping.nr_wanted * sizeof(void *));
		}
	}
}

/* For a site in a function that is not stepped through itself. */
static void step_at(struct probe_site *site, int (*function)(int), unsigned int flags)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
	struct seen seen = {0};
	struct patch_setup setup = {.site = site,
			.entry = on_entry,
			.exit = flags & PATCH_EXIT ? on_leave : NULL,
			.user = &seen,
			.flags = flags};

	memset(&stepping, 0, sizeof(stepping));
	CHECK(!sigaction(SIGTRAP, &action, &before));
	CHECK(!patch_set(&setup, 1));
	stepping.caller = (uintptr_t)&call_stepping;
	stepping.from = (uintptr_t)function;
	stepping.to = stepping.from + STEPPED_BYTES;
	if (setup.method == PROBE_SHORT)
		stepping.springboard = setup.patch->slot;
	step_through(function, function == probed_short ? 1 : 2);
	CHECK(seen.entries == 2 && seen.exits == (flags & PATCH_EXIT ? 2 : 0));
	CHECK(stepping.nr_wanted >= 3 && !stepping.wrong);
	CHECK(stepping.steps > 60 && stepping.springboards == (setup.method == PROBE_SHORT));
	CHECK(!patch_remove(&setup.patch, 1));
	/* After these bytes may be a springboard of another probe. */
	CHECK(!memcmp((void *)site->runtime, site->bytes, site->patched));
	CHECK(!sigaction(SIGTRAP, &before, NULL));
}

static void test_steps(unsigned int flags)
{
	struct probe_site site = site_of("probed_one");

	step_at(&site, probed_one, flags);
	site = site_of("probed_short");
	step_at(&site, probed_short, flags);
	CHECK(stepping.springboards == !(flags & PATCH_TRAP));
}

/* Its stack pointer moves at the begin, and at the end. */
static NEVER_INLINE int step_inside(int value)
{
	volatile int some[20];

	some[value] = value;
	__asm__ volatile("" ::: "rbx", "r12", "r13");
	return some[value] + 1;
}

/* Calls a function by name and through a register. */
static NEVER_INLINE int step_calling(int value)
{
	int (*function)(int) = probed_five;
	int got = probed_one(value);

	__asm__ volatile("" : "+r"(function), "+r"(got)::"memory", "rbx", "r12");
	got += function(value);
	__asm__ volatile("" : "+r"(got)::"memory");
	return got - 6;
}

/*
 * At each instruction of the function: displaced instructions push, move the stack pointer, call,
 * pop.
 */
static void step_at_each(const char *name, int (*function)(int))
{
	unsigned int nr = 0;

	for (unsigned int at = 0; at < STEPPED_BYTES; at++) {
		struct probe_site site = site_at(name, at);

		if (site.nr_pieces && site.method != PROBE_NONE &&
				site.method != PROBE_BREAKPOINT) {
			nr++;
			step_at(&site, function, 0);
		}
		/*
		 * The last instruction, whether it was executed or not: the next bytes are another
		 * function.
		 */
		if (site.nr_pieces && site.ends)
			break;
	}
	CHECK(nr > 4);
}

/* ---- signals, recursion, forks ---- */

static HANDLER void on_nested(const struct patch_hit *hit)
{
	struct seen *seen = hit->user;

	seen->entries++;
	seen->value += (uint64_t)probed_three(1);
}

static void test_recursive_handler(void)
{
	static struct seen seen, inner;
	struct probe_site site = site_of("probed_one");
	struct patch_setup setup = {.site = &site, .entry = on_nested, .user = &seen};
	struct patch_setup three = set_one("probed_three", &inner, 0, false);
	struct patch_stats before, after;

	patch_stats(&before);
	CHECK(!patch_set(&setup, 1));
	for (int i = 0; i < 10; i++)
		CHECK(probed_one(i) == i + 1);
	patch_stats(&after);
	CHECK(seen.entries == 10 && seen.value == 40 && !inner.entries);
	CHECK(after.cut - before.cut == 10);
	remove_one(&setup);
	CHECK(probed_three(0) == 3 && inner.entries == 1);
	remove_one(&three);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals += probed_two(0);
}

static void test_signals(void)
{
	static struct seen seen;
	struct patch_setup setup = set_one("probed_two", &seen, 0, true);
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 1000; i++)
		raise(SIGUSR1);
	CHECK(signals == 2000 && seen.entries == 1000 && seen.exits == 1000);
	remove_one(&setup);
}

static volatile sig_atomic_t own_traps;

static void on_own_trap(int number)
{
	own_traps += number == SIGTRAP;
}

static void test_own_traps(void)
{
	static struct seen seen;
	struct patch_setup setup;
	struct sigaction action = {.sa_handler = on_own_trap};

	/* Replaces side's handler: the next probe notices it. */
	sigaction(SIGTRAP, &action, NULL);
	setup = set_one("probed_one", &seen, PATCH_TRAP, false);
	__asm__ volatile("int3");
	CHECK(own_traps == 1);
	CHECK(probed_one(1) == 2 && seen.entries == 1 && own_traps == 1);
	raise(SIGTRAP);
	CHECK(own_traps == 2);
	remove_one(&setup);
}

static void test_fork(void)
{
	static struct seen seen;
	struct patch_setup setup = set_one("probed_four", &seen, 0, true);
	pid_t child;
	int status;

	probed_four(1);
	child = fork();
	if (!child) {
		int right = probed_four(1) == 5 && seen.entries == 2 && seen.exits == 2;

		right = right && !patch_remove(&setup.patch, 1) && probed_four(1) == 5 &&
				seen.entries == 2;
		_exit(right ? 7 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CHECK(probed_four(1) == 5 && seen.entries == 2);
	remove_one(&setup);
}

/* ---- refusals ---- */

static void test_refusals(void)
{
	static struct seen seen;
	struct patch_setup setup = set_one("probed_one", &seen, 0, false), again = setup;
	struct probe_site site = site_of("probed_three");
	struct patch_setup other = {.site = &site, .entry = on_entry, .user = &seen};
	sigset_t set;

	CHECK(patch_set(&again, 1) == 1 && (again.error == -EBUSY || again.error == -ESTALE) &&
			!again.patch);
	remove_one(&setup);
	site.bytes[0] ^= 1;
	CHECK(patch_set(&other, 1) == 1 && other.error == -ESTALE);
	site = site_of("probed_three");
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* A thread that sets probes must not be killed by them. */
	CHECK(!patch_set(&other, 1) && !sigprocmask(SIG_BLOCK, NULL, &set) &&
			!sigismember(&set, SIGTRAP));
	remove_one(&other);
	site.method = PROBE_NONE;
	CHECK(patch_set(&other, 1) == 1 && other.error == -EINVAL);
	CHECK(probed_three(1) == 4 && probed_one(1) == 2);
}

/*
 * Two sites with adjacent bytes: the second one gets a breakpoint if there is space for nothing
 * else, or is refused.
 */
static void test_adjacent(const char *name, unsigned int offset, int (*function)(int), int adds)
{
	static struct seen seen, seen_inner;
	struct probe_site site = site_of(name), inner_site = site_at(name, offset);
	struct patch_setup setup = {.site = &site, .entry = on_entry, .user = &seen},
			   inner = {.site = &inner_site, .entry = on_entry, .user = &seen_inner};

	memset(&seen, 0, sizeof(seen));
	memset(&seen_inner, 0, sizeof(seen_inner));
	CHECK(inner_site.method != PROBE_NONE && !patch_set(&setup, 1));
	CHECK(setup.method == site.method && site.method != PROBE_BREAKPOINT);
	CHECK(patch_set(&inner, 1) == 1 && inner.error == -EBUSY);
	CHECK(function(1) == 1 + adds && seen.entries == 1);
	remove_one(&setup);
	CHECK(!patch_set(&inner, 1) && !patch_set(&setup, 1));
	CHECK(setup.method == PROBE_BREAKPOINT);
	CHECK(function(1) == 1 + adds && seen.entries == 2 && seen_inner.entries == 1);
	remove_one(&inner);
	CHECK(function(1) == 1 + adds && seen.entries == 3);
	remove_one(&setup);
	CHECK(!patch_set(&setup, 1) && setup.method == site.method);
	CHECK(function(1) == 1 + adds && seen.entries == 4);
	remove_one(&setup);
	CHECK(function(1) == 1 + adds && seen.entries == 4 && seen_inner.entries == 1);
}

/* In the middle of a function, where the stack pointer may be anywhere and there is a red zone. */
static NEVER_INLINE uint64_t mixing(uint64_t value)
{
	uint64_t sum = value;

	for (unsigned int i = 0; i < 20; i++)
		sum = (sum ^ i) * 0x9e3779b97f4a7c15u + (sum >> 7);
	return sum;
}

/*
 * The springboard of a short jump is in the padding that another jump needs. That one gets a
 * breakpoint while the springboard is there, and a jump when it has gone.
 */
static void test_springboard_in_padding(void)
{
	static struct seen one, two;
	struct probe_site first = site_of("probed_short"),
			  second = {.method = PROBE_PADDING,
					  .displaced = 1,
					  .patched = PROBE_JUMP_BYTES,
					  .ends = true,
					  .nr_pieces = 1,
					  .pieces = {{.length = 1}},
					  .nr_bytes = PROBE_JUMP_BYTES};
	struct patch_setup setups[2] = {{.site = &first, .entry = on_count, .user = &one},
			{.site = &second, .entry = on_count, .user = &two}};
	const uint8_t *springboard =
			(const uint8_t *)(first.runtime + (first.springboard - first.address));
	uint64_t expected = 0;

	/* The byte after a return is padding, and that is the springboard. */
	second.runtime = second.address = (uint64_t)(uintptr_t)springboard - 1;
	second.bytes[0] = 0xc3;
	memcpy(second.bytes + 1, first.springboard_bytes, PROBE_JUMP_BYTES - 1);
	CHECK(first.method == PROBE_SHORT && springboard[-1] == second.bytes[0]);
	CHECK(!patch_set(&setups[0], 1) && setups[0].method == PROBE_SHORT);
	for (uint64_t i = 0; i < 2; i++) {
		CHECK(!patch_set(&setups[1], 1) &&
				setups[1].method == (i ? PROBE_PADDING : PROBE_BREAKPOINT));
		for (size_t k = 0; k < PLACES; k++)
			CHECK(locations[k].function(5) == wanted_of(&locations[k], 5));
		CHECK(one.entries == 1 && two.entries > expected);
		if (i) {
			CHECK(!patch_set(&setups[0], 1) && setups[0].method == PROBE_BREAKPOINT);
			CHECK(probed_short(4) == 4 && one.entries == 2);
		}
		expected = two.entries;
		CHECK(!patch_remove(&setups[0].patch, 1));
		CHECK(!patch_remove(&setups[1].patch, 1) && springboard[-1] == 0xc3);
	}
	CHECK(!memcmp(springboard, first.springboard_bytes, PROBE_JUMP_BYTES));
	/* The breakpoint was temporary. */
	for (int i = 0; i < 2; i++) {
		CHECK(!patch_set(&setups[0], 1) && setups[0].method == PROBE_SHORT);
		CHECK(probed_short(4) == 4 && !patch_remove(&setups[0].patch, 1));
		CHECK(patch_quiesce() && !side_probe_pads);
	}
	for (size_t k = 0; k < PLACES; k++)
		CHECK(locations[k].function(5) == wanted_of(&locations[k], 5));
	CHECK(two.entries == expected);
}

static void test_inside(void)
{
	static struct seen seen;
	uint64_t wanted = mixing(77);
	unsigned int set = 0, hit = 0;

	for (unsigned int offset = 1; offset < 80; offset++) {
		struct probe_site site = site_at("mixing", offset);
		struct patch_setup setup = {.site = &site, .entry = on_entry, .user = &seen};
		uint64_t before = seen.entries;

		if (site.method == PROBE_NONE || patch_set(&setup, 1))
			continue;
		set++;
		CHECK(mixing(77) == wanted);
		hit += seen.entries > before;
		remove_one(&setup);
	}
	CHECK(set > 5 && hit > 5);
}

/* ---- the direction flag ---- */

#define DIRECTION_FLAG 0x400ull
static uint64_t handler_flags;
static unsigned int nr_flags;

static HANDLER void on_flags(const struct patch_hit *hit)
{
	(void)hit;
	handler_flags |= __builtin_ia32_readeflags_u64();
	nr_flags++;
}

/*
 * With the direction flag set: C forbids that, but it is possible between functions in assembly.
 * Returns the flags after the call.
 */
static NEVER_INLINE uint64_t call_downwards(int (*function)(int), int *value)
{
	uint64_t flags;

	/* Skips the red zone. */
	__asm__ volatile("lea -128(%%rsp), %%rsp; std; call *%2; pushfq; popq %1; cld; "
			 "lea 128(%%rsp), %%rsp"
			 : "+D"(*value), "=r"(flags)
			 : "r"(function)
			 : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	return flags;
}

/* Handlers run with the flag clear, and the program gets it back. */
static void test_direction(const char *name, int (*function)(int), unsigned int flags)
{
	struct probe_site site = site_of(name);
	struct patch_setup setup = {.site = &site,
			.entry = on_flags,
			.exit = flags & PATCH_EXIT ? on_flags : NULL,
			.flags = flags};
	int plain = 5, probed = 5;

	CHECK(call_downwards(function, &plain) & DIRECTION_FLAG);
	handler_flags = nr_flags = 0;
	CHECK(!patch_set(&setup, 1));
	for (int i = 0; i < 3; i++) {
		probed = 5;
		CHECK(call_downwards(function, &probed) & DIRECTION_FLAG);
		CHECK(probed == plain);
		CHECK(function(5) == function(5));
	}
	CHECK(nr_flags == (flags & PATCH_EXIT ? 18 : 9));
	CHECK(!(handler_flags & DIRECTION_FLAG));
	remove_one(&setup);
}

static void test_directions(unsigned int flags)
{
	test_direction("probed_one", probed_one, flags);
	test_direction("probed_short", probed_short, flags);
	test_direction("probed_five", probed_five, flags);
	test_direction("probed_four", probed_four, flags);
}

int main(int argc, char **argv)
{
	bool plain = argc > 1 && !strcmp(argv[1], "plain");

	setvbuf(stdout, NULL, _IONBF, 0);
	/* Loads the unwinder, as in programs that unwind. */
	note_frames(0);
	if (patch_start(plain)) {
		printf("this kernel has no barrier for code: nothing can be tested\n");
		return 77;
	}
	test_full_table();
	test_quiesce();
	test_late_trap();
	for (int i = 0; i < 2; i++) {
		test_sites(0);
		test_sites(PATCH_ALL);
		test_sites(PATCH_TRAP);
		CHECK(patch_quiesce());
	}
	test_registers(0);
	test_registers(PATCH_ALL);
	for (int i = 0; i < 2; i++) {
		test_directions(i * PATCH_EXIT);
		test_directions(i * PATCH_EXIT | PATCH_ALL);
		test_directions(i * PATCH_EXIT | PATCH_TRAP);
	}
	test_inside();
	test_longjmp();
	with_large_stack(run_recursion);
	test_removed_inside();
	test_taken_over();
	test_generated_caller();
	test_tail_call();
	test_deep_tail_calls();
	test_no_exit();
	test_exceptions();
	test_thread_end();
	test_coroutines();
	test_numbers_in_slots();
	test_many_coroutines();
	test_backtrace();
	test_steps(0);
	test_steps(PATCH_ALL);
	test_steps(PATCH_EXIT);
	test_steps(PATCH_EXIT | PATCH_TRAP);
	step_at_each("step_inside", step_inside);
	step_at_each("step_calling", step_calling);
	test_recursive_handler();
	test_signals();
	test_adjacent("probed_punned", 1, probed_punned, 0);
	test_adjacent("probed_four", 4, probed_four, 4);
	test_own_traps();
	test_fork();
	test_refusals();
	test_springboard_in_padding();
	with_large_stack(run_grown);
	printf("%u checks, %u wrong\n", checks, wrong);
	return wrong ? 1 : 0;
}
