/* SPDX-License-Identifier: MIT */
/*
 * Caches of contexts in one thread: when values are read, kept and inherited, also in sandboxes and
 * children. Also the bytes of a set for each method of writing. The test includes both files, and
 * replaces the kernel and the contexts that are read each time.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include <side/context.h>
#include <side/tracer-extensions.h>

#include "../called.h"
#include "tracers/agent/context/sources.h"
#include "tracers/agent/context/text.h"
#include "tracers/agent/context/values.h"
#include "tracers/agent/context/context.h"
#include "ring/ring.h"
#include "base/inside/raw.h"

static struct {
	int32_t pid, tid, cpu;
	long seccomp;
	int madvise, atfork, tgkill;
	uint32_t unstable;
	uint32_t nr_reads; /* a part of all values that are read */
	bool keeps;        /* the last read may keep the name of the process */
	void (*in_read)(void);
	void (*in_application)(void);
	struct side_context_value value;
	uint64_t counter;
	const int32_t *tid_address;
} played;

static long play_call(long number, ...)
{
	const int32_t **address;
	va_list list;
	long ret = 0;
	int first;

	va_start(list, number);
	switch (number) {
	case SYS_prctl:
		first = va_arg(list, int);
		if (first == PR_GET_SECCOMP) {
			called("seccomp\n");
			ret = played.seccomp;
			break;
		}
		assert_int_equal(first, PR_GET_TID_ADDRESS);
		address = va_arg(list, const int32_t **);
		*address = played.tid_address;
		break;
	case SYS_madvise: ret = played.madvise; break;
	case SYS_tgkill:
		called("is %ld there\n", va_arg(list, long));
		ret = played.tgkill;
		break;
	default: fail();
	}
	va_end(list);
	return ret;
}

/* Values that differ in each read. */
static uint32_t play_read(uint32_t groups, struct context_values *values, bool keeps_procname)
{
	uint32_t base = 1000 * ++played.nr_reads;

	played.keeps = keeps_procname;
	called("read %x\n", groups);
	if (groups & CONTEXT_GROUP(IDS)) {
		values->vpid = played.pid;
		values->vtid = played.tid;
	}
	if (groups & CONTEXT_GROUP(TID))
		values->tid = (int32_t)base + 3;
	for (unsigned int i = 0; i < 3; i++) {
		if (groups & CONTEXT_GROUP(UIDS))
			values->uids[i] = base + 10 + i;
		if (groups & CONTEXT_GROUP(GIDS))
			values->gids[i] = base + 20 + i;
	}
	if (groups & CONTEXT_GROUP(PROCNAME))
		strcpy(values->procname, "process");
	if (groups & CONTEXT_GROUP(THREAD_NAME))
		strcpy(values->thread_name, "fifteen letters");
	for (unsigned int i = 0; i < 8; i++)
		if (groups & 1u << (CONTEXT_GROUP_NAMESPACES + i))
			values->namespaces[i] = (uint64_t)base * 1000000000 + i;
	if (played.in_read)
		played.in_read();
	errno = EIO;
	return played.unstable;
}

static int32_t play_pid(void)
{
	return played.pid;
}

static int32_t play_tid(void)
{
	return played.tid;
}

static int play_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	assert_true(!prepare && !parent && child);
	called("atfork\n");
	return played.atfork;
}

static void play_application(const void *position, struct side_context_value *value)
{
	assert_ptr_equal(position, &played);
	called("application\n");
	if (played.in_application)
		played.in_application();
	*value = played.value;
}

static const void *play_find(const char *provider, const char *name)
{
	called("find %s:%s\n", provider, name);
	return &played;
}

static uint8_t *play_cgroup_write(uint8_t *to, const uint8_t *end)
{
	if (end - to < 4)
		return NULL;
	memcpy(to, "/cg", 4);
	return to + 4;
}

static const char *play_cgroup(void)
{
	return "/cg";
}

static int play_number(const struct context_spec *spec)
{
	return spec->perf_config == 0 ? 5 : -E2BIG;
}

static uint64_t play_hardware(uint32_t number)
{
	return number == CONTEXT_COUNTERS_MAX ? UINT64_MAX : 100 + number;
}

#undef raw_call
#define raw_call(...) play_call(__VA_ARGS__)
#define context_sources_read play_read
#define context_sources_pid play_pid
#define context_sources_tid play_tid
#define context_sources_start(stamp) called("start %d\n", (stamp) != 0)
#define context_cgroup_forked() called("forked\n")
#define context_cgroup_poll play_cgroup
#define context_cgroup_write play_cgroup_write
#define context_counters_open() called("counters\n")
#define context_counter_number play_number
#define context_counter_hardware play_hardware
#define context_counter_software(config) ((uint64_t)(config) + 200)
#define pthread_atfork play_atfork
#define side_tracer_sandbox_begins() called("begins\n")
#define side_tracer_sandbox_failed() called("failed\n")
#define side_context_read play_application
#define side_context_find play_find
#define ring_thread_cpu() (played.cpu)
#define sched_getcpu() 77
#include "tracers/agent/context/values.c"

#include "tracers/agent/context/context.c"

#define IDS CONTEXT_GROUP(IDS)
#define UIDS CONTEXT_GROUP(UIDS)
#define GIDS CONTEXT_GROUP(GIDS)

/* Starts with a thread of a new process. */
static void reset(void)
{
	memset(&played, 0, sizeof(played));
	memset(&context_thread, 0, sizeof(context_thread));
	memset(&context_process, 0, sizeof(context_process));
	memset(context_blocks, 0, sizeof(context_blocks));
	memset(&context_sharing, 0, sizeof(context_sharing));
	memset(known_sets, 0, sizeof(known_sets));
	memset(&inherited, 0, sizeof(inherited));
	nr_known_sets = context_needed = sandbox = inherited_version = agent_vforked = 0;
	seccomp_before = tid_offset = 0;
	started = true;
	played.pid = 500;
	played.tid = 501;
	played.cpu = 3;
	(void)context_generation_now();
	*calls = '\0';
}

/* ---- values ---- */

static uint32_t get(uint32_t groups, struct context_values *values, const char *wanted)
{
	uint32_t generation;

	memset(values, 0xee, sizeof(*values));
	generation = context_values_get(groups, values);
	assert_called(wanted);
	return generation;
}

static void test_get(void **unused)
{
	struct context_values values;
	uint32_t generation;

	(void)unused;
	reset();
	generation = context_generation_now();
	assert_int_equal(get(UIDS, &values, "seccomp\nread 10\n"), generation);
	assert_int_equal(values.uids[2], 1012);
	assert_int_equal(get(UIDS, &values, ""), generation);
	assert_int_equal(values.uids[0], 1010);
	/* Values that other sets need are read, too. */
	context_needed = IDS;
	assert_int_equal(get(UIDS | GIDS, &values, "seccomp\nread 21\n"), generation);
	assert_true(values.gids[0] == 2020 && values.uids[0] == 1010 && values.vpid == 500);
	assert_int_equal(context_thread.fills, 2);
	/* A change of one group. */
	context_changed(GIDS);
	assert_true(context_generation_now() > generation);
	assert_int_equal(get(UIDS | GIDS, &values, "seccomp\nread 20\n"), context_generation_now());
	assert_true(values.gids[1] == 3021 && values.uids[0] == 1010);
	assert_ptr_equal(context_values_known(UIDS), &context_thread.values);
	context_changed(UIDS);
	assert_null(context_values_known(UIDS));
	assert_ptr_equal(context_values_known(GIDS), &context_thread.values);
	context_values_renew(GIDS);
	assert_called("");
	context_values_renew(UIDS);
	assert_called("seccomp\nread 10\n");
	assert_ptr_equal(context_values_find(UIDS, &values), &context_thread.values);
	assert_called("");
	context_changed(UIDS);
	assert_ptr_equal(context_values_find(UIDS, &values), &context_thread.values);
	assert_called("seccomp\nread 10\n");
	/* An unstable value is not kept. */
	context_changed(UIDS | GIDS);
	played.unstable = UIDS;
	assert_int_equal(get(UIDS | GIDS, &values, "seccomp\nread 30\nseccomp\nread 30\n"), 0);
	played.unstable = 0;
	assert_int_equal(get(GIDS, &values, ""), context_generation_now());
	/* A signal handler interrupts a read: it asks the kernel itself. */
	context_thread.busy = true;
	assert_int_equal(get(UIDS, &values, "seccomp\nread 10\n"), 0);
	assert_ptr_equal(context_values_find(UIDS, &values), &values);
	context_thread.busy = false;
	assert_null(context_values_known(UIDS));
	*calls = '\0';
	/* Counters are opened with the values. */
	(void)get(CONTEXT_GROUP(COUNTERS), &values, "seccomp\nread 4000\ncounters\n");
}

static void change_uids(void)
{
	played.in_read = NULL;
	assert_true(context_thread.busy);
	context_changed(UIDS);
}

static void test_changes_while_read(void **unused)
{
	struct context_values values;

	(void)unused;
	reset();
	/* A value that changes during the read is not kept. */
	played.in_read = change_uids;
	assert_int_equal(get(UIDS, &values, "seccomp\nread 10\nseccomp\nread 10\n"), 0);
	assert_int_equal(values.uids[0], 2010);
	assert_false(context_thread.busy);
	assert_int_equal(get(UIDS, &values, "seccomp\nread 10\n"), context_generation_now());
}

static void test_begin(void **unused)
{
	uint32_t stamp, generation;

	(void)unused;
	reset();
	generation = context_process.generation;
	stamp = context_process.stamps[CONTEXT_GROUP_UIDS];
	/* A forked child starts again, with stamps that no process has used. */
	memset(&context_process, 0, sizeof(context_process));
	context_changed(UIDS);
	assert_int_equal(context_process.stamps[CONTEXT_GROUP_UIDS], 0);
	inherited_version = 7;
	played.pid = 600;
	assert_true(context_generation_now() > generation);
	assert_called("forked\nstart 1\n");
	assert_true(context_process.pid == 600 && inherited_version == 6);
	for (unsigned int i = 0; i < CONTEXT_GROUPS; i++)
		assert_true(context_process.stamps[i] > stamp);
	assert_true(context_generation_now() == context_process.generation);
	assert_called("");
	/* No stamp is 0. */
	stamp = last_stamp;
	last_stamp = UINT32_MAX;
	assert_int_equal(new_stamp(), 1);
	assert_int_equal(new_stamp(), 2);
	last_stamp = stamp;
	wipe_by_hand();
	assert_int_equal(context_process.generation, 0);
	/* The start, once. */
	reset();
	started = false;
	context_process.generation = 0;
	played.seccomp = 2;
	assert_int_equal(context_values_start(), 0);
	assert_called("seccomp\nforked\nstart 1\n");
	assert_int_equal(seccomp_before, 2);
	assert_int_equal(context_values_start(), 0);
	assert_called("");
	started = false;
	played.madvise = -EINVAL;
	assert_int_equal(context_values_start(), 0);
	assert_called("seccomp\natfork\n");
	started = false;
	played.atfork = ENOMEM;
	assert_int_equal(context_values_start(), -ENOMEM);
	assert_called("seccomp\natfork\n");
	started = true;
}

static void test_names(void **unused)
{
	struct context_values values;
	uint32_t generation;

	(void)unused;
	reset();
	(void)get(CONTEXT_GROUP(THREAD_NAME), &values, "seccomp\nread 8\n");
	generation = context_generation_now();
	for (int i = 0; i < CONTEXT_BLOCKS; i++)
		context_blocks[i].stamp = 5;
	context_name_changed();
	for (int i = 0; i < CONTEXT_BLOCKS; i++)
		assert_int_equal(context_blocks[i].stamp, 0);
	(void)get(CONTEXT_GROUP(THREAD_NAME), &values, "seccomp\nread 8\n");
	assert_int_equal(context_generation_now(), generation);
	/* The main thread's name is the process's. */
	played.tid = 500;
	context_name_changed();
	assert_true(context_generation_now() > generation);
	context_process.generation = 0;
	context_blocks[0].stamp = 5;
	context_name_changed();
	assert_int_equal(context_blocks[0].stamp, 5);
	reset();
	played.tid = 500;
	generation = context_generation_now();
	context_thread.sandboxed = true;
	context_name_changed();
	assert_int_equal(context_generation_now(), generation);
}

/* ---- children, and threads that share memory ---- */

static void test_foreign(void **unused)
{
	struct context_values values;

	(void)unused;
	reset();
	assert_false(context_is_foreign());
	played.pid = 600;
	assert_true(context_is_foreign());
	assert_int_equal(get(UIDS, &values, "seccomp\nseccomp\nread 10\n"), 0);
	assert_false(played.keeps);
	played.pid = 500;
	agent_vforked = CONTEXT_VFORKED;
	assert_true(context_is_foreign());
	agent_vforked = CONTEXT_SHARES_MEMORY;
	assert_false(context_is_foreign());
	context_thread.sandboxed = true;
	played.pid = 600;
	assert_false(context_is_foreign());
	/* Determines the owner of shared memory. */
	reset();
	agent_vforked = CONTEXT_SHARES_MEMORY;
	context_sharing = (struct context_sharing){.owner = 501, .process = 9, .asked = 254};
	assert_true(context_is_owner());
	assert_called("");
	assert_true(context_is_owner());
	assert_called("is 9 there\n");
	assert_int_equal(agent_vforked, CONTEXT_SHARES_MEMORY);
	context_sharing.asked = 511;
	played.tgkill = -EPERM;
	assert_true(context_is_owner() && agent_vforked == CONTEXT_SHARES_MEMORY);
	context_sharing.asked = 511;
	played.tgkill = -ESRCH;
	assert_true(context_is_owner());
	assert_int_equal(agent_vforked, 0);
	assert_called("is 9 there\nis 9 there\n");
	/* Several processes: the id is not requested. */
	context_sharing.process = -1;
	context_sharing.asked = 511;
	assert_true(context_is_owner());
	context_sharing.process = 0;
	context_sharing.asked = 511;
	assert_true(context_is_owner());
	assert_called("");
	context_sharing.owner = 502;
	assert_false(context_is_owner());
	context_thread.sandboxed = true;
	context_sharing.process = 9;
	context_sharing.asked = 511;
	assert_true(context_is_owner());
	assert_called("");
}

/* ---- sandboxes ---- */

static void test_sandboxes(void **unused)
{
	struct context_values values;

	(void)unused;
	reset();
	started = false;
	assert_false(context_sandbox_begins(false));
	assert_called("");
	started = true;
	played.pid = 600;
	assert_false(context_sandbox_begins(false));
	assert_called("");
	played.pid = 500;
	context_needed = IDS | UIDS;
	assert_true(context_sandbox_begins(false));
	assert_called("seccomp\nread 11\nbegins\n");
	assert_true(sandbox == SANDBOX_SOME_THREADS && context_thread.sandboxed &&
			context_thread.known && inherited_version == 2);
	assert_false(context_may_ask());
	/* Values do not change, not even after a change. */
	context_changed(UIDS);
	assert_int_equal(get(UIDS | GIDS, &values, ""), context_generation_now());
	assert_true(values.uids[1] == 1011 && values.gids[1] == 0);
	context_sandbox_failed();
	assert_called("failed\n");
	assert_true(sandbox == SANDBOX_NONE && !context_thread.sandboxed && context_may_ask());
	/* All threads, including those that are known. */
	assert_true(context_sandbox_begins(true));
	assert_int_equal(sandbox, SANDBOX_ALL_THREADS);
	context_thread.sandboxed = false;
	assert_false(context_may_ask());
	*calls = '\0';
	assert_true(context_sandbox_begins(false));
	assert_int_equal(sandbox, SANDBOX_ALL_THREADS);
	context_sandbox_failed();
	assert_true(sandbox == SANDBOX_ALL_THREADS && context_thread.sandboxed);
	/* Of some threads: a known thread may ask, a new one may not. */
	reset();
	sandbox = SANDBOX_SOME_THREADS;
	context_thread.known = true;
	assert_true(context_may_ask());
	context_thread.known = false;
	assert_false(context_may_ask());
	/* A sandbox that was not announced to the agent. */
	reset();
	played.seccomp = 2;
	assert_int_equal(get(UIDS, &values, "seccomp\n"), context_generation_now());
	assert_true(context_thread.sandboxed);
}

static void test_inherited(void **unused)
{
	struct context_values values, kept;
	static int32_t word;

	(void)unused;
	reset();
	context_values_need(UIDS | CONTEXT_GROUP(THREAD_NAME) | CONTEXT_GROUP(TID));
	assert_int_equal(context_needed, UIDS | CONTEXT_GROUP(THREAD_NAME) | CONTEXT_GROUP(TID));
	assert_true(inherited_version == 2 && inherited.uids[2] == 1012);
	*calls = '\0';
	/* A thread that was created in the sandbox has neither name nor number. */
	memset(&context_thread, 0, sizeof(context_thread));
	context_thread.sandboxed = true;
	(void)get(UIDS | IDS, &values, "");
	assert_true(values.uids[2] == 1012 && !values.thread_name[0] && !values.tid &&
			values.vpid == 500 && !values.vtid);
	memset(&context_thread, 0, sizeof(context_thread));
	context_thread.sandboxed = true;
	(void)get(UIDS, &values, "");
	assert_int_equal(values.vpid, 0);
	/* Another thread is writing them. */
	kept = inherited;
	inherited_version = 3;
	memset(&values, 1, sizeof(values));
	keep_inherited(&values);
	assert_memory_equal(&inherited, &kept, sizeof(kept));
	inherited_version = 4;
	keep_inherited(&values);
	assert_memory_equal(&inherited, &values, sizeof(values));
	assert_int_equal(inherited_version, 6);
	memset(&kept, 0, sizeof(kept));
	take_inherited(&kept);
	assert_memory_equal(&kept, &values, sizeof(values));
	/* The word of the C library that has the number of the thread. */
	reset();
	played.tid_address = NULL;
	find_tid();
	assert_true(!tid_offset && tid_in_sandbox() == 0);
	word = 501;
	played.tid_address = &word; /* before the control block, or too far behind it */
	find_tid();
	assert_int_equal(tid_offset, 0);
	played.tid_address =
			(const int32_t *)(const void *)((const char *)__builtin_thread_pointer() +
					64);
	played.tid = *played.tid_address + 1;
	find_tid();
	assert_int_equal(tid_offset, 0);
	played.tid--;
	find_tid();
	assert_int_equal(tid_offset, 64);
	assert_int_equal(tid_in_sandbox(), *played.tid_address);
}

/* ---- sets ---- */

static struct context_spec specs[CONTEXT_SET_MAX + 1];

static size_t parse(const char *names)
{
	struct context_error error;
	int nr = context_parse_list(names, specs, CONTEXT_SET_MAX, &error);

	assert_true(nr >= 0);
	return (size_t)nr;
}

static struct context_set *build(const char *names, uint64_t *memory, size_t size)
{
	struct context_set *set = NULL;
	size_t nr = parse(names);

	assert_int_equal(context_set_build(specs, nr, memory, size, &set), 0);
	*calls = '\0';
	return set;
}

static void test_sizes(void **unused)
{
	static uint64_t memory[400];
	struct context_set *set;
	ssize_t size;

	(void)unused;
	reset();
	assert_int_equal(parse("vpid,vtid"), 2);
	size = context_set_size(specs, 2);
	assert_int_equal(size, sizeof(struct context_set) + 2 * sizeof(struct context_item));
	assert_int_equal(context_set_build(specs, 2, memory, (size_t)size - 1, &set), -ENOSPC);
	assert_int_equal(context_set_build(specs, 2, memory, (size_t)size, &set), 0);
	for (int i = 2; i <= CONTEXT_SET_MAX; i++)
		specs[i] = specs[0];
	assert_true(context_set_size(specs, CONTEXT_SET_MAX) > 0);
	assert_int_equal(context_set_size(specs, CONTEXT_SET_MAX + 1), -E2BIG);
	assert_int_equal(
			context_set_build(specs, CONTEXT_SET_MAX + 1, memory, sizeof(memory), &set),
			-E2BIG);
	specs[1].kind = CONTEXT_KINDS;
	assert_int_equal(context_set_size(specs, 2), -EINVAL);
	specs[1].kind = CONTEXT_UID;
	assert_true(context_set_size(specs, 2) > 0);
	specs[1].name[CONTEXT_NAME_MAX] = 'x';
	assert_int_equal(context_set_size(specs, 2), -EINVAL);
	/* The offsets of the parts of an application's context name. */
	assert_int_equal(parse("$app.p:n"), 1);
	assert_true(spec_is_sound(&specs[0]));
	for (int i = 0; i < 5; i++) {
		struct context_spec spec = specs[0];

		switch (i) {
		case 0: spec.provider_at = 0; break;
		case 1: spec.provider_size = 0; break;
		case 2: spec.label_at = (uint8_t)(spec.provider_at + spec.provider_size); break;
		case 3: spec.label_at = CONTEXT_NAME_MAX; break;
		default: spec.label_at = CONTEXT_NAME_MAX - 1; break;
		}
		assert_int_equal(spec_is_sound(&spec), i == 4);
	}
}

static void test_numbers(void **unused)
{
	struct context_set set;

	(void)unused;
	reset();
	assert_int_equal(parse("vpid,vtid"), 2);
	assert_int_equal(agent_context_set_number(specs, 2), 1);
	assert_int_equal(agent_context_set_number(specs, 1), 2);
	assert_int_equal(agent_context_set_number(specs + 1, 1), 3);
	assert_int_equal(agent_context_set_number(specs, 2), 1);
	assert_int_equal(agent_context_set_number(specs, 0), 4);
	/* The terminator of a name is compared: "a","b" is not "ab". */
	strcpy(specs[0].name, "a");
	strcpy(specs[1].name, "b");
	strcpy(specs[2].name, "ab");
	assert_true(hash_names(specs, 2) != hash_names(specs + 2, 1));
	assert_int_equal(hash_names(specs, 0), 0xcbf29ce484222325u);
	assert_true(hash_names(specs, 1) ==
			(((0xcbf29ce484222325u ^ 'a') * 0x100000001b3u) ^ 0) * 0x100000001b3u);
	for (int i = 4; i < 256; i++) {
		(void)snprintf(specs[0].name, sizeof(specs[0].name), "n%d", i);
		assert_int_equal(agent_context_set_number(specs, 1), i + 1);
	}
	strcpy(specs[0].name, "one more");
	assert_int_equal(agent_context_set_number(specs, 1), 0);
	/* A block for sets of at most 96 bytes, with at most 8 contexts that are made each time. */
	for (int i = 0; i < 5; i++) {
		set = (struct context_set){.is_light = true,
				.nr_computed = i == 3    ? 9
						: i == 4 ? 0
							 : 8};
		choose_block(&set, i == 1 ? 0 : 7, i == 2 ? 97 : 96);
		if (i >= 1 && i <= 3) {
			assert_true(!set.is_light && !set.block_id && set.id == NO_ID);
			continue;
		}
		assert_true(set.is_light && set.block_id == UINT64_C(7) << 32 &&
				set.block_at == sizeof(struct context_block));
		assert_true(set.id == (i == 4 ? set.block_id : NO_ID));
	}
}

static const void *const place_of_call = (const void *)0x123456789a;

/* Each method of writing gives the same bytes, up to the last one that fits. */
static size_t assert_written(const char *names, uint8_t *wanted)
{
	static uint64_t memory[400], buffer[200];
	struct context_set *set = build(names, memory, sizeof(memory));
	uint8_t *to = (uint8_t *)buffer, *behind;
	struct context_values values;
	size_t size;

	behind = write_each(set, wanted, wanted + 400, place_of_call, &values);
	assert_non_null(behind);
	size = (size_t)(behind - wanted);
	for (int round = 0; round < 2; round++) {
		for (size_t capacity = 0; capacity < sizeof(buffer); capacity++) {
			memset(buffer, 0, sizeof(buffer));
			if (!round)
				memset(context_blocks, 0, sizeof(context_blocks));
			errno = E2BIG;
			behind = context_write(set, to, to + capacity, place_of_call);
			assert_int_equal(errno, E2BIG);
			assert_ptr_equal(behind, capacity < size ? NULL : to + size);
			if (behind)
				assert_memory_equal(to, wanted, size);
			assert_int_equal(to[capacity], 0);
			if (capacity == 700)
				capacity = 1590;
		}
	}
	return size;
}

static void test_writing(void **unused)
{
	static const struct {
		const char *names;
		size_t size;
	} sets[] = {{"vpid,vtid", 8}, {"uid,euid,suid,gid,egid,sgid", 24}, {"procname", 8},
			{"thread_name,tid", 20}, {"ip", 8}, {"cpu_id,vpid,ip", 16},
			{"vpid,ip,vtid,cpu_id,tid", 24}, {"cgroup,vpid", 8},
			{"cgroup_ns,ipc_ns,mnt_ns,net_ns,pid_ns,time_ns,user_ns,uts_ns,ip", 72},
			{"uts_ns,thread_name,cgroup_ns,ipc_ns,mnt_ns,net_ns,pid_ns,time_ns,user_ns,ip,procname,vpid",
					100}};
	uint8_t wanted[400];
	uint64_t number;
	int32_t word;

	(void)unused;
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		reset();
		assert_int_equal(assert_written(sets[i].names, wanted), sets[i].size);
		switch (i) {
		case 0:
			memcpy(&word, wanted + 4, 4);
			assert_int_equal(word, 501);
			break;
		case 1:
			for (uint32_t k = 0; k < 6; k++) {
				memcpy(&word, wanted + 4 * k, 4);
				assert_int_equal(word % 1000, k < 3 ? 10 + k : 17 + k);
			}
			break;
		case 2: assert_string_equal((const char *)wanted, "process"); break;
		case 3: assert_string_equal((const char *)wanted, "fifteen letters"); break;
		case 4:
			memcpy(&number, wanted, 8);
			assert_int_equal(number, (uintptr_t)place_of_call);
			break;
		case 5:
			memcpy(&word, wanted, 4);
			assert_int_equal(word, 3);
			break;
		case 7: assert_string_equal((const char *)wanted, "/cg"); break;
		case 8:
			for (uint64_t k = 0; k < 8; k++) {
				memcpy(&number, wanted + 8 * k, 8);
				assert_int_equal(number % 1000, k);
			}
			break;
		default: break;
		}
	}
	played.cpu = -1;
	assert_int_equal(processor(), 77);
	played.cpu = 0;
	assert_int_equal(processor(), 0);
}

static void test_blocks(void **unused)
{
	static uint64_t memory[100];
	struct context_set *set;
	struct context_block copy;
	struct context_values values;

	(void)unused;
	reset();
	set = build("vpid,uid", memory, sizeof(memory));
	assert_false(block_take(set, &copy));
	block_make(set, &copy, &values);
	assert_true(block_take(set, &copy) && copy.size == 8);
	/* A change, and then again. */
	context_changed(UIDS);
	assert_false(block_take(set, &copy));
	block_make(set, &copy, &values);
	assert_true(block_take(set, &copy));
	/* In a handler that interrupts the building of a block, nothing is kept. */
	context_changed(GIDS);
	context_thread.busy = true;
	memset(&copy, 0, sizeof(copy));
	block_make(set, &copy, &values);
	assert_int_equal(copy.size, 8);
	assert_true(context_thread.busy && !block_take(set, &copy));
	context_thread.busy = false;
	played.unstable = UIDS;
	context_changed(UIDS);
	block_make(set, &copy, &values);
	assert_false(block_take(set, &copy));
	assert_false(context_thread.busy);
}

/* ---- contexts of the application, and counters ---- */

static uint64_t application_memory[60];
static struct context_set *application_set;

static void nest(void)
{
	uint8_t bytes[100];

	(void)context_write(application_set, bytes, bytes + sizeof(bytes), NULL);
}

static void assert_application(uint32_t kind, uint64_t content, const char *wanted, size_t size)
{
	uint8_t bytes[64];

	played.value = (struct side_context_value){.kind = kind, .content.uint64 = content};
	for (size_t capacity = 0; capacity < 60; capacity++) {
		uint8_t *behind = put_application(&played, bytes, bytes + capacity);

		assert_ptr_equal(behind, capacity < size ? NULL : bytes + size);
		if (behind)
			assert_memory_equal(bytes, wanted, size);
	}
	*calls = '\0';
}

static void test_application(void **unused)
{
	static const char text[] = "text";
	struct filter_value value;

	(void)unused;
	reset();
	parse("$app.pro:name");
	assert_int_equal(context_set_build(specs, 1, application_memory, sizeof(application_memory),
					 &application_set),
			0);
	assert_called("find pro:name\n");
	assert_application(SIDE_CONTEXT_NONE, 9, "\0", 1);
	assert_application(SIDE_CONTEXT_INT64, 0x0807060504030201, "\1\1\2\3\4\5\6\7\10", 9);
	assert_application(SIDE_CONTEXT_STRING, (uintptr_t)text, "\4text\0", 6);
	assert_application(SIDE_CONTEXT_STRING, 0, "\0", 1);
	assert_application(SIDE_CONTEXT_BOOL, 256, "\5\1", 2);
	assert_application(SIDE_CONTEXT_BOOL, 0, "\5\0", 2);
	assert_application(SIDE_CONTEXT_BOOL + 1, 0, "\0", 1);
	/* A function that emits is called twice, not endlessly. */
	played.in_application = nest;
	nest();
	assert_called("application\napplication\n");
	assert_int_equal(context_thread.applications, 0);
	played.in_application = NULL;
	played.value = (struct side_context_value){.kind = SIDE_CONTEXT_INT64, .content.int64 = -5};
	errno = E2BIG;
	assert_true(context_set_load(application_set, 0, NULL, &value) && value.s == -5 &&
			!value.is_unsigned);
	assert_false(context_set_load(application_set, 1, NULL, &value));
	played.value.kind = SIDE_CONTEXT_UINT64;
	assert_true(context_set_load(application_set, 0, NULL, &value) && value.is_unsigned);
	played.value.kind = SIDE_CONTEXT_BOOL;
	assert_true(context_set_load(application_set, 0, NULL, &value) && value.u == 1);
	played.value = (struct side_context_value){
			.kind = SIDE_CONTEXT_DOUBLE, .content.float64 = 2.5};
	assert_true(context_set_load(application_set, 0, NULL, &value) && value.f == 2.5 &&
			value.kind == FILTER_DOUBLE);
	played.value = (struct side_context_value){
			.kind = SIDE_CONTEXT_STRING, .content.string = text};
	assert_true(context_set_load(application_set, 0, NULL, &value) && value.text == text);
	played.value.content.string = NULL;
	assert_false(context_set_load(application_set, 0, NULL, &value));
	played.value.kind = SIDE_CONTEXT_NONE;
	assert_false(context_set_load(application_set, 0, NULL, &value));
	assert_int_equal(errno, E2BIG);
	*calls = '\0';
}

static void test_loads(void **unused)
{
	static uint64_t memory[200];
	struct context_set *set;
	struct filter_value value;

	(void)unused;
	reset();
	set = build("vpid,procname,thread_name,cpu_id,ip,cgroup,uts_ns,gid", memory,
			sizeof(memory));
	errno = E2BIG;
	assert_true(context_set_load(set, 0, NULL, &value) && value.u == 500 && value.is_unsigned);
	assert_true(context_set_load(set, 1, NULL, &value));
	assert_string_equal(value.text, "process");
	assert_ptr_equal(value.text, context_thread.values.procname);
	assert_true(context_set_load(set, 2, NULL, &value));
	assert_string_equal(value.text, "fifteen letters");
	assert_true(context_set_load(set, 3, NULL, &value) && value.u == 3);
	assert_true(context_set_load(set, 4, place_of_call, &value) &&
			value.u == (uintptr_t)place_of_call);
	assert_true(context_set_load(set, 5, NULL, &value));
	assert_string_equal(value.text, "/cg");
	assert_true(context_set_load(set, 6, NULL, &value) && value.u == UINT64_C(1000000000007));
	assert_true(context_set_load(set, 7, NULL, &value) && value.u == 1020);
	assert_false(context_set_load(set, 8, NULL, &value));
	/* In a handler the text is copied, each name into its own memory. */
	context_changed(CONTEXT_ALL_GROUPS);
	context_thread.busy = true;
	assert_true(context_set_load(set, 1, NULL, &value));
	assert_ptr_equal(value.text, context_thread.scratch[0]);
	assert_string_equal(value.text, "process");
	assert_true(context_set_load(set, 2, NULL, &value));
	assert_ptr_equal(value.text, context_thread.scratch[1]);
	assert_string_equal(context_thread.scratch[0], "process");
	assert_int_equal(errno, E2BIG);
	context_thread.busy = false;
	context_changed(CONTEXT_ALL_GROUPS);
	*calls = '\0';
	context_renew(set);
	assert_int_equal(errno, E2BIG);
	assert_non_null(strstr(calls, "read"));
	*calls = '\0';
	set = build("ip", memory, sizeof(memory));
	context_renew(set);
	assert_called("");
	assert_true(context_load(&specs[0], place_of_call, &value) &&
			value.u == (uintptr_t)place_of_call);
	specs[0].name[CONTEXT_NAME_MAX] = 'x';
	assert_false(context_load(&specs[0], place_of_call, &value));
}

static void test_counters(void **unused)
{
	static uint64_t memory[200];
	struct context_set *set;
	struct filter_value value;

	(void)unused;
	reset();
	set = build("perf:thread:cpu-cycles,perf:thread:instructions,perf:thread:task-clock",
			memory, sizeof(memory));
	assert_true(set->needs == CONTEXT_GROUP(COUNTERS) && set->nr_computed == 3 &&
			!set->is_light);
	assert_true(!set->items[0].software && set->items[0].counter == 5);
	assert_true(!set->items[1].software && set->items[1].counter == CONTEXT_COUNTERS_MAX);
	assert_true(set->items[2].software);
	assert_true(context_set_load(set, 0, NULL, &value) && value.u == 105);
	assert_false(context_set_load(set, 1, NULL, &value));
	assert_true(context_set_load(set, 2, NULL, &value) &&
			value.u == 200 + specs[2].perf_config);
	/* A hardware counter alone is not opened. */
	assert_false(context_load(&specs[0], NULL, &value));
	assert_true(context_load(&specs[2], NULL, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_get),
			cmocka_unit_test(test_changes_while_read),
			cmocka_unit_test(test_begin),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_foreign),
			cmocka_unit_test(test_sandboxes),
			cmocka_unit_test(test_inherited),
			cmocka_unit_test(test_sizes),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_writing),
			cmocka_unit_test(test_blocks),
			cmocka_unit_test(test_application),
			cmocka_unit_test(test_loads),
			cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
