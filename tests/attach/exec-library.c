/* SPDX-License-Identifier: MIT */
/* A library whose constructor does what TEST_EXEC_LIBRARY names, for test-exec.c. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define IF_CALL(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1)

static void exec_library_sleep(int ms)
{
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	while (nanosleep(&pause, &pause))
		;
}

/* Ends the program for the calls of code that waits or starts a thread. */
static void exec_library_enter_sandbox(void)
{
	struct sock_filter filter[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			IF_CALL(SYS_nanosleep), KILL, IF_CALL(SYS_kill), KILL, IF_CALL(SYS_clone),
			KILL, IF_CALL(SYS_clone3), KILL, ALLOW};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(3);
}

static void exec_library_handle(int number)
{
	(void)number;
	exec_library_sleep(300);
}

/* A handler that waits, and begins while the program waits for the agent. */
static void exec_library_set_timer(void)
{
	const struct itimerval timer = {.it_value = {.tv_usec = 3000}};
	struct sigaction action = {.sa_handler = exec_library_handle, .sa_flags = SA_RESTART};

	if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &timer, NULL))
		_exit(3);
}

__attribute__((constructor)) static void exec_library_loaded(void)
{
	const char *what = getenv("TEST_EXEC_LIBRARY");

	if (what && !strcmp(what, "sleep"))
		exec_library_sleep(2500);
	else if (what && !strcmp(what, "sandbox"))
		exec_library_enter_sandbox();
	else if (what && !strcmp(what, "handler"))
		exec_library_set_timer();
}
