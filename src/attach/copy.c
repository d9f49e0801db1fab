/* SPDX-License-Identifier: MIT */
/*
 * Copies agent and libside into a directory that the program can read, if it has another root
 * directory without /proc and thus cannot load them from memory. The copies exist only while the
 * program loads them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/parts.h"
#include "base/io.h"

#define COPY_PREFIX "side-agent-"
/*
 * An unlocked directory that is younger than this may belong to a process between mkdtemp() and
 * flock().
 */
#define COPY_WAITS_S 60

static const char *const directories[] = {"/tmp", "/var/tmp", "/dev/shm", "/run", "/"};

/* Open a directory of the program. Its symbolic links are resolved within its root directory. */
static int attach_copy_open_directory(pid_t pid, const char *directory)
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
	ssize_t size;

	if (fd < 0)
		return -errno;
	do {
		size = io_read(fd, bytes, sizeof(bytes));
		ret = size < 0 ? (int)size : io_write_all(to, bytes, (size_t)size);
	} while (!ret && size == (ssize_t)sizeof(bytes));
	close(fd);
	return ret;
}

/* Copy the file into the new directory, with the right for every user to load it. */
static int attach_copy_write_file(int location, const char *name, const char *file)
{
	int fd, ret;

	fd = openat(location, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (fd < 0)
		return -errno;
	ret = inject_copy_file(file, fd);
	if (!ret && fchmod(fd, 0755))
		ret = -errno;
	close(fd);
	if (ret)
		(void)unlinkat(location, name, 0);
	return ret;
}

static void attach_copy_remove(struct inject_copy *copy)
{
	if (copy->created_fd >= 0) {
		(void)unlinkat(copy->created_fd, copy->name, 0);
		close(copy->created_fd);
	}
	if (*copy->created_name)
		(void)unlinkat(copy->directory, copy->created_name, AT_REMOVEDIR);
	close(copy->directory);
	copy->directory = copy->created_fd = -1;
}

/*
 * Create the directory and open it without following links: a user who may write to the parent can
 * replace the new directory by a link.
 */
static bool attach_copy_create_directory(struct inject_copy *copy)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/" COPY_PREFIX "XXXXXX",
			copy->directory);
	if (!mkdtemp(path))
		return false;
	(void)snprintf(copy->created_name, sizeof(copy->created_name), "%s",
			strrchr(path, '/') + 1);
	copy->created_fd = openat(copy->directory, copy->created_name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (copy->created_fd < 0 || fchmod(copy->created_fd, 0755))
		return false;
	/*
	 * Held as long as the directory is used. It fails only while another process examines the
	 * new directory in attach_copy_remove_if_abandoned().
	 */
	(void)flock(copy->created_fd, LOCK_SH | LOCK_NB);
	return true;
}

/* Remove the directory of a killed process of this user. Follow no link. */
static void attach_copy_remove_if_abandoned(int directory, const char *made, const char *file)
{
	int location = openat(directory, made, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (location < 0)
		return;
	if (!fstat(location, &status) && status.st_uid == geteuid() &&
			time(NULL) - status.st_mtime >= COPY_WAITS_S &&
			!flock(location, LOCK_EX | LOCK_NB)) {
		(void)unlinkat(location, file, 0);
		(void)unlinkat(directory, made, AT_REMOVEDIR);
	}
	close(location);
}

static void attach_copy_remove_abandoned(const struct inject_copy *copy)
{
	struct dirent *entry;
	DIR *directory;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", copy->directory);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)))
		if (!strncmp(entry->d_name, COPY_PREFIX, strlen(COPY_PREFIX)))
			attach_copy_remove_if_abandoned(copy->directory, entry->d_name, copy->name);
	if (directory)
		closedir(directory);
}

static bool attach_copy_create(struct inject_copy *copy, pid_t pid, const char *directory,
		const char *name, const char *file)
{
	copy->created_fd = -1;
	*copy->created_name = 0;
	copy->directory = attach_copy_open_directory(pid, directory);
	if (copy->directory < 0)
		return false;
	(void)snprintf(copy->name, sizeof(copy->name), "%s", name);
	attach_copy_remove_abandoned(copy);
	if (attach_copy_create_directory(copy) &&
			!attach_copy_write_file(copy->created_fd, name, file)) {
		(void)snprintf(copy->path_in_program, sizeof(copy->path_in_program), "%s/%s/%s",
				strcmp(directory, "/") != 0 ? directory : "", copy->created_name,
				name);
		return true;
	}
	attach_copy_remove(copy);
	return false;
}

bool inject_copy_make(struct inject_copy *copy, pid_t pid, const char *file)
{
	const char *name = strrchr(file, '/') + 1;

	for (; copy->next < sizeof(directories) / sizeof(*directories); copy->next++)
		if (attach_copy_create(copy, pid, directories[copy->next], name, file)) {
			copy->next++;
			return true;
		}
	return false;
}

void inject_copy_remove(struct inject_copy *copy)
{
	if (copy->directory >= 0)
		attach_copy_remove(copy);
}
