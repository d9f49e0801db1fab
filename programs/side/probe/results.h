/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_RESULTS_H
#define PROGRAMS_SIDE_PROBE_RESULTS_H

struct json_object;

/*
 * Print the results of a request, for each location if there are few. Returns 0 or an exit status.
 */
int probe_report(struct json_object *answer, int table);
/*
 * Print that programs which start later get the probe, and how; or why not. `missing`: why none has
 * it now.
 */
void probe_report_later(struct json_object *answer, const char *event, const char *missing);

#endif /* PROGRAMS_SIDE_PROBE_RESULTS_H */
