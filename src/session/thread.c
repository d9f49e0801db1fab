/* SPDX-License-Identifier: MIT */
/* Create threads with a small stack that get no signals. */
#include "session/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *user), void *user)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int ret = pthread_attr_init(&attributes);

	if (ret)
		return -ret;
	if (!ret_thread)
		(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, stack_size);
	/* The new thread inherits the mask: no signal can reach it before it could block them by itself. */
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(ret_thread ? ret_thread : &thread, &attributes, run, user);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return -ret;
}
