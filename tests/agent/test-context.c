/* SPDX-License-Identifier: MIT */
/*
 * Contexts of an event, each against another source than the one it was made from; and what
 * changes them: names, ids, namespaces, forks of every kind, sandboxes.
 *
 * The functions that say what has changed (context-watch.c) are linked into this program, so it is
 * traced as a program with the preloaded library is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <side/api.h>
#include <side/context.h>

#include "agent/context.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

__thread unsigned int agent_vforked; /* of the recorder, which is not here */

static const void *const caller = (const void *)0x1122334455667788;

static void *kept[1000];
static size_t nr_kept;

static struct context_set *build(const char *names)
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
	/* It stays until the end: threads may look at it. */
	assert_true(nr_kept < sizeof(kept) / sizeof(kept[0]));
	kept[nr_kept] = malloc((size_t)size);
	assert_non_null(kept[nr_kept]);
	assert_int_equal(context_set_build(specs, (size_t)nr, kept[nr_kept++], (size_t)size, &set),
			0);
	return set;
}

/* The bytes, which must be the same the next time (unless they change by themselves). */
static size_t write_set(const struct context_set *set, uint8_t *bytes, size_t size)
{
	uint8_t *behind;

	errno = 4711;
	behind = context_write(set, bytes, bytes + size, caller);
	assert_int_equal(errno, 4711);
	assert_non_null(behind);
	return (size_t)(behind - bytes);
}

static uint64_t number_of(const struct context_set *set, size_t size)
{
	uint8_t bytes[256];
	uint32_t small;
	uint64_t large;

	assert_int_equal(write_set(set, bytes, sizeof(bytes)), size);
	memcpy(&small, bytes, sizeof(small));
	memcpy(&large, bytes, sizeof(large));
	return size == 4 ? small : large;
}

static void expect_text(const struct context_set *set, const char *text)
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

/* In a child, so that what it does to itself ends with it. The status it returns. */
static int in_child(int (*body)(void))
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

/* In a thread. */
static void in_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static struct context_set *set_vpid, *set_vtid, *set_tid, *set_procname, *set_thread_name, *set_uid,
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

/* ---- where each comes from ---- */

static void ids(void **state)
{
	char line[300];
	uid_t uids[3];
	gid_t gids[3];
	char *end;

	(void)state;
	assert_int_equal(number_of(set_vpid, 4), getpid());
	assert_int_equal(number_of(set_vtid, 4), syscall(SYS_gettid));
	/* The namespace of /proc: first of the numbers that it shows. */
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

static void place(void **state)
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
	/* They do count. */
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
	char sentence[400];
	unsigned int i;

	(void)state;
	assert_int_equal(context_parse("perf:thread:instructions", &spec, &error), 0);
	if (!context_check(&spec, sentence, sizeof(sentence))) {
		assert_true(number_of(set, 8) == UINT64_MAX);
		assert_false(context_set_load(set, 0, caller, &value));
		return;
	}
	count_in_thread(set);
	/* More threads than pages that a process may have at a time. */
	for (i = 0; i < 300; i++)
		in_thread(count_in_thread, set);
}

static int count_in_child(void)
{
	/* The parent's page is not there: this must not touch it. */
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
	/* The main thread gives us another name. */
	pthread_barrier_wait(&thread->barrier);
	pthread_barrier_wait(&thread->barrier);
	expect_text(set_thread_name, "by-another-one");
	expect_text(set_procname, "the-process");
	/* And we give it one, which is that of the process. */
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
	/* The kernel cuts. */
	assert_int_equal(prctl(PR_SET_NAME, "fifteen-letters-and-more"), 0);
	read_line("/proc/self/comm", line, sizeof(line));
	expect_text(set_procname, line);
	pthread_barrier_wait(&thread.barrier);
	assert_int_equal(pthread_join(other, NULL), 0);
	pthread_barrier_destroy(&thread.barrier);
	/* What fails changes nothing. */
	assert_int_equal(pthread_setname_np(pthread_self(), "much-too-long-for-this"), ERANGE);
	expect_text(set_thread_name, line);
}

/* ---- children ---- */

static pid_t parent;

static int is_myself(void)
{
	uint8_t bytes[128];
	int32_t both[2];

	context_write(set_three, bytes, bytes + sizeof(bytes), caller);
	memcpy(both, bytes, sizeof(both));
	if (both[0] != (int32_t)syscall(SYS_getpid) || both[1] != (int32_t)syscall(SYS_gettid))
		return 1;
	return both[0] == parent ? 2 : 0;
}

static int child_in_child(void)
{
	int status;
	pid_t child;

	if (is_myself())
		return 1;
	parent = getpid();
	child = fork();
	if (!child)
		_exit(is_myself());
	waitpid(child, &status, 0);
	return status;
}

/* As after the bare system call: none of the C library's handlers run. */
static int bare_fork(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	int status;

	if (!child)
		syscall(SYS_exit_group, is_myself());
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void *fork_in_thread(void *unused)
{
	(void)unused;
	assert_int_equal(prctl(PR_SET_NAME, "forking"), 0);
	is_myself();
	assert_int_equal(in_child(is_myself), 0);
	return NULL;
}

static int named_by_thread(void)
{
	/* The one thread of the child is its main thread, and has the name of the one that forked. */
	uint8_t bytes[64];

	context_write(set_procname, bytes, bytes + sizeof(bytes), caller);
	return strcmp((const char *)bytes, "forking") != 0;
}

static void *fork_names(void *unused)
{
	(void)unused;
	assert_int_equal(prctl(PR_SET_NAME, "forking"), 0);
	expect_text(set_procname, "parent");
	assert_int_equal(in_child(named_by_thread), 0);
	return NULL;
}

static void forks(void **state)
{
	(void)state;
	parent = getpid();
	is_myself();
	assert_int_equal(in_child(is_myself), 0);
	assert_int_equal(in_child(child_in_child), 0);
	assert_int_equal(bare_fork(), 0);
	in_thread(fork_in_thread, NULL);
	assert_int_equal(prctl(PR_SET_NAME, "parent"), 0);
	in_thread(fork_names, NULL);
	parent = 0;
	assert_int_equal(is_myself(), 0);
}

static int child_in_our_memory(void *argument)
{
	bool *seen = argument;

	*seen = is_myself() == 0;
	prctl(PR_SET_NAME, "clone");
	/* A launcher's child that locks itself up must not make us believe that we are. */
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_exit, 0);
	return 0;
}

static void clones(void **state)
{
	static _Alignas(16) char stack[65536];
	bool seen = false;
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "parent"), 0);
	parent = getpid();
	expect_text(set_procname, "parent");
	child = clone(child_in_our_memory, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
			&seen);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && seen);
	assert_int_equal(agent_vforked, 0);
	parent = 0;
	assert_int_equal(is_myself(), 0);
	expect_text(set_procname, "parent");
	/* Names still are asked for. */
	assert_int_equal(prctl(PR_SET_NAME, "parent2"), 0);
	expect_text(set_procname, "parent2");
	/* The arguments arrive as they were given. */
	errno = 0;
	assert_int_equal(clone(child_in_our_memory, NULL, SIGCHLD, NULL), -1);
	assert_int_equal(errno, EINVAL);
}

/* What it learns of itself is its own; what its parent knew stays. */
static void vforks(void **state)
{
#ifndef SANITIZED
	volatile bool seen = false;
	int status;
	pid_t child;

	assert_int_equal(prctl(PR_SET_NAME, "parent"), 0);
	parent = getpid();
	expect_text(set_procname, "parent");
	child = vfork();
	if (!child) {
		uint8_t bytes[64];

		agent_vforked = 1; /* as the recorder's vfork() does */
		prctl(PR_SET_NAME, "vchild");
		context_write(set_procname, bytes, bytes + sizeof(bytes), caller);
		seen = is_myself() == 0 && !strcmp((const char *)bytes, "vchild");
		_exit(0);
	}
	agent_vforked = 0;
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(seen);
	expect_text(set_procname, "parent");
	expect_text(set_thread_name, "parent");
	parent = 0;
	assert_int_equal(is_myself(), 0);
#endif
	(void)state;
}

/* ---- rights ---- */

static pthread_barrier_t rights_barrier;
static int other_thread_sees;

static void *see_rights(void *unused)
{
	uint64_t before = number_of(set_euid, 4);

	(void)unused;
	pthread_barrier_wait(&rights_barrier);
	pthread_barrier_wait(&rights_barrier);
	other_thread_sees = before == 0 && number_of(set_euid, 4) == 1002 &&
			number_of(set_suid, 4) == 1003;
	return NULL;
}

static int change_rights(void)
{
	pthread_t other;

	number_of(set_uid, 4);
	if (setegid(2001) || number_of(set_egid, 4) != 2001 || number_of(set_gid, 4) != 0)
		return 1;
	if (setregid(2002, 2003) || number_of(set_gid, 4) != 2002 || number_of(set_egid, 4) != 2003)
		return 2;
	if (setresgid(2004, 2005, 2006) || number_of(set_sgid, 4) != 2006)
		return 3;
	if (setgid(2007) || number_of(set_gid, 4) != 2007 || number_of(set_sgid, 4) != 2007)
		return 4;
	if (syscall(SYS_setresgid, 2008, 2009, 2010) || number_of(set_egid, 4) != 2009)
		return 5;
	if (setgroups(0, NULL))
		return 6;
	if (seteuid(1000) || number_of(set_euid, 4) != 1000 || number_of(set_uid, 4) != 0)
		return 7;
	if (seteuid(0) || number_of(set_euid, 4) != 0)
		return 8;
	/* Of all threads at once, as POSIX has it. */
	pthread_barrier_init(&rights_barrier, NULL, 2);
	if (pthread_create(&other, NULL, see_rights, NULL))
		return 9;
	pthread_barrier_wait(&rights_barrier);
	if (setresuid(0, 1002, 1003))
		return 10;
	pthread_barrier_wait(&rights_barrier);
	pthread_join(other, NULL);
	if (!other_thread_sees)
		return 11;
	if (setresuid(0, 0, 0) || setreuid(1004, 1005) || number_of(set_uid, 4) != 1004)
		return 12;
	errno = 0;
	if (setuid(4) != -1 || errno != EPERM || number_of(set_uid, 4) != 1004)
		return 13;
	return 0;
}

static void rights(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(in_child(change_rights), 0);
}

static int raw_rights(void)
{
	number_of(set_uid, 4);
	if (syscall(SYS_setresuid, 1006, 1007, 1008))
		return 1;
	return number_of(set_uid, 4) == 1006 && number_of(set_euid, 4) == 1007 &&
					number_of(set_suid, 4) == 1008
			? 0
			: 2;
}

static void rights_by_system_call(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(in_child(raw_rights), 0);
}

static struct context_set *set_uts, *set_net, *set_user;

static uint64_t inode(const char *name)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/thread-self/ns/%s", name);
	return stat(path, &status) ? 0 : status.st_ino;
}

static int enter_namespaces(void)
{
	uint64_t before = number_of(set_uts, 8);
	int home = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	if (unshare(CLONE_NEWUTS))
		return 77;
	if (number_of(set_uts, 8) != inode("uts") || number_of(set_uts, 8) == before)
		return 1;
	if (setns(home, CLONE_NEWUTS) || number_of(set_uts, 8) != before)
		return 2;
	if (syscall(SYS_unshare, CLONE_NEWNET))
		return 77;
	return number_of(set_net, 8) == inode("net") ? 0 : 3;
}

static int map_user(void)
{
	uint64_t before = number_of(set_user, 8);
	uid_t mine = getuid();
	char map[64];
	int file;

	number_of(set_uid, 4);
	if (unshare(CLONE_NEWUSER))
		return 77;
	if (number_of(set_user, 8) == before || number_of(set_user, 8) != inode("user"))
		return 1;
	if (number_of(set_uid, 4) != getuid())
		return 2;
	/* No call that we see gives the id its meaning. */
	file = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	snprintf(map, sizeof(map), "12 %u 1\n", (unsigned int)mine);
	if (write(file, map, strlen(map)) != (ssize_t)strlen(map))
		return 77;
	return number_of(set_uid, 4) == 12 && getuid() == 12 ? 0 : 3;
}

static void new_namespaces(void **state)
{
	int ret;

	(void)state;
	set_uts = build("uts_ns");
	set_net = build("net_ns");
	set_user = build("user_ns");
	ret = in_child(enter_namespaces);
	if (ret == 77)
		skip();
	assert_int_equal(ret, 0);
	ret = in_child(map_user);
	if (ret == 77)
		skip();
	assert_int_equal(ret, 0);
}

/* ---- sandboxes ---- */

static struct context_set *set_all;

static int strict(void)
{
	uint8_t bytes[5000];
	uint8_t *behind;
	int32_t vpid = getpid();
	uint64_t faults;

	/* No event has come before: what is needed is read when the sandbox begins. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 77;
	behind = context_write(set_three, bytes, bytes + sizeof(bytes), caller);
	if (!behind || memcmp(bytes, &vpid, 4) || strcmp((char *)bytes + 8, "sandbox"))
		syscall(SYS_exit, 1);
	behind = context_write(set_all, bytes, bytes + sizeof(bytes), caller);
	if (!behind || memcmp(bytes, &vpid, 4))
		syscall(SYS_exit, 2);
	/* The last one is a counter of the kernel's. */
	memcpy(&faults, behind - 8, 8);
	syscall(SYS_exit, faults == UINT64_MAX ? 0 : 3);
	return 4;
}

/* Kills for all that contexts ask, but for what a new thread is asked for anyway. */
static int enter_filter(void)
{
	struct sock_filter filter[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getresuid, 8, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getresgid, 7, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_readlinkat, 6, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 5, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 4, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 3, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 2, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 1, 0),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int in_filter;

static void *born_in_filter(void *unused)
{
	uint8_t bytes[5000];
	int32_t vpid = getpid(), vtid = (int32_t)syscall(SYS_gettid);

	(void)unused;
	if (!context_write(set_all, bytes, bytes + sizeof(bytes), caller) ||
			memcmp(bytes, &vpid, 4) || memcmp(bytes + 4, &vtid, 4) ||
			strcmp((char *)bytes + 8, "sandbox"))
		in_filter = 2;
	return NULL;
}

static int filtered(void)
{
	uint8_t bytes[5000];
	pthread_t thread;

	in_filter = 0;
	if (enter_filter())
		return 77;
	if (!context_write(set_all, bytes, bytes + sizeof(bytes), caller))
		in_filter = 1;
	if (pthread_create(&thread, NULL, born_in_filter, NULL))
		return 3;
	pthread_join(thread, NULL);
	return in_filter;
}

static int failed_sandbox(void)
{
	/* Neither works: arguments are missing. */
	if (prctl(PR_SET_SECCOMP, 99) != -1 ||
			syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1)
		return 1;
	prctl(PR_SET_NAME, "outside");
	expect_text(set_procname, "outside");
	return 0;
}

static void sandboxes(void **state)
{
	int ret;

	(void)state;
	set_all = build("vpid,vtid,procname,tid,uid,gid,net_ns,uts_ns,thread_name,cgroup,cpu_id,"
			"perf:thread:instructions,perf:thread:page-faults");
	assert_int_equal(prctl(PR_SET_NAME, "sandbox"), 0);
	assert_int_equal(in_child(failed_sandbox), 0);
#ifndef SANITIZED
	/* Those of a sanitizer, at exit and in new threads, make calls of their own. */
	ret = in_child(strict);
	if (ret == 77)
		skip();
	assert_int_equal(ret, 0);
	ret = in_child(filtered);
	if (ret == 77)
		skip();
	assert_int_equal(ret, 0);
#else
	(void)ret;
	(void)strict;
	(void)filtered;
#endif
}

/* ---- sets of any shape ---- */

/* One by one they must give what they give together, in any room that is large enough. */
static void shapes(void **state)
{
	static const char *const rows[] = {
			"vpid",
			"ip",
			"vpid,vtid,procname",
			"ip,vpid,ip",
			"procname,ip,thread_name,vtid",
			"uid,euid,suid,gid,egid,sgid,vpid,vtid,tid",
			"vpid,vtid,tid,procname,thread_name,uid,gid,net_ns,mnt_ns,user_ns,uts_ns,"
			"ip",
			"cgroup,vpid,cgroup",
			"app:shape:text,vpid,app:shape:number,procname,app:shape:nothing,ip",
			"app:shape:text,app:shape:number,app:shape:truth,app:shape:half,ip,cgroup,"
			"app:shape:nothing,app:a:a,app:a:b,app:a:c,app:a:d,vpid",
			"perf:thread:instructions,vpid",
	};
	size_t i, room;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct context_spec specs[CONTEXT_SET_MAX];
		struct context_error error;
		uint8_t together[6000], again[6000], expected[6000];
		const struct context_set *set = build(rows[i]);
		size_t size = 0, written;
		int nr = context_parse_list(rows[i], specs, CONTEXT_SET_MAX, &error);
		int k;

		for (k = 0; k < nr; k++)
			size += write_set(build(specs[k].name), expected + size,
					sizeof(expected) - size);
		/* Twice: what is kept is used the second time. */
		assert_int_equal(write_set(set, together, sizeof(together)), size);
		assert_memory_equal(together, expected, size);
		assert_int_equal(write_set(set, again, sizeof(again)), size);
		assert_memory_equal(again, expected, size);
		for (room = 0; room < size + 500; room++) {
			uint8_t *behind;

			memset(again, 0xee, sizeof(again));
			behind = context_write(set, again, again + room, caller);
			if (room < size) {
				assert_null(behind);
			} else {
				written = (size_t)(behind - again);
				assert_int_equal(written, size);
				assert_memory_equal(again, expected, size);
			}
			assert_int_equal(again[room], 0xee);
			assert_int_equal(again[room + 1], 0xee);
		}
	}
}

static void empty_set(void **state)
{
	uint8_t bytes[200];
	struct context_set *set;
	uint64_t memory[16];

	(void)state;
	assert_int_equal(context_set_build(NULL, 0, memory, sizeof(memory), &set), 0);
	assert_ptr_equal(context_write(set, bytes, bytes + sizeof(bytes), caller), bytes);
	assert_ptr_equal(context_write(set, bytes, bytes + sizeof(bytes), caller), bytes);
	assert_ptr_equal(context_write(set, bytes, bytes, caller), bytes);
}

static void bad_specs(void **state)
{
	static struct context_spec specs[CONTEXT_SET_MAX + 1];
	struct context_error error;
	struct context_set *set;
	uint64_t memory[16];
	size_t i;

	(void)state;
	for (i = 0; i <= CONTEXT_SET_MAX; i++)
		assert_int_equal(context_parse("vpid", &specs[i], &error), 0);
	assert_int_equal(context_set_size(specs, CONTEXT_SET_MAX + 1), -E2BIG);
	assert_int_equal(context_set_build(specs, 1, memory, 8, &set), -ENOSPC);
	specs[0].kind = CONTEXT_KINDS;
	assert_int_equal(context_set_size(specs, 1), -EINVAL);
	assert_int_equal(context_parse("app:a:b", &specs[0], &error), 0);
	specs[0].label_at = 200;
	assert_int_equal(context_set_build(specs, 1, memory, sizeof(memory), &set), -EINVAL);
}

/* ---- the application's ---- */

side_static_event(ev_app, "agent", "app", SIDE_LOGLEVEL_INFO, side_field_list());

static void get_shape(struct side_context_value *value, void *priv)
{
	const char *name = priv;

	errno = EDOM;
	if (!strcmp(name, "text"))
		side_context_set_string(value, "some text");
	else if (!strcmp(name, "number"))
		side_context_set_int64(value, -7);
	else if (!strcmp(name, "big"))
		side_context_set_uint64(value, UINT64_MAX);
	else if (!strcmp(name, "half"))
		side_context_set_double(value, 0.5);
	else if (!strcmp(name, "truth"))
		side_context_set_bool(value, 1);
}

static void expect_application(const char *name, const void *bytes, size_t size)
{
	uint8_t written[200];
	char full[64];

	snprintf(full, sizeof(full), "app:shape:%s", name);
	assert_int_equal(write_set(build(full), written, sizeof(written)), size);
	assert_memory_equal(written, bytes, size);
}

static void applications(void **state)
{
	struct filter_value value;
	struct context_set *set;

	(void)state;
	expect_application("number", "\1\371\377\377\377\377\377\377\377", 9);
	expect_application("big", "\2\377\377\377\377\377\377\377\377", 9);
	expect_application("half", "\3\0\0\0\0\0\0\340\77", 9);
	expect_application("text", "\4some text", 11);
	expect_application("truth", "\5\1", 2);
	expect_application("nothing", "\0", 1);
	expect_application("nobody", "\0", 1);

	set = build("app:shape:number,app:shape:big,app:shape:half,app:shape:text,app:shape:truth,"
		    "app:shape:nothing,app:shape:nobody");
	assert_true(context_set_load(set, 0, caller, &value));
	assert_true(value.kind == FILTER_INT && !value.is_unsigned && value.s == -7);
	assert_true(context_set_load(set, 1, caller, &value));
	assert_true(value.kind == FILTER_INT && value.is_unsigned && value.u == UINT64_MAX);
	assert_true(context_set_load(set, 2, caller, &value));
	assert_true(value.kind == FILTER_DOUBLE && value.f == 0.5);
	assert_true(context_set_load(set, 3, caller, &value));
	assert_true(value.kind == FILTER_STRING && value.size == FILTER_TERMINATED);
	assert_string_equal(value.text, "some text");
	assert_true(context_set_load(set, 4, caller, &value));
	assert_true(value.kind == FILTER_INT && value.u == 1);
	assert_false(context_set_load(set, 5, caller, &value));
	assert_false(context_set_load(set, 6, caller, &value));
	assert_false(context_set_load(set, 7, caller, &value));
}

static struct context_set *set_recursive;
static unsigned int recursions;

static void get_recursive(struct side_context_value *value, void *priv)
{
	uint8_t bytes[64];

	(void)priv;
	recursions++;
	/* An event in the function, which has this context, too. */
	context_write(set_recursive, bytes, bytes + sizeof(bytes), caller);
	side_context_set_int64(value, 5);
}

static void recursive(void **state)
{
	struct side_context_handle *handle;
	uint8_t bytes[64];

	(void)state;
	set_recursive = build("app:recursive:number,app:recursive:number2");
	assert_int_equal(side_context_register("recursive", "number", get_recursive, NULL, &handle),
			0);
	recursions = 0;
	write_set(set_recursive, bytes, sizeof(bytes));
	assert_int_equal(bytes[0], CONTEXT_TAG_INT64);
	assert_int_equal(bytes[1], 5);
	assert_int_equal(recursions, 2);
	write_set(set_recursive, bytes, sizeof(bytes));
	assert_int_equal(recursions, 4);
	side_context_unregister(handle);
}

/* ---- values for filters ---- */

static void loads(void **state)
{
	static const char *const text[] = {"procname", "thread_name", "cgroup"};
	static const char *const number[] = {
			"vpid", "vtid", "uid", "gid", "net_ns", "ip", "perf:thread:major-faults"};
	struct filter_value value;
	struct context_spec spec;
	struct context_error error;
	size_t i;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "loading"), 0);
	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		assert_int_equal(context_parse(text[i], &spec, &error), 0);
		errno = 4711;
		assert_true(context_load(&spec, caller, &value));
		assert_int_equal(errno, 4711);
		assert_int_equal(value.kind, FILTER_STRING);
		expect_text(build(text[i]), value.text);
	}
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		bool small = i < 4;

		assert_int_equal(context_parse(number[i], &spec, &error), 0);
		assert_true(context_load(&spec, caller, &value));
		assert_int_equal(value.kind, FILTER_INT);
		assert_true(value.u == number_of(build(number[i]), small ? 4 : 8));
	}
}

/* ---- signals, at any instant ---- */

static struct context_set *set_name, *set_mixed;
static volatile sig_atomic_t handled, handler_failed;

/* "name-NUMBER" and nothing of another name before or behind it. */
static bool name_is_whole(const uint8_t *bytes, const uint8_t *behind)
{
	const char *name = (const char *)bytes;
	size_t size = behind ? (size_t)(behind - bytes) : 0;

	return size > 6 && size <= 16 && strlen(name) + 1 == size && !strncmp(name, "name-", 5) &&
			strspn(name + 5, "0123456789") == size - 6;
}

static bool mixed_is_whole(const uint8_t *bytes, const uint8_t *behind)
{
	int32_t vpid = getpid();
	uint64_t ip = (uintptr_t)caller;
	uint32_t uid = getuid();

	return behind && !memcmp(bytes, &vpid, 4) && !memcmp(bytes + 4, &ip, 8) &&
			name_is_whole(bytes + 12, behind - 4) && !memcmp(behind - 4, &uid, 4);
}

static bool all_is_whole(void)
{
	uint8_t bytes[512];

	if (!name_is_whole(bytes, context_write(set_name, bytes, bytes + sizeof(bytes), caller)))
		return false;
	return mixed_is_whole(
			bytes, context_write(set_mixed, bytes, bytes + sizeof(bytes), caller));
}

static void handler(int signal)
{
	static unsigned int turn;
	int saved_errno = errno;
	char name[16];

	(void)signal;
	handled = handled + 1;
	if (!all_is_whole())
		handler_failed = 1;
	if (turn++ & 1) {
		snprintf(name, sizeof(name), "name-%u",
				turn % 3 ? turn % 10 : 1000000 + turn % 1000);
		prctl(PR_SET_NAME, name);
	}
	if (!all_is_whole())
		handler_failed = 1;
	errno = saved_errno;
}

static void in_signal_handlers(void **state)
{
	const char *is_long = getenv("SIDE_TEST_LONG");
	int wanted = is_long && !strcmp(is_long, "1") ? 100000 : 3000;
	struct sigaction action = {.sa_handler = handler};
	struct itimerval timer = {{0, 50}, {0, 50}};
	struct itimerval none = {{0, 0}, {0, 0}};

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "name-0"), 0);
	set_name = build("thread_name");
	set_mixed = build("vpid,ip,thread_name,uid");
	handled = handler_failed = 0;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
	while (handled < wanted && !handler_failed)
		if (!all_is_whole())
			handler_failed = 1;
	assert_int_equal(setitimer(ITIMER_REAL, &none, NULL), 0);
	assert_false(handler_failed);
}

/* ---- what stays ---- */

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

/* All of it runs in a callback, where the values of applications are. */
static int result = 1;

static void callback(const struct side_event_description *description,
		const struct side_arg_vec *values, void *priv, void *unused)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(ids),
			cmocka_unit_test(namespaces),
			cmocka_unit_test(cgroup),
			cmocka_unit_test(place),
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
