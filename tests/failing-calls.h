/* SPDX-License-Identifier: MIT */
/*
 * Makes one call of the C library fail: the test arms a number, and the call with that number fails
 * with an error of its function.
 *
 * A test includes this header once and is linked with FAILING_CALLS of tests/meson.build
 * (-Wl,--wrap=NAME). Calls from statically linked objects are counted, calls from shared libraries
 * are not.
 */
#ifndef TESTS_FAILING_CALLS_H
#define TESTS_FAILING_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Volatile: a compiler that calls malloc() assumes that it changes no variable of this file. */
static volatile unsigned int failing_call; /* the number of the call that fails; 0: none */
static volatile unsigned int failing_seen; /* calls since it was armed */
static const char *volatile failing_name;  /* the function that failed; NULL: none yet */
static unsigned int failing_interrupts;    /* as many reads as these end with EINTR first */

static inline void failing_arm(unsigned int number)
{
	failing_call = number;
	failing_seen = 0;
	failing_name = NULL;
}

/* Whether a call has failed since it was armed. No later call fails. */
static inline bool failing_has_failed(void)
{
	failing_call = 0;
	return failing_name != NULL;
}

static inline bool failing_is_due(const char *name, int error)
{
	if (!failing_call)
		return false;
	failing_seen++;
	if (failing_seen != failing_call)
		return false;
	failing_name = name;
	errno = error;
	return true;
}

#define FAILING_DECLARE(type, name, ...) \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

FAILING_DECLARE(void *, malloc, size_t size);
FAILING_DECLARE(void *, calloc, size_t count, size_t size);
FAILING_DECLARE(void *, realloc, void *old, size_t size);
FAILING_DECLARE(void *, reallocarray, void *old, size_t count, size_t size);
FAILING_DECLARE(char *, strdup, const char *text);
FAILING_DECLARE(char *, strndup, const char *text, size_t size);
int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap___asprintf_chk(char **text, int flag, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
FAILING_DECLARE(ssize_t, pread64, int fd, void *to, size_t size, int64_t offset);
FAILING_DECLARE(int, fstat64, int fd, struct stat *status);

void *__wrap_malloc(size_t size)
{
	return failing_is_due("malloc", ENOMEM) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return failing_is_due("calloc", ENOMEM) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return failing_is_due("realloc", ENOMEM) ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return failing_is_due("reallocarray", ENOMEM) ? NULL
						      : __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *text)
{
	return failing_is_due("strdup", ENOMEM) ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
	return failing_is_due("strndup", ENOMEM) ? NULL : __real_strndup(text, size);
}

static inline __attribute__((format(printf, 2, 0))) int failing_print(
		char **text, const char *format, va_list arguments)
{
	return failing_is_due("asprintf", ENOMEM) ? -1 : vasprintf(text, format, arguments);
}

int __wrap_asprintf(char **text, const char *format, ...)
{
	va_list arguments;
	int ret;

	va_start(arguments, format);
	ret = failing_print(text, format, arguments);
	va_end(arguments);
	return ret;
}

int __wrap___asprintf_chk(char **text, int flag, const char *format, ...)
{
	va_list arguments;
	int ret;

	(void)flag;
	va_start(arguments, format);
	ret = failing_print(text, format, arguments);
	va_end(arguments);
	return ret;
}

ssize_t __wrap_pread64(int fd, void *to, size_t size, int64_t offset)
{
	if (failing_interrupts) {
		failing_interrupts--;
		errno = EINTR;
		return -1;
	}
	return failing_is_due("pread", EIO) ? -1 : __real_pread64(fd, to, size, offset);
}

int __wrap_fstat64(int fd, struct stat *status)
{
	return failing_is_due("fstat", EIO) ? -1 : __real_fstat64(fd, status);
}

#endif /* TESTS_FAILING_CALLS_H */
