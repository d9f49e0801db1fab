/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_MAPS_H
#define SIDE_RECORDER_CORE_MAPS_H

/*
 * The code that a process has mapped, so that analysis can attribute addresses in its events to
 * files after it has exited.
 *
 * Callers: connections and recovery. The main thread reads the lines while the process waits; the
 * drain thread writes them (storage/maps-file.h). The session's lock protects instance->maps.
 */
#include <stddef.h>
#include <stdint.h>

struct instance;
struct session;

#define MAPS_FUNCTION_MAX 1024 /* bytes of a line in the process's list of generated functions */

/*
 * Adds "begin-end jit name": a function that the process has generated. The caller holds the lock.
 */
void maps_add_function(struct instance *instance, uint64_t begin, uint64_t end, const char *name);
/*
 * Adds "begin-end jit@ns name": a generated function from a time on, in ns since 1970. The caller
 * holds the lock.
 */
void maps_add_timed_function(struct instance *instance, uint64_t begin, uint64_t end, int64_t ns,
		const char *name);

/* Generated code between two addresses that belongs to a line of a file, from a time on. */
struct maps_line {
	uint64_t begin, end;
	int64_t ns;
	uint32_t line;
	const char *file;
};

/* Adds "begin-end line@ns line file". The caller holds the lock. */
void maps_add_line(struct instance *instance, const struct maps_line *generated);
/* Reads the mappings while the process waits for an answer. Main thread; takes the lock. */
void maps_read(struct session *session, struct instance *instance);
/* Adds lines that an earlier recorder read. The instance must not be in the list yet; no lock. */
void maps_adopt(struct instance *instance, const char *text, size_t size);
/* Called by the thread that frees the instance; no lock. */
void maps_free(struct instance *instance);

#endif
