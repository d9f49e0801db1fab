/* SPDX-License-Identifier: MIT */
/*
 * Registers events with the kernel and unregisters them.
 *
 * Everything runs under libside's event lock, except events_find(), by which a call finds its
 * event: a table of states that only grows. A larger table replaces it and the old ones remain
 * allocated, because a call may still read them. The key of a removed event remains until the table
 * grows, so the search needs no marks for deleted entries. If the library is loaded at the same
 * address again, its states find their entries.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/inside/hash.h"
#include "tracers/user-events/user-events.h"

#define FIRST_CAPACITY 256 /* a power of two */

struct user_event_entry {
	const struct side_event_state_0 *state;
	struct user_event *event;
};

struct states {
	size_t capacity; /* a power of two */
	size_t used;
	struct user_event_entry entries[];
};

static struct states *states;
static struct kernel_config config;
static int descriptor = -1;

void events_begin(int fd, const struct kernel_config *wanted)
{
	config = *wanted;
	descriptor = fd;
}

int events_descriptor(void)
{
	return descriptor;
}

/* ---- the table of states ---- */

static size_t user_event_hash_slot(const struct states *in, const struct side_event_state_0 *state)
{
	return ((uintptr_t)state >> 3) * 0x9e3779b97f4a7c15u >> 20 & (in->capacity - 1);
}

/* Returns the entry of the state, or the free entry for it. */
static struct user_event_entry *user_event_find_entry(
		struct states *in, const struct side_event_state_0 *state)
{
	size_t at = user_event_hash_slot(in, state);

	for (;; at = (at + 1) & (in->capacity - 1)) {
		/*
		 * Acquire: the event of the entry is visible if its key is. Pairs with the release
		 * in user_event_put_state().
		 */
		const struct side_event_state_0 *key =
				__atomic_load_n(&in->entries[at].state, __ATOMIC_ACQUIRE);

		if (!key || key == state)
			return &in->entries[at];
	}
}

struct user_event *events_find(const struct side_event_state_0 *state)
{
	/* Acquire: the entries are visible. Pairs with the release in user_event_grow_table(). */
	struct states *in = __atomic_load_n(&states, __ATOMIC_ACQUIRE);

	if (!in)
		return NULL;
	/*
	 * Acquire: the members of the event are visible. Pairs with the release in
	 * user_event_put_state().
	 */
	return __atomic_load_n(&user_event_find_entry(in, state)->event, __ATOMIC_ACQUIRE);
}

static bool user_event_grow_table(void)
{
	size_t capacity = states ? 2 * states->capacity : FIRST_CAPACITY, i;
	struct states *larger =
			kernel_memory(sizeof(*larger) + capacity * sizeof(struct user_event_entry));

	if (!larger)
		return false;
	larger->capacity = capacity;
	for (i = 0; states && i < states->capacity; i++) {
		struct user_event_entry *old = &states->entries[i];

		if (old->event) {
			*user_event_find_entry(larger, old->state) = *old;
			larger->used++;
		}
	}
	/* Release: the entries come before the table. Pairs with the acquire in events_find(). */
	__atomic_store_n(&states, larger, __ATOMIC_RELEASE);
	return true;
}

static bool user_event_put_state(const struct side_event_state_0 *state, struct user_event *event)
{
	struct user_event_entry *entry;

	/* A third of the entries stays free, so that the search for an unknown state is short. */
	if ((!states || 3 * states->used >= 2 * states->capacity) && !user_event_grow_table())
		return false;
	entry = user_event_find_entry(states, state);
	if (!entry->state)
		states->used++;
	/*
	 * Release, both: the members of the event come before the event, and the event before its
	 * key. Pairs with the acquires in events_find() and user_event_find_entry().
	 */
	__atomic_store_n(&entry->event, event, __ATOMIC_RELEASE);
	__atomic_store_n(&entry->state, state, __ATOMIC_RELEASE);
	return true;
}

/* ---- one event ---- */

/* True if another event has this tracepoint name: replacing bytes can make two names equal. */
static bool user_event_name_is_used(const char *tracepoint, const struct user_event *by)
{
	struct user_event *event = NULL;

	while ((event = table_next(event))) {
		if (event != by && event->encoding == KERNEL_NATIVE &&
				!strcmp(event->shown.tracepoint, tracepoint) &&
				strcmp(event->shown.name, by->shown.name) != 0)
			return true;
	}
	return false;
}

/*
 * Registers the event under its name. If the kernel has that name with other fields, uses the group
 * for events with several formats; if the kernel does not support events with several formats
 * (-EINVAL), appends a hash of the fields to the name.
 */
static int user_event_register_as(struct user_event *event, const char *fields)
{
	char description[KERNEL_DESCRIPTION_SIZE + 300];
	char *name = event->shown.tracepoint;
	size_t length = strlen(name);
	void *word = &event->state->enabled;
	int ret;

	(void)snprintf(description, sizeof(description), "%s%s", name, fields);
	ret = kernel_register(descriptor, word, description, false, &event->index);
	if (ret != -EADDRINUSE)
		return ret;
	ret = kernel_register(descriptor, word, description, true, &event->index);
	event->shown.multi_format = !ret;
	if (ret != -EINVAL)
		return ret;
	(void)snprintf(name + length, sizeof(event->shown.tracepoint) - length, "_v%08x",
			hash_fnv1a_32_text(HASH_FNV1A_32_BEGIN, fields));
	(void)snprintf(description, sizeof(description), "%s%s", name, fields);
	return kernel_register(descriptor, word, description, false, &event->index);
}

/*
 * Tries to register the event with plain fields. Returns false if its fields cannot be plain: try
 * EventHeader.
 */
static bool user_event_try_native(struct user_event *event, int *ret_status)
{
	const struct side_event_description *desc = event->desc;
	char description[KERNEL_DESCRIPTION_SIZE] = "", *name = event->shown.tracepoint;
	const char *reason;
	size_t length;

	name[0] = '\0';
	event->encoding = KERNEL_NATIVE;
	/* Leave space for a hash after the name. */
	name_append(name, 240, side_ptr_get(desc->provider_name));
	name_append(name, 240, "_");
	name_append(name, 240, side_ptr_get(desc->event_name));
	length = strlen(name);
	if (user_event_name_is_used(name, event))
		(void)snprintf(name + length, sizeof(event->shown.tracepoint) - length, "_%08x",
				hash_fnv1a_32_text(HASH_FNV1A_32_BEGIN, event->shown.name));
	length = strlen(name);
	/* A suffix of the name counts towards the limit, too. */
	memset(description, 'x', length + 10);
	if (!native_describe(desc, description, sizeof(description), &event->fixed_size, &reason)) {
		(void)snprintf(event->shown.reason, sizeof(event->shown.reason), "%s", reason);
		return false;
	}
	quick_prepare(event);
	*ret_status = user_event_register_as(event, description + length + 10);
	return true;
}

/* Returns the EventHeader level of a log level. */
static uint8_t user_event_header_level(unsigned int loglevel)
{
	static const uint8_t levels[] = {1, 1, 1, 2, 3, 4, 4, 5};

	return loglevel < sizeof(levels) ? levels[loglevel] : 5;
}

static bool user_event_prepare_metadata(struct user_event *event)
{
	static unsigned char scratch[KERNEL_RECORD_MAX]; /* protected by the event lock */
	struct user_event_bytes *stored = &event->metadata;
	struct user_event_bytes built = {.at = scratch, .capacity = sizeof(scratch)};

	metadata_event(&built, event->desc);
	if (built.size + 12 > built.capacity)
		return false;
	if (stored->capacity < built.size) {
		/*
		 * A page for each event would be too much memory; the smaller previous block is not
		 * reused.
		 */
		stored->at = kernel_small_memory(built.size);
		stored->capacity = stored->at ? built.size : 0;
	}
	if (!stored->at)
		return false;
	memcpy(stored->at, scratch, built.size);
	stored->size = built.size;
	return true;
}

static bool user_event_all_static(const struct side_event_description *desc)
{
	uint32_t i;

	for (i = 0; i < side_array_length(&desc->fields); i++) {
		if (!shape_is_static(&side_array_at(&desc->fields, i)->side_type))
			return false;
	}
	return !(desc->flags & SIDE_EVENT_FLAG_VARIADIC);
}

static int user_event_try_header(struct user_event *event)
{
	static const char fields[] =
			" u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level";
	const struct side_event_description *desc = event->desc;
	const char *refusal = metadata_refusal(desc);
	char *name = event->shown.tracepoint;
	size_t length;

	event->encoding = KERNEL_EVENTHEADER;
	event->shown.eventheader = 1;
	event->level = user_event_header_level(side_enum_get(desc->loglevel));
	event->is_static = user_event_all_static(desc);
	if (!refusal && event->is_static && !user_event_prepare_metadata(event))
		refusal = "its names and types do not fit in a record of the kernel";
	if (refusal) {
		(void)snprintf(event->shown.reason, sizeof(event->shown.reason), "%s", refusal);
		return -ENOTSUP;
	}
	name[0] = '\0';
	name_append(name, 230, side_ptr_get(desc->provider_name));
	length = strlen(name);
	(void)snprintf(name + length, sizeof(event->shown.tracepoint) - length, "_L%xK1",
			event->level);
	return user_event_register_as(event, fields);
}

/* Returns the encoding of the event's attribute, which has precedence over the user's setting. */
static enum kernel_encoding user_event_encoding(const struct side_event_description *desc)
{
	const struct side_attr *attr = visit_attribute_find(
			visit_attributes_of(&desc->attributes), "side.user_events");
	struct visit_value value;
	char text[16] = "";

	if (!attr || visit_load_attribute(&attr->value, &value) || value.kind != VISIT_STRING)
		return config.encoding;
	(void)visit_text_utf8(value.text.at, value.text.unit_size, value.text.byte_order, text,
			sizeof(text) - 1);
	if (!strcmp(text, "native"))
		return KERNEL_NATIVE;
	return !strcmp(text, "eventheader") ? KERNEL_EVENTHEADER : config.encoding;
}

static void user_event_register_event(struct user_event *event)
{
	enum kernel_encoding wanted = user_event_encoding(event->desc);
	int ret = -ENOTSUP;

	event->shown.state = SIDE_KERNEL_EVENT_REFUSED;
	if (wanted == KERNEL_EVENTHEADER ||
			(!user_event_try_native(event, &ret) && wanted == KERNEL_AUTO))
		ret = user_event_try_header(event);
	if (ret && ret != -ENOTSUP)
		(void)snprintf(event->shown.reason, sizeof(event->shown.reason), "%s",
				kernel_register_reason(ret));
	if (ret)
		return;
	if (user_event_put_state(event->state, event)) {
		event->shown.state = SIDE_KERNEL_EVENT_REGISTERED;
		return;
	}
	(void)kernel_unregister(descriptor, &event->state->enabled);
	(void)snprintf(event->shown.reason, sizeof(event->shown.reason), "out of memory");
}

/* ---- batches ---- */

static struct side_event_state_0 *user_event_get_state(const struct side_event_description *desc)
{
	struct side_event_state *state;

	if (!desc || desc->version != SIDE_EVENT_DESCRIPTION_ABI_VERSION ||
			desc->struct_size < side_offsetofend(struct side_event_description,
							    side_event_description_orig_abi_last))
		return NULL;
	state = side_ptr_get(desc->state);
	if (!state || state->version != SIDE_EVENT_STATE_ABI_VERSION)
		return NULL;
	return (struct side_event_state_0 *)(void *)state;
}

static bool user_event_is_selected(const struct side_event_description *desc)
{
	const char *provider = side_ptr_get(desc->provider_name);
	const char *name = side_ptr_get(desc->event_name);

	return provider && name &&
			pattern_set_wants(config.patterns, config.nr_patterns, provider, name,
					side_enum_get(desc->loglevel));
}

/* Adds an event. Returns true if it is newly registered with the kernel. */
static bool user_event_add(struct side_event_description *desc, struct side_event_state_0 *state)
{
	struct user_event *event = events_find(state);
	struct visit_error error;

	if (event) {
		/* Registered in two batches: removed with the last of them. */
		event->uses++;
		return false;
	}
	event = table_take();
	if (!event)
		return false;
	event->uses = 1;
	event->desc = desc;
	event->state = state;
	event->encoding = KERNEL_EVENTHEADER;
	(void)snprintf(event->shown.name, sizeof(event->shown.name), "%s:%s",
			side_ptr_get(desc->provider_name), side_ptr_get(desc->event_name));
	if (visit_description_check(desc, 0, &error)) {
		event->shown.state = SIDE_KERNEL_EVENT_REFUSED;
		(void)snprintf(event->shown.reason, sizeof(event->shown.reason),
				"its description is invalid: %.80s", error.what);
		return false;
	}
	user_event_register_event(event);
	return event->shown.state == SIDE_KERNEL_EVENT_REGISTERED;
}

static struct user_event *user_event_find_any(const struct side_event_state_0 *state)
{
	struct user_event *event = NULL;

	while ((event = table_next(event)) && event->state != state)
		;
	return event;
}

void events_add(struct side_event_description **events, uint32_t nr_events)
{
	bool some = false;
	uint32_t i;

	for (i = 0; i < nr_events; i++) {
		struct side_event_state_0 *state = user_event_get_state(events[i]);

		if (state && user_event_is_selected(events[i]))
			some |= user_event_add(events[i], state);
	}
	if (some)
		notice_send();
}

void events_remove(struct side_event_description **events, uint32_t nr_events)
{
	uint32_t i;

	for (i = 0; i < nr_events; i++) {
		struct side_event_state_0 *state = user_event_get_state(events[i]);
		struct user_event *event = NULL;

		if (state)
			event = events_find(state);
		/* Events that the kernel refused are not in the table of states. */
		if (state && !event)
			event = user_event_find_any(state);
		if (!event || --event->uses)
			continue;
		if (event->shown.state == SIDE_KERNEL_EVENT_REGISTERED) {
			(void)kernel_unregister(descriptor, &state->enabled);
			(void)user_event_put_state(state, NULL);
		}
		table_give_back(event);
	}
}
