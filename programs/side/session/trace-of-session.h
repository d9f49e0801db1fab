/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_SESSION_TRACE_OF_SESSION_H
#define PROGRAMS_SIDE_SESSION_TRACE_OF_SESSION_H

#include "programs/common/command.h"

struct nearest;
/* Offer the names of the sessions of the user's daemon, or of the system's. */
void session_offer_names(struct nearest *nearest, bool system);

/*
 * Of a verb whose first operand is a trace: where there is no such file, but a session of that name, its directory takes
 * the operand's place; without operands, that of the current session. Once in a process. 0 or an exit status: said.
 */
int session_trace(struct parsed *parsed);

#endif /* PROGRAMS_SIDE_SESSION_TRACE_OF_SESSION_H */
