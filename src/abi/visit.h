/* SPDX-License-Identifier: MIT */
/*
 * The visit room: everything that reads SIDE descriptions and arguments.
 *
 *	values		visit_load_*, visit_value_*, visit_text_*	one scalar, normalised
 *	descriptions	visit_description_check, visit_description	walk and validate
 *	arguments	visit_arguments					walk against a description
 *	codec		visit_description_encode/read/decode		bytes and back, foreign memory
 *	people		visit_description_json, visit_*_text		JSON and C-like text
 *
 * All of it may run inside a traced program. The value and argument parts allocate nothing, take
 * no lock and keep errno, so they may run in signal handlers. What needs memory (codec, JSON)
 * writes into a struct visit_buffer whose memory its user chooses. Only visit_description_decode
 * uses malloc; it is meant for consumers.
 *
 * Functions return 0 or a negative errno, and say why in a struct visit_error if given one:
 *
 *	-EINVAL		the thing is not what the ABI or the description says
 *	-ELOOP		nested deeper than VISIT_DEPTH_MAX, or a cycle
 *	-EFAULT		a NULL pointer, or foreign memory that cannot be read
 *	-E2BIG		more than a budget allows
 *	-ENOMEM		the buffer cannot grow
 *	-ENOTSUP	a version or label newer than this code knows
 */
#ifndef SIDE_ABI_VISIT_H
#define SIDE_ABI_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/abi/attribute.h>
#include <side/abi/event-description.h>
#include <side/abi/type-argument.h>
#include <side/abi/type-description.h>
#include <side/abi/type-value.h>
#include <side/abi/visitor.h>

/* Types and values nested deeper than this are refused. */
#define VISIT_DEPTH_MAX 128

/* One description: most type, attribute, mapping and field nodes; most encoded bytes. */
#define VISIT_NODES_MAX (1u << 20)
#define VISIT_ENCODED_MAX (16u << 20)

/* ---- errors ---------------------------------------------------------------------------- */

/* What is wrong, and where: the path from the event inwards, a step a line. */
struct visit_error {
	char what[256];
	char hint[160]; /* what to do about it; empty if nobody knows */
	char where[512];
	char expected[64]; /* what stands there instead of what should; empty if that says nothing */
	char found[64];
};

/* Writes "what (in provider:event, field "x", index: 2)" in one line, NUL-terminated. Returns out. */
char *visit_error_problem(const struct visit_error *error, char *out, size_t size);
/* The same with "; " and the hint appended, for logs. */
char *visit_error_sentence(const struct visit_error *error, char *out, size_t size);

/* ---- buffers --------------------------------------------------------------------------- */

/* A growing byte buffer. Errors stick: after a failed append the rest is ignored. */
struct visit_buffer {
	unsigned char *data;
	size_t size;
	size_t capacity;
	int error;
	/* Makes room for at least capacity bytes, keeping data[0..size); 0 or -errno. */
	int (*grow)(struct visit_buffer *buffer, size_t capacity);
};

void visit_buffer_heap(struct visit_buffer *buffer);                             /* malloc */
void visit_buffer_pages(struct visit_buffer *buffer);                            /* mmap */
void visit_buffer_fixed(struct visit_buffer *buffer, void *memory, size_t size); /* never grows */
void visit_buffer_free(struct visit_buffer *buffer);
int visit_buffer_append(struct visit_buffer *buffer, const void *bytes, size_t size);
int visit_buffer_printf(struct visit_buffer *buffer, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

/* ---- text ------------------------------------------------------------------------------ */

/*
 * UTF-8, 16 and 32 to generalised UTF-8 as docs/spec/recording.md section 3 says. 8-bit text is
 * passed through byte by byte, whatever it holds.
 */
struct visit_text {
	const unsigned char *at; /* NULL reads as the text (null) */
	uint8_t unit_size;
	uint8_t byte_order; /* enum side_type_label_byte_order */
};

#define VISIT_TEXT_UNIT_MAX 7 /* bytes that one step of visit_text_next() may give */

/* Convert the next character; returns its 1 to 7 bytes in out, or 0 at the terminator. */
unsigned int visit_text_next(struct visit_text *text, unsigned char out[VISIT_TEXT_UNIT_MAX]);

/*
 * Convert a whole string, at most room bytes; no NUL is written. Returns the number of bytes that
 * the whole conversion has (may be more than room). A NULL string converts to "(null)".
 */
size_t visit_text_utf8(const void *string, unsigned int unit_size, unsigned int byte_order,
		void *to, size_t capacity);

/* Whether two strings are the same text, whatever their units. */
bool visit_raw_string_same(
		const struct side_type_raw_string *one, const struct side_type_raw_string *other);

/* Bytes of the string with its terminator, as it stands in memory. */
size_t visit_text_bytes(const void *string, unsigned int unit_size);

/* Encode one code unit (up to 32 bits) as generalised UTF-8; returns 1 to 7. */
unsigned int visit_utf8_encode(uint32_t unit, unsigned char out[VISIT_TEXT_UNIT_MAX]);

/* ---- values ---------------------------------------------------------------------------- */

enum visit_kind {
	VISIT_NULL,
	VISIT_BOOL,
	VISIT_UNSIGNED,
	VISIT_SIGNED,
	VISIT_BYTE,
	VISIT_POINTER,
	VISIT_FLOAT,
	VISIT_STRING,
};

/*
 * One scalar in host byte order. Integers are extended to 128 bits (sign-extended if signed), so
 * lo alone is the value of everything up to 64 bits.
 */
struct visit_value {
	enum visit_kind kind;
	uint16_t size;           /* bytes of storage; strings: unit size */
	uint16_t bits;           /* significant bits of integers and booleans; else size * 8 */
	uint64_t lo, hi;         /* integers, byte, pointer; bool: the bits, true when not zero */
	unsigned char bytes[16]; /* float: its size bytes in host order */
	struct visit_text text;  /* string */
};

/* The attribute list of a type, mapping table, value or event. */
struct visit_attributes {
	const struct side_attr *attr;
	uint32_t nr;
};

/* Turn any attribute array of the ABI, given by pointer, into a struct visit_attributes. */
#define visit_attributes_of(array) \
	((struct visit_attributes){side_array_elements(array), side_array_length(array)})

/* Load a scalar from its bytes in memory (any alignment). -EINVAL for impossible sizes or bits. */
int visit_load_integer(const struct side_type_integer *type, unsigned int offset_bits,
		const void *bytes, struct visit_value *value);
int visit_load_bool(const struct side_type_bool *type, unsigned int offset_bits, const void *bytes,
		struct visit_value *value);
int visit_load_float(
		const struct side_type_float *type, const void *bytes, struct visit_value *value);
void visit_load_byte(const void *bytes, struct visit_value *value);
void visit_load_string(
		const struct side_type_string *type, const void *string, struct visit_value *value);

/* The same from a type cell with a scalar label (0 to 20) and its argument. Labels not compared. */
int visit_load_argument(const struct side_type *type, const struct side_arg *arg,
		struct visit_value *value);
/* From an argument with a dynamic scalar label (40 to 46), whose type it carries itself. */
int visit_load_dynamic(const struct side_arg *arg, struct visit_value *value);
/* From an attribute. */
int visit_load_attribute(const struct side_attr_value *attr, struct visit_value *value);
/* From a gather scalar (30 to 35, 39) and its base pointer. */
int visit_load_gather(const struct side_type *type, const void *base, struct visit_value *value);

/* The value as signed 64-bit, as ranges of enumerations and variants compare it. False: no fit. */
bool visit_value_s64(const struct visit_value *value, int64_t *as);

/* Floats of any size as double (binary128 rounded); binary16 to binary32 bit by bit, exact. */
double visit_value_double(const struct visit_value *value);
long double visit_value_long_double(const struct visit_value *value);
uint32_t visit_float16_to_32(uint16_t bits);

/* %.<precision>g of a float (%Lg of binary128), with a point in every locale. */
#define VISIT_FLOAT_DIGITS_MAX 64
size_t visit_value_float_digits(
		const struct visit_value *value, int precision, char out[VISIT_FLOAT_DIGITS_MAX]);

/* Decimal, hexadecimal, octal or binary digits (base 10, 16, 8, 2) of an integer of any width. */
#define VISIT_DIGITS_MAX 144
size_t visit_value_digits(const struct visit_value *value, unsigned int base, bool prefix,
		char out[VISIT_DIGITS_MAX]);

/* The attribute std.integer.base if it stands there and is 2, 8, 10 or 16, else otherwise. */
unsigned int visit_attribute_base(struct visit_attributes attributes, unsigned int otherwise);
/* The first attribute of that name, or NULL. */
const struct side_attr *visit_attribute_find(struct visit_attributes attributes, const char *name);

/* ---- gather ---------------------------------------------------------------------------- */

/* base + offset, which wraps around: the base is what a program gave, and may be anything. */
static inline const void *visit_gather_at(const void *base, uint64_t offset)
{
	return (const void *)((uintptr_t)base + (uintptr_t)offset);
}

/* The data address of section 8.6: base + offset, followed once in pointer mode. -EFAULT: NULL. */
int visit_gather_access(
		const void *base, uint64_t offset, unsigned int access_mode, const void **address);
/*
 * Bytes from one element of a gather array or VLA to the next. Strings held inline depend on the
 * element that stands at base (the base of this element); everything else ignores base.
 */
int visit_gather_stride(const struct side_type *type, const void *base, size_t *stride);
/* Length of a gather VLA: its length type loaded from its base. -EINVAL: negative or > 32 bits. */
int visit_gather_length(const struct side_type_vla *vla, const void *base, uint32_t *length);

/* ---- labels, variants ------------------------------------------------------------------ */

/* Whether label i of an enumeration stands for this value (signed 64-bit ranges). */
bool visit_enum_matches(const struct side_enum_mapping *mapping, const struct visit_value *value);

/* The items of a bitmap argument: one item, or the elements of an array or VLA. */
struct visit_bitmap {
	const struct side_type *item_type;
	const struct side_arg *items;
	uint32_t nr_items;
};

bool visit_bitmap_matches(
		const struct side_enum_bitmap_mapping *mapping, const struct visit_bitmap *bitmap);

/* Index of the option that a selector chooses, -EINVAL when none does or it exceeds 64 bits. */
int64_t visit_variant_option(
		const struct side_type_variant *variant, const struct visit_value *selector);

/* ---- names ----------------------------------------------------------------------------- */

const char *visit_label_name(unsigned int label);         /* "U32", "GATHER_VLA"; "?" if unknown */
const char *visit_loglevel_name(unsigned int loglevel);   /* "INFO"; "?" if unknown */
const char *visit_attribute_type_name(unsigned int type); /* "U32", "STRING" */
bool visit_label_is_integer(unsigned int label);          /* U8..S128 (not POINTER) */
bool visit_label_is_gather(unsigned int label);
bool visit_label_is_dynamic(unsigned int label); /* 40 to 50 */

/*
 * The attributes of a type cell: of an enumeration, those of its mappings; of a gather struct,
 * those of its struct. Empty for DYNAMIC and unknown labels.
 */
struct visit_attributes visit_type_attributes(const struct side_type *type);

/* ---- descriptions ---------------------------------------------------------------------- */

enum visit_check_flags {
	VISIT_CHECK_STRICT = 1 << 0, /* also refuse what readers tolerate: empty ranges, ... */
};

/*
 * Say whether a description obeys the ABI (sizes, bits, labels allowed in their place, NULL
 * pointers, depth). What passes can be encoded, and walked without further checks. Without
 * VISIT_CHECK_STRICT mappings and options whose end is before their begin pass (they match
 * nothing), as do types whose label and cell disagree in size or sign (the cell counts).
 */
int visit_description_check(const struct side_event_description *desc, unsigned int flags,
		struct visit_error *error);

enum visit_role {
	VISIT_ROLE_FIELD,    /* of the event, or of a structure */
	VISIT_ROLE_ELEMENT,  /* of array, VLA, optional, enumeration, bitmap */
	VISIT_ROLE_LENGTH,   /* of a VLA */
	VISIT_ROLE_SELECTOR, /* of a variant */
	VISIT_ROLE_OPTION,   /* of a variant; index says which */
};

/* Where a walk over a description stands. */
struct visit_node {
	enum visit_role role;
	const char *name;   /* of a field, else NULL */
	uint32_t index;     /* of the field or option */
	unsigned int depth; /* 0 for fields of the event */
	const struct side_type *type;
	const struct visit_node *up; /* the type that holds this one */
};

/*
 * Walk all types of a description in order: type_begin, the types inside (length before element,
 * selector before options), type_end. Members may be NULL. A result that is not 0 ends the walk
 * and is returned. The walk checks the description first, as visit_description_check(desc, 0).
 */
struct visit_description_ops {
	int (*type_begin)(void *priv, const struct visit_node *node);
	int (*type_end)(void *priv, const struct visit_node *node);
};

int visit_description(const struct side_event_description *desc,
		const struct visit_description_ops *ops, void *priv, struct visit_error *error);

enum visit_severity {
	VISIT_REMARK, /* right, and perhaps not meant: labels out of reach may serve another type */
	VISIT_WARNING, /* works, but hardly as it was meant */
	VISIT_ERROR,   /* cannot be recorded, or not be read afterwards */
};

/* One thing that is wrong; node: NULL for the event itself. The error has sentence, mend and path. */
typedef void (*visit_finding_func)(void *priv, enum visit_severity severity,
		const struct visit_node *node, const struct visit_error *error);

/*
 * Whether the field needs a name that no other field of its list has. Names of enumeration bitmaps may repeat:
 * the compile-time check of the reference implementation does not compare them.
 */
static inline bool visit_field_needs_own_name(const struct side_event_field *field)
{
	return side_enum_get(field->side_type.type) != SIDE_TYPE_ENUM_BITMAP;
}

/*
 * Find everything in a description that cannot be meant, member by member, and say each. It must have passed
 * visit_description_check(); what that tolerates is found here, and what no reader looks at. pointer_size is that
 * of the program: 4 or 8. Allocates memory.
 */
void visit_description_lint(const struct side_event_description *desc, unsigned int pointer_size,
		visit_finding_func report, void *priv);

/* ---- arguments ------------------------------------------------------------------------- */

/* Where a walk over arguments stands. */
struct visit_location {
	const struct side_event_description *desc;
	const struct side_type *type; /* NULL inside dynamic values */
	bool dynamic;                 /* inside a dynamic value or the variadic part */
	unsigned int depth;           /* of nested types, 0 for the event */
	uint32_t index;               /* of the field or element */
	const char *name;             /* of the field */
};

#define VISIT_LENGTH_UNKNOWN UINT32_MAX /* visitors do not tell how many will come */

/*
 * Walk arguments against their description. Every member may be NULL; what is returned, when not
 * 0, ends the walk and is its result. Between fields_begin and fields_end, struct_begin and
 * struct_end, variadic_begin and variadic_end come fields; a field, an element, an optional that
 * is present, a variant and an enumeration each hold exactly one value, struct, array, ...
 *
 *	event_begin [fields_begin field... fields_end] [variadic_begin field... variadic_end] event_end
 *	field = field_begin thing field_end
 *	thing = value | bitmap | enum_begin value enum_end | struct_begin field... struct_end
 *	      | array_begin (element_begin thing element_end)... array_end
 *	      | optional_begin [thing] optional_end | variant_begin thing variant_end
 *
 * fields_begin and fields_end come only for events that have fields, variadic_begin only for
 * variadic events.
 */
struct visit_argument_ops {
	int (*event_begin)(void *priv, const struct visit_location *location);
	int (*event_end)(void *priv, const struct visit_location *location);
	int (*fields_begin)(void *priv, const struct visit_location *location, uint32_t nr);
	int (*fields_end)(void *priv, const struct visit_location *location);
	int (*variadic_begin)(void *priv, const struct visit_location *location,
			struct visit_attributes attributes, uint32_t nr);
	int (*variadic_end)(void *priv, const struct visit_location *location, uint32_t nr);
	int (*field_begin)(void *priv, const struct visit_location *location);
	int (*field_end)(void *priv, const struct visit_location *location);
	int (*element_begin)(void *priv, const struct visit_location *location);
	int (*element_end)(void *priv, const struct visit_location *location);
	int (*value)(void *priv, const struct visit_location *location,
			const struct visit_value *value, struct visit_attributes attributes);
	int (*struct_begin)(void *priv, const struct visit_location *location,
			struct visit_attributes attributes, uint32_t nr);
	int (*struct_end)(void *priv, const struct visit_location *location, uint32_t nr);
	int (*array_begin)(void *priv, const struct visit_location *location,
			struct visit_attributes attributes, uint32_t nr);
	int (*array_end)(void *priv, const struct visit_location *location, uint32_t nr);
	/* attributes are those of the mappings; the value between has those of its own type. */
	int (*enum_begin)(void *priv, const struct visit_location *location,
			struct visit_attributes attributes);
	int (*enum_end)(void *priv, const struct visit_location *location,
			const struct side_enum_mappings *mappings, const struct visit_value *value);
	int (*bitmap)(void *priv, const struct visit_location *location,
			const struct side_enum_bitmap_mappings *mappings,
			const struct visit_bitmap *bitmap);
	int (*optional_begin)(void *priv, const struct visit_location *location,
			struct visit_attributes attributes, bool present);
	int (*optional_end)(void *priv, const struct visit_location *location);
	int (*variant_begin)(void *priv, const struct visit_location *location,
			struct visit_attributes attributes, const struct visit_value *selector,
			uint32_t option);
	int (*variant_end)(void *priv, const struct visit_location *location);
	/*
	 * Asked before anything is read through a pointer that the call gave; false ends the walk with
	 * -EFAULT. Without it pointers that are not NULL are trusted, as every recorder has to.
	 */
	bool (*readable)(void *priv, const void *address, size_t size);
	/* The same for a text up to its end (unit_size bytes of zero), names and attributes too. */
	bool (*readable_text)(void *priv, const void *text, unsigned int unit_size);
	/*
	 * A field is wrong with this code, and the error says how: 0 goes on with the next field, anything
	 * else ends the walk. Such a field has no end.
	 */
	int (*wrong)(void *priv, const struct visit_location *location, int code);
	/* More fields, elements and attributes than this in one call are -E2BIG; 0: any number. */
	uint32_t parts_max;
	/* Lengths have to fit the type of the length, without which nobody can record them. */
	bool exact;
};

/*
 * The description must have passed visit_description_check(). variadic may be NULL for events that
 * are not variadic. Wrong arguments end the walk with -EINVAL and a sentence; application visitors
 * are run, and their errors are -EINVAL too. Allocates nothing.
 */
int visit_arguments(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic,
		const struct visit_argument_ops *ops, void *priv, struct visit_error *error);

/* ---- codec ----------------------------------------------------------------------------- */

/*
 * Memory that holds a description: this process's (read == NULL), another process's, a file's.
 * read copies size bytes from address and returns 0, or -errno if they are not all there. Word
 * size needs no telling, because pointer slots have the same size everywhere.
 */
struct visit_memory {
	int (*read)(void *priv, uint64_t address, void *to, size_t size);
	void *priv;
	uint8_t byte_order; /* of members and pointers; enum side_type_label_byte_order */
};

/*
 * Append the encoded form (docs/spec/description-codec.md) of a description to out. On error out
 * is as long as before. visit_description_encode() checks the description first; _read() follows
 * pointers through memory, trusts nothing, and leaves the check to the decoder of the bytes.
 */
int visit_description_encode(const struct side_event_description *desc, struct visit_buffer *out,
		struct visit_error *error);
int visit_description_read(const struct visit_memory *memory, uint64_t address,
		struct visit_buffer *out, struct visit_error *error);

/* A description in memory of its own: no visitor functions, state NULL, else as it was. */
struct visit_owned {
	struct side_event_description *desc;
};

/*
 * Size of the encoded description that stands first in bytes (several may stand in a row), or
 * -EINVAL, -ENOTSUP (version).
 */
int64_t visit_description_encoded_size(const void *bytes, size_t size);

/*
 * Rebuild a description; bytes may be anything. size must be exactly its encoded size. The result
 * has passed visit_description_check(). Free it with visit_owned_free().
 */
int visit_description_decode(const void *bytes, size_t size, struct visit_owned **owned,
		struct visit_error *error);
void visit_owned_free(struct visit_owned *owned);

/* ---- forms for people and programs ----------------------------------------------------- */

/* The JSON of docs/spec/description-json.md, one line without newline, appended to out. */
int visit_description_json(const struct side_event_description *desc, struct visit_buffer *out,
		struct visit_error *error);
/* Append a JSON string with quotes; bytes that are not UTF-8 become \u0080 to \u00ff. */
int visit_json_string(struct visit_buffer *out, const void *utf8, size_t size);

/* Short, C-like: "u64", "u32[]", "struct { x: s32, y: s32 }". */
int visit_type_text(const struct side_type *type, struct visit_buffer *out);
/* "count: u64" */
int visit_field_text(const struct side_event_field *field, struct visit_buffer *out);
/* "count: u64, unit: string, ..." (ends in ", ..." when variadic) */
int visit_fields_text(const struct side_event_description *desc, struct visit_buffer *out);

#endif /* SIDE_ABI_VISIT_H */
