/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_RECOVERY_H
#define SIDE_PROTOCOL_RECOVERY_H

/*
 * Structures in the memory of a traced program from which `side recover CORE` finds the recording
 * in a core dump, even if all other processes are dead.
 *
 * For each session there is one anonymous mapping, whose first page begins with struct
 * recovery_head; to find it, check the beginning of each page of the dump. It points to everything
 * else by addresses of the dead process:
 *
 *   recovery_head ── channels ──► recovery_channel[nr_channels] in the same mapping
 *     │                             │ rings            mapped here: ring_memory_import()
 *     │                             │ name, contexts   consecutive strings, each with its NUL
 *     └── first_chunk ──► recovery_chunk ── next ──► recovery_chunk ── next ──► 0
 *
 * The used bytes of the chunks, one after the other, are a stream as in EVENTS messages
 * (protocol.h): a sequence of struct wire_event_head, names of contexts and encoded description. A
 * description never spans two chunks. Each event that can be in a ring is in the stream.
 *
 * Everything is in the byte order of the process. A dump shows one moment: the agent writes a
 * chunk's bytes before it counts them in `used`, and a chunk before a pointer to it, so everything
 * reachable is complete. `valid` is 0 while the other members change (at the start and after a
 * fork). A reader must check everything nevertheless: the dead program may have written
 * anywhere.
 *
 * `copy` is the distance in units of 4096 bytes from `rings` to a private mapping of the same file.
 * A dump contains that mapping although the file is linked: ring_memory_import_dumped().
 *
 * The header is separate because the agent writes the structures and the session reads them,
 * without a message.
 */

#include <stdint.h>

#define RECOVERY_MAGIC "SIDECORE"
#define RECOVERY_VERSION 1
#define RECOVERY_COPY_UNIT 4096
#define RECOVERY_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" in memory on a little-endian machine */

/* Each member's comment begins with its offset in bytes. The layout is the same for 32-bit and
   64-bit processes. */
struct recovery_head {
	char magic[8];         /*   0 RECOVERY_MAGIC, without a NUL */
	uint32_t version;      /*   8 RECOVERY_VERSION */
	uint32_t head_size;    /*  12 bytes of this structure */
	uint64_t self;         /*  16 address of this structure: distinguishes it from a copy */
	uint32_t valid;        /*  24 1, or 0 while it is being changed */
	uint32_t pid;          /*  28 in the process's own namespace */
	uint64_t token;        /*  32 as in HELLO */
	uint32_t instance;     /*  40 as in CONFIG */
	uint32_t clock;        /*  44 the rings' enum ring_clock */
	uint64_t frequency;    /*  48 as in CONFIG: 0 if not known */
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
	char session[128];     /* 368 path of the socket, with a NUL: identifies the session */
	char exe[512];         /* 496 as in HELLO, truncated if it is longer, with a NUL */
};                             /* 1008 */

struct recovery_channel {
	uint32_t index;         /*  0 */
	uint32_t nr_contexts;   /*  4 */
	uint64_t rings;         /*  8 address where the rings are mapped */
	uint64_t ring_memory;   /* 16 size of the rings' memory in bytes */
	uint64_t contexts;      /* 24 address of their names, consecutive strings */
	uint32_t contexts_size; /* 32 bytes of all of them, with their NULs */
	int32_t copy;           /* 36 see below; 0: none */
	char name[64];          /* 40 with a NUL */
};                              /* 104 */

struct recovery_chunk {
	uint32_t magic;    /*  0 RECOVERY_CHUNK_MAGIC */
	uint32_t reserved; /*  4 0 */
	uint64_t next;     /*  8 address of the next chunk, or 0 */
	uint64_t size;     /* 16 capacity behind this header in bytes */
	uint64_t used;     /* 24 used bytes behind this header */
};                         /* 32; the bytes follow */

_Static_assert(sizeof(struct recovery_head) == 1008, "as documented");
_Static_assert(sizeof(struct recovery_channel) == 104, "as documented");
_Static_assert(sizeof(struct recovery_chunk) == 32, "as documented");

#endif
