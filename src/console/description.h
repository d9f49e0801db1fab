/* SPDX-License-Identifier: MIT */
#ifndef CONSOLE_DESCRIPTION_H
#define CONSOLE_DESCRIPTION_H

#include "console/output.h"

/* "event description: ..." with its newline; the description has been checked. */
void description_put(struct output_line *line, const struct side_event_description *desc);

#endif /* CONSOLE_DESCRIPTION_H */
