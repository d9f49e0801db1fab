/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SYMBOLIZE_WORKER_H
#define SIDE_SYMBOLIZE_WORKER_H

/*
 * Reads files in another process, because the libraries that parse them can crash on a damaged
 * file. If the process ends, its current file is not read again, and the next question starts
 * another process. Private to the module symbolize.
 */

#include "symbolize/module.h"

struct symbol_worker;

struct worker_question {
	uint32_t module; /* its number; one number always has the same name */
	const struct module_name *name;
	uint64_t offset; /* from the base; for a name with an inode: in the file */
	bool call;
	bool data;       /* the address of a variable */
	uint64_t origin; /* data of a name with an inode: an offset in the file that was mapped */
};

/* Forks: call it while the process has one thread and is not confined. NULL: out of memory. */
struct symbol_worker *worker_create(const struct symbols_options *options);
void worker_free(struct symbol_worker *worker);
/*
 * Fill in the symbol except for the module; strings are malloc'ed. False: there is no worker, or it
 * ended during this question.
 */
bool worker_ask(struct symbol_worker *worker, const struct worker_question *question,
		struct symbol *symbol);

#endif
