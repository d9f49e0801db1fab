/* SPDX-License-Identifier: MIT */
/* JSON of CTF 2 metadata, printed. */
#ifndef SIDE_CTF_WRITE_CTF2_PRINT_H
#define SIDE_CTF_WRITE_CTF2_PRINT_H

#include "ctf/tsdl.h"

/* Of our own attributes: {"side": {"event": the description's JSON}} of an event record class. */
#define CTF2_NAMESPACE "side"

/* With quotes; what is no UTF-8 becomes U+0080 to U+00FF. */
void ctf2_print_string(const char *text, FILE *out);

/*
 * The field class of a scope. Returns 0 or -ENOMEM; -EINVAL when CTF 2 cannot say it: a length or
 * a tag is not found.
 */
int ctf2_print_scope(const struct ctf_type *type, enum ctf_scope scope, FILE *out);

#endif /* SIDE_CTF_WRITE_CTF2_PRINT_H */
