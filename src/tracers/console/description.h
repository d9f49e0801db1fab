/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_CONSOLE_DESCRIPTION_H
#define SIDE_TRACERS_CONSOLE_DESCRIPTION_H

#include "tracers/console/output.h"

/* "event description: ..." with its newline; the description has been checked. */
void console_put_description(struct console_line *line, const struct side_event_description *desc);

#endif /* SIDE_TRACERS_CONSOLE_DESCRIPTION_H */
