/* SPDX-License-Identifier: MIT */
/* Fires the recorded payloads as SIDE events, under `side record` (bench/run). */
#include <side/trace.h>

#include "payload.h"

side_static_event(event_u32, "bench", "u32", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("i")));
side_static_event(event_u32_string, "bench", "u32_string", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("i"), side_field_string("text")));
side_static_event(event_u64x8, "bench", "u64x8", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("a"), side_field_u64("b"), side_field_u64("c"),
				side_field_u64("d"), side_field_u64("e"), side_field_u64("f"),
				side_field_u64("g"), side_field_u64("h")));
side_static_event(event_kib, "bench", "kib", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_gather_array("data",
				side_elem(side_type_gather_byte(0, SIDE_TYPE_GATHER_ACCESS_DIRECT)),
				1024, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT)));

static inline void fire_u32(uint32_t i)
{
	side_event(event_u32, side_arg_list(side_arg_u32(i)));
}

static inline void fire_u32_string(uint32_t i)
{
	side_event(event_u32_string,
			side_arg_list(side_arg_u32(i), side_arg_string("fifteen letters")));
}

static inline void fire_u64x8(uint32_t i)
{
	side_event(event_u64x8,
			side_arg_list(side_arg_u64(i), side_arg_u64(1), side_arg_u64(2),
					side_arg_u64(3), side_arg_u64(4), side_arg_u64(5),
					side_arg_u64(6), side_arg_u64(7)));
}

static inline void fire_kib(uint32_t i)
{
	kib[0] = (uint8_t)i;
	side_event(event_kib, side_arg_list(side_arg_gather_array(kib)));
}
