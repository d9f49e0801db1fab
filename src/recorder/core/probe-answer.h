/* SPDX-License-Identifier: MIT */
/* What programs report about the tables of probes that they were sent. */
#ifndef SIDE_RECORDER_CORE_PROBE_ANSWER_H
#define SIDE_RECORDER_CORE_PROBE_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/protocol.h"

/* Consecutive probes of a table that the program refused, all for one reason. */
struct session_probe_refusal {
	uint32_t first, count; /* indices into the table */
	uint32_t error;        /* wire_probe_error_text() */
};

/* Report of one program about one table. */
struct session_probe_answer {
	uint32_t number; /* of struct session_table */
	int32_t pid;     /* process id in the recorder's pid namespace */
	char *procname;
	bool ended;
	bool answered;      /* false: the program has the table, but has not reported yet */
	bool was_set;       /* a location was set at any time, perhaps in an unloaded library */
	uint32_t error;     /* why the program cannot use the table at all; 0: it can */
	uint32_t locations; /* in the table */
	uint32_t states[WIRE_NR_PROBE_STATES]; /* number of locations in each state */
	/* Of the whole program since its start: see struct wire_probed. */
	uint64_t cut, lost, unseen, abandoned, traps, code_bytes;
	struct session_probe_refusal *refusals;
	uint32_t nr_refusals;
};

#endif /* SIDE_RECORDER_CORE_PROBE_ANSWER_H */
