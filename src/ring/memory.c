/* SPDX-License-Identifier: MIT */
/*
 * The memory of the rings: geometry, creation, mapping.
 *
 * Each end maps the control part and then every ring's data twice in a row inside one reserved
 * range of addresses. The seals make sure that no page of it can go away under a reader (no
 * SIGBUS).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/clock.h"
#include "ring/layout.h"

#define RING_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static const char *const ring_loss_names[RING_LOSS_REASONS] = {
		[RING_LOST_FULL] = "ring full",
		[RING_LOST_TOO_BIG] = "too big",
		[RING_LOST_INVALID] = "invalid arguments",
		[RING_LOST_NO_BUFFER] = "no buffer",
		[RING_LOST_BUSY] = "ring busy",
		[RING_LOST_NO_RING] = "no ring",
		[RING_LOST_NESTED] = "nested",
		[RING_LOST_OTHER] = "other",
};

const char *ring_loss_name(enum ring_loss reason)
{
	return (unsigned int)reason < RING_LOSS_REASONS ? ring_loss_names[reason] : "unknown";
}

/*
 * Parse the end of a kernel CPU list ("0-1", "0-3,8-11"): the highest number in it. 0 if there is
 * none.
 */
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

uint32_t ring_possible_cpus(void)
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

		/* Containers may hide CPUs from sysconf(), and a list may be cut off: the larger
		 * one. */
		if (listed > highest)
			highest = listed;
	}
	return highest < RING_RINGS_MAX ? (uint32_t)highest + 1 : RING_RINGS_MAX;
}

size_t ring_payload_max(uint64_t ring_size)
{
	uint64_t half = ring_size / 2 - RING_EXTENDED_BYTES;

	return half < RING_PAYLOAD_MAX ? (size_t)half : RING_PAYLOAD_MAX;
}

int ring_geometry_check(const struct ring_geometry *geometry)
{
	long page = sysconf(_SC_PAGESIZE);

	if (geometry->rings == 0 || geometry->rings > RING_RINGS_MAX)
		return -EINVAL;
	if (geometry->event_slots == 0 || geometry->event_slots > RING_EVENT_SLOTS_MAX)
		return -EINVAL;
	if (geometry->size < RING_SIZE_MIN || geometry->size < (uint64_t)page ||
			geometry->size > RING_SIZE_MAX || (geometry->size & (geometry->size - 1)))
		return -EINVAL;
	switch (geometry->mode) {
	case RING_MODE_DISCARD: break;
	case RING_MODE_OVERWRITE:
	case RING_MODE_BLOCK: return -ENOTSUP;
	default: return -EINVAL;
	}
	switch (geometry->clock) {
	case RING_CLOCK_TSC: return RING_CLOCK_HAS_TSC ? 0 : -ENOTSUP;
	case RING_CLOCK_MONOTONIC: return 0;
	default: return -EINVAL;
	}
}

static uint64_t ring_align_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

int ring_layout_compute(const struct ring_geometry *geometry, struct ring_layout *layout)
{
	int rc = ring_geometry_check(geometry);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (rc)
		return rc;
	/* Nothing below can overflow 64 bits: 2^13 CPUs, 2^16 slots, 2^33 bytes a doubled ring. */
	layout->lost_stride = ring_align_up(
			(uint64_t)geometry->event_slots * RING_LOSS_REASONS * sizeof(uint64_t),
			page);
	layout->lost_offset = ring_align_up(
			RING_HEADER_BYTES + (uint64_t)geometry->rings * RING_CONTROL_BYTES, page);
	layout->data_offset = layout->lost_offset + geometry->rings * layout->lost_stride;
	layout->total = layout->data_offset + geometry->rings * geometry->size;
	if (layout->total + geometry->rings * geometry->size > SIZE_MAX / 2)
		return -EINVAL;
	return 0;
}

size_t ring_memory_size(const struct ring_geometry *geometry)
{
	struct ring_layout layout;

	return ring_layout_compute(geometry, &layout) ? 0 : (size_t)layout.total;
}

int ring_memfd_create(const char *name, uint64_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, RING_SEALS | F_SEAL_SEAL)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

int ring_memfd_check(int fd, uint64_t minimum, uint64_t *size)
{
	struct stat status;
	int seals;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size < 0 || (uint64_t)status.st_size < minimum)
		return -EPROTO;
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
		return -EPROTO;
	*size = (uint64_t)status.st_size;
	return 0;
}

static void ring_header_fill(struct ring_header *header, const struct ring_geometry *geometry,
		const struct ring_layout *layout)
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
	};
}

int ring_memory_create(const struct ring_geometry *geometry, int *result)
{
	struct ring_layout layout;
	unsigned char *base;
	int rc, fd;

	rc = ring_layout_compute(geometry, &layout);
	if (rc)
		return rc;
	fd = ring_memfd_create("side-ring", layout.total);
	if (fd < 0)
		return fd;
	base = mmap(NULL, layout.lost_offset, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		rc = -errno;
		close(fd);
		return rc;
	}
	for (uint32_t cpu = 0; cpu < geometry->rings; cpu++) {
		struct ring_control *control =
				(struct ring_control *)(base + RING_HEADER_BYTES) + cpu;

		control->head = RING_EPOCH_FLIP;
		control->limit = geometry->size << RING_EPOCH_BITS | RING_EPOCH_MASK;
	}
	ring_header_fill((struct ring_header *)base, geometry, &layout);
	munmap(base, layout.lost_offset);
	*result = fd;
	return 0;
}

int ring_memory_create_file(
		const struct ring_geometry *geometry, int dir_fd, const char *name, int *fd)
{
	(void)geometry, (void)dir_fd, (void)name, (void)fd;
	return -ENOTSUP;
}

int ring_memory_import(ring_memory_read *read, void *user, uint64_t base, int *fd)
{
	(void)read, (void)user, (void)base, (void)fd;
	return -ENOTSUP;
}

size_t ring_huge_page_size(void)
{
	return 0;
}

/*
 * Take the geometry out of the header. The other end may write while we read: everything is copied
 * first, and only the copy is believed, after it was found equal to what we would have written.
 */
static int ring_header_read(int fd, struct ring_geometry *geometry, struct ring_layout *layout)
{
	struct ring_header copy, wanted;
	uint64_t size;
	int rc = ring_memfd_check(fd, RING_HEADER_BYTES, &size);

	if (rc)
		return rc;
	if (pread(fd, &copy, sizeof(copy), 0) != (ssize_t)sizeof(copy))
		return -EPROTO;
	if (copy.magic != RING_MAGIC || copy.version != RING_VERSION)
		return -EPROTO;
	*geometry = (struct ring_geometry){
			.rings = copy.rings,
			.event_slots = copy.event_slots,
			.size = copy.size,
			.mode = (enum ring_mode)copy.mode,
			.clock = (enum ring_clock)copy.clock,
	};
	rc = ring_layout_compute(geometry, layout);
	if (rc)
		return rc == -ENOTSUP ? rc : -EPROTO;
	ring_header_fill(&wanted, geometry, layout);
	/* NOLINTNEXTLINE(clang-analyzer-core.*): it thinks that errno may be 0 after a failure */
	if (memcmp(&copy, &wanted, sizeof(copy)) || size < layout->total)
		return -EPROTO;
	return 0;
}

static int ring_memory_map_piece(
		unsigned char *where, uint64_t bytes, int protection, int fd, uint64_t offset)
{
	void *got = mmap(where, bytes, protection, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);

	return got == MAP_FAILED ? -errno : 0;
}

int ring_memory_map(int fd, int data_protection, struct ring_memory *memory)
{
	struct ring_layout *layout = &memory->layout;
	int rc = ring_header_read(fd, &memory->geometry, layout);
	uint64_t size = memory->geometry.size;

	if (rc)
		return rc;
	memory->mapped = (size_t)(layout->data_offset + 2 * memory->geometry.rings * size);
	memory->base = mmap(NULL, memory->mapped, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory->base == MAP_FAILED)
		return -errno;
	rc = ring_memory_map_piece(
			memory->base, layout->data_offset, PROT_READ | PROT_WRITE, fd, 0);
	for (uint32_t cpu = 0; !rc && cpu < memory->geometry.rings; cpu++) {
		unsigned char *data = ring_memory_data(memory, cpu);
		uint64_t offset = layout->data_offset + cpu * size;

		rc = ring_memory_map_piece(data, size, data_protection, fd, offset);
		if (!rc)
			rc = ring_memory_map_piece(data + size, size, data_protection, fd, offset);
	}
	if (rc) {
		ring_memory_unmap(memory);
		return rc;
	}
	/* A traced program's core dumps stay as large as they were. */
	madvise(memory->base, memory->mapped, MADV_DONTDUMP);
	return 0;
}

void ring_memory_unmap(struct ring_memory *memory)
{
	munmap(memory->base, memory->mapped);
	memory->base = NULL;
}
