/* SPDX-License-Identifier: MIT */
/*
 * Functions by name.
 *
 * A name that stands so in the file comes first; then copies that the compiler made of it (foo.isra.0); then what
 * C++, Rust and Fortran call it, whole, without parameters, or without what is returned; at last names of which that is the end. Parts of functions that are
 * seldom used (foo.cold) are never meant: nobody calls them.
 */
#include "parts.h"

#include "names/names.h"
#include "spec.h"
#include "written.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define FORMER_MAX 16

int places_add(struct places *places, const struct place *place)
{
	/* One place may have several names. */
	for (size_t i = places->count; i-- > 0 && places->count - i < 64;) {
		if (places->items[i].module == place->module &&
				places->items[i].address == place->address)
			return 0;
	}
	if (places->count == RESOLVE_PLACES_MAX)
		return -E2BIG;
	if (places->count == places->room) {
		size_t room = places->room ? 2 * places->room : 64;
		void *more = reallocarray(places->items, room, sizeof(*place));

		if (!more)
			return -ENOMEM;
		places->items = more;
		places->room = room;
	}
	places->items[places->count++] = *place;
	return 0;
}

static bool is_cold(const char *name)
{
	const char *dot = strstr(name, ".cold");

	return dot && (!dot[5] || dot[5] == '.');
}

/* NAME@VERSION, as linkers and debuggers say also of the version that programs of today get, which is NAME@@VERSION. */
static bool is_version(const char *wanted, const char *name)
{
	const char *at = strchr(wanted, '@');
	size_t length = at ? (size_t)(at - wanted) : 0;

	return length && at[1] != '@' && !strncmp(wanted, name, length) &&
			!strncmp(name + length, "@@", 2) && !strcmp(name + length + 2, at + 1);
}

static bool fits(const char *wanted, bool glob, const char *name)
{
	return glob ? !fnmatch(wanted, name, 0) : !strcmp(wanted, name) || is_version(wanted, name);
}

static bool version_fits(const void *user, const char *name)
{
	const struct spec *spec = user;

	return fits(spec->name, false, name);
}

/*
 * Without debug symbols a name has no version in it, but .dynsym has one beside it. Not for globs, which would search the table once for
 * each name.
 */
static bool matches_version(const struct resolve_module *module, const struct spec *spec,
		const struct code_function *function, size_t index)
{
	const char *name = code_name(module->code, function, index), *at = strchr(spec->name, '@');
	size_t length = at ? (size_t)(at - spec->name) : 0;

	return at && !spec->glob && !strncmp(spec->name, name, length) && !name[length] &&
			code_name_version(module->code, function, index, version_fits, spec);
}

/* The end of a name, as people write it who are inside of its namespace: `Class::method`. */
static bool ends_with(const char *name, const char *wanted)
{
	size_t length = strlen(name), end = strlen(wanted);

	return length > end + 2 && !strcmp(name + length - end, wanted) &&
			!strncmp(name + length - end - 2, "::", 2);
}

static bool part_fits(const struct spec *spec, const char *wanted, const char *name, bool whole)
{
	return whole ? fits(wanted, spec->glob, name) : ends_with(name, wanted);
}

/* `readable` is changed. */
static bool readable_fits(const struct spec *spec, const char *wanted, char *readable, bool whole)
{
	size_t length, begin, end;

	written_plainly(readable);
	if (part_fits(spec, wanted, readable, whole))
		return true;
	length = written_name(readable, &begin);
	if (part_fits(spec, wanted, readable + begin, whole))
		return true;
	/* Of a method it may be left out that it changes nothing. */
	end = strlen(readable);
	if (end > 6 && !strcmp(readable + end - 6, ")const")) {
		readable[end - 5] = '\0';
		if (part_fits(spec, wanted, readable + begin, whole))
			return true;
	}
	readable[length] = '\0';
	if (part_fits(spec, wanted, readable, whole) ||
			part_fits(spec, wanted, readable + begin, whole))
		return true;
	/* All that were made from one template. */
	return !spec->glob && !strchr(wanted, '<') && written_template(readable + begin) &&
			part_fits(spec, wanted, readable + begin, whole);
}

enum match { MATCH_NAME, MATCH_COPY, MATCH_READABLE, MATCH_END };

static bool matches(const struct spec *spec, const char *wanted, const char *name, enum match match)
{
	size_t length = strlen(spec->name);
	char *readable;
	bool found;

	if (is_cold(name))
		return false;
	if (match == MATCH_NAME)
		return fits(spec->name, spec->glob, name);
	if (match == MATCH_COPY)
		return !spec->glob && !strncmp(name, spec->name, length) &&
				(!strncmp(name + length, ".isra.", 6) ||
						!strncmp(name + length, ".constprop.", 11) ||
						!strncmp(name + length, ".part.", 6) ||
						!strncmp(name + length, ".specialized.", 13) ||
						!strncmp(name + length, ".llvm.", 6));
	readable = names_readable(name);
	found = readable && readable_fits(spec, wanted, readable, match == MATCH_READABLE);
	free(readable);
	return found;
}

/* Those of old versions of the library are meant when there are no others. */
static void drop_former(struct places *places, size_t before,
		const struct code_function *const *former, size_t count)
{
	size_t kept = before;

	if (!count || places->count - before == count)
		return;
	for (size_t i = before; i < places->count; i++) {
		bool is = false;

		for (size_t j = 0; j < count && !is; j++)
			is = former[j] == places->items[i].function;
		if (!is)
			places->items[kept++] = places->items[i];
	}
	places->count = kept;
}

static int find(struct resolve_module *module, const struct spec *spec, enum match match,
		struct places *places)
{
	const struct code_function *former[FORMER_MAX];
	size_t before = places->count, nr_former = 0;
	const struct code_function *functions;
	size_t count = code_functions(module->code, &functions);
	char *wanted = strdup(spec->name);
	int ret = wanted ? 0 : -ENOMEM;

	if (wanted)
		written_plainly(wanted);
	for (size_t i = 0; i < count && !ret; i++) {
		const struct code_function *function = &functions[i];
		struct place place = {.module = module,
				.function = function,
				.address = function->address,
				.entry = true,
				.name = NULL};

		for (size_t j = 0; j < function->nr_names && !place.name; j++) {
			const char *name = code_name(module->code, function, j);

			if (!matches(spec, wanted, name, match) &&
					(match != MATCH_NAME ||
							!matches_version(
									module, spec, function, j)))
				continue;
			place.name = name;
			if (!spec->glob && code_name_is_former(module->code, function, j) &&
					nr_former < FORMER_MAX)
				former[nr_former++] = function;
		}
		/* Everything is meant by it, also what has no name. */
		if (!function->nr_names && match == MATCH_NAME && !strcmp(spec->name, "*"))
			place.name = "";
		if (place.name)
			ret = places_add(places, &place);
	}
	free(wanted);
	drop_former(places, before, former, nr_former);
	return ret;
}

int names_find(struct resolve_module *module, const struct spec *spec, struct places *places)
{
	size_t before = places->count;
	int ret = find(module, spec, MATCH_NAME, places);

	if (!ret && places->count == before)
		ret = find(module, spec, MATCH_COPY, places);
	if (!ret && (places->count == before || spec->glob) && strcmp(spec->name, "*") != 0)
		ret = find(module, spec, MATCH_READABLE, places);
	if (!ret && places->count == before && !spec->glob)
		ret = find(module, spec, MATCH_END, places);
	return ret;
}
