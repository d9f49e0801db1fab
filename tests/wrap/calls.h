/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the parts of the program wrap-calls share. expect() writes one JSON object a
 * line to descriptor 3: the event that the wrapper of the previous call must emit. It uses a raw
 * system call, which no wrapper sees.
 */
#ifndef TESTS_WRAP_CALLS_H
#define TESTS_WRAP_CALLS_H

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2))) static inline void expect(const char *format, ...)
{
	char line[1024];
	va_list list;
	int size;

	va_start(list, format);
	size = vsnprintf(line, sizeof(line) - 1, format, list);
	va_end(list);
	line[size++] = '\n';
	if (syscall(SYS_write, 3, line, size) != size)
		_exit(99);
}

/*
 * Not that of check.h: prints errno of the wrapped call, and ends by one system call, which no
 * wrapper records.
 */
#define CHECK(condition)                                                                         \
	do {                                                                                     \
		if (!(condition)) {                                                              \
			fprintf(stderr, "%s:%d: %s, errno %d\n", __FILE__, __LINE__, #condition, \
					errno);                                                  \
			_exit(98);                                                               \
		}                                                                                \
	} while (0)

#define P(pointer) ((uint64_t)(uintptr_t)(pointer))

/* Calls functions of files, sockets, pipes and waits for descriptors that files() does not call. */
void descriptors(const char *directory);

/*
 * Calls functions of locks, condition variables, threads and semaphores that locks() does not call.
 */
void waits(void);

#endif
