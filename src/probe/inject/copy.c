/* SPDX-License-Identifier: MIT */
/*
 * Files of ours beside those that a program sees, where it has no /proc and so cannot load what is in its memory: in a
 * directory of its root directory, as long as it takes to load them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/inject/parts.h"

static const char *const directories[] = {"/tmp", "/var/tmp", "/dev/shm", "/run", "/"};

/* Its links lead nowhere but below its root. */
static int open_directory(pid_t pid, const char *directory)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char path[64];
	int root, fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, root, directory, &how, sizeof(how));
	close(root);
	return fd;
}

int inject_copy_file(const char *from, int to)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC), ret;
	char bytes[65536];
	ssize_t size = -1;

	if (fd < 0)
		return -errno;
	while ((size = read(fd, bytes, sizeof(bytes))) > 0) {
		if (write(to, bytes, (size_t)size) != size) {
			size = -1;
			break;
		}
	}
	ret = size < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* Its file in the new directory, with everybody's right to load it. */
static int put_file(const char *place, const char *name, const char *file)
{
	char path[128];
	int fd, ret;

	if (snprintf(path, sizeof(path), "%s/%s", place, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (fd < 0)
		return -errno;
	ret = inject_copy_file(file, fd);
	if (!ret && fchmod(fd, 0755))
		ret = -errno;
	close(fd);
	if (ret)
		unlink(path);
	return ret;
}

static bool make(struct inject_copy *copy, pid_t pid, const char *directory, const char *name,
		const char *file)
{
	copy->directory = open_directory(pid, directory);
	if (copy->directory < 0)
		return false;
	(void)snprintf(copy->place, sizeof(copy->place), "/proc/self/fd/%d/side-agent-XXXXXX",
			copy->directory);
	if (mkdtemp(copy->place)) {
		(void)snprintf(copy->name, sizeof(copy->name), "%s", name);
		if (!chmod(copy->place, 0755) && !put_file(copy->place, name, file)) {
			(void)snprintf(copy->theirs, sizeof(copy->theirs), "%s%s/%s",
					strcmp(directory, "/") != 0 ? directory : "",
					strrchr(copy->place, '/'), name);
			return true;
		}
		(void)rmdir(copy->place);
	}
	close(copy->directory);
	copy->directory = -1;
	return false;
}

bool inject_copy_make(struct inject_copy *copy, pid_t pid, const char *file)
{
	const char *name = strrchr(file, '/') + 1;

	for (; copy->next < sizeof(directories) / sizeof(*directories); copy->next++)
		if (make(copy, pid, directories[copy->next], name, file)) {
			copy->next++;
			return true;
		}
	return false;
}

void inject_copy_remove(struct inject_copy *copy)
{
	char path[128];

	if (copy->directory < 0)
		return;
	(void)snprintf(path, sizeof(path), "%s/%s", copy->place, copy->name);
	(void)unlink(path);
	(void)rmdir(copy->place);
	close(copy->directory);
	copy->directory = -1;
}
