/* SPDX-License-Identifier: MIT */
/* A library without events, made several times. All have their functions at the same offsets. */
#include <pthread.h>
#include <stddef.h>

__attribute__((visibility("default"))) void later_keep(size_t size);
__attribute__((visibility("default"))) void later_run(void);

/* The stack frames are not empty, so that each function has a frame and no call is a jump. */
#define FRAME() __asm__ volatile("" ::: "memory")

__attribute__((noinline)) static void PLUGIN_FUNCTION(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	later_keep(PLUGIN_SIZE);
	pthread_mutex_lock(&mutex);
	FRAME();
	pthread_mutex_unlock(&mutex);
	FRAME();
}

void later_run(void)
{
	PLUGIN_FUNCTION();
	FRAME();
}
