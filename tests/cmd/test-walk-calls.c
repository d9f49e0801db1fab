/* SPDX-License-Identifier: MIT */
/*
 * The event loop of `report` and `export`, the sending process of `side record --to`, and the note
 * about libraries that other users cannot read, with a reader, a sender and a recorder that the
 * test plays.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/common/command.h"
#include "programs/side/cli/temporary-directory.h"
#include "programs/common/progress.h"
#include "analysis/report-walk.h"
#include "base/error.h"
#include "programs/common/message.h"
#include "programs/side/relay/sending-process.h"
#include "programs/side/relay/sending.h"
#include "analysis/view-time.h"
#include "ctf/ctf.h"
#include "recorder/core/session.h"
#include "protocol/pattern.h"

/* ---- what is printed, on both streams ---- */

static int printed_file, saved[2];

static void begin_output(bool is_verbose)
{
	const struct common_options common = {.verbose = is_verbose, .color = COLOR_NEVER};

	output_start(&common, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 10);
		assert_int_equal(dup2(printed_file, 1 + i), 1 + i);
	}
}

static void assert_output(const char *expected)
{
	static char text[16384];
	ssize_t size;

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dup2(saved[i], 1 + i), 1 + i);
		close(saved[i]);
	}
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	assert_string_equal(text, expected);
}

static char work[] = "/tmp/side-walk-calls-XXXXXX";

/* ---- the reader ---- */

static struct ctf_reader *const the_reader = (struct ctf_reader *)(uintptr_t)0x1000;
static int open_error, open_result, times_status, parse_status, bind_status, next_result;
static bool no_view, no_bound, matches, has_times;
static struct ctf_trace ours = {.is_side = true}, foreign;
static struct ctf_event_class classes[3];
static const struct ctf_item *items;
static size_t nr_items, next_item;

static int played_file(const char *path, int flags)
{
	called("look %s;", path);
	if (open_error) {
		errno = open_error;
		return -1;
	}
	return open(path, flags);
}

static int played_open(const char *dir, struct ctf_reader **reader, struct error *error)
{
	called("open %s;", dir);
	*reader = open_result ? NULL : the_reader;
	strcpy(error->text, "100 % done");
	next_item = 0;
	return open_result;
}

static void played_close(const struct ctf_reader *reader)
{
	assert_ptr_equal(reader, the_reader);
	called("close;");
}

static void played_set_times(const struct ctf_reader *reader, int64_t from, int64_t to)
{
	assert_ptr_equal(reader, the_reader);
	called("times %d %d;", (int)from, (int)to);
}

static int played_times(const struct time_range *range, struct view_time *from,
		struct view_time *to, struct error *error)
{
	(void)error;
	(void)range;
	from->kind = has_times;
	to->kind = 0;
	return times_status;
}

static void played_resolve(const char *dir, const struct view_time *from,
		const struct view_time *to, int64_t *from_ns, int64_t *to_ns)
{
	(void)from;
	(void)to;
	called("resolve %s;", dir);
	*from_ns = 100;
	*to_ns = 200;
}

static int played_next(const struct ctf_reader *reader, struct ctf_item *item)
{
	assert_ptr_equal(reader, the_reader);
	if (next_item == nr_items)
		return next_result;
	*item = items[next_item++];
	return 1;
}

static uint32_t played_traces(const struct ctf_reader *reader)
{
	assert_ptr_equal(reader, the_reader);
	return 2;
}

static const struct ctf_trace *played_trace(const struct ctf_reader *reader, uint32_t index)
{
	assert_ptr_equal(reader, the_reader);
	return index ? &ours : &foreign;
}

static uint32_t played_events(const struct ctf_trace *of)
{
	return of == &ours ? 3 : 0;
}

static struct ctf_event_class *played_event(const struct ctf_trace *of, uint32_t index)
{
	assert_ptr_equal(of, &ours);
	return &classes[index];
}

static int played_parse(
		const char *option, const char *text, struct where *where, struct error *error)
{
	(void)error;
	called("parse %s %s;", option, text);
	where->text = text;
	return parse_status;
}

static void played_where_free(const struct where *where)
{
	called("free %s;", where->text ? where->text : "-");
}

static int played_bind(const struct where *where, const struct ctf_item *item,
		const struct view_event *event, struct where_bound **bound,
		struct where_reason *why)
{
	assert_ptr_equal(event, (void *)(uintptr_t)0x2000);
	assert_null(why);
	called("bind %s %s;", where->text, item->event->name);
	*bound = no_bound || bind_status ? NULL : (struct where_bound *)(uintptr_t)0x3000;
	return bind_status;
}

static void played_bound_free(const struct where_bound *bound)
{
	if (bound)
		called("unbind;");
}

static bool played_matches(const struct where_bound *bound, const struct ctf_item *item)
{
	assert_ptr_equal(bound, (void *)(uintptr_t)0x3000);
	(void)item;
	return matches;
}

static struct view_event *played_view(
		const struct ctf_event_class *event, const struct view_sink *sink)
{
	assert_ptr_equal(sink->ops, &view_json_ops);
	called("view %s;", event->name);
	return no_view ? NULL : (struct view_event *)(uintptr_t)0x2000;
}

static void played_view_free(const struct view_event *event)
{
	if (event)
		called("unview;");
}

static void played_progress(void *user, uint64_t events)
{
	called("%s %llu;", (const char *)user, (unsigned long long)events);
}

static void played_report(
		void *user, enum analysis_message kind, const char *hint, const char *text)
{
	assert_string_equal(user, "user");
	if (kind == ANALYSIS_NOTE)
		message_note_hint(hint, "%s", text);
	else
		message_error(COMMAND_FAILED, hint, "%s", text);
}

static char the_user[] = "user";
static const struct analysis_listener played_listener = {
		.report = played_report, .progress = played_progress, .user = the_user};

#define open(path, flags) played_file(path, flags)
#define ctf_reader_open played_open
#define ctf_reader_close played_close
#define ctf_reader_set_times played_set_times
#define ctf_reader_next played_next
#define ctf_reader_trace_count played_traces
#define ctf_reader_trace played_trace
#define ctf_trace_event_count played_events
#define ctf_trace_event(...) played_event(__VA_ARGS__)
#define view_times_read played_times
#define view_times_resolve played_resolve
#define where_parse played_parse
#define where_free played_where_free
#define where_bind played_bind
#define where_bound_free played_bound_free
#define where_matches played_matches
#define view_event_create played_view
#define view_event_free played_view_free
#include "analysis/report-walk.c"
#undef open

/* ---- walks ---- */

static const char *pattern_texts[] = {"db:*"};
static const struct text_list all = {NULL, 0}, some = {pattern_texts, 1};

static void test_opening(void **unused)
{
	static const struct {
		int error, status;
		const char *printed;
	} cases[] = {
			{EACCES, COMMAND_NOT_PERMITTED,
					"side: cannot report dir: Permission denied\nhint: permission to read the directory is needed\n"},
			{ENOTDIR, COMMAND_FAILED,
					"side: cannot report dir: it is not a directory\nhint: give the directory that `side record -o` wrote\n"},
			{ENOENT, COMMAND_FAILED,
					"side: cannot report dir: No such file or directory\n"},
	};
	struct report_walk_options options = {.verb = "report", .dir = "dir", .patterns = &all};
	static const char *wrong[] = {"[a"};
	const struct text_list wrong_list = {wrong, 1};
	unsigned int before = resources_descriptors();
	struct report_walk walk, again;
	struct error error = {.code = 0};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_error = cases[i].error;
		begin_output(false);
		assert_true(walk_prepare(&walk, &options, &error) < 0);
		assert_int_equal(message_library_error(&error), cases[i].status);
		assert_output(cases[i].printed);
		assert_called("look dir;");
		walk_close(&walk);
		assert_called("free -;");
	}
	open_error = 0;
	options.dir = "/tmp";
	options.where = "x == 1";
	options.patterns = &some;
	parse_status = 5;
	assert_int_equal(walk_prepare(&walk, &options, &error), 5);
	walk_close(&walk);
	assert_called("parse filter x == 1;free x == 1;");
	parse_status = 0;
	assert_int_equal(walk_prepare(&walk, &options, &error), 0);
	assert_called("parse filter x == 1;look /tmp;");
	assert_int_equal(resources_descriptors(), before);
	times_status = 6;
	assert_int_equal(walk_open(&walk, &error), 6);
	times_status = 0;
	open_result = -ENOENT;
	begin_output(false);
	assert_int_equal(walk_open(&walk, &error), -ENOENT);
	assert_int_equal(message_library_error(&error), COMMAND_FAILED);
	assert_output("side: 100 % done\n");
	assert_called("open /tmp;");
	open_result = 0;
	assert_int_equal(walk_open(&walk, &error), 0);
	assert_called("open /tmp;resolve /tmp;");
	assert_true(walk.from_ns == 100 && walk.to_ns == 200 && !walk.is_second);
	has_times = true;
	assert_int_equal(walk_open_again(&again, &walk, &error), 0);
	assert_called("parse filter x == 1;open /tmp;resolve /tmp;times 100 200;");
	assert_true(again.is_second && again.patterns != walk.patterns && again.patterns);
	has_times = false;
	walk_close(&again);
	walk_close(&walk);
	assert_called("close;free x == 1;close;free x == 1;");
	parse_status = 7;
	assert_int_equal(walk_open_again(&again, &walk, &error), 7);
	parse_status = 0;
	walk_close(&again);
	*calls = '\0';
	options.patterns = &wrong_list;
	begin_output(false);
	assert_int_equal(walk_prepare(&walk, &options, &error), -EINVAL);
	assert_int_equal(message_library_error(&error), COMMAND_USAGE);
	assert_called("");
	walk_close(&walk);
	assert_output("side: pattern \"[a\", column 1: a set that is not closed by \"]\"\nhint: `side help patterns` explains them\n");
	*calls = '\0';
	*calls = '\0';
}

static void test_patterns(void **unused)
{
	struct pattern patterns[2];
	struct pattern_error error;
	char name[600];

	(void)unused;
	assert_int_equal(pattern_parse("db:open", &patterns[0], &error), 0);
	assert_true(walk_pattern_wants(patterns, 1, "db:open", -1));
	assert_false(walk_pattern_wants(patterns, 1, "db:close", -1));
	assert_false(walk_pattern_wants(patterns, 1, "open", -1));
	/* Levels of LTTng. */
	assert_int_equal(pattern_parse("db:*@6", &patterns[0], &error), 0);
	for (int level = -1; level <= 15; level++)
		assert_int_equal(walk_pattern_wants(patterns, 1, "db:open", level),
				level >= 0 && level <= 6);
	/* A provider of 511 letters at most. */
	assert_int_equal(pattern_parse("p*:open", &patterns[0], &error), 0);
	for (size_t size = 511; size <= 512; size++) {
		memset(name, 'p', size);
		strcpy(name + size, ":open");
		assert_int_equal(walk_pattern_wants(patterns, 1, name, 0), size == 511);
	}
}

static int own;
static bool no_own;

static void *create_own(void *user, struct walk_class *class, const struct ctf_item *item)
{
	assert_ptr_equal(user, &own);
	assert_non_null(class->view);
	called("own %s;", item->event->name);
	return no_own ? NULL : &own;
}

static void free_own(void *what)
{
	assert_ptr_equal(what, &own);
	called("disown;");
}

static void begin_walk(struct report_walk *walk, const struct report_walk_options *options,
		const struct ctf_item *list, size_t count)
{
	for (size_t i = 0; i < 3; i++)
		classes[i] = (struct ctf_event_class){
				.name = ((const char *[]){"db:open", "net:send", "side:lost"})[i]};
	items = list;
	nr_items = count;
	assert_int_equal(walk_prepare(walk, options, NULL), 0);
	assert_int_equal(walk_open(walk, NULL), 0);
	walk->create_user_data = create_own;
	walk->free_user_data = free_own;
	walk->user = &own;
	*calls = '\0';
}

static const struct ctf_stream_info stream = {.name = "channel_0"},
				    own_stream = {.name = "side_session_0"};
static const struct ctf_value no_fields;

#define EVENT(which, time)                                                           \
	{                                                                            \
		.kind = CTF_ITEM_EVENT, .ns = (time), .timed = true, .trace = &ours, \
		.stream = &stream, .event = &classes[which]                          \
	}

static void test_walking(void **unused)
{
	static const struct ctf_item list[] = {
			EVENT(0, 99),
			EVENT(0, 100),
			EVENT(1, 150),
			EVENT(0, 200),
			EVENT(0, 201),
			{.kind = CTF_ITEM_EVENT,
					.ns = 5,
					.trace = &ours,
					.stream = &stream,
					.event = &classes[0]},
			{.kind = CTF_ITEM_EVENT,
					.ns = 150,
					.timed = true,
					.trace = &ours,
					.stream = &own_stream,
					.event = &classes[2],
					.fields = &no_fields},
			{.kind = CTF_ITEM_DISCARDED, .ns = 150, .timed = true, .trace = &ours},
			{.kind = CTF_ITEM_LOST_PACKETS, .ns = 150, .timed = true, .trace = &ours},
			{.kind = CTF_ITEM_NOTE, .text = "50 % of it"},
			{.kind = CTF_ITEM_DAMAGE,
					.ns = 5,
					.timed = true,
					.text = "100 % done",
					.cut = true},
			{.kind = CTF_ITEM_DAMAGE, .text = "two"},
	};
	struct report_walk_options options = {.verb = "report",
			.dir = "/tmp",
			.patterns = &some,
			.listener = played_listener};
	struct walk_class *class;
	struct ctf_item item;
	struct report_walk walk;

	(void)unused;
	begin_walk(&walk, &options, list, sizeof(list) / sizeof(list[0]));
	begin_output(false);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(walk_next(&walk, &item, &class), 1);
		assert_int_equal(item.ns, ((int[]){100, 200, 5})[i]);
		assert_ptr_equal(class->user_data, &own);
		assert_false(class->lost);
	}
	assert_called("view db:open;own db:open;");
	assert_int_equal(walk.nr_events, 3);
	assert_int_equal(walk_next(&walk, &item, &class), 1);
	assert_true(class->lost);
	assert_int_equal(walk.nr_events, 3);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk_next(&walk, &item, &class), 1);
		assert_null(class);
	}
	assert_false(walk.damaged);
	assert_int_equal(walk_next(&walk, &item, &class), 0);
	assert_true(walk.damaged);
	assert_int_equal(walk.nr_items, 12);
	assert_output("side: 50 % of it\nside: 100 % done\nhint: `side view --repair` shortens the file to its last complete event\nside: two\n");
	assert_called("");
	walk_close(&walk);
	assert_called("disown;unview;close;free -;");
	for (size_t i = 0; i < 3; i++)
		assert_null(classes[i].user);
	/* A second walk prints nothing. */
	begin_walk(&walk, &options, list, sizeof(list) / sizeof(list[0]));
	walk.is_second = true;
	walk.nr_items = 4095;
	next_result = -ENOMEM;
	begin_output(false);
	while (walk_next(&walk, &item, &class) > 0)
		;
	assert_output("");
	assert_true(walk.damaged);
	next_result = 0;
	/* Progress after each 4096 items. */
	assert_memory_equal(calls, "user 4096;view db:open;", 23);
	assert_null(strstr(calls + 1, "user"));
	walk_close(&walk);
	*calls = '\0';
}

static void test_losses_of_others(void **unused)
{
	static const struct ctf_item list[] = {
			{.kind = CTF_ITEM_EVENT,
					.ns = 150,
					.trace = &foreign,
					.stream = &own_stream,
					.event = &classes[2],
					.fields = &no_fields},
			{.kind = CTF_ITEM_EVENT,
					.ns = 150,
					.trace = &ours,
					.stream = &stream,
					.event = &classes[2],
					.fields = &no_fields},
			{.kind = CTF_ITEM_EVENT,
					.ns = 150,
					.trace = &ours,
					.stream = &own_stream,
					.event = &classes[2]},
			{.kind = CTF_ITEM_EVENT,
					.ns = 150,
					.trace = &ours,
					.stream = &own_stream,
					.event = &classes[1],
					.fields = &no_fields},
	};

	(void)unused;
	classes[1].name = "net:send";
	classes[2].name = "side:lost";
	for (size_t i = 0; i < 4; i++)
		assert_false(is_lost_record(&list[i]));
}

static void test_filters(void **unused)
{
	static const struct ctf_item list[] = {EVENT(0, 100), EVENT(0, 101)};
	const struct report_walk_options options = {
			.verb = "report", .dir = "/tmp", .patterns = &all, .where = "x"};
	struct walk_class *class;
	struct ctf_item item;
	struct report_walk walk;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		matches = i == 0;
		no_bound = i == 2;
		begin_walk(&walk, &options, list, 2);
		assert_int_equal(walk_next(&walk, &item, &class), i ? 0 : 1);
		assert_called(i < 2 ? "view db:open;bind x db:open;own db:open;"
				    : "view db:open;bind x db:open;");
		assert_int_equal(walk.nr_events, !i);
		walk_close(&walk);
		assert_called(i < 2 ? "disown;unbind;unview;close;free x;"
				    : "unview;close;free x;");
	}
	no_bound = false;
	/* Out of memory: all allocated memory is freed. */
	for (int i = 0; i < 4; i++) {
		no_view = i == 0;
		bind_status = i == 1 ? -ENOMEM : 0;
		no_own = i == 2;
		begin_walk(&walk, &options, list, 2);
		failing_arm(i == 3);
		assert_int_equal(walk_next(&walk, &item, &class), -ENOMEM);
		assert_int_equal(failing_has_failed(), i == 3);
		*calls = '\0';
		walk_close(&walk);
		assert_called(i == 0 || i == 3           ? "close;free x;"
						: i == 1 ? "unview;close;free x;"
							 : "unbind;unview;close;free x;");
	}
	no_view = no_own = false;
	bind_status = 0;
}

static void put_time(int64_t ns, bool utc, const char *expected)
{
	struct view_out out = {0};

	walk_put_time(&out, ns, utc);
	called("%.*s", (int)view_out_size(&out), out.begin);
	assert_called(expected);
	view_out_free(&out);
}

static void test_times(void **unused)
{
	(void)unused;
	setenv("TZ", "UTC-2", 1);
	tzset();
	put_time(1000000000123456789, true, "2001-09-09T01:46:40.123456789Z");
	put_time(1000000000000000001, false, "03:46:40.000000001");
	put_time(0, true, "1970-01-01T00:00:00.000000000Z");
	put_time(-1, true, "1969-12-31T23:59:59.999999999Z");
	put_time(-1000000000, true, "1969-12-31T23:59:59.000000000Z");
	unsetenv("TZ");
}

/* ---- record --to ---- */

static int check_result, make_result, start_result, made_status, end_status;
static bool is_ctf1, no_mapping;
static unsigned int over_after;
static struct sending_process *const the_process = (struct sending_process *)(uintptr_t)0x4000;

static int played_send_check(const char *url, bool *ctf1_only, struct error *error)
{
	called("check %s;", url);
	*ctf1_only = is_ctf1;
	return check_result
			? error_set_kind(error, ERROR_USAGE, check_result, "a hint", "100 %% done")
			: 0;
}

static struct send_options played_options(
		const char *dir, const char *url, uint64_t spool, uint64_t timeout_ns)
{
	assert_null(dir);
	called("options %s %u %u;", url, (unsigned int)spool, (unsigned int)timeout_ns);
	return (struct send_options){.url = url};
}

static int played_make(const struct send_options *options, struct sending_process **process)
{
	assert_true(options->live && options->rounds);
	called("make %s;", options->url);
	*process = make_result ? NULL : the_process;
	return make_result;
}

static int played_made(const char *name, const char *what, char **made)
{
	called("made %s %s;", name, what);
	*made = made_status ? NULL : strdup("/spool");
	return made_status;
}

static void played_remove(char **made)
{
	called("remove %s;", *made ? *made : "-");
	free(*made);
	*made = NULL;
}

static int played_start(const struct sending_process *process, const char *dir,
		const char *fallback, struct error *error)
{
	assert_ptr_equal(process, the_process);
	called("start %s %s;", dir, fallback ? fallback : "-");
	strcpy(error->text, "100 % done");
	return start_result;
}

static void played_finish(const struct sending_process *process)
{
	assert_ptr_equal(process, the_process);
	called("finish;");
}

static bool played_over(const struct sending_process *process)
{
	assert_ptr_equal(process, the_process);
	return !over_after--;
}

static int played_signal(
		const sigset_t *signals, const siginfo_t *info, const struct timespec *moment)
{
	assert_true(!info && !moment->tv_sec && moment->tv_nsec == 100000000);
	assert_true(sigismember(signals, SIGINT) && sigismember(signals, SIGTERM) &&
			sigismember(signals, SIGHUP));
	called("wait;");
	return over_after == 99 ? SIGINT : -1;
}

static void played_stop(const struct sending_process *process, struct send_status *status)
{
	called("stop %d %d;", process == the_process, status != NULL);
	if (status)
		*status = (struct send_status){.packets = 77};
}

static int played_end(const struct send_status *status, const char *url, const char *dir)
{
	assert_int_equal(status->packets, 77);
	called("end %s %s;", url, dir ? dir : "-");
	return end_status;
}

static int nr_mappings;

static void *played_map(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
	if (no_mapping)
		return MAP_FAILED;
	nr_mappings++;
	return mmap(at, size, rights, flags, fd, offset);
}

static int played_unmap(void *at, size_t size)
{
	assert_int_equal(size, sizeof(struct send_rounds));
	nr_mappings--;
	return munmap(at, size);
}

#define url_check played_send_check
#define sending_options played_options
#define sending_process_make played_make
#define sending_process_start played_start
#define sending_process_finish played_finish
#define sending_process_is_over played_over
#define sending_process_stop played_stop
#define sending_end played_end
#define temporary_directory_make played_made
#define temporary_directory_remove played_remove
#define sigtimedwait played_signal
#define mmap played_map
#define munmap played_unmap
#include "programs/side/record/record-to.c"
#undef mmap
#undef munmap

static int prepare(struct sending_state *sending, struct parsed *parsed,
		struct session_options *options, const char *printed, const char *wanted)
{
	int status;

	begin_output(false);
	status = sending_prepare(sending, parsed, options);
	assert_output(printed);
	assert_called(wanted);
	return status;
}

static void test_record_to(void **unused)
{
	struct session_options options = {.format = SESSION_FORMAT_CTF1};
	struct parsed parsed = {.options.record = {.spool = 0}};
	struct record_options *record = &parsed.options.record;
	char command[] = "/bin/ls", *operands[] = {command, NULL};
	struct sending_state sending;

	(void)unused;
	assert_int_equal(prepare(&sending, &parsed, &options, "", ""), COMMAND_DONE);
	assert_int_equal(sending_start(&sending, &parsed, "out"), 0);
	assert_called("");
	for (int i = 0; i < 2; i++) {
		record->spool = i;
		record->timeout = !i;
		assert_int_equal(
				prepare(&sending, &parsed, &options,
						"side: cannot use `--spool` or `--timeout` without `--to`\n",
						""),
				COMMAND_USAGE);
	}
	record->spool = 5;
	record->timeout = 6;
	record->to = "url";
	check_result = -EINVAL;
	assert_int_equal(prepare(&sending, &parsed, &options, "side: 100 % done\nhint: a hint\n",
					 "check url;"),
			COMMAND_USAGE);
	check_result = 0;
	is_ctf1 = true;
	options.format = SESSION_FORMAT_CTF2;
	assert_int_equal(
			prepare(&sending, &parsed, &options,
					"side: a relay daemon accepts only CTF 1.8\nhint: leave `--format` out\n",
					"check url;"),
			COMMAND_USAGE);
	is_ctf1 = false;
	record->to = "-";
	assert_int_equal(
			prepare(&sending, &parsed, &options,
					"side: standard output belongs to the command that is recorded\nhint: write to a FIFO\n",
					"check -;"),
			COMMAND_USAGE);
	record->to = "url";
	no_mapping = true;
	assert_int_equal(prepare(&sending, &parsed, &options, "side: out of memory\n",
					 "check url;options url 5 6;"),
			COMMAND_FAILED);
	no_mapping = false;
	make_result = -EAGAIN;
	assert_int_equal(
			prepare(&sending, &parsed, &options,
					"side: cannot start the sending process: Resource temporarily unavailable\n",
					"check url;options url 5 6;make url;"),
			COMMAND_FAILED);
	assert_null(options.rounds);
	assert_int_equal(sending_finish(&sending, NULL), 0);
	assert_called("stop 0 0;remove -;");
	make_result = 0;
	made_status = 7;
	assert_int_equal(
			prepare(&sending, &parsed, &options, "",
					"check url;options url 5 6;make url;made side-spool the spool;"),
			7);
	made_status = 0;
	assert_int_equal(sending_finish(&sending, NULL), 0);
	assert_called("stop 1 0;remove -;");
	/* With a temporary directory, and with a directory from the user. */
	for (int i = 0; i < 2; i++) {
		options = (struct session_options){
				.format = SESSION_FORMAT_CTF1, .output = i ? "out" : NULL};
		is_ctf1 = true;
		assert_int_equal(
				prepare(&sending, &parsed, &options, "",
						i ? "check url;options url 5 6;make url;"
						  : "check url;options url 5 6;make url;made side-spool the spool;"),
				COMMAND_DONE);
		assert_ptr_equal(options.rounds, (void *)sending.rounds);
		assert_string_equal(options.output, i ? "out" : "/spool");
		parsed.operands = operands;
		for (int k = 0; k < 3; k++) {
			parsed.operand_count = k < 2;
			strcpy(command, k ? "ls" : "/bin/ls");
			assert_int_equal(sending_start(&sending, &parsed, options.output), 0);
			assert_called(i                         ? "start out -;"
							: k < 2 ? "start /spool ls;"
								: "start /spool kernel;");
		}
		/* All data is delivered, or a signal ends the wait. */
		over_after = i ? 100 : 2;
		end_status = i ? COMMAND_FAILED : COMMAND_LOST;
		assert_int_equal(sending_finish(&sending, options.output), end_status);
		assert_called(i ? "finish;wait;stop 1 1;end url out;"
				: "finish;wait;wait;stop 1 1;end url /spool;remove /spool;");
		assert_null(sending.process);
		assert_non_null(sending.rounds);
		assert_int_equal(sending_finish(&sending, NULL), 0);
		assert_null(sending.rounds);
		assert_called("stop 0 0;remove -;");
	}
	/* The sender does not start: the trace is kept. */
	options = (struct session_options){.output = NULL};
	assert_int_equal(sending_prepare(&sending, &parsed, &options), COMMAND_DONE);
	start_result = -1;
	begin_output(false);
	assert_int_equal(sending_start(&sending, &parsed, "/spool"), COMMAND_FAILED);
	assert_output("side: 100 % done\nhint: the trace is in /spool\n");
	assert_null(sending.temporary);
	*calls = '\0';
	assert_int_equal(sending_finish(&sending, NULL), 0);
	assert_called("stop 1 0;remove -;");
	assert_int_equal(nr_mappings, 0);
}

/* ---- libraries that other users cannot read ---- */

static const char *library_path;
static uid_t user;

static char *played_library(const char *name)
{
	assert_string_equal(name, "libside-agent.so");
	return library_path ? strdup(library_path) : NULL;
}

#define session_library played_library
#define geteuid() (user)
#include "programs/side/record/private-directory.c"

static void note(bool is_verbose, const char *word, const char *printed)
{
	char text[100], first[] = "env", *args[] = {first, text, NULL};

	snprintf(text, sizeof(text), "%s", word ? word : "");
	begin_output(is_verbose);
	record_note_private(word ? args : NULL);
	assert_output(printed);
}

static void test_private(void **unused)
{
	static const char *const changers[] = {"su", "runuser", "setpriv", "setuidgid",
			"s6-setuidgid", "chpst", "gosu", "su-exec", "capsh", "start-stop-daemon",
			"/bin/su", "cd /; su x", "(su)", "a&su", "`su`", "\"su\" y", "a\tsu\nb"};
	static const char *const others[] = {"sudo", "s", "", "su-", "xsu", "su.x"};
	char path[300], library[400], printed[1100];
	const char *sentence =
			"programs that change to another user are not recorded, and their loader prints \"cannot be preloaded\": other users cannot read";

	(void)unused;
	assert_int_equal(chmod(work, 0755), 0);
	snprintf(path, sizeof(path), "%s/a b", work);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/a b/c", work);
	assert_int_equal(mkdir(path, 0711), 0);
	snprintf(library, sizeof(library), "%s/libside-agent.so", path);
	library_path = library;
	assert_int_equal(close(open(library, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)), 0);
	assert_int_equal(chmod(library, 0644), 0);
	snprintf(printed, sizeof(printed), "side: %s %s/a b; `chmod o+x '%s/a b'` permits it\n",
			sentence, work, work);
	for (size_t i = 0; i < sizeof(changers) / sizeof(changers[0]); i++)
		note(false, changers[i], printed);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		note(false, others[i], "");
	note(true, "sudo", printed);
	note(true, NULL, printed);
	user = 1;
	note(true, "su", "");
	user = 0;
	/* Two directories cannot be entered; then only the library is unreadable. */
	assert_int_equal(chmod(path, 0700), 0);
	snprintf(printed, sizeof(printed),
			"side: %s %s/a b; `chmod o+x '%s/a b' '%s/a b/c'` permits it\n", sentence,
			work, work, work);
	note(false, "su", printed);
	assert_int_equal(chmod(path, 0711), 0);
	snprintf(path, sizeof(path), "%s/a b", work);
	assert_int_equal(chmod(path, 0711), 0);
	note(true, "su", "");
	assert_int_equal(chmod(library, 0640), 0);
	snprintf(printed, sizeof(printed), "side: %s %s; `chmod o+r '%s'` permits it\n", sentence,
			library, library);
	note(false, "su", printed);
	assert_int_equal(unlink(library), 0);
	note(true, "su", "");
	library_path = NULL;
	note(true, "su", "");
	snprintf(path, sizeof(path), "%s/a b/c", work);
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/a b", work);
	assert_int_equal(rmdir(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_opening),
			cmocka_unit_test(test_patterns),
			cmocka_unit_test(test_walking),
			cmocka_unit_test(test_losses_of_others),
			cmocka_unit_test(test_filters),
			cmocka_unit_test(test_times),
			cmocka_unit_test(test_record_to),
			cmocka_unit_test(test_private),
	};
	int ret;

	alarm(50);
	(void)umask(022);
	if (!mkdtemp(work))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(work);
	return ret;
}
