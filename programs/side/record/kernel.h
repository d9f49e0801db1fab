/* SPDX-License-Identifier: MIT */
/* `side record --kernel`: records kernel events together with those of programs. */
#ifndef PROGRAMS_SIDE_RECORD_KERNEL_H
#define PROGRAMS_SIDE_RECORD_KERNEL_H

#include "programs/common/command.h"
#include "recorder/core/session.h"

#include "kernel-events/kernel-events.h"

struct kernel_recording {
	bool wanted;
	struct kernel_record *record; /* NULL: no separate kernel trace */
	struct kernel_record_choice *choices;
	size_t nr_choices;
	struct kernel_joined *joined; /* NULL: kernel events are a separate trace */
	char name[32];                /* of the kernel trace in the recording's directory */
	bool alone;                   /* no command: the kernel events are the whole recording */
	bool refused;
	int failed; /* exit status if the requested kernel events cannot be recorded, else 0 */
};

/*
 * Checks the options and sets the clock of the session. Call it before the session exists. Returns
 * 0 or an exit status.
 */
int kernel_recording_prepare(struct kernel_recording *recording, const struct parsed *parsed,
		struct session_options *session);
/*
 * kernel-session.c: if the kernel events must be in the rings of the session, adds them to its
 * channels; the command to start is then kernel_recording_args(). Returns 0 or an exit status.
 */
int kernel_recording_join(struct kernel_recording *recording, const struct parsed *parsed,
		struct session_options *session);
char **kernel_recording_args(const struct kernel_recording *recording);
/* Reads the report of side-kernel after its end. */
struct kernel_report;
void kernel_recording_read_report(
		struct kernel_recording *recording, struct kernel_report *ret_report);
void kernel_joined_free(struct kernel_joined *joined);
/*
 * Starts the separate kernel trace. Call it when the session has its directory, before it starts
 * the command, on the same thread. If the kernel refuses, reports that, and returns 0 if there is a
 * command, else an exit status.
 */
int kernel_recording_start(struct kernel_recording *recording, const struct parsed *parsed,
		const struct session *session, const char *output);
/* For a recording without a command: waits for a signal that ends programs. */
void kernel_recording_print_begin(void);
void kernel_recording_wait(void);
/*
 * Ends the kernel trace and prints its summary. Returns 0 or an exit status. If `refused` is set,
 * nothing was recorded and COMMAND did not run.
 */
int kernel_recording_finish(struct kernel_recording *recording, const struct parsed *parsed,
		struct session *session);
/* True if this pattern of the user, `provider:event`, is the name of a kernel event. */
bool kernel_recording_is_event(const char *pattern);
/* Ends the kernel trace and removes it. */
void kernel_recording_discard(struct kernel_recording *recording);
void kernel_recording_free(struct kernel_recording *recording);

#endif /* PROGRAMS_SIDE_RECORD_KERNEL_H */
