/* SPDX-License-Identifier: MIT */
/* What `side send` and `side record --to` share: options, waiting, the summary. */
#ifndef PROGRAMS_SIDE_RELAY_SENDING_H
#define PROGRAMS_SIDE_RELAY_SENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "relay/send.h"

/* Time to deliver complete packets after the first signal. */
#define SENDING_END_NS INT64_C(5000000000)
/* The same without a connection: time for one more attempt. */
#define SENDING_AWAY_NS INT64_C(1000000000)

/* The sender gives up if it has delivered nothing for this time after the end. */
#define SENDING_TIMEOUT_NS UINT64_C(60000000000)

/* The options of a sender that prints its messages. */
struct send_options sending_options(
		const char *dir, const char *url, uint64_t spool, uint64_t timeout_ns);

/*
 * Waits until the sender has finished. The last of `signals` signals ends the sending at once. An
 * earlier one ends the recording, and ends the sending after SENDING_END_NS or SENDING_AWAY_NS.
 */
void sending_wait(struct send *send, unsigned int signals);

/* Prints what was sent, after the sender has finished. Returns 0 or an exit status. */
int sending_end(const struct send_status *status, const char *url, const char *dir);

/*
 * Confines the process to the directory and the receiver. *ret_resolver is the socket of the
 * process that resolves host names. Returns 0, or a negative errno and a sentence in `error`.
 */
int sending_confine(const char *dir, const char *url, bool has_spool, int *ret_resolver,
		struct error *error);

/* ---- record-to.c ---- */

struct parsed;
struct session_options;

struct sending_state {
	const char *url; /* NULL: nothing is sent */
	char *temporary; /* the directory, if it was made for this recording */
	struct sending_process *process;
	bool is_started;
	struct send_rounds *
			/* Shared with the recorder, whose type for it is struct session_rounds. */
			rounds;
};

/*
 * Checks the options before the session begins, and gives the session an output if it has none.
 * Returns 0 or an exit status.
 */
int sending_prepare(struct sending_state *sending, const struct parsed *parsed,
		struct session_options *session);
/* Starts to send. Call it when the output exists. */
int sending_start(struct sending_state *sending, const struct parsed *parsed, const char *output);
/*
 * Waits until everything is delivered. Call it when the trace is complete. A session without output
 * uses `rounds` until it is freed: call it again without output then.
 */
int sending_finish(struct sending_state *sending, const char *output);

#endif /* PROGRAMS_SIDE_RELAY_SENDING_H */
