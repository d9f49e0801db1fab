/* SPDX-License-Identifier: MIT */
/*
 * SIDE: functions for tracers that this implementation adds to the common ones.
 *
 * They let a tracer remove many callbacks with one wait:
 *
 *	for (each event)
 *		side_tracer_callback_unregister_async(event, callback, priv, key);
 *	side_tracer_synchronize();
 *	(now priv can be freed, and the code of callback unloaded)
 *
 * Guarantees of unregistration in this implementation:
 *
 * - side_tracer_callback_unregister() and its variadic variant: after the return the callback is
 *   not running and will not run again, in any thread. They wait for running calls, without a lock
 *   held.
 * - The same functions inside an event callback: they do not wait, because they would wait for
 *   themselves. Calls that begin afterwards do not use the entry; calls that have begun, in this
 *   thread and in others, may still reach it.
 * - The same functions inside a notification callback: they do not wait, because the notification
 *   may run under the loader's lock, which a running callback may take. On REMOVE because a batch
 *   is unregistered, no thread can be in a call of its events (its owner guarantees that). On
 *   REMOVE because of side_tracer_event_notification_unregister(), that function waits before it
 *   returns: free the data of the callbacks after it, not in the notification.
 * - side_tracer_event_notification_unregister() waits, unless it is called inside an event callback
 *   or a notification. Do not call it with the loader's lock held (in a destructor that dlclose
 *   runs) while a callback may call the loader.
 *
 * Registration never waits for running calls. Memory of replaced callback arrays is freed later.
 *
 * Callbacks must return: neither longjmp, nor exceptions, nor pthread_exit() may leave them.
 */
#ifndef SIDE_TRACER_EXTENSIONS_H
#define SIDE_TRACER_EXTENSIONS_H

#pragma GCC system_header

#include <stdbool.h>
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
 * Wait until all running calls, in all threads, have returned. SIDE_ERROR_INVAL, without waiting,
 * inside an event callback or a notification callback.
 */
extern int side_tracer_synchronize(void);

/*
 * Use the libside that has the registry of the process. A program that is linked with libside.a contains a copy of
 * libside, and the copy has the registry; a tracer in a library is linked with libside.so.0. This function redirects
 * all functions of libside to that copy, in each loaded object. Call it first in the constructor of such a library.
 * Does nothing if no copy is loaded.
 */
extern void side_tracer_bind(void);

/*
 * Replace a callback of the event by another with the same key: each call reaches exactly one of them.
 * It does not wait for calls that have begun.
 * SIDE_ERROR_NOENT: the old callback is not registered. SIDE_ERROR_EXIST: the new one is registered already.
 */
extern int side_tracer_callback_replace(struct side_event_description *desc,
		side_tracer_callback_func old_call, void *old_priv, side_tracer_callback_func call,
		void *priv, uint64_t key);
extern int side_tracer_callback_variadic_replace(struct side_event_description *desc,
		side_tracer_callback_variadic_func old_call, void *old_priv,
		side_tracer_callback_variadic_func call, void *priv, uint64_t key);

/*
 * The event lock. The library holds it while it adds and removes batches and notifies tracers. Every
 * function that changes callbacks takes it. It is recursive. Do not wait for running calls while you hold it.
 *
 * side_tracer_trylock() is for signal handlers: it never waits, and fails if the interrupted thread has the
 * lock. A handler that has the lock may call every function that changes callbacks: none of them uses
 * malloc(). If it fails, the thread that releases the lock next calls the hook, once, after the release. The
 * hook does not run in a signal handler, but the loader's lock may be held (dlopen). It may be called more
 * often than needed.
 */
extern void side_tracer_lock(void);
extern bool side_tracer_trylock(void);
extern void side_tracer_unlock(void);
extern void side_tracer_unlock_hook(void (*hook)(void)); /* one for the process; NULL: none */

/*
 * Call `batch` for each registered batch, in the order of registration, with the event lock held. Tracers
 * whose rules change use this instead of new INSERT notifications.
 */
typedef void (*side_tracer_batch_func)(
		struct side_event_description **events, uint32_t nr_events, void *user);
extern int side_tracer_each_batch(side_tracer_batch_func batch, void *user);

/*
 * side_tracer_statedump_request() for signal handlers: it neither waits nor allocates. False: nothing was
 * requested, because another thread or the interrupted code uses the requests, or because no memory or no
 * thread is available.
 */
extern bool side_tracer_statedump_request_try(uint64_t key);

/*
 * Run a state dump of the tracer itself for one key, in the calling thread: side:statedump_begin, the events
 * that the function emits with side_statedump_call(), side:statedump_end. The dump is not registered, so this
 * neither allocates nor queues nor waits. It may run with the event lock held and in signal handlers.
 */
extern void side_tracer_statedump_run(
		const char *state_name, void (*dump)(void *statedump_request_key), uint64_t key);

/*
 * side_tracer_synchronize() in two parts that never wait. When side_tracer_grace_passed() returns true,
 * no call uses a callback that was unregistered or replaced before side_tracer_grace_begin().
 * Async-signal-safe, also with the event lock held.
 */
extern uint64_t side_tracer_grace_begin(void);
extern bool side_tracer_grace_passed(uint64_t grace);

/*
 * Announce that the calling thread is about to forbid system calls to itself or to all threads (seccomp).
 * Before, the first event of a thread makes a few system calls; from here on events make none. If the
 * sandbox cannot be entered, side_tracer_sandbox_failed() reverts one call of side_tracer_sandbox_begins().
 * About 500 threads in a sandbox can have events at the same time; further ones have none.
 */
extern void side_tracer_sandbox_begins(void);
extern void side_tracer_sandbox_failed(void);

/*
 * side_builder_create() (side/builder.h) with memory from `take`, which must be aligned to 16 bytes. The builder does
 * not free that memory; after side_builder_destroy() it does not use it. For tracers that must not use the program's
 * allocator.
 */
struct side_builder;
extern struct side_builder *side_tracer_builder_create(const char *provider, const char *event,
		enum side_loglevel loglevel, uint64_t flags, void *(*take)(void *user, size_t size),
		void *user);

/*
 * side_call() for a tracer that emits events itself (probes): `caller` is the reported caller, and
 * the hook of an armed process is not called. If `only` is not NULL and the event has a callback
 * outside of that address range, nothing is called and the function returns false. A tracer that
 * has saved only general-purpose registers passes the range of the callbacks that use no others;
 * the library's own part of the call uses no others either. An empty range calls no callback and
 * prepares the thread for later calls. The event must have version 0 of the ABI and must not be
 * variadic.
 */
struct side_tracer_functions {
	uintptr_t begin, end;
};
extern bool side_tracer_call(const struct side_event_state *state, const struct side_arg_vec *args,
		void *caller, const struct side_tracer_functions *only);

/*
 * Emit an event that another libside of the process has delivered to this tracer. Works like
 * side_call() or, if var_struct is not NULL, like side_call_variadic(), with `caller` as the caller.
 * The state must have version 0 of the ABI.
 */
extern void side_tracer_forward(const struct side_event_state *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var_struct,
		void *caller);

/*
 * For the tracer that is built together with this library and records without a call: the data by
 * which it checks itself which callbacks an event has (src/libside/section.h). NULL: the library
 * has another version, or the machine is not supported. The data stays valid until the process
 * ends.
 */
struct side_tracer_sections;
extern const struct side_tracer_sections *side_tracer_sections(uint32_t version);

/*
 * One tracer of a process may be its guard. The library asks the guard before it delivers a call or
 * announces an event. The validator is a guard: it reports a wild pointer before a tracer follows
 * it. A guard covers the events for which it has registered one of its two callbacks. passes() runs
 * inside the call and returns whether the other callbacks, the kernel and a debugger receive it.
 * The library calls the guard's own callback only if the event has no other tracer. `priv` is that
 * of the guard's callback, `var` is NULL if the call is not variadic, `others` is true if the event
 * has another tracer.
 *
 * shows() runs with the event lock held and returns whether tracers are notified of an event of a
 * batch; with desc NULL, whether the array has nr_events readable pointers. A guard stays until the
 * process ends.
 */
typedef bool (*side_tracer_guard_passes_func)(const struct side_event_description *desc,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *priv, void *caller, bool others);
typedef bool (*side_tracer_guard_shows_func)(struct side_event_description **events,
		uint32_t nr_events, struct side_event_description *desc);

struct side_tracer_guard {
	side_tracer_callback_func call;
	side_tracer_callback_variadic_func call_variadic;
	side_tracer_guard_passes_func passes;
	side_tracer_guard_shows_func shows;
};
extern int side_tracer_guard(const struct side_tracer_guard *guard);

/*
 * Arm the process: the next event, enabled or not, first calls the hook in its thread. If the hook registers a
 * callback of the event, the event calls it. Events in other threads meanwhile wait for the hook, 100 ms at most.
 * The hook is not called inside event callbacks and notifications. It may be called inside a signal handler. It is
 * called again for the next event unless it has called side_tracer_disarm(). A process has one hook; a later one
 * replaces it. SIDE_ERROR_INVAL: the hook is NULL. SIDE_ERROR_EXITING: the library is finalised.
 */
extern int side_tracer_arm(void (*hook)(void));
extern void side_tracer_disarm(void);

#ifdef __cplusplus
}
#endif

#endif /* SIDE_TRACER_EXTENSIONS_H */
