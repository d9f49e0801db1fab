/* SPDX-License-Identifier: MIT */
/*
 * Holds one resource of the kind that its argument names until it ends: for
 * test-resources-at-exit.py.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;    /* reachable memory at the end */
static void *volatile dropped; /* the compiler must not remove an allocation */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *do_nothing(void *unused)
{
	return unused;
}

static void *map(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void hold_memory(const char *kind)
{
	void **first;

	if (strcmp(kind, "memory") == 0) {
		dropped = malloc(100);
	} else if (strcmp(kind, "string") == 0) {
		dropped = strdup("text");
	} else if (strcmp(kind, "grown") == 0) {
		dropped = realloc(malloc(10), 5000);
	} else if (strcmp(kind, "chain") == 0) {
		/* Two blocks that only point to each other. */
		first = calloc(1, sizeof(*first));
		*first = calloc(1, sizeof(*first));
		*(void **)*first = first;
		dropped = first;
	} else if (strcmp(kind, "kept") == 0) {
		first = calloc(1, sizeof(*first));
		*first = calloc(1, sizeof(*first));
		kept = first;
	} else if (strcmp(kind, "freed") == 0) {
		dropped = realloc(malloc(10), 5000);
		free(dropped);
	}
}

static void hold_thread(const char *kind)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, do_nothing, NULL))
		abort();
	if (strcmp(kind, "joined") == 0)
		pthread_join(thread, NULL);
	else if (strcmp(kind, "detached") == 0)
		pthread_detach(thread);
}

static void hold_other(const char *kind)
{
	if (strcmp(kind, "mapping") == 0) {
		(void)map();
	} else if (strcmp(kind, "part") == 0) {
		munmap(mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	} else if (strcmp(kind, "unmapped") == 0) {
		munmap(map(), 4096);
	} else if (strcmp(kind, "descriptor") == 0) {
		(void)open("/dev/null", O_RDONLY | O_CLOEXEC);
	} else if (strcmp(kind, "closed") == 0) {
		close(open("/dev/null", O_RDONLY | O_CLOEXEC));
	} else if (strcmp(kind, "lock") == 0) {
		pthread_mutex_lock(&mutex);
	} else if (strcmp(kind, "unlocked") == 0) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	} else if (strcmp(kind, "child") == 0) {
		if (!fork()) {
			dropped = malloc(100);
			exit(0);
		}
		wait(NULL);
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (getenv("LD_PRELOAD"))
		return 2;
	hold_memory(kind);
	if (strcmp(kind, "thread") == 0 || strcmp(kind, "joined") == 0 ||
			strcmp(kind, "detached") == 0)
		hold_thread(kind);
	hold_other(kind);
	dropped = NULL;
	return 0;
}
