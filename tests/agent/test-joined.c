/* SPDX-License-Identifier: MIT */
/*
 * How a process joins, follows and leaves sessions: what it releases after a failure, which
 * question it asks a session, when it asks a session that has refused it again, and what a forked
 * child does. The test includes the files, and notes the calls that they make in order.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <cmocka.h>

#include <side/tracer-extensions.h>

#include "noted.h"

#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/ask.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/boot.h"
#include "tracers/agent/core/control-fork.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/control.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/join.h"
#include "tracers/agent/core/late.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/record.h"
#include "tracers/agent/core/recovery.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/renew.h"
#include "tracers/agent/core/replaced.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session-end.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/unsupported.h"
#include "tracers/agent/core/update.h"
#include "tracers/agent/core/vfork.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"
#include "protocol/protocol.h"

#define MS UINT64_C(1000000)

/* ---- inputs ---- */

static int hello_result, map_fails_at, nr_maps, nr_unmapped, nr_wire_closed, renew_result,
		again_result, pool_result, atfork_result, atexit_result, keys_fail_at, nr_requested,
		synchronize_result, refresh_result, lock_fails, nr_sleeps;
static uint32_t nr_received_channels;
static bool has_notification, is_sandboxed, is_foreign,
		may_ask = true, has_table, is_cut_off, whole = true, has_path = true, takes_push,
		has_bases_request = true, renew_takes = true;
static uint64_t random_number, time_now, nr_refused, over_grace;
static struct agent_channel some_channels[2];
static struct agent_generation own_generation, new_generation;
static const char *stalled_path;

static int fake_hello(struct agent_session *session, uint64_t parent_token, int *fds)
{
	note_number("hello", (long)parent_token);
	for (int i = 0; i < WIRE_CHANNELS_MAX; i++)
		fds[i] = 100 + i;
	nr_maps = 0;
	if (hello_result)
		return hello_result;
	session->channels = some_channels;
	session->nr_channels = nr_received_channels;
	session->generation = &own_generation;
	session->config.generation = 7;
	return 0;
}

static int fake_map(int fd, struct ring_producer **producer)
{
	int i = nr_maps++;

	assert_int_equal(fd, 100 + i);
	if (i == map_fails_at)
		return -ENOMEM;
	*producer = (struct ring_producer *)(uintptr_t)(0x1000 + 64 * (unsigned int)i);
	return 0;
}

static void fake_hang_up(struct agent_session *session)
{
	if (session->socket >= 0)
		note_number("hang-up", session->socket);
	session->socket = -1;
}

static __attribute__((noinline)) int fake_renew(
		struct agent_session *session, struct agent_generation *generation)
{
	note("renew");
	if (renew_takes)
		session->generation = generation;
	return renew_result;
}

static long fake_call(long number, const long *names)
{
	switch (number) {
	case SYS_getrandom:
		assert_true(names[1] == 8 && names[2] == 1);
		memcpy((void *)names[0], &random_number, 8);
		return 8;
	case SYS_getpid: return 5;
	case SYS_nanosleep:
		assert_int_equal(((const struct timespec *)names[0])->tv_nsec, 1000000);
		nr_sleeps++;
		return 0;
	default: abort();
	}
}

static uint64_t fake_time(unsigned int timeout_ms)
{
	return time_now + timeout_ms * MS;
}

static int fake_key(uint64_t *key)
{
	if (nr_requested++ == keys_fail_at)
		return SIDE_ERROR_NOMEM;
	*key = 8 + (uint64_t)nr_requested;
	return SIDE_ERROR_OK;
}

/* The number of failures, and of successes before them. */
static int lock_fails_after;

static bool fake_trylock(void)
{
	if (lock_fails && !lock_fails_after) {
		lock_fails--;
		return false;
	}
	if (lock_fails_after)
		lock_fails_after--;
	note("lock");
	return true;
}

static __attribute__((noinline)) int fake_refresh(struct agent_session *session,
		struct agent_wanted *wanted, struct agent_generation **generation)
{
	assert_string_equal(session->path, wanted->path);
	note("refresh");
	*generation = refresh_result ? NULL : &new_generation;
	if (!refresh_result || refresh_result == -EALREADY)
		session->config.generation = wanted->generation;
	return refresh_result;
}

/* Another thread, which runs while the lock is free and the questions are sent. */
static void (*while_asking)(void);

static void fake_ask(struct agent_wanted *wanted, uint32_t nr, bool is_explicit, uint64_t deadline)
{
	assert_int_equal(deadline, time_now + 1000 * MS);
	for (uint32_t i = 0; i < nr; i++)
		if (wanted[i].asked) {
			note_number(is_explicit ? "ask-given" : "ask", (long)wanted[i].asked);
			wanted[i].socket = 50;
		}
	if (while_asking)
		while_asking();
}

static uint64_t fake_over(void)
{
	note("over-begin");
	return over_grace;
}

#undef raw_call
#define raw_call(...) CALL_OF_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_OF_SIX(number, a, b, c, d, e, f, ...)                                            \
	fake_call(number,                                                                     \
			(const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
					(long)(f)})
#define prctl(what) ((void)(what), 2)
#define pthread_atfork(prepare, parent, child) \
	((void)(prepare), (void)(parent), (void)(child), note("atfork"), atfork_result)
#define atexit(function) ((void)(function), note("atexit"), atexit_result)
#define wire_deadline fake_time
#define wire_close(fd) ((void)(nr_wire_closed += (fd) >= 0))
#define agent_deadline_unlocked fake_time
#define agent_scale_timeout(ms) ((ms)*3)
#define agent_hello fake_hello
#define agent_boot_hello(session, parent, fds) (note("boot"), fake_hello(session, parent, fds))
#define agent_boot_path(boot, path, size) ((void)(boot), strcpy(path, "/boot"), has_path)
#define agent_report_limit(session, error) ((void)(session), note_number("missed", error))
#define agent_hang_up fake_hang_up
#define agent_recovery_begin(session) ((void)(session), note("recovery"))
#define agent_recovery_void(session) ((void)(session), note("void"))
#define agent_recovery_end(session) ((void)(session), note("recovery-end"))
#define agent_batches_send_again(session) ((void)(session), note("again"), again_result)
#define agent_batches_redirect(session) ((void)(session), note("redirect"))
#define agent_batches_are_cut_off() (is_cut_off)
#define agent_batches_forked() note("batches")
#define agent_batches_forget() note("forget")
#define agent_batches_leave(session) ((void)(session), note("leave"))
#define agent_batches_renew fake_renew
#define agent_objects_forked() note("objects")
#define agent_waits_forked() note("waits")
#define agent_exchanges_forked() note("exchanges")
#define agent_exchanges_stop() note("exchanges-stop")
#define agent_start_begins() note("begins")
#define agent_start_ends() note("ends")
#define agent_pool_reset() note("pool-reset")
#define agent_pool_create() (note("pool"), pool_result)
#define agent_pool_destroy() note("pool-end")
#define agent_control_forked_whole() (whole)
#define agent_control_forked() note("control")
#define agent_control_has_table() (has_table)
#define agent_bases_forked() note("bases")
#define agent_bases_changed() note("bases-changed")
#define agent_bases_dump() note("dump")
#define agent_probes_forked() note("probes")
#define agent_probes_count() note("count")
#define agent_probes_update(session, wait) ((void)(session), note_number("probes-update", wait))
#define agent_probes_note_missing(session) ((void)(session), note("missing"))
#define agent_probes_leave(session) ((void)(session), note("probes-leave"))
#define agent_probes_begin() note("probes-begin")
#define agent_probes_apply() note("probes-apply")
#define agent_probes_rescan() note("look")
#define agent_generation_free(generation) ((void)(generation), note("free-generation"))
#define agent_memory_free(memory) ((void)(memory), note("free"))
#define agent_memory_trim() note("memory-rest")
#define agent_recycled_ids_forget(spares) ((void)(spares), note("spares"))
#define agent_is_sandboxed() (is_sandboxed)
#define agent_ask fake_ask
#define agent_ask_drop(wanted, nr) ((void)(wanted), note_number("ask-drop", (long)(nr)))
#define agent_occasion_begins(deadline) ((void)(deadline), note("occasion"), true)
#define agent_occasion_ends(begun) note_number("occasion-ends", begun)
#define agent_stalled_note(path) (void)(stalled_path = (path))
#define agent_is_stalled(path) (stalled_path && !strcmp(stalled_path, path))
#define agent_late_report(session) ((void)(session), note("late"))
#define agent_refresh fake_refresh
#define agent_may_take_push(session, wanted) ((void)(session), (void)(wanted), takes_push)
#define agent_known_generation(session) ((session)->config.generation + 100)
#define agent_over_begin fake_over
#define agent_over_free() note("over-free")
#define ring_producer_map fake_map
#define ring_producer_unmap(producer) ((void)(producer), (void)nr_unmapped++)
#define ring_producer_refused(producer) ((void)(producer), nr_refused)
#define ring_count_lost(producer, slot, reason)                        \
	((void)(producer),                                             \
			(void)(nr_lost += (slot) == AGENT_LOST_SLOT && \
							(reason) == RING_LOST_NESTED))
#define ring_count_lost_before(producer, id, reason, cpu, count)                               \
	((void)(producer), note_number("lost", (long)(id) + (long)(reason)*1000), (void)(cpu), \
			(void)(count))
#define ring_producer_stop(producer, stop) ((void)(producer), note_number("stop", stop))
#define ring_lease_timeout_factor(factor) note_number("factor", (long)(factor))
#define ring_ask_before_calls(ask) ((void)(ask), note("before-calls"))
#define context_may_ask() (may_ask)
#define context_is_foreign() (is_foreign)
#define context_values_start() (note("values"), 0)
#define side_init() note("init")
#define side_tracer_request_key fake_key
#define side_tracer_lock() note("lock")
#define side_tracer_trylock fake_trylock
#define side_tracer_unlock() note("unlock")
#define side_tracer_synchronize() (note("synchronize"), synchronize_result)
#define side_tracer_event_notification_register(function, priv)                                \
	((void)(function), (void)(priv),                                                       \
			(struct side_tracer_handle *)(void *)(has_notification ? &nr_requested \
									       : NULL))
#define side_tracer_event_notification_unregister(handle) ((void)(handle), note("unregister"))
#define side_tracer_statedump_request(key) note_number("request", (long)(key))
#define side_tracer_statedump_request_try(key) (note_number("try", (long)(key)), has_bases_request)
static unsigned int nr_lost;
#include "tracers/agent/core/session-end.c"
#include "tracers/agent/core/join.c"
#include "tracers/agent/core/process.c"
#undef context_may_ask
#include "tracers/agent/core/update.c"

static void begin(void)
{
	memset(&agent, 0, sizeof(agent));
	memset(some_channels, 0, sizeof(some_channels));
	memset(&own_generation, 0, sizeof(own_generation));
	memset(&new_generation, 0, sizeof(new_generation));
	*calls = '\0';
	hello_result = nr_maps = nr_unmapped = nr_wire_closed = renew_result = again_result = 0;
	pool_result = atfork_result = atexit_result = nr_requested = synchronize_result = 0;
	refresh_result = lock_fails = nr_sleeps = 0;
	map_fails_at = keys_fail_at = -1;
	nr_received_channels = 2;
	has_notification = may_ask = whole = has_path = has_bases_request = renew_takes = true;
	is_sandboxed = is_foreign = has_table = is_cut_off = takes_push = false;
	random_number = 55;
	time_now = 1000000 * MS;
	nr_refused = over_grace = 0;
	nr_lost = 0;
	stalled_path = NULL;
	agent.process.is_prepared = true;
}

static int join_path(const char *path)
{
	struct agent_wanted wanted = {.path = path};

	return agent_session_join(&wanted, false, true);
}

/* ---- joining ---- */

static void test_join(void **state)
{
	struct agent_wanted wanted = {
			.path = "/run/a", .asked = AGENT_ASK_HELLO, .socket = 50, .token = 66};
	struct agent_session *session = &agent.process.sessions[0];

	(void)state;
	begin();
	agent.process.keys[0] = 9;
	has_table = true;
	assert_int_equal(agent_session_join(&wanted, true, false), 0);
	are_calls("hello(0) recovery renew hang-up(50) probes-update(0)");
	assert_true(session->state == AGENT_SESSION_IN && session->is_explicit &&
			session->key == 9 && session->token == 66 && session->socket_is_private &&
			agent.process.nr_sessions == 1);
	assert_true(wanted.asked == AGENT_ASK_NOTHING && nr_wire_closed == 2 &&
			session->channels[1].producer == (void *)0x1040);
	assert_string_equal(session->path, "/run/a");
	/* Without a previous question: a token of its own. */
	assert_int_equal(join_path("/run/b"), 0);
	assert_true(agent.process.sessions[1].token == 55 && agent.process.nr_sessions == 2);
	assert_ptr_equal(agent_session_after(session), &agent.process.sessions[1]);
	assert_null(agent_session_after(&agent.process.sessions[1]));
	agent.process.sessions[1].state = AGENT_SESSION_LEFT;
	assert_null(agent_session_after(session));
	/* A session whose description fails is joined nevertheless. */
	begin();
	renew_result = -EIO;
	assert_int_equal(join_path("/run/a"), 0);
	assert_true(session->incomplete);
	/* A session that only lists events keeps its connection, and has no rings. */
	begin();
	wanted = (struct agent_wanted){.path = "/run/a", .asked = AGENT_ASK_HELLO, .socket = 50};
	agent.process.sessions[0].list_only = false;
	assert_int_equal(agent_session_join(&wanted, true, true), 0);
	assert_int_equal(nr_maps, 2);
}

static void test_join_fails(void **state)
{
	char longest[WIRE_SESSION_PATH_MAX + 2];
	struct agent_wanted wanted;

	(void)state;
	begin();
	hello_result = -EACCES;
	assert_int_equal(join_path("/run/a"), -EACCES);
	are_calls("hello(0) missed(-13) recovery-end free");
	assert_true(!agent.process.nr_sessions &&
			agent.process.sessions[0].state == AGENT_SESSION_FREE && !nr_maps &&
			!nr_wire_closed);
	/*
	 * The second of two rings cannot be mapped: both descriptors are closed, the first ring is
	 * unmapped.
	 */
	begin();
	map_fails_at = 1;
	assert_int_equal(join_path("/run/a"), -ENOMEM);
	are_calls("hello(0) missed(-12) recovery-end spares spares free-generation free");
	assert_true(nr_wire_closed == 2 && nr_unmapped == 1 && !agent.process.nr_sessions);
	begin();
	map_fails_at = 0;
	assert_int_equal(join_path("/run/a"), -ENOMEM);
	assert_true(nr_maps == 1 && nr_wire_closed == 2 && nr_unmapped == 0);
	begin();
	memset(longest, 'x', sizeof(longest));
	longest[WIRE_SESSION_PATH_MAX] = '\0';
	assert_int_equal(join_path(longest), 0);
	assert_string_equal(agent.process.sessions[0].path, longest);
	longest[WIRE_SESSION_PATH_MAX] = 'x';
	longest[WIRE_SESSION_PATH_MAX + 1] = '\0';
	assert_int_equal(join_path(longest), -ENAMETOOLONG);
	assert_int_equal(join_path(""), -ENAMETOOLONG);
	/* As many sessions as the process can join. */
	for (unsigned int i = 1; i < AGENT_SESSIONS_MAX; i++)
		assert_int_equal(join_path("/run/a"), 0);
	assert_int_equal(join_path("/run/a"), -ENOSPC);
	assert_int_equal(agent_session_join_boot(NULL), -ENOSPC);
	agent.process.sessions[AGENT_SESSIONS_MAX - 1].state = AGENT_SESSION_LEFT;
	assert_int_equal(join_path("/run/a"), -ENOSPC);
	agent.process.sessions[AGENT_SESSIONS_MAX - 1].state = AGENT_SESSION_FREE;
	assert_ptr_equal(join_free_slot(), &agent.process.sessions[AGENT_SESSIONS_MAX - 1]);
	/* A failed question. */
	for (int is_explicit = 0; is_explicit < 2; is_explicit++) {
		begin();
		wanted = (struct agent_wanted){
				.path = "/run/a", .asked = AGENT_ASK_HELLO, .error = -ETIMEDOUT};
		assert_int_equal(agent_session_join(&wanted, is_explicit, true), -ETIMEDOUT);
		are_calls("missed(-110)");
		assert_true((stalled_path != NULL) == !is_explicit);
	}
	wanted.error = -EIO;
	stalled_path = NULL;
	assert_true(agent_session_join(&wanted, false, true) == -EIO && !stalled_path);
	wanted.error = -ETIMEDOUT;
	wanted.asked = AGENT_ASK_NOTHING;
	assert_true(agent_session_join(&wanted, false, true) == -ETIMEDOUT && !stalled_path);
	/* Of a static configuration. */
	begin();
	assert_int_equal(agent_session_join_boot((const void *)&wanted), 0);
	are_calls("boot hello(0) recovery renew probes-update(1)");
	assert_true(agent.process.sessions[0].is_explicit &&
			agent.process.sessions[0].boot == (const void *)&wanted);
	has_path = false;
	assert_int_equal(agent_session_join_boot((const void *)&wanted), -ENAMETOOLONG);
	/* Random numbers may be unavailable. */
	random_number = 0;
	time_now = 0;
	assert_int_equal(agent_new_token(), UINT64_C(5) << 40);
	time_now = UINT64_C(5) << 40;
	assert_int_equal(agent_new_token(), 1);
}

static void test_prepare(void **state)
{
	(void)state;
	begin();
	assert_int_equal(agent_prepare(), 0);
	are_calls("");
	agent.process.is_prepared = false;
	pool_result = -ENOMEM;
	assert_int_equal(agent_prepare(), -ENOMEM);
	are_calls("factor(3) pool");
	pool_result = 0;
	atfork_result = 1;
	assert_int_equal(agent_prepare(), -ENOMEM);
	are_calls("factor(3) pool init atfork");
	atfork_result = 0;
	atexit_result = 1;
	assert_int_equal(agent_prepare(), -ENOMEM);
	atexit_result = 0;
	keys_fail_at = AGENT_SESSIONS_MAX - 1;
	*calls = '\0';
	assert_int_equal(agent_prepare(), -ENOSPC);
	are_calls("factor(3) pool init atfork atexit");
	assert_true(agent.process.keys[AGENT_SESSIONS_MAX - 2] &&
			!agent.process.keys[AGENT_SESSIONS_MAX - 1] && !agent.process.is_prepared);
	/* Existing keys stay, and handlers are installed once. */
	has_notification = false;
	assert_int_equal(agent_prepare(), -ENOMEM);
	are_calls("factor(3) pool values before-calls");
	assert_true(nr_requested == AGENT_SESSIONS_MAX + 1 && !agent.process.is_prepared &&
			agent.own_process.seccomp == 2);
	has_notification = true;
	assert_int_equal(agent_prepare(), 0);
	assert_true(agent.process.is_prepared && agent.process.tracer);
	*calls = '\0';
	agent.update.nr_declined = agent.process.nr_sessions = 1;
	agent.process.sessions[3].state = AGENT_SESSION_IN;
	agent.process.sessions[3].socket = -1;
	atomic_store(&agent.own_process.is_stopped, true);
	agent_stop();
	are_calls("unregister forget recovery-end free pool-end exchanges-stop memory-rest");
	assert_true(!agent.process.nr_sessions && !agent.update.nr_declined &&
			!agent.process.tracer && !agent.process.is_prepared &&
			!atomic_load(&agent.own_process.is_stopped) &&
			agent.process.sessions[3].state == AGENT_SESSION_FREE);
	/* The end of the process. */
	*calls = '\0';
	process_exits();
	are_calls("lock count unlock");
	assert_true(atomic_load(&agent.process.is_exiting));
	lock_fails = 1;
	process_exits();
	may_ask = false;
	process_exits();
	may_ask = true;
	agent_vforked = CONTEXT_VFORKED;
	process_exits();
	agent_vforked = 0;
	are_calls("");
	/* A clock that the process may not read. */
	begin();
	assert_int_equal(join_path("/run/a"), 0);
	*calls = '\0';
	is_foreign = true;
	agent_process_is_clock_forbidden(true);
	are_calls("");
	is_foreign = false;
	agent_process_is_clock_forbidden(true);
	are_calls("lock stop(1) stop(1) unlock");
	assert_true(atomic_load(&agent.own_process.is_stopped));
	some_channels[0].producer = NULL;
	agent_process_is_clock_forbidden(false);
	are_calls("lock stop(0) unlock");
	assert_false(atomic_load(&agent.own_process.is_stopped));
}

static void parse(const char *paths, struct starting *starting)
{
	memset(starting, 0, sizeof(*starting));
	start_parse(starting, paths);
}

static void test_start(void **state)
{
	struct starting starting;
	char text[300] = "/a:";

	(void)state;
	begin();
	parse("/a:/bc:", &starting);
	assert_true(starting.nr == 2 && starting.wanted[0].asked == AGENT_ASK_HELLO &&
			starting.wanted[1].token == 55);
	assert_string_equal(starting.wanted[0].path, "/a");
	assert_string_equal(starting.wanted[1].path, "/bc");
	parse("::/a", &starting);
	assert_true(starting.nr == 3 && starting.wanted[0].asked == AGENT_ASK_NOTHING);
	/* Eight sessions, and a path that fits. */
	parse("/1:/2:/3:/4:/5:/6:/7:/8:/9", &starting);
	assert_int_equal(starting.nr, 8);
	assert_string_equal(starting.wanted[7].path, "/8");
	memset(text + 3, 'x', WIRE_SESSION_PATH_MAX);
	strcpy(text + 3 + WIRE_SESSION_PATH_MAX, ":/b");
	parse(text, &starting);
	assert_true(starting.nr == 3 && strlen(starting.wanted[1].path) == WIRE_SESSION_PATH_MAX);
	memset(text + 3, 'x', WIRE_SESSION_PATH_MAX + 1);
	strcpy(text + 3 + WIRE_SESSION_PATH_MAX + 1, ":/b");
	parse(text, &starting);
	assert_int_equal(starting.nr, 2);
	assert_string_equal(starting.wanted[1].path, "/b");
	memmove(text, text + 3, sizeof(text) - 3);
	strchr(text, ':')[0] = '\0';
	parse(text, &starting);
	assert_true(starting.nr == 0 && start_sessions(&starting) == -ENAMETOOLONG);
	begin();
	assert_int_equal(agent_start("/a:/b"), 0);
	are_calls("look ask-given(1) ask-given(1) lock occasion hello(0) recovery renew hang-up(50) probes-update(1) hello(0) recovery renew hang-up(50) probes-update(1) probes-apply dump occasion-ends(1) unlock ask-drop(2)");
	begin();
	hello_result = -EACCES;
	assert_int_equal(agent_start("/a:/b"), -EACCES);
	assert_non_null(strstr(calls, "pool-end exchanges-stop memory-rest"));
}

/* ---- forks ---- */

static void test_child(void **state)
{
	struct agent_session *session = &agent.process.sessions[0];

	(void)state;
	begin();
	forked_child();
	are_calls("objects waits bases probes control ends");
	assert_int_equal(join_path("/run/a"), 0);
	*calls = '\0';
	nr_maps = nr_unmapped = 0;
	session->socket = 50;
	session->token = 44;
	nr_refused = 3;
	forked_child();
	are_calls("objects waits begins synchronize pool-reset hang-up(50) void hello(44) missing recovery again redirect bases probes control lock unlock ends");
	assert_true(nr_unmapped == 2 && nr_lost == 6 && !session->gone && !session->orphaned &&
			session->token == 55);
	/* Within a callback the rings of the parent stay. */
	nr_maps = nr_unmapped = 0;
	nr_lost = 0;
	nr_refused = 5000;
	synchronize_result = SIDE_ERROR_INVAL;
	session->socket = 50;
	session->socket_is_private = true;
	*calls = '\0';
	forked_child();
	are_calls("objects waits begins synchronize void hello(55) missing recovery again redirect bases probes control lock unlock ends");
	assert_true(nr_unmapped == 0 && nr_lost == 8192);
	synchronize_result = 0;
	/* The child cannot report its events to the recorder: nothing is recorded. */
	nr_maps = nr_unmapped = 0;
	again_result = -EPIPE;
	is_cut_off = true;
	*calls = '\0';
	forked_child();
	are_calls("objects waits exchanges begins synchronize pool-reset void hello(55) missing recovery again void redirect bases probes control lock batches unlock ends");
	assert_true(nr_unmapped == 4 && session->gone && session->orphaned &&
			!session->channels[0].producer);
	is_cut_off = false;
	/* A session that has ended does not start again. */
	*calls = '\0';
	forked_child();
	are_calls("objects waits begins synchronize pool-reset void bases probes control lock unlock ends");
	session->gone = false;
	is_sandboxed = true;
	*calls = '\0';
	forked_child();
	are_calls("objects waits void void redirect bases probes control lock unlock ends");
	assert_true(session->gone);
	is_sandboxed = false;
	session->gone = false;
	whole = false;
	*calls = '\0';
	forked_child();
	assert_true(session->gone && !strstr(calls, "hello"));
}

/* ---- sessions that refuse ---- */

static void test_declined(void **state)
{
	struct agent_wanted wanted = {.path = "/run/a", .generation = 3};
	char path[32];

	(void)state;
	assert_true(next_pause(0) == 5 && next_pause(5) == 10 && next_pause(20) == 40 &&
			next_pause(29) == 58 && next_pause(30) == 60 && next_pause(60) == 60);
	begin();
	hello_result = -EACCES;
	assert_int_equal(agent_update_join_session(&wanted, true), 0);
	assert_true(agent.update.nr_declined == 1 && !agent.update.declined[0].due &&
			!agent.update.declined[0].pause_s &&
			agent.update.declined[0].generation == 3 && !agent_declined_due());
	*calls = '\0';
	assert_int_equal(agent_update_join_session(&wanted, true), 0);
	are_calls("");
	/* With another generation it is asked again. */
	wanted.generation = 4;
	hello_result = -EUSERS;
	assert_int_equal(agent_update_join_session(&wanted, true), 0);
	assert_true(agent.update.nr_declined == 1 &&
			agent.update.declined[0].due == time_now + 5000 * MS &&
			agent.update.declined[0].generation == 4);
	time_now += 5000 * MS - 1;
	assert_false(agent_declined_due());
	*calls = '\0';
	assert_int_equal(agent_update_join_session(&wanted, true), 0);
	are_calls("");
	time_now++;
	assert_true(agent_declined_due());
	assert_int_equal(agent_update_join_session(&wanted, true), 0);
	assert_true(agent.update.declined[0].pause_s == 10 &&
			agent.update.declined[0].due == time_now + 10000 * MS);
	hello_result = 0;
	time_now += 10000 * MS;
	*calls = '\0';
	assert_int_equal(agent_update_join_session(&wanted, true), 0);
	assert_true(agent.update.nr_declined == 0 && agent.process.nr_sessions == 1);
	are_calls("hello(0) recovery renew probes-update(1) late");
	renew_result = -EIO;
	wanted.path = "/run/b";
	*calls = '\0';
	assert_int_equal(agent_update_join_session(&wanted, true), -EIO);
	assert_null(strstr(calls, "late"));
	/* As many as a WELCOME may name. */
	begin();
	for (unsigned int i = 0; i <= WIRE_WELCOME_MAX; i++) {
		wanted.path = path;
		snprintf(path, sizeof(path), "/run/%u", i);
		remember_declined(&wanted, 0);
	}
	assert_true(agent.update.nr_declined == WIRE_WELCOME_MAX && !find_declined("/run/64"));
	assert_ptr_equal(find_declined("/run/63"), &agent.update.declined[63]);
	forget_declined(&agent.update.declined[0]);
	assert_true(agent.update.nr_declined == 63 && !find_declined("/run/0"));
	assert_string_equal(agent.update.declined[0].path, "/run/63");
}

/* ---- questions ---- */

static struct agent_wanted question(const char *path, uint64_t generation)
{
	struct agent_wanted wanted = {.path = path, .generation = generation};

	decide_question(&wanted, true);
	return wanted;
}

static void test_questions(void **state)
{
	struct agent_session *session = &agent.process.sessions[0];
	struct agent_wanted wanted;

	(void)state;
	begin();
	wanted = question("/run/a", 7);
	assert_true(wanted.asked == AGENT_ASK_HELLO && wanted.token == 55 && !wanted.known &&
			!wanted.retries && !wanted.error);
	assert_int_equal(join_path("/run/a"), 0);
	session->token = 44;
	assert_int_equal(question("/run/a", 7).asked, AGENT_ASK_NOTHING);
	wanted = question("/run/a", 8);
	assert_true(wanted.asked == AGENT_ASK_REFRESH && wanted.token == 44 && wanted.known == 107);
	takes_push = true;
	assert_int_equal(question("/run/a", 8).asked, AGENT_ASK_NOTHING);
	session->orphaned = true;
	wanted = question("/run/a", 8);
	assert_true(wanted.asked == AGENT_ASK_HELLO && wanted.token == 55);
	session->orphaned = takes_push = false;
	/* Each reason to ask although the generation is known. */
	session->gone = true;
	assert_int_equal(question("/run/a", 7).asked, AGENT_ASK_REFRESH);
	session->gone = false;
	session->incomplete = true;
	assert_int_equal(question("/run/a", 7).asked, AGENT_ASK_REFRESH);
	session->incomplete = false;
	session->probes_due = true;
	assert_int_equal(question("/run/a", 7).asked, AGENT_ASK_REFRESH);
	wanted = (struct agent_wanted){.path = "/run/a", .generation = 7};
	decide_question(&wanted, false);
	assert_int_equal(wanted.asked, AGENT_ASK_NOTHING);
	session->probes_due = false;
	session->list_only = true;
	assert_int_equal(question("/run/a", 8).asked, AGENT_ASK_NOTHING);
	session->list_only = false;
	session->boot = (const void *)session;
	assert_int_equal(question("/run/a", 8).asked, AGENT_ASK_NOTHING);
	session->boot = NULL;
	/* A session that did not answer, and one that has refused the process. */
	stalled_path = "/run/a";
	wanted = question("/run/a", 8);
	assert_true(wanted.asked == AGENT_ASK_NOTHING && wanted.error == -ETIMEDOUT);
	stalled_path = NULL;
	wanted = (struct agent_wanted){.path = "/run/b", .generation = 3};
	remember_declined(&wanted, 5);
	assert_int_equal(question("/run/b", 3).asked, AGENT_ASK_NOTHING);
	assert_true(question("/run/b", 4).asked == AGENT_ASK_HELLO &&
			question("/run/b", 4).retries);
	time_now += 5000 * MS;
	assert_int_equal(question("/run/b", 3).asked, AGENT_ASK_HELLO);
	remember_declined(&wanted, 0);
	assert_false(question("/run/b", 4).retries);
}

/* ---- changes ---- */

static struct agent_wanted one;

static int follow_one(const char *path, uint64_t generation)
{
	one = (struct agent_wanted){.path = path, .generation = generation};
	*calls = '\0';
	return agent_update_session(&one, true);
}

static void test_follow(void **state)
{
	struct agent_session *session = &agent.process.sessions[0];

	(void)state;
	begin();
	assert_int_equal(follow_one("/run/a", 7), 0);
	are_calls("hello(0) recovery renew probes-update(1) late");
	assert_int_equal(follow_one("/run/a", 7), 0);
	are_calls("");
	/* The same rules; other rules; no change; out of memory. */
	assert_int_equal(follow_one("/run/a", 8), 0);
	are_calls("refresh free-generation probes-update(1)");
	new_generation.hash.low = 5;
	session->gone = true;
	assert_int_equal(follow_one("/run/a", 9), 0);
	are_calls("refresh renew probes-update(1) late");
	assert_true(session->generation == &new_generation && !session->gone);
	session->generation = &own_generation;
	new_generation.hash = (struct agent_hash){0, 6};
	assert_int_equal(follow_one("/run/a", 10), 0);
	are_calls("refresh renew probes-update(1) late");
	refresh_result = -EALREADY;
	assert_int_equal(follow_one("/run/a", 11), 0);
	are_calls("refresh probes-begin");
	refresh_result = 0;
	session->generation = &own_generation;
	renew_takes = false;
	renew_result = -ENOMEM;
	assert_int_equal(follow_one("/run/a", 12), -ENOMEM);
	are_calls("refresh renew free-generation probes-update(1)");
	assert_true(session->incomplete && session->generation == &own_generation);
	renew_takes = true;
	renew_result = 0;
	/* An incomplete generation is built again, also with the same rules. */
	new_generation.hash = own_generation.hash;
	assert_int_equal(follow_one("/run/a", 12), 0);
	are_calls("refresh renew probes-update(1) late");
	session->incomplete = false;
	/* The session no longer wants this instance: the process joins again as another one. */
	refresh_result = -EACCES;
	map_fails_at = -1;
	nr_maps = 0;
	assert_int_equal(follow_one("/run/a", 13), 0);
	are_calls("refresh recovery-end probes-leave leave hello(0) recovery renew probes-update(1) late");
	assert_true(agent.process.nr_sessions == 1 && session->state == AGENT_SESSION_LEFT &&
			agent.process.sessions[1].state == AGENT_SESSION_IN);
	refresh_result = -EPIPE;
	assert_int_equal(follow_one("/run/a", 14), -EPIPE);
	are_calls("refresh");
	one.error = -ETIMEDOUT;
	one.asked = AGENT_ASK_REFRESH;
	stalled_path = NULL;
	assert_int_equal(agent_update_session(&one, true), -ETIMEDOUT);
	assert_string_equal(stalled_path, "/run/a");
	stalled_path = NULL;
	one.asked = AGENT_ASK_NOTHING;
	assert_true(agent_update_session(&one, true) == -ETIMEDOUT && !stalled_path);
	/* A forked child that could not join. */
	agent.process.sessions[1].orphaned = true;
	nr_maps = 0;
	assert_int_equal(follow_one("/run/a", 14), 0);
	assert_null(strstr(calls, "refresh"));
	agent.process.sessions[0].state = AGENT_SESSION_FREE;
	/* Sessions that only list, and sessions of early boot, which a daemon may remove now. */
	begin();
	assert_int_equal(join_path("/run/a"), 0);
	session->list_only = true;
	assert_int_equal(follow_one("/run/a", 99), 0);
	are_calls("");
	session->list_only = false;
	session->boot = (const void *)session;
	session->is_explicit = true;
	assert_int_equal(follow_one("/run/a", 7), 0);
	assert_false(session->is_explicit);
}

static int change_to(const char *first, const char *second, bool may_wait)
{
	struct agent_wanted wanted[2] = {
			{.path = first, .generation = 7}, {.path = second, .generation = 7}};
	uint64_t grace = 77;
	int ret;

	*calls = '\0';
	ret = agent_sessions_update(wanted, second ? 2 : first ? 1 : 0, may_wait, &grace);
	assert_int_equal(grace, may_wait ? 0 : over_grace);
	return ret;
}

static void note_change(bool after)
{
	note_number("tell", after);
}

static void test_change(void **state)
{
	(void)state;
	begin();
	agent.process.keys[0] = 9;
	nr_received_channels = 0;
	over_grace = 5;
	assert_int_equal(change_to("/run/a", "/run/b", true), 0);
	are_calls("look lock unlock ask(1) ask(1) lock occasion over-free bases-changed "
		  "hello(0) recovery renew hang-up(50) probes-update(1) late "
		  "hello(0) recovery renew hang-up(50) probes-update(1) late "
		  "probes-apply over-begin dump occasion-ends(1) unlock synchronize lock over-free unlock ask-drop(2)");
	/* One session has ended; the other has asked for a state dump. */
	over_grace = 0;
	agent.process.sessions[0].config.statedump = 4;
	agent.process.sessions[0].bases_recorded = true;
	assert_int_equal(change_to("/run/a", NULL, true), 0);
	are_calls("look lock occasion over-free bases-changed recovery-end probes-leave leave "
		  "probes-apply over-begin dump occasion-ends(1) unlock request(9) ask-drop(1)");
	assert_true(agent.process.nr_sessions == 1 && agent.process.sessions[0].dumped == 4 &&
			!agent.process.sessions[0].bases_recorded);
	agent.process.sessions[1].state = AGENT_SESSION_FREE;
	/*
	 * Sessions given by the user stay. If the update must not wait, the requests are only
	 * tried.
	 */
	agent.process.sessions[0].is_explicit = true;
	agent.process.sessions[0].config.statedump = 5;
	has_bases_request = false;
	assert_int_equal(change_to(NULL, NULL, false), -EAGAIN);
	are_calls("lock occasion over-free bases-changed over-begin try(9) dump occasion-ends(1) unlock ask-drop(0)");
	assert_int_equal(agent.process.sessions[0].dumped, 4);
	has_bases_request = true;
	assert_int_equal(change_to(NULL, NULL, false), 0);
	assert_int_equal(agent.process.sessions[0].dumped, 5);
	assert_int_equal(change_to(NULL, NULL, false), 0);
	assert_null(strstr(calls, "try"));
	agent.process.sessions[0].config.statedump = 6;
	agent.process.sessions[0].list_only = true;
	assert_int_equal(change_to(NULL, NULL, true), 0);
	assert_null(strstr(calls, "request"));
	agent.process.sessions[0].list_only = false;
	agent.process.sessions[0].dumped = 6;
	/* The lock: at once, or 50 attempts, a millisecond apart, after the questions. */
	lock_fails = 1;
	assert_int_equal(change_to("/run/c", NULL, false), -EBUSY);
	are_calls("ask-drop(1)");
	assert_int_equal(nr_sleeps, 0);
	{
		struct agent_wanted wanted = {.path = "/run/c"};

		assert_true(ask_and_lock(&wanted, 1, true, time_now + 1000 * MS));
		*calls = '\0';
	}
	/* Not in a sandbox, at exit, or before the start. */
	is_sandboxed = true;
	assert_int_equal(change_to(NULL, NULL, true), -EPERM);
	is_sandboxed = false;
	atomic_store(&agent.process.is_exiting, true);
	assert_int_equal(change_to(NULL, NULL, true), -EPERM);
	atomic_store(&agent.process.is_exiting, false);
	agent.process.is_prepared = false;
	assert_int_equal(change_to(NULL, NULL, true), -EPERM);
	are_calls("ask-drop(0)");
	/*
	 * The callback is called before and after, even if nothing can change, but not where the
	 * update may not wait.
	 */
	agent_on_change(note_change);
	assert_int_equal(change_to(NULL, NULL, true), -EPERM);
	are_calls("tell(0) ask-drop(0) tell(1)");
	assert_int_equal(change_to(NULL, NULL, false), -EPERM);
	are_calls("ask-drop(0)");
	agent_on_change(NULL);
	assert_int_equal(change_to(NULL, NULL, true), -EPERM);
	are_calls("ask-drop(0)");
	agent.process.is_prepared = true;
	/* The worst result counts; of equal ones, the first. */
	begin();
	hello_result = -EIO;
	assert_int_equal(change_to("/run/a", "/run/b", true), -EIO);
	hello_result = -ETIMEDOUT;
	assert_int_equal(change_to("/run/a", "/run/b", true), -ETIMEDOUT);
	/* A session that no longer wants the process does not count as one that has refused. */
	hello_result = -EACCES;
	assert_int_equal(change_to("/run/a", "/run/b", true), 0);
	assert_int_equal(agent.update.nr_declined, 2);
	assert_int_equal(change_to("/run/b", NULL, true), 0);
	assert_int_equal(agent.update.nr_declined, 1);
	assert_string_equal(agent.update.declined[0].path, "/run/b");
	assert_int_equal(change_to(NULL, NULL, true), 0);
	assert_int_equal(agent.update.nr_declined, 0);
}

static void join_beside(void)
{
	while_asking = NULL;
	assert_int_equal(join_path("/run/a"), 0);
	*calls = '\0';
}

static void leave_beside(void)
{
	while_asking = NULL;
	agent_update_leave_session(&agent.process.sessions[0]);
	*calls = '\0';
}

/* Sessions that were found before the questions are checked again under the lock. */
static void test_rechecks(void **state)
{
	(void)state;
	/*
	 * Another thread joins the session meanwhile: it is not joined twice, and the question is
	 * dropped.
	 */
	begin();
	while_asking = join_beside;
	assert_int_equal(change_to("/run/a", NULL, true), 0);
	are_calls("lock occasion over-free bases-changed probes-apply over-begin dump occasion-ends(1) unlock ask-drop(1)");
	assert_int_equal(agent.process.nr_sessions, 1);
	/* Another thread leaves it: the answer to the old instance is dropped. */
	agent.process.sessions[0].config.generation = 6;
	while_asking = leave_beside;
	assert_int_equal(change_to("/run/a", NULL, true), 0);
	are_calls("lock occasion over-free bases-changed hello(0) recovery renew probes-update(1) late probes-apply over-begin dump occasion-ends(1) unlock ask-drop(1)");
	assert_true(agent.process.nr_sessions == 1 &&
			agent.process.sessions[0].state == AGENT_SESSION_LEFT);
	/* The same for `side attach`. */
	begin();
	while_asking = join_beside;
	assert_int_equal(agent_session_attach("/run/a"), -EALREADY);
	assert_true(agent.process.nr_sessions == 1 && !agent.process.sessions[0].attached);
	/* Another thread takes the lock after the questions: 50 more attempts. */
	for (int nr = 50; nr < 52; nr++) {
		begin();
		lock_fails = nr;
		lock_fails_after = 1;
		assert_int_equal(change_to("/run/a", NULL, false), nr == 50 ? 0 : -EBUSY);
		assert_int_equal(nr_sleeps, 50);
		assert_int_equal(agent.process.nr_sessions, nr == 50);
	}
}

static void test_attach(void **state)
{
	struct agent_session *session = &agent.process.sessions[0];

	(void)state;
	begin();
	is_sandboxed = true;
	assert_int_equal(agent_session_attach("/run/a"), -EPERM);
	assert_int_equal(agent_session_detach("/run/a"), -EPERM);
	is_sandboxed = false;
	are_calls("");
	assert_int_equal(agent_session_attach("/run/a"), 0);
	are_calls("look lock unlock ask-given(1) lock occasion over-free bases-changed hello(0) recovery renew hang-up(50) probes-update(1) "
		  "occasion-ends(1) ask-drop(1) over-begin probes-apply dump over-free unlock");
	assert_true(session->attached && session->is_explicit);
	over_grace = 5;
	assert_int_equal(agent_session_attach("/run/a"), -EALREADY);
	are_calls("look lock unlock lock occasion over-free bases-changed occasion-ends(1) ask-drop(1) over-begin probes-apply dump unlock synchronize lock over-free unlock");
	over_grace = 0;
	synchronize_result = SIDE_ERROR_INVAL;
	assert_int_equal(agent_session_detach("/run/b"), -ENOENT);
	session->attached = false;
	assert_int_equal(agent_session_detach(NULL), -ENOENT);
	session->attached = true;
	*calls = '\0';
	assert_int_equal(agent_session_detach("/run/a"), 0);
	are_calls("lock over-free recovery-end probes-leave leave over-begin probes-apply dump over-free unlock");
	assert_true(session->state == AGENT_SESSION_LEFT && agent.process.nr_sessions == 0);
	begin();
	renew_result = -EIO;
	assert_int_equal(agent_session_attach("/run/a"), -EIO);
	assert_true(session->attached && agent.process.nr_sessions == 1);
	assert_int_equal(agent_session_detach(NULL), 0);
}

/* ---- losses ---- */

static struct {
	_Alignas(64) unsigned char bytes[sizeof(struct agent_batch) +
			4 * sizeof(struct agent_event)];
} made;

static void test_losses(void **state)
{
	struct agent_batch *batch = (void *)made.bytes;
	struct side_event_description *mine = (void *)&one, *other = (void *)&made;

	(void)state;
	begin();
	assert_int_equal(join_path("/run/a"), 0);
	batch->nr_events = 4;
	for (unsigned int i = 0; i < 4; i++) {
		batch->events[i].id = 10 + i;
		batch->events[i].description = i == 1 ? other : mine;
		batch->events[i].registered = i != 2;
		batch->events[i].recorded = true;
		batch->events[i].producer = (void *)&made;
	}
	agent.process.sessions[0].batches = batch;
	*calls = '\0';
	agent_count_lost(mine, true, 3, 5);
	{
		char wanted[128];

		snprintf(wanted, sizeof(wanted), "lock lost(%d) lost(%d) unlock",
				10 + RING_LOST_OTHER * 1000, 13 + RING_LOST_OTHER * 1000);
		are_calls(wanted);
		batch->events[0].recorded = false;
		batch->events[3].producer = NULL;
		agent_count_lost(mine, true, 3, 5);
		are_calls("lock unlock");
		agent_count_lost(other, false, 3, 5);
		snprintf(wanted, sizeof(wanted), "lock lost(%ld) unlock",
				(long)AGENT_LOST_SLOT + (long)RING_LOST_BUSY * 1000);
		are_calls(wanted);
	}
	assert_false(agent_list_only());
	agent.process.sessions[0].list_only = true;
	assert_true(agent_list_only());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_join),
			cmocka_unit_test(test_join_fails),
			cmocka_unit_test(test_prepare),
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_child),
			cmocka_unit_test(test_declined),
			cmocka_unit_test(test_questions),
			cmocka_unit_test(test_follow),
			cmocka_unit_test(test_change),
			cmocka_unit_test(test_rechecks),
			cmocka_unit_test(test_attach),
			cmocka_unit_test(test_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
