// SPDX-License-Identifier: MIT
/*
 * A preloaded library that writes a line to the file $MAINED when main() of the program starts, and when it returns.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int main_function(int argc, char **argv, char **envp);
typedef int start_function(main_function *main, int argc, char **argv, void (*init)(void),
		void (*fini)(void), void (*loader_fini)(void), void *stack_end);

static main_function *mained_main;
static int mained_fd = -1;

static void mained_write(const char *line)
{
	if (write(mained_fd, line, strlen(line)) < 0)
		abort();
}

static int mained_run(int argc, char **argv, char **envp)
{
	int ret;

	mained_write("entry\n");
	ret = mained_main(argc, argv, envp);
	mained_write("exit\n");
	return ret;
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
		void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
	start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");

	mained_main = main;
	mained_fd = open(getenv("MAINED"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	/* Programs that this one starts are not counted. */
	unsetenv("LD_PRELOAD");
	return start(mained_run, argc, argv, init, fini, loader_fini, stack_end);
}
