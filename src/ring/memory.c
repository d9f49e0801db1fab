/* SPDX-License-Identifier: MIT */
/*
 * The geometry, layout and mapping of ring memory; create.c creates it.
 *
 * Each end maps the control part, and then the data of every ring twice in a row, inside one
 * reserved range of addresses. The seals guarantee that no page can disappear under a reader (no
 * SIGBUS); for memory in a file see truncated.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/clock.h"
#include "ring/layout.h"

static const char *const ring_loss_names[RING_LOSS_REASONS] = {
		[RING_LOST_FULL] = "ring full",
		[RING_LOST_TOO_BIG] = "too big",
		[RING_LOST_INVALID] = "invalid arguments",
		[RING_LOST_NO_BUFFER] = "no buffer",
		[RING_LOST_BUSY] = "ring busy",
		[RING_LOST_NO_RING] = "no ring",
		[RING_LOST_NESTED] = "nested",
		[RING_LOST_OTHER] = "other",
		[RING_LOST_RETURN_FULL] = "return not watched, too many calls were open",
		[RING_LOST_RETURN_CALLER] =
				"return not watched, called by code that may know its return addresses",
		[RING_LOST_SHARED] = "process in another one's memory",
		[RING_LOST_IMPLAUSIBLE] = "implausible counter, each counts once",
		[RING_LOST_RETURN_COPIED] = "return not watched, the program copies its stack",
		[RING_LOST_NO_MEMORY] = "no ring memory",
};

const char *ring_loss_name(enum ring_loss reason)
{
	return (unsigned int)reason < RING_LOSS_REASONS && ring_loss_names[reason]
			? ring_loss_names[reason]
			: "unknown";
}

/* The highest number of a kernel CPU list ("0-1", "0-3,8-11"); 0 if there is none. */
static unsigned long ring_cpu_list_highest(const char *list)
{
	unsigned long highest = 0, number = 0;

	for (; *list; list++) {
		if (*list >= '0' && *list <= '9') {
			if (number < RING_RINGS_MAX)
				number = number * 10 + (unsigned long)(*list - '0');
			if (number > highest)
				highest = number;
		} else {
			number = 0;
		}
	}
	return highest;
}

static uint32_t find_possible_cpus(void)
{
	char list[256];
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	unsigned long highest = configured > 0 ? (unsigned long)configured - 1 : 0;
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	if (fd >= 0) {
		got = read(fd, list, sizeof(list) - 1);
		close(fd);
	}
	if (got > 0) {
		list[got] = '\0';
		unsigned long listed = ring_cpu_list_highest(list);

		/*
		 * Containers may hide CPUs from sysconf(), and the list may be truncated: use the
		 * larger number.
		 */
		if (listed > highest)
			highest = listed;
	}
	return highest < RING_RINGS_MAX ? (uint32_t)highest + 1 : RING_RINGS_MAX;
}

uint32_t ring_possible_cpus(void)
{
	/* Constant until the next boot. Relaxed: no other data depends on it. */
	static uint32_t found;
	uint32_t cpus = __atomic_load_n(&found, __ATOMIC_RELAXED);

	if (!cpus) {
		cpus = find_possible_cpus();
		__atomic_store_n(&found, cpus, __ATOMIC_RELAXED);
	}
	return cpus;
}

size_t ring_payload_max(uint64_t ring_size)
{
	uint64_t half = ring_size / 2 - RING_EXTENDED_BYTES;

	return half < RING_PAYLOAD_MAX ? (size_t)half : RING_PAYLOAD_MAX;
}

/* The size of the huge pages that a memfd has by default. */
size_t ring_huge_page_size(void)
{
	static const char title[] = "Hugepagesize:";
	char text[4096], *at;
	int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	at = strstr(text, title);
	return at ? (size_t)strtoul(at + sizeof(title) - 1, NULL, 10) * 1024 : 0;
}

/* Check what does not depend on the machine. */
static int ring_geometry_check_static(const struct ring_geometry *geometry)
{
	if (geometry->rings == 0 || geometry->rings > RING_RINGS_MAX)
		return -EINVAL;
	if (geometry->event_slots == 0 || geometry->event_slots > RING_EVENT_SLOTS_MAX)
		return -EINVAL;
	if (geometry->size < RING_SIZE_MIN || geometry->size > RING_SIZE_MAX ||
			(geometry->size & (geometry->size - 1)))
		return -EINVAL;
	if ((unsigned int)geometry->mode > RING_MODE_BLOCK ||
			(unsigned int)geometry->placement > RING_PER_THREAD ||
			(geometry->flags &
					~(uint32_t)(RING_HUGE_PAGES | RING_PREFAULT | RING_COUNTS |
							RING_LEASED)))
		return -EINVAL;
	if ((geometry->flags & RING_LEASED) && geometry->flags != RING_LEASED)
		return -EINVAL;
	if ((geometry->flags & RING_COUNTS) && geometry->mode != RING_MODE_DISCARD)
		return -EINVAL;
	switch (geometry->clock) {
	case RING_CLOCK_TSC: return RING_CLOCK_HAS_TSC ? 0 : -ENOTSUP;
	case RING_CLOCK_MONOTONIC: return 0;
	default: return -EINVAL;
	}
}

/* The alignment of the data on this machine; 0 if it has no huge pages. */
static uint64_t ring_geometry_alignment(const struct ring_geometry *geometry)
{
	return geometry->flags & RING_HUGE_PAGES ? ring_huge_page_size()
						 : (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t ring_align_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

int ring_layout_compute(const struct ring_geometry *geometry, uint64_t alignment,
		struct ring_layout *ret_layout)
{
	int ret = ring_geometry_check_static(geometry);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (ret)
		return ret;
	if (alignment == 0)
		return -ENOTSUP;
	if (alignment < page || alignment > RING_SIZE_MAX || (alignment & (alignment - 1)) ||
			geometry->size < alignment)
		return -EINVAL;
	ret_layout->alignment = alignment;
	/* Nothing below can overflow 64 bits: 2^13 rings, 2^16 slots, 2^33 bytes a doubled ring. */
	ret_layout->lost_stride = ring_align_up(
			(uint64_t)geometry->event_slots * RING_LOSS_REASONS * sizeof(uint64_t),
			page);
	ret_layout->lost_offset = ring_align_up(
			RING_HEADER_BYTES + (uint64_t)geometry->rings * RING_CONTROL_BYTES, page);
	ret_layout->data_offset = ring_align_up(
			ret_layout->lost_offset + geometry->rings * ret_layout->lost_stride,
			alignment);
	ret_layout->total = ret_layout->data_offset + geometry->rings * geometry->size;
	if (ret_layout->total + geometry->rings * geometry->size > SIZE_MAX / 2)
		return -EINVAL;
	return 0;
}

int ring_geometry_check(const struct ring_geometry *geometry)
{
	struct ring_layout layout;

	return ring_layout_compute(geometry, ring_geometry_alignment(geometry), &layout);
}

int ring_geometry_layout(const struct ring_geometry *geometry, struct ring_layout *ret_layout)
{
	return ring_layout_compute(geometry, ring_geometry_alignment(geometry), ret_layout);
}

size_t ring_memory_size(const struct ring_geometry *geometry)
{
	struct ring_layout layout;

	return ring_geometry_layout(geometry, &layout) ? 0 : (size_t)layout.total;
}

void ring_header_fill(struct ring_header *header, const struct ring_geometry *geometry,
		const struct ring_layout *layout, enum ring_storage storage)
{
	*header = (struct ring_header){
			.magic = RING_MAGIC,
			.version = RING_VERSION,
			.header_bytes = RING_HEADER_BYTES,
			.control_bytes = RING_CONTROL_BYTES,
			.rings = geometry->rings,
			.event_slots = geometry->event_slots,
			.mode = geometry->mode,
			.clock = geometry->clock,
			.blocks = RING_BLOCKS,
			.size = geometry->size,
			.lost_offset = layout->lost_offset,
			.data_offset = layout->data_offset,
			.total = layout->total,
			.alignment = layout->alignment,
			.placement = geometry->placement,
			.flags = geometry->flags,
			.block_timeout_us = geometry->block_timeout_us,
			.storage = storage,
	};
}

int ring_header_check(const struct ring_header *header, struct ring_geometry *ret_geometry,
		struct ring_layout *ret_layout)
{
	struct ring_header wanted;
	int ret;

	if (header->magic != RING_MAGIC || header->version != RING_VERSION ||
			header->storage > RING_IN_FILE)
		return -EPROTO;
	*ret_geometry = (struct ring_geometry){
			.rings = header->rings,
			.event_slots = header->event_slots,
			.size = header->size,
			.mode = (enum ring_mode)header->mode,
			.clock = (enum ring_clock)header->clock,
			.placement = (enum ring_placement)header->placement,
			.flags = header->flags,
			.block_timeout_us = header->block_timeout_us,
	};
	if (!(ret_geometry->flags & RING_HUGE_PAGES) &&
			header->alignment != (uint64_t)sysconf(_SC_PAGESIZE))
		return -EPROTO;
	ret = ring_layout_compute(ret_geometry, header->alignment, ret_layout);
	if (ret)
		return ret == -ENOTSUP && header->alignment ? ret : -EPROTO;
	ring_header_fill(&wanted, ret_geometry, ret_layout, (enum ring_storage)header->storage);
	/* NOLINTNEXTLINE(clang-analyzer-core.*): it assumes that errno may be 0 after a failure */
	return memcmp(header, &wanted, sizeof(wanted)) ? -EPROTO : 0;
}

size_t ring_memory_kept(const struct ring_geometry *geometry)
{
	struct ring_layout layout;

	return ring_geometry_layout(geometry, &layout) ? 0 : (size_t)layout.lost_offset;
}

/* The smallest valid size: a file with revoked memory ends where the leased memory begins. */
static uint64_t ring_size_least(
		const struct ring_geometry *geometry, const struct ring_layout *layout, bool sealed)
{
	return !sealed && (geometry->flags & RING_LEASED) ? layout->lost_offset : layout->total;
}

/*
 * Copy the header once and use only the copy: the other end may write meanwhile. Memory that could
 * shrink is accepted only if its header declares it as a file.
 */
static int ring_header_read(int fd, struct ring_geometry *ret_geometry,
		struct ring_layout *ret_layout, bool *ret_sealed)
{
	struct ring_header header;
	struct stat status;
	ssize_t got;
	int seals, ret;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size < (off_t)sizeof(header))
		return -EPROTO;
	got = pread(fd, &header, sizeof(header), 0);
	if (got != (ssize_t)sizeof(header))
		return got < 0 ? -errno : -EPROTO;
	seals = fcntl(fd, F_GET_SEALS);
	/* EINVAL: a file on a disk has no seals. */
	if (seals < 0 && errno != EINVAL)
		return -errno;
	*ret_sealed = seals >= 0 && (seals & F_SEAL_SHRINK);
	ret = ring_header_check(&header, ret_geometry, ret_layout);
	if (ret)
		return ret;
	if ((uint64_t)status.st_size < ring_size_least(ret_geometry, ret_layout, *ret_sealed) ||
			*ret_sealed != (header.storage == RING_IN_MEMFD))
		return -EPROTO;
	return 0;
}

int ring_memory_inspect(int fd, struct ring_geometry *ret_geometry)
{
	struct ring_layout layout;
	bool sealed;

	return ring_header_read(fd, ret_geometry, &layout, &sealed);
}

static int ring_memory_map_piece(const struct ring_memory *memory, uint64_t at, uint64_t bytes,
		int protection, int fd, uint64_t offset)
{
	int flags = MAP_SHARED | MAP_FIXED;
	void *got;

	if (memory->geometry.flags & RING_PREFAULT)
		flags |= MAP_POPULATE;
	got = mmap(memory->base + at, bytes, protection, flags, fd, (off_t)offset);
	return got == MAP_FAILED ? -errno : 0;
}

/* Reserve addresses for all mappings, beginning at a multiple of the alignment. */
static int ring_memory_reserve(struct ring_memory *memory)
{
	const struct ring_layout *layout = &memory->layout;
	uint64_t size = layout->data_offset + 2 * memory->geometry.rings * memory->geometry.size;
	uint64_t more = layout->alignment - (uint64_t)sysconf(_SC_PAGESIZE), before;
	unsigned char *got;

	got = mmap(NULL, size + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			0);
	if (got == MAP_FAILED)
		return -errno;
	before = -(uintptr_t)got & (layout->alignment - 1);
	if (before)
		munmap(got, before);
	if (more > before)
		munmap(got + before + size, more - before);
	memory->base = got + before;
	memory->mapped = size;
	return 0;
}

/*
 * Choose the parts that a core dump of this process contains. For a traced program: each ring once,
 * so that undrained records can be recovered. A ring of a thread is added when a thread takes it
 * (slots.c).
 */
static void ring_memory_advise(const struct ring_memory *memory, enum ring_end end)
{
	uint64_t size = memory->geometry.size;

	if (end == RING_END_CONSUMER) {
		madvise(memory->base, memory->mapped, MADV_DONTDUMP);
		return;
	}
	for (uint32_t ring = 0; ring < memory->geometry.rings; ring++) {
		unsigned char *data = ring_memory_data(memory, ring);

		madvise(data + size, size, MADV_DONTDUMP);
		if (memory->geometry.placement == RING_PER_THREAD)
			madvise(data, size, MADV_DONTDUMP);
	}
}

int ring_memory_map(int fd, enum ring_end end, struct ring_memory *memory)
{
	int protection = end == RING_END_CONSUMER ? PROT_READ : PROT_READ | PROT_WRITE;
	const struct ring_layout *layout = &memory->layout;
	uint64_t size;
	bool sealed = false;
	int ret;

	*memory = (struct ring_memory){0};
	ret = ring_header_read(fd, &memory->geometry, &memory->layout, &sealed);
	if (ret)
		return ret;
	size = memory->geometry.size;
	ret = ring_memory_reserve(memory);
	if (ret)
		return ret;
	ret = ring_memory_map_piece(memory, 0, layout->data_offset, PROT_READ | PROT_WRITE, fd, 0);
	for (uint32_t ring = 0; !ret && ring < memory->geometry.rings; ring++) {
		uint64_t at = layout->data_offset + 2 * ring * size;
		uint64_t offset = layout->data_offset + ring * size;

		ret = ring_memory_map_piece(memory, at, size, protection, fd, offset);
		if (!ret)
			ret = ring_memory_map_piece(
					memory, at + size, size, protection, fd, offset);
	}
	if (!ret && !sealed && end == RING_END_CONSUMER)
		ret = ring_truncation_watch(memory->base, memory->mapped, &memory->truncation);
	if (ret) {
		ring_memory_unmap(memory);
		return ret;
	}
	ring_memory_advise(memory, end);
	/* A kernel dump shows the header only if the page tables of this process do. */
	if (end == RING_END_PRODUCER)
		(void)*(const volatile unsigned char *)memory->base;
	if (!sealed && end == RING_END_PRODUCER)
		ring_dumped_open(memory, fd);
	return 0;
}

void ring_memory_unmap(struct ring_memory *memory)
{
	if (memory->truncation)
		ring_truncation_forget(memory->truncation);
	ring_dumped_close(memory);
	munmap(memory->base, memory->mapped);
	memory->base = NULL;
}
