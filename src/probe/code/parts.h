/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_PARTS_H
#define SIDE_PROBE_CODE_PARTS_H

/* Declares what the files of src/probe/code share. */

#include "probe/code/code.h"
#include "probe/code/rows.h"

#include <stdbool.h>

struct code_segment {
	uint64_t address, offset, size; /* of the bytes in the file */
	bool executable;
	/* One bit for each byte of code: a jump may lead to it. NULL: not code. */
	uint8_t *targets;
	/* one bit for each byte: an instruction starts there, see reached.c. NULL: not known yet */
	uint8_t *reachable;
};

struct code_section {
	uint64_t address, offset, size, entry_size;
	uint32_t type, link;
	char name[24];
};

struct code_name_entry {
	uint64_t address, size;
	const char *name;
	uint8_t rank; /* lower is better */
	bool chooses; /* an indirect function (IFUNC): it selects the function that is called */
	/* of an old version of the library; programs that are linked today do not get it */
	bool is_old_version;
};

/* One function in .eh_frame: its addresses, and where its CIE and FDE are. */
struct code_frame {
	uint64_t address, size;
	size_t cie, fde; /* offsets, after the length fields */
};

/* Bytes that a probe must neither change nor execute elsewhere. */
struct code_kept {
	uint64_t from, to;
	uint64_t reach; /* the greatest `to` of this range and those before it */
	const char *reason;
	bool is_prologue; /* a sled at the start of a function; the function continues after it */
};

/* A relocation that the loader applies. */
struct code_relocation {
	uint64_t address;
	unsigned int bytes;
	uint64_t target; /* the address that is written, if it is one of this file */
	uint32_t type;
	const char *name; /* of the function that a slot is for; NULL: unknown, or another type */
};
typedef int code_relocation_fn(void *user, const struct code_relocation *relocation);

/* The name of a function that a PLT entry calls. */
struct code_plt_name {
	const char *plain; /* belongs to the file */
	char *full;        /* with CODE_PLT_SUFFIX */
};

/* A springboard between functions, and the site that uses it. */
struct code_springboard {
	uint64_t address, site;
};

struct code_file {
	char *path; /* for messages */
	uint8_t *bytes;
	size_t size;
	bool fixed; /* the runtime addresses are those of the file */
	uint64_t lowest, highest;
	struct code_segment *segments;
	size_t nr_segments;
	struct code_section *sections;
	size_t nr_sections;
	uint64_t frame_header; /* address of .eh_frame_hdr; 0: none */
	uint8_t *names_memory; /* decompressed symbols; names may point into it */
	uint8_t *debug_memory; /* names from the separate debug file */
	struct code_name_entry *names;
	size_t nr_names, names_capacity;
	struct code_frame *frames; /* in the order of their addresses */
	size_t nr_frames, frames_capacity;
	const uint8_t *frame_bytes; /* .eh_frame */
	size_t frame_size;
	uint64_t frame_address;
	uint64_t dynamic; /* address of the dynamic section; 0: none */
	struct code_kept *kept;
	size_t nr_kept, kept_capacity;
	bool kept_sorted;
	/* V8's embedded builtins, and the address of their size; 0: none */
	uint64_t embedded_code, embedded_size;
	struct code_function *functions;
	size_t nr_functions;
	struct code_function *plt;       /* entries of the PLT, in the order of its sections */
	struct code_plt_name *plt_names; /* of each */
	size_t nr_plt, plt_capacity, plt_names_capacity;
	uint64_t *landings; /* addresses where exceptions land */
	size_t nr_landings, landings_capacity;
	/* code addresses of symbols without a type: a branch or an access may lead there */
	uint64_t *labels;
	size_t nr_labels, labels_capacity;
	/*
	 * number of call sites in exception tables that have been read; limited by CALL_SITES_MAX
	 */
	size_t call_sites;
	bool swept; /* all jumps have been read (code_sweep()) */
	bool has_reachable;
	uint64_t entry;
	struct code_springboard *springboards;
	size_t nr_springboards, springboards_capacity;
	/* springboards for the starts of all functions have been assigned */
	bool springboards_claimed;
	uint64_t go_begin, go_end; /* the range of Go code */
	/*
	 * A runtime in the file that reads or copies return addresses, so that the return of no
	 * function can be watched.
	 */
	enum code_runtime {
		CODE_RUNTIME_UNKNOWN,
		CODE_RUNTIME_NONE,
		CODE_RUNTIME_OCAML,
		CODE_RUNTIME_PROFILED,
		CODE_RUNTIME_COPIES, /* copies parts of stacks */
	} runtime;
	/* starts of functions that read the return addresses of their callers */
	uint64_t *frame_readers;
	size_t nr_frame_readers, frame_readers_capacity;
};

/* ---- file.c ---- */

/*
 * Returns the bytes at an address of the file and sets how many follow; NULL if the file has none.
 */
const uint8_t *code_bytes(const struct code_file *file, uint64_t address, size_t *ret_size);
struct code_segment *code_executable(const struct code_file *file, uint64_t address);
const struct code_section *code_section_named(const struct code_file *file, const char *name);
/* Returns the bytes of a section that are in the file, or NULL. */
const uint8_t *code_section_bytes(
		const struct code_file *file, const struct code_section *section, size_t *ret_size);
/*
 * True for sections that only forward calls, and for the code of libside.a, which a probe hit
 * executes.
 */
bool code_is_excluded(const struct code_file *file, uint64_t address);
/*
 * Makes space for one more element of that size; `*capacity` is the number of elements that fit.
 * Returns the array, which may have moved, or NULL if it is out of memory.
 */
void *code_grow(void *array, size_t used, size_t *capacity, size_t size);

/* ---- frames.c ---- */

/* Opens the unwind data of the code at an address. Returns false if there is none. */
bool code_rows_open(const struct code_file *file, uint64_t address, struct code_rows *ret_rows);

/* ---- other files ---- */

/* Returns why the return from that function cannot be seen, or NULL if it can. */
const char *code_no_exit(struct code_file *file, const struct code_function *function);
/*
 * Notes that an instruction at this address may read memory at its function's frame pointer.
 * Returns 0 or -ENOMEM.
 */
int code_note_frame_read(struct code_file *file, uint64_t address);
/* Finds the restartable sequences and keeps their bytes. Returns 0 or -ENOMEM. */
int code_read_sequences(struct code_file *file);

/* ---- kept.c ---- */

/*
 * Keeps a range; ignores it if it is outside code. Does not copy the reason. Returns 0 or -ENOMEM.
 */
int code_keep(struct code_file *file, uint64_t from, uint64_t to, const char *reason);
/*
 * Returns a kept range that overlaps these bytes, or NULL. The result is valid until the next range
 * is added.
 */
const struct code_kept *code_kept_at(struct code_file *file, uint64_t address, uint64_t size);

/* ---- reached.c ---- */

/*
 * Finds whether an instruction certainly starts at the address, in a file without known functions.
 * Returns 0 or -ENOMEM.
 */
int code_is_reachable(struct code_file *file, uint64_t address, bool *ret_is_reachable);

/* ---- relocations.c ---- */

/* Calls `each` for each relocation until it does not return 0. Returns its last result. */
int code_each_relocation(struct code_file *file, code_relocation_fn *each, void *user);

/* ---- rewritten.c ---- */

/*
 * Keeps code that the loader or the program changes or copies. The functions must be known. Returns
 * 0 or -ENOMEM.
 */
int code_read_rewritten(struct code_file *file);
/*
 * True if the program rewrites the start of a function at that address; sets *ret_end to the
 * address where the function continues.
 */
bool code_is_sled_of_entry(struct code_file *file, uint64_t address, uint64_t *ret_end);

/* ---- x86-64-exchange.c ---- */

/*
 * True if the stack pointer may point to data anywhere in the function, or if memory for the
 * analysis runs out.
 */
bool code_exchanges_stack(const struct code_file *file, const struct code_function *function);

/* ---- x86-64-start.c ---- */

/*
 * Adds the name `main` to the function that the start code passes to the C library, if no symbol
 * has it. The unwind data must be read. Returns 0 or -ENOMEM.
 */
int code_read_start(struct code_file *file);

/* ---- go.c ---- */

/*
 * Finds the Go code of the file, and its function names if no other source has them. Returns 0 or
 * -ENOMEM.
 */
int code_read_go(struct code_file *file);
bool code_is_go(const struct code_file *file, uint64_t address);

/* ---- plt.c ---- */

/* Finds the PLT entries. The functions must be known. Returns 0 or -ENOMEM. */
int code_read_plt(struct code_file *file);
void code_free_plt(struct code_file *file);
/* Returns the name with CODE_PLT_SUFFIX. */
const char *code_plt_full_name(const struct code_file *file, const struct code_function *entry);

int code_read_symbols(struct code_file *file);
/* Adds names: a symbol table, which is copied, and their texts, which must remain valid. */
int code_read_names(struct code_file *file, const uint8_t *symbols, size_t size, const char *names,
		size_t names_size);
/* Adds one name, which must remain valid. Returns 0 or -ENOMEM. */
int code_add_name(struct code_file *file, uint64_t address, uint64_t size, const char *name);
int code_read_debug_file(struct code_file *file);
int code_read_frames(struct code_file *file);
int code_make_functions(struct code_file *file);
/* Marks the targets of all jumps. Returns 0 or -ENOMEM. */
int code_sweep(struct code_file *file);
void code_mark_target(const struct code_file *file, uint64_t address);
bool code_is_target(const struct code_file *file, uint64_t address);

#endif /* SIDE_PROBE_CODE_PARTS_H */
