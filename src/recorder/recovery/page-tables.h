/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_RECOVERY_PAGE_TABLES_H
#define SIDE_RECORDER_RECOVERY_PAGE_TABLES_H

/*
 * Finds the page tables of processes in the memory of a machine (x86-64), and reads the processes'
 * memory with them. It needs neither symbols nor debug information of the kernel.
 *
 * Callers: kernel-dump.c. Main thread. No lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_dump;

/* A page of which the address in its process and the address in memory are known. */
struct known_page {
	uint64_t address, physical;
	uint64_t table; /* the page table of the process, if it was found */
	bool is_found;
};

/*
 * Finds for each page the tables that map it at its address. If no process does that any more,
 * `is_found` stays false. Returns 0 or a negative errno.
 */
int page_tables_find(struct memory_dump *dump, struct known_page *pages, size_t nr);
/*
 * Reads memory of the process. Returns 0; -ENODATA if the process has not mapped a page there; or
 * -EIO if the page was swapped out or is not in the dump.
 */
int page_tables_read(
		struct memory_dump *dump, uint64_t table, uint64_t address, void *to, size_t size);

#endif
