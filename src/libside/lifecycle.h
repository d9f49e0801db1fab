/* SPDX-License-Identifier: MIT */
/* Lets the library take part in forks of another C library in the process. */
#ifndef SIDE_LIBSIDE_LIFECYCLE_H
#define SIDE_LIBSIDE_LIFECYCLE_H

/* __register_atfork() of the GNU C library: pthread_atfork(), for the object `owner`. */
typedef int (*lifecycle_register_atfork_func)(
		void (*prepare)(void), void (*parent)(void), void (*child)(void), void *owner);

/*
 * Register the handlers of this library for forks that another C library runs. 0, or the error of
 * that function.
 */
int lifecycle_watch_forks(lifecycle_register_atfork_func register_atfork);

#endif /* SIDE_LIBSIDE_LIFECYCLE_H */
