/* SPDX-License-Identifier: MIT */
/*
 * Exact values of slots, leases, doorbells, waits for space, replays and of the choice of
 * functions. The test includes the files: it decides what clocks and system calls return, and makes
 * producers of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

/*
 * A missing fence has an effect only on another processor, and rarely: so the test counts fences.
 */
static unsigned int nr_fences;
#define __atomic_thread_fence(order) ((order) == __ATOMIC_SEQ_CST ? (void)nr_fences++ : abort())

#include "ring/clock.h"
#include "ring/consumer.h"
#include "ring/doorbell.h"
#include "ring/lease.h"
#include "ring/portable.h"
#include "ring/space.h"
#include "ring/slots.h"

/* ---- clocks and calls ---- */

static int64_t clock_ns, clock_step;

static int64_t fake_read_ns(clockid_t id)
{
	CHECK(id == CLOCK_MONOTONIC);
	clock_ns += clock_step;
	return clock_ns;
}

static int fake_gettime(clockid_t id, struct timespec *time)
{
	int64_t now = fake_read_ns(id);

	*time = (struct timespec){now / 1000000000, now % 1000000000};
	return 0;
}

static struct {
	unsigned int nr_futex, nr_wakes, nr_waitv, nr_pauses, nr_dump;
	const void *word;
	long value;
	struct timespec timeout;
	int error;          /* the error of waits; 0: they return 0 */
	void (*acts)(void); /* while a wait lasts */
	long missing;       /* the thread that does not exist */
	long foreign;       /* a thread that this user may not signal */
	unsigned int nr_questions;
	size_t dumped;
	const void *dumped_at;
	uint32_t nr_words;
	uint64_t words[4][2];
	long pause_ns;
} calls;

static long fake_futex(va_list list)
{
	const void *word = va_arg(list, const void *);
	int operation = va_arg(list, int);
	long value = va_arg(list, int);
	const struct timespec *timeout = va_arg(list, const struct timespec *);

	calls.word = word;
	calls.value = value;
	if (operation == FUTEX_WAKE) {
		calls.nr_wakes++;
		errno = ENOSYS;
		return 0;
	}
	CHECK(operation == FUTEX_WAIT);
	calls.nr_futex++;
	calls.timeout = *timeout;
	if (calls.acts)
		calls.acts();
	/* If it succeeds, an error of an earlier call remains. */
	errno = calls.error ? calls.error : ENOTTY;
	return calls.error ? -1 : 0;
}

struct fake_wait {
	uint64_t value, address;
	uint32_t flags, reserved;
};

static long fake_waitv(va_list list)
{
	const struct fake_wait *waits = va_arg(list, const struct fake_wait *);
	uint32_t nr = va_arg(list, uint32_t);
	int flags = va_arg(list, int);
	const struct timespec *timeout = va_arg(list, const struct timespec *);

	CHECK(!flags && va_arg(list, int) == CLOCK_MONOTONIC);
	calls.nr_waitv++;
	calls.nr_words = nr;
	for (uint32_t i = 0; i < nr && i < 4; i++) {
		calls.words[i][0] = waits[i].address;
		calls.words[i][1] = waits[i].value;
		CHECK(waits[i].flags == 2);
	}
	if (timeout)
		calls.timeout = *timeout;
	errno = calls.error;
	return calls.error ? -1 : 0;
}

static long fake_syscall(long number, ...)
{
	va_list list;
	long ret = -1;

	va_start(list, number);
	if (number == SYS_futex)
		ret = fake_futex(list);
	else if (number == 449)
		ret = fake_waitv(list);
	else if (number == SYS_gettid)
		ret = 1000;
	else if (number == SYS_tgkill) {
		long thread;

		CHECK(va_arg(list, int) == getpid());
		thread = va_arg(list, uint32_t);
		CHECK(va_arg(list, int) == 0);
		calls.nr_questions++;
		ret = thread == calls.missing || thread == calls.foreign ? -1 : 0;
		/* If it succeeds, an error of an earlier call remains. */
		errno = thread == calls.foreign ? EPERM : ESRCH;
	} else
		abort();
	va_end(list);
	return ret;
}

static int fake_nanosleep(const struct timespec *pause, void *remaining)
{
	CHECK(!remaining);
	calls.nr_pauses++;
	calls.pause_ns = pause->tv_nsec;
	return 0;
}

static int fake_madvise(void *at, size_t size, int advice)
{
	CHECK(advice == MADV_DODUMP);
	calls.nr_dump++;
	calls.dumped_at = at;
	calls.dumped = size;
	return 0;
}

static bool permitted = true, pending;

static bool fake_permitted(void)
{
	return permitted;
}

static bool fake_pending(const struct ring_consumer *consumer)
{
	(void)consumer;
	return pending;
}

#define syscall fake_syscall
#define ring_clock_read_ns fake_read_ns
#define clock_gettime fake_gettime
#define madvise fake_madvise
#define nanosleep fake_nanosleep
#include "ring/doorbell.c"
#define ring_calls_permitted fake_permitted
#include "ring/slots.c"
#include "ring/space.c"
#include "ring/lease.c"
#define lease_step consumer_step
#include "ring/lease-consumer.c"
#undef lease_step
#define ring_consumer_pending fake_pending
#include "ring/bells.c"
#undef ring_consumer_pending
#include "ring/replay.c"
#include "ring/specialized.c"
#undef syscall

/* ---- a producer and a consumer of our own ---- */

#define RINGS 3

static _Alignas(64) unsigned char made[sizeof(struct ring_producer) +
		RINGS * sizeof(struct ring_location)];
static uint64_t owners[RINGS + 1], locks[RINGS * RING_LOCK_WORDS], stalled[RINGS];
static struct ring_control controls[RINGS];
static unsigned char data[RINGS][64];
static struct ring_doorbell doorbell;
static struct ring_lease lease;

static struct ring_producer *make_producer(void)
{
	struct ring_producer *producer = (void *)made;

	memset(made, 0, sizeof(made));
	memset(owners, 0, sizeof(owners));
	memset(controls, 0, sizeof(controls));
	memset(&doorbell, 0, sizeof(doorbell));
	memset(&lease, 0, sizeof(lease));
	memset(&calls, 0, sizeof(calls));
	calls.missing = calls.foreign = -1;
	memset(stalled, 0, sizeof(stalled));
	memset(locks, 0xee, sizeof(locks));
	producer->rings = RINGS;
	producer->owners = owners;
	producer->locks = locks;
	producer->stalled = stalled;
	producer->mask = 4095;
	producer->pid = getpid();
	producer->doorbell = &doorbell;
	producer->event_slots = 4;
	for (int i = 0; i < RINGS; i++)
		producer->locations[i] =
				(struct ring_location){.control = &controls[i], .data = data[i]};
	permitted = true;
	clock_ns = 1000000000;
	clock_step = 0;
	return producer;
}

/* ---- slots ---- */

static void test_slot_keys(void)
{
	uint64_t offset[RING_SLOT_TABLE + 1], key[RING_SLOT_TABLE + 1];

	for (unsigned int i = 0; i < RING_SLOT_TABLE; i++) {
		CHECK(ring_slots_open(&offset[i], &key[i]) == 0);
		CHECK((uint32_t)key[i] == 0 && (key[i] >> 32) % RING_SLOT_TABLE == i);
		CHECK(key[i] >> 32 == (i + 1) * RING_SLOT_TABLE + i);
		CHECK(offset[i] == offset[0] + 8 * i);
	}
	CHECK((uintptr_t)__builtin_thread_pointer() + offset[3] == (uintptr_t)&ring_slot_words[3]);
	CHECK(ring_slots_open(&offset[64], &key[64]) == -EMFILE);
	ring_slots_close(key[17]);
	CHECK(ring_slots_used == ~(UINT64_C(1) << 17));
	CHECK(ring_slots_open(&offset[64], &key[64]) == 0 && offset[64] == offset[17] &&
			key[64] != key[17]);
	for (unsigned int i = 0; i < RING_SLOT_TABLE; i++)
		ring_slots_close(key[i]);
	CHECK(ring_slots_used == 0);
}

#define OWNED(times, thread) ((uint64_t)(times) << 32 | (thread))

static void test_slot_take(void)
{
	struct ring_producer *producer = make_producer();

	CHECK(ring_slots_open(&producer->slot_offset, &producer->slot_key) == 0);
	CHECK(ring_slot(producer) == RING_SLOT_NONE);
	CHECK(ring_slot_word(producer) == &ring_slot_words[0]);
	ring_slot_note(producer, RINGS);
	CHECK(ring_slot(producer) == RING_SLOT_NONE);
	ring_slot_note(producer, RINGS - 1);
	CHECK(ring_slot(producer) == RINGS - 1);
	ring_slot_forget(producer);
	/* The first one has a living owner. */
	owners[0] = OWNED(5, 77);
	owners[1] = OWNED(8, 0);
	CHECK(ring_slot_take(producer) && ring_slot(producer) == 1);
	CHECK(owners[0] == OWNED(5, 77) && owners[1] == OWNED(9, 1000) && owners[2] == 0);
	CHECK(*ring_slot_word(producer) == (producer->slot_key | 1));
	CHECK(locks[0] != 0 && locks[RING_LOCK_WORDS] == 0 && locks[2 * RING_LOCK_WORDS] != 0);
	CHECK(locks[RING_LOCK_WORDS + 1] != 0);
	CHECK(calls.nr_dump == 1 && calls.dumped_at == data[1] && calls.dumped == 4096);
	/* The thread forgets its ring, and finds it again. */
	ring_slot_forget(producer);
	CHECK(ring_slot(producer) == RING_SLOT_NONE);
	CHECK(ring_slot_take(producer) && ring_slot(producer) == 1 && owners[1] == OWNED(10, 1000));
	ring_slot_forget(producer);
	ring_slot_give_back(producer, 1);
	CHECK(owners[1] == OWNED(10, 0));
	/* The ring of a thread that has ended, after all that are free. */
	owners[1] = OWNED(10, 78);
	owners[2] = OWNED(1, 79);
	calls.missing = 79;
	CHECK(ring_slot_take(producer) && ring_slot(producer) == 2 && owners[2] == OWNED(2, 1000));
	CHECK(producer->slots_searched_ns == 0);
	/* None: the next search waits 10 ms. */
	ring_slot_forget(producer);
	owners[2] = OWNED(2, 80);
	/*
	 * Entries behind the last ring are not used, even if they look free, dead or like this
	 * thread's.
	 */
	calls.missing = 0;
	calls.foreign = 80;
	calls.nr_questions = 0;
	CHECK(!ring_slot_take(producer) && ring_slot(producer) == RING_SLOT_NONE);
	CHECK(calls.nr_questions == 3 && owners[RINGS] == 0);
	producer->slots_searched_ns = 0;
	owners[RINGS] = OWNED(7, 1000);
	calls.missing = 1000;
	CHECK(!ring_slot_take(producer) && owners[RINGS] == OWNED(7, 1000));
	calls.missing = calls.foreign = -1;
	CHECK(producer->slots_searched_ns == 1000000000);
	owners[0] = 0;
	clock_ns += 10000000;
	CHECK(!ring_slot_take(producer) && ring_slot_borrow(producer) == RING_SLOT_NONE);
	clock_ns++;
	CHECK(ring_slot_borrow(producer) == 0 && owners[0] == OWNED(1, 1000));
	ring_slot_give_back(producer, 0);
	CHECK(ring_slot_take(producer) && ring_slot(producer) == 0 && owners[0] == OWNED(2, 1000));
	/* A handler has taken ring 2 meanwhile: the other one is released. */
	ring_slot_note(producer, 2);
	CHECK(ring_slot_take(producer) && ring_slot(producer) == 2 && owners[0] == OWNED(3, 0));
	/* The same ring again stays. */
	ring_slot_note(producer, 0);
	CHECK(ring_slot_take(producer) && ring_slot(producer) == 0 && owners[0] == OWNED(4, 1000));
	ring_slot_forget(producer);
	/* A child of vfork(), and a sandbox. */
	producer->pid++;
	CHECK(!ring_slot_take(producer));
	producer->pid--;
	permitted = false;
	CHECK(!ring_slot_take(producer) && ring_slot_borrow(producer) == RING_SLOT_NONE);
	permitted = true;
	CHECK(!ring_slot_change(producer, 0, OWNED(4, 1), 1000));
	ring_slots_close(producer->slot_key);
}

/* ---- block mode ---- */

static struct ring_producer *waiting;
static int nr_acts;

/* The consumer releases 100 bytes the second time. */
static void release_some(void)
{
	if (++nr_acts == 2)
		controls[1].tail = 100;
}

static void test_space(void)
{
	struct ring_producer *producer = make_producer();
	struct ring_timeout timeout = {0};

	waiting = producer;
	controls[1].head = UINT64_C(4096) << RING_EPOCH_BITS;
	controls[1].tail = 0;
	CHECK(ring_space_is(producer, &controls[1], 0) &&
			!ring_space_is(producer, &controls[1], 1));
	controls[1].tail = 7;
	CHECK(ring_space_is(producer, &controls[1], 7) &&
			!ring_space_is(producer, &controls[1], 8));
	controls[1].tail = 0;
	producer->block_timeout_us = 1500000;
	/* With a consumer that releases: it waits twice, for the remaining time. */
	calls.acts = release_some;
	clock_step = 1000;
	controls[1].space = 5;
	doorbell.sleeping = 1;
	nr_fences = 0;
	CHECK(ring_space_wait(producer, 1, 100, &timeout));
	/* One before the doorbell, and one before each read of the tail. */
	CHECK(nr_fences == 4);
	CHECK(calls.nr_futex == 2 && calls.word == &controls[1].space && calls.value == 5);
	CHECK(timeout.deadline_ns == UINT64_C(2500001000));
	CHECK(calls.timeout.tv_sec == 1 && calls.timeout.tv_nsec == 499999000);
	CHECK(controls[1].waiting == 1 && doorbell.sequence == 1);
	CHECK(stalled[1] == 0 && producer->stalled_releases == 0);
	/* Without success: once for each ring. */
	calls.acts = NULL;
	clock_step = 500000000;
	calls.nr_futex = 0;
	timeout.deadline_ns = 0;
	CHECK(!ring_space_wait(producer, 1, 101, &timeout));
	CHECK(calls.nr_futex == 3);
	CHECK(stalled[1] == 101 && producer->stalled_releases == 1);
	timeout.deadline_ns = 0;
	CHECK(!ring_space_wait(producer, 1, 101, &timeout) && calls.nr_futex == 3);
	CHECK(!ring_space_wait(producer, 2, 5000, &timeout) && calls.nr_futex == 3);
	/* A release in another ring: this ring is tried again only if its own tail has moved. */
	controls[0].releases = 1;
	CHECK(!ring_space_wait(producer, 1, 101, &timeout) && calls.nr_futex == 3);
	controls[1].tail = 101;
	clock_step = 0;
	CHECK(ring_space_wait(producer, 1, 101, &timeout) && calls.nr_futex == 3);
	/* No wait: without a timeout, in a sandbox, in a child of vfork(). */
	producer->block_timeout_us = 0;
	CHECK(!ring_space_wait(producer, 1, 101, &timeout));
	producer->block_timeout_us = 5;
	permitted = false;
	CHECK(!ring_space_wait(producer, 1, 101, &timeout));
	permitted = true;
	producer->pid++;
	CHECK(!ring_space_wait(producer, 1, 101, &timeout));
	producer->pid--;
	CHECK(ring_space_wait(producer, 1, 101, &timeout));
	/* A deadline that has passed. */
	timeout.deadline_ns = (uint64_t)clock_ns;
	CHECK(!ring_space_wait(producer, 1, 101, &timeout));
}

static void test_released(void)
{
	static unsigned char base[RING_HEADER_BYTES + 2 * sizeof(struct ring_control)];
	struct ring_memory memory = {.base = base};
	struct ring_control *first = ring_memory_control(&memory, 0),
			    *second = ring_memory_control(&memory, 1);

	make_producer();
	errno = E2BIG;
	nr_fences = 0;
	ring_space_released(&memory, 1);
	CHECK(nr_fences == 1 && first->releases == 1 && second->releases == 0 &&
			second->space == 0 && calls.nr_wakes == 0);
	second->waiting = 1;
	ring_space_released(&memory, 1);
	CHECK(first->releases == 2 && second->waiting == 0 && second->space == 1 &&
			calls.nr_wakes == 1);
	CHECK(calls.word == &second->space && calls.value == INT_MAX && errno == E2BIG);
}

/* ---- doorbells ---- */

static bool refuses(void)
{
	return false;
}

static void test_doorbell(void)
{
	make_producer();
	doorbell.sequence = 41;
	errno = E2BIG;
	ring_doorbell_ring(&doorbell);
	CHECK(doorbell.sequence == 42 && calls.nr_wakes == 1 && calls.word == &doorbell.sequence &&
			errno == E2BIG);
	CHECK(calls.value == INT_MAX);
	nr_fences = 0;
	CHECK(ring_doorbell_arm(&doorbell) == 42 && doorbell.sleeping == 1 && nr_fences == 1);
	ring_doorbell_disarm(&doorbell);
	CHECK(doorbell.sleeping == 0);
	CHECK(ring_doorbell_wait(&doorbell, 42, -1) == -EINVAL && calls.nr_futex == 0);
	CHECK(ring_doorbell_wait(&doorbell, 42, 2345) == 0 && calls.value == 42);
	CHECK(calls.timeout.tv_sec == 2 && calls.timeout.tv_nsec == 345000000);
	CHECK(ring_doorbell_wait(&doorbell, 42, 0) == 0 && calls.nr_futex == 2);
	calls.error = EAGAIN;
	CHECK(ring_doorbell_wait(&doorbell, 42, 1) == 0);
	calls.error = ETIMEDOUT;
	CHECK(ring_doorbell_wait(&doorbell, 42, 1) == -ETIMEDOUT);
	doorbell.sleeping = 1;
	ring_doorbell_crossed(NULL);
	ring_ask_before_calls(refuses);
#undef ring_calls_permitted
	CHECK(!ring_calls_permitted());
	ring_ask_before_calls(NULL);
	CHECK(ring_calls_permitted());
#define ring_calls_permitted fake_permitted
}

/* ---- the producer's end of a lease ---- */

/* Nothing is published in this test. */
int ring_publish(
		struct ring_producer *producer, uint32_t event_id, const void *payload, size_t size)
{
	(void)producer;
	(void)event_id;
	(void)payload;
	(void)size;
	abort();
}

int ring_publish_one_slow(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size, int code)
{
	(void)code;
	return ring_publish(producer, event_id, payload, size);
}

static uint32_t answer;
static unsigned int nr_opened, nr_closed;

static void answer_question(void)
{
	lease.word = answer;
}

void ring_producer_open(struct ring_producer *producer)
{
	nr_opened++;
	producer->usable = producer->rings;
	producer->payload_limit = 100;
}

void ring_producer_close(struct ring_producer *producer)
{
	nr_closed++;
	producer->usable = 0;
	producer->payload_limit = 0;
}

static void test_claim(void)
{
	struct ring_producer *producer = make_producer();

	CHECK(ring_lease_claim(producer, true));
	producer->lease = &lease;
	nr_opened = 0;
	CHECK(ring_lease_claim(producer, true) && lease.word == (RING_LEASE_USED | 0x100) &&
			nr_opened == 1);
	CHECK(ring_lease_claim(producer, true) && lease.word == (RING_LEASE_USED | 0x100) &&
			nr_opened == 1);
	producer->usable = 0;
	CHECK(ring_lease_claim(producer, true) && nr_opened == 2);
	producer->payload_limit = 0;
	CHECK(ring_lease_claim(producer, true) && nr_opened == 3);
	lease.word = RING_LEASE_RECALLED | 0x100;
	CHECK(ring_lease_claim(producer, false) && lease.word == (RING_LEASE_USED | 0x200));
	/* No memory, and no request. */
	lease.word = RING_LEASE_REVOKED | 0x200;
	CHECK(!ring_lease_claim(producer, false) && lease.word == (RING_LEASE_REVOKED | 0x200));
	CHECK(doorbell.sequence == 0);
	/* The producer asks, and the consumer grants. */
	answer = RING_LEASE_USED | 0x200;
	calls.acts = answer_question;
	CHECK(ring_lease_claim(producer, true) && lease.word == answer);
	CHECK(doorbell.sequence == 1 && calls.nr_futex == 1 &&
			calls.value == (RING_LEASE_ASKED | 0x200));
	CHECK(calls.timeout.tv_sec == 0 && calls.timeout.tv_nsec == 100000000);
	CHECK(producer->lease_until_ns == 1100000000 && producer->lease_again_ns == 1100000000);
	/* Too early for another request. */
	lease.word = RING_LEASE_REVOKED;
	clock_ns = 1099999999;
	CHECK(!ring_lease_claim(producer, true) && lease.word == RING_LEASE_REVOKED &&
			doorbell.sequence == 1);
	/* Denied: a pause of eight times the wait, 100 ms at least. */
	clock_ns = 1100000000;
	answer = RING_LEASE_REVOKED;
	CHECK(!ring_lease_claim(producer, true) && doorbell.sequence == 2);
	CHECK(producer->lease_again_ns == 1200000000);
	clock_ns = 1200000000;
	clock_step = 20000000;
	lease.word = RING_LEASE_REVOKED;
	CHECK(!ring_lease_claim(producer, true));
	CHECK(producer->lease_again_ns ==
			(uint64_t)clock_ns + 8 * (uint64_t)(clock_ns - 1220000000));
	/* The consumer does not answer: the producer waits until its timeout. */
	clock_step = 30000000;
	calls.acts = NULL;
	calls.nr_futex = 0;
	producer->lease_again_ns = 0;
	lease.word = RING_LEASE_REVOKED;
	CHECK(!ring_lease_claim(producer, true) && calls.nr_futex == 3 &&
			lease.word == RING_LEASE_ASKED);
	/* In a sandbox, and in a child of vfork(), the request is sent without a wait. */
	calls.nr_futex = 0;
	permitted = false;
	lease.word = RING_LEASE_REVOKED;
	CHECK(!ring_lease_claim(producer, true) && lease.word == RING_LEASE_ASKED &&
			calls.nr_futex == 0);
	CHECK(!ring_lease_claim(producer, true) && lease.word == RING_LEASE_ASKED);
	permitted = true;
	producer->pid++;
	lease.word = RING_LEASE_REVOKED;
	CHECK(!ring_lease_claim(producer, true) && lease.word == RING_LEASE_ASKED &&
			calls.nr_futex == 0);
	producer->pid--;
	ring_lease_timeout_factor(3);
	clock_step = 0;
	producer->lease_again_ns = 0;
	calls.acts = answer_question;
	answer = lease.word = RING_LEASE_REVOKED;
	CHECK(!ring_lease_claim(producer, true) &&
			producer->lease_until_ns == (uint64_t)clock_ns + 300000000);
	ring_lease_timeout_factor(1);
	/* Granted and recalled again at once: requested once more. */
	producer->lease_again_ns = 0;
	lease.word = RING_LEASE_REVOKED;
	answer = RING_LEASE_RECALLED;
	CHECK(ring_lease_claim(producer, true) && (lease.word & 0xff) == RING_LEASE_USED);
	lease.word = RING_LEASE_REVOKED;
	/* Without a doorbell, too. */
	producer->doorbell = NULL;
	producer->lease_again_ns = 0;
	answer = RING_LEASE_USED;
	CHECK(ring_lease_claim(producer, true));
}

static void test_leave(void)
{
	struct ring_producer *producer = make_producer();

	nr_closed = 0;
	CHECK(!ring_producer_leave(producer));
	ring_producer_left(producer);
	producer->lease = &lease;
	lease.word = RING_LEASE_USED | 0x300;
	CHECK(!ring_producer_leave(producer) && nr_closed == 0);
	lease.word = RING_LEASE_RECALLED | 0x300;
	CHECK(ring_producer_leave(producer) && nr_closed == 1 &&
			producer->lease_left == (RING_LEASE_RECALLED | 0x300));
	CHECK(lease.word == (RING_LEASE_RECALLED | 0x300));
	ring_producer_left(producer);
	CHECK(lease.word == (RING_LEASE_FREE | 0x300) && producer->lease_left == 0);
	/* The memory was taken since then, and recalled once more. */
	lease.word = RING_LEASE_RECALLED | 0x300;
	CHECK(ring_producer_leave(producer));
	lease.word = RING_LEASE_RECALLED | 0x400;
	ring_producer_left(producer);
	CHECK(lease.word == (RING_LEASE_RECALLED | 0x400));
	ring_producer_left(producer);
	CHECK(lease.word == (RING_LEASE_RECALLED | 0x400));
}

/* ---- the consumer's end of a lease ---- */

static struct ring_consumer *make_consumer(void)
{
	static _Alignas(64) unsigned char base[2 * 4096 + RINGS * sizeof(struct ring_control)];
	static _Alignas(64) unsigned char
			memory[sizeof(struct ring_consumer) + RINGS * sizeof(struct ring_view)];
	struct ring_consumer *one = (void *)memory;

	memset(base, 0, sizeof(base));
	memset(memory, 0, sizeof(memory));
	one->memory.base = base;
	one->memory.geometry = (struct ring_geometry){
			.rings = RINGS, .flags = RING_LEASED, .size = 4096, .event_slots = 1};
	one->memory.layout.lost_offset = 8192;
	one->memory.layout.data_offset = 12288;
	one->memory.layout.total = 12288 + RINGS * 4096 + 8192;
	for (uint32_t i = 0; i < RINGS; i++)
		one->views[i].control = ring_memory_control(&one->memory, i);
	return one;
}

static void test_consumer_words(void)
{
	struct ring_consumer *consumer;
	uint32_t *word;

	make_producer();
	consumer = make_consumer();
	word = &ring_memory_lease(&consumer->memory)->word;
	*word = RING_LEASE_ASKED | 0x500;
	CHECK(ring_lease_is_asked(consumer) && ring_lease_is_due(consumer));
	consumer->lease_due_ns = 1000000001;
	CHECK(!ring_lease_is_due(consumer) && !ring_lease_take_question(consumer));
	clock_ns = 1000000001;
	CHECK(ring_lease_is_due(consumer) && ring_lease_take_question(consumer));
	CHECK(consumer->lease_due_ns == 1090000001);
	clock_ns = 2000000000;
	ring_lease_deny(consumer);
	CHECK(*word == (RING_LEASE_REVOKED | 0x500) && calls.nr_wakes == 1 && calls.word == word &&
			calls.value == INT_MAX);
	CHECK(consumer->lease_due_ns == 2090000000);
	clock_ns = 3000000000;
	CHECK(!ring_lease_is_asked(consumer) && !ring_lease_take_question(consumer));
	ring_lease_deny(consumer);
	CHECK(calls.nr_wakes == 1);
	/* Memory is available: a request is answered, other states need no answer. */
	CHECK(ring_lease_grant(consumer, -1) == 0 && *word == (RING_LEASE_FREE | 0x500) &&
			calls.nr_wakes == 1);
	*word = RING_LEASE_ASKED;
	CHECK(ring_lease_grant(consumer, -1) == 0 && *word == RING_LEASE_USED &&
			calls.nr_wakes == 2);
	*word = RING_LEASE_RECALLED;
	CHECK(ring_lease_grant(consumer, -1) == 0 && *word == RING_LEASE_RECALLED &&
			calls.nr_wakes == 2);
	CHECK(!ring_lease_recall(consumer));
	*word = RING_LEASE_USED;
	CHECK(ring_lease_recall(consumer) && *word == RING_LEASE_RECALLED);
	consumer->memory.geometry.flags = 0;
	*word = RING_LEASE_USED;
	CHECK(!ring_lease_recall(consumer) && !ring_lease_revoke(consumer, -1));
	*word = RING_LEASE_ASKED;
	CHECK(!ring_lease_is_asked(consumer));
}

static void test_revoke(void)
{
	struct ring_consumer *consumer;
	struct stat status;
	uint64_t missing = 0;
	uint32_t *word;
	/* The number of the descriptor differs from the values of all other arguments. */
	int small = memfd_create("small", 0), fd = fcntl(small, F_DUPFD, 50);

	close(small);
	make_producer();
	consumer = make_consumer();
	word = &ring_memory_lease(&consumer->memory)->word;
	((struct ring_header *)consumer->memory.base)->storage = RING_IN_FILE;
	CHECK(fd >= 0 && !ftruncate(fd, (off_t)consumer->memory.layout.total));
	*word = RING_LEASE_USED;
	CHECK(ring_lease_revoke(consumer, fd) == 0 && *word == RING_LEASE_USED);
	*word = RING_LEASE_FREE | 0x100;
	CHECK(ring_lease_revoke(consumer, fd) == 8192 && *word == (RING_LEASE_REVOKED | 0x100));
	CHECK(!fstat(fd, &status) && status.st_size == 8192);
	CHECK(ring_lease_adopt(consumer, fd, &missing) == 0 &&
			missing == 4096 + RINGS * 4096 + 8192);
	*word = RING_LEASE_ASKED;
	CHECK(ring_lease_adopt(consumer, fd, &missing) == 0 && *word == RING_LEASE_ASKED);
	*word = RING_LEASE_FREE;
	CHECK(ring_lease_adopt(consumer, fd, &missing) == -EPROTO);
	*word = RING_LEASE_REVOKED;
	CHECK(ring_lease_grant(consumer, fd) == 0 && *word == RING_LEASE_FREE);
	CHECK(!fstat(fd, &status) && (uint64_t)status.st_size == consumer->memory.layout.total);
	*word = RING_LEASE_ASKED;
	CHECK(ring_lease_adopt(consumer, fd, &missing) == 0 && missing == 0 &&
			*word == RING_LEASE_USED);
	*word = RING_LEASE_REVOKED;
	CHECK(ring_lease_adopt(consumer, fd, &missing) == 0 && *word == RING_LEASE_FREE);
	/* Counters of lost records stay, except those of missing memory. */
	consumer->views[2].control->lost[RING_LOST_NO_MEMORY] = 5;
	CHECK(ring_lease_revoke(consumer, fd) == 8192);
	CHECK(ring_lease_grant(consumer, fd) == 0);
	consumer->views[2].control->lost[RING_LOSS_REASONS - 1] = 5;
	CHECK(ring_lease_revoke(consumer, fd) == 12288);
	CHECK(!fstat(fd, &status) && status.st_size == 12288);
	CHECK(ring_lease_grant(consumer, fd) == 0);
	/* Unread records stay, and so does memory that cannot be released. */
	consumer->views[2].control->head = UINT64_C(9) << RING_EPOCH_BITS;
	CHECK(ring_lease_revoke(consumer, fd) == 0 && *word == RING_LEASE_FREE);
	consumer->views[2].control->tail = 9;
	CHECK(ring_lease_revoke(consumer, -1) == 0 && *word == RING_LEASE_FREE);
	CHECK(ring_lease_revoke(consumer, fd) == 12288);
	CHECK(ring_lease_grant(consumer, -1) == -EBADF && *word == RING_LEASE_REVOKED);
	CHECK(ring_lease_grant(consumer, fd) == 0);
	consumer->memory.geometry.mode = RING_MODE_OVERWRITE;
	CHECK(ring_lease_revoke(consumer, fd) == 0);
	/* In a memfd a hole is made, and its size stays. */
	consumer->memory.geometry.mode = RING_MODE_DISCARD;
	((struct ring_header *)consumer->memory.base)->storage = RING_IN_MEMFD;
	CHECK(pwrite(fd, "x", 1, 12288) == 1 && pwrite(fd, "y", 1, 12287) == 1);
	CHECK(ring_lease_revoke(consumer, fd) == 12288);
	CHECK(!fstat(fd, &status) && (uint64_t)status.st_size == consumer->memory.layout.total);
	CHECK(pread(fd, &missing, 2, 12287) == 2 && (missing & 0xffff) == 'y');
	CHECK(ring_lease_grant(consumer, -1) == 0 && *word == RING_LEASE_FREE);
	close(fd);
}

/* ---- waiting for many ---- */

static void test_bells(void)
{
	struct ring_consumer *consumer;
	struct ring_doorbell *bell;
	struct ring_bells *bells;

	make_producer();
	consumer = make_consumer();
	bell = ring_memory_doorbell(&consumer->memory);
	CHECK(ring_bells_create(&bells) == 0 && ring_bells_add(bells, consumer) == 0);
	CHECK(bells->nr == 1 && bells->capacity == 16 && bells->nr_groups == 0);
	bell->sequence = 6;
	ring_bells_ring(bells);
	ring_bells_arm(bells);
	CHECK(bells->own_seen == 1 && bells->list[0].seen == 6 && bell->sleeping == 1);
	bell->sequence = 7;
	CHECK(ring_bells_wait(bells, -1) == -EINVAL && calls.nr_waitv == 0);
	pending = true;
	CHECK(ring_bells_wait(bells, 1234) == 0);
	CHECK(calls.nr_words == 2 && calls.words[0][0] == (uintptr_t)&bells->own.sequence &&
			calls.words[0][1] == 1);
	CHECK(calls.words[1][0] == (uintptr_t)&bell->sequence && calls.words[1][1] == 6);
	CHECK(calls.timeout.tv_sec == 2 && calls.timeout.tv_nsec == 234000000);
	ring_bells_disarm(bells);
	CHECK(bell->sleeping == 0);
	/* The eighth false alarm in a row mutes it, for 200 ms. */
	pending = false;
	for (int i = 0; i < 7; i++)
		CHECK(ring_bells_wait(bells, 0) == 0 && ring_bells_muted(bells) == 0);
	CHECK(bells->list[0].false_alarms == 7);
	pending = true;
	CHECK(ring_bells_wait(bells, 0) == 0 && bells->list[0].false_alarms == 0);
	pending = false;
	for (int i = 0; i < 8; i++) {
		CHECK(ring_bells_muted(bells) == 0);
		CHECK(ring_bells_wait(bells, 0) == 0);
	}
	CHECK(ring_bells_muted(bells) == 1 && bells->unmute == 1200000000 &&
			bells->list[0].false_alarms == 0);
	CHECK(ring_bells_wait(bells, 0) == 0 && calls.nr_words == 1);
	clock_ns = 1199999999;
	ring_bells_arm(bells);
	CHECK(ring_bells_muted(bells) == 1);
	clock_ns = 1200000000;
	ring_bells_arm(bells);
	CHECK(ring_bells_muted(bells) == 0 && bells->unmute == 0);
	/* Not rung: no false alarm. */
	CHECK(ring_bells_wait(bells, 0) == 0 && bells->list[0].false_alarms == 0);
	/*
	 * Errors: a timeout and a signal are returned; without the system call, one word is waited
	 * for, 10 ms at most.
	 */
	calls.error = ETIMEDOUT;
	CHECK(ring_bells_wait(bells, 5) == -ETIMEDOUT && calls.nr_futex == 0);
	calls.error = EINTR;
	CHECK(ring_bells_wait(bells, 5) == -EINTR && calls.nr_futex == 0);
	calls.error = EAGAIN;
	CHECK(ring_bells_wait(bells, 5) == 0 && calls.nr_futex == 0);
	calls.error = ENOSYS;
	CHECK(ring_bells_wait(bells, 5) == -ENOSYS && calls.nr_futex == 1 &&
			calls.timeout.tv_nsec == 5000000);
	CHECK(ring_bells_wait(bells, 11) == -ENOSYS && calls.timeout.tv_nsec == 10000000);
	CHECK(calls.word == &bells->own.sequence && calls.value == (long)bells->own_seen);
	ring_bells_disarm(bells);
	consumer->memory.geometry.mode = RING_MODE_OVERWRITE;
	ring_bells_arm(bells);
	CHECK(bell->sleeping == 0);
	ring_bells_remove(bells, (struct ring_consumer *)bells);
	CHECK(bells->nr == 1);
	ring_bells_remove(bells, consumer);
	CHECK(bells->nr == 0);
	for (int i = 0; i < 17; i++)
		CHECK(ring_bells_add(bells, consumer) == 0);
	CHECK(bells->nr == 17 && bells->capacity == 32);
	ring_bells_destroy(bells);
	ring_bells_destroy(NULL);
}

/* A thread of a group in a kernel without the call: it scans each 10 ms until the group ends. */
static struct ring_bell_group group;
static unsigned int nr_rounds;

static void end_group(void)
{
	if (++nr_rounds == 3)
		group.bells->ends = true;
}

static void test_bell_thread(void)
{
	struct ring_consumer *consumer;
	struct ring_bells *bells;

	make_producer();
	consumer = make_consumer();
	CHECK(ring_bells_create(&bells) == 0);
	for (int i = 0; i < 127; i++)
		CHECK(ring_bells_add(bells, consumer) == 0);
	CHECK(bells->nr_groups == 0);
	group = (struct ring_bell_group){.bells = bells, .number = 1, .changed = 3};
	bells->ends = true;
	CHECK(bells_thread(&group) == NULL && bells->own.sequence == 0);
	bells->ends = false;
	calls.error = ENOSYS;
	nr_rounds = 0;
	{
		/* The pause ends the third round. */
		uint32_t nr = 0;

		CHECK(bells_group_collect(&group, &nr) && nr == 1);
		CHECK(group.waits[0].address == (uintptr_t)&group.changed &&
				group.waits[0].value == 3);
		CHECK(bells_wait_for(group.waits, nr, NULL) == -ENOSYS);
	}
	end_group();
	ring_bells_destroy(bells);
}

/* ---- replays ---- */

static void test_replay(void)
{
	static const struct ring_replay one = {.ticks = 5, .cpu = 2};
	uint64_t self = ring_thread_token();

	CHECK(ring_portable_replay(self) == NULL);
	ring_replay(&one);
	CHECK(ring_portable_replay(self) == &one && ring_portable_replay(self + 1) == NULL);
	ring_replay(NULL);
	CHECK(ring_portable_replay(self) == NULL);
}

/* ---- functions for one size ---- */

#if RING_HAS_SECTION
static void test_ways(void)
{
	struct ring_producer *producer = make_producer();

	producer->path = RING_PATH_RSEQ_TSC;
	producer->mode = RING_MODE_DISCARD;
	producer->placement = RING_PER_CPU;
	CHECK(ring_choose_scalar(producer, RING_TAG_MEDIUM - 1, 1) ==
			ring_scalar_compact_keep_cpu_1);
	CHECK(ring_choose_scalar(producer, RING_TAG_MEDIUM, 2) == ring_scalar_medium_keep_cpu_2);
	CHECK(ring_choose_scalar(producer, UINT16_MAX, 8) == ring_scalar_medium_keep_cpu_8);
	CHECK(ring_choose_scalar(producer, UINT16_MAX + 1, 8) == ring_scalar_other_8);
	CHECK(ring_choose_scalar(producer, 1, 16) == ring_scalar_other_16);
	CHECK(ring_choose_timed(producer, 1, 0) == ring_timed_compact_keep_cpu_0);
	CHECK(ring_choose_timed(producer, UINT16_MAX, 4) == ring_timed_medium_keep_cpu_4);
	CHECK(ring_choose_timed(producer, 1, 8) == ring_timed_compact_keep_cpu_8);
	CHECK(ring_choose_timed(producer, 1, 16) == ring_timed_compact_keep_cpu_16);
	CHECK(!ring_choose_timed(producer, 1, 1) &&
			!ring_choose_timed(producer, UINT16_MAX + 1, 4));
	CHECK(ring_choose_prefixed(producer, RING_TAG_MEDIUM - 1, 4) ==
			ring_prefixed_compact_keep_4);
	CHECK(ring_choose_prefixed(producer, RING_TAG_MEDIUM, 8) == ring_prefixed_medium_keep_8);
	CHECK(ring_choose_prefixed(producer, UINT16_MAX, 8) == ring_prefixed_medium_keep_8);
	CHECK(!ring_choose_prefixed(producer, UINT16_MAX + 1, 8) &&
			!ring_choose_prefixed(producer, 1, 2));
	producer->mode = RING_MODE_OVERWRITE;
	CHECK(ring_choose_scalar(producer, 1, 4) == ring_scalar_compact_over_cpu_4);
	CHECK(ring_choose_prefixed(producer, 1, 4) == ring_prefixed_compact_over_4);
	CHECK(ring_choose_prefixed(producer, UINT16_MAX, 8) == ring_prefixed_medium_over_8);
	producer->placement = RING_PER_THREAD;
	CHECK(ring_choose_scalar(producer, 1, 4) == ring_scalar_compact_over_thread_4);
	CHECK(ring_choose_timed(producer, UINT16_MAX, 16) == ring_timed_medium_over_thread_16);
	CHECK(!ring_choose_prefixed(producer, 1, 4));
	producer->mode = RING_MODE_BLOCK;
	CHECK(ring_choose_scalar(producer, UINT16_MAX, 1) == ring_scalar_medium_keep_thread_1);
	producer->path = RING_PATH_PORTABLE;
	producer->placement = RING_PER_CPU;
	CHECK(ring_choose_scalar(producer, 1, 1) == ring_scalar_other_1 &&
			ring_choose_scalar(producer, 1, 2) == ring_scalar_other_2);
	CHECK(ring_choose_scalar(producer, 1, 4) == ring_scalar_other_4 &&
			ring_choose_scalar(producer, 1, 8) == ring_scalar_other_8);
	CHECK(!ring_choose_timed(producer, 1, 8) && !ring_choose_prefixed(producer, 1, 8));
}
#else
static void test_ways(void) {}
#endif

int main(void)
{
	test_slot_keys();
	test_slot_take();
	test_space();
	test_released();
	test_doorbell();
	test_claim();
	test_leave();
	test_consumer_words();
	test_revoke();
	test_bells();
	test_bell_thread();
	test_replay();
	test_ways();
	return 0;
}
