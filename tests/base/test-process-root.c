/* SPDX-License-Identifier: MIT */
/* Links of a process with another root directory begin there, also with old kernels: refused. */
#include "base/process-root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

#define NONE 77

static bool is_old_kernel;

long __real_syscall(long number, int root, const char *path, const void *how, size_t size);
long __wrap_syscall(long number, int root, const char *path, const void *how, size_t size);

long __wrap_syscall(long number, int root, const char *path, const void *how, size_t size)
{
	CHECK(number == SYS_openat2);
	if (!is_old_kernel)
		return __real_syscall(number, root, path, how, size);
	errno = ENOSYS;
	return -1;
}

static char folder[] = "/tmp/side-process-root-XXXXXX";

static const char *below(const char *name)
{
	static char paths[2][PATH_MAX];
	static unsigned int nr;
	char *path = paths[nr++ % 2];

	(void)snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && !close(fd));
}

static bool is_file(pid_t pid, const char *path, const char *ours)
{
	struct stat status, wanted;

	CHECK(!stat(ours, &wanted));
	return !process_root_stat(pid, path, &status) && status.st_dev == wanted.st_dev &&
			status.st_ino == wanted.st_ino;
}

/* It ends when its parent closes the pipe. */
static pid_t start_in(const char *root, int ends[2])
{
	pid_t pid;
	char byte;
	int ready[2];

	CHECK(!pipe2(ends, O_CLOEXEC) && !pipe2(ready, O_CLOEXEC));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		(void)close(ends[1]);
		byte = chroot(root) ? 'n' : 'y';
		(void)!write(ready[1], &byte, 1);
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
	CHECK(read(ready[0], &byte, 1) == 1 && !close(ready[0]) && !close(ready[1]));
	CHECK(!close(ends[0]));
	if (byte == 'y')
		return pid;
	printf("skipped: chroot() is not permitted\n");
	(void)close(ends[1]);
	(void)waitpid(pid, NULL, 0);
	return 0;
}

static void test_own(void)
{
	int fd;

	for (int old = 0; old < 2; old++) {
		is_old_kernel = old;
		CHECK(is_file(getpid(), below("outside"), below("outside")));
		CHECK(process_root_open(getpid(), below("none"), O_RDONLY) == -ENOENT);
		fd = process_root_open(getpid(), below("outside"), O_RDONLY);
		CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC && !close(fd));
	}
	is_old_kernel = false;
}

static void test_other(pid_t pid)
{
	struct stat status;

	CHECK(is_file(pid, "/file", below("root/file")));
	CHECK(is_file(pid, "/link", below("root/file")));
	CHECK(is_file(pid, "/../../file", below("root/file")));
	CHECK(process_root_stat(pid, "/out", &status) == -ENOENT);
	CHECK(process_root_open(pid, below("outside"), O_RDONLY) == -ENOENT);
	is_old_kernel = true;
	CHECK(process_root_stat(pid, "/file", &status) == -ENOSYS);
	is_old_kernel = false;
}

int main(void)
{
	static const char *const names[] = {
			"outside", "root/file", "root/link", "root/out", "root", ""};
	int ends[2], status = 0;
	struct stat ended;
	pid_t pid;

	CHECK(mkdtemp(folder) && !mkdir(below("root"), 0700));
	make_file(below("outside"));
	make_file(below("root/file"));
	CHECK(!symlink("/file", below("root/link")));
	CHECK(!symlink(below("outside"), below("root/out")));
	test_own();
	pid = start_in(below("root"), ends);
	if (pid) {
		test_other(pid);
		CHECK(!close(ends[1]) && waitpid(pid, &status, 0) == pid && !status);
		CHECK(process_root_stat(pid, "/file", &ended) == -ENOENT);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		CHECK(!remove(below(names[i])));
	return pid ? 0 : NONE;
}
