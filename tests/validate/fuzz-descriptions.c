/* SPDX-License-Identifier: MIT */
/*
 * Descriptions with bytes changed at random, registered and called: whatever a field's type says now, the
 * validator reads nothing that is not there, and the program goes on.
 *
 * usage: fuzz-descriptions SEED ROUNDS
 */
#include <stdlib.h>
#include <string.h>

#include "wrong-calls.h"

static uint64_t state;

static uint32_t below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % limit;
}

static void change(void *bytes, size_t size)
{
	unsigned char *at = bytes;
	uint32_t i, nr = 1 + below(4);

	for (i = 0; i < nr; i++)
		at[below((uint32_t)size)] = (unsigned char)below(256);
}

/* A copy of an event of its own, with the bytes of its field or of its lists changed. */
static int one_round(void)
{
	static const struct side_arg_vec none;
	const struct wrong_event *from = &wrong_events[below(NR_WRONG_EVENTS)];
	const struct side_event_state_0 *original =
			(const struct side_event_state_0 *)(const void *)from->state;
	struct side_event_description desc, *list[1] = {&desc};
	struct side_event_state_0 own;
	struct side_event_field field;
	struct side_events_register_handle *handle;

	memcpy(&desc, original->desc, sizeof(desc));
	memcpy(&field, side_array_elements(&original->desc->fields), sizeof(field));
	memset(&own, 0, sizeof(own));
	own.parent.version = SIDE_EVENT_STATE_ABI_VERSION;
	own.callbacks = (const struct side_callback *)&side_empty_callback[0];
	own.desc = &desc;
	side_ptr_set(desc.state, &own.parent);
	side_ptr_set(desc.fields.elements, &field);
	/* Not the functions of visitors: a program that gives a wrong one is beyond help. */
	if (below(4))
		change(&field, sizeof(field));
	else if (below(2))
		change(&desc.fields.length, sizeof(desc.fields.length));
	else
		change(&desc.attributes, sizeof(desc.attributes));
	handle = side_events_register(list, 1);
	if (!handle)
		return 1;
	side_call(&own.parent, &none);
	side_events_unregister(handle);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t i, rounds = argc > 2 ? (uint32_t)atoi(argv[2]) : 100;

	state = 88172645463325252ull + (argc > 1 ? (uint64_t)atoi(argv[1]) : 0);
	for (i = 0; i < rounds; i++) {
		if (one_round())
			return 1;
	}
	return 0;
}
