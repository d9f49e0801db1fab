/* SPDX-License-Identifier: MIT */
/*
 * Preloaded under valgrind, which does not support restartable sequences: makes the recorder use
 * its usual path, so that callgrind can count its instructions. Valgrind runs one thread at a time
 * and delivers no signal within a block, so a section is never interrupted as long as the program
 * has one thread. Not valid for any other use.
 */
#include <stddef.h>
#include <stdint.h>

/* The kernel's layout of the area. */
struct area {
	uint32_t cpu_id_start;
	uint32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t remainder[4];
} __attribute__((aligned(32)));

static __thread struct area area __attribute__((tls_model("initial-exec")));

/* Replace the symbols of the C library, which stay 0 where it could not register the area. */
__attribute__((visibility("default"))) ptrdiff_t __rseq_offset;
__attribute__((visibility("default"))) unsigned int __rseq_size = sizeof(struct area);

__attribute__((constructor(101))) static void begin(void)
{
	__rseq_offset = (ptrdiff_t)((char *)&area - (char *)__builtin_thread_pointer());
	area.cpu_id = 0;
}
