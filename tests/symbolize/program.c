/* SPDX-License-Identifier: MIT */
/*
 * A program with known functions that fire an event, in the executable, in a library that it loads
 * and unloads, and in children:  program LIBRARY…
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

side_static_event(symbols_here, "symbols", "here", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("number"),
				side_field_pointer("place",
						side_attr_list(side_attr("side.address",
								side_attr_bool(true)))),
				side_field_pointer("plain")));

static __attribute__((noinline)) void known_function(uint32_t number)
{
	side_event(symbols_here,
			side_arg_list(side_arg_u32(number),
					side_arg_pointer((void *)(uintptr_t)known_function),
					side_arg_pointer((void *)(uintptr_t)known_function)));
}

__attribute__((noinline, visibility("default"))) void other_known_function(uint32_t number);
void other_known_function(uint32_t number)
{
	known_function(number);
	side_event(symbols_here,
			side_arg_list(side_arg_u32(number + 1),
					side_arg_pointer((void *)(uintptr_t)other_known_function),
					side_arg_pointer(NULL)));
}

static void call_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*call)(void);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&call = dlsym(library, "library_call");
	if (!call)
		exit(1);
	call();
	dlclose(library);
}

int main(int argc, char **argv)
{
	pid_t child;
	int status;

	other_known_function(10);
	for (int i = 1; i < argc; i++)
		call_library(argv[i]);
	other_known_function(20);
	child = fork();
	if (!child) {
		other_known_function(30);
		_exit(0);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status ? 1 : 0;
}
