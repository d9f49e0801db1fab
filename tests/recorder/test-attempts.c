/* SPDX-License-Identifier: MIT */
/*
 * The number of attempts of a session: names that exist, files in the way, locked directories. Also
 * the limits of stored rates and of stored refused probes. The files are included; file systems and
 * clocks are played.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "abi/visit.h"
#include "ctf/ctf.h"
#include "protocol/boot.h"
#include "protocol/context.h"
#include "protocol/protocol.h"
#include "recorder/core/access.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/exit-status.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/probes.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/core/totals.h"
#include "recorder/recovery/journal-scan.h"
#include "recorder/recovery/recover-folder.h"
#include "recorder/recovery/recovered.h"
#include "recorder/rotation/retain.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/snapshot.h"
#include "recorder/rotation/trigger.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/chunk-names.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/found.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/maps-file.h"
#include "recorder/storage/output.h"
#include "recorder/storage/state-directory.h"
#include "recorder/storage/trace.h"
#include "ring/ring.h"

/* ---- played functions ---- */

static unsigned int nr_tries, good_try; /* the number of the attempt that succeeds; 0: none does */
static int try_error = EEXIST;
static char last_name[256];
static unsigned int nr_pauses;

static int played_try(const char *name)
{
	snprintf(last_name, sizeof(last_name), "%s", name);
	errno = try_error;
	return ++nr_tries == good_try ? 0 : -1;
}

static int played_mkdirat(int folder, const char *name, mode_t mode)
{
	CHECK(folder == 77 && mode == 0755);
	return played_try(name);
}

static int played_mkdir(const char *path, mode_t mode)
{
	CHECK(mode == CTF_DIRECTORY_MODE);
	return played_try(path);
}

static int played_unlinkat(int folder, const char *name, int flags)
{
	(void)flags;
	CHECK(folder == 77 && !strcmp(name, "name"));
	errno = ENOTEMPTY;
	return -1;
}

static int played_renameat2(
		int folder, const char *from, int to_folder, const char *to, unsigned int flags)
{
	CHECK(folder == 77 && to_folder == 77 && !strcmp(from, "name") &&
			flags == RENAME_NOREPLACE);
	return played_try(to);
}

static int played_flock(int fd, int operation)
{
	CHECK(fd == 77 && operation == (LOCK_EX | LOCK_NB));
	return played_try("lock");
}

static int played_nanosleep(const struct timespec *pause, struct timespec *left)
{
	CHECK(!pause->tv_sec && pause->tv_nsec == 10000000 && !left);
	nr_pauses++;
	return 0;
}

static int played_writer(const struct ctf_writer_config *config, struct ctf_writer **writer,
		struct error *error)
{
	(void)error;
	*writer = NULL;
	return played_try(config->dir) ? -errno : 0;
}

/* The file with the lock of a recorder. */
static int events_error, lock_error;

static int played_openat(int folder, const char *name, int flags, ...)
{
	CHECK(folder == 77 && !strcmp(name, FOUND_EVENTS));
	CHECK(flags == (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	errno = events_error;
	return events_error ? -1 : 0;
}

static int played_lock(int fd, int operation)
{
	CHECK(!fd && operation == (LOCK_SH | LOCK_NB));
	errno = lock_error;
	return lock_error ? -1 : 0;
}

static unsigned int nr_closed;

static int played_close(int fd)
{
	CHECK(!fd);
	nr_closed++;
	return 0;
}

#define mkdirat played_mkdirat
#define openat(folder, name, ...) played_openat(folder, name, __VA_ARGS__)
#define flock(fd, operation) played_lock(fd, operation)
#define close(fd) played_close(fd)
#include "recorder/storage/buffers.c"
#undef mkdirat
#include "recorder/recovery/recover-folder.c"
#undef openat
#undef flock
#undef close
#undef NAME_TRIES
#define unlinkat played_unlinkat
#define renameat2 played_renameat2
#include "recorder/core/facts.c"
#undef renameat2
#undef unlinkat
#define mkdir played_mkdir
#include "recorder/rotation/rotate.c"
#undef mkdir
#undef NAME_TRIES
#define ctf_writer_create played_writer
#include "recorder/storage/trace.c"
#undef ctf_writer_create
#define flock played_flock
#define nanosleep played_nanosleep
#include "recorder/storage/state-directory.c"
#undef nanosleep
#undef flock
#include "recorder/core/probes.c"
#include "recorder/rotation/trigger.c"

static void begin(unsigned int good, int error)
{
	nr_tries = nr_pauses = 0;
	good_try = good;
	try_error = error;
}

static bool is_last(const char *name)
{
	if (!strcmp(last_name, name))
		return true;
	fprintf(stderr, "%s\n", last_name);
	return false;
}

/* ---- names ---- */

static char procname[] = "program";

static void test_folders(void)
{
	struct session session = {.buffers.fd = 77};
	struct instance instance = {.procname = procname, .pid = 12, .number = 3};
	char name[64];

	snprintf(name, sizeof(name), "program-12-%u", 3 + 99 * LIMIT_INSTANCES);
	begin(1, EEXIST);
	CHECK(!make_folder(&session, &instance) && !strcmp(instance.folder, "program-12-3"));
	free(instance.folder);
	begin(100, EEXIST);
	CHECK(!make_folder(&session, &instance) && !strcmp(instance.folder, name));
	free(instance.folder);
	instance.folder = NULL;
	begin(101, EEXIST);
	CHECK(make_folder(&session, &instance) == -EEXIST && nr_tries == 100 && !instance.folder);
	begin(0, ENOSPC);
	CHECK(make_folder(&session, &instance) == -ENOSPC && nr_tries == 1);
}

/* Rings are not read while their recorder runs, or if the lock cannot be checked. */
static void test_recorder(void)
{
	static const struct {
		int open, lock, result;
	} cases[] = {{0, 0, 0}, {0, EWOULDBLOCK, 1}, {ENOENT, 0, 0}, {EMFILE, 0, -EMFILE},
			{EACCES, 0, -EACCES}, {0, ENOLCK, -ENOLCK}};
	struct session session = {.buffers.fd = 77};
	struct error error;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		events_error = cases[i].open;
		lock_error = cases[i].lock;
		nr_closed = 0;
		CHECK(recover_folder_has_recorder(77) == cases[i].result &&
				nr_closed == !cases[i].open);
		if (!cases[i].result)
			continue;
		CHECK(!recover_folder_load_instance(&session, 77, NULL, &error));
		if (cases[i].result > 0)
			CHECK(!strcmp(error.text,
					"its recorder still runs, and writes the trace when it ends"));
		else
			CHECK(!strncmp(error.text, "events: ", 8) &&
					!strcmp(error.text + 8, strerror(-cases[i].result)));
	}
}

/* A file that cannot be removed is renamed. */
static void test_aside(void)
{
	begin(1, EEXIST);
	facts_clear_path(77, "name");
	CHECK(nr_tries == 1 && is_last(".name.old-0"));
	begin(100, EEXIST);
	facts_clear_path(77, "name");
	CHECK(nr_tries == 100 && is_last(".name.old-99"));
	begin(101, EEXIST);
	facts_clear_path(77, "name");
	CHECK(nr_tries == 100);
	begin(0, ENOENT);
	facts_clear_path(77, "name");
	CHECK(nr_tries == 1);
}

static void test_chunks(void)
{
	static char output[] = "/out";
	struct session session = {.output.path = output,
			.rotation = {.chunks = true, .numbers_read = true, .number = 6}};
	struct error error;

	begin(1000, EEXIST);
	CHECK(!make_chunk(&session, &error) && session.rotation.number == 1006 &&
			!strncmp(session.rotation.path, "/out/.chunk-1006-", 17));
	free(session.rotation.path);
	session.rotation.path = NULL;
	session.rotation.number = 6;
	begin(1001, EEXIST);
	CHECK(make_chunk(&session, &error) == -EEXIST && nr_tries == 1000 &&
			session.rotation.number == 1006 && !session.rotation.path);
	CHECK(!strcmp(error.text, "cannot make a chunk in /out: File exists"));
	/* A full disk uses up no number. */
	begin(0, ENOSPC);
	CHECK(make_chunk(&session, &error) == -ENOSPC && nr_tries == 1 &&
			session.rotation.number == 1006);
	begin(0, EACCES);
	CHECK(make_chunk(&session, &error) == -EACCES && nr_tries == 1 &&
			session.rotation.number == 1007);
}

static void test_traces(void)
{
	static char output[] = "/out";
	struct session session = {.output.path = output, .trace_hooks = &rotate_trace_hooks};
	struct instance instance = {.procname = procname, .pid = 12, .number = 3};
	struct error error;
	char name[64];

	pthread_mutex_init(&session.lock, NULL);
	begin(1, EEXIST);
	CHECK(!begin_trace(&session, &instance, &error) && is_last("/out/program-12-3") &&
			!strcmp(instance.directory, "program-12-3") &&
			session.drain.writers == &instance);
	unlink_writer(&instance);
	begin(100, EEXIST);
	snprintf(name, sizeof(name), "/out/program-12-%u", 3 + 99 * LIMIT_INSTANCES);
	CHECK(!begin_trace(&session, &instance, &error) && nr_tries == 100 && is_last(name) &&
			!strcmp(instance.directory, name + 5));
	unlink_writer(&instance);
	begin(101, EEXIST);
	CHECK(begin_trace(&session, &instance, &error) == -EEXIST && nr_tries == 100 &&
			!session.drain.writers);
	begin(0, ENOSPC);
	CHECK(begin_trace(&session, &instance, &error) == -ENOSPC && nr_tries == 1);
	free(instance.directory);
	pthread_mutex_destroy(&session.lock);
}

/* ---- locks ---- */

/* A recorder that is asked to exit has 2 seconds to do so. */
static void test_locks(void)
{
	struct error error;

	begin(1, EWOULDBLOCK);
	CHECK(!lock_directory(77, "/place", &error) && !nr_pauses);
	begin(201, EWOULDBLOCK);
	CHECK(!lock_directory(77, "/place", &error) && nr_tries == 201 && nr_pauses == 200);
	begin(202, EWOULDBLOCK);
	CHECK(lock_directory(77, "/place", &error) == -EBUSY && nr_tries == 201 &&
			nr_pauses == 200);
	CHECK(strstr(error.text, "another recorder uses it") &&
			!strcmp(error.hint, "end that recorder first"));
	begin(0, EBADF);
	CHECK(lock_directory(77, "/place", &error) == -EBADF && nr_tries == 1);
}

/* ---- probes and rates ---- */

static void test_refusals(void)
{
	struct session_probe_answer answer = {.refusals = NULL};

	for (uint32_t i = 1; i <= 257; i++) {
		const struct wire_probe_run run = {.first = 10 * i, .count = i, .error = EPERM};

		record_probes_add_refusal(&answer, &run);
		CHECK(answer.refusals && answer.nr_refusals == (i <= 256 ? i : 256));
	}
	CHECK(answer.refusals[255].first == 2560 && answer.refusals[255].count == 256 &&
			answer.refusals[255].error == EPERM);
	free(answer.refusals);
}

/*
 * A rate is compared with the count of the last second, of which 32 samples are kept, at most one
 * each 50 ms.
 */
static void test_samples(void)
{
	const uint64_t ms = 1000000;
	struct trigger trigger = {.kind = TRIGGER_RATE, .limit = 1000};
	uint64_t now = 0;

	trigger.nr_samples = 1;
	trigger_check_rate(&trigger, 50 * ms - 1);
	CHECK(trigger.nr_samples == 1);
	trigger_check_rate(&trigger, 50 * ms);
	CHECK(trigger.nr_samples == 2 && trigger.samples[1].time == 50 * ms);
	/* Of samples older than a second the last one stays. */
	for (now = 100 * ms; now <= 1000 * ms; now += 50 * ms)
		trigger_check_rate(&trigger, now);
	CHECK(trigger.nr_samples == 21 && !trigger.samples[0].time);
	trigger_check_rate(&trigger, 1000 * ms + 1);
	CHECK(trigger.nr_samples == 20 && trigger.samples[0].time == 50 * ms);
	trigger_check_rate(&trigger, 1050 * ms);
	CHECK(trigger.nr_samples == 21 && trigger.samples[0].time == 50 * ms);
	CHECK(!trigger.above && !trigger.due);
	/* The limit in a second, and one more. */
	trigger.count = 1000;
	trigger_check_rate(&trigger, 1050 * ms);
	CHECK(!trigger.above && !trigger.due);
	trigger.count = 1001;
	trigger_check_rate(&trigger, 1050 * ms);
	CHECK(trigger.above && trigger.due);
	/*
	 * The rate stays above the limit: the next snapshot is due only after the rate was below
	 * it.
	 */
	trigger.due = false;
	trigger_check_rate(&trigger, 1050 * ms + 1);
	CHECK(trigger.above && !trigger.due);
	/* No sample is added to 32. */
	trigger.nr_samples = 32;
	for (unsigned int i = 0; i < 32; i++)
		trigger.samples[i].time = 2000 * ms + i;
	trigger_check_rate(&trigger, 2900 * ms);
	CHECK(trigger.nr_samples == 32 && trigger.samples[31].time == 2000 * ms + 31);
	trigger.nr_samples = 31;
	trigger_check_rate(&trigger, 2900 * ms);
	CHECK(trigger.nr_samples == 32 && trigger.samples[31].time == 2900 * ms &&
			trigger.samples[31].count == 1001);
}

int main(void)
{
	struct resources before = resources_now();

	test_folders();
	test_recorder();
	test_aside();
	test_chunks();
	test_traces();
	test_locks();
	test_refusals();
	test_samples();
	CHECK(resources_now().descriptors == before.descriptors);
	return 0;
}
