/* SPDX-License-Identifier: MIT */
/*
 * Wrapper libraries: calls of a dynamically linked program into a library, as SIDE events.
 *
 * A wrapper library is preloaded. It defines functions with the names of another library's, each of
 * which calls the next definition in the program's search order (the C library's, or an allocator
 * that the program brought along) and emits one event with arguments, result and the address of the
 * caller. What the C library calls inside itself without going through the dynamic linker is not
 * seen, just as ltrace does not see it.
 *
 * What a wrapper keeps: errno as the real function left it, the order of side effects, cancellation
 * points, async-signal-safety. It takes no lock and allocates nothing.
 *
 * Recursion ends in two ways. Calls that come from a tracer's own code (libside, its agent, its
 * console, these wrappers) are recognised by their return address and only passed on: so a tracer
 * that allocates or writes is not part of the picture. Nor are calls that libc makes for such code: the agent calls
 * WRAP_OWN() around it. For tracers unknown to us there is a depth
 * count for each thread; a signal handler may nest a few levels, an endless descent is cut.
 */
#ifndef SIDE_TRACERS_WRAP_WRAP_H
#define SIDE_TRACERS_WRAP_WRAP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/trace.h>

/* Depth of events inside events, for each thread, from which on calls are only passed on. */
#define WRAP_DEPTH_MAX 4

extern __thread int wrap_depth __attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * The next definition of `name` after this library, or NULL; never fails for functions of the C
 * library. `version` asks for a symbol version where the plain lookup would give an outdated one
 * (NULL: any). Thread-safe. Keeps errno.
 */
void *wrap_next(const char *name, const char *version) __attribute__((visibility("hidden")));

/* Start these wrappers and the recorder, once. Every wrapper's first call does so. Keeps errno. */
void wrap_start(void) __attribute__((visibility("hidden")));

/* Called by the agent: from here on this thread's calls are its own, or, with false, the program's again. Nests. A name for each library. */
void WRAP_OWN(bool begins) __attribute__((visibility("default")));

/* Is `address` in the code of a tracer? Signal-safe, no locks. */
bool wrap_is_tracer(const void *address) __attribute__((visibility("hidden")));

/* May a call from `caller` become an event now? Looked at only while somebody listens. */
static inline bool wrap_enter(const void *caller)
{
	if (wrap_depth >= WRAP_DEPTH_MAX || wrap_is_tracer(caller))
		return false;
	wrap_depth++;
	return true;
}

static inline void wrap_leave(void)
{
	wrap_depth--;
}

/*
 * Emit event `event` with the given side_arg_* list, errno kept. `wrap_caller` must be in scope:
 * WRAP_CALLER() at the start of each wrapper puts it there.
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

/* The wrapped functions are the library's interface; everything else is hidden. */
#define WRAP_EXPORT __attribute__((visibility("default")))

/*
 * WRAP_NEXT(return type, function, version or NULL, parameter types...) defines next_<function>(),
 * which gives the real function. The pointer is looked up once; several threads may do so at the
 * same time and store the same value.
 */
#define WRAP_NEXT(type, function, version, ...)                                                    \
	typedef type (*function##_function)(__VA_ARGS__);                                          \
	static inline function##_function next_##function(void)                                    \
	{                                                                                          \
		static function##_function cached;                                                 \
		/* Relaxed: the value is the same whoever stores it, and code needs no barrier. */ \
		function##_function next = __atomic_load_n(&cached, __ATOMIC_RELAXED);             \
                                                                                                   \
		if (__builtin_expect(!next, 0)) {                                                  \
			next = (function##_function)wrap_next(#function, version);                 \
			__atomic_store_n(&cached, next, __ATOMIC_RELAXED);                         \
			wrap_start();                                                              \
		}                                                                                  \
		return next;                                                                       \
	}

/* The fields that end most events: result, error number (0 on success), caller. */
#define WRAP_RESULT_FIELDS(result_kind) \
	side_field_##result_kind("result"), side_field_s32("error"), side_field_pointer("caller")
#define WRAP_RESULT_ARGS(result_kind, result, failed)                       \
	side_arg_##result_kind(result), side_arg_s32((failed) ? errno : 0), \
			side_arg_pointer(wrap_caller)

#define WRAP_LIST(...) __VA_ARGS__

/*
 * A whole wrapper: event "<provider>:<function>" with the given fields, then result, error and caller;
 * and the function itself. `kind` is the side_field_/side_arg_ suffix of the result, `failed` an
 * expression over `result` that says whether errno means something, `fields` and `args` are
 * WRAP_LIST(...)s.
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

/* A text that the kernel could not read must not be read by us either. */
#define WRAP_TEXT(text, failed) side_arg_string((failed) && errno == EFAULT ? NULL : (text))

#endif
