/* SPDX-License-Identifier: MIT */
/*
 * The process and the thread that an event belongs to.
 *
 * They come from the contexts vpid, procname, vtid (or tid) and thread_name if these were recorded,
 * and from the trace otherwise. Processes get the numbers 0, 1, 2, … in the order of their first
 * events.
 */
#ifndef SIDE_ANALYSIS_REPORT_IDENTITY_H
#define SIDE_ANALYSIS_REPORT_IDENTITY_H

#include "analysis/event-member.h"
#include "analysis/report-keys.h"
#include "ctf/ctf.h"

/* The position of a context in the records of a class. */
/* All zero before the first record of the class. */
struct identity_class {
	bool known;
	bool fixed; /* all records belong to `process` */
	uint32_t process;
	struct event_member vpid, procname, vtid, thread_name;
};

struct identity_process {
	const char *hostname; /* these texts are NULL if they are unknown */
	const char *name;     /* of its last program */
	int64_t pid;          /* -1: unknown */
	uint32_t trace;       /* of its last program */
	bool ambiguous;       /* another host has a process with this name and number */
	bool repeated;        /* an earlier process has the same number */
};

struct identity {
	struct keys keys;
	struct identity_process *processes; /* keys.count of them */
};

void identity_free(struct identity *identity);

/* The number of the process, or KEYS_NONE without memory. */
uint32_t identity_process(struct identity *identity, struct identity_class *class,
		const struct ctf_item *item);
/* The number of the process that wrote a trace, for items that belong to no event. */
uint32_t identity_of_trace(struct identity *identity, const struct ctf_trace *trace);

/* Call identity_process() for the class first. -1: unknown. */
int64_t identity_thread(const struct identity_class *class, const struct ctf_item *item);
/* The name of the thread, not NUL-terminated. NULL: not recorded. */
const char *identity_thread_name(
		const struct identity_class *class, const struct ctf_item *item, size_t *ret_size);

/*
 * Writes "name:pid", "name", "pid 4711", "host" or "?"; with " on HOST" if two hosts have the same
 * process.
 */
void identity_text(const struct identity *identity, uint32_t process, char *text, size_t size);

#endif /* SIDE_ANALYSIS_REPORT_IDENTITY_H */
