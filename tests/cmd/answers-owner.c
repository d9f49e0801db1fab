/* SPDX-License-Identifier: MIT */
/* A library that frees in its destructor what it allocated in its constructor. */
#include <stdlib.h>

#define OWNED 50

extern int owner_count(void);
static void *volatile owned[OWNED];

static __attribute__((constructor)) void owner_begins(void)
{
	for (int i = 0; i < OWNED; i++)
		owned[i] = malloc(100);
}

static __attribute__((destructor)) void owner_ends(void)
{
	for (int i = 0; i < OWNED; i++)
		free(owned[i]);
}

int owner_count(void)
{
	return OWNED;
}
