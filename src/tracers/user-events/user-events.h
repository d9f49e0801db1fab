/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_USER_EVENTS_USER_EVENTS_H
#define SIDE_TRACERS_USER_EVENTS_USER_EVENTS_H

/*
 * Events as the kernel's user_events: ftrace and perf record them, with no tracer in the program.
 * libside loads this library when the user asks for it (SIDE_USER_EVENTS, side_kernel_start()):
 *
 *	start.c     what the user wants; libside's notifications
 *	config.c    SIDE_USER_EVENTS and its file
 *	events.c    events that come and go: registered with the kernel, found again by their state
 *	name.c      names that the kernel and its readers take
 *	tracefs.c   the kernel's side: the file, its calls, what their errors mean
 *	shape.c     what a type is once it is loaded
 *	native.c    plain fields: description and record
 *	quick.c     the same for the commonest kinds
 *	metadata.c  EventHeader: the description that each record carries
 *	header.c    EventHeader: record
 *	write.c     an event happens
 *	table.c     what another process may read of all this (`side kernel status`)
 *
 * The kernel sets bit 63 (31) of the state's enabled word when somebody listens, and libside then
 * calls kernel_write(). That allocates nothing, takes no lock, keeps errno and makes one system
 * call. All the rest happens in notifications, under libside's event lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/kernel.h>
#include <side/trace.h>

#include "abi/visit.h"
#include "protocol/pattern.h"

/* ftrace drops longer records without a word. */
#define KERNEL_RECORD_MAX 4064
/* What the kernel accepts, with its NUL. */
#define KERNEL_DESCRIPTION_SIZE 512

enum kernel_encoding { KERNEL_AUTO, KERNEL_NATIVE, KERNEL_EVENTHEADER };

/* ---- config.c ---- */

struct kernel_config {
	enum kernel_encoding encoding;
	struct pattern *patterns;
	size_t nr_patterns;
};

/*
 * Words with commas between them, "1" or "all" for everything, or the path of a file (it begins with "/").
 * False, with a sentence: it cannot be parsed, or memory is missing. Free patterns.
 */
bool kernel_config_read(const char *text, const char *encoding, struct kernel_config *config,
		char *reason, size_t capacity);

/* ---- tracefs.c ---- */

/* Open the kernel's file, out of the way of the program's descriptors; or -errno and a sentence, with a line for a hint. */
int kernel_open(char *reason, size_t capacity);
/* 0 and *index, or -errno. */
int kernel_register(int fd, void *word, const char *description, bool multi, int32_t *index);
int kernel_unregister(int fd, void *word);
const char *kernel_register_reason(int error);

/* ---- shape.c: types, whatever way their values are loaded ---- */

enum shape_kind {
	SHAPE_SCALAR,
	SHAPE_STRING,
	SHAPE_NULL,
	SHAPE_STRUCT,
	SHAPE_ARRAY, /* and VLA, with or without visitor */
	SHAPE_OPTIONAL,
	SHAPE_VARIANT,
	SHAPE_DYNAMIC,
};

struct field_shape {
	enum shape_kind kind;
	/* Of scalars: as they are written, which is native and widened where nobody knows the size. */
	enum visit_kind scalar;
	uint8_t size; /* of scalars; of strings: of a unit */
	bool hex;     /* a person wants to see it so */
	const struct side_type *element;
	const struct side_type_struct *structure;
	const struct side_type_variant *variant;
};

struct field_shape shape_of(const struct side_type *type);
/* Of a value inside a dynamic one. Only scalars, strings and NULL. */
struct field_shape shape_of_value(
		const struct visit_value *value, struct visit_attributes attributes);
/* Is the description of the type all that a reader needs: no variants, no dynamic values? */
bool shape_is_static(const struct side_type *type);
/* How many structures deep. */
unsigned int shape_depth(const struct side_type *type);
/* Write a scalar in host order; 128-bit numbers with the least significant byte first or last. */
void shape_store(const struct field_shape *shape, const struct visit_value *value,
		bool big_endian_128, unsigned char to[16]);

/* ---- name.c ---- */

/* Append what of the name readers take: [A-Za-z0-9_]; other bytes become "_". */
void name_append(char *to, size_t capacity, const char *name);

/* ---- native.c ---- */

/*
 * The fields as the kernel's grammar says them, appended to the name in the description. False, with a
 * reason: it cannot say them all.
 */
bool native_describe(const struct side_event_description *desc, char *description, size_t capacity,
		uint32_t *fixed_size, const char **reason);

/* ---- metadata.c ---- */

/* A buffer that counts on when it is full. */
struct user_event_bytes {
	unsigned char *at;
	size_t size, capacity;
};

void bytes_put(struct user_event_bytes *bytes, const void *from, size_t size);
void bytes_put_u8(struct user_event_bytes *bytes, unsigned int value);
void bytes_put_u16(struct user_event_bytes *bytes, unsigned int value);

/* Encodings and formats of EventHeader that we write. */
enum {
	HEADER_STRUCT = 1,
	HEADER_VALUE8 = 2,
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

/* The field with this name and static type. */
void metadata_field(struct user_event_bytes *to, const char *name, const struct side_type *type);
/* A field that is a scalar, a string or NULL. */
void metadata_scalar(
		struct user_event_bytes *to, const char *name, const struct field_shape *shape);
/* All fields of an event whose types are static, with the event's name in front. */
void metadata_event(struct user_event_bytes *to, const struct side_event_description *desc);
/* Why decoders would refuse what has this type; NULL: they take it. */
const char *metadata_refusal(const struct side_event_description *desc);

/* ---- quick.c ---- */

/* A field that is copied as it is; size 0: an 8-bit text. */
struct kernel_quick {
	uint16_t label;
	uint8_t size;
};

#define KERNEL_QUICK_MAX 16

/* ---- table.c ---- */

/* What others may read has a layout (side/kernel.h); the rest is ours. */
struct user_event {
	struct side_kernel_event_0 shown;
	struct user_event *next_free;
	const struct side_event_description *desc;
	struct side_event_state_0 *state;
	enum kernel_encoding encoding; /* never AUTO */
	bool is_static;                /* EventHeader: metadata is made already */
	uint8_t level;                 /* EventHeader */
	uint32_t uses;                 /* batches that it is in */
	int32_t index;                 /* in our descriptor */
	uint32_t fixed_size;           /* native */
	uint8_t nr_quick;              /* native: all its fields are simple; 0: they are not */
	struct kernel_quick quick[KERNEL_QUICK_MAX];
	struct user_event_bytes metadata;
};

/* Zeroed and shown to others, or NULL: no memory. Given back, it is kept for the next one. */
struct user_event *table_take(void);
void table_give_back(struct user_event *event);
/* The next one that is in use; NULL in the beginning and at the end. */
struct user_event *table_next(struct user_event *event);
/* Memory of ours, never malloc(): the program's may be what is traced. */
void *kernel_memory(size_t size);
void *kernel_small_memory(size_t size); /* never given back */
void table_report(const char *sentence);

/* ---- events.c ---- */

/* The events of a batch come or go, with the event lock. */
void events_come(struct side_event_description **events, uint32_t nr_events);
void events_go(struct side_event_description **events, uint32_t nr_events);
void events_begin(int fd, const struct kernel_config *config);
/* The event of a state, or NULL. Async-signal-safe. */
struct user_event *events_find(const struct side_event_state_0 *state);
/* Our descriptor, or -1. */
int events_descriptor(void);

/* ---- native.c, header.c: a record into the buffer ---- */

/* One attempt to write a record: what fits, and what is to be cut when it does not. */
struct user_event_record {
	struct user_event_bytes bytes;
	size_t limit; /* of the bytes of a string and the elements of an array */
	bool cut;     /* something was longer than that */
};

struct kernel_call {
	const struct user_event *event;
	const struct side_arg_vec *args;
	const struct side_arg_dynamic_struct *variadic;
};

/* 0, or -errno of the walk. Whether it fits is seen by bytes.size and bytes.room. */
int native_record(const struct kernel_call *call, struct user_event_record *record);
/* The payload; what the metadata is of an event that is not static goes to *metadata. */
int header_record(const struct kernel_call *call, struct user_event_record *record,
		struct user_event_bytes *metadata);

/* See whether all fields of an event are simple. */
void quick_prepare(struct user_event *event);
/* False: not for here, native_record() knows. */
bool quick_record(const struct kernel_call *call, struct user_event_bytes *bytes);

/* ---- write.c ---- */

void kernel_after_fork_in_child(void);
void kernel_write(const struct side_event_state_0 *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, void *caller);

/* notice.c: whoever records the kernel's events has seen those that are there now, or did not answer. */
void notice_send(void);

#endif /* SIDE_TRACERS_USER_EVENTS_USER_EVENTS_H */
