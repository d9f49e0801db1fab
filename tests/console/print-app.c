/* SPDX-License-Identifier: MIT */
/* Variadic and dynamic. What the console tracer prints for it: */
/*= provider: app, event: log, attr: [ { key: "vendor.topic", value: "storage" } ], fields: { message: { value: "disk slow" } }, fields:: { latency_us:: { attr:: [ { key:: "std.integer.base", value:: 10 } ], value:: 950 }, device:: { value:: "sda" } } */
/*= provider: app, event: any, fields: { what: { fields:: { list:: { elements:: [ { value:: 1 }, { value:: <NULL TYPE> } ] }, ok:: { value:: true } } } } */
/* Described as: */
/*: event description: provider: app, event: log, attr: [ { key: "vendor.topic", value: "storage" } ], fields: { message: { type: string { unit_size: 1 } } }, <variadic fields> */
/*: event description: provider: app, event: any, fields: { what: { type: dynamic } } */
#include <side/trace.h>

side_static_event_variadic(ev_log, "app", "log", SIDE_LOGLEVEL_WARNING,
		side_field_list(side_field_string("message")),
		side_attr_list(side_attr("vendor.topic", side_attr_string("storage"))));

side_static_event(ev_any, "app", "any", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_dynamic("what")));

int main(void)
{
	side_event_variadic(ev_log, side_arg_list(side_arg_string("disk slow")),
			side_arg_list(side_arg_dynamic_field("latency_us",
						      side_arg_dynamic_u32(950,
								      side_dynamic_attr_list(side_attr(
										      "std.integer."
										      "base",
										      side_attr_u8(10))))),
					side_arg_dynamic_field("device",
							side_arg_dynamic_string("sda")), ));
	if (side_event_enabled(ev_any)) {
		side_arg_dynamic_define_vec(list,
				side_arg_list(side_arg_dynamic_u8(1), side_arg_dynamic_null()));
		side_arg_dynamic_define_struct(obj,
				side_arg_list(side_arg_dynamic_field(
							      "list", side_arg_dynamic_vla(&list)),
						side_arg_dynamic_field("ok",
								side_arg_dynamic_bool(true)), ));
		side_event_call(ev_any, side_arg_list(side_arg_dynamic_struct(&obj)));
	}
	return 0;
}
