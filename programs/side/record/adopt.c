/* SPDX-License-Identifier: MIT */
/*
 * The verb `adopt`: makes traces of the events that programs record by a static configuration,
 * without a daemon.
 */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/side/session/losses.h"
#include "programs/common/message.h"

#include "sessions/boot.h"
#include "ctf/ctf.h"
#include "recorder/core/live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_MS 60000
#define TURN_MS 100
#define CONFIG_NAME "boot.conf"

/* A session of the configuration during its adoption. */
struct adopted {
	struct session *session;
	const char *name;
	char *output; /* requested by the user, or NULL */
	bool alone;   /* no running process can record more */
	int status;
};

struct adopt_run {
	const struct adopt_options *options;
	struct boot_source source;
	struct adopted sessions[BOOT_SESSIONS_MAX];
	size_t nr;
	const char *state_dir;
	int signals;
};

/* ---- the configuration ---- */

static bool adopt_is_file(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode);
}

/*
 * Reads the configuration: the file of --boot, else the copy in the state directory, else the file
 * that programs use. Only the first program of a state directory writes a copy, so the copy is the
 * configuration of all programs there.
 */
static int adopt_read_source(struct adopt_run *adoption)
{
	const char *file = adoption->options->boot;
	struct error error;
	char path[BOOT_STATE_DIR_MAX];
	int ret;

	if (!file && adoption->state_dir) {
		snprintf(path, sizeof(path), "%s/" CONFIG_NAME, adoption->state_dir);
		if (adopt_is_file(path))
			file = path;
	}
	if (!file)
		file = boot_file(getenv(BOOT_ENV));
	if (!file)
		file = BOOT_FILE;
	ret = boot_source_read(file, &adoption->source, &error);
	if (ret)
		return message_library_error(&error);
	if (!adoption->state_dir)
		adoption->state_dir = adoption->source.config->state_dir;
	return COMMAND_DONE;
}

static int adopt_check_state_dir(const struct adopt_run *adoption)
{
	struct stat status;

	if (*adoption->state_dir != '/')
		return message_error(COMMAND_USAGE, "begin it with a \"/\"",
				"the state directory %s is not an absolute path",
				adoption->state_dir);
	if (!stat(adoption->state_dir, &status) && S_ISDIR(status.st_mode))
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED,
			"programs create it when they start with SIDE_BOOT in their environment\n`side doctor boot` shows what is missing",
			"cannot adopt: %s is not a directory", adoption->state_dir);
}

/* ---- one session ---- */

static char *adopt_choose_output(const struct adopt_run *adoption, const char *name)
{
	const char *requested = adoption->options->output;
	char *output = NULL;

	if (!requested)
		return NULL;
	if (adoption->source.config->nr_sessions == 1)
		return strdup(requested);
	return asprintf(&output, "%s/%s", requested, name) < 0 ? NULL : output;
}

static int adopt_open_session(struct adopt_run *adoption, const struct boot_session *boot,
		struct adopted *adopted, const struct definition *definition)
{
	struct definition_view view = {.channels = NULL};
	char state_dir[BOOT_STATE_DIR_MAX], socket[BOOT_STATE_DIR_MAX];
	struct session_live live = {.state_dir = state_dir,
			.socket = socket,
			.boot = true,
			.leave = true,
			.active = true};
	struct error error;
	int status = COMMAND_DONE;

	if (!boot_path(state_dir, sizeof(state_dir), adoption->state_dir, boot->name, NULL) ||
			!boot_path(socket, sizeof(socket), adoption->state_dir, boot->name,
					BOOT_SOCKET))
		return message_error(COMMAND_USAGE, NULL,
				"the path of the state directory %s is too long",
				adoption->state_dir);
	if (definition_options(definition, &view, &error))
		return message_library_error(&error);
	if (adopted->output)
		view.options.output = adopted->output;
	view.options.force = adoption->options->force;
	view.options.format = (enum session_format)adoption->options->format;
	view.options.compress = command_compression(adoption->options->compress, &status);
	if (!status && adopted->output && adoption->source.config->nr_sessions > 1 &&
			mkdir(adoption->options->output, CTF_DIRECTORY_MODE) && errno != EEXIST)
		status = message_error(COMMAND_FAILED, NULL, "cannot make %s: %s",
				adoption->options->output, strerror(errno));
	if (!status && session_open(&view.options, &live, &adopted->session, &error))
		status = command_session_error(&error);
	definition_view_free(&view);
	return status;
}

static int adopt_open_one(struct adopt_run *adoption, const struct boot_session *boot)
{
	struct adopted *adopted = &adoption->sessions[adoption->nr];
	struct definition *definition;
	struct error error;
	char state_dir[BOOT_STATE_DIR_MAX];
	int status;

	/* No program has recorded anything for this session. */
	if (boot_path(state_dir, sizeof(state_dir), adoption->state_dir, boot->name, NULL) &&
			access(state_dir, F_OK) && !adoption->options->follow)
		return COMMAND_DONE;
	if (definition_of_boot(&adoption->source, boot, &definition, &error))
		return message_library_error(&error);
	adopted->name = boot->name;
	adopted->output = adopt_choose_output(adoption, boot->name);
	adoption->nr++;
	/* Without this check, the session would write to the output of the configuration. */
	if (adoption->options->output && !adopted->output)
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	else
		status = adopt_open_session(adoption, boot, adopted, definition);
	definition_free(definition);
	return status;
}

/* ---- output ---- */

static void adopt_print_json(const struct adopted *adopted, const struct session_status *status)
{
	fprintf(stderr, "{\"schema\":%d,\"type\":\"summary\",\"verb\":\"adopt\",\"session\":",
			OUTPUT_JSON_SCHEMA);
	print_json_string(stderr, adopted->name);
	fputs(",\"output\":", stderr);
	print_json_string(stderr, session_summary(adopted->session)->output);
	fprintf(stderr,
			",\"seen\":%" PRIu64 ",\"recorded\":%" PRIu64 ",\"bytes\":%" PRIu64
			",\"lost\":%" PRIu64 ",\"running\":%s,\"processes\":[",
			status->nr_seen, status->recorded, status->bytes, status->lost,
			adopted->alone ? "false" : "true");
	for (size_t i = 0; i < status->nr_processes; i++) {
		const struct session_status_process *process = &status->processes[i];

		fprintf(stderr, "%s{\"name\":", i ? "," : "");
		print_json_string(stderr, process->procname);
		fputs(",\"directory\":", stderr);
		print_json_string(stderr, process->directory);
		fprintf(stderr,
				",\"recorded\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64
				",\"ended\":%s}",
				process->recorded, process->bytes, process->lost,
				process->ended ? "true" : "false");
	}
	fputs("]}\n", stderr);
}

static void adopt_print_text(const struct adopted *adopted, const struct session_status *status)
{
	char events[FORMAT_NUMBER_MAX], size[FORMAT_NUMBER_MAX], output[4096];
	const char *path = session_summary(adopted->session)->output;
	struct lost_sums losses = {.verb = LOST_OF_SESSION};

	if (!output_is_silent())
		fprintf(stderr, "%s adopted %s from %" PRIu64 " %s of session %s, %s, in %s\n",
				message_label(false), format_events(status->recorded, events),
				status->nr_seen, status->nr_seen == 1 ? "process" : "processes",
				adopted->name, format_size(status->bytes, size),
				format_printable(path, output, sizeof(output)));
	lost_add_summary(&losses, session_summary(adopted->session), status->lost);
	lost_print(&losses);
	if (output_is_silent())
		return;
	if (!adopted->alone)
		fprintf(stderr, "%s programs continue to record in %s: run `side adopt` again for later events\n",
				message_label(false), adopted->name);
	if (status->bytes)
		fprintf(stderr, "%s see it with: side view %s\n", message_label(false),
				format_quoted(path, output, sizeof(output)));
}

static void adopt_report_summary(struct adopted *adopted, const struct parsed *parsed)
{
	struct session_status status;

	if (session_status(adopted->session, &status))
		return;
	if (parsed->common.json)
		adopt_print_json(adopted, &status);
	else
		adopt_print_text(adopted, &status);
	fflush(stderr);
	session_status_free(&status);
}

/* ---- the running session ---- */

/* True if no running process can record more. Sets *seen if there was any process. */
static bool adopt_is_alone(struct session *session, bool *seen)
{
	struct session_status status;
	bool alone = true;

	if (session_status(session, &status))
		return false;
	for (size_t i = 0; i < status.nr_processes; i++)
		alone = alone && status.processes[i].ended;
	*seen = *seen || status.nr_seen;
	session_status_free(&status);
	return alone;
}

static int adopt_run_once(struct adopt_run *adoption, int timeout_ms)
{
	struct error error;

	for (size_t i = 0; i < adoption->nr; i++) {
		struct adopted *adopted = &adoption->sessions[i];

		if (!adopted->session)
			continue;
		if (session_turn(adopted->session, i ? 0 : timeout_ms, &error))
			return command_session_error(&error);
		command_live_messages(adopted->session);
	}
	return COMMAND_DONE;
}

/* Runs until a signal, or until all processes have exited if there was one. */
static int adopt_run_until_signal(struct adopt_run *adoption)
{
	struct pollfd signals = {.fd = adoption->signals, .events = POLLIN};
	bool seen = false, alone;
	int status;

	do {
		status = adopt_run_once(adoption, TURN_MS);
		alone = true;
		for (size_t i = 0; i < adoption->nr; i++)
			if (adoption->sessions[i].session)
				alone = adopt_is_alone(adoption->sessions[i].session, &seen) &&
						alone;
	} while (!status && !(seen && alone) && poll(&signals, 1, 0) <= 0);
	return status;
}

static int adopt_close_one(struct adopted *adopted, const struct parsed *parsed)
{
	struct error error;
	int status = COMMAND_DONE, ret;
	bool seen = false;

	if (!adopted->session)
		return COMMAND_DONE;
	ret = session_flush(adopted->session, FLUSH_MS);
	if (ret)
		status = message_error(COMMAND_FAILED,
				"the remaining events stay in the state directory: run `side adopt` again",
				"not everything could be written: %s", strerror(-ret));
	/* Handle exits of processes that were not handled yet. */
	if (!status && session_turn(adopted->session, 0, &error))
		status = command_session_error(&error);
	adopted->alone = adopt_is_alone(adopted->session, &seen);
	command_live_messages(adopted->session);
	adopt_report_summary(adopted, parsed);
	session_close(adopted->session, adopted->alone && !status, &error);
	adopted->session = NULL;
	if (error.kind != ERROR_NONE && !status)
		status = command_session_error(&error);
	return status;
}

static int adopt_block_signals(struct adopt_run *adoption)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return message_error(COMMAND_FAILED, NULL, "cannot wait for signals");
	adoption->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return adoption->signals < 0
			? message_error(COMMAND_FAILED, NULL, "cannot wait for signals: %s",
					  strerror(errno))
			: COMMAND_DONE;
}

/* Runs the open sessions with --follow, then drains and closes them. */
static int adopt_run_and_close(struct adopt_run *adoption, const struct parsed *parsed, int status)
{
	int closed;

	if (!status && adoption->options->follow)
		status = adopt_run_until_signal(adoption);
	for (size_t i = 0; i < adoption->nr; i++) {
		closed = adopt_close_one(&adoption->sessions[i], parsed);
		status = status ? status : closed;
		free(adoption->sessions[i].output);
	}
	if (adoption->signals >= 0)
		close(adoption->signals);
	return status;
}

static int adopt_all_sessions(struct adopt_run *adoption, const struct parsed *parsed)
{
	const struct boot_session *boot;
	int status = adopt_block_signals(adoption);

	for (boot = adoption->source.config->sessions; boot && !status; boot = boot->next)
		status = adopt_open_one(adoption, boot);
	if (!status && !adoption->nr)
		message_note("no program has recorded in %s yet", adoption->state_dir);
	return adopt_run_and_close(adoption, parsed, status);
}

/* ---- a process whose rings are in memory only ---- */

static pid_t adopt_get_process(const char *operand)
{
	char *end;
	unsigned long number;

	if (!operand || *operand < '0' || *operand > '9')
		return 0;
	number = strtoul(operand, &end, 10);
	return *end || number > INT32_MAX ? 0 : (pid_t)number;
}

static int adopt_open_process(struct adopt_run *adoption, pid_t pid, const char *directory)
{
	struct adopted *adopted = &adoption->sessions[0];
	struct session_options options = {
			.mode = SESSION_RECORD,
			.output = adoption->options->output,
			.force = adoption->options->force,
			.format = (enum session_format)adoption->options->format,
	};
	char state_dir[64], socket[64];
	struct session_live live = {.state_dir = state_dir,
			.socket = socket,
			.boot = true,
			.leave = true,
			.active = true,
			.only = pid};
	struct error error;
	int status = COMMAND_DONE;

	snprintf(state_dir, sizeof(state_dir), "%s/place", directory);
	snprintf(socket, sizeof(socket), "%s/socket", directory);
	options.compress = command_compression(adoption->options->compress, &status);
	if (!status && session_open(&options, &live, &adopted->session, &error))
		status = command_session_error(&error);
	adopted->name = "boot";
	adoption->nr = 1;
	return status;
}

/* Checks that the process records. Reports why it does not. */
static int adopt_check_process(struct adopt_run *adoption, pid_t pid)
{
	struct session_status stats;
	char path[64];
	bool any;

	if (session_status(adoption->sessions[0].session, &stats))
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	any = stats.nr_seen;
	session_status_free(&stats);
	if (any)
		return COMMAND_DONE;
	command_live_messages(adoption->sessions[0].session);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	if (access(path, F_OK))
		return message_error(COMMAND_FAILED, NULL, "there is no process %d", (int)pid);
	return message_error(geteuid() ? COMMAND_NOT_PERMITTED : COMMAND_FAILED,
			"run as root, or name the state directory instead",
			"cannot adopt process %d: its memory contains no recording by a static configuration",
			(int)pid);
}

static int adopt_process(struct adopt_run *adoption, const struct parsed *parsed, pid_t pid)
{
	char directory[] = "/tmp/side-adopt-XXXXXX", path[64];
	static const char *const files[] = {"place/session", "socket"};
	int status;

	if (!mkdtemp(directory))
		return message_error(COMMAND_FAILED, NULL, "cannot make %s: %s", directory,
				strerror(errno));
	status = adopt_block_signals(adoption);
	if (!status)
		status = adopt_open_process(adoption, pid, directory);
	if (!status)
		status = adopt_check_process(adoption, pid);
	status = adopt_run_and_close(adoption, parsed, status);
	/* Remove the files that a recorder leaves for its successor: there is none here. */
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/place", directory);
	rmdir(path);
	rmdir(directory);
	return status;
}

int cmd_adopt(const struct parsed *parsed)
{
	struct adopt_run adoption = {
			.options = &parsed->options.adopt,
			.signals = -1,
			.state_dir = parsed->operand_count ? parsed->operands[0] : NULL,
	};
	pid_t pid = adopt_get_process(adoption.state_dir);
	int status;

	if (pid)
		return adopt_process(&adoption, parsed, pid);
	status = adopt_read_source(&adoption);
	if (!status && adoption.options->check) {
		if (!output_is_silent())
			printf("%s: %" PRIu32 " session%s, in %s\n", adoption.source.path,
					adoption.source.config->nr_sessions,
					adoption.source.config->nr_sessions == 1 ? "" : "s",
					adoption.state_dir);
		status = output_flush(stdout);
	} else if (!status) {
		status = adopt_check_state_dir(&adoption);
		if (!status || (adoption.options->follow && status == COMMAND_FAILED))
			status = adopt_all_sessions(&adoption, parsed);
	}
	boot_source_free(&adoption.source);
	return status;
}
