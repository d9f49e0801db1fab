/* SPDX-License-Identifier: MIT */
/*
 * Limits of probe specs: locations, markers, expressions, enumerations, names and return values.
 * The last permitted value, and one more. The test includes the files and simulates debug
 * information.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/spec/parts.h"
#include "probe/spec/spec.h"
#include "probe/spec/variable.h"

#include "../../check.h"

/* ---- replaced functions ---- */

static unsigned int nr_siblings, nr_results;
static int names_result;

static int played_child(Dwarf_Die *die, Dwarf_Die *child)
{
	*child = *die;
	return 0;
}

static int played_sibling(Dwarf_Die *die, Dwarf_Die *sibling)
{
	nr_siblings++;
	*sibling = *die;
	return 0;
}

static const char *played_name(Dwarf_Die *die)
{
	(void)die;
	return NULL;
}

static int played_tag(Dwarf_Die *die)
{
	(void)die;
	return DW_TAG_enumerator;
}

static int played_find_functions(struct resolve_module *module, const struct parsed_spec *spec,
		struct locations *locations)
{
	(void)module;
	(void)spec;
	(void)locations;
	return names_result;
}

static int played_result(const struct location *location, struct value values[VARIABLE_RESULT_MAX],
		bool *nothing, bool *left_out, struct error *error)
{
	(void)location;
	(void)error;
	values[0].size = 8;
	*nothing = *left_out = false;
	nr_results++;
	return 1;
}

#define dwarf_child played_child
#define dwarf_siblingof played_sibling
#define dwarf_diename played_name
#define dwarf_tag played_tag
#include "probe/spec/labels.c"
#undef dwarf_tag
#undef dwarf_diename
#undef dwarf_siblingof
#undef dwarf_child
#include "probe/spec/marker.c"
#define variable_result played_result
#include "probe/spec/table.c"
#undef variable_result
#define is_marker variable_is_marker
#include "probe/spec/variable.c"
#undef is_marker
#define spec_find_functions played_find_functions
#include "probe/spec/locations.c"
#undef spec_find_functions

static struct error error;

static bool is(const char *found, const char *expected)
{
	if (!strcmp(found, expected))
		return true;
	fprintf(stderr, "%s\n", found);
	return false;
}

/* ---- locations ---- */

static void test_places(void)
{
	struct locations locations = {.count = 0};
	struct location location = {.name = "f"};
	struct parsed_spec spec = {.name = NULL};
	struct location_search finding = {.error = &error, .spec = &spec, .locations = &locations};

	for (location.address = 1; location.address <= 200000; location.address++)
		CHECK(!locations_add(&locations, &location));
	CHECK(locations.count == 200000 && locations_add(&locations, &location) == -E2BIG);
	/* A known location needs no space. */
	location.address = 200000;
	CHECK(!locations_add(&locations, &location) && locations.count == 200000 &&
			locations.items[199999].address == 200000);
	free(locations.items);
	CHECK(!spec_location_find_names(&finding));
	names_result = -E2BIG;
	CHECK(spec_location_find_names(&finding) == -E2BIG &&
			is(error.text, "more than 200000 functions match") &&
			is(error.hint, "select fewer functions"));
	names_result = -ENOMEM;
	CHECK(spec_location_find_names(&finding) == -ENOMEM && is(error.text, "out of memory"));
}

/* ---- markers ---- */

/* A note with the provider `p`, a name of this size and the arguments `a`. */
static bool has_marker(size_t size)
{
	static char bytes[24 + 5000];
	struct resolve_marker marker;

	memset(bytes, 0, sizeof(bytes));
	bytes[24] = 'p';
	memset(bytes + 26, 'n', size);
	bytes[26 + size + 1] = 'a';
	if (!read_marker(bytes, 26 + size + 3, 0, &marker))
		return false;
	CHECK(is(marker.provider, "p") && strlen(marker.name) == size && is(marker.arguments, "a"));
	return true;
}

static void test_markers(void)
{
	CHECK(MARKER_TEXT_MAX == 4096 && has_marker(0) && has_marker(4096) && !has_marker(4097));
}

/* ---- expressions ---- */

static int read_stars(unsigned int levels)
{
	char text[64];
	struct expression expression = {.at = text, .text = text, .error = &error};
	struct item item;

	memset(text, '*', levels);
	text[levels] = 0;
	return read_unary(&expression, &item);
}

static void test_parts(void)
{
	CHECK(read_stars(32) == -EINVAL &&
			is(error.text, "a name is missing in `********************************`"));
	CHECK(read_stars(33) == -EINVAL &&
			is(error.text, "there are too many parts in `*********************************`"));
}

/* ---- enumerations ---- */

static void test_enumerators(void)
{
	Dwarf_Die die = {.addr = NULL};
	char *labels = item_labels(&die);

	CHECK(labels && !*labels && nr_siblings == 9999);
	free(labels);
}

/* ---- names ---- */

/* Whether the event of a marker with a name of this size has the whole name. */
static bool is_whole(size_t size)
{
	char name[512], provider[256], event[256];
	struct probe_spec request = {.name = name};
	const struct table_builder builder = {.spec = &request};

	memset(name, 'n', size);
	name[size] = 0;
	event_name(&builder, provider, event);
	CHECK(strlen(event) == (size < EVENT_NAME_MAX ? size : EVENT_NAME_MAX - 1));
	return !strcmp(event, name);
}

static void test_names(void)
{
	CHECK(EVENT_NAME_MAX == 240 && is_whole(239) && !is_whole(240));
}

/* ---- return values ---- */

static void test_results(void)
{
	static struct location items[65];
	struct locations locations = {.items = items, .one_name = true};

	for (locations.count = 63; locations.count <= 65; locations.count++) {
		nr_results = 0;
		CHECK(is_same_result(&locations, &error) == (locations.count <= 64));
		CHECK(nr_results == (locations.count <= 64 ? locations.count : 0));
	}
	locations.count = 2;
	locations.one_name = false;
	CHECK(!is_same_result(&locations, &error));
}

int main(void)
{
	test_places();
	test_markers();
	test_parts();
	test_enumerators();
	test_names();
	test_results();
	return 0;
}
