/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_RESULTS_H
#define PROGRAMS_SIDE_PROBE_RESULTS_H

struct json_object;

/* What became of the probes of a request, place by place where they are few. 0 or an exit status. */
int probe_report(struct json_object *answer, int table);

#endif /* SIDE_CMD_PROBE_SAID_H */
