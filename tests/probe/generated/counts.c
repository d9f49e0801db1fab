// SPDX-License-Identifier: MIT
// Counts the entries and returns of functions that are compiled with -finstrument-functions, and writes them when the program exits.
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS 4096
#define DEPTH 65536

struct exceptions {
	void *caught;
	unsigned int uncaught;
};

struct counted {
	void *function;
	unsigned long entries, returns;
};

// A call that has not returned, and the number of exceptions that were thrown before it.
struct called {
	void *function;
	unsigned int uncaught;
};

static struct counted all[FUNCTIONS];
static __thread struct called calls[DEPTH];
static __thread unsigned int depth;

// Of the C++ library, if the program has it.
struct exceptions *__cxa_get_globals(void) __attribute__((weak));
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);
void count_call(void *function);

static struct counted *counted_find(void *function)
{
	for (size_t i = (size_t)function * 0x9e3779b97f4a7c15 >> 52;; i = (i + 1) % FUNCTIONS) {
		void *none = NULL;

		// Orders nothing: each entry is claimed once, and the counts are read when the threads have ended.
		if (__atomic_compare_exchange_n(&all[i].function, &none, function, 0,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
				none == function)
			return &all[i];
	}
}

static unsigned int counted_uncaught(void)
{
	return __cxa_get_globals ? __cxa_get_globals()->uncaught : 0;
}

void __cyg_profile_func_enter(void *function, void *caller)
{
	(void)caller;
	if (depth == DEPTH)
		abort();
	calls[depth++] = (struct called){function, counted_uncaught()};
	// A statistic: orders nothing, read at the end.
	__atomic_add_fetch(&counted_find(function)->entries, 1, __ATOMIC_RELAXED);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)caller;
	// The calls above it were left by longjmp() or by an exception.
	while (depth && calls[--depth].function != function)
		;
	// GCC also calls it when an exception leaves the function.
	if (calls[depth].uncaught != counted_uncaught())
		return;
	// A statistic: orders nothing, read at the end.
	__atomic_add_fetch(&counted_find(function)->returns, 1, __ATOMIC_RELAXED);
}

void count_call(void *function)
{
	__cyg_profile_func_enter(function, NULL);
	__cyg_profile_func_exit(function, NULL);
}

static int counted_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(unsigned long *)data = info->dlpi_addr;
	return 1;
}

// The last of the program's functions that run at exit.
__attribute__((destructor(101))) static void counted_write(void)
{
	const char *path = getenv("COUNTS");
	FILE *file = path ? fopen(path, "we") : NULL;
	unsigned long bias = 0;

	if (!file)
		return;
	dl_iterate_phdr(counted_bias, &bias);
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (all[i].function)
			fprintf(file, "%lx %lu %lu\n", (unsigned long)all[i].function - bias,
					all[i].entries, all[i].returns);
	fclose(file);
}
