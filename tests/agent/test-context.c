/* SPDX-License-Identifier: MIT */
/*
 * Each context of an event, compared with a source other than the one that the agent reads. Related
 * files test what changes contexts, and sets of them.
 *
 * The functions that detect changes (watch.c) are linked into this program, so it is traced as a
 * program with the preloaded library is.
 */
#include "test-context.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <side/api.h>

side_static_event(ev_app, "agent", "app", SIDE_LOGLEVEL_INFO, side_field_list());

__thread unsigned int agent_vforked; /* defined by the recorder, which is not linked */

static void *kept[1000];
static size_t nr_kept;

struct context_set *build(const char *names)
{
	struct context_spec specs[CONTEXT_SET_MAX];
	struct context_error error;
	struct context_set *set = NULL;
	int nr = context_parse_list(names, specs, CONTEXT_SET_MAX, &error);
	ssize_t size;

	if (nr < 0)
		fail_msg("%s: column %u: %s", names, error.column, error.text);
	size = context_set_size(specs, (size_t)nr);
	assert_true(size > 0);
	/* It lives until the end: threads may read it. */
	assert_true(nr_kept < sizeof(kept) / sizeof(kept[0]));
	kept[nr_kept] = malloc((size_t)size);
	assert_non_null(kept[nr_kept]);
	assert_int_equal(context_set_build(specs, (size_t)nr, kept[nr_kept++], (size_t)size, &set),
			0);
	return set;
}

/* Writes the set twice. The bytes must be the same (unless the values change on their own). */
size_t write_set(const struct context_set *set, uint8_t *bytes, size_t size)
{
	uint8_t *behind;

	errno = 4711;
	behind = context_write(set, bytes, bytes + size, caller);
	assert_int_equal(errno, 4711);
	assert_non_null(behind);
	return (size_t)(behind - bytes);
}

uint64_t number_of(const struct context_set *set, size_t size)
{
	uint8_t bytes[256];
	uint32_t small;
	uint64_t large;

	assert_int_equal(write_set(set, bytes, sizeof(bytes)), size);
	memcpy(&small, bytes, sizeof(small));
	memcpy(&large, bytes, sizeof(large));
	return size == 4 ? small : large;
}

void expect_text(const struct context_set *set, const char *text)
{
	char bytes[5000];
	size_t size = write_set(set, (uint8_t *)bytes, sizeof(bytes));

	assert_int_equal(bytes[size - 1], 0);
	assert_string_equal(bytes, text);
	assert_int_equal(size, strlen(text) + 1);
}

static void read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_non_null(fgets(line, (int)size, file));
	fclose(file);
	line[strcspn(line, "\n")] = 0;
}

static unsigned int count_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int nr = 0;

	assert_non_null(folder);
	while (readdir(folder))
		nr++;
	closedir(folder);
	return nr;
}

/*
 * Runs the body in a child, so that its changes end with the child. Returns the status of the body.
 */
int in_child(int (*body)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child)
		_exit(body());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status))
		fail_msg("killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

/* Runs the body in a thread. */
void in_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

struct context_set *set_vpid, *set_vtid, *set_tid, *set_procname, *set_thread_name, *set_uid,
		*set_euid, *set_suid, *set_gid, *set_egid, *set_sgid, *set_three;

static int build_sets(void **state)
{
	(void)state;
	set_vpid = build("vpid");
	set_vtid = build("vtid");
	set_tid = build("tid");
	set_procname = build("procname");
	set_thread_name = build("thread_name");
	set_uid = build("uid");
	set_euid = build("euid");
	set_suid = build("suid");
	set_gid = build("gid");
	set_egid = build("egid");
	set_sgid = build("sgid");
	set_three = build("vpid,vtid,procname");
	return 0;
}

/* ---- the source of each context ---- */

static void ids(void **state)
{
	char line[300];
	uid_t uids[3];
	gid_t gids[3];
	char *end;

	(void)state;
	assert_int_equal(number_of(set_vpid, 4), getpid());
	assert_int_equal(number_of(set_vtid, 4), syscall(SYS_gettid));
	/* Detects the namespace of /proc: by the first of the numbers that it shows. */
	read_line("/proc/thread-self/stat", line, sizeof(line));
	assert_int_equal(number_of(set_tid, 4), strtol(line, &end, 10));
	getresuid(&uids[0], &uids[1], &uids[2]);
	getresgid(&gids[0], &gids[1], &gids[2]);
	assert_int_equal(number_of(set_uid, 4), uids[0]);
	assert_int_equal(number_of(set_euid, 4), uids[1]);
	assert_int_equal(number_of(set_suid, 4), uids[2]);
	assert_int_equal(number_of(set_gid, 4), gids[0]);
	assert_int_equal(number_of(set_egid, 4), gids[1]);
	assert_int_equal(number_of(set_sgid, 4), gids[2]);
}

static void namespaces(void **state)
{
	static const char *const names[] = {
			"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"};
	size_t i;

	(void)state;
	for (i = 0; i < 8; i++) {
		char path[64], name[32];
		struct stat status = {0};

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		snprintf(name, sizeof(name), "%s_ns", names[i]);
		if (stat(path, &status))
			status.st_ino = 0;
		assert_true(number_of(build(name), 8) == status.st_ino);
	}
}

static void cgroup(void **state)
{
	char line[4200], path[4200] = "";
	FILE *file = fopen("/proc/self/cgroup", "r");

	(void)state;
	if (!file)
		skip();
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "0::", 3))
			strcpy(path, line + 3);
		else if (strstr(line, ":name=systemd:") && !*path)
			strcpy(path, strstr(line, ":name=systemd:") + 14);
	}
	fclose(file);
	if (!*path)
		skip();
	expect_text(build("cgroup"), path);
}

static void position(void **state)
{
	const struct context_set *cpu = build("cpu_id");
	cpu_set_t before, one;
	int i;

	(void)state;
	assert_true(number_of(build("ip"), 8) == (uintptr_t)caller);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &before))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		assert_int_equal(number_of(cpu, 4), i);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* ---- counters ---- */

static void between(const char *name, uint64_t (*now)(void))
{
	const struct context_set *set = build(name);
	uint64_t before, value, after;

	before = now();
	value = number_of(set, 8);
	after = now();
	if (value < before || value > after)
		fail_msg("%s: %llu is not between %llu and %llu", name, (unsigned long long)value,
				(unsigned long long)before, (unsigned long long)after);
}

static struct rusage usage(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage;
}

static uint64_t all_faults(void)
{
	return (uint64_t)(usage().ru_minflt + usage().ru_majflt);
}

static uint64_t minor_faults(void)
{
	return (uint64_t)usage().ru_minflt;
}

static uint64_t major_faults(void)
{
	return (uint64_t)usage().ru_majflt;
}

static uint64_t switches(void)
{
	return (uint64_t)(usage().ru_nvcsw + usage().ru_nivcsw);
}

static uint64_t clock_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void software_counters(void **state)
{
	(void)state;
	between("perf:thread:page-faults", all_faults);
	between("perf:thread:minor-faults", minor_faults);
	between("perf:thread:major-faults", major_faults);
	between("perf:thread:context-switches", switches);
	between("perf:thread:task-clock", clock_ns);
	/* The counters count. */
	usleep(1000);
	assert_true(number_of(build("perf:thread:context-switches"), 8) > 0);
}

static void *count_in_thread(void *set)
{
	uint64_t first = number_of(set, 8);
	volatile unsigned int i;

	for (i = 0; i < 10000; i++)
		;
	assert_true(number_of(set, 8) >= first + 10000);
	return NULL;
}

static void hardware_counters(void **state)
{
	struct context_set *set = build("perf:thread:instructions");
	struct context_spec spec;
	struct context_error error;
	struct filter_value value;
	unsigned int i;

	(void)state;
	assert_int_equal(context_parse("perf:thread:instructions", &spec, &error), 0);
	if (!context_check(&spec, &error)) {
		assert_true(number_of(set, 8) == UINT64_MAX);
		assert_false(context_set_load(set, 0, caller, &value));
		return;
	}
	count_in_thread(set);
	/* More threads than a process may have pages at a time. */
	for (i = 0; i < 300; i++)
		in_thread(count_in_thread, set);
}

static int count_in_child(void)
{
	/* The child does not have its parent's page, and must not read it. */
	uint64_t value = number_of(build("perf:thread:instructions"), 8);

	return value == UINT64_MAX || value < 1000000000u ? 0 : 1;
}

static void counters_after_fork(void **state)
{
	(void)state;
	number_of(build("perf:thread:instructions"), 8);
	assert_int_equal(in_child(count_in_child), 0);
}

/* ---- names ---- */

struct named_thread {
	pthread_barrier_t barrier;
	pthread_t main_thread;
};

static void *be_named(void *argument)
{
	struct named_thread *thread = argument;
	char path[64], line[64];

	assert_int_equal(prctl(PR_SET_NAME, "first"), 0);
	expect_text(set_thread_name, "first");
	assert_int_equal(pthread_setname_np(pthread_self(), "second"), 0);
	expect_text(set_thread_name, "second");
	assert_int_equal(syscall(SYS_prctl, PR_SET_NAME, "third", 0, 0, 0), 0);
	expect_text(set_thread_name, "third");
	snprintf(path, sizeof(path), "/proc/self/task/%ld/comm", syscall(SYS_gettid));
	read_line(path, line, sizeof(line));
	assert_string_equal(line, "third");
	assert_int_equal(number_of(set_vtid, 4), syscall(SYS_gettid));
	assert_int_equal(number_of(set_vpid, 4), getpid());
	/* The main thread sets another name of this thread. */
	pthread_barrier_wait(&thread->barrier);
	pthread_barrier_wait(&thread->barrier);
	expect_text(set_thread_name, "by-another-one");
	expect_text(set_procname, "the-process");
	/* This thread sets the name of the main thread, which is the process's. */
	assert_int_equal(pthread_setname_np(thread->main_thread, "from-outside"), 0);
	expect_text(set_procname, "from-outside");
	expect_text(set_thread_name, "by-another-one");
	pthread_barrier_wait(&thread->barrier);
	pthread_barrier_wait(&thread->barrier);
	expect_text(set_procname, "fifteen-letters");
	return NULL;
}

static void names(void **state)
{
	struct named_thread thread = {.main_thread = pthread_self()};
	char line[64];
	pthread_t other;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "the-process"), 0);
	expect_text(set_procname, "the-process");
	expect_text(set_thread_name, "the-process");
	pthread_barrier_init(&thread.barrier, NULL, 2);
	assert_int_equal(pthread_create(&other, NULL, be_named, &thread), 0);
	pthread_barrier_wait(&thread.barrier);
	assert_int_equal(pthread_setname_np(other, "by-another-one"), 0);
	pthread_barrier_wait(&thread.barrier);
	pthread_barrier_wait(&thread.barrier);
	expect_text(set_procname, "from-outside");
	expect_text(set_thread_name, "from-outside");
	/* The kernel truncates the name. */
	assert_int_equal(prctl(PR_SET_NAME, "fifteen-letters-and-more"), 0);
	read_line("/proc/self/comm", line, sizeof(line));
	expect_text(set_procname, line);
	pthread_barrier_wait(&thread.barrier);
	assert_int_equal(pthread_join(other, NULL), 0);
	pthread_barrier_destroy(&thread.barrier);
	/* A failed call changes nothing. */
	assert_int_equal(pthread_setname_np(pthread_self(), "much-too-long-for-this"), ERANGE);
	expect_text(set_thread_name, line);
}

/* ---- values that stay ---- */

static void *write_all(void *set)
{
	uint8_t bytes[5000];

	write_set(set, bytes, sizeof(bytes));
	return NULL;
}

static void no_files_stay(void **state)
{
	struct context_set *set = build("procname,tid,net_ns,cgroup,perf:thread:instructions");
	unsigned int before = count_files();
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		in_thread(write_all, set);
		assert_int_equal(pthread_setname_np(pthread_self(), "files"), 0);
	}
	write_all(set);
	assert_int_equal(count_files(), before);
}

/* All of it runs in a callback, where contexts of applications are available. */
static int result = 1;

static void callback(const struct side_event_description *description,
		const struct side_arg_vec *values, void *priv, void *unused)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(ids),
			cmocka_unit_test(namespaces),
			cmocka_unit_test(cgroup),
			cmocka_unit_test(position),
			cmocka_unit_test(software_counters),
			cmocka_unit_test(hardware_counters),
			cmocka_unit_test(counters_after_fork),
			cmocka_unit_test(names),
			cmocka_unit_test(forks),
			cmocka_unit_test(clones),
			cmocka_unit_test(vforks),
			cmocka_unit_test(rights),
			cmocka_unit_test(rights_by_system_call),
			cmocka_unit_test(new_namespaces),
			cmocka_unit_test(sandboxes),
			cmocka_unit_test(shapes),
			cmocka_unit_test(empty_set),
			cmocka_unit_test(bad_specs),
			cmocka_unit_test(applications),
			cmocka_unit_test(recursive),
			cmocka_unit_test(loads),
			cmocka_unit_test(in_signal_handlers),
			cmocka_unit_test(no_files_stay),
	};

	(void)description;
	(void)values;
	(void)priv;
	(void)unused;
	result = cmocka_run_group_tests(tests, build_sets, NULL);
}

int main(void)
{
	static char shapes_of[][8] = {"text", "number", "big", "half", "truth", "nothing"};
	size_t i;

	for (i = 0; i < sizeof(shapes_of) / sizeof(shapes_of[0]); i++)
		if (side_context_register("shape", shapes_of[i], get_shape, shapes_of[i], NULL))
			return 1;
	if (side_tracer_callback_register(&ev_app, callback, NULL, 0))
		return 1;
	side_event(ev_app, side_arg_list());
	return result;
}
