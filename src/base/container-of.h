/* SPDX-License-Identifier: MIT */
/* Finds a struct by the address of one of its members. */
#ifndef SIDE_BASE_CONTAINER_OF_H
#define SIDE_BASE_CONTAINER_OF_H

#include <stddef.h>

/* `pointer` is the address of `member` in a `type`. Casts a const away. */
#define container_of(pointer, type, member) \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif /* SIDE_BASE_CONTAINER_OF_H */
