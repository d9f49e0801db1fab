/* SPDX-License-Identifier: MIT */
/* The same program as C++. */
#include "program.c"
