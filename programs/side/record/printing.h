/* SPDX-License-Identifier: MIT */
/* `--print` of the verbs that record: what is recorded is shown meanwhile, by a `side view --follow`. */
#ifndef PROGRAMS_SIDE_RECORD_PRINTING_H
#define PROGRAMS_SIDE_RECORD_PRINTING_H

#include <stdbool.h>
#include <sys/types.h>

struct parsed;

struct printing {
	bool wanted;
	char *made; /* the directory, if it is only there for the sake of printing */
	pid_t watcher;
	int end; /* closed when the recording is over */
};

/* Before there is a directory: NULL in *output becomes one that goes at the end. 0 or an exit status: said. */
int printing_prepare(struct printing *printing, bool wanted, const char **output);
/*
 * When the recorder has the directory. On standard output; beside a command, which standard output belongs to, on standard
 * error, as of strace. Without a command the recording ends when nobody reads any more.
 */
int printing_start(struct printing *printing, const struct parsed *parsed, const char *output,
		bool beside_command);
/* When the recorder has left it: waits until all is shown. */
void printing_finish(struct printing *printing);

#endif /* PROGRAMS_SIDE_RECORD_PRINTING_H */
