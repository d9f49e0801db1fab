/* SPDX-License-Identifier: MIT */
/* The program `till` of the guide to filters: orders, of which one is large and not done. */
#include <side/trace.h>

side_static_event(shop_order, "shop", "order", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("total"), side_field_string("state"),
				side_field_string("customer")));

int main(void)
{
	side_event(shop_order,
			side_arg_list(side_arg_u64(99), side_arg_string("new"),
					side_arg_string("Ada")));
	side_event(shop_order,
			side_arg_list(side_arg_u64(101), side_arg_string("new"),
					side_arg_string("Ada")));
	side_event(shop_order,
			side_arg_list(side_arg_u64(102), side_arg_string("done"),
					side_arg_string("Ada")));
	return 0;
}
