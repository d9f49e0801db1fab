/* SPDX-License-Identifier: MIT */
/*
 * Exact values of threads and signals at probes: contexts that are moved to a site and back, the
 * end of a handler, words of stacks, calls that are restarted, and actions in the forms of the
 * kernel and of the C library. The test includes the files, with arenas of its own.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../check.h"
#include "probe/patch/actions.h"
#include "probe/patch/arena.h"

static struct patch_arena fake_arenas[3];
static size_t nr_fake_arenas;

static struct patch_kind fake_kind(uint64_t trampoline)
{
	(void)trampoline;
	return fake_arenas[1].kind;
}

static const uint8_t *fake_frames(bool follows)
{
	static uint8_t frames[2][256];

	for (int i = 0; i < 256; i++) {
		frames[0][i] = (uint8_t)(8 + i);
		frames[1][i] = (uint8_t)(16 + i);
	}
	return frames[follows];
}

#define patch_arenas fake_arenas
#define patch_nr_arenas nr_fake_arenas
#define patch_trampoline_kind fake_kind
#define patch_trampoline_frames fake_frames
#include "probe/patch/moved.c"
#undef patch_arenas
#undef patch_nr_arenas
#undef patch_trampoline_kind

#define segments stack_segments
#include "probe/patch/quiescence.c"
#undef segments
#include <cpuid.h>

/* A made-up processor. */
static struct {
	bool is_played;
	uint32_t highest, state_bytes, features;
	const char *maker, *hypervisor;
	bool has_keys;
} processor;

static void played_cpuid(uint32_t leaf, uint32_t part, uint32_t to[4])
{
	memset(to, 0, 4 * sizeof(*to));
	switch (leaf) {
	case 0:
		CHECK(!part);
		to[0] = processor.highest;
		memcpy(&to[1], processor.maker, 4);
		memcpy(&to[3], processor.maker + 4, 4);
		memcpy(&to[2], processor.maker + 8, 4);
		return;
	case 1:
		CHECK(!part);
		to[2] = processor.features;
		return;
	case 7:
		CHECK(!part);
		to[2] = (uint32_t)processor.has_keys << 4;
		return;
	case 13:
		CHECK(part == 9);
		to[0] = processor.state_bytes;
		to[1] = 2688;
		return;
	case 0x40000000:
		CHECK(!part && processor.features >> 31);
		memcpy(&to[1], processor.hypervisor, 12);
		return;
	default: CHECK(false);
	}
}

static void any_cpuid(uint32_t leaf, uint32_t part, uint32_t to[4])
{
	if (processor.is_played)
		played_cpuid(leaf, part, to);
	else
		__cpuid_count(leaf, part, to[0], to[1], to[2], to[3]);
}

#undef __cpuid_count
#define __cpuid_count(leaf, part, a, b, c, d) any_cpuid(leaf, part, registers)
#include "probe/patch/resume.c"
#include "probe/patch/threads.c"

/* ---- contexts at a site ---- */

static struct patch patches[4];
static struct patch_hot hot;

static void make_arenas(void)
{
	memset(fake_arenas, 0, sizeof(fake_arenas));
	memset(patches, 0, sizeof(patches));
	fake_arenas[0] = (struct patch_arena){.start = 0x10000, .size = 0x1000};
	fake_arenas[1] = (struct patch_arena){.start = 0x20000,
			.size = 4 * HEADS_BYTES,
			.kind = {.bytes = HEADS_BYTES, .follows = true},
			.patches = patches};
	nr_fake_arenas = 2;
	hot.copy = 0x20000 + HEADS_BYTES + 20;
	patches[1] = (struct patch){.hot = &hot,
			.site = {.runtime = 0x5000},
			.trampoline = 0x20000 + HEADS_BYTES,
			.locations = {0x5000, 0x5003, 0x5005, 0x5009},
			.begins = {23, 25, 255, 255, 255},
			.pushed = 27};
}

static bool moves(uint64_t from, struct patch_moved *moved, ucontext_t *context, siginfo_t *info)
{
	memset(context, 0, sizeof(*context));
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)from;
	context->uc_mcontext.gregs[REG_RSP] = 0x7000;
	return patch_move_to_site(info, context, moved);
}

static void test_moved(void)
{
	const uint64_t trampoline = 0x20000 + HEADS_BYTES;
	static const struct {
		unsigned int at;
		uint64_t to;
		int64_t away;
	} rows[] = {{0, 0x5000, 8}, {5, 0x5000, 13}, {19, 0x5000, 27}, {20, 0x5000, 0},
			{22, 0x5000, 0}, {23, 0x5003, 0}, {24, 0x5003, 0}, {25, 0x5005, 0},
			{26, 0x5005, 0}, {27, 0x5005, 8}, {60, 0x5005, 8}};
	struct patch_moved moved;
	ucontext_t context;
	siginfo_t info = {.si_code = SEGV_MAPERR};

	make_arenas();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t from = trampoline + rows[i].at;

		info.si_addr = (void *)from;
		CHECK(moves(from, &moved, &context, &info));
		CHECK(moved.patch == &patches[1] && moved.from == from && moved.to == rows[i].to &&
				moved.away == rows[i].away);
		CHECK((uint64_t)context.uc_mcontext.gregs[REG_RIP] == rows[i].to);
		CHECK(context.uc_mcontext.gregs[REG_RSP] == 0x7000 + rows[i].away &&
				moved.stack == 0x7000u + (uint64_t)rows[i].away);
		CHECK(info.si_addr == (void *)rows[i].to);
		patch_move_back(&context, &moved);
		CHECK((uint64_t)context.uc_mcontext.gregs[REG_RIP] == from &&
				context.uc_mcontext.gregs[REG_RSP] == 0x7000);
	}
	/* The program has chosen another address, or another stack: both are kept. */
	CHECK(moves(trampoline + 27, &moved, &context, &info));
	context.uc_mcontext.gregs[REG_RIP]++;
	patch_move_back(&context, &moved);
	CHECK(context.uc_mcontext.gregs[REG_RIP] == 0x5006 &&
			context.uc_mcontext.gregs[REG_RSP] == 0x7008);
	CHECK(moves(trampoline + 27, &moved, &context, &info));
	context.uc_mcontext.gregs[REG_RSP]++;
	patch_move_back(&context, &moved);
	CHECK(context.uc_mcontext.gregs[REG_RIP] == 0x5005 &&
			context.uc_mcontext.gregs[REG_RSP] == 0x7009);
	/* Another address in the siginfo_t, or a signal that was sent. */
	info.si_addr = (void *)(trampoline + 1);
	CHECK(moves(trampoline, &moved, &context, &info) &&
			info.si_addr == (void *)(trampoline + 1));
	info.si_code = SI_USER;
	info.si_addr = (void *)trampoline;
	CHECK(moves(trampoline, &moved, &context, &info) && info.si_addr == (void *)trampoline);
	/* No site: slots, heads, another trampoline, after the end, a probe that is not set. */
	CHECK(!moves(0x10000, &moved, &context, &info) && !moved.patch &&
			context.uc_mcontext.gregs[REG_RIP] == 0x10000);
	CHECK(!moves(0x20000 + HEADS_BYTES - 1, &moved, &context, &info));
	CHECK(!moves(0x20000 + 2 * HEADS_BYTES, &moved, &context, &info));
	CHECK(!moves(0x20000 + 4 * HEADS_BYTES, &moved, &context, &info) &&
			!moves(0x1ffff, &moved, &context, &info));
	patches[1].site.runtime = 0;
	CHECK(!moves(trampoline, &moved, &context, &info));
	make_arenas();
	patches[1].trampoline++;
	CHECK(!moves(trampoline, &moved, &context, &info));
	nr_fake_arenas = 1;
	make_arenas();
	nr_fake_arenas = 1;
	CHECK(!moves(trampoline, &moved, &context, &info));
}

static void test_moved_for_good(void)
{
	static uint8_t code[8] __attribute__((aligned(8))) = {1, 2, 3, 4, 5, 6, 7, 8};
	struct patch_moved moved = {.patch = &patches[1]};

	make_arenas();
	patches[1].site = (struct probe_site){
			.runtime = (uintptr_t)code, .patched = 5, .bytes = {1, 2, 3, 4, 5}};
	patches[1].method = PROBE_JUMP;
	CHECK(patch_move_for_good(&moved));
	CHECK(code[0] == 1 && code[4] == 5 && code[5] == 6);
}

/* ---- the end of a handler ---- */

static struct {
	_Alignas(64) uint8_t bytes[1024];
} state;

static void make_context(ucontext_t *context, uint32_t magic, uint64_t components)
{
	const struct resume_note one = {.magic = magic, .components = components};

	memset(context, 0, sizeof(*context));
	memset(&state, 0, sizeof(state));
	memcpy(state.bytes + 464, &one, sizeof(one));
	context->uc_mcontext.fpregs = (void *)&state;
	context->uc_mcontext.gregs[REG_CSGSFS] =
			(greg_t)(resume_code_segment() | UINT64_C(0x2b) << 48);
}

static void test_resume(void)
{
	ucontext_t context;

	resumes = true;
	pkru_at = 0;
	if (resume_has_shadow_stack())
		return;
	make_context(&context, NOTE_MAGIC, 7);
	CHECK(patch_resume_is_plain(&context) && patch_resume_components(&context) == 7);
	context.uc_mcontext.gregs[REG_CSGSFS]++;
	CHECK(!patch_resume_is_plain(&context) && !patch_resume_components(&context));
	make_context(&context, NOTE_MAGIC, 7);
	context.uc_mcontext.gregs[REG_CSGSFS] &= 0xffff;
	CHECK(!patch_resume_is_plain(&context));
	/* The stack segment is above bit 48, and others do not count. */
	context.uc_mcontext.gregs[REG_CSGSFS] |= (greg_t)(UINT64_C(0xffff) << 32);
	CHECK(!patch_resume_is_plain(&context));
	context.uc_mcontext.gregs[REG_CSGSFS] |= (greg_t)(UINT64_C(1) << 48);
	CHECK(patch_resume_is_plain(&context));
	for (unsigned int bit = 0; bit < 22; bit++) {
		make_context(&context, NOTE_MAGIC, 7);
		context.uc_mcontext.gregs[REG_EFL] = 1 << bit;
		CHECK(patch_resume_is_plain(&context) == (bit != 8 && bit != 14));
	}
	make_context(&context, NOTE_MAGIC, 7);
	context.uc_stack.ss_flags = (int)(1u << 31);
	CHECK(!patch_resume_is_plain(&context));
	context.uc_stack.ss_flags = 1 << 30;
	CHECK(patch_resume_is_plain(&context));
	make_context(&context, NOTE_MAGIC + 1, 7);
	CHECK(!patch_resume_components(&context));
	make_context(&context, NOTE_MAGIC, 7);
	context.uc_mcontext.fpregs = (void *)(state.bytes + 32);
	memmove(state.bytes + 32 + 464, state.bytes + 464, 16);
	CHECK(!patch_resume_components(&context));
	context.uc_mcontext.fpregs = NULL;
	CHECK(!patch_resume_components(&context));
	/* Protection keys that cannot be compared. */
	make_context(&context, NOTE_MAGIC, 7 | 1u << 9);
	CHECK(!patch_resume_components(&context));
	resumes = false;
	make_context(&context, NOTE_MAGIC, 7);
	CHECK(!patch_resumes() && !patch_resume_components(&context));
	resumes = true;
	CHECK(patch_resumes());
	patch_resume_never();
	CHECK(!patch_resumes());
	never = false;
}

/* pkru_at, or -1 if a handler returns by a system call. */
static int64_t start_on(const char *maker, uint32_t highest, uint32_t features, uint32_t bytes,
		bool has_keys)
{
	processor.maker = maker;
	processor.highest = highest;
	processor.features = features;
	processor.state_bytes = bytes;
	processor.has_keys = has_keys;
	resumes = false;
	pkru_at = 4711;
	patch_resume_start();
	return resumes ? (int64_t)pkru_at : -1;
}

static void test_processors(void)
{
	const uint32_t xsave = 1u << 27, guest = 1u << 31;

	processor.is_played = true;
	CHECK(start_on("GenuineIntel", 13, xsave, 8, true) == 2688);
	CHECK(start_on("AuthenticAMD", 14, xsave, 4, true) == 2688);
	/* The register is not in the frame. */
	CHECK(start_on("HygonGenuine", 13, xsave, 3, false) == 0);
	CHECK(start_on("  Shanghai  ", 13, xsave, 3, true) == -1 && pkru_at == 0);
	CHECK(start_on("CentaurHauls", 12, xsave, 8, true) == -1 && pkru_at == 4711);
	CHECK(start_on("CentaurHauls", 13, ~(xsave | guest), 8, true) == -1 && pkru_at == 4711);
	CHECK(start_on("GenuineTMx86", 13, xsave, 8, true) == -1 && pkru_at == 4711);
	processor.hypervisor = "KVMKVMKVM\0\0";
	CHECK(start_on("GenuineIntel", 13, xsave | guest, 8, true) == 2688);
	processor.hypervisor = "TCGTCGTCGTCG";
	CHECK(start_on("GenuineIntel", 13, xsave | guest, 8, true) == -1);
	processor.is_played = false;
}

/* Names of processors and of an emulator, in the order of their registers. */
static void test_names(void)
{
	uint32_t registers[4];
	char name[13] = "", other[13];

	resume_cpuid(0, 0, registers);
	memcpy(name, &registers[1], 4);
	memcpy(name + 4, &registers[3], 4);
	memcpy(name + 8, &registers[2], 4);
	CHECK(resume_has_name(0, name, 3));
	for (int i = 0; i < 12; i++) {
		memcpy(other, name, 13);
		other[i] ^= 1;
		CHECK(!resume_has_name(0, other, 3));
	}
	memcpy(other, name, 4);
	memcpy(other + 4, name + 8, 4);
	memcpy(other + 8, name + 4, 4);
	CHECK(resume_has_name(0, other, 2));
}

/* ---- words of stacks ---- */

static uint64_t wanted_address;

static bool is_wanted(uint64_t address)
{
	return address == wanted_address;
}

static void test_mappings(void)
{
	static struct quiescence_mapping made[8];
	struct stacks stacks = {.bytes_left = 1000};

	mappings = made;
	nr_mappings = 0;
	quiescence_add_mapping(&(struct quiescence_mapping){0x1000, 0x2000, true});
	quiescence_add_mapping(&(struct quiescence_mapping){0x2000, 0x3000, true});
	CHECK(nr_mappings == 1 && made[0].start == 0x1000 && made[0].end == 0x3000);
	quiescence_add_mapping(&(struct quiescence_mapping){0x3000, 0x4000, false});
	quiescence_add_mapping(&(struct quiescence_mapping){0x4000, 0x5000, true});
	quiescence_add_mapping(&(struct quiescence_mapping){0x6000, 0x7000, true});
	CHECK(nr_mappings == 4 && made[3].start == 0x6000);
	CHECK(quiescence_end_of_mapping(0xfff) == 0 &&
			quiescence_end_of_mapping(0x1000) == 0x3000 &&
			quiescence_end_of_mapping(0x2fff) == 0x3000);
	CHECK(quiescence_end_of_mapping(0x3000) == 0x4000 &&
			quiescence_end_of_mapping(0x5000) == 0 &&
			quiescence_end_of_mapping(0x6fff) == 0x7000);
	CHECK(quiescence_end_of_mapping(0x7000) == 0 && quiescence_end_of_mapping(0x5fff) == 0);
	CHECK(quiescence_add_stack(&stacks, 0x1015) && stacks.nr == 1 &&
			stacks.ranges[0].start == 0x1010 && stacks.ranges[0].end == 0x3000);
	CHECK(quiescence_add_stack(&stacks, 0x1010) && quiescence_add_stack(&stacks, 0x2fff) &&
			stacks.nr == 1);
	CHECK(quiescence_add_stack(&stacks, 0x100f) && stacks.nr == 2 &&
			stacks.ranges[1].start == 0x1008);
	CHECK(!quiescence_add_stack(&stacks, 0x5000));
	stacks.nr = 7;
	CHECK(quiescence_add_stack(&stacks, 0x6008) && stacks.nr == 8);
	CHECK(!quiescence_add_stack(&stacks, 0x6000) && quiescence_add_stack(&stacks, 0x6010) &&
			stacks.nr == 8);
	nr_mappings = 0;
	CHECK(quiescence_end_of_mapping(0x1000) == 0);
}

static void test_words(void)
{
	static uint64_t stack[16];
	static struct quiescence_mapping made[1];
	struct stacks stacks = {.bytes_left = sizeof(stack)};

	mappings = made;
	made[0] = (struct quiescence_mapping){(uintptr_t)stack, (uintptr_t)(stack + 16), true};
	nr_mappings = 1;
	is_there = is_wanted;
	stack_segments = 0x3300000000002b;
	wanted_address = 77;
	CHECK(quiescence_is_clear(&stacks, (uintptr_t)stack) && stacks.bytes_left == 0);
	stacks = (struct stacks){.bytes_left = sizeof(stack) - 1};
	CHECK(!quiescence_is_clear(&stacks, (uintptr_t)stack));
	for (int i = 0; i < 16; i++) {
		stack[i] = 77;
		stacks = (struct stacks){.bytes_left = 4096};
		CHECK(!quiescence_is_clear(&stacks, (uintptr_t)stack));
		stacks = (struct stacks){.bytes_left = 4096, .frames_only = true};
		CHECK(quiescence_is_clear(&stacks, (uintptr_t)stack));
		stack[i] = 0;
	}
	/* The kernel stores there the stack pointer, program counter, flags and segments. */
	stack[3] = (uintptr_t)&stack[8];
	stack[6] = stack_segments;
	stacks = (struct stacks){.bytes_left = 4096, .frames_only = true};
	CHECK(quiescence_is_clear(&stacks, (uintptr_t)stack) && stacks.nr == 1);
	stack[4] = 77;
	stacks = (struct stacks){.bytes_left = 4096, .frames_only = true};
	CHECK(!quiescence_is_clear(&stacks, (uintptr_t)stack));
	stack[4] = 0;
	stack[3] = 8;
	stacks = (struct stacks){.bytes_left = 4096, .frames_only = true};
	CHECK(!quiescence_is_clear(&stacks, (uintptr_t)stack));
	stacks = (struct stacks){.bytes_left = 4096};
	CHECK(!quiescence_is_clear(&stacks, 8));
}

static void test_same_actions(void)
{
	const struct thread_state_sample one = {
			.call = 1, .stack_pointer = 2, .program_counter = 3, .switches = 4};
	struct thread_state_sample other = one;

	CHECK(quiescence_is_same_sample(&one, &other));
	other.call++;
	CHECK(!quiescence_is_same_sample(&one, &other));
	other = one;
	other.stack_pointer++;
	CHECK(!quiescence_is_same_sample(&one, &other));
	other = one;
	other.program_counter++;
	CHECK(!quiescence_is_same_sample(&one, &other));
	other = one;
	other.switches++;
	CHECK(!quiescence_is_same_sample(&one, &other));
	other.call = SYS_vfork;
	CHECK(quiescence_waits_for_child(&other));
	other.call = SYS_clone;
	CHECK(quiescence_waits_for_child(&other));
	other.call = SYS_clone3;
	CHECK(quiescence_waits_for_child(&other));
	other.call = SYS_fork;
	CHECK(!quiescence_waits_for_child(&other));
}

/* ---- threads ---- */

static unsigned int nr_reported;

static void count_threads(pid_t tid, void *data)
{
	CHECK(data == &nr_reported && tid == getpid());
	nr_reported++;
}

static void test_threads(void)
{
	static const long again[] = {SYS_epoll_wait, SYS_epoll_pwait, SYS_rt_sigtimedwait,
			SYS_semop, SYS_semtimedop, SYS_msgrcv, SYS_io_getevents, SYS_io_uring_enter,
			SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_write,
			SYS_writev, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_accept, SYS_accept4,
			SYS_connect};
	struct patch_thread thread;
	unsigned int nr = 0;
	sigset_t set, before;

	for (size_t i = 0; i < sizeof(again) / sizeof(*again); i++)
		CHECK(patch_thread_may_restart_call((unsigned long long)again[i]));
	for (unsigned long long call = 0; call < 600; call++)
		nr += patch_thread_may_restart_call(call);
#ifdef SYS_epoll_pwait2
	nr--;
#endif
	CHECK(nr == sizeof(again) / sizeof(*again));
	CHECK(patch_thread_has_worker_name("Name:\tiou-wrk-5\n") &&
			patch_thread_has_worker_name("Name:\tvhost-12\n"));
	CHECK(!patch_thread_has_worker_name("Name:\tiou\n") &&
			!patch_thread_has_worker_name("Name:\tvhost\n") &&
			!patch_thread_has_worker_name("State:\tiou-\n"));
	CHECK(!patch_thread_is_worker(getpid()) && !patch_thread_is_worker(0));
	CHECK(patch_threads_each(count_threads, &nr_reported) && nr_reported == 1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &before);
	raise(SIGUSR1);
	CHECK(patch_thread_inspect(getpid(), &thread));
	CHECK(thread.tid == getpid() && thread.state == 'R' && !thread.traced);
	CHECK(thread.blocked & UINT64_C(1) << (SIGUSR1 - 1) &&
			thread.pending == UINT64_C(1) << (SIGUSR1 - 1));
	sigpending(&set);
	CHECK(sigismember(&set, SIGUSR1));
	signal(SIGUSR1, SIG_IGN);
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGUSR1, SIG_DFL);
	CHECK(!patch_thread_inspect(0, &thread) && thread.state == 0 && thread.tid == 0);
}

/* ---- other threads ---- */

static struct {
	pthread_t thread;
	pid_t tid;
	int ends[2];
	bool runs, is_guarded, stop;
	uint64_t word;
} helper;

static void *wait_with_word(void *user)
{
	volatile uint64_t on_stack[4] = {0, helper.word, 0, 0};
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog filter = {1, &allow};
	char byte;

	(void)user;
	if (helper.is_guarded)
		CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
				!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) &&
				patch_is_guarded());
	__atomic_store_n(&helper.tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (helper.runs && !__atomic_load_n(&helper.stop, __ATOMIC_RELAXED))
		;
	CHECK(helper.runs || read(helper.ends[0], &byte, 1) == 1);
	return (void *)(uintptr_t)on_stack[1];
}

static void begin_other(uint64_t word, bool runs, bool is_guarded)
{
	struct patch_thread thread;

	memset(&helper, 0, sizeof(helper));
	helper.word = word;
	helper.runs = runs;
	helper.is_guarded = is_guarded;
	CHECK(!pipe(helper.ends) && !pthread_create(&helper.thread, NULL, wait_with_word, NULL));
	while (!__atomic_load_n(&helper.tid, __ATOMIC_ACQUIRE))
		usleep(100);
	while (!runs && (!patch_thread_inspect(helper.tid, &thread) || thread.state != 'S'))
		usleep(100);
}

static void end_other(void)
{
	helper.stop = true;
	CHECK(write(helper.ends[1], "", 1) == 1);
	pthread_join(helper.thread, NULL);
	close(helper.ends[0]);
	close(helper.ends[1]);
}

static pid_t stopped_thread;
static unsigned int nr_stopped;

static void note_stop(pid_t tid)
{
	stopped_thread = tid;
	nr_stopped++;
}

/* A thread that is not scheduled for long is released; then try again. */
static bool stops(const pid_t *tids, unsigned int count, patch_at_stop *at_stop)
{
	for (int i = 0; i < 200; i++) {
		nr_stopped = 0;
		if (patch_threads_stop(tids, count, at_stop) == count)
			return nr_stopped == (at_stop ? count : 0);
	}
	return false;
}

static bool pass_at_last(void)
{
	for (int i = 0; i < 200; i++) {
		if (patch_all_quiesced(is_wanted))
			return true;
	}
	return false;
}

static void test_quiesced(void)
{
	const uint64_t word = 0x7123456789ab;
	struct quiescence_mapping *all = mmap(NULL, MAPPINGS_MAX * sizeof(*all),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct patch_thread thread;
	struct thread_state_sample sample;
	bool guarded = false;

	CHECK(all != MAP_FAILED);
	begin_other(word, false, false);
	mappings = all;
	is_there = is_wanted;
	CHECK(quiescence_read_mappings());
	/* The thread sleeps, and none of its words is such an address. */
	wanted_address = word + 1;
	CHECK(quiescence_has_quiesced(helper.tid, &guarded) == PATCH_PROVED && !guarded);
	wanted_address = word;
	CHECK(quiescence_has_quiesced(helper.tid, &guarded) == PATCH_DISPROVED);
	CHECK(quiescence_read_thread(helper.tid, &sample) && sample.call == SYS_read);
	wanted_address = sample.program_counter;
	CHECK(quiescence_has_quiesced(helper.tid, &guarded) == PATCH_DISPROVED);
	CHECK(quiescence_has_quiesced(INT32_MAX, &guarded) == PATCH_PROVED && !guarded);
	wanted_address = word + 1;
	CHECK(pass_at_last());
	wanted_address = word;
	CHECK(!patch_all_quiesced(is_wanted));
	end_other();
	/* Its word has changed. */
	CHECK(pass_at_last());
	/* A thread that runs is stopped for a moment. */
	begin_other(word, true, false);
	mappings = all;
	CHECK(quiescence_read_mappings());
	CHECK(!patch_thread_inspect(helper.tid, &thread) || thread.state != 'R' ||
			quiescence_has_quiesced(helper.tid, &guarded) == PATCH_UNPROVED);
	CHECK(!patch_all_quiesced(is_wanted));
	wanted_address = word + 1;
	CHECK(pass_at_last());
	end_other();
	/* A thread has a seccomp filter. */
	begin_other(word + 5, false, true);
	mappings = all;
	CHECK(quiescence_read_mappings());
	CHECK(quiescence_has_quiesced(helper.tid, &guarded) == PATCH_PROVED && guarded);
	CHECK(patch_thread_inspect(helper.tid, &thread) && thread.guarded && !thread.traced);
	CHECK(!patch_is_guarded());
	end_other();
	munmap(all, MAPPINGS_MAX * sizeof(*all));
	mappings = NULL;
	nr_mappings = 0;
}

static void test_stopped(void)
{
	sigset_t before, after;
	pid_t tids[2];

	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &before));
	begin_other(1, true, false);
	tids[0] = tids[1] = helper.tid;
	CHECK(stops(tids, 1, note_stop) && stopped_thread == helper.tid);
	CHECK(stops(tids, 2, note_stop) && stops(tids, 0, note_stop) && stops(tids, 1, NULL));
	end_other();
	/* A call that waits is not interrupted by it. */
	begin_other(1, false, false);
	tids[0] = helper.tid;
	CHECK(stops(tids, 1, note_stop));
	end_other();
	/* A thread that has exited, and one of another process. */
	nr_stopped = 0;
	CHECK(patch_threads_stop(tids, 1, note_stop) == 0 && !nr_stopped);
	tids[0] = 1;
	CHECK(patch_threads_stop(tids, 1, note_stop) == 0 && !nr_stopped);
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &after) && !memcmp(&before, &after, 8));
}

/* ---- actions ---- */

static void handle(int number)
{
	(void)number;
}

static void test_actions(void)
{
	const struct patch_action one = {1, 2, 3, 4};
	struct patch_action other = one, now = {0}, before = {.handler = 1};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct sigaction again;

	CHECK(patch_is_same_action(&one, &other));
	other.handler++;
	CHECK(!patch_is_same_action(&one, &other));
	other = one;
	other.flags++;
	CHECK(!patch_is_same_action(&one, &other));
	other = one;
	other.restorer++;
	CHECK(!patch_is_same_action(&one, &other));
	other = one;
	other.mask++;
	CHECK(!patch_is_same_action(&one, &other));
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGHUP);
	sigaddset(&action.sa_mask, 64);
	patch_restorer_of_libc = 0x1234;
	now = patch_action_as_kernel(&action);
	CHECK(now.handler == (uintptr_t)handle && now.restorer == 0x1234 &&
			now.mask == (UINT64_C(1) | UINT64_C(1) << 63));
	CHECK(now.flags == (SA_RESTART | SA_ONSTACK | 0x4000000));
	again = patch_action_as_libc(&now);
	CHECK(again.sa_handler == handle && again.sa_flags == (int)now.flags);
	CHECK(sigismember(&again.sa_mask, SIGHUP) && sigismember(&again.sa_mask, 64) &&
			!sigismember(&again.sa_mask, SIGINT));
	CHECK(patch_exchange_action(SIGUSR2, NULL, &before) == 0 && before.handler == 0);
	now = (struct patch_action){
			.handler = (uintptr_t)handle, .flags = 0x4000000, .restorer = 5, .mask = 6};
	CHECK(patch_exchange_action(SIGUSR2, &now, &before) == 0);
	CHECK(patch_exchange_action(SIGUSR2, NULL, &before) == 0 &&
			patch_is_same_action(&now, &before));
	now.handler = 0;
	CHECK(patch_exchange_action(SIGUSR2, &now, NULL) == 0);
	CHECK(patch_exchange_action(SIGKILL, &now, NULL) == -EINVAL);
	patch_restorer_of_libc = 0;
}

int main(void)
{
	test_moved();
	test_moved_for_good();
	test_processors();
	test_resume();
	test_names();
	test_mappings();
	test_words();
	test_same_actions();
	test_threads();
	test_quiesced();
	test_stopped();
	test_actions();
	return 0;
}
