/* SPDX-License-Identifier: MIT */
/*
 * Small parts of the agent: questions to sessions, the rendezvous socket, waits, late sessions,
 * walks of objects, memory. The test includes the files, so that it decides what connections,
 * clocks and mappings return.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <side/tracer-extensions.h>

#include "protocol/recovery.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/ask.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/late.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/recovery.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/unsupported.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"
#include "protocol/protocol.h"

/* ---- what the files call ---- */

#define MS UINT64_C(1000000)

static uint64_t now, clock_step;

static uint64_t fake_deadline(unsigned int timeout_ms)
{
	now += clock_step;
	return now + timeout_ms * MS;
}

static struct {
	int connected[8], sent[8], waited[8]; /* results in turn */
	unsigned int nr_connected, nr_sent, nr_waited, nr_closed, nr_received;
	int closed[8];
	char path[8][64];
	uint64_t deadline[8];
	char message[8][256];
	size_t message_size[8];
	long received; /* the error, the end (0), or 1: what `answer` holds */
	char answer[256];
	size_t answer_size;
	bool has_descriptors;
	int hello;
} calls;

static void calls_begin(void)
{
	memset(&calls, 0, sizeof(calls));
	calls.has_descriptors = true;
	calls.hello = 17;
}

static int fake_connect(const char *path, uint64_t deadline)
{
	unsigned int n = calls.nr_connected++;

	assert_true(n < 8);
	strcpy(calls.path[n], path);
	calls.deadline[n] = deadline;
	return calls.connected[n];
}

static int fake_send(int socket, const void *message, size_t size, const int *fds, size_t nr_fds,
		uint64_t deadline)
{
	unsigned int n = calls.nr_sent++;

	(void)socket;
	(void)deadline;
	assert_true(n < 8 && !fds && !nr_fds);
	calls.message_size[n] = size;
	memcpy(calls.message[n], message, size < 256 ? size : 256);
	return calls.sent[n];
}

static ssize_t fake_receive(
		int socket, void *message, size_t size, int *fds, size_t *nr_fds, uint64_t deadline)
{
	(void)socket;
	(void)deadline;
	(void)fds;
	(void)nr_fds;
	calls.nr_received++;
	if (calls.received != 1)
		return calls.received;
	assert_true(calls.answer_size <= size);
	memcpy(message, calls.answer, calls.answer_size);
	return (ssize_t)calls.answer_size;
}

static int fake_wait(int socket, uint64_t deadline)
{
	(void)deadline;
	(void)socket;
	assert_true(calls.nr_waited < 8);
	return calls.waited[calls.nr_waited++];
}

static void fake_close(int fd)
{
	assert_true(calls.nr_closed < 8);
	calls.closed[calls.nr_closed++] = fd;
}

static bool fake_has_descriptors(int socket, uint32_t nr_channels)
{
	(void)socket;
	assert_int_equal(nr_channels, 0);
	return calls.has_descriptors;
}

static ssize_t fake_hello(uint64_t token, char *message, char *names, int error, bool retries)
{
	assert_int_equal(error, 0);
	assert_ptr_equal(names, message + WIRE_MESSAGE_MAX);
	names[2 * AGENT_NAME_SIZE - 1] = 1;
	message[0] = (char)token;
	message[1] = retries;
	return calls.hello;
}

static unsigned int nr_mapped, nr_unmapped, mmap_fails;
static size_t size_mapped, size_unmapped;

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	assert_true(!at && protection == (PROT_READ | PROT_WRITE) &&
			flags == (MAP_PRIVATE | MAP_ANONYMOUS) && fd == -1);
	if (mmap_fails && !--mmap_fails)
		return NULL;
	nr_mapped++;
	size_mapped = size;
	return raw_mmap(at, size, protection, flags, fd);
}

static int fake_munmap(void *at, size_t size)
{
	nr_unmapped++;
	size_unmapped = size;
	return raw_munmap(at, size);
}

static unsigned int nr_unrecorded;
static uint32_t connection_unrecorded_reason, missed_ms;

static void fake_missed(const struct agent_session *session, uint32_t reason, uint32_t elapsed_ms)
{
	(void)session;
	nr_unrecorded++;
	connection_unrecorded_reason = reason;
	missed_ms = elapsed_ms;
}

static bool may_ask = true;

static bool fake_may_ask(void)
{
	return may_ask;
}

#define wire_deadline fake_deadline
#define wire_connect fake_connect
#define wire_send fake_send
#define wire_receive fake_receive
#define wire_wait fake_wait
#define wire_close fake_close
#define agent_has_descriptors fake_has_descriptors
#define agent_build_hello(token, message, names, a, b) fake_hello(token, message, names, a, b)
#define raw_mmap fake_mmap
#define raw_munmap fake_munmap
#define agent_report_late_start fake_missed
#define context_may_ask fake_may_ask

#include "tracers/agent/core/ask.c"
#include "tracers/agent/core/rendezvous.c"
#include "tracers/agent/core/late.c"
#include "tracers/agent/core/objects.c"
#include "tracers/agent/core/wait.c"

#include "tracers/agent/core/memory.c"
#undef CHUNK_SIZE
#define home spare_home
#define next spare_next
#include "tracers/agent/core/recycled-ids.c"
#undef home
#undef next
#define add_chunk recovery_add_chunk
#include "tracers/agent/core/recovery.c"
#undef add_chunk
#include "tracers/agent/core/vfork.c"

/* ---- the rendezvous socket ---- */

static void test_rendezvous_path(void **state)
{
	char path[AGENT_RENDEZVOUS_SIZE + 1];

	(void)state;
	assert_int_equal(agent_rendezvous_set(NULL), 0);
	assert_null(agent_rendezvous());
	memset(path, 'd', AGENT_RENDEZVOUS_SIZE);
	path[AGENT_RENDEZVOUS_SIZE] = 0;
	assert_int_equal(agent_rendezvous_set(path), -ENAMETOOLONG);
	assert_null(agent_rendezvous());
	path[AGENT_RENDEZVOUS_SIZE - 1] = 0;
	rendezvous.known = true;
	assert_int_equal(agent_rendezvous_set(path), 0);
	assert_false(rendezvous.known);
	assert_string_equal(agent_rendezvous(), path);
	assert_int_equal(agent_rendezvous_set("/short"), 0);
	assert_string_equal(agent_rendezvous(), "/short");
	/* After a refused path, the previous one stays. */
	path[AGENT_RENDEZVOUS_SIZE - 1] = 'd';
	assert_int_equal(agent_rendezvous_set(path), -ENAMETOOLONG);
	assert_string_equal(agent_rendezvous(), "/short");
	assert_int_equal(agent_rendezvous_set(""), 0);
	assert_null(agent_rendezvous());
}

static void test_rendezvous_connect(void **state)
{
	struct agent_session session = {.path = "/session"};
	struct wire_pass pass = {.path = ""};
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(agent_rendezvous_set("/door"), 0);
	calls_begin();
	calls.connected[0] = -ECONNREFUSED;
	assert_int_equal(agent_rendezvous_connect("/session", 5), -ECONNREFUSED);
	assert_int_equal(calls.nr_closed, 0);
	/* Without a session nothing is sent. The first owner is remembered. */
	calls_begin();
	calls.connected[0] = pair[0];
	assert_int_equal(agent_rendezvous_connect(NULL, 5), pair[0]);
	assert_string_equal(calls.path[0], "/door");
	assert_int_equal(calls.deadline[0], 5);
	assert_int_equal(calls.nr_sent, 0);
	assert_int_equal(calls.nr_closed, 0);
	assert_true(rendezvous.known);
	assert_int_equal(rendezvous.owner, getuid());
	/* Another owner is refused, unless it is root. */
	rendezvous.owner = getuid() + 1;
	calls_begin();
	calls.connected[0] = pair[0];
	assert_int_equal(agent_rendezvous_connect(NULL, 5), getuid() ? -EPERM : pair[0]);
	assert_int_equal(calls.nr_closed, getuid() ? 1 : 0);
	assert_int_equal(rendezvous.owner, getuid() + 1);
	rendezvous.owner = getuid();
	/* If there is no socket, there is no owner. */
	calls_begin();
	calls.connected[0] = open("/dev/null", O_RDONLY);
	assert_int_equal(agent_rendezvous_connect(NULL, 5), -ENOTSOCK);
	assert_int_equal(calls.nr_closed, 1);
	assert_int_equal(calls.closed[0], calls.connected[0]);
	close(calls.connected[0]);
	/* The session is named, and the answer must be right. */
	calls_begin();
	calls.connected[0] = pair[0];
	calls.sent[0] = -EPIPE;
	assert_int_equal(agent_rendezvous_connect("/session", 5), -EPIPE);
	assert_int_equal(calls.nr_received, 0);
	assert_int_equal(calls.nr_closed, 1);
	assert_int_equal(wire_decode_pass(calls.message[0], calls.message_size[0], &pass), 0);
	assert_string_equal(pass.path, "/session");
	calls_begin();
	calls.connected[0] = pair[0];
	calls.received = 0;
	assert_int_equal(agent_rendezvous_connect("/session", 5), -ECONNRESET);
	calls.connected[1] = pair[0];
	calls.received = -ETIMEDOUT;
	assert_int_equal(agent_rendezvous_connect("/session", 5), -ETIMEDOUT);
	calls.connected[2] = pair[0];
	calls.received = 1;
	calls.answer_size = 3;
	assert_true(agent_rendezvous_connect("/session", 5) < 0);
	assert_int_equal(calls.nr_closed, 3);
	calls.connected[3] = pair[0];
	memcpy(calls.answer, calls.message[0], calls.message_size[0]);
	calls.answer_size = calls.message_size[0];
	assert_int_equal(agent_rendezvous_connect("/session", 5), pair[0]);
	assert_int_equal(calls.nr_closed, 3);
	/* Descriptor 0 is a socket like any other. */
	assert_int_equal(agent_rendezvous_set("/zero"), 0);
	calls_begin();
	calls.received = 1;
	calls.connected[0] = -EIO;
	assert_int_equal(agent_rendezvous_connect("/session", 5), -EIO);
	assert_int_equal(calls.nr_sent, 0);
	calls.connected[1] = 0;
	(void)agent_rendezvous_connect("/session", 5);
	assert_true(calls.nr_sent + calls.nr_closed > 0);
	assert_int_equal(agent_rendezvous_set("/door"), 0);
	rendezvous.owner = getuid();
	rendezvous.known = true;
	calls_begin();
	calls.received = 1;
	pass.path = "/session";
	calls.answer_size = (size_t)wire_encode_pass(calls.answer, sizeof(calls.answer), &pass);
	for (int i = 0; i < 4; i++)
		calls.connected[i] = i < 3 ? -EIO : pair[0];
	calls.nr_connected = 4;
	/*
	 * The agent connects directly to sessions that the user gave, and to those of a static
	 * configuration.
	 */
	assert_true(agent_session_by_rendezvous(&session));
	session.is_explicit = true;
	assert_false(agent_session_by_rendezvous(&session));
	calls.connected[4] = 77;
	assert_int_equal(agent_session_connect(&session, 9), 77);
	assert_string_equal(calls.path[4], "/session");
	session.is_explicit = false;
	session.boot = (const void *)&session;
	assert_false(agent_session_by_rendezvous(&session));
	session.boot = NULL;
	calls.connected[5] = pair[0];
	assert_int_equal(agent_session_connect(&session, 9), pair[0]);
	assert_string_equal(calls.path[5], "/door");
	assert_int_equal(agent_rendezvous_set(NULL), 0);
	assert_false(agent_session_by_rendezvous(&session));
	close(pair[0]);
	close(pair[1]);
}

/* ---- questions ---- */

static void test_ask(void **state)
{
	struct agent_wanted wanted[5] = {
			{.path = "/hello", .asked = AGENT_ASK_HELLO, .token = 11, .retries = true},
			{.path = "/nothing"},
			{.path = "/failed", .asked = AGENT_ASK_HELLO, .error = -EIO, .socket = 5},
			{.path = "/refresh", .asked = AGENT_ASK_REFRESH, .token = 12, .known = 13},
			{.path = "/late", .asked = AGENT_ASK_REFRESH, .token = 14, .known = 15},
	};
	struct wire_refresh refresh = {0};

	(void)state;
	calls_begin();
	calls.connected[0] = 20;
	calls.connected[1] = 21;
	calls.connected[2] = 22;
	calls.waited[2] = -ETIMEDOUT;
	nr_mapped = nr_unmapped = 0;
	agent_ask(wanted, 5, true, 99);
	assert_int_equal(nr_mapped, 1);
	assert_int_equal(nr_unmapped, 1);
	assert_int_equal(size_mapped, WIRE_MESSAGE_MAX + 2 * AGENT_NAME_SIZE);
	assert_int_equal(size_unmapped, size_mapped);
	assert_int_equal(calls.nr_connected, 3);
	assert_string_equal(calls.path[0], "/hello");
	assert_string_equal(calls.path[1], "/refresh");
	assert_string_equal(calls.path[2], "/late");
	assert_int_equal(calls.deadline[2], 99);
	assert_int_equal(calls.message_size[0], 17);
	assert_int_equal(calls.message[0][0], 11);
	assert_int_equal(calls.message[0][1], 1);
	assert_int_equal(wire_decode_refresh(calls.message[1], calls.message_size[1], &refresh), 0);
	assert_true(refresh.token == 12 && refresh.generation == 13);
	assert_int_equal(calls.nr_waited, 3);
	assert_int_equal(wanted[0].socket, 20);
	assert_int_equal(wanted[0].error, 0);
	assert_int_equal(wanted[1].socket, 0);
	assert_int_equal(wanted[2].socket, 5);
	assert_int_equal(wanted[2].error, -EIO);
	assert_int_equal(wanted[3].socket, 21);
	assert_int_equal(wanted[4].socket, -1);
	assert_int_equal(wanted[4].error, -ETIMEDOUT);
	assert_int_equal(calls.nr_closed, 1);
	assert_int_equal(calls.closed[0], 22);
	agent_ask_drop(wanted, 5);
	assert_int_equal(calls.nr_closed, 3);
	assert_int_equal(calls.closed[1], 20);
	assert_int_equal(calls.closed[2], 21);
	for (int i = 0; i < 5; i++)
		assert_int_equal(wanted[i].asked, AGENT_ASK_NOTHING);
	agent_ask(wanted, 5, true, 99);
	assert_int_equal(nr_mapped, 1);
}

static void ask_one_that_fails(int error)
{
	struct agent_wanted wanted = {.path = "/one", .asked = AGENT_ASK_HELLO, .socket = 9};

	nr_mapped = nr_unmapped = 0;
	agent_ask(&wanted, 1, true, 99);
	assert_int_equal(wanted.error, error);
	assert_int_equal(wanted.socket, -1);
	assert_int_equal(calls.nr_closed, 1);
	assert_int_equal(calls.nr_waited, 0);
	assert_int_equal(nr_mapped, nr_unmapped);
}

static void test_ask_fails(void **state)
{
	(void)state;
	calls_begin();
	mmap_fails = 1;
	ask_one_that_fails(-ENOMEM);
	assert_int_equal(calls.closed[0], -1);
	calls_begin();
	calls.hello = -E2BIG;
	ask_one_that_fails(-E2BIG);
	assert_int_equal(calls.nr_connected, 0);
	calls_begin();
	calls.connected[0] = -ENOENT;
	ask_one_that_fails(-ENOENT);
	assert_int_equal(calls.closed[0], -ENOENT);
	calls_begin();
	calls.connected[0] = 30;
	calls.has_descriptors = false;
	ask_one_that_fails(-EMFILE);
	assert_int_equal(calls.closed[0], 30);
	assert_int_equal(calls.nr_sent, 0);
	calls_begin();
	calls.connected[0] = 31;
	calls.sent[0] = -EPIPE;
	ask_one_that_fails(-EPIPE);
	assert_int_equal(calls.closed[0], 31);
}

/* With a rendezvous socket the connection uses it, unless the user gave the session. */
static void test_ask_by_rendezvous(void **state)
{
	struct agent_wanted wanted = {.path = "/one", .asked = AGENT_ASK_REFRESH, .token = 3};

	(void)state;
	assert_int_equal(agent_rendezvous_set("/door"), 0);
	calls_begin();
	calls.connected[0] = -ENOENT;
	agent_ask(&wanted, 1, false, 99);
	assert_string_equal(calls.path[0], "/door");
	wanted.error = 0;
	calls_begin();
	calls.has_descriptors = false;
	calls.connected[0] = 40;
	agent_ask(&wanted, 1, true, 99);
	assert_string_equal(calls.path[0], "/one");
	/* The answer to REFRESH has no descriptors. */
	assert_int_equal(wanted.error, 0);
	agent_ask_drop(&wanted, 1);
	assert_int_equal(agent_rendezvous_set(NULL), 0);
}

/* ---- waits ---- */

static void test_deadlines(void **state)
{
	(void)state;
	now = 1000 * MS;
	clock_step = 0;
	agent.wait.timeout_factor = 0;
	agent_waits_forked();
	assert_true(agent_deadline(250) == 1250 * MS && agent_deadline_unlocked(250) == 1250 * MS);
	agent_start_begins();
	now = 1900 * MS;
	assert_true(agent_deadline(50) == 1950 * MS && agent_deadline(250) == 2000 * MS);
	assert_true(agent_deadline_unlocked(50) == 1950 * MS &&
			agent_deadline_unlocked(250) == 2000 * MS);
	agent_start_ends();
	assert_true(agent_deadline(250) == 2150 * MS && agent_deadline_unlocked(250) == 2150 * MS);
	/* An occasion has the deadline that it is given; an inner occasion is a part of it. */
	assert_true(agent_occasion_begins(1930 * MS));
	assert_false(agent_occasion_begins(5));
	assert_true(agent_deadline(250) == 1930 * MS && agent_deadline_unlocked(250) == 2150 * MS);
	agent_occasion_ends(false);
	assert_true(agent_deadline(250) == 1930 * MS);
	agent_occasion_ends(true);
	assert_true(agent_deadline(250) == 2150 * MS);
	/* Without one it ends one second after its first wait begins. */
	assert_true(agent_occasion_begins(0));
	now = 3000 * MS;
	assert_true(agent_deadline(2000) == 4000 * MS);
	now = 3500 * MS;
	assert_true(agent_deadline(2000) == 4000 * MS && agent_deadline(100) == 3600 * MS);
	agent_start_begins();
	agent_waits_forked();
	assert_true(agent_deadline(2000) == 5500 * MS &&
			agent_deadline_unlocked(2000) == 5500 * MS);
	assert_true(agent_occasion_begins(7));
	agent_occasion_ends(true);
	agent.wait.timeout_factor = 3;
	assert_true(agent_deadline(2000) == 9500 * MS);
	agent.wait.timeout_factor = 0;
}

static void test_stalled(void **state)
{
	char path[WIRE_SESSION_PATH_MAX + 2], name[16];

	(void)state;
	now = 100 * MS;
	clock_step = 0;
	assert_false(agent_is_stalled("/a") || agent_was_stalled("/a"));
	agent_stalled_note("/a");
	assert_true(agent_is_stalled("/a") && agent_was_stalled("/a"));
	assert_false(agent_is_stalled("/b") || agent_was_stalled("/b"));
	now = 2100 * MS - 1;
	assert_true(agent_is_stalled("/a"));
	now = 2100 * MS;
	assert_false(agent_is_stalled("/a"));
	agent_stalled_note("/a");
	now = 4100 * MS - 1;
	assert_true(agent_is_stalled("/a"));
	agent_stalled_forget("/a");
	assert_false(agent_is_stalled("/a"));
	assert_true(agent_was_stalled("/a"));
	agent_stalled_forget("/b");
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	agent_stalled_note(path);
	assert_false(agent_was_stalled(path));
	path[WIRE_SESSION_PATH_MAX] = 0;
	agent_stalled_note(path);
	assert_true(agent_is_stalled(path));
	/* The ninth takes the slot of the oldest one. */
	for (int i = 0; i < 8; i++) {
		now += MS;
		sprintf(name, "/%d", i);
		agent_stalled_note(name);
	}
	assert_false(agent_was_stalled("/a") || agent_was_stalled(path));
	for (int i = 0; i < 8; i++) {
		sprintf(name, "/%d", i);
		assert_true(agent_is_stalled(name));
	}
	now += MS;
	agent_stalled_note("/8");
	assert_false(agent_was_stalled("/0"));
	assert_true(agent_is_stalled("/1") && agent_is_stalled("/7") && agent_is_stalled("/8"));
	now += MS;
	agent_stalled_note("/1");
	now += MS;
	agent_stalled_note("/9");
	assert_true(agent_is_stalled("/1"));
	assert_false(agent_was_stalled("/2"));
}

static void test_stalled_check(void **state)
{
	struct wire_refresh refresh = {0};

	(void)state;
	memset(&waits, 0, sizeof(waits));
	calls_begin();
	assert_false(agent_stalled_check());
	assert_int_equal(calls.nr_connected, 0);
	now = 100 * MS;
	agent_stalled_note("/first");
	agent_stalled_note("/second");
	/* The first session does not answer; the socket of the second one has disappeared. */
	calls.connected[0] = 50;
	calls.received = -ETIMEDOUT;
	calls.connected[1] = -ENOENT;
	assert_true(agent_stalled_check());
	assert_string_equal(calls.path[0], "/first");
	assert_true(calls.deadline[0] == 5100 * MS);
	assert_int_equal(wire_decode_refresh(calls.message[0], calls.message_size[0], &refresh), 0);
	assert_int_equal(refresh.token, 1);
	assert_int_equal(calls.nr_sent, 1);
	assert_int_equal(calls.nr_received, 1);
	assert_int_equal(calls.nr_closed, 2);
	assert_int_equal(calls.closed[0], 50);
	assert_true(agent_is_stalled("/first"));
	assert_false(agent_is_stalled("/second"));
	calls_begin();
	calls.sent[0] = -ETIMEDOUT;
	assert_false(agent_stalled_check());
	assert_int_equal(calls.nr_received, 0);
	calls_begin();
	calls.sent[0] = -EPIPE;
	assert_true(agent_stalled_check());
	assert_false(agent_is_stalled("/first"));
	agent_stalled_note("/first");
	calls_begin();
	calls.received = -ECONNRESET;
	assert_true(agent_stalled_check());
	assert_false(side_tracer_trylock() == 0);
	side_tracer_unlock();
}

/* ---- sessions that start late ---- */

static struct side_event_description description;

/* The reason that is reported, or 0. */
static uint32_t late_reason(struct agent_session *session)
{
	unsigned int before = nr_unrecorded;

	agent_late_report(session);
	assert_true(nr_unrecorded - before <= 1);
	return nr_unrecorded > before ? connection_unrecorded_reason : 0;
}

static struct agent_session *late_session(void)
{
	static _Alignas(64) unsigned char
			memory[sizeof(struct agent_batch) + 2 * sizeof(struct agent_event)];
	struct agent_batch *batch = (void *)memory;
	static struct agent_session session;

	memset(&late, 0, sizeof(late));
	memset(&waits, 0, sizeof(waits));
	memset(&session, 0, sizeof(session));
	side_ptr_set(description.provider_name, "app");
	batch->nr_events = 2;
	memset(batch->events, 0, 2 * sizeof(struct agent_event));
	batch->events[1].registered = true;
	batch->events[1].description = &description;
	session.batches = batch;
	strcpy(session.path, "/late");
	clock_step = 0;
	return &session;
}

static void test_late(void **state)
{
	struct agent_session *session = late_session();

	(void)state;
	now = 10 * MS;
	assert_int_equal(late_reason(session), 0);
	agent_late_pass(7 * MS, true);
	assert_int_equal(late_reason(session), WIRE_UNRECORDED_LATE_DAEMON);
	assert_int_equal(missed_ms, 3);
	/* A later event keeps the time of the first one. */
	agent_late_pass(8 * MS, true);
	assert_int_equal(late_reason(session), WIRE_UNRECORDED_LATE_DAEMON);
	assert_int_equal(missed_ms, 3);
	session->list_only = true;
	assert_int_equal(late_reason(session), 0);
	session->list_only = false;
	session->boot = (const void *)session;
	assert_int_equal(late_reason(session), 0);
	session->boot = NULL;
	side_ptr_set(description.provider_name, "side");
	assert_int_equal(late_reason(session), 0);
	side_ptr_set(description.provider_name, "app");
	session->batches->events[1].of_probe = true;
	assert_int_equal(late_reason(session), 0);
	session->batches->events[1].of_probe = false;
	session->batches->events[1].registered = false;
	assert_int_equal(late_reason(session), 0);
	session->batches->events[1].registered = true;
	assert_int_equal(late_reason(session), WIRE_UNRECORDED_LATE_DAEMON);
	/* An exchange with all sessions removes the note. */
	agent_late_applied(true);
	assert_int_equal(late_reason(session), 0);
	agent_late_pass(10 * MS, true);
	assert_int_equal(late_reason(session), 0);
	now = 20 * MS;
	agent_late_answered();
	agent_late_pass(20 * MS, true);
	now = 4294967315 * MS - 1;
	assert_int_equal(late_reason(session), WIRE_UNRECORDED_LATE_RECORDER);
	assert_int_equal(missed_ms, 4294967294);
	now = 4294967316 * MS;
	assert_int_equal(late_reason(session), WIRE_UNRECORDED_LATE_RECORDER);
	assert_int_equal(missed_ms, UINT32_MAX);
	agent_late_forked();
	assert_int_equal(late_reason(session), 0);
}

static void test_late_without_daemon(void **state)
{
	struct agent_session *session = late_session();

	(void)state;
	now = 10 * MS;
	agent_late_no_daemon();
	agent_late_pass(10 * MS, false);
	assert_int_equal(late_reason(session), 0);
	agent_late_pass(10 * MS, true);
	assert_int_equal(late_reason(session), WIRE_UNRECORDED_LATE_DAEMON);
	late_session();
	agent_late_pass(11 * MS, false);
	assert_int_equal(late_reason(session), WIRE_UNRECORDED_LATE_DAEMON);
	now = 11 * MS;
	agent_late_no_daemon();
	assert_int_equal(late_reason(session), 0);
}

/*
 * An incomplete exchange: sessions that it left out, or that were stalled, still need the events.
 */
static void test_late_partial(void **state)
{
	struct agent_session *session = late_session();

	(void)state;
	agent_late_pass(7 * MS, true);
	now = 7 * MS;
	agent_late_applied(false);
	assert_int_equal(late_reason(session), 0);
	agent_stalled_note("/late");
	assert_int_equal(late_reason(session), WIRE_UNRECORDED_LATE_DAEMON);
	memset(&waits, 0, sizeof(waits));
	now = 30 * MS;
	agent_late_pass(12 * MS, true);
	assert_int_equal(late_reason(session), WIRE_UNRECORDED_LATE_DAEMON);
	assert_int_equal(missed_ms, 18);
	now = 12 * MS;
	agent_late_applied(false);
	assert_int_equal(late_reason(session), 0);
}

/* ---- walks of objects ---- */

static int count_objects(struct dl_phdr_info *object, size_t size, void *user)
{
	(void)object;
	assert_true(size > 0);
	assert_true(objects_owner != 0);
	++*(int *)user;
	return 0;
}

static int stop_at_once(struct dl_phdr_info *object, size_t size, void *user)
{
	(void)object;
	(void)size;
	/* A walk inside a walk does not end the outer one. */
	if (!*(int *)user)
		++*(int *)user, assert_int_equal(agent_objects_each(stop_at_once, user), 42);
	assert_true(objects_owner == (uintptr_t)__builtin_thread_pointer());
	return 42;
}

static void test_objects(void **state)
{
	int count = 0, inside = 0;

	(void)state;
	assert_int_equal(agent_objects_each(count_objects, &count), 0);
	assert_true(count > 2);
	assert_true(objects_owner == 0);
	assert_int_equal(agent_objects_each(stop_at_once, &inside), 42);
	assert_true(objects_owner == 0);
	agent_objects_fork();
	assert_true(objects_owner == (uintptr_t)__builtin_thread_pointer() && objects_forking);
	agent_objects_fork_done();
	assert_true(objects_owner == 0 && !objects_forking);
	/* Another thread is the owner: the wait ends after 100 ms, and the owner keeps the walk. */
	objects_owner = 1;
	now = 0;
	clock_step = 30 * MS;
	agent_objects_fork();
	assert_true(objects_owner == 1 && !objects_forking);
	assert_true(now == 150 * MS);
	clock_step = 25 * MS;
	now = 0;
	agent_objects_fork();
	assert_true(now == 125 * MS);
	agent_objects_fork_done();
	assert_true(objects_owner == 1);
	objects_forking = true;
	agent_objects_fork_done();
	assert_true(objects_owner == 1 && objects_forking);
	/* In a sandbox the fork does not wait. */
	may_ask = false;
	now = 0;
	objects_forking = false;
	agent_objects_fork();
	assert_true(now == 0 && objects_owner == 1 && !objects_forking);
	may_ask = true;
	objects_forking = true;
	agent_objects_forked();
	assert_true(objects_owner == 0 && !objects_forking);
	/* A thread that forks inside its own walk keeps the walk. */
	objects_owner = (uintptr_t)__builtin_thread_pointer();
	agent_objects_fork();
	assert_false(objects_forking);
	agent_objects_fork_done();
	assert_true(objects_owner == (uintptr_t)__builtin_thread_pointer());
	objects_owner = 0;
	clock_step = 0;
}

/* ---- memory ---- */

static void test_chunks(void **state)
{
	struct agent_memory memory = {0}, other = {0};
	const size_t header = sizeof(struct agent_memory_chunk), chunk = (size_t)64 << 10;
	char *first;

	(void)state;
	agent_memory_trim();
	nr_mapped = nr_unmapped = 0;
	first = agent_memory_take(&memory, chunk - header);
	assert_non_null(first);
	assert_int_equal(size_mapped, chunk);
	assert_int_equal(((uintptr_t)first - header) % 4096, 0);
	assert_int_equal(nr_mapped, 1);
	assert_non_null(agent_memory_take(&memory, 1));
	assert_int_equal(nr_mapped, 2);
	assert_non_null(agent_memory_take(&memory, chunk - header - 16));
	assert_int_equal(nr_mapped, 2);
	assert_non_null(agent_memory_take(&memory, chunk - header + 1));
	assert_int_equal(nr_mapped, 3);
	assert_int_equal(size_mapped, chunk + 16);
	mmap_fails = 1;
	assert_null(agent_memory_take(&memory, 16));
	assert_int_equal(memory.used, 2 * (chunk - header) + chunk - header + 16);
	agent_memory_free(&memory);
	/* One chunk of the usual size is kept. */
#ifndef RAW_IS_WATCHED
	assert_int_equal(nr_unmapped, 2);
	assert_non_null(agent_memory_take(&memory, 16));
	assert_int_equal(nr_mapped, 3);
	assert_non_null(agent_memory_take(&other, 16));
	assert_int_equal(nr_mapped, 4);
	agent_memory_free(&memory);
	agent_memory_free(&other);
	assert_int_equal(nr_unmapped, 3);
	agent_memory_trim();
	assert_int_equal(nr_unmapped, 4);
	assert_int_equal(size_unmapped, chunk);
#else
	(void)other;
#endif
	agent_memory_trim();
	assert_int_equal(nr_mapped, nr_unmapped);
}

static void test_kept_pages(void **state)
{
	char *pages[3];

	(void)state;
	nr_mapped = nr_unmapped = 0;
	for (int i = 0; i < 3; i++)
		pages[i] = agent_pages_take(i == 0 ? 4 * 4096 : i == 1 ? 4 * 4096 + 1 : 1);
	assert_int_equal(size_mapped, 4096);
	assert_int_equal(nr_mapped, 3);
	for (int i = 0; i < 3; i++)
		agent_pages_give(pages[i], i == 0 ? 4 * 4096 : i == 1 ? 4 * 4096 + 1 : 1);
#ifndef RAW_IS_WATCHED
	/* Five pages are too many to keep. */
	assert_int_equal(nr_unmapped, 1);
	assert_int_equal(size_unmapped, 5 * 4096);
#endif
	agent_memory_trim();
	assert_int_equal(nr_unmapped, 3);
	mmap_fails = 1;
	assert_null(agent_pages_take(1));
}

/*
 * Only one recorder compares hashes with those of other processes, so this test reports any change
 * of them.
 */
static void test_hash_values(void **state)
{
	struct agent_hash one = agent_hash("12345678abc", 11), same = agent_hash("12345678abc", 11),
			  other = agent_hash("12345678abd", 11),
			  shorter = agent_hash("12345678ab", 10), none = agent_hash("", 0),
			  zeros = agent_hash("\0\0\0\0\0\0\0", 7);

	(void)state;
	assert_memory_equal(&one, &same, sizeof(one));
	assert_true(one.low != other.low && one.high != other.high && one.low != shorter.low &&
			one.high != shorter.high);
	assert_true(none.low != zeros.low && none.high != zeros.high && none.low != none.high);
	assert_true(agent_hash("\0\0\0\0\0\0\0", 6).low != zeros.low);
}

static void test_spare_memory(void **state)
{
	struct agent_recycled_ids spares = {0};
	struct agent_hash hash = {.low = 5, .high = 6};
	uint32_t id = 99;

	(void)state;
	nr_mapped = nr_unmapped = 0;
	mmap_fails = 1;
	agent_recycled_ids_put(&spares, hash, 7);
	assert_true(!spares.table && !spares.capacity && !spares.nr_used);
	assert_false(agent_recycled_ids_take(&spares, hash, &id));
	for (uint32_t i = 0; i < 512; i++) {
		hash.low = i;
		agent_recycled_ids_put(&spares, hash, i);
	}
	assert_int_equal(nr_mapped, 1);
	assert_int_equal(size_mapped, 1024 * sizeof(struct agent_recycled_id));
	/* Without more memory the next one is not kept, but nothing is lost. */
	mmap_fails = 1;
	hash.low = 512;
	agent_recycled_ids_put(&spares, hash, 512);
	assert_int_equal(spares.nr_used, 512);
	assert_false(agent_recycled_ids_take(&spares, hash, &id));
	assert_int_equal(id, 99);
	agent_recycled_ids_put(&spares, hash, 512);
	assert_int_equal(nr_mapped, 2);
	assert_int_equal(nr_unmapped, 1);
	assert_int_equal(size_unmapped, 1024 * sizeof(struct agent_recycled_id));
	/* A hash with another half is another event. */
	hash.high = 7;
	assert_false(agent_recycled_ids_take(&spares, hash, &id));
	hash.high = 6;
	assert_true(agent_recycled_ids_take(&spares, hash, &id));
	assert_int_equal(id, 512);
	agent_recycled_ids_forget(&spares);
	assert_int_equal(nr_unmapped, 2);
	assert_int_equal(size_unmapped, 2048 * sizeof(struct agent_recycled_id));
	agent_recycled_ids_forget(&spares);
	assert_int_equal(nr_unmapped, 2);
}

/* ---- records for core dumps ---- */

static void test_recovery_memory(void **state)
{
	static const char bytes[70000];
	static struct context_spec contexts[2];
	static struct agent_channel channel;
	static struct agent_session session;
	const struct recovery_channel *described;

	(void)state;
	strcpy(contexts[0].name, "first");
	strcpy(contexts[1].name, "second.name");
	channel.contexts = contexts;
	channel.nr_contexts = 2;
	memset(channel.name, 'c', sizeof(channel.name) - 1);
	session.channels = &channel;
	session.nr_channels = 1;
	nr_mapped = nr_unmapped = 0;
	mmap_fails = 1;
	agent_recovery_begin(&session);
	assert_null(session.recovery);
	agent_recovery_add(&session, bytes, 10);
	agent_recovery_void(&session);
	agent_recovery_end(&session);
	assert_int_equal(nr_mapped, 0);
	/* Without memory for names it has none. */
	mmap_fails = 2;
	agent_recovery_begin(&session);
	assert_non_null(session.recovery);
	assert_string_equal(session.recovery->exe, "");
	assert_int_equal(session.recovery->valid, 1);
	assert_int_equal(nr_mapped, 1);
	agent_recovery_begin(&session);
	assert_int_equal(session.recovery->exe[0], '/');
	assert_true(strlen(session.recovery->procname) > 0);
	assert_int_equal(nr_mapped, 2);
	assert_int_equal(nr_unmapped, 1);
	assert_int_equal(size_unmapped, 2 * AGENT_NAME_SIZE);
	assert_int_equal(session.recovery->size,
			sizeof(struct recovery_head) + sizeof(struct recovery_channel) + 18);
	described = (const void *)(uintptr_t)session.recovery->channels;
	assert_int_equal(described->nr_contexts, 2);
	assert_int_equal(described->contexts_size, 18);
	assert_memory_equal((const char *)(uintptr_t)described->contexts, "first\0second.name", 18);
	assert_true(described->contexts == (uintptr_t)(described + 1));
	/* A chunk that cannot be allocated is left out. */
	mmap_fails = 1;
	agent_recovery_add(&session, bytes, 10);
	assert_null(session.last_chunk);
	assert_int_equal(session.recovery->first_chunk, 0);
	agent_recovery_add(&session, bytes, 65536 - sizeof(struct recovery_chunk));
	assert_int_equal(size_mapped, 65536);
	agent_recovery_add(&session, bytes, 65536 - sizeof(struct recovery_chunk) + 1);
	assert_int_equal(size_mapped, 65537);
	assert_int_equal(nr_mapped, 4);
	assert_int_equal(nr_unmapped, 1);
	agent_recovery_end(&session);
	assert_int_equal(nr_unmapped, 4);
}

static void test_copied_strings(void **state)
{
	char text[5];

	(void)state;
	memset(text, 'x', 5);
	copy_string(text, 4, "abc");
	assert_memory_equal(text, "abc\0x", 5);
	copy_string(text, 4, "defg");
	assert_memory_equal(text, "def\0x", 5);
	copy_string(text, 4, "");
	assert_int_equal(text[0], 0);
}

/* ---- vfork() ---- */

static unsigned int nr_begun;

static void count_begins(void)
{
	nr_begun++;
}

static void test_vfork(void **state)
{
	(void)state;
	context_vfork_begins = NULL;
	agent_vfork_begins();
	assert_int_equal(nr_begun, 0);
	context_vfork_begins = count_begins;
	agent_vfork_begins();
	assert_int_equal(nr_begun, 1);
	context_vfork_begins = NULL;
	errno = 0;
	assert_int_equal(agent_vfork_failed(EAGAIN), -1);
	assert_int_equal(errno, EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_rendezvous_path),
			cmocka_unit_test(test_rendezvous_connect),
			cmocka_unit_test(test_ask),
			cmocka_unit_test(test_ask_fails),
			cmocka_unit_test(test_ask_by_rendezvous),
			cmocka_unit_test(test_deadlines),
			cmocka_unit_test(test_stalled),
			cmocka_unit_test(test_stalled_check),
			cmocka_unit_test(test_late),
			cmocka_unit_test(test_late_without_daemon),
			cmocka_unit_test(test_late_partial),
			cmocka_unit_test(test_objects),
			cmocka_unit_test(test_chunks),
			cmocka_unit_test(test_kept_pages),
			cmocka_unit_test(test_hash_values),
			cmocka_unit_test(test_spare_memory),
			cmocka_unit_test(test_recovery_memory),
			cmocka_unit_test(test_copied_strings),
			cmocka_unit_test(test_vfork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
