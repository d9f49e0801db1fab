/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_TABLE_TABLE_H
#define SIDE_PROBE_TABLE_TABLE_H

/*
 * A probe table: the probes of one probe spec. The command that the user ran resolves the spec and
 * writes the table, because it may read files and instructions. The session sends the table without
 * reading it. The agent inside the program sets its probes, and decodes no instruction. One table
 * has one event name, with as many sites as the spec has. A table never changes: a change is
 * another table.
 *
 *	write.c	    in the command: collects, and writes a sealed memfd
 *	read.c	    in each receiver: checks a table or reports what is wrong, then reads its parts
 *	describe.c  in a process that makes SIDE events of a table: the types of the fields, and
 *		    the argument of each
 *
 * A table describes modules (files that are mapped into a program): how they are identified. It
 * describes events: their names and fields. It describes probes: their module and site, their
 * events at the entry and at the exit, and how each field is fetched there. Fields belong to the
 * event and fetches to the probe, because one SDT marker or one inlined function has its arguments
 * at different locations at each site.
 *
 * A table is untrusted until probe_table_open() has accepted it. Afterwards all of its numbers are
 * in bounds and its strings end. Its contents (addresses, bytes of code) must still be compared
 * with the program; probe/patch does that. The bytes must not change while the table is used:
 * readers of a descriptor demand its seals.
 *
 * Contexts of probes (registers, variables, backtraces) are further fields of the event, after its
 * own. To add a context later, the command writes another table.
 */

#include "probe/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Incremented when an older reader would misunderstand the table. New members at the ends of
 * records and new parts do not increment it.
 */
#define PROBE_TABLE_VERSION 1

#define PROBE_TABLE_MAX (256u << 20) /* bytes of a table */
#define PROBE_TABLE_STRING_MAX 4095  /* bytes of a string, without its NUL */
#define PROBE_TABLE_MODULES_MAX 65536u
#define PROBE_TABLE_EVENTS_MAX 65536u
#define PROBE_TABLE_PROBES_MAX (1u << 20)
#define PROBE_TABLE_FIELDS_MAX 64      /* of an event */
#define PROBE_TABLE_FIELD_NAME_MAX 255 /* bytes */
#define PROBE_TABLE_OPS_MAX 32         /* of a fetch */
#define PROBE_TABLE_ASIDE_MAX 4        /* values that a fetch saves at one time */
#define PROBE_TABLE_BUILD_ID_MAX 64    /* bytes */
#define PROBE_TABLE_TEXT_MAX 4096 /* bytes of a string that is fetched, and of an array of bytes */
#define PROBE_TABLE_BACKTRACE_MAX 128 /* addresses */
#define PROBE_TABLE_PAYLOAD_MAX 32768 /* bytes that all fields of an event together may have */
#define PROBE_TABLE_NONE UINT32_MAX   /* no event */

/* ---- modules ---- */

enum probe_module_flag {
	/* The main executable, whatever its path: for an executable without a build id. */
	PROBE_MODULE_EXECUTABLE = 1 << 0,
};

/*
 * A mapped file is the module if both have a build id and these are equal, whatever its path. If
 * the table has no build id, the paths must be equal. A program may map a module later, several
 * times (dlmopen), or never.
 */
struct probe_table_module {
	const char *path;       /* absolute, as the program sees it */
	const char *name;       /* for messages: "libc.so.6" */
	uint32_t flags;         /* enum probe_module_flag */
	uint32_t build_id_size; /* 0: the module has no build id */
	uint8_t build_id[PROBE_TABLE_BUILD_ID_MAX];
};

/* ---- events ---- */

enum probe_field_type {
	PROBE_FIELD_UNSIGNED =
			1,  /* size: 1, 2, 4, 8, and 16 with PROBE_FETCH_WIDE, without a limit */
	PROBE_FIELD_SIGNED, /* the same sizes */
	PROBE_FIELD_HEX,    /* unsigned, printed in base 16: addresses, registers, masks */
	PROBE_FIELD_BOOL,   /* size 1 */
	/* size: 4, 8, and 16 with PROBE_FETCH_WIDE; the fetch returns its bits */
	PROBE_FIELD_FLOAT,
	PROBE_FIELD_STRING, /* size: 1; limit: bytes; the fetch returns its address */
	PROBE_FIELD_BYTES,  /* size: 1; limit: their number; the fetch returns their address */
	/* size: 8; limit: most return addresses; the fetch is PROBE_FETCH_BACKTRACE alone */
	PROBE_FIELD_BACKTRACE,
	/*
	 * size: how many of the next fields are in it, at any depth, at least one; the fetch is
	 * empty.
	 */
	PROBE_FIELD_STRUCT,
};

/*
 * Numbers (UNSIGNED, SIGNED, HEX, FLOAT) with a limit are arrays of at most `limit` elements; the
 * fetch returns the address. A field with a limit is shorter if its fetch sets a length
 * (PROBE_FETCH_LENGTH). Otherwise a string ends with its NUL, and all others have `limit` elements.
 */

struct probe_table_field {
	/*
	 * Has the letters, digits and "_." that names of fields may have; unique in its event, or
	 * in its structure.
	 */
	const char *name;
	uint8_t type;   /* enum probe_field_type */
	uint8_t size;   /* bytes of a value, or of an element */
	uint16_t limit; /* of a type that has a length; 0 for all others */
	/*
	 * The labels of an enumeration, which is an UNSIGNED or SIGNED number:
	 * "NAME=VALUE,NAME=VALUE". No enumeration: "" or NULL.
	 */
	const char *labels;
	/*
	 * The value is behind a pointer that may be invalid: in the event it is an optional value,
	 * which is absent if it could not be read. A structure never has this flag; its members
	 * may.
	 */
	bool guarded;
};

#define PROBE_TABLE_LABEL_MAX 128 /* bytes of a name, without its NUL */

/* The attribute of the optional value of a guarded field. */
#define PROBE_TABLE_GUARDED "side.unreadable"

/* True if the field is an array: a length, followed by its elements. */
static inline bool probe_field_is_array(const struct probe_table_field *field)
{
	return field->limit && field->type != PROBE_FIELD_STRING;
}

/*
 * Reads the next label. Before the first call `*at` is the whole text. Returns false at the end of
 * the text, and for a label that cannot be read; `*at` is not at the end then.
 */
bool probe_table_label(
		const char **at, char ret_name[PROBE_TABLE_LABEL_MAX + 1], int64_t *ret_value);

/* The SIDE event PROVIDER:NAME that the agent makes in the program. */
struct probe_table_event {
	const char *provider;
	const char *name;
	uint32_t loglevel; /* enum side_loglevel */
	uint32_t nr_fields;
	/* for the writer; readers call probe_table_field() */
	const struct probe_table_field *fields;
	uint32_t first_field; /* set by the reader */
};

/*
 * The position of the argument of each field: the arguments of the event come first and are
 * adjacent. Those of each structure are adjacent, too.
 */
struct probe_table_nest {
	uint8_t nr_top;                      /* arguments of the event */
	uint8_t arg[PROBE_TABLE_FIELDS_MAX]; /* of each field */
	/* of each structure: the argument of its first member */
	uint8_t first[PROBE_TABLE_FIELDS_MAX];
	uint8_t number[PROBE_TABLE_FIELDS_MAX]; /* of each structure: the number of its members */
};
void probe_table_nest(struct probe_table_nest *nest, const uint8_t *inside, uint32_t nr_fields);

/* Returns how many of the next fields are in this one. */
static inline uint32_t probe_table_inside(const struct probe_table_field *field)
{
	return field->type == PROBE_FIELD_STRUCT ? field->size : 0;
}

/* ---- fetches ---- */

/*
 * A fetch computes a value: its operations are applied in turn to one number of 64 bits, which is 0
 * at first. Memory is read safely: if an address is not readable, the value is 0 (strings, bytes:
 * empty), and the bit of that field is set in the result of PROBE_FETCH_UNREADABLE.
 */
enum probe_fetch_code {
	/* These operations set the number to: */
	PROBE_FETCH_CONSTANT = 1, /* value */
	PROBE_FETCH_REGISTER,     /* register `reg`, see below */
	/* the 8 bytes at byte `value` (0, 8) of vector register `reg` (0 to 15) */
	PROBE_FETCH_VECTOR,
	/* the runtime address of `value`, an address in the probe's own module */
	PROBE_FETCH_MODULE,
	PROBE_FETCH_SITE,     /* the runtime address of the probe */
	PROBE_FETCH_FUNCTION, /* the address of the name of the probe's function: for a string */
	/* the number of the call, the same at entry and exit; 0 without an exit */
	PROBE_FETCH_CALL,
	PROBE_FETCH_DURATION,  /* at an exit: nanoseconds since the entry */
	PROBE_FETCH_RETURN,    /* the return address, at the entry of a function and at its exit */
	PROBE_FETCH_BACKTRACE, /* for PROBE_FIELD_BACKTRACE, alone */
	/* of the fields before: bit n is set if a part of field n could not be read */
	PROBE_FETCH_UNREADABLE,
	/* the thread pointer, to which offsets of thread-local variables relate, plus value */
	PROBE_FETCH_THREAD,
	PROBE_FETCH_ERRNO, /* the address of the thread's errno */
	/* These operations change the number: */
	PROBE_FETCH_ADD = 32,     /* += value */
	PROBE_FETCH_ADD_REGISTER, /* += register `reg` << `size` */
	/* `size` (1, 2, 4, 8) bytes of memory at that address, zero-extended */
	PROBE_FETCH_LOAD,
	PROBE_FETCH_SHIFT_RIGHT, /* by `size` bits (0 to 63), logically */
	PROBE_FETCH_ZERO_EXTEND, /* from `size` bits (1 to 64) */
	PROBE_FETCH_SIGN_EXTEND, /* from `size` bits (1 to 64) */
	/* saves the number on the stack of the fetch; the number itself is unchanged */
	PROBE_FETCH_PUSH,
	/* pops the last saved value and combines both by `size`, enum probe_fetch_sum */
	PROBE_FETCH_CALCULATE,
	/* the number becomes the length of the fetched value; it is 0 from here on */
	PROBE_FETCH_LENGTH,
	/* 10 bytes of memory at it (an x87 long double), as the bits of a double */
	PROBE_FETCH_EXTENDED,
	/* from the loader's id of a module to the thread-local block of that module */
	PROBE_FETCH_BLOCK,
	PROBE_FETCH_HALF, /* a number of 16 bits (_Float16), as the bits of a float */
	/*
	 * Last operation: the number is the upper half of 16 bytes; the lower half is the last
	 * saved value.
	 */
	PROBE_FETCH_WIDE,
};

/*
 * The left operand is the saved value. Numbers have 64 bits and no sign unless noted; an undefined
 * result is 0.
 */
enum probe_fetch_sum {
	PROBE_SUM_PLUS = 1,
	PROBE_SUM_MINUS,
	PROBE_SUM_TIMES,
	PROBE_SUM_DIVIDE, /* signed */
	PROBE_SUM_MODULO,
	PROBE_SUM_AND,
	PROBE_SUM_OR,
	PROBE_SUM_XOR,
	PROBE_SUM_LEFT, /* by the right operand; 64 and more result in 0 */
	PROBE_SUM_RIGHT,
	PROBE_SUM_RIGHT_SIGNED,
	PROBE_SUM_EQUAL, /* this and the next ones result in 0 or 1, and compare signed */
	PROBE_SUM_NOT_EQUAL,
	PROBE_SUM_LESS,
	PROBE_SUM_LESS_EQUAL,
	PROBE_SUM_GREATER,
	PROBE_SUM_GREATER_EQUAL,
};

#define PROBE_STACK_POINTER 7 /* the register rsp, in the numbering of `reg` */

struct probe_fetch_op {
	uint8_t code; /* enum probe_fetch_code */
	uint8_t size;
	/*
	 * In the numbering of DWARF. x86-64: rax rdx rcx rbx rsi rdi rbp rsp, then r8 to r15; 16 is
	 * the address of the probe (rip), 49 the flags. At entries, rbx and r12 to r15 need
	 * PROBE_ENTRY_ALL; at exits, 16 is the address to which the function returns.
	 */
	uint8_t reg;
	uint8_t reserved; /* 0 */
	uint32_t reserved2;
	int64_t value;
};

struct probe_fetch {
	const struct probe_fetch_op *ops;
	uint32_t nr_ops;
};

/* ---- probes ---- */

enum probe_entry_flag {
	PROBE_ENTRY_ALL = 1 << 0,  /* saves all general registers */
	PROBE_ENTRY_TRAP = 1 << 1, /* uses a breakpoint, whatever the method of the site */
	/*
	 * The command has the kernel watch the site in the process that the table is for, and
	 * records those hits. So the agent sets the probe only where the kernel does not report it:
	 * in forked children, and where another table needs the probe.
	 */
	PROBE_ENTRY_KERNEL = 1 << 2,
	/*
	 * With PROBE_ENTRY_KERNEL: the kernel watches another process, of which this one may be a
	 * child.
	 */
	PROBE_ENTRY_ELSEWHERE = 1 << 3,
};

#define PROBE_ENTRY_FLAGS \
	(PROBE_ENTRY_ALL | PROBE_ENTRY_TRAP | PROBE_ENTRY_KERNEL | PROBE_ENTRY_ELSEWHERE)

/*
 * One probe. It has at least one of the events; an exit is possible only at the start of a
 * function.
 */
struct probe_table_probe {
	uint32_t module;
	uint32_t entry; /* event; or PROBE_TABLE_NONE */
	uint32_t exit;  /* event; or PROBE_TABLE_NONE */
	uint32_t flags; /* enum probe_entry_flag */
	/* of SDT: address in the file of 16 bits that count listeners; 0: none */
	uint64_t semaphore;
	const char *function; /* name, for messages and PROBE_FETCH_FUNCTION; "" if there is none */
	/* `runtime` is 0; in a table that was read, `reason` is NULL or "" */
	struct probe_site site;
	/*
	 * One for each field of the event, in order. For the writer; readers call
	 * probe_table_fetch().
	 */
	const struct probe_fetch *entry_fetches, *exit_fetches;
	uint32_t first_entry_fetch, first_exit_fetch; /* set by the reader */
};

/* ---- writing ---- */

struct probe_table_writer;

/* Returns NULL if it is out of memory. */
struct probe_table_writer *probe_table_writer_new(void);
void probe_table_writer_free(struct probe_table_writer *writer);

/*
 * These copy their argument and return its index, from 0; or -EINVAL if no reader would accept it,
 * -E2BIG, -ENOMEM. After an error nothing has been added. Events and modules must be added before
 * their probes.
 */
int64_t probe_table_add_module(
		struct probe_table_writer *writer, const struct probe_table_module *module);
int64_t probe_table_add_event(
		struct probe_table_writer *writer, const struct probe_table_event *event);
int64_t probe_table_add_probe(
		struct probe_table_writer *writer, const struct probe_table_probe *probe);

/*
 * The first returns the table as bytes, which the caller frees, and 0 or a negative errno. The
 * second returns it as a memfd with all seals: the descriptor, or a negative errno.
 */
int probe_table_bytes(struct probe_table_writer *writer, void **ret_bytes, size_t *ret_size);
int probe_table_memfd(struct probe_table_writer *writer);

/* ---- reading ---- */

/* The records of one part. */
struct probe_table_part {
	const char *records;
	uint32_t count, stride;
};

#define PROBE_TABLE_PARTS 8

/*
 * Refers to the bytes, which must remain valid. Reading allocates no memory and calls no function
 * of libc that may lock.
 */
struct probe_table {
	const char *bytes;
	size_t size;
	struct probe_table_part parts[PROBE_TABLE_PARTS];
};

/*
 * Returns 0, or -EPROTO and in *ret_reason why, as a part of a sentence: "a probe's event is none
 * of its events"; or -EPROTONOSUPPORT for another version. After 0, all numbers of the table have
 * been checked.
 */
int probe_table_open(
		struct probe_table *table, const void *bytes, size_t size, const char **ret_reason);

/*
 * Checks the seals of a table and sets its size. Returns 0, -EPERM, -EFBIG or another negative
 * errno.
 */
int probe_table_check_memfd(int fd, size_t *ret_size);

uint32_t probe_table_nr_modules(const struct probe_table *table);
uint32_t probe_table_nr_events(const struct probe_table *table);
uint32_t probe_table_nr_probes(const struct probe_table *table);
/* The fetches of all probes, some of which share theirs. */
uint32_t probe_table_nr_fetches(const struct probe_table *table);
/* The index must be in bounds. */
void probe_table_module(const struct probe_table *table, uint32_t index,
		struct probe_table_module *ret_module);
void probe_table_event(const struct probe_table *table, uint32_t index,
		struct probe_table_event *ret_event);
void probe_table_probe(const struct probe_table *table, uint32_t index,
		struct probe_table_probe *ret_probe);
/*
 * The first returns field `index` of the event. The second returns the fetch of field `index`;
 * `first` is first_entry_fetch or first_exit_fetch of the probe.
 */
void probe_table_field(const struct probe_table *table, const struct probe_table_event *event,
		uint32_t index, struct probe_table_field *ret_field);
void probe_table_fetch(const struct probe_table *table, uint32_t first, uint32_t index,
		struct probe_fetch *ret_fetch);

/*
 * Adds the fields of an event to a SIDE event that `builder` makes. The builder reports an error
 * when the event is finished.
 */
struct side_builder;
void probe_table_describe(struct side_builder *builder, const struct probe_table *table,
		const struct probe_table_event *event);
/*
 * Sets the label of the argument of each field. `described` is the description of the first field.
 */
struct side_event_field;
void probe_table_labels(const struct probe_table *table, const struct probe_table_event *event,
		const struct side_event_field *described, uint16_t *ret_labels);

#endif /* SIDE_PROBE_TABLE_TABLE_H */
