/* SPDX-License-Identifier: MIT */
/*
 * The tracer is loaded and unloaded while the program runs: when loaded, it prints; when unloaded,
 * it is removed from every event.
 */
#include <dlfcn.h>
#include <string.h>

#include <side/trace.h>

side_static_event(ev, "dl", "event", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("round")));

int main(int argc, char **argv)
{
	uint32_t round;

	if (argc != 2)
		return 2;
	for (round = 0; round < 3; round++) {
		void *tracer;

		if (side_event_enabled(ev))
			return 1;
		side_event(ev, side_arg_list(side_arg_u32(100 + round)));
		tracer = dlopen(argv[1], RTLD_NOW);
		if (!tracer || !side_event_enabled(ev))
			return 1;
		side_event(ev, side_arg_list(side_arg_u32(round)));
		if (dlclose(tracer))
			return 1;
	}
	side_event(ev, side_arg_list(side_arg_u32(103)));
	return side_event_enabled(ev);
}
