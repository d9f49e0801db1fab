/* SPDX-License-Identifier: MIT */
/* Converts a command line to a request to the daemon. */
#ifndef PROGRAMS_SIDE_SESSION_REQUEST_H
#define PROGRAMS_SIDE_SESSION_REQUEST_H

struct json_object;
struct parsed;

/*
 * Makes the request of a verb of table-session.c with all its options; `session` may be NULL.
 * Returns 0 or an exit status, after a message. The caller puts the request.
 */
int session_request(
		const struct parsed *parsed, const char *session, struct json_object **ret_request);

/* The number of operands that name a session: 0 or 1. */
int session_request_nr_names(const struct parsed *parsed);

#endif /* PROGRAMS_SIDE_SESSION_REQUEST_H */
