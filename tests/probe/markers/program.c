/* SPDX-License-Identifier: MIT */
/*
 * Events that are also markers: each type of field with known values; compiled as C and as C++,
 * with several options.
 *
 *	program [wait]		wait: for a line of standard input before each round
 *
 * Prints after each round which events were enabled: the enabled words, in hexadecimal.
 */
#define SIDE_SDT
#include <side/trace.h>

#include <stdlib.h>
#include <string.h>

static side_define_array(three, side_elem(side_type_u8()), 3);
static side_define_struct(pair, side_field_list(side_field_u16("left"), side_field_u16("right")));

/* Declared here and defined below: marked in this file. */
side_declare_event(ev_hidden);

side_static_event(ev_none, "shelf", "none", SIDE_LOGLEVEL_INFO, side_field_list());
side_static_event(ev_numbers, "shelf", "numbers", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("a"), side_field_s8("b"), side_field_u16("c"),
				side_field_s16("d"), side_field_u32("e"), side_field_s32("f"),
				side_field_u64("g"), side_field_s64("h"), side_field_bool("i"),
				side_field_byte("j"), side_field_pointer("k"), side_field_int("l"),
				side_field_u8("thirteenth")));
side_static_event(ev_others, "shelf", "others", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("text"), side_field_double("real"),
				side_field_array("array", three), side_field_struct("pair", pair),
				side_field_dynamic("dynamic"), side_field_null("null"), ));
side_hidden_event(ev_hidden, "shelf", "hidden", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_long("number")));
side_export_event(ev_exported, "shelf", "exported", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("number")));
side_static_event_variadic(ev_variadic, "shelf", "variadic", SIDE_LOGLEVEL_INFO, side_field_list());

static void fire_others(void)
{
	side_arg_define_array(array, side_arg_list(side_arg_u8(7), side_arg_u8(8), side_arg_u8(9)));
	side_arg_define_struct(both, side_arg_list(side_arg_u16(500), side_arg_u16(600)));

	side_event(ev_others,
			side_arg_list(side_arg_string("on the shelf"), side_arg_double(-2.5),
					side_arg_array(array), side_arg_struct(both),
					side_arg_dynamic_u32(77), side_arg_null()));
}

static void fire(uint32_t round)
{
	side_event(ev_none, side_arg_list());
	side_event(ev_numbers,
			side_arg_list(side_arg_u8(200), side_arg_s8(-100), side_arg_u16(60000),
					side_arg_s16(-30000), side_arg_u32(4000000000u),
					side_arg_s32(-2000000000),
					side_arg_u64(18000000000000000000u),
					side_arg_s64(-9000000000000000000), side_arg_bool(round),
					side_arg_byte(0xab), side_arg_pointer((uintptr_t)0x1234),
					side_arg_int((int)round - 5), side_arg_u8(13)));
	if (side_event_enabled(ev_others))
		fire_others();
	side_event(ev_hidden, side_arg_list(side_arg_long(-(long)round)));
	side_event(ev_exported, side_arg_list(side_arg_u32(round)));
	side_event_variadic(ev_variadic, side_arg_list(),
			side_arg_list(side_arg_dynamic_field("x", side_arg_dynamic_u32(round))));
}

static void print_enabled(void)
{
	printf("%llx %llx\n", (unsigned long long)side_event_state__ev_numbers.enabled,
			(unsigned long long)side_event_state__ev_exported.enabled);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[16];
	uint32_t round = 0;

	if (argc > 1 && !strcmp(argv[1], "wait")) {
		while (fgets(line, sizeof(line), stdin)) {
			fire(++round);
			print_enabled();
		}
		return 0;
	}
	while (round < 3)
		fire(++round);
	print_enabled();
	return 0;
}
