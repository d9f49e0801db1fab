/* SPDX-License-Identifier: MIT */
/*
 * The console tracer's calls of libside, with replaced functions; and whole lines of descriptions
 * and events whose lists have a valid element after their last one.
 */
#include <errno.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"

#include <side/trace.h>
#include <side/tracer-extensions.h>

#include "tracers/console/description.h"
#include "tracers/console/event.h"
#include "tracers/console/scalar.h"

/* ---- replaced functions ---- */

#define KEY 41

static struct side_tracer_handle *const the_handle = (struct side_tracer_handle *)(uintptr_t)0x1000;
static int key_result, register_result, check_result;

static void played_bind(void)
{
	called("bind;");
}

static int played_key(uint64_t *key)
{
	called("key;");
	*key = KEY;
	return key_result;
}

static struct side_tracer_handle *played_listen(
		void (*call)(enum side_tracer_notification notification,
				struct side_event_description **events, uint32_t nr, void *priv),
		void *priv)
{
	called("listen %d %d;", call != NULL, priv != NULL);
	return the_handle;
}

static void played_silence(struct side_tracer_handle *handle)
{
	assert_ptr_equal(handle, the_handle);
	called("silence;");
}

static int played_plain(const char *what, const struct side_event_description *desc,
		side_tracer_callback_func call, const void *priv, uint64_t key)
{
	called("%s %s %d %d %u;", what, side_ptr_get(desc->event_name), call != NULL, priv != NULL,
			(unsigned int)key);
	return register_result;
}

static int played_variadic(const char *what, const struct side_event_description *desc,
		side_tracer_callback_variadic_func call, const void *priv, uint64_t key)
{
	called("%s variadic %s %d %d %u;", what, side_ptr_get(desc->event_name), call != NULL,
			priv != NULL, (unsigned int)key);
	return register_result;
}

static int played_check(const struct side_event_description *desc, unsigned int flags,
		struct visit_error *error)
{
	called("check %s %u;", side_ptr_get(desc->event_name), flags);
	*error = (struct visit_error){.what = "a reason"};
	return check_result;
}

static void played_print(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic)
{
	called("print %s %u %d;", side_ptr_get(desc->event_name), args->len, variadic != NULL);
}

static void played_end(struct console_line *line, int fd)
{
	called("%d[%.*s]", fd, (int)line->text.size, (const char *)line->text.data);
	console_line_drop(line);
}

#define side_tracer_bind played_bind
#define side_tracer_request_key played_key
#define side_tracer_event_notification_register played_listen
#define side_tracer_event_notification_unregister played_silence
#define side_tracer_callback_register(...) played_plain("add", __VA_ARGS__)
#define side_tracer_callback_unregister(...) played_plain("remove", __VA_ARGS__)
#define side_tracer_callback_variadic_register(...) played_variadic("add", __VA_ARGS__)
#define side_tracer_callback_variadic_unregister(...) played_variadic("remove", __VA_ARGS__)
#define visit_description_check played_check
#define console_print_event played_print
#define console_line_end played_end
#include "tracers/console/console.c"
#undef console_print_event

/* ---- notifications ---- */

side_static_event(ev_plain, "p", "plain", SIDE_LOGLEVEL_INFO, side_field_list());
side_static_event_variadic(ev_variadic, "q", "variadic", SIDE_LOGLEVEL_INFO, side_field_list());

#define BLOCK(text) "1[" DASHES "Tracer notified of events " text DASHES "]"
#define PLAIN "provider: p, event: plain\n"
#define VARIADIC "provider: q, event: variadic\n"

static void test_life(void **unused)
{
	(void)unused;
	/* The constructor has run. */
	assert_called("bind;key;listen 1 0;");
	assert_int_equal(console_key, KEY);
	console_exit();
	assert_called("silence;");
	console_handle = NULL;
	console_exit();
	assert_called("");
	key_result = SIDE_ERROR_NOMEM;
	console_init();
	assert_called("bind;key;");
	assert_null(console_handle);
	key_result = SIDE_ERROR_OK;
}

static void test_batches(void **unused)
{
	struct side_event_description plain = ev_plain, variadic = ev_variadic;
	struct side_event_description *events[] = {&variadic, NULL, &plain, &variadic};

	(void)unused;
	console_on_batch(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, events, 3, NULL);
	assert_called("check variadic 0;add variadic variadic 1 0 41;check plain 0;add plain 1 0 41;" BLOCK(
			"inserted\n" VARIADIC
			"event description: provider: q, event: variadic, <variadic fields>\n" PLAIN
			"event description: provider: p, event: plain\n"));
	console_on_batch(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, events, 3, NULL);
	assert_called("remove variadic variadic 1 0 41;remove plain 1 0 41;" BLOCK(
			"removed\n" VARIADIC PLAIN));
	console_on_batch(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, events, 0, NULL);
	assert_called(BLOCK("removed\n"));
	register_result = SIDE_ERROR_EXIST;
	console_on_batch(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, events + 2, 1, NULL);
	assert_called("check plain 0;add plain 1 0 41;" BLOCK(
			"inserted\n" PLAIN "event description: provider: p, event: plain\n"));
	register_result = SIDE_ERROR_NOMEM;
	console_on_batch(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, events + 2, 1, NULL);
	assert_called("check plain 0;add plain 1 0 41;" BLOCK(
			"inserted\n" PLAIN
			"event description: provider: p, event: plain\nError: the event cannot be enabled (3)\n"));
	register_result = SIDE_ERROR_OK;
	check_result = -EINVAL;
	console_on_batch(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, events + 2, 1, NULL);
	assert_called("check plain 0;" BLOCK("inserted\n" PLAIN "Error: a reason\n"));
	check_result = 0;
}

static void test_calls(void **unused)
{
	const struct side_arg_vec arguments = {.len = 3};
	const struct side_arg_dynamic_struct more = {.len = 0};

	(void)unused;
	console_on_event(&ev_plain, &arguments, NULL, NULL);
	assert_called("print plain 3 0;");
	console_on_variadic_event(&ev_variadic, &arguments, &more, NULL, NULL);
	assert_called("print variadic 3 1;");
}

/* ---- lists ---- */

static side_define_enum(colors,
		side_enum_mapping_list(side_enum_mapping_value("red", 1),
				side_enum_mapping_range("green", 2, 4),
				side_enum_mapping_range("more", 0, 9)));
static side_define_enum_bitmap(bits,
		side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("b0", 0),
				side_enum_bitmap_mapping_range("b1", 1, 3),
				side_enum_bitmap_mapping_range("more", 0, 7)),
		side_attr_list(side_attr("k", side_attr_u8(7))));
static side_define_variant(choice, side_type_u8(),
		side_option_list(side_option(5, side_type_u16()),
				side_option_range(6, 8, side_type_u32()),
				side_option_range(10, 20, side_type_u64())));
side_static_event(ev_lists, "p", "lists", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_enum("c", &colors, side_elem(side_type_u8())),
				side_field_enum_bitmap("b", &bits, side_elem(side_type_u8())),
				side_field_variant("v", choice)));

/* The same event, with two of the three elements in each list. */
static const struct side_event_description *two_of_three(void)
{
	static struct side_event_field fields[3];
	static struct side_event_description description;
	static struct side_enum_mappings two_colors;
	static struct side_enum_bitmap_mappings two_bits;
	/* Bytes: a member of the type is constant. */
	static unsigned char two_choices[sizeof(struct side_type_variant)];
	const uint32_t two = 2;

	description = ev_lists;
	two_colors = colors;
	two_bits = bits;
	memcpy(fields, side_array_elements(&ev_lists.fields), sizeof(fields));
	memcpy(two_choices, side_ptr_get(fields[2].side_type.u.side_variant), sizeof(two_choices));
	memcpy(two_choices + offsetof(struct side_type_variant, options.length), &two, sizeof(two));
	two_colors.mappings.length = two_bits.mappings.length = two;
	side_ptr_set(fields[0].side_type.u.side_enum.mappings, &two_colors);
	side_ptr_set(fields[1].side_type.u.side_enum_bitmap.mappings, &two_bits);
	side_ptr_set(fields[2].side_type.u.side_variant, (const void *)two_choices);
	side_ptr_set(description.fields.elements, fields);
	return &description;
}

#define U8 "{ type: integer { size: 1, signedness: false, byte_order: \"le\" } }"
#define U16 "{ type: integer { size: 2, signedness: false, byte_order: \"le\" } }"
#define U32 "{ type: integer { size: 4, signedness: false, byte_order: \"le\" } }"

static void test_described(void **unused)
{
	struct console_line line;

	(void)unused;
	console_line_begin(&line);
	console_put_description(&line, two_of_three());
	played_end(&line, 7);
	assert_called("7[event description: provider: p, event: lists, fields: { "
		      "c: { type: enum { labels: { [ 1 ]: \"red\", [ 2 - 4 ]: \"green\" }, element: {  " U8
		      " } } }, "
		      "b: { attr: [ { key: \"k\", value: 7 } ], type: enum_bitmap { labels: { [ 0 ]: \"b0\", [ 1 - 3 ]: \"b1\" }, element: {  " U8
		      " } } }, "
		      "v: { type: variant { options: {type: integer { size: 1, signedness: false, byte_order: \"le\" } [ 5 ]: " U16
		      ", [ 6 - 8 ]: " U32 " } } } }\n]");
}

/* Prints an event. */
static void print_lists(const struct side_arg_vec *arguments)
{
	int ends[2], saved = dup(STDOUT_FILENO);
	char text[2000];
	ssize_t size;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	errno = EDOM;
	console_print_event(two_of_three(), arguments, NULL);
	assert_int_equal(errno, EDOM);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	close(saved);
	close(ends[1]);
	size = read(ends[0], text, sizeof(text));
	close(ends[0]);
	called("%.*s", (int)size, text);
}

static void test_printed(void **unused)
{
	const struct side_arg_variant variant = {side_make_u8(7), side_make_u32(99)};
	struct side_arg scalars[] = {
			side_make_u8(3), side_make_u8(0x0c), side_make_variant(&variant)};
	struct side_arg_vec arguments = {.len = 3};

	(void)unused;
	side_ptr_set(arguments.sav, scalars);
	print_lists(&arguments);
	assert_called("provider: p, event: lists, fields: { c: { { value: 3 }, labels: [ \"green\" ] }, "
		      "b: { attr: [ { key: \"k\", value: 7 } ], labels: [ \"b1\" ] }, v: { value: 99 } }\n");
	/* Only the third label would match. */
	scalars[0].u.side_static.integer_value.side_u8 = 9;
	scalars[1].u.side_static.integer_value.side_u8 = 0x40;
	print_lists(&arguments);
	assert_called("provider: p, event: lists, fields: { c: { { value: 9 }, labels: [ <NO LABEL> ] }, "
		      "b: { attr: [ { key: \"k\", value: 7 } ], labels: [ <NO LABEL> ] }, v: { value: 99 } }\n");
}

static void test_floats(void **unused)
{
	const double number = 1.2345678901234567;
	struct visit_value value = {.kind = VISIT_FLOAT, .size = 8, .bits = 64};
	const struct visit_attributes none = {NULL, 0};
	struct console_line line;

	(void)unused;
	memcpy(value.bytes, &number, sizeof(number));
	console_line_begin(&line);
	console_put_value(&line, &value, none);
	played_end(&line, 7);
	assert_called("7[1.23457]");
}

side_static_event(ev_long, "p", "long", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("text"), side_field_u8("number")));

/* The pages of a long line are released if a later argument is wrong. */
static void test_wrong(void **unused)
{
	static char text[5000];
	const struct side_arg scalars[] = {side_make_string(text), side_make_u32(99)};
	struct side_arg_vec arguments = {.len = 2};
	int saved = dup(STDERR_FILENO), ends[2];
	struct resources before;
	char output[500];
	ssize_t size;

	(void)unused;
	memset(text, 'x', sizeof(text) - 1);
	side_ptr_set(arguments.sav, scalars);
	before = resources_now();
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	console_print_event(&ev_long, &arguments, NULL);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	size = read(ends[0], output, sizeof(output));
	close(ends[0]);
	close(ends[1]);
	assert_true(resources_are_same(before, resources_now()));
	close(saved);
	called("%.*s", (int)size, output);
	assert_called(DASHES
			"ERROR: the description has the type U8 (2), the argument has U32 (4)\n\tp:long\n\tfield: \"number\"\n" DASHES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_life),
			cmocka_unit_test(test_batches),
			cmocka_unit_test(test_calls),
			cmocka_unit_test(test_described),
			cmocka_unit_test(test_printed),
			cmocka_unit_test(test_floats),
			cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
