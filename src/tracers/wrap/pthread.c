/* SPDX-License-Identifier: MIT */
/*
 * Emits calls of the thread library as events of the provider "pthread".
 *
 * A call that may wait has two events: <function>_req before the call and <function> after its
 * return. The time between them is the waiting time, and a thread that never returns still shows
 * what it waits for. Other calls have one event after the call, except unlocking: its event comes
 * before the call, so that a lock is always free in the trace before its next owner has it.
 * Functions of this library return their error number; it is the field "result".
 */
#include "tracers/wrap/wrap.h"

#include <pthread.h>
#include <signal.h>
#include <semaphore.h>
#include <time.h>

#define THREAD_EVENT(function, ...)                                                    \
	side_static_event(event_##function, "pthread", #function, SIDE_LOGLEVEL_DEBUG, \
			side_field_list(__VA_ARGS__, side_field_s32("result"),         \
					side_field_pointer("caller")));

#define REQUEST_EVENT(function, ...)                                           \
	side_static_event(event_##function##_req, "pthread", #function "_req", \
			SIDE_LOGLEVEL_DEBUG,                                   \
			side_field_list(__VA_ARGS__, side_field_pointer("caller")));

/* A call that does not wait. */
#define THREAD_FUNCTION(function, version, params, names, fields, args) \
	THREAD_EVENT(function, fields)                                  \
	WRAP_NEXT(int, function, version, WRAP_LIST params)             \
	WRAP_EXPORT int function params                                 \
	{                                                               \
		WRAP_CALLER();                                          \
		const int result = next_##function() names;             \
                                                                        \
		WRAP_EMIT(event_##function, args, side_arg_s32(result), \
				side_arg_pointer(wrap_caller));         \
		return result;                                          \
	}

/* A call that may wait. */
#define WAITING_FUNCTION(function, version, params, names, fields, args)                \
	REQUEST_EVENT(function, fields)                                                 \
	THREAD_EVENT(function, fields)                                                  \
	WRAP_NEXT(int, function, version, WRAP_LIST params)                             \
	WRAP_EXPORT int function params                                                 \
	{                                                                               \
		WRAP_CALLER();                                                          \
		int result;                                                             \
                                                                                        \
		WRAP_EMIT(event_##function##_req, args, side_arg_pointer(wrap_caller)); \
		result = next_##function() names;                                       \
		WRAP_EMIT(event_##function, args, side_arg_s32(result),                 \
				side_arg_pointer(wrap_caller));                         \
		return result;                                                          \
	}

/* A call that lets other threads continue: its event comes before the call and has no result. */
#define RELEASING_FUNCTION(function, version, params, names, fields, args)             \
	side_static_event(event_##function, "pthread", #function, SIDE_LOGLEVEL_DEBUG, \
			side_field_list(fields, side_field_pointer("caller")));        \
	WRAP_NEXT(int, function, version, WRAP_LIST params)                            \
	WRAP_EXPORT int function params                                                \
	{                                                                              \
		WRAP_CALLER();                                                         \
                                                                                       \
		WRAP_EMIT(event_##function, args, side_arg_pointer(wrap_caller));      \
		return next_##function() names;                                        \
	}

#define MUTEX WRAP_LIST(side_field_pointer("mutex"))
#define MUTEX_ARG WRAP_LIST(side_arg_pointer(mutex))

THREAD_FUNCTION(pthread_mutex_init, NULL,
		(pthread_mutex_t * mutex, const pthread_mutexattr_t *attributes),
		(mutex, attributes), MUTEX, MUTEX_ARG)
THREAD_FUNCTION(pthread_mutex_destroy, NULL, (pthread_mutex_t * mutex), (mutex), MUTEX, MUTEX_ARG)
WAITING_FUNCTION(pthread_mutex_lock, NULL, (pthread_mutex_t * mutex), (mutex), MUTEX, MUTEX_ARG)
THREAD_FUNCTION(pthread_mutex_trylock, NULL, (pthread_mutex_t * mutex), (mutex), MUTEX, MUTEX_ARG)
WAITING_FUNCTION(pthread_mutex_timedlock, NULL,
		(pthread_mutex_t * mutex, const struct timespec *until), (mutex, until), MUTEX,
		MUTEX_ARG)
WAITING_FUNCTION(pthread_mutex_clocklock, NULL,
		(pthread_mutex_t * mutex, clockid_t clock, const struct timespec *until),
		(mutex, clock, until), MUTEX, MUTEX_ARG)
RELEASING_FUNCTION(pthread_mutex_unlock, NULL, (pthread_mutex_t * mutex), (mutex), MUTEX, MUTEX_ARG)

#define RWLOCK WRAP_LIST(side_field_pointer("rwlock"))
#define RWLOCK_ARG WRAP_LIST(side_arg_pointer(rwlock))

THREAD_FUNCTION(pthread_rwlock_init, NULL,
		(pthread_rwlock_t * rwlock, const pthread_rwlockattr_t *attributes),
		(rwlock, attributes), RWLOCK, RWLOCK_ARG)
THREAD_FUNCTION(pthread_rwlock_destroy, NULL, (pthread_rwlock_t * rwlock), (rwlock), RWLOCK,
		RWLOCK_ARG)
WAITING_FUNCTION(pthread_rwlock_rdlock, NULL, (pthread_rwlock_t * rwlock), (rwlock), RWLOCK,
		RWLOCK_ARG)
WAITING_FUNCTION(pthread_rwlock_wrlock, NULL, (pthread_rwlock_t * rwlock), (rwlock), RWLOCK,
		RWLOCK_ARG)
THREAD_FUNCTION(pthread_rwlock_tryrdlock, NULL, (pthread_rwlock_t * rwlock), (rwlock), RWLOCK,
		RWLOCK_ARG)
THREAD_FUNCTION(pthread_rwlock_trywrlock, NULL, (pthread_rwlock_t * rwlock), (rwlock), RWLOCK,
		RWLOCK_ARG)
WAITING_FUNCTION(pthread_rwlock_timedrdlock, NULL,
		(pthread_rwlock_t * rwlock, const struct timespec *until), (rwlock, until), RWLOCK,
		RWLOCK_ARG)
WAITING_FUNCTION(pthread_rwlock_timedwrlock, NULL,
		(pthread_rwlock_t * rwlock, const struct timespec *until), (rwlock, until), RWLOCK,
		RWLOCK_ARG)
RELEASING_FUNCTION(pthread_rwlock_unlock, NULL, (pthread_rwlock_t * rwlock), (rwlock), RWLOCK,
		RWLOCK_ARG)

/*
 * Without a version, dlsym() returns the first version of these functions on some systems, whose
 * condition variables have another layout than those of current programs.
 */
#define COND_VERSION "GLIBC_2.3.2"
#define COND WRAP_LIST(side_field_pointer("cond"))
#define COND_ARG WRAP_LIST(side_arg_pointer(cond))
#define COND_MUTEX WRAP_LIST(side_field_pointer("cond"), side_field_pointer("mutex"))
#define COND_MUTEX_ARG WRAP_LIST(side_arg_pointer(cond), side_arg_pointer(mutex))

THREAD_FUNCTION(pthread_cond_init, COND_VERSION,
		(pthread_cond_t * cond, const pthread_condattr_t *attributes), (cond, attributes),
		COND, COND_ARG)
THREAD_FUNCTION(pthread_cond_destroy, COND_VERSION, (pthread_cond_t * cond), (cond), COND, COND_ARG)
WAITING_FUNCTION(pthread_cond_wait, COND_VERSION, (pthread_cond_t * cond, pthread_mutex_t *mutex),
		(cond, mutex), COND_MUTEX, COND_MUTEX_ARG)
WAITING_FUNCTION(pthread_cond_timedwait, COND_VERSION,
		(pthread_cond_t * cond, pthread_mutex_t *mutex, const struct timespec *until),
		(cond, mutex, until), COND_MUTEX, COND_MUTEX_ARG)
WAITING_FUNCTION(pthread_cond_clockwait, NULL,
		(pthread_cond_t * cond, pthread_mutex_t *mutex, clockid_t clock,
				const struct timespec *until),
		(cond, mutex, clock, until), COND_MUTEX, COND_MUTEX_ARG)
RELEASING_FUNCTION(
		pthread_cond_signal, COND_VERSION, (pthread_cond_t * cond), (cond), COND, COND_ARG)
RELEASING_FUNCTION(pthread_cond_broadcast, COND_VERSION, (pthread_cond_t * cond), (cond), COND,
		COND_ARG)

#define BARRIER WRAP_LIST(side_field_pointer("barrier"))
#define BARRIER_ARG WRAP_LIST(side_arg_pointer(barrier))

WAITING_FUNCTION(pthread_barrier_wait, NULL, (pthread_barrier_t * barrier), (barrier), BARRIER,
		BARRIER_ARG)

#define SPIN WRAP_LIST(side_field_pointer("spinlock"))
#define SPIN_ARG WRAP_LIST(side_arg_pointer(lock))

WAITING_FUNCTION(pthread_spin_lock, NULL, (pthread_spinlock_t * lock), (lock), SPIN, SPIN_ARG)
THREAD_FUNCTION(pthread_spin_trylock, NULL, (pthread_spinlock_t * lock), (lock), SPIN, SPIN_ARG)
RELEASING_FUNCTION(pthread_spin_unlock, NULL, (pthread_spinlock_t * lock), (lock), SPIN, SPIN_ARG)

/* Threads. */

#define NEW_THREAD (result ? (pthread_t)0 : *thread)

THREAD_FUNCTION(pthread_create, NULL,
		(pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *),
				void *data),
		(thread, attributes, start, data),
		WRAP_LIST(side_field_pointer("thread"), side_field_pointer("start"),
				side_field_pointer("data")),
		WRAP_LIST(side_arg_pointer(NEW_THREAD), side_arg_pointer(start),
				side_arg_pointer(data)))
WAITING_FUNCTION(pthread_join, NULL, (pthread_t thread, void **value), (thread, value),
		WRAP_LIST(side_field_pointer("thread")), WRAP_LIST(side_arg_pointer(thread)))
THREAD_FUNCTION(pthread_detach, NULL, (pthread_t thread), (thread),
		WRAP_LIST(side_field_pointer("thread")), WRAP_LIST(side_arg_pointer(thread)))
/*
 * The agent defines pthread_setname_np() too (tracers/agent/context/watch.c). If the loader finds
 * the agent's function first, it calls this library's function next. Before that, the agent passes
 * the program's caller for this thread. Returns the previous caller. Signal-safe.
 */
const void *side_wrap_pass_pthread(const void *caller) __attribute__((visibility("default")));

static __thread const void *forwarded_caller __attribute__((tls_model("initial-exec")));

const void *side_wrap_pass_pthread(const void *caller)
{
	const void *before = forwarded_caller;

	forwarded_caller = caller;
	return before;
}

THREAD_EVENT(pthread_setname_np, WRAP_LIST(side_field_pointer("thread"), side_field_string("name")))
WRAP_NEXT(int, pthread_setname_np, NULL, pthread_t, const char *)
WRAP_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	const void *const wrap_caller =
			forwarded_caller ? forwarded_caller : __builtin_return_address(0);
	const int result = next_pthread_setname_np()(thread, name);

	WRAP_EMIT(event_pthread_setname_np, side_arg_pointer(thread), side_arg_string(name),
			side_arg_s32(result), side_arg_pointer(wrap_caller));
	return result;
}

THREAD_FUNCTION(pthread_kill, NULL, (pthread_t thread, int number), (thread, number),
		WRAP_LIST(side_field_pointer("thread"), side_field_s32("signal")),
		WRAP_LIST(side_arg_pointer(thread), side_arg_s32(number)))
THREAD_FUNCTION(pthread_cancel, NULL, (pthread_t thread), (thread),
		WRAP_LIST(side_field_pointer("thread")), WRAP_LIST(side_arg_pointer(thread)))

side_static_event(event_pthread_exit, "pthread", "pthread_exit", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_pointer("value"), side_field_pointer("caller")));
WRAP_NEXT(void, pthread_exit, NULL, void *)
WRAP_EXPORT __attribute__((noreturn)) void pthread_exit(void *value)
{
	WRAP_CALLER();

	WRAP_EMIT(event_pthread_exit, side_arg_pointer(value), side_arg_pointer(wrap_caller));
	next_pthread_exit()(value);
	__builtin_unreachable();
}

/* Semaphores return -1 and set errno. */

#define SEMAPHORE WRAP_LIST(side_field_pointer("semaphore"))
#define SEMAPHORE_ARG WRAP_LIST(side_arg_pointer(semaphore))

WAITING_FUNCTION(sem_wait, NULL, (sem_t * semaphore), (semaphore), SEMAPHORE, SEMAPHORE_ARG)
WAITING_FUNCTION(sem_timedwait, NULL, (sem_t * semaphore, const struct timespec *until),
		(semaphore, until), SEMAPHORE, SEMAPHORE_ARG)
THREAD_FUNCTION(sem_trywait, NULL, (sem_t * semaphore), (semaphore), SEMAPHORE, SEMAPHORE_ARG)
RELEASING_FUNCTION(sem_post, NULL, (sem_t * semaphore), (semaphore), SEMAPHORE, SEMAPHORE_ARG)
