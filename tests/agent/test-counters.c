/* SPDX-License-Identifier: MIT */
/*
 * Counters of threads: which are requested, pages of exited threads, and how a page is read. The
 * test includes the file. It replaces the pages of the kernel, and provides the result of the
 * processor's instruction in a signal handler if the kernel forbids that instruction.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include <cmocka.h>

#include <linux/perf_event.h>

#include "../called.h"
#include "tracers/agent/context/sources.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"

static struct {
	bool no_page, cannot_wipe, cannot_ask, no_time, no_usage, opens;
	int32_t tid;
	uint32_t gone; /* a bit for each thread that has ended */
	void (*meanwhile)(void);
} played;

static struct perf_event_mmap_page pages[8];

static long play_call(long number, ...)
{
	struct timespec *time;
	struct rusage *usage;
	va_list list;
	long ret = 0;
	uint32_t tid;
	int first;

	va_start(list, number);
	switch (number) {
	case SYS_madvise: ret = played.cannot_wipe ? -EINVAL : 0; break;
	case SYS_tgkill:
		first = va_arg(list, int);
		assert_int_equal(first, context_process.pid);
		tid = va_arg(list, uint32_t);
		assert_int_equal(va_arg(list, int), 0);
		called("is %u there\n", tid);
		if (played.meanwhile)
			played.meanwhile();
		ret = tid < 32 && played.gone >> tid & 1 ? -ESRCH : 0;
		break;
	case SYS_clock_gettime:
		assert_int_equal(va_arg(list, int), CLOCK_THREAD_CPUTIME_ID);
		time = va_arg(list, struct timespec *);
		*time = (struct timespec){.tv_sec = 3, .tv_nsec = 5};
		ret = played.no_time ? -EINVAL : 0;
		break;
	case SYS_getrusage:
		assert_int_equal(va_arg(list, int), RUSAGE_THREAD);
		usage = va_arg(list, struct rusage *);
		*usage = (struct rusage){.ru_minflt = 10,
				.ru_majflt = 200,
				.ru_nvcsw = 3000,
				.ru_nivcsw = 40000};
		ret = played.no_usage ? -EINVAL : 0;
		break;
	default: fail();
	}
	va_end(list);
	return ret;
}

static int play_munmap(void *at, size_t size)
{
	assert_int_equal(size, CONTEXT_PAGE_MAX);
	called("unmap %td\n", (struct perf_event_mmap_page *)at - pages);
	return 0;
}

static void *play_map(uint32_t type, uint64_t config, int *error)
{
	called("map %u %u\n", type, (unsigned int)config);
	*error = ENODEV;
	return played.no_page ? NULL : &pages[config % 8];
}

static int32_t play_tid(void)
{
	return played.tid;
}

static void play_changed(uint32_t groups)
{
	assert_int_equal(groups, CONTEXT_GROUP(COUNTERS));
	called("changed\n");
}

static bool play_may_ask(void)
{
	return !played.cannot_ask;
}

static uint32_t play_find(uint32_t groups, struct context_values *values);

#undef raw_call
#define raw_call(...) play_call(__VA_ARGS__)
#define raw_munmap play_munmap
#define context_perf_map play_map
#define context_sources_tid play_tid
#define context_changed play_changed
#define context_may_ask play_may_ask
#define context_values_find(groups, values) play_find(groups, values)
#include "tracers/agent/context/perf.c"

static uint32_t play_find(uint32_t groups, struct context_values *values)
{
	assert_true(groups == CONTEXT_GROUP(COUNTERS) && values);
	called("look\n");
	if (played.opens)
		context_counters_open();
	return 0;
}

static void reset(void)
{
	memset(&played, 0, sizeof(played));
	memset(&table, 0, sizeof(table));
	memset(pages, 0, sizeof(pages));
	memset(&context_thread, 0, sizeof(context_thread));
	memset(&context_process, 0, sizeof(context_process));
	nr_wanted = nr_used = next_check = 0;
	table_is_wiped = false;
	context_process.pid = 500;
	context_process.stamps[CONTEXT_GROUP_COUNTERS] = 9;
	played.tid = 4;
	*calls = '\0';
}

/* ---- which counters ---- */

static int number(uint32_t type, uint64_t config)
{
	const struct context_spec spec = {.perf_type = type, .perf_config = config};

	return context_counter_number(&spec);
}

static void test_numbers(void **unused)
{
	(void)unused;
	reset();
	played.cannot_wipe = true;
	assert_int_equal(number(4, 6), -EINVAL);
	assert_true(!nr_wanted && !table_is_wiped);
	assert_called("");
	played.cannot_wipe = false;
	assert_int_equal(number(4, 6), 0);
	assert_called("changed\n");
	/* The table is prepared once. */
	played.cannot_wipe = true;
	assert_int_equal(number(4, 7), 1);
	assert_int_equal(number(5, 6), 2);
	assert_called("changed\nchanged\n");
	assert_int_equal(number(4, 6), 0);
	assert_int_equal(number(4, 7), 1);
	assert_int_equal(number(5, 6), 2);
	assert_called("");
	assert_true(wanted[1].type == 4 && wanted[1].config == 7);
	for (int i = 3; i < CONTEXT_COUNTERS_MAX; i++)
		assert_int_equal(number(6, (uint64_t)i), i);
	assert_int_equal(number(6, 100), -E2BIG);
	assert_int_equal(number(6, 7), 7);
	assert_int_equal(nr_wanted, 8);
}

/* ---- pages of threads ---- */

static void take(uint32_t tid)
{
	table.entries[2].tid = tid;
}

static void taken_by_another(void)
{
	take(6);
}

static void test_gone(void **unused)
{
	(void)unused;
	reset();
	free_if_gone(2);
	table.entries[2].tid = CLAIMED;
	free_if_gone(2);
	assert_called("");
	take(5);
	table.entries[2].page = &pages[1];
	free_if_gone(2);
	assert_called("is 5 there\n");
	assert_true(table.entries[2].tid == 5 && table.entries[2].page == &pages[1]);
	played.gone = 1 << 5;
	free_if_gone(2);
	assert_called("is 5 there\nunmap 1\n");
	assert_true(!table.entries[2].tid && !table.entries[2].page);
	take(5);
	free_if_gone(2);
	assert_called("is 5 there\n");
	assert_int_equal(table.entries[2].tid, 0);
	/* Another thread was faster. */
	take(5);
	table.entries[2].page = &pages[1];
	played.meanwhile = taken_by_another;
	free_if_gone(2);
	assert_called("is 5 there\n");
	assert_true(table.entries[2].tid == 6 && table.entries[2].page == &pages[1]);
}

static void test_entries(void **unused)
{
	(void)unused;
	reset();
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(context_perf_claim_entry(10 + i), i);
		assert_int_equal(nr_used, i + 1);
		assert_int_equal(table.entries[i].tid, 10 + i);
	}
	*calls = '\0';
	/* If there are few, all are examined, and a lower one is reused. */
	played.gone = 1 << 11;
	assert_int_equal(context_perf_claim_entry(20), 1);
	assert_non_null(strstr(calls, "is 10 there\n"));
	assert_non_null(strstr(calls, "is 11 there\n"));
	assert_non_null(strstr(calls, "is 12 there\n"));
	assert_int_equal(nr_used, 3);
	/* If there are many, eight are examined, in turn. */
	reset();
	for (uint32_t i = 0; i < PAGES_MAX; i++)
		table.entries[i].tid = 100 + i;
	nr_used = 20;
	next_check = 16;
	assert_int_equal(context_perf_claim_entry(5), -1);
	assert_called("is 116 there\nis 117 there\nis 118 there\nis 119 there\nis 100 there\nis 101 there\n"
		      "is 102 there\nis 103 there\n");
	assert_int_equal(next_check, 24);
	table.entries[PAGES_MAX - 1].tid = 0;
	assert_int_equal(context_perf_claim_entry(5), PAGES_MAX - 1);
	assert_int_equal(nr_used, PAGES_MAX);
}

static void test_open(void **unused)
{
	(void)unused;
	reset();
	number(4, 6);
	number(4, 7);
	*calls = '\0';
	context_counters_open();
	assert_called("map 4 6\nis 4 there\nmap 4 7\n");
	assert_true(context_thread.counters[0] == &pages[6] &&
			context_thread.counters[1] == &pages[7] && !context_thread.counters[2]);
	assert_true(table.entries[0].tid == 4 && table.entries[0].page == &pages[6] &&
			table.entries[1].page == &pages[7]);
	assert_true(context_thread.counters_pid == 500 &&
			context_thread.stamps[CONTEXT_GROUP_COUNTERS] == 9);
	/* Open already. */
	context_counters_open();
	assert_called("");
	/* In a forked child no pointer is valid. */
	context_process.pid = 501;
	played.no_page = true;
	context_counters_open();
	assert_non_null(strstr(calls, "map 4 7\n"));
	assert_true(context_thread.counters[0] == &no_page &&
			context_thread.counters[1] == &no_page);
	assert_int_equal(context_thread.counters_pid, 501);
	assert_int_equal(table.entries[2].tid, 0);
	*calls = '\0';
	context_counters_open();
	assert_called("");
	/* No entry is free. */
	played.no_page = false;
	for (uint32_t i = 0; i < PAGES_MAX; i++)
		table.entries[i].tid = CLAIMED;
	assert_ptr_equal(context_perf_open_counter(0), &no_page);
	assert_called("");
}

/* ---- reading ---- */

static uint64_t of_register;
static unsigned int nr_reads;
static uint64_t register_index;

/* The instruction has two bytes. */
static void on_fault(int signal, siginfo_t *info, void *data)
{
	greg_t *registers = ((ucontext_t *)data)->uc_mcontext.gregs;
	const unsigned char *code = (const unsigned char *)(uintptr_t)registers[REG_RIP];

	(void)signal;
	(void)info;
	if (code[0] != 0x0f || code[1] != 0x33)
		abort();
	nr_reads++;
	register_index = (uint64_t)registers[REG_RCX];
	registers[REG_RAX] = (greg_t)(of_register & UINT32_MAX);
	registers[REG_RDX] = (greg_t)(of_register >> 32);
	registers[REG_RIP] += 2;
	/* The kernel changes the page during the first read. */
	if (nr_reads == 1)
		pages[3].lock++;
}

static void test_pages(void **unused)
{
	const struct sigaction catch = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	struct sigaction before;

	(void)unused;
	reset();
	assert_true(read_page(&pages[3]) == UNKNOWN);
	pages[3].cap_user_rdpmc = 1;
	pages[3].offset = 1234;
	pages[3].lock = 7;
	assert_int_equal(read_page(&pages[3]), 1234);
	pages[3].index = 6;
	pages[3].pmc_width = 40;
	/* The highest of 40 bits is the sign; higher bits are ignored. */
	of_register = UINT64_C(0xff80000000ff);
	nr_reads = 0;
	assert_int_equal(sigaction(SIGSEGV, &catch, &before), 0);
	(void)context_perf_read_register(5);
	if (nr_reads) {
		assert_int_equal(register_index, 5);
		nr_reads = 0;
		assert_int_equal(read_page(&pages[3]), 1234 + 0xff - (INT64_C(1) << 39));
		/* Read again, because the page has changed. */
		assert_int_equal(nr_reads, 2);
		assert_int_equal(register_index, 5);
	}
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
}

static void test_hardware(void **unused)
{
	(void)unused;
	reset();
	number(4, 6);
	*calls = '\0';
	pages[6].cap_user_rdpmc = 1;
	pages[6].offset = 77;
	assert_true(context_counter_hardware(CONTEXT_COUNTERS_MAX) == UNKNOWN);
	assert_called("");
	/* No counter can be opened now. */
	assert_true(context_counter_hardware(0) == UNKNOWN);
	assert_called("look\n");
	played.opens = true;
	assert_int_equal(context_counter_hardware(0), 77);
	assert_called("look\nmap 4 6\n");
	assert_int_equal(context_counter_hardware(0), 77);
	assert_called("");
	assert_true(context_counter_hardware(7) == UNKNOWN);
	context_thread.counters[7] = &no_page;
	assert_true(context_counter_hardware(7) == UNKNOWN);
	context_thread.counters[7] = &pages[6];
	assert_int_equal(context_counter_hardware(7), 77);
	/* A child with the memory of its parent. */
	context_process.pid = 501;
	assert_true(context_counter_hardware(0) == UNKNOWN);
	assert_called("");
}

static void test_software(void **unused)
{
	(void)unused;
	reset();
	assert_int_equal(context_counter_software(PERF_COUNT_SW_TASK_CLOCK), 3000000005);
	assert_int_equal(context_counter_software(PERF_COUNT_SW_PAGE_FAULTS), 210);
	assert_int_equal(context_counter_software(PERF_COUNT_SW_PAGE_FAULTS_MIN), 10);
	assert_int_equal(context_counter_software(PERF_COUNT_SW_PAGE_FAULTS_MAJ), 200);
	assert_int_equal(context_counter_software(PERF_COUNT_SW_CONTEXT_SWITCHES), 43000);
	assert_true(context_counter_software(PERF_COUNT_SW_DUMMY) == UNKNOWN);
	played.no_time = played.no_usage = true;
	assert_true(context_counter_software(PERF_COUNT_SW_TASK_CLOCK) == UNKNOWN);
	assert_true(context_counter_software(PERF_COUNT_SW_PAGE_FAULTS) == UNKNOWN);
	played.no_time = played.no_usage = false;
	played.cannot_ask = true;
	assert_true(context_counter_software(PERF_COUNT_SW_TASK_CLOCK) == UNKNOWN);
	assert_true(context_counter_software(PERF_COUNT_SW_PAGE_FAULTS) == UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_gone),
			cmocka_unit_test(test_entries),
			cmocka_unit_test(test_open),
			cmocka_unit_test(test_pages),
			cmocka_unit_test(test_hardware),
			cmocka_unit_test(test_software),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
