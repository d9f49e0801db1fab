/* SPDX-License-Identifier: MIT */
/* One batch for all units of a program, and an event declared in a header. */
#include "stub.h"
#include "two-units.h"

side_static_event(ev_b, "p", "also b", SIDE_LOGLEVEL_INFO, side_field_list());

int main(void)
{
	side_event(ev_b, side_arg_list());
	if (stub_nr_batches != 1 || stub_nr_events != 3 || stub_nr_calls)
		return 1;
	side_event_state__ev_shared.enabled = 1;
	side_event(ev_shared, side_arg_list(side_arg_u8(1)));
	if (stub_nr_calls != 1 || stub_args[0].u.side_static.integer_value.side_u8 != 1)
		return 2;
	emit_shared();
	if (stub_nr_calls != 2 || stub_args[0].u.side_static.integer_value.side_u8 != 2)
		return 3;
	return 0;
}
