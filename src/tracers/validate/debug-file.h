/* SPDX-License-Identifier: MIT */
/* Where the debug information of a file is that has none itself. */
#ifndef SIDE_TRACERS_VALIDATE_DEBUG_FILE_H
#define SIDE_TRACERS_VALIDATE_DEBUG_FILE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>

/* One section of an ELF file. */
bool validate_section(int fd, const ElfW(Ehdr) * header, const char *name, ElfW(Shdr) * section);

/*
 * A descriptor of the file in /usr/lib/debug, or beside it, that its build ID or its .gnu_debuglink leads to, and that has the same
 * build ID, or the checksum that stands there; -1: there is none. Signal-safe, allocates nothing but
 * pages for a moment.
 */
int validate_debug_file(int fd, const char *path, const ElfW(Ehdr) * header);

#endif /* SIDE_TRACERS_VALIDATE_DEBUG_FILE_H */
