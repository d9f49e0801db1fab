/* SPDX-License-Identifier: MIT */
/*
 * Does what a debugger does: sets the bit in a running program from outside, puts a breakpoint on
 * the hook, and finds the event's state and arguments in the registers.
 */
#include "event.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static struct test_event event;
static struct side_arg_vec args;

static void program(void)
{
	CHECK(!ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	raise(SIGSTOP);
	if (__atomic_load_n(&event.state.enabled, __ATOMIC_RELAXED))
		side_call(&event.state.parent, &args);
	_exit(0);
}

static void expect_stop(pid_t child, int signal)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSTOPPED(status));
	CHECK_EQUAL(WSTOPSIG(status), signal);
}

int main(void)
{
	struct user_regs_struct registers;
	unsigned char *hook = (unsigned char *)(uintptr_t)side_ptrace_hook;
	long code;
	int status;
	pid_t child;

	alarm(20);
	test_event_init(&event, "event", 0);
	child = fork();
	if (!child)
		program();
	expect_stop(child, SIGSTOP);
	CHECK(!ptrace(PTRACE_POKEDATA, child, &event.state.enabled, (void *)((uintptr_t)1 << 62)));
	code = ptrace(PTRACE_PEEKTEXT, child, hook, NULL);
	CHECK(!ptrace(PTRACE_POKETEXT, child, hook, (void *)((code & ~0xffL) | 0xcc)));
	CHECK(!ptrace(PTRACE_CONT, child, NULL, NULL));
	expect_stop(child, SIGTRAP);
	CHECK(!ptrace(PTRACE_GETREGS, child, NULL, &registers));
	CHECK(registers.rip == (uintptr_t)hook + 1);
	CHECK(registers.rdi == (uintptr_t)&event.state);
	CHECK(registers.rsi == (uintptr_t)&args);
	CHECK(registers.rdx == 0);
	CHECK(registers.rcx - (uintptr_t)program < 4096);
	CHECK(!ptrace(PTRACE_POKETEXT, child, hook, (void *)code));
	registers.rip--;
	CHECK(!ptrace(PTRACE_SETREGS, child, NULL, &registers));
	CHECK(!ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}
