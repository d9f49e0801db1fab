/* SPDX-License-Identifier: MIT */
/*
 * Each system call of the shim, with all arguments, and the shim's action for each result. The test
 * includes the file. A child runs the constructor, and this process traces it and provides the
 * results. Compiled a second time as for libside.a (LIBSIDE_STATIC).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../called.h"

/* Whether the agent and the C library are loaded: the addresses of weak functions. */
static void test_agent(void) {}

static const char *test_version(void)
{
	return "";
}

extern void (*agent_start)(void);
extern const char *(*libc_version)(void);
void (*agent_start)(void);
const char *(*libc_version)(void);
#define side_agent_start (*agent_start)
#define gnu_get_libc_version (*libc_version)
#include "tracers/preload/shim.c"
#include "protocol/protocol.h"

#ifdef LIBSIDE_STATIC
static bool has_interpreter;

bool environment_has_interpreter(void)
{
	return has_interpreter;
}
#define REASON WIRE_UNRECORDED_STATIC
#define PRLIMIT ""
#else
#define REASON WIRE_UNRECORDED_LOADER
#define PRLIMIT "prlimit 0 9 0\n"
#endif

/* The results of the calls. The limit of memory is written if prlimit() succeeds. */
static struct {
	long prctl, readlink, prlimit, socket, connect, sendto;
	uint64_t limit;
	const char *name;
} kernel;

static void reset(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.readlink = 5;
	kernel.name = "/n/ab";
	kernel.limit = UINT64_MAX;
	kernel.socket = 7;
	kernel.sendto = 1;
	agent_start = NULL;
	libc_version = test_version;
}

static void *address_in(unsigned long long number)
{
	void *address;
	uintptr_t value = (uintptr_t)number;

	memcpy(&address, &value, sizeof(address));
	return address;
}

static void child_read(pid_t child, unsigned long long from, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {address_in(from), size};

	assert_int_equal(process_vm_readv(child, &here, 1, &there, 1, 0), size);
}

static void child_write(pid_t child, unsigned long long to, const void *from, size_t size)
{
	struct iovec here = {(void *)(uintptr_t)from, size}, there = {address_in(to), size};

	assert_int_equal(process_vm_writev(child, &here, 1, &there, 1, 0), size);
}

static void note_message(pid_t child, const struct user_regs_struct *regs)
{
	struct shim_message message = {0};

	assert_in_range(regs->rdx, offsetof(struct shim_message, name), sizeof(message));
	child_read(child, regs->rsi, &message, regs->rdx);
	assert_int_equal(message.magic, WIRE_MAGIC);
	assert_int_equal(message.version, WIRE_PROTOCOL_VERSION);
	assert_int_equal(message.type, WIRE_UNRECORDED);
	assert_int_equal(message.reserved + message.elapsed_ms + message.body_reserved, 0);
	assert_int_equal(message.size, regs->rdx);
	called("sendto %lld %u %llx: reason %u, %u of %s\n", regs->rdi, message.size, regs->r10,
			message.reason, message.name_size, message.name);
}

static void note_address(pid_t child, const struct user_regs_struct *regs)
{
	struct {
		uint16_t family;
		char path[SHIM_PATH_SIZE];
	} address;
	size_t length;

	assert_int_equal(regs->rdx, sizeof(address));
	child_read(child, regs->rsi, &address, sizeof(address));
	length = strnlen(address.path, sizeof(address.path) - 1);
	for (size_t i = length; i < sizeof(address.path); i++)
		assert_int_equal(address.path[i], 0);
	called("connect %lld %u %s %lld\n", regs->rdi, address.family, address.path, regs->r10);
}

/* Notes a call and returns its result. */
static long answer(pid_t child, const struct user_regs_struct *regs)
{
	struct shim_poll poll;
	char path[15];

	/* No call of the shim has a fifth argument. */
	assert_int_equal(regs->r8, 0);
	switch (regs->orig_rax) {
	case SYS_prctl:
		called("prctl %lld %lld %lld %lld\n", regs->rdi, regs->rsi, regs->rdx, regs->r10);
		return kernel.prctl;
	case SYS_readlink:
		child_read(child, regs->rdi, path, sizeof(path));
		assert_memory_equal(path, "/proc/self/exe", 15);
		called("readlink %lld %lld\n", regs->rdx, regs->r10);
		if (kernel.readlink > 0)
			child_write(child, regs->rsi, kernel.name, (size_t)kernel.readlink);
		return kernel.readlink;
	case SYS_prlimit64:
		called("prlimit %lld %lld %lld\n", regs->rdi, regs->rsi, regs->rdx);
		if (!kernel.prlimit)
			child_write(child, regs->r10, &kernel.limit, sizeof(kernel.limit));
		return kernel.prlimit;
	case SYS_socket:
		called("socket %lld %llo %lld %lld\n", regs->rdi, regs->rsi, regs->rdx, regs->r10);
		return kernel.socket;
	case SYS_connect: note_address(child, regs); return kernel.connect;
	case SYS_sendto: note_message(child, regs); return kernel.sendto;
	case SYS_poll:
		child_read(child, regs->rdi, &poll, sizeof(poll));
		called("poll %d %d %d, %lld %lld %lld\n", poll.fd, poll.events, poll.revents,
				regs->rsi, regs->rdx, regs->r10);
		return 1;
	case SYS_close:
		called("close %lld %lld %lld %lld\n", regs->rdi, regs->rsi, regs->rdx, regs->r10);
		return 0;
	default: fail_msg("system call %lld", regs->orig_rax);
	}
	return 0;
}

/* Continues until the stop at the begin or the end of a call. */
static void go_on(pid_t child)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGTRAP | 0x80);
}

/* The value of the variable of `side run` in the child; NULL: none. */
static const char *report_variable;

static int set_variable(const char *name, const char *value)
{
	return value ? setenv(name, value, 1) : unsetenv(name);
}

/* Runs the constructor in a child with the variable, or without one, and compares its calls. */
static void assert_calls(const char *variable, const char *wanted)
{
	struct user_regs_struct regs;
	pid_t child = fork();
	int status;

	if (!child) {
		if (set_variable(SHIM_VARIABLE, variable) ||
				set_variable(SHIM_REPORT_VARIABLE, report_variable) ||
				ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
			_exit(1);
		shim_loaded();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, child, NULL,
					 PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
			0);
	for (;;) {
		long result;

		go_on(child);
		assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
		if (regs.orig_rax == SYS_exit_group)
			break;
		result = answer(child, &regs);
		/* The kernel makes no call, and this test provides the result. */
		regs.orig_rax = UINT64_MAX;
		assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &regs), 0);
		go_on(child);
		assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
		regs.rax = (unsigned long long)result;
		assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &regs), 0);
	}
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_called(wanted);
}

#define STRING_OF(number) #number
#define STRING(number) STRING_OF(number)
#define BEGIN "prctl 21 0 0 0\nreadlink 4095 0\n" PRLIMIT
#define SOCKET "socket 1 2004005 0 0\n"
#define POLL "poll 7 1 0, 1 100 0\n"
#define CLOSE "close 7 0 0 0\n"
#define SENT(reason, size, name_size, name) \
	"sendto 7 " #size " 4000: reason " STRING(reason) ", " #name_size " of " name "\n"
#define OF_REASON(reason) SENT(reason, 38, 6, "/n/ab")

#ifdef LIBSIDE_STATIC
#define REASON_NUMBER 8
#else
#define REASON_NUMBER 7
#endif
_Static_assert(REASON == REASON_NUMBER, "the number in the texts is that of the recorder");

static void test_all(void **unused)
{
	(void)unused;
	reset();
	assert_calls("ab:/cde",
			BEGIN SOCKET "connect 7 1 ab 0\n" OF_REASON(REASON_NUMBER) POLL CLOSE SOCKET
			"connect 7 1 /cde 0\n" OF_REASON(REASON_NUMBER) POLL CLOSE);
	assert_calls("", BEGIN);
	assert_calls(":", BEGIN);
}

/* `side run` gets the report, too, or alone. */
static void test_run(void **unused)
{
	(void)unused;
	reset();
	report_variable = "/cde";
	assert_calls("ab",
			BEGIN SOCKET "connect 7 1 ab 0\n" OF_REASON(REASON_NUMBER) POLL CLOSE SOCKET
			"connect 7 1 /cde 0\n" OF_REASON(REASON_NUMBER) POLL CLOSE);
	assert_calls(NULL, BEGIN SOCKET "connect 7 1 /cde 0\n" OF_REASON(REASON_NUMBER) POLL CLOSE);
	report_variable = NULL;
}

static void test_nothing(void **unused)
{
	(void)unused;
	reset();
	assert_calls(NULL, "");
	agent_start = test_agent;
	assert_calls("ab", "");
	/* In a sandbox. */
	reset();
	kernel.prctl = 2;
	assert_calls("ab", "prctl 21 0 0 0\n");
}

static void test_name(void **unused)
{
	static char longest[SHIM_NAME_SIZE];

	(void)unused;
	for (long size = -2; size < 1; size++) {
		reset();
		kernel.readlink = size;
		assert_calls("ab",
				BEGIN SOCKET "connect 7 1 ab 0\n" SENT(REASON_NUMBER, 34, 2, "?")
						POLL CLOSE);
	}
	reset();
	kernel.readlink = 1;
	assert_calls("ab",
			BEGIN SOCKET "connect 7 1 ab 0\n" SENT(REASON_NUMBER, 34, 2, "/")
					POLL CLOSE);
	/* The longest name keeps its NUL. */
	memset(longest, 'n', sizeof(longest) - 1);
	kernel.name = longest;
	kernel.readlink = sizeof(longest) - 1;
	kernel.connect = -1;
	assert_calls("ab", BEGIN SOCKET "connect 7 1 ab 0\n" CLOSE);
}

static void test_failing(void **unused)
{
	(void)unused;
	reset();
	kernel.socket = -24;
	assert_calls("ab:c", BEGIN SOCKET SOCKET);
	/* 0 is a valid descriptor. */
	kernel.socket = 0;
	kernel.connect = -111;
	assert_calls("ab", BEGIN SOCKET "connect 0 1 ab 0\nclose 0 0 0 0\n");
	reset();
	for (kernel.sendto = -11; kernel.sendto <= 0; kernel.sendto += 11)
		assert_calls("ab",
				BEGIN SOCKET "connect 7 1 ab 0\n" OF_REASON(REASON_NUMBER) CLOSE);
}

#ifdef LIBSIDE_STATIC
static void test_reasons(void **unused)
{
	(void)unused;
	reset();
	has_interpreter = true;
	assert_calls("ab", "");
	has_interpreter = false;
}
#else
static void test_reasons(void **unused)
{
	_Static_assert(WIRE_UNRECORDED_MEMORY == 4 && WIRE_UNRECORDED_C_LIBRARY == 2,
			"as in the texts");
	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		reset();
		kernel.limit = i ? UINT64_MAX - 1 : 0;
		assert_calls("ab", BEGIN SOCKET "connect 7 1 ab 0\n" OF_REASON(4) POLL CLOSE);
	}
	/* The limit is unknown. */
	reset();
	kernel.limit = 0;
	kernel.prlimit = -1;
	assert_calls("ab", BEGIN SOCKET "connect 7 1 ab 0\n" OF_REASON(7) POLL CLOSE);
	libc_version = NULL;
	assert_calls("ab",
			"prctl 21 0 0 0\nreadlink 4095 0\n" SOCKET "connect 7 1 ab 0\n" OF_REASON(2)
					POLL CLOSE);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_all),
			cmocka_unit_test(test_run),
			cmocka_unit_test(test_nothing),
			cmocka_unit_test(test_name),
			cmocka_unit_test(test_failing),
			cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
