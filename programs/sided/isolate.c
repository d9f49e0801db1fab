/* SPDX-License-Identifier: MIT */
/*
 * Drops privileges in each process, so that an attacker who exploits a bug gains little. If the
 * kernel does not support one of the mechanisms, the others still apply.
 *
 *   the daemon         capabilities that it does not need
 *   its exec helper    capabilities that it does not need to attach to programs
 *   a session process  no_new_privs; all capabilities except those to read processes; landlock: it
 *                      can write only below its output, its state directory and the directory of
 *                      sockets; seccomp: no programs, no other processes, no network, no changes of
 *                      the system. For a member of the group: accesses files with the member's
 *                      permissions. No landlock if it reads what the kernel then hides: the files
 *                      that programs have mapped (boot.c), and how they ended
 *                      (recorder/core/exit-status.c)
 *   its sender         the same, but it can connect to other machines; it can write below the
 *                      output and to the destination
 *
 * A session process decodes data that programs wrote, so it is the most likely target.
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
	 * To send signals to programs of other users; to read these programs and, for session
	 * processes, the files that they have mapped; to use root's directories with strict
	 * permissions.
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

void isolate_exec_helper(void)
{
	/*
	 * To delay execs, or to receive reports of them; to attach to programs of every user, to
	 * load the agent into those that cannot read its file, and to do that quickly.
	 */
	keep_capabilities(CAPABILITY(CAP_SYS_ADMIN) | CAPABILITY(CAP_SYS_PTRACE) |
			CAPABILITY(CAP_KILL) | CAPABILITY(CAP_DAC_READ_SEARCH) |
			CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_SYS_RESOURCE) |
			CAPABILITY(CAP_SYS_NICE) | CAPABILITY(CAP_NET_ADMIN) |
			CAPABILITY(CAP_CHECKPOINT_RESTORE));
}

/* ---- seccomp ---- */

#ifdef HAVE_SECCOMP
static void add_network_rules(struct isolate_rules *rules)
{
	isolate_rules_call(rules, "connect", EPERM);
	isolate_rules_argument(rules, "socket", 0, UINT32_MAX, AF_UNIX, 0);
	isolate_rules_call(rules, "socket", EPERM);
}

/*
 * A session process of a member of the group may change its user only back to root's for access to
 * files: isolate_as_root().
 */
static void refuse_calls(bool owned)
{
	struct isolate_rules rules;

	isolate_rules_begin(&rules);
	isolate_rules_calls(&rules, isolate_refused, EPERM);
	isolate_rules_threads_only(&rules);
	if (owned)
		isolate_rules_argument(&rules, "setfsuid", 0, UINT32_MAX, 0, 0);
	isolate_rules_call(&rules, "setfsuid", EPERM);
	add_network_rules(&rules);
	if (!isolate_rules_load(&rules, 0))
		log_message("cannot install a filter of system calls in the session's process");
}
#else
static void refuse_calls(bool owned)
{
	(void)owned;
}
#endif

/*
 * A process with an owner needs these until isolate_as(), to write to root's directories and to
 * become the owner.
 */
#define UNTIL_OWNED                                                                      \
	(CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_SETUID) | \
			CAPABILITY(CAP_SETGID))

int isolate_session(
		const char *const *writable, bool sees_others, const struct session_owner *owner)
{
	int ret = 0;

	keep_capabilities(geteuid() ? 0
				    : CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH) |
							CAPABILITY(CAP_SYS_RESOURCE) |
							CAPABILITY(CAP_IPC_LOCK) |
							(owner ? UNTIL_OWNED : 0) |
							(sees_others ? CAPABILITY(CAP_CHECKPOINT_RESTORE)
								     : 0));
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (writable)
		ret = isolate_files(writable);
	if (!owner)
		refuse_calls(false);
	return ret;
}

int isolate_as(const struct session_owner *owner)
{
	if (setgroups(0, NULL))
		return -errno;
	setfsgid(owner->gid);
	setfsuid(owner->uid);
	/* These calls report no error: check the ids that are in effect now. */
	if ((uid_t)setfsuid((uid_t)-1) != owner->uid || (gid_t)setfsgid((gid_t)-1) != owner->gid)
		return -EPERM;
	/*
	 * Without further capabilities, the process cannot exceed the owner's quota, or use blocks
	 * that are reserved for root.
	 */
	keep_capabilities(CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_IPC_LOCK));
	/* The kernel resets this setting when the user id changes. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	refuse_calls(true);
	return 0;
}

struct root_call {
	void *(*function)(void *argument);
	void *argument;
};

static void *run_as_root(void *user)
{
	const struct root_call *call = user;

	/* Changes only this thread. */
	setfsuid(0);
	return call->function(call->argument);
}

bool isolate_as_root(void *(*function)(void *argument), void *argument)
{
	struct root_call call = {function, argument};
	pthread_t thread;

	return !pthread_create(&thread, NULL, run_as_root, &call) && !pthread_join(thread, NULL);
}

int isolate_sender(const struct session_owner *owner)
{
	if (owner &&
			(setgroups(0, NULL) || setresgid(owner->gid, owner->gid, owner->gid) ||
					setresuid(owner->uid, owner->uid, owner->uid)))
		return -errno;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	keep_capabilities(0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return 0;
}
