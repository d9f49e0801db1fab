/* SPDX-License-Identifier: MIT */
/* Emits events with a format of printf() and its arguments, as they fit and as they do not. */
#include <side/trace.h>

side_static_event_variadic(ev_log, "app", "log", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("fmt")));
side_static_event_variadic(ev_marked, "app", "marked", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("id"),
				side_field_string("text",
						side_attr_list(side_attr("lang.c.format_string",
								side_attr_bool(true)))),
				side_field_string("more")));
side_static_event_variadic(ev_event, "app", "event", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("what")),
		side_attr_list(side_attr("lang.c.format_string", side_attr_bool(true))));
side_static_event_variadic(ev_unmarked, "app", "unmarked", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("text",
				side_attr_list(side_attr(
						"lang.c.format_string", side_attr_bool(false))))));
side_static_event(ev_fixed, "app", "fixed", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("fmt")));

static void emit_fitting(void)
{
	side_event_variadic(ev_log, side_arg_list(side_arg_string("user %s took %d ms")),
			side_arg_list(side_arg_dynamic_field(
						      "user", side_arg_dynamic_string("bob")),
					side_arg_dynamic_field("ms", side_arg_dynamic_s32(-12))));
	side_event_variadic(
			ev_log, side_arg_list(side_arg_string("nothing to add")), side_arg_list());
	side_event_variadic(ev_log,
			side_arg_list(side_arg_string("%5.1f%% of %#lx, %c, %s\n\033[31m")),
			side_arg_list(side_arg_dynamic_field("share",
						      side_arg_dynamic_float_binary64(12.34)),
					side_arg_dynamic_field("bits", side_arg_dynamic_u64(255)),
					side_arg_dynamic_field("letter", side_arg_dynamic_u8('q')),
					side_arg_dynamic_field(
							"line", side_arg_dynamic_string("a\tb"))));
	side_event_variadic(ev_marked,
			side_arg_list(side_arg_u32(7), side_arg_string("%u of %u"),
					side_arg_string("x")),
			side_arg_list(side_arg_dynamic_field("a", side_arg_dynamic_u32(1)),
					side_arg_dynamic_field("b", side_arg_dynamic_u16(2))));
	side_event_variadic(ev_event, side_arg_list(side_arg_string("on: %d")),
			side_arg_list(side_arg_dynamic_field("on", side_arg_dynamic_bool(true))));
}

static void emit_others(void)
{
	side_event_variadic(ev_log, side_arg_list(side_arg_string("%s")),
			side_arg_list(side_arg_dynamic_field("a", side_arg_dynamic_s32(5))));
	side_event_variadic(ev_log, side_arg_list(side_arg_string("%s %n")),
			side_arg_list(side_arg_dynamic_field("a", side_arg_dynamic_string("x")),
					side_arg_dynamic_field("b", side_arg_dynamic_u64(1))));
	side_event_variadic(ev_log, side_arg_list(side_arg_string("%d")),
			side_arg_list(side_arg_dynamic_field("a", side_arg_dynamic_null())));
	side_event_variadic(ev_unmarked, side_arg_list(side_arg_string("%d")),
			side_arg_list(side_arg_dynamic_field("a", side_arg_dynamic_s32(5))));
	side_event(ev_fixed, side_arg_list(side_arg_string("%d")));
}

int main(void)
{
	emit_fitting();
	emit_others();
	return 0;
}
