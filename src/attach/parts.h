/* SPDX-License-Identifier: MIT */
#ifndef SIDE_ATTACH_PARTS_H
#define SIDE_ATTACH_PARTS_H

/* Private to the files of this room and their tests. */

#include <elf.h>
#include <stddef.h>
#include <sys/user.h>

#include "attach/inject.h"

#define INJECT_PAGE 4096u

/* elf.c: of a file that nobody vouches for. 0, -ENOEXEC or another negative errno. */
struct inject_elf {
	uint16_t machine;
	uint8_t class;
	uint16_t type;
	bool interpreter; /* it has a dynamic linker */
	Elf64_Phdr *headers;
	size_t nr_headers;
	Elf64_Sym *symbols;
	size_t nr_symbols;
	char *names; /* ends with a 0 */
	size_t names_size;
};
int inject_elf_read(int fd, struct inject_elf *elf);
void inject_elf_free(struct inject_elf *elf);
/* The value of a function that the file defines, or 0. */
uint64_t inject_elf_function(const struct inject_elf *elf, const char *name);
/* Likewise of a variable. */
uint64_t inject_elf_object(const struct inject_elf *elf, const char *name);
/* The name of the function that holds this value, or NULL. */
const char *inject_elf_name(const struct inject_elf *elf, uint64_t value);
/* What to add to a value, when the byte of the file at `offset` stands at `address`. False: no segment. */
bool inject_elf_bias(
		const struct inject_elf *elf, uint64_t offset, uint64_t address, uint64_t *bias);
/* Where the last page of code has bytes that belong to nothing, as a value. 0: none. */
uint64_t inject_elf_find_space(const struct inject_elf *elf, size_t size);

/* target.c: the program. */
struct inject_mapping {
	uint64_t begin, end, offset;
	char access[5]; /* as in /proc: "r-xp" */
	uint64_t inode;
	char *path; /* "" for none */
};

/* Functions of the agent that mark the calling thread, whose calls are not the program's. 0: the agent is not there, or older. */
struct inject_own {
	uint64_t begin; /* uint64_t *(uint64_t *before): returns where to store the number of a new thread */
	uint64_t end;    /* void (uint64_t before, int error) */
	uint64_t thread; /* void (void): in the new thread */
};

struct inject_target {
	pid_t pid;
	int memory; /* of /proc/PID/mem */
	struct inject_mapping *mappings;
	size_t nr_mappings;
	struct inject_elf libc;
	uint64_t libc_bias;
	uint64_t agent_function; /* 0: the agent is not there */
	struct inject_own own;
	struct inject_report *report;
	uint64_t began; /* of the whole thing */
};

enum inject_class { INJECT_OTHER, INJECT_LIBC, INJECT_LOADER, INJECT_ALLOCATOR, INJECT_NOWHERE };

uint64_t inject_now(void);
void inject_pause_us(long us);
/* Fills in the report; returns -1. */
int inject_fail(struct inject_target *target, enum inject_kind kind, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
/* The hint of the failure before it; returns -1. */
int inject_hint(struct inject_target *target, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
/* 0, or -1 with the report filled in. inject_target_close() in both cases. */
int inject_target_open(struct inject_target *target, const struct inject_request *request);
void inject_target_close(struct inject_target *target);
/* Text after "NAME:" of /proc/PID/[task/TID/]status. False with errno: ENODATA: no such line; EOVERFLOW: the file is too long. */
bool inject_status(pid_t pid, pid_t thread, const char *name, char *text, size_t capacity);
const char *inject_name(pid_t pid, char *text, size_t capacity);
const char *inject_thread_name(pid_t pid, pid_t thread, char *text, size_t capacity);
/* Whether the process has a mapping at this address: 1 or 0, or a negative errno. Reads the mappings anew. */
int inject_is_mapped(pid_t pid, uint64_t address);
int inject_maps_read(struct inject_target *target);
void inject_maps_free(struct inject_target *target);
const struct inject_mapping *inject_mapping_of(
		const struct inject_target *target, uint64_t address);
/* The file of a mapping, as the program sees it. */
int inject_mapping_open(const struct inject_target *target, const struct inject_mapping *mapping);
/* False with errno: ESRCH if the program has no memory any more. */
bool inject_read(const struct inject_target *target, uint64_t address, void *bytes, size_t size);
bool inject_write(const struct inject_target *target, uint64_t address, const void *bytes,
		size_t size);
/* PTRACE_SEIZE failed with this errno: why, in the report. */
int inject_not_permitted(struct inject_target *target, pid_t thread, int code);

/* safe.c: may a thread be made where this one stands? */
struct inject_safe;
/* NULL with the report filled in. */
struct inject_safe *inject_safe_open(struct inject_target *target);
void inject_safe_close(struct inject_safe *safe);
enum inject_verdict {
	INJECT_SAFE,
	INJECT_UNSAFE,
	INJECT_UNKNOWN, /* its stack cannot be read to the end */
};
/*
 * `waits`: it is in a system call of which inject_call_waits() says so. By `until` (of inject_now()) it has to be
 * known.
 */
enum inject_verdict inject_safe_judge(struct inject_safe *safe, pid_t thread,
		const struct user_regs_struct *registers, bool waits, uint64_t until);
/* Read what judging a thread that waits here will take, while it is not stopped. */
void inject_safe_rehearse(struct inject_safe *safe, pid_t thread, uint64_t stack, uint64_t code);
enum inject_wait {
	INJECT_WAITS_NOT,    /* or for what the loader and malloc() wait for, too */
	INJECT_WAITS,        /* and goes on waiting afterwards */
	INJECT_WAITS_BRIEFLY /* it returns EINTR, whatever we do */
};
enum inject_wait inject_call_waits(uint64_t number);

/* code.c: what the program runs. */
struct inject_values {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip;
	uint64_t flags;   /* bits 0 to 7: overflow, 0 or 1; 8 to 15: as LAHF has them */
	uint64_t mask;    /* of signals, before */
	uint64_t blocked; /* of signals, meanwhile */
	uint64_t scratch; /* where struct inject_scratch shall be */
	uint64_t states;  /* of the processor, for XSAVE */
	uint64_t errno_location, attr_init, attr_setdetachstate, attr_setstacksize, attr_destroy,
			create;
	uint64_t pause[2]; /* struct timespec */
	struct inject_own own;
	uint64_t ids; /* signals that the C library changes ids by */
};

enum inject_state {
	INJECT_STATE_NONE,
	INJECT_STATE_BUSY,
	INJECT_STATE_READY, /* the borrowed thread waits to be taken back */
};

struct inject_scratch {
	uint32_t state;
	int32_t created;        /* what pthread_create() has said */
	uint32_t command, done; /* numbers; what was asked for last, and what was done */
	uint64_t function;      /* 0: end */
	uint64_t arguments[6];
	uint64_t result;
	uint64_t id;
	uint64_t attributes[8];
	uint64_t before; /* of `own` */
	char text[INJECT_PAGE - 168];
};
#define INJECT_SCRATCH_SIZE 65536u
#define INJECT_STACK_SIZE (256u << 10) /* of the new thread */

struct inject_code {
	const uint8_t *bytes; /* begin with struct inject_values */
	size_t size;
	/* Offsets of labels; see code.c. */
	size_t entry, masked, spin, refused, failed, thread, name;
};
struct inject_code inject_code_get(void);
uint64_t inject_code_states(void); /* for struct inject_values; 0: the processor cannot */

/*
 * thread.c: borrow a thread and let it make ours. 0, or -1 with the report filled in; -ETIMEDOUT: likewise,
 * but it may be in our code still.
 */
/* Does every thread wait in a system call, and none of them in this code? */
bool inject_no_thread_at(pid_t pid, uint64_t begin, uint64_t end);
struct inject_site {
	uint64_t code; /* address of the code */
	uint64_t scratch;
	struct inject_values values;
};
int inject_borrow(struct inject_target *target, struct inject_site *location,
		const struct inject_request *request);

/* copy.c: a file of ours in a directory of the program's. */
struct inject_copy {
	size_t next;             /* the directory to be tried next */
	int directory;           /* in which ours is, or -1 */
	int location;            /* ours, or -1 */
	char made[64], name[64]; /* its name, and that of the file in it */
	char theirs[128];        /* its path, as the program sees it */
};

/* The whole file, to a descriptor. 0 or a negative errno. */
int inject_copy_file(const char *from, int to);
/* In the next directory where that can be done; false: there is none. Remove it before the next one. */
bool inject_copy_make(struct inject_copy *copy, pid_t pid, const char *file);
void inject_copy_remove(struct inject_copy *copy);

#endif
