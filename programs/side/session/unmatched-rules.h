/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_SESSION_UNMATCHED_RULES_H
#define PROGRAMS_SIDE_SESSION_UNMATCHED_RULES_H

/* Notes about patterns and filters of a session that fit no event of the programs that have joined. */

struct parsed;

/* Of `side enable-event` and `side disable-event`, after the daemon has answered. Always 0: the events may come later. */
int session_unmatched(const struct parsed *parsed);

#endif /* PROGRAMS_SIDE_SESSION_UNMATCHED_RULES_H */
