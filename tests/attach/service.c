/* SPDX-License-Identifier: MIT */
/*
 * A program without libside that changes itself as services do. It reads one command a line from
 * standard input, and answers each with a line.
 *
 *   work N        makes N calls of service_work(), with 0, 1, …; the sum of the results
 *   fork N        a child makes the calls; its process id and the sum
 *   spawn         a child gives up root's rights as the worker of a server does, and calls
 *   service_work()
 *                 until its input ends; its process id
 *   user ID       gives up root's rights
 *   secret        becomes undumpable, so that its files in /proc belong to root
 *   files N       sets RLIMIT_NOFILE, and opens as many files as it permits
 *   locked        sets RLIMIT_MEMLOCK to 0
 *   close         closes all descriptors but those of the commands and answers
 *   root DIR      chroot
 *   filter        installs a seccomp filter that permits everything
 *   vfork         waits in vfork() for a child that sleeps
 *   quit
 */
#include <fcntl.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned long service_work(unsigned long number);

#ifdef __clang__
#define CALLED __attribute__((noinline))
#else
#define CALLED __attribute__((noinline, noclone))
#endif

CALLED unsigned long service_work(unsigned long number)
{
	__asm__ volatile("" : "+r"(number)::"memory");
	return 3 * number + 1;
}

static unsigned long work(unsigned long count)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < count; i++)
		sum += service_work(i);
	return sum;
}

static int become(unsigned int user)
{
	return setregid(user, user) || setreuid(user, user);
}

static int work_in_child(unsigned long count)
{
	int ends[2], status;
	unsigned long sum = 0;
	pid_t child;

	if (pipe(ends))
		return 0;
	child = fork();
	if (!child) {
		sum = work(count);
		_exit(write(ends[1], &sum, sizeof(sum)) != sizeof(sum));
	}
	if (waitpid(child, &status, 0) != child || read(ends[0], &sum, sizeof(sum)) != sizeof(sum))
		sum = 0;
	close(ends[0]);
	close(ends[1]);
	printf("forked %d %lu\n", (int)child, sum);
	return 0;
}

static int spawn_worker(void)
{
	pid_t parent = getpid(), child = fork();

	if (!child) {
		if (become(65534))
			_exit(1);
		for (;;) {
			service_work(7);
			usleep(5000);
			if (getppid() != parent)
				_exit(0);
		}
	}
	printf("spawned %d\n", (int)child);
	return 0;
}

static int take_files(unsigned long count)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	limit.rlim_cur = count;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	return 0;
}

static int enter_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {.len = 1, .filter = &allow};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int wait_in_vfork(void)
{
	pid_t child = vfork();

	if (!child) {
		execlp("sleep", "sleep", "3", (char *)NULL);
		_exit(1);
	}
	return 0;
}

/* Runs a command that changes the process. Returns 0, or the name of the failed call. */
static int be(const char *word, const char *rest)
{
	const struct rlimit none = {0, 0};
	unsigned long number = strtoul(rest, NULL, 0);

	if (!strcmp(word, "user"))
		return become((unsigned int)number);
	if (!strcmp(word, "secret"))
		return prctl(PR_SET_DUMPABLE, 0);
	if (!strcmp(word, "files"))
		return take_files(number);
	if (!strcmp(word, "locked"))
		return setrlimit(RLIMIT_MEMLOCK, &none);
	if (!strcmp(word, "close"))
		return (int)syscall(SYS_close_range, 2, ~0u, 0);
	if (!strcmp(word, "root"))
		return chroot(rest) || chdir("/");
	if (!strcmp(word, "filter"))
		return enter_filter();
	if (!strcmp(word, "vfork"))
		return wait_in_vfork();
	return 1;
}

int main(void)
{
	char line[512];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		char *rest = strchr(line, ' ');

		line[strcspn(line, "\n")] = 0;
		if (rest)
			*rest++ = 0;
		else
			rest = line + strlen(line);
		if (!strcmp(line, "quit"))
			return 0;
		if (!strcmp(line, "work"))
			printf("worked %lu\n", work(strtoul(rest, NULL, 10)));
		else if (!strcmp(line, "fork"))
			work_in_child(strtoul(rest, NULL, 10));
		else if (!strcmp(line, "spawn"))
			spawn_worker();
		else
			printf("%s\n", be(line, rest) ? "failed" : "done");
	}
	return 0;
}
