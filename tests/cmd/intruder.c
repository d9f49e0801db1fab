/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into readers of traces: plays an attacker who exploits a bug of a parser. When the
 * process is confined and first reads a directory or an ELF file, it tries the operations that are
 * forbidden to parsers, and prints a line for each attempt.
 *
 *   INTRUDER_FOREIGN   a file that the command was not given, readable by the user
 *   INTRUDER_DIRECTORY a directory that the user can write to, which the command was not given
 *   INTRUDER_INPUT     a file of the input, which must stay readable
 *   INTRUDER_PROCESS   name of the only process that tries; default: the process of the command
 *   INTRUDER_STOPS     only stop the process
 *   INTRUDER_KERNEL    "no-landlock", "no-seccomp" or "none": simulate a kernel that lacks them
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool lacks(const char *what)
{
	const char *kernel = getenv("INTRUDER_KERNEL");

	return kernel && (!strcmp(kernel, "none") || !strcmp(kernel, what));
}

static void print(const char *name, long result)
{
	char line[128];
	int size = snprintf(line, sizeof(line), "attempt %s %s\n", name,
			result < 0 ? strerrorname_np(errno) : "SUCCESS");

	(void)!write(STDERR_FILENO, line, (size_t)size);
}

static long status_value(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long value = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			value = strtol(line + strlen(name), NULL, 10);
	if (file)
		fclose(file);
	return value;
}

static void try_files(void)
{
	const char *foreign = getenv("INTRUDER_FOREIGN"), *directory = getenv("INTRUDER_DIRECTORY");
	const char *input = getenv("INTRUDER_INPUT");
	char path[4096];

	print("read-foreign", open(foreign, O_RDONLY | O_CLOEXEC));
	print("write-foreign", open(foreign, O_WRONLY | O_CLOEXEC));
	print("remove-foreign", unlink(foreign));
	print("list-foreign", open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	snprintf(path, sizeof(path), "%s/made", directory);
	print("make-file", open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	print("make-directory", mkdir(path, 0700));
	print("make-device", mknod(path, S_IFIFO | 0600, 0));
	print("make-link", symlink("/etc/passwd", path));
	print("read-passwords", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	if (input)
		print("read-input", open(input, O_RDONLY | O_CLOEXEC));
}

static void try_processes(void)
{
	char name[] = "true", *args[] = {name, NULL};
	long child;

	print("kill", kill(getppid(), 0));
	print("kill-self", kill(getpid(), 0));
	print("ptrace", ptrace(PTRACE_SEIZE, getppid(), 0, 0));
	child = syscall(SYS_fork);
	if (!child)
		_exit(0);
	print("fork", child);
	child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!child)
		_exit(0);
	print("clone", child);
	print("execve", execve("/bin/true", args, args));
	print("unshare", syscall(SYS_unshare, 0x10000000));
}

static void try_network(void)
{
	struct sockaddr address = {.sa_family = AF_INET};

	print("socket-unix", socket(AF_UNIX, SOCK_STREAM, 0));
	print("socket-packet", socket(AF_PACKET, SOCK_RAW, 0));
	print("socket-inet", socket(AF_INET, SOCK_STREAM, 0));
	print("connect", connect(STDIN_FILENO, &address, sizeof(address)));
	print("listen", listen(STDIN_FILENO, 1));
}

/*
 * The same call as tcgetattr() of newer C libraries: TCGETS2. It fails with ENOTTY, because the
 * input is no terminal.
 */
static void try_terminal(void)
{
#ifdef TCGETS2
	char state[44];

	print("ask-terminal",
			ioctl(STDIN_FILENO, _IOC(_IOC_READ, 'T', 0x2a, sizeof(state)), state));
#endif
}

static pid_t command;

__attribute__((constructor)) static void begin(void)
{
	command = getpid();
}

/* Helper processes have other permissions. */
static bool is_intruded(void)
{
	const char *wanted = getenv("INTRUDER_PROCESS");
	char path[64], name[17] = "";
	ssize_t size;
	int fd;

	if (!wanted)
		return getpid() == command;
	/* Read the name of the process, because threads can have names of their own. */
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);
	if (fd >= 0)
		close(fd);
	return size == (ssize_t)strlen(wanted) + 1 && !strncmp(name, wanted, strlen(wanted));
}

static void try_all(void)
{
	static bool is_done;
	int saved = errno;

	if (!is_done && is_intruded() && getenv("INTRUDER_STOPS") &&
			status_value("NoNewPrivs:") == 1) {
		is_done = true;
		raise(SIGSTOP);
	}
	if (is_done || !is_intruded() || !getenv("INTRUDER_FOREIGN") ||
			status_value("NoNewPrivs:") != 1)
		return;
	is_done = true;
	print("begin", 0);
	if (status_value("Seccomp:") == 2)
		print("filter", 0);
	try_files();
	if (!lacks("no-seccomp")) {
		try_processes();
		try_network();
		try_terminal();
	}
	print("end", 0);
	errno = saved;
}

/* ---- functions that parsers call ---- */

int scandirat(int fd, const char *name, struct dirent ***names,
		int (*filter)(const struct dirent *),
		int (*compare)(const struct dirent **, const struct dirent **))
{
	int (*real)(int, const char *, struct dirent ***, int (*)(const struct dirent *),
			int (*)(const struct dirent **, const struct dirent **)) = (int (*)(int,
			const char *, struct dirent ***, int (*)(const struct dirent *),
			int (*)(const struct dirent **, const struct dirent **)))(
			uintptr_t)dlsym(RTLD_NEXT, "scandirat");

	try_all();
	return real(fd, name, names, filter, compare);
}

struct dirent *readdir(DIR *directory)
{
	struct dirent *(*real)(DIR *) =
			(struct dirent * (*)(DIR *))(uintptr_t)dlsym(RTLD_NEXT, "readdir");

	try_all();
	return real(directory);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
	ssize_t (*real)(int, void *, size_t, off_t) = (ssize_t(*)(int, void *, size_t, off_t))(
			uintptr_t)dlsym(RTLD_NEXT, "pread");

	try_all();
	return real(fd, bytes, size, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	ssize_t (*real)(int, const void *, size_t, off_t) = (ssize_t(*)(
			int, const void *, size_t, off_t))(uintptr_t)dlsym(RTLD_NEXT, "pwrite");

	try_all();
	return real(fd, bytes, size, at);
}

int fstat(int fd, struct stat *status)
{
	int (*real)(int, struct stat *) =
			(int (*)(int, struct stat *))(uintptr_t)dlsym(RTLD_NEXT, "fstat");

	try_all();
	return real(fd, status);
}

/* ---- a kernel that lacks something ---- */

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	va_list list;
	long arguments[6];

	if (!real)
		real = (long (*)(long, ...))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if ((number == SYS_landlock_create_ruleset && lacks("no-landlock")) ||
			(number == SYS_seccomp && lacks("no-seccomp"))) {
		errno = ENOSYS;
		return -1;
	}
	return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
			arguments[5]);
}

int seccomp_load(const void *filter);

int seccomp_load(const void *filter)
{
	int (*real)(const void *) =
			(int (*)(const void *))(uintptr_t)dlsym(RTLD_NEXT, "seccomp_load");

	return lacks("no-seccomp") ? -EINVAL : real(filter);
}
