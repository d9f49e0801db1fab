/* SPDX-License-Identifier: MIT */
/*
 * A program without an unwinder until it loads libraries: their exceptions leave its callbacks, and
 * their unwinder walks through its callers.
 */
#include <dlfcn.h>
#include <stdio.h>

#define NI __attribute__((noinline))

static int (*thrower)(int);
static volatile int sink;

NI int callback(int x)
{
	volatile int y = thrower(x);

	return y + 1;
}

NI int tail(int x)
{
	sink++;
	return callback(x);
}

NI int outer(void *plugin, int (*function)(int))
{
	int (*run_with)(int (*)(int));
	volatile int result;

	*(void **)&thrower = dlsym(plugin, "thrower");
	*(void **)&run_with = dlsym(plugin, "run_with");
	result = run_with(function);
	return result;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);

		if (!plugin)
			return 3;
		printf("%d %d\n", outer(plugin, callback), outer(plugin, tail));
	}
	return 0;
}
