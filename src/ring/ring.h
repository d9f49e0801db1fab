/* SPDX-License-Identifier: MIT */
/*
 * The shared-memory rings between a traced program (the producer) and a recorder (the consumer).
 *
 * One memfd per traced process and channel, made by the consumer, holds one ring for each possible
 * CPU (or thread). A producer moves a finished payload into the ring of the CPU it runs on and puts
 * the record header of docs/spec/recording.md section 1 before it; the consumer drains spans of
 * whole records, or takes a snapshot of rings that overwrite their oldest records.
 *
 *	consumer					producer (traced program)
 *	ring_memory_create() ── fd over a socket ──►	ring_producer_map()
 *	ring_consumer_map()				ring_publish(), ring_count_lost()
 *	ring_consumer_peek(), _release()		ring_producer_unmap()
 *
 * Functions return 0 or a negative errno. The producer's side is async-signal-safe and
 * thread-safe, keeps errno, takes no lock that it waits for without bound, and allocates nothing
 * but by mmap(): it may be called from a wrapper of malloc(). A consumer handle belongs to one
 * thread at a time.
 *
 * How the bytes lie: layout.h. The protocol: producer.c and section-x86_64.S.
 */
#ifndef SIDE_RING_RING_H
#define SIDE_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ring_mode {
	RING_MODE_DISCARD = 0, /* A full ring refuses new records and counts them. */
	RING_MODE_OVERWRITE =
			1, /* A full ring gives up its oldest records (ring_consumer_snapshot()). */
	RING_MODE_BLOCK = 2, /* A full ring makes its writer wait, for a bounded time. */
};

/* Whose a ring is. */
enum ring_placement {
	RING_PER_CPU = 0,
	RING_PER_THREAD = 1, /* A thread takes a free ring with its first record. */
};

/* Bits of ring_geometry.flags. */
enum ring_flag {
	RING_HUGE_PAGES = 1, /* Huge pages; rings must be as large as one. */
	RING_PREFAULT = 2,   /* All memory is there before the first record. */
	/*
	 * Rings that are full for ever: every record is counted (as RING_LOST_FULL, by ring and event),
	 * and none is kept. A consumer finds nothing but the counters. Only with RING_MODE_DISCARD.
	 */
	RING_COUNTS = 4,
	/*
	 * A lease: the producer takes the memory with its first record, and the consumer can take it back
	 * while it is not used (lease.h). Not with the other flags.
	 */
	RING_LEASED = 8,
};

enum ring_clock {
	RING_CLOCK_TSC = 0,       /* Ticks of the x86 time-stamp counter. */
	RING_CLOCK_MONOTONIC = 1, /* Nanoseconds of CLOCK_MONOTONIC. */
};

/* Why a record was lost. Counted for each ring, event slot and reason. */
enum ring_loss {
	RING_LOST_FULL = 0,    /* The ring had no room. */
	RING_LOST_TOO_BIG = 1, /* Over the payload limit of this ring. */
	RING_LOST_INVALID = 2, /* The arguments do not match the description, a NULL pointer, … */
	RING_LOST_NO_BUFFER = 3, /* The caller had no memory to build the record in. */
	RING_LOST_BUSY = 4,      /* No ring could be had within the bound on retries. */
	RING_LOST_NO_RING = 5,   /* A CPU without a ring, a thread without rseq, all rings taken. */
	RING_LOST_NESTED = 6,    /* The caller refuses records from within its own work. */
	RING_LOST_OTHER = 7,
	/* A probe at the return of a function whose entry was seen: */
	RING_LOST_RETURN_FULL = 8,   /* too many calls were open, */
	RING_LOST_RETURN_CALLER = 9, /* it was called by code that no file has. */
	RING_LOST_SHARED =
			10, /* A process used the thread-local memory of another one, or a thread used a foreign one. */
	/* No producer counts this: a counter has a number that no program reaches by counting. Each such counter counts once. */
	RING_LOST_IMPLAUSIBLE = 11,
	RING_LOST_RETURN_COPIED = 12, /* A probe at a return: the program copies its stack. */
	RING_LOST_NO_MEMORY =
			13, /* The consumer has taken the memory back, and had none left. By ring only. */
};
#define RING_LOSS_REASONS 16 /* Fourteen are in use. */

#define RING_PAYLOAD_MAX 65536u /* Bytes of one payload, in any ring. */
#define RING_SIZE_MIN 4096u     /* And at least a page. */
#define RING_SIZE_MAX (UINT64_C(1) << 32)
#define RING_RINGS_MAX 8192u
#define RING_EVENT_SLOTS_MAX 65536u

struct ring_geometry {
	uint32_t rings;       /* Per CPU: ring_possible_cpus(). Per thread: threads at one time. */
	uint32_t event_slots; /* Counters of lost events; ids beyond share the last one. */
	uint64_t size;        /* Data bytes of each ring: a power of two, a page or more. */
	enum ring_mode mode;
	enum ring_clock clock;
	enum ring_placement placement;
	uint32_t flags;            /* enum ring_flag */
	uint32_t block_timeout_us; /* RING_MODE_BLOCK: how long one publication waits at most. */
};

/* A short English name for a reason, as it stands in side:lost ("ring full", "too big", …). */
const char *ring_loss_name(enum ring_loss reason);

/* The number of rings a process can need on this machine: the highest possible CPU + 1. */
uint32_t ring_possible_cpus(void);

/* The size of a huge page here; 0 where there are none. */
size_t ring_huge_page_size(void);

/* The largest payload that rings of this size take (half a ring, or RING_PAYLOAD_MAX). */
size_t ring_payload_max(uint64_t ring_size);

/* ---- Memory (consumer) ---------------------------------------------------------------------- */

/*
 * Check a geometry: 0, -EINVAL, or -ENOTSUP for a mode or clock that cannot be had here.
 * ring_memory_size() is 0 for a geometry that does not pass.
 */
int ring_geometry_check(const struct ring_geometry *geometry);
size_t ring_memory_size(const struct ring_geometry *geometry);

/*
 * Make the memory of one process: a memfd (CLOEXEC) sealed against shrinking and growing.
 *
 * With RING_HUGE_PAGES: -ENOMEM when not enough huge pages are free, -ENOTSUP when this kernel has
 * none. Nothing falls back by itself; the caller can leave the flag out and say so.
 */
int ring_memory_create(const struct ring_geometry *geometry, int *fd);
/* The same under another name than "side-ring" in /proc/PID/maps. */
int ring_memory_create_named(const struct ring_geometry *geometry, const char *name, int *fd);

/*
 * The same memory as a new file (-EEXIST) in a directory, so that it outlives everybody. Its blocks
 * are allocated at once (-ENOSPC). Huge pages: -ENOTSUP, they are the file system's affair.
 *
 * A file can be truncated under those who have mapped it, by its owner: it is made without
 * permission to write, so that this takes an intention. A consumer survives it (it handles SIGBUS
 * inside its rings and gives them up, -EBADMSG); a program that writes there does not.
 */
int ring_memory_create_file(
		const struct ring_geometry *geometry, int dir_fd, const char *name, int *fd);
/*
 * With RING_LEASED, the same two without the memory that a consumer can take back: the producer asks for it with its first record.
 * dir_fd -1: as ring_memory_create().
 */
int ring_memory_create_revoked(
		const struct ring_geometry *geometry, int dir_fd, const char *name, int *fd);
/* Bytes of such memory; 0 for a geometry that does not pass. */
size_t ring_memory_kept(const struct ring_geometry *geometry);

/*
 * Rebuild the memory from where another process had mapped it (a core dump), or from a file that
 * nobody writes any more (base 0): a new memfd for ring_consumer_map(). read() copies bytes out of
 * that address space, and returns 0 or a negative errno. -EPROTO: there are no rings of this
 * version. A ring whose data cannot be read is there, but unusable (ring_consumer_error()).
 */
typedef int ring_memory_read(void *user, uint64_t address, void *to, size_t size);
int ring_memory_import(ring_memory_read *read, void *user, uint64_t base, int *fd);

/*
 * What is behind a descriptor that somebody else made, before any of it is mapped: 0, -EPROTO or
 * -ENOTSUP. A consumer that goes on where another one was killed maps the same file.
 */
int ring_memory_inspect(int fd, struct ring_geometry *geometry);

/* ---- Producer ------------------------------------------------------------------------------- */

struct ring_producer;

/*
 * Map the rings for writing. All that is read is checked: -EPROTO says that this is not ring memory
 * of this version, -ENOTSUP that mode or clock cannot be had in this process. The
 * descriptor can be closed afterwards. The rings belong to the process that maps them: in
 * a forked child every publication is refused (-ECHILD, see ring_producer_refused()) until it
 * maps rings of its own; ring_producer_unmap() works there as well.
 *
 * Nobody may be publishing when ring_producer_unmap() is called.
 */
int ring_producer_map(int ring_fd, struct ring_producer **producer);
void ring_producer_unmap(struct ring_producer *producer);

/*
 * Publish one record in the ring of the current CPU or thread.
 *
 * Returns 0, or, all of them counted in the ring: -ENOSPC (full), -E2BIG (over the payload limit),
 * -EBUSY (bound on retries), -ENXIO (no ring for this CPU or thread). -ECHILD: these are the rings of the
 * parent; not counted in the ring.
 */
int ring_publish(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size);

/*
 * The same for one scalar of a size that is known beforehand: the shortest function for scalars of `size`
 * bytes (1, 2, 4, 8, 16) of this event in these rings, or in others of their geometry that take their
 * place. The third argument is for nothing: its register is the one that the clock is read into.
 */
typedef int ring_publish_scalar(struct ring_producer *producer, uint32_t event_id,
		const void *unused, const void *scalar);
ring_publish_scalar *ring_choose_scalar(
		const struct ring_producer *producer, uint32_t event_id, size_t size);

/*
 * The same for who has just read the time-stamp counter: that is the record's time, or the last record's if that is later.
 * Where it cannot be used (another clock, a record that has to be begun anew), the clock is read as always.
 */
int ring_publish_at(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size, uint64_t ticks);

/*
 * The same for a size that is known beforehand: the function for 0, 4, 8 or 16 bytes of this event, as above. NULL: none is
 * made for that, and ring_publish_at() does it.
 */
typedef int ring_publish_timed(struct ring_producer *producer, uint32_t event_id, uint64_t ticks,
		const void *payload);
ring_publish_timed *ring_choose_timed(
		const struct ring_producer *producer, uint32_t event_id, size_t size);

/*
 * What a thread keeps ready to stand before payloads, and a number that says what it is. A signal handler may
 * change it at any time, if it changes the stamp before and after.
 */
struct ring_prefix {
	uint64_t stamp;
	uint64_t size;
	uint8_t bytes[];
};

/*
 * One scalar behind a prefix, if that has the stamp: 0, or 1: nothing was published, and nothing counted; take
 * another way. That is so when the record is not the usual one, for prefixes shorter than 4 bytes and longer
 * than 32, and always where ring_choose_prefixed() says NULL.
 */
typedef int ring_publish_prefixed(struct ring_producer *producer, uint32_t event_id,
		const struct ring_prefix *prefix, const void *scalar, uint64_t stamp);
ring_publish_prefixed *ring_choose_prefixed(
		const struct ring_producer *producer, uint32_t event_id, size_t size);

/*
 * The same record made of two pieces in a row, so that the caller need not put them together. The
 * body is read while the ring is held: it must be memory that can be read.
 */
int ring_publish_parts(struct ring_producer *producer, uint32_t event_id, const void *head,
		size_t head_size, const void *body, size_t body_size);

/*
 * Asked before the system calls of a publication (which wake the consumer, wait for it, or find a
 * ring for a thread): false forbids them, as in a sandbox that would have the program killed. Then
 * nobody is woken (the consumer looks by itself now and then), a full ring does not wait, and a
 * thread without a ring gets none. For all producers of the process; NULL, as at first: always
 * true. Must be async-signal-safe.
 */
typedef bool ring_may_call(void);
void ring_ask_before_calls(ring_may_call *may_call);

/*
 * A thread goes into a sandbox. Where its filter permits the system call rseq(), new threads in it make that one, whatever the function
 * above says, as the C library does.
 */
void ring_sandbox_begins(bool permits_rseq);

/*
 * For a process that records what happened to others: from now on all that the calling thread publishes happened then and there,
 * until NULL takes that back. The times of a ring do not decrease: an earlier one becomes that of the record before. Only
 * producers of the portable path know of this (SIDE_RING_PORTABLE=1 in the environment makes all be that).
 */
struct ring_replay {
	uint64_t ticks; /* of the ring's clock */
	uint32_t cpu;
};
void ring_replay(const struct ring_replay *replay);

/*
 * Refuse every publication (-EPERM, counted as RING_LOST_OTHER), or go on. For when a thread is
 * forbidden to read clocks: it would be killed by the next record.
 */
void ring_producer_stop(struct ring_producer *producer, bool stop);

/* Count a record that the caller could not build. */
void ring_count_lost(struct ring_producer *producer, uint32_t event_id, enum ring_loss reason);
/* So many that were lost on that CPU before they came to the caller, who records what happened to others (ring_replay()). */
void ring_count_lost_before(struct ring_producer *producer, uint32_t event_id,
		enum ring_loss reason, uint32_t cpu, uint64_t count);

/* The CPU of this thread, as the kernel keeps it in the thread's memory; negative if it is not known to do so. */
int32_t ring_thread_cpu(void);

/* Facts that do not change after the mapping. */
enum ring_clock ring_producer_clock(const struct ring_producer *producer);
size_t ring_producer_payload_max(const struct ring_producer *producer);
bool ring_producer_is_portable(const struct ring_producer *producer); /* Not the rseq path. */

/*
 * RING_LEASED: give the memory back if the consumer has asked for that. True: the next record takes it again, and
 * ring_producer_left() is due once no thread can be in a publication that began before.
 */
bool ring_producer_leave(struct ring_producer *producer);
/* How many times as long as 100 ms a record waits for memory that it asks for, in all rings of the process. */
void ring_lease_timeout_factor(unsigned int factor);
void ring_producer_left(struct ring_producer *producer);

/* Where the rings are mapped: for ring_memory_import() out of a core dump of this process. */
const void *ring_producer_base(const struct ring_producer *producer);

/*
 * How often a forked child called ring_publish() or ring_count_lost() on the parent's rings.
 * Counted in memory of this process.
 */
uint64_t ring_producer_refused(const struct ring_producer *producer);

/* ---- Consumer ------------------------------------------------------------------------------- */

struct ring_consumer;

/*
 * Whole records of one ring, in order, that nobody overwrites before ring_consumer_release().
 * The traced program can write there, though: copy or write the bytes out once, and let whoever
 * interprets them check them.
 */
struct ring_span {
	const void *data; /* Contiguous: the ring is mapped twice in a row. */
	size_t size;
	uint64_t position;        /* Bytes ever published in this ring before this span. */
	uint64_t first_timestamp; /* Of the first record. */
	uint64_t end_timestamp;   /* Not before the last record, not after the next one. */
};

/*
 * Map rings for reading. If expected is not NULL, the memory must have just this geometry
 * (-EPROTO otherwise), which is what a consumer that made the memory wants.
 */
int ring_consumer_map(
		int fd, const struct ring_geometry *expected, struct ring_consumer **consumer);
void ring_consumer_unmap(struct ring_consumer *consumer);
/* Bytes of memory that the rings take now; less than ring_memory_size() until all of it has been used. */
uint64_t ring_consumer_resident(const struct ring_consumer *consumer);
const struct ring_geometry *ring_consumer_geometry(const struct ring_consumer *consumer);

/*
 * What is waiting in this ring: 1 and a span, 0 when it is empty, or -EBADMSG when what
 * the traced program wrote makes no sense. Such a ring stays unusable; ring_consumer_error() says
 * why in words (NULL: no error), and the other rings are not affected. In overwrite mode nothing is
 * ever waiting.
 */
int ring_consumer_peek(struct ring_consumer *consumer, uint32_t ring, struct ring_span *span);
void ring_consumer_release(
		struct ring_consumer *consumer, uint32_t ring, const struct ring_span *span);
/*
 * In a copy of the memory, by somebody who has the next bytes already: go past them; `end_timestamp` is
 * that of their span. 0, or -EINVAL: other bytes stand there, or fewer.
 */
int ring_consumer_skip(struct ring_consumer *consumer, uint32_t ring, const void *bytes,
		size_t size, uint64_t end_timestamp);
const char *ring_consumer_error(const struct ring_consumer *consumer, uint32_t ring);

/*
 * RING_LEASED, for one thread at a time, which need not be the consumer's; `fd` is the memory's descriptor.
 *
 * ring_lease_revoke() takes memory back that the producer does not use and that holds no record: the bytes that stay, or 0: nothing
 * was taken. ring_lease_grant() provides it again, for a producer that has asked or that will: 0 or a negative errno.
 * ring_lease_deny() answers a producer that has asked: there is none now.
 */
uint64_t ring_lease_revoke(struct ring_consumer *consumer, int fd);
int ring_lease_grant(struct ring_consumer *consumer, int fd);
void ring_lease_deny(struct ring_consumer *consumer);
bool ring_lease_is_asked(const struct ring_consumer *consumer);
/*
 * Whether a question must be answered now. A producer that asks all the time does not keep the consumer busy: after ring_lease_take_question() has
 * returned true, no question is due for 90 ms, whatever the producer does with the word.
 */
bool ring_lease_is_due(const struct ring_consumer *consumer);
bool ring_lease_take_question(struct ring_consumer *consumer);
/* Whether there are no records that were not released, and in overwrite mode none ever. */
bool ring_lease_is_empty(const struct ring_consumer *consumer);
/* The sum of all positions: it changes with each record. */
uint64_t ring_lease_activity(const struct ring_consumer *consumer);
/* Ask a producer that has the memory to leave it (ring_producer_leave()). True if it was asked just now. */
bool ring_lease_recall(struct ring_consumer *consumer);
/*
 * Of memory that another consumer lent: *ret_missing is how much of it is taken back. -EPROTO: the producer has changed what it
 * may not.
 */
int ring_lease_adopt(struct ring_consumer *consumer, int fd, uint64_t *ret_missing);
/* Everything before is released, by this consumer or by one before it. */
uint64_t ring_consumer_position(const struct ring_consumer *consumer, uint32_t ring);

/*
 * Overwrite mode, the producer alive or dead: 1 and the last records of the ring, copied into
 * buffer (as large as a ring; span->data points into it), up to the last one published when this
 * was called; 0 when there are none; -EBADMSG as above; -EAGAIN when a producer overwrote
 * everything each time it was being copied (a ring that is small for its rate): try again.
 *
 * span->position is how many bytes were published before these.
 */
int ring_consumer_snapshot(struct ring_consumer *consumer, uint32_t ring, void *buffer,
		struct ring_span *span);

/* Records lost in this ring since its creation: never more than one a nanosecond (RING_LOST_IMPLAUSIBLE). */
uint64_t ring_consumer_lost(
		const struct ring_consumer *consumer, uint32_t ring, enum ring_loss reason);
uint64_t ring_consumer_lost_total(const struct ring_consumer *consumer, uint32_t ring);

/*
 * Call visit() for each event slot of this ring that has lost records, with the RING_LOSS_REASONS
 * counts since the ring's creation. Touches only memory that the producer has touched. Stops at the
 * first value that is not 0, and returns it.
 */
typedef int ring_lost_visit(void *data, uint32_t ring, uint32_t event_slot, const uint64_t *counts);
int ring_consumer_lost_each(const struct ring_consumer *consumer, uint32_t ring,
		ring_lost_visit *visit, void *data);

/* ---- Doorbell ------------------------------------------------------------------------------- */

/*
 * Each ring memory has a doorbell in its first page, which only its process and the consumer map. A producer that
 * fills another eighth of a ring while the consumer sleeps rings it. So no program can keep the consumer
 * from hearing another one. It can spoil its own doorbell: always wait with a timeout.
 *
 *	for (;;) {
 *		drain everything;
 *		ring_bells_arm(bells);
 *		if (!ring_consumer_pending(each consumer) && !stop)
 *			ring_bells_wait(bells, timeout_ms);
 *		ring_bells_disarm(bells);
 *	}
 *
 * A set of doorbells belongs to the thread that waits, but ring_bells_ring(), which ends the wait, may be called by any thread
 * and from signal handlers. Remove a consumer before its rings are unmapped; destroy the set before the others are.
 */
struct ring_bells;

int ring_bells_create(struct ring_bells **bells);
void ring_bells_destroy(struct ring_bells *bells);
int ring_bells_add(struct ring_bells *bells, struct ring_consumer *consumer);
/* Does nothing if it is not in the set. */
void ring_bells_remove(struct ring_bells *bells, const struct ring_consumer *consumer);
void ring_bells_arm(struct ring_bells *bells);
void ring_bells_disarm(struct ring_bells *bells);
/*
 * 0: rung (or rung already since ring_bells_arm()); -ETIMEDOUT; -EINTR. On kernels before 5.16, and where a sandbox forbids
 * futex_waitv(), it is over after 10 ms.
 */
int ring_bells_wait(struct ring_bells *bells, int timeout_ms);
void ring_bells_ring(struct ring_bells *bells);
/* Doorbells that are not listened to for a moment, because their programs have rung without a reason. */
size_t ring_bells_muted(const struct ring_bells *bells);

/* One alone. */
struct ring_doorbell;
struct ring_doorbell *ring_consumer_doorbell(const struct ring_consumer *consumer);
uint32_t ring_doorbell_arm(struct ring_doorbell *doorbell);
void ring_doorbell_disarm(struct ring_doorbell *doorbell);
int ring_doorbell_wait(struct ring_doorbell *doorbell, uint32_t seen, int timeout_ms);
void ring_doorbell_ring(struct ring_doorbell *doorbell);

/* Whether some ring holds records that would have rung the doorbell (a block boundary passed). */
bool ring_consumer_pending(const struct ring_consumer *consumer);

/* ---- Clock ---------------------------------------------------------------------------------- */

/* The TSC where the CPU promises a steady one and the kernel itself trusts it. */
enum ring_clock ring_clock_choose(void);
uint64_t ring_clock_now(enum ring_clock clock);

/*
 * How the kernel makes its own times (of perf, and the rate of CLOCK_MONOTONIC_RAW) of ticks of the TSC:
 *
 *	time in ns = zero + (ticks * multiplier >> shift)
 *
 * False if it does not say: another clock, or perf_event_open() is not permitted. Without has_zero only the rate is known.
 */
struct ring_clock_conversion {
	uint64_t zero;
	uint32_t multiplier;
	uint16_t shift;
	bool has_zero;
};
bool ring_clock_kernel_conversion(struct ring_clock_conversion *conversion);

/* The clock beside the kernel's clocks at one moment. */
struct ring_clock_sample {
	uint64_t ticks;       /* Of the ring's clock, at the moment below. */
	int64_t monotonic_ns; /* CLOCK_MONOTONIC at that tick. */
	int64_t realtime_ns;  /* CLOCK_REALTIME at that tick. */
	int64_t raw_ns;       /* CLOCK_MONOTONIC_RAW at that tick. */
	int64_t error_ns;     /* Bound of the error of the three. */
};

/* Where a frequency came from. */
enum ring_clock_source {
	RING_CLOCK_SOURCE_EXACT,    /* Nanoseconds by definition. */
	RING_CLOCK_SOURCE_KERNEL,   /* The kernel's own conversion (perf_event). */
	RING_CLOCK_SOURCE_CPUID,    /* CPUID or the hypervisor. */
	RING_CLOCK_SOURCE_MEASURED, /* Against CLOCK_MONOTONIC between two samples. */
};

/* Unix time of a tick = offset_s + (offset + tick) / frequency seconds; offset < frequency. */
struct ring_clock_calibration {
	uint64_t frequency;
	int64_t offset_s;
	uint64_t offset;
	enum ring_clock_source source;
};

int ring_clock_sample(enum ring_clock clock, struct ring_clock_sample *sample);

/*
 * Frequency and origin of the clock. With end == NULL, at the start of a recording: by what kernel
 * and CPU say of the frequency (or a measurement of some 20 ms where they say nothing). With a
 * second sample, from the end of the recording: such that wall-clock time is right at both
 * ends, which takes in the rate corrections of NTP. A step of the wall clock in between does not
 * stretch the result: the origin is then the one of the begin.
 */
int ring_clock_calibrate(enum ring_clock clock, const struct ring_clock_sample *begin,
		const struct ring_clock_sample *end, struct ring_clock_calibration *calibration);

/* Unix time of a tick in nanoseconds. */
int64_t ring_clock_unix_ns(const struct ring_clock_calibration *calibration, uint64_t ticks);

#endif /* SIDE_RING_RING_H */
