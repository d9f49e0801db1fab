/* SPDX-License-Identifier: MIT */
/* The smallest program with an event, to measure its start time (start.py). */
#include <side/trace.h>

side_static_event(ev_begin, "bench", "begin", SIDE_LOGLEVEL_INFO, side_field_list());

int main(void)
{
	side_event(ev_begin, side_arg_list());
	return 0;
}
