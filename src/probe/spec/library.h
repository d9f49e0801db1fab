/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_SPEC_LIBRARY_H
#define SIDE_PROBE_SPEC_LIBRARY_H

/* Strings, vectors, pointers and the like of standard libraries. */

#include "type.h"

/* Elements behind each other. */
struct sequence {
	struct item first;
	struct fetch count; /* how many there are, or */
	uint64_t fixed;     /* always so many; 0: see `count` */
	bool text;          /* whatever the elements are */
	bool optional;      /* one or none */
	bool lost; /* it is one, but the compiler has not kept all of it at this location */
};

/* False: it is none that is known. */
bool library_sequence(struct item *item, struct sequence *sequence);
/* -ENOENT */
int library_lost(struct resolve_error *error);
/* A pointer of a library becomes the plain one that is in it. */
bool library_pointer(struct item *item);
/* What a pointer of a library leads to, if it is one. */
bool library_pointee(struct item *item, int *ret, struct resolve_error *error);
/* `*item`, if it is something of a library; `*ret` is as that of item_dereference(). */
bool library_dereference(struct item *item, int *ret, struct resolve_error *error);
/* `item.name()` */
int library_method(struct item *item, const char *name, struct resolve_error *error);

#endif /* SIDE_PROBE_SPEC_LIBRARY_H */
