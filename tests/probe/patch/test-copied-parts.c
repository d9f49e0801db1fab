/* SPDX-License-Identifier: MIT */
/*
 * Copies of probed code, in memory that the test fills byte by byte: which copies are recognized,
 * what is written to them and in which steps, and what is left alone. The test includes the file,
 * so that it can call its static functions, and plays springboards, callers and filters. A hook
 * sees each system call.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "probe/patch/arena.h"

#include "../../check.h"
#include "../../resources.h"

static uint64_t springboards[4][2];
static size_t nr_springboards;
static bool is_filtered, called_from_file;
static void (*at_read)(void), (*at_barrier)(void);
static unsigned int nr_yields;

static bool fake_springboard_at(size_t index, uint64_t *ret_address, uint64_t *ret_site)
{
	if (index >= nr_springboards)
		return false;
	*ret_address = springboards[index][0];
	*ret_site = springboards[index][1];
	return true;
}

static bool fake_is_guarded(void)
{
	return is_filtered;
}

static const struct patch_code *fake_caller(uint64_t address)
{
	(void)address;
	return called_from_file ? &patch_no_code : NULL;
}

static long hooked_call(long number, long a, long b, long c, long d, long e, long f);

#define patch_springboard_at fake_springboard_at
#define patch_is_guarded fake_is_guarded
#define patch_caller fake_caller
#define patch_system_call hooked_call
#include "probe/patch/copied.c"
#undef patch_system_call

static long hooked_call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	/* Each of them takes long on a loaded machine. */
	CHECK(!f &&
			(number == SYS_process_vm_readv ? a == getpid() && c == 1 && e == 1
							: !b && !c && !d && !e));
	CHECK(number != SYS_membarrier || a == MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
	CHECK((number != SYS_sched_yield && number != SYS_getpid) || !a);
	if (number == SYS_sched_yield) {
		nr_yields++;
		return 0;
	}
	result = patch_system_call(number, a, b, c, d, e, f);

	if (number == SYS_process_vm_readv && at_read)
		at_read();
	if (number == SYS_membarrier && at_barrier)
		at_barrier();
	return result;
}

#define PAGES 40
#define BYTES (PAGES * PATCH_PAGE)

/* Sites in one block, copies in the other; memory that is not mapped is around both. */
static uint8_t *sites, *copies;

static uint64_t address_of(const uint8_t *at)
{
	return (uint64_t)(uintptr_t)at;
}

static uint8_t *map_block(int protection)
{
	uint8_t *pages = mmap(NULL, BYTES + 2 * PATCH_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	CHECK(pages != MAP_FAILED && !mprotect(pages + PATCH_PAGE, BYTES, protection));
	return pages + PATCH_PAGE;
}

static struct patch patches[4];
static struct patch *const all[] = {&patches[0], &patches[1], &patches[2], &patches[3]};

static void clear(void)
{
	patch_locations_forget();
	memset(patches, 0, sizeof(patches));
	memset(healed, 0, sizeof(healed));
	nr_healed = 0;
	healing = 0;
	is_healing = 0;
	nr_springboards = 0;
	is_filtered = called_from_file = false;
	at_read = at_barrier = NULL;
	for (size_t i = 0; i < BYTES; i++) {
		sites[i] = (uint8_t)(i * 7 + i / 256 * 13 + 1);
		copies[i] = 0x90;
	}
}

/* A probe whose site has the program's bytes, and then those of the probe. */
static struct patch *set(unsigned int index, size_t at, enum probe_method method,
		unsigned int patched, uint64_t trampoline)
{
	struct patch *patch = &patches[index];
	struct patch **list = patch_location_list(address_of(sites + at));
	int32_t distance = (int32_t)(trampoline - (address_of(sites + at) + PROBE_JUMP_BYTES));

	*patch = (struct patch){.site = {.runtime = address_of(sites + at),
						.nr_bytes = 8,
						.patched = (uint8_t)patched},
			.method = method,
			.armed = true,
			.trampoline = trampoline,
			.next = *list};
	memcpy(patch->site.bytes, sites + at, 8);
	patch->bytes[0] = method == PROBE_BREAKPOINT ? TRAP_BYTE
			: method == PROBE_SHORT      ? SHORT_JUMP
						     : JUMP;
	memcpy(patch->bytes + 1, &distance, sizeof(distance));
	memcpy(sites + at, patch->bytes, patch_bytes(patch));
	*list = patch;
	return patch;
}

static void copy_code(size_t to, size_t from, size_t size)
{
	memcpy(copies + to, sites + from, size);
}

/* ---- healing ---- */

static void test_healed(void)
{
	uint8_t there[4];

	clear();
	CHECK(patch_copied_read_memory(address_of(copies + BYTES - 4), there, 4) &&
			there[3] == 0x90);
	CHECK(!patch_copied_read_memory(address_of(copies + BYTES - 3), there, 4) &&
			!patch_copied_read_memory(16, there, 1));
	CHECK(!patch_copied_is_healed(0) && !patch_copied_is_healed(500));
	patch_copied_begin_healing(500);
	CHECK(is_healing == 1 && healing == 500 && patch_copied_is_healed(500) &&
			!patch_copied_is_healed(501) && !patch_copied_is_healed(0));
	patch_copied_end_healing(500);
	CHECK(!is_healing && !healing && patch_copied_is_healed(500) && nr_healed == 1 &&
			healed[0] == 500);
	for (uint64_t i = 1; i < HEALED_KEPT; i++) {
		patch_copied_begin_healing(500 + i);
		patch_copied_end_healing(500 + i);
	}
	CHECK(patch_copied_is_healed(500) && patch_copied_is_healed(500 + HEALED_KEPT - 1));
	patch_copied_begin_healing(9000);
	patch_copied_end_healing(9000);
	CHECK(!patch_copied_is_healed(500) && patch_copied_is_healed(501) &&
			patch_copied_is_healed(9000));
	/* The thread that changes a copy was interrupted by this one, which finally continues. */
	patch_copied_begin_healing(7);
	CHECK(nr_yields == 0);
	patch_copied_begin_healing(8);
	CHECK(nr_yields == SPINS && healing == 8 && is_healing == 1);
	patch_copied_end_healing(8);
	CHECK(!is_healing);
}

static uint64_t healed_meanwhile;

static void heal_meanwhile(void)
{
	patch_copied_end_healing(healed_meanwhile);
}

static void test_read_copy(void)
{
	const uint64_t copy = address_of(copies + 64);
	const uint8_t same[2] = {0x90, 0x90}, differs[2] = {0x90, 0x91};
	uint8_t there[4] = {0};
	bool is;

	clear();
	CHECK(patch_copied_read_copy(copy, there, 4, differs, 2, &is) && !is && there[3] == 0x90);
	CHECK(patch_copied_read_copy(copy, there, 4, same, 2, &is) && !is);
	patch_copied_end_healing(copy);
	CHECK(patch_copied_read_copy(copy, there, 4, same, 2, &is) && is);
	CHECK(patch_copied_read_copy(copy, there, 4, differs, 2, &is) && !is);
	CHECK(patch_copied_read_copy(copy, there, 4, differs, 1, &is) && is);
	healing = copy;
	CHECK(patch_copied_read_copy(copy, there, 4, differs, 2, &is) && is);
	healing = copy + 1;
	CHECK(patch_copied_read_copy(copy, there, 4, differs, 2, &is) && !is);
	CHECK(!patch_copied_read_copy(address_of(copies + BYTES - 3), there, 4, same, 2, &is));
	/*
	 * Another thread has healed it between the two checks: the bytes that were read may be of
	 * both.
	 */
	clear();
	healed_meanwhile = copy;
	at_read = heal_meanwhile;
	CHECK(patch_copied_read_copy(copy, there, 4, differs, 2, &is) && is);
}

static uint8_t seen[4][6];
static unsigned int nr_seen;

static void note_bytes(void)
{
	if (nr_seen < 4)
		memcpy(seen[nr_seen], copies + 14, 6);
	nr_seen++;
}

static void test_steps(void)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 0xee, 0xee},
			     old[] = {0x90, 0x90, 0x90, 0x90, 0x90};
	const uint64_t copy = address_of(copies + 14);
	struct patch_writer writer;

	clear();
	at_barrier = note_bytes;
	nr_seen = 0;
	patch_writer_open(&writer);
	CHECK(!patch_copied_heal_in_steps(&writer, copy, bytes, 5) && nr_seen == 3);
	CHECK(!memcmp(seen[0], "\xcc\x90\x90\x90\x90\x90", 6) &&
			!memcmp(seen[1], "\xcc\2\3\4\5\x90", 6) &&
			!memcmp(seen[2], "\1\2\3\4\5\x90", 6));
	nr_seen = 0;
	CHECK(!patch_copied_heal_in_steps(&writer, copy, old, 1) && nr_seen == 1 &&
			!memcmp(seen[0], "\x90\2\3\4\5\x90", 6));
	nr_seen = 0;
	CHECK(!patch_copied_heal_in_steps(&writer, copy, bytes, 2) && nr_seen == 3 &&
			!memcmp(seen[0], "\xcc\2\3\4\5\x90", 6));
	nr_seen = 0;
	CHECK(patch_copied_heal_in_steps(&writer, 0x20000, bytes, 5) == -ENOMEM && nr_seen == 1);
	patch_writer_close(&writer);
}

static bool was_announced;

static void note_healing(void)
{
	was_announced = is_healing == 1 && healing == address_of(copies + 96);
}

static void test_heal(void)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5}, old[] = {0x90, 0x90, 0x90, 0x90, 0x90},
			     others[] = {0x90, 0x90, 0x90, 0x90, 0x91};
	unsigned int descriptors = resources_descriptors();
	uint8_t *shared;
	int fd;

	clear();
	at_barrier = note_bytes;
	/* Other bytes are there by now: done, by another thread. */
	CHECK(patch_copied_heal(address_of(copies + 16), others, bytes, 5) && copies[16] == 0x90 &&
			!is_healing && patch_copied_is_healed(address_of(copies + 16)));
	/* At once within 16 bytes, in steps over their end. */
	nr_seen = 0;
	CHECK(patch_copied_heal(address_of(copies + 27), old, bytes, 5) &&
			!memcmp(copies + 26, "\x90\1\2\3\4\5\x90", 7) && !nr_seen && !is_healing &&
			patch_copied_is_healed(address_of(copies + 27)));
	CHECK(patch_copied_heal(address_of(copies + 44), old, bytes, 5) &&
			!memcmp(copies + 43, "\x90\1\2\3\4\5\x90", 7) && nr_seen == 3);
	CHECK(patch_copied_heal(address_of(copies + 80), old, bytes, 2) &&
			!memcmp(copies + 80, "\1\2\x90", 3));
	CHECK(patch_copied_heal(16, old, bytes, 5));
	/* Other threads are notified before the bytes are read. */
	at_read = note_healing;
	CHECK(patch_copied_heal(address_of(copies + 96), old, bytes, 5) && was_announced);
	at_read = NULL;
	/* Memory that can only be read. */
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	shared = mmap(NULL, PATCH_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(fd >= 0 && shared != MAP_FAILED && !close(fd));
	CHECK(!patch_copied_heal(address_of(shared), (const uint8_t *)"\177ELF", bytes, 4) &&
			shared[0] == 0x7f && !is_healing);
	munmap(shared, PATCH_PAGE);
	CHECK(resources_descriptors() == descriptors);
}

/* ---- likeness ---- */

static void test_site(void)
{
	struct code_of_site code;
	const uint8_t *own = sites + 100;
	uint8_t before[SCORE_BYTES];

	clear();
	memcpy(before, own, sizeof(before));
	set(0, 96, PROBE_JUMP, 5, 0x10203040);
	set(1, 104, PROBE_BREAKPOINT, 0, 0);
	set(2, 162, PROBE_JUMP, 5, 0x50607080);
	set(3, 200, PROBE_JUMP, 5, 0x50607080);
	patch_copied_read_site(address_of(own), SCORE_BYTES, &code);
	CHECK(code.size == SCORE_BYTES && !memcmp(code.now, own, SCORE_BYTES) &&
			!memcmp(code.own, before, SCORE_BYTES) &&
			!memcmp(code.probed, own, SCORE_BYTES));
	/* Probes that were removed: their bytes are not there any more. */
	for (unsigned int i = 0; i < 4; i++)
		memcpy((uint8_t *)(uintptr_t)patches[i].site.runtime, patches[i].site.bytes, 5);
	patch_copied_read_site(address_of(own), SCORE_BYTES, &code);
	CHECK(!memcmp(code.now, before, SCORE_BYTES) && !memcmp(code.own, before, SCORE_BYTES));
	for (unsigned int i = 0; i < SCORE_BYTES; i++) {
		uint8_t expected = i == 0 ? patches[0].bytes[4]
				: i == 4  ? TRAP_BYTE
				: i >= 62 ? patches[2].bytes[i - 62]
					  : before[i];

		CHECK(code.probed[i] == expected);
		CHECK(patch_copied_matches(&code, i, before[i]) &&
				patch_copied_matches(&code, i, expected));
	}
	/* The last byte that counts, and one after it. */
	patch_copied_read_site(address_of(own), 63, &code);
	CHECK(code.size == 63 && code.probed[62] == JUMP);
	patch_copied_read_site(address_of(own), 62, &code);
	CHECK(code.size == 62 && !memcmp(code.probed + 5, before + 5, 57));
	/* At the end of the mapping. */
	patch_copied_read_site(address_of(sites + BYTES - 20), SCORE_BYTES, &code);
	CHECK(code.size == 16 && code.now[15] == sites[BYTES - 5]);
	patch_copied_read_site(address_of(sites + BYTES), SCORE_BYTES, &code);
	CHECK(code.size == 0);
	code = (struct code_of_site){.now = {1, 2}, .own = {3, 4}, .probed = {5, 6}};
	CHECK(patch_copied_matches(&code, 1, 2) && patch_copied_matches(&code, 1, 4) &&
			patch_copied_matches(&code, 1, 6) && !patch_copied_matches(&code, 1, 1) &&
			!patch_copied_matches(&code, 0, 2));
}

static void test_jumps(void)
{
	struct patch patch = {.site = {.runtime = 0x1000, .patched = 3},
			.method = PROBE_PUNNED,
			.trampoline = 0x9000};

	CHECK(patch_copied_is_jump(&patch) && patch_copied_jump_bytes(&patch) == 5 &&
			patch_copied_read_distance(&patch) == 0x9000 - 0x1005);
	patch.slot = 0x5000;
	CHECK(patch_copied_read_distance(&patch) == 0x5000 - 0x1005);
	patch.method = PROBE_SHORT;
	CHECK(patch_copied_is_jump(&patch) && patch_copied_jump_bytes(&patch) == 3 &&
			patch_copied_read_distance(&patch) == 0x9000 - 0x5005);
	patch.trampoline = 0x2000;
	CHECK(patch_copied_read_distance(&patch) == 0x2000 - 0x5005);
	for (int method = PROBE_NONE; method <= PROBE_KERNEL; method++) {
		patch.method = (enum probe_method)method;
		CHECK(patch_copied_is_jump(&patch) ==
				(method == PROBE_JUMP || method == PROBE_PADDING ||
						method == PROBE_SHORT || method == PROBE_PUNNED));
	}
	patch.method = PROBE_JUMP;
	patch.trampoline = 0;
	CHECK(!patch_copied_is_jump(&patch));
	patch.trampoline = 1;
	patch.site.runtime = 0;
	CHECK(!patch_copied_is_jump(&patch));
}

static void test_score(void)
{
	struct patch *patch;

	clear();
	patch = set(0, 256, PROBE_JUMP, 5, 0x10203040);
	copy_code(512, 256, 80);
	CHECK(patch_copied_score(patch, address_of(copies + 512)) == SCORE_BYTES);
	copies[512 + 40] ^= 1;
	CHECK(patch_copied_score(patch, address_of(copies + 512)) == 40);
	/* The bytes of the jump are not compared. */
	copies[512 + 4] ^= 1;
	CHECK(patch_copied_score(patch, address_of(copies + 512)) == 40);
	copies[512 + 5] ^= 1;
	CHECK(patch_copied_score(patch, address_of(copies + 512)) == 5);
	/* At the end of memory, of the copy and of the site. */
	copy_code(BYTES - 20, 256, 20);
	CHECK(patch_copied_score(patch, address_of(copies + BYTES - 20)) == 16);
	copy_code(BYTES - 5, 256, 5);
	CHECK(patch_copied_score(patch, address_of(copies + BYTES - 5)) == 5);
	patch = set(1, BYTES - 30, PROBE_JUMP, 5, 0x10203040);
	copy_code(900, BYTES - 30, 30);
	CHECK(patch_copied_score(patch, address_of(copies + 900)) == 16);
}

/* ---- arrivals ---- */

static uint64_t target_of(const struct patch *patch, size_t copy)
{
	return address_of(copies + copy) + PROBE_JUMP_BYTES +
			(uint64_t)patch_copied_read_distance(patch);
}

static void test_arrived(void)
{
	struct patch *patch;
	uint64_t copy = 1;
	uint8_t own[5];

	clear();
	patch = set(0, 256, PROBE_JUMP, 5, address_of(sites) + 0x30000);
	memcpy(own, patch->site.bytes, 5);
	copy_code(512, 256, 64);
	/* The site itself is no copy, and another address leads to no jump. */
	CHECK(!patch_copied_has_arrived(patch->trampoline, &copy) && !copy);
	CHECK(!patch_copied_has_arrived(target_of(patch, 513), &copy) && !copy);
	CHECK(patch_copied_has_arrived(target_of(patch, 512), &copy) &&
			copy == address_of(copies + 512) && !memcmp(copies + 512, own, 5) &&
			copies[517] == sites[261]);
	/* A thread that comes later finds it healed, and heals nothing. */
	copy = 0;
	CHECK(nr_healed == 1);
	CHECK(patch_copied_has_arrived(target_of(patch, 512), &copy) &&
			copy == address_of(copies + 512) && nr_healed == 1);
	clear();
	patch = set(0, 256, PROBE_JUMP, 5, address_of(sites) + 0x30000);
	copy_code(512, 256, 64);
	memcpy(copies + 512, own, 5);
	CHECK(!patch_copied_has_arrived(target_of(patch, 512), &copy));
	/* One byte of the jump differs. */
	copy_code(512, 256, 64);
	copies[516] ^= 1;
	CHECK(!patch_copied_has_arrived(target_of(patch, 512), &copy) && copies[512] == JUMP);
	/* Fewer bytes are known than a jump has. */
	copy_code(512, 256, 64);
	patch->site.nr_bytes = 4;
	CHECK(!patch_copied_has_arrived(target_of(patch, 512), &copy));
	patch->site.nr_bytes = 5;
	patch->method = PROBE_BREAKPOINT;
	CHECK(!patch_copied_has_arrived(target_of(patch, 512), &copy));
	patch->method = PROBE_JUMP;
	CHECK(patch_copied_has_arrived(target_of(patch, 512), &copy));
	/* A punned jump: the last bytes are the program's, and stay. */
	clear();
	patch = set(0, 256, PROBE_PUNNED, 3, address_of(sites) + 0x30000);
	memcpy(own, patch->site.bytes, 5);
	copy_code(512, 256, 64);
	CHECK(patch_copied_has_arrived(target_of(patch, 512), &copy) &&
			!memcmp(copies + 512, own, 5));
}

/* Two probes whose jumps have the same distance. */
static void test_same_distance(void)
{
	struct patch *first, *second;
	uint64_t copy;

	clear();
	first = set(0, 256, PROBE_JUMP, 5, address_of(sites) + 256 + 0x30000);
	second = set(1, 2048, PROBE_JUMP, 5, address_of(sites) + 2048 + 0x30000);
	CHECK(patch_copied_read_distance(first) == patch_copied_read_distance(second) &&
			memcmp(first->site.bytes, second->site.bytes, 5) != 0);
	copy_code(512, 2048, 64);
	CHECK(patch_copied_has_arrived(target_of(first, 512), &copy) &&
			!memcmp(copies + 512, second->site.bytes, 5));
	copy_code(1024, 256, 64);
	CHECK(patch_copied_has_arrived(target_of(first, 1024), &copy) &&
			!memcmp(copies + 1024, first->site.bytes, 5));
	/* It is as similar to one as to the other: no change. */
	copy_code(4096, 256, 5);
	CHECK(!patch_copied_has_arrived(target_of(first, 4096), &copy) && copies[4096] == JUMP);
	/* Unless both have the same bytes. */
	memcpy(second->site.bytes, first->site.bytes, 5);
	CHECK(patch_copied_has_arrived(target_of(first, 4096), &copy) &&
			!memcmp(copies + 4096, first->site.bytes, 5));
}

static void test_short(void)
{
	struct patch *patch;
	uint64_t copy = 1, springboard = address_of(sites) + 256 + 100;

	clear();
	patch = set(0, 256, PROBE_SHORT, 2, address_of(sites) + 0x30000);
	patch->bytes[1] = 98;
	sites[257] = 98;
	patch->slot = springboard;
	copy_code(512, 256, 64);
	CHECK(!patch_copied_has_left_short(address_of(copies + 512 + 100), &copy) && !copy);
	/* An unused springboard, and one of another location. */
	nr_springboards = 3;
	springboards[0][0] = springboards[0][1] = 0;
	springboards[1][0] = springboard;
	springboards[1][1] = address_of(sites) + 512;
	springboards[2][0] = springboard;
	springboards[2][1] = address_of(sites) + 256;
	CHECK(!patch_copied_has_left_short(springboard, &copy) && !copy);
	CHECK(!patch_copied_has_left_short(address_of(copies + 512 + 101), &copy) && !copy);
	copies[513] ^= 1;
	CHECK(!patch_copied_has_left_short(address_of(copies + 512 + 100), &copy) && !copy);
	copies[513] ^= 1;
	/* Six further bytes must match. */
	copies[512 + 7] ^= 1;
	CHECK(!patch_copied_has_left_short(address_of(copies + 512 + 100), &copy) && !copy);
	copies[512 + 7] ^= 1;
	copies[512 + 8] ^= 1;
	CHECK(patch_copied_has_left_short(address_of(copies + 512 + 100), &copy) &&
			copy == address_of(copies + 512) &&
			!memcmp(copies + 512, patch->site.bytes, 2) && copies[514] == sites[258]);
	CHECK(patch_copied_has_left_short(address_of(copies + 512 + 100), &copy) &&
			copy == address_of(copies + 512));
	CHECK(nr_healed == 1);
	/*
	 * The copy includes the springboard: its jump leads elsewhere, by the distance of the
	 * springboard's jump.
	 */
	clear();
	patch = set(0, 256, PROBE_SHORT, 2, address_of(sites) + 0x30000);
	patch->slot = springboard;
	copy_code(512, 256, 64);
	CHECK(patch_copied_has_arrived(address_of(copies + 512 + 100) + 5 +
					      (uint64_t)patch_copied_read_distance(patch),
			      &copy) &&
			copy == address_of(copies + 512) &&
			!memcmp(copies + 512, patch->site.bytes, 2) && copies[514] == sites[258]);
}

static void test_fault(void)
{
	struct patch *patch;
	siginfo_t info = {.si_code = SEGV_MAPERR};
	ucontext_t context = {.uc_flags = 0};
	greg_t *at = &context.uc_mcontext.gregs[REG_RIP];
	uint64_t target;

	clear();
	patch = set(0, 256, PROBE_JUMP, 5, address_of(sites) + 0x30000);
	copy_code(512, 256, 64);
	target = target_of(patch, 512);
	*at = (greg_t)target;
	info.si_addr = (void *)(uintptr_t)(target + 1);
	CHECK(!patch_copied_fault(&info, &context));
	info.si_addr = (void *)(uintptr_t)target;
	info.si_code = SI_USER;
	CHECK(!patch_copied_fault(&info, &context));
	info.si_code = SEGV_BNDERR;
	CHECK(!patch_copied_fault(&info, &context));
	info.si_code = SEGV_ACCERR;
	called_from_file = true;
	CHECK(!patch_copied_fault(&info, &context));
	called_from_file = false;
	is_filtered = true;
	CHECK(!patch_copied_fault(&info, &context) && (uint64_t)*at == target &&
			copies[512] == JUMP);
	is_filtered = false;
	errno = 77;
	CHECK(patch_copied_fault(&info, &context) && (uint64_t)*at == address_of(copies + 512) &&
			errno == 77);
	copy_code(512, 256, 64);
	healed[0] = 0;
	info.si_code = SEGV_MAPERR;
	*at = (greg_t)target;
	CHECK(patch_copied_fault(&info, &context));
	/* There may be code at the target of a short jump: any fault there. */
	clear();
	patch = set(0, 256, PROBE_SHORT, 2, address_of(sites) + 0x30000);
	copy_code(512, 256, 64);
	info.si_code = SEGV_ACCERR;
	info.si_addr = NULL;
	*at = (greg_t)address_of(copies + 512 + 100);
	CHECK(!patch_copied_fault(&info, &context));
	nr_springboards = 1;
	springboards[0][0] = address_of(sites) + 256 + 100;
	springboards[0][1] = address_of(sites) + 256;
	patch->slot = springboards[0][0];
	info.si_code = SI_USER;
	CHECK(!patch_copied_fault(&info, &context));
	info.si_code = SEGV_ACCERR;
	CHECK(patch_copied_fault(&info, &context) && (uint64_t)*at == address_of(copies + 512));
	/* But the target of a jump must be fetched. */
	patch = set(1, 4096, PROBE_JUMP, 5, address_of(sites) + 0x30000);
	copy_code(8192, 4096, 64);
	target = target_of(patch, 8192);
	*at = (greg_t)target;
	CHECK(!patch_copied_fault(&info, &context) && (uint64_t)*at == target);
	info.si_addr = (void *)(uintptr_t)target;
	CHECK(patch_copied_fault(&info, &context));
}

/* ---- breakpoints ---- */

static void test_traps(void)
{
	struct patch *patch;
	uint64_t copy = 0;

	CHECK(patch_copied_is_padding(0xcc) && patch_copied_is_padding(0x90) &&
			patch_copied_is_padding(0) && !patch_copied_is_padding(1) &&
			!patch_copied_is_padding(0xff));
	clear();
	/* Exactly six of the bytes after it are no padding. */
	memset(sites + 257, 0x90, 15);
	memset(sites + 266, 0x41, 6);
	patch = set(0, 256, PROBE_BREAKPOINT, 0, 0);
	copy_code(512, 256, 16);
	CHECK(patch_copied_is_trap(patch, address_of(copies + 512), copies + 512));
	CHECK(!patch_copied_is_trap(patch, patch->site.runtime, copies + 512));
	for (unsigned int i = 0; i < 16; i++) {
		copies[512 + i] ^= 2;
		CHECK(!patch_copied_is_trap(patch, address_of(copies + 512), copies + 512));
		copies[512 + i] ^= 2;
	}
	sites[266] = 0x90;
	copies[522] = 0x90;
	CHECK(!patch_copied_is_trap(patch, address_of(copies + 512), copies + 512));
	sites[266] = 0x41;
	/* The probe's byte may be another one than a trap. */
	patch->bytes[0] = INVALID;
	copy_code(512, 256, 16);
	CHECK(patch_copied_is_trap(patch, address_of(copies + 512), copies + 512));
	copies[512] = INVALID;
	CHECK(patch_copied_is_trap(patch, address_of(copies + 512), copies + 512));
	patch->method = PROBE_JUMP;
	CHECK(!patch_copied_is_trap(patch, address_of(copies + 512), copies + 512));
	patch->method = PROBE_BREAKPOINT;
	patch->bytes[0] = TRAP_BYTE;
	copy_code(512, 256, 16);
	errno = 77;
	is_filtered = true;
	CHECK(!patch_copied_trap(address_of(copies + 512), &copy) && copies[512] == TRAP_BYTE &&
			copy == address_of(copies + 512));
	is_filtered = false;
	CHECK(!patch_copied_trap(address_of(copies + 513), &copy));
	CHECK(patch_copied_trap(address_of(copies + 512), &copy) &&
			copy == address_of(copies + 512) && copies[512] == patch->site.bytes[0] &&
			copies[513] == 0x90 && errno == 77);
	/* Healed by another thread before; also where no memory may be read. */
	is_filtered = true;
	copy = 0;
	CHECK(patch_copied_trap(address_of(copies + 512), &copy) &&
			copy == address_of(copies + 512));
	is_filtered = false;
	CHECK(!patch_copied_trap(address_of(copies + BYTES), &copy));
	/* If the site ends before 16 bytes, no copy matches. */
	patch = set(1, BYTES - 15, PROBE_BREAKPOINT, 0, 0);
	copy_code(1024, BYTES - 15, 15);
	CHECK(!patch_copied_is_trap(patch, address_of(copies + 1024), copies + 1024));
	/* Only the byte of this probe is changed, not that of the next one. */
	clear();
	patch = set(0, 256, PROBE_BREAKPOINT, 0, 0);
	set(1, 257, PROBE_BREAKPOINT, 0, 0);
	copy_code(512, 256, 32);
	CHECK(patch_copied_trap(address_of(copies + 512), &copy) &&
			copies[512] == patch->site.bytes[0] && copies[513] == TRAP_BYTE);
	/* A trap after a short jump. */
	clear();
	patch = set(0, 256, PROBE_SHORT, 2, address_of(sites) + 0x30000);
	copy_code(512, 256, 64);
	nr_springboards = 1;
	springboards[0][0] = address_of(sites) + 256 + 100;
	springboards[0][1] = address_of(sites) + 256;
	patch->slot = springboards[0][0];
	CHECK(patch_copied_trap(address_of(copies + 612), &copy) &&
			copy == address_of(copies + 512));
}

static void heal_trap_meanwhile(void)
{
	at_read = NULL;
	copies[512] = 0x55;
	patch_copied_end_healing(address_of(copies + 512));
}

/* Between the first check and the read. */
static void test_trap_healed_meanwhile(void)
{
	uint64_t copy = 0;

	clear();
	at_read = heal_trap_meanwhile;
	CHECK(patch_copied_trap(address_of(copies + 512), &copy) &&
			copy == address_of(copies + 512) && copies[512] == 0x55);
}

/* ---- copies that no thread has executed ---- */

static void test_patterns(void)
{
	struct patterns patterns = {.count = 0};
	struct code_pattern one = {.behind = 5}, other = {.behind = 6};
	struct patch *patch;

	CHECK(patch_copied_compare_patterns(&one, &other) == -1 &&
			patch_copied_compare_patterns(&other, &one) == 1 &&
			patch_copied_compare_patterns(&one, &one) == 0);
	clear();
	patch = set(0, 256, PROBE_BREAKPOINT, 0, 0);
	set(1, 258, PROBE_BREAKPOINT, 0, 0);
	set(2, 1024, PROBE_JUMP, 5, address_of(sites) + 0x30000);
	set(3, 2048, PROBE_JUMP, 5, address_of(sites) + 0x40000);
	patches[3].site.nr_bytes = 4;
	CHECK(patch_copied_make_patterns(&patterns, all, 4) &&
			patterns.bytes == 8 * sizeof(struct code_pattern));
	/* The first has two: with the byte of the second probe, and without. */
	CHECK(patterns.count == 4);
	for (size_t i = 1; i < patterns.count; i++)
		CHECK(patterns.items[i - 1].behind <= patterns.items[i].behind);
	for (size_t i = 0, nr = 0; i < patterns.count; i++) {
		uint32_t behind;

		memcpy(&behind, (nr ? sites + 257 : patch->site.bytes + 1), 4);
		nr += patterns.items[i].patch == patch;
		CHECK(patterns.items[i].first == patterns.items[i].patch->bytes[0]);
		CHECK(patterns.items[i].patch != &patches[2] ||
				!memcmp(&patterns.items[i].behind, patches[2].bytes + 1, 4));
		(void)behind;
	}
	munmap(patterns.items, patterns.bytes);
	patterns = (struct patterns){.count = 0};
	patches[2].site.runtime = 0;
	CHECK(patch_copied_make_patterns(&patterns, all, 4) && patterns.count == 3);
	munmap(patterns.items, patterns.bytes);
	/* As many bytes as a jump has are enough. */
	patches[3].site.nr_bytes = PROBE_JUMP_BYTES;
	patterns = (struct patterns){.count = 0};
	CHECK(patch_copied_make_patterns(&patterns, all, 4) && patterns.count == 4);
	munmap(patterns.items, patterns.bytes);
}

static void test_likeness(void)
{
	struct code_pattern pattern = {.first = JUMP};
	struct patch *patch;

	clear();
	patch = set(0, 256, PROBE_JUMP, 5, address_of(sites) + 0x30000);
	pattern.patch = patch;
	copy_code(512, 256, 64);
	CHECK(patch_copied_likeness(&pattern, address_of(copies + 512), copies + 512) ==
			SCORE_BYTES);
	CHECK(patch_copied_likeness(&pattern, patch->site.runtime, copies + 512) == 0);
	CHECK(patch_copied_likeness(&pattern, address_of(copies + 512), copies + 513) == 0);
	copies[518] ^= 1;
	CHECK(patch_copied_likeness(&pattern, address_of(copies + 512), copies + 512) == 6);
	copies[517] ^= 1;
	CHECK(patch_copied_likeness(&pattern, address_of(copies + 512), copies + 512) == 0);
	patch = set(1, 1024, PROBE_BREAKPOINT, 0, 0);
	pattern = (struct code_pattern){.first = TRAP_BYTE, .patch = patch};
	copy_code(2048, 1024, 16);
	CHECK(patch_copied_likeness(&pattern, address_of(copies + 2048), copies + 2048) ==
			CONTEXT_BYTES);
	copies[2048 + 15] ^= 1;
	CHECK(patch_copied_likeness(&pattern, address_of(copies + 2048), copies + 2048) == 0);
	copy_code(BYTES - 15, 1024, 15);
	CHECK(patch_copied_likeness(
			      &pattern, address_of(copies + BYTES - 15), copies + BYTES - 15) == 0);
}

/* At the begin, at the end, and around the end of each chunk. */
static void test_search(void)
{
	static const size_t locations[] = {0, 100, CHUNK - 9, CHUNK - 5, CHUNK - 4, CHUNK - 3,
			CHUNK - 1, CHUNK, 2 * (CHUNK - 4) - 5, 2 * (CHUNK - 4) - 1, 2 * (CHUNK - 4),
			BYTES - 64, BYTES - 8};
	struct patterns patterns;

	for (int method = 0; method < 3; method++) {
		for (size_t i = 0; i < sizeof(locations) / sizeof(*locations); i++) {
			size_t at = locations[i], size = BYTES - at < 64 ? BYTES - at : 64;
			struct patch *patch;
			bool is_trap = method == 2;

			clear();
			patch = set(0, 256,
					is_trap                  ? PROBE_BREAKPOINT
							: method ? PROBE_SHORT
								 : PROBE_JUMP,
					is_trap                  ? 1
							: method ? 2
								 : 5,
					address_of(sites) + 0x30000);
			patch->slot = method == 1 ? address_of(sites) + 300 : 0;
			patterns = (struct patterns){.count = 0};
			CHECK(patch_copied_make_patterns(&patterns, all, 1) && patterns.count == 1);
			if (at && method)
				copies[at - 1] = TRAP_BYTE;
			copy_code(at, 256, size);
			patch_copied_search_memory(
					&patterns, address_of(copies), address_of(copies) + BYTES);
			CHECK((copies[at] == patch->site.bytes[0]) ==
					(!is_trap || size >= CONTEXT_BYTES));
			CHECK(is_trap ||
					!memcmp(copies + at, patch->site.bytes,
							patch_bytes(patch)));
			munmap(patterns.items, patterns.bytes);
		}
	}
	/* No more bytes than there are. */
	clear();
	set(0, 256, PROBE_JUMP, 5, address_of(sites) + 0x30000);
	patterns = (struct patterns){.count = 0};
	CHECK(patch_copied_make_patterns(&patterns, all, 1));
	copy_code(512, 256, 64);
	patch_copied_search_memory(&patterns, address_of(copies), address_of(copies) + 516);
	patch_copied_search_memory(&patterns, address_of(copies) + 513, address_of(copies) + BYTES);
	patch_copied_search_memory(&patterns, address_of(copies), address_of(copies) + BYTES + 1);
	CHECK(copies[512] == JUMP || copies[512] == patches[0].site.bytes[0]);
	patch_copied_search_memory(&patterns, address_of(copies) + 512, address_of(copies) + 517);
	CHECK(copies[512] == patches[0].site.bytes[0]);
	munmap(patterns.items, patterns.bytes);
}

/* Of several probes with the same bytes after the first one, the one that matches the copy best. */
static void test_best_match(void)
{
	struct patterns patterns = {.count = 0};

	clear();
	set(0, 256, PROBE_JUMP, 5, address_of(sites) + 256 + 0x30000);
	set(1, 2048, PROBE_JUMP, 5, address_of(sites) + 2048 + 0x30000);
	set(2, 4096, PROBE_JUMP, 5, address_of(sites) + 4096 + 0x30000);
	CHECK(patch_copied_make_patterns(&patterns, all, 3) && patterns.count == 3);
	for (unsigned int i = 0; i < 3; i++) {
		size_t from = (size_t)(patches[i].site.runtime - address_of(sites));

		copy_code(512, from, 64);
		patch_copied_heal_found(&patterns, address_of(copies + 512), copies + 512);
		CHECK(!memcmp(copies + 512, patches[i].site.bytes, 5));
	}
	copies[512] = JUMP;
	copies[513] ^= 0x55;
	patch_copied_heal_found(&patterns, address_of(copies + 512), copies + 512);
	CHECK(copies[512] == JUMP);
	munmap(patterns.items, patterns.bytes);
}

static void test_own_code(void)
{
	const size_t before = patch_nr_arenas;

	patch_arenas[before] = (struct patch_arena){.start = 0x40000000, .size = 4096};
	patch_nr_arenas = before + 1;
	CHECK(patch_copied_is_own_code(0x40000000) && patch_copied_is_own_code(0x40000fff) &&
			!patch_copied_is_own_code(0x40001000) &&
			!patch_copied_is_own_code(0x3fffffff));
	patch_nr_arenas = before;
	CHECK(!patch_copied_is_own_code(0x40000000));
	CHECK(patch_copied_is_own_code((uintptr_t)patch_gates) &&
			patch_copied_is_own_code((uintptr_t)patch_gates + GATES_BYTES - 1) &&
			!patch_copied_is_own_code((uintptr_t)patch_gates + GATES_BYTES) &&
			!patch_copied_is_own_code((uintptr_t)patch_gates - 1));
	CHECK(patch_copied_is_own_code((uintptr_t)patch_location_list(0)) &&
			!patch_copied_is_own_code(address_of(copies)));
}

/* Which mappings are searched. */
static void test_mappings(void)
{
	static const struct {
		const char *remainder;
		bool is_searched;
	} rows[] = {{"p 00000000 00:00 0", true}, {"p 0 00:00 0 [anon:jit]", true},
			{"p 0 00:01 5 /memfd:code (deleted)", true},
			{"p 0 00:01 5 /dev/zero", true}, {"s 0 00:01 5 /SYSV00000000", true},
			{"p 0 0:0 0 [heap]", true}, {"p 0 fe:01 5 /usr/lib/libc.so.6", false},
			{"p 0 0:0 0 [stack]", false}, {"p 0 0:0 0 [vdso]", false},
			{"p 0 0:0 5 /home/[heap]", false}, {"p 0 fe:01 5 /developer", false}};
	struct patch_mapping mapping = {.start = address_of(copies),
			.end = address_of(copies) + BYTES,
			.readable = true,
			.executable = true};
	struct patterns patterns = {.count = 0};

	clear();
	set(0, 256, PROBE_JUMP, 5, address_of(sites) + 0x30000);
	CHECK(patch_copied_make_patterns(&patterns, all, 1));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		copy_code(512, 256, 64);
		mapping.remainder = rows[i].remainder;
		CHECK(patch_copied_search_mapping(&mapping, &patterns));
		CHECK((copies[512] != JUMP) == rows[i].is_searched);
	}
	mapping.remainder = rows[0].remainder;
	copy_code(512, 256, 64);
	mapping.readable = false;
	CHECK(patch_copied_search_mapping(&mapping, &patterns) && copies[512] == JUMP);
	mapping.readable = true;
	mapping.executable = false;
	CHECK(patch_copied_search_mapping(&mapping, &patterns) && copies[512] == JUMP);
	mapping.executable = true;
	mapping.start = (uintptr_t)patch_gates;
	CHECK(patch_copied_search_mapping(&mapping, &patterns) && copies[512] == JUMP);
	munmap(patterns.items, patterns.bytes);
}

static void test_removed(void)
{
	struct resources before;

	for (int round = 0; round < 3; round++) {
		clear();
		set(0, 256, PROBE_JUMP, 5, address_of(sites) + 0x30000);
		set(1, 2048, PROBE_BREAKPOINT, 1, 0);
		copy_code(512, 256, 64);
		copy_code(CHUNK + 7, 2048, 64);
		patch_copied_removed(all, 0);
		is_filtered = true;
		patch_copied_removed(all, 2);
		CHECK(copies[512] == JUMP && copies[CHUNK + 7] == TRAP_BYTE);
		is_filtered = false;
		patch_copied_removed(all, 2);
		CHECK(!memcmp(copies + 512, patches[0].site.bytes, 5) &&
				copies[CHUNK + 7] == patches[1].site.bytes[0]);
		CHECK(sites[256] == JUMP && sites[2048] == TRAP_BYTE);
		if (!round)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
}

int main(void)
{
	CHECK(!patch_locations_start());
	sites = map_block(PROT_READ | PROT_WRITE);
	copies = map_block(PROT_READ | PROT_WRITE | PROT_EXEC);
	test_healed();
	test_read_copy();
	test_steps();
	test_heal();
	test_site();
	test_jumps();
	test_score();
	test_arrived();
	test_same_distance();
	test_short();
	test_fault();
	test_traps();
	test_trap_healed_meanwhile();
	test_patterns();
	test_likeness();
	test_search();
	test_best_match();
	test_own_code();
	test_mappings();
	test_removed();
	return 0;
}
