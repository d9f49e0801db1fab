/* SPDX-License-Identifier: MIT */
/*
 * SIDE: functions for tracers that this implementation has beyond the common ones.
 *
 * They let a tracer remove many callbacks with one wait:
 *
 *	for (each event)
 *		side_tracer_callback_unregister_async(event, callback, priv, key);
 *	side_tracer_synchronize();
 *	(now priv can be freed, and the code of callback unloaded)
 *
 * What unregistration promises, in this implementation:
 *
 * - side_tracer_callback_unregister() and its variadic twin: after the return the callback is not
 *   running and will not run again, in any thread.  They wait for calls that are running, without
 *   a lock held.
 * - The same functions inside an event callback: they do not wait, because they would wait for
 *   themselves.  The entry is gone for all calls that begin afterwards; calls that have begun, in
 *   this thread and in others, may still reach it.
 * - The same functions inside a notification callback: they do not wait, because the notification
 *   may run under the loader's lock, which a running callback may want.  On REMOVE because a batch
 *   is unregistered nobody can be in a call of its events (its owner guarantees that).  On REMOVE
 *   because of side_tracer_event_notification_unregister(), that function waits before it returns:
 *   free what the callbacks use after it, not in the notification.
 * - side_tracer_event_notification_unregister() waits, unless it is called inside an event callback or
 *   a notification.  Do not call it with the loader's lock held (in a destructor that dlclose runs)
 *   while a callback may call the loader.
 *
 * Registration never waits for running calls.  Memory of replaced callback arrays is given back later.
 *
 * Callbacks must return: neither longjmp, nor exceptions, nor pthread_exit() may leave them.
 */
#ifndef SIDE_TRACER_EXTENSIONS_H
#define SIDE_TRACER_EXTENSIONS_H

#pragma GCC system_header

#include <stdint.h>

#include <side/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Like side_tracer_callback_unregister() and side_tracer_callback_variadic_unregister(), but never
 * wait: calls that have begun may still reach the callback until side_tracer_synchronize() returns.
 */
extern int side_tracer_callback_unregister_async(struct side_event_description *desc,
		side_tracer_callback_func call, void *priv, uint64_t key);
extern int side_tracer_callback_variadic_unregister_async(struct side_event_description *desc,
		side_tracer_callback_variadic_func call_variadic, void *priv, uint64_t key);

/*
 * Wait until all calls that are running, in all threads, have returned.
 * SIDE_ERROR_INVAL, without waiting, inside an event callback or a notification callback.
 */
extern int side_tracer_synchronize(void);

#ifdef __cplusplus
}
#endif

#endif /* SIDE_TRACER_EXTENSIONS_H */
