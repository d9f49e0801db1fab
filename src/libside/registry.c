/* SPDX-License-Identifier: MIT */
/*
 * Registers batches of events, and notifies tracers of them.
 *
 * Registering a batch without a tracer has a constant cost: the events are not read.
 *
 * A tracer is notified of each batch once when it is registered and once when it is unregistered,
 * in order of registration. Notifications may make any calls that register or unregister (also
 * dlopen), so lists change while they are walked. Therefore the state of a tracer is a range of
 * batch numbers, (removed, known], and each loop that notifies it continues from there. An inner
 * call may thus finish the work of an outer one.
 */
#include "registry.h"

#include <stddef.h>
#include <stdlib.h>

#include "armed.h"
#include "batches.h"
#include "callbacks.h"
#include "export.h"
#include "guard.h"
#include "rcu.h"
#include "registry-lock.h"

/*
 * The wrappers recognize a call of the tracer by its return address, so the last call of a function
 * must not be a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

struct side_tracer_handle {
	struct side_tracer_handle *previous, *next;
	void (*cb)(enum side_tracer_notification notif, struct side_event_description **events,
			uint32_t nr_events, void *priv);
	void *priv;
	/* the tracer was notified of the registration of batches up to this number */
	uint64_t known;
	uint64_t removed; /* ... and, while it is unregistered, of their removal up to this one */
	bool leaving;
	bool gone; /* freed when no loop over the list is running */
};

static struct side_tracer_handle *first_tracer, *last_tracer;
static uint32_t tracer_walks; /* running loops over the tracers, in this thread */

register_function *registry_redirect;

/* Unlink and free a batch. */
static void registry_unlink_batch(struct side_events_register_handle *batch)
{
	struct side_event_description **own = batch->own;

	batches_unlink(batch);
	batch->own = NULL;
	batches_give_back(batch);
	/* A call of free(), even with NULL, would appear in a trace as one of the program's. */
	if (own)
		free(own);
}

/*
 * Notify a tracer. A fork may happen meanwhile, unless the tracer takes the lock itself: the lists
 * are complete, and the caller has stored of what the tracer was notified.
 */
static void registry_notify(const struct side_tracer_handle *tracer,
		enum side_tracer_notification notification,
		const struct side_events_register_handle *batch)
{
	struct side_event_description **events = batch->shown.events;
	uint32_t nr_events = batch->shown.nr_events, depth = registry_open_gate();

	tracer->cb(notification, events, nr_events, tracer->priv);
	registry_close_gate(depth);
}

/*
 * Whether this tracer has yet to be notified of the end of a batch, in a notification of that end
 * to another tracer. Until then it is notified of the batch as of any other.
 */
static bool registry_end_is_pending(const struct side_events_register_handle *batch,
		const struct side_tracer_handle *tracer)
{
	const struct side_tracer_handle *ahead = batch->notified->next;

	while (ahead && ahead != tracer)
		ahead = ahead->next;
	return ahead != NULL;
}

/* Notify a tracer of all batches that it was not notified of. */
static void registry_insert_batches(struct side_tracer_handle *tracer)
{
	struct side_events_register_handle *batch = batches_after(tracer->known);

	while (batch && !tracer->leaving) {
		uint64_t number = batch->number, removals_before = batches_removals();

		tracer->known = number;
		if (!batch->leaving || registry_end_is_pending(batch, tracer))
			registry_notify(tracer, SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, batch);
		/* The notification may have removed batches, and inserted the next ones itself. */
		if (batches_removals() == removals_before && tracer->known == number)
			batch = batch->next;
		else
			batch = batches_after(tracer->known);
	}
}

/* Notify a tracer that is being unregistered of the end of all its batches. */
static void registry_remove_batches(struct side_tracer_handle *tracer)
{
	struct side_events_register_handle *batch = batches_after(tracer->removed);

	while (batch && batch->number <= tracer->known) {
		uint64_t number = batch->number, removals_before = batches_removals();

		tracer->removed = number;
		if (!batch->leaving || registry_end_is_pending(batch, tracer))
			registry_notify(tracer, SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, batch);
		batch = batches_removals() == removals_before ? batch->next : batches_after(number);
	}
}

EXPORT int side_tracer_each_batch(side_tracer_batch_func each, void *user)
{
	struct side_events_register_handle *batch;

	if (!each)
		return SIDE_ERROR_INVAL;
	registry_lock();
	batch = batches_first();
	while (batch) {
		uint64_t number = batch->number, removals_before = batches_removals();

		if (!batch->leaving)
			each(batch->shown.events, batch->shown.nr_events, user);
		batch = batches_removals() == removals_before ? batch->next : batches_after(number);
	}
	registry_unlock();
	return SIDE_ERROR_OK;
}

static void registry_append_tracer(struct side_tracer_handle *tracer)
{
	tracer->previous = last_tracer;
	if (last_tracer)
		last_tracer->next = tracer;
	else
		first_tracer = tracer;
	last_tracer = tracer;
}

/* Free unregistered tracers, unless a loop over the list is running. */
static void registry_free_tracers(void)
{
	struct side_tracer_handle *tracer, *next;

	if (tracer_walks)
		return;
	for (tracer = first_tracer; tracer; tracer = next) {
		next = tracer->next;
		if (!tracer->gone)
			continue;
		if (tracer->previous)
			tracer->previous->next = tracer->next;
		else
			first_tracer = tracer->next;
		if (tracer->next)
			tracer->next->previous = tracer->previous;
		else
			last_tracer = tracer->previous;
		free(tracer);
	}
	NO_TAIL_CALL();
}

/*
 * Notify this tracer and the following ones of the end of a batch, remove its remaining callbacks,
 * unlink it.
 */
static void registry_finish_removal(
		struct side_events_register_handle *batch, struct side_tracer_handle *tracer)
{
	tracer_walks++;
	for (; tracer; tracer = tracer->next) {
		batch->notified = tracer;
		if (!tracer->gone && tracer->removed < batch->number &&
				batch->number <= tracer->known)
			registry_notify(tracer, SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, batch);
	}
	tracer_walks--;
	callbacks_drop(batch->shown.events, batch->shown.nr_events);
	armed_batch_goes(batch->shown.events, batch->shown.nr_events);
	registry_unlink_batch(batch);
	registry_free_tracers();
}

static void registry_remove_batch(struct side_events_register_handle *batch)
{
	batch->leaving = true;
	registry_finish_removal(batch, first_tracer);
}

static struct side_events_register_handle *registry_first_leaving_batch(void)
{
	struct side_events_register_handle *batch = batches_first();

	while (batch && !batch->leaving)
		batch = batch->next;
	return batch;
}

/*
 * A tracer that the notifying thread was unregistering is not called again, because its data may
 * have been on that thread's stack.
 */
void registry_continue_notifications(void)
{
	struct side_events_register_handle *batch;
	struct side_tracer_handle *tracer;

	tracer_walks = 1; /* the loops of that thread do not run here */
	for (tracer = first_tracer; tracer; tracer = tracer->next)
		tracer->gone |= tracer->leaving;
	while ((batch = registry_first_leaving_batch()))
		registry_finish_removal(batch, batch->notified->next);
	for (tracer = first_tracer; tracer; tracer = tracer->next)
		registry_insert_batches(tracer);
	tracer_walks--;
	registry_free_tracers();
}

EXPORT struct side_events_register_handle *side_events_register(
		struct side_event_description **events, uint32_t nr_events)
{
	struct side_events_register_handle *batch = NULL;
	struct side_event_description **shown;
	struct batch_block *free_block = NULL;
	struct side_tracer_handle *tracer;

	if (registry_redirect)
		return registry_redirect(events, nr_events);
	side_init();
	if (registry_is_finished() || (!events && nr_events))
		return NULL;
	registry_lock();
	if (!batches_have_slot()) {
		/* Without the lock: a malloc() of the program may register events. */
		registry_unlock();
		free_block = calloc(1, sizeof(*free_block));
		registry_lock();
	}
	if (!registry_is_finished())
		batch = batches_take(&free_block);
	if (!batch) {
		registry_unlock();
		if (free_block)
			free(free_block);
		return NULL;
	}
	shown = guard_shows(events, &nr_events);
	batch->own = shown != events ? shown : NULL;
	batches_append(batch);
	batches_show(batch, shown, nr_events);
	armed_batch_comes(shown, nr_events);
	tracer_walks++;
	for (tracer = first_tracer; tracer; tracer = tracer->next)
		registry_insert_batches(tracer);
	tracer_walks--;
	registry_free_tracers();
	registry_unlock();
	if (free_block)
		free(free_block);
	return batch;
}

EXPORT void side_events_unregister(struct side_events_register_handle *handle)
{
	if (!handle)
		return;
	registry_lock();
	/* Checked first: side_exit() has removed all batches. */
	if (registry_is_finished() || handle->leaving) {
		registry_unlock();
		return;
	}
	registry_remove_batch(handle);
	registry_unlock();
}

EXPORT struct side_tracer_handle *side_tracer_event_notification_register(
		void (*cb)(enum side_tracer_notification notif,
				struct side_event_description **events, uint32_t nr_events,
				void *priv),
		void *priv)
{
	struct side_tracer_handle *tracer;

	side_init();
	if (!cb || registry_is_finished())
		return NULL;
	tracer = calloc(1, sizeof(*tracer));
	if (!tracer)
		return NULL;
	tracer->cb = cb;
	tracer->priv = priv;
	registry_lock();
	if (registry_is_finished()) {
		registry_unlock();
		free(tracer);
		return NULL;
	}
	registry_append_tracer(tracer);
	tracer_walks++;
	registry_insert_batches(tracer);
	tracer_walks--;
	registry_free_tracers();
	registry_unlock();
	return tracer;
}

EXPORT void side_tracer_event_notification_unregister(struct side_tracer_handle *handle)
{
	if (!handle)
		return;
	registry_lock();
	if (registry_is_finished() || handle->leaving) {
		registry_unlock();
		return;
	}
	handle->leaving = true;
	tracer_walks++;
	registry_remove_batches(handle);
	tracer_walks--;
	handle->gone = true;
	registry_free_tracers();
	registry_unlock();
	/* Wait for the callbacks that the notifications unregistered without waiting. */
	(void)side_tracer_synchronize();
}

static struct side_events_register_handle *registry_first_staying_batch(void)
{
	struct side_events_register_handle *batch = batches_first();

	while (batch && batch->leaving)
		batch = batch->next;
	return batch;
}

bool registry_finish(void)
{
	struct side_events_register_handle *batch;

	registry_lock();
	if (registry_is_finished()) {
		registry_unlock();
		return false;
	}
	/* A batch may be leaving already: side_exit() inside the notification of its removal. */
	while ((batch = registry_first_staying_batch()))
		registry_remove_batch(batch);
	registry_set_finished();
	rcu_finish();
	registry_unlock();
	return true;
}
