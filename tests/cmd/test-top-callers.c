/* SPDX-License-Identifier: MIT */
/* The callers of `side top`: counts, order, the limit, and when mappings are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../called.h"

#include "analysis/listener.h"
#include "analysis/stacks.h"
#include "analysis/trace-symbols.h"
#include "ctf/ctf.h"
#include "programs/common/command.h"
#include "symbolize/symbols.h"

static char memory;
static uint64_t address;
static bool has_stack = true, has_symbols = true, is_exact;
static struct ctf_trace traces[2];
static int maps_result;

static struct symbols *played_start(bool debuginfod, const struct analysis_listener *listener)
{
	assert_non_null(listener->report);
	called("start %d;", debuginfod);
	return has_symbols ? (struct symbols *)(void *)&memory : NULL;
}

static bool played_read(const struct event_stack_class *class, const struct ctf_item *item,
		struct stack *ret_stack)
{
	assert_ptr_equal(class, &memory);
	ret_stack->trace = 1;
	ret_stack->ns = item->ns;
	ret_stack->is_exact = is_exact;
	ret_stack->count = 1;
	ret_stack->addresses[0] = address;
	return has_stack;
}

static int played_maps(struct symbols *symbols, uint32_t process, const char *path)
{
	assert_ptr_equal(symbols, &memory);
	called("maps %u %s;", process, path);
	return maps_result;
}

static const struct ctf_trace *played_trace(const struct ctf_reader *reader, uint32_t index)
{
	assert_ptr_equal(reader, &memory);
	return &traces[index];
}

#define trace_symbols_start played_start
#define trace_symbols_add(symbols, item) ((void)(item), called("add;"), -ENOMEM)
#define event_stack_read played_read
#define symbols_free(symbols) called("free %d;", (symbols) != NULL)
#define symbols_forget(symbols) called("forget;")
#define symbols_maps played_maps
#define ctf_reader_trace_count(reader) 2u
#define ctf_reader_trace played_trace
#include "programs/side/watch/top-callers.c"

static struct top_callers callers;

static void start(uint64_t most)
{
	const struct top_options options = {.callers = most, .debuginfod = true};

	assert_int_equal(top_callers_start(&callers, &options), 0);
}

static void count(uint64_t at, int64_t ns, bool now)
{
	const struct ctf_item item = {.ns = ns};

	address = at;
	top_callers_count(
			&callers, (const struct event_stack_class *)(void *)&memory, &item, 7, now);
}

static void test_none(void **unused)
{
	const struct ctf_item item = {.ns = 1};

	(void)unused;
	start(0);
	count(5, 1, true);
	assert_int_equal(top_callers_add_code(&callers, &item), 0);
	assert_int_equal(top_callers_read_maps(&callers, NULL), 0);
	top_callers_forget(&callers);
	top_callers_free(&callers);
	assert_called("free 0;");
}

static void test_counts(void **unused)
{
	const struct ctf_item item = {.ns = 1};
	uint32_t nr, *order;

	(void)unused;
	start(OPTION_BARE);
	assert_int_equal(callers.most, TOP_CALLERS_DEFAULT);
	count(0x30, 1, false);
	count(0x30, 2, false);
	count(0x10, 3, true);
	count(0x20, 4, true);
	is_exact = true;
	count(0x20, 5, true);
	is_exact = false;
	has_stack = false;
	count(0x40, 5, true);
	has_stack = true;
	order = top_callers_order(&callers, &nr);
	assert_int_equal(nr, 4);
	assert_int_equal(callers.items[order[0]].address.address, 0x10);
	assert_int_equal(
			callers.items[order[1]].address.kind + callers.items[order[2]].address.kind,
			ADDRESS_EXACT + ADDRESS_RETURN);
	assert_int_equal(callers.items[order[3]].all, 2);
	assert_int_equal(callers.items[order[3]].count, 0);
	assert_int_equal(callers.items[order[3]].process, 7);
	assert_int_equal(callers.items[order[3]].address.ns, 1);
	free(order);
	/* The next interval. */
	top_callers_reset(&callers);
	count(0x30, 9, true);
	order = top_callers_order(&callers, &nr);
	assert_int_equal(callers.items[order[0]].address.address, 0x30);
	assert_int_equal(callers.items[order[0]].address.ns, 9);
	assert_int_equal(callers.items[order[0]].all, 3);
	free(order);
	assert_int_equal(top_callers_add_code(&callers, &item), -ENOMEM);
	top_callers_forget(&callers);
	assert_int_equal(callers.keys.count, 0);
	count(0x50, 9, true);
	assert_int_equal(callers.keys.count, 1);
	top_callers_free(&callers);
	assert_called("start 1;add;forget;free 1;");
}

static void test_limits(void **unused)
{
	const struct top_options options = {.callers = 3};
	uint32_t nr;

	(void)unused;
	start(3);
	for (uint64_t i = 0; i <= TOP_CALLERS_MAX; i++)
		count(i, 1, true);
	assert_int_equal(callers.keys.count, TOP_CALLERS_MAX);
	/* Callers that are in the table still count. */
	count(0, 1, true);
	assert_int_equal(callers.items[0].all, 2);
	free(top_callers_order(&callers, &nr));
	assert_int_equal(nr, 3);
	top_callers_free(&callers);
	has_symbols = false;
	assert_int_equal(top_callers_start(&callers, &options), -ENOMEM);
	has_symbols = true;
	assert_called("start 1;free 1;start 0;");
}

static void write_maps(const char *folder, const char *text)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/.maps", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Mappings are read again when their file has changed. */
static void test_maps(void **unused)
{
	char folder[] = "/tmp/side-top-XXXXXX", wanted[200], path[300];

	(void)unused;
	assert_non_null(mkdtemp(folder));
	traces[0] = (struct ctf_trace){.path = "/nowhere"};
	traces[1] = (struct ctf_trace){.path = folder};
	start(1);
	assert_called("start 1;");
	snprintf(wanted, sizeof(wanted), "maps 1 %s/.maps;", folder);
	assert_int_equal(top_callers_read_maps(&callers, (void *)&memory), 0);
	assert_called("");
	write_maps(folder, "one");
	assert_int_equal(top_callers_read_maps(&callers, (void *)&memory), 0);
	assert_called(wanted);
	assert_int_equal(top_callers_read_maps(&callers, (void *)&memory), 0);
	assert_called("");
	write_maps(folder, "one two");
	maps_result = -ENOMEM;
	assert_int_equal(top_callers_read_maps(&callers, (void *)&memory), -ENOMEM);
	assert_called(wanted);
	maps_result = 0;
	top_callers_forget(&callers);
	assert_int_equal(top_callers_read_maps(&callers, (void *)&memory), 0);
	top_callers_free(&callers);
	snprintf(path, sizeof(path), "forget;%sfree 1;", wanted);
	assert_called(path);
	snprintf(path, sizeof(path), "%s/.maps", folder);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_none),
			cmocka_unit_test(test_counts),
			cmocka_unit_test(test_limits),
			cmocka_unit_test(test_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
