/* SPDX-License-Identifier: MIT */
/* A process that forks; parent and child fire one event each. */
#include <side/trace.h>

#include <sys/wait.h>
#include <unistd.h>

side_static_event(tick, "forks", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("who")));

int main(void)
{
	pid_t child = fork();

	side_event(tick, side_arg_list(side_arg_string(child ? "parent" : "child")));
	if (child)
		(void)waitpid(child, NULL, 0);
	return 0;
}
