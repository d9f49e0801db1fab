/* SPDX-License-Identifier: MIT */
/*
 * Exchanges with a recorder: which messages are sent and received, which descriptors are closed,
 * and with which error an exchange ends. The test includes the file, acts as the recorder, and
 * decides which system call fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

#include <cmocka.h>

#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/boot.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/describe.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/recycled-ids.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"
#include "protocol/protocol.h"

/* ---- the recorder ---- */

#define MESSAGES 16

static struct {
	/* The program receives these in turn: a message, the end (0), or an error. */
	char message[MESSAGES][512];
	ssize_t size[MESSAGES];
	unsigned int nr_fds[MESSAGES], nr, at;
	/* The messages that the program sends. */
	char sent[4][WIRE_MESSAGE_MAX];
	size_t sent_size[4];
	int send_result[4], socket_of_send[4];
	unsigned int nr_sent;
	int connected, nr_connected;
	int closed[64], nr_closed, next_fd;
} talk;

static void talk_begin(void)
{
	memset(&talk, 0, sizeof(talk));
	talk.connected = 50;
	talk.next_fd = 100;
}

static void hears(ssize_t size, unsigned int nr_fds)
{
	assert_true(talk.nr < MESSAGES && size <= 512);
	talk.size[talk.nr] = size;
	talk.nr_fds[talk.nr++] = nr_fds;
}

static ssize_t fake_receive(
		int socket, void *message, size_t size, int *fds, size_t *nr_fds, uint64_t deadline)
{
	unsigned int i = talk.at++;

	assert_int_equal(socket, talk.connected);
	assert_int_equal(deadline, 4711);
	assert_true(i < talk.nr);
	if (talk.size[i] <= 0)
		return talk.size[i];
	assert_true((size_t)talk.size[i] <= size);
	memcpy(message, talk.message[i], (size_t)talk.size[i]);
	if (!fds) {
		assert_int_equal(talk.nr_fds[i], 0);
		return talk.size[i];
	}
	assert_int_equal(*nr_fds, WIRE_FDS_MAX);
	*nr_fds = talk.nr_fds[i];
	for (unsigned int k = 0; k < talk.nr_fds[i]; k++)
		fds[k] = talk.next_fd++;
	return talk.size[i];
}

static int fake_send(int socket, const void *message, size_t size, const int *fds, size_t nr_fds,
		uint64_t deadline)
{
	unsigned int i = talk.nr_sent++;

	assert_true(i < 4 && !fds && !nr_fds && size <= WIRE_MESSAGE_MAX);
	assert_int_equal(deadline, 4711);
	memcpy(talk.sent[i], message, size);
	talk.sent_size[i] = size;
	talk.socket_of_send[i] = socket;
	return talk.send_result[i];
}

static void fake_close(int fd)
{
	if (fd < 0)
		return;
	assert_true(talk.nr_closed < 64);
	talk.closed[talk.nr_closed++] = fd;
}

static int count_closed(int fd)
{
	int nr = 0;

	for (int i = 0; i < talk.nr_closed; i++)
		nr += talk.closed[i] == fd;
	return nr;
}

static int fake_connect(const struct agent_session *session, uint64_t deadline)
{
	assert_non_null(session);
	assert_int_equal(deadline, 4711);
	talk.nr_connected++;
	return talk.connected;
}

static unsigned int asked_ms;

static uint64_t fake_deadline(unsigned int timeout_ms)
{
	asked_ms = timeout_ms;
	return 4711;
}

/* ---- system calls ---- */

static struct {
	char comm[32], line[32], exe[4200], written[600];
	size_t line_size, exe_size, written_size;
	int open_result, limit, nr_copies, copies_fail_at, dumpable, seccomp, ids_result,
			cap_result;
	uint32_t ids[6], permitted[2];
	struct ucred peer;
	int peer_result, tid;
	unsigned long started;
	unsigned int nr_advised;
} kernel;

static long fake_ids(const long *names, int first)
{
	for (int i = 0; i < 3; i++)
		*(uint32_t *)names[i] = kernel.ids[first + i];
	return kernel.ids_result;
}

static long fake_call(long number, const long *names)
{
	switch (number) {
	case SYS_getpid: return 4000;
	case SYS_getppid: return 3999;
	case SYS_gettid: return kernel.tid;
	case SYS_write:
		assert_int_equal(names[0], 2);
		kernel.written_size = (size_t)names[2];
		assert_true(kernel.written_size <= sizeof(kernel.written));
		memcpy(kernel.written, (const void *)names[1], kernel.written_size);
		return names[2];
	case SYS_openat:
		assert_string_equal((const char *)names[1], "/proc/self/comm");
		return kernel.open_result;
	case SYS_read:
		assert_true(names[0] == 7 && names[2] == 16);
		memcpy((void *)names[1], kernel.line, kernel.line_size);
		return kernel.line_size ? (long)kernel.line_size : -EIO;
	case SYS_readlinkat:
		assert_string_equal((const char *)names[1], "/proc/self/exe");
		assert_int_equal(names[3], AGENT_NAME_SIZE - 1);
		memcpy((void *)names[2], kernel.exe, kernel.exe_size);
		return kernel.exe_size ? (long)kernel.exe_size : -ENOENT;
	case SYS_getresuid: return fake_ids(names, 0);
	case SYS_getresgid: return fake_ids(names, 3);
	case SYS_capget:
		for (int i = 0; i < 2; i++)
			((struct __user_cap_data_struct *)names[1])[i].permitted =
					kernel.permitted[i];
		return kernel.cap_result;
	case SYS_getsockopt:
		assert_true(names[1] == SOL_SOCKET && names[2] == SO_PEERCRED);
		memcpy((void *)names[3], &kernel.peer, sizeof(kernel.peer));
		return kernel.peer_result;
	case SYS_prlimit64:
		((struct rlimit *)names[3])->rlim_cur = (rlim_t)kernel.limit;
		return kernel.limit < 0 ? -EPERM : 0;
	case SYS_fcntl:
		assert_true(names[1] == F_DUPFD_CLOEXEC && !names[2]);
		return kernel.nr_copies == kernel.copies_fail_at ? -EMFILE
								 : 200 + kernel.nr_copies++;
	case SYS_madvise:
		assert_true(names[1] == WIRE_MESSAGE_MAX && names[2] == MADV_DONTNEED);
		kernel.nr_advised++;
		return 0;
	default: abort();
	}
}

static int fake_prctl(int what, ...)
{
	va_list list;

	va_start(list, what);
	if (what == PR_GET_NAME)
		memcpy(va_arg(list, char *), kernel.comm, 16);
	va_end(list);
	return what == PR_GET_SECCOMP             ? kernel.seccomp
			: what == PR_GET_DUMPABLE ? kernel.dumpable
						  : 0;
}

static unsigned long fake_auxval(unsigned long type)
{
	assert_int_equal(type, AT_EXECFN);
	return kernel.started;
}

static int nr_mapped, nr_unmapped;
static bool no_memory;

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	if (no_memory)
		return NULL;
	nr_mapped++;
	return raw_mmap(at, size, protection, flags, fd);
}

static int fake_munmap(void *at, size_t size)
{
	nr_unmapped++;
	return raw_munmap(at, size);
}

/* ---- the agent ---- */

static char noted[256];
static bool may_ask = true, by_rendezvous, has_table, no_generation;
static struct agent_generation generation_now;
static int nr_generations, nr_freed, nr_applied, nr_stalled, channel_result, rule_result,
		probes_result;
static uint64_t probes_seen[3];
static int probes_fd;
static const char *stalled_path;

static void note(const char *text)
{
	strcat(noted, text);
}

static struct agent_generation *fake_generation(void)
{
	if (no_generation)
		return NULL;
	nr_generations++;
	memset(&generation_now, 0, sizeof(generation_now));
	return &generation_now;
}

static void fake_free(struct agent_generation *generation)
{
	assert_ptr_equal(generation, &generation_now);
	nr_freed++;
}

static void fake_apply(struct agent_session *session, struct agent_generation *generation)
{
	assert_ptr_equal(session->generation, generation);
	nr_applied++;
}

static int fake_channel(struct agent_session *session, const struct wire_channel *channel)
{
	strcpy(session->channels[channel->index].name, channel->name);
	session->channels[channel->index].index = channel->index;
	note("c");
	return channel_result;
}

static int fake_rule(struct agent_generation *generation, const struct wire_rule *rule)
{
	assert_ptr_equal(generation, &generation_now);
	noted[strlen(noted)] = (char)('0' + rule->channel);
	return rule_result;
}

static int fake_probes(uint64_t number, uint64_t size, int fd)
{
	note("p");
	probes_seen[0] = number;
	probes_seen[1] = size;
	probes_fd = fd;
	return probes_result;
}

static void fake_stalled(const char *path)
{
	nr_stalled++;
	stalled_path = path;
}

static int describe_results[16], nr_described;

static int fake_describe(struct agent_session *session, const void *stream, size_t size)
{
	(void)session;
	(void)stream;
	(void)size;
	assert_true(nr_described < 16);
	return describe_results[nr_described++];
}

static bool fake_gone(int error)
{
	return error == -ECONNREFUSED;
}

#undef raw_call
#define raw_call(...) CALL_OF_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_OF_SIX(number, a, b, c, d, e, f, ...)                                            \
	fake_call(number,                                                                     \
			(const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
					(long)(f)})
#define raw_close fake_close
#define raw_mmap fake_mmap
#define raw_munmap fake_munmap
#define prctl fake_prctl
#define getauxval fake_auxval
#define wire_close fake_close
#define wire_send fake_send
#define wire_receive fake_receive
#define agent_deadline fake_deadline
#define agent_session_connect fake_connect
#define agent_session_by_rendezvous(session) (by_rendezvous)
#define agent_control_has_table() (has_table)
#define agent_generation_begin fake_generation
#define agent_generation_free fake_free
#define agent_generation_apply fake_apply
#define agent_take_channel fake_channel
#define agent_take_rule fake_rule
#define agent_probes_begin() note("b")
#define agent_probes_received() note("t")
#define agent_probes_receive fake_probes
#define agent_stalled_note fake_stalled
#define agent_boot_describe fake_describe
#define agent_boot_has_gone fake_gone
#define context_may_ask() (may_ask)
#include "tracers/agent/core/exchange.c"
#include "tracers/agent/core/describe.c"
#include "tracers/agent/core/debug.c"
#include "tracers/agent/core/own-process.c"

static struct agent_session session;

static void begin(void)
{
	talk_begin();
	agent_memory_free(&session.memory);
	memset(&session, 0, sizeof(session));
	session.socket = -1;
	session.token = 88;
	strcpy(session.path, "/run/session");
	memset(&kernel, 0, sizeof(kernel));
	kernel.tid = 4000;
	kernel.open_result = 7;
	kernel.limit = 256;
	kernel.dumpable = 1;
	kernel.copies_fail_at = -1;
	strcpy(kernel.comm, "name");
	memset(noted, 0, sizeof(noted));
	nr_mapped = nr_unmapped = nr_generations = nr_freed = nr_applied = nr_stalled = 0;
	channel_result = rule_result = probes_result = nr_described = 0;
	by_rendezvous = has_table = no_generation = no_memory = false;
	probes_fd = -7;
}

/* ---- tokens ---- */

static void test_print(void **state)
{
	char text[600];

	(void)state;
	begin();
	agent_print("%s %d", "some", 5);
	assert_int_equal(kernel.written_size, 25);
	assert_memory_equal(kernel.written, "side-agent[4000]: some 5\n", 25);
	/* The longest line, and one that is truncated. */
	memset(text, 'x', sizeof(text));
	text[510 - 18] = '\0';
	agent_print("%s", text);
	assert_int_equal(kernel.written_size, 511);
	assert_true(kernel.written[509] == 'x' && kernel.written[510] == '\n');
	text[510 - 18] = 'x';
	text[511 - 18] = '\0';
	agent_print("%s", text);
	assert_int_equal(kernel.written_size, 511);
	assert_true(kernel.written[509] == 'x' && kernel.written[510] == '\n');
	text[509 - 18] = '\0';
	agent_print("%s", text);
	assert_int_equal(kernel.written_size, 510);
	assert_true(kernel.written[508] == 'x' && kernel.written[509] == '\n');
	agent.wait.timeout_factor = 0;
	assert_int_equal(agent_scale_timeout(70), 70);
	agent.wait.timeout_factor = 3;
	assert_int_equal(agent_scale_timeout(70), 210);
	agent.wait.timeout_factor = 0;
	/* In a sandbox. */
	agent.own_process.seccomp = 0;
	assert_false(agent_is_sandboxed());
	kernel.seccomp = 2;
	assert_true(agent_is_sandboxed());
	agent.own_process.seccomp = 2;
	assert_false(agent_is_sandboxed());
	agent.own_process.seccomp = 0;
	kernel.seccomp = 0;
	may_ask = false;
	assert_true(agent_is_sandboxed());
	may_ask = true;
	atomic_store(&agent.own_process.is_stopped, true);
	assert_true(agent_is_sandboxed());
	atomic_store(&agent.own_process.is_stopped, false);
}

static void is_named(const char *comm, const char *exe)
{
	static char names[2][AGENT_NAME_SIZE];

	memset(names, 'z', sizeof(names));
	agent_process_names(names[0], names[1]);
	assert_string_equal(names[0], comm);
	assert_string_equal(names[1], exe);
}

static void set_exe(const char *path)
{
	kernel.exe_size = strlen(path);
	memcpy(kernel.exe, path, kernel.exe_size);
}

static void test_names(void **state)
{
	char long_path[300] = "/x/123456789012345";

	(void)state;
	begin();
	set_exe("/bin/name");
	is_named("name", "/bin/name");
	kernel.exe_size = 0;
	is_named("name", "");
	*kernel.comm = '\0';
	is_named("unknown", "");
	/* The kernel has truncated a name of 15 bytes. */
	strcpy(kernel.comm, "123456789012345");
	set_exe("/x/1234567890123456");
	is_named("1234567890123456", "/x/1234567890123456");
	set_exe("1234567890123456");
	is_named("1234567890123456", "1234567890123456");
	set_exe("/x/12345678901234y6");
	is_named("123456789012345", "/x/12345678901234y6");
	strcpy(kernel.comm, "12345678901234");
	set_exe("/x/1234567890123456");
	is_named("12345678901234", "/x/1234567890123456");
	strcpy(kernel.comm, "123456789012345");
	memset(long_path + 18, 'w', sizeof(long_path) - 18);
	long_path[3 + 255] = '\0';
	set_exe(long_path);
	is_named(long_path + 3, long_path);
	long_path[3 + 255] = 'w';
	long_path[3 + 256] = '\0';
	set_exe(long_path);
	is_named("123456789012345", long_path);
	/* Another thread reads the name of the main thread. */
	kernel.tid = 4001;
	set_exe("/bin/name");
	memcpy(kernel.line, "main\n", 5);
	kernel.line_size = 5;
	is_named("main", "/bin/name");
	assert_int_equal(count_closed(7), 1);
	kernel.line_size = 0;
	kernel.started = (unsigned long)(uintptr_t) "/a/started";
	is_named("started", "/bin/name");
	assert_int_equal(count_closed(7), 2);
	kernel.open_result = -ENOENT;
	kernel.started = (unsigned long)(uintptr_t) "12345678901234567";
	is_named("123456789012345", "/bin/name");
	kernel.started = 0;
	is_named("unknown", "/bin/name");
	assert_int_equal(talk.nr_closed, 2);
}

#define OF_PROBES (WIRE_FEATURE_PROBES | WIRE_FEATURE_LOADED)

static void test_hello(void **state)
{
	static char message[WIRE_MESSAGE_MAX], names[2 * AGENT_NAME_SIZE];
	struct wire_hello hello;
	ssize_t size;

	(void)state;
	begin();
	set_exe("/bin/name");
	agent.control.mode = WIRE_CONTROL_SIGNAL;
	agent.control.signal = 10;
	agent.control.loader = WIRE_LOADER_PRELOAD;
	size = agent_build_hello(77, message, names, 0, false);
	assert_int_equal(wire_decode_hello(message, (size_t)size, &hello), 0);
	assert_true(hello.pid == 4000 && hello.parent == 3999 && hello.token == 77 &&
			!hello.parent_token);
	assert_true(hello.word_size == sizeof(void *) && hello.control == WIRE_CONTROL_SIGNAL &&
			hello.control_signal == 10);
	assert_string_equal(hello.procname, "name");
	assert_string_equal(hello.exe, "/bin/name");
	assert_int_equal(hello.features & ~(uint32_t)OF_PROBES,
			WIRE_FEATURE_LEASE | WIRE_LOADER_PRELOAD << WIRE_LOADER_SHIFT);
	assert_int_equal(hello.features & OF_PROBES, agent_has_probes ? OF_PROBES : 0);
	size = agent_build_hello(77, message, names, 66, true);
	assert_int_equal(wire_decode_hello(message, (size_t)size, &hello), 0);
	assert_int_equal(hello.parent_token, 66);
	assert_int_equal(hello.features & ~(uint32_t)OF_PROBES,
			WIRE_FEATURE_LEASE | WIRE_FEATURE_FORKED | WIRE_FEATURE_RETRY |
					WIRE_LOADER_PRELOAD << WIRE_LOADER_SHIFT);
	agent.control.loader = 0;
	agent.control.mode = agent.control.signal = 0;
}

static void test_descriptors(void **state)
{
	(void)state;
	begin();
	assert_true(agent_has_descriptors(5, 3) && !kernel.nr_copies);
	kernel.limit = -1;
	assert_true(agent_has_descriptors(5, 3) && !kernel.nr_copies);
	/* Below 256: one for the doorbell and one for each channel. */
	kernel.limit = 255;
	assert_true(agent_has_descriptors(5, 3));
	assert_int_equal(kernel.nr_copies, 4);
	assert_int_equal(talk.nr_closed, 4);
	for (int i = 200; i < 204; i++)
		assert_int_equal(count_closed(i), 1);
	begin();
	kernel.limit = 255;
	assert_true(agent_has_descriptors(5, 0));
	assert_int_equal(kernel.nr_copies, 2);
	kernel.nr_copies = 0;
	kernel.copies_fail_at = 3;
	assert_false(agent_has_descriptors(5, 3));
	assert_int_equal(talk.nr_closed, 2 + 3);
	kernel.nr_copies = 0;
	kernel.copies_fail_at = 0;
	assert_false(agent_has_descriptors(5, 1));
	assert_int_equal(talk.nr_closed, 2 + 3);
}

/* ---- HELLO ---- */

static struct wire_config config_of(uint32_t nr_channels, uint32_t nr_tables)
{
	return (struct wire_config){.accepted = true,
			.instance = 3,
			.clock = 1,
			.max_events = 100,
			.max_description = 1000,
			.max_payload = 500,
			.nr_channels = nr_channels,
			.nr_tables = nr_tables,
			.frequency = 1000000000,
			.generation = 9,
			.statedump = 8,
			.reason = ""};
}

static void hears_config(struct wire_config config, unsigned int nr_fds)
{
	hears(wire_encode_config(talk.message[talk.nr], 512, &config), nr_fds);
}

static void hears_channel(uint32_t index, uint32_t nr_rules, unsigned int nr_fds)
{
	struct wire_channel channel = {.index = index,
			.ring_memory = nr_fds ? 4096 * (1 + index) : 0,
			.nr_rules = nr_rules,
			.name = index ? "second" : "first",
			.contexts = ""};

	hears(wire_encode_channel(talk.message[talk.nr], 512, &channel), nr_fds);
}

static void hears_rule(uint32_t channel, const char *pattern)
{
	struct wire_rule rule = {
			.channel = channel, .nr_patterns = 1, .patterns = pattern, .contexts = ""};

	hears(wire_encode_rule(talk.message[talk.nr], 512, &rule), 0);
}

static void hears_probes(unsigned int nr_fds)
{
	const struct wire_probes probes = {.table = 5, .size = 4096};

	hears(wire_encode_probes(talk.message[talk.nr], 512, &probes), nr_fds);
}

/* Runs the prepared exchange. If it fails, all received descriptors are closed. */
static int hello(int *fds)
{
	int ret = agent_hello(&session, 0, fds);

	assert_int_equal(nr_mapped, nr_unmapped);
	assert_int_equal(asked_ms, 1000);
	if (!ret)
		return 0;
	assert_int_equal(session.socket, -1);
	for (int i = 0; i < talk.next_fd - 100; i++)
		assert_true(count_closed(100 + i) == 1 || 100 + i == probes_fd);
	assert_int_equal(count_closed(50), talk.connected == 50 && talk.nr_connected ? 1 : 0);
	return ret;
}

static void test_begin(void **state)
{
	int fds[WIRE_CHANNELS_MAX];
	struct agent_hash hashes[2];
	struct wire_hello reported;

	(void)state;
	begin();
	has_table = true;
	hears_config(config_of(2, 1), 0);
	hears_probes(1);
	hears_channel(0, 2, 1);
	hears_rule(0, "a:*");
	hears_rule(0, "b:*");
	hears_channel(1, 1, 1);
	hears_rule(1, "c:*");
	assert_int_equal(hello(fds), 0);
	assert_string_equal(noted, "bptc00c1");
	assert_int_equal(wire_decode_hello(talk.sent[0], talk.sent_size[0], &reported), 0);
	assert_true(reported.token == 88 && session.socket == 50 && session.socket_is_private);
	assert_true(fds[0] == 101 && fds[1] == 102 && fds[2] == -1 && fds[31] == -1);
	assert_true(session.channels[0].ring_memory == 4096 &&
			session.channels[1].ring_memory == 8192 && session.nr_channels == 2);
	assert_true(session.config.generation == 9 && session.config.statedump == 8 &&
			session.config.instance == 3 && !session.config.reason);
	assert_true(probes_seen[0] == 5 && probes_seen[1] == 4096 && probes_fd == 100);
	assert_int_equal(talk.nr_closed, 0);
	assert_true(nr_generations == 1 && nr_applied == 1);
	/* The hash of the rules, in their order. */
	hashes[0] = (struct agent_hash){0, 0};
	for (unsigned int i = 3; i < 7; i++) {
		if (i == 5)
			continue;
		hashes[1] = agent_hash(talk.message[i], (size_t)talk.size[i]);
		hashes[0] = agent_hash(hashes, sizeof(hashes));
	}
	assert_true(hashes[0].low == generation_now.hash.low &&
			hashes[0].high == generation_now.hash.high);
}

/* In a forked child the channels and rules stay, with the state of each. */
static void test_begin_in_child(void **state)
{
	int fds[WIRE_CHANNELS_MAX];

	(void)state;
	test_begin(state);
	talk_begin();
	memset(noted, 0, sizeof(noted));
	session.socket = 50;
	session.config.generation = 5;
	session.config.statedump = 4;
	nr_applied = 0;
	hears_config(config_of(2, 0), 0);
	hears_channel(0, 1, 1);
	hears_rule(0, "a:*");
	hears_channel(1, 0, 1);
	assert_int_equal(hello(fds), 0);
	assert_string_equal(noted, "bt");
	assert_true(!talk.nr_sent && !talk.nr_connected && !nr_applied && nr_generations == 1);
	assert_true(session.config.generation == 5 && session.config.statedump == 4);
	/* Another number of channels, another name, another class of session. */
	talk_begin();
	session.socket = -1;
	hears_config(config_of(1, 0), 0);
	assert_int_equal(hello(fds), -EPROTO);
	talk_begin();
	strcpy(session.channels[0].name, "other");
	hears_config(config_of(2, 0), 0);
	hears_channel(0, 1, 1);
	assert_int_equal(hello(fds), -EPROTO);
	talk_begin();
	session.list_only = true;
	hears_config(config_of(2, 0), 0);
	assert_int_equal(hello(fds), -EPROTO);
}

static int fails_with(void)
{
	int fds[WIRE_CHANNELS_MAX];

	return hello(fds);
}

static void test_refusals(void **state)
{
	struct wire_config config;

	(void)state;
	begin();
	no_memory = true;
	assert_int_equal(agent_hello(&session, 0, (int[WIRE_CHANNELS_MAX]){0}), -ENOMEM);
	assert_true(!nr_unmapped && !talk.nr_connected);
	begin();
	talk.connected = -ENOENT;
	assert_int_equal(fails_with(), -ENOENT);
	assert_int_equal(talk.nr_sent, 0);
	begin();
	kernel.limit = 255;
	kernel.copies_fail_at = 1;
	assert_int_equal(fails_with(), -EMFILE);
	assert_int_equal(talk.nr_sent, 0);
	begin();
	talk.send_result[0] = -EPIPE;
	assert_int_equal(fails_with(), -EPIPE);
	begin();
	hears(0, 0);
	assert_int_equal(fails_with(), -ECONNRESET);
	assert_int_equal(nr_stalled, 0);
	begin();
	hears(-ETIMEDOUT, 0);
	assert_int_equal(fails_with(), -ETIMEDOUT);
	assert_int_equal(nr_stalled, 1);
	assert_ptr_equal(stalled_path, session.path);
	begin();
	session.is_explicit = true;
	hears(-ETIMEDOUT, 0);
	assert_int_equal(fails_with(), -ETIMEDOUT);
	assert_int_equal(nr_stalled, 0);
	begin();
	config = config_of(0, 0);
	config.accepted = false;
	config.reason = "no";
	hears_config(config, 0);
	assert_int_equal(fails_with(), -EACCES);
	begin();
	config.flags = WIRE_CONFIG_RETRY;
	hears_config(config, 0);
	assert_int_equal(fails_with(), -EUSERS);
	begin();
	no_generation = true;
	hears_config(config_of(1, 0), 0);
	assert_int_equal(fails_with(), -ENOMEM);
	begin();
	hears_config(config_of(0, 0), 0);
	assert_true(fails_with() == -EPROTO);
}

static void test_refused_channels(void **state)
{
	(void)state;
	/*
	 * Without a descriptor, with two, in another order, and with the rule of another channel.
	 */
	for (unsigned int nr = 0; nr < 3; nr++) {
		begin();
		hears_config(config_of(1, 0), 0);
		hears_channel(0, 0, 1);
		talk.nr_fds[1] = nr;
		assert_int_equal(fails_with(), nr == 1 ? 0 : -EPROTO);
	}
	begin();
	hears_config(config_of(2, 0), 0);
	hears_channel(1, 0, 1);
	assert_int_equal(fails_with(), -EPROTO);
	assert_string_equal(noted, "bt");
	begin();
	hears_config(config_of(2, 0), 0);
	hears_channel(0, 1, 1);
	hears_rule(1, "a");
	assert_int_equal(fails_with(), -EPROTO);
	assert_string_equal(noted, "btc");
	begin();
	channel_result = -EINVAL;
	hears_config(config_of(1, 0), 0);
	hears_channel(0, 1, 1);
	assert_int_equal(fails_with(), -EINVAL);
	begin();
	rule_result = -ENOMEM;
	hears_config(config_of(1, 0), 0);
	hears_channel(0, 2, 1);
	hears_rule(0, "a");
	assert_int_equal(fails_with(), -ENOMEM);
	assert_int_equal(nr_applied, 0);
	begin();
	hears_config(config_of(1, 0), 0);
	hears_channel(0, 1, 1);
	hears(-EIO, 0);
	assert_int_equal(fails_with(), -EIO);
	/* Tables of probes. */
	begin();
	hears_config(config_of(1, 1), 0);
	hears_probes(2);
	assert_int_equal(fails_with(), -EPROTO);
	begin();
	hears_config(config_of(1, 1), 0);
	hears_channel(0, 0, 1);
	assert_int_equal(fails_with(), -EPROTO);
	begin();
	probes_result = -ENOMEM;
	hears_config(config_of(1, 1), 0);
	hears_probes(1);
	assert_int_equal(fails_with(), -ENOMEM);
	assert_true(probes_fd == 100 && !count_closed(100));
	begin();
	hears_config(config_of(1, 1), 0);
	hears(0, 0);
	assert_int_equal(fails_with(), -ECONNRESET);
	/* From a recorder that may not send them. */
	begin();
	kernel.peer.uid = 55;
	hears_config(config_of(1, 1), 0);
	hears_probes(1);
	hears_channel(0, 0, 1);
	assert_int_equal(fails_with(), 0);
	assert_true(probes_fd == -1 && count_closed(100) == 1 && talk.nr_closed == 1);
}

static void test_list(void **state)
{
	int fds[WIRE_CHANNELS_MAX];
	struct wire_config config = config_of(0, 0);

	(void)state;
	begin();
	config.flags = WIRE_CONFIG_LIST_ONLY;
	hears_config(config, 0);
	assert_int_equal(hello(fds), 0);
	assert_true(session.list_only && session.nr_channels == 1 && fds[0] == -1);
	assert_string_equal(session.channels[0].name, "list");
	assert_string_equal(noted, "c0bt");
	begin();
	rule_result = -ENOMEM;
	hears_config(config, 0);
	assert_int_equal(hello(fds), -ENOMEM);
	begin();
	channel_result = -EINVAL;
	hears_config(config, 0);
	assert_int_equal(hello(fds), -EINVAL);
	assert_string_equal(noted, "c");
}

/* ---- which peers may send probes ---- */

static void as_user(uint32_t uid, uint32_t gid)
{
	begin();
	kernel.peer = (struct ucred){.pid = 1, .uid = uid, .gid = gid};
	for (int i = 0; i < 6; i++)
		kernel.ids[i] = i < 3 ? uid : gid;
}

static void test_probes(void **state)
{
	(void)state;
	as_user(55, 66);
	assert_true(agent_exchange_may_install_probes(&session));
	for (int i = 0; i < 6; i++) {
		as_user(55, 66);
		kernel.ids[i]++;
		assert_false(agent_exchange_may_install_probes(&session));
	}
	as_user(55, 66);
	kernel.ids_result = -EPERM;
	assert_false(agent_exchange_may_install_probes(&session));
	as_user(55, 66);
	kernel.dumpable = 0;
	assert_false(agent_exchange_may_install_probes(&session));
	kernel.dumpable = 2;
	assert_false(agent_exchange_may_install_probes(&session));
	for (int i = 0; i < 2; i++) {
		as_user(55, 66);
		kernel.permitted[i] = 1;
		assert_false(agent_exchange_may_install_probes(&session));
		/* Started by its recorder: it must not have more rights than the recorder. */
		session.is_explicit = true;
		assert_true(agent_exchange_may_install_probes(&session));
		session.attached = true;
		assert_false(agent_exchange_may_install_probes(&session));
	}
	as_user(55, 66);
	kernel.cap_result = -EPERM;
	assert_false(agent_exchange_may_install_probes(&session));
	/* Root may send probes. A peer whose user is not known may not. */
	as_user(55, 66);
	kernel.peer.uid = 0;
	assert_true(agent_exchange_may_install_probes(&session));
	kernel.peer_result = -ENOTSOCK;
	assert_false(agent_exchange_may_install_probes(&session));
	by_rendezvous = true;
	assert_true(agent_exchange_may_install_probes(&session));
	by_rendezvous = false;
	atomic_store(&agent.own_process.borrowed, 4001);
	assert_false(agent_exchange_may_install_probes(&session));
	atomic_store(&agent.own_process.borrowed, 4000);
	assert_true(agent_exchange_may_install_probes(&session));
	atomic_store(&agent.own_process.borrowed, 0);
}

/* ---- changes ---- */

static struct agent_channel two[2];

static void in_session(void)
{
	begin();
	memset(two, 0, sizeof(two));
	strcpy(two[0].name, "first");
	strcpy(two[1].name, "second");
	two[0].ring_memory = 77;
	session.channels = two;
	session.nr_channels = 2;
	session.config.generation = 5;
	session.config.statedump = 4;
}

static int refresh(struct agent_wanted *wanted)
{
	struct agent_generation *generation = &generation_now;
	int ret = agent_refresh(&session, wanted, &generation);

	assert_true(!ret == (generation == &generation_now) && !session.pushed);
	if (ret) {
		assert_int_equal(session.socket, -1);
		assert_int_equal(nr_generations, nr_freed);
	}
	return ret;
}

static void test_refresh(void **state)
{
	struct agent_wanted wanted = {.path = "/x"};
	struct wire_refresh reported;
	struct wire_config config = config_of(2, 0);

	(void)state;
	in_session();
	hears_config(config, 0);
	hears_channel(0, 1, 0);
	hears_rule(0, "a");
	hears_channel(1, 0, 0);
	assert_int_equal(refresh(&wanted), 0);
	assert_string_equal(noted, "bbt0");
	assert_int_equal(wire_decode_refresh(talk.sent[0], talk.sent_size[0], &reported), 0);
	assert_true(reported.token == 88 && reported.generation == 5);
	assert_true(session.config.generation == 9 && session.config.statedump == 8 &&
			two[0].ring_memory == 77 && nr_freed == 0);
	/* ask.c has sent the question already. */
	in_session();
	wanted = (struct agent_wanted){.asked = AGENT_ASK_REFRESH, .token = 88, .socket = 50};
	hears_config(config, 0);
	hears_channel(0, 0, 0);
	hears_channel(1, 0, 0);
	assert_int_equal(refresh(&wanted), 0);
	assert_true(!talk.nr_sent && !talk.nr_connected && wanted.asked == AGENT_ASK_NOTHING &&
			session.socket == 50);
	/* Rules of another instance. */
	in_session();
	wanted = (struct agent_wanted){.asked = AGENT_ASK_REFRESH, .token = 89, .socket = 51};
	talk.send_result[0] = -EPIPE;
	assert_int_equal(refresh(&wanted), -EPIPE);
	assert_true(talk.nr_connected == 1 && count_closed(50) == 1);
	/* Descriptor 0 is a connection like any other. */
	in_session();
	wanted = (struct agent_wanted){.path = "/x"};
	talk.connected = 0;
	hears_config(config, 0);
	hears_channel(0, 0, 0);
	hears_channel(1, 0, 0);
	assert_int_equal(refresh(&wanted), 0);
	assert_int_equal(session.socket, 0);
	begin();
	talk.connected = 0;
	hears_config(config_of(1, 0), 0);
	hears_channel(0, 0, 1);
	assert_int_equal(agent_hello(&session, 0, (int[WIRE_CHANNELS_MAX]){0}), 0);
	assert_int_equal(session.socket, 0);
	/* No change. */
	in_session();
	config = config_of(0, 0);
	config.flags = WIRE_CONFIG_UNCHANGED;
	hears_config(config, 0);
	assert_int_equal(refresh(&wanted), -EALREADY);
	assert_true(session.config.generation == 9 && session.config.statedump == 8 &&
			count_closed(50) == 1);
	assert_string_equal(noted, "b");
}

static void test_refresh_fails(void **state)
{
	struct agent_wanted wanted = {.path = "/x"};
	struct wire_config config = config_of(2, 0);

	(void)state;
	in_session();
	hears_config(config_of(1, 0), 0);
	assert_int_equal(refresh(&wanted), -EPROTO);
	assert_int_equal(session.config.generation, 5);
	in_session();
	hears_config(config, 2);
	assert_int_equal(refresh(&wanted), -EPROTO);
	assert_true(count_closed(100) == 1 && count_closed(101) == 1);
	in_session();
	hears_config(config, 0);
	hears_channel(0, 0, 1);
	assert_int_equal(refresh(&wanted), -EPROTO);
	assert_int_equal(count_closed(100), 1);
	in_session();
	config = config_of(0, 0);
	config.accepted = false;
	config.reason = "over";
	hears_config(config, 0);
	assert_int_equal(refresh(&wanted), -EACCES);
	in_session();
	hears(-ETIMEDOUT, 0);
	assert_int_equal(refresh(&wanted), -ETIMEDOUT);
	assert_int_equal(nr_stalled, 1);
	in_session();
	talk.connected = -ENOENT;
	assert_int_equal(refresh(&wanted), -ENOENT);
	assert_int_equal(nr_stalled, 0);
	in_session();
	no_generation = true;
	assert_int_equal(refresh(&wanted), -ENOMEM);
	agent_exchanges_stop();
	in_session();
	no_memory = true;
	assert_int_equal(refresh(&wanted), -ENOMEM);
	assert_int_equal(nr_generations, 0);
	no_memory = false;
	assert_true(agent_exchange_take_message_buffer() &&
			agent_exchange_take_message_buffer() == message_buffer && nr_mapped == 1);
	agent_exchanges_trim();
	assert_int_equal(kernel.nr_advised, 1);
	agent_exchanges_stop();
	agent_exchanges_stop();
	agent_exchanges_trim();
	assert_true(nr_unmapped == 1 && kernel.nr_advised == 1);
}

static void test_pushed(void **state)
{
	static char pushed[1024];
	struct agent_wanted wanted = {.path = "/x", .push = pushed, .base = 5};
	const struct wire_config config = config_of(2, 0);
	size_t size = 0;

	(void)state;
	in_session();
	hears_config(config, 0);
	hears_channel(0, 1, 0);
	hears_rule(0, "a");
	hears_channel(1, 0, 0);
	for (unsigned int i = 0; i < talk.nr; i++) {
		memcpy(pushed + size, talk.message[i], (size_t)talk.size[i]);
		size += (size_t)talk.size[i];
	}
	wanted.push_size = (uint32_t)size;
	assert_int_equal(refresh(&wanted), 0);
	assert_true(!talk.nr_connected && !talk.at && session.config.generation == 9);
	/* Each reason to ask instead. */
	session.config.generation = 5;
	assert_true(agent_may_take_push(&session, &wanted));
	wanted.base = 4;
	assert_false(agent_may_take_push(&session, &wanted));
	wanted.base = 5;
	session.gone = true;
	assert_false(agent_may_take_push(&session, &wanted));
	session.gone = false;
	assert_int_equal(agent_known_generation(&session), 5);
	session.incomplete = true;
	assert_false(agent_may_take_push(&session, &wanted));
	assert_int_equal(agent_known_generation(&session), 0);
	session.incomplete = false;
	session.probes_due = true;
	assert_false(agent_may_take_push(&session, &wanted));
	assert_int_equal(agent_known_generation(&session), 0);
	session.probes_due = false;
	session.boot = (const void *)&session;
	assert_false(agent_may_take_push(&session, &wanted));
	session.boot = NULL;
	wanted.push = NULL;
	assert_false(agent_may_take_push(&session, &wanted));
	wanted.push = pushed;
	/* A truncated message is dropped: the process asks the session instead. */
	wanted.push_size--;
	assert_int_equal(refresh(&wanted), 0);
	assert_true(talk.nr_connected == 1 && talk.at == talk.nr);
	/* Pushed rules have no tables. */
	in_session();
	session.tables = (void *)&session;
	wanted.push_size = (uint32_t)size;
	talk.connected = -ENOENT;
	assert_int_equal(refresh(&wanted), -ENOENT);
	assert_int_equal(talk.nr_connected, 1);
	session.tables = NULL;
	agent_exchanges_stop();
}

/* ---- descriptions ---- */

static uint32_t refused_ids[4];
static int nr_refused;

static void refused(void *user, const struct wire_refused *one)
{
	assert_ptr_equal(user, &nr_refused);
	assert_true(nr_refused < 4);
	refused_ids[nr_refused++] = one->id;
}

static void hears_ack(bool last, const struct wire_refused *list, uint32_t nr)
{
	const struct wire_ack ack = {.last = last, .nr_refused = nr, .refused = list};

	hears(wire_encode_ack(talk.message[talk.nr], 512, &ack), 0);
}

static int send_events(const void *stream, size_t size)
{
	nr_refused = 0;
	return agent_send_events(&session, stream, size, refused, &nr_refused);
}

static void test_events(void **state)
{
	static const struct wire_refused some[] = {{11, 0, 1}, {12, 1, 2}}, more[] = {{13, 0, 3}};
	static char stream[2 * WIRE_EVENTS_BYTES_MAX + 1];
	struct wire_events reported;

	(void)state;
	for (size_t i = 0; i < sizeof(stream); i++)
		stream[i] = (char)(i * 7);
	/* As much as fits one message, and one byte more. */
	for (unsigned int i = 0; i < 2; i++) {
		begin();
		hears_ack(false, some, 2);
		hears_ack(true, more, 1);
		assert_int_equal(send_events(stream, WIRE_EVENTS_BYTES_MAX + i), 0);
		assert_int_equal(talk.nr_sent, 1 + i);
		assert_int_equal(wire_decode_events(talk.sent[0], talk.sent_size[0], &reported), 0);
		assert_true(reported.token == 88 && reported.sequence == 0 && reported.last == !i &&
				reported.size == WIRE_EVENTS_BYTES_MAX);
		assert_memory_equal(reported.bytes, stream, reported.size);
		assert_true(nr_refused == 3 && refused_ids[0] == 11 && refused_ids[1] == 12 &&
				refused_ids[2] == 13);
		assert_true(count_closed(50) == 1 && session.socket == -1 && !session.gone);
	}
	assert_int_equal(wire_decode_events(talk.sent[1], talk.sent_size[1], &reported), 0);
	assert_true(reported.sequence == 1 && reported.last && reported.size == 1);
	assert_memory_equal(reported.bytes, stream + WIRE_EVENTS_BYTES_MAX, 1);
	/* On the first connection while it is open, which stays. */
	begin();
	session.socket = 50;
	hears_ack(true, NULL, 0);
	assert_int_equal(send_events(stream, 0), 0);
	assert_true(talk.nr_sent == 1 && !talk.nr_connected && !talk.nr_closed &&
			session.socket == 50);
	talk_begin();
	hears(0, 0);
	assert_int_equal(send_events(stream, 5), -ECONNRESET);
	assert_true(session.gone && session.socket == -1 && count_closed(50) == 1);
	assert_int_equal(received_socket, -1);
}

static void test_events_fail(void **state)
{
	(void)state;
	begin();
	kernel.seccomp = 1;
	assert_int_equal(send_events("x", 1), -EPERM);
	assert_true(session.gone && !talk.nr_connected);
	begin();
	talk.connected = -ENOENT;
	assert_int_equal(send_events("x", 1), -ENOENT);
	assert_true(session.gone && !talk.nr_sent && !nr_stalled);
	begin();
	talk.send_result[0] = -EPIPE;
	assert_int_equal(send_events("x", 1), -EPIPE);
	assert_int_equal(count_closed(50), 1);
	begin();
	hears(-ETIMEDOUT, 0);
	assert_int_equal(send_events("x", 1), -ETIMEDOUT);
	assert_int_equal(nr_stalled, 1);
	begin();
	session.is_explicit = true;
	hears(-ETIMEDOUT, 0);
	assert_int_equal(send_events("x", 1), -ETIMEDOUT);
	assert_int_equal(nr_stalled, 0);
	begin();
	hears_config(config_of(1, 0), 0);
	assert_int_equal(send_events("x", 1), -EPROTO);
	agent_exchanges_stop();
	begin();
	no_memory = true;
	assert_int_equal(send_events("x", 1), -ENOMEM);
	assert_int_equal(talk.nr_connected, 0);
	/*
	 * A fork closes the connection of an exchange in another thread, unless it is in a table of
	 * its own.
	 */
	begin();
	received_socket = 60;
	agent_exchanges_forked();
	agent_exchanges_forked();
	assert_true(talk.nr_closed == 1 && talk.closed[0] == 60 && received_socket == -1);
}

/* Of a static configuration: the recorder, or the files. */
static void test_boot_events(void **state)
{
	(void)state;
	begin();
	session.boot = (const void *)&session;
	assert_int_equal(send_events("x", 1), 0);
	assert_true(nr_described == 1 && !talk.nr_connected);
	begin();
	session.boot = (const void *)&session;
	describe_results[0] = -EAGAIN;
	hears_ack(true, NULL, 0);
	assert_int_equal(send_events("x", 1), 0);
	assert_true(nr_described == 1 && talk.nr_connected == 1);
	/* Ten times a recorder that has just gone. */
	begin();
	session.boot = (const void *)&session;
	for (int i = 0; i < 16; i++)
		describe_results[i] = -EAGAIN;
	talk.connected = -ECONNREFUSED;
	assert_int_equal(send_events("x", 1), -EAGAIN);
	assert_true(nr_described == 10 && talk.nr_connected == 10 && session.gone);
	begin();
	session.boot = (const void *)&session;
	describe_results[0] = -EIO;
	assert_int_equal(send_events("x", 1), -EIO);
	assert_int_equal(nr_described, 1);
	/* With an open connection the files are not read. */
	begin();
	session.boot = (const void *)&session;
	session.socket = 50;
	hears_ack(true, NULL, 0);
	assert_int_equal(send_events("x", 1), 0);
	assert_int_equal(nr_described, 0);
	agent_exchanges_stop();
}

static void test_bye(void **state)
{
	struct wire_bye bye;

	(void)state;
	begin();
	assert_int_equal(agent_bye(&session), -ENOTCONN);
	session.socket = 50;
	hears(0, 0);
	assert_int_equal(agent_bye(&session), 0);
	assert_int_equal(wire_decode_bye(talk.sent[0], talk.sent_size[0], &bye), 0);
	assert_true(bye.token == 88 && talk.at == 1 && session.socket == -1 &&
			count_closed(50) == 1);
	begin();
	session.socket = 0;
	talk.send_result[0] = -EPIPE;
	assert_int_equal(agent_bye(&session), -EPIPE);
	assert_true(talk.at == 0 && session.socket == -1 && count_closed(0) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_print),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_hello),
			cmocka_unit_test(test_descriptors),
			cmocka_unit_test(test_begin),
			cmocka_unit_test(test_begin_in_child),
			cmocka_unit_test(test_refusals),
			cmocka_unit_test(test_refused_channels),
			cmocka_unit_test(test_list),
			cmocka_unit_test(test_probes),
			cmocka_unit_test(test_refresh),
			cmocka_unit_test(test_refresh_fails),
			cmocka_unit_test(test_pushed),
			cmocka_unit_test(test_events),
			cmocka_unit_test(test_events_fail),
			cmocka_unit_test(test_boot_events),
			cmocka_unit_test(test_bye),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	agent_memory_free(&session.memory);
	agent_memory_trim();
	return ret;
}
