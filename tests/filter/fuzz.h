/* SPDX-License-Identifier: MIT */
/* What fuzzing looks at: whatever comes in, nothing crashes, and parts do not contradict each other. */
#ifndef TESTS_FILTER_FUZZ_H
#define TESTS_FILTER_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "sample.h"

/* The sample's arguments, alive for ever. */
void fuzz_start(void);

/* A text, with a NUL behind; returns whether it was accepted. */
int fuzz_text(const char *text);
/* Bytes that may be a program; returns whether they were. */
int fuzz_program(const void *bytes, size_t size);
/* A filter text and what to do to the arguments before it runs, a byte after the other. */
void fuzz_arguments(const char *text, const uint8_t *how, size_t size);

/* Expressions to begin with, up to NULL. */
extern const char *const fuzz_seeds[];

#endif /* TESTS_FILTER_FUZZ_H */
