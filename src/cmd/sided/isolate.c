/* SPDX-License-Identifier: MIT */
/*
 * What our processes give up, so that a mistake in them is worth little. Each part is a second wall:
 * where the machine does not have it, the rest stands.
 *
 *	the daemon		capabilities that it has no use for
 *	a session process	no_new_privs; capabilities but for looking at processes; landlock: it may write
 *				below its output, its place and the directory of sockets, nowhere else;
 *				seccomp: no programs, no other processes, no network, nothing of the
 *				machine
 *				one of a member of the group: accesses to files with the member's permissions
 *	its sender		the same, but for connections to others; it may write below the output and
 *				where it sends to
 *
 * A session process decodes what programs wrote, and that is where somebody would try.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/isolate.h"
#include "sided.h"

#ifdef HAVE_SECCOMP
#include <sched.h>
#include <seccomp.h>
#endif

/* ---- capabilities ---- */

#define CAPABILITY(number) (1ull << (number))

static void keep_capabilities(uint64_t kept)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	unsigned int number;

	for (number = 0; number <= CAP_LAST_CAP; number++)
		if (!(kept & CAPABILITY(number)))
			prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &header, data))
		return;
	for (number = 0; number < _LINUX_CAPABILITY_U32S_3; number++) {
		uint32_t mask = (uint32_t)(kept >> (32 * number));

		data[number].effective &= mask;
		data[number].permitted &= mask;
		data[number].inheritable &= mask;
	}
	syscall(SYS_capset, &header, data);
}

void isolate_daemon(struct daemon *daemon)
{
	/*
	 * Signals for others' programs; looking at them, and, for the processes of sessions, behind what they have
	 * mapped; directories of root that others made tight.
	 */
	uint64_t kept = CAPABILITY(CAP_KILL) | CAPABILITY(CAP_SYS_PTRACE) |
			CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_DAC_OVERRIDE) |
			CAPABILITY(CAP_SYS_RESOURCE) | CAPABILITY(CAP_CHECKPOINT_RESTORE);

	/* Traces of members of the group belong to them from the beginning. */
	if (daemon->system)
		kept |= CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID);

	keep_capabilities(daemon->uid ? 0 : kept);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* ---- seccomp ---- */

#ifdef HAVE_SECCOMP
/* A sender connects to others, and nobody to it. */
static bool add_network_rules(scmp_filter_ctx filter, bool connects)
{
	int refused_call = connects ? SCMP_SYS(listen) : SCMP_SYS(connect);

	if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), refused_call, 0))
		return false;
	return connects ||
			!seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
					SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));
}

/* A session process of a member of the group may only become root again for an access to files: isolate_as_root(). */
static bool add_owner_rule(scmp_filter_ctx filter, bool owned)
{
	if (owned)
		return !seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setfsuid), 1,
				SCMP_A0(SCMP_CMP_NE, 0, 0));
	return !seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setfsuid), 0);
}

static bool add_rules(scmp_filter_ctx filter, bool connects, bool owned)
{
	size_t i;

	for (i = 0; isolate_refused[i]; i++) {
		int number = seccomp_syscall_resolve_name(isolate_refused[i]);

		if (number != __NR_SCMP_ERROR &&
				seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0))
			return false;
	}
	/* Threads, no processes. What clone3 is asked lies in memory: the C library uses clone instead. */
	if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
			    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)))
		return false;
	i = (size_t)seccomp_syscall_resolve_name("clone3");
	if ((int)i != __NR_SCMP_ERROR &&
			seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), (int)i, 0))
		return false;
	return add_owner_rule(filter, owned) && add_network_rules(filter, connects);
}

static void refuse_calls(bool connects, bool owned)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter)
		return;
	if (!add_rules(filter, connects, owned) || seccomp_load(filter))
		say("the session's process has no filter of system calls");
	seccomp_release(filter);
}
#else
static void refuse_calls(bool connects, bool owned)
{
	(void)connects;
	(void)owned;
}
#endif

/* Until isolate_as() a process with an owner can write in root's directories and can become the owner. */
#define UNTIL_OWNED                                                                      \
	(CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_SETUID) | \
			CAPABILITY(CAP_SETGID))

void isolate_session(const char *const *writable, bool looks_at_others, const struct owner *owner)
{
	keep_capabilities(geteuid() ? 0
				    : CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH) |
							CAPABILITY(CAP_SYS_RESOURCE) |
							CAPABILITY(CAP_IPC_LOCK) |
							(owner ? UNTIL_OWNED : 0) |
							(looks_at_others ? CAPABILITY(CAP_CHECKPOINT_RESTORE)
									 : 0));
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Behind that wall a process sees nothing of others, not even what they have mapped. */
	if (!looks_at_others)
		isolate_files(writable);
	if (!owner)
		refuse_calls(false, false);
}

int isolate_as(const struct owner *owner)
{
	if (setgroups(0, NULL))
		return -errno;
	setfsgid(owner->gid);
	setfsuid(owner->uid);
	/* They report no error: ask for what holds now. */
	if ((uid_t)setfsuid((uid_t)-1) != owner->uid || (gid_t)setfsgid((gid_t)-1) != owner->gid)
		return -EPERM;
	/* The process cannot exceed the owner's quota, or use blocks that are reserved for root. */
	keep_capabilities(CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_IPC_LOCK));
	/* The kernel has forgotten it with the change. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	refuse_calls(false, true);
	return 0;
}

struct root_call {
	void *(*function)(void *argument);
	void *argument;
};

static void *run_as_root(void *user)
{
	const struct root_call *call = user;

	/* Changes this thread only. */
	setfsuid(0);
	return call->function(call->argument);
}

bool isolate_as_root(void *(*function)(void *argument), void *argument)
{
	struct root_call call = {function, argument};
	pthread_t thread;

	return !pthread_create(&thread, NULL, run_as_root, &call) && !pthread_join(thread, NULL);
}

int isolate_sender(const char *const *writable, const struct owner *owner)
{
	if (owner &&
			(setgroups(0, NULL) || setresgid(owner->gid, owner->gid, owner->gid) ||
					setresuid(owner->uid, owner->uid, owner->uid)))
		return -errno;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	keep_capabilities(0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	isolate_files(writable);
	refuse_calls(true, false);
	return 0;
}
