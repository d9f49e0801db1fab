/* SPDX-License-Identifier: MIT */
/*
 * A tree of debug information: functions around an address, names of arguments and variables, and
 * variables and types of other units. The test simulates the tree and includes the files.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../called.h"
#include "../../resources.h"

#include "symbolize/demangle.h"
#include "probe/spec/debug.h"
#include "probe/spec/variable.h"

/* ---- the simulated tree ---- */

struct tree {
	int tag;
	const char *name, *linkage;
	bool is_declared, has_location, has_constant;
	uint64_t ranges[3][2];
	size_t nr_ranges;
	size_t child, next; /* 0: none */
};

#define TREES 256
static struct tree trees[TREES];
static size_t nr_trees;
static size_t all_units[4], nr_units;
static unsigned int failing; /* the number of the allocation that fails; 0: none */
static struct resolve_module the_owner;
static struct debug *const the_debug = &(struct debug){.owner = &the_owner};

static struct tree *tree_of(Dwarf_Die *die)
{
	return die->addr;
}

static Dwarf_Die die_of(size_t index)
{
	return (Dwarf_Die){.addr = &trees[index]};
}

static int played_child(Dwarf_Die *die, Dwarf_Die *child)
{
	size_t index = tree_of(die)->child;

	*child = die_of(index);
	return index ? 0 : 1;
}

static int played_sibling(Dwarf_Die *die, Dwarf_Die *next)
{
	size_t index = tree_of(die)->next;

	*next = die_of(index);
	return index ? 0 : 1;
}

static int played_tag(Dwarf_Die *die)
{
	return tree_of(die)->tag;
}

static const char *played_name(Dwarf_Die *die)
{
	return tree_of(die)->name;
}

static int played_has(Dwarf_Die *die, unsigned int name)
{
	const struct tree *tree = tree_of(die);

	assert_true(name == DW_AT_declaration || name == DW_AT_location ||
			name == DW_AT_const_value);
	return name == DW_AT_declaration         ? tree->is_declared
			: name == DW_AT_location ? tree->has_location
						 : tree->has_constant;
}

static Dwarf_Attribute *played_attribute(Dwarf_Die *die, unsigned int name, Dwarf_Attribute *result)
{
	assert_int_equal(name, DW_AT_linkage_name);
	result->valp = (unsigned char *)tree_of(die);
	return tree_of(die)->linkage ? result : NULL;
}

static const char *played_text(Dwarf_Attribute *attribute)
{
	const struct tree *tree = (const void *)attribute->valp;

	return *tree->linkage ? tree->linkage : NULL;
}

static ptrdiff_t played_ranges(
		Dwarf_Die *die, ptrdiff_t at, Dwarf_Addr *base, Dwarf_Addr *begin, Dwarf_Addr *end)
{
	const struct tree *tree = tree_of(die);

	if ((size_t)at == tree->nr_ranges)
		return 0;
	*base = 0;
	*begin = tree->ranges[at][0];
	*end = tree->ranges[at][1];
	return at + 1;
}

static bool played_next_unit(struct debug *debug, Dwarf_Off *offset, Dwarf_Die *unit)
{
	assert_ptr_equal(debug, the_debug);
	if (*offset == nr_units)
		return false;
	*unit = die_of(all_units[(*offset)++]);
	return true;
}

static void played_whole(Dwarf_Die *unit)
{
	called("whole %s ", tree_of(unit)->name);
}

static int played_units(struct debug *debug, int (*each)(void *user, Dwarf_Die *unit), void *user)
{
	int ret = 0;

	assert_ptr_equal(debug, the_debug);
	for (size_t i = 0; i < nr_units && !ret; i++) {
		Dwarf_Die unit = die_of(all_units[i]);

		called("unit %s ", trees[all_units[i]].name);
		ret = each(user, &unit);
	}
	return ret;
}

/* The demangled name: here, in capital letters. */
static char *played_readable(const char *name)
{
	char *text = strdup(name);

	for (char *at = text; *at; at++)
		*at = (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
	return text;
}

static size_t all_scopes[4];
static int nr_scopes;
static bool has_debug;

static struct debug *played_debug(struct resolve_module *module)
{
	assert_string_equal(module->name, "kitchen");
	return has_debug ? the_debug : NULL;
}

static int played_scopes(struct debug *debug, uint64_t address, bool entry, Dwarf_Die **found)
{
	assert_ptr_equal(debug, the_debug);
	called("scopes %llx %d ", (unsigned long long)address, entry);
	*found = nr_scopes ? calloc(4, sizeof(**found)) : NULL;
	for (int i = 0; i < nr_scopes; i++)
		(*found)[i] = die_of(all_scopes[i]);
	return nr_scopes;
}

static bool is_due(void)
{
	return failing && !--failing;
}

static void *played_grow(void *old, size_t count, size_t size)
{
	return is_due() ? NULL : reallocarray(old, count, size);
}

static void *played_calloc(size_t count, size_t size)
{
	return is_due() ? NULL : calloc(count, size);
}

#define dwarf_child played_child
#define dwarf_siblingof played_sibling
#define dwarf_tag played_tag
#define dwarf_diename played_name
#define dwarf_hasattr played_has
#define dwarf_attr_integrate played_attribute
#define dwarf_formstring played_text
#define dwarf_ranges played_ranges
#define debug_next_unit played_next_unit
#define debug_whole_unit played_whole
#define debug_units played_units
#define debug_scopes played_scopes
#define module_debug played_debug
#define names_readable played_readable
#define reallocarray played_grow
#define calloc played_calloc
#include "probe/spec/scopes.c"
#define find find_die
#include "probe/spec/definitions.c"
#undef find
#include "probe/spec/parameters.c"
#undef reallocarray
#undef calloc

/* ---- helpers ---- */

static void begin(void)
{
	memset(trees, 0, sizeof(trees));
	nr_trees = 1;
	nr_units = 0;
	nr_scopes = 0;
	has_debug = true;
	failing = 0;
	scope_index_free(the_debug->scopes);
	the_debug->scopes = NULL;
	*calls = '\0';
}

/* Adds the last child of the parent; parent 0: none. */
static size_t add(size_t parent, int tag, const char *name)
{
	size_t *link = &trees[parent].child;

	assert_true(nr_trees < TREES);
	trees[nr_trees] = (struct tree){.tag = tag, .name = name};
	while (parent && *link)
		link = &trees[*link].next;
	if (parent)
		*link = nr_trees;
	return nr_trees++;
}

static void add_range(size_t index, uint64_t from, uint64_t to)
{
	struct tree *tree = &trees[index];

	tree->ranges[tree->nr_ranges][0] = from;
	tree->ranges[tree->nr_ranges++][1] = to;
}

static size_t add_unit(const char *name, uint64_t from, uint64_t to)
{
	size_t unit = add(0, DW_TAG_compile_unit, name);

	add_range(unit, from, to);
	all_units[nr_units++] = unit;
	return unit;
}

static size_t add_function(size_t parent, const char *name, uint64_t from, uint64_t to)
{
	size_t function = add(parent, DW_TAG_subprogram, name);

	add_range(function, from, to);
	return function;
}

/* Checks the names of all entries around the address. */
static void expect_around(uint64_t address, const char *wanted)
{
	Dwarf_Die found[DEBUG_SCOPES_MAX];
	unsigned int count = debug_scope_chain(the_debug, address, found);
	char text[512] = "";

	for (unsigned int i = 0; i < count; i++)
		sprintf(text + strlen(text), "%s ", tree_of(&found[i])->name);
	assert_string_equal(text, wanted);
}

/* ---- functions around an address ---- */

static void test_around(void **state)
{
	size_t one, other, space, outer;

	(void)state;
	begin();
	one = add_unit("one", 0x1000, 0x2000);
	other = add_unit("other", 0x3000, 0x4000);
	add_function(one, "cook", 0x1100, 0x1200);
	space = add(one, DW_TAG_namespace, "space");
	add_function(space, "stir", 0x1200, 0x1300);
	(void)add(one, DW_TAG_variable, "salt");
	outer = add_function(other, "outer", 0x3100, 0x3400);
	add_function(outer, "inner", 0x3200, 0x3300);
	expect_around(0x1100, "one cook ");
	expect_around(0x11ff, "one cook ");
	expect_around(0x1200, "one space stir ");
	expect_around(0x10ff, "");
	expect_around(0x1300, "");
	expect_around(0x2000, "");
	expect_around(0xfff, "");
	assert_called("whole one ");
	/* An inner function comes first. */
	expect_around(0x3100, "other outer ");
	expect_around(0x3200, "other outer inner ");
	expect_around(0x32ff, "other outer inner ");
	expect_around(0x3300, "other outer ");
	expect_around(0x3400, "");
	assert_called("whole other ");
}

static void test_spans(void **state)
{
	size_t one, function;

	(void)state;
	begin();
	/*
	 * A function in three parts, one of which is empty, and a long one that starts before a
	 * short one.
	 */
	one = add_unit("one", 0, 0x9000);
	function = add_function(one, "parts", 0x3000, 0x3010);
	add_range(function, 0x2000, 0x2000);
	add_range(function, 0x1000, 0x1010);
	add_function(one, "long", 0x4000, 0x5000);
	add_function(one, "short", 0x4100, 0x4110);
	add_function(one, "same", 0x4100, 0x4110);
	expect_around(0x1000, "one parts ");
	expect_around(0x100f, "one parts ");
	expect_around(0x1010, "");
	expect_around(0x2000, "");
	expect_around(0x3000, "one parts ");
	/* At each address, the first one that was read counts. */
	expect_around(0x4100, "one long ");
	expect_around(0x4200, "one long ");
	expect_around(0x4fff, "one long ");
	expect_around(0x5000, "");
	/* The same with two units. */
	begin();
	one = add_unit("one", 0x1000, 0x2000);
	add_function(one, "first", 0x1000, 0x1100);
	one = add_unit("two", 0x1000, 0x3000);
	add_function(one, "second", 0x1000, 0x2800);
	expect_around(0x1000, "one first ");
	expect_around(0x1100, "");
	expect_around(0x1fff, "");
	expect_around(0x2000, "two second ");
}

/* Entries without a function are not kept, and only certain tags are searched. */
static void test_kinds(void **state)
{
	static const int with[] = {DW_TAG_namespace, DW_TAG_module, DW_TAG_structure_type,
			DW_TAG_class_type, DW_TAG_union_type, DW_TAG_lexical_block};
	static const int without[] = {
			DW_TAG_enumeration_type, DW_TAG_inlined_subroutine, DW_TAG_variable};
	size_t one, inside_of;
	Dwarf_Die unit;

	(void)state;
	begin();
	trees[0] = (struct tree){.tag = DW_TAG_subprogram, .name = "none"};
	add_range(0, 0x1000, 0x2000);
	one = add_unit("one", 0x1000, 0x2000);
	for (size_t i = 0; i < 6; i++) {
		(void)add(one, with[i], "empty");
		(void)add_function(one, "nowhere", 0x1000, 0x1000);
		inside_of = add(one, with[i], "around");
		add_function(inside_of, "f", 0x1000 + 16 * i, 0x1010 + 16 * i);
	}
	for (size_t i = 0; i < 3; i++) {
		inside_of = add(one, without[i], "around");
		add_function(inside_of, "f", 0x1100 + 16 * i, 0x1110 + 16 * i);
	}
	for (size_t i = 0; i < 6; i++)
		expect_around(0x1000 + 16 * i, "one around f ");
	for (size_t i = 0; i < 3; i++)
		expect_around(0x1100 + 16 * i, "");
	assert_int_equal(the_debug->scopes->units[0].nr_nodes, 12);
	/* A unit without functions. */
	trees[0].nr_ranges = 0;
	(void)add_unit("bare", 0x3000, 0x4000);
	scope_index_free(the_debug->scopes);
	the_debug->scopes = NULL;
	expect_around(0x3000, "");
	*calls = '\0';
	assert_true(debug_unit(the_debug, 0x1fff, &unit));
	assert_ptr_equal(unit.addr, &trees[one]);
	assert_called("whole one ");
	assert_false(debug_unit(the_debug, 0x2000, &unit));
	assert_called("");
}

/* The unit and 23 levels below it. */
static void test_depth(void **state)
{
	Dwarf_Die found[DEBUG_SCOPES_MAX];
	size_t parent;

	(void)state;
	begin();
	parent = add_unit("one", 0x1000, 0x2000);
	for (unsigned int i = 0; i < 30; i++)
		parent = add_function(parent, "f", 0x1000 + i, 0x1100 - i);
	for (unsigned int i = 0; i < 30; i++)
		assert_int_equal(debug_scope_chain(the_debug, 0x1000 + i, found),
				i < 23 ? i + 2 : 24);
}

static void test_many(void **state)
{
	char wanted[64];
	size_t one;

	(void)state;
	begin();
	one = add_unit("one", 0x1000, 0x9000);
	/* One more than the first allocation, and one more than twice as much. */
	for (unsigned int i = 0; i < 129; i++) {
		add_function(one, "f", 0x1000 + 16 * i, 0x1010 + 16 * i);
		if (i == 63 || i == 64 || i == 128) {
			trees[nr_trees - 1].name = "last";
			scope_index_free(the_debug->scopes);
			the_debug->scopes = NULL;
			(void)snprintf(wanted, sizeof(wanted), "one last ");
			expect_around(0x1000 + 16 * i, wanted);
			assert_int_equal(the_debug->scopes->units[0].capacity,
					i == 63                   ? 64
							: i == 64 ? 128
								  : 256);
		}
	}
}

static void test_memory(void **state)
{
	size_t one, inner;

	(void)state;
	/* The table, its units, their ranges, then nodes and ranges of the unit. */
	for (unsigned int i = 1; i <= 5; i++) {
		begin();
		one = add_unit("one", 0x1000, 0x2000);
		inner = add(one, DW_TAG_namespace, "space");
		add_function(inner, "cook", 0x1100, 0x1200);
		failing = i;
		the_owner.debug_error = 0;
		expect_around(0x1100, "");
		assert_int_equal(failing, 0);
		assert_int_equal(the_owner.debug_error, -ENOMEM);
		assert_int_equal(!the_debug->scopes, i <= 3);
		if (i > 3)
			assert_true(!the_debug->scopes->units[0].known &&
					!the_debug->scopes->units[0].nr_nodes);
		/* The next search succeeds. */
		the_owner.debug_error = 0;
		expect_around(0x1100, "one space cook ");
		assert_int_equal(the_owner.debug_error, 0);
	}
	scope_index_free(NULL);
}

/* ---- names of arguments and variables ---- */

static int list(const char *text, struct variable_names *names, struct error *error)
{
	struct resolve_module module = {.name = "kitchen"};
	const struct location location = {.module = &module, .address = 0x1234, .entry = true};

	return variable_names(&location, text, names, error);
}

static void expect_names(const char *text, const char *wanted)
{
	struct variable_names names;
	struct error error;
	char all[512] = "";

	assert_int_equal(list(text, &names, &error), 0);
	for (size_t i = 0; i < names.count; i++)
		sprintf(all + strlen(all), "%s ", names.names[i]);
	assert_string_equal(all, wanted);
	assert_false(names.left_out);
	assert_called("scopes 1234 1 ");
}

static void test_names(void **state)
{
	struct variable_names names;
	struct error error;
	size_t block, function, outer;
	static char many[70][8];

	(void)state;
	begin();
	block = add(0, DW_TAG_lexical_block, NULL);
	function = add(0, DW_TAG_subprogram, "cook");
	outer = add(0, DW_TAG_subprogram, "kitchen");
	(void)add(block, DW_TAG_variable, "spoon");
	(void)add(block, DW_TAG_formal_parameter, "odd");
	(void)add(function, DW_TAG_formal_parameter, "meal");
	(void)add(function, DW_TAG_formal_parameter, NULL);
	(void)add(function, DW_TAG_label, "again");
	(void)add(function, DW_TAG_formal_parameter, "guests");
	(void)add(function, DW_TAG_variable, "spoon");
	(void)add(function, DW_TAG_variable, "pot");
	(void)add(outer, DW_TAG_variable, "door");
	all_scopes[0] = block;
	all_scopes[1] = function;
	all_scopes[2] = outer;
	nr_scopes = 3;
	/* What libdw returns for a scope without children is not read. */
	trees[0] = (struct tree){.tag = DW_TAG_formal_parameter, .name = "none"};
	all_scopes[3] = add(0, DW_TAG_subprogram, "empty");
	expect_names("$params", "meal guests ");
	all_scopes[1] = all_scopes[3];
	expect_names("$params", "");
	all_scopes[1] = function;
	expect_names("$vars", "spoon odd meal guests pot ");
	trees[function].tag = DW_TAG_inlined_subroutine;
	expect_names("$params", "meal guests ");
	trees[function].tag = DW_TAG_lexical_block;
	expect_names("$params", "");
	expect_names("$vars", "spoon odd meal guests pot door ");
	assert_true(resolve_is_several("$params") && resolve_is_several("$vars"));
	assert_true(!resolve_is_several("$var") && !resolve_is_several("params"));
	/* As many as an event has fields, and one more. */
	begin();
	function = add(0, DW_TAG_subprogram, "cook");
	all_scopes[0] = function;
	nr_scopes = 1;
	for (size_t i = 0; i <= PROBE_TABLE_FIELDS_MAX; i++) {
		assert_int_equal(list("$params", &names, &error), 0);
		assert_int_equal(names.count, i);
		assert_false(names.left_out);
		(void)snprintf(many[i], sizeof(many[i]), "a%zu", i);
		(void)add(function, DW_TAG_formal_parameter, many[i]);
	}
	assert_int_equal(list("$params", &names, &error), 0);
	assert_int_equal(names.count, PROBE_TABLE_FIELDS_MAX);
	assert_true(names.left_out);
	assert_string_equal(names.names[PROBE_TABLE_FIELDS_MAX - 1], "a63");
	for (int i = 0; i < 2; i++) {
		nr_scopes = 0;
		has_debug = i;
		assert_int_equal(list("$vars", &names, &error), -ENODATA);
		assert_int_equal(names.count, 0);
		assert_string_equal(error.text,
				"there is no debug information for that code of kitchen, so `$vars` are unknown");
		assert_string_equal(error.hint,
				"compile it with -g or install its package of debug symbols");
	}
}

/* ---- other units ---- */

static size_t find_variable(const char *name)
{
	Dwarf_Die found;

	*calls = '\0';
	return debug_global(the_debug, name, &found) ? (size_t)(tree_of(&found) - trees) : 0;
}

static size_t find_type(size_t declared)
{
	Dwarf_Die die = die_of(declared), found;

	*calls = '\0';
	return debug_type(the_debug, &die, &found) ? (size_t)(tree_of(&found) - trees) : 0;
}

static void test_variables(void **state)
{
	size_t one, two, space, unnamed, salt, pepper, sugar, member, before;

	(void)state;
	begin();
	one = add_unit("one", 0, 1);
	two = add_unit("two", 0, 1);
	(void)add(one, DW_TAG_variable, "salt");
	space = add(one, DW_TAG_namespace, "spice");
	(void)add(space, DW_TAG_variable, "pepper");
	salt = add(two, DW_TAG_variable, "salt");
	space = add(two, DW_TAG_namespace, "spice");
	pepper = add(space, DW_TAG_variable, "pepper");
	unnamed = add(space, DW_TAG_namespace, NULL);
	sugar = add(unnamed, DW_TAG_variable, "sugar");
	member = add(two, DW_TAG_variable, NULL);
	trees[salt].has_location = trees[sugar].has_location = trees[member].has_location = true;
	trees[pepper].has_constant = true;
	trees[member].linkage = "pot::lid";
	assert_int_equal(find_variable("salt"), salt);
	assert_called("unit one unit two ");
	assert_int_equal(find_variable("spice::pepper"), pepper);
	assert_int_equal(find_variable("spice::sugar"), sugar);
	assert_int_equal(find_variable("POT::LID"), member);
	before = resources_memory();
	assert_int_equal(find_variable("POT::LID"), member);
	assert_int_equal(resources_memory(), before);
	assert_int_equal(find_variable("pot::lid"), 0);
	assert_int_equal(find_variable("pepper"), 0);
	assert_int_equal(find_variable("spice:pepper"), 0);
	assert_int_equal(find_variable("spices::pepper"), 0);
	assert_int_equal(find_variable("spic::pepper"), 0);
	assert_int_equal(find_variable("sal"), 0);
	trees[member].linkage = "";
	assert_int_equal(find_variable("POT::LID"), 0);
	/* A function of that name is not a variable; the search ends at the first one. */
	trees[salt].tag = DW_TAG_subprogram;
	assert_int_equal(find_variable("salt"), 0);
	trees[salt].tag = DW_TAG_variable;
	trees[trees[one].child].has_location = true;
	assert_int_equal(find_variable("salt"), trees[one].child);
	assert_called("unit one ");
}

static void test_types(void **state)
{
	size_t one, declared, type, parent, deep[12];
	static char name[64];

	(void)state;
	begin();
	one = add_unit("one", 0, 1);
	declared = add(one, DW_TAG_structure_type, "pot");
	trees[declared].is_declared = true;
	assert_int_equal(find_type(declared), 0);
	(void)add(one, DW_TAG_class_type, "pot");
	(void)add(one, DW_TAG_structure_type, NULL);
	assert_int_equal(find_type(declared), 0);
	type = add(one, DW_TAG_structure_type, "pot");
	assert_int_equal(find_type(declared), type);
	trees[declared].name = NULL;
	assert_int_equal(find_type(declared), 0);
	assert_called("");
	/* Eight namespaces, one within the other; not nine. */
	parent = one;
	for (int i = 0; i < 9; i++) {
		parent = add(parent, DW_TAG_namespace, "n");
		deep[i] = add(parent, DW_TAG_variable, "salt");
		trees[deep[i]].has_location = true;
		strcat(name, "n::");
		strcpy(name + 3 * (i + 1), "salt");
		assert_int_equal(find_variable(name), i < 8 ? deep[i] : 0);
		name[3 * (i + 1)] = '\0';
	}
}

static void test_end(void **state)
{
	(void)state;
	begin();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_around),
			cmocka_unit_test(test_spans),
			cmocka_unit_test(test_kinds),
			cmocka_unit_test(test_depth),
			cmocka_unit_test(test_many),
			cmocka_unit_test(test_memory),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_variables),
			cmocka_unit_test(test_types),
			cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
