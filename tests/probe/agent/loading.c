/* SPDX-License-Identifier: MIT */
/*
 * Loads a library, calls a function of it, and unloads it, many times; another mapping replaces the
 * library in between.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int use(const char *path, int number)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*work)(int), result;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&work = dlsym(library, "library_work");
	result = work(number);
	dlclose(library);
	return result;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 3;

	for (int i = 0; i < rounds; i++) {
		void *other;

		if (use(argv[1], i) != i * 2)
			return 1;
		other = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);
		memset(other, 0x55, 1 << 16);
		if (i % 2)
			munmap(other, 1 << 16);
	}
	return 0;
}
