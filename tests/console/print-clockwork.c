/* SPDX-License-Identifier: MIT */
/* Minimal event. What the console tracer prints for it: */
/*= provider: clockwork, event: tick, fields: { count: { value: 12 }, unit: { value: "minute" }, drift: { value: 0.25 } } */
/* Described as: */
/*: event description: provider: clockwork, event: tick, fields: { count: { type: integer { size: 8, signedness: false, byte_order: "le" } }, unit: { type: string { unit_size: 1 } }, drift: { type: float { size: 8, byte_order: "le" } } } */
#include <side/trace.h>

side_static_event(ev_tick, "clockwork", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("count"), side_field_string("unit"),
				side_field_double("drift"), ));

int main(void)
{
	side_event(ev_tick,
			side_arg_list(side_arg_u64(12), side_arg_string("minute"),
					side_arg_double(0.25), ));
	return 0;
}
