/* SPDX-License-Identifier: MIT */
/* Collecting event descriptions from memory that is not ours. */
#include "listing.h"

#include "image.h"
#include "say.h"

#include "visit/visit.h"
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
		struct visit_owned *owned, const struct listing_state *state)
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
	};
	if (state)
		event->state = *state;
	listing->nr_events++;
	return 0;
}

/* ---- foreign memory ---- */

/* Where the tables are read from, for the functions below. */
struct reader {
	struct listing *listing;
	const struct visit_memory *memory;
	unsigned int pointer_size;
	bool live;
};

static uint64_t decode(const struct reader *reader, const unsigned char *bytes, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size; i++) {
		unsigned int place = reader->memory->byte_order == SIDE_TYPE_BYTE_ORDER_BE
				? size - 1 - i
				: i;

		value |= (uint64_t)bytes[place] << (8 * i);
	}
	return value;
}

/* The layout of struct side_event_state_0, which depends on the size of a pointer. */
#define STATE_CALLBACKS_OFFSET 4
#define STATE_ENABLED_OFFSET 8
#define STATE_PREFIX_SIZE 16

static void read_state(const struct reader *reader, uint64_t address, struct listing_state *state)
{
	const struct visit_memory *memory = reader->memory;
	unsigned int width = reader->pointer_size;
	unsigned char slot[16], bytes[STATE_PREFIX_SIZE];
	/* On big-endian machines the pointer stands at the end of its slot. */
	unsigned int place = memory->byte_order == SIDE_TYPE_BYTE_ORDER_BE ? 16 - width : 0;
	uint64_t at, enabled, top;

	if (memory->read(memory->priv, address + offsetof(struct side_event_description, state),
			    slot, sizeof(slot)))
		return;
	at = decode(reader, slot + place, width);
	if (!at || memory->read(memory->priv, at, bytes, STATE_ENABLED_OFFSET + width))
		return;
	if (decode(reader, bytes, 4) != SIDE_EVENT_STATE_ABI_VERSION)
		return;
	enabled = decode(reader, bytes + STATE_ENABLED_OFFSET, width);
	top = UINT64_C(1) << (8 * width - 1);
	state->known = true;
	state->tracers = (uint32_t)decode(reader, bytes + STATE_CALLBACKS_OFFSET, 4);
	state->enabled = enabled != 0;
	state->kernel = enabled & top;
	state->debugger = enabled & top >> 1;
}

static const char *source_of(const struct listing *listing)
{
	return listing->sources[listing->nr_sources - 1];
}

/* One description. What is wrong with it is said, and does not keep the others from being read. */
static int read_event(struct reader *reader, uint64_t address)
{
	struct listing *listing = reader->listing;
	struct listing_state state = {0};
	struct visit_owned *owned = NULL;
	struct visit_error error = {0};
	struct visit_buffer buffer;
	int result;

	visit_buffer_heap(&buffer);
	result = visit_description_read(reader->memory, address, &buffer, &error);
	if (!result) {
		listing->bytes += buffer.size;
		result = visit_description_decode(buffer.data, buffer.size, &owned, &error);
	}
	visit_buffer_free(&buffer);
	if (result == -ENOMEM)
		return result;
	if (result) {
		char sentence[1024];

		if (++listing->nr_failures > LISTING_FAILURES_MAX)
			return -E2BIG;
		say_error(COMMAND_FAILED, NULL, "cannot read an event of %s: %s",
				source_of(listing),
				visit_error_sentence(&error, sentence, sizeof(sentence)));
		return 0;
	}
	if (reader->live)
		read_state(reader, address, &state);
	result = listing_add(listing, owned->desc, owned, &state);
	return result ? result : listing->bytes > LISTING_BYTES_MAX ? -E2BIG : 0;
}

static int read_table(struct reader *reader, const struct image_table *table, uint64_t bias)
{
	const struct visit_memory *memory = reader->memory;
	unsigned int width = reader->pointer_size;

	for (uint64_t at = 0; at + width <= table->size; at += width) {
		unsigned char bytes[8];
		uint64_t address;
		int result;

		if (memory->read(memory->priv, table->address + bias + at, bytes, width)) {
			reader->listing->nr_failures++;
			say_error(COMMAND_FAILED, NULL,
					"cannot read the events of %s: its table of events is not "
					"all there",
					source_of(reader->listing));
			return 0;
		}
		address = decode(reader, bytes, width);
		if (!address)
			continue;
		result = read_event(reader, address);
		if (result)
			return result;
	}
	return 0;
}

int listing_add_tables(struct listing *listing, const struct image *image,
		const struct visit_memory *memory, uint64_t bias, bool live)
{
	struct reader reader = {
			.listing = listing,
			.memory = memory,
			.pointer_size = image_pointer_size(image),
			.live = live,
	};
	size_t count;
	const struct image_table *tables = image_tables(image, &count);
	int result = 0;

	for (size_t i = 0; i < count && !result; i++)
		result = read_table(&reader, &tables[i], bias);
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
