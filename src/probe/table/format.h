/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_TABLE_FORMAT_H
#define SIDE_PROBE_TABLE_FORMAT_H

/*
 * The format of a table, in host byte order: a head, one part head for each part, then the parts in
 * any order and without alignment. A part is an array of records. Each record is as long as the
 * head states, and at least as long as here: members that a reader does not know are at the end.
 * All references are indexes into parts; references to strings are offsets in their part, which
 * ends with a NUL.
 */

#include "probe/site.h"
#include "probe/table/table.h"

#include <stdint.h>

#define TABLE_MAGIC 0x424f5250u /* "PROB" in memory on a little-endian machine */
#define TABLE_STRIDE_MAX 4096   /* bytes of a record */

enum table_part {
	TABLE_MODULES,
	TABLE_EVENTS,
	TABLE_FIELDS,
	TABLE_FETCHES,
	TABLE_OPS,
	TABLE_PROBES,
	TABLE_PIECES,
	TABLE_STRINGS,
	TABLE_NR_PARTS
};

_Static_assert(TABLE_NR_PARTS == PROBE_TABLE_PARTS, "what the public header has room for");

struct table_head {
	uint32_t magic;
	uint16_t version;
	uint16_t nr_parts; /* readers ignore the parts after those that they know */
	uint32_t size;     /* of the table, in bytes */
	uint32_t reserved; /* 0 */
};

/* They follow the head, one for each part. */
struct table_part_head {
	uint32_t offset; /* from the start of the table */
	uint32_t count, stride;
	uint32_t reserved; /* 0 */
};

struct table_module {
	uint32_t path, name;
	uint32_t flags;
	uint32_t build_id_size;
	uint8_t build_id[PROBE_TABLE_BUILD_ID_MAX];
};

struct table_event {
	uint32_t provider, name;
	uint32_t loglevel;
	uint32_t first_field, nr_fields;
};

struct table_field {
	uint32_t name;
	uint8_t type, size;
	uint16_t limit;
	uint32_t labels;
};

#define TABLE_FIELD_GUARDED 0x80 /* a flag of the type */
#define TABLE_FIELD_LEAST 8      /* bytes of a record without labels */

struct table_fetch {
	uint32_t first_op, nr_ops;
};

struct table_probe {
	uint32_t module, entry, exit, flags;
	uint64_t semaphore;
	uint64_t address, offset, springboard;
	uint32_t function;
	uint32_t first_entry_fetch, first_exit_fetch, first_piece;
	uint8_t method, displaced, patched, ends;
	uint8_t nr_pieces, nr_bytes, has_reason;
	uint8_t bytes[PROBE_BYTES_MAX];
	uint8_t springboard_bytes[PROBE_JUMP_BYTES];
};

struct table_piece {
	uint8_t at, length, kind, field;
	uint8_t detail;
	/*
	 * Of the first piece: its site is the start of a function. Older writers do not know this
	 * member and write 0.
	 */
	uint8_t begins;
	uint8_t reserved[2];
	uint64_t target;
};

_Static_assert(sizeof(struct table_head) == 16, "as on other word sizes");
_Static_assert(sizeof(struct table_part_head) == 16, "as on other word sizes");
_Static_assert(sizeof(struct table_module) == 80, "as on other word sizes");
_Static_assert(sizeof(struct table_event) == 20, "as on other word sizes");
_Static_assert(sizeof(struct table_field) == 12, "as on other word sizes");
_Static_assert(sizeof(struct probe_fetch_op) == 16, "as on other word sizes");
_Static_assert(sizeof(struct table_probe) == 96, "as on other word sizes");
_Static_assert(sizeof(struct table_piece) == 16, "as on other word sizes");

/*
 * Bytes of a record of each part, as this version writes it. Newer writers may have longer records.
 */
extern const uint32_t table_strides[TABLE_NR_PARTS];

/*
 * These functions check what both the writer and the reader demand. Each returns NULL, or the
 * reason as a part of a sentence.
 */
const char *table_check_event(const char *provider, const char *name);
/* Checks all fields of an event together. */
const char *table_check_fields(const struct probe_table_field *fields, uint32_t nr_fields);
const char *table_check_op(const struct probe_fetch_op *op);
/*
 * Checks the operations of a fetch in turn. `*ret_aside` counts the values that are saved; it is 0
 * before the first one.
 */
const char *table_check_aside(const struct probe_fetch_op *op, unsigned int *nr_aside);
const char *table_check_site(const struct probe_site *site);
/* Returns the greatest number of bytes that a value of the field can have in a record. */
uint32_t table_field_bytes(const struct probe_table_field *field);

#endif /* SIDE_PROBE_TABLE_FORMAT_H */
