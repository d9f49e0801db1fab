/* SPDX-License-Identifier: MIT */
/*
 * Reads the list of loaded files that the dynamic linker keeps for debuggers.
 *
 * The auxiliary vector leads to the program headers of the executable, these to its dynamic
 * section, and that to the list. All of it is memory of another process: each step is bounded.
 */
#include "programs/side/answers/link-order.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINK_ORDER_HEADERS_MAX 64
#define LINK_ORDER_TAGS_MAX 256

static bool link_order_read(pid_t pid, uint64_t from, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {
			.iov_base = (void *)(uintptr_t)from, // NOLINT(performance-no-int-to-ptr)
			.iov_len = size};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* The address and the number of the executable's program headers. */
static bool link_order_find_headers(pid_t pid, uint64_t *ret_headers, uint64_t *ret_nr)
{
	ElfW(auxv_t) vector[64];
	char path[64];
	ssize_t size;
	int fd;

	*ret_headers = *ret_nr = 0;
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd >= 0 ? read(fd, vector, sizeof(vector)) : -1;
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; size > 0 && i < (size_t)size / sizeof(vector[0]); i++) {
		if (vector[i].a_type == AT_PHDR)
			*ret_headers = vector[i].a_un.a_val;
		if (vector[i].a_type == AT_PHNUM)
			*ret_nr = vector[i].a_un.a_val;
	}
	return *ret_headers && *ret_nr && *ret_nr <= LINK_ORDER_HEADERS_MAX;
}

/* The address of the executable's dynamic section; 0: it is linked statically, or unreadable. */
static uint64_t link_order_find_dynamic(pid_t pid)
{
	ElfW(Phdr) headers[LINK_ORDER_HEADERS_MAX];
	uint64_t address, nr, base = 0, dynamic = 0;

	if (!link_order_find_headers(pid, &address, &nr) ||
			!link_order_read(pid, address, headers, nr * sizeof(headers[0])))
		return 0;
	for (uint64_t i = 0; i < nr; i++) {
		if (headers[i].p_type == PT_PHDR)
			base = address - headers[i].p_vaddr;
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = headers[i].p_vaddr;
	}
	return dynamic ? base + dynamic : 0;
}

/* The first entry of the list; 0: there is none. */
static uint64_t link_order_find_list(pid_t pid)
{
	uint64_t address = link_order_find_dynamic(pid);
	struct r_debug debug;
	ElfW(Dyn) tag;

	for (unsigned int i = 0; address && i < LINK_ORDER_TAGS_MAX; i++) {
		if (!link_order_read(pid, address + i * sizeof(tag), &tag, sizeof(tag)) ||
				tag.d_tag == DT_NULL)
			return 0;
		if (tag.d_tag == DT_DEBUG)
			return link_order_read(pid, tag.d_un.d_ptr, &debug, sizeof(debug))
					? (uintptr_t)debug.r_map
					: 0;
	}
	return 0;
}

bool link_order_visit(pid_t pid, bool (*visit)(void *user, uint64_t dynamic_section), void *user)
{
	uint64_t entry = link_order_find_list(pid);
	struct link_map file;

	for (unsigned int i = 0; entry && i < LINK_ORDER_FILES_MAX; i++) {
		if (!link_order_read(pid, entry, &file, sizeof(file)))
			return false;
		if (visit(user, (uintptr_t)file.l_ld))
			return true;
		entry = (uintptr_t)file.l_next;
	}
	return false;
}
