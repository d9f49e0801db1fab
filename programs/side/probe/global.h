/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_GLOBAL_H
#define PROGRAMS_SIDE_PROBE_GLOBAL_H

/* Convert the options of global probes to a call of side-uprobes (programs/side-uprobes). */

#include "programs/common/command.h"

/*
 * Make the arguments of a call of side-uprobes, which ends with NULL; free it with
 * probe_global_free(). side-uprobes inherits the descriptors of the tables. Returns 0 or an exit
 * status, after printing a message.
 */
int probe_global_args(const struct global_arguments *arguments, uint64_t pid, const int *tables,
		size_t nr_tables, char ***ret_args);
/* Append an option and its value. Returns false if out of memory. */
bool probe_global_add(char ***args, const char *option, const char *value);
void probe_global_free(char **args);
/*
 * Refuse options that are only valid with `--global`. Returns 0 or an exit status, after printing a
 * message.
 */
int probe_global_check(const struct global_arguments *arguments);

/*
 * Start side-uprobes for a session of the daemon, and wait until the sites are watched. Returns 0
 * or an exit status, after printing a message.
 */
int probe_global_start(char ***args, const char *session, bool system);

#endif /* PROGRAMS_SIDE_PROBE_GLOBAL_H */
