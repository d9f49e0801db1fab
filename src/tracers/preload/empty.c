/* SPDX-License-Identifier: MIT */
/* An empty library: the recorder loads it to find out how its loader expands $LIB. */
extern const char side_preload_empty;
const char side_preload_empty;
