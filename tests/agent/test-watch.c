/* SPDX-License-Identifier: MIT */
/*
 * Functions of the C library after which contexts may have changed: the agent passes arguments and
 * results on, and announces a change only after a success. The test includes the file, which
 * defines the functions, and replaces the C library behind them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cmocka.h>

#include "../called.h"
#include "tracers/agent/context/sources.h"
#include "tracers/agent/context/values.h"
#include "tracers/agent/context/sandbox.h"
#include "ring/ring.h"

static struct {
	bool has_nothing, cannot_ask, no_sandbox;
	unsigned int permitted; /* a bit for each call of side */
	int result;
	unsigned int vforked; /* in the child */
} played;

static unsigned int nr_lookups;

static void *play_dlsym(void *handle, const char *name)
{
	errno = ENOENT;
	nr_lookups++;
	return played.has_nothing ? NULL : dlsym(handle, name);
}

static void play_changed(uint32_t groups)
{
	called("changed %x\n", groups);
	errno = EIO;
}

static void play_name_changed(void)
{
	called("name\n");
	errno = EIO;
}

static bool play_sandbox(bool all_threads)
{
	called("sandbox %d\n", all_threads);
	errno = EIO;
	return !played.no_sandbox;
}

static bool play_permits(const struct sock_fprog *filter, unsigned int number)
{
	static const unsigned int calls_of_side[] = {SYS_rt_sigaction, SYS_rt_sigprocmask,
			SYS_rt_sigreturn, SYS_getpid, SYS_gettid, SYS_rt_tgsigqueueinfo, SYS_rseq};

	assert_ptr_equal(filter, &played);
	for (unsigned int i = 0; i < 7; i++)
		if (calls_of_side[i] == number)
			return played.permitted >> i & 1;
	fail();
	return false;
}

#define dlsym play_dlsym
#define context_changed play_changed
#define context_users_changed() called("users\n")
#define context_cgroup_changed() called("cgroup\n")
#define context_name_changed play_name_changed
#define context_may_ask() (!played.cannot_ask)
#define context_sandbox_begins play_sandbox
#define context_sandbox_failed() called("failed\n")
#define sandbox_permits play_permits
#define ring_sandbox_begins(permits_rseq) called("ring %d\n", permits_rseq)
#define calls calls_of_handlers /* a variable of called.h has the same name */
#include "tracers/agent/context/watch.c"

#undef calls
#undef dlsym

/* ---- the C library, and listeners ---- */

static void play_settle(void)
{
	called("settle\n");
	errno = EIO;
}

static void play_clock(bool forbidden)
{
	called("clock %d\n", forbidden);
	errno = EIO;
}

static void play_limited(enum context_hits hits)
{
	called("hits %d\n", (int)hits);
	errno = EIO;
}

static void play_shared(int pid)
{
	called("shared %d\n", pid);
}

static void play_vfork(void)
{
	called("vfork\n");
}

static int three_ids(uid_t one, uid_t two, uid_t three)
{
	called("ids %u %u %u\n", one, two, three);
	return played.result;
}

static int two_ids(uid_t one, uid_t two)
{
	called("ids %u %u\n", one, two);
	return played.result;
}

static int one_id(uid_t one)
{
	called("ids %u\n", one);
	return played.result;
}

static int play_groups(size_t nr, const gid_t *groups)
{
	called("groups %zu %u\n", nr, *groups);
	return played.result;
}

static int play_two(int one, int two)
{
	called("call %d %x\n", one, (unsigned int)two);
	return played.result;
}

static int play_flags(int flags)
{
	called("call %x\n", (unsigned int)flags);
	return played.result;
}

static int play_path(const char *path)
{
	called("root %s\n", path);
	return played.result;
}

static int play_set_name(pthread_t thread, const char *name)
{
	called("name of %s: %s\n", pthread_equal(thread, pthread_self()) ? "me" : "another", name);
	return played.result;
}

static int play_prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	called("prctl %d %lu %d %lu %lu\n", option, arguments[0], arguments[1] != 0, arguments[2],
			arguments[3]);
	return played.result;
}

static long play_syscall(long number, ...)
{
	long arguments[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	called("syscall %ld: %ld %ld %d %ld %ld %ld\n", number, arguments[0], arguments[1],
			arguments[2] != 0, arguments[3], arguments[4], arguments[5]);
	return played.result;
}

static int play_clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
	void *more[3];
	va_list list;

	va_start(list, argument);
	for (int i = 0; i < 3; i++)
		more[i] = va_arg(list, void *);
	va_end(list);
	called("clone %x %d %d %d\n", (unsigned int)flags, (int)(uintptr_t)more[0],
			(int)(uintptr_t)more[1], (int)(uintptr_t)more[2]);
	assert_int_equal((uintptr_t)stack % 16, 0);
	if (function)
		called("child %d\n", function(argument));
	played.vforked = agent_vforked;
	return played.result;
}

/* As in the wrapper library of threads. */
const void *side_wrap_pass_pthread(const void *caller);
const void *side_wrap_pass_pthread(const void *caller)
{
	called(caller == (const void *)&played ? "pass before\n" : "pass caller\n");
	return &played;
}

static void *behind[NEXT_NR];

#define SET(which, function)                                                    \
	do {                                                                    \
		__typeof__(&(function)) address = (function);                   \
		memcpy(&side_next_functions[which], &address, sizeof(address)); \
	} while (0)

static void begin(void)
{
	memset(&played, 0, sizeof(played));
	context_thread_settles = play_settle;
	context_clock_forbidden = play_clock;
	context_hits_limited = play_limited;
	context_memory_shared = play_shared;
	context_vfork_begins = play_vfork;
	agent_vforked = 0;
	SET(NEXT_SETUID, one_id);
	SET(NEXT_SETEUID, one_id);
	SET(NEXT_SETGID, one_id);
	SET(NEXT_SETEGID, one_id);
	SET(NEXT_SETREUID, two_ids);
	SET(NEXT_SETREGID, two_ids);
	SET(NEXT_SETRESUID, three_ids);
	SET(NEXT_SETRESGID, three_ids);
	SET(NEXT_SETGROUPS, play_groups);
	SET(NEXT_UNSHARE, play_flags);
	SET(NEXT_SETNS, play_two);
	SET(NEXT_CHROOT, play_path);
	SET(NEXT_PTHREAD_SETNAME_NP, play_set_name);
	SET(NEXT_PRCTL, play_prctl);
	SET(NEXT_CLONE, play_clone);
	*calls = '\0';
}

static void end(void)
{
	memcpy(side_next_functions, behind, sizeof(behind));
	context_thread_settles = NULL;
	context_clock_forbidden = NULL;
	context_hits_limited = NULL;
	context_memory_shared = NULL;
	context_vfork_begins = NULL;
	agent_vforked = 0;
}

/* ---- ids, namespaces, names ---- */

static void test_ids(void **unused)
{
	const gid_t groups[] = {7, 8};

	(void)unused;
	begin();
	assert_int_equal(setuid(1), 0);
	assert_called("settle\nids 1\nchanged 10\n");
	assert_int_equal(seteuid(2), 0);
	assert_called("settle\nids 2\nchanged 10\n");
	assert_int_equal(setreuid(1, 2), 0);
	assert_called("settle\nids 1 2\nchanged 10\n");
	assert_int_equal(setresuid(1, 2, 3), 0);
	assert_called("settle\nids 1 2 3\nchanged 10\n");
	assert_int_equal(setgid(1), 0);
	assert_called("settle\nids 1\nchanged 20\n");
	assert_int_equal(setegid(2), 0);
	assert_called("settle\nids 2\nchanged 20\n");
	assert_int_equal(setregid(1, 2), 0);
	assert_called("settle\nids 1 2\nchanged 20\n");
	assert_int_equal(setresgid(1, 2, 3), 0);
	assert_called("settle\nids 1 2 3\nchanged 20\n");
	assert_int_equal(setgroups(2, groups), 0);
	assert_called("settle\ngroups 2 7\nchanged 20\n");
	played.result = -1;
	errno = E2BIG;
	assert_int_equal(setuid(1), -1);
	assert_called("settle\nids 1\n");
	assert_int_equal(errno, E2BIG);
	/* In a sandbox, or if no thread is created. */
	played.cannot_ask = true;
	assert_int_equal(setuid(1), -1);
	played.cannot_ask = false;
	context_thread_settles = NULL;
	assert_int_equal(setuid(1), -1);
	assert_called("ids 1\nids 1\n");
	end();
}

/* A C library without the functions. */
static void test_nothing(void **unused)
{
	(void)unused;
	begin();
	memset(side_next_functions, 0, sizeof(side_next_functions));
	played.has_nothing = true;
	errno = 0;
	assert_int_equal(setuid(1), -1);
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(prctl(PR_SET_NAME, "x"), -1);
	assert_int_equal(clone(NULL, NULL, 0, NULL), -1);
	assert_int_equal(pthread_setname_np(pthread_self(), "x"), ENOSYS);
	assert_called("settle\n");
	errno = 0;
	assert_true(syscall(SYS_getpid) == -1 && errno == ENOSYS);
	errno = 0;
	assert_true(syscall(SYS_setuid, 1) == -1 && errno == ENOSYS);
	assert_called("");
	/* It is searched again, and errno is kept. */
	played.has_nothing = false;
	errno = E2BIG;
	assert_ptr_equal(context_watch_find_next_function(NEXT_SETUID), behind[NEXT_SETUID]);
	assert_int_equal(errno, E2BIG);
	memset(side_next_functions, 0, sizeof(side_next_functions));
	nr_lookups = 0;
	find_all();
	assert_memory_equal(side_next_functions, behind, sizeof(behind));
	assert_int_equal(nr_lookups, NEXT_NR);
	end();
}

static void test_namespaces(void **unused)
{
	char all[32];

	(void)unused;
	begin();
	snprintf(all, sizeof(all), "cgroup\nchanged %x\n", CONTEXT_ALL_NAMESPACES | UIDS | GIDS);
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_non_null(strstr(calls, all));
	assert_null(strstr(calls, "users"));
	*calls = '\0';
	assert_int_equal(unshare(CLONE_NEWUSER | CLONE_NEWNS), 0);
	assert_non_null(strstr(calls, "users\ncgroup\n"));
	*calls = '\0';
	assert_int_equal(setns(5, CLONE_NEWNS), 0);
	assert_non_null(strstr(calls, "call 5 20000\n"));
	assert_null(strstr(calls, "users"));
	*calls = '\0';
	assert_int_equal(setns(5, 0), 0);
	assert_non_null(strstr(calls, "users\ncgroup\n"));
	*calls = '\0';
	assert_int_equal(setns(5, CLONE_NEWUSER), 0);
	assert_non_null(strstr(calls, "users\ncgroup\n"));
	*calls = '\0';
	assert_int_equal(chroot("/x"), 0);
	assert_called("settle\nroot /x\nchanged 0\n");
	played.result = -1;
	assert_int_equal(unshare(CLONE_NEWNS) + setns(1, 0) + chroot("/x"), -3);
	assert_called("settle\ncall 20000\nsettle\ncall 1 0\nsettle\nroot /x\n");
	end();
}

static void *see_nothing(void *unused)
{
	return unused;
}

static void test_names(void **unused)
{
	pthread_t other;

	(void)unused;
	assert_int_equal(pthread_create(&other, NULL, see_nothing, NULL), 0);
	begin();
	errno = E2BIG;
	assert_int_equal(pthread_setname_np(pthread_self(), "x"), 0);
	assert_called("pass caller\nname of me: x\npass before\nname\n");
	assert_int_equal(errno, E2BIG);
	assert_int_equal(pthread_setname_np(other, "x"), 0);
	assert_called("pass caller\nname of another: x\npass before\nchanged c\n");
	assert_int_equal(errno, E2BIG);
	played.result = ERANGE;
	assert_int_equal(pthread_setname_np(pthread_self(), "x"), ERANGE);
	assert_called("pass caller\nname of me: x\npass before\n");
	end();
	assert_int_equal(pthread_join(other, NULL), 0);
}

/* ---- sandboxes ---- */

static void test_hits(void **unused)
{
	const struct sock_fprog *filter = (const struct sock_fprog *)(const void *)&played;

	(void)unused;
	begin();
	for (played.permitted = 0; played.permitted < 64; played.permitted++)
		assert_int_equal(hits_in(filter),
				played.permitted == 63 ? CONTEXT_HITS_ALL
						: (played.permitted & 3) == 3
						? CONTEXT_HITS_WITHOUT_RETURN
						: (played.permitted & 3) == 0
						? CONTEXT_HITS_WITHOUT_CHANGES
						: CONTEXT_HITS_WITHOUT_SIGNALS);
	played.permitted = 127;
	context_watch_limit_hits(filter, false);
	assert_called("ring 1\nhits 0\n");
	played.permitted = 63;
	context_watch_limit_hits(filter, false);
	context_watch_limit_hits(NULL, false);
	context_watch_limit_hits(NULL, true);
	assert_called("ring 0\nhits 0\nring 0\nhits 0\nring 0\nhits 4\n");
	played.cannot_ask = true;
	context_watch_limit_hits(filter, false);
	hits_limited_in_vain();
	assert_called("ring 0\n");
	played.cannot_ask = false;
	context_hits_limited = NULL;
	context_watch_limit_hits(filter, false);
	hits_limited_in_vain();
	assert_called("ring 0\n");
	context_clock_forbidden = NULL;
	context_watch_is_clock_forbidden(true);
	assert_called("");
	end();
}

static void test_prctl(void **unused)
{
	(void)unused;
	begin();
	errno = E2BIG;
	assert_int_equal(prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &played, 3ul,
					 4ul),
			0);
	assert_called("settle\nring 0\nhits 2\nsandbox 0\nprctl 22 2 1 3 4\n");
	assert_int_equal(prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_STRICT, &played, 3ul,
					 4ul),
			0);
	assert_called("settle\nring 0\nhits 4\nsandbox 0\nclock 1\nprctl 22 1 1 3 4\n");
	assert_int_equal(prctl(PR_SET_TSC, (unsigned long)PR_TSC_SIGSEGV, 0ul, 3ul, 4ul), 0);
	assert_called("ring 0\nhits 4\nclock 1\nprctl 26 2 0 3 4\n");
	assert_int_equal(prctl(PR_SET_TSC, (unsigned long)PR_TSC_ENABLE, 0ul, 3ul, 4ul), 0);
	assert_called("prctl 26 1 0 3 4\n");
	assert_int_equal(prctl(PR_SET_NAME, "x", 0ul, 0ul, 0ul), 0);
	assert_non_null(strstr(calls, "0 0 0\nname\n"));
	*calls = '\0';
	assert_int_equal(errno, E2BIG);
	/* After a failure, the change is undone. */
	played.result = -1;
	assert_int_equal(prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &played, 3ul,
					 4ul),
			-1);
	assert_called("settle\nring 0\nhits 2\nsandbox 0\nprctl 22 2 1 3 4\nfailed\nhits 5\n");
	assert_int_equal(prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_STRICT, &played, 3ul,
					 4ul),
			-1);
	assert_called("settle\nring 0\nhits 4\nsandbox 0\nclock 1\nprctl 22 1 1 3 4\nfailed\nclock 0\nhits 5\n");
	played.no_sandbox = true;
	assert_int_equal(prctl(PR_SET_TSC, (unsigned long)PR_TSC_SIGSEGV, 0ul, 3ul, 4ul), -1);
	assert_called("ring 0\nhits 4\nclock 1\nprctl 26 2 0 3 4\nclock 0\nhits 5\n");
	assert_int_equal(prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &played, 3ul,
					 4ul),
			-1);
	assert_called("settle\nring 0\nhits 2\nsandbox 0\nprctl 22 2 1 3 4\nhits 5\n");
	assert_int_equal(prctl(PR_SET_NAME, 0ul, 0ul, 0ul, 0ul), -1);
	assert_called("prctl 15 0 0 0 0\n");
	end();
}

/* ---- clone() ---- */

static int in_child(void *argument)
{
	called("vforked %u\n", agent_vforked);
	return *(int *)argument;
}

static void test_clone(void **unused)
{
	static char stack[256] __attribute__((aligned(64)));
	int argument = 47;
	void *more[] = {(void *)1, (void *)2, (void *)3};
	char all[32];

	(void)unused;
	begin();
	snprintf(all, sizeof(all), "changed %x\n", CONTEXT_ALL_GROUPS);
	assert_int_equal(clone_arguments(0), 0);
	assert_int_equal(clone_arguments(CLONE_PARENT_SETTID), 1);
	assert_int_equal(clone_arguments(CLONE_PIDFD), 1);
	assert_int_equal(clone_arguments(CLONE_SETTLS | CLONE_PIDFD), 2);
	assert_int_equal(clone_arguments(CLONE_CHILD_SETTID), 3);
	assert_int_equal(clone_arguments(CLONE_CHILD_CLEARTID | CLONE_SETTLS), 3);
	/* Its own memory, or a thread: passed on. */
	played.result = 12;
	assert_int_equal(clone(in_child, stack + 256, CLONE_NEWUSER | CLONE_CHILD_SETTID, &argument,
					 more[0], more[1], more[2]),
			12);
	assert_called("users\nsettle\nclone 11000000 1 2 3\nvforked 0\nchild 47\n");
	assert_int_equal(clone(in_child, stack + 256, CLONE_VM | CLONE_THREAD, &argument), 12);
	assert_called("clone 10100 0 0 0\nvforked 0\nchild 47\n");
	/* In the same memory, with this thread's thread-local memory. */
	assert_int_equal(clone(in_child, stack + 250, CLONE_VM, &argument), 12);
	assert_non_null(strstr(calls, "shared -1\nclone 100 0 0 0\n"));
	assert_non_null(strstr(calls, "vforked 4\nchild 47\nshared 12\n"));
	assert_true(played.vforked == CONTEXT_SHARES_MEMORY &&
			agent_vforked == CONTEXT_SHARES_MEMORY);
	assert_true(context_sharing.process == 12 && context_sharing.owner == getpid());
	*calls = '\0';
	/* Again: several processes. */
	assert_int_equal(clone(in_child, stack + 256, CLONE_VM, &argument), 12);
	assert_int_equal(context_sharing.process, -1);
	assert_non_null(strstr(calls, "shared -1\nclone"));
	assert_non_null(strstr(calls, "child 47\nshared -1\n"));
	*calls = '\0';
	/* It cannot be created. */
	begin();
	context_sharing.process = 9;
	played.result = -1;
	assert_int_equal(clone(in_child, stack + 256, CLONE_VM, &argument), -1);
	assert_true(agent_vforked == 0 && context_sharing.process == 0);
	assert_non_null(strstr(calls, "child 47\nshared 0\n"));
	assert_string_equal(strstr(calls, "shared 0\n"), "shared 0\n");
	*calls = '\0';
	/* Like vfork(), with its own stack and its own thread-local memory. */
	played.result = 12;
	assert_int_equal(clone(in_child, stack + 256, CLONE_VM | CLONE_VFORK, &argument), 12);
	assert_non_null(strstr(calls, "vfork\nclone 4100"));
	assert_non_null(strstr(calls, "vforked 1\nchild 47\nchanged"));
	assert_null(strstr(calls, "shared"));
	assert_int_equal(agent_vforked, 0);
	*calls = '\0';
	assert_int_equal(clone(in_child, stack + 256, CLONE_VM | CLONE_VFORK | CLONE_SETTLS,
					 &argument, more[0], more[1]),
			12);
	assert_non_null(strstr(calls, "vforked 0\n"));
	assert_null(strstr(calls, "vfork\n"));
	assert_non_null(strstr(calls, "clone 84100 1 2 0\n"));
	assert_non_null(strstr(calls, all));
	*calls = '\0';
	end();
}

/* ---- syscall() ---- */

static void test_syscall(void **unused)
{
	static const struct {
		long number;
		const char *changes;
	} ids[] = {{SYS_setuid, "changed 10\n"}, {SYS_setreuid, "changed 10\n"},
			{SYS_setresuid, "changed 10\n"}, {SYS_setgid, "changed 20\n"},
			{SYS_setregid, "changed 20\n"}, {SYS_setresgid, "changed 20\n"},
			{SYS_setgroups, "changed 20\n"}, {SYS_chroot, ""}};
	char wanted[128];

	(void)unused;
	begin();
	SET(NEXT_SYSCALL, play_syscall);
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		played.result = 0;
		assert_int_equal(syscall(ids[i].number, 1l, 2l, 0l, 4l, 5l, 6l), 0);
		snprintf(wanted, sizeof(wanted), "settle\nsyscall %ld: 1 2 0 4 5 6\n%s",
				ids[i].number, ids[i].changes);
		assert_called(wanted);
		played.result = -1;
		assert_int_equal(syscall(ids[i].number, 1l, 2l, 0l, 4l, 5l, 6l), -1);
		snprintf(wanted, sizeof(wanted), "settle\nsyscall %ld: 1 2 0 4 5 6\n",
				ids[i].number);
		assert_called(wanted);
	}
	/* A call that is not watched. */
	assert_int_equal(syscall(SYS_getpid, 1l, 2l, 0l, 4l, 5l, 6l), -1);
	assert_int_equal(syscall(1000l, 1l, 2l, 0l, 4l, 5l, 6l), -1);
	snprintf(wanted, sizeof(wanted), "syscall %d: 1 2 0 4 5 6\nsyscall 1000: 1 2 0 4 5 6\n",
			SYS_getpid);
	assert_called(wanted);
	played.result = 0;
	assert_int_equal(syscall(SYS_unshare, (long)CLONE_NEWUSER, 0l, 0l, 0l, 0l, 0l), 0);
	assert_non_null(strstr(calls, "users\ncgroup\n"));
	*calls = '\0';
	assert_int_equal(syscall(SYS_unshare, (long)CLONE_NEWNS, (long)CLONE_NEWUSER, 0l, 0l, 0l,
					 0l),
			0);
	assert_int_equal(syscall(SYS_setns, (long)CLONE_NEWUSER, (long)CLONE_NEWNS, 0l, 0l, 0l, 0l),
			0);
	assert_null(strstr(calls, "users"));
	*calls = '\0';
	assert_int_equal(syscall(SYS_setns, 1l, 0l, 0l, 0l, 0l, 0l), 0);
	assert_int_equal(syscall(SYS_setns, 1l, (long)CLONE_NEWUSER, 0l, 0l, 0l, 0l), 0);
	assert_non_null(strstr(strstr(calls, "users") + 5, "users"));
	*calls = '\0';
	/* Like prctl(). */
	assert_int_equal(syscall(SYS_prctl, (long)PR_SET_NAME, 0l, 0l, 0l, 0l, 0l), 0);
	snprintf(wanted, sizeof(wanted), "syscall %d: 15 0 0 0 0 0\nname\n", SYS_prctl);
	assert_called(wanted);
	end();
}

static void seccomp(long mode, long flags, int result, const char *before, const char *after)
{
	char wanted[256];

	played.result = result;
	errno = E2BIG;
	assert_int_equal(syscall(SYS_seccomp, mode, flags, &played, 0l, 0l, 0l), result);
	assert_int_equal(errno, E2BIG);
	snprintf(wanted, sizeof(wanted), "settle\n%ssyscall %d: %ld %ld 1 0 0 0\n%s", before,
			SYS_seccomp, mode, flags, after);
	assert_called(wanted);
}

static void test_seccomp(void **unused)
{
	const long tsync = SECCOMP_FILTER_FLAG_TSYNC, listener = SECCOMP_FILTER_FLAG_NEW_LISTENER;

	(void)unused;
	begin();
	SET(NEXT_SYSCALL, play_syscall);
	seccomp(SECCOMP_SET_MODE_FILTER, 0, 0, "ring 0\nhits 2\nsandbox 0\n", "");
	seccomp(SECCOMP_SET_MODE_FILTER, tsync, 0, "ring 0\nhits 2\nsandbox 1\n", "");
	seccomp(SECCOMP_SET_MODE_STRICT, tsync, 0, "ring 0\nhits 4\nsandbox 0\nclock 1\n", "");
	seccomp(SECCOMP_GET_ACTION_AVAIL, 0, 0, "", "");
	/* A descriptor is a success, the number of a thread is not. */
	seccomp(SECCOMP_SET_MODE_FILTER, listener, 5, "ring 0\nhits 2\nsandbox 0\n", "");
	seccomp(SECCOMP_SET_MODE_FILTER, tsync, 5, "ring 0\nhits 2\nsandbox 1\n",
			"failed\nhits 5\n");
	seccomp(SECCOMP_SET_MODE_FILTER, listener, -1, "ring 0\nhits 2\nsandbox 0\n",
			"failed\nhits 5\n");
	seccomp(SECCOMP_SET_MODE_STRICT, 0, -1, "ring 0\nhits 4\nsandbox 0\nclock 1\n",
			"failed\nclock 0\nhits 5\n");
	played.no_sandbox = true;
	seccomp(SECCOMP_SET_MODE_FILTER, 0, -1, "ring 0\nhits 2\nsandbox 0\n", "hits 5\n");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_ids),
			cmocka_unit_test(test_nothing),
			cmocka_unit_test(test_namespaces),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_hits),
			cmocka_unit_test(test_prctl),
			cmocka_unit_test(test_clone),
			cmocka_unit_test(test_syscall),
			cmocka_unit_test(test_seccomp),
	};

	for (size_t i = 0; i < NEXT_NR; i++)
		if (!side_next_functions[i])
			return 1;
	memcpy(behind, side_next_functions, sizeof(behind));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
