/* SPDX-License-Identifier: MIT */
/* Prints field classes as TSDL text (CTF 1.8). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "ctf/write/tsdl-print.h"
#include "ctf/type.h"

static void tsdl_print_type(const struct ctf_type *type, FILE *out, unsigned int indent);

static void print_indent(FILE *out, unsigned int indent)
{
	for (unsigned int i = 0; i < indent; i++)
		fputc('\t', out);
}

void ctf_tsdl_print_string(const char *text, FILE *out)
{
	fputc('"', out);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c == '\n')
			fputs("\\n", out);
		else if (*c < 0x20 || *c == 0x7f)
			fprintf(out, "\\%03o",
					/* Three digits, so that a following digit is not a part of
					   it. */
					*c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

static void tsdl_print_integer(const struct ctf_type *type, FILE *out)
{
	bool host = type->big_endian == CTF_HOST_BIG_ENDIAN;
	bool whole = type->size == 8 || type->size == 16 || type->size == 32 || type->size == 64;

	if (type->align == 8 && whole && type->base == 10 && (host || type->size == 8) &&
			!type->text) {
		fprintf(out, "%c%u", type->is_signed ? 's' : 'u', type->size);
		return;
	}
	fprintf(out, "integer { size = %u; align = %u; signed = %s;", type->size, type->align,
			type->is_signed ? "true" : "false");
	if (!host && type->size != 8)
		fprintf(out, " byte_order = %s;", type->big_endian ? "be" : "le");
	if (type->base != 10)
		fprintf(out, " base = %u;", type->base);
	if (type->text)
		fputs(" encoding = UTF8;", out);
	fputs(" }", out);
}

static void print_float(const struct ctf_type *type, FILE *out)
{
	fprintf(out, "floating_point { exp_dig = %d; mant_dig = %d; align = %u;",
			type->size == 32 ? 8 : 11, type->size == 32 ? 24 : 53, type->align);
	if (type->big_endian != CTF_HOST_BIG_ENDIAN)
		fprintf(out, " byte_order = %s;", type->big_endian ? "be" : "le");
	fputs(" }", out);
}

static void print_bound(const struct ctf_type *type, uint64_t bound, FILE *out)
{
	if (type->is_signed)
		fprintf(out, "%" PRId64, (int64_t)bound);
	else
		fprintf(out, "%" PRIu64, bound);
}

static void print_enum(const struct ctf_type *type, FILE *out)
{
	fputs("enum : ", out);
	tsdl_print_integer(type, out);
	fputs(" {", out);
	for (uint32_t i = 0; i < type->label_count; i++) {
		const struct ctf_label *label = &type->labels[i];

		fputc(' ', out);
		ctf_tsdl_print_string(label->text, out);
		fputs(" = ", out);
		print_bound(type, label->begin, out);
		if (label->end != label->begin) {
			fputs(" ... ", out);
			print_bound(type, label->end, out);
		}
		if (i + 1 < type->label_count)
			fputc(',', out);
	}
	fputs(" }", out);
}

/* The dimensions of arrays follow the name, the outermost first. */
static void print_member(const struct ctf_member *member, FILE *out, unsigned int indent)
{
	const struct ctf_type *base = member->type;

	while (base->kind == CTF_ARRAY || base->kind == CTF_SEQUENCE)
		base = base->element;
	print_indent(out, indent);
	tsdl_print_type(base, out, indent);
	fprintf(out, " %s", member->name);
	for (const struct ctf_type *type = member->type; type != base; type = type->element) {
		if (type->kind == CTF_ARRAY)
			fprintf(out, "[%" PRIu64 "]", type->length);
		else
			fprintf(out, "[%s]", type->reference);
	}
	fputs(";\n", out);
}

static void tsdl_print_members(const struct ctf_type *type, FILE *out, unsigned int indent)
{
	if (!type->member_count) {
		fputs("{ }", out);
		return;
	}
	fputs("{\n", out);
	for (uint32_t i = 0; i < type->member_count; i++)
		print_member(&type->members[i], out, indent + 1);
	print_indent(out, indent);
	fputc('}', out);
}

static void tsdl_print_type(const struct ctf_type *type, FILE *out, unsigned int indent)
{
	switch (type->kind) {
	case CTF_INTEGER: tsdl_print_integer(type, out); break;
	case CTF_FLOAT: print_float(type, out); break;
	case CTF_ENUM: print_enum(type, out); break;
	case CTF_STRING: fputs("string", out); break;
	case CTF_STRUCT:
		fputs("struct ", out);
		tsdl_print_members(type, out, indent);
		break;
	case CTF_VARIANT:
		fprintf(out, "variant <%s> ", type->reference);
		tsdl_print_members(type, out, indent);
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE: break; /* Their dimensions follow the name: print_member(). */
	}
}

int ctf_type_print_tsdl(const struct ctf_type *type, FILE *out)
{
	tsdl_print_type(type, out, 1);
	return ferror(out) ? -ENOMEM : 0;
}
