/* SPDX-License-Identifier: MIT */
/*
 * List the names that `$params` and `$vars` stand for: a function's parameters, or all variables at
 * a location (as in perf).
 */
#include "variable.h"

#include "debug.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool spec_parameters_is_function(Dwarf_Die *scope)
{
	int tag = dwarf_tag(scope);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* A variable of an inner block hides the outer ones of its name. */
static bool spec_parameters_has_name(const struct variable_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->names[i], name))
			return true;
	return false;
}

static void spec_parameters_collect_names(struct variable_names *names, Dwarf_Die *scope, bool all)
{
	Dwarf_Die child;

	if (dwarf_child(scope, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		const char *name = dwarf_diename(&child);

		if (tag != DW_TAG_formal_parameter && (!all || tag != DW_TAG_variable))
			continue;
		if (!name || spec_parameters_has_name(names, name))
			continue;
		if (names->count == PROBE_TABLE_FIELDS_MAX)
			names->left_out = true;
		else
			names->names[names->count++] = name;
	} while (!dwarf_siblingof(&child, &child));
}

bool resolve_is_several(const char *text)
{
	return !strcmp(text, RESOLVE_PARAMETERS) || !strcmp(text, RESOLVE_VARIABLES);
}

int variable_names(const struct location *location, const char *text,
		struct variable_names *ret_names, struct error *error)
{
	struct debug *debug = module_debug(location->module);
	bool all = !strcmp(text, RESOLVE_VARIABLES), done = false;
	Dwarf_Die *scopes = NULL;
	int count = debug ? debug_scopes(debug, location->address, location->entry, &scopes) : -1;

	*ret_names = (struct variable_names){.count = 0};
	if (count <= 0) {
		int ret = debug_failed(location->module, error);

		return ret ? ret
			   : error_set(error, -ENODATA,
					     "compile it with -g or install its package of debug symbols",
					     "there is no debug information for that code of %s, so `%s` are unknown",
					     location->module->name, text);
	}
	for (int i = 0; i < count && !done; i++) {
		done = spec_parameters_is_function(&scopes[i]);
		if (done || all)
			spec_parameters_collect_names(ret_names, &scopes[i], all);
	}
	free(scopes);
	return 0;
}
