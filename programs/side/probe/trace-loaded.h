/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_TRACE_LOADED_H
#define PROGRAMS_SIDE_PROBE_TRACE_LOADED_H

/*
 * Makes tables of probes for libraries while the traced programs load them: libraries of which no
 * file was found before, and other files of the same name.
 */

#include "spec-options.h"

#include "recorder/core/probes.h"
#include "recorder/core/session.h"

/* Files for which tables are made, of all programs of a recording. */
#define TRACE_LOADED_FILES_MAX 1024

struct trace_loaded {
	struct session_loads loads;
	const struct spec_options *specs;
	size_t nr_specs;
	char *libraries[PROBE_SPECS_MAX]; /* LIB of each spec; NULL: it has none */
	struct table_target target;       /* of all tables */
	uint32_t nr_given;                /* tables that the session has from the beginning */
	/* Made since then; their numbers follow those of the given ones. */
	struct trace_loaded_table {
		int fd;
		size_t spec;
	} tables[SESSION_PROBES_MAX];
	size_t nr_tables;
	/* Files that were handled. Another file may have the path of one of them. */
	struct trace_loaded_file {
		uint64_t device, inode;
		struct timespec changed;
	} files[TRACE_LOADED_FILES_MAX];
	size_t nr_files;
	int socket; /* to the process that resolves; -1: none */
};

/*
 * Begins, if a spec has a library. The process that resolves starts here, because the recorder will
 * have threads. `given` are the tables that the session has. Returns 0 or an exit status, after
 * printing a message.
 */
int trace_loaded_begin(struct trace_loaded *loaded, const struct spec_options *specs,
		size_t nr_specs, const struct session_table *given, size_t nr_given);
/* Returns the callbacks for the session; NULL: no spec has a library, or nothing has begun. */
const struct session_loads *trace_loaded_loads(const struct trace_loaded *loaded);
void trace_loaded_end(struct trace_loaded *loaded);

/* Finds a table that was made; NULL: the number is not that of one. */
const struct trace_loaded_table *trace_loaded_find(
		const struct trace_loaded *loaded, uint32_t number);

#endif /* PROGRAMS_SIDE_PROBE_TRACE_LOADED_H */
