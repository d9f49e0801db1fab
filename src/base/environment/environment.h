/* SPDX-License-Identifier: MIT */
/*
 * The environment of a program, for every library that gets into programs.
 *
 * A program with more privileges than its caller (AT_SECURE: set-user-ID, set-group-ID, file
 * capabilities) has an environment that its caller wrote. For such a program every variable is
 * unset. No other file of these libraries reads the environment: tests/environment checks the
 * symbols that each object file imports.
 */
#ifndef SIDE_BASE_ENVIRONMENT_ENVIRONMENT_H
#define SIDE_BASE_ENVIRONMENT_ENVIRONMENT_H

#include <stdbool.h>

/*
 * The value of the variable, or NULL if it is not set or the program runs with AT_SECURE. The value
 * can be empty.
 *
 * Async-signal-safe, keeps errno, uses general-purpose registers only. Calls neither getenv(),
 * which some programs define themselves (bash), nor any function of the C library but getauxval(),
 * and that one once.
 */
const char *environment_get(const char *name);

/*
 * All variables, as a program that this one starts inherits them. NULL if environment_get() would
 * find none.
 */
char *const *environment_inherited(void);

/* The variable is set, not empty, and not "0". */
bool environment_is_on(const char *name);

/*
 * False before the C library knows the environment, as in the first constructors of libraries with
 * musl.
 */
bool environment_is_ready(void);

/*
 * The program has an interpreter, the dynamic loader; false for static programs. In libside.a only
 * (interpreter.c).
 */
bool environment_has_interpreter(void);

#endif /* SIDE_BASE_ENVIRONMENT_ENVIRONMENT_H */
