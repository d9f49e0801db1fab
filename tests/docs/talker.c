/* SPDX-License-Identifier: MIT */
/*
 * The program `talker` of the guide: fires COUNT events; with "wait" it then prints "ready" and
 * waits for the end of its input.
 */
#include <side/trace.h>

#include <stdio.h>
#include <stdlib.h>

side_static_event(talker_ends, "talker", "ends", SIDE_LOGLEVEL_WARNING, side_field_list());
side_static_event(ev_message, "talker", "said", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("number"), side_field_string("text")));

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	for (unsigned long i = 0; i < count; i++)
		side_event(ev_message,
				side_arg_list(side_arg_u32((uint32_t)i),
						side_arg_string("a text")));
	side_event(talker_ends, side_arg_list());
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	return 0;
}
