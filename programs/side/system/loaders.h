/* SPDX-License-Identifier: MIT */
/*
 * The loaders of this machine that read /etc/ld.so.preload: one for each C library and word size.
 *
 * A loader that cannot load a library of that file prints an error in each program that it starts. So
 * each of them starts a program first, with the library in LD_PRELOAD.
 */
#ifndef PROGRAMS_SIDE_SYSTEM_LOADERS_H
#define PROGRAMS_SIDE_SYSTEM_LOADERS_H

#include "base/error.h"

#include <stddef.h>

#define LOADERS_MAX 32

struct loader {
	char *path;
	const char *program; /* name of a file in side-preload/ that it can execute; NULL: none */
};

struct loaders {
	struct loader list[LOADERS_MAX];
	size_t nr;
};

/* Returns 0, or a negative errno with *error filled in. */
int loaders_find(struct loaders *ret_loaders, struct error *error);
void loaders_free(struct loaders *loaders);

/*
 * Each loader starts a program: with `line` in LD_PRELOAD, or with what /etc/ld.so.preload names
 * (NULL). `directory` is side-preload/. Returns 0 if all programs succeed and none prints anything,
 * or a negative errno.
 */
int loaders_check(const struct loaders *loaders, const char *directory, const char *line,
		struct error *error);

#endif /* PROGRAMS_SIDE_SYSTEM_LOADERS_H */
