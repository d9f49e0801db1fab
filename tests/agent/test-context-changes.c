/* SPDX-License-Identifier: MIT */
/* Actions that change contexts: children of every kind, credentials, namespaces, sandboxes. */
#include "test-context.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

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

/* Forks by the bare system call: no handler of the C library runs. */
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
	/*
	 * The only thread of the child is its main thread, and has the name of the thread that
	 * forked.
	 */
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

void forks(void **state)
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
	/*
	 * A child of a launcher that enters a sandbox must not make the parent treat itself as
	 * sandboxed.
	 */
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_exit, 0);
	return 0;
}

void clones(void **state)
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
	/* Names can still be read. */
	assert_int_equal(prctl(PR_SET_NAME, "parent2"), 0);
	expect_text(set_procname, "parent2");
	/* The arguments arrive unchanged. */
	errno = 0;
	assert_int_equal(clone(child_in_our_memory, NULL, SIGCHLD, NULL), -1);
	assert_int_equal(errno, EINVAL);
}

/*
 * After vfork() the child reads its own contexts, and the parent's stored contexts do not change.
 */
void vforks(void **state)
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

/* ---- credentials ---- */

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
	/* Of all threads at once, as POSIX requires. */
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

void rights(void **state)
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

void rights_by_system_call(void **state)
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
	/* Only this write gives the id its meaning; the agent does not see it as a call. */
	file = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	snprintf(map, sizeof(map), "12 %u 1\n", (unsigned int)mine);
	if (write(file, map, strlen(map)) != (ssize_t)strlen(map))
		return 77;
	return number_of(set_uid, 4) == 12 && getuid() == 12 ? 0 : 3;
}

void new_namespaces(void **state)
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

	/* No event came before: the agent reads what it needs when the sandbox begins. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 77;
	behind = context_write(set_three, bytes, bytes + sizeof(bytes), caller);
	if (!behind || memcmp(bytes, &vpid, 4) || strcmp((char *)bytes + 8, "sandbox"))
		syscall(SYS_exit, 1);
	behind = context_write(set_all, bytes, bytes + sizeof(bytes), caller);
	if (!behind || memcmp(bytes, &vpid, 4))
		syscall(SYS_exit, 2);
	/* The last value is a counter of the kernel. */
	memcpy(&faults, behind - 8, 8);
	syscall(SYS_exit, faults == UINT64_MAX ? 0 : 3);
	return 4;
}

/*
 * Installs a filter that kills on all calls that contexts make, except for those that a new thread
 * makes in any case.
 */
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
	/* Neither call succeeds: arguments are missing. */
	if (prctl(PR_SET_SECCOMP, 99) != -1 ||
			syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1)
		return 1;
	prctl(PR_SET_NAME, "outside");
	expect_text(set_procname, "outside");
	return 0;
}

void sandboxes(void **state)
{
	int ret;

	(void)state;
	set_all = build("vpid,vtid,procname,tid,uid,gid,net_ns,uts_ns,thread_name,cgroup,cpu_id,"
			"perf:thread:instructions,perf:thread:page-faults");
	assert_int_equal(prctl(PR_SET_NAME, "sandbox"), 0);
	assert_int_equal(in_child(failed_sandbox), 0);
#ifndef SANITIZED
	/* At exit and in new threads, a sanitizer makes calls of its own. */
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
