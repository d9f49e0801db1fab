/* SPDX-License-Identifier: MIT */
/*
 * The privileges that a session process has dropped: the test process drops them, and tries to use
 * them. Skips each restriction that the machine does not support, and prints the tested ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs/sided/sided.h"

/*
 * Not that of check.h: prints errno, and ends by a system call that each sandbox permits, unlike
 * those of abort().
 */
#define CHECK(condition)                                                                    \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, \
					strerror(errno));                                   \
			_exit(1);                                                           \
		}                                                                           \
	} while (0)

static char base[] = "/tmp/side-test-isolate-XXXXXX";

/* Replaces the daemon's function, which writes to its log. */
void log_message(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
}

static const char *below(const char *name)
{
	static char paths[4][128];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(*paths), "%s/%s", base, name);
	return path;
}

static int make_file(const char *name)
{
	int fd = open(below(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	CHECK(write(fd, "x", 1) == 1);
	close(fd);
	return 0;
}

static void *nothing(void *argument)
{
	return argument;
}

static bool has_landlock(void)
{
#ifdef HAVE_LANDLOCK
	/* The flag asks for the version. */
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1u) >= 2;
#else
	return false;
#endif
}

/* Files may be created, moved and removed only where the session writes. */
static void files(void)
{
	CHECK(!make_file("in/a"));
	CHECK(!mkdir(below("in/chunk"), 0700));
	CHECK(!rename(below("in/a"), below("in/chunk/b")));
	CHECK(!rename(below("in/chunk/b"), below("also/c")));
	CHECK(!unlink(below("also/c")));
	CHECK(!rmdir(below("in/chunk")));
	if (!has_landlock()) {
		printf("files: not tried, there is no landlock that can tell moves apart\n");
		return;
	}
	CHECK(make_file("out/a") == -EACCES);
	CHECK(mkdir(below("out/directory"), 0700) && errno == EACCES);
	CHECK(unlink(below("out/there")) && errno == EACCES);
	CHECK(open(below("out/there"), O_WRONLY | O_CLOEXEC) < 0 && errno == EACCES);
	CHECK(!make_file("in/a"));
	CHECK(rename(below("in/a"), below("out/a")) && (errno == EACCES || errno == EXDEV));
	CHECK(symlink("/etc", below("out/link")) && errno == EACCES);
	/* Files of other processes may be read, because those of programs must be. */
	CHECK(open(below("out/there"), O_RDONLY | O_CLOEXEC) >= 0);
	CHECK(open("/dev/null", O_WRONLY | O_CLOEXEC) >= 0);
	printf("files: refused outside\n");
}

static void calls(void)
{
#ifdef HAVE_SECCOMP
	static char name[] = "/bin/true";
	char *const arguments[] = {name, NULL};
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/nowhere"};
	struct timespec now = {0};
	pthread_t thread;
	int fd;

	CHECK(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2);
	CHECK(execve(name, arguments, arguments + 1) && errno == EPERM);
	CHECK(syscall(SYS_fork) < 0 && errno == EPERM);
	CHECK(fork() < 0 && errno == EPERM);
	CHECK(syscall(SYS_ptrace, 16 /* PTRACE_ATTACH */, getppid(), 0, 0) < 0 && errno == EPERM);
	CHECK(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
	CHECK(socket(AF_NETLINK, SOCK_RAW, 0) < 0 && errno == EPERM);
	CHECK(clock_settime(CLOCK_REALTIME, &now) && errno == EPERM);
	CHECK(syscall(SYS_setns, 0, 0) && errno == EPERM);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0);
	CHECK(connect(fd, (const struct sockaddr *)&address, sizeof(address)) && errno == EPERM);
	/* Required operations still work. */
	CHECK(!pthread_create(&thread, NULL, nothing, NULL) && !pthread_join(thread, NULL));
	CHECK(syscall(SYS_memfd_create, "ring", 3u) >= 0);
	printf("calls: refused\n");
#else
	printf("calls: not tried, this build has no libseccomp\n");
#endif
}

static void capabilities(void)
{
	/* chown, setuid, net_admin, sys_module, sys_admin, sys_time: of root's process alone. */
	static const int gone[] = {0, 7, 12, 16, 21, 25};
	unsigned long long effective = ~0ull;
	char line[128];
	FILE *status = fopen("/proc/self/status", "re");

	CHECK(status);
	while (fgets(line, sizeof(line), status))
		sscanf(line, "CapEff: %llx", &effective);
	fclose(status);
	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++) {
		CHECK(!(effective >> gone[i] & 1));
		CHECK(prctl(PR_CAPBSET_READ, gone[i], 0, 0, 0) == 0 || geteuid());
	}
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	printf("capabilities: %llx\n", effective);
}

static int in_child(void)
{
	char in[64], also[64];
	const char *writable[] = {in, also, NULL};

	snprintf(in, sizeof(in), "%s", below("in"));
	snprintf(also, sizeof(also), "%s", below("also"));
	CHECK(!isolate_session(writable, false, NULL));
	files();
	calls();
	capabilities();
	fflush(stdout);
	/* Not exit(): the leak checker would start a process. */
	_exit(0);
}

static void remove_all(void)
{
	static const char *const names[] = {"in/a", "in", "also", "out/there", "out", ""};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		remove(below(names[i]));
}

int main(void)
{
	int status;
	pid_t child;

	CHECK(mkdtemp(base));
	CHECK(!mkdir(below("in"), 0700) && !mkdir(below("also"), 0700) &&
			!mkdir(below("out"), 0700));
	CHECK(!make_file("out/there"));
	child = fork();
	CHECK(child >= 0);
	if (!child)
		in_child();
	CHECK(waitpid(child, &status, 0) == child);
	remove_all();
	CHECK(access(base, F_OK) && errno == ENOENT);
	if (!WIFEXITED(status)) {
		fprintf(stderr, "the process was killed by signal %d\n", WTERMSIG(status));
		return 1;
	}
	return WEXITSTATUS(status);
}
