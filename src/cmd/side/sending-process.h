/* SPDX-License-Identifier: MIT */
/* The process that sends what `side record --to` records: it parses the trace and speaks with the receiver, confined to both. */
#ifndef SIDE_CMD_SENDING_PROCESS_H
#define SIDE_CMD_SENDING_PROCESS_H

#include "send/send.h"

#include <stdbool.h>

struct sending_process;

/*
 * Start the process with these options, before this process has threads and descriptors of a recording. It waits for
 * sending_process_start(), and ends with its socket. `rounds` of the options is shared memory. 0 or a negative errno.
 */
int sending_process_make(const struct send_options *options, struct sending_process **ret_process);

/* Confine the process to the directory and the receiver, and begin. 0 or a negative errno with a sentence. */
int sending_process_start(struct sending_process *process, const char *dir, const char *fallback,
		struct send_error *error);

/* The recording is over. Returns at once. */
void sending_process_finish(struct sending_process *process);

/* Has the sender ended, or lost its process? */
bool sending_process_is_over(struct sending_process *process);

/* End the process, whatever is pending, and free. *ret_status, if there is one, is the last known status. NULL is accepted. */
void sending_process_stop(struct sending_process *process, struct send_status *ret_status);

#endif /* SIDE_CMD_SENDING_PROCESS_H */
