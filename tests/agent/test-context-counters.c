/* SPDX-License-Identifier: MIT */
/*
 * Pages of hardware counters, on any machine: the test replaces the kernel. Each thread reads its
 * own page; pages of exited threads are released; a forked child, which does not have its parent's
 * pages, does not read them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "../check.h"
#include "tracers/agent/context/context.h"

__thread unsigned int agent_vforked; /* defined by the recorder, which is not linked */

static unsigned int opened;
static bool refuse;

/* Replaces the real one: returns a page that counts nothing and holds the id of its thread. */
const void *context_perf_map(uint32_t type, uint64_t config, int *error)
{
	struct perf_event_mmap_page *page;

	CHECK(type == PERF_TYPE_HARDWARE);
	*error = -ENOENT;
	if (refuse)
		return NULL;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	/* As the kernel does with such pages. */
	CHECK(!madvise(page, 4096, MADV_DONTFORK));
	page->cap_user_rdpmc = 1;
	page->offset = (int64_t)(syscall(SYS_gettid) * 100 + (long)config);
	__atomic_add_fetch(&opened, 1, __ATOMIC_RELAXED);
	return page;
}

static uint64_t memory[64];
static struct context_set *set;

static uint64_t expected(unsigned int config)
{
#if defined(__x86_64__) || defined(__i386__)
	return (uint64_t)(syscall(SYS_gettid) * 100 + config);
#else
	(void)config;
	return UINT64_MAX;
#endif
}

static void check(void)
{
	uint64_t values[2];
	int i;

	for (i = 0; i < 3; i++) {
		uint8_t *behind = context_write(set, (uint8_t *)values,
				(const uint8_t *)values + sizeof(values), NULL);

		CHECK(behind == (uint8_t *)values + sizeof(values));
		CHECK(values[0] == expected(PERF_COUNT_HW_CPU_CYCLES));
		CHECK(values[1] == expected(PERF_COUNT_HW_INSTRUCTIONS));
	}
}

static void *in_thread(void *unused)
{
	check();
	return unused;
}

static size_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	CHECK(file && fscanf(file, "%zu", &pages) == 1);
	fclose(file);
	return pages;
}

static void threads(unsigned int nr)
{
	while (nr--) {
		pthread_t thread;

		CHECK(!pthread_create(&thread, NULL, in_thread, NULL));
		CHECK(!pthread_join(thread, NULL));
	}
}

static void in_child(bool bare)
{
	pid_t child = bare ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		check();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	check();
}

int main(void)
{
	struct context_spec specs[9];
	struct context_error error;
	size_t before;
	unsigned int opened_before;
	uint8_t bytes[100];
	uint64_t value;

	CHECK(context_parse_list("perf:thread:cycles,perf:thread:instructions", specs, 9, &error) ==
			2);
	CHECK(!context_set_build(specs, 2, memory, sizeof(memory), &set));
	check();
	threads(50);
	before = address_space();
	opened_before = opened;
	threads(1000);
#if defined(__x86_64__) || defined(__i386__)
	CHECK(opened == opened_before + 2000);
#endif
	(void)opened_before;
	/* 2,000 pages were mapped, and most of them were unmapped. */
	CHECK(address_space() < before + 200);
	in_child(false);
	in_child(true);

	/*
	 * A counter that the processor does not have stays unknown, and is not opened again for
	 * each event.
	 */
	refuse = true;
	CHECK(context_parse_list("perf:thread:cache-misses", specs, 9, &error) == 1);
	CHECK(!context_set_build(specs, 1, memory, sizeof(memory), &set));
	CHECK(context_write(set, bytes, bytes + 8, NULL) == bytes + 8);
	memcpy(&value, bytes, sizeof(value));
	CHECK(value == UINT64_MAX);
	refuse = false;
	CHECK(context_write(set, bytes, bytes + 8, NULL) == bytes + 8);
	memcpy(&value, bytes, sizeof(value));
	CHECK(value == UINT64_MAX);

	/* Eight different ones, and not more. */
	CHECK(context_parse_list("perf:thread:branches,perf:thread:branch-misses,perf:thread:bus-"
				 "cycles,"
				 "perf:thread:ref-cycles,perf:thread:cache-references,"
				 "perf:thread:stalled-cycles-frontend,"
				 "perf:thread:stalled-cycles-backend",
			      specs, 9, &error) == 7);
	CHECK(!context_set_build(specs, 7, memory, sizeof(memory), &set));
	CHECK(context_write(set, bytes, bytes + sizeof(bytes), NULL) == bytes + 56);
	memcpy(&value, bytes + 32, sizeof(value));
	CHECK(value == expected(PERF_COUNT_HW_CACHE_REFERENCES));
	memcpy(&value, bytes + 40, sizeof(value));
	CHECK(value == UINT64_MAX);
	memcpy(&value, bytes + 48, sizeof(value));
	CHECK(value == UINT64_MAX);
	return 0;
}
