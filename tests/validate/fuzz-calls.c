/* SPDX-License-Identifier: MIT */
/*
 * Random argument vectors: right and wrong labels, pointers to scalars, lists, NULL and unmapped
 * memory. The validator must neither crash nor hang. Only the functions of visitors are real,
 * because the validator cannot protect a program from a wrong function pointer.
 *
 * usage: fuzz-calls SEED CALLS
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wrong-calls.h"

#define NR_ARGS 64
#define LISTS 64

static struct side_arg all_args[NR_ARGS];
static struct side_arg_vec lists[LISTS];
static uint64_t state;

static uint32_t below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % limit;
}

/*
 * Lists are also read as dynamic structures, optional values and all other types that a label
 * selects.
 */
static void *some_pointer(void)
{
	switch (below(8)) {
	case 0: return NULL;
	case 1: return (void *)(uintptr_t)(below(1u << 30) + 1);
	case 2: return (void *)(uintptr_t)(UINTPTR_MAX - below(128));
	case 3: return &all_args[below(NR_ARGS)];
	case 4: return (char *)all_args + below(sizeof(all_args));
	default: return &lists[below(LISTS)];
	}
}

/* A label that is right in most cases, and never one whose argument is a function. */
static enum side_type_label some_label(void)
{
	enum side_type_label label = (enum side_type_label)below(_NR_SIDE_TYPE_LABEL + 2);

	if (label == SIDE_TYPE_DYNAMIC_STRUCT_VISITOR || label == SIDE_TYPE_DYNAMIC_VLA_VISITOR)
		return SIDE_TYPE_U8;
	return label;
}

static void fill_arg(struct side_arg *one, enum side_type_label label)
{
	unsigned char *bytes = (unsigned char *)one;
	size_t i;

	for (i = 0; i < sizeof(*one); i++)
		bytes[i] = below(3) ? 0 : (unsigned char)below(256);
	side_enum_set(one->type, label);
	side_ptr_set(one->u.side_static.string_value, some_pointer());
	if (below(2))
		side_ptr_set(one->u.side_static.side_vla_gather.length_ptr, some_pointer());
}

static void fill_all(void)
{
	uint32_t i;

	for (i = 0; i < NR_ARGS; i++)
		fill_arg(&all_args[i],
				below(3) ? wrong_events[below(NR_WRONG_EVENTS)].label
					 : some_label());
	for (i = 0; i < LISTS; i++) {
		memset(&lists[i], 0, sizeof(lists[i]));
		side_ptr_set(lists[i].sav,
				(const struct side_arg *)(below(4) ? &all_args[below(NR_ARGS)]
								   : some_pointer()));
		lists[i].len = below(8) ? below(4) : below(UINT32_MAX);
	}
}

int main(int argc, char **argv)
{
	uint32_t i, calls = argc > 2 ? (uint32_t)atoi(argv[2]) : 1000;

	state = 88172645463325252ull + (argc > 1 ? (uint64_t)atoi(argv[1]) : 0);
	for (i = 0; i < calls; i++) {
		const struct wrong_event *event = &wrong_events[below(NR_WRONG_EVENTS)];
		struct side_arg_vec vec;

		if (i % 16 == 0)
			fill_all();
		memset(&vec, 0, sizeof(vec));
		vec.len = below(8) ? 1 : below(4);
		fill_arg(&all_args[NR_ARGS - 4], below(4) ? event->label : some_label());
		side_ptr_set(vec.sav, &all_args[NR_ARGS - 4]);
		errno = ERANGE;
		side_call(event->state, &vec);
		if (errno != ERANGE)
			return 1;
	}
	return 0;
}
