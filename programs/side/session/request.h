/* SPDX-License-Identifier: MIT */
/* From a command line to what is asked of the daemon. */
#ifndef PROGRAMS_SIDE_SESSION_REQUEST_H
#define PROGRAMS_SIDE_SESSION_REQUEST_H

struct json_object;
struct parsed;

/*
 * The request of a verb of table-session.c with all of its options; `session` may be NULL. 0, or an
 * exit status: said. The caller puts the request.
 */
int session_request(const struct parsed *parsed, const char *session, struct json_object **request);

/* How many operands are the session and not something else: 0 or 1. */
int session_request_takes_operand(const struct parsed *parsed);

#endif /* PROGRAMS_SIDE_SESSION_REQUEST_H */
