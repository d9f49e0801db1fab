/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_SESSION_UNMATCHED_RULES_H
#define PROGRAMS_SIDE_SESSION_UNMATCHED_RULES_H

/* Notes about patterns and filters of a session that fit no event of the connected programs. */

struct parsed;

/*
 * For `side enable-event` and `side disable-event`, after the daemon's answer; for `side start` only
 * notes about wrappers. Always returns 0, because the events may come later.
 */
int session_unmatched(const struct parsed *parsed);

#endif /* PROGRAMS_SIDE_SESSION_UNMATCHED_RULES_H */
