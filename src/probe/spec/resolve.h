/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_RESOLVE_H
#define SIDE_PROBE_SPEC_RESOLVE_H

/*
 * Resolve a spec into a probe table: `handle_request`, `libc:mallo[c]`, `net::Server::read(int)`,
 * `server.c:120`, `p->name`, and markers (SDT).
 *
 * 	spec.c         the text of a location: parses it, and finds functions by name, also by
 * 	               their names in C++ and Rust
 * 	modules.c      the files with code of a process, or of a program that is not started yet
 * 	spelling.c      the spellings of a name with types in it
 * 	ifunc.c       indirect functions, which select another function when the program is loaded
 * 	imports.c     the names that a program imports
 * 	inlined.c     where the compiler inlined a function
 * 	locations.c    the locations of a spec
 * 	fetch.c        operations that compute a value
 * 	typed-values.c values by register and offset: TYPE:NAME:ADDR
 * 	debug.c        debug information of a file (DWARF), and source lines
 * 	debug-package.c  the package that has the debug file of a stripped file
 * 	scopes.c       the unit and the functions around an address
 * 	definitions.c    variables and types of other units
 * 	expression.c   one location expression of DWARF
 * 	locate.c       where a variable is, at one location
 * 	convention.c   where arguments are at a function's entry, if the compiler did not record it
 * 	thread.c       addresses of thread-local variables
 * 	variable.c     `p->name`
 * 	parameters.c   all parameters, all variables
 * 	types.c        types without typedefs and qualifiers, and their sizes
 * 	item.c         an object at a location: members, elements, and pointers
 * 	item-steps.c   `*`, `[]` and `.` for objects of all types
 * 	numbers.c      the formats of numbers, and their values
 * 	field.c        from an item to the value of a field
 * 	labels.c       names of the values of an enumeration
 * 	library.c      types of standard libraries
 * 	members.c      whole structures
 * 	marker.c       SDT notes
 * 	operand.c      the operands of a marker
 * 	operand-values.c  values that the user describes by operands
 * 	event-names.c        different names for the events of one spec
 * 	table.c        makes the table from all of that
 *
 * Files and processes are not trusted: the resolver refuses invalid data with an error message. But
 * the library that reads DWARF can crash on a damaged file, so the caller resolves in a child
 * process.
 */

#include "base/error.h"
#include "probe/table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RESOLVE_PROVIDER "probe" /* of events whose name has no provider */
#define RESOLVE_LOCATIONS_MAX 200000
#define RESOLVE_AT_EXIT "exit:"
/* Instead of an argument's name, as in perf: all parameters, or all variables at the location. */
#define RESOLVE_PARAMETERS "$params"
#define RESOLVE_VARIABLES "$vars"
#define RESOLVE_BACKTRACE "$backtrace" /* the context backtrace, at this location only */

struct resolve;

struct resolve *resolve_new(void);
void resolve_free(struct resolve *resolve);

/*
 * Functions that return int: 0, or a negative errno with `error` set. An empty hint: the user
 * cannot fix the problem.
 */

/* Add all files that the process executes, as the process sees them. */
int resolve_add_process(struct resolve *resolve, pid_t pid, struct error *error);
/* Add one file of a program that is not started yet; the program's own file first. */
int resolve_add_file(struct resolve *resolve, const char *path, struct error *error);

/*
 * Called for a library that a spec names and that is not among the files. Adds files that the
 * program may load later with resolve_add_later(). Returns 0 if it has added one, -ENOENT without
 * an error if there is none, or another negative errno with `error` set.
 */
typedef int resolve_later_fn(
		void *user, struct resolve *resolve, const char *library, struct error *error);
void resolve_set_later(struct resolve *resolve, resolve_later_fn *later, void *user);
/*
 * Adds a file that the program may load later, for the spec that is being resolved. `path` is that
 * of the program. The function takes `fd`, the open file, or a negative errno if it could not be
 * opened. Does nothing if the file is known.
 */
int resolve_add_later(struct resolve *resolve, const char *path, int fd, struct error *error);
/* Add only the file that the process has mapped as `path`, as the process names it. */
int resolve_add_mapped(struct resolve *resolve, pid_t pid, const char *path, struct error *error);
/*
 * `accepts`: accept specs whose library is not found, because the program may load it later. Their
 * tables have no probes, and a note reports it. Otherwise the hint of the error names `--pending`.
 */
void resolve_set_pending(struct resolve *resolve, bool accepts);
/* Whether a spec named a library that was not loaded yet, or was not found. */
bool resolve_is_pending(const struct resolve *resolve);
/* Whether the text `library` names a file of this name: "libc", "libc.so.6", "libc.so*". */
bool resolve_is_library(const char *file_name, const char *library);

enum resolve_kind {
	RESOLVE_LOCATION, /* one instruction, or several */
	RESOLVE_FUNCTION, /* the first instructions of functions, and their returns if `exits` */
	RESOLVE_MARKER,   /* PROVIDER:NAME of markers of the program */
};

struct probe_spec {
	enum resolve_kind kind;
	/* of the event: [PROVIDER:]NAME; NULL: derived from the location */
	const char *name;
	const char *location_text; /* the text that selects the locations */
	bool exits;                /* an event NAME_return, with duration and return value */
	/* an event of its own for each function, with the function's name instead of `name` */
	bool separate;
	/*
	 * With `kernel`: watch returns even in files that handle exceptions, although an exception
	 * then ends the program.
	 */
	bool forced;
	bool kernel; /* the kernel fetches: of $params and $vars, leave out what it cannot fetch */
	const char *const *arguments;
	size_t nr_arguments;
	const char *const *results; /* values at the exit: `return->name`, TYPE:NAME:ADDR */
	size_t nr_results;
	/*
	 * regs, reg:NAME, backtrace, TYPE:NAME:ADDR; with the prefix RESOLVE_AT_EXIT: at the exit.
	 */
	const char *const *contexts;
	size_t nr_contexts;
};

/*
 * Returns LIB of a spec LIB:NAME, which the caller frees. NULL: it names no library, or out of
 * memory.
 */
char *resolve_library(const struct probe_spec *spec);
/* Whether the text is RESOLVE_PARAMETERS or RESOLVE_VARIABLES. */
bool resolve_is_several(const char *text);
/* Whether the text is a context that a probe fetches, not one that any event may have. */
bool resolve_is_context(const char *text);

enum resolve_refused {
	/* the location cannot be probed, or something that the spec requests is missing there */
	RESOLVE_LEFT_OUT,
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

/*
 * Write the events and probes of the spec to `writer`, or fail. `refused` is called for each
 * location that cannot be probed while others can.
 */
int resolve_spec(struct resolve *resolve, const struct probe_spec *spec,
		struct probe_table_writer *writer, resolve_refused_fn *refused, void *user,
		struct error *error);

#define RESOLVE_CHOICES_MAX 32

/* The functions that an indirect function has selected, or may select. */
struct resolve_choices {
	uint64_t addresses[RESOLVE_CHOICES_MAX];
	size_t count;
	bool certain; /* the process has selected this one */
	bool outside; /* the selected one is in no file: in the kernel's code (vDSO) */
};

/*
 * Get them for the indirect function at that address of a file. Returns 0; -1: the file is not
 * known.
 */
int resolve_choices(struct resolve *resolve, const char *path, uint64_t address,
		struct resolve_choices *ret_choices);

/* A marker in a file. */
struct resolve_marker {
	const char *module;
	const char *provider, *name, *arguments;
	uint64_t address, semaphore;
	const struct probe_site *site; /* how it can be probed; NULL: its code cannot be read */
	/* In a process: */
	bool loaded;
	uint64_t runtime; /* the marker's address */
	int listeners;    /* value of its semaphore; -1: it has none, or it cannot be read */
};

#define RESOLVE_TYPE_SIZE 16
/*
 * Gets the type of the next operand of a marker, such as "s32" or "f64", from its size, and skips
 * the operand. Returns false after the last one. Begin with `*at` at the marker's arguments.
 */
bool resolve_operand_type(const char **at, char ret_type[RESOLVE_TYPE_SIZE]);

/* Call each() for each marker. Stops when each() does not return 0, and returns its result. */
int resolve_markers(struct resolve *resolve,
		int (*each)(void *user, const struct resolve_marker *marker), void *user);

/* A location where the compiler inlined a function. */
struct resolve_inlined {
	const char *module;
	const char *inside; /* the function that contains it; "": unknown */
	const char *file;   /* the source file of the call; NULL: unknown */
	uint64_t line;
	uint64_t address;
	const struct probe_site *site; /* how it can be probed; NULL: its code cannot be read */
	bool loaded;                   /* in a process; `runtime` is the address there */
	uint64_t runtime;
};

/*
 * Calls each() for each location where a function of this name is inlined, in the files that the glob
 * `library` selects (NULL: all). Stops when each() does not return 0, and returns its result.
 */
int resolve_inlined(struct resolve *resolve, const char *library, const char *name,
		int (*each)(void *user, const struct resolve_inlined *inlined), void *user);

#endif /* SIDE_PROBE_SPEC_RESOLVE_H */
