/* SPDX-License-Identifier: MIT */
/*
 * Reads SIDE descriptions and arguments.
 *
 *	values		visit_load_*, visit_value_*, visit_text_*	one scalar, normalised
 *	descriptions	visit_description_check, visit_description	walk and validate
 *	arguments	visit_arguments					walk with a description
 *	codec		visit_description_encode/read/decode            bytes and back, foreign
 *			memory
 *	people		visit_description_json, visit_*_text		JSON and C-like text
 *
 * All of it may run inside a traced program. The functions for values and arguments allocate
 * nothing, take no lock and keep errno, so signal handlers may call them. Functions that need
 * memory (codec, JSON) write to a struct visit_buffer, whose memory the caller chooses. Only
 * visit_description_decode() and visit_description_lint() allocate memory of their own; they are
 * for consumers and validators.
 *
 * Functions return 0 or a negative errno, and describe the error in a struct visit_error if it is
 * not NULL:
 *
 *	-EINVAL		does not obey the ABI or the description
 *	-ELOOP		nested deeper than VISIT_DEPTH_MAX, or a cycle
 *	-EFAULT		a NULL pointer, or foreign memory that cannot be read
 *	-E2BIG		exceeds a budget
 *	-ENOMEM		the buffer cannot grow
 *	-ENOTSUP	a version or label newer than this code supports
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

/* The limits of one description: type, attribute, mapping and field nodes; encoded bytes. */
#define VISIT_NODES_MAX (1u << 20)
#define VISIT_ENCODED_MAX (16u << 20)

/* ---- errors ---------------------------------------------------------------------------- */

/* An error, and its path from the event inwards, one step a line. */
struct visit_error {
	char what[256];
	char hint[160]; /* how to fix it; empty if unknown */
	char where[512];
	/* the expected value and the one that was found; empty if they do not explain the error */
	char expected[64];
	char found[64];
};

/*
 * Write "what (in provider:event, field "x", index: 2)" in one line, NUL-terminated. Returns out.
 */
char *visit_error_problem(const struct visit_error *error, char *out, size_t size);
/* The same with "; " and the hint appended, for logs. */
char *visit_error_sentence(const struct visit_error *error, char *out, size_t size);

/* ---- buffers --------------------------------------------------------------------------- */

/* A growing byte buffer. Errors are sticky: after a failed append, later ones are ignored. */
struct visit_buffer {
	unsigned char *data;
	size_t size;
	size_t capacity;
	int error;
	/* Provide a capacity of at least this many bytes, keeping data[0..size); 0 or -errno. */
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
 * Converts UTF-8, 16 and 32 to generalised UTF-8 (docs/spec/recording.md section 3). 8-bit text is
 * copied unchanged, even if it is invalid.
 */
struct visit_text {
	const unsigned char *at; /* NULL is converted to (null) */
	uint8_t unit_size;
	uint8_t byte_order; /* enum side_type_label_byte_order */
};

#define VISIT_TEXT_UNIT_MAX 7 /* the most bytes that one call of visit_text_next() returns */

/* Convert the next character; returns its 1 to 7 bytes in out, or 0 at the terminator. */
unsigned int visit_text_next(struct visit_text *text, unsigned char out[VISIT_TEXT_UNIT_MAX]);

/*
 * Convert a whole string, at most `capacity` bytes, without a NUL. Returns the size of the whole
 * conversion, which may exceed the capacity. A NULL string is converted to "(null)".
 */
size_t visit_text_utf8(const void *string, unsigned int unit_size, unsigned int byte_order,
		void *to, size_t capacity);

/* Whether two strings are the same text, even with different units. */
bool visit_raw_string_same(
		const struct side_type_raw_string *one, const struct side_type_raw_string *other);

/* Bytes of the string in memory, with its terminator. */
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
	uint64_t lo, hi;         /* integers, byte, pointer; bool: the bits, true if not zero */
	unsigned char bytes[16]; /* float: its size bytes in host order */
	struct visit_text text;  /* string */
};

/* The attribute list of a type, mapping table, value or event. */
struct visit_attributes {
	const struct side_attr *attr;
	uint32_t nr;
};

/* Convert any attribute array of the ABI, given by pointer, to a struct visit_attributes. */
#define visit_attributes_of(array) \
	((struct visit_attributes){side_array_elements(array), side_array_length(array)})

/* Load a scalar from its bytes in memory (any alignment). -EINVAL for impossible sizes or bits. */
int visit_load_integer(const struct side_type_integer *type, unsigned int offset_bits,
		const void *bytes, struct visit_value *value);
int visit_load_bool(const struct side_type_bool *type, unsigned int offset_bits, const void *bytes,
		struct visit_value *value);
int visit_load_float(const struct side_type_float *type, const void *bytes,
		struct visit_value *ret_value);
void visit_load_byte(const void *bytes, struct visit_value *ret_value);
void visit_load_string(const struct side_type_string *type, const void *string,
		struct visit_value *ret_value);

/*
 * Load a scalar from a type with a scalar label (0 to 20) and its argument. The labels are not
 * compared.
 */
int visit_load_argument(const struct side_type *type, const struct side_arg *arg,
		struct visit_value *value);
/* Load a scalar from an argument with a dynamic scalar label (40 to 46), which has its own type. */
int visit_load_dynamic(const struct side_arg *arg, struct visit_value *value);
/* Load the value of an attribute. */
int visit_load_attribute(const struct side_attr_value *attr, struct visit_value *ret_value);
/* Load a gather scalar (30 to 35, 39) from its base pointer. */
int visit_load_gather(const struct side_type *type, const void *base, struct visit_value *value);

/*
 * The value as signed 64-bit, for comparison with ranges of enumerations and variants. False: does
 * not fit.
 */
bool visit_value_s64(const struct visit_value *value, int64_t *ret_number);

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

/* The attribute std.integer.base if it exists and is 2, 8, 10 or 16, else otherwise. */
unsigned int visit_attribute_base(struct visit_attributes attributes, unsigned int otherwise);
/* The first attribute of that name, or NULL. */
const struct side_attr *visit_attribute_find(struct visit_attributes attributes, const char *name);

/* ---- gather ---------------------------------------------------------------------------- */

/* base + offset, which wraps around: the base comes from a program and may be any value. */
static inline const void *visit_gather_at(const void *base, uint64_t offset)
{
	return (const void *)((uintptr_t)base + (uintptr_t)offset);
}

/*
 * The data address (ABI reference, section 8.6): base + offset, dereferenced once in pointer mode.
 * -EFAULT: NULL.
 */
int visit_gather_access(const void *base, uint64_t offset, unsigned int access_mode,
		const void **ret_address);
/*
 * Bytes from one element of a gather array or VLA to the next. If elements contain inline strings,
 * this depends on the element at base; otherwise base is ignored.
 */
int visit_gather_stride(const struct side_type *type, const void *base, size_t *ret_stride);
/*
 * The length of a gather VLA, loaded from the base of its length type. -EINVAL: negative or > 32
 * bits.
 */
int visit_gather_length(const struct side_type_vla *vla, const void *base, uint32_t *ret_length);

/* ---- labels, variants ------------------------------------------------------------------ */

/* Whether the range of this label contains the value (signed 64-bit ranges). */
bool visit_enum_matches(const struct side_enum_mapping *mapping, const struct visit_value *value);

/* The items of a bitmap argument: one item, or the elements of an array or VLA. */
struct visit_bitmap {
	const struct side_type *item_type;
	const struct side_arg *items;
	uint32_t nr_items;
};

bool visit_bitmap_matches(
		const struct side_enum_bitmap_mapping *mapping, const struct visit_bitmap *bitmap);

/* Index of the option that a selector chooses; -EINVAL if there is none or it exceeds 64 bits. */
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
 * The attributes of a type: of an enumeration, those of its mappings; of a gather struct, those of
 * its struct. Empty for DYNAMIC and unknown labels.
 */
struct visit_attributes visit_type_attributes(const struct side_type *type);

/* ---- descriptions ---------------------------------------------------------------------- */

enum visit_check_flags {
	VISIT_CHECK_STRICT = 1 << 0, /* also refuse what readers tolerate: empty ranges, ... */
};

/*
 * Check whether a description obeys the ABI (sizes, bits, permitted labels, NULL pointers, depth).
 * A description that passes can be encoded, and walked without further checks.
 *
 * Without VISIT_CHECK_STRICT, two deviations pass: mappings and options whose end is before their
 * begin (they match nothing), and types whose label and members disagree in size or sign (the
 * members are used).
 */
int visit_description_check(const struct side_event_description *desc, unsigned int flags,
		struct visit_error *error);

enum visit_role {
	VISIT_ROLE_FIELD,    /* of the event, or of a struct */
	VISIT_ROLE_ELEMENT,  /* of array, VLA, optional, enumeration, bitmap */
	VISIT_ROLE_LENGTH,   /* of a VLA */
	VISIT_ROLE_SELECTOR, /* of a variant */
	VISIT_ROLE_OPTION,   /* of a variant; index is its number */
};

/* The position of a walk over a description. */
struct visit_node {
	enum visit_role role;
	const char *name;   /* of a field, else NULL */
	uint32_t index;     /* of the field or option */
	unsigned int depth; /* 0 for fields of the event */
	const struct side_type *type;
	const struct visit_node *up; /* the type that contains this one */
};

/*
 * Walk all types of a description in order: type_begin, the nested types (length before element,
 * selector before options), type_end. Members may be NULL. A result other than 0 ends the walk and
 * is returned. The walk checks the description first, like visit_description_check(desc, 0).
 */
struct visit_description_ops {
	int (*type_begin)(void *priv, const struct visit_node *node);
	int (*type_end)(void *priv, const struct visit_node *node);
};

int visit_description(const struct side_event_description *desc,
		const struct visit_description_ops *ops, void *priv, struct visit_error *error);

enum visit_severity {
	/* correct, but possibly not intended: unreachable labels may serve another type */
	VISIT_REMARK,
	VISIT_WARNING, /* works, but is probably not intended */
	VISIT_ERROR,   /* cannot be recorded, or cannot be read afterwards */
};

/*
 * Called for each finding; node: NULL for the event itself. The error has message, hint and path.
 */
typedef void (*visit_finding_func)(void *priv, enum visit_severity severity,
		const struct visit_node *node, const struct visit_error *error);

/*
 * Whether the field needs a name that is unique in its list. Names of enumeration bitmaps may
 * repeat: the compile-time check of the reference implementation does not compare them.
 */
static inline bool visit_field_needs_own_name(const struct side_event_field *field)
{
	return side_enum_get(field->side_type.type) != SIDE_TYPE_ENUM_BITMAP;
}

/*
 * Find all suspicious parts of a description and report each, including what
 * visit_description_check() tolerates and what no reader checks. The description must have passed
 * visit_description_check(). pointer_size is that of the program: 4 or 8. Allocates memory.
 */
void visit_description_lint(const struct side_event_description *desc, unsigned int pointer_size,
		visit_finding_func report, void *priv);

/* ---- arguments ------------------------------------------------------------------------- */

/* The position of a walk over arguments. */
struct visit_location {
	const struct side_event_description *desc;
	const struct side_type *type; /* NULL inside dynamic values */
	bool dynamic;                 /* inside a dynamic value or the variadic part */
	unsigned int depth;           /* of nested types, 0 for the event */
	uint32_t index;               /* of the field or element */
	const char *name;             /* of the field */
};

/* visitors do not report their number of elements in advance */
#define VISIT_LENGTH_UNKNOWN UINT32_MAX

/*
 * Walk arguments with their description. Every member may be NULL. A result other than 0 ends the
 * walk and is returned. Fields are between fields_begin and fields_end, struct_begin and
 * struct_end, variadic_begin and variadic_end. A field, an element, a present optional, a variant
 * and an enumeration contain exactly one value, struct, array, ...
 *
 *	event_begin [fields_begin field... fields_end] [variadic_begin field... variadic_end] event_end
 *	field = field_begin thing field_end
 *	thing = value | bitmap | enum_begin value enum_end | struct_begin field... struct_end
 *	      | array_begin (element_begin thing element_end)... array_end
 *	      | optional_begin [thing] optional_end | variant_begin thing variant_end
 *
 * fields_begin and fields_end are called only for events that have fields, variadic_begin only for
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
	/* attributes: of the mappings. The value between these calls has those of its own type. */
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
	 * Called before a read through a pointer of the arguments; false ends the walk with
	 * -EFAULT. If it is NULL, pointers that are not NULL are trusted, as a recorder must.
	 */
	bool (*readable)(void *priv, const void *address, size_t size);
	/*
	 * Like readable(), for a text up to its terminator (unit_size zero bytes), also for names
	 * and attributes.
	 */
	bool (*readable_text)(void *priv, const void *text, unsigned int unit_size);
	/*
	 * A field is wrong with this code, described by the error. 0: continue with the next field;
	 * any other result ends the walk. There is no field_end for this field.
	 */
	int (*wrong)(void *priv, const struct visit_location *location, int code);
	/*
	 * The limit for fields, elements and attributes in one call, above which it is -E2BIG; 0:
	 * none.
	 */
	uint32_t parts_max;
	/*
	 * Refuse lengths that do not fit the type of the length, because they cannot be recorded.
	 */
	bool exact;
};

/*
 * The description must have passed visit_description_check(). variadic may be NULL for events that
 * are not variadic. Wrong arguments end the walk with -EINVAL and a message. Application visitors
 * are run; their errors are -EINVAL, too. Allocates nothing.
 */
int visit_arguments(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic,
		const struct visit_argument_ops *ops, void *priv, struct visit_error *error);

/* ---- codec ----------------------------------------------------------------------------- */

/*
 * Memory that contains a description: of this process (read == NULL), of another process, or of a
 * file. read copies size bytes from address and returns 0, or -errno if they are not all present.
 * The word size is not needed, because pointer slots have the same size on all hosts.
 */
struct visit_memory {
	int (*read)(void *priv, uint64_t address, void *to, size_t size);
	void *priv;
	uint8_t byte_order; /* of members and pointers; enum side_type_label_byte_order */
};

/*
 * Append the encoded form (docs/spec/description-codec.md) of a description to out. After an error,
 * out has its old size. visit_description_encode() checks the description first.
 * visit_description_read() follows pointers in untrusted memory and leaves the check to the
 * decoder.
 */
int visit_description_encode(const struct side_event_description *desc, struct visit_buffer *out,
		struct visit_error *error);
int visit_description_read(const struct visit_memory *memory, uint64_t address,
		struct visit_buffer *out, struct visit_error *error);

/* A decoded description. It owns its memory; visitor functions and state are NULL. */
struct visit_owned {
	struct side_event_description *desc;
};

/*
 * Size of the first encoded description in bytes (several may follow each other), or -EINVAL,
 * -ENOTSUP (version).
 */
int64_t visit_description_encoded_size(const void *bytes, size_t size);

/*
 * Decode a description from untrusted bytes. size must be exactly its encoded size. The result has
 * passed visit_description_check(). Free it with visit_owned_free().
 */
int visit_description_decode(const void *bytes, size_t size, struct visit_owned **ret_owned,
		struct visit_error *error);
void visit_owned_free(struct visit_owned *owned);

/* ---- forms for people and programs ----------------------------------------------------- */

/* Append the JSON of docs/spec/description-json.md, one line without newline. */
int visit_description_json(const struct side_event_description *desc, struct visit_buffer *out,
		struct visit_error *error);
/* Append a JSON string with quotes; bytes that are not UTF-8 become \u0080 to \u00ff. */
int visit_json_string(struct visit_buffer *out, const void *utf8, size_t size);

/* Short, C-like: "u64", "u32[]", "struct { x: s32, y: s32 }". */
int visit_type_text(const struct side_type *type, struct visit_buffer *out);
/* "count: u64" */
int visit_field_text(const struct side_event_field *field, struct visit_buffer *out);
/* "count: u64, unit: string, ..." (ends in ", ..." if variadic) */
int visit_fields_text(const struct side_event_description *desc, struct visit_buffer *out);

#endif /* SIDE_ABI_VISIT_H */
