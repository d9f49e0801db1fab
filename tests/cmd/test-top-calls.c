/* SPDX-License-Identifier: MIT */
/* The counts of `side top`: the test plays the traces, their events, pairs and processes. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "analysis/report-walk.h"
#include "base/error.h"
#include "programs/common/command.h"
#include "programs/side/watch/top-trace.h"
#include "ctf/ctf.h"

/* ---- traces ---- */

static struct ctf_event_class classes[3] = {{.name = "p:a", .loglevel = 5},
		{.name = "p:b", .loglevel = 6}, {.name = "p:c", .loglevel = 7}};
static struct ctf_trace traces[2] = {{.index = 0}, {.index = 1}};
static struct ctf_item items[8];
static size_t nr_items, next_item;
static int open_error, refresh_error, end;
static unsigned int nr_readers;
static void (*forget)(void *user);
static char memory;

static struct ctf_reader *the_reader(void)
{
	return (struct ctf_reader *)(void *)&memory;
}

static int played_open(const char *dir, struct ctf_reader **reader, struct error *error)
{
	(void)error;
	called("open %.20s;", dir);
	*reader = the_reader();
	if (open_error)
		return open_error;
	nr_readers++;
	return 0;
}

static void played_follow(const struct ctf_reader *reader, void (*forgets)(void *user))
{
	assert_ptr_equal(reader, &memory);
	forget = forgets;
}

static int played_refresh(const struct ctf_reader *reader, bool *recording)
{
	assert_ptr_equal(reader, &memory);
	called("refresh;");
	*recording = true;
	return refresh_error;
}

static int played_next(const struct ctf_reader *reader, int64_t ns, struct ctf_item *item)
{
	assert_ptr_equal(reader, &memory);
	assert_int_equal(ns, 12345);
	*item = (struct ctf_item){.count = 0};
	if (next_item == nr_items)
		return end;
	*item = items[next_item++];
	return 1;
}

static void played_close(const struct ctf_reader *reader)
{
	assert_ptr_equal(reader, &memory);
	called("close;");
	nr_readers--;
}

static const struct ctf_trace *played_trace(const struct ctf_reader *reader, uint32_t index)
{
	assert_ptr_equal(reader, &memory);
	return &traces[index];
}

/* The first trace has two classes, the second one has the third. */
static struct ctf_event_class *played_event(const struct ctf_trace *trace, uint32_t index)
{
	return &classes[trace == &traces[1] ? 2 : index];
}

/* ---- other played parts ---- */

static struct pattern *the_patterns;
static int select_status, pairs_status;
static unsigned int nr_rules, nr_views, nr_pair_classes, nr_statistics;
static bool no_view, no_pair_class, no_statistics, no_begin, no_process, has_begin;

static int played_select(const struct text_list *args, struct pattern **patterns)
{
	called("select %zu;", args->count);
	the_patterns = *patterns = args->count && !select_status ? malloc(1) : NULL;
	return select_status;
}

static int played_pairs(struct report_pairs *pairs, const struct text_list *args, const char *key,
		bool across, struct error *error)
{
	*error = (struct error){.kind = ERROR_USAGE, .text = "no pairs"};
	called("pairs %zu %s %d;", args->count, key ? key : "-", across);
	pairs->rule_count = nr_rules;
	pairs->by_call = false;
	return pairs_status;
}

static bool played_wants(
		const struct pattern *patterns, size_t count, const char *event, int loglevel)
{
	assert_ptr_equal(patterns, the_patterns);
	called("wants %zu %s %d;", count, event, loglevel);
	return strcmp(event, "p:c") != 0;
}

static struct view_event *played_view(
		const struct ctf_event_class *class, const struct view_sink *sink)
{
	assert_true(sink->ops == &view_json_ops && sink->out);
	assert_non_null(class->user);
	if (no_view)
		return NULL;
	nr_views++;
	return (struct view_event *)(void *)&memory;
}

static void played_view_free(struct view_event *view)
{
	nr_views -= view != NULL;
}

/* "p:a" begins the rules 1 and 2, "p:b" ends rule 1, and both begins and ends rule 2. */
static int played_class(const struct report_pairs *pairs, struct pair_class *class,
		const struct ctf_item *item, const struct view_event *event,
		struct missing *missing)
{
	assert_true(pairs->by_call);
	assert_ptr_equal(event, &memory);
	assert_null(missing);
	if (no_pair_class)
		return -ENOMEM;
	nr_pair_classes += item->event != &classes[2];
	if (item->event == &classes[0])
		class->begins = 6;
	else if (item->event == &classes[1])
		*class = (struct pair_class){.begins = 4, .ends = 6};
	return 0;
}

static void played_class_free(const struct pair_class *class)
{
	nr_pair_classes -= class->begins || class->ends;
}

static int64_t played_thread(const struct identity_class *class, const struct ctf_item *item)
{
	(void)class;
	return item->ns + 1;
}

static struct pair_key played_key(const struct report_pairs *pairs, const struct pair_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread)
{
	(void)pairs;
	assert_true(class->begins != 0);
	assert_int_equal(thread, item->ns + 1);
	called("key %u %d;", process, (int)thread);
	return (struct pair_key){.high = process};
}

static int played_begin(const struct report_pairs *pairs, unsigned int rule,
		const struct pair_key *key, const struct pair_open *open)
{
	(void)pairs;
	assert_int_equal(open->process, key->high);
	assert_int_equal(open->thread, open->ns + 1);
	called("begin %u at %d;", rule, (int)open->ns);
	return no_begin ? -ENOMEM : 0;
}

static bool played_end(const struct report_pairs *pairs, unsigned int rule,
		const struct pair_key *key, struct pair_open *open)
{
	(void)pairs;
	(void)key;
	called("end %u;", rule);
	open->ns = 77;
	return has_begin;
}

static uint64_t played_duration(const struct pair_rule *rule, int64_t begin, int64_t ends)
{
	(void)rule;
	return (uint64_t)begin * 1000 + (uint64_t)ends;
}

static int played_add(struct stats *stats, uint64_t value)
{
	called("add %u;", (unsigned int)value);
	if (no_statistics)
		return -ENOMEM;
	stats->count++;
	nr_statistics++;
	return 0;
}

static void played_statistics_free(const struct stats *stats)
{
	nr_statistics -= (unsigned int)stats->count;
}

/* Returns the process ID from the item's cycles. */
static uint32_t played_process(const struct identity *identity, struct identity_class *class,
		const struct ctf_item *item)
{
	(void)identity;
	class->known = true;
	return no_process ? KEYS_NONE : (uint32_t)item->cycles;
}

static int played_clock(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_REALTIME);
	*now = (struct timespec){.tv_sec = 1700000003, .tv_nsec = 17};
	return 0;
}

#define ctf_reader_open_growing played_open
#define ctf_reader_follow played_follow
#define ctf_reader_refresh played_refresh
#define ctf_reader_next_until played_next
#define ctf_reader_close played_close
#define ctf_reader_trace played_trace
#define ctf_reader_trace_count(reader) 2
#define ctf_trace_event played_event
#define ctf_trace_event_count(trace) ((trace) == &traces[1] ? 1u : 2u)
#define command_select played_select
#define pairs_create played_pairs
#define pairs_free(pairs) called("unpair;")
#define walk_pattern_wants played_wants
#define view_event_create played_view
#define view_event_free played_view_free
#define pair_class_make played_class
#define pair_class_free played_class_free
#define identity_thread played_thread
#define identity_process(...) played_process(__VA_ARGS__)
#define identity_free(identity) called("unknow;")
#define pairs_key played_key
#define pairs_begin played_begin
#define pairs_end played_end
#define pair_duration played_duration
#define report_stats_add played_add
#define report_stats_free played_statistics_free
#define clock_gettime played_clock
#include "programs/side/watch/top-trace.c"

#define NOW INT64_C(1700000002000000017) /* a second before */

static const struct ctf_stream_info stream = {.name = "ring"},
				    own_stream = {.name = "side_session_1"},
				    near_stream = {.name = "side_sessio"};

static struct ctf_item item_of(unsigned int class, int64_t ns, uint64_t process)
{
	return (struct ctf_item){.kind = CTF_ITEM_EVENT,
			.ns = ns,
			.timed = true,
			.cycles = process,
			.trace = &traces[class == 2],
			.stream = &stream,
			.event = &classes[class]};
}

static void reset(void)
{
	select_status = pairs_status = open_error = refresh_error = end = 0;
	nr_rules = 0;
	no_view = no_pair_class = no_statistics = no_begin = no_process = has_begin = false;
	nr_items = next_item = 0;
	traces[0].is_side = true;
	*calls = '\0';
}

static void test_create(void **unused)
{
	const struct top_options options = {.patterns.count = 2, .pairs.count = 4, .key = "k"};
	struct top_trace trace;

	(void)unused;
	reset();
	assert_int_equal(top_trace_create(&trace, &options), 0);
	assert_called("select 2;pairs 4 k 0;");
	assert_true(trace.pairs.by_call);
	assert_int_equal(trace.from_ns, NOW);
	assert_ptr_equal(trace.options, &options);
	top_trace_free(&trace);
	assert_called("unpair;unknow;");
	pairs_status = -EINVAL;
	assert_int_equal(top_trace_create(&trace, &options), COMMAND_USAGE);
	top_trace_free(&trace);
	*calls = '\0';
	select_status = 8;
	assert_int_equal(top_trace_create(&trace, &options), 8);
	assert_called("select 2;");
	top_trace_free(&trace);
	*calls = '\0';
}

static void read_all(struct top_trace *trace, int expected)
{
	next_item = 0;
	assert_int_equal(top_trace_read(trace, "/dir", 12345), expected);
}

static void test_counts(void **unused)
{
	const struct top_options all = {.key = NULL}, some = {.patterns.count = 1};
	struct top_trace trace;
	uint32_t *order;

	(void)unused;
	reset();
	assert_int_equal(top_trace_create(&trace, &all), 0);
	items[0] = item_of(1, NOW - 1, 3);
	items[1] = item_of(0, NOW, 3);
	items[2] = item_of(0, NOW + 1, 4);
	items[3] = item_of(2, NOW + 1, 4);
	items[4] = item_of(1, NOW + 5, 4);
	items[4].timed = false;
	items[5] = item_of(1, NOW + 5, 4);
	items[5].kind = CTF_ITEM_DAMAGE;
	nr_items = 6;
	*calls = '\0';
	read_all(&trace, 0);
	assert_called("open /dir;refresh;");
	assert_int_equal(next_item, 6);
	assert_int_equal(trace.names.count, 3);
	assert_string_equal(top_trace_name(&trace, 0), "p:b");
	assert_string_equal(top_trace_name(&trace, 1), "p:a");
	assert_int_equal(trace.events[0].count, 0);
	assert_int_equal(trace.events[0].all, 1);
	assert_int_equal(trace.events[1].count, 2);
	assert_int_equal(trace.events[1].all, 2);
	assert_int_equal(trace.events[2].count, 1);
	assert_int_equal(trace.by_process[3].count, 1);
	assert_int_equal(trace.by_process[3].all, 2);
	assert_int_equal(trace.by_process[4].count, 2);
	assert_int_equal(trace.by_process[0].all, 0);
	order = top_trace_order(&trace);
	assert_true(order[0] == 1 && order[1] == 2 && order[2] == 0);
	free(order);
	/* The next interval. */
	trace.events[0].count = 3;
	trace.by_process[0].count = 4;
	top_trace_reset(&trace);
	assert_int_equal(trace.events[0].count, 0);
	assert_int_equal(trace.by_process[0].count, 0);
	assert_int_equal(trace.events[1].count, 0);
	assert_int_equal(trace.events[1].all, 2);
	assert_int_equal(trace.by_process[4].count, 0);
	assert_int_equal(trace.by_process[4].all, 2);
	/* Equal counts: by all, then by name. */
	order = top_trace_order(&trace);
	assert_true(order[0] == 1 && order[1] == 0 && order[2] == 2);
	free(order);
	trace.events[2].all = 9;
	order = top_trace_order(&trace);
	assert_true(order[0] == 2 && order[1] == 1 && order[2] == 0);
	free(order);
	failing_arm(1);
	assert_null(top_trace_order(&trace));
	assert_true(failing_has_failed());
	/* Processes. */
	{
		struct identity_process processes[5] = {{.pid = -1, .name = "n"},
				{.pid = 9, .name = "n"}, {.pid = 9}, {.pid = 9, .name = "m"},
				{.pid = 8, .name = "n"}};

		trace.identity.processes = processes;
		trace.identity.keys.count = 5;
		for (uint64_t i = 0; i < 5; i++)
			trace.by_process[i] = (struct top_event){1 + i * 10, 2 + i * 100};
		assert_int_equal(top_trace_process(&trace, "n", 9).count, 11 + 21);
		assert_int_equal(top_trace_process(&trace, "n", 9).all, 102 + 202);
		assert_int_equal(top_trace_process(&trace, "m", 9).count, 21 + 31);
		assert_int_equal(top_trace_process(&trace, "n", UINT64_MAX).count, 0);
		assert_int_equal(top_trace_process(&trace, "n", 8).count, 41);
		trace.identity.keys.count = 4;
		assert_int_equal(top_trace_process(&trace, "n", 8).count, 0);
		processes[0].pid = 0;
		assert_int_equal(top_trace_process(&trace, "n", 0).count, 1);
		trace.identity.processes = NULL;
		trace.identity.keys.count = 0;
	}
	top_trace_free(&trace);
	assert_int_equal(nr_readers, 0);
	for (int i = 0; i < 3; i++)
		assert_null(classes[i].user);
	assert_called("close;unpair;unknow;");
	/* Patterns, and the recorder's own events. */
	assert_int_equal(top_trace_create(&trace, &some), 0);
	items[0] = item_of(0, NOW, 0);
	items[0].stream = &own_stream;
	items[1] = item_of(2, NOW, 0);
	items[1].stream = &own_stream; /* not of a SIDE trace */
	items[2] = item_of(1, NOW, 0);
	items[2].stream = &near_stream;
	nr_items = 3;
	*calls = '\0';
	read_all(&trace, 0);
	assert_called("open /dir;refresh;wants 1 p:c 7;wants 1 p:b 6;");
	assert_int_equal(trace.names.count, 1);
	assert_string_equal(top_trace_name(&trace, 0), "p:b");
	assert_int_equal(trace.by_process[0].count, 1);
	top_trace_free(&trace);
	*calls = '\0';
}

static void test_rows(void **unused)
{
	const struct top_options options = {.key = NULL};
	struct top_trace trace;
	char name[20];
	uint32_t row;

	(void)unused;
	reset();
	assert_int_equal(top_trace_create(&trace, &options), 0);
	for (uint32_t i = 0; i < 130; i++) {
		snprintf(name, sizeof(name), "e%u", i);
		assert_int_equal(top_trace_make_row(&trace, name, &row), 0);
		assert_int_equal(row, i);
		assert_int_equal(trace.events[i].all, 0);
		trace.events[i].all = 1000 + i;
		assert_int_equal(trace.capacity, i < 64 ? 64 : i < 128 ? 128 : 256);
	}
	assert_int_equal(top_trace_make_row(&trace, "e7", &row), 0);
	assert_int_equal(row, 7);
	assert_int_equal(trace.events[7].all, 1007);
	for (uint32_t i = 0; i < 40; i++) {
		assert_int_equal(top_trace_make_process(&trace, i), 0);
		assert_int_equal(trace.process_capacity, i < 16 ? 16 : i < 32 ? 32 : 64);
		assert_int_equal(trace.by_process[i].all, 0);
		trace.by_process[i].all = 100 + i;
		assert_int_equal(trace.by_process[0].all, 100);
	}
	assert_int_equal(top_trace_make_process(&trace, 64), 0);
	assert_int_equal(trace.process_capacity, 128);
	assert_int_equal(trace.by_process[39].all, 139);
	assert_int_equal(trace.by_process[127].all, 0);
	top_trace_free(&trace);
	memset(&trace, 0, sizeof(trace));
	assert_int_equal(top_trace_make_process(&trace, 7), 0);
	assert_int_equal(trace.process_capacity, 16);
	free(trace.by_process);
	memset(&trace, 0, sizeof(trace));
	assert_int_equal(top_trace_make_process(&trace, 8), 0);
	assert_int_equal(trace.process_capacity, 16);
	free(trace.by_process);
	memset(&trace, 0, sizeof(trace));
	assert_int_equal(top_trace_make_process(&trace, 9), 0);
	assert_int_equal(trace.process_capacity, 18);
	free(trace.by_process);
	*calls = '\0';
}

static void test_pairs(void **unused)
{
	const struct top_options options = {.key = NULL};
	struct top_trace trace;

	(void)unused;
	reset();
	nr_rules = 3;
	assert_int_equal(top_trace_create(&trace, &options), 0);
	trace.from_ns = 0;
	items[0] = item_of(0, 100, 5);
	items[1] = item_of(1, 200, 6);
	items[2] = item_of(2, 300, 6);
	nr_items = 3;
	*calls = '\0';
	read_all(&trace, 0);
	assert_called("open /dir;refresh;key 5 101;begin 1 at 100;begin 2 at 100;key 6 201;end 1;end 2;begin 2 at 200;");
	has_begin = true;
	read_all(&trace, 0);
	assert_called("refresh;key 5 101;begin 1 at 100;begin 2 at 100;key 6 201;end 1;add 77200;end 2;add 77200;begin 2 at 200;");
	assert_int_equal(trace.durations[0].count, 0);
	assert_int_equal(trace.durations[1].count, 1);
	assert_int_equal(trace.durations[2].count, 1);
	assert_int_equal(nr_views, 3);
	/* Missing memory ends the reading. */
	no_statistics = true;
	read_all(&trace, -ENOMEM);
	assert_called("refresh;key 5 101;begin 1 at 100;begin 2 at 100;key 6 201;end 1;add 77200;");
	no_statistics = false;
	no_begin = true;
	read_all(&trace, -ENOMEM);
	assert_called("refresh;key 5 101;begin 1 at 100;");
	no_begin = false;
	no_process = true;
	read_all(&trace, -ENOMEM);
	assert_called("refresh;");
	no_process = false;
	trace.durations[0].count = 1;
	nr_statistics++;
	top_trace_reset(&trace);
	assert_int_equal(trace.durations[0].count, 0);
	assert_int_equal(nr_statistics, 0);
	trace.durations[2].count = 1;
	nr_statistics++;
	assert_int_equal(trace.durations[1].count, 0);
	/* The reader drops a class. */
	forget(NULL);
	forget(classes[0].user);
	classes[0].user = NULL;
	assert_int_equal(nr_views, 2);
	top_trace_free(&trace);
	assert_int_equal(nr_views, 0);
	assert_int_equal(nr_statistics, 0);
	assert_int_equal(nr_pair_classes, 0);
	*calls = '\0';
	/* The data of a class cannot be created. */
	for (int i = 0; i < 2; i++) {
		no_view = !i;
		no_pair_class = i;
		assert_int_equal(top_trace_create(&trace, &options), 0);
		read_all(&trace, -ENOMEM);
		top_trace_free(&trace);
		assert_int_equal(nr_views, 0);
		assert_null(classes[0].user);
	}
	*calls = '\0';
}

static void test_reading(void **unused)
{
	const struct top_options options = {.key = NULL}, some = {.patterns.count = 1};
	struct top_trace trace;
	static char path[4097];
	size_t before = 0;

	(void)unused;
	reset();
	assert_int_equal(top_trace_create(&trace, &options), 0);
	*calls = '\0';
	assert_int_equal(top_trace_read(&trace, "", 12345), 0);
	assert_called("");
	open_error = -ENOENT;
	assert_int_equal(top_trace_read(&trace, "/none", 12345), 0);
	assert_called("open /none;");
	assert_null(trace.reader);
	open_error = 0;
	read_all(&trace, 0);
	assert_called("open /dir;refresh;");
	read_all(&trace, 0);
	assert_called("refresh;");
	/* Another directory. */
	assert_int_equal(top_trace_read(&trace, "/other", 12345), 0);
	assert_called("close;open /other;refresh;");
	assert_string_equal(trace.directory, "/other");
	memset(path, 'p', 4096);
	assert_int_equal(top_trace_read(&trace, path, 12345), 0);
	assert_called("close;");
	assert_null(trace.reader);
	path[4095] = '\0';
	assert_int_equal(top_trace_read(&trace, path, 12345), 0);
	assert_called("open pppppppppppppppppppp;refresh;");
	/* Only missing memory is an error. */
	refresh_error = -EIO;
	assert_int_equal(top_trace_read(&trace, path, 12345), 0);
	refresh_error = -ENOMEM;
	assert_int_equal(top_trace_read(&trace, path, 12345), -ENOMEM);
	refresh_error = 0;
	end = -EIO;
	assert_int_equal(top_trace_read(&trace, path, 12345), 0);
	end = -ENOMEM;
	assert_int_equal(top_trace_read(&trace, path, 12345), -ENOMEM);
	end = 0;
	top_trace_free(&trace);
	/* Each allocation fails, and all memory is freed. */
	items[0] = item_of(0, NOW, 3);
	nr_items = 1;
	for (unsigned int i = 1; i < 20; i++) {
		bool failed;
		int ret;

		assert_int_equal(top_trace_create(&trace, &options), 0);
		next_item = 0;
		failing_arm(i);
		ret = top_trace_read(&trace, "/dir", 12345);
		failed = failing_has_failed();
		assert_int_equal(ret, failed ? -ENOMEM : 0);
		top_trace_free(&trace);
		*calls = '\0';
		if (!failed) {
			assert_true(i > 4);
			break;
		}
	}
	for (int i = 0; i < 20; i++) {
		before = i == 12 ? resources_memory() : before;
		assert_int_equal(top_trace_create(&trace, &some), 0);
		assert_true(view_out_reserve(&trace.scratch, 1000));
		read_all(&trace, 0);
		top_trace_free(&trace);
		*calls = '\0';
	}
	assert_int_equal(resources_memory(), before);
	assert_int_equal(nr_readers, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_create),
			cmocka_unit_test(test_counts),
			cmocka_unit_test(test_rows),
			cmocka_unit_test(test_pairs),
			cmocka_unit_test(test_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
