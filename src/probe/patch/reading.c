/* SPDX-License-Identifier: MIT */
/*
 * Memory that a pointer leads to, read in a hit. A system call can say that nothing is there where a load would be the program's end,
 * and costs more than all the rest of a hit; so most of it is loaded, under three conditions, none of which is enough alone:
 *
 *	the page      was read by a system call before (process_vm_readv(), which refuses devices, too), by this thread, and within the last
 *	              tenth of a millisecond another one has said that it can be read; a wild pointer never gets as far as a load
 *	the net       SIGSEGV and SIGBUS arrive at our handler (faults.c), so a page that was taken away meanwhile ends the load, not the program
 *	the thread    blocks neither of them: where it does, the kernel would end the program without a look at any handler
 *
 * Nets and masks change behind our back: the C library's functions tell (patch_signals_action() and patch_signals_mask()), a signal of a fault that is
 * the program's tells, and what nobody tells is asked of the kernel every tenth of a millisecond. Where some handler blocks these signals
 * while it runs, whose beginning nobody tells, it is asked in each hit. So the program is in danger only where a thread blocks them by a
 * system call of its own, and within the same tenth of a millisecond hits a probe whose pointer leads to a page that
 * was read before and taken away since. Where a condition fails, it is read as it always was.
 *
 * Of each thread, by its number. Used by its own hits only, which signals do not nest; what others set is one word (`since`).
 * Compiled as hit.c.
 */
#include "actions.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#define PAGE 4096u
#define PAGE_BITS 12
#define PAGES 32
#define TICKS (1ULL << 18) /* of the time stamp: about a tenth of a millisecond */
#define ROUND_BITS 20
#define UNKNOWN 0
_Static_assert(PATCH_ADDRESS_BITS == 64 - ROUND_BITS + PAGE_BITS, "a label has room for both");

long patch_load_bytes(void *to, uint64_t from, size_t size);
long patch_load_text(char *to, uint64_t from, size_t most);

struct patch_reading {
	uint64_t since; /* the time stamp when it was asked; UNKNOWN */
	uint64_t generation;
	uint64_t round; /* of asking */
	bool open;
	/* The number of the page, above that of the round in which it was there; by the number's lowest bits. */
	uint64_t pages[PAGES];
} __attribute__((aligned(64)));

static uint64_t faults;
static uint64_t ticks = TICKS;         /* after which it is asked again; 0: always */
static struct patch_reading *readings; /* NULL: none are wanted */
static struct patch_reading *memory;   /* of all of them, from the first time on */

static inline struct patch_reading *own(void)
{
	/* Acquire: that they are zeros. Pairs with the release in patch_reads(). */
	struct patch_reading *all = __atomic_load_n(&readings, __ATOMIC_ACQUIRE);
	int number = all ? patch_hit_number() : -1;

	return number < 0 ? NULL : &all[number];
}

static inline uint64_t generation(void)
{
	/* Relaxed: see patch_fault_notify_readers() in faults.c. */
	return __atomic_load_n(&patch_faults_generation, __ATOMIC_RELAXED);
}

/* ---- what is told ---- */

void patch_reading_begins(unsigned int number)
{
	/* Acquire: that they are zeros. Pairs with the release in patch_reads(). */
	struct patch_reading *all = __atomic_load_n(&memory, __ATOMIC_ACQUIRE);

	if (all)
		all[number].since = UNKNOWN;
}

void patch_reading_forgets(void)
{
	struct patch_reading *reading = own();

	if (reading)
		reading->since = UNKNOWN;
}

/* Until it forgets; or for a tenth of a millisecond, if a handler comes in between that does not return. */
void patch_reading_pauses(void)
{
	struct patch_reading *reading = own();

	if (!reading)
		return;
	reading->open = false;
	reading->generation = generation();
	reading->since = __builtin_ia32_rdtsc();
}

void patch_reading_asks_always(bool always)
{
	/* Relaxed: see patch_reader_prepare(). */
	__atomic_store_n(&ticks, always ? 0 : TICKS, __ATOMIC_RELAXED);
}

/* ---- what is asked ---- */

static bool is_caught(int number)
{
	struct patch_action action = {0};

	return !patch_exchange_action(number, NULL, &action) &&
			action.handler == (uint64_t)(uintptr_t)patch_fault_arrives;
}

static bool patch_reader_is_open(void)
{
	uint64_t mask = 0;

	return !patch_system_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, PATCH_MASK_BYTES,
			       0, 0) &&
			!(mask & PATCH_FAULT_SIGNALS) && is_caught(SIGSEGV) && is_caught(SIGBUS);
}

static __attribute__((noinline)) void ask(struct patch_reading *reading, uint64_t now)
{
	reading->generation = generation();
	reading->round = (reading->round + 1) & ((1u << ROUND_BITS) - 1);
	for (unsigned int i = 0; !reading->round && i < PAGES; i++)
		reading->pages[i] = 0;
	reading->open = patch_reader_is_open();
	/* Last: what is told meanwhile, by a handler, has another generation or is told again when its mask is changed back. UNKNOWN: the next hit asks, too. */
	reading->since = now;
}

/*
 * Whether the first 8 bytes of the page can be read, by a call that does nothing else: it reads a mask, and finds that what it should do with
 * that is nothing that it knows.
 */
static __attribute__((noinline)) bool is_still_there(uint64_t page)
{
	return patch_system_call(SYS_rt_sigprocmask, -1, (long)(page << PAGE_BITS), 0,
			       PATCH_MASK_BYTES, 0, 0) == -EINVAL;
}

static inline uint64_t *patch_reader_find_entry(struct patch_reading *reading, uint64_t page)
{
	return &reading->pages[page % PAGES];
}

static inline uint64_t patch_reader_page_label(const struct patch_reading *reading, uint64_t page)
{
	return page << ROUND_BITS | reading->round;
}

static __attribute__((noinline)) bool is_there_as_before(
		struct patch_reading *reading, uint64_t page)
{
	uint64_t *entry = patch_reader_find_entry(reading, page);

	if (!page || *entry >> ROUND_BITS != page)
		return false;
	*entry = is_still_there(page) ? patch_reader_page_label(reading, page) : 0;
	return *entry != 0;
}

/* NULL: by a system call. */
static inline struct patch_reading *patch_reader_prepare(
		uint64_t from, size_t size, struct patch_reading **known)
{
	struct patch_reading *reading = *known;
	uint64_t page = from >> PAGE_BITS, now = 0;
	bool is_old = false;

	/* Pages that follow each other are read by a system call together: few values are on two. */
	if (!size || from >> PATCH_ADDRESS_BITS || (from % PAGE) + size > PAGE)
		return NULL;
	/* The time stamp costs as much as all the rest: once in a hit. */
	if (!reading) {
		reading = own();
		if (!reading)
			return NULL;
		now = __builtin_ia32_rdtsc();
		/* Relaxed: whoever makes it 0 does so before a handler is there for which it matters. */
		is_old = now - reading->since > __atomic_load_n(&ticks, __ATOMIC_RELAXED);
		*known = reading;
	}
	if (__builtin_expect(is_old, 0) || __builtin_expect(reading->generation != generation(), 0))
		ask(reading, now);
	if (!reading->open)
		return NULL;
	if (__builtin_expect(*patch_reader_find_entry(reading, page) !=
					    patch_reader_page_label(reading, page),
			    0) &&
			!is_there_as_before(reading, page))
		return NULL;
	return reading;
}

/* ---- loads ---- */

static __attribute__((noinline)) void faulted(struct patch_reading *reading, uint64_t from)
{
	*patch_reader_find_entry(reading, from >> PAGE_BITS) = 0;
	/* Relaxed: a figure. */
	__atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);
}

bool patch_read(void *to, uint64_t from, size_t size, struct patch_reading **known)
{
	struct patch_reading *reading = patch_reader_prepare(from, size, known);

	if (!reading)
		return false;
	if (__builtin_expect(!patch_load_bytes(to, from, size), 1))
		return true;
	faulted(reading, from);
	return false;
}

long patch_read_text(char *to, uint64_t from, size_t most, struct patch_reading **known)
{
	struct patch_reading *reading = patch_reader_prepare(from, most, known);
	long got = reading ? patch_load_text(to, from, most) : -1;

	if (reading && got < 0)
		faulted(reading, from);
	return got;
}

void patch_read_so(uint64_t from, size_t size)
{
	struct patch_reading *reading = own();
	uint64_t page = from >> PAGE_BITS;

	if (!reading || !reading->open || !size || from >> PATCH_ADDRESS_BITS)
		return;
	for (; page <= (from + size - 1) >> PAGE_BITS; page++)
		*patch_reader_find_entry(reading, page) = patch_reader_page_label(reading, page);
}

/* ---- all of it ---- */

uint64_t patch_reading_faults(void)
{
	/* Relaxed: a figure. */
	return __atomic_load_n(&faults, __ATOMIC_RELAXED);
}

int patch_reads(bool wanted)
{
	struct patch_reading *all = memory;

	if (!wanted) {
		/* Relaxed: nobody is in a hit that could have it. */
		__atomic_store_n(&readings, NULL, __ATOMIC_RELAXED);
		patch_faults_end(PATCH_FAULTS_LOADS);
		return 0;
	}
	if (!all)
		all = patch_memory_anywhere(THREADS_MAX * sizeof(*all), PROT_READ | PROT_WRITE);
	if (!all)
		return -ENOMEM;
	/* Release: that they are zeros. Pairs with the acquire in patch_reading_begins(). */
	__atomic_store_n(&memory, all, __ATOMIC_RELEASE);
	patch_faults_start(PATCH_FAULTS_LOADS);
	/* Release: likewise. Pairs with the acquire in own(). */
	__atomic_store_n(&readings, all, __ATOMIC_RELEASE);
	return 0;
}
