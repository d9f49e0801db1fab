/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_LIBSIDE_H
#define SIDE_TRACERS_AGENT_CORE_LIBSIDE_H

/*
 * Weak references to the functions of libside that the agent uses. A program may load another
 * implementation's libside.so.0, which lacks some of these functions, or an unrelated library of
 * that name, which lacks all of them. The program must start in both cases. A compiler option
 * includes this file first.
 */
/* clang-format off */
#define AGENT_LIBSIDE_EACH(one) \
	one(side_builder_add_field) \
	one(side_builder_add_label) \
	one(side_builder_attr_bool) \
	one(side_builder_attr_string) \
	one(side_builder_attr_unsigned) \
	one(side_builder_bool) \
	one(side_builder_description) \
	one(side_builder_destroy) \
	one(side_builder_enum) \
	one(side_builder_error) \
	one(side_builder_finish) \
	one(side_builder_float) \
	one(side_builder_gather_float) \
	one(side_builder_gather_integer) \
	one(side_builder_gather_vla) \
	one(side_builder_integer) \
	one(side_builder_optional) \
	one(side_builder_state) \
	one(side_builder_string) \
	one(side_builder_struct) \
	one(side_call) \
	one(side_context_find) \
	one(side_context_read) \
	one(side_empty_callback) \
	one(side_init) \
	one(side_statedump_call) \
	one(side_tracer_arm) \
	one(side_tracer_bind) \
	one(side_tracer_builder_create) \
	one(side_tracer_call) \
	one(side_tracer_callback_register) \
	one(side_tracer_callback_replace) \
	one(side_tracer_callback_unregister_async) \
	one(side_tracer_callback_variadic_register) \
	one(side_tracer_callback_variadic_replace) \
	one(side_tracer_callback_variadic_unregister_async) \
	one(side_tracer_disarm) \
	one(side_tracer_each_batch) \
	one(side_tracer_event_notification_register) \
	one(side_tracer_event_notification_unregister) \
	one(side_tracer_grace_begin) \
	one(side_tracer_grace_passed) \
	one(side_tracer_lock) \
	one(side_tracer_request_key) \
	one(side_tracer_sandbox_begins) \
	one(side_tracer_sandbox_failed) \
	one(side_tracer_sections) \
	one(side_tracer_statedump_request) \
	one(side_tracer_statedump_request_try) \
	one(side_tracer_statedump_run) \
	one(side_tracer_synchronize) \
	one(side_tracer_trylock) \
	one(side_tracer_unlock) \
	one(side_tracer_unlock_hook)
/* clang-format on */

#ifdef __clang__
/* clang warns of the pragma if that name is not declared. */
#define AGENT_LIBSIDE_WEAK(name) __asm__(".weak " #name);
#else
#define AGENT_LIBSIDE_PRAGMA(text) _Pragma(#text)
#define AGENT_LIBSIDE_WEAK(name) AGENT_LIBSIDE_PRAGMA(weak name)
#endif

AGENT_LIBSIDE_EACH(AGENT_LIBSIDE_WEAK)

/*
 * Use this after the declaration, in each file that compares the address of such a function with
 * NULL. Otherwise clang removes the comparison, because only the symbol is weak.
 */
#define AGENT_LIBSIDE_DECLARE_WEAK(name) extern __typeof__(name) name __attribute__((weak));

/*
 * Constructors of side/trace.h call these two functions before the agent has checked which library
 * is loaded.
 */
struct side_event_description;
struct side_events_register_handle;
extern struct side_events_register_handle *agent_libside_real_register(
		struct side_event_description **events,
		__UINT32_TYPE__ nr) __asm__("side_events_register") __attribute__((weak));
extern void agent_libside_real_unregister(struct side_events_register_handle *handle) __asm__(
		"side_events_unregister") __attribute__((weak));

static inline struct side_events_register_handle *agent_libside_register(
		struct side_event_description **events, __UINT32_TYPE__ nr)
{
	return agent_libside_real_register ? agent_libside_real_register(events, nr) : 0;
}

static inline void agent_libside_unregister(struct side_events_register_handle *handle)
{
	if (agent_libside_real_unregister)
		agent_libside_real_unregister(handle);
}

#define side_events_register agent_libside_register
#define side_events_unregister agent_libside_unregister

#endif
