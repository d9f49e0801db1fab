/* SPDX-License-Identifier: MIT */
/*
 * Limits of the calls that `readside check` reads: the last permitted value, and one more. The test
 * includes the file, and replaces images.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../check.h"
#include "programs/readside/calls.h"
#include "programs/readside/check.h"
#include "elf/image.h"
#include "probe/code/code.h"
#include "symbolize/symbols.h"

/* ---- replaced functions ---- */

static unsigned int nr_mallocs, nr_opened, nr_reported, nr_followed, nr_without_memory;
static bool is_readable; /* the code of one function, which calls libside */
static size_t malloc_size, nr_segments_there, budget_there;

static void *played_malloc(size_t size)
{
	nr_mallocs++;
	malloc_size = size;
	return is_readable ? malloc(size) : NULL;
}

static void played_memory(void)
{
	nr_without_memory++;
}

static const struct image_segment *played_segments(const struct image *image, size_t *nr)
{
	(void)image;
	*nr = nr_segments_there;
	return NULL;
}

static int played_open(const char *path, struct code_file **file, struct error *error)
{
	(void)file;
	(void)error;
	CHECK(!strcmp(path, "/x"));
	nr_opened++;
	return is_readable ? 0 : -EINVAL;
}

static void played_report(struct check *check, const struct readside_event *event,
		const char *field, const char *text)
{
	CHECK(!check && !event && !strcmp(field, "f") &&
			!strcmp(text, "the call at 0x1234 does not match: why"));
	nr_reported++;
}

static int played_follow(struct image *image, uint64_t begin, const uint8_t *code, size_t size,
		const struct calls_flow_ops *ops)
{
	(void)image;
	(void)begin;
	(void)code;
	(void)size;
	budget_there = *ops->budget;
	nr_followed++;
	return 0;
}

static size_t played_functions(const struct code_file *file, const struct code_function **functions)
{
	static const struct code_function function = {.address = 0x1000, .size = 16};

	(void)file;
	*functions = &function;
	return 1;
}

static size_t nr_slots_there; /* of each function of libside */

static bool played_slot(
		const struct image *image, const char *name, size_t index, uint64_t *address)
{
	(void)image;
	*address = 0x7000 + 0x100 * strlen(name) + index;
	return index < nr_slots_there;
}

static bool played_symbol(
		const struct image *image, const char *name, bool all, struct image_symbol *symbol)
{
	(void)image;
	(void)all;
	symbol->address = 0x5000;
	return !strcmp(name, "side_call");
}

static int played_read(const struct image *image, uint64_t address, void *to, size_t size)
{
	(void)image;
	CHECK(address == 0x1000 && size == 16);
	memset(to, 0, size);
	return 0;
}

static void played_step(const uint8_t *code, size_t size, uint64_t address,
		struct calls_state *state, struct image *image, struct calls_step *step)
{
	(void)code;
	(void)address;
	(void)state;
	(void)image;
	*step = (struct calls_step){
			.goes = GOES_CALL, .target = 0x5000, .length = (unsigned int)size};
}

static void played_close(struct code_file *file)
{
	(void)file;
}

static const char *played_name(
		const struct code_file *file, const struct code_function *function, size_t index)
{
	(void)file;
	(void)function;
	(void)index;
	return NULL;
}

#define malloc played_malloc
#define message_out_of_memory() played_memory()
#define image_segments played_segments
#define image_machine(image) EM_X86_64
#define image_pointer_size(image) 8
#define image_is_object(image) false
#define code_open played_open
#define code_name played_name
#define check_report_call played_report
#define calls_follow played_follow
#define code_functions played_functions
#define code_close played_close
#define image_find_slot played_slot
#define image_find_symbol played_symbol
#define image_read played_read
#define calls_step(...) played_step(__VA_ARGS__)
#define symbols_create(options) ((struct symbols *)NULL)
#include "programs/readside/calls.c"
#undef malloc

/* Reserves address space, of which only used pages exist. */
static void *reserve(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static void test_code(void)
{
	struct code_function functions[2] = {{.address = 0x1000}, {.address = 0x2000}};
	struct calls_check calls = {.functions = functions, .nr_functions = 2};

	CHECK(CODE_MAX == 512u << 20);
	functions[0].size = 512u << 20;
	CHECK(!calls_read_function(&calls, &functions[0]) && nr_mallocs == 1 &&
			malloc_size == 512u << 20 && nr_without_memory == 1);
	functions[0].size++;
	CHECK(!calls_read_function(&calls, &functions[0]) && nr_mallocs == 1);
	functions[0].size = 0;
	CHECK(!calls_read_function(&calls, &functions[0]) && nr_mallocs == 1 &&
			nr_without_memory == 1);
	/* All functions together. */
	functions[0].size = (512u << 20) - 7;
	functions[1].size = 7;
	CHECK(!calls_check_all_functions(&calls) && nr_mallocs == 3);
	functions[1].size = 8;
	CHECK(calls_check_all_functions(&calls) == -E2BIG && nr_mallocs == 4);
}

static void test_jumps(void)
{
	const size_t most = 4u << 20;
	const struct calls_step step = {.target = 0x9000};
	const struct calls_candidate kind = {.at = 5};
	const struct code_function function = {.address = 0x9000};
	struct calls_check calls = {.jumps_capacity = most + 1, .nr_jumps = most - 1};
	struct calls_candidate *kinds = reserve((most + 1) * sizeof(*kinds));
	size_t nr = most - 1, capacity = most + 1, site = 0;
	struct calls_state *state = calls_state_new(256, 64);

	CHECK(JUMPS_MAX == most && state);
	calls.jumps = reserve((most + 1) * sizeof(*calls.jumps));
	CHECK(!calls_note_jump(&calls, 3, 0x1234, &step) && calls.nr_jumps == most);
	CHECK(calls.jumps[most - 1].to == 0x9000 && calls.jumps[most - 1].at == 0x1234 &&
			calls.jumps[most - 1].from == 3);
	CHECK(calls_note_jump(&calls, 3, 0x1234, &step) == -E2BIG && calls.nr_jumps == most);
	calls_note_candidate(&kinds, &nr, &capacity, &kind);
	CHECK(nr == most && kinds[most - 1].at == 5);
	calls_note_candidate(&kinds, &nr, &capacity, &kind);
	CHECK(nr == most && !kinds[most].at);
	calls.functions = &function;
	calls.sites = &site;
	calls.nr_sites = 1;
	calls.binding = reserve((most + 1) * sizeof(*calls.binding));
	calls.bindings_capacity = most + 1;
	calls.nr_bindings = most - 1;
	for (int64_t event = 7; event <= 8; event++) {
		state->registers[CALLS_RDI] = (struct calls_value){
				.kind = KNOWN_BYTES, .mask = 0xff, .number = event};
		calls_add_wrapper(&calls, 0x1234, &step, state);
		CHECK(calls.nr_bindings == most);
	}
	CHECK(calls.binding[most - 1].event == 7 && !calls.binding[most].event);
	free(state);
	munmap(calls.binding, (most + 1) * sizeof(*calls.binding));
	munmap(calls.jumps, (most + 1) * sizeof(*calls.jumps));
	munmap(kinds, (most + 1) * sizeof(*kinds));
}

static void test_reported(void)
{
	const struct code_function function = {.address = 0x1000};
	const struct calls_problem problem = {.field = "f", .text = "why"};
	struct calls_check calls = {.path = "/x", .wrong = 999};

	calls_report(&calls, &function, 0x1234, NULL, &problem);
	CHECK(nr_reported == 1);
	calls.wrong = 1000;
	calls_report(&calls, &function, 0x1234, NULL, &problem);
	CHECK(nr_reported == 1);
}

/* A file with more segments is not opened. */
static void test_segments(void)
{
	const struct readside_event event = {.path = "/x"};

	for (nr_segments_there = 63; nr_segments_there <= 65; nr_segments_there++) {
		nr_opened = 0;
		check_calls(NULL, NULL, "/x", &event, 1);
		CHECK(nr_opened == (nr_segments_there <= 64));
	}
}

/* All functions of a file share this number of steps (test-calls-flow.c). */
static void test_steps(void)
{
	const struct readside_event event = {.path = "/x"};

	is_readable = true;
	nr_segments_there = 1;
	check_calls(NULL, NULL, "/x", &event, 1);
	CHECK(nr_followed == 1 && budget_there == 64u << 20);
	is_readable = false;
}

/* Addresses of libside's four functions: 16 are known, in the order of the functions. */
static void test_slots(void)
{
	for (nr_slots_there = 3; nr_slots_there <= 5; nr_slots_there++) {
		struct calls_check calls = {.path = "/x"};

		calls_find_entries(&calls);
		CHECK(calls.nr_slots == (nr_slots_there == 3 ? 12 : 16) && calls.nr_targets == 1);
		CHECK(calls.slots[0].address == 0x7900 && !calls.slots[0].variadic);
		CHECK(calls.slots[nr_slots_there].address == 0x7000 + 0x100 * 18 &&
				calls.slots[nr_slots_there].variadic);
		CHECK(calls.slots[11].variadic == (nr_slots_there == 3));
	}
	nr_slots_there = 0;
}

int main(void)
{
	test_code();
	test_jumps();
	test_reported();
	test_segments();
	test_steps();
	test_slots();
	return 0;
}
