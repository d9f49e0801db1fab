/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_PARTS_H
#define SIDE_PROBE_SPEC_PARTS_H

/* What several files of spec/ use and other modules do not. */

#include "probe/code/code.h"
#include "probe/spec/resolve.h"

#include <gelf.h>

struct debug;

/* A file with code, of the process or program that is probed. */
struct resolve_module {
	char *path;     /* as the program sees it */
	char *our_path; /* as this process sees it, if that differs; otherwise NULL */
	const char *name;
	int fd;
	bool executable;
	bool refused; /* its code cannot be read, and this was reported */
	/* the error when its code was read; 0: none, or the file has no functions */
	int unread;
	bool later;          /* the program has not loaded it, and may load it later */
	bool reported;       /* `later`, and a note has named it */
	bool named;          /* `later`, and the spec that is being resolved names it */
	bool loaded;         /* mapped in a process; otherwise `bias` is unknown */
	uint64_t bias;       /* difference between addresses in the process and in the file */
	uint64_t begin, end; /* of its code in the process */
	uint64_t offset;     /* offset in the file of what is mapped at `begin` */
	/* address of its first page, if the program moved its code to other memory; otherwise 0 */
	uint64_t head;
	uint8_t build_id[PROBE_TABLE_BUILD_ID_MAX];
	uint32_t build_id_size;
	Elf *elf;               /* NULL: not opened yet */
	struct code_file *code; /* NULL: not opened yet */
	struct debug *debug;
	bool debug_tried;
	int debug_error; /* of a search that failed since module_debug(); 0: none */
	/* Number of this module in the table that `writer` writes. */
	const struct probe_table_writer *writer;
	uint32_t number;
};

struct resolve {
	struct resolve_module *modules;
	size_t nr_modules, capacity;
	int memory; /* of the process (/proc/PID/mem); -1: not a process, or not readable */
	resolve_later_fn
			*later; /* finds libraries that are loaded later; NULL: none are searched */
	void *later_user;
	uint64_t only_inode;                  /* add only mappings of this file; 0: of all files */
	bool accepts_missing, offers_missing; /* resolve_set_pending() */
	bool has_missing;                     /* a library was missing, and this was accepted */
};

/* A location that the spec selects. */
struct location {
	struct resolve_module *module;
	const struct code_function *function; /* NULL: the address is in no known function */
	uint64_t address;
	const char *name; /* of the function; "" if it has none. Owned by the module, or static. */
	bool entry;       /* the function's first instruction */
	bool inlined;     /* the beginning of another function that is inlined here */
	/* Of a marker: */
	const char *operands; /* NULL: not a marker */
	uint64_t semaphore;
};

struct locations {
	struct location *items;
	size_t count, capacity;
	char *note; /* a note for the user about the locations; NULL: none */
	/* the first piece found (foo.part.0), which is not probed; no name: none */
	struct location piece;
	/* PROVIDER:NAME in the text of the spec, if LIB: is before it; otherwise NULL */
	const char *marker;
	/* inlined calls of the functions, which are not locations */
	uint64_t nr_inlined;
	bool is_inlined_unknown; /* there may be more: not all debug information was searched */
	bool is_missing; /* the search failed, because no file has the name of the library */
	bool is_glob;    /* the spec selects all functions that match */
	bool one_name; /* all functions have the same name: copies, or functions of several files */
};

/* ---- modules.c ---- */

/* Open the module's file and read its functions. */
int module_code(struct resolve_module *module, struct error *error);
Elf *module_elf(struct resolve_module *module);
/*
 * Whether `library` names this module: "libc", "libc.so.6", "libc.so*", or a path. NULL names the
 * program.
 */
bool module_is(const struct resolve_module *module, const char *library);
/*
 * Looks up a variable by its symbol. Returns false if there is none; else `*ret_address` is its
 * address in the file.
 */
bool module_symbol(struct resolve_module *module, const char *name, uint64_t *ret_address);
/*
 * Whether the symbol is local, so no other file calls the function. Linkers make symbols local
 * after link-time optimization.
 */
bool module_is_local(struct resolve_module *module, const char *function);
/*
 * Looks up a thread-local variable; `*ret_offset` is its offset in the module's thread-local block.
 */
bool module_thread_symbol(struct resolve_module *module, const char *name, uint64_t *ret_offset);

/* ---- ifunc.c ---- */

/* Get the functions that an indirect function (with `chooses`) has selected, or may select. */
void ifunc_targets(struct resolve *resolve, struct resolve_module *module,
		const struct code_function *function, struct resolve_choices *ret_choices);
/* Returns a note for the user about the selection, which the caller frees. NULL: out of memory. */
char *ifunc_note(const struct resolve_module *module, const struct code_function *chooser,
		const char *name, const struct resolve_choices *choices);

/* ---- imports.c ---- */

#define MODULE_IMPORTS_MAX 1000000

/* All zero: none. The names are sorted, and belong to the file of the module. */
struct module_imports {
	const char **names;
	size_t count;
};

/*
 * Reads the names of functions that the file takes from other files. None if it has no sections.
 * Returns 0, -ENOMEM, or -E2BIG for too many symbols. Call module_imports_free() in all cases.
 */
int module_imports_read(struct resolve_module *module, struct module_imports *ret_imports);
bool module_imports_has(const struct module_imports *imports, const char *name);
void module_imports_free(struct module_imports *imports);

/* ---- event-names.c ---- */

#define EVENT_NAME_MAX 240
/*
 * Event names that must differ from each other: tens of thousands if the spec selects all functions
 * of a program.
 */
struct event_names {
	struct event_name_entry *entries;
	uint32_t *table; /* hash table: indexes of `entries` plus 1; 0: free */
	size_t count, capacity;
};
/*
 * Prepare for at most `most` names. Returns false if out of memory; call event_names_end() in both
 * cases.
 */
bool event_names_begin(struct event_names *names, size_t most);
/* Add a name. If there is an equal one, append a number to `name` first. */
void event_names_add(struct event_names *names, char name[EVENT_NAME_MAX]);
void event_names_end(struct event_names *names);

/* ---- marker.c ---- */

/*
 * Call each() for each marker of the module. Stops when each() does not return 0, and returns its
 * result. The texts belong to the module.
 */
int module_markers(struct resolve_module *module,
		int (*each)(void *user, const struct resolve_marker *marker), void *user);

/* ---- locations.c ---- */

int locations_find(struct resolve *resolve, const struct probe_spec *spec,
		struct locations *locations, struct error *error);
/* inlined.c: counts the inlined calls of the functions. */
void locations_count_inlined(struct locations *locations);
/* Writes the hint with the option that probes this piece, and returns `text`. */
const char *piece_hint(const struct location *piece, char *text, size_t size);

#endif /* SIDE_PROBE_SPEC_PARTS_H */
