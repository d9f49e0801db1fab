/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_UPROBE_PARTS_H
#define SIDE_PROBE_UPROBE_PARTS_H

/* What the files of this room share. */

#include "probe/uprobe/global.h"

#include <linux/bpf.h>

/* A hit as it comes from the kernel; the values follow. The BPF program (program.c) writes it by these offsets. */
struct hit_record {
	uint64_t time;
	uint32_t side, cpu;
	uint64_t pid_tgid; /* process above, thread below */
	uint32_t uid, reserved;
	char comm[16];
	uint64_t ip, sp;
	uint64_t unreadable;
};

#define RING_SIZE_STANDARD (8u << 20)

/* Hits that were read and not given yet, in the order in which they came. */
struct hits {
	struct hit_record **list;
	size_t count, capacity;
	uint64_t lost; /* for want of our own memory */
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
struct watched_file;

struct global {
	struct global_filter filter;
	pid_t process;
	struct uprobe_tables tables;
	struct global_side *sides;
	uint32_t nr_sides;
	uint32_t ring_size;
	enum global_backend backend;
	char why[1024];
	bool on;
	struct bpf *bpf;          /* of the first two ways */
	struct uprobe_perf *perf; /* of the third */
	struct uprobe_pairs *pairs;
	struct watched_file *files;
	uint32_t nr_files;
	struct hits hits;
};

/* Returns `result`. */
int global_fail(struct global_error *error, int result, const char *hint, const char *format, ...)
		__attribute__((format(printf, 4, 5)));

/* Whether there is room for so many descriptors more; `any` is one. 0, or -EMFILE. */
int global_descriptors(uint64_t wanted, int any, struct global_error *error);

/* A copy is kept. */
void hits_add(struct hits *hits, const void *record, size_t size);

/* ---- sides.c ---- */

int sides_make(struct global *global, const struct global_options *options,
		struct global_error *error);
void sides_free(struct global *global);
/* What of the fetch the kernel need not know: `first` operations that it does, the others for fetch_finish(). */
uint64_t fetch_finish(const struct probe_fetch *fetch, uint32_t first, uint64_t value);
/* Offset of the address in the file. 0, -ENXIO: the file has no segment with the address, or the error of reading it. */
int file_offset(const char *path, uint64_t address, uint64_t *offset);

/* ---- assemble.c ---- */

#define ASSEMBLY_MAX 8192

struct bpf_assembly {
	struct bpf_insn code[ASSEMBLY_MAX];
	uint32_t nr;
	bool overflow;
};

/* Each puts one instruction (wide: two). */
void put(struct bpf_assembly *a, uint8_t code, unsigned int to, unsigned int from, int off,
		int32_t imm);
void put_move(struct bpf_assembly *a, unsigned int to, unsigned int from);
void put_constant(struct bpf_assembly *a, unsigned int to, int64_t value);
void put_map(struct bpf_assembly *a, unsigned int to, int fd);
void put_load(struct bpf_assembly *a, unsigned int size, unsigned int to, unsigned int from,
		int off);
void put_store(struct bpf_assembly *a, unsigned int size, unsigned int to, int off,
		unsigned int from);
void put_add(struct bpf_assembly *a, unsigned int to, int64_t value);
void put_call(struct bpf_assembly *a, int helper);
/* A jump whose distance put_here() fills in; its place. */
uint32_t put_jump(struct bpf_assembly *a, uint8_t condition, unsigned int left, int32_t right);
uint32_t put_jump_register(
		struct bpf_assembly *a, uint8_t condition, unsigned int left, unsigned int right);
void put_here(struct bpf_assembly *a, uint32_t jump);

/* ---- program.c ---- */

/* 0, -E2BIG, or -ENOTSUP with a sentence: the side has what no program can fetch. */
int program_make(struct bpf_assembly *assembly, const struct global_side *side,
		const struct global_filter *filter, int ring, int lost, bool sleepable,
		struct global_error *error);

/* ---- bpf.c ---- */

int bpf_open(struct global *global, bool multi, struct global_error *error);
/* Whether that could be, of no place yet. */
int bpf_try(bool multi, struct global_error *error);
void bpf_close(struct bpf *bpf);
int bpf_watch(struct global *global, bool on, struct global_error *error);
int bpf_fd(const struct bpf *bpf);
void bpf_read(struct bpf *bpf, struct global *global);
uint64_t bpf_lost(const struct bpf *bpf);

/* ---- text.c ---- */

/* The arguments of a definition: the values' in the order of fields, those that the kernel has. */
int text_arguments(const struct global_side *side, char *text, size_t capacity,
		struct global_error *error);
/* How many operations of a number's fetch its argument has done. */
uint32_t text_done(const struct probe_fetch *fetch);

/* ---- tracefs.c ---- */

/* A descriptor of its directory; mounted for us alone where it is not there. */
int global_tracefs_open(struct global_error *error);
/* "side_PID_STARTED_NAMESPACE" of this process. */
void global_tracefs_group(char *name, size_t capacity);
int global_tracefs_define(int tracefs, const char *definition, struct global_error *error);
/* All of a group. How many, or a negative errno. */
int global_tracefs_remove(int tracefs, const char *group);
int global_tracefs_clean(int tracefs);
/* A file below it, with its end marked; -errno. */
int global_tracefs_read(int tracefs, const char *path, char *text, size_t capacity);

/* ---- perf.c ---- */

int perf_open(struct global *global, struct global_error *error);
void perf_close(struct uprobe_perf *perf);
int perf_watch(struct global *global, bool on, struct global_error *error);
int perf_fd(const struct uprobe_perf *perf);
void perf_read(struct uprobe_perf *perf, struct global *global);
uint64_t perf_lost(const struct uprobe_perf *perf);

/* ---- conflict.c ---- */

/* 0, or -EBUSY and a sentence: a process has been changed there. */
int conflict_check(const struct global *global, struct global_error *error);

/* ---- replaced.c ---- */

/* Which files there are; `files` of the global is the caller's to free. */
int replaced_open(struct global *global, struct global_error *error);

/* ---- pairs.c ---- */

struct uprobe_pairs *global_pairs_new(void);
void global_pairs_free(struct uprobe_pairs *pairs);
/* Fills in call and duration. */
void global_pairs_note(struct uprobe_pairs *pairs, const struct hit_record *record,
		struct global_hit *hit);

#endif /* SIDE_PROBE_UPROBE_PARTS_H */
