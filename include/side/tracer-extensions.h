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
 * Wait until all calls that are running, in all threads, have returned.
 * SIDE_ERROR_INVAL, without waiting, inside an event callback or a notification callback.
 */
extern int side_tracer_synchronize(void);

/*
 * Use the libside that has the registry of the process. A program that is linked with libside.a contains a copy of libside, which has it; a tracer in a
 * library is linked with libside.so.0. This function makes the functions of this header, and all others of libside, those of the copy for each
 * loaded object. Call it first in the constructor of such a library. It does nothing if no copy is loaded.
 */
extern void side_tracer_bind(void);

/*
 * Put one callback in the place of another, which the event has with the same key: each call reaches
 * one of them, never none and never both.  Like the unregistration it does not wait for calls that have begun.
 * SIDE_ERROR_NOENT when the old one is not there, SIDE_ERROR_EXIST when the new one is.
 */
extern int side_tracer_callback_replace(struct side_event_description *desc,
		side_tracer_callback_func old_call, void *old_priv, side_tracer_callback_func call,
		void *priv, uint64_t key);
extern int side_tracer_callback_variadic_replace(struct side_event_description *desc,
		side_tracer_callback_variadic_func old_call, void *old_priv,
		side_tracer_callback_variadic_func call, void *priv, uint64_t key);

/*
 * The event lock, under which batches come and go and tracers are notified, and which every function
 * that changes callbacks takes for itself.  Its owner may take it again.  Do not wait for readers with it.
 *
 * side_tracer_trylock() is for signal handlers: it never waits, and fails also when the thread that it
 * interrupts has the lock.  With the lock, handlers may do everything that changes callbacks: none of that
 * allocates by malloc().  When it fails, the hook is called once by whoever releases the lock next, right after
 * that; not in a signal handler, but perhaps with the loader's lock held (dlopen).  It may come more often than
 * needed.
 */
extern void side_tracer_lock(void);
extern bool side_tracer_trylock(void);
extern void side_tracer_unlock(void);
extern void side_tracer_unlock_hook(void (*hook)(void)); /* one for the process; NULL: none */

/*
 * All batches that are registered, in the order of their registration, with the event lock held: what
 * INSERT notifications would have said, for tracers that begin to want other events.
 */
typedef void (*side_tracer_batch_func)(
		struct side_event_description **events, uint32_t nr_events, void *user);
extern int side_tracer_each_batch(side_tracer_batch_func batch, void *user);

/*
 * side_tracer_statedump_request() for signal handlers: it waits for nothing and allocates nothing.  False: not
 * now (another thread, or what the handler has interrupted, is at the requests; there is no room or no thread
 * for it), and nothing is requested.
 */
extern bool side_tracer_statedump_request_try(uint64_t key);

/*
 * A state dump that a tracer has itself, for the sake of one key: side:statedump_begin, whatever the function
 * emits with side_statedump_call(), side:statedump_end, in the calling thread. It is not registered, so nothing
 * is allocated, queued or waited for; it may run with the event lock held and in signal handlers.
 */
extern void side_tracer_statedump_run(
		const char *state_name, void (*dump)(void *statedump_request_key), uint64_t key);

/*
 * side_tracer_synchronize() in two parts that never wait: what was unregistered or replaced before the
 * first is out of use when the second says so.  Async-signal-safe, also with the event lock held.
 */
extern uint64_t side_tracer_grace_begin(void);
extern bool side_tracer_grace_passed(uint64_t grace);

/*
 * The calling thread is about to forbid itself, or all threads, system calls (seccomp).  Until then a thread
 * makes a few with its first event; from here on events make none.  When the sandbox could not be
 * had after all, side_tracer_sandbox_failed() takes back one call of side_tracer_sandbox_begins().
 * Threads in a sandbox beyond the first 500 or so whose stacks exist at the same time go without events.
 */
extern void side_tracer_sandbox_begins(void);
extern void side_tracer_sandbox_failed(void);

/*
 * side_builder_create() (side/builder.h) with memory from `take`, which must be aligned to 16 bytes. The builder does not free that
 * memory; after side_builder_destroy() it does not use it. For tracers that must not use the allocator of the program.
 */
struct side_builder;
extern struct side_builder *side_tracer_builder_create(const char *provider, const char *event,
		enum side_loglevel loglevel, uint64_t flags, void *(*take)(void *user, size_t size),
		void *user);

/*
 * side_call() for a tracer that makes events of what it sees itself (probes): the caller is what it says, and the hook of
 * an armed process is left alone. With `only`, nothing is called unless all that listens are callbacks at these addresses
 * (false otherwise): where only general registers are saved, as far as that is enough for those. The rest of the call
 * uses no others. With no address between begin and end no callback is called, and the thread is made ready for the
 * calls that follow. The event is of the ABI's version 0 and not variadic.
 */
struct side_tracer_functions {
	uintptr_t begin, end;
};
extern bool side_tracer_call(const struct side_event_state *state, const struct side_arg_vec *args,
		void *caller, const struct side_tracer_functions *only);

/*
 * For the tracer that is made together with this library, and can do without arguments and without a call what its own callback
 * does with them: what it must know to look by itself who listens, if the library is of that version
 * (src/libside/section.h); NULL: of another one, or not on this machine. It stays for good.
 */
struct side_tracer_sections;
extern const struct side_tracer_sections *side_tracer_sections(uint32_t version);

/*
 * One tracer of a process may be its guard, which is asked before anybody is given a call or shown an event: the validator, in
 * whose process a wild pointer is told instead of followed. It knows an event if it has registered one of
 * its two callbacks there; passes() then says, inside the call, whether the other callbacks, the kernel and a
 * debugger are given it, and its own callback is called only where nobody else listens. priv is that of its
 * callback, var NULL where the call is not a variadic one, others whether anybody else listens.
 *
 * shows() says, with the registry's lock held, whether tracers are shown an event of a batch when it is registered; of
 * desc NULL, whether there are so many pointers at events at all. It stays for good.
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
 * Arm the process: the next event that is called at all, enabled or not, first calls the hook, in its
 * thread; if that registers a callback of the event, it is called.  Events that are called in other
 * threads meanwhile wait for it, a few seconds at most.  The hook is not called inside event callbacks and
 * notifications, and may be called inside a signal handler.  It is called again for the next event
 * unless it has called side_tracer_disarm().  One hook a process; a later one replaces it.
 * SIDE_ERROR_INVAL for NULL, SIDE_ERROR_EXITING.
 */
extern int side_tracer_arm(void (*hook)(void));
extern void side_tracer_disarm(void);

#ifdef __cplusplus
}
#endif

#endif /* SIDE_TRACER_EXTENSIONS_H */
