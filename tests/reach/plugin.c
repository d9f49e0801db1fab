/* SPDX-License-Identifier: MIT */
/* An instrumented library, for programs that do not use libside. */
#include <side/trace.h>

side_static_event(ev_tick, "reach", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("sequence")));

static uint64_t sequence;

__attribute__((visibility("default"))) void fire(unsigned int nr);

__attribute__((visibility("default"))) void fire(unsigned int nr)
{
	for (; nr; nr--, sequence++)
		side_event(ev_tick, side_arg_list(side_arg_u64(sequence)));
}

static __attribute__((constructor)) void early(void)
{
	side_event_description_ptr_init();
	fire(2);
}
