/* SPDX-License-Identifier: MIT */
/* The parts of a page at their limits: lines, timeline, trees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stacks.h"
#include "export/html/html-lines.h"
#include "export/html/html-page.h"
#include "export/html/html-timeline.h"
#include "export/html/html-tree.h"
#include "export/html/html.h"
#include "tests/check.h"

/* ---- lines ---- */

/* The remainder is for the members that have no budget of their own. */
#define SIZE_OF_OTHERS 300000

static void test_budgets(void)
{
	size_t page = html_page_head_size + html_page_middle_size + html_page_tail_size;

	CHECK(page + html_lines_size_max() + HTML_TIMELINE_SIZE_MAX + 2 * HTML_TREE_SIZE_MAX +
					HTML_FUNCTIONS_SIZE_MAX + SIZE_OF_OTHERS <=
			HTML_SIZE_MAX);
}

static void test_escaped(void)
{
	static const char json[] = "{\"a\":\"</script><!--\"}";
	struct view_out out = {0};

	html_put_escaped(&out, json, strlen(json));
	CHECK(view_out_size(&out) == html_escaped_size(json, strlen(json)));
	CHECK(!memchr(out.begin, '<', view_out_size(&out)));
	CHECK(!memcmp(out.begin, "{\"a\":\"\\u003c/script>\\u003c!--\"}", view_out_size(&out)));
	view_out_free(&out);
}

/* Lines of one type beyond its budget are counted; those of another type remain. */
static void test_lines(void)
{
	struct html_lines lines = {.nr_types = 0};
	char line[1200];
	int size = snprintf(line, sizeof(line),
			"{\"schema\":1,\"type\":\"caller\",\"function\":\"%0900d\"}\n", 0);

	for (int i = 0; i < 200; i++)
		html_lines_add(&lines, line, (size_t)size);
	html_lines_add(&lines, "{\"schema\":1,\"type\":\"overview\"}\nno object\n", 41);
	html_lines_add_omitted(&lines);
	CHECK(view_out_size(&lines.out) < 101000);
	CHECK(lines.nr_types == 2);
	/* All lines but the first have a comma and a line feed before them; none has one behind. */
	CHECK(lines.types[0].omitted == 200 - (lines.types[0].size + 2) / (size_t)(size + 1));
	CHECK(!lines.types[1].omitted);
	CHECK(memmem(lines.out.begin, view_out_size(&lines.out),
			"\"of\":\"caller\",\"count\":", 22));
	html_lines_free(&lines);
}

static void test_many_types(void)
{
	struct html_lines lines = {.nr_types = 0};

	for (int i = 0; i < 100; i++) {
		char line[80];
		int size = snprintf(line, sizeof(line), "{\"schema\":1,\"type\":\"t%d\"}", i);

		html_lines_add(&lines, line, (size_t)size);
	}
	CHECK(lines.nr_types == HTML_LINE_TYPES_MAX);
	html_lines_free(&lines);
}

/* ---- the timeline ---- */

static uint64_t count_bins(const struct html_thread *thread)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HTML_BINS; i++)
		count += thread->bins[i];
	return count;
}

static void print_process(const void *user, uint32_t process, char *text, size_t size)
{
	(void)user;
	snprintf(text, size, "process %u", process);
}

static void test_intervals(void)
{
	struct html_timeline timeline = {.started = false};
	const struct html_thread_key key = {.process = 1, .id = 7};

	int64_t last = 0;

	/* Events at distances from 1 ns to one hour. */
	for (int64_t ns = 0; ns < 3600000000000; ns = ns * 2 + 1) {
		CHECK(!html_timeline_add(&timeline, &key, 5000 + ns, "name", 4));
		last = ns;
	}
	/* A clock that runs backwards. */
	CHECK(!html_timeline_add(&timeline, &key, 10, NULL, 0));
	CHECK(timeline.begin_ns == 5000);
	CHECK(last >> timeline.shift >= HTML_BINS / 2 && last >> timeline.shift < HTML_BINS);
	CHECK(count_bins(&timeline.threads[0]) == timeline.threads[0].events);
	CHECK(!strcmp(timeline.threads[0].name, "name"));
	html_timeline_free(&timeline);
}

static void test_threads(void)
{
	struct html_timeline timeline = {.started = false};
	struct view_out out = {0};

	for (int64_t i = 0; i < HTML_THREADS_MAX + 500; i++) {
		const struct html_thread_key key = {.process = (uint32_t)i % 3, .id = i};

		CHECK(!html_timeline_add(&timeline, &key, i, NULL, 0));
	}
	CHECK(timeline.thread_keys.count == HTML_THREADS_MAX);
	CHECK(timeline.other_threads == 500);
	CHECK(!html_timeline_print(&timeline, &out, 100000, print_process, NULL));
	CHECK(view_out_size(&out) <= 100000);
	CHECK(memmem(out.begin, view_out_size(&out), "\"merged_threads\":744", 20));
	CHECK(memmem(out.begin, view_out_size(&out), "\"events\":1244", 13));
	view_out_free(&out);
	html_timeline_free(&timeline);
}

/* The longest calls are kept, in whatever order they come. */
static void test_slices(void)
{
	struct html_timeline timeline = {.started = false};
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < 2 * HTML_SLICES_MAX; i++) {
		const struct html_slice slice = {
				.duration_ns = i * UINT64_C(7919) % (2 * HTML_SLICES_MAX)};

		CHECK(!html_timeline_add_slice(&timeline, &slice));
	}
	CHECK(timeline.nr_slices == HTML_SLICES_MAX);
	CHECK(timeline.all_slices == 2 * HTML_SLICES_MAX);
	for (uint32_t i = 0; i < HTML_SLICES_MAX; i++)
		if (timeline.slices[i].duration_ns < least)
			least = timeline.slices[i].duration_ns;
	CHECK(least == HTML_SLICES_MAX);
	html_timeline_free(&timeline);
}

/* All lost events are counted, also with more processes than marks. */
static void test_losses(void)
{
	for (uint32_t processes = 1; processes < 10000; processes += 4999) {
		struct html_timeline *timeline = calloc(1, sizeof(*timeline));
		uint64_t count = 0;

		CHECK(timeline);
		for (uint32_t i = 0; i < 20000; i++) {
			const struct html_loss loss = {.process = i % processes,
					.begin_ns = i,
					.end_ns = i + 1,
					.count = 3};

			html_timeline_add_loss(timeline, &loss);
		}
		CHECK(timeline->nr_losses <= HTML_LOSSES_MAX);
		for (uint32_t i = 0; i < timeline->nr_losses; i++) {
			CHECK(timeline->losses[i].begin_ns < timeline->losses[i].end_ns);
			count += timeline->losses[i].count;
		}
		CHECK(count == 60000);
		html_timeline_free(timeline);
		free(timeline);
	}
}

/* ---- trees ---- */

static void test_unknown_stack(void)
{
	struct stacks stacks = {.limit = 0};
	struct html_tree tree = {.weight = 0};
	struct view_out out = {0};

	CHECK(!html_tree_add_stack(&tree, &stacks, STACK_NONE, 5));
	CHECK(!html_tree_add_stack(&tree, &stacks, STACK_NONE, 2));
	html_tree_finish(&tree);
	CHECK(tree.weight == 7 && tree.node_keys.count == 1 && tree.nodes[0].total == 7);
	CHECK(!html_tree_print(&tree, "events", "events", &out, 1000));
	CHECK(memmem(out.begin, view_out_size(&out), "\"nodes\":[-1,0,7,7,7]", 20));
	CHECK(memmem(out.begin, view_out_size(&out), "\"names\":[\"(unknown)\"]", 21));
	/* A page without space has no nodes, but remains JSON. */
	out.at = out.begin;
	CHECK(!html_tree_print(&tree, "events", "events", &out, 10));
	CHECK(view_out_size(&out) < 120);
	view_out_free(&out);
	html_tree_free(&tree);
	stacks_free(&stacks);
}

int main(void)
{
	test_budgets();
	test_escaped();
	test_lines();
	test_many_types();
	test_intervals();
	test_threads();
	test_slices();
	test_losses();
	test_unknown_stack();
	return 0;
}
