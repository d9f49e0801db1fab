/* SPDX-License-Identifier: MIT */
/*
 * SIDE: event descriptions created at run time, for JITs, interpreters and language bindings.
 *
 *	struct side_builder *b = side_builder_create("jit", "compiled", SIDE_LOGLEVEL_INFO, 0);
 *	struct side_builder_type *u32 = side_builder_integer(b, 4, 0, SIDE_TYPE_BYTE_ORDER_HOST);
 *
 *	side_builder_add_field(b, NULL, "size", u32);
 *	side_builder_add_field(b, NULL, "name", side_builder_string(b, 1, SIDE_TYPE_BYTE_ORDER_HOST));
 *	if (side_builder_register(b) != SIDE_ERROR_OK)
 *		puts(side_builder_error(b));
 *	...
 *	if (side_builder_enabled(b))
 *		side_call(side_builder_state(b), &arguments);
 *	...
 *	side_builder_destroy(b);
 *
 * A builder creates one event. It copies names, strings and attribute values; it keeps the
 * functions of VLA visitors by address. Types belong to their builder and may be used several times
 * in it.
 *
 * Errors. The functions that create types return NULL only if they are out of memory. They accept
 * NULL for a type, so that calls nest without checks. side_builder_finish() and
 * side_builder_register() report the first error, with the path to it. Functions that return int
 * return SIDE_ERROR_OK, SIDE_ERROR_INVAL, SIDE_ERROR_NOMEM or SIDE_ERROR_EXITING (the library is
 * finalised). side_builder_error() returns a sentence about the first error. A builder that has
 * failed can only be destroyed.
 *
 * Threads. Until side_builder_register() returns, and from side_builder_unregister() on, one thread
 * at a time uses a builder. In between, any number of threads may use side_builder_enabled(),
 * side_builder_state() and their results, in signal handlers too.
 *
 * End. side_builder_unregister() and side_builder_destroy() remove the event from all tracers and
 * wait until no callback of it is running. The caller guarantees that no thread calls side_call()
 * or a variant with the event's state from then on. A thread that has tested side_builder_enabled()
 * and has not reached side_call() yet is not covered: the caller must wait for it by other means.
 * Inside a callback of a tracer both would wait for themselves, so they return SIDE_ERROR_INVAL
 * there.
 */
#ifndef SIDE_BUILDER_H
#define SIDE_BUILDER_H

#pragma GCC system_header

#include <stddef.h>
#include <stdint.h>

#include <side/abi/event-description.h>
#include <side/abi/type-description.h>
#include <side/abi/type-value.h>
#include <side/abi/visitor.h>
#include <side/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct side_builder;
struct side_builder_type;

/* ---- the event ---- */

/* flags: 0 or SIDE_EVENT_FLAG_VARIADIC. NULL: out of memory. */
extern struct side_builder *side_builder_create(const char *provider, const char *event,
		enum side_loglevel loglevel, uint64_t flags);

/*
 * Unregister if necessary, then free everything. NULL is allowed. SIDE_ERROR_INVAL inside a
 * callback of a tracer: the call has no effect.
 */
extern int side_builder_destroy(struct side_builder *builder);

/* Check everything and create the description. After that, nothing can be added. */
extern int side_builder_finish(struct side_builder *builder);

/*
 * Finish if necessary, then register the event with all tracers. SIDE_ERROR_EXIST if it is already
 * registered. It may be registered again after it was unregistered.
 */
extern int side_builder_register(struct side_builder *builder);
extern int side_builder_unregister(struct side_builder *builder);

/*
 * The finished description, or NULL. It belongs to the builder. Instead of side_builder_register(),
 * several descriptions may be registered as one batch with side_events_register(); then call
 * side_events_unregister() and side_tracer_synchronize() (side/tracer-extensions.h) before
 * side_builder_destroy().
 */
extern struct side_event_description *side_builder_description(const struct side_builder *builder);

/* The argument for side_call(); NULL before side_builder_finish(). */
extern const struct side_event_state *side_builder_state(const struct side_builder *builder);

/* Whether a tracer has enabled the event: one relaxed load. 0 before side_builder_finish(). */
extern int side_builder_enabled(const struct side_builder *builder);

/* The first error, as a sentence; "" if there is none. Valid as long as the builder. */
extern const char *side_builder_error(const struct side_builder *builder);

/*
 * Append a field to the event (into == NULL) or to a struct. Names are UTF-8, not empty, and unique
 * in the event or struct.
 */
extern int side_builder_add_field(struct side_builder *builder, struct side_builder_type *into,
		const char *name, struct side_builder_type *type);

/* ---- scalar types ---- */

extern struct side_builder_type *side_builder_null(struct side_builder *builder);
extern struct side_builder_type *side_builder_bool(struct side_builder *builder);
extern struct side_builder_type *side_builder_byte(struct side_builder *builder);
/* size: 1, 2, 4, 8, 16 bytes. */
extern struct side_builder_type *side_builder_integer(struct side_builder *builder,
		unsigned int size, int is_signed, enum side_type_label_byte_order byte_order);
extern struct side_builder_type *side_builder_pointer(struct side_builder *builder,
		enum side_type_label_byte_order byte_order);
/* size: 2, 4, 8, 16 bytes; the host's order is SIDE_TYPE_FLOAT_WORD_ORDER_HOST. */
extern struct side_builder_type *side_builder_float(struct side_builder *builder, unsigned int size,
		enum side_type_label_byte_order byte_order);
/* unit_size: 1 (UTF-8), 2 (UTF-16), 4 (UTF-32). */
extern struct side_builder_type *side_builder_string(struct side_builder *builder,
		unsigned int unit_size, enum side_type_label_byte_order byte_order);
/* A value that carries its type. Has no attributes. */
extern struct side_builder_type *side_builder_dynamic(struct side_builder *builder);

/* ---- enumerations ---- */

/* element: an integer. */
extern struct side_builder_type *side_builder_enum(struct side_builder *builder,
		struct side_builder_type *element);
/* element: a byte, an unsigned integer, or an array or VLA of these. */
extern struct side_builder_type *side_builder_enum_bitmap(struct side_builder *builder,
		struct side_builder_type *element);
/* element: a gather integer. */
extern struct side_builder_type *side_builder_gather_enum(struct side_builder *builder,
		struct side_builder_type *element);
/* Name the values begin to end (inclusive) of an enumeration. Labels may overlap. */
extern int side_builder_add_label(struct side_builder *builder, struct side_builder_type *enumeration,
		const char *label, int64_t begin, int64_t end);
/* Name the bits begin to end (inclusive) of a bitmap. */
extern int side_builder_add_bit_label(struct side_builder *builder, struct side_builder_type *bitmap,
		const char *label, uint64_t begin, uint64_t end);

/* ---- compound types ---- */

/* Initially empty: see side_builder_add_field(). */
extern struct side_builder_type *side_builder_struct(struct side_builder *builder);
extern struct side_builder_type *side_builder_array(struct side_builder *builder,
		struct side_builder_type *element, uint32_t length);
/* length: an integer. */
extern struct side_builder_type *side_builder_vla(struct side_builder *builder,
		struct side_builder_type *element, struct side_builder_type *length);
extern struct side_builder_type *side_builder_vla_visitor(struct side_builder *builder,
		struct side_builder_type *element, struct side_builder_type *length,
		side_visitor_func visitor);
extern struct side_builder_type *side_builder_optional(struct side_builder *builder,
		struct side_builder_type *element);
/* selector: an integer. Initially empty: see side_builder_add_option(). */
extern struct side_builder_type *side_builder_variant(struct side_builder *builder,
		struct side_builder_type *selector);
/* The type of a variant if its selector is between begin and end (inclusive); the first match wins. */
extern int side_builder_add_option(struct side_builder *builder, struct side_builder_type *variant,
		int64_t begin, int64_t end, struct side_builder_type *type);

/* ---- gather types: the offset of a value from the pointer in the argument ---- */

/* size: 1, 2, 4, 8.  len_bits 0: all bits, with offset_bits 0. */
extern struct side_builder_type *side_builder_gather_bool(struct side_builder *builder,
		uint64_t offset, unsigned int size, unsigned int offset_bits, unsigned int len_bits,
		enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode);
extern struct side_builder_type *side_builder_gather_integer(struct side_builder *builder,
		uint64_t offset, unsigned int size, int is_signed, unsigned int offset_bits,
		unsigned int len_bits, enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode);
extern struct side_builder_type *side_builder_gather_byte(struct side_builder *builder,
		uint64_t offset, enum side_type_gather_access_mode access_mode);
extern struct side_builder_type *side_builder_gather_pointer(struct side_builder *builder,
		uint64_t offset, enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode);
extern struct side_builder_type *side_builder_gather_float(struct side_builder *builder,
		uint64_t offset, unsigned int size, enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode);
extern struct side_builder_type *side_builder_gather_string(struct side_builder *builder,
		uint64_t offset, unsigned int unit_size, enum side_type_label_byte_order byte_order,
		enum side_type_gather_access_mode access_mode);
/*
 * structure: created by side_builder_struct(), with gather members only; its attributes are used.
 */
extern struct side_builder_type *side_builder_gather_struct(struct side_builder *builder,
		struct side_builder_type *structure, uint64_t offset, uint32_t size,
		enum side_type_gather_access_mode access_mode);
/* element: a gather type, not a VLA. */
extern struct side_builder_type *side_builder_gather_array(struct side_builder *builder,
		struct side_builder_type *element, uint32_t length, uint64_t offset,
		enum side_type_gather_access_mode access_mode);
/* length: a gather integer. */
extern struct side_builder_type *side_builder_gather_vla(struct side_builder *builder,
		struct side_builder_type *element, struct side_builder_type *length, uint64_t offset,
		enum side_type_gather_access_mode access_mode);

/* ---- attributes, of a type or of the event (on == NULL) ---- */

extern int side_builder_attr_null(struct side_builder *builder, struct side_builder_type *on,
		const char *key);
extern int side_builder_attr_bool(struct side_builder *builder, struct side_builder_type *on,
		const char *key, int value);
/* size: 1, 2, 4, 8. */
extern int side_builder_attr_unsigned(struct side_builder *builder, struct side_builder_type *on,
		const char *key, unsigned int size, uint64_t value);
extern int side_builder_attr_signed(struct side_builder *builder, struct side_builder_type *on,
		const char *key, unsigned int size, int64_t value);
extern int side_builder_attr_u128(struct side_builder *builder, struct side_builder_type *on,
		const char *key, uint64_t high, uint64_t low);
extern int side_builder_attr_s128(struct side_builder *builder, struct side_builder_type *on,
		const char *key, int64_t high, uint64_t low);
/* size: 2, 4, 8, 16; value points to a float of that size in host order. */
extern int side_builder_attr_float(struct side_builder *builder, struct side_builder_type *on,
		const char *key, unsigned int size, const void *value);
extern int side_builder_attr_string(struct side_builder *builder, struct side_builder_type *on,
		const char *key, const char *value);
/* A string of units of 2 or 4 (or 1) bytes, ended by a unit of zeros. */
extern int side_builder_attr_text(struct side_builder *builder, struct side_builder_type *on,
		const char *key, const void *value, unsigned int unit_size,
		enum side_type_label_byte_order byte_order);

#ifdef __cplusplus
}
#endif

#endif /* SIDE_BUILDER_H */
