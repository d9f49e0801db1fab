/* SPDX-License-Identifier: MIT */
/*
 * side-more: the verbs that read traces and programs and need the large libraries. `side` parses
 * the command line, runs the other verbs itself, and executes this program for these (more.h).
 */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/side/attach/exec-watch.h"
#include "programs/side/cli/confine.h"
#include "programs/side/cli/more.h"
#include "programs/side/cli/pager.h"
#include "programs/common/progress.h"
#include "programs/common/message.h"
#include "programs/side/session/trace-of-session.h"
#include "programs/side/session/unmatched-rules.h"

#include "ctf/ctf.h"
#include "sessions/exec-watch.h"

#include <inttypes.h>
#include <string.h>
#include <sys/prctl.h>

/* Verbs with a trace as operand: resolve the name of a session to its trace. */
static int side_more_find_trace(struct parsed *parsed)
{
	switch (parsed->verb->id) {
	case VERB_VIEW:
	case VERB_EXPAND:
	case VERB_REPORT:
	case VERB_EXPORT:
	case VERB_SEND: return session_trace(parsed);
	case VERB_EXPLORE:
		return parsed->options.explore.run.pid ? COMMAND_DONE : session_trace(parsed);
	case VERB_LEAKS:
	case VERB_LOCKS:
	case VERB_CALLS:
	case VERB_SLOW:
	case VERB_FLAME: session_trace_or_command(parsed); return COMMAND_DONE;
	case VERB_DIFF: session_trace_two(parsed); return COMMAND_DONE;
	default: return COMMAND_DONE;
	}
}

static void side_more_show_search(const char *path, uint64_t nr_directories)
{
	if (progress_is_due())
		progress_show("searched %" PRIu64 " directories, now %.100s", nr_directories, path);
}

/* Verbs with finite output that can exceed a terminal. */
static bool side_more_is_paged(const struct parsed *parsed)
{
	switch (parsed->verb->id) {
	case VERB_VIEW: return !parsed->options.view.follow;
	case VERB_REPORT: return !parsed->options.report.html;
	case VERB_LIST:
	case VERB_PROBE: return true;
	default: return false;
	}
}

static int side_more_run_verb(struct parsed *parsed)
{
	int status = side_more_find_trace(parsed);

	if (status)
		return status;
	progress_start(&parsed->common);
	ctf_reader_on_search(side_more_show_search);
	/* The pager must start before a verb drops its rights. */
	if (side_more_is_paged(parsed))
		pager_start(&parsed->common);
	switch (parsed->verb->id) {
	case VERB_RECORD: return cmd_record(parsed);
	case VERB_LIST: return cmd_list(parsed);
	case VERB_ATTACH: return cmd_attach(parsed);
	case VERB_DETACH: return cmd_detach(parsed);
	case VERB_RECOVER: return cmd_recover(parsed);
	case VERB_ADOPT: return cmd_adopt(parsed);
	case VERB_RUN: return cmd_run(parsed);
	case VERB_VIEW: return cmd_view(parsed);
	case VERB_EXPAND: return cmd_expand(parsed);
	case VERB_REPORT: return cmd_report(parsed);
	case VERB_LEAKS: return cmd_leaks(parsed);
	case VERB_LOCKS: return cmd_locks(parsed);
	case VERB_CALLS: return cmd_calls(parsed);
	case VERB_SLOW: return cmd_slow(parsed);
	case VERB_FLAME: return cmd_flame(parsed);
	case VERB_DIFF: return cmd_diff(parsed);
	case VERB_EXPLORE: return cmd_explore(parsed);
	case VERB_EXPORT: return cmd_export(parsed);
	case VERB_TOP: return cmd_top(parsed);
	case VERB_DOCTOR: return cmd_doctor(parsed);
	case VERB_COMPLETE: return cmd_complete(parsed);
	case VERB_PROBE: return cmd_probe(parsed);
	case VERB_KERNEL: return cmd_kernel(parsed);
	case VERB_SYSTEM: return cmd_system(parsed);
	case VERB_ENABLE_EVENT: return cmd_probe_enable(parsed);
	case VERB_ADD_CONTEXT: return cmd_probe_context(parsed);
	case VERB_DISABLE_EVENT: return cmd_probe_disable(parsed);
	case VERB_LOAD: return cmd_load(parsed, probe_load);
	case VERB_TRACE: return cmd_trace(parsed);
	case VERB_SEND: return cmd_send(parsed);
	case VERB_RECEIVE: return cmd_receive(parsed);
	default:
		return message_error(COMMAND_USAGE, "run `side`",
				"this program does not have the verb `%s`: `side` has it",
				parsed->verb->name);
	}
}

int main(int argc, char **argv)
{
	struct parse_error error;
	struct parsed parsed;
	int status;

	if (!strcmp(argv[0], EXEC_WATCH_NAME))
		return exec_watch_run(argc > 1 ? argv[1] : EXEC_WATCH_ON);
	/* ps and top show the process under the name that the user typed. */
	prctl(PR_SET_NAME, "side");
	confine_enable();
	status = parse_command_line(argc, argv, &parsed, &error);
	parsed.no_threads = !strcmp(argv[0], MORE_ANSWER_NO_THREADS);
	parsed.for_answer = parsed.no_threads || !strcmp(argv[0], MORE_ANSWER);
	output_start(&parsed.common, parsed.verb ? parsed.verb->name : NULL);
	if (status)
		status = message_error(COMMAND_USAGE, error.hint, "%s", error.message);
	else if (!parsed.verb || parsed.common.help || parsed.common.version)
		status = message_error(COMMAND_USAGE, "run `side`",
				"do not start this program by hand: `side` runs it for some of its verbs");
	else if (!strcmp(argv[0], MORE_EXPLAIN))
		status = session_unmatched(&parsed);
	else if (!strcmp(argv[0], CONTROL_SET_PENDING))
		status = cmd_probe_set_pending(&parsed);
	else
		status = side_more_run_verb(&parsed);
	progress_end();
	parsed_free(&parsed);
	return status;
}
