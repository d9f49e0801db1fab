/* SPDX-License-Identifier: MIT */
/*
 * Several sessions with several channels in one program: each session gets the events that it
 * requested, under its own ids, and an error of one session does not affect the others.
 */
#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

#include "abi/visit.h"
#include "protocol/protocol.h"
#include "protocol/recovery.h"
#include "ring/ring.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/vfork.h"
#include "consumer.h"

side_static_event(ev_number, "agent", "number", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("thread"), side_field_u64("sequence")));
side_static_event(ev_other, "agent", "other", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("thread"), side_field_u64("sequence")));

static const struct consumer_rule everything[] = {
		{.patterns = "agent:*\0plugin:*", .nr_patterns = 2}};
static const struct consumer_rule only_other[] = {{.patterns = "agent:other", .nr_patterns = 1}};

static const struct consumer_channel two_channels[] = {
		{.name = "all", .rules = everything, .nr_rules = 1},
		{.name = "slow", .rules = only_other, .nr_rules = 1, .placement = RING_PER_THREAD},
};

static void fire(unsigned int numbers, unsigned int others)
{
	unsigned int i;

	for (i = 0; i < numbers; i++)
		side_event(ev_number, side_arg_list(side_arg_u64(1), side_arg_u64(i)));
	for (i = 0; i < others; i++)
		side_event(ev_other, side_arg_list(side_arg_u64(2), side_arg_u64(i)));
}

/* Starts both consumers, in the order in which SIDE_AGENT_SOCKET names them. */
static int start_both(struct consumer *one, struct consumer *two)
{
	char paths[256];

	consumer_start(one);
	consumer_start(two);
	snprintf(paths, sizeof(paths), "%s:%s", one->path, two->path);
	return agent_start(paths);
}

static void stop_both(struct consumer *one, struct consumer *two)
{
	agent_stop();
	consumer_stop(one);
	consumer_stop(two);
}

static void each_session_and_channel_has_its_own(void **state)
{
	struct consumer one = {.patterns = "agent:number", .nr_patterns = 1};
	struct consumer two = {.channels = two_channels, .nr_channels = 2};

	(void)state;
	assert_int_equal(start_both(&one, &two), 0);
	fire(10, 5);
	assert_int_equal(consumer_drain(&one, 16, NULL, NULL), 10);
	assert_int_equal(consumer_drain_channel(&two, 0, 16, NULL, NULL), 15);
	assert_int_equal(consumer_drain_channel(&two, 1, 16, NULL, NULL), 5);
	assert_int_equal(one.nr_events, 1);
	assert_int_equal(two.heard[0].nr_events, 2);
	assert_int_equal(two.heard[1].nr_events, 1);
	/* Ids count from 0 in each channel. */
	assert_int_equal(consumer_id(&one, 0, "agent:number"), 0);
	assert_int_equal(consumer_id(&two, 1, "agent:other"), 0);
	assert_true(consumer_id(&two, 0, "agent:other") + consumer_id(&two, 0, "agent:number") ==
			1);
	assert_false(consumer_knows(&two, 1, "agent:number"));
	stop_both(&one, &two);
	assert_false(side_event_enabled(ev_number) || side_event_enabled(ev_other));
}

static void one_refuses(void **state)
{
	struct consumer one = {.to_hello = ANSWER_REFUSE};
	struct consumer two = {.patterns = "agent:*", .nr_patterns = 1};
	char paths[1024];

	(void)state;
	assert_int_equal(start_both(&one, &two), 0);
	assert_int_equal(agent.process.nr_sessions, 1);
	fire(3, 0);
	assert_int_equal(consumer_drain(&two, 16, NULL, NULL), 3);
	agent_stop();

	/* Invalid paths, and one valid path. */
	snprintf(paths, sizeof(paths), "::/no/such/socket:%s:", two.path);
	assert_int_equal(agent_start(paths), 0);
	fire(4, 0);
	assert_int_equal(consumer_drain(&two, 16, NULL, NULL), 4);
	agent_stop();

	/* The error of the first path, if no session is joined. */
	snprintf(paths, sizeof(paths), "%s:/no/such/socket", one.path);
	assert_int_equal(agent_start(paths), -EACCES);
	assert_int_equal(agent.process.nr_sessions, 0);

	stop_both(&one, &two);
}

static void more_than_there_may_be(void **state)
{
	enum { NR = WIRE_SESSIONS_MAX + 2 };
	static struct consumer consumers[NR];
	char paths[NR * 100] = "";
	unsigned int i;

	(void)state;
	for (i = 0; i < NR; i++) {
		consumers[i] = (struct consumer){.patterns = "agent:*", .nr_patterns = 1};
		consumer_start(&consumers[i]);
		strcat(paths, i ? ":" : "");
		strcat(paths, consumers[i].path);
	}
	assert_int_equal(agent_start(paths), 0);
	assert_int_equal(agent.process.nr_sessions, WIRE_SESSIONS_MAX);
	fire(6, 1);
	for (i = 0; i < NR; i++) {
		consumer_sync(&consumers[i]);
		assert_int_equal(consumers[i].hellos, i < WIRE_SESSIONS_MAX);
		if (i < WIRE_SESSIONS_MAX)
			assert_int_equal(consumer_drain(&consumers[i], 16, NULL, NULL), 7);
	}
	agent_stop();
	for (i = 0; i < NR; i++)
		consumer_stop(&consumers[i]);
}

static void one_dies(void **state)
{
	struct consumer one = {
			.patterns = "agent:*", .nr_patterns = 1, .to_events = ANSWER_HANG_UP};
	struct consumer two = {.channels = two_channels, .nr_channels = 2};

	(void)state;
	assert_int_equal(start_both(&one, &two), 0);
	fire(3, 2);
	assert_int_equal(consumer_lost(&one, UINT32_MAX, RING_LOST_OTHER), 2);
	assert_int_equal(consumer_drain(&one, 16, NULL, NULL), 0);
	assert_int_equal(consumer_drain(&two, 16, NULL, NULL), 5);
	assert_int_equal(consumer_drain_channel(&two, 1, 16, NULL, NULL), 2);
	assert_true(agent.process.sessions[0].gone);
	assert_false(agent.process.sessions[1].gone);
	stop_both(&one, &two);
}

/* ---- events that are registered later ---- */

static void libraries_come_and_go(void **state)
{
	const char *path = getenv("AGENT_PLUGIN");
	struct consumer one = {.patterns = "plugin:*", .nr_patterns = 1};
	struct consumer two = {.channels = two_channels, .nr_channels = 2};
	void (*tick)(uint64_t sequence);
	void *plugin, *found;
	unsigned int i;

	(void)state;
	assert_non_null(path);
	assert_int_equal(start_both(&one, &two), 0);
	for (i = 0; i < 5; i++) {
		plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		assert_non_null(plugin);
		found = dlsym(plugin, "plugin_tick");
		memcpy(&tick, &found, sizeof(tick));
		tick(i);
		dlclose(plugin);
	}
	/*
	 * Described once: an event that is registered again has the same id, so the agent does not
	 * ask again.
	 */
	assert_int_equal(one.nr_events, 1);
	assert_int_equal(consumer_drain(&one, 16, NULL, NULL), 5);
	assert_int_equal(consumer_drain(&two, 16, NULL, NULL), 5);
	assert_int_equal(two.heard[0].nr_events, 3);
	stop_both(&one, &two);
}

/* ---- fork ---- */

static void both_rejoin(void **state)
{
	struct consumer one = {.patterns = "agent:*", .nr_patterns = 1};
	struct consumer two = {.channels = two_channels, .nr_channels = 2};
	int status, round;
	pid_t child;

	(void)state;
	assert_int_equal(start_both(&one, &two), 0);
	for (round = 0; round < 2; round++) {
		uint64_t tokens[2] = {
				agent.process.sessions[0].token, agent.process.sessions[1].token};

		child = fork();
		if (!child) {
			fire(2, 3);
			_exit(agent.process.sessions[0].gone == (round == 1) &&
									!agent.process.sessions[1]
											 .gone
							? 0
							: 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		consumer_sync(&one);
		consumer_sync(&two);
		assert_true(one.parent_token == tokens[0] && two.parent_token == tokens[1]);
		assert_int_equal(consumer_drain(&one, 16, NULL, NULL), round ? 0 : 5);
		assert_int_equal(consumer_drain(&two, 16, NULL, NULL), 5);
		assert_int_equal(consumer_drain_channel(&two, 1, 16, NULL, NULL), 3);
		/* In the second round the first consumer refuses the child. */
		consumer_sync(&one);
		one.to_hello = ANSWER_HANG_UP;
		consumer_sync(&one);
	}
	stop_both(&one, &two);
}

/* A child whose consumer offers other channels than the parent had is not recorded. */
static void other_channels_for_a_child(void **state)
{
	struct consumer one = {.channels = two_channels, .nr_channels = 2};
	int status;
	pid_t child;

	(void)state;
	consumer_start(&one);
	assert_int_equal(agent_start(one.path), 0);
	consumer_sync(&one);
	one.nr_channels = 1;
	consumer_sync(&one);
	child = fork();
	if (!child) {
		fire(2, 2);
		_exit(agent.process.sessions[0].gone ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	agent_stop();
	consumer_stop(&one);
}

static void a_child_of_vfork_is_counted(void **state)
{
	struct consumer one = {.patterns = "agent:*", .nr_patterns = 1};
	struct consumer two = {.channels = two_channels, .nr_channels = 2};

	(void)state;
	assert_int_equal(start_both(&one, &two), 0);
	agent_vforked = 1;
	fire(4, 1);
	agent_vforked = 0;
	assert_int_equal(consumer_drain(&one, 16, NULL, NULL), 0);
	assert_int_equal(consumer_drain(&two, 16, NULL, NULL), 0);
	assert_int_equal(
			consumer_lost(&one, consumer_id(&one, 0, "agent:number"), RING_LOST_NESTED),
			4);
	assert_int_equal(consumer_lost_in(&two, 1, consumer_id(&two, 1, "agent:other"),
					 RING_LOST_NESTED),
			1);
	fire(1, 0);
	assert_int_equal(consumer_drain(&one, 16, NULL, NULL), 1);
	stop_both(&one, &two);
}

/* ---- a program that enters a sandbox ---- */

/* Installs a filter that kills on sockets and on membarrier(). */
static void lock_in(void)
{
	static const int forbidden[] = {SYS_socket, SYS_connect, SYS_sendmsg, SYS_recvmsg,
			SYS_membarrier, SYS_readlinkat};
	enum { NR = sizeof(forbidden) / sizeof(forbidden[0]) };
	struct sock_filter filter[NR + 3] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog program = {.len = NR + 3, .filter = filter};
	unsigned int i;

	for (i = 0; i < NR; i++)
		filter[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
				(unsigned int)forbidden[i], (unsigned char)(NR - i), 0);
	filter[NR + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[NR + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

static int locked_in(void)
{
	const char *path = getenv("AGENT_PLUGIN");
	int status;
	pid_t child;

	lock_in();
	fire(2, 1);
	/* The agent can no longer describe new events; a child cannot introduce itself. */
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL) || !agent.process.sessions[0].gone)
		return 1;
	fire(1, 0);
	child = fork();
	if (!child) {
		fire(5, 5);
		_exit(0);
	}
	return waitpid(child, &status, 0) == child ? status : 2;
}

static void a_sandboxed_program_lives(void **state)
{
	struct consumer one = {.patterns = "agent:*\0plugin:*", .nr_patterns = 2};
	int status;
	pid_t child;

	(void)state;
	consumer_start(&one);
	assert_int_equal(agent_start(one.path), 0);
	child = fork();
	if (!child)
		_exit(locked_in());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 77)
		assert_int_equal(status, 0);
	if (!status) {
		assert_int_equal(consumer_drain(&one, 16, NULL, NULL), 4);
		assert_int_equal(consumer_lost(&one, UINT32_MAX, RING_LOST_OTHER), 1);
	}
	agent_stop();
	consumer_stop(&one);
}

/* ---- sessions that only list ---- */

static void a_listing_beside_a_recording(void **state)
{
	struct consumer one = {.list_only = true};
	struct consumer two = {.patterns = "agent:number", .nr_patterns = 1};

	(void)state;
	assert_int_equal(start_both(&one, &two), 0);
	assert_true(agent_list_only());
	assert_true(consumer_knows(&one, 0, "agent:number"));
	assert_true(consumer_knows(&one, 0, "agent:other"));
	/* The event is described, but not recorded. */
	assert_false(side_event_enabled(ev_other));
	fire(3, 3);
	assert_int_equal(consumer_drain(&two, 16, NULL, NULL), 3);
	assert_int_equal(agent_bye(&agent.process.sessions[0]), 0);
	consumer_sync(&one);
	assert_int_equal(one.byes, 1);
	assert_int_equal(agent_bye(&agent.process.sessions[1]), -ENOTCONN);
	stop_both(&one, &two);
	assert_false(agent_list_only());
}

/* ---- the record for core dumps ---- */

struct found {
	unsigned int nr, with_contexts;
	bool number, other, plugin;
};

static void read_chunk(const struct recovery_chunk *chunk, struct found *found)
{
	const char *at = (const char *)(chunk + 1), *end = at + chunk->used;

	assert_int_equal(chunk->magic, RECOVERY_CHUNK_MAGIC);
	assert_true(chunk->used <= chunk->size);
	while (at < end) {
		struct wire_event_head head;
		struct visit_owned *owned;
		const char *name;

		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		assert_true(wire_strings_valid(at, head.nr_contexts, head.contexts_size));
		at += head.contexts_size;
		assert_int_equal(visit_description_decode(at, head.size, &owned, NULL), 0);
		at += head.size;
		name = side_ptr_get(owned->desc->event_name);
		found->nr++;
		found->with_contexts += head.nr_contexts > 0;
		found->number = found->number || !strcmp(name, "number");
		found->other = found->other || !strcmp(name, "other");
		found->plugin = found->plugin || !strcmp(name, "tick");
		visit_owned_free(owned);
	}
	assert_true(at == end);
}

static int read_own_memory(void *user, uint64_t address, void *to, size_t size)
{
	(void)user;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return 0;
}

/* Reads the record as `side recover` would, starting from the addresses in it. */
static struct found read_recovery(const struct recovery_head *head, uint32_t channel_at)
{
	const struct recovery_channel *channel;
	const struct recovery_chunk *chunk;
	struct ring_consumer *rings;
	struct found found = {0};
	int fd;

	assert_true((uintptr_t)head % (size_t)sysconf(_SC_PAGESIZE) == 0);
	assert_memory_equal(head->magic, RECOVERY_MAGIC, 8);
	assert_int_equal(head->version, RECOVERY_VERSION);
	assert_int_equal(head->head_size, sizeof(*head));
	assert_true(head->self == (uintptr_t)head);
	assert_int_equal(head->valid, 1);
	assert_int_equal(head->pid, getpid());
	assert_int_equal(head->instance, 7);
	assert_true(head->frequency == 1000000000 && head->offset_s == 1234);
	channel = (const struct recovery_channel *)(uintptr_t)(head->channels +
			channel_at * head->channel_size);
	assert_int_equal(channel->index, channel_at);
	assert_int_equal(ring_memory_import(read_own_memory, NULL, channel->rings, &fd), 0);
	assert_int_equal(ring_consumer_map(fd, NULL, &rings), 0);
	ring_consumer_unmap(rings);
	wire_close(fd);
	for (chunk = (const struct recovery_chunk *)(uintptr_t)head->first_chunk; chunk;
			chunk = (const struct recovery_chunk *)(uintptr_t)chunk->next)
		read_chunk(chunk, &found);
	return found;
}

static void a_core_would_hold_it(void **state)
{
	static const struct consumer_rule with_contexts[] = {{.patterns = "agent:other",
			.nr_patterns = 1,
			.contexts = "vtid",
			.nr_contexts = 1}};
	static const struct consumer_channel channels[] = {
			{.name = "all", .rules = everything, .nr_rules = 1},
			{.name = "more",
					.rules = with_contexts,
					.nr_rules = 1,
					.contexts = "vpid\0ip",
					.nr_contexts = 2},
	};
	struct consumer one = {.channels = channels, .nr_channels = 2};
	const struct recovery_channel *channel;
	struct recovery_head *head;
	struct found found;
	void *plugin;
	int status;
	pid_t child;

	(void)state;
	consumer_start(&one);
	assert_int_equal(agent_start(one.path), 0);
	head = agent.process.sessions[0].recovery;
	assert_non_null(head);
	assert_int_equal(head->nr_channels, 2);
	assert_string_equal(head->session, one.path);
	found = read_recovery(head, 0);
	assert_int_equal(found.nr, 3);
	assert_int_equal(found.with_contexts, 1);
	assert_true(found.number && found.other && !found.plugin);
	channel = (const struct recovery_channel *)(uintptr_t)head->channels + 1;
	assert_string_equal(channel->name, "more");
	assert_int_equal(channel->nr_contexts, 2);
	assert_int_equal(channel->contexts_size, 8);
	assert_memory_equal((const char *)(uintptr_t)channel->contexts, "vpid\0ip", 8);
	read_recovery(head, 1);

	plugin = dlopen(getenv("AGENT_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	assert_non_null(plugin);
	assert_true(read_recovery(head, 0).plugin);
	child = fork();
	if (!child) {
		/* The child has its own record, with its own rings. */
		found = read_recovery(agent.process.sessions[0].recovery, 1);
		_exit(found.nr == 4 && found.number ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	consumer_sync(&one);
	one.to_hello = ANSWER_HANG_UP;
	consumer_sync(&one);
	child = fork();
	if (!child)
		_exit(agent.process.sessions[0].recovery->valid ? 1 : 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	dlclose(plugin);
	agent_stop();
	consumer_stop(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(each_session_and_channel_has_its_own),
			cmocka_unit_test(one_refuses),
			cmocka_unit_test(more_than_there_may_be),
			cmocka_unit_test(one_dies),
			cmocka_unit_test(libraries_come_and_go),
			cmocka_unit_test(both_rejoin),
			cmocka_unit_test(other_channels_for_a_child),
			cmocka_unit_test(a_child_of_vfork_is_counted),
			cmocka_unit_test(a_sandboxed_program_lives),
			cmocka_unit_test(a_listing_beside_a_recording),
			cmocka_unit_test(a_core_would_hold_it),
	};

	/* The consumer may be slow on a busy machine. */
	agent.wait.timeout_factor = 60;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
