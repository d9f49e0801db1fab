/* SPDX-License-Identifier: MIT */
/*
 * Entries for pages of counters: 1000, the lowest free one first, and those of exited threads. The
 * test includes the file.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "tracers/agent/context/values.h"
#include "tracers/agent/context/context.h"
#include "base/inside/raw.h"

static uint32_t first_gone; /* threads with this number or a higher one have ended */
static unsigned int nr_asked, nr_unmapped;

static long played_call(long number, ...)
{
	va_list arguments;
	uint32_t tid;

	va_start(arguments, number);
	(void)va_arg(arguments, int32_t);
	tid = va_arg(arguments, uint32_t);
	va_end(arguments);
	CHECK(number == SYS_tgkill);
	nr_asked++;
	return tid >= first_gone ? -ESRCH : 0;
}

static int played_unmap(void *page, size_t size)
{
	CHECK(page == (void *)0x1000 && size == CONTEXT_PAGE_MAX);
	nr_unmapped++;
	return 0;
}

#undef raw_call
#define raw_call played_call
#define raw_munmap played_unmap
#include "tracers/agent/context/perf.c"
#undef raw_munmap

int main(void)
{
	first_gone = UINT32_MAX;
	for (uint32_t i = 0; i < 1000; i++)
		CHECK(context_perf_claim_entry(1000 + i) == (int)i && nr_used == i + 1);
	nr_asked = 0;
	CHECK(context_perf_claim_entry(5) == -1 && nr_used == 1000 && nr_asked == 8);
	/*
	 * Each time, 8 others are checked. Those of exited threads are free, and their pages are
	 * unmapped.
	 */
	first_gone = 1990;
	table.entries[995].page = (const void *)0x1000;
	next_check = 984;
	nr_asked = 0;
	CHECK(context_perf_claim_entry(5) == 990 && nr_asked == 8 && !nr_unmapped);
	CHECK(table.entries[990].tid == 5 && !table.entries[991].tid &&
			table.entries[992].tid == 1992);
	CHECK(context_perf_claim_entry(6) == 991 && nr_unmapped == 1 && next_check == 1000);
	CHECK(!table.entries[995].page && !table.entries[999].tid);
	/* An entry that another thread frees at that moment is not used. */
	first_gone = 0;
	table.entries[3].tid = CLAIMED;
	next_check = 2;
	CHECK(context_perf_claim_entry(7) == 2 && table.entries[3].tid == CLAIMED &&
			!table.entries[4].tid && !table.entries[9].tid &&
			table.entries[10].tid == 1010);
	return 0;
}
