/* SPDX-License-Identifier: MIT */
/*
 * Proves that no thread is at, or returns to, an instruction that is no longer reachable. A thread
 * that was on its way there may still be there, because it was preempted. Or it has got a signal
 * there, whose handler it runs, maybe within other handlers: then the kernel has stored the address
 * on the stack of each handler, and returns to it at the end. The depth is unknown, so each word of
 * the thread's stack is checked, from its stack pointer on.
 *
 * A handler may have a stack of its own. A signal frame on a stack is recognized by the code and
 * stack segments in it, which are the same in each thread of such a program. It contains the
 * interrupted stack pointer, so that stack is checked too.
 *
 * All of this must hold at one moment. A thread that sleeps does not move: it has not run if its
 * counters of context switches are unchanged. Its program counter and stack pointer are in
 * /proc/self/task/N/syscall, which does not disturb it. A thread that never sleeps is stopped.
 *
 * Processes that share the memory are not checked: the child of a vfork(), whose parent waits in
 * that call meanwhile; other children are found with kcmp(). In both cases the check fails.
 */
#include "parts.h"
#include "base/inside/search.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <linux/ptrace.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#define WORD 8ULL
#define STACKS_MAX 8
#define WORDS_AT_ONCE 4096
#define ASLEEP_MAX (256ULL << 20) /* bytes that are checked, of one thread */
#define STOPPED_MAX (4ULL << 20)  /* the same: about a millisecond at most */
#define MAPPINGS_MAX 65536
/* In a signal frame, the number of words before the segments. */
#define BEFORE_STACK_POINTER 3U
#define BEFORE_PROGRAM_COUNTER 2

static bool (*is_there)(uint64_t address);
static uint64_t segments; /* as they are in a signal frame */
static uint64_t words[BEFORE_STACK_POINTER + WORDS_AT_ONCE];

/* ---- writable mappings, sorted by address; a stack may be several of them ---- */

struct quiescence_mapping {
	uint64_t start, end;
	bool own; /* of no file, and not shared */
};

static struct quiescence_mapping *mappings;
static size_t nr_mappings;

/*
 * A mapping that begins at the end of the last one may be a part of the same stack: a program may
 * lock some pages of a stack, or call madvise() for them. Memory of side is no stack, and contains
 * such addresses.
 */
static void quiescence_add_mapping(const struct quiescence_mapping *mapping)
{
	if (nr_mappings && mappings[nr_mappings - 1].end == mapping->start &&
			mappings[nr_mappings - 1].own && mapping->own)
		mappings[nr_mappings - 1].end = mapping->end;
	else
		mappings[nr_mappings++] = *mapping;
}

static bool quiescence_read_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[256];
	bool at_line_begin = true, is_complete;

	nr_mappings = 0;
	while (maps && nr_mappings < MAPPINGS_MAX && fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, inode;
		char rights[8];

		if (at_line_begin &&
				sscanf(line, "%llx-%llx %7s %*x %*s %llu", &start, &end, rights,
						&inode) == 4 &&
				!strncmp(rights, "rw", 2))
			quiescence_add_mapping(&(struct quiescence_mapping){.start = start,
					.end = end,
					.own = !inode && rights[3] == 'p' &&
							!patch_is_memory(start)});
		at_line_begin = strchr(line, '\n') != NULL;
	}
	is_complete = maps && !ferror(maps);
	if (maps)
		fclose(maps);
	return is_complete && nr_mappings && nr_mappings < MAPPINGS_MAX;
}

/* Returns 0 if no mapping contains it. */
static uint64_t quiescence_end_of_mapping(uint64_t address)
{
	size_t low = search_leading(i, nr_mappings, mappings[i].end <= address);

	return low < nr_mappings && mappings[low].start <= address ? mappings[low].end : 0;
}

/* ---- stacks ---- */

/* Stacks of one thread that are not yet checked. */
struct stacks {
	struct quiescence_mapping ranges[STACKS_MAX];
	unsigned int nr;
	uint64_t bytes_left; /* bytes that may still be read */
	/* Check signal frames only: for a thread whose own functions handle such addresses. */
	bool frames_only;
};

static bool quiescence_add_stack(struct stacks *stacks, uint64_t from)
{
	uint64_t end;

	for (unsigned int i = 0; i < stacks->nr; i++) {
		if (from >= stacks->ranges[i].start && from < stacks->ranges[i].end)
			return true;
	}
	end = quiescence_end_of_mapping(from);
	if (!end || stacks->nr == STACKS_MAX)
		return false;
	stacks->ranges[stacks->nr++] =
			(struct quiescence_mapping){.start = from & ~(WORD - 1), .end = end};
	return true;
}

/* Checks `count` words, which follow the last ones of the previous call. */
static bool quiescence_check_words(struct stacks *stacks, size_t count)
{
	for (size_t i = BEFORE_STACK_POINTER; i < BEFORE_STACK_POINTER + count; i++) {
		if (!stacks->frames_only && is_there(words[i]))
			return false;
		if (words[i] != segments)
			continue;
		if (is_there(words[i - BEFORE_PROGRAM_COUNTER]) ||
				!quiescence_add_stack(stacks, words[i - BEFORE_STACK_POINTER]))
			return false;
	}
	return true;
}

/*
 * Makes only system calls, because it also runs while a thread is stopped. Reads through the
 * kernel, because memory may be unmapped meanwhile.
 */
static bool quiescence_is_clear(struct stacks *stacks, uint64_t stack_pointer)
{
	long self = patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);

	if (!quiescence_add_stack(stacks, stack_pointer))
		return false;
	for (unsigned int i = 0; i < stacks->nr; i++) {
		uint64_t at = stacks->ranges[i].start;

		words[0] = words[1] = words[2] = 0;
		while (at < stacks->ranges[i].end) {
			uint64_t size = stacks->ranges[i].end - at;
			struct iovec local, remote;

			if (size > WORDS_AT_ONCE * WORD)
				size = WORDS_AT_ONCE * WORD;
			local = (struct iovec){words + BEFORE_STACK_POINTER, size};
			remote = (struct iovec){(void *)at, size};
			if (stacks->bytes_left < size ||
					patch_system_call(SYS_process_vm_readv, self, (long)&local,
							1, (long)&remote, 1, 0) != (long)size ||
					!quiescence_check_words(stacks, size / WORD))
				return false;
			stacks->bytes_left -= size;
			at += size;
			/*
			 * Not memmove(): the child of threads.c calls no function that may have a
			 * probe.
			 */
			words[0] = words[size / WORD];
			words[1] = words[size / WORD + 1];
			words[2] = words[size / WORD + 2];
		}
	}
	return true;
}

/* ---- threads that sleep ---- */

struct thread_state_sample {
	long call; /* negative: none */
	uint64_t stack_pointer, program_counter;
	uint64_t switches; /* context switches, voluntary and not */
};

static bool quiescence_read_thread(pid_t tid, struct thread_state_sample *ret_sample)
{
	char path[64], line[256];
	unsigned long long stack, counter, switches;
	const char *remainder;
	FILE *file;
	bool got;

	*ret_sample = (struct thread_state_sample){.call = -1};
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	file = fopen(path, "re");
	/*
	 * The line has the call, its arguments and both addresses; or -1 and the addresses; or
	 * "running".
	 */
	got = file && fgets(line, sizeof(line), file);
	if (file)
		fclose(file);
	if (!got || sscanf(line, "%ld", &ret_sample->call) != 1)
		return false;
	remainder = ret_sample->call >= 0 ? line : strchr(line, ' ');
	got = remainder &&
			(ret_sample->call >= 0 ? sscanf(remainder,
								 "%*d %*x %*x %*x %*x %*x %*x %llx %llx",
								 &stack, &counter)
					       : sscanf(remainder, "%llx %llx", &stack,
								 &counter)) == 2;
	if (!got)
		return false;
	ret_sample->stack_pointer = stack;
	ret_sample->program_counter = counter;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "re");
	got = false;
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &switches) == 1 ||
				sscanf(line, "nonvoluntary_ctxt_switches: %llu", &switches) == 1) {
			ret_sample->switches += switches;
			got = true;
		}
	}
	if (file)
		fclose(file);
	return got;
}

static bool quiescence_is_same_sample(
		const struct thread_state_sample *one, const struct thread_state_sample *other)
{
	return one->call == other->call && one->stack_pointer == other->stack_pointer &&
			one->program_counter == other->program_counter &&
			one->switches == other->switches;
}

/* It may wait for a child that shares the memory. */
static bool quiescence_waits_for_child(const struct thread_state_sample *sample)
{
	return sample->call == SYS_vfork || sample->call == SYS_clone || sample->call == SYS_clone3;
}

static enum patch_verdict quiescence_has_quiesced(pid_t tid, bool *guarded)
{
	struct stacks stacks = {.bytes_left = ASLEEP_MAX};
	struct patch_thread thread;
	struct thread_state_sample sample, again;

	if (!patch_thread_inspect(tid, &thread) || strchr("ZX", thread.state))
		return PATCH_PROVED;
	*guarded |= thread.guarded;
	if (thread.traced)
		return PATCH_DISPROVED;
	if (thread.state == 'R' || !quiescence_read_thread(tid, &sample))
		return PATCH_UNPROVED;
	if (is_there(sample.program_counter) || quiescence_waits_for_child(&sample))
		return PATCH_DISPROVED;
	if (!quiescence_is_clear(&stacks, sample.stack_pointer))
		/* The thread may have run meanwhile. */
		return quiescence_read_thread(tid, &again) &&
						quiescence_is_same_sample(&sample, &again)
				? PATCH_DISPROVED
				: PATCH_UNPROVED;
	return quiescence_read_thread(tid, &again) && quiescence_is_same_sample(&sample, &again)
			? PATCH_PROVED
			: PATCH_UNPROVED;
}

/* ---- threads that do not sleep ---- */

static bool stopped_quiesced;

/* Runs in the child of threads.c. */
static void quiescence_check_stopped(pid_t tid)
{
	struct stacks stacks = {.bytes_left = STOPPED_MAX};
	struct user_regs_struct registers = {0};

	stopped_quiesced = !patch_system_call(SYS_ptrace, PTRACE_GETREGS, tid, 0, (long)&registers,
					   0, 0) &&
			!is_there(registers.rip) && quiescence_is_clear(&stacks, registers.rsp);
}

static bool quiescence_had_quiesced(pid_t tid)
{
	struct patch_thread thread;

	return !patch_thread_inspect(tid, &thread) || (!thread.traced && stopped_quiesced);
}

/* ---- the calling thread, and processes that share its memory ---- */

static bool quiescence_self_has_quiesced(void)
{
	struct stacks stacks = {.bytes_left = ASLEEP_MAX, .frames_only = true};

	return quiescence_is_clear(&stacks, (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

static bool shared;

/* Checks the children that a thread has created. */
static void quiescence_check_children(pid_t tid, void *data)
{
	struct patch_thread thread;
	char path[64];
	FILE *file;
	int child;

	(void)data;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", tid);
	file = fopen(path, "re");
	/* The kernel has no such file. */
	shared |= !file && patch_thread_inspect(tid, &thread);
	while (file && !shared && fscanf(file, "%d", &child) == 1) {
		long order = patch_system_call(SYS_kcmp, getpid(), child, KCMP_VM, 0, 0, 0);

		shared = order <= 0 && order != -ESRCH;
	}
	shared |= file && ferror(file) && patch_thread_inspect(tid, &thread);
	if (file)
		fclose(file);
}

static bool quiescence_is_shared(void)
{
	shared = false;
	return !patch_threads_each(quiescence_check_children, NULL) || shared;
}

bool patch_is_guarded(void)
{
	struct patch_thread self;
	pid_t tid = (pid_t)patch_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);

	return !patch_thread_inspect(tid, &self) || self.guarded;
}

bool patch_all_quiesced(bool (*is_at)(uint64_t address))
{
	static const struct patch_proof proof = {.check = quiescence_has_quiesced,
			.at_stop = quiescence_check_stopped,
			.was_proved = quiescence_had_quiesced};
	uint16_t code, stack;
	bool quiesced;

	__asm__("mov %%cs, %0; mov %%ss, %1" : "=r"(code), "=r"(stack));
	segments = code | (uint64_t)stack << 48;
	is_there = is_at;
	mappings = mmap(NULL, MAPPINGS_MAX * sizeof(*mappings), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mappings == MAP_FAILED)
		return false;
	quiesced = quiescence_read_mappings() && quiescence_self_has_quiesced() &&
			!quiescence_is_shared() && patch_threads_prove(&proof);
	munmap(mappings, MAPPINGS_MAX * sizeof(*mappings));
	return quiesced;
}
