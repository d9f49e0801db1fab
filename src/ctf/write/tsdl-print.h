/* SPDX-License-Identifier: MIT */
#ifndef SIDE_CTF_WRITE_TSDL_PRINT_H
#define SIDE_CTF_WRITE_TSDL_PRINT_H

#include "ctf/ctf.h"

/* With quotes; UTF-8 passes, control characters are escaped. */
void ctf_tsdl_print_string(const char *text, FILE *out);

#endif /* SIDE_CTF_WRITE_TSDL_PRINT_H */
