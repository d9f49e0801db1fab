/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a probe can see the return from a function. To see it, the probe replaces the
 * return address of a call. So the return address must be at the expected position, and the
 * function must not read it. These functions do: those that return twice (setjmp, getcontext,
 * vfork), those that depend on their caller (dlopen, dlsym), and unwinders. Functions that it
 * calls, and its runtime, must not read it either.
 *
 * Unwind data locates the return address. Without it the instructions must prove all of that;
 * otherwise the return is not seen.
 */
#include "parts.h"
#include "x86-64.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

static const char no_frame[] =
		"the unwind data does not cover it, so its return address is not known";
static const char no_call[] = "according to the unwind data, it is not entered by a call";
static const char return_reason[] = "it reads its own return address";
static const char go[] = "it is a function of Go, whose runtime reads return addresses";
static const char ocaml[] =
		"it is a function of OCaml, whose runtime finds stack maps by return addresses";
static const char profiled[] = "its file is compiled for gprof (-pg), which reads return addresses";
static const char copies[] = "its file copies parts of stacks away and back, with return addresses";
static const char not_known[] =
		"its file has no unwind data, and its instructions do not show what it does with its return address";
static const char gives_frame[] =
		"its file has no unwind data, and it passes the location of its return address on";
static const char callee_reads[] = "a function that it calls reads its return address";
static const char no_memory[] = "out of memory: its instructions were not examined";
static const char never[] = "it never returns";
static const char twice[] = "it returns more than once";

/* Without unwind data, these functions are recognized by name. */
static const char *const by_name[] = {"setjmp", "_setjmp", "__setjmp", "sigsetjmp", "__sigsetjmp",
		"vfork", "__vfork", "getcontext", "__getcontext", "swapcontext", "__swapcontext"};

static bool returns_twice(const struct code_file *file, const struct code_function *function)
{
	for (size_t i = 0; i < function->nr_names; i++) {
		const char *name = code_name(file, function, i);

		for (size_t k = 0; k < sizeof(by_name) / sizeof(by_name[0]); k++) {
			if (!strcmp(name, by_name[k]))
				return true;
		}
	}
	return false;
}

/* True if the memory operand is the return address, or the instruction pops it. */
static bool code_exit_reads_return(
		const struct x86_instruction *instruction, const struct code_row *row)
{
	if (row->base != CODE_BASE_PLAIN || !row->returns)
		return false;
	if (instruction->pop && row->reg == STACK_POINTER && row->offset == 8)
		return true;
	return instruction->stack && instruction->stack == row->reg &&
			instruction->stack_distance == row->offset - 8;
}

/* ---- runtimes that use return addresses ---- */

/* True if a string of the section (names of symbols, or constants) ends with the text. */
static bool code_exit_has_string(
		const struct code_file *file, const char *section, const char *text)
{
	size_t size, length = strlen(text) + 1;
	const uint8_t *bytes = code_section_bytes(file, code_section_named(file, section), &size);

	return bytes && memmem(bytes, size, text, length) != NULL;
}

/*
 * Each OCaml file has tables of its return addresses. A stripped program is recognized by its
 * runtime, which has the name of an environment variable. (The whole name is not written here,
 * because the files that contain this code are not OCaml.)
 */
static bool is_ocaml(const struct code_file *file)
{
	static const char begin[] = {
			'O', 'C', 'A', 'M', 'L', 'R', 'U', 'N', 'P', 'A', 'R', 'A', 'm'};
	char variable[sizeof(begin) + 1] = "";

	memcpy(variable, begin, sizeof(begin));
	variable[sizeof(begin) - 1] = 'M';
	return code_exit_has_string(file, ".dynstr", "frametable") ||
			code_exit_has_string(file, ".strtab", "frametable") ||
			code_exit_has_string(file, ".rodata", variable);
}

bool code_has_exceptions(const struct code_file *file)
{
	/*
	 * Personality routines of C++, Rust, Ada, D and Objective-C. Swift and others use the one
	 * of C++.
	 */
	static const char *const personalities[] = {"gxx_personality_v0", "rust_eh_personality",
			"gnat_personality_v0", "gdc_personality_v0", "_d_eh_personality",
			"objc_personality_v0"};
	bool has_names = code_section_named(file, ".symtab") || code_section_named(file, ".dynsym");

	if (!file->nr_landings)
		return false;
	for (size_t i = 0; i < sizeof(personalities) / sizeof(personalities[0]); i++) {
		if (code_exit_has_string(file, ".dynstr", personalities[i]) ||
				code_exit_has_string(file, ".strtab", personalities[i]))
			return true;
	}
	/* The language of the handlers is unknown. */
	return !has_names;
}

/*
 * True if the file calls the function that -pg inserts in every function: it reads its return
 * address. The function is in another file, or in a static program.
 */
static bool is_profiled(const struct code_file *file)
{
	static const char *const called[] = {"mcount", "_mcount", "__fentry__"};
	const struct code_section *names = code_section_named(file, ".dynstr");
	size_t size, names_size;
	const uint8_t *symbols =
			code_section_bytes(file, code_section_named(file, ".dynsym"), &size);
	const char *texts = (const char *)code_section_bytes(file, names, &names_size);

	for (size_t at = 0; symbols && texts && at + sizeof(Elf64_Sym) <= size;
			at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols + at, sizeof(symbol));
		if (symbol.st_shndx != SHN_UNDEF || symbol.st_name >= names_size)
			continue;
		for (size_t i = 0; i < sizeof(called) / sizeof(called[0]); i++) {
			if (!strncmp(texts + symbol.st_name, called[i],
					    names_size - symbol.st_name))
				return true;
		}
	}
	return false;
}

/*
 * greenlet for Python, callcc of Ruby, Guile: functions return twice there. callers.c recognizes
 * these files in a process.
 */
static bool copies_stacks(const struct code_file *file)
{
	static const char *const names[] = {"PyInit__greenlet", "Init_continuation",
			"scm_c_with_continuation_barrier", "slp_switch"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (code_exit_has_string(file, ".dynstr", names[i]) ||
				code_exit_has_string(file, ".strtab", names[i]))
			return true;
	}
	return false;
}

static enum code_runtime code_exit_runtime(struct code_file *file)
{
	if (file->runtime == CODE_RUNTIME_UNKNOWN)
		file->runtime = is_ocaml(file)        ? CODE_RUNTIME_OCAML
				: is_profiled(file)   ? CODE_RUNTIME_PROFILED
				: copies_stacks(file) ? CODE_RUNTIME_COPIES
						      : CODE_RUNTIME_NONE;
	return file->runtime;
}

static const char *no_exit_by_runtime(struct code_file *file)
{
	switch (code_exit_runtime(file)) {
	case CODE_RUNTIME_OCAML: return ocaml;
	case CODE_RUNTIME_PROFILED: return profiled;
	case CODE_RUNTIME_COPIES: return copies;
	default: return NULL;
	}
}

/* ---- functions that read the return address of their caller ---- */

#define FRAME_BEGIN 64 /* bytes of a function within which it sets its frame pointer */

static bool sets_frame(const struct code_file *file, const struct code_function *function)
{
	static const uint8_t moves[][3] = {{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}};
	size_t size;
	const uint8_t *bytes = code_bytes(file, function->address, &size);

	if (size > function->size)
		size = function->size;
	if (size > FRAME_BEGIN)
		size = FRAME_BEGIN;
	for (size_t i = 0; bytes && i < sizeof(moves) / sizeof(moves[0]); i++) {
		if (memmem(bytes, size, moves[i], sizeof(moves[i])))
			return true;
	}
	return false;
}

static bool is_frame_reader(const struct code_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->nr_frame_readers; i++) {
		if (file->frame_readers[i] == address)
			return true;
	}
	return false;
}

int code_note_frame_read(struct code_file *file, uint64_t address)
{
	const struct code_function *function = code_function_at(file, address);
	struct x86_stack_use use;
	uint64_t *readers;
	int ret;

	if (!function || is_frame_reader(file, function->address) || !sets_frame(file, function))
		return 0;
	ret = x86_stack_use(file, function, &use);
	if (ret || !use.callers_frame)
		return ret == -ENOMEM ? ret : 0;
	readers = code_grow(file->frame_readers, file->nr_frame_readers,
			&file->frame_readers_capacity, sizeof(*readers));
	if (!readers)
		return -ENOMEM;
	file->frame_readers = readers;
	readers[file->nr_frame_readers++] = function->address;
	return 0;
}

/* ---- one function ---- */

/* Decides by the function's instructions alone. Returns NULL if the exit can be seen. */
static const char *no_exit_without_data(
		struct code_file *file, const struct code_function *function)
{
	struct x86_stack_use use;
	int ret = x86_stack_use(file, function, &use);

	if (ret)
		return ret == -ENOMEM ? no_memory : not_known;
	if (use.return_address || use.location || use.callers_frame)
		return return_reason;
	if (use.gives_frame)
		return gives_frame;
	return use.unknown ? not_known : NULL;
}

#define TAILS_MAX 4   /* tail calls that are followed, each from the one before */
#define CALLED_MAX 64 /* functions that are followed in total */

/* False if the code may be a part of another function that uses that function's frame. */
static bool is_begun_by_call(struct code_file *file, const struct code_function *function)
{
	struct code_rows rows;
	const struct code_row *row;

	if (!code_rows_open(file, function->address, &rows))
		return true;
	row = code_rows_at(&rows, function->address);
	return !row ||
			(row->base == CODE_BASE_PLAIN && row->reg == STACK_POINTER &&
					row->offset == 8);
}

/*
 * Unwind data describes frames, but not each access to them: by the frame pointer, by a copy of a
 * pointer, and in functions of this file that the function calls, or to which it jumps at its end.
 */
static const char *no_exit_by_code(struct code_file *file, const struct code_function *function,
		unsigned int tails, unsigned int *left)
{
	struct x86_stack_use use, other;
	int ret = x86_stack_use(file, function, &use);
	const char *why;

	if (ret)
		return ret == -ENOMEM ? no_memory : NULL;
	if (use.return_address)
		return return_reason;
	for (size_t i = 0; i < use.nr_shallow && *left; i++) {
		const struct code_function *called = code_function_at(file, use.shallow[i].target);

		if (!called || called == function || called->address != use.shallow[i].target ||
				!is_begun_by_call(file, called))
			continue;
		--*left;
		if (use.shallow[i].tail) {
			why = tails ? no_exit_by_code(file, called, tails - 1, left) : NULL;
		} else {
			ret = x86_stack_use(file, called, &other);
			why = ret == -ENOMEM                      ? no_memory
					: !ret && other.next_word ? callee_reads
								  : NULL;
		}
		if (why)
			return why == no_memory ? why : callee_reads;
	}
	return NULL;
}

static bool may_return(
		const struct x86_instruction *instruction, const struct code_function *function)
{
	switch (instruction->piece.kind) {
	case PROBE_BRANCH:
	case PROBE_BRANCH_IF:
	case PROBE_COUNTER: return instruction->piece.target - function->address >= function->size;
	default: return instruction->leaves || instruction->indirect_jump;
	}
}

static bool calls_frame_reader(
		const struct code_file *file, const struct x86_instruction *instruction)
{
	return (instruction->piece.kind == PROBE_CALL || instruction->piece.kind == PROBE_BRANCH) &&
			is_frame_reader(file, instruction->piece.target);
}

const char *code_no_exit(struct code_file *file, const struct code_function *function)
{
	uint64_t at = function->address, end = at + function->size;
	bool returns = false, last_ends = false;
	struct code_rows rows;
	const struct code_row *row;
	bool known = code_rows_open(file, at, &rows);
	unsigned int left = CALLED_MAX;
	const char *why;

	if (code_is_go(file, at))
		return go;
	why = no_exit_by_runtime(file);
	if (why)
		return why;
	if (returns_twice(file, function))
		return twice;
	if (!known && file->nr_frames)
		return no_frame;
	why = known ? NULL : no_exit_without_data(file, function);
	if (why)
		return why;
	row = known ? code_rows_at(&rows, at) : NULL;
	if (row &&
			(row->base != CODE_BASE_PLAIN || !row->returns ||
					row->reg != STACK_POINTER || row->offset != 8))
		return no_call;
	why = known ? no_exit_by_code(file, function, TAILS_MAX, &left) : NULL;
	if (why)
		return why;
	while (at < end) {
		struct x86_instruction instruction;
		size_t size;
		const uint8_t *bytes = code_bytes(file, at, &size);

		if (!bytes || !x86_decode(bytes, size, at, &instruction))
			return NULL;
		if (row && code_exit_reads_return(&instruction, code_rows_at(&rows, at)))
			return return_reason;
		if (calls_frame_reader(file, &instruction))
			return callee_reads;
		returns |= may_return(&instruction, function);
		last_ends = instruction.ends || instruction.call || instruction.padding;
		at += instruction.piece.length;
	}
	return returns || !last_ends ? NULL : never;
}
