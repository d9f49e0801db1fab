/* SPDX-License-Identifier: MIT */
/* Checks whether a recorder is running: it locks the directory and the files that it writes. */
#ifndef SIDE_CTF_READ_LOCK_H
#define SIDE_CTF_READ_LOCK_H

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <unistd.h>

/* True if a file may be locked, given the error of a failed call: it is locked, or there was no
   descriptor or memory to check it. */
static inline bool ctf_may_be_locked(int error)
{
	return error == EWOULDBLOCK || error == ENOLCK || error_is_lack_of_resources(error);
}

/* A reader that cannot check the lock assumes that it is held, and checks again later. `flags`:
   more flags for openat(). */
static inline bool ctf_is_locked(int dir_fd, const char *name, int flags)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
	bool is_locked = (fd < 0 || flock(fd, LOCK_SH | LOCK_NB)) && ctf_may_be_locked(errno);

	if (fd >= 0)
		close(fd);
	return is_locked;
}

#endif /* SIDE_CTF_READ_LOCK_H */
