/* SPDX-License-Identifier: MIT */
/* Shows a running process on a screen while it is recorded. */
#ifndef PROGRAMS_SIDE_ANSWERS_WATCH_H
#define PROGRAMS_SIDE_ANSWERS_WATCH_H

#include "programs/side/answers/plan.h"

/*
 * Records into `dir`, and further recordings of the plan into directories below `temporary`, until
 * the screen ends. Returns the exit status of the screen, or of the recording if that is not 0.
 */
int answer_watch(const struct parsed *parsed, const struct answer_options *options,
		const struct answer_plan *plan, const char *dir, const char *temporary);

#endif /* PROGRAMS_SIDE_ANSWERS_WATCH_H */
