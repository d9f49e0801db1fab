/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_PROBE_SPEC_OPTIONS_H
#define PROGRAMS_SIDE_PROBE_SPEC_OPTIONS_H

/* Specs of the command line, and the tables that they become. */

#include "programs/common/command.h"

#include "probe/spec/resolve.h"

#include <sys/types.h>

#define PROBE_SPECS_MAX 64

/* One `--probe`, `--function` or `--sdt`, with the options behind it that belong to it. */
struct spec_options {
	struct probe_spec spec;
	const char *arguments[PROBE_TABLE_FIELDS_MAX], *results[PROBE_TABLE_FIELDS_MAX],
			*contexts[PROBE_TABLE_FIELDS_MAX];
	bool no_uprobe; /* the kernel is to watch nothing of it */
};

/*
 * Reads specs from options in their order; the caller frees them. Options before the first location belong to all specs. Contexts
 * that any event may have are ignored. Returns 0 or an exit status, after printing a message.
 */
int probe_specs_read(const struct option_uses *uses, const struct text_list *contexts,
		struct spec_options **specs, size_t *count);
/*
 * Each of `--context a,b` alone, then each of the operands (NULL: none), in one allocation: free() its items. 0 or an exit
 * status: said.
 */
int probe_contexts(
		const struct text_list *requested, char *const *operands, struct text_list *each);
/* The options that give the same spec again; the caller frees the text. NULL: out of memory. */
char *probe_spec_text(const struct spec_options *spec);

/* In whom. */
struct probe_target {
	pid_t pid;       /* 0: in no process that runs */
	const char *exe; /* the file of a program */
	bool preloads;   /* side starts the program: it loads the libraries of LD_PRELOAD */
};

/*
 * resolve.c: makes the table of a spec, a sealed memfd. A child process reads the files, because the library that reads
 * them does not survive each damaged one. Returns 0 or an exit status, after printing a message.
 */
int probe_resolve(const struct probe_target *target, const struct probe_spec *spec, int *table);
/*
 * For which other processor the file is, of which there is nothing to be found then; NULL: for ours, or it cannot be read, which is
 * said later.
 */
const char *probe_other_processor(const char *path);

/* files.c: all files that the target executes, or will. */
int probe_add_files(const struct probe_target *target, struct resolve *resolve,
		struct resolve_error *error);

/* markers.c: prints the markers (PROVIDER:NAME) that the glob selects (NULL: all); false: there is none. */
bool probe_list_markers(const struct probe_target *target, const char *glob);

/* A table in memory of ours, for showing it; what is wrong with it is said. */
struct probe_seen {
	struct probe_table table;
	void *memory;
	size_t size;
};
int probe_see(int fd, struct probe_seen *seen);
void probe_unsee(struct probe_seen *seen);
/* By enum probe_method. */
const char *probe_method_name(unsigned int method);
/* Of what the kernel watches: kernel.h. */
#define PROBE_UPROBE_NAME "uprobe"

#endif /* PROGRAMS_SIDE_PROBE_SPEC_OPTIONS_H */
