/* SPDX-License-Identifier: MIT */
/*
 * SIDE: the header for applications and tracers.
 *
 * It contains the instrumentation API (side/api.h), the functions of the library, and the code that
 * registers the events of a shared object when it is loaded.
 *
 * The functions below are thread-safe and not async-signal-safe (they take locks and allocate),
 * except where a comment states otherwise. They return SIDE_ERROR_OK (0) on success, otherwise a
 * positive enum side_error. side_call() and its variants are async-signal-safe.
 */
#ifndef SIDE_TRACE_H
#define SIDE_TRACE_H

#pragma GCC system_header

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <side/api.h>

#ifdef __cplusplus
extern "C" {
#endif

struct side_events_register_handle;
struct side_tracer_handle;
struct side_statedump_request_handle;

enum side_error {
	SIDE_ERROR_OK = 0,
	SIDE_ERROR_INVAL = 1,
	SIDE_ERROR_EXIST = 2,
	SIDE_ERROR_NOMEM = 3,
	SIDE_ERROR_NOENT = 4,
	SIDE_ERROR_EXITING = 5,
};

enum side_tracer_notification {
	SIDE_TRACER_NOTIFICATION_INSERT_EVENTS = 0,
	SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS = 1,
};

enum side_statedump_mode {
	SIDE_STATEDUMP_MODE_POLLING = 0,      /* the application runs the dumps */
	SIDE_STATEDUMP_MODE_AGENT_THREAD = 1, /* a thread of the library runs them */
};

/*
 * Callbacks of tracers. They run in the thread of the call site (possibly in a signal handler),
 * copy the data they need, and must not unregister the event that they run under. caller_addr is
 * the return address of side_call*() in the application.
 */
typedef void (*side_tracer_callback_func)(const struct side_event_description *desc,
		const struct side_arg_vec *side_arg_vec, void *priv, void *caller_addr);
typedef void (*side_tracer_callback_variadic_func)(const struct side_event_description *desc,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *priv, void *caller_addr);

/*
 * Emit an event: declared in side/instrumentation-c-api.h, called by the macros of side/api.h after
 * the test of the enabled word.
 *
 *	void side_call(state, args);
 *	void side_call_variadic(state, args, var_struct);
 *	void side_statedump_call(state, args, statedump_request_key);
 *	void side_statedump_call_variadic(state, args, var_struct, statedump_request_key);
 *
 * The arguments are borrowed until the call returns; var_struct is not NULL; statedump_request_key
 * is the pointer that the state-dump callback has received.
 */

/*
 * The library calls this function for events whose debugger bit (bit 62, on 32-bit hosts bit 30) is
 * set. Debuggers set a breakpoint here. var_struct is NULL for an event that is not variadic.
 */
extern void side_ptrace_hook(const struct side_event_state *state,
		const struct side_arg_vec *side_arg_vec,
		const struct side_arg_dynamic_struct *var_struct, void *caller_addr);

/*
 * Register a batch of events and notify all tracers. The array belongs to the caller and must stay
 * valid until the batch is unregistered. Entries may be NULL, nr_events may be 0.
 * Returns NULL if the library is finalised or out of memory.
 */
extern struct side_events_register_handle *side_events_register(
		struct side_event_description **events, uint32_t nr_events);

/* The caller guarantees that no thread can emit these events any more. NULL is accepted. */
extern void side_events_unregister(struct side_events_register_handle *handle);

/*
 * Get a key that no other tracer has, from 8 on. Keys are never reused. SIDE_ERROR_NOMEM if none is
 * left.
 */
extern int side_tracer_request_key(uint64_t *key);

/*
 * Add or remove a callback of an event, identified by the triple (function, priv, key). key 0
 * matches every call. A notification callback may register and unregister callbacks, an event
 * callback may not. After unregistration no call of that entry is running.
 *
 * SIDE_ERROR_INVAL: the function is NULL, the event is variadic and the function is not (or the
 * reverse), or the event has too many callbacks. SIDE_ERROR_EXIST: the triple is registered
 * already. SIDE_ERROR_NOENT: the triple is not registered. SIDE_ERROR_NOMEM: out of memory.
 * SIDE_ERROR_EXITING: the library is finalised.
 */
extern int side_tracer_callback_register(struct side_event_description *desc,
		side_tracer_callback_func call, void *priv, uint64_t key);
extern int side_tracer_callback_unregister(struct side_event_description *desc,
		side_tracer_callback_func call, void *priv, uint64_t key);
extern int side_tracer_callback_variadic_register(struct side_event_description *desc,
		side_tracer_callback_variadic_func call_variadic, void *priv, uint64_t key);
extern int side_tracer_callback_variadic_unregister(struct side_event_description *desc,
		side_tracer_callback_variadic_func call_variadic, void *priv, uint64_t key);

/*
 * Notify a tracer of batches that are registered and unregistered. The library calls cb at once for
 * each batch that exists. Later it calls cb in the thread that registers or unregisters a batch,
 * with the (recursive) event lock held. Entries of events may be NULL. Returns NULL if the library
 * is finalised or out of memory.
 */
extern struct side_tracer_handle *side_tracer_event_notification_register(
		void (*cb)(enum side_tracer_notification notif,
				struct side_event_description **events, uint32_t nr_events,
				void *priv),
		void *priv);
extern void side_tracer_event_notification_unregister(struct side_tracer_handle *handle);

/*
 * Request a dump from every registered state, or cancel such requests. Only callbacks with this key
 * (or key 0) receive the dump. Cancelling does not interrupt a running dump. SIDE_ERROR_INVAL for key 0.
 */
extern int side_tracer_statedump_request(uint64_t key);
extern int side_tracer_statedump_request_cancel(uint64_t key);

/*
 * Register a named state. The library copies state_name. The callback emits ordinary events with
 * side_statedump_event*() and passes its pointer on; the pointer is valid until the callback returns.
 * The library queues a first dump for all tracers at once. In the agent mode this function returns
 * after that dump. The callback must not register or unregister states.
 */
extern struct side_statedump_request_handle *side_statedump_request_notification_register(
		const char *state_name, void (*statedump_cb)(void *statedump_request_key),
		enum side_statedump_mode mode);
extern void side_statedump_request_notification_unregister(
		struct side_statedump_request_handle *handle);

/* Polling mode: whether a request is pending. Always false in the agent mode. */
extern bool side_statedump_poll_pending_requests(struct side_statedump_request_handle *handle);

/* Polling mode: run the pending requests in this thread. SIDE_ERROR_INVAL in the agent mode. */
extern int side_statedump_run_pending_requests(struct side_statedump_request_handle *handle);

/*
 * Set up and tear down the library. The loader runs both when it loads and unloads the library. The
 * application may call them as well, any number of times. After side_exit() the library ignores calls
 * and refuses registrations.
 */
extern void side_init(void);
extern void side_exit(void);

/*
 * Registration of the events of this shared object (or program), all of them as one batch.
 *
 * Each translation unit that includes this header has the pair of functions below. The counter, one
 * for each shared object, makes the first constructor register and the last destructor unregister.
 * They have the first of the priorities that programs may use, so that constructors and destructors
 * with a priority may emit, too. Call them explicitly, in pairs, if constructors do not run.
 */
extern struct side_event_description *__start_side_event_description_ptr[]
		__attribute__((weak, visibility("hidden")));
extern struct side_event_description *__stop_side_event_description_ptr[]
		__attribute__((weak, visibility("hidden")));

extern int side_event_description_ptr_registered __attribute__((weak, visibility("hidden")));
int side_event_description_ptr_registered;
extern struct side_events_register_handle *side_events_handle
		__attribute__((weak, visibility("hidden")));
struct side_events_register_handle *side_events_handle;

static void side_event_description_ptr_init(void)
		__attribute__((no_instrument_function, constructor(101), unused));
static void side_event_description_ptr_init(void)
{
	if (side_event_description_ptr_registered++)
		return;
	side_events_handle = side_events_register(__start_side_event_description_ptr,
			(uint32_t) (__stop_side_event_description_ptr -
					__start_side_event_description_ptr));
}

static void side_event_description_ptr_exit(void)
		__attribute__((no_instrument_function, destructor(101), unused));
static void side_event_description_ptr_exit(void)
{
	if (--side_event_description_ptr_registered)
		return;
	side_events_unregister(side_events_handle);
	side_events_handle = NULL;
}

#ifdef __cplusplus
}
#endif

#endif /* SIDE_TRACE_H */
