/* SPDX-License-Identifier: MIT */
/*
 * Limits of a session while it records: the last permitted value, and one more. The files are
 * included; rings and clocks are played.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "abi/visit.h"
#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/connection.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/libraries.h"
#include "recorder/core/live.h"
#include "recorder/core/log-limits.h"
#include "recorder/core/memory.h"
#include "recorder/core/probes.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/core/totals.h"
#include "recorder/core/track.h"
#include "recorder/drain.h"
#include "recorder/listener.h"
#include "recorder/refusals.h"
#include "recorder/rotation/retain.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/snapshot.h"
#include "recorder/rotation/trace-end.h"
#include "recorder/rotation/trigger.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/spawn.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/output.h"
#include "recorder/storage/state-directory.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

/* ---- played functions ---- */

static unsigned int nr_copies, copies_before_one; /* of a ring */
static unsigned int nr_renames, free_number;
static unsigned int nr_lines; /* of a file below /proc */
static struct ring_clock_calibration calibration_now;
static int sample_error;
static struct instance *closed_trace;
static unsigned int nr_closed;

static int played_snapshot(
		struct ring_consumer *consumer, uint32_t ring, void *buffer, struct ring_span *span)
{
	(void)consumer;
	(void)buffer;
	CHECK(ring == 3);
	if (nr_copies++ < copies_before_one)
		return -EAGAIN;
	*span = (struct ring_span){.data = "x",
			.size = 11,
			.first_timestamp = 12,
			.end_timestamp = 13,
			.position = 14};
	return 1;
}

static uint64_t played_lost_total(const struct ring_consumer *consumer, uint32_t ring)
{
	(void)consumer;
	CHECK(ring == 3);
	return 15;
}

static int played_rename(const char *from, const char *to)
{
	unsigned int number;

	CHECK(!strcmp(from, "/from") && sscanf(to, "/out/snapshot-%u", &number) == 1);
	nr_renames++;
	errno = nr_renames % 2 ? EEXIST : ENOTEMPTY;
	return number == free_number ? 0 : -1;
}

static FILE *played_fopen(const char *path, const char *mode)
{
	FILE *file = tmpfile();

	CHECK(file && !strcmp(path, "/proc/77/cgroup") && !strcmp(mode, "re"));
	for (unsigned int i = 0; i < nr_lines; i++)
		CHECK(fprintf(file, "%u:cpu:/group%u\n", i, i) > 0);
	rewind(file);
	return file;
}

static int played_sample(enum ring_clock clock, struct ring_clock_sample *sample)
{
	(void)clock;
	*sample = (struct ring_clock_sample){.ticks = 1000};
	return sample_error;
}

static int played_calibrate(enum ring_clock clock, const struct ring_clock_sample *begin,
		const struct ring_clock_sample *end, struct ring_clock_calibration *calibration)
{
	(void)clock;
	CHECK(begin && end && end->ticks == 1000);
	*calibration = calibration_now;
	return 0;
}

static void played_trace_close(
		struct session *session, struct instance *instance, const struct ctf_clock *clock)
{
	(void)session;
	CHECK(!clock);
	closed_trace = instance;
	nr_closed++;
}

static rlim_t files_most; /* 0: the call fails */
static rlim_t files_set;

static int played_getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	if (resource != RLIMIT_NOFILE)
		return getrlimit(resource, limit);
	*limit = (struct rlimit){files_most / 2, files_most};
	return files_most ? 0 : -1;
}

static int played_setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	if (resource == RLIMIT_NOFILE) {
		CHECK(limit->rlim_cur == limit->rlim_max);
		files_set = limit->rlim_cur;
	}
	return 0;
}

#include "recorder/storage/losses.c"
#include "recorder/statistics.c"
#define trace_close played_trace_close
#include "recorder/drain.c"
#undef trace_close
#define ring_consumer_snapshot played_snapshot
#define ring_consumer_lost_total played_lost_total
#define rename played_rename
#include "recorder/rotation/snapshot.c"
#undef rename
#undef ring_consumer_lost_total
#undef ring_consumer_snapshot
#define fopen played_fopen
#include "recorder/core/track.c"
#undef fopen
#define ring_clock_sample(clock, sample) played_sample(clock, sample)
#define ring_clock_calibrate played_calibrate
#define getrlimit played_getrlimit
#define setrlimit played_setrlimit
#include "recorder/session.c"
#include "recorder/core/clock.c"
#undef setrlimit
#undef getrlimit
#undef ring_clock_calibrate
#undef ring_clock_sample

/* Whether this is the only message since the last call. */
static bool reported(struct session *session, const char *text)
{
	struct session_message message = {.text = NULL};
	bool is_good = session_take_message(session, &message) && !strcmp(message.text, text);

	if (!is_good)
		fprintf(stderr, "%s\n", message.text ? message.text : "no message");
	free(message.text);
	return is_good && !session_take_message(session, &message);
}

/* ---- losses ---- */

static char channel_name[] = "one";
static const struct channel channels[] = {{.name = channel_name}};

/* The 16384th counter is kept; all further counters are added up in one. */
static void test_losses(void)
{
	struct session *session = session_allocate();
	struct instance *instance = instance_allocate("program", "/bin/program", channels, 1);
	struct session_status_process process = {.pid = 7};
	struct ring_losses losses = {.instance = instance, .process = &process};
	struct lost_list list = {.instance = instance};
	uint64_t counts[RING_LOSS_REASONS] = {0};

	CHECK(session && instance && LIMIT_LOSSES == 16384);
	counts[RING_LOST_FULL] = 3;
	for (unsigned int i = 0; i < 16383; i++) {
		CHECK(!losses_visit(&list, 1, i, counts));
		CHECK(!statistics_visit_loss(&losses, 1, i, counts));
	}
	CHECK(list.nr == 16383 && process.nr_losses == 16383 && !list.remainder);
	CHECK(!losses_visit(&list, 2, 20000, counts));
	CHECK(!statistics_visit_loss(&losses, 2, 20000, counts));
	CHECK(list.nr == 16384 && process.nr_losses == 16384 && !list.remainder &&
			!list.incomplete);
	CHECK(list.lost[16383].key == (UINT64_C(2) << 32 | 20000 << 8 | RING_LOST_FULL) &&
			list.lost[16383].count == 3 && !list.lost[16383].in_bytes &&
			!strcmp(list.lost[16383].ring, "one_2"));
	counts[RING_LOST_BUSY] = 40;
	CHECK(!losses_visit(&list, 1, 20001, counts));
	CHECK(statistics_visit_loss(&losses, 1, 20001, counts) == 1 && !losses.no_memory);
	CHECK(list.nr == 16384 && process.nr_losses == 16384 && list.remainder == 43 &&
			!list.incomplete);
	free_list(&list);
	for (size_t i = 0; i < process.nr_losses; i++)
		free(process.losses[i].event);
	free(process.losses);
	instance_free(session, instance);
	session_destroy(session);
}

/* ---- snapshots ---- */

static void test_copies(void)
{
	struct session *session = session_allocate();
	struct instance *instance = instance_allocate("program", "/bin/program", channels, 1);
	struct instance_ring rings[4] = {{.damaged = false}};
	struct ctf_span packet = {.size = 0};
	struct ring_span span = {.size = 0};
	struct snapshot_ring_copy copy = {NULL, 0};

	CHECK(session && instance && COPIES_MAX == 20);
	instance->peer = 77;
	instance->channels[0].each = rings;
	copies_before_one = 19;
	CHECK(copy_ring(session, instance, 0, 3, &copy, &span, &packet) == 1 && nr_copies == 20);
	CHECK(packet.size == 11 && packet.timestamp_begin == 12 && packet.timestamp_end == 13 &&
			packet.events_discarded == 15 && rings[3].overwritten == 14);
	copies_before_one = 20;
	nr_copies = 0;
	span.size = 0;
	rings[3].overwritten = 5;
	CHECK(!copy_ring(session, instance, 0, 3, &copy, &span, &packet) && nr_copies == 20);
	CHECK(rings[3].overwritten == 5);
	CHECK(reported(session,
			"ring one_3 of process 77 (program) was overwritten faster than it could be read"));
	instance->channels[0].each = NULL;
	instance_free(session, instance);
	session_destroy(session);
}

static void test_snapshots(void)
{
	struct session session = {.snapshots.nr = 999997};
	struct snapshot snapshot = {.session = &session, .path = strdup("/from")};
	char name[SESSION_SNAPSHOT_NAME_MAX];
	uint32_t number = 0;

	session.output.path = strdup("/out");
	CHECK(snapshot.path && session.output.path && SNAPSHOTS_MAX == 1000000);
	/* Directories of other sessions exist. */
	free_number = 1000000;
	CHECK(!snapshot_rename_directory(&snapshot, "-x", &number, name) && number == 1000000 &&
			nr_renames == 3);
	CHECK(!strcmp(name, "snapshot-1000000-x"));
	free_number = 1000001;
	nr_renames = 0;
	CHECK(snapshot_rename_directory(&snapshot, "", &number, name) == -EEXIST &&
			nr_renames == 3);
	session.snapshots.nr = 1000000;
	nr_renames = 0;
	CHECK(snapshot_rename_directory(&snapshot, "", &number, name) == -EEXIST && !nr_renames);
	free(snapshot.path);
	free(session.output.path);
}

/* ---- control groups ---- */

static void test_groups(void)
{
	struct track_cgroups groups = {.nr = 0};

	CHECK(CGROUP_LINES_MAX == 256);
	for (nr_lines = 255; nr_lines <= 257; nr_lines++) {
		read_groups(&groups, 77);
		CHECK(groups.nr == (nr_lines < 256 ? nr_lines : 256));
		CHECK(!strcmp(groups.paths[groups.nr - 1],
				nr_lines < 256 ? "/group254" : "/group255"));
		free_groups(&groups);
		CHECK(!groups.nr);
	}
}

/* ---- the clock ---- */

/* Returns whether a conversion that differs by this time is replaced. */
static bool is_refined(int64_t difference)
{
	struct session session = {.clock.first = {.frequency = 1000000000, .offset_s = 7}};
	struct ctf_clock clock = {.frequency = 0};
	int ret;

	session.clock.first.offset = 5000000;
	calibration_now = (struct ring_clock_calibration){.frequency = 1000000000,
			.offset_s = 7,
			.offset = (uint64_t)(5000000 + difference)};
	ret = session_refined_clock(&session, &clock);
	CHECK(ret == (session.clock.is_corrected ? 0 : -ENODATA));
	CHECK(ret || clock.offset == calibration_now.offset);
	return !ret;
}

static void test_clock(void)
{
	CHECK(LIMIT_CLOCK_ERROR_NS == 100000);
	CHECK(!is_refined(0) && !is_refined(100000) && !is_refined(-100000));
	CHECK(is_refined(100001) && is_refined(-100001));
	sample_error = -EIO;
	CHECK(!is_refined(100001));
}

/* ---- files of programs that have ended ---- */

static void test_writers(void)
{
	static struct instance instances[131];
	struct session session = {.files.max_ended = UINT32_MAX};
	struct drainer drainer = {.session = &session};

	CHECK(LIMIT_OPEN_WRITERS == 128);
	pthread_mutex_init(&session.lock, NULL);
	sample_error = -EIO;
	for (unsigned int i = 0; i < 131; i++) {
		instances[i].writer = (struct ctf_writer *)(void *)&instances[i];
		instances[i].nr_streams = i;
	}
	for (unsigned int i = 0; i < 128; i++)
		keep_open(&drainer, &instances[i]);
	CHECK(drainer.nr_ended == 128 && !nr_closed && !instances[0].finished);
	CHECK(drainer.nr_ended_files == 128 * 3 + 127 * 64);
	keep_open(&drainer, &instances[128]);
	CHECK(drainer.nr_ended == 128 && nr_closed == 1 && closed_trace == &instances[0] &&
			instances[0].finished && drainer.ended[0] == &instances[1] &&
			drainer.ended[127] == &instances[128] &&
			drainer.nr_ended_files == 128 * 3 + 127 * 64 + 128);
	/* As many files as are permitted, and one more. */
	session.files.max_ended = drainer.nr_ended_files - 4 + 129 + 3;
	keep_open(&drainer, &instances[129]);
	CHECK(nr_closed == 2 && drainer.nr_ended_files == session.files.max_ended);
	/* The limit of programs closes the third one. It has 5 files, which suffice. */
	session.files.max_ended += 130 + 3 - 5;
	keep_open(&drainer, &instances[130]);
	CHECK(nr_closed == 3 && drainer.nr_ended_files == session.files.max_ended);
	/* One file less: two more are closed. */
	session.files.max_ended--;
	drainer.nr_ended--;
	drainer.nr_ended_files -= 133;
	keep_open(&drainer, &instances[130]);
	CHECK(nr_closed == 4 && closed_trace == &instances[3]);
	/* A program without files is removed at once. */
	instances[0] = (struct instance){.writer = NULL};
	keep_open(&drainer, &instances[0]);
	CHECK(instances[0].finished && nr_closed == 4);
	pthread_mutex_destroy(&session.lock);
}

/*
 * Without channels, a program needs 6 files. The files of 128 ended programs stay open, but at most
 * a quarter of all files. The recorder needs 64, and each of 512 connections one.
 */
static void test_files(void)
{
	static const struct {
		rlim_t most;
		uint32_t ended, live;
	} cases[] = {{0, 256, 32}, {3072, 768, 288}, {3071, 767, 288}, {3068, 767, 287},
			{895, 223, 16}, {894, 223, 16}, {890, 222, 16}, {100, 25, 16},
			{1344 + 6 * (1000000 - 1), 768, 1000000 - 1},
			{1344 + 6 * 1000000, 768, 1000000},
			{1344 + 6 * (1000000 + 1), 768, 1000000}, {RLIM_INFINITY, 768, 1000000}};
	struct sigaction before, now;
	struct channel few = {.rings = 3}, many = {.rings = 1u << 20};
	struct session session = {.nr_channels = 0};
	uint64_t each = 4ull * ring_possible_cpus() + 16;

	CHECK(!sigaction(SIGXFSZ, NULL, &before) && LIMIT_INSTANCES == 1000000 && LIVE_MIN == 16);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		files_most = cases[i].most;
		session_raise_files(&session);
		if (session.files.max_ended != cases[i].ended ||
				session.instances.max_live != cases[i].live ||
				files_set != (files_most ? files_most : 1024)) {
			fprintf(stderr, "case %zu: %u, %u, %llu\n", i, session.files.max_ended,
					session.instances.max_live, (unsigned long long)files_set);
			abort();
		}
		CHECK(session.files.old_number.rlim_max == files_set);
	}
	CHECK(!sigaction(SIGXFSZ, &before, &now) && now.sa_handler == SIG_IGN);
	/* At most a few rings of the channel are open at one time. */
	session.channels = &few;
	session.nr_channels = 1;
	CHECK(rings_in_use(&session) == 3 + 1);
	session.channels = &many;
	CHECK(rings_in_use(&session) == each + 1);
	many.rings = (uint32_t)each;
	CHECK(rings_in_use(&session) == each + 1);
	many.rings--;
	CHECK(rings_in_use(&session) == each);
}

/* ---- the log ---- */

/* Returns how many lines of this user are logged; each process has `of_process` of them. */
static unsigned int logged(struct session *session, uid_t uid, unsigned int of_process)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < 1000; i++)
		nr += lines_take(
				&session->reports.lines, 1, uid, 1 + (pid_t)(i / of_process % 250));
	return nr;
}

static void test_lines(void)
{
	struct service service = {.any_user = true};
	struct session *session = session_allocate();
	struct error error;
	uid_t uid = geteuid();

	/* A session with the programs of one user. */
	CHECK(session && LIMIT_LINES == 640);
	CHECK(logged(session, uid, 1000) == 640);
	session->service = &service;
	session->instances.max_live = 100;
	session->memory.limit = 1 << 30;
	CHECK(!session_open_shares(session, &error));
	CHECK(logged(session, uid, 1) == LIMIT_LINES_OF_OWNER && LIMIT_LINES_OF_OWNER == 60);
	CHECK(logged(session, uid + 1, 1) == LIMIT_LINES_OF_USER && LIMIT_LINES_OF_USER == 24);
	session_free_shares(session);
	CHECK(!session_open_shares(session, &error));
	for (unsigned int i = 0; i < 12; i++)
		CHECK(lines_take(&session->reports.lines, 1, uid, 77));
	CHECK(!lines_take(&session->reports.lines, 1, uid, 77) && LIMIT_LINES_OF_PROCESS == 12);
	CHECK(lines_take(&session->reports.lines, 1, uid, 78));
	session->service = NULL;
	session_destroy(session);
}

int main(void)
{
	struct resources before = resources_now();

	test_losses();
	test_copies();
	test_snapshots();
	test_groups();
	test_clock();
	test_writers();
	test_files();
	test_lines();
	CHECK(resources_now().descriptors == before.descriptors);
	return 0;
}
