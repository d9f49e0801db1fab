/* SPDX-License-Identifier: MIT */
/* `side record --kernel`: the kernel's events beside those of programs. */
#ifndef PROGRAMS_SIDE_RECORD_KERNEL_H
#define PROGRAMS_SIDE_RECORD_KERNEL_H

#include "programs/common/command.h"
#include "recorder/core/session.h"

#include "kernel-events/kernel-events.h"

struct kernel_recording {
	bool wanted;
	struct kernel_record *record; /* NULL: it is not, or cannot be, recorded */
	struct kernel_record_choice *choices;
	size_t nr_choices;
	struct kernel_joined *joined; /* NULL: they become a trace of their own */
	char name[32];                /* ... of this name, in the recording's directory */
	bool alone;                   /* there is no command */
	bool refused;
	int failed; /* the exit status if the kernel's events were requested and cannot be recorded; else 0 */
};

/* Before the session: what goes together, and which clock. 0 or an exit status. */
int kernel_recording_prepare(struct kernel_recording *recording, const struct parsed *parsed,
		struct session_options *session);
/*
 * kernel-session.c: with the session's channels. Where its rings have to have the events, too, COMMAND becomes
 * kernel_recording_args(). 0 or an exit status.
 */
int kernel_recording_join(struct kernel_recording *recording, const struct parsed *parsed,
		struct session_options *session);
char **kernel_recording_args(const struct kernel_recording *recording);
/* When that has ended. */
struct kernel_report;
void kernel_recording_hear(struct kernel_recording *recording, struct kernel_report *report);
void kernel_joined_free(struct kernel_joined *joined);
/*
 * When the session has its directory, and before it starts the command, on the same thread. Where the kernel does not
 * let us, that is said, and it is 0 if there is a command; else an exit status.
 */
int kernel_recording_start(struct kernel_recording *recording, const struct parsed *parsed,
		const struct session *session, const char *output);
/* Without a command: until a signal that ends programs. */
void kernel_recording_print_begin(void);
void kernel_recording_wait(void);
/* End it and say what was recorded. 0 or an exit status; `refused`: nothing was, not COMMAND either. */
int kernel_recording_finish(struct kernel_recording *recording, const struct parsed *parsed,
		struct session *session);
/* Is what somebody wants of programs, `provider:event`, one of the kernel's? */
bool kernel_recording_means(const char *pattern);
/* As if it had not begun. */
void kernel_recording_discard(struct kernel_recording *recording);
void kernel_recording_free(struct kernel_recording *recording);

#endif /* PROGRAMS_SIDE_RECORD_KERNEL_H */
