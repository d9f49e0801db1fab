/* SPDX-License-Identifier: MIT */
#ifndef CTF_TSDL_PRINT_H
#define CTF_TSDL_PRINT_H

#include "ctf/ctf.h"

/* With quotes; UTF-8 passes, control characters are escaped. */
void ctf_tsdl_print_string(const char *text, FILE *out);

#endif /* CTF_TSDL_PRINT_H */
