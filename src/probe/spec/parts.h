/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_PARTS_H
#define SIDE_PROBE_SPEC_PARTS_H

/* What the files of this room share. */

#include "probe/code/code.h"
#include "probe/spec/resolve.h"

#include <gelf.h>

struct debug;

/* A file with code. */
struct resolve_module {
	char *path;     /* as the program sees it */
	char *our_path; /* as we see it, where that is another path; else NULL */
	const char *name;
	int fd;
	bool executable;
	bool refused;        /* its code cannot be read: said once */
	int unread;          /* the error of that; 0: the file has none that is understood */
	bool loaded;         /* it is in a process; else there is no bias */
	uint64_t bias;       /* what is added to addresses of the file */
	uint64_t begin, end; /* of its code in the process */
	uint64_t offset;     /* in the file, of what is mapped at `begin` */
	uint64_t head; /* where its first page is, if the program has moved its code to other memory; else 0 */
	uint8_t build_id[PROBE_TABLE_BUILD_ID_MAX];
	uint32_t build_id_size;
	Elf *elf;               /* NULL: not opened yet */
	struct code_file *code; /* likewise */
	struct debug *debug;
	bool debug_tried;
	int debug_error; /* of a search that failed since module_debug(); 0: none */
	/* In the table that is being written. */
	const struct probe_table_writer *writer;
	uint32_t number;
};

struct resolve {
	struct resolve_module *modules;
	size_t nr_modules, capacity;
	int memory; /* of the process; -1: there is none that can be read */
};

/* One place that was found. */
struct location {
	struct resolve_module *module;
	const struct code_function *function; /* NULL: nobody knows one there */
	uint64_t address;
	const char *name; /* of the function; "" if it has none. Of the module's code, or static. */
	bool entry;       /* the begin of the function */
	bool inlined;     /* the begin of another one, which was put into it */
	/* Of a marker. */
	const char *operands; /* NULL: it is none */
	uint64_t semaphore;
};

struct locations {
	struct location *items;
	size_t count, capacity;
	char *note; /* a sentence about the locations; NULL: none */
	struct location piece; /* the first piece that was found (foo.part.0), which is not probed; no name: none was found */
	bool one_name; /* all have one name: copies, or functions of several files */
};

/* Returns `result`. */
int resolve_fail(struct resolve_error *error, int result, const char *hint, const char *format, ...)
		__attribute__((format(printf, 4, 5)));

/* ---- modules.c ---- */

/* Open the file of the module. */
int module_code(struct resolve_module *module, struct resolve_error *error);
Elf *module_elf(struct resolve_module *module);
/* Is it meant by the name of a library? "libc", "libc.so.6", "libc.so*", a path; NULL means the program. */
bool module_is(const struct resolve_module *module, const char *library);
/* A thing (not a function) by its name: its address in the file, and size. */
bool module_symbol(struct resolve_module *module, const char *name, uint64_t *address);
/* Whether the symbol is local, so no other file calls the function. Linkers make symbols local after link-time optimization. */
bool module_is_local(struct resolve_module *module, const char *function);
/* One that each thread has: where it is among those of the module. */
bool module_thread_symbol(struct resolve_module *module, const char *name, uint64_t *offset);

/* ---- choose.c ---- */

/* What a function with `chooses` has chosen, or chooses from. */
void choose(struct resolve *resolve, struct resolve_module *module,
		const struct code_function *function, struct resolve_choices *choices);
/* A sentence about it, to be freed; NULL: no memory. */
char *choose_text(const struct resolve_module *module, const struct code_function *chooser,
		const char *name, const struct resolve_choices *choices);

/* ---- names.c ---- */

struct parsed_spec;
/* Add the functions of the module that the probe spec names. */
int names_find(struct resolve_module *module, const struct parsed_spec *spec,
		struct locations *locations);
int locations_add(struct locations *locations, const struct location *location);

/* ---- apart.c ---- */

#define EVENT_NAME_MAX 240
/* The names of events that are apart, which must differ: tens of thousands, where all functions of a program are asked for. */
struct apart {
	struct apart_name *names;
	uint32_t *table; /* of their numbers, from 1 on, by a hash; 0: empty */
	size_t count, capacity;
};
/* For at most so many; false: out of memory. */
bool apart_begin(struct apart *apart, size_t most);
/* Numbers it if there is one like it. */
void apart_take(struct apart *apart, char name[EVENT_NAME_MAX]);
void apart_end(struct apart *apart);

/* ---- marker.c ---- */

/* Calls for each marker of the module; what each() returns if that is not 0. The texts are the module's. */
int module_markers(struct resolve_module *module,
		int (*each)(void *user, const struct resolve_marker *marker), void *user);

/* ---- places.c ---- */

int locations_find(struct resolve *resolve, const struct probe_spec *spec,
		struct locations *locations, struct resolve_error *error);
/* Writes the hint with the option that probes this piece, and returns `text`. */
const char *piece_hint(const struct location *piece, char *text, size_t size);

#endif /* SIDE_PROBE_SPEC_PARTS_H */
