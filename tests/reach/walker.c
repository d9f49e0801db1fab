/* SPDX-License-Identifier: MIT */
/* Forks while a thread is in a callback of dl_iterate_phdr(), which no fork() resets the lock of. */
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define WALKER_CHILD 7

static int ready[2], go[2];
static void *volatile block;

static int walker_wait(struct dl_phdr_info *object, size_t size, void *user)
{
	char byte;

	(void)object;
	(void)size;
	(void)user;
	if (write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
		abort();
	return 1;
}

static void *walker_walk(void *user)
{
	dl_iterate_phdr(walker_wait, NULL);
	return user;
}

static void walker_fork(void)
{
	int status;
	pid_t child = fork();

	block = malloc(100);
	free(block);
	if (!child)
		_exit(WALKER_CHILD);
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
			WEXITSTATUS(status) != WALKER_CHILD)
		abort();
}

int main(void)
{
	pthread_t thread;
	char byte;

	if (pipe(ready) || pipe(go))
		return 1;
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&thread, NULL, walker_walk, NULL) ||
				read(ready[0], &byte, 1) != 1)
			return 2;
		walker_fork();
		if (write(go[1], "", 1) != 1 || pthread_join(thread, NULL))
			return 3;
	}
	return 5;
}
