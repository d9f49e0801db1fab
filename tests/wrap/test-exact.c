/* SPDX-License-Identifier: MIT */
/*
 * Details of the wrappers: which callers are tracers, how deep events nest, blocks of the early
 * area, the event of each function of the allocator. The test includes the files, with other names
 * for their functions, so that it decides what they call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <side/tracer-extensions.h>

#include "../check.h"

/* ---- wrapped functions ---- */

static char block[4096];
static struct {
	char function[24];
	const void *pointer;
	size_t size, count;
	unsigned int nr;
} behind_call;

static void *note_call(const char *function, const void *pointer, size_t count, size_t size)
{
	strcpy(behind_call.function, function);
	behind_call.pointer = pointer;
	behind_call.count = count;
	behind_call.size = size;
	behind_call.nr++;
	errno = EAGAIN;
	return block;
}

static void *real_malloc(size_t size)
{
	return note_call("malloc", NULL, 0, size);
}

static void *real_calloc(size_t count, size_t size)
{
	return note_call("calloc", NULL, count, size);
}

static void *real_realloc(void *pointer, size_t size)
{
	return note_call("realloc", pointer, 0, size);
}

static void *real_reallocarray(void *pointer, size_t count, size_t size)
{
	return note_call("reallocarray", pointer, count, size);
}

static void real_free(void *pointer)
{
	(void)note_call("free", pointer, 0, 0);
}

static int memalign_result;

static int real_posix_memalign(void **pointer, size_t alignment, size_t size)
{
	*pointer = note_call("posix_memalign", NULL, alignment, size);
	return memalign_result;
}

static void *real_aligned_alloc(size_t alignment, size_t size)
{
	return note_call("aligned_alloc", NULL, alignment, size);
}

static void *real_memalign(size_t alignment, size_t size)
{
	return note_call("memalign", NULL, alignment, size);
}

static void *real_valloc(size_t size)
{
	return note_call("valloc", NULL, 0, size);
}

static void *real_pvalloc(size_t size)
{
	return note_call("pvalloc", NULL, 0, size);
}

static size_t real_malloc_usable_size(void *pointer)
{
	(void)note_call("malloc_usable_size", pointer, 0, 0);
	return 99;
}

static unsigned int nr_ignored, nr_recorders, nr_allocator_notes, nr_walks, nr_versions;
static const void *ignored;

static void ignore_leak(const void *pointer)
{
	nr_ignored++;
	ignored = pointer;
}

static void count_recorder(void)
{
	nr_recorders++;
	errno = EIO;
}

static void note_allocator(void)
{
	nr_allocator_notes++;
}

static bool has_leaks, has_recorder, has_note, is_ready, has_malloc = true;
static void (*while_finding)(void);

#define REAL(name)                                 \
	{                                          \
#name, (void (*)(void))real_##name \
	}
static const struct {
	const char *name;
	void (*function)(void);
} behind[] = {REAL(malloc), REAL(calloc), REAL(realloc), REAL(reallocarray), REAL(free),
		REAL(posix_memalign), REAL(aligned_alloc), REAL(memalign), REAL(valloc),
		REAL(pvalloc), REAL(malloc_usable_size)};

static void *address_of(void (*function)(void))
{
	void *address;

	memcpy(&address, &function, sizeof(address));
	return address;
}

static unsigned int nr_lookups;

static void *fake_dlsym(void *handle, const char *name)
{
	nr_lookups++;
	errno = ENOENT;
	if (handle == RTLD_DEFAULT) {
		if (!strcmp(name, "__lsan_ignore_object"))
			return has_leaks ? address_of((void (*)(void))ignore_leak) : NULL;
		if (!strcmp(name, "side_agent_start"))
			return has_recorder ? address_of(count_recorder) : NULL;
		if (!strcmp(name, "side_agent_note_allocator"))
			return has_note ? address_of(note_allocator) : NULL;
		CHECK(!strcmp(name, "malloc"));
		return has_malloc ? address_of((void (*)(void))real_malloc) : NULL;
	}
	CHECK(handle == RTLD_NEXT);
	if (while_finding)
		while_finding();
	for (size_t i = 0; i < sizeof(behind) / sizeof(*behind); i++)
		if (!strcmp(behind[i].name, name))
			return address_of(behind[i].function);
	return NULL;
}

static void *fake_dlvsym(void *handle, const char *name, const char *version)
{
	CHECK(handle == RTLD_NEXT && !strcmp(name, "calloc"));
	nr_versions++;
	return !strcmp(version, "NEW") ? address_of((void (*)(void))real_free) : NULL;
}

static int self_base, called_base, fails_for;

/* The first call is about the wrapper itself. */
static int fake_dladdr(const void *address, Dl_info *info)
{
	bool is_malloc = address == address_of((void (*)(void))real_malloc);

	*info = (Dl_info){.dli_fbase = is_malloc ? (void *)&called_base : (void *)&self_base};
	if (called_base)
		info->dli_fbase = (void *)&self_base;
	return fails_for != (is_malloc ? 2 : 1);
}

static int fake_iterate(
		int (*callback)(struct dl_phdr_info *info, size_t size, void *data), void *data)
{
	(void)callback;
	(void)data;
	nr_walks++;
	errno = EIO;
	return 0;
}

static bool fake_ready(void)
{
	return is_ready;
}

static struct {
	ElfW(Ehdr) header;
	ElfW(Phdr) parts[5];
} linker_image;
static bool has_linker;

static unsigned long fake_auxval(unsigned long type)
{
	CHECK(type == AT_BASE);
	return has_linker ? (unsigned long)(uintptr_t)&linker_image : 0;
}

static unsigned int nr_registrations;

static void fake_register(void)
{
	CHECK(nr_walks == nr_registrations + 1);
	nr_registrations++;
}

#define WRAP_OWN wrap_own_test
#define side_event_description_ptr_init fake_register
#define dlsym fake_dlsym
#define dlvsym fake_dlvsym
#define dladdr fake_dladdr
#define dl_iterate_phdr fake_iterate
#define environment_is_ready fake_ready
#define getauxval fake_auxval
#include "tracers/wrap/wrap.c"

/* libc-operators.c has a test of its own. */
#include "tracers/wrap/memory.h"
__thread const void *wrap_memory_last __attribute__((tls_model("initial-exec")));
static unsigned int nr_operators_starts;

void wrap_operators_start(void *next_malloc)
{
	void *(*wanted)(size_t) = real_malloc;

	CHECK(!memcmp(&next_malloc, &wanted, sizeof(wanted)));
	nr_operators_starts++;
}

#define malloc wrap_malloc
#define calloc wrap_calloc
#define realloc wrap_realloc
#define reallocarray wrap_reallocarray
#define free wrap_free
#define posix_memalign wrap_posix_memalign
#define aligned_alloc wrap_aligned_alloc
#define memalign wrap_memalign
#define valloc wrap_valloc
#define pvalloc wrap_pvalloc
#define malloc_usable_size wrap_malloc_usable_size
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *pointer, size_t size);
void *reallocarray(void *pointer, size_t count, size_t size);
void free(void *pointer);
int posix_memalign(void **pointer, size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);
size_t malloc_usable_size(void *pointer);
#include "tracers/wrap/libc-memory.c"

/* ---- tracers ---- */

static void add_object(const char *name, uintptr_t base, const ElfW(Phdr) * parts, int nr)
{
	struct dl_phdr_info info = {.dlpi_name = name,
			.dlpi_addr = base,
			.dlpi_phdr = parts,
			.dlpi_phnum = (ElfW(Half))nr};

	CHECK(wrap_record_object(&info, sizeof(info), NULL) == 0);
}

static void test_tracers(void)
{
	const ElfW(Phdr) parts[] = {
			{.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0, .p_memsz = 0x1000},
			{.p_type = PT_LOAD,
					.p_flags = PF_R | PF_X,
					.p_vaddr = 0x1000,
					.p_memsz = 0x500},
			{.p_type = PT_NOTE, .p_flags = PF_X, .p_vaddr = 0x2000, .p_memsz = 0x500},
			{.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x3000, .p_memsz = 0x10}};

	add_object("/lib/libother.so", 0x10000, parts, 4);
	add_object("/lib/libside-wrap-libc.so", 0x10000, parts, 4);
	add_object("/libside/libc.so", 0x10000, parts, 4);
	CHECK(nr_tracers == 0 && !wrap_is_tracer((void *)0x11000) && !wrap_is_tracer(NULL));
	add_object("/lib/libside.so.0", 0x10000, parts, 4);
	CHECK(nr_tracers == 2);
	CHECK(!wrap_is_tracer((void *)0x10fff) && wrap_is_tracer((void *)0x11000) &&
			wrap_is_tracer((void *)0x114ff));
	CHECK(!wrap_is_tracer((void *)0x11500) && !wrap_is_tracer((void *)0x12000) &&
			wrap_is_tracer((void *)0x1300f));
	CHECK(!wrap_is_tracer((void *)0x13010));
	add_object("libside-agent.so", 0x20000, parts, 2);
	CHECK(nr_tracers == 3 && wrap_is_tracer((void *)0x21000));
	/* Sixteen segments, and no more. */
	for (uintptr_t i = 3; i < 16; i++)
		add_object("/x/libside-y.so", 0x10000 * i, parts, 2);
	CHECK(nr_tracers == 16 && wrap_is_tracer((void *)0xf1000));
	add_object("/x/libside-y.so", 0x100000, parts, 2);
	CHECK(nr_tracers == 16 && !wrap_is_tracer((void *)0x101000));
	nr_tracers = 0;
	/* Addresses after the last range, or the last segment, do not count. */
	CHECK(!wrap_is_tracer((void *)0x11000));
	add_object("/lib/libside.so.0", 0x10000, parts, 3);
	CHECK(nr_tracers == 1 && wrap_is_tracer((void *)0x11000) &&
			!wrap_is_tracer((void *)0x13000));
	nr_tracers = 0;
}

static void test_depth(void)
{
	wrap_depth = 0;
	for (int i = 0; i < WRAP_DEPTH_MAX; i++)
		CHECK(wrap_enter(&block) && wrap_depth == i + 1);
	CHECK(!wrap_enter(&block) && wrap_depth == 4);
	wrap_leave();
	CHECK(wrap_depth == 3 && wrap_enter(&block));
	wrap_depth = 0;
	wrap_own_test(true);
	CHECK(wrap_depth == 4 && !wrap_enter(&block));
	wrap_own_test(true);
	CHECK(wrap_depth == 8);
	wrap_own_test(false);
	wrap_own_test(false);
	CHECK(wrap_depth == 0);
	tracers[0] = (struct tracer_text){0x1000, 0x2000};
	nr_tracers = 1;
	CHECK(!wrap_enter((void *)0x1500) && wrap_depth == 0 && wrap_enter((void *)0x2000));
	nr_tracers = 0;
	wrap_depth = 0;
}

static void test_next(void)
{
	errno = E2BIG;
	CHECK(wrap_next("malloc", NULL) == address_of((void (*)(void))real_malloc) &&
			errno == E2BIG && nr_versions == 0);
	CHECK(wrap_next("calloc", "NEW") == address_of((void (*)(void))real_free) &&
			nr_versions == 1);
	/* There is no such version: the default one is used. */
	CHECK(wrap_next("calloc", "OLD") == address_of((void (*)(void))real_calloc) &&
			nr_versions == 2);
	CHECK(wrap_next("nothing", NULL) == NULL && errno == E2BIG);
}

/* ---- the start ---- */

static void test_start(void)
{
	has_recorder = true;
	is_ready = false;
	wrap_start();
	CHECK(nr_walks == 0 && nr_recorders == 0 && nr_registrations == 0);
	is_ready = true;
	errno = E2BIG;
	wrap_loaded();
	CHECK(nr_walks == 1 && nr_recorders == 1 && nr_registrations == 1 && errno == E2BIG);
	wrap_start();
	wrap_loaded();
	CHECK(nr_walks == 1 && nr_recorders == 1 && nr_registrations == 1);
}

/* ---- the early area ---- */

static void *early[5];

/* Allocations during the search for the functions. */
static void ask_early(void)
{
	void *pointer = NULL;

	while_finding = NULL;
	early[0] = wrap_malloc(5);
	early[1] = wrap_calloc(3, 7);
	CHECK(wrap_memory_is_early(early[0]) && wrap_memory_is_early(early[1]) &&
			wrap_memory_early_size(early[0]) == 5 &&
			wrap_memory_early_size(early[1]) == 21);
	memcpy(early[0], "12345", 5);
	early[2] = wrap_realloc(early[0], 9);
	CHECK(wrap_memory_is_early(early[2]) && early[2] != early[0] &&
			!memcmp(early[2], "12345\0\0\0", 9));
	CHECK(!memcmp(wrap_realloc(early[2], 3), "123", 3));
	early[3] = wrap_realloc(NULL, 4);
	early[4] = wrap_reallocarray(NULL, 2, 3);
	CHECK(wrap_memory_is_early(early[3]) && wrap_memory_early_size(early[3]) == 4 &&
			wrap_memory_is_early(early[4]) && wrap_memory_early_size(early[4]) == 6);
	/* Each block has the alignment that the allocator promises. */
	for (size_t i = 0; i < sizeof(early) / sizeof(*early); i++)
		CHECK((uintptr_t)early[i] % 16 == 0);
	errno = 0;
	CHECK(!wrap_calloc(SIZE_MAX / 2, 3) && errno == ENOMEM);
	errno = 0;
	CHECK(!wrap_reallocarray(NULL, SIZE_MAX / 2, 3) && errno == ENOMEM);
	/* The product is 0. */
	CHECK(!wrap_calloc(SIZE_MAX / 2 + 1, 2) && !wrap_reallocarray(NULL, SIZE_MAX / 2 + 1, 2));
	CHECK(wrap_memory_early_size(wrap_calloc(0, 3)) == 0 &&
			wrap_memory_early_size(wrap_calloc(3, 0)) == 0);
	CHECK(wrap_memory_early_size(wrap_reallocarray(early[1], 2, 8)) == 16);
	wrap_free(early[2]);
	wrap_free(block);
	CHECK(behind_call.nr == 0);
	CHECK(wrap_posix_memalign(&pointer, 64, 5) == 0 && wrap_memory_is_early(pointer) &&
			(uintptr_t)pointer % 64 == 0);
	CHECK(wrap_posix_memalign(&pointer, 64, 70000) == ENOMEM && !pointer);
	CHECK((uintptr_t)wrap_aligned_alloc(128, 5) % 128 == 0 &&
			(uintptr_t)wrap_memalign(256, 5) % 256 == 0);
	pointer = wrap_valloc(5);
	CHECK((uintptr_t)pointer % 4096 == 0 && wrap_memory_early_size(pointer) == 5);
	pointer = wrap_pvalloc(4097);
	CHECK((uintptr_t)pointer % 4096 == 0 && wrap_memory_early_size(pointer) == 8192);
	CHECK(wrap_malloc_usable_size(early[1]) == 21 && wrap_malloc_usable_size(block) == 0);
	CHECK(behind_call.nr == 0);
}

static void test_early(void)
{
	while_finding = ask_early;
	has_leaks = true;
	/* A static program has none. */
	has_linker = false;
	wrap_memory_find_linker();
	CHECK(linker.begin == 0 && linker.size == 0);
	has_linker = true;
	/* The largest segment is the first one, and no other kind counts. */
	linker_image.header = (ElfW(Ehdr)){.e_phoff = sizeof(ElfW(Ehdr)), .e_phnum = 2};
	linker_image.parts[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = 0x20, .p_memsz = 0x100};
	linker_image.parts[1] = (ElfW(Phdr)){.p_type = PT_NOTE, .p_vaddr = 0x300, .p_memsz = 0x50};
	wrap_memory_find_linker();
	CHECK(linker.begin == (uintptr_t)&linker_image && linker.size == 0x120);
	linker.begin = linker.size = 0;
	linker_image.header = (ElfW(Ehdr)){.e_phoff = sizeof(ElfW(Ehdr)), .e_phnum = 4};
	linker_image.parts[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = 0x100};
	linker_image.parts[1] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = 0x300, .p_memsz = 0x50};
	linker_image.parts[2] = (ElfW(Phdr)){.p_type = PT_NOTE, .p_vaddr = 0x900, .p_memsz = 0x50};
	linker_image.parts[3] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = 0x340, .p_memsz = 0x40};
	linker_image.parts[4] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = 0x900, .p_memsz = 0x50};
	CHECK(wrap_malloc(6) == block && !strcmp(behind_call.function, "malloc") &&
			behind_call.size == 6);
	CHECK(early[0] && !finding && next_found && nr_operators_starts == 1);
	CHECK(wrap_memory_last == block);
	/* The functions are searched once. */
	nr_lookups = 0;
	CHECK(wrap_malloc(6) == block && nr_lookups == 0);
	CHECK(linker.begin == (uintptr_t)&linker_image && linker.size == 0x380);
	/* Blocks for the dynamic linker do not count as leaks. */
	CHECK(wrap_memory_ignore_linker_leak(block, (void *)((uintptr_t)&linker_image + 0x37f)) ==
					block &&
			nr_ignored == 1 && ignored == block);
	CHECK(wrap_memory_ignore_linker_leak(block, (void *)((uintptr_t)&linker_image + 0x380)) ==
					block &&
			nr_ignored == 1);
	CHECK(wrap_memory_ignore_linker_leak(NULL, &linker_image) == NULL && nr_ignored == 1);
	CHECK(wrap_memory_ignore_linker_leak(block, &linker_image) == block && nr_ignored == 2);
	/* An early block moves to the allocator, and is never passed to it. */
	behind_call.nr = 0;
	CHECK(wrap_realloc(early[1], 30) == block && !strcmp(behind_call.function, "malloc") &&
			behind_call.size == 30);
	CHECK(wrap_reallocarray(early[1], 5, 6) == block && behind_call.size == 30 &&
			behind_call.nr == 2);
	memset(block, 'x', 64);
	CHECK(wrap_realloc(early[1], 30) == block && !block[20] && block[21] == 'x');
	CHECK(wrap_realloc(early[1], 4) == block);
	wrap_free(early[1]);
	CHECK(behind_call.nr == 4 && wrap_malloc_usable_size(early[1]) == 21 &&
			behind_call.nr == 4);
	CHECK(wrap_malloc_usable_size(block) == 99 && behind_call.nr == 5);
	next.ignore_leak = NULL;
}

static void test_early_limits(void)
{
	char *first = wrap_memory_early_alloc(16, 1), *second = wrap_memory_early_alloc(16, 17),
	     *third = wrap_memory_early_alloc(16, 0);
	size_t left;

	/* The header of a block is after the last byte of the previous block. */
	CHECK(second == first + 32 && third == second + 48);
	CHECK(!wrap_memory_early_alloc(16, sizeof(early_area) + 1) &&
			!wrap_memory_early_alloc(sizeof(early_area) * 2, 1));
	left = sizeof(early_area) - (early_used + 16 + 15) / 16 * 16;
	errno = 0;
	CHECK(!wrap_memory_early_alloc(16, left + 1) && errno == ENOMEM);
	CHECK(wrap_memory_early_alloc(1, left) == early_area + sizeof(early_area) - left &&
			early_used == sizeof(early_area));
	errno = 0;
	CHECK(!wrap_memory_early_alloc(16, 0) && errno == ENOMEM);
	CHECK(wrap_memory_is_early(early_area) &&
			wrap_memory_is_early(early_area + sizeof(early_area) - 1));
	CHECK(!wrap_memory_is_early(early_area + sizeof(early_area)) &&
			!wrap_memory_is_early(early_area - 1));
}

/* ---- events ---- */

static struct {
	char text[256];
	unsigned int nr, when;
	bool allocates;
} seen;

static void see(const struct side_event_description *event, const struct side_arg_vec *args,
		void *data, void *caller)
{
	(void)data;
	(void)caller;
	seen.nr++;
	seen.when = behind_call.nr;
	sprintf(seen.text, "%s", (const char *)side_ptr_get(event->event_name));
	for (uint32_t i = 0; i + 1 < args->len; i++) {
		const struct side_arg *arg = &side_ptr_get(args->sav)[i];

		if (arg->type.v == SIDE_TYPE_POINTER)
			strcat(seen.text,
					!arg->u.side_static.integer_value.side_uptr ? " null"
							: arg->u.side_static.integer_value
											.side_uptr ==
									(uintptr_t)block
							? " block"
							: " other");
		else if (arg->type.v == SIDE_TYPE_S32)
			sprintf(seen.text + strlen(seen.text), " %d",
					arg->u.side_static.integer_value.side_s32);
		else
			sprintf(seen.text + strlen(seen.text), " %llu",
					(unsigned long long)
							arg->u.side_static.integer_value.side_u64);
	}
	errno = EIO;
	/* Emit an event inside an event, until the depth limit. */
	if (seen.allocates)
		(void)wrap_malloc(1);
}

static struct side_event_description **all_events(size_t *nr)
{
	static struct side_event_description *events[16];
	events[0] = &event_malloc;
	events[1] = &event_calloc;
	events[2] = &event_realloc;
	events[3] = &event_reallocarray;
	events[4] = &event_free;
	events[5] = &event_posix_memalign;
	events[6] = &event_aligned_alloc;
	events[7] = &event_memalign;
	events[8] = &event_valloc;
	events[9] = &event_pvalloc;
	*nr = 10;
	return events;
}

#define EVENT(call, wanted)                                    \
	do {                                                   \
		unsigned int before = seen.nr;                 \
		behind_call.nr = 0;                            \
		CHECK(call);                                   \
		CHECK(seen.nr == before + 1);                  \
		CHECK(!strcmp(seen.text, wanted));             \
		CHECK(errno == EAGAIN && behind_call.nr == 1); \
	} while (0)

static void test_events(void)
{
	struct side_event_description **events;
	void *pointer;
	size_t nr;

	events = all_events(&nr);
	for (size_t i = 0; i < nr; i++)
		CHECK(side_tracer_callback_register(events[i], see, NULL, 0) == SIDE_ERROR_OK);
	EVENT(wrap_malloc(6) == block, "malloc 6 block");
	EVENT(wrap_calloc(7, 8) == block && behind_call.count == 7 && behind_call.size == 8,
			"calloc 7 8 block");
	EVENT(wrap_realloc(&nr, 9) == block && behind_call.pointer == &nr && behind_call.size == 9,
			"realloc other 9 block");
	EVENT(wrap_reallocarray(&nr, 10, 11) == block && behind_call.pointer == &nr &&
					behind_call.count == 10,
			"reallocarray other 10 11 block");
	EVENT((wrap_free(block), behind_call.pointer == block), "free block");
	/* A block is free in the trace before another thread can have it. */
	CHECK(seen.when == 0);
	EVENT(wrap_posix_memalign(&pointer, 32, 12) == 0 && pointer == block,
			"posix_memalign 32 12 block 0");
	CHECK(seen.when == 1);
	memalign_result = EINVAL;
	EVENT(wrap_posix_memalign(&pointer, 33, 12) == EINVAL, "posix_memalign 33 12 null 22");
	EVENT(wrap_aligned_alloc(34, 13) == block && behind_call.count == 34 &&
					behind_call.size == 13,
			"aligned_alloc 34 13 block");
	EVENT(wrap_memalign(35, 14) == block && behind_call.count == 35 && behind_call.size == 14,
			"memalign 35 14 block");
	EVENT(wrap_valloc(15) == block, "valloc 15 block");
	EVENT(wrap_pvalloc(16) == block, "pvalloc 16 block");
	seen.nr = 0;
	seen.allocates = true;
	(void)wrap_malloc(1);
	CHECK(seen.nr == 4 && wrap_depth == 0);
	seen.allocates = false;
	for (size_t i = 0; i < nr; i++)
		CHECK(side_tracer_callback_unregister(events[i], see, NULL, 0) == SIDE_ERROR_OK);
	(void)wrap_malloc(1);
	CHECK(seen.nr == 4);
}

/* ---- the called allocator ---- */

static void test_order(void)
{
	has_note = true;
	wrap_memory_check_order();
	CHECK(nr_allocator_notes == 1);
	has_note = false;
	wrap_memory_check_order();
	CHECK(nr_allocator_notes == 1);
	has_note = true;
	has_malloc = false;
	wrap_memory_check_order();
	has_malloc = true;
	fails_for = 1;
	wrap_memory_check_order();
	fails_for = 2;
	wrap_memory_check_order();
	fails_for = 0;
	CHECK(nr_allocator_notes == 1);
	called_base = 1;
	wrap_memory_check_order();
	CHECK(nr_allocator_notes == 1);
}

int main(void)
{
	/* Constructors that ran before could find nothing. */
	nr_walks = nr_recorders = 0;
	behind_call.nr = 0;
	test_start();
	test_tracers();
	test_depth();
	test_next();
	test_early();
	test_early_limits();
	test_events();
	test_order();
	return 0;
}
