/* SPDX-License-Identifier: MIT */
/* Prints JSON of CTF 2 metadata. */
#ifndef SIDE_CTF_WRITE_CTF2_PRINT_H
#define SIDE_CTF_WRITE_CTF2_PRINT_H

#include "ctf/tsdl.h"

/* The namespace of side's attributes: {"side": {"event": the description's JSON}} of an event
   record class. */
#define CTF2_NAMESPACE "side"

/* Print with quotes; bytes that are not UTF-8 become U+0080 to U+00FF. */
void ctf2_print_string(const char *text, FILE *out);

/*
 * Print the field class of a scope. 0 or -ENOMEM; -EINVAL if CTF 2 cannot express it: a length or a
 * tag is not found.
 */
int ctf2_print_scope(const struct ctf_type *type, enum ctf_scope scope, FILE *out);

#endif /* SIDE_CTF_WRITE_CTF2_PRINT_H */
