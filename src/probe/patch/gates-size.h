/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROBE_PATCH_GATES_SIZE_H
#define SIDE_PROBE_PATCH_GATES_SIZE_H

/* Sizes of the code of watched returns, for C and assembly. */

#define RETURNS_MAX 1048576    /* open calls whose returns can be watched */
#define RETURN_BYTES 16        /* of the code for each call, its gate */
#define COMMON_BYTES 256       /* code to which all gates lead, aligned to its size, */
#define RETURNS_HEAD_BYTES 512 /* with padding up to the first gate, */
#define GATES_PAGE 4096        /* which is at the begin of a page */

#define GATES_BYTES (GATES_PAGE + RETURNS_MAX * RETURN_BYTES)
#define GATES_RULES_BYTES 132 /* of the unwind data of all gates, at most */

#endif /* SIDE_PROBE_PATCH_GATES_SIZE_H */
