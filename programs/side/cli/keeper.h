/* SPDX-License-Identifier: MIT */
/*
 * A helper process that renames the output when it is complete, or removes it. The command itself
 * parses a trace, so it is not permitted to rename and remove files beside its output.
 */
#ifndef PROGRAMS_SIDE_CLI_KEEPER_H
#define PROGRAMS_SIDE_CLI_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

struct keeper {
	int socket; /* -1: no helper process */
	pid_t pid;
};

/*
 * `partial` is a file or a directory; a directory is removed only if it is empty. `path` is the
 * final name of the file, or NULL. Returns 0 or a negative errno.
 */
int keeper_start(struct keeper *keeper, const char *partial, const char *path);

/*
 * `is_whole`: renames the output, else removes it, as after a kill of the command. Returns 0, or a
 * negative errno of the rename.
 */
int keeper_end(struct keeper *keeper, bool is_whole);

#endif /* PROGRAMS_SIDE_CLI_KEEPER_H */
