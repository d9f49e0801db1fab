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

int made_directory(const char *name, const char *what, char **made)
{
	const char *above = getenv("TMPDIR");
	int code;

	if (asprintf(made, "%s/%s-XXXXXX", above && *above == '/' ? above : "/tmp", name) < 0) {
		*made = NULL;
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	if (mkdtemp(*made))
		return COMMAND_DONE;
	code = errno;
	free(*made);
	*made = NULL;
	return message_error(code == EACCES ? COMMAND_NOT_PERMITTED : COMMAND_FAILED,
			"name a directory with -o", "cannot make a directory for %s: %s", what,
			strerror(code));
}

static int created_remove_entry(
		const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	(void)!remove(path);
	return 0;
}

void made_remove(char **made)
{
	if (*made)
		nftw(*made, created_remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	free(*made);
	*made = NULL;
}
