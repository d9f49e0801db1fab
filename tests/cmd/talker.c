/* SPDX-License-Identifier: MIT */
/*
 * A program that fires COUNT events and ends as its arguments request, for `side record`.
 *
 *   talker COUNT [exit STATUS | signal NUMBER | wait | scream | ramble | fork CHILDREN]
 *
 * "wait" prints "ready" and waits for a signal. "scream" fires more events than the rings hold,
 * with a name that would change a terminal. "ramble" fires two texts, one of them too long for any
 * record. "fork" forks children, of which 20 live at one time; each fires one event.
 */
#include <side/trace.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

side_static_event(ev_message, "talker", "said", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("number"), side_field_string("text")));
side_static_event(talker_ends, "talker", "ends", SIDE_LOGLEVEL_WARNING, side_field_list());

side_static_event(talker_screams, "talker", "\033[2J\r\302\233scream\n", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("number")));

static void fork_storm(unsigned long children)
{
	for (unsigned long i = 0; i < children; i++) {
		if (!fork()) {
			side_event(talker_ends, side_arg_list());
			_exit(0);
		}
		if (i >= 20)
			wait(NULL);
	}
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	for (unsigned long i = 0; i < count; i++)
		side_event(ev_message,
				side_arg_list(side_arg_u32((uint32_t)i),
						side_arg_string("a text that is neither short nor "
								"very long")));
	side_event(talker_ends, side_arg_list());
	if (argc > 2 && !strcmp(argv[2], "wait")) {
		puts("ready");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (argc > 2 && !strcmp(argv[2], "scream")) {
		for (uint32_t i = 0; i < 300000; i++)
			side_event(talker_screams, side_arg_list(side_arg_u32(i)));
	}
	if (argc > 2 && !strcmp(argv[2], "ramble")) {
		static char text[65537];

		memset(text, 'x', sizeof(text) - 1);
		side_event(ev_message, side_arg_list(side_arg_u32(1), side_arg_string(text + 100)));
		side_event(ev_message, side_arg_list(side_arg_u32(2), side_arg_string(text)));
	}
	if (argc > 3 && !strcmp(argv[2], "fork")) {
		fork_storm(strtoul(argv[3], NULL, 10));
		return 0;
	}
	if (argc > 3 && !strcmp(argv[2], "signal")) {
		signal(atoi(argv[3]), SIG_DFL);
		raise(atoi(argv[3]));
	}
	return argc > 3 ? atoi(argv[3]) : 0;
}
