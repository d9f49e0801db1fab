/* SPDX-License-Identifier: MIT */
/*
 * SIDE: contexts of the application's own.
 *
 * A context is a value beside every event of a recording: the request that is being served, the
 * tenant, the frame number. The application gives it a name and a function; whoever traces asks for
 * it by that name ("side record --context '$app.shop:request'", "$app.shop:request" in a filter),
 * and each recorded event carries what the function says at that moment:
 *
 *	static __thread uint64_t current_request;
 *
 *	static void get_request(struct side_context_value *value, void *priv)
 *	{
 *		if (current_request)
 *			side_context_set_uint64(value, current_request);
 *	}
 *	...
 *	struct side_context_handle *handle;
 *	side_context_register("shop", "request", get_request, NULL, &handle);
 *
 * Names. Provider and name are 1 byte or more of letters, digits, '.', '_' and '-', together at most
 * 73 bytes. The pair is unique in the process. A process may use 1,024 different pairs in its life.
 *
 * Kinds. A value has a kind, which may differ from call to call; without a call of side_context_set_*()
 * it is none. Numbers are recorded as they are: say in the name what they count ("latency_us").
 *
 * Ownership. Provider and name are copied. `priv` stays the application's; it is passed on. Text is
 * borrowed: it must stay as it is until the event that asked has returned, which memory of the
 * thread and static memory do. It is recorded to its NUL, as UTF-8.
 *
 * Threads and signals. The function is called in the thread that emits, at any moment at which that
 * thread emits, also in signal handlers, also in several threads at once, and also while another
 * one is registering or unregistering. It runs inside the event, so it must be quick; must not wait,
 * allocate memory or call the loader; must return (no longjmp, no exception); and keeps errno
 * untouched or is repaired by the tracer. Events that it emits are recorded, but in them the
 * application's contexts may be none.
 *
 * Fork. A child has the registrations of its parent.
 */
#ifndef SIDE_CONTEXT_H
#define SIDE_CONTEXT_H

#pragma GCC system_header

#include <stdint.h>

#include <side/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

enum side_context_kind {
	SIDE_CONTEXT_NONE = 0,
	SIDE_CONTEXT_INT64 = 1,
	SIDE_CONTEXT_UINT64 = 2,
	SIDE_CONTEXT_DOUBLE = 3,
	SIDE_CONTEXT_STRING = 4,
	SIDE_CONTEXT_BOOL = 5
};

/* Filled by the functions below; tracers read it. */
struct side_context_value {
	uint32_t kind; /* enum side_context_kind */
	uint32_t reserved;
	union {
		int64_t int64;
		uint64_t uint64;
		double float64;
		const char *string;
		uint64_t boolean; /* 0 or 1 */
	} content;
};

static inline void side_context_set_none(struct side_context_value *value)
{
	value->kind = SIDE_CONTEXT_NONE;
}

static inline void side_context_set_int64(struct side_context_value *value, int64_t number)
{
	value->kind = SIDE_CONTEXT_INT64;
	value->content.int64 = number;
}

static inline void side_context_set_uint64(struct side_context_value *value, uint64_t number)
{
	value->kind = SIDE_CONTEXT_UINT64;
	value->content.uint64 = number;
}

static inline void side_context_set_double(struct side_context_value *value, double number)
{
	value->kind = SIDE_CONTEXT_DOUBLE;
	value->content.float64 = number;
}

/* NULL is none. */
static inline void side_context_set_string(struct side_context_value *value, const char *text)
{
	value->kind = text ? (uint32_t) SIDE_CONTEXT_STRING : (uint32_t) SIDE_CONTEXT_NONE;
	value->content.string = text;
}

static inline void side_context_set_bool(struct side_context_value *value, int truth)
{
	value->kind = SIDE_CONTEXT_BOOL;
	value->content.boolean = truth ? 1 : 0;
}

typedef void (*side_context_func)(struct side_context_value *value, void *priv);

struct side_context_handle;

/*
 * Provide a context from now on.  The handle, for unregistration, may be left out (NULL).
 * Thread-safe; not for signal handlers. SIDE_ERROR_INVAL: a name as above it is not, or no
 * function; _EXIST: somebody provides it already; _NOMEM: no memory, or too many names; _EXITING: the
 * library is finalised.
 */
extern int side_context_register(const char *provider, const char *name, side_context_func get,
		void *priv, struct side_context_handle **handle);

/*
 * Provide it no longer.  After the return no call of the function is running, none will come, and
 * nobody looks at text that it gave; so `priv` may be freed and the code unloaded. This waits for
 * events that are being emitted, so it must not be called with a lock held for which the function of
 * a context, or anything else that runs inside an event, may wait. Inside an event (in a function of
 * a context) and inside a tracer's notification it does not wait, and promises only that events
 * which begin afterwards do not find it. NULL is ignored. Thread-safe; not for signal handlers.
 */
extern void side_context_unregister(struct side_context_handle *handle);

/*
 * For tracers: the place of a name, whether somebody provides it yet or not; the same for the rest
 * of the process's life.  NULL: no such name can be, or there are too many.  Async-signal-safe.
 */
struct side_context_place;
extern struct side_context_place *side_context_find(const char *provider, const char *name);

/*
 * For tracers, inside an event callback only: the value as of now; text lives until the callback
 * returns.  None if nobody provides it.  Async-signal-safe, keeps errno.
 */
extern void side_context_read(
		const struct side_context_place *place, struct side_context_value *value);

#ifdef __cplusplus
}
#endif

#endif /* SIDE_CONTEXT_H */
