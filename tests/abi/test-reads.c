/* SPDX-License-Identifier: MIT */
/*
 * One call for each type: which memory the walk over its arguments reads, and which values it
 * visits, in order. Then each of these reads is refused in turn, and each part is one too many.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/trace.h>

#include "abi/visit.h"
#include "../check.h"

#define DIRECT SIDE_TYPE_GATHER_ACCESS_DIRECT
#define POINTER SIDE_TYPE_GATHER_ACCESS_POINTER

static char shown[2048];
static unsigned int nr_reads, refused; /* the read with this number is refused; 0: none */
static const void *refused_at;
static size_t refused_size;

static void show(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void show(const char *format, ...)
{
	size_t used = strlen(shown);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(shown + used, sizeof(shown) - used, format, args);
	va_end(args);
}

/* ---- objects that have a name ---- */

static struct {
	const char *name;
	uintptr_t begin;
	size_t size;
} known[48];
static unsigned int nr_known;

static void know(const char *name, const void *begin, size_t size)
{
	CHECK(nr_known < sizeof(known) / sizeof(*known));
	known[nr_known].name = name;
	known[nr_known].begin = (uintptr_t)begin;
	known[nr_known++].size = size;
}

#define KNOW(object) know(#object, &(object), sizeof(object))

static void show_address(const void *address, const char *before)
{
	uintptr_t at = (uintptr_t)address;

	for (unsigned int i = nr_known; i--;) {
		if (at - known[i].begin >= known[i].size)
			continue;
		show("%s%s", before, known[i].name);
		if (at > known[i].begin)
			show("+%u", (unsigned int)(at - known[i].begin));
		return;
	}
	show("%s%#lx", before, (unsigned long)at);
}

/* ---- operations ---- */

static bool readable(void *priv, const void *address, size_t size)
{
	(void)priv;
	show_address(address, " ");
	show(":%zu", size);
	if (++nr_reads != refused)
		return true;
	refused_at = address;
	refused_size = size;
	return false;
}

static bool readable_text(void *priv, const void *text, unsigned int unit_size)
{
	(void)priv;
	show_address(text, " ");
	show(":text%u", unit_size);
	if (++nr_reads != refused)
		return true;
	refused_at = text;
	refused_size = 0;
	return false;
}

static int value(void *priv, const struct visit_location *location,
		const struct visit_value *scalar, struct visit_attributes attributes)
{
	static const char kinds[] = "nbusxpft";
	char digits[VISIT_FLOAT_DIGITS_MAX];

	(void)priv;
	show(" %c%u", kinds[scalar->kind], scalar->bits);
	if (scalar->kind == VISIT_FLOAT) {
		visit_value_float_digits(scalar, 6, digits);
		show("=%s", digits);
	} else if (scalar->kind == VISIT_STRING) {
		show_address(scalar->text.at, "=");
	} else {
		show("=%lld", (long long)scalar->lo);
	}
	show("%s%s%.*s", attributes.nr ? "a" : "", location->dynamic ? "d" : "",
			(int)location->depth, "''''''''");
	return 0;
}

static int bitmap(void *priv, const struct visit_location *location,
		const struct side_enum_bitmap_mappings *mappings, const struct visit_bitmap *bits)
{
	(void)priv;
	(void)location;
	show(" bits%u of %s", bits->nr_items,
			visit_label_name(side_enum_get(bits->item_type->type)));
	for (uint32_t i = 0; i < side_array_length(&mappings->mappings); i++)
		show("%c",
				visit_bitmap_matches(side_array_at(&mappings->mappings, i), bits)
						? '1'
						: '0');
	return 0;
}

static int begin_array(void *priv, const struct visit_location *location,
		struct visit_attributes attributes, uint32_t nr)
{
	(void)priv;
	(void)location;
	show(" [%d%s", (int)nr, attributes.nr ? "a" : "");
	return 0;
}

static int end_array(void *priv, const struct visit_location *location, uint32_t nr)
{
	(void)priv;
	(void)location;
	show(" ]%u", nr);
	return 0;
}

static struct visit_argument_ops ops = {
		.value = value,
		.bitmap = bitmap,
		.struct_begin = begin_array,
		.struct_end = end_array,
		.array_begin = begin_array,
		.array_end = end_array,
		.variadic_begin = begin_array,
		.variadic_end = end_array,
		.readable = readable,
		.readable_text = readable_text,
};

/* ---- the described types ---- */

#define K side_attr_list(side_attr("k", side_attr_u8(1)))

static enum side_visitor_status two_elements(const struct side_tracer_visitor_ctx *ctx, int *app)
{
	for (int i = 0; i < 2; i++) {
		const struct side_arg elem = side_visit_dynamic_arg(side_arg_s32, *app + i);

		if (ctx->write_elem(ctx, &elem) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status two_dynamic(const struct side_tracer_visitor_ctx *ctx, void *app)
{
	for (int i = 0; i < 2; i++) {
		const struct side_arg elem =
				side_visit_dynamic_arg(side_arg_dynamic_s32, *(int *)app + i);

		if (ctx->write_elem(ctx, &elem) != SIDE_VISITOR_STATUS_OK)
			return SIDE_VISITOR_STATUS_ERROR;
	}
	return SIDE_VISITOR_STATUS_OK;
}

static enum side_visitor_status one_field(
		const struct side_tracer_dynamic_struct_visitor_ctx *ctx, void *app)
{
	static const char name[] = "f";
	const struct side_arg_dynamic_field field =
			side_visit_dynamic_field(side_arg_dynamic_s32, name, *(int *)app);

	KNOW(name);
	return ctx->write_field(ctx, &field);
}

static side_define_struct(st, side_field_list(side_field_u8("a"), side_field_string("s")), K);
static side_define_array(ar, side_elem(side_type_u16()), 2, K);
static side_define_array(ar8, side_elem(side_type_u8()), 3);
static side_define_vla(vl, side_elem(side_type_u8()), side_length(side_type_u8()), K);
side_define_static_vla_visitor(
		vv, side_elem(side_type_s32()), side_length(side_type_u8()), two_elements, int);
static side_define_optional(op, side_elem(side_type_string()));
static side_define_variant(va, side_type_s8(),
		side_option_list(side_option(0, side_type_null()),
				side_option_range(1, 5, side_type_string())));
static side_define_enum(en, side_enum_mapping_list(side_enum_mapping_value("one", 1)));
static side_define_enum_bitmap(bm,
		side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("0", 0),
				side_enum_bitmap_mapping_value("9", 9),
				side_enum_bitmap_mapping_range("15", 14, 17)));
static side_define_struct(gs,
		side_field_list(side_field_gather_byte("b", 1, DIRECT),
				side_field_gather_unsigned_integer("i", 8, 2, 4, 7, POINTER)));

#define G_U16 side_type_gather_unsigned_integer(0, 2, 0, 0, DIRECT)
#define G_U8 side_type_gather_unsigned_integer(4, 1, 0, 0, DIRECT)
#define G_S8P side_type_gather_signed_integer(8, 1, 0, 0, POINTER)

/* Gathered memory: numbers, a pointer to them, texts. */
static struct {
	uint8_t bytes[8];
	const void *pointer;  /* 8: to bytes */
	uint8_t three;        /* 16 */
	char text[7];         /* 17: "ab", "c", "" */
	double number;        /* 24 */
	const void *null;     /* 32 */
	const char *texts[2]; /* 40: to text and NULL */
	uint64_t big;         /* 56 */
} gathered;

static int seven = 7;

/*
 * Name, field, argument, expected text without the part that all begin with: " args:20 sav:64". A
 * number after a name is an offset, and after a colon the number of bytes. Values: kind (u, s, b, x
 * for byte, p, f, t for text, n for null) and bits; ' for each level.
 */
#define EVERY(_)                                                                                                                            \
	_(null, side_field_null("x"), side_arg_null(), " n0=0 (1)")                                                                         \
	_(bool_, side_field_bool("x", K), side_arg_bool(true), " b8=1a (1)")                                                                \
	_(u8, side_field_u8("x", K), side_arg_u8(200), " u8=200a (1)")                                                                      \
	_(s8, side_field_s8("x"), side_arg_s8(-5), " s8=-5 (1)")                                                                            \
	_(u16, side_field_u16("x"), side_arg_u16(60000), " u16=60000 (1)")                                                                  \
	_(s16be, side_field_s16_be("x"), side_arg_s16_be((int16_t)0xd4fe), " s16=-300 (1)")                                                 \
	_(u32, side_field_u32("x"), side_arg_u32(70000), " u32=70000 (1)")                                                                  \
	_(s64, side_field_s64("x"), side_arg_s64(-1234567890123), " s64=-1234567890123 (1)")                                                \
	_(byte, side_field_byte("x", K), side_arg_byte(254), " x8=254a (1)")                                                                \
	_(pointer, side_field_pointer("x"), side_arg_pointer((void *)0x1234), " p64=4660 (1)")                                              \
	_(f32, side_field_float_binary32("x", K), side_arg_float_binary32(1.5f), " f32=1.5a (1)")                                           \
	_(f64, side_field_float_binary64("x"), side_arg_float_binary64(-2.25), " f64=-2.25 (1)")                                            \
	_(string, side_field_string("x", K), side_arg_string(&gathered.text[0]),                                                            \
			" gathered+17:text1 t8=gathered+17a (1)")                                                                           \
	_(string16, side_field_string16("x"), side_arg_string16((const uint16_t *)gathered.bytes),                                          \
			" gathered:text2 t16=gathered (1)")                                                                                 \
	_(string32, side_field_string32("x"), side_arg_string32((const uint32_t *)gathered.bytes),                                          \
			" gathered:text4 t32=gathered (1)")                                                                                 \
	_(no_string, side_field_string("x"), side_arg_string(NULL), " t8=0 (1)")                                                            \
	_(structure, side_field_struct("x", st), side_arg_struct(one),                                                                      \
			" [2a one:20 one.sav:128 u8=9' gathered+20:text1 t8=gathered+20' ]2 (3)")                                           \
	_(array, side_field_array("x", ar), side_arg_array(two),                                                                            \
			" two:20 two.sav:128 [2a u16=3' u16=4' ]2 (3)")                                                                     \
	_(vla, side_field_vla("x", vl), side_arg_vla(three),                                                                                \
			" three:20 three.sav:192 [3a u8=5' u8=6' u8=7' ]3 (4)")                                                             \
	_(no_vla, side_field_vla("x", vl), side_arg_vla(none), " none:20 [0a ]0 (1)")                                                       \
	_(visitor, side_field_vla_visitor("x", vv), side_arg_vla_visitor(visited),                                                          \
			" visited:32 [-1 s32=7' s32=8' ]2 (3)")                                                                             \
	_(absent, side_field_optional("x", op), side_arg_optional(no), " no:65 (1)")                                                        \
	_(present, side_field_optional("x", op), side_arg_optional(yes),                                                                    \
			" yes:65 gathered+20:text1 t8=gathered+20' (1)")                                                                    \
	_(variant, side_field_variant("x", va), side_arg_variant(chosen),                                                                   \
			" chosen:128 gathered+17:text1 t8=gathered+17' (1)")                                                                \
	_(enumeration, side_field_enum("x", &en, side_elem(side_type_u8(K))), side_arg_u8(1),                                               \
			" u8=1a (1)")                                                                                                       \
	_(bitmap, side_field_enum_bitmap("x", &bm, side_elem(side_type_u16())),                                                             \
			side_arg_u16(0x8201), " bits1 of U16111 (2)")                                                                       \
	_(bitmap_array, side_field_enum_bitmap("x", &bm, side_elem(side_type_array(ar8))),                                                  \
			side_arg_array(bits), " bits:20 bits.sav:192 bits3 of U8001 (4)")                                                   \
	_(bitmap_vla, side_field_enum_bitmap("x", &bm, side_elem(side_type_vla(vl))),                                                       \
			side_arg_vla(items), " items:20 items.sav:192 bits3 of U8001 (4)")                                                  \
	_(dynamic, side_field_dynamic("x"),                                                                                                 \
			side_arg_dynamic_s32(-9,                                                                                            \
					side_dynamic_attr_list(side_attr("k", side_attr_u8(1)))),                                           \
			" attr:54 key:text1 s32=-9ad (2)")                                                                                  \
	_(dynamic_null, side_field_dynamic("x"), side_arg_dynamic_null(), " n0=0d (1)")                                                     \
	_(dynamic_bool, side_field_dynamic("x"), side_arg_dynamic_bool(true), " b8=1d (1)")                                                 \
	_(dynamic_byte, side_field_dynamic("x"), side_arg_dynamic_byte(7), " x8=7d (1)")                                                    \
	_(dynamic_float, side_field_dynamic("x"), side_arg_dynamic_float_binary64(0.5),                                                     \
			" f64=0.5d (1)")                                                                                                    \
	_(dynamic_pointer, side_field_dynamic("x"), side_arg_dynamic_pointer((void *)0x99),                                                 \
			" p64=153d (1)")                                                                                                    \
	_(dynamic_string, side_field_dynamic("x"), side_arg_dynamic_string(gathered.text),                                                  \
			" gathered+17:text1 t8=gathered+17d (1)")                                                                           \
	_(dynamic_vla, side_field_dynamic("x"), side_arg_dynamic_vla(&list),                                                                \
			" list:40 list.sav:128 [2 s32=1d' u8=2d' ]2 (3)")                                                                   \
	_(dynamic_struct, side_field_dynamic("x"), side_arg_dynamic_struct(&fields),                                                        \
			" fields:40 [1 fields.fields:80 name:text1 s32=3d' ]1 (2)")                                                         \
	_(dynamic_vla_visitor, side_field_dynamic("x"), side_arg_dynamic_vla_visitor(elements),                                             \
			" elements:68 [-1 s32=7d' s32=8d' ]2 (3)")                                                                          \
	_(dynamic_struct_visitor, side_field_dynamic("x"),                                                                                  \
			side_arg_dynamic_struct_visitor(&members),                                                                          \
			" members:68 [-1 name:text1 s32=7d' ]1 (2)")                                                                        \
	_(g_bool, side_field_gather_bool("x", 16, 1, 0, 0, DIRECT, K),                                                                      \
			side_arg_gather_bool(&gathered), " gathered+16:1 b8=3a (1)")                                                        \
	_(g_bool_p, side_field_gather_bool("x", 8, 2, 9, 3, POINTER),                                                                       \
			side_arg_gather_bool(&gathered), " gathered+8:8 gathered:2 b3=1 (1)")                                               \
	_(g_integer, side_field_gather_signed_integer("x", 1, 4, 0, 0, DIRECT),                                                             \
			side_arg_gather_integer(&gathered), " gathered+1:4 s32=84148994 (1)")                                               \
	_(g_integer_p, side_field_gather_unsigned_integer("x", 8, 8, 0, 0, POINTER),                                                        \
			side_arg_gather_integer(&gathered),                                                                                 \
			" gathered+8:8 gathered:8 u64=578437695752307201 (1)")                                                              \
	_(g_byte, side_field_gather_byte("x", 3, DIRECT), side_arg_gather_byte(&gathered),                                                  \
			" gathered+3:1 x8=4 (1)")                                                                                           \
	_(g_byte_p, side_field_gather_byte("x", 8, POINTER), side_arg_gather_byte(&gathered),                                               \
			" gathered+8:8 gathered:1 x8=1 (1)")                                                                                \
	_(g_pointer, side_field_gather_pointer("x", 56, DIRECT),                                                                            \
			side_arg_gather_pointer(&gathered), " gathered+56:8 p64=11 (1)")                                                    \
	_(g_float, side_field_gather_float("x", 24, 8, DIRECT), side_arg_gather_float(&gathered),                                           \
			" gathered+24:8 f64=3.25 (1)")                                                                                      \
	_(g_float_p, side_field_gather_float("x", 8, 2, POINTER),                                                                           \
			side_arg_gather_float(&gathered),                                                                                   \
			" gathered+8:8 gathered:2 f16=3.05772e-05 (1)")                                                                     \
	_(g_string, side_field_gather_string("x", 17, DIRECT), side_arg_gather_string(&gathered),                                           \
			" gathered+17:text1 t8=gathered+17 (1)")                                                                            \
	_(g_string_p, side_field_gather_string("x", 40, POINTER),                                                                           \
			side_arg_gather_string(&gathered),                                                                                  \
			" gathered+40:8 gathered+17:text1 t8=gathered+17 (1)")                                                              \
	_(g_string_null, side_field_gather_string("x", 32, POINTER),                                                                        \
			side_arg_gather_string(&gathered), " gathered+32:8 t8=0 (1)")                                                       \
	_(g_struct, side_field_gather_struct("x", gs, 0, 16, DIRECT),                                                                       \
			side_arg_gather_struct(&gathered),                                                                                  \
			" [2 gathered+1:1 x8=2' gathered+8:8 gathered:2 u7=32' ]2 (3)")                                                     \
	_(g_struct_p, side_field_gather_struct("x", gs, 0, 16, POINTER),                                                                    \
			side_arg_gather_struct(&start),                                                                                     \
			" start:8 [2 gathered+1:1 x8=2' gathered+8:8 gathered:2 u7=32' ]2 (3)")                                             \
	_(g_array, side_field_gather_array("x", side_elem(G_U16), 3, 2, DIRECT),                                                            \
			side_arg_gather_array(&gathered),                                                                                   \
			" [3 gathered+2:2 u16=1027' gathered+4:2 u16=1541' gathered+6:2 u16=2055' ]3 (4)")                                  \
	_(g_array_p, side_field_gather_array("x", side_elem(G_S8P), 1, 0, POINTER),                                                         \
			side_arg_gather_array(&start),                                                                                      \
			" start:8 [1 gathered+8:8 gathered:1 s8=1' ]1 (2)")                                                                 \
	_(g_array_0, side_field_gather_array("x", side_elem(G_U16), 0, 2, POINTER),                                                         \
			side_arg_gather_array(NULL), " [0 ]0 (1)")                                                                          \
	_(g_texts,                                                                                                                          \
			side_field_gather_array("x",                                                                                        \
					side_elem(side_type_gather_string(0, DIRECT)), 3, 17,                                               \
					DIRECT),                                                                                            \
			side_arg_gather_array(&gathered),                                                                                   \
			" [3 gathered+17:text1 t8=gathered+17' gathered+20:text1 t8=gathered+20' gathered+22:text1 t8=gathered+22' ]3 (4)") \
	_(g_pointers,                                                                                                                       \
			side_field_gather_array("x",                                                                                        \
					side_elem(side_type_gather_string(0, POINTER)), 2, 40,                                              \
					DIRECT),                                                                                            \
			side_arg_gather_array(&gathered),                                                                                   \
			" [2 gathered+40:8 gathered+17:text1 t8=gathered+17' gathered+48:8 t8=0' ]2 (3)")                                   \
	_(g_vla,                                                                                                                            \
			side_field_gather_vla("x", side_elem(G_U8), 0, DIRECT,                                                              \
					side_length(side_type_gather_unsigned_integer(                                                      \
							16, 1, 0, 0, DIRECT))),                                                             \
			side_arg_gather_vla(gathered.bytes, &gathered),                                                                     \
			" gathered+16:1 [3 gathered+4:1 u8=5' gathered+5:1 u8=6' gathered+6:1 u8=7' ]3 (4)")                                \
	_(g_vla_p,                                                                                                                          \
			side_field_gather_vla("x", side_elem(G_U16), 8, POINTER,                                                            \
					side_length(side_type_gather_unsigned_integer(                                                      \
							8, 2, 0, 2, POINTER))),                                                             \
			side_arg_gather_vla(&gathered, &gathered),                                                                          \
			" gathered+8:8 gathered:2 gathered+8:8 [1 gathered:2 u16=513' ]1 (2)")                                              \
	_(g_vla_0,                                                                                                                          \
			side_field_gather_vla("x", side_elem(G_U16), 8, POINTER,                                                            \
					side_length(side_type_gather_unsigned_integer(                                                      \
							8, 2, 1, 3, POINTER))),                                                             \
			side_arg_gather_vla(NULL, &empty), " empty+8:8 empty:2 [0 ]0 (1)")                                                  \
	_(g_enum,                                                                                                                           \
			side_field_gather_enum("x", en,                                                                                     \
					side_elem(side_type_gather_unsigned_integer(                                                        \
							8, 4, 8, 8, POINTER, K))),                                                          \
			side_arg_gather_enum(&gathered), " gathered+8:8 gathered:4 u8=2a (1)")

#define DEFINE_EVENT(id, field, argument, wanted) \
	side_static_event(ev_##id, "p", #id, SIDE_LOGLEVEL_INFO, side_field_list(field));
EVERY(DEFINE_EVENT)

side_static_event_variadic(ev_variadic, "p", "variadic", SIDE_LOGLEVEL_INFO, side_field_list());

/* ---- calls ---- */

static const char *wanted;
static unsigned int nr_failed;

static int walk(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, struct visit_error *error)
{
	shown[0] = '\0';
	nr_reads = 0;
	memset(error, 0, sizeof(*error));
	return visit_arguments(desc, args, variadic, &ops, NULL, error);
}

/* Each read is refused, and nothing follows. */
static void refuse_each(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic)
{
	char all[sizeof(shown)], problem[128], found[64];
	unsigned int nr = nr_reads;
	struct visit_error error;

	memcpy(all, shown, sizeof(all));
	for (refused = 1; refused <= nr; refused++) {
		CHECK(walk(desc, args, variadic, &error) == -EFAULT);
		CHECK(nr_reads == refused && !strncmp(shown, all, strlen(shown)));
		snprintf(problem, sizeof(problem),
				refused_size ? "the memory at %p cannot be read"
					     : "the string at %p cannot be read up to its end",
				refused_at);
		snprintf(found, sizeof(found), refused_size ? "%p (%zu bytes)" : "%p", refused_at,
				refused_size);
		CHECK(!strcmp(error.what, problem) && !strcmp(error.found, found));
		CHECK(!strcmp(error.expected,
				refused_size ? "memory that can be read" : "a string that ends"));
	}
	/* Without memory for the text of the error. */
	refused = nr;
	nr_reads = 0;
	CHECK(visit_arguments(desc, args, variadic, &ops, NULL, NULL) == (nr ? -EFAULT : 0));
	refused = 0;
}

/* Finds the smallest limit that is sufficient: it is the number of parts. */
static void limit_parts(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic)
{
	char problem[128], expected[64];
	struct visit_error error;
	uint32_t most;

	for (most = 1;; most++) {
		ops.parts_max = most;
		if (!walk(desc, args, variadic, &error))
			break;
		snprintf(problem, sizeof(problem),
				"more than %u elements or fields: is the length right?", most);
		snprintf(expected, sizeof(expected), "at most %u", most);
		CHECK(!strcmp(error.what, problem) && !strcmp(error.expected, expected));
		CHECK(strtoul(error.found, NULL, 10) > most);
		CHECK(visit_arguments(desc, args, variadic, &ops, NULL, NULL) == -E2BIG);
	}
	ops.parts_max = 0;
	CHECK(walk(desc, args, variadic, &error) == 0);
	show(" (%u)", most);
}

static void check_call(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic)
{
	static const char front[] = " args:20 sav:64";
	struct visit_error error;

	know("args", args, sizeof(*args));
	know("sav", side_ptr_get(args->sav), args->len * sizeof(struct side_arg));
	CHECK(!walk(desc, args, variadic, &error));
	if (!variadic && args->len &&
			side_enum_get(side_ptr_get(args->sav)->type) == SIDE_TYPE_DYNAMIC_INTEGER) {
		const struct side_attr *attr =
				side_ptr_get(side_ptr_get(args->sav)
								->u.side_dynamic.side_integer.type
								.attributes.elements);

		know("attr", attr, sizeof(*attr));
		know("key", side_ptr_get(attr->key.p), 1);
		CHECK(!walk(desc, args, variadic, &error));
	}
	refuse_each(desc, args, variadic);
	limit_parts(desc, args, variadic);
	if (strncmp(shown, front, variadic ? 0 : strlen(front)) ||
			strcmp(shown + (variadic ? 0 : strlen(front)), wanted)) {
		fprintf(stderr, "%s: %s\nwanted:%s\n", side_ptr_get(desc->event_name), shown,
				wanted);
		nr_failed++;
	}
	nr_known = 1;
}

static void on_event(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)priv;
	(void)caller;
	check_call(desc, args, NULL);
}

static void on_variadic(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	(void)priv;
	(void)caller;
	know("variadic", variadic, sizeof(*variadic));
	know("fields", side_ptr_get(variadic->fields),
			variadic->len * sizeof(struct side_arg_dynamic_field));
	know("attr", side_array_elements(&variadic->attributes), sizeof(struct side_attr));
	know("key", side_ptr_get(side_array_elements(&variadic->attributes)->key.p), 1);
	know("text",
			side_ptr_get(side_array_elements(&variadic->attributes)
							->value.u.string_value.p),
			1);
	know("name", side_ptr_get(side_ptr_get(variadic->fields)->field_name), 1);
	check_call(desc, args, variadic);
}

#define KNOW_LIST(vec, member, length)                     \
	know(#vec "." #member, side_ptr_get((vec).member), \
			(length) * sizeof(*side_ptr_get((vec).member)))

static void call_all(void)
{
	static const char name[] = "n";
	const void *start = &gathered;
	struct {
		uint16_t bytes[4];
		const void *pointer;
	} empty = {{1, 0, 0, 0}, &empty};

	side_arg_define_struct(
			one, side_arg_list(side_arg_u8(9), side_arg_string(gathered.text + 3)));
	side_arg_define_array(two, side_arg_list(side_arg_u16(3), side_arg_u16(4)));
	side_arg_define_vla(three, side_arg_list(side_arg_u8(5), side_arg_u8(6), side_arg_u8(7)));
	side_arg_define_vla(none, side_arg_list());
	side_arg_define_vla_visitor(visited, &seven);
	side_arg_define_optional(no, side_arg_string(NULL), SIDE_OPTIONAL_DISABLED);
	side_arg_define_optional(yes, side_arg_string(gathered.text + 3), SIDE_OPTIONAL_ENABLED);
	side_arg_define_variant(chosen, side_arg_s8(5), side_arg_string(gathered.text));
	side_arg_define_array(bits, side_arg_list(side_arg_u8(2), side_arg_u8(1), side_arg_u8(3)));
	side_arg_define_vla(items, side_arg_list(side_arg_u8(2), side_arg_u8(1), side_arg_u8(3)));
	side_arg_dynamic_define_vec(
			list, side_arg_list(side_arg_dynamic_s32(1), side_arg_dynamic_u8(2)));
	side_arg_dynamic_define_struct(fields,
			side_arg_list(side_arg_dynamic_field(name, side_arg_dynamic_s32(3))));
	side_arg_dynamic_define_vla_visitor(elements, two_dynamic, &seven);
	side_arg_dynamic_define_struct_visitor(members, one_field, &seven);

#define CALL(id, field, argument, text) \
	KNOW(start);                    \
	KNOW(empty);                    \
	KNOW(name);                     \
	KNOW(one);                      \
	KNOW_LIST(one, sav, 2);         \
	KNOW(two);                      \
	KNOW_LIST(two, sav, 2);         \
	KNOW(three);                    \
	KNOW_LIST(three, sav, 3);       \
	KNOW(none);                     \
	KNOW(visited);                  \
	KNOW(no);                       \
	KNOW(yes);                      \
	KNOW(chosen);                   \
	KNOW(bits);                     \
	KNOW_LIST(bits, sav, 3);        \
	KNOW(items);                    \
	KNOW_LIST(items, sav, 3);       \
	KNOW(list);                     \
	KNOW_LIST(list, sav, 2);        \
	KNOW(fields);                   \
	KNOW_LIST(fields, fields, 1);   \
	KNOW(elements);                 \
	KNOW(members);                  \
	wanted = text;                  \
	side_event_call(ev_##id, side_arg_list(argument));
	EVERY(CALL)
	KNOW(name);
	wanted = " variadic:40 args:20 attr:54 key:text1 text:text1 [1a fields:80 name:text1 s32=4d ]1 (2)";
	side_event_call_variadic(ev_variadic, side_arg_list(),
			side_arg_list(side_arg_dynamic_field(name, side_arg_dynamic_s32(4))),
			side_dynamic_attr_list(side_attr("kk", side_attr_string("text"))));
}

int main(void)
{
	for (unsigned int i = 0; i < 8; i++)
		gathered.bytes[i] = (uint8_t)(i + 1);
	gathered.pointer = &gathered;
	gathered.three = 3;
	memcpy(gathered.text, "ab\0c\0\0", 6);
	gathered.number = 3.25;
	gathered.texts[0] = gathered.text;
	gathered.big = 11;
	KNOW(gathered);
#define LISTEN(id, field, argument, text) \
	CHECK(side_tracer_callback_register(&ev_##id, on_event, NULL, 0) == SIDE_ERROR_OK);
	EVERY(LISTEN)
	CHECK(side_tracer_callback_variadic_register(&ev_variadic, on_variadic, NULL, 0) ==
			SIDE_ERROR_OK);
	call_all();
	return nr_failed != 0;
}
