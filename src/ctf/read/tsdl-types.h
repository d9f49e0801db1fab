/* SPDX-License-Identifier: MIT */
/* Functions that the files of the parser for types share. */
#ifndef SIDE_CTF_READ_TSDL_TYPES_H
#define SIDE_CTF_READ_TSDL_TYPES_H

#include "ctf/tsdl.h"

#define TSDL_NAME_MAX 1024

/* Names: "struct x", "enum x", "variant x", or an alias as written. */
void tsdl_define_name(struct tsdl_parser *p, const char *name, struct ctf_type *type);
bool tsdl_knows_name(struct tsdl_parser *p, const char *name);
struct ctf_type *tsdl_use_name(struct tsdl_parser *p, const char *prefix, const char *name);
struct ctf_type *tsdl_copy_type(struct tsdl_parser *p, const struct ctf_type *type);

/* Copy the current word, which must be shorter than TSDL_NAME_MAX. */
bool tsdl_word(struct tsdl_parser *p, char *word);
uint32_t tsdl_align(struct tsdl_parser *p, uint64_t align);

/* Each parses a type behind its keyword. */
struct ctf_type *tsdl_integer(struct tsdl_parser *p);
struct ctf_type *tsdl_float(struct tsdl_parser *p);
struct ctf_type *tsdl_string(struct tsdl_parser *p);
struct ctf_type *tsdl_enum(struct tsdl_parser *p);

#endif /* SIDE_CTF_READ_TSDL_TYPES_H */
