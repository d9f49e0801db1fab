/* SPDX-License-Identifier: MIT */
/*
 * `side record_run` with a session, a kernel, a printer and a sender that the test plays, and the
 * whole summary with distinct values.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "printed.h"

#include "programs/common/command.h"
#include "programs/side/record/printing.h"
#include "programs/common/progress.h"
#include "programs/side/record/kernel.h"
#include "programs/side/record/no-events.h"
#include "programs/side/record/private-directory.h"
#include "programs/side/relay/sending.h"
#include "recorder/core/live.h"
#include "recorder/core/session.h"

/* ---- the session ---- */

static char memory;
#define SESSION ((struct session *)(void *)&memory)
static struct session_summary parameters;
static struct session_options installed; /* to session_create() */
static int create_kind, spawn_kind, run_kind;
static bool is_created, gets_progress;

static int set_error(struct error *error, int kind, const char *text)
{
	*error = (struct error){.kind = (enum error_kind)kind};
	snprintf(error->text, sizeof(error->text), "%s", text);
	return kind ? -1 : 0;
}

static int played_create(const struct session_options *options, struct session **session,
		struct error *error)
{
	called("create %s;", options->output ? options->output : "-");
	installed = *options;
	assert_false(is_created);
	if (create_kind)
		return set_error(error, create_kind, "not created");
	is_created = true;
	*session = SESSION;
	return 0;
}

static const struct session_summary *played_summary(struct session *session)
{
	assert_ptr_equal(session, SESSION);
	return &parameters;
}

static int played_spawn(struct session *session, char *const *args, struct error *error)
{
	assert_ptr_equal(session, SESSION);
	called("spawn %s;", args[0]);
	return set_error(error, spawn_kind, "not spawned");
}

static void played_on_progress(struct session *session,
		void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost),
		void *user)
{
	assert_ptr_equal(session, SESSION);
	gets_progress = true;
	progress(user, 2048, 3, 4567);
}

static int played_run(struct session *session, struct error *error)
{
	assert_ptr_equal(session, SESSION);
	called("run;");
	return set_error(error, run_kind, "not run");
}

static void played_destroy(struct session *session)
{
	assert_ptr_equal(session, SESSION);
	assert_true(is_created);
	is_created = false;
	called("destroy;");
}

static struct session_message live_messages[2];
static unsigned int nr_live;

static bool played_take(struct session *session, struct session_message *message)
{
	assert_ptr_equal(session, SESSION);
	if (!nr_live)
		return false;
	*message = live_messages[--nr_live];
	return true;
}

static bool is_due;

static bool played_is_due(void)
{
	return is_due;
}

__attribute__((format(printf, 1, 2))) static void played_show(const char *format, ...)
{
	char text[200];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("show %s;", text);
}

/* ---- the kernel ---- */

static int prepare_status, join_status, start_status, finish_status;
static bool is_alone, is_refused, is_joined, adds_environment;
static unsigned int nr_freed;
static char kernel_memory;

static int played_prepare(struct kernel_recording *recording, const struct parsed *parsed,
		struct session_options *session)
{
	(void)parsed;
	called("prepare;");
	recording->alone = is_alone;
	session->monotonic = true;
	return prepare_status;
}

static int played_join(struct kernel_recording *recording, const struct parsed *parsed,
		struct session_options *session)
{
	(void)parsed;
	called("join;");
	if (is_joined)
		recording->joined = (struct kernel_joined *)(void *)&kernel_memory;
	session->nr_environment = adds_environment;
	return join_status;
}

static char **played_words(const struct kernel_recording *recording)
{
	static char word[] = "side-kernel-words", *args[] = {word, NULL};

	assert_ptr_equal(recording->joined, &kernel_memory);
	return args;
}

static int played_start(struct kernel_recording *recording, const struct parsed *parsed,
		const struct session *session, const char *output)
{
	(void)recording;
	(void)parsed;
	assert_ptr_equal(session, SESSION);
	called("start %s;", output);
	return start_status;
}

static int played_finish(struct kernel_recording *recording, const struct parsed *parsed,
		struct session *session)
{
	(void)parsed;
	assert_ptr_equal(session, SESSION);
	called("finish;");
	recording->refused = is_refused;
	return finish_status;
}

static bool played_means(const char *pattern)
{
	called("means %s;", pattern);
	return !strcmp(pattern, "sched:a");
}

/* ---- the printer and the sender ---- */

static int printing_status, printing_start_status, sending_prepare_status, sending_start_status,
		sending_finish_status, channels_status;
static bool is_made;
static unsigned int nr_lists;
static char made[] = "/made";

static int played_printing_prepare(struct printing *printing, bool wanted, const char **output)
{
	called("print %d %s;", wanted, *output ? *output : "-");
	*printing = (struct printing){.end_fd = -1, .temporary = is_made ? made : NULL};
	if (is_made)
		*output = made;
	return printing_status;
}

static int played_printing_start(struct printing *printing, const struct parsed *parsed,
		const char *output, bool has_command)
{
	(void)printing;
	(void)parsed;
	called("printer %s %d;", output, has_command);
	return printing_start_status;
}

static int played_sending_prepare(struct sending_state *sending, const struct parsed *parsed,
		struct session_options *session)
{
	(void)parsed;
	(void)sending;
	(void)session;
	called("sender;");
	return sending_prepare_status;
}

static int played_sending_start(
		struct sending_state *sending, const struct parsed *parsed, const char *output)
{
	(void)sending;
	(void)parsed;
	called("sends %s;", output);
	return sending_start_status;
}

static int played_sending_finish(struct sending_state *sending, const char *output)
{
	(void)sending;
	called("sent %s;", output ? output : "-");
	return output ? sending_finish_status : COMMAND_DONE;
}

static int played_channels(
		const struct option_uses *uses, bool symbols, struct channel_list **channels)
{
	(void)uses;
	called("channels %d;", symbols);
	*channels = (struct channel_list *)(void *)&memory;
	nr_lists++;
	return channels_status;
}

static const struct session_channel *played_items(const struct channel_list *channels, size_t *nr)
{
	static struct session_channel items[3];

	assert_ptr_equal(channels, &memory);
	*nr = 3;
	return items;
}

static void played_explain(
		const struct no_events_query *nothing, const struct session_summary *summary)
{
	assert_ptr_equal(summary, &parameters);
	called("explain %zu %zu;", nothing->uses->count, nothing->wrappers->count);
}

static void (*last_handler)(int);

static void (*played_signal(int number, void (*handler)(int)))(int)
{
	assert_int_equal(number, SIGPIPE);
	last_handler = handler;
	return SIG_DFL;
}

#define session_create played_create
#define session_summary(...) played_summary(__VA_ARGS__)
#define session_spawn played_spawn
#define session_on_progress played_on_progress
#define session_run played_run
#define session_destroy played_destroy
#define session_take_message played_take
#define progress_is_due played_is_due
#define progress_show played_show
#define progress_end() called("end;")
#define kernel_recording_prepare played_prepare
#define kernel_recording_join played_join
#define kernel_recording_args played_words
#define kernel_recording_start played_start
#define kernel_recording_print_begin() called("begin;")
#define kernel_recording_wait() called("wait;")
#define kernel_recording_finish played_finish
#define kernel_recording_is_event played_means
#define kernel_recording_discard(recording) called("discard;")
#define kernel_recording_free(recording) (nr_freed++)
#define printing_prepare played_printing_prepare
#define printing_start played_printing_start
#define printing_finish(printing) called("printed;")
#define sending_prepare played_sending_prepare
#define sending_start played_sending_start
#define sending_finish played_sending_finish
#define command_channels played_channels
#define channel_list_items played_items
#define channel_list_free(channels) (nr_lists--)
#define record_note_private(operands) called("private %s;", (operands)[0])
#define no_events_explain played_explain
#define signal played_signal
#include "programs/side/record/record.c"
#undef signal

static const struct verb record_verb = {.name = "record", .id = VERB_RECORD};
static const struct verb recover_verb = {.name = "recover", .id = VERB_RECOVER};
static const struct verb trace_verb = {.name = "trace", .id = VERB_TRACE};
static struct session_process processes[14];
static struct session_loss losses[14];

static void reset(void)
{
	parameters = (struct session_summary){.output = "/out", .status = 0};
	create_kind = spawn_kind = run_kind = 0;
	prepare_status = join_status = start_status = finish_status = 0;
	printing_status = printing_start_status = sending_prepare_status = 0;
	sending_start_status = sending_finish_status = channels_status = 0;
	is_alone = is_refused = is_joined = adds_environment = is_made = is_due = false;
	printed_options = (struct common_options){.color = COLOR_NEVER};
	gets_progress = false;
	last_handler = NULL;
	memset(processes, 0, sizeof(processes));
	memset(losses, 0, sizeof(losses));
	*calls = '\0';
}

/* ---- statuses ---- */

static void test_statuses(void **unused)
{
	static const int statuses[] = {COMMAND_DONE, COMMAND_FAILED, COMMAND_USAGE,
			COMMAND_NOT_PERMITTED, COMMAND_NOT_FOUND, COMMAND_FAILED,
			COMMAND_NOT_EXECUTABLE};
	struct error error = {.kind = ERROR_FAILED, .text = "sentence"};
	int status;

	(void)unused;
	reset();
	for (int i = 0; i < 7; i++)
		assert_int_equal(command_session_status((enum error_kind)i), statuses[i]);
	assert_int_equal(command_session_status((enum error_kind)7), COMMAND_FAILED);
	assert_int_equal(record_exit_status(7 << 8), 7);
	assert_int_equal(record_exit_status(9), 137);
	assert_int_equal(record_exit_status(0x80 | 11), 139);
	assert_int_equal(record_exit_status(0x137f), COMMAND_FAILED);
	begin_output();
	assert_int_equal(command_session_error(&error), COMMAND_FAILED);
	error.kind = ERROR_USAGE;
	snprintf(error.hint, sizeof(error.hint), "do that");
	assert_int_equal(command_session_error(&error), COMMAND_USAGE);
	error_set_position(&error, "a ? b", 0, 3);
	assert_int_equal(command_session_error(&error), COMMAND_USAGE);
	assert_output("side: sentence\nside: sentence\nhint: do that\nside: sentence\n  a ? b\n    ^\nhint: do that\n");
	status = 5;
	assert_int_equal(command_compression(0, &status), 0);
	assert_int_equal(status, COMMAND_DONE);
	assert_int_equal(command_compression(OPTION_BARE, &status), 3);
	assert_int_equal(command_compression(19, &status), 19);
	begin_output();
	assert_int_equal(command_compression(20, &status), -1);
	assert_int_equal(status, COMMAND_USAGE);
	assert_output("side: cannot compress at level 20: levels are 1 to 19\n");
}

static void test_progress(void **unused)
{
	struct parsed parsed = {.verb = &recover_verb};

	(void)unused;
	reset();
	command_progress(&parsed, 3072, 1, 1);
	assert_called("");
	is_due = true;
	command_progress(&parsed, 3072, 1, 1234);
	assert_called("show side: recover: 3.0 KiB of 1 process, 1,234 lost;");
	command_progress(&parsed, 1, 2, 0);
	assert_called("show side: recover: 1 byte of 2 processes, 0 lost;");
}

static void test_messages(void **unused)
{
	struct session_message messages[] = {{.text = strdup("one"), .hint = "x"},
			{.is_error = true, .text = strdup("two"), .hint = "y"},
			{.is_error = true, .text = strdup("three")}, {.text = strdup("four")}};
	size_t before;

	(void)unused;
	reset();
	parameters.messages = messages;
	parameters.nr_messages = 4;
	begin_output();
	command_session_messages(&parameters);
	assert_output("side: one\nhint: x\nside: two\nhint: y\nside: three\nside: four\n");
	/* --quiet suppresses notes. */
	printed_options.quiet = true;
	begin_output();
	command_session_messages(&parameters);
	assert_output("side: two\nhint: y\nside: three\n");
	printed_options.quiet = false;
	for (int i = 0; i < 4; i++)
		free(messages[i].text);
	for (int i = 0; i < 3; i++) {
		before = i == 1 ? resources_memory() : 0;
		live_messages[1] = (struct session_message){.text = strdup("first"), .hint = "h"};
		live_messages[0] = (struct session_message){
				.is_error = true, .text = strdup("second")};
		nr_live = 2;
		begin_output();
		command_live_messages(SESSION);
		assert_output("side: first\nhint: h\nside: second\n");
		if (i == 1)
			assert_int_equal(resources_memory(), before);
	}
}

static void test_final(void **unused)
{
	struct record_options options = {.strict = false};

	(void)unused;
	reset();
	parameters.lost = 1;
	assert_int_equal(record_final_status(&parameters, &options, 0), COMMAND_DONE);
	options.strict = true;
	assert_int_equal(record_final_status(&parameters, &options, 0), COMMAND_LOST);
	parameters.lost = 0;
	parameters.unwritten = 1;
	assert_int_equal(record_final_status(&parameters, &options, 0), COMMAND_LOST);
	parameters.unwritten = 0;
	parameters.nr_refused = 1;
	assert_int_equal(record_final_status(&parameters, &options, 7), COMMAND_LOST);
	parameters.nr_refused = 0;
	assert_int_equal(record_final_status(&parameters, &options, 7), 7);
	parameters.failure = ERROR_PERMISSION;
	assert_int_equal(record_final_status(&parameters, &options, 7), 7);
	assert_int_equal(record_final_status(&parameters, &options, 0), COMMAND_NOT_PERMITTED);
	parameters.status = 9 << 8;
	assert_int_equal(record_final_status(&parameters, &options, 7), 9);
	/* If there is a status, the interruption does not count. */
	parameters.interrupted = true;
	assert_int_equal(record_final_status(&parameters, &options, 7), 9);
	parameters.status = 0;
	assert_int_equal(record_final_status(&parameters, &options, 0), COMMAND_NOT_PERMITTED);
	parameters.status = -1;
	assert_int_equal(record_final_status(&parameters, &options, 7), 130);
	parameters.interrupted = false;
	assert_int_equal(record_final_status(&parameters, &options, 7), 7);
}

static void test_signals(void **unused)
{
	(void)unused;
	reset();
	begin_output();
	parameters.status = 11 | 0x80;
	record_print_signal(&parameters, "./x");
	parameters.status = 15;
	record_print_signal(&parameters, "./y");
	parameters.interrupted = true;
	record_print_signal(&parameters, "./y");
	parameters.interrupted = false;
	parameters.status = SIGINT;
	record_print_signal(&parameters, "./y");
	parameters.status = SIGPIPE;
	record_print_signal(&parameters, "./y");
	parameters.status = 3 << 8;
	record_print_signal(&parameters, "./y");
	parameters.status = -1;
	record_print_signal(&parameters, "./y");
	assert_output("side: ./x was killed by signal 11 (Segmentation fault, core dumped)\nside: ./y was killed by signal 15 (Terminated)\n");
}

/* ---- the summary ---- */

static void test_summary(void **unused)
{
	struct parsed parsed = {.verb = &record_verb, .options.record.output = "x"};

	(void)unused;
	reset();
	processes[0] = (struct session_process){.directory = "idle", .procname = "i"};
	processes[1] = (struct session_process){.directory = "few",
			.procname = "f",
			.recorded = 1,
			.bytes = 1,
			.events = 1};
	processes[2] = (struct session_process){.directory = "lost", .procname = "l", .lost = 3};
	processes[3] = (struct session_process){.directory = "",
			.procname = "ma\tny",
			.pid = 77,
			.recorded = 1200,
			.bytes = 2048,
			.events = 2345,
			.ring_size = 8192};
	processes[4] = (struct session_process){
			.directory = "same", .procname = "s", .recorded = 1};
	processes[5] = (struct session_process){
			.directory = "over", .procname = "o", .overwritten = 1};
	parameters.processes = processes;
	parameters.nr_processes = 6;
	parameters.recorded = 1202;
	parameters.bytes = 3072;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: recorded 1,202 events from 5 processes, 3.0 KiB, in /out\n"
		      "  ma\\x09ny, pid 77              1,200 events, 2.0 KiB (2,345 event classes enabled)\n"
		      "  few                           1 event, 1 byte (1 event class enabled)\n"
		      "  same                          1 event, 0 bytes (0 event classes enabled)\n"
		      "  lost                          0 events, 0 bytes (0 event classes enabled)\n"
		      "  over                          0 events, 0 bytes (0 event classes enabled)\n"
		      "  and 1 process without events\n"
		      "side: see it with: side view /out\n");
	/* One process; two without events. */
	parameters.chunks = 3;
	parameters.processes = processes + 4;
	parameters.nr_processes = 1;
	parameters.recorded = 1;
	parameters.interrupted = true;
	parsed.verb = &recover_verb;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: recovered 1 event from 1 process, 3.0 KiB, in /out; interrupted before the command ended\n  same                          1 event, 0 bytes (0 event classes enabled)\nside: 3 chunks in /out\nside: see it with: side view /out\n");
	parameters.chunks = 0;
	/* Losses are printed with --quiet, too. */
	printed_options.quiet = true;
	parameters.lost = 2;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: 2 events were lost for reasons that only the traces contain\n");
	parameters.lost = 0;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("");
	printed_options.quiet = false;
	/* The output. */
	parsed.verb = &record_verb;
	parameters.interrupted = false;
	parsed.options.record.print = true;
	parsed.options.record.output = NULL;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: recorded 1 event from 1 process, 3.0 KiB\n  same                          1 event, 0 bytes (0 event classes enabled)\n");
	parsed.options.record.to = "tcp://a\tb";
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: recorded 1 event from 1 process, 3.0 KiB, for tcp://a\\x09b\n  same                          1 event, 0 bytes (0 event classes enabled)\n");
	parsed.options.record.output = "x";
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: recorded 1 event from 1 process, 3.0 KiB, in /out\n  same                          1 event, 0 bytes (0 event classes enabled)\nside: see it with: side view /out\n");
	/* Out of memory for the order: the remainder is printed. */
	begin_output();
	failing_arm(1);
	command_session_summary(&parameters, &parsed, 0);
	assert_true(failing_has_failed());
	assert_output("side: recorded 1 event from 1 process, 3.0 KiB, in /out\nside: see it with: side view /out\n");
	/* The reason why global probes recorded nothing is printed. */
	parsed.options.record.global.on = true;
	parameters.bytes = 0;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("");
	parameters.unwritten = 1;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: recorded 1 event from 1 process, 0 bytes, in /out\n  same                          1 event, 0 bytes (0 event classes enabled)\nside: events of 1 byte could not be written\nside: see it with: side view /out\n");
}

/* Ten rows, or all with --verbose. */
static void test_rows(void **unused)
{
	static char names[14][8];
	struct parsed parsed = {.verb = &trace_verb, .options.record.output = "x"};
	char expected[4000];
	size_t memory_before = 0;

	(void)unused;
	reset();
	for (int i = 0; i < 14; i++) {
		snprintf(names[i], sizeof(names[i]), "p%d", i);
		processes[i] = (struct session_process){.directory = names[i],
				.procname = "",
				.recorded = i < 12 ? 100 - (uint64_t)i : 0};
		losses[i] = (struct session_loss){.process = names[i],
				.ring = i ? "ring_3" : "",
				.event = i == 1 ? "" : "p:\te",
				.reason = i == 2         ? "disk full"
						: i == 3 ? SESSION_LOST_TOO_BIG
							 : SESSION_LOST_FULL,
				.count = 1000 + (uint64_t)i,
				.in_bytes = i == 2};
	}
	parameters.processes = processes;
	parameters.losses = losses;
	parameters.bytes = 1;
	parameters.recorded = 7;
	for (int rows = 10; rows <= 12; rows++) {
		size_t used;

		parameters.nr_processes = (size_t)rows + (rows > 10 ? 2 : 0);
		parameters.nr_losses = (size_t)rows;
		parameters.lost = 0;
		for (int i = 0; i < rows; i++)
			parameters.lost += losses[i].in_bytes ? 0 : losses[i].count;
		parameters.unwritten = 1002;
		for (int i = 0; i < 14; i++)
			processes[i].recorded = i < rows ? 100 - (uint64_t)i : 0;
		parsed.common.verbose = rows == 12;
		begin_output();
		command_session_summary(&parameters, &parsed, 0);
		used = (size_t)snprintf(expected, sizeof(expected),
				"side: recorded 7 events from %d processes, 1 byte, in /out\n",
				rows);
		for (int i = 0; i < (rows == 12 ? 12 : 10); i++)
			used += (size_t)snprintf(expected + used, sizeof(expected) - used,
					"  %-28s  %d events, 0 bytes (0 event classes enabled)\n",
					names[i], 100 - i);
		if (rows == 11)
			used += (size_t)snprintf(expected + used, sizeof(expected) - used,
					"  and 1 more (see them all with --verbose)\n");
		if (rows > 10)
			used += (size_t)snprintf(expected + used, sizeof(expected) - used,
					"  and 2 processes without events\n");
		{
			char number[FORMAT_NUMBER_MAX], full[FORMAT_NUMBER_MAX];

			used += (size_t)snprintf(expected + used, sizeof(expected) - used,
					"side: %s events were lost:\n  %s while a ring was full\n  1,003 due to the size limit of an event\nhint: use a larger `--buffer-size`, or probe fewer locations\nside: events of 1002 bytes could not be written\n",
					format_number(parameters.lost, number),
					format_number(parameters.lost - 1003, full));
		}
		for (int i = 0; i < (rows == 12 ? 12 : 10); i++) {
			char number[FORMAT_NUMBER_MAX];

			used += (size_t)snprintf(expected + used, sizeof(expected) - used,
					"  %s%s  %s  %s (%s)\n", names[i], i ? "/ring_3" : "",
					i == 1 ? "events with unknown names" : "p:\\x09e",
					i == 2 ? format_size(1002, number)
					       : format_number(losses[i].count, number),
					losses[i].reason);
		}
		if (rows == 11)
			used += (size_t)snprintf(expected + used, sizeof(expected) - used,
					"  and 1 more (see them all with --verbose)\n");
		snprintf(expected + used, sizeof(expected) - used,
				"side: an event can have at most 64.0 KiB, and at most half a ring; larger events are lost\nside: see it with: side view /out\n");
		assert_output(expected);
	}
	/* The first block is too big; memory is freed. */
	losses[0].reason = SESSION_LOST_TOO_BIG;
	losses[3].reason = SESSION_LOST_FULL;
	/* calloc() does not use the cache of the thread, which has seven blocks of a size. */
	for (int i = 0; i < 20; i++) {
		memory_before = i == 10 ? resources_memory() : memory_before;
		begin_output();
		command_session_summary(&parameters, &parsed, 0);
		assert_non_null(strstr(end_output(), "\nside: an event can have at most 64.0 KiB"));
	}
	assert_int_equal(resources_memory(), memory_before);
	losses[0].reason = SESSION_LOST_FULL;
	losses[3].reason = SESSION_LOST_TOO_BIG;
	/* Quiet: no rows. */
	printed_options.quiet = true;
	parameters.nr_losses = 3;
	parameters.lost = 2001;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: 2,001 events were lost while a ring was full\nhint: use a larger `--buffer-size`, or probe fewer locations\nside: events of 1002 bytes could not be written\n");
}

static void test_windows(void **unused)
{
	(void)unused;
	reset();
	parameters.overwritten = 2048;
	parameters.chunks = 1;
	parameters.snapshots = 1;
	parameters.snapshot_first = "snapshot-1-a";
	parameters.snapshot_last = "snapshot-1-b";
	parameters.snapshot_first_recorded = 1;
	parameters.snapshot_last_recorded = 2222;
	begin_output();
	record_print_windows(&parameters);
	assert_output("side: 2.0 KiB of older events were overwritten, as `--mode overwrite` requests\nside: 1 chunk in /out\nside: 1 snapshot in /out: snapshot-1-a, 1 event\n");
	parameters.overwritten = 0;
	parameters.chunks = 2;
	parameters.chunks_removed = 1;
	parameters.chunks_removed_bytes = 3072;
	parameters.snapshots = 2;
	begin_output();
	record_print_windows(&parameters);
	assert_output("side: 2 chunks in /out; 1 of them, 3.0 KiB, was removed by --keep-size, --keep-age or --keep-count\nside: 2 snapshots in /out: snapshot-1-a, 1 event, and snapshot-1-b, 2,222 events; snapshots can share events\n");
	parameters.chunks = 1;
	parameters.chunks_removed = 1;
	parameters.snapshots = 3;
	begin_output();
	record_print_windows(&parameters);
	assert_output("side: 1 chunk in /out; 1 of it, 3.0 KiB, was removed by --keep-size, --keep-age or --keep-count\nside: 3 snapshots in /out: snapshot-1-a, 1 event, to snapshot-1-b, 2,222 events; snapshots can share events\n");
	parameters.chunks = 5;
	parameters.chunks_removed = 4;
	parameters.snapshots = 0;
	begin_output();
	record_print_windows(&parameters);
	assert_output("side: 5 chunks in /out; 4 of them, 3.0 KiB, were removed by --keep-size, --keep-age or --keep-count\n");
	parameters.chunks = parameters.chunks_removed = 0;
	begin_output();
	record_print_windows(&parameters);
	assert_output("");
}

static void test_nothing(void **unused)
{
	static const struct option event = {.name = "event"}, filter = {.name = "filter"};
	struct option_use uses[] = {{.option = &filter, .text = "sched:a"},
			{.option = &event, .text = "p:a"}, {.option = &event, .text = "sched:a"},
			{.option = &event, .text = "sched:a"}};
	struct parsed parsed = {.verb = &record_verb,
			.options.record = {
					.output = "x", .channels = {uses, 4}, .wrappers.count = 5}};
#define NONE \
	"side: recorded 0 events from 1 process, 0 bytes, in /out\n  d                             0 events, 0 bytes (0 event classes enabled)\n"

	(void)unused;
	reset();
	processes[0] = (struct session_process){.directory = "d", .procname = "p"};
	parameters.processes = processes;
	parameters.nr_processes = 1;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output(NONE
			"side: no event was recorded: `sched:a` is an event of the kernel\nhint: `-k` records it\n");
	assert_called("means p:a;means sched:a;");
	parsed.options.record.channels.count = 2;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output(NONE);
	assert_called("means p:a;explain 2 5;");
	uses[0] = uses[3];
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output(NONE
			"side: no event was recorded: `sched:a` is an event of the kernel\nhint: `-k` records it\n");
	assert_called("means sched:a;");
	uses[0].text = "p:b";
	*calls = '\0';
	parsed.verb = &trace_verb;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output(NONE
			"side: nothing was recorded: the program reached none of the locations\n");
	parsed.options.record.filter = "x > 1";
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output(NONE
			"side: nothing was recorded: the program reached none of the locations, or no event matched `--filter`\n");
	*calls = '\0';
	/*
	 * With events of the kernel there is output; without processes, the session has reported
	 * it.
	 */
	parsed.options.record.kernel.count = 1;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output(NONE "side: see it with: side view /out\n");
	parameters.nr_processes = 0;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: recorded 0 events from 0 processes, 0 bytes, in /out\nside: see it with: side view /out\n");
	parsed.options.record.kernel.count = 0;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: recorded 0 events from 0 processes, 0 bytes, in /out\n");
	/* Kernel options have no effect on another verb. */
	parsed.verb = &recover_verb;
	parsed.options.record.kernel.count = 1;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("side: recovered 0 events from 0 processes, 0 bytes, in /out\n");
	assert_called("");
}

static void test_json(void **unused)
{
	struct parsed parsed = {.verb = &recover_verb, .common.json = true};

	(void)unused;
	reset();
	printed_options.json = true;
	begin_output();
	command_session_summary(&parameters, &parsed, -1);
	assert_output("{\"schema\":1,\"type\":\"summary\",\"verb\":\"recover\",\"output\":\"/out\",\"recorded\":0,\"bytes\":0,\"lost\":0,\"unwritten\":0,\"overwritten\":0,\"snapshots\":0,\"snapshot_recorded\":0,\"memory_peak\":0,\"interrupted\":false,\"processes\":[],\"losses\":[],\"reasons\":[]}\n");
	processes[0] = (struct session_process){.directory = "d\"",
			.procname = "n\"",
			.exe = "e\"",
			.pid = 11,
			.parent = 12,
			.events = 13,
			.recorded = 14,
			.bytes = 15,
			.lost = 16,
			.overwritten = 17,
			.ring_size = 2048,
			.rings = 19};
	processes[1] = (struct session_process){.directory = "", .procname = "", .exe = ""};
	losses[0] = (struct session_loss){.process = "p\"",
			.ring = "r\"",
			.event = "e\"",
			.reason = "f\"",
			.count = 21};
	losses[1] = (struct session_loss){.process = "",
			.ring = "",
			.event = "",
			.reason = "",
			.count = 22,
			.in_bytes = true};
	parameters = (struct session_summary){.output = "/o\"",
			.recorded = 1,
			.bytes = 2,
			.lost = 21,
			.unwritten = 4,
			.overwritten = 5,
			.snapshots = 6,
			.snapshot_recorded = 7,
			.memory_peak = 8,
			.interrupted = true,
			.chunks = 31,
			.chunks_removed = 32,
			.chunks_removed_bytes = 33,
			.disk_full = 34,
			.processes = processes,
			.nr_processes = 2,
			.losses = losses,
			.nr_losses = 2};
	parsed.verb = &record_verb;
	for (int quiet = 0; quiet < 2; quiet++) {
		printed_options.quiet = quiet;
		begin_output();
		command_session_summary(&parameters, &parsed, 0);
		assert_output("{\"schema\":1,\"type\":\"summary\",\"verb\":\"record\",\"output\":\"/o\\\"\",\"recorded\":1,\"bytes\":2,\"lost\":21,\"unwritten\":4,\"overwritten\":5,\"snapshots\":6,\"snapshot_recorded\":7,\"memory_peak\":8,\"interrupted\":true,\"chunks\":31,\"chunks_removed\":32,\"chunks_removed_bytes\":33,\"disk_full\":34,\"command_status\":0,\"processes\":["
			      "{\"directory\":\"d\\\"\",\"name\":\"n\\\"\",\"executable\":\"e\\\"\",\"pid\":11,\"parent\":12,\"classes\":13,\"kinds\":13,\"recorded\":14,\"bytes\":15,\"lost\":16,\"overwritten\":17,\"ring_size\":2048,\"rings\":19},"
			      "{\"directory\":\"\",\"name\":\"\",\"executable\":\"\",\"pid\":0,\"parent\":0,\"classes\":0,\"kinds\":0,\"recorded\":0,\"bytes\":0,\"lost\":0,\"overwritten\":0,\"ring_size\":0,\"rings\":0}],"
			      "\"losses\":[{\"process\":\"p\\\"\",\"ring\":\"r\\\"\",\"event\":\"e\\\"\",\"reason\":\"f\\\"\",\"count\":21,\"in_bytes\":false},"
			      "{\"process\":\"\",\"ring\":\"\",\"event\":\"\",\"reason\":\"\",\"count\":22,\"in_bytes\":true}],"
			      "\"reasons\":[{\"reason\":\"f\\\"\",\"count\":21,\"hint\":null,\"mend\":null}]}\n");
	}
	parameters.lost = parameters.unwritten = 0;
	begin_output();
	command_session_summary(&parameters, &parsed, 0);
	assert_output("");
}

/* ---- the verb ---- */

static char command[] = "./command";
static char *args[] = {command, NULL};
static struct parsed parsed;

static int run(void)
{
	int status;

	parsed.verb = &record_verb;
	parsed.common = printed_options;
	parsed.operands = args;
	nr_freed = 0;
	status = cmd_record(&parsed);
	assert_int_equal(nr_freed, 1);
	assert_int_equal(nr_lists, 0);
	assert_false(is_created);
	return status;
}

#define BEFORE "channels 0;prepare;join;sender;print 0 -;"
#define AFTER "printed;sent -;"
#define SHORT "side: recorded 0 events from 0 processes, 0 bytes, in /out\n"

static void test_record(void **unused)
{
	(void)unused;
	reset();
	parsed = (struct parsed){.operand_count = 1};
	is_due = true;
	begin_output();
	assert_int_equal(run(), COMMAND_DONE);
	assert_output(SHORT);
	assert_called(BEFORE
			"create -;start /out;printer /out 1;private ./command;spawn ./command;sends /out;show side: record: 2.0 KiB of 3 processes, 4,567 lost;run;end;finish;sent /out;destroy;" AFTER);
	assert_ptr_equal(last_handler, SIG_IGN);
	assert_int_equal(installed.nr_channels, 3);
	assert_non_null(installed.channels);
	assert_true(installed.monotonic);
	/*
	 * Printed during the recording, in a temporary directory; joined with the kernel; with
	 * variables for side-uprobes.
	 */
	is_made = is_joined = adds_environment = true;
	is_alone = true;
	gets_progress = false;
	begin_output();
	assert_int_equal(run(), COMMAND_DONE);
	assert_output(SHORT);
	assert_called(BEFORE
			"create /made;start /out;printer /out 0;spawn side-kernel-words;begin;sends /out;run;end;finish;sent /out;destroy;" AFTER);
	assert_false(gets_progress);
	/* The recording alone. */
	is_made = is_joined = adds_environment = false;
	begin_output();
	assert_int_equal(run(), COMMAND_DONE);
	assert_output("side: see it with: side view /out\n");
	assert_called(BEFORE "create -;start /out;printer /out 0;wait;finish;destroy;" AFTER);
	finish_status = 31;
	printed_options.quiet = true;
	begin_output();
	assert_int_equal(run(), 31);
	assert_output("");
	*calls = '\0';
	printed_options = (struct common_options){.json = true, .color = COLOR_NEVER};
	printing_start_status = 32;
	begin_output();
	assert_int_equal(run(), 32);
	assert_output("");
	assert_called(BEFORE "create -;start /out;printer /out 0;finish;destroy;" AFTER);
	printed_options.json = false;
	is_made = true;
	begin_output();
	assert_int_equal(run(), 32);
	assert_output("");
	*calls = '\0';
}

static char folder[] = "/tmp/side-test-record-XXXXXX";
static char output[100];

/*
 * Checks which calls follow a failure, and whether the empty output is removed: not if it existed
 * before.
 */
static void assert_failure(int status, const char *printed, const char *expected, bool removes)
{
	for (int is_given = 0; is_given < 3; is_given++) {
		/* 0: no output, 1: it exists, 2: the session creates it. */
		parsed.options.record.output = is_given ? output : NULL;
		assert_int_equal(mkdir(output, 0700), 0);
		if (is_given == 2) {
			static char other[sizeof(output) + 8];

			snprintf(other, sizeof(other), "%s-other", output);
			parsed.options.record.output = other;
		}
		parameters.output = output;
		*calls = '\0';
		begin_output();
		assert_int_equal(run(), status);
		assert_output(printed);
		if (is_given == 0)
			assert_called(expected);
		*calls = '\0';
		assert_int_equal(!access(output, F_OK), !removes || is_given == 1);
		(void)rmdir(output);
	}
	parameters.output = "/out";
	parsed.options.record.output = NULL;
}

/* Replaces each "%s" by the path of the output. */
static const char *with_output(const char *text)
{
	static char expected[1000];
	size_t used = 0;

	for (; *text; text++) {
		if (!strncmp(text, "%s", 2)) {
			used += (size_t)snprintf(
					expected + used, sizeof(expected) - used, "%s", output);
			text++;
		} else {
			expected[used++] = *text;
		}
	}
	expected[used] = '\0';
	return expected;
}

static void test_failures(void **unused)
{

	(void)unused;
	reset();
	snprintf(output, sizeof(output), "%s/out", folder);
	parsed = (struct parsed){.operand_count = 1};
	channels_status = 11;
	begin_output();
	assert_int_equal(run(), 11);
	assert_called("channels 0;");
	channels_status = 0;
	assert_output("");
	prepare_status = 12;
	assert_int_equal(run(), 12);
	assert_called("channels 0;prepare;");
	prepare_status = 0;
	parsed.options.record.compress = 20;
	begin_output();
	assert_int_equal(run(), COMMAND_USAGE);
	assert_output("side: cannot compress at level 20: levels are 1 to 19\n");
	assert_called("channels 0;prepare;");
	parsed.options.record.compress = 0;
	join_status = 13;
	assert_int_equal(run(), 13);
	assert_called("channels 0;prepare;join;");
	join_status = 0;
	sending_prepare_status = 14;
	assert_int_equal(run(), 14);
	assert_called("channels 0;prepare;join;sender;" AFTER);
	sending_prepare_status = 0;
	printing_status = 15;
	assert_int_equal(run(), 15);
	assert_called(BEFORE AFTER);
	printing_status = 0;
	create_kind = ERROR_PERMISSION;
	begin_output();
	assert_int_equal(run(), COMMAND_NOT_PERMITTED);
	assert_output("side: not created\n");
	assert_called(BEFORE "create -;" AFTER);
	create_kind = 0;
	start_status = 16;
	assert_failure(16, "", with_output(BEFORE "create -;start %s;destroy;" AFTER), true);
	is_alone = true;
	begin_output();
	assert_int_equal(mkdir(output, 0700), 0);
	parameters.output = output;
	assert_int_equal(run(), 16);
	assert_output("");
	assert_called(with_output(BEFORE "create -;start %s;destroy;" AFTER));
	assert_int_not_equal(access(output, F_OK), 0);
	is_alone = false;
	start_status = 0;
	printing_start_status = 17;
	assert_failure(17, "",
			with_output(BEFORE "create -;start %s;printer %s 1;discard;destroy;" AFTER),
			false);
	printing_start_status = 0;
	spawn_kind = ERROR_NOT_FOUND;
	assert_failure(COMMAND_NOT_FOUND, "side: not spawned\n",
			with_output(BEFORE
					"create -;start %s;printer %s 1;private ./command;spawn ./command;discard;destroy;" AFTER),
			true);
	spawn_kind = 0;
	is_refused = true;
	finish_status = 18;
	assert_failure(18, "",
			with_output(BEFORE
					"create -;start %s;printer %s 1;private ./command;spawn ./command;sends %s;run;end;finish;sent %s;destroy;" AFTER),
			true);
	is_refused = false;
	finish_status = 0;
	printed_options.quiet = true;
	run_kind = ERROR_USAGE;
	assert_failure(COMMAND_USAGE, "side: not run\n",
			with_output(BEFORE
					"create -;start %s;printer %s 1;private ./command;spawn ./command;sends %s;run;end;finish;sent %s;destroy;" AFTER),
			false);
}

/* Which status counts. */
static void test_order(void **unused)
{
	static char text[] = "message";
	struct session_message message = {.text = text};
	static const struct {
		int command, kernel, start, finish;
		bool strict;
		int status;
	} cases[] = {{0, 0, 0, 0, false, 0}, {5, 0, 0, 0, false, 5}, {5, 21, 0, 0, false, 5},
			{5, COMMAND_LOST, 0, 0, false, COMMAND_LOST}, {0, 21, 0, 0, false, 21},
			{0, 21, 22, 23, false, 21}, {0, 0, 22, 23, false, 22},
			{0, 0, 0, 23, false, 23}, {5, 0, 22, 0, false, 5},
			{0, 0, COMMAND_LOST, 0, false, 0}, {0, 0, 0, COMMAND_LOST, false, 0},
			{0, 0, 0, COMMAND_LOST, true, COMMAND_LOST},
			{0, 0, COMMAND_LOST, 0, true, COMMAND_LOST}};

	(void)unused;
	reset();
	printed_options.quiet = true;
	parsed = (struct parsed){.operand_count = 1};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		parameters.status = cases[i].command << 8;
		finish_status = cases[i].kernel;
		sending_start_status = cases[i].start;
		sending_finish_status = cases[i].finish;
		parsed.options.record.strict = cases[i].strict;
		assert_int_equal(run(), cases[i].status);
		assert_int_equal(strstr(calls, ";sent /out;") != NULL, !cases[i].start);
		*calls = '\0';
	}
	/* Messages, and the output about the command. */
	parameters.messages = &message;
	parameters.nr_messages = 1;
	printed_options.quiet = false;
	parameters.status = 15;
	sending_start_status = finish_status = 0;
	begin_output();
	assert_int_equal(run(), 143);
	assert_output("side: ./command was killed by signal 15 (Terminated)\nside: message\n" SHORT);
	parameters.nr_messages = 0;
	printed_options.json = true;
	parameters.status = 0;
	begin_output();
	assert_int_equal(run(), 0);
	assert_non_null(strstr(end_output(), ",\"command_status\":0,"));
	parameters.status = 15;
	begin_output();
	assert_int_equal(run(), 143);
	fflush(NULL);
	assert_non_null(strstr(end_output(), ",\"command_status\":143,"));
	parameters.status = -1;
	begin_output();
	assert_int_equal(run(), 0);
	assert_null(strstr(end_output(), "command_status"));
	*calls = '\0';
	printed_options.json = false;
}

/* Each option sets its member. */
static void test_options(void **unused)
{
	static const char *wrappers[] = {"w"}, *snapshots[] = {"s"};
	struct record_options *options = &parsed.options.record;

	(void)unused;
	reset();
	printed_options.quiet = true;
	parsed = (struct parsed){.operand_count = 1};
	unsetenv("SIDE_VALIDATE");
	begin_output();
	assert_int_equal(run(), COMMAND_DONE);
	assert_null(getenv("SIDE_VALIDATE"));
	assert_false(installed.force || installed.huge_pages || installed.prefault ||
			installed.wait_all || installed.rotation.on_request);
	*options = (struct record_options){.output = "/o",
			.force = true,
			.memory_limit = 1,
			.format = 1,
			.compress = 4,
			.buffers = "/b",
			.wrappers = {(void *)wrappers, 1},
			.snapshot_on = {(void *)snapshots, 1},
			.snapshot_max = UINT32_MAX,
			.rotate_size = 5,
			.rotate_every = 6,
			.keep_size = 7,
			.keep_age = 8,
			.keep_count = UINT32_MAX,
			.symbols = true,
			.validate = true};
	*calls = '\0';
	assert_int_equal(run(), COMMAND_DONE);
	assert_memory_equal(calls, "channels 1;", 11);
	assert_string_equal(getenv("SIDE_VALIDATE"), "1");
	assert_true(installed.mode == SESSION_RECORD && installed.force && !installed.huge_pages &&
			!installed.prefault && !installed.wait_all &&
			!installed.rotation.on_request);
	assert_string_equal(installed.output, "/o");
	assert_string_equal(installed.buffers, "/b");
	assert_int_equal(installed.memory_limit, 1);
	assert_int_equal(installed.format, 1);
	assert_int_equal(installed.compress, 4);
	assert_ptr_equal(installed.wrappers, wrappers);
	assert_int_equal(installed.nr_wrappers, 1);
	assert_ptr_equal(installed.snapshot_on, snapshots);
	assert_int_equal(installed.nr_snapshot_on, 1);
	assert_int_equal(installed.snapshot_max, UINT32_MAX);
	assert_int_equal(installed.rotation.size, 5);
	assert_int_equal(installed.rotation.period_ns, 6);
	assert_int_equal(installed.retention.size, 7);
	assert_int_equal(installed.retention.age_ns, 8);
	assert_int_equal(installed.retention.count, UINT32_MAX);
	*options = (struct record_options){.snapshot_max = UINT64_C(1) << 32,
			.keep_count = (UINT64_C(1) << 32) + 1,
			.huge_pages = true,
			.wait_all = true};
	assert_int_equal(run(), COMMAND_DONE);
	assert_int_equal(installed.snapshot_max, UINT32_MAX);
	assert_int_equal(installed.retention.count, UINT32_MAX);
	assert_true(installed.huge_pages && installed.wait_all && !installed.prefault);
	*options = (struct record_options){
			.snapshot_max = 9, .keep_count = 10, .prefault = true, .rotate = true};
	assert_int_equal(run(), COMMAND_DONE);
	assert_int_equal(installed.snapshot_max, 9);
	assert_int_equal(installed.retention.count, 10);
	assert_true(installed.prefault && installed.rotation.on_request && !installed.huge_pages);
	unsetenv("SIDE_VALIDATE");
	assert_output("");
	*calls = '\0';
}

/* For other verbs. */
static int after_status;

static int after(void *user, struct session *session)
{
	assert_ptr_equal(user, &after_status);
	assert_ptr_equal(session, SESSION);
	called("after;");
	return after_status;
}

static void test_command(void **unused)
{
	struct session_options options = {.output = "/mine", .pass_on = true};

	(void)unused;
	reset();
	printed_options.quiet = true;
	parsed = (struct parsed){.verb = &trace_verb,
			.common = printed_options,
			.operands = args,
			.operand_count = 1,
			.options.record.print = true};
	begin_output();
	assert_int_equal(command_record(&parsed, &options, after, &after_status), COMMAND_DONE);
	assert_called("print 1 /mine;create /mine;start /out;printer /out 0;private ./command;spawn ./command;sends /out;run;end;finish;after;sent /out;destroy;printed;");
	after_status = 41;
	assert_int_equal(command_record(&parsed, &options, after, &after_status), 41);
	parameters.status = 6 << 8;
	*calls = '\0';
	assert_int_equal(command_record(&parsed, &options, after, &after_status), 6);
	assert_non_null(strstr(calls, "finish;after;sent"));
	*calls = '\0';
	printing_status = 42;
	assert_int_equal(command_record(&parsed, &options, after, &after_status), 42);
	assert_called("print 1 /mine;printed;");
	assert_output("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_statuses, show_output),
			cmocka_unit_test_teardown(test_progress, show_output),
			cmocka_unit_test_teardown(test_messages, show_output),
			cmocka_unit_test_teardown(test_final, show_output),
			cmocka_unit_test_teardown(test_signals, show_output),
			cmocka_unit_test_teardown(test_summary, show_output),
			cmocka_unit_test_teardown(test_rows, show_output),
			cmocka_unit_test_teardown(test_windows, show_output),
			cmocka_unit_test_teardown(test_nothing, show_output),
			cmocka_unit_test_teardown(test_json, show_output),
			cmocka_unit_test_teardown(test_record, show_output),
			cmocka_unit_test_teardown(test_failures, show_output),
			cmocka_unit_test_teardown(test_order, show_output),
			cmocka_unit_test_teardown(test_options, show_output),
			cmocka_unit_test_teardown(test_command, show_output),
	};
	int ret;

	(void)umask(022);
	if (!mkdtemp(folder))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(folder);
	return ret;
}
