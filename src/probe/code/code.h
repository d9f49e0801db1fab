/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_CODE_H
#define SIDE_PROBE_CODE_CODE_H

/*
 * The code of an ELF file: its functions, and how each location in it can be probed.
 *
 *	file.c           the file in memory: segments, sections, addresses, and bounds-checked reads
 *	symbols.c        symbol tables, also the compressed one of stripped files (.gnu_debugdata)
 *	beside.c         symbol tables of the separate debug file, found by build ID
 *	go.c             ranges and function names of Go code, also in stripped files
 *	frames.c         function starts and landing pads from the unwind tables
 *	rows.h           the unwind table of one function, row by row (cursor.c, cie.c, rows.c)
 *	functions.c      the functions, from all of these sources
 *	kept.c           bytes that no probe may change or execute elsewhere
 *	sequences.c      of these bytes, restartable sequences
 *	reached.c        instructions of files that name no function
 *	relocations.c    relocations that the loader applies
 *	rewritten.c      of these bytes, code that the loader or the program changes or copies
 *	x86-64-sweep.c   targets of all jumps of the file
 *	x86-64-choices.c the functions that an IFUNC resolver chooses from
 *	x86-64-site.c    the probe method for one location
 *	exits.c          whether a probe can see the return from a function
 *	x86-64-stack.c   how a function uses return addresses
 *	x86-64-arguments.c whether a function reads the register of an argument
 *	x86-64-exchange.c functions in which the stack pointer may point to data
 *	x86-64-emulated.c instructions that the kernel emulates at a uprobe
 *	x86-64-copy.c    displaced instructions, rewritten for another address (copy.h; runs in the probed process)
 *
 * Files are not trusted: invalid data is ignored, or the file is refused with a reason.
 */

#include "probe/site.h"

#include <stdbool.h>
#include <stddef.h>

struct code_file;

struct code_error {
	char text[512];
};

struct code_function {
	uint64_t address, size;
	size_t first_name,
			nr_names; /* aliases, the best one first; none: only the unwinder knows it */
	bool chooses; /* it only chooses another one when the program is loaded (IFUNC) */
};

/* 0, or -errno with a sentence. */
int code_open(const char *path, struct code_file **file, struct code_error *error);
int code_open_fd(int fd, const char *path, struct code_file **file, struct code_error *error);
/* The bytes are copied. */
int code_open_memory(const void *bytes, size_t size, const char *name, struct code_file **file,
		struct code_error *error);
void code_close(struct code_file *file);

/* In the order of their addresses. */
size_t code_functions(const struct code_file *file, const struct code_function **functions);
const char *code_name(
		const struct code_file *file, const struct code_function *function, size_t index);
/* Of an old version of the library, which only programs of its time call so. */
bool code_name_is_former(
		const struct code_file *file, const struct code_function *function, size_t index);
/* True if `fits` accepts the name with one of the versions that the file defines: NAME@@VERSION, or NAME@VERSION if it is former. */
bool code_name_version(const struct code_file *file, const struct code_function *function,
		size_t index, bool (*fits)(const void *user, const char *name), const void *user);
/* The function that has that address, or NULL. */
const struct code_function *code_function_at(const struct code_file *file, uint64_t address);

/* The begins of functions that this one chooses from, as far as its code says it; how many. */
size_t code_choices(const struct code_file *file, const struct code_function *chooser,
		uint64_t *choices, size_t capacity);

/*
 * How a probe can be put at the begin of a function (behind a mark for indirect branches), or at any instruction.
 * Pads that a site takes are its own from then on. -EINVAL if no instruction begins there; -ENOENT: no code.
 */
int code_entry(struct code_file *file, const struct code_function *function,
		struct probe_site *site);
int code_site(struct code_file *file, uint64_t address, struct probe_site *site);

/*
 * Whether exceptions may leave functions of the file: it has exception handlers of a language, not only those that run when a thread ends
 * in C.
 */
bool code_has_exceptions(const struct code_file *file);

/*
 * Whether the function at this address reads the register of an argument. `reg` is a DWARF number; with `vector`, 0 to 7 mean xmm0 to
 * xmm7. Returns 1, 0 if the code does not prove a read, or -ENOMEM.
 */
int code_reads_argument(struct code_file *file, uint64_t begin, unsigned int reg, bool vector);

/* Whether a uprobe on the instruction of these bytes costs no step. */
bool code_kernel_emulates(const uint8_t *bytes, size_t size);
/*
 * The site is for the kernel and nobody else. It cannot be probed, then, where the kernel does another instruction instead, as Linux up to
 * 6.18 at least: a program whose instruction there it watches goes wrong. Nor where it does not watch.
 */
void code_for_kernel(struct probe_site *site);

/*
 * What is to be added to the file's addresses, if the part of it from `offset` on is mapped at `start`, as
 * /proc/PID/maps says. -ENOENT: that part has no code.
 */
int code_bias(const struct code_file *file, uint64_t start, uint64_t offset, uint64_t *bias);
/* The same by the file's first page, at `start`: a program may have moved its code to other memory. */
int code_bias_of_head(const struct code_file *file, uint64_t start, uint64_t *bias);

#endif /* SIDE_PROBE_CODE_CODE_H */
