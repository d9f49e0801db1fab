/* SPDX-License-Identifier: MIT */
/* End the test at the first condition that is not true. */
#ifndef TESTS_VISIT_CHECK_H
#define TESTS_VISIT_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                          \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

#endif /* TESTS_VISIT_CHECK_H */
