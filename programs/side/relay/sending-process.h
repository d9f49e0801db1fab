/* SPDX-License-Identifier: MIT */
/*
 * The sending process of `side record --to`: parses the trace and connects to the receiver,
 * confined to both.
 */
#ifndef PROGRAMS_SIDE_RELAY_SENDING_PROCESS_H
#define PROGRAMS_SIDE_RELAY_SENDING_PROCESS_H

#include "relay/send.h"

#include <stdbool.h>

struct sending_process;

/*
 * Creates the process. Call it before the caller has threads and descriptors of a recording. The
 * process waits for sending_process_start(), and ends when its socket is closed. `rounds` of the
 * options must be shared memory. Returns 0 or a negative errno.
 */
int sending_process_make(const struct send_options *options, struct sending_process **ret_process);

/*
 * Confines the process to the directory and the receiver, and starts to send. Returns 0, or a
 * negative errno and a sentence in `error`.
 */
int sending_process_start(struct sending_process *process, const char *dir, const char *fallback,
		struct error *error);

/* Reports the end of the recording to the process. Does not wait. */
void sending_process_finish(struct sending_process *process);

/* True if the sender has finished, or its process has exited. */
bool sending_process_is_over(struct sending_process *process);

/*
 * Ends the process, even if data is pending, and frees it. *ret_status is the last known status, if
 * ret_status is not NULL. Does nothing for NULL.
 */
void sending_process_stop(struct sending_process *process, struct send_status *ret_status);

#endif /* PROGRAMS_SIDE_RELAY_SENDING_PROCESS_H */
