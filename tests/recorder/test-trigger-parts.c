/* SPDX-License-Identifier: MIT */
/*
 * The triggers of snapshots, the signal that ended a process, and the processes for which the
 * command waits. The test includes these parts, and plays the clock, the counters of the rings and
 * the calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"
#include "../check.h"
#include "../resources.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/exit-status.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/helper-process.h"
#include "recorder/rotation/snapshot.h"
#include "recorder/rotation/trigger.h"
#include "recorder/run-turn.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

static uint64_t now_ns;

static uint64_t played_deadline(unsigned int ms)
{
	return now_ns + ms * MS;
}

__attribute__((format(printf, 2, 3))) static void played_report(
		bool is_error, const char *format, ...)
{
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("report(%d, %s)\n", is_error, text);
}

/* Rings of two programs: the consumers are numbers, and each ring has its counters. */
#define RINGS 3
static struct {
	uint64_t total, other, nested;
} lost[3][RINGS];

static struct ring_consumer *consumer(uintptr_t number)
{
	return (struct ring_consumer *)number;
}

static uint64_t played_lost_total(const struct ring_consumer *of, uint32_t ring)
{
	CHECK(ring < RINGS);
	return lost[(uintptr_t)of][ring].total;
}

static uint64_t played_lost(const struct ring_consumer *of, uint32_t ring, enum ring_loss reason)
{
	CHECK(reason == RING_LOST_OTHER || reason == RING_LOST_NESTED);
	return reason == RING_LOST_OTHER ? lost[(uintptr_t)of][ring].other
					 : lost[(uintptr_t)of][ring].nested;
}

static uint32_t snapshot_number;

static uint32_t played_snapshot(const struct instance *active, const char *suffix)
{
	called("snapshot(%u, %s)\n", active ? active->number : 0, suffix);
	return snapshot_number;
}

static long signal_result;
static int info_result, info_status;
static uint64_t info_mask;

static long played_syscall(long number, int pidfd, int signal_number, const void *info, int flags)
{
	CHECK(number == SYS_pidfd_send_signal && pidfd >= 0 && !signal_number && !info && !flags);
	return signal_result;
}

static int played_ioctl(int pidfd, unsigned long request, void *info)
{
	/* PIDFD_GET_INFO; the mask and the exit code are at its ends. */
	static const unsigned long expected = _IOWR(0xff, 11, char[64]);
	uint64_t mask;

	memcpy(&mask, info, sizeof(mask));
	CHECK(pidfd >= 0 && request == expected && mask == 8);
	memcpy(info, &info_mask, sizeof(info_mask));
	memcpy((char *)info + 60, &info_status, sizeof(info_status));
	return info_result;
}

static int begin_result, turn_result;

static int played_begin(const struct session *session)
{
	CHECK(session);
	called("begin\n");
	return begin_result;
}

static int played_turn(const struct session *session, int timeout_ms)
{
	CHECK(session && timeout_ms == 10);
	called("turn\n");
	now_ns += (uint64_t)timeout_ms * MS;
	return turn_result;
}

#undef report_instance
#define report_instance(session, instance, is_error, ...) \
	((void)(session), (void)(instance), played_report(is_error, __VA_ARGS__))
#define report(session, is_error, ...) ((void)(session), played_report(is_error, __VA_ARGS__))
#define wire_deadline(ms) played_deadline(ms)
#define ring_consumer_lost_total(of, ring) played_lost_total(of, ring)
#define ring_consumer_lost(of, ring, reason) played_lost(of, ring, reason)
#define snapshot_make(session, active, suffix) ((void)(session), played_snapshot(active, suffix))
#define syscall(number, pidfd, signal_number, info, flags) \
	played_syscall(number, pidfd, signal_number, info, flags)
#define ioctl(pidfd, request, info) played_ioctl(pidfd, request, info)
#define run_begin(session) played_begin(session)
#define run_turn(session, timeout_ms) played_turn(session, timeout_ms)
#undef trigger_set_error
#include "recorder/helper-process.c"
#include "recorder/core/exit-status.c"
#include "recorder/rotation/trigger.c"
#undef syscall

static struct session *session;
static struct trigger triggers[3];
static struct channel channels[2];
static struct instance_ring each[2][RINGS];
static struct instance_channel channels_of[2][2];
static struct instance instances[2];

static int begin(void **unused)
{
	(void)unused;
	session = session_allocate();
	CHECK(session);
	now_ns = 100 * S;
	memset(lost, 0, sizeof(lost));
	memset(triggers, 0, sizeof(triggers));
	memset(each, 0, sizeof(each));
	memset(instances, 0, sizeof(instances));
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 2; k++)
			channels_of[i][k] = (struct instance_channel){.channel = &channels[k],
					.geometry.rings = k ? RINGS : 0,
					.rings = k ? consumer((uintptr_t)i + 1) : NULL,
					.each = k ? each[i] : NULL};
		instances[i].channels = channels_of[i];
		instances[i].nr_channels = 1;
		instances[i].nr_all_channels = 2;
		instances[i].number = (uint32_t)i + 1;
	}
	instances[0].next_active = &instances[1];
	session->triggers.list = triggers;
	session->triggers.nr = 1;
	session->triggers.max = 10;
	triggers[0].channel = 1;
	triggers[0].text = (char *)(uintptr_t) "event:one";
	snapshot_number = 5;
	*calls = '\0';
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	session->triggers.list = NULL;
	session->triggers.nr = 0;
	session->instances.live = NULL;
	session_destroy(session);
	return 0;
}

/* ---- counting ---- */

static void test_count(void **unused)
{
	(void)unused;
	for (unsigned int i = 0; i < RINGS; i++) {
		lost[1][i].total = 100 * (i + 1);
		lost[1][i].other = 7;
		lost[1][i].nested = 3;
	}
	trigger_count(session, &instances[0]);
	assert_int_equal(triggers[0].count, 600 - 3 * 10);
	assert_int_equal(each[0][0].discarded, 90);
	trigger_count(session, &instances[0]);
	assert_int_equal(triggers[0].count, 570);
	lost[1][2].total++;
	lost[2][0].total = 1000;
	trigger_count(session, &instances[0]);
	assert_int_equal(triggers[0].count, 571);
	trigger_count(session, &instances[1]);
	assert_int_equal(triggers[0].count, 1571);
	/* A program without the channel, and one without rings. */
	instances[0].nr_all_channels = 1;
	lost[1][2].total++;
	trigger_count(session, &instances[0]);
	instances[0].nr_all_channels = 2;
	channels_of[0][1].rings = NULL;
	trigger_count(session, &instances[0]);
	channels_of[0][1].rings = consumer(1);
	triggers[0].kind = TRIGGER_CRASH;
	trigger_count(session, &instances[0]);
	assert_int_equal(triggers[0].count, 1571);
	/* All triggers. */
	triggers[0].kind = TRIGGER_RATE;
	triggers[1] = triggers[0];
	session->triggers.nr = 2;
	trigger_count(session, &instances[0]);
	assert_int_equal(triggers[0].count, 1572);
	assert_int_equal(triggers[1].count, 1571);
}

static void turn(bool last)
{
	trigger_turn(session, instances, last);
}

static void test_events(void **unused)
{
	(void)unused;
	session->triggers.nr = 0;
	turn(true);
	assert_called("");
	assert_int_equal(session->triggers.last_poll, 0);
	session->triggers.nr = 1;
	session->triggers.holding = true;
	turn(false);
	assert_false(session->triggers.holding);
	assert_int_equal(session->triggers.last_poll, 100 * S);
	assert_called("");
	/* The trigger checks at most once in 10 ms. */
	lost[2][1].total = 1;
	now_ns += 10 * MS - 1;
	turn(false);
	assert_int_equal(session->triggers.last_poll, 100 * S);
	now_ns++;
	turn(false);
	assert_called("snapshot(1, )\nreport(0, snapshot-5 was made: event:one)\n");
	assert_int_equal(session->triggers.made, 1);
	assert_int_equal(session->triggers.next, now_ns + S);
	assert_int_equal(triggers[0].done, 1);
	/* The next snapshot is a second later. */
	lost[2][1].total = 2;
	now_ns += S - 1;
	turn(false);
	assert_called("");
	assert_int_equal(triggers[0].count, 2);
	assert_int_equal(triggers[0].done, 1);
	now_ns++;
	turn(false);
	assert_called("");
	now_ns += 10 * MS;
	snapshot_number = 0;
	turn(false);
	assert_called("snapshot(1, )\n");
	/* At the end, at once. */
	lost[2][1].total = 3;
	now_ns++;
	turn(true);
	assert_called("snapshot(1, )\n");
	assert_int_equal(session->triggers.made, 3);
	/* The first cause of several is reported. */
	session->triggers.nr = 3;
	triggers[1] = triggers[2] = triggers[0];
	triggers[1].text = (char *)(uintptr_t) "event:two";
	triggers[1].done = triggers[2].done = 2;
	snapshot_number = 6;
	session->triggers.max = 4;
	turn(true);
	assert_called("snapshot(1, )\nreport(0, snapshot-6 was made: event:two)\n");
	assert_int_equal(triggers[1].done, 3);
	assert_int_equal(triggers[2].done, 3);
	/* As many snapshots as the user permits. */
	for (int i = 0; i < 2; i++) {
		triggers[0].done = 0;
		turn(true);
		assert_called(i ? ""
				: "report(0, made 4 automatic snapshots: the limit of --snapshot-max is reached, so side makes no more)\n");
		assert_int_equal(triggers[0].done, 3);
	}
	assert_true(session->triggers.exhausted);
	assert_int_equal(session->triggers.made, 4);
}

/* ---- rates ---- */

static void sample(uint64_t count, unsigned int samples, bool above)
{
	triggers[0].count = count;
	trigger_check_rate(&triggers[0], now_ns);
	assert_int_equal(triggers[0].nr_samples, samples);
	assert_int_equal(triggers[0].above, above);
}

static void test_rates(void **unused)
{
	struct trigger *trigger = &triggers[0];

	(void)unused;
	trigger->kind = TRIGGER_RATE;
	trigger->limit = 10;
	trigger->samples[0].time = now_ns;
	trigger->nr_samples = 1;
	now_ns += 50 * MS - 1;
	sample(1, 1, false);
	now_ns++;
	sample(2, 2, false);
	assert_int_equal(trigger->samples[1].time, now_ns);
	assert_int_equal(trigger->samples[1].count, 2);
	now_ns += 49 * MS;
	sample(10, 2, false);
	assert_false(trigger->due);
	sample(11, 2, true);
	assert_true(trigger->due);
	/* Due once, until the rate was lower. */
	trigger->due = false;
	now_ns += 1 * MS;
	sample(12, 3, true);
	assert_false(trigger->due);
	assert_true(trigger->samples[2].time == now_ns && trigger->samples[2].count == 12);
	/* A second since the first sample: it still counts. */
	now_ns = 101 * S;
	sample(12, 4, true);
	/* One nanosecond more: it does not. */
	now_ns++;
	sample(12, 3, false);
	assert_int_equal(trigger->samples[0].count, 2);
	assert_int_equal(trigger->samples[1].count, 12);
	/* The last sample stays, however old it is; then the mean counts. */
	now_ns = 110 * S;
	sample(12, 2, false);
	assert_int_equal(trigger->samples[0].time, 101 * S);
	assert_int_equal(trigger->samples[1].time, now_ns);
	now_ns = 112 * S;
	sample(32, 2, false);
	now_ns = 114 * S;
	sample(53, 2, true);
	assert_true(trigger->due);
	assert_true(trigger_is_due(trigger, now_ns));
	trigger->due = false;
	assert_false(trigger_is_due(trigger, now_ns));
	/* All samples are in use. */
	trigger->nr_samples = SAMPLES;
	for (unsigned int i = 0; i < SAMPLES; i++) {
		trigger->samples[i].time = 114 * S + i;
		trigger->samples[i].count = 53;
	}
	now_ns = 115 * S;
	sample(54, SAMPLES, false);
	assert_int_equal(trigger->samples[SAMPLES - 1].count, 53);
	trigger->nr_samples = 0;
	memset(trigger->samples, 0, sizeof(trigger->samples));
	sample(54, 1, false);
}

static void test_rate_turns(void **unused)
{
	(void)unused;
	triggers[0].kind = TRIGGER_RATE;
	triggers[0].limit = 2;
	triggers[0].text = (char *)(uintptr_t) "rate:x>2/s";
	triggers[0].samples[0].time = now_ns;
	triggers[0].nr_samples = 1;
	lost[1][0].total = 3;
	now_ns += 100 * MS;
	turn(false);
	assert_called("snapshot(1, )\nreport(0, snapshot-5 was made: rate:x>2/s)\n");
	assert_false(triggers[0].due);
	assert_true(triggers[0].above);
	/* What is due waits for the next snapshot. */
	now_ns += 950 * MS;
	turn(false);
	assert_false(triggers[0].above);
	lost[1][0].total = 20;
	now_ns += 10 * MS;
	turn(false);
	assert_true(triggers[0].due);
	assert_called("");
	now_ns += 40 * MS;
	turn(false);
	assert_called("snapshot(1, )\nreport(0, snapshot-5 was made: rate:x>2/s)\n");
}

/* ---- crashes ---- */

static void test_crashed(void **unused)
{
	(void)unused;
	triggers[0].kind = TRIGGER_CRASH;
	instances[0].crash = SIGSEGV;
	instances[1].crash = SIGABRT;
	for (int i = 0; i < 2; i++) {
		instances[i].peer = 90 + i;
		instances[i].pid = 70 + (uint32_t)i;
		instances[i].procname = (char *)(uintptr_t)(i ? "b" : "a");
	}
	turn(true);
	assert_called("");
	session->triggers.crash = true;
	/* The process that died first follows the others. */
	turn(true);
	assert_called("snapshot(1, -b-71-SIGABRT)\nreport(0, snapshot-5-b-71-SIGABRT was made: process 91 (b) died of SIGABRT)\n");
	assert_true(instances[0].crash_pictured && instances[1].crash_pictured);
	turn(true);
	assert_called("");
	instances[0].crash_pictured = false;
	instances[1].crash = 0;
	turn(true);
	assert_called("snapshot(1, -a-70-SIGSEGV)\nreport(0, snapshot-5-a-70-SIGSEGV was made: process 90 (a) died of SIGSEGV)\n");
	assert_true(instances[0].crash_pictured && !instances[1].crash_pictured);
}

/* Rings are kept while they have records that are in no snapshot. */
static void test_holds(void **unused)
{
	(void)unused;
	session->triggers.nr = 0;
	instances[0].crash = SIGSEGV;
	assert_false(trigger_holds(session, &instances[0]));
	session->triggers.nr = 1;
	assert_true(trigger_holds(session, &instances[0]));
	assert_true(session->triggers.holding);
	instances[0].crash_pictured = true;
	session->triggers.holding = false;
	assert_false(trigger_holds(session, &instances[0]));
	assert_false(session->triggers.holding);
	/* The last events are counted. */
	lost[1][0].total = 1;
	assert_true(trigger_holds(session, &instances[0]));
	assert_true(session->triggers.holding);
	assert_false(triggers[0].done);
	session->triggers.exhausted = true;
	assert_false(trigger_holds(session, &instances[0]));
	assert_true(session->triggers.holding);
	session->triggers.exhausted = false;
	triggers[0].done = 1;
	assert_false(trigger_holds(session, &instances[0]));
	triggers[0].kind = TRIGGER_RATE;
	triggers[0].done = 0;
	assert_false(trigger_holds(session, &instances[0]));
	instances[0].crash = 0;
	instances[0].crash_pictured = false;
	assert_false(trigger_holds(session, &instances[0]));
}

/* Makes a child that has ended with this status, without waiting for it. */
static pid_t make_child(int status, int signal_number)
{
	siginfo_t info;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		if (!signal_number)
			_exit(status);
		/* Without a core dump. */
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_cur = 0});
		(void)signal(signal_number, SIG_DFL);
		(void)raise(signal_number);
		_exit(1);
	}
	CHECK(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	return pid;
}

static void take_child(pid_t pid)
{
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void test_statuses(void **unused)
{
	struct resources before = resources_now();
	pid_t exited = make_child(0x47, 0), killed = make_child(0, SIGKILL);
	uint32_t last = 0;

	(void)unused;
	session->command.pid = exited;
	session->command.status = -1;
	assert_int_equal(status_of_child(session, exited), 0x4700);
	assert_int_equal(status_of_child(session, killed), SIGKILL);
	assert_int_equal(status_of_child(session, getppid()), -1);
	session->command.status = 5;
	assert_int_equal(status_of_child(session, exited), 5);
	assert_int_equal(status_of_child(session, killed), SIGKILL);
	/* The status of a zombie, from /proc. */
	assert_int_equal(status_in_proc(exited, 0), 0x4700);
	assert_int_equal(status_in_proc(killed, 0), SIGKILL);
	signal_result = -1;
	assert_int_equal(status_in_proc(exited, 0), -1);
	signal_result = 0;
	assert_int_equal(status_in_proc(getpid(), 0), -1);
	take_child(exited);
	take_child(killed);
	assert_int_equal(status_in_proc(exited, 0), -1);
	assert_int_equal(status_of_child(session, killed), -1);
	assert_int_equal(resources_now().descriptors, before.descriptors);
	/* Later kernels report the status for a pidfd. */
	for (info_mask = 0; info_mask < 32; info_mask++) {
		info_status = 11;
		assert_int_equal(status_by_pidfd(0), info_mask & 8 ? 11 : -1);
		last++;
	}
	assert_int_equal(last, 32);
	info_result = -1;
	info_mask = 8;
	assert_int_equal(status_by_pidfd(0), -1);
	info_result = 0;
}

static void test_samples(void **unused)
{
	pid_t pid = make_child(0, SIGSEGV);
	struct instance *instance = &instances[0];

	(void)unused;
	info_result = -1;
	instance->procname = (char *)(uintptr_t) "prog";
	instance->peer = pid;
	instance->watch.fd = 0;
	session->instances.live = instance;
	session->command.pid = 0;
	crash_check(session, instance);
	assert_int_equal(instance->crash, 0);
	session->triggers.crash = true;
	instance->watch.fd = -1;
	crash_check(session, instance);
	assert_int_equal(instance->crash, 0);
	instance->watch.fd = 0;
	crash_check(session, instance);
	assert_int_equal(instance->crash, SIGSEGV);
	take_child(pid);
	/* A process that is no child, by its pidfd; status 0 is not a crash. */
	instance->crash = 0;
	info_result = 0;
	info_mask = 8;
	info_status = 0;
	crash_check(session, instance);
	assert_int_equal(instance->crash, 0);
	info_status = SIGABRT;
	crash_check(session, instance);
	assert_int_equal(instance->crash, SIGABRT);
	assert_false(session->triggers.blind);
	assert_called("");
	/* The kernel does not report a status: the session reports that once. */
	info_result = -1;
	for (int i = 0; i < 2; i++) {
		char expected[300];

		crash_check(session, instance);
		(void)snprintf(expected, sizeof(expected),
				"report(0, cannot determine whether process %d (prog) crashed: its parent has already reaped it (Linux 6.15 or later keeps the exit status))\n",
				pid);
		assert_called(i ? "" : expected);
		assert_true(session->triggers.blind);
	}
}

static void test_names(void **unused)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {{SIGSEGV, "SEGV"}, {SIGABRT, "ABRT"}, {SIGBUS, "BUS"}, {SIGILL, "ILL"},
			{SIGFPE, "FPE"}, {SIGSYS, "SYS"}, {SIGTRAP, "TRAP"}, {SIGKILL, ""},
			{SIGTERM, ""}, {0, ""}};

	(void)unused;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_string_equal(crash_name(names[i].number), names[i].name);
		assert_int_equal(crash_of(names[i].number), *names[i].name ? names[i].number : 0);
		/* With a core dump, and an exit status of that number. */
		assert_int_equal(crash_of(names[i].number | 0x80),
				*names[i].name ? names[i].number : 0);
		assert_int_equal(crash_of(names[i].number << 8), 0);
	}
}

/* ---- what the command waits for ---- */

static int helper_result;
static unsigned int turns_until;

static int helper_begin(void *user, pid_t pid, const char *socket, struct error *error)
{
	called("companion(%s, %d, %s)\n", (char *)user, pid, socket);
	error->code = helper_result;
	return helper_result;
}

static int helper_is_ready(void *user, struct error *error)
{
	(void)error;
	called("ready(%s)\n", (char *)user);
	return turns_until-- ? 0 : helper_result ? helper_result : 1;
}

static bool helper_over(void *user, bool is_now)
{
	called("over(%s, %d)\n", (char *)user, is_now);
	return !turns_until--;
}

static char me[] = "me";
static const struct session_helper helper = {.begin = helper_begin,
		.is_ready = helper_is_ready,
		.is_over = helper_over,
		.user = me};

static void test_helper_process(void **unused)
{
	struct error error = {.kind = ERROR_NONE};

	(void)unused;
	assert_int_equal(helper_process_hold(session, &error), 0);
	assert_true(helper_process_is_over(session));
	helper_process_end(session);
	assert_called("");
	session->command.helper = &helper;
	session->command.pid = 47;
	(void)snprintf(session->listener.path, sizeof(session->listener.path), "/s");
	begin_result = -EMFILE;
	assert_int_equal(helper_process_hold(session, &error), -EMFILE);
	assert_string_equal(error.text, "cannot start the recording: Too many open files");
	assert_called("begin\n");
	begin_result = 0;
	turns_until = 2;
	assert_int_equal(helper_process_hold(session, &error), 0);
	assert_called("begin\ncompanion(me, 47, /s)\nturn\nready(me)\nturn\nready(me)\nturn\nready(me)\n");
	helper_result = -EPERM;
	assert_int_equal(helper_process_hold(session, &error), -EPERM);
	assert_called("begin\ncompanion(me, 47, /s)\n");
	helper_result = 0;
	turn_result = -EIO;
	assert_int_equal(helper_process_hold(session, &error), -EIO);
	assert_string_equal(error.text, "cannot continue the recording: Input/output error");
	assert_called("begin\ncompanion(me, 47, /s)\nturn\n");
	turn_result = 1;
	atomic_store(&session->drain.stop, true);
	assert_int_equal(helper_process_hold(session, &error), -EINTR);
	assert_string_equal(error.text, "interrupted before the command began");
	assert_int_equal(error.kind, ERROR_FAILED);
	assert_called("begin\ncompanion(me, 47, /s)\n");
	atomic_store(&session->drain.stop, false);
	/* It fails while it starts. */
	turn_result = 0;
	{
		struct session_helper failing = helper;

		turns_until = 0;
		session->command.helper = &failing;
		helper_result = 0;
		assert_int_equal(helper_process_hold(session, &error), 0);
		session->command.helper = &helper;
	}
	*calls = '\0';
	turns_until = 0;
	assert_true(helper_process_is_over(session));
	turns_until = 1;
	assert_false(helper_process_is_over(session));
	assert_called("over(me, 0)\nover(me, 0)\n");
	turns_until = 1;
	helper_process_end(session);
	assert_called("over(me, 1)\nturn\nover(me, 1)\n");
	turns_until = 5;
	turn_result = -EIO;
	helper_process_end(session);
	assert_called("over(me, 1)\nturn\n");
	/* It does not exit within 5 s. */
	turn_result = 0;
	turns_until = 10000;
	now_ns = 0;
	helper_process_end(session);
	assert_int_equal(now_ns, 5 * S);
	*calls = '\0';
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_count),
			TEST(test_events),
			TEST(test_rates),
			TEST(test_rate_turns),
			TEST(test_crashed),
			TEST(test_holds),
			TEST(test_statuses),
			TEST(test_samples),
			TEST(test_names),
			TEST(test_helper_process),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
