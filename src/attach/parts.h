/* SPDX-License-Identifier: MIT */
#ifndef SIDE_ATTACH_PARTS_H
#define SIDE_ATTACH_PARTS_H

/* Private to the files of this module and their tests. */

#include <elf.h>
#include <stddef.h>
#include <sys/user.h>

#include "attach/inject-request.h"

#define INJECT_PAGE 4096u

/*
 * elf.c: an ELF file of the program, which is not trusted. Returns 0, -ENOEXEC or another negative
 * errno.
 */
struct inject_elf {
	uint16_t machine;
	uint8_t class;
	uint16_t type;
	bool interpreter; /* has a dynamic linker */
	Elf64_Phdr *headers;
	size_t nr_headers;
	Elf64_Sym *symbols;
	size_t nr_symbols;
	char *names; /* with a terminating 0 */
	size_t names_size;
};
int inject_elf_read(int fd, struct inject_elf *ret_elf);
void inject_elf_free(struct inject_elf *elf);
/* Returns the value of a function that the file defines, or 0. */
uint64_t inject_elf_function(const struct inject_elf *elf, const char *name);
/* Returns the value of a variable that the file defines, or 0. */
uint64_t inject_elf_object(const struct inject_elf *elf, const char *name);
/* Returns the name of the function that contains this value, or NULL. */
const char *inject_elf_name(const struct inject_elf *elf, uint64_t value);
/*
 * Get the number to add to a value if the byte at `offset` of the file is mapped at `address`.
 * Returns false if no segment contains the offset.
 */
bool inject_elf_bias(const struct inject_elf *elf, uint64_t offset, uint64_t address,
		uint64_t *ret_bias);
/* Returns the value at which the last page of code has `size` unused bytes, or 0. */
uint64_t inject_elf_find_space(const struct inject_elf *elf, size_t size);

/* target.c: the program to attach to. */
struct inject_mapping {
	uint64_t begin, end, offset;
	char access[5]; /* as in /proc/PID/maps: "r-xp" */
	uint64_t inode;
	char *path; /* "" for none */
};

/*
 * Functions of the agent that mark the calling thread as its own, so its calls are not recorded. 0:
 * the agent is not loaded, or is older.
 */
struct inject_own {
	/* uint64_t *(uint64_t *before): returns the address for the id of a new thread */
	uint64_t begin;
	uint64_t end;    /* void (uint64_t before, int error) */
	uint64_t thread; /* void (void): in the new thread */
};

struct inject_target {
	pid_t pid;
	int memory; /* descriptor of /proc/PID/mem */
	struct inject_mapping *mappings;
	size_t nr_mappings;
	struct inject_elf libc;
	uint64_t libc_bias;
	uint64_t agent_function; /* 0: the agent is not loaded */
	struct inject_own own;
	struct inject_report *report;
	uint64_t began; /* start time of the whole operation */
	/* see struct inject_request */
	uint64_t held_begin, held_end;
};

enum inject_class { INJECT_OTHER, INJECT_LIBC, INJECT_LOADER, INJECT_ALLOCATOR, INJECT_NOWHERE };

uint64_t inject_now(void);
void inject_pause_us(long us);
/* Set the report's error. Returns -1. */
int inject_fail(struct inject_target *target, enum inject_kind kind, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
/* Set the hint of the preceding error. Returns -1. */
int inject_hint(struct inject_target *target, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
/*
 * Examine the program. Returns 0, or -1 with the report set. Call inject_target_close() in both
 * cases.
 */
int inject_target_open(struct inject_target *target, const struct inject_request *request);
void inject_target_close(struct inject_target *target);
/*
 * Get the text after "NAME:" in /proc/PID/[task/TID/]status. Returns false with errno: ENODATA if
 * there is no such line, EOVERFLOW if the file is too long.
 */
bool inject_status(pid_t pid, pid_t thread, const char *name, char *text, size_t capacity);
const char *inject_name(pid_t pid, char *text, size_t capacity);
const char *inject_thread_name(pid_t pid, pid_t thread, char *text, size_t capacity);
/* Returns 1 if the process has a mapping at this address now, 0 if not, or a negative errno. */
int inject_is_mapped(pid_t pid, uint64_t address);
int inject_maps_read(struct inject_target *target);
void inject_maps_free(struct inject_target *target);
const struct inject_mapping *inject_mapping_of(
		const struct inject_target *target, uint64_t address);
/* Open the file of a mapping, as the program sees it. Returns a descriptor or a negative errno. */
int inject_mapping_open(const struct inject_target *target, const struct inject_mapping *mapping);
/*
 * Find unused bytes in this mapping of code. Returns their address, and the descriptor of the file,
 * which the caller closes; or 0 and no descriptor. In inject.c.
 */
uint64_t inject_mapping_find_space(const struct inject_target *target,
		const struct inject_mapping *mapping, size_t size, int *ret_file);
/*
 * Read or write the program's memory. Return false with errno: ESRCH if the program has no memory
 * any more.
 */
bool inject_read(const struct inject_target *target, uint64_t address, void *bytes, size_t size);
bool inject_write(const struct inject_target *target, uint64_t address, const void *bytes,
		size_t size);
/* Set the report's error after PTRACE_SEIZE failed with `code`. Returns -1. */
int inject_not_permitted(struct inject_target *target, pid_t thread, int code);

/* safe.c: decides whether a stopped thread can create a thread at its current point. */
struct inject_safe;
/* Returns NULL with the report set on failure. */
struct inject_safe *inject_safe_open(struct inject_target *target);
void inject_safe_close(struct inject_safe *safe);
enum inject_verdict {
	INJECT_SAFE,
	INJECT_UNSAFE,
	INJECT_UNKNOWN, /* its stack cannot be unwound completely */
};
/*
 * Judge a stopped thread. `waits`: it is in a system call for which inject_call_waits() is not
 * INJECT_WAITS_NOT. Unwinding stops at `until` (a time of inject_now()).
 */
enum inject_verdict inject_safe_judge(struct inject_safe *safe, pid_t thread,
		const struct user_regs_struct *registers, bool waits, uint64_t until);
/*
 * Unwind the stack of a running thread that waits at this point, so that the files needed to judge
 * it are already read when it is stopped.
 */
void inject_safe_rehearse(struct inject_safe *safe, pid_t thread, uint64_t stack, uint64_t code);
enum inject_wait {
	/* the loader and malloc() may also make this call, or it does not wait */
	INJECT_WAITS_NOT,
	INJECT_WAITS,        /* and the kernel restarts it after a stop */
	INJECT_WAITS_BRIEFLY /* it returns EINTR after any stop */
};
enum inject_wait inject_call_waits(uint64_t number);

/* code.c: the code that the program executes. */
struct inject_values {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip;
	/* bits 0 to 7: the overflow flag, 0 or 1; bits 8 to 15: the flags of LAHF */
	uint64_t flags;
	uint64_t mask;    /* the thread's original signal mask */
	uint64_t blocked; /* the mask while it is borrowed */
	uint64_t scratch; /* the address for struct inject_scratch */
	uint64_t states;  /* processor state components for XSAVE */
	uint64_t errno_location, attr_init, attr_setdetachstate, attr_setstacksize, attr_destroy,
			create;
	uint64_t pause[2]; /* struct timespec */
	struct inject_own own;
	uint64_t ids; /* the signals by which the C library changes ids */
};

enum inject_state {
	INJECT_STATE_NONE,
	INJECT_STATE_BUSY,
	INJECT_STATE_READY, /* the borrowed thread waits for the tracer */
};

struct inject_scratch {
	uint32_t state;
	int32_t created; /* the result of pthread_create() */
	/* numbers of the last command requested and of the last one completed */
	uint32_t command, done;
	uint64_t function; /* 0: exit */
	uint64_t arguments[6];
	uint64_t result;
	uint64_t id;
	uint64_t attributes[8];
	uint64_t before; /* the previous value of `own` */
	char text[INJECT_PAGE - 168];
};
#define INJECT_SCRATCH_SIZE 65536u
#define INJECT_STACK_SIZE (256u << 10) /* of the new thread */

struct inject_code {
	const uint8_t *bytes; /* the first bytes are struct inject_values */
	size_t size;
	/* Offsets of the labels in code.c. */
	size_t entry, masked, spin, refused, failed, thread, name;
};
struct inject_code inject_code_get(void);
uint64_t inject_code_states(void); /* for struct inject_values; 0: the processor has no XSAVE */

/* exec-code.c: the code in which a program waits before its entry point. */
struct inject_exec_values {
	uint64_t entry;     /* the program's entry point */
	uint64_t slot;      /* the address of AT_ENTRY's value */
	uint32_t released;  /* not 0: leave */
	uint32_t permitted; /* not 0: the thread may make system calls */
	int32_t tracer;     /* the process that releases the thread */
	uint32_t rounds;    /* pauses until the thread leaves by itself */
	uint64_t pause[2];  /* struct timespec */
	uint32_t spins;     /* rounds without system calls */
	uint32_t unused;
};
struct inject_exec_code {
	const uint8_t *bytes; /* the first bytes are struct inject_exec_values */
	size_t size;
	size_t entry; /* offset of the first instruction */
};
struct inject_exec_code inject_exec_code_get(void);

/* inject.c: does all of the request in this process. */
void inject_run(const struct inject_request *request, struct inject_report *ret_report);

/* thread.c: borrows a thread, and makes it create the new thread. */
/* Returns true if every thread waits in a system call, and none of them in this code. */
bool inject_no_thread_at(pid_t pid, uint64_t begin, uint64_t end);
/* Returns the stack pointer of the first thread if it waits in a system call, or 0. */
uint64_t inject_stack_of(pid_t pid);
struct inject_site {
	uint64_t code; /* address of the code in the program */
	uint64_t scratch;
	struct inject_values values;
};
/*
 * Returns 0, or -1 with the report set. Returns -ETIMEDOUT instead if a thread may still execute
 * the code, which must then stay.
 */
int inject_borrow(struct inject_target *target, struct inject_site *site,
		const struct inject_request *request);

/* copy.c: a copy of a file in a directory of the program. */
struct inject_copy {
	size_t next;                     /* the next directory to try */
	int directory;                   /* descriptor of the program's directory, or -1 */
	int created_fd;                  /* descriptor of the created directory, or -1 */
	char created_name[64], name[64]; /* the names of the created directory and of the file */
	char path_in_program[128];       /* the path of the file in the program */
};

/* Copy a whole file to a descriptor. Returns 0 or a negative errno. */
int inject_copy_file(const char *from, int to);
/*
 * Create the copy in the next usable directory. Returns false if there is none left. Call
 * inject_copy_remove() before the next call.
 */
bool inject_copy_make(struct inject_copy *copy, pid_t pid, const char *file);
void inject_copy_remove(struct inject_copy *copy);

#endif
