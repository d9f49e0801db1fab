/* SPDX-License-Identifier: MIT */
#include "two-units.h"

side_hidden_event(ev_shared, "p", "shared", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u8("a")));
side_static_event(ev_b, "p", "b", SIDE_LOGLEVEL_INFO, side_field_list());

void emit_shared(void)
{
	side_event(ev_shared, side_arg_list(side_arg_u8(2)));
	side_event(ev_b, side_arg_list());
}
