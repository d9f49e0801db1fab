/* SPDX-License-Identifier: MIT */
/* Finds the trace of a session by its name. */
#ifndef PROGRAMS_SIDE_SESSION_TRACE_OF_SESSION_H
#define PROGRAMS_SIDE_SESSION_TRACE_OF_SESSION_H

#include "programs/common/command.h"

struct nearest;
/* Offers the names of the sessions of the user's daemon, or of the system's. */
void session_offer_names(struct nearest *nearest, bool system);

/*
 * For verbs whose first operand is a trace. If no such file exists, but a session of that name,
 * replaces the operand by the session's directory. Without operands, adds the directory of the
 * current session. Call it once in a process. Returns 0 or an exit status, after a message.
 */
int session_trace(struct parsed *parsed);
/*
 * For verbs whose operands are a command, or the directory of a trace. If the only operand is the
 * name of a session, and of no file and no program, replaces it by the session's directory. Call it
 * once in a process.
 */
void session_trace_or_command(struct parsed *parsed);
/*
 * For verbs whose operands are two traces. Replaces each operand that is the name of a session, and
 * of no file. Call it once in a process.
 */
void session_trace_two(struct parsed *parsed);

#endif /* PROGRAMS_SIDE_SESSION_TRACE_OF_SESSION_H */
