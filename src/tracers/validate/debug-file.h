/* SPDX-License-Identifier: MIT */
/* Finds the separate debug file of an ELF file. */
#ifndef SIDE_TRACERS_VALIDATE_DEBUG_FILE_H
#define SIDE_TRACERS_VALIDATE_DEBUG_FILE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>

/* Read the header of a section by its name. Returns false if there is none. */
bool validate_section(
		int fd, const ElfW(Ehdr) * header, const char *name, ElfW(Shdr) * ret_section);

/*
 * Open the debug file in /usr/lib/debug or beside the file, found by build ID or .gnu_debuglink. It
 * must have the same build ID, or the checksum of .gnu_debuglink. Returns a descriptor, or -1 if
 * there is none. Signal-safe; maps a few pages for the duration of the call.
 */
int validate_debug_file(int fd, const char *path, const ElfW(Ehdr) * header);

#endif /* SIDE_TRACERS_VALIDATE_DEBUG_FILE_H */
