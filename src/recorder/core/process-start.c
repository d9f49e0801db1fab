/* SPDX-License-Identifier: MIT */
/* Reads the start time of a process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/core/session.h"

uint64_t session_process_start(pid_t pid)
{
	char path[64], text[1024];
	const char *at;
	ssize_t got;
	int fd, field, code;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	code = got < 0 ? errno : ESRCH;
	if (fd >= 0)
		close(fd);
	errno = code;
	if (got <= 0)
		return 0;
	text[got] = 0;
	/*
	 * The second field is a name that can contain any character; the third field follows its
	 * last ")".
	 */
	at = strrchr(text, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}
