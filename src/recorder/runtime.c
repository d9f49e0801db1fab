/* SPDX-License-Identifier: MIT */
/*
 * Creates the directory of the socket, which only its owner can enter. Every user can enter root's
 * directory, but only root can list it, and the socket's name is a secret that only the environment
 * of the command contains. So processes that have dropped their privileges since are still recorded
 * when they fork.
 *
 * The recorder holds a lock (flock) on the directory. A killed recorder leaves the directory and
 * the socket behind. The next recorder that creates its own in the same parent directory takes the
 * lock of each directory that it finds, and removes it. Between mkdtemp() and flock(), a new
 * directory is not locked yet; it has no socket yet either, and a directory without a socket is not
 * removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/runtime.h"
#include "recorder/session-state.h"

#define PREFIX "side-"
#define PATTERN PREFIX "XXXXXX"
#define SOCKET "agent"
#define SOCKET_NAME_MAX 32
#define ENTER (S_IXGRP | S_IXOTH)

/*
 * True if the directory contains only a socket with a name of this form, which it returns in
 * `name`.
 */
static bool holds_socket_only(int directory, char name[SOCKET_NAME_MAX])
{
	struct dirent *entry;
	struct stat status;
	bool found = false, other = false;
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((entry = readdir(entries))) {
		if (!found && !strncmp(entry->d_name, SOCKET, strlen(SOCKET)) &&
				strlen(entry->d_name) < SOCKET_NAME_MAX)
			found = strcpy(name, entry->d_name) != NULL;
		else if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			other = true;
	}
	closedir(entries);
	return found && !other && !fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) &&
			S_ISSOCK(status.st_mode);
}

static void remove_if_stale(int dir, const char *name)
{
	char socket_name[SOCKET_NAME_MAX];
	struct stat status;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	/*
	 * On a file system without locks, flock() fails for every recorder, and nothing is removed.
	 */
	if (!fstat(fd, &status) && status.st_uid == geteuid() &&
			(status.st_mode & 07777 & ~(mode_t)ENTER) == S_IRWXU &&
			!flock(fd, LOCK_EX | LOCK_NB) && holds_socket_only(fd, socket_name) &&
			!unlinkat(fd, socket_name, 0))
		unlinkat(dir, name, AT_REMOVEDIR);
	close(fd);
}

static void remove_stale(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)) &&
				strlen(entry->d_name) == strlen(PATTERN))
			remove_if_stale(dirfd(dir), entry->d_name);
	}
	closedir(dir);
}

/* True if other users can enter the directory. */
static bool is_passage(const char *path)
{
	struct stat status;

	return !stat(path, &status) && (status.st_mode & S_IXOTH);
}

/*
 * Makes the path of the socket. Returns false if it would be too long, or if there are no random
 * numbers.
 */
static bool name_socket(struct session *session)
{
	uint64_t secret = 0;
	int size;

	session->listener.is_secret = geteuid() == 0;
	if (session->listener.is_secret && getrandom(&secret, sizeof(secret), 0) != sizeof(secret))
		return false;
	size = session->listener.is_secret
			? snprintf(session->listener.path, sizeof(session->listener.path),
					  "%s/" SOCKET "-%016" PRIx64, session->listener.directory,
					  secret)
			: snprintf(session->listener.path, sizeof(session->listener.path),
					  "%s/" SOCKET, session->listener.directory);
	return size > 0 && size < (int)sizeof(session->listener.path);
}

static bool make_in(struct session *session, const char *dir)
{
	errno = ENOENT; /* unless a call sets another reason */
	if (!dir || dir[0] != '/' ||
			snprintf(session->listener.directory, sizeof(session->listener.directory),
					"%s/" PATTERN,
					dir) >= (int)sizeof(session->listener.directory) ||
			!name_socket(session) || (session->listener.is_secret && !is_passage(dir)))
		return false;
	if (!mkdtemp(session->listener.directory))
		return false;
	/* Once more: mkdtemp() has changed the directory's name. */
	if (name_socket(session) &&
			(!session->listener.is_secret ||
					!chmod(session->listener.directory, S_IRWXU | ENTER)))
		return true;
	rmdir(session->listener.directory);
	return false;
}

/* Uses XDG_RUNTIME_DIR if it exists and its name is short enough, else TMPDIR or /tmp. */
int runtime_make(struct session *session)
{
	const char *const directories[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	size_t i;

	for (i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		if (!make_in(session, directories[i]))
			continue;
		session->listener.directory_fd = open(
				session->listener.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/*
		 * Waits for a recorder that checks this directory now. Without locks, continues
		 * without one.
		 */
		while (session->listener.directory_fd >= 0 &&
				flock(session->listener.directory_fd, LOCK_EX) && errno == EINTR)
			;
		remove_stale(directories[i]);
		return 0;
	}
	session->listener.directory[0] = session->listener.path[0] = 0;
	return -errno;
}

void runtime_remove(struct session *session)
{
	if (session->listener.path[0])
		unlink(session->listener.path);
	if (session->listener.directory[0])
		rmdir(session->listener.directory);
	session->listener.path[0] = session->listener.directory[0] = 0;
	if (session->listener.directory_fd >= 0)
		close(session->listener.directory_fd);
	session->listener.directory_fd = -1;
}
