/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_UPROBE_PARTS_H
#define SIDE_PROBE_UPROBE_PARTS_H

/* Declarations that the files of this directory share. */

#include "base/error.h"
#include "probe/uprobe/global-types.h"

#include <linux/bpf.h>

/*
 * A hit in the kernel's ring; the values follow. The BPF program (program.c) writes it by these
 * offsets.
 */
struct hit_record {
	uint64_t time;
	uint32_t side, cpu;
	uint64_t pid_tgid; /* process in the upper half, thread in the lower */
	uint32_t uid, reserved;
	char comm[16];
	uint64_t ip, sp;
	uint64_t unreadable;
};

#define RING_SIZE_DEFAULT (8u << 20)

/* Hits that were read and not delivered yet, in the order of reading. */
struct hits {
	struct hit_record **list;
	size_t count, capacity;
	uint64_t lost; /* because this process is out of memory */
};

struct uprobe_tables {
	struct probe_table *tables;
	void **memory;
	size_t *sizes;
	size_t nr;
};

struct bpf;
struct uprobe_perf;
struct uprobe_pairs;
struct replaced_file;

struct global {
	struct global_filter filter;
	pid_t process;
	struct uprobe_tables tables;
	struct global_side *sides;
	uint32_t nr_sides;
	uint32_t ring_size;
	enum global_backend backend;
	char why[ERROR_TEXT_SIZE];
	bool on;
	struct bpf *bpf;          /* of the first two backends */
	struct uprobe_perf *perf; /* of the third backend */
	struct uprobe_pairs *pairs;
	struct replaced_file *files;
	uint32_t nr_files;
	struct hits hits;
};

/*
 * Checks that `wanted` more descriptors can be opened; `any` is an open one. Returns 0 or -EMFILE.
 */
int global_descriptors(uint64_t wanted, int any, struct error *error);

/* Keeps a copy. */
void hits_add(struct hits *hits, const void *record, size_t size);

/* ---- sides.c ---- */

int sides_make(struct global *global, const struct global_options *options, struct error *error);
void sides_free(struct global *global);
/*
 * Applies the operations of a fetch that the kernel does not execute, from index `first` on, and
 * returns the result.
 */
uint64_t uprobe_fetch_finish(const struct probe_fetch *fetch, uint32_t first, uint64_t value);
/*
 * Sets the offset of the address in the file. Returns 0, -ENXIO if no segment of the file has the
 * address, or the error of reading it.
 */
int uprobe_file_offset(const char *path, uint64_t address, uint64_t *ret_offset);

/* ---- assemble.c ---- */

#define ASSEMBLY_MAX 8192

struct bpf_assembly {
	struct bpf_insn code[ASSEMBLY_MAX];
	uint32_t nr;
	bool overflow;
};

/* Each emits one instruction (two for a wide constant). Too many instructions set `overflow`. */
void bpf_emit(struct bpf_assembly *a, uint8_t code, unsigned int to, unsigned int from, int off,
		int32_t imm);
void bpf_emit_move(struct bpf_assembly *a, unsigned int to, unsigned int from);
void bpf_emit_constant(struct bpf_assembly *a, unsigned int to, int64_t value);
void bpf_emit_map(struct bpf_assembly *a, unsigned int to, int fd);
void bpf_emit_load(struct bpf_assembly *a, unsigned int size, unsigned int to, unsigned int from,
		int off);
void bpf_emit_store(struct bpf_assembly *a, unsigned int size, unsigned int to, int off,
		unsigned int from);
void bpf_emit_add(struct bpf_assembly *a, unsigned int to, int64_t value);
void bpf_emit_call(struct bpf_assembly *a, int helper);
/* Emits a jump whose distance bpf_emit_target() sets. Returns its index. */
uint32_t bpf_emit_jump(struct bpf_assembly *a, uint8_t condition, unsigned int left, int32_t right);
uint32_t bpf_emit_jump_register(
		struct bpf_assembly *a, uint8_t condition, unsigned int left, unsigned int right);
void bpf_emit_target(struct bpf_assembly *a, uint32_t jump);

/* ---- program.c ---- */

/* Returns 0, -E2BIG, or -ENOTSUP and *error if a program cannot execute a fetch of the side. */
int program_make(struct bpf_assembly *assembly, const struct global_side *side,
		const struct global_filter *filter, int ring, int lost, bool sleepable,
		struct error *error);

/* ---- bpf.c ---- */

int bpf_open(struct global *global, bool multi, struct error *error);
/* Tries whether the kernel accepts such programs, without a location. */
int bpf_try(bool multi, struct error *error);
void bpf_close(struct bpf *bpf);
int bpf_watch(struct global *global, bool on, struct error *error);
int bpf_fd(const struct bpf *bpf);
void bpf_read(struct bpf *bpf, struct global *global);
uint64_t bpf_lost(const struct bpf *bpf);

/* ---- text.c ---- */

/* Writes the arguments of a definition: the fetched values, in the order of fields. */
int text_arguments(
		const struct global_side *side, char *text, size_t capacity, struct error *error);
/* Returns how many operations of a number's fetch the definition executes. */
uint32_t text_nr_executed(const struct probe_fetch *fetch);

/* ---- tracefs.c ---- */

/*
 * Returns a descriptor of tracefs's directory, or a negative errno and *error. If tracefs is not
 * mounted, the mount belongs to this process alone.
 */
int global_tracefs_open(struct error *error);
/* Writes "side_PID_STARTED_NAMESPACE" for this process. */
void global_tracefs_group(char *name, size_t capacity);
int global_tracefs_define(int tracefs, const char *definition, struct error *error);
/* Removes all definitions of a group. Returns how many, or a negative errno. */
int global_tracefs_remove(int tracefs, const char *group);
int global_tracefs_clean(int tracefs);
/* Reads a file below the directory, and terminates the text. Returns 0 or a negative errno. */
int global_tracefs_read(int tracefs, const char *path, char *text, size_t capacity);

/* ---- perf.c ---- */

int perf_open(struct global *global, struct error *error);
void perf_close(struct uprobe_perf *perf);
int perf_watch(struct global *global, bool on, struct error *error);
int perf_fd(const struct uprobe_perf *perf);
void perf_read(struct uprobe_perf *perf, struct global *global);
uint64_t perf_lost(const struct uprobe_perf *perf);

/* ---- conflict.c ---- */

/* Returns 0, or -EBUSY and *error if the code of a process was changed at a location. */
int conflict_check(const struct global *global, struct error *error);

/* ---- replaced.c ---- */

/* Notes the watched files. The caller frees global->files. */
int replaced_open(struct global *global, struct error *error);

/* ---- pairs.c ---- */

struct uprobe_pairs *global_pairs_new(void);
void global_pairs_free(struct uprobe_pairs *pairs);
/* Sets the call and duration of a hit. */
void global_pairs_note(struct uprobe_pairs *pairs, const struct hit_record *record,
		struct global_hit *hit);

#endif /* SIDE_PROBE_UPROBE_PARTS_H */
