/* SPDX-License-Identifier: MIT */
/*
 * Opens the kernel's file and makes its system calls.
 *
 * The descriptor must stay in the program's table, because the calling threads write to it. It is
 * moved to a high number, which programs rarely get (user_events_tracefs_move_away()).
 */
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracers/user-events/user-events.h"

/* With this number, the kernel's table of descriptors still takes only 32 KiB. */
#define DESCRIPTOR 4095

/* Bit 63 or 31, which libside reserves for the kernel. */
#define ENABLED_BIT (8 * sizeof(uintptr_t) - 1)

struct register_request {
	uint32_t size;
	uint8_t bit;
	uint8_t word_size;
	uint16_t flags;
	uint64_t word;
	uint64_t description;
	uint32_t index;
} __attribute__((packed));

struct unregister_request {
	uint32_t size;
	uint8_t bit;
	uint8_t reserved;
	uint16_t reserved2;
	uint64_t word;
} __attribute__((packed));

/* Five seconds at most: the kernel needs longer only for memory that cannot be read. */
#define UNREGISTER_PAUSE_NS 1000000
#define UNREGISTER_TRIES 5000

#define REQUEST_REGISTER _IOWR('*', 0, void *)
#define REQUEST_UNREGISTER _IOW('*', 2, void *)
#define FLAG_MULTI_FORMAT 2

static int user_events_tracefs_open_below(const char *folder, const char *below)
{
	char path[4200];

	(void)snprintf(path, sizeof(path), "%s%s/user_events_data", folder, below);
	return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

/* Finds a mounted tracefs or debugfs. */
static int user_events_tracefs_open_mounted(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char text[4400];
	int fd = -ENOENT;

	if (!mounts)
		return -ENOENT;
	while (fd < 0 && getmntent_r(mounts, &entry, text, sizeof(text))) {
		int error = fd;

		if (!strcmp(entry.mnt_type, "tracefs"))
			fd = user_events_tracefs_open_below(entry.mnt_dir, "");
		else if (!strcmp(entry.mnt_type, "debugfs"))
			fd = user_events_tracefs_open_below(entry.mnt_dir, "/tracing");
		else
			continue;
		if (fd < 0)
			fd = errno == EACCES || errno == EPERM ? -EACCES : error;
	}
	(void)endmntent(mounts);
	return fd;
}

/*
 * Moves the descriptor to 4095, or to the highest number that the hard limit permits. If the soft
 * limit is lower, the program cannot get that number. The limit is raised for a moment; other
 * threads are affected only if they read it in that moment.
 */
static int user_events_tracefs_move_away(int fd)
{
	struct rlimit limit, raised;
	int moved = -1;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		raised = limit;
		if (raised.rlim_cur <= DESCRIPTOR && raised.rlim_max > DESCRIPTOR)
			raised.rlim_cur = DESCRIPTOR + 1;
		if (raised.rlim_cur != limit.rlim_cur)
			(void)setrlimit(RLIMIT_NOFILE, &raised);
		moved = fcntl(fd, F_DUPFD_CLOEXEC,
				raised.rlim_cur > DESCRIPTOR ? DESCRIPTOR
							     : (int)raised.rlim_cur - 1);
		if (raised.rlim_cur != limit.rlim_cur)
			(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (moved < 0)
		moved = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	if (moved < 0)
		return fd;
	(void)close(fd);
	return moved;
}

int kernel_open(char *reason, size_t capacity)
{
	int fd = user_events_tracefs_open_below("/sys/kernel/tracing", "");

	if (fd < 0)
		fd = errno == EACCES || errno == EPERM ? -EACCES
						       : user_events_tracefs_open_mounted();
	if (fd >= 0)
		return user_events_tracefs_move_away(fd);
	if (fd == -EACCES)
		(void)snprintf(reason, capacity,
				"no permission to open user_events_data\nas root: `chgrp GROUP /sys/kernel/tracing /sys/kernel/tracing/user_events_data && chmod g+x /sys/kernel/tracing && chmod g+w /sys/kernel/tracing/user_events_data`");
	else
		(void)snprintf(reason, capacity,
				"the kernel has no user_events_data: it needs CONFIG_USER_EVENTS (6.4 or later) and tracefs at /sys/kernel/tracing\n`mount -t tracefs none /sys/kernel/tracing` (a container needs it mounted into it)");
	return fd;
}

int kernel_register(int fd, void *word, const char *description, bool multi, int32_t *ret_index)
{
	struct register_request request = {
			.size = sizeof(request),
			.bit = ENABLED_BIT,
			.word_size = sizeof(uintptr_t),
			.flags = multi ? FLAG_MULTI_FORMAT : 0,
			.word = (uintptr_t)word,
			.description = (uintptr_t)description,
	};

	if (ioctl(fd, REQUEST_REGISTER, &request) < 0)
		return -errno;
	*ret_index = (int32_t)request.index;
	return 0;
}

/*
 * Unregister a word, and wait until the kernel has released it.
 *
 * The kernel writes the bit of a word immediately, except in a page that is shared since a fork or
 * swapped out: there, a kernel worker writes it later and holds the word meanwhile, even after it
 * was unregistered. During that time the word cannot be registered again (EADDRINUSE), and if its
 * memory is unmapped, the worker logs a fault. A second request fails once the kernel has released
 * the word.
 */
int kernel_unregister(int fd, void *word)
{
	const struct timespec pause = {.tv_nsec = UNREGISTER_PAUSE_NS};
	struct unregister_request request = {
			.size = sizeof(request),
			.bit = ENABLED_BIT,
			.word = (uintptr_t)word,
	};
	int i;

	if (ioctl(fd, REQUEST_UNREGISTER, &request) < 0)
		return -errno;
	for (i = 0; i < UNREGISTER_TRIES && !ioctl(fd, REQUEST_UNREGISTER, &request); i++) {
		/*
		 * nanosleep() is a cancellation point, and this thread holds libside's event lock.
		 */
		(void)syscall(SYS_nanosleep, &pause, NULL);
	}
	return 0;
}

const char *kernel_register_reason(int error)
{
	switch (error) {
	case -EADDRINUSE:
		return "the kernel already has an event of this name with other fields, or uses this address for another event";
	case -EMFILE:
		return "the kernel's limit of events (/proc/sys/kernel/user_events_max) is reached";
	case -ENOMEM: return "the kernel is out of memory, or the event's state is not writable";
	case -EINVAL: return "the kernel cannot parse the description";
	case -EBADF: return "the program has closed the descriptor of user_events_data";
	case -EPERM:
	case -EACCES: return "the kernel does not permit it";
	default: return "the kernel refuses it";
	}
}
