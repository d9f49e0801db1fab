/* SPDX-License-Identifier: MIT */
/*
 * A helper process that gives an output its name when the command has written it, or removes it. The command itself reads a
 * trace and may not rename and remove files beside its output.
 */
#ifndef PROGRAMS_SIDE_RECORD_KEEPER_H
#define PROGRAMS_SIDE_RECORD_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

struct keeper {
	int socket; /* -1: there is no helper process */
	pid_t pid;
};

/* `partial`: a file, or a directory, which is removed only if it is empty; `path`: NULL, or the file's name at the end. 0 or a negative errno. */
int keeper_start(struct keeper *keeper, const char *partial, const char *path);

/* The output is whole, or it is to be removed, as it is if the command is killed. 0, or a negative errno of the renaming. */
int keeper_end(struct keeper *keeper, bool is_whole);

#endif /* PROGRAMS_SIDE_RECORD_KEEPER_H */
