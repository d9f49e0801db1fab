/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_KERNEL_H
#define PROGRAMS_SIDE_PROBE_KERNEL_H

/*
 * Chooses the sites that the kernel watches with a uprobe of one process.
 *
 * The agent could only set a breakpoint there, which costs three times as much. The kernel must be
 * able to emulate the instruction. side-uprobes records the hits.
 */

#include "spec-options.h"

#include "probe/site.h"

struct probe_kernel {
	int table; /* memfd of a table with the sites for side-uprobes; -1: there are none */
	/*
	 * If the program is yet to be started: the table for other processes that execute its file
	 * (session_table); else -1.
	 */
	int others;
};

/*
 * If the table has such sites, replaces `*table` by one that leaves them to the kernel. The table
 * is for a process, or for a program that is to be started. `refusal`: why the kernel must not
 * watch any of these sites, or NULL. `others` are tables of the same command, possibly with the
 * same sites. Returns 0 or an exit status, after printing a message.
 */
int probe_kernel_choose(const struct probe_target *target, const char *refusal, int *table,
		const struct probe_table_view *others, size_t nr_others,
		struct probe_kernel *kernel);
/*
 * Returns why the kernel must not watch sites under these options, or NULL. side-uprobes records
 * the hits, so contexts of the process (also in a filter) would be those of side-uprobes.
 */
const char *probe_kernel_refusal(bool never, bool contexts, const char *filter);
/* Whether the table has sites that the kernel could watch. */
bool probe_kernel_has_sites(const struct probe_table *table);
/*
 * Makes the arguments of a call of side-uprobes; free them with probe_global_free(). Returns 0 or
 * an exit status, after printing a message.
 */
int probe_kernel_args(pid_t pid, const int *tables, size_t nr, char ***ret_args);
/*
 * Checks how side-uprobes ended. If it was killed, reports that hits may be lost: no other process
 * counts them.
 */
void probe_kernel_check_exit(int status);

/*
 * probe_kernel_can_watch(): the kernel can watch the site. probe_kernel_is_permitted(): this user
 * may use uprobes. probe_kernel_would_watch(): both, for any process.
 */
bool probe_kernel_can_watch(const struct probe_site *site);
bool probe_kernel_is_permitted(void);
bool probe_kernel_would_watch(const struct probe_site *site);

/*
 * kernel-table.c: copy the table. `chosen` has one flag for each probe. Returns a memfd, or a
 * negative errno.
 */
enum probe_kernel_copy {
	PROBE_KERNEL_ALONE,  /* only the chosen probes */
	PROBE_KERNEL_MARKED, /* all probes; the chosen ones are left to the kernel */
	/* all probes; the chosen ones are left to the kernel, in another process */
	PROBE_KERNEL_OTHERS,
};
int probe_kernel_copy(
		const struct probe_table *table, const bool *chosen, enum probe_kernel_copy copy);

#endif /* PROGRAMS_SIDE_PROBE_KERNEL_H */
