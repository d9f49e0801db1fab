/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_ENABLE_PENDING_H
#define PROGRAMS_SIDE_PROBE_ENABLE_PENDING_H

/* Parts of `enable-event --exe FILE` for a file that does not exist yet, or that changes. */

#include <limits.h>
#include <stdbool.h>

struct definition;
struct json_object;
struct probe_spec;

/*
 * Makes the canonical path that the file will have. Returns false if the file exists, or if its path
 * cannot be known.
 */
bool probe_pending_path(const char *requested, char path[PATH_MAX]);
/* Adds the events of the spec, which needs a name, to a request without a table. */
void probe_add_pending(struct json_object *request, const struct probe_spec *spec);
/* The same for a request with an empty table. */
void probe_add_later_events(struct json_object *request, const struct probe_spec *spec);
/*
 * The file at this path has changed. Returns the array of the former files that processes still
 * execute, so that their probes stay, or NULL.
 */
struct json_object *probe_pending_kept(const struct definition *definition, const char *exe);
void probe_pending_report(
		struct json_object *answer, const struct probe_spec *spec, const char *file);

#endif /* PROGRAMS_SIDE_PROBE_ENABLE_PENDING_H */
