/* SPDX-License-Identifier: MIT */
/* The processes of a verb that answers a question: signals, forks, and the recorder's options. */
#ifndef PROGRAMS_SIDE_ANSWERS_PROCESSES_H
#define PROGRAMS_SIDE_ANSWERS_PROCESSES_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "programs/side/answers/plan.h"

#define ANSWER_SIGNALS 4

/* This process survives the signals that end a verb, to remove its temporary directory. */
void answer_catch_signals(struct sigaction before[ANSWER_SIGNALS]);
void answer_restore_signals(const struct sigaction before[ANSWER_SIGNALS]);
/* The first of these signals that this process has got, or 0. */
int answer_get_signal(void);
/* Notes that the recording has ended, if no signal has ended it. */
void answer_note_end(void);
/* When the recording was ended, in ns since 1970; 0: not known. */
int64_t answer_get_end_ns(void);

/* As fork(). `gets_signals`: signals to this process are passed on to the child. */
pid_t answer_fork(const struct sigaction before[ANSWER_SIGNALS], bool gets_signals);
/* The child that gets the signals has ended. */
void answer_forget_child(void);
/* The exit status of a process in the form of a shell. */
int answer_exit_status(int status);

/* The command line of the process that records. NULL: out of memory. */
char **answer_args(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan, const char *dir);

#endif /* PROGRAMS_SIDE_ANSWERS_PROCESSES_H */
