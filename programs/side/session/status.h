/* SPDX-License-Identifier: MIT */
/* Showing sessions: a line each (`status --all`, `list`), or one in full (`status`, `list NAME`). */
#ifndef PROGRAMS_SIDE_SESSION_STATUS_H
#define PROGRAMS_SIDE_SESSION_STATUS_H

#include <stdbool.h>

struct ask;
struct json_object;

/* `name` NULL: all, a line each. 0 or an exit status: said. */
int status_show(struct ask *ask, const char *name, bool json, bool color);

/*
 * status-probes.c: probes, as `status` and the answer to "enable-probe" have them in "probes": a line each,
 * and behind it one for each program.
 */
void status_print_probes(struct json_object *probes, bool color);

#endif /* PROGRAMS_SIDE_SESSION_STATUS_H */
