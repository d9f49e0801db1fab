/* SPDX-License-Identifier: MIT */
/* Opens, renames and removes the file that a verb writes. */
#include "programs/side/cli/output-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/common/command.h"
#include "programs/common/message.h"

int output_file_print_error(const struct output_file *file, int code)
{
	return message_error(COMMAND_FAILED,
			code == -ENOSPC ? "free some space there, or write to another directory"
					: NULL,
			"cannot write %s: %s", file->path, strerror(-code));
}

static int output_file_open_partial(struct output_file *file)
{
	int ret;

	if (asprintf(&file->partial, "%s.partial", file->path) < 0) {
		file->partial = NULL;
		return -ENOMEM;
	}
	file->fd = open(file->partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (file->fd < 0)
		return -errno;
	ret = keeper_start(&file->keeper, file->partial, file->path);
	if (ret)
		unlink(file->partial);
	return ret;
}

int output_file_open(struct output_file *file, const char *path)
{
	struct stat status;

	file->fd = STDOUT_FILENO;
	file->path = "to standard output";
	if (!path || !strcmp(path, "-"))
		return 0;
	file->path = path;
	/* A pipe or a device cannot be renamed. */
	if (stat(path, &status) || S_ISREG(status.st_mode))
		return output_file_open_partial(file);
	file->fd = open(path, O_WRONLY | O_CLOEXEC);
	return file->fd < 0 ? -errno : 0;
}

int output_file_close(struct output_file *file, bool is_whole)
{
	int error = 0, renamed;

	if (file->fd > STDERR_FILENO && close(file->fd))
		error = -errno;
	renamed = keeper_end(&file->keeper, is_whole && !error);
	free(file->partial);
	return error ? error : renamed;
}
