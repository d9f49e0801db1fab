/* SPDX-License-Identifier: MIT */
/*
 * Reads memory that a pointer leads to, in a hit. If the memory is unmapped, a system call returns
 * an error, where a load would kill the program; but it costs more than the remainder of a hit. So
 * most values are loaded, under three conditions, none of which is sufficient alone:
 *
 *	the page      this thread has read it by a system call before (process_vm_readv(), which
 *	              refuses devices too), and within the last tenth of a millisecond another
 *	              system call has shown that it is readable; an invalid pointer never reaches
 *	              a load
 *	the handler   SIGSEGV and SIGBUS arrive at side's handler (faults.c), so if the page was
 *	              unmapped meanwhile, the load ends, not the program
 *	the thread    blocks neither of them: otherwise the kernel would kill the program without
 *	              calling a handler
 *
 * Actions and masks may change at any time. The wrappers of the C library's functions report
 * changes (patch_signals_action() and patch_signals_mask()), and so does a signal of a fault that
 * belongs to the program. All else is read from the kernel every tenth of a millisecond. If a
 * handler of the program blocks these signals, its begin cannot be noticed, so they are read in
 * each hit. So the program is in danger only if a thread blocks the signals by a system call of its
 * own, and within the same tenth of a millisecond hits a probe whose pointer leads to a page that
 * was read before and was unmapped since. If a condition fails, the memory is read by a system
 * call.
 *
 * There is one struct for each thread, by its number. Only its own hits use it, and hits do not
 * nest in signal handlers. Other threads store only one word (`since`). Compiled like hit.c.
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
_Static_assert(PATCH_ADDRESS_BITS == 64 - ROUND_BITS + PAGE_BITS, "a label has space for both");

long patch_load_bytes(void *to, uint64_t from, size_t size);
long patch_load_text(char *to, uint64_t from, size_t size);

struct patch_reading {
	uint64_t since; /* the time stamp when masks and actions were read; or UNKNOWN */
	uint64_t generation;
	uint64_t round; /* number of these readings */
	bool may_load;
	/*
	 * The number of the page, above that of the round in which it was readable; indexed by the
	 * lowest bits of the number.
	 */
	uint64_t pages[PAGES];
} __attribute__((aligned(64)));

static uint64_t faults;
static uint64_t ticks = TICKS;         /* after which they are read again; 0: always */
static struct patch_reading *readings; /* NULL: reads are not permitted */
static struct patch_reading *memory;   /* of all threads; never freed */

static inline struct patch_reading *patch_reader_own(void)
{
	/* Acquire: that they are zeros. Pairs with the release in patch_permit_reads(). */
	struct patch_reading *all = __atomic_load_n(&readings, __ATOMIC_ACQUIRE);
	int number = all ? patch_hit_number() : -1;

	return number < 0 ? NULL : &all[number];
}

static inline uint64_t patch_reader_generation(void)
{
	/* Relaxed: see patch_fault_notify_readers() in faults.c. */
	return __atomic_load_n(&patch_faults_generation, __ATOMIC_RELAXED);
}

/* ---- reported changes ---- */

void patch_reading_begin(unsigned int number)
{
	/* Acquire: that they are zeros. Pairs with the release in patch_permit_reads(). */
	struct patch_reading *all = __atomic_load_n(&memory, __ATOMIC_ACQUIRE);

	if (all)
		all[number].since = UNKNOWN;
}

void patch_reading_forget(void)
{
	struct patch_reading *reading = patch_reader_own();

	if (reading)
		reading->since = UNKNOWN;
}

/*
 * Until patch_reading_forget(); or for a tenth of a millisecond, if a handler interrupts the
 * thread and does not return.
 */
void patch_reading_pause(void)
{
	struct patch_reading *reading = patch_reader_own();

	if (!reading)
		return;
	reading->may_load = false;
	reading->generation = patch_reader_generation();
	reading->since = __builtin_ia32_rdtsc();
}

void patch_reading_ask_always(bool always)
{
	/* Relaxed: see patch_reader_prepare(). */
	__atomic_store_n(&ticks, always ? 0 : TICKS, __ATOMIC_RELAXED);
}

/* ---- reading masks, actions and pages ---- */

static bool patch_reader_is_caught(int number)
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
			!(mask & PATCH_FAULT_SIGNALS) && patch_reader_is_caught(SIGSEGV) &&
			patch_reader_is_caught(SIGBUS);
}

static __attribute__((noinline)) void patch_reader_refresh(
		struct patch_reading *reading, uint64_t now)
{
	reading->generation = patch_reader_generation();
	reading->round = (reading->round + 1) & ((1u << ROUND_BITS) - 1);
	for (unsigned int i = 0; !reading->round && i < PAGES; i++)
		reading->pages[i] = 0;
	reading->may_load = patch_reader_is_open();
	/*
	 * Stored last: a change that a handler reports meanwhile has another generation, or is
	 * reported again when its mask is restored. UNKNOWN: the next hit reads them too.
	 */
	reading->since = now;
}

/*
 * True if the first 8 bytes of the page can be read. The system call has no other effect: it reads
 * a mask, and finds that `how` is invalid.
 */
static __attribute__((noinline)) bool patch_reader_is_still_there(uint64_t page)
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

static __attribute__((noinline)) bool patch_reader_is_there_as_before(
		struct patch_reading *reading, uint64_t page)
{
	uint64_t *entry = patch_reader_find_entry(reading, page);

	if (!page || *entry >> ROUND_BITS != page)
		return false;
	*entry = patch_reader_is_still_there(page) ? patch_reader_page_label(reading, page) : 0;
	return *entry != 0;
}

/* Returns NULL if the memory must be read by a system call. */
static inline struct patch_reading *patch_reader_prepare(
		uint64_t from, size_t size, struct patch_reading **known)
{
	struct patch_reading *reading = *known;
	uint64_t page = from >> PAGE_BITS, now = 0;
	bool is_old = false;

	/* Adjacent pages are read together by a system call: few values are on two pages. */
	if (!size || from >> PATCH_ADDRESS_BITS || (from % PAGE) + size > PAGE)
		return NULL;
	/* Reading the time stamp costs as much as all else here, so it is read once in a hit. */
	if (!reading) {
		reading = patch_reader_own();
		if (!reading)
			return NULL;
		now = __builtin_ia32_rdtsc();
		/*
		 * Relaxed: a thread that makes it 0 does so before the handler exists for which it
		 * matters.
		 */
		is_old = now - reading->since > __atomic_load_n(&ticks, __ATOMIC_RELAXED);
		*known = reading;
	}
	if (__builtin_expect(is_old, 0) ||
			__builtin_expect(reading->generation != patch_reader_generation(), 0))
		patch_reader_refresh(reading, now);
	if (!reading->may_load)
		return NULL;
	if (__builtin_expect(*patch_reader_find_entry(reading, page) !=
					    patch_reader_page_label(reading, page),
			    0) &&
			!patch_reader_is_there_as_before(reading, page))
		return NULL;
	return reading;
}

/* ---- loads ---- */

static __attribute__((noinline)) void patch_reader_faulted(
		struct patch_reading *reading, uint64_t from)
{
	*patch_reader_find_entry(reading, from >> PAGE_BITS) = 0;
	/* Relaxed: a statistics counter. */
	__atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);
}

bool patch_read(void *to, uint64_t from, size_t size, struct patch_reading **known)
{
	struct patch_reading *reading = patch_reader_prepare(from, size, known);

	if (!reading)
		return false;
	if (__builtin_expect(!patch_load_bytes(to, from, size), 1))
		return true;
	patch_reader_faulted(reading, from);
	return false;
}

long patch_read_text(char *to, uint64_t from, size_t size, struct patch_reading **known)
{
	struct patch_reading *reading = patch_reader_prepare(from, size, known);
	long got = reading ? patch_load_text(to, from, size) : -1;

	if (reading && got < 0)
		patch_reader_faulted(reading, from);
	return got;
}

void patch_note_read(uint64_t from, size_t size)
{
	struct patch_reading *reading = patch_reader_own();
	uint64_t page = from >> PAGE_BITS;

	if (!reading || !reading->may_load || !size || from >> PATCH_ADDRESS_BITS)
		return;
	for (; page <= (from + size - 1) >> PAGE_BITS; page++)
		*patch_reader_find_entry(reading, page) = patch_reader_page_label(reading, page);
}

/* ---- permission to read ---- */

uint64_t patch_reading_faults(void)
{
	/* Relaxed: a statistics counter. */
	return __atomic_load_n(&faults, __ATOMIC_RELAXED);
}

int patch_permit_reads(bool wanted)
{
	struct patch_reading *all = memory;

	if (!wanted) {
		/* Relaxed: no thread is in a hit that could use it. */
		__atomic_store_n(&readings, NULL, __ATOMIC_RELAXED);
		patch_faults_end(PATCH_FAULTS_LOADS);
		return 0;
	}
	if (!all)
		all = patch_memory_anywhere(THREADS_MAX * sizeof(*all), PROT_READ | PROT_WRITE);
	if (!all)
		return -ENOMEM;
	/* Release: that they are zeros. Pairs with the acquire in patch_reading_begin(). */
	__atomic_store_n(&memory, all, __ATOMIC_RELEASE);
	patch_faults_start(PATCH_FAULTS_LOADS);
	/* Release: the same. Pairs with the acquire in patch_reader_own(). */
	__atomic_store_n(&readings, all, __ATOMIC_RELEASE);
	return 0;
}
