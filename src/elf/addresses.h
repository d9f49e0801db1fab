/* SPDX-License-Identifier: MIT */
/* A set of addresses. */
#ifndef SIDE_ELF_ADDRESSES_H
#define SIDE_ELF_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialize it with zeros. */
struct addresses {
	uint64_t *slots; /* open addressing; 0: free */
	size_t nr, capacity;
};

/* Address 0 is never in a set. */
bool addresses_has(const struct addresses *set, uint64_t address);

/* 1: added; 0: already in the set (or address is 0); -ENOMEM. */
int addresses_add(struct addresses *set, uint64_t address);

void addresses_free(struct addresses *set);

#endif /* SIDE_ELF_ADDRESSES_H */
