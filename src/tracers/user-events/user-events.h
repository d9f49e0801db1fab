/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_USER_EVENTS_USER_EVENTS_H
#define SIDE_TRACERS_USER_EVENTS_USER_EVENTS_H

/*
 * Writes events as the kernel's user_events, which ftrace and perf record without a tracer in the
 * program.
 *
 * libside loads this library if the user requests it (SIDE_USER_EVENTS, side_kernel_start()):
 *
 *       start.c     the user's selection; libside's notifications
 *       config.c    SIDE_USER_EVENTS and its file
 *       events.c    registers and unregisters events, finds them by their state
 *       name.c      names that kernel and tools accept
 *       tracefs.c   the kernel's file, its system calls, the meaning of their errors
 *       shape.c     the shape of a type after its values are loaded
 *       native.c    plain fields: description and record
 *       quick.c     the same for simple types
 *       metadata.c  EventHeader: the description in each record
 *       header.c    EventHeader: record
 *       write.c     handles a call
 *       table.c     the state that another process may read (`side kernel status`)
 *       notice.c    notifies recorders of new events
 *
 * The kernel sets bit 63 (31) of the state's enabled word when a tool records the event; libside
 * then calls kernel_write(), which allocates nothing, takes no lock, preserves errno and makes one
 * system call. Everything else happens in notifications, under libside's event lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/kernel.h>
#include <side/trace.h>

#include "abi/visit.h"
#include "protocol/pattern.h"

/* ftrace silently drops longer records. */
#define KERNEL_RECORD_MAX 4064
/* The kernel's limit, including the terminating zero. */
#define KERNEL_DESCRIPTION_SIZE 512

enum kernel_encoding { KERNEL_AUTO, KERNEL_NATIVE, KERNEL_EVENTHEADER };

/* ---- config.c ---- */

struct kernel_config {
	enum kernel_encoding encoding;
	struct pattern *patterns;
	size_t nr_patterns;
};

/*
 * Parse the selection: patterns separated by commas, "1" or "all" for every event, or the path of a
 * file (it begins with "/"). Returns false with `reason` set if it is malformed, or if out of
 * memory. The caller frees ret_config->patterns.
 */
bool kernel_config_read(const char *text, const char *encoding, struct kernel_config *ret_config,
		char *reason, size_t capacity);

/* ---- tracefs.c ---- */

/*
 * Open the kernel's file at a high descriptor number. Returns the descriptor, or a negative errno
 * with `reason` set; its second line is a hint.
 */
int kernel_open(char *reason, size_t capacity);
/* Returns 0 with *ret_index set, or a negative errno. */
int kernel_register(int fd, void *word, const char *description, bool multi, int32_t *ret_index);
int kernel_unregister(int fd, void *word);
const char *kernel_register_reason(int error);

/* ---- shape.c: types, independently of how their values are loaded ---- */

enum shape_kind {
	SHAPE_SCALAR,
	SHAPE_STRING,
	SHAPE_NULL,
	SHAPE_STRUCT,
	SHAPE_ARRAY, /* and VLA, with or without a visitor */
	SHAPE_OPTIONAL,
	SHAPE_VARIANT,
	SHAPE_DYNAMIC,
};

struct field_shape {
	enum shape_kind kind;
	/*
	 * Scalars: the type in the record. Widened native types are used where the size is not
	 * known.
	 */
	enum visit_kind scalar;
	uint8_t size; /* scalars: of the value; strings: of a unit */
	bool hex;     /* shown in hexadecimal */
	const struct side_type *element;
	const struct side_type_struct *structure;
	const struct side_type_variant *variant;
};

struct field_shape shape_of(const struct side_type *type);
/* Returns the shape of a value inside a dynamic one: a scalar, a string or NULL. */
struct field_shape shape_of_value(
		const struct visit_value *value, struct visit_attributes attributes);
/* True if the type alone describes the values: without variants and dynamic values. */
bool shape_is_static(const struct side_type *type);
/* Returns the number of nested structures. */
unsigned int shape_depth(const struct side_type *type);
/*
 * Write a scalar in host byte order; 128-bit numbers have the least significant byte first, or last
 * if `big_endian_128`.
 */
void shape_store(const struct field_shape *shape, const struct visit_value *value,
		bool big_endian_128, unsigned char to[16]);

/* ---- name.c ---- */

/* Append a name with the characters that tools accept: bytes other than [A-Za-z0-9_] become "_". */
void name_append(char *to, size_t capacity, const char *name);

/* ---- native.c ---- */

/*
 * Append the fields, in the kernel's syntax, to the name in the description. Returns false with a
 * reason if that syntax cannot describe them.
 */
bool native_describe(const struct side_event_description *desc, char *description, size_t capacity,
		uint32_t *ret_fixed_size, const char **ret_reason);

/* ---- metadata.c ---- */

/* A buffer whose size still grows when it is full. */
struct user_event_bytes {
	unsigned char *at;
	size_t size, capacity;
};

void bytes_put(struct user_event_bytes *bytes, const void *from, size_t size);
void bytes_put_u8(struct user_event_bytes *bytes, unsigned int value);
void bytes_put_u16(struct user_event_bytes *bytes, unsigned int value);

/* The encodings and formats of EventHeader that this library writes. */
enum {
	HEADER_STRUCT = 1,
	HEADER_VALUE8 = 2,
	HEADER_VALUE16 = 3,
	HEADER_VALUE32 = 4,
	HEADER_VALUE64 = 5,
	HEADER_VALUE128 = 6,
	HEADER_CHAR8 = 7,
	HEADER_BINARY = 13,
	HEADER_ARRAY = 0x40,
	HEADER_HAS_FORMAT = 0x80,

	FORMAT_UNSIGNED = 1,
	FORMAT_SIGNED = 2,
	FORMAT_HEX = 3,
	FORMAT_BOOLEAN = 7,
	FORMAT_FLOAT = 8,
	FORMAT_BYTES = 9,
	FORMAT_UTF = 11,

	HEADER_MEMBERS_MAX = 127,
	HEADER_DEPTH_MAX = 8,
};

/* Append a field with this name and static type. */
void metadata_field(struct user_event_bytes *to, const char *name, const struct side_type *type);
/* Append a field that is a scalar, a string or NULL. */
void metadata_scalar(
		struct user_event_bytes *to, const char *name, const struct field_shape *shape);
/* Append the event's name and all its fields, whose types must be static. */
void metadata_event(struct user_event_bytes *to, const struct side_event_description *desc);
/* Returns why decoders would refuse the event's types, or NULL if they accept them. */
const char *metadata_refusal(const struct side_event_description *desc);

/* ---- quick.c ---- */

/* A field that is copied unchanged; size 0: an 8-bit string. */
struct kernel_quick {
	uint16_t label;
	uint8_t size;
};

#define KERNEL_QUICK_MAX 16

/* ---- table.c ---- */

/* `shown` has a public layout (side/kernel.h); the other members are private. */
struct user_event {
	struct side_kernel_event_0 shown;
	struct user_event *next_free;
	const struct side_event_description *desc;
	struct side_event_state_0 *state;
	enum kernel_encoding encoding; /* never KERNEL_AUTO */
	bool is_static;                /* EventHeader: the metadata is complete */
	uint8_t level;                 /* EventHeader */
	uint32_t uses;                 /* number of batches that contain it */
	int32_t index;                 /* the kernel's index of the event for this descriptor */
	uint32_t fixed_size;           /* plain fields */
	uint8_t nr_quick;              /* plain fields: their number if all are simple, else 0 */
	struct kernel_quick quick[KERNEL_QUICK_MAX];
	struct user_event_bytes metadata;
};

/*
 * Returns a zeroed event that other processes can see, or NULL if out of memory. table_give_back()
 * keeps its memory for reuse.
 */
struct user_event *table_take(void);
void table_give_back(struct user_event *event);
/* Returns the next used event after `event`, which is NULL at the start; NULL at the end. */
struct user_event *table_next(struct user_event *event);
/* Allocate memory without malloc(), which may itself be traced. */
void *kernel_memory(size_t size);
void *kernel_small_memory(size_t size); /* never freed */
void table_report(const char *sentence);

/* ---- events.c ---- */

/* Add or remove the events of a batch. The caller holds the event lock. */
void events_add(struct side_event_description **events, uint32_t nr_events);
void events_remove(struct side_event_description **events, uint32_t nr_events);
void events_begin(int fd, const struct kernel_config *config);
/* Returns the event of a state, or NULL. Async-signal-safe. */
struct user_event *events_find(const struct side_event_state_0 *state);
/* Returns the descriptor, or -1. */
int events_descriptor(void);

/* ---- native.c, header.c: build a record in a buffer ---- */

/* One attempt to build a record, with a limit for its strings and arrays. */
struct user_event_record {
	struct user_event_bytes bytes;
	size_t limit; /* for the bytes of a string and the elements of an array */
	bool cut;     /* something was longer than the limit */
};

struct kernel_call {
	const struct user_event *event;
	const struct side_arg_vec *args;
	const struct side_arg_dynamic_struct *variadic;
};

/* Returns 0, or a negative errno of the walk. The record fits if bytes.size <= bytes.capacity. */
int native_record(const struct kernel_call *call, struct user_event_record *record);
/* Write the payload, and, if the event is not static, its metadata to *metadata. */
int header_record(const struct kernel_call *call, struct user_event_record *record,
		struct user_event_bytes *metadata);

/* Find out whether all fields of an event are simple. */
void quick_prepare(struct user_event *event);
/* Returns false if the call is not simple: use native_record(). */
bool quick_record(const struct kernel_call *call, struct user_event_bytes *bytes);

/* ---- write.c ---- */

void kernel_after_fork_in_child(void);
void kernel_write(const struct side_event_state_0 *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, void *caller);

/*
 * notice.c: notify the recorders of the kernel's events, and wait until they have enabled the new
 * events or the timeout has expired.
 */
void notice_send(void);

#endif /* SIDE_TRACERS_USER_EVENTS_USER_EVENTS_H */
