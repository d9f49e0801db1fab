/* SPDX-License-Identifier: MIT */
/*
 * Functions of the C library after which a cached context may be another one.
 *
 * Each calls the function that the program would have called without the agent, with the same
 * arguments, and then marks the values that may have changed. It returns the result, and errno
 * unchanged. None of them is a cancellation point. Changes of ids by other means (the system call
 * instruction, a file of /proc, another process) are not detected (docs/reference/contexts.md).
 *
 * Part of the preloaded library only, like start.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "tracers/agent/context/sources.h"
#include "tracers/agent/context/values.h"
#include "tracers/agent/context/sandbox.h"
#include "ring/ring.h"
#include "base/inside/raw.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- the functions behind ours ---- */

enum next {
	NEXT_CLONE,
	NEXT_PRCTL,
	NEXT_PTHREAD_SETNAME_NP,
	NEXT_SETEGID,
	NEXT_SETEUID,
	NEXT_SETGID,
	NEXT_SETGROUPS,
	NEXT_SETNS,
	NEXT_SETREGID,
	NEXT_SETRESGID,
	NEXT_SETRESUID,
	NEXT_SETREUID,
	NEXT_SETUID,
	NEXT_SYSCALL,
	NEXT_UNSHARE,
	NEXT_CHROOT,
	NEXT_NR
};

static const char *const names[NEXT_NR] = {
		"clone",
		"prctl",
		"pthread_setname_np",
		"setegid",
		"seteuid",
		"setgid",
		"setgroups",
		"setns",
		"setregid",
		"setresgid",
		"setresuid",
		"setreuid",
		"setuid",
		"syscall",
		"unshare",
		"chroot",
};

/* Read by the assembly below, too. */
extern void *side_next_functions[NEXT_NR] __attribute__((visibility("hidden")));
void *side_next_functions[NEXT_NR];

static void *context_watch_find_next_function(enum next which)
{
	/* Relaxed: all who look find the same. */
	void *found = __atomic_load_n(&side_next_functions[which], __ATOMIC_RELAXED);

	if (__builtin_expect(!found, 0)) {
		int saved_errno = errno;

		found = dlsym(RTLD_NEXT, names[which]);
		__atomic_store_n(&side_next_functions[which], found, __ATOMIC_RELAXED);
		errno = saved_errno;
	}
	return found;
}

/* Early, because dlsym() is nothing for signal handlers, and most of these functions are. */
static __attribute__((constructor(101))) void find_all(void)
{
	enum next which;

	for (which = 0; which < NEXT_NR; which++)
		(void)context_watch_find_next_function(which);
}

static int context_watch_report_no_function(void)
{
	errno = ENOSYS;
	return -1;
}

static int context_watch_mark_changed(int result, uint32_t groups)
{
	if (result != -1)
		context_changed(groups);
	return result;
}

/* An event of this thread may just have had the agent's thread started. */
static void context_watch_wait_for_thread(void)
{
	/* Acquire: what it uses. Pairs with the release in control_arm(). */
	void (*settles)(void) = __atomic_load_n(&context_thread_settles, __ATOMIC_ACQUIRE);
	int saved_errno = errno;

	if (settles && context_may_ask())
		settles();
	errno = saved_errno;
}

#define PASS(which, function, groups, ...)                                   \
	({                                                                   \
		void *found = context_watch_find_next_function(which);       \
		context_watch_wait_for_thread();                             \
		__typeof__(&(function)) real;                                \
		memcpy(&real, &found, sizeof(real));                         \
		real ? context_watch_mark_changed(real(__VA_ARGS__), groups) \
		     : context_watch_report_no_function();                   \
	})

/* ---- ids ---- */

#define UIDS CONTEXT_GROUP(UIDS)
#define GIDS CONTEXT_GROUP(GIDS)

EXPORT int setuid(uid_t uid)
{
	return PASS(NEXT_SETUID, setuid, UIDS, uid);
}

EXPORT int seteuid(uid_t uid)
{
	return PASS(NEXT_SETEUID, seteuid, UIDS, uid);
}

EXPORT int setreuid(uid_t real_id, uid_t effective)
{
	return PASS(NEXT_SETREUID, setreuid, UIDS, real_id, effective);
}

EXPORT int setresuid(uid_t real_id, uid_t effective, uid_t saved)
{
	return PASS(NEXT_SETRESUID, setresuid, UIDS, real_id, effective, saved);
}

EXPORT int setgid(gid_t gid)
{
	return PASS(NEXT_SETGID, setgid, GIDS, gid);
}

EXPORT int setegid(gid_t gid)
{
	return PASS(NEXT_SETEGID, setegid, GIDS, gid);
}

EXPORT int setregid(gid_t real_id, gid_t effective)
{
	return PASS(NEXT_SETREGID, setregid, GIDS, real_id, effective);
}

EXPORT int setresgid(gid_t real_id, gid_t effective, gid_t saved)
{
	return PASS(NEXT_SETRESGID, setresgid, GIDS, real_id, effective, saved);
}

EXPORT int setgroups(size_t nr, const gid_t *groups)
{
	return PASS(NEXT_SETGROUPS, setgroups, GIDS, nr, groups);
}

/* ---- namespaces ---- */

static void namespaces_changed(bool users)
{
	if (users)
		context_users_changed();
	context_cgroup_changed();
	/* A new namespace of users shows the same ids as others. */
	context_changed(CONTEXT_ALL_NAMESPACES | UIDS | GIDS);
}

EXPORT int unshare(int flags)
{
	int result = PASS(NEXT_UNSHARE, unshare, 0, flags);

	if (result != -1)
		namespaces_changed(flags & CLONE_NEWUSER);
	return result;
}

EXPORT int setns(int fd, int flags)
{
	int result = PASS(NEXT_SETNS, setns, 0, fd, flags);

	if (result != -1)
		namespaces_changed(!flags || flags & CLONE_NEWUSER);
	return result;
}

/*
 * No context changes, but the agent's thread must have connected before it: it has the same root
 * directory.
 */
EXPORT int chroot(const char *path)
{
	return PASS(NEXT_CHROOT, chroot, 0, path);
}

/* ---- names, sandboxes ---- */

/*
 * The wrapper library of threads defines this function if it is preloaded. context_watch_set_name()
 * gives it the program's caller, for the event of the wrapper (tracers/wrap/pthread.c).
 */
extern const void *side_wrap_pass_pthread(const void *caller) __attribute__((weak));

static int context_watch_set_name(pthread_t thread, const char *name, const void *caller)
{
	void *found = context_watch_find_next_function(NEXT_PTHREAD_SETNAME_NP);
	__typeof__(&pthread_setname_np) real;
	const void *before;
	int result;

	memcpy(&real, &found, sizeof(real));
	if (!real)
		return ENOSYS;
	if (!side_wrap_pass_pthread)
		return real(thread, name);
	before = side_wrap_pass_pthread(caller);
	result = real(thread, name);
	(void)side_wrap_pass_pthread(before);
	return result;
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	int result = context_watch_set_name(thread, name, __builtin_return_address(0)), saved_errno;

	if (result)
		return result;
	saved_errno = errno;
	if (pthread_equal(thread, pthread_self()))
		context_name_changed();
	else
		context_changed(CONTEXT_GROUP(THREAD_NAME) | CONTEXT_GROUP(PROCNAME));
	errno = saved_errno;
	return 0;
}

/* The kernel stops the clock of who goes into the strict sandbox: rdtsc is a SIGSEGV there. */
static bool stops_clock(int option, unsigned long argument)
{
	return (option == PR_SET_SECCOMP && argument == SECCOMP_MODE_STRICT) ||
			(option == PR_SET_TSC && argument == PR_TSC_SIGSEGV);
}

static void context_watch_is_clock_forbidden(bool forbidden)
{
	if (context_clock_forbidden)
		context_clock_forbidden(forbidden);
}

/*
 * Handlers of faults make all of these system calls, handlers of breakpoints none. The agent makes
 * the first two when the program changes signals: without one of them it cannot keep its handlers,
 * and without both the program cannot change them.
 */
static enum context_hits hits_in(const struct sock_fprog *filter)
{
	static const unsigned int calls[] = {SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
			SYS_getpid, SYS_gettid, SYS_rt_tgsigqueueinfo};
	size_t count = sizeof(calls) / sizeof(calls[0]);
	unsigned int permitted = 0;

	for (size_t i = 0; i < count; i++)
		permitted |= (unsigned int)sandbox_permits(filter, calls[i]) << i;
	if (permitted == (1u << count) - 1)
		return CONTEXT_HITS_ALL;
	switch (permitted & 3) {
	case 3: return CONTEXT_HITS_WITHOUT_RETURN;
	case 0: return CONTEXT_HITS_WITHOUT_CHANGES;
	default: return CONTEXT_HITS_WITHOUT_SIGNALS;
	}
}

/*
 * Before the thread enters a sandbox: remove probes whose hits would end the program in it.
 * `filter` NULL: the strict sandbox, which permits a handler's return. In a sandbox already:
 * nothing can change any more.
 */
static void context_watch_limit_hits(const struct sock_fprog *filter, bool clock)
{
	bool may_ask = context_may_ask();

	ring_sandbox_begins(may_ask && filter && sandbox_permits(filter, SYS_rseq));
	if (!context_hits_limited || !may_ask)
		return;
	if (clock)
		context_hits_limited(CONTEXT_HITS_NONE);
	else
		context_hits_limited(filter ? hits_in(filter) : CONTEXT_HITS_ALL);
}

static void hits_limited_in_vain(void)
{
	if (context_hits_limited && context_may_ask())
		context_hits_limited(CONTEXT_HITS_AS_BEFORE);
}

/* What has to be done for a call that may forbid calls: before it, and when it has failed. */
static bool before_prctl(int option, unsigned long argument, unsigned long filter)
{
	bool has_filter = option == PR_SET_SECCOMP && argument == SECCOMP_MODE_FILTER;
	int saved_errno = errno;
	bool sandbox;

	/* First: these make system calls. */
	if (option == PR_SET_SECCOMP)
		context_watch_wait_for_thread();
	if (has_filter || stops_clock(option, argument))
		context_watch_limit_hits((const struct sock_fprog *)(has_filter ? filter : 0),
				stops_clock(option, argument));
	sandbox = option == PR_SET_SECCOMP && context_sandbox_begins(false);
	if (stops_clock(option, argument))
		context_watch_is_clock_forbidden(true);
	errno = saved_errno;
	return sandbox;
}

static void after_prctl(int option, unsigned long argument, long result, bool sandbox)
{
	int saved_errno = errno;

	if (sandbox && result < 0)
		context_sandbox_failed();
	if (result < 0 && stops_clock(option, argument))
		context_watch_is_clock_forbidden(false);
	if (result < 0 && (option == PR_SET_SECCOMP || stops_clock(option, argument)))
		hits_limited_in_vain();
	if (option == PR_SET_NAME && result >= 0)
		context_name_changed();
	errno = saved_errno;
}

EXPORT int prctl(int option, ...)
{
	void *found = context_watch_find_next_function(NEXT_PRCTL);
	int (*real)(int option, ...);
	unsigned long arguments[4];
	bool sandbox;
	va_list list;
	unsigned int i;
	int result;

	va_start(list, option);
	for (i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	memcpy(&real, &found, sizeof(real));
	if (!real)
		return context_watch_report_no_function();
	sandbox = before_prctl(option, arguments[0], arguments[1]);
	result = real(option, arguments[0], arguments[1], arguments[2], arguments[3]);
	after_prctl(option, arguments[0], result, sandbox);
	return result;
}

/* ---- clone() ---- */

struct clone_start {
	int (*function)(void *argument);
	void *argument;
	int flags;
};

/*
 * A child that shares our memory and is no thread must not cache values, and its changes of itself
 * must not mark values of this process. If it also runs on our thread-local storage while the
 * parent waits, it is like a child of vfork() (vfork.c).
 */
static int cloned_child(void *argument)
{
	const struct clone_start *start = argument;

	if (start->flags & CLONE_VFORK && !(start->flags & CLONE_SETTLS))
		agent_vforked = CONTEXT_VFORKED;
	context_changed(CONTEXT_ALL_GROUPS);
	return start->function(start->argument);
}

/* How many of the optional ones (parent's tid, TLS, child's tid) the flags say are there. */
static unsigned int clone_arguments(int flags)
{
	if (flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))
		return 3;
	if (flags & CLONE_SETTLS)
		return 2;
	return flags & (CLONE_PARENT_SETTID | CLONE_PIDFD) ? 1 : 0;
}

/*
 * The process that runs beside this thread and uses its thread-local memory. -1: it is about to
 * start; 0: none.
 */
static void shares_memory(int flags, int pid, unsigned int vforked)
{
	/* Acquire: what the function uses. Pairs with the release in probes_start_clock(). */
	void (*vfork_begins)(void) = __atomic_load_n(&context_vfork_begins, __ATOMIC_ACQUIRE);

	if (flags & CLONE_VFORK && !(flags & CLONE_SETTLS) && pid == -1 && vfork_begins)
		vfork_begins();
	if (flags & (CLONE_VFORK | CLONE_SETTLS))
		return;
	if (!vforked && pid == -1)
		context_sharing = (struct context_sharing){.owner = (int32_t)raw_call(SYS_gettid)};
	if (!vforked)
		context_sharing.process = pid;
	else if (vforked == CONTEXT_SHARES_MEMORY && pid)
		context_sharing.process = -1;
	if (pid && (!vforked || vforked == CONTEXT_SHARES_MEMORY))
		agent_vforked = CONTEXT_SHARES_MEMORY;
	if (context_memory_shared)
		context_memory_shared(vforked ? -1 : pid);
}

typedef int clone_function(int (*function)(void *), void *stack, int flags, void *argument, ...);

EXPORT int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
	void *found = context_watch_find_next_function(NEXT_CLONE);
	unsigned int vforked = agent_vforked;
	struct clone_start *start;
	clone_function *real;
	void *more[3] = {NULL, NULL, NULL};
	va_list list;
	unsigned int i;
	int result;

	va_start(list, argument);
	for (i = 0; i < clone_arguments(flags); i++)
		more[i] = va_arg(list, void *);
	va_end(list);
	memcpy(&real, &found, sizeof(real));
	if (!real)
		return context_watch_report_no_function();
	if (flags & CLONE_NEWUSER)
		context_users_changed();
	if (!(flags & CLONE_VM))
		context_watch_wait_for_thread();
	if (!(flags & CLONE_VM) || flags & CLONE_THREAD || !stack || !function)
		return real(function, stack, flags, argument, more[0], more[1], more[2]);
	/* Of the child's stack, which grows down. */
	start = (struct clone_start *)(((uintptr_t)stack & ~(uintptr_t)15) - 64);
	*start = (struct clone_start){function, argument, flags};
	shares_memory(flags, -1, vforked);
	result = real(cloned_child, start, flags, start, more[0], more[1], more[2]);
	agent_vforked = vforked;
	shares_memory(flags, result > 0 ? result : 0, vforked);
	if (result != -1)
		context_changed(CONTEXT_ALL_GROUPS);
	return result;
}

/* ---- syscall(2) ---- */

static void after_syscall(long number, const long *arguments)
{
	switch (number) {
	case SYS_setuid:
	case SYS_setreuid:
	case SYS_setresuid: context_changed(UIDS); break;
	case SYS_setgid:
	case SYS_setregid:
	case SYS_setresgid:
	case SYS_setgroups: context_changed(GIDS); break;
	case SYS_unshare: namespaces_changed(arguments[0] & CLONE_NEWUSER); break;
	case SYS_setns: namespaces_changed(!arguments[1] || arguments[1] & CLONE_NEWUSER); break;
	}
}

typedef long syscall_function(long number, ...);

/* A descriptor is a success; the id of a thread that is in the way of TSYNC is none. */
static bool seccomp_failed(const long *arguments, long result)
{
	return result < 0 || (result > 0 && !(arguments[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER));
}

static void seccomp_taken_back(const long *arguments, bool sandbox)
{
	int saved_errno = errno;

	if (sandbox)
		context_sandbox_failed();
	if (arguments[0] == SECCOMP_SET_MODE_STRICT)
		context_watch_is_clock_forbidden(false);
	hits_limited_in_vain();
	errno = saved_errno;
}

/* One of the calls above: for others this is not in the way. */
static long watched_syscall(long number, const long *arguments)
{
	void *found = context_watch_find_next_function(NEXT_SYSCALL);
	bool sandbox = false;
	syscall_function *real;
	long result;

	memcpy(&real, &found, sizeof(real));
	if (!real)
		return context_watch_report_no_function();
	if (number != SYS_prctl)
		context_watch_wait_for_thread();
	if (number == SYS_prctl) {
		sandbox = before_prctl((int)arguments[0], (unsigned long)arguments[1],
				(unsigned long)arguments[2]);
	} else if (number == SYS_seccomp &&
			(arguments[0] == SECCOMP_SET_MODE_STRICT ||
					arguments[0] == SECCOMP_SET_MODE_FILTER)) {
		bool is_strict = arguments[0] == SECCOMP_SET_MODE_STRICT;
		int saved_errno = errno;

		context_watch_limit_hits(is_strict ? NULL : (const struct sock_fprog *)arguments[2],
				is_strict);
		sandbox = context_sandbox_begins(arguments[0] == SECCOMP_SET_MODE_FILTER &&
				arguments[1] & SECCOMP_FILTER_FLAG_TSYNC);
		if (arguments[0] == SECCOMP_SET_MODE_STRICT)
			context_watch_is_clock_forbidden(true);
		errno = saved_errno;
	}
	result = real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
			arguments[5]);
	if (number == SYS_prctl)
		after_prctl((int)arguments[0], (unsigned long)arguments[1], result, sandbox);
	else if (number == SYS_seccomp && seccomp_failed(arguments, result))
		seccomp_taken_back(arguments, sandbox);
	else if (result != -1)
		after_syscall(number, arguments);
	return result;
}

#if defined(__x86_64__) && defined(__LP64__)
/*
 * Calls that are not watched need registers and stack unchanged: a child that continues on a stack
 * of its own returns to the address on that stack. So this function jumps to the C library for
 * them, and only watched calls are made from C.
 */
long side_watched_syscall(long number, long first, long second, long third, long fourth, long fifth,
		long sixth) __attribute__((visibility("hidden"), used));

long side_watched_syscall(long number, long first, long second, long third, long fourth, long fifth,
		long sixth)
{
	const long arguments[6] = {first, second, third, fourth, fifth, sixth};

	return watched_syscall(number, arguments);
}

static long no_syscall(long number, ...)
{
	(void)number;
	return context_watch_report_no_function();
}

/* For the first call of all, which may come before our constructor. */
void *side_find_syscall(void) __attribute__((visibility("hidden"), used));

void *side_find_syscall(void)
{
	syscall_function *none = no_syscall;
	void *found = context_watch_find_next_function(NEXT_SYSCALL);

	if (!found)
		memcpy(&found, &none, sizeof(found));
	return found;
}

_Static_assert(NEXT_SYSCALL == 13, "the offset in the assembly");

/* One bit for each watched call; numbers of x86-64 do not change. */
#define BIT(number, word) ((number) / 64 == (word) ? 1ull << (number) % 64 : 0)
#define BITS(word)                                                                             \
	(BIT(SYS_setuid, word) | BIT(SYS_setreuid, word) | BIT(SYS_setresuid, word) |          \
			BIT(SYS_setgid, word) | BIT(SYS_setregid, word) |                      \
			BIT(SYS_setresgid, word) | BIT(SYS_setgroups, word) |                  \
			BIT(SYS_unshare, word) | BIT(SYS_setns, word) | BIT(SYS_prctl, word) | \
			BIT(SYS_seccomp, word) | BIT(SYS_chroot, word))

const uint64_t side_watched_calls[5] __attribute__((visibility("hidden"), used)) = {
		BITS(0), BITS(1), BITS(2), BITS(3), BITS(4)};

__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	".p2align 4\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	cmpq $320, %rdi\n"
	"	jae 1f\n"
	"	movl %edi, %eax\n"
	"	shrl $6, %eax\n"
	"	leaq side_watched_calls(%rip), %r10\n"
	"	movq (%r10,%rax,8), %rax\n"
	"	btq %rdi, %rax\n"
	"	jc side_watched_syscall\n"
	"1:	movq side_next_functions+8*13(%rip), %rax\n"
	"	testq %rax, %rax\n"
	"	jz 2f\n"
	"	jmp *%rax\n"
	"2:	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rdx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rcx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %r8\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %r9\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call side_find_syscall\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %r9\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %r8\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rcx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size syscall, . - syscall\n");
#else
EXPORT long syscall(long number, ...)
{
	void *found = context_watch_find_next_function(NEXT_SYSCALL);
	syscall_function *real;
	long arguments[6];
	va_list list;
	unsigned int i;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	switch (number) {
	case SYS_setuid:
	case SYS_setreuid:
	case SYS_setresuid:
	case SYS_setgid:
	case SYS_setregid:
	case SYS_setresgid:
	case SYS_setgroups:
	case SYS_unshare:
	case SYS_setns:
	case SYS_chroot:
	case SYS_prctl:
	case SYS_seccomp: return watched_syscall(number, arguments);
	}
	memcpy(&real, &found, sizeof(real));
	if (!real)
		return context_watch_report_no_function();
	return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
			arguments[5]);
}
#endif
