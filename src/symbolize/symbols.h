/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SYMBOLIZE_SYMBOLS_H
#define SIDE_SYMBOLIZE_SYMBOLS_H

/*
 * From an address of a process that is gone to function, file and line.
 *
 *	space.c   which library stood where in a process, and when: from base address records
 *	          (side:library_load) or from lines of /proc/PID/maps
 *	module.c  one file: is it still the one that was mapped? its functions, its lines
 *	debug.c   where the debug information of a file is
 *	worker.c  the process in which files are read
 *	fetch.c   asking a debuginfod server, for those who say that they want it
 *
 * Paths, addresses and build ids come from traces, and files may be damaged: what does not fit is
 * no symbol. Answers are kept, so an address is looked up once. Any thread may ask.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOLS_BUILD_ID_MAX 64
#define SYMBOLS_LIBRARIES_MAX 65536 /* of one process; what is loaded after them is not known */

struct symbols;

struct symbols_options {
	const char *path; /* folders with debug files, before the standard one; NULL: none */
	bool debuginfod;  /* may be asked, if the user has set DEBUGINFOD_URLS */
	/* Takes a sentence on a file that cannot be used, once for each; NULL: nobody. */
	void (*report)(void *user, const char *sentence);
	void *user;
};

/* Stays as long as the symbols. */
struct symbol {
	const char *module;   /* the path of its file; NULL: nothing is known of the address */
	uint64_t offset;      /* the address in the file, as nm and addr2line have it */
	const char *function; /* NULL: not known */
	uint64_t inside;      /* bytes behind the begin of the function */
	const char *file;     /* NULL: not known */
	unsigned int line;
};

struct symbols_library {
	const char *path;
	uint64_t base, size;
	const uint8_t *build_id;
	size_t build_id_size;   /* 0: not known */
	const char *debug_link; /* "" or NULL: not known */
};

struct symbols *symbols_create(const struct symbols_options *options);
void symbols_free(struct symbols *symbols);

/*
 * The process with this number; all others of the symbols are different ones. Times are those of the
 * records: from then on it is so. Records of one process may come in any order. -ENOMEM.
 */
int symbols_load(struct symbols *symbols, uint32_t process, int64_t ns,
		const struct symbols_library *library);
int symbols_unload(struct symbols *symbols, uint32_t process, int64_t ns, uint64_t base);
/* Lines of /proc/PID/maps, for the whole life of the process; base address records go first. */
int symbols_maps(struct symbols *symbols, uint32_t process, const char *path);

/*
 * What stood there at that time; `call`: the address is that to which a call returns, so the call stands
 * before it. Always an answer, maybe an empty one.
 */
const struct symbol *symbols_find(
		struct symbols *symbols, uint32_t process, int64_t ns, uint64_t address, bool call);

#endif
