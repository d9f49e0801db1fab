/* SPDX-License-Identifier: MIT */
/*
 * Wrapper libraries emit the calls of a dynamically linked program into a library as SIDE events.
 *
 * A wrapper library is preloaded. It defines functions with the names of another library's
 * functions. Each calls the next definition in the program's search order (that of the C library,
 * or of an allocator of the program) and emits an event with arguments, result and the address of
 * the caller. Calls within the C library that do not go through the dynamic linker are not visible,
 * as in ltrace.
 *
 * A wrapper preserves errno, the order of side effects, cancellation points and
 * async-signal-safety. It takes no lock and allocates nothing.
 *
 * Recursion is prevented in two ways. Calls from a tracer's code (libside, its agent, its console
 * tracer, the wrappers) are recognized by their return address and only passed on, so a tracer's
 * own allocations and writes are not recorded. The same holds for calls that libc makes on behalf
 * of such code: the agent calls WRAP_OWN() around it. For other tracers there is a depth count for
 * each thread: a signal handler may nest a few levels, and infinite recursion is stopped.
 */
#ifndef SIDE_TRACERS_WRAP_WRAP_H
#define SIDE_TRACERS_WRAP_WRAP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/trace.h>

#include "tracers/wrap/imports.h"

/* From this depth of nested events on, calls of the thread are only passed on. */
#define WRAP_DEPTH_MAX 4

extern __thread int wrap_depth __attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * Returns the next definition of `name` after this library, or NULL. Never fails for functions of
 * the C library. `version` selects a symbol version where the default would be an outdated one
 * (NULL: any). Thread-safe. Preserves errno.
 */
void *wrap_next(const char *name, const char *version) __attribute__((visibility("hidden")));

/*
 * Starts the wrapper library, and the agent if it is loaded, once. Each wrapper's first call does
 * so. Preserves errno.
 */
void wrap_start(void) __attribute__((visibility("hidden")));

/*
 * Called by the agent: with true, this thread's calls from now on are the agent's own; with false,
 * they are the program's again. Calls nest. WRAP_OWN is a macro: each library exports the function
 * under its own name.
 */
void WRAP_OWN(bool begins) __attribute__((visibility("default")));

/* True if `address` is in the code of a tracer. Signal-safe, takes no locks. */
bool wrap_is_tracer(const void *address) __attribute__((visibility("hidden")));

/*
 * True if this thread runs code of the agent now, in a program into which this library was loaded
 * later. Signal-safe, takes no locks.
 */
bool wrap_is_own_thread(void) __attribute__((visibility("hidden")));

/* True if the agent has loaded this library into a program that runs. */
bool wrap_is_attached(void) __attribute__((visibility("hidden")));

/*
 * Called by the agent if it has loaded this library into a program that runs. WRAP_ATTACH is a
 * macro, as WRAP_OWN is.
 */
wrap_attach_function WRAP_ATTACH __attribute__((visibility("default")));

/*
 * True if a call from `caller` may emit an event now; wrap_leave() must follow. Called only while a
 * tracer listens.
 */
static inline bool wrap_enter(const void *caller)
{
	if (wrap_depth >= WRAP_DEPTH_MAX || wrap_is_tracer(caller) || wrap_is_own_thread())
		return false;
	wrap_depth++;
	return true;
}

static inline void wrap_leave(void)
{
	wrap_depth--;
}

/*
 * Emit event `event` with the given side_arg_* list. Preserves errno. `wrap_caller` must be in
 * scope: WRAP_CALLER() at the start of each wrapper defines it.
 */
#define WRAP_EMIT(event, ...)                                               \
	do {                                                                \
		if (side_event_enabled(event) && wrap_enter(wrap_caller)) { \
			const int wrap_errno = errno;                       \
			side_event_call(event, side_arg_list(__VA_ARGS__)); \
			errno = wrap_errno;                                 \
			wrap_leave();                                       \
		}                                                           \
	} while (0)

#define WRAP_CALLER() void *const wrap_caller = __builtin_return_address(0)

/* The wrapped functions are exported; all other symbols are hidden. */
#define WRAP_EXPORT __attribute__((visibility("default")))

/*
 * WRAP_NEXT(return type, function, version or NULL, parameter types...) defines next_<function>(),
 * which returns the real function. The pointer is looked up once; several threads may do so at the
 * same time and store the same value.
 */
#define WRAP_NEXT(type, function, version, ...)                                               \
	typedef type (*function##_function)(__VA_ARGS__);                                     \
	static inline function##_function next_##function(void)                               \
	{                                                                                     \
		static function##_function cached;                                            \
		/* Relaxed: every thread stores the same value, and code needs no barrier. */ \
		function##_function next = __atomic_load_n(&cached, __ATOMIC_RELAXED);        \
                                                                                              \
		if (__builtin_expect(!next, 0)) {                                             \
			next = (function##_function)wrap_next(#function, version);            \
			__atomic_store_n(&cached, next, __ATOMIC_RELAXED);                    \
			wrap_start();                                                         \
		}                                                                             \
		return next;                                                                  \
	}                                                                                     \
	static void *find_##function(void)                                                    \
	{                                                                                     \
		return (void *)next_##function();                                             \
	}                                                                                     \
	WRAP_IMPORT(function, version, find_##function)

/* The last fields of most events: result, error number (0 on success), caller. */
#define WRAP_RESULT_FIELDS(result_kind) \
	side_field_##result_kind("result"), side_field_s32("error"), side_field_pointer("caller")
#define WRAP_RESULT_ARGS(result_kind, result, failed)                       \
	side_arg_##result_kind(result), side_arg_s32((failed) ? errno : 0), \
			side_arg_pointer(wrap_caller)

#define WRAP_LIST(...) __VA_ARGS__

/*
 * WRAP_IMPORT(function, version or NULL, next) lists a wrapper for programs that run already: those
 * cannot be made to find it by its name (imports.h). `next` returns the real function.
 */
#define WRAP_IMPORT(function, its_version, its_next)                                        \
	static struct wrap_import import_##function                                         \
			__attribute__((section("side_wrap_imports"), used, aligned(8))) = { \
					.name = #function,                                  \
					.version = (its_version),                           \
					.next = (its_next),                                 \
	};

/*
 * Define a complete wrapper: event "<provider>:<function>" with the given fields, then result,
 * error and caller; and the function itself. `kind` is the side_field_/side_arg_ suffix of the
 * result, `failed` is an expression of `result` that is true if errno is valid, `fields` and `args`
 * are WRAP_LIST(...)s.
 */
#define WRAP_FUNCTION(provider, type, kind, function, params, names, failed, fields, args) \
	side_static_event(event_##function, provider, #function, SIDE_LOGLEVEL_DEBUG,      \
			side_field_list(fields, WRAP_RESULT_FIELDS(kind)));                \
	WRAP_NEXT(type, function, NULL, WRAP_LIST params)                                  \
	WRAP_EXPORT type function params                                                   \
	{                                                                                  \
		WRAP_CALLER();                                                             \
		type result = next_##function() names;                                     \
                                                                                           \
		WRAP_EMIT(event_##function, args, WRAP_RESULT_ARGS(kind, result, failed)); \
		return result;                                                             \
	}

/* Do not read a string that the kernel could not read. */
#define WRAP_TEXT(text, failed) side_arg_string((failed) && errno == EFAULT ? NULL : (text))

#endif
