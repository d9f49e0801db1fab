/* SPDX-License-Identifier: MIT */
/*
 * libunwind finds the same callers with and without probes: in a probe's handler, in functions
 * whose returns are watched, several calls and recursions deep, and at each instruction of
 * trampolines and gates: test-libunwind early | late
 *
 * `late`: it is loaded after probes were set. It is loaded by name, so that both are possible.
 */
#define UNW_LOCAL_ONLY
#include "counted-check.h"
#include "probed.h"
#include "probe/patch/parts.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))
/* No copy for one caller, and no assumptions about its body in callers. */
#ifdef __clang__
#define NEVER_INLINE __attribute__((noinline, optnone))
#else
#define NEVER_INLINE __attribute__((noipa))
#endif
#define TRAP_FLAG "0x100"
#define FRAMES 128
#define DEPTH 4
#define NAME(function) NAME_(function)
#define NAME_(function) #function

/* ---- libunwind ---- */

static int (*init_local)(unw_cursor_t *cursor, unw_context_t *context, int flags);
static int (*step_out)(unw_cursor_t *cursor);
static int (*get_register)(unw_cursor_t *cursor, unw_regnum_t number, unw_word_t *value);
static int (*fast_backtrace)(void **to, int most);

static void find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	CHECK(found != NULL);
	memcpy(function, &found, sizeof(found));
}

static bool load(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW);

	if (!library)
		return false;
	find(library, NAME(unw_init_local2), &init_local);
	find(library, NAME(unw_step), &step_out);
	find(library, NAME(unw_get_reg), &get_register);
	find(library, "unw_backtrace", &fast_backtrace);
	patch_find_unwinder();
	return true;
}

struct callers {
	int nr;
	unw_word_t at[FRAMES];
};

/*
 * True for generated code: it is in no file, except gates. Not called for code that is stepped
 * through, because it calls the loader.
 */
static bool is_generated(unw_word_t address)
{
	Dl_info info;

	return address - (uintptr_t)patch_gates < GATES_BYTES || !dladdr((void *)address, &info);
}

static void add(struct callers *callers, unw_word_t at)
{
	if (callers->nr < FRAMES && !is_generated(at))
		callers->at[callers->nr++] = at;
}

static NEVER_INLINE void walk(struct callers *callers, ucontext_t *context, int flags)
{
	unw_cursor_t cursor;
	int more = init_local(&cursor, context, flags);

	callers->nr = 0;
	for (int i = 0; i < FRAMES && more >= 0; i++) {
		unw_word_t at = 0;

		CHECK(!get_register(&cursor, UNW_REG_IP, &at));
		add(callers, at);
		more = step_out(&cursor);
		if (!more)
			return;
	}
	/* The list of callers ends. */
	CHECK(!more);
}

/* Returns how many callers are the same, from the outermost one on. */
static int same(const struct callers *one, const struct callers *other)
{
	int nr = 0;

	while (nr < one->nr && nr < other->nr &&
			one->at[one->nr - 1 - nr] == other->at[other->nr - 1 - nr])
		nr++;
	return nr;
}

/* ---- functions that are called ---- */

static struct callers plain, handled, quick;
static struct callers *into;
static uint64_t hits;

static NEVER_INLINE int unwind_here(int value)
{
	ucontext_t context;
	void *fast[FRAMES];
	int nr;

	if (!into)
		return value;
	CHECK(!getcontext(&context));
	walk(into, &context, 0);
	nr = fast_backtrace(fast, FRAMES);
	quick.nr = 0;
	for (int i = 0; i < nr; i++)
		add(&quick, (unw_word_t)fast[i]);
	return value;
}

static NEVER_INLINE int innermost(int value)
{
	int got = unwind_here(value) + 1;

	__asm__ volatile("" : "+r"(got)::"memory");
	return got;
}

static NEVER_INLINE int again(int value)
{
	int got = value > 0 ? again(value - 1) : innermost(0);

	__asm__ volatile("" : "+r"(got)::"memory");
	return got + 1;
}

static NEVER_INLINE int outermost(int value)
{
	int got = again(value) + 1;

	__asm__ volatile("" : "+r"(got)::"memory");
	return got;
}

#define WANTED (DEPTH + 3)

static const char *const names[] = {"innermost", "again", "outermost"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static HANDLER void on_hit(const struct patch_hit *hit)
{
	(void)hit;
	hits++;
}

/* An unwinder uses more than general registers, so this handler is not usable elsewhere. */
static void on_innermost(const struct patch_hit *hit)
{
	char vectors[512] __attribute__((aligned(16)));
	ucontext_t context;

	(void)hit;
	hits++;
	if (!into)
		return;
	__asm__ volatile("fxsave %0" : "=m"(vectors));
	CHECK(!getcontext(&context));
	walk(&handled, &context, 0);
	__asm__ volatile("fxrstor %0" ::"m"(vectors));
}

static struct probe_site sites[NAMES];
static struct patch_setup setups[NAMES];

static void set_all(unsigned int flags)
{
	hits = 0;
	for (size_t i = 0; i < NAMES; i++) {
		sites[i] = site_of(names[i]);
		setups[i] = (struct patch_setup){.site = &sites[i],
				.entry = i ? on_hit : on_innermost,
				.flags = flags};
	}
	CHECK(!patch_set(setups, NAMES));
}

static void remove_all(void)
{
	for (size_t i = 0; i < NAMES; i++)
		CHECK(setups[i].patch && !patch_remove(&setups[i].patch, 1));
}

/* ---- the same frames ---- */

/* A function of its own, so that its callers are the same in each call. */
static NEVER_INLINE void see(struct callers *callers)
{
	into = callers;
	CHECK(outermost(DEPTH) == WANTED);
	into = NULL;
}

static void test_frames(unsigned int flags)
{
	struct callers seen;

	for (volatile int turn = 0; turn < 2; turn++) {
		if (turn)
			set_all(flags);
		see(turn ? &seen : &plain);
		CHECK(same(&quick, turn ? &seen : &plain) >= plain.nr - 2);
	}
	CHECK(hits == DEPTH + 3);
	/*
	 * walk's caller, then innermost, again, outermost, see, this one, main and what calls it.
	 */
	CHECK(plain.nr > DEPTH + 6);
	CHECK(seen.nr == plain.nr && same(&seen, &plain) == plain.nr);
	/* In the handler, up to what has called the function. */
	CHECK(same(&handled, &plain) >= plain.nr - 2);
	if (seen.nr != plain.nr || same(&handled, &plain) < plain.nr - 2)
		printf("flags %u: of %d callers %d are the same, in the handler %d\n", flags,
				plain.nr, same(&seen, &plain), same(&handled, &plain));
	remove_all();
}

/* ---- at each instruction ---- */

static struct {
	struct callers wanted; /* from stepped() on */
	uint64_t springboard;  /* of a short jump, 0: none */
	unsigned int steps, made, springboards, wrong;
} stepping;

static bool in_copy(uintptr_t pc)
{
	for (size_t i = 0; i < NAMES; i++) {
		const struct patch *patch = setups[i].patch;

		if (patch && pc >= patch->hot->copy &&
				pc < patch->trampoline +
								patch_trampoline_kind(
										patch->trampoline)
										.bytes)
			return true;
	}
	return false;
}

static bool in_probe(uintptr_t pc)
{
	for (size_t i = 0; i < NAMES; i++) {
		const struct patch *patch = setups[i].patch;

		if (patch &&
				pc - patch->trampoline <
						patch_trampoline_kind(patch->trampoline).bytes)
			return true;
	}
	return false;
}

static NEVER_INLINE int stepped(int (*function)(int), bool step);

static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;
	uintptr_t pc = (uintptr_t)user->uc_mcontext.gregs[REG_RIP];
	struct callers seen;

	(void)number;
	(void)info;
	/* Displaced instructions, and the code that changes the flag. */
	if (in_copy(pc) || pc - (uintptr_t)&stepped < 256)
		return;
	stepping.steps++;
	stepping.made += in_probe(pc) || is_generated(pc);
	stepping.springboards += pc == stepping.springboard;
	walk(&seen, user, UNW_INIT_SIGNAL_FRAME);
	if (same(&seen, &stepping.wanted) >= stepping.wanted.nr - 1)
		return;
	if (!stepping.wrong++) {
		printf("at %#lx, of %d frames:\n", (unsigned long)pc, seen.nr);
		for (int i = 0; i < seen.nr; i++)
			printf("  %#lx\n", (unsigned long)seen.at[i]);
	}
}

/* `step`: steps through the function; otherwise it is called once to record its callers. */
static NEVER_INLINE int stepped(int (*function)(int), bool step)
{
	ucontext_t context;
	int got = 0;

	if (!step) {
		CHECK(!getcontext(&context));
		walk(&stepping.wanted, &context, 0);
	} else {
		__asm__ volatile("pushfq; orq $" TRAP_FLAG ", (%%rsp); popfq" ::: "memory", "cc");
	}
	got = function(2);
	__asm__ volatile("pushfq; andq $~" TRAP_FLAG ", (%%rsp); popfq" ::: "memory", "cc");
	return got;
}

static void test_steps(unsigned int flags)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;

	memset(&stepping, 0, sizeof(stepping));
	CHECK(!sigaction(SIGTRAP, &action, &before));
	set_all(flags);
	for (volatile int turn = 0; turn < 2; turn++)
		CHECK(stepped(outermost, turn) == 5);
	CHECK(stepping.wanted.nr >= 3 && !stepping.wrong);
	/*
	 * A trampoline has some forty instructions, and a gate too; the functions that they call
	 * are stepped through too.
	 */
	CHECK(stepping.made > (flags & PATCH_EXIT ? 300u : 150u) && stepping.steps > stepping.made);
	remove_all();
	CHECK(!sigaction(SIGTRAP, &before, NULL));
}

/* In padding, between functions that the unwinder knows. */
static void test_springboard(unsigned int flags)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
	struct probe_site site = site_of("probed_short");
	struct patch_setup *setup = &setups[0];

	memset(&stepping, 0, sizeof(stepping));
	memset(setups, 0, sizeof(setups));
	CHECK(!sigaction(SIGTRAP, &action, &before));
	/* The springboard was padding again in between. */
	for (int i = 0; i < 2; i++) {
		*setup = (struct patch_setup){.site = &site, .entry = on_hit, .flags = flags};
		CHECK(!patch_set(setup, 1) && setup->method == PROBE_SHORT);
		stepping.springboard = setup->patch->slot;
		for (volatile int turn = 0; turn < 2; turn++)
			CHECK(stepped(probed_short, turn) == 2);
		CHECK(stepping.springboards == 1u + (unsigned int)i && !stepping.wrong);
		CHECK(!patch_remove(&setup->patch, 1) && patch_quiesce() && !side_probe_pads);
	}
	CHECK(!sigaction(SIGTRAP, &before, NULL));
}

int main(int argc, char **argv)
{
	bool late = argc > 1 && !strcmp(argv[1], "late");

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!late && !load()) {
		printf("libunwind is not installed: nothing can be tested\n");
		return 77;
	}
	if (patch_start(false)) {
		printf("this kernel has no barrier for code: nothing can be tested\n");
		return 77;
	}
	if (late) {
		set_all(PATCH_EXIT);
		CHECK(outermost(DEPTH) == WANTED);
		if (!load()) {
			printf("libunwind is not installed: nothing can be tested\n");
			return 77;
		}
		into = &handled;
		CHECK(outermost(DEPTH) == WANTED && handled.nr > DEPTH + 6);
		into = NULL;
		remove_all();
	}
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int exits = i ? PATCH_EXIT : 0;

		test_frames(exits);
		test_frames(exits | PATCH_ALL);
		test_frames(exits | PATCH_TRAP);
		test_steps(exits);
		test_steps(exits | PATCH_ALL);
		test_steps(exits | PATCH_TRAP);
		test_springboard(exits);
	}
	printf("%u checks, %u wrong\n", checks, wrong);
	return wrong ? 1 : 0;
}
