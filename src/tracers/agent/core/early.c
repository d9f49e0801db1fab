/* SPDX-License-Identifier: MIT */
/*
 * Starts the agent before the constructors of libraries that the program needs, and before
 * functions in `.preinit_array`.
 *
 * A library of its own, which `side trace -c` preloads. It is linked with `-z initfirst`: the loader
 * runs its constructor first. No other code has run by then, except functions that the loader calls
 * to choose others (IFUNC). The C library does not know the environment yet. Nothing may call
 * dlopen(), which would run the constructor of the C library without the arguments of main().
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* With more variables, the agent starts in its own constructor. They are copied to the stack. */
#define EARLY_VARIABLES_MAX 4096

/* Weak: nothing happens if the loader has refused the agent, or with another C library. */
extern void side_agent_start(void) __attribute__((weak));
extern char **environ __attribute__((weak));

/*
 * Defined in programs with any sanitizer. It replaces functions of the C library, which must not be
 * called before it has begun.
 */
extern void __sanitizer_set_report_path(const char *path) __attribute__((weak));

static bool early_is_possible(void)
{
	/* If another library is the first one, the C library knows the environment already. */
	return &side_agent_start && &environ && !environ && !&__sanitizer_set_report_path;
}

/* With glibc, constructors have the arguments of main(). */
static __attribute__((constructor)) void early_loaded(int argc, char **argv, char **variables)
{
	char *lent[EARLY_VARIABLES_MAX + 1];
	size_t nr = 0;

	(void)argc;
	(void)argv;
	if (!early_is_possible())
		return;
	while (nr < EARLY_VARIABLES_MAX && variables[nr])
		nr++;
	if (variables[nr])
		return;
	memcpy(lent, variables, (nr + 1) * sizeof(*lent));
	environ = lent;
	side_agent_start();
	/* The C library sets it in its own constructor. */
	environ = NULL;
}
