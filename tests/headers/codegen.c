/* SPDX-License-Identifier: MIT */
/* Call sites for test-codegen.py; C and C++. */
#include <side/trace.h>

struct eight {
	uint64_t a, b, c, d, e, f, g, h;
};

side_static_event(ev_two, "p", "two", SIDE_LOGLEVEL_INFO,
	side_field_list(side_field_u32("a"), side_field_string("b")));
side_static_event(ev_eight, "p", "eight", SIDE_LOGLEVEL_INFO,
	side_field_list(side_field_u64("a"), side_field_u64("b"), side_field_u64("c"), side_field_u64("d"),
		side_field_u64("e"), side_field_u64("f"), side_field_u64("g"), side_field_u64("h")));

#ifdef __cplusplus
extern "C" {
#endif
uint32_t site_none(uint32_t a, const char *b);
uint32_t site_two(uint32_t a, const char *b);
uint64_t site_eight(const struct eight *s);
void call_eight(const struct eight *s);

uint32_t site_none(uint32_t a, const char *b)
{
	(void) b;
	return a + 1;
}

uint32_t site_two(uint32_t a, const char *b)
{
	side_event(ev_two, side_arg_list(side_arg_u32(a), side_arg_string(b)));
	return a + 1;
}

uint64_t site_eight(const struct eight *s)
{
	side_event(ev_eight, side_arg_list(side_arg_u64(s->a), side_arg_u64(s->b), side_arg_u64(s->c),
		side_arg_u64(s->d), side_arg_u64(s->e), side_arg_u64(s->f), side_arg_u64(s->g),
		side_arg_u64(s->h)));
	return s->a;
}

void call_eight(const struct eight *s)
{
	side_event_call(ev_eight, side_arg_list(side_arg_u64(s->a), side_arg_u64(s->b), side_arg_u64(s->c),
		side_arg_u64(s->d), side_arg_u64(s->e), side_arg_u64(s->f), side_arg_u64(s->g),
		side_arg_u64(s->h)));
}
#ifdef __cplusplus
}
#endif
