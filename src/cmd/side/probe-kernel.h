/* SPDX-License-Identifier: MIT */
#ifndef SIDE_CMD_PROBE_KERNEL_H
#define SIDE_CMD_PROBE_KERNEL_H

/*
 * Places that a probe in the process could have by a breakpoint only, and that the kernel watches at a third of the price (a uprobe of
 * this process alone): where it does the instruction by itself, and may be asked. What it sees is recorded by side-uprobes.
 */

#include "probe-wish.h"

#include "probe/site.h"

struct probe_kernel {
	int table;       /* those places alone, for side-uprobes; -1: there are none */
	uint32_t places; /* how many */
	char why[1200]; /* why there are none although some could be: a sentence without its full stop; "" else */
};

/*
 * Of a table for a process: if there are such places, *table is exchanged for one that leaves them to the kernel. `not`: why none
 * may be left to it, or NULL. 0 or an exit status: said.
 */
int probe_kernel_choose(const struct probe_target *target, const char * not, int *table,
		struct probe_kernel *kernel);
/* That, of what is asked for: contexts that any event may have would be those of who records, also in a filter. */
const char *probe_kernel_not(bool never, bool contexts, const char *filter);
/* How many could be left to it. */
uint32_t probe_kernel_count(const struct probe_table *table);
/* A call of side-uprobes; to be freed by probe_global_free(). 0 or an exit status: said. */
int probe_kernel_words(pid_t pid, const int *tables, size_t nr, char ***words);

/* Whether a place could be one of those, whoever asks; and whether it is one if we do, of any process. */
bool probe_kernel_could(const struct probe_site *site);
bool probe_kernel_would(const struct probe_site *site);

#endif /* SIDE_CMD_PROBE_KERNEL_H */
