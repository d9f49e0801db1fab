/* SPDX-License-Identifier: MIT */
/* Constructors and destructors emit, whatever their priority and order. What the console tracer prints: */
/*= provider: order, event: at, fields: { where: { value: "constructor 101" } } */
/*= provider: order, event: at, fields: { where: { value: "constructor 102" } } */
/*= provider: order, event: at, fields: { where: { value: "constructor" } } */
/*= provider: order, event: at, fields: { where: { value: "main" } } */
/*= provider: order, event: at, fields: { where: { value: "atexit" } } */
/*= provider: order, event: at, fields: { where: { value: "destructor" } } */
/*= provider: order, event: at, fields: { where: { value: "destructor 102" } } */
/*= provider: order, event: at, fields: { where: { value: "destructor 101" } } */
#include <stdlib.h>

#include <side/trace.h>

side_static_event(ev_at, "order", "at", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("where")));

#define AT(name, attribute, where)                                        \
	__attribute__((attribute)) static void name(void)                 \
	{                                                                 \
		side_event(ev_at, side_arg_list(side_arg_string(where))); \
	}

AT(last, destructor(101), "destructor 101")
AT(first, constructor(101), "constructor 101")
AT(second, constructor(102), "constructor 102")
AT(last_but_one, destructor(102), "destructor 102")
AT(any, constructor, "constructor")
AT(any_end, destructor, "destructor")
AT(exiting, unused, "atexit")

int main(void)
{
	side_event(ev_at, side_arg_list(side_arg_string("main")));
	return atexit(exiting) ? 1 : 0;
}
