/* SPDX-License-Identifier: MIT */
#ifndef SIDE_CMD_PROBE_REPORT_H
#define SIDE_CMD_PROBE_REPORT_H

struct json_object;

/* What became of the probes of a request, place by place where they are few. 0 or an exit status. */
int probe_report(struct json_object *answer, int table);

#endif /* SIDE_CMD_PROBE_SAID_H */
