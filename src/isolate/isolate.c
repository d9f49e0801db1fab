/* SPDX-License-Identifier: MIT */
/*
 * Drops rights of a process: writing files, system calls, capabilities. Each part works alone,
 * because a kernel may lack the others.
 */
#include "isolate/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#ifdef HAVE_LANDLOCK
#include <linux/landlock.h>
#endif
#ifdef HAVE_SECCOMP
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SEARCHES_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SEARCHES_LEAKS 1
#endif
#endif
#ifndef SEARCHES_LEAKS
#define SEARCHES_LEAKS 0
#endif

/* ---- landlock ---- */

#ifdef HAVE_LANDLOCK
static int isolate_allow_below(int rules, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {
			.allowed_access = rights,
			.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};
	int ret = 0;

	if (rule.parent_fd < 0)
		return -errno;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
		ret = -errno;
	close(rule.parent_fd);
	return ret;
}

/*
 * Rights to the entries of a directory mean nothing for a file. A path that does not exist needs no
 * rule.
 */
static int isolate_allow_path(int rules, const char *path, uint64_t directory, uint64_t file)
{
	struct stat status;
	int ret = stat(path, &status) ? -errno : 0;

	if (!ret)
		ret = isolate_allow_below(
				rules, path, S_ISDIR(status.st_mode) ? directory | file : file);
	return ret == -ENOENT || ret == -ENOTDIR ? 0 : ret;
}

int isolate_files(const char *const *writable)
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
	int rules, ret = 0;

	/* Version 1 refuses every move between directories, but these processes move files. */
	if (version < 2)
		return 0;
#ifdef LANDLOCK_ACCESS_FS_REFER
	attributes.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
	directory |= LANDLOCK_ACCESS_FS_REFER;
#else
	return 0;
#endif
	rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
	if (rules < 0)
		return 0;
	for (; *writable; writable++) {
		int failed = isolate_allow_path(
				rules, *writable, directory, LANDLOCK_ACCESS_FS_WRITE_FILE);

		ret = ret ? ret : failed;
	}
	(void)isolate_allow_below(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
	return ret;
}

/*
 * The struct of newer kernels than the headers may know. The kernel also accepts its first members
 * alone.
 */
struct isolate_ruleset {
	uint64_t handled_files;
	uint64_t handled_network; /* version 4 */
	uint64_t scoped;          /* version 6 */
};

#define ISOLATE_REFER (UINT64_C(1) << 13)     /* version 2 */
#define ISOLATE_TRUNCATE (UINT64_C(1) << 14)  /* version 3 */
#define ISOLATE_IOCTL_DEV (UINT64_C(1) << 15) /* version 5 */
#define ISOLATE_BIND (UINT64_C(1) << 0)
#define ISOLATE_CONNECT (UINT64_C(1) << 1)
#define ISOLATE_ABSTRACT_SOCKETS (UINT64_C(1) << 0)
#define ISOLATE_SIGNALS (UINT64_C(1) << 1)

static struct isolate_ruleset isolate_ruleset(long version, const struct isolate_limits *limits)
{
	struct isolate_ruleset ruleset = {
			.handled_files = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1,
	};

	/*
	 * Do not restrict reads at all: a rule for "/" would not permit files in other mount
	 * namespaces.
	 */
	if (limits->reads_all)
		ruleset.handled_files &= ~(uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE |
				LANDLOCK_ACCESS_FS_READ_DIR);
	if (version >= 2)
		ruleset.handled_files |= ISOLATE_REFER;
	if (version >= 3)
		ruleset.handled_files |= ISOLATE_TRUNCATE;
	if (version >= 4)
		ruleset.handled_network = ISOLATE_BIND | (limits->connects ? 0 : ISOLATE_CONNECT);
	if (version >= 5)
		ruleset.handled_files |= ISOLATE_IOCTL_DEV;
	if (version >= 6)
		ruleset.scoped = ISOLATE_ABSTRACT_SOCKETS | ISOLATE_SIGNALS;
	return ruleset;
}

static size_t isolate_ruleset_size(long version)
{
	if (version >= 6)
		return sizeof(struct isolate_ruleset);
	return version >= 4 ? offsetof(struct isolate_ruleset, scoped)
			    : offsetof(struct isolate_ruleset, handled_network);
}

static void isolate_paths(const struct isolate_limits *limits)
{
	/* The C library and the runtimes of sanitizers read about the process and the machine. */
	static const char *const always[] = {
			"/proc/self", "/sys/devices/system/cpu", "/dev/urandom", "/dev/null", NULL};
	long version = syscall(
			SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct isolate_ruleset ruleset = isolate_ruleset(version, limits);
	const uint64_t read_directory = ruleset.handled_files & LANDLOCK_ACCESS_FS_READ_DIR;
	const uint64_t read_file = ruleset.handled_files & LANDLOCK_ACCESS_FS_READ_FILE;
	uint64_t write_file = read_file | LANDLOCK_ACCESS_FS_WRITE_FILE |
			(ruleset.handled_files & (ISOLATE_TRUNCATE | ISOLATE_IOCTL_DEV));
	uint64_t change = read_directory | LANDLOCK_ACCESS_FS_REMOVE_DIR |
			LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
			LANDLOCK_ACCESS_FS_MAKE_REG | (ruleset.handled_files & ISOLATE_REFER);
	int rules;

	if (version < 1)
		return;
	rules = (int)syscall(
			SYS_landlock_create_ruleset, &ruleset, isolate_ruleset_size(version), 0);
	if (rules < 0)
		return;
	for (size_t i = 0; always[i]; i++)
		(void)isolate_allow_path(rules, always[i], read_directory, read_file);
	for (size_t i = 0; i < limits->nr_readable; i++)
		(void)isolate_allow_path(rules, limits->readable[i], read_directory, read_file);
	for (size_t i = 0; i < limits->nr_writable; i++)
		(void)isolate_allow_path(rules, limits->writable[i], change, write_file);
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}
#else
int isolate_files(const char *const *writable)
{
	(void)writable;
	return 0;
}

static void isolate_paths(const struct isolate_limits *limits)
{
	(void)limits;
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
/*
 * The filter is built here without libseccomp, which would end the process if an allocation fails.
 * Only its names of system calls are used, which are constant tables. The first rule that matches
 * decides.
 */
static void isolate_rules_add(
		struct isolate_rules *rules, const struct sock_filter *code, size_t count)
{
	if (rules->size + count + 1 > ISOLATE_CODE_MAX) {
		rules->is_full = true;
		return;
	}
	memcpy(rules->code + rules->size, code, count * sizeof(*code));
	rules->size += (unsigned short)count;
}

static const struct sock_filter isolate_load_number =
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));

/* Calls of another architecture, and of x32 on x86-64, fail with ENOSYS. */
void isolate_rules_begin(struct isolate_rules *rules)
{
	const struct sock_filter code[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 1, 0),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
			isolate_load_number,
#ifdef __x86_64__
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, UINT32_C(0x40000000), 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
#endif
	};

	rules->size = 0;
	rules->is_full = false;
	isolate_rules_add(rules, code, sizeof(code) / sizeof(*code));
}

static uint32_t isolate_action(int error)
{
	return error ? SECCOMP_RET_ERRNO | (uint32_t)error : SECCOMP_RET_ALLOW;
}

void isolate_rules_call(struct isolate_rules *rules, const char *name, int error)
{
	int number = seccomp_syscall_resolve_name(name);
	const struct sock_filter code[] = {
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, isolate_action(error)),
	};

	/* Negative: this architecture has no such call of its own. */
	if (number >= 0)
		isolate_rules_add(rules, code, sizeof(code) / sizeof(*code));
}

void isolate_rules_calls(struct isolate_rules *rules, const char *const *names, int error)
{
	for (; *names; names++)
		isolate_rules_call(rules, *names, error);
}

void isolate_rules_argument(struct isolate_rules *rules, const char *name, unsigned int argument,
		uint64_t mask, uint64_t value, int error)
{
	const bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const uint32_t at = (uint32_t)(offsetof(struct seccomp_data, args) + 8 * argument);
	int number = seccomp_syscall_resolve_name(name);
	const struct sock_filter code[] = {
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 8),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at + (is_big ? 4 : 0)),
			BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)mask),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)value, 0, 4),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at + (is_big ? 0 : 4)),
			BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)(mask >> 32)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value >> 32), 0, 1),
			BPF_STMT(BPF_RET | BPF_K, isolate_action(error)),
			isolate_load_number,
	};

	if (number >= 0)
		isolate_rules_add(rules, code, sizeof(code) / sizeof(*code));
}

bool isolate_rules_load(struct isolate_rules *rules, int error)
{
	const struct sock_filter last = BPF_STMT(BPF_RET | BPF_K, isolate_action(error));
	struct sock_fprog program = {.filter = rules->code};

	if (rules->is_full)
		return false;
	rules->code[rules->size] = last;
	program.len = (unsigned short)(rules->size + 1);
	return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

void isolate_rules_threads_only(struct isolate_rules *rules)
{
	isolate_rules_argument(rules, "clone", 0, CLONE_THREAD, 0, EPERM);
	isolate_rules_call(rules, "clone3", ENOSYS);
}

/*
 * Permit connections: modules of the C library connect to services of this machine and to name
 * servers.
 */
static bool isolate_calls_of_resolver(void)
{
	static const char *const refused[] = {
			"setfsuid", "listen", "accept", "accept4", "kill", "tkill", "tgkill", NULL};
	struct isolate_rules rules;

	isolate_rules_begin(&rules);
	isolate_rules_calls(&rules, isolate_refused, EPERM);
	isolate_rules_calls(&rules, refused, EPERM);
	isolate_rules_threads_only(&rules);
	return isolate_rules_load(&rules, 0);
}

/* The calls of a parser: files, memory, threads, time, and the descriptors that it has. */
static const char *const isolate_parsing[] = {"read", "write", "readv", "writev", "pread64",
		"pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "open", "openat", "close",
		"close_range", "fstat", "fstat64", "stat", "stat64", "lstat", "lstat64",
		"newfstatat", "fstatat64", "statx", "statfs", "statfs64", "fstatfs", "fstatfs64",
		"access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents",
		"getdents64", "getcwd", "lseek", "_llseek", "fcntl", "fcntl64", "flock", "dup",
		"dup2", "dup3", "ftruncate", "ftruncate64", "fallocate", "fsync", "fdatasync",
		"copy_file_range", "sendfile", "sendfile64", "fadvise64", "fadvise64_64",
		"readahead", "sync_file_range", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat",
		"rename", "renameat", "renameat2", "utimensat", "umask", "pipe", "pipe2",
		"eventfd2", "memfd_create", "mmap", "mmap2", "mprotect", "munmap", "mremap", "brk",
		"madvise", "mincore", "msync", "futex", "futex_time64", "futex_waitv",
		"set_robust_list", "get_robust_list", "rseq", "membarrier", "gettid", "getpid",
		"getppid", "sched_yield", "sched_getaffinity", "getcpu", "rt_sigaction",
		"rt_sigprocmask", "rt_sigreturn", "sigreturn", "rt_sigtimedwait",
		"rt_sigtimedwait_time64", "rt_sigsuspend", "rt_sigpending", "sigaltstack",
		"signalfd4", "exit", "exit_group", "restart_syscall", "clock_gettime",
		"clock_gettime64", "clock_getres", "clock_getres_time64", "clock_nanosleep",
		"clock_nanosleep_time64", "nanosleep", "gettimeofday", "time", "alarm", "setitimer",
		"poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6",
		"pselect6_time64", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
		"inotify_init1", "inotify_add_watch", "inotify_rm_watch", "getuid", "geteuid",
		"getgid", "getegid", "getuid32", "geteuid32", "getgid32", "getegid32", "getgroups",
		"uname", "sysinfo", "getrlimit", "ugetrlimit", "getrusage", "times", "getrandom",
		"wait4", "waitid", "sendto", "recvfrom", "sendmsg", "recvmsg", "send", "recv",
		"shutdown", "getsockopt", "setsockopt", "getsockname", "getpeername", NULL};

/*
 * TCGETS2, TCSETS2, TCSETSW2 and TCSETSF2: newer C libraries use only these in tcgetattr(),
 * tcsetattr() and isatty(). The kernel headers that define the structure (44 bytes) cannot be
 * included together with the headers of the C library.
 */
#ifdef TCGETS2
#define TERMIOS2_GET _IOC(_IOC_READ, 'T', 0x2a, 44)
#define TERMIOS2_SET(number) _IOC(_IOC_WRITE, 'T', number, 44)
#else
#define TERMIOS2_GET TCGETS
#define TERMIOS2_SET(number) TCSETS
#endif

/* Terminals may be queried only: TIOCSTI would write to the terminal in the user's name. */
static void isolate_permit_arguments(struct isolate_rules *rules, bool terminals)
{
	static const unsigned long asks[] = {TCGETS, TERMIOS2_GET, TIOCGWINSZ, FIONREAD, FIONBIO};
	static const unsigned long sets[] = {TCSETS, TCSETSW, TCSETSF, TERMIOS2_SET(0x2b),
			TERMIOS2_SET(0x2c), TERMIOS2_SET(0x2d), TCFLSH, TCSBRK};
	static const unsigned int names[] = {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE,
			PR_CAPBSET_READ, 0x53564d41 /* PR_SET_VMA, which newer C libraries use */};
	const uint64_t whole = UINT64_MAX, number = UINT32_MAX;

	isolate_rules_argument(rules, "clone", 0, CLONE_THREAD, CLONE_THREAD, 0);
	isolate_rules_argument(rules, "tgkill", 0, number, (uint32_t)getpid(), 0);
	isolate_rules_argument(rules, "prlimit64", 2, whole, 0, 0);
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		isolate_rules_argument(rules, "ioctl", 1, number, asks[i], 0);
	for (size_t i = 0; terminals && i < sizeof(sets) / sizeof(*sets); i++)
		isolate_rules_argument(rules, "ioctl", 1, number, sets[i], 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		isolate_rules_argument(rules, "prctl", 0, number, names[i], 0);
}

/* The leak check of the sanitizer, at the end, is a process that traces this one. */
static void isolate_permit_sanitizer(struct isolate_rules *rules)
{
	static const char *const calls[] = {"clone", "ptrace", "prctl", "tgkill", "tkill", NULL};

	if (SEARCHES_LEAKS)
		isolate_rules_calls(rules, calls, 0);
}

static void isolate_permit_network(struct isolate_rules *rules, const struct isolate_limits *limits)
{
	if (limits->accepts)
		isolate_rules_call(rules, "accept4", 0);
	if (!limits->connects)
		return;
	isolate_rules_call(rules, "connect", 0);
	isolate_rules_argument(rules, "socket", 0, UINT32_MAX, AF_INET, 0);
	isolate_rules_argument(rules, "socket", 0, UINT32_MAX, AF_INET6, 0);
}

/*
 * All other calls fail with ENOSYS, so that the C library uses older ones instead (clone3). Calls
 * that would signal or connect fail with EPERM, which makes the reason visible.
 */
static void isolate_refuse_clearly(struct isolate_rules *rules, bool connects)
{
	static const char *const names[] = {"kill", "tkill", "pidfd_send_signal", "listen", "bind",
			"accept", "accept4", NULL};
	static const char *const network[] = {"socket", "connect", NULL};

	if (SEARCHES_LEAKS)
		return;
	isolate_rules_calls(rules, isolate_refused, EPERM);
	isolate_rules_calls(rules, names, EPERM);
	if (!connects)
		isolate_rules_calls(rules, network, EPERM);
}

static bool isolate_calls_of_parser(const struct isolate_limits *limits)
{
	struct isolate_rules rules;

	isolate_rules_begin(&rules);
	isolate_rules_calls(&rules, isolate_parsing, 0);
	isolate_permit_arguments(&rules, limits->terminals);
	isolate_permit_sanitizer(&rules);
	isolate_permit_network(&rules, limits);
	isolate_refuse_clearly(&rules, limits->connects);
	return isolate_rules_load(&rules, ENOSYS);
}
#else
static bool isolate_calls_of_resolver(void)
{
	return true;
}

static bool isolate_calls_of_parser(const struct isolate_limits *limits)
{
	(void)limits;
	return true;
}
#endif

bool isolate_resolver(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return false;
	isolate_files((const char *const[]){NULL});
	return isolate_calls_of_resolver();
}

bool isolate_parser(const struct isolate_limits *limits)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return false;
	isolate_paths(limits);
	return isolate_calls_of_parser(limits);
}
