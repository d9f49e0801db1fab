/* SPDX-License-Identifier: MIT */
/* The caches of values.h, and when they are valid. sources.c fills them. */
#include <side/tracer-extensions.h>

#include "tracers/agent/context/values.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "tracers/agent/context/sources.h"
#include "base/inside/raw.h"

__thread struct context_block context_blocks[CONTEXT_BLOCKS];
__thread struct context_thread context_thread;
union context_process context_process;
uint32_t context_needed;
void (*context_clock_forbidden)(bool forbidden);
void (*context_sandbox_changes)(bool begins);
void (*context_memory_shared)(int pid);
void (*context_vfork_begins)(void);
void (*context_thread_settles)(void);
void (*context_hits_limited)(enum context_hits hits);

/*
 * The last stamp or generation that was assigned. It survives a fork, so that none is ever assigned
 * twice.
 */
static uint32_t last_stamp;

static uint32_t new_stamp(void)
{
	uint32_t stamp = __atomic_add_fetch(&last_stamp, 1, __ATOMIC_RELAXED);

	return stamp ? stamp : __atomic_add_fetch(&last_stamp, 1, __ATOMIC_RELAXED);
}

/* ---- sandboxes ---- */

enum sandbox { SANDBOX_NONE, SANDBOX_SOME_THREADS, SANDBOX_ALL_THREADS };

static uint32_t sandbox;    /* enum sandbox */
static long seccomp_before; /* mode when we began: that one we can live with */

/*
 * What a thread that is born in a sandbox starts from: the values of its maker, as far as can be.
 */
static struct context_values inherited;
static uint32_t inherited_version; /* odd while it is being written */

_Static_assert(sizeof(struct context_values) % 8 == 0, "copied in words");
_Static_assert(CONTEXT_GROUPS <= CONTEXT_GROUPS_MAX, "the process has a stamp for each group");

static void copy_words(void *to, const void *from, size_t size)
{
	uint64_t *target = to;
	const uint64_t *source = from;

	/*
	 * Two threads may copy at the same time. Release: the odd version before the words. Pairs
	 * with the acquire in copy_words(). Acquire: the words before the second load of the
	 * version. Pairs with the release in copy_words(): a reader that loads one of the writer's
	 * words detects this with that load.
	 */
	for (size /= 8; size; size--, source++, target++)
		__atomic_store_n(target, __atomic_load_n(source, __ATOMIC_ACQUIRE),
				__ATOMIC_RELEASE);
}

static void keep_inherited(const struct context_values *values)
{
	/* Relaxed: the exchange below checks the value again. */
	uint32_t version = __atomic_load_n(&inherited_version, __ATOMIC_RELAXED);

	/*
	 * Acquire: our words after the last writer's. Pairs with the release in keep_inherited().
	 * If another thread writes at this moment, its values are as good.
	 */
	if (version & 1 ||
			!__atomic_compare_exchange_n(&inherited_version, &version, version + 1,
					false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	copy_words(&inherited, values, sizeof(inherited));
	/* Release: the words before the version. Pairs with take_inherited(). */
	__atomic_store_n(&inherited_version, version + 2, __ATOMIC_RELEASE);
}

static void take_inherited(struct context_values *values)
{
	unsigned int tries;

	for (tries = 0; tries < 1000; tries++) {
		/*
		 * Acquire: the version before the words. Pairs with the release in
		 * keep_inherited().
		 */
		uint32_t version = __atomic_load_n(&inherited_version, __ATOMIC_ACQUIRE);

		copy_words(values, &inherited, sizeof(inherited));
		if (!(version & 1) &&
				version == __atomic_load_n(&inherited_version, __ATOMIC_RELAXED))
			return;
	}
}

bool context_may_ask(void)
{
	struct context_thread *thread = &context_thread;
	/*
	 * Acquire: the values that the thread stored before it entered the sandbox. Pairs with the
	 * release in context_sandbox_begins().
	 */
	uint32_t state = __atomic_load_n(&sandbox, __ATOMIC_ACQUIRE);

	if (__builtin_expect(state != SANDBOX_NONE, 0) &&
			(state == SANDBOX_ALL_THREADS || !thread->known))
		thread->sandboxed = true;
	return !thread->sandboxed;
}

/*
 * The same, and detect sandboxes that the agent has not seen begin. Call this before a system call.
 */
static bool may_read(void)
{
	if (!context_may_ask())
		return false;
	if (raw_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != seccomp_before)
		context_thread.sandboxed = true;
	return !context_thread.sandboxed;
}

/*
 * Where the C library keeps the thread id, relative to the thread pointer. The kernel clears that
 * word when the thread ends, and reports its address. 0: unknown.
 */
static ptrdiff_t tid_offset;
#define TID_OFFSET_MAX 4096

static void find_tid(void)
{
	const char *address = NULL;
	ptrdiff_t offset;

	if (raw_call(SYS_prctl, PR_GET_TID_ADDRESS, &address, 0, 0, 0) || !address)
		return;
	offset = address - (const char *)__builtin_thread_pointer();
	if (offset > 0 && offset < TID_OFFSET_MAX &&
			*(const int32_t *)(const void *)address == context_sources_tid())
		tid_offset = offset;
}

/* For a thread that must not make system calls. 0: unknown. */
static int32_t tid_in_sandbox(void)
{
	const char *pointer = __builtin_thread_pointer();

	return tid_offset ? __atomic_load_n((const int32_t *)(const void *)(pointer + tid_offset),
					    __ATOMIC_RELAXED)
			  : 0;
}

/* Values for a thread that must not make system calls. */
static void read_in_sandbox(uint32_t groups, struct context_values *values)
{
	const struct context_thread *thread = &context_thread;

	if (thread->known) {
		if (values != &thread->values)
			*values = thread->values;
		return;
	}
	take_inherited(values);
	values->thread_name[0] = 0;
	values->tid = 0;
	if (groups & CONTEXT_GROUP(IDS)) {
		values->vpid = context_process.pid;
		values->vtid = tid_in_sandbox();
	}
}

/* ---- the process ---- */

static void wipe_by_hand(void)
{
	__atomic_store_n(&context_process.generation, 0, __ATOMIC_RELAXED);
}

static bool started; /* not wiped: a forked child goes on */

int context_values_start(void)
{
	if (started)
		return 0;
	started = true;
	seccomp_before = raw_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);
	find_tid();
	/* A kernel too old for it: children of fork() notice by the handler, others do not. */
	if (raw_call(SYS_madvise, &context_process, sizeof(context_process), MADV_WIPEONFORK) &&
			pthread_atfork(NULL, NULL, wipe_by_hand))
		return -ENOMEM;
	context_generation_now();
	return 0;
}

/*
 * The first set, or the first look of a forked child, which has one thread. Handlers that come in
 * between do the same, which does no harm.
 */
static uint32_t process_begins(void)
{
	unsigned int group;
	uint32_t generation;

	/* In a sandbox: the only thread of a forked child, whose thread id is the process id. */
	context_process.pid = context_may_ask() ? context_sources_pid() : tid_in_sandbox();
	for (group = 0; group < CONTEXT_GROUPS; group++)
		__atomic_store_n(&context_process.stamps[group], new_stamp(), __ATOMIC_RELAXED);
	/* Another thread of the parent may have been writing. It does not exist in the child. */
	__atomic_and_fetch(&inherited_version, ~1u, __ATOMIC_RELAXED);
	context_cgroup_forked();
	context_sources_start(context_process.stamps[CONTEXT_GROUP_PROCNAME]);
	generation = new_stamp();
	/* Release: pid and stamps before it. Pairs with the acquire in context_generation_now(). */
	__atomic_store_n(&context_process.generation, generation, __ATOMIC_RELEASE);
	return generation;
}

uint32_t context_generation_now(void)
{
	/* Acquire: the stamps that came before it. Pairs with context_changed(). */
	uint32_t generation = __atomic_load_n(&context_process.generation, __ATOMIC_ACQUIRE);

	return __builtin_expect(generation != 0, 1) ? generation : process_begins();
}

void context_changed(uint32_t groups)
{
	unsigned int group;

	/* No thread has cached values, or all read them again. */
	if (!__atomic_load_n(&context_process.generation, __ATOMIC_RELAXED))
		return;
	for (group = 0; group < CONTEXT_GROUPS; group++)
		if (groups & 1u << group)
			__atomic_store_n(&context_process.stamps[group], new_stamp(),
					__ATOMIC_RELAXED);
	/*
	 * Release: stamps before it. Pairs with the acquire in context_generation_now(). The stores
	 * of two threads may be reordered: both announce a change.
	 */
	__atomic_store_n(&context_process.generation, new_stamp(), __ATOMIC_RELEASE);
}

void context_name_changed(void)
{
	unsigned int i;

	/* Relaxed: a thread that still loads 0 has cached no values. */
	if (!__atomic_load_n(&context_process.generation, __ATOMIC_RELAXED))
		return;
	context_thread.stamps[CONTEXT_GROUP_THREAD_NAME] = 0;
	for (i = 0; i < CONTEXT_BLOCKS; i++)
		context_blocks[i].stamp = 0;
	/*
	 * Compiler fence: the cleared stamps first. A signal handler that emits must not use bytes
	 * with the old name.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	/* In a sandbox names stay as they are. */
	if (context_may_ask() && context_sources_tid() == context_sources_pid())
		context_changed(CONTEXT_GROUP(PROCNAME));
}

__thread struct context_sharing context_sharing __attribute__((tls_model("initial-exec")));
#define SHARING_CHECK 256

bool context_is_owner(void)
{
	int32_t process = context_sharing.process;

	/*
	 * In a sandbox no system call is possible: assume that this process is the one that entered
	 * it.
	 */
	if (context_may_ask() && context_sources_tid() != context_sharing.owner)
		return false;
	if (process > 0 && ++context_sharing.asked % SHARING_CHECK == 0 && context_may_ask() &&
			raw_call(SYS_tgkill, (long)process, (long)process, 0L) == -ESRCH)
		agent_vforked = 0;
	return true;
}

bool context_is_foreign(void)
{
	return (agent_vforked && agent_vforked != CONTEXT_SHARES_MEMORY) ||
			(context_may_ask() && context_sources_pid() != context_process.pid);
}

/* ---- the thread ---- */

/* Which of these groups are not what they were any more? */
static uint32_t stale(uint32_t groups)
{
	const struct context_thread *thread = &context_thread;
	uint32_t found = 0;

	for (; groups; groups &= groups - 1) {
		unsigned int group = (unsigned int)__builtin_ctz(groups);

		/*
		 * Relaxed: context_values_refresh_groups() loads the stamps again, with their
		 * order.
		 */
		if (thread->stamps[group] !=
				__atomic_load_n(&context_process.stamps[group], __ATOMIC_RELAXED))
			found |= 1u << group;
	}
	return found;
}

/* Read what is stale. False: not now, or not here; nothing has changed. */
static bool context_values_refresh_groups(uint32_t groups)
{
	struct context_thread *thread = &context_thread;
	uint32_t stamps[CONTEXT_GROUPS];
	uint32_t unstable = 0;
	unsigned int group;
	bool may;

	if (thread->busy)
		return false;
	may = may_read();
	if (may && context_is_foreign())
		return false;
	thread->busy = true;
	/*
	 * Compiler fence: `busy` before the thread's values change, because a signal handler can
	 * emit.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	/*
	 * Acquire: the stamps before the values. Pairs with the kernel, which changes a value
	 * before its stamp. A value that changes during the read is read again.
	 */
	for (group = 0; group < CONTEXT_GROUPS; group++)
		stamps[group] = __atomic_load_n(&context_process.stamps[group], __ATOMIC_ACQUIRE);
	if (may)
		unstable = context_sources_read(groups, &thread->values, true);
	else
		read_in_sandbox(groups, &thread->values);
	for (group = 0; group < CONTEXT_GROUPS; group++)
		if (groups & ~unstable & 1u << group)
			thread->stamps[group] = stamps[group];
	if (may && groups & CONTEXT_GROUP(COUNTERS))
		context_counters_open();
	thread->fills++;
	thread->known = true;
	/*
	 * Compiler fence: the values before `busy` is cleared, because a signal handler can emit.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = false;
	return true;
}

static void read_directly(uint32_t groups, struct context_values *ret_values)
{
	*ret_values = (struct context_values){0};
	if (may_read())
		/*
		 * Possibly in a child that shares our memory: its name is not that of the process.
		 */
		(void)context_sources_read(groups, ret_values, false);
	else
		read_in_sandbox(groups, ret_values);
}

uint32_t context_values_get(uint32_t groups, struct context_values *ret_values)
{
	const struct context_thread *thread = &context_thread;
	/* Before anything is read: what we return holds at least until the next change. */
	uint32_t generation = context_generation_now();
	uint32_t missing = stale(groups);
	uint32_t fills;

	if (missing &&
			context_values_refresh_groups(stale(groups |
					__atomic_load_n(&context_needed, __ATOMIC_RELAXED))))
		missing = stale(groups);
	if (!missing) {
		fills = thread->fills;
		/* Compiler fence: the count before the values. */
		atomic_signal_fence(memory_order_seq_cst);
		*ret_values = thread->values;
		/* Compiler fence: the values before the count is loaded again. */
		atomic_signal_fence(memory_order_seq_cst);
		/* A signal handler may have read anew what we were copying. */
		if (thread->fills == fills)
			return generation;
	}
	read_directly(groups, ret_values);
	return 0;
}

void context_values_renew(uint32_t groups)
{
	(void)context_generation_now();
	if (stale(groups))
		(void)context_values_refresh_groups(
				stale(groups | __atomic_load_n(&context_needed, __ATOMIC_RELAXED)));
}

const struct context_values *context_values_known(uint32_t group)
{
	(void)context_generation_now();
	return stale(group) ? NULL : &context_thread.values;
}

const struct context_values *context_values_find(uint32_t group, struct context_values *buffer)
{
	struct context_thread *thread = &context_thread;

	(void)context_generation_now();
	if (__builtin_expect(!stale(group), 1))
		return &thread->values;
	if (context_values_refresh_groups(
			    stale(group | __atomic_load_n(&context_needed, __ATOMIC_RELAXED))) &&
			!stale(group))
		return &thread->values;
	read_directly(group, buffer);
	return buffer;
}

void context_values_need(uint32_t groups)
{
	/* Relaxed: a thread that does not see it yet reads these groups when it needs them. */
	(void)__atomic_or_fetch(&context_needed, groups, __ATOMIC_RELAXED);
	if (!context_values_start()) {
		struct context_values values;

		if (context_values_get(context_needed, &values))
			keep_inherited(&values);
	}
}

/* ---- before a sandbox ---- */

static uint32_t sandbox_before;
static bool sandboxed_before;

bool context_sandbox_begins(bool all_threads)
{
	struct context_values values;
	/*
	 * Relaxed: only the state is used here. The release below stores the values that belong to
	 * it.
	 */
	uint32_t state = __atomic_load_n(&sandbox, __ATOMIC_RELAXED);

	if (!started)
		return false;
	(void)context_generation_now();
	/* A child in our memory locks up itself, not us. */
	if (context_is_foreign())
		return false;
	sandbox_before = state;
	sandboxed_before = context_thread.sandboxed;
	if (context_values_get(__atomic_load_n(&context_needed, __ATOMIC_RELAXED), &values))
		keep_inherited(&values);
	side_tracer_sandbox_begins();
	if (context_sandbox_changes)
		context_sandbox_changes(true);
	if (all_threads || state == SANDBOX_NONE)
		/* Release: what we keep for others before it. Pairs with context_may_ask(). */
		__atomic_store_n(&sandbox, all_threads ? SANDBOX_ALL_THREADS : SANDBOX_SOME_THREADS,
				__ATOMIC_RELEASE);
	context_thread.known = true;
	context_thread.sandboxed = true;
	return true;
}

void context_sandbox_failed(void)
{
	side_tracer_sandbox_failed();
	if (context_sandbox_changes)
		context_sandbox_changes(false);
	context_thread.sandboxed = sandboxed_before;
	/* Relaxed: restores the former state, which publishes nothing. */
	__atomic_store_n(&sandbox, sandbox_before, __ATOMIC_RELAXED);
}
