/* SPDX-License-Identifier: MIT */
/*
 * Parses the text of a location, and finds the functions that the name in it selects.
 *
 * The text is ADDR, SYMBOL, SYMBOL+OFFSET or FILE:LINE, with LIB: before it if it is not in the
 * program itself. Names of C++ and Rust also contain colons, but always two together. Types in them
 * can contain operators and glob characters, so nothing after a parenthesis is parsed.
 *
 * The first pass over the functions compares the symbol itself. The second pass selects copies that
 * the compiler made of the function (foo.isra.0), because a call of a copy is a call of the
 * function. If neither finds a function, the name is compared with names of C++, Rust or Fortran:
 * the whole name, without parameters, or without the return type; at last the end of the name. A
 * call of a piece is not a call of the function. The seldom-used part (foo.cold) is never probed.
 * Other pieces (foo.part.0) are probed only by their own symbol or by a pattern that matches it.
 *
 * PLT entries are searched only for plt:NAME and NAME@plt.
 */
#include "spec.h"

#include "parts.h"
#include "spelling.h"
#include "symbolize/demangle.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define FORMER_MAX 16

/* ---- parse ---- */

static int spec_parse_digit(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	if (letter >= 'a' && letter <= 'f')
		return letter - 'a' + 10;
	if (letter >= 'A' && letter <= 'F')
		return letter - 'A' + 10;
	return 16;
}

bool spec_number(const char *text, size_t length, uint64_t *ret_number)
{
	int base = 10;

	*ret_number = 0;
	if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
		length -= 2;
	} else if (length > 1 && text[0] == '0') {
		base = 8;
	}
	for (size_t i = 0; i < length; i++) {
		int value = spec_parse_digit(text[i]);

		if (value >= base ||
				__builtin_mul_overflow(*ret_number, (uint64_t)base, ret_number) ||
				__builtin_add_overflow(*ret_number, (uint64_t)value, ret_number))
			return false;
	}
	return length > 0;
}

/* Returns the length of the name before any types. */
static size_t spec_plain_length(const char *text)
{
	return strcspn(text, "(<");
}

/* Returns the first single colon, or NULL. */
static const char *spec_find_colon(const char *text)
{
	size_t length = spec_plain_length(text);

	for (size_t i = 0; i < length; i++) {
		if (text[i] != ':')
			continue;
		if (text[i + 1] != ':')
			return text + i;
		i++;
	}
	return NULL;
}

static bool spec_is_glob(const char *name)
{
	size_t length = spec_plain_length(name);
	const char *word = strstr(name, "operator");

	if (word && (size_t)(word - name) < length)
		length = (size_t)(word - name);
	return strcspn(name, "*?[") < length;
}

static bool spec_is_source(const char *name, size_t length)
{
	static const char *const ends[] = {".c", ".cc", ".cpp", ".cxx", ".C", ".c++", ".h", ".hh",
			".hpp", ".hxx", ".inc", ".rs", ".go", ".d", ".f", ".f90", ".s", ".S", ".m",
			".zig", ".y", ".l", ".tcc", ".ipp"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t size = strlen(ends[i]);

		if (length > size && !strncmp(name + length - size, ends[i], size))
			return true;
	}
	return false;
}

static int spec_store_text(char **ret_text, const char *text, size_t length, struct error *error)
{
	*ret_text = strndup(text, length);
	return *ret_text ? 0 : error_set_no_memory(error);
}

static int spec_parse_line(const char *text, const char *colon, struct parsed_spec *ret_spec,
		struct error *error)
{
	const char *number = colon + 1;

	ret_spec->kind = SPEC_LINE;
	if (!spec_number(number, strlen(number), &ret_spec->number) || !ret_spec->number ||
			ret_spec->number > INT32_MAX)
		return error_set(error, -EINVAL,
				"write FILE:LINE, as in `server.c:120`, or only the name of a function, which selects all functions of that name",
				"`%.128s` is not the number of a line", number);
	return spec_store_text(&ret_spec->name, text, (size_t)(colon - text), error);
}

static int spec_parse_symbol(const char *text, struct parsed_spec *ret_spec, struct error *error)
{
	const char *plus = strrchr(text, '+');
	size_t length = strlen(text);

	ret_spec->kind = SPEC_SYMBOL;
	if (plus && plus > text && plus[1] >= '0' && plus[1] <= '9') {
		if (!spec_number(plus + 1, strlen(plus + 1), &ret_spec->number))
			return error_set(error, -EINVAL,
					"offsets are octal (017), decimal or hexadecimal (0xf)",
					"`%.128s` is not an offset", plus + 1);
		length = (size_t)(plus - text);
	}
	if (spec_store_text(&ret_spec->name, text, length, error))
		return -ENOMEM;
	ret_spec->glob = spec_is_glob(ret_spec->name) || !strcmp(ret_spec->name, SPEC_IMPORTS);
	if (!ret_spec->library && !strcmp(ret_spec->name, SPEC_IMPORTS))
		return error_set(error, -EINVAL, "write LIBRARY:" SPEC_IMPORTS,
				"missing name of a library before `" SPEC_IMPORTS "`");
	if (ret_spec->glob && ret_spec->number)
		return error_set(error, -EINVAL, "name one function",
				"`%.128s` can match many functions, and an offset needs one", text);
	return 0;
}

/* Not `plt::name`, which is a name in a namespace. */
static bool spec_begins_with_plt(const char *text)
{
	size_t length = strlen(SPEC_PLT);

	return !strncmp(text, SPEC_PLT, length) && text[length] != ':';
}

static bool spec_ends_with_plt(const char *text)
{
	size_t length = strlen(text), end = strlen(CODE_PLT_SUFFIX);

	return length >= end && !strcmp(text + length - end, CODE_PLT_SUFFIX);
}

/* Parses NAME after `plt:`, or NAME@plt. */
static int spec_parse_plt(const char *text, struct parsed_spec *ret_spec, struct error *error)
{
	size_t length = strlen(text);

	ret_spec->plt = true;
	if (spec_ends_with_plt(text))
		length -= strlen(CODE_PLT_SUFFIX);
	if (!length)
		return error_set(error, -EINVAL, "write plt:NAME or NAME" CODE_PLT_SUFFIX,
				"missing name of the function that the PLT entry calls");
	if (spec_store_text(&ret_spec->name, text, length, error))
		return -ENOMEM;
	ret_spec->glob = spec_is_glob(ret_spec->name);
	return 0;
}

/* Parses what follows LIB:, or the whole text. */
static int spec_parse_location(const char *text, struct parsed_spec *ret_spec, struct error *error)
{
	const char *colon;

	if (spec_begins_with_plt(text))
		return spec_parse_plt(text + strlen(SPEC_PLT), ret_spec, error);
	colon = spec_find_colon(text);
	if (!colon && spec_ends_with_plt(text))
		return spec_parse_plt(text, ret_spec, error);
	if (colon && spec_is_source(text, (size_t)(colon - text)))
		return spec_parse_line(text, colon, ret_spec, error);
	if (*text >= '0' && *text <= '9') {
		ret_spec->kind = SPEC_ADDRESS;
		if (spec_number(text, strlen(text), &ret_spec->number))
			return 0;
		return error_set(error, -EINVAL,
				"numbers are octal (017), decimal or hexadecimal (0xf)",
				"`%.128s` is not an address", text);
	}
	if (colon || !*text)
		return error_set(error, -EINVAL,
				"write ADDRESS, SYMBOL, SYMBOL+OFFSET, FILE:LINE, or LIBRARY: before one of them",
				"`%.128s` is not a location in a program", text);
	return spec_parse_symbol(text, ret_spec, error);
}

int spec_parse(const char *text, struct parsed_spec *ret_spec, struct error *error)
{
	const char *colon;

	*ret_spec = (struct parsed_spec){.kind = SPEC_SYMBOL};
	if (strlen(text) > SPEC_TEXT_MAX)
		return error_set(error, -EINVAL, "",
				"the specification of the location is too long");
	colon = spec_find_colon(text);
	if (!colon || spec_is_source(text, (size_t)(colon - text)) || spec_begins_with_plt(text))
		return spec_parse_location(text, ret_spec, error);
	if (colon == text)
		return error_set(error, -EINVAL, "write LIBRARY:SYMBOL",
				"missing name of a library before `%.128s`", text);
	if (spec_store_text(&ret_spec->library, text, (size_t)(colon - text), error))
		return -ENOMEM;
	return spec_parse_location(colon + 1, ret_spec, error);
}

void spec_free(struct parsed_spec *spec)
{
	free(spec->library);
	free(spec->name);
	*spec = (struct parsed_spec){.kind = SPEC_SYMBOL};
}

/* ---- functions by name ---- */

int locations_add(struct locations *locations, const struct location *location)
{
	/* One address may have several names. */
	for (size_t i = locations->count; i-- > 0 && locations->count - i < 64;) {
		if (locations->items[i].module == location->module &&
				locations->items[i].address == location->address)
			return 0;
	}
	if (locations->count == RESOLVE_LOCATIONS_MAX)
		return -E2BIG;
	if (locations->count == locations->capacity) {
		size_t capacity = locations->capacity ? 2 * locations->capacity : 64;
		void *more = reallocarray(locations->items, capacity, sizeof(*location));

		if (!more)
			return -ENOMEM;
		locations->items = more;
		locations->capacity = capacity;
	}
	locations->items[locations->count++] = *location;
	return 0;
}

/*
 * Linkers and debuggers write NAME@VERSION also for the default version, whose symbol is
 * NAME@@VERSION.
 */
static bool is_version(const char *wanted, const char *name)
{
	const char *at = strchr(wanted, '@');
	size_t length = at ? (size_t)(at - wanted) : 0;

	return length && at[1] != '@' && !strncmp(wanted, name, length) &&
			!strncmp(name + length, "@@", 2) && !strcmp(name + length + 2, at + 1);
}

static bool spec_name_fits_pattern(const char *wanted, bool glob, const char *name)
{
	return glob ? !fnmatch(wanted, name, 0) : !strcmp(wanted, name) || is_version(wanted, name);
}

static bool version_fits(const void *user, const char *name)
{
	const struct parsed_spec *spec = user;

	return spec_name_fits_pattern(spec->name, false, name);
}

/*
 * Without debug symbols a name has no version in it; .dynsym has the version separately. Not for
 * globs, which would search .dynsym once for each name.
 */
static bool matches_version(const struct resolve_module *module, const struct parsed_spec *spec,
		const struct code_function *function, size_t index)
{
	const char *name = code_name(module->code, function, index), *at = strchr(spec->name, '@');
	size_t length = at ? (size_t)(at - spec->name) : 0;

	return at && !spec->glob && !strncmp(spec->name, name, length) && !name[length] &&
			code_name_version(module->code, function, index, version_fits, spec);
}

/* Whether the readable name ends with the name within its namespaces: `Class::method`. */
static bool spec_name_ends_with(const char *name, const char *wanted)
{
	size_t length = strlen(name), end = strlen(wanted);

	return length > end + 2 && !strcmp(name + length - end, wanted) &&
			!strncmp(name + length - end - 2, "::", 2);
}

static bool spec_name_part_matches(
		const struct parsed_spec *spec, const char *wanted, const char *name, bool whole)
{
	return whole ? spec_name_fits_pattern(wanted, spec->glob, name)
		     : spec_name_ends_with(name, wanted);
}

/* Whether the readable name fits. Changes `readable`. */
static bool readable_fits(
		const struct parsed_spec *spec, const char *wanted, char *readable, bool whole)
{
	size_t length, begin, end;

	spelling_normalize(readable);
	if (spec_name_part_matches(spec, wanted, readable, whole))
		return true;
	length = spelling_plain_name(readable, &begin);
	if (spec_name_part_matches(spec, wanted, readable + begin, whole))
		return true;
	/* The `const` of a method may be omitted. */
	end = strlen(readable);
	if (end > 6 && !strcmp(readable + end - 6, ")const")) {
		readable[end - 5] = '\0';
		if (spec_name_part_matches(spec, wanted, readable + begin, whole))
			return true;
	}
	readable[length] = '\0';
	if (spec_name_part_matches(spec, wanted, readable, whole) ||
			spec_name_part_matches(spec, wanted, readable + begin, whole))
		return true;
	/* A template's name without arguments selects all its instances. */
	return !spec->glob && !strchr(wanted, '<') && spelling_drop_arguments(readable + begin) &&
			spec_name_part_matches(spec, wanted, readable + begin, whole);
}

enum match { MATCH_NAME, MATCH_COPY, MATCH_READABLE, MATCH_END };

static bool matches_copy(const struct parsed_spec *spec, const char *name)
{
	char *original = names_without_copy(name);
	bool found = original && spec_name_fits_pattern(spec->name, spec->glob, original);

	free(original);
	return found;
}

static bool matches_readable(const struct parsed_spec *spec, const char *wanted, const char *name,
		enum names_copy copy, bool whole)
{
	/* A demangler marks the name of a copy; users do not write this mark. */
	char *original = copy == NAMES_NO_COPY ? NULL : names_without_copy(name);
	char *readable = names_readable(original ? original : name);
	bool found = readable && readable_fits(spec, wanted, readable, whole);

	free(readable);
	free(original);
	return found;
}

/* Whether the name matches. Sets `*ret_piece` if it matches but is the name of a piece. */
static bool spec_name_matches_symbol(const struct parsed_spec *spec, const char *wanted,
		const char *name, enum match match, bool *ret_piece)
{
	enum names_copy copy;
	size_t length;
	bool found;

	if (names_is_cold(name))
		return false;
	if (spec->imports)
		return module_imports_has(spec->imports, name);
	if (match == MATCH_NAME)
		return spec_name_fits_pattern(spec->name, spec->glob, name);
	copy = names_copy(name, &length);
	if (match == MATCH_COPY)
		found = copy != NAMES_NO_COPY && matches_copy(spec, name);
	else
		found = matches_readable(spec, wanted, name, copy, match == MATCH_READABLE);
	*ret_piece |= found && copy == NAMES_PIECE;
	return found && copy != NAMES_PIECE;
}

/* Drop functions of old symbol versions, unless there are no others. */
static void spec_name_drop_old_versions(struct locations *locations, size_t before,
		const struct code_function *const *former, size_t count)
{
	size_t kept = before;

	if (!count || locations->count - before == count)
		return;
	for (size_t i = before; i < locations->count; i++) {
		bool is = false;

		for (size_t j = 0; j < count && !is; j++)
			is = former[j] == locations->items[i].function;
		if (!is)
			locations->items[kept++] = locations->items[i];
	}
	locations->count = kept;
}

/* One pass over the functions of a module. */
struct spec_name_pass {
	struct resolve_module *module;
	const struct parsed_spec *spec;
	char *wanted; /* the name of `spec`, rewritten by spelling_normalize() */
	enum match match;
	struct locations *locations;
	const struct code_function *former[FORMER_MAX];
	size_t nr_former;
};

/* Returns the first name of the function that matches, or NULL. */
static const char *matching_name(struct spec_name_pass *pass, const struct code_function *function)
{
	const struct parsed_spec *spec = pass->spec;
	const struct code_file *code = pass->module->code;
	const char *found = NULL;

	for (size_t i = 0; i < function->nr_names && !found; i++) {
		const char *name = code_name(code, function, i);
		bool piece = false;

		if (spec_name_matches_symbol(spec, pass->wanted, name, pass->match, &piece) ||
				(pass->match == MATCH_NAME &&
						matches_version(pass->module, spec, function, i)))
			found = name;
		if (piece && !pass->locations->piece.name)
			pass->locations->piece = (struct location){.module = pass->module,
					.function = function,
					.address = function->address,
					.name = name};
		if (found && !spec->glob && code_name_is_former(code, function, i) &&
				pass->nr_former < FORMER_MAX)
			pass->former[pass->nr_former++] = function;
	}
	/* The pattern `*` also selects functions without a name. */
	if (!function->nr_names && pass->match == MATCH_NAME && !strcmp(spec->name, "*"))
		found = "";
	return found;
}

/* Returns a flag for each function of the module that earlier passes found. NULL: out of memory. */
static bool *functions_found_before(const struct spec_name_pass *pass,
		const struct code_function *functions, size_t nr_functions)
{
	bool *found = calloc(nr_functions + 1, sizeof(*found));

	for (size_t i = 0; found && i < pass->locations->count; i++) {
		const struct location *location = &pass->locations->items[i];

		if (location->module == pass->module && location->function)
			found[location->function - functions] = true;
	}
	return found;
}

static int spec_name_run_pass(struct spec_name_pass *pass)
{
	const struct code_function *functions;
	size_t count = code_functions(pass->module->code, &functions);
	bool *found = functions_found_before(pass, functions, count);
	int ret = found ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !ret; i++) {
		struct location location = {.module = pass->module,
				.function = &functions[i],
				.address = functions[i].address,
				.entry = true};

		if (!found[i])
			location.name = matching_name(pass, &functions[i]);
		if (location.name)
			ret = locations_add(pass->locations, &location);
	}
	free(found);
	return ret;
}

static int spec_name_find(struct resolve_module *module, const struct parsed_spec *spec,
		enum match match, struct locations *locations)
{
	struct spec_name_pass pass = {.module = module,
			.spec = spec,
			.wanted = strdup(spec->name),
			.match = match,
			.locations = locations};
	size_t before = locations->count;
	int ret = -ENOMEM;

	if (pass.wanted) {
		spelling_normalize(pass.wanted);
		ret = spec_name_run_pass(&pass);
	}
	free(pass.wanted);
	spec_name_drop_old_versions(locations, before, pass.former, pass.nr_former);
	return ret;
}

int spec_find_functions(struct resolve_module *module, const struct parsed_spec *spec,
		struct locations *locations)
{
	size_t before = locations->count;
	bool all = !strcmp(spec->name, "*");
	int ret = spec_name_find(module, spec, MATCH_NAME, locations);

	if (spec->imports)
		return ret;
	/* With an offset, do not select copies: their code differs. */
	if (!ret && !all && (!spec->number || locations->count == before))
		ret = spec_name_find(module, spec, MATCH_COPY, locations);
	if (!ret && (locations->count == before || spec->glob) && !all)
		ret = spec_name_find(module, spec, MATCH_READABLE, locations);
	if (!ret && locations->count == before && !spec->glob)
		ret = spec_name_find(module, spec, MATCH_END, locations);
	return ret;
}

/* ---- PLT entries by name ---- */

static bool spec_plt_fits(const struct parsed_spec *spec, const char *wanted, const char *name)
{
	char *readable;
	bool fits;

	if (spec_name_fits_pattern(spec->name, spec->glob, name))
		return true;
	readable = names_readable(name);
	fits = readable && readable_fits(spec, wanted, readable, true);
	free(readable);
	return fits;
}

int spec_find_plt(struct resolve_module *module, const struct parsed_spec *spec,
		struct locations *locations)
{
	const struct code_function *entries;
	size_t count = code_plt(module->code, &entries);
	char *wanted = strdup(spec->name);
	int ret = wanted ? 0 : -ENOMEM;

	if (wanted)
		spelling_normalize(wanted);
	for (size_t i = 0; i < count && !ret; i++) {
		const char *name = code_plt_name(module->code, &entries[i]);
		struct location location = {.module = module,
				.function = &entries[i],
				.address = entries[i].address,
				.name = code_name(module->code, &entries[i], 0),
				.entry = true};

		if (spec_plt_fits(spec, wanted, name))
			ret = locations_add(locations, &location);
	}
	free(wanted);
	return ret;
}
