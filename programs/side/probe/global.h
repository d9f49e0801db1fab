/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_GLOBAL_H
#define PROGRAMS_SIDE_PROBE_GLOBAL_H

/* Global probes: what the command line says of them, as a call of side-uprobes (programs/side-uprobes). */

#include "programs/common/command.h"

/*
 * A call of side-uprobes: words that end with NULL, to be freed by probe_global_free(). The tables' descriptors are inherited by it.
 * 0 or an exit status: said.
 */
int probe_global_args(const struct global_arguments *arguments, uint64_t pid, const int *tables,
		size_t nr_tables, char ***args);
/* Two more; false: no memory. */
bool probe_global_add(char ***args, const char *option, const char *value);
void probe_global_free(char **args);
/* Options that mean something with `--global` only, without it: said. */
int probe_global_check(const struct global_arguments *arguments);

/* Starts it for a session of the daemon, and waits until the places are watched. 0 or an exit status: said. */
int probe_global_start(char ***args, const char *session, bool system);

#endif /* PROGRAMS_SIDE_PROBE_GLOBAL_H */
