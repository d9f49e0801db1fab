/* SPDX-License-Identifier: MIT */
/*
 * Whether all threads have passed an instruction to which nothing leads any more. One that was on its way there may stand there still,
 * because it has lost the processor; or has been given a signal there, whose handler it is in, maybe within others: then the kernel has put the
 * address on the stack of each handler, and takes it from there at its end. Nobody says how deep that is, so each word of
 * the thread's stack is looked at, from its stack pointer on.
 *
 * A handler may have a stack of its own. What the kernel puts on a stack is known by the code's and the stack's segment, as
 * they are in each thread of such a program, and says where the interrupted stack goes on: so that is looked at, too.
 *
 * All of it must be so at one moment. A thread that sleeps does not move: it has not run if it has neither gone to sleep nor lost the processor
 * once more. The kernel says where it stands (/proc/self/task/N/syscall), and disturbs it not. One that never sleeps is stopped.
 *
 * What shares the memory and is no thread is seen by nobody here: the child of a vfork(), whose parent waits in that call
 * meanwhile; other children, which the kernel compares.
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
#define ASLEEP_MAX (256ULL << 20) /* bytes that are looked at, of one thread */
#define STOPPED_MAX (4ULL << 20)  /* likewise: about a millisecond at most */
#define MAPPINGS_MAX 65536
/* Of what the kernel puts on a stack, words before the segments. */
#define BEFORE_STACK_POINTER 3U
#define BEFORE_PROGRAM_COUNTER 2

static bool (*is_there)(uint64_t address);
static uint64_t segments; /* as they stand on a stack */
static uint64_t words[BEFORE_STACK_POINTER + WORDS_AT_ONCE];

/* ---- memory that can be written, in the order of addresses; a stack may be more than one mapping ---- */

struct quiescence_mapping {
	uint64_t start, end;
	bool own; /* of no file, and shared with nobody */
};

static struct quiescence_mapping *mappings;
static size_t nr_mappings;

/*
 * What begins where the last one ends may be a part of it: a program may lock some pages of a stack, or say how to use them. What is made
 * here is no stack, and has such addresses.
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
	bool begin = true, whole;

	nr_mappings = 0;
	while (maps && nr_mappings < MAPPINGS_MAX && fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, inode;
		char rights[8];

		if (begin &&
				sscanf(line, "%llx-%llx %7s %*x %*s %llu", &start, &end, rights,
						&inode) == 4 &&
				!strncmp(rights, "rw", 2))
			quiescence_add_mapping(&(struct quiescence_mapping){.start = start,
					.end = end,
					.own = !inode && rights[3] == 'p' &&
							!patch_is_memory(start)});
		begin = strchr(line, '\n') != NULL;
	}
	whole = maps && !ferror(maps);
	if (maps)
		fclose(maps);
	return whole && nr_mappings && nr_mappings < MAPPINGS_MAX;
}

/* 0: it is in none. */
static uint64_t end_of_mapping(uint64_t address)
{
	size_t low = search_leading(i, nr_mappings, mappings[i].end <= address);

	return low < nr_mappings && mappings[low].start <= address ? mappings[low].end : 0;
}

/* ---- stacks ---- */

/* What is still to be looked at of one thread. */
struct stacks {
	struct quiescence_mapping parts[STACKS_MAX];
	unsigned int nr;
	uint64_t most; /* bytes */
	/* Nothing but what the kernel puts there: for a thread whose functions deal with such addresses. */
	bool frames_only;
};

static bool add_stack(struct stacks *stacks, uint64_t from)
{
	uint64_t end;

	for (unsigned int i = 0; i < stacks->nr; i++) {
		if (from >= stacks->parts[i].start && from < stacks->parts[i].end)
			return true;
	}
	end = end_of_mapping(from);
	if (!end || stacks->nr == STACKS_MAX)
		return false;
	stacks->parts[stacks->nr++] =
			(struct quiescence_mapping){.start = from & ~(WORD - 1), .end = end};
	return true;
}

/* So many words, behind the last ones of those before. */
static bool quiescence_check_words(struct stacks *stacks, size_t count)
{
	for (size_t i = BEFORE_STACK_POINTER; i < BEFORE_STACK_POINTER + count; i++) {
		if (!stacks->frames_only && is_there(words[i]))
			return false;
		if (words[i] != segments)
			continue;
		if (is_there(words[i - BEFORE_PROGRAM_COUNTER]) ||
				!add_stack(stacks, words[i - BEFORE_STACK_POINTER]))
			return false;
	}
	return true;
}

/* Nothing but system calls: also where a thread is stopped. They read what may have been taken away. */
static bool is_clear(struct stacks *stacks, uint64_t stack_pointer)
{
	long self = patch_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);

	if (!add_stack(stacks, stack_pointer))
		return false;
	for (unsigned int i = 0; i < stacks->nr; i++) {
		uint64_t at = stacks->parts[i].start;

		words[0] = words[1] = words[2] = 0;
		while (at < stacks->parts[i].end) {
			uint64_t size = stacks->parts[i].end - at;
			struct iovec local, remote;

			if (size > WORDS_AT_ONCE * WORD)
				size = WORDS_AT_ONCE * WORD;
			local = (struct iovec){words + BEFORE_STACK_POINTER, size};
			remote = (struct iovec){(void *)at, size};
			if (stacks->most < size ||
					patch_system_call(SYS_process_vm_readv, self, (long)&local,
							1, (long)&remote, 1, 0) != (long)size ||
					!quiescence_check_words(stacks, size / WORD))
				return false;
			stacks->most -= size;
			at += size;
			/* Not memmove(): in the child of threads.c no function that could have a probe is called. */
			words[0] = words[size / WORD];
			words[1] = words[size / WORD + 1];
			words[2] = words[size / WORD + 2];
		}
	}
	return true;
}

/* ---- a thread that sleeps ---- */

struct thread_state_sample {
	long call; /* negative: none */
	uint64_t stack_pointer, program_counter;
	uint64_t switches; /* of threads, to and from it */
};

static bool quiescence_read_thread(pid_t tid, struct thread_state_sample *sample)
{
	char path[64], line[256];
	unsigned long long stack, counter, switches;
	const char *remainder;
	FILE *file;
	bool got;

	*sample = (struct thread_state_sample){.call = -1};
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	file = fopen(path, "re");
	/* The call, its arguments, both addresses; or without arguments; or that it runs. */
	got = file && fgets(line, sizeof(line), file);
	if (file)
		fclose(file);
	if (!got || sscanf(line, "%ld", &sample->call) != 1)
		return false;
	remainder = sample->call >= 0 ? line : strchr(line, ' ');
	got = remainder &&
			(sample->call >= 0 ? sscanf(remainder,
							     "%*d %*x %*x %*x %*x %*x %*x %llx %llx",
							     &stack, &counter)
					   : sscanf(remainder, "%llx %llx", &stack, &counter)) == 2;
	if (!got)
		return false;
	sample->stack_pointer = stack;
	sample->program_counter = counter;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "re");
	got = false;
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &switches) == 1 ||
				sscanf(line, "nonvoluntary_ctxt_switches: %llu", &switches) == 1) {
			sample->switches += switches;
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

/* Maybe in a child that shares the memory. */
static bool waits_for_child(const struct thread_state_sample *sample)
{
	return sample->call == SYS_vfork || sample->call == SYS_clone || sample->call == SYS_clone3;
}

static enum patch_shown quiescence_has_quiesced(pid_t tid, bool *guarded)
{
	struct stacks stacks = {.most = ASLEEP_MAX};
	struct patch_thread thread;
	struct thread_state_sample sample, again;

	if (!patch_thread_inspect(tid, &thread) || strchr("ZX", thread.state))
		return PATCH_SO;
	*guarded |= thread.guarded;
	if (thread.traced)
		return PATCH_NOT_SO;
	if (thread.state == 'R' || !quiescence_read_thread(tid, &sample))
		return PATCH_UNKNOWN;
	if (is_there(sample.program_counter) || waits_for_child(&sample))
		return PATCH_NOT_SO;
	if (!is_clear(&stacks, sample.stack_pointer))
		/* It may have run meanwhile. */
		return quiescence_read_thread(tid, &again) &&
						quiescence_is_same_sample(&sample, &again)
				? PATCH_NOT_SO
				: PATCH_UNKNOWN;
	return quiescence_read_thread(tid, &again) && quiescence_is_same_sample(&sample, &again)
			? PATCH_SO
			: PATCH_UNKNOWN;
}

/* ---- one that does not ---- */

static bool stopped_quiesced;

/* In the child of threads.c. */
static void quiescence_check_stopped(pid_t tid)
{
	struct stacks stacks = {.most = STOPPED_MAX};
	struct user_regs_struct registers = {0};

	stopped_quiesced = !patch_system_call(SYS_ptrace, PTRACE_GETREGS, tid, 0, (long)&registers,
					   0, 0) &&
			!is_there(registers.rip) && is_clear(&stacks, registers.rsp);
}

static bool quiescence_had_quiesced(pid_t tid)
{
	struct patch_thread thread;

	return !patch_thread_inspect(tid, &thread) || (!thread.traced && stopped_quiesced);
}

/* ---- the calling one, and others ---- */

static bool quiescence_self_has_quiesced(void)
{
	struct stacks stacks = {.most = ASLEEP_MAX, .frames_only = true};

	return is_clear(&stacks, (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

static bool shared;

/* Of children that a thread has made. */
static void quiescence_check_children(pid_t tid, void *data)
{
	struct patch_thread thread;
	char path[64];
	FILE *file;
	int child;

	(void)data;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", tid);
	file = fopen(path, "re");
	/* A kernel that does not say it. */
	shared |= !file && patch_thread_inspect(tid, &thread);
	while (file && !shared && fscanf(file, "%d", &child) == 1) {
		long order = patch_system_call(SYS_kcmp, getpid(), child, KCMP_VM, 0, 0, 0);

		shared = order <= 0 && order != -ESRCH;
	}
	shared |= file && ferror(file) && patch_thread_inspect(tid, &thread);
	if (file)
		fclose(file);
}

static bool is_shared(void)
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
			.was_so = quiescence_had_quiesced};
	uint16_t code, stack;
	bool quiesced;

	__asm__("mov %%cs, %0; mov %%ss, %1" : "=r"(code), "=r"(stack));
	segments = code | (uint64_t)stack << 48;
	is_there = is_at;
	mappings = mmap(NULL, MAPPINGS_MAX * sizeof(*mappings), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mappings == MAP_FAILED)
		return false;
	quiesced = quiescence_read_mappings() && quiescence_self_has_quiesced() && !is_shared() &&
			patch_threads_prove(&proof);
	munmap(mappings, MAPPINGS_MAX * sizeof(*mappings));
	return quiesced;
}
