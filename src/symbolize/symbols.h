/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SYMBOLIZE_SYMBOLS_H
#define SIDE_SYMBOLIZE_SYMBOLS_H

/*
 * Finds function, file and line of an address of a process, which may have exited.
 *
 *   address-space.c   which library was mapped where in a process, and when: from base address
 *                     records (side:library_load) or from lines of /proc/PID/maps
 *   module.c          one file: is it still the file that was mapped? its source lines
 *   symbol-table.c    the functions and variables of a file
 *   inlined.c         the functions that the compiler copied into a function
 *   member.c          the member of a variable at an address
 *   symbol.c          the inlined functions of a symbol as bytes of a message
 *   debug-file.c      finds the debug information of a file
 *   mini-debug.c      the compressed symbols of a stripped file
 *   worker.c          the process that reads the files
 *   debuginfod.c      asks a debuginfod server, if the user enables it
 *
 * Paths, addresses and build ids come from traces, and files may be damaged: a mismatch gives an
 * empty symbol. Answers are cached, so each address is resolved once. Any thread may call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOLS_BUILD_ID_MAX 64
#define SYMBOLS_LIBRARIES_MAX 65536  /* of one process; later ones are unknown */
#define SYMBOLS_FUNCTIONS_MAX 100000 /* generated ones of one process; later ones are unknown */
#define SYMBOLS_LINES_MAX 500000     /* parts of generated functions with a line, of one process */
#define SYMBOLS_VERSIONS_MAX 256     /* generated functions before an address that are checked */
#define SYMBOLS_UNLOADED_MAX \
	64 /* ranges of unloaded libraries before an address that are checked */
#define SYMBOLS_JIT_MODULE "[jit]"
#define SYMBOLS_INLINED_MAX 32 /* of one address; the outer ones are left out */

struct symbols;

struct symbols_options {
	const char *path; /* folders with debug files, before the standard one; NULL: none */
	bool debuginfod;  /* permitted, if the user has set DEBUGINFOD_URLS */
	/* Receives a sentence about a file that cannot be used, once for each file; may be NULL. */
	void (*report)(void *user, const char *sentence);
	void *user;
};

/* A function that the compiler copied into its caller. */
struct symbol_inlined {
	const char *function;
	const char *file; /* where it is called; NULL: not known */
	unsigned int line;
};

/* Valid as long as the symbols. */
struct symbol {
	const char *module;   /* the path of its file; NULL: the address is unknown */
	uint64_t offset;      /* the address in the file, as nm and addr2line print it */
	const char *function; /* NULL: not known; of data: the variable, or its member */
	uint64_t inside;      /* bytes behind the beginning of the function or variable */
	const char *file;     /* of the instruction at the address; NULL: not known */
	unsigned int line;
	/*
	 * The inlined functions that contain the address, innermost first. `function` contains all
	 * of them: it calls the last one.
	 */
	const struct symbol_inlined *inlined;
	size_t nr_inlined;
};

struct symbols_library {
	const char *path;
	uint64_t base, size;
	const uint8_t *build_id;
	size_t build_id_size;   /* 0: not known */
	const char *debug_link; /* "" or NULL: not known */
};

/*
 * Starts the process that reads files: call it while this process has one thread and is not
 * confined. The strings of the options must stay valid. NULL: out of memory.
 */
struct symbols *symbols_create(const struct symbols_options *options);
void symbols_free(struct symbols *symbols);

/*
 * A library was loaded or unloaded at a time. `process` is a number that no other process of
 * `symbols` has. Times are those of the records. Records of one process may arrive in any order. 0
 * or -ENOMEM.
 */
int symbols_load(struct symbols *symbols, uint32_t process, int64_t ns,
		const struct symbols_library *library);
int symbols_unload(struct symbols *symbols, uint32_t process, int64_t ns, uint64_t base);
/*
 * Reads lines of /proc/PID/maps, and "begin-end jit name" for functions that the process has
 * generated. They are valid for the whole life of the process; base address records take
 * precedence, then mappings. "begin-end jit@ns name" is valid from a time on, until another function
 * is at the address. "begin-end line@ns line file" is a part of such a function. A second call for
 * a process replaces the lines of the first call. The module of a generated function is
 * SYMBOLS_JIT_MODULE.
 */
int symbols_maps(struct symbols *symbols, uint32_t process, const char *path);
/*
 * How often libraries were unloaded from these addresses until `ns`. If this number differs, equal
 * addresses can belong to different functions.
 */
uint32_t symbols_generation(struct symbols *symbols, uint32_t process, int64_t ns,
		const uint64_t *addresses, size_t count);
/* Forgets the address spaces of all processes. Symbols that were found remain valid. */
void symbols_forget(struct symbols *symbols);
/* The path of a module of any process for which `matches` is true, or NULL. */
const char *symbols_find_module(struct symbols *symbols, bool (*matches)(const char *path));

/*
 * The symbol of an address at that time. `call`: the address is a return address, so the call is
 * before it. Never NULL; the symbol may be empty.
 */
const struct symbol *symbols_find(
		struct symbols *symbols, uint32_t process, int64_t ns, uint64_t address, bool call);
/* The same for an address of data: the global variable that contains it. It has no file and line. */
const struct symbol *symbols_find_data(
		struct symbols *symbols, uint32_t process, int64_t ns, uint64_t address);

#endif
