/* SPDX-License-Identifier: MIT */
/*
 * Copies the file /tmp/perf-PID.map of a process into the lines of its mappings (core/maps.c).
 * Programs that generate code write it for profilers: "begin size name", in hexadecimal.
 *
 * Any user can make a file of that name. So it counts only if it is a file of the process's user
 * that was written after the process began.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recorder/core/instance.h"
#include "recorder/core/maps.h"
#include "recorder/session-state.h"
#include "recorder/storage/jit-map.h"

#define JIT_MAP_SIZE_MAX ((int64_t)64 << 20)
/* The clock of a file system is a few milliseconds behind; the process's start is in ticks. */
#define JIT_MAP_TOLERANCE 2 /* seconds */

/* When the process began, in seconds since 1970; INT64_MAX: not known. */
static int64_t jit_map_begin(const struct instance *instance)
{
	int64_t ticks = sysconf(_SC_CLK_TCK);
	struct timespec boot, now;

	if (!instance->maps.started || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) ||
			clock_gettime(CLOCK_REALTIME, &now))
		return INT64_MAX;
	return now.tv_sec - boot.tv_sec + (int64_t)instance->maps.started / ticks;
}

static bool jit_map_is_of(const struct instance *instance, int fd)
{
	struct stat status;

	return !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == instance->uid &&
			status.st_size <= JIT_MAP_SIZE_MAX &&
			status.st_mtim.tv_sec + JIT_MAP_TOLERANCE >= jit_map_begin(instance);
}

static FILE *jit_map_open(const struct instance *instance)
{
	FILE *file = NULL;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)instance->peer);
	/* Do not follow a link, and do not wait for a pipe. */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (jit_map_is_of(instance, fd))
		file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

/* The last line is incomplete while the process writes it. */
static void jit_map_take_line(struct session *session, struct instance *instance, char *line)
{
	uint64_t begin, size;
	int name = 0;
	char *end = strchr(line, '\n');

	if (!end)
		return;
	*end = '\0';
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &begin, &size, &name) != 2 || !name ||
			!line[name] || !size || begin + size <= begin)
		return;
	pthread_mutex_lock(&session->lock);
	maps_add_function(instance, begin, begin + size, line + name);
	pthread_mutex_unlock(&session->lock);
}

void jit_map_read(struct session *session, struct instance *instance)
{
	char line[MAPS_FUNCTION_MAX];
	FILE *file = jit_map_open(instance);
	bool is_begin = true;

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		bool is_end = strchr(line, '\n') != NULL;

		/* A longer line is skipped, with its parts. */
		if (is_begin && is_end)
			jit_map_take_line(session, instance, line);
		is_begin = is_end;
	}
	fclose(file);
}
