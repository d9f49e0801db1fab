/* SPDX-License-Identifier: MIT */
/*
 * Which rules, filters and contexts the agent chooses for an event of a channel, and the task that
 * starts the control thread: its memory, its thread-local storage, and when it can run. The test
 * includes the files, and decides what filters, contexts and the loader return.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <linux/futex.h>

#include <cmocka.h>

#include <side/trace.h>

#include "filter/filter.h"
#include "protocol/pattern.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/control-starter.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/control.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/library-events.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/record.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/select.h"
#include "tracers/agent/core/session.h"
#include "base/inside/raw.h"

/* ---- filters, contexts and probes ---- */

static struct side_event_description event_a, event_b, event_ours;
static const struct side_event_description *other_end; /* of event_a */
static int filter_sizes[4];                            /* indexed by the first byte of a filter */
static int link_result, set_build_result;
static ssize_t set_size;
static unsigned int nr_linked, nr_set, nr_chosen;
static bool has_probe;
static uint64_t set_words[2][8];
#define SET(i) ((struct context_set *)(void *)set_words[i])

static ssize_t fake_size(const void *filter, size_t size,
		const struct side_event_description *event, const struct filter_names *names,
		struct filter_error *error)
{
	assert_true(size == 1 && names->resolve);
	*error->text = *error->hint = '\0';
	/* Filter 3 is for the other end of the call only. */
	if (*(const char *)filter == 3)
		return event == &event_b ? 48 : -EINVAL;
	return filter_sizes[(int)*(const char *)filter];
}

static int fake_link(const void *filter, size_t size, const struct side_event_description *event,
		const struct filter_names *names, void *memory, size_t space,
		struct filter **linked, struct filter_error *error)
{
	(void)event;
	(void)names;
	(void)error;
	assert_true(size == 1 && memory && space == 48 && !((uintptr_t)memory & 15));
	nr_linked++;
	*linked = (struct filter *)(uintptr_t)filter;
	return link_result;
}

static bool fake_wants(const struct pattern *patterns, uint32_t nr, const char *provider,
		const char *event, unsigned int loglevel)
{
	(void)patterns;
	assert_true(provider && event && loglevel < 15);
	return nr != 9;
}

static ssize_t fake_set_size(const struct context_spec *specs, size_t nr)
{
	assert_non_null(specs);
	nr_set = (unsigned int)nr;
	return set_size;
}

static int fake_set_build(const struct context_spec *specs, size_t nr, void *memory, size_t size,
		struct context_set **set)
{
	assert_true(specs && nr == nr_set && memory && size == (size_t)set_size);
	*set = SET(0);
	return set_build_result;
}

static const struct side_event_description *fake_other(const struct agent_session *session,
		const struct side_event_description *event, bool leaves)
{
	(void)session;
	return event == &event_a && leaves             ? other_end
			: event == &event_b && !leaves ? other_end
						       : NULL;
}

#define filter_link_size fake_size
#define filter_link fake_link
#define pattern_set_wants fake_wants
#define context_set_size fake_set_size
#define context_set_build fake_set_build
#define base_is_event(event) ((event) == &event_ours)
#define agent_probes_other fake_other
#define agent_probes_has(event) ((void)(event), has_probe)
#define agent_probes_is_for(session, event) ((void)(session), (void)(event), has_probe)
#define agent_record_choose(event) ((void)(event), (void)nr_chosen++)
#define agent_wants chosen_wants
#define agent_select chosen_select
bool chosen_wants(const struct agent_channel *channel, const struct side_event_description *event);
size_t chosen_select(const struct agent_channel *channel,
		struct side_event_description *description, struct agent_event *event,
		char *memory);
#include "tracers/agent/core/select.c"

static struct agent_rule rules[300];
static struct agent_channel channel;
static struct agent_event event;
static _Alignas(64) char event_memory[1 << 20];

static void begin(unsigned int nr)
{
	memset(rules, 0, sizeof(rules));
	memset(&channel, 0, sizeof(channel));
	memset(&event, 0, sizeof(event));
	for (unsigned int i = 0; i < nr; i++)
		rules[i].next = i + 1 < nr ? &rules[i + 1] : NULL;
	channel.rules = rules;
	channel.context_set = SET(1);
	side_ptr_set(event_a.provider_name, "p");
	side_ptr_set(event_a.event_name, "a");
	event_b = event_ours = event_a;
	other_end = NULL;
	filter_sizes[1] = 48;
	filter_sizes[2] = -EINVAL;
	link_result = set_build_result = 0;
	set_size = 100;
	nr_linked = nr_set = nr_chosen = 0;
	has_probe = true;
}

static void filter(unsigned int rule, const char *bytes)
{
	rules[rule].filter = bytes;
	rules[rule].filter_size = 1;
}

/* Counts first, then builds: both need the same amount of memory. */
static size_t choose(struct side_event_description *description)
{
	size_t size;

	memset(&event, 0, sizeof(event));
	size = chosen_select(&channel, description, &event, NULL);
	assert_true(!nr_chosen && !event.filters && !event.contexts);
	memset(&event, 0, sizeof(event));
	if (size)
		assert_int_equal(chosen_select(&channel, description, &event, event_memory), size);
	assert_int_equal(nr_chosen, size ? 1 : 0);
	nr_chosen = 0;
	return size;
}

static void test_rules(void **state)
{
	struct pattern ours[2] = {{.glob = "p:*"}, {.glob = "side:x"}};

	(void)state;
	begin(1);
	assert_int_equal(choose(&event_a), 16);
	assert_true(event.always && !event.nr_filters && event.of_probe &&
			event.contexts == channel.context_set);
	assert_true(chosen_wants(&channel, &event_a));
	has_probe = false;
	assert_false(chosen_wants(&channel, &event_a));
	has_probe = true;
	rules[0].nr_patterns = 9;
	assert_int_equal(choose(&event_a), 0);
	assert_false(chosen_wants(&channel, &event_a));
	rules[0].nr_patterns = 0;
	rules[0].nothing = true;
	assert_int_equal(choose(&event_a), 0);
	channel.rules = NULL;
	assert_int_equal(choose(&event_a), 0);
	/* Events of side are only for rules that name them. */
	begin(1);
	assert_int_equal(choose(&event_ours), 0);
	rules[0].patterns = ours;
	rules[0].nr_patterns = 1;
	assert_int_equal(choose(&event_ours), 0);
	rules[0].nr_patterns = 2;
	assert_int_equal(choose(&event_ours), 16);
	ours[1].exclude = true;
	assert_int_equal(choose(&event_ours), 0);
	/* Losses of the kernel's events are counted for each rule. */
	begin(1);
	side_ptr_set(event_a.provider_name, "side_kernel");
	rules[0].nr_patterns = 9;
	assert_int_equal(choose(&event_a), 0);
	agent.rules.for_kernel = true;
	assert_int_equal(choose(&event_a), 16);
	agent.rules.for_kernel = false;
}

static void test_filters(void **state)
{
	(void)state;
	/* A rule without a filter needs no others. */
	begin(2);
	filter(1, "\1");
	assert_int_equal(choose(&event_a), 16);
	assert_true(event.always && !event.nr_filters && !nr_linked);
	begin(2);
	filter(0, "\1");
	filter(1, "\2");
	assert_int_equal(choose(&event_a), 16 + (sizeof(struct agent_filter) + 15) / 16 * 16 + 48);
	assert_true(!event.always && event.nr_filters == 1 && nr_linked == 1);
	assert_true(event.filters[0].contexts == &rules[0].hit_contexts &&
			!event.filters[0].selects_calls);
	has_probe = false;
	assert_true(choose(&event_a) && event.filters[0].contexts == &rules[0].filter_contexts &&
			!event.of_probe);
	link_result = -EINVAL;
	memset(&event, 0, sizeof(event));
	assert_int_equal(chosen_select(&channel, &event_a, &event, event_memory), 0);
	filter(0, "\2");
	link_result = 0;
	assert_int_equal(choose(&event_a), 0);
	/* As many filters as there are numbers for, and one more. */
	for (unsigned int nr = 255; nr < 257; nr++) {
		begin(nr);
		for (unsigned int i = 0; i < nr; i++)
			filter(i, "\1");
		assert_int_equal(choose(&event_a),
				16 + (255 * sizeof(struct agent_filter) + 15) / 16 * 16 + 255 * 48);
		assert_true(event.nr_filters == 255 && nr_linked == 255);
	}
}

/* A filter of entries selects the returns of the same calls. */
static void test_calls(void **state)
{
	(void)state;
	begin(1);
	filter(0, "\3");
	assert_int_equal(choose(&event_a), 0);
	other_end = &event_b;
	assert_int_equal(choose(&event_a), 16);
	assert_true(event.of_calls && !event.always && !event.nr_filters);
	other_end = &event_a;
	filter(0, "\1");
	assert_true(choose(&event_b) && event.selects_calls && !event.of_calls &&
			event.nr_filters == 1 && event.filters[0].selects_calls);
	/* Every return is recorded. */
	begin(2);
	filter(0, "\3");
	other_end = &event_b;
	assert_int_equal(choose(&event_a), 16);
	assert_true(!event.of_calls && event.always);
	/* Of an event that is always recorded, a filter only selects calls. */
	begin(2);
	filter(0, "\1");
	other_end = &event_a;
	assert_true(choose(&event_b) && event.always && event.selects_calls &&
			event.nr_filters == 1);
}

static void set_context(struct context_spec *spec, const char *name)
{
	struct context_error error;

	assert_int_equal(context_parse(name, spec, &error), 0);
}

static void test_contexts(void **state)
{
	static struct context_spec specs[CONTEXT_SET_MAX + 1], pid, tid;
	char name[64];

	(void)state;
	set_context(&pid, "vpid");
	set_context(&tid, "vtid");
	for (unsigned int i = 0; i <= CONTEXT_SET_MAX; i++) {
		snprintf(name, sizeof(name), "app:test:c%u", i);
		set_context(&specs[i], name);
	}
	/* The contexts of the channel, and each other context once. */
	begin(2);
	channel.contexts = &pid;
	channel.nr_contexts = 1;
	rules[0].contexts = &pid;
	rules[0].nr_contexts = 1;
	assert_int_equal(choose(&event_a), 16);
	assert_true(event.contexts == channel.context_set && !event.nr_extra);
	rules[0].contexts = rules[1].contexts = &tid;
	rules[1].nr_contexts = 1;
	assert_int_equal(choose(&event_a), 16 + (sizeof(tid) + 15) / 16 * 16 + 112);
	assert_true(event.contexts == SET(0) && event.nr_extra == 1 && nr_set == 2 &&
			context_same(&event.extra[0], &tid));
	/* Contexts of a rule that does not match the event: none. */
	rules[0].nr_patterns = rules[1].nr_patterns = 9;
	rules[2] = (struct agent_rule){0};
	rules[1].next = &rules[2];
	assert_int_equal(choose(&event_a), 16);
	rules[0].nr_patterns = 0;
	set_size = -ENOMEM;
	assert_int_equal(chosen_select(&channel, &event_a, &event, NULL), 0);
	set_size = 100;
	set_build_result = -EINVAL;
	assert_int_equal(chosen_select(&channel, &event_a, &event, event_memory), 0);
	/* As many as a set may have, and one more. */
	for (unsigned int more = 0; more < 2; more++) {
		begin(1);
		channel.contexts = &pid;
		channel.nr_contexts = 1;
		rules[0].contexts = specs;
		rules[0].nr_contexts = CONTEXT_SET_MAX - 1 + more;
		assert_true(choose(&event_a) && event.nr_extra == CONTEXT_SET_MAX - 1 &&
				nr_set == CONTEXT_SET_MAX);
	}
	/* The contexts that a filter names. */
	rules[0].filter_specs = specs;
	rules[0].nr_filter_specs = 2;
	assert_int_equal(resolve_context(&rules[0], "app:test:c1"), 1);
	assert_int_equal(resolve_context(&rules[0], "app:test:c2"), -1);
	assert_int_equal(resolve_context(&rules[0], "nonsense"), -1);
	/* A name that cannot be read must not resolve to the first context of the table. */
	assert_int_equal(pid.kind, 0);
	rules[0].filter_specs = &pid;
	rules[0].nr_filter_specs = 1;
	assert_int_equal(resolve_context(&rules[0], "vpid"), 0);
	assert_int_equal(resolve_context(&rules[0], "vpidx"), -1);
}

/* ---- the task that starts the control thread ---- */

static uint32_t thread_db[3] = {32, 1, 720};
static bool has_tid = true, is_own = true, wrap_name, has_create = true;
static unsigned int nr_objects, nr_others, fails_to_map;
static size_t data_size = 8192;
static unsigned int nr_made, nr_unmapped;
static size_t map_size;

static int fake_create(pthread_t *thread, const pthread_attr_t *attributes,
		void *(*function)(void *), void *data)
{
	size_t guard = 0;

	(void)thread;
	(void)data;
	assert_int_equal(pthread_attr_getguardsize(attributes, &guard), 0);
	assert_true(guard == SIZE_MAX && function);
	nr_made++;
	return EINVAL;
}

static void *fake_dlsym(void *handle, const char *name)
{
	int (*function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
			fake_create;
	void *address;

	assert_true(handle == RTLD_DEFAULT);
	memcpy(&address, &function, sizeof(address));
	if (!strcmp(name, "_thread_db_pthread_tid"))
		return has_tid ? thread_db : NULL;
	return !strcmp(name, "pthread_create") && has_create ? address : NULL;
}

static int fake_dladdr(const void *address, Dl_info *info)
{
	bool is_library = address == (const void *)thread_db;

	info->dli_fbase = is_library || is_own ? (void *)thread_db : NULL;
	info->dli_fname = wrap_name ? "/lib/libside-wrap-pthread.so" : "/lib/libside-wrap";
	return 1;
}

static int fake_each(
		int (*callback)(struct dl_phdr_info *object, size_t size, void *user), void *user)
{
	const ElfW(Phdr) parts[] = {{.p_type = PT_LOAD, .p_filesz = 5},
			{.p_type = PT_TLS, .p_vaddr = 0x40, .p_filesz = 7}};
	struct dl_phdr_info object = {.dlpi_addr = 0x1000,
			.dlpi_phdr = parts,
			.dlpi_phnum = 2,
			.dlpi_tls_data = (char *)__builtin_thread_pointer() - 64};
	int ret = 0;

	/* If there is no such data, or the data is not below the thread pointer. */
	for (unsigned int i = 0; i < nr_others && !ret; i++) {
		object.dlpi_tls_data = i % 2 ? __builtin_thread_pointer() : NULL;
		ret = callback(&object, sizeof(object), user);
	}
	object.dlpi_tls_data = (char *)__builtin_thread_pointer() - 64;
	for (unsigned int i = 0; i < nr_objects && !ret; i++)
		ret = callback(&object, sizeof(object), user);
	return ret;
}

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	assert_true(!at && fd == -1 && (flags & MAP_NORESERVE));
	if (fails_to_map)
		return NULL;
	map_size = size;
	return raw_mmap(at, size, protection, flags, fd);
}

static int fake_munmap(void *at, size_t size)
{
	assert_int_equal(size, map_size);
	nr_unmapped++;
	return raw_munmap(at, size);
}

/* Wait for the task with the real call. */
static bool fake_wait(const uint32_t *word, uint32_t value, int operation, uint64_t until)
{
	struct timespec left = {.tv_sec = 1};

	if (until < 5)
		return false;
	(void)syscall(SYS_futex, word, operation, value, &left, NULL, 0);
	return true;
}

#define dlsym fake_dlsym
#define dladdr fake_dladdr
#define dlerror() NULL
#define raw_mmap fake_mmap
#define raw_munmap fake_munmap
#define control_wait fake_wait
#define agent_objects_each fake_each
#define agent_own_begin(own) (void)(own)
#define agent_own_end(own) (void)(own)
#define agent_own_task_begins() (void)0
/* The addresses of the functions of sanitizers. */
extern void (*of_asan)(void), (*of_hwasan)(void), (*of_lsan)(void), (*of_msan)(void),
		(*of_tsan)(void);
void (*of_asan)(void), (*of_hwasan)(void), (*of_lsan)(void), (*of_msan)(void), (*of_tsan)(void);
#define __asan_init (*of_asan)
#define __hwasan_init (*of_hwasan)
#define __lsan_init (*of_lsan)
#define __msan_init (*of_msan)
#define __tsan_init (*of_tsan)
#include "tracers/agent/core/control-starter.c"

#if defined(__x86_64__) && defined(__LP64__) && !defined(RAW_IS_WATCHED)

static int ran;
static pid_t ran_as, noted_as;
static void *ran_on;

static void work(void)
{
	int on_stack;

	ran++;
	ran_on = &on_stack;
	ran_as = (pid_t)raw_call(SYS_gettid);
	noted_as = *(int *)((char *)control_starter_thread_pointer() + starter.tid);
}

static void test_sanitizers(void **state)
{
	void (**const all[])(void) = {&of_asan, &of_hwasan, &of_lsan, &of_msan, &of_tsan};

	(void)state;
	assert_false(starter_is_sanitized());
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		*all[i] = work;
		assert_true(starter_is_sanitized());
		*all[i] = NULL;
	}
}

static void test_prepare(void **state)
{
	(void)state;
	nr_objects = 3;
	control_starter_prepare(data_size);
	if (starter_is_sanitized()) {
		assert_false(starter.usable);
		return;
	}
	assert_true(starter.usable && starter.nr_images == 3 && starter.tid == 720);
	assert_true(starter.images[2].bytes == (void *)0x1040 && starter.images[2].filled == 7 &&
			starter.images[2].distance == 64);
	assert_true(starter.create == fake_create && !starter.ctype_init);
	/* 32 libraries with thread-local data, and one more. */
	nr_objects = 32;
	control_starter_prepare(data_size);
	assert_true(starter.usable && starter.nr_images == 32);
	nr_objects = 33;
	control_starter_prepare(data_size);
	assert_true(!starter.usable && starter.nr_images == 32);
	nr_objects = 0;
	/* Below the thread pointer: not more than is known. */
	data_size = 64;
	nr_objects = 1;
	control_starter_prepare(data_size);
	assert_int_equal(starter.nr_images, 1);
	data_size = 63;
	control_starter_prepare(data_size);
	assert_int_equal(starter.nr_images, 0);
	data_size = 8192;
	nr_others = 2;
	control_starter_prepare(data_size);
	assert_true(starter.usable && starter.nr_images == 1);
	nr_others = 0;
	nr_objects = 0;
	data_size = STARTER_TLS_MAX;
	control_starter_prepare(data_size);
	assert_true(starter.usable);
	data_size++;
	control_starter_prepare(data_size);
	assert_false(starter.usable);
	data_size = 8192;
	/* Where restartable sequences are, if the C library has them. */
	starter.rseq = 12345;
	assert_true(starter_find_functions());
	assert_int_equal(starter.rseq, &__rseq_offset ? __rseq_offset : 0);
	/* The C library must report where the thread's id is. */
	has_tid = false;
	assert_false(starter_find_functions());
	has_tid = true;
	thread_db[0] = 64;
	assert_false(starter_find_functions());
	thread_db[0] = 32;
	thread_db[2] = 8192 - 4;
	assert_true(starter_find_functions());
	thread_db[2]++;
	assert_false(starter_find_functions());
	thread_db[2] = 720;
	/* A function with that name in another library may do anything. */
	is_own = false;
	assert_true(starter_find_functions() && !starter.create);
	starter_announce();
	assert_int_equal(nr_made, 0);
	wrap_name = true;
	assert_true(starter_find_functions() && starter.create);
	starter_announce();
	assert_int_equal(nr_made, 1);
	is_own = true;
	wrap_name = has_create = false;
	assert_true(starter_find_functions() && !starter.create);
	has_create = true;
}

static void test_storage(void **state)
{
	struct {
		uintptr_t below[2];
		struct starter_dtv dtv[STARTER_DTV_MAX + 1];
	} table = {{0}, {{0}}};
	struct starter_head *head, caller = {.dtv = &table.dtv[1]};
	struct starter_dtv *made;
	uintptr_t top = (uintptr_t)&caller;

	(void)state;
	control_starter_prepare(data_size);
	if (!starter.usable)
		return;
	starter.tls = 4096;
	assert_int_equal(starter_size(), 131072 + 4096 + 8192 + 257 * sizeof(struct starter_dtv));
	fails_to_map = 1;
	assert_true(!starter_map() && starter_begin(work, &starter.running) == -ENOMEM);
	fails_to_map = 0;
	assert_true(starter_map() && starter_map());
	head = (struct starter_head *)(starter_stack_top() + starter.tls);
	table.dtv[0].value = 4;
	table.dtv[1].value = 99;
	table.dtv[2].value = top - 16;
	table.dtv[3].value = top - 4096;
	table.dtv[4].value = top - 4097;
	table.dtv[5].value = top;
	assert_true(starter_fill_dtv(head, &caller));
	made = head->dtv;
	assert_true((char *)made == (char *)head + STARTER_HEAD + sizeof(*made));
	assert_true(made[-1].value == 4 && made[0].value == 99);
	assert_true(made[1].value == (uintptr_t)head - 16 &&
			made[2].value == (uintptr_t)head - 4096);
	assert_true(made[3].value == STARTER_UNALLOCATED && made[4].value == STARTER_UNALLOCATED);
	table.dtv[0].value = STARTER_DTV_MAX;
	assert_false(starter_fill_dtv(head, &caller));
	raw_munmap(starter.memory, map_size);
	starter.memory = NULL;
	starter.tls = data_size;
}

static void test_tasks(void **state)
{
	uint64_t before = 0, after = 0;
	void *stack;

	(void)state;
	ran = 0;
	nr_objects = nr_unmapped = 0;
	control_starter_prepare(data_size);
	if (!starter.usable) {
		assert_int_equal(control_starter_run(work), -ENOSYS);
		control_starter_call(work);
		assert_int_equal(ran, 1);
		return;
	}
	raw_call(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &before, 8);
	assert_true(control_starter_complete(work, 100));
	assert_true(ran == 1 && ran_as != getpid() && noted_as == ran_as && nr_unmapped == 1 &&
			!starter.memory);
	/* If a task has not ended in time, its memory stays in use, and no other task starts. */
	assert_int_equal(control_starter_running()[0], 0);
	assert_true(control_starter_run(work) > 0 && !starter.memory);
	while (__atomic_load_n(control_starter_running(), __ATOMIC_RELAXED))
		sched_yield();
	assert_int_equal(ran, 2);
	/* On a stack of its own, in the same thread. */
	control_starter_call(work);
	stack = starter.memory;
	assert_true(ran == 3 && ran_as == getpid() && (char *)ran_on > (char *)stack &&
			(char *)ran_on < (char *)stack + STARTER_STACK);
	control_starter_call(work);
	assert_ptr_equal(starter.memory, stack);
	starter.running = 1;
	control_starter_forked();
	assert_true(!starter.memory && !starter.running);
	raw_munmap(stack, map_size);
	fails_to_map = 1;
	control_starter_call(work);
	assert_true(ran == 5 && !starter.memory);
	fails_to_map = 0;
	starter.usable = false;
	assert_int_equal(control_starter_run(work), -ENOSYS);
	assert_false(control_starter_complete(work, 100));
	assert_int_equal(ran, 5);
	raw_call(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &after, 8);
	assert_true(before == after);
}
#else
static void test_prepare(void **state)
{
	(void)state;
}
#define test_sanitizers test_prepare
#define test_storage test_prepare
#define test_tasks test_prepare
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_rules),
			cmocka_unit_test(test_filters),
			cmocka_unit_test(test_calls),
			cmocka_unit_test(test_contexts),
			cmocka_unit_test(test_sanitizers),
			cmocka_unit_test(test_prepare),
			cmocka_unit_test(test_storage),
			cmocka_unit_test(test_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
