/* SPDX-License-Identifier: MIT */
/*
 * Counters of the calling thread.
 *
 * Hardware counters belong to a thread, which opens them when it emits its first event. Only a
 * mapped page of each stays (context_perf_map()), and no descriptor, because programs close and
 * reuse descriptors that they do not know. The page contains which register of the processor to
 * read and what to add.
 *
 * No code of the agent runs when a thread ends, so new threads unmap the pages of threads that have
 * ended. A forked child does not inherit the pages, so it must not inherit our table of them: the
 * table is in memory that fork() wipes, and pointers in thread-local storage are invalid in another
 * generation.
 *
 * Software counters are read from the kernel for each event.
 */
#include "tracers/agent/context/values.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <linux/perf_event.h>

#include "tracers/agent/context/sources.h"
#include "base/inside/raw.h"

#define UNKNOWN UINT64_MAX
#define PAGES_MAX 1000
#define CHECKED_PAGES 8 /* pages whose owners are checked when one is added */
#define CLAIMED UINT32_MAX

/* The counters that sessions requested, in the whole process. With libside's lock; grows only. */
static struct {
	uint32_t type;
	uint64_t config;
} wanted[CONTEXT_COUNTERS_MAX];
static uint32_t nr_wanted;

static union {
	struct {
		uint32_t tid; /* owner; 0: free, CLAIMED: being freed */
		const void *page;
	} entries[PAGES_MAX];
	char pages[(PAGES_MAX * 16 + CONTEXT_PAGE_MAX - 1) / CONTEXT_PAGE_MAX * CONTEXT_PAGE_MAX];
} table __attribute__((aligned(CONTEXT_PAGE_MAX)));
static bool table_is_wiped;
static uint32_t nr_used; /* entries that were ever taken are below */
static uint32_t next_check;

/* Stands for a counter that cannot be had. */
static const char no_page;

int context_counter_number(const struct context_spec *spec)
{
	uint32_t i;

	for (i = 0; i < nr_wanted; i++)
		if (wanted[i].type == spec->perf_type && wanted[i].config == spec->perf_config)
			return (int)i;
	if (nr_wanted == CONTEXT_COUNTERS_MAX)
		return -E2BIG;
	if (!table_is_wiped) {
		long ret = raw_call(SYS_madvise, &table, sizeof(table), MADV_WIPEONFORK);

		if (ret)
			return (int)ret;
		table_is_wiped = true;
	}
	wanted[i].type = spec->perf_type;
	wanted[i].config = spec->perf_config;
	/* Release: the counter before the number. Pairs with context_counters_open(). */
	__atomic_store_n(&nr_wanted, i + 1, __ATOMIC_RELEASE);
	/* Threads that have read everything must come once more. */
	context_changed(CONTEXT_GROUP(COUNTERS));
	return (int)i;
}

/* ---- pages ---- */

static bool context_perf_thread_has_exited(uint32_t tid)
{
	return raw_call(SYS_tgkill, context_process.pid, tid, 0) == -ESRCH;
}

static void context_perf_unmap(const void *page)
{
	raw_munmap((void *)(uintptr_t)page, CONTEXT_PAGE_MAX);
}

static void free_if_gone(uint32_t index)
{
	/* Relaxed: the exchange below checks the value again. */
	uint32_t tid = __atomic_load_n(&table.entries[index].tid, __ATOMIC_RELAXED);
	const void *page;

	if (!tid || tid == CLAIMED || !context_perf_thread_has_exited(tid))
		return;
	/* Acquire: what the owner stored; it is gone. Pairs with context_perf_open_counter(). */
	if (!__atomic_compare_exchange_n(&table.entries[index].tid, &tid, CLAIMED, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	page = __atomic_load_n(&table.entries[index].page, __ATOMIC_RELAXED);
	__atomic_store_n(&table.entries[index].page, NULL, __ATOMIC_RELAXED);
	if (page)
		context_perf_unmap(page);
	/*
	 * Release: the entry without its page. Pairs with the acquire in
	 * context_perf_claim_entry().
	 */
	__atomic_store_n(&table.entries[index].tid, 0, __ATOMIC_RELEASE);
}

/*
 * A free entry for the calling thread, or -1. Looks at a few that are in use, in turn, so that
 * pages of threads that are gone stay few; and takes the lowest one, so that there are few to look
 * at.
 */
static int context_perf_claim_entry(uint32_t tid)
{
	uint32_t in_use = __atomic_load_n(&nr_used, __ATOMIC_RELAXED);
	uint32_t at = __atomic_fetch_add(&next_check, CHECKED_PAGES, __ATOMIC_RELAXED);
	uint32_t i;

	for (i = 0; i < CHECKED_PAGES && i < in_use; i++)
		free_if_gone((at + i) % in_use);
	for (i = 0; i < PAGES_MAX; i++) {
		uint32_t unowned = 0;

		/* Acquire: the last owner's pointer is gone. Pairs with free_if_gone(). */
		if (!__atomic_compare_exchange_n(&table.entries[i].tid, &unowned, tid, false,
				    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		/* Relaxed: a hint; one that is too low is made good by the next thread. */
		if (i >= in_use)
			__atomic_store_n(&nr_used, i + 1, __ATOMIC_RELAXED);
		return (int)i;
	}
	return -1;
}

#if defined(__x86_64__) || defined(__i386__)
static const void *context_perf_open_counter(uint32_t number)
{
	uint32_t tid = (uint32_t)context_sources_tid();
	int index = context_perf_claim_entry(tid);
	const void *page;
	int error;

	if (index < 0)
		return &no_page;
	page = context_perf_map(wanted[number].type, wanted[number].config, &error);
	__atomic_store_n(&table.entries[index].page, page, __ATOMIC_RELAXED);
	/* Release: the page goes with the owner. Pairs with free_if_gone(). */
	__atomic_store_n(&table.entries[index].tid, page ? tid : 0, __ATOMIC_RELEASE);
	return page ? page : &no_page;
}
#else
static const void *context_perf_open_counter(uint32_t number)
{
	(void)number;
	(void)context_perf_claim_entry;
	return &no_page;
}
#endif

/* While the thread's values are being read anew: nothing else of it opens or reads counters. */
void context_counters_open(void)
{
	struct context_thread *thread = &context_thread;
	/*
	 * Acquire: the events of these counters. Pairs with the release in
	 * context_counter_number().
	 */
	uint32_t nr = __atomic_load_n(&nr_wanted, __ATOMIC_ACQUIRE);
	uint32_t stamp = __atomic_load_n(
			&context_process.stamps[CONTEXT_GROUP_COUNTERS], __ATOMIC_RELAXED);
	uint32_t i;

	/* In a forked child what the pointers meant is not there any more. */
	if (thread->counters_pid != context_process.pid)
		for (i = 0; i < CONTEXT_COUNTERS_MAX; i++)
			thread->counters[i] = NULL;
	thread->counters_pid = context_process.pid;
	for (i = 0; i < nr; i++)
		if (!thread->counters[i])
			thread->counters[i] = context_perf_open_counter(i);
	thread->stamps[CONTEXT_GROUP_COUNTERS] = stamp;
}

/* ---- reading ---- */

#if defined(__x86_64__) || defined(__i386__)
static uint64_t context_perf_read_register(uint32_t index)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return (uint64_t)high << 32 | low;
}

/* The kernel changes the page on this processor only, when the thread does not run. */
static uint64_t read_page(const volatile struct perf_event_mmap_page *page)
{
	uint32_t lock, index;
	int64_t count;

	do {
		lock = page->lock;
		/*
		 * Compiler fence: `lock` before what it guards. The kernel changes the page only
		 * when this thread does not run.
		 */
		atomic_signal_fence(memory_order_seq_cst);
		if (!page->cap_user_rdpmc)
			return UNKNOWN;
		count = page->offset;
		index = page->index;
		/* 0: the counter is not counting now, and `offset` is its value. */
		if (index) {
			unsigned int unused = 64u - page->pmc_width;
			uint64_t value = context_perf_read_register(index - 1) << unused;

			count += (int64_t)value >> unused;
		}
		/* Compiler fence: the loads above before `lock` is loaded again. */
		atomic_signal_fence(memory_order_seq_cst);
	} while (page->lock != lock);
	return (uint64_t)count;
}
#else
static uint64_t read_page(const volatile struct perf_event_mmap_page *page)
{
	(void)page;
	return UNKNOWN;
}
#endif

uint64_t context_counter_hardware(uint32_t number)
{
	struct context_thread *thread = &context_thread;
	struct context_values unused;
	const void *page;

	if (number >= CONTEXT_COUNTERS_MAX)
		return UNKNOWN;
	/*
	 * Relaxed: a thread that loads an old stamp reads its counters again with the next value.
	 */
	if (thread->stamps[CONTEXT_GROUP_COUNTERS] !=
			__atomic_load_n(&context_process.stamps[CONTEXT_GROUP_COUNTERS],
					__ATOMIC_RELAXED))
		(void)context_values_find(CONTEXT_GROUP(COUNTERS), &unused);
	/*
	 * Wiped, or not opened (a handler within opening, a sandbox): then the pointer is nothing.
	 */
	if (thread->stamps[CONTEXT_GROUP_COUNTERS] !=
					__atomic_load_n(&context_process.stamps
									 [CONTEXT_GROUP_COUNTERS],
							__ATOMIC_RELAXED) ||
			thread->counters_pid != context_process.pid)
		return UNKNOWN;
	page = thread->counters[number];
	return page && page != &no_page ? read_page(page) : UNKNOWN;
}

uint64_t context_counter_software(uint32_t config)
{
	struct timespec time;
	struct rusage usage;

	if (!context_may_ask())
		return UNKNOWN;
	if (config == PERF_COUNT_SW_TASK_CLOCK) {
		if (raw_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time))
			return UNKNOWN;
		return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	}
	if (raw_call(SYS_getrusage, RUSAGE_THREAD, &usage))
		return UNKNOWN;
	switch (config) {
	case PERF_COUNT_SW_PAGE_FAULTS: return (uint64_t)(usage.ru_minflt + usage.ru_majflt);
	case PERF_COUNT_SW_PAGE_FAULTS_MIN: return (uint64_t)usage.ru_minflt;
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ: return (uint64_t)usage.ru_majflt;
	case PERF_COUNT_SW_CONTEXT_SWITCHES: return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
	}
	return UNKNOWN;
}
