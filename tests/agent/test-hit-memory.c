/* SPDX-License-Identifier: MIT */
/*
 * Memory of the program that a hit reads, with the return addresses that side has replaced, and the
 * calls that led to a hit. The test includes both files. It compares each read with a copy of the
 * memory as the program sees it, and creates the modules that the walk needs.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "../called.h"
#include "../resources.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/context/values.h"
#include "tracers/agent/probes/probes.h"
#include "probe/patch/call.h"
#include "probe/patch/patch.h"
#include "probe/unwind/unwind.h"
#include "base/inside/raw.h"

/* Three pages: the second one is the stack's, the third one cannot be read. */
static unsigned char *pages;

static uint64_t at(uint64_t distance)
{
	return (uint64_t)(uintptr_t)pages + distance;
}

static const uint64_t *stack_at(uint64_t distance)
{
	return (const uint64_t *)(const void *)(pages + distance);
}

static struct {
	bool may_ask, reads, reads_text, is_other_thread, no_block, no_memory;
	uint64_t slot; /* of the return address at an exit */
} played;
static struct patch_gate_range gates;

static long play_system_call(long number, long a, long b, long c, long d, long e, long f)
{
	switch (number) {
	case SYS_getpid: return getpid();
	case SYS_gettid: return getpid() + played.is_other_thread;
	case SYS_process_vm_readv: called("ask\n"); break;
	default: fail();
	}
	return patch_system_call(number, a, b, c, d, e, f);
}

static bool play_read(void *to, uint64_t from, size_t size, struct patch_reading **reading)
{
	assert_non_null(reading);
	called("read %d %zu\n", (int)(from - at(0)), size);
	if (!played.reads)
		return false;
	memcpy(to, (const void *)(uintptr_t)from, size);
	return true;
}

static long play_read_text(char *to, uint64_t from, size_t most, struct patch_reading **reading)
{
	const char *text = (const char *)(uintptr_t)from;

	assert_non_null(reading);
	called("text %d %zu\n", (int)(from - at(0)), most);
	if (!played.reads_text)
		return -1;
	memcpy(to, text, strnlen(text, most));
	return (long)strnlen(text, most);
}

static void play_read_so(uint64_t from, size_t size)
{
	called("known %d %zu\n", (int)(from - at(0)), size);
}

static bool play_may_ask(void)
{
	return played.may_ask;
}

/* Gate i leads to the address 0x112233445500 + 0x0101 * i. */
static uint64_t play_return_address(uint64_t address)
{
	if (!gates.last || address < gates.first || address > gates.last)
		return address;
	return UINT64_C(0x112233445501) + 0x0101 * (address - gates.first);
}

static const uint64_t *play_returning_slot(const struct patch_hit *hit)
{
	assert_non_null(hit);
	return (const uint64_t *)(uintptr_t)played.slot;
}

#define patch_system_call play_system_call
#define patch_read play_read
#define patch_read_text play_read_text
#define patch_note_read play_read_so
#define context_may_ask play_may_ask
#define patch_return_address play_return_address
#define patch_returning_slot play_returning_slot
#define patch_gate_range gates
#include "tracers/agent/probes/read.c"

/* ---- reading ---- */

static struct patch_reading *const some_reading = (struct patch_reading *)(void *)&played;

static void reset(void)
{
	memset(&played, 0, sizeof(played));
	memset(&gates, 0, sizeof(gates));
	played.may_ask = true;
	for (unsigned int i = 0; i < 8192; i++)
		pages[i] = (unsigned char)(i % 251 + 1);
	*calls = '\0';
}

static void assert_read(uint64_t from, size_t size, bool is_there, const char *wanted)
{
	static unsigned char to[5000];
	struct patch_reading *reading = NULL;

	memset(to, 0, sizeof(to));
	assert_int_equal(probe_read(to, from, size, stack_at(4096 + 80), &reading), is_there);
	assert_called(wanted);
	if (is_there)
		assert_memory_equal(to, (const void *)(uintptr_t)from, size);
	assert_int_equal(to[size], 0);
}

static void test_reads(void **unused)
{
	struct patch_reading *reading = some_reading;
	char byte;

	(void)unused;
	reset();
	/* In the page of the stack pointer, without a call. */
	assert_read(at(4096), 1, true, "");
	assert_read(at(4096), 8, true, "");
	assert_read(at(4096 + 3), 7, true, "");
	assert_read(at(4096), 4096, true, "");
	assert_read(at(8191), 1, true, "");
	/* Elsewhere, or partly: by a load, or by a call. */
	played.reads = true;
	assert_read(at(4095), 1, true, "read 4095 1\n");
	assert_read(at(4095), 8, true, "read 4095 8\n");
	assert_read(at(4095), 4097, true, "read 4095 4097\n");
	played.reads = false;
	assert_read(at(4090), 8, true, "read 4090 8\nask\nknown 4090 8\n");
	assert_read(at(8188), 8, false, "read 8188 8\nask\n");
	assert_read(at(8192), 1, false, "read 8192 1\nask\n");
	assert_read(at(100), 0, true, "read 100 0\nask\nknown 100 0\n");
	/* Addresses that no program has. */
	assert_read(4095, 1, false, "");
	assert_read(UINT64_C(1) << PATCH_ADDRESS_BITS, 1, false, "");
	assert_false(is_nowhere(4096) || is_nowhere((UINT64_C(1) << PATCH_ADDRESS_BITS) - 1));
	/* In a sandbox: only pages that are being read already. */
	played.may_ask = false;
	played.reads = true;
	assert_read(at(0), 1, false, "");
	assert_true(probe_read(&byte, at(0), 1, stack_at(4096), &reading));
	assert_called("read 0 1\n");
}

static void test_pages(void **unused)
{
	static unsigned char memory[PROBE_PAGES_MEMORY];

	(void)unused;
	reset();
	assert_true(probe_are_there(at(0), 2, memory));
	assert_false(probe_are_there(at(0), 3, memory));
	assert_false(probe_are_there(at(8192), 1, memory));
	assert_true(probe_are_there(at(4096), 1, memory));
	assert_called("ask\nask\nask\nask\n");
	assert_true(probe_is_first_thread());
	played.is_other_thread = true;
	assert_false(probe_is_first_thread());
}

static void assert_string(uint64_t from, size_t size, const char *text, const char *wanted)
{
	struct patch_hit hit = {.stack = (uint64_t *)(uintptr_t)at(4096)};
	struct probes_event_hit event_hit = {.hit = &hit};
	static char to[200];

	memset(to, 'z', sizeof(to));
	assert_int_equal(probe_read_string(&event_hit, to, from, size), text != NULL);
	assert_string_equal(to, text ? text : "");
	assert_called(wanted);
}

static void test_strings(void **unused)
{
	static char text[200];

	(void)unused;
	reset();
	memset(pages, 'p', 8192);
	memset(text, 'p', 199);
	played.reads_text = true;
	pages[14] = '\0';
	assert_string(at(10), 100, "pppp", "text 10 99\n");
	assert_string(at(10), 5, "pppp", "text 10 4\n");
	assert_string(at(10), 4, "ppp", "text 10 3\n");
	assert_string(at(10), 1, NULL, "");
	/* Across pages, one at a time; the last one is not there. */
	pages[4100] = '\0';
	assert_string(at(4094), 100, "pppppp", "text 4094 2\ntext 4096 97\n");
	played.reads_text = false;
	assert_string(at(4094), 100, "pppppp",
			"text 4094 2\nask\nknown 4094 2\ntext 4096 97\nask\nknown 4096 64\n");
	assert_string(at(8190), 100, "pp", "text 8190 2\nask\nknown 8190 2\ntext 8192 97\nask\n");
	assert_string(at(8192), 100, NULL, "text 8192 99\nask\n");
	/* The first read has 64 bytes, and the next ones the remainder. */
	text[99] = '\0';
	assert_string(at(200), 100, text,
			"text 200 99\nask\nknown 200 64\ntext 264 35\nask\nknown 264 35\n");
	assert_string(4095, 100, NULL, "");
	played.may_ask = false;
	assert_string(at(200), 100, NULL, "");
}

/* ---- return addresses ---- */

#define NR_WORDS 5

/* The memory, and the memory as the program sees it. */
static uint64_t raw[NR_WORDS], view[NR_WORDS];

static void test_return_addresses(void **unused)
{
	unsigned char to[8 * NR_WORDS + 1];
	struct probes_layout layout = {.leaves = true};
	struct patch_hit hit = {.call = 1};
	struct probes_event_hit event_hit = {.hit = &hit, .layout = &layout};

	(void)unused;
	for (unsigned int shift = 0; shift < 8; shift += 4) {
		reset();
		gates.first = UINT64_C(0x7f0102030400);
		gates.last = UINT64_C(0x7f01020304ff);
		hit.stack = (uint64_t *)(uintptr_t)(at(4096) + shift + 160);
		hit.returns_to = gates.first + 3;
		played.slot = at(4096) + shift + 32;
		raw[0] = UINT64_C(0x7f0102030400);
		raw[1] = UINT64_C(
				0x7f01020303ff); /* before the first gate, and after the last one */
		raw[2] = UINT64_C(0x7f01020304ff);
		raw[3] = UINT64_C(0x7f0102030500);
		raw[4] = 4711; /* a number that side stores, in the slot of the return */
		memcpy(pages + 4096 + shift, raw, sizeof(raw));
		memcpy(view, raw, sizeof(raw));
		view[0] = play_return_address(raw[0]);
		view[2] = play_return_address(raw[2]);
		view[4] = play_return_address(hit.returns_to);
		for (unsigned int from = 0; from < sizeof(raw); from++) {
			for (unsigned int size = 1; size <= sizeof(raw) - from; size++) {
				memset(to, 'z', sizeof(to));
				assert_true(probe_read_as_program(
						&event_hit, to, at(4096) + shift + from, size));
				assert_memory_equal(to, (const char *)view + from, size);
				assert_int_equal(to[size], 'z');
			}
		}
		/* A slot without a call, or at an entry. */
		hit.call = 0;
		assert_true(probe_read_as_program(&event_hit, to, played.slot, 8));
		assert_memory_equal(to, &raw[4], 8);
		hit.call = 1;
		layout.leaves = false;
		assert_true(probe_read_as_program(&event_hit, to, played.slot, 8));
		assert_memory_equal(to, &raw[4], 8);
		layout.leaves = true;
		/* Returns are not watched. */
		gates.first = gates.last = 0;
		assert_true(probe_read_as_program(&event_hit, to, at(4096) + shift, 8));
		assert_memory_equal(to, &raw[0], 8);
		assert_false(probe_read_as_program(&event_hit, to, at(8192), 8));
	}
}

static void test_strings_of_return_addresses(void **unused)
{
	struct probes_layout layout = {.leaves = false};
	struct patch_hit hit = {.call = 1};
	struct probes_event_hit event_hit = {.hit = &hit, .layout = &layout};
	char to[64], wanted[64];

	(void)unused;
	reset();
	/* The lowest bytes of gates are the end of a string, its begin, or neither. */
	for (uint64_t low = 0; low < 3; low++) {
		gates.first = UINT64_C(0x7f0000000000) + (low << 8 * low);
		gates.last = UINT64_C(0x7f0000ffffff);
		hit.stack = (uint64_t *)(uintptr_t)at(4096 + 160);
		memset(pages + 4096, 't', 64);
		raw[0] = gates.first;
		memcpy(pages + 4096 + 16, raw, 8);
		memset(wanted, 't', sizeof(wanted));
		view[0] = play_return_address(raw[0]);
		memcpy(wanted + 16, view, 8);
		for (unsigned int from = 0; from < 24; from++) {
			for (size_t size = 2; size < 40; size++) {
				size_t length = strnlen(wanted + from, size - 1);

				played.reads_text = size % 2;
				*calls = '\0';
				memset(to, 'z', sizeof(to));
				assert_true(probe_read_string(
						&event_hit, to, at(4096 + from), size));
				assert_int_equal(strlen(to), length);
				assert_memory_equal(to, wanted + from, length);
			}
		}
	}
}

/* ---- modules ---- */

static struct {
	ElfW(Ehdr) elf;
	ElfW(Phdr) segments[4];
	uint8_t first[4];
	int32_t distance;
	char more[64];
} module __attribute__((aligned(64)));
static struct base_library libraries[4];
static uint32_t nr_libraries;
static int libraries_error;
static size_t nr_rows;

static int play_each(void (*each)(void *user, const struct base_library *library), void *user)
{
	for (uint32_t i = 0; i < nr_libraries; i++)
		each(user, &libraries[i]);
	return libraries_error;
}

static size_t play_build(const struct unwind_image *from, struct unwind_row *rows, size_t capacity)
{
	assert_int_equal(capacity, from->size);
	called("build %zu at %d, header %d, lowest %d\n", from->size,
			from->bytes ? (int)(from->address - (uintptr_t)&module) : -1,
			from->header ? (int)(from->header - (uintptr_t)&module) : -1,
			(int)(from->lowest - (uintptr_t)&module));
	if (from->bytes && from->header)
		assert_memory_equal(
				from->bytes, (const void *)(uintptr_t)from->address, from->size);
	if (nr_rows)
		memset(rows, 1, nr_rows * sizeof(*rows));
	return nr_rows;
}

static struct unwind_memory seen_memory;
static struct unwind_state seen_state;

static uint32_t play_walk(const struct unwind_modules *modules, const struct unwind_state *state,
		const struct unwind_memory *memory, unwind_translate translate, uint64_t *to,
		uint32_t most)
{
	assert_true(translate == play_return_address && to && most == 9);
	seen_memory = *memory;
	seen_state = *state;
	called("walk");
	for (size_t i = 0; i < modules->nr; i++)
		called(" %d-%d: %zu", (int)(modules->modules[i].start - (uintptr_t)&module),
				(int)(modules->modules[i].end - (uintptr_t)&module),
				modules->modules[i].nr_rows);
	called(modules->known ? "\n" : " by frames\n");
	return 5;
}

static uint32_t play_walk_in(struct unwind_walk_state *walk, uint64_t *to, uint32_t most)
{
	return play_walk(walk->modules, &walk->state, walk->memory, walk->translate, to, most);
}

static uint64_t block_memory[PROBE_CALLS_BYTES / 8];

static void *play_memory(struct probes_block *block)
{
	assert_non_null(block);
	return played.no_block ? NULL : block_memory;
}

static void *play_mmap(void *address, size_t size, int protection, int flags, int fd)
{
	assert_true(!address && fd == -1 && protection == (PROT_READ | PROT_WRITE));
	return played.no_memory ? NULL : raw_mmap(address, size, protection, flags, fd);
}

#define base_each play_each
#define unwind_build play_build
#define unwind_walk play_walk
#define unwind_walk_in play_walk_in
#define probe_hit_memory play_memory
#define raw_mmap play_mmap
#include "tracers/agent/probes/calls.c"

#define DISTANCE(member) (offsetof(__typeof__(module), member))

/*
 * The file begins 0x1000 before its first address; the header of the unwinder's data is in the
 * second segment.
 */
static void make_image(void)
{
	memset(&module, 0, sizeof(module));
	module.elf.e_phentsize = sizeof(module.segments[0]);
	module.elf.e_phnum = 4;
	module.elf.e_phoff = DISTANCE(segments);
	module.segments[0] = (ElfW(Phdr)){
			.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = DISTANCE(first)};
	module.segments[1] = (ElfW(Phdr)){.p_type = PT_NOTE, .p_vaddr = 0x7000, .p_filesz = 9};
	module.segments[2] = (ElfW(Phdr)){.p_type = PT_LOAD,
			.p_vaddr = 0x1000 + DISTANCE(first),
			.p_offset = DISTANCE(first),
			.p_filesz = 40};
	module.segments[3] = (ElfW(Phdr)){.p_type = PT_GNU_EH_FRAME,
			.p_vaddr = 0x1000 + DISTANCE(first),
			.p_filesz = 8};
	module.first[0] = 1;
	module.first[1] = 0x1b;
	module.distance = 50;
	libraries[0] = (struct base_library){.base = (uintptr_t)&module,
			.end = (uintptr_t)&module + 1000,
			.device = 5,
			.inode = 6};
	nr_libraries = 1;
	libraries_error = 0;
	nr_rows = 3;
}

static void assert_frames(bool is_found, size_t wanted_begin)
{
	uint64_t header, begin, end, base = (uintptr_t)&module;
	struct calls_segments segments = {.nr = 0};

	assert_int_equal(probes_calls_read_segments(base, &segments) &&
					find_frames(&segments, &header, &begin, &end),
			is_found);
	if (!is_found)
		return;
	assert_int_equal(header, base + DISTANCE(first));
	assert_int_equal(begin, base + wanted_begin);
	assert_int_equal(end, base + DISTANCE(first) + 40);
}

static void test_frames(void **unused)
{
	(void)unused;
	reset();
	make_image();
	assert_frames(true, DISTANCE(first));
	module.distance = 0;
	assert_frames(true, DISTANCE(first));
	/* The data is before its header. */
	module.distance = -20;
	assert_frames(true, DISTANCE(first) - 16);
	module.first[1] = 0x1c;
	assert_frames(true, DISTANCE(first));
	/* At most 256 MiB. */
	module.first[1] = 0x1b;
	module.distance = -(256 << 20) + 36;
	assert_frames(true, DISTANCE(first) + 40 - (256u << 20));
	module.distance--;
	assert_frames(false, 0);
	make_image();
	module.elf.e_phentsize++;
	assert_frames(false, 0);
	make_image();
	module.elf.e_phnum = 3;
	assert_frames(false, 0);
	make_image();
	module.elf.e_phoff = UINT64_C(1) << 60;
	assert_frames(false, 0);
	/* A header that no segment contains. */
	make_image();
	module.segments[3].p_vaddr += 40;
	assert_frames(false, 0);
	module.segments[3].p_vaddr--;
	module.segments[2].p_filesz = 39;
	assert_frames(false, 0);
	assert_false(probes_calls_read_segments(8, &(struct calls_segments){.nr = 0}));
	/* Segments after the 64th one are not used. */
	make_image();
	module.elf.e_phnum = 65;
	assert_frames(true, DISTANCE(first));
}

static bool has_code(uint64_t start, uint64_t end)
{
	struct calls_segments segments = {.nr = 0};
	struct module_rows block = {.code_start = 0};

	assert_true(probes_calls_read_segments((uintptr_t)&module, &segments));
	probes_calls_find_code(&segments, &block);
	return block.code_start == (start ? (uintptr_t)&module - 0x1000 + start : 0) &&
			block.code_end == (end ? (uintptr_t)&module - 0x1000 + end : 0);
}

static void test_code(void **unused)
{
	(void)unused;
	reset();
	make_image();
	assert_true(has_code(0, 0));
	module.segments[0].p_flags = PF_R | PF_X;
	module.segments[0].p_memsz = 0x20;
	assert_true(has_code(0x1000, 0x1020));
	/* Only mapped segments count. The range contains all of these. */
	module.segments[1].p_flags = PF_R | PF_X;
	module.segments[1].p_memsz = 0x20;
	assert_true(has_code(0x1000, 0x1020));
	module.segments[2].p_flags = PF_X;
	module.segments[2].p_memsz = 0x10;
	assert_true(has_code(0x1000, 0x1000 + DISTANCE(first) + 0x10));
	/* Later segments may have code, too. */
	module.elf.e_phnum = 64;
	assert_true(has_code(0, 0));
}

static uint32_t walk(const uint64_t *stack, bool leaves, const char *wanted)
{
	static struct probes_window window;
	struct probes_block block = {0};
	struct patch_hit hit = {.address = 71,
			.stack = (uint64_t *)(uintptr_t)stack,
			.returns_to = 72,
			.registers.rbp = 73};
	uint64_t to[9];
	uint32_t nr = probe_calls(to, 9, &hit, leaves, &block, &window);

	assert_called(wanted);
	assert_true(seen_memory.user == &window && seen_memory.read == probes_call_read_word);
	/* Cached steps only on a stack whose end is known, and only during the walk. */
	assert_true(!!seen_memory.steps == (current && seen_memory.stack_end));
	assert_true(!current || !current->steps[0].is_used);
	assert_true(window.stack == stack && window.block == &block && !window.size &&
			!window.reading);
	assert_true(seen_state.stack == (uintptr_t)stack && seen_state.frame == 73);
	assert_true(seen_state.pc == (leaves ? 72 : 71) && seen_state.exact == !leaves);
	return nr;
}

static void test_modules(void **unused)
{
	struct resources before;
	char wanted[256];

	(void)unused;
	reset();
	make_image();
	agent_memory_trim();
	before = resources_now();
	played.may_ask = false;
	probe_calls_update(false);
	assert_int_equal(walk(stack_at(4096), false, "walk by frames\n"), 5);
	probe_calls_update(true);
	snprintf(wanted, sizeof(wanted), "build 40 at %zu, header %zu, lowest 0\n", DISTANCE(first),
			DISTANCE(first));
	assert_called(wanted);
	assert_false(probe_calls_has_retired());
	walk(stack_at(4096), true, "walk 0-1000: 3\n");
	/* Nothing has changed. */
	probe_calls_update(true);
	assert_called("");
	assert_false(probe_calls_has_retired());
	/* A module below it, without data of the unwinder. */
	libraries[1] = (struct base_library){
			.base = (uintptr_t)&module - 64, .end = (uintptr_t)&module};
	libraries[2] = (struct base_library){
			.base = (uintptr_t)&module + 2000, .end = (uintptr_t)&module + 2001};
	nr_libraries = 3;
	nr_rows = 0;
	probe_calls_update(true);
	assert_called("build 0 at -1, header -1, lowest -64\nbuild 0 at -1, header -1, lowest 2000\n");
	walk(stack_at(4096), false, "walk -64-0: 0 0-1000: 3 2000-2001: 0\n");
	assert_true(retired.snapshots && !retired.snapshots->next && !retired.blocks);
	probe_calls_free_retired();
	assert_false(probe_calls_has_retired());
	/* Another file at the same address, which differs in each identifying member in turn. */
	for (int i = 0; i < 3; i++) {
		libraries[2].end += i == 0;
		libraries[2].device += i == 1;
		libraries[2].inode += i == 2;
		probe_calls_update(true);
		assert_called("build 0 at -1, header -1, lowest 2000\n");
		assert_true(retired.snapshots && retired.blocks && !retired.blocks->next);
		probe_calls_free_retired();
	}
	libraries_error = -ENOMEM;
	nr_libraries = 0;
	probe_calls_update(true);
	assert_false(probe_calls_has_retired());
	libraries_error = 0;
	nr_libraries = 1;
	probe_calls_update(true);
	walk(stack_at(4096), false, "walk 0-1000: 3\n");
	probe_calls_free_retired();
	/* The data cannot be read: there are no rows, and it is not searched again. */
	libraries[0].inode++;
	module.distance = -4096 * 100;
	probe_calls_update(true);
	snprintf(wanted, sizeof(wanted), "build %zu at %d, header -1, lowest 0\n",
			(size_t)(409600 - 4 + 40), (int)DISTANCE(first) - 409600 + 4);
	assert_called(wanted);
	probe_calls_update(false);
	walk(stack_at(4096), false, "walk by frames\n");
	assert_true(probe_calls_has_retired());
	probe_calls_free_retired();
	played.no_memory = true;
	probe_calls_update(true);
	assert_called("");
	walk(stack_at(4096), false, "walk by frames\n");
	assert_true(!current && !blocks && !probe_calls_has_retired());
	assert_int_equal(resources_now().bytes, before.bytes);
}

/* ---- the stack ---- */

static void test_stack(void **unused)
{
	uint64_t here = (uintptr_t)&here / 4096, end = here + 20;

	(void)unused;
	reset();
	assert_true(probes_call_is_in_range(10, 11) && probes_call_is_in_range(10, 138) &&
			!probes_call_is_in_range(10, 139) && !probes_call_is_in_range(10, 10) &&
			!probes_call_is_in_range(10, 9));
	/* The begin of the first thread's stack is the loader's. */
	known_stack = 0;
	assert_int_equal(end_of_stack((uintptr_t)__libc_stack_end / 4096),
			(uintptr_t)__libc_stack_end / 4096 + 1);
	assert_int_equal(end_of_stack((uintptr_t)__libc_stack_end / 4096 - 127),
			(uintptr_t)__libc_stack_end / 4096 + 1);
	assert_int_equal(end_of_stack((uintptr_t)__libc_stack_end / 4096 - 128), 0);
	played.is_other_thread = true;
	assert_int_equal(end_of_stack(own_control_block() / 4096 - 3),
			own_control_block() / 4096 + 1);
	known_stack = end << PAGES_BITS | 2;
	assert_int_equal(end_of_stack(here), end);
	played.is_other_thread = false;
	known_stack = 0;
}

static void test_known_stack(void **unused)
{
	struct unwind_memory memory;
	struct probes_block block = {0};
	uint64_t page = at(4096) / 4096;

	(void)unused;
	reset();
	/* In a sandbox: the page of the stack pointer. */
	played.may_ask = false;
	known_stack = 0;
	set_memory(&memory, stack_at(4096 + 8), &block);
	assert_true(memory.low == at(4096) && memory.high == at(8192) && !known_stack);
	/* Known pages. */
	known_stack = page << PAGES_BITS | 7;
	set_memory(&memory, stack_at(4096 + 8), &block);
	assert_true(memory.low == at(4096) && memory.high == at(8 * 4096));
	set_memory(&memory, stack_at(4088), &block);
	assert_true(memory.low == at(0) && memory.high == at(4096));
	known_stack = page << PAGES_BITS | 1;
	set_memory(&memory, stack_at(4096), &block);
	assert_true(memory.high == at(8192));
	known_stack = (page - 1) << PAGES_BITS | 1;
	set_memory(&memory, stack_at(4096), &block);
	assert_true(memory.low == at(4096) && memory.high == at(8192));
	/* One more page that exists, adjacent to the known ones. */
	played.may_ask = true;
	known_stack = page << PAGES_BITS | 7;
	probes_calls_check_stack(page - 1, &block);
	assert_called("ask\n");
	assert_int_equal(known_stack, (page - 1) << PAGES_BITS | 8);
	known_stack = page << PAGES_BITS | 7;
	played.no_block = true;
	probes_calls_check_stack(page - 1, &block);
	assert_called("");
	assert_int_equal(known_stack, page << PAGES_BITS | 7);
	/* A missing page is between them. */
	played.no_block = false;
	known_stack = (page + 2) << PAGES_BITS | 7;
	probes_calls_check_stack(page, &block);
	assert_called("ask\n");
	assert_int_equal(known_stack, (page + 2) << PAGES_BITS | 7);
	known_stack = 0;
}

/* Words that are not on the stack: up to the end of their page, once. */
static void test_words(void **unused)
{
	struct probes_block block = {0};
	struct probes_window window = {.block = &block, .stack = stack_at(4096)};
	uint64_t value, wanted;

	(void)unused;
	reset();
	assert_true(probes_call_read_word(&window, at(80), &value));
	assert_called("read 80 4016\nask\nknown 80 4016\n");
	memcpy(&wanted, pages + 80, 8);
	assert_int_equal(value, wanted);
	assert_true(probes_call_read_word(&window, at(4088), &value));
	assert_called("");
	memcpy(&wanted, pages + 4088, 8);
	assert_int_equal(value, wanted);
	assert_true(probes_call_read_word(&window, at(72), &value));
	assert_called("read 72 4024\nask\nknown 72 4024\n");
	assert_true(probes_call_read_word(&window, at(4096), &value));
	assert_called("");
	assert_false(probes_call_read_word(&window, at(8192), &value));
	assert_called("read 8192 4096\nask\n");
	assert_false(probes_call_read_word(&window, at(8200), &value));
	assert_int_equal(window.size, 0);
	played.no_block = true;
	assert_false(probes_call_read_word(&window, at(80), &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_reads),
			cmocka_unit_test(test_pages),
			cmocka_unit_test(test_strings),
			cmocka_unit_test(test_return_addresses),
			cmocka_unit_test(test_strings_of_return_addresses),
			cmocka_unit_test(test_frames),
			cmocka_unit_test(test_code),
			cmocka_unit_test(test_modules),
			cmocka_unit_test(test_stack),
			cmocka_unit_test(test_known_stack),
			cmocka_unit_test(test_words),
	};

	pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + 8192, 4096, PROT_NONE))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL) | munmap(pages, 3 * 4096);
}
