/* SPDX-License-Identifier: MIT */
/* Showing sessions: a line each (`status --all`, `list`), or one in full (`status`, `list NAME`). */
#ifndef CMD_SIDE_STATUS_H
#define CMD_SIDE_STATUS_H

#include <stdbool.h>

struct ask;

/* `name` NULL: all, a line each. 0 or an exit status: said. */
int status_show(struct ask *ask, const char *name, bool json, bool color);

#endif /* CMD_SIDE_STATUS_H */
