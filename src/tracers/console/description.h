/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_CONSOLE_DESCRIPTION_H
#define SIDE_TRACERS_CONSOLE_DESCRIPTION_H

#include "tracers/console/output.h"

/* Print "event description: ..." with a newline. The description must have been checked. */
void console_put_description(struct console_line *line, const struct side_event_description *desc);

#endif /* SIDE_TRACERS_CONSOLE_DESCRIPTION_H */
