/* SPDX-License-Identifier: MIT */
/*
 * Parts of `side trace`, one by one: options that it refuses, the command line that it makes of
 * operands, patterns of events, and the message for each answer of a program. The test includes the
 * file and provides the answers.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/common/command.h"
#include "programs/common/message.h"
#include "recorder/core/probes.h"
#include "recorder/core/session.h"
#include "protocol/protocol.h"

#include "../check.h"
#include "../resources.h"

static struct session_probe_answer played[3];
static size_t nr_played;
static int played_error;
static unsigned int freed;

static int played_answers(
		struct session *session, struct session_probe_answer **answers, size_t *nr)
{
	CHECK(session);
	*answers = played;
	*nr = nr_played;
	return played_error;
}

static void played_free(struct session_probe_answer *answers, size_t nr)
{
	CHECK(answers == played && nr == nr_played);
	freed++;
}

static bool fails_strdup;

static char *played_strdup(const char *text)
{
	return fails_strdup ? NULL : strdup(text);
}

#define session_probe_answers played_answers
#define session_probe_answers_free played_free
#define strdup played_strdup
#include "programs/side/probe/trace.c"
#undef strdup

/* ---- output ---- */

static int printed_file = -1, printed_saved;

static void catch (void)
{
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	printed_saved = fcntl(2, F_DUPFD_CLOEXEC, 3);
	CHECK(printed_file >= 0 && printed_saved >= 0 && dup2(printed_file, 2) == 2);
}

static bool printed(const char *wanted)
{
	static char text[4096];
	ssize_t size;

	(void)fflush(stderr);
	CHECK(dup2(printed_saved, 2) == 2);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	CHECK(size >= 0);
	text[size] = '\0';
	close(printed_file);
	close(printed_saved);
	if (!strcmp(text, wanted))
		return true;
	(void)fprintf(stderr, "%s", text);
	return false;
}

/* ---- options ---- */

static struct parsed parsed;
static struct record_options *const record = &parsed.options.record;

static bool is_checked(size_t count, int wanted, const char *text)
{
	int status;

	catch ();
	status = trace_check_options(&parsed, count);
	*record = (struct record_options){.pid = 0};
	return printed(text) && status == wanted;
}

static void test_options(void)
{
	static const char duration[] =
			"side: cannot use `--duration` with a command: it needs `-p PID`, or `--global` with `--exe FILE`\nhint: let `timeout` end the command\n";
	static const char wait[] =
			"side: cannot use `--wait`: it needs `-c COMMAND`, and does not work with `--global`\nhint: leave `--wait` out\n";
	static const char number[] = "side: `-p` is not the number of a process\n";
	static const char nothing[] =
			"side: missing command to trace\nhint: write `-c \"COMMAND\"`, or `-p PID`\n";
	static const char quote[] =
			"side: `-c` has no command, or a quote without an end\nhint: write `-c \"COMMAND\"`, or `-p PID`\n";

	CHECK(is_checked(1, COMMAND_DONE, "") && is_checked(0, COMMAND_USAGE, nothing));
	record->command = "'";
	CHECK(is_checked(0, COMMAND_USAGE, quote));
	record->duration = 1;
	CHECK(is_checked(1, COMMAND_USAGE, duration));
	record->duration = record->pid = 1;
	CHECK(is_checked(0, COMMAND_DONE, ""));
	record->duration = record->pid = 1;
	record->command = "a";
	CHECK(is_checked(1, COMMAND_USAGE, duration));
	record->duration = record->global.on = 1;
	record->exe = "/x";
	CHECK(is_checked(0, COMMAND_DONE, ""));
	record->wait_all = true;
	CHECK(is_checked(0, COMMAND_USAGE, wait));
	record->wait_all = true;
	record->command = "a";
	CHECK(is_checked(1, COMMAND_DONE, ""));
	record->wait_all = record->global.on = true;
	record->command = "a";
	CHECK(is_checked(1, COMMAND_USAGE, wait));
	record->exe = "/x";
	CHECK(is_checked(1, COMMAND_USAGE,
			"side: cannot use `--exe` without `--global`\nhint: write `--global`, too\n"));
	record->pid = 7;
	record->command = "a";
	CHECK(is_checked(1, COMMAND_USAGE,
			"side: cannot use `-p` with COMMAND: `-p` traces a running program, and COMMAND starts one\nhint: leave one of them out\n"));
	record->pid = INT_MAX;
	CHECK(is_checked(0, COMMAND_DONE, ""));
	record->pid = (uint64_t)INT_MAX + 1;
	CHECK(is_checked(0, COMMAND_USAGE, number));
	/* Global probes. */
	record->global.on = true;
	record->pid = (uint64_t)INT_MAX + 1;
	CHECK(is_checked(0, COMMAND_USAGE, number));
	record->global.on = true;
	record->pid = INT_MAX;
	CHECK(is_checked(0, COMMAND_DONE, ""));
	record->global.on = true;
	CHECK(is_checked(0, COMMAND_USAGE, nothing));
	record->global.on = true;
	CHECK(is_checked(1, COMMAND_DONE, ""));
	record->global.on = true;
	record->exe = "/x";
	record->command = "'";
	CHECK(is_checked(0, COMMAND_USAGE, quote));
}

static bool traces(const char *const *operands, int wanted, const char *text)
{
	int status;

	parsed.operands = (char **)(uintptr_t)operands;
	for (parsed.operand_count = 0; operands[parsed.operand_count];)
		parsed.operand_count++;
	catch ();
	status = cmd_trace(&parsed);
	return printed(text) && status == wanted;
}

static void test_operands(void)
{
	char *joined;

	*record = (struct record_options){.command = "one"};
	CHECK(traces((const char *const[]){"other", "2", NULL}, COMMAND_USAGE,
			"side: two commands are given: that of `-c`, and `other`\nhint: leave `-c` out, or quote COMMAND and its arguments as one\n"));
	record->command = NULL;
	CHECK(traces((const char *const[]){"4711", NULL}, COMMAND_USAGE,
			"side: there is no program `4711`\nhint: `side trace -p 4711`\n"));
	/* With more operands, or after "--", it is a command. */
	record->wait_all = record->global.on = true;
	CHECK(traces((const char *const[]){"4711", "5", NULL}, COMMAND_USAGE,
			"side: cannot use `--wait`: it needs `-c COMMAND`, and does not work with `--global`\nhint: leave `--wait` out\n"));
	parsed.dashes = true;
	CHECK(traces((const char *const[]){"4711", NULL}, COMMAND_USAGE,
			"side: cannot use `--wait`: it needs `-c COMMAND`, and does not work with `--global`\nhint: leave `--wait` out\n"));
	parsed.dashes = false;
	parsed.operands = (char **)(uintptr_t)(const char *const[]){"./a b", "", "it's", "x", NULL};
	parsed.operand_count = 4;
	joined = join_operands(&parsed);
	CHECK(joined);
	{
		size_t count = 0;
		char **args = shell_split(joined, &count);

		CHECK(args && count == 4);
		for (int i = 0; i < 4; i++)
			CHECK(!strcmp(args[i], parsed.operands[i]));
		free(args);
	}
	free(joined);
	*record = (struct record_options){.pid = 0};
}

/* ---- patterns and threads ---- */

static void test_patterns(void)
{
	static struct tracing tracing;
	char name[16];

	for (unsigned int i = 0; i < 2 * PROBE_SPECS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "e%u", i);
		CHECK(!trace_add_pattern(&tracing, "probe", name) && tracing.nr_patterns == i + 1);
		/* Each event is named once. */
		CHECK(!trace_add_pattern(&tracing, "probe", name) && tracing.nr_patterns == i + 1);
	}
	CHECK(!strcmp(tracing.patterns[3], "probe:e3"));
	catch ();
	CHECK(trace_add_pattern(&tracing, "probe", "more") == COMMAND_USAGE);
	CHECK(printed("side: there are too many events\n") &&
			tracing.nr_patterns == 2 * PROBE_SPECS_MAX);
	/* There is space for those of side-uprobes. */
	CHECK(!add_own_patterns(&tracing) && tracing.nr_patterns == 2 * PROBE_SPECS_MAX + 2);
	CHECK(!strcmp(tracing.patterns[2 * PROBE_SPECS_MAX], "probe:e0_lost") &&
			!strcmp(tracing.patterns[2 * PROBE_SPECS_MAX + 1], "side:uprobes"));
	for (size_t i = 0; i < tracing.nr_patterns; i++)
		free(tracing.patterns[i]);
	tracing.nr_patterns = 0;
}

/* If memory for a pattern is missing, the one before it is removed, too. */
static void test_patterns_without_memory(void)
{
	static struct tracing tracing;
	char first[] = "probe:e0";
	size_t memory = 0;

	tracing.patterns[0] = first;
	tracing.nr_patterns = 1;
	for (int round = 0; round < 20; round++) {
		fails_strdup = true;
		catch ();
		CHECK(add_own_patterns(&tracing) == COMMAND_FAILED && tracing.nr_patterns == 1);
		CHECK(printed("side: out of memory\n"));
		fails_strdup = false;
		/* The first rounds fill the caches of malloc(). */
		if (round == 10)
			memory = resources_memory();
	}
	CHECK(resources_memory() == memory);
	tracing.nr_patterns = 0;
}

static bool has_thread(struct tracing *tracing)
{
	const char *items[2] = {"vpid"};
	bool found;

	tracing->others.items = items;
	add_threads(tracing);
	found = tracing->others.count == 1 && !strcmp(items[0], "vtid");
	tracing->others = (struct text_list){.items = NULL};
	return found;
}

static void test_threads(void)
{
	static struct tracing tracing;
	struct spec_options specs[2] = {
			{.spec = {.location_text = "open"}}, {.spec = {.location_text = "close"}}};

	tracing = (struct tracing){.specs = specs, .nr_specs = 1};
	CHECK(!has_thread(&tracing));
	tracing.nr_specs = 2;
	CHECK(has_thread(&tracing));
	tracing.nr_kernel = 1;
	CHECK(!has_thread(&tracing));
	tracing.nr_kernel = 0;
	specs[1].spec.kernel = true;
	CHECK(!has_thread(&tracing));
	specs[1].spec.kernel = false;
	tracing.others.count = 1;
	CHECK(!has_thread(&tracing));
	/* A glob becomes several functions if each has its own event. */
	tracing.nr_specs = 1;
	specs[0].spec.location_text = "op?n";
	CHECK(!has_thread(&tracing));
	specs[0].spec.separate = true;
	CHECK(has_thread(&tracing));
	specs[0].spec.location_text = "open";
	CHECK(!has_thread(&tracing));
}

static void test_overwrites(void)
{
	char folder[] = "/tmp/side-trace-XXXXXX", file[64];
	int fd;

	CHECK(mkdtemp(folder) && !trace_dir_has_entries(NULL) &&
			!trace_dir_has_entries("/nowhere") && !trace_dir_has_entries(folder));
	(void)snprintf(file, sizeof(file), "%s/x", folder);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && !close(fd) && trace_dir_has_entries(folder) && !unlink(file) &&
			!rmdir(folder));
}

/* ---- answers ---- */

static bool reports(struct tracing *tracing, const struct session_probe_answer *answer, int wanted,
		const char *text)
{
	struct session_probe_answer copy = *answer;
	const struct trace_answers answers = {.list = &copy, .count = 1};

	tracing->status = 0;
	catch ();
	trace_print_answer(tracing, &answers, answer);
	return printed(text) && tracing->status == wanted;
}

static void test_answers(void)
{
	struct spec_options specs[2] = {
			{.spec = {.location_text = "open"}}, {.spec = {.location_text = "close"}}};
	static struct tracing tracing;
	struct session_probe_refusal refusals[2] = {
			{.count = 3, .error = ECANCELED}, {.first = 3, .count = 1, .error = EPERM}};
	struct session_probe_answer answer = {.number = 2, .pid = 77, .locations = 31};

	tracing = (struct tracing){.specs = specs, .nr_specs = 2, .running = true};
	for (uint32_t i = WIRE_PROBE_JUMP; i <= WIRE_PROBE_BREAKPOINT; i++)
		answer.states[i] = i + 1;
	answer.states[WIRE_PROBE_UPROBE] = 9;
	answer.states[WIRE_PROBE_RESTS] = 100;
	CHECK(reports(&tracing, &answer, 0,
			"side: close is set in process 77: 29 of 31 locations: 2 jump, 3 padding, 4 short, 5 punned, 6 breakpoint, 9 uprobe\n"));
	tracing.running = false;
	CHECK(reports(&tracing, &answer, 0, ""));
	tracing.running = true;
	answer.error = ENOMEM;
	CHECK(reports(&tracing, &answer, COMMAND_FAILED,
			"side: close: process 77 cannot use it: the program is out of memory\n"));
	answer = (struct session_probe_answer){.number = 1, .pid = 78, .locations = 5};
	CHECK(reports(&tracing, &answer, 0, "side: open is set in process 78: 0 of 5 locations\n"));
	answer.states[WIRE_PROBE_ABSENT] = 5;
	CHECK(reports(&tracing, &answer, 0,
			"side: open is not in process 78 yet: it is set when its library is loaded\n"));
	/* At the end of a command. */
	tracing.running = false;
	CHECK(reports(&tracing, &answer, 0,
			"side: open was never set in process 78: its library was not loaded, or its probes were not ready in time\n"));
	answer.was_set = true;
	CHECK(reports(&tracing, &answer, 0, ""));
	tracing.running = true;
	answer.was_set = false;
	answer.states[WIRE_PROBE_RESTS] = 1;
	CHECK(reports(&tracing, &answer, 0,
			"side: open is set in process 78: 0 of 5 locations: no rule records its events (does a filter name fields that they do not have?)\n"));
	answer.states[WIRE_PROBE_REFUSED] = 1;
	CHECK(reports(&tracing, &answer, COMMAND_FAILED,
			"side: open is not in process 78 yet: it is set when its library is loaded\n"));
	answer.states[WIRE_PROBE_JUMP] = 1;
	CHECK(reports(&tracing, &answer, 0,
			"side: open is set in process 78: 1 of 5 locations: 1 jump\n"));
	/* The number belongs to no probe. */
	answer.number = 3;
	CHECK(reports(&tracing, &answer, 0,
			"side: ? is set in process 78: 1 of 5 locations: 1 jump\n"));
	answer.number = 0;
	CHECK(reports(&tracing, &answer, 0,
			"side: ? is set in process 78: 1 of 5 locations: 1 jump\n"));
	/* Locations that were set until the program entered a sandbox are not failures. */
	answer = (struct session_probe_answer){.number = 3,
			.pid = 78,
			.locations = 4,
			.refusals = refusals,
			.nr_refusals = 1};
	answer.states[WIRE_PROBE_REFUSED] = 3;
	CHECK(were_removed(&answer) &&
			reports(&tracing, &answer, 0,
					"side: ? is set in process 78: 0 of 4 locations\n"));
	answer.states[WIRE_PROBE_REFUSED] = 4;
	answer.nr_refusals = 2;
	CHECK(!were_removed(&answer) &&
			reports(&tracing, &answer, COMMAND_FAILED,
					"side: ? is set in process 78: 0 of 4 locations\n"));
	answer.states[WIRE_PROBE_REFUSED] = 0;
	answer.nr_refusals = 0;
	CHECK(!were_removed(&answer));
}

static void test_filtered(void)
{
	struct session_probe_answer answer = {.locations = 3};

	answer.states[WIRE_PROBE_RESTS] = 3;
	CHECK(is_filtered_out(&answer));
	answer.states[WIRE_PROBE_RESTS] = 2;
	CHECK(!is_filtered_out(&answer));
	answer.states[WIRE_PROBE_RESTS] = 3;
	answer.error = EPROTO;
	CHECK(!is_filtered_out(&answer));
	answer = (struct session_probe_answer){.locations = 0};
	CHECK(!is_filtered_out(&answer));
}

static bool return_reason(struct tracing *tracing, int wanted, const char *text)
{
	unsigned int before = freed;
	int session, status;

	tracing->status = 0;
	catch ();
	status = trace_check_started(tracing, (struct session *)(void *)&session);
	return printed(text) && status == wanted && freed == before + !played_error;
}

static void test_checks(void)
{
	static const char set[] = "side: open is set in process 78: 1 of 1 locations: 1 jump\n";
	static const char filtered[] =
			"side: open is set in process 78: 0 of 1 locations: no rule records its events (does a filter name fields that they do not have?)\n";
	struct spec_options specs[1] = {{.spec = {.location_text = "open"}}};
	static struct tracing tracing;
	char text[2048];

	tracing = (struct tracing){.specs = specs, .nr_specs = 1, .running = true};
	played_error = -ENOMEM;
	CHECK(return_reason(&tracing, COMMAND_DONE, ""));
	played_error = 0;
	nr_played = 0;
	CHECK(return_reason(&tracing, COMMAND_FAILED,
			"side: the program installed none of its probes\n"));
	tracing.running = false;
	CHECK(return_reason(&tracing, COMMAND_FAILED,
			"side: the program installed none of its probes\nhint: programs without the C library, and set-user-ID programs, cannot be traced this way; use `--global`\n"));
	tracing.running = true;
	nr_played = 2;
	played[0] = (struct session_probe_answer){.number = 1, .pid = 78, .locations = 1};
	played[1] = played[0];
	played[0].states[WIRE_PROBE_RESTS] = 1;
	played[1].states[WIRE_PROBE_JUMP] = 1;
	(void)snprintf(text, sizeof(text), "%s%s", filtered, set);
	tracing.filter = "x > 3";
	CHECK(return_reason(&tracing, COMMAND_DONE, text));
	played[1] = played[0];
	(void)snprintf(text, sizeof(text),
			"%s%sside: nothing was recorded: no event of open has the fields that `--filter x > 3` names\nhint: `--args` records the arguments if there is debug information\nhint: `--arg s32:x:%%edi` names a register\n",
			filtered, filtered);
	CHECK(return_reason(&tracing, COMMAND_FAILED, text));
	/* Without a filter, or after another failure, it is not the reason. */
	tracing.filter = NULL;
	(void)snprintf(text, sizeof(text), "%s%s", filtered, filtered);
	CHECK(return_reason(&tracing, COMMAND_DONE, text));
}

static void test_shell(void)
{
	catch ();
	note_shell("./server | grep x", "./server");
	CHECK(printed("side: no shell reads the command, so `|` is an argument of ./server\nhint: write it after the closing quote, where your shell interprets it\n"));
	catch ();
	note_shell("./server x", "./server");
	CHECK(printed(""));
}

int main(void)
{
	struct resources before = {0};

	output_start(&(struct common_options){.json = false}, "trace");
	for (int round = 0; round < 3; round++) {
		test_options();
		test_operands();
		test_patterns();
		test_patterns_without_memory();
		test_threads();
		test_overwrites();
		test_answers();
		test_filtered();
		test_checks();
		test_shell();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	return 0;
}
