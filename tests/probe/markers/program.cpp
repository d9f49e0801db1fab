/* SPDX-License-Identifier: MIT */
/* The same as C++. */
#include "program.c"
