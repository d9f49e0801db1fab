/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_TABLE_TABLE_H
#define SIDE_PROBE_TABLE_TABLE_H

/*
 * A probe table: the probes of one spec. The command that the user ran resolves the spec and writes the table, because it
 * may read files and instructions. The session sends the table without reading it. The agent inside the program sets its
 * probes, and decodes no instruction. One table has one event name, with as many sites as the spec has. A table never
 * changes: a change is another table.
 *
 *	write.c     in the command: collects, and writes a sealed memfd
 *	read.c      in each receiver: checks a table or reports what is wrong, then reads its parts
 *	describe.c  in a process that makes SIDE events of a table: the types of the fields, and the argument of each
 *
 * A table describes modules (files that are mapped into a program): how they are identified. It describes events: their
 * names and fields. It describes probes: their module and site, their events at the entry and at the exit, and how each field
 * is fetched there. Fields belong to the event and fetches to the probe, because one SDT marker or one inlined function has
 * its arguments elsewhere at each site.
 *
 * A table is hostile until probe_table_open() has accepted it. Afterwards all of its numbers are in bounds and its strings
 * end; what they say (addresses, bytes of code) must still be compared with the program, which is what
 * probe/patch does. It must not change while it is used: readers of a descriptor demand its seals.
 *
 * Contexts of probes (registers, variables, the calls that led there) are further fields of the event, behind its own: who
 * asks for one later writes the table anew.
 */

#include "probe/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counted up when an old reader would misunderstand. New members at the ends of records, and new sections, are no reason. */
#define PROBE_TABLE_VERSION 1

#define PROBE_TABLE_MAX (256u << 20) /* bytes of a table */
#define PROBE_TABLE_STRING_MAX 4095  /* bytes of a string, without its NUL */
#define PROBE_TABLE_MODULES_MAX 65536u
#define PROBE_TABLE_EVENTS_MAX 65536u
#define PROBE_TABLE_PROBES_MAX (1u << 20)
#define PROBE_TABLE_FIELDS_MAX 64      /* of an event */
#define PROBE_TABLE_FIELD_NAME_MAX 255 /* bytes */
#define PROBE_TABLE_OPS_MAX 32         /* of a fetch */
#define PROBE_TABLE_ASIDE_MAX 4        /* numbers that are put aside at one time */
#define PROBE_TABLE_BUILD_ID_MAX 64    /* bytes */
#define PROBE_TABLE_TEXT_MAX 4096 /* bytes of a string that is fetched, and of an array of bytes */
#define PROBE_TABLE_BACKTRACE_MAX 128 /* addresses */
#define PROBE_TABLE_PAYLOAD_MAX 32768 /* bytes that all fields of an event together may have */
#define PROBE_TABLE_NONE UINT32_MAX   /* no event */

/* ---- modules ---- */

enum probe_module_flag {
	/* The program itself, whatever its path: for when it has no build id. */
	PROBE_MODULE_EXECUTABLE = 1 << 0,
};

/*
 * A mapped file that has a build id is the module when that agrees, wherever it lies; without one here, when the path
 * does. A module may be mapped later, several times (dlmopen), or never.
 */
struct probe_table_module {
	const char *path;       /* absolute, as the program sees it */
	const char *name;       /* for people: "libc.so.6" */
	uint32_t flags;         /* enum probe_module_flag */
	uint32_t build_id_size; /* 0: it has none */
	uint8_t build_id[PROBE_TABLE_BUILD_ID_MAX];
};

/* ---- events ---- */

enum probe_field_type {
	PROBE_FIELD_UNSIGNED =
			1,  /* size: 1, 2, 4, 8, and 16 with PROBE_FETCH_WIDE, without a limit */
	PROBE_FIELD_SIGNED, /* likewise */
	PROBE_FIELD_HEX,    /* unsigned, shown in base 16: addresses, registers, masks */
	PROBE_FIELD_BOOL,   /* size 1 */
	PROBE_FIELD_FLOAT,  /* size: 4, 8, 16 likewise; what is fetched are its bits */
	PROBE_FIELD_STRING, /* size: 1; limit: bytes; what is fetched is its address */
	PROBE_FIELD_BYTES,  /* size: 1; limit: how many; what is fetched is their address */
	PROBE_FIELD_BACKTRACE, /* size: 8; limit: most return addresses; the fetch is PROBE_FETCH_BACKTRACE alone */
	/* size: how many of the fields behind it are in it, at any depth, at least one; the fetch is empty. */
	PROBE_FIELD_STRUCT,
};

/*
 * Numbers (UNSIGNED, SIGNED, HEX, FLOAT) with a limit are arrays of at most `limit` elements; the fetch gets the address.
 * A field with a limit is shorter if its fetch gives a length (PROBE_FETCH_LENGTH). Otherwise a string ends with its NUL, and all
 * others have `limit` elements.
 */

struct probe_table_field {
	/* Of the letters, digits and "_." that names of fields have; unique in its event, or in its structure. */
	const char *name;
	uint8_t type;   /* enum probe_field_type */
	uint8_t size;   /* bytes of a value, or of an element */
	uint16_t limit; /* of what has a length; 0 for all others */
	/* Of an enumeration, which is a number with or without a sign: "NAME=VALUE,NAME=VALUE"; else "" or NULL. */
	const char *labels;
	/*
	 * The value is behind a pointer that may be invalid: in the event it is an optional value, which is absent if it could not be read. Not
	 * set for a structure, but for its members.
	 */
	bool guarded;
};

#define PROBE_TABLE_LABEL_MAX 128 /* bytes of a name, without its NUL */

/* The attribute of its optional value. */
#define PROBE_TABLE_GUARDED "side.unreadable"

/* A count, and behind it what it counts. */
static inline bool probe_field_is_several(const struct probe_table_field *field)
{
	return field->limit && field->type != PROBE_FIELD_STRING;
}

/* The next label; `*at` is the text at first. False: there is none, or it cannot be read, and `*at` is not at the end. */
bool probe_table_label(const char **at, char name[PROBE_TABLE_LABEL_MAX + 1], int64_t *value);

/* The SIDE event PROVIDER:NAME, made in the program. */
struct probe_table_event {
	const char *provider;
	const char *name;
	uint32_t loglevel; /* enum side_loglevel */
	uint32_t nr_fields;
	const struct probe_table_field
			*fields; /* for writing; when it is read: probe_table_field() */
	uint32_t first_field;    /* result of reading */
};

/*
 * The position of the argument of each field: the arguments of the event come first and are adjacent. Those of each
 * structure are adjacent, too.
 */
struct probe_table_nest {
	uint8_t nr_top;                      /* arguments of the event */
	uint8_t arg[PROBE_TABLE_FIELDS_MAX]; /* of each field */
	uint8_t first[PROBE_TABLE_FIELDS_MAX]; /* of each structure: the argument of its first member, */
	uint8_t number[PROBE_TABLE_FIELDS_MAX]; /* and how many there are */
};
void probe_table_nest(struct probe_table_nest *nest, const uint8_t *inside, uint32_t nr_fields);

/* Of the fields behind it, how many are in it. */
static inline uint32_t probe_table_inside(const struct probe_table_field *field)
{
	return field->type == PROBE_FIELD_STRUCT ? field->size : 0;
}

/* ---- fetches ---- */

/*
 * How a value is got: operations in turn on one number of 64 bits, which is 0 at first. Memory is read safely: if there is
 * none, the value is 0 (strings, bytes: empty), and the bit of that field is set in what PROBE_FETCH_UNREADABLE gives.
 */
enum probe_fetch_code {
	/* The number becomes … */
	PROBE_FETCH_CONSTANT = 1, /* value */
	PROBE_FETCH_REGISTER,     /* of number `reg`, see below */
	PROBE_FETCH_VECTOR, /* the 8 bytes at byte `value` (0, 8) of vector register `reg` (0 to 15) */
	PROBE_FETCH_MODULE, /* the address `value` of the probe's own module, as the program has it */
	PROBE_FETCH_SITE,   /* the address of the probe, as the program has it */
	PROBE_FETCH_FUNCTION, /* the address of the name of the probe's function: for a string */
	PROBE_FETCH_CALL, /* the number of the call, the same at entry and exit; 0 without an exit */
	PROBE_FETCH_DURATION,  /* at an exit: nanoseconds since the entry */
	PROBE_FETCH_RETURN,    /* the return address, at the entry of a function and at its exit */
	PROBE_FETCH_BACKTRACE, /* for PROBE_FIELD_BACKTRACE, alone */
	PROBE_FETCH_UNREADABLE, /* of the fields before: bit n: something of field n could not be read */
	PROBE_FETCH_THREAD, /* what the thread's own variables are counted from (the thread pointer), plus value */
	PROBE_FETCH_ERRNO, /* the address of the thread's errno */
	/* … and is changed: */
	PROBE_FETCH_ADD = 32,     /* += value */
	PROBE_FETCH_ADD_REGISTER, /* += register `reg` << `size` */
	PROBE_FETCH_LOAD,         /* `size` (1, 2, 4, 8) bytes of memory at it, the upper ones 0 */
	PROBE_FETCH_SHIFT_RIGHT,  /* by `size` bits (0 to 63), zeroes coming in */
	PROBE_FETCH_ZERO_EXTEND,  /* of `size` bits (1 to 64), all others 0 */
	PROBE_FETCH_SIGN_EXTEND,  /* of `size` bits (1 to 64), all others as the highest of them */
	PROBE_FETCH_PUSH, /* not at all: it is put aside, above what is there, and stays, too */
	PROBE_FETCH_CALCULATE, /* what was put aside last, taken from there, with it: by `size`, enum probe_fetch_sum */
	PROBE_FETCH_LENGTH, /* it is how many there are of what is fetched, and 0 from here on */
	PROBE_FETCH_EXTENDED, /* 10 bytes of memory at it, a number of the x87 (long double), as the bits of a double */
	PROBE_FETCH_BLOCK, /* from the number by which the loader knows a module: the thread's own variables of that one */
	PROBE_FETCH_HALF, /* a number of 16 bits (_Float16), as the bits of a float */
	/* Last step: the value is the upper half of a number of 16 bytes; the lower half is the last saved value. */
	PROBE_FETCH_WIDE,
};

/* The left operand is the value that was put aside. Numbers have 64 bits and no sign unless noted; an undefined result is 0. */
enum probe_fetch_sum {
	PROBE_SUM_PLUS = 1,
	PROBE_SUM_MINUS,
	PROBE_SUM_TIMES,
	PROBE_SUM_DIVIDE, /* with signs */
	PROBE_SUM_MODULO,
	PROBE_SUM_AND,
	PROBE_SUM_OR,
	PROBE_SUM_XOR,
	PROBE_SUM_LEFT, /* by so many bits; from 64 on all are gone */
	PROBE_SUM_RIGHT,
	PROBE_SUM_RIGHT_SIGNED,
	PROBE_SUM_EQUAL, /* 0 or 1, as all that follow, which take both with signs */
	PROBE_SUM_NOT_EQUAL,
	PROBE_SUM_LESS,
	PROBE_SUM_LESS_EQUAL,
	PROBE_SUM_GREATER,
	PROBE_SUM_GREATER_EQUAL,
};

struct probe_fetch_op {
	uint8_t code; /* enum probe_fetch_code */
	uint8_t size;
	/*
	 * As DWARF counts registers. x86-64: rax rdx rcx rbx rsi rdi rbp rsp, then r8 to r15, 16 is the address of
	 * the probe (rip), 49 the flags. At entries rbx and r12 to r15 need PROBE_ENTRY_ALL; at exits
	 * 16 is where it goes on.
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
	PROBE_ENTRY_ALL = 1 << 0,  /* all general registers are kept */
	PROBE_ENTRY_TRAP = 1 << 1, /* by a breakpoint, whatever the site says */
	/*
	 * The command has the kernel watch the site in the process that the table is for, and records those hits. So it is set only
	 * where the kernel does not see it for us: in forked children, and where another table wants it set.
	 */
	PROBE_ENTRY_KERNEL = 1 << 2,
	/* With PROBE_ENTRY_KERNEL: it does so in another process, from which this one may come. */
	PROBE_ENTRY_ELSEWHERE = 1 << 3,
};

#define PROBE_ENTRY_FLAGS \
	(PROBE_ENTRY_ALL | PROBE_ENTRY_TRAP | PROBE_ENTRY_KERNEL | PROBE_ENTRY_ELSEWHERE)

/* One place. At least one of the events is there; an exit only at the begin of a function. */
struct probe_table_probe {
	uint32_t module;
	uint32_t entry;     /* event; or PROBE_TABLE_NONE */
	uint32_t exit;      /* event; or PROBE_TABLE_NONE */
	uint32_t flags;     /* enum probe_entry_flag */
	uint64_t semaphore; /* of SDT: address in the file of 16 bits that count listeners; 0: none */
	const char *function; /* name, for people and PROBE_FETCH_FUNCTION; "" if there is none */
	struct probe_site
			site; /* runtime is 0; of the reason there is only whether there is one when it is read */
	/* One for each field of the event, in order. For writing; when it is read: probe_table_fetch(). */
	const struct probe_fetch *entry_fetches, *exit_fetches;
	uint32_t first_entry_fetch, first_exit_fetch; /* result of reading */
};

/* ---- writing ---- */

struct probe_table_writer;

/* NULL: out of memory. */
struct probe_table_writer *probe_table_writer_new(void);
void probe_table_writer_free(struct probe_table_writer *writer);

/*
 * Copy what they are given and return its number, from 0; or -EINVAL for what no reader takes, -E2BIG, -ENOMEM. After an error
 * nothing has been added. An event must be there before its probes, and a module, too.
 */
int64_t probe_table_add_module(
		struct probe_table_writer *writer, const struct probe_table_module *module);
int64_t probe_table_add_event(
		struct probe_table_writer *writer, const struct probe_table_event *event);
int64_t probe_table_add_probe(
		struct probe_table_writer *writer, const struct probe_table_probe *probe);

/* The table as bytes, which are to be freed; as a memfd with all its seals. 0 or the descriptor; -ENOMEM, -E2BIG or -errno. */
int probe_table_bytes(struct probe_table_writer *writer, void **bytes, size_t *size);
int probe_table_memfd(struct probe_table_writer *writer);

/* ---- reading ---- */

/* Where the records of one kind are. */
struct probe_table_part {
	const char *records;
	uint32_t count, stride;
};

#define PROBE_TABLE_PARTS 8

/* Refers to the bytes, which must stay. No memory is taken, and nothing of libc is called that reading needs. */
struct probe_table {
	const char *bytes;
	size_t size;
	struct probe_table_part parts[PROBE_TABLE_PARTS];
};

/*
 * 0, or -EPROTO and *reason is why, a part of a sentence: "a probe's event is none of its events". -EPROTONOSUPPORT: of another
 * version. All numbers have been checked then.
 */
int probe_table_open(
		struct probe_table *table, const void *bytes, size_t size, const char **reason);

/* Has it the seals of a table, and how big is it? 0, -EPERM, -EFBIG or -errno. */
int probe_table_check_memfd(int fd, size_t *size);

uint32_t probe_table_nr_modules(const struct probe_table *table);
uint32_t probe_table_nr_events(const struct probe_table *table);
uint32_t probe_table_nr_probes(const struct probe_table *table);
uint32_t probe_table_nr_fetches(
		const struct probe_table *table); /* of all probes, some of which share theirs */
/* Of an index in bounds. */
void probe_table_module(
		const struct probe_table *table, uint32_t index, struct probe_table_module *module);
void probe_table_event(
		const struct probe_table *table, uint32_t index, struct probe_table_event *event);
void probe_table_probe(
		const struct probe_table *table, uint32_t index, struct probe_table_probe *probe);
/* Field `index` of that event; fetch of field `index`, by first_entry_fetch or first_exit_fetch of the probe. */
void probe_table_field(const struct probe_table *table, const struct probe_table_event *event,
		uint32_t index, struct probe_table_field *field);
void probe_table_fetch(const struct probe_table *table, uint32_t first, uint32_t index,
		struct probe_fetch *fetch);

/* The fields of an event for a SIDE event that `builder` makes. What goes wrong the builder says when it is finished. */
struct side_builder;
void probe_table_describe(struct side_builder *builder, const struct probe_table *table,
		const struct probe_table_event *event);
/* What the argument of each field is labelled with, of that description, from the first of these fields on. */
struct side_event_field;
void probe_table_labels(const struct probe_table *table, const struct probe_table_event *event,
		const struct side_event_field *described, uint16_t *labels);

#endif /* SIDE_PROBE_TABLE_TABLE_H */
