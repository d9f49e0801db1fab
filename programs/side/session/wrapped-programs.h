/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_SESSION_WRAPPED_PROGRAMS_H
#define PROGRAMS_SIDE_SESSION_WRAPPED_PROGRAMS_H

/* Reports in which programs of a session a wrapper library records calls, and in which not. */

#include <stdbool.h>
#include <stddef.h>

struct json_object;

enum wrapped_library { WRAPPED_LIBC, WRAPPED_PTHREAD, WRAPPED_NR };

/* The name of the library, which is also the provider of its events. */
const char *wrapped_name(enum wrapped_library library);

struct wrapped_programs {
	size_t nr_active;   /* programs whose calls are recorded */
	size_t nr_refusals; /* programs whose calls are not; each is reported */
};

/* Reads the state from each program of the daemon's list, and prints a note for each refusal. */
struct wrapped_programs wrapped_programs_report(
		const char *session, enum wrapped_library library, struct json_object *processes);

#endif /* PROGRAMS_SIDE_SESSION_WRAPPED_PROGRAMS_H */
