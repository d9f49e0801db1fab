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
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sided.h"

#ifdef HAVE_LANDLOCK
#include <linux/landlock.h>
#endif
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

	/* Traces of members of the group are made as theirs. */
	if (daemon->system)
		kept |= CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID);

	keep_capabilities(daemon->uid ? 0 : kept);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* ---- landlock ---- */

#ifdef HAVE_LANDLOCK
static void allow_below(int rules, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {
			.allowed_access = rights,
			.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};

	if (rule.parent_fd < 0)
		return;
	syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent_fd);
}

/* Rights to what stands in a directory mean nothing for a file. */
static void allow_path(int rules, const char *path, uint64_t directory, uint64_t file)
{
	struct stat status;

	if (!stat(path, &status))
		allow_below(rules, path, S_ISDIR(status.st_mode) ? directory | file : file);
}

static void restrict_files(const char *const *writable)
{
	uint64_t directory = LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
			LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
			LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
			LANDLOCK_ACCESS_FS_MAKE_SYM;
	struct landlock_ruleset_attr attributes = {
			.handled_access_fs = directory | LANDLOCK_ACCESS_FS_WRITE_FILE |
					LANDLOCK_ACCESS_FS_EXECUTE,
	};
	long version = syscall(
			SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int rules;

	/* Moving between directories is refused by version 1 whatever is said. Ours do move. */
	if (version < 2)
		return;
#ifdef LANDLOCK_ACCESS_FS_REFER
	attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
	directory |= LANDLOCK_ACCESS_FS_REFER;
#else
	return;
#endif
	rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
	if (rules < 0)
		return;
	for (; *writable; writable++)
		allow_path(rules, *writable, directory, LANDLOCK_ACCESS_FS_WRITE_FILE);
	allow_below(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}
#else
static void restrict_files(const char *const *writable)
{
	(void)writable;
}
#endif

/* ---- seccomp ---- */

#ifdef HAVE_SECCOMP
/* Refused with EPERM: nobody who records needs them. */
static const char *const refused[] = {"execve", "execveat", "fork", "vfork", "ptrace",
		"process_vm_readv", "process_vm_writev", "mount", "umount2", "pivot_root", "chroot",
		"move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
		"mount_setattr", "unshare", "setns", "reboot", "kexec_load", "kexec_file_load",
		"init_module", "finit_module", "delete_module", "bpf", "userfaultfd",
		"io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl", "add_key",
		"request_key", "swapon", "swapoff", "acct", "quotactl", "nfsservctl", "sethostname",
		"setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
		"stime", "iopl", "ioperm", "syslog", "vhangup", "setuid", "setgid", "setreuid",
		"setregid", "setresuid", "setresgid", "setgroups", "setfsgid", "capset",
		"personality", "mknod", "mknodat", "open_by_handle_at", "name_to_handle_at",
		"lookup_dcookie", "pidfd_getfd", "process_madvise", "kcmp"};

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

	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		int number = seccomp_syscall_resolve_name(refused[i]);

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
		restrict_files(writable);
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
	/* Beyond the owner's quota and with the blocks that are reserved for root it writes nothing. */
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

	/* Of this thread alone. */
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
	restrict_files(writable);
	refuse_calls(true, false);
	return 0;
}
