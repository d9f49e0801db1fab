/* SPDX-License-Identifier: MIT */
/* Reads variables of the environment, unless the program runs with AT_SECURE. */
#include "base/environment/environment.h"

#include <stddef.h>

#define ENVIRONMENT_AT_SECURE 23

/*
 * Weak: the preloaded shim is loaded into programs of any C library. Without getauxval() every
 * program counts as AT_SECURE.
 */
extern char **environ __attribute__((weak));
extern unsigned long getauxval(unsigned long type) __attribute__((weak));

enum { ENVIRONMENT_UNKNOWN, ENVIRONMENT_TRUSTED, ENVIRONMENT_SECURE };

static bool environment_is_secure(void)
{
	static int state;
	/*
	 * Relaxed, here and below: each thread stores the same value, and nothing else depends on
	 * it.
	 */
	int known = __atomic_load_n(&state, __ATOMIC_RELAXED);

	if (known == ENVIRONMENT_UNKNOWN) {
		known = &getauxval && !getauxval(ENVIRONMENT_AT_SECURE) ? ENVIRONMENT_TRUSTED
									: ENVIRONMENT_SECURE;
		__atomic_store_n(&state, known, __ATOMIC_RELAXED);
	}
	return known == ENVIRONMENT_SECURE;
}

bool environment_is_ready(void)
{
	return &environ && environ;
}

char *const *environment_inherited(void)
{
	return environment_is_ready() && !environment_is_secure() ? environ : NULL;
}

const char *environment_get(const char *name)
{
	size_t i;

	if (!environment_is_ready() || environment_is_secure())
		return NULL;
	for (char **at = environ; *at; at++) {
		for (i = 0; name[i] && (*at)[i] == name[i]; i++)
			;
		if (!name[i] && (*at)[i] == '=')
			return *at + i + 1;
	}
	return NULL;
}

bool environment_is_on(const char *name)
{
	const char *value = environment_get(name);

	return value && *value && !(value[0] == '0' && !value[1]);
}
