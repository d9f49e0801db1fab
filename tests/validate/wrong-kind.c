/* SPDX-License-Identifier: MIT */
/*
 * Calls of the wrong function, and calls with invalid pointers, with another tracer in the process
 * that trusts its arguments: it gets the valid calls only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_STATIC_CHECK_DISABLE
#include <side/trace.h>

side_static_event(ev_plain, "k", "plain", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_string("s")));
side_static_event_variadic(
		ev_more, "k", "more", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u8("n")));

static unsigned int plain, more;

static void on_plain(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)priv;
	(void)caller;
	/* What every tracer does, and what crashes the program if the string does not exist. */
	plain += strlen(side_ptr_get(side_ptr_get(args->sav)->u.side_static.string_value)) + 1;
}

static void on_more(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	more += var->len + 1;
}

static void call_all(void)
{
	struct side_arg string = side_arg_string("text"),
			wild = side_arg_string((const char *)0x10);
	struct side_arg number = side_arg_u8(1);
	const struct side_arg_vec one = {SIDE_PTR_INIT(&string), 1},
				  lost = {SIDE_PTR_INIT(&wild), 1},
				  two = {SIDE_PTR_INIT(&number), 1};
	const struct side_arg_dynamic_struct none = {.len = 0};

	fprintf(stderr, "# right\n");
	side_call(&side_event_state__ev_plain.parent, &one);
	side_call_variadic(&side_event_state__ev_more.parent, &two, &none);
	fprintf(stderr, "# static\n");
	side_call(&side_event_state__ev_more.parent, &two);
	fprintf(stderr, "# variadic\n");
	side_call_variadic(&side_event_state__ev_plain.parent, &one, &none);
	fprintf(stderr, "# wild\n");
	side_call(&side_event_state__ev_plain.parent, &lost);
}

int main(int argc, char **argv)
{
	uint64_t key;

	(void)argv;
	if (argc > 1 &&
			(side_tracer_request_key(&key) != SIDE_ERROR_OK ||
					side_tracer_callback_register(&ev_plain, on_plain, NULL,
							key) != SIDE_ERROR_OK ||
					side_tracer_callback_variadic_register(&ev_more, on_more,
							NULL, key) != SIDE_ERROR_OK))
		return 1;
	call_all();
	fprintf(stderr, "# end %u %u\n", plain, more);
	return 0;
}
