/* SPDX-License-Identifier: MIT */
/*
 * SIDE: contexts that the application provides.
 *
 * A context is a value that is recorded with every event: the request that is being served, the
 * tenant, the frame number. The application registers a name and a function. The user requests the
 * context by that name ("side record --context '$app.shop:request'", "$app.shop:request" in a
 * filter). Each recorded event then carries the value that the function returns at that moment:
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
 * Names. Provider and name are 1 byte or more of letters, digits, '.', '_' and '-', together at
 * most 73 bytes. The pair is unique in the process. A process may use 1,024 different pairs in its
 * life.
 *
 * Kinds. A value has a kind, which may differ from call to call. Without a call of
 * side_context_set_*() the kind is none. Numbers have no unit: put the unit into the name
 * ("latency_us").
 *
 * Ownership. The library copies provider and name. `priv` belongs to the application; the library
 * passes it to the function. Text is borrowed: it must not change until the event has returned.
 * Memory of the thread and static memory satisfy that. The tracer records text up to its NUL, as
 * UTF-8.
 *
 * Threads and signals. The library calls the function in the thread that emits, at any moment: in
 * signal handlers, in several threads at once, and while another thread registers or unregisters.
 * The function runs inside the event. It must be quick; must not wait, allocate memory or call the
 * loader; and must return (no longjmp, no exception). The tracer restores errno. Events that the
 * function emits are recorded, but the application's contexts may be none in them.
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

/* The functions below fill it; tracers read it. */
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

/* NULL sets the kind none. */
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
 * Register a context. `handle` receives a handle for unregistration; it may be NULL.
 * Thread-safe; not async-signal-safe. SIDE_ERROR_INVAL: the name breaks the rules above, or the function
 * is NULL. SIDE_ERROR_EXIST: the context is registered already. SIDE_ERROR_NOMEM: out of memory, or too
 * many names. SIDE_ERROR_EXITING: the library is finalised.
 */
extern int side_context_register(const char *provider, const char *name, side_context_func get,
		void *priv, struct side_context_handle **handle);

/*
 * Unregister a context. After the return no call of the function runs or begins, and no tracer reads
 * its text. `priv` may then be freed and the code unloaded. This function waits for events that are
 * being emitted: do not call it with a lock held that the function of a context, or other code inside an
 * event, may take. Inside an event (in a function of a context) and inside a tracer's notification it does
 * not wait; then only events that begin afterwards are sure not to use the context. NULL is ignored.
 * Thread-safe; not async-signal-safe.
 */
extern void side_context_unregister(struct side_context_handle *handle);

/*
 * For tracers: the slot of a name, whether the context is registered yet or not. The slot stays the
 * same until the process ends. NULL: the name is invalid, or there are too many. Async-signal-safe.
 */
struct side_context_place;
extern struct side_context_place *side_context_find(const char *provider, const char *name);

/*
 * For tracers, inside an event callback only: the current value. Text is valid until the callback
 * returns. The kind is none if the context is not registered. Async-signal-safe, keeps errno.
 */
extern void side_context_read(
		const struct side_context_place *place, struct side_context_value *value);

#ifdef __cplusplus
}
#endif

#endif /* SIDE_CONTEXT_H */
