/* SPDX-License-Identifier: MIT */
/*
 * Counts processes of the command that still run when the command has ended. A forked child joins
 * the recording with its first event, so only the environment identifies a child without events: it
 * contains the socket of this recording.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "recorder/core/instance.h"
#include "recorder/session-state.h"
#include "recorder/survivors.h"

#define ENVIRONMENT_MAX (256u << 10) /* bytes of the environment that are searched */

static bool survivor_is_known(const struct session *session, pid_t pid)
{
	const struct instance *instance;

	for (instance = session->instances.live; instance; instance = instance->next_live)
		if (instance->peer == pid)
			return true;
	return false;
}

/*
 * Returns false if the environment cannot be read, because the process has ended or belongs to
 * another user.
 */
static bool survivor_has_socket(const struct session *session, pid_t pid, char *buffer)
{
	char path[64];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = io_read(fd, buffer, ENVIRONMENT_MAX);
	close(fd);
	return size > 0 &&
			memmem(buffer, (size_t)size, session->listener.path,
					strlen(session->listener.path));
}

static unsigned int survivors_known(const struct session *session)
{
	const struct instance *instance;
	unsigned int nr = 0;

	for (instance = session->instances.live; instance; instance = instance->next_live)
		nr++;
	return nr;
}

unsigned int survivors_count(const struct session *session)
{
	DIR *processes = opendir("/proc");
	char *buffer = malloc(ENVIRONMENT_MAX);
	struct dirent *entry;
	unsigned int nr = 0;

	while (processes && buffer && (entry = readdir(processes))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		nr += pid > 0 && pid != getpid() &&
				(survivor_is_known(session, pid) ||
						survivor_has_socket(session, pid, buffer));
	}
	if (!processes || !buffer)
		nr = survivors_known(session);
	free(buffer);
	if (processes)
		closedir(processes);
	return nr;
}
