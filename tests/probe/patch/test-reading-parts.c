/* SPDX-License-Identifier: MIT */
/*
 * Exact steps of reads in hits: when masks, handlers and pages are read from the kernel, which
 * pages are known for how long, and what a fault changes. The test includes the file, and plays the
 * time stamp, the thread, the loads and the system calls.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "probe/patch/actions.h"

#include "../../check.h"

#define TENTH (1u << 18) /* steps of the time stamp after which they are read again */

static struct {
	uint64_t now, mask;
	unsigned int nr_stamps, nr_masks, nr_actions, nr_pages, nr_loads, nr_starts, nr_ends;
	uint64_t page; /* the page of the last check */
	bool page_is_gone, mask_fails, load_faults, has_no_memory;
	uint64_t handlers[65];
	int refused; /* the signal whose action cannot be read */
	int number;
	size_t asked_bytes;
	unsigned int started, ended;
} fake;

static uint64_t fake_stamp(void)
{
	fake.nr_stamps++;
	return fake.now;
}

static int fake_number(void)
{
	return fake.number;
}

static int fake_exchange(int number, const struct patch_action *action, struct patch_action *before)
{
	CHECK(!action && (number == SIGSEGV || number == SIGBUS));
	fake.nr_actions++;
	before->handler = fake.handlers[number];
	return number == fake.refused ? -EINVAL : 0;
}

static long fake_call(long number, long a, long b, long c, long d, long e, long f)
{
	CHECK(number == SYS_rt_sigprocmask && d == 8 && !e && !f);
	if (a == SIG_BLOCK) {
		CHECK(!b);
		fake.nr_masks++;
		memcpy((void *)c, &fake.mask, 8);
		return fake.mask_fails ? -EFAULT : 0;
	}
	CHECK(a == -1 && !c);
	fake.nr_pages++;
	fake.page = (uint64_t)b;
	return fake.page_is_gone ? -EFAULT : -EINVAL;
}

static long fake_bytes(void *to, uint64_t from, size_t size)
{
	fake.nr_loads++;
	memset(to, (int)from & 0xff, size);
	return fake.load_faults;
}

static long fake_text(char *to, uint64_t from, size_t most)
{
	(void)from;
	fake.nr_loads++;
	*to = 'x';
	return fake.load_faults ? -1 : (long)most - 1;
}

static void *fake_anywhere(size_t size, int protection)
{
	CHECK(protection == (PROT_READ | PROT_WRITE));
	fake.asked_bytes = size;
	return fake.has_no_memory ? NULL : aligned_alloc(64, size);
}

static void fake_start(unsigned int what)
{
	fake.nr_starts++;
	fake.started = what;
}

static void fake_end(unsigned int what)
{
	fake.nr_ends++;
	fake.ended = what;
}

#define __builtin_ia32_rdtsc fake_stamp
#define patch_hit_number fake_number
#define patch_exchange_action fake_exchange
#define patch_system_call fake_call
#define patch_load_bytes fake_bytes
#define patch_load_text fake_text
#define patch_memory_anywhere fake_anywhere
#define patch_faults_start fake_start
#define patch_faults_end fake_end
#define patch_faults_generation fake_generation
static uint64_t fake_generation;
#include "probe/patch/reading.c"

static struct patch_reading *mine; /* of the played thread */

static void begin(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.number = 5;
	fake.now = 10 * TENTH;
	fake.handlers[SIGSEGV] = fake.handlers[SIGBUS] = (uint64_t)(uintptr_t)patch_fault_arrives;
	memset(memory, 0, THREADS_MAX * sizeof(*memory));
	mine = &memory[5];
	fake_generation = 3;
	patch_reading_ask_always(false);
	CHECK(readings == memory);
}

/* One value in a hit of its own. */
static bool reads(uint64_t from, size_t size)
{
	struct patch_reading *known = NULL;
	uint8_t to[4096];

	return patch_read(to, from, size, &known);
}

static void know(uint64_t from, size_t size)
{
	CHECK(!reads(from, 1));
	patch_note_read(from, size);
}

static void test_started(void)
{
	CHECK(!patch_reader_own() && !reads(0x5000, 8));
	patch_reading_begin(3);
	fake.has_no_memory = true;
	CHECK(patch_permit_reads(true) == -ENOMEM && !fake.nr_starts && !memory && !readings);
	fake.has_no_memory = false;
	CHECK(!patch_permit_reads(true) && fake.nr_starts == 1 &&
			fake.started == PATCH_FAULTS_LOADS);
	CHECK(readings && readings == memory &&
			fake.asked_bytes == THREADS_MAX * sizeof(struct patch_reading) &&
			sizeof(struct patch_reading) % 64 == 0);
	fake.asked_bytes = 0;
	CHECK(!patch_permit_reads(false) && !readings && memory && fake.nr_ends == 1 &&
			fake.ended == PATCH_FAULTS_LOADS);
	memory[7].since = 9;
	patch_reading_begin(7);
	CHECK(!memory[7].since && !patch_reader_own());
	/* The same memory again. */
	CHECK(!patch_permit_reads(true) && readings == memory && !fake.asked_bytes &&
			fake.nr_starts == 2);
}

/* A page is loaded from once a system call has read it. */
static void test_pages(void)
{
	uint64_t value = 0;
	struct patch_reading *known = NULL;

	begin();
	CHECK(!reads(0x5008, 8) && !fake.nr_loads && !fake.nr_pages && mine->may_load &&
			fake.nr_masks == 1 && fake.nr_actions == 2);
	patch_note_read(0x5008, 8);
	CHECK(patch_read(&value, 0x5008, 8, &known) && value == 0x0808080808080808 &&
			known == mine);
	CHECK(fake.nr_loads == 1 && !fake.nr_pages && fake.nr_masks == 1);
	CHECK(reads(0x5000, 4096) && reads(0x5fff, 1) && !reads(0x6000, 1) && !reads(0x4fff, 1));
	/* Across the end of a page, of no byte, and outside of the program's addresses. */
	CHECK(!reads(0x5fff, 2) && !reads(0x5001, 4096) && !reads(0x5008, 0));
	CHECK(!reads(UINT64_C(1) << PATCH_ADDRESS_BITS | 0x5000, 8));
	/* Values on several pages; the last byte of one. */
	patch_note_read(0x8ffe, 2);
	CHECK(reads(0x8000, 1) && !reads(0x9000, 1));
	patch_note_read(0xaffe, 3);
	CHECK(reads(0xa000, 1) && reads(0xb000, 1) && !reads(0xc000, 1));
	patch_note_read(0xd000, 0);
	patch_note_read(UINT64_C(1) << PATCH_ADDRESS_BITS | 0xd000, 8);
	CHECK(!reads(0xd000, 1));
	/* Another page uses its entry: the numbers differ by the number of entries. */
	patch_note_read(0x5000 + 32 * 4096, 1);
	CHECK(reads(0x5000 + 32 * 4096, 1) && !reads(0x5000, 1));
	patch_note_read(0x5000 + 31 * 4096, 1);
	CHECK(reads(0x5000 + 32 * 4096, 1) && reads(0x5000 + 31 * 4096, 1));
	/* Page 0 is not valid any more after the next reading from the kernel. */
	patch_note_read(0, 8);
	CHECK(reads(8, 8));
	fake.now += TENTH + 1;
	CHECK(!reads(8, 8) && !fake.nr_pages);
	/* Text. */
	known = NULL;
	patch_note_read(0xd000, 8);
	{
		char text[8];

		CHECK(patch_read_text(text, 0xd000, 8, &known) == 7 && *text == 'x');
		CHECK(patch_read_text(text, 0xe000, 8, &known) == -1 &&
				patch_read_text(text, 0xd000, 0, &known) == -1);
	}
}

/* The kernel is asked after a tenth of a millisecond, once in a hit. */
static void test_times(void)
{
	struct patch_reading *known = NULL;
	uint64_t value;

	begin();
	know(0x5000, 8);
	CHECK(mine->since == 10 * TENTH && mine->round == 1 && mine->generation == 3);
	fake.now += TENTH;
	CHECK(reads(0x5000, 8) && fake.nr_masks == 1 && !fake.nr_pages);
	fake.now++;
	CHECK(reads(0x5000, 8) && fake.nr_masks == 2 && fake.nr_pages == 1 && fake.page == 0x5000 &&
			mine->round == 2 && mine->since == fake.now);
	CHECK(reads(0x5000, 8) && fake.nr_masks == 2 && fake.nr_pages == 1);
	/* The page is unmapped by then. */
	fake.now += TENTH + 1;
	fake.page_is_gone = true;
	CHECK(!reads(0x5000, 8) && fake.nr_pages == 2);
	fake.page_is_gone = false;
	CHECK(!reads(0x5000, 8) && fake.nr_pages == 2);
	patch_note_read(0x5000, 8);
	/* The time stamp is read once in a hit. */
	fake.nr_stamps = 0;
	CHECK(patch_read(&value, 0x5000, 8, &known) && patch_read(&value, 0x5008, 8, &known) &&
			fake.nr_stamps == 1);
	/* A change within the hit: they are read again, and once more in the next hit. */
	fake.nr_masks = 0;
	fake_generation++;
	CHECK(patch_read(&value, 0x5000, 8, &known) && fake.nr_masks == 1 &&
			mine->since == UNKNOWN && mine->generation == 4);
	CHECK(patch_read(&value, 0x5000, 8, &known) && fake.nr_masks == 1);
	CHECK(reads(0x5000, 8) && fake.nr_masks == 2 && mine->since == fake.now);
	/* In each hit, if a handler blocks signals of faults. */
	patch_reading_ask_always(true);
	fake.now++;
	CHECK(reads(0x5000, 8) && fake.nr_masks == 3);
	patch_reading_ask_always(false);
	fake.now++;
	CHECK(reads(0x5000, 8) && fake.nr_masks == 3);
	/* After as many rounds as a label can count, no page is known any more. */
	mine->round = (1u << 20) - 2;
	patch_note_read(0x5000, 8);
	fake.now += TENTH + 1;
	CHECK(reads(0x5000, 8) && mine->round == (1u << 20) - 1);
	patch_note_read(0x5000 + 31 * 4096, 8);
	fake.now += TENTH + 1;
	CHECK(!reads(0x5000, 8) && !mine->round);
	for (unsigned int i = 0; i < PAGES; i++)
		CHECK(!mine->pages[i]);
}

/* A thread loads only if the signals of faults are not blocked and arrive at side's handler. */
static void test_open(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS};

	begin();
	CHECK(patch_reader_is_open());
	fake.mask_fails = true;
	CHECK(!patch_reader_is_open());
	fake.mask_fails = false;
	for (unsigned int i = 0; i < 2; i++) {
		fake.mask = UINT64_C(1) << (numbers[i] - 1);
		CHECK(!patch_reader_is_open());
		fake.mask = ~fake.mask & ~PATCH_FAULT_SIGNALS;
		CHECK(patch_reader_is_open());
		fake.handlers[numbers[i]]++;
		CHECK(!patch_reader_is_open());
		fake.handlers[numbers[i]]--;
		fake.refused = numbers[i];
		CHECK(!patch_reader_is_open());
		fake.refused = 0;
	}
	/* A closed thread does not load, and does not learn pages. */
	begin();
	fake.mask = PATCH_FAULT_SIGNALS;
	know(0x5000, 8);
	CHECK(!mine->may_load && !mine->pages[5] && !reads(0x5000, 8) && !fake.nr_pages &&
			fake.nr_masks == 1);
	fake.mask = 0;
	CHECK(!reads(0x5000, 8) && fake.nr_masks == 1);
	patch_reading_forget();
	CHECK(mine->since == UNKNOWN);
	CHECK(!reads(0x5000, 8) && fake.nr_masks == 2 && mine->may_load);
	patch_note_read(0x5000, 8);
	CHECK(reads(0x5000, 8));
	/* A pause: until it ends, there are no loads and no readings. */
	fake_generation = 9;
	fake.now += 77;
	patch_reading_pause();
	CHECK(!mine->may_load && mine->since == fake.now && mine->generation == 9);
	CHECK(!reads(0x5000, 8) && fake.nr_masks == 2);
	patch_reading_forget();
	CHECK(reads(0x5000, 8) && fake.nr_masks == 3);
	/* A thread without an entry. */
	fake.number = -1;
	patch_reading_pause();
	patch_reading_forget();
	patch_note_read(0x5000, 8);
	CHECK(!reads(0x5000, 8) && mine->may_load);
	fake.number = 0;
	CHECK(patch_reader_own() == &memory[0]);
	fake.number = THREADS_MAX - 1;
	CHECK(patch_reader_own() == &memory[THREADS_MAX - 1]);
}

static void test_faults(void)
{
	struct patch_reading *known = NULL;
	uint64_t before = patch_reading_faults();
	char text[8];

	begin();
	know(0x5000, 8);
	patch_note_read(0x6000, 8);
	fake.load_faults = true;
	CHECK(!reads(0x5000, 8) && patch_reading_faults() == before + 1 && fake.nr_loads == 1);
	fake.load_faults = false;
	CHECK(!reads(0x5000, 8) && reads(0x6000, 8) && patch_reading_faults() == before + 1);
	fake.load_faults = true;
	CHECK(patch_read_text(text, 0x6000, 8, &known) == -1 &&
			patch_reading_faults() == before + 2);
	fake.load_faults = false;
	CHECK(patch_read_text(text, 0x6000, 8, &known) == -1 &&
			patch_reading_faults() == before + 2);
}

int main(void)
{
	test_started();
	test_pages();
	test_times();
	test_open();
	test_faults();
	free(memory);
	return 0;
}
