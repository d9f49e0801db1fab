/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_KERNEL_H
#define PROGRAMS_SIDE_PROBE_KERNEL_H

/*
 * Places that a probe in the process could have by a breakpoint only, and that the kernel watches at a third of the price (a uprobe of
 * this process alone): where it does the instruction by itself, and may be asked. What it sees is recorded by side-uprobes.
 */

#include "spec-options.h"

#include "probe/site.h"

struct probe_kernel {
	int table; /* those places alone, for side-uprobes; -1: there are none */
	int others; /* of a program to be started: what its file's other processes get (session_probe), or -1 */
};

/*
 * Of a table for a process, or for a program that is to be started: if there are such places, *table is exchanged for one that leaves
 * them to the kernel. `not`: why none may be left to it, or NULL. `others` are asked for together with it, maybe at the same places.
 * 0 or an exit status: said.
 */
int probe_kernel_choose(const struct probe_target *target, const char * not, int *table,
		const struct probe_seen *others, size_t nr_others, struct probe_kernel *kernel);
/* That, of what is asked for: contexts that any event may have would be those of who records, also in a filter. */
const char *probe_kernel_not(bool never, bool contexts, const char *filter);
/* Whether there are any that could be left to it. */
bool probe_kernel_any(const struct probe_table *table);
/* A call of side-uprobes; to be freed by probe_global_free(). 0 or an exit status: said. */
int probe_kernel_args(pid_t pid, const int *tables, size_t nr, char ***args);
/* One has ended so: said, if somebody has killed it, for nobody else has seen what it did not. */
void probe_kernel_ended(int status);

/* Whether a place could be one of those, whoever asks; whether we may ask; and whether it is one if we do, of any process. */
bool probe_kernel_could(const struct probe_site *site);
bool probe_kernel_may(void);
bool probe_kernel_would(const struct probe_site *site);

/* kernel-table.c: `chosen` is of each probe. A memfd, or a negative errno. */
enum probe_kernel_copy {
	PROBE_KERNEL_ALONE,  /* the chosen and nothing else */
	PROBE_KERNEL_MARKED, /* all; the chosen are left to the kernel */
	PROBE_KERNEL_OTHERS, /* all; the chosen are left to it in another process */
};
int probe_kernel_copy(
		const struct probe_table *table, const bool *chosen, enum probe_kernel_copy copy);

#endif /* PROGRAMS_SIDE_PROBE_KERNEL_H */
