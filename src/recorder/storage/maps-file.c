/* SPDX-License-Identifier: MIT */
/*
 * Writes the code that a process has mapped into the file `.maps` of its trace (core/maps.c).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/core/instance.h"
#include "recorder/session-state.h"
#include "base/io.h"
#include "recorder/storage/maps-file.h"
#include "recorder/storage/output.h"

/*
 * Other users may be able to put a link or a pipe into the directory: do not follow it, wait for
 * it, or write to it.
 */
static void maps_write_file(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);
	struct stat status;

	if (fd < 0)
		return;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && !ftruncate(fd, 0))
		io_write_all(fd, text, size);
	close(fd);
}

void maps_write(struct session *session, struct instance *instance)
{
	char *path = NULL, *text = NULL;
	size_t size = 0;

	pthread_mutex_lock(&session->lock);
	if (instance->maps.is_new && instance->directory) {
		size = instance->maps.size;
		text = malloc(size);
		if (text)
			memcpy(text, instance->maps.text, size);
		instance->maps.is_new = false;
	}
	pthread_mutex_unlock(&session->lock);
	if (!text)
		return;
	/* The file is optional, so ignore errors. */
	if (asprintf(&path, "%s/%s/.maps", output_traces_path(session), instance->directory) >= 0) {
		maps_write_file(path, text, size);
		free(path);
	}
	free(text);
}
