/* SPDX-License-Identifier: MIT */
#ifndef PROBE_CODE_CODE_H
#define PROBE_CODE_CODE_H

/*
 * The code of an ELF file: its functions, and how each place in it can be probed.
 *
 *	file.c           the file in memory: segments, sections, addresses, and a reader that does not leave it
 *	symbols.c        names: symbol tables, also the compressed one of stripped files (.gnu_debugdata)
 *	beside.c         the same of a file with debug information, by its build id
 *	go.c             where code of Go is, and what its functions are called, also in stripped files
 *	frames.c         begins of functions and landing pads out of the unwinder's data
 *	rows.h           that data of one function, row by row (cursor.c, cie.c, rows.c)
 *	functions.c      all that put together
 *	kept.c           bytes that no probe may change or execute elsewhere
 *	sequences.c      among these: restartable sequences
 *	reached.c        instructions of files that name no function
 *	relocations.c    relocations that the loader applies
 *	rewritten.c      among these: code that the loader or the program changes or copies
 *	x86-64-sweep.c   where any instruction of the file may jump to
 *	x86-64-choices.c what functions choose from that choose others
 *	x86-64-site.c    the method for one place
 *	exits.c          whether a return from a function can be seen
 *	x86-64-stack.c   what a function does with return addresses
 *	x86-64-arguments.c whether a function reads the register of an argument
 *	x86-64-exchange.c functions in which the stack pointer may point to data
 *	x86-64-emulated.c what the kernel does by itself where it watches an instruction
 *	x86-64-copy.c    displaced instructions written for another address (copy.h; for the process that is probed)
 *
 * Files are not trusted: what does not fit is not used, or the file is refused with a sentence.
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
		uint64_t *choices, size_t room);

/*
 * How a probe can be put at the begin of a function (behind a mark for indirect branches), or at any instruction.
 * Pads that a site takes are its own from then on. -EINVAL if no instruction begins there; -ENOENT: no code.
 */
int code_entry(struct code_file *file, const struct code_function *function,
		struct probe_site *site);
int code_site(struct code_file *file, uint64_t address, struct probe_site *site);

/*
 * Whether exceptions may leave the file's functions: it has handlers of a language with exceptions, and not only the handlers for the ends of
 * threads in C.
 */
bool code_has_exceptions(const struct code_file *file);

/*
 * Whether the function that begins there reads the register of an argument, as DWARF counts registers (`vector`: xmm0 to xmm7). False if its
 * code does not show it.
 */
bool code_reads_argument(struct code_file *file, uint64_t begin, unsigned int reg, bool vector);

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

#endif /* PROBE_CODE_CODE_H */
