/* SPDX-License-Identifier: MIT */
/* Finds the allocator of a process in the files that it has mapped. */
#include "programs/side/answers/allocator.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "elf/image.h"
#include "programs/side/answers/link-order.h"

#define ALLOCATOR_CANDIDATES_MAX 16

/*
 * Only calls that allocate record a stack, which names the owner of a block. A free, even a second
 * one, records only its caller: in a process that serves requests, stacks of frees cost as much as
 * all other records. The block of posix_memalign() is not in a register.
 */
#define STACK "--arg", "$backtrace"
/* clang-format off */
const struct allocator_function allocator_functions[ALLOCATOR_FUNCTIONS] = {
	{ "malloc", { "--arg", "u64:size:%rdi", STACK, "--exit" } },
	{ "free", { "--arg", "pointer:ptr:%rdi", "--arg", "x64:caller:%rsp+0" } },
	{ "calloc", { "--arg", "u64:count:%rdi", "--arg", "u64:size:%rsi", STACK, "--exit" } },
	{ "realloc", { "--arg", "pointer:ptr:%rdi", "--arg", "u64:size:%rsi", STACK, "--exit" } },
	{ "reallocarray", { "--arg", "pointer:ptr:%rdi", "--arg", "u64:count:%rsi", STACK, "--exit" } },
	{ "posix_memalign", { "--arg", "u64:size:%rdx", STACK, "--exit" } },
	{ "aligned_alloc", { "--arg", "u64:size:%rsi", STACK, "--exit" } },
	{ "memalign", { "--arg", "u64:size:%rsi", STACK, "--exit" } },
	{ "valloc", { "--arg", "u64:size:%rdi", STACK, "--exit" } },
	{ "pvalloc", { "--arg", "u64:size:%rdi", STACK, "--exit" } },
};
/* clang-format on */

/* ---- one file ---- */

/* The names of one function have the same address: only the first of them is probed. */
static void allocator_read_functions(struct image *image, struct allocator *allocator)
{
	struct image_symbol symbols[ALLOCATOR_FUNCTIONS] = {{0}};

	for (size_t i = 0; i < ALLOCATOR_FUNCTIONS; i++) {
		const char *name = allocator_functions[i].name;

		allocator->has[i] = image_find_symbol(image, name, false, &symbols[i]);
		for (size_t other = 0; other < i; other++)
			if (allocator->has[other] && symbols[other].address == symbols[i].address)
				allocator->has[i] = false;
	}
}

static struct image *allocator_open(const char *path, int *ret_fd)
{
	struct image *image = NULL;
	struct error error;

	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_fd >= 0 && image_open(*ret_fd, false, &image, &error))
		image = NULL;
	return image;
}

static void allocator_close(struct image *image, int fd)
{
	if (image)
		image_close(image);
	if (fd >= 0)
		close(fd);
}

/* True if the file has a malloc() that other files can call. `library`: "" for the executable. */
static bool allocator_take(struct image *image, const char *library, struct allocator *allocator)
{
	struct image_symbol symbol;

	/* The dynamic linker's own malloc() and side's wrappers lead to another one. */
	if (strncmp(library, "ld-linux", 8) == 0 || strncmp(library, "libside-", 8) == 0)
		return false;
	if (!image_find_symbol(image, "malloc", false, &symbol))
		return false;
	snprintf(allocator->library, sizeof(allocator->library), "%s", library);
	allocator_read_functions(image, allocator);
	return true;
}

static const char *allocator_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- a process ---- */

static bool allocator_search_path(
		const char *path, const char *library, struct allocator *allocator)
{
	int fd;
	struct image *image = allocator_open(path, &fd);
	bool found = image && allocator_take(image, library, allocator);

	allocator_close(image, fd);
	return found;
}

/* Files with malloc(), and where they are mapped, from their code on. */
struct allocator_candidates {
	struct allocator_candidate {
		struct allocator allocator;
		uint64_t begin, end;
	} items[ALLOCATOR_CANDIDATES_MAX];
	size_t count;
	size_t found; /* the first in the order of the dynamic linker */
};

/* Reads the lines of /proc/PID/maps. The order of the files is not known here. */
static void allocator_read_maps(FILE *maps, pid_t pid, struct allocator_candidates *candidates)
{
	char line[PATH_MAX + 128], mode[8], path[PATH_MAX + 64], last[PATH_MAX + 128] = "";
	struct allocator_candidate *new;
	uint64_t begin, end;
	int at;

	while (fgets(line, sizeof(line), maps) && candidates->count < ALLOCATOR_CANDIDATES_MAX) {
		at = 0;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &begin, &end, mode,
				    &at) < 3 ||
				!at || line[at] != '/')
			continue;
		if (candidates->count && strcmp(line + at, last) == 0)
			candidates->items[candidates->count - 1].end = end;
		if (mode[2] != 'x')
			continue;
		new = &candidates->items[candidates->count];
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, line + at);
		if (!allocator_search_path(path, allocator_base(line + at), &new->allocator))
			continue;
		new->begin = begin;
		new->end = end;
		candidates->count++;
		snprintf(last, sizeof(last), "%s", line + at);
	}
}

static bool allocator_visit(void *user, uint64_t dynamic_section)
{
	struct allocator_candidates *candidates = user;

	for (size_t i = 0; i < candidates->count; i++) {
		candidates->found = i;
		if (candidates->items[i].begin <= dynamic_section &&
				dynamic_section < candidates->items[i].end)
			return true;
	}
	return false;
}

/*
 * The dynamic linker takes the first malloc() in its order. If that cannot be read: an allocator
 * other than libc's precedes libc.
 */
static bool allocator_choose(pid_t pid, struct allocator_candidates *candidates)
{
	if (candidates->count < 2 || link_order_visit(pid, allocator_visit, candidates))
		return candidates->count != 0;
	candidates->found = 0;
	for (size_t i = 1; i < candidates->count; i++)
		if (strncmp(candidates->items[i].allocator.library, "libc.", 5) != 0)
			candidates->found = i;
	return true;
}

bool allocator_of_process(pid_t pid, struct allocator *ret_allocator)
{
	struct allocator_candidates candidates = {.count = 0};
	char path[64];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (allocator_search_path(path, "", ret_allocator))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	allocator_read_maps(maps, pid, &candidates);
	fclose(maps);
	if (!allocator_choose(pid, &candidates))
		return false;
	*ret_allocator = candidates.items[candidates.found].allocator;
	return true;
}
