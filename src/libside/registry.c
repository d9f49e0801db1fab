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
#include "lock.h"
#include "rcu.h"

/*
 * The wrappers recognize a call of the tracer by its return address, so the last call of a function
 * must not be a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

enum {
	FORK_SLEEPS = 100, /* of 1 ms: how long a fork waits for a notification in another thread */
};

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

static struct owned_lock lock;

/*
 * Taken after the lock, and released while a notification of a tracer runs: the lists are complete
 * then. A fork that cannot take the lock takes only the gate (registry_lock_for_fork()).
 */
static struct owned_lock gate;
static bool fork_has_gate_only; /* the thread that forks holds only the gate */
/* in a child: a tracer may not have been notified of all batches */
static bool has_pending_notifications;

/* The library's own events are the first batch. */
static struct side_events_register_handle *first_batch = &batches_first_block.batches[0];
static struct side_events_register_handle *last_batch = &batches_first_block.batches[0];
static uint64_t last_batch_number = 1;
static uint64_t removals; /* number of removed batches: pointers found before one may be stale */

static struct side_tracer_handle *first_tracer, *last_tracer;
static uint32_t tracer_walks; /* running loops over the tracers, in this thread */
static bool finished;

/* The function to call when the lock is free, and whether side_tracer_trylock() has failed. */
static void (*unlock_hook)(void);
static bool hook_is_due;

register_function *registry_redirect;

static void registry_continue_notifications(void);

void registry_lock(void)
{
	owned_lock_acquire(&lock);
	owned_lock_acquire(&gate);
	if (has_pending_notifications)
		registry_continue_notifications();
}

/* Without the lock, so that the hook may do what the failed side_tracer_trylock() was for. */
static __attribute__((noinline, cold)) void registry_call_hook(void)
{
	/* Acquire: pairs with the release in side_tracer_unlock_hook(). */
	void (*hook)(void) = __atomic_load_n(&unlock_hook, __ATOMIC_ACQUIRE);

	/*
	 * Sequentially consistent: the mark before what the hook does. Pairs with the store in
	 * side_tracer_trylock().
	 */
	if (__atomic_exchange_n(&hook_is_due, false, __ATOMIC_SEQ_CST) && hook)
		hook();
}

void registry_unlock(void)
{
	bool outermost = lock.depth == 1;

	/* First, because owned_lock_try() of the lock must not succeed while the gate is held. */
	owned_lock_release(&gate);
	owned_lock_release(&lock);
	/*
	 * Sequentially consistent: the release of the lock before this load. Pairs with the store
	 * in side_tracer_trylock(), after which a second attempt follows. Either that attempt finds
	 * the lock free, or this load finds the mark.
	 */
	if (outermost && __atomic_load_n(&hook_is_due, __ATOMIC_SEQ_CST))
		registry_call_hook();
}

void registry_lock_for_fork(void)
{
	if (owned_lock_acquire_for(&lock, FORK_SLEEPS)) {
		owned_lock_acquire(&gate);
		return;
	}
	/* The owner holds it only while the lists change, not while a notification runs. */
	owned_lock_acquire(&gate);
	fork_has_gate_only = true;
}

void registry_unlock_in_parent(void)
{
	if (!fork_has_gate_only) {
		registry_unlock();
		return;
	}
	fork_has_gate_only = false;
	owned_lock_release(&gate);
	/*
	 * Sequentially consistent: as in registry_unlock(). A trylock may have failed because of
	 * the gate only. If the lock has an owner, that owner calls the hook.
	 */
	if (__atomic_load_n(&hook_is_due, __ATOMIC_SEQ_CST) && registry_is_free())
		registry_call_hook();
}

void registry_unlock_in_child(void)
{
	/* Relaxed: a child has one thread. */
	__atomic_store_n(&hook_is_due, false, __ATOMIC_RELAXED);
	if (fork_has_gate_only) {
		/* The owner does not exist in the child, so its remaining work is not done here. */
		fork_has_gate_only = false;
		lock = (struct owned_lock){.depth = 0};
		tracer_walks = 0;
		has_pending_notifications = true;
	} else {
		owned_lock_release(&lock);
	}
	owned_lock_release(&gate);
}

EXPORT void side_tracer_lock(void)
{
	side_init();
	registry_lock();
}

/* Take both locks or none. */
static bool registry_try_locks(void)
{
	if (!owned_lock_try(&lock))
		return false;
	if (owned_lock_try(&gate))
		return true;
	owned_lock_release(&lock);
	return false;
}

EXPORT bool side_tracer_trylock(void)
{
	if (registry_try_locks())
		return true;
	/*
	 * Sequentially consistent: the mark before the second attempt. Pairs with the load in
	 * registry_unlock().
	 */
	__atomic_store_n(&hook_is_due, true, __ATOMIC_SEQ_CST);
	/*
	 * The owner may have read the mark before. Then the mark stays, and the hook is called once
	 * too often.
	 */
	return registry_try_locks();
}

EXPORT void side_tracer_unlock(void)
{
	registry_unlock();
}

EXPORT void side_tracer_unlock_hook(void (*hook)(void))
{
	/* Release: the data of the hook. Pairs with the acquire in registry_call_hook(). */
	__atomic_store_n(&unlock_hook, hook, __ATOMIC_RELEASE);
}

bool registry_is_mine(void)
{
	return owned_lock_is_mine(&lock);
}

bool registry_may_wait(void)
{
	return !rcu_inside() && !registry_is_mine();
}

bool registry_is_free(void)
{
	/*
	 * Relaxed: a hint. A signal handler may interrupt the owner before it has stored its
	 * identity, so only the word is checked.
	 */
	return __atomic_load_n(&lock.lock.word, __ATOMIC_RELAXED) == 0;
}

void registry_each_batch(void (*each)(struct side_event_description **events, uint32_t nr_events,
					 void *user),
		void *user)
{
	struct side_events_register_handle *batch;

	for (batch = first_batch; batch; batch = batch->next) {
		if (!batch->leaving)
			each(batch->shown.events, batch->shown.nr_events, user);
	}
}

bool registry_is_finished(void)
{
	/* Relaxed: a hint without the lock, exact with it. */
	return __atomic_load_n(&finished, __ATOMIC_RELAXED);
}

static void registry_append_batch(struct side_events_register_handle *batch)
{
	batch->number = ++last_batch_number;
	batch->previous = last_batch;
	batch->next = NULL;
	if (last_batch)
		last_batch->next = batch;
	else
		first_batch = batch;
	last_batch = batch;
}

/* Unlink and free a batch. */
static void registry_unlink_batch(struct side_events_register_handle *batch)
{
	struct side_event_description **own;

	if (batch->previous)
		batch->previous->next = batch->next;
	else
		first_batch = batch->next;
	if (batch->next)
		batch->next->previous = batch->previous;
	else
		last_batch = batch->previous;
	removals++;
	own = batch->own;
	batch->own = NULL;
	batches_give_back(batch);
	/* A call of free(), even with NULL, would appear in a trace as one of the program's. */
	if (own)
		free(own);
}

/* The first batch after this number. Searches from the end, where new batches are. */
static struct side_events_register_handle *registry_batch_after(uint64_t number)
{
	struct side_events_register_handle *batch, *found = NULL;

	if (!number)
		return first_batch;
	for (batch = last_batch; batch && batch->number > number; batch = batch->previous)
		found = batch;
	return found;
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
	uint32_t depth = gate.depth, nr_events = batch->shown.nr_events;

	gate.depth = 1;
	owned_lock_release(&gate);
	tracer->cb(notification, events, nr_events, tracer->priv);
	owned_lock_acquire(&gate);
	gate.depth = depth;
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
	struct side_events_register_handle *batch = registry_batch_after(tracer->known);

	while (batch && !tracer->leaving) {
		uint64_t number = batch->number, removals_before = removals;

		tracer->known = number;
		if (!batch->leaving || registry_end_is_pending(batch, tracer))
			registry_notify(tracer, SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, batch);
		/* The notification may have removed batches, and inserted the next ones itself. */
		if (removals == removals_before && tracer->known == number)
			batch = batch->next;
		else
			batch = registry_batch_after(tracer->known);
	}
}

/* Notify a tracer that is being unregistered of the end of all its batches. */
static void registry_remove_batches(struct side_tracer_handle *tracer)
{
	struct side_events_register_handle *batch = registry_batch_after(tracer->removed);

	while (batch && batch->number <= tracer->known) {
		uint64_t number = batch->number, removals_before = removals;

		tracer->removed = number;
		if (!batch->leaving || registry_end_is_pending(batch, tracer))
			registry_notify(tracer, SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, batch);
		batch = removals == removals_before ? batch->next : registry_batch_after(number);
	}
}

EXPORT int side_tracer_each_batch(side_tracer_batch_func each, void *user)
{
	struct side_events_register_handle *batch;

	if (!each)
		return SIDE_ERROR_INVAL;
	registry_lock();
	batch = first_batch;
	while (batch) {
		uint64_t number = batch->number, removals_before = removals;

		if (!batch->leaving)
			each(batch->shown.events, batch->shown.nr_events, user);
		batch = removals == removals_before ? batch->next : registry_batch_after(number);
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
	struct side_events_register_handle *batch = first_batch;

	while (batch && !batch->leaving)
		batch = batch->next;
	return batch;
}

/*
 * In the child of a fork during a notification: complete the work of the notifying thread, which
 * does not exist in the child. A tracer that it was unregistering is not called again, because its
 * data may have been on that thread's stack.
 */
static void registry_continue_notifications(void)
{
	struct side_events_register_handle *batch;
	struct side_tracer_handle *tracer;

	has_pending_notifications = false;
	tracer_walks++;
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
	registry_append_batch(batch);
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

void registry_guard_batches(void)
{
	struct side_events_register_handle *batch;

	for (batch = first_batch; batch; batch = batch->next) {
		struct side_event_description **events = batch->shown.events;
		uint32_t nr_events = batch->shown.nr_events;

		if (batch->leaving || batch->own)
			continue;
		batch->shown.events = guard_shows(events, &nr_events);
		batch->shown.nr_events = nr_events;
		batch->own = batch->shown.events != events ? batch->shown.events : NULL;
	}
}

EXPORT void side_events_unregister(struct side_events_register_handle *batch)
{
	if (!batch)
		return;
	registry_lock();
	/* Checked first: side_exit() has removed all batches. */
	if (registry_is_finished() || batch->leaving) {
		registry_unlock();
		return;
	}
	registry_remove_batch(batch);
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

EXPORT void side_tracer_event_notification_unregister(struct side_tracer_handle *tracer)
{
	if (!tracer)
		return;
	registry_lock();
	if (registry_is_finished() || tracer->leaving) {
		registry_unlock();
		return;
	}
	tracer->leaving = true;
	tracer_walks++;
	registry_remove_batches(tracer);
	tracer_walks--;
	tracer->gone = true;
	registry_free_tracers();
	registry_unlock();
	/* Wait for the callbacks that the notifications unregistered without waiting. */
	(void)side_tracer_synchronize();
}

static struct side_events_register_handle *registry_first_staying_batch(void)
{
	struct side_events_register_handle *batch = first_batch;

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
	__atomic_store_n(&finished, true, __ATOMIC_RELAXED);
	rcu_finish();
	registry_unlock();
	return true;
}
