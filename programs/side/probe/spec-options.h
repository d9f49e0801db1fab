/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_SPEC_OPTIONS_H
#define PROGRAMS_SIDE_PROBE_SPEC_OPTIONS_H

/* Read specs from the command line, and resolve them into tables. */

#include "programs/common/command.h"

#include "probe/spec/resolve.h"

#include <sys/types.h>

#define PROBE_SPECS_MAX 64

/* One `--probe`, `--function` or `--sdt`, with the options after it that belong to it. */
struct spec_options {
	struct probe_spec spec;
	const char *arguments[PROBE_TABLE_FIELDS_MAX], *results[PROBE_TABLE_FIELDS_MAX],
			*contexts[PROBE_TABLE_FIELDS_MAX];
	bool no_uprobe;  /* do not use uprobes for it */
	bool is_pending; /* in a session: `--pending` */
};

/*
 * Reads specs from options in their order; the caller frees them. Options before the first location
 * belong to all specs. Contexts that any event may have are ignored. Returns 0 or an exit status,
 * after printing a message.
 */
int probe_specs_read(const struct option_uses *uses, const struct text_list *contexts,
		struct spec_options **ret_specs, size_t *ret_count);
/*
 * Split each `--context a,b`, and append the operands (NULL: none). All texts are in one
 * allocation: free() the list's items. Returns 0 or an exit status, after printing a message.
 */
int probe_contexts(const struct text_list *requested, char *const *operands,
		struct text_list *ret_contexts);
/* Returns options that give the same spec again; the caller frees the text. NULL: out of memory. */
char *probe_spec_text(const struct spec_options *spec);

/* The program to probe. */
struct probe_target {
	pid_t pid;       /* 0: not a running process */
	const char *exe; /* the file of a program */
	/* only this file, which `pid` has mapped by this path; NULL: all files */
	const char *loaded;
	bool is_glob;    /* with `loaded`: it may lack the location, without a message */
	bool preloads;   /* side starts the program: it loads the libraries of LD_PRELOAD */
	bool debuginfod; /* get missing debug files from the servers in DEBUGINFOD_URLS */
	enum probe_pending {
		PROBE_PENDING_NEVER,    /* refuse libraries that are not found */
		PROBE_PENDING_OFFERED,  /* the same, and the hint names `--pending` */
		PROBE_PENDING_ACCEPTED, /* their tables are empty: trace-loaded.c makes others */
	} pending;
	/* Set to true if the program may load a library of a spec later. NULL: not needed. */
	bool *ret_is_pending;
};

/*
 * resolve.c: makes the table of a spec, a sealed memfd. A child process reads the files, because
 * the library that reads them can crash on a damaged file. Returns 0 or an exit status, after
 * printing a message.
 */
int probe_resolve(const struct probe_target *target, const struct probe_spec *spec, int *ret_table);
/*
 * The same for several specs: each file is read once. If it fails, the first *ret_count tables exist.
 */
int probe_resolve_all(const struct probe_target *target, const struct probe_spec *const *specs,
		size_t count, int *ret_tables, size_t *ret_count);
/*
 * The same for a spec and files that are open already, in this process. Returns 0 or a negative errno
 * with `error` set. Prints what is left out.
 */
int probe_make_table(struct resolve *resolve, const struct probe_spec *spec, int *ret_table,
		struct error *error);
/*
 * Opens only a file that the process has mapped by this path, and that LIB of the specs names.
 * `resolve` uses the path until it is closed. Returns 0 or a negative errno with `error` set.
 */
struct probe_loaded {
	pid_t pid;
	const char *path;
};
int probe_open_loaded(
		struct resolve *resolve, const struct probe_loaded *loaded, struct error *error);
/*
 * Whether LIB names the file. It is a name, a path, or a glob of one of them. A path may lead to the
 * file by links, or from the current directory. `file` is the status of the loaded file.
 */
struct stat;
bool probe_loaded_is_named(
		const struct probe_loaded *loaded, const struct stat *file, const char *library);
/*
 * Returns the name of the processor that the file is for, if it is another one, so that nothing can
 * be found. NULL: this processor, or the file cannot be read, which is reported later.
 */
const char *probe_other_processor(const char *path);

/* files.c: add all files that the target executes, or will execute. */
int probe_add_files(
		const struct probe_target *target, struct resolve *resolve, struct error *error);

/*
 * later-files.c: add the files of a library that the target, a struct probe_target, may load later
 * (a resolve_later_fn).
 */
int probe_find_later(void *user, struct resolve *resolve, const char *library, struct error *error);

/*
 * markers.c: print the markers (PROVIDER:NAME) that the glob selects (NULL: all). Returns false if
 * there is none.
 */
bool probe_list_markers(const struct probe_target *target, const char *glob);

/*
 * list-inlined.c: print the locations where the function is inlined, in the files that the glob
 * `library` selects (NULL: all). Returns false if there is none.
 */
bool probe_list_inlined(const struct probe_target *target, const char *library, const char *name,
		bool has_header, bool has_functions);

/*
 * A table that is mapped here, to print parts of it. probe_table_view_open() prints a message if
 * the table is invalid.
 */
struct probe_table_view {
	struct probe_table table;
	void *memory;
	size_t size;
};
int probe_table_view_open(int fd, struct probe_table_view *view);
void probe_table_view_close(struct probe_table_view *view);
/* Returns the name of an enum probe_method. */
const char *probe_method_name(unsigned int method);
/* The name for sites that the kernel watches (kernel.h). */
#define PROBE_UPROBE_NAME "uprobe"

#endif /* PROGRAMS_SIDE_PROBE_SPEC_OPTIONS_H */
