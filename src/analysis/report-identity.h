/* SPDX-License-Identifier: MIT */
/*
 * Which process and which thread an event is of.
 *
 * The contexts vpid, procname, vtid (or tid) and thread_name say it where they were recorded; else
 * the trace knows its process. Processes are numbered in the order in which they are first seen.
 */
#ifndef SIDE_ANALYSIS_REPORT_IDENTITY_H
#define SIDE_ANALYSIS_REPORT_IDENTITY_H

#include "analysis/report-keys.h"
#include "ctf/ctf.h"

/* Where a context stands in the records of a class. */
struct identity_location {
	enum { IDENTITY_NOWHERE, IDENTITY_COMMON_CONTEXT, IDENTITY_CONTEXT } scope;
	uint32_t index;
	uint32_t direct; /* Its distance from the scope, or 0: not fixed. */
};

/* All zero before the first record of the class. */
struct identity_class {
	bool known;
	bool fixed; /* All records are of `process`. */
	uint32_t process;
	struct identity_location vpid, procname, vtid, thread_name;
};

struct identity_process {
	const char *hostname; /* NULL: not known, as the others. */
	const char *name;
	int64_t pid; /* -1: not known */
	uint32_t trace;
	bool ambiguous; /* Another host has a process of this name and number. */
	bool repeated;  /* One before it has this number. */
};

struct identity {
	struct keys keys;
	struct identity_process *processes; /* keys.count of them. */
};

void identity_free(struct identity *identity);

/* The number of the process, or KEYS_NONE without memory. */
uint32_t identity_process(struct identity *identity, struct identity_class *class,
		const struct ctf_item *item);
/* The same of a trace: for what is of no event. */
uint32_t identity_of_trace(struct identity *identity, const struct ctf_trace *trace);

/* Only after identity_process() for this class. -1: not known. */
int64_t identity_thread(const struct identity_class *class, const struct ctf_item *item);
/* NULL: not recorded. Not NUL-terminated. */
const char *identity_thread_name(
		const struct identity_class *class, const struct ctf_item *item, size_t *size);

/* "name:pid", "name", "pid 4711", "host" or "?"; with " on HOST" where two hosts have it. */
void identity_text(const struct identity *identity, uint32_t process, char *text, size_t size);

#endif /* CMD_SIDE_REPORT_WHO_H */
