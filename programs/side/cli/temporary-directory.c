/* SPDX-License-Identifier: MIT */
/* Temporary directories of a verb, in $TMPDIR or /tmp. */
#include "temporary-directory.h"

#include "programs/common/command.h"
#include "programs/common/message.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int temporary_directory_make(const char *name, const char *purpose, char **ret_path)
{
	const char *above = getenv("TMPDIR");
	int code;

	if (asprintf(ret_path, "%s/%s-XXXXXX", above && *above == '/' ? above : "/tmp", name) < 0) {
		*ret_path = NULL;
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	if (mkdtemp(*ret_path))
		return COMMAND_DONE;
	code = errno;
	free(*ret_path);
	*ret_path = NULL;
	return message_error(code == EACCES ? COMMAND_NOT_PERMITTED : COMMAND_FAILED,
			"name a directory with -o", "cannot create a directory for %s: %s", purpose,
			strerror(code));
}

static int temporary_directory_remove_entry(
		const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	(void)!remove(path);
	return 0;
}

void temporary_directory_remove(char **path)
{
	if (*path)
		nftw(*path, temporary_directory_remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	free(*path);
	*path = NULL;
}
