/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_RESOLVE_H
#define SIDE_PROBE_SPEC_RESOLVE_H

/*
 * Resolve a spec into a probe table: `handle_request`, `libc:mallo[c]`, `net::Server::read(int)`, `server.c:120`,
 * `p->name`, and markers (SDT).
 *
 *	spec.c         takes the text of a location apart
 *	modules.c      the files with code of a process, or of a program that is not started yet
 *	names.c        functions by name, also by their names in C++ and Rust
 *	written.c      the spellings of a name with types in it
 *	choose.c       functions that select another function when the program is loaded
 *	locations.c    the locations of a spec
 *	fetch.c        operations that get a value
 *	typed-values.c values by register and offset: TYPE:NAME:ADDR
 *	debug.c        debug information of a file (DWARF), and lines of sources
 *	elsewhere.c    variables and types that other units have
 *	expression.c   one location expression of DWARF
 *	locate.c       where a variable is, at one location
 *	convention.c   where arguments are at the begin of a function, if the compiler did not record it
 *	variable.c     `p->name`
 *	parameters.c   all arguments, all variables
 *	types.c        types without their names, and their sizes
 *	type.c         members, elements, and the parts of a type that an event can have
 *	members.c      whole structures
 *	marker.c       SDT notes
 *	operand.c      the operands of a marker
 *	table.c        makes the table of all of that
 *
 * Files and processes are not trusted: the resolver refuses what does not fit, with a sentence. But the library that reads
 * DWARF does not survive each damaged file, so the caller resolves in a child process.
 */

#include "probe/table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RESOLVE_PROVIDER "probe" /* of events whose name says none */
#define RESOLVE_LOCATIONS_MAX 200000
#define RESOLVE_AT_EXIT "exit:"
/* As perf has it: in the place of an argument's name, all arguments; likewise all variables that are there. */
#define RESOLVE_PARAMETERS "$params"
#define RESOLVE_VARIABLES "$vars"

struct resolve;

/* Sentences without their full stop; an empty hint: the user can do nothing about it. */
struct resolve_error {
	char text[640];
	char hint[640];
	bool permission;
};

struct resolve *resolve_new(void);
void resolve_free(struct resolve *resolve);

/* All that return int: 0, or a negative errno with a sentence. */

/* All files that the process executes, as it sees them. */
int resolve_add_process(struct resolve *resolve, pid_t pid, struct resolve_error *error);
/* One file of a program that is not there yet; the program itself comes first. */
int resolve_add_file(struct resolve *resolve, const char *path, struct resolve_error *error);

enum resolve_kind {
	RESOLVE_LOCATION, /* one instruction, or several */
	RESOLVE_FUNCTION, /* begins of functions, and their returns if they are wanted */
	RESOLVE_MARKER,   /* PROVIDER:NAME of markers that the program has */
};

struct probe_spec {
	enum resolve_kind kind;
	const char *name;          /* of the event: [PROVIDER:]NAME; NULL: made from the location */
	const char *location_text; /* where */
	bool exits;                /* an event NAME_return, with duration and return value */
	bool apart; /* of several functions each is an event of its own, with its name in place of `name` */
	/* For the kernel: watch returns even in files that handle exceptions, although an exception then ends the program. */
	bool forced;
	bool kernel; /* for the kernel to fetch: of $params and $vars, what it cannot have is left out */
	const char *const *arguments;
	size_t nr_arguments;
	const char *const *results; /* what is returned, at exits: `return->name`, TYPE:NAME:ADDR */
	size_t nr_results;
	/* regs, reg:NAME, backtrace, TYPE:NAME:ADDR; with RESOLVE_AT_EXIT before it: at the exit. */
	const char *const *contexts;
	size_t nr_contexts;
};

/* Is it one of these two, in the place of a name? */
bool resolve_is_several(const char *text);
/* Is it a context that a probe fetches, and not one that any event may have? */
bool resolve_is_context(const char *text);

enum resolve_refused {
	RESOLVE_LEFT_OUT, /* it cannot be probed, or lacks what is wanted of it */
	RESOLVE_NO_RETURN,
	RESOLVE_NOTE, /* nothing was refused; the reason is a note for the user */
};

/* A location where the probe cannot do all that the probe spec requests. */
struct resolve_refusal {
	enum resolve_refused what;
	const char *module, *function, *reason;
	const char *hint; /* NULL: none */
	uint64_t address;
};
typedef void resolve_refused_fn(void *user, const struct resolve_refusal *refusal);

/* Resolve the whole spec, or nothing. `refused` is called for each location that cannot be probed beside others that can. */
int resolve_spec(struct resolve *resolve, const struct probe_spec *spec,
		struct probe_table_writer *writer, resolve_refused_fn *refused, void *user,
		struct resolve_error *error);

#define RESOLVE_CHOICES_MAX 32

/* What a function chooses from, or has chosen. */
struct resolve_choices {
	uint64_t addresses[RESOLVE_CHOICES_MAX];
	size_t count;
	bool certain; /* that is the one that the process has chosen */
	bool outside; /* it has chosen one that is in no file: of the kernel's (vDSO) */
};

/* Of the function at that address of a file. -1: there is no such file. */
int resolve_choices(struct resolve *resolve, const char *path, uint64_t address,
		struct resolve_choices *choices);

/* A marker as it stands in a file. */
struct resolve_marker {
	const char *module;
	const char *provider, *name, *arguments;
	uint64_t address, semaphore;
	const struct probe_site *site; /* how it can be probed; NULL: its code cannot be read */
	/* Of a process: */
	bool loaded;
	uint64_t runtime; /* where the place is */
	int listeners;    /* what its semaphore counts; -1: it has none, or that cannot be read */
};

/* Each of them; stops when `each` does not return 0, which is then the result. */
int resolve_markers(struct resolve *resolve,
		int (*each)(void *user, const struct resolve_marker *marker), void *user);

#endif /* SIDE_PROBE_SPEC_RESOLVE_H */
