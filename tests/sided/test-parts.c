/* SPDX-License-Identifier: MIT */
/*
 * Parts of the daemon, each by itself: probe tables at their limits, rules that are pushed to
 * programs, timers, references.
 */
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"
#include "programs/sided/sided.h"
#include "recorder/core/live.h"
#include "protocol/runtime.h"
#include "protocol/protocol.h"

static char folder[] = "/tmp/side-sided-XXXXXX";

/* ---- functions that these parts call ---- */

static unsigned int nr_reported;

void log_message(const char *format, ...)
{
	(void)format;
	nr_reported++;
}

static bool has_long_runtime;

bool runtime_path(const struct daemon *daemon, char *path, size_t capacity, const char *format, ...)
{
	va_list arguments;
	int size = snprintf(path, capacity, "%s/", daemon->runtime);

	va_start(arguments, format);
	size += vsnprintf(path + size, capacity - (size_t)size, format, arguments);
	va_end(arguments);
	return !has_long_runtime && (size_t)size < capacity;
}

static const char *pushed_messages = "";
static size_t push_size;

size_t session_take_messages(struct session *session, void *bytes, size_t capacity)
{
	(void)session;
	assert_int_equal(capacity, WIRE_PUSH_MAX);
	memcpy(bytes, pushed_messages, push_size);
	return push_size;
}

/* The messages of a push are not checked here. */
ssize_t wire_encode_push(void *message, size_t capacity, const struct wire_push *push)
{
	(void)message;
	assert_int_equal(push->base, 4);
	assert_int_equal(push->session, 1);
	assert_int_equal(push->size, 4);
	return capacity < 5 ? -EMSGSIZE : 33;
}

/* ---- probe tables ---- */

#define ALL_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

static struct definition definitions[2] = {
		{.name = (char *)(uintptr_t) "one"}, {.name = (char *)(uintptr_t) "two"}};
static struct session_entry entries[2] = {
		{.definition = &definitions[0], .uid = 1000, .next = &entries[1]},
		{.definition = &definitions[1], .uid = 1000}};
static struct daemon the_daemon = {.sessions = entries};

/* Creates a sealed table of that size with known bytes. */
static int make_table(size_t size, int seals)
{
	int fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	unsigned char bytes[1000];

	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7);
	assert_int_equal(pwrite(fd, bytes, size < sizeof(bytes) ? size : sizeof(bytes), 0),
			size < sizeof(bytes) ? size : sizeof(bytes));
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void store(const struct session_entry *entry, int fd, int expected, const char *text)
{
	struct error error = {.code = 0};

	assert_int_equal(table_store(&the_daemon, entry, 7, fd, &error), expected);
	if (text && !strstr(error.text, text))
		fail_msg("%s instead of %s", error.text, text);
	if (fd >= 0)
		close(fd);
}

static off_t size_of(const char *name)
{
	char path[128];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s/" WIRE_RUNTIME_STATE "/%s", folder, name);
	return stat(path, &status) ? -1 : status.st_size;
}

/* Creates a sparse file of that size. */
static void make_file(const char *name, off_t size)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/" WIRE_RUNTIME_STATE "/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

static void test_tables(void **unused)
{
	static const char wrong[] =
			"the descriptor of the request is not a probe table: a sealed memfd";
	struct resources before;
	char path[128], bytes[200001];
	int fd, other, ends[2];

	(void)unused;
	(void)snprintf(path, sizeof(path), "%s/" WIRE_RUNTIME_STATE, folder);
	assert_int_equal(mkdir(path, 0700), 0);
	before = resources_now();
	store(entries, -1, -EINVAL, "the request has no descriptor of a probe table");
	store(entries, make_table(0, ALL_SEALS), -EPERM, wrong);
	store(entries, make_table(9, ALL_SEALS & ~F_SEAL_WRITE), -EPERM, wrong);
	store(entries, make_table(9, ALL_SEALS & ~F_SEAL_GROW), -EPERM, wrong);
	store(entries, make_table(9, ALL_SEALS & ~F_SEAL_SHRINK), -EPERM, wrong);
	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	store(entries, ends[0], -EPERM, wrong);
	store(entries, make_table(DEFINITION_PROBE_TABLE_MAX + 1, ALL_SEALS), -EFBIG,
			"the probe table has 33554433 bytes, more than 32 MiB");
	assert_int_equal(size_of("one.probes/7"), -1);
	/* All bytes of a table that is larger than one piece. It replaces an earlier table. */
	store(entries, make_table(9, ALL_SEALS), 0, NULL);
	assert_int_equal(size_of("one.probes/7"), 9);
	fd = make_table(200000, ALL_SEALS);
	other = dup(fd);
	store(entries, fd, 0, NULL);
	assert_int_equal(size_of("one.probes/7"), 200000);
	(void)snprintf(path, sizeof(path), "%s/" WIRE_RUNTIME_STATE "/one.probes/7", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 200000);
	for (size_t i = 0; i < 200000; i++)
		assert_int_equal((unsigned char)bytes[i], i < 1000 ? (unsigned char)(i * 7) : 0);
	close(fd);
	close(other);
	/* All tables of the session, at the limit and one byte more. */
	unlink(path);
	make_file("one.probes/8", DEFINITION_PROBE_TABLES_MAX - 10);
	store(entries, make_table(10, ALL_SEALS), 0, NULL);
	unlink(path);
	store(entries, make_table(11, ALL_SEALS), -ENOSPC,
			"the probe tables of the session would exceed 128 MiB");
	assert_int_equal(size_of("one.probes/7"), -1);
	/* All sessions of members share one limit. A session of root does not count. */
	the_daemon.system = true;
	make_file("one.probes/8", 0);
	make_file("one.probes/9", (off_t)LIMIT_TABLES_OF_MEMBERS);
	store(&entries[1], make_table(1000, ALL_SEALS), -ENOSPC,
			"cannot keep the probe table: your sessions have 0 MiB left for tables, and this one has 0 MiB");
	assert_int_equal(size_of("two.probes/7"), -1);
	entries[0].uid = 0;
	store(&entries[1], make_table(1000, ALL_SEALS), 0, NULL);
	assert_int_equal(size_of("two.probes/7"), 1000);
	/*
	 * Only tables that the definition names are kept. With the last one, the directory is
	 * removed.
	 */
	definitions[0].probes = calloc(2, sizeof(*definitions[0].probes));
	definitions[0].nr_probes = 2;
	assert_non_null(definitions[0].probes);
	definitions[0].probes[0].table = 3;
	definitions[0].probes[1].table = 9;
	make_file("one.probes/3x", 1);
	make_file("one.probes/3", 1);
	tables_prune(&the_daemon, &entries[0]);
	assert_int_equal(size_of("one.probes/3x"), -1);
	assert_int_equal(size_of("one.probes/8"), -1);
	assert_int_equal(size_of("one.probes/3"), 1);
	assert_int_equal(size_of("one.probes/9"), LIMIT_TABLES_OF_MEMBERS);
	tables_remove(&the_daemon, &entries[0]);
	assert_int_equal(size_of("one.probes"), -1);
	assert_int_equal(definitions[0].nr_probes, 2);
	tables_remove(&the_daemon, &entries[1]);
	assert_int_equal(size_of("two.probes"), -1);
	tables_remove(&the_daemon, &entries[1]);
	free(definitions[0].probes);
	assert_int_equal(resources_now().descriptors, before.descriptors);
	(void)snprintf(path, sizeof(path), "%s/" WIRE_RUNTIME_STATE, folder);
	assert_int_equal(rmdir(path), 0);
}

/* ---- rules that are pushed ---- */

/* Passes the part of an answer that the daemon keeps. Size 0: none. */
static void take(struct session_entry *entry, const char *text, size_t size)
{
	struct json_object *answer = json_object_new_object(), *found;

	json_object_object_add(answer, "rules", json_object_new_string(text));
	push_take(&the_daemon, entry, 4, answer);
	assert_int_equal(entry->push.size, size);
	assert_int_equal(!entry->push.bytes, !size);
	assert_int_equal(entry->push.reported, the_daemon.serial + 1);
	assert_false(json_object_object_get_ex(answer, "rules", &found));
	json_object_put(answer);
}

/* Each call that can fail while a table is copied. No file remains. */
static void test_failed_tables(void **unused)
{
	struct rlimit limit, small;
	char path[128], below[160], text[256];
	struct resources before = resources_now();

	(void)unused;
	has_long_runtime = true;
	store(entries, make_table(9, ALL_SEALS), -ENAMETOOLONG,
			"cannot keep the probe table in the runtime directory: File name too long");
	has_long_runtime = false;
	/* No state directory. */
	(void)snprintf(path, sizeof(path), "%s/" WIRE_RUNTIME_STATE, folder);
	(void)snprintf(text, sizeof(text),
			"cannot keep the probe table in %s/one.probes: No such file or directory",
			path);
	store(entries, make_table(9, ALL_SEALS), -ENOENT, text);
	/* A directory in place of the file. */
	(void)snprintf(below, sizeof(below), "%s/one.probes", path);
	assert_false(mkdir(path, 0700) || mkdir(below, 0700));
	(void)snprintf(below, sizeof(below), "%s/one.probes/7", path);
	assert_int_equal(mkdir(below, 0700), 0);
	(void)snprintf(text, sizeof(text), "cannot keep the probe table in %s: File exists", below);
	store(entries, make_table(9, ALL_SEALS), -EEXIST, text);
	assert_int_equal(rmdir(below), 0);
	/* A file system that is full after one piece. */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = (struct rlimit){.rlim_cur = 70000, .rlim_max = limit.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	(void)snprintf(text, sizeof(text), "cannot keep the probe table in %s: File too large",
			below);
	for (unsigned int more = 0; more < 2; more++) {
		int fd = make_table(70000 + more, ALL_SEALS);

		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
		store(entries, fd, more ? -EFBIG : 0, more ? text : NULL);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_int_equal(size_of("one.probes/7"), more ? -1 : 70000);
	}
	signal(SIGXFSZ, SIG_DFL);
	assert_true(resources_are_same(before, resources_now()));
	(void)snprintf(below, sizeof(below), "%s/one.probes", path);
	assert_false(rmdir(below) || rmdir(path));
}

static void test_push(void **unused)
{
	static const unsigned char bytes[] = {0x00, 0x9f, 0xa0, 0xf9};
	static char large[2 * WIRE_PUSH_MAX + 3];
	struct session_entry entry = {.generation = 5};
	struct sided_program program = {.known = 0};
	struct json_object *answer = json_object_new_object(), *text;
	char message[256];

	(void)unused;
	/* From the session process to the daemon. */
	push_put(NULL, answer);
	assert_false(json_object_object_get_ex(answer, "rules", &text));
	pushed_messages = (const char *)bytes;
	push_size = sizeof(bytes);
	push_put(NULL, answer);
	assert_true(json_object_object_get_ex(answer, "rules", &text));
	assert_string_equal(json_object_get_string(text), "009fa0f9");
	json_object_put(answer);
	the_daemon.serial = 10;
	entry.push.reported = 8;
	take(&entry, "009fa0f9", 4);
	assert_memory_equal(entry.push.bytes, bytes, 4);
	assert_int_equal(entry.push.base, 4);
	assert_int_equal(entry.push.since, 8);
	/* Pushed only to programs with the previous rules. */
	for (program.known = 6; program.known < 14; program.known++)
		assert_int_equal(push_add(&entry, &program, 1, message, sizeof(message)),
				program.known >= 8 && program.known < 11 ? 33 : 0);
	program.known = 8;
	assert_int_equal(push_add(&entry, NULL, 1, message, sizeof(message)), 0);
	assert_int_equal(push_add(&entry, &program, 1, message, 4), 0);
	/* Values that are not a list of bytes. */
	take(&entry, "", 0);
	take(&entry, "0", 0);
	take(&entry, "0g", 0);
	take(&entry, "g0", 0);
	take(&entry, "/0", 0);
	take(&entry, ":0", 0);
	take(&entry, "`0", 0);
	take(&entry, "A0", 0);
	memset(large, 'f', sizeof(large) - 1);
	take(&entry, large, 0);
	large[2 * WIRE_PUSH_MAX] = '\0';
	take(&entry, large, WIRE_PUSH_MAX);
	/* An answer without a change keeps the rules. */
	answer = json_object_new_object();
	push_take(&the_daemon, &entry, 5, answer);
	assert_int_equal(entry.push.size, WIRE_PUSH_MAX);
	push_take(&the_daemon, &entry, 4, answer);
	assert_null(entry.push.bytes);
	json_object_object_add(answer, "rules", json_object_new_int(5));
	push_take(&the_daemon, &entry, 4, answer);
	assert_null(entry.push.bytes);
	json_object_put(answer);
	program.known = 10;
	assert_int_equal(push_add(&entry, &program, 1, message, sizeof(message)), 0);
}

/* ---- timers ---- */

#define TIMERS 200

static struct timer timers[TIMERS];
static size_t order[TIMERS], nr_expired;

static void note(struct daemon *daemon, struct timer *timer)
{
	assert_int_equal(timer->base.is_set, 0);
	order[nr_expired++] = (size_t)(timer - timers);
	if (!daemon->loop.timers)
		daemon->stop = true;
}

static void destroy(struct daemon *daemon, struct sided_object *object)
{
	(void)daemon;
	(void)object;
	nr_reported += 100;
}

/*
 * Moves each timer to a different time in the past. They expire in this order, except cancelled
 * ones.
 */
static void test_timers(void **unused)
{
	struct daemon daemon = {.loop = {.epoll = -1}};
	size_t expected = 0;
	uint64_t last = 0;

	(void)unused;
	assert_int_equal(loop_open(&daemon), 0);
	for (size_t i = 0; i < TIMERS; i++)
		loop_timer(&daemon, &timers[i], 1000 + i * 7919 % TIMERS, note);
	/* A timer that is set again is in the list once. */
	loop_timer(&daemon, &timers[5], 2000, note);
	for (size_t i = 0; i < TIMERS; i += 3)
		loop_cancel(&daemon, &timers[i]);
	loop_cancel(&daemon, &timers[0]);
	for (size_t i = 0; i < TIMERS; i++) {
		assert_int_equal(!timers[i].base.is_set, i % 3 == 0);
		expected += i % 3 != 0;
		timers[i].base.deadline -= 10000 * UINT64_C(1000000);
	}
	assert_int_equal(loop_run(&daemon), 0);
	assert_int_equal(nr_expired, expected);
	for (size_t i = 0; i < nr_expired; i++) {
		assert_true(order[i] % 3 != 0 && timers[order[i]].base.deadline >= last);
		last = timers[order[i]].base.deadline;
	}
	assert_int_equal(order[nr_expired - 1], 5);
	loop_close(&daemon);
}

/* A timer and a watch keep their owner, which is freed once, at the end of the round. */
static void test_owners(void **unused)
{
	struct resources before = resources_now();
	struct daemon daemon = {.loop = {.epoll = -1}};
	struct sided_object object;
	struct timer timer = {.owner = &object};
	struct sided_watch watch = {.owner = &object};
	int ends[2];

	(void)unused;
	nr_reported = 0;
	assert_int_equal(loop_open(&daemon), 0);
	assert_int_equal(pipe(ends), 0);
	object_init(&object, destroy);
	assert_int_equal(objects_left(), 1);
	loop_timer(&daemon, &timer, 100000, note);
	assert_int_equal(loop_watch(&daemon, &watch, ends[0], EPOLLIN, NULL), 0);
	assert_int_equal(object.nr_refs, 3);
	object_close(&daemon, &object);
	object_close(&daemon, &object);
	assert_int_equal(object.nr_refs, 2);
	loop_cancel(&daemon, &timer);
	loop_unwatch(&daemon, &watch);
	assert_int_equal(watch.fd, -1);
	loop_unwatch(&daemon, &watch);
	assert_int_equal(object.nr_refs, 0);
	assert_int_equal(nr_reported, 0);
	/* An object that is used again in this round stays. */
	object_get(&object);
	objects_free_unused(&daemon);
	assert_int_equal(nr_reported, 0);
	object_put(&daemon, &object);
	objects_free_unused(&daemon);
	assert_int_equal(nr_reported, 100);
	assert_int_equal(objects_left(), 0);
	/* A watch that cannot be made has no descriptor and no reference. */
	watch.owner = &object;
	object_init(&object, destroy);
	assert_int_equal(loop_watch(&daemon, &watch, -1, EPOLLIN, NULL), -EBADF);
	assert_int_equal(watch.fd, -1);
	assert_int_equal(object.nr_refs, 1);
	loop_close(&daemon);
	assert_int_equal(nr_reported, 101);
	object_put(&daemon, &object);
	objects_free_unused(&daemon);
	close(ends[1]);
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

/* ---- failing calls of the loop ---- */

static struct {
	unsigned int waits, failed_waits; /* number of calls; the first failed_waits of them fail */
	unsigned int good_wait;           /* but not the one with this number; 0: all of them */
	int wait_error;
	unsigned int failed_reallocs; /* this number of the next calls fail */
	/* of epoll_ctl(): EPOLL_CTL_MOD fails, or both it and EPOLL_CTL_ADD */
	int failed_operation;
} loop_calls;

int __real_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout);
int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
	if (loop_calls.waits++ >= loop_calls.failed_waits)
		return __real_epoll_wait(epoll, events, most, timeout);
	errno = loop_calls.wait_error;
	return loop_calls.waits == loop_calls.good_wait ? 0 : -1;
}

int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	if (!loop_calls.failed_operation ||
			(operation != EPOLL_CTL_MOD && operation != loop_calls.failed_operation))
		return __real_epoll_ctl(epoll, operation, fd, event);
	errno = ENOMEM;
	return -1;
}

void *__wrap_realloc(void *old, size_t size)
{
	if (!loop_calls.failed_reallocs)
		return __real_realloc(old, size);
	loop_calls.failed_reallocs--;
	errno = ENOMEM;
	return NULL;
}

static void stop(struct daemon *daemon, struct timer *timer)
{
	(void)timer;
	daemon->stop = true;
}

static int run_with_failed_waits(struct daemon *daemon, unsigned int failed, int error)
{
	struct timer timer = {.owner = NULL};
	int ret;

	daemon->stop = false;
	loop_calls.waits = 0;
	loop_calls.failed_waits = failed;
	loop_calls.wait_error = error;
	loop_timer(daemon, &timer, 20, stop);
	ret = loop_run(daemon);
	loop_cancel(daemon, &timer);
	loop_calls.failed_waits = 0;
	return ret;
}

/*
 * 16 failed waits in a row change nothing, one more ends the loop. A signal is no failure, and
 * timers expire meanwhile.
 */
static void test_failed_waits(void **unused)
{
	struct daemon daemon = {.loop = {.epoll = -1}};
	struct timer due = {.owner = NULL};

	(void)unused;
	assert_int_equal(loop_open(&daemon), 0);
	assert_int_equal(run_with_failed_waits(&daemon, 16, EIO), 0);
	assert_true(loop_calls.waits > 16);
	assert_int_equal(run_with_failed_waits(&daemon, 17, EIO), -EIO);
	assert_int_equal(loop_calls.waits, 17);
	assert_int_equal(run_with_failed_waits(&daemon, 17, EBADF), -EBADF);
	assert_int_equal(run_with_failed_waits(&daemon, 40, EINTR), 0);
	assert_true(loop_calls.waits > 40);
	/* Two times 16 with a good one in between. */
	loop_calls.good_wait = 17;
	assert_int_equal(run_with_failed_waits(&daemon, 33, EIO), 0);
	loop_calls.good_wait = 18;
	assert_int_equal(run_with_failed_waits(&daemon, 33, EIO), -EIO);
	loop_calls.good_wait = 0;
	loop_timer(&daemon, &due, 0, stop);
	daemon.stop = false;
	loop_calls.waits = 0;
	loop_calls.failed_waits = 1;
	loop_calls.wait_error = EIO;
	assert_int_equal(loop_run(&daemon), 0);
	assert_int_equal(loop_calls.waits, 1);
	loop_calls.failed_waits = 0;
	loop_close(&daemon);
}

/* A timer needs no memory of its own: otherwise a lost timer would keep a request for ever. */
static void test_no_memory_for_timers(void **unused)
{
	struct daemon daemon = {.loop = {.epoll = -1}};

	(void)unused;
	assert_int_equal(loop_open(&daemon), 0);
	nr_reported = 0;
	loop_calls.failed_reallocs = UINT_MAX;
	for (size_t i = 0; i < TIMERS; i++)
		loop_timer(&daemon, &timers[i], 100000 + i, note);
	loop_calls.failed_reallocs = 0;
	for (size_t i = 0; i < TIMERS; i++) {
		assert_true(timers[i].base.is_set);
		loop_cancel(&daemon, &timers[i]);
	}
	assert_int_equal(nr_reported, 0);
	assert_null(daemon.loop.timers);
	loop_close(&daemon);
}

static uint32_t ready_events;

static void ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	(void)watch;
	ready_events = events;
	daemon->stop = true;
}

/*
 * If the kernel refuses a change of events, a new registration makes it. If that fails too, the
 * daemon reports it.
 */
static void test_failed_changes(void **unused)
{
	struct daemon daemon = {.loop = {.epoll = -1}};
	struct sided_watch watch = {.fd = -1};
	int ends[2];

	(void)unused;
	assert_int_equal(loop_open(&daemon), 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(loop_watch(&daemon, &watch, ends[1], 0, ready), 0);
	nr_reported = 0;
	loop_calls.failed_operation = EPOLL_CTL_MOD;
	loop_change(&daemon, &watch, EPOLLOUT);
	assert_int_equal(watch.events, EPOLLOUT);
	assert_int_equal(nr_reported, 0);
	assert_int_equal(loop_run(&daemon), 0);
	assert_int_equal(ready_events, EPOLLOUT);
	loop_calls.failed_operation = EPOLL_CTL_ADD;
	loop_change(&daemon, &watch, 0);
	assert_int_equal(nr_reported, 1);
	loop_calls.failed_operation = 0;
	loop_unwatch(&daemon, &watch);
	close(ends[0]);
	loop_close(&daemon);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_tables),
			cmocka_unit_test(test_failed_tables),
			cmocka_unit_test(test_push),
			cmocka_unit_test(test_timers),
			cmocka_unit_test(test_owners),
			cmocka_unit_test(test_failed_waits),
			cmocka_unit_test(test_no_memory_for_timers),
			cmocka_unit_test(test_failed_changes),
	};
	int failed;

	alarm(50);
	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(the_daemon.runtime, sizeof(the_daemon.runtime), "%s", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
