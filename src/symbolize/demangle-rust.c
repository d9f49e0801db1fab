/* SPDX-License-Identifier: MIT */
/*
 * Demangles Rust's scheme v0 (RFC 2603).
 *
 * It is a prefix notation of paths and types, in which a repeated part is a reference to the offset
 * of its first occurrence. So a short symbol may expand to a very long name: longer or deeper names
 * than the limits are not demangled. The result is what the compiler prints, without the numbers
 * that distinguish crates.
 */
#include "demangle.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 200
#define NAME_BYTES_MAX 16384
#define STEPS_MAX 100000

struct rust_demangler {
	const char *text; /* behind _R */
	size_t at, size;
	char *out;
	size_t used;
	unsigned int depth, steps;
	uint64_t lifetimes; /* number of bound lifetimes */
	bool bad, silent;
};

/* ---- output ---- */

static void rust_demangle_write_bytes(
		struct rust_demangler *reading, const char *bytes, size_t size)
{
	if (reading->silent || reading->bad)
		return;
	if (size > NAME_BYTES_MAX - reading->used) {
		reading->bad = true;
		return;
	}
	memcpy(reading->out + reading->used, bytes, size);
	reading->used += size;
}

static void rust_demangle_write_text(struct rust_demangler *reading, const char *text)
{
	rust_demangle_write_bytes(reading, text, strlen(text));
}

static void write_number(struct rust_demangler *reading, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	rust_demangle_write_text(reading, text);
}

/* ---- input ---- */

static char rust_demangle_peek(const struct rust_demangler *reading)
{
	return !reading->bad && reading->at < reading->size ? reading->text[reading->at] : '\0';
}

static char rust_demangle_next_char(struct rust_demangler *reading)
{
	char c = rust_demangle_peek(reading);

	if (!c)
		reading->bad = true;
	else
		reading->at++;
	return c;
}

static bool rust_demangle_accept(struct rust_demangler *reading, char c)
{
	if (rust_demangle_peek(reading) != c)
		return false;
	reading->at++;
	return true;
}

static uint64_t read_decimal(struct rust_demangler *reading)
{
	uint64_t number = 0;

	if (rust_demangle_accept(reading, '0'))
		return 0;
	if (rust_demangle_peek(reading) < '1' || rust_demangle_peek(reading) > '9')
		reading->bad = true;
	while (rust_demangle_peek(reading) >= '0' && rust_demangle_peek(reading) <= '9') {
		number = number * 10 + (uint64_t)(rust_demangle_next_char(reading) - '0');
		if (number > NAME_BYTES_MAX)
			reading->bad = true;
	}
	return number;
}

/* "_" is 0, "0_" is 1, and so on, in base 62. */
static uint64_t read_base_62(struct rust_demangler *reading)
{
	uint64_t number = 0;

	if (rust_demangle_accept(reading, '_'))
		return 0;
	while (!reading->bad && !rust_demangle_accept(reading, '_')) {
		char c = rust_demangle_next_char(reading);
		unsigned int digit = c >= '0' && c <= '9' ? (unsigned int)(c - '0')
				: c >= 'a' && c <= 'z'    ? (unsigned int)(c - 'a') + 10
				: c >= 'A' && c <= 'Z'    ? (unsigned int)(c - 'A') + 36
							  : 62;

		if (digit == 62 || number > (UINT64_MAX - digit) / 62 - 1)
			reading->bad = true;
		else
			number = number * 62 + digit;
	}
	return number + 1;
}

static uint64_t rust_demangle_read_optional(struct rust_demangler *reading, char tag)
{
	return rust_demangle_accept(reading, tag) ? read_base_62(reading) + 1 : 0;
}

struct identifier {
	uint64_t disambiguator;
	const char *bytes;
	size_t size;
	bool punycode;
};

static struct identifier read_plain_identifier(struct rust_demangler *reading)
{
	struct identifier identifier = {.punycode = rust_demangle_accept(reading, 'u')};

	identifier.size = (size_t)read_decimal(reading);
	rust_demangle_accept(reading, '_');
	if (reading->bad || identifier.size > reading->size - reading->at) {
		reading->bad = true;
		identifier.size = 0;
	}
	identifier.bytes = reading->text + reading->at;
	reading->at += identifier.size;
	return identifier;
}

static struct identifier read_identifier(struct rust_demangler *reading)
{
	uint64_t disambiguator = rust_demangle_read_optional(reading, 's');
	struct identifier identifier = read_plain_identifier(reading);

	identifier.disambiguator = disambiguator;
	return identifier;
}

/* Letters beyond ASCII stay encoded (punycode). */
static void write_identifier(struct rust_demangler *reading, const struct identifier *identifier)
{
	if (identifier->punycode)
		rust_demangle_write_text(reading, "punycode{");
	rust_demangle_write_bytes(reading, identifier->bytes, identifier->size);
	if (identifier->punycode)
		rust_demangle_write_text(reading, "}");
}

static bool rust_demangle_enter(struct rust_demangler *reading)
{
	if (reading->depth >= DEPTH_MAX || reading->steps++ >= STEPS_MAX)
		reading->bad = true;
	reading->depth++;
	return !reading->bad;
}

static void rust_demangle_leave(struct rust_demangler *reading)
{
	reading->depth--;
}

/* Continue at the target of a reference. False: the target is not before it. `*ret_back` is where
   to continue afterwards. */
static bool rust_demangle_follow_backref(
		struct rust_demangler *reading, size_t tag, size_t *ret_back)
{
	uint64_t to = read_base_62(reading);

	*ret_back = reading->at;
	if (reading->bad || to >= tag) {
		reading->bad = true;
		return false;
	}
	reading->at = (size_t)to;
	return true;
}

/* ---- the grammar ---- */

static void read_type(struct rust_demangler *reading);
static void rust_demangle_read_constant(struct rust_demangler *reading);
static bool read_path(struct rust_demangler *reading, bool value, bool open);

/* The innermost bound lifetime is number 1; 0 is an erased one. */
static void write_lifetime(struct rust_demangler *reading, uint64_t number)
{
	uint64_t depth = reading->lifetimes - number;
	char letter[2] = {(char)('a' + depth), '\0'};

	rust_demangle_write_text(reading, "'");
	if (!number) {
		rust_demangle_write_text(reading, "_");
	} else if (number > reading->lifetimes) {
		reading->bad = true;
	} else if (depth < 26) {
		rust_demangle_write_text(reading, letter);
	} else {
		rust_demangle_write_text(reading, "_");
		write_number(reading, depth);
	}
}

static uint64_t read_binder(struct rust_demangler *reading)
{
	uint64_t count = rust_demangle_read_optional(reading, 'G');

	if (!count)
		return 0;
	if (count > 100) {
		reading->bad = true;
		return 0;
	}
	rust_demangle_write_text(reading, "for<");
	for (uint64_t i = 0; i < count; i++) {
		if (i)
			rust_demangle_write_text(reading, ", ");
		reading->lifetimes++;
		write_lifetime(reading, 1);
	}
	rust_demangle_write_text(reading, "> ");
	return count;
}

static void read_argument(struct rust_demangler *reading)
{
	if (rust_demangle_accept(reading, 'L'))
		write_lifetime(reading, read_base_62(reading));
	else if (rust_demangle_accept(reading, 'K'))
		rust_demangle_read_constant(reading);
	else
		read_type(reading);
}

/* Read elements up to an E. Returns their number. */
static unsigned int rust_demangle_read_list(
		struct rust_demangler *reading, void (*each)(struct rust_demangler *reading))
{
	unsigned int count = 0;

	while (!reading->bad && !rust_demangle_accept(reading, 'E')) {
		if (count++)
			rust_demangle_write_text(reading, ", ");
		each(reading);
	}
	return count;
}

static void read_namespace(struct rust_demangler *reading, bool value)
{
	char namespace = rust_demangle_next_char(reading);
	struct identifier identifier;

	read_path(reading, value, false);
	identifier = read_identifier(reading);
	if (namespace >= 'A' && namespace <= 'Z') {
		rust_demangle_write_text(reading, "::{");
		if (namespace == 'C')
			rust_demangle_write_text(reading, "closure");
		else if (namespace == 'S')
			rust_demangle_write_text(reading, "shim");
		else
			rust_demangle_write_bytes(reading, &namespace, 1);
		if (identifier.size) {
			rust_demangle_write_text(reading, ":");
			write_identifier(reading, &identifier);
		}
		rust_demangle_write_text(reading, "#");
		write_number(reading, identifier.disambiguator);
		rust_demangle_write_text(reading, "}");
	} else if (namespace >= 'a' && namespace <= 'z') {
		if (identifier.size) {
			rust_demangle_write_text(reading, "::");
			write_identifier(reading, &identifier);
		}
	} else {
		reading->bad = true;
	}
}

/* Skip the path of the module that contains an implementation: it is not part of the name. */
static void pass_implementation(struct rust_demangler *reading)
{
	bool silent = reading->silent;

	rust_demangle_read_optional(reading, 's');
	reading->silent = true;
	read_path(reading, false, false);
	reading->silent = silent;
}

static void read_implementation(struct rust_demangler *reading, char tag)
{
	if (tag != 'Y')
		pass_implementation(reading);
	rust_demangle_write_text(reading, "<");
	read_type(reading);
	if (tag != 'M') {
		rust_demangle_write_text(reading, " as ");
		read_path(reading, false, false);
	}
	rust_demangle_write_text(reading, ">");
}

/* `open`: arguments may follow, so the list of arguments is not closed. Returns whether it was left
   open. */
static bool read_path(struct rust_demangler *reading, bool value, bool open)
{
	size_t tag_at = reading->at, back;
	bool left_open = false;
	struct identifier identifier;
	char tag = rust_demangle_next_char(reading);

	if (!rust_demangle_enter(reading))
		return false;
	switch (tag) {
	case 'C':
		identifier = read_identifier(reading);
		write_identifier(reading, &identifier);
		break;
	case 'N': read_namespace(reading, value); break;
	case 'M':
	case 'X':
	case 'Y': read_implementation(reading, tag); break;
	case 'I':
		read_path(reading, value, false);
		rust_demangle_write_text(reading, value ? "::<" : "<");
		rust_demangle_read_list(reading, read_argument);
		left_open = open;
		if (!open)
			rust_demangle_write_text(reading, ">");
		break;
	case 'B':
		if (rust_demangle_follow_backref(reading, tag_at, &back)) {
			left_open = read_path(reading, value, open);
			reading->at = back;
		}
		break;
	default: reading->bad = true;
	}
	rust_demangle_leave(reading);
	return left_open;
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {"i8", "bool", "char", "f64", "str", "f32", NULL, "u8",
			"isize", "usize", NULL, "i32", "u32", "i128", "u128", "_", NULL, NULL,
			"i16", "u16", "()", "...", NULL, "i64", "u64", "!"};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void read_convention(struct rust_demangler *reading)
{
	struct identifier identifier;

	rust_demangle_write_text(reading, "extern \"");
	if (rust_demangle_accept(reading, 'C')) {
		rust_demangle_write_text(reading, "C");
	} else {
		identifier = read_plain_identifier(reading);
		for (size_t i = 0; i < identifier.size; i++)
			rust_demangle_write_bytes(reading,
					identifier.bytes[i] == '_' ? "-" : identifier.bytes + i, 1);
	}
	rust_demangle_write_text(reading, "\" ");
}

static void rust_demangle_read_function(struct rust_demangler *reading)
{
	uint64_t bound = read_binder(reading);

	if (rust_demangle_accept(reading, 'U'))
		rust_demangle_write_text(reading, "unsafe ");
	if (rust_demangle_accept(reading, 'K'))
		read_convention(reading);
	rust_demangle_write_text(reading, "fn(");
	rust_demangle_read_list(reading, read_type);
	rust_demangle_write_text(reading, ")");
	if (!rust_demangle_accept(reading, 'u')) {
		rust_demangle_write_text(reading, " -> ");
		read_type(reading);
	}
	reading->lifetimes -= bound;
}

/* A trait with its associated types: Iterator<Item = u8>. */
static void read_trait(struct rust_demangler *reading)
{
	bool open = read_path(reading, false, true);

	while (rust_demangle_accept(reading, 'p')) {
		struct identifier identifier;

		rust_demangle_write_text(reading, open ? ", " : "<");
		open = true;
		identifier = read_plain_identifier(reading);
		write_identifier(reading, &identifier);
		rust_demangle_write_text(reading, " = ");
		read_type(reading);
	}
	if (open)
		rust_demangle_write_text(reading, ">");
}

static void rust_demangle_read_dynamic(struct rust_demangler *reading)
{
	unsigned int count = 0;
	uint64_t bound, lifetime;

	rust_demangle_write_text(reading, "dyn ");
	bound = read_binder(reading);
	while (!reading->bad && !rust_demangle_accept(reading, 'E')) {
		if (count++)
			rust_demangle_write_text(reading, " + ");
		read_trait(reading);
	}
	reading->lifetimes -= bound;
	if (!rust_demangle_accept(reading, 'L')) {
		reading->bad = true;
		return;
	}
	lifetime = read_base_62(reading);
	if (lifetime) {
		rust_demangle_write_text(reading, " + ");
		write_lifetime(reading, lifetime);
	}
}

static void read_reference(struct rust_demangler *reading, bool mutable)
{
	rust_demangle_write_text(reading, "&");
	if (rust_demangle_accept(reading, 'L')) {
		uint64_t lifetime = read_base_62(reading);

		if (lifetime) {
			write_lifetime(reading, lifetime);
			rust_demangle_write_text(reading, " ");
		}
	}
	if (mutable)
		rust_demangle_write_text(reading, "mut ");
	read_type(reading);
}

static void rust_demangle_read_array(struct rust_demangler *reading, bool sized)
{
	rust_demangle_write_text(reading, "[");
	read_type(reading);
	if (sized) {
		rust_demangle_write_text(reading, "; ");
		rust_demangle_read_constant(reading);
	}
	rust_demangle_write_text(reading, "]");
}

static void read_tuple(struct rust_demangler *reading)
{
	rust_demangle_write_text(reading, "(");
	if (rust_demangle_read_list(reading, read_type) == 1)
		rust_demangle_write_text(reading, ",");
	rust_demangle_write_text(reading, ")");
}

static void read_type(struct rust_demangler *reading)
{
	size_t tag_at = reading->at, back;
	const char *basic = basic_type(rust_demangle_peek(reading));
	char tag = rust_demangle_next_char(reading);

	if (basic) {
		rust_demangle_write_text(reading, basic);
		return;
	}
	if (!rust_demangle_enter(reading))
		return;
	switch (tag) {
	case 'R': read_reference(reading, false); break;
	case 'Q': read_reference(reading, true); break;
	case 'P':
		rust_demangle_write_text(reading, "*const ");
		read_type(reading);
		break;
	case 'O':
		rust_demangle_write_text(reading, "*mut ");
		read_type(reading);
		break;
	case 'A': rust_demangle_read_array(reading, true); break;
	case 'S': rust_demangle_read_array(reading, false); break;
	case 'T': read_tuple(reading); break;
	case 'F': rust_demangle_read_function(reading); break;
	case 'D': rust_demangle_read_dynamic(reading); break;
	case 'B':
		if (rust_demangle_follow_backref(reading, tag_at, &back)) {
			read_type(reading);
			reading->at = back;
		}
		break;
	default: reading->at = tag_at; read_path(reading, false, false);
	}
	rust_demangle_leave(reading);
}

/* Write a number of up to 64 bits in decimal; larger ones stay hexadecimal. */
static void read_digits(struct rust_demangler *reading, char type)
{
	size_t begin = reading->at, size;
	uint64_t value = 0;
	char letter;

	while ((rust_demangle_peek(reading) >= '0' && rust_demangle_peek(reading) <= '9') ||
			(rust_demangle_peek(reading) >= 'a' &&
					rust_demangle_peek(reading) <= 'f')) {
		char c = rust_demangle_next_char(reading);

		value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	size = reading->at - begin;
	if (!rust_demangle_accept(reading, '_')) {
		reading->bad = true;
	} else if (type == 'b') {
		rust_demangle_write_text(reading, value ? "true" : "false");
	} else if (type == 'c' && value >= ' ' && value < 127) {
		letter = (char)value;
		rust_demangle_write_text(reading, "'");
		rust_demangle_write_bytes(reading, &letter, 1);
		rust_demangle_write_text(reading, "'");
	} else if (size > 16 || type == 'c') {
		rust_demangle_write_text(reading, "0x");
		rust_demangle_write_bytes(reading, reading->text + begin, size);
	} else {
		write_number(reading, value);
	}
}

static void rust_demangle_read_constant(struct rust_demangler *reading)
{
	size_t tag_at = reading->at, back;
	char type = rust_demangle_next_char(reading);

	if (!rust_demangle_enter(reading))
		return;
	if (type == 'p') {
		rust_demangle_write_text(reading, "_");
	} else if (type == 'B') {
		if (rust_demangle_follow_backref(reading, tag_at, &back)) {
			rust_demangle_read_constant(reading);
			reading->at = back;
		}
	} else if (!type || !strchr("bchtmyojaslxni", type)) {
		reading->bad = true;
	} else {
		if (rust_demangle_accept(reading, 'n'))
			rust_demangle_write_text(reading, "-");
		read_digits(reading, type);
	}
	rust_demangle_leave(reading);
}

/* A suffix of linkers and optimisers, such as ".llvm.1234", is copied. */
static void read_suffix(struct rust_demangler *reading)
{
	if (rust_demangle_peek(reading) && rust_demangle_peek(reading) != '.' &&
			rust_demangle_peek(reading) != '$') {
		bool silent = reading->silent;

		/* The crate that instantiated this copy. */
		reading->silent = true;
		read_path(reading, false, false);
		reading->silent = silent;
	}
	if (rust_demangle_peek(reading) && rust_demangle_peek(reading) != '.' &&
			rust_demangle_peek(reading) != '$')
		reading->bad = true;
}

char *names_rust(const char *symbol)
{
	struct rust_demangler reading = {.text = symbol + 2};
	char *name;

	if (strncmp(symbol, "_R", 2) != 0 || symbol[2] < 'A' || symbol[2] > 'Z')
		return NULL;
	reading.size = strnlen(reading.text, NAME_BYTES_MAX);
	reading.out = malloc(NAME_BYTES_MAX);
	if (!reading.out)
		return NULL;
	read_path(&reading, true, false);
	read_suffix(&reading);
	name = reading.bad ? NULL : strndup(reading.out, reading.used);
	free(reading.out);
	return name;
}
