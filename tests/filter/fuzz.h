/* SPDX-License-Identifier: MIT */
/* Checks for fuzzing: no input causes a crash, and the parts do not contradict each other. */
#ifndef TESTS_FILTER_FUZZ_H
#define TESTS_FILTER_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "sample.h"

/* Makes the sample's arguments, which live for ever. */
void fuzz_start(void);

/* Tries a text with a NUL at its end; returns whether it was accepted. */
int fuzz_text(const char *text);
/* Tries bytes as a program; returns whether they were one. */
int fuzz_program(const void *bytes, size_t size);
/* Tries a filter text, and changes of the arguments before it runs, encoded as bytes. */
void fuzz_arguments(const char *text, const uint8_t *how, size_t size);

/* Initial expressions, up to NULL. */
extern const char *const fuzz_seeds[];

#endif /* TESTS_FILTER_FUZZ_H */
