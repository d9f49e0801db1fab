/* SPDX-License-Identifier: MIT */
/*
 * Descriptions with random changes of their bytes, registered and called: whatever the type of a
 * field is, the validator reads no memory that does not exist, and the program runs on. The same
 * with descriptions of the generator, damaged anywhere: pointers, lengths and labels at any depth.
 *
 * usage: fuzz-descriptions SEED ROUNDS
 */
#include <stdlib.h>
#include <string.h>

#include "../abi/generate.h"
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

/* Registered and called without arguments, so that no visitor is called. */
static int try_it(struct side_event_description *desc)
{
	static const struct side_arg_vec none;
	static const struct side_arg_dynamic_struct nothing;
	struct side_event_description *list[1] = {desc};
	struct side_event_state_0 own;
	struct side_events_register_handle *handle;

	memset(&own, 0, sizeof(own));
	own.parent.version = SIDE_EVENT_STATE_ABI_VERSION;
	own.callbacks = (const struct side_callback *)&side_empty_callback[0];
	own.desc = desc;
	side_ptr_set(desc->state, &own.parent);
	handle = side_events_register(list, 1);
	if (!handle)
		return 1;
	if (desc->flags & SIDE_EVENT_FLAG_VARIADIC)
		side_call_variadic(&own.parent, &none, &nothing);
	else
		side_call(&own.parent, &none);
	side_events_unregister(handle);
	return 0;
}

/*
 * Makes a pointer of the block point to another part of it (cycles, other types), or to no memory.
 */
static void redirect(struct generator *generator)
{
	uintptr_t begin = (uintptr_t)generator->block, word;
	size_t words = generator->used / 2, i, at = below((uint32_t)words);

	for (i = 0; i < words; i++, at = (at + 1) % words) {
		memcpy(&word, generator->block + 2 * at, sizeof(word));
		if (word < begin || word >= begin + generator->used)
			continue;
		word = below(8) ? begin + below((uint32_t)generator->used)
				: (uintptr_t)below(UINT32_MAX) << below(33);
		memcpy(generator->block + 2 * at, &word, sizeof(word));
		return;
	}
}

static int one_damage(struct generator *generator)
{
	struct side_event_description *desc = generate_description(generator);

	if (!desc || generator->used < 2 * sizeof(*desc))
		return 0;
	if (below(2))
		redirect(generator);
	else
		change(generator->block + sizeof(*desc), generator->used - sizeof(*desc));
	return try_it(desc);
}

/* Copies one event, and changes the bytes of its field or of its lists. */
static int one_round(void)
{
	const struct wrong_event *from = &wrong_events[below(NR_WRONG_EVENTS)];
	const struct side_event_state_0 *original =
			(const struct side_event_state_0 *)(const void *)from->state;
	struct side_event_description desc;
	struct side_event_field field;

	memcpy(&desc, original->desc, sizeof(desc));
	memcpy(&field, side_array_elements(&original->desc->fields), sizeof(field));
	side_ptr_set(desc.fields.elements, &field);
	/*
	 * Not the functions of visitors: the validator cannot protect a program from a wrong
	 * function pointer.
	 */
	if (below(4))
		change(&field, sizeof(field));
	else if (below(2))
		change(&desc.fields.length, sizeof(desc.fields.length));
	else
		change(&desc.attributes, sizeof(desc.attributes));
	return try_it(&desc);
}

int main(int argc, char **argv)
{
	struct generator generator;
	uint32_t i, rounds = argc > 2 ? (uint32_t)atoi(argv[2]) : 100;

	state = 88172645463325252ull + (argc > 1 ? (uint64_t)atoi(argv[1]) : 0);
	generator_init(&generator, state);
	for (i = 0; i < rounds; i++) {
		if (one_round() || one_damage(&generator))
			return 1;
	}
	generator_fini(&generator);
	return 0;
}
