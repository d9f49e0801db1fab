/* SPDX-License-Identifier: MIT */
/*
 * Prints sessions: in one line each (`status --all`, `list`), or one of them in full (`status`,
 * `list NAME`).
 */
#ifndef PROGRAMS_SIDE_SESSION_STATUS_H
#define PROGRAMS_SIDE_SESSION_STATUS_H

#include <stdbool.h>

struct ask;
struct json_object;

/* `name` NULL: all sessions, in one line each. Returns 0 or an exit status, after a message. */
int status_show(struct ask *ask, const char *name, bool json, bool color);

/*
 * status-probes.c: prints the member "probes" of `status` and of the answer to "enable-probe": a
 * line for each probe, followed by one for each program.
 */
void status_print_probes(struct json_object *probes, bool color);

#endif /* PROGRAMS_SIDE_SESSION_STATUS_H */
