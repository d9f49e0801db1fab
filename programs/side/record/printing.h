/* SPDX-License-Identifier: MIT */
/*
 * `--print` of the verbs that record: `side view --follow` shows the events during
 * the recording.
 */
#ifndef PROGRAMS_SIDE_RECORD_PRINTING_H
#define PROGRAMS_SIDE_RECORD_PRINTING_H

#include <stdbool.h>
#include <sys/types.h>

struct parsed;

struct printing {
	bool wanted;
	char *temporary; /* the temporary directory of a recording that is only printed */
	pid_t watcher;
	int end_fd; /* closed at the end of the recording */
};

/*
 * Call it before the output directory exists. Replaces NULL in *output by a temporary directory.
 * Returns 0 or an exit status, after a message.
 */
int printing_prepare(struct printing *printing, bool wanted, const char **output);
/*
 * Starts the viewer. Call it when the recorder has made the directory. The viewer writes to
 * standard output; beside a command, which owns standard output, it writes to standard error, like
 * strace. Without a command the recording ends when the reader of the output has gone.
 */
int printing_start(struct printing *printing, const struct parsed *parsed, const char *output,
		bool has_command);
/* Waits until all events are shown. Call it when the recorder has finished the directory. */
void printing_finish(struct printing *printing);

#endif /* PROGRAMS_SIDE_RECORD_PRINTING_H */
