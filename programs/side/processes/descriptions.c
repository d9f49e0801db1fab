/* SPDX-License-Identifier: MIT */
/* Collects event descriptions from the memory of files and other processes. */
#include "descriptions.h"

#include "elf/addresses.h"
#include "elf/events.h"
#include "programs/common/message.h"

#include "protocol/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit of the encoded descriptions of one listing. Real programs have a few 100 KiB. */
#define LISTING_BYTES_MAX (256u << 20)

/* Stops reading a hostile file or process that would cost too much time. */
#define LISTING_FAILURES_MAX 100

int listing_source(struct listing *listing, const char *path)
{
	struct listing_source *sources =
			reallocarray(listing->sources, listing->nr_sources + 1, sizeof(*sources));
	struct listing_source *source;

	if (!sources)
		return -ENOMEM;
	listing->sources = sources;
	source = &sources[listing->nr_sources];
	*source = (struct listing_source){.path = strdup(path), .pid = listing->pid};
	if (!source->path)
		return -ENOMEM;
	listing->nr_sources++;
	return 0;
}

static bool listing_event_is_selected(
		const struct listing *listing, const struct side_event_description *description)
{
	return !listing->nr_patterns ||
			pattern_set_wants(listing->patterns, listing->nr_patterns,
					side_ptr_get(description->provider_name),
					side_ptr_get(description->event_name),
					side_enum_get(description->loglevel));
}

/*
 * Records an event that no pattern selects, for the message about these patterns. After a failed
 * allocation that message names fewer events.
 */
static void listing_note_other(
		struct listing *listing, const struct side_event_description *description)
{
	if (!listing->others)
		listing->others = calloc(LISTING_OTHERS_MAX, sizeof(*listing->others));
	if (!listing->others || listing->nr_others == LISTING_OTHERS_MAX)
		return;
	if (asprintf(&listing->others[listing->nr_others], "%s:%s",
			    side_ptr_get(description->provider_name),
			    side_ptr_get(description->event_name)) >= 0)
		listing->nr_others++;
}

int listing_add(struct listing *listing, const struct side_event_description *description,
		struct visit_owned *owned, enum listing_origin origin,
		const struct listing_state *state)
{
	struct listing_event *event;

	listing->nr_seen++;
	if (!listing_event_is_selected(listing, description)) {
		listing_note_other(listing, description);
		visit_owned_free(owned);
		return 0;
	}
	if (listing->nr_events == listing->events_capacity) {
		size_t capacity = listing->events_capacity ? listing->events_capacity * 2 : 64;
		struct listing_event *events =
				reallocarray(listing->events, capacity, sizeof(*events));

		if (!events) {
			visit_owned_free(owned);
			return -ENOMEM;
		}
		listing->events = events;
		listing->events_capacity = capacity;
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

/* ---- memory of files and processes ---- */

uint64_t listing_decode(
		const struct listing_memory *from, const unsigned char *bytes, unsigned int size)
{
	return image_decode(from->memory.byte_order, bytes, size);
}

uint64_t listing_pointer(const struct listing_memory *from, const unsigned char *bytes)
{
	return listing_decode(from, bytes, from->pointer_size);
}

static void listing_read_state(const struct listing_memory *from, uint64_t address,
		struct listing_state *ret_state)
{
	uint64_t top = UINT64_C(1) << (8 * from->pointer_size - 1);
	struct image_state found;

	image_read_state(&from->memory, from->pointer_size, address, &found);
	if (!found.readable)
		return;
	ret_state->known = true;
	ret_state->tracers = found.nr_callbacks;
	/*
	 * The bit of an armed process means that it waits for its first event, not that this event
	 * has a listener.
	 */
	ret_state->enabled = found.enabled & ~(top >> 7);
	ret_state->kernel = found.enabled & top;
	ret_state->debugger = found.enabled & top >> 1;
}

int listing_fail(struct listing *listing, const char *what, const char *why)
{
	if (++listing->nr_failures > LISTING_FAILURES_MAX)
		return -E2BIG;
	if (listing->is_silent)
		return 0;
	message_error(COMMAND_FAILED, NULL, "cannot read %s of %s: %s", what,
			listing->sources[listing->nr_sources - 1].path, why);
	return 0;
}

int listing_read(const struct listing_memory *from, uint64_t address,
		struct listing_found *ret_found)
{
	int result;

	*ret_found = (struct listing_found){.address = address};
	result = image_read_event(&from->memory, address, &ret_found->owned, &ret_found->bytes,
			&ret_found->error);
	if (result) {
		ret_found->owned = NULL;
		return result == -ENOMEM ? result : 0;
	}
	if (from->live)
		listing_read_state(from, address, &ret_found->state);
	return 0;
}

int listing_add_found(struct listing *listing, const struct listing_memory *from,
		struct listing_found *found, enum listing_origin origin)
{
	int result = from->seen ? addresses_add(from->seen, found->address) : 1;

	if (result <= 0) {
		visit_owned_free(found->owned);
		return result;
	}
	if (!found->owned) {
		char sentence[1024];

		/* A damaged description does not prevent the others from being read. */
		return listing_fail(listing, "an event",
				visit_error_sentence(&found->error, sentence, sizeof(sentence)));
	}
	listing->bytes += found->bytes;
	result = listing_add(listing, found->owned->desc, found->owned, origin, &found->state);
	return result ? result : listing->bytes > LISTING_BYTES_MAX ? -E2BIG : 0;
}

/* The state of image_each_event() for one image. */
struct listing_tables {
	struct listing *listing;
	const struct listing_memory *from;
};

static int listing_add_address(void *opaque, uint64_t address)
{
	const struct listing_tables *tables = opaque;
	struct listing_found found;
	int result;

	if (tables->from->seen && addresses_has(tables->from->seen, address))
		return 0;
	result = listing_read(tables->from, address, &found);
	return result ? result
		      : listing_add_found(tables->listing, tables->from, &found, LISTING_SECTION);
}

int listing_add_tables(struct listing *listing, const struct image *image,
		const struct listing_memory *from, uint64_t bias)
{
	struct listing_tables tables = {listing, from};
	int result = image_each_event(image, &from->memory, bias, listing_add_address, &tables);

	if (result == -EFAULT)
		return listing_fail(listing, "the events",
				"the table of events is not completely readable");
	if (result == -EIO)
		return listing_fail(listing, "the events", strerror(EIO));
	return result;
}

static int listing_compare_events(const void *one, const void *other)
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
		qsort(listing->events, listing->nr_events, sizeof(*listing->events),
				listing_compare_events);
}

void listing_free(struct listing *listing)
{
	for (size_t i = 0; i < listing->nr_events; i++)
		visit_owned_free(listing->events[i].owned);
	for (size_t i = 0; i < listing->nr_sources; i++)
		free(listing->sources[i].path);
	for (size_t i = 0; i < listing->nr_others; i++)
		free(listing->others[i]);
	free(listing->others);
	free(listing->events);
	free(listing->sources);
}
