/* SPDX-License-Identifier: MIT */
/* Reads and writes the files of tracefs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "kernel-events/parts.h"

#define FILE_MAX ((size_t)1 << 20)

static const char *const paths[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

int tracefs_find(char *path, size_t capacity, struct error *error)
{
	char events[96];
	int code = ENOENT;
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		(void)snprintf(events, sizeof(events), "%s/events/header_page", paths[i]);
		if (!access(events, R_OK)) {
			(void)snprintf(path, capacity, "%s", paths[i]);
			return 0;
		}
		if (errno == EACCES || errno == EPERM)
			code = EACCES;
	}
	if (code == EACCES)
		return error_set(error, -EACCES, "run it as root",
				"no permission to read kernel events in %s", paths[0]);
	return error_set(error, -ENOENT,
			"mount it: `mount -t tracefs none /sys/kernel/tracing`\na container needs it mounted into it",
			"tracefs is not mounted");
}

ssize_t tracefs_read(const char *path, char **ret_text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	size_t size;

	*ret_text = NULL;
	if (fd < 0)
		return -errno;
	ret = io_read_whole(fd, FILE_MAX, ret_text, &size);
	close(fd);
	return ret ? ret : (ssize_t)size;
}

int tracefs_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = io_write_all(fd, text, strlen(text));
	close(fd);
	return ret;
}
