/* SPDX-License-Identifier: MIT */
/*
 * The restartable sections (section-x86_64.S) and the memory of the producer that they read.
 *
 * Private to this module. Used by C and by the assembly.
 */
#ifndef SIDE_RING_SECTION_H
#define SIDE_RING_SECTION_H

#include "ring/layout.h"

/* Results of a section, or of the portable writer. Only the first two publish the record. */
#define RING_SECTION_DONE 0
#define RING_SECTION_CROSSED 1 /* Published, and the record crossed a sub-buffer boundary. */
#define RING_SECTION_ABORTED 2 /* Preempted, moved or interrupted: try again. */
#define RING_SECTION_EXTEND 3  /* The record needs the extended form. */
#define RING_SECTION_ALIAS 4   /* Extended, but the epoch must be invalidated first. */
#define RING_SECTION_FULL 5
#define RING_SECTION_NO_RING 6
#define RING_SECTION_BUSY 7   /* Portable writer only. */
#define RING_SECTION_FORKED 8 /* Portable writer only. */

/* Offsets into struct ring_producer that the assembly uses; checked below. */
#define RING_PRODUCER_USABLE 0
#define RING_PRODUCER_MASK 16
#define RING_PRODUCER_SIZE 24
#define RING_PRODUCER_BLOCK 32
#define RING_PRODUCER_SLOT 64
#define RING_PRODUCER_KEY 72
#define RING_PRODUCER_BLOCK_SHIFT 80
#define RING_PRODUCER_LOCATIONS 256

/* Offsets into struct ring_prefix, and the sizes of a prefix that a section accepts. */
#define RING_PREFIX_SIZE 8
#define RING_PREFIX_TEXT 16
#define RING_PREFIX_MIN 4
#define RING_PREFIX_MAX 32

/* Whether there are rseq sections. ThreadSanitizer cannot analyse them. */
#if defined(__x86_64__) && defined(__LP64__) && !defined(__SANITIZE_THREAD__)
#define RING_HAS_SECTION 1
#else
#define RING_HAS_SECTION 0
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef RING_HAS_SECTION
#define RING_HAS_SECTION 0
#endif
#endif

#ifndef __ASSEMBLER__

/* The addresses of one ring in this process. */
struct ring_location {
	struct ring_control *control;
	unsigned char *data;
};

enum ring_path {
	RING_PATH_NONE = 0, /* The wiped memory of a forked child. */
	RING_PATH_RSEQ_TSC,
	RING_PATH_RSEQ_CLOCK,
	RING_PATH_PORTABLE,
};

struct ring_producer;

/*
 * Publish a payload below the limit completely; returns 0 or a negative errno like ring_publish().
 */
typedef int ring_publish_fn(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size);
/* Like ring_publish_fn, with a TSC time that the caller has read. */
typedef int ring_publish_with_timestamp_fn(struct ring_producer *producer, uint32_t event_id,
		const void *payload, size_t size, uint64_t ticks);
/* Try once to publish; returns a RING_SECTION_ code. In section-x86_64.S. */
typedef int ring_section_two_part(struct ring_producer *producer, uint32_t event_id,
		const void *head, size_t head_size, const void *body, size_t body_size);
typedef int ring_section_two_part_at(struct ring_producer *producer, uint32_t event_id,
		const void *head, size_t head_size, const void *body, size_t body_size,
		uint64_t timestamp);

/*
 * The kernel wipes the pages of this struct when the process forks: everything is 0 in the child,
 * whose fast path therefore refuses (every payload is over the limit 0) at no cost for the parent.
 * struct ring_producer_cold is on the page before and survives the fork.
 */
struct ring_producer {
	/* One cache line for everything that a publication per CPU reads. */
	uint32_t usable; /* Rings that sections may use: all, or none (stopped, forked). */
	uint32_t path;   /* enum ring_path */
	uint64_t reserved_word;
	uint64_t mask;          /* size - 1 */
	uint64_t size_word;     /* size << 24 */
	uint64_t block_word;    /* (size / RING_BLOCKS) << 24 */
	uint64_t payload_limit; /* A payload must be smaller than this. */
	ring_publish_fn *publish;
	uint32_t clock; /* enum ring_clock */
	uint32_t rings;

	uint64_t slot_offset; /* Per thread: offset of the thread's word from the thread pointer. */
	/* Per thread: key << 32. The upper half of the thread's word must be equal. */
	uint64_t slot_key;
	uint32_t block_shift; /* Shifts a head word to the number of its sub-buffer. */
	uint32_t mode;        /* enum ring_mode */
	union {
		ring_section_two_part *two_part;
		ring_section_two_part_at *two_part_at;
	};
	union {
		ring_section_two_part *extended;
		ring_section_two_part_at *extended_at;
	};
	/* Give the head of this ring an epoch that neither `timestamp` nor last_timestamp has. */
	int (*invalidate)(struct ring_producer *producer, uint64_t timestamp);
	struct ring_doorbell *doorbell;
	uint32_t placement; /* enum ring_placement */
	int32_t owner;      /* The pid, if the kernel cannot wipe memory on fork; else 0. */

	/* Counters of the first ring; the next ring's are lost_stride_words further. */
	uint64_t *lost;
	uint64_t lost_stride_words;
	uint64_t *locks;   /* Portable path: a lock for each ring. */
	uint64_t *owners;  /* Per thread: the owner of each ring, see slots.c. */
	uint64_t *stalled; /* Block mode: for each ring, see space.c. */
	uint64_t stalled_releases;
	uint64_t slots_searched_ns; /* When a search last found all slots in use. */
	/* The process that mapped the memory; differs in a child of vfork(). */
	int32_t pid;
	uint32_t block_timeout_us;
	/* Every publication takes the slow path: payload_limit and usable are 0. */
	uint32_t stopped;
	uint32_t event_slots;

	ring_publish_with_timestamp_fn *with_timestamp; /* RING_PATH_RSEQ_TSC; else NULL */

	struct ring_lease *lease; /* RING_LEASED only; else NULL. */
	uint64_t lease_until_ns;  /* Until when records wait for the answer to a request. */
	uint64_t lease_again_ns;  /* When the next request may be made. */
	/* The lease word of the recall that the producer answers; 0: none. */
	uint32_t lease_left;
	uint32_t reserved_half;

	uint64_t reserved[2];
	struct ring_location locations[];
};
/* Finish a publication whose first attempt had the result `code` and did not simply succeed. */
int ring_publish_one_slow(struct ring_producer *producer, uint32_t event_id, const void *payload,
		size_t size, int code);

#if RING_HAS_SECTION
static_assert(offsetof(struct ring_producer, usable) == RING_PRODUCER_USABLE, "usable");
static_assert(offsetof(struct ring_producer, mask) == RING_PRODUCER_MASK, "mask");
static_assert(offsetof(struct ring_producer, size_word) == RING_PRODUCER_SIZE, "size_word");
static_assert(offsetof(struct ring_producer, block_word) == RING_PRODUCER_BLOCK, "block_word");
static_assert(offsetof(struct ring_producer, locations) == RING_PRODUCER_LOCATIONS, "locations");
static_assert(offsetof(struct ring_producer, slot_offset) == RING_PRODUCER_SLOT, "slot_offset");
static_assert(offsetof(struct ring_producer, slot_key) == RING_PRODUCER_KEY, "slot_key");
static_assert(offsetof(struct ring_producer, block_shift) == RING_PRODUCER_BLOCK_SHIFT, "shift");
static_assert(sizeof(struct ring_location) == 2 * sizeof(void *), "ring_place");

/*
 * The sections for a mode (keep unread records, or overwrite them) and a placement.
 *
 * _tsc sections read the TSC, _clock sections take the timestamp; both take two parts.
 * ring_publish_ functions take one part and use the TSC, the usual case, and call
 * ring_publish_one_slow() themselves. So do ring_publish_with_timestamp_ (the caller has just read
 * the TSC), ring_scalar_ (one scalar) and ring_timed_ (both).
 */
#define RING_SCALARS(form, mode, placement)                                \
	ring_publish_scalar ring_scalar_##form##_##mode##_##placement##_1; \
	ring_publish_scalar ring_scalar_##form##_##mode##_##placement##_2; \
	ring_publish_scalar ring_scalar_##form##_##mode##_##placement##_4; \
	ring_publish_scalar ring_scalar_##form##_##mode##_##placement##_8; \
	ring_publish_timed ring_timed_##form##_##mode##_##placement##_0;   \
	ring_publish_timed ring_timed_##form##_##mode##_##placement##_4;   \
	ring_publish_timed ring_timed_##form##_##mode##_##placement##_8;   \
	ring_publish_timed ring_timed_##form##_##mode##_##placement##_16
#define RING_SECTIONS(mode, placement)                                                   \
	RING_SCALARS(compact, mode, placement);                                          \
	RING_SCALARS(medium, mode, placement);                                           \
	ring_publish_fn ring_publish_##mode##_##placement;                               \
	ring_publish_with_timestamp_fn ring_publish_with_timestamp_##mode##_##placement; \
	ring_section_two_part ring_section_two_part_tsc_##mode##_##placement;            \
	ring_section_two_part_at ring_section_two_part_clock_##mode##_##placement;       \
	ring_section_two_part ring_section_extended_tsc_##mode##_##placement;            \
	ring_section_two_part_at ring_section_extended_clock_##mode##_##placement
RING_SECTIONS(keep, cpu);
RING_SECTIONS(keep, thread);
RING_SECTIONS(over, cpu);
RING_SECTIONS(over, thread);

#define RING_PREFIXED(form, mode)                                \
	ring_publish_prefixed ring_prefixed_##form##_##mode##_4; \
	ring_publish_prefixed ring_prefixed_##form##_##mode##_8
RING_PREFIXED(compact, keep);
RING_PREFIXED(medium, keep);
RING_PREFIXED(compact, over);
RING_PREFIXED(medium, over);

static_assert(offsetof(struct ring_prefix, stamp) == 0, "stamp");
static_assert(offsetof(struct ring_prefix, size) == RING_PREFIX_SIZE, "size");
static_assert(offsetof(struct ring_prefix, bytes) == RING_PREFIX_TEXT, "bytes");

int ring_section_invalidate_cpu(struct ring_producer *producer, uint64_t timestamp);
int ring_section_invalidate_thread(struct ring_producer *producer, uint64_t timestamp);
#endif

#endif /* __ASSEMBLER__ */
#endif /* SIDE_RING_SECTION_H */
