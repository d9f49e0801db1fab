/* SPDX-License-Identifier: MIT */
/*
 * Attaching while a program executes its file (src/attach/exec.c): the agent is loaded before the
 * first constructor of the program, and a program runs unchanged if that fails or is interrupted.
 *
 * The children that execute wait on a pipe for the permission that the kernel gives in the daemon's
 * helper process. The program that they execute is this file: it exits with WITH or WITHOUT.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/exec.h"
#include "attach/inject.h"

#include "../check.h"

#define WITH 41
#define WITHOUT 42
#define CHANGED 43
#define SKIPPED 77
#define KILLS 60

extern char **environ;
extern const char _start[];

static char own_path[4096], agent[4096], libside[4096];

/* ---- the program ---- */

static bool has_agent;

/* Runs before main(), after the constructors of libraries. */
__attribute__((constructor)) static void look_at_maps(void)
{
	char line[4400];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps))
		has_agent |= strstr(line, "libside-agent.so") != NULL;
	if (maps)
		(void)fclose(maps);
}

static int run_program(int argc, char **argv)
{
	if (argc != 3 || strcmp(argv[2], "operand") != 0 ||
			getauxval(AT_ENTRY) != (unsigned long)_start || !getenv("TEST_EXEC"))
		return CHANGED;
	return has_agent ? WITH : WITHOUT;
}

/* ---- the children ---- */

enum manner { PLAIN, THREAD, TRACED, SANDBOX, FAILS, OTHER };

struct gate {
	int ends[2];
	enum manner manner;
	int reports; /* the thread writes its id to it */
};

static void *execute(void *user)
{
	const struct gate *gate = user;
	char *args[] = {own_path, (char[]){"--program"}, (char[]){"operand"}, NULL};
	char *other[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"exit 42"}, NULL};
	struct timespec pause = {.tv_sec = 5};
	pid_t thread = gettid();
	char byte;

	if (write(gate->reports, &thread, sizeof(thread)) != sizeof(thread) ||
			read(gate->ends[0], &byte, 1) != 1)
		_exit(1);
	if (gate->manner == FAILS) {
		execve("/proc/self/none", args, environ);
		while (nanosleep(&pause, &pause) && errno == EINTR)
			;
		_exit(WITHOUT);
	}
	execve(gate->manner == OTHER ? other[0] : own_path, gate->manner == OTHER ? other : args,
			environ);
	_exit(2);
}

static void enter_sandbox(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(3);
}

/* Returns the child; *ret_thread will execute when a byte is written to `gate->ends[1]`. */
static pid_t begin(struct gate *gate, enum manner manner, pid_t *ret_thread)
{
	pthread_t thread;
	int reports[2];
	pid_t child;

	gate->manner = manner;
	CHECK(!pipe2(gate->ends, O_CLOEXEC) && !pipe2(reports, O_CLOEXEC));
	gate->reports = reports[1];
	child = fork();
	if (!child) {
		if (manner == SANDBOX)
			enter_sandbox();
		if (manner == THREAD) {
			if (pthread_create(&thread, NULL, execute, gate))
				_exit(4);
			pause();
		}
		execute(gate);
	}
	CHECK(child > 0 &&
			read(reports[0], ret_thread, sizeof(*ret_thread)) == sizeof(*ret_thread));
	close(reports[0]);
	close(reports[1]);
	return child;
}

static void permit(struct gate *gate)
{
	CHECK(write(gate->ends[1], "", 1) == 1);
	close(gate->ends[0]);
	close(gate->ends[1]);
}

static int status_of(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFEXITED(status))
		(void)fprintf(stderr, "the program has status %x\n", (unsigned int)status);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int start(pid_t thread, pid_t *ret_helper)
{
	static struct inject_request request;
	struct inject_exec exec = {
			.thread = thread, .request = &request, .visible = agent, .unused = -1};
	struct stat status;
	char byte;
	int fd;

	request = (struct inject_request){.agent = agent,
			.libside = libside,
			.function = "side_agent_request",
			.argument = "detach"};
	CHECK(!stat(own_path, &status));
	exec.device = status.st_dev;
	exec.inode = status.st_ino;
	fd = inject_exec_begin(&exec, ret_helper);
	CHECK(fd >= 0 && read(fd, &byte, 1) == 1 && !byte);
	return fd;
}

static int attach(enum manner manner, struct inject_report *ret_report)
{
	struct gate gate;
	pid_t thread, child = begin(&gate, manner, &thread), helper;
	int fd = start(thread, &helper), status;

	permit(&gate);
	inject_end(fd, helper, ret_report);
	status = status_of(child);
	(void)fprintf(stderr, "%d: exit status %d, kind %d, %s\n", manner, status, ret_report->kind,
			ret_report->text);
	return status;
}

/* ---- the tests ---- */

static void test_before_main(void)
{
	struct inject_report report;

	for (int i = 0; i < 5; i++) {
		CHECK(attach(PLAIN, &report) == WITH);
		CHECK(report.kind == INJECT_DONE && !report.was_loaded && !report.from_memory);
	}
	CHECK(attach(THREAD, &report) == WITH && report.kind == INJECT_DONE);
}

static void test_refusals(void)
{
	struct inject_report report;
	char seen[sizeof(agent)];

	memcpy(seen, agent, sizeof(seen));
	(void)snprintf(agent, sizeof(agent), "/proc/self/none");
	CHECK(attach(PLAIN, &report) == WITHOUT && report.kind == INJECT_UNSUITABLE);
	CHECK(strstr(report.text, "container") && strstr(report.hint, "side attach"));
	memcpy(agent, seen, sizeof(agent));
	CHECK(attach(SANDBOX, &report) == WITHOUT && report.kind == INJECT_UNSUITABLE);
	CHECK(strstr(report.text, "seccomp"));
	CHECK(attach(FAILS, &report) == WITHOUT && report.kind == INJECT_GONE);
	CHECK(strstr(report.text, "has not executed the file"));
	CHECK(attach(OTHER, &report) == 42 && report.kind == INJECT_GONE);
}

/* Another tracer keeps the program. */
static void test_traced(void)
{
	struct inject_report report;
	struct gate gate;
	pid_t thread, child = begin(&gate, TRACED, &thread), helper;
	int fd, status;

	CHECK(!ptrace(PTRACE_SEIZE, child, 0, 0));
	fd = start(thread, &helper);
	permit(&gate);
	inject_end(fd, helper, &report);
	CHECK(report.kind == INJECT_NOT_PERMITTED && strstr(report.text, "is tracing it"));
	/* Without PTRACE_O_TRACEEXEC, the exec sends SIGTRAP only to a traced process of TRACEME. */
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
			WEXITSTATUS(status) == WITHOUT);
}

/* A program that ends before its exec. */
static void test_ended(void)
{
	struct inject_report report;
	struct gate gate;
	pid_t thread, child = begin(&gate, PLAIN, &thread), helper;
	int fd = start(thread, &helper), status;

	CHECK(!kill(child, SIGKILL));
	inject_end(fd, helper, &report);
	CHECK(report.kind == INJECT_GONE);
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	close(gate.ends[0]);
	close(gate.ends[1]);
}

/*
 * The process that attaches is killed at any moment: the program still has its exit status, within
 * the time that it waits at most.
 */
static void test_kills(void)
{
	int with = 0, without = 0, status;

	for (int i = 0; i < KILLS; i++) {
		struct timespec pause = {.tv_nsec = i * 200000L}, begun, ended;
		struct inject_report report;
		struct gate gate;
		pid_t thread, child = begin(&gate, PLAIN, &thread), helper;
		int fd = start(thread, &helper);

		clock_gettime(CLOCK_MONOTONIC, &begun);
		permit(&gate);
		nanosleep(&pause, NULL);
		CHECK(!kill(helper, SIGKILL));
		inject_end(fd, helper, &report);
		status = status_of(child);
		clock_gettime(CLOCK_MONOTONIC, &ended);
		if (status != WITH && status != WITHOUT)
			(void)fprintf(stderr, "killed after %d us: exit status %d\n", i * 200,
					status);
		CHECK(status == WITH || status == WITHOUT);
		CHECK(ended.tv_sec - begun.tv_sec < 30);
		with += status == WITH;
		without += status == WITHOUT;
	}
	(void)fprintf(stderr, "killed: %d programs with the agent, %d without\n", with, without);
	CHECK(without);
}

/* What a constructor of a library does before the entry point: the program runs unchanged. */
static void test_constructors(void)
{
	const char *library = getenv("TEST_EXEC_MODULE");
	struct inject_report report;

	CHECK(library && !setenv("LD_PRELOAD", library, 1));
	/* Longer than the loader may take: the loader still jumps to the code. */
	CHECK(!setenv("TEST_EXEC_LIBRARY", "sleep", 1) && attach(PLAIN, &report) == WITHOUT);
	CHECK(report.kind == INJECT_FAILED && strstr(report.text, "has not finished in time"));
	CHECK(!setenv("TEST_EXEC_LIBRARY", "sandbox", 1) && attach(PLAIN, &report) == WITHOUT);
	CHECK(report.kind == INJECT_UNSUITABLE && strstr(report.text, "seccomp"));
	CHECK(!setenv("TEST_EXEC_LIBRARY", "handler", 1));
	for (int i = 0; i < 5; i++)
		CHECK(attach(PLAIN, &report) == WITH && report.kind == INJECT_DONE);
	CHECK(!unsetenv("TEST_EXEC_LIBRARY") && !unsetenv("LD_PRELOAD"));
}

static void test_files(void)
{
	const char *fixed = getenv("ATTACH_STATIC"), *of_32 = getenv("ATTACH_32");
	char reason[256];
	int file = open(own_path, O_RDONLY | O_CLOEXEC);

	CHECK(file >= 0 && inject_exec_suits(file, reason, sizeof(reason)) && !*reason);
	close(file);
	file = open(fixed ? fixed : "/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0 && !inject_exec_suits(file, reason, sizeof(reason)));
	CHECK(!fixed || strstr(reason, "statically linked"));
	close(file);
	file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0 && !inject_exec_suits(file, reason, sizeof(reason)));
	CHECK(strstr(reason, "not an ELF file"));
	close(file);
	file = open("/proc/self", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	CHECK(file >= 0 && !inject_exec_suits(file, reason, sizeof(reason)));
	close(file);
	if (!of_32)
		return;
	file = open(of_32, O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0 && !inject_exec_suits(file, reason, sizeof(reason)));
	CHECK(strstr(reason, "word size"));
	close(file);
}

static void test_rights(void)
{
	char path[] = "/tmp/side-exec-XXXXXX", reason[256];
	int file = mkstemp(path), own = open(own_path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	ssize_t size;

	CHECK(file >= 0 && own >= 0);
	while ((size = read(own, bytes, sizeof(bytes))) > 0)
		CHECK(write(file, bytes, (size_t)size) == size);
	CHECK(!fchmod(file, 0755) && inject_exec_suits(file, reason, sizeof(reason)));
	CHECK(!fchmod(file, 04755) && !inject_exec_suits(file, reason, sizeof(reason)));
	CHECK(strstr(reason, "gains privileges"));
	CHECK(!fchmod(file, 02755) && !inject_exec_suits(file, reason, sizeof(reason)));
	close(file);
	close(own);
	CHECK(!unlink(path));
}

/* ptrace can be forbidden even to processes of the same user. */
static bool may_trace(void)
{
	pid_t child = fork();
	bool may;

	if (!child) {
		pause();
		_exit(0);
	}
	may = !ptrace(PTRACE_SEIZE, child, 0, 0);
	kill(child, SIGKILL);
	(void)waitpid(child, NULL, __WALL);
	return may && !geteuid();
}

int main(int argc, char **argv)
{
	const char *folder = getenv("SIDE_LIB_DIR");
	ssize_t size;

	if (argc > 1 && !strcmp(argv[1], "--program"))
		return run_program(argc, argv);
	CHECK(folder);
	size = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);
	CHECK(size > 0);
	(void)snprintf(agent, sizeof(agent), "%.*s/libside-agent.so", (int)strcspn(folder, ":"),
			folder);
	(void)snprintf(libside, sizeof(libside), "%s/libside.so.0", strchr(folder, ':') + 1);
	CHECK(!setenv("TEST_EXEC", "1", 1) && !unsetenv("SIDE_LIB_DIR"));
	test_files();
	test_rights();
	if (!may_trace()) {
		(void)fprintf(stderr, "skipped: attaching requires root with CAP_SYS_PTRACE\n");
		return SKIPPED;
	}
	test_before_main();
	test_refusals();
	test_traced();
	test_ended();
	test_constructors();
	test_kills();
	return 0;
}
