/* SPDX-License-Identifier: MIT */
/*
 * Parse and evaluate `p->name`, `list[2].next`, `*counter`, `(*p).x` or `&x`: from a variable, step
 * by step, to a value.
 *
 * Each step has a type and a location. A reference stands for the object that it refers to, as in
 * the source. The outermost form can also be `string(p, n)`, `bytes(p, n)` or gdb's `*p@n`; `NAME=`
 * before it names the field.
 */
#include "variable.h"

#include "field.h"
#include "item-steps.h"
#include "library.h"
#include "locate.h"
#include "members.h"
#include "symbolize/demangle.h"
#include "base/nearest/nearest.h"
#include "numbers.h"
#include "spec.h"

#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32

struct expression {
	const char *at, *text;
	const struct location *location;
	struct debug *debug;
	unsigned int depth;
	bool exit; /* at the function's exit */
	struct locate_frame where;
	Dwarf_Die function;
	struct error *error;
};

static int spec_variable_set_error(struct expression *expression, const char *what)
{
	return error_set(expression->error, -EINVAL,
			"write a variable, with ->member, .member, [number], * and & as in C; `string(p, n)` and `bytes(p, n)` have a length, `*p@n` is an array",
			"%s in `%.128s`%s%.32s", what, expression->text,
			*expression->at ? ", at " : "", expression->at);
}

/* ---- variables ---- */

/*
 * Whether the compiler recorded only where the variable is after the function's first instructions.
 */
static bool is_stored_later(Dwarf_Die *variable)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	return dwarf_tag(variable) == DW_TAG_formal_parameter &&
			dwarf_attr_integrate(variable, DW_AT_location, &attribute) &&
			!dwarf_getlocation(&attribute, &ops, &count) && count &&
			ops[0].atom == DW_OP_fbreg;
}

/* Debug information may omit missing pieces at the end. */
static bool lacks_pieces(const struct located *located, Dwarf_Die *variable)
{
	uint64_t size = 0, whole;
	Dwarf_Die type;

	for (uint32_t i = 0; located->kind == LOCATED_PIECES && i < located->nr_pieces; i++) {
		if (located->pieces[i].kind == LOCATED_NOWHERE)
			return true;
		size += located->pieces[i].size;
	}
	return located->kind == LOCATED_PIECES && type_of(variable, &type) &&
			type_size(&type, &whole) && size < whole;
}

static bool is_gnu(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	const char *producer = NULL;
	Dwarf_Die unit;

	if (dwarf_diecu(function, &unit, NULL, NULL) &&
			dwarf_attr_integrate(&unit, DW_AT_producer, &attribute))
		producer = dwarf_formstring(&attribute);
	return producer && !strncmp(producer, "GNU ", 4);
}

/*
 * Compilers based on LLVM do not pass an argument that they know to be unused, even to functions
 * that other files may call. The register of such an argument, or of an unused half of a 16-byte
 * integer, has an arbitrary value. Debug information then has no location for it, or an invalid
 * one.
 *
 * Debug information also has no location for structures that the compiler takes apart. It passes
 * only the members that are used, so spec_variable_add_passed_argument() checks each register.
 */
static bool spec_variable_argument_is_passed(Dwarf_Die *function, Dwarf_Die *argument)
{
	Dwarf_Die type;
	uint64_t size;
	int tag;

	if (!type_of(argument, &type))
		return true;
	tag = dwarf_tag(&type);
	if (is_gnu(function) || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
			tag == DW_TAG_union_type)
		return true;
	/* One register holds the whole argument, so the function uses it. */
	return dwarf_hasattr_integrate(argument, DW_AT_location) && type_size(&type, &size) &&
			size <= 8;
}

/* Whether the function reads the register that contains these bytes of an argument. */
static bool function_reads_piece(const struct location *location, const struct fetch *fetch)
{
	const struct probe_fetch_op *op = &fetch->ops[0];
	int ret;

	if (!fetch->nr_ops || (op->code != PROBE_FETCH_REGISTER && op->code != PROBE_FETCH_VECTOR))
		return true;
	ret = code_reads_argument(location->module->code, location->function->address, op->reg,
			op->code == PROBE_FETCH_VECTOR);
	if (ret < 0)
		location->module->debug_error = ret;
	return ret > 0;
}

/*
 * Add `size` bytes of an argument from `offset` on, as callers pass them. Bytes whose register the
 * function does not read have no location.
 */
static int spec_variable_add_passed_argument(const struct location *location,
		const struct located *argument, uint64_t offset, uint64_t size,
		struct located *result)
{
	int ret = 0;

	while (size && !ret) {
		const struct located_piece *piece = &argument->pieces[offset / 8];
		uint64_t skipped = offset % 8, length = size < 8 - skipped ? size : 8 - skipped;
		struct fetch fetch =
				argument->kind == LOCATED_VALUE ? argument->fetch : piece->fetch;
		bool known = (argument->kind == LOCATED_VALUE || piece->kind == LOCATED_VALUE) &&
				function_reads_piece(location, &fetch);

		if (known && skipped)
			ret = fetch_op(&fetch, PROBE_FETCH_SHIFT_RIGHT, 0, (uint8_t)(8 * skipped),
					0);
		if (!ret)
			ret = locate_piece(result, known ? LOCATED_VALUE : LOCATED_NOWHERE, length,
					&fetch);
		offset += length;
		size -= length;
	}
	return ret;
}

/*
 * Complete an argument that is passed in registers and that debug information locates only in part:
 * add the registers that the function reads. False: no byte has a location.
 */
static bool complete_from_registers(const struct location *location, Dwarf_Die *variable,
		const struct located *argument, struct located *located)
{
	struct located result = {.kind = LOCATED_PIECES};
	uint64_t offset = 0, whole;
	Dwarf_Die type;
	bool some = false;
	int ret = 0;

	if (!type_of(variable, &type) || !type_size(&type, &whole) || whole > 16)
		return false;
	for (uint32_t i = 0; located->kind == LOCATED_PIECES && i < located->nr_pieces; i++) {
		const struct located_piece *piece = &located->pieces[i];

		if (piece->kind == LOCATED_NOWHERE)
			ret |= spec_variable_add_passed_argument(
					location, argument, piece->offset, piece->size, &result);
		else
			ret |= locate_piece(&result, piece->kind, piece->size, &piece->fetch);
		offset += piece->size;
	}
	if (offset < whole)
		ret |= spec_variable_add_passed_argument(
				location, argument, offset, whole - offset, &result);
	for (uint32_t i = 0; i < result.nr_pieces; i++)
		some |= result.pieces[i].kind != LOCATED_NOWHERE;
	if (some && !ret)
		*located = result;
	return some && !ret;
}

/*
 * Locate an argument by the calling convention, which callers in other files follow. False: the
 * argument may not be passed.
 */
static bool spec_variable_locate_by_convention(
		struct expression *expression, Dwarf_Die *variable, struct located *located)
{
	Dwarf_Die *function = &expression->function;
	struct located argument;

	if (!spec_variable_argument_is_passed(function, variable) ||
			locate_argument(function, variable, &argument))
		return false;
	if (!is_gnu(function) &&
			(argument.kind == LOCATED_PIECES || argument.kind == LOCATED_VALUE))
		return complete_from_registers(expression->location, variable, &argument, located);
	*located = argument;
	return true;
}

static int spec_variable_find_location(
		struct expression *expression, Dwarf_Die *variable, struct located *located)
{
	const struct location *location = expression->location;
	const char *name = dwarf_diename(variable);
	bool has = expression->where.function;
	Dwarf_Die *function = &expression->function;
	uint64_t address;
	int ret;

	if (location->entry && has && is_stored_later(variable)) {
		ret = locate_argument(function, variable, located);
		return ret ? error_set(expression->error, ret,
					     "record it with `--probe FILE:LINE` inside the function, where it has been stored, or write it as TYPE:NAME:ADDR",
					     "it is unknown where callers pass `%.128s`", name)
			   : 0;
	}
	ret = locate_variable(&expression->where, variable, located, expression->error);
	if (ret)
		located->nr_pieces = 0;
	if ((ret || lacks_pieces(located, variable)) && location->entry && has &&
			!module_is_local(location->module, location->name) &&
			dwarf_tag(variable) == DW_TAG_formal_parameter &&
			dwarf_hasattr_integrate(function, DW_AT_external) &&
			spec_variable_locate_by_convention(expression, variable, located))
		ret = 0;
	/* A variable of another unit: its symbol has the address. */
	if (ret && dwarf_tag(variable) == DW_TAG_variable && name &&
			dwarf_hasattr_integrate(variable, DW_AT_external) &&
			module_symbol(location->module, name, &address)) {
		*located = (struct located){.kind = LOCATED_MEMORY};
		ret = fetch_op(&located->fetch, PROBE_FETCH_MODULE, 0, 0, (int64_t)address);
	} else if (ret && dwarf_tag(variable) == DW_TAG_variable && name &&
			dwarf_hasattr_integrate(variable, DW_AT_external) &&
			module_thread_symbol(location->module, name, &address)) {
		*located = (struct located){.kind = LOCATED_MEMORY};
		ret = thread_variable(location->module, address, &located->fetch) ? ret : 0;
	}
	return ret;
}

static void offer_variables(Dwarf_Die *scopes, int count, struct nearest *nearest)
{
	for (int i = 0; i < count; i++) {
		Dwarf_Die child;

		if (dwarf_child(&scopes[i], &child))
			continue;
		do {
			int tag = dwarf_tag(&child);

			if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) &&
					dwarf_diename(&child))
				nearest_offer(nearest, dwarf_diename(&child));
		} while (!dwarf_siblingof(&child, &child));
	}
}

static int no_variable(
		struct expression *expression, const char *name, Dwarf_Die *scopes, int count)
{
	struct nearest nearest;
	char hint[320] = "", *readable = names_readable(expression->location->name);
	const char *function = readable ? readable : expression->location->name;
	int ret;

	nearest_begin(&nearest, name);
	offer_variables(scopes, count, &nearest);
	nearest_text(&nearest, "", hint, sizeof(hint));
	ret = error_set(expression->error, -ENOENT, hint, "there is no variable `%.128s` in %.300s",
			name, *function ? function : "that code");
	free(readable);
	return ret;
}

/* At the exit, only the return value can be located. */
static int spec_variable_find_returned(
		struct expression *expression, const char *name, struct item *ret_item)
{
	const struct location *location = expression->location;
	const char *function_name = *location->name ? location->name : "that function";
	Dwarf_Attribute attribute;
	Dwarf_Die function;

	*ret_item = (struct item){.where.kind = LOCATED_VALUE, .location = &expression->where};
	if (strcmp(name, "return") != 0)
		return error_set(expression->error, -EINVAL,
				"the returned value is called `return`, as in `return->name`; `--arg` is for variables at the entry",
				"cannot record `%.128s` at the return: it no longer exists when %.128s has returned",
				name, function_name);
	if (!debug_function(expression->debug, location->address, &function))
		return error_set(expression->error, -ENODATA,
				"write it as TYPE:NAME:ADDR, as in `s32:n:%eax`",
				"there is no debug information for %s of %s", function_name,
				location->module->name);
	if (!dwarf_attr_integrate(&function, DW_AT_type, &attribute))
		return error_set(expression->error, -EINVAL, "leave it out", "%s returns nothing",
				function_name);
	if (!type_of(&function, &ret_item->type) ||
			!locate_result(&ret_item->type, &ret_item->where))
		return error_set(expression->error, -ENOTSUP,
				"write it as TYPE:NAME:ADDR, as in `s32:n:%eax`",
				"it is unknown where %s returns its result", function_name);
	return item_follow_reference(ret_item, expression->error);
}

/* Within a method, also search the members of its class. */
static bool find_own_member(struct expression *expression, Dwarf_Die *scopes, int count,
		const char *name, struct item *item)
{
	struct error *error = expression->error, ignored;
	Dwarf_Die this;
	bool found;

	if (dwarf_getscopevar(scopes, count, "this", 0, NULL, 0, 0, &this) < 0 ||
			!type_of(&this, &item->type))
		return false;
	expression->error = &ignored;
	found = !spec_variable_find_location(expression, &this, &item->where) &&
			!item_member(item, name, &ignored);
	expression->error = error;
	return found;
}

/* Search global variables; within a function of a class or namespace, also its members. */
static bool spec_variable_find_global(
		struct expression *expression, const char *name, Dwarf_Die *ret_variable)
{
	char *readable = names_readable(expression->location->name), *full = NULL;
	bool found = debug_global(expression->debug, name, ret_variable);
	size_t length = readable ? strcspn(readable, "(<") : 0;

	while (!found && length) {
		while (length && readable[length - 1] != ':')
			length--;
		if (length < 2)
			break;
		if (asprintf(&full, "%.*s%s", (int)length, readable, name) < 0) {
			expression->location->module->debug_error = -ENOMEM;
			break;
		}
		found = debug_global(expression->debug, full, ret_variable);
		free(full);
		length -= 2;
	}
	free(readable);
	return found;
}

/*
 * At the entry, search the function first; nested blocks and inlined functions may begin at the
 * same address.
 */
static bool find_in_scopes(struct expression *expression, const char *name, Dwarf_Die *ret_variable)
{
	const struct location *location = expression->location;
	Dwarf_Die *scopes = NULL;
	int count = debug_scopes(expression->debug, location->address, false, &scopes);
	bool found = count > 0 &&
			dwarf_getscopevar(scopes, count, name, 0, NULL, 0, 0, ret_variable) >= 0;

	free(scopes);
	return found;
}

static int find_variable(struct expression *expression, const char *name, struct item *ret_item)
{
	const char *missing = debug_missing_part(expression->debug, expression->location->address);
	const struct item empty = {.where.kind = LOCATED_MEMORY, .location = &expression->where};
	bool member = false, has = false;
	Dwarf_Die *scopes, variable;
	int count = debug_scopes(expression->debug, expression->location->address,
			expression->location->entry, &scopes);
	int ret = 0;

	*ret_item = empty;
	if (count <= 0 || missing)
		ret = missing ? error_set(expression->error, -ENODATA,
						"restore that file where the compiler has written it (packages of such files, .dwp, are not read), or write it as TYPE:NAME:ADDR",
						"the debug information for this location of %s is in %.256s, which does not exist",
						expression->location->module->name, missing)
			      : error_set(expression->error, -ENODATA,
						"write it as TYPE:NAME:ADDR, as in `s32:n:%edi`",
						"there is no debug information for the code at this location of %s",
						expression->location->module->name);
	else if (dwarf_getscopevar(scopes, count, name, 0, NULL, 0, 0, &variable) < 0)
		member = find_own_member(expression, scopes, count, name, ret_item);
	else
		has = true;
	if (!ret && !member && !has && expression->location->entry)
		has = find_in_scopes(expression, name, &variable);
	if (!ret && !member && !has && !spec_variable_find_global(expression, name, &variable))
		ret = no_variable(expression, name, scopes, count);
	free(scopes);
	if (ret || member)
		return ret;
	*ret_item = empty;
	if (!type_of(&variable, &ret_item->type))
		return spec_variable_set_error(expression, "there is a variable without a type");
	ret = spec_variable_find_location(expression, &variable, &ret_item->where);
	return ret ? ret : item_follow_reference(ret_item, expression->error);
}

/* ---- the grammar ---- */

static int read_unary(struct expression *expression, struct item *item);

static size_t name_length(const char *text)
{
	size_t length = 0;

	while (isalnum((unsigned char)text[length]) || text[length] == '_' ||
			(text[length] == ':' && text[length + 1] == ':' && length) ||
			(text[length] == ':' && length && text[length - 1] == ':'))
		length++;
	return isdigit((unsigned char)*text) ? 0 : length;
}

static int spec_variable_read_name(struct expression *expression, char name[256])
{
	size_t length = name_length(expression->at);

	if (!length || length >= 256)
		return spec_variable_set_error(expression, "a name is missing");
	memcpy(name, expression->at, length);
	name[length] = '\0';
	expression->at += length;
	return 0;
}

/* Members of Rust's tuples are numbers, which its compiler names `__0` and so on. */
static int read_member(struct expression *expression, char name[256])
{
	size_t length = strspn(expression->at, "0123456789");

	if (!length || length > 4)
		return spec_variable_read_name(expression, name);
	snprintf(name, 256, "__%.*s", (int)length, expression->at);
	expression->at += length;
	return 0;
}

/* Parse a member after `.` or `->`. */
static int spec_variable_read_part(struct expression *expression, struct item *item)
{
	char name[256];
	int ret = read_member(expression, name);

	if (ret)
		return ret;
	if (strncmp(expression->at, "()", 2) != 0)
		return item_member(item, name, expression->error);
	expression->at += 2;
	return library_method(item, name, expression->error);
}

static int read_primary(struct expression *expression, struct item *item)
{
	char name[256];
	int ret;

	if (*expression->at != '(') {
		ret = spec_variable_read_name(expression, name);
		if (ret)
			return ret;
		return expression->exit ? spec_variable_find_returned(expression, name, item)
					: find_variable(expression, name, item);
	}
	expression->at++;
	ret = read_unary(expression, item);
	if (ret)
		return ret;
	if (*expression->at++ != ')') {
		expression->at--;
		return spec_variable_set_error(expression, "a parenthesis is missing");
	}
	return 0;
}

static int read_index(struct expression *expression, struct item *item)
{
	size_t length = strspn(expression->at, "0123456789abcdefABCDEFxX");
	uint64_t number;

	if (!spec_number(expression->at, length, &number) || number > INT32_MAX ||
			expression->at[length] != ']')
		return spec_variable_set_error(expression, "the index is not a number");
	expression->at += length + 1;
	return item_index(item, number, expression->error);
}

static int read_postfix(struct expression *expression, struct item *item)
{
	int ret = read_primary(expression, item);

	while (!ret) {
		bool arrow = !strncmp(expression->at, "->", 2);

		if (*expression->at == '[') {
			expression->at++;
			ret = read_index(expression, item);
		} else if (arrow || *expression->at == '.') {
			expression->at += arrow ? 2 : 1;
			if (arrow)
				ret = item_dereference(item, expression->error);
			if (!ret)
				ret = spec_variable_read_part(expression, item);
		} else {
			break;
		}
	}
	return ret;
}

static int read_unary(struct expression *expression, struct item *item)
{
	char sign = *expression->at;
	int ret;

	if (expression->depth++ > DEPTH_MAX)
		return spec_variable_set_error(expression, "there are too many parts");
	if (sign != '*' && sign != '&')
		return read_postfix(expression, item);
	expression->at++;
	ret = read_unary(expression, item);
	if (ret)
		return ret;
	return sign == '*' ? item_dereference(item, expression->error)
			   : item_address(item, expression->error);
}

/* ---- the outermost form ---- */

/* Name the field after the text parsed so far, without the beginning `string(`. */
static void name_field(const struct expression *expression, struct value *value)
{
	const char *from = expression->text;
	char text[1024];

	if (!strncmp(from, "string(", 7) || !strncmp(from, "bytes(", 6))
		from = strchr(from, '(') + 1;
	if (expression->at < from)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)(expression->at - from), from);
	fetch_name(value->name, text);
}

/* Parse a count: a number, or a variable that is one. */
static int read_count(struct expression *expression, struct item_count *ret_count)
{
	size_t length = strspn(expression->at, "0123456789abcdefABCDEFxX");
	struct value value = {.type = 0};
	struct item item;
	int ret;

	*ret_count = (struct item_count){.known = 0};
	if (isdigit((unsigned char)*expression->at)) {
		if (!spec_number(expression->at, length, &ret_count->known) || !ret_count->known)
			return spec_variable_set_error(expression, "the length is not a number");
		expression->at += length;
		return 0;
	}
	ret = read_unary(expression, &item);
	if (!ret)
		ret = item_value(&item, &value, expression->error);
	if (ret)
		return ret;
	if (value.limit || (value.type != PROBE_FIELD_UNSIGNED && value.type != PROBE_FIELD_SIGNED))
		return spec_variable_set_error(expression, "the length is not an integer");
	ret_count->fetch = value.fetch;
	return value.size < 8 &&
					fetch_op(&ret_count->fetch,
							value.type == PROBE_FIELD_SIGNED
									? PROBE_FETCH_SIGN_EXTEND
									: PROBE_FETCH_ZERO_EXTEND,
							0, 8u * value.size, 0)
			? item_too_long(expression->error)
			: 0;
}

typedef int form_fn(struct item *item, const struct item_count *count, struct value *value,
		struct error *error);

/* Parse `(p)` or `(p, n)`. */
static int spec_variable_read_form(
		struct expression *expression, form_fn *form, struct value *value)
{
	struct item_count count;
	struct item item;
	bool counted;
	int ret;

	expression->at++;
	ret = read_unary(expression, &item);
	name_field(expression, value);
	counted = !ret && *expression->at == ',';
	expression->at += counted;
	if (counted)
		ret = read_count(expression, &count);
	if (!ret && *expression->at++ != ')') {
		expression->at--;
		return spec_variable_set_error(expression, "a parenthesis is missing");
	}
	return ret ? ret : form(&item, counted ? &count : NULL, value, expression->error);
}

static int spec_variable_read_value(struct expression *expression, struct value *values,
		size_t capacity, size_t *ret_count, bool *ret_left_out)
{
	struct item_count number;
	struct item item;
	int ret;

	if (!strncmp(expression->at, "string(", 7) || !strncmp(expression->at, "bytes(", 6)) {
		bool text = *expression->at == 's';

		expression->at += text ? 6 : 5;
		return spec_variable_read_form(expression, text ? item_text : item_bytes, values);
	}
	ret = read_unary(expression, &item);
	if (!ret && *expression->at != '@')
		ret = item_values(&item, values, capacity, ret_count, ret_left_out,
				expression->error);
	name_field(expression, values);
	if (ret || *expression->at != '@')
		return ret;
	expression->at++;
	ret = read_count(expression, &number);
	return ret ? ret : item_several(&item, &number, values, expression->error);
}

/* Copy without spaces, which have no meaning here. */
static void spec_variable_copy_text(char *to, size_t capacity, const char *text)
{
	size_t used = 0;

	for (; *text && used + 1 < capacity; text++)
		if (!isspace((unsigned char)*text))
			to[used++] = *text;
	to[used] = '\0';
}

/* The C library hides errno behind a function. */
static int errno_value(const char *name, struct value *value)
{
	value->type = PROBE_FIELD_SIGNED;
	value->size = sizeof(int);
	fetch_name(value->name, name);
	return fetch_op(&value->fetch, PROBE_FETCH_ERRNO, 0, 0, 0) ||
					fetch_op(&value->fetch, PROBE_FETCH_LOAD, 0, sizeof(int), 0)
			? -E2BIG
			: 0;
}

int variable_values(const struct location *location, const char *expression_text, bool exit,
		struct value *ret_values, size_t capacity, size_t *ret_count, bool *ret_left_out,
		struct error *error)
{
	struct expression expression = {.location = location, .exit = exit, .error = error};
	char text[1024] = "", name[FETCH_NAME_MAX] = "";
	size_t named;
	bool has;
	int ret, failed;

	ret_values[0] = (struct value){.type = 0};
	*ret_count = 1;
	*ret_left_out = false;
	spec_variable_copy_text(text, sizeof(text), expression_text);
	expression.at = expression.text = text;
	named = name_length(text);
	if (named && named < sizeof(name) && text[named] == '=' && text[named + 1] != '=') {
		memcpy(name, text, named);
		expression.at = expression.text = text + named + 1;
	}
	if (!strcmp(expression.text, "errno"))
		return errno_value(*name ? name : "errno", ret_values);
	expression.debug = module_debug(location->module);
	failed = debug_failed(location->module, error);
	if (failed)
		return failed;
	if (!expression.debug)
		return error_set(error, -ENODATA,
				"compile it with -g or install its package of debug symbols; without, write it as TYPE:NAME:ADDR, as in `s32:n:%edi`",
				"there is no debug information for %s, so it is unknown where `%.128s` is",
				location->module->name, expression.text);
	has = debug_function(expression.debug, location->address, &expression.function);
	expression.where = (struct locate_frame){.debug = expression.debug,
			.function = has ? &expression.function : NULL,
			.address = location->address,
			.entry = location->entry};
	ret = spec_variable_read_value(&expression, ret_values, capacity, ret_count, ret_left_out);
	if (!ret && *expression.at)
		ret = spec_variable_set_error(&expression, "there is an unknown character");
	if (!ret && *name)
		fetch_name(ret_values[0].name, name);
	failed = debug_failed(location->module, error);
	return failed ? failed : ret;
}

/* The value of a number that is returned in other registers than rax, or in several. */
static bool number_result(struct item *item, struct value *ret_values)
{
	struct error ignored;
	bool left_out;
	size_t count;

	return locate_result(&item->type, &item->where) &&
			!item_values(item, ret_values, VARIABLE_RESULT_MAX, &count, &left_out,
					&ignored);
}

static bool find_result(const struct location *location, struct debug *debug,
		struct value values[VARIABLE_RESULT_MAX], bool *ret_nothing, bool *ret_left_out)
{
	struct item item = {.where.kind = LOCATED_VALUE};
	struct error ignored;
	Dwarf_Attribute attribute;
	struct value found[VARIABLE_RESULT_MAX] = {{.type = 0}};
	Dwarf_Die function;

	if (!debug_function(debug, location->address, &function))
		return false;
	if (!dwarf_attr_integrate(&function, DW_AT_type, &attribute)) {
		*ret_nothing = true;
		return false;
	}
	/* Structures are not recorded as a whole: users request members of them. */
	if (!type_of(&function, &item.type))
		return false;
	if (number_form(&item.type) > NUMBER_PLAIN) {
		*ret_nothing = *ret_left_out = !number_result(&item, found);
		if (*ret_nothing)
			return true;
	} else if (!locate_result(&item.type, &item.where) || item.where.kind != LOCATED_VALUE ||
			item_value(&item, found, &ignored)) {
		return false;
	}
	memcpy(found[0].name, values[0].name, sizeof(found[0].name));
	memcpy(values, found, sizeof(found));
	return true;
}

int variable_result(const struct location *location, struct value values[VARIABLE_RESULT_MAX],
		bool *ret_nothing, bool *ret_left_out, struct error *error)
{
	struct debug *debug = module_debug(location->module);
	bool found;
	int ret;

	*ret_nothing = *ret_left_out = false;
	found = debug && find_result(location, debug, values, ret_nothing, ret_left_out);
	ret = debug_failed(location->module, error);
	return ret ? ret : found;
}
