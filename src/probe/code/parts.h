/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_CODE_PARTS_H
#define SIDE_PROBE_CODE_PARTS_H

/* What the files of this room share. */

#include "probe/code/code.h"
#include "probe/code/rows.h"

#include <stdbool.h>

struct code_segment {
	uint64_t address, offset, size; /* of what stands in the file */
	bool executable;
	/* One bit a byte of code: something may jump there. NULL: not code. */
	uint8_t *targets;
	uint8_t *reachable; /* likewise: an instruction begins there, see reached.c. NULL: not known yet */
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
	bool chooses;
	bool former; /* of an old version of the library, which nobody gets who is linked today */
};

/* What the unwinder's data says of some code: where in that data. */
struct code_frame {
	uint64_t address, size;
	size_t cie, fde; /* behind their lengths */
};

/* Bytes that a probe must neither change nor execute elsewhere. */
struct code_kept {
	uint64_t from, to;
	uint64_t reach; /* the last end of this one and those before */
	const char *reason;
	bool is_prologue; /* a sled at the begin of a function, behind which the function goes on as before */
};

/* A relocation that the loader applies. */
struct code_relocation {
	uint64_t where;
	unsigned int bytes;
	uint64_t target; /* the address that is written, if it is one of this file */
};
typedef int code_relocation_fn(void *user, const struct code_relocation *relocation);

/* Bytes between functions that a site has taken. */
struct code_springboard {
	uint64_t address, site;
};

struct code_file {
	char *path; /* for sentences */
	uint8_t *bytes;
	size_t size;
	bool fixed; /* its addresses are those in the process */
	uint64_t lowest, highest;
	struct code_segment *segments;
	size_t nr_segments;
	struct code_section *sections;
	size_t nr_sections;
	uint64_t frame_header;  /* address of .eh_frame_hdr; 0: none */
	uint8_t *names_memory;  /* what was compressed; names may be in it */
	uint8_t *beside_memory; /* the same of a file beside it */
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
	uint64_t embedded_code,
			embedded_size; /* V8's builtins, and the number that is their size; 0: none */
	struct code_function *functions;
	size_t nr_functions;
	uint64_t *landings;
	size_t nr_landings, landings_capacity;
	uint64_t *labels; /* in code, of symbols without a type: a branch or an access may go there */
	size_t nr_labels, labels_capacity;
	size_t call_sites; /* looked at */
	bool swept, has_reachable;
	uint64_t entry;
	struct code_springboard *springboards;
	size_t nr_springboards, springboards_capacity;
	bool springboards_claimed; /* to the begins of all functions */
	uint64_t go_begin, go_end; /* code of Go */
	/* Runtimes that know return addresses of all functions of the file. */
	enum code_runtime {
		CODE_RUNTIME_UNKNOWN,
		CODE_RUNTIME_NONE,
		CODE_RUNTIME_OCAML,
		CODE_RUNTIME_PROFILED,
		CODE_RUNTIME_COPIES, /* parts of stacks */
	} runtime;
	uint64_t *frame_readers; /* begins of functions that read return addresses of their callers */
	size_t nr_frame_readers, frame_readers_capacity;
};

/* ---- file.c ---- */

int code_fail(struct code_error *error, int result, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
/* The bytes at an address of the file, and how many follow there; NULL if there are none. */
const uint8_t *code_bytes(const struct code_file *file, uint64_t address, size_t *size);
struct code_segment *code_executable(const struct code_file *file, uint64_t address);
const struct code_section *code_section_named(const struct code_file *file, const char *name);
/* The bytes of a section that are in the file; NULL: none. */
const uint8_t *code_section_bytes(
		const struct code_file *file, const struct code_section *section, size_t *size);
/* In a section that only forwards calls, or in the code of libside.a, which a hit of a probe executes. */
bool code_is_excluded(const struct code_file *file, uint64_t address);
/* Room for one more element of that size; NULL: no memory. `*capacity` elements are there. */
void *code_grow(void *array, size_t used, size_t *capacity, size_t size);

/* ---- frames.c ---- */

/* The data of the code at an address; false: there is none. */
bool code_rows_open(const struct code_file *file, uint64_t address, struct code_rows *rows);

/* ---- the others ---- */

/* Why a return from that function cannot be seen; NULL: it can. */
const char *code_no_exit(struct code_file *file, const struct code_function *function);
/* An instruction there may read what its function's frame pointer points to. -ENOMEM. */
int code_note_frame_read(struct code_file *file, uint64_t address);
/* Restartable sequences: -ENOMEM. */
int code_read_sequences(struct code_file *file);

/* ---- kept.c ---- */

/* Ignores a range outside code. Does not copy the reason. -ENOMEM. */
int code_keep(struct code_file *file, uint64_t from, uint64_t to, const char *reason);
/* A range that has some of these bytes; NULL: none. Valid until the next range is added. */
const struct code_kept *code_kept_at(struct code_file *file, uint64_t address, uint64_t size);

/* ---- reached.c ---- */

/* Whether an instruction certainly begins at the address, in a file without known functions. -ENOMEM. */
int code_is_reachable(struct code_file *file, uint64_t address, bool *ret_is_reachable);

/* ---- relocations.c ---- */

/* Each one; stops when `each` does not return 0, which is then the result. */
int code_each_relocation(struct code_file *file, code_relocation_fn *each, void *user);

/* ---- rewritten.c ---- */

/* Keeps code that the loader or the program changes or copies. Once the functions are known; -ENOMEM. */
int code_read_rewritten(struct code_file *file);
/* Whether the program switches the begin of a function there; then where the function goes on. */
bool code_is_sled_of_entry(struct code_file *file, uint64_t address, uint64_t *end);

/* ---- x86-64-exchange.c ---- */

/* Whether the stack pointer may point to data somewhere within the function, or memory for the analysis is missing. */
bool code_exchanges_stack(const struct code_file *file, const struct code_function *function);

/* ---- go.c ---- */

/* Where code of Go is, and its names, if nothing else has said any. -ENOMEM. */
int code_read_go(struct code_file *file);
bool code_is_go(const struct code_file *file, uint64_t address);

int code_read_symbols(struct code_file *file);
/* More names: a table of symbols, which need not stay, and their texts, which must. */
int code_read_names(struct code_file *file, const uint8_t *symbols, size_t size, const char *names,
		size_t names_size);
/* One more, which must stay. -ENOMEM. */
int code_add_name(struct code_file *file, uint64_t address, uint64_t size, const char *name);
int code_read_beside(struct code_file *file);
int code_read_frames(struct code_file *file);
int code_make_functions(struct code_file *file);
/* Marks all targets; -ENOMEM. */
int code_sweep(struct code_file *file);
void code_mark_target(const struct code_file *file, uint64_t address);
bool code_is_target(const struct code_file *file, uint64_t address);

#endif /* SIDE_PROBE_CODE_PARTS_H */
