/* SPDX-License-Identifier: MIT */
/*
 * Shared-memory rings between a traced program (the producer) and a recorder (the consumer).
 *
 * The consumer creates one memfd per traced process and channel. It holds one ring for each
 * possible CPU, or for each thread. A producer copies a finished payload into the ring of the CPU
 * it runs on and puts the record header of docs/spec/recording.md section 1 before it. The consumer
 * drains spans of whole records, or takes a snapshot of rings that overwrite their oldest records.
 *
 *	consumer					producer (traced program)
 *	ring_memory_create() ── fd over a socket ──►	ring_producer_map()
 *	ring_consumer_map()				ring_publish(), ring_count_lost()
 *	ring_consumer_peek(), _release()		ring_producer_unmap()
 *
 * Functions return 0 or a negative errno. The functions of the producer are async-signal-safe and
 * thread-safe, keep errno, wait for no lock without a bound, and allocate memory only with mmap(),
 * so that a wrapper of malloc() may call them. Only one thread at a time may use a consumer handle.
 *
 * The layout of the memory is in layout.h, the protocol in producer.c and section-x86_64.S.
 */
#ifndef SIDE_RING_RING_H
#define SIDE_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ring_mode {
	RING_MODE_DISCARD = 0, /* A full ring refuses new records and counts them. */
	/* A full ring overwrites its oldest records (ring_consumer_snapshot()). */
	RING_MODE_OVERWRITE = 1,
	RING_MODE_BLOCK = 2, /* A full ring makes its writer wait, for a bounded time. */
};

/* Whether a ring belongs to a CPU or to a thread. */
enum ring_placement {
	RING_PER_CPU = 0,
	RING_PER_THREAD = 1, /* A thread takes a free ring with its first record. */
};

/* Bits of ring_geometry.flags. */
enum ring_flag {
	RING_HUGE_PAGES = 1, /* Huge pages; rings must be as large as one. */
	RING_PREFAULT = 2,   /* All memory is allocated before the first record. */
	/*
	 * Rings that are always full: the producer counts every record (as RING_LOST_FULL, by ring
	 * and event) and stores none. The consumer reads only the counters. Only with
	 * RING_MODE_DISCARD.
	 */
	RING_COUNTS = 4,
	/*
	 * A lease: the producer claims the memory with its first record, and the consumer can
	 * revoke it while the producer does not use it (lease.h). Not with the other flags.
	 */
	RING_LEASED = 8,
};

enum ring_clock {
	RING_CLOCK_TSC = 0,       /* Ticks of the x86 time-stamp counter. */
	RING_CLOCK_MONOTONIC = 1, /* Nanoseconds of CLOCK_MONOTONIC. */
};

/* Why a record was lost. Counted for each ring, event slot and reason. */
enum ring_loss {
	RING_LOST_FULL = 0,    /* The ring had no space. */
	RING_LOST_TOO_BIG = 1, /* The payload is larger than this ring permits. */
	/* The arguments do not match the description, for example a NULL pointer. */
	RING_LOST_INVALID = 2,
	RING_LOST_NO_BUFFER = 3, /* The caller had no memory to build the record in. */
	RING_LOST_BUSY = 4,      /* Every ring was in use until the bound on retries. */
	/* A CPU without a ring, a thread without rseq, or all rings in use. */
	RING_LOST_NO_RING = 5,
	RING_LOST_NESTED = 6, /* The caller refuses records from within its own work. */
	RING_LOST_OTHER = 7,
	/* Losses of a probe at the return of a function whose entry was recorded: */
	RING_LOST_RETURN_FULL = 8,   /* too many calls were open, */
	RING_LOST_RETURN_CALLER = 9, /* the caller is code of no file. */
	/*
	 * A process used the thread-local memory of another one, or a thread that of another
	 * thread.
	 */
	RING_LOST_SHARED = 10,
	/*
	 * No producer counts this. It stands for a counter whose value no program can reach by
	 * counting: one loss for each such counter.
	 */
	RING_LOST_IMPLAUSIBLE = 11,
	RING_LOST_RETURN_COPIED = 12, /* A probe at a return: the program copies its stack. */
	/* The consumer revoked the memory and had none left. Counted by ring only. */
	RING_LOST_NO_MEMORY = 13,
};
#define RING_LOSS_REASONS 16 /* 14 are in use. */

#define RING_PAYLOAD_MAX 65536u /* Bytes of one payload, in any ring. */
#define RING_SIZE_MIN 4096u     /* Also at least a page. */
#define RING_SIZE_MAX (UINT64_C(1) << 32)
#define RING_RINGS_MAX 8192u
#define RING_EVENT_SLOTS_MAX 65536u

struct ring_geometry {
	/* Per CPU: ring_possible_cpus(). Per thread: the largest number of threads at a time. */
	uint32_t rings;
	uint32_t event_slots; /* Counters of lost events; larger ids share the last one. */
	uint64_t size;        /* Data bytes of each ring: a power of two, a page or more. */
	enum ring_mode mode;
	enum ring_clock clock;
	enum ring_placement placement;
	uint32_t flags;            /* enum ring_flag */
	uint32_t block_timeout_us; /* RING_MODE_BLOCK: the longest wait of one publication. */
};

/* A short English name for a reason, as side:lost has it ("ring full", "too big", …). */
const char *ring_loss_name(enum ring_loss reason);

/* The number of rings that a process can need on this machine: the highest possible CPU + 1. */
uint32_t ring_possible_cpus(void);

/* The size of a huge page on this machine; 0 if it has none. */
size_t ring_huge_page_size(void);

/* The largest payload of a ring of this size (half a ring, or RING_PAYLOAD_MAX). */
size_t ring_payload_max(uint64_t ring_size);

/* ---- Memory (consumer) ---------------------------------------------------------------------- */

/*
 * Check a geometry: 0, -EINVAL, or -ENOTSUP for a mode or clock that this machine does not support.
 * ring_memory_size() returns 0 for an invalid geometry.
 */
int ring_geometry_check(const struct ring_geometry *geometry);
size_t ring_memory_size(const struct ring_geometry *geometry);

/*
 * Create the memory of one process: a memfd (CLOEXEC) sealed against shrinking and growing. The
 * caller closes *ret_fd.
 *
 * With RING_HUGE_PAGES: -ENOMEM if not enough huge pages are free, -ENOTSUP if this kernel has
 * none. There is no automatic fallback; the caller can retry without the flag and report that.
 */
int ring_memory_create(const struct ring_geometry *geometry, int *ret_fd);
/* Like ring_memory_create(), with another name than "side-ring" in /proc/PID/maps. */
int ring_memory_create_named(const struct ring_geometry *geometry, const char *name, int *ret_fd);

/*
 * Like ring_memory_create(), as a new file (-EEXIST) in a directory, so that the memory outlives
 * both processes. All its disk blocks are allocated at once (-ENOSPC). -ENOTSUP with
 * RING_HUGE_PAGES: only the file system can choose the pages.
 *
 * The owner of a file can truncate it while processes map it. It is created without permission to
 * write, so that this does not happen by mistake. A consumer survives a truncation: it handles
 * SIGBUS inside its rings and gives the rings up (-EBADMSG). A program that writes there does not
 * survive.
 */
int ring_memory_create_file(
		const struct ring_geometry *geometry, int dir_fd, const char *name, int *ret_fd);
/*
 * With RING_LEASED, like ring_memory_create_file(), but without the memory that a consumer can
 * revoke: the producer asks for it with its first record. dir_fd -1: like ring_memory_create().
 */
int ring_memory_create_revoked(
		const struct ring_geometry *geometry, int dir_fd, const char *name, int *ret_fd);
/* Bytes of the memory that a consumer cannot revoke; 0 for an invalid geometry. */
size_t ring_memory_kept(const struct ring_geometry *geometry);

/*
 * Rebuild ring memory from the addresses where another process mapped it (a core dump), or from a
 * file that no process writes any more (base 0). *ret_fd is a new memfd for ring_consumer_map().
 * read() copies bytes out of that address space, and returns 0 or a negative errno.
 *
 * -EPROTO: no rings of this version. A ring whose data cannot be read exists, but is unusable
 * (ring_consumer_error()).
 */
typedef int ring_memory_read(void *user, uint64_t address, void *to, size_t size);
int ring_memory_import(ring_memory_read *read, void *user, uint64_t base, int *ret_fd);
/* The same for the address of a copy that a producer keeps for core dumps. */
int ring_memory_import_dumped(ring_memory_read *read, void *user, uint64_t base, int *ret_fd);
/*
 * The same as ring_memory_import() for the page tables of a process: read() returns -ENODATA for a
 * page that the process has never used.
 */
int ring_memory_import_touched(ring_memory_read *read, void *user, uint64_t base, int *ret_fd);

/*
 * Check the file of a descriptor that another process sent, without mapping it: 0 and its geometry,
 * -EPROTO or -ENOTSUP. A consumer that continues after a killed one maps the same file.
 */
int ring_memory_inspect(int fd, struct ring_geometry *ret_geometry);

/* ---- Producer ------------------------------------------------------------------------------- */

struct ring_producer;

/*
 * Map the rings for writing. Everything read from the memory is checked: -EPROTO if it is not ring
 * memory of this version, -ENOTSUP if this process cannot have the mode or clock. The caller may
 * close the descriptor afterwards.
 *
 * The rings belong to the process that maps them. In a forked child every publication is refused
 * (-ECHILD, see ring_producer_refused()) until the child maps rings of its own.
 * ring_producer_unmap() works in the child as well.
 *
 * No thread may be in a publication when ring_producer_unmap() is called.
 */
int ring_producer_map(int ring_fd, struct ring_producer **ret_producer);
void ring_producer_unmap(struct ring_producer *producer);

/*
 * Publish one record in the ring of the current CPU or thread.
 *
 * Returns 0, or one of these errors, which the ring counts: -ENOSPC (full), -E2BIG (over the
 * payload limit), -EBUSY (bound on retries), -ENXIO (no ring for this CPU or thread). -ECHILD (the
 * rings belong to the parent) is not counted in the ring.
 */
int ring_publish(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size);

/*
 * Like ring_publish(), for one scalar of a fixed size. ring_choose_scalar() returns the fastest
 * function for scalars of `size` bytes (1, 2, 4, 8, 16) of this event in these rings, or in rings
 * of the same geometry that replace them. The third argument is unused: the function reads the
 * clock into its register.
 */
typedef int ring_publish_scalar(struct ring_producer *producer, uint32_t event_id,
		const void *unused, const void *scalar);
ring_publish_scalar *ring_choose_scalar(
		const struct ring_producer *producer, uint32_t event_id, size_t size);

/*
 * Like ring_publish(), for a caller that has just read the time-stamp counter. That is the time of
 * the record, or the time of the last record if that is later. If the value cannot be used (another
 * clock, or a retry), the function reads the clock itself.
 */
int ring_publish_at(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size, uint64_t ticks);

/*
 * Like ring_publish_at(), for a fixed size. ring_choose_timed() returns the function for 0, 4, 8 or
 * 16 bytes of this event, or NULL if there is none: then call ring_publish_at().
 */
typedef int ring_publish_timed(struct ring_producer *producer, uint32_t event_id, uint64_t ticks,
		const void *payload);
ring_publish_timed *ring_choose_timed(
		const struct ring_producer *producer, uint32_t event_id, size_t size);

/*
 * Bytes that a thread prepares to precede payloads, and a stamp that identifies their content. A
 * signal handler may change the prefix at any time if it changes the stamp before and after.
 */
struct ring_prefix {
	uint64_t stamp;
	uint64_t size;
	uint8_t bytes[];
};

/*
 * Publish one scalar behind a prefix, if the prefix has the stamp. Returns 0, or 1 if nothing was
 * published and nothing counted: then use another function. That happens if the record does not
 * have the usual form, if the prefix is shorter than 4 bytes or longer than 32, and always if
 * ring_choose_prefixed() returns NULL.
 */
typedef int ring_publish_prefixed(struct ring_producer *producer, uint32_t event_id,
		const struct ring_prefix *prefix, const void *scalar, uint64_t stamp);
ring_publish_prefixed *ring_choose_prefixed(
		const struct ring_producer *producer, uint32_t event_id, size_t size);

/*
 * Like ring_publish(), for a payload in two pieces, so that the caller need not join them. The body
 * is read while the ring is held, so reading it must not fault.
 */
int ring_publish_two_part(struct ring_producer *producer, uint32_t event_id, const void *head,
		size_t head_size, const void *body, size_t body_size);

/*
 * Set a function that permits the system calls of a publication (to wake the consumer, to wait for
 * it, or to find a ring for a thread). If it returns false, as in a sandbox that would kill the
 * program, a publication wakes no consumer (which polls now and then), a full ring does not wait,
 * and a thread without a ring gets none. It applies to all producers of the process, and must be
 * async-signal-safe. NULL, the initial state: always permitted.
 */
typedef bool ring_may_call(void);
void ring_ask_before_calls(ring_may_call *may_call);

/*
 * A thread enters a sandbox. If its filter permits the system call rseq(), new threads of the
 * sandbox make that call even where the function above returns false, because the C library makes
 * it as well.
 */
void ring_sandbox_begins(bool permits_rseq);

/*
 * For a process that records events of other processes: from now on, everything that the calling
 * thread publishes has this time and CPU, until it passes NULL. Times of a ring do not decrease: an
 * earlier time becomes that of the record before. Only producers of the portable path support this
 * (SIDE_RING_PORTABLE=1 in the environment selects it for all).
 */
struct ring_replay {
	uint64_t ticks; /* of the ring's clock */
	uint32_t cpu;
};
void ring_replay(const struct ring_replay *replay);

/*
 * Refuse every publication (-EPERM, counted as RING_LOST_OTHER), or permit it again. Needed if a
 * thread is forbidden to read clocks: the next record would kill it.
 */
void ring_producer_stop(struct ring_producer *producer, bool stop);

/* Count a record that the caller could not build. */
void ring_count_lost(struct ring_producer *producer, uint32_t event_id, enum ring_loss reason);
/*
 * Count records that were lost on that CPU before they reached the caller, which records events of
 * other processes (ring_replay()).
 */
void ring_count_lost_before(struct ring_producer *producer, uint32_t event_id,
		enum ring_loss reason, uint32_t cpu, uint64_t count);

/*
 * The CPU of this thread, from thread memory that the kernel updates; negative if it may not do so.
 */
int32_t ring_thread_cpu(void);

/* Constant after the mapping. */
enum ring_clock ring_producer_clock(const struct ring_producer *producer);
size_t ring_producer_payload_max(const struct ring_producer *producer);
bool ring_producer_is_portable(const struct ring_producer *producer); /* True without rseq. */

/*
 * RING_LEASED: return the memory if the consumer has recalled it. True: the next record claims it
 * again, and the caller must call ring_producer_left() once no thread can still be in a publication
 * that began before.
 */
bool ring_producer_leave(struct ring_producer *producer);
/*
 * Set how many times 100 ms a record waits for memory that it asks for, in all rings of the
 * process.
 */
void ring_lease_timeout_factor(unsigned int factor);
void ring_producer_left(struct ring_producer *producer);

/* The address of the rings, for ring_memory_import() out of a core dump of this process. */
const void *ring_producer_base(const struct ring_producer *producer);
/*
 * The address of their copy for core dumps, for ring_memory_import_dumped(). NULL: the dump
 * contains the rings themselves.
 */
const void *ring_producer_dumped(const struct ring_producer *producer);

/*
 * How often a forked child called ring_publish() or ring_count_lost() on the rings of the parent.
 * Counted in memory of this process.
 */
uint64_t ring_producer_refused(const struct ring_producer *producer);

/* ---- Consumer ------------------------------------------------------------------------------- */

struct ring_consumer;

/*
 * Whole records of one ring, in order. The producer does not overwrite them before
 * ring_consumer_release(). A hostile program can write there: copy or write the bytes out once, and
 * check them when they are interpreted.
 */
struct ring_span {
	const void *data; /* Contiguous, because the ring is mapped twice in a row. */
	size_t size;
	uint64_t position;        /* Bytes published in this ring before this span. */
	uint64_t first_timestamp; /* Of the first record. */
	uint64_t end_timestamp;   /* Not before the last record, not after the next one. */
};

/*
 * Map rings for reading. If expected is not NULL, the memory must have exactly this geometry,
 * otherwise -EPROTO. A consumer that created the memory passes it.
 */
int ring_consumer_map(
		int fd, const struct ring_geometry *expected, struct ring_consumer **ret_consumer);
void ring_consumer_unmap(struct ring_consumer *consumer);
/*
 * Bytes of memory that the rings occupy now; less than ring_memory_size() until all of it was used.
 */
uint64_t ring_consumer_resident(const struct ring_consumer *consumer);
const struct ring_geometry *ring_consumer_geometry(const struct ring_consumer *consumer);

/*
 * Get the waiting records of this ring: 1 and a span, 0 if it is empty, or -EBADMSG if the traced
 * program wrote inconsistent data. Such a ring stays unusable, and ring_consumer_error() describes
 * the reason (NULL: no error). The other rings are not affected. In overwrite mode the result is
 * always 0.
 */
int ring_consumer_peek(struct ring_consumer *consumer, uint32_t ring, struct ring_span *ret_span);
void ring_consumer_release(
		struct ring_consumer *consumer, uint32_t ring, const struct ring_span *span);
/*
 * In a copy of the memory, skip the next bytes, which the caller has already; `end_timestamp` is
 * that of their span. Returns 0, or -EINVAL if the ring holds other or fewer bytes.
 */
int ring_consumer_skip(struct ring_consumer *consumer, uint32_t ring, const void *bytes,
		size_t size, uint64_t end_timestamp);
const char *ring_consumer_error(const struct ring_consumer *consumer, uint32_t ring);

/*
 * Functions for RING_LEASED. One thread at a time may call them, not necessarily the consumer's;
 * `fd` is the descriptor of the memory.
 *
 * ring_lease_revoke() frees memory that the producer does not use and that holds no record. It
 * returns the number of bytes that stay, or 0 if it freed nothing. ring_lease_grant() provides the
 * memory again for a producer that has asked, or that will. It returns 0 or a negative errno.
 * ring_lease_deny() answers a producer that has asked: it gets no memory now.
 */
uint64_t ring_lease_revoke(struct ring_consumer *consumer, int fd);
int ring_lease_grant(struct ring_consumer *consumer, int fd);
void ring_lease_deny(struct ring_consumer *consumer);
bool ring_lease_is_asked(const struct ring_consumer *consumer);
/*
 * Whether a request must be answered now. A producer that asks all the time does not keep the
 * consumer busy: after ring_lease_take_question() has returned true, no request is due for 90 ms,
 * whatever the producer does with the word.
 */
bool ring_lease_is_due(const struct ring_consumer *consumer);
bool ring_lease_take_question(struct ring_consumer *consumer);
/* Whether all records are released; in overwrite mode, whether there never was a record. */
bool ring_lease_is_empty(const struct ring_consumer *consumer);
/* The sum of all positions, which changes with each record. */
uint64_t ring_lease_activity(const struct ring_consumer *consumer);
/*
 * Ask a producer that has the memory to return it (ring_producer_leave()). True if it was asked
 * now.
 */
bool ring_lease_recall(struct ring_consumer *consumer);
/*
 * Adopt memory that another consumer leased out: *ret_missing is the number of bytes that are
 * revoked. -EPROTO: the producer has changed words that only the consumer may write.
 */
int ring_lease_adopt(struct ring_consumer *consumer, int fd, uint64_t *ret_missing);
/* The position before which everything is released, by this consumer or by an earlier one. */
uint64_t ring_consumer_position(const struct ring_consumer *consumer, uint32_t ring);

/*
 * Overwrite mode: copy the last records of the ring, up to the last one published when this is
 * called. The producer may be running or dead. `buffer` must be as large as a ring, and
 * ret_span->data points into it.
 *
 * Returns 1 and a span, or 0 if there are no records. -EBADMSG: as for ring_consumer_peek().
 * -EAGAIN: a producer overwrote everything during each copy (the ring is too small for its rate):
 * try again.
 *
 * ret_span->position is the number of bytes published before these.
 */
int ring_consumer_snapshot(struct ring_consumer *consumer, uint32_t ring, void *buffer,
		struct ring_span *ret_span);
/*
 * The same, but only the records after an earlier snapshot of this ring, whose span is `before` (its
 * data is not used). If records between both were overwritten, the span begins later. The first
 * record need not have a full timestamp; first_timestamp is its time.
 */
int ring_consumer_snapshot_after(struct ring_consumer *consumer, uint32_t ring, void *buffer,
		const struct ring_span *before, struct ring_span *ret_span);

/*
 * Records lost in this ring since its creation. A count above one a nanosecond is replaced by one
 * loss (RING_LOST_IMPLAUSIBLE).
 */
uint64_t ring_consumer_lost(
		const struct ring_consumer *consumer, uint32_t ring, enum ring_loss reason);
uint64_t ring_consumer_lost_total(const struct ring_consumer *consumer, uint32_t ring);

/*
 * Call visit() for each event slot of this ring that has lost records, with the RING_LOSS_REASONS
 * counts since the creation of the ring. Reads only memory that the producer has written. Stops at
 * the first value that is not 0, and returns it.
 */
typedef int ring_lost_visit(void *data, uint32_t ring, uint32_t event_slot, const uint64_t *counts);
int ring_consumer_lost_each(const struct ring_consumer *consumer, uint32_t ring,
		ring_lost_visit *visit, void *data);

/* ---- Doorbell ------------------------------------------------------------------------------- */

/*
 * Each ring memory has a doorbell in its first page, which only its process and the consumer map. A
 * producer that fills another sub-buffer while the consumer sleeps rings it. Therefore no program
 * can suppress the doorbell of another one. It can break its own doorbell, so always wait with a
 * timeout.
 *
 *	for (;;) {
 *		drain everything;
 *		ring_bells_arm(bells);
 *		if (!ring_consumer_pending(each consumer) && !stop)
 *			ring_bells_wait(bells, timeout_ms);
 *		ring_bells_disarm(bells);
 *	}
 *
 * Only the waiting thread may use a set of doorbells. The exception is ring_bells_ring(), which
 * ends the wait: any thread and any signal handler may call it. Remove a consumer before its rings
 * are unmapped; destroy the set before the remaining ones are.
 */
struct ring_bells;

int ring_bells_create(struct ring_bells **ret_bells);
void ring_bells_destroy(struct ring_bells *bells);
int ring_bells_add(struct ring_bells *bells, struct ring_consumer *consumer);
/* Does nothing if the consumer is not in the set. */
void ring_bells_remove(struct ring_bells *bells, const struct ring_consumer *consumer);
void ring_bells_arm(struct ring_bells *bells);
void ring_bells_disarm(struct ring_bells *bells);
/*
 * Returns 0 if a doorbell was rung since ring_bells_arm(), -ETIMEDOUT or -EINTR. On kernels before
 * 5.16, and where a sandbox forbids futex_waitv(), it returns after 10 ms.
 */
int ring_bells_wait(struct ring_bells *bells, int timeout_ms);
void ring_bells_ring(struct ring_bells *bells);
/*
 * The number of doorbells that are ignored for a moment, because their programs rang without a
 * reason.
 */
size_t ring_bells_muted(const struct ring_bells *bells);

/* A single doorbell. */
struct ring_doorbell;
struct ring_doorbell *ring_consumer_doorbell(const struct ring_consumer *consumer);
uint32_t ring_doorbell_arm(struct ring_doorbell *doorbell);
void ring_doorbell_disarm(struct ring_doorbell *doorbell);
int ring_doorbell_wait(struct ring_doorbell *doorbell, uint32_t seen, int timeout_ms);
void ring_doorbell_ring(struct ring_doorbell *doorbell);

/*
 * True if a ring has at least one sub-buffer of records to read (they would have rung the doorbell),
 * or if a producer has asked for memory and it is time to answer.
 */
bool ring_consumer_pending(const struct ring_consumer *consumer);

/* ---- Clock ---------------------------------------------------------------------------------- */

/*
 * Choose the TSC if the CPU guarantees a constant rate and the kernel uses it, else
 * CLOCK_MONOTONIC.
 */
enum ring_clock ring_clock_choose(void);
uint64_t ring_clock_now(enum ring_clock clock);

/*
 * The kernel's conversion of TSC ticks to its own times (of perf, and the rate of
 * CLOCK_MONOTONIC_RAW):
 *
 *	time in ns = zero + (ticks * multiplier >> shift)
 *
 * False if the kernel does not report it: another clock, or perf_event_open() is not permitted.
 * Without has_zero only the rate is known.
 */
struct ring_clock_conversion {
	uint64_t zero;
	uint32_t multiplier;
	uint16_t shift;
	bool has_zero;
};
bool ring_clock_kernel_conversion(struct ring_clock_conversion *ret_conversion);

/* The ring's clock and the kernel's clocks at one moment. */
struct ring_clock_sample {
	uint64_t ticks;       /* Of the ring's clock. */
	int64_t monotonic_ns; /* CLOCK_MONOTONIC at that tick. */
	int64_t realtime_ns;  /* CLOCK_REALTIME at that tick. */
	int64_t raw_ns;       /* CLOCK_MONOTONIC_RAW at that tick. */
	int64_t error_ns;     /* The largest possible error of the three. */
};

/* The source of a frequency. */
enum ring_clock_source {
	RING_CLOCK_SOURCE_EXACT,    /* Nanoseconds by definition. */
	RING_CLOCK_SOURCE_KERNEL,   /* The kernel's own conversion (perf_event). */
	RING_CLOCK_SOURCE_CPUID,    /* CPUID or the hypervisor. */
	RING_CLOCK_SOURCE_MEASURED, /* Measured against CLOCK_MONOTONIC between two samples. */
};

/* Unix time of a tick = offset_s + (offset + tick) / frequency seconds; offset < frequency. */
struct ring_clock_calibration {
	uint64_t frequency;
	int64_t offset_s;
	uint64_t offset;
	enum ring_clock_source source;
};

int ring_clock_sample(enum ring_clock clock, struct ring_clock_sample *ret_sample);

/*
 * Compute frequency and origin of the clock.
 *
 * With end == NULL, at the start of a recording, the frequency is that of the kernel or the CPU, or
 * of a measurement of about 20 ms if neither reports one. With a second sample, from the end of the
 * recording, wall-clock time is right at both ends, which includes the rate corrections of NTP. A
 * step of the wall clock in between does not stretch the result: the origin is then that of the
 * begin.
 */
int ring_clock_calibrate(enum ring_clock clock, const struct ring_clock_sample *begin,
		const struct ring_clock_sample *end, struct ring_clock_calibration *calibration);

/* Unix time of a tick in nanoseconds. */
int64_t ring_clock_unix_ns(const struct ring_clock_calibration *calibration, uint64_t ticks);

#endif /* SIDE_RING_RING_H */
