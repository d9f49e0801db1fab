/* SPDX-License-Identifier: MIT */
/* Opens files as a process sees them, with openat2(2). */
#include "base/process-root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool process_root_is_ours(pid_t pid)
{
	static const char *const names[] = {"root", "ns/mnt"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct stat own, other;
		char paths[2][64];

		(void)snprintf(paths[0], sizeof(paths[0]), "/proc/self/%s", names[i]);
		(void)snprintf(paths[1], sizeof(paths[1]), "/proc/%d/%s", (int)pid, names[i]);
		if (stat(paths[0], &own) || stat(paths[1], &other) || own.st_dev != other.st_dev ||
				own.st_ino != other.st_ino)
			return false;
	}
	return true;
}

int process_root_open(pid_t pid, const char *path, int flags)
{
	const struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
			.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char name[64];
	int root, fd, ret;

	(void)snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	ret = fd < 0 ? -errno : fd;
	(void)close(root);
	if (ret == -ENOSYS && process_root_is_ours(pid)) {
		fd = open(path, flags | O_CLOEXEC);
		ret = fd < 0 ? -errno : fd;
	}
	return ret;
}

int process_root_stat(pid_t pid, const char *path, struct stat *ret_status)
{
	int fd = process_root_open(pid, path, O_PATH), ret;

	if (fd < 0)
		return fd;
	ret = fstat(fd, ret_status) ? -errno : 0;
	(void)close(fd);
	return ret;
}
