/* SPDX-License-Identifier: MIT */
/* Prints strings of TSDL. */
#ifndef SIDE_CTF_WRITE_TSDL_PRINT_H
#define SIDE_CTF_WRITE_TSDL_PRINT_H

#include "ctf/ctf.h"

/* Print with quotes; UTF-8 is copied, control characters are escaped. */
void ctf_tsdl_print_string(const char *text, FILE *out);

#endif /* SIDE_CTF_WRITE_TSDL_PRINT_H */
