/* SPDX-License-Identifier: MIT */
/* Collecting event descriptions from memory that is not ours. */
#include "listing.h"

#include "addresses.h"
#include "image.h"
#include "say.h"

#include "wire/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All descriptions of one listing together, in encoded form. Real programs have some 100 KiB. */
#define LISTING_BYTES_MAX (256u << 20)

/* A file or process that is made to waste our time is not read to its end. */
#define LISTING_FAILURES_MAX 100

int listing_source(struct listing *listing, const char *path)
{
	char **sources = reallocarray(listing->sources, listing->nr_sources + 1, sizeof(*sources));

	if (!sources)
		return -ENOMEM;
	listing->sources = sources;
	sources[listing->nr_sources] = strdup(path);
	if (!sources[listing->nr_sources])
		return -ENOMEM;
	listing->nr_sources++;
	return 0;
}

static bool wanted(const struct listing *listing, const struct side_event_description *description)
{
	return !listing->nr_patterns ||
			pattern_set_wants(listing->patterns, listing->nr_patterns,
					side_ptr_get(description->provider_name),
					side_ptr_get(description->event_name),
					side_enum_get(description->loglevel));
}

int listing_add(struct listing *listing, const struct side_event_description *description,
		struct visit_owned *owned, enum listing_origin origin,
		const struct listing_state *state)
{
	struct listing_event *event;

	listing->nr_seen++;
	if (!wanted(listing, description)) {
		visit_owned_free(owned);
		return 0;
	}
	if (listing->nr_events == listing->events_room) {
		size_t room = listing->events_room ? listing->events_room * 2 : 64;
		struct listing_event *events = reallocarray(listing->events, room, sizeof(*events));

		if (!events) {
			visit_owned_free(owned);
			return -ENOMEM;
		}
		listing->events = events;
		listing->events_room = room;
	}
	event = &listing->events[listing->nr_events];
	*event = (struct listing_event){
			.description = description,
			.owned = owned,
			.source = listing->nr_sources - 1,
			.order = listing->nr_events,
			.origin = origin,
	};
	if (state)
		event->state = *state;
	listing->nr_events++;
	return 0;
}

/* ---- foreign memory ---- */

uint64_t listing_decode(
		const struct listing_memory *from, const unsigned char *bytes, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size; i++) {
		unsigned int place = from->memory.byte_order == SIDE_TYPE_BYTE_ORDER_BE
				? size - 1 - i
				: i;

		value |= (uint64_t)bytes[place] << (8 * i);
	}
	return value;
}

uint64_t listing_pointer(const struct listing_memory *from, const unsigned char *bytes)
{
	return listing_decode(from, bytes, from->pointer_size);
}

/* The layout of struct side_event_state_0, which depends on the size of a pointer. */
#define STATE_CALLBACKS_OFFSET 4
#define STATE_ENABLED_OFFSET 8
#define STATE_PREFIX_SIZE 16

static void read_state(
		const struct listing_memory *from, uint64_t address, struct listing_state *state)
{
	const struct visit_memory *memory = &from->memory;
	unsigned int width = from->pointer_size;
	unsigned char slot[16], bytes[STATE_PREFIX_SIZE];
	/* On big-endian machines the pointer stands at the end of its slot. */
	unsigned int place = memory->byte_order == SIDE_TYPE_BYTE_ORDER_BE ? 16 - width : 0;
	uint64_t at, enabled, top;

	if (memory->read(memory->priv, address + offsetof(struct side_event_description, state),
			    slot, sizeof(slot)))
		return;
	at = listing_pointer(from, slot + place);
	if (!at || memory->read(memory->priv, at, bytes, STATE_ENABLED_OFFSET + width))
		return;
	if (listing_decode(from, bytes, 4) != SIDE_EVENT_STATE_ABI_VERSION)
		return;
	enabled = listing_pointer(from, bytes + STATE_ENABLED_OFFSET);
	top = UINT64_C(1) << (8 * width - 1);
	state->known = true;
	state->tracers = (uint32_t)listing_decode(from, bytes + STATE_CALLBACKS_OFFSET, 4);
	/* An armed process listens for the first event of all, not for this one. */
	state->enabled = enabled & ~(top >> 7);
	state->kernel = enabled & top;
	state->debugger = enabled & top >> 1;
}

int listing_fail(struct listing *listing, const char *what, const char *why)
{
	if (++listing->nr_failures > LISTING_FAILURES_MAX)
		return -E2BIG;
	say_error(COMMAND_FAILED, NULL, "cannot read %s of %s: %s", what,
			listing->sources[listing->nr_sources - 1], why);
	return 0;
}

int listing_read(const struct listing_memory *from, uint64_t address, struct listing_found *found)
{
	struct visit_buffer buffer;
	int result;

	*found = (struct listing_found){.address = address};
	visit_buffer_heap(&buffer);
	result = visit_description_read(&from->memory, address, &buffer, &found->error);
	if (!result) {
		found->bytes = buffer.size;
		result = visit_description_decode(
				buffer.data, buffer.size, &found->owned, &found->error);
	}
	visit_buffer_free(&buffer);
	if (result) {
		found->owned = NULL;
		return result == -ENOMEM ? result : 0;
	}
	if (from->live)
		read_state(from, address, &found->state);
	return 0;
}

int listing_take(struct listing *listing, const struct listing_memory *from,
		struct listing_found *found, enum listing_origin origin)
{
	int result = from->seen ? addresses_add(from->seen, found->address) : 1;

	if (result <= 0) {
		visit_owned_free(found->owned);
		return result;
	}
	if (!found->owned) {
		char sentence[1024];

		/* What is wrong with it does not keep the others from being read. */
		return listing_fail(listing, "an event",
				visit_error_sentence(&found->error, sentence, sizeof(sentence)));
	}
	listing->bytes += found->bytes;
	result = listing_add(listing, found->owned->desc, found->owned, origin, &found->state);
	return result ? result : listing->bytes > LISTING_BYTES_MAX ? -E2BIG : 0;
}

static int read_table(struct listing *listing, const struct listing_memory *from,
		const struct image_table *table, uint64_t bias)
{
	unsigned int width = from->pointer_size;

	for (uint64_t at = 0; at + width <= table->size; at += width) {
		struct listing_found found;
		unsigned char bytes[8];
		uint64_t address;
		int result;

		if (from->memory.read(from->memory.priv, table->address + bias + at, bytes, width))
			return listing_fail(listing, "the events",
					"the table of events is not all there");
		address = listing_pointer(from, bytes);
		if (!address || (from->seen && addresses_has(from->seen, address)))
			continue;
		result = listing_read(from, address, &found);
		if (!result)
			result = listing_take(listing, from, &found, LISTING_SECTION);
		if (result)
			return result;
	}
	return 0;
}

int listing_add_tables(struct listing *listing, const struct image *image,
		const struct listing_memory *from, uint64_t bias)
{
	size_t count;
	const struct image_table *tables = image_tables(image, &count);
	int result = 0;

	for (size_t i = 0; i < count && !result; i++)
		result = read_table(listing, from, &tables[i], bias);
	return result;
}

static int compare(const void *one, const void *other)
{
	const struct listing_event *a = one, *b = other;
	int order;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	order = strcmp(side_ptr_get(a->description->provider_name),
			side_ptr_get(b->description->provider_name));
	if (order)
		return order;
	return a->order < b->order ? -1 : 1;
}

void listing_sort(struct listing *listing)
{
	if (listing->nr_events)
		qsort(listing->events, listing->nr_events, sizeof(*listing->events), compare);
}

void listing_free(struct listing *listing)
{
	for (size_t i = 0; i < listing->nr_events; i++)
		visit_owned_free(listing->events[i].owned);
	for (size_t i = 0; i < listing->nr_sources; i++)
		free(listing->sources[i]);
	free(listing->events);
	free(listing->sources);
}
