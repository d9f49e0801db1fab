/* SPDX-License-Identifier: MIT */
/* Whether a recorder is at work: it holds a lock on the directory and on the files that it writes. */
#ifndef SIDE_CTF_READ_LOCK_H
#define SIDE_CTF_READ_LOCK_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <unistd.h>

/* Whether a file may be locked if a call failed with this error: it is locked, or no descriptor or memory is left to check it. */
static inline bool ctf_may_be_locked(int error)
{
	return error == EWOULDBLOCK || error == EMFILE || error == ENFILE || error == ENOMEM ||
			error == ENOLCK;
}

/* A reader that cannot check the lock assumes it, and checks again later. `flags`: more flags for openat(). */
static inline bool ctf_is_locked(int dir_fd, const char *name, int flags)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
	bool is_locked = (fd < 0 || flock(fd, LOCK_SH | LOCK_NB)) && ctf_may_be_locked(errno);

	if (fd >= 0)
		close(fd);
	return is_locked;
}

#endif /* SIDE_CTF_READ_LOCK_H */
