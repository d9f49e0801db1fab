/* SPDX-License-Identifier: MIT */
/*
 * Wrong calls of every type, made through the ABI, so that no compile-time check sees them. Before
 * each call the program prints "# action event label" on standard error; the validator's report
 * follows. The program is not affected: errno does not change, and it ends with 0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrong-calls.h"

#define WILD ((void *)0x10)

static struct side_arg_vec vec_of(const struct side_arg *args, uint32_t nr)
{
	struct side_arg_vec vec;

	memset(&vec, 0, sizeof(vec));
	side_ptr_set(vec.sav, args);
	vec.len = nr;
	return vec;
}

static void announce(const char *what, const struct wrong_event *event)
{
	fprintf(stderr, "# %s %s %s\n", what, event->name, event->label_name);
}

static void call(const struct wrong_event *event, const struct side_arg *args, uint32_t nr)
{
	const struct side_arg_vec vec = vec_of(args, nr);

	errno = EDOM;
	side_call(event->state, &vec);
	if (errno != EDOM)
		exit(1);
}

/* A right label with invalid pointers. */
static void call_with_pointer(const struct wrong_event *event, void *pointer)
{
	struct side_arg arg;

	memset(&arg, 0, sizeof(arg));
	side_enum_set(arg.type, event->label);
	/* All followed pointers are at the begin, except for the length of a gathered VLA. */
	side_ptr_set(arg.u.side_static.string_value, pointer);
	if (event->label == SIDE_TYPE_GATHER_VLA)
		side_ptr_set(arg.u.side_static.side_vla_gather.length_ptr, pointer);
	call(event, &arg, 1);
}

static __attribute__((noinline)) void call_all(const char *what, const char *only)
{
	struct side_arg args[2];
	size_t i;

	for (i = 0; i < NR_WRONG_EVENTS; i++) {
		const struct wrong_event *event = &wrong_events[i];

		if (only && strcmp(only, event->name) != 0)
			continue;
		memset(args, 0, sizeof(args));
		announce(what, event);
		if (!strcmp(what, "label")) {
			side_enum_set(args[0].type, SIDE_TYPE_S128);
			call(event, args, 1);
		} else if (!strcmp(what, "unknown")) {
			side_enum_set(args[0].type, 999);
			call(event, args, 1);
		} else if (!strcmp(what, "number")) {
			call(event, args, 2);
		} else if (!strcmp(what, "none")) {
			call(event, NULL, 0);
		} else if (!strcmp(what, "list")) {
			call(event, WILD, 1);
		} else if (event->follows) {
			call_with_pointer(event, WILD);
		}
	}
}

int main(int argc, char **argv)
{
	/* In the second round no call site is reported. */
	call_all(argc > 1 ? argv[1] : "label", argc > 2 ? argv[2] : NULL);
	call_all(argc > 1 ? argv[1] : "label", argc > 2 ? argv[2] : NULL);
	return 0;
}
