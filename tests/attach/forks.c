/* SPDX-License-Identifier: MIT */
/*
 * A program that forks whenever a thread of the agent walks the loaded objects. The walk ends when
 * the child exists, or when the fork waits for it. Each child walks the objects itself, for which
 * it needs the lock that the loader holds during a walk.
 *
 * Prints "ready"; on "end" it prints the number of forks, and how many children did not exit on
 * their own.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_S 20 /* far longer than a child takes, even on a busy machine */

typedef int walk_function(int (*)(struct dl_phdr_info *, size_t, void *), void *);

static atomic_int walks, forked, ends;
static atomic_bool forks;
static pid_t forker;

struct walk {
	int (*callback)(struct dl_phdr_info *, size_t, void *);
	void *user;
	int number;
};

static walk_function *real_walk(void)
{
	void *found = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	walk_function *real;

	memcpy(&real, &found, sizeof(real));
	return real;
}

static char state_of_forker(void)
{
	char path[64], text[512] = "";
	const char *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)forker);
	file = fopen(path, "r");
	if (file) {
		if (!fgets(text, sizeof(text), file))
			*text = 0;
		fclose(file);
	}
	at = strrchr(text, ')');
	return at ? at[2] : 'S';
}

/* Before the first object: the loader's lock is held. */
static int within(struct dl_phdr_info *object, size_t size, void *user)
{
	struct walk *walk = user;

	if (walk->number) {
		int number = walk->number;

		walk->number = 0;
		atomic_store(&walks, number);
		while (atomic_load(&forked) < number &&
				!(atomic_load(&forks) && state_of_forker() == 'S'))
			;
	}
	return walk->callback(object, size, walk->user);
}

static int is_of_agent(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, "libside-agent");
}

__attribute__((visibility("default"))) int dl_iterate_phdr(
		int (*callback)(struct dl_phdr_info *, size_t, void *), void *user)
{
	struct walk walk = {.callback = callback, .user = user};
	walk_function *real = real_walk();

	if ((pid_t)syscall(SYS_gettid) == forker || !forker ||
			!is_of_agent(__builtin_return_address(0)))
		return real(callback, user);
	walk.number = atomic_load(&walks) + 1;
	return real(within, &walk);
}

static int count(struct dl_phdr_info *object, size_t size, void *user)
{
	(void)object;
	(void)size;
	++*(int *)user;
	return 0;
}

static void *fork_in_walks(void *unused)
{
	long bad = 0;

	forker = (pid_t)syscall(SYS_gettid);
	puts("ready");
	fflush(stdout);
	while (!atomic_load(&ends)) {
		int number = atomic_load(&walks), status = 0, objects = 0;
		pid_t child;

		if (number == atomic_load(&forked)) {
			usleep(200);
			continue;
		}
		atomic_store(&forks, true);
		child = fork();
		if (!child) {
			alarm(CHILD_S);
			real_walk()(count, &objects);
			_exit(objects ? 0 : 1);
		}
		atomic_store(&forks, false);
		atomic_store(&forked, number);
		waitpid(child, &status, 0);
		bad += status != 0;
	}
	printf("forks %d %ld\n", atomic_load(&forked), bad);
	fflush(stdout);
	return unused;
}

int main(void)
{
	pthread_t thread;
	char line[16];

	if (pthread_create(&thread, NULL, fork_in_walks, NULL))
		return 9;
	if (!fgets(line, sizeof(line), stdin))
		return 9;
	atomic_store(&ends, 1);
	pthread_join(thread, NULL);
	return 0;
}
