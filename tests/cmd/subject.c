/* SPDX-License-Identifier: MIT */
/*
 * A program with events of two providers, for `side list`; with -DSUBJECT_LIBRARY a library with
 * one. With an argument, the program prints its process ID and waits for the end of its standard
 * input. The argument "enabled" registers a tracer for one event.
 */
#include <side/trace.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef SUBJECT_LIBRARY

side_static_event(library_called, "library", "called", SIDE_LOGLEVEL_NOTICE,
		side_field_list(side_field_u8("depth")));

int library_call(void);

int library_call(void)
{
	side_event(library_called, side_arg_list(side_arg_u8(1)));
	return 0;
}

#else

static side_define_struct(point_type, side_field_list(side_field_s32("x"), side_field_s32("y")));

static side_define_enum(color_type,
		side_enum_mapping_list(side_enum_mapping_value("red", 0),
				side_enum_mapping_range("other", 1, 255)));

side_static_event(subject_first, "subject", "first", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("path"),
				side_field_u32("flags",
						side_attr_list(side_attr("std.integer.base",
								side_attr_u8(16)))),
				side_field_struct("point", point_type),
				side_field_enum("color", &color_type, side_elem(side_type_u8()))),
		side_attr_list(side_attr("owner", side_attr_string("some \"body\""))));

side_static_event_variadic(
		subject_second, "subject", "second", SIDE_LOGLEVEL_DEBUG, side_field_list());

side_hidden_event(other_failed, "other", "failed", SIDE_LOGLEVEL_ERR,
		side_field_list(side_field_s64("code")));

static void listen(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	(void)description;
	(void)arguments;
	(void)priv;
	(void)caller;
}

int main(int argc, char **argv)
{
	char byte;

	if (argc > 1 && !strcmp(argv[1], "enabled") &&
			side_tracer_callback_register(&subject_first, listen, NULL, 0))
		return 1;
	if (argc > 1) {
		printf("%d\n", (int)getpid());
		fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
	}
	side_event(other_failed, side_arg_list(side_arg_s64(argc)));
	return argc > 2 ? 7 : 0;
}

#endif
