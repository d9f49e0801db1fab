/* SPDX-License-Identifier: MIT */
/*
 * Finds why a command may never load the agent: the loader preloads nothing into programs that are
 * statically linked, that run with more rights than their caller, or that have another word size.
 * The recorder checks this before the start, because the file may be removed later, and reports it
 * only if no agent connected.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "recorder/core/session.h"

const char session_rights_reason[] =
		"runs with more rights than its caller (set-user-ID, set-group-ID or file capabilities), so the loader does not preload the agent\nrun it as the user whose rights it gains";
const char session_static_reason[] =
		"is statically linked, so the agent cannot be preloaded into it";

/* True if the headers of a 64- or 32-bit program name an interpreter, that is, the loader. */
static bool has_loader(int fd, const unsigned char ident[EI_NIDENT])
{
	union {
		Elf64_Ehdr of64;
		Elf32_Ehdr of32;
	} head;
	uint64_t offset;
	unsigned int nr, size, i;

	if (pread(fd, &head, sizeof(head), 0) < (ssize_t)sizeof(head.of32))
		return true;
	if (ident[EI_CLASS] == ELFCLASS64) {
		offset = head.of64.e_phoff;
		nr = head.of64.e_phnum;
		size = head.of64.e_phentsize;
	} else {
		offset = head.of32.e_phoff;
		nr = head.of32.e_phnum;
		size = head.of32.e_phentsize;
	}
	for (i = 0; i < nr; i++) {
		uint32_t type;

		if (pread(fd, &type, sizeof(type), (off_t)(offset + (uint64_t)i * size)) !=
				(ssize_t)sizeof(type))
			return true;
		if (type == PT_INTERP)
			return true;
	}
	return false;
}

static bool gains_rights(int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return false;
	if ((status.st_mode & S_ISUID) && status.st_uid != getuid())
		return true;
	if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getgid())
		return true;
	return getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static const char *why_never(int fd)
{
	unsigned char ident[EI_NIDENT];

	if (pread(fd, ident, sizeof(ident), 0) != sizeof(ident) ||
			memcmp(ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	if (gains_rights(fd))
		return session_rights_reason;
	if (ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		return "has another word size (32 or 64 bits) than the installed agent";
	if (!has_loader(fd, ident))
		return session_static_reason;
	return NULL;
}

/* True if the program of this word size names musl's loader, or is for another processor. */
static bool is_of_other_system(int fd)
{
	ElfW(Ehdr) head, own;
	ElfW(Phdr) part;
	char loader[PATH_MAX];
	const char *base;
	ssize_t size;
	int self;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
			memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size = self < 0 ? -1 : pread(self, &own, sizeof(own), 0);
	if (self >= 0)
		close(self);
	if (size == sizeof(own) && own.e_machine != head.e_machine)
		return true;
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		if (pread(fd, &part, sizeof(part),
				    (off_t)(head.e_phoff + (uint64_t)i * head.e_phentsize)) !=
				sizeof(part))
			return false;
		if (part.p_type != PT_INTERP)
			continue;
		size = pread(fd, loader, sizeof(loader) - 1, (off_t)part.p_offset);
		loader[size < 0 ? 0 : size] = '\0';
		base = strrchr(loader, '/');
		return base && strncmp(base, "/ld-musl", strlen("/ld-musl")) == 0;
	}
	return false;
}

static int command_open(const char *name, char path[PATH_MAX])
{
	if (session_program(name, path) < 0)
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool session_is_foreign(const char *name)
{
	char path[PATH_MAX];
	int fd = command_open(name, path);
	bool is_foreign;

	if (fd < 0)
		return false;
	is_foreign = why_never(fd) || is_of_other_system(fd);
	close(fd);
	return is_foreign;
}

char *session_never_meets(const char *name)
{
	char path[PATH_MAX];
	const char *why;
	char *sentence;
	int fd = command_open(name, path);

	if (fd < 0)
		return NULL;
	why = why_never(fd);
	close(fd);
	if (!why || asprintf(&sentence, "%s %s", path, why) < 0)
		return NULL;
	return sentence;
}
