/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_WRAP_IMPORTS_H
#define SIDE_TRACERS_WRAP_IMPORTS_H

/*
 * The wrappers of a library, for the agent, which loads it into a program that runs and redirects
 * the imports of the program's objects to them.
 */
#include <stdbool.h>
#include <stddef.h>

struct wrap_import {
	const char *name;
	const char *version; /* of the real function; NULL: any */
	void *wrapper;       /* the function of this library; NULL: WRAP_ATTACH() sets it */
	void *(*next)(void); /* returns the real function, or NULL if the process has none */
	bool spares_definer; /* imports of the object that defines the real function stay */
};

/* Functions and addresses of the agent, for the library. */
struct wrap_agent {
	void *handle; /* of this library */
	/* True if the calling thread runs code of the agent now. Signal-safe. */
	bool (*is_own_thread)(void);
	/* The agent's function of that name, which the program must go on to call; NULL: none. */
	void *(*find)(const char *name);
	/* Addresses in libraries whose calls are not the program's; the last one is NULL. */
	const void *const *tracers;
};

/*
 * Prepares the wrappers of a library, and returns their number. 0: the program calls the wrappers
 * already, because the library was preloaded. Call it where the loader may be called.
 */
typedef size_t wrap_attach_function(
		const struct wrap_agent *given, const struct wrap_import **ret_imports);

/* The names of such functions: with the name of the library behind it, "libc" or "pthread". */
#define WRAP_ATTACH_PREFIX "side_wrap_attach_"

#endif /* SIDE_TRACERS_WRAP_IMPORTS_H */
