/* SPDX-License-Identifier: MIT */
/*
 * Dispatch of an event to its callbacks.
 *
 * side_call() and its variadic twin are the hot path: an event with one callback and nothing
 * special about it.  All the rest is dispatch_slow(), which can do every case.
 *
 * Nothing here aborts, allocates, takes a lock or changes errno.  Async-signal-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "callbacks.h"
#include "functions.h"
#include "kernel.h"
#include "export.h"
#include "rcu.h"
#include "registry.h"
#include "report.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* A call of an event, as the slow path sees it. */
struct call {
	const struct side_event_state_0 *state;
	const struct side_arg_vec *args;
	const struct side_arg_dynamic_struct *var; /* NULL: not variadic */
	void *caller;
	uint64_t key;
};

static inline const struct side_event_state_0 *state_0(const struct side_event_state *state)
{
	return (const struct side_event_state_0 *)(const void *)state;
}

static inline const struct side_callback *load_callbacks(const struct side_event_state_0 *state)
{
	/* Acquire: the entries.  Pairs with the release in publish(). */
	return __atomic_load_n(&state->callbacks, __ATOMIC_ACQUIRE);
}

static inline bool wanted_by_shared(const struct side_event_state_0 *state)
{
	/* Relaxed: the bits order nothing. */
	return __atomic_load_n(&state->enabled, __ATOMIC_RELAXED) & SIDE_ENABLED_SHARED_MASK;
}

static void call_shared(const struct call *call)
{
	uintptr_t enabled = __atomic_load_n(&call->state->enabled, __ATOMIC_RELAXED);
	const struct side_event_description *desc = call->state->desc;
	bool variadic = desc && (desc->flags & SIDE_EVENT_FLAG_VARIADIC);

	if (!desc || variadic != !!call->var) {
		report_once(REPORT_VARIADIC);
		return;
	}
	if ((enabled & SIDE_ENABLED_USER_EVENTS) &&
			(call->key == SIDE_KEY_MATCH_ALL || call->key == SIDE_KEY_USER_EVENTS))
		side_kernel_write(call->state, call->args, call->var, call->caller);
	if ((enabled & SIDE_ENABLED_PTRACE) &&
			(call->key == SIDE_KEY_MATCH_ALL || call->key == SIDE_KEY_PTRACE))
		side_ptrace_hook(&call->state->parent, call->args, call->var, call->caller);
}

static void call_matching(const struct call *call)
{
	const struct side_event_description *desc = call->state->desc;
	const struct side_callback *cb = load_callbacks(call->state);

	/* An array for the other kind of call ends at its first entry. */
	if (call->var ? !!cb->call : !!cb->call_variadic)
		report_once(REPORT_VARIADIC);
	for (; call->var ? !!cb->call_variadic : !!cb->call; cb++) {
		if (call->key != SIDE_KEY_MATCH_ALL && cb->key != SIDE_KEY_MATCH_ALL &&
				cb->key != call->key)
			continue;
		if (call->var)
			cb->call_variadic(desc, call->args, call->var, cb->priv, call->caller);
		else
			cb->call(desc, call->args, cb->priv, call->caller);
	}
}

static __attribute__((noinline, cold)) void dispatch_slow(const struct call *call)
{
	struct rcu_reader *reader;
	bool outermost;

	if (registry_is_finished())
		return;
	if (call->state->parent.version != SIDE_EVENT_STATE_ABI_VERSION) {
		report_once(REPORT_STATE_VERSION);
		return;
	}
	if (wanted_by_shared(call->state))
		call_shared(call);
	/* Without a library that runs there are no callbacks: nothing needs to be set up here. */
	reader = rcu_enter_slow(&outermost);
	if (!reader)
		return;
	call_matching(call);
	if (outermost)
		rcu_leave(reader);
}

/* Several callbacks, none, or callbacks of the other kind; in a section that it leaves. */
static __attribute__((noinline)) void call_all(struct rcu_reader *reader, const struct call *call)
{
	call_matching(call);
	rcu_leave(reader);
}

EXPORT void side_call(const struct side_event_state *state, const struct side_arg_vec *args)
{
	void *caller = __builtin_return_address(0);
	const struct side_callback *cb;
	struct rcu_reader *reader;

	if (unlikely(!state || !args)) {
		report_once(REPORT_NULL_ARGUMENT);
		return;
	}
	reader = rcu_self;
	if (unlikely(state->version != SIDE_EVENT_STATE_ABI_VERSION ||
			    wanted_by_shared(state_0(state)) || !rcu_enter(reader))) {
		dispatch_slow(&(struct call){state_0(state), args, NULL, caller, 0});
		return;
	}
	cb = load_callbacks(state_0(state));
	if (likely(cb[0].call && !cb[1].call)) {
		cb->call(state_0(state)->desc, args, cb->priv, caller);
		rcu_leave(reader);
		return;
	}
	call_all(reader, &(struct call){state_0(state), args, NULL, caller, 0});
}

EXPORT void side_call_variadic(const struct side_event_state *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var)
{
	void *caller = __builtin_return_address(0);
	const struct side_callback *cb;
	struct rcu_reader *reader;

	if (unlikely(!state || !args || !var)) {
		report_once(REPORT_NULL_ARGUMENT);
		return;
	}
	reader = rcu_self;
	if (unlikely(state->version != SIDE_EVENT_STATE_ABI_VERSION ||
			    wanted_by_shared(state_0(state)) || !rcu_enter(reader))) {
		dispatch_slow(&(struct call){state_0(state), args, var, caller, 0});
		return;
	}
	cb = load_callbacks(state_0(state));
	if (likely(cb[0].call_variadic && !cb[1].call_variadic)) {
		cb->call_variadic(state_0(state)->desc, args, var, cb->priv, caller);
		rcu_leave(reader);
		return;
	}
	call_all(reader, &(struct call){state_0(state), args, var, caller, 0});
}

/* State dumps are not hot. */
EXPORT void side_statedump_call(const struct side_event_state *state,
		const struct side_arg_vec *args, void *statedump_request_key)
{
	struct call call = {state_0(state), args, NULL, __builtin_return_address(0), 0};

	if (!state || !args || !statedump_request_key) {
		report_once(REPORT_NULL_ARGUMENT);
		return;
	}
	memcpy(&call.key, statedump_request_key, sizeof(call.key));
	dispatch_slow(&call);
}

EXPORT void side_statedump_call_variadic(const struct side_event_state *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *statedump_request_key)
{
	struct call call = {state_0(state), args, var, __builtin_return_address(0), 0};

	if (!state || !args || !var || !statedump_request_key) {
		report_once(REPORT_NULL_ARGUMENT);
		return;
	}
	memcpy(&call.key, statedump_request_key, sizeof(call.key));
	dispatch_slow(&call);
}
