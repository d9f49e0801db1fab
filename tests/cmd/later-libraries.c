/* SPDX-License-Identifier: MIT */
/*
 * Loads plugins with dlopen() and calls them, 5 times each.
 *
 * usage: later-libraries keep|close|wait PLUGIN...
 *
 * `close` unloads each plugin before it loads the next one, in 4 rounds. It prints how often a plugin
 * had the address of the one before. `wait` allocates a block for each line of standard input, until
 * the input ends. At the line "load", it loads the plugins.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 5
#define ROUNDS 4

__attribute__((visibility("default"))) void later_keep(size_t size);

static void *volatile kept;
static void (*last)(void);
static int nr_reused;

/* The plugins call this function, which leaks the block. */
void later_keep(size_t size)
{
	kept = malloc(size);
	if (!kept)
		abort();
}

static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void *function = library ? dlsym(library, "later_run") : NULL;
	void (*run)(void);

	if (!function) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	memcpy(&run, &function, sizeof(run));
	for (int i = 0; i < CALLS; i++)
		run();
	nr_reused += run == last;
	last = run;
	return library;
}

static void load_all(char **paths, int nr, int closes)
{
	for (int i = 0; i < nr; i++) {
		void *library = load(paths[i]);

		if (closes)
			dlclose(library);
	}
}

static void wait_for_load(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin) && strcmp(line, "load\n") != 0) {
		later_keep(1);
		printf("done\n");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	int closes = argc > 1 && !strcmp(argv[1], "close");
	int waits = argc > 1 && !strcmp(argv[1], "wait");

	if (argc < 3)
		return 2;
	if (waits)
		wait_for_load();
	for (int i = 0; i < (closes ? ROUNDS : 1); i++)
		load_all(argv + 2, argc - 2, closes);
	printf("%d\n", nr_reused);
	fflush(stdout);
	if (waits)
		wait_for_load();
	return 7;
}
