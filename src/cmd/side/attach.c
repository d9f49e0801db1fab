/* SPDX-License-Identifier: MIT */
/*
 * The verbs `attach` and `detach`: the recorder comes into a program that runs (probe/inject/inject.h), and a recording
 * without a command (session/live.h) or the daemon has it then.
 *
 * The socket of a recording stands in a directory that the program sees: in the root directory that it has, which
 * need not be ours.
 */
#include "ask.h"
#include "command.h"
#include "say.h"

#include "probe/inject/inject.h"
#include "session/live.h"
#include "session/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION "side_agent_request"
#define SOCKET_NAME "agents"
#define DIRECTORY_MAX 64 /* a socket's path is short */
#define FLUSH_MS 10000
#define TURN_MS 200
#define SESSION_WAIT_MS 5000

struct attached {
	const struct parsed *parsed;
	const struct attach_options *options;
	pid_t pid;
	char name[64];
	char *agent, *libside;
	/* The directory of the socket, for a recording. */
	int place; /* where the directory is, or -1 */
	char directory[48];
	char ours[128], theirs[128]; /* path of the socket */
	struct session *session;     /* NULL: of the daemon */
	struct inject_report report;
	int signals, program; /* descriptors */
	bool incidental;      /* somebody wants something else, and only needs it to be there */
};

/* ---- asking the program ---- */

static int status_of(const struct inject_report *report)
{
	return report->kind == INJECT_DONE                     ? COMMAND_DONE
			: report->kind == INJECT_NOT_PERMITTED ? COMMAND_NOT_PERMITTED
							       : COMMAND_FAILED;
}

/* One turn of the recording, if there is one; after at most so long. */
static int turn(struct attached *attached, int timeout_ms)
{
	struct session_error error;

	if (!attached->session)
		return COMMAND_DONE;
	if (session_turn(attached->session, timeout_ms, &error))
		return command_session_error(&error);
	command_live_messages(attached->session);
	return COMMAND_DONE;
}

/* Have it do something, while the recording goes on. What went wrong is in the report. */
static int request(
		struct attached *attached, const char *what, const char *path, bool only_if_there)
{
	char argument[512];
	const struct inject_request request = {
			.pid = attached->pid,
			.agent = attached->agent,
			.libside = attached->libside,
			.function = FUNCTION,
			.argument = argument,
			.only_if_there = only_if_there,
			.in_sandbox = attached->options->in_sandbox,
	};
	struct pollfd watched[2] = {{.events = POLLIN}, {.events = POLLIN}};
	int status = COMMAND_DONE;
	pid_t child;

	(void)snprintf(argument, sizeof(argument), "%s%s%s", what, path ? " " : "",
			path ? path : "");
	watched[0].fd = inject_begin(&request, &child);
	watched[1].fd = attached->session ? session_fd(attached->session) : -1;
	if (watched[0].fd < 0)
		return say_error(COMMAND_FAILED, NULL, "cannot start a process that attaches: %s",
				strerror(-watched[0].fd));
	do {
		(void)poll(watched, 2, TURN_MS);
		status = turn(attached, 0);
	} while (!status && !(watched[0].revents & (POLLIN | POLLHUP)));
	inject_end(watched[0].fd, child, &attached->report);
	return status;
}

static int say_failure(const struct attached *attached)
{
	return say_error((enum command_status)status_of(&attached->report), NULL, "%s",
			attached->report.text);
}

/* ---- what is said ---- */

static void json_attached(const struct attached *attached, const char *type)
{
	const struct inject_report *report = &attached->report;

	fprintf(stderr, "{\"schema\":%d,\"type\":\"%s\",\"pid\":%d,\"name\":", SAY_JSON_SCHEMA,
			type, attached->pid);
	say_json_string(stderr, attached->name);
	fprintf(stderr,
			",\"loaded\":%s,\"from_memory\":%s,\"thread\":%" PRId32
			",\"stops\":%" PRIu32 ",\"stopped_ns\":%" PRIu64
			",\"stopped_total_ns\":%" PRIu64 ",\"total_ns\":%" PRIu64 "}\n",
			report->was_there ? "false" : "true",
			report->from_memory ? "true" : "false", report->thread, report->stops,
			report->stopped_ns, report->stopped_total_ns, report->total_ns);
	fflush(stderr);
}

static void say_done(const struct attached *attached, const char *type, const char *sentence)
{
	const struct inject_report *report = &attached->report;
	char name[256];

	if (say_is_json() && !say_is_quiet()) {
		json_attached(attached, type);
		return;
	}
	say_note("%s %s (process %d)", sentence, say_printable(attached->name, name, sizeof(name)),
			attached->pid);
	if (report->stops)
		say_detail("thread %" PRId32 " made room for it: %" PRIu32
			   " stops, the longest %.3f ms, together %.3f ms; %.1f ms in all",
				report->thread, report->stops, (double)report->stopped_ns / 1e6,
				(double)report->stopped_total_ns / 1e6,
				(double)report->total_ns / 1e6);
}

/* ---- a place for the socket ---- */

/* Of the program's root directory, which stays open: it may end before we do. */
static int open_root(const struct attached *attached)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/root", attached->pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Is it a directory of one of us who was killed: with a socket to which nobody listens? */
static bool is_abandoned(int place, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	bool abandoned;
	int fd;

	if (strncmp(name, "side-attach-", 12) != 0 ||
			fstatat(place, name, &status, AT_SYMLINK_NOFOLLOW) ||
			!S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
			snprintf(address.sun_path, sizeof(address.sun_path),
					"/proc/self/fd/%d/%s/" SOCKET_NAME, place,
					name) >= (int)sizeof(address.sun_path))
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	abandoned = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
			errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return abandoned;
}

static void remove_abandoned(int place)
{
	char path[64], socket[320];
	struct dirent *entry;
	DIR *directory;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		if (!is_abandoned(place, entry->d_name))
			continue;
		(void)snprintf(socket, sizeof(socket), "%s/" SOCKET_NAME, entry->d_name);
		(void)unlinkat(place, socket, 0);
		(void)unlinkat(place, entry->d_name, AT_REMOVEDIR);
	}
	if (directory)
		closedir(directory);
}

static bool make_place(struct attached *attached, int root, const char *directory)
{
	int place = openat(root, directory + 1, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[96], *name;
	struct stat status;

	if (place < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/side-attach-XXXXXX", place);
	/* The program may be another user's. Who does not know the name does not find the socket. */
	if (fstat(place, &status) || !mkdtemp(path) || chmod(path, 0711)) {
		close(place);
		return false;
	}
	remove_abandoned(place);
	name = strrchr(path, '/') + 1;
	attached->place = place;
	(void)snprintf(attached->directory, sizeof(attached->directory), "%s", name);
	(void)snprintf(attached->ours, sizeof(attached->ours), "%s/" SOCKET_NAME, path);
	(void)snprintf(attached->theirs, sizeof(attached->theirs), "%s/%s/" SOCKET_NAME, directory,
			name);
	return true;
}

static int find_place(struct attached *attached)
{
	const char *const own = getenv("TMPDIR");
	const char *const directories[] = {
			own && *own == '/' && strlen(own) < DIRECTORY_MAX ? own : "/tmp", "/tmp",
			"/var/tmp", "/dev/shm", "/run", NULL};
	int root = open_root(attached);
	size_t i;

	/* Why not is said by whoever attaches. */
	if (root < 0)
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; root >= 0 && directories[i] && attached->place < 0; i++)
		if (make_place(attached, root, directories[i]))
			break;
	if (root >= 0)
		close(root);
	if (attached->place < 0)
		return say_error(COMMAND_FAILED, NULL,
				"there is no directory where %d (%s) could meet us: /tmp, as it "
				"sees it, "
				"cannot be written",
				attached->pid, attached->name);
	return COMMAND_DONE;
}

static void remove_place(struct attached *attached)
{
	if (attached->place < 0)
		return;
	unlink(attached->ours);
	(void)unlinkat(attached->place, attached->directory, AT_REMOVEDIR);
	close(attached->place);
	attached->place = -1;
}

/* ---- a recording ---- */

static int open_session(struct attached *attached, const struct channel_list *channels)
{
	const struct attach_options *options = attached->options;
	struct session_options session_options = {
			.mode = SESSION_RECORD,
			.output = options->output,
			.force = options->force,
			.format = (enum session_format)options->format,
	};
	static const struct session_rule everything;
	struct session_channel channel = {.name = SESSION_CHANNEL_NAME};
	const struct session_live live = {
			.socket = attached->ours, .any_user = true, .active = true};
	struct session_error error;

	session_options.channels = channel_list_items(channels, &session_options.nr_channels);
	if (session_options.nr_channels)
		channel = session_options.channels[0];
	/* Without a command, no rules mean nothing. */
	if (!channel.nr_rules) {
		channel.rules = &everything;
		channel.nr_rules = 1;
	}
	session_options.channels = &channel;
	session_options.nr_channels = 1;
	if (session_open(&session_options, &live, &attached->session, &error))
		return command_session_error(&error);
	return COMMAND_DONE;
}

static int why_not_recorded(const struct attached *attached, const char *what)
{
	int code = -attached->report.result;

	return say_error(COMMAND_FAILED,
			code == EPERM ? "it is in a sandbox, or about to end" : NULL,
			"%d (%s) %s: %s", attached->pid, attached->name, what, strerror(code));
}

/* Until somebody or something ends it: true if the program did. */
static int go_on(struct attached *attached, bool *program_ended)
{
	uint64_t duration = attached->options->duration;
	struct timespec now;
	uint64_t begin, time = 0;
	int status = COMMAND_DONE;

	*program_ended = false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	begin = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	do {
		struct pollfd watched[] = {{.fd = attached->signals, .events = POLLIN},
				{.fd = attached->program, .events = POLLIN},
				{.fd = session_fd(attached->session), .events = POLLIN}};
		uint64_t left = duration ? (duration - time + 999999) / 1000000 : TURN_MS;

		(void)poll(watched, 3, (int)(left < TURN_MS ? left : TURN_MS));
		status = turn(attached, 0);
		if (watched[0].revents || status)
			break;
		*program_ended = watched[1].revents != 0;
		clock_gettime(CLOCK_MONOTONIC, &now);
		time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - begin;
	} while (!*program_ended && (!duration || time < duration));
	return status;
}

static void say_summary(const struct attached *attached, const struct session_status *sums)
{
	const char *output = session_summary(attached->session)->output;
	char text[4096], events[SAY_NUMBER_MAX], count[SAY_NUMBER_MAX];

	if (say_is_json() && !say_is_quiet()) {
		fprintf(stderr,
				"{\"schema\":%d,\"type\":\"summary\",\"verb\":\"attach\","
				"\"output\":",
				SAY_JSON_SCHEMA);
		say_json_string(stderr, output);
		fprintf(stderr,
				",\"recorded\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64
				",\"unwritten\":%" PRIu64 ",\"processes\":%" PRIu64 "}\n",
				sums->recorded, sums->bytes, sums->lost, sums->unwritten,
				sums->nr_seen);
		fflush(stderr);
		return;
	}
	say_note("recorded %s (process %d), %s, %s, in %s", attached->name, attached->pid,
			say_events(sums->recorded, events), say_size(sums->bytes, count),
			say_printable(output, text, sizeof(text)));
	if (sums->lost)
		fprintf(stderr, "%s %s events were lost; use larger rings (--buffer-size)\n",
				say_label(true), say_number(sums->lost, count));
	say_note("see it with: side view %s", say_quoted(output, text, sizeof(text)));
}

/* What was said until now is in the trace. */
static int end_session(struct attached *attached, bool summary)
{
	struct session_error error;
	struct session_status sums;
	int status = COMMAND_DONE;

	if (summary) {
		session_finish(attached->session);
		command_live_messages(attached->session);
		if (!session_status(attached->session, &sums)) {
			say_summary(attached, &sums);
			session_status_free(&sums);
		}
	}
	session_close(attached->session, true, &error);
	attached->session = NULL;
	if (error.kind != SESSION_ERROR_NONE)
		status = command_session_error(&error);
	return status;
}

static int record_program(struct attached *attached)
{
	bool program_ended = false;
	int status = request(attached, "record", attached->theirs, false);

	if (status)
		return status;
	if (attached->report.kind != INJECT_DONE)
		return say_failure(attached);
	if (attached->report.result)
		return why_not_recorded(attached, "has the recorder, but cannot be recorded");
	say_done(attached, "attach", "recording");
	status = go_on(attached, &program_ended);
	if (program_ended)
		return status;
	/* It may end meanwhile, and it may be anywhere. */
	if (!status)
		status = request(attached, "leave", attached->theirs, true);
	if (!status && attached->report.kind != INJECT_DONE && attached->report.kind != INJECT_GONE)
		say_error(COMMAND_FAILED, "`side detach` tries it again",
				"the recording is over, but the program could not be told: %s",
				attached->report.text);
	else if (!status && say_is_json())
		json_attached(attached, "detach");
	return status;
}

static bool is_empty(const char *directory)
{
	/* An empty one can be removed. */
	return !rmdir(directory);
}

static int record(struct attached *attached)
{
	struct channel_list *channels;
	char *output = NULL;
	int status = command_channels(
			    &attached->options->channels, attached->options->symbols, &channels),
	    ended;
	bool existed = attached->options->output && !access(attached->options->output, F_OK);

	if (!status)
		status = find_place(attached);
	if (!status)
		status = open_session(attached, channels);
	if (!status) {
		output = strdup(session_summary(attached->session)->output);
		status = record_program(attached);
		ended = end_session(attached, !status);
		if (status && !existed && output)
			(void)is_empty(output);
		status = status ? status : ended;
	}
	free(output);
	remove_place(attached);
	channel_list_free(channels);
	return status;
}

/* ---- the daemon ---- */

static bool records(struct json_object *answer, pid_t pid)
{
	struct json_object *sessions = ask_list(answer, "sessions");
	struct json_object *session = sessions && json_object_array_length(sessions)
			? json_object_array_get_idx(sessions, 0)
			: answer;
	struct json_object *processes = ask_list(session, "processes");
	size_t i;

	for (i = 0; processes && i < json_object_array_length(processes); i++) {
		struct json_object *process = json_object_array_get_idx(processes, i);

		if (ask_number(process, "pid") == (uint64_t)pid && ask_flag(process, "live"))
			return true;
	}
	return false;
}

/* The program joins before the request returns; what the daemon knows may come a moment later. */
static int check_session(struct attached *attached, struct ask *ask)
{
	const char *name = attached->options->session;
	struct json_object *answer;
	bool found = false;
	int status, waited;

	for (waited = 0; !found; waited += 50) {
		status = ask_call(ask, control_request("status", name), ASK_PATIENCE_MS, &answer);
		if (status)
			return status;
		found = records(answer, attached->pid);
		json_object_put(answer);
		if (waited >= SESSION_WAIT_MS)
			break;
		if (!found)
			(void)poll(NULL, 0, 50);
	}
	if (found)
		return COMMAND_DONE;
	return say_error(COMMAND_FAILED,
			"`side status` shows what it tracks; `side start` starts it",
			"the session %s does not record %d (%s): it is not started, or does not "
			"track it",
			name, attached->pid, attached->name);
}

static int give_to_daemon(struct attached *attached)
{
	struct json_object *answer = NULL;
	char socket[PATH_MAX];
	char *slash;
	struct ask ask;
	int status = ask_connect(&ask, attached->options->system, false);

	if (status)
		return status;
	/* Is the session there at all? */
	if (attached->options->session)
		status = ask_call(&ask, control_request("status", attached->options->session),
				ASK_PATIENCE_MS, &answer);
	json_object_put(answer);
	(void)snprintf(socket, sizeof(socket) - 16, "%s", control_path(ask.client));
	slash = strrchr(socket, '/');
	strcpy(slash ? slash : socket, "/agents.sock");
	if (!status)
		status = request(attached, "daemon", socket, false);
	if (!status && attached->report.kind != INJECT_DONE)
		status = say_failure(attached);
	else if (!status && attached->report.result && attached->report.result != -EALREADY)
		status = why_not_recorded(attached,
				attached->report.result == -ENOENT
						? "does not see the daemon's directory"
						: "cannot reach the daemon");
	if (!status && !(attached->incidental && attached->report.result))
		say_done(attached, "attach",
				attached->report.result ? "a daemon has already"
							: "the daemon has");
	if (!status && attached->options->session)
		status = check_session(attached, &ask);
	ask_close(&ask);
	return status;
}

/* ---- the verbs ---- */

static void read_name(struct attached *attached)
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

static int begin(struct attached *attached, const struct parsed *parsed)
{
	const struct attach_options *options = &parsed->options.attach;
	sigset_t ends;

	*attached = (struct attached){.parsed = parsed,
			.options = options,
			.place = -1,
			.signals = -1,
			.program = -1};
	if (parsed->operand_count)
		return say_error(COMMAND_USAGE, "the program is named by `-p PID`",
				"`side %s` does not understand `%.128s`", parsed->verb->name,
				parsed->operands[0]);
	if (!options->pid || options->pid > INT_MAX)
		return say_error(COMMAND_USAGE, "write `-p PID`", "there is no program to %s",
				parsed->verb->id == VERB_ATTACH ? "attach to" : "detach from");
	attached->pid = (pid_t)options->pid;
	read_name(attached);
	attached->agent = session_library("libside-agent.so");
	attached->libside = session_library("libside.so.0");
	if (!attached->agent)
		return say_error(COMMAND_FAILED,
				"reinstall it or name its directory in SIDE_LIB_DIR",
				"libside-agent.so is not installed beside this program");
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	attached->signals = signalfd(-1, &ends, SFD_CLOEXEC);
	attached->program = (int)syscall(SYS_pidfd_open, attached->pid, 0);
	return COMMAND_DONE;
}

static void finish(struct attached *attached)
{
	if (attached->signals >= 0)
		close(attached->signals);
	if (attached->program >= 0)
		close(attached->program);
	free(attached->agent);
	free(attached->libside);
}

int cmd_attach(const struct parsed *parsed)
{
	const struct attach_options *options = &parsed->options.attach;
	struct attached attached;
	int status = begin(&attached, parsed);

	if (!status && (options->daemon || options->session)) {
		if (options->output || options->channels.count || options->duration)
			status = say_error(COMMAND_USAGE,
					"change the session by `side enable-event` and the like",
					"with `--daemon` or `-s` nothing is recorded here, so "
					"there is no "
					"use for options of a recording");
		else
			status = give_to_daemon(&attached);
	} else if (!status) {
		status = record(&attached);
	}
	finish(&attached);
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
	status = begin(&attached, &attach);
	attached.incidental = true;
	if (!status)
		status = give_to_daemon(&attached);
	finish(&attached);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

int cmd_detach(const struct parsed *parsed)
{
	struct attached attached;
	int status = begin(&attached, parsed);

	if (!status)
		status = request(&attached, "detach", NULL, true);
	if (!status && attached.report.kind != INJECT_DONE)
		status = say_failure(&attached);
	else if (!status && attached.report.result == -ENOENT)
		say_note("%s (process %d) was not attached to", attached.name, attached.pid);
	else if (!status && attached.report.result)
		status = why_not_recorded(&attached, "does not leave");
	else if (!status)
		say_done(&attached, "detach", "left");
	finish(&attached);
	return status;
}
