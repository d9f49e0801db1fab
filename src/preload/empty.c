/* SPDX-License-Identifier: MIT */
/* A library without anything. The recorder loads it to see what its loader makes of $LIB. */
extern const char side_preload_empty;
const char side_preload_empty;
