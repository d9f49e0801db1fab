/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SYMBOLIZE_WORKER_H
#define SIDE_SYMBOLIZE_WORKER_H

/*
 * Files are read by another process: the libraries that do it do not survive each damaged file. When
 * it ends, the file that it was at is not asked for any more, and the next question starts another one.
 * Private to the room.
 */

#include "symbolize/module.h"

struct symbol_worker;

struct worker_question {
	uint32_t module; /* its number; the name of one number is always the same */
	const struct module_name *name;
	uint64_t offset; /* behind the base; for a name with an inode: in the file */
	bool call;
};

struct symbol_worker *worker_create(const struct symbols_options *options);
void worker_free(struct symbol_worker *worker);
/*
 * All of the symbol but the module, texts malloc'ed. False: there is no worker, or it has ended over this
 * question.
 */
bool worker_ask(struct symbol_worker *worker, const struct worker_question *question,
		struct symbol *symbol);

#endif
