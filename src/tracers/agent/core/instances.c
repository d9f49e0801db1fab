/* SPDX-License-Identifier: MIT */
/*
 * Passes the events of other copies of libside to the one that the agent uses.
 *
 * A process may have several copies: libraries with a copy of their own (RTLD_LOCAL, libside.a),
 * namespaces of dlmopen(), other names of the library, other implementations. The agent uses one of
 * them and is a tracer of the others. For each of their events, it registers a description
 * with the same fields in the copy that it uses. A callback passes the calls on. So sessions,
 * rules, filters and lists treat these events like all others. The attribute side.instance has the
 * path of the copy.
 *
 * Order of locks: the event lock of another copy before that of the agent's. Another copy holds its
 * lock while it notifies. So the agent never calls another copy with its own lock held, and the
 * callbacks stay registered even if no session wants the events.
 *
 * Events of the provider "side" are not passed: they describe the other copy's state dumps.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/api.h>

#include "tracers/agent/core/instances.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/memory.h"

#define INSTANCES_RETIREMENT_MS 2000
#define INSTANCES_ATTRIBUTES_MAX 256

/* An older copy of libside in the program lacks it. */
AGENT_LIBSIDE_DECLARE_WEAK(side_tracer_forward)
AGENT_LIBSIDE_DECLARE_WEAK(side_call_variadic)

/* The agent's description of an event of another copy. */
struct instance_event {
	struct side_event_state_0 state;
	struct side_event_description description;
	struct side_event_description *original;
};

struct instance_batch {
	struct instance_batch *next;
	struct side_event_description **key; /* the array of the other copy */
	struct side_events_register_handle *handle;
	struct side_event_description **descriptions;
	uint64_t free_at;
	size_t mapped;
	uint32_t nr_events;
	struct instance_event events[];
};

struct agent_instance {
	struct agent_instance_functions functions;
	const char *path;
	uint64_t key;
	struct instance_batch *batches; /* with libside's event lock */
};

static struct agent_instance instances[AGENT_INSTANCES_MAX];
static uint32_t nr_instances; /* written with libside's event lock; entries stay */

/* Batches whose events are gone, oldest first; with libside's event lock. */
static struct instance_batch *instances_retired, **instances_retired_end = &instances_retired;

/* ---- calls ---- */

static bool instance_event_is_enabled(const struct instance_event *event)
{
	/* Relaxed: as at every call site. */
	return __atomic_load_n(&event->state.enabled, __ATOMIC_RELAXED) != 0;
}

static void instance_call(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	const struct instance_event *event = priv;

	(void)description;
	if (!instance_event_is_enabled(event))
		return;
	if (&side_tracer_forward)
		side_tracer_forward(&event->state.parent, arguments, NULL, caller);
	else
		side_tracer_call(&event->state.parent, arguments, caller, NULL);
}

static void instance_call_variadic(const struct side_event_description *description,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	const struct instance_event *event = priv;

	(void)description;
	if (!instance_event_is_enabled(event))
		return;
	if (&side_tracer_forward)
		side_tracer_forward(&event->state.parent, arguments, variadic, caller);
	else if (&side_call_variadic)
		side_call_variadic(&event->state.parent, arguments, variadic);
}

/* ---- descriptions ---- */

static size_t instance_attributes_size(const struct side_event_description *event)
{
	return event->attributes.length <= INSTANCES_ATTRIBUTES_MAX
			? (event->attributes.length + 1) * sizeof(struct side_attr)
			: 0;
}

/* Events of other versions of the ABI, and of the provider "side", are not passed on. */
static bool instance_event_is_passed(const struct side_event_description *event)
{
	const struct side_event_state *state;
	const char *provider;

	if (!event || event->version != SIDE_EVENT_DESCRIPTION_ABI_VERSION ||
			event->struct_size < offsetof(struct side_event_description, end))
		return false;
	state = side_ptr_get(event->state);
	provider = side_ptr_get(event->provider_name);
	return state && state->version == SIDE_EVENT_STATE_ABI_VERSION && provider &&
			strcmp(provider, "side") != 0;
}

/* The attributes of the event and side.instance. Returns the end of what it has written. */
static char *instance_event_add_attribute(
		struct side_event_description *ret_event, const char *path, char *memory)
{
	const struct side_attr attribute = _side_attr("side.instance", _side_attr_string(path));
	size_t size = instance_attributes_size(ret_event);
	const struct side_attr *attributes = side_ptr_get(ret_event->attributes.elements);

	if (!size || (ret_event->attributes.length && !attributes))
		return memory;
	if (ret_event->attributes.length)
		memcpy(memory, attributes, size - sizeof(attribute));
	memcpy(memory + size - sizeof(attribute), &attribute, sizeof(attribute));
	side_ptr_set(ret_event->attributes.elements, (const struct side_attr *)memory);
	ret_event->attributes.length++;
	if (ret_event->nr_side_attr_type <= SIDE_ATTR_TYPE_STRING)
		ret_event->nr_side_attr_type = SIDE_ATTR_TYPE_STRING + 1;
	return memory + size;
}

static char *instance_event_init(struct instance_event *event,
		struct side_event_description *original, const char *path, char *memory)
{
	event->original = original;
	event->state = (struct side_event_state_0){
			.parent = {.version = SIDE_EVENT_STATE_ABI_VERSION},
			.callbacks = (const struct side_callback *)(const void *)
					side_empty_callback,
			.desc = &event->description,
	};
	memcpy(&event->description, original, offsetof(struct side_event_description, end));
	event->description.struct_size = offsetof(struct side_event_description, end);
	side_ptr_set(event->description.state, &event->state.parent);
	return instance_event_add_attribute(&event->description, path, memory);
}

/* NULL: out of memory, or no event is passed. */
static struct instance_batch *instance_batch_create(const struct agent_instance *instance,
		struct side_event_description **events, uint32_t nr_events)
{
	size_t size = sizeof(struct instance_batch);
	struct instance_batch *batch;
	uint32_t nr = 0, i;
	char *memory;

	for (i = 0; i < nr_events; i++)
		if (instance_event_is_passed(events[i])) {
			nr++;
			size += sizeof(batch->events[0]) + sizeof(batch->descriptions[0]) +
					instance_attributes_size(events[i]);
		}
	batch = nr ? agent_pages_take(size) : NULL;
	if (!batch)
		return NULL;
	batch->key = events;
	batch->mapped = size;
	batch->nr_events = nr;
	batch->descriptions = (struct side_event_description **)(void *)&batch->events[nr];
	memory = (char *)&batch->descriptions[nr];
	for (i = nr = 0; i < nr_events; i++)
		if (instance_event_is_passed(events[i])) {
			batch->descriptions[nr] = &batch->events[nr].description;
			memory = instance_event_init(
					&batch->events[nr++], events[i], instance->path, memory);
		}
	return batch;
}

/* ---- batches ---- */

static bool instance_is_exiting(void)
{
	/* Relaxed: the notifying thread itself runs the destructors. */
	return atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed);
}

/* With libside's event lock. */
static void instances_free_retired(void)
{
	uint64_t now = wire_deadline(0);

	while (instances_retired && instances_retired->free_at <= now) {
		struct instance_batch *batch = instances_retired;

		instances_retired = batch->next;
		agent_pages_give(batch, batch->mapped);
	}
	if (!instances_retired)
		instances_retired_end = &instances_retired;
}

static void instance_register_callback(
		const struct agent_instance *instance, struct instance_event *event)
{
	const struct agent_instance_functions *functions = &instance->functions;
	int ret;

	if (event->description.flags & SIDE_EVENT_FLAG_VARIADIC)
		ret = functions->variadic_register(
				event->original, instance_call_variadic, event, instance->key);
	else
		ret = functions->callback_register(
				event->original, instance_call, event, instance->key);
	if (ret != SIDE_ERROR_OK)
		agent_debug("cannot register a callback with %s: error %d", instance->path, ret);
}

static void instance_batch_appears(struct agent_instance *instance,
		struct side_event_description **events, uint32_t nr_events)
{
	struct instance_batch *batch;
	uint32_t i;

	side_tracer_lock();
	instances_free_retired();
	batch = instance_batch_create(instance, events, nr_events);
	side_tracer_unlock();
	if (!batch)
		return;
	/* Without the lock: a session's recorder is asked without it. */
	batch->handle = side_events_register(batch->descriptions, batch->nr_events);
	side_tracer_lock();
	batch->next = instance->batches;
	instance->batches = batch;
	side_tracer_unlock();
	for (i = 0; i < batch->nr_events; i++)
		instance_register_callback(instance, &batch->events[i]);
	agent_debug("%u events of %s", batch->nr_events, instance->path);
}

static struct instance_batch *instance_batch_unlink(
		struct agent_instance *instance, struct side_event_description **events)
{
	struct instance_batch **at, *batch;

	side_tracer_lock();
	for (at = &instance->batches; *at && (*at)->key != events;)
		at = &(*at)->next;
	batch = *at;
	if (batch)
		*at = batch->next;
	side_tracer_unlock();
	return batch;
}

static void instance_unregister_callback(
		const struct agent_instance *instance, struct instance_event *event)
{
	const struct agent_instance_functions *functions = &instance->functions;

	if (event->description.flags & SIDE_EVENT_FLAG_VARIADIC)
		(void)functions->variadic_unregister(
				event->original, instance_call_variadic, event, instance->key);
	else
		(void)functions->callback_unregister(
				event->original, instance_call, event, instance->key);
}

/* At exit, other threads may still emit events, so nothing is freed. */
static void instance_batch_disappears(
		struct agent_instance *instance, struct side_event_description **events)
{
	struct instance_batch *batch =
			instance_is_exiting() ? NULL : instance_batch_unlink(instance, events);
	uint32_t i;

	if (!batch)
		return;
	for (i = 0; i < batch->nr_events; i++)
		instance_unregister_callback(instance, &batch->events[i]);
	side_events_unregister(batch->handle);
	side_tracer_lock();
	batch->next = NULL;
	batch->free_at = wire_deadline(INSTANCES_RETIREMENT_MS);
	*instances_retired_end = batch;
	instances_retired_end = &batch->next;
	side_tracer_unlock();
}

/* The other copy notifies, with its event lock held. */
static void instance_notified(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv)
{
	int saved_errno = errno;

	if (notification == SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS)
		instance_batch_disappears(priv, events);
	else if (events && nr_events)
		instance_batch_appears(priv, events, nr_events);
	errno = saved_errno;
}

/* ---- instances ---- */

static struct agent_instance *instance_take(
		const char *path, const struct agent_instance_functions *functions, int *ret_error)
{
	struct agent_instance *instance = NULL;
	uint32_t i;

	side_tracer_lock();
	for (i = 0; i < nr_instances; i++)
		if (instances[i].functions.request_key == functions->request_key)
			break;
	*ret_error = i == AGENT_INSTANCES_MAX ? -ENOSPC : 0;
	if (i == nr_instances && !*ret_error) {
		instance = &instances[i];
		*instance = (struct agent_instance){.functions = *functions, .path = path};
		/* Release: the entry before the number. Pairs with instances_count(). */
		__atomic_store_n(&nr_instances, i + 1, __ATOMIC_RELEASE);
	}
	side_tracer_unlock();
	return instance;
}

int agent_instance_add(const char *path, const struct agent_instance_functions *functions)
{
	struct agent_instance *instance;
	int error;

	instance = instance_take(path, functions, &error);
	if (!instance)
		return error;
	if (functions->request_key(&instance->key) != SIDE_ERROR_OK ||
			!functions->notification_register(instance_notified, instance))
		return -EIO;
	agent_debug("%s is another copy of libside", path);
	return 0;
}

static uint32_t instances_count(void)
{
	/* Acquire: pairs with the release in instance_take(). */
	return __atomic_load_n(&nr_instances, __ATOMIC_ACQUIRE);
}

bool agent_instance_is_known(const void *request_key)
{
	uint32_t nr = instances_count(), i;

	for (i = 0; i < nr; i++)
		if ((const void *)(uintptr_t)instances[i].functions.request_key == request_key)
			return true;
	return false;
}

void agent_instances_dump(void)
{
	uint32_t nr = instances_count(), i;

	for (i = 0; i < nr; i++)
		if (instances[i].key)
			(void)instances[i].functions.statedump_request(instances[i].key);
}

void agent_instances_sandbox(bool begins)
{
	uint32_t nr = instances_count(), i;

	for (i = 0; i < nr; i++) {
		const struct agent_instance_functions *functions = &instances[i].functions;
		void (*function)(void) =
				begins ? functions->sandbox_begins : functions->sandbox_failed;

		if (function)
			function();
	}
}
