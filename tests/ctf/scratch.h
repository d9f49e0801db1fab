/* SPDX-License-Identifier: MIT */
/* A directory for one test, and files in it. */
#ifndef TESTS_CTF_SCRATCH_H
#define TESTS_CTF_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline int scratch_remove(
		const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void scratch_delete(const char *dir)
{
	nftw(dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes an empty directory; dir has space for 64 bytes. */
static inline void scratch_make(char *dir)
{
	strcpy(dir, "/tmp/side-test-XXXXXX");
	if (!mkdtemp(dir)) {
		perror("mkdtemp");
		exit(99);
	}
}

static inline void scratch_write(const char *dir, const char *name, const void *bytes, size_t size)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	if (!file || (size && fwrite(bytes, 1, size, file) != size) || fclose(file)) {
		perror(path);
		exit(99);
	}
}

/* Returns the whole file in memory from malloc(), with a NUL after it. */
static inline unsigned char *scratch_read(const char *dir, const char *name, size_t *size)
{
	unsigned char *bytes;
	char path[256];
	struct stat stat;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	if (!file || fstat(fileno(file), &stat)) {
		perror(path);
		exit(99);
	}
	bytes = calloc(1, (size_t)stat.st_size + 1);
	*size = fread(bytes, 1, (size_t)stat.st_size, file);
	fclose(file);
	return bytes;
}

#endif /* TESTS_CTF_SCRATCH_H */
