/* SPDX-License-Identifier: MIT */
/*
 * Preloaded under valgrind only, which knows no restartable sequences: lets the recorder take its
 * usual path there, so that its instructions can be counted. Valgrind runs one thread at a time and
 * delivers no signal within a block, so a section is whole without the kernel's help, as long as the
 * program has one thread. Never for anything but counting.
 */
#include <stddef.h>
#include <stdint.h>

/* The layout the kernel has for it. */
struct area {
	uint32_t cpu_id_start;
	uint32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t remainder[4];
} __attribute__((aligned(32)));

static __thread struct area area __attribute__((tls_model("initial-exec")));

/* In the place of the C library's, which stay 0 where it could not register. */
__attribute__((visibility("default"))) ptrdiff_t __rseq_offset;
__attribute__((visibility("default"))) unsigned int __rseq_size = sizeof(struct area);

__attribute__((constructor(101))) static void begin(void)
{
	__rseq_offset = (ptrdiff_t)((char *)&area - (char *)__builtin_thread_pointer());
	area.cpu_id = 0;
}
