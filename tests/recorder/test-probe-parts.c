/* SPDX-License-Identifier: MIT */
/*
 * Tables of probes in a session: which are accepted, which process gets one, and what programs
 * report about them. The test includes probes.c, and plays users, processes and memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "protocol/protocol.h"
#include "recorder/core/access.h"
#include "recorder/core/instance.h"
#include "recorder/core/probes.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/run-turn.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"

static uid_t user;
static uint64_t start;
static unsigned int nr_starts;
static int start_error;
static bool is_allowed = true, has_exited;
static unsigned int failing_call; /* of the calls for memory; 0: none */
static bool fails_to_read;
static int played_turns[100];
static unsigned int nr_turns;
static struct access asked;

static uint64_t played_start(pid_t pid)
{
	nr_starts++;
	errno = start_error;
	return start_error ? 0 : start + (uint64_t)pid;
}

static char reported[200];

__attribute__((format(printf, 5, 6))) static void played_report(
		struct session *about, uid_t uid, pid_t pid, bool is_error, const char *format, ...)
{
	va_list arguments;

	CHECK(about && is_error && uid == 7 && pid == 20);
	va_start(arguments, format);
	(void)vsnprintf(reported, sizeof(reported), format, arguments);
	va_end(arguments);
}

static bool played_access(const struct access *of, pid_t pid)
{
	CHECK(pid > 0);
	asked = *of;
	return is_allowed;
}

static bool is_due(void)
{
	return failing_call && !--failing_call;
}

static void *played_calloc(size_t count, size_t size)
{
	return is_due() ? NULL : calloc(count, size);
}

static void *played_malloc(size_t size)
{
	return is_due() ? NULL : malloc(size);
}

static char *played_strdup(const char *text)
{
	return is_due() ? NULL : strdup(text);
}

static int played_fstat(int fd, struct stat *status)
{
	errno = EIO;
	return fails_to_read ? -1 : fstat(fd, status);
}

#define geteuid() user
#define getegid() ((gid_t)9)
#define access_own_capabilities() UINT64_C(77)
#define access_is_allowed(of, pid) played_access(of, pid)
#define instance_has_exited(instance) ((void)(instance), has_exited)
#define session_process_start(pid) played_start(pid)
#define report_about played_report
#define calloc(count, size) played_calloc(count, size)
#define malloc(size) played_malloc(size)
#define strdup(text) played_strdup(text)
#define fstat(fd, status) played_fstat(fd, status)
#define run_turn(session, timeout_ms) \
	((void)(session), (timeout_ms) ? (abort(), 0) : played_turns[nr_turns++])
#include "recorder/core/probes.c"
#include "recorder/probe-answers.c"
#undef calloc
#undef malloc
#undef strdup
#undef fstat

static struct session *session;

static void check_text(const char *found, const char *expected)
{
	if (!strcmp(found, expected))
		return;
	fprintf(stderr, "%s instead of %s\n", found, expected);
	abort();
}

static int make_table(size_t size)
{
	int fd = memfd_create("table", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)size));
	return fd;
}

/* ---- what is taken ---- */

static void test_taken(void)
{
	static struct session_table many[SESSION_PROBES_MAX + 1];
	struct resources before = resources_now();
	struct error error;
	int table = make_table(47), others = make_table(48), empty = make_table(0);
	const struct session_table *kept = NULL;
	struct session_table probe = {.number = 5,
			.fd = table,
			.others = others,
			.has_others = true,
			.target = {.exe = (char *)(uintptr_t) "/x",
					.started = 6,
					.of_user = true,
					.access = {.uid = 7, .has_gid = true, .gid = 8}}};
	unsigned int nr = 0;

	user = 0;
	CHECK(!session_set_probes(session, &probe, 1, &error));
	CHECK(!session->tables.nr && session->next_tables.nr == 1 && session->next_tables.set);
	probes_change(session, true);
	CHECK(session->tables.nr == 1 && !session->next_tables.nr && !session->next_tables.set);
	kept = session->tables.list;
	CHECK(kept->number == 5 && kept->size == 47 && kept->size_of_others == 48 &&
			kept->target.started == 6 && !kept->target.pid && kept->target.of_user);
	check_text(kept->target.exe, "/x");
	CHECK(kept->target.access.uid == 7 && kept->target.access.has_gid &&
			kept->target.access.gid == 8 && !kept->target.access.capabilities);
	CHECK(kept->fd > 2 && kept->fd != table && kept->others != others &&
			fcntl(kept->fd, F_GETFD) == FD_CLOEXEC);
	/* A cancelled table leaves the others unchanged. */
	probe.number = 9;
	CHECK(!session_set_probes(session, &probe, 1, &error));
	CHECK(!session_set_probes(session, &probe, 1, &error));
	probes_change(session, false);
	CHECK(session->tables.list[0].number == 5 && !session->next_tables.set);
	probes_change(session, true);
	CHECK(session->tables.nr == 1);
	/* Without a user, the table belongs to the session's user. */
	for (user = 0; user < 2; user++) {
		probe.target.of_user = false;
		probe.has_others = false;
		CHECK(!session_set_probes(session, &probe, 1, &error));
		probes_change(session, true);
		kept = session->tables.list;
		CHECK(kept->target.of_user == (user != 0) && kept->target.access.uid == user &&
				kept->target.access.has_gid && kept->target.access.gid == 9 &&
				kept->target.access.capabilities == 77 && kept->others == -1);
	}
	/* Refusals. */
	probe.number = 0;
	CHECK(session_set_probes(session, &probe, 1, &error) == -EINVAL);
	check_text(error.text, "a probe has no number, or names both a process and a file");
	probe.number = 5;
	probe.target.pid = 1;
	CHECK(session_set_probes(session, &probe, 1, &error) == -EINVAL);
	probe.target.exe = NULL;
	CHECK(!session_set_probes(session, &probe, 1, &error));
	CHECK(session->next_tables.list[0].target.pid == 1 &&
			!session->next_tables.list[0].target.exe);
	probe.fd = -1;
	CHECK(session_set_probes(session, &probe, 1, &error) == -EBADF);
	check_text(error.text, "cannot use a probe table: Bad file descriptor");
	/* The previous table stays. */
	CHECK(session->next_tables.nr == 1);
	probe.fd = empty;
	CHECK(session_set_probes(session, &probe, 1, &error) == -EINVAL);
	check_text(error.text, "the probe table is empty");
	probe.fd = table;
	probe.has_others = true;
	probe.others = empty;
	CHECK(session_set_probes(session, &probe, 1, &error) == -EINVAL);
	probe.others = others;
	fails_to_read = true;
	CHECK(session_set_probes(session, &probe, 1, &error) == -EIO);
	check_text(error.text, "cannot read a probe table: Input/output error");
	fails_to_read = false;
	probe.target.exe = (char *)(uintptr_t) "/x";
	probe.target.pid = 0;
	for (nr = 1; nr < 3; nr++) {
		failing_call = nr;
		CHECK(session_set_probes(session, &probe, 1, &error) == -ENOMEM && !failing_call);
		check_text(error.text, "out of memory");
	}
	/* The maximum number of probes. */
	for (size_t i = 0; i <= SESSION_PROBES_MAX; i++)
		many[i] = (struct session_table){.number = (uint32_t)i + 1, .fd = table};
	CHECK(!session_set_probes(session, many, SESSION_PROBES_MAX, &error));
	CHECK(session->next_tables.nr == SESSION_PROBES_MAX);
	CHECK(session_set_probes(session, many, SESSION_PROBES_MAX + 1, &error) == -E2BIG);
	CHECK(session->next_tables.nr == SESSION_PROBES_MAX);
	probes_free(session);
	CHECK(!session->tables.list && !session->next_tables.list);
	{
		struct session_options options = {.probes = many, .nr_probes = 2};

		CHECK(!probes_take(session, &options, &error) && session->tables.nr == 2);
		probes_free(session);
	}
	close(table);
	close(others);
	close(empty);
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- who is meant ---- */

static void test_meant(void)
{
	struct session_table kept = {.number = 1};
	struct instance instance = {
			.peer = 20, .uid = 7, .account = 7, .exe = (char *)(uintptr_t) "/x"};

	start = 100;
	CHECK(record_probes_table_is_relevant(session, &instance, &kept));
	kept.target.exe = (char *)(uintptr_t) "/x";
	CHECK(record_probes_table_is_relevant(session, &instance, &kept));
	kept.target.exe = (char *)(uintptr_t) "/y";
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	instance.exe = NULL;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	kept.target.exe = NULL;
	/* A process, and the children that it forks. */
	kept.target.pid = 20;
	kept.target.started = 120;
	/*
	 * The start time of the process is unknown: the session reads it again, and reports the
	 * reason, unless the process has ended.
	 */
	start_error = ESRCH;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept) && !*reported);
	start_error = ENOENT;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept) && !*reported);
	start_error = EMFILE;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	CHECK(!strcmp(reported,
			"cannot read the start time of process 20, so it gets no probes: Too many open files"));
	start_error = 0;
	nr_starts = 0;
	CHECK(record_probes_table_is_relevant(session, &instance, &kept) &&
			record_probes_table_is_relevant(session, &instance, &kept) &&
			nr_starts == 1);
	kept.target.started = 121;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	kept.target.pid = 21;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	instance.family = 21;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	instance.family_started = 121;
	CHECK(record_probes_table_is_relevant(session, &instance, &kept));
	instance.family = 22;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	/* Of this user only. */
	kept = (struct session_table){.target = {.of_user = true, .access = {.uid = 7, .gid = 3}}};
	CHECK(record_probes_table_is_relevant(session, &instance, &kept) && asked.gid == 3);
	has_exited = true;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	has_exited = false;
	is_allowed = false;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	is_allowed = true;
	instance.uid = 8;
	CHECK(!record_probes_table_is_relevant(session, &instance, &kept));
	kept.target.of_user = false;
	CHECK(record_probes_table_is_relevant(session, &instance, &kept));
}

static void test_families(void)
{
	struct session_table list[2] = {{.target.pid = 30},
			{.target = {.pid = 31, .exe = (char *)(uintptr_t) "/x"}}};
	struct instance parent = {.peer = 31}, child = {.peer = 40}, grandchild = {.peer = 50},
			other = {.peer = 60};

	session->tables.list = list;
	session->tables.nr = 2;
	start = 100;
	probes_inherit(session, &child, NULL);
	CHECK(!child.family);
	probes_inherit(session, &child, &parent);
	CHECK(child.family == 31 && child.family_started == 131);
	start = 200;
	probes_inherit(session, &grandchild, &child);
	CHECK(grandchild.family == 31 && grandchild.family_started == 131);
	probes_inherit(session, &other, &other);
	CHECK(!other.family && !other.family_started);
	other.exe = (char *)(uintptr_t) "/y";
	CHECK(!probes_has_exe(session, &other));
	other.exe = (char *)(uintptr_t) "/x";
	CHECK(probes_has_exe(session, &other));
	session->tables.nr = 1;
	CHECK(!probes_has_exe(session, &other));
	session->tables.nr = 0;
	session->tables.list = NULL;
}

/* ---- what they say ---- */

static void test_answers(void)
{
	struct session_table list[3] = {
			{.number = 3}, {.number = 4, .target.pid = 1}, {.number = 5}};
	struct session_table *chosen[3];
	struct wire_probe_run runs[3] = {{.first = 0, .count = 2, .state = WIRE_PROBE_JUMP},
			{.first = 2, .count = 1, .state = WIRE_PROBE_REFUSED, .error = EBUSY},
			{.first = 3, .count = 4, .state = WIRE_PROBE_REFUSED, .error = ENOMEM}};
	struct wire_probed probed = {.table = 3,
			.nr_probes = 7,
			.cut = 11,
			.lost = 12,
			.unseen = 13,
			.abandoned = 14,
			.traps = 15,
			.code_bytes = 16,
			.runs = runs,
			.nr_runs = 2};
	struct instance instance = {.peer = 20,
					.procname = (char *)(uintptr_t) "p",
					.takes_probes = true},
			second = {.peer = 21,
					.procname = (char *)(uintptr_t) "q",
					.state = INSTANCE_ENDED};
	struct session_probe_answer *answers = NULL, *answer;
	size_t nr;

	session->tables.list = list;
	session->tables.nr = 3;
	CHECK(probes_choose(session, &instance, chosen) == 2 && chosen[0] == &list[0] &&
			chosen[1] == &list[2] && instance.nr_installed == 2);
	answer = &instance.installed[0].answer;
	CHECK(answer->number == 3 && !answer->answered && !answer->error);
	/* A table that the program was not given. */
	probed.table = 4;
	CHECK(!probes_hear(&instance, &probed));
	probed.table = 3;
	probed.sequence = 1;
	CHECK(probes_hear(&instance, &probed) == -EPROTO);
	probed.sequence = 0;
	CHECK(!probes_hear(&instance, &probed));
	CHECK(answer->locations == 7 && answer->cut == 11 && answer->lost == 12 &&
			answer->unseen == 13 && answer->abandoned == 14 && answer->traps == 15 &&
			answer->code_bytes == 16 && !answer->answered);
	CHECK(answer->states[WIRE_PROBE_JUMP] == 2 && answer->states[WIRE_PROBE_REFUSED] == 1 &&
			answer->was_set);
	CHECK(answer->nr_refusals == 1 && answer->refusals[0].first == 2 &&
			answer->refusals[0].count == 1 && answer->refusals[0].error == EBUSY);
	/* The remainder of the report. */
	probed.sequence = 1;
	probed.runs = &runs[2];
	probed.nr_runs = 1;
	probed.nr_probes = 8;
	CHECK(probes_hear(&instance, &probed) == -EPROTO);
	probed.nr_probes = 7;
	runs[2].first = 4;
	probed.last = true;
	instance.installed[0].sequence = 1;
	CHECK(probes_hear(&instance, &probed) == -EPROTO && !answer->answered);
	runs[2].first = 3;
	runs[2].count = 3;
	instance.installed[0].sequence = 1;
	CHECK(probes_hear(&instance, &probed) == -EPROTO && !answer->answered);
	/* Again, from the beginning. */
	probed.sequence = 0;
	probed.last = false;
	probed.runs = runs;
	probed.nr_runs = 2;
	CHECK(!probes_hear(&instance, &probed) && answer->nr_refusals == 1 &&
			answer->states[WIRE_PROBE_REFUSED] == 1);
	probed.sequence = 1;
	probed.last = true;
	probed.runs = &runs[2];
	probed.nr_runs = 1;
	runs[2].count = 4;
	CHECK(!probes_hear(&instance, &probed) && answer->answered && answer->nr_refusals == 2 &&
			answer->states[WIRE_PROBE_REFUSED] == 5);
	/* The report about a kept table stays valid. Another program cannot report about it. */
	CHECK(probes_choose(session, &instance, chosen) == 2);
	answer = &instance.installed[0].answer;
	CHECK(answer->answered && answer->nr_refusals == 2 && answer->refusals[1].error == ENOMEM);
	CHECK(!instance.installed[1].answer.answered);
	CHECK(probes_choose(session, &second, chosen) == 0 && second.nr_installed == 2);
	CHECK(second.installed[0].answer.answered &&
			second.installed[0].answer.error == EOPNOTSUPP);
	failing_call = 1;
	CHECK(probes_choose(session, &instance, chosen) == -ENOMEM && instance.nr_installed == 2);
	CHECK(instance.installed[0].answer.nr_refusals == 2);
	/* All refusals, as a copy. */
	session->instances.list = &instance;
	instance.next = &second;
	CHECK(!session_probe_answers(session, &answers, &nr) && nr == 4 && !nr_turns);
	CHECK(answers[0].number == 3 && answers[0].pid == 20 && !answers[0].ended &&
			answers[0].nr_refusals == 2 && answers[0].refusals != answer->refusals &&
			answers[0].refusals[1].count == 4);
	check_text(answers[0].procname, "p");
	CHECK(answers[1].number == 5 && answers[2].pid == 21 && answers[2].ended &&
			answers[3].number == 5);
	session_probe_answers_free(answers, nr);
	for (unsigned int i = 1; i <= 9; i++) {
		failing_call = i;
		CHECK(session_probe_answers(session, &answers, &nr) == -ENOMEM && !failing_call);
	}
	/* Messages that were sent before are handled first, but only a limited number. */
	session->service = (struct service *)(uintptr_t)1;
	played_turns[0] = played_turns[1] = 1;
	CHECK(!session_probe_answers(session, &answers, &nr) && nr_turns == 3);
	session_probe_answers_free(answers, nr);
	nr_turns = 0;
	for (int i = 0; i < 100; i++)
		played_turns[i] = 1;
	CHECK(!session_probe_answers(session, &answers, &nr) && nr_turns == 64);
	session_probe_answers_free(answers, nr);
	session->service = NULL;
	session->instances.list = NULL;
	session->tables.list = NULL;
	session->tables.nr = 0;
	probes_forget(&instance);
	probes_forget(&second);
	CHECK(!instance.installed && !instance.nr_installed);
}

/* Refusals beyond the limit are only counted. */
static void test_refusals(void)
{
	static struct wire_probe_run runs[SESSION_PROBE_REFUSALS + 1];
	struct session_table list[1] = {{.number = 3}}, *chosen[1];
	struct instance instance = {.takes_probes = true};
	struct wire_probed probed = {.table = 3,
			.nr_probes = SESSION_PROBE_REFUSALS + 1,
			.runs = runs,
			.nr_runs = SESSION_PROBE_REFUSALS + 1,
			.last = true};

	session->tables.list = list;
	session->tables.nr = 1;
	CHECK(probes_choose(session, &instance, chosen) == 1);
	for (uint32_t i = 0; i <= SESSION_PROBE_REFUSALS; i++)
		runs[i] = (struct wire_probe_run){
				.first = i, .count = 1, .state = WIRE_PROBE_REFUSED, .error = i};
	CHECK(!probes_hear(&instance, &probed));
	CHECK(instance.installed[0].answer.nr_refusals == SESSION_PROBE_REFUSALS);
	CHECK(instance.installed[0].answer.refusals[SESSION_PROBE_REFUSALS - 1].error ==
			SESSION_PROBE_REFUSALS - 1);
	CHECK(instance.installed[0].answer.states[WIRE_PROBE_REFUSED] ==
			SESSION_PROBE_REFUSALS + 1);
	probes_forget(&instance);
	CHECK(probes_choose(session, &instance, chosen) == 1);
	failing_call = 1;
	probed.nr_runs = probed.nr_probes = 1;
	CHECK(!probes_hear(&instance, &probed) && !failing_call);
	CHECK(!instance.installed[0].answer.nr_refusals &&
			instance.installed[0].answer.states[WIRE_PROBE_REFUSED] == 1);
	probes_forget(&instance);
	session->tables.list = NULL;
	session->tables.nr = 0;
}

int main(void)
{
	alarm(50);
	session = session_allocate();
	CHECK(session);
	test_taken();
	test_meant();
	test_families();
	test_answers();
	test_refusals();
	session_destroy(session);
	return 0;
}
