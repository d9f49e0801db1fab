/* SPDX-License-Identifier: MIT */
/* The words for kinds of errors in the answers of the daemon. */
#ifndef SIDE_SESSIONS_ERROR_H
#define SIDE_SESSIONS_ERROR_H

#include "base/error.h"

/* The kinds of an answer: "done", "failed", "usage", "permission", "not-found", "busy". */
#define CONTROL_NR_KINDS ((int)ERROR_BUSY + 1)

/* Returns "failed" for a kind that no answer has. */
const char *control_kind_name(enum error_kind kind);
/* Returns ERROR_FAILED for an unknown word. */
enum error_kind control_kind_of(const char *word);

#endif
