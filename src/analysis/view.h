/* SPDX-License-Identifier: MIT */
/* The events of a trace, one line each, ordered by time. */
#ifndef SIDE_ANALYSIS_VIEW_H
#define SIDE_ANALYSIS_VIEW_H

#include "analysis/view-options.h"

/*
 * Shows the events. 0; -EPIPE if the reader of the output has closed it and SIGPIPE is ignored;
 * -EIO if something could not be read or written, which has been reported.
 */
int view_run(const struct view_options *options);

#endif /* SIDE_ANALYSIS_VIEW_H */
