/* SPDX-License-Identifier: MIT */
/*
 * The functions of a file that a name selects: symbols, versions, copies and pieces of functions,
 * and C++ names with and without scopes and arguments. The test includes spec.c, and simulates the
 * functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../check.h"

#include "probe/spec/parts.h"
#include "probe/spec/spec.h"

static const struct {
	const char *names[2], *version;
	bool is_former;
} played[] = {{{"cook"}, NULL, false}, {{"cook.isra.0", "cooked"}, NULL, false},
		{{"cook.part.0"}, NULL, false}, {{"cook.cold"}, NULL, false},
		{{"serve.part.1"}, NULL, false}, {{NULL}, NULL, false},
		{{"_ZN4stew3Pot4cookEi"}, NULL, false}, {{"_ZN4stew3Pot4cookEd"}, NULL, false},
		{{"_ZNK4stew3Pot4sizeEv"}, NULL, false}, {{"_Z4makeIiET_v"}, NULL, false},
		{{"open"}, "open@@V2", false}, {{"open"}, "open@V1", true},
		{{"read"}, "read@@V3", false}, {{"only"}, "only@V1", true},
		{{"_ZN4stew3Pot4cookEi.constprop.0"}, NULL, false},
		{{"_ZN3Pan4cookEi"}, NULL, false}};

#define COUNT (sizeof(played) / sizeof(*played))

static struct code_function the_functions[COUNT];
static unsigned int nr_freed;

static size_t played_functions(const struct code_file *file, const struct code_function **of)
{
	CHECK(!file);
	*of = the_functions;
	return COUNT;
}

static const char *played_name(
		const struct code_file *file, const struct code_function *function, size_t index)
{
	CHECK(!file && index < function->nr_names);
	return played[function - the_functions].names[index];
}

static bool played_version(const struct code_file *file, const struct code_function *function,
		size_t index, bool (*fits)(const void *user, const char *name), const void *user)
{
	const char *version = played[function - the_functions].version;

	CHECK(!file && index < 2);
	return version && fits(user, version);
}

static bool played_former(
		const struct code_file *file, const struct code_function *function, size_t index)
{
	CHECK(!file && index < 2);
	return played[function - the_functions].is_former;
}

static void played_free(void *memory)
{
	nr_freed += memory != NULL;
	free(memory);
}

#define code_functions played_functions
#define code_name played_name
#define code_name_version played_version
#define code_name_is_former played_former
#define free played_free
#include "probe/spec/spec.c"
#undef free

static struct resolve_module module = {.name = "kitchen"}, other = {.name = "other"};
static char shown[1024];

/* Writes the numbers of the functions that are found, and the piece, to `shown`. */
static void find_names(const char *name, bool glob, uint64_t number)
{
	char text[64];
	const struct parsed_spec spec = {
			.kind = SPEC_SYMBOL, .name = text, .glob = glob, .number = number};
	struct locations locations = {.count = 0};

	(void)snprintf(text, sizeof(text), "%s", name);
	/* A location of another file, and one without a function. */
	CHECK(!locations_add(&locations,
			&(struct location){.module = &other, .function = &the_functions[1]}));
	CHECK(!locations_add(&locations, &(struct location){.module = &module, .address = 7}));
	CHECK(!spec_find_functions(&module, &spec, &locations));
	*shown = '\0';
	for (size_t i = 2; i < locations.count; i++) {
		const struct location *location = &locations.items[i];

		CHECK(location->module == &module && location->entry &&
				location->address == location->function->address);
		sprintf(shown + strlen(shown), "%s%d", *shown ? " " : "",
				(int)(location->function - the_functions));
	}
	if (locations.piece.name)
		sprintf(shown + strlen(shown), " piece %s of %d", locations.piece.name,
				(int)(locations.piece.function - the_functions));
	free(locations.items);
}

static void expect(const char *name, bool glob, uint64_t number, const char *wanted)
{
	find_names(name, glob, number);
	if (strcmp(shown, wanted) != 0)
		fprintf(stderr, "%s: %s instead of %s\n", name, shown, wanted);
	CHECK(!strcmp(shown, wanted));
}

/* Each pass frees the name that is searched, the flags of functions, and rewritten names. */
static void count_names(void)
{
	nr_freed = 0;
	expect("*", true, 0, "0 1 2 4 5 6 7 8 9 10 11 12 13 14 15");
	CHECK(nr_freed == 2);
	nr_freed = 0;
	find_names("cook", false, 0);
	CHECK(nr_freed == 8);
	nr_freed = 0;
	find_names("nothing", false, 0);
	CHECK(nr_freed == 32);
}

int main(void)
{
	for (size_t i = 0; i < COUNT; i++)
		the_functions[i] = (struct code_function){.address = 0x1000 + 16 * i,
				.nr_names = !played[i].names[0]      ? 0
						: played[i].names[1] ? 2
								     : 1};
	expect("cook", false, 0, "0 1 piece cook.part.0 of 2");
	expect("cook", false, 4, "0");
	expect("cook.cold", false, 0, "");
	expect("cook.part.0", false, 0, "2");
	expect("cook*", true, 0, "0 1 2");
	expect("cooked", false, 0, "1");
	expect("serve", false, 0, " piece serve.part.1 of 4");
	expect("serve*", true, 0, "4");
	expect("stew::Pot::cook", false, 0, "6 7 14");
	expect("stew::Pot::cook(int)", false, 0, "6 14");
	expect("Pot::cook", false, 0, "6 7 14");
	expect("ot::cook", false, 0, "");
	expect("Pot::size() const", false, 0, "8");
	expect("stew::Pot::size()", false, 0, "8");
	expect("make", false, 0, "9");
	expect("make<int>", false, 0, "9");
	expect("stew::*", true, 0, "6 7 8 14");
	expect("open", false, 0, "10");
	expect("open@V1", false, 0, "11");
	expect("open@V2", false, 0, "10");
	expect("open@@V2", false, 0, "10");
	expect("open*", true, 0, "10 11");
	expect("read", false, 0, "12");
	expect("read@V3", false, 0, "12");
	expect("read@V4", false, 0, "");
	expect("only@V1", false, 0, "13");
	expect("only", false, 0, "13");
	expect("nothing", false, 0, "");
	count_names();
	return 0;
}
