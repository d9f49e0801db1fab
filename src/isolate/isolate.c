/* SPDX-License-Identifier: MIT */
/* Drop rights of a process: writing files, system calls, capabilities. Each part works alone: a kernel can lack another one. */
#include "isolate/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HAVE_LANDLOCK
#include <linux/landlock.h>
#endif
#ifdef HAVE_SECCOMP
#include <sched.h>
#include <seccomp.h>
#endif

/* ---- landlock ---- */

#ifdef HAVE_LANDLOCK
static void isolate_allow_below(int rules, const char *path, uint64_t rights)
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

/* Rights to the entries of a directory mean nothing for a file. */
static void isolate_allow_path(int rules, const char *path, uint64_t directory, uint64_t file)
{
	struct stat status;

	if (!stat(path, &status))
		isolate_allow_below(rules, path, S_ISDIR(status.st_mode) ? directory | file : file);
}

void isolate_files(const char *const *writable)
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

	/* Version 1 refuses every move between directories. These processes do move files. */
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
		isolate_allow_path(rules, *writable, directory, LANDLOCK_ACCESS_FS_WRITE_FILE);
	isolate_allow_below(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}
#else
void isolate_files(const char *const *writable)
{
	(void)writable;
}
#endif

/* ---- seccomp ---- */

const char *const isolate_refused[] = {"execve", "execveat", "fork", "vfork", "ptrace",
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
		"lookup_dcookie", "pidfd_getfd", "process_madvise", "kcmp", NULL};

#ifdef HAVE_SECCOMP
static bool isolate_refuse(scmp_filter_ctx filter, const char *const *names)
{
	for (; *names; names++) {
		int number = seccomp_syscall_resolve_name(*names);

		if (number != __NR_SCMP_ERROR &&
				seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0))
			return false;
	}
	return true;
}

/* Also inherited sockets that listen are of no use without accept(). */
static bool isolate_add_rules(scmp_filter_ctx filter, enum isolate_network network)
{
	static const char *const always[] = {
			"setfsuid", "connect", "listen", "bind", "socket", NULL};
	static const char *const accepts[] = {"accept", "accept4", NULL};
	int clone3 = seccomp_syscall_resolve_name("clone3");

	/* Threads, no processes. The arguments of clone3 are in memory: the C library uses clone instead. */
	return isolate_refuse(filter, isolate_refused) && isolate_refuse(filter, always) &&
			(network == ISOLATE_ACCEPTS || isolate_refuse(filter, accepts)) &&
			!seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
					SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)) &&
			(clone3 == __NR_SCMP_ERROR ||
					!seccomp_rule_add(
							filter, SCMP_ACT_ERRNO(ENOSYS), clone3, 0));
}

static bool isolate_calls(enum isolate_network network)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	bool good = filter && isolate_add_rules(filter, network) && !seccomp_load(filter);

	if (filter)
		seccomp_release(filter);
	return good;
}
#else
static bool isolate_calls(enum isolate_network network)
{
	(void)network;
	return true;
}
#endif

bool isolate_process(const char *const *writable, enum isolate_network network)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return false;
	isolate_files(writable);
	return isolate_calls(network);
}
