/* SPDX-License-Identifier: MIT */
/*
 * Reads the table of libside-kernel.so in another process: finds the mapping of the library and its
 * symbol, then reads the memory. The process may have written anything, so sizes are bounded, texts
 * are terminated here, and a read of a bad address fails.
 */
#include "kernel-table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "elf/image.h"

#define LIBRARY "/libside-kernel.so"
#define BLOCKS_MAX 4096

static int kernel_table_read_memory(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {.iov_len = size};
	ssize_t got;

	memcpy(&remote.iov_base, &(uintptr_t){(uintptr_t)address}, sizeof(void *));
	got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	if (got < 0)
		return -errno;
	return got == (ssize_t)size ? 0 : -EFAULT;
}

/*
 * Finds the mapping of the first page, and a path that leads to the file in the process's root
 * directory.
 */
static int kernel_table_find_library(pid_t pid, uint64_t *ret_begin, char *path, size_t capacity)
{
	char maps_path[64], *line = NULL;
	size_t line_capacity = 0;
	int ret = -ENOENT;
	FILE *maps;

	(void)snprintf(maps_path, sizeof(maps_path), "/proc/%ld/maps", (long)pid);
	maps = fopen(maps_path, "re");
	if (!maps)
		return -errno;
	while (ret && getline(&line, &line_capacity, maps) > 0) {
		const char *file = strchr(line, '/');
		uint64_t offset;

		if (!file || !strstr(file, LIBRARY) ||
				sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64, ret_begin, &offset) !=
						2 ||
				offset)
			continue;
		(void)snprintf(path, capacity, "/proc/%ld/root%.*s", (long)pid,
				(int)strcspn(file, "\n"), file);
		ret = 0;
	}
	free(line);
	(void)fclose(maps);
	return ret;
}

static int kernel_table_find(pid_t pid, uint64_t *ret_address)
{
	struct error error;
	struct image_symbol symbol;
	struct image *image;
	char path[4200];
	uint64_t begin = 0;
	int fd, ret = kernel_table_find_library(pid, &begin, path, sizeof(path));

	if (ret)
		return ret;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (image_open(fd, false, &image, &error)) {
		(void)close(fd);
		return -EPROTO;
	}
	if (image_find_symbol(image, "side_kernel_table_0", false, &symbol))
		*ret_address = begin + symbol.address;
	else
		ret = -EPROTO;
	image_close(image);
	(void)close(fd);
	return ret;
}

static int kernel_table_read_block(
		pid_t pid, uint64_t block, size_t step, const struct kernel_table_reader *reader)
{
	struct side_kernel_event_0 event;
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < SIDE_KERNEL_TABLE_EVENTS; i++) {
		ret = kernel_table_read_memory(pid, block + 8 + i * step, &event, sizeof(event));
		if (ret || event.state == SIDE_KERNEL_EVENT_FREE)
			continue;
		event.name[sizeof(event.name) - 1] = '\0';
		event.tracepoint[sizeof(event.tracepoint) - 1] = '\0';
		event.reason[sizeof(event.reason) - 1] = '\0';
		reader->event(reader->user, pid, &event);
	}
	return ret;
}

int kernel_table_read(pid_t pid, const struct kernel_table_reader *reader)
{
	struct side_kernel_table_0 table;
	uint64_t address = 0, block;
	unsigned int blocks = 0;
	int ret = kernel_table_find(pid, &address);

	if (!ret)
		ret = kernel_table_read_memory(pid, address, &table, sizeof(table));
	if (ret)
		return ret;
	if (table.size < sizeof(table) || table.event_size < sizeof(struct side_kernel_event_0) ||
			table.event_size > 65536)
		return -EPROTO;
	table.problem[sizeof(table.problem) - 1] = '\0';
	if (*table.problem) {
		/* The second line, if there is one, is a hint. */
		char *hint = strchr(table.problem, '\n');

		if (hint)
			*hint++ = '\0';
		reader->problem(reader->user, pid, table.problem, hint ? hint : "");
	}
	for (block = table.first; !ret && block && blocks < BLOCKS_MAX; blocks++) {
		ret = kernel_table_read_block(pid, block, table.event_size, reader);
		if (!ret)
			ret = kernel_table_read_memory(pid, block, &block, sizeof(block));
	}
	return ret;
}
