/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_RECOVERY_H
#define SIDE_PROTOCOL_RECOVERY_H

/*
 * What the agent leaves in the memory of a traced program, so that `side recover CORE` finds the
 * recording in a core dump, whoever else is dead by then.
 *
 * For each session one anonymous mapping, whose first page begins with struct recovery_head; to find
 * it, look at the beginning of each page of the dump. It leads to everything else by addresses of
 * the dead process:
 *
 *	recovery_head ── channels ──► recovery_channel[nr_channels]	in the same mapping
 *		│				│ rings		where they are mapped: ring_memory_import()
 *		│				│ name, contexts	strings in a row, each with its NUL
 *		└── first_chunk ──► recovery_chunk ── next ──► recovery_chunk ── next ──► 0
 *
 * The used bytes of the chunks, one after the other, are a stream as in EVENTS messages (wire.h):
 * struct wire_event_head, names of contexts, encoded description, again and again. A description
 * never spans two chunks. Each event that can be in a ring is in the stream.
 *
 * Everything is in the byte order of the process. A dump shows one moment: a chunk's bytes are
 * written before `used` counts them, and a chunk before something leads to it, so what can be
 * reached is whole. `valid` is 0 while the rest is being changed (at the start and after a fork).
 * A reader checks all of it all the same: the dead program may have written anywhere.
 *
 * A header of its own because the agent writes it and the session reads it, without a message.
 */

#include <stdint.h>

#define RECOVERY_MAGIC "SIDECORE"
#define RECOVERY_VERSION 1
#define RECOVERY_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" in memory on a little-endian machine */

/* Offset in bytes in front of each field. The same for 32-bit and 64-bit processes. */
struct recovery_head {
	char magic[8];         /*   0 RECOVERY_MAGIC, without a NUL */
	uint32_t version;      /*   8 RECOVERY_VERSION */
	uint32_t head_size;    /*  12 bytes of this structure */
	uint64_t self;         /*  16 address of this structure: tells it from a copy */
	uint32_t valid;        /*  24 1, or 0 while it is being changed */
	uint32_t pid;          /*  28 in the process's own namespace */
	uint64_t token;        /*  32 of HELLO */
	uint32_t instance;     /*  40 of CONFIG */
	uint32_t clock;        /*  44 the rings' enum ring_clock */
	uint64_t frequency;    /*  48 as in CONFIG: 0 when not known */
	int64_t offset_s;      /*  56 */
	uint64_t offset;       /*  64 */
	uint32_t nr_channels;  /*  72 */
	uint32_t channel_size; /*  76 bytes of one struct recovery_channel */
	uint64_t channels;     /*  80 address of the first one */
	uint64_t first_chunk;  /*  88 address, 0: no events yet */
	uint32_t parent;       /*  96 process id of the parent */
	uint32_t word_size;    /* 100 bytes: 4 or 8 */
	uint64_t size;         /* 104 bytes of this mapping */
	char procname[256];    /* 112 as in HELLO, with a NUL */
	char session[128];     /* 368 path of the socket, with a NUL: tells sessions apart */
	char exe[512];         /* 496 as in HELLO, cut if it is longer, with a NUL */
};                             /* 1008 */

struct recovery_channel {
	uint32_t index;         /*  0 */
	uint32_t nr_contexts;   /*  4 */
	uint64_t rings;         /*  8 address where the rings are mapped */
	uint64_t ring_memory;   /* 16 size of the rings' memory in bytes */
	uint64_t contexts;      /* 24 address of their names, strings in a row */
	uint32_t contexts_size; /* 32 bytes of all of them, with their NULs */
	uint32_t reserved;      /* 36 0 */
	char name[64];          /* 40 with a NUL */
};                              /* 104 */

struct recovery_chunk {
	uint32_t magic;    /*  0 RECOVERY_CHUNK_MAGIC */
	uint32_t reserved; /*  4 0 */
	uint64_t next;     /*  8 address of the next chunk, or 0 */
	uint64_t size;     /* 16 bytes that fit behind this header */
	uint64_t used;     /* 24 bytes behind this header that count */
};                         /* 32; the bytes follow */

_Static_assert(sizeof(struct recovery_head) == 1008, "as documented");
_Static_assert(sizeof(struct recovery_channel) == 104, "as documented");
_Static_assert(sizeof(struct recovery_chunk) == 32, "as documented");

#endif
