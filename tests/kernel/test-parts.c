/* SPDX-License-Identifier: MIT */
/*
 * Parts of libside-kernel.so: the table of events, names and levels, buffers of records, answers of
 * the kernel, settings, and calls that fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include <side/trace.h>

#include "tracers/user-events/user-events.h"

/* ---- settings with little memory ---- */

static bool no_memory;

static char *played_strdup(const char *text)
{
	return no_memory ? NULL : strdup(text);
}

static void *played_reallocarray(void *old, size_t count, size_t size)
{
	return no_memory ? NULL : reallocarray(old, count, size);
}

#define strdup played_strdup
#define reallocarray played_reallocarray
#include "tracers/user-events/config.c"
#undef strdup
#undef reallocarray

/* ---- limited memory ---- */

static int nr_maps_left = -1; /* -1: no limit */
static size_t last_map;
static struct {
	void *at;
	size_t size;
} maps[64];
static unsigned int nr_maps;

/* The bytes after the end are not zero. */
static void *played_mmap(
		void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	size_t whole = (size + 4095) & ~(size_t)4095;
	unsigned char *memory;

	assert_null(address);
	assert_int_equal(protection, PROT_READ | PROT_WRITE);
	assert_int_equal(flags, MAP_PRIVATE | MAP_ANONYMOUS);
	assert_int_equal(fd, -1);
	assert_int_equal(offset, 0);
	last_map = size;
	if (!nr_maps_left)
		return MAP_FAILED;
	nr_maps_left -= nr_maps_left > 0;
	memory = mmap(address, whole, protection, flags, fd, offset);
	assert_true(memory != MAP_FAILED && nr_maps < 64);
	maps[nr_maps].at = memory;
	maps[nr_maps++].size = whole;
	memset(memory + size, 0x55, whole - size);
	return memory;
}

#define mmap played_mmap
#include "tracers/user-events/table.c"
#undef mmap

/* ---- the kernel's answers ---- */

static char asked[40]
		 [700]; /* "+description", "*description" with several formats, "-": unregistered */
static unsigned int nr_asked;
static int answer;

static int played_register(int fd, void *word, const char *description, bool multi, int32_t *index)
{
	assert_int_equal(fd, 77);
	assert_non_null(word);
	(void)snprintf(asked[nr_asked++ % 40], 700, "%c%s", multi ? '*' : '+', description);
	*index = 11;
	return answer;
}

static int played_unregister(int fd, void *word)
{
	assert_int_equal(fd, 77);
	assert_non_null(word);
	(void)snprintf(asked[nr_asked++ % 40], 700, "-");
	return 0;
}

static unsigned int nr_reported;

static void played_notify(void)
{
	nr_reported++;
}

#define kernel_register played_register
#define kernel_unregister played_unregister
#define notice_send played_notify
#include "tracers/user-events/events.c"
#undef kernel_register
#undef kernel_unregister
#undef notice_send

/* ---- writes ---- */

static unsigned char sent[8192];
static size_t sent_size;
static long write_result; /* 0: all; -errno */
static long flags_result;
static unsigned int nr_flags;

static long played_syscall(long number, int fd, ...)
{
	const struct iovec *parts;
	va_list arguments;
	int nr;

	assert_int_equal(fd, 77);
	va_start(arguments, fd);
	if (number == SYS_fcntl) {
		assert_int_equal(va_arg(arguments, int), F_GETFD);
		va_end(arguments);
		nr_flags++;
		return flags_result;
	}
	assert_int_equal(number, SYS_pwritev);
	parts = va_arg(arguments, const struct iovec *);
	nr = va_arg(arguments, int);
	assert_int_equal(va_arg(arguments, long), 0);
	assert_int_equal(va_arg(arguments, long), 0);
	va_end(arguments);
	sent_size = 0;
	for (int i = 0; i < nr; i++) {
		assert_true(sent_size + parts[i].iov_len <= sizeof(sent));
		memcpy(sent + sent_size, parts[i].iov_base, parts[i].iov_len);
		sent_size += parts[i].iov_len;
	}
	if (write_result < 0) {
		errno = (int)-write_result;
		return -1;
	}
	return write_result ? write_result : (long)sent_size;
}

/* Another thread reserves the buffer between the load and the exchange. */
static bool another_takes;

static bool played_exchange(uint64_t *word, uint64_t *expected, uint64_t wanted, bool weak,
		int success, int failure)
{
	assert_true(weak);
	assert_int_equal(success, __ATOMIC_ACQUIRE);
	assert_int_equal(failure, __ATOMIC_RELAXED);
	if (another_takes) {
		another_takes = false;
		*word |= wanted;
		*expected = *word;
		return false;
	}
	if (*word != *expected) {
		*expected = *word;
		return false;
	}
	*word = wanted;
	return true;
}

#define syscall played_syscall
#define __atomic_compare_exchange_n played_exchange
#include "tracers/user-events/write.c"
#undef syscall
#undef __atomic_compare_exchange_n

/* ---- events ---- */

side_static_event(ev_plain, "my:app", "plain", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u16("x"), side_field_string("t")));
side_static_event(ev_header, "app", "big", SIDE_LOGLEVEL_CRIT,
		side_field_list(side_field_string("t")),
		side_attr_list(side_attr("side.user_events", side_attr_string("eventheader"))));
side_static_event(ev_native, "app", "native", SIDE_LOGLEVEL_CRIT,
		side_field_list(side_field_dynamic("d")),
		side_attr_list(side_attr("side.user_events", side_attr_string("native"))));
side_static_event(ev_number, "app", "number", SIDE_LOGLEVEL_CRIT,
		side_field_list(side_field_u8("d")),
		side_attr_list(side_attr("side.user_events", side_attr_u8(7))));
side_static_event_variadic(ev_variadic, "app", "variadic", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("x")));
side_static_event(ev_dynamic, "app", "dynamic", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_dynamic("x")));

static side_define_struct(s1, side_field_list(side_field_u8("a")));
static side_define_struct(s2, side_field_list(side_field_struct("s", s1)));
static side_define_struct(s3, side_field_list(side_field_struct("s", s2)));
static side_define_struct(s4, side_field_list(side_field_struct("s", s3)));
static side_define_struct(s5, side_field_list(side_field_struct("s", s4)));
static side_define_struct(s6, side_field_list(side_field_struct("s", s5)));
static side_define_struct(s7, side_field_list(side_field_struct("s", s6)));
static side_define_struct(s8, side_field_list(side_field_struct("s", s7)));
static side_define_struct(s9, side_field_list(side_field_struct("s", s8)));
side_static_event(ev_deep, "app", "deep", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_struct("x", s9)),
		side_attr_list(side_attr("side.user_events", side_attr_string("eventheader"))));
static side_define_variant(
		va, side_type_s8(), side_option_list(side_option_range(6, 5, side_type_u8())));
side_static_event(ev_tolerated, "app", "tolerated", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_variant("x", va)));

static __attribute__((noinline)) struct user_event *event_with(
		const struct side_event_description *desc)
{
	struct user_event *event = NULL;

	while ((event = table_next(event)) && event->desc != desc)
		;
	return event;
}

static void come_one(struct side_event_description *desc)
{
	nr_asked = 0;
	events_add(&desc, 1);
}

static void go_one(struct side_event_description *desc)
{
	events_remove(&desc, 1);
}

static const struct side_event_state_0 *state(const struct side_event_description *desc)
{
	return (const struct side_event_state_0 *)(const void *)side_ptr_get(desc->state);
}

static void check_refused(struct side_event_description *desc, const char *reason)
{
	unsigned int before = nr_reported;

	come_one(desc);
	assert_int_equal(event_with(desc)->shown.state, SIDE_KERNEL_EVENT_REFUSED);
	assert_string_equal(event_with(desc)->shown.reason, reason);
	assert_int_equal(nr_reported, before);
	go_one(desc);
	assert_null(event_with(desc));
	assert_null(events_find(state(desc)));
}

static void test_encodings(void **unused)
{
	struct side_event_description wrong;
	struct side_event_field field;

	(void)unused;
	come_one(&ev_number);
	assert_int_equal(nr_reported, 1);
	assert_int_equal(event_with(&ev_number)->encoding, KERNEL_NATIVE);
	assert_string_equal(asked[0], "+app_number u8 d");
	go_one(&ev_number);
	assert_string_equal(asked[1], "-");
	check_refused(&ev_native, "it has values whose type is only known at the call");
	assert_int_equal(nr_asked, 0);
	check_refused(&ev_deep,
			"it has structures or arrays nested more than 8 deep, which decoders refuse");
	assert_int_equal(nr_asked, 0);
	come_one(&ev_header);
	assert_true(event_with(&ev_header)->is_static);
	assert_string_equal(asked[0],
			"+app_L1K1 u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level");
	go_one(&ev_header);
	come_one(&ev_variadic);
	assert_false(event_with(&ev_variadic)->is_static);
	assert_int_equal(event_with(&ev_variadic)->encoding, KERNEL_EVENTHEADER);
	go_one(&ev_variadic);
	come_one(&ev_dynamic);
	assert_false(event_with(&ev_dynamic)->is_static);
	go_one(&ev_dynamic);
	/* An option whose end is before its begin is accepted; a name that is NULL is not. */
	come_one(&ev_tolerated);
	assert_int_equal(event_with(&ev_tolerated)->shown.state, SIDE_KERNEL_EVENT_REGISTERED);
	go_one(&ev_tolerated);
	wrong = ev_plain;
	memcpy(&field, side_array_at(&ev_plain.fields, 0), sizeof(field));
	field.side_type.u.side_integer.integer_size = 3;
	wrong.fields.elements = (typeof(wrong.fields.elements))SIDE_PTR_INIT(&field);
	wrong.fields.length = 1;
	come_one(&wrong);
	assert_int_equal(event_with(&wrong)->shown.state, SIDE_KERNEL_EVENT_REFUSED);
	assert_memory_equal(event_with(&wrong)->shown.reason, "its description is invalid: ", 26);
	assert_true(event_with(&wrong)->shown.reason[26] != '\0');
	assert_int_equal(nr_asked, 0);
	go_one(&wrong);
	/* Descriptions of other versions, and without a state, are ignored. */
	wrong = ev_plain;
	wrong.version++;
	come_one(&wrong);
	assert_null(event_with(&wrong));
	wrong = ev_plain;
	wrong.struct_size = side_offsetofend(struct side_event_description,
					    side_event_description_orig_abi_last) -
			1;
	come_one(&wrong);
	assert_null(event_with(&wrong));
	go_one(&wrong);
	wrong.struct_size++;
	come_one(&wrong);
	assert_non_null(event_with(&wrong));
	go_one(&wrong);
	wrong.state = (typeof(wrong.state))SIDE_PTR_INIT(NULL);
	come_one(&wrong);
	assert_null(event_with(&wrong));
	go_one(&wrong);
	come_one(NULL);
	go_one(NULL);
	{
		struct side_event_state other = {.version = SIDE_EVENT_STATE_ABI_VERSION + 1};

		wrong.state = (typeof(wrong.state))SIDE_PTR_INIT(&other);
		come_one(&wrong);
		assert_null(event_with(&wrong));
	}
	wrong = ev_plain;
	wrong.event_name = (typeof(wrong.event_name))SIDE_PTR_INIT(NULL);
	come_one(&wrong);
	assert_null(event_with(&wrong));
	wrong = ev_plain;
	wrong.provider_name = (typeof(wrong.provider_name))SIDE_PTR_INIT(NULL);
	come_one(&wrong);
	assert_null(event_with(&wrong));
}

side_static_event(ev_like_header, "app", "L1K1", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("d")));

/*
 * The user is notified if one of the events is registered, the last one or another. Only native
 * events reserve their names.
 */
static void test_several(void **unused)
{
	struct side_event_description *both[] = {&ev_header, &ev_native};
	unsigned int before = nr_reported;

	(void)unused;
	nr_asked = 0;
	events_add(both, 2);
	assert_int_equal(nr_reported, before + 1);
	assert_int_equal(event_with(&ev_header)->shown.state, SIDE_KERNEL_EVENT_REGISTERED);
	assert_int_equal(event_with(&ev_native)->shown.state, SIDE_KERNEL_EVENT_REFUSED);
	assert_string_equal(event_with(&ev_header)->shown.tracepoint, "app_L1K1");
	come_one(&ev_like_header);
	assert_string_equal(asked[0], "+app_L1K1 u8 d");
	assert_string_equal(event_with(&ev_like_header)->shown.tracepoint, "app_L1K1");
	/* A refused event is removed, too. */
	events_remove(both, 2);
	assert_null(event_with(&ev_header));
	assert_null(event_with(&ev_native));
	go_one(&ev_like_header);
	assert_null(event_with(&ev_like_header));
}

static void test_levels(void **unused)
{
	static const uint8_t levels[] = {1, 1, 1, 2, 3, 4, 4, 5, 5, 5};

	(void)unused;
	for (unsigned int i = 0; i < sizeof(levels); i++)
		assert_int_equal(user_event_header_level(i), levels[i]);
}

/* ---- names at their limits ---- */

static struct side_event_state_0 many_states[400];
static struct side_event_description many[400];
static struct side_event_state_0 first_states[8000];
static char many_names[400][16];

static void prepare_many(void)
{
	for (unsigned int i = 0; i < 400; i++) {
		(void)snprintf(many_names[i], 16, "e%u", i);
		many[i] = ev_plain;
		many[i].state = (typeof(many[i].state))SIDE_PTR_INIT(&many_states[i].parent);
		many[i].event_name = (typeof(many[i].event_name))SIDE_PTR_INIT(many_names[i]);
	}
}

static void test_names(void **unused)
{
	static char name[400], field_name[4100];
	struct side_event_description desc = ev_plain;
	struct side_event_field field;

	(void)unused;
	/* 239 bytes of the name, 229 of a provider. */
	memset(name, 'n', 399);
	desc.event_name = (typeof(desc.event_name))SIDE_PTR_INIT(name);
	name[232] = '\0';
	come_one(&desc);
	assert_int_equal(strlen(event_with(&desc)->shown.tracepoint), 239);
	assert_string_equal(event_with(&desc)->shown.reason, "");
	go_one(&desc);
	name[232] = 'n';
	name[300] = '\0';
	come_one(&desc);
	assert_int_equal(strlen(event_with(&desc)->shown.tracepoint), 239);
	assert_int_equal(event_with(&desc)->shown.state, SIDE_KERNEL_EVENT_REGISTERED);
	go_one(&desc);
	desc.attributes = ev_header.attributes;
	desc.provider_name = (typeof(desc.provider_name))SIDE_PTR_INIT(name);
	come_one(&desc);
	assert_int_equal(strlen(event_with(&desc)->shown.tracepoint), 229 + 5);
	assert_string_equal(event_with(&desc)->shown.tracepoint + 229, "_L4K1");
	go_one(&desc);
	/* Names and types as metadata: 4052 bytes are in a record with a header, and no more. */
	memset(field_name, 'f', sizeof(field_name) - 1);
	desc = ev_header;
	memcpy(&field, side_array_at(&ev_header.fields, 0), sizeof(field));
	field.field_name = (typeof(field.field_name))SIDE_PTR_INIT(field_name);
	desc.fields.elements = (typeof(desc.fields.elements))SIDE_PTR_INIT(&field);
	field_name[4052 - 4 - 3] = '\0';
	come_one(&desc);
	assert_int_equal(event_with(&desc)->metadata.size, 4052);
	assert_int_equal(event_with(&desc)->shown.state, SIDE_KERNEL_EVENT_REGISTERED);
	go_one(&desc);
	field_name[4052 - 4 - 3] = 'f';
	field_name[4053 - 4 - 3] = '\0';
	check_refused(&desc, "its names and types do not fit in a record of the kernel");
	assert_int_equal(nr_asked, 0);
	/* Out of memory: the names and types are refused. */
	first_free->metadata = (struct user_event_bytes){.at = NULL};
	nr_maps_left = 0;
	while (kernel_small_memory(8))
		;
	check_refused(&ev_header, "its names and types do not fit in a record of the kernel");
	nr_maps_left = -1;
	assert_int_equal(nr_asked, 0);
}

/* ---- the table ---- */

static unsigned int nr_in_use(void)
{
	struct user_event *event = NULL;
	unsigned int nr = 0;

	while ((event = table_next(event)))
		nr++;
	return nr;
}

static __attribute__((noinline)) void report_problem(const char *text)
{
	table_report(text);
}

static void test_table(void **unused)
{
	struct user_event *taken_events[SIDE_KERNEL_TABLE_EVENTS + 1];
	struct user_event *event;
	unsigned char *small;

	(void)unused;
	assert_int_equal(side_kernel_table_0.size, 280);
	assert_int_equal(side_kernel_table_0.event_size, sizeof(struct user_event));
	assert_int_equal(nr_in_use(), 0);
	assert_null(table_next(NULL));
	for (unsigned int i = 0; i < SIDE_KERNEL_TABLE_EVENTS; i++) {
		taken_events[i] = table_take();
		assert_non_null(taken_events[i]);
		taken_events[i]->shown.state = SIDE_KERNEL_EVENT_REFUSED;
		assert_int_equal(nr_in_use(), i + 1);
	}
	/* A full block and no memory for another one. */
	nr_maps_left = 0;
	assert_null(table_take());
	come_one(&ev_plain);
	assert_int_equal(nr_asked, 0);
	assert_null(event_with(&ev_plain));
	nr_maps_left = -1;
	taken_events[SIDE_KERNEL_TABLE_EVENTS] = table_take();
	assert_non_null(taken_events[SIDE_KERNEL_TABLE_EVENTS]);
	assert_int_equal(nr_in_use(), SIDE_KERNEL_TABLE_EVENTS);
	taken_events[SIDE_KERNEL_TABLE_EVENTS]->shown.state = SIDE_KERNEL_EVENT_REGISTERED;
	assert_int_equal(nr_in_use(), SIDE_KERNEL_TABLE_EVENTS + 1);
	assert_int_equal(last_map, 8 + SIDE_KERNEL_TABLE_EVENTS * sizeof(struct user_event));
	/* In order, through the blocks. */
	event = NULL;
	for (unsigned int i = 0; i <= SIDE_KERNEL_TABLE_EVENTS; i++) {
		event = table_next(event);
		assert_ptr_equal(event, taken_events[i]);
	}
	assert_null(table_next(event));
	/* A released entry is zeroed when it is used again; memory of metadata stays. */
	memset(taken_events[3], 0x77, sizeof(struct user_event));
	taken_events[3]->metadata = (struct user_event_bytes){.at = sent, .size = 5, .capacity = 9};
	table_give_back(taken_events[3]);
	assert_int_equal(taken_events[3]->shown.state, SIDE_KERNEL_EVENT_FREE);
	assert_int_equal(nr_in_use(), SIDE_KERNEL_TABLE_EVENTS);
	event = table_take();
	assert_ptr_equal(event, taken_events[3]);
	assert_int_equal(event->shown.written, 0);
	assert_int_equal(event->nr_quick, 0);
	assert_ptr_equal(event->metadata.at, sent);
	assert_int_equal(event->metadata.size, 0);
	assert_int_equal(event->metadata.capacity, 9);
	event->metadata = (struct user_event_bytes){.at = NULL};
	for (unsigned int i = 0; i <= SIDE_KERNEL_TABLE_EVENTS; i++)
		table_give_back(taken_events[i]);
	assert_int_equal(nr_in_use(), 0);
	/* Small memory is from a large piece, of which every byte is used. */
	small = kernel_small_memory(40);
	assert_int_equal(last_map, 16 * 4096);
	last_map = 0;
	assert_ptr_equal(kernel_small_memory(16 * 4096 - 40), small + 40);
	assert_int_equal(last_map, 0);
	nr_maps_left = 0;
	assert_null(kernel_small_memory(1));
	nr_maps_left = -1;
	assert_null(kernel_small_memory(16 * 4096 + 1));
	assert_non_null(kernel_small_memory(16 * 4096));
	/* A message is not a format, and its last byte is a zero. */
	table_report("100%% of %s");
	assert_string_equal(side_kernel_table_0.problem, "100%% of %s");
	{
		char text[400];

		memset(text, 'x', 399);
		text[399] = '\0';
		report_problem(text);
		assert_int_equal(strlen(side_kernel_table_0.problem), 255);
	}
}

/* ---- the states ---- */

static void test_states(void **unused)
{
	struct side_event_description *all[400];
	size_t first;

	const struct states first_slots = {.capacity = 256};
	unsigned int first_state = 0;

	(void)unused;
	assert_int_equal(states ? states->capacity : 256, 256);
	/* The first entry of the table is in use. */
	while (user_event_hash_slot(&first_slots, &first_states[first_state]))
		assert_true(++first_state < 8000);
	many[0].state = (typeof(many[0].state))SIDE_PTR_INIT(&first_states[first_state].parent);
	for (unsigned int i = 0; i < 8000; i++)
		assert_true(user_event_hash_slot(&first_slots, &first_states[i]) < 256);
	for (unsigned int i = 0; i < 400; i++)
		all[i] = &many[i];
	events_add(all, 100);
	assert_int_equal(states->capacity, 256);
	first = states->used;
	/* A third of the table stays free. */
	for (unsigned int i = 100; first + (i - 100) < 171; i++)
		events_add(all + i, 1);
	assert_int_equal(states->used, 171);
	assert_int_equal(states->capacity, 256);
	/* Out of memory for a larger table: the event is unregistered. */
	nr_maps_left = 0;
	nr_asked = 0;
	events_add(all + 398, 1);
	nr_maps_left = -1;
	if (event_with(&many[398])) {
		assert_int_equal(nr_asked, 2);
		assert_string_equal(asked[1], "-");
		assert_string_equal(event_with(&many[398])->shown.reason, "out of memory");
		assert_int_equal(event_with(&many[398])->shown.state, SIDE_KERNEL_EVENT_REFUSED);
		events_remove(all + 398, 1);
	}
	assert_int_equal(states->capacity, 256);
	{
		size_t live = 0;

		for (size_t i = 0; i < 256; i++)
			live += states->entries[i].event != NULL;
		events_add(all + 399, 1);
		assert_int_equal(states->capacity, 512);
		assert_int_equal(states->used, live + 1);
	}
	/* Removed events have left no entry. */
	assert_non_null(event_with(&many[0]));
	for (unsigned int i = 0; i < 398; i++)
		assert_ptr_equal(events_find(state(&many[i])), event_with(&many[i]));
	assert_ptr_equal(events_find(&many_states[399]), event_with(&many[399]));
	assert_null(events_find(&many_states[397]));
	/* The next free entry is after a used one. */
	{
		size_t at = user_event_hash_slot(states, state(&many[0]));
		unsigned int i = 0;

		while (states->entries[at].state && i++ < 512)
			at = (at + 1) & 511;
		for (i = 390; i < 397 &&
				user_event_hash_slot(states, &many_states[i]) !=
						user_event_hash_slot(states, &many_states[0]);
				i++)
			;
		if (i < 397)
			assert_ptr_equal(user_event_find_entry(states, &many_states[i]),
					&states->entries[at]);
	}
	for (unsigned int i = 0; i < 400; i++)
		events_remove(all + i, 1);
	assert_int_equal(nr_in_use(), 0);
	for (unsigned int i = 0; i < 400; i++)
		assert_null(events_find(state(&many[i])));
	/* Two events of one name share it; another name that maps to the same one gets a number. */
	come_one(&ev_plain);
	many[0] = ev_plain;
	many[0].state = (typeof(many[0].state))SIDE_PTR_INIT(&many_states[0].parent);
	come_one(&many[0]);
	assert_string_equal(event_with(&many[0])->shown.tracepoint, "my_app_plain");
	many[1].event_name = (typeof(many[1].event_name))SIDE_PTR_INIT("plain");
	many[1].provider_name = (typeof(many[1].provider_name))SIDE_PTR_INIT("my;app");
	come_one(&many[1]);
	assert_int_equal(strlen(event_with(&many[1])->shown.tracepoint), 12 + 9);
	go_one(&many[1]);
	go_one(&many[0]);
	go_one(&ev_plain);
}

/* ---- buffers ---- */

static void test_buffers(void **unused)
{
	side_arg_define_vec(vec, side_arg_list(side_arg_u16(0x102), side_arg_string("hi")));

	(void)unused;
	kernel_after_fork_in_child();
	for (int i = 0; i < 64; i++)
		assert_int_equal(user_events_write_take_buffer(), i);
	assert_int_equal(user_events_write_take_buffer(), -1);
	user_events_write_release_buffer(5);
	user_events_write_release_buffer(40);
	assert_int_equal(user_events_write_take_buffer(), 5);
	assert_int_equal(user_events_write_take_buffer(), 40);
	come_one(&ev_plain);
	errno = EDOM;
	sent_size = 0;
	kernel_write(state(&ev_plain), &vec, NULL, NULL);
	assert_int_equal(errno, EDOM);
	assert_int_equal(sent_size, 0);
	assert_int_equal(event_with(&ev_plain)->shown.lost, 1);
	kernel_after_fork_in_child();
	kernel_write(state(&ev_plain), &vec, NULL, NULL);
	assert_int_equal(event_with(&ev_plain)->shown.lost, 1);
	assert_int_equal(event_with(&ev_plain)->shown.written, 1);
	assert_int_equal(taken, 0);
	another_takes = true;
	assert_int_equal(user_events_write_take_buffer(), 1);
	assert_int_equal(taken, 3);
	kernel_after_fork_in_child();
	go_one(&ev_plain);
	/* The event does not belong to this library: nothing is counted or written. */
	sent_size = 0;
	kernel_write(state(&ev_plain), &vec, NULL, NULL);
	assert_int_equal(sent_size, 0);
}

/* The kernel's answer, the count that it changes, and whether later events are written. */
static void test_answers(void **unused)
{
	static const struct {
		long result, flags;
		unsigned int nr_flags, lost;
		bool is_gone;
	} rows[] = {{0, 0, 0, 0, false}, {-EBADF, 0, 1, 0, false}, {-EBADF, 1, 1, 0, false},
			{-EBADF, -1, 1, 1, true}, {-ESPIPE, 0, 0, 1, true},
			{-EFAULT, -1, 0, 1, false}, {5, 0, 0, 1, false}};
	side_arg_define_vec(vec, side_arg_list(side_arg_u16(0x102), side_arg_string("hi")));

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct side_kernel_event_0 *shown;

		come_one(&ev_plain);
		shown = &event_with(&ev_plain)->shown;
		write_result = rows[i].result;
		flags_result = rows[i].flags;
		nr_flags = 0;
		kernel_write(state(&ev_plain), &vec, NULL, NULL);
		assert_int_equal(nr_flags, rows[i].nr_flags);
		assert_int_equal(shown->lost, rows[i].lost);
		assert_int_equal(shown->written, !i);
		assert_int_equal(shown->cut, 0);
		assert_int_equal(gone, rows[i].is_gone);
		sent_size = 0;
		write_result = 0;
		kernel_write(state(&ev_plain), &vec, NULL, NULL);
		assert_int_equal(sent_size, rows[i].is_gone ? 0 : 4 + 9);
		assert_int_equal(shown->lost, rows[i].lost + rows[i].is_gone);
		gone = false;
		go_one(&ev_plain);
	}
}

/* ---- the longest record ---- */

static void check_text(struct side_event_description *desc, const struct side_arg_vec *vec,
		size_t size, bool cut)
{
	struct side_kernel_event_0 *shown = &event_with(desc)->shown;
	uint64_t before = shown->written, cut_before = shown->cut;

	kernel_write(state(desc), vec, NULL, NULL);
	assert_int_equal(shown->written, before + 1);
	assert_int_equal(shown->cut, cut_before + cut);
	assert_int_equal(shown->lost, 0);
	assert_int_equal(sent_size, size);
}

static void test_longest(void **unused)
{
	static char text[5000];
	side_arg_define_vec(plain, side_arg_list(side_arg_u16(0x102), side_arg_string(text)));
	side_arg_define_vec(header, side_arg_list(side_arg_string(text)));
	uint16_t tag;

	(void)unused;
	memset(text, 't', sizeof(text) - 1);
	come_one(&ev_plain);
	text[KERNEL_RECORD_MAX - 7] = '\0';
	check_text(&ev_plain, &plain, 4 + KERNEL_RECORD_MAX, false);
	text[KERNEL_RECORD_MAX - 7] = 't';
	text[KERNEL_RECORD_MAX - 6] = '\0';
	check_text(&ev_plain, &plain, 4 + 6 + 3500 + 4, true);
	go_one(&ev_plain);
	come_one(&ev_header);
	/* A header of 12 bytes, names and types of 8, the text and its zero. */
	memset(text, 't', sizeof(text) - 1);
	text[KERNEL_RECORD_MAX - 21] = '\0';
	check_text(&ev_header, &header, 4 + KERNEL_RECORD_MAX, false);
	assert_memory_equal(sent, "\x0b\0\0\0\7\0\0\0\0\0\0\1\x08\0\1\0big\0t\0\x87\x0bttt", 27);
	text[KERNEL_RECORD_MAX - 21] = 't';
	text[KERNEL_RECORD_MAX - 20] = '\0';
	check_text(&ev_header, &header, 4 + 20 + 3500 + 4, true);
	memcpy(&tag, sent + 4 + 4, sizeof(tag));
	assert_int_equal(tag, 1);
	go_one(&ev_header);
}

/*
 * 506 empty texts fit a record, and 507 do not. Each has its name, type, dots and zero: eight
 * bytes.
 */
static void test_most(void **unused)
{
	static struct side_event_field fields[507];
	static struct side_arg args[507];
	struct side_event_description desc = ev_header;
	side_arg_define_vec(one, side_arg_list(side_arg_string("text")));
	side_arg_define_vec(number, side_arg_list(side_arg_u8(1)));
	struct side_arg_vec vec = {.len = 0};
	struct side_kernel_event_0 *shown;

	(void)unused;
	for (unsigned int i = 0; i < 507; i++) {
		memcpy(&fields[i], side_array_at(&ev_header.fields, 0), sizeof(fields[i]));
		memcpy(&args[i], side_ptr_get(one.sav), sizeof(args[i]));
	}
	vec.sav = (typeof(vec.sav))SIDE_PTR_INIT(args);
	desc.fields.elements = (typeof(desc.fields.elements))SIDE_PTR_INIT(fields);
	for (uint32_t nr = 506; nr <= 507; nr++) {
		desc.fields.length = vec.len = nr;
		come_one(&desc);
		shown = &event_with(&desc)->shown;
		sent_size = 0;
		kernel_write(state(&desc), &vec, NULL, NULL);
		assert_int_equal(shown->written, nr == 506);
		assert_int_equal(shown->cut, nr == 506);
		assert_int_equal(shown->lost, nr == 507);
		assert_int_equal(sent_size, nr == 506 ? 4 + KERNEL_RECORD_MAX : 0);
		go_one(&desc);
	}
	/* Arguments that do not match the description are lost, and nothing is written. */
	come_one(&ev_header);
	shown = &event_with(&ev_header)->shown;
	sent_size = 0;
	kernel_write(state(&ev_header), &number, NULL, NULL);
	assert_int_equal(shown->lost, 1);
	assert_int_equal(shown->written, 0);
	assert_int_equal(sent_size, 0);
	go_one(&ev_header);
}

/* ---- settings ---- */

static void check_config(const char *text, const char *encoding, const char *reason_expected)
{
	struct kernel_config read = {.patterns = NULL};
	char reason[300] = "";

	assert_int_equal(kernel_config_read(text, encoding, &read, reason, sizeof(reason)),
			!reason_expected);
	if (reason_expected)
		assert_string_equal(reason, reason_expected);
	free(read.patterns);
}

static void test_settings(void **unused)
{
	char path[] = "/tmp/side-parts-XXXXXX", line[4096], reason[300];
	struct kernel_config read;
	int fd = mkstemp(path);

	(void)unused;
	assert_true(kernel_config_read("1,all,a", NULL, &read, reason, sizeof(reason)));
	assert_int_equal(read.nr_patterns, 3);
	assert_string_equal(read.patterns[0].glob, "*:*");
	assert_string_equal(read.patterns[1].glob, "*:*");
	assert_string_equal(read.patterns[2].glob, "a:*");
	free(read.patterns);
	no_memory = true;
	check_config("a,b", NULL, "out of memory for \"a,b\"");
	assert_int_equal(write(fd, "events x,y\n", 11), 11);
	check_config(path, NULL, "out of memory for \"x\"");
	no_memory = false;
	check_config(path, NULL, NULL);
	/* A comment of 2047 bytes is a complete line; the remainder is another line. */
	memset(line, 'c', sizeof(line));
	line[0] = '#';
	for (size_t size = 2046; size <= 2048; size++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, line, size, 0), (ssize_t)size);
		assert_int_equal(pwrite(fd, "\nevents x\n", 10, (off_t)size), 10);
		check_config(path, NULL,
				size > 2047 ? "unknown keyword, expected events or encoding: \"c\""
					    : NULL);
	}
	/* The first 120 bytes of a text that is refused. */
	memset(line, 'e', 130);
	line[130] = '\0';
	(void)snprintf(reason, sizeof(reason),
			"unknown encoding, expected auto, native or eventheader: \"%.120s\"", line);
	check_config("a", line, reason);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_table),
			cmocka_unit_test(test_encodings),
			cmocka_unit_test(test_several),
			cmocka_unit_test(test_levels),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_states),
			cmocka_unit_test(test_buffers),
			cmocka_unit_test(test_answers),
			cmocka_unit_test(test_longest),
			cmocka_unit_test(test_most),
			cmocka_unit_test(test_settings),
	};
	struct kernel_config wanted;
	char reason[200];
	int ret;

	if (!kernel_config_read("*", NULL, &wanted, reason, sizeof(reason)))
		return 1;
	prepare_many();
	events_begin(77, &wanted);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	free(wanted.patterns);
	/* The library never frees them: a thread may use them at any time. */
	while (nr_maps--)
		munmap(maps[nr_maps].at, maps[nr_maps].size);
	return ret;
}
