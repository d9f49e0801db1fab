/* SPDX-License-Identifier: MIT */
/*
 * Exact values of setting and removing probes: bytes of jumps, distances, the bytes that must be
 * those of the file, and which probe takes over calls. The test includes the file, so that it can
 * call its static functions.
 */
#include "probe/patch/parts.h"

/* Springboards without a probe, and the bytes of the code after they have gone. */
static struct {
	bool are_left;
	unsigned int nr_asked, nr_given_back;
	struct patch_writer *writer;
	uint8_t *restored;
	uint8_t byte;
} springboards;

static bool springboards_are_left(void)
{
	springboards.nr_asked++;
	return springboards.are_left || patch_springboards_remain();
}

static size_t return_springboards(struct patch_writer *writer)
{
	springboards.nr_given_back++;
	springboards.writer = writer;
	if (springboards.restored)
		*springboards.restored = springboards.byte;
	return springboards.restored ? 1 : patch_springboards_return(writer);
}

/* How many more checks of each of these probes find a thread inside. */
static struct patch_hot settling[3];
static unsigned int settling_left[3], settling_asked;

static bool is_inside(const struct patch_hot *patch)
{
	for (unsigned int i = 0; i < 3; i++) {
		if (patch != &settling[i])
			continue;
		settling_asked++;
		return settling_left[i] && settling_left[i]--;
	}
	return patch_hit_is_inside(patch);
}

#define patch_hit_is_inside is_inside
#define patch_springboards_remain springboards_are_left
#define patch_springboards_return return_springboards
#include "probe/patch/set.c"
#undef patch_springboards_remain
#undef patch_springboards_return
#undef patch_hit_is_inside

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../../check.h"

static uint8_t *code; /* a page of the test */

static struct probe_site site_of(enum probe_method method, unsigned int patched,
		unsigned int nr_pieces, const unsigned int lengths[])
{
	struct probe_site site = {.address = 0x1000,
			.runtime = (uint64_t)(uintptr_t)code,
			.method = method,
			.patched = (uint8_t)patched,
			.nr_pieces = (uint8_t)nr_pieces};
	unsigned int at = 0;

	for (unsigned int i = 0; i < nr_pieces; i++) {
		site.pieces[i] = (struct probe_piece){
				.at = (uint8_t)at, .length = (uint8_t)lengths[i]};
		at += lengths[i];
	}
	site.displaced = (uint8_t)at;
	site.nr_bytes = (uint8_t)(at > PROBE_JUMP_BYTES ? at : PROBE_JUMP_BYTES);
	for (unsigned int i = 0; i < site.nr_bytes; i++)
		site.bytes[i] = (uint8_t)(0x40 + i);
	memcpy(code, site.bytes, sizeof(site.bytes));
	return site;
}

static bool is_distance(const struct patch_distance *distance, const char *wanted)
{
	char text[16] = "";

	for (unsigned int i = 0; i < 4; i++)
		snprintf(text + strlen(text), 4, distance->fixed[i] ? "%02x" : "--",
				distance->value[i]);
	if (strcmp(text, wanted) != 0)
		fprintf(stderr, "%s instead of %s\n", text, wanted);
	return !strcmp(text, wanted);
}

static void test_distances(void)
{
	struct patch_distance distance;
	struct patch patch = {.site = site_of(PROBE_JUMP, 5, 1, (const unsigned int[]){5})};

	CHECK(!patch_set_constrain_distance(&patch, 0xcc, &distance) &&
			is_distance(&distance, "--------"));
	/* Inner instructions trap; an instruction that begins after the jump is not changed. */
	patch.site = site_of(PROBE_JUMP, 5, 4, (const unsigned int[]){1, 2, 1, 3});
	CHECK(patch_set_constrain_distance(&patch, 0x3f, &distance) &&
			is_distance(&distance, "3f--3f3f"));
	patch.site = site_of(PROBE_JUMP, 5, 2, (const unsigned int[]){5, 3});
	CHECK(!patch_set_constrain_distance(&patch, 0x3f, &distance));
	patch.site = site_of(PROBE_JUMP, 5, 2, (const unsigned int[]){4, 3});
	CHECK(patch_set_constrain_distance(&patch, 0x3f, &distance) &&
			is_distance(&distance, "------3f"));
	/* Bytes of the next instructions are not changed. */
	patch.site = site_of(PROBE_PUNNED, 2, 2, (const unsigned int[]){1, 1});
	CHECK(patch_set_constrain_distance(&patch, 0x2f, &distance) &&
			is_distance(&distance, "2f424344"));
	patch.site = site_of(PROBE_PUNNED, 4, 1, (const unsigned int[]){4});
	CHECK(patch_set_constrain_distance(&patch, 0x2f, &distance) &&
			is_distance(&distance, "------44"));
	CHECK(patch_set_jump_reaches(0x100000000, 0x100000005 + INT64_C(0x7fffffff)) &&
			!patch_set_jump_reaches(0x100000000, 0x100000005 + INT64_C(0x80000000)));
	CHECK(patch_set_jump_reaches(0x100000000, 0x100000005 - INT64_C(0x80000000)) &&
			!patch_set_jump_reaches(0x100000000, 0x100000005 - INT64_C(0x80000001)));
}

static void test_bytes_fit(void)
{
	struct patch patch = {.site = site_of(PROBE_JUMP, 5, 3, (const unsigned int[]){2, 2, 2}),
			.bytes = {0xe9, 1, 0xcc, 2, 0x3f}};

	for (unsigned int i = 0; i < 256; i++) {
		static const uint8_t traps_of_test[] = {0xcc, 0x3f, 0x2f, 0x1e, 0x06};

		patch.bytes[2] = (uint8_t)i;
		CHECK(patch_set_bytes_fit(&patch) == (memchr(traps_of_test, (int)i, 5) != NULL));
	}
	patch.bytes[2] = 0xcc;
	patch.bytes[4] = 1;
	CHECK(!patch_set_bytes_fit(&patch));
	/* An instruction after the jump can have any byte. */
	patch.site = site_of(PROBE_JUMP, 5, 2, (const unsigned int[]){5, 2});
	patch.bytes[4] = 1;
	CHECK(patch_set_bytes_fit(&patch));
	patch.site = site_of(PROBE_PUNNED, 3, 1, (const unsigned int[]){3});
	memcpy(patch.bytes, (const uint8_t[]){0xe9, 1, 2, 0x43, 0x44}, 5);
	CHECK(patch_set_bytes_fit(&patch));
	patch.bytes[3]++;
	CHECK(!patch_set_bytes_fit(&patch));
	patch.bytes[3]--;
	patch.bytes[4]++;
	CHECK(!patch_set_bytes_fit(&patch));
	patch.site.method = PROBE_JUMP;
	CHECK(patch_set_bytes_fit(&patch));
}

static void test_jumps(void)
{
	struct patch patch = {.site = site_of(PROBE_JUMP, 5, 1, (const unsigned int[]){5}),
			.method = PROBE_JUMP,
			.bytes = {1, 1, 1, 1, 1}};

	patch.trampoline = patch.site.runtime + 0x12345;
	patch_set_restore_bytes(&patch);
	CHECK(!memcmp(patch.bytes, (const uint8_t[]){0xe9, 0x40, 0x23, 1, 0}, 5));
	patch.slot = patch.site.runtime - 0x100;
	patch_set_restore_bytes(&patch);
	CHECK(!memcmp(patch.bytes, (const uint8_t[]){0xe9, 0xfb, 0xfe, 0xff, 0xff}, 5));
	patch.method = PROBE_BREAKPOINT;
	patch_set_restore_bytes(&patch);
	CHECK(!memcmp(patch.bytes, (const uint8_t[]){0xcc, 0xfb, 0xfe, 0xff, 0xff}, 5));
	patch.method = PROBE_SHORT;
	patch.slot = patch.site.runtime + 0x50;
	patch_set_restore_bytes(&patch);
	CHECK(!memcmp(patch.bytes, (const uint8_t[]){0xeb, 0x4e, 0xfe, 0xff, 0xff}, 5));
	/* Only the first instruction. */
	patch.site = site_of(PROBE_JUMP, 5, 3, (const unsigned int[]){2, 2, 2});
	patch.site.ends = true;
	patch_set_cut_to_first(&patch.site);
	CHECK(patch.site.nr_pieces == 1 && patch.site.displaced == 2 && !patch.site.ends);
	patch.site.ends = true;
	patch_set_cut_to_first(&patch.site);
	CHECK(patch.site.ends && patch.site.displaced == 2);
}

static void test_bytes_needed(void)
{
	struct probe_site site = site_of(PROBE_JUMP, 5, 3, (const unsigned int[]){2, 2, 3});

	CHECK(patch_set_bytes_needed(&site, false) == 7 &&
			patch_set_bytes_needed(&site, true) == 2);
	CHECK(patch_set_is_as_in_file(&site, false) && patch_set_is_as_in_file(&site, true) &&
			patch_set_is_below_breakpoint(&site) &&
			patch_set_is_beside_springboards(&site));
	/* A change after the first instruction. */
	code[6] ^= 1;
	CHECK(!patch_set_is_as_in_file(&site, false) && patch_set_is_as_in_file(&site, true) &&
			!patch_set_is_beside_springboards(&site));
	code[6] = 0xcc;
	CHECK(patch_set_is_beside_springboards(&site));
	code[6] = site.bytes[6];
	code[7] ^= 1;
	CHECK(patch_set_is_as_in_file(&site, false) && patch_set_is_beside_springboards(&site));
	/* Within the first instruction. */
	code[1] = 0xcc;
	CHECK(!patch_set_is_as_in_file(&site, true) && !patch_set_is_below_breakpoint(&site) &&
			!patch_set_is_beside_springboards(&site) && patch_set_is_watched(&site));
	code[1] = 0xe8;
	CHECK(!patch_set_is_watched(&site));
	site.bytes[1] = 0x0f;
	CHECK(patch_set_is_watched(&site));
	code[1] = site.bytes[1] = 0x41;
	code[0] = 0xcc;
	CHECK(!patch_set_is_as_in_file(&site, true) && patch_set_is_below_breakpoint(&site) &&
			patch_set_is_watched(&site));
	code[0] = 0xe8;
	CHECK(!patch_set_is_below_breakpoint(&site) && !patch_set_is_watched(&site));
	site.bytes[0] = 0x0f;
	CHECK(patch_set_is_watched(&site));
	site.bytes[0] = code[0] = 0x40;
	CHECK(!patch_set_is_watched(&site));
	code[2] = 0xcc;
	CHECK(!patch_set_is_watched(&site) && patch_set_is_beside_springboards(&site));
	code[2] = site.bytes[2];
	/* Fewer bytes are known. */
	site.nr_bytes = 6;
	CHECK(!patch_set_is_as_in_file(&site, false) && patch_set_is_as_in_file(&site, true));
	site.nr_bytes = 1;
	CHECK(!patch_set_is_as_in_file(&site, true) && !patch_set_is_below_breakpoint(&site));
	/* The bytes of a distance count too. */
	site = site_of(PROBE_PUNNED, 2, 1, (const unsigned int[]){2});
	CHECK(patch_set_bytes_needed(&site, false) == 5 &&
			patch_set_bytes_needed(&site, true) == 2);
	site = site_of(PROBE_PADDING, 5, 1, (const unsigned int[]){1});
	CHECK(patch_set_bytes_needed(&site, false) == 5 &&
			patch_set_bytes_needed(&site, true) == 1);
	site = site_of(PROBE_SHORT, 2, 1, (const unsigned int[]){3});
	CHECK(patch_set_bytes_needed(&site, false) == 3);
}

/*
 * Springboards in the bytes of a jump are returned to padding once for all probes that are set
 * together.
 */
static void test_springboards(void)
{
	struct probe_site site = site_of(PROBE_JUMP, 5, 3, (const unsigned int[]){2, 2, 3});
	struct patch_writer writer;

	memset(&springboards, 0, sizeof(springboards));
	has_returned_springboards = false;
	code[4] = 0xcc;
	CHECK(!patch_set_is_free_without_springboards(&site, &writer));
	CHECK(springboards.nr_asked == 1 && !springboards.nr_given_back &&
			has_returned_springboards);
	springboards.are_left = true;
	CHECK(!patch_set_is_free_without_springboards(&site, &writer));
	CHECK(springboards.nr_asked == 1 && !springboards.nr_given_back);
	/* The next ones: they become padding, and the code is that of the file. */
	has_returned_springboards = false;
	springboards.restored = &code[4];
	springboards.byte = site.bytes[4];
	CHECK(patch_set_is_free_without_springboards(&site, &writer));
	CHECK(springboards.nr_given_back == 1 && springboards.writer == &writer &&
			has_returned_springboards);
	CHECK(patch_set_is_free_without_springboards(&site, &writer) &&
			springboards.nr_given_back == 1);
	/* Another byte is there when they have gone. */
	has_returned_springboards = false;
	springboards.byte = 0x90;
	CHECK(!patch_set_is_free_without_springboards(&site, &writer) &&
			springboards.nr_given_back == 2);
	has_returned_springboards = false;
	memset(&springboards, 0, sizeof(springboards));
}

static void test_writes(void)
{
	static const uint8_t bytes[] = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6};
	struct patch patch = {.site = site_of(PROBE_JUMP, 5, 3, (const unsigned int[]){2, 1, 3}),
			.method = PROBE_JUMP};
	struct patch_writer writer;

	CHECK(patch_set_is_inner_begin(&patch, 2) && patch_set_is_inner_begin(&patch, 3) &&
			!patch_set_is_inner_begin(&patch, 0) &&
			!patch_set_is_inner_begin(&patch, 1) &&
			!patch_set_is_inner_begin(&patch, 4));
	patch_writer_open(&writer);
	CHECK(!patch_set_write_bytes(&writer, &patch, bytes, FIRST));
	CHECK(!memcmp(code, (const uint8_t[]){0xa0, 0x41, 0x42, 0x43, 0x44, 0x45}, 6));
	CHECK(!patch_set_write_bytes(&writer, &patch, bytes, INNER));
	CHECK(!memcmp(code, (const uint8_t[]){0xa0, 0x41, 0xa2, 0xa3, 0x44, 0x45}, 6));
	CHECK(!patch_set_write_bytes(&writer, &patch, bytes, BETWEEN));
	CHECK(!memcmp(code, (const uint8_t[]){0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0x45}, 6));
	CHECK(!patch_set_write_breakpoint(&writer, &patch) && code[0] == 0xcc && code[1] == 0xa1);
	for (unsigned int i = 0; i < 256; i++) {
		code[1] = (uint8_t)i;
		CHECK(!patch_set_write_breakpoint(&writer, &patch) && code[0] == 0xcc &&
				code[1] == i);
	}
	/* Several bytes between two begins. */
	patch.site = site_of(PROBE_JUMP, 5, 2, (const unsigned int[]){4, 3});
	CHECK(!patch_set_write_bytes(&writer, &patch, bytes, BETWEEN));
	CHECK(!memcmp(code, (const uint8_t[]){0x40, 0xa1, 0xa2, 0xa3, 0x44, 0x45}, 6));
	/* Within a word of 16 bytes by one store, not across its end. */
	patch.site = site_of(PROBE_JUMP, 5, 1, (const unsigned int[]){5});
	CHECK(patch_set_write_at_once(&patch, &writer, bytes) && patch.is_whole);
	CHECK(!memcmp(code, (const uint8_t[]){0xa0, 0xa1, 0xa2, 0xa3, 0xa4}, 5));
	patch.site.runtime += 11;
	CHECK(patch_set_write_at_once(&patch, &writer, bytes) && code[15] == 0xa4);
	patch.site.runtime++;
	CHECK(!patch_set_write_at_once(&patch, &writer, bytes) && !patch.is_whole &&
			code[16] != 0xa4);
	CHECK(patch_exchange(&writer, (uint64_t)(uintptr_t)code + 12, bytes, 5) == -EXDEV &&
			!patch_exchange(&writer, (uint64_t)(uintptr_t)code + 12, bytes, 4));
	CHECK(!patch_set_write_jump(&writer, (uint64_t)(uintptr_t)code,
			      (uint64_t)(uintptr_t)code + 0x105) &&
			!memcmp(code, (const uint8_t[]){0xe9, 0, 1, 0, 0}, 5));
	CHECK(patch_set_write_jump(&writer, (uint64_t)(uintptr_t)code,
			      (uint64_t)(uintptr_t)code + UINT64_C(0x80000005)) == -ERANGE);
	CHECK(!patch_set_change_jump(&writer, (uint64_t)(uintptr_t)code,
			      (uint64_t)(uintptr_t)code + 0x205) &&
			!memcmp(code, (const uint8_t[]){0xe9, 0, 2, 0, 0}, 5));
	CHECK(patch_set_change_jump(&writer, (uint64_t)(uintptr_t)code,
			      (uint64_t)(uintptr_t)code + UINT64_C(0x80000005)) == -ERANGE);
	patch_writer_close(&writer);
}

/* Probes of one location: the one that was set last, and the jump that is written there. */
static void test_same_location(void)
{
	static struct patch_hot hot[3];
	struct patch patches[3] = {{.hot = &hot[0]}, {.hot = &hot[1]}, {.hot = &hot[2]}};
	struct patch **stack_slot;

	for (unsigned int i = 0; i < 3; i++) {
		patches[i].site = site_of(PROBE_JUMP, 5, 1, (const unsigned int[]){5});
		patches[i].method = PROBE_JUMP;
		patches[i].next = i < 2 ? &patches[i + 1] : NULL;
		patches[i].flags = PATCH_EXIT;
		hot[i] = (struct patch_hot){
				.generation = 10 + i, .first_generation = 100 + i, .successor = 77};
	}
	stack_slot = patch_location_list(patches[0].site.runtime);
	CHECK(!*stack_slot);
	*stack_slot = &patches[0];
	generations = 500;
	CHECK(patch_set_inherit_generation(&patches[0]) == 102 && hot[0].successor == 77 &&
			hot[1].successor == -1 && hot[2].successor == -2);
	patches[2].flags = 0;
	CHECK(patch_set_inherit_generation(&patches[1]) == 501 && hot[0].successor == 1 &&
			hot[2].successor == -1);
	/* Generations wrap around after 2^32. */
	hot[0].generation = 0x80000005;
	hot[2].generation = UINT32_MAX;
	hot[1].generation = 3;
	CHECK(patch_set_inherit_generation(&patches[0]) == 100 ||
			patch_set_inherit_generation(&patches[0]) == 101);
	hot[0].generation = UINT32_MAX;
	hot[2].generation = UINT32_MAX - 1;
	CHECK(patch_set_inherit_generation(&patches[0]) == 101);
	/* Another location of the same list. */
	patches[1].site.runtime++;
	hot[1].successor = 77;
	CHECK(patch_set_inherit_generation(&patches[0]) == 100 && hot[1].successor == 77);
	patches[0].slot = 0;
	patches[1].slot = 0x111;
	patches[2].slot = 0x222;
	CHECK(patch_set_inherited_slot(&patches[0]) == 0x222);
	patches[2].method = PROBE_PUNNED;
	CHECK(!patch_set_inherited_slot(&patches[0]));
	patches[2].method = PROBE_JUMP;
	patches[2].slot = 0;
	CHECK(!patch_set_inherited_slot(&patches[0]));
	*stack_slot = NULL;
}

static int error_of(const struct patch_setup *setup)
{
	struct patch_setup copy = *setup;

	CHECK(patch_set(&copy, 1) == 1 && !copy.patch);
	return copy.error;
}

/* Requests that are refused, each with its error. */
static void test_refused(void)
{
	struct probe_site site = site_of(PROBE_JUMP, 5, 1, (const unsigned int[]){5});
	struct patch_setup setup = {.site = &site};

	site.method = PROBE_NONE;
	CHECK(error_of(&setup) == -EINVAL);
	site.method = PROBE_JUMP;
	site.nr_pieces = 0;
	CHECK(error_of(&setup) == -EINVAL);
	site.nr_pieces = 1;
	site.runtime = 0;
	CHECK(error_of(&setup) == -EINVAL);
	site.runtime = (uint64_t)(uintptr_t)code;
	site.method = PROBE_KERNEL;
	CHECK(error_of(&setup) == -EREMOTE);
	site.method = PROBE_JUMP;
	site.no_exit = "it returns more than once";
	setup.flags = PATCH_EXIT;
	CHECK(error_of(&setup) == -EOPNOTSUPP);
	setup.flags = 0;
	code[0] = 0x99;
	CHECK(error_of(&setup) == -ESTALE);
	code[0] = 0xcc;
	CHECK(error_of(&setup) == -EADDRINUSE);
	code[0] = site.bytes[0];
	CHECK(memcmp(code, site.bytes, 5) == 0);
}

/* The access of the page in which the address is, as in /proc. */
static const char *access_of(const void *address)
{
	static char access[8];
	unsigned long begin, end;
	FILE *maps = fopen("/proc/self/maps", "re");

	CHECK(maps);
	*access = '\0';
	while (fscanf(maps, "%lx-%lx %7s%*[^\n]", &begin, &end, access) == 3) {
		if ((uintptr_t)address >= begin && (uintptr_t)address < end)
			break;
	}
	fclose(maps);
	return access;
}

/*
 * So many ranges of writable code of the program are known; with one more, several bytes are not
 * changed by one store.
 */
static void test_writable(void)
{
	const size_t page = 4096, size = 2 * (PATCH_WRITABLE_MAX + 1) * page;
	uint8_t *memory =
			mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const uint8_t bytes[] = {1, 2, 3, 4, 5};
	struct patch_writer writer;

	CHECK(memory != MAP_FAILED && !mprotect(code, page, PROT_READ | PROT_EXEC));
	for (unsigned int i = 0; i <= PATCH_WRITABLE_MAX; i++) {
		uint8_t *next = memory + (2 * i + 1) * page;

		patch_writer_open(&writer);
		CHECK(patch_exchange(&writer, (uint64_t)(uintptr_t)code, bytes, 5) == 0 &&
				code[4] == 5);
		CHECK(!strcmp(access_of(code), "rwxp"));
		/*
		 * Code of the program remains writable; other pages are restored when the next one
		 * is written.
		 */
		if (i) {
			CHECK(!patch_exchange(
					&writer, (uint64_t)(uintptr_t)(next - 2 * page), bytes, 5));
			CHECK(!strcmp(access_of(code), "r-xp"));
			CHECK(writer.nr_writable == i && writer.knows_writable);
		}
		patch_writer_close(&writer);
		CHECK(!strcmp(access_of(code), "r-xp"));
		CHECK(!i || !strcmp(access_of(next - 2 * page), "rwxp"));
		CHECK(!mprotect(next, page, PROT_READ | PROT_WRITE | PROT_EXEC));
	}
	patch_writer_open(&writer);
	CHECK(patch_exchange(&writer, (uint64_t)(uintptr_t)code, bytes, 5) == -EPERM);
	CHECK(!patch_write(&writer, (uint64_t)(uintptr_t)code + 8, bytes, 5) && code[12] == 5);
	patch_writer_close(&writer);
	/* Without /proc/self/mem the page must be made writable. */
	patch_writer_plain = true;
	patch_writer_open(&writer);
	CHECK(writer.memory == -1 && !patch_exchange(&writer, (uint64_t)(uintptr_t)code, bytes, 5));
	CHECK(!patch_write(&writer, (uint64_t)(uintptr_t)code + page - 2, bytes, 2) &&
			code[page - 1] == 2);
	CHECK(patch_write(&writer, page, bytes, 1) == -ENOMEM);
	patch_writer_close(&writer);
	patch_writer_plain = false;
	CHECK(!strcmp(access_of(code), "r-xp"));
	munmap(memory, size);
}

static bool is_unlocked(void)
{
	return !pthread_mutex_trylock(&lock) && !pthread_mutex_unlock(&lock);
}

/* Each function releases the lock, also if there is nothing to do. */
static void test_locks(void)
{
	struct patch_stats stats;
	int status = -1;
	pid_t child;

	CHECK(is_unlocked());
	CHECK(patch_set(NULL, 0) == 0 && is_unlocked());
	CHECK(patch_remove(NULL, 0) == 0 && is_unlocked());
	patch_find_unwinder();
	CHECK(is_unlocked());
	patch_scan();
	CHECK(is_unlocked());
	CHECK(patch_quiesce() && is_unlocked() && is_quiesced);
	CHECK(patch_quiesce() && is_unlocked());
	patch_check();
	CHECK(is_unlocked());
	patch_signals_sandbox(PATCH_SANDBOX_NO_SIGNALS);
	CHECK(is_unlocked());
	patch_signals_sandbox(PATCH_SANDBOX_NONE);
	CHECK(is_unlocked());
	/* While another thread holds it, a check does nothing; a child of fork() finds it free. */
	CHECK(!pthread_mutex_lock(&lock));
	patch_check();
	child = fork();
	if (!child)
		_exit(is_unlocked() ? 7 : 8);
	CHECK(!pthread_mutex_unlock(&lock) && is_unlocked());
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	patch_stats(&stats);
	CHECK(!stats.open && !stats.traps && stats.bytes == patch_memory_bytes());
}

/* A change that cannot be completed is undone, and no hit has a handler. */
static void test_aborted(void)
{
	struct patch_hot hot = {.entry = (patch_handler)(uintptr_t)1,
			.exit = (patch_handler)(uintptr_t)2,
			.follows = true};
	struct patch patch = {.site = site_of(PROBE_JUMP, 5, 3, (const unsigned int[]){2, 1, 3}),
			.method = PROBE_JUMP,
			.hot = &hot,
			.armed = true};
	struct patch_setup setups[2] = {{.patch = &patch}, {.patch = NULL, .error = 7}};
	struct patch *one = &patch;
	struct patch_writer writer;

	CHECK(!mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	patch.site = site_of(PROBE_JUMP, 5, 3, (const unsigned int[]){2, 1, 3});
	code[0] = 0xcc;
	code[2] = 0x3f;
	code[4] = 0x99;
	patch_writer_open(&writer);
	patch_set_abort(&setups[0], &writer, -EPERM);
	patch_writer_close(&writer);
	CHECK(code[0] == 0x40 && code[2] == 0x42 && code[4] == 0x99);
	CHECK(!setups[0].patch && setups[0].error == -EPERM && !patch.armed && !hot.entry &&
			!hot.exit && !hot.follows);
	/* Nothing was begun. */
	patch.armed = true;
	hot.entry = (patch_handler)(uintptr_t)1;
	setups[0] = (struct patch_setup){.patch = &patch};
	patch_set_free_patches(&one, 1);
	CHECK(hot.entry);
	patch_set_cancel(setups, 2, -EDEADLK);
	CHECK(!setups[0].patch && setups[0].error == -EDEADLK && !patch.armed && !hot.entry &&
			setups[1].error == 7);
}

/* ---- probes that are set, in code that no thread executes ---- */

static void on_hit(const struct patch_hit *hit)
{
	(void)hit;
}

static uint64_t target_of_jump(uint64_t at)
{
	int32_t away;

	CHECK(*(const uint8_t *)at == 0xe9);
	memcpy(&away, (const uint8_t *)at + 1, 4);
	return at + 5 + (uint64_t)(int64_t)away;
}

static struct patch *set_one(struct probe_site *site, unsigned int flags)
{
	struct patch_setup setup = {
			.site = site, .flags = flags, .entry = on_hit, .user = &generations};
	uint32_t before = generations;

	CHECK(!patch_set(&setup, 1) && !setup.error && setup.patch);
	CHECK(setup.method == setup.patch->method && setup.patch->armed);
	CHECK(setup.patch->hot->user == &generations && setup.patch->hot->entry == on_hit &&
			!setup.patch->hot->exit && !setup.patch->hot->follows &&
			setup.patch->hot->address == site->runtime &&
			setup.patch->hot->generation == before + 1 &&
			setup.patch->hot->first_generation == before + 1 &&
			generations == before + 1);
	return setup.patch;
}

static void remove_one(struct patch *patch)
{
	CHECK(!patch_remove(&patch, 1) && !patch->armed && !patch->hot->entry);
}

static bool takes_traps(void)
{
	struct sigaction action;

	return !sigaction(SIGTRAP, NULL, &action) && action.sa_flags & SA_SIGINFO;
}

static void test_set(void)
{
	static const unsigned int lengths[] = {2, 1, 3};
	uint8_t before[64];

	for (unsigned int offset = 0; offset <= 12; offset += 12) {
		struct probe_site site = site_of(PROBE_JUMP, 5, 3, lengths);
		struct patch *patch, *trap, *again;
		struct patch_setup setup = {.site = &site, .flags = PATCH_PREPARE};
		uint64_t trampoline;

		memset(code, 0x90, 64);
		memcpy(code + 16 + offset, site.bytes, 6);
		memcpy(before, code, sizeof(before));
		site.runtime += 16 + offset;
		/* Only prepared. */
		CHECK(patch_set(&setup, 1) == 1 && setup.error == -EALREADY && !setup.patch &&
				!memcmp(code, before, sizeof(before)));
		patch = set_one(&site, 0);
		CHECK(patch->method == PROBE_JUMP && patch->site.nr_pieces == 3 && patch->slot &&
				patch->is_whole == !offset);
		CHECK(target_of_jump(site.runtime) == patch->slot &&
				target_of_jump(patch->slot) == patch->trampoline);
		CHECK(memchr(traps, code[16 + offset + 2], sizeof(traps)) &&
				memchr(traps, code[16 + offset + 3], sizeof(traps)));
		CHECK(!memcmp(code, before, 16 + offset) &&
				!memcmp(code + 21 + offset, before + 21 + offset,
						sizeof(before) - 21 - offset));
		CHECK(error_of(&(struct patch_setup){.site = &site}) == -EBUSY);
		remove_one(patch);
		CHECK(!memcmp(code, before, sizeof(before)));
		/* The same code again; other code for a trap, which changes one byte. */
		again = set_one(&site, 0);
		CHECK(again == patch);
		remove_one(again);
		trap = set_one(&site, PATCH_TRAP);
		CHECK(trap != patch && trap->method == PROBE_BREAKPOINT &&
				trap->site.nr_pieces == 1 && trap->site.displaced == 2 &&
				!trap->site.ends && !trap->slot && trap->bytes[0] == 0xcc);
		CHECK(code[16 + offset] == 0xcc);
		code[16 + offset] = before[16 + offset];
		CHECK(!memcmp(code, before, sizeof(before)));
		code[16 + offset] = 0xcc;
		remove_one(trap);
		CHECK(!memcmp(code, before, sizeof(before)));
		/* At a breakpoint of another program. */
		code[16 + offset] = 0xcc;
		trap = set_one(&site, PATCH_OVER);
		CHECK(trap->bytes[0] == 0x06 && code[16 + offset] == 0x06);
		code[16 + offset] = before[16 + offset];
		remove_one(trap);
		/* After patch_quiesce(), only the trampoline is known. */
		trampoline = patch->trampoline;
		CHECK(patch_quiesce());
		memcpy(code, before, sizeof(before));
		again = set_one(&site, 0);
		CHECK(takes_traps());
		CHECK(again->trampoline == trampoline && again->site.nr_pieces == 3 &&
				target_of_jump(site.runtime) == again->slot &&
				target_of_jump(again->slot) == trampoline);
		remove_one(again);
		CHECK(!memcmp(code, before, sizeof(before)));
	}
}

/* Other code for the same location takes over the jump of the first one. */
static void test_taken_over(void)
{
	static const unsigned int lengths[] = {2, 1, 3};
	struct probe_site site = site_of(PROBE_JUMP, 5, 3, lengths);
	struct patch *first = set_one(&site, 0), *second;
	uint64_t slot = first->slot;

	CHECK(slot && target_of_jump(slot) == first->trampoline);
	remove_one(first);
	CHECK(target_of_jump(slot) == first->trampoline);
	second = set_one(&site, PATCH_ALL);
	CHECK(second != first && second->trampoline != first->trampoline && second->slot == slot &&
			target_of_jump(slot) == second->trampoline &&
			target_of_jump(site.runtime) == slot);
	remove_one(second);
	CHECK(set_one(&site, 0) == first && target_of_jump(slot) == first->trampoline);
	remove_one(first);
	CHECK(!memcmp(code, site.bytes, 6) && patch_quiesce());
}

/* A short jump leads to one in padding, which other code for the location takes over. */
static void test_short(void)
{
	static const unsigned int lengths[] = {3};
	static const uint8_t padding[] = {0x90, 0x91, 0x92, 0x93, 0x94};
	struct probe_site site = site_of(PROBE_SHORT, 2, 1, lengths);
	struct patch *first, *second;
	const uint64_t springboard = site.runtime + 0x40;

	site.springboard = site.address + 0x40;
	memcpy(site.springboard_bytes, padding, sizeof(padding));
	memcpy(code + 0x40, padding, sizeof(padding));
	first = set_one(&site, 0);
	CHECK(first->method == PROBE_SHORT && first->slot == springboard && code[0] == 0xeb &&
			code[1] == 0x3e && code[2] == site.bytes[2] &&
			target_of_jump(springboard) == first->trampoline && code[0x45] != 0xe9);
	remove_one(first);
	CHECK(!memcmp(code, site.bytes, 3) && target_of_jump(springboard) == first->trampoline);
	second = set_one(&site, PATCH_ALL);
	CHECK(second != first && second->slot == springboard && code[0] == 0xeb &&
			code[1] == 0x3e && target_of_jump(springboard) == second->trampoline);
	remove_one(second);
	CHECK(set_one(&site, 0) == first && target_of_jump(springboard) == first->trampoline);
	remove_one(first);
	/* Padding that has other bytes: a trap. */
	CHECK(patch_quiesce());
	memset(code + 0x40, 0x77, 5);
	first = set_one(&site, 0);
	CHECK(first->method == PROBE_BREAKPOINT && code[0] == 0xcc && code[1] == site.bytes[1] &&
			code[0x40] == 0x77);
	remove_one(first);
	CHECK(!memcmp(code, site.bytes, 3) && patch_quiesce());
}

/* Many at once, of which one is refused. */
static void test_set_many(void)
{
	static const unsigned int lengths[] = {5};
	static struct probe_site sites[AT_ONCE + 2];
	static struct patch_setup setups[AT_ONCE + 2];
	static struct patch *patches[AT_ONCE + 2];
	const unsigned int nr = AT_ONCE + 2;
	size_t nr_set = 0;
	uint8_t *page = mmap(NULL, 16 * nr, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(AT_ONCE == 512 && page != MAP_FAILED);
	for (unsigned int i = 0; i < nr; i++) {
		sites[i] = site_of(PROBE_JUMP, 5, 1, lengths);
		sites[i].runtime = (uint64_t)(uintptr_t)page + 16 * i;
		memcpy(page + 16 * i, sites[i].bytes, 5);
		setups[i] = (struct patch_setup){.site = &sites[i], .entry = on_hit};
	}
	page[16 * 3] ^= 1;
	CHECK(patch_set(setups, nr) == 1 && setups[3].error == -ESTALE && !setups[3].patch);
	for (unsigned int i = 0; i < nr; i++) {
		if (i == 3)
			continue;
		CHECK(!setups[i].error && setups[i].patch &&
				target_of_jump(sites[i].runtime) == setups[i].patch->trampoline &&
				!setups[i].patch->slot);
		patches[nr_set++] = setups[i].patch;
	}
	CHECK(nr_set == nr - 1 && !patch_remove(patches, nr_set));
	page[16 * 3] ^= 1;
	for (unsigned int i = 0; i < nr; i++)
		CHECK(!memcmp(page + 16 * i, sites[i].bytes, 5));
	CHECK(patch_quiesce());
	munmap(page, 16 * nr);
}

/* Of several requests, those of one kind count; each request has its own result. */
static void test_several(void)
{
	struct patch_setup setups[3] = {{.flags = PATCH_ALL}, {.flags = PATCH_TRAP},
			{.flags = PATCH_EXIT | PATCH_ALL}};

	CHECK(patch_set_any_exit(setups, 3) && !patch_set_any_exit(setups, 2) &&
			!patch_set_any_exit(setups, 0));
}

/* Waits until the last thread has left each of the probes, however long that takes. */
static void test_settled(void)
{
	struct patch some[3] = {
			{.hot = &settling[0]}, {.hot = &settling[1]}, {.hot = &settling[2]}};
	struct patch *const patches[3] = {&some[0], &some[1], &some[2]};
	int user;

	CHECK(SCANS_MAX == 50 && YIELDS == 10);
	settling_left[0] = 2;
	settling_left[1] = 0;
	settling_left[2] = SCANS_MAX + YIELDS + 1;
	patch_settle(patches, 0);
	CHECK(!settling_asked);
	patch_settle(patches, 2);
	CHECK(!settling_left[0] && settling_left[2] == SCANS_MAX + YIELDS + 1 &&
			settling_asked == 4);
	patch_settle(patches, 3);
	CHECK(!settling_left[2] && settling_asked == 4 + 2 + SCANS_MAX + YIELDS + 2);
	patch_change_user(&some[1], &user);
	CHECK(settling[1].user == &user && !settling[0].user && !settling[2].user);
	CHECK(patch_traps_are_silent() == patch_resumes());
}

int main(void)
{
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	CHECK(code != MAP_FAILED && !patch_start(false) && !patch_set_register_barrier());
	test_distances();
	test_bytes_fit();
	test_jumps();
	test_bytes_needed();
	test_springboards();
	test_writes();
	test_same_location();
	test_refused();
	test_several();
	test_set();
	test_taken_over();
	test_short();
	test_set_many();
	test_aborted();
	test_locks();
	test_writable();
	test_settled();
	munmap(code, 4096);
	return 0;
}
