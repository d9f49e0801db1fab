/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_GATES_H
#define SIDE_PROBE_PATCH_GATES_H

/* Sizes of the code of returns; for assembly, too. */

#define RETURNS_MAX 1048576    /* open calls whose returns can be watched */
#define RETURN_BYTES 16        /* of the code for each, its gate */
#define COMMON_BYTES 256       /* what all gates lead to, aligned so, */
#define RETURNS_HEAD_BYTES 512 /* and padding up to the first gate, */
#define GATES_PAGE 4096        /* which begins a page */

#define GATES_BYTES (GATES_PAGE + RETURNS_MAX * RETURN_BYTES)
#define GATES_RULES_BYTES 132 /* of the unwind data for them, at most */

#endif /* SIDE_PROBE_PATCH_GATES_H */
