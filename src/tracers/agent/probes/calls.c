/* SPDX-License-Identifier: MIT */
/*
 * Collect the return addresses of the callers of a hit or an event (backtrace).
 *
 * Unwinding needs rows for each module. They are built before probes are set, and again when
 * libraries have been loaded, from the mapped unwinding data. The kernel reads that data
 * (process_vm_readv), because another thread may unmap it meanwhile.
 *
 * Hits read a snapshot of all modules without a lock. A snapshot is published whole; memory that is
 * no longer in it is freed when all hits that may use it have ended (sites.c waits for them), and
 * all events (a grace period of libside). Everything but hits and events runs under the event lock.
 */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/context/context.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/probes/probes.h"
#include "probe/unwind/unwind.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

#define SEGMENTS_MAX 64
#define FRAMES_MAX ((size_t)256 << 20) /* unwinding data of one module, in bytes */

/* The rows of one module. */
struct module_rows {
	struct module_rows *next;
	size_t mapped, nr;
	uint64_t base, end, device, inode;
	uint64_t code_start, code_end; /* 0: the range is unknown */
	bool used;                     /* in the new snapshot */
	bool hidden; /* a wrapper library: its frames are not those of the program */
	struct unwind_row rows[];
};

#define HIDDEN_MAX 8 /* wrapper libraries of one process; it has two */

/*
 * Steps of earlier walks. The address of a thread's control block selects one of the tables, so few
 * threads share a table. If another thread uses the table, or a walk that a signal interrupted, a
 * walk uses no cached steps.
 */
struct calls_steps {
	struct unwind_steps steps;
	uint32_t is_used;
};

/*
 * 8 tables of 32 KiB in each snapshot. Tables that no thread uses take no memory, except in a
 * program with mlockall().
 */
#define STEPS_BITS 3

struct calls_snapshot {
	struct calls_snapshot *next; /* next in the list of retired snapshots */
	size_t mapped;
	struct unwind_range hidden[HIDDEN_MAX];
	size_t nr_hidden;
	uint64_t known[UNWIND_KNOWN]; /* rows that were found before, by address; hits write them */
	uint64_t returns[UNWIND_RETURNS]; /* return addresses that were checked; hits write them */
	struct calls_steps steps[1 << STEPS_BITS]; /* hits and events write them */
	struct unwind_modules modules;
	struct unwind_module list[];
};

static struct module_rows *blocks;
static struct calls_snapshot *current; /* stores with release, hits load with acquire */
/* Memory that is no longer in the snapshot: first hits may read it, then events. */
struct calls_retired {
	struct calls_snapshot *snapshots;
	struct module_rows *blocks;
};
static struct calls_retired retired, waiting;
static uint64_t waiting_grace;

/* ---- rows of a module ---- */

static bool probes_call_read_memory(uint64_t from, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

	return raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), &local, 1L, &remote, 1L, 0L) ==
			(long)size;
}

struct calls_segments {
	ElfW(Phdr) segments[SEGMENTS_MAX];
	unsigned int nr;
	uint64_t bias;
};

static bool probes_calls_read_segments(uint64_t base, struct calls_segments *ret_segments)
{
	ElfW(Phdr) *segments = ret_segments->segments;
	unsigned int i, nr;
	ElfW(Ehdr) elf;

	if (!probes_call_read_memory(base, &elf, sizeof(elf)) ||
			elf.e_phentsize != sizeof(segments[0]))
		return false;
	nr = elf.e_phnum < SEGMENTS_MAX ? elf.e_phnum : SEGMENTS_MAX;
	if (!probes_call_read_memory(base + elf.e_phoff, segments, nr * sizeof(segments[0])))
		return false;
	ret_segments->nr = nr;
	ret_segments->bias = base;
	for (i = nr; i-- > 0;)
		if (segments[i].p_type == PT_LOAD)
			ret_segments->bias = base - (segments[i].p_vaddr - segments[i].p_offset);
	return true;
}

/* Leaves the range 0 if the module has more segments than were read. */
static void probes_calls_find_code(const struct calls_segments *all, struct module_rows *block)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned int i = 0; i < all->nr; i++) {
		uint64_t from = all->segments[i].p_vaddr + all->bias;
		uint64_t to = from + all->segments[i].p_memsz;

		if (all->segments[i].p_type != PT_LOAD || !(all->segments[i].p_flags & PF_X))
			continue;
		start = from < start ? from : start;
		end = to > end ? to : end;
	}
	if (all->nr == SEGMENTS_MAX || end <= start)
		return;
	block->code_start = start;
	block->code_end = end;
}

/* Find the unwinding data of a module, and the end of the mapping that contains it. */
static bool find_frames(const struct calls_segments *all, uint64_t *ret_header, uint64_t *ret_begin,
		uint64_t *ret_end)
{
	const ElfW(Phdr) *segments = all->segments;
	uint64_t bias = all->bias;
	unsigned int i;
	uint8_t first[4];
	int32_t distance;

	*ret_header = *ret_end = 0;
	for (i = 0; i < all->nr; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			*ret_header = segments[i].p_vaddr + bias;
	for (i = 0; i < all->nr; i++)
		if (segments[i].p_type == PT_LOAD &&
				*ret_header - (segments[i].p_vaddr + bias) < segments[i].p_filesz)
			*ret_end = segments[i].p_vaddr + bias + segments[i].p_filesz;
	if (!*ret_header || !*ret_end ||
			!probes_call_read_memory(*ret_header, first, sizeof(first)) ||
			!probes_call_read_memory(
					*ret_header + sizeof(first), &distance, sizeof(distance)))
		return false;
	/* Some linkers place .eh_frame_hdr after .eh_frame. */
	*ret_begin = *ret_header;
	if (first[1] == 0x1b && distance < 0)
		*ret_begin += sizeof(first) + (uint64_t)(int64_t)distance;
	return *ret_end > *ret_begin && *ret_end - *ret_begin <= FRAMES_MAX;
}

/*
 * Allocate space for the most rows that the data can have, build the rows, and free the space that
 * is left over.
 */
static struct module_rows *probes_call_build_block(const struct unwind_image *image)
{
	size_t mapped = sizeof(struct module_rows) + image->size * sizeof(struct unwind_row), used;
	struct module_rows *block = raw_mmap(NULL, mapped, PROT_READ | PROT_WRITE,
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

/* Whether the file is one of the libraries that emit calls of libc as events. */
static bool is_wrapper(const struct base_library *library)
{
	static const char prefix[] = "libside-wrap-";
	uint32_t at = library->path_size;

	while (at && library->path[at - 1] != '/')
		at--;
	return library->path_size - at > sizeof(prefix) - 1 &&
			!memcmp(library->path + at, prefix, sizeof(prefix) - 1);
}

/* A module without rows gets a block too, so the search is not repeated. */
static struct module_rows *probes_call_make_block(const struct base_library *library)
{
	struct unwind_image image = {.lowest = library->base};
	struct calls_segments segments = {.nr = 0};
	struct module_rows *block;
	uint64_t end = 0;

	if (probes_calls_read_segments(library->base, &segments) &&
			find_frames(&segments, &image.header, &image.address, &end)) {
		image.size = (size_t)(end - image.address);
		image.bytes = raw_mmap(NULL, image.size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);
		if (!image.bytes)
			return NULL;
		if (!probes_call_read_memory(
				    image.address, (void *)(uintptr_t)image.bytes, image.size))
			image.header = 0;
	}
	block = probes_call_build_block(&image);
	if (image.bytes)
		raw_munmap((void *)(uintptr_t)image.bytes, image.size);
	if (!block)
		return NULL;
	block->base = library->base;
	block->end = library->end;
	block->device = library->device;
	block->inode = library->inode;
	block->hidden = is_wrapper(library);
	probes_calls_find_code(&segments, block);
	block->next = blocks;
	blocks = block;
	return block;
}

static bool probes_call_block_belongs_to(
		const struct module_rows *block, const struct base_library *library)
{
	return block->base == library->base && block->end == library->end &&
			block->device == library->device && block->inode == library->inode;
}

/* ---- the snapshot ---- */

struct snapshot_builder {
	uint32_t nr;
	bool changed;
};

static void probes_call_check_library(void *user, const struct base_library *library)
{
	struct snapshot_builder *builder = user;
	struct module_rows *block = blocks;

	while (block && !probes_call_block_belongs_to(block, library))
		block = block->next;
	builder->nr++;
	if (!block) {
		block = probes_call_make_block(library);
		builder->changed = true;
	}
	if (block)
		block->used = true;
}

static void retire_unused(struct snapshot_builder *builder)
{
	struct module_rows **at = &blocks;

	while (*at) {
		struct module_rows *block = *at;

		if (block->used) {
			block->used = false;
			at = &block->next;
			continue;
		}
		builder->changed = true;
		*at = block->next;
		block->next = retired.blocks;
		retired.blocks = block;
	}
}

static void probes_call_publish_snapshot(struct calls_snapshot *snapshot)
{
	struct calls_snapshot *old = current;

	/* Release: all of it. Pairs with the acquire in calls_snapshot_load(). */
	__atomic_store_n(&current, snapshot, __ATOMIC_RELEASE);
	if (!old)
		return;
	old->next = retired.snapshots;
	retired.snapshots = old;
}

/* Blocks are listed in the order in which they were made. */
static void list_modules(struct calls_snapshot *snapshot)
{
	struct unwind_module *list = snapshot->list;
	const struct module_rows *block;
	size_t i;

	for (block = blocks; block; block = block->next) {
		for (i = snapshot->modules.nr++; i && list[i - 1].start > block->base; i--)
			list[i] = list[i - 1];
		list[i] = (struct unwind_module){.start = block->base,
				.end = block->end,
				.code_start = block->code_start,
				.code_end = block->code_end,
				.rows = block->rows,
				.nr_rows = block->nr};
		if (block->hidden && snapshot->nr_hidden < HIDDEN_MAX)
			snapshot->hidden[snapshot->nr_hidden++] =
					(struct unwind_range){block->base, block->end};
	}
	snapshot->modules.modules = list;
}

static void make_picture(uint32_t nr)
{
	size_t mapped = sizeof(struct calls_snapshot) + nr * sizeof(struct unwind_module);
	struct calls_snapshot *snapshot = raw_mmap(
			NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	/* Without a snapshot, hits follow frame pointers. */
	if (snapshot) {
		snapshot->mapped = mapped;
		snapshot->modules.known = snapshot->known;
		snapshot->modules.returns = snapshot->returns;
		list_modules(snapshot);
	}
	probes_call_publish_snapshot(snapshot);
}

void probe_calls_update(bool wanted)
{
	struct snapshot_builder builder = {0};

	if (!wanted && !current)
		return;
	if (wanted && base_each(probes_call_check_library, &builder))
		return;
	retire_unused(&builder);
	if (!wanted)
		probes_call_publish_snapshot(NULL);
	else if (builder.changed)
		make_picture(builder.nr);
}

bool probe_calls_is_used(void)
{
	return current || waiting.snapshots || waiting.blocks || probe_calls_has_retired();
}

bool probe_calls_has_retired(void)
{
	return retired.snapshots || retired.blocks;
}

static void probes_calls_free_waiting(void)
{
	while (waiting.snapshots) {
		struct calls_snapshot *old = waiting.snapshots;

		waiting.snapshots = old->next;
		raw_munmap(old, old->mapped);
	}
	while (waiting.blocks) {
		struct module_rows *old = waiting.blocks;

		waiting.blocks = old->next;
		raw_munmap(old, old->mapped);
	}
}

void probe_calls_free_retired(void)
{
	bool waits = waiting.snapshots || waiting.blocks;

	if (waits && !side_tracer_grace_passed(waiting_grace))
		return;
	probes_calls_free_waiting();
	if (!probe_calls_has_retired())
		return;
	waiting = retired;
	retired = (struct calls_retired){0};
	/* 0: no thread can be in an event. */
	waiting_grace = side_tracer_grace_begin();
	if (!waiting_grace || side_tracer_grace_passed(waiting_grace))
		probes_calls_free_waiting();
}

/* ---- a thread's own stack ---- */

/*
 * A thread's stack stays mapped while the thread runs, from the stack pointer up to its end: up to
 * the control block of a thread of libc, or the kernel's data of the first thread. Pages are
 * checked once, when the stack has become deeper than before, and are then read without system
 * calls. Only pages without a gap up to the end are checked: a gap separates this stack from
 * another one that the program made, and memory above the end does not belong to the stack.
 */
#define PAGE 4096u
#define PAGES_BITS 28

/*
 * The lowest page that was checked << PAGES_BITS | the number of pages from there. In one word, so
 * that a signal handler never sees a part of it.
 */
static __thread uint64_t known_stack __attribute__((tls_model("initial-exec")));

/* Set by the loader of glibc. Other C libraries do not have it. */
extern void *__libc_stack_end __attribute__((weak));

/* Returns the address of the thread's control block, which the block contains. */
static uint64_t own_control_block(void)
{
	uint64_t address;

	__asm__("mov %%fs:0, %0" : "=r"(address));
	return address;
}

static bool probes_call_is_in_range(uint64_t page, uint64_t end)
{
	return end > page && end - page <= PROBE_PAGES_MAX;
}

/*
 * Returns the page after the end of the stack, or the lowest known page, if it is near; otherwise
 * 0.
 */
static uint64_t end_of_stack(uint64_t page)
{
	uint64_t known = known_stack >> PAGES_BITS, end = 0;

	if (probes_call_is_in_range(page, known))
		return known;
	if (!probe_is_first_thread())
		end = own_control_block() / PAGE + 1;
	else if (&__libc_stack_end)
		end = (uintptr_t)__libc_stack_end / PAGE + 1;
	return probes_call_is_in_range(page, end) ? end : 0;
}

static __attribute__((noinline)) void probes_calls_check_stack(
		uint64_t page, struct probes_block *block)
{
	/* In a sandbox the agent makes no system call and reads one page only. */
	uint64_t known = known_stack, end = context_may_ask() ? end_of_stack(page) : 0;
	uint64_t nr = end - page;
	void *memory = end ? probe_hit_memory(block) : NULL;

	if (!memory || !probe_are_there(page * PAGE, nr, memory))
		return;
	/* Extend the known pages if there is no gap; otherwise replace them. */
	if (known && end == known >> PAGES_BITS)
		nr += known % (UINT64_C(1) << PAGES_BITS);
	if (nr < UINT64_C(1) << PAGES_BITS)
		known_stack = page << PAGES_BITS | nr;
}

/* Set the memory that can be read without system calls: at least the page of the stack pointer. */
static __attribute__((noinline)) void set_memory(
		struct unwind_memory *memory, const uint64_t *stack, struct probes_block *block)
{
	uint64_t page = (uintptr_t)stack / PAGE, known = known_stack;
	uint64_t end = (known >> PAGES_BITS) + known % (UINT64_C(1) << PAGES_BITS);
	bool is_whole = true;

	if (__builtin_expect(page < known >> PAGES_BITS || page >= end, 0)) {
		probes_calls_check_stack(page, block);
		known = known_stack;
		end = (known >> PAGES_BITS) + known % (UINT64_C(1) << PAGES_BITS);
		is_whole = page >= known >> PAGES_BITS && page < end;
		if (!is_whole)
			end = page + 1;
	}
	memory->low = page * PAGE;
	memory->high = end * PAGE;
	memory->stack_end = is_whole ? end * PAGE : 0;
}

/* ---- a hit ---- */

_Static_assert(PROBE_PAGES_MEMORY <= PROBE_CALLS_BYTES, "what a block has room for");

/* `of_hit`: loads whose faults are caught are for hits alone, which do not nest (reading.c). */
static inline __attribute__((always_inline)) bool probes_calls_read(
		struct probes_window *window, uint64_t address, bool of_hit, uint64_t *ret_value)
{
	uint64_t *words = probe_hit_memory(window->block);

	/* Words are aligned, so each is in one window. */
	if (words && address - window->from >= window->size) {
		window->size = PROBE_CALLS_BYTES - address % PROBE_CALLS_BYTES;
		window->from = address;
		if (of_hit ? !probe_read(words, address, window->size, window->stack,
					     &window->reading)
			   : !probe_read_by_call(words, address, window->size))
			window->size = 0;
	}
	if (!words || !window->size)
		return false;
	*ret_value = words[(address - window->from) / sizeof(uint64_t)];
	return true;
}

static bool probes_call_read_word(void *user, uint64_t address, uint64_t *ret_value)
{
	return probes_calls_read(user, address, true, ret_value);
}

static bool probes_calls_read_word_of_event(void *user, uint64_t address, uint64_t *ret_value)
{
	return probes_calls_read(user, address, false, ret_value);
}

/* Reads one word of code: most addresses that are checked are far from each other. */
static bool probes_calls_read_code(void *user, uint64_t address, uint64_t *ret_value)
{
	struct probes_window *window = user;

	return probe_read(ret_value, address, sizeof(*ret_value), window->stack, &window->reading);
}

static bool probes_calls_read_code_of_event(void *user, uint64_t address, uint64_t *ret_value)
{
	(void)user;
	return probe_read_by_call(ret_value, address, sizeof(*ret_value));
}

static inline struct calls_snapshot *calls_snapshot_load(void)
{
	/* Acquire: all of it. Pairs with the release in probes_call_publish_snapshot(). */
	return __atomic_load_n(&current, __ATOMIC_ACQUIRE);
}

static inline void probes_calls_open_window(
		struct probes_window *window, const uint64_t *stack, struct probes_block *block)
{
	window->block = block;
	window->stack = stack;
	window->from = window->size = 0;
	window->reading = NULL;
	set_memory(&window->memory, stack, block);
	window->memory.user = window;
	window->memory.steps = NULL;
}

/* Returns NULL if the table is in use. */
static struct calls_steps *probes_calls_take_steps(struct calls_snapshot *snapshot)
{
	/* The high bits of the product depend on all bits of the address. */
	uint64_t hash = own_control_block() * UINT64_C(0x9e3779b97f4a7c15);
	struct calls_steps *steps = &snapshot->steps[hash >> (64 - STEPS_BITS)];

	/*
	 * Acquire: the steps of the last walk. Pairs with the release in probes_calls_give_steps().
	 */
	return __atomic_exchange_n(&steps->is_used, 1, __ATOMIC_ACQUIRE) ? NULL : steps;
}

/*
 * A walk that a signal handler leaves by longjmp() does not call this. Its table remains in use:
 * later walks are slower, and remain exact.
 */
static void probes_calls_give_steps(struct calls_steps *steps)
{
	if (!steps)
		return;
	/* Release: the steps of this walk. Pairs with the acquire in probes_calls_take_steps(). */
	__atomic_store_n(&steps->is_used, 0, __ATOMIC_RELEASE);
}

uint32_t probe_calls(uint64_t *to, uint32_t most, const struct patch_hit *hit, bool leaves,
		struct probes_block *block, struct probes_window *window)
{
	static const struct unwind_modules none;
	struct calls_snapshot *snapshot = calls_snapshot_load();
	struct calls_steps *steps = NULL;
	uint32_t nr;

	probes_calls_open_window(window, hit->stack, block);
	/* Stacks that the program made may be small, and a walk with steps needs more of them. */
	if (snapshot && window->memory.stack_end)
		steps = probes_calls_take_steps(snapshot);
	window->memory.steps = steps ? &steps->steps : NULL;
	window->memory.read = probes_call_read_word;
	window->memory.read_code = probes_calls_read_code;
	window->walk.modules = snapshot ? &snapshot->modules : &none;
	window->walk.memory = &window->memory;
	window->walk.translate = patch_return_address;
	window->walk.state.pc = leaves ? patch_return_address(hit->returns_to) : hit->address;
	window->walk.state.stack = (uintptr_t)hit->stack;
	window->walk.state.frame = hit->registers.rbp;
	window->walk.state.exact = !leaves;
	/* The compiler makes this a jump, so that the walk has this function's part of the stack. */
	if (!steps)
		return unwind_walk_in(&window->walk, to, most);
	nr = unwind_walk_in(&window->walk, to, most);
	probes_calls_give_steps(steps);
	return nr;
}

/* ---- an event ---- */

uint32_t probe_calls_of_event(
		const struct context_origin *origin, uint64_t *ret_addresses, uint32_t most)
{
	const uint64_t *stack = (const uint64_t *)(uintptr_t)origin->stack;
	const struct unwind_state state = {origin->pc, origin->stack, origin->frame, origin->exact};
	struct calls_snapshot *snapshot = calls_snapshot_load();
	struct probes_block block = {.index = -1};
	struct probes_window window;
	struct unwind_passed passed;
	struct calls_steps *steps;
	uint32_t nr;

	/* Without rows, the walk does not come out of the tracer's code. */
	if (!snapshot)
		return 0;
	probes_calls_open_window(&window, stack, &block);
	window.memory.read = probes_calls_read_word_of_event;
	window.memory.read_code = probes_calls_read_code_of_event;
	steps = probes_calls_take_steps(snapshot);
	window.memory.steps = steps ? &steps->steps : NULL;
	passed = (struct unwind_passed){origin->until, snapshot->hidden, snapshot->nr_hidden};
	if (origin->until)
		nr = unwind_walk_past(&snapshot->modules, &state, &window.memory,
				patch_return_address, &passed, ret_addresses, most);
	else
		nr = unwind_walk(&snapshot->modules, &state, &window.memory, patch_return_address,
				ret_addresses, most);
	probes_calls_give_steps(steps);
	probe_hit_give_memory(&block);
	return nr;
}
