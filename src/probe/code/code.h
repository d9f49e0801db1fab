/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_CODE_H
#define SIDE_PROBE_CODE_CODE_H

/*
 * The code of an ELF file: its functions, and how each location in it can be probed.
 *
 *	file.c			the file in memory: segments, sections, bounds-checked reads
 *	symbols.c		symbol tables, also the compressed one (.gnu_debugdata)
 *	versions.c		versions of symbols
 *	debug-link.c		symbol tables of the separate debug file
 *	go.c			ranges and function names of Go code, also in stripped files
 *	frames.c		function starts and exception handlers from the unwind data
 *	rows.h			the unwind data of a function, row by row (cursor.c, cie.c, rows.c)
 *	functions.c		the functions, from all of these sources
 *	plt.c			entries of the PLT, which call functions of other files
 *	kept.c			bytes that no probe may change or execute elsewhere
 *	sequences.c		of these bytes, restartable sequences
 *	reached.c		instructions of files that name no function
 *	relocations.c		relocations that the loader applies
 *	rewritten.c		of these bytes, code that the loader or the program changes
 *	x86-64.h		decodes one instruction (x86-64.c)
 *	x86-64-sweep.c		targets of all jumps of the file
 *	x86-64-choices.c	the functions that an IFUNC resolver chooses from
 *	x86-64-site.c		the probe method for one location
 *	exits.c			whether a probe can see the return from a function
 *	x86-64-stack.c		how a function uses return addresses
 *	x86-64-arguments.c	whether a function reads the register of an argument
 *	x86-64-exchange.c	functions in which the stack pointer may point to data
 *	x86-64-emulated.c	instructions that the kernel emulates at a uprobe
 *	x86-64-copy.c		displaced instructions, for another address (copy.h; runs in the
 *				probed process)
 *
 * Files are not trusted: invalid data is ignored, or the file is refused with a reason.
 */

#include "base/error.h"
#include "probe/site.h"

#include <stdbool.h>
#include <stddef.h>

struct code_file;

struct code_function {
	uint64_t address, size;
	/* aliases, the best one first; 0: only the unwind data knows the function */
	size_t first_name, nr_names;
	/* an IFUNC resolver: it chooses another function when the program is loaded */
	bool chooses;
};

/* These return 0, or a negative errno with a sentence in *error. The caller closes *ret_file. */
int code_open(const char *path, struct code_file **ret_file, struct error *error);
int code_open_fd(int fd, const char *path, struct code_file **ret_file, struct error *error);
/* Copies the bytes. */
int code_open_memory(const void *bytes, size_t size, const char *name, struct code_file **ret_file,
		struct error *error);
void code_close(struct code_file *file);

/* Returns the path of the debug file with this build ID, malloc'ed, or NULL. */
typedef char *code_fetch_fn(const uint8_t *build_id, size_t size);
/*
 * Gets debug files that are not installed from a server, for files that are opened afterwards. Call
 * it before a second thread starts, and only if the user permits it.
 */
void code_use_server(code_fetch_fn *fetch);

struct code_debug_file {
	char path[176]; /* where it would be found, or its name; "": unknown */
	bool asked_server;
};
/* True if the file is stripped, and neither a debug file nor compressed symbols were found. */
bool code_lacks_debug_file(const struct code_file *file, struct code_debug_file *ret_debug);

/* Returns their number. They are in the order of their addresses, and belong to the file. */
size_t code_functions(const struct code_file *file, const struct code_function **ret_functions);
const char *code_name(
		const struct code_file *file, const struct code_function *function, size_t index);
/*
 * True if the name belongs to an old version of the library: only programs that were linked with
 * that version call the function by it.
 */
bool code_name_is_former(
		const struct code_file *file, const struct code_function *function, size_t index);
/*
 * True if `fits` accepts the name with one of the versions that the file defines: NAME@@VERSION, or
 * NAME@VERSION for a name of an old version.
 */
bool code_name_version(const struct code_file *file, const struct code_function *function,
		size_t index, bool (*fits)(const void *user, const char *name), const void *user);
/* Returns the function that contains the address, or NULL. */
const struct code_function *code_function_at(const struct code_file *file, uint64_t address);

/*
 * PLT entries, which call functions of other files. They are not among code_functions(), and
 * code_name() is NAME@plt, as in debuggers and disassemblers. Returns their number; they belong to
 * the file.
 */
#define CODE_PLT_SUFFIX "@plt"
size_t code_plt(const struct code_file *file, const struct code_function **ret_entries);
bool code_is_plt(const struct code_file *file, const struct code_function *function);
/* Returns the name of the function that the entry calls. */
const char *code_plt_name(const struct code_file *file, const struct code_function *entry);

/*
 * Finds the starts of the functions that a resolver chooses from, as far as its code shows them.
 * Returns how many it wrote.
 */
size_t code_choices(const struct code_file *file, const struct code_function *chooser,
		uint64_t *ret_choices, size_t capacity);

/*
 * These find how to probe the start of a function (after a landing mark for indirect branches), or
 * any instruction. A springboard that a site takes belongs to that site until the file is closed.
 * Return 0, -EINVAL if no instruction starts at the address, -ENOENT if there is no code, or
 * -ENOMEM.
 */
int code_entry(struct code_file *file, const struct code_function *function,
		struct probe_site *ret_site);
int code_site(struct code_file *file, uint64_t address, struct probe_site *ret_site);

/*
 * True if exceptions may leave functions of the file: it has exception handlers of a language other
 * than C. Handlers in C run only when a thread ends.
 */
bool code_has_exceptions(const struct code_file *file);

/*
 * Decides whether the function at this address reads the register of an argument. `reg` is a DWARF
 * number; with `vector`, 0 to 7 mean xmm0 to xmm7. Returns 1, 0 if the code does not prove a read,
 * or -ENOMEM.
 */
int code_reads_argument(struct code_file *file, uint64_t begin, unsigned int reg, bool vector);

/* True if the kernel emulates the instruction at a uprobe, so that a hit needs no single step. */
bool code_kernel_emulates(const uint8_t *bytes, size_t size);
/*
 * Changes the site so that only the kernel watches it. The site cannot be probed if the kernel
 * would execute another instruction instead (Linux up to 6.18 at least), because the program would
 * malfunction; nor if the kernel sets no uprobe there.
 */
void code_for_kernel(struct probe_site *site);

/*
 * Sets *ret_bias to the runtime address of the file's address 0, if the part of the file from
 * `offset` on is mapped at `start` (as in /proc/PID/maps). Returns 0, or -ENOENT if that part has
 * no code.
 */
int code_bias(const struct code_file *file, uint64_t start, uint64_t offset, uint64_t *ret_bias);
/*
 * The same from the address of the file's first page: a program may have moved its code to other
 * memory.
 */
int code_bias_of_head(const struct code_file *file, uint64_t start, uint64_t *ret_bias);

#endif /* SIDE_PROBE_CODE_CODE_H */
