/* SPDX-License-Identifier: MIT */
/*
 * The merge of `side view`, which orders the lines of sources by time, with sources, nr_processors
 * and a clock that the test plays: order, batches, threads, limits, time differences, losses,
 * damage, output that cannot be written, and growing traces.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/common/progress.h"
#include "programs/common/message.h"
#include "analysis/view-line.h"
#include "ctf/ctf.h"

/* ---- sources ---- */

struct played_item {
	int64_t ns;
	uint64_t cycles;
	const char *text;
	int ret; /* of view_line_item(); 1: the line is selected */
};

struct played_stream {
	const struct played_item *items;
	uint32_t count, next;
	int end; /* returned after the last item */
	uint64_t size;
	struct ctf_trace trace;
};

static struct played_stream sources[8];
static uint32_t nr_streams;
static struct ctf_reader *const the_reader = (struct ctf_reader *)(uintptr_t)0x1000;
static struct ctf_item items[8];
static long nr_processors;
static int nr_lines;

static uint32_t played_count(const struct ctf_reader *reader)
{
	assert_ptr_equal(reader, the_reader);
	return nr_streams;
}

static const struct ctf_trace *played_trace(const struct ctf_reader *reader, uint32_t stream)
{
	assert_ptr_equal(reader, the_reader);
	return &sources[stream].trace;
}

static uint64_t played_size(const struct ctf_reader *reader, uint32_t stream)
{
	assert_ptr_equal(reader, the_reader);
	return sources[stream].size;
}

static int played_next(
		const struct ctf_reader *reader, uint32_t index, const struct ctf_item **item)
{
	struct played_stream *stream = &sources[index];

	assert_ptr_equal(reader, the_reader);
	*item = &items[index];
	if (stream->next == stream->count)
		return stream->end;
	items[index].text = (const char *)&stream->items[stream->next++];
	return 1;
}

static int played_item(
		struct view_line *line, const struct ctf_item *item, struct view_entry *entry)
{
	const struct played_item *from = (const struct played_item *)(const void *)item->text;

	*entry = (struct view_entry){.ns = from->ns,
			.cycles = from->cycles,
			.size = strlen(from->text),
			.kind = VIEW_ENTRY_EVENT,
			.timed = true};
	if (from->ret > 0)
		view_out_put(line->sink.out, from->text, entry->size);
	return from->ret > 0 && line->sink.out->failed ? -ENOMEM : from->ret;
}

static void played_start(struct view_line *line, struct view_lines *lines, struct view_out *out)
{
	__atomic_add_fetch(&nr_lines, 1, __ATOMIC_RELAXED);
	*line = (struct view_line){.lines = lines};
	line->sink.out = out;
}

static void played_stop(const struct view_line *line)
{
	(void)line;
	__atomic_sub_fetch(&nr_lines, 1, __ATOMIC_RELAXED);
}

/* No trace has calls of functions. */
static bool played_tree(const struct view_tree_wanted *wanted, const struct ctf_reader *reader)
{
	assert_non_null(wanted);
	assert_ptr_equal(reader, the_reader);
	return false;
}

static long played_sysconf(int name)
{
	assert_int_equal(name, _SC_NPROCESSORS_ONLN);
	return nr_processors;
}

static void played_progress(void *user, uint64_t events)
{
	called("%s %llu;", (const char *)user, (unsigned long long)events);
}

#define ctf_reader_stream_count played_count
#define ctf_reader_stream_trace played_trace
#define ctf_reader_stream_size played_size
#define ctf_reader_stream_next played_next
#define view_line_item played_item
#define view_line_start played_start
#define view_line_stop played_stop
#define view_tree_is_in played_tree
#define sysconf played_sysconf
#define view_merge_start feed_start
#include "analysis/view-feed.c"
#undef view_merge_start
#undef ATTEMPTS_MAX
#include "analysis/view-merge.c"
#undef sysconf

/* ---- merging ---- */

static char *output;
static size_t output_size;

static void begin_view(struct view *view, const struct view_options *options)
{
	*view = (struct view){.options = options, .out = open_memstream(&output, &output_size)};
	assert_non_null(view->out);
	for (uint32_t i = 0; i < nr_streams; i++)
		sources[i].next = 0;
}

static void end_view(struct view *view)
{
	assert_int_equal(fclose(view->out), 0);
	view_out_free(&view->buffer);
	assert_int_equal(nr_lines, 0);
}

static void set_stream(
		uint32_t index, uint32_t trace, const struct played_item *list, uint32_t count)
{
	sources[index] = (struct played_stream){
			.items = list, .count = count, .trace = {.index = trace}};
	nr_streams = index + 1;
}

/* Equal times: by trace, then by the clock's value, then by stream. */
static void test_order(void **unused)
{
	static const struct played_item first[] = {{10, 7, "a1 ", 1}, {20, 9, "a2 ", 1},
			{25, 0, "none ", 0}, {30, 0, "a3 ", 1}},
					second[] = {{10, 5, "b1 ", 1}, {20, 9, "b2 ", 1},
							{40, 0, "b3 ", 1}},
					third[] = {{10, 1, "c1 ", 1}, {5, 0, "c2 ", 1},
							{30, 0, "c3 ", 1}};
	static const char expected[] = "c1 c2 b1 a1 a2 b2 c3 a3 b3 ";

	(void)unused;
	set_stream(0, 1, first, 4);
	set_stream(1, 1, second, 3);
	set_stream(2, 0, third, 3);
	set_stream(3, 0, NULL, 0);
	for (unsigned int threads = 0; threads <= 6; threads++) {
		const struct view_options options = {.threads = threads};
		struct view view;

		begin_view(&view, &options);
		assert_int_equal(view_merge(&view, the_reader), 0);
		end_view(&view);
		assert_string_equal(output, expected);
		assert_int_equal(view.shown, 9);
		assert_int_equal(view.last_ns, 40);
		free(output);
	}
	/* At most the limit. */
	for (unsigned int limit = 1; limit <= 10; limit++) {
		const struct view_options options = {.limit = limit};
		struct view view;

		begin_view(&view, &options);
		assert_int_equal(view_merge(&view, the_reader), 0);
		end_view(&view);
		assert_int_equal(strlen(output), limit < 9 ? 3 * limit : 27);
		assert_memory_equal(output, expected, strlen(output));
		free(output);
	}
	/* Errors of the reader, and of lines. */
	for (int i = 0; i < 2; i++) {
		static const struct played_item wrong[] = {
				{15, 0, "x ", 1}, {16, 0, "y ", -ENOMEM}};
		const struct view_options options = {.threads = i ? 3 : 0};
		struct view view;

		set_stream(3, 0, wrong, 2);
		begin_view(&view, &options);
		assert_int_equal(view_merge(&view, the_reader), -ENOMEM);
		end_view(&view);
		assert_string_equal(output, "c1 c2 b1 a1 x ");
		free(output);
		set_stream(3, 0, wrong, 1);
		sources[3].end = -EBADMSG;
		begin_view(&view, &options);
		assert_int_equal(view_merge(&view, the_reader), -EBADMSG);
		end_view(&view);
		free(output);
		sources[3].end = 0;
	}
	nr_streams = 0;
	for (unsigned int threads = 0; threads < 3; threads++) {
		const struct view_options options = {.threads = threads};
		struct view view;

		begin_view(&view, &options);
		assert_int_equal(view_merge(&view, the_reader), 0);
		end_view(&view);
		assert_string_equal(output, "");
		free(output);
	}
}

/* Many batches in each of the sources. */
static void test_batches(void **unused)
{
	enum { COUNT = 20000 };
	static struct played_item many[3][COUNT];
	static char texts[3][COUNT][8];
	char *first = NULL;

	(void)unused;
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < COUNT; k++) {
			snprintf(texts[i][k], sizeof(texts[i][k]), "%u%05u ", i, k);
			many[i][k] = (struct played_item){k * (i + 1), 0, texts[i][k], 1};
		}
		set_stream(i, i, many[i], COUNT);
	}
	for (unsigned int threads = 0; threads <= 4; threads += 2) {
		const struct view_options options = {.threads = threads};
		uint32_t next[3] = {0};
		struct view view;
		const char *at;

		begin_view(&view, &options);
		assert_int_equal(view_merge(&view, the_reader), 0);
		end_view(&view);
		at = output;
		for (uint32_t n = 0; n < 3 * COUNT; n++) {
			uint32_t best = 3;

			for (uint32_t i = 0; i < 3; i++)
				if (next[i] < COUNT &&
						(best == 3 ||
								many[i][next[i]].ns <
										many[best][next[best]]
												.ns))
					best = i;
			assert_memory_equal(at, texts[best][next[best]], 7);
			next[best]++;
			at += 7;
		}
		assert_int_equal(*at, '\0');
		if (first)
			assert_string_equal(first, output);
		free(first);
		first = output;
	}
	free(first);
}

/* Each failing allocation ends the view. Returns how many there are. */
static unsigned int fail_each(const struct view_options *options)
{
	for (unsigned int i = 1;; i++) {
		struct view view;
		int ret;

		begin_view(&view, options);
		failing_arm(i);
		ret = view_merge(&view, the_reader);
		if (!failing_has_failed()) {
			assert_int_equal(ret, 0);
			end_view(&view);
			assert_string_equal(output, "a a b b ");
			free(output);
			return i - 1;
		}
		assert_int_equal(ret, -ENOMEM);
		end_view(&view);
		free(output);
	}
}

static void test_memory(void **unused)
{
	static const struct played_item list[] = {{1, 0, "a ", 1}, {2, 0, "b ", 1}};
	const struct view_options options = {.json = false};
	unsigned int nr_failures;
	size_t before;

	(void)unused;
	set_stream(0, 0, list, 2);
	set_stream(1, 1, list, 2);
	nr_failures = fail_each(&options);
	assert_true(nr_failures > 5);
	before = resources_memory();
	for (int i = 0; i < 100; i++)
		assert_int_equal(fail_each(&options), nr_failures);
	/* malloc() keeps some free blocks. A block that is lost each time is more. */
	assert_true(resources_memory() < before + 2400);
}

/* ---- batches and threads ---- */

static void test_feed(void **unused)
{
	static const uint32_t counts[] = {1, 64, 65, 4096, 4097};
	static const size_t batches[] = {262144, 262144, 258111, 4096, 4095};
	struct view_lines lines = {.options = NULL};
	static struct played_item wide[100], narrow[9000];
	struct view_feed *feed;
	struct view_line line;

	(void)unused;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		nr_streams = counts[i];
		assert_int_equal(view_feed_start(&feed, &lines, the_reader, 0), 0);
		assert_int_equal(feed->batch_max, batches[i]);
		assert_int_equal(feed->streams[counts[i] - 1].size,
				batches[i] < 4096 ? batches[i] : 4096);
		view_feed_stop(feed);
	}
	assert_int_equal(nr_lines, 0);
	/* A batch has 4096 bytes at least, the next one four times as many. */
	for (size_t i = 0; i < 100; i++)
		wide[i] = (struct played_item){1, 0,
				"0123456789012345678901234567890123456789012345678901234567890123",
				1};
	for (size_t i = 0; i < 9000; i++)
		narrow[i] = (struct played_item){1, 0, "", 1};
	set_stream(0, 0, wide, 100);
	set_stream(1, 0, narrow, 9000);
	assert_int_equal(view_feed_start(&feed, &lines, the_reader, 0), 0);
	view_line_start(&line, &lines, NULL);
	assert_int_equal(view_feed_fill_batch(feed, &feed->streams[0], &line), 1);
	assert_int_equal(feed->streams[0].batches[0].count, 64);
	assert_int_equal(view_out_size(&feed->streams[0].batches[0].out), 4096);
	assert_int_equal(feed->streams[0].size, 16384);
	feed->streams[0].filled = 1;
	assert_int_equal(view_feed_fill_batch(feed, &feed->streams[0], &line), 0);
	assert_int_equal(feed->streams[0].batches[1].count, 36);
	assert_int_equal(feed->streams[0].size, 65536);
	feed->streams[0].size = 65536 + 1;
	assert_int_equal(view_feed_fill_batch(feed, &feed->streams[0], &line), 0);
	assert_int_equal(feed->streams[0].batches[1].count, 0);
	assert_int_equal(feed->streams[0].size, 262144);
	/* 8192 entries at most. */
	assert_int_equal(view_feed_fill_batch(feed, &feed->streams[1], &line), 1);
	assert_int_equal(feed->streams[1].batches[0].count, 8192);
	assert_int_equal(view_feed_fill_batch(feed, &feed->streams[1], &line), 0);
	assert_int_equal(feed->streams[1].batches[0].count, 808);
	/* The end is detected after 4096 items. */
	sources[1].next = 0;
	feed->stopping = true;
	assert_int_equal(view_feed_fill_batch(feed, &feed->streams[1], &line), 0);
	assert_int_equal(sources[1].next, 4096);
	feed->stopping = false;
	view_line_stop(&line);
	view_feed_stop(feed);
}

static void check_workers(unsigned int threads, uint32_t count, uint64_t size, unsigned int workers)
{
	const struct view_options options = {.threads = threads};
	const struct view view = {.options = &options};

	nr_streams = count;
	for (uint32_t i = 0; i < count && i < 8; i++)
		sources[i].size = i ? 0 : size;
	if (count > 1) {
		sources[0].size = 1;
		sources[1].size = size - 1;
	}
	assert_int_equal(worker_count(&view, the_reader), workers);
}

static void test_workers(void **unused)
{
	(void)unused;
	nr_processors = 4;
	check_workers(0, 8, (4 << 20) - 1, 0);
	check_workers(0, 8, 4 << 20, 3);
	check_workers(0, 2, 4 << 20, 2);
	check_workers(0, 1, 4 << 20, 1);
	check_workers(0, 0, 0, 0);
	nr_processors = 1;
	check_workers(0, 8, 4 << 20, 0);
	nr_processors = 7;
	check_workers(0, 8, 4 << 20, 6);
	check_workers(1, 8, 1, 0);
	check_workers(2, 8, 1, 1);
	check_workers(9, 8, 1, 8);
	check_workers(10, 8, 1, 8);
	check_workers(2, 0, 1, 0);
}

/* At most 16 threads. */
static void test_many_processors(void **unused)
{
	const struct view_options options = {.threads = 0};
	const struct view view = {.options = &options};

	(void)unused;
	sources[0].size = 5 << 20;
	for (uint32_t i = 1; i < 8; i++)
		sources[i].size = 0;
	nr_streams = 8;
	for (long number = 7; number <= 20; number++) {
		nr_processors = number;
		assert_int_equal(worker_count(&view, the_reader), number - 1 < 8 ? number - 1 : 8);
	}
}

/* ---- entries ---- */

static char the_user[] = "user";

static void reported(void *user, enum analysis_message kind, const char *hint, const char *sentence)
{
	assert_string_equal(user, "user");
	called("%d %s [%s];", (int)kind, sentence, hint ? hint : "-");
}

static void show(struct view *view, int64_t ns, bool timed, const char *head, const char *text)
{
	char bytes[100];
	const struct view_entry entry = {.ns = ns,
			.timed = timed,
			.head = (uint32_t)strlen(head),
			.size = strlen(head) + strlen(text),
			.kind = VIEW_ENTRY_EVENT};

	snprintf(bytes, sizeof(bytes), "%s%sxxx", head, text);
	view_show_entry(view, &entry, bytes);
}

static void test_entries(void **unused)
{
	struct view_options options = {.listener = {.report = reported, .user = the_user}};
	struct view_entry entry = {.count = 5, .size = 2, .kind = VIEW_ENTRY_LOST};
	struct view view;

	(void)unused;
	begin_view(&view, &options);
	show(&view, 5, false, "a", "b ");
	show(&view, 7000000000, true, "c", "d ");
	show(&view, 7000000001, true, "e", "f ");
	show(&view, 7000000001, true, "g", "h ");
	show(&view, 4999999999, false, "i", "j ");
	show(&view, 20123456789, true, "", "k ");
	show(&view, 20123456788, true, "l", "m ");
	assert_int_equal(view.shown, 7);
	assert_int_equal(view.last_ns, 20123456788);
	view_show_entry(&view, &entry, "n xxx");
	entry.kind = VIEW_ENTRY_DISCARDED;
	entry.count = 3;
	view_show_entry(&view, &entry, "o xxx");
	view_show_entry(&view, &entry, "o xxx");
	entry.kind = VIEW_ENTRY_OTHER;
	view_show_entry(&view, &entry, "p xxx");
	assert_int_equal(view.lost, 5);
	assert_int_equal(view.discarded, 6);
	assert_false(view.damaged);
	assert_called("");
	/* Messages follow the lines that were printed before. */
	entry.kind = VIEW_ENTRY_NOTE;
	view_show_entry(&view, &entry, "a note");
	assert_int_equal(view_out_size(&view.buffer), 0);
	assert_called("1 a note [-];");
	entry = (struct view_entry){.kind = VIEW_ENTRY_DAMAGE, .head = 7, .size = 9, .cut = true};
	view_show_entry(&view, &entry, "broken\0q xxx");
	assert_true(view.damaged);
	assert_called("0 broken [add --repair to shorten the file to its last complete event];");
	entry.cut = false;
	view_show_entry(&view, &entry, "broken\0r xxx");
	entry.cut = options.repair = true;
	view_show_entry(&view, &entry, "broken\0s xxx");
	assert_called("0 broken [-];0 broken [-];");
	view_flush(&view);
	end_view(&view);
	assert_string_equal(output,
			"a(+?.???"
			"??????"
			")b c(+?.???"
			"??????"
			")d e(+0.000000001)f g(+0.000000000)h i(-2.000000002)j k l(-0.000000001)m "
			"n o o p q r s ");
	free(output);
	/* The listener has no function for messages. */
	options.listener.report = NULL;
	begin_view(&view, &options);
	{
		char text[200];
		int ends[2], saved = dup(STDERR_FILENO);

		assert_int_equal(pipe(ends), 0);
		assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
		view_report(&view, ANALYSIS_NOTE, NULL, "100 % done");
		view_report(&view, ANALYSIS_NOTE, "a hint", "two");
		assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
		text[read(ends[0], text, sizeof(text) - 1)] = '\0';
		assert_string_equal(text, "side: 100 % done\nside: two\nhint: a hint\n");
		close(saved);
		close(ends[0]);
		close(ends[1]);
	}
	/* Progress after each 4096 lines and messages. */
	view.entries = 4095;
	show(&view, 1, true, "", "x");
	assert_called("");
	options.listener.progress = played_progress;
	view.entries = 4094;
	for (int i = 0; i < 4098; i++)
		show(&view, 1, true, "", "x");
	assert_called("user 2;user 4098;");
	end_view(&view);
	free(output);
}

static void test_output(void **unused)
{
	const struct view_options options = {.limit = 0};
	static char text[65536];
	struct view_entry entry = {.size = 65535, .kind = VIEW_ENTRY_OTHER};
	struct view view;
	FILE *full = fopen("/dev/full", "we");

	(void)unused;
	assert_non_null(full);
	memset(text, 'x', sizeof(text));
	begin_view(&view, &options);
	view_show_entry(&view, &entry, text);
	assert_int_equal(view_out_size(&view.buffer), 65535);
	entry.size = 1;
	view_show_entry(&view, &entry, text);
	assert_int_equal(view_out_size(&view.buffer), 0);
	assert_int_equal(output_size, 65536);
	end_view(&view);
	free(output);
	/* The error of the first write is kept. */
	view = (struct view){.options = &options, .out = full};
	view_flush(&view);
	assert_false(view_is_over(&view));
	view_show_entry(&view, &entry, text);
	view_flush(&view);
	assert_int_equal(view.write_error, ENOSPC);
	assert_true(view_is_over(&view));
	view_show_entry(&view, &entry, text);
	view_flush(&view);
	assert_int_equal(view_out_size(&view.buffer), 0);
	assert_int_equal(view.write_error, ENOSPC);
	view_out_free(&view.buffer);
	fclose(full);
	view = (struct view){.options = &options, .buffer = {.failed = true}};
	assert_true(view_is_over(&view));
}

/* ---- growing traces ---- */

static int64_t monotonic_ns, realtime_ns;
static int nr_refreshes, refresh_result, until_result;
static unsigned int nr_recording, stops_at, nr_sleeps;
static bool has_item;

static int played_clock(clockid_t clock, struct timespec *now)
{
	int64_t ns = clock == CLOCK_MONOTONIC ? monotonic_ns : realtime_ns;

	assert_true(clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME);
	*now = (struct timespec){ns / 1000000000, ns % 1000000000};
	return 0;
}

static int played_sleep(const struct timespec *pause, const struct timespec *left)
{
	assert_true(!pause->tv_sec && pause->tv_nsec == 200000000 && !left);
	called("sleep;");
	monotonic_ns += 200000000;
	/* A clock change has no effect. */
	realtime_ns = 0;
	if (++nr_sleeps == stops_at)
		raise(stops_at % 2 ? SIGINT : SIGTERM);
	return 0;
}

static int played_refresh(const struct ctf_reader *reader, bool *recording)
{
	assert_ptr_equal(reader, the_reader);
	*recording = nr_recording && nr_recording--;
	has_item = true;
	called("refresh;");
	return --nr_refreshes ? 0 : refresh_result;
}

static int played_until(const struct ctf_reader *reader, int64_t until, struct ctf_item *item)
{
	static const struct played_item one = {1, 0, "x ", 1};

	assert_ptr_equal(reader, the_reader);
	if (until == INT64_MAX)
		called("all;");
	else
		called("until %lld;", (long long)until);
	if (!has_item)
		return until_result;
	has_item = false;
	item->text = (const char *)&one;
	return 1;
}

static void played_follow(const struct ctf_reader *reader, void (*forget)(void *class))
{
	assert_ptr_equal(reader, the_reader);
	assert_ptr_equal(forget, view_lines_forget);
	called("follow;");
}

static bool has_recorder[3];
static unsigned int nr_asked, nr_opened;
static int open_results[3];

static bool played_recorded(const char *dir)
{
	called("asked %s;", dir);
	return has_recorder[nr_asked++];
}

static int played_open(const char *dir, struct ctf_reader **reader, struct error *error)
{
	assert_non_null(error);
	called("open %s;", dir);
	*reader = the_reader;
	return open_results[nr_opened++];
}

static int played_open_growing(const char *dir, struct ctf_reader **reader, struct error *error)
{
	called("growing ");
	return played_open(dir, reader, error);
}

#define clock_gettime played_clock
#define nanosleep played_sleep
#define ctf_reader_refresh played_refresh
#define ctf_reader_next_until played_until
#define ctf_reader_follow played_follow
#define ctf_is_recorded played_recorded
#define ctf_reader_open played_open
#define ctf_reader_open_growing played_open_growing
#include "analysis/view-follow.c"
#undef clock_gettime
#undef nanosleep

static void follow_so(unsigned int recording, unsigned int stop_after, uint64_t limit, int ret,
		const char *wanted, const char *text)
{
	const struct view_options options = {.limit = limit};
	struct sigaction before = {.sa_handler = SIG_IGN}, after;
	struct view view;

	nr_recording = recording;
	stops_at = stop_after;
	nr_sleeps = 0;
	monotonic_ns = 20000000005;
	assert_int_equal(sigaction(SIGINT, &before, NULL), 0);
	assert_int_equal(sigaction(SIGTERM, &before, NULL), 0);
	begin_view(&view, &options);
	assert_int_equal(view_follow(&view, the_reader), ret);
	end_view(&view);
	assert_string_equal(output, text);
	free(output);
	assert_called(wanted);
	assert_int_equal(sigaction(SIGINT, NULL, &after), 0);
	assert_ptr_equal(after.sa_handler, SIG_IGN);
	assert_int_equal(sigaction(SIGTERM, NULL, &after), 0);
	assert_ptr_equal(after.sa_handler, SIG_IGN);
}

#define FIRST "refresh;until 1019000000005;until 1019000000005;sleep;"
#define NEXT "refresh;until 1019200000005;until 1019200000005;sleep;"
#define ALL "refresh;all;all;"

static void test_follow(void **unused)
{
	(void)unused;
	realtime_ns = 1020000000005;
	/* Print up to one second before the present time, and all lines at the end. */
	follow_so(2, 0, 0, 0, "follow;" FIRST NEXT ALL, "x x x ");
	follow_so(0, 0, 0, 0, "follow;" ALL, "x ");
	/* Signals. */
	follow_so(9, 1, 0, 0, "follow;" FIRST ALL, "x x ");
	follow_so(9, 2, 0, 0, "follow;" FIRST NEXT ALL, "x x x ");
	/* The limit. */
	follow_so(9, 0, 1, 0, "follow;refresh;until 1019000000005;", "x ");
	follow_so(9, 0, 2, 0, "follow;" FIRST "refresh;until 1019200000005;", "x x ");
	/* Errors. */
	until_result = -ENOMEM;
	follow_so(9, 0, 0, -ENOMEM, "follow;refresh;until 1019000000005;until 1019000000005;",
			"x ");
	until_result = 0;
	nr_refreshes = 2;
	refresh_result = -EIO;
	follow_so(9, 0, 0, -EIO, "follow;" FIRST "refresh;", "x ");
	nr_refreshes = refresh_result = 0;
}

static void open_so(bool waits, int ret, const char *wanted)
{
	struct ctf_reader *reader;
	struct error error;

	nr_asked = nr_opened = nr_sleeps = stops_at = 0;
	assert_int_equal(view_open("dir", waits, &reader, &error), ret);
	assert_called(wanted);
}

static void test_open(void **unused)
{
	(void)unused;
	open_so(false, 0, "open dir;");
	open_results[0] = open_results[1] = -ENOENT;
	open_so(false, -ENOENT, "open dir;");
	open_so(true, -ENOENT, "asked dir;growing open dir;");
	has_recorder[0] = has_recorder[1] = true;
	open_so(true, 0,
			"asked dir;growing open dir;sleep;asked dir;growing open dir;sleep;asked dir;growing open dir;");
	open_results[0] = -ENOMEM;
	open_so(true, -ENOMEM, "asked dir;growing open dir;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_order),
			cmocka_unit_test(test_batches),
			cmocka_unit_test(test_memory),
			cmocka_unit_test(test_feed),
			cmocka_unit_test(test_workers),
			cmocka_unit_test(test_many_processors),
			cmocka_unit_test(test_entries),
			cmocka_unit_test(test_output),
			cmocka_unit_test(test_follow),
			cmocka_unit_test(test_open),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
