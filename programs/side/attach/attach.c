/* SPDX-License-Identifier: MIT */
/*
 * The verbs `attach` and `detach`: load the recorder into a running program (attach/inject.h), then
 * record it without a command (recorder/core/live.h) or connect it to the daemon.
 *
 * The socket of a recording is in a directory that the program sees: in the program's root
 * directory, which may differ from ours.
 */
#include "base/clock.h"
#include "attach.h"
#include "programs/common/command.h"
#include "programs/side/session/losses.h"
#include "programs/side/record/no-events.h"
#include "programs/common/message.h"

#include "recorder/core/live.h"
#include "recorder/core/probes.h"
#include "recorder/core/libraries.h"
#include "recorder/core/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUNCTION "side_agent_request"
#define TURN_MS 200
#define SESSION_WAIT_MS 5000
#define SET_STEP_MS 10

/* ---- requests to the program ---- */

static int attach_get_status(const struct inject_report *report)
{
	return report->kind == INJECT_DONE                     ? COMMAND_DONE
			: report->kind == INJECT_NOT_PERMITTED ? COMMAND_NOT_PERMITTED
							       : COMMAND_FAILED;
}

int attach_turn(struct attached *attached, int timeout_ms)
{
	struct error error;

	if (!attached->session)
		return COMMAND_DONE;
	if (session_turn(attached->session, timeout_ms, &error))
		return command_session_error(&error);
	command_live_messages(attached->session);
	return COMMAND_DONE;
}

int attach_request(
		struct attached *attached, const char *what, const char *path, bool only_if_loaded)
{
	char argument[INJECT_ARGUMENT_MAX];
	const struct inject_request request = {
			.pid = attached->pid,
			.agent = attached->agent,
			.libside = attached->libside,
			.function = FUNCTION,
			.argument = argument,
			.only_if_loaded = only_if_loaded,
			.in_sandbox = attached->options->in_sandbox,
			.libraries = attached->wrappers,
			.nr_libraries = only_if_loaded ? 0 : attached->nr_wrappers,
	};
	struct pollfd watched[2] = {{.events = POLLIN}, {.events = POLLIN}};
	int status = COMMAND_DONE;
	pid_t child;

	(void)snprintf(argument, sizeof(argument), "%s%s%s", what, path ? " " : "",
			path ? path : "");
	watched[0].fd = inject_begin(&request, &child);
	watched[1].fd = attached->session ? session_fd(attached->session) : -1;
	if (watched[0].fd < 0)
		return message_error(COMMAND_FAILED, NULL,
				"cannot start a process that attaches: %s",
				strerror(-watched[0].fd));
	do {
		(void)poll(watched, 2, TURN_MS);
		status = attach_turn(attached, 0);
	} while (!status && !(watched[0].revents & (POLLIN | POLLHUP)));
	inject_end(watched[0].fd, child, &attached->report);
	return status;
}

int attach_print_failure(const struct attached *attached)
{
	return message_error((enum command_status)attach_get_status(&attached->report),
			attached->report.hint, "%s", attached->report.text);
}

/* The error texts of injection say "attach"; replace that word. */
static int attach_print_detach_failure(const struct attached *attached)
{
	static const char prefix[] = "cannot attach to ";
	const char *text = attached->report.text;

	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return attach_print_failure(attached);
	return message_error((enum command_status)attach_get_status(&attached->report),
			attached->report.hint, "cannot detach from %s", text + sizeof(prefix) - 1);
}

/* ---- messages ---- */

int attach_print_result_error(const struct attached *attached, const char *what)
{
	int code = -attached->report.result;

	return message_error(COMMAND_FAILED,
			code == EPERM ? "it is in a sandbox, or about to end" : NULL,
			"%d (%s) %s: %s", attached->pid, attached->name, what, strerror(code));
}

static void attach_print_json(const struct attached *attached, const char *type)
{
	const struct inject_report *report = &attached->report;

	fprintf(stderr, "{\"schema\":%d,\"type\":\"%s\",\"pid\":%d,\"name\":", OUTPUT_JSON_SCHEMA,
			type, attached->pid);
	print_json_string(stderr, attached->name);
	fprintf(stderr,
			",\"loaded\":%s,\"from_memory\":%s,\"thread\":%" PRId32
			",\"stops\":%" PRIu32 ",\"stopped_ns\":%" PRIu64
			",\"stopped_total_ns\":%" PRIu64 ",\"total_ns\":%" PRIu64 "}\n",
			report->was_loaded ? "false" : "true",
			report->from_memory ? "true" : "false", report->thread, report->stops,
			report->stopped_ns, report->stopped_total_ns, report->total_ns);
	fflush(stderr);
}

void attach_print_done(const struct attached *attached, const char *type, const char *sentence)
{
	const struct inject_report *report = &attached->report;
	char name[256];

	if (output_is_json() && !output_is_silent()) {
		attach_print_json(attached, type);
		return;
	}
	message_note("%s %s (process %d)", sentence,
			format_printable(attached->name, name, sizeof(name)), attached->pid);
	if (report->stops)
		message_detail("thread %" PRId32 " was stopped to load the agent: %" PRIu32
			       " stops, the longest %.3f ms, all %.3f ms; %.1f ms in total",
				report->thread, report->stops, (double)report->stopped_ns / 1e6,
				(double)report->stopped_total_ns / 1e6,
				(double)report->total_ns / 1e6);
}

/* ---- a recording ---- */

struct attach_opening {
	const struct session_options *options;
	const struct session_live *live;
	struct session **session;
	struct error *error;
};

static int attach_call_open(void *user)
{
	const struct attach_opening *opening = user;

	return session_open(opening->options, opening->live, opening->session, opening->error);
}

static int attach_open_in_dir(struct attached *attached, const struct session_options *options)
{
	/*
	 * An abstract socket can be found by every user: accept only programs of this user and of
	 * root.
	 */
	struct session_track users[] = {
			{.kind = SESSION_TRACK_UID}, {.kind = SESSION_TRACK_UID, .number = 0}};
	struct session_live live = {.socket = attached->dir.ours, .any_user = true, .active = true};
	struct error error = {.kind = ERROR_NONE};
	struct attach_opening opening = {options, &live, &attached->session, &error};
	int ret = 0;

	if (attached->dir.parent >= 0)
		return attach_call_open(&opening) ? command_session_error(&error) : COMMAND_DONE;
	users[0].number = attach_user_of(attached->pid);
	live.track = users;
	live.nr_track = 2;
	if (rendezvous_in_network(attached->dir.network, attach_call_open, &opening, &ret))
		return attach_dir_unreachable(attached);
	return ret ? command_session_error(&error) : COMMAND_DONE;
}

static int attach_open_session(struct attached *attached, const struct channel_list *channels)
{
	const struct attach_options *options = attached->options;
	struct session_options session_options = {
			.mode = SESSION_RECORD,
			.output = attached->output,
			.force = options->force,
			.format = (enum session_format)options->format,
	};
	static const struct session_rule everything;
	struct session_channel channel = {.name = SESSION_CHANNEL_NAME};

	session_options.channels = channel_list_items(channels, &session_options.nr_channels);
	if (session_options.nr_channels)
		channel = session_options.channels[0];
	/* Without a command, no rules mean all events. */
	if (!channel.nr_rules) {
		channel.rules = &everything;
		channel.nr_rules = 1;
	}
	session_options.channels = &channel;
	session_options.nr_channels = 1;
	if (attached->recording) {
		session_options.channels = attached->recording->channels;
		session_options.nr_channels = attached->recording->nr_channels;
		session_options.probes = attached->recording->probes;
		session_options.nr_probes = attached->recording->nr_probes;
		session_options.loads = attached->recording->loads;
	}
	return attach_open_in_dir(attached, &session_options);
}

/*
 * Records until a signal, the end of the duration or the end of the program. *ret_program_ended is
 * true for the last.
 */
static int attach_run_recording(struct attached *attached, bool *ret_program_ended)
{
	uint64_t duration = attached->options->duration;
	uint64_t begin, time = 0;
	int status = COMMAND_DONE;

	*ret_program_ended = false;
	begin = clock_monotonic_ns();
	do {
		struct pollfd watched[] = {{.fd = attached->signals, .events = POLLIN},
				{.fd = attached->program, .events = POLLIN},
				{.fd = session_fd(attached->session), .events = POLLIN}};
		uint64_t left = duration ? clock_ms_from_ns(duration - time) : TURN_MS;

		(void)poll(watched, 3, (int)(left < TURN_MS ? left : TURN_MS));
		status = attach_turn(attached, 0);
		if (watched[0].revents || status)
			break;
		*ret_program_ended = watched[1].revents != 0;
		time = clock_monotonic_ns() - begin;
	} while (!*ret_program_ended && (!duration || time < duration));
	return status;
}

static void attach_report_summary(
		const struct attached *attached, const struct session_status *sums)
{
	const char *output = session_summary(attached->session)->output;
	char text[4096], events[FORMAT_NUMBER_MAX], count[FORMAT_NUMBER_MAX];
	struct lost_sums losses = {.verb = LOST_OF_ATTACH};

	lost_add_summary(&losses, session_summary(attached->session), sums->lost);

	if (output_is_json() && !output_is_silent()) {
		fprintf(stderr,
				"{\"schema\":%d,\"type\":\"summary\",\"verb\":\"%s\","
				"\"output\":",
				OUTPUT_JSON_SCHEMA, attached->parsed->verb->name);
		print_json_string(stderr, output);
		fprintf(stderr,
				",\"recorded\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64
				",\"unwritten\":%" PRIu64 ",\"processes\":%" PRIu64 ",\"reasons\":",
				sums->recorded, sums->bytes, sums->lost, sums->unwritten,
				sums->nr_seen);
		lost_json(stderr, &losses);
		fputs("}\n", stderr);
		fflush(stderr);
		return;
	}
	message_note("recorded %s from %s (process %d), %s%s%s",
			format_events(sums->recorded, events), attached->name, attached->pid,
			format_size(sums->bytes, count),
			attached->printing.temporary ? "" : ", in ",
			attached->printing.temporary
					? ""
					: format_printable(output, text, sizeof(text)));
	lost_print(&losses);
	if (!sums->recorded && !sums->lost && !attached->recording)
		no_events_explain(
				&(const struct no_events_query){
						.uses = &attached->options->channels,
						.wrappers = &attached->options->wrappers},
				session_summary(attached->session));
	else if (!attached->printing.temporary)
		message_note("see it with: side view %s",
				format_quoted(output, text, sizeof(text)));
}

/* Drains and closes the session. The trace then contains all messages that were printed. */
static int attach_end_session(struct attached *attached, bool summary)
{
	struct error error;
	struct session_status sums;
	int status = COMMAND_DONE;

	if (summary) {
		session_finish(attached->session);
		if (attached->recording && attached->recording->finish)
			attached->recording->finish(attached->recording->user, attached->session);
		command_live_messages(attached->session);
		if (!session_status(attached->session, &sums)) {
			attach_report_summary(attached, &sums);
			session_status_free(&sums);
		}
	}
	session_close(attached->session, true, &error);
	attached->session = NULL;
	if (error.kind != ERROR_NONE)
		status = command_session_error(&error);
	return status;
}

/*
 * Waits for the program's report about its probes, with a limit, because the program may be
 * stopped. Then starts side-uprobes and calls the check of the verb.
 */
static int attach_check_probes(struct attached *attached)
{
	const struct attach_recording *recording = attached->recording;
	int status = COMMAND_DONE, waited;
	bool all = false;

	for (waited = 0; !status && !all && waited < SESSION_WAIT_MS; waited += SET_STEP_MS) {
		struct session_probe_answer *answers;
		size_t nr, i;

		if (session_probe_answers(attached->session, &answers, &nr))
			return message_error(COMMAND_FAILED, NULL, "out of memory");
		all = nr >= recording->nr_probes;
		for (i = 0; i < nr; i++)
			all = all && answers[i].answered;
		session_probe_answers_free(answers, nr);
		if (!all)
			status = attach_turn(attached, SET_STEP_MS);
	}
	if (!status)
		status = attach_kernel_start(attached);
	return status ? status : recording->check(recording->user, attached->session);
}

static void attach_print_not_informed(const struct attached *attached)
{
	char hint[INJECT_HINT_MAX + 64];

	(void)snprintf(hint, sizeof(hint), "%s%srun `side detach` to try again",
			attached->report.hint, *attached->report.hint ? "\n" : "");
	message_error(COMMAND_FAILED, hint,
			"the recording has ended, but side could not tell the program to stop: %s",
			attached->report.text);
}

/* The descriptor for the report that the recording has begun, from the environment; 0: none. */
static int attach_take_ready(void)
{
	const char *text = getenv("SIDE_READY_FD");
	char *end = NULL;
	long fd = text ? strtol(text, &end, 10) : 0;

	(void)unsetenv("SIDE_READY_FD");
	if (!end || *end || fd <= STDERR_FILENO || fd > INT_MAX ||
			fcntl((int)fd, F_SETFD, FD_CLOEXEC))
		return 0;
	return (int)fd;
}

/* Reports that the recording has begun and the program's probes are set. */
static void attach_report_ready(struct attached *attached)
{
	ssize_t written;

	if (!attached->ready)
		return;
	do
		written = write(attached->ready, "", 1);
	while (written < 0 && errno == EINTR);
	close(attached->ready);
	attached->ready = 0;
}

/* The request to the agent for each wrapper: "wrap NAME HANDLE PATH". */
static const struct attach_wrapper {
	const char *name, *file, *before;
} attach_wrappers[ATTACH_WRAPPERS] = {
		{"libc", "libside-wrap-libc.so", "wrap libc "},
		{"pthread", "libside-wrap-pthread.so", "wrap pthread "},
};

static bool attach_wants_wrapper(const struct attached *attached, const char *name)
{
	const struct text_list *names = &attached->options->wrappers;

	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->items[i], name))
			return true;
	return false;
}

static int attach_find_wrappers(struct attached *attached)
{
	if (!attached->options->wrappers.count)
		return COMMAND_DONE;
	if (asprintf(&attached->wrapper_after, " %s", attached->dir.theirs) < 0) {
		attached->wrapper_after = NULL;
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	for (size_t i = 0; i < ATTACH_WRAPPERS; i++) {
		const struct attach_wrapper *wrapper = &attach_wrappers[i];
		char *path;

		if (!attach_wants_wrapper(attached, wrapper->name))
			continue;
		path = session_library(wrapper->file);
		if (!path)
			return message_error(COMMAND_FAILED,
					"reinstall it, or name its directory in SIDE_LIB_DIR",
					"%s is not installed beside this program", wrapper->file);
		attached->wrapper_paths[attached->nr_wrappers] = path;
		attached->wrappers[attached->nr_wrappers++] = (struct inject_library){
				path, wrapper->before, attached->wrapper_after};
	}
	return COMMAND_DONE;
}

/* The value of LD_PRELOAD that loads the agent, without libraries that this process has preloaded. */
static int attach_find_preload(char **ret_preload)
{
	const char *set = getenv("LD_PRELOAD");
	char *own = set ? strdup(set) : NULL;
	struct error error;
	int ret;

	(void)unsetenv("LD_PRELOAD");
	ret = libraries_preload(NULL, 0, ret_preload, &error);
	if (own)
		(void)setenv("LD_PRELOAD", own, 1);
	free(own);
	return ret ? command_session_error(&error) : COMMAND_DONE;
}

/* From now on, the programs that this one executes load the agent and join the recording. */
static int attach_follow_exec(struct attached *attached)
{
	char *preload = NULL, *both = NULL;
	int status;

	if (!attached->options->follow_exec)
		return COMMAND_DONE;
	if (*attached->dir.theirs != '/')
		return message_error(COMMAND_FAILED, "leave `--follow-exec` out",
				"cannot follow the programs that process %d executes: it does not see the recorder's directory",
				attached->pid);
	status = attach_find_preload(&preload);
	if (!status && asprintf(&both, "%s %s", preload, attached->dir.theirs) < 0) {
		both = NULL;
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	if (!status)
		status = attach_request(attached, "carry", both, true);
	free(preload);
	free(both);
	if (status)
		return status;
	if (attached->report.kind != INJECT_DONE)
		return attach_print_failure(attached);
	return attached->report.result
			? attach_print_result_error(
					  attached, "cannot pass the recording to other programs")
			: COMMAND_DONE;
}

static int attach_record_program(struct attached *attached)
{
	bool program_ended = false;
	int failed;
	int status = attach_find_wrappers(attached);

	if (!status)
		status = attach_request(attached, "record", attached->dir.theirs, false);
	if (status)
		return status;
	if (attached->report.kind != INJECT_DONE)
		return attach_print_failure(attached);
	if (attached->report.result)
		return attach_print_result_error(
				attached, "has loaded the agent, but cannot be recorded");
	status = attach_follow_exec(attached);
	if (status) {
		(void)attach_request(attached, "leave", attached->dir.theirs, true);
		return status;
	}
	attach_print_done(attached, "attach", "recording");
	status = attached->recording ? attach_check_probes(attached) : COMMAND_DONE;
	failed = status;
	if (!status) {
		attach_report_ready(attached);
		status = attach_run_recording(attached, &program_ended);
	}
	attach_kernel_end(attached);
	if (program_ended)
		return status;
	/* The program may have ended meanwhile, or may be in any code. */
	if (!status || failed)
		status = attach_request(attached, "leave", attached->dir.theirs, true);
	if (!status && attached->report.kind != INJECT_DONE && attached->report.kind != INJECT_GONE)
		attach_print_not_informed(attached);
	else if (!status && output_is_json())
		attach_print_json(attached, "detach");
	return failed ? failed : status;
}

static bool attach_is_empty(const char *directory)
{
	/* rmdir() removes empty directories only. */
	return !rmdir(directory);
}

static int attach_record(struct attached *attached)
{
	struct channel_list *channels = NULL;
	char *output = NULL;
	int status = command_channels(
			    &attached->options->channels, attached->options->symbols, &channels),
	    ended;
	bool existed = attached->options->output && !access(attached->options->output, F_OK);

	attached->output = attached->options->output;
	if (!status)
		status = attach_dir_find(attached, "side-attach-", false);
	if (!status)
		status = printing_prepare(
				&attached->printing, attached->options->print, &attached->output);
	if (!status)
		status = attach_open_session(attached, channels);
	if (!status) {
		output = strdup(session_summary(attached->session)->output);
		status = printing_start(&attached->printing, attached->parsed,
				session_summary(attached->session)->output, false);
		status = status ? status : attach_record_program(attached);
		ended = attach_end_session(attached, !status);
		if (status && !existed && output)
			(void)attach_is_empty(output);
		status = status ? status : ended;
	}
	printing_finish(&attached->printing);
	free(output);
	attach_dir_remove(attached);
	channel_list_free(channels);
	return status;
}

/* ---- the verbs ---- */

static void attach_read_name(struct attached *attached)
{
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", attached->pid);
	file = fopen(path, "re");
	if (!file || !fgets(attached->name, sizeof(attached->name), file))
		strcpy(attached->name, "?");
	attached->name[strcspn(attached->name, "\n")] = 0;
	if (file)
		(void)fclose(file);
}

/*
 * Takes the process ID from the option or, as in other tools, from the first operand. Returns the
 * number of operands used.
 */
static int attach_find_pid(const struct parsed *parsed, const struct attach_options *options,
		uint64_t *ret_pid)
{
	const char *operand = parsed->operand_count ? parsed->operands[0] : "";

	*ret_pid = options->pid;
	if (*ret_pid || !*operand || operand[strspn(operand, "0123456789")])
		return 0;
	*ret_pid = strtoull(operand, NULL, 10);
	return 1;
}

/*
 * True if no such process exists, the number is that of a thread, or the kernel has no
 * pidfd_open(). inject.c reports the first two.
 */
static bool attach_is_no_process(int code)
{
	return code == ESRCH || code == EINVAL || code == ENOENT || code == ENOSYS;
}

static int attach_open(struct attached *ret_attached, const struct parsed *parsed,
		const struct attach_options *options)
{
	uint64_t pid;
	int from_operand = attach_find_pid(parsed, options, &pid);
	sigset_t signals;

	*ret_attached = (struct attached){.parsed = parsed,
			.options = options,
			.dir = {.parent = -1, .own = -1, .network = -1},
			.printing = {.end_fd = -1},
			.ready = attach_take_ready(),
			.signals = -1,
			.program = -1};
	if (parsed->operand_count > from_operand)
		return message_error(COMMAND_USAGE,
				"name the process by its number, or by `-p PID`",
				"`side %s` does not accept `%.128s`", parsed->verb->name,
				parsed->operands[from_operand]);
	if (!pid || pid > INT_MAX)
		return message_error(COMMAND_USAGE, "write `-p PID`", "missing process to %s",
				parsed->verb->id == VERB_ATTACH ? "attach to" : "detach from");
	ret_attached->pid = (pid_t)pid;
	attach_read_name(ret_attached);
	ret_attached->agent = session_library("libside-agent.so");
	if (!ret_attached->agent && errno)
		return message_error(COMMAND_FAILED, NULL, "cannot find libside-agent.so: %s",
				strerror(errno));
	ret_attached->libside = session_library("libside.so.0");
	if (!ret_attached->agent)
		return message_error(COMMAND_FAILED,
				"reinstall it or name its directory in SIDE_LIB_DIR",
				"libside-agent.so is not installed beside this program");
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* The signals are blocked: without the descriptor no signal could end a recording. */
	ret_attached->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	if (ret_attached->signals < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot wait for signals: %s",
				strerror(errno));
	ret_attached->program = (int)syscall(SYS_pidfd_open, ret_attached->pid, 0);
	if (ret_attached->program < 0 && !attach_is_no_process(errno))
		return message_error(COMMAND_FAILED, NULL, "cannot watch process %d: %s",
				ret_attached->pid, strerror(errno));
	return COMMAND_DONE;
}

static void attach_close(struct attached *attached)
{
	attach_dir_remove(attached);
	if (attached->signals >= 0)
		close(attached->signals);
	if (attached->program >= 0)
		close(attached->program);
	if (attached->ready)
		close(attached->ready);
	for (size_t i = 0; i < attached->nr_wrappers; i++)
		free(attached->wrapper_paths[i]);
	free(attached->wrapper_after);
	free(attached->agent);
	free(attached->libside);
}

int cmd_attach(const struct parsed *parsed)
{
	const struct attach_options *options = &parsed->options.attach;
	struct attached attached;
	int status = attach_open(&attached, parsed, &parsed->options.attach);

	if (!status && (options->daemon || options->session)) {
		if (options->output || options->channels.count || options->duration ||
				options->print)
			status = message_error(COMMAND_USAGE,
					"change the session by `side enable-event` and the like",
					"cannot use options of a recording with `--daemon` or `-s`: the daemon's sessions record the program");
		else
			status = attach_give_to_daemon(&attached);
	} else if (!status) {
		status = attach_record(&attached);
	}
	attach_close(&attached);
	return status;
}

int command_attach_recording(const struct parsed *parsed, const struct attach_options *options,
		const struct attach_recording *recording)
{
	struct attached attached;
	int status = attach_open(&attached, parsed, options);

	attached.recording = recording;
	if (!status)
		status = attach_record(&attached);
	attach_close(&attached);
	return status;
}

int command_attach_daemon(const struct parsed *parsed, int pid)
{
	struct parsed attach = *parsed;
	struct attached attached;
	sigset_t before;
	int status;

	attach.operands += attach.operand_count;
	attach.operand_count = 0;
	attach.options.attach = (struct attach_options){.pid = (uint64_t)pid,
			.daemon = true,
			.system = parsed->options.control.system};
	(void)sigprocmask(SIG_BLOCK, NULL, &before);
	status = attach_open(&attached, &attach, &attach.options.attach);
	attached.incidental = true;
	if (!status)
		status = attach_give_to_daemon(&attached);
	attach_close(&attached);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

int cmd_detach(const struct parsed *parsed)
{
	struct attached attached;
	int status = attach_open(&attached, parsed, &parsed->options.attach);

	if (!status)
		status = attach_request(&attached, "detach", NULL, true);
	if (!status && attached.report.kind != INJECT_DONE)
		status = attach_print_detach_failure(&attached);
	else if (!status && attached.report.result == -ENOENT)
		message_note("%s (process %d) is not attached: nothing to detach", attached.name,
				attached.pid);
	else if (!status && attached.report.result)
		status = attach_print_result_error(&attached, "cannot be detached");
	else if (!status)
		attach_print_done(&attached, "detach", "detached from");
	attach_close(&attached);
	return status;
}
