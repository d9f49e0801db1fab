/* SPDX-License-Identifier: MIT */
/*
 * The library that is added to each program, as it is installed beside `side`.
 *
 * It runs in programs of all users, so only root may be able to change it, or what it loads.
 */
#ifndef PROGRAMS_SIDE_SYSTEM_INSTALLATION_H
#define PROGRAMS_SIDE_SYSTEM_INSTALLATION_H

#include "base/error.h"

struct installation {
	char *directory; /* side-preload/ */
	char *line;      /* for /etc/ld.so.preload */
};

/* Returns 0, or a negative errno with *error filled in. */
int installation_find(struct installation *ret_installation, struct error *error);
/* The installation that a line of the file names. */
int installation_of_line(const char *line, size_t size, struct installation *ret_installation,
		struct error *error);
void installation_free(struct installation *installation);

/* Refuses files that others can change, and build trees. Returns 0 or a negative errno. */
int installation_check_trust(const struct installation *installation, struct error *error);
/* Each loader loads the library, and the files exist. Returns 0 or a negative errno. */
int installation_check_loads(const struct installation *installation, struct error *error);

#endif /* PROGRAMS_SIDE_SYSTEM_INSTALLATION_H */
