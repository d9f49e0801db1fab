/* SPDX-License-Identifier: MIT */
/*
 * The rules of a confined process. The test replaces the calls to the kernel. It compares landlock
 * rules with those of each kernel version, and interprets the filters of system calls for each
 * number and argument.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <cmocka.h>

#include "isolate/isolate.h"

#define RULES_MAX 16

struct rule {
	uint64_t rights;
	char path[64];
};

static struct {
	long version;    /* of landlock */
	int ruleset;     /* the descriptor that is returned */
	bool is_refused; /* no ruleset is created */
	unsigned int rule_refused,
			rules_asked; /* the number of the rule that is refused; 0: none */
	unsigned int rulesets, restricted, closed;
	uint64_t attributes[3];
	size_t attributes_size;
	struct rule rules[RULES_MAX];
	unsigned int nr_rules;
	struct sock_filter filter[ISOLATE_CODE_MAX];
	unsigned int filter_size;
	int filter_error, no_new_privileges, privileges_error;
} kernel;

long __wrap_syscall(long number, ...);
int __wrap_prctl(int option, ...);
int __real_close(int fd);
int __wrap_close(int fd);

static long create_ruleset(const void *attributes, size_t size, unsigned int flags)
{
	if (flags) {
		assert_int_equal(flags, LANDLOCK_CREATE_RULESET_VERSION);
		assert_null(attributes);
		assert_int_equal(size, 0);
		return kernel.version;
	}
	if (kernel.is_refused)
		return -1;
	assert_true(size <= sizeof(kernel.attributes));
	memcpy(kernel.attributes, attributes, size);
	kernel.attributes_size = size;
	kernel.rulesets++;
	return kernel.ruleset;
}

static long add_rule(
		int ruleset, int type, const struct landlock_path_beneath_attr *rule, int flags)
{
	struct rule *added = &kernel.rules[kernel.nr_rules];
	char name[64];
	ssize_t length;

	assert_int_equal(ruleset, kernel.ruleset);
	assert_int_equal(type, LANDLOCK_RULE_PATH_BENEATH);
	assert_int_equal(flags, 0);
	if (++kernel.rules_asked == kernel.rule_refused) {
		errno = ENOMEM;
		return -1;
	}
	assert_true(kernel.nr_rules < RULES_MAX);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", rule->parent_fd);
	assert_true(fcntl(rule->parent_fd, F_GETFL) & O_PATH);
	assert_int_equal(fcntl(rule->parent_fd, F_GETFD), FD_CLOEXEC);
	length = readlink(name, added->path, sizeof(added->path) - 1);
	assert_true(length > 0);
	added->path[length] = '\0';
	added->rights = rule->allowed_access;
	kernel.nr_rules++;
	return 0;
}

static long load_filter(
		unsigned int operation, unsigned int flags, const struct sock_fprog *program)
{
	assert_int_equal(operation, SECCOMP_SET_MODE_FILTER);
	assert_int_equal(flags, 0);
	assert_true(program->len <= ISOLATE_CODE_MAX);
	memcpy(kernel.filter, program->filter, program->len * sizeof(*program->filter));
	kernel.filter_size = program->len;
	return kernel.filter_error;
}

long __wrap_syscall(long number, ...)
{
	long a, b, c, d;
	va_list list;

	va_start(list, number);
	a = va_arg(list, long);
	b = va_arg(list, long);
	c = va_arg(list, long);
	d = va_arg(list, long);
	va_end(list);
	switch (number) {
	case SYS_landlock_create_ruleset:
		return create_ruleset((const void *)a, (size_t)b, (unsigned int)c);
	case SYS_landlock_add_rule:
		return add_rule((int)a, (int)b, (const struct landlock_path_beneath_attr *)c,
				(int)d);
	case SYS_landlock_restrict_self:
		assert_int_equal((int)a, kernel.ruleset);
		assert_int_equal((int)b, 0);
		kernel.restricted++;
		return 0;
	case SYS_seccomp:
		return load_filter((unsigned int)a, (unsigned int)b, (const struct sock_fprog *)c);
	default: fail_msg("unexpected system call %ld", number); return -1;
	}
}

int __wrap_prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;

	va_start(list, option);
	for (unsigned int i = 0; i < 4; i++)
		arguments[i] = (unsigned long)va_arg(list, int);
	va_end(list);
	assert_int_equal(option, PR_SET_NO_NEW_PRIVS);
	assert_int_equal(arguments[0], 1);
	for (unsigned int i = 1; i < 4; i++)
		assert_int_equal(arguments[i], 0);
	kernel.no_new_privileges++;
	return kernel.privileges_error;
}

int __wrap_close(int fd)
{
	if (!kernel.rulesets || fd != kernel.ruleset)
		return __real_close(fd);
	kernel.closed++;
	return 0;
}

/* A kernel without landlock, which accepts everything else. */
static void begin(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.ruleset = 600;
}

static unsigned int count_descriptors(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 1000; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void assert_rule(unsigned int index, const char *path, uint64_t rights)
{
	assert_true(index < kernel.nr_rules);
	assert_string_equal(kernel.rules[index].path, path);
	assert_int_equal(kernel.rules[index].rights, rights);
}

/* ---- files ---- */

/* The rights, with the numbers of the kernel's documentation. */
enum {
	EXECUTE = 1 << 0,
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5,
	MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	ALL_OF_VERSION_1 = (1 << 13) - 1,
	REFER = 1 << 13,
	TRUNCATE = 1 << 14,
	IOCTL_DEV = 1 << 15,
	CHANGE_DIRECTORY = 0x1ff0 | REFER, /* removing, and making each type of file */
};

static char base[] = "/tmp/side-test-isolate-XXXXXX";
static char file[64], missing[64];

static void test_files(void **unused)
{
	const char *const writable[] = {base, file, missing, NULL};
	unsigned int descriptors = count_descriptors();

	(void)unused;
	begin();
	for (kernel.version = -1; kernel.version < 2; kernel.version++) {
		assert_int_equal(isolate_files(writable), 0);
		assert_int_equal(kernel.rulesets, 0);
	}
	kernel.is_refused = true;
	assert_int_equal(isolate_files(writable), 0);
	assert_int_equal(kernel.restricted + kernel.closed + kernel.nr_rules, 0);
	kernel.is_refused = false;
	assert_int_equal(isolate_files(writable), 0);
	assert_int_equal(kernel.attributes[0], CHANGE_DIRECTORY | WRITE_FILE | EXECUTE);
	assert_int_equal(kernel.nr_rules, 3);
	assert_rule(0, base, CHANGE_DIRECTORY | WRITE_FILE);
	assert_rule(1, file, WRITE_FILE);
	assert_rule(2, "/dev/null", WRITE_FILE);
	assert_int_equal(kernel.restricted, 1);
	assert_int_equal(kernel.closed, 1);
	assert_int_equal(count_descriptors(), descriptors);
	/* 0 is a valid descriptor. */
	begin();
	kernel.version = 2;
	kernel.ruleset = 0;
	assert_int_equal(isolate_files(writable), 0);
	assert_int_equal(kernel.nr_rules, 3);
	assert_int_equal(kernel.restricted, 1);
	assert_int_equal(kernel.closed, 1);
}

/* A path without a descriptor has no rule, which is reported. The other rules stay. */
static void test_no_descriptors(void **unused)
{
	const char *const writable[] = {base, NULL};
	struct rlimit before, none;
	int input = dup(STDIN_FILENO);

	(void)unused;
	begin();
	kernel.version = 3;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(isolate_files(writable), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(kernel.nr_rules, 0);
	assert_int_equal(kernel.restricted, 1);
	/* In the rules of a process without an input, the descriptor is 0. */
	close(STDIN_FILENO);
	assert_int_equal(isolate_files(writable), 0);
	assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	close(input);
	assert_int_equal(kernel.nr_rules, 2);
}

/* The kernel refuses the rule of a path: the caller gets the first error. The other rules stay. */
static void test_refused_rule(void **unused)
{
	const char *const writable[] = {missing, base, file, NULL};
	unsigned int descriptors = count_descriptors();

	(void)unused;
	for (unsigned int refused = 1; refused <= 3; refused++) {
		begin();
		kernel.version = 3;
		kernel.rule_refused = refused;
		/* The third one is that of /dev/null, which no caller needs. */
		assert_int_equal(isolate_files(writable), refused < 3 ? -ENOMEM : 0);
		assert_int_equal(kernel.nr_rules, 2);
		assert_int_equal(kernel.restricted, 1);
		assert_int_equal(kernel.closed, 1);
		assert_int_equal(count_descriptors(), descriptors);
	}
}

/*
 * The rights that each version handles (files, network, scopes), and the size of the structure that
 * it knows.
 */
static void test_versions(void **unused)
{
	static const struct {
		uint64_t files, network, scoped;
		size_t size;
	} versions[] = {
			{0, 0, 0, 0},
			{ALL_OF_VERSION_1, 0, 0, 8},
			{ALL_OF_VERSION_1 | REFER, 0, 0, 8},
			{ALL_OF_VERSION_1 | REFER | TRUNCATE, 0, 0, 8},
			{ALL_OF_VERSION_1 | REFER | TRUNCATE, 3, 0, 16},
			{ALL_OF_VERSION_1 | REFER | TRUNCATE | IOCTL_DEV, 3, 0, 16},
			{ALL_OF_VERSION_1 | REFER | TRUNCATE | IOCTL_DEV, 3, 3, 24},
			{ALL_OF_VERSION_1 | REFER | TRUNCATE | IOCTL_DEV, 3, 3, 24},
	};
	/* Elements after the counts are not used. */
	const char *const readable[] = {missing, file, base}, *const writable[] = {base, file};
	const struct isolate_limits limits = {.readable = readable,
			.nr_readable = 2,
			.writable = writable,
			.nr_writable = 1};
	unsigned int descriptors = count_descriptors();
	char self[64];

	(void)unused;
	snprintf(self, sizeof(self), "/proc/%d", getpid());
	for (long version = 0; version < 8; version++) {
		uint64_t change = READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG |
				READ_FILE | WRITE_FILE |
				(versions[version].files & (REFER | TRUNCATE | IOCTL_DEV));

		begin();
		kernel.version = version;
		assert_true(isolate_parser(&limits));
		assert_int_equal(kernel.no_new_privileges, 1);
		assert_int_equal(kernel.rulesets, version > 0);
		assert_int_equal(kernel.attributes[0], versions[version].files);
		assert_int_equal(kernel.attributes[1], versions[version].network);
		assert_int_equal(kernel.attributes[2], versions[version].scoped);
		assert_int_equal(kernel.attributes_size, versions[version].size);
		assert_int_equal(kernel.restricted, version > 0);
		assert_int_equal(kernel.closed, version > 0);
		assert_int_equal(kernel.nr_rules, version ? 6 : 0);
		if (version) {
			assert_rule(0, self, READ_FILE | READ_DIR);
			assert_rule(1, "/sys/devices/system/cpu", READ_FILE | READ_DIR);
			assert_rule(2, "/dev/urandom", READ_FILE);
			assert_rule(3, "/dev/null", READ_FILE);
			assert_rule(4, file, READ_FILE);
			assert_rule(5, base, change);
		}
	}
	assert_int_equal(count_descriptors(), descriptors);
}

static void test_limits_change_rules(void **unused)
{
	const char *const writable[] = {file};
	const struct isolate_limits limits = {.reads_all = true,
			.connects = true,
			.writable = writable,
			.nr_writable = 1};

	(void)unused;
	begin();
	kernel.version = 4;
	assert_true(isolate_parser(&limits));
	/* Reading and connecting to ports are not restricted. */
	assert_int_equal(kernel.attributes[0],
			(ALL_OF_VERSION_1 & ~(READ_FILE | READ_DIR)) | REFER | TRUNCATE);
	assert_int_equal(kernel.attributes[1], 1);
	assert_rule(0, kernel.rules[0].path, 0);
	assert_rule(4, file, WRITE_FILE | TRUNCATE);
	begin();
	kernel.version = 4;
	kernel.ruleset = 0;
	assert_true(isolate_parser(&limits));
	assert_int_equal(kernel.nr_rules, 5);
	assert_int_equal(kernel.restricted, 1);
	assert_int_equal(kernel.closed, 1);
	/* Without a ruleset the filter is still loaded. */
	begin();
	kernel.version = 4;
	kernel.is_refused = true;
	assert_true(isolate_parser(&limits));
	assert_int_equal(kernel.restricted + kernel.closed + kernel.nr_rules, 0);
	assert_true(kernel.filter_size > 100);
}

/* ---- system calls ---- */

/* The result of the loaded filter: 0 permits the call. */
static int run_filter(uint32_t architecture, int number, const uint64_t arguments[6])
{
	struct seccomp_data data = {.nr = number, .arch = architecture};
	uint32_t loaded = 0;

	for (unsigned int i = 0; i < 6; i++)
		data.args[i] = arguments[i];
	for (unsigned int at = 0; at < kernel.filter_size; at++) {
		const struct sock_filter *op = &kernel.filter[at];

		switch (op->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(op->k % 4 == 0 && op->k + 4 <= sizeof(data));
			memcpy(&loaded, (const char *)&data + op->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K: loaded &= op->k; break;
		case BPF_JMP | BPF_JEQ | BPF_K: at += loaded == op->k ? op->jt : op->jf; break;
		case BPF_JMP | BPF_JGE | BPF_K: at += loaded >= op->k ? op->jt : op->jf; break;
		case BPF_RET | BPF_K:
			if (op->k == SECCOMP_RET_ALLOW)
				return 0;
			assert_int_equal(op->k & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
			return (int)(op->k & SECCOMP_RET_DATA);
		default: fail_msg("instruction %u: %x", at, op->code);
		}
	}
	fail_msg("the filter has no end");
	return -1;
}

static int asked(const char *name, unsigned int index, uint64_t argument)
{
	uint64_t arguments[6] = {0};
	int number = seccomp_syscall_resolve_name(name);

	assert_true(number >= 0);
	arguments[index] = argument;
	return run_filter(seccomp_arch_native(), number, arguments);
}

static int answer(const char *name)
{
	return asked(name, 0, 0);
}

static void parse_with(const struct isolate_limits *limits)
{
	begin();
	assert_true(isolate_parser(limits));
}

static void test_parser_calls(void **unused)
{
	static const char *const permitted[] = {"read", "openat", "mmap", "futex", "exit_group",
			"getpeername", "recvmsg", "rename"};
	static const char *const forbidden[] = {"execve", "ptrace", "kcmp", "kill", "tkill",
			"listen", "bind", "accept", "accept4", "socket", "connect", "setuid"};
	static const char *const absent[] = {"clone3", "chmod", "socketpair", "setpriority"};
	const struct isolate_limits limits = {.reads_all = true};
	const uint64_t zero[6] = {0};

	(void)unused;
	parse_with(&limits);
	for (size_t i = 0; i < sizeof(permitted) / sizeof(*permitted); i++)
		assert_int_equal(answer(permitted[i]), 0);
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
		assert_int_equal(answer(forbidden[i]), EPERM);
	for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++)
		assert_int_equal(answer(absent[i]), ENOSYS);
	for (size_t i = 0; isolate_refused[i]; i++)
		if (seccomp_syscall_resolve_name(isolate_refused[i]) >= 0)
			assert_int_equal(answer(isolate_refused[i]), EPERM);
	/* The calls of another architecture, and those of x32, do not exist. */
	assert_int_equal(run_filter(SCMP_ARCH_X86, 3, zero),
			seccomp_arch_native() == SCMP_ARCH_X86 ? 0 : ENOSYS);
#ifdef __x86_64__
	assert_int_equal(run_filter(seccomp_arch_native(), 0x40000000, zero), ENOSYS);
	assert_int_equal(run_filter(seccomp_arch_native(), 0x40000001, zero), ENOSYS);
	assert_int_equal(run_filter(seccomp_arch_native(), 0x3fffffff, zero), ENOSYS);
#endif
}

/* How many rules of the loaded filter are for this call. */
static unsigned int count_rules(const char *name)
{
	uint32_t number = (uint32_t)seccomp_syscall_resolve_name(name);
	unsigned int count = 0, loaded = 0;

	for (unsigned int at = 0; at < kernel.filter_size; at++) {
		const struct sock_filter *op = &kernel.filter[at];

		if (op->code == (BPF_LD | BPF_W | BPF_ABS))
			loaded = op->k;
		else if (op->code == (BPF_JMP | BPF_JEQ | BPF_K))
			count += loaded == offsetof(struct seccomp_data, nr) && op->k == number;
	}
	return count;
}

static void test_parser_arguments(void **unused)
{
	static const unsigned int asks[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO};
	static const unsigned int sets[] = {TCSETS, TCSETSW, TCSETSF, TCFLSH, TCSBRK};
	static const unsigned int names[] = {
			PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_CAPBSET_READ, 0x53564d41};
	struct isolate_limits limits = {.reads_all = true};
	const uint64_t high = UINT64_C(1) << 32;

	(void)unused;
	for (int terminals = 0; terminals < 2; terminals++) {
		limits.terminals = terminals;
		parse_with(&limits);
		/* One rule for each permitted argument, and no more. */
		assert_int_equal(count_rules("ioctl"), terminals ? 5 + 8 : 5);
		assert_int_equal(count_rules("prctl"), 5);
		for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++)
			assert_int_equal(asked("ioctl", 1, asks[i] | high), 0);
		for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
			assert_int_equal(asked("ioctl", 1, sets[i]), terminals ? 0 : ENOSYS);
		assert_int_equal(asked("ioctl", 1, TIOCSTI), ENOSYS);
		assert_int_equal(asked("ioctl", 0, TCGETS), ENOSYS);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(asked("prctl", 0, names[i]), 0);
	assert_int_equal(asked("prctl", 0, PR_SET_DUMPABLE), ENOSYS);
	assert_int_equal(asked("prctl", 1, PR_SET_NAME), ENOSYS);
	assert_int_equal(asked("clone", 0, CLONE_THREAD | CLONE_VM), 0);
	assert_int_equal(asked("clone", 0, CLONE_VM), ENOSYS);
	assert_int_equal(asked("tgkill", 0, (uint64_t)getpid()), 0);
	assert_int_equal(asked("tgkill", 0, (uint64_t)getpid() + 1), ENOSYS);
	/* All 64 bits of the pointer are compared. */
	assert_int_equal(asked("prlimit64", 2, 0), 0);
	assert_int_equal(asked("prlimit64", 2, 1), ENOSYS);
	assert_int_equal(asked("prlimit64", 2, high), ENOSYS);
}

static void test_parser_network(void **unused)
{
	struct isolate_limits limits = {.reads_all = true, .connects = true};

	(void)unused;
	parse_with(&limits);
	assert_int_equal(answer("connect"), 0);
	assert_int_equal(asked("socket", 0, AF_INET), 0);
	assert_int_equal(asked("socket", 0, AF_INET6), 0);
	assert_int_equal(asked("socket", 0, AF_UNIX), ENOSYS);
	assert_int_equal(asked("socket", 0, AF_NETLINK), ENOSYS);
	assert_int_equal(answer("accept4"), EPERM);
	assert_int_equal(answer("bind"), EPERM);
	limits = (struct isolate_limits){.reads_all = true, .accepts = true};
	parse_with(&limits);
	assert_int_equal(answer("accept4"), 0);
	assert_int_equal(answer("accept"), EPERM);
	assert_int_equal(asked("socket", 0, AF_INET), EPERM);
	assert_int_equal(answer("connect"), EPERM);
}

static void test_resolver(void **unused)
{
	static const char *const forbidden[] = {"setfsuid", "listen", "accept", "accept4", "kill",
			"tkill", "tgkill", "execve", "fork", "kcmp", "io_uring_setup"};
	static const char *const permitted[] = {"read", "socket", "connect", "bind", "chmod"};

	(void)unused;
	begin();
	kernel.version = 7;
	assert_true(isolate_resolver());
	assert_int_equal(kernel.no_new_privileges, 1);
	assert_int_equal(kernel.nr_rules, 1);
	assert_rule(0, "/dev/null", WRITE_FILE);
	assert_int_equal(kernel.restricted, 1);
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
		assert_int_equal(answer(forbidden[i]), EPERM);
	for (size_t i = 0; i < sizeof(permitted) / sizeof(*permitted); i++)
		assert_int_equal(answer(permitted[i]), 0);
	assert_int_equal(asked("clone", 0, CLONE_THREAD | CLONE_VM), 0);
	assert_int_equal(asked("clone", 0, CLONE_VM), EPERM);
	assert_int_equal(answer("clone3"), ENOSYS);
}

static void test_refused_by_the_kernel(void **unused)
{
	const struct isolate_limits limits = {.reads_all = true};

	(void)unused;
	begin();
	kernel.filter_error = -1;
	assert_false(isolate_parser(&limits));
	assert_false(isolate_resolver());
	assert_true(kernel.filter_size);
	/*
	 * Without this right nothing else is attempted, because the kernel would refuse the filter.
	 */
	begin();
	kernel.version = 7;
	kernel.privileges_error = -1;
	assert_false(isolate_parser(&limits));
	assert_false(isolate_resolver());
	assert_int_equal(kernel.filter_size + kernel.rulesets, 0);
	assert_int_equal(kernel.no_new_privileges, 2);
}

/* The last instruction needs space as well: a full filter is not loaded. */
static void test_full(void **unused)
{
	static struct isolate_rules rules;
	unsigned int count, i;

	(void)unused;
	isolate_rules_begin(&rules);
	count = (ISOLATE_CODE_MAX - 1u - rules.size) / 2;
	for (i = 0; i < count; i++)
		isolate_rules_call(&rules, "read", EACCES);
	rules.size = ISOLATE_CODE_MAX - 3;
	isolate_rules_call(&rules, "write", EIO);
	assert_int_equal(rules.size, ISOLATE_CODE_MAX - 1);
	assert_false(rules.is_full);
	begin();
	assert_true(isolate_rules_load(&rules, EDOM));
	assert_int_equal(kernel.filter_size, ISOLATE_CODE_MAX);
	assert_int_equal(rules.code[ISOLATE_CODE_MAX - 1].k, SECCOMP_RET_ERRNO | EDOM);
	rules.size = ISOLATE_CODE_MAX - 2;
	isolate_rules_call(&rules, "write", EIO);
	assert_int_equal(rules.size, ISOLATE_CODE_MAX - 2);
	assert_true(rules.is_full);
	begin();
	assert_false(isolate_rules_load(&rules, EDOM));
	assert_int_equal(kernel.filter_size, 0);
	isolate_rules_begin(&rules);
	assert_false(rules.is_full);
}

/* An unknown call adds no rule; the call number 0 adds one. */
static void test_names(void **unused)
{
	static struct isolate_rules rules;
	unsigned short begin;

	(void)unused;
	isolate_rules_begin(&rules);
	begin = rules.size;
	isolate_rules_call(&rules, "no_such_call", 0);
	isolate_rules_argument(&rules, "no_such_call", 0, 0, 0, 0);
	assert_int_equal(rules.size, begin);
	for (int number = 0; number < 2; number++) {
		char *name = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);

		assert_non_null(name);
		isolate_rules_begin(&rules);
		isolate_rules_call(&rules, name, EXDEV);
		assert_int_equal(rules.size, begin + 2);
		isolate_rules_argument(&rules, name, 5, UINT64_MAX, 6, EROFS);
		assert_int_equal(rules.size, begin + 11);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_files),
			cmocka_unit_test(test_no_descriptors),
			cmocka_unit_test(test_refused_rule),
			cmocka_unit_test(test_versions),
			cmocka_unit_test(test_limits_change_rules),
			cmocka_unit_test(test_parser_calls),
			cmocka_unit_test(test_parser_arguments),
			cmocka_unit_test(test_parser_network),
			cmocka_unit_test(test_resolver),
			cmocka_unit_test(test_refused_by_the_kernel),
			cmocka_unit_test(test_full),
			cmocka_unit_test(test_names),
	};
	int ret, fd;

	if (!mkdtemp(base))
		return 1;
	snprintf(file, sizeof(file), "%s/file", base);
	snprintf(missing, sizeof(missing), "%s/missing", base);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return 1;
	close(fd);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	rmdir(base);
	return ret;
}
