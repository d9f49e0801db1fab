/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_RESULTS_H
#define PROGRAMS_SIDE_PROBE_RESULTS_H

struct json_object;

/*
 * Print the results of a request, for each location if there are few. Returns 0 or an exit status.
 */
int probe_report(struct json_object *answer, int table);

#endif /* PROGRAMS_SIDE_PROBE_RESULTS_H */
