/* SPDX-License-Identifier: MIT */
/*
 * Dispatches an event to its callbacks.
 *
 * side_call() and side_call_variadic() are the hot path: an event with exactly one callback,
 * without shared tracers and guard. dispatch_slow() handles all cases.
 *
 * Nothing here aborts, allocates, takes a lock or changes errno. Async-signal-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "armed.h"
#include "callbacks.h"
#include "export.h"
#include "functions.h"
#include "guard.h"
#include "kernel.h"
#include "keys.h"
#include "rcu.h"
#include "registry-lock.h"
#include "report.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

static inline const struct side_event_state_0 *dispatch_state_0(
		const struct side_event_state *state)
{
	return (const struct side_event_state_0 *)(const void *)state;
}

/* The bits of shared tracers: the highest byte of the word, read as a byte. */
static inline unsigned char dispatch_shared_bits(const struct side_event_state_0 *state)
{
	const unsigned char *bytes = (const unsigned char *)&state->enabled;
	size_t highest = SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN ? sizeof(state->enabled) - 1 : 0;

	/* Relaxed: no data depends on the bits. */
	return __atomic_load_n(&bytes[highest], __ATOMIC_RELAXED);
}

/*
 * Not 0 if the state has another version (every version has a word of bits there), or if a shared
 * tracer uses the event. Then dispatch_slow() checks each case.
 */
static inline uintptr_t dispatch_exceptions(const struct side_event_state *state)
{
	return (state->version ^ SIDE_EVENT_STATE_ABI_VERSION) |
			dispatch_shared_bits(dispatch_state_0(state));
}

/* Call the shared tracers. var NULL: the event is not variadic. The same in all functions below. */
static void dispatch_shared(const struct side_event_state_0 *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *caller, uint64_t key)
{
	uintptr_t enabled = __atomic_load_n(&state->enabled, __ATOMIC_RELAXED);
	const struct side_event_description *desc = state->desc;
	bool variadic = desc && (desc->flags & SIDE_EVENT_FLAG_VARIADIC);

	if (!desc || variadic != !!var) {
		report_once(REPORT_VARIADIC);
		return;
	}
	if ((enabled & SIDE_ENABLED_USER_EVENTS) &&
			(key == SIDE_KEY_MATCH_ALL || key == SIDE_KEY_USER_EVENTS))
		side_kernel_write(state, args, var, caller);
	if ((enabled & SIDE_ENABLED_PTRACE) &&
			(key == SIDE_KEY_MATCH_ALL || key == SIDE_KEY_PTRACE))
		side_ptrace_hook(&state->parent, args, var, caller);
}

static void dispatch_matching(const struct side_event_state_0 *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *caller, uint64_t key)
{
	const struct side_tracer_guard *guard = guard_get();
	const struct side_event_description *desc = state->desc;
	const struct side_callback *cb = section_callbacks(state);

	/* An array for the other type of call ends at its first entry. */
	if (var ? !!cb->call : !!cb->call_variadic)
		report_once(REPORT_VARIADIC);
	for (; var ? !!cb->call_variadic : !!cb->call; cb++) {
		if (key != SIDE_KEY_MATCH_ALL && cb->key != SIDE_KEY_MATCH_ALL && cb->key != key)
			continue;
		if (guard_is_own(guard, cb))
			continue;
		if (var)
			cb->call_variadic(desc, args, var, cb->priv, caller);
		else
			cb->call(desc, args, cb->priv, caller);
	}
}

/* Whether there is no guard, or the guard accepts the call. Inside a section. */
static bool dispatch_guard_accepts(const struct side_event_state_0 *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *caller)
{
	const struct side_tracer_guard *guard = guard_get();

	return !guard || guard_passes(guard, state, args, var, caller);
}

static __attribute__((noinline, cold)) void dispatch_slow(const struct side_event_state_0 *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *caller, uint64_t key)
{
	struct rcu_reader *reader;
	bool outermost, shared, accepted = true;

	if (registry_is_finished())
		return;
	if (state->parent.version != SIDE_EVENT_STATE_ABI_VERSION) {
		report_once(REPORT_STATE_VERSION);
		return;
	}
	/* First, because the tracer that the hook registers must also get this event. */
	if (__atomic_load_n(&state->enabled, __ATOMIC_RELAXED) & SIDE_ENABLED_ARMED)
		armed_call();
	shared = dispatch_shared_bits(state);
	/* Shared tracers are called outside of sections, so the guard gets one of its own. */
	if (shared && guard_get() && (reader = rcu_enter_slow(&outermost))) {
		accepted = dispatch_guard_accepts(state, args, var, caller);
		if (outermost)
			rcu_leave(reader);
	}
	if (!accepted)
		return;
	if (shared)
		dispatch_shared(state, args, var, caller, key);
	/* If the library does not run, there are no callbacks. This call sets up nothing. */
	reader = rcu_enter_slow(&outermost);
	if (!reader)
		return;
	if (shared || dispatch_guard_accepts(state, args, var, caller))
		dispatch_matching(state, args, var, caller, key);
	if (outermost)
		rcu_leave(reader);
}

/* Call zero, several or other callbacks, in a section that this function leaves. */
static __attribute__((noinline)) void dispatch_all(struct rcu_reader *reader,
		const struct side_event_state_0 *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *caller)
{
	if (dispatch_guard_accepts(state, args, var, caller))
		dispatch_matching(state, args, var, caller, SIDE_KEY_MATCH_ALL);
	rcu_leave(reader);
}

EXPORT void side_call(const struct side_event_state *state, const struct side_arg_vec *args)
{
	void *caller = __builtin_return_address(0);
	const struct side_callback *cb;
	struct rcu_reader *reader = rcu_reader_quick();

	if (unlikely(!state || !args)) {
		report_once(REPORT_NULL_ARGUMENT);
		return;
	}
	if (unlikely(!rcu_enter_unless(reader, dispatch_exceptions(state)))) {
		dispatch_slow(dispatch_state_0(state), args, NULL, caller, SIDE_KEY_MATCH_ALL);
		return;
	}
	cb = section_callbacks(dispatch_state_0(state));
	if (unlikely(!cb[0].call || cb[1].call)) {
		dispatch_all(reader, dispatch_state_0(state), args, NULL, caller);
		return;
	}
	cb->call(dispatch_state_0(state)->desc, args, cb->priv, caller);
	rcu_leave(reader);
}

EXPORT void side_call_variadic(const struct side_event_state *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var)
{
	void *caller = __builtin_return_address(0);
	const struct side_callback *cb;
	struct rcu_reader *reader = rcu_reader_quick();

	if (unlikely(!state || !args || !var)) {
		report_once(REPORT_NULL_ARGUMENT);
		return;
	}
	if (unlikely(!rcu_enter_unless(reader, dispatch_exceptions(state)))) {
		dispatch_slow(dispatch_state_0(state), args, var, caller, SIDE_KEY_MATCH_ALL);
		return;
	}
	cb = section_callbacks(dispatch_state_0(state));
	if (unlikely(!cb[0].call_variadic || cb[1].call_variadic)) {
		dispatch_all(reader, dispatch_state_0(state), args, var, caller);
		return;
	}
	cb->call_variadic(dispatch_state_0(state)->desc, args, var, cb->priv, caller);
	rcu_leave(reader);
}

/*
 * Handle all cases that side_tracer_call() does not, in a section. False: callbacks outside of
 * `only` exist, and none was called.
 */
static __attribute__((noinline)) bool dispatch_tracer_all(const struct side_event_state_0 *state,
		const struct side_arg_vec *args, void *caller,
		const struct side_tracer_functions *only)
{
	uintptr_t shared = __atomic_load_n(&state->enabled, __ATOMIC_RELAXED) &
			(SIDE_ENABLED_USER_EVENTS | SIDE_ENABLED_PTRACE);
	const struct side_callback *cb;

	for (cb = section_callbacks(state); only && cb->call; cb++)
		if (!section_is_within(cb, only->begin, only->end))
			return false;
	if (shared && only)
		return false;
	/* The caller wants no callback, only the reader of the thread. */
	if (only && only->begin == only->end)
		return true;
	if (!dispatch_guard_accepts(state, args, NULL, caller))
		return true;
	if (shared)
		dispatch_shared(state, args, NULL, caller, SIDE_KEY_MATCH_ALL);
	dispatch_matching(state, args, NULL, caller, SIDE_KEY_MATCH_ALL);
	return true;
}

static __attribute__((noinline)) bool dispatch_tracer_slow(const struct side_event_state_0 *state,
		const struct side_arg_vec *args, void *caller,
		const struct side_tracer_functions *only)
{
	bool outermost, called;
	struct rcu_reader *reader = registry_is_finished() ? NULL : rcu_enter_slow(&outermost);

	if (!reader)
		return true;
	called = dispatch_tracer_all(state, args, caller, only);
	if (outermost)
		rcu_leave(reader);
	return called;
}

EXPORT bool side_tracer_call(const struct side_event_state *state, const struct side_arg_vec *args,
		void *caller, const struct side_tracer_functions *only)
{
	const struct side_event_state_0 *known = dispatch_state_0(state);
	struct rcu_reader *reader = rcu_reader_quick();
	const struct side_callback *cb;
	bool called = true;

	if (unlikely(!rcu_enter(reader)))
		return dispatch_tracer_slow(known, args, caller, only);
	cb = section_callbacks(known);
	/*
	 * Only the callback of the recorder: as in side_call(). The enabled word has another bit if
	 * a shared tracer uses the event.
	 */
	if (unlikely(!only || !section_is_only(known, cb, only->begin, only->end)))
		called = dispatch_tracer_all(known, args, caller, only);
	else
		cb->call(known->desc, args, cb->priv, caller);
	rcu_leave(reader);
	return called;
}

EXPORT void side_tracer_forward(const struct side_event_state *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *caller)
{
	dispatch_slow(dispatch_state_0(state), args, var, caller, SIDE_KEY_MATCH_ALL);
}

EXPORT const struct side_tracer_sections *side_tracer_sections(uint32_t version)
{
#if defined(__x86_64__) && defined(__LP64__)
	return version == SECTIONS_VERSION ? &rcu_shared : NULL;
#else
	(void)version;
	return NULL;
#endif
}

/* State dumps need no fast path. */
EXPORT void side_statedump_call(const struct side_event_state *state,
		const struct side_arg_vec *args, void *statedump_request_key)
{
	uint64_t key;

	if (!state || !args || !statedump_request_key) {
		report_once(REPORT_NULL_ARGUMENT);
		return;
	}
	memcpy(&key, statedump_request_key, sizeof(key));
	dispatch_slow(dispatch_state_0(state), args, NULL, __builtin_return_address(0), key);
}

EXPORT void side_statedump_call_variadic(const struct side_event_state *state,
		const struct side_arg_vec *args, const struct side_arg_dynamic_struct *var,
		void *statedump_request_key)
{
	uint64_t key;

	if (!state || !args || !var || !statedump_request_key) {
		report_once(REPORT_NULL_ARGUMENT);
		return;
	}
	memcpy(&key, statedump_request_key, sizeof(key));
	dispatch_slow(dispatch_state_0(state), args, var, __builtin_return_address(0), key);
}
