/* SPDX-License-Identifier: MIT */
/*
 * The calls that led to a hit. What the walk needs of each module is made before probes are set, and again when libraries have
 * come, out of the unwinder's data as it is mapped; read by the kernel, for another thread may unmap it meanwhile.
 *
 * Hits read the picture without a lock: it is published whole, and what is not in it any more is given back when all hits that
 * may have seen it are over (probes-places.c waits for them). All but hits happens under the event lock.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>

#include "agent/base.h"
#include "agent/probes.h"
#include "probe/unwind/unwind.h"
#include "wire/raw.h"

#include <sys/mman.h>

#define SEGMENTS_MAX 64
#define FRAMES_MAX ((size_t)256 << 20) /* bytes of the unwinder's data of one module */

/* One module's rows. */
struct block {
	struct block *next;
	size_t mapped, nr;
	uint64_t base, end, device, inode;
	bool used; /* in the picture that is made */
	struct unwind_row rows[];
};

struct picture {
	struct picture *next; /* of those that were retired */
	size_t mapped;
	struct unwind_modules modules;
	struct unwind_module list[];
};

static struct block *blocks;
static struct picture *current; /* stores with release, hits load with acquire */
static struct picture *retired;
static struct block *retired_blocks;

/* ---- rows of a module ---- */

static bool read_memory(uint64_t from, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

	return raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), &local, 1L, &remote, 1L, 0L) ==
			(long)size;
}

/* Where the unwinder's data is, and the end of what is mapped with it. */
static bool find_frames(uint64_t base, uint64_t *header, uint64_t *begin, uint64_t *end)
{
	ElfW(Phdr) segments[SEGMENTS_MAX];
	ElfW(Ehdr) elf;
	uint64_t bias = base;
	unsigned int i, nr;
	uint8_t first[4];
	int32_t distance;

	if (!read_memory(base, &elf, sizeof(elf)) || elf.e_phentsize != sizeof(segments[0]))
		return false;
	nr = elf.e_phnum < SEGMENTS_MAX ? elf.e_phnum : SEGMENTS_MAX;
	if (!read_memory(base + elf.e_phoff, segments, nr * sizeof(segments[0])))
		return false;
	for (i = nr; i-- > 0;)
		if (segments[i].p_type == PT_LOAD)
			bias = base - (segments[i].p_vaddr - segments[i].p_offset);
	*header = *end = 0;
	for (i = 0; i < nr; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			*header = segments[i].p_vaddr + bias;
	for (i = 0; i < nr; i++)
		if (segments[i].p_type == PT_LOAD &&
				*header - (segments[i].p_vaddr + bias) < segments[i].p_filesz)
			*end = segments[i].p_vaddr + bias + segments[i].p_filesz;
	if (!*header || !*end || !read_memory(*header, first, sizeof(first)) ||
			!read_memory(*header + sizeof(first), &distance, sizeof(distance)))
		return false;
	/* Some linkers put the header behind what it is the header of. */
	*begin = *header;
	if (first[1] == 0x1b && distance < 0)
		*begin += sizeof(first) + (uint64_t)(int64_t)distance;
	return *end > *begin && *end - *begin <= FRAMES_MAX;
}

/* Room for as many rows as the data may have; what is not used of it is given back. */
static struct block *build(const struct unwind_image *image)
{
	size_t mapped = sizeof(struct block) + image->size * sizeof(struct unwind_row), used;
	struct block *block = raw_mmap(NULL, mapped, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (!block)
		return NULL;
	block->nr = unwind_build(image, block->rows, image->size);
	used = (sizeof(*block) + block->nr * sizeof(struct unwind_row) + 4095) & ~(size_t)4095;
	block->mapped = mapped;
	if (used < mapped && !raw_munmap((char *)block + used, mapped - used))
		block->mapped = used;
	return block;
}

/* Also where there are none: it is not looked for again. */
static struct block *make_block(const struct base_library *library)
{
	struct unwind_image image = {.lowest = library->base};
	struct block *block;
	uint64_t end = 0;

	if (find_frames(library->base, &image.header, &image.address, &end)) {
		image.size = (size_t)(end - image.address);
		image.bytes = raw_mmap(NULL, image.size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);
		if (!image.bytes)
			return NULL;
		if (!read_memory(image.address, (void *)(uintptr_t)image.bytes, image.size))
			image.header = 0;
	}
	block = build(&image);
	if (image.bytes)
		raw_munmap((void *)(uintptr_t)image.bytes, image.size);
	if (!block)
		return NULL;
	block->base = library->base;
	block->end = library->end;
	block->device = library->device;
	block->inode = library->inode;
	block->next = blocks;
	blocks = block;
	return block;
}

static bool is_of(const struct block *block, const struct base_library *library)
{
	return block->base == library->base && block->end == library->end &&
			block->device == library->device && block->inode == library->inode;
}

/* ---- the picture ---- */

struct making {
	uint32_t nr;
	bool changed;
};

static void look_at(void *user, const struct base_library *library)
{
	struct making *making = user;
	struct block *block = blocks;

	while (block && !is_of(block, library))
		block = block->next;
	making->nr++;
	if (!block) {
		block = make_block(library);
		making->changed = true;
	}
	if (block)
		block->used = true;
}

static void retire_unused(struct making *making)
{
	struct block **at = &blocks;

	while (*at) {
		struct block *block = *at;

		if (block->used) {
			block->used = false;
			at = &block->next;
			continue;
		}
		making->changed = true;
		*at = block->next;
		block->next = retired_blocks;
		retired_blocks = block;
	}
}

static void publish(struct picture *picture)
{
	struct picture *old = current;

	/* Release: all of it. Pairs with the acquire in probe_calls(). */
	__atomic_store_n(&current, picture, __ATOMIC_RELEASE);
	if (!old)
		return;
	old->next = retired;
	retired = old;
}

/* Blocks are in the order in which they were made. */
static void list_modules(struct picture *picture)
{
	struct unwind_module *list = picture->list;
	const struct block *block;
	size_t i;

	for (block = blocks; block; block = block->next) {
		for (i = picture->modules.nr++; i && list[i - 1].start > block->base; i--)
			list[i] = list[i - 1];
		list[i] = (struct unwind_module){.start = block->base,
				.end = block->end,
				.rows = block->rows,
				.nr_rows = block->nr};
	}
	picture->modules.modules = list;
}

static void make_picture(uint32_t nr)
{
	size_t mapped = sizeof(struct picture) + nr * sizeof(struct unwind_module);
	struct picture *picture = raw_mmap(
			NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	/* Without: by frame pointers. */
	if (picture) {
		picture->mapped = mapped;
		list_modules(picture);
	}
	publish(picture);
}

void probe_calls_update(bool wanted)
{
	struct making making = {0};

	if (!wanted && !current)
		return;
	if (wanted && base_each(look_at, &making))
		return;
	retire_unused(&making);
	if (!wanted)
		publish(NULL);
	else if (making.changed)
		make_picture(making.nr);
}

bool probe_calls_has_retired(void)
{
	return retired || retired_blocks;
}

void probe_calls_free_retired(void)
{
	while (retired) {
		struct picture *old = retired;

		retired = old->next;
		raw_munmap(old, old->mapped);
	}
	while (retired_blocks) {
		struct block *old = retired_blocks;

		retired_blocks = old->next;
		raw_munmap(old, old->mapped);
	}
}

/* ---- a hit ---- */

/* The page of the stack pointer is there; of others as much as is there, one at a time. */
struct window {
	const uint64_t *stack;
	uint64_t from, size;
	uint64_t words[PROBE_CALLS_WINDOW / sizeof(uint64_t)];
};

_Static_assert(sizeof(struct window) <= PROBE_CALLS_BYTES, "what its caller has room for");

static bool read_word(void *user, uint64_t address, uint64_t *value)
{
	struct window *window = user;

	/* Words are aligned, so none is partly in it. */
	if (address - window->from < window->size) {
		*value = window->words[(address - window->from) / sizeof(uint64_t)];
		return true;
	}
	if (probe_is_near(address, window->stack))
		return probe_read(value, address, sizeof(*value), window->stack);
	window->size = PROBE_CALLS_WINDOW - address % PROBE_CALLS_WINDOW;
	window->from = address;
	if (!probe_read(window->words, address, window->size, window->stack)) {
		window->size = 0;
		return false;
	}
	*value = window->words[0];
	return true;
}

uint32_t probe_calls(
		uint64_t *to, uint32_t most, const struct patch_hit *hit, bool leaves, void *memory)
{
	static const struct unwind_modules none;
	/* Acquire: all of it. Pairs with the release in publish(). */
	const struct picture *picture = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
	struct window *window = memory;
	struct unwind_state state = {
			.pc = leaves ? patch_return_address(hit->returns_to) : hit->address,
			.stack = (uintptr_t)hit->stack,
			.frame = hit->registers.rbp,
			.exact = !leaves,
	};

	window->stack = hit->stack;
	window->size = 0;
	return unwind_walk(picture ? &picture->modules : &none, state, read_word,
			patch_return_address, window, to, most);
}
