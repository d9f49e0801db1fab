/* SPDX-License-Identifier: MIT */
/*
 * From a probe request to the events and probes of a table: the test simulates locations, values
 * and code, and compares the written table, and each refusal. It includes the file, so that it can
 * call its static functions.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../called.h"

#include "symbolize/demangle.h"
#include "probe/spec/labels.h"
#include "probe/spec/operand.h"
#include "probe/spec/typed-values.h"
#include "probe/spec/variable.h"

/* ---- simulated parts ---- */

static int module_code_of; /* its address is that of the simulated code */
static char module_path[] = "/bin/kitchen", our_path[] = "/proc/1/root/bin/kitchen";
static struct resolve_module the_module;
static struct code_function function = {.address = 0x1000, .size = 0x100, .nr_names = 1};
static struct location places_of[80];
static size_t nr_places;
static bool has_reported, has_one_name;
static const char *piece_name;
static int entry_result, site_result;
static struct probe_site site_of;
static size_t nr_functions;
static bool has_exceptions;
static uint64_t instruction;      /* an instruction of 5 bytes starts there; 0: none */
static struct value variables[4]; /* the result of variable_values() */
static int variable_result_of;
static bool is_left_out;
static struct variable_names names_of;
static int names_result;
static struct value result_of[80]; /* of each location */
static bool found_of[80], nothing_of[80], out_of[80];
static int result_errors[80];
static size_t nr_operands_of[4]; /* of the text "a", "b", ... */
static int64_t added_result;
static const char *failing_add;
static unsigned int failing;   /* the allocation that fails; 0: none */
static uint64_t nr_inlined_of; /* calls that are no locations */
static bool is_unknown_inlined;

static int played_find(struct resolve *resolve, const struct probe_spec *request,
		struct locations *locations, struct error *error)
{
	(void)resolve;
	(void)request;
	if (!nr_places)
		return error_set(error, -ENOENT, "hint", "no location");
	locations->items = malloc(nr_places * sizeof(*locations->items));
	memcpy(locations->items, places_of, nr_places * sizeof(*locations->items));
	locations->count = nr_places;
	locations->note = has_reported ? strdup("told of them") : NULL;
	locations->one_name = has_one_name;
	locations->nr_inlined = nr_inlined_of;
	locations->is_inlined_unknown = is_unknown_inlined;
	locations->piece = (struct location){
			.module = &the_module, .name = piece_name, .address = 0x4444};
	return 0;
}

static int played_entry(
		struct code_file *file, const struct code_function *of, struct probe_site *site)
{
	assert_ptr_equal(file, &module_code_of);
	assert_ptr_equal(of, &function);
	*site = site_of;
	return entry_result;
}

static int played_site(struct code_file *file, uint64_t address, struct probe_site *site)
{
	assert_ptr_equal(file, &module_code_of);
	*site = site_of;
	site->address = address;
	if (!instruction)
		return site_result;
	site->nr_pieces = 1;
	site->pieces[0].length = 5;
	return address == instruction ? 0 : -EINVAL;
}

static size_t played_functions(const struct code_file *file, const struct code_function **functions)
{
	assert_ptr_equal(file, &module_code_of);
	*functions = &function;
	return nr_functions;
}

static bool played_exceptions(const struct code_file *file)
{
	assert_ptr_equal(file, &module_code_of);
	return has_exceptions;
}

static void played_kernel(struct probe_site *site)
{
	called("kernel %llx ", (unsigned long long)site->address);
}

/* A variable for each letter: its value is a register with the number of the letter. */
static int played_values(const struct location *location, const char *text, bool exit,
		struct value *values, size_t capacity, size_t *count, bool *left_out,
		struct error *error)
{
	assert_ptr_equal(location->module, &the_module);
	called("%s%s ", exit ? "exit:" : "", text);
	*count = 1;
	*left_out = is_left_out;
	assert_true(capacity <= 40);
	if (variable_result_of || *text == 'X')
		return error_set(error, *text == 'X' ? -ENOENT : variable_result_of, "",
				"no variable %s", text);
	values[0] = variables[0];
	(void)snprintf(values[0].name, sizeof(values[0].name), "%s", text);
	return fetch_op(&values[0].fetch, *text == 'S' ? PROBE_FETCH_THREAD : PROBE_FETCH_REGISTER,
			*text == 'S' ? 0 : (unsigned int)(*text - 'a') % 16, 0, 0);
}

static int played_names(const struct location *location, const char *text,
		struct variable_names *names, struct error *error)
{
	assert_ptr_equal(location->module, &the_module);
	*names = names_of;
	return names_result ? error_set(error, names_result, "", "no names of %s", text) : 0;
}

static int played_result(const struct location *location, struct value values[VARIABLE_RESULT_MAX],
		bool *nothing, bool *left_out, struct error *error)
{
	size_t i = (size_t)(location->address % 100);

	*nothing = *left_out = false;
	if (result_errors[i])
		return error_set(error, result_errors[i], "", "no result of %zu", i);
	if (found_of[i])
		values[0] = result_of[i];
	*nothing = nothing_of[i];
	*left_out = out_of[i];
	return found_of[i];
}

static int played_operands(const char *text, struct resolve_module *of, struct value *values,
		size_t *count, struct error *error)
{
	assert_ptr_equal(of, &the_module);
	*count = 0;
	if (*text == '!')
		return error_set(error, -EINVAL, "", "bad operands");
	*count = nr_operands_of[*text - 'a'];
	for (size_t i = 0; i < *count; i++) {
		values[i] = (struct value){
				.type = *text == 'b' ? PROBE_FIELD_SIGNED : PROBE_FIELD_UNSIGNED,
				.size = 8};
		(void)snprintf(values[i].name, sizeof(values[i].name), "arg%zu", i + 1);
		(void)fetch_op(&values[i].fetch, PROBE_FETCH_REGISTER, 5, 0, 0);
	}
	return 0;
}

static char *played_labels(Dwarf_Die *enumeration)
{
	return enumeration->addr ? strdup(enumeration->addr) : NULL;
}

static bool is_failing(const char *name)
{
	return failing_add && !strcmp(failing_add, name);
}

static int64_t played_module(struct probe_table_writer *writer, const struct probe_table_module *of)
{
	assert_ptr_equal(writer, &module_code_of);
	called("module %s %s %u %u\n", of->path, of->name, of->flags, of->build_id_size);
	return is_failing("module") ? added_result : 6;
}

static int64_t nr_events;
static uint32_t nr_fields[2]; /* of the events of a probe */

static int64_t played_event(
		struct probe_table_writer *writer, const struct probe_table_event *event)
{
	assert_ptr_equal(writer, &module_code_of);
	called("event %s:%s", event->provider, event->name);
	for (uint32_t i = 0; i < event->nr_fields; i++)
		called(" %s/%u/%u/%u%s%s", event->fields[i].name, event->fields[i].type,
				event->fields[i].size, event->fields[i].limit,
				event->fields[i].guarded ? "?" : "",
				event->fields[i].labels ? event->fields[i].labels : "");
	called("\n");
	nr_fields[strstr(event->name, "_return") != NULL] = event->nr_fields;
	return is_failing("event") || (is_failing("return") && strstr(event->name, "_return"))
			? added_result
			: nr_events++;
}

static int64_t played_probe(
		struct probe_table_writer *writer, const struct probe_table_probe *probe)
{
	assert_ptr_equal(writer, &module_code_of);
	called("probe %s %llx in %u events %d %d flags %u semaphore %llx\n", probe->function,
			(unsigned long long)probe->site.address, probe->module, (int)probe->entry,
			(int)probe->exit, probe->flags, (unsigned long long)probe->semaphore);
	/* Each field has a fetch. */
	for (uint32_t i = 0; i < nr_fields[0] && (int)probe->entry >= 0; i++)
		assert_true(probe->entry_fetches[i].nr_ops - 1u < 7u &&
				probe->entry_fetches[i].ops[0].code);
	for (uint32_t i = 0; i < nr_fields[1] && (int)probe->exit >= 0; i++)
		assert_true(probe->exit_fetches[i].nr_ops - 1u < 7u &&
				probe->exit_fetches[i].ops[0].code);
	return is_failing("probe") ? added_result : 0;
}

static void *played_calloc(size_t count, size_t size)
{
	return failing && !--failing ? NULL : calloc(count, size);
}

#define locations_find played_find
#define code_entry played_entry
#define code_site played_site
#define code_functions played_functions
#define code_has_exceptions played_exceptions
#define code_for_kernel played_kernel
#define variable_values played_values
#define variable_names(location, text, names, error) played_names(location, text, names, error)
#define variable_result played_result
#define operands_read played_operands
#define item_labels played_labels
#define probe_table_add_module played_module
#define probe_table_add_event played_event
#define probe_table_add_probe played_probe
#define calloc played_calloc
#include "probe/spec/table.c"

/* ---- helpers ---- */

static struct error the_error;
static struct probe_spec request;
static struct resolve all = {.modules = &the_module, .nr_modules = 1};

static void note_refusal(void *user, const struct resolve_refusal *refusal)
{
	assert_ptr_equal(user, &request);
	called("refused %d %s %s %llx: %s; %s\n", (int)refusal->what, refusal->module,
			refusal->function, (unsigned long long)refusal->address, refusal->reason,
			refusal->hint ? refusal->hint : "-");
}

static void begin(void)
{
	the_module = (struct resolve_module){.path = module_path,
			.our_path = our_path,
			.name = "kitchen",
			.executable = true,
			.build_id_size = 20,
			.code = (struct code_file *)&module_code_of};
	nr_places = 1;
	for (size_t i = 0; i < 80; i++)
		places_of[i] = (struct location){.module = &the_module,
				.function = &function,
				.address = 0x1000 / 100 * 100 + i,
				.name = "cook",
				.entry = true};
	has_reported = has_one_name = false;
	piece_name = NULL;
	entry_result = site_result = 0;
	site_of = (struct probe_site){.address = 0x1000, .method = PROBE_JUMP};
	nr_functions = 1;
	has_exceptions = false;
	instruction = 0;
	variables[0] = (struct value){.type = PROBE_FIELD_SIGNED, .size = 4};
	variable_result_of = names_result = 0;
	is_left_out = false;
	names_of = (struct variable_names){.count = 0};
	memset(result_of, 0, sizeof(result_of));
	memset(found_of, 0, sizeof(found_of));
	memset(nothing_of, 0, sizeof(nothing_of));
	memset(out_of, 0, sizeof(out_of));
	memset(result_errors, 0, sizeof(result_errors));
	nr_operands_of[0] = 2;
	nr_operands_of[1] = 1;
	added_result = -E2BIG;
	failing_add = NULL;
	failing = 0;
	nr_events = 30;
	request = (struct probe_spec){.kind = RESOLVE_FUNCTION, .location_text = "cook"};
	the_error = (struct error){.code = 0};
	*calls = '\0';
}

static int make(void)
{
	return resolve_spec(&all, &request, (struct probe_table_writer *)&module_code_of,
			note_refusal, &request, &the_error);
}

static void expect_error(int ret, int wanted, const char *text, const char *hint)
{
	assert_int_equal(ret, wanted);
	assert_string_equal(the_error.text, text);
	assert_string_equal(the_error.hint, hint);
}

#define MODULE "module /bin/kitchen kitchen 1 20\n"

/* ---- whole requests ---- */

static void test_simple(void **state)
{
	(void)state;
	begin();
	places_of[0].semaphore = 0x77;
	assert_int_equal(make(), 0);
	assert_called("event probe:cook\n" MODULE
		      "probe cook 1000 in 6 events 30 -1 flags 0 semaphore 77\n");
	begin();
	request.exits = true;
	assert_int_equal(make(), 0);
	assert_called("event probe:cook call/1/8/0\nevent probe:cook_return call/1/8/0 duration/1/8/0 return_value/2/8/0\n" MODULE
		      "probe cook 1000 in 6 events 30 31 flags 0 semaphore 0\n");
	/* A function without a result, and one whose result fits into no field. */
	found_of[0] = nothing_of[0] = out_of[0] = true;
	*calls = '\0';
	assert_int_equal(make(), 0);
	assert_called("refused 2 kitchen cook fa0: the return value is left out: no field can hold its type; -\n"
		      "event probe:cook call/1/8/0\nevent probe:cook_return call/1/8/0 duration/1/8/0\n" MODULE
		      "probe cook 1000 in 6 events 32 33 flags 0 semaphore 0\n");
	/* Without a name: the address. */
	begin();
	places_of[0].name = "";
	request.kernel = true;
	assert_int_equal(make(), 0);
	assert_called("kernel 1000 event probe:cook\nmodule /proc/1/root/bin/kitchen kitchen 1 20\n"
		      "probe 0x1000 1000 in 6 events 30 -1 flags 0 semaphore 0\n");
	begin();
	the_module.our_path = NULL;
	the_module.executable = false;
	request.kernel = true;
	assert_int_equal(make(), 0);
	assert_non_null(strstr(calls, "module /bin/kitchen kitchen 0 20\n"));
	/* A register that functions preserve. */
	begin();
	request.arguments = (const char *const[]){"d"};
	request.nr_arguments = 1;
	assert_int_equal(make(), 0);
	assert_called("d event probe:cook d/2/4/0\n" MODULE
		      "probe cook 1000 in 6 events 30 -1 flags 1 semaphore 0\n");
	begin();
	nr_places = 0;
	expect_error(make(), -ENOENT, "no location", "hint");
}

static void test_refused(void **state)
{
	static const char *const context[] = {"exit:regs"};

	(void)state;
	begin();
	request.exits = true;
	request.kind = RESOLVE_LOCATION;
	expect_error(make(), -EINVAL, "only functions have an exit", "use `--function`");
	request.exits = false;
	request.contexts = context;
	request.nr_contexts = 1;
	expect_error(make(), -EINVAL,
			"cannot record `exit:regs`: it is a value at the return, and `--exit` is not given",
			"add `--exit`, or leave it out");
	request.kind = RESOLVE_FUNCTION;
	expect_error(make(), -EINVAL,
			"cannot record `exit:regs`: it is a value at the return, and `--exit` is not given",
			"add `--exit`");
	request.exits = true;
	assert_int_equal(make(), 0);
	begin();
	site_of.method = PROBE_NONE;
	expect_error(make(), -ENOTSUP, "cook at 0x1000 cannot be probed: its code is unknown",
			"`side probe list` lists the functions that can be probed");
	site_of.reason = "it is too short";
	places_of[0].name = "";
	expect_error(make(), -ENOTSUP, "kitchen at 0x1000 cannot be probed: it is too short",
			"`side probe list` lists the functions that can be probed");
	begin();
	request.exits = true;
	places_of[0].inlined = true;
	expect_error(make(), -ENOTSUP,
			"the compiler has inlined `cook` into cook, so its end is unknown",
			"leave `--exit` and `--ret` out, or compile it with `-fno-inline`");
	places_of[0].name = "";
	expect_error(make(), -ENOTSUP,
			"the compiler has inlined `cook` into another function, so its end is unknown",
			"leave `--exit` and `--ret` out, or compile it with `-fno-inline`");
	begin();
	request.exits = true;
	site_of.no_exit = "it never returns";
	expect_error(make(), -ENOTSUP, "cannot record returns from cook: it never returns",
			"leave `--exit` out");
	assert_called("");
	entry_result = -ENOMEM;
	expect_error(make(), -ENOMEM, "out of memory", "");
	entry_result = -ENOENT;
	expect_error(make(), -ENOENT, "no known function has code at 0xfa0 of kitchen",
			"`side probe list` shows where functions begin");
	nr_functions = 0;
	expect_error(make(), -ENOENT,
			"kitchen has neither symbols nor .eh_frame, and side finds no path from its entry to 0xfa0, so an instruction may not begin there",
			"install its debug symbols, or use a build of it that is not stripped");
}

/* The instruction at the location starts 15 bytes before it at most. */
static void test_instructions(void **state)
{
	(void)state;
	begin();
	request.kind = RESOLVE_LOCATION;
	places_of[0].entry = false;
	places_of[0].address = 0x1010;
	instruction = 0x100c;
	expect_error(make(), -EINVAL, "no instruction of kitchen begins at 0x1010",
			"one begins at 0x100c, the next one at 0x1011");
	instruction = 0x100b;
	expect_error(make(), -EINVAL, "no instruction of kitchen begins at 0x1010", "");
	instruction = 0x100f;
	expect_error(make(), -EINVAL, "no instruction of kitchen begins at 0x1010",
			"one begins at 0x100f, the next one at 0x1014");
	instruction = 0x1010;
	assert_int_equal(make(), 0);
}

static void test_exceptions(void **state)
{
	static const char note[] =
			"refused 2 kitchen cook fa0: the kernel watches the returns: an exception that leaves one of these functions ends the program; -\n";

	(void)state;
	begin();
	nr_places = 2;
	has_exceptions = request.kernel = request.exits = true;
	expect_error(make(), -ENOTSUP,
			"cannot watch returns from cook: kitchen handles exceptions, and one that leaves a function whose return the kernel watches ends the program",
			"leave `--exit` out; or, if no exception leaves it, add `--allow-unsafe-exit` (or `--force`, if it need not overwrite a trace)");
	places_of[0].name = "";
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(the_error.text, "returns from that address: kitchen"));
	assert_called("");
	places_of[0].name = "cook";
	request.forced = true;
	assert_int_equal(make(), 0);
	assert_memory_equal(calls, note, sizeof(note) - 1);
	assert_null(strstr(calls + 1, "refused"));
	*calls = '\0';
	has_exceptions = false;
	assert_int_equal(make(), 0);
	assert_null(strstr(calls, "refused"));
}

/* ---- several locations ---- */

static void test_several(void **state)
{
	(void)state;
	begin();
	nr_places = 2;
	has_reported = true;
	piece_name = "cook.part.0";
	assert_int_equal(make(), 0);
	assert_called("event probe:cook function/6/1/256 address/3/8/0\n" MODULE
		      "probe cook 1000 in 6 events 30 -1 flags 0 semaphore 0\n"
		      "probe cook 1000 in 6 events 30 -1 flags 0 semaphore 0\n"
		      "refused 2 kitchen cook fa0: told of them; -\n"
		      "refused 0 kitchen cook.part.0 4444: it is only a piece of the function, whose beginning is inlined in callers; `--function 'cook.part.0'` probes it\n");
	/* The first one cannot be probed, or neither. */
	begin();
	nr_places = 2;
	places_of[0].entry = false;
	site_result = -ENOENT;
	assert_int_equal(make(), 0);
	assert_called("refused 0 kitchen cook fa0: no known function has code at 0xfa0 of kitchen; -\n"
		      "event probe:cook function/6/1/256 address/3/8/0\n" MODULE
		      "probe cook 1000 in 6 events 30 -1 flags 0 semaphore 0\n");
	places_of[1].entry = false;
	has_reported = true;
	piece_name = "cook.part.0";
	expect_error(make(), -ENOTSUP, "no known function has code at 0xfa1 of kitchen",
			"`side probe list` shows where functions begin");
	assert_called("refused 0 kitchen cook fa0: no known function has code at 0xfa0 of kitchen; -\n"
		      "refused 0 kitchen cook fa1: no known function has code at 0xfa1 of kitchen; -\n");
	/* Each is a separate event. */
	begin();
	nr_places = 2;
	request.separate = true;
	places_of[1].name = "cook";
	assert_int_equal(make(), 0);
	assert_called("event probe:cook\n" MODULE
		      "probe cook 1000 in 6 events 30 -1 flags 0 semaphore 0\n"
		      "event probe:cook_2\nprobe cook 1000 in 6 events 31 -1 flags 0 semaphore 0\n");
	/* No return can be seen: for functions of the compiler that is not reported. */
	begin();
	nr_places = 2;
	request.exits = true;
	site_of.no_exit = "it never returns";
	places_of[1].name = "_start";
	assert_int_equal(make(), 0);
	assert_non_null(strstr(calls, "probe cook 1000 in 6 events 30 -1 "));
	assert_int_equal(strstr(calls, "refused 1 kitchen cook fa0: it never returns; -\n") != NULL,
			true);
	assert_null(strstr(calls, "refused 1 kitchen _start"));
	*calls = '\0';
	/* Calls that are inlined are reported, with the name without the suffix of a copy. */
	begin();
	for (size_t i = 0; i < 3; i++) {
		static const char *const wanted[] = {"is also inlined at 1 location of kitchen, ",
				"is also inlined at 2 locations of kitchen, ",
				"is also inlined at 2 or more locations of kitchen, "};
		char text[512];

		nr_inlined_of = i ? 2 : 1;
		is_unknown_inlined = i == 2;
		places_of[0].name = "cook.isra.0";
		assert_int_equal(make(), 0);
		snprintf(text, sizeof(text),
				"refused 2 kitchen cook.isra.0 fa0: `cook` %swhere it is not recorded; `side probe list /bin/kitchen 'cook'` lists them; `--probe 0xADDR` records one\n",
				wanted[i]);
		assert_non_null(strstr(calls, text));
		*calls = '\0';
	}
	nr_inlined_of = 0;
	/* Inlined code contains the start, so no piece is missing. */
	begin();
	piece_name = "cook.part.0";
	places_of[0].inlined = true;
	assert_int_equal(make(), 0);
	assert_null(strstr(calls, "refused"));
	*calls = '\0';
}

/* ---- operands of markers ---- */

static void test_operands(void **state)
{
	(void)state;
	begin();
	request.kind = RESOLVE_MARKER;
	request.location_text = "pot:b[oi]l";
	nr_places = 3;
	places_of[0].operands = "a";
	places_of[1].operands = "b";
	places_of[2].operands = "!";
	/* The sign at any location counts, and a missing operand is 0. */
	assert_int_equal(make(), 0);
	assert_called("event pot:b_oi_l function/6/1/256 address/3/8/0 arg1/2/8/0 arg2/1/8/0\n" MODULE
		      "probe cook 1000 in 6 events 30 -1 flags 0 semaphore 0\n"
		      "probe cook 1000 in 6 events 30 -1 flags 0 semaphore 0\n"
		      "refused 0 kitchen cook fa2: bad operands; -\n");
	nr_places = 1;
	places_of[0].operands = "!";
	expect_error(make(), -EINVAL, "bad operands", "");
}

/* ---- all arguments ---- */

static void test_all_arguments(void **state)
{
	static const char *const params[] = {"$params"};
	static const char some[] =
			"refused 2 kitchen cook fa0: some variables are left out: the compiler has optimized them out, the kernel cannot read them, or they do not fit; request one by name to see the reason; -\n";
	char wanted[512];

	(void)state;
	begin();
	request.arguments = params;
	request.nr_arguments = 1;
	names_of = (struct variable_names){.names = {"a", "S", "b"}, .count = 3};
	assert_int_equal(make(), 0);
	assert_called("a S b event probe:cook a/2/4/0 S/2/4/0 b/2/4/0\n" MODULE
		      "probe cook 1000 in 6 events 30 -1 flags 0 semaphore 0\n");
	/* The kernel cannot fetch one of them, and one does not exist. */
	request.kernel = true;
	names_of.names[2] = "X";
	assert_int_equal(make(), 0);
	(void)snprintf(wanted, sizeof(wanted), "kernel 1000 a S X %sevent probe:cook a/2/4/0\n",
			some);
	assert_memory_equal(calls, wanted, strlen(wanted));
	request.kernel = false;
	names_of.count = 1;
	*calls = '\0';
	names_of.left_out = true;
	assert_int_equal(make(), 0);
	(void)snprintf(wanted, sizeof(wanted), "a %sevent probe:cook a/2/4/0\n", some);
	assert_memory_equal(calls, wanted, strlen(wanted));
	names_of.left_out = false;
	variable_result_of = -ENOMEM;
	expect_error(make(), -ENOMEM, "no variable a", "");
	variable_result_of = 0;
	names_result = -ENODATA;
	expect_error(make(), -ENODATA, "no names of $params", "");
	/* Some of many functions have none. */
	nr_places = 2;
	request.separate = true;
	*calls = '\0';
	assert_int_equal(make(), 0);
	assert_null(strstr(calls, "refused"));
	names_result = -ENOMEM;
	assert_int_equal(make(), -ENOMEM);
	/* Members that do not fit are reported once. */
	begin();
	request.arguments = (const char *const[]){"a"};
	request.nr_arguments = 1;
	nr_places = 2;
	is_left_out = true;
	assert_int_equal(make(), 0);
	assert_non_null(strstr(calls,
			"some members of a structure are left out: they do not fit, or cannot be read"));
	assert_null(strstr(strstr(calls, "some members") + 1, "some members"));
	*calls = '\0';
}

/* ---- results ---- */

static void set_result(size_t i, uint8_t type, uint8_t size, const char *labels)
{
	found_of[i] = true;
	result_of[i] = (struct value){.name = "return_value", .type = type, .size = size};
	result_of[i].enumeration.addr = (void *)(uintptr_t)labels;
	(void)fetch_op(&result_of[i].fetch, PROBE_FETCH_REGISTER, 0, 0, 0);
}

static void test_results(void **state)
{
	static const char one[] = "A=1", same[] = "A=1", other[] = "B=1";
	struct locations locations = {.items = places_of, .count = 3, .one_name = true};

	(void)state;
	begin();
	assert_false(is_same_result(&locations, &the_error));
	for (size_t i = 0; i < 65; i++)
		set_result(i, PROBE_FIELD_SIGNED, 4, NULL);
	assert_true(is_same_result(&locations, &the_error));
	locations.one_name = false;
	assert_false(is_same_result(&locations, &the_error));
	locations.one_name = true;
	locations.count = 64;
	assert_true(is_same_result(&locations, &the_error));
	locations.count = 65;
	assert_false(is_same_result(&locations, &the_error));
	locations.count = 2;
	found_of[1] = false;
	assert_false(is_same_result(&locations, &the_error));
	found_of[1] = true;
	nothing_of[1] = true;
	assert_false(is_same_result(&locations, &the_error));
	nothing_of[0] = true;
	result_of[1].size = 8;
	assert_true(is_same_result(&locations, &the_error));
	nothing_of[0] = nothing_of[1] = false;
	assert_false(is_same_result(&locations, &the_error));
	result_of[1].size = 4;
	out_of[1] = true;
	assert_false(is_same_result(&locations, &the_error));
	out_of[1] = false;
	result_of[1].type = PROBE_FIELD_HEX;
	assert_false(is_same_result(&locations, &the_error));
	set_result(1, PROBE_FIELD_SIGNED, 4, NULL);
	result_of[1].fetch.ops[0].reg = 1;
	assert_false(is_same_result(&locations, &the_error));
	result_of[1].fetch.ops[0].reg = 0;
	(void)fetch_add(&result_of[1].fetch, 5);
	assert_false(is_same_result(&locations, &the_error));
	set_result(0, PROBE_FIELD_SIGNED, 4, one);
	set_result(1, PROBE_FIELD_SIGNED, 4, same);
	assert_true(is_same_result(&locations, &the_error));
	set_result(1, PROBE_FIELD_SIGNED, 4, other);
	assert_false(is_same_result(&locations, &the_error));
	set_result(1, PROBE_FIELD_SIGNED, 4, NULL);
	assert_true(is_same_result(&locations, &the_error));
	found_of[0] = found_of[1] = false;
	nothing_of[0] = nothing_of[1] = true;
	assert_true(is_same_result(&locations, &the_error));
	/* A result that cannot be read is neither equal nor different. */
	result_errors[1] = -EMFILE;
	expect_error(is_same_result(&locations, &the_error), -EMFILE, "no result of 1", "");
	nr_places = 2;
	has_one_name = request.exits = true;
	expect_error(make(), -EMFILE, "no result of 1", "");
	assert_called("");
	nr_places = 1;
	result_errors[0] = -ENOMEM;
	has_one_name = false;
	expect_error(make(), -ENOMEM, "no result of 0", "");
	assert_called("");
}

/* ---- fields ---- */

static void test_fields(void **state)
{
	static struct values values;
	struct value value = {.name = "a", .type = PROBE_FIELD_SIGNED, .size = 4};
	struct value structure[] = {{.name = "s", .type = PROBE_FIELD_STRUCT, .size = 1},
			{.name = "a", .type = PROBE_FIELD_SIGNED, .size = 4}};

	(void)state;
	begin();
	assert_int_equal(spec_table_add_value(&values, &value, &the_error), 0);
	assert_int_equal(spec_table_add_value(&values, &value, &the_error), 0);
	assert_int_equal(values.count, 1);
	value.size = 8;
	assert_int_equal(spec_table_add_value(&values, &value, &the_error), 0);
	assert_string_equal(values.items[1].name, "a_2");
	value.size = 2;
	assert_int_equal(spec_table_add_value(&values, &value, &the_error), 0);
	assert_string_equal(values.items[2].name, "a_3");
	/* Members have separate names. */
	assert_int_equal(spec_table_add_value(&values, structure, &the_error), 0);
	assert_int_equal(values.count, 5);
	assert_string_equal(values.items[4].name, "a");
	structure[1].size = 8;
	assert_int_equal(spec_table_add_value(&values, structure, &the_error), 0);
	assert_string_equal(values.items[5].name, "s_2");
	assert_int_equal(values.count, 7);
	/* At most 64. */
	values.count = 62;
	strcpy(structure[0].name, "t");
	assert_int_equal(spec_table_add_value(&values, structure, &the_error), 0);
	assert_int_equal(values.count, 64);
	expect_error(spec_table_add_value(&values, &value, &the_error), -E2BIG,
			"an event has at most 64 fields", "request fewer values");
	values.count = 63;
	expect_error(spec_table_add_value(&values, structure, &the_error), -E2BIG,
			"an event has at most 64 fields", "request fewer values");
}

static void test_same_fields(void **state)
{
	static struct values one, other;
	static const char labels[] = "A=1", others[] = "B=1";

	(void)state;
	begin();
	one.count = other.count = 1;
	one.items[0] = other.items[0] = (struct value){
			.name = "a", .type = PROBE_FIELD_STRING, .size = 1, .limit = 5};
	assert_int_equal(same_fields(&one, &other, &the_error), 0);
	other.count = 0;
	expect_error(same_fields(&one, &other, &the_error), -EINVAL, "`a` is missing there", "");
	other.count = 1;
	strcpy(other.items[0].name, "b");
	expect_error(same_fields(&one, &other, &the_error), -EINVAL, "`a` is missing there", "");
	for (int i = 0; i < 4; i++) {
		other.items[0] = one.items[0];
		other.items[0].type += i == 0;
		other.items[0].size += i == 1;
		other.items[0].limit += i == 2;
		if (i == 3) {
			one.items[0].enumeration.addr = (void *)(uintptr_t)labels;
			other.items[0].enumeration.addr = (void *)(uintptr_t)others;
		}
		expect_error(same_fields(&one, &other, &the_error), -EINVAL,
				"`a` is of another type there", "");
	}
}

/* The return address of a function that the agent watches; the kernel may fail to read it. */
static void test_top_of_stack(void **state)
{
	struct probe_spec spec = {.kind = RESOLVE_FUNCTION};
	const struct table_builder builder = {.spec = &spec};
	struct value value = {.type = PROBE_FIELD_HEX, .size = 8, .guarded = true};

	(void)state;
	(void)fetch_op(&value.fetch, PROBE_FETCH_REGISTER, PROBE_STACK_POINTER, 0, 0);
	assert_false(is_top_of_stack(&builder, &value));
	(void)fetch_op(&value.fetch, PROBE_FETCH_LOAD, 0, 8, 0);
	assert_true(is_top_of_stack(&builder, &value));
	value.limit = 9;
	assert_false(is_top_of_stack(&builder, &value));
	value.limit = 0;
	spec.kernel = true;
	assert_false(is_top_of_stack(&builder, &value));
	spec = (struct probe_spec){.kind = RESOLVE_MARKER};
	assert_false(is_top_of_stack(&builder, &value));
	spec.kind = RESOLVE_FUNCTION;
	value.fetch.nr_ops = 0;
	(void)fetch_op(&value.fetch, PROBE_FETCH_REGISTER, 5, 0, 0);
	(void)fetch_op(&value.fetch, PROBE_FETCH_LOAD, 0, 8, 0);
	assert_false(is_top_of_stack(&builder, &value));
}

static void test_guarded(void **state)
{
	struct value value = {.type = PROBE_FIELD_STRING, .limit = 9, .guarded = false};

	(void)state;
	assert_false(is_guarded(&value));
	(void)fetch_op(&value.fetch, PROBE_FETCH_REGISTER, 5, 0, 0);
	assert_true(is_guarded(&value));
	value.limit = 0;
	assert_false(is_guarded(&value));
	value.guarded = true;
	assert_true(is_guarded(&value));
	value.type = PROBE_FIELD_STRUCT;
	assert_false(is_guarded(&value));
	value.type = PROBE_FIELD_BACKTRACE;
	assert_false(is_guarded(&value));
	value = (struct value){.type = PROBE_FIELD_BYTES, .limit = 9};
	(void)fetch_op(&value.fetch, PROBE_FETCH_REGISTER, 5, 0, 0);
	(void)fetch_add(&value.fetch, 8);
	assert_false(is_guarded(&value));
	(void)fetch_op(&value.fetch, PROBE_FETCH_LOAD, 0, 8, 0);
	assert_true(is_guarded(&value));
}

/* ---- names ---- */

static void expect_name(enum resolve_kind kind, const char *name, const char *location_text,
		const char *wanted)
{
	const struct probe_spec of = {.kind = kind, .name = name, .location_text = location_text};
	/* Of LIB:PROVIDER:NAME, the last two are the name. */
	const struct table_builder builder = {.spec = &of,
			.locations.marker = !strncmp(location_text, "lib.so:", 7)
					? location_text + 7
					: NULL};
	char provider[256], event[256], text[600];

	event_name(&builder, provider, event);
	(void)snprintf(text, sizeof(text), "%s|%s", provider, event);
	assert_string_equal(text, wanted);
}

static void test_names(void **state)
{
	(void)state;
	expect_name(RESOLVE_FUNCTION, NULL, "cook", "probe|cook");
	expect_name(RESOLVE_FUNCTION, NULL, "libpot:boil", "probe|boil");
	expect_name(RESOLVE_LOCATION, NULL, "cook.c:17", "probe|cook_c_17");
	expect_name(RESOLVE_FUNCTION, NULL, "pot::boil", "probe|pot_boil");
	expect_name(RESOLVE_FUNCTION, NULL, "*", "probe|function");
	expect_name(RESOLVE_FUNCTION, "meal", "cook", "probe|meal");
	expect_name(RESOLVE_FUNCTION, "my:meal", "cook", "my|meal");
	expect_name(RESOLVE_FUNCTION, ":meal", "cook", "probe|:meal");
	expect_name(RESOLVE_FUNCTION, "meal:", "cook", "probe|meal:");
	expect_name(RESOLVE_FUNCTION, "my:own:meal", "cook", "my|own:meal");
	expect_name(RESOLVE_MARKER, NULL, "my:own:meal", "my_own|meal");
	expect_name(RESOLVE_MARKER, NULL, "my:me[a]l", "my|me_a_l");
	expect_name(RESOLVE_MARKER, NULL, "lib.so:my:own:meal", "my_own|meal");
	expect_name(RESOLVE_MARKER, "a:b", "lib.so:my:meal", "a|b");
	for (size_t i = 0; i < 7; i++) {
		static const char *const names[] = {"_start", "_init", "_fini", "frame_dummy",
				"register_tm_clones", "deregister_tm_clones",
				"__do_global_dtors_aux"};

		assert_true(is_of_compiler(names[i]));
	}
	assert_false(is_of_compiler("cook"));
}

/* ---- failures ---- */

static void test_failures(void **state)
{
	(void)state;
	begin();
	failing_add = "event";
	expect_error(make(), -E2BIG,
			"cannot define the event probe:cook with these fields: Argument list too long",
			"");
	added_result = -EINVAL;
	expect_error(make(), -EINVAL,
			"cannot define the event probe:cook with these fields: Invalid argument",
			"choose another NAME, or request fewer values");
	failing_add = "return";
	request.exits = true;
	expect_error(make(), -EINVAL,
			"cannot define the event probe:cook_return with these fields: Invalid argument",
			"choose another NAME, or request fewer values");
	request.exits = false;
	failing_add = "module";
	added_result = -ENOMEM;
	assert_int_equal(make(), -ENOMEM);
	assert_string_equal(the_error.text,
			"cannot add the probe at 0x1000 to the probe table: Cannot allocate memory");
	failing_add = "probe";
	added_result = -E2BIG;
	expect_error(make(), -E2BIG,
			"cannot add the probe at 0x1000 to the probe table: Argument list too long",
			"");
	/* The request, its operands and the values of a location. */
	for (unsigned int i = 1; i <= 4; i++) {
		begin();
		request.arguments = (const char *const[]){"a"};
		request.nr_arguments = 1;
		nr_places = 2;
		failing = i;
		expect_error(make(), -ENOMEM, "out of memory", "");
		assert_int_equal(failing, 0);
		assert_called("");
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_simple),
			cmocka_unit_test(test_refused),
			cmocka_unit_test(test_instructions),
			cmocka_unit_test(test_exceptions),
			cmocka_unit_test(test_several),
			cmocka_unit_test(test_operands),
			cmocka_unit_test(test_all_arguments),
			cmocka_unit_test(test_results),
			cmocka_unit_test(test_fields),
			cmocka_unit_test(test_same_fields),
			cmocka_unit_test(test_guarded),
			cmocka_unit_test(test_top_of_stack),
			cmocka_unit_test(test_names),
			cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
