/* SPDX-License-Identifier: MIT */
#ifndef SESSION_THREAD_H
#define SESSION_THREAD_H

/*
 * Threads of the recorder and of the daemon that make one call which can block: accept(), or a close. They have a small stack
 * and block all signals, so that the loop of the process gets these.
 */
#include <pthread.h>
#include <stddef.h>

/* With NULL for ret_thread it is detached. 0 or a negative errno. */
int thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *user), void *user);

#endif
