/* SPDX-License-Identifier: MIT */
/* Functions of the wrappers of libc's allocator that the wrappers of operators use. */
#ifndef SIDE_TRACERS_WRAP_MEMORY_H
#define SIDE_TRACERS_WRAP_MEMORY_H

#include <stddef.h>

#define WRAP_HIDDEN __attribute__((visibility("hidden")))

/* The result of this thread's last call of a wrapper that returns a block. */
extern __thread const void *wrap_memory_last __attribute__((tls_model("initial-exec"))) WRAP_HIDDEN;

/* Emit an event, as malloc(), aligned_alloc() and free() do. */
void wrap_memory_note_malloc(size_t size, const void *result, void *wrap_caller) WRAP_HIDDEN;
void wrap_memory_note_aligned(
		size_t alignment, size_t size, const void *result, void *wrap_caller) WRAP_HIDDEN;
void wrap_memory_note_free(const void *ptr, void *wrap_caller) WRAP_HIDDEN;

/* Emits events for C++'s operators if the library of `next_malloc` has them. Call it once. */
void wrap_operators_start(void *next_malloc) WRAP_HIDDEN;

#endif
