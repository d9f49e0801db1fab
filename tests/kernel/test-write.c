/* SPDX-License-Identifier: MIT */
/*
 * Events that are sent to the kernel, which the test replaces: registered names, refusals with
 * their reasons, written bytes, and events that are unregistered.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <side/trace.h>

/* Both included files have a function of this name. */
#define bytes_put kernel_side_bytes_put
#include "tracers/user-events/user-events.h"
#undef bytes_put

#include "kernel-events/bytes.h"
#include "kernel-events/eventheader.h"

/* ---- the kernel ---- */

struct request {
	uint32_t size;
	uint8_t bit, word_size;
	uint16_t flags;
	uint64_t word, description;
	uint32_t index;
} __attribute__((packed));

static char registered
		[16]
		[700]; /* "+description", "*description" with several formats, "-": unregistered */
static unsigned int nr_registered;
static int answers[16]; /* 0 or an errno, of each request */
static int nr_known;    /* words that the kernel still has */

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	struct request *asked;
	unsigned int now = nr_registered;

	va_start(arguments, request);
	asked = va_arg(arguments, struct request *);
	va_end(arguments);
	assert_true(fd >= 0 && now < 16);
	if (asked->size < sizeof(*asked)) {
		/* The second request fails: the kernel has dropped the word. */
		if (!nr_known) {
			errno = ENOENT;
			return -1;
		}
		nr_known--;
		(void)snprintf(registered[nr_registered++], 700, "-");
		return 0;
	}
	assert_int_equal(asked->bit, sizeof(uintptr_t) == 8 ? 63 : 31);
	assert_int_equal(asked->word_size, sizeof(uintptr_t));
	(void)snprintf(registered[nr_registered++], 700, "%c%s", asked->flags ? '*' : '+',
			(const char *)(uintptr_t)asked->description);
	asked->index = 100 + now;
	if (!answers[now])
		nr_known++;
	errno = answers[now];
	return answers[now] ? -1 : 0;
}

static void expect(int first, int second, int third)
{
	nr_registered = 0;
	answers[0] = first;
	answers[1] = second;
	answers[2] = third;
}

/* ---- events ---- */

static side_define_struct(st, side_field_list(side_field_u8("a"), side_field_string("b")));

side_static_event(ev_plain, "my:app", "plain", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u16("x"), side_field_string("t")));
side_static_event(ev_like, "my.app", "plain", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u16("x")));
side_static_event(ev_dynamic, "app", "dynamic", SIDE_LOGLEVEL_WARNING,
		side_field_list(side_field_dynamic("d")));
side_static_event(ev_other, "other", "o", SIDE_LOGLEVEL_DEBUG, side_field_list(side_field_u8("x")));
side_static_event(ev_header, "app", "header", SIDE_LOGLEVEL_EMERG,
		side_field_list(side_field_u8("x"), side_field_struct("s", st),
				side_field_s32("n")),
		side_attr_list(side_attr("side.user_events", side_attr_string("eventheader"))));

static side_define_array(numbers, side_elem(side_type_u16()), 2);
static side_define_optional(maybe, side_elem(side_type_u32()));
static side_define_enum_bitmap(
		bits, side_enum_bitmap_mapping_list(side_enum_bitmap_mapping_value("one", 1)));
side_static_event(ev_types, "app", "types", SIDE_LOGLEVEL_NOTICE,
		side_field_list(side_field_pointer("p"), side_field_bool("b"),
				side_field_float_binary64("f"), side_field_array("l", numbers),
				side_field_enum_bitmap("e", &bits, side_elem(side_type_u8())),
				side_field_optional("o", maybe), side_field_s16("s"),
				side_field_string("t")),
		side_attr_list(side_attr("side.user_events", side_attr_string("eventheader"))));

static int output;

static const struct side_kernel_event_0 *shown(const struct side_event_description *desc)
{
	struct user_event *event = NULL;

	while ((event = table_next(event)) && event->desc != desc)
		;
	return event ? &event->shown : NULL;
}

static void come(struct side_event_description *desc)
{
	events_add(&desc, 1);
}

static void go(struct side_event_description *desc)
{
	events_remove(&desc, 1);
}

/* Returns the bytes that the event writes, after its index. */
static size_t written(const struct side_event_description *desc, const struct side_arg_vec *vec,
		unsigned char bytes[512])
{
	ssize_t size;
	int32_t index;

	assert_int_equal(ftruncate(output, 0), 0);
	errno = EDOM;
	kernel_write((void *)side_ptr_get(desc->state), vec, NULL, NULL);
	assert_int_equal(errno, EDOM);
	size = pread(output, bytes, 512, 0);
	assert_true(size >= 4);
	memcpy(&index, bytes, sizeof(index));
	assert_int_equal(index, 100);
	memmove(bytes, bytes + 4, (size_t)size - 4);
	return (size_t)size - 4;
}

static void test_native(void **unused)
{
	side_arg_define_vec(vec, side_arg_list(side_arg_u16(0x102), side_arg_string("hi")));
	unsigned char bytes[512];

	(void)unused;
	expect(0, 0, 0);
	come(&ev_plain);
	assert_int_equal(nr_registered, 1);
	assert_string_equal(registered[0], "+my_app_plain u16 x; __rel_loc char[] t");
	assert_int_equal(shown(&ev_plain)->state, SIDE_KERNEL_EVENT_REGISTERED);
	assert_string_equal(shown(&ev_plain)->name, "my:app:plain");
	assert_string_equal(shown(&ev_plain)->tracepoint, "my_app_plain");
	assert_int_equal(written(&ev_plain, &vec, bytes), 9);
	assert_memory_equal(bytes, "\2\1\0\0\3\0hi", 9);
	assert_int_equal(shown(&ev_plain)->written, 1);
	assert_int_equal(shown(&ev_plain)->cut, 0);
	assert_int_equal(shown(&ev_plain)->lost, 0);
	/* Each call releases its memory. */
	for (int i = 0; i < 500; i++)
		assert_int_equal(written(&ev_plain, &vec, bytes), 9);
	assert_int_equal(shown(&ev_plain)->written, 501);
	assert_int_equal(shown(&ev_plain)->lost, 0);
	/*
	 * Registered twice: the last unregistration removes it. Its name is taken by another event
	 * by then.
	 */
	come(&ev_plain);
	assert_int_equal(nr_registered, 1);
	expect(0, 0, 0);
	come(&ev_like);
	assert_int_equal(nr_registered, 1);
	assert_memory_equal(registered[0], "+my_app_plain_", 14);
	assert_string_equal(registered[0] + 22, " u16 x");
	expect(0, 0, 0);
	go(&ev_plain);
	assert_int_equal(nr_registered, 0);
	go(&ev_plain);
	assert_true(nr_registered >= 1);
	assert_string_equal(registered[0], "-");
	assert_null(shown(&ev_plain));
	go(&ev_like);
	assert_null(shown(&ev_like));
	assert_null(events_find((void *)side_ptr_get(ev_plain.state)));
	/* No pattern requests it. */
	expect(0, 0, 0);
	come(&ev_other);
	assert_int_equal(nr_registered, 0);
	assert_null(shown(&ev_other));
}

/* The name exists with other fields; the kernel has no such group; the kernel refuses. */
static void test_names(void **unused)
{
	(void)unused;
	expect(EADDRINUSE, 0, 0);
	come(&ev_plain);
	assert_int_equal(nr_registered, 2);
	assert_string_equal(registered[1], "*my_app_plain u16 x; __rel_loc char[] t");
	assert_true(shown(&ev_plain)->multi_format);
	go(&ev_plain);
	expect(EADDRINUSE, EINVAL, 0);
	come(&ev_plain);
	assert_int_equal(nr_registered, 3);
	assert_memory_equal(registered[2], "+my_app_plain_v", 15);
	assert_string_equal(registered[2] + 23, " u16 x; __rel_loc char[] t");
	assert_false(shown(&ev_plain)->multi_format);
	go(&ev_plain);
	{
		static const struct {
			int code;
			const char *reason;
		} refusals[] = {{EMFILE, "the kernel's limit of events (/proc/sys/kernel/user_events_max) is reached"},
				{ENOMEM, "the kernel is out of memory, or the event's state is not writable"},
				{EINVAL, "the kernel cannot parse the description"},
				{EBADF, "the program has closed the descriptor of user_events_data"},
				{EPERM, "the kernel does not permit it"},
				{EACCES, "the kernel does not permit it"},
				{EIO, "the kernel refuses it"}};

		for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
			expect(refusals[i].code, 0, 0);
			come(&ev_plain);
			assert_int_equal(nr_registered, 1);
			assert_int_equal(shown(&ev_plain)->state, SIDE_KERNEL_EVENT_REFUSED);
			assert_string_equal(shown(&ev_plain)->reason, refusals[i].reason);
			assert_null(events_find((void *)side_ptr_get(ev_plain.state)));
			go(&ev_plain);
			/* It was never registered. */
			assert_int_equal(nr_registered, 1);
			assert_null(shown(&ev_plain));
		}
	}
}

/* The result of side's reader of kernel records: names of fields, and the bytes of their values. */
static void check_header(const unsigned char *bytes, size_t size, unsigned int level,
		const char *names, const char *values, size_t values_size)
{
	struct ctf_arena *arena = ctf_arena_create();
	struct eventheader_class class;
	struct eventheader header;
	struct byte_buffer to = {.data = NULL};
	char found[200] = "";

	assert_non_null(arena);
	assert_int_equal(bytes[7], level);
	assert_int_equal(eventheader_split(bytes, size, &header), 0);
	assert_int_equal(eventheader_parse(&header, arena, &class), 0);
	assert_int_equal(eventheader_convert(&class, &header, &to), 0);
	for (uint32_t i = 0; class.type && i < class.type->member_count; i++)
		(void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s%s ",
				class.type->members[i].name,
				class.type->members[i].type->base == 16 ? "/16" : "",
				class.type->members[i].hidden ? "*" : "");
	assert_string_equal(found, names);
	assert_int_equal(to.size, values_size);
	assert_memory_equal(to.data, values, values_size);
	free(to.data);
	ctf_arena_destroy(arena);
}

static void test_header(void **unused)
{
	side_arg_define_struct(inner, side_arg_list(side_arg_u8(7), side_arg_string("in")));
	side_arg_define_vec(vec,
			side_arg_list(side_arg_u8(5), side_arg_struct(inner), side_arg_s32(-2)));
	unsigned char bytes[512];
	size_t size;

	(void)unused;
	expect(0, 0, 0);
	come(&ev_header);
	assert_int_equal(nr_registered, 1);
	assert_string_equal(registered[0],
			"+app_L1K1 u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level");
	assert_true(shown(&ev_header)->eventheader);
	size = written(&ev_header, &vec, bytes);
	check_header(bytes, size, 1, "_x _s _n ", "\5\7in\0\xfe\xff\xff\xff", 9);
	go(&ev_header);
}

static void test_types(void **unused)
{
	side_arg_define_array(items, side_arg_list(side_arg_u16(0x101), side_arg_u16(0x202)));
	side_arg_define_optional(present, side_arg_u32(7), SIDE_OPTIONAL_ENABLED);
	side_arg_define_vec(vec,
			side_arg_list(side_arg_pointer((void *)8), side_arg_bool(1),
					side_arg_float_binary64(1.5), side_arg_array(items),
					side_arg_u8(2), side_arg_optional(present),
					side_arg_s16(-3), side_arg_string("t")));
	unsigned char bytes[512];
	size_t size;

	(void)unused;
	expect(0, 0, 0);
	come(&ev_types);
	size = written(&ev_types, &vec, bytes);
	check_header(bytes, size, 4, "_p/16 _b _f _l_length* _l _e/16 _o_tag* _o _s _t ",
			"\x8\0\0\0\0\0\0\0"
			"\1"
			"\0\0\0\0\0\0\xf8\x3f"
			"\2\0"
			"\1\1\2\2"
			"\2"
			"\1"
			"\7\0\0\0\0\0\0\0" /* its size is in the record, so readers have the largest one */
			"\xfd\xff"
			"t",
			37);
	go(&ev_types);
}

static void test_dynamic(void **unused)
{
	side_arg_define_vec(vec, side_arg_list(side_arg_dynamic_u32(0x01020304)));
	unsigned char bytes[512];
	size_t size;

	(void)unused;
	/* Plain fields cannot describe this event. */
	expect(0, 0, 0);
	come(&ev_dynamic);
	assert_int_equal(nr_registered, 1);
	assert_string_equal(registered[0],
			"+app_L3K1 u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level");
	size = written(&ev_dynamic, &vec, bytes);
	check_header(bytes, size, 3, "_d ", "\4\3\2\1", 4);
	go(&ev_dynamic);
}

/* Events are lost and counted if the descriptor is closed. */
static void test_lost(void **unused)
{
	side_arg_define_vec(vec, side_arg_list(side_arg_u16(0x102), side_arg_string("hi")));

	(void)unused;
	expect(0, 0, 0);
	come(&ev_plain);
	close(output);
	for (unsigned int i = 1; i < 3; i++) {
		errno = EDOM;
		kernel_write((void *)side_ptr_get(ev_plain.state), &vec, NULL, NULL);
		assert_int_equal(errno, EDOM);
		assert_int_equal(shown(&ev_plain)->written, 0);
		assert_int_equal(shown(&ev_plain)->lost, i);
	}
	go(&ev_plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_native),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_header),
			cmocka_unit_test(test_types),
			cmocka_unit_test(test_dynamic),
			cmocka_unit_test(test_lost),
	};
	struct kernel_config config;
	char reason[200];

	output = memfd_create("kernel", MFD_CLOEXEC);
	if (output < 0 || !kernel_config_read("my*,app", NULL, &config, reason, sizeof(reason)))
		return 1;
	events_begin(output, &config);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
